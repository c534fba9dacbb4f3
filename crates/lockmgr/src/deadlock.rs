//! The deadlock detector.
//!
//! A waiter that has slept for `deadlock_timeout` looks in two steps. The first, [`LockManager::may_be_in_circle`], stops
//! nobody: it follows the waits from itself, over targets rather than over waiters, so that a queue costs as much as its
//! holders, however many wait in it. A circle does not go away during the search. A circle that this step reports
//! wrongly is refuted by the second step. So nearly all looks end here.
//!
//! The second stops every change to waits (all partitions of all tables) and follows the edges exactly: from each
//! waiter to those it waits for. An edge to a holder is *hard*. An edge to somebody who only waits too, but further
//! ahead in the queue of the same target, is *soft*: it goes away if the queue is put in another order. The search is
//! PostgreSQL's (its `deadlock.c` and the README beside it). A circle without soft edges is a deadlock, and the waiter
//! that found it is the victim. A circle with soft edges: each is tried in turn with the constraint "this waiter before
//! that one". If some constraints leave no circle, the queues are reordered.
//!
//! A waiter that queues at a row only out of courtesy is let pass first, before anybody becomes a victim.
//!
//! A victim is marked before the world goes on, and keeps nobody waiting from then on: of two waiters of one circle that
//! come here one after the other, the second finds the circle broken. A prepared transaction waits for nothing, and so is
//! never on the way of a circle.

use std::fmt::Write;

use base::{Oid, OwnerId, Tid, Xid};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use sync::atomic::AtomicU64;
use sync::atomic::Ordering::Relaxed;

use crate::circle::{Edge, Orders, Search, order};
use crate::owner::{WaitTarget, WakeList};
use crate::row::wake_all;
use crate::row_table::LatchedPartition;
use crate::table::{FrozenLockTable, QueuedLock};
use crate::xid_wait::LatchedWaiters;
use crate::{LockManager, LockMode, LockTag};

/// How many constraints are tried together before a circle is given up as a deadlock.
const CONSTRAINTS_MAX: usize = 8;

/// How many sets of constraints are tried.
const TRIALS_MAX: usize = 200;

/// In the queue of `tag`, `before` must come before `after`.
#[derive(Clone, Copy)]
pub(crate) struct Constraint {
    pub(crate) tag: LockTag,
    pub(crate) before: OwnerId,
    pub(crate) after: OwnerId,
}

/// The result of a search under a set of constraints.
enum Outcome {
    /// No circle, with these queues.
    Clear(Orders),
    /// A circle, with these soft edges.
    Soft(Vec<Constraint>),
    /// The constraints contradict each other, or leave a circle of hard edges.
    Hard,
}

/// The detector's work so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DetectorWork {
    /// How often a waiter looked.
    pub looks: u64,
    /// How often everything was held still for that.
    pub freezes: u64,
    /// How many waits and holders were visited.
    pub edges: u64,
}

/// The same as it is counted.
#[derive(Default)]
pub(crate) struct CountedWork {
    looks: AtomicU64,
    freezes: AtomicU64,
    edges: AtomicU64,
}

/// Everything that waits depend on, held still.
pub(crate) struct Frozen<'a> {
    pub(crate) manager: &'a LockManager,
    pub(crate) table: FrozenLockTable<'a>,
    _rows: Vec<LatchedPartition<'a>>,
    _xids: Vec<LatchedWaiters<'a>>,
}

impl LockManager {
    /// Stops all changes to waits.
    pub(crate) fn freeze(&self) -> Frozen<'_> {
        let table = self.table.freeze();
        let rows = self.rows.freeze();
        let xids = self.xid_waits.freeze();
        Frozen { manager: self, table, _rows: rows, _xids: xids }
    }

    /// The cost of looking for deadlocks so far.
    pub fn detector_work(&self) -> DetectorWork {
        let CountedWork { looks, freezes, edges } = &self.detector;
        DetectorWork { looks: looks.load(Relaxed), freezes: freezes.load(Relaxed), edges: edges.load(Relaxed) }
    }

    /// Looks for a circle of waits through `owner`, breaks it by reordering queues if it can, and otherwise describes it:
    /// `owner` is the victim then.
    #[cold]
    pub(crate) fn find_deadlock(&self, owner: OwnerId) -> Option<String> {
        self.detector.looks.fetch_add(1, Relaxed);
        if !self.may_be_in_circle(owner) {
            return None;
        }
        self.detector.freezes.fetch_add(1, Relaxed);
        let mut wake = WakeList::new();
        let found = self.freeze().break_circles(owner, &mut wake);
        wake_all(wake);
        found
    }

    /// Whether `start` may be part of a circle of waits. Nothing is held still: a circle stays as it is, and if this takes
    /// other waits for one the second look finds none.
    ///
    /// A circle has an edge to a holder, as a queue alone has an order. So it is enough to go from targets to holders: either
    /// `start` is one of them, or one of them waits for the same as `start`, behind it.
    fn may_be_in_circle(&self, start: OwnerId) -> bool {
        let mut seen = FxHashSet::default();
        let mut seen_targets = FxHashSet::default();
        let Some(own) = self.target_of(start) else { return false };
        let own_key = TargetKey::of(&own);
        let mut open = vec![own];
        let mut edges = 0;
        let mut found = false;
        while let Some(target) = open.pop() {
            let key = TargetKey::of(&target);
            if !seen_targets.insert(key) {
                continue;
            }
            for holder in self.holders_of(&target) {
                edges += 1;
                if holder == start {
                    // Its own lock is in the way of others only if they are reached, too.
                    found |= key != own_key || self.is_waited_for_at(&target, start);
                } else if seen.insert(holder)
                    && let Some(next) = self.target_of(holder)
                {
                    found |= TargetKey::of(&next) == own_key && self.is_behind(&next, holder, start);
                    open.push(next);
                }
            }
            if found {
                break;
            }
        }
        self.detector.edges.fetch_add(edges, Relaxed);
        found
    }

    /// The target that an owner waits for. None if the owner is about to leave as a victim.
    fn target_of(&self, owner: OwnerId) -> Option<WaitTarget> {
        self.owners.get(owner).with_wait(|wait| (!wait.doomed).then(|| wait.target.clone())).flatten()
    }

    /// All who hold what is waited for; at a row those at the front of its queue.
    fn holders_of(&self, target: &WaitTarget) -> Vec<OwnerId> {
        match target {
            WaitTarget::Xid(xid) | WaitTarget::Row { holder: xid @ Xid(1..), .. } => {
                self.running.owner_of(*xid).into_iter().collect()
            }
            WaitTarget::Row { queue, .. } => {
                queue.with_current(|state| state.fronts().map(|front| front.owner).collect())
            }
            WaitTarget::Lock { tag, .. } => {
                let entries = self.table.partition(tag);
                entries
                    .get(tag)
                    .map_or_else(Vec::new, |entry| entry.holders.iter().map(|holder| holder.owner).collect())
            }
        }
    }

    /// Whether somebody but `owner` waits for `target` as well.
    fn is_waited_for_at(&self, target: &WaitTarget, owner: OwnerId) -> bool {
        match target {
            WaitTarget::Lock { tag, .. } => {
                let entries = self.table.partition(tag);
                entries.get(tag).is_some_and(|entry| entry.queue.iter().any(|waiter| waiter.owner != owner))
            }
            // A transaction's own session never waits for it, so the waiter is another one.
            WaitTarget::Xid(_) | WaitTarget::Row { .. } => true,
        }
    }

    /// Whether `other` stands behind `start` in the queue that both are in.
    fn is_behind(&self, target: &WaitTarget, other: OwnerId, start: OwnerId) -> bool {
        match target {
            WaitTarget::Lock { tag, .. } => {
                let entries = self.table.partition(tag);
                let position = |owner| {
                    let queue = &entries.get(tag)?.queue;
                    queue.iter().position(|waiter| waiter.owner == owner)
                };
                position(other) > position(start)
            }
            WaitTarget::Row { queue, holder: Xid::INVALID, .. } => queue.with_current(|state| {
                let number = |owner| state.behind().iter().position(|member| member.owner == owner);
                number(other) > number(start)
            }),
            // Waiters for one transaction do not wait for each other.
            WaitTarget::Xid(_) | WaitTarget::Row { .. } => false,
        }
    }
}

/// Names a target.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum TargetKey {
    Lock(LockTag),
    Xid(Xid),
    Row(Oid, Tid),
}

impl TargetKey {
    fn of(target: &WaitTarget) -> TargetKey {
        match target {
            WaitTarget::Lock { tag, .. } => TargetKey::Lock(*tag),
            WaitTarget::Xid(xid) | WaitTarget::Row { holder: xid @ Xid(1..), .. } => TargetKey::Xid(*xid),
            WaitTarget::Row { queue, .. } => {
                let key = queue.with_current(|state| state.key);
                TargetKey::Row(key.relation, key.tid)
            }
        }
    }
}

impl Frozen<'_> {
    /// Breaks circles of waits through `owner` by reordering queues if it can, and otherwise describes one: `owner` is the
    /// victim then.
    fn break_circles(&mut self, owner: OwnerId, wake: &mut WakeList) -> Option<String> {
        while let Some(courteous) = self.courteous_in_circle(owner) {
            self.let_pass(courteous, wake);
        }
        match self.resolve(owner, &mut Vec::new(), &mut 0) {
            Some(orders) => {
                self.reorder(orders, wake);
                None
            }
            None => self.condemn(owner),
        }
    }

    fn circle(&self, start: OwnerId, orders: &Orders) -> Option<Vec<Edge>> {
        let mut search = Search::new(self, orders);
        let found = search.circle(start);
        self.manager.detector.edges.fetch_add(search.edges_visited, Relaxed);
        found
    }

    /// One in a circle through `start` who waits out of courtesy alone.
    fn courteous_in_circle(&self, start: OwnerId) -> Option<OwnerId> {
        let circle = self.circle(start, &Orders::default())?;
        circle.iter().find(|edge| edge.is_courteous).map(|edge| edge.waiter)
    }

    fn let_pass(&self, owner: OwnerId, wake: &mut WakeList) {
        let slot = self.manager.owners.get(owner);
        if let Some(WaitTarget::Row { queue, mode, .. }) = slot.with_wait(|wait| wait.target.clone()) {
            queue.with_current(|state| state.let_pass(owner, mode));
            slot.grant(wake);
        }
    }

    /// Searches for constraints under which no circle is left.
    fn resolve(&self, start: OwnerId, constraints: &mut Vec<Constraint>, trials: &mut usize) -> Option<Orders> {
        *trials += 1;
        match self.test(start, constraints) {
            Outcome::Clear(orders) => Some(orders),
            Outcome::Hard => None,
            Outcome::Soft(_) if constraints.len() == CONSTRAINTS_MAX => None,
            Outcome::Soft(candidates) => candidates.into_iter().find_map(|candidate| {
                if *trials >= TRIALS_MAX {
                    return None;
                }
                constraints.push(candidate);
                let found = self.resolve(start, constraints, trials);
                constraints.pop();
                found
            }),
        }
    }

    fn test(&self, start: OwnerId, constraints: &[Constraint]) -> Outcome {
        let mut orders = Orders::default();
        for constraint in constraints {
            if orders.contains_key(&constraint.tag) {
                continue;
            }
            let Some(order) = order(self.queue_of(constraint), constraints, &constraint.tag) else {
                return Outcome::Hard;
            };
            orders.insert(constraint.tag, order);
        }
        // A waiter that was moved may be part of a new circle. The start comes last: its circle is dealt with first.
        let moved = constraints.iter().flat_map(|constraint| [constraint.before, constraint.after]);
        let mut found = Outcome::Clear(Orders::default());
        for from in moved.chain([start]) {
            if let Some(circle) = self.circle(from, &orders) {
                // The one that closes the circle first, as PostgreSQL tries them.
                let soft: Vec<Constraint> = circle
                    .iter()
                    .rev()
                    .filter(|edge| edge.is_soft)
                    .map(|edge| Constraint { tag: edge.tag, before: edge.waiter, after: edge.blocker })
                    .collect();
                if soft.is_empty() {
                    return Outcome::Hard;
                }
                found = Outcome::Soft(soft);
            }
        }
        if matches!(found, Outcome::Clear(_)) { Outcome::Clear(orders) } else { found }
    }

    /// The queue that a constraint is about, in its present order.
    fn queue_of(&self, constraint: &Constraint) -> Vec<QueuedLock> {
        match self.manager.owners.get(constraint.before).with_wait(|wait| wait.target.clone()) {
            Some(WaitTarget::Row { queue, .. }) => row_queue(&queue),
            _ => self.table.entry(&constraint.tag).map_or_else(Vec::new, |entry| entry.queue.iter().copied().collect()),
        }
    }

    fn reorder(&mut self, orders: Orders, wake: &mut WakeList) {
        for (tag, order) in orders {
            if let Some(entry) = self.table.entry_mut(&tag) {
                entry.queue = order.into();
                entry.grant_waiters(&self.manager.owners, wake);
            } else if let Some(first) = order.first()
                && let Some(WaitTarget::Row { queue, .. }) =
                    self.manager.owners.get(first.owner).with_wait(|wait| wait.target.clone())
            {
                let owners: Vec<OwnerId> = order.iter().map(|waiter| waiter.owner).collect();
                queue.with_current(|state| {
                    state.reorder(&owners);
                    for next in state.promote() {
                        self.manager.wait_at_front(next.owner, Xid::INVALID, wake);
                    }
                });
            }
        }
    }

    /// Makes `victim` the victim, and describes the circle it is in.
    fn condemn(&self, victim: OwnerId) -> Option<String> {
        let circle = self.circle(victim, &Orders::default())?;
        self.manager.owners.get(victim).with_wait(|wait| wait.doomed = true)?;
        let mut lines = String::new();
        for edge in circle {
            self.manager.describe_edge(&mut lines, (edge.waiter, edge.mode), edge.tag, edge.blocker);
        }
        Some(lines)
    }

    /// Returns the owners that keep `owner` waiting: holders of its target, and waiters ahead of it in its queue.
    pub(crate) fn blockers(&self, owner: OwnerId) -> Vec<OwnerId> {
        let mut blockers: SmallVec<[OwnerId; 8]> =
            Search::new(self, &Orders::default()).edges(owner).iter().map(|edge| edge.blocker).collect();
        blockers.sort();
        blockers.dedup();
        blockers.into_vec()
    }

    pub(crate) fn table(&self) -> &FrozenLockTable<'_> {
        &self.table
    }
}

impl LockManager {
    fn describe_edge(&self, lines: &mut String, waiter: (OwnerId, LockMode), tag: LockTag, blocker: OwnerId) {
        if !lines.is_empty() {
            lines.push('\n');
        }
        let target = tag.describe(self.database());
        let ((waiter, mode), blocker) = ((self.process_id(waiter.0), waiter.1), self.process_id(blocker));
        let _ = write!(lines, "Process {waiter} waits for {mode} on {target}; blocked by process {blocker}.");
    }

    /// Describes the circle of two of which each holds what the other one wants of the same target.
    pub(crate) fn describe_pair(&self, tag: LockTag, one: (OwnerId, LockMode), other: QueuedLock) -> String {
        let mut lines = String::new();
        self.describe_edge(&mut lines, one, tag, other.owner);
        self.describe_edge(&mut lines, (other.owner, other.mode), tag, one.0);
        lines
    }
}

/// Those behind the front of a row's queue, in order, as a queue of the lock table: the modes exclude each other likewise.
pub(crate) fn row_queue(queue: &sync::Arc<crate::queue::RowQueue>) -> Vec<QueuedLock> {
    let behind = queue.with_current(|state| state.behind());
    behind.into_iter().map(|member| QueuedLock { owner: member.owner, mode: member.mode.tuple_lock_mode() }).collect()
}

/// Returns the target and the mode of a wait, as messages and views show them.
pub(crate) fn describe(target: &WaitTarget) -> (LockTag, LockMode) {
    match target {
        WaitTarget::Lock { tag, mode } => (*tag, *mode),
        WaitTarget::Xid(xid) | WaitTarget::Row { holder: xid @ Xid(1..), .. } => (LockTag::Xid(*xid), LockMode::Share),
        WaitTarget::Row { queue, mode, .. } => {
            let key = queue.with_current(|state| state.key);
            (LockTag::Row { relation: key.relation, tid: key.tid }, mode.tuple_lock_mode())
        }
    }
}
