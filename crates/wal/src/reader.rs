//! Reading the log.

use std::path::Path;

use base::{Error, Lsn, Result};
use sync::Arc;
use vfs::{File, Vfs};

use crate::record::{self, Examined, HEADER_BYTES};
use crate::segments::SegmentLayout;
use crate::{Epoch, Record, RecordHead};

/// Bytes read from a segment at a time, by who reads on and on.
const READ_BYTES: usize = 256 << 10;

/// The same for who wants one record only.
const ONE_RECORD_BYTES: usize = 4096;

/// Why a reader came to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogEnd {
    /// It reached the position up to which it was to read.
    Limit,
    /// No valid record lies here: the tail, torn or whole.
    NoRecord,
}

/// A piece of log in memory that moves forward.
pub(crate) struct Window {
    layout: SegmentLayout,
    open: Option<(u64, Arc<dyn File>)>,
    read_bytes: usize,
    bytes: Vec<u8>,
    /// Position of `bytes[skipped]`.
    position: u64,
    /// Bytes at the beginning of `bytes` that the window has left behind.
    skipped: usize,
}

impl Window {
    pub fn new(layout: SegmentLayout, position: u64) -> Window {
        Window { layout, open: None, read_bytes: READ_BYTES, bytes: Vec::new(), position, skipped: 0 }
    }

    pub fn position(&self) -> u64 {
        self.position
    }

    /// The bytes in memory from the window's position on.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.skipped..]
    }

    /// Moves forward to `position`.
    pub fn move_to(&mut self, position: u64) {
        let forward = position - self.position;
        if forward <= self.bytes().len() as u64 {
            self.skipped += forward as usize;
        } else {
            self.bytes.clear();
            self.skipped = 0;
        }
        self.position = position;
    }

    /// Reads until the window holds `wanted` bytes; false if the log's files end before.
    pub fn fill(&mut self, wanted: usize) -> Result<bool> {
        if self.bytes().len() < wanted && self.skipped > 0 {
            self.bytes.drain(..self.skipped);
            self.skipped = 0;
        }
        while self.bytes().len() < wanted {
            let have = self.bytes.len();
            // Not all at once: what makes somebody want so much may be no record at all.
            let piece = (wanted - have).min(have).max(self.read_bytes);
            self.bytes.resize(have + piece, 0);
            let from = self.position + have as u64;
            let read = self.layout.read(&mut self.open, &mut self.bytes[have..], from);
            let read = read.map_err(|error| {
                Error::io(format_args!("could not read from the write-ahead log at {}", Lsn(from)), &error)
            });
            self.bytes.truncate(have + *read.as_ref().unwrap_or(&0));
            if read? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The size in the log of the valid record at the window's position; `None` if there is none.
    pub fn record_size(&mut self) -> Result<Option<usize>> {
        let mut wanted = HEADER_BYTES;
        loop {
            if !self.fill(wanted)? {
                return Ok(None);
            }
            match record::examine(self.bytes(), self.position) {
                Examined::Valid(record) => return Ok(Some((record.end.0 - record.start.0) as usize)),
                Examined::NeedsBytes(bytes) => wanted = bytes,
                Examined::Invalid => return Ok(None),
            }
        }
    }

    /// Reads `len` bytes from `from` on, which lie in one segment.
    pub fn read_at(&mut self, from: u64, len: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        let read = self.layout.read(&mut self.open, &mut bytes, from);
        let read = read.map_err(|error| {
            Error::io(format_args!("could not read from the write-ahead log at {}", Lsn(from)), &error)
        })?;
        bytes.truncate(read);
        Ok(bytes)
    }
}

/// Reads the one record at `at`.
///
/// # Errors
/// XX001 if there is none; 58030 and its kin.
pub(crate) fn read_record(layout: SegmentLayout, at: Lsn) -> Result<(RecordHead, Vec<u8>)> {
    let mut window = Window::new(layout, at.0);
    window.read_bytes = ONE_RECORD_BYTES;
    let is_there = window.record_size()?.is_some();
    match record::decode_verified(window.bytes(), at.0).filter(|_| is_there) {
        Some(record) => Ok((record.head, record.payload.to_vec())),
        None => Err(Error::corrupted(format!("no record of the write-ahead log is at {at}"))),
    }
}

/// Reads records one after the other.
///
/// A record of another epoch than the one in force ends the log, but for the first one of a later epoch: that is how stale
/// records behind a tail are told from the log.
pub struct WalReader {
    window: Window,
    /// Size of the record last returned, which the window still shows.
    shown_bytes: usize,
    epoch: Option<Epoch>,
    limit: u64,
    end: Option<LogEnd>,
}

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
        if segment_size_bytes == 0 || !from.0.is_multiple_of(record::ALIGNMENT as u64) {
            return Err(Error::corrupted(format!("no record of the write-ahead log can begin at {from}")));
        }
        Ok(WalReader::new(SegmentLayout::new(vfs, dir, segment_size_bytes), from, epoch, limit))
    }

    pub(crate) fn new(layout: SegmentLayout, from: Lsn, epoch: Option<Epoch>, limit: Lsn) -> WalReader {
        WalReader { window: Window::new(layout, from.0), shown_bytes: 0, epoch, limit: limit.0, end: None }
    }

    /// The next record, or `None` at the end, of which [`WalReader::end`] tells the kind.
    ///
    /// # Errors
    /// A segment could not be read (58030 and its kin). Damage is no error here: it ends the log.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Record<'_>>> {
        if self.end.is_some() {
            return Ok(None);
        }
        self.window.move_to(self.window.position() + self.shown_bytes as u64);
        self.shown_bytes = 0;
        if self.window.position() >= self.limit {
            self.end = Some(LogEnd::Limit);
            return Ok(None);
        }
        let size_bytes = self.window.record_size()?;
        let record = size_bytes.and_then(|_| record::decode_verified(self.window.bytes(), self.window.position()));
        let is_next = |record: &Record<'_>| {
            let in_epoch =
                self.epoch.is_none_or(|epoch| record.epoch == epoch || record.begins_epoch() && record.epoch > epoch);
            in_epoch && record.end.0 <= self.limit
        };
        match (size_bytes, record.filter(is_next)) {
            (Some(size_bytes), Some(record)) => {
                self.shown_bytes = size_bytes;
                self.epoch = Some(record.epoch);
                Ok(Some(record))
            }
            _ => {
                self.end = Some(LogEnd::NoRecord);
                Ok(None)
            }
        }
    }

    /// The end of the last record read: where the next one begins, or the tail.
    pub fn position(&self) -> Lsn {
        Lsn(self.window.position() + self.shown_bytes as u64)
    }

    /// The epoch in force at [`WalReader::position`].
    pub fn epoch(&self) -> Option<Epoch> {
        self.epoch
    }

    /// Why it ended, once it has.
    pub fn end(&self) -> Option<LogEnd> {
        self.end
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use std::path::Path;

    use vfs::{OpenMode, SimulatedVfs, Vfs};

    use super::*;

    #[test]
    fn wanting_more_than_the_log_has_takes_no_more_memory_than_that() {
        let vfs: Arc<dyn Vfs> = Arc::new(SimulatedVfs::new(1));
        let dir = Path::new("wal");
        vfs.create_dir_all(dir).unwrap();
        let layout = SegmentLayout::new(vfs.clone(), dir, 1 << 20);
        let file = vfs.open(&layout.path(0), OpenMode::CreateNew).unwrap();
        file.write_all_at(&[7; 1 << 20], 0).unwrap();
        let mut window = Window::new(layout, 0);
        assert!(window.fill(300 << 10).unwrap());
        assert!(!window.fill(1 << 30).unwrap());
        assert_eq!(window.bytes(), [7; 1 << 20]);
        assert!(window.bytes.capacity() <= 8 << 20, "{}", window.bytes.capacity());
    }
}
