//! The dependencies between transactions, and the choice of transactions that must not commit.
//!
//! Snapshot isolation lets a transaction *R* read a version that a concurrent *W* replaces: R must come before W in any
//! serial order, whichever commits first. Such an rw-conflict is noted as an edge R -> W. Every execution that is not
//! serializable has two such edges in a row, T0 -> *pivot* -> Tout. Tout was the first of the three to commit (T0 and Tout may be
//! the same). If T0 only reads, then Tout had committed before T0 took its snapshot. When such a structure arises, one of the
//! three is sacrificed: the pivot if possible, since its retry finds Tout finished and can't fail on the same two edges.
//!
//! Edges are kept only between transactions in progress. An edge whose other end has finished is reduced to two numbers of the end
//! in progress: the first commit among the transactions it has an edge to, and the last among those with an edge to it.
//!
//! ```text
//!   pivot P:   first_out  = earliest commit among   P -> Tout    (committed)
//!              writers    =                         P -> W       (in progress)
//!              readers    =                         R -> P       (in progress)
//!              last_in    = latest commit among     T0 -> P      (committed, wrote)
//!              last_in_ro = latest snapshot among   T0 -> P      (committed, only read)
//! ```

use base::{Lsn, OwnerId, Xid};
use smallvec::SmallVec;
use sync::Arc;
use sync::atomic::Ordering;

use crate::reason::Reason;
use crate::records::{DOOMED, Leavings, NEVER, Obsolete, Records, SAFE, Signals, State, UNSAFE, XactId, XactSet};
use crate::summary::Summary;

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

/// The result of beginning a transaction.
pub(crate) enum Begun {
    /// The transaction can be part of no dangerous structure, so it needn't be watched.
    Safe,
    Watched(XactId, Arc<Signals>),
}

/// The consequences of the end of one or more transactions.
#[derive(Default)]
pub(crate) struct Ended {
    pub(crate) obsolete: Obsolete,
    /// Waiters for a safe snapshot for whom it is known now whether their snapshot is safe.
    pub(crate) wakers: SmallVec<[sync::Waker; 2]>,
    pub(crate) became_safe: u32,
    pub(crate) became_unsafe: u32,
    /// How many finished transactions are still known one by one, or not yet looked after.
    pub(crate) finished: usize,
    /// Everything in the summary is older than all that is in progress.
    pub(crate) summary_is_obsolete: bool,
}

/// The known transactions, and the edges between them. The records come first in memory, for the reason that [`Records`] gives.
#[repr(C)]
pub(crate) struct Conflicts {
    pub(crate) records: Records,
    pub(crate) edges: u64,
    /// Whether structures that are found are kept for the log.
    pub(crate) names_pivots: bool,
    /// For tests of tests: no structure is dangerous.
    pub(crate) blind: bool,
    pub(crate) named: Vec<Structure>,
    pub(crate) summary: Summary,
}

impl Conflicts {
    pub(crate) fn new() -> Conflicts {
        Conflicts {
            records: Records::new(),
            edges: 0,
            names_pivots: false,
            blind: false,
            named: Vec::new(),
            summary: Summary::default(),
        }
    }

    /// No transaction is in progress, and none that has finished matters: nobody holds a lock.
    pub(crate) fn nobody_is_known(&self) -> bool {
        self.records.active_count() == 0 && self.records.finished_count() == 0 && self.summary.is_empty()
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
        self.records.note_horizon(snapshot);
        // There is a commit that is not visible yet. (One that wrote nothing counts as finished just behind the horizon.)
        let overlaps_finished = self.records.last_finished() > Lsn(snapshot.0 + 1);
        let mut watched = XactSet::default();
        if read_only {
            for id in self.records.active_ids() {
                if self.records.get(id).is_some_and(|other| !other.read_only) {
                    watched.insert(id);
                }
            }
            if watched.is_empty() && !overlaps_finished {
                return Begun::Safe;
            }
        }
        let (id, signals) = self.enter(owner, snapshot, read_only, watched);
        if read_only && overlaps_finished {
            signals.set(UNSAFE);
        }
        Begun::Watched(id, signals)
    }

    fn enter(&mut self, owner: OwnerId, snapshot: Lsn, read_only: bool, watched: XactSet) -> (XactId, Arc<Signals>) {
        let others: SmallVec<[XactId; 4]> = watched.iter().collect();
        let (id, signals) = self.records.enter(owner, snapshot, read_only, watched);
        for other in others {
            if let Some(other) = self.records.get_mut(other) {
                other.watchers.insert(id);
            }
        }
        (id, signals)
    }

    /// Notes that `reader`, which is `me` or has committed, has read what `writer`, which is `me` or was met, replaces or has
    /// made. An error: `me` must not commit.
    /// `met`: the xid by which the writer was met, if it was.
    pub(crate) fn conflict(&mut self, reader: XactId, writer: XactId, me: XactId, met: Xid) -> Result<(), Reason> {
        if reader == writer {
            return Ok(());
        }
        let (Some(r), Some(w)) = (self.records.get(reader), self.records.get(writer)) else { return Ok(()) };
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
        let Some(w) = self.records.get_mut(writer) else { return Ok(()) };
        if !w.readers.insert(reader) {
            return Ok(());
        }
        let (writer_state, writer_first_out) = (w.state, w.first_out);
        self.edges += 1;
        let Some(r) = self.records.get_mut(reader) else { return Ok(()) };
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
        let Some(r) = self.records.get(me) else { return Ok(()) };
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
        let Some(r) = self.records.get_mut(reader) else { return Ok(()) };
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
        let record = id.and_then(|id| self.records.get(id));
        record.map_or(Xid::INVALID, |record| Xid(record.signals.xid.load(Ordering::Relaxed)))
    }

    /// Keeps a structure for the log, if that is wanted.
    fn name(&mut self, first: Option<XactId>, pivot: XactId, out: Option<XactId>, out_commit: Option<Lsn>) {
        if self.names_pivots {
            let any_reader = || self.records.get(pivot).and_then(|pivot| pivot.readers.iter().next());
            let first = self.xid_of(first.or_else(any_reader));
            let (pivot, out) = (self.xid_of(Some(pivot)), self.xid_of(out));
            self.named.push(Structure { first, pivot, out, out_commit });
        }
    }

    /// Notes that a transaction that is only remembered in summary has read what `me` has written.
    pub(crate) fn conflict_in_from_old(&mut self, me: XactId, commit: Lsn) -> Result<(), Reason> {
        let Some(w) = self.records.get_mut(me) else { return Ok(()) };
        if commit <= w.snapshot {
            return Ok(());
        }
        w.last_in = w.last_in.max(commit);
        self.edges += 1;
        self.check_writing_pivot(me)
    }

    fn add_finished_reader(&mut self, writer: XactId, commit: Lsn, read_only: bool, snapshot: Lsn) {
        let Some(w) = self.records.get_mut(writer) else { return };
        if read_only {
            w.last_in_read_only = w.last_in_read_only.max(snapshot);
        } else {
            w.last_in = w.last_in.max(commit);
        }
    }

    fn check_writing_pivot(&mut self, writer: XactId) -> Result<(), Reason> {
        let Some(w) = self.records.get(writer) else { return Ok(()) };
        let out = w.first_out;
        if out != NEVER && self.is_dangerous_pivot(writer, out) {
            self.name(None, writer, None, Some(out));
            return Err(Reason::PivotDuringWrite);
        }
        Ok(())
    }

    /// Whether T0 -> `pivot` -> Tout is dangerous for some T0, where Tout committed at `out` and the pivot has not.
    fn is_dangerous_pivot(&self, pivot: XactId, out: Lsn) -> bool {
        let Some(p) = self.records.get(pivot) else { return false };
        !self.blind
            && (p.last_in >= out
                || p.last_in_read_only >= out
                || p.readers.iter().any(|reader| {
                    self.records.get(reader).is_some_and(|r| !r.is_doomed() && (!r.read_only || out <= r.snapshot))
                }))
    }

    fn doom(&mut self, id: XactId) {
        if let Some(record) = self.records.get(id) {
            record.signals.set(DOOMED);
        }
    }

    /// The check before a commit, or before PREPARE: afterwards the transaction commits if it wants to. Those that would become
    /// pivots by it are sacrificed.
    pub(crate) fn check_commit(&mut self, me: XactId) -> Result<(), Reason> {
        let Some(record) = self.records.get(me) else { return Ok(()) };
        if record.is_doomed() {
            return Err(Reason::PivotDuringCommit);
        }
        if record.readers.is_empty() || self.blind {
            return Ok(());
        }
        let mut pivots: SmallVec<[(XactId, bool); 4]> = SmallVec::new();
        for reader in record.readers.iter() {
            let Some(pivot) = self.records.get(reader) else { continue };
            if pivot.is_doomed() {
                continue;
            }
            let dangerous = pivot.readers.contains(me)
                || pivot
                    .readers
                    .iter()
                    .any(|first| self.records.get(first).is_some_and(|first| !first.is_doomed() && !first.read_only));
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
        let Some(record) = self.records.get_mut(me) else { return };
        record.state = State::Prepared(at);
        let readers: SmallVec<[XactId; 4]> = record.readers.iter().collect();
        for reader in readers {
            if let Some(reader) = self.records.get_mut(reader) {
                reader.first_out = reader.first_out.min(at);
            }
        }
    }

    /// Enters a prepared transaction of an earlier start. It may have read what somebody wrote who has committed long ago, and
    /// somebody who overlaps whatever comes now may have read what it wrote.
    pub(crate) fn restore_prepared(&mut self, owner: OwnerId, horizon: Lsn, read_only: bool) -> (XactId, Arc<Signals>) {
        let (id, signals) = self.begin_imported(owner, horizon, read_only);
        let at = Lsn(horizon.0 + 1);
        if let Some(record) = self.records.get_mut(id) {
            record.state = State::Prepared(at);
            record.first_out = Lsn(1);
            record.last_in = at;
        }
        (id, signals)
    }

    /// Committed, under the hold of the latch under which it was checked, or prepared before. `horizon`: the latest visible
    /// commit, which may be an earlier one.
    pub(crate) fn commit(&mut self, me: XactId, csn: Option<Lsn>, horizon: Lsn, leavings: Leavings) -> Ended {
        let commit = csn.unwrap_or(Lsn(horizon.0 + 1)).max(self.records.last_finished());
        self.records.note_horizon(horizon);
        let mut ended = Ended::default();
        let Some(record) = self.records.get_mut(me) else { return ended };
        record.read_only |= csn.is_none();
        record.state = State::Committed(commit);
        let (read_only, snapshot, first_out) = (record.read_only, record.snapshot, record.first_out);
        let readers = std::mem::take(&mut record.readers);
        let writers = std::mem::take(&mut record.writers);
        record.leavings.add(leavings);
        for reader in readers.iter() {
            if let Some(reader) = self.records.get_mut(reader) {
                reader.writers.remove(me);
                reader.first_out = reader.first_out.min(commit);
            }
        }
        for writer in writers.iter() {
            if let Some(record) = self.records.get_mut(writer) {
                record.readers.remove(me);
            }
            self.add_finished_reader(writer, commit, read_only, snapshot);
        }
        let harmful = (!read_only && first_out != NEVER).then_some(first_out);
        self.leave(me, harmful, &mut ended);
        self.records.finish(me, commit);
        self.collect(&mut ended);
        ended
    }

    /// Rolled back: it never was.
    pub(crate) fn abort(&mut self, me: XactId, leavings: Leavings) -> Ended {
        let mut ended = Ended::default();
        let Some(record) = self.records.get_mut(me) else { return ended };
        let readers = std::mem::take(&mut record.readers);
        let writers = std::mem::take(&mut record.writers);
        for reader in readers.iter() {
            if let Some(reader) = self.records.get_mut(reader) {
                reader.writers.remove(me);
            }
        }
        for writer in writers.iter() {
            if let Some(writer) = self.records.get_mut(writer) {
                writer.readers.remove(me);
            }
        }
        self.leave(me, None, &mut ended);
        self.records.leave(me, leavings, &mut ended.obsolete);
        self.collect(&mut ended);
        ended
    }

    /// `me` is no longer in progress. `harmful`: it wrote, committed, and had an edge to a transaction that committed there.
    fn leave(&mut self, me: XactId, harmful: Option<Lsn>, ended: &mut Ended) {
        let Some(record) = self.records.get_mut(me) else { return };
        let watchers = std::mem::take(&mut record.watchers);
        let watched = std::mem::take(&mut record.watched);
        for other in watched.iter() {
            if let Some(other) = self.records.get_mut(other) {
                other.watchers.remove(me);
            }
        }
        for watcher in watchers.iter() {
            let Some(record) = self.records.get_mut(watcher) else { continue };
            record.watched.remove(me);
            if harmful.is_some_and(|first_out| first_out <= record.snapshot) {
                record.signals.set(UNSAFE);
                ended.became_unsafe += 1;
                ended.wakers.extend(record.waker.take());
                let others = std::mem::take(&mut record.watched);
                for other in others.iter() {
                    if let Some(other) = self.records.get_mut(other) {
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
        let Some(record) = self.records.get_mut(id) else { return };
        record.signals.set(SAFE);
        let writers = std::mem::take(&mut record.writers);
        for writer in writers.iter() {
            if let Some(writer) = self.records.get_mut(writer) {
                writer.readers.remove(id);
            }
        }
        // Its locks go when its session notices.
        self.records.leave(id, Leavings::default(), &mut ended.obsolete);
    }

    /// Forgets finished transactions that nobody in progress overlaps.
    fn collect(&mut self, ended: &mut Ended) {
        self.records.collect(&mut ended.obsolete);
        ended.finished = self.records.finished_count();
        ended.summary_is_obsolete =
            !self.summary.is_empty() && self.summary.last_commit() <= self.records.oldest_snapshot();
    }

    /// The locks of a transaction are merged: what it wrote is known by the summary from now on.
    pub(crate) fn finish_summary(&mut self, id: XactId, commit: Lsn, xids: &[Xid]) {
        let Some(record) = self.records.get(id) else { return };
        let first_out = (record.first_out != NEVER).then_some(record.first_out);
        self.summary.add_transaction(xids, commit, first_out);
        self.records.forget(id, Leavings::default(), &mut Obsolete::new());
    }

    /// Registers `waker`: it is called when it is known whether the snapshot of `id` is safe. Returns false if that is known already.
    pub(crate) fn wait_for_safety(&mut self, id: XactId, waker: sync::Waker) -> bool {
        match self.records.get_mut(id) {
            Some(record) if !record.signals.has(SAFE | UNSAFE) => {
                record.waker = Some(waker);
                true
            }
            _ => false,
        }
    }

    /// Returns the owners of the transactions that a waiter for a safe snapshot waits for.
    pub(crate) fn blockers_of_safety(&self, owner: OwnerId) -> Vec<OwnerId> {
        let waiting = self
            .records
            .active_ids()
            .filter_map(|id| self.records.get(id))
            .find(|record| record.owner == owner && record.waker.is_some() && !record.signals.has(SAFE | UNSAFE));
        let blockers = waiting.into_iter().flat_map(|record| record.watched.iter());
        blockers.filter_map(|id| self.records.get(id)).map(|record| record.owner).collect()
    }
}
