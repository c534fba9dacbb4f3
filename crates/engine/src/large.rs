//! Large values.

use std::sync::Arc;

use btree::BTree;
use heap::Heap;

/// The heap of a table's values that are too large for a row, and its index.
pub(crate) struct Overflow {
    pub(crate) heap: Arc<Heap>,
    pub(crate) index: Arc<BTree>,
}
