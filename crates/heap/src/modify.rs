//! Changing rows: update, delete and lock, with the waits for whoever changes them at the same time.
//!
//! Each looks at the version under its page's exclusive latch and either acts at once, under the same
//! latch, or says why it can't, or gives up latch and pin, waits its turn in the row's queue
//! (`lockmgr`), and looks again.
//!
//! A queue is named after the newest version of its row: the one an update in progress has made. So all
//! who meet the same row come to the same queue, and it goes with the row from version to version: the
//! heir that updates the row takes the others along ([`RowTurn::updated`]).
//!
//! Locks that outlast an update by another transaction (a key-share lock and an update that leaves keys
//! alone) are copied to the new version under the page latch, before that version can be reached. They
//! stay on the old one too, which is the row again if the update aborts. The same goes the other way
//! about: who locks a version that is just being updated locks the versions made from it as well. A key-share lock is given on
//! a version that a committed update of other columns has replaced, too, and lies on the newer ones: a reader of an older snapshot
//! may keep its key.

use base::limits::PAGE_SIZE_BYTES;
use base::{CommandId, Error, Result, Tid, Xid};
use buffer::{PageWrite, Pinned};
use clog::{TransactionStatus, TxnCtx};
use lockmgr::{LockOptions, RowLockAttempt, RowLockMode, RowTurn, WaitPolicy};

use crate::heap::{Heap, Modify, check_length, writing_xid};
use crate::page::{Item, Page, PageMut};
use crate::record::{self, Head};
use crate::tuple::{HEADER_BYTES, Tuple, flag, new_header};

/// How to update a version.
pub struct UpdateOptions<'a> {
    /// An index needs an entry for the new version, so that it can't be heap-only.
    pub indexed_columns_changed: bool,
    /// [`RowLockMode::NoKeyUpdate`], or [`RowLockMode::Update`] when columns of a unique key change.
    pub mode: RowLockMode,
    /// The policy when another transaction is changing the row.
    pub wait: WaitPolicy,
    /// The turn that came with [`Modify::Updated`], when trying again.
    pub turn: Option<RowTurn<'a>>,
}

/// The reason why a version can't be changed, if there is one.
enum Obstacle<'a> {
    None,
    /// Wait for the end of `holder`, in the queue named by `tid`.
    Holder {
        holder: Xid,
        tid: Tid,
    },
    /// There is nothing left to wait for.
    Answer(Modify<'a>),
}

/// The successor of a version that was updated, or was just being updated, when it was locked: its place, and the xid that made it.
type Successor = Option<(Tid, Xid)>;

/// The result of locking a version of a row and all later versions.
enum LockedVersions<'a> {
    /// Locked, up to this one.
    To(Tid),
    /// Something stands in the way further on.
    Not(Obstacle<'a>),
    /// A page latch was not to be had.
    TryAgain,
}

/// The result of locking the next version of a row.
enum NextVersion<'a> {
    Locked(Successor),
    Obstacle(Obstacle<'a>),
}

impl Heap {
    /// Updates the version at `tid`, which the caller saw, to `payload`.
    ///
    /// # Errors
    /// XX000 for a payload that is too long; 55P03, 40P01 and 57014 from waiting; what the page cache fails with.
    pub fn update<'a>(
        &'a self,
        ctx: &TxnCtx<'_>,
        tid: Tid,
        payload: &[u8],
        options: UpdateOptions<'a>,
    ) -> Result<Modify<'a>> {
        check_length(payload)?;
        let xid = writing_xid(ctx)?;
        let UpdateOptions { indexed_columns_changed, mode, wait, mut turn } = options;
        loop {
            self.services.wal.ensure_room(payload.len() + 128);
            let pinned = self.pin(tid.block)?;
            let mut guard = pinned.write();
            match self.obstacle(ctx, Page::new(&guard), tid, mode, &mut turn)? {
                Obstacle::None => {
                    let heap_only = !indexed_columns_changed;
                    let new_tid = self.replace(ctx, xid, &mut guard, tid, payload, mode, heap_only)?;
                    drop(guard);
                    if let Some(turn) = turn {
                        turn.updated(new_tid, xid, mode);
                    }
                    return Ok(Modify::Done { tid: new_tid, hot: heap_only && new_tid.block == tid.block });
                }
                Obstacle::Answer(answer) => return Ok(answer),
                Obstacle::Holder { holder, tid: queue } => {
                    drop(guard);
                    drop(pinned);
                    if !self.wait(ctx, queue, holder, mode, wait, &mut turn)? {
                        return Ok(Modify::Skipped);
                    }
                }
            }
        }
    }

    /// Deletes the version at `tid`, which the caller saw. Errors as for [`Heap::update`].
    pub fn delete<'a>(
        &'a self,
        ctx: &TxnCtx<'_>,
        tid: Tid,
        wait: WaitPolicy,
        mut turn: Option<RowTurn<'a>>,
    ) -> Result<Modify<'a>> {
        let xid = writing_xid(ctx)?;
        let mode = RowLockMode::Update;
        loop {
            self.services.wal.ensure_room(64);
            let pinned = self.pin(tid.block)?;
            let mut guard = pinned.write();
            match self.obstacle(ctx, Page::new(&guard), tid, mode, &mut turn)? {
                Obstacle::None => {
                    self.mark_deleted(ctx, xid, &mut guard, tid);
                    drop(guard);
                    if let Some(turn) = turn {
                        turn.updated(tid, xid, mode);
                    }
                    return Ok(Modify::Done { tid, hot: false });
                }
                Obstacle::Answer(answer) => return Ok(answer),
                Obstacle::Holder { holder, tid: queue } => {
                    drop(guard);
                    drop(pinned);
                    if !self.wait(ctx, queue, holder, mode, wait, &mut turn)? {
                        return Ok(Modify::Skipped);
                    }
                }
            }
        }
    }

    /// Takes back the version at `tid`, which the own command has just inserted and nobody else can have met but as in progress.
    ///
    /// # Errors
    /// XX000 if it is another's; what the page cache fails with.
    pub fn take_back(&self, ctx: &TxnCtx<'_>, tid: Tid) -> Result<()> {
        let xid = writing_xid(ctx)?;
        self.services.wal.ensure_room(64);
        let pinned = self.pin(tid.block)?;
        let mut guard = pinned.write();
        let made_by = match Page::new(&guard).tuple(tid.slot) {
            Some(tuple) => self.made_underway(ctx, tuple, tid)?,
            None => None,
        };
        if made_by.is_none() {
            return Err(Error::internal(format!("{tid} of relation {} is not this command's", self.relation)));
        }
        self.mark_deleted(ctx, xid, &mut guard, tid);
        Ok(())
    }

    fn mark_deleted(&self, ctx: &TxnCtx<'_>, xid: Xid, guard: &mut PageWrite<'_>, tid: Tid) {
        let mut page = PageMut::new(guard);
        page.remove(tid.slot, xid, ctx.command, tid, flag::DELETED | flag::KEYS_CHANGED);
        let head: Head<18> = Head::new(self.file, tid.block).u16(tid.slot).u32(ctx.command.0);
        guard.set_lsn(self.log(record::DELETE, xid, &[head.bytes()]));
    }

    /// Locks the row of the version at `tid`, which the caller saw, without changing it: `SELECT ... FOR UPDATE` and its kin. The
    /// lock is the lock manager's; on the page is only a hint that there is one. Errors as for [`Heap::update`].
    ///
    pub fn lock<'a>(
        &'a self,
        ctx: &TxnCtx<'_>,
        tid: Tid,
        mode: RowLockMode,
        wait: WaitPolicy,
        mut turn: Option<RowTurn<'a>>,
    ) -> Result<Modify<'a>> {
        let xid = writing_xid(ctx)?;
        loop {
            let pinned = self.pin(tid.block)?;
            let mut guard = pinned.write();
            let mut obstacle = self.obstacle(ctx, Page::new(&guard), tid, mode, &mut turn)?;
            if matches!(obstacle, Obstacle::None) {
                match self.lock_versions(ctx, xid, &pinned, &mut guard, tid, mode, &mut turn)? {
                    LockedVersions::To(newest) => {
                        drop(guard);
                        if let Some(turn) = turn {
                            turn.updated(newest, xid, mode);
                        }
                        return Ok(Modify::Done { tid, hot: false });
                    }
                    LockedVersions::Not(found) => obstacle = found,
                    LockedVersions::TryAgain => {
                        drop(guard);
                        drop(pinned);
                        sync::yield_now();
                        continue;
                    }
                }
            }
            match obstacle {
                Obstacle::None => {}
                Obstacle::Answer(answer) => return Ok(answer),
                Obstacle::Holder { holder, tid: queue } => {
                    drop(guard);
                    drop(pinned);
                    if !self.wait(ctx, queue, holder, mode, wait, &mut turn)? {
                        return Ok(Modify::Skipped);
                    }
                }
            }
        }
    }

    /// Marks a version as locked in memory: for locks that the lock manager was given by other ways than [`Heap::lock`], as when a
    /// prepared transaction comes back.
    pub fn mark_locked(&self, tid: Tid) -> Result<()> {
        let pinned = self.pin(tid.block)?;
        let mut guard = pinned.write();
        if let Some(mut tuple) = PageMut::new(&mut guard).tuple(tid.slot) {
            tuple.add_flags(flag::LOCKED_IN_MEMORY);
            guard.mark_dirty_hint();
        }
        Ok(())
    }

    /// Looks at the version at `tid` as somebody who wants to change or lock it with strength `mode`. One that the own command or
    /// a later one has made is [`Modify::SelfModified`]: a unique check may come upon it, or who follows a row's versions.
    fn obstacle<'a>(
        &'a self,
        ctx: &TxnCtx<'_>,
        page: Page<'_>,
        tid: Tid,
        mode: RowLockMode,
        turn: &mut Option<RowTurn<'a>>,
    ) -> Result<Obstacle<'a>> {
        let Item::Normal(tuple) = page.item(tid.slot) else {
            return Err(Error::internal(format!("no row version at {tid} of relation {}", self.relation)));
        };
        if let Some(command) = self.made_underway(ctx, tuple, tid)? {
            return Ok(Obstacle::Answer(Modify::SelfModified { command }));
        }
        let xmax = tuple.xmax();
        if xmax.is_valid() {
            if xmax == ctx.xid || xmax == ctx.top_xid {
                return Ok(Obstacle::Answer(Modify::SelfModified { command: tuple.cmax() }));
            }
            match ctx.status.status(xmax) {
                TransactionStatus::Aborted => {}
                // The key is the same: the newer versions are locked in this one's stead.
                TransactionStatus::Committed(_)
                    if mode == RowLockMode::KeyShare && !tuple.has(flag::KEYS_CHANGED | flag::DELETED) => {}
                TransactionStatus::Committed(csn) => {
                    ctx.observe(csn);
                    return Ok(Obstacle::Answer(if tuple.has(flag::DELETED) {
                        Modify::Deleted { csn }
                    } else {
                        Modify::Updated { newest: tuple.ctid(), csn, turn: turn.take() }
                    }));
                }
                TransactionStatus::InProgress if ctx.is_own(xmax) => {
                    return Ok(Obstacle::Answer(Modify::SelfModified { command: tuple.cmax() }));
                }
                TransactionStatus::InProgress => {
                    let held =
                        if tuple.has(flag::KEYS_CHANGED) { RowLockMode::Update } else { RowLockMode::NoKeyUpdate };
                    if mode.conflicts_with(held) {
                        return Ok(Obstacle::Holder { holder: xmax, tid: tuple.ctid() });
                    }
                }
            }
        }
        let locks = &self.services.locks;
        if tuple.has(flag::LOCKED_IN_MEMORY)
            && let Some(locker) = locks.row_conflict(ctx.owner, self.relation, tid, mode)
        {
            return Ok(Obstacle::Holder { holder: locker.xid, tid });
        }
        if turn.is_none() && locks.must_queue(ctx.owner, self.relation, tid) && !self.holds_already(ctx, tuple, tid) {
            return Ok(Obstacle::Holder { holder: Xid::INVALID, tid });
        }
        Ok(Obstacle::None)
    }

    /// Whether those who queue for the version wait for this very transaction, which made or locked it.
    fn holds_already(&self, ctx: &TxnCtx<'_>, tuple: Tuple<'_>, tid: Tid) -> bool {
        (!tuple.has(flag::XMIN_FROZEN) && ctx.is_own(tuple.xmin()))
            || tuple.has(flag::LOCKED_IN_MEMORY)
                && self.services.locks.row_lockers(self.relation, tid).iter().any(|locker| locker.owner == ctx.owner)
    }

    /// The command that made the version, if that is the own one or a later one of the own transaction. Otherwise it must have been
    /// made by an earlier one or by a commit: the caller saw it.
    fn made_underway(&self, ctx: &TxnCtx<'_>, tuple: Tuple<'_>, tid: Tid) -> Result<Option<CommandId>> {
        let xmin = tuple.xmin();
        if tuple.has(flag::XMIN_FROZEN) || !xmin.is_normal() {
            return Ok(None);
        }
        let is_own = xmin == ctx.xid
            || xmin == ctx.top_xid
            || match ctx.status.status(xmin) {
                TransactionStatus::Committed(_) => return Ok(None),
                TransactionStatus::InProgress => ctx.is_own(xmin),
                TransactionStatus::Aborted => false,
            };
        if is_own {
            return Ok(Some(tuple.cmin()).filter(|made_by| *made_by >= ctx.command));
        }
        Err(Error::internal(format!("attempted to change invisible tuple {tid} of relation {}", self.relation)))
    }

    /// Waits in the queue named by `queue`. False: skipped.
    fn wait<'a>(
        &'a self,
        ctx: &TxnCtx<'_>,
        queue: Tid,
        holder: Xid,
        mode: RowLockMode,
        wait: WaitPolicy,
        turn: &mut Option<RowTurn<'a>>,
    ) -> Result<bool> {
        let options = LockOptions {
            wait,
            lock_timeout: ctx.lock_timeout,
            deadlock_timeout: ctx.deadlock_timeout,
            ..LockOptions::new(ctx.interrupt)
        };
        match turn {
            Some(turn) => turn.wait_again(queue, holder, &options),
            None => {
                *turn = self.services.locks.wait_for_row(ctx.owner, self.relation, queue, holder, mode, &options)?;
                Ok(turn.is_some())
            }
        }
    }

    /// Puts the new version where there is room, in the same page if possible, and links the old one to it.
    #[allow(clippy::too_many_arguments)]
    fn replace(
        &self,
        ctx: &TxnCtx<'_>,
        xid: Xid,
        guard: &mut PageWrite<'_>,
        tid: Tid,
        payload: &[u8],
        mode: RowLockMode,
        heap_only: bool,
    ) -> Result<Tid> {
        let length = HEADER_BYTES + payload.len();
        let page = Page::new(guard);
        // Only an update that lacks room prunes the page. So a page with room for N updates is pruned once in N updates.
        if !page.has_room(length) && page.prune_xid().is_valid() {
            if !self.has_settled(page.prune_xid()) {
                self.services.removal_floor.raise();
            }
            if self.has_settled(page.prune_xid()) {
                self.prune(guard, false);
            }
        }
        let about_xmax = if mode == RowLockMode::Update { flag::KEYS_CHANGED } else { 0 };
        if Page::new(guard).has_room(length) {
            return Ok(self.replace_here(ctx, xid, guard, tid, payload, about_xmax, heap_only));
        }
        self.note_room(tid.block, guard);
        self.in_found_page(ctx, length, Some(tid.block), |new_guard| {
            let block = new_guard.page_id().block;
            let mut page = PageMut::new(new_guard);
            let new = page.read().is_new();
            if new {
                page.init();
            }
            let new_tid = Tid::new(block, page.read().next_slot());
            let carried = self.carry_locks(guard, tid, new_tid);
            let placed = page.place(new_tid.slot, &new_header(xid, ctx.command, new_tid, carried), &[payload]);
            assert!(placed, "the page was chosen for its room");
            PageMut::new(guard).remove(tid.slot, xid, ctx.command, new_tid, about_xmax);
            let head: Head<28> = Head::new(self.file, block)
                .u32(tid.block)
                .u16(tid.slot)
                .u16(new_tid.slot)
                .u32(ctx.command.0)
                .u16(about_xmax)
                .u16(0);
            let info = record::UPDATE_MOVED | if new { record::INIT } else { 0 };
            let end = self.log(info, xid, &[head.bytes(), payload]);
            guard.set_lsn(end);
            new_guard.set_lsn(end);
            self.note_room(block, new_guard);
            new_tid
        })
    }

    #[allow(clippy::too_many_arguments)]
    fn replace_here(
        &self,
        ctx: &TxnCtx<'_>,
        xid: Xid,
        guard: &mut PageWrite<'_>,
        tid: Tid,
        payload: &[u8],
        about_xmax: u16,
        heap_only: bool,
    ) -> Tid {
        let page = Page::new(guard);
        let (prefix, suffix) = page.tuple(tid.slot).map_or((0, 0), |old| record::shared_ends(old.payload(), payload));
        let new_tid = Tid::new(tid.block, page.next_slot());
        let carried = self.carry_locks(guard, tid, new_tid);
        let new_flags = if heap_only { flag::HEAP_ONLY } else { 0 };
        let about_xmax = about_xmax | if heap_only { flag::HOT_UPDATED } else { 0 };
        let mut page = PageMut::new(guard);
        let header = new_header(xid, ctx.command, new_tid, new_flags | carried);
        let placed = page.place(new_tid.slot, &header, &[payload]);
        assert!(placed, "the page has room");
        page.remove(tid.slot, xid, ctx.command, new_tid, about_xmax);
        let head: Head<28> = Head::new(self.file, tid.block)
            .u16(tid.slot)
            .u16(new_tid.slot)
            .u32(ctx.command.0)
            .u16(about_xmax)
            .u16(new_flags)
            .u16(prefix as u16)
            .u16(suffix as u16);
        let middle = &payload[prefix..payload.len() - suffix];
        guard.set_lsn(self.log(record::UPDATE, xid, &[head.bytes(), middle]));
        new_tid
    }

    /// Locks on the old version protect the new one as well. Returns the flag the new version gets.
    fn carry_locks(&self, guard: &mut PageWrite<'_>, old: Tid, new: Tid) -> u16 {
        let locked = Page::new(guard).tuple(old.slot).is_some_and(|tuple| tuple.has(flag::LOCKED_IN_MEMORY));
        if !locked {
            return 0;
        }
        let locks = &self.services.locks;
        if locks.has_row_entry(self.relation, old) {
            locks.carry_row(self.relation, old, new);
            return flag::LOCKED_IN_MEMORY;
        }
        // A hint left over from before.
        if let Some(mut tuple) = PageMut::new(guard).tuple(old.slot) {
            tuple.clear_flags(flag::LOCKED_IN_MEMORY);
        }
        0
    }

    /// Locks the version at `tid`, on which nothing stands in the way, and those that updates of other columns than the key,
    /// committed or in progress, have made from it.
    #[allow(clippy::too_many_arguments)]
    fn lock_versions<'a>(
        &'a self,
        ctx: &TxnCtx<'_>,
        xid: Xid,
        pinned: &Pinned<'_>,
        guard: &mut PageWrite<'_>,
        tid: Tid,
        mode: RowLockMode,
        turn: &mut Option<RowTurn<'a>>,
    ) -> Result<LockedVersions<'a>> {
        let mut successor = match self.lock_version(ctx, xid, guard, tid, mode) {
            Ok(successor) => successor,
            Err(holder) => return Ok(LockedVersions::Not(Obstacle::Holder { holder, tid })),
        };
        let mut newest = tid;
        let mut steps = 0;
        while let Some((next, made_by)) = successor {
            steps += 1;
            if steps > PAGE_SIZE_BYTES {
                return Err(Error::corrupted(format!("the versions of the row at {tid} form a circle")));
            }
            let mut lock_next = |guard: &mut PageWrite<'_>| -> Result<NextVersion<'a>> {
                let page = Page::new(guard);
                if page.tuple(next.slot).is_none_or(|tuple| tuple.xmin() != made_by) {
                    return Ok(NextVersion::Locked(None));
                }
                // A transaction may have changed or deleted this version since it was made.
                match self.later_obstacle(ctx, page, next, mode, turn)? {
                    Obstacle::None => {}
                    found => return Ok(NextVersion::Obstacle(found)),
                }
                Ok(match self.lock_version(ctx, xid, guard, next, mode) {
                    Ok(further) => NextVersion::Locked(further),
                    Err(holder) => NextVersion::Obstacle(Obstacle::Holder { holder, tid: next }),
                })
            };
            let locked = if next.block == pinned.page_id().block {
                lock_next(guard)?
            } else {
                let other = self.pin(next.block)?;
                let Some(mut other) = other.try_write() else { return Ok(LockedVersions::TryAgain) };
                lock_next(&mut other)?
            };
            match locked {
                NextVersion::Locked(further) => successor = further,
                NextVersion::Obstacle(obstacle) => return Ok(LockedVersions::Not(obstacle)),
            }
            newest = next;
        }
        Ok(LockedVersions::To(newest))
    }

    /// Judges the xmax of a version further down the chain, by the rules of [`Heap::obstacle`].
    fn later_obstacle<'a>(
        &'a self,
        ctx: &TxnCtx<'_>,
        page: Page<'_>,
        tid: Tid,
        mode: RowLockMode,
        turn: &mut Option<RowTurn<'a>>,
    ) -> Result<Obstacle<'a>> {
        let Some(tuple) = page.tuple(tid.slot) else { return Ok(Obstacle::None) };
        let xmax = tuple.xmax();
        if !xmax.is_valid() {
            return Ok(Obstacle::None);
        }
        let held = if tuple.has(flag::KEYS_CHANGED) { RowLockMode::Update } else { RowLockMode::NoKeyUpdate };
        Ok(match ctx.status.status(xmax) {
            _ if !mode.conflicts_with(held) => Obstacle::None,
            TransactionStatus::Aborted => Obstacle::None,
            TransactionStatus::InProgress if ctx.is_own(xmax) => Obstacle::None,
            TransactionStatus::InProgress => Obstacle::Holder { holder: xmax, tid: tuple.ctid() },
            TransactionStatus::Committed(csn) => {
                ctx.observe(csn);
                Obstacle::Answer(if tuple.has(flag::DELETED) {
                    Modify::Deleted { csn }
                } else {
                    Modify::Updated { newest: tuple.ctid(), csn, turn: turn.take() }
                })
            }
        })
    }

    /// Locks one version; tells of its successor if it has one.
    fn lock_version(
        &self,
        ctx: &TxnCtx<'_>,
        xid: Xid,
        guard: &mut PageWrite<'_>,
        tid: Tid,
        mode: RowLockMode,
    ) -> std::result::Result<Successor, Xid> {
        let mut page = PageMut::new(guard);
        let Some(mut tuple) = page.tuple(tid.slot) else { return Ok(None) };
        let seen = Tuple(tuple.0);
        let status = seen.xmax().is_valid().then(|| ctx.status.status(seen.xmax()));
        let is_updated = !seen.has(flag::DELETED)
            && seen.ctid() != tid
            && status.is_some_and(|status| status != TransactionStatus::Aborted);
        let successor = is_updated.then(|| (seen.ctid(), seen.xmax()));
        if matches!(status, Some(TransactionStatus::Committed(_))) {
            // A lock on it would protect nothing.
            return Ok(successor);
        }
        match self.services.locks.try_lock_row(ctx.owner, xid, self.relation, tid, mode) {
            RowLockAttempt::Conflict(holder) => return Err(holder),
            RowLockAttempt::Acquired | RowLockAttempt::AlreadyHeld => {}
        }
        if !seen.has(flag::LOCKED_IN_MEMORY) {
            tuple.add_flags(flag::LOCKED_IN_MEMORY);
            guard.mark_dirty_hint();
        }
        Ok(successor)
    }

    /// The newest version that the one at `tid` was updated to by commits or by the own transaction, perhaps itself: what read
    /// committed looks at again after a wait. None if the row is deleted, or was never there. `f` runs under the page's shared
    /// latch: it must not wait.
    pub fn newest_version<R>(&self, ctx: &TxnCtx<'_>, tid: Tid, f: impl FnOnce(Tid, &[u8]) -> R) -> Result<Option<R>> {
        let mut at = tid;
        let mut made_by: Option<Xid> = None;
        for _ in 0..u32::MAX {
            let pinned = self.pin(at.block)?;
            let guard = pinned.read();
            let block = at.block;
            while at.block == block {
                let Some(tuple) = Page::new(&guard).tuple(at.slot) else { return Ok(None) };
                if made_by.is_some_and(|xid| xid != tuple.xmin()) {
                    return Ok(None);
                }
                let xmax = tuple.xmax();
                let removed = xmax.is_valid()
                    && match ctx.status.status(xmax) {
                        TransactionStatus::Committed(csn) => {
                            ctx.observe(csn);
                            true
                        }
                        TransactionStatus::InProgress => ctx.is_own(xmax),
                        TransactionStatus::Aborted => false,
                    };
                if !removed {
                    return Ok(Some(f(at, tuple.payload())));
                }
                if tuple.has(flag::DELETED) || tuple.ctid() == at {
                    return Ok(None);
                }
                made_by = Some(xmax);
                at = tuple.ctid();
            }
        }
        Err(Error::corrupted(format!("the versions of the row at {tid} form a circle")))
    }
}
