//! Random statements about a few tables with constraints, and what the test knows of them by itself.

use rand::Rng;
use rand::rngs::StdRng;

use super::kinds::{INTEGER, KINDS, Kind, TYPES};
use super::{any, changes, definitions, in_hundred};

/// A constraint that was declared, and how to see whether it holds.
#[derive(Debug, Clone)]
pub struct Declared {
    /// Its name, made of its table's and its own.
    pub name: String,
    /// The things that it goes with: tables, `table.column`, constraints.
    pub of: Vec<String>,
    /// A query for rows that violate it.
    pub violations: String,
    /// Whether triggers see to it, so that it may be violated once they have been switched off.
    pub is_by_trigger: bool,
}

/// The result of a statement that succeeds.
#[derive(Debug, Clone, Default)]
pub struct Effect {
    /// The declarations that hold from now on.
    pub declares: Vec<Declared>,
    /// The things that are gone.
    pub drops: Vec<String>,
    /// Whether triggers may not do their duty from now on.
    pub suspends: bool,
}

/// One message of the client.
#[derive(Clone, Default)]
pub struct Step {
    /// A statement, or several.
    pub text: String,
    /// The input of a COPY.
    pub input: String,
    /// The effects if it succeeds.
    pub effect: Effect,
}

impl Step {
    /// A statement that changes no declarations.
    pub fn new(text: impl Into<String>) -> Step {
        Step { text: text.into(), ..Step::default() }
    }

    /// A statement that declares something.
    pub fn declaring(text: impl Into<String>, declares: Vec<Declared>) -> Step {
        Step { text: text.into(), effect: Effect { declares, ..Effect::default() }, ..Step::default() }
    }

    /// A statement after which something is gone.
    pub fn dropping(text: impl Into<String>, drops: Vec<String>) -> Step {
        Step { text: text.into(), effect: Effect { drops, ..Effect::default() }, ..Step::default() }
    }
}

/// How the session rests after a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    Idle,
    InBlock,
    Failed,
}

/// A column.
pub struct Column {
    pub name: String,
    pub kind: &'static Kind,
}

/// A table.
pub struct Table {
    pub name: String,
    pub columns: Vec<Column>,
}

impl Table {
    /// One of its columns.
    pub fn any<'t>(&'t self, random: &mut StdRng) -> &'t Column {
        &self.columns[random.random_range(0..self.columns.len())]
    }

    /// One of its columns that keys are made of.
    pub fn any_integer(random: &mut StdRng) -> &'static str {
        any(random, &["id", "a", "a", "b"])
    }
}

/// The objects that the script has made so far, as far as the test remembers.
pub struct Script {
    pub tables: Vec<Table>,
    /// Names of constraints, as `table` and `name`.
    pub constraints: Vec<(String, String)>,
    /// Names of triggers, likewise.
    pub triggers: Vec<(String, String)>,
    pub views: Vec<String>,
    savepoints: usize,
    numbers: usize,
}

impl Script {
    /// A new one, and its first steps: types, tables, constraints and triggers.
    pub fn begin(random: &mut StdRng) -> (Script, Vec<Step>) {
        let mut script = Script {
            tables: Vec::new(),
            constraints: Vec::new(),
            triggers: Vec::new(),
            views: Vec::new(),
            savepoints: 0,
            numbers: 0,
        };
        let mut steps: Vec<Step> = TYPES.iter().copied().map(Step::new).collect();
        steps.extend(definitions::FUNCTIONS.iter().copied().map(Step::new));
        for number in 0..random.random_range(1..=3) {
            steps.push(script.table(&format!("t{number}"), random));
        }
        for _ in 0..random.random_range(2..=7) {
            steps.push(definitions::constraint(&mut script, random));
        }
        for _ in 0..random.random_range(0..=3) {
            steps.push(definitions::trigger(&mut script, random));
        }
        if in_hundred(random, 30) {
            steps.push(definitions::view(&mut script, random));
        }
        for _ in 0..3 {
            steps.push(changes::insert(&script, random));
        }
        (script, steps)
    }

    /// A number that no other name has.
    pub fn number(&mut self) -> usize {
        self.numbers += 1;
        self.numbers
    }

    /// One of the tables.
    pub fn any_table<'s>(&'s self, random: &mut StdRng) -> &'s Table {
        &self.tables[random.random_range(0..self.tables.len())]
    }

    fn table(&mut self, name: &str, random: &mut StdRng) -> Step {
        let mut columns: Vec<Column> =
            ["id", "a", "b"].iter().map(|name| Column { name: (*name).to_owned(), kind: &INTEGER }).collect();
        for number in 0..random.random_range(0..=2) {
            columns.push(Column { name: format!("k{number}"), kind: &KINDS[random.random_range(0..KINDS.len())] });
        }
        let mut parts = Vec::new();
        let mut declares = Vec::new();
        for column in &columns {
            let (part, declared) = definitions::column(name, column, random);
            parts.push(part);
            declares.extend(declared);
        }
        if in_hundred(random, 40) {
            parts[0].push_str(" primary key");
            self.constraints.push((name.to_owned(), format!("{name}_pkey")));
            declares.push(definitions::unique_declared(name, &format!("{name}_pkey"), &["id"]));
            declares.push(definitions::not_null_declared(name, "id", Some(&format!("{name}_pkey"))));
        }
        let step = Step::declaring(format!("create table {name} ({})", parts.join(", ")), declares);
        self.tables.push(Table { name: name.to_owned(), columns });
        step
    }

    /// The next step of a session that rests so.
    pub fn next(&mut self, rest: Rest, random: &mut StdRng) -> Step {
        match rest {
            Rest::Failed => {
                let texts = ["rollback", "commit", "rollback to s1", "rollback to s2", "rollback to s1"];
                let known = if self.savepoints == 0 { &texts[..2] } else { &texts[..] };
                Step::new(any(random, known))
            }
            Rest::Idle => {
                self.savepoints = 0;
                match random.random_range(0..100) {
                    0..30 => Step::new(any(
                        random,
                        &[
                            "begin",
                            "begin",
                            "begin isolation level repeatable read",
                            "begin isolation level serializable",
                        ],
                    )),
                    30..34 => self.several(random),
                    _ => self.work(random),
                }
            }
            Rest::InBlock => match random.random_range(0..100) {
                0..14 => Step::new("commit"),
                14..17 => Step::new("rollback"),
                17..25 => {
                    self.savepoints += 1;
                    Step::new(any(random, &["savepoint s1", "savepoint s2"]))
                }
                25..31 if self.savepoints > 0 => {
                    Step::new(any(random, &["rollback to s1", "rollback to s2", "release s1", "release s2"]))
                }
                25..36 => definitions::set_constraints(self, random),
                _ => self.work(random),
            },
        }
    }

    /// Several statements in one message: a transaction.
    fn several(&mut self, random: &mut StdRng) -> Step {
        let count = random.random_range(2..=3);
        let texts: Vec<String> = (0..count).map(|_| changes::change(self, random).text).collect();
        Step::new(texts.join("; "))
    }

    fn work(&mut self, random: &mut StdRng) -> Step {
        match random.random_range(0..100) {
            0..78 => changes::any_change(self, random),
            _ => definitions::any_definition(self, random),
        }
    }
}
