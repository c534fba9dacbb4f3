//! Rows of every kind where rows of a certain type are wanted: Cohort takes, casts, checks and refuses them as a real PostgreSQL 15 does.
//!
//! `records_matrix/probes.rs` has the expressions that give rows, the types that are wanted, and the places that want them. Each expression is
//! tried in each place. A run tries one probe of many, spread evenly: `COHORT_RECORDS=1` tries all of them, `COHORT_RECORDS=20` one of twenty,
//! and `COHORT_RECORDS_FROM=3` leaves out the first three. Errors are compared by their SQLSTATE, results by their texts.

mod common;
#[path = "records_matrix/probes.rs"]
mod probes;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use common::Server;
use common::reference::{Reference, server_binaries};
use common::wire::Session;

/// One of so many probes is tried if nothing else is said.
const STRIDE: usize = 17;

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

/// One of the two servers.
struct Side {
    session: Session,
    socket: PathBuf,
}

impl Side {
    fn new(socket: PathBuf) -> Side {
        let mut session = Session::connect(&socket, "postgres");
        for text in probes::DEFINITIONS {
            let answer = session.simple(text);
            assert!(!answer.contains("ERROR"), "{text}: {answer}");
        }
        Side { session, socket }
    }

    /// The SQLSTATE, the message and its detail, or the rows, that a probe ends with. Nothing is left behind.
    fn outcome(&mut self, probe: &str) -> String {
        let answer = self.session.simple(&format!("begin; {probe}"));
        if answer.contains("the connection is closed") {
            self.reconnect();
            return "ERROR closed: the server has closed the connection".to_owned();
        }
        // A statement that was prepared outlives the block.
        self.session.simple("rollback; deallocate all");
        let kept =
            answer.lines().filter(|line| ["ERROR ", "DETAIL", "row "].iter().any(|start| line.starts_with(start)));
        kept.collect::<Vec<_>>().join("; ")
    }

    fn reconnect(&mut self) {
        let started = Instant::now();
        // A server that has crashed takes a moment to start again.
        while let Err(error) = Session::try_connect(&self.socket, "postgres").map(|session| self.session = session) {
            assert!(started.elapsed() < Duration::from_secs(30), "{error}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn code(outcome: &str) -> &str {
    outcome.split_once("ERROR ").map_or("rows", |(_, error)| &error[..5])
}

/// The part of an outcome that is compared.
fn compared(outcome: &str) -> &str {
    if outcome.contains("ERROR ") { code(outcome) } else { outcome }
}

/// Whether PostgreSQL refuses only a literal of no type in a row that a function returns. It is text to Cohort.
fn is_literal_returned(probe: &str, expected: &str, found: &str) -> bool {
    let is_untyped = expected.contains("ERROR 42804") && expected.contains("Returned type unknown does not match");
    // A column of NULLs is text to Cohort, and PostgreSQL has no cast from text.
    let is_null = found == "row (,)" && expected.starts_with("ERROR 42846") && probe.contains("(select null, null)");
    is_null || is_untyped && !found.contains("ERROR")
}

#[test]
fn rows_of_all_kinds_are_taken_as_in_postgresql() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["fsync=off"]);
    let reference = Reference::start(&binaries);
    let (mut ours, mut theirs) = (Side::new(server.socket()), Side::new(reference.socket()));
    let mut tried = 0;
    let mut differences: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let all = probes::all();
    let (first, stride) = (number("COHORT_RECORDS_FROM").unwrap_or(0), number("COHORT_RECORDS").unwrap_or(STRIDE));
    for probe in all.iter().skip(first).step_by(stride.max(1)) {
        tried += 1;
        let expected = theirs.outcome(probe);
        let found = ours.outcome(probe);
        assert_ne!(code(&found), "close", "Cohort has closed the connection: {probe}");
        if compared(&expected) != compared(&found) && !is_literal_returned(probe, &expected, &found) {
            let kind = format!("{} and {}", code(&expected), code(&found));
            let text = format!("{probe}\n    PostgreSQL: {expected}\n    Cohort:     {found}");
            differences.entry(kind).or_default().push(text);
        }
    }
    assert!(tried > 0, "there are {} probes", all.len());
    let mut report = String::new();
    for (kind, texts) in &differences {
        report.push_str(&format!("{kind}: {} times\n", texts.len()));
        for text in texts.iter().take(number("COHORT_RECORDS_SHOWN").unwrap_or(10)) {
            report.push_str(&format!("  {text}\n"));
        }
    }
    assert!(differences.is_empty(), "of {tried} probes:\n{report}");
}
