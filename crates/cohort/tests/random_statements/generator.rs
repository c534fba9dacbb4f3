//! Random statements over a random schema: queries of all kinds and changes, with parameters if asked for.
//!
//! No statement here depends on the order of evaluation, so that answers can be compared exactly. LIMIT follows an ORDER BY of all
//! columns, and window functions run over such an order. Aggregates that keep an order are given one. Values that are equal but look
//! different are made alike before DISTINCT, GROUP BY and set operations. No expression fails.

use super::choices::Choices;
use super::schema::{Schema, literal};
use super::types::{AGGREGATES, TEMPLATES, TYPES, Type, row_of};

/// A statement.
#[derive(Clone, Debug, Default)]
pub struct Statement {
    pub text: String,
    /// Whether the order of its rows counts.
    pub is_ordered: bool,
    /// Values of its parameters.
    pub values: Vec<Option<String>>,
    /// Whether it changes anything.
    pub is_change: bool,
}

/// A column that an expression can read: its text and its type.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) text: String,
    pub(crate) sql_type: Type,
    /// The alias of the item of FROM that it is a column of.
    pub(crate) item: Option<String>,
}

/// A list of output columns: names and types.
pub(crate) type Shape = Vec<(String, Type)>;

/// A common table expression in reach.
#[derive(Clone)]
pub(crate) struct Cte {
    pub(crate) name: String,
    pub(crate) shape: Shape,
}

/// A query split at FROM and WHERE, for judges that put its parts together in several ways.
pub struct Parts {
    pub from: String,
    pub predicate: String,
    /// Expressions whose equal values are the same text, with aggregates over them.
    pub targets: Vec<String>,
    pub aggregates: Vec<(String, String)>,
}

/// Makes statements.
pub struct Generator<'g> {
    pub(crate) choices: &'g mut Choices,
    pub(crate) schema: &'g Schema,
    /// The columns that can be read, the outermost query's first.
    pub(crate) scopes: Vec<Vec<Source>>,
    pub(crate) ctes: Vec<Cte>,
    /// Nodes left to spend: bounds the statement's size.
    pub(crate) fuel: usize,
    /// Queries around the one being made.
    pub(crate) depth: usize,
    /// Large tables that may still be read.
    pub(crate) large_left: usize,
    pub(crate) next_name: usize,
    /// Whether the outermost query will be split into parts. Then aggregates in subqueries must not belong to it.
    is_cut: bool,
    /// Values of parameters, if literals may become parameters.
    pub(crate) values: Option<Vec<Option<String>>>,
}

impl<'g> Generator<'g> {
    pub fn new(choices: &'g mut Choices, schema: &'g Schema, has_parameters: bool) -> Generator<'g> {
        let fuel = choices.between(10, 90);
        Generator {
            choices,
            schema,
            scopes: Vec::new(),
            ctes: Vec::new(),
            fuel,
            depth: 0,
            large_left: 1,
            next_name: 0,
            is_cut: false,
            values: has_parameters.then(Vec::new),
        }
    }

    /// A statement of any kind.
    pub fn statement(mut self) -> Statement {
        let mut statement = match self.choices.chance(25) {
            true => self.change(),
            false => self.top_query(),
        };
        statement.values = self.values.unwrap_or_default();
        statement
    }

    /// A query.
    pub fn query_statement(mut self) -> Statement {
        let mut statement = self.top_query();
        statement.values = self.values.unwrap_or_default();
        statement
    }

    /// The parts of a query without WHERE.
    pub fn parts(mut self) -> Parts {
        self.is_cut = true;
        let from = self.from();
        let targets = (0..self.choices.between(1, 3)).map(|_| self.distinct_target(2).0).collect();
        let aggregates = (0..self.choices.between(1, 2)).map(|_| self.mergeable_aggregate()).collect();
        let predicate = self.expr("bool", 3);
        Parts { from, predicate, targets, aggregates }
    }

    /// An argument's expression and an aggregate's name.
    pub(crate) fn mergeable_aggregate(&mut self) -> (String, String) {
        let (name, of): (&str, Type) = *self.choices.of(&[
            ("sum", "int4"),
            ("count", "text"),
            ("min", "int4"),
            ("max", "text"),
            ("bool_or", "bool"),
            ("bool_and", "bool"),
            ("sum", "numeric"),
        ]);
        (name.to_owned(), self.expr(of, 2))
    }

    pub(crate) fn name(&mut self, letter: &str) -> String {
        self.next_name += 1;
        format!("{letter}{}", self.next_name)
    }

    pub(crate) fn spend(&mut self) -> bool {
        let has_some = self.fuel > 0;
        self.fuel = self.fuel.saturating_sub(1);
        has_some
    }

    /// A type that an output column may have.
    pub(crate) fn any_type(&mut self) -> Type {
        match self.choices.chance(40) {
            false => TYPES[self.choices.below(3)].name,
            true => TYPES[self.choices.below(TYPES.len())].name,
        }
    }

    /// A column or a literal.
    pub(crate) fn leaf(&mut self, sql_type: Type) -> String {
        let found: Vec<(usize, String)> = self
            .scopes
            .iter()
            .rev()
            .enumerate()
            .flat_map(|(level, scope)| scope.iter().map(move |source| (level, source)))
            .filter(|(_, source)| source.sql_type == sql_type)
            .map(|(level, source)| (level, source.text.clone()))
            .collect();
        if found.is_empty() || self.choices.chance(15) {
            return self.literal(sql_type);
        }
        let inner: Vec<&(usize, String)> = found.iter().filter(|(level, _)| *level == 0).collect();
        if !inner.is_empty() && !self.choices.chance(30) {
            return self.choices.of(&inner).1.clone();
        }
        self.choices.of(&found).1.clone()
    }

    pub(crate) fn literal(&mut self, sql_type: Type) -> String {
        let row = row_of(sql_type);
        // Parameters that are given a domain's type are described as such by PostgreSQL alone.
        let is_sent = self.values.is_some() && sql_type != "positive" && self.choices.chance(50);
        if is_sent {
            let value = if self.choices.chance(8) { None } else { Some((*self.choices.of(row.values)).to_owned()) };
            // Sometimes the place says which type it is.
            let is_bare = self.choices.chance(15);
            if let Some(values) = self.values.as_mut() {
                values.push(value);
                let number = values.len();
                return if is_bare { format!("${number}") } else { format!("${number}::{sql_type}") };
            }
        }
        if self.choices.chance(6) {
            return format!("null::{sql_type}");
        }
        literal(row, self.choices)
    }

    /// An expression of a type.
    pub(crate) fn expr(&mut self, sql_type: Type, depth: usize) -> String {
        if depth == 0 || !self.spend() {
            return self.leaf(sql_type);
        }
        match self.choices.below(20) {
            0..5 => self.leaf(sql_type),
            5 => self.of_whole_row(sql_type).unwrap_or_else(|| self.template(sql_type, depth)),
            6..14 => self.template(sql_type, depth),
            14..18 => self.general(sql_type, depth),
            _ if self.depth < 4 && self.fuel > 6 => self.subquery_value(sql_type),
            _ => self.leaf(sql_type),
        }
    }

    /// An expression that reads an item of FROM as one row.
    pub(crate) fn of_whole_row(&mut self, sql_type: Type) -> Option<String> {
        let mut items: Vec<&str> = self.scopes.iter().flatten().filter_map(|source| source.item.as_deref()).collect();
        items.dedup();
        if items.is_empty() {
            return None;
        }
        let item = (*self.choices.of(&items)).to_owned();
        let templates: &[&str] = match sql_type {
            "text" => &["left({}::text, 30)", "left(to_jsonb({})::text, 40)"],
            "int4" => &["length({}::text)"],
            "bool" => &[
                "({} is null)",
                "({} is not null)",
                "({} is distinct from null)",
                "(to_jsonb({}) is null)",
                "(not ({} is null))",
            ],
            _ => return None,
        };
        Some(self.choices.of(templates).replace("{}", &item))
    }

    pub(crate) fn template(&mut self, sql_type: Type, depth: usize) -> String {
        if sql_type == "bool" && self.choices.chance(30) {
            return self.condition(depth);
        }
        let templates: Vec<&str> =
            TEMPLATES.iter().filter(|(result, _)| *result == sql_type).map(|(_, text)| *text).collect();
        if templates.is_empty() {
            return self.leaf(sql_type);
        }
        let template = *self.choices.of(&templates);
        self.fill(template, depth)
    }

    /// Puts expressions into a template's holes.
    pub(crate) fn fill(&mut self, template: &str, depth: usize) -> String {
        let mut made = String::new();
        let mut rest = template;
        while let Some(start) = rest.find('{') {
            let hole = rest[start + 1..].find('}').map(|end| &rest[start + 1..start + 1 + end]);
            let known = hole.and_then(|hole| {
                let name = hole.trim_end_matches(['!', '=']);
                TYPES.iter().find(|row| row.name == name).map(|row| (hole, row.name))
            });
            let Some((hole, sql_type)) = known else {
                // A brace of the text's own.
                made.push_str(&rest[..=start]);
                rest = &rest[start + 1..];
                continue;
            };
            made.push_str(&rest[..start]);
            made.push_str(&match hole.as_bytes().last() {
                Some(b'!') => self.leaf(sql_type),
                Some(b'=') => self.literal(sql_type),
                _ => self.expr(sql_type, depth - 1),
            });
            rest = &rest[start + hole.len() + 2..];
        }
        made.push_str(rest);
        made
    }

    /// The templates that fit every type.
    pub(crate) fn general(&mut self, sql_type: Type, depth: usize) -> String {
        let one = self.expr(sql_type, depth - 1);
        match self.choices.below(7) {
            0 => format!("({one})"),
            1 => format!("coalesce({one}, {})", self.leaf(sql_type)),
            2 => format!("(case when {} then {one} else {} end)", self.expr("bool", depth - 1), self.leaf(sql_type)),
            3 => format!("(case when {} then {one} end)", self.expr("bool", depth - 1)),
            4 => {
                let of = self.expr("int4", depth - 1);
                let (a, b) = (self.literal("int4"), self.literal("int4"));
                format!("(case {of} when {a} then {one} when {b} then {} end)", self.leaf(sql_type))
            }
            5 if row_of(sql_type).is_ordered => format!("nullif({one}, {})", self.leaf(sql_type)),
            6 if row_of(sql_type).is_ordered && sql_type != "pair" => {
                let word = *self.choices.of(&["greatest", "least"]);
                format!("{word}({one}, {})", self.leaf(sql_type))
            }
            _ => format!("coalesce({}, {one})", self.leaf(sql_type)),
        }
    }

    /// A condition that is no template: comparisons of any type, and subqueries.
    pub(crate) fn condition(&mut self, depth: usize) -> String {
        let sql_type = self.any_type();
        let is_ordered = row_of(sql_type).is_ordered;
        match self.choices.below(9) {
            0 => format!("({} is null)", self.expr(sql_type, depth - 1)),
            1 => format!("({} is not null)", self.expr(sql_type, depth - 1)),
            2 | 3 if is_ordered => {
                let operator =
                    *self.choices.of(&["=", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from"]);
                let (left, right) = (self.expr(sql_type, depth - 1), self.expr(sql_type, depth - 1));
                format!("({left} {operator} {right})")
            }
            4 | 5 if self.depth < 4 => {
                let not = if self.choices.chance(40) { "not " } else { "" };
                let query = self.subquery(&["int4"], false);
                format!("({not}exists ({query}))")
            }
            6 if self.depth < 4 && is_ordered => {
                let left = self.expr(sql_type, depth - 1);
                let not = if self.choices.chance(40) { "not " } else { "" };
                format!("({left} {not}in ({}))", self.subquery(&[sql_type], false))
            }
            7 if self.depth < 4 && is_ordered => {
                let left = self.expr(sql_type, depth - 1);
                let operator = *self.choices.of(&["= any", "<> all", "< any", ">= all", "> some"]);
                format!("({left} {operator} ({}))", self.subquery(&[sql_type], false))
            }
            8 if self.depth < 4 => {
                let (left, right) = (self.expr("int4", depth - 1), self.expr("text", depth - 1));
                let not = if self.choices.chance(40) { "not " } else { "" };
                format!("(({left}, {right}) {not}in ({}))", self.subquery(&["int4", "text"], false))
            }
            _ => format!("({} is not null)", self.leaf(sql_type)),
        }
    }

    /// A scalar subquery, or an array of one.
    pub(crate) fn subquery_value(&mut self, sql_type: Type) -> String {
        if (sql_type == "int4[]" || sql_type == "text[]") && self.choices.chance(60) {
            let element = if sql_type == "int4[]" { "int4" } else { "text" };
            return format!("array({} order by 1)", self.subquery(&[element], false));
        }
        if self.choices.chance(50) && row_of(sql_type).distinct_type == sql_type {
            let query = self.subquery(&[sql_type], true);
            return format!("({query} order by 1 limit 1)");
        }
        self.aggregate_value(sql_type)
    }

    /// A scalar subquery with an aggregate.
    pub(crate) fn aggregate_value(&mut self, sql_type: Type) -> String {
        let found: Vec<&str> =
            AGGREGATES.iter().filter(|(result, _)| *result == sql_type).map(|(_, text)| *text).collect();
        if found.is_empty() {
            return self.leaf(sql_type);
        }
        let template = *self.choices.of(&found);
        if self.depth > 0 && self.choices.chance(10) {
            // An aggregate of the query around it, or of its own if nothing is read.
            let outermost = (self.is_cut && !self.scopes.is_empty()).then(|| self.scopes.remove(0));
            let call = self.fill(template, 1);
            outermost.into_iter().for_each(|scope| self.scopes.insert(0, scope));
            return format!("(select {call})");
        }
        self.depth += 1;
        let from = self.from();
        let call = self.aggregate_call(template);
        let filter = self.optional_filter();
        self.leave();
        format!("(select {call} from {from}{filter})")
    }

    /// A query with these columns that needs nothing outside of it but its scopes. It has no ORDER BY.
    pub(crate) fn subquery(&mut self, types: &[Type], is_distinct: bool) -> String {
        self.depth += 1;
        let from = self.from();
        let filter = self.optional_filter();
        let targets: Vec<String> = types
            .iter()
            .map(|sql_type| {
                let expr = self.expr(sql_type, 2);
                if is_distinct { self.made_distinct(&expr, sql_type).0 } else { expr }
            })
            .collect();
        self.leave();
        format!("select {} from {from}{filter}", targets.join(", "))
    }

    pub(crate) fn leave(&mut self) {
        self.scopes.pop();
        self.depth -= 1;
    }

    /// The expression, equal values of which are the same text, and its type.
    pub(crate) fn made_distinct(&self, expr: &str, sql_type: Type) -> (String, Type) {
        let row = row_of(sql_type);
        (row.distinct.replace("{}", expr), row.distinct_type)
    }

    pub(crate) fn distinct_target(&mut self, depth: usize) -> (String, Type) {
        let sql_type = self.any_type();
        let expr = self.expr(sql_type, depth);
        self.made_distinct(&expr, sql_type)
    }

    pub(crate) fn optional_filter(&mut self) -> String {
        if self.choices.chance(60) {
            let depth = self.choices.between(1, 3);
            format!(" where {}", self.expr("bool", depth))
        } else {
            String::new()
        }
    }
}
