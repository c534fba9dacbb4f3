//! Queries: plain, grouped, distinct and ordered ones, windows, set operations and WITH.

use super::generator::{Cte, Generator, Source, Statement};
use super::types::{AGGREGATES, Type, row_of};

/// The end of a query that locks its rows.
const LOCKED: &str = " for update";

impl Generator<'_> {
    pub(crate) fn top_query(&mut self) -> Statement {
        let with = self.with_clause();
        let (mut text, types) = self.query(false);
        let mut is_ordered = false;
        if text.ends_with(LOCKED) || text.contains(" limit ") && text.ends_with(')') {
            // Nothing can follow.
        } else if !text.contains(" order by 1")
            && self.choices.chance(25)
            && let Some(order) = self.order(&types)
        {
            text.push_str(&order);
            is_ordered = true;
        }
        Statement { text: format!("{with}{text}"), is_ordered, ..Statement::default() }
    }

    /// ORDER BY all columns, if all of them have an order in which equal values are the same text.
    pub(crate) fn order(&mut self, types: &[Type]) -> Option<String> {
        if types.iter().any(|sql_type| !row_of(sql_type).is_ordered || row_of(sql_type).distinct != "{}") {
            return None;
        }
        let keys: Vec<String> = (1..=types.len())
            .map(|place| {
                let direction = *self.choices.of(&["", "", " desc", " nulls first", " desc nulls last"]);
                format!("{place}{direction}")
            })
            .collect();
        Some(format!(" order by {}", keys.join(", ")))
    }

    /// WITH, in one of a few shapes.
    pub(crate) fn with_clause(&mut self) -> String {
        if !self.choices.chance(25) {
            return String::new();
        }
        let mut parts = Vec::new();
        let mut is_recursive = false;
        for _ in 0..self.choices.between(1, 2) {
            let name = self.name("w");
            match self.choices.below(4) {
                3 => {
                    is_recursive = true;
                    parts.push(self.recursive_cte(&name));
                }
                kind => {
                    let (query, shape) = self.derived();
                    let names: Vec<&str> = shape.iter().map(|(name, _)| name.as_str()).collect();
                    let how = ["", "materialized ", "not materialized "][kind];
                    parts.push(format!("{name} ({}) as {how}({query})", names.join(", ")));
                    self.ctes.push(Cte { name, shape });
                }
            }
        }
        format!("with {}{} ", if is_recursive { "recursive " } else { "" }, parts.join(", "))
    }

    pub(crate) fn recursive_cte(&mut self, name: &str) -> String {
        let union = *self.choices.of(&["union all", "union"]);
        let first = self.literal("int4");
        let last = self.choices.between(2, 5);
        self.scopes.push(vec![
            Source { text: format!("{name}.n"), sql_type: "int4", item: None },
            Source { text: format!("{name}.t"), sql_type: "text", item: None },
        ]);
        let text = self.expr("text", 1);
        let filter = self.expr("bool", 1);
        self.scopes.pop();
        let join = match self.choices.below(3) {
            0 => String::new(),
            1 => " cross join generate_series(1, 2)".to_owned(),
            _ => format!(" join t0 on t0.id = {name}.n"),
        };
        let (shape, both) = (vec![("n".to_owned(), "int4"), ("t".to_owned(), "text")], format!("{name}.n + 1"));
        self.ctes.push(Cte { name: name.to_owned(), shape });
        format!(
            "{name} (n, t) as (select {first}, 'x'::text {union} select {both}, left({text}, 3) collate \"default\" from {name}{join} \
             where {name}.n < {last} and ({filter}))"
        )
    }

    /// A query, and its columns' types. Names of columns are given where it is read (`is_inner`).
    pub(crate) fn query(&mut self, is_inner: bool) -> (String, Vec<Type>) {
        match self.choices.below(10) {
            0..4 => self.plain_query(is_inner),
            4..6 => self.grouped_query(is_inner),
            6 => self.distinct_query(is_inner),
            7 => self.window_query(is_inner),
            8 => self.limited_query(is_inner),
            _ => self.set_operation(is_inner),
        }
    }

    /// The select list's text.
    pub(crate) fn listed(&mut self, targets: &[(String, Type)], is_inner: bool) -> String {
        let named = targets.iter().enumerate().map(|(place, (expr, _))| match is_inner {
            true => format!("{expr} as x{}", place + 1),
            false => expr.clone(),
        });
        named.collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn plain_query(&mut self, is_inner: bool) -> (String, Vec<Type>) {
        let from = self.from();
        let filter = self.optional_filter();
        let mut targets = Vec::new();
        for _ in 0..self.choices.between(1, 4) {
            let sql_type = self.any_type();
            targets.push((self.expr(sql_type, 3), sql_type));
        }
        let list = self.listed(&targets, is_inner);
        self.scopes.pop();
        let locked = if !is_inner && self.depth == 0 && !from.contains([' ', '(']) && self.choices.chance(10) {
            LOCKED
        } else {
            ""
        };
        (format!("select {list} from {from}{filter}{locked}"), types_of(&targets))
    }

    /// The text of an aggregate call. It reads the innermost query alone: otherwise it could be the aggregate of another one.
    pub(crate) fn aggregate_call(&mut self, template: &str) -> String {
        let outer = self.hide_outer();
        let mut call = self.fill(template, 2);
        if self.choices.chance(25) && !call.contains("within group") && !call.starts_with("round(") {
            call = format!("{call} filter (where {})", self.expr("bool", 2));
        }
        self.show_outer(outer);
        call
    }

    /// Leaves only the innermost scope to be read.
    pub(crate) fn hide_outer(&mut self) -> Vec<Vec<Source>> {
        let inner = self.scopes.pop().expect("FROM is being made");
        std::mem::replace(&mut self.scopes, vec![inner])
    }

    pub(crate) fn show_outer(&mut self, mut outer: Vec<Vec<Source>>) {
        outer.append(&mut self.scopes);
        self.scopes = outer;
    }

    /// An aggregate of any kind.
    pub(crate) fn any_aggregate(&mut self) -> (String, Type) {
        let kind = self.choices.below(9);
        if kind == 8 {
            let scope = self.scopes.last().expect("FROM is being made");
            let items: Vec<&String> = scope.iter().filter_map(|source| source.item.as_ref()).collect();
            if !items.is_empty() {
                return (format!("count({})", self.choices.of(&items)), "int8");
            }
        }
        if kind < 6 {
            let (sql_type, template) = *self.choices.of(AGGREGATES);
            return (self.aggregate_call(template), sql_type);
        }
        let outer = self.hide_outer();
        let made = match kind {
            6 => {
                let (expr, filter) = (self.expr("text", 1), self.expr("bool", 1));
                let distinct = *self.choices.of(&["", "distinct "]);
                (format!("string_agg({distinct}{expr}, ',' order by {expr}) filter (where {filter})"), "text")
            }
            _ => {
                let expr = self.expr("int4", 1);
                let distinct = *self.choices.of(&["", "distinct "]);
                let order = *self.choices.of(&["", " desc", " nulls first"]);
                (format!("array_agg({distinct}{expr} order by {expr}{order})"), "int4[]")
            }
        };
        self.show_outer(outer);
        made
    }

    pub(crate) fn grouped_query(&mut self, is_inner: bool) -> (String, Vec<Type>) {
        let from = self.from();
        let filter = self.optional_filter();
        let groups: Vec<(String, Type)> = (0..self.choices.below(3))
            .map(|_| match self.choices.chance(50) {
                // A column.
                false => {
                    let scope = self.scopes.last().expect("FROM is being made").clone();
                    let source = self.choices.of(&scope);
                    self.made_distinct(&source.text, source.sql_type)
                }
                true => self.distinct_target(2),
            })
            .collect();
        // A constant would be taken for a column's place.
        let groups: Vec<(String, Type)> = groups.into_iter().filter(|(text, _)| text.contains('.')).collect();
        let calls: Vec<(String, Type)> = (0..self.choices.between(1, 2)).map(|_| self.any_aggregate()).collect();
        let mut sources: Vec<Source> =
            groups.iter().map(|(text, sql_type)| Source { text: text.clone(), sql_type, item: None }).collect();
        sources.extend(calls.iter().map(|(text, sql_type)| Source { text: text.clone(), sql_type, item: None }));
        *self.scopes.last_mut().expect("FROM is being made") = sources;
        let mut targets: Vec<(String, Type)> = groups.iter().chain(&calls).cloned().collect();
        if self.choices.chance(40) {
            let sql_type = self.any_type();
            targets.push((self.expr(sql_type, 2), sql_type));
        }
        let having = if self.choices.chance(25) { format!(" having {}", self.expr("bool", 2)) } else { String::new() };
        if self.choices.chance(15) {
            let window = self.window_call();
            targets.push(window);
        }
        let list = self.listed(&targets, is_inner);
        self.scopes.pop();
        let keys: Vec<&str> = groups.iter().map(|(text, _)| text.as_str()).collect();
        let by = if keys.is_empty() { String::new() } else { format!(" group by {}", keys.join(", ")) };
        (format!("select {list} from {from}{filter}{by}{having}"), types_of(&targets))
    }

    pub(crate) fn distinct_query(&mut self, is_inner: bool) -> (String, Vec<Type>) {
        let from = self.from();
        let filter = self.optional_filter();
        let targets: Vec<(String, Type)> = (0..self.choices.between(1, 3)).map(|_| self.distinct_target(2)).collect();
        let list = self.listed(&targets, is_inner);
        let text = if self.choices.chance(40) {
            // The rows of one key are in an order of all columns.
            let keys = self.scope_columns();
            let key = self.choices.of(&keys).clone();
            let order = (1..=targets.len()).map(|place| place.to_string()).collect::<Vec<_>>().join(", ");
            format!("select distinct on ({key}) {list} from {from}{filter} order by {key}, {order}")
        } else {
            format!("select distinct {list} from {from}{filter}")
        };
        self.scopes.pop();
        (if text.contains(" order by ") && is_inner { format!("({text})") } else { text }, types_of(&targets))
    }

    /// The innermost scope's columns, so that equal ones are the same text.
    pub(crate) fn scope_columns(&mut self) -> Vec<String> {
        let scope = self.scopes.last().expect("FROM is being made").clone();
        scope.iter().map(|source| self.made_distinct(&source.text, source.sql_type).0).collect()
    }

    /// A window function's call over an order that leaves nothing open, or one that does not look at more than equals.
    pub(crate) fn window_call(&mut self) -> (String, Type) {
        let columns = self.scope_columns();
        let partition = match self.choices.chance(50) {
            false => String::new(),
            true => format!("partition by {} ", self.choices.of(&columns)),
        };
        let order = columns.join(", ");
        match self.choices.below(8) {
            0 => (format!("row_number() over ({partition}order by {order})"), "int8"),
            1 => {
                let key = self.choices.of(&columns).clone();
                let name = *self.choices.of(&["rank()", "dense_rank()"]);
                (format!("{name} over ({partition}order by {key})"), "int8")
            }
            2 => {
                let expr = self.expr("int4", 1);
                let name = *self.choices.of(&["lag", "lead", "first_value", "last_value"]);
                (format!("{name}({expr}) over ({partition}order by {order})"), "int4")
            }
            3 => {
                let expr = self.expr("int4", 1);
                (format!("sum({expr}) over ({partition}order by {order}{})", self.frame()), "int8")
            }
            4 => {
                let expr = self.expr("text", 1);
                (format!("max({expr}) over ({partition}order by {order}{})", self.frame()), "text")
            }
            5 => (format!("count(*) over ({partition})"), "int8"),
            6 => {
                let key = self.choices.of(&columns).clone();
                (format!("count(*) over ({partition}order by {key} range unbounded preceding)"), "int8")
            }
            _ => (format!("ntile(3) over ({partition}order by {order})"), "int4"),
        }
    }

    pub(crate) fn frame(&mut self) -> &'static str {
        self.choices.of::<&'static str>(&[
            "",
            " rows between 1 preceding and 1 following",
            " rows between unbounded preceding and 1 preceding",
            " rows between current row and unbounded following",
            " groups between 1 preceding and current row",
            " rows between 2 preceding and 1 following exclude current row",
            " range between current row and unbounded following exclude ties",
        ])
    }

    pub(crate) fn window_query(&mut self, is_inner: bool) -> (String, Vec<Type>) {
        let from = self.from();
        let filter = self.optional_filter();
        let mut targets = vec![self.window_call()];
        for _ in 0..self.choices.between(1, 2) {
            let sql_type = self.any_type();
            targets.push((self.expr(sql_type, 2), sql_type));
        }
        let list = self.listed(&targets, is_inner);
        self.scopes.pop();
        (format!("select {list} from {from}{filter}"), types_of(&targets))
    }

    pub(crate) fn limited_query(&mut self, is_inner: bool) -> (String, Vec<Type>) {
        let from = self.from();
        let filter = self.optional_filter();
        let targets: Vec<(String, Type)> = (0..self.choices.between(1, 3)).map(|_| self.distinct_target(2)).collect();
        let list = self.listed(&targets, is_inner);
        self.scopes.pop();
        let order: Vec<String> = (1..=targets.len())
            .map(|place| format!("{place}{}", self.choices.of(&["", " desc", " nulls first", " desc nulls last"])))
            .collect();
        let limit = self.choices.between(0, 5);
        let offset = if self.choices.chance(25) { " offset 2" } else { "" };
        let text = format!("select {list} from {from}{filter} order by {} limit {limit}{offset}", order.join(", "));
        (format!("({text})"), types_of(&targets))
    }

    pub(crate) fn set_operation(&mut self, is_inner: bool) -> (String, Vec<Type>) {
        let wanted: Vec<Type> = (0..self.choices.between(1, 3)).map(|_| self.any_type()).collect();
        let types: Vec<Type> = wanted.iter().map(|sql_type| row_of(sql_type).distinct_type).collect();
        let mut arms = Vec::new();
        for arm in 0..self.choices.between(2, 3) {
            let from = self.from();
            let filter = self.optional_filter();
            let targets: Vec<String> = wanted
                .iter()
                .enumerate()
                .map(|(place, sql_type)| {
                    let expr = self.expr(sql_type, 2);
                    let expr = self.made_distinct(&expr, sql_type).0;
                    if is_inner && arm == 0 { format!("{expr} as x{}", place + 1) } else { expr }
                })
                .collect();
            self.scopes.pop();
            let operator =
                *self.choices.of(&["union all", "union", "intersect", "except", "intersect all", "except all"]);
            if arm > 0 {
                arms.push(operator.to_owned());
            }
            arms.push(format!("select {} from {from}{filter}", targets.join(", ")));
        }
        (arms.join(" "), types)
    }
}

fn types_of(targets: &[(String, Type)]) -> Vec<Type> {
    targets.iter().map(|(_, sql_type)| *sql_type).collect()
}
