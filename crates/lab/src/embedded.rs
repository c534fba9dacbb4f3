//! The embedded driver: OS threads on the engine's own API.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use base::settings::{ServerSettings, Source};
use base::{Oid, Result, Tid};
use engine::{
    Database, DelayPolicy, DelaySetting, Finisher, Isolation, Modify, OpenOptions, Session, Table, TransactionOptions,
};
use rand::{Rng, SeedableRng};
use schema::catalog::{BOOTSTRAP_ROLE, IndexDef, PUBLIC_SCHEMA, TableDef};
use schema::key::{KeyBuffer, PlainKeys};
use schema::row::{ColumnSet, Datum, PhysicalType, RowBytes};
use sync::Arc;
use wal::DelayScope;

use crate::disk::Disk;
use crate::driver::{
    BRANCHES, COUNTED_ROWS, Driver, EngineCounts, Measurement, Round, Switches, TELLERS, UPDATE_ROWS, Workload,
};
use crate::load::{Attempt, ClientCount, ClientRound, Load, Terms};

/// A database of its own in a folder that goes when it is dropped.
pub struct EmbeddedDriver {
    database: Database,
    inserted: Oid,
    updated: Oid,
    sli_test: Oid,
    counted: Oid,
    tellers: Oid,
    branches: Oid,
    history: Oid,
    sli_rows: i32,
    seed: u64,
    _folder: tempfile::TempDir,
}

/// A database in a temporary folder on `disk`.
///
/// # Errors
/// When it can't be made.
pub fn open(disk: Disk) -> Result<(Database, tempfile::TempDir)> {
    let folder = tempfile::Builder::new()
        .prefix("cohort-lab-")
        .tempdir()
        .map_err(|error| base::Error::io("could not make a temporary folder", &error))?;
    let settings = ServerSettings::new();
    for (name, value) in [("max_connections", "2000"), ("checkpoint_timeout", "1h"), ("max_wal_size", "16GB")] {
        settings.set_at_start(name, value, Source::CommandLine)?;
    }
    let database = Database::open(OpenOptions {
        vfs: disk.vfs(),
        settings: Arc::new(settings),
        ..OpenOptions::new(folder.path())
    })?;
    Ok((database, folder))
}

/// Sets the engine's switches.
pub fn apply(database: &Database, switches: Switches) {
    let tuning = database.wal().tuning();
    tuning.set_group_commit(switches.group_commit);
    tuning.set_delay_scope(if switches.delay_each { DelayScope::Each } else { DelayScope::Leader });
    database.transactions().ssi().set_locks_per_tuple(switches.scan_locks_per_tuple);
    database.transactions().tuning().set_clog_update(switches.clog_update);
    if let Some(state) = switches.two_phase {
        database.transactions().set_twophase_state(state);
    }
}

/// How a session's commits may wait.
pub fn delay_policy(switches: Switches) -> DelayPolicy {
    let delay = match switches.commit_delay_us {
        None => DelaySetting::Auto,
        Some(0) => DelaySetting::Off,
        Some(micros) => DelaySetting::Micros(micros),
    };
    DelayPolicy { delay, siblings: switches.commit_siblings }
}

impl EmbeddedDriver {
    /// A database on `disk` with the workloads' tables, `sli_test` with `sli_rows` rows.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn new(disk: Disk, seed: u64, sli_rows: i32) -> Result<EmbeddedDriver> {
        let (database, folder) = open(disk)?;
        let mut session = database.session()?;
        session.set_synchronous_commit(false);
        session.begin(TransactionOptions::default())?;
        let [text, number] = [PhysicalType::Bytes, PhysicalType::I64];
        let create = |name: &str, columns: [(&str, PhysicalType); 2], has_key: bool| -> Result<Oid> {
            let mut table = TableDef::new(session.allocate_oid(), PUBLIC_SCHEMA, name, BOOTSTRAP_ROLE);
            for (column, of) in columns {
                table = table.column(column, of);
            }
            let oid = table.oid;
            let key = IndexDef::new(session.allocate_oid(), &table, format!("{name}_pkey"), &[0], true);
            session.create_object(table)?;
            if has_key {
                session.create_object(key)?;
            }
            Ok(oid)
        };
        let id = ("id", PhysicalType::I32);
        let inserted = create("test", [id, ("info", text)], false)?;
        let updated = create("accounts", [id, ("balance", number)], true)?;
        let sli_test = create("sli_test", [id, ("info", text)], true)?;
        let counted = create("counted", [id, ("value", number)], true)?;
        let tellers = create("tellers", [id, ("balance", number)], true)?;
        let branches = create("branches", [id, ("balance", number)], true)?;
        let history = create("history", [id, ("delta", number)], false)?;
        session.commit_and_wait()?;
        for (table, rows) in [(updated, UPDATE_ROWS), (counted, COUNTED_ROWS), (tellers, TELLERS), (branches, BRANCHES)]
        {
            fill(&mut session, table, rows, |id| [Datum::I32(id), Datum::I64(0)])?;
        }
        fill(&mut session, sli_test, sli_rows, |id| [Datum::I32(id), Datum::Bytes(b"digoal")])?;
        drop(session);
        database.checkpoint()?;
        Ok(EmbeddedDriver {
            database,
            inserted,
            updated,
            sli_test,
            counted,
            tellers,
            branches,
            history,
            sli_rows,
            seed,
            _folder: folder,
        })
    }
}

/// Inserts rows 1 to `rows` in transactions of ten thousand.
fn fill(session: &mut Session, table: Oid, rows: i32, row: impl Fn(i32) -> [Datum<'static>; 2]) -> Result<()> {
    let table = session.open_table(table)?;
    let mut next = 1;
    while next <= rows {
        let last = rows.min(next + 9_999);
        session.begin(TransactionOptions::default())?;
        session.begin_statement()?;
        for id in next..=last {
            session.insert(&table, &row(id), &PlainKeys)?;
        }
        session.end_statement();
        session.commit()?;
        next = last + 1;
    }
    Ok(())
}

struct Client {
    session: Session,
    /// The workload's own; for [`Workload::ReadWrite`] accounts, tellers, branches and history.
    tables: Vec<Arc<Table>>,
    random: rand::rngs::StdRng,
    row: RowBytes,
    key: KeyBuffer,
    options: TransactionOptions,
    /// Rows of the table that it chooses from.
    rows: i32,
    /// The rows that the transaction in progress, or the one to be tried again, has chosen.
    chosen: (i32, i32),
    counts: bool,
    two_phase: bool,
    /// The parts of a prepared transaction's identifier: the client's number, and a count of the transactions it has prepared.
    gid: (usize, u64),
}

impl Client {
    /// Attempts a transaction; `is_retry`: the same once more.
    fn attempt(&mut self, workload: Workload, is_retry: bool) -> Result<Attempt> {
        if !is_retry {
            self.chosen = (self.random.random_range(1..=self.rows), self.random.random_range(1..=self.rows));
            self.counts = workload == Workload::CountUpdate && self.random.random();
        }
        let outcome = match workload {
            Workload::Insert => self.insert(),
            Workload::Update => self.update(),
            Workload::ReadUpdate => self.read_and_update(),
            Workload::CountUpdate if self.counts => self.count(),
            Workload::CountUpdate => self.update(),
            Workload::ReadWrite => self.read_and_write(),
            Workload::Transfer => self.transfer(),
        };
        match outcome {
            Ok(()) => Ok(Attempt::Committed),
            Err(error) if is_serialization_failure(&error) => {
                self.session.rollback()?;
                Ok(Attempt::Aborted)
            }
            Err(error) => Err(error),
        }
    }

    fn insert(&mut self) -> Result<()> {
        self.session.begin(self.options)?;
        self.session.begin_statement()?;
        self.session.insert(&self.tables[0], &[Datum::I32(1), Datum::Bytes(b"test")], &PlainKeys)?;
        self.session.end_statement();
        self.session.commit_and_wait()
    }

    fn find(&mut self, table: usize, id: i32) -> Result<Option<Tid>> {
        self.key.clear();
        self.key.push_i32(id);
        self.session.index_point(&self.tables[table], 0, self.key.as_slice(), &mut self.row)
    }

    fn update(&mut self) -> Result<()> {
        let delta = self.random.random_range(-5000..=5000i64);
        self.session.begin(self.options)?;
        self.add(0, self.chosen.0, delta)?;
        self.session.commit_and_wait()
    }

    /// A statement that adds to a row's second column.
    fn add(&mut self, table: usize, id: i32, delta: i64) -> Result<()> {
        self.session.begin_statement()?;
        let found = self.find(table, id)?;
        self.change(table, found, |old| match old {
            Datum::I64(balance) => Ok(Datum::I64(balance + delta)),
            _ => Err(base::Error::corrupted("a balance is no number")),
        })?;
        self.session.end_statement();
        Ok(())
    }

    /// Runs the transaction of pgbench's default script.
    fn read_and_write(&mut self) -> Result<()> {
        let (account, delta) = (self.chosen.0, self.random.random_range(-5000..=5000i64));
        let (teller, branch) = (self.random.random_range(1..=TELLERS), self.random.random_range(1..=BRANCHES));
        self.session.begin(self.options)?;
        self.add(0, account, delta)?;
        self.session.begin_statement()?;
        self.find(0, account)?;
        self.session.end_statement();
        self.add(1, teller, delta)?;
        self.add(2, branch, delta)?;
        self.session.begin_statement()?;
        self.session.insert(&self.tables[3], &[Datum::I32(account), Datum::I64(delta)], &PlainKeys)?;
        self.session.end_statement();
        self.session.commit_and_wait()
    }

    /// Two accounts, and a commit in one phase or two. Each phase is durable before what follows.
    fn transfer(&mut self) -> Result<()> {
        let ((from, to), amount) = (self.chosen, self.random.random_range(1..=100i64));
        self.session.begin(self.options)?;
        self.add(0, from, -amount)?;
        self.add(0, to, amount)?;
        if !self.two_phase {
            return self.session.commit_and_wait();
        }
        self.gid.1 += 1;
        let gid = format!("{}.{}", self.gid.0, self.gid.1);
        let gate = self.session.prepare_transaction(&gid, BOOTSTRAP_ROLE)?;
        self.session.wait_durable(gate);
        let finisher = Finisher { role: BOOTSTRAP_ROLE, is_superuser: true };
        let gate = self.session.commit_prepared(&gid, finisher)?;
        self.session.wait_durable(gate);
        Ok(())
    }

    /// Runs the same transaction as the function `f_sli_test`.
    fn read_and_update(&mut self) -> Result<()> {
        self.session.begin(self.options)?;
        self.session.begin_statement()?;
        self.find(0, self.chosen.0)?;
        let info = match self.tables[0].row(&self.row).get(1) {
            Datum::Bytes(info) => info.to_vec(),
            _ => return Err(base::Error::corrupted("info is no text")),
        };
        self.session.end_statement();
        self.session.begin_statement()?;
        let found = self.find(0, self.chosen.1)?;
        self.change(0, found, |_| Ok(Datum::Bytes(&info)))?;
        self.session.end_statement();
        self.session.commit_and_wait()
    }

    fn count(&mut self) -> Result<()> {
        self.session.begin(self.options)?;
        self.session.begin_statement()?;
        let mut scan = self.session.scan(&self.tables[0])?;
        let mut rows = 0;
        while scan.next(&self.session)?.is_some() {
            rows += 1;
        }
        if rows != self.rows {
            return Err(base::Error::internal(format!("a scan found {rows} of {} rows", self.rows)));
        }
        self.session.end_statement();
        self.session.commit_and_wait()
    }

    /// Updates the second column of a row that was found.
    fn change<'d>(
        &mut self,
        table: usize,
        mut found: Option<Tid>,
        new: impl Fn(Datum) -> Result<Datum<'d>>,
    ) -> Result<()> {
        let table = &self.tables[table];
        let changed: ColumnSet = [1].into_iter().collect();
        while let Some(tid) = found {
            let values = table.decode(&self.row);
            let new = [values[0], new(values[1])?];
            found = match self.session.update(table, tid, &new, &changed, &PlainKeys)? {
                Modify::Updated { newest, .. } => {
                    drop(values);
                    self.session.newest_version(table, newest, &mut self.row)?
                }
                _ => None,
            };
        }
        Ok(())
    }
}

/// Whether a transaction that failed so may well succeed if it is tried again.
fn is_serialization_failure(error: &base::Error) -> bool {
    matches!(error.sqlstate(), base::sqlstate::SERIALIZATION_FAILURE | base::sqlstate::DEADLOCK_DETECTED)
}

impl Driver for EmbeddedDriver {
    fn run(&mut self, round: &Round) -> Result<Measurement> {
        let Round { workload, switches, .. } = *round;
        apply(&self.database, switches);
        let (tables, rows): (&[Oid], i32) = match workload {
            Workload::Insert => (&[self.inserted], 1),
            Workload::Update => (&[self.updated], UPDATE_ROWS),
            Workload::ReadUpdate => (&[self.sli_test], self.sli_rows),
            Workload::CountUpdate => (&[self.counted], COUNTED_ROWS),
            Workload::Transfer => (&[self.updated], UPDATE_ROWS),
            Workload::ReadWrite => (&[self.updated, self.tellers, self.branches, self.history], UPDATE_ROWS),
        };
        let isolation = if switches.serializable { Isolation::Serializable } else { Isolation::ReadCommitted };
        let make = |number| {
            let mut session = self.database.session()?;
            session.set_commit_delay(delay_policy(switches));
            session.set_synchronous_commit(switches.synchronous_commit);
            Ok(Client {
                tables: tables.iter().map(|oid| session.open_table(*oid)).collect::<Result<_>>()?,
                session,
                random: rand::rngs::StdRng::seed_from_u64(self.seed + number as u64),
                row: RowBytes::new(),
                key: KeyBuffer::new(),
                options: TransactionOptions { isolation, ..TransactionOptions::default() },
                rows,
                chosen: (1, 1),
                counts: false,
                two_phase: switches.two_phase.is_some(),
                gid: (number, 0),
            })
        };
        let clients: Vec<Client> = (0..round.clients).map(make).collect::<Result<_>>()?;
        let before = EngineCounts::read(&self.database);
        let (count, length) = run_threads(clients, round, self.seed)?;
        let after = EngineCounts::read(&self.database);
        Ok(Measurement::new(count, length, Some(after.since(before))))
    }
}

/// Runs each client on a thread of its own; what they counted, and how long it took.
fn run_threads(clients: Vec<Client>, round: &Round, seed: u64) -> Result<(ClientCount, Duration)> {
    let started = Instant::now();
    let counts: Vec<Result<ClientCount>> = std::thread::scope(|scope| {
        let run = |(number, client)| scope.spawn(move || run_client(client, round.terms(seed), number, round));
        let threads: Vec<_> = clients.into_iter().enumerate().map(run).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<ClientCount>>| {
            thread.join().unwrap_or_else(|_| Err(base::Error::internal("a client thread panicked")))
        };
        threads.into_iter().map(join).collect()
    });
    let length = started.elapsed();
    let mut total = ClientCount::new();
    for count in counts {
        total.add(&count?);
    }
    Ok((total, length))
}

/// One client's round.
fn run_client(mut client: Client, terms: Terms<'_>, number: usize, round: &Round) -> Result<ClientCount> {
    if terms.load != Load::Closed {
        // Sleeps end when they are to, not when it suits the operating system.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))
            .map_err(|error| base::Error::io("could not set the timer slack", &error.into()))?;
    }
    let mut turns = ClientRound::new(terms, number, round.length);
    while let Some(next) = turns.next_attempt() {
        if let Some(moment) = next.wait_until {
            std::thread::sleep(moment.saturating_duration_since(Instant::now()));
        }
        turns.finished(client.attempt(round.workload, next.is_retry)?);
    }
    Ok(turns.into_count())
}
