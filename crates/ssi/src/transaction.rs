//! A serializable transaction, as its session has it: what it has locked, and what it is told.

use std::cell::{Cell, RefCell};

use base::{FileNumber, Lsn, Result, Tid, Xid};
use clog::ReadWatch;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use sync::atomic::Ordering::Relaxed;
use sync::{Arc, Interrupt, Waiter, Woken};

use crate::Entrance;
use crate::lock_table::{Found, KeyRange};
use crate::reason::{Counters, Reason};
use crate::records::{DOOMED, Leavings, SAFE, Signals, UNSAFE, XactId};
use crate::target::{Place, Target};

/// Up to so many locks are looked through one by one.
const FEW: usize = 12;

/// Ranges of one index that a transaction locks one by one; more become the whole index.
const RANGES_PER_INDEX: u32 = 32;

/// A serializable transaction in progress. Dropping it is its rollback.
pub struct SerializableTransaction {
    ssi: Entrance,
    id: XactId,
    /// The commits that it sees.
    snapshot: Lsn,
    signals: Arc<Signals>,
    held: RefCell<Held>,
    /// Found while a page was latched: to be raised when it isn't.
    failure: Cell<Option<Reason>>,
    /// The writer met last; scans meet the same one again and again.
    last_met: Cell<Xid>,
    ended: Cell<bool>,
}

#[derive(Default)]
struct Held {
    targets: SmallVec<[Target; 2]>,
    /// Where there are many.
    many: Option<Box<Many>>,
    ranges: SmallVec<[(FileNumber, u32); 2]>,
    xids: SmallVec<[Xid; 2]>,
}

#[derive(Default)]
struct Many {
    all: FxHashSet<Target>,
    /// Tuples by page, and everything finer than the relation by relation.
    counts: FxHashMap<Target, u32>,
}

impl Held {
    fn has(&self, target: Target) -> bool {
        match &self.many {
            Some(many) => many.all.contains(&target),
            None => self.targets.contains(&target),
        }
    }

    fn push(&mut self, target: Target, few: usize) {
        self.targets.push(target);
        match &mut self.many {
            Some(many) => many.note(target),
            None if self.targets.len() > few => {
                let mut many = Box::<Many>::default();
                self.targets.iter().for_each(|target| many.note(*target));
                self.many = Some(many);
            }
            None => {}
        }
    }

    /// Takes out what `drop` says, which is all counted under `under`.
    fn take(&mut self, under: Target, drop: impl Fn(Target) -> bool) -> Vec<Target> {
        let gone: Vec<Target> = self.targets.iter().copied().filter(|held| drop(*held)).collect();
        self.targets.retain(|held| !drop(*held));
        if let Some(many) = &mut self.many {
            for target in &gone {
                many.all.remove(target);
            }
            many.counts.remove(&under);
        }
        gone
    }

    fn leavings(&mut self) -> Leavings {
        Leavings {
            targets: std::mem::take(&mut self.targets),
            range_files: self.ranges.iter().map(|(index, _)| *index).collect(),
            xids: std::mem::take(&mut self.xids),
        }
    }
}

impl Many {
    fn note(&mut self, target: Target) {
        self.all.insert(target);
        if let Some(page) = target.page_of_tuple() {
            *self.counts.entry(page).or_default() += 1;
        }
        if target.place() != Place::Relation {
            *self.counts.entry(Target::relation(target.file)).or_default() += 1;
        }
    }
}

impl SerializableTransaction {
    pub(crate) fn new(ssi: Entrance, id: XactId, snapshot: Lsn, signals: Arc<Signals>) -> SerializableTransaction {
        SerializableTransaction {
            ssi,
            id,
            snapshot,
            signals,
            held: RefCell::default(),
            failure: Cell::new(None),
            last_met: Cell::new(Xid::INVALID),
            ended: Cell::new(false),
        }
    }

    /// Whether it must still be watched: a read-only one whose snapshot is known to be safe needn't. Its locks go with the first
    /// call that says so.
    #[inline]
    pub fn is_watched(&self) -> bool {
        if !self.signals.has(SAFE) {
            return true;
        }
        self.leave();
        false
    }

    #[cold]
    fn leave(&self) {
        if !self.ended.replace(true) {
            let mut held = self.held.borrow_mut();
            let leavings = held.leavings();
            *held = Held::default();
            self.ssi.take_out(self.id, &leavings);
        }
    }

    /// Notes a (sub)transaction's xid, before anything is written with it.
    pub fn note_xid(&self, xid: Xid) {
        let mut held = self.held.borrow_mut();
        if held.xids.is_empty() {
            self.signals.xid.store(xid.0, Relaxed);
        }
        held.xids.push(xid);
        drop(held);
        self.ssi.note_xid(xid, self.id);
    }

    /// Checks whether the transaction may go on after a read.
    ///
    /// # Errors
    /// 40001 if the transaction must not commit.
    #[inline]
    pub fn check_read(&self) -> Result<()> {
        match self.failure.get() {
            Some(reason) => Err(self.fail(reason)),
            None if self.signals.has(DOOMED) => Err(self.fail(Reason::PivotDuringConflictOut)),
            None => Ok(()),
        }
    }

    #[cold]
    fn fail(&self, reason: Reason) -> base::Error {
        self.ssi.counters.count_abort(reason);
        reason.error()
    }

    /// Notes that all of a heap or an index is read, before it is.
    pub fn lock_relation(&self, file: FileNumber) {
        self.lock(Target::relation(file));
    }

    /// Notes that a key is looked for in an index, before it is.
    pub fn lock_key(&self, index: FileNumber, key: &[u8]) {
        if !self.held.borrow().has(Target::relation(index)) {
            self.lock(Target::key(index, key));
        }
    }

    /// Notes how far a scan of an index has come, in place of what was noted of the scan before; while the page whose entries
    /// are copied is latched, or before the scan reads anything. Scans are numbered by [`SerializableTransaction::next_scan`].
    pub fn lock_range(&self, index: FileNumber, scan: u32, range: KeyRange) {
        if scan >= RANGES_PER_INDEX {
            return;
        }
        if self.held.borrow().has(Target::relation(index)) {
            return;
        }
        self.ssi.locks.set_range(index, self.id, scan, range);
    }

    /// A number for a scan of an index.
    pub fn next_scan(&self, index: FileNumber) -> u32 {
        let number = {
            let mut held = self.held.borrow_mut();
            match held.ranges.iter_mut().find(|(file, _)| *file == index) {
                Some((_, count)) => {
                    *count += 1;
                    *count - 1
                }
                None => {
                    held.ranges.push((index, 1));
                    0
                }
            }
        };
        if number == RANGES_PER_INDEX {
            self.lock(Target::relation(index));
            self.ssi.locks.remove_ranges(index, self.id);
            Counters::add(&self.ssi.counters.promoted_to_relation);
        }
        number
    }

    fn lock(&self, target: Target) {
        let mut held = self.held.borrow_mut();
        if held.has(target) {
            return;
        }
        let relation = Target::relation(target.file);
        if target != relation && self.ssi.is_crowded() {
            drop(held);
            return self.lock_whole(relation);
        }
        self.ssi.locks.add(target, self.id);
        let per_page = self.ssi.tuples_per_page.load(Relaxed);
        let per_relation = self.ssi.locks_per_relation.load(Relaxed);
        held.push(target, FEW.min(per_page as usize).min(per_relation as usize));
        let Some(many) = &held.many else { return };
        if many.counts.get(&relation).is_some_and(|count| *count > per_relation) {
            drop(held);
            self.lock_whole(relation);
        } else if let Some(page) = target.page_of_tuple()
            && many.counts.get(&page).is_some_and(|count| *count > per_page)
        {
            // The page before its tuples go.
            self.ssi.locks.add(page, self.id);
            let tuples = held.take(page, |held| held.page_of_tuple() == Some(page));
            held.push(page, 0);
            drop(held);
            tuples.into_iter().for_each(|tuple| self.ssi.locks.remove(tuple, self.id));
            Counters::add(&self.ssi.counters.promoted_to_page);
        }
    }

    /// One lock on the relation in place of all that is finer.
    #[cold]
    fn lock_whole(&self, relation: Target) {
        let mut held = self.held.borrow_mut();
        if held.has(relation) {
            return;
        }
        self.ssi.locks.add(relation, self.id);
        let finer = held.take(relation, |held| held.file == relation.file);
        held.push(relation, 0);
        drop(held);
        finer.into_iter().for_each(|target| self.ssi.locks.remove(target, self.id));
        Counters::add(&self.ssi.counters.promoted_to_relation);
    }

    /// A row version was updated or deleted: it is written already.
    ///
    /// # Errors
    /// 40001 if the transaction must not commit.
    #[inline]
    pub fn wrote_tuple(&self, heap: FileNumber, version: Tid) -> Result<()> {
        self.wrote(|found| self.ssi.locks.readers_of_tuple(Target::tuple(heap, version), self.id, found))
    }

    /// A row was inserted.
    ///
    /// # Errors
    /// As [`SerializableTransaction::wrote_tuple`].
    #[inline]
    pub fn wrote_row(&self, heap: FileNumber) -> Result<()> {
        self.wrote(|found| self.ssi.locks.readers_of_relation(heap, self.id, found))
    }

    /// An entry was made in an index; or would have been, had there not been one with the same key.
    ///
    /// # Errors
    /// As [`SerializableTransaction::wrote_tuple`].
    #[inline]
    pub fn wrote_key(&self, index: FileNumber, key: &[u8]) -> Result<()> {
        self.wrote(|found| self.ssi.locks.readers_of_key(index, key, self.id, found))
    }

    /// All of a relation's rows were removed at once.
    ///
    /// # Errors
    /// As [`SerializableTransaction::wrote_tuple`].
    pub fn wrote_relation(&self, file: FileNumber) -> Result<()> {
        self.wrote(|found| self.ssi.locks.readers_of_anything(file, self.id, found))
    }

    #[inline]
    fn wrote(&self, look: impl FnOnce(&mut Found)) -> Result<()> {
        if self.signals.has(DOOMED) {
            return Err(self.fail(Reason::PivotDuringConflictIn));
        }
        let mut found = Found::default();
        look(&mut found);
        self.ssi.conflict_in(self.id, &found).map_err(|reason| self.fail(reason))
    }

    /// Commits: checks, and lets `place` give the commit its place before anybody else can begin or commit. `place` returns the
    /// csn, none if nothing was written, and the latest visible commit. It must not wait.
    ///
    /// # Errors
    /// 40001, and `place` was not called.
    pub fn commit<R>(&self, place: impl FnOnce() -> (Option<Lsn>, Lsn, R)) -> Result<R> {
        if !self.is_watched() {
            return Ok(place().2);
        }
        if let Some(reason) = self.failure.get() {
            return Err(self.fail(reason));
        }
        let mut leavings = self.held.borrow_mut().leavings();
        match self.ssi.commit(self.id, &mut leavings, place) {
            Ok(result) => {
                self.ended.set(true);
                Ok(result)
            }
            Err(reason) => {
                self.abort(leavings);
                Err(self.fail(reason))
            }
        }
    }

    /// The check of a commit, for PREPARE: afterwards nothing makes this transaction a victim. `horizon`: the latest visible
    /// commit.
    ///
    /// # Errors
    /// 40001
    pub fn prepare(&self, horizon: Lsn) -> Result<()> {
        if let Some(reason) = self.failure.get() {
            return Err(self.fail(reason));
        }
        self.ssi.prepare(self.id, horizon).map_err(|reason| self.fail(reason))
    }

    /// Returns the reads of a prepared transaction, for its record: whether it was declared read-only (u8), then a file and a place
    /// (u64 each) for every lock. Ranges of an index are written as the whole index. Empty if its reads don't matter any more.
    pub fn prepared_state(&self) -> Vec<u8> {
        if !self.is_watched() {
            return Vec::new();
        }
        let held = self.held.borrow();
        let ranges = held.ranges.iter().map(|(index, _)| Target::relation(*index));
        let mut bytes = vec![u8::from(self.ssi.is_read_only(self.id))];
        for target in held.targets.iter().copied().chain(ranges) {
            bytes.extend_from_slice(&target.to_bytes());
        }
        bytes
    }

    /// Takes the locks of [`SerializableTransaction::prepared_state`]. False if that is not what `bytes` are.
    pub(crate) fn lock_prepared_state(&self, locks: &[u8]) -> bool {
        let (locks, []) = locks.as_chunks() else { return false };
        locks.iter().for_each(|bytes| self.lock(Target::from_bytes(*bytes)));
        true
    }

    fn abort(&self, leavings: Leavings) {
        if !self.ended.replace(true) {
            self.ssi.abort(self.id, leavings);
        }
    }

    /// Waits until it is known whether the snapshot is safe. True: it is.
    ///
    /// # Errors
    /// 57014 and its kin when the session is interrupted.
    pub fn wait_until_safe(&self, interrupt: &Interrupt) -> Result<bool> {
        loop {
            let waiter = Waiter::new();
            if !self.ssi.wait_for_safety(self.id, waiter.waker()) {
                return Ok(!self.signals.has(UNSAFE));
            }
            if waiter.wait(None, Some(interrupt)) == Woken::Interrupted {
                interrupt.check()?;
            }
        }
    }
}

impl ReadWatch for SerializableTransaction {
    fn saw(&self, heap: FileNumber, version: Tid) {
        let held = self.held.borrow();
        if !held.targets.is_empty() && (held.has(Target::relation(heap)) || held.has(Target::page(heap, version.block)))
        {
            return;
        }
        drop(held);
        self.lock(Target::tuple(heap, version));
    }

    fn met(&self, by: Xid, committed: Option<Lsn>) {
        if self.last_met.replace(by) == by || self.failure.get().is_some() {
            return;
        }
        if let Err(reason) = self.ssi.conflict_out(self.id, by, committed) {
            self.failure.set(Some(reason));
        }
    }

    fn succeeds(&self, by: Xid, committed: Lsn) {
        if self.failure.get().is_none()
            && let Err(reason) = self.ssi.conflict_in_from_predecessor(self.id, by, committed)
        {
            self.failure.set(Some(reason));
        }
    }

    fn snapshot(&self) -> Lsn {
        self.snapshot
    }

    fn locks_per_tuple(&self) -> bool {
        self.ssi.locks_per_tuple.load(Relaxed)
    }
}

impl Drop for SerializableTransaction {
    fn drop(&mut self) {
        let leavings = self.held.borrow_mut().leavings();
        self.abort(leavings);
    }
}
