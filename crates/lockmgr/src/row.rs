//! Row waits and row locks.

use std::time::{Duration, Instant};

use base::{Oid, OwnerId, Result, Tid, Xid};
use sync::atomic::Ordering::Relaxed;
use sync::{Arc, ExclusiveLatchGuard};

use crate::owner::{HeldRow, Wait, WaitTarget, WakeList};
use crate::queue::{RowQueue, RowQueueState};
use crate::row_table::{LatchedPair, LatchedPartition, Locker, RowEntry, RowKey};
use crate::{LockManager, LockOptions, LockTag, RowLockMode, WaitPolicy, error};

/// How long the head of a queue may be overtaken by newcomers who find the row free. Letting them through saves the row
/// from lying idle until the heir runs; a limit keeps the heir from starving.
const OVERTAKING_LIMIT: Duration = Duration::from_millis(2);

/// The same while somebody holds the row in a mode that goes together with the newcomer's. PostgreSQL lets these through
/// for ever; here an update comes to its row even where sharers never leave it alone.
const SHARING_LIMIT: Duration = Duration::from_secs(1);

/// The result of an attempt to lock a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowLockAttempt {
    /// The owner holds the lock now.
    Acquired,
    /// The owner held a lock at least as strong before.
    AlreadyHeld,
    /// This transaction holds a lock that excludes it: wait for it with [`LockManager::wait_for_row`].
    Conflict(Xid),
}

/// Somebody who holds a lock on a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowLocker {
    /// Its session.
    pub owner: OwnerId,
    /// Its transaction or subtransaction.
    pub xid: Xid,
    /// How strongly.
    pub mode: RowLockMode,
}

/// The right of a row's heir to try next: while it lives, everybody else in the row's queue sleeps.
///
/// Drop it when the row turned out not to be wanted: the next in the queue is woken. An owner has one turn at a time.
#[must_use = "dropping it wakes the next in the queue"]
pub struct RowTurn<'a> {
    manager: &'a LockManager,
    owner: OwnerId,
    relation: Oid,
    mode: RowLockMode,
    /// None if nobody was queued when the holder ended.
    queue: Option<Arc<RowQueue>>,
}

impl RowTurn<'_> {
    /// The heir has changed or locked the row with this strength. Members behind it that this excludes now wait for the
    /// end of `by` (the heir's current xid), under the row's newest version `tid`; others have their turn. To be called
    /// after the page latch is released.
    pub fn updated(mut self, tid: Tid, by: Xid, mode: RowLockMode) {
        if let Some(queue) = self.queue.take() {
            let mut wake = WakeList::new();
            let taken = Some(Taken { by, mode });
            if self.manager.leave_queue(self.owner, self.mode, &queue, taken, &mut wake) {
                self.manager.move_queue(&queue, RowKey { relation: self.relation, tid }, taken, &mut wake);
            }
            wake_all(wake);
        }
    }

    /// Somebody else (`holder`) has the row: waits for it, still at the front of the queue. `tid` as in
    /// [`LockManager::wait_for_row`]. False: skipped.
    pub fn wait_again(&mut self, tid: Tid, holder: Xid, options: &LockOptions<'_>) -> Result<bool> {
        let Some(queue) = self.queue.take() else {
            let turn = self.manager.wait_for_row(self.owner, self.relation, tid, holder, self.mode, options)?;
            return Ok(match turn {
                Some(mut turn) => {
                    self.queue = turn.queue.take();
                    true
                }
                None => false,
            });
        };
        let key = RowKey { relation: self.relation, tid };
        match self.manager.queue_again(self.owner, queue, key, holder, self.mode, options)? {
            Some(queue) => {
                self.queue = Some(queue);
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

/// A turn set aside between an attempt and its retry. The row's queue sleeps until it is resumed: whoever keeps one resumes
/// it at the statement's end at the latest, if only to drop it.
#[must_use = "the row's queue sleeps until it is resumed"]
pub struct KeptTurn {
    owner: OwnerId,
    relation: Oid,
    mode: RowLockMode,
    queue: Arc<RowQueue>,
}

impl KeptTurn {
    /// How strongly the row was to be changed or locked.
    pub fn mode(&self) -> RowLockMode {
        self.mode
    }
}

impl RowTurn<'_> {
    /// Sets the turn aside, to be taken up again by [`LockManager::resume`]. `None` if nobody is queued behind it.
    pub fn keep(mut self) -> Option<KeptTurn> {
        let queue = self.queue.take()?;
        Some(KeptTurn { owner: self.owner, relation: self.relation, mode: self.mode, queue })
    }
}

impl LockManager {
    /// Takes a turn up again that was set aside.
    pub fn resume(&self, kept: KeptTurn) -> RowTurn<'_> {
        let KeptTurn { owner, relation, mode, queue } = kept;
        RowTurn { manager: self, owner, relation, mode, queue: Some(queue) }
    }
}

impl Drop for RowTurn<'_> {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.take() {
            let mut wake = WakeList::new();
            self.manager.leave_queue(self.owner, self.mode, &queue, None, &mut wake);
            wake_all(wake);
        }
    }
}

/// The row was just taken by a transaction, this strongly.
#[derive(Clone, Copy)]
struct Taken {
    by: Xid,
    mode: RowLockMode,
}

impl Taken {
    /// The transaction that somebody who wants the row this strongly must wait for. Invalid if that isn't certain: it looks at
    /// the row itself then.
    fn blocker_of(self, wanted: RowLockMode) -> Xid {
        match (self.mode, wanted) {
            (RowLockMode::Update, _) | (RowLockMode::NoKeyUpdate, RowLockMode::Share | RowLockMode::NoKeyUpdate) => {
                self.by
            }
            // It goes together with the one that took the row, or the row may be held by others as well.
            _ => Xid::INVALID,
        }
    }
}

fn blocker_of(taken: Option<Taken>, wanted: RowLockMode) -> Xid {
    taken.map_or(Xid::INVALID, |taken| taken.blocker_of(wanted))
}

pub(crate) fn wake_all(wake: WakeList) {
    for waker in wake {
        waker.wake();
    }
}

impl LockManager {
    /// Queues for a row that `holder` has changed or locked, and returns when it is this owner's turn to look at
    /// the row again: `holder` has ended and everybody who came before has had their turn.
    ///
    /// `tid` names the row: the version that `holder` made (the old one's `ctid`) if it updated the row, the
    /// version itself if it deleted or only locked it. No latch may be held. With [`Xid::INVALID`] as the holder
    /// the owner waits only for those queued before it.
    ///
    /// Errors: 55P03 (NOWAIT, lock timeout), 40P01, 57014. `Ok(None)`: skipped.
    pub fn wait_for_row(
        &self,
        owner: OwnerId,
        relation: Oid,
        tid: Tid,
        holder: Xid,
        mode: RowLockMode,
        options: &LockOptions<'_>,
    ) -> Result<Option<RowTurn<'_>>> {
        let turn = |queue| Ok(Some(RowTurn { manager: self, owner, relation, mode, queue }));
        if options.wait != WaitPolicy::Block {
            return match options.wait {
                _ if self.running.owner_of(holder).is_none() => turn(None),
                WaitPolicy::NoWait => Err(error::not_available(&LockTag::Row { relation, tid })),
                _ => Ok(None),
            };
        }
        if !self.must_queue(owner, relation, tid) && self.spin_for_end(holder) {
            return turn(None);
        }
        let key = RowKey { relation, tid };
        let mut wake = WakeList::new();
        let joined = {
            let mut partition = self.rows.partition(&key);
            let entry = partition.entry(key);
            if entry.is_held_by(owner) {
                None
            } else {
                let queue = entry.queue.get_or_insert_with(|| Arc::new(RowQueue::new(key))).clone();
                let mut state = queue.state.lock();
                let target = WaitTarget::Row { queue: queue.clone(), mode, holder: Xid::INVALID };
                let waiter = self.owners.get(owner).begin_wait(target);
                if state.push(owner, mode, !holder.is_valid()) {
                    self.wait_at_front(owner, holder, &mut wake);
                }
                drop(state);
                Some((queue, waiter))
            }
        };
        let Some((queue, waiter)) = joined else {
            // Those who queue wait for this owner's end, too. So it goes ahead of them.
            return if self.wait_for_xid(owner, holder, options)? { turn(None) } else { Ok(None) };
        };
        // Only the owner itself can be in it: the holder has ended meanwhile.
        drop(wake);
        self.pass_wait(owner, waiter, options, || self.give_up_queue(owner, mode, &queue))?;
        turn(Some(queue))
    }

    /// The second and later waits of one who has a turn. `Ok(None)`: skipped.
    fn queue_again(
        &self,
        owner: OwnerId,
        queue: Arc<RowQueue>,
        key: RowKey,
        holder: Xid,
        mode: RowLockMode,
        options: &LockOptions<'_>,
    ) -> Result<Option<Arc<RowQueue>>> {
        if options.wait != WaitPolicy::Block || self.spin_for_end(holder) {
            if self.running.owner_of(holder).is_none() {
                return Ok(Some(queue));
            }
            self.give_up_queue(owner, mode, &queue);
            return match options.wait {
                WaitPolicy::NoWait => Err(error::not_available(&LockTag::Row { relation: key.relation, tid: key.tid })),
                _ => Ok(None),
            };
        }
        let mut wake = WakeList::new();
        let queue = self.move_queue(&queue, key, None, &mut wake);
        let (queue, waiter) = self.with_queue(&queue, |queue, _, state| {
            let target = WaitTarget::Row { queue: queue.clone(), mode, holder: Xid::INVALID };
            let waiter = self.owners.get(owner).begin_wait(target);
            if state.is_at_front(owner, mode) {
                self.wait_at_front(owner, holder, &mut wake);
            }
            (queue.clone(), waiter)
        });
        wake_all(wake);
        self.pass_wait(owner, waiter, options, || self.give_up_queue(owner, mode, &queue))?;
        Ok(Some(queue))
    }

    /// One at the front of a queue begins to wait for `holder`, or has its turn at once if that has ended, is the owner itself
    /// or isn't known: those before it in the queue may have waited for it. The owner's wait has begun; the queue is latched.
    pub(crate) fn wait_at_front(&self, owner: OwnerId, holder: Xid, wake: &mut WakeList) {
        let slot = self.owners.get(owner);
        let begin = |wait: &mut Wait| {
            set_holder(&mut wait.target, holder);
            wait.target_since = Instant::now();
            wait.has_looked.then(|| wait.waker())
        };
        let Some(looks_again) = slot.with_wait(begin) else {
            // It had its turn in a queue that was joined with this one, and runs: it looks for itself when it waits again.
            return;
        };
        let is_own = self.running.owner_of(holder) == Some(owner);
        if !holder.is_valid() || is_own || !self.xid_waits.register(&self.running, holder, owner) {
            slot.grant(wake);
        } else {
            // It has looked for a deadlock already, but now it waits for somebody else.
            wake.extend(looks_again);
        }
    }

    /// Makes one at the front of one of these queues, where it waits for its holder's end, an ordinary member. False: it has its
    /// turn already. It may wait elsewhere with a turn set aside.
    fn depose(&self, owner: OwnerId, queues: [&Arc<RowQueue>; 2]) -> bool {
        let slot = self.owners.get(owner);
        let waits_here = |wait: &mut Wait| match &wait.target {
            WaitTarget::Row { queue, holder, .. } if queues.iter().any(|is| Arc::ptr_eq(is, queue)) => *holder,
            _ => Xid::INVALID,
        };
        let Some(holder) = slot.with_wait(waits_here).filter(|holder| holder.is_valid()) else { return false };
        if !self.xid_waits.unregister(holder, owner) {
            return false;
        }
        slot.with_wait(|wait| set_holder(&mut wait.target, Xid::INVALID));
        true
    }

    /// Others wait for one that has its turn, since two queues have become one. It may wait elsewhere with the turn set aside,
    /// and have looked for a deadlock already: that look could not find what is there now.
    fn look_again(&self, owner: OwnerId, wake: &mut WakeList) {
        let begin = |wait: &mut Wait| {
            wait.has_looked.then(|| {
                wait.target_since = Instant::now();
                wait.waker()
            })
        };
        wake.extend(self.owners.get(owner).with_wait(begin).flatten());
    }

    /// Leaves a queue whose wait failed.
    fn give_up_queue(&self, owner: OwnerId, mode: RowLockMode, queue: &Arc<RowQueue>) {
        let mut wake = WakeList::new();
        self.leave_queue(owner, mode, queue, None, &mut wake);
        wake_all(wake);
    }

    /// Leaves a queue. Those who come to the front by that wait for the transaction that has taken the row, or have their turn
    /// and look themselves. Tells whether anybody is left.
    fn leave_queue(
        &self,
        owner: OwnerId,
        mode: RowLockMode,
        queue: &Arc<RowQueue>,
        taken: Option<Taken>,
        wake: &mut WakeList,
    ) -> bool {
        self.with_queue(queue, |queue, entry, state| {
            let slot = self.owners.get(owner);
            let waited_for = slot.with_wait(|wait| holder_of(&wait.target));
            if let Some(waited_for) = waited_for.filter(|waited_for| waited_for.is_valid()) {
                self.xid_waits.unregister(waited_for, owner);
            }
            slot.cancel_wait();
            if state.remove(owner, mode) {
                for next in state.promote() {
                    self.wait_at_front(next.owner, blocker_of(taken, next.mode), wake);
                }
            }
            if state.is_empty() && entry.queue.as_ref().is_some_and(|is| Arc::ptr_eq(is, queue)) {
                entry.queue = None;
            }
            !state.is_empty()
        })
    }

    /// Runs `f` with the queue that `queue` is part of now, and its row, latched.
    fn with_queue<R>(
        &self,
        queue: &Arc<RowQueue>,
        f: impl FnOnce(&Arc<RowQueue>, &mut RowEntry, &mut RowQueueState) -> R,
    ) -> R {
        let mut queue = queue.clone();
        loop {
            let (key, joined) = {
                let state = queue.state.lock();
                (state.key, state.joined.clone())
            };
            if let Some(joined) = joined {
                queue = joined;
                continue;
            }
            let mut partition = self.rows.partition(&key);
            let mut state = queue.state.lock();
            if state.key != key || state.joined.is_some() {
                continue;
            }
            let result = f(&queue, partition.entry(key), &mut state);
            drop(state);
            partition.tidy(&key);
            return result;
        }
    }

    /// Moves a queue to another version of its row, and joins it with one that is there. Those who come to the front by that
    /// wait for the transaction that has taken the row, or have their turn. Returns the queue that the members are in
    /// now.
    fn move_queue(
        &self,
        queue: &Arc<RowQueue>,
        to: RowKey,
        taken: Option<Taken>,
        wake: &mut WakeList,
    ) -> Arc<RowQueue> {
        let mut queue = queue.clone();
        loop {
            let (from, joined) = {
                let state = queue.state.lock();
                (state.key, state.joined.clone())
            };
            if let Some(joined) = joined {
                queue = joined;
                continue;
            }
            if from == to {
                return queue;
            }
            let mut pair = self.rows.pair(&from, &to);
            {
                let state = queue.state.lock();
                if state.key != from || state.joined.is_some() {
                    continue;
                }
            }
            // Everybody has left meanwhile: the row table has forgotten it.
            if !pair
                .of(&from)
                .get(&from)
                .and_then(|entry| entry.queue.as_ref())
                .is_some_and(|is| Arc::ptr_eq(is, &queue))
            {
                return queue;
            }
            return self.move_latched_queue(&mut pair, from, to, taken, wake).unwrap_or(queue);
        }
    }

    /// The part of [`LockManager::move_queue`] under the latches of both rows. `None`: there was no queue.
    fn move_latched_queue(
        &self,
        pair: &mut LatchedPair<'_>,
        from: RowKey,
        to: RowKey,
        taken: Option<Taken>,
        wake: &mut WakeList,
    ) -> Option<Arc<RowQueue>> {
        let queue = pair.of(&from).get_mut(&from)?.queue.take()?;
        pair.of(&from).tidy(&from);
        let entry = pair.of(&to).entry(to);
        let mut state = queue.state.lock();
        let Some(target) = entry.queue.clone() else {
            state.key = to;
            drop(state);
            entry.queue = Some(queue.clone());
            return Some(queue);
        };
        let mut target_state = target.state.lock();
        // Those at the front that only wait become members like others; those that have their turn stay there.
        target_state.join(&mut state, |member| {
            let has_turn = !self.depose(member.owner, [&queue, &target]);
            if has_turn {
                self.look_again(member.owner, wake);
            }
            has_turn
        });
        for next in target_state.promote() {
            self.wait_at_front(next.owner, blocker_of(taken, next.mode), wake);
        }
        state.joined = Some(target.clone());
        drop(target_state);
        Some(target)
    }

    /// Whether a newcomer who finds the row free, or held in a mode that goes together with its own, must queue behind those who have waited too long
    /// already (call [`LockManager::wait_for_row`] with [`Xid::INVALID`]). Costs one load when nobody waits.
    pub fn must_queue(&self, owner: OwnerId, relation: Oid, tid: Tid) -> bool {
        let key = RowKey { relation, tid };
        if !self.rows.may_know(&key) {
            return false;
        }
        let partition = self.rows.partition(&key);
        let Some(queue) = partition.get(&key).and_then(|entry| entry.queue.as_ref()) else { return false };
        let state = queue.state.lock();
        let Some(eldest) = state.eldest().filter(|eldest| eldest.owner != owner) else { return false };
        let waited = eldest.since.elapsed();
        if waited <= OVERTAKING_LIMIT {
            return false;
        }
        let holder = self.owners.get(eldest.owner).with_wait(|wait| holder_of(&wait.target));
        let is_held = holder.is_some_and(|holder| self.running.owner_of(holder).is_some());
        !is_held || waited > SHARING_LIMIT
    }

    /// Tries to lock a row in memory for transaction `xid` (the current subtransaction's). Never waits: to be called
    /// under the page latch, so that no update slips between the look at the tuple and the lock.
    pub fn try_lock_row(&self, owner: OwnerId, xid: Xid, relation: Oid, tid: Tid, mode: RowLockMode) -> RowLockAttempt {
        let key = RowKey { relation, tid };
        let mut partition = self.rows.partition(&key);
        if let Some(entry) = partition.get(&key) {
            if let Some(locker) = entry.conflict(owner, mode) {
                return RowLockAttempt::Conflict(locker.xid);
            }
            if entry.lockers.iter().any(|locker| locker.owner == owner && locker.mode() >= mode) {
                return RowLockAttempt::AlreadyHeld;
            }
        }
        let slot = self.owners.get(owner);
        let mut rows = slot.rows.lock();
        let place = rows.push(HeldRow { relation, tid, serial: slot.serial_now() });
        slot.rows_len.store(rows.len() as u32, Relaxed);
        partition.entry(key).lockers.push(Locker::new(xid, owner, place, mode));
        RowLockAttempt::Acquired
    }

    /// Somebody else's lock in memory that excludes `mode` on this row, if any. To be called under the page latch.
    pub fn row_conflict(&self, owner: OwnerId, relation: Oid, tid: Tid, mode: RowLockMode) -> Option<RowLocker> {
        let key = RowKey { relation, tid };
        if !self.rows.may_know(&key) {
            return None;
        }
        self.rows.partition(&key).get(&key)?.conflict(owner, mode).map(view_of)
    }

    /// All who hold a lock in memory on this row.
    pub fn row_lockers(&self, relation: Oid, tid: Tid) -> Vec<RowLocker> {
        let key = RowKey { relation, tid };
        if !self.rows.may_know(&key) {
            return Vec::new();
        }
        let partition = self.rows.partition(&key);
        partition.get(&key).map_or_else(Vec::new, |entry| entry.lockers.iter().map(view_of).collect())
    }

    /// An update made `new` out of `old`: the locks protect both from now on, since the update may abort, and the queue goes
    /// with the row. To be called under the page latch before the new version can be reached.
    pub fn carry_row(&self, relation: Oid, old: Tid, new: Tid) {
        let (from, to) = (RowKey { relation, tid: old }, RowKey { relation, tid: new });
        if from == to || !self.rows.may_know(&from) {
            return;
        }
        let mut wake = WakeList::new();
        {
            let mut pair = self.rows.pair(&from, &to);
            let Some(entry) = pair.of(&from).get_mut(&from) else { return };
            let lockers = entry.lockers.clone();
            for locker in &lockers {
                let slot = self.owners.get(locker.owner);
                let mut rows = slot.rows.lock();
                let Some(row) = rows.get(locker.place()) else { continue };
                let place = rows.add_carried(HeldRow { tid: new, ..row });
                slot.rows_len.store(rows.len() as u32, Relaxed);
                let locker = Locker::new(locker.xid, locker.owner, place, locker.mode());
                pair.of(&to).entry(to).lockers.push(locker);
            }
            // Those at the front wait on; if they must be found a holder, their turn comes at once and they look themselves.
            self.move_latched_queue(&mut pair, from, to, None, &mut wake);
            pair.of(&from).tidy(&from);
        }
        wake_all(wake);
    }

    /// A version will never be its row's newest again, as the update that replaced it is committed: locks on it protect
    /// nothing any more (they were carried on) and go, unless a prepared transaction's record names the version. True if
    /// nothing is known of it now, so that its line pointer can be used again.
    pub fn forget_row(&self, relation: Oid, tid: Tid) -> bool {
        let key = RowKey { relation, tid };
        if !self.rows.may_know(&key) {
            return true;
        }
        let mut partition = self.rows.partition(&key);
        let Some(entry) = partition.get_mut(&key) else { return true };
        let is_pinned = |locker: &Locker| self.owners.get(locker.owner).rows.lock().is_pinned(locker.place());
        if entry.lockers.iter().any(is_pinned) {
            return false;
        }
        for locker in std::mem::take(&mut entry.lockers) {
            self.owners.get(locker.owner).rows.lock().remove(locker.place());
        }
        partition.tidy(&key);
        partition.get(&key).is_none()
    }

    /// Whether anybody holds a lock on this row or queues for it: its line pointer must not be reused.
    pub fn has_row_entry(&self, relation: Oid, tid: Tid) -> bool {
        let key = RowKey { relation, tid };
        self.rows.may_know(&key) && self.rows.partition(&key).get(&key).is_some()
    }

    /// Releases the owner's row locks taken after mark `after` (all, if absent), the latest first.
    pub(crate) fn unlock_rows(&self, owner: OwnerId, after: Option<u32>) {
        let slot = self.owners.get(owner);
        let mut wake = WakeList::new();
        let mut end = usize::MAX;
        loop {
            let Some((place, row)) = slot.rows.lock().last_after(end, after) else {
                // Somebody may have carried a lock behind our back while it was still held: look once more from the end.
                if end == usize::MAX {
                    // Others who forgot a version haven't told.
                    let rows = slot.rows.lock();
                    slot.rows_len.store(rows.len() as u32, Relaxed);
                    break;
                }
                end = usize::MAX;
                continue;
            };
            end = place;
            let key = RowKey { relation: row.relation, tid: row.tid };
            let mut partition = self.rows.partition(&key);
            let mut rows = slot.rows.lock();
            if rows.get(place) != Some(row) {
                continue; // forgotten meanwhile
            }
            rows.remove(place);
            slot.rows_len.store(rows.len() as u32, Relaxed);
            drop(rows);
            self.unlock_row(&mut partition, key, owner, place, &mut wake);
            drop(partition);
            wake_all(std::mem::take(&mut wake));
            sync::let_others_run();
        }
    }

    fn unlock_row(
        &self,
        partition: &mut LatchedPartition<'_>,
        key: RowKey,
        owner: OwnerId,
        place: usize,
        wake: &mut WakeList,
    ) {
        let Some(entry) = partition.get_mut(&key) else { return };
        let Some(position) = entry.lockers.iter().position(|locker| locker.owner == owner && locker.place() == place)
        else {
            return;
        };
        let locker = entry.lockers.swap_remove(position);
        if let Some(queue) = &entry.queue {
            // Those at the front look again if it is this transaction that they wait for: a savepoint may be rolled back, and
            // the transaction go on.
            let state: ExclusiveLatchGuard<'_, RowQueueState> = queue.state.lock();
            for front in state.fronts() {
                if self.xid_waits.unregister(locker.xid, front.owner) {
                    self.owners.get(front.owner).grant(wake);
                }
            }
        }
        partition.tidy(&key);
    }
}

fn view_of(locker: &Locker) -> RowLocker {
    RowLocker { owner: locker.owner, xid: locker.xid, mode: locker.mode() }
}

fn holder_of(target: &WaitTarget) -> Xid {
    match target {
        WaitTarget::Row { holder, .. } => *holder,
        _ => Xid::INVALID,
    }
}

fn set_holder(target: &mut WaitTarget, to: Xid) {
    if let WaitTarget::Row { holder, .. } = target {
        *holder = to;
    }
}
