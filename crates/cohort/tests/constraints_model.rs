//! Random scripts about constraints, run on Cohort and on a real PostgreSQL 15.
//!
//! A script makes domains, composite types, a few tables, constraints of all kinds, triggers and views. Then it changes rows, in
//! transactions with savepoints, and constraints, triggers and types with them. After each statement both servers must agree on the
//! answer (tag, rows, notices, errors with SQLSTATE, message and detail), on the session's transaction status, and on the tables' rows.
//! Whenever the session is idle, a query for each declared constraint looks for rows that violate it. The test makes this query from its
//! own record of the script, not from a catalog. The query must find no row, unless the script has switched off triggers, which enforce
//! foreign keys.
//!
//! `COHORT_CONSTRAINTS=10000` sets the number of scripts, `COHORT_CONSTRAINTS_FROM=123` the number of the first script. A script's number
//! is the seed of its random choices. A script on which the servers differ is made as short as possible, and printed.

#[path = "constraints_model/changes.rs"]
mod changes;
mod common;
#[path = "constraints_model/definitions.rs"]
mod definitions;
#[path = "constraints_model/kinds.rs"]
mod kinds;
#[path = "constraints_model/script.rs"]
mod script;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use common::Server;
use common::environment_number;
use common::reference::{Reference, server_binaries};
use common::wire::{NO_ANSWER, Session};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use script::{Declared, Rest, Script, Step};

/// How many scripts there are if nobody asks for another number.
const SCRIPTS: u64 = 40;
/// How many statements a script has behind those that make its tables.
const STATEMENTS: usize = 40;
/// PostgreSQL's error about a function's expression that was planned before a column got another type.
const PLANNED_BEFORE: &str = "does not match that when preparing the plan";
/// PostgreSQL's internal error after ALTER DOMAIN DROP CONSTRAINT and SAVEPOINT.
const NOT_COUNTED: &str = "when there are unprocessed inval messages";
/// PostgreSQL's answer to a statement whose triggers call each other for too long.
const TOO_LONG: &str = "ERROR 57014";
/// At most one of so many scripts may end early, since the servers could not be compared up to its end.
const CUT_SHORT: u64 = 6;
/// How many that differ are shown before the search ends.
const DIFFERENCES_MAX: usize = 12;

/// Plans of one sort, so that both servers come to rows in the order in which they lie.
const SETUP: &[&str] = &[
    "set client_min_messages to warning",
    "drop schema if exists s cascade",
    "reset client_min_messages",
    "create schema s",
    "set search_path to s",
    "set timezone to 'UTC'",
    "set statement_timeout to '20s'",
    "set enable_hashjoin to off",
    "set enable_mergejoin to off",
    "set enable_indexscan to off",
    "set enable_indexonlyscan to off",
    "set enable_bitmapscan to off",
];

fn any<T: Copy>(random: &mut StdRng, of: &[T]) -> T {
    *of.choose(random).expect("there are some")
}

/// True so many times of a hundred.
fn in_hundred(random: &mut StdRng, times: u32) -> bool {
    random.random_ratio(times, 100)
}

#[derive(Clone, Copy)]
struct Servers<'a> {
    ours: &'a Path,
    theirs: &'a Path,
}

/// The declarations of a script up to now.
#[derive(Clone, Default)]
struct Declarations {
    list: Vec<Declared>,
    /// Whether triggers may have been switched off since the script began.
    is_suspended: bool,
}

impl Declarations {
    fn apply(&mut self, step: &Step) {
        for gone in &step.effect.drops {
            let references_of = gone.strip_prefix("references of ");
            self.list.retain(|declared| match references_of {
                Some(table) => !(declared.is_by_trigger && declared.of.iter().any(|of| of == table)),
                None => !declared.of.contains(gone),
            });
        }
        self.list.extend(step.effect.declares.iter().cloned());
        self.is_suspended |= step.effect.suspends;
    }
}

/// A script that runs on both servers.
struct Run<'a> {
    servers: Servers<'a>,
    ours: Session,
    theirs: Session,
    /// The process of PostgreSQL's session.
    their_pid: String,
    rest: Rest,
    declarations: Declarations,
    /// Those at the start of the block, and at savepoints by name.
    saved: Vec<(String, Declarations)>,
    /// The tables that were made.
    tables: Vec<String>,
    /// Whether a server has closed the connection.
    is_broken: bool,
    /// Whether the servers can't be compared any longer.
    is_over: bool,
    /// A trigger's function says SET CONSTRAINTS.
    has_tightening: bool,
    /// A column has got another type.
    has_retyped: bool,
    /// A domain has got, or lost, NOT NULL.
    has_changed_domain: bool,
    /// There is a deferred trigger.
    has_deferred_trigger: bool,
    /// Statements that made triggers and foreign keys. A change of rows may lead to others by them.
    makes_triggers: Vec<String>,
    /// Whether a table's rows were in another order on each server when the tables were last compared. Each server reuses the place of a dead
    /// row at a time of its own.
    row_order_differs: bool,
}

/// The servers' answers where they differ.
struct Difference {
    about: String,
    expected: String,
    found: String,
}

impl Difference {
    /// The kind of difference: a script that is made shorter must differ in the same way.
    fn sort(&self) -> (&str, &str, &str) {
        fn first(answer: &str) -> &str {
            let line = answer.lines().find(|line| !line.starts_with("NOTICE")).unwrap_or_default();
            let end = if line.starts_with("ERROR") { 11 } else { 4 };
            &line[..line.floor_char_boundary(end.min(line.len()))]
        }
        (self.about.split(' ').next().unwrap_or_default(), first(&self.expected), first(&self.found))
    }
}

/// An answer without what may differ: Cohort gives rows as they come, so before AFTER triggers say something and before a statement
/// fails; and which duplicate an index that is made finds first is a matter of how it is sorted.
fn forgiven(answer: &str) -> String {
    let is_failed = is_error(answer);
    let is_of_row = |line: &&str| line.starts_with("row ") || line.starts_with("columns ");
    let is_duplicate =
        |line: &&str| line.starts_with("DETAIL: Key ") && answer.contains("could not create unique index");
    let (rows, others): (Vec<&str>, Vec<&str>) = answer.lines().partition(is_of_row);
    let rows = rows.into_iter().filter(|_| !is_failed);
    let others = others.into_iter().filter(|line| !is_duplicate(line));
    others.chain(rows).flat_map(|line| [line, "\n"]).collect()
}

/// Whether both servers have met an error, and only the order of checks decides which one of several errors is reported. The order is
/// open between the columns that an UPDATE reads and those that it sets, between the rows of a COPY and the texts of the next rows, and
/// between a record's field and the value that it gets.
fn is_same_failure(step: &Step, expected: &str, found: &str) -> bool {
    let is_missing = |answer: &str| answer.contains(" 42703: column ") || answer.contains(" 42703 column ");
    let has_no_field = expected.contains("has no field") && is_error(found);
    let is_violation = |answer: &str| answer.contains("ERROR 23");
    // A column's new type fits neither a foreign key nor a check. Either may be made again first.
    let fits_nothing = step.text.starts_with("alter table")
        && expected.contains("ERROR 42804: foreign key constraint")
        && found.contains("ERROR 42883: operator does not exist");
    // A row that ALTER TABLE has written anew counts as new in PostgreSQL: its keys are checked though they did not change.
    let is_pending =
        step.text.starts_with("alter table") && expected.contains("has pending trigger events") && is_error(found);
    // Which of several rows comes first depends on the plan.
    let is_joined = joined_update(&step.text).is_some();
    // Of several columns that use a domain, PostgreSQL names the one that was made first, and Cohort one of the oldest table.
    let refused = |answer: &str| answer.split_once(" because column ").map(|(refusal, _)| refusal.to_owned());
    has_no_field
        || step.text.starts_with("alter domain") && refused(expected).is_some() && refused(expected) == refused(found)
        || fits_nothing
        || is_pending
        || is_joined && is_violation(expected) && without_detail(expected) == without_detail(found)
        || is_missing(expected) && is_missing(found)
        || step.text.starts_with("copy ") && is_error(expected) && is_error(found)
}

fn difference(about: impl Into<String>, expected: String, found: String) -> Result<(), Difference> {
    if expected == found { Ok(()) } else { Err(Difference { about: about.into(), expected, found }) }
}

fn is_error(answer: &str) -> bool {
    answer.lines().any(|line| line.starts_with("ERROR ") || line.starts_with("FATAL "))
}

/// The table of an UPDATE with FROM, and all behind FROM.
fn joined_update(text: &str) -> Option<(&str, &str)> {
    let (table, assigned) = text.strip_prefix("update ")?.split_once(" set ")?;
    assigned.split_once(" from ").map(|(_, joined)| (table, joined))
}

/// The answer without its DETAIL lines, which say which row is meant.
fn without_detail(answer: &str) -> String {
    answer.lines().filter(|line| !line.starts_with("DETAIL: ")).flat_map(|line| [line, "\n"]).collect()
}

fn without_notices(answer: &str) -> String {
    answer.lines().filter(|line| !line.starts_with("NOTICE ")).flat_map(|line| [line, "\n"]).collect()
}

/// The same rows, and lines of a detail, in the order of their texts.
fn sorted(answer: &str) -> String {
    let mut lines: Vec<&str> = answer.lines().map(|line| line.trim_start_matches("DETAIL: ")).collect();
    lines.sort_unstable();
    lines.join("\n") + "\n"
}

impl<'a> Run<'a> {
    fn start(servers: Servers<'a>) -> Run<'a> {
        let connect = |socket: &Path| {
            let mut session = Session::connect(socket, "postgres");
            for text in SETUP {
                let answer = session.simple(text);
                assert!(!is_error(&answer), "{text}: {answer}");
            }
            session
        };
        let mut theirs = connect(servers.theirs);
        theirs.allow_silence();
        let answer = theirs.simple("select pg_backend_pid()");
        let their_pid = answer.lines().find_map(|line| line.strip_prefix("row ")).expect("a process").to_owned();
        Run {
            servers,
            ours: connect(servers.ours),
            theirs,
            their_pid,
            rest: Rest::Idle,
            declarations: Declarations::default(),
            saved: Vec::new(),
            tables: Vec::new(),
            is_broken: false,
            is_over: false,
            has_tightening: false,
            has_retyped: false,
            has_changed_domain: false,
            has_deferred_trigger: false,
            makes_triggers: Vec::new(),
            row_order_differs: false,
        }
    }

    /// Takes away what the script has made.
    fn end(mut self) {
        if self.is_broken {
            return;
        }
        for session in [&mut self.ours, &mut self.theirs] {
            session.simple("rollback");
            session.simple("set session_replication_role to origin");
            let answer = session.simple("drop schema s cascade");
            assert!(!is_error(&answer), "{answer}");
            session.send_farewell();
        }
    }

    fn both(&mut self, text: &str, input: &str) -> (String, String) {
        let ask = |session: &mut Session| session.copy_in(text, input);
        let answers = (ask(&mut self.theirs), ask(&mut self.ours));
        self.is_broken |= [&answers.0, &answers.1].iter().any(|answer| answer.contains("the connection is closed"));
        if answers.0.ends_with(NO_ANSWER) {
            self.is_broken = true;
            self.kill_their_backend();
        }
        answers
    }

    /// Some statements whose triggers call each other never end in PostgreSQL 15. Only SIGKILL ends such a process. PostgreSQL then ends all
    /// sessions and starts again.
    fn kill_their_backend(&self) {
        let killed = Command::new("kill").args(["-KILL", &self.their_pid]).status().unwrap();
        assert!(killed.success());
        let started = Instant::now();
        loop {
            std::thread::sleep(Duration::from_millis(300));
            if Session::try_connect(self.servers.theirs, "postgres").is_ok() {
                return;
            }
            assert!(started.elapsed() < Duration::from_secs(60), "PostgreSQL did not come up again");
        }
    }

    /// Whether the order in which rows are met may decide what a statement does. Triggers may change rows that the statement has yet to
    /// meet; and an UPDATE with FROM may meet a row several times.
    fn depends_on_order(&mut self, text: &str) -> bool {
        let is_on = |made: &String, table: &str| made.contains(" trigger ") && made.contains(&format!(" on {table} "));
        let changes_rows = |made: &String| made.contains("spread()") || made.contains("remove()");
        if self.row_order_differs && text.contains(" select ") && text.starts_with("insert into ") {
            let table = text.split(' ').nth(2).unwrap_or_default();
            return self.makes_triggers.iter().any(|made| is_on(made, table) && changes_rows(made));
        }
        let Some((table, joined)) = joined_update(text) else { return false };
        let leads_to = |made: &String| made.contains(&format!("references {table}")) || is_on(made, table);
        if self.makes_triggers.iter().any(leads_to) {
            return true;
        }
        // A statement of the script may have made the block fail, or a column may be gone.
        let is_in_block = self.rest == Rest::InBlock;
        if is_in_block && is_error(&self.theirs.simple("savepoint before_probe")) {
            // See [`NOT_COUNTED`].
            self.is_over = true;
            return true;
        }
        let of_several = format!("select from {table}, {joined} group by {table}.ctid having count(*) > 1");
        let answer = self.theirs.simple(&of_several);
        if is_in_block {
            self.theirs.simple("rollback to before_probe; release before_probe");
        }
        !is_error(&answer) && !answer.contains("tag SELECT 0\n")
    }

    fn take(&mut self, step: &Step) -> Result<(), Difference> {
        let depends_on_order = self.depends_on_order(&step.text);
        if self.is_over {
            return Ok(());
        }
        if [" trigger ", "references "].iter().any(|words| step.text.contains(words)) {
            self.makes_triggers.push(step.text.clone());
        }
        let (expected, found) = self.both(&step.text, &step.input);
        // PostgreSQL keeps the type that a function's expression had when it was planned, and fails until the session ends. Cohort plans the
        // expression again, so the rest is not compared.
        if [PLANNED_BEFORE, NOT_COUNTED, TOO_LONG, NO_ANSWER].iter().any(|end| expected.contains(end)) {
            self.is_over = true;
            let has_internal_error = found.lines().any(|line| line.starts_with("ERROR XX"));
            return if has_internal_error { difference("answers", expected, found) } else { Ok(()) };
        }
        // PostgreSQL may also go on with that plan, where a new one cannot be made.
        self.has_retyped |= step.text.starts_with("alter table") && step.text.contains(" type ");
        if self.has_retyped && found.contains("ERROR 42883") && !is_error(&expected) {
            self.is_over = true;
            return Ok(());
        }
        // A session of PostgreSQL that knows the constraints of a domain does not hear of changes of the NOT NULL of the domain below.
        self.has_changed_domain |= step.text.starts_with("alter domain") && step.text.ends_with("not null");
        let is_null_in_domain = |answer: &str| answer.contains("does not allow null values");
        if self.has_changed_domain && is_null_in_domain(&expected) != is_null_in_domain(&found) {
            self.is_over = true;
            return Ok(());
        }
        // A deferred key's check waits in another place of the queue than PostgreSQL's: see docs/compatibility.md.
        self.has_deferred_trigger |=
            step.text.starts_with("create constraint trigger") && step.text.contains("initially deferred");
        if self.has_deferred_trigger && !is_error(&expected) && found.contains("ERROR 23505") {
            self.is_over = true;
            return Ok(());
        }
        // The order of the join tells which of several rows changes another one, and whether a new key meets the old one of another row.
        let violates_key = |answer: &str| answer.contains("ERROR 23505");
        let both_work = !is_error(&expected) && !is_error(&found);
        let may_differ = both_work && depends_on_order
            || joined_update(&step.text).is_some() && violates_key(&expected) != violates_key(&found);
        if expected != found && may_differ {
            self.is_over = true;
            return Ok(());
        }
        // ALTER TYPE makes an index anew, which then stands behind the others in PostgreSQL: another key may be asked for a conflict first.
        if self.has_retyped && expected.contains("as arbiters") && !is_error(&found) {
            self.is_over = true;
            return Ok(());
        }
        // PostgreSQL makes an index anew, and comes upon rows that were let in while constraints were suspended. Cohort leaves the index as it is.
        let is_rewritten = step.text.starts_with("alter table") && !step.text.contains(" add constraint ");
        if expected.contains("could not create unique index") && self.declarations.is_suspended && is_rewritten {
            self.is_over = true;
            return Ok(());
        }
        // Checks that rows have queued wait for the statement's end there, even if a trigger says SET CONSTRAINTS.
        self.has_tightening |= step.text.contains("set constraints all immediate; return");
        let are_violations = [&expected, &found].iter().all(|answer| answer.contains("ERROR 23"));
        if expected != found && self.has_tightening && are_violations {
            self.is_over = true;
            return Ok(());
        }
        let has_failed = is_error(&expected);
        let rest = match expected.lines().last() {
            Some("ready, idle") => Rest::Idle,
            Some("ready, in a block") => Rest::InBlock,
            _ => Rest::Failed,
        };
        let tag_is_rollback = expected.contains("tag ROLLBACK\n");
        let (mut said, mut heard) = (forgiven(&expected), forgiven(&found));
        // A statement fails at the first of several bad rows that it comes upon. Triggers tell of the rows before it.
        if said != heard && self.row_order_differs && is_error(&expected) {
            (said, heard) = (without_notices(&without_detail(&said)), without_notices(&without_detail(&heard)));
        }
        // The places of several rows may differ.
        if said != heard && sorted(&said) == sorted(&heard) {
            (said, heard) = (sorted(&said), sorted(&heard));
        }
        if !is_same_failure(step, &expected, &found) {
            difference("answers", said, heard)?;
        }
        self.note(step, has_failed, rest, tag_is_rollback);
        if self.rest != Rest::Failed
            && let Err(difference) = self.compare_tables()
        {
            self.is_over = depends_on_order;
            return if self.is_over { Ok(()) } else { Err(difference) };
        }
        if self.rest == Rest::Idle { self.look_for_violations() } else { Ok(()) }
    }

    /// Notes what is declared after a statement.
    fn note(&mut self, step: &Step, has_failed: bool, rest: Rest, is_rolled_back: bool) {
        let was = std::mem::replace(&mut self.rest, rest);
        if was == Rest::Idle && rest != Rest::Idle {
            self.saved = vec![(String::new(), self.declarations.clone())];
        }
        let words: Vec<&str> = step.text.split_whitespace().collect();
        match words[..] {
            _ if rest == Rest::Idle && was != Rest::Idle => {
                if has_failed || is_rolled_back {
                    self.declarations = self.saved.first().expect("a block has begun").1.clone();
                }
                self.saved.clear();
            }
            _ if rest == Rest::Failed => {}
            ["savepoint", name] => self.saved.push((name.to_owned(), self.declarations.clone())),
            ["rollback", "to", name] => {
                let place = self.saved.iter().rposition(|(saved, _)| saved == name).expect("a savepoint");
                self.declarations = self.saved[place].1.clone();
                self.saved.truncate(place + 1);
            }
            ["release", name] => {
                let place = self.saved.iter().rposition(|(saved, _)| saved == name).expect("a savepoint");
                self.saved.truncate(place);
            }
            _ if has_failed => {}
            ["create", "table", name, ..] => {
                self.tables.push(name.to_owned());
                self.declarations.apply(step);
            }
            _ => self.declarations.apply(step),
        }
    }

    fn compare_tables(&mut self) -> Result<(), Difference> {
        self.row_order_differs = false;
        for table in self.tables.clone() {
            let (expected, found) = self.both(&format!("select * from {table}"), "");
            self.row_order_differs |= expected != found;
            difference(format!("what is in {table}"), sorted(&expected), sorted(&found))?;
        }
        Ok(())
    }

    /// Looks at each constraint by itself.
    fn look_for_violations(&mut self) -> Result<(), Difference> {
        for declared in self.declarations.list.clone() {
            let (expected, found) = self.both(&declared.violations, "");
            let about = format!("rows that violate {}: {}", declared.name, declared.violations);
            let none_are_there = is_error(&expected) || expected.contains("tag SELECT 0\n");
            let may_be_there = declared.is_by_trigger && self.declarations.is_suspended;
            if !(none_are_there || may_be_there) {
                return Err(Difference { about, expected: "none\n".to_owned(), found: expected });
            }
            difference(about, sorted(&expected), sorted(&found))?;
        }
        Ok(())
    }
}

/// The end of a script.
enum End {
    Agreed,
    /// The servers could not be compared up to the end.
    CutShort,
    /// The steps up to the one after which the servers differ, and how they do.
    Differs(Vec<Step>, Difference),
}

/// Runs the script of a seed.
fn run(servers: Servers<'_>, seed: u64) -> End {
    let random = &mut StdRng::seed_from_u64(seed);
    let (mut script, setup) = Script::begin(random);
    let mut run = Run::start(servers);
    let mut taken = Vec::new();
    let mut setup = setup.into_iter();
    for _ in 0..setup.len() + STATEMENTS {
        let step = setup.next().unwrap_or_else(|| script.next(run.rest, random));
        taken.push(step.clone());
        if let Err(difference) = run.take(&step) {
            run.end();
            return End::Differs(taken, difference);
        }
        if run.is_over {
            run.end();
            return End::CutShort;
        }
    }
    run.end();
    End::Agreed
}

/// Runs these steps: how many were taken until the servers differed, and how they do.
fn run_again(servers: Servers<'_>, steps: &[Step]) -> Option<(usize, Difference)> {
    let mut run = Run::start(servers);
    for (place, step) in steps.iter().enumerate() {
        let is_of_block = run.rest == Rest::Idle
            && ["savepoint", "release", "rollback to"].iter().any(|word| step.text.starts_with(word));
        if is_of_block {
            continue;
        }
        if let Err(difference) = run.take(step) {
            run.end();
            return Some((place + 1, difference));
        }
        if run.is_over {
            break;
        }
    }
    run.end();
    None
}

/// Leaves steps out as long as the servers still differ about the same.
fn minimised(servers: Servers<'_>, mut steps: Vec<Step>, mut difference: Difference) -> (Vec<Step>, Difference) {
    let mut length = steps.len() / 2;
    while length > 0 {
        let mut end = steps.len();
        while end > 0 {
            let start = end.saturating_sub(length);
            let mut shorter = steps.clone();
            shorter.drain(start..end);
            if let Some((taken, other)) = run_again(servers, &shorter)
                && other.sort() == difference.sort()
            {
                shorter.truncate(taken);
                (steps, difference) = (shorter, other);
                end = start.min(steps.len());
            } else {
                end = start;
            }
        }
        length /= 2;
    }
    (steps, difference)
}

// invariants: row 43
#[test]
fn constraints_hold_as_with_postgresql() {
    let Some(binaries) = server_binaries() else { return };
    let wanted = environment_number("COHORT_CONSTRAINTS");
    let count = wanted.unwrap_or(SCRIPTS);
    let first = environment_number("COHORT_CONSTRAINTS_FROM").unwrap_or(0);
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_yielding(folder.path(), &[]);
    let reference = Reference::start_with(&binaries, &["autovacuum=off"]);
    let (ours, theirs): (PathBuf, PathBuf) = (server.socket(), reference.socket());
    let servers = Servers { ours: &ours, theirs: &theirs };
    let (mut differences, mut cut_short, mut report) = (0, 0, String::new());
    for seed in first..first + count {
        let (steps, difference) = match run(servers, seed) {
            End::Agreed => continue,
            End::CutShort => {
                cut_short += 1;
                continue;
            }
            End::Differs(steps, difference) => (steps, difference),
        };
        let (shortest, difference) = minimised(servers, steps, difference);
        differences += 1;
        let mut shown = format!("--- script {seed}\n");
        for step in &shortest {
            writeln!(shown, "{};", step.text).unwrap();
            if !step.input.is_empty() {
                writeln!(shown, "{}\\.", step.input).unwrap();
            }
        }
        writeln!(shown, "{}\nPostgreSQL:\n{}Cohort:\n{}", difference.about, difference.expected, difference.found)
            .unwrap();
        eprint!("{shown}");
        report.push_str(&shown);
        if differences == DIFFERENCES_MAX {
            break;
        }
    }
    assert!(differences == 0, "{differences} scripts differ\n{report}");
    assert!(cut_short <= 1 + count / CUT_SHORT, "{cut_short} of {count} scripts were not compared up to their end");
    eprintln!("{count} scripts agree, {cut_short} of them not up to their end");
    server.stop();
}
