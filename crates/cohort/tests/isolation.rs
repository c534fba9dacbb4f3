//! PostgreSQL's `isolationtester` runs our own specs on Cohort and on a real PostgreSQL 15: its output must be the same.
//!
//! Each `.spec` of `tests/isolation` (locks, snapshots, anomalies below serializable) and of `tests/isolation/serializable` runs in
//! an empty schema on either server, in the same run. Permutations that may differ are listed in `tests/isolation/allowed.md`,
//! each with its reason. They are only those where PostgreSQL rolls back a transaction with 40001 and Cohort commits it, because
//! a serial order explains the result. A listed permutation that does not differ any more fails the test, as any other difference
//! does.
//!
//! Some differences may come only from the load of the machine: which of two waits ended first, or which session looked for
//! deadlocks first. A spec with only such differences runs again, without other specs beside it. The outputs must be the same in one of
//! [`LOOKS_MAX`] runs. Specs with deferrable transactions run alone from the start.
//!
//! `COHORT_ISOLATION_SPECS=deadlock,advisory` runs only the specs whose names contain one of these words.

mod common;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use common::Server;
use common::reference::{Reference, server_binaries};
use postgres::{Client, NoTls};

/// How many specs run at a time.
const WORKERS: usize = 2;

/// After how many seconds isolationtester cancels a step. No step of a spec that works waits for nearly as long.
const STEP_LIMIT_S: &str = "30";

/// The tester, if it is here. Where CI is set it must be.
fn isolation_tester() -> Option<PathBuf> {
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&on_path).collect();
    let version =
        std::env::var_os("PG_BINDIR").map_or_else(|| PathBuf::from("/usr/lib/postgresql/15/bin"), PathBuf::from);
    folders.push(version.join("../lib/pgxs/src/test/isolation"));
    let found = folders.into_iter().map(|folder| folder.join("isolationtester")).find(|path| path.exists());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "isolationtester is missing");
        eprintln!("SKIPPED: isolationtester is missing");
    }
    found
}

/// The output of isolationtester for a spec, in an empty schema of the server at `url`.
fn printed(tester: &Path, url: &str, spec: &str, schema: &str) -> String {
    let mut control = Client::connect(url, NoTls).unwrap();
    control.batch_execute(&format!("create schema {schema}")).unwrap();
    let mut child = Command::new(tester)
        .arg(format!("{url} options='-csearch_path={schema} -cintervalstyle=postgres_verbose'"))
        .env("PGTZ", "PST8PDT")
        .env("PGDATESTYLE", "Postgres, MDY")
        .env("PGISOLATIONTIMEOUT", STEP_LIMIT_S)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(spec.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    control.batch_execute(&format!("set client_min_messages = error; drop schema {schema} cascade")).unwrap();
    let mut printed = String::from_utf8(output.stdout).unwrap();
    if !output.status.success() || !output.stderr.is_empty() {
        write!(printed, "isolationtester: {} {}", output.status, String::from_utf8_lossy(&output.stderr)).unwrap();
    }
    printed
}

/// The parts of an output: what comes before the first permutation, then each permutation with its name.
fn permutations(output: &str) -> (&str, Vec<(&str, &str)>) {
    const START: &str = "starting permutation: ";
    let mut starts: Vec<usize> = output.match_indices(START).map(|(at, _)| at).collect();
    let head = &output[..starts.first().copied().unwrap_or(output.len())];
    starts.push(output.len());
    let part = |range: &[usize]| {
        let text = &output[range[0]..range[1]];
        (text[START.len()..].lines().next().unwrap_or_default().trim_end(), text)
    };
    (head, starts.windows(2).map(part).collect())
}

/// A permutation that may differ, from a row `| spec | permutation | reason |` of `allowed.md`.
struct Allowed {
    spec: String,
    permutation: String,
}

fn allowed(folder: &Path) -> Vec<Allowed> {
    let text = std::fs::read_to_string(folder.join("allowed.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| ")).skip(2);
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        assert!(cells.len() == 3 && cells.iter().all(|cell| !cell.is_empty()), "allowed.md: {line}");
        Allowed { spec: cells[0].to_owned(), permutation: cells[1].to_owned() }
    })
    .collect()
}

/// Whether PostgreSQL gave a transaction up to keep the order serializable, and Cohort didn't have to.
fn only_postgresql_gave_up(expected: &str, found: &str) -> bool {
    const GIVEN_UP: &str = "ERROR:  could not serialize access due to read/write dependencies among transactions";
    expected.matches(GIVEN_UP).count() > found.matches(GIVEN_UP).count()
}

/// How often a spec is run whose difference may be the machine's.
const LOOKS_MAX: usize = 3;

/// Whether a difference may be due to the load of the machine.
fn may_be_of_timing(expected: &str, found: &str) -> bool {
    const DEADLOCK: &str = "ERROR:  deadlock detected";
    // PostgreSQL's waiters for a row may go in another order than they came, and then wait for a step that the tester holds back.
    const CANCELED: &str = "isolationtester: canceling step";
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    sorted(expected) == sorted(found)
        || (expected.contains(DEADLOCK) && found.contains(DEADLOCK))
        || (expected.contains(CANCELED) && !found.contains(CANCELED))
}

/// The results of specs.
#[derive(Default)]
struct Tally {
    run: usize,
    equal: usize,
    allowed: usize,
    /// Differences that may be due to the load of the machine.
    of_timing: usize,
    /// All of them, and how they look.
    differing: usize,
    wrong: String,
}

impl Tally {
    /// Whether another look may show no difference.
    fn is_of_timing(&self) -> bool {
        self.differing > 0 && self.differing == self.of_timing
    }

    fn add(&mut self, other: Tally) {
        self.run += other.run;
        self.equal += other.equal;
        self.allowed += other.allowed;
        self.wrong.push_str(&other.wrong);
    }
}

/// The specs of both folders, by their names under `tests/isolation`.
fn specs(folder: &Path) -> Vec<(String, PathBuf)> {
    let wanted = std::env::var("COHORT_ISOLATION_SPECS").unwrap_or_default();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.split(',').any(|word| name.contains(word));
    let mut found = Vec::new();
    for (inner, prefix) in [("", ""), ("serializable", "serializable/")] {
        for entry in std::fs::read_dir(folder.join(inner)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "spec") {
                found.push((format!("{prefix}{}", path.file_stem().unwrap().to_str().unwrap()), path));
            }
        }
    }
    found.retain(|(name, _)| is_wanted(name));
    found.sort();
    found
}

// invariants: rows 17 and 30
#[test]
fn isolationtester_sees_no_difference_to_postgresql() {
    let (Some(tester), Some(binaries)) = (isolation_tester(), server_binaries()) else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/isolation");
    let specs = specs(&folder);
    assert!(!specs.is_empty(), "no spec has such a name");
    let allowed = allowed(&folder);
    let work = tempfile::tempdir().unwrap();
    let server = Server::start(work.path(), &[]);
    let reference = Reference::start_with(&binaries, &["max_prepared_transactions=16"]);
    let (deferrable, together): (Vec<_>, Vec<_>) =
        specs.iter().partition(|(_, path)| has_deferrable_transactions(path));
    // Each with the number of looks that it has left.
    let alone = Mutex::new(deferrable.into_iter().map(|spec| (spec, LOOKS_MAX)).collect::<Vec<_>>());
    let (next, tally) = (Mutex::new(together.into_iter()), Mutex::new(Tally::default()));
    let run_one = |(name, path): &(String, PathBuf)| {
        let spec = std::fs::read_to_string(path).unwrap();
        let schema = name.replace(['/', '-'], "_");
        let expected = printed(&tester, &reference.url(), &spec, &schema);
        let found = printed(&tester, &server.url(), &spec, &schema);
        compare(name, &expected, &found, &allowed)
    };
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(spec) = { next.lock().unwrap().next() } {
                    let seen = run_one(spec);
                    if seen.is_of_timing() {
                        println!("looked at again: {}", seen.wrong);
                        alone.lock().unwrap().push((spec, LOOKS_MAX - 1));
                    } else {
                        tally.lock().unwrap().add(seen);
                    }
                }
            });
        }
    });
    let mut tally = tally.into_inner().unwrap();
    for (spec, looks_left) in alone.into_inner().unwrap() {
        let mut last = run_one(spec);
        for _ in 1..looks_left {
            if last.is_of_timing() {
                last = run_one(spec);
            }
        }
        tally.add(last);
    }
    println!(
        "{} specs, {} permutations: {} equal, {} differ as listed in allowed.md",
        specs.len(),
        tally.run,
        tally.equal,
        tally.allowed
    );
    assert!(tally.wrong.is_empty(), "{}", tally.wrong);
    server.stop();
}

/// Whether a spec has deferrable transactions. They wait for the serializable transactions of other specs, so it runs alone.
fn has_deferrable_transactions(spec: &Path) -> bool {
    let text = std::fs::read_to_string(spec).unwrap().to_uppercase().replace(',', "");
    text.contains("READ ONLY DEFERRABLE") || text.contains("SET TRANSACTION DEFERRABLE")
}

/// Compares one spec's outputs, permutation by permutation.
fn compare(name: &str, expected: &str, found: &str, allowed: &[Allowed]) -> Tally {
    let mut tally = Tally::default();
    let ((expected_head, expected), (found_head, found)) = (permutations(expected), permutations(found));
    let names = |parts: &[(&str, &str)]| parts.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
    if expected_head != found_head || names(&expected) != names(&found) {
        let last = found.last().map_or(found_head, |(_, text)| text);
        writeln!(tally.wrong, "--- {name}: not the same permutations; Cohort's output ends with\n{last}").unwrap();
        tally.differing += 1;
        return tally;
    }
    for ((permutation, expected), (_, found)) in expected.into_iter().zip(found) {
        tally.run += 1;
        let is_listed = allowed.iter().any(|allowed| allowed.spec == name && allowed.permutation == permutation);
        let complaint = match (expected == found, is_listed) {
            (true, false) => {
                tally.equal += 1;
                continue;
            }
            (false, true) if only_postgresql_gave_up(expected, found) => {
                tally.allowed += 1;
                continue;
            }
            (true, true) => "no longer differs: take it off the list",
            (false, true) => "is listed, but PostgreSQL gives up no more than Cohort does",
            (false, false) => "differs",
        };
        tally.differing += 1;
        tally.of_timing += usize::from(complaint == "differs" && may_be_of_timing(expected, found));
        writeln!(tally.wrong, "--- {name} {complaint}\nPostgreSQL:\n{expected}Cohort:\n{found}").unwrap();
    }
    tally
}
