//! An open table: its descriptor with the heap and trees behind it.

use std::sync::Arc;

use base::{Oid, Result, Tid};
use btree::BTree;
use heap::{Heap, Version};

use crate::activity::TableActivity;
use crate::large::Overflow;
use schema::catalog::{IndexDef, TableDef};
use schema::row::{ColumnSet, Datum, PhysicalType, RowView};

/// A table as one catalog version describes it. Cheap to keep in a plan; good as long as the catalog version is.
pub struct Table {
    /// Its descriptor.
    pub def: Arc<TableDef>,
    /// The physical types of its columns in a row.
    pub physical: Vec<PhysicalType>,
    /// Its indexes, oldest first; an index position is a place in here.
    pub indexes: Vec<Arc<Index>>,
    pub(crate) missing: Vec<Option<Box<[u8]>>>,
    pub(crate) heap: Arc<Heap>,
    pub(crate) overflow: Option<Overflow>,
    /// Columns that some index reads: an update of others may be HOT.
    pub(crate) indexed_columns: ColumnSet,
    /// Whether one of its indexes has its uniqueness looked at later.
    pub has_deferrable_keys: bool,
    /// Columns of indexes that foreign keys may refer to: an update of others leaves key-share locks alone.
    pub(crate) key_columns: ColumnSet,
    pub(crate) activity: Arc<TableActivity>,
}

/// An open index.
pub struct Index {
    /// Its descriptor.
    pub def: Arc<IndexDef>,
    pub(crate) btree: Arc<BTree>,
    /// Columns whose change may change an entry.
    pub(crate) columns: ColumnSet,
}

impl Table {
    /// Whether a foreign key may refer to the column, alone or with others.
    pub fn is_key_column(&self, column: usize) -> bool {
        self.key_columns.contains(column)
    }

    /// Its identifier.
    pub fn oid(&self) -> Oid {
        self.def.oid
    }

    /// Reads the bytes of one of its rows; columns younger than the row read as their missing defaults.
    #[inline]
    pub fn row<'a>(&'a self, bytes: &'a [u8]) -> RowView<'a> {
        RowView::with_missing(&self.physical, &self.missing, bytes)
    }

    /// The header of a row's version that was seen.
    ///
    /// # Errors
    /// XX001 and 58030 for a page that can't be read.
    pub fn version(&self, tid: Tid) -> Result<Option<Version>> {
        self.heap.version(tid)
    }

    /// All values of one of its rows.
    pub fn decode<'a>(&'a self, bytes: &'a [u8]) -> smallvec::SmallVec<[Datum<'a>; 16]> {
        self.row(bytes).iter().collect()
    }

    /// The position of the index `oid`.
    pub fn index_position(&self, oid: Oid) -> Option<usize> {
        self.indexes.iter().position(|index| index.def.oid == oid)
    }

    /// Pages its heap has now.
    ///
    /// # Errors
    /// 58030 if its file can't be read.
    pub fn block_count(&self) -> base::Result<u32> {
        self.heap.block_count()
    }
}

impl Index {
    /// Pages its tree has now.
    ///
    /// # Errors
    /// 58030 if its file can't be read.
    pub fn block_count(&self) -> base::Result<u32> {
        self.btree.block_count()
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table({} {:?})", self.def.name, self.def.oid)
    }
}
