//! Checks: whether indexes are sound and agree with their heap.

use base::{Error, Result, Tid, sqlstate};
use clog::TxnCtx;
use rustc_hash::FxHashMap;

use super::Session;
use crate::key::IndexKeySource;
use crate::table::Table;
use schema::key::KeyBuffer;
use schema::row::RowBytes;

/// The counts of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckSummary {
    /// Rows of the heap.
    pub rows: u64,
    /// Entries of each index, those that lead to nothing any more included.
    pub entries: Vec<u64>,
}

impl Session {
    /// Holds a table's indexes against their own rules and against the heap: every row has its entry, and every entry that
    /// leads to a row has the row's key. Nobody may write meanwhile: lock the table with `Share`.
    ///
    /// # Errors
    /// XX001, XX002 for what is wrong; what `keys` fails with.
    pub fn check_table(&self, table: &Table, keys: &dyn IndexKeySource) -> Result<CheckSummary> {
        self.lock_table(table, lockmgr::LockMode::AccessShare)?;
        let mut summary = CheckSummary::default();
        // For each index the rows whose entries are still to be met, by the place that entries point to.
        let mut expected: Vec<FxHashMap<Tid, Vec<u8>>> = vec![FxHashMap::default(); table.indexes.len()];
        let (mut row, mut key) = (RowBytes::new(), KeyBuffer::new());
        let lend = |read: &mut dyn FnMut(&TxnCtx<'_>)| self.with_latest_ctx(|ctx| read(ctx));
        table.heap.scan_for_build(&lend, &mut |tuple| {
            if !tuple.live {
                return Ok(());
            }
            summary.rows += 1;
            row.copy_from(tuple.payload);
            self.resolve(table, &mut row)?;
            table.row(&row).check()?;
            for (position, expected) in expected.iter_mut().enumerate() {
                key.clear();
                if keys.key(table, position, &table.decode(&row), &mut key)? {
                    expected.insert(tuple.root, key.as_slice().to_vec());
                }
            }
            Ok(())
        })?;
        for (index, mut expected) in table.indexes.iter().zip(expected) {
            let entries = index.btree.check_entries(&mut |key, tid| {
                if expected.get(&tid).is_some_and(|of_row| of_row == key) {
                    expected.remove(&tid);
                }
                Ok(())
            })?;
            summary.entries.push(entries);
            if let Some((tid, _)) = expected.iter().next() {
                return Err(Error::new(
                    sqlstate::INDEX_CORRUPTED,
                    format!(
                        "index \"{}\" has no entry for {} rows, the one at {tid} among them",
                        index.def.name,
                        expected.len()
                    ),
                ));
            }
        }
        Ok(summary)
    }
}
