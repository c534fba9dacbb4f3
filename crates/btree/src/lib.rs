//! B-tree indexes on keys that memcmp orders.
//!
//! Start with [`BTree`]. See the crate's README for the whole story.

mod build;
mod change;
mod check;
mod insert;
mod page;
mod redo;
mod scan;
mod tree;
mod vacuum;

pub use change::describe;
pub use insert::{InsertOutcome, UniqueCheck};
pub use page::{KEY_MAX_BYTES, fuzz_page};
pub use redo::{BTreeRedo, fuzz_redo};
pub use scan::{BTreeScan, Direction, KeyRange};
pub use tree::{BTree, BTreeServices};
