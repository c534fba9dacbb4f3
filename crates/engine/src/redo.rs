//! Redo: the one list of handlers, and what recovery collects on its way through the log.

use base::limits::PAGE_SIZE_BYTES;
use base::{Error, FileNumber, Lsn, Oid, Result, Xid};
use btree::BTreeRedo;
use buffer::{BufferPool, FileRemovals, PageId};
use heap::HeapRedo;
use sync::Arc;
use sync::atomic::{AtomicU64, Ordering};
use wal::{Record, RmgrId};
use xact::{RecoveredTransactions, XactRedo};

use crate::sequence;

/// Records of the engine itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EngineRecord {
    /// A file was made.
    FileCreated(FileNumber),
    /// Object identifiers below this were reserved.
    OidsReserved(Oid),
    /// A checkpoint was completed, whose redo point is this.
    CheckpointCompleted(Lsn),
    /// Somebody has given this place in the log a name.
    RestorePoint(String),
    /// A page of a file that is copied.
    PageCopied {
        /// The copy.
        file: FileNumber,
        /// The page.
        block: u32,
        /// Its contents.
        bytes: Box<[u8]>,
    },
}

impl EngineRecord {
    pub(crate) const FILE_CREATED: u8 = 1;
    pub(crate) const OIDS_RESERVED: u8 = 2;
    pub(crate) const CHECKPOINT_COMPLETED: u8 = 3;
    pub(crate) const RESTORE_POINT: u8 = 4;
    pub(crate) const PAGE_COPIED: u8 = 5;
    /// How much room [`EngineRecord::PAGE_COPIED`] takes.
    pub(crate) const PAGE_COPIED_BYTES_MAX: usize = PAGE_SIZE_BYTES + 64;

    /// Reads a record. Takes any bytes.
    ///
    /// # Errors
    /// XX001 if they are no record.
    pub fn decode(info: u8, payload: &[u8]) -> Result<EngineRecord> {
        let damaged = || Error::corrupted(format!("engine record of kind {info} is damaged"));
        match info {
            Self::FILE_CREATED => payload
                .try_into()
                .map(|bytes| EngineRecord::FileCreated(FileNumber(u64::from_le_bytes(bytes))))
                .map_err(|_| damaged()),
            Self::OIDS_RESERVED => payload
                .try_into()
                .map(|bytes| EngineRecord::OidsReserved(Oid(u32::from_le_bytes(bytes))))
                .map_err(|_| damaged()),
            Self::CHECKPOINT_COMPLETED => payload
                .try_into()
                .map(|bytes| EngineRecord::CheckpointCompleted(Lsn(u64::from_le_bytes(bytes))))
                .map_err(|_| damaged()),
            Self::RESTORE_POINT => std::str::from_utf8(payload)
                .map(|name| EngineRecord::RestorePoint(name.to_owned()))
                .map_err(|_| damaged()),
            Self::PAGE_COPIED => Self::decode_page(payload).ok_or_else(damaged),
            _ => Err(damaged()),
        }
    }

    fn describe(&self) -> String {
        match self {
            EngineRecord::PageCopied { file, block, .. } => format!("page {block} of file {file} copied"),
            other => format!("{other:?}"),
        }
    }

    fn decode_page(payload: &[u8]) -> Option<EngineRecord> {
        let (file, rest) = payload.split_first_chunk()?;
        let (block, bytes) = rest.split_first_chunk()?;
        (bytes.len() == PAGE_SIZE_BYTES).then(|| EngineRecord::PageCopied {
            file: FileNumber(u64::from_le_bytes(*file)),
            block: u32::from_le_bytes(*block),
            bytes: bytes.into(),
        })
    }
}

/// The knowledge that recovery has gained when it reaches the log's end.
pub(crate) struct Recovered {
    pub(crate) transactions: RecoveredTransactions,
    pub(crate) next_oid: u32,
    pub(crate) next_file: u64,
    pub(crate) records: u64,
    /// Pages that records presupposed and that were not there, each with the end of the first such record.
    pub(crate) missing: Vec<(PageId, Lsn)>,
}

impl Recovered {
    /// XX001 if a page is missing from a file that is in use, as `is_used` says. Files that nobody uses were removed before
    /// the process ended, and the log need not say so.
    pub(crate) fn check_missing(&self, is_used: impl Fn(FileNumber) -> bool) -> Result<()> {
        match self.missing.iter().find(|(page, _)| is_used(page.file)) {
            None => Ok(()),
            Some((page, lsn)) => Err(Error::corrupted(format!(
                "block {} of relation file {} is empty, but the log changed it at {lsn}",
                page.block, page.file
            ))),
        }
    }
}

/// Recovery under way.
pub(crate) struct Redo {
    pool: Arc<BufferPool>,
    removals: Arc<FileRemovals>,
    heap: HeapRedo,
    btree: BTreeRedo,
    xact: XactRedo,
    next_oid: u32,
    next_file: u64,
    records: u64,
    page_lsn_met: Arc<AtomicU64>,
}

impl Redo {
    pub(crate) fn new(
        pool: Arc<BufferPool>,
        removals: Arc<FileRemovals>,
        xact: XactRedo,
        next_oid: u32,
        next_file: u64,
        page_lsn_met: Arc<AtomicU64>,
    ) -> Redo {
        Redo {
            pool,
            removals,
            heap: HeapRedo::new(page_lsn_met.clone()),
            btree: BTreeRedo::new(page_lsn_met.clone()),
            xact,
            next_oid,
            next_file,
            records: 0,
            page_lsn_met,
        }
    }

    /// Applies a record. Idempotent: pages know by their LSN what has reached them.
    pub(crate) fn apply(&mut self, record: &Record<'_>) -> Result<()> {
        let (head, end, payload) = (record.head, record.end, record.payload);
        self.records += 1;
        self.xact.note(head.xid);
        match head.rmgr {
            RmgrId::XACT => self.xact.apply(record).map(|()| self.removals.remove_if_many()),
            RmgrId::HEAP => self.heap.apply(&self.pool, end, head.xid, head.info, payload),
            RmgrId::BTREE => self.btree.apply(&self.pool, end, head.xid, head.info, payload),
            RmgrId::ENGINE => self.apply_engine(EngineRecord::decode(head.info, payload)?, end),
            RmgrId::SEQUENCE => {
                let met = sequence::redo(&self.pool, end, payload)?;
                self.page_lsn_met.fetch_max(met.0, Ordering::Relaxed);
                Ok(())
            }
            RmgrId(other) => Err(Error::corrupted(format!("log record at {} has unknown owner {other}", record.start))),
        }
        .map_err(|error| error.context(format!("redo at {} for {}", record.start, describe(record))))
    }

    fn apply_engine(&mut self, record: EngineRecord, end: Lsn) -> Result<()> {
        match record {
            EngineRecord::FileCreated(file) => {
                self.next_file = self.next_file.max(file.0 + 1);
                self.pool.create_file_for_redo(file)
            }
            EngineRecord::OidsReserved(oid) => {
                self.next_oid = self.next_oid.max(oid.0);
                Ok(())
            }
            EngineRecord::CheckpointCompleted(_) | EngineRecord::RestorePoint(_) => Ok(()),
            EngineRecord::PageCopied { file, block, bytes } => {
                let pinned = self.pool.pin_for_redo(PageId::new(file, block))?;
                let mut page = pinned.write();
                self.page_lsn_met.fetch_max(page.lsn().0, Ordering::Relaxed);
                if page.lsn() < end {
                    page.copy_from_slice(&bytes);
                    page.set_lsn(end);
                }
                Ok(())
            }
        }
    }

    /// At the log's end.
    pub(crate) fn finish(self) -> Recovered {
        Recovered {
            transactions: self.xact.finish(),
            next_oid: self.next_oid,
            next_file: self.next_file,
            records: self.records,
            missing: self.heap.finish().chain(self.btree.finish()).collect(),
        }
    }
}

/// The name of a record's owner.
pub fn rmgr_name(rmgr: RmgrId) -> &'static str {
    match rmgr {
        RmgrId::WAL => "WAL",
        RmgrId::XACT => "Transaction",
        RmgrId::HEAP => "Heap",
        RmgrId::BTREE => "Btree",
        RmgrId::ENGINE => "Engine",
        RmgrId::BUFFER => "Buffer",
        RmgrId::SEQUENCE => "Sequence",
        _ => "unknown",
    }
}

/// A record in one line, for people.
pub fn describe(record: &Record<'_>) -> String {
    let (info, payload) = (record.head.info, record.payload);
    let what = match record.head.rmgr {
        RmgrId::XACT => xact::XactRecord::decode(record).map_or_else(|error| error.to_string(), |r| r.describe()),
        RmgrId::HEAP => heap::describe(info, payload),
        RmgrId::BTREE => btree::describe(info, payload),
        RmgrId::ENGINE => {
            EngineRecord::decode(info, payload).map_or_else(|error| error.to_string(), |record| record.describe())
        }
        RmgrId::SEQUENCE => sequence::describe(payload),
        _ => format!("kind {info}, {} bytes", payload.len()),
    };
    let xid = record.head.xid;
    if xid == Xid::INVALID {
        format!("{}: {what}", rmgr_name(record.head.rmgr))
    } else {
        format!("{}: {what} (xid {xid})", rmgr_name(record.head.rmgr))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // invariants: row 26
    #[test]
    fn any_bytes_decode_to_a_record_or_an_error() {
        for info in 0..=255 {
            for length in (0..20).chain(PAGE_SIZE_BYTES + 11..PAGE_SIZE_BYTES + 14) {
                let _ = EngineRecord::decode(info, &vec![0xA5; length]);
            }
        }
        assert_eq!(
            EngineRecord::decode(EngineRecord::FILE_CREATED, &7u64.to_le_bytes()).unwrap(),
            EngineRecord::FileCreated(FileNumber(7))
        );
        let point = EngineRecord::decode(EngineRecord::RESTORE_POINT, "before the move".as_bytes()).unwrap();
        assert_eq!(point, EngineRecord::RestorePoint("before the move".into()));
        let page = [&7u64.to_le_bytes()[..], &3u32.to_le_bytes(), &[9; PAGE_SIZE_BYTES]].concat();
        let copied = EngineRecord::decode(EngineRecord::PAGE_COPIED, &page).unwrap();
        assert_eq!(copied.describe(), "page 3 of file 7 copied");
    }
}
