//! A script's statements: which of them comes next, changes of rows, and queries.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::catalog::{Catalog, Column, Relation};

/// Names of columns and attributes. There are few, so that renamed ones meet names that others had.
pub const COLUMNS: &[&str] = &["a", "b", "c", "d", "\"E f\"", "g"];

pub struct Script {
    random: StdRng,
    is_in_block: bool,
    savepoints: usize,
    prepared: Vec<String>,
    made: usize,
    /// Rows are NULL rather than `ROW(...)`. Texts that are planned when they run have no such rows: PostgreSQL goes on with the plan that was
    /// made with the attributes that the type had once, while Cohort binds the text again, as a new session of PostgreSQL's would.
    pub makes_no_rows: bool,
    /// An array without elements has been written. In PostgreSQL an expression with one does not depend on its type, so a type that is dropped
    /// leaves broken expressions behind.
    pub has_empty_arrays: bool,
}

impl Script {
    pub fn of(seed: u64) -> Script {
        let random = StdRng::seed_from_u64(seed);
        Script {
            random,
            is_in_block: false,
            savepoints: 0,
            prepared: Vec::new(),
            made: 0,
            makes_no_rows: false,
            has_empty_arrays: false,
        }
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.random.random_range(0..end)
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// A new name.
    pub fn name(&mut self, prefix: &str) -> String {
        self.made += 1;
        match self.below(12) {
            0 => format!("\"{} {}\"", prefix.to_uppercase(), self.made),
            _ => format!("{prefix}{}", self.made),
        }
    }

    pub fn column_name(&mut self) -> String {
        (*self.pick(COLUMNS)).to_owned()
    }

    /// Ends a block that has failed.
    pub fn end_of_block(&mut self) -> String {
        if self.savepoints > 0 && self.chance(50) {
            return format!("rollback to s{}", self.savepoints);
        }
        (self.is_in_block, self.savepoints) = (false, 0);
        "rollback".to_owned()
    }

    /// The next statement.
    pub fn statement(&mut self, catalog: &Catalog) -> String {
        let tables = catalog.of_kind('r');
        if self.is_in_block && self.chance(25) {
            return self.block();
        }
        // Something to work with comes first.
        if catalog.of_kind('c').len() < 2 && self.chance(60) {
            return self.composite(catalog);
        }
        if tables.is_empty() {
            return self.table(catalog);
        }
        let table = (*self.pick(&tables)).clone();
        match self.below(100) {
            0..=2 => self.composite(catalog),
            3 => self.enumeration(),
            4..=5 => self.domain(catalog),
            6..=8 if tables.len() < 5 => self.table(catalog),
            9..=22 => self.change_of_type(catalog),
            23..=40 => self.change_of_table(catalog, &table),
            41..=45 => self.view(catalog),
            46..=48 => self.index(catalog, &table),
            49..=53 => self.function(catalog),
            54..=56 => self.trigger(catalog, &table),
            57 => self.removal(catalog),
            58..=59 => self.prepare(catalog, &table),
            60..=63 if !self.prepared.is_empty() => format!("execute {}", self.pick(&self.prepared.clone())),
            64..=65 if !self.is_in_block => {
                self.is_in_block = true;
                "begin".to_owned()
            }
            66..=70 => self.query(catalog),
            71..=73 => self.call(catalog, &table),
            74..=75 => self.block_of_code(catalog, &table),
            76 => self.block_with_rows_in_values(catalog, &table),
            77 => self.rows_within_a_statement(catalog),
            78..=82 => self.update(catalog, &table),
            83..=84 => format!("delete from {} where {}", table.name, self.condition(catalog, &table, "")),
            _ => self.insert(catalog, &table),
        }
    }

    /// A statement about the block that is open.
    fn block(&mut self) -> String {
        match self.below(6) {
            0 | 1 => {
                self.savepoints += 1;
                format!("savepoint s{}", self.savepoints)
            }
            2 if self.savepoints > 0 => format!("rollback to s{}", self.savepoints),
            3 => {
                (self.is_in_block, self.savepoints) = (false, 0);
                "rollback".to_owned()
            }
            _ => {
                (self.is_in_block, self.savepoints) = (false, 0);
                "commit".to_owned()
            }
        }
    }

    fn insert(&mut self, catalog: &Catalog, table: &Relation) -> String {
        let columns: Vec<&Column> =
            table.columns.iter().filter(|column| !column.is_generated).filter(|_| self.below(8) > 0).collect();
        if columns.is_empty() {
            return format!("insert into {} default values", table.name);
        }
        let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        let start = format!("insert into {} ({})", table.name, names.join(", "));
        if self.chance(25) {
            let relations: Vec<&Relation> = catalog.relations.iter().filter(|relation| relation.kind != 'c').collect();
            let from = (*self.pick(&relations)).clone();
            let values: Vec<String> =
                columns.iter().map(|column| self.expression(catalog, &column.kind, &from, "")).collect();
            // A limit would have to say in which order.
            return format!(
                "{start} select distinct {} from {} where {}",
                values.join(", "),
                from.name,
                self.condition(catalog, &from, "")
            );
        }
        let rows: Vec<String> = (0..1 + self.below(3))
            .map(|_| {
                let values: Vec<String> = columns.iter().map(|column| self.input(catalog, column)).collect();
                format!("({})", values.join(", "))
            })
            .collect();
        format!("{start} values {}", rows.join(", "))
    }

    /// A value for a column, at times as a text that the type's input reads.
    fn input(&mut self, catalog: &Catalog, column: &Column) -> String {
        match self.below(12) {
            0 if column.has_default => "default".to_owned(),
            1 if catalog.attributes(&column.kind).is_some() => {
                format!("({})::text::{}", self.value(catalog, &column.kind), column.kind)
            }
            2 => format!("'{}'", ["(1,q)", "(1,q,2)", "(1)", "{}", "7", "()"][self.below(6)]),
            _ => self.value(catalog, &column.kind),
        }
    }

    fn update(&mut self, catalog: &Catalog, table: &Relation) -> String {
        let columns: Vec<Column> = table.columns.iter().filter(|column| !column.is_generated).cloned().collect();
        if columns.is_empty() {
            return format!("delete from {}", table.name);
        }
        let column = self.pick(&columns).clone();
        let (mut target, mut kind) = (column.name.clone(), column.kind.clone());
        while let Some(attributes) = catalog.attributes(catalog.base(&kind)).filter(|list| !list.is_empty()) {
            if self.chance(40) {
                break;
            }
            let attribute = self.pick(attributes).clone();
            target.push('.');
            target.push_str(&attribute.name);
            kind = attribute.kind;
        }
        let value = self.expression(catalog, &kind, table, "");
        format!("update {} set {target} = {value} where {}", table.name, self.condition(catalog, table, ""))
    }

    /// A query of one relation or two.
    pub fn query(&mut self, catalog: &Catalog) -> String {
        let relations: Vec<&Relation> = catalog.relations.iter().filter(|relation| relation.kind != 'c').collect();
        let relation = (*self.pick(&relations)).clone();
        let name = &relation.name;
        let column = (!relation.columns.is_empty()).then(|| self.pick(&relation.columns).clone());
        let condition = self.condition(catalog, &relation, "x.");
        match (self.below(9), column) {
            (0, _) => format!("select x from {name} x where {condition}"),
            (1, _) => format!("select (x).* from {name} x where {condition}"),
            (2, Some(column)) if catalog.attributes(catalog.base(&column.kind)).is_some() => {
                format!("select (x.{}).* from {name} x where {condition}", column.name)
            }
            (3, Some(column)) => {
                format!("select x.{0} as k, count(*) as n from {name} x group by x.{0}", column.name)
            }
            (4, Some(column)) => {
                let other = (*self.pick(&relations)).clone();
                let value = self.expression(catalog, &column.kind, &other, "y.");
                format!("select x.{0} as k, y as w from {name} x, {1} y where x.{0} = {value}", column.name, other.name)
            }
            (5, Some(column)) => {
                format!("select array_agg(x.{0} order by x.{0}) as k from {name} x where {condition}", column.name)
            }
            (6, _) => format!("select (select x) as k, row(x.*)::text as w from {name} x where {condition}"),
            (7, _) => format!("select * from {name} x where {condition}"),
            _ => {
                let kind = self.kind(catalog);
                let (first, second) = (self.expression(catalog, &kind, &relation, "x."), self.kind(catalog));
                let second = self.expression(catalog, &second, &relation, "x.");
                format!("select {first} as k, {second} as w from {name} x where {condition}")
            }
        }
    }

    fn prepare(&mut self, catalog: &Catalog, table: &Relation) -> String {
        let name = format!("p{}", self.prepared.len());
        self.prepared.push(name.clone());
        self.makes_no_rows = true;
        let statement = match self.below(3) {
            0 => self.insert(catalog, table),
            1 => self.update(catalog, table),
            _ => self.query(catalog),
        };
        self.makes_no_rows = false;
        format!("prepare {name} as {statement}")
    }

    /// A call of a function.
    fn call(&mut self, catalog: &Catalog, table: &Relation) -> String {
        let functions: Vec<_> = catalog.functions.iter().filter(|function| !function.argument.is_empty()).collect();
        if functions.is_empty() {
            return self.query(catalog);
        }
        let function = *self.pick(&functions);
        match self.below(3) {
            0 => format!("select {}({}) as k", function.name, self.value(catalog, &function.argument)),
            1 => format!("select * from {}({}) as k", function.name, self.value(catalog, &function.argument)),
            _ => {
                let argument = self.expression(catalog, &function.argument, table, "");
                format!("select {}({argument}) as k from {}", function.name, table.name)
            }
        }
    }
}
