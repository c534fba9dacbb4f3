//! No work of one session keeps another's short statement waiting, and all work can be cancelled.
//!
//! Each kind of long work runs in more sessions than there are workers, beside a session with short statements. The
//! waits of the short statements are measured by how long their worker computed meanwhile, which doesn't depend on how
//! busy the machine is.
//! `COHORT_FAIRNESS_SECONDS=3` runs each kind for so long on two workers and judges it by the clock, for a build with optimisation on a
//! machine that does nothing else. `COHORT_FAIRNESS_KINDS=sort,vacuum` runs only the kinds whose names contain one of these.

mod common;
#[path = "fairness/kinds.rs"]
mod kinds;

use std::io::{Read, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::Server;
use common::conversation::{Sent, Talk};
use common::wire::Session;
use kinds::{KINDS, Kind, TABLES};
use postgres::error::SqlState;
use postgres::{CancelToken, Client, NoTls};

/// A worker computes for no longer than this before it looks after a short statement. A build without optimisation computes
/// several times slower than one with it, so this is more than what is aimed at: 20 ms.
const COMPUTED_MAX: Duration = Duration::from_millis(80);
/// The same before it ends work that was cancelled. The aim is 100 ms.
const COMPUTED_TO_CANCEL_MAX: Duration = Duration::from_millis(250);
/// The aims, for the latencies by the clock: of 99 short statements out of 100, and of a cancel.
const LATENCY_MAX: Duration = Duration::from_millis(20);
const CANCEL_MAX: Duration = Duration::from_millis(100);
/// How often a kind that misses the aims by the clock is tried: something else may have had the processors.
const LOOKS: usize = 3;
/// A statement that was sent so short a time before a cancel may reach the server after it.
const ON_THE_WAY_MAX: Duration = Duration::from_millis(20);
/// A session that has not ended by then is cancelled again.
const CANCEL_AGAIN: Duration = Duration::from_millis(50);
/// Work that goes on for so long after it was cancelled has not noticed.
const CANCEL_LIMIT: Duration = Duration::from_secs(60);

/// How long the kinds that are run are run each, if figures are wanted.
fn measured_seconds() -> Option<f64> {
    std::env::var("COHORT_FAIRNESS_SECONDS").ok().map(|text| text.parse().expect("COHORT_FAIRNESS_SECONDS is a number"))
}

fn is_wanted(name: &str) -> bool {
    match std::env::var("COHORT_FAIRNESS_KINDS") {
        Ok(wanted) => wanted.split(',').any(|wanted| name.contains(wanted)),
        Err(_) => true,
    }
}

/// Processor time that the server's worker threads have had.
struct WorkerClock {
    files: Vec<String>,
}

impl WorkerClock {
    fn new(server: &Server) -> WorkerClock {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", server.id())).unwrap();
        let folders = tasks.map(|task| task.unwrap().path().display().to_string());
        let is_worker = |folder: &String| {
            std::fs::read_to_string(format!("{folder}/comm")).is_ok_and(|name| name.starts_with("worker "))
        };
        let files: Vec<String> = folders.filter(is_worker).map(|folder| format!("{folder}/schedstat")).collect();
        assert!(!files.is_empty(), "the server has workers");
        WorkerClock { files }
    }

    fn read(&self) -> Vec<Duration> {
        let one = |file: &String| {
            let text = std::fs::read_to_string(file).unwrap();
            Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
        };
        self.files.iter().map(one).collect()
    }

    /// The most that one of them has had since.
    fn since(&self, before: &[Duration]) -> Duration {
        self.read().iter().zip(before).map(|(now, before)| now.saturating_sub(*before)).max().unwrap()
    }
}

/// Runs one statement; a COPY with rows made up here, or with its output thrown away.
fn run_statement(client: &mut Client, statement: &str) -> Result<(), postgres::Error> {
    if statement.ends_with("from stdin") {
        let mut writer = client.copy_in(statement)?;
        for id in 0..50_000 {
            // An error shows at the end.
            if writeln!(writer, "{id}\tthe text of row {id}").is_err() {
                break;
            }
        }
        writer.finish()?;
    } else if statement.ends_with("to stdout") {
        let mut reader = client.copy_out(statement)?;
        if let Err(error) = std::io::copy(&mut reader, &mut std::io::sink()) {
            let error = error.into_inner().expect("the driver's error is inside");
            return Err(*error.downcast::<postgres::Error>().expect("it is the driver's"));
        }
    } else if let Some((times, statement)) = statement.split_once(" times: ") {
        let times = times.parse().expect("it is a number");
        client.batch_execute(&format!("{statement};").repeat(times))?;
    } else {
        client.batch_execute(statement)?;
    }
    Ok(())
}

/// A session that does long work.
struct Busy {
    cancel: CancelToken,
    /// When its last statement was sent.
    sent: Mutex<Instant>,
    has_ended: AtomicBool,
}

impl Busy {
    fn new(client: &Client) -> Busy {
        let sent = Mutex::new(Instant::now());
        Busy { cancel: client.cancel_token(), sent, has_ended: AtomicBool::new(false) }
    }

    /// Whether it runs a statement that was sent after this.
    fn runs_what_was_sent_after(&self, time: Instant) -> bool {
        !self.has_ended.load(Ordering::SeqCst) && *self.sent.lock().unwrap() > time
    }
}

/// The end of a session's work, even by a panic.
struct End<'a>(&'a Busy);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.has_ended.store(true, Ordering::SeqCst);
    }
}

/// Runs a kind until it is cancelled after `stop` was set.
fn run_until(kind: &Kind, client: &mut Client, busy: &Busy, stop: &AtomicBool) {
    let _end = End(busy);
    'runs: while !stop.load(Ordering::SeqCst) {
        for statement in kind.statements {
            *busy.sent.lock().unwrap() = Instant::now();
            if let Err(error) = run_statement(client, statement) {
                let mut code = error.code().cloned();
                // The driver may notice only that the server takes no more rows.
                if code.is_none() && statement.ends_with("from stdin") && client.simple_query("select").is_ok() {
                    code = Some(SqlState::QUERY_CANCELED);
                }
                // Sessions that do the same may be in each other's way.
                let is_expected = code.as_ref().is_some_and(|code| {
                    [
                        SqlState::QUERY_CANCELED,
                        SqlState::T_R_DEADLOCK_DETECTED,
                        SqlState::DUPLICATE_TABLE,
                        SqlState::DUPLICATE_OBJECT,
                        SqlState::UNDEFINED_OBJECT,
                        SqlState::INVALID_REGULAR_EXPRESSION,
                        SqlState::INVALID_TEXT_REPRESENTATION,
                        SqlState::PROGRAM_LIMIT_EXCEEDED,
                        SqlState::STATEMENT_TOO_COMPLEX,
                    ]
                    .contains(code)
                });
                assert!(is_expected, "{}: {statement}: {error:?}", kind.name);
                for statement in kind.after {
                    // There may be nothing to be taken back.
                    let _ = client.batch_execute(statement);
                }
                if code == Some(SqlState::QUERY_CANCELED) {
                    break 'runs;
                }
                break;
            }
        }
    }
    for statement in kind.after {
        let _ = client.batch_execute(statement);
    }
}

/// Measurements of the session with short statements beside one kind of work.
#[derive(Default)]
struct Met {
    latencies: Vec<Duration>,
    computed_max: Duration,
    cancel: Duration,
    computed_to_cancel: Duration,
}

impl Met {
    fn latency(&mut self, share: f64) -> Duration {
        self.latencies.sort();
        let last = self.latencies.len() - 1;
        self.latencies[(last as f64 * share).round() as usize]
    }
}

/// Short statements for a while.
fn measure(short: &mut Client, clock: &WorkerClock, time: Duration, least: usize) -> Met {
    let statement = short.prepare("select $1::int + 1").unwrap();
    let mut met = Met::default();
    let began = Instant::now();
    while began.elapsed() < time || met.latencies.len() < least {
        let (asked, before) = (Instant::now(), clock.read());
        short.query_one(&statement, &[&1]).unwrap();
        met.computed_max = met.computed_max.max(clock.since(&before));
        met.latencies.push(asked.elapsed());
        std::thread::sleep(Duration::from_millis(5));
    }
    met
}

/// Cancels until the work has ended. A cancel that came between two statements of a session ended nothing, so what the
/// later statement computed does not count.
fn cancel(sessions: &[Busy], clock: &WorkerClock, name: &str) -> (Duration, Duration) {
    let running = || sessions.iter().any(|session| !session.has_ended.load(Ordering::SeqCst));
    let began = Instant::now();
    let (mut asked, mut before) = (began, clock.read());
    while running() {
        let round = Instant::now();
        if sessions.iter().any(|session| session.runs_what_was_sent_after(asked - ON_THE_WAY_MAX)) {
            (asked, before) = (round, clock.read());
        }
        for session in sessions {
            session.cancel.cancel_query(NoTls).unwrap();
        }
        while running() && round.elapsed() < CANCEL_AGAIN {
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(began.elapsed() < CANCEL_LIMIT, "{name} can't be cancelled");
    }
    (asked.elapsed(), clock.since(&before))
}

fn try_kind(kind: &Kind, server: &Server, clock: &WorkerClock, sessions: usize, time: Duration) -> Met {
    let mut clients: Vec<Client> = (0..sessions).map(|_| server.connect()).collect();
    for client in &mut clients {
        for statement in kind.before {
            client.batch_execute(statement).unwrap();
        }
    }
    let busy: Vec<Busy> = clients.iter().map(Busy::new).collect();
    let mut short = server.connect();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for (client, busy) in clients.iter_mut().zip(&busy) {
            let stop = &stop;
            scope.spawn(move || run_until(kind, client, busy, stop));
        }
        // The work is under way.
        std::thread::sleep(Duration::from_millis(50));
        let mut met = measure(&mut short, clock, time, 8);
        stop.store(true, Ordering::SeqCst);
        (met.cancel, met.computed_to_cancel) = cancel(&busy, clock, kind.name);
        met
    })
}

fn report(name: &str, met: &mut Met) {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{name:32} p50 {:7.1} p99 {:7.1} max {:7.1} ms, computed at most {:7.1} ms, cancelled in {:7.1} ms, computing {:7.1} ms",
        milliseconds(met.latency(0.5)),
        milliseconds(met.latency(0.99)),
        milliseconds(met.latency(1.0)),
        milliseconds(met.computed_max),
        milliseconds(met.cancel),
        milliseconds(met.computed_to_cancel),
    );
}

// invariants: row 41
#[test]
fn no_work_keeps_short_statements_waiting_and_all_can_be_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let seconds = measured_seconds();
    // One worker: it must have the processor time that a statement waited for.
    let (workers, sessions) = if seconds.is_some() { (2, 3) } else { (1, 2) };
    let server = Server::start(folder.path(), &[&format!("worker_threads={workers}")]);
    let mut client = server.connect();
    let rows = if seconds.is_some() { "400000" } else { "40000" };
    for statement in TABLES {
        client.batch_execute(&statement.replace("40000", rows)).unwrap();
    }
    let clock = WorkerClock::new(&server);
    let time = Duration::from_secs_f64(seconds.unwrap_or(0.1));
    let mut failed = Vec::new();
    for kind in KINDS.iter().filter(|kind| is_wanted(kind.name)) {
        let is_good = || {
            let mut met = try_kind(kind, &server, &clock, sessions, time);
            report(kind.name, &mut met);
            match seconds {
                Some(_) => met.latency(0.99) <= LATENCY_MAX && met.cancel <= CANCEL_MAX,
                None => met.computed_max <= COMPUTED_MAX && met.computed_to_cancel <= COMPUTED_TO_CANCEL_MAX,
            }
        };
        // The machine may be slow to give memory once; work that takes too long does so at each look.
        if !(0..LOOKS).any(|_| is_good()) {
            failed.push(kind.name);
        }
    }
    assert!(failed.is_empty(), "too long in one go: {failed:?}");
    server.stop();
}

// invariants: row 41
#[test]
fn a_client_that_sends_without_a_pause_keeps_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    let clock = WorkerClock::new(&server);
    let mut sender = Session::connect(&server.socket(), "postgres");
    let mut short = server.connect();
    std::thread::scope(|scope| {
        let sending = scope.spawn(move || {
            for _ in 0..400 {
                sender.send("select count(*) from generate_series(1, 3000)");
            }
            for _ in 0..400 {
                assert!(sender.answer().contains("row 3000"));
            }
        });
        let mut met = measure(&mut short, &clock, Duration::from_millis(200), 8);
        report("pipelined statements", &mut met);
        assert!(met.computed_max < COMPUTED_MAX, "{:?}", met.computed_max);
        sending.join().unwrap();
    });
    server.stop();
}

/// So many bytes of Flush messages at a time.
const FLUSHES_BYTES: usize = 64 << 10;

// invariants: row 41
#[test]
fn a_copy_that_gets_no_data_keeps_nobody_waiting_and_can_be_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    let clock = WorkerClock::new(&server);
    let mut short = server.connect();
    short.batch_execute("create table copied (i int)").unwrap();
    let mut talk = Talk::start(&server.socket());
    talk.send(&Sent::query("copy copied from stdin").bytes());
    talk.hear_until(|heard| !heard.is_empty());
    let pid = talk.pid as i32;
    let mut stream = talk.into_stream();
    let mut writer = stream.try_clone().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let flushes = Sent::new(b'H', []).bytes().repeat(FLUSHES_BYTES / 5);
            // A worker that looks after nobody else is to be seen, not waited for.
            let end = Instant::now() + CANCEL_LIMIT;
            while !stop.load(Ordering::SeqCst) && Instant::now() < end {
                // The server may have gone on to close the connection.
                if writer.write_all(&flushes).is_err() {
                    break;
                }
            }
        });
        let mut met = measure(&mut short, &clock, Duration::from_millis(200), 8);
        report("copy without data", &mut met);
        short.execute("select pg_cancel_backend($1)", &[&pid]).unwrap();
        let mut answer = [0];
        stream.read_exact(&mut answer).unwrap();
        stop.store(true, Ordering::SeqCst);
        assert_eq!(answer, *b"E");
        assert!(met.computed_max < COMPUTED_MAX, "{:?}", met.computed_max);
        // The rest is read, so that the writer ends.
        stream.shutdown(std::net::Shutdown::Both).unwrap();
    });
    server.stop();
}

// invariants: row 41
#[test]
fn notifications_give_a_busy_listener_no_further_turns() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    let clock = WorkerClock::new(&server);
    let mut listener = server.connect();
    let token = listener.cancel_token();
    listener.batch_execute("listen channel").unwrap();
    let mut notifier = Session::connect(&server.socket(), "postgres");
    let mut short = server.connect();
    std::thread::scope(|scope| {
        let listening =
            scope.spawn(move || listener.batch_execute("select count(*) from generate_series(1, 100000000000)"));
        let notifying = scope.spawn(move || {
            for number in 0..3000 {
                notifier.send(&format!("notify channel, '{number}'"));
            }
            for _ in 0..3000 {
                assert!(notifier.answer().contains("NOTIFY"));
            }
        });
        let mut met = measure(&mut short, &clock, Duration::from_millis(300), 8);
        report("notifications", &mut met);
        notifying.join().unwrap();
        token.cancel_query(NoTls).unwrap();
        assert_eq!(listening.join().unwrap().unwrap_err().code(), Some(&SqlState::QUERY_CANCELED));
        assert!(met.computed_max < COMPUTED_MAX, "{:?}", met.computed_max);
    });
    server.stop();
}

// invariants: row 41
#[test]
fn a_commit_that_notifies_many_channels_keeps_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    let mut listeners: Vec<Client> = (0..85).map(|_| server.connect()).collect();
    listeners.iter_mut().for_each(|listener| listener.batch_execute("listen other").unwrap());
    let (mut notifying, mut short, clock) = (server.connect(), server.connect(), WorkerClock::new(&server));
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::SeqCst) {
                let channels = "select count(pg_notify('channel ' || g, '')) from generate_series(1, 150000) g";
                notifying.batch_execute(channels).unwrap();
            }
        });
        let mut met = measure(&mut short, &clock, Duration::from_secs(3), 20);
        is_done.store(true, Ordering::SeqCst);
        report("notifications of many channels", &mut met);
        assert!(met.computed_max <= COMPUTED_MAX, "the worker computed {:?} in one go", met.computed_max);
    });
    server.stop();
}

/// A statement whose constants are lifted out, that takes long to be planned and gives no rows. Each number gives another text.
fn long_to_plan(number: usize) -> String {
    let names: Vec<String> = (1..=40).map(|table| format!("small s{table}")).collect();
    let conditions: Vec<String> = (1..40).map(|table| format!("s{table}.id = s{}.k", table + 1)).collect();
    format!(
        "select count(*) as c{number} from {} where {} and s1.id = -1 and s1.k = -1",
        names.join(", "),
        conditions.join(" and ")
    )
}

/// So many statements are planned under a short time limit, at most.
const TRIES_TO_PLAN: usize = 50;

// invariants: row 41
#[test]
fn a_time_limit_that_passes_while_a_statement_is_planned_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    let mut client = server.connect();
    client.batch_execute("create table small (id int primary key, k int)").unwrap();
    client.batch_execute("set statement_timeout = '1ms'").unwrap();
    // A busy machine may tell of the limit only when a statement has been planned and has ended. It does not do so each time.
    let was_cancelled = (0..TRIES_TO_PLAN).any(|number| match client.simple_query(&long_to_plan(number)) {
        Ok(_) => false,
        Err(error) => {
            assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED));
            true
        }
    });
    assert!(was_cancelled, "no time limit ended a statement that was planned");
    server.stop();
}

// invariants: row 41
#[test]
fn a_time_limit_that_passes_while_a_constant_is_computed_ends_the_statement() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    let mut client = server.connect();
    client.batch_execute("set statement_timeout = '2ms'").unwrap();
    for number in 0..4 {
        // Each is another text, which is planned anew. Its constants are computed by another thread.
        let statement = format!("select sha512(repeat('x', 100000000)::bytea) as c{number}");
        let error = client.simple_query(&statement).unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED));
    }
    server.stop();
}

// invariants: row 41
#[test]
fn a_time_limit_that_passes_while_a_stored_expression_is_read_ends_the_statement() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    let mut client = server.connect();
    let long = format!("array_length(array[1{}], 1)", ", 1".repeat(200_000));
    client.batch_execute("create table long (a int, b int)").unwrap();
    client.batch_execute(&format!("alter table long alter a set default {long}")).unwrap();
    client.batch_execute(&format!("alter table long add constraint checked check (b < {long})")).unwrap();
    client.batch_execute(&format!("create index long_index on long ((b + {long}))")).unwrap();
    // Its plan is made again to tell its types, since there is another table by then.
    client.batch_execute("prepare slow as select sha512(repeat('x', 20000000)::bytea)").unwrap();
    client.batch_execute("create table later (a int)").unwrap();
    client.batch_execute("set statement_timeout = '2ms'").unwrap();
    for statement in [
        "select name, length(statement) from pg_prepared_statements",
        "alter table long alter a type bigint",
        "select length(pg_get_expr(adbin, adrelid)) from pg_attrdef where adrelid = 'long'::regclass",
        "select length(pg_get_constraintdef(oid)) from pg_constraint where conname = 'checked'",
        "select length(pg_get_indexdef('long_index'::regclass))",
        "select length(column_default) from information_schema.columns where table_name = 'long'",
    ] {
        let error = client.simple_query(statement).expect_err(statement);
        assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED), "{statement}");
    }
    server.stop();
}

/// A search that can't be stopped goes on for a while after its session has left; then there is room for others' long work.
#[test]
#[ignore = "without optimisation and beside other tests the steps under way take more than its minute"]
fn searches_that_were_given_up_end() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    let mut client = server.connect();
    client.batch_execute("set statement_timeout = '100ms'").unwrap();
    for _ in 0..16 {
        let search = r"select repeat('ab', 10000) ~ '((?:a|b)*)(?!(?:a|b|[c-z]\w)*\w{200}d)\1\1\1c'";
        let error = client.simple_query(search).unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED));
    }
    client.batch_execute("set statement_timeout = '60s'").unwrap();
    client.batch_execute("select sha512(repeat('x', 30000000)::bytea)").unwrap();
    server.stop();
}

/// A loop that copied the array each time would take many times as long as it has.
#[test]
fn an_element_of_a_large_array_is_assigned_without_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    client.batch_execute("set statement_timeout = '60s'").unwrap();
    let assigned = "do 'declare a text[] := array_fill(repeat($$x$$, 100), array[2000000]); b text[] := a;
        begin
            for i in 1..20000 loop a[i] := repeat($$y$$, 100); end loop;
            if b[1] = a[1] or b[20001] <> a[20001] or a[20000] not like $$yy%$$ then raise exception $$%$$, a[1]; end if;
        end'";
    client.batch_execute(assigned).unwrap();
    server.stop();
}

/// Nobody is at the other end.
struct Nobody;

impl executor::client::Client for Nobody {
    fn require(&mut self, _lsn: base::Lsn) {}
    fn row(&mut self, _row: &executor::client::OutgoingRow<'_>) -> base::Result<()> {
        Ok(())
    }
    fn notice(&mut self, _severity: executor::client::Severity, _notice: &base::Error) {}
    fn error(&mut self, _error: &base::Error) {}
    fn parameter_status(&mut self, _name: &str, _value: &str) {}
    fn notification(&mut self, _pid: i32, _channel: &str, _payload: &str) {}
    fn read_copy_data(&mut self) -> base::Result<Option<Vec<u8>>> {
        Ok(None)
    }
    fn relieve(&mut self) -> base::Result<()> {
        Ok(())
    }
}

// invariants: row 41
#[test]
fn a_session_in_a_program_of_its_own_can_be_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let database = cohort::Database::open(cohort::OpenOptions::new(folder.path())).unwrap();
    let instance = cohort::Instance::new(database);
    let request = cohort::ConnectRequest { user: "postgres".into(), database: "postgres".into(), ..Default::default() };
    let mut session = instance.connect(request).unwrap();
    let interrupt = session.interrupt();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        interrupt.raise(sync::InterruptKind::Cancel);
    });
    let error = session.simple_query("select count(*) from generate_series(1, 100000000000)", &mut Nobody).unwrap_err();
    assert_eq!(error.sqlstate().as_str(), "57014");
    canceller.join().unwrap();
    session.before_ready(&mut Nobody);
    let timed = "set statement_timeout = '50ms'; select sum(sqrt(i)) from generate_series(1, 100000000000) i";
    let error = session.simple_query(timed, &mut Nobody).unwrap_err();
    assert!(error.message().contains("statement timeout"), "{error:?}");
}

/// Processor time that the server has had, all its threads together.
fn processor_time(server: &Server) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.id())).unwrap();
    // A thread may end meanwhile.
    let time = |folder: std::path::PathBuf| {
        let text = std::fs::read_to_string(folder.join("schedstat")).unwrap_or_default();
        Duration::from_nanos(text.split(' ').next().and_then(|time| time.parse().ok()).unwrap_or(0))
    };
    tasks.map(|task| time(task.unwrap().path())).sum()
}

/// Searches that would take hours, in a text that is large and one that isn't.
const ENDLESS_SEARCHES: [&str; 2] = [
    "select repeat('a', 20000000) ~ '((a{1,130}){1,130})+b'",
    "select count(*) from generate_series(1, 1000000) i where repeat('a', 60000) || i ~ '((a{1,130}){1,130})+b'",
];

/// Work that other threads do for sessions.
fn use_other_threads(client: &mut Client, number: usize) -> Result<(), postgres::Error> {
    client.batch_execute(&format!("select 'x' ~ '[x-y]{{1,{number}}}'; select pg_reload_conf()"))?;
    client.batch_execute("analyze small; select length(upper(repeat('x', 1000000)))")
}

// invariants: row 41
#[test]
fn endless_searches_keep_nobody_waiting_and_end_when_they_are_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=2"]);
    let mut client = server.connect();
    client.batch_execute("create table small as select i as id from generate_series(1, 100) i").unwrap();
    client.batch_execute("set statement_timeout = '40s'").unwrap();
    for (number, search) in ENDLESS_SEARCHES.iter().enumerate() {
        let mut sessions: Vec<Client> = (0..4).map(|_| server.connect()).collect();
        let tokens: Vec<CancelToken> = sessions.iter().map(Client::cancel_token).collect();
        std::thread::scope(|scope| {
            let searching: Vec<_> = sessions
                .iter_mut()
                .map(|session| scope.spawn(move || session.batch_execute(search).unwrap_err()))
                .collect();
            std::thread::sleep(Duration::from_millis(300));
            let used = use_other_threads(&mut client, 2 * number + 2);
            while searching.iter().any(|searching| !searching.is_finished()) {
                for token in &tokens {
                    token.cancel_query(NoTls).unwrap();
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            for searching in searching {
                assert_eq!(searching.join().unwrap().code(), Some(&SqlState::QUERY_CANCELED));
            }
            used.unwrap();
        });
        use_other_threads(&mut client, 2 * number + 3).unwrap();
        let began = Instant::now();
        loop {
            let before = processor_time(&server);
            std::thread::sleep(Duration::from_millis(200));
            if processor_time(&server).saturating_sub(before) < Duration::from_millis(50) {
                break;
            }
            assert!(began.elapsed() < CANCEL_LIMIT, "{search}: the server computes on for nobody");
        }
    }
    server.stop();
}
