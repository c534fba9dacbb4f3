//! Cohort, by the row API that programs embed.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use base::settings::{ServerSettings, Source};
use base::sqlstate;
use engine::catalog::{BOOTSTRAP_ROLE, IndexDef, PUBLIC_SCHEMA, TableDef};
use engine::key::{KeyBuffer, PlainKeys};
use engine::row::{ColumnSet, Datum, PhysicalType, RowBytes};
use engine::{Database as Engine, Isolation, Modify, OpenOptions, Session, Table, TransactionOptions};

use crate::peer::{
    Attempt, Client, Database, Facts, Opening, Outcome, TEXT, TaskClient, Totals, Transaction, Workload, version_of,
};

const TABLE: &str = "compared";
/// Connections beyond the clients': for the session that counts the rows.
const SPARE_CONNECTIONS: usize = 8;

pub fn facts() -> Facts {
    Facts {
        version: version_of("cohort-engine"),
        licence: "MIT OR Apache-2.0".into(),
        settings: "defaults; max_connections for the clients; table with a unique index on the integer".into(),
        isolation: "serializable (SSI)".into(),
        durability: "fdatasync of the log, written with direct I/O, one for all who wait".into(),
    }
}

pub struct Cohort {
    database: Engine,
    workload: Workload,
}

impl Cohort {
    pub fn open(opening: Opening<'_>, rows: Option<u64>) -> Result<Cohort> {
        let settings = ServerSettings::new();
        let connections = (opening.clients + SPARE_CONNECTIONS).max(100).to_string();
        settings.set_at_start("max_connections", &connections, Source::CommandLine)?;
        let database = Engine::open(OpenOptions {
            settings: Arc::new(settings),
            create: rows.is_some(),
            ..OpenOptions::new(opening.directory)
        })?;
        let cohort = Cohort { database, workload: opening.workload };
        if let Some(rows) = rows {
            cohort.make_table(rows)?;
        }
        Ok(cohort)
    }

    fn make_table(&self, rows: u64) -> Result<()> {
        let mut session = self.database.session()?;
        session.begin(TransactionOptions::default())?;
        let second = match self.workload {
            Workload::Insert => ("info", PhysicalType::Bytes),
            Workload::Add => ("value", PhysicalType::I64),
        };
        let table = TableDef::new(session.allocate_oid(), PUBLIC_SCHEMA, TABLE, BOOTSTRAP_ROLE)
            .column("id", PhysicalType::I64)
            .column(second.0, second.1);
        let key = IndexDef::new(session.allocate_oid(), &table, "compared_pkey", &[0], true);
        let oid = table.oid;
        session.create_object(table)?;
        session.create_object(key)?;
        if self.workload == Workload::Add {
            let table = session.open_table(oid)?;
            session.begin_statement()?;
            for key in 0..rows {
                session.insert(&table, &[Datum::I64(key as i64), Datum::I64(0)], &PlainKeys)?;
            }
            session.end_statement();
        }
        session.commit_and_wait()?;
        Ok(())
    }

    fn table(&self, session: &Session) -> Result<Arc<Table>> {
        let catalog = self.database.catalog();
        let table = catalog.table_by_name(PUBLIC_SCHEMA, TABLE).context("the table is gone")?;
        Ok(session.open_table(table.oid)?)
    }

    fn new_client(&self) -> Result<CohortClient> {
        let session = self.database.session()?;
        let table = self.table(&session)?;
        let options = TransactionOptions { isolation: Isolation::Serializable, ..TransactionOptions::default() };
        let changed = [1].into_iter().collect();
        Ok(CohortClient { session, table, options, changed, row: RowBytes::new(), key: KeyBuffer::new() })
    }
}

impl Database for Cohort {
    fn client(&self) -> Result<Box<dyn Client>> {
        Ok(Box::new(self.new_client()?))
    }

    fn task(&self) -> Result<Option<Box<dyn TaskClient>>> {
        Ok(Some(Box::new(self.new_client()?)))
    }

    fn totals(&self) -> Result<Totals> {
        let mut session = self.database.session()?;
        let table = self.table(&session)?;
        session.begin(TransactionOptions::default())?;
        session.begin_statement()?;
        let mut totals = Totals { rows: 0, sum: 0 };
        let mut scan = session.scan(&table)?;
        while let Some((_, bytes)) = scan.next(&session)? {
            totals.rows += 1;
            match table.row(bytes).get(1) {
                Datum::I64(value) => totals.sum += value,
                Datum::Bytes(text) => ensure!(text == TEXT.as_bytes(), "a row has another text than was inserted"),
                _ => anyhow::bail!("a row has a column of another type"),
            }
        }
        session.end_statement();
        session.commit()?;
        Ok(totals)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.database.close()?)
    }
}

struct CohortClient {
    session: Session,
    table: Arc<Table>,
    options: TransactionOptions,
    changed: ColumnSet,
    row: RowBytes,
    key: KeyBuffer,
}

impl CohortClient {
    /// Does what the transaction is, and ends it by `commit`; nothing comes of it if it conflicts with another one.
    fn run<R>(
        &mut self,
        transaction: Transaction,
        commit: impl FnOnce(&mut Session) -> base::Result<R>,
    ) -> Result<Option<R>> {
        match self.work(transaction).and_then(|()| commit(&mut self.session)) {
            Ok(committed) => Ok(Some(committed)),
            Err(error) if matches!(error.sqlstate(), sqlstate::SERIALIZATION_FAILURE | sqlstate::DEADLOCK_DETECTED) => {
                self.session.rollback()?;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn work(&mut self, transaction: Transaction) -> base::Result<()> {
        let CohortClient { session, table, .. } = self;
        session.begin(self.options)?;
        session.begin_statement()?;
        match transaction {
            Transaction::Insert { key } => {
                session.insert(table, &[Datum::I64(key as i64), Datum::Bytes(TEXT.as_bytes())], &PlainKeys)?;
            }
            Transaction::Add { key } => {
                self.key.clear();
                self.key.push_i64(key as i64);
                let found = session.index_point_to_change(table, 0, self.key.as_slice(), &mut self.row)?;
                let gone = || base::Error::corrupted("a counter is gone");
                let tid = found.ok_or_else(gone)?;
                let Datum::I64(value) = table.row(&self.row).get(1) else { return Err(gone()) };
                let row = [Datum::I64(key as i64), Datum::I64(value + 1)];
                match session.update(table, tid, &row, &self.changed, &PlainKeys)? {
                    Modify::Done { .. } => {}
                    _ => return Err(base::Error::internal("a serializable update was neither done nor refused")),
                }
            }
        }
        session.end_statement();
        Ok(())
    }
}

impl Client for CohortClient {
    fn attempt(&mut self, transaction: Transaction) -> Result<Outcome> {
        let committed = self.run(transaction, Session::commit_and_wait)?;
        Ok(if committed.is_some() { Outcome::Committed } else { Outcome::Conflict })
    }
}

impl TaskClient for CohortClient {
    fn attempt(&mut self, transaction: Transaction) -> Attempt<'_> {
        Box::pin(async move {
            let Some(ticket) = self.run(transaction, Session::commit_async)? else { return Ok(Outcome::Conflict) };
            ticket.await;
            Ok(Outcome::Committed)
        })
    }
}
