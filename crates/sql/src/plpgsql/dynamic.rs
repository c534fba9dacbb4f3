//! Statements whose text is made at run time: EXECUTE, and OPEN and FOR with EXECUTE.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::{Error, Result, sqlstate};
use plan::StatementKind;
use syntax::tree::{ParsedStatement, Statement};
use types::{SqlType, Value, oids};

use super::embedded::{gather_rows, parameter_values, text_of};
use super::expression::{
    environment, in_text, open_planned, refuse_change, refuse_scroll, require_rows, run_utility, told_from,
};
use super::frame::Frame;
use super::tree::Expression;
use crate::state::{Cursor, session_of};
use crate::state::{Planned, RelationLocks, SessionState, nested, prepared};
use executor::{Due, OnRow, Run};
use planner::binder::Parameters;

/// Opens a cursor over a text made at run time, as [`open_statement`](super::expression::open_statement) does.
///
/// # Errors
/// Those of [`open_statement`](super::expression::open_statement); 42P11 for several statements.
pub fn open_dynamic(
    dynamic: &Dynamic,
    scroll: Option<bool>,
    frame: &Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<Cursor> {
    let what = "SQL statement";
    let text: Arc<str> = Arc::from(dynamic.text.as_str());
    let refused = |message: String| Err(Error::new(sqlstate::INVALID_CURSOR_DEFINITION, message));
    match dynamic.statements(session_of(run))?.as_deref() {
        Some([ParsedStatement { statement: Statement::Transaction(command), .. }]) => {
            return refused(format!("cannot open {} query as cursor", command.name()));
        }
        None | Some([_]) => {}
        Some(_) => return refused("cannot open multi-query plan as cursor".to_owned()),
    }
    let (types, values) = dynamic.parameters();
    let plan = |run: &mut Run<'_, '_>| plan_dynamic((&text, None), (&types, &values), dynamic.is_cursor, frame, run);
    let planned =
        told_from(frame, Some((what, &text)), run, plan).map_err(|error| in_text(error, what, &dynamic.text))?;
    require_rows(&planned)?;
    if matches!(planned.statement.kind, StatementKind::Utility(_)) {
        let gathered = gather_rows(run, |run, on_plan, on_row| run_dynamic(dynamic, frame, run, on_plan, on_row))?;
        return Ok(Cursor::of_rows(planned, gathered.1, scroll.or(Some(false))));
    }
    let open = |run: &mut Run<'_, '_>| {
        refuse_scroll(&planned, scroll)?;
        refuse_change(&planned, frame)?;
        open_planned(&planned, values, scroll, frame, run)
    };
    told_from(frame, Some((what, &text)), run, open).map_err(|error| in_text(error, what, &dynamic.text))
}

/// A text made at run time.
pub struct Dynamic {
    /// The text.
    pub text: String,
    /// The values of USING.
    pub parameters: Vec<(Value, SqlType)>,
    /// It is a cursor's query.
    pub is_cursor: bool,
    /// The rows of each of its statements are wanted, and not those of the last one.
    pub gives_all: bool,
}

impl Dynamic {
    /// Computes the text and its parameters.
    ///
    /// # Errors
    /// 22004 for a text that is NULL; those of the expressions.
    pub fn of(
        text: &Expression,
        parameters: &[Expression],
        is_cursor: bool,
        frame: &Frame<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<Dynamic> {
        let text = text_of(text, frame, run)?;
        Ok(Dynamic { text, parameters: parameter_values(parameters, frame, run)?, is_cursor, gives_all: false })
    }

    /// The types and values of its parameters.
    fn parameters(&self) -> (Arc<[SqlType]>, Vec<Value>) {
        let types = self
            .parameters
            .iter()
            .map(|(_, own)| if own.oid == oids::UNKNOWN { SqlType::TEXT } else { *own })
            .collect();
        (types, self.parameters.iter().map(|(value, _)| value.clone()).collect())
    }

    /// Whether the text is plainly one query or change of rows. Most are, and are run many times: they need not be parsed to be found in
    /// the plan cache.
    fn is_one(&self) -> bool {
        let text = self.text.trim();
        let word = text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        let begins = ["select", "insert", "update", "delete", "merge", "with", "values"];
        !text.contains(';') && begins.iter().any(|begin| begin.eq_ignore_ascii_case(word))
    }

    /// The statements of the text; `None` where there is plainly one, or where it can't be read, of which planning tells.
    ///
    /// # Errors
    /// Interruptions.
    fn statements(&self, state: &SessionState) -> Result<Option<Vec<ParsedStatement>>> {
        if self.is_one() {
            return Ok(None);
        }
        match syntax::parser::parse(&self.text, state.parse_options()) {
            Err(error) if syntax::parser::is_interruption(&error) => Err(error),
            parsed => Ok(parsed.ok()),
        }
    }
}

/// A good plan for a text made at run time, with its locks; for one statement of several, if that is given.
fn plan_dynamic(
    (text, tree): (&Arc<str>, Option<&ParsedStatement>),
    (types, values): (&Arc<[SqlType]>, &[Value]),
    is_cursor: bool,
    frame: &Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<Arc<Planned>> {
    let state = session_of(run);
    let plan_here = || match tree {
        Some(tree) => prepared::plan_uncached(state, text, tree, types),
        None => nested::plan_client_text(state, text, types),
    };
    let plan = |run: &Run<'_, '_>| -> Result<Arc<Planned>> {
        if frame.transition_tables.is_none() && !is_cursor {
            return plan_here();
        }
        match plan_apart((text, tree), (types, None), is_cursor, frame, run)? {
            // The session knows what columns it has.
            planned if matches!(planned.statement.kind, StatementKind::Utility(_)) => plan_here(),
            planned => Ok(planned),
        }
    };
    let plan = |run: &Run<'_, '_>| -> Result<Arc<Planned>> {
        let planned = plan(run)?;
        // Only the values that it is given can say which index is meant.
        match planned.statement.lacks_arbiter {
            true => plan_apart((text, tree), (types, Some(values)), is_cursor, frame, run),
            false => Ok(planned),
        }
    };
    let mut planned = plan(run)?;
    let mut locks = RelationLocks::default();
    while !matches!(planned.statement.kind, StatementKind::Utility(_)) && !locks.take(state, &planned)? {
        run.catalog = state.catalog();
        planned = plan(run)?;
    }
    Ok(planned)
}

/// A plan for a text made at run time, a cursor's or in a trigger's function that can read more tables; it is not kept.
fn plan_apart(
    (text, tree): (&Arc<str>, Option<&ParsedStatement>),
    (types, values): (&[SqlType], Option<&[Value]>),
    is_cursor: bool,
    frame: &Frame<'_>,
    run: &Run<'_, '_>,
) -> Result<Arc<Planned>> {
    let mut environment = environment(frame, session_of(run), is_cursor);
    if let Some(values) = values {
        environment = environment.with_parameter_values(values);
    }
    let parameters = Parameters::fixed(types.to_vec());
    if let Some(tree) = tree {
        return environment.planned(text, &tree.statement, parameters);
    }
    let mut statements = syntax::parser::parse(text, session_of(run).parse_options())?;
    let tree = statements.pop().ok_or_else(|| Error::new(sqlstate::SYNTAX_ERROR, "a statement is empty"))?;
    environment.planned(text, &tree.statement, parameters)
}

/// Runs a text made at run time, of several statements maybe.
///
/// # Errors
/// Those of its statements; 0A000 where the last one is SELECT INTO.
pub fn run_dynamic(
    dynamic: &Dynamic,
    frame: &Frame<'_>,
    run: &mut Run<'_, '_>,
    on_plan: &mut dyn FnMut(&Arc<Planned>) -> Result<()>,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    let mut is_select_into = false;
    let mut noted = |planned: &Arc<Planned>| {
        is_select_into = matches!(&planned.statement.kind, StatementKind::Utility(utility)
            if matches!(&**utility, Statement::CreateTableAs(create) if create.is_select_into));
        on_plan(planned)
    };
    let count = run_all(dynamic, frame, run, &mut noted, on_row)?;
    // PostgreSQL, too, takes a text that begins with another word, such as WITH.
    let begins_with_select = dynamic.text.trim_ascii_start().starts_with(['s', 'S']);
    if is_select_into && begins_with_select && !dynamic.gives_all && !dynamic.is_cursor {
        return Err(Error::unsupported("EXECUTE of SELECT ... INTO is not implemented")
            .hint("You might want to use EXECUTE ... INTO or EXECUTE CREATE TABLE ... AS instead."));
    }
    Ok(count)
}

/// See [`run_dynamic`].
fn run_all(
    dynamic: &Dynamic,
    frame: &Frame<'_>,
    run: &mut Run<'_, '_>,
    on_plan: &mut dyn FnMut(&Arc<Planned>) -> Result<()>,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    let what = "SQL statement";
    let text: Arc<str> = Arc::from(dynamic.text.as_str());
    let Some(statements) = dynamic.statements(session_of(run))? else {
        let work = |run: &mut Run<'_, '_>| run_one_dynamic((&text, None), dynamic, frame, run, on_plan, on_row);
        return told_from(frame, Some((what, &text)), run, work).map_err(|error| in_text(error, what, &text));
    };
    if dynamic.gives_all && statements.is_empty() {
        return Err(Error::new(sqlstate::SYNTAX_ERROR, "empty query does not return tuples"));
    }
    let ending = |tree: &ParsedStatement| match &tree.statement {
        Statement::Transaction(command) => Some(command.name()),
        _ => None,
    };
    let refused = statements.iter().position(|tree| ending(tree).is_some());
    let (mut count, is_only) = (0, statements.len() == 1);
    for (number, tree) in statements[..refused.unwrap_or(statements.len())].iter().enumerate() {
        let tree = if is_only { None } else { Some(tree) };
        // The rows of several are those of the last one, unless all are wanted.
        let is_wanted = dynamic.gives_all || number + 1 == statements.len();
        let work = |run: &mut Run<'_, '_>| {
            if is_wanted {
                return run_one_dynamic((&text, tree), dynamic, frame, run, on_plan, on_row);
            }
            let mut ignore = |_: &mut Run<'_, '_>, _: &[Value]| Ok(ControlFlow::Continue(()));
            run_one_dynamic((&text, tree), dynamic, frame, run, &mut |_| Ok(()), &mut ignore)
        };
        count = told_from(frame, Some((what, &text)), run, work).map_err(|error| in_text(error, what, &text))?;
    }
    if let Some(name) = refused.and_then(|number| ending(&statements[number])).filter(|_| dynamic.gives_all) {
        let error = Error::new(sqlstate::SYNTAX_ERROR, format!("{name} query does not return tuples"));
        return Err(in_text(error, what, &text));
    }
    if refused.is_some() {
        return Err(Error::unsupported("EXECUTE of transaction commands is not implemented"));
    }
    Ok(count)
}

/// Runs one statement of a text made at run time; the tree is that of one among several.
fn run_one_dynamic(
    (text, tree): (&Arc<str>, Option<&ParsedStatement>),
    dynamic: &Dynamic,
    frame: &Frame<'_>,
    run: &mut Run<'_, '_>,
    on_plan: &mut dyn FnMut(&Arc<Planned>) -> Result<()>,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    let (types, values) = dynamic.parameters();
    let state = session_of(run);
    let planned = plan_dynamic((text, tree), (&types, &values), dynamic.is_cursor, frame, run)?;
    on_plan(&planned)?;
    if let StatementKind::Utility(utility) = &planned.statement.kind {
        return run_utility(utility, &planned, text, (&values, None), frame, run, on_row);
    }
    refuse_change(&planned, frame)?;
    if frame.function.is_volatile {
        state.engine().push_snapshot()?;
    }
    let first_check = state.next_check.get();
    let result = nested::run(run, &planned, &values, on_row).and_then(|count| {
        executor::run_pending_checks(state, Due::Statement(first_check), &mut *run.client)?;
        Ok(count)
    });
    if frame.function.is_volatile {
        state.engine().pop_snapshot();
    }
    result
}
