//! Opening the log after a shutdown or a crash.
//!
//! # Where the log ends
//!
//! Reading begins at the redo point and ends at the first position without a valid record of the epoch in force: the
//! *tail*. At the tail lies a torn write or nothing, or else the log was damaged there. It was damaged if one of these
//! proves that the log had been durable beyond the tail:
//!
//! - the control file,
//! - a valid batch mark behind the tail, of the same epoch, that says so,
//! - the LSN of a page, which redo handlers report ([`WalControl::page_lsn_met`]).
//!
//! Then recovery fails and changes nothing. Damage in the very last batch can't be told from a torn tail, since nothing was
//! written after its sync that could prove it.
//!
//! # Steps before the log goes on
//!
//! 1. The last stretch, from where the last mark proves durability up to the tail, is written again and synced, with all
//!    segments read. It may have been in the operating system's cache only (the process was killed), even marked clean there
//!    (its sync had failed). Redo builds on these records, so they must not be lost later.
//! 2. Redo.
//! 3. Everything behind the tail is overwritten with zeros and synced, so that no stale record is ever found there.
//! 4. The first record of a new epoch is written and synced.
//!
//! Killed at any point of this, the next recovery finds the same tail, or the new epoch's first record.

use base::{Error, Lsn, Result};
use sync::Arc;
use sync::atomic::{AtomicU64, Ordering};
use vfs::OpenMode;

use crate::reader::{WalReader, Window};
use crate::record::{self, HEADER_BYTES};
use crate::segments::SegmentLayout;
use crate::{Epoch, Record};

/// Behind the tail, records of later epochs than the one in force are looked for up to this distance. Starts of which not
/// even the first record was left don't come in such numbers.
const EPOCHS_BEYOND: u32 = 1 << 16;
/// Longer records are not looked for behind the tail. Anything there may look like the beginning of a long one, and each would
/// have to be read to its end; the records that prove something are short.
const BEHIND_BYTES_MAX: u32 = 128 << 10;
/// The tail is cleared in pieces of this size, those that are zero already being left alone.
const CLEAR_BYTES: usize = 64 << 10;

/// The control file's knowledge of the log.
#[derive(Clone, Debug)]
pub struct WalControl {
    /// Where redo begins.
    pub redo: Lsn,
    /// The epoch in force there ([`crate::Wal::epoch`] when the redo point was taken).
    pub epoch: Epoch,
    /// The log was durable at least up to here.
    pub durable_floor: Lsn,
    /// Raised (`fetch_max`) by redo handlers to the highest page LSN they met: it proves that the log was durable so far.
    pub page_lsn_met: Arc<AtomicU64>,
}

/// Where and why the log is damaged: it ends at `tail`, but was durable up to `proven`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WalDamage {
    /// The position at which no valid record was found.
    tail: Lsn,
    /// Up to here the log is known to have been durable.
    proven: Lsn,
}

impl From<WalDamage> for Error {
    fn from(damage: WalDamage) -> Error {
        Error::corrupted(format!("write-ahead log is damaged at {}", damage.tail))
            .detail(format!(
                "No valid record was found at {}, but the log is known to have been durable up to {}.",
                damage.tail, damage.proven
            ))
            .hint("Nothing was changed. Restore the log or the database from a backup.")
    }
}

/// The findings of a look through the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Survey {
    /// Where the log ends.
    pub tail: u64,
    /// The epoch in force there.
    pub epoch: Epoch,
    /// The highest epoch of any record, also behind the tail.
    pub highest_epoch: Epoch,
    /// The position up to which the log is proven durable, by marks before the tail and by the control file.
    pub proven: u64,
}

/// Finds the log's tail, and fails if it is not where the log was torn but where it was damaged.
pub(crate) fn survey(layout: &SegmentLayout, control: &WalControl) -> Result<Survey> {
    let mut proven = control.durable_floor.0.max(control.redo.0);
    let mut reader = WalReader::new(layout.clone(), control.redo, Some(control.epoch), Lsn::MAX);
    while let Some(record) = reader.next()? {
        if let Some(durable) = record.durable_when_written() {
            proven = proven.max(durable.0);
        }
    }
    let tail = reader.position().0;
    let epoch = reader.epoch().unwrap_or(control.epoch);
    check(tail, proven)?;
    let (behind, highest_epoch) = look_behind(layout, tail, epoch)?;
    check(tail, behind)?;
    Ok(Survey { tail, epoch, highest_epoch, proven: proven.min(tail) })
}

/// Fails if the log was durable beyond its tail.
pub(crate) fn check(tail: u64, proven: u64) -> Result<()> {
    if proven <= tail {
        return Ok(());
    }
    Err(WalDamage { tail: Lsn(tail), proven: Lsn(proven) }.into())
}

/// Looks at every position behind the tail for records of the epoch in force there or a later one. Returns the highest
/// position that their marks prove durable, and the highest epoch.
fn look_behind(layout: &SegmentLayout, tail: u64, epoch: Epoch) -> Result<(u64, Epoch)> {
    let (mut proven, mut highest) = (0, epoch);
    for number in segments_from(layout, tail)? {
        let segment_end = (number + 1) * layout.size_bytes;
        let mut window = Window::new(layout.clone(), tail.max(number * layout.size_bytes));
        while window.position() + HEADER_BYTES as u64 <= segment_end && window.fill(HEADER_BYTES)? {
            let mut step = record::ALIGNMENT;
            if may_begin(window.bytes(), epoch)
                && let Some(size_bytes) = window.record_size()?
                && let Some(found) = record::decode_verified(window.bytes(), window.position())
            {
                highest = highest.max(found.epoch);
                proven = proven.max(proof(&found));
                // Step over the whole record: bytes in its payload that look like a record are data.
                step = size_bytes;
            }
            window.move_to(window.position() + step as u64);
        }
    }
    Ok((proven, highest))
}

/// Up to where a record behind the tail proves the log durable.
fn proof(record: &Record<'_>) -> u64 {
    match record.durable_when_written() {
        // A mark can't know of anything behind itself.
        Some(durable) => durable.0.min(record.start.0),
        // An epoch begins where the log before was found whole.
        None if record.begins_epoch() => record.start.0,
        None => 0,
    }
}

/// A quick look whether a record of `epoch` or one soon after may begin here: nearly everything is sorted out by it.
fn may_begin(bytes: &[u8], epoch: Epoch) -> bool {
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else { return false };
    let [a, b, c, d, .., e, f, g, h] = *header;
    let (length, found) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    (HEADER_BYTES as u32..=BEHIND_BYTES_MAX).contains(&length)
        && header[18..20] == [0, 0]
        && found.wrapping_sub(epoch.0) <= EPOCHS_BEYOND
}

/// The numbers of the segments there are, from the one that holds `position` on.
fn segments_from(layout: &SegmentLayout, position: u64) -> Result<Vec<u64>> {
    let first = layout.number_of(position);
    let numbers =
        layout.numbers().map_err(|error| Error::io("could not list the write-ahead log's directory", &error))?;
    Ok(numbers.into_iter().filter(|&number| number >= first).collect())
}

/// Makes sure that the log from `redo` up to the tail is on the disk, wherever it was read from.
pub(crate) fn secure(layout: &SegmentLayout, redo: u64, survey: &Survey) -> Result<()> {
    let failed = |error| Error::io("could not secure the end of the write-ahead log", &error);
    let mut window = Window::new(layout.clone(), 0);
    let mut position = survey.proven;
    while position < survey.tail {
        let in_segment = layout.size_bytes - position % layout.size_bytes;
        let len = in_segment.min(survey.tail - position).min(CLEAR_BYTES as u64);
        let bytes = window.read_at(position, len as usize)?;
        let path = layout.path(layout.number_of(position));
        let file = layout.vfs.open(&path, OpenMode::ReadWrite).map_err(failed)?;
        file.write_all_at(&bytes, position % layout.size_bytes).map_err(failed)?;
        position += len;
    }
    for number in segments_from(layout, redo)? {
        if number * layout.size_bytes < survey.tail {
            let file = layout.vfs.open(&layout.path(number), OpenMode::ReadWrite).map_err(failed)?;
            file.sync_all().map_err(failed)?;
        }
    }
    layout.vfs.sync_dir(&layout.dir).map_err(failed)
}

/// Overwrites everything behind the tail with zeros, and syncs.
pub(crate) fn clear_behind(layout: &SegmentLayout, tail: u64) -> Result<()> {
    let failed = |error| Error::io("could not clear the write-ahead log behind its end", &error);
    let zeros = vec![0; CLEAR_BYTES];
    for number in segments_from(layout, tail)? {
        let segment_end = (number + 1) * layout.size_bytes;
        let mut position = tail.max(number * layout.size_bytes);
        let mut window = Window::new(layout.clone(), position);
        let file = layout.vfs.open(&layout.path(number), OpenMode::ReadWrite).map_err(failed)?;
        while position < segment_end {
            let bytes = window.read_at(position, ((segment_end - position) as usize).min(CLEAR_BYTES))?;
            if bytes.is_empty() {
                break;
            }
            if bytes.iter().any(|&byte| byte != 0) {
                file.write_all_at(&zeros[..bytes.len()], position % layout.size_bytes).map_err(failed)?;
            }
            position += bytes.len() as u64;
        }
        file.sync_data().map_err(failed)?;
    }
    Ok(())
}

/// The part of the log that redo still has to go through.
pub(crate) struct Pending {
    pub control: WalControl,
    pub survey: Survey,
}

impl Pending {
    /// Gives every record of another resource manager than the log itself to `apply`.
    pub fn redo(&self, layout: &SegmentLayout, mut apply: impl FnMut(&Record<'_>) -> Result<()>) -> Result<()> {
        let limit = Lsn(self.survey.tail);
        let mut reader = WalReader::new(layout.clone(), self.control.redo, Some(self.control.epoch), limit);
        while let Some(record) = reader.next()? {
            if record.head.rmgr != crate::RmgrId::WAL {
                apply(&record)?;
            }
        }
        // The second reading must find what the first one found.
        check(reader.position().0, self.survey.tail)?;
        check(self.survey.tail, self.control.page_lsn_met.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use base::Xid;

    use super::*;
    use crate::{RecordHead, RmgrId};

    #[test]
    fn behind_the_tail_only_short_records_of_this_epoch_and_later_ones_are_looked_for() {
        let head = RecordHead { rmgr: RmgrId::WAL, info: record::INFO_BATCH_MARK, xid: Xid::INVALID };
        let header = |epoch: u32, payload_bytes: usize| record::encode_header(head, Epoch(epoch), 64, payload_bytes, 0);
        let longest = BEHIND_BYTES_MAX as usize - HEADER_BYTES;
        assert!(may_begin(&header(5, 8), Epoch(5)));
        assert!(may_begin(&header(5 + EPOCHS_BEYOND, longest), Epoch(5)));
        assert!(!may_begin(&header(5, longest + 1), Epoch(5)));
        assert!(!may_begin(&header(5, record::PAYLOAD_MAX_BYTES), Epoch(5)));
        assert!(!may_begin(&header(4, 8), Epoch(5)));
        assert!(!may_begin(&header(6 + EPOCHS_BEYOND, 8), Epoch(5)));
        assert!(!may_begin(&[0; HEADER_BYTES], Epoch(0)));
        assert!(!may_begin(&header(5, 8)[..HEADER_BYTES - 1], Epoch(5)));
    }
}
