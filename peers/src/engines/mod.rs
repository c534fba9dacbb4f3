//! The engines.

mod cohort;
mod fjall;
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod sqlite;
mod surrealkv;

use anyhow::{Context, Result};

use crate::peer::{Database, Engine, Facts, Opening};

/// Makes a database with the workload's table in an empty folder; for [`crate::peer::Workload::Add`] with rows 0 to `rows`, all of
/// them 0.
pub fn create(engine: Engine, opening: Opening<'_>, rows: u64) -> Result<Box<dyn Database>> {
    open_or_create(engine, opening, Some(rows)).with_context(|| format!("{} could not make a database", engine.name()))
}

/// Opens what [`create`] has made.
pub fn open(engine: Engine, opening: Opening<'_>) -> Result<Box<dyn Database>> {
    open_or_create(engine, opening, None)
        .with_context(|| format!("{} could not open its database again", engine.name()))
}

fn open_or_create(engine: Engine, opening: Opening<'_>, rows: Option<u64>) -> Result<Box<dyn Database>> {
    Ok(match engine {
        Engine::Cohort => Box::new(cohort::Cohort::open(opening, rows)?),
        Engine::Sqlite => Box::new(sqlite::Sqlite::open(opening, rows)?),
        Engine::Redb => Box::new(redb::Redb::open(opening, rows)?),
        Engine::Fjall => Box::new(fjall::Single::open(opening, rows)?),
        Engine::FjallOptimistic => Box::new(fjall::Optimistic::open(opening, rows)?),
        #[cfg(feature = "rocksdb")]
        Engine::Rocksdb => Box::new(rocksdb::Pessimistic::open(opening, rows)?),
        #[cfg(feature = "rocksdb")]
        Engine::RocksdbOptimistic => Box::new(rocksdb::Optimistic::open(opening, rows)?),
        Engine::Surrealkv => Box::new(surrealkv::Surrealkv::open(opening, rows)?),
    })
}

/// Returns the facts about an engine.
pub fn facts(engine: Engine) -> Facts {
    match engine {
        Engine::Cohort => cohort::facts(),
        Engine::Sqlite => sqlite::facts(),
        Engine::Redb => redb::facts(),
        Engine::Fjall => fjall::facts(false),
        Engine::FjallOptimistic => fjall::facts(true),
        #[cfg(feature = "rocksdb")]
        Engine::Rocksdb => rocksdb::facts(false),
        #[cfg(feature = "rocksdb")]
        Engine::RocksdbOptimistic => rocksdb::facts(true),
        Engine::Surrealkv => surrealkv::facts(),
    }
}
