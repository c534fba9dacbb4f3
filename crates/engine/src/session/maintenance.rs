//! Index builds, truncation, vacuum, samples.

use std::sync::Arc;

use base::{Error, FileNumber, Result, Tid, sqlstate};
use clog::TxnCtx;
use heap::PageTuples;
use lockmgr::{LockMode, WaitPolicy};

use super::Session;
use crate::TransactionOptions;
use crate::build::Sorter;
use crate::catalog_store::maintenance_bytes;
use crate::database::{Vacuumed, raise_oldest, vacuum_relation};
use crate::key::IndexKeySource;
use crate::table::Table;
use schema::catalog::{IndexDef, TableDef};
use schema::key::KeyBuffer;
use schema::row::{RowBytes, RowView};

/// Folder of sorts that don't fit memory.
pub(crate) const TEMPORARY_DIRECTORY: &str = "tmp";

/// How to vacuum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VacuumOptions {
    /// Leave the file as long as it is.
    pub keep_tail: bool,
    /// Fail with 55P03 if the table is locked, instead of waiting.
    pub skip_locked: bool,
    /// Fail with 57P01 when somebody is about to close the database, instead of being a reason not to close it.
    pub gives_way: bool,
}

/// The results of a vacuum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VacuumSummary {
    /// Row versions removed.
    pub removed: u64,
    /// Rows left.
    pub live: u64,
    /// Dead rows that some snapshot may still see.
    pub recently_dead: u64,
    /// Pages of the heap now.
    pub pages: u32,
    /// Pages cut off its end.
    pub truncated_pages: u32,
    /// Index entries removed.
    pub index_entries_removed: u64,
}

/// The size of a sample and of the table that it was taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SampleSummary {
    /// Pages of the heap.
    pub pages: u32,
    /// Rows of the whole table, estimated.
    pub rows: f64,
    /// Rows given to the caller.
    pub sampled: u64,
}

impl Session {
    /// Fills a new, empty index from the rows of its table. The caller holds a Share lock on the table at least.
    ///
    /// Where rows have older versions that some snapshot may still see and that the index can't lead to, the descriptor is
    /// changed to say from when on the index may be used ([`IndexDef::usable_from`]).
    ///
    /// # Errors
    /// 23505 "could not create unique index"; what `keys` fails with; 53100.
    pub fn build_index(&self, table: &Table, index_position: usize, keys: &dyn IndexKeySource) -> Result<()> {
        sync::with_interrupt(&self.interrupt, || self.sort_and_build_index(table, index_position, keys))
    }

    fn sort_and_build_index(&self, table: &Table, index_position: usize, keys: &dyn IndexKeySource) -> Result<()> {
        self.assign_xid()?;
        let shared = self.shared();
        let index = &table.indexes[index_position];
        let mut sorter = Sorter::new(
            shared.options.vfs.clone(),
            &shared.options.directory.join(TEMPORARY_DIRECTORY),
            format!("index-{}", index.def.file),
            maintenance_bytes(shared),
        );
        let (mut key, mut row) = (KeyBuffer::new(), RowBytes::new());
        // The key may be computed by a function that runs statements.
        let lend = |read: &mut dyn FnMut(&TxnCtx<'_>)| self.with_latest_ctx(|ctx| read(ctx));
        let summary = table.heap.scan_for_build(&lend, &mut |tuple| {
            sync::yield_point()?;
            row.copy_from(tuple.payload);
            self.resolve(table, &mut row)?;
            key.clear();
            if keys.key(table, index_position, &table.decode(&row), &mut key)? {
                let distinct = index.def.unique && (index.def.nulls_not_distinct || !key.has_null());
                sorter.push(key.as_slice(), tuple.root, distinct && tuple.live)?;
            }
            Ok(())
        })?;
        let mut before: Option<(Vec<u8>, Tid)> = None;
        let mut sorted = sorter.finish()?;
        let mut duplicate = None;
        let built = index.btree.bulk_build(&mut std::iter::from_fn(|| {
            if let Err(error) = sync::yield_point() {
                return Some(Err(error));
            }
            let entry = match sorted.next()? {
                Ok(entry) => entry,
                Err(error) => return Some(Err(error)),
            };
            if entry.unique {
                if before.as_ref().is_some_and(|(key, _)| *key == entry.key) {
                    duplicate = Some(entry.tid);
                    return Some(Err(Error::internal("duplicate key")));
                }
                before = Some((entry.key.clone(), entry.tid));
            }
            Some(Ok((entry.key, entry.tid)))
        }));
        if let Some(root) = duplicate {
            return Err(self.duplicate_in_build(table, index_position, root, keys)?);
        }
        built?;
        if summary.older_versions {
            let usable_from = shared.transactions.horizon();
            self.replace_object(IndexDef { usable_from, ..(*index.def).clone() })?;
        }
        Ok(())
    }

    #[cold]
    fn duplicate_in_build(
        &self,
        table: &Table,
        position: usize,
        root: Tid,
        keys: &dyn IndexKeySource,
    ) -> Result<Error> {
        let index = &table.indexes[position].def;
        let message = format!("could not create unique index \"{}\"", index.name);
        let mut row = RowBytes::new();
        let found = self.with_latest_ctx(|ctx| table.heap.read_chain(ctx, root, |_, bytes| row.copy_from(bytes)))?;
        let mut error = Error::new(sqlstate::UNIQUE_VIOLATION, message);
        if found.is_some() {
            self.resolve(table, &mut row)?;
            if let Some(key) = keys.describe(table, position, &table.decode(&row))? {
                error = error.detail(format!("{key} is duplicated."));
            }
        }
        let catalog = self.catalog();
        let schema = catalog.schema(table.def.schema).map_or("", |schema| &schema.name);
        Ok(error.constraint(schema, &table.def.name, index.constraint_or_name()))
    }

    /// Empties a table by giving it and its indexes new storage; undone by rollback. The caller holds an AccessExclusive
    /// lock. The table must be opened again afterwards.
    ///
    /// # Errors
    /// 25006 in a read-only transaction; 53100, 58030.
    pub fn truncate(&self, table: &Table) -> Result<()> {
        // "No rows" will be an answer that no row's visibility vouches for.
        self.observe_horizon();
        self.wrote_whole(table)?;
        self.replace_object(TableDef {
            file: FileNumber(0),
            overflow_file: FileNumber(0),
            overflow_index_file: FileNumber(0),
            ..(*table.def).clone()
        })?;
        for index in &table.indexes {
            self.replace_object(IndexDef { file: FileNumber(0), ..(*index.def).clone() })?;
        }
        Ok(())
    }

    /// Waits for a checkpoint that begins now, as [`Database::checkpoint`] does. An interrupt of the session ends the wait; the
    /// checkpoint goes on.
    ///
    /// [`Database::checkpoint`]: crate::Database::checkpoint
    ///
    /// # Errors
    /// 57P01 if the database is closed; 57014 and what else the session is interrupted for.
    pub fn checkpoint(&self) -> Result<()> {
        self.database.checkpoint_unless(Some(&self.interrupt))
    }

    /// Removes dead rows, freezes old ones, cuts off an empty tail. Outside a transaction: it uses one of its own.
    ///
    /// # Errors
    /// 25001 inside a transaction; 55P03 with `skip_locked`; 42P01 if the table is gone; 57014.
    pub fn vacuum(&mut self, table: &Arc<Table>, options: VacuumOptions) -> Result<VacuumSummary> {
        if self.in_transaction() {
            let message = "VACUUM cannot run inside a transaction block";
            return Err(Error::new(sqlstate::ACTIVE_SQL_TRANSACTION, message));
        }
        self.begin(TransactionOptions::default())?;
        let interrupt = Arc::clone(&self.interrupt);
        let done = sync::with_interrupt(&interrupt, || self.vacuum_locked(table, options));
        match &done {
            Ok(_) => self.commit().map(drop)?,
            Err(_) => self.rollback()?,
        }
        raise_oldest(&self.database);
        done
    }

    fn vacuum_locked(&mut self, table: &Arc<Table>, options: VacuumOptions) -> Result<VacuumSummary> {
        let wait = if options.skip_locked { WaitPolicy::NoWait } else { WaitPolicy::Block };
        let oid = table.oid();
        self.lock_relation(oid, LockMode::ShareUpdateExclusive, wait)?;
        let table = self.open_table(oid)?;
        let shared = self.shared();
        let go_on = || {
            if options.gives_way {
                shared.check_not_closing()?;
            }
            shared.check_open()?;
            sync::yield_point()
        };
        let trees: Vec<_> = table.indexes.iter().map(|index| index.btree.clone()).collect();
        let done: Vacuumed = vacuum_relation(shared, &table.heap, &trees, &go_on)?;
        if let Some(overflow) = &table.overflow {
            vacuum_relation(shared, &overflow.heap, std::slice::from_ref(&overflow.index), &go_on)?;
        }
        table.activity.vacuumed(done.live, done.recently_dead);
        let mut truncated_pages = 0;
        let operation = shared.begin_operation()?;
        // Readers that planned by the old length must be gone; who is there now keeps the tail.
        if !options.keep_tail && self.lock_relation(oid, LockMode::AccessExclusive, WaitPolicy::NoWait).is_ok() {
            truncated_pages = table.heap.truncate_tail()?;
            if let Some(overflow) = &table.overflow {
                overflow.heap.truncate_tail()?;
            }
        }
        drop(operation);
        let pages = table.heap.block_count()?;
        self.update_estimates(&table, done.live as f64, pages)?;
        Ok(VacuumSummary {
            removed: done.removed,
            live: done.live,
            recently_dead: done.recently_dead,
            pages,
            truncated_pages,
            index_entries_removed: done.index_entries,
        })
    }

    /// Writes a table's size to the catalog if it has changed so much that plans would.
    ///
    /// # Errors
    /// As [`Session::replace_object`].
    pub fn update_estimates(&self, table: &Table, rows: f64, pages: u32) -> Result<()> {
        let differs = |old: f64, new: f64| (old - new).abs() > 0.1 * old.abs().max(1.0);
        let def = &table.def;
        if def.estimated_rows < 0.0
            || differs(def.estimated_rows, rows)
            || differs(f64::from(def.estimated_pages), f64::from(pages))
        {
            self.replace_object(TableDef { estimated_rows: rows, estimated_pages: pages, ..(**def).clone() })?;
        }
        Ok(())
    }

    /// Gives about `rows` rows of the table, taken at random, to `row`.
    ///
    /// # Errors
    /// XX001, 58030; what `row` fails with.
    pub fn sample(
        &self,
        table: &Table,
        rows: usize,
        row: &mut dyn FnMut(Tid, RowView<'_>) -> Result<()>,
    ) -> Result<SampleSummary> {
        let pages = table.heap.block_count()?;
        let mut random = SplitMix(u64::from(table.oid().0) ^ self.shared().wal.reserved().0);
        let blocks = sample_blocks(pages, u32::try_from(rows).unwrap_or(u32::MAX), &mut random);
        let mut page = PageTuples::new();
        let mut met = 0u64;
        // A reservoir: every row met has the same chance to be in it at the end.
        let mut kept: Vec<(Tid, RowBytes)> = Vec::with_capacity(rows.min(30_000));
        for block in &blocks {
            self.yield_point()?;
            let mut scan = table.heap.scan_blocks(*block..*block + 1);
            if !self.with_ctx(|ctx| scan.next_page(ctx, &mut page))? {
                continue;
            }
            for (tid, bytes) in page.iter() {
                met += 1;
                let place = if kept.len() < rows {
                    kept.push((tid, RowBytes::new()));
                    kept.len() - 1
                } else {
                    random.below(met) as usize
                };
                if let Some(slot) = kept.get_mut(place) {
                    slot.0 = tid;
                    slot.1.copy_from(bytes);
                }
            }
        }
        kept.sort_by_key(|(tid, _)| *tid);
        for (tid, bytes) in &mut kept {
            self.yield_point()?;
            self.resolve(table, bytes)?;
            row(*tid, table.row(bytes))?;
        }
        let estimate = if blocks.is_empty() { 0.0 } else { met as f64 * f64::from(pages) / blocks.len() as f64 };
        Ok(SampleSummary { pages, rows: estimate.round(), sampled: kept.len() as u64 })
    }
}

/// Up to `wanted` of the first `pages` blocks, ascending, every set of them as likely as any other.
fn sample_blocks(pages: u32, wanted: u32, random: &mut SplitMix) -> Vec<u32> {
    let mut left = wanted.min(pages);
    let mut blocks = Vec::with_capacity(left as usize);
    for block in 0..pages {
        if random.below(u64::from(pages - block)) < u64::from(left) {
            blocks.push(block);
            left -= 1;
        }
    }
    blocks
}

/// Steele, Lea and Flood's SplitMix64: random enough to choose rows by.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ z >> 31) % bound.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampled_blocks_are_distinct_ascending_and_spread() {
        let mut random = SplitMix(7);
        let blocks = sample_blocks(1000, 100, &mut random);
        assert_eq!(blocks.len(), 100);
        assert!(blocks.is_sorted() && blocks.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(blocks.iter().filter(|block| **block < 500).count() > 20);
        assert_eq!(sample_blocks(5, 100, &mut random), [0, 1, 2, 3, 4]);
        assert!(sample_blocks(0, 100, &mut random).is_empty());
    }
}
