//! Who depends on whom, and who must not commit.
//!
//! Snapshot isolation lets a transaction *R* read a version that a concurrent *W* replaces: R must come before W in any
//! serial order, whichever commits first. Such an rw-conflict is noted as an edge R -> W. Every execution that is not
//! serializable has two in a row, T0 -> *pivot* -> Tout, in which Tout was the first of the three to commit (T0 and Tout may be
//! the same); and if T0 only reads, then Tout had committed before T0 took its snapshot. Where that comes about, one of them
//! is sacrificed: the pivot if possible, since its retry finds Tout finished and can't fail on the same two edges.
//!
//! Edges are kept only between transactions in progress. Of an edge to or from a finished one, two numbers of the other end
//! tell all that is ever asked: the first commit among those it has an edge to, and the last among those with an edge to it.
//!
//! ```text
//!   pivot P:   first_out  = earliest commit among   P -> Tout    (committed)
//!              writers    =                         P -> W       (in progress)
//!              readers    =                         R -> P       (in progress)
//!              last_in    = latest commit among     T0 -> P      (committed, wrote)
//!              last_in_ro = latest snapshot among   T0 -> P      (committed, only read)
//! ```

use std::collections::VecDeque;

use base::{Lsn, OwnerId, Xid};
use smallvec::SmallVec;
use sync::Arc;
use sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::reason::Reason;
use crate::stripes::{STRIPES, stripe};
use crate::summary::Summary;
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

/// What a transaction and the others tell each other without a latch.
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

    fn set(&self, signal: u32) {
        self.raised.fetch_or(signal, Ordering::AcqRel);
    }
}

/// A set of transactions. Most are empty and take up a word: records lie on as few cache lines as can be, since they go from
/// processor to processor.
#[derive(Default)]
pub(crate) struct XactSet(Option<Box<SmallVec<[XactId; 6]>>>);

impl XactSet {
    fn insert(&mut self, id: XactId) -> bool {
        let ids = self.0.get_or_insert_default();
        match ids.binary_search(&id) {
            Ok(_) => false,
            Err(position) => {
                ids.insert(position, id);
                true
            }
        }
    }

    fn remove(&mut self, id: XactId) {
        if let Some(ids) = &mut self.0
            && let Ok(position) = ids.binary_search(&id)
        {
            ids.remove(position);
        }
    }

    fn contains(&self, id: XactId) -> bool {
        self.0.as_ref().is_some_and(|ids| ids.binary_search(&id).is_ok())
    }

    fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|ids| ids.is_empty())
    }

    fn iter(&self) -> impl Iterator<Item = XactId> {
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

/// A dangerous structure that was found: T0 -> pivot -> Tout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Structure {
    /// Invalid for one that has finished, or wrote nothing.
    pub(crate) first: Xid,
    pub(crate) pivot: Xid,
    /// Invalid for one that has finished.
    pub(crate) out: Xid,
    /// Where it committed; none for one that is about to.
    pub(crate) out_commit: Option<Lsn>,
}

/// What a transaction leaves behind when it ends.
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

    fn add(&mut self, mut more: Leavings) {
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
    first_out: Lsn,
    last_in: Lsn,
    last_in_read_only: Lsn,
    readers: XactSet,
    writers: XactSet,
    /// Read-only transactions whose snapshot this one could make unsafe.
    watchers: XactSet,
    /// Of a read-only transaction: those that could make its snapshot unsafe.
    watched: XactSet,
    pub(crate) signals: Arc<Signals>,
    waker: Option<sync::Waker>,
    pub(crate) leavings: Leavings,
}

/// So many that are no longer in progress may stay in the queue of those that are.
const ACTIVE_SLACK: usize = 64;

/// No commit.
const NEVER: Lsn = Lsn::MAX;

impl Record {
    #[cfg(test)]
    fn in_progress(&self) -> bool {
        !matches!(self.state, State::Committed(_))
    }

    fn is_prepared(&self) -> bool {
        matches!(self.state, State::Prepared(_))
    }

    fn is_doomed(&self) -> bool {
        self.signals.has(DOOMED)
    }
}

struct Place {
    generation: u32,
    record: Option<Record>,
    /// The last transaction's, to be used again if its session has let go of it.
    signals: Arc<Signals>,
}

/// What a new transaction got.
pub(crate) enum Begun {
    /// Nothing can go wrong: it needn't be watched.
    Safe,
    Watched(XactId, Arc<Signals>),
}

/// What came of ending, or of others' ending.
#[derive(Default)]
pub(crate) struct Ended {
    /// No longer overlapped by anyone: their locks and xids can go.
    pub(crate) obsolete: SmallVec<[(XactId, Leavings); 2]>,
    /// Waiters for a safe snapshot whose question is answered.
    pub(crate) wakers: SmallVec<[sync::Waker; 2]>,
    pub(crate) became_safe: u32,
    pub(crate) became_unsafe: u32,
    /// How many finished transactions are still known one by one.
    pub(crate) finished: usize,
    /// Everything in the summary is older than all that is in progress.
    pub(crate) summary_is_obsolete: bool,
}

pub(crate) struct Conflicts {
    places: Vec<Place>,
    /// By the thread that has looked at the place last, and has it in its processor's cache.
    free: [Vec<u32>; STRIPES],
    /// In progress and watched, by snapshot; and some that are no longer, but never in front.
    active: VecDeque<(Lsn, XactId)>,
    active_count: usize,
    /// Committed, in the order of their commits.
    finished: VecDeque<XactId>,
    last_finished: Lsn,
    pub(crate) summary: Summary,
    /// For tests of tests: no structure is dangerous.
    pub(crate) blind: bool,
    pub(crate) edges: u64,
    pub(crate) begun: u64,
    /// Whether structures that are found are kept for the log.
    pub(crate) names_pivots: bool,
    pub(crate) named: Vec<Structure>,
}

impl Conflicts {
    pub(crate) fn new() -> Conflicts {
        Conflicts {
            places: Vec::new(),
            free: std::array::from_fn(|_| Vec::new()),
            active: VecDeque::new(),
            active_count: 0,
            finished: VecDeque::new(),
            last_finished: Lsn::ZERO,
            summary: Summary::default(),
            blind: false,
            edges: 0,
            begun: 0,
            names_pivots: false,
            named: Vec::new(),
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

    /// No transaction is in progress, and none that has finished matters: nobody holds a lock.
    pub(crate) fn nobody_is_known(&self) -> bool {
        self.active_count == 0 && self.finished.is_empty() && self.summary.is_empty()
    }

    pub(crate) fn active_count(&self) -> usize {
        self.active_count
    }

    pub(crate) fn finished_count(&self) -> usize {
        self.finished.len()
    }

    pub(crate) fn active_ids(&self) -> impl Iterator<Item = XactId> {
        self.active.iter().map(|(_, id)| *id).filter(|id| self.is_active(*id))
    }

    fn is_active(&self, id: XactId) -> bool {
        self.get(id).is_some_and(|record| !matches!(record.state, State::Committed(_)))
    }

    fn enter_active(&mut self, snapshot: Lsn, id: XactId) {
        self.active_count += 1;
        // Nearly always the newest; an imported snapshot may be older.
        let position = self.active.iter().rposition(|(other, _)| *other <= snapshot).map_or(0, |position| position + 1);
        self.active.insert(position, (snapshot, id));
    }

    /// One that was in progress has committed, or its record is gone.
    fn leave_active(&mut self) {
        self.active_count -= 1;
        while self.active.front().is_some_and(|(_, id)| !self.is_active(*id)) {
            self.active.pop_front();
        }
        if self.active.len() > 2 * self.active_count + ACTIVE_SLACK {
            let mut active = std::mem::take(&mut self.active);
            active.retain(|(_, id)| self.is_active(*id));
            self.active = active;
        }
    }

    /// Enters a transaction that uses the snapshot of one in progress. Which transactions that snapshot overlapped and have ended
    /// since is not known any more, so it is never found to be safe.
    pub(crate) fn begin_imported(&mut self, owner: OwnerId, snapshot: Lsn, read_only: bool) -> (XactId, Arc<Signals>) {
        let (id, signals) = self.enter(owner, snapshot, read_only, XactSet::default());
        signals.set(UNSAFE);
        (id, signals)
    }

    /// Enters a transaction that has taken `snapshot` under the same hold of the latch.
    pub(crate) fn begin(&mut self, owner: OwnerId, snapshot: Lsn, read_only: bool) -> Begun {
        let mut watched = XactSet::default();
        if read_only {
            for id in self.active_ids() {
                if self.get(id).is_some_and(|other| !other.read_only) {
                    watched.insert(id);
                }
            }
            if watched.is_empty() {
                return Begun::Safe;
            }
        }
        let (id, signals) = self.enter(owner, snapshot, read_only, watched);
        Begun::Watched(id, signals)
    }

    fn enter(&mut self, owner: OwnerId, snapshot: Lsn, read_only: bool, watched: XactSet) -> (XactId, Arc<Signals>) {
        let free = self.free[stripe()].pop().or_else(|| self.free.iter_mut().find_map(Vec::pop));
        let place = free.unwrap_or_else(|| {
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
        for other in watched.iter() {
            if let Some(other) = self.get_mut(other) {
                other.watchers.insert(id);
            }
        }
        self.begun += 1;
        self.places[place as usize].record = Some(Record {
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
        self.enter_active(snapshot, id);
        (id, signals)
    }

    /// Notes that `reader`, which is `me` or has committed, has read what `writer`, which is `me` or was met, replaces or has
    /// made. An error: `me` must not commit.
    /// `met`: the xid by which the writer was met, if it was.
    pub(crate) fn conflict(&mut self, reader: XactId, writer: XactId, me: XactId, met: Xid) -> Result<(), Reason> {
        if reader == writer {
            return Ok(());
        }
        let (Some(r), Some(w)) = (self.get(reader), self.get(writer)) else { return Ok(()) };
        if r.is_doomed() || w.is_doomed() {
            return Ok(());
        }
        match (r.state, w.state) {
            (State::Committed(commit), _) => {
                // The reader has gone; what is left of it is where it stood.
                if commit <= w.snapshot {
                    return Ok(());
                }
                let (read_only, snapshot) = (r.read_only, r.snapshot);
                self.edges += 1;
                self.add_finished_reader(writer, commit, read_only, snapshot);
                self.check_writing_pivot(writer)
            }
            (_, State::Committed(commit)) => {
                if commit <= r.snapshot {
                    return Ok(());
                }
                let first_out = w.first_out;
                self.edges += 1;
                self.read_from_finished(reader, commit, (first_out < commit).then_some(first_out), |_| {
                    Reason::ConflictOutToPivot(met)
                })
            }
            _ => self.conflict_in_progress(reader, writer, me, met),
        }
    }

    fn conflict_in_progress(&mut self, reader: XactId, writer: XactId, me: XactId, met: Xid) -> Result<(), Reason> {
        let Some(w) = self.get_mut(writer) else { return Ok(()) };
        if !w.readers.insert(reader) {
            return Ok(());
        }
        let (writer_state, writer_first_out) = (w.state, w.first_out);
        self.edges += 1;
        let Some(r) = self.get_mut(reader) else { return Ok(()) };
        r.writers.insert(writer);
        if let State::Prepared(at) = writer_state {
            // It may have committed by now for all that is known; nobody checks again when it does.
            r.first_out = r.first_out.min(at);
        }
        let could_be_first = !r.read_only || writer_first_out <= r.snapshot;
        if self.blind {
            return Ok(());
        }
        // reader -> writer -> Tout
        if writer_first_out != NEVER && could_be_first {
            self.name(Some(reader), writer, None, Some(writer_first_out));
            if writer == me {
                return Err(Reason::PivotDuringWrite);
            }
            if !matches!(writer_state, State::Prepared(_)) {
                self.doom(writer);
                return Ok(());
            }
            return Err(Reason::ConflictOutToPivot(met));
        }
        // T0 -> reader -> writer, which may have committed by now for all that is known
        if let State::Prepared(at) = writer_state
            && self.is_dangerous_pivot(reader, at)
        {
            self.name(None, reader, Some(writer), None);
            return Err(Reason::ConflictOutToPivot(met));
        }
        Ok(())
    }

    /// Notes that `me` has met a version of a transaction that is only remembered in summary.
    pub(crate) fn conflict_out_to_old(&mut self, me: XactId, xid: Xid, commit: Lsn) -> Result<(), Reason> {
        let Some(first_out) = self.summary.writer(xid) else { return Ok(()) };
        let Some(r) = self.get(me) else { return Ok(()) };
        if r.is_doomed() || commit <= r.snapshot {
            return Ok(());
        }
        self.edges += 1;
        self.read_from_finished(me, commit, first_out, |by_pivot| {
            if by_pivot { Reason::ConflictOutToOldPivot(xid) } else { Reason::PivotWithOldConflictOut(xid) }
        })
    }

    /// An edge from `reader`, in progress, to a writer that committed at `commit`, and that had, if it could be a pivot, an
    /// edge itself to a transaction that committed at `first_out`. `reason` is told whether the writer is the pivot.
    fn read_from_finished(
        &mut self,
        reader: XactId,
        commit: Lsn,
        first_out: Option<Lsn>,
        reason: impl FnOnce(bool) -> Reason,
    ) -> Result<(), Reason> {
        let blind = self.blind;
        let Some(r) = self.get_mut(reader) else { return Ok(()) };
        r.first_out = r.first_out.min(commit);
        if blind {
            return Ok(());
        }
        if first_out.is_some_and(|first_out| !r.read_only || first_out <= r.snapshot) {
            let reason = reason(true);
            if let Reason::ConflictOutToPivot(pivot) | Reason::ConflictOutToOldPivot(pivot) = reason
                && self.names_pivots
            {
                let first = self.xid_of(Some(reader));
                self.named.push(Structure { first, pivot, out: Xid::INVALID, out_commit: first_out });
            }
            return Err(reason);
        }
        if self.is_dangerous_pivot(reader, commit) {
            self.name(None, reader, None, Some(commit));
            return Err(reason(false));
        }
        Ok(())
    }

    fn xid_of(&self, id: Option<XactId>) -> Xid {
        let record = id.and_then(|id| self.get(id));
        record.map_or(Xid::INVALID, |record| Xid(record.signals.xid.load(Ordering::Relaxed)))
    }

    /// Keeps a structure for the log, if that is wanted.
    fn name(&mut self, first: Option<XactId>, pivot: XactId, out: Option<XactId>, out_commit: Option<Lsn>) {
        if self.names_pivots {
            let any_reader = || self.get(pivot).and_then(|pivot| pivot.readers.iter().next());
            let first = self.xid_of(first.or_else(any_reader));
            let (pivot, out) = (self.xid_of(Some(pivot)), self.xid_of(out));
            self.named.push(Structure { first, pivot, out, out_commit });
        }
    }

    /// Notes that a transaction that is only remembered in summary has read what `me` has written.
    pub(crate) fn conflict_in_from_old(&mut self, me: XactId, commit: Lsn) -> Result<(), Reason> {
        let Some(w) = self.get_mut(me) else { return Ok(()) };
        if commit <= w.snapshot {
            return Ok(());
        }
        w.last_in = w.last_in.max(commit);
        self.edges += 1;
        self.check_writing_pivot(me)
    }

    fn add_finished_reader(&mut self, writer: XactId, commit: Lsn, read_only: bool, snapshot: Lsn) {
        let Some(w) = self.get_mut(writer) else { return };
        if read_only {
            w.last_in_read_only = w.last_in_read_only.max(snapshot);
        } else {
            w.last_in = w.last_in.max(commit);
        }
    }

    fn check_writing_pivot(&mut self, writer: XactId) -> Result<(), Reason> {
        let Some(w) = self.get(writer) else { return Ok(()) };
        let out = w.first_out;
        if out != NEVER && self.is_dangerous_pivot(writer, out) {
            self.name(None, writer, None, Some(out));
            return Err(Reason::PivotDuringWrite);
        }
        Ok(())
    }

    /// Whether T0 -> `pivot` -> Tout is dangerous for some T0, where Tout committed at `out` and the pivot has not.
    fn is_dangerous_pivot(&self, pivot: XactId, out: Lsn) -> bool {
        let Some(p) = self.get(pivot) else { return false };
        !self.blind
            && (p.last_in >= out
                || p.last_in_read_only >= out
                || p.readers.iter().any(|reader| {
                    self.get(reader).is_some_and(|r| !r.is_doomed() && (!r.read_only || out <= r.snapshot))
                }))
    }

    fn doom(&mut self, id: XactId) {
        if let Some(record) = self.get(id) {
            record.signals.set(DOOMED);
        }
    }

    /// The check before a commit, or before PREPARE: afterwards the transaction commits if it wants to. Those that would become
    /// pivots by it are sacrificed.
    pub(crate) fn check_commit(&mut self, me: XactId) -> Result<(), Reason> {
        let Some(record) = self.get(me) else { return Ok(()) };
        if record.is_doomed() {
            return Err(Reason::PivotDuringCommit);
        }
        if record.readers.is_empty() || self.blind {
            return Ok(());
        }
        let mut pivots: SmallVec<[(XactId, bool); 4]> = SmallVec::new();
        for reader in record.readers.iter() {
            let Some(pivot) = self.get(reader) else { continue };
            if pivot.is_doomed() {
                continue;
            }
            let dangerous = pivot.readers.contains(me)
                || pivot
                    .readers
                    .iter()
                    .any(|first| self.get(first).is_some_and(|first| !first.is_doomed() && !first.read_only));
            if dangerous {
                pivots.push((reader, pivot.is_prepared()));
            }
        }
        for (pivot, _) in &pivots {
            self.name(None, *pivot, Some(me), None);
        }
        if pivots.iter().any(|(_, is_prepared)| *is_prepared) {
            return Err(Reason::ConflictInFromPreparedPivot);
        }
        pivots.into_iter().for_each(|(pivot, _)| self.doom(pivot));
        Ok(())
    }

    /// After [`Conflicts::check_commit`]: prepared, as of a moment when the latest commit was at `horizon`.
    pub(crate) fn prepare(&mut self, me: XactId, horizon: Lsn) {
        let at = Lsn(horizon.0 + 1);
        let Some(record) = self.get_mut(me) else { return };
        record.state = State::Prepared(at);
        let readers: SmallVec<[XactId; 4]> = record.readers.iter().collect();
        for reader in readers {
            if let Some(reader) = self.get_mut(reader) {
                reader.first_out = reader.first_out.min(at);
            }
        }
    }

    /// Enters a prepared transaction of an earlier start. It may have read what somebody wrote who has committed long ago, and
    /// somebody who overlaps whatever comes now may have read what it wrote.
    pub(crate) fn restore_prepared(&mut self, owner: OwnerId, horizon: Lsn, read_only: bool) -> (XactId, Arc<Signals>) {
        let (id, signals) = self.begin_imported(owner, horizon, read_only);
        let at = Lsn(horizon.0 + 1);
        if let Some(record) = self.get_mut(id) {
            record.state = State::Prepared(at);
            record.first_out = Lsn(1);
            record.last_in = at;
        }
        (id, signals)
    }

    /// Committed, under the hold of the latch under which it was checked, or prepared before. `horizon`: the latest visible
    /// commit, for one that wrote nothing.
    pub(crate) fn commit(&mut self, me: XactId, csn: Option<Lsn>, horizon: Lsn, leavings: Leavings) -> Ended {
        let commit = csn.unwrap_or(Lsn(horizon.0 + 1)).max(self.last_finished);
        let mut ended = Ended::default();
        let Some(record) = self.get_mut(me) else { return ended };
        record.read_only |= csn.is_none();
        record.state = State::Committed(commit);
        let (read_only, snapshot, first_out) = (record.read_only, record.snapshot, record.first_out);
        let readers = std::mem::take(&mut record.readers);
        let writers = std::mem::take(&mut record.writers);
        record.leavings.add(leavings);
        for reader in readers.iter() {
            if let Some(reader) = self.get_mut(reader) {
                reader.writers.remove(me);
                reader.first_out = reader.first_out.min(commit);
            }
        }
        for writer in writers.iter() {
            if let Some(record) = self.get_mut(writer) {
                record.readers.remove(me);
            }
            self.add_finished_reader(writer, commit, read_only, snapshot);
        }
        let harmful = (!read_only && first_out != NEVER).then_some(first_out);
        self.leave(me, harmful, &mut ended);
        self.leave_active();
        self.last_finished = commit;
        self.finished.push_back(me);
        self.collect(&mut ended);
        ended
    }

    /// Rolled back: it never was.
    pub(crate) fn abort(&mut self, me: XactId, leavings: Leavings) -> Ended {
        let mut ended = Ended::default();
        let Some(record) = self.get_mut(me) else { return ended };
        let readers = std::mem::take(&mut record.readers);
        let writers = std::mem::take(&mut record.writers);
        for reader in readers.iter() {
            if let Some(reader) = self.get_mut(reader) {
                reader.writers.remove(me);
            }
        }
        for writer in writers.iter() {
            if let Some(writer) = self.get_mut(writer) {
                writer.readers.remove(me);
            }
        }
        self.leave(me, None, &mut ended);
        self.forget(me, leavings, &mut ended);
        self.leave_active();
        self.collect(&mut ended);
        ended
    }

    /// `me` is no longer in progress. `harmful`: it wrote, committed, and had an edge to a transaction that committed there.
    fn leave(&mut self, me: XactId, harmful: Option<Lsn>, ended: &mut Ended) {
        let Some(record) = self.get_mut(me) else { return };
        let watchers = std::mem::take(&mut record.watchers);
        let watched = std::mem::take(&mut record.watched);
        for other in watched.iter() {
            if let Some(other) = self.get_mut(other) {
                other.watchers.remove(me);
            }
        }
        for watcher in watchers.iter() {
            let Some(record) = self.get_mut(watcher) else { continue };
            record.watched.remove(me);
            if harmful.is_some_and(|first_out| first_out <= record.snapshot) {
                record.signals.set(UNSAFE);
                ended.became_unsafe += 1;
                ended.wakers.extend(record.waker.take());
                let others = std::mem::take(&mut record.watched);
                for other in others.iter() {
                    if let Some(other) = self.get_mut(other) {
                        other.watchers.remove(watcher);
                    }
                }
            } else if record.watched.is_empty() && !record.signals.has(UNSAFE) {
                ended.became_safe += 1;
                ended.wakers.extend(record.waker.take());
                self.become_safe(watcher, ended);
            }
        }
    }

    /// A read-only transaction can't take part in an anomaly any more: it is watched no longer.
    fn become_safe(&mut self, id: XactId, ended: &mut Ended) {
        let Some(record) = self.get_mut(id) else { return };
        record.signals.set(SAFE);
        let writers = std::mem::take(&mut record.writers);
        for writer in writers.iter() {
            if let Some(writer) = self.get_mut(writer) {
                writer.readers.remove(id);
            }
        }
        // Its locks go when its session notices.
        self.forget(id, Leavings::default(), ended);
        self.leave_active();
    }

    fn forget(&mut self, id: XactId, mut leavings: Leavings, ended: &mut Ended) {
        let Some(place) = self.places.get_mut(id.place()) else { return };
        if let Some(record) = &mut place.record {
            leavings.add(std::mem::take(&mut record.leavings));
            place.record = None;
            self.free[stripe()].push(id.place() as u32);
        }
        ended.obsolete.push((id, leavings));
    }

    /// Forgets the finished transactions that nobody in progress overlaps.
    fn collect(&mut self, ended: &mut Ended) {
        let oldest = self.oldest_snapshot();
        while let Some(id) = self.finished.front().copied() {
            let Some(State::Committed(commit)) = self.get(id).map(|record| record.state) else {
                self.finished.pop_front();
                continue;
            };
            if commit > oldest {
                break;
            }
            self.finished.pop_front();
            self.forget(id, Leavings::default(), ended);
        }
        ended.finished = self.finished.len();
        ended.summary_is_obsolete = !self.summary.is_empty() && self.summary.last_commit() <= oldest;
    }

    /// The oldest snapshot of a transaction in progress; later than everything if there is none.
    pub(crate) fn oldest_snapshot(&self) -> Lsn {
        self.active.front().map_or(Lsn::MAX, |(snapshot, _)| *snapshot)
    }

    /// Takes the oldest finished transaction, to be merged into the summary by the caller; its record stays until
    /// [`Conflicts::finish_summary`].
    pub(crate) fn take_oldest_finished(&mut self) -> Option<(XactId, Lsn, Leavings)> {
        while let Some(id) = self.finished.pop_front() {
            let Some(record) = self.get_mut(id) else { continue };
            let State::Committed(commit) = record.state else { continue };
            return Some((id, commit, std::mem::take(&mut record.leavings)));
        }
        None
    }

    /// The locks of a transaction are merged: what it wrote is known by the summary from now on.
    pub(crate) fn finish_summary(&mut self, id: XactId, commit: Lsn, xids: &[Xid]) {
        let Some(record) = self.get(id) else { return };
        let first_out = (record.first_out != NEVER).then_some(record.first_out);
        self.summary.add_transaction(xids, commit, first_out);
        let mut ended = Ended::default();
        self.forget(id, Leavings::default(), &mut ended);
    }

    /// Whoever waits for the answer whether this snapshot is safe is to be woken by it. False: it is known.
    pub(crate) fn wait_for_safety(&mut self, id: XactId, waker: sync::Waker) -> bool {
        match self.get_mut(id) {
            Some(record) if !record.signals.has(SAFE | UNSAFE) => {
                record.waker = Some(waker);
                true
            }
            _ => false,
        }
    }

    /// For whom a waiter for a safe snapshot waits.
    pub(crate) fn blockers_of_safety(&self, owner: OwnerId) -> Vec<OwnerId> {
        let waiting = self
            .active_ids()
            .filter_map(|id| self.get(id))
            .find(|record| record.owner == owner && record.waker.is_some() && !record.signals.has(SAFE | UNSAFE));
        let blockers = waiting.into_iter().flat_map(|record| record.watched.iter());
        blockers.filter_map(|id| self.get(id)).map(|record| record.owner).collect()
    }

    /// All edges and sets agree with each other, and nothing is left of transactions that are not there.
    #[cfg(test)]
    pub(crate) fn check_consistency(&self) {
        for (number, place) in self.places.iter().enumerate() {
            let Some(record) = &place.record else { continue };
            let id = XactId::new(number as u32, place.generation);
            assert!(!record.in_progress() || self.active.contains(&(record.snapshot, id)));
            assert_eq!(!record.in_progress(), self.finished.contains(&id));
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
        assert_eq!(self.active_ids().count(), self.active_count);
        let free: usize = self.free.iter().map(Vec::len).sum();
        assert_eq!(free + self.active_count + self.finished.len(), self.places.len());
    }
}
