//! Signatures first; each moves to its own module as it is filled in.
#![allow(missing_docs, unused_variables, clippy::too_many_arguments)]

use std::sync::Arc;

use base::{CommandId, FileNumber, Liveness, Lsn, Oid, Result, Tid, Xid};
use buffer::BufferPool;
use clog::{StatusStore, TxnCtx};
use lockmgr::{LockManager, RowLockMode, RowTurn, WaitPolicy};
use wal::Wal;

/// The longest payload of a tuple, in bytes.
pub const PAYLOAD_MAX_BYTES: usize = 8000;

pub trait RemovalFloor: Send + Sync {
    /// Versions whose remover's csn is at or below this are dead to every snapshot, present and future.
    fn floor(&self) -> Lsn;
}

pub struct HeapServices {
    pub pool: Arc<BufferPool>,
    pub wal: Arc<Wal>,
    pub status: Arc<StatusStore>,
    pub locks: Arc<LockManager>,
    pub removal_floor: Arc<dyn RemovalFloor>,
}

/// What became of an attempt to update, delete or lock a version.
pub enum Modify {
    /// Done; `tid` is the new version (or the locked, or the deleted one).
    Done { tid: Tid, hot: bool },
    /// The own transaction changed it, in this command (or a later one).
    SelfModified { command: CommandId },
    /// Somebody else's committed update. Read committed re-checks `newest` and tries again there, handing the turn on;
    /// repeatable read raises 40001. Dropping the turn lets the next waiter try.
    Updated { newest: Tid, csn: Lsn, turn: Option<RowTurn> },
    /// Somebody else's committed delete.
    Deleted { csn: Lsn },
    /// SKIP LOCKED met a holder.
    Skipped,
}

/// How to update or delete.
pub struct UpdateOptions {
    /// Update: an index needs a new entry, so no HOT.
    pub indexed_columns_changed: bool,
    /// NoKeyUpdate, or Update when a unique key's columns change (delete: always Update).
    pub mode: RowLockMode,
    pub wait: WaitPolicy,
    /// The turn that came with `Modify::Updated`, on the retry.
    pub turn: Option<RowTurn>,
}

/// One table's tuples.
pub struct Heap {
    pub relation: Oid,
    pub file: FileNumber,
}

impl Heap {
    /// `fillfactor` in percent (100: fill pages; less leaves room for HOT updates).
    pub fn new(services: Arc<HeapServices>, relation: Oid, file: FileNumber, fillfactor: u8) -> Heap {
        todo!()
    }
    pub fn services(&self) -> &Arc<HeapServices> {
        todo!()
    }

    pub fn insert(&self, ctx: &TxnCtx<'_>, payload: &[u8]) -> Result<Tid> {
        todo!()
    }
    /// COPY and INSERT ... SELECT: fills pages, one log record per page; calls `placed` with index into `payloads` and tid, in order.
    pub fn insert_many(&self, ctx: &TxnCtx<'_>, payloads: &[&[u8]], placed: &mut dyn FnMut(usize, Tid)) -> Result<()> {
        todo!()
    }

    /// That very version, if visible. `f` runs under the page's shared latch: it must not wait.
    pub fn read<R>(&self, ctx: &TxnCtx<'_>, tid: Tid, f: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        todo!()
    }
    /// The visible member of the HOT chain an index entry points to.
    pub fn read_chain<R>(&self, ctx: &TxnCtx<'_>, root: Tid, f: impl FnOnce(Tid, &[u8]) -> R) -> Result<Option<R>> {
        todo!()
    }
    /// The newest committed-or-own version that `tid` was updated to (perhaps itself); none when the row is deleted.
    pub fn newest_version<R>(&self, ctx: &TxnCtx<'_>, tid: Tid, f: impl FnOnce(Tid, &[u8]) -> R) -> Result<Option<R>> {
        todo!()
    }
    /// For unique checks: follows the HOT chain of `root`.
    pub fn dirty_status(&self, ctx: &TxnCtx<'_>, root: Tid) -> Result<Liveness> {
        todo!()
    }

    /// Waits inside for other transactions that hold the row.
    pub fn update(&self, ctx: &TxnCtx<'_>, tid: Tid, payload: &[u8], options: UpdateOptions) -> Result<Modify> {
        todo!()
    }
    pub fn delete(&self, ctx: &TxnCtx<'_>, tid: Tid, wait: WaitPolicy, turn: Option<RowTurn>) -> Result<Modify> {
        todo!()
    }
    /// SELECT ... FOR UPDATE and its kin: an entry in memory, nothing on the page but a hint that there is one.
    pub fn lock(
        &self,
        ctx: &TxnCtx<'_>,
        tid: Tid,
        mode: RowLockMode,
        wait: WaitPolicy,
        turn: Option<RowTurn>,
    ) -> Result<Modify> {
        todo!()
    }

    pub fn scan(&self) -> Result<HeapScan<'_>> {
        todo!()
    }
    /// A scan of some blocks only (sampling).
    pub fn scan_blocks(&self, blocks: std::ops::Range<u32>) -> HeapScan<'_> {
        todo!()
    }
    pub fn block_count(&self) -> Result<u32> {
        todo!()
    }

    /// One step of vacuum: prunes, freezes and collects dead line pointers of blocks from `from` on.
    /// `without_indexes`: line pointers are freed at once instead of being reported.
    pub fn vacuum_step(&self, from: u32, max_blocks: u32, without_indexes: bool) -> Result<VacuumStep> {
        todo!()
    }
    /// After no index points to them any more.
    pub fn vacuum_free(&self, dead: &[Tid]) -> Result<()> {
        todo!()
    }
    /// Cuts the empty tail off. The caller holds the relation's AccessExclusive lock. Returns blocks removed.
    pub fn truncate_tail(&self) -> Result<u32> {
        todo!()
    }

    /// Reads all tuples whatever their visibility (index build, checks): `f(tid of root line pointer, tid, liveness for build, bytes)`.
    pub fn scan_for_build(&self, ctx: &TxnCtx<'_>, f: &mut dyn FnMut(BuildTuple<'_>) -> Result<()>) -> Result<()> {
        todo!()
    }
}

/// A tuple an index build must enter.
pub struct BuildTuple<'a> {
    /// What the index entry points to.
    pub root: Tid,
    pub tid: Tid,
    pub payload: &'a [u8],
    /// Live, or only visible to older snapshots (enter it, but don't check uniqueness against it).
    pub live: bool,
}

/// What a step of vacuum did.
#[derive(Default, Debug)]
pub struct VacuumStep {
    /// Where to go on; none at the end.
    pub next: Option<u32>,
    /// Line pointers whose index entries must go, then `vacuum_free`. Sorted.
    pub dead: Vec<Tid>,
    pub live_tuples: u64,
    /// Dead, but not yet to everyone.
    pub recently_dead_tuples: u64,
    pub removed_tuples: u64,
    /// The oldest xid left in these blocks that is not frozen: clog is needed from here on.
    pub oldest_xid: Option<Xid>,
}

/// The visible tuples of one page, copied out. Reused from page to page.
#[derive(Default)]
pub struct PageTuples {}
impl PageTuples {
    pub fn new() -> PageTuples {
        todo!()
    }
    pub fn len(&self) -> usize {
        todo!()
    }
    pub fn is_empty(&self) -> bool {
        todo!()
    }
    pub fn get(&self, index: usize) -> (Tid, &[u8]) {
        todo!()
    }
    pub fn iter(&self) -> impl Iterator<Item = (Tid, &[u8])> {
        std::iter::empty()
    }
}

pub struct HeapScan<'a> {
    heap: &'a Heap,
}
impl HeapScan<'_> {
    /// Fills `out` with the next page that has visible tuples; false at the end.
    pub fn next_page(&mut self, ctx: &TxnCtx<'_>, out: &mut PageTuples) -> Result<bool> {
        todo!()
    }
    /// The block that comes next (to keep a scan's place without keeping the scan) .
    pub fn position(&self) -> std::ops::Range<u32> {
        todo!()
    }
}

/// Redo of heap records. One per recovery: it remembers pages that were missing, and `finish` says whether they may be.
#[derive(Default)]
pub struct HeapRedo {}
impl HeapRedo {
    pub fn new() -> HeapRedo {
        todo!()
    }
    /// `end` is the record's end; `payload` what follows its header.
    pub fn apply(&mut self, pool: &BufferPool, end: Lsn, xid: Xid, info: u8, payload: &[u8]) -> Result<()> {
        todo!()
    }
    /// XX001 if a page was missing that no later truncation or drop explains.
    pub fn finish(&self, pool: &BufferPool) -> Result<()> {
        todo!()
    }
}

/// One line about a record, for waldump.
pub fn describe(info: u8, payload: &[u8]) -> String {
    todo!()
}
