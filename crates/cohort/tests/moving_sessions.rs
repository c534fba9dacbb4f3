//! Sessions move between messages from a worker with long work to one that sleeps, with all they have.
//!
//! Whether a session moves depends on whether the other worker sleeps at that moment. So each test sends messages until one has moved.

mod common;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cohort::{CurrentCredentials, Database, Instance, OpenOptions, Server, ServerOptions, SocketOptions, StopMode};
use common::conversation::{Sent, Talk};
use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, NoTls};

/// The time for an event that must come. It comes much earlier on an idle machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A statement that lasts until it is cancelled.
const LONG: &str = "select count(*) from generate_series(1, 1000000000000)";

/// A server of this process with two workers.
struct TwoWorkers {
    server: Server,
    _database: Database,
    folder: tempfile::TempDir,
}

impl TwoWorkers {
    fn start(max_connections: usize) -> TwoWorkers {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(OpenOptions::new(folder.path().join("data"))).unwrap();
        let options = ServerOptions {
            host: "127.0.0.1".to_owned(),
            port: 0,
            sockets: SocketOptions::in_directory(folder.path(), 0o700),
            worker_count: 2,
            connections: None,
            max_connections,
            superuser_reserved_connections: 0,
            credentials: CurrentCredentials::default(),
        };
        let server = Server::start(Instance::new(database.clone()), &options).unwrap();
        TwoWorkers { server, _database: database, folder }
    }

    fn url(&self) -> String {
        format!("host={} port={} user=postgres dbname=postgres", self.folder.path().display(), self.server.port())
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join(format!(".s.PGSQL.{}", self.server.port()))
    }

    fn connect(&self) -> Client {
        Client::connect(&self.url(), NoTls).unwrap()
    }

    /// So many sessions.
    fn sessions<const N: usize>(&self) -> [Client; N] {
        std::array::from_fn(|_| self.connect())
    }

    /// Runs `test` while `worker` runs a statement without end.
    fn beside_long_work<R>(&self, worker: &mut Client, test: impl FnOnce() -> R) -> R {
        let token = worker.cancel_token();
        let pid = pid_of(worker);
        std::thread::scope(|scope| {
            let long = scope.spawn(|| worker.batch_execute(LONG).unwrap_err());
            let _canceller = Canceller { token, is_over: &|| long.is_finished() };
            let mut watcher = self.connect();
            wait_until("the long work has begun", || {
                let query = "select 1 from pg_stat_activity where pid = $1 and state = 'active'";
                !watcher.query(query, &[&pid]).unwrap().is_empty()
            });
            drop(watcher);
            test()
        })
    }

    /// Has `act` done until sessions have moved so many times.
    fn until_moved(&self, times: u64, mut act: impl FnMut()) {
        let before = self.server.moved_sessions();
        wait_until("sessions move", || {
            act();
            self.server.moved_sessions() >= before + times
        });
    }

    fn stop(self) {
        self.server.stop(StopMode::AtOnce);
    }
}

/// Cancels a statement when dropped, also where the test has failed.
struct Canceller<'t> {
    token: postgres::CancelToken,
    is_over: &'t dyn Fn() -> bool,
}

impl Drop for Canceller<'_> {
    fn drop(&mut self) {
        while !(self.is_over)() {
            // The server may have stopped.
            let _ = self.token.cancel_query(NoTls);
            // A second cancel could be for the next statement.
            let started = Instant::now();
            while !(self.is_over)() && started.elapsed() < Duration::from_secs(2) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < LIMIT, "not within {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn number(client: &mut impl postgres::GenericClient, query: &str) -> i64 {
    client.query_one(query, &[]).unwrap().get(0)
}

fn pid_of(client: &mut Client) -> i32 {
    client.query_one("select pg_backend_pid()", &[]).unwrap().get(0)
}

/// The number of one of `others` that has moved when `first` had long work.
fn neighbour(server: &TwoWorkers, first: &mut Client, others: &mut [Client]) -> usize {
    server.beside_long_work(first, || {
        let before = server.server.moved_sessions();
        let started = Instant::now();
        loop {
            for (number, other) in others.iter_mut().enumerate() {
                other.batch_execute("select 1").unwrap();
                if server.server.moved_sessions() > before {
                    return number;
                }
            }
            assert!(started.elapsed() < LIMIT, "no session moves");
        }
    })
}

/// Processor time that each worker of a server process has had.
fn worker_times(process: u32) -> Vec<Duration> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let mut folders: Vec<PathBuf> = tasks.map(|task| task.unwrap().path()).collect();
    let read = |folder: &Path, file: &str| std::fs::read_to_string(folder.join(file)).unwrap_or_default();
    folders.retain(|folder| read(folder, "comm").starts_with("worker "));
    folders.sort();
    let time =
        |folder: &PathBuf| Duration::from_nanos(read(folder, "schedstat").split(' ').next().unwrap().parse().unwrap());
    folders.iter().map(time).collect()
}

#[test]
fn two_sessions_with_long_work_use_two_workers() {
    two_busy_sessions_use_two_workers(50_000);
}

/// No statement lasts as long as a time slice, and no two clients have something to do at the same moment.
#[test]
fn two_sessions_with_many_short_statements_use_two_workers() {
    two_busy_sessions_use_two_workers(1_000);
}

/// Two sessions run nothing but statements over so many rows each.
fn two_busy_sessions_use_two_workers(rows: u32) {
    let folder = tempfile::tempdir().unwrap();
    let server = common::Server::start(folder.path(), &["worker_threads=2"]);
    let mut sessions: Vec<Client> = (0..3).map(|_| server.connect()).collect();
    let query = format!("select count(*) from generate_series(1, {rows})");
    // Two of three sessions share a worker.
    for idle in 0..3 {
        let before = worker_times(server.id());
        assert_eq!(before.len(), 2);
        let is_over = AtomicBool::new(false);
        let busy = sessions.iter_mut().enumerate().filter(|(number, _)| *number != idle);
        let have_both_worked = std::thread::scope(|scope| {
            for (_, session) in busy {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        session.batch_execute(&query).unwrap();
                    }
                });
            }
            let started = Instant::now();
            let have_both_worked = || {
                let now = worker_times(server.id());
                now.iter().zip(&before).all(|(now, before)| *now - *before > Duration::from_millis(150))
            };
            while !have_both_worked() && started.elapsed() < LIMIT / 3 {
                std::thread::sleep(Duration::from_millis(10));
            }
            is_over.store(true, Ordering::Relaxed);
            have_both_worked()
        });
        assert!(have_both_worked, "one worker does all while the other sleeps");
    }
    server.stop();
}

#[test]
fn a_session_takes_all_it_has_with_it() {
    let server = TwoWorkers::start(20);
    let [mut long, mut rival, mut speaker] = server.sessions();
    let mut others: Vec<Client> = (0..6).map(|_| server.connect()).collect();
    let moved = neighbour(&server, &mut long, &mut others);
    // It is to move again, with all that it gets here. The long work of one that is at its worker now will see to that.
    let mut session = others.swap_remove(moved);
    others.push(long);
    session
        .batch_execute(
            "create table kept (id int primary key, t text);
             insert into kept select i, 'row ' || i from generate_series(1, 1000) i;
             create temporary table mine as select generate_series(1, 10) as id;
             create function twice(n int) returns int language plpgsql as 'begin return 2 * n; end';
             create function raise_it() returns trigger language plpgsql as
                 'begin insert into kept select 100000 + id from new_rows; return null; end';
             create table noted (id int);
             create trigger note after insert on noted referencing new table as new_rows
                 for each statement execute function raise_it();
             listen news;
             set search_path = public, pg_temp;
             prepare by_sql(int) as select t from kept where id = $1;
             select pg_advisory_lock(77), twice(2)",
        )
        .unwrap();
    let prepared = session.prepare("select t || ' ' || $1 from kept where id = 7").unwrap();
    let held = "declare held cursor with hold for select id from kept order by id; fetch 3 from held";
    session.batch_execute(held).unwrap();
    let is_free = "select pg_try_advisory_lock(77)::int::bigint";
    assert_eq!(number(&mut rival, is_free), 0);

    // Open: a transaction with a savepoint, changes, a cursor, and a portal that has been suspended.
    let mut transaction = session.transaction().unwrap();
    let begun = "insert into noted values (1), (2); savepoint one; insert into mine values (11);
                 declare open cursor for with recursive r as (select 1 n union all select n + 1 from r where n < 500)
                     select r.n, k.t from r join kept k on k.id = r.n order by 1;
                 fetch 10 from open; declare grouped cursor for select id % 7, count(*) from kept group by 1; fetch 2 from grouped";
    transaction.batch_execute(begun).unwrap();
    let portal =
        transaction.bind("with k as (select id from kept) select id, twice(id) from k order by id", &[]).unwrap();
    let rows = transaction.query_portal(&portal, 5).unwrap();
    assert_eq!(rows.last().unwrap().get::<_, i32>(1), 10);
    let mut move_it = |transaction: &mut postgres::Transaction<'_>| {
        for other in &mut others {
            let before = server.server.moved_sessions();
            server.beside_long_work(other, || {
                let started = Instant::now();
                while server.server.moved_sessions() == before && started.elapsed() < Duration::from_secs(3) {
                    transaction.batch_execute("select 1").unwrap();
                }
            });
            if server.server.moved_sessions() > before {
                return true;
            }
        }
        false
    };
    wait_until("the session moves", || move_it(&mut transaction));

    let rows = transaction.query_portal(&portal, 5).unwrap();
    assert_eq!(rows.last().unwrap().get::<_, i32>(1), 20);
    let row = transaction.query("fetch 5 from open", &[]).unwrap().pop().unwrap();
    assert_eq!((row.get::<_, i32>(0), row.get::<_, String>(1)), (15, "row 15".to_owned()));
    assert_eq!(transaction.query("fetch all from grouped", &[]).unwrap().len(), 5);
    assert_eq!(number(&mut transaction, "select count(*) from mine"), 11);
    transaction.batch_execute("rollback to one; release one").unwrap();
    assert_eq!(number(&mut transaction, "select count(*) from mine"), 10);
    assert_eq!(number(&mut transaction, "select count(*) from kept where id > 100000"), 2);
    let row = transaction.query_one(&prepared, &[&"again"]).unwrap();
    assert_eq!(row.get::<_, String>(0), "row 7 again");
    assert_eq!(number(&mut rival, "select count(*) from noted"), 0, "it has not committed");
    transaction.commit().unwrap();
    assert_eq!(number(&mut rival, "select count(*) from noted"), 2);

    let messages = session.simple_query("execute by_sql(9); fetch 1 from held; show search_path").unwrap();
    let values: Vec<String> = messages
        .iter()
        .filter_map(|message| match message {
            postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        })
        .collect();
    assert_eq!(values, ["row 9", "4", "public, pg_temp"]);
    assert_eq!(number(&mut rival, is_free), 0);
    assert_eq!(number(&mut session, "select pg_advisory_unlock(77)::int::bigint"), 1);
    assert_eq!(number(&mut rival, is_free), 1);
    // It is told while it idles.
    speaker.batch_execute("notify news, 'heard'").unwrap();
    let told = session.notifications().timeout_iter(LIMIT).next().unwrap().expect("it is told where it is now");
    assert_eq!(told.payload(), "heard");
    drop(session);
    server.stop();
}

#[test]
fn interrupts_reach_a_session_where_it_is() {
    let server = TwoWorkers::start(40);
    let mut long = server.connect();
    let mut control = server.connect();
    // Each moves at most once: it stays where there is no long work.
    let mut sessions: Vec<Client> = (0..12).map(|_| server.connect()).collect();
    server.beside_long_work(&mut long, || {
        let before = server.server.moved_sessions();
        for _ in 0..50 {
            sessions.iter_mut().for_each(|session| session.batch_execute("select 1").unwrap());
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(server.server.moved_sessions() > before);
        for (number, session) in sessions.iter_mut().enumerate() {
            let pid = pid_of(session);
            let token = session.cancel_token();
            let error = match number % 4 {
                // While it runs.
                0 => std::thread::scope(|scope| {
                    let running = scope.spawn(|| session.batch_execute("select pg_sleep(1000)").unwrap_err());
                    while !running.is_finished() {
                        token.cancel_query(NoTls).unwrap();
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    running.join().unwrap()
                }),
                1 => session.batch_execute("set statement_timeout = 20; select pg_sleep(1000)").unwrap_err(),
                // While it idles.
                2 => {
                    session.batch_execute("set idle_in_transaction_session_timeout = 20; begin").unwrap();
                    wait_until("the session is gone", || is_gone(&mut control, pid));
                    session.batch_execute("select 1").unwrap_err()
                }
                _ => {
                    control.execute("select pg_terminate_backend($1)", &[&pid]).unwrap();
                    wait_until("the session is gone", || is_gone(&mut control, pid));
                    session.batch_execute("select 1").unwrap_err()
                }
            };
            let expected = match number % 4 {
                0 | 1 => SqlState::QUERY_CANCELED,
                2 => SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                _ => SqlState::ADMIN_SHUTDOWN,
            };
            // A driver that writes to a closed connection may hear of that first.
            assert!(error.code().is_none_or(|code| *code == expected), "{number}: {error}");
            assert!(error.code().is_some() || number % 4 >= 2, "{number}: {error}");
        }
    });
    server.stop();
}

fn is_gone(control: &mut Client, pid: i32) -> bool {
    control.query("select 1 from pg_stat_activity where pid = $1", &[&pid]).unwrap().is_empty()
}

#[test]
fn a_session_that_is_to_end_while_it_moves_ends() {
    let server = TwoWorkers::start(100);
    let mut long = server.connect();
    let mut control = server.connect();
    let mut sessions: Vec<Talk> = (0..60).map(|_| Talk::start(&server.socket())).collect();
    let pids: Vec<i32> = {
        let query = "select pid from pg_stat_activity where pid <> pg_backend_pid() and state = 'idle' order by pid";
        let own = pid_of(&mut long);
        let pids = control.query(query, &[]).unwrap().into_iter().map(|row| row.get(0));
        pids.filter(|pid| *pid != own).collect()
    };
    assert_eq!(pids.len(), sessions.len());
    server.beside_long_work(&mut long, || {
        // Each session sends one message and then waits: it hears of its end only if whoever has it is told.
        for (pid, session) in pids.iter().zip(&mut sessions) {
            session.send(&Sent::query("select 1").bytes());
            control.execute("select pg_terminate_backend($1)", &[pid]).unwrap();
        }
        for session in &mut sessions {
            let heard = session.hear_to_the_end();
            assert!(heard.last().is_some_and(|last| last.contains("57P01")), "{heard:?}");
        }
    });
    assert!(server.server.moved_sessions() > 0, "none has moved");
    server.stop();
}

#[test]
fn places_come_back_from_sessions_that_have_moved() {
    let server = TwoWorkers::start(13);
    let [mut long, mut control] = server.sessions();
    for _ in 0..3 {
        let mut sessions: Vec<Client> = (0..10).map(|_| server.connect()).collect();
        server.until_moved(1, || {
            // Long work begins where the session is, and moves the others away from there.
            server.beside_long_work(&mut long, || {
                for session in &mut sessions {
                    session.batch_execute("select 1").unwrap();
                }
            });
        });
        drop(sessions);
        let sessions = "select count(*) from pg_stat_activity where backend_type = 'client backend'";
        wait_until("all others have left", || number(&mut control, sessions) == 2);
    }
    let mut all: Vec<Client> = (0..11).map(|_| server.connect()).collect();
    let refused = Client::connect(&server.url(), NoTls).err().expect("there is no place left");
    assert_eq!(refused.code(), Some(&SqlState::TOO_MANY_CONNECTIONS));
    all.iter_mut().for_each(|session| session.batch_execute("select 1").unwrap());
    drop((all, long, control));
    server.stop();
}

#[test]
fn sessions_spread_again_when_the_long_work_is_over() {
    let server = TwoWorkers::start(20);
    let mut long = server.connect();
    let mut sessions: Vec<Client> = (0..11).map(|_| server.connect()).collect();
    server.beside_long_work(&mut long, || {
        // Those of the same worker leave it one by one.
        server.until_moved(3, || sessions.iter_mut().for_each(|session| session.batch_execute("select 1").unwrap()));
    });
    let before = server.server.moved_sessions();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for session in &mut sessions {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    session.batch_execute("select 1").unwrap();
                }
            });
        }
        let started = Instant::now();
        while server.server.moved_sessions() == before && started.elapsed() < LIMIT {
            std::thread::sleep(Duration::from_millis(1));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(server.server.moved_sessions() > before, "all work is done by one worker");
    server.stop();
}

#[test]
fn a_server_that_stops_while_sessions_move_ends_them_all() {
    for mode in [StopMode::AtOnce, StopMode::AfterStatements, StopMode::AtOnce] {
        let server = TwoWorkers::start(40);
        let mut long = server.connect();
        let mut sessions: Vec<Client> = (0..16).map(|_| server.connect()).collect();
        std::thread::scope(|scope| {
            // It gives way to others again and again, and ends by itself.
            scope.spawn(|| while long.batch_execute("select count(*) from generate_series(1, 200000)").is_ok() {});
            for session in &mut sessions {
                scope.spawn(|| {
                    let error = loop {
                        if let Err(error) = session.batch_execute("select 1") {
                            break error;
                        }
                        std::thread::sleep(Duration::from_micros(300));
                    };
                    assert!(error.code().is_none_or(|code| *code == SqlState::ADMIN_SHUTDOWN), "{error}");
                });
            }
            let started = Instant::now();
            while server.server.moved_sessions() < 3 {
                assert!(started.elapsed() < LIMIT, "no session moves");
                std::thread::sleep(Duration::from_millis(1));
            }
            let stopping = scope.spawn(|| server.server.stop(mode));
            wait_until("the server has stopped", || stopping.is_finished());
        });
    }
}
