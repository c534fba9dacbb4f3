//! SIGKILL at random moments under a mixed load of prepares, finishes and plain commits: no outcome that a client was told is
//! changed, prepared transactions stay prepared and keep all their locks, and nothing is left behind.
//!
//! The clients keep a ledger of their requests and of the server's answers. Transactions that are prepared when the server is killed
//! stay so for later rounds. So some of them survive several crashes, and changes of `twophase_state` between the crashes.
//! `COHORT_KILL_ROUNDS` sets the number of rounds, `COHORT_KILL_SEED` the first round's seed.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use common::Server;
use postgres::{Client, NoTls};
use rand::rngs::StdRng;
use rand::seq::IteratorRandom;
use rand::{Rng, SeedableRng};

const CLIENTS: usize = 6;

/// Rows that prepared transactions hold, each one of them.
const SLOTS: i64 = 60;

/// Where prepared transactions keep their state, round by round.
const STATES: [&str; 3] = ["memory", "wal", "file"];

/// The clients' knowledge of a transaction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    /// It was to be prepared, and nobody was told whether it is.
    Preparing,
    /// It is prepared.
    Prepared,
    /// It was to be finished, and nobody was told whether it is.
    Finishing { commit: bool },
    /// It was committed, by either way.
    Committed,
    /// It was rolled back, or never prepared.
    RolledBack,
    /// A plain commit of which nobody was told, or that doesn't wait for the disk.
    Plain,
}

/// One transaction. It inserts its number into `made`, and adds it to its slot, if it has one.
#[derive(Clone, Copy, Debug)]
struct Entry {
    known: Known,
    slot: Option<i64>,
    /// It makes a table of its own.
    makes_table: bool,
}

/// All that the clients know.
struct Ledger {
    entries: Mutex<BTreeMap<i64, Entry>>,
    free_slots: Mutex<BTreeSet<i64>>,
    next: AtomicI64,
}

impl Ledger {
    fn entries(&self) -> MutexGuard<'_, BTreeMap<i64, Entry>> {
        self.entries.lock().unwrap()
    }

    fn learn(&self, number: i64, known: Known) {
        let mut entries = self.entries();
        let entry = entries.get_mut(&number).unwrap();
        entry.known = known;
        if matches!(known, Known::Committed | Known::RolledBack)
            && let Some(slot) = entry.slot
        {
            self.free_slots.lock().unwrap().insert(slot);
        }
    }
}

/// The identifier of a transaction, of any length.
fn gid(number: i64) -> String {
    let length = if number % 5 == 0 { 199 } else { 0 };
    format!("{:_<length$}", format!("kill {number} "))
}

fn number(gid: &str) -> i64 {
    gid.split(' ').nth(1).unwrap().parse().unwrap()
}

/// An error that is the server's end; any other is a failure of the test.
fn is_end(error: &postgres::Error) -> bool {
    if let Some(error) = error.as_db_error() {
        panic!("a statement failed: {error}");
    }
    true
}

/// One client's work until the server is gone.
struct Worker<'a> {
    ledger: &'a Ledger,
    connection: Client,
    random: StdRng,
    /// Its plain commits don't wait for the disk.
    is_asynchronous: bool,
}

impl Worker<'_> {
    fn run(&mut self, stop: &AtomicBool) {
        if self.is_asynchronous && self.connection.batch_execute("set synchronous_commit = off").is_err() {
            return;
        }
        while !stop.load(Ordering::Relaxed) {
            let worked = match self.random.random_range(0..10) {
                0..4 => self.prepare(),
                4..8 => self.finish(),
                _ => self.commit(),
            };
            if worked.is_err_and(|error| is_end(&error)) {
                return;
            }
        }
    }

    /// Prepares a transaction that holds a slot and an advisory lock.
    fn prepare(&mut self) -> Result<(), postgres::Error> {
        let slot = {
            let mut free = self.ledger.free_slots.lock().unwrap();
            let Some(slot) = free.iter().copied().choose(&mut self.random) else { return Ok(()) };
            free.remove(&slot);
            slot
        };
        let number = self.ledger.next.fetch_add(1, Ordering::Relaxed);
        let makes_table = self.random.random_ratio(1, 20);
        let entry = Entry { known: Known::Preparing, slot: Some(slot), makes_table };
        self.ledger.entries().insert(number, entry);
        let mut statements = format!("begin; insert into made values ({number}, 'prepared');");
        // Writes of a subtransaction that is rolled back never appear. Writes of one that is released appear when its parent commits.
        if self.random.random_ratio(1, 3) {
            statements += &format!(
                "savepoint s; insert into made values (-{number}, 'rolled back'); rollback to s;
                 savepoint s; update slots set v = v + {number} where id = {slot}; release s;"
            );
        } else {
            statements += &format!("update slots set v = v + {number} where id = {slot};");
        }
        if makes_table {
            statements += &format!("create table made_{number} (id int); insert into made_{number} values (1);");
        }
        statements += &format!("select pg_advisory_xact_lock({number})");
        self.connection.batch_execute(&statements)?;
        self.connection.batch_execute(&format!("prepare transaction '{}'", gid(number)))?;
        self.ledger.learn(number, Known::Prepared);
        Ok(())
    }

    /// Finishes what anyone has prepared.
    fn finish(&mut self) -> Result<(), postgres::Error> {
        let commit = self.random.random_ratio(2, 3);
        let number = {
            let mut entries = self.ledger.entries();
            let prepared = entries.iter_mut().filter(|(_, entry)| entry.known == Known::Prepared);
            // Some stay for later rounds.
            let may_stay = !self.random.random_ratio(1, 20);
            let prepared = prepared.filter(|(number, _)| !(may_stay && **number % 11 == 0));
            let Some((number, entry)) = prepared.choose(&mut self.random) else {
                return Ok(());
            };
            entry.known = Known::Finishing { commit };
            *number
        };
        finish(&mut self.connection, number, commit)?;
        self.ledger.learn(number, if commit { Known::Committed } else { Known::RolledBack });
        Ok(())
    }

    /// Commits a plain transaction.
    fn commit(&mut self) -> Result<(), postgres::Error> {
        let number = self.ledger.next.fetch_add(1, Ordering::Relaxed);
        self.ledger.entries().insert(number, Entry { known: Known::Plain, slot: None, makes_table: false });
        self.connection.execute("insert into made values ($1, 'plain')", &[&number])?;
        if !self.is_asynchronous {
            self.ledger.learn(number, Known::Committed);
        }
        Ok(())
    }
}

fn finish(connection: &mut Client, number: i64, commit: bool) -> Result<(), postgres::Error> {
    let word = if commit { "commit" } else { "rollback" };
    connection.batch_execute(&format!("{word} prepared '{}'", gid(number)))
}

/// Makes checkpoints at random until the server is gone.
fn make_checkpoints(url: &str, mut random: StdRng, stop: &AtomicBool) {
    let Ok(mut connection) = Client::connect(url, NoTls) else { return };
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(random.random_range(5..250)));
        if connection.batch_execute("checkpoint").is_err_and(|error| is_end(&error)) {
            return;
        }
    }
}

/// A column of numbers.
fn numbers(connection: &mut Client, query: &str) -> BTreeSet<i64> {
    connection.query(query, &[]).unwrap().iter().map(|row| row.get::<_, i64>(0)).collect()
}

/// Holds the server against the ledger, which learns what became of those in doubt.
fn verify(connection: &mut Client, ledger: &Ledger, round: &str) {
    let gids = connection.query("select gid from pg_prepared_xacts", &[]).unwrap();
    let prepared: BTreeSet<i64> = gids.iter().map(|row| number(row.get(0))).collect();
    assert_eq!(prepared.len(), gids.len(), "{round}: prepared twice");
    let made = numbers(connection, "select id from made where note <> 'rolled back'");
    let never = numbers(connection, "select id from made where note = 'rolled back'");
    assert!(never.is_empty(), "{round}: what was rolled back to a savepoint is there: {never:?}");
    let tables: BTreeSet<i64> = connection
        .query("select substring(relname from 6)::int8 from pg_class where relname ~ '^made_[0-9]+$'", &[])
        .unwrap()
        .iter()
        .map(|row| row.get(0))
        .collect();
    let mut slots: BTreeMap<i64, i64> = (1..=SLOTS).map(|slot| (slot, 0)).collect();
    let mut held = BTreeSet::new();
    let mut free = BTreeSet::from_iter(1..=SLOTS);
    let mut entries = ledger.entries();
    for (number, entry) in entries.iter_mut() {
        let (is_prepared, is_there) = (prepared.contains(number), made.contains(number));
        assert!(!(is_prepared && is_there), "{round}: {number} is prepared and visible");
        let told = entry.known;
        entry.known = match (told, is_prepared, is_there) {
            (Known::Preparing | Known::Prepared | Known::Finishing { .. }, true, _) => Known::Prepared,
            (Known::Preparing | Known::RolledBack, false, false) => Known::RolledBack,
            (Known::Finishing { commit: true } | Known::Committed, false, true) => Known::Committed,
            (Known::Finishing { commit: false }, false, false) => Known::RolledBack,
            (Known::Plain, false, _) => [Known::RolledBack, Known::Committed][usize::from(is_there)],
            _ => panic!("{round}: {number} is known as {told:?}; prepared {is_prepared}, visible {is_there}"),
        };
        let makes_table = entry.makes_table && entry.known == Known::Committed;
        assert_eq!(tables.contains(number), makes_table, "{round}: the table of {number}, {told:?}");
        if let Some(slot) = entry.slot {
            match entry.known {
                Known::Prepared => {
                    held.insert(slot);
                    free.remove(&slot);
                }
                Known::Committed => *slots.get_mut(&slot).unwrap() += number,
                _ => {}
            }
        }
    }
    for number in prepared.iter().chain(&made) {
        assert!(entries.contains_key(number), "{round}: nobody has made {number}");
    }
    let sums: BTreeMap<i64, i64> =
        connection.query("select id, v from slots", &[]).unwrap().iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(sums, slots, "{round}: sums differ");
    // Exactly the rows of those that are prepared are locked, and each of them is.
    let unlocked = numbers(connection, "select id from slots for update skip locked");
    assert_eq!(unlocked, free, "{round}: rows that can be locked; prepared ones hold {held:?}");
    if let Some(slot) = held.first() {
        let update = format!("set lock_timeout = '20ms'; update slots set v = 0 where id = {slot}");
        let error = connection.batch_execute(&update).unwrap_err();
        assert_eq!(error.code().unwrap().code(), "55P03", "{round}: {error}");
        connection.batch_execute("reset lock_timeout").unwrap();
    }
    let advisory = numbers(connection, "select objid::int8 from pg_locks where pid is null and locktype = 'advisory'");
    assert_eq!(advisory, prepared, "{round}: advisory locks");
    if let Some(number) = prepared.last() {
        let taken: bool = connection.query_one("select pg_try_advisory_lock($1)", &[number]).unwrap().get(0);
        assert!(!taken, "{round}: the advisory lock of {number} is free");
    }
    let identifiers = "select count(*) from pg_locks l join pg_prepared_xacts p on l.transactionid = p.transaction
                       where l.locktype = 'transactionid' and l.granted and l.pid is null";
    let count: i64 = connection.query_one(identifiers, &[]).unwrap().get(0);
    assert_eq!(count, prepared.len() as i64, "{round}: transactions that are seen to run");
    *ledger.free_slots.lock().unwrap() = free;
}

// invariants: rows 1 and 21 (as far as SIGKILL can show them)
#[test]
fn prepared_transactions_and_their_outcomes_survive_being_killed() {
    let setting = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let rounds = setting("COHORT_KILL_ROUNDS").unwrap_or(3);
    let first_seed = setting("COHORT_KILL_SEED").unwrap_or(1);
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    server
        .connect()
        .batch_execute(&format!(
            "create table made (id bigint primary key, note text not null);
             create table slots (id bigint primary key, v bigint not null);
             insert into slots select generate_series(1, {SLOTS}), 0"
        ))
        .unwrap();
    server.stop();
    let ledger =
        Ledger { entries: Mutex::default(), free_slots: Mutex::new((1..=SLOTS).collect()), next: AtomicI64::new(1) };
    let mut survived = 0;
    for seed in first_seed..first_seed + rounds {
        let mut random = StdRng::seed_from_u64(seed);
        let state = STATES[(seed % 3) as usize];
        let round = format!("seed {seed}, twophase_state {state}");
        let settings = format!("twophase_state={state}");
        let server = Server::start(folder.path(), &[&settings]);
        verify(&mut server.connect(), &ledger, &round);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let random = StdRng::seed_from_u64(seed << 8 | client as u64);
                let connection = server.connect();
                let mut worker = Worker { ledger: &ledger, connection, random, is_asynchronous: client == 0 };
                let stop = &stop;
                scope.spawn(move || worker.run(stop));
            }
            let (url, checkpoint_random, stop_checkpoints) = (server.url(), StdRng::seed_from_u64(!seed), &stop);
            scope.spawn(move || make_checkpoints(&url, checkpoint_random, stop_checkpoints));
            std::thread::sleep(Duration::from_millis(random.random_range(30..700)));
            server.kill();
            stop.store(true, Ordering::Relaxed);
        });
        // Now and then it is killed as soon as it has recovered.
        if random.random_ratio(1, 4) {
            Server::start(folder.path(), &[&settings]).kill();
        }
        let server = Server::start(folder.path(), &[&settings]);
        verify(&mut server.connect(), &ledger, &round);
        let prepared = ledger.entries().values().filter(|entry| entry.known == Known::Prepared).count();
        survived += prepared;
        eprintln!("{round}: {} transactions, {prepared} prepared", ledger.entries().len());
        if random.random_ratio(1, 2) {
            server.kill();
        } else {
            server.stop();
        }
    }
    assert!(survived > 0, "nothing was prepared when the server was killed");
    let server = Server::start(folder.path(), &[]);
    let mut connection = server.connect();
    verify(&mut connection, &ledger, "the end");
    let left: Vec<i64> = {
        let entries = ledger.entries();
        entries.iter().filter(|(_, entry)| entry.known == Known::Prepared).map(|(number, _)| *number).collect()
    };
    for number in left {
        let commit = number % 2 == 0;
        finish(&mut connection, number, commit).unwrap();
        ledger.learn(number, if commit { Known::Committed } else { Known::RolledBack });
    }
    verify(&mut connection, &ledger, "all finished");
    server.kill();
    let server = Server::start(folder.path(), &[]);
    let mut connection = server.connect();
    verify(&mut connection, &ledger, "all finished, and killed again");
    let held: i64 = connection.query_one("select count(*) from pg_locks where pid is null", &[]).unwrap().get(0);
    assert_eq!(held, 0);
    let prepared: i64 = connection.query_one("select count(*) from pg_prepared_xacts", &[]).unwrap().get(0);
    assert_eq!(prepared, 0);
    server.stop();
}
