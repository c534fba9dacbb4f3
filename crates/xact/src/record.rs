//! The records of transactions' ends.
//!
//! All numbers are little-endian. The record's own head names the transaction: the top-level one or, for an abort, the
//! savepoint's. Lists are a count (u32) and that many items of 8 bytes.
//!
//! | info | name | payload |
//! | --- | --- | --- |
//! | 0x00 | commit | time (i64, microseconds since 2000-01-01 UTC), flags (u32), list of subtransactions if flag 1, list of files to remove if flag 2 |
//! | 0x10 | abort | flags (u32), list of subtransactions if flag 1, list of files it had made if flag 2 |
//! | 0x20 | children | list of subtransactions: a piece of the commit that follows |
//! | 0x30 | prepare | see [`crate::twophase::PrepareRecord`] |
//! | 0x40 | commit prepared | as of a commit |
//! | 0x50 | rollback prepared | as of an abort, all in one record |
//!
//! Flag 4 of a commit: it changed the catalog. Flag 8: pieces with more subtransactions came before it.

use base::{Error, FileNumber, Result, Xid};
use wal::{Record, RecordHead, RmgrId};

use crate::twophase::PrepareRecord;

pub(crate) const COMMIT: u8 = 0x00;
pub(crate) const ABORT: u8 = 0x10;
pub(crate) const CHILDREN: u8 = 0x20;
pub(crate) const PREPARE: u8 = 0x30;
pub(crate) const COMMIT_PREPARED: u8 = 0x40;
pub(crate) const ROLLBACK_PREPARED: u8 = 0x50;

/// The longest payload of a prepare record.
pub(crate) const PREPARE_BYTES_MAX: usize = 1 << 29;

const HAS_CHILDREN: u32 = 1;
const HAS_FILES: u32 = 2;
const CHANGES_CATALOG: u32 = 4;
const HAS_PIECES: u32 = 8;
const COMMIT_FLAGS: u32 = HAS_CHILDREN | HAS_FILES | CHANGES_CATALOG | HAS_PIECES;
const ABORT_FLAGS: u32 = HAS_CHILDREN | HAS_FILES;

/// A commit names this many subtransactions itself; more go into pieces of as many. A piece is smaller than the smallest
/// log buffer by far.
pub(crate) const CHILDREN_PER_RECORD: usize = 2000;

/// The content of a commit record.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CommitRecord {
    /// The time of the commit, in microseconds since 2000-01-01 00:00 UTC.
    pub at_micros: i64,
    /// Subtransactions that committed with it; further ones are in pieces before it if [`CommitRecord::has_pieces`].
    pub children: Vec<Xid>,
    /// Files to remove.
    pub dropped_files: Vec<FileNumber>,
    /// Whether it changed the catalog.
    pub changes_catalog: bool,
    /// Whether pieces with more subtransactions came before it.
    pub has_pieces: bool,
}

/// A record of this resource manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum XactRecord {
    /// The transaction committed.
    Commit(CommitRecord),
    /// The transaction, or a savepoint's subtree, aborted: the record's xid and these.
    Abort {
        /// Subtransactions that aborted with it.
        children: Vec<Xid>,
        /// Files it had made.
        created_files: Vec<FileNumber>,
    },
    /// A piece of a commit with very many subtransactions.
    Children(Vec<Xid>),
    /// The transaction is prepared.
    Prepare(PrepareRecord),
    /// A prepared transaction committed.
    CommitPrepared(CommitRecord),
    /// A prepared transaction was rolled back.
    RollbackPrepared {
        /// Subtransactions that aborted with it.
        children: Vec<Xid>,
        /// Files it had made.
        created_files: Vec<FileNumber>,
    },
}

pub(crate) fn head(info: u8, xid: Xid) -> RecordHead {
    RecordHead { rmgr: RmgrId::XACT, info, xid }
}

/// Writes a commit's payload into `out`.
pub(crate) fn encode_commit(
    out: &mut Vec<u8>,
    at_micros: i64,
    children: &[Xid],
    dropped_files: &[FileNumber],
    changes_catalog: bool,
    has_pieces: bool,
) {
    let flag = |set: bool, flag: u32| if set { flag } else { 0 };
    let flags = flag(!children.is_empty(), HAS_CHILDREN)
        | flag(!dropped_files.is_empty(), HAS_FILES)
        | flag(changes_catalog, CHANGES_CATALOG)
        | flag(has_pieces, HAS_PIECES);
    out.clear();
    out.extend_from_slice(&at_micros.to_le_bytes());
    out.extend_from_slice(&flags.to_le_bytes());
    put_lists(out, children, dropped_files);
}

/// Writes an abort's payload into `out`.
pub(crate) fn encode_abort(out: &mut Vec<u8>, children: &[Xid], created_files: &[FileNumber]) {
    let flag = |set: bool, flag: u32| if set { flag } else { 0 };
    let flags = flag(!children.is_empty(), HAS_CHILDREN) | flag(!created_files.is_empty(), HAS_FILES);
    out.clear();
    out.extend_from_slice(&flags.to_le_bytes());
    put_lists(out, children, created_files);
}

/// Writes a piece's payload into `out`.
pub(crate) fn encode_children(out: &mut Vec<u8>, children: &[Xid]) {
    out.clear();
    put_list(out, children.iter().map(|xid| xid.0));
}

fn put_lists(out: &mut Vec<u8>, children: &[Xid], files: &[FileNumber]) {
    if !children.is_empty() {
        put_list(out, children.iter().map(|xid| xid.0));
    }
    if !files.is_empty() {
        put_list(out, files.iter().map(|file| file.0));
    }
}

fn put_list(out: &mut Vec<u8>, items: impl ExactSizeIterator<Item = u64>) {
    out.extend_from_slice(&(items.len() as u32).to_le_bytes());
    items.for_each(|item| out.extend_from_slice(&item.to_le_bytes()));
}

/// Reads numbers off the front of a payload.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn flags(&mut self, known: u32) -> Option<u32> {
        let flags = u32::from_le_bytes(self.take()?);
        (flags & !known == 0).then_some(flags)
    }

    fn list<T>(&mut self, present: bool, item: impl Fn(u64) -> T) -> Option<Vec<T>> {
        if !present {
            return Some(Vec::new());
        }
        let count = u32::from_le_bytes(self.take()?) as usize;
        if self.0.len() / 8 < count {
            return None;
        }
        (0..count).map(|_| Some(item(u64::from_le_bytes(self.take()?)))).collect()
    }
}

impl XactRecord {
    /// Reads a record. Takes any bytes: XX001 if they are no record.
    pub fn decode(record: &Record<'_>) -> Result<XactRecord> {
        let mut reader = Reader(record.payload);
        Self::read(record.head.info, &mut reader).filter(|_| reader.0.is_empty()).ok_or_else(|| {
            Error::corrupted(format!(
                "invalid transaction record of kind {:#04x} at {}",
                record.head.info, record.start
            ))
        })
    }

    fn read(info: u8, reader: &mut Reader<'_>) -> Option<XactRecord> {
        Some(match info {
            COMMIT => XactRecord::Commit(Self::read_commit(reader)?),
            COMMIT_PREPARED => XactRecord::CommitPrepared(Self::read_commit(reader)?),
            ABORT => {
                let (children, created_files) = Self::read_abort(reader)?;
                XactRecord::Abort { children, created_files }
            }
            ROLLBACK_PREPARED => {
                let (children, created_files) = Self::read_abort(reader)?;
                XactRecord::RollbackPrepared { children, created_files }
            }
            CHILDREN => XactRecord::Children(reader.list(true, Xid)?),
            PREPARE => XactRecord::Prepare(PrepareRecord::decode(std::mem::take(&mut reader.0)).ok()?),
            _ => return None,
        })
    }

    fn read_commit(reader: &mut Reader<'_>) -> Option<CommitRecord> {
        let at_micros = i64::from_le_bytes(reader.take()?);
        let flags = reader.flags(COMMIT_FLAGS)?;
        Some(CommitRecord {
            at_micros,
            children: reader.list(flags & HAS_CHILDREN != 0, Xid)?,
            dropped_files: reader.list(flags & HAS_FILES != 0, FileNumber)?,
            changes_catalog: flags & CHANGES_CATALOG != 0,
            has_pieces: flags & HAS_PIECES != 0,
        })
    }

    fn read_abort(reader: &mut Reader<'_>) -> Option<(Vec<Xid>, Vec<FileNumber>)> {
        let flags = reader.flags(ABORT_FLAGS)?;
        Some((reader.list(flags & HAS_CHILDREN != 0, Xid)?, reader.list(flags & HAS_FILES != 0, FileNumber)?))
    }

    /// One line for `waldump`.
    pub fn describe(&self) -> String {
        let count = |count: usize, what: &str| match count {
            0 => String::new(),
            1 => format!("; 1 {what}"),
            more => format!("; {more} {what}s"),
        };
        let commit = |what: &str, commit: &CommitRecord| {
            format!(
                "{what} at {} us{}{}{}{}",
                commit.at_micros,
                count(commit.children.len(), "subtransaction"),
                if commit.has_pieces { " and those before" } else { "" },
                count(commit.dropped_files.len(), "dropped file"),
                if commit.changes_catalog { "; catalog" } else { "" },
            )
        };
        let abort = |what: &str, children: &[Xid], files: &[FileNumber]| {
            format!("{what}{}{}", count(children.len(), "subtransaction"), count(files.len(), "created file"))
        };
        match self {
            XactRecord::Commit(record) => commit("COMMIT", record),
            XactRecord::CommitPrepared(record) => commit("COMMIT PREPARED", record),
            XactRecord::Abort { children, created_files } => abort("ABORT", children, created_files),
            XactRecord::RollbackPrepared { children, created_files } => {
                abort("ROLLBACK PREPARED", children, created_files)
            }
            XactRecord::Children(children) => format!("CHILDREN{}", count(children.len(), "subtransaction")),
            XactRecord::Prepare(record) => format!(
                "PREPARE gid '{}' at {} us{}{}{}{}",
                record.gid,
                record.at_micros,
                count(record.children.len(), "subtransaction"),
                count(record.dropped_files.len(), "dropped file"),
                count(record.created_files.len(), "created file"),
                if record.changes_catalog { "; catalog" } else { "" },
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use base::Lsn;
    use wal::Epoch;

    use super::*;

    fn decode(info: u8, payload: &[u8]) -> Result<XactRecord> {
        let head = head(info, Xid(9));
        XactRecord::decode(&Record { start: Lsn(64), end: Lsn(128), epoch: Epoch::FIRST, head, payload })
    }

    #[test]
    fn records_read_back_as_written() {
        let mut bytes = Vec::new();
        for (children, files, changes_catalog, has_pieces) in [
            (vec![], vec![], false, false),
            (vec![Xid(3), Xid(1 << 61)], vec![], true, true),
            (vec![], vec![FileNumber(7)], true, false),
            (vec![Xid(5)], vec![FileNumber(1), FileNumber(u64::MAX)], false, true),
        ] {
            encode_commit(&mut bytes, -5, &children, &files, changes_catalog, has_pieces);
            let commit = CommitRecord {
                at_micros: -5,
                children: children.clone(),
                dropped_files: files.clone(),
                changes_catalog,
                has_pieces,
            };
            assert_eq!(decode(COMMIT, &bytes).unwrap(), XactRecord::Commit(commit));
            encode_abort(&mut bytes, &children, &files);
            let abort = XactRecord::Abort { children: children.clone(), created_files: files };
            assert_eq!(decode(ABORT, &bytes).unwrap(), abort);
            encode_children(&mut bytes, &children);
            assert_eq!(decode(CHILDREN, &bytes).unwrap(), XactRecord::Children(children));
        }
    }

    // invariants: row 26
    #[test]
    fn damaged_records_are_errors() {
        let mut bytes = Vec::new();
        encode_commit(&mut bytes, 1, &[Xid(3), Xid(4)], &[FileNumber(7)], true, false);
        for cut in 0..bytes.len() {
            assert!(decode(COMMIT, &bytes[..cut]).is_err());
            for value in [0, 1, 0x7F, 0xFF] {
                let mut damaged = bytes.clone();
                damaged[cut] = value;
                for info in [COMMIT, ABORT, CHILDREN, 0x77] {
                    let _ = decode(info, &damaged);
                }
            }
        }
        bytes.push(0);
        assert!(decode(COMMIT, &bytes).is_err(), "bytes are left over");
        assert!(decode(CHILDREN, &u32::MAX.to_le_bytes()).is_err());
    }
}
