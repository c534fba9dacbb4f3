//! redb: one writer at a time.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use redb::{Durability, ReadableDatabase, ReadableTable, TableDefinition};

use crate::peer::{Client, Database, Facts, Opening, Outcome, TEXT, Totals, Transaction, Workload, version_of};

const TEXTS: TableDefinition<u64, &str> = TableDefinition::new("texts");
const NUMBERS: TableDefinition<u64, i64> = TableDefinition::new("numbers");

pub fn facts() -> Facts {
    Facts {
        version: version_of("redb"),
        licence: "MIT OR Apache-2.0".into(),
        settings: "defaults; Durability::Immediate".into(),
        isolation: "serializable (one writer at a time)".into(),
        durability: "fdatasync of the file by each commit".into(),
    }
}

pub struct Redb {
    database: Arc<redb::Database>,
    workload: Workload,
}

impl Redb {
    pub fn open(opening: Opening<'_>, rows: Option<u64>) -> Result<Redb> {
        let file = opening.directory.join("compared.redb");
        let Some(rows) = rows else {
            return Ok(Redb { database: Arc::new(redb::Database::open(file)?), workload: opening.workload });
        };
        let database = redb::Database::create(file)?;
        let write = database.begin_write()?;
        match opening.workload {
            Workload::Insert => {
                write.open_table(TEXTS)?;
            }
            Workload::Add => {
                let mut table = write.open_table(NUMBERS)?;
                for key in 0..rows {
                    table.insert(key, 0)?;
                }
            }
        }
        write.commit()?;
        Ok(Redb { database: Arc::new(database), workload: opening.workload })
    }
}

impl Database for Redb {
    fn client(&self) -> Result<Box<dyn Client>> {
        Ok(Box::new(RedbClient { database: self.database.clone() }))
    }

    fn totals(&self) -> Result<Totals> {
        let read = self.database.begin_read()?;
        let mut totals = Totals { rows: 0, sum: 0 };
        match self.workload {
            Workload::Insert => {
                for row in read.open_table(TEXTS)?.iter()? {
                    ensure!(row?.1.value() == TEXT, "a row has another text than was inserted");
                    totals.rows += 1;
                }
            }
            Workload::Add => {
                for row in read.open_table(NUMBERS)?.iter()? {
                    totals.rows += 1;
                    totals.sum += row?.1.value();
                }
            }
        }
        Ok(totals)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct RedbClient {
    database: Arc<redb::Database>,
}

impl Client for RedbClient {
    fn attempt(&mut self, transaction: Transaction) -> Result<Outcome> {
        let mut write = self.database.begin_write()?;
        write.set_durability(Durability::Immediate)?;
        match transaction {
            Transaction::Insert { key } => {
                write.open_table(TEXTS)?.insert(key, TEXT)?;
            }
            Transaction::Add { key } => {
                let mut table = write.open_table(NUMBERS)?;
                let value = table.get(key)?.context("a counter is gone")?.value();
                table.insert(key, value + 1)?;
            }
        }
        write.commit()?;
        Ok(Outcome::Committed)
    }
}
