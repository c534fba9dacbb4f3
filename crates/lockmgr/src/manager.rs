//! The lock manager's face.

use base::{Oid, OwnerId, Result, Xid};
use smallvec::SmallVec;
use sync::atomic::Ordering::{Relaxed, SeqCst};
use sync::atomic::{AtomicU32, AtomicUsize};

use crate::deadlock::CountedWork;
use crate::fast_path::StrongCounts;
use crate::owner::{HeldLock, Owners, PINNED, WaitTarget, WakeList};
use crate::row::wake_all;
use crate::row_table::RowTable;
use crate::running::{OWNERS_LIMIT, RunningTransactions};
use crate::table::{Admission, LockTable, QueuedLock};
use crate::xid_wait::XidWaits;
use crate::{Granted, LockDuration, LockMark, LockMode, LockOptions, LockTag, Scope, WaitPolicy, error};

/// All locks of a database.
pub struct LockManager {
    pub(crate) owners: Owners,
    pub(crate) strong: StrongCounts,
    pub(crate) table: LockTable,
    pub(crate) rows: RowTable,
    pub(crate) running: RunningTransactions,
    pub(crate) xid_waits: XidWaits,
    pub(crate) detector: CountedWork,
    database: AtomicU32,
    waiting: AtomicUsize,
    waiting_writers: AtomicUsize,
}

/// Counts a wait for as long as it lives.
pub(crate) struct CountedWait<'a> {
    manager: &'a LockManager,
    writer: bool,
}

impl Drop for CountedWait<'_> {
    fn drop(&mut self) {
        self.manager.waiting.fetch_sub(1, Relaxed);
        if self.writer {
            self.manager.waiting_writers.fetch_sub(1, Relaxed);
        }
    }
}

/// Locks that a session may hold for it to get another advisory lock. PostgreSQL's default has room for some 6,400 of all
/// sessions.
pub(crate) const ADVISORY_LOCKS_MAX: usize = 20_000;

impl LockManager {
    /// A lock manager for owners numbered below `owners_max` (at most 2^18 - 1).
    pub fn new(owners_max: u32) -> LockManager {
        assert!(owners_max <= OWNERS_LIMIT, "an owner's number must fit beside an xid");
        LockManager {
            owners: Owners::new(owners_max),
            strong: StrongCounts::new(),
            table: LockTable::new(),
            rows: RowTable::new(),
            running: RunningTransactions::new(),
            xid_waits: XidWaits::new(),
            detector: CountedWork::default(),
            database: AtomicU32::new(0),
            waiting: AtomicUsize::new(0),
            waiting_writers: AtomicUsize::new(0),
        }
    }

    /// The number of the database that messages speak of.
    pub fn set_database(&self, database: Oid) {
        self.database.store(database.0, Relaxed);
    }

    pub(crate) fn database(&self) -> Oid {
        Oid(self.database.load(Relaxed))
    }

    /// The process number by which messages call an owner; its own number unless set.
    pub fn set_process_id(&self, owner: OwnerId, process_id: i32) {
        self.owners.get(owner).process_id.store(process_id, Relaxed);
    }

    /// Whether waits of this owner that last longer than its `deadlock_timeout` are written to the log.
    pub fn set_logs_waits(&self, owner: OwnerId, logs_waits: bool) {
        self.owners.get(owner).logs_waits.store(logs_waits, Relaxed);
    }

    pub(crate) fn process_id(&self, owner: OwnerId) -> i64 {
        match self.owners.get(owner).process_id.load(Relaxed) {
            0 => i64::from(owner.0),
            process_id => i64::from(process_id),
        }
    }

    /// Locks a relation, page, object or advisory key; rows and transactions have calls of their own.
    ///
    /// Errors: 55P03 (NOWAIT: "could not obtain lock", timeout: "canceling statement due to lock timeout"), 40P01
    /// "deadlock detected", 57014 when interrupted.
    #[inline]
    pub fn lock(&self, owner: OwnerId, tag: LockTag, mode: LockMode, options: &LockOptions<'_>) -> Result<Granted> {
        if let LockTag::Relation(relation) = tag
            && mode.is_weak()
            && options.duration == LockDuration::Transaction
        {
            let slot = self.owners.get(owner);
            // A lock in the table may be the same one.
            if slot.held_len.load(Relaxed) == 0
                && let Some(granted) = self.strong.lock(slot, owner, relation, mode)
            {
                return Ok(granted);
            }
        }
        self.lock_in_table(owner, tag, mode, options)
    }

    fn lock_in_table(
        &self,
        owner: OwnerId,
        tag: LockTag,
        mode: LockMode,
        options: &LockOptions<'_>,
    ) -> Result<Granted> {
        debug_assert!(!matches!(tag, LockTag::Row { .. } | LockTag::Xid(_)), "rows and xids have calls of their own");
        let slot = self.owners.get(owner);
        {
            let mut held = slot.held.lock();
            if let Some(lock) = held.get_mut(&(tag, mode)) {
                lock.count(options.duration, slot.serial_now());
                return Ok(Granted::AlreadyHeld);
            }
            // Of other locks there are no more than objects.
            if tag.is_advisory() && held.len() >= ADVISORY_LOCKS_MAX {
                return Err(error::too_many());
            }
        }
        let weak_relation = match tag {
            LockTag::Relation(relation) if mode.is_weak() => Some(relation),
            _ => None,
        };
        if let (Some(relation), LockDuration::Transaction) = (weak_relation, options.duration)
            && let Some(granted) = self.strong.lock(slot, owner, relation, mode)
        {
            return Ok(granted);
        }
        let strong_relation = match tag {
            LockTag::Relation(relation) if mode.is_strong() => Some(relation),
            _ => None,
        };
        if let Some(relation) = strong_relation {
            self.strong.announce(relation);
        }
        let granted = self.acquire(owner, tag, mode, options);
        if let (Some(relation), Err(_) | Ok(Granted::Skipped)) = (strong_relation, &granted) {
            self.strong.withdraw(relation);
        }
        if granted? == Granted::Skipped {
            return Ok(Granted::Skipped);
        }
        let mut lock = HeldLock::default();
        lock.count(options.duration, slot.serial_now());
        // A fast lock of the same mode becomes part of this one.
        if let Some(fast) = weak_relation.and_then(|relation| self.strong.take(slot, relation, mode)) {
            lock.transaction = Some(fast.serial());
            if fast.is_transferred() {
                self.release(owner, tag, mode, true);
            }
        }
        let mut held = slot.held.lock();
        held.insert((tag, mode), lock);
        slot.held_len.store(held.len() as u32, Relaxed);
        Ok(Granted::Acquired)
    }

    /// Gets the lock from the table, waiting if need be.
    fn acquire(&self, owner: OwnerId, tag: LockTag, mode: LockMode, options: &LockOptions<'_>) -> Result<Granted> {
        let waiter = {
            let mut entries = self.table.partition(&tag);
            let entry = entries.entry(tag).or_default();
            if let LockTag::Relation(relation) = tag
                && mode.is_strong()
            {
                self.strong.transfer(&self.owners, relation, |holder, held| entry.add(holder, held, true));
            }
            match entry.admit(owner, mode) {
                Admission::Free => {
                    entry.add(owner, mode, false);
                    return Ok(Granted::Acquired);
                }
                Admission::Wait(position) => match options.wait {
                    WaitPolicy::Block => {
                        let waiter = self.owners.get(owner).begin_wait(WaitTarget::Lock { tag, mode });
                        entry.queue.insert(position, QueuedLock { owner, mode });
                        waiter
                    }
                    WaitPolicy::NoWait => return Err(error::not_available(&tag)),
                    WaitPolicy::Skip => return Ok(Granted::Skipped),
                },
                Admission::Deadlock(other) => {
                    return match options.wait {
                        WaitPolicy::Block => Err(error::deadlock(self.describe_pair(tag, (owner, mode), other))),
                        WaitPolicy::NoWait => Err(error::not_available(&tag)),
                        WaitPolicy::Skip => Ok(Granted::Skipped),
                    };
                }
            }
        };
        self.pass_wait(owner, waiter, options, || self.leave_lock_queue(owner, tag, mode))?;
        Ok(Granted::Acquired)
    }

    /// Leaves a queue of the lock table whose wait failed, or gives back what was granted at the last moment.
    fn leave_lock_queue(&self, owner: OwnerId, tag: LockTag, mode: LockMode) {
        let mut wake = WakeList::new();
        {
            let mut entries = self.table.partition(&tag);
            self.owners.get(owner).cancel_wait();
            if let Some(entry) = entries.get_mut(&tag) {
                match entry.queue.iter().position(|waiter| waiter.owner == owner) {
                    Some(position) => {
                        entry.queue.remove(position);
                    }
                    None => entry.remove(owner, mode, false),
                }
                entry.grant_waiters(&self.owners, &mut wake);
                if entry.is_unused() {
                    entries.remove(&tag);
                }
            }
        }
        wake_all(wake);
    }

    /// Takes a lock out of the table and grants whom it kept waiting.
    pub(crate) fn release(&self, owner: OwnerId, tag: LockTag, mode: LockMode, transferred: bool) {
        let mut wake = WakeList::new();
        {
            let mut entries = self.table.partition(&tag);
            if let Some(entry) = entries.get_mut(&tag) {
                entry.remove(owner, mode, transferred);
                entry.grant_waiters(&self.owners, &mut wake);
                if entry.is_unused() {
                    entries.remove(&tag);
                }
            }
        }
        if let LockTag::Relation(relation) = tag
            && mode.is_strong()
        {
            self.strong.withdraw(relation);
        }
        wake_all(wake);
    }

    /// Releases one session-level acquisition. False: it wasn't held.
    pub fn unlock(&self, owner: OwnerId, tag: LockTag, mode: LockMode) -> bool {
        let slot = self.owners.get(owner);
        {
            let mut held = slot.held.lock();
            let Some(lock) = held.get_mut(&(tag, mode)).filter(|lock| lock.session > 0) else { return false };
            lock.session -= 1;
            if lock.is_needed() {
                return true;
            }
            held.remove(&(tag, mode));
            slot.held_len.store(held.len() as u32, Relaxed);
        }
        self.release(owner, tag, mode, false);
        true
    }

    /// Releases all of an owner's locks in this scope: relation, object, advisory and row locks.
    ///
    /// At a transaction's end this comes before [`LockManager::transaction_ended`], so that who waits for the transaction
    /// finds its locks gone.
    pub fn unlock_all(&self, owner: OwnerId, scope: Scope) {
        let slot = self.owners.get(owner);
        let after = match scope {
            Scope::Transaction | Scope::Session => None,
            Scope::Subtransaction(mark) => Some(mark.0),
            Scope::SessionAdvisory => {
                self.unlock_held(owner, |tag, lock| {
                    if tag.is_advisory() {
                        lock.session = 0;
                    }
                });
                return;
            }
        };
        if slot.rows_len.load(Relaxed) != 0 {
            self.unlock_rows(owner, after);
        }
        self.strong.unlock(slot, after, |relation, mode| self.release(owner, LockTag::Relation(relation), mode, true));
        if slot.held_len.load(Relaxed) != 0 {
            self.unlock_held(owner, |_, lock| {
                if lock.transaction.is_some_and(|serial| after.is_none_or(|mark| serial > mark)) {
                    lock.transaction = None;
                }
                if scope == Scope::Session {
                    lock.session = 0;
                }
            });
        }
        if after.is_none() {
            slot.serial.store(0, Relaxed);
        }
    }

    /// Lets `change` take reasons to hold from each lock in the table, and releases those without any left.
    fn unlock_held(&self, owner: OwnerId, mut change: impl FnMut(&LockTag, &mut HeldLock)) {
        let slot = self.owners.get(owner);
        let mut released: SmallVec<[(LockTag, LockMode); 8]> = SmallVec::new();
        {
            let mut held = slot.held.lock();
            held.retain(|(tag, mode), lock| {
                change(tag, lock);
                if !lock.is_needed() {
                    released.push((*tag, *mode));
                }
                lock.is_needed()
            });
            slot.held_len.store(held.len() as u32, Relaxed);
        }
        for (tag, mode) in released {
            self.release(owner, tag, mode, false);
            sync::let_others_run();
        }
    }

    /// Marks the present point in the owner's sequence of locks; for a savepoint.
    pub fn mark(&self, owner: OwnerId) -> LockMark {
        let slot = self.owners.get(owner);
        let mark = slot.serial_now();
        // One who never ends a transaction of four billion savepoints keeps later locks a little longer.
        slot.serial.store((mark + 1).min(PINNED - 1), Relaxed);
        LockMark(mark)
    }

    /// From now on others may wait for `xid`, a transaction or subtransaction of `owner`.
    #[inline]
    pub fn transaction_started(&self, xid: Xid, owner: OwnerId) {
        let transactions = &self.owners.get(owner).transactions;
        transactions.store(transactions.load(Relaxed) + 1, Relaxed);
        self.running.insert(xid, owner);
    }

    /// `xid` has its outcome, which is visible: wakes whoever waits for it.
    #[inline]
    pub fn transaction_ended(&self, xid: Xid) {
        let Some(owner) = self.running.remove(xid) else { return };
        let transactions = &self.owners.get(owner).transactions;
        transactions.store(transactions.load(Relaxed).saturating_sub(1), Relaxed);
        let mut wake = WakeList::new();
        self.xid_waits.ended(&self.owners, xid, &mut wake);
        wake_all(wake);
    }

    /// Waits until `xid` has ended. `Ok(false)`: skipped. Errors as for [`LockManager::lock`].
    pub fn wait_for_xid(&self, owner: OwnerId, xid: Xid, options: &LockOptions<'_>) -> Result<bool> {
        if self.running.owner_of(xid).is_none() {
            return Ok(true);
        }
        match options.wait {
            WaitPolicy::Block => {}
            WaitPolicy::NoWait => return Err(error::not_available(&LockTag::Xid(xid))),
            WaitPolicy::Skip => return Ok(false),
        }
        if self.spin_for_end(xid) {
            return Ok(true);
        }
        let slot = self.owners.get(owner);
        let waiter = slot.begin_wait(WaitTarget::Xid(xid));
        if !self.xid_waits.register(&self.running, xid, owner) {
            slot.cancel_wait();
            return Ok(true);
        }
        self.pass_wait(owner, waiter, options, || {
            self.xid_waits.unregister(xid, owner);
            slot.cancel_wait();
        })?;
        Ok(true)
    }

    /// The owner of a running transaction or subtransaction.
    pub fn owner_of(&self, xid: Xid) -> Option<OwnerId> {
        self.running.owner_of(xid)
    }

    /// Whether the owner holds this lock in this mode.
    pub fn holds(&self, owner: OwnerId, tag: LockTag, mode: LockMode) -> bool {
        let slot = self.owners.get(owner);
        if slot.held.lock().contains_key(&(tag, mode)) {
            return true;
        }
        matches!(tag, LockTag::Relation(relation)
            if StrongCounts::held(slot).any(|lock| lock.relation() == relation && lock.mode() == mode))
    }

    /// Whether the owner waits for a lock.
    pub fn is_waiting(&self, owner: OwnerId) -> bool {
        self.owners.get(owner).with_wait(|_| ()).is_some()
    }

    /// How many owners wait for a lock.
    pub fn waiting_count(&self) -> usize {
        self.waiting.load(SeqCst)
    }

    /// How many owners of a running transaction wait for a lock.
    pub fn waiting_writers(&self) -> usize {
        self.waiting_writers.load(Relaxed)
    }

    pub(crate) fn count_waiting(&self, owner: OwnerId) -> CountedWait<'_> {
        let writer = self.owners.get(owner).transactions.load(Relaxed) > 0;
        self.waiting.fetch_add(1, Relaxed);
        if writer {
            self.waiting_writers.fetch_add(1, Relaxed);
        }
        CountedWait { manager: self, writer }
    }
}

impl HeldLock {
    fn count(&mut self, duration: LockDuration, serial: u32) {
        match duration {
            LockDuration::Transaction => {
                self.transaction.get_or_insert(serial);
            }
            LockDuration::Session => self.session += 1,
        }
    }

    fn is_needed(&self) -> bool {
        self.transaction.is_some() || self.session > 0
    }
}
