//! RocksDB, with both kinds of its transactions.

use std::sync::Arc;

use anyhow::{Context, Result};
use rocksdb::{
    ErrorKind, IteratorMode, OptimisticTransactionDB, OptimisticTransactionOptions, Options, Transaction as Open,
    TransactionDB, TransactionDBOptions, TransactionOptions, WriteOptions,
};

use crate::peer::{
    Client, Database, Facts, Opening, Outcome, TEXT, Totals, Transaction, Workload, add_to_totals, number, version_of,
};

pub fn facts(optimistic: bool) -> Facts {
    let sys = version_of("librocksdb-sys");
    let version = sys.split_once('+').map_or(sys.as_str(), |(_, version)| version).to_owned();
    let (kind, isolation) = if optimistic {
        (
            "OptimisticTransactionDB, a snapshot and GetForUpdate",
            "snapshot, and what is read is validated: here serializable",
        )
    } else {
        ("TransactionDB, GetForUpdate with an exclusive lock", "row locks on what is read: here serializable")
    };
    Facts {
        version: format!("{version} (crate {})", version_of("rocksdb")),
        licence: "Apache-2.0 OR GPL-2.0 (crate: Apache-2.0)".into(),
        settings: format!("defaults, no compression; {kind}, WriteOptions sync"),
        isolation: isolation.into(),
        durability: "fdatasync of the write-ahead log, one for all who are in a write group".into(),
    }
}

fn options(create: bool) -> Options {
    let mut options = Options::default();
    options.create_if_missing(create);
    options.set_error_if_exists(create);
    options
}

fn durably() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.set_sync(true);
    options
}

/// Whether somebody else was in the way.
fn outcome(result: Result<(), rocksdb::Error>) -> Result<Outcome> {
    match result {
        Ok(()) => Ok(Outcome::Committed),
        Err(error) if matches!(error.kind(), ErrorKind::Busy | ErrorKind::TimedOut | ErrorKind::TryAgain) => {
            Ok(Outcome::Conflict)
        }
        Err(error) => Err(error.into()),
    }
}

/// Runs a transaction that was begun.
fn run<D>(open: Open<'_, D>, transaction: Transaction) -> Result<Outcome> {
    match transaction {
        Transaction::Insert { key } => {
            if let Err(error) = open.put(key.to_be_bytes(), TEXT) {
                return outcome(Err(error));
            }
        }
        Transaction::Add { key } => {
            let value = match open.get_pinned_for_update(key.to_be_bytes(), true) {
                Ok(value) => number(&value.context("a counter is gone")?)?,
                Err(error) => return outcome(Err(error)),
            };
            if let Err(error) = open.put(key.to_be_bytes(), (value + 1).to_be_bytes()) {
                return outcome(Err(error));
            }
        }
    }
    outcome(open.commit())
}

fn totals(
    rows: impl Iterator<Item = Result<(Box<[u8]>, Box<[u8]>), rocksdb::Error>>,
    workload: Workload,
) -> Result<Totals> {
    let mut totals = Totals { rows: 0, sum: 0 };
    for row in rows {
        add_to_totals(&mut totals, workload, &row?.1)?;
    }
    Ok(totals)
}

/// With row locks.
pub struct Pessimistic {
    database: Arc<TransactionDB>,
    workload: Workload,
}

impl Pessimistic {
    pub fn open(opening: Opening<'_>, rows: Option<u64>) -> Result<Pessimistic> {
        let database =
            TransactionDB::open(&options(rows.is_some()), &TransactionDBOptions::default(), opening.directory)?;
        if let Some(rows) = rows
            && opening.workload == Workload::Add
        {
            let write = database.transaction_opt(&durably(), &TransactionOptions::default());
            for key in 0..rows {
                write.put(key.to_be_bytes(), 0i64.to_be_bytes())?;
            }
            write.commit()?;
        }
        Ok(Pessimistic { database: Arc::new(database), workload: opening.workload })
    }
}

impl Database for Pessimistic {
    fn client(&self) -> Result<Box<dyn Client>> {
        Ok(Box::new(PessimisticClient { database: self.database.clone(), durably: durably() }))
    }

    fn totals(&self) -> Result<Totals> {
        totals(self.database.iterator(IteratorMode::Start), self.workload)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct PessimisticClient {
    database: Arc<TransactionDB>,
    durably: WriteOptions,
}

impl Client for PessimisticClient {
    fn attempt(&mut self, transaction: Transaction) -> Result<Outcome> {
        run(self.database.transaction_opt(&self.durably, &TransactionOptions::default()), transaction)
    }
}

/// Validated when they commit.
pub struct Optimistic {
    database: Arc<OptimisticTransactionDB>,
    workload: Workload,
}

impl Optimistic {
    pub fn open(opening: Opening<'_>, rows: Option<u64>) -> Result<Optimistic> {
        let database: OptimisticTransactionDB =
            OptimisticTransactionDB::open(&options(rows.is_some()), opening.directory)?;
        if let Some(rows) = rows
            && opening.workload == Workload::Add
        {
            let write = database.transaction_opt(&durably(), &OptimisticTransactionOptions::default());
            for key in 0..rows {
                write.put(key.to_be_bytes(), 0i64.to_be_bytes())?;
            }
            write.commit()?;
        }
        Ok(Optimistic { database: Arc::new(database), workload: opening.workload })
    }
}

impl Database for Optimistic {
    fn client(&self) -> Result<Box<dyn Client>> {
        let mut options = OptimisticTransactionOptions::default();
        options.set_snapshot(true);
        Ok(Box::new(OptimisticClient { database: self.database.clone(), durably: durably(), options }))
    }

    fn totals(&self) -> Result<Totals> {
        totals(self.database.iterator(IteratorMode::Start), self.workload)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct OptimisticClient {
    database: Arc<OptimisticTransactionDB>,
    durably: WriteOptions,
    options: OptimisticTransactionOptions,
}

impl Client for OptimisticClient {
    fn attempt(&mut self, transaction: Transaction) -> Result<Outcome> {
        run(self.database.transaction_opt(&self.durably, &self.options), transaction)
    }
}
