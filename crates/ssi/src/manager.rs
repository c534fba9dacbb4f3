//! The state that all serializable transactions of a database share.

use base::{Error, FileNumber, Lsn, OwnerId, Result, Tid, Xid};
use sync::atomic::Ordering::{Acquire, Relaxed, Release};
use sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};
use sync::{Arc, CachePadded, ExclusiveLatch, Mutex};

use crate::conflicts::{Begun, Conflicts, Ended, Structure};
use crate::latches;
use crate::lock_table::{Found, LockTable};
use crate::reason::{Counters, Reason, Statistics};
use crate::records::{Leavings, Obsolete, SAFE, State, UNSAFE, XactId};
use crate::retries::Retries;
use crate::target::{Place, Target};
use crate::transaction::SerializableTransaction;
use crate::xid_map::XidMap;

/// How many finished transactions are merged at most when one ends.
const SUMMARISED_AT_ONCE: usize = 16;

/// How much is remembered, and how finely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SsiOptions {
    /// Locks held in all before finished transactions are merged, and running ones lock whole relations.
    pub locks: usize,
    /// Finished transactions known one by one.
    pub finished: usize,
    /// `max_pred_locks_per_page`: tuples of one page that a transaction locks one by one.
    pub tuples_per_page: u32,
    /// `max_pred_locks_per_relation`: pages, tuples or keys of one relation that a transaction locks one by one.
    pub locks_per_relation: u32,
}

impl Default for SsiOptions {
    fn default() -> SsiOptions {
        SsiOptions { locks: 100_000, finished: 10_000, tuples_per_page: 16, locks_per_relation: 512 }
    }
}

/// A predicate lock, for `pg_locks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredicateLock {
    /// The heap or index.
    pub file: FileNumber,
    /// The locked part of the file.
    pub place: PredicatePlace,
    /// The owner of its transaction; none for a lock in the summary of finished transactions.
    pub owner: Option<OwnerId>,
    /// Whether its transaction has finished.
    pub finished: bool,
}

/// The locked part of a heap or an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredicatePlace {
    /// All of it.
    Relation,
    /// A page of a heap.
    Page(u32),
    /// A version of a row.
    Tuple(Tid),
    /// A key, or a range of keys, of an index.
    Keys,
}

/// Serializable snapshot isolation for all databases of a folder.
pub struct Ssi {
    conflicts: CachePadded<ExclusiveLatch<Conflicts>>,
    pub(crate) locks: LockTable,
    xids: XidMap,
    retries: Arc<Retries>,
    summarising: Mutex<()>,
    /// There is something in the summary.
    has_summary: AtomicBool,
    names_pivots: AtomicBool,
    lock_limit: AtomicUsize,
    finished_limit: AtomicUsize,
    pub(crate) tuples_per_page: AtomicU32,
    pub(crate) locks_per_relation: AtomicU32,
    /// `ssi_scan_locks = per_tuple`
    pub(crate) locks_per_tuple: AtomicBool,
    pub(crate) counters: CachePadded<Counters>,
}

/// A session's way into [`Ssi`]: where its serializable transactions begin. They share a count of references with nobody but
/// their session, so that counting touches no memory of other processors.
#[derive(Clone)]
pub struct Entrance(Arc<Inside>);

struct Inside {
    ssi: Arc<Ssi>,
}

impl std::ops::Deref for Entrance {
    type Target = Ssi;

    fn deref(&self) -> &Ssi {
        &self.0.ssi
    }
}

impl Ssi {
    /// Nobody runs.
    pub fn new(options: SsiOptions) -> Arc<Ssi> {
        Arc::new(Ssi {
            conflicts: CachePadded::new(ExclusiveLatch::new(&latches::CONFLICTS, Conflicts::new())),
            locks: LockTable::new(),
            xids: XidMap::new(),
            retries: Retries::new(),
            summarising: Mutex::new(()),
            has_summary: AtomicBool::new(false),
            names_pivots: AtomicBool::new(false),
            lock_limit: AtomicUsize::new(options.locks),
            finished_limit: AtomicUsize::new(options.finished),
            tuples_per_page: AtomicU32::new(options.tuples_per_page),
            locks_per_relation: AtomicU32::new(options.locks_per_relation),
            locks_per_tuple: AtomicBool::new(false),
            counters: CachePadded::default(),
        })
    }

    /// The turns of sessions that try again.
    pub fn retries(&self) -> &Arc<Retries> {
        &self.retries
    }

    /// `ssi_scan_locks = per_tuple`: a scan of a relation that is locked as a whole tries a lock for each tuple, as PostgreSQL
    /// did before 9.2.
    pub fn set_locks_per_tuple(&self, per_tuple: bool) {
        self.locks_per_tuple.store(per_tuple, Relaxed);
    }

    /// Changes how finely is remembered.
    pub fn set_options(&self, options: SsiOptions) {
        self.lock_limit.store(options.locks, Relaxed);
        self.finished_limit.store(options.finished, Relaxed);
        self.tuples_per_page.store(options.tuples_per_page, Relaxed);
        self.locks_per_relation.store(options.locks_per_relation, Relaxed);
    }

    /// Switches the check for dangerous structures off. Transactions are then not serializable: this is for those who test
    /// whether their tests would find that.
    pub fn set_blind(&self, blind: bool) {
        self.conflicts.lock().blind = blind;
    }

    /// Whether each dangerous structure that is found goes to the server's log, by the xids in it.
    pub fn set_names_pivots(&self, names: bool) {
        self.conflicts.lock().names_pivots = names;
        self.names_pivots.store(names, Relaxed);
    }

    /// Writes the structures found to the log.
    fn name_pivots(&self) {
        if !self.names_pivots.load(Relaxed) {
            return;
        }
        let named = std::mem::take(&mut self.conflicts.lock().named);
        for Structure { first, pivot, out, out_commit } in named {
            let name = |xid: Xid| {
                if xid.is_valid() { xid.0.to_string() } else { "one without an xid, or finished".to_owned() }
            };
            let out = match out_commit {
                Some(commit) => format!("one that committed at {commit}"),
                None => name(out),
            };
            log::info!(
                "serialization conflict: {} read what {} wrote, which read what {out} wrote",
                name(first),
                name(pivot)
            );
        }
    }

    /// A session's way in.
    pub fn entrance(self: &Arc<Ssi>) -> Entrance {
        Entrance(Arc::new(Inside { ssi: self.clone() }))
    }

    /// Makes a prepared transaction of an earlier start known again: what it had read is in `state`, and as nobody knows any more
    /// whom it had conflicts with, it counts as having some in both directions. Nothing serializable runs yet.
    ///
    /// # Errors
    /// XX001 if `state` is not what [`SerializableTransaction::prepared_state`] gave.
    pub fn restore_prepared(
        self: &Arc<Ssi>,
        owner: OwnerId,
        state: &[u8],
        horizon: Lsn,
        xids: impl Iterator<Item = Xid>,
    ) -> Result<SerializableTransaction> {
        let (id, signals) = self.conflicts.lock().restore_prepared(owner, horizon, state.first() == Some(&1));
        let restored = SerializableTransaction::new(self.entrance(), id, horizon, signals);
        xids.for_each(|xid| restored.note_xid(xid));
        if !state.split_first().is_some_and(|(_, locks)| restored.lock_prepared_state(locks)) {
            return Err(Error::corrupted("invalid predicate locks of a prepared transaction"));
        }
        Ok(restored)
    }

    pub(crate) fn is_read_only(&self, id: XactId) -> bool {
        self.conflicts.lock().records.get(id).is_some_and(|record| record.read_only)
    }

    pub(crate) fn note_xid(&self, xid: Xid, id: XactId) {
        self.xids.insert(xid, id);
    }

    /// `me` has met a version that `xid` made or removed and that its snapshot doesn't show.
    pub(crate) fn conflict_out(&self, me: XactId, xid: Xid, committed: Option<Lsn>) -> Result<(), Reason> {
        let writer = self.xids.get(xid);
        if writer.is_none() && (committed.is_none() || !self.has_summary.load(Acquire)) {
            return Ok(());
        }
        let mut conflicts = self.conflicts.lock();
        let result = match writer {
            Some(writer) if conflicts.records.get(writer).is_some() => conflicts.conflict(me, writer, me, xid),
            _ => match committed {
                Some(commit) => conflicts.conflict_out_to_old(me, xid, commit),
                None => Ok(()),
            },
        };
        drop(conflicts);
        self.name_pivots();
        result
    }

    /// `me` has met, where it could not by its snapshot, what `before` has made or removed and committed: it comes after it, as if it had
    /// written what `before` has read.
    pub(crate) fn conflict_in_from_predecessor(&self, me: XactId, before: Xid, commit: Lsn) -> Result<(), Reason> {
        let reader = self.xids.get(before);
        if reader.is_none() && !self.has_summary.load(Acquire) {
            return Ok(());
        }
        let mut conflicts = self.conflicts.lock();
        let result = match reader {
            Some(reader) if conflicts.records.get(reader).is_some() => conflicts.conflict(reader, me, me, Xid::INVALID),
            _ => conflicts.conflict_in_from_old(me, commit),
        };
        drop(conflicts);
        self.name_pivots();
        result
    }

    /// `me` has written data that the found transactions have read.
    pub(crate) fn conflict_in(&self, me: XactId, found: &Found) -> Result<(), Reason> {
        if found.is_empty() {
            return Ok(());
        }
        let mut conflicts = self.conflicts.lock();
        let mut result = found.ids.iter().try_for_each(|reader| conflicts.conflict(*reader, me, me, Xid::INVALID));
        if result.is_ok() && found.old != Lsn::ZERO {
            result = conflicts.conflict_in_from_old(me, found.old);
        }
        drop(conflicts);
        self.name_pivots();
        result
    }

    /// Checks, and if `me` may commit, lets `place` give it its place under the same hold of the latch: its csn, none if it wrote
    /// nothing, and the latest visible commit.
    pub(crate) fn commit<R>(
        &self,
        me: XactId,
        leavings: &mut Leavings,
        place: impl FnOnce() -> (Option<Lsn>, Lsn, R),
    ) -> Result<R, Reason> {
        let committed = {
            let mut conflicts = self.conflicts.lock();
            let prepared = conflicts.records.get(me).is_some_and(|record| matches!(record.state, State::Prepared(_)));
            let checked = if prepared { Ok(()) } else { conflicts.check_commit(me) };
            checked.map(|()| {
                let (csn, horizon, result) = place();
                (result, conflicts.commit(me, csn, horizon, std::mem::take(leavings)))
            })
        };
        self.name_pivots();
        let (result, ended) = committed?;
        self.clean_up(ended);
        Ok(result)
    }

    pub(crate) fn prepare(&self, me: XactId, horizon: Lsn) -> Result<(), Reason> {
        let checked = {
            let mut conflicts = self.conflicts.lock();
            conflicts.check_commit(me).map(|()| conflicts.prepare(me, horizon))
        };
        self.name_pivots();
        checked
    }

    pub(crate) fn abort(&self, me: XactId, leavings: Leavings) {
        let ended = self.conflicts.lock().abort(me, leavings);
        self.clean_up(ended);
    }

    /// Takes out what belongs to transactions that concern nobody any more.
    fn clean_up(&self, ended: Ended) {
        for (id, leavings) in &ended.obsolete {
            self.take_out(*id, leavings);
        }
        for waker in &ended.wakers {
            waker.wake();
        }
        if ended.became_safe + ended.became_unsafe > 0 {
            self.counters.became_safe.fetch_add(u64::from(ended.became_safe), Relaxed);
            self.counters.became_unsafe.fetch_add(u64::from(ended.became_unsafe), Relaxed);
        }
        if ended.summary_is_obsolete {
            self.forget_summary();
        }
        if ended.finished > self.finished_limit.load(Relaxed) || (ended.finished > 0 && self.is_crowded()) {
            self.summarise();
        }
    }

    /// Takes out all that concerns nobody any more. How many finished transactions are left.
    fn sweep(&self) -> usize {
        let mut obsolete = Obsolete::new();
        let left = {
            let mut conflicts = self.conflicts.lock();
            conflicts.records.sweep(&mut obsolete);
            conflicts.records.finished_count()
        };
        obsolete.iter().for_each(|(id, leavings)| self.take_out(*id, leavings));
        left
    }

    pub(crate) fn take_out(&self, id: XactId, leavings: &Leavings) {
        for target in &leavings.targets {
            self.locks.remove(*target, id);
        }
        for index in &leavings.range_files {
            self.locks.remove_ranges(*index, id);
        }
        for xid in &leavings.xids {
            self.xids.remove(*xid);
        }
    }

    /// There are more locks than memory is meant for.
    pub(crate) fn is_crowded(&self) -> bool {
        self.locks.has_more_than(self.lock_limit.load(Relaxed))
    }

    /// Merges the oldest finished transactions into the summary. The summary holds their locks before they are removed.
    #[cold]
    fn summarise(&self) {
        let Some(_one_at_a_time) = self.summarising.try_lock() else { return };
        if self.sweep() <= self.finished_limit.load(Relaxed) && !self.is_crowded() {
            return;
        }
        for _ in 0..SUMMARISED_AT_ONCE {
            let Some((id, commit, leavings)) = self.conflicts.lock().records.take_oldest_finished() else { return };
            let relations = leavings.range_files.iter().map(|index| Target::relation(*index));
            for target in leavings.targets.iter().copied().chain(relations) {
                let merge = self.conflicts.lock().summary.merge(target, commit);
                self.locks.add_old(merge.add, commit);
                merge.remove.into_iter().for_each(|finer| self.locks.remove_old(finer));
            }
            self.has_summary.store(true, Release);
            self.conflicts.lock().finish_summary(id, commit, &leavings.xids);
            self.take_out(id, &leavings);
            Counters::add(&self.counters.summarised);
        }
    }

    #[cold]
    fn forget_summary(&self) {
        let Some(_one_at_a_time) = self.summarising.try_lock() else { return };
        let targets = {
            let mut conflicts = self.conflicts.lock();
            if conflicts.summary.is_empty() || conflicts.summary.last_commit() > conflicts.records.oldest_snapshot() {
                return;
            }
            conflicts.summary.clear()
        };
        self.has_summary.store(false, Release);
        targets.into_iter().for_each(|target| self.locks.remove_old(target));
    }

    /// Whether the question is still open whether the read-only transaction's snapshot is safe; the waker is woken when it
    /// is answered.
    pub(crate) fn wait_for_safety(&self, id: XactId, waker: sync::Waker) -> bool {
        self.conflicts.lock().wait_for_safety(id, waker)
    }

    /// A relation's rows get a new file, or one of its indexes is dropped: a transaction that has read any part of `files` counts as a
    /// reader of all of `heap` from now on. To be called under a lock that keeps all other transactions away from the relation.
    pub fn relation_rewritten(&self, files: &[FileNumber], heap: FileNumber) {
        self.sweep();
        // This asks for transactions that may hold locks. A count of locks that others change meanwhile may be too low for a moment.
        if self.conflicts.lock().nobody_is_known() {
            return;
        }
        for file in files {
            let mut found = Found::default();
            self.locks.readers_of_anything(*file, XactId::new(u32::MAX, u32::MAX), &mut found);
            let target = Target::relation(heap);
            for id in found.ids {
                let mut conflicts = self.conflicts.lock();
                if let Some(record) = conflicts.records.get_mut(id) {
                    record.leavings.targets.push(target);
                    drop(conflicts);
                    self.locks.add(target, id);
                }
            }
            if found.old != Lsn::ZERO {
                let _one_at_a_time = self.summarising.lock();
                let merge = self.conflicts.lock().summary.merge(target, found.old);
                self.locks.add_old(merge.add, found.old);
                merge.remove.into_iter().for_each(|finer| self.locks.remove_old(finer));
            }
        }
    }

    /// For whom the session waits that wants a safe snapshot; empty if it doesn't.
    pub fn safe_snapshot_blockers(&self, owner: OwnerId) -> Vec<OwnerId> {
        self.conflicts.lock().blockers_of_safety(owner)
    }

    /// All predicate locks, by relation.
    pub fn predicate_locks(&self) -> Vec<PredicateLock> {
        self.sweep();
        let all = self.locks.all();
        let conflicts = self.conflicts.lock();
        let mut locks: Vec<PredicateLock> = all
            .into_iter()
            .filter_map(|(target, id)| {
                let record = match id {
                    Some(id) => Some(conflicts.records.get(id)?),
                    None => None,
                };
                if record.is_some_and(|record| record.signals.has(SAFE) && !record.signals.has(UNSAFE)) {
                    return None;
                }
                Some(PredicateLock {
                    file: target.file,
                    place: match target.place() {
                        Place::Relation => PredicatePlace::Relation,
                        Place::Page(block) => PredicatePlace::Page(block),
                        Place::Tuple(tid) => PredicatePlace::Tuple(tid),
                        Place::Key => PredicatePlace::Keys,
                    },
                    owner: record.map(|record| record.owner),
                    finished: record.is_none_or(|record| matches!(record.state, State::Committed(_))),
                })
            })
            .collect();
        drop(conflicts);
        locks.sort_by_key(|lock| (lock.file, lock.owner));
        locks
    }

    /// Returns the counts of past events, and of the locks and transactions known now.
    pub fn statistics(&self) -> Statistics {
        self.sweep();
        let (active, finished, conflicts, begun) = {
            let conflicts = self.conflicts.lock();
            let (active, finished) =
                (conflicts.records.active_count() as u64, conflicts.records.finished_count() as u64);
            (active, finished, conflicts.edges, conflicts.records.begun)
        };
        let count = |counter: &sync::atomic::AtomicU64| counter.load(Relaxed);
        Statistics {
            aborts: std::array::from_fn(|index| count(&self.counters.aborts[index])),
            begun,
            safe_at_once: count(&self.counters.safe_at_once),
            became_safe: count(&self.counters.became_safe),
            became_unsafe: count(&self.counters.became_unsafe),
            conflicts,
            promoted_to_page: count(&self.counters.promoted_to_page),
            promoted_to_relation: count(&self.counters.promoted_to_relation),
            summarised: count(&self.counters.summarised),
            active,
            finished,
            retries_waiting: self.retries.waiting() as u64,
            locks: self.locks.len() as u64,
        }
    }

    #[cfg(test)]
    pub(crate) fn check_consistency(&self) {
        self.conflicts.lock().records.check_consistency();
    }
}

impl Entrance {
    /// Begins a serializable transaction. `take_snapshot` is called under the latch under which commits get their place, so
    /// that both have one order. No transaction comes back where nothing can go wrong: a read-only one that overlaps no writing
    /// one.
    pub fn begin(
        &self,
        owner: OwnerId,
        read_only: bool,
        take_snapshot: impl FnOnce() -> Lsn,
    ) -> (Lsn, Option<SerializableTransaction>) {
        let (snapshot, begun) = {
            let mut conflicts = self.conflicts.lock();
            let snapshot = take_snapshot();
            (snapshot, conflicts.begin(owner, snapshot, read_only))
        };
        match begun {
            Begun::Safe => {
                Counters::add(&self.counters.safe_at_once);
                (snapshot, None)
            }
            Begun::Watched(id, signals) => {
                (snapshot, Some(SerializableTransaction::new(self.clone(), id, snapshot, signals)))
            }
        }
    }

    /// As [`Entrance::begin`], with the snapshot of another serializable transaction, which is in progress until this has returned.
    pub fn begin_imported(&self, owner: OwnerId, read_only: bool, snapshot: Lsn) -> SerializableTransaction {
        let begun = self.conflicts.lock().begin_imported(owner, snapshot, read_only);
        SerializableTransaction::new(self.clone(), begun.0, snapshot, begun.1)
    }
}

impl std::fmt::Debug for Ssi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ssi").field("statistics", &self.statistics()).finish_non_exhaustive()
    }
}
