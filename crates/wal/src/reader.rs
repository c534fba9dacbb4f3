//! Reading the log.

use std::path::Path;

use base::{Lsn, Result};
use sync::Arc;
use vfs::Vfs;

use crate::{Epoch, Record};

/// Why a reader came to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogEnd {
    /// It reached the position up to which it was to read.
    Limit,
    /// No valid record lies here: the tail, torn or whole.
    NoRecord,
}

/// Reads records one after the other.
pub struct WalReader {}

impl WalReader {
    /// Reads the log in `dir` from `from`, where a record of epoch `epoch` (any, if `None`) must begin, up to `limit`.
    pub fn open(
        vfs: Arc<dyn Vfs>,
        dir: &Path,
        segment_size_bytes: u64,
        from: Lsn,
        epoch: Option<Epoch>,
        limit: Lsn,
    ) -> Result<WalReader> {
        let _ = (vfs, dir, segment_size_bytes, from, epoch, limit);
        todo!()
    }

    /// The next record, or `None` at the end, of which [`WalReader::end`] tells the kind.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Record<'_>>> {
        todo!()
    }

    /// The end of the last record read: where the next one begins, or the tail.
    pub fn position(&self) -> Lsn {
        todo!()
    }

    /// The epoch in force at [`WalReader::position`].
    pub fn epoch(&self) -> Option<Epoch> {
        todo!()
    }

    /// Why it ended, once it has.
    pub fn end(&self) -> Option<LogEnd> {
        todo!()
    }
}
