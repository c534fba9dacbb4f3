//! FROM: tables, subqueries, functions, VALUES and common table expressions, joined in all ways.

use super::generator::{Generator, Shape, Source};
use super::types::{Type, row_of};

impl Generator<'_> {
    /// A FROM list, whose columns become the innermost scope.
    pub(crate) fn from(&mut self) -> String {
        self.scopes.push(Vec::new());
        let mut text = self.item(false);
        let more = match self.choices.below(10) {
            0..5 => 0,
            5..8 => 1,
            _ => 2,
        };
        for _ in 0..more {
            if !self.spend() {
                break;
            }
            text = self.joined(text);
        }
        text
    }

    /// Joins `left` with another item.
    pub(crate) fn joined(&mut self, left: String) -> String {
        let kind =
            *self.choices.of(&["join", "left join", "cross join", ",", "right join", "full join", "left join", "join"]);
        let can_be_lateral = matches!(kind, "join" | "left join" | "cross join" | ",");
        let right = self.item(can_be_lateral);
        match kind {
            "cross join" => format!("{left} cross join {right}"),
            "," => format!("{left} cross join {right}"),
            // PostgreSQL makes full joins by equalities only.
            "full join" => {
                let (a, b) = self.join_columns();
                format!("{left} full join {right} on {a} = {b}")
            }
            _ => {
                let (a, b) = self.join_columns();
                let condition = match self.choices.below(5) {
                    0 | 1 => format!("{a} = {b}"),
                    2 => format!("{a} = {b} and {}", self.expr("bool", 2)),
                    3 => self.expr("bool", 2),
                    _ => format!("{a} < {b}"),
                };
                format!("{left} {kind} {right} on {condition}")
            }
        }
    }

    /// A column of the item that was added last, and one of the others, of one type.
    pub(crate) fn join_columns(&mut self) -> (String, String) {
        let scope = self.scopes.last().expect("FROM is being made");
        let last = scope.last().map(|source| alias_of(&source.text).to_owned()).unwrap_or_default();
        let of = |is_last: bool| -> Vec<&Source> {
            scope.iter().filter(|source| (alias_of(&source.text) == last) == is_last).collect()
        };
        let pairs: Vec<(String, String)> = of(true)
            .into_iter()
            .flat_map(|right| {
                of(false)
                    .into_iter()
                    .filter(|left| left.sql_type == right.sql_type && row_of(left.sql_type).is_ordered)
                    .map(|left| (left.text.clone(), right.text.clone()))
            })
            .collect();
        if pairs.is_empty() {
            return ("1".to_owned(), "1".to_owned());
        }
        self.choices.of(&pairs).clone()
    }

    /// One item of FROM, whose columns are added to the innermost scope.
    pub(crate) fn item(&mut self, can_be_lateral: bool) -> String {
        let (text, shape) = match self.choices.below(12) {
            0..6 => self.table_item(),
            6 if !self.ctes.is_empty() => {
                let cte = self.choices.of(&self.ctes).clone();
                (cte.name, cte.shape)
            }
            7 | 8 if self.depth < 3 && self.fuel > 8 => {
                let is_lateral = can_be_lateral && self.choices.chance(50);
                let hidden =
                    if is_lateral { None } else { Some(std::mem::take(self.scopes.last_mut().expect("FROM"))) };
                let (query, shape) = self.derived();
                if let Some(hidden) = hidden {
                    *self.scopes.last_mut().expect("FROM") = hidden;
                }
                (format!("{}({query})", if is_lateral { "lateral " } else { "" }), shape)
            }
            9 => self.values_item(),
            10 => return self.function_item(can_be_lateral),
            _ => self.table_item(),
        };
        let alias = self.name("a");
        let names: Vec<&str> = shape.iter().map(|(name, _)| name.as_str()).collect();
        let item = match self.choices.chance(20) {
            false => format!("{text} as {alias}"),
            true => format!("{text} as {alias} ({})", names.join(", ")),
        };
        self.add_columns(&alias, &shape);
        item
    }

    pub(crate) fn add_columns(&mut self, alias: &str, shape: &Shape) {
        let scope = self.scopes.last_mut().expect("FROM is being made");
        scope.extend(shape.iter().map(|(name, sql_type)| Source {
            text: format!("{alias}.{name}"),
            sql_type,
            item: Some(alias.to_owned()),
        }));
    }

    pub(crate) fn table_item(&mut self) -> (String, Shape) {
        let mut found = self.choices.below(self.schema.tables.len());
        if self.schema.tables[found].is_large {
            if self.large_left == 0 {
                found = self.schema.tables.iter().position(|table| !table.is_large).unwrap_or(found);
            }
            self.large_left = self.large_left.saturating_sub(1);
        }
        let table = &self.schema.tables[found];
        let shape = table.columns.iter().map(|column| (column.name.clone(), column.sql_type)).collect();
        (table.name.clone(), shape)
    }

    pub(crate) fn values_item(&mut self) -> (String, Shape) {
        let types: Vec<Type> = (0..self.choices.between(1, 3)).map(|_| self.any_type()).collect();
        let rows: Vec<String> = (0..self.choices.between(1, 3))
            .map(|_| {
                let values: Vec<String> = types.iter().map(|sql_type| self.literal(sql_type)).collect();
                format!("({})", values.join(", "))
            })
            .collect();
        let shape = types.iter().enumerate().map(|(place, sql_type)| (format!("column{}", place + 1), *sql_type));
        (format!("(values {})", rows.join(", ")), shape.collect())
    }

    /// A function in FROM; its arguments may be columns to its left.
    pub(crate) fn function_item(&mut self, can_be_lateral: bool) -> String {
        let hidden = if can_be_lateral { None } else { Some(std::mem::take(self.scopes.last_mut().expect("FROM"))) };
        let alias = self.name("f");
        let small = |generator: &mut Generator<'_>| {
            let expr = generator.leaf("int4");
            format!("({expr} % 10)")
        };
        let (text, shape): (String, Shape) = match self.choices.below(7) {
            0 => (format!("generate_series(1, 3) as {alias} (n)"), vec![("n".into(), "int4")]),
            1 => (format!("generate_series(0, {}) as {alias} (n)", small(self)), vec![("n".into(), "int4")]),
            2 => {
                let array = self.expr("int4[]", 1);
                let text = format!("unnest(({array})::int4[]) with ordinality as {alias} (n, o)");
                (text, vec![("n".into(), "int4"), ("o".into(), "int8")])
            }
            3 => (format!("ids({}) as {alias} (n)", small(self)), vec![("n".into(), "int4")]),
            4 => (format!("rows_of({}) as {alias}", small(self)), vec![("i".into(), "int4"), ("t".into(), "text")]),
            5 => {
                let (a, b) = (self.expr("text[]", 1), self.leaf("int4[]"));
                let text = format!("unnest(({a})::text[], ({b})::int4[]) as {alias} (t, n)");
                (text, vec![("t".into(), "text"), ("n".into(), "int4")])
            }
            _ => {
                let text = format!("rows from (generate_series(1, 2), ids({})) as {alias} (n, m)", small(self));
                (text, vec![("n".into(), "int4"), ("m".into(), "int4")])
            }
        };
        if let Some(hidden) = hidden {
            *self.scopes.last_mut().expect("FROM") = hidden;
        }
        self.add_columns(&alias, &shape);
        text
    }

    /// A query as an item of FROM or a common table expression, with names for its columns.
    pub(crate) fn derived(&mut self) -> (String, Shape) {
        self.depth += 1;
        let query = self.query(true);
        self.depth -= 1;
        let (text, types) = query;
        let shape = types.iter().enumerate().map(|(place, sql_type)| (format!("x{}", place + 1), *sql_type)).collect();
        (text, shape)
    }
}

/// The alias before the dot.
fn alias_of(text: &str) -> &str {
    text.split('.').next().unwrap_or_default()
}
