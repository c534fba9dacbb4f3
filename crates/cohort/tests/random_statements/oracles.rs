//! Judges that need no second server: a query against its parts, a plan against others, parameters against literals.

use super::answers::Answer;
use super::choices::Choices;
use super::common::wire::Session;
use super::generator::{Generator, Parts, Statement};
use super::schema::Schema;

/// Makes a statement from choices and judges what a server answers to it; what is wrong.
pub type Oracle = fn(&mut Session, &Schema, &mut Choices) -> Option<String>;

/// The methods of the planner that can be turned off.
const METHODS: &[&str] = &["hashjoin", "mergejoin", "nestloop", "indexscan", "seqscan", "sort", "hashagg"];

/// Two texts that must give the same rows; `None` if they do, or if one took too long.
fn rows_differ(session: &mut Session, one: &str, other: &str) -> Option<String> {
    let answer = |session: &mut Session, text: &str| Answer::of(&session.simple(text), false);
    let (left, right) = (answer(session, one), answer(session, other));
    // A statement that is refused has no rows to be compared.
    let is_refused = |answer: &Answer| answer.code().is_some_and(|code| code.starts_with("42"));
    if left.is_late() || right.is_late() || is_refused(&left) || is_refused(&right) {
        return None;
    }
    if left.rows == right.rows && left.code() == right.code() {
        return None;
    }
    Some(format!("{one}\n{}{other}\n{}", left.shown(), right.shown()))
}

/// Ternary logic partitioning: a condition is true, false or unknown, so that the rows for which it is either are all rows. And the
/// rows that WHERE finds are as many as those for which the condition, computed in the select list, is true.
pub fn parts_make_the_whole(session: &mut Session, schema: &Schema, choices: &mut Choices) -> Option<String> {
    let Parts { from, predicate, targets, aggregates } = Generator::new(choices, schema, false).parts();
    let list = targets.join(", ");
    let filters = [predicate.clone(), format!("not ({predicate})"), format!("({predicate}) is null")];
    let parts = |select: &str, end: &str, between: &str| {
        let parts = filters.iter().map(|filter| format!("{select} from {from} where {filter}{end}"));
        parts.collect::<Vec<_>>().join(between)
    };
    let mut pairs = vec![
        (format!("select {list} from {from}"), parts(&format!("select {list}"), "", " union all ")),
        (format!("select distinct {list} from {from}"), parts(&format!("select {list}"), "", " union ")),
        (
            format!("select count(*) from {from} where {predicate}"),
            format!("select count(case when {predicate} then 1 end) from {from}"),
        ),
    ];
    for (name, argument) in &aggregates {
        // How the parts' results become the whole's. Sums have a type of their own, so texts are compared.
        let above = if name == "count" { "sum" } else { name };
        let whole = format!("select {name}({argument})::text from {from}");
        let union = parts(&format!("select {name}({argument}) as x"), "", " union all ");
        pairs.push((whole, format!("select {above}(x)::text from ({union}) as parts")));
        let key = &targets[0];
        let whole = format!("select {key}, {name}({argument})::text from {from} group by 1");
        let union = parts(&format!("select {key} as k, {name}({argument}) as x"), " group by 1", " union all ");
        pairs.push((whole, format!("select k, {above}(x)::text from ({union}) as parts group by 1")));
    }
    pairs.iter().find_map(|(whole, parts)| rows_differ(session, whole, parts))
}

/// However a query is planned, its answer is the same.
pub fn plans_agree(session: &mut Session, schema: &Schema, choices: &mut Choices) -> Option<String> {
    let statement = Generator::new(choices, schema, false).query_statement();
    let first = Answer::of(&session.simple(&statement.text), statement.is_ordered);
    for _ in 0..3 {
        let mut settings: Vec<String> = (METHODS.iter().filter(|_| choices.chance(40)))
            .map(|method| format!("set enable_{method} = off"))
            .collect();
        if choices.chance(20) {
            settings.push("set work_mem = '64kB'".to_owned());
        }
        settings.iter().for_each(|text| drop(session.simple(text)));
        let other = Answer::of(&session.simple(&statement.text), statement.is_ordered);
        for method in METHODS {
            session.simple(&format!("reset enable_{method}"));
        }
        session.simple("reset work_mem");
        if first != other && !first.is_late() && !other.is_late() {
            let settings = settings.join("; ");
            return Some(format!("{}\n{}{settings}\n{}", statement.text, first.shown(), other.shown()));
        }
    }
    None
}

/// Parameters mean what literals in their places mean, whether the plan is made for their values or for all.
pub fn parameters_are_literals(session: &mut Session, schema: &Schema, choices: &mut Choices) -> Option<String> {
    let mut statement = Generator::new(choices, schema, true).query_statement();
    // The last ones may stand in a part that was left out.
    while !statement.values.is_empty() && !statement.text.contains(&format!("${}", statement.values.len())) {
        statement.values.pop();
    }
    if statement.values.is_empty() {
        return None;
    }
    let literal = with_literals(&statement);
    let expected = Answer::of(&session.simple(&literal), statement.is_ordered);
    if expected.is_late() || expected.code().is_some() {
        return None;
    }
    session.simple("deallocate all");
    let refusal = session.prepare("random", &statement.text);
    if refusal.contains("ERROR 42") {
        // The type of a parameter that stands alone may not be known.
        return None;
    }
    let values: Vec<Option<&str>> = statement.values.iter().map(Option::as_deref).collect();
    let modes = ["auto", "auto", "auto", "auto", "auto", "auto", "auto", "force_generic_plan", "force_custom_plan"];
    for mode in modes {
        session.simple(&format!("set plan_cache_mode = {mode}"));
        let found = Answer::of(&session.run_prepared_with("random", &values), statement.is_ordered);
        session.simple("reset plan_cache_mode");
        if found.is_late() {
            return None;
        }
        if found.rows != expected.rows || found.code().is_some() {
            let Statement { text, values, .. } = &statement;
            return Some(format!("{mode}: {text}\n{values:?}\n{}{literal}\n{}", found.shown(), expected.shown()));
        }
    }
    None
}

/// A statement's text with its values in their places.
fn with_literals(statement: &Statement) -> String {
    let mut text = statement.text.clone();
    // The last first: `$1` is the beginning of `$12`.
    for (place, value) in statement.values.iter().enumerate().rev() {
        let literal = value.as_ref().map_or("null".to_owned(), |value| format!("'{}'", value.replace('\'', "''")));
        text = text.replace(&format!("${}", place + 1), &literal);
    }
    text
}
