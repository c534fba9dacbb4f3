//! Prepared transactions that a restart finds.

use base::{FileNumber, Result};
use xact::twophase::{PrepareRecord, RecoveredPrepared};

use super::Shared;

/// Gives them their place back, and loads the catalog, which tells where the rows are that they have locked in memory.
/// Returns the files that they have made.
pub(super) fn restore(
    shared: &Shared,
    prepared: Vec<RecoveredPrepared>,
    catalog_version: u64,
) -> Result<Vec<FileNumber>> {
    let mut made_files = Vec::new();
    let mut restored = Vec::with_capacity(prepared.len());
    for prepared in prepared {
        made_files.extend(PrepareRecord::decode(&prepared.payload)?.created_files);
        restored.push(shared.transactions.restore_prepared(prepared)?);
    }
    shared.catalog.load(shared, catalog_version)?;
    let catalog = shared.catalog.committed();
    for (transaction, rows) in restored {
        for row in rows {
            // A table that the transaction made itself is nobody else's yet.
            let Some(table) = catalog.table(row.relation) else { continue };
            let heap = shared.relations.heap(&shared.heaps, table.oid, table.file, table.fillfactor);
            heap.restore_row_lock(transaction.owner, transaction.xid, row.tid, row.mode)?;
        }
    }
    Ok(made_files)
}
