//! Settings over transactions, savepoints and functions with SET clauses, on Cohort and on a real PostgreSQL 15.
//!
//! A random script sets, resets and shows three settings: at the top, within functions that have SET clauses of their own, and within PL/pgSQL
//! blocks that catch errors. After each statement the values of all three must be the same on both servers.
//!
//! `COHORT_SETTINGS` says how many scripts are tried, `COHORT_SETTINGS_FROM` the seed of the first one.

mod common;

use common::Server;
use common::reference::{Reference, server_binaries};
use common::search::search;
use common::wire::Session;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// How many scripts there are if nobody asks for another number.
const SCRIPTS: u64 = 150;
/// Statements of a script.
const STEPS: usize = 12;

/// The settings with values that they may have.
const SETTINGS: &[(&str, &[&str])] = &[
    ("timezone", &["UTC", "Asia/Tokyo", "Europe/Paris"]),
    ("work_mem", &["1MB", "2MB", "3MB"]),
    ("app.user", &["alice", "bob", "carol"]),
];

/// Functions that run the statements of their argument, one after the other, and tell the values before they end. `guarded` catches errors.
const FUNCTIONS: &[&str] = &[
    "create function plain(variadic steps text[]) returns text language plpgsql as $$ \
     declare step text; begin foreach step in array steps loop execute step; end loop; return seen(); end $$",
    "create function guarded(variadic steps text[]) returns text language plpgsql as $$ \
     declare step text; begin foreach step in array steps loop execute step; end loop; return seen(); \
     exception when others then return 'caught ' || seen(); end $$",
    "create function with_timezone(variadic steps text[]) returns text language plpgsql set timezone = 'Asia/Tokyo' as $$ \
     declare step text; begin foreach step in array steps loop execute step; end loop; return seen(); end $$",
    "create function with_two(variadic steps text[]) returns text language plpgsql set work_mem = '2MB' set app.user = 'owner' as $$ \
     declare step text; begin foreach step in array steps loop execute step; end loop; return seen(); end $$",
    "create procedure called(variadic steps text[]) language plpgsql set work_mem = '3MB' as $$ \
     declare step text; begin foreach step in array steps loop execute step; end loop; end $$",
];
const SEEN: &str = "create function seen() returns text language sql as $$ select concat_ws(' ', current_setting('timezone'), \
                    current_setting('work_mem'), current_setting('app.user', true)) $$";

struct Choices(StdRng);

impl Choices {
    fn any<T: Copy>(&mut self, of: &[T]) -> T {
        *of.choose(&mut self.0).expect("there are some")
    }

    fn between(&mut self, low: u32, high: u32) -> u32 {
        self.0.random_range(low..=high)
    }

    fn change(&mut self) -> String {
        let (name, values) = self.any(SETTINGS);
        let value = self.any(values);
        match self.between(0, 9) {
            0..=2 => format!("set local {name} = '{value}'"),
            3 | 4 => format!("set {name} = '{value}'"),
            5 => format!("select set_config('{name}', '{value}', true)"),
            6 => format!("select set_config('{name}', '{value}', false)"),
            7 => format!("reset {name}"),
            8 => format!("set local {name} to default"),
            _ => format!("set {name} to default"),
        }
    }

    /// A statement within a function whose call is `depth` calls deep.
    fn inner(&mut self, depth: u32) -> String {
        match self.between(0, 9) {
            0..=6 => self.change(),
            7 => "select 1 / 0".to_owned(),
            _ if depth < 3 => self.call(depth + 1),
            _ => "select seen()".to_owned(),
        }
    }

    fn call(&mut self, depth: u32) -> String {
        let steps: Vec<String> = (0..self.between(1, 3))
            .map(|_| {
                let step = self.inner(depth);
                format!("'{}'", step.replace('\'', "''"))
            })
            .collect();
        let name = self.any(&["plain", "guarded", "with_timezone", "with_two", "with_timezone", "with_two", "called"]);
        let verb = if name == "called" { "call" } else { "select" };
        format!("{verb} {name}({})", steps.join(", "))
    }

    /// A statement at the top.
    fn step(&mut self) -> String {
        let savepoint = self.any(&["a", "b"]);
        match self.between(0, 15) {
            0 | 1 => "begin".to_owned(),
            2 => self.any(&["commit", "commit", "rollback"]).to_owned(),
            3 => format!("savepoint {savepoint}"),
            4 => format!("rollback to {savepoint}"),
            5 => format!("release {savepoint}"),
            6 => "reset all".to_owned(),
            7..=9 => self.change(),
            _ => self.call(0),
        }
    }
}

/// The answer of a server to a statement: rows, or the code of an error. Then the values of the settings.
fn asked(session: &mut Session, text: &str) -> String {
    let shown = |answer: &str| {
        let wanted = |line: &&str| ["row ", "ERROR ", "ready"].iter().any(|start| line.starts_with(start));
        answer
            .lines()
            .filter(wanted)
            .flat_map(|line| [line.split(": ").next().unwrap_or(line), "\n"])
            .collect::<String>()
    };
    let answer = shown(&session.simple(text));
    answer + &shown(&session.simple("select seen()"))
}

fn connect(socket: &std::path::Path) -> Session {
    let mut session = Session::connect(socket, "postgres");
    for text in [SEEN].iter().chain(FUNCTIONS) {
        session.simple(text);
    }
    session
}

#[test]
fn settings_last_as_long_as_in_postgresql() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start_with(&binaries, &["autovacuum=off"]);
    let mut sessions = [connect(&reference.socket()), connect(&server.socket())];
    let mut kept = 0;
    let count = search("COHORT_SETTINGS", SCRIPTS, |seed| {
        let mut choices = Choices(StdRng::seed_from_u64(seed));
        for session in &mut sessions {
            session.simple("rollback");
            session.simple("reset all");
        }
        let mut done = String::new();
        for _ in 0..STEPS {
            let step = choices.step();
            done.push_str(&format!("{step};\n"));
            let [expected, found] = sessions.each_mut().map(|session| asked(session, &step));
            kept += u64::from(expected.contains("in a block"));
            if expected != found {
                return Some(format!("{done}PostgreSQL:\n{expected}Cohort:\n{found}"));
            }
        }
        None
    });
    assert!(kept >= count, "only {kept} statements left a transaction open");
    server.stop();
}
