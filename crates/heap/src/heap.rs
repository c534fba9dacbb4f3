//! One table's heap, and what it needs from below.

use std::sync::OnceLock;

use base::{CommandId, Error, FileNumber, Lsn, Oid, Result, Tid, Xid};
use buffer::{BufferPool, PageId, Pinned};
use clog::{StatusStore, TxnCtx};
use lockmgr::{LockManager, RowTurn};
use sync::Arc;
use wal::{RecordHead, RmgrId, Wal};

use crate::page::{PAYLOAD_MAX_BYTES, Page};
use crate::space::Space;

/// Tells which versions nobody can see any more.
pub trait RemovalFloor: Send + Sync {
    /// Versions whose remover's csn is at or below this are dead to every snapshot, present and future.
    /// One load: it is asked on hot paths.
    fn floor(&self) -> Lsn;

    /// Looks at every snapshot and raises the floor as far as it goes. Asked before a row must leave its page because versions that
    /// might be dead fill it.
    fn raise(&self) -> Lsn {
        self.floor()
    }
}

/// The services that a heap uses.
pub struct HeapServices {
    /// The page cache.
    pub pool: Arc<BufferPool>,
    /// The log.
    pub wal: Arc<Wal>,
    /// The status of transactions.
    pub status: Arc<StatusStore>,
    /// Row waits and row locks.
    pub locks: Arc<LockManager>,
    /// The removal floor: versions whose removal committed above it must stay.
    pub removal_floor: Arc<dyn RemovalFloor>,
}

/// The result of an attempt to update, delete or lock a version.
pub enum Modify<'a> {
    /// It is done.
    Done {
        /// The new version; the version itself if it was deleted or locked.
        tid: Tid,
        /// The new version needs no index entries.
        hot: bool,
    },
    /// The own transaction changed it already.
    SelfModified {
        /// By which command.
        command: CommandId,
    },
    /// Somebody else's update is committed. At read committed the caller looks at the newest version ([`Heap::newest_version`]),
    /// and tries again with that one if it still wants it, handing the turn back; above, it raises 40001.
    Updated {
        /// The version that it was updated to; perhaps not the newest.
        newest: Tid,
        /// When the update was committed.
        csn: Lsn,
        /// The right to try next, if it came to waiting. Dropping it lets the next one try.
        turn: Option<RowTurn<'a>>,
    },
    /// Somebody else's delete is committed.
    Deleted {
        /// When.
        csn: Lsn,
    },
    /// SKIP LOCKED met a holder.
    Skipped,
}

/// One table's tuples. Shared by all sessions: it keeps the table's insertion blocks and map of free space.
pub struct Heap {
    /// The table, as locks on its rows name it.
    pub relation: Oid,
    /// Where its pages are.
    pub file: FileNumber,
    pub(crate) services: Arc<HeapServices>,
    /// The room that an insert leaves free in a page that has tuples, in bytes.
    pub(crate) reserve_bytes: usize,
    /// Shared by all heaps of the file.
    space: Arc<OnceLock<Space>>,
}

impl Heap {
    /// The heap in `file`, which exists. `fillfactor` in percent: how full inserts make a page; the rest is for updates.
    pub fn new(services: Arc<HeapServices>, relation: Oid, file: FileNumber, fillfactor: u8) -> Heap {
        Heap { relation, file, services, reserve_bytes: reserve_bytes(fillfactor), space: Arc::default() }
    }

    /// The same heap with another fillfactor. Both share the map of free space: a block that one heap cuts off must not be used by the
    /// other.
    #[must_use]
    pub fn with_fillfactor(&self, fillfactor: u8) -> Heap {
        let (services, space) = (Arc::clone(&self.services), Arc::clone(&self.space));
        Heap { relation: self.relation, file: self.file, services, reserve_bytes: reserve_bytes(fillfactor), space }
    }

    /// Returns the services that the heap uses.
    pub fn services(&self) -> &Arc<HeapServices> {
        &self.services
    }

    /// How many blocks the file has.
    pub fn block_count(&self) -> Result<u32> {
        self.services.pool.block_count(self.file)
    }

    /// The map of free space, empty at first use: if the file can't even be measured, inserts will tell.
    pub(crate) fn space(&self) -> &Space {
        self.space.get_or_init(|| Space::new(self.block_count().unwrap_or(0)))
    }

    #[inline]
    pub(crate) fn pin(&self, block: u32) -> Result<Pinned<'_>> {
        self.services.pool.pin(PageId::new(self.file, block))
    }

    /// Versions removed at or below this are dead to all snapshots, and the log says so durably.
    pub(crate) fn settled_below(&self) -> Lsn {
        self.services.removal_floor.floor().min(self.services.wal.durable())
    }

    /// Logs a change; returns the end of its record, which the changed pages get as their LSN. They stay latched in between:
    /// a checkpoint that takes its redo point behind the record looks into every page that is.
    pub(crate) fn log(&self, info: u8, xid: Xid, parts: &[&[u8]]) -> Lsn {
        self.services.wal.insert(RecordHead { rmgr: RmgrId::HEAP, info, xid }, parts).end
    }

    /// Puts down how much room a page has.
    pub(crate) fn note_room(&self, block: u32, page: &[u8]) {
        self.space().note(block, Page::new(page).room());
    }
}

fn reserve_bytes(fillfactor: u8) -> usize {
    base::limits::PAGE_SIZE_BYTES * (100 - usize::from(fillfactor.clamp(10, 100))) / 100
}

/// The own xid, without which nothing can be written.
pub(crate) fn writing_xid(ctx: &TxnCtx<'_>) -> Result<Xid> {
    if ctx.xid.is_valid() {
        Ok(ctx.xid)
    } else {
        Err(Error::internal("a row is written without a transaction identifier"))
    }
}

/// Refuses a payload that no page can hold.
pub(crate) fn check_length(payload: &[u8]) -> Result<()> {
    if payload.len() <= PAYLOAD_MAX_BYTES {
        return Ok(());
    }
    Err(Error::internal(format!("row is too big: size {}, maximum size {PAYLOAD_MAX_BYTES}", payload.len())))
}
