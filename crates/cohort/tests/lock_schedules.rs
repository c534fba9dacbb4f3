//! Random schedules of three to five sessions that lock rows, tables and advisory keys, and update and delete rows, on Cohort and on a
//! real PostgreSQL 15.
//!
//! A model (`lockmgr/tests/common/model.rs`) chooses the steps: none whose outcome is a matter of timing, and none that PostgreSQL
//! is known to treat differently. After each step both servers must agree with the model, and so with each other: which sessions
//! wait, for whom by `pg_blocking_pids`, and how the statements that have ended did so. A schedule ends with a request that
//! closes a circle of waits, if one is found; then the two servers must agree on what the detector does.
//!
//! Not in the schedules are these differences. PostgreSQL 15 refuses a NOWAIT request that only a waiter stands in the way of,
//! even if the waiter waits for the requester itself. A PostgreSQL waiter whose blocker releases a savepoint waits for the whole
//! transaction then, also if the savepoint's parent is rolled back. PostgreSQL lets a newcomer queue at a row of which a strong
//! lock has ended while weaker ones last. Cohort goes on in these cases. PostgreSQL has a queue for each version of a row: when an update
//! is committed, several waiters race for the new version's. In Cohort the queue moves to the new version as it is, before the commit; who
//! comes then meets the old version and waits for the updater alone.
//!
//! `COHORT_LOCK_SCHEDULES` says how many schedules are tried, `COHORT_LOCK_SEED` which one is the first.

mod common;
#[path = "../../lockmgr/tests/common/model.rs"]
mod model;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use common::Server;
use common::reference::{Reference, server_binaries};
use common::wire::Session;
use engine::{LockMode, RowLockMode};
use model::{Answer, Change, Model, Patience, Step, random_step_with_changes};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const SESSIONS: usize = 5;

/// The rows that are locked and changed.
const ROWS: &str = "insert into r (id) values (0), (1) on conflict (id) do nothing";

const COHORT: &str = "Cohort";

/// How long a server may take until all sessions have answered or wait.
const SETTLE_LIMIT: Duration = Duration::from_secs(30);

/// A session that has waited for a row for so long is no longer overtaken, which the model does not know. A difference in a schedule
/// that lasts longer is doubtful.
const OVERTAKEN_LIMIT: Duration = Duration::from_millis(900);

/// After how long the last request looks for a deadlock, and how long to wait until it has.
const LOOK_AFTER_MS: u64 = 40;
const LOOK_LIMIT: Duration = Duration::from_millis(240);

/// A session and its thread, which sends what it is told and hands back the answers.
struct Client {
    texts: Sender<Vec<String>>,
    answers: Receiver<String>,
    pid: String,
    is_pending: bool,
    answer: Option<Answer>,
}

impl Client {
    fn connect(socket: &Path) -> Client {
        let mut session = Session::connect(socket, "postgres");
        let seen = session.simple("select pg_backend_pid()");
        let pid = seen.lines().find_map(|line| line.strip_prefix("row ")).unwrap().to_owned();
        let (texts, received) = channel::<Vec<String>>();
        let (send, answers) = channel();
        std::thread::spawn(move || {
            for texts in received {
                let mut seen = String::new();
                for text in texts {
                    let answer = session.simple(&text);
                    let failed = answer.contains("ERROR ");
                    seen.push_str(&answer);
                    if failed {
                        break;
                    }
                }
                if send.send(seen).is_err() {
                    return;
                }
            }
        });
        Client { texts, answers, pid, is_pending: false, answer: None }
    }

    fn send(&mut self, texts: Vec<String>) {
        self.texts.send(texts).unwrap();
        (self.is_pending, self.answer) = (true, None);
    }

    fn look_for_answer(&mut self) {
        if let Ok(seen) = self.answers.try_recv() {
            (self.is_pending, self.answer) = (false, Some(answer_of(&seen)));
        }
    }
}

fn answer_of(seen: &str) -> Answer {
    let code = seen.lines().find_map(|line| line.strip_prefix("ERROR ")).map(|rest| &rest[..5]);
    match code {
        None if ["tag SELECT 0", "tag UPDATE 0", "tag DELETE 0", "row f\n"].iter().any(|word| seen.contains(word)) => {
            Answer::Skipped
        }
        None => Answer::Done,
        Some("55P03") => Answer::NotAvailable,
        Some("40P01") => Answer::Deadlock,
        Some("57014") => Answer::Cancelled,
        Some(_) => panic!("{seen}"),
    }
}

/// One server: its sessions, and one that watches them.
struct Side {
    name: &'static str,
    watcher: Session,
    clients: Vec<Client>,
}

/// The visible state of one session: the sessions it waits for, and the answer it got.
type Seen = (Option<Vec<usize>>, Option<Answer>);

impl Side {
    fn connect(name: &'static str, socket: &Path) -> Side {
        let mut watcher = Session::connect(socket, "postgres");
        for text in [
            "create sequence keys",
            "create table r (id int primary key, k int unique default nextval('keys'), v int default 0, w int default 0)",
            "create index on r (w)",
            ROWS,
            "create table t0 (id int)",
            "create table t1 (id int)",
            "create table scratch (id int)",
        ] {
            assert!(watcher.simple(text).contains("tag "));
        }
        let clients = (0..SESSIONS).map(|_| Client::connect(socket)).collect();
        Side { name, watcher, clients }
    }

    /// Whom each session waits for.
    fn blockers(&mut self, sessions: usize) -> Vec<Vec<usize>> {
        let calls: Vec<String> =
            self.clients[..sessions].iter().map(|client| format!("pg_blocking_pids({})", client.pid)).collect();
        let seen = self.watcher.simple(&format!("select {}", calls.join(", ")));
        let row = seen.lines().find_map(|line| line.strip_prefix("row ")).unwrap();
        let one = |cell: &str| {
            let pids = cell.trim_matches(['{', '}']).split(',').filter(|pid| !pid.is_empty());
            let session =
                |pid: &str| self.clients.iter().position(|client| client.pid == pid).expect("a session's pid");
            let mut sessions: Vec<usize> = pids.map(session).collect();
            sessions.sort_unstable();
            sessions.dedup();
            sessions
        };
        row.split(" | ").map(one).collect()
    }

    /// The visible state of all sessions once each has answered or waits. The session `must_answer` will not wait.
    fn settle(&mut self, sessions: usize, must_answer: Option<usize>) -> Result<Vec<Seen>, String> {
        let deadline = Instant::now() + SETTLE_LIMIT;
        let mut last = None;
        loop {
            self.clients[..sessions].iter_mut().for_each(Client::look_for_answer);
            let blockers = self.blockers(sessions);
            let seen: Vec<Seen> = self.clients[..sessions]
                .iter()
                .zip(&blockers)
                .map(|(client, blockers)| (client.is_pending.then(|| blockers.clone()), client.answer))
                .collect();
            let is_at_rest = seen.iter().all(|(waits_for, _)| waits_for.as_ref().is_none_or(|pids| !pids.is_empty()));
            let has_answered = must_answer.is_none_or(|session| !self.clients[session].is_pending);
            if is_at_rest && has_answered && last.as_ref() == Some(&seen) {
                return Ok(seen);
            }
            if Instant::now() > deadline {
                return Err(format!("{} does not come to rest: {seen:?}", self.name));
            }
            last = Some(seen);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn take(&mut self, session: usize, step: Step, depth: usize) {
        if step == Step::Cancel {
            let text = format!("select pg_cancel_backend({})", self.clients[session].pid);
            assert!(self.watcher.simple(&text).contains("row t"));
            return;
        }
        self.clients[session].send(texts(step, depth));
    }

    fn begin(&mut self, sessions: usize) -> Result<(), String> {
        for session in 0..sessions {
            self.clients[session].send(texts(Step::Rollback, 0));
            self.settle(sessions, Some(session))?;
        }
        Ok(())
    }

    /// Ends all transactions, and gives all locks back.
    fn end(&mut self, sessions: usize) -> Result<(), String> {
        for session in 0..sessions {
            if self.clients[session].is_pending {
                self.take(session, Step::Cancel, 0);
                self.settle(sessions, Some(session))?;
            }
        }
        for session in 0..sessions {
            self.clients[session].send(vec!["rollback".into(), "select pg_advisory_unlock_all()".into()]);
            self.settle(sessions, Some(session))?;
        }
        // Some may have been deleted.
        assert!(self.watcher.simple(ROWS).contains("tag "));
        Ok(())
    }
}

fn row_strength(mode: RowLockMode) -> &'static str {
    match mode {
        RowLockMode::KeyShare => "key share",
        RowLockMode::Share => "share",
        RowLockMode::NoKeyUpdate => "no key update",
        RowLockMode::Update => "update",
    }
}

fn table_mode(mode: LockMode) -> &'static str {
    match mode {
        LockMode::AccessShare => "access share",
        LockMode::RowShare => "row share",
        LockMode::RowExclusive => "row exclusive",
        LockMode::ShareUpdateExclusive => "share update exclusive",
        LockMode::Share => "share",
        LockMode::ShareRowExclusive => "share row exclusive",
        LockMode::Exclusive => "exclusive",
        LockMode::AccessExclusive => "access exclusive",
    }
}

/// The statements of a step. One that writes gives each transaction and savepoint its xid at once: of several that hold a row, the
/// one with the lowest is waited for.
fn texts(step: Step, depth: usize) -> Vec<String> {
    const WRITE: &str = "insert into scratch values (1)";
    let shared = |mode| if mode == LockMode::Share { "_shared" } else { "" };
    let within = |patience, text: String| match patience {
        Patience::TimeOut => vec!["set local lock_timeout = '40ms'".into(), text, "set local lock_timeout = 0".into()],
        _ => vec![text],
    };
    match step {
        Step::Row { row, mode, patience } => {
            let policy = match patience {
                Patience::Fail => " nowait",
                Patience::Skip => " skip locked",
                Patience::Wait | Patience::TimeOut => "",
            };
            within(patience, format!("select id from r where id = {row} for {}{policy}", row_strength(mode)))
        }
        Step::Change { row, change, patience } => {
            let text = match change {
                Change::Unindexed => format!("update r set v = v + 1 where id = {row}"),
                Change::Indexed => format!("update r set w = w + 1 where id = {row}"),
                Change::Key => format!("update r set k = nextval('keys') where id = {row}"),
                Change::Delete => format!("delete from r where id = {row}"),
            };
            within(patience, text)
        }
        Step::Table { table, mode, patience } => {
            let policy = if patience == Patience::Fail { " nowait" } else { "" };
            within(patience, format!("lock table t{table} in {} mode{policy}", table_mode(mode)))
        }
        Step::Advisory { key, mode, for_session, patience } => {
            let tries = if patience == Patience::Skip { "try_" } else { "" };
            let level = if for_session { "" } else { "xact_" };
            within(patience, format!("select pg_{tries}advisory_{level}lock{}({key})", shared(mode)))
        }
        Step::Unlock { key, mode } => {
            vec![format!("do 'begin perform pg_advisory_unlock{}({key}); end'", shared(mode))]
        }
        Step::Savepoint => vec![format!("savepoint s{}", depth + 1), WRITE.into()],
        Step::RollbackTo(depth) => vec![format!("rollback to s{depth}"), WRITE.into()],
        Step::Release(depth) => vec![format!("release s{depth}")],
        Step::Commit => vec!["commit".into(), "begin".into(), WRITE.into()],
        Step::Rollback => vec!["rollback".into(), "begin".into(), WRITE.into()],
        Step::Cancel => Vec::new(),
    }
}

/// The state of each session according to the model.
fn expected(model: &Model, sessions: usize) -> Vec<Seen> {
    let of = |session| (model.is_blocked(session).then(|| model.blockers(session)), model.answer(session));
    (0..sessions).map(of).collect()
}

/// Compares what both servers show. An answer that a session was given earlier than the model knows of counts for nothing.
fn compare(seen: &[Seen], expected: &[Seen]) -> bool {
    seen.iter().zip(expected).all(|((waits_for, answer), (expected_to_wait_for, expected_answer))| {
        waits_for == expected_to_wait_for
            && (waits_for.is_some() || expected_answer.is_none() || answer == expected_answer)
    })
}

/// How a schedule went differently on the two servers.
enum Difference {
    /// Cohort differs from the model in a step whose outcome does not depend on time.
    Certain(String),
    /// In the search for a deadlock: a busy machine may hold a process up for longer than the search is given. Or it is
    /// PostgreSQL that differs from the model: of several holders of a row its waiter waits for one after the other. Or the
    /// schedule lasted for longer than [`OVERTAKEN_LIMIT`].
    Doubtful(String),
}

/// Runs one schedule.
fn run_schedule(seed: u64, sides: &mut [Side; 2], circles: &mut usize) -> Result<(), Difference> {
    let mut random = StdRng::seed_from_u64(seed);
    let sessions = random.random_range(3..=SESSIONS);
    let mut model = Model::new(sessions);
    let mut told = format!("seed {seed}, {sessions} sessions\n");
    for side in sides.iter_mut() {
        side.begin(sessions).map_err(Difference::Certain)?;
    }
    let began = Instant::now();
    let differs = |told| match began.elapsed() < OVERTAKEN_LIMIT {
        true => Difference::Certain(told),
        false => Difference::Doubtful(told),
    };
    for _ in 0..40 {
        let session = random.random_range(0..sessions);
        let step = random_step_with_changes(|below| random.random_range(0..below), &model, session);
        // Those that wait are left to wait, most often.
        let some_can_go_on = (0..sessions).any(|other| !model.is_blocked(other));
        if step == Step::Cancel && some_can_go_on && random.random_range(0..6) != 0 {
            continue;
        }
        let Some(after) = model.after(session, step) else { continue };
        writeln!(told, "{session}: {step:?}").unwrap();
        let closes_circle = after.is_blocked(session) && after.circle(session, true);
        if closes_circle && random.random_range(0..2) == 0 {
            *circles += 1;
            // If it is the victim, those it kept waiting may race for what it held.
            let is_defined = after.after(session, Step::Cancel).is_some();
            return look_for_deadlock(sides, sessions, (session, step), &model, is_defined)
                .map_err(|difference| Difference::Doubtful(format!("{told}and looks for a deadlock\n{difference}")));
        }
        let must_answer = (!after.is_blocked(session)).then_some(session);
        for side in sides.iter_mut() {
            side.take(session, step, model.depth(session));
            let seen = side.settle(sessions, must_answer).map_err(|stuck| differs(format!("{told}{stuck}")))?;
            let expected = expected(&after, sessions);
            if !compare(&seen, &expected) {
                let told = format!("{told}{}: {seen:?}\nthe model: {expected:?}", side.name);
                return Err(if side.name == COHORT { differs(told) } else { Difference::Doubtful(told) });
            }
        }
        model = after;
    }
    Ok(())
}

/// The last step of a schedule, by a session that looks for a deadlock soon. If what comes of it is a matter of timing, only its own
/// fate is compared.
fn look_for_deadlock(
    sides: &mut [Side; 2],
    sessions: usize,
    (session, step): (usize, Step),
    model: &Model,
    is_defined: bool,
) -> Result<(), String> {
    let mut seen = Vec::new();
    for side in sides.iter_mut() {
        let mut all = vec![format!("set local deadlock_timeout = '{LOOK_AFTER_MS}ms'")];
        all.extend(texts(step, model.depth(session)));
        side.clients[session].send(all);
        side.settle(sessions, None)?;
        std::thread::sleep(LOOK_LIMIT);
        seen.push(side.settle(sessions, None)?);
    }
    let is_same = if is_defined { seen[0] == seen[1] } else { seen[0][session].1 == seen[1][session].1 };
    if is_same { Ok(()) } else { Err(format!("{}: {:?}\n{}: {:?}", sides[0].name, seen[0], sides[1].name, seen[1])) }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

// invariants: rows 22 and 38
#[test]
fn random_schedules_go_as_on_postgresql() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let settings = ["deadlock_timeout=1000s"];
    let server = Server::start(folder.path(), &settings);
    let reference = Reference::start_with(&binaries, &[settings[0], "autovacuum=off"]);
    let mut sides = [Side::connect("PostgreSQL", &reference.socket()), Side::connect(COHORT, &server.socket())];
    let first = number("COHORT_LOCK_SEED", 1);
    let mut circles = 0;
    let mut wrong = Vec::new();
    for seed in first..first + number("COHORT_LOCK_SCHEDULES", 20) {
        // A doubtful difference must be there again.
        for is_last in [false, true] {
            let run = run_schedule(seed, &mut sides, &mut circles);
            for side in &mut sides {
                side.end(SESSIONS).unwrap();
            }
            match run {
                Ok(()) => break,
                Err(Difference::Doubtful(_)) if !is_last => {}
                Err(Difference::Certain(told) | Difference::Doubtful(told)) => {
                    wrong.push(told);
                    break;
                }
            }
        }
    }
    println!("{circles} schedules ended with a circle of waits");
    assert!(wrong.is_empty(), "{} schedules differ; the first:\n{}", wrong.len(), wrong[0]);
    drop(sides);
    server.stop();
}
