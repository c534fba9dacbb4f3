//! Scans that several threads make together, each a part of the table at a time.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use base::{OwnerId, Result, Tid, Xid};
use clog::{Snapshot, StatusStore, TxnCtx};
use heap::PageTuples;
use sync::Interrupt;
use sync::atomic::AtomicU64;

use crate::scan::TableScan;
use crate::session::Session;
use crate::table::Table;
use schema::row::has_detached;

/// The state with which any thread can read a part of a table as a session's statement sees it. The caller of
/// `TableScan::share` must keep the statement's snapshot and lock as long as a thread reads.
pub struct SharedScan {
    table: Arc<Table>,
    blocks: Range<u32>,
    snapshot: Snapshot,
    xid: Xid,
    top_xid: Xid,
    owner: OwnerId,
    status: Arc<StatusStore>,
    /// The session's own: what is met here counts as met by the session (R3).
    observed: Arc<AtomicU64>,
    /// Of nobody: reading a page waits for no transaction.
    interrupt: Interrupt,
}

impl SharedScan {
    /// The blocks there are to read.
    pub fn blocks(&self) -> Range<u32> {
        self.blocks.clone()
    }

    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Gives the visible rows of some of the blocks to `take`, in physical order, until it says that it wants no more. False if it
    /// did, or if a row was met with values that were moved out of it: what was given so far is not all then.
    ///
    /// # Errors
    /// XX001 and 58030 for a page that can't be read, and those of `take`.
    pub fn read(
        &self,
        blocks: Range<u32>,
        page: &mut PageTuples,
        mut take: impl FnMut(Tid, &[u8]) -> Result<bool>,
    ) -> Result<bool> {
        let ctx = TxnCtx {
            xid: self.xid,
            top_xid: self.top_xid,
            snapshot: self.snapshot,
            command: self.snapshot.command,
            status: &self.status,
            observed: &self.observed,
            owner: self.owner,
            interrupt: &self.interrupt,
            lock_timeout: None,
            deadlock_timeout: Duration::MAX,
            watch: None,
        };
        let mut scan = self.table.heap.scan_blocks(blocks);
        while scan.next_page(&ctx, page)? {
            for (tid, bytes) in page.iter() {
                if has_detached(bytes) || !take(tid, bytes)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

impl TableScan {
    /// Leaves the first `blocks` of what is still to come to this scan, and makes the others one that several threads can
    /// read. `None` if all of them are fewer than `blocks_min`, or for a serializable transaction, whose reads are noted one by one.
    pub fn share(&mut self, session: &Session, blocks: u32, blocks_min: u32) -> Option<SharedScan> {
        let split = self.blocks.start.saturating_add(blocks);
        if split >= self.blocks.end || self.blocks.end - self.blocks.start < blocks_min {
            return None;
        }
        let observed = session.observed_cell();
        let scan = session.with_ctx(|ctx| {
            let scan = SharedScan {
                table: Arc::clone(&self.table),
                blocks: split..self.blocks.end,
                snapshot: ctx.snapshot,
                xid: ctx.xid,
                top_xid: ctx.top_xid,
                owner: ctx.owner,
                status: Arc::clone(&session.shared().status),
                observed,
                interrupt: Interrupt::new(),
            };
            ctx.watch.is_none().then_some(scan)
        })?;
        self.blocks.end = split;
        Some(scan)
    }

    /// Goes on with these blocks, which exist.
    pub fn continue_with(&mut self, blocks: Range<u32>) {
        self.blocks = blocks;
    }
}
