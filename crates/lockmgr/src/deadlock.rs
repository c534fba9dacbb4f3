//! The deadlock detector.
//!
//! A waiter that has slept for `deadlock_timeout` stops every change to waits (all partitions of all tables) and follows the
//! edges from itself: who waits, and whom for. An edge to a holder is *hard*. An edge to somebody who only waits too, but
//! further ahead in the queue of the same target, is *soft*: it goes away if the queue is put in another order. The search
//! is PostgreSQL's (its `deadlock.c` and the README beside it): a circle without soft edges is a deadlock, and the
//! waiter that found it is the victim; a circle with soft edges is tried to be broken by each of them in turn, with a
//! constraint "this waiter before that one", and if some set of constraints leaves no circle the queues are reordered.
//!
//! A victim is marked before the world goes on, and keeps nobody waiting from then on: of two waiters of one circle that
//! come here one after the other, the second finds the circle broken. A prepared transaction waits for nothing, and so is
//! never on the way of a circle.

use std::collections::hash_map::Entry;
use std::fmt::Write;

use base::{OwnerId, Xid};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::owner::{WaitTarget, WakeList};
use crate::row::wake_all;
use crate::row_table::LatchedPartition;
use crate::table::{FrozenLockTable, QueuedLock};
use crate::xid_wait::LatchedWaiters;
use crate::{LockManager, LockMode, LockTag};

/// How many constraints are tried together before a circle is given up as a deadlock.
const CONSTRAINTS_MAX: usize = 8;

/// One owner waits for another.
#[derive(Clone)]
struct Edge {
    waiter: OwnerId,
    blocker: OwnerId,
    tag: LockTag,
    mode: LockMode,
    soft: bool,
}

/// In the queue of `tag`, `before` must come before `after`.
#[derive(Clone, Copy)]
struct Constraint {
    tag: LockTag,
    before: OwnerId,
    after: OwnerId,
}

type Orders = FxHashMap<LockTag, Vec<QueuedLock>>;

/// What a set of constraints leads to.
enum Outcome {
    /// No circle, with these queues.
    Clear(Orders),
    /// A circle, with these soft edges.
    Soft(Vec<Constraint>),
    /// The constraints contradict each other, or leave a circle of hard edges.
    Hard,
}

/// Everything that waits depend on, held still.
pub(crate) struct Frozen<'a> {
    manager: &'a LockManager,
    table: FrozenLockTable<'a>,
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

    /// Looks for a circle of waits through `owner`, breaks it by reordering queues if it can, and otherwise describes it:
    /// `owner` is the victim then.
    #[cold]
    pub(crate) fn find_deadlock(&self, owner: OwnerId) -> Option<String> {
        let mut wake = WakeList::new();
        let found = {
            let mut frozen = self.freeze();
            match frozen.resolve(owner, &mut Vec::new()) {
                Some(orders) => {
                    frozen.reorder(orders, &mut wake);
                    None
                }
                None => frozen.condemn(owner),
            }
        };
        wake_all(wake);
        found
    }
}

impl Frozen<'_> {
    /// Searches for constraints under which no circle is left.
    fn resolve(&self, start: OwnerId, constraints: &mut Vec<Constraint>) -> Option<Orders> {
        match self.test(start, constraints) {
            Outcome::Clear(orders) => Some(orders),
            Outcome::Hard => None,
            Outcome::Soft(_) if constraints.len() == CONSTRAINTS_MAX => None,
            Outcome::Soft(candidates) => candidates.into_iter().find_map(|candidate| {
                constraints.push(candidate);
                let found = self.resolve(start, constraints);
                constraints.pop();
                found
            }),
        }
    }

    fn test(&self, start: OwnerId, constraints: &[Constraint]) -> Outcome {
        let mut orders = Orders::default();
        for constraint in constraints {
            if let Entry::Vacant(vacant) = orders.entry(constraint.tag) {
                let Some(order) = self.order(&constraint.tag, constraints) else { return Outcome::Hard };
                vacant.insert(order);
            }
        }
        // Who was moved may be part of a new circle.
        let moved = constraints.iter().flat_map(|constraint| [constraint.before, constraint.after]);
        for from in moved.chain([start]) {
            if let Some(circle) = self.circle(from, &orders) {
                // The one that closes the circle first, as PostgreSQL tries them.
                let soft: Vec<Constraint> = circle
                    .iter()
                    .rev()
                    .filter(|edge| edge.soft)
                    .map(|edge| Constraint { tag: edge.tag, before: edge.waiter, after: edge.blocker })
                    .collect();
                return if soft.is_empty() { Outcome::Hard } else { Outcome::Soft(soft) };
            }
        }
        Outcome::Clear(orders)
    }

    /// The queue of `tag` in an order that obeys the constraints and otherwise keeps the present one.
    fn order(&self, tag: &LockTag, constraints: &[Constraint]) -> Option<Vec<QueuedLock>> {
        let mut rest: Vec<QueuedLock> = self.table.entry(tag)?.queue.iter().copied().collect();
        let mut order = Vec::with_capacity(rest.len());
        while !rest.is_empty() {
            let may_come = |candidate: &QueuedLock| {
                !constraints.iter().any(|constraint| {
                    constraint.tag == *tag
                        && constraint.after == candidate.owner
                        && rest.iter().any(|waiter| waiter.owner == constraint.before)
                })
            };
            let next = rest.iter().position(may_come)?;
            order.push(rest.remove(next));
        }
        Some(order)
    }

    /// A circle of waits through `start`: its edges, in order. Depth first without recursion: queues are long, and the
    /// stacks of coroutines are not.
    fn circle(&self, start: OwnerId, orders: &Orders) -> Option<Vec<Edge>> {
        let mut seen = FxHashSet::default();
        let mut path: Vec<Edge> = Vec::new();
        let mut open: Vec<std::vec::IntoIter<Edge>> = vec![self.edges(start, orders).into_iter()];
        while let Some(edges) = open.last_mut() {
            let Some(edge) = edges.next() else {
                open.pop();
                path.pop();
                continue;
            };
            let blocker = edge.blocker;
            if blocker == start {
                path.push(edge);
                return Some(path);
            }
            if seen.insert(blocker) {
                path.push(edge);
                open.push(self.edges(blocker, orders).into_iter());
            }
        }
        None
    }

    /// Whom `waiter` waits for.
    fn edges(&self, waiter: OwnerId, orders: &Orders) -> Vec<Edge> {
        let waits_for = |wait: &mut crate::owner::Wait| (!wait.doomed).then(|| wait.target.clone());
        let Some(Some(target)) = self.manager.owners.get(waiter).with_wait(waits_for) else { return Vec::new() };
        let (tag, mode) = describe(&target);
        let edge = |blocker, soft| Edge { waiter, blocker, tag, mode, soft };
        match target {
            WaitTarget::Xid(xid) | WaitTarget::Row { holder: xid @ Xid(1..), .. } => {
                self.manager.running.owner_of(xid).map(|owner| edge(owner, false)).into_iter().collect()
            }
            // The head of the queue is as good as a holder: nobody can go before it.
            WaitTarget::Row { queue, .. } => {
                let head = queue.with_current(|state| state.head().map(|head| head.owner));
                head.filter(|head| *head != waiter).map(|head| edge(head, false)).into_iter().collect()
            }
            WaitTarget::Lock { tag, mode } => {
                let Some(entry) = self.table.entry(&tag) else { return Vec::new() };
                let holders = entry.holders.iter().filter(|holder| holder.all().intersects(mode.conflicts()));
                let mut edges: Vec<Edge> =
                    holders.filter(|holder| holder.owner != waiter).map(|holder| edge(holder.owner, false)).collect();
                let ahead = |queue: &mut dyn Iterator<Item = QueuedLock>| {
                    queue
                        .take_while(|member| member.owner != waiter)
                        .filter(|member| member.mode.conflicts_with(mode))
                        .map(|member| edge(member.owner, true))
                        .collect::<Vec<Edge>>()
                };
                edges.extend(match orders.get(&tag) {
                    Some(order) => ahead(&mut order.iter().copied()),
                    None => ahead(&mut entry.queue.iter().copied()),
                });
                edges
            }
        }
    }

    fn reorder(&mut self, orders: Orders, wake: &mut WakeList) {
        for (tag, order) in orders {
            if let Some(entry) = self.table.entry_mut(&tag) {
                entry.queue = order.into();
                entry.grant_waiters(&self.manager.owners, wake);
            }
        }
    }

    /// Makes `victim` the victim, and describes the circle it is in.
    fn condemn(&self, victim: OwnerId) -> Option<String> {
        let circle = self.circle(victim, &Orders::default())?;
        self.manager.owners.get(victim).with_wait(|wait| wait.doomed = true)?;
        let database = self.manager.database();
        let mut lines = String::new();
        for edge in circle {
            if !lines.is_empty() {
                lines.push('\n');
            }
            let (waiter, blocker) = (self.manager.process_id(edge.waiter), self.manager.process_id(edge.blocker));
            let target = edge.tag.describe(database);
            let _ =
                write!(lines, "Process {waiter} waits for {} on {target}; blocked by process {blocker}.", edge.mode);
        }
        Some(lines)
    }

    /// Who keeps `owner` waiting: holders, and those ahead of it in its queue.
    pub(crate) fn blockers(&self, owner: OwnerId) -> Vec<OwnerId> {
        let mut blockers: SmallVec<[OwnerId; 8]> =
            self.edges(owner, &Orders::default()).iter().map(|edge| edge.blocker).collect();
        blockers.sort();
        blockers.dedup();
        blockers.into_vec()
    }

    pub(crate) fn table(&self) -> &FrozenLockTable<'_> {
        &self.table
    }
}

/// What messages and views say that a wait is for.
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
