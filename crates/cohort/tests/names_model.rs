//! Names that may mean a table, a column, a variable or a parameter, on Cohort and on a real PostgreSQL 15.
//!
//! A random case makes a function in SQL or in PL/pgSQL. Its parameters and variables have the names of tables, aliases and columns, and
//! its statement uses these names alone, as qualifiers, as rows, and as functions. Both servers must give the same rows, or an error of the
//! same SQLSTATE, and leave the same rows in the tables.
//!
//! `COHORT_NAMES` says how many cases are tried, `COHORT_NAMES_FROM` the seed of the first one.

mod common;

use common::Server;
use common::reference::{Reference, server_binaries};
use common::search::search;
use common::wire::Session;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// How many cases there are if nobody asks for another number.
const CASES: u64 = 600;

const SETUP: &[&str] = &[
    "create type pair as (a int, b text)",
    "create table t (a int primary key, b text)",
    "create table n (n int, t int, a int unique)",
    "create table x (a int, p pair, x text)",
    "insert into t values (1, 'one'), (2, null)",
    "insert into n values (1, 2, 3), (4, null, 6)",
    "insert into x values (1, (5, 'five'), 'ex'), (null, null, null)",
    "create function full_t(t) returns text language sql immutable as $$ select $1.a || '/' || coalesce($1.b, '-') $$",
    "create procedure p(n) language sql as 'select 1'",
    "create function b(t, int default 1) returns int language sql as 'select 1'",
    "create function b(t, text default '') returns int language sql as 'select 1'",
    "create function full_n(n) returns text language sql immutable as $$ select $1.n || '/' || coalesce($1.a, 0) $$",
];

/// Names of tables, aliases, columns and variables: the same for all.
const NAMES: &[&str] = &["t", "n", "x", "a", "b", "p", "excluded"];

struct Choices(StdRng);

impl Choices {
    fn any<T: Copy>(&mut self, of: &[T]) -> T {
        *of.choose(&mut self.0).expect("there are some")
    }

    fn in_hundred(&mut self, times: u32) -> bool {
        self.0.random_ratio(times, 100)
    }

    fn name(&mut self) -> &'static str {
        self.any(NAMES)
    }

    /// A variable or parameter: its name, its type, and a value.
    fn variable(&mut self) -> (&'static str, &'static str, &'static str) {
        let (sql_type, value) = self.any(&[
            ("int", "7"),
            ("int", "null"),
            ("text", "'seven'"),
            ("pair", "(8, 'eight')"),
            ("t", "(9, 'nine')"),
            ("x", "null"),
        ]);
        (self.name(), sql_type, value)
    }

    /// The FROM of a statement.
    fn from(&mut self) -> String {
        let table = self.any(&["t", "n", "x"]);
        match self.0.random_range(0..10) {
            0..=2 => table.to_owned(),
            3 | 4 => format!("{table} {}", self.name()),
            5 => format!("{table} as {} ({}, {})", self.name(), self.any(&["a", "n", "p"]), self.any(&["b", "t", "x"])),
            6 => format!("(select 1 as {}, 'q' as {}) {}", self.any(&["a", "n"]), self.any(&["b", "t"]), self.name()),
            7 => format!("generate_series(1, 2) {}", self.name()),
            8 => format!("{table}, {} {}", self.any(&["t", "n", "x"]), self.name()),
            _ => format!("public.{table}"),
        }
    }

    /// An expression that uses names.
    fn expression(&mut self) -> String {
        let (one, two, three) = (self.name(), self.name(), self.name());
        match self.0.random_range(0..18) {
            0..=3 => one.to_owned(),
            4..=6 => format!("{one}.{two}"),
            7 => format!("({one}).{two}"),
            8 => format!("{one}.{two}.{three}"),
            9 => format!("({one}.{two}).{three}"),
            10 => format!("to_jsonb({one})"),
            11 => format!("{one} is null"),
            12 => format!("{}({one})", self.any(&["full_t", "full_n", "a", "b", "n", "p", "row_to_json"])),
            13 => format!("{one}.{}", self.any(&["full_t", "full_n"])),
            14 => format!("row_to_json({one}.*)"),
            15 => format!("({one}.*) is null"),
            16 => format!("f.{one}"),
            _ => format!("coalesce({one}.{two}::text, {three}::text)"),
        }
    }

    /// A statement that gives rows of one column of text.
    fn statement(&mut self) -> String {
        let (from, expression) = (self.from(), self.expression());
        let table = self.any(&["t", "n", "x"]);
        let alias = if self.in_hundred(40) { self.name() } else { "" };
        let name = self.name();
        let filter = match self.0.random_range(0..3) {
            0 => String::new(),
            1 => format!(" where {} is null", self.name()),
            _ => format!(" where {} is not null", self.expression()),
        };
        match self.0.random_range(0..13) {
            0..=3 => format!("select ({expression})::text from {from}{filter}"),
            4 => format!("select count({expression})::text from {from}{filter}"),
            5 => format!("with {name} as (select * from {table}) select ({expression})::text from {from}{filter}"),
            6 => format!("select (select ({expression})::text from {from} limit 1) from {table} {alias}"),
            7 => format!("select s::text from (select {name}.* from {from}{filter}) s"),
            8 => format!("delete from {table} {alias}{filter} returning ({expression})::text"),
            9 => format!("update {table} {alias} set a = a{filter} returning ({expression})::text"),
            10 => format!(
                "insert into {} {alias} (a) values (1), (3) on conflict ({}) do update set a = {}.a + 10 returning ({expression})::text",
                self.any(&["t", "n"]),
                self.any(&["a", "a", "b"]),
                self.any(&["excluded", "t", "n", "x"]),
            )
            .replace("  ", " "),
            11 => format!("select ({expression})::text"),
            _ => format!("select string_agg(({expression})::text, ';' order by ({expression})::text) from {from}"),
        }
    }

    /// A function f, and a call of it.
    fn function(&mut self) -> (String, String) {
        let mut variables: Vec<(&str, &str, &str)> = Vec::new();
        for _ in 0..self.0.random_range(1..4) {
            let variable = self.variable();
            if variables.iter().all(|(name, ..)| *name != variable.0) {
                variables.push(variable);
            }
        }
        let statement = self.statement();
        let is_sql = self.in_hundred(35);
        let of_block = if is_sql { 0 } else { self.0.random_range(0..=variables.len()) };
        let (declared, parameters) = variables.split_at(of_block);
        let parameters_text: Vec<String> =
            parameters.iter().map(|(name, sql_type, _)| format!("{name} {sql_type}")).collect();
        let values: Vec<&str> = parameters.iter().map(|(.., value)| *value).collect();
        let call = format!("select * from f({})", values.join(", "));
        let head = format!("create function f({}) returns setof text", parameters_text.join(", "));
        if is_sql {
            return (format!("{head} language sql as $$ {statement} $$"), call);
        }
        let option = self.any(&[
            "",
            "",
            "#variable_conflict error ",
            "#variable_conflict use_variable ",
            "#variable_conflict use_column ",
        ]);
        let declared: Vec<String> = declared
            .iter()
            .map(|(name, sql_type, value)| {
                let sql_type = if *sql_type != "text" && self.in_hundred(15) { "record" } else { sql_type };
                if sql_type == "record" { format!("{name} record;") } else { format!("{name} {sql_type} := {value};") }
            })
            .collect();
        let rows = self.any(&["t", "n", "x"]);
        let assigned: Vec<String> = declared
            .iter()
            .filter(|text| text.ends_with(" record;"))
            .filter_map(|text| text.split(' ').next())
            .filter(|_| self.in_hundred(80))
            .map(|name| format!("select * into {name} from {rows} limit 1; "))
            .collect();
        let body = match self.0.random_range(0..3) {
            0 => format!("return query {statement};"),
            1 => format!("for looped in {statement} loop return next looped; end loop;"),
            _ => format!("{statement} into looped; return next looped;"),
        };
        let (declared, assigned) = (declared.concat(), assigned.concat());
        (
            format!(
                "{head} language plpgsql as $$ {option}declare {declared} looped text; begin {assigned}{body} end $$"
            ),
            call,
        )
    }
}

/// Rows, in the order of their texts, and SQLSTATEs.
fn shown(answer: &str) -> String {
    let wanted = |line: &&str| ["row ", "ERROR ", "tag "].iter().any(|start| line.starts_with(start));
    let mut lines: Vec<&str> =
        answer.lines().filter(wanted).map(|line| if line.starts_with("ERROR ") { &line[..11] } else { line }).collect();
    lines.sort_unstable();
    lines.join("\n") + "\n"
}

fn asked(session: &mut Session, make: &str, call: &str) -> String {
    let mut seen = String::new();
    for text in
        ["begin", make, call, "select 't', * from t", "select 'n', * from n", "select 'x', * from x", "rollback"]
    {
        seen.push_str(&shown(&session.simple(text)));
    }
    seen
}

fn connect(socket: &std::path::Path) -> Session {
    let mut session = Session::connect(socket, "postgres");
    for text in SETUP {
        let answer = session.simple(text);
        assert!(!answer.contains("ERROR "), "{text}: {answer}");
    }
    session
}

#[test]
fn names_mean_what_they_mean_in_postgresql() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start_with(&binaries, &["autovacuum=off"]);
    let mut sessions = [connect(&reference.socket()), connect(&server.socket())];
    let mut successes = 0;
    let count = search("COHORT_NAMES", CASES, |seed| {
        let (make, call) = Choices(StdRng::seed_from_u64(seed)).function();
        let [expected, found] = sessions.each_mut().map(|session| asked(session, &make, &call));
        successes += u64::from(!expected.contains("ERROR "));
        // PostgreSQL does not know the columns of a record variable.
        let lists_record = make.contains(" record;") && expected.contains("ERROR 42809") && !found.contains("ERROR XX");
        (expected != found && !lists_record)
            .then(|| format!("{make};\n{call};\nPostgreSQL:\n{expected}Cohort:\n{found}"))
    });
    assert!(successes >= count / 10, "only {successes} of {count} functions gave rows");
    server.stop();
}
