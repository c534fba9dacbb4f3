//! fjall, with both kinds of its transactions.

use anyhow::{Context, Result};
use fjall::{
    KeyspaceCreateOptions, OptimisticTxDatabase, OptimisticTxKeyspace, PersistMode, Readable, SingleWriterTxDatabase,
    SingleWriterTxKeyspace, Snapshot,
};

use crate::peer::{
    Client, Database, Facts, Opening, Outcome, TEXT, Totals, Transaction, Workload, add_to_totals, number, version_of,
};

const KEYSPACE: &str = "compared";

pub fn facts(optimistic: bool) -> Facts {
    let (kind, isolation) = if optimistic {
        ("OptimisticTxDatabase", "serializable (validated when it commits)")
    } else {
        ("SingleWriterTxDatabase", "serializable (one writer at a time)")
    };
    Facts {
        version: version_of("fjall"),
        licence: "MIT OR Apache-2.0".into(),
        settings: format!("defaults; {kind}, PersistMode::SyncAll"),
        isolation: isolation.into(),
        durability: "fsync of the journal by each commit".into(),
    }
}

fn totals(snapshot: &Snapshot, keyspace: impl AsRef<fjall::Keyspace>, workload: Workload) -> Result<Totals> {
    let mut totals = Totals { rows: 0, sum: 0 };
    for row in snapshot.iter(keyspace) {
        let (_, value) = row.into_inner()?;
        add_to_totals(&mut totals, workload, &value)?;
    }
    Ok(totals)
}

/// Returns the new value of a counter, given the old value.
fn new_value(old: Option<fjall::Slice>) -> Result<[u8; 8]> {
    let old = old.context("a counter is gone")?;
    Ok((number(&old)? + 1).to_be_bytes())
}

/// Transactions that take turns.
pub struct Single {
    database: SingleWriterTxDatabase,
    keyspace: SingleWriterTxKeyspace,
    workload: Workload,
}

impl Single {
    pub fn open(opening: Opening<'_>, rows: Option<u64>) -> Result<Single> {
        let database = SingleWriterTxDatabase::builder(opening.directory).open()?;
        let keyspace = database.keyspace(KEYSPACE, KeyspaceCreateOptions::default)?;
        if let Some(rows) = rows
            && opening.workload == Workload::Add
        {
            let mut write = database.write_tx().durability(Some(PersistMode::SyncAll));
            for key in 0..rows {
                write.insert(&keyspace, key.to_be_bytes(), 0i64.to_be_bytes());
            }
            write.commit()?;
        }
        Ok(Single { database, keyspace, workload: opening.workload })
    }
}

impl Database for Single {
    fn client(&self) -> Result<Box<dyn Client>> {
        Ok(Box::new(SingleClient { database: self.database.clone(), keyspace: self.keyspace.clone() }))
    }

    fn totals(&self) -> Result<Totals> {
        totals(&self.database.read_tx(), &self.keyspace, self.workload)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct SingleClient {
    database: SingleWriterTxDatabase,
    keyspace: SingleWriterTxKeyspace,
}

impl Client for SingleClient {
    fn attempt(&mut self, transaction: Transaction) -> Result<Outcome> {
        let mut write = self.database.write_tx().durability(Some(PersistMode::SyncAll));
        match transaction {
            Transaction::Insert { key } => write.insert(&self.keyspace, key.to_be_bytes(), TEXT),
            Transaction::Add { key } => {
                let new = new_value(write.get(&self.keyspace, key.to_be_bytes())?)?;
                write.insert(&self.keyspace, key.to_be_bytes(), new);
            }
        }
        write.commit()?;
        Ok(Outcome::Committed)
    }
}

/// Transactions that are validated when they commit.
pub struct Optimistic {
    database: OptimisticTxDatabase,
    keyspace: OptimisticTxKeyspace,
    workload: Workload,
}

impl Optimistic {
    pub fn open(opening: Opening<'_>, rows: Option<u64>) -> Result<Optimistic> {
        let database = OptimisticTxDatabase::builder(opening.directory).open()?;
        let keyspace = database.keyspace(KEYSPACE, KeyspaceCreateOptions::default)?;
        if let Some(rows) = rows
            && opening.workload == Workload::Add
        {
            let mut write = database.write_tx()?.durability(Some(PersistMode::SyncAll));
            for key in 0..rows {
                write.insert(&keyspace, key.to_be_bytes(), 0i64.to_be_bytes());
            }
            write.commit()?.context("nobody else writes yet")?;
        }
        Ok(Optimistic { database, keyspace, workload: opening.workload })
    }
}

impl Database for Optimistic {
    fn client(&self) -> Result<Box<dyn Client>> {
        Ok(Box::new(OptimisticClient { database: self.database.clone(), keyspace: self.keyspace.clone() }))
    }

    fn totals(&self) -> Result<Totals> {
        totals(&self.database.read_tx(), &self.keyspace, self.workload)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct OptimisticClient {
    database: OptimisticTxDatabase,
    keyspace: OptimisticTxKeyspace,
}

impl Client for OptimisticClient {
    fn attempt(&mut self, transaction: Transaction) -> Result<Outcome> {
        let mut write = self.database.write_tx()?.durability(Some(PersistMode::SyncAll));
        match transaction {
            Transaction::Insert { key } => write.insert(&self.keyspace, key.to_be_bytes(), TEXT),
            Transaction::Add { key } => {
                let new = new_value(write.get(&self.keyspace, key.to_be_bytes())?)?;
                write.insert(&self.keyspace, key.to_be_bytes(), new);
            }
        }
        Ok(if write.commit()?.is_ok() { Outcome::Committed } else { Outcome::Conflict })
    }
}
