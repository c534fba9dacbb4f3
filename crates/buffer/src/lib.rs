//! Pages: their format and checksums, the cache that holds them, the way they get back to disk whole, and the small paged
//! store that the commit log is kept in.
//!
//! | module | subject |
//! | --- | --- |
//! | `page` | [`PageId`], the 16-byte header, checksums |
//! | `pool` | [`BufferPool`]: finding and pinning pages, extending files |
//! | `frame`, `table`, `sweep` | the frames' headers and bytes, the lock-free look-up, the choice of victims |
//! | `guard` | [`Pinned`], [`PageRead`], [`PageWrite`] |
//! | `write_back` | dirty pages to disk, in batches, never before the log (R1) |
//! | `doublewrite` | the area that protects writes in place from tearing |
//! | `files` | the files under `base/` |
//! | `apart` | slow calls that other threads make for sessions |
//! | `removal`, `truncations` | [`FileRemovals`], files that wait to be removed; files that are being cut |
//! | `paged_store` | [`PagedStore`], a page cache for status bits |
//! | `log` | [`DurableLog`], all that write-back needs to know of the log |

mod apart;
pub mod doublewrite;
mod files;
mod frame;
mod guard;
mod log;
mod meter;
mod page;
mod paged_store;
mod pool;
mod removal;
mod statistics;
mod sweep;
mod table;
mod truncations;
mod write_back;

pub use doublewrite::{DoubleWrite, DoubleWriteOptions};
pub use guard::{PageRead, PageWrite, Pinned};
pub use log::{DurableLog, LateLog};
pub use meter::{PageMeter, PageReader, count as count_use};
pub use page::{HEADER_BYTES, PAGE_BYTES, PageId, page_flags, page_kind, page_lsn, set_page_flags, set_page_kind};
pub use paged_store::{PagedStore, PagedStoreOptions, PagedStoreStatistics, STORE_PAGE_BYTES};
pub use pool::{BufferPool, BufferPoolOptions};
pub use removal::FileRemovals;
pub use statistics::BufferStatistics;
pub use write_back::FlushProgress;
