//! The heaps and trees in use, one of each per file, shared by all sessions: they remember where there is room.

use base::{FileNumber, Oid, Result};
use btree::{BTree, BTreeServices};
use heap::{Heap, HeapServices};
use rustc_hash::FxHashMap;
use sync::{Arc, RwLock};

use crate::activity::TableActivity;
use crate::catalog::{IndexDef, TableDef};
use crate::table::Table;

/// What is open of a database's relations.
#[derive(Default)]
pub(crate) struct Relations {
    /// Guards the maps; a leaf, held for a look-up or an entry.
    open: RwLock<Open>,
}

#[derive(Default)]
struct Open {
    heaps: FxHashMap<(FileNumber, u8), Arc<Heap>>,
    trees: FxHashMap<FileNumber, Arc<BTree>>,
    tables: FxHashMap<Oid, Arc<Table>>,
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
        if let Some(heap) = self.open.read().heaps.get(&(file, fillfactor)) {
            return heap.clone();
        }
        let mut open = self.open.write();
        let make = || Arc::new(Heap::new(services.clone(), relation, file, fillfactor));
        open.heaps.entry((file, fillfactor)).or_insert_with(make).clone()
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
        self.open.read().tables.get(&def.oid).filter(|table| is_current(table, def, indexes)).cloned()
    }

    /// Shares an open table that is as the committed catalog says.
    pub(crate) fn share_table(&self, table: &Arc<Table>) {
        self.open.write().tables.insert(table.def.oid, table.clone());
    }

    /// The counts of the table `oid`.
    pub(crate) fn activity(&self, oid: Oid) -> Arc<TableActivity> {
        if let Some(activity) = self.open.read().activities.get(&oid) {
            return activity.clone();
        }
        self.open.write().activities.entry(oid).or_default().clone()
    }

    /// The counts of the table `oid`, if it was ever opened.
    pub(crate) fn known_activity(&self, oid: Oid) -> Option<Arc<TableActivity>> {
        self.open.read().activities.get(&oid).cloned()
    }

    /// Lets go of what is open of a file that is about to be removed.
    pub(crate) fn forget(&self, file: FileNumber) {
        let mut open = self.open.write();
        open.heaps.retain(|(other, _), _| *other != file);
        open.trees.remove(&file);
        let gone = |table: &Arc<Table>| {
            table.def.files().any(|other| other == file) || table.indexes.iter().any(|index| index.def.file == file)
        };
        open.tables.retain(|_, table| !gone(table));
    }
}

/// Whether an open table is as the catalog says.
pub(crate) fn is_current(table: &Table, def: &Arc<TableDef>, indexes: &[Arc<IndexDef>]) -> bool {
    Arc::ptr_eq(&table.def, def)
        && table.indexes.len() == indexes.len()
        && table.indexes.iter().zip(indexes).all(|(open, def)| Arc::ptr_eq(&open.def, def))
}
