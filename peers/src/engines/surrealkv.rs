//! surrealkv, whose commit is asynchronous.

use anyhow::{Context, Result};
use surrealkv::{Durability, Error, LSMIterator, Options, Tree, TreeBuilder};
use tokio::runtime::Handle;

use crate::peer::{
    Attempt, Client, Database, Facts, Opening, Outcome, TEXT, TaskClient, Totals, Transaction, Workload, add_to_totals,
    number, version_of,
};

pub fn facts() -> Facts {
    Facts {
        version: version_of("surrealkv"),
        licence: "Apache-2.0".into(),
        settings: "defaults; log preallocated (its faster setting), Durability::Immediate, get_for_update".into(),
        isolation: "snapshot, and what is read for update is validated: here serializable".into(),
        durability: "fdatasync of the write-ahead log, one for all in a commit group".into(),
    }
}

pub struct Surrealkv {
    tree: Tree,
    workload: Workload,
    runtime: Handle,
}

impl Surrealkv {
    pub fn open(opening: Opening<'_>, rows: Option<u64>) -> Result<Surrealkv> {
        let runtime = opening.runtime.clone();
        let _entered = runtime.enter();
        let options = Options::default().with_wal_preallocation(true).with_path(opening.directory.to_path_buf());
        let tree = TreeBuilder::with_options(options).build()?;
        if let Some(rows) = rows
            && opening.workload == Workload::Add
        {
            let mut write = tree.begin()?.with_durability(Durability::Immediate);
            for key in 0..rows {
                write.set(&key.to_be_bytes(), &0i64.to_be_bytes())?;
            }
            runtime.block_on(write.commit())?;
        }
        drop(_entered);
        Ok(Surrealkv { tree, workload: opening.workload, runtime })
    }
}

impl Database for Surrealkv {
    fn client(&self) -> Result<Box<dyn Client>> {
        Ok(Box::new(ThreadClient { tree: self.tree.clone(), runtime: self.runtime.clone() }))
    }

    fn task(&self) -> Result<Option<Box<dyn TaskClient>>> {
        Ok(Some(Box::new(SurrealkvTask { tree: self.tree.clone() })))
    }

    fn totals(&self) -> Result<Totals> {
        let read = self.tree.begin()?;
        let mut totals = Totals { rows: 0, sum: 0 };
        let mut rows = read.iter()?;
        let mut valid = rows.seek_first()?;
        while valid {
            add_to_totals(&mut totals, self.workload, &rows.value()?)?;
            valid = rows.next()?;
        }
        Ok(totals)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.runtime.block_on(self.tree.close())?)
    }
}

async fn attempt(tree: &Tree, transaction: Transaction) -> Result<Outcome> {
    let mut write = tree.begin()?.with_durability(Durability::Immediate);
    match transaction {
        Transaction::Insert { key } => write.set(&key.to_be_bytes(), TEXT.as_bytes())?,
        Transaction::Add { key } => {
            let old = write.get_for_update(&key.to_be_bytes())?.context("a counter is gone")?;
            write.set(&key.to_be_bytes(), &(number(&old)? + 1).to_be_bytes())?;
        }
    }
    match write.commit().await {
        Ok(()) => Ok(Outcome::Committed),
        Err(Error::TransactionWriteConflict | Error::TransactionRetry) => Ok(Outcome::Conflict),
        Err(error) => Err(error.into()),
    }
}

struct ThreadClient {
    tree: Tree,
    runtime: Handle,
}

impl Client for ThreadClient {
    fn attempt(&mut self, transaction: Transaction) -> Result<Outcome> {
        self.runtime.block_on(attempt(&self.tree, transaction))
    }
}

struct SurrealkvTask {
    tree: Tree,
}

impl TaskClient for SurrealkvTask {
    fn attempt(&mut self, transaction: Transaction) -> Attempt<'_> {
        Box::pin(attempt(&self.tree, transaction))
    }
}
