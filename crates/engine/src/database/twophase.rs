//! Prepared transactions that a restart finds, and those that nobody finishes.

use base::settings::Id;
use base::{FileNumber, Result, Xid};
use rustc_hash::FxHashMap;
use xact::twophase::{PrepareRecord, PreparedTransaction, RecoveredPrepared};

use super::{Shared, integer};

const MICROS_PER_SECOND: i64 = 1_000_000;

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
    let catalogs = shared.catalog.committed();
    for (transaction, rows) in restored {
        for row in rows {
            // A table that the transaction made itself is nobody else's yet.
            let Some((database, oid)) = catalogs.relation(row.relation) else { continue };
            let Some(table) = catalogs.of(database).table(oid) else { continue };
            let heap = shared.relations.heap(&shared.heaps, row.relation, table.file, table.fillfactor);
            heap.restore_row_lock(transaction.owner, transaction.xid, row.tid, row.mode)?;
        }
    }
    Ok(made_files)
}

/// The prepared transactions for which a warning was logged, each with the time of its last warning.
#[derive(Default)]
pub(super) struct OrphanWatch {
    warned_at_micros: FxHashMap<Xid, i64>,
}

impl OrphanWatch {
    /// Warns of transactions that have been prepared for `log_min_prepared_age`, once in each such time.
    pub(super) fn look(&mut self, shared: &Shared) {
        let age = integer(&shared.options.settings, Id::LogMinPreparedAge) * MICROS_PER_SECOND;
        let prepared = shared.transactions.prepared_transactions();
        for warning in self.warnings(&prepared, age, xact::twophase::now_micros()) {
            log::warn!("{warning}");
        }
    }

    fn warnings(&mut self, prepared: &[PreparedTransaction], age: i64, now: i64) -> Vec<String> {
        self.warned_at_micros.retain(|xid, _| prepared.iter().any(|prepared| prepared.xid == *xid));
        let mut warnings = Vec::new();
        for PreparedTransaction { gid, xid, at_micros, .. } in prepared {
            let since = self.warned_at_micros.get(xid).unwrap_or(at_micros);
            if age > 0 && now - since >= age {
                self.warned_at_micros.insert(*xid, now);
                let seconds = (now - at_micros) / MICROS_PER_SECOND;
                warnings.push(format!(
                    "transaction {xid} was prepared as \"{gid}\" {seconds} s ago and is not finished; it holds its locks \
                     until COMMIT PREPARED or ROLLBACK PREPARED"
                ));
            }
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use base::{Oid, OwnerId};
    use xact::twophase::Gid;

    use super::*;

    #[test]
    fn orphans_are_warned_of_once_in_each_age() {
        let at = |at_micros: i64, xid| PreparedTransaction {
            gid: Gid::new("transfer").unwrap(),
            xid: Xid(xid),
            at_micros,
            role: Oid(10),
            database: Oid(5),
            owner: OwnerId(0),
        };
        let mut watch = OrphanWatch::default();
        let prepared = [at(0, 7), at(50, 8)];
        assert!(watch.warnings(&prepared, 100, 99).is_empty());
        let first = watch.warnings(&prepared, 100, 100);
        assert!(first.len() == 1 && first[0].starts_with("transaction 7 was prepared as \"transfer\""), "{first:?}");
        assert!(watch.warnings(&prepared, 100, 149).is_empty());
        assert_eq!(watch.warnings(&prepared, 100, 200).len(), 2);
        assert!(watch.warnings(&prepared, 0, 9999).is_empty(), "switched off");
        assert!(watch.warnings(&[], 100, 9999).is_empty() && watch.warned_at_micros.is_empty());
    }
}
