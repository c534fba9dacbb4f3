//! The heaps and trees in use, shared by all sessions: they remember where there is room.
//!
//! A file has one tree, or a heap for each fillfactor that it was opened with. All heaps of a file share what they remember.

use base::{FileNumber, Oid, Result};
use btree::{BTree, BTreeServices};
use heap::{Heap, HeapServices};
use rustc_hash::FxHashMap;
use sync::{Arc, RwLock};

use crate::activity::TableActivity;
use crate::table::Table;
use schema::catalog::{IndexDef, TableDef};

/// The open heaps, trees and tables of a database, and the activity of its tables.
#[derive(Default)]
pub(crate) struct Relations {
    /// Guards the maps; a leaf, held for a look-up or an entry.
    open: RwLock<Open>,
}

#[derive(Default)]
struct Open {
    /// With the fillfactor of each.
    heaps: FxHashMap<FileNumber, Vec<(u8, Arc<Heap>)>>,
    trees: FxHashMap<FileNumber, Arc<BTree>>,
    /// By their heaps.
    tables: FxHashMap<FileNumber, Arc<Table>>,
    activities: FxHashMap<Oid, Arc<TableActivity>>,
}

impl Relations {
    /// The heap in `file`.
    pub(crate) fn heap(
        &self,
        services: &Arc<HeapServices>,
        relation: Oid,
        file: FileNumber,
        fillfactor: u8,
    ) -> Arc<Heap> {
        if let Some(heap) = self.open.read().heap(file, fillfactor) {
            return heap;
        }
        let mut open = self.open.write();
        if let Some(heap) = open.heap(file, fillfactor) {
            return heap;
        }
        let of_file = open.heaps.entry(file).or_default();
        let heap = Arc::new(match of_file.first() {
            Some((_, other)) => other.with_fillfactor(fillfactor),
            None => Heap::new(services.clone(), relation, file, fillfactor),
        });
        of_file.push((fillfactor, heap.clone()));
        heap
    }

    /// The tree in `file`.
    pub(crate) fn tree(&self, services: &Arc<BTreeServices>, file: FileNumber) -> Result<Arc<BTree>> {
        if let Some(tree) = self.open.read().trees.get(&file) {
            return Ok(tree.clone());
        }
        // Reads a page, so not under the lock.
        let tree = Arc::new(BTree::open(services.clone(), file)?);
        Ok(self.open.write().trees.entry(file).or_insert(tree).clone())
    }

    /// The open table, if it is as the catalog says.
    pub(crate) fn table(&self, def: &Arc<TableDef>, indexes: &[Arc<IndexDef>]) -> Option<Arc<Table>> {
        self.open.read().tables.get(&def.file).filter(|table| is_current(table, def, indexes)).cloned()
    }

    /// Shares an open table that is as the committed catalog says.
    pub(crate) fn share_table(&self, table: &Arc<Table>) {
        self.open.write().tables.insert(table.def.file, table.clone());
    }

    /// The counts of a table, by [`Entry::unique`](schema::catalog::Entry::unique).
    pub(crate) fn activity(&self, unique: Oid) -> Arc<TableActivity> {
        if let Some(activity) = self.open.read().activities.get(&unique) {
            return activity.clone();
        }
        self.open.write().activities.entry(unique).or_default().clone()
    }

    /// The same, if the table was ever opened.
    pub(crate) fn known_activity(&self, unique: Oid) -> Option<Arc<TableActivity>> {
        self.open.read().activities.get(&unique).cloned()
    }

    /// Lets go of what is open of a file that is about to be removed.
    pub(crate) fn forget(&self, file: FileNumber) {
        let mut open = self.open.write();
        open.heaps.remove(&file);
        open.trees.remove(&file);
        let gone = |table: &Arc<Table>| {
            table.def.files().any(|other| other == file) || table.indexes.iter().any(|index| index.def.file == file)
        };
        open.tables.retain(|_, table| !gone(table));
    }
}

impl Open {
    fn heap(&self, file: FileNumber, fillfactor: u8) -> Option<Arc<Heap>> {
        let of_file = self.heaps.get(&file)?;
        of_file.iter().find(|(other, _)| *other == fillfactor).map(|(_, heap)| heap.clone())
    }
}

/// Whether an open table is as the catalog says.
pub(crate) fn is_current(table: &Table, def: &Arc<TableDef>, indexes: &[Arc<IndexDef>]) -> bool {
    Arc::ptr_eq(&table.def, def)
        && table.indexes.len() == indexes.len()
        && table.indexes.iter().zip(indexes).all(|(open, def)| Arc::ptr_eq(&open.def, def))
}
