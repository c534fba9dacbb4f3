//! Which serializable transactions are known: those in progress, and the finished ones that somebody in progress overlaps.
//!
//! All of it is behind one latch, which goes from processor to processor with every transaction that begins or ends. So what must
//! go with it is little and lies together: the queue of snapshots, and counts. A thread's records come from places of its own, and
//! what it has finished it also takes out again by itself ([`Records::collect`]), whose locks and xids are in its processor's
//! cache; others do that for it only when much has gathered.

use std::collections::VecDeque;

use base::{Lsn, OwnerId, Xid};
use smallvec::SmallVec;
use sync::atomic::{AtomicU32, AtomicU64, Ordering};
use sync::{Arc, CachePadded};

use crate::stripes::{STRIPES, stripe};
use crate::target::Target;

/// Names a serializable transaction: a place, and how often it has been given out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct XactId(u64);

impl XactId {
    pub(crate) fn new(place: u32, generation: u32) -> XactId {
        XactId(u64::from(generation) << 32 | u64::from(place))
    }

    pub(crate) fn to_bits(self) -> u64 {
        self.0
    }

    pub(crate) fn from_bits(bits: u64) -> XactId {
        XactId(bits)
    }

    fn place(self) -> usize {
        self.0 as u32 as usize
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Flags that a transaction and other threads exchange without a latch.
#[derive(Default)]
pub(crate) struct Signals {
    raised: AtomicU32,
    /// The transaction's first xid, for the log.
    pub(crate) xid: AtomicU64,
}

pub(crate) const DOOMED: u32 = 1;
pub(crate) const SAFE: u32 = 2;
pub(crate) const UNSAFE: u32 = 4;

impl Signals {
    pub(crate) fn has(&self, signal: u32) -> bool {
        self.raised.load(Ordering::Acquire) & signal != 0
    }

    pub(crate) fn set(&self, signal: u32) {
        self.raised.fetch_or(signal, Ordering::AcqRel);
    }
}

/// A set of transactions. Most are empty and take up a word: records lie on as few cache lines as can be, since they go from
/// processor to processor.
#[derive(Default)]
pub(crate) struct XactSet(Option<Box<SmallVec<[XactId; 6]>>>);

impl XactSet {
    pub(crate) fn insert(&mut self, id: XactId) -> bool {
        let ids = self.0.get_or_insert_default();
        match ids.binary_search(&id) {
            Ok(_) => false,
            Err(position) => {
                ids.insert(position, id);
                true
            }
        }
    }

    pub(crate) fn remove(&mut self, id: XactId) {
        if let Some(ids) = &mut self.0
            && let Ok(position) = ids.binary_search(&id)
        {
            ids.remove(position);
        }
    }

    pub(crate) fn contains(&self, id: XactId) -> bool {
        self.0.as_ref().is_some_and(|ids| ids.binary_search(&id).is_ok())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|ids| ids.is_empty())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = XactId> {
        self.0.iter().flat_map(|ids| ids.iter().copied())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Active,
    /// The check is done and can't be undone; it counts as committed at this moment, in case it is.
    Prepared(Lsn),
    Committed(Lsn),
}

/// The locks and xids that a transaction leaves behind when it ends.
#[derive(Default)]
pub(crate) struct Leavings {
    pub(crate) targets: SmallVec<[Target; 2]>,
    /// Indexes it has locked ranges of.
    pub(crate) range_files: SmallVec<[base::FileNumber; 2]>,
    pub(crate) xids: SmallVec<[Xid; 2]>,
}

impl Leavings {
    fn is_empty(&self) -> bool {
        self.targets.is_empty() && self.range_files.is_empty() && self.xids.is_empty()
    }

    pub(crate) fn add(&mut self, mut more: Leavings) {
        if self.is_empty() {
            *self = more;
        } else if !more.is_empty() {
            self.targets.append(&mut more.targets);
            self.range_files.append(&mut more.range_files);
            self.xids.append(&mut more.xids);
        }
    }
}

pub(crate) struct Record {
    pub(crate) owner: OwnerId,
    pub(crate) snapshot: Lsn,
    pub(crate) state: State,
    /// Declared so, or it has committed and wrote nothing.
    pub(crate) read_only: bool,
    pub(crate) first_out: Lsn,
    pub(crate) last_in: Lsn,
    pub(crate) last_in_read_only: Lsn,
    pub(crate) readers: XactSet,
    pub(crate) writers: XactSet,
    /// Read-only transactions whose snapshot this one could make unsafe.
    pub(crate) watchers: XactSet,
    /// Of a read-only transaction: those that could make its snapshot unsafe.
    pub(crate) watched: XactSet,
    pub(crate) signals: Arc<Signals>,
    pub(crate) waker: Option<sync::Waker>,
    pub(crate) leavings: Leavings,
}

/// No commit.
pub(crate) const NEVER: Lsn = Lsn::MAX;

impl Record {
    #[cfg(test)]
    pub(crate) fn in_progress(&self) -> bool {
        !matches!(self.state, State::Committed(_))
    }

    pub(crate) fn is_prepared(&self) -> bool {
        matches!(self.state, State::Prepared(_))
    }

    pub(crate) fn is_doomed(&self) -> bool {
        self.signals.has(DOOMED)
    }
}

/// A record's memory: whole cache lines, so that who works on one is in nobody's way.
#[repr(align(64))]
struct Place {
    generation: u32,
    record: Option<Record>,
    /// The last transaction's, to be used again if its session has let go of it.
    signals: Arc<Signals>,
}

/// The part of the records that one thread keeps for itself.
#[derive(Default)]
struct Local {
    /// Free places that this thread was the last to use.
    free: Vec<u32>,
    /// Committed transactions, in the order of their commits.
    finished: VecDeque<(Lsn, XactId)>,
}

/// So many finished transactions more than there are in progress may stay with threads that haven't looked after them.
const FINISHED_SLACK: usize = 64;

/// Obsolete transactions: nobody in progress overlaps them, so that their locks and xids can go.
pub(crate) type Obsolete = SmallVec<[(XactId, Leavings); 2]>;

/// The records. The fields that every transaction changes come first, on one cache line.
#[repr(C)]
pub(crate) struct Records {
    /// Transactions in progress that are watched, by snapshot.
    active: VecDeque<(Lsn, XactId)>,
    /// The latest commit.
    last_finished: Lsn,
    /// How far commits are known to be visible.
    visible: Lsn,
    finished_count: usize,
    pub(crate) begun: u64,
    /// Up to which snapshot all threads' finished transactions have been looked through.
    swept: Lsn,
    places: Vec<Place>,
    locals: Box<[CachePadded<Local>; STRIPES]>,
}

impl Records {
    pub(crate) fn new() -> Records {
        Records {
            active: VecDeque::new(),
            last_finished: Lsn::ZERO,
            visible: Lsn::ZERO,
            finished_count: 0,
            begun: 0,
            swept: Lsn::ZERO,
            places: Vec::new(),
            locals: Box::default(),
        }
    }

    pub(crate) fn get(&self, id: XactId) -> Option<&Record> {
        let place = self.places.get(id.place())?;
        if place.generation == id.generation() { place.record.as_ref() } else { None }
    }

    pub(crate) fn get_mut(&mut self, id: XactId) -> Option<&mut Record> {
        let place = self.places.get_mut(id.place())?;
        if place.generation == id.generation() { place.record.as_mut() } else { None }
    }

    /// How many are in progress and watched.
    pub(crate) fn active_count(&self) -> usize {
        self.active.len()
    }

    /// How many finished ones are known one by one; among them may be obsolete ones ([`Records::sweep`]).
    pub(crate) fn finished_count(&self) -> usize {
        self.finished_count
    }

    pub(crate) fn active_ids(&self) -> impl Iterator<Item = XactId> {
        self.active.iter().map(|(_, id)| *id)
    }

    /// The oldest snapshot of a transaction in progress. If there is none, that of the next one to begin, which sees all that is
    /// visible by now: a commit that is visible only when it is durable (`early_lock_release`) overlaps that one as well.
    pub(crate) fn oldest_snapshot(&self) -> Lsn {
        // One that wrote nothing counts as finished just behind the horizon.
        self.active.front().map_or(Lsn(self.visible.0 + 1), |(snapshot, _)| *snapshot)
    }

    /// The latest visible commit is known to be at `horizon`, or after it.
    pub(crate) fn note_horizon(&mut self, horizon: Lsn) {
        self.visible = self.visible.max(horizon);
    }

    /// The latest commit of a watched transaction.
    pub(crate) fn last_finished(&self) -> Lsn {
        self.last_finished
    }

    /// Enters a transaction in progress, with no edges.
    pub(crate) fn enter(
        &mut self,
        owner: OwnerId,
        snapshot: Lsn,
        read_only: bool,
        watched: XactSet,
    ) -> (XactId, Arc<Signals>) {
        let free = self.locals[stripe()].free.pop();
        let place = free.or_else(|| self.locals.iter_mut().find_map(|local| local.free.pop())).unwrap_or_else(|| {
            self.places.push(Place { generation: 0, record: None, signals: Arc::default() });
            (self.places.len() - 1) as u32
        });
        let entry = &mut self.places[place as usize];
        entry.generation = entry.generation.wrapping_add(1);
        let id = XactId::new(place, entry.generation);
        match Arc::get_mut(&mut entry.signals) {
            Some(unused) => *unused = Signals::default(),
            None => entry.signals = Arc::default(),
        }
        let signals = entry.signals.clone();
        entry.record = Some(Record {
            owner,
            snapshot,
            state: State::Active,
            read_only,
            first_out: NEVER,
            last_in: Lsn::ZERO,
            last_in_read_only: Lsn::ZERO,
            readers: XactSet::default(),
            writers: XactSet::default(),
            watchers: XactSet::default(),
            watched,
            signals: signals.clone(),
            waker: None,
            leavings: Leavings::default(),
        });
        self.begun += 1;
        // Nearly always the newest; an imported snapshot may be older.
        let position = self.active.iter().rposition(|(other, _)| *other <= snapshot).map_or(0, |position| position + 1);
        self.active.insert(position, (snapshot, id));
        (id, signals)
    }

    /// One that was in progress is no longer.
    fn leave_active(&mut self, snapshot: Lsn, id: XactId) {
        let first = self.active.partition_point(|(other, _)| *other < snapshot);
        let position = self.active.range(first..).position(|(_, other)| *other == id);
        debug_assert!(position.is_some());
        if let Some(position) = position {
            self.active.remove(first + position);
        }
    }

    /// One that was in progress has committed.
    pub(crate) fn finish(&mut self, id: XactId, commit: Lsn) {
        let Some(record) = self.get(id) else { return };
        let snapshot = record.snapshot;
        self.leave_active(snapshot, id);
        self.last_finished = commit;
        self.finished_count += 1;
        self.locals[stripe()].finished.push_back((commit, id));
    }

    /// One that was in progress is to be forgotten.
    pub(crate) fn leave(&mut self, id: XactId, leavings: Leavings, obsolete: &mut Obsolete) {
        let Some(record) = self.get(id) else { return };
        let snapshot = record.snapshot;
        self.leave_active(snapshot, id);
        self.forget(id, leavings, obsolete);
    }

    /// The record of one that is in none of the queues goes.
    pub(crate) fn forget(&mut self, id: XactId, mut leavings: Leavings, obsolete: &mut Obsolete) {
        let Some(place) = self.places.get_mut(id.place()) else { return };
        if let Some(record) = place.record.take() {
            leavings.add(record.leavings);
            self.locals[stripe()].free.push(id.place() as u32);
        }
        obsolete.push((id, leavings));
    }

    /// Forgets the finished transactions that nobody in progress overlaps: the calling thread's own, and others' if many have
    /// gathered.
    pub(crate) fn collect(&mut self, obsolete: &mut Obsolete) {
        let oldest = self.oldest_snapshot();
        self.collect_of(stripe(), oldest, obsolete);
        if self.finished_count > FINISHED_SLACK + 2 * self.active.len() && self.swept < oldest {
            self.sweep(obsolete);
        }
    }

    /// Forgets all finished transactions that nobody in progress overlaps.
    pub(crate) fn sweep(&mut self, obsolete: &mut Obsolete) {
        let oldest = self.oldest_snapshot();
        (0..STRIPES).for_each(|stripe| self.collect_of(stripe, oldest, obsolete));
        // Of those who finish from now on, some are obsolete as well when nobody is in progress.
        self.swept = oldest.min(self.last_finished);
    }

    fn collect_of(&mut self, stripe: usize, oldest: Lsn, obsolete: &mut Obsolete) {
        while let Some((_, id)) = self.locals[stripe].finished.pop_front_if(|(commit, _)| *commit <= oldest) {
            self.finished_count -= 1;
            self.forget(id, Leavings::default(), obsolete);
        }
    }

    /// Takes the finished transaction that committed first out of the queue; its record stays until it is forgotten.
    pub(crate) fn take_oldest_finished(&mut self) -> Option<(XactId, Lsn, Leavings)> {
        let first = |local: &CachePadded<Local>| local.finished.front().map(|(commit, _)| *commit);
        let local = self.locals.iter_mut().filter(|local| first(local).is_some()).min_by_key(|local| first(local))?;
        let (commit, id) = local.finished.pop_front()?;
        self.finished_count -= 1;
        let record = self.get_mut(id)?;
        Some((id, commit, std::mem::take(&mut record.leavings)))
    }

    /// All edges and sets agree with each other, and nothing is left of transactions that are not there.
    #[cfg(test)]
    pub(crate) fn check_consistency(&self) {
        let is_finished =
            |id: XactId| self.locals.iter().any(|local| local.finished.iter().any(|(_, other)| *other == id));
        for (number, place) in self.places.iter().enumerate() {
            let Some(record) = &place.record else { continue };
            let id = XactId::new(number as u32, place.generation);
            assert_eq!(record.in_progress(), self.active.contains(&(record.snapshot, id)));
            assert_eq!(!record.in_progress(), is_finished(id));
            for reader in record.readers.iter() {
                assert!(self.get(reader).is_some_and(|reader| reader.writers.contains(id) && reader.in_progress()));
            }
            for writer in record.writers.iter() {
                assert!(self.get(writer).is_some_and(|writer| writer.readers.contains(id) && writer.in_progress()));
            }
            for watcher in record.watchers.iter() {
                assert!(self.get(watcher).is_some_and(|watcher| watcher.watched.contains(id)));
            }
            assert!(record.in_progress() || (record.readers.is_empty() && record.writers.is_empty()));
        }
        assert!(self.active.iter().is_sorted_by_key(|(snapshot, _)| *snapshot));
        let free: usize = self.locals.iter().map(|local| local.free.len()).sum();
        let finished: usize = self.locals.iter().map(|local| local.finished.len()).sum();
        assert_eq!(finished, self.finished_count);
        assert_eq!(free + self.active.len() + finished, self.places.len());
    }
}
