//! INSERT, UPDATE, DELETE and MERGE, by themselves and in WITH.

use super::generator::{Cte, Generator, Shape, Source, Statement};
use super::schema::literal;
use super::types::row_of;

/// One of so many sizes of a change is a MERGE.
const MERGED_OF: usize = 8;

impl Generator<'_> {
    pub(crate) fn change(&mut self) -> Statement {
        let tables: Vec<usize> = (0..self.schema.tables.len()).collect();
        let table = *self.choices.of(&tables);
        let is_merge = self.fuel % MERGED_OF == MERGED_OF - 1 && !self.schema.tables[table].is_view;
        let text = match self.choices.below(6) {
            _ if is_merge => self.merge(table),
            0 | 1 => self.insert(table).0,
            2 | 3 => self.update(table).0,
            4 => self.delete(table).0,
            _ => {
                let (inner, alias) = match self.choices.below(3) {
                    0 => self.insert(table),
                    1 => self.update(table),
                    _ => self.delete(table),
                };
                let inner = match inner.find(" returning ") {
                    Some(at) => inner[..at].to_owned(),
                    None => inner,
                };
                let name = self.name("w");
                let shape: Shape = vec![("x1".to_owned(), "int4")];
                self.ctes.push(Cte { name: name.clone(), shape });
                let (query, _) = self.query(false);
                format!("with {name} (x1) as ({inner} returning {alias}.id) {query}")
            }
        };
        Statement { text, is_change: true, ..Statement::default() }
    }

    /// RETURNING, if it is wanted, over the table's columns.
    pub(crate) fn returning(&mut self, table: usize, alias: &str) -> String {
        if !self.choices.chance(50) {
            return String::new();
        }
        self.scopes = vec![self.sources(table, alias)];
        let list: Vec<String> = (0..self.choices.between(1, 3))
            .map(|_| {
                let sql_type = self.any_type();
                self.expr(sql_type, 2)
            })
            .collect();
        self.scopes.clear();
        format!(" returning {}", list.join(", "))
    }

    pub(crate) fn sources(&self, table: usize, alias: &str) -> Vec<Source> {
        let columns = self.schema.tables[table].columns.iter();
        columns
            .map(|column| Source { text: format!("{alias}.{}", column.name), sql_type: column.sql_type, item: None })
            .collect()
    }

    /// A value for a column: small, and no NULL where none may be.
    pub(crate) fn value(&mut self, table: usize, column: usize, depth: usize) -> String {
        let schema = self.schema;
        let column = &schema.tables[table].columns[column];
        if column.name == "parent" {
            return self.choices.of(&["null", "1", "2", "3"]).to_string();
        }
        if depth == 0 && !column.not_null && self.choices.chance(10) {
            return "default".to_owned();
        }
        let expr = self.expr(column.sql_type, depth);
        let bounded = match column.sql_type {
            "int4" => format!("({expr}) % 1000"),
            "int8" => format!("({expr}) % 10000000000"),
            "numeric" => format!("round({expr}, 3) % 100000"),
            "text" => format!("left({expr}, 20)"),
            _ => expr,
        };
        if column.not_null {
            return format!("coalesce({bounded}, {})", literal(row_of(column.sql_type), self.choices));
        }
        bounded
    }

    pub(crate) fn insert(&mut self, table: usize) -> (String, String) {
        let schema = self.schema;
        let name = &schema.tables[table].name;
        let given: Vec<usize> = (1..schema.tables[table].columns.len())
            .filter(|place| !schema.tables[table].columns[*place].is_generated)
            .collect();
        let columns: Vec<&str> = given.iter().map(|place| schema.tables[table].columns[*place].name.as_str()).collect();
        let alias = self.name("r");
        let source = match self.choices.chance(40) {
            false => {
                let rows: Vec<String> = (0..self.choices.between(1, 2))
                    .map(|row| {
                        // Small numbers meet rows that are there.
                        let id = self.choices.between(1, 20) + 20 * row;
                        let values: Vec<String> = given.iter().map(|place| self.value(table, *place, 0)).collect();
                        format!("({id}, {})", values.join(", "))
                    })
                    .collect();
                format!("values {}", rows.join(", "))
            }
            true => {
                let (item, from_shape) = self.table_item();
                let from = self.name("a");
                self.scopes.push(Vec::new());
                self.add_columns(&from, &from_shape);
                let filter = self.optional_filter();
                let values: Vec<String> = given
                    .iter()
                    .map(|place| self.value(table, *place, 2))
                    .map(|value| if value == "default" { "null".to_owned() } else { value })
                    .collect();
                self.scopes.pop();
                let base = self.choices.of(&[5000, 20, 0]).to_string();
                format!(
                    "select {from}.id + {base}, {} from {item} as {from}{filter} order by {from}.id",
                    values.join(", ")
                )
            }
        };
        let conflict = if schema.tables[table].is_view { String::new() } else { self.on_conflict(table, &alias) };
        let returning = self.returning(table, &alias);
        let text = format!("insert into {name} as {alias} (id, {}) {source}{conflict}{returning}", columns.join(", "));
        (text, alias)
    }

    pub(crate) fn on_conflict(&mut self, table: usize, alias: &str) -> String {
        match self.choices.below(5) {
            0 | 1 => String::new(),
            2 => " on conflict do nothing".to_owned(),
            3 => " on conflict (id) do nothing".to_owned(),
            _ => {
                let mut sources = self.sources(table, alias);
                sources.extend(self.sources(table, "excluded"));
                self.scopes.push(sources);
                let sets = self.assignments(table);
                let filter = self.optional_filter();
                self.scopes.pop();
                format!(" on conflict (id) do update set {sets}{filter}")
            }
        }
    }

    pub(crate) fn assignments(&mut self, table: usize) -> String {
        let schema = self.schema;
        let mut places: Vec<usize> = (1..schema.tables[table].columns.len())
            .filter(|place| !schema.tables[table].columns[*place].is_generated)
            .collect();
        let mut sets = Vec::new();
        for _ in 0..self.choices.between(1, 2) {
            if places.is_empty() {
                break;
            }
            let place = places.remove(self.choices.below(places.len()));
            let value = self.value(table, place, 2);
            sets.push(format!("{} = {value}", schema.tables[table].columns[place].name));
        }
        sets.join(", ")
    }

    pub(crate) fn update(&mut self, table: usize) -> (String, String) {
        let schema = self.schema;
        let alias = self.name("r");
        self.scopes = vec![self.sources(table, &alias)];
        // Each row is joined with one row at most.
        let from = match self.choices.chance(30) {
            false => None,
            true => {
                let (item, shape) = self.table_item();
                let from = self.name("a");
                self.add_columns(&from, &shape);
                let key: Vec<String> = self
                    .sources(table, &alias)
                    .into_iter()
                    .filter(|source| source.sql_type == "int4")
                    .map(|source| source.text)
                    .collect();
                let key = self.choices.of(&key).clone();
                Some((format!(" from {item} as {from}"), format!("{from}.id = {key}")))
            }
        };
        let sets = self.assignments(table);
        let condition = self.expr("bool", 3);
        let (from, joined) = from.unwrap_or_default();
        let joined = if joined.is_empty() { String::new() } else { format!("{joined} and ") };
        let returning = self.returning(table, &alias);
        self.scopes.clear();
        let name = &schema.tables[table].name;
        (format!("update {name} as {alias} set {sets}{from} where {joined}({condition}){returning}"), alias)
    }

    pub(crate) fn delete(&mut self, table: usize) -> (String, String) {
        let schema = self.schema;
        let alias = self.name("r");
        self.scopes = vec![self.sources(table, &alias)];
        let using = match self.choices.chance(30) {
            false => String::new(),
            true => {
                let (item, shape) = self.table_item();
                let from = self.name("a");
                self.add_columns(&from, &shape);
                format!(" using {item} as {from}")
            }
        };
        let condition = self.expr("bool", 3);
        let returning = self.returning(table, &alias);
        self.scopes.clear();
        let name = &schema.tables[table].name;
        (format!("delete from {name} as {alias}{using} where {alias}.id > 4 and ({condition}){returning}"), alias)
    }

    /// Rows are joined by the source's key, so that each of the table has one row of the source at most.
    fn merge(&mut self, table: usize) -> String {
        let schema = self.schema;
        let alias = self.name("r");
        let (item, shape) = self.table_item();
        let from = self.name("a");
        let own = self.sources(table, &alias);
        let keys: Vec<String> =
            own.iter().filter(|source| source.sql_type == "int4").map(|source| source.text.clone()).collect();
        let key = self.choices.of(&keys).clone();
        let of_source = |generator: &mut Self, seen: Vec<Source>| {
            generator.scopes = vec![seen];
            generator.add_columns(&from, &shape);
        };
        of_source(self, own);
        let more = if self.choices.chance(30) { format!(" and ({})", self.expr("bool", 2)) } else { String::new() };
        let mut clauses = String::new();
        for _ in 0..self.choices.between(1, 3) {
            let condition = self.expr("bool", 2);
            let action = match self.choices.below(5) {
                0 => format!("{alias}.id > 4 then delete"),
                1 => "true then do nothing".to_owned(),
                _ => format!("true then update set {}", self.assignments(table)),
            };
            clauses.push_str(&format!(" when matched and ({condition}) and {action}"));
        }
        if self.choices.chance(60) {
            of_source(self, Vec::new());
            let filter =
                if self.choices.chance(50) { format!(" and ({})", self.expr("bool", 2)) } else { String::new() };
            let given: Vec<usize> = (1..schema.tables[table].columns.len())
                .filter(|place| !schema.tables[table].columns[*place].is_generated)
                .collect();
            let columns: Vec<&str> =
                given.iter().map(|place| schema.tables[table].columns[*place].name.as_str()).collect();
            let values: Vec<String> = given.iter().map(|place| self.value(table, *place, 2)).collect();
            // Far from the keys of other statements.
            let base = 10_000 + 1_000 * self.choices.below(900_000);
            clauses.push_str(&format!(
                " when not matched{filter} then insert (id, {}) values ({from}.id + {base}, {})",
                columns.join(", "),
                values.join(", ")
            ));
        }
        self.scopes.clear();
        let name = &schema.tables[table].name;
        format!("merge into {name} as {alias} using {item} as {from} on {from}.id = {key}{more}{clauses}")
    }
}
