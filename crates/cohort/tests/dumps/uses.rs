//! Random scripts of definitions that use each other: defaults, checks, keys, conditions and arguments call functions and name types that
//! were made before, under names that sort the other way round.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::script::pick;

/// The argument of a function.
#[derive(Clone)]
enum Taken {
    Nothing,
    Number,
    /// A value of a type that is made here.
    Of(String),
}

/// A type, and an expression of it.
#[derive(Clone)]
struct Type {
    name: String,
    value: String,
}

struct Uses {
    random: StdRng,
    made: usize,
    /// Functions that give an int.
    functions: Vec<(String, Taken)>,
    types: Vec<Type>,
    sequences: Vec<String>,
    /// Tables with a column `a int`, and the number of columns added.
    tables: Vec<(String, usize)>,
    views: Vec<String>,
    trigger_function: Option<String>,
}

/// A script of this seed.
pub fn script(seed: u64, length: usize) -> Vec<String> {
    let mut uses = Uses {
        random: StdRng::seed_from_u64(seed),
        made: 0,
        functions: Vec::new(),
        types: Vec::new(),
        sequences: Vec::new(),
        tables: Vec::new(),
        views: Vec::new(),
        trigger_function: None,
    };
    let mut statements = vec!["create schema one".to_owned(), "create schema two".to_owned()];
    statements.push(uses.function());
    statements.extend((0..length).map(|_| uses.statement()));
    statements
}

impl Uses {
    fn chance(&mut self, percent: u32) -> bool {
        self.random.random_range(0..100) < percent
    }

    /// A name that sorts before those given out so far.
    fn name(&mut self) -> String {
        self.made += 1;
        format!("n{}", 999 - self.made)
    }

    fn full_name(&mut self) -> String {
        let schema = if self.chance(70) { "one" } else { "two" };
        format!("{schema}.{}", self.name())
    }

    fn statement(&mut self) -> String {
        loop {
            let made = match self.random.random_range(0..100) {
                0..18 => Some(self.function()),
                18..32 => Some(self.a_type()),
                32..36 => Some(self.sequence()),
                36..52 => Some(self.table()),
                52..60 => self.index(),
                60..66 => self.trigger(),
                66..74 => Some(self.view()),
                74..94 => self.alter_table(),
                _ => self.alter_other(),
            };
            if let Some(made) = made {
                return made;
            }
        }
    }

    /// An int that doesn't change between calls.
    fn number(&mut self) -> String {
        let function = (!self.functions.is_empty() && self.chance(70)).then(|| pick(&mut self.random, &self.functions));
        match function.cloned() {
            Some((name, Taken::Nothing)) => format!("{name}()"),
            Some((name, Taken::Number)) => match self.chance(50) {
                true => format!("{name}(1)"),
                false => format!("{name}({})", self.number()),
            },
            Some((name, Taken::Of(type_name))) => format!("{name}(null::{type_name})"),
            None if self.types.is_empty() || self.chance(30) => "7".to_owned(),
            None => format!("length(({})::text)", pick(&mut self.random, &self.types).value),
        }
    }

    fn function(&mut self) -> String {
        let name = self.full_name();
        let any_type = (!self.types.is_empty()).then(|| pick(&mut self.random, &self.types).clone());
        let any_table = (!self.tables.is_empty()).then(|| pick(&mut self.random, &self.tables).0.clone());
        let (arguments, taken) = match (self.random.random_range(0..6), any_type, any_table) {
            (0, ..) => (String::new(), Taken::Nothing),
            (1 | 2, Some(own), _) => (format!("x {} default {}", own.name, own.value), Taken::Of(own.name)),
            (3, _, Some(table)) => (format!("x {table}"), Taken::Of(table)),
            _ if self.functions.is_empty() => (String::new(), Taken::Nothing),
            _ => (format!("x int default {}", self.number()), Taken::Number),
        };
        self.functions.push((name.clone(), taken));
        format!("create function {name}({arguments}) returns int language sql immutable as 'select 1'")
    }

    fn a_type(&mut self) -> String {
        let name = self.full_name();
        let other = (!self.types.is_empty() && self.chance(50)).then(|| pick(&mut self.random, &self.types).clone());
        let (text, value) = match (self.random.random_range(0..3), other) {
            (0, _) => (format!("create type {name} as enum ('a', 'b')"), format!("'a'::{name}")),
            (1, other) => {
                let field = other.map_or_else(|| "text".to_owned(), |other| other.name);
                (format!("create type {name} as (a int, b {field})"), format!("null::{name}"))
            }
            (_, Some(other)) if self.chance(50) => {
                let check = format!("value is not null or {} = 1", self.number());
                let Type { name: base, value } = other;
                (format!("create domain {name} as {base} default {value} check ({check})"), format!("{value}::{name}"))
            }
            _ => {
                let (default, check) = (self.number(), self.number());
                (
                    format!("create domain {name} as int default {default} check (value > {check} or value is null)"),
                    format!("null::{name}"),
                )
            }
        };
        self.types.push(Type { name, value });
        text
    }

    fn sequence(&mut self) -> String {
        let name = self.full_name();
        self.sequences.push(name.clone());
        format!("create sequence {name}")
    }

    fn default(&mut self) -> String {
        match self.random.random_range(0..4) {
            0 if !self.sequences.is_empty() => format!("nextval('{}')", pick(&mut self.random, &self.sequences)),
            _ => self.number(),
        }
    }

    fn column(&mut self, name: &str) -> String {
        let own = (!self.types.is_empty() && self.chance(35)).then(|| pick(&mut self.random, &self.types).clone());
        match (own, self.random.random_range(0..4)) {
            (Some(Type { name: kind, .. }), 0) => format!("{name} {kind}[]"),
            (Some(Type { name: kind, value }), _) => format!("{name} {kind} default {value}"),
            (None, 0) => format!("{name} int generated always as (a + {}) stored", self.number()),
            (None, 1) => format!("{name} int check ({name} > {})", self.number()),
            (None, _) => format!("{name} int default {}", self.default()),
        }
    }

    fn table(&mut self) -> String {
        let name = self.full_name();
        let count = self.random.random_range(1..4);
        let columns: Vec<String> = (0..count).map(|place| self.column(&format!("c{place}"))).collect();
        self.tables.push((name.clone(), count));
        format!("create table {name} (a int, {})", columns.join(", "))
    }

    fn any_table(&mut self) -> Option<String> {
        (!self.tables.is_empty()).then(|| pick(&mut self.random, &self.tables).0.clone())
    }

    fn index(&mut self) -> Option<String> {
        let table = self.any_table()?;
        let (key, name) = (self.number(), self.name());
        let predicate = if self.chance(40) { format!(" where a > {}", self.number()) } else { String::new() };
        Some(format!("create index {name} on {table} ((a + {key})){predicate}"))
    }

    fn trigger(&mut self) -> Option<String> {
        let table = self.any_table()?;
        let name = self.name();
        let Some(function) = self.trigger_function.clone() else {
            let function = self.full_name();
            self.trigger_function = Some(function.clone());
            return Some(format!(
                "create function {function}() returns trigger language plpgsql as 'begin return new; end'"
            ));
        };
        let when = self.number();
        Some(format!(
            "create trigger {name} after insert on {table} for each row when (new.a > {when}) execute function {function}()"
        ))
    }

    fn view(&mut self) -> String {
        let name = self.full_name();
        let kind = if self.chance(25) { "materialized view" } else { "view" };
        let first = self.number();
        let from = match self.random.random_range(0..3) {
            0 if !self.views.is_empty() => format!(" from {}", pick(&mut self.random, &self.views)),
            1 => self.any_table().map(|table| format!(" from {table}")).unwrap_or_default(),
            _ => String::new(),
        };
        self.views.push(name.clone());
        format!("create {kind} {name} as select {first} as a{from}")
    }

    /// Tables come to use what was made after them, which may use the tables.
    fn alter_table(&mut self) -> Option<String> {
        let table = self.any_table()?;
        let action = match self.random.random_range(0..5) {
            0 => format!("alter a set default {}", self.default()),
            1 => {
                let name = self.name();
                format!("add constraint {name} check (a > {})", self.number())
            }
            2 => {
                let name = self.name();
                format!("add column {}", self.column(&name))
            }
            3 => {
                let (name, of) = (self.name(), self.number());
                format!("add constraint {name} check (a > {of}) not valid")
            }
            _ => "alter a drop default".to_owned(),
        };
        Some(format!("alter table {table} {action}"))
    }

    fn alter_other(&mut self) -> Option<String> {
        let domains: Vec<String> =
            self.types.iter().filter(|own| own.value.starts_with("null::")).map(|own| own.name.clone()).collect();
        if domains.is_empty() {
            return None;
        }
        let domain = pick(&mut self.random, &domains).clone();
        Some(match self.random.random_range(0..2) {
            0 => format!("alter domain {domain} set default {}", self.number()),
            _ => {
                let name = self.name();
                format!("alter domain {domain} add constraint {name} check (value <> {})", self.number())
            }
        })
    }
}
