//! The heap: rows as tuple versions in slotted pages.
//!
//! Start with [`Heap`]. See the crate's README for the whole story.

mod heap;
mod insert;
mod modify;
mod page;
mod prepared_locks;
mod prune;
mod read;
mod record;
mod redo;
mod scan;
mod space;
mod tuple;
mod vacuum;
mod visibility;

pub use heap::{Heap, HeapServices, Modify, RemovalFloor};
pub use modify::UpdateOptions;
pub use page::{PAYLOAD_MAX_BYTES, check_page, fuzz_page, mask_unlogged};
pub use read::Version;
pub use record::describe;
pub use redo::{HeapRedo, fuzz_redo};
pub use scan::{BuildSummary, BuildTuple, HeapScan, LendContext, PageTuples};
pub use vacuum::VacuumStep;
