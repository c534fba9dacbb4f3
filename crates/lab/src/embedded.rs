//! The embedded driver: OS threads on the engine's own API.

use std::time::Duration;

use base::settings::{ServerSettings, Source};
use base::{Oid, Result};
use engine::catalog::{BOOTSTRAP_ROLE, IndexDef, PUBLIC_SCHEMA, TableDef};
use engine::key::{KeyBuffer, PlainKeys};
use engine::row::{ColumnSet, Datum, PhysicalType, RowBytes};
use engine::{Database, DelayPolicy, DelaySetting, Modify, OpenOptions, Session, Table, TransactionOptions};
use rand::{Rng, SeedableRng};
use sync::Arc;
use sync::atomic::AtomicBool;
use wal::DelayScope;

use crate::disk::Disk;
use crate::driver::{Driver, Measurement, Switches, UPDATE_ROWS, Workload, closed_loop, run_clients};

/// A database of its own in a folder that goes when it is dropped.
pub struct EmbeddedDriver {
    database: Database,
    inserted: Oid,
    updated: Oid,
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
    /// A database on `disk` with the workloads' tables.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn new(disk: Disk, seed: u64) -> Result<EmbeddedDriver> {
        let (database, folder) = open(disk)?;
        let mut session = database.session()?;
        session.begin(TransactionOptions::default())?;
        let inserted = TableDef::new(session.allocate_oid(), PUBLIC_SCHEMA, "test", BOOTSTRAP_ROLE)
            .column("id", PhysicalType::I32)
            .column("info", PhysicalType::Bytes);
        let updated = TableDef::new(session.allocate_oid(), PUBLIC_SCHEMA, "accounts", BOOTSTRAP_ROLE)
            .column("aid", PhysicalType::I32)
            .column("abalance", PhysicalType::I64);
        let index = IndexDef::new(session.allocate_oid(), &updated, "accounts_pkey", &[0], true);
        let (inserted_oid, updated_oid) = (inserted.oid, updated.oid);
        session.create_object(inserted)?;
        session.create_object(updated)?;
        session.create_object(index)?;
        session.commit_and_wait()?;
        let table = session.open_table(updated_oid)?;
        let ids: Vec<i32> = (1..=UPDATE_ROWS).collect();
        for some in ids.chunks(10_000) {
            session.begin(TransactionOptions::default())?;
            session.begin_statement()?;
            for id in some {
                session.insert(&table, &[Datum::I32(*id), Datum::I64(0)], &PlainKeys)?;
            }
            session.end_statement();
            session.commit()?;
        }
        drop(session);
        database.checkpoint()?;
        Ok(EmbeddedDriver { database, inserted: inserted_oid, updated: updated_oid, seed, _folder: folder })
    }
}

struct Client {
    session: Session,
    table: Arc<Table>,
    random: rand::rngs::StdRng,
    row: RowBytes,
    key: KeyBuffer,
}

impl Client {
    fn insert(&mut self) -> Result<()> {
        self.session.begin(TransactionOptions::default())?;
        self.session.begin_statement()?;
        self.session.insert(&self.table, &[Datum::I32(1), Datum::Bytes(b"test")], &PlainKeys)?;
        self.session.end_statement();
        self.session.commit_and_wait()
    }

    fn update(&mut self) -> Result<()> {
        let id = self.random.random_range(1..=UPDATE_ROWS);
        let delta = self.random.random_range(-5000..=5000i64);
        self.session.begin(TransactionOptions::default())?;
        self.session.begin_statement()?;
        self.key.clear();
        self.key.push_i32(id);
        let changed: ColumnSet = [1].into_iter().collect();
        let mut found = self.session.index_point(&self.table, 0, self.key.as_slice(), &mut self.row)?;
        while let Some(tid) = found {
            let values = self.table.decode(&self.row);
            let Datum::I64(balance) = values[1] else {
                return Err(base::Error::corrupted("a balance is no number"));
            };
            let new = [values[0], Datum::I64(balance + delta)];
            found = match self.session.update(&self.table, tid, &new, &changed, &PlainKeys)? {
                Modify::Updated { newest, .. } => {
                    drop(values);
                    self.session.newest_version(&self.table, newest, &mut self.row)?
                }
                _ => None,
            };
        }
        self.session.end_statement();
        self.session.commit_and_wait()
    }
}

impl Driver for EmbeddedDriver {
    fn run(
        &mut self,
        workload: Workload,
        clients: usize,
        length: Duration,
        switches: Switches,
        stop: &Arc<AtomicBool>,
    ) -> Result<Measurement> {
        apply(&self.database, switches);
        let oid = if workload == Workload::Insert { self.inserted } else { self.updated };
        let before = self.database.wal().statistics();
        let (count, taken) = run_clients(
            clients,
            length,
            stop,
            |number| {
                let mut session = self.database.session()?;
                session.set_commit_delay(delay_policy(switches));
                Ok(Client {
                    table: session.open_table(oid)?,
                    session,
                    random: rand::rngs::StdRng::seed_from_u64(self.seed + number as u64),
                    row: RowBytes::new(),
                    key: KeyBuffer::new(),
                })
            },
            |client, end, stop| {
                closed_loop(end, stop, || match workload {
                    Workload::Insert => client.insert(),
                    Workload::Update => client.update(),
                })
            },
        )?;
        let after = self.database.wal().statistics();
        Ok(Measurement {
            transactions: count.transactions,
            length: taken,
            latency_us: count.latency_us,
            syncs: Some(after.syncs - before.syncs),
        })
    }
}
