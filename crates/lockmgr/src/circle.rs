//! Circles of waits, searched while everything is held still.

use base::{OwnerId, Xid};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::deadlock::{Constraint, Frozen, describe, row_queue};
use crate::owner::WaitTarget;
use crate::table::QueuedLock;
use crate::{LockMode, LockTag, ModeSet};

/// One owner waits for another.
#[derive(Clone)]
pub(crate) struct Edge {
    pub(crate) waiter: OwnerId,
    pub(crate) blocker: OwnerId,
    pub(crate) tag: LockTag,
    pub(crate) mode: LockMode,
    pub(crate) is_soft: bool,
    /// The waiter could have what it waits for at once.
    pub(crate) is_courteous: bool,
}

/// Queues in another order than they have.
pub(crate) type Orders = FxHashMap<LockTag, Vec<QueuedLock>>;

/// One search. It visits each holder and each queue member only once per mode. So its cost is at most the number of
/// waiters and holders times the number of modes.
pub(crate) struct Search<'a, 'b> {
    frozen: &'a Frozen<'b>,
    orders: &'a Orders,
    targets: FxHashMap<LockTag, Target>,
    start: Option<OwnerId>,
    pub(crate) edges_visited: u64,
}

/// The target of a wait: its holders and its waiters, in order.
#[derive(Default)]
struct Target {
    holders: Vec<(OwnerId, ModeSet)>,
    queue: Vec<QueuedLock>,
    positions: FxHashMap<OwnerId, usize>,
    /// How many holders, and then members of the queue, were visited for each mode.
    visited_holders: [usize; 9],
    visited_queue: [usize; 9],
    /// The start of the search wants this mode itself, so its own lock was skipped. Later waiters for this mode wait
    /// for the start.
    start_was_skipped: [bool; 9],
}

/// Where the search stands at one waiter.
struct Place {
    waiter: OwnerId,
    tag: LockTag,
    mode: LockMode,
    is_courteous: bool,
    /// The only one it waits for, if it waits for a transaction.
    single: Option<OwnerId>,
    is_single: bool,
}

impl<'a, 'b> Search<'a, 'b> {
    pub(crate) fn new(frozen: &'a Frozen<'b>, orders: &'a Orders) -> Search<'a, 'b> {
        Search { frozen, orders, targets: FxHashMap::default(), start: None, edges_visited: 0 }
    }

    /// A circle of waits through `start`: its edges, in order. Depth first without recursion: queues are long, and the
    /// stacks of coroutines are not.
    pub(crate) fn circle(&mut self, start: OwnerId) -> Option<Vec<Edge>> {
        self.start = Some(start);
        let mut seen = FxHashSet::default();
        let mut path: Vec<Edge> = Vec::new();
        let mut open: Vec<Place> = vec![self.place_of(start)?];
        while let Some(place) = open.last_mut() {
            let Some(edge) = self.next_edge(place) else {
                open.pop();
                path.pop();
                continue;
            };
            self.edges_visited += 1;
            let blocker = edge.blocker;
            if blocker == start {
                path.push(edge);
                return Some(path);
            }
            if seen.insert(blocker)
                && let Some(next) = self.place_of(blocker)
            {
                path.push(edge);
                open.push(next);
            }
        }
        None
    }

    /// Whom `waiter` waits for.
    pub(crate) fn edges(&mut self, waiter: OwnerId) -> Vec<Edge> {
        let Some(mut place) = self.place_of(waiter) else { return Vec::new() };
        std::iter::from_fn(|| self.next_edge(&mut place)).collect()
    }

    /// Where a search goes on from `waiter`; none if it doesn't wait.
    fn place_of(&mut self, waiter: OwnerId) -> Option<Place> {
        let manager = self.frozen.manager;
        let target =
            manager.owners.get(waiter).with_wait(|wait| (!wait.doomed).then(|| wait.target.clone())).flatten()?;
        let (tag, mode) = describe(&target);
        let mut place = Place { waiter, tag, mode, is_courteous: false, single: None, is_single: false };
        match &target {
            WaitTarget::Xid(xid) | WaitTarget::Row { holder: xid @ Xid(1..), .. } => {
                place.is_single = true;
                place.single = manager.running.owner_of(*xid);
            }
            WaitTarget::Row { queue, .. } => {
                queue.with_current(|state| {
                    let behind = state.behind();
                    place.is_courteous = behind.iter().any(|member| member.owner == waiter && member.is_courteous);
                });
                self.targets.entry(tag).or_insert_with(|| {
                    let fronts = queue.with_current(|state| {
                        let holder =
                            |front: &crate::queue::Member| (front.owner, ModeSet::of(front.mode.tuple_lock_mode()));
                        state.fronts().map(holder).collect()
                    });
                    Target::new(fronts, self.orders.get(&tag).cloned().unwrap_or_else(|| row_queue(queue)))
                });
            }
            WaitTarget::Lock { .. } => {
                self.targets.entry(tag).or_insert_with(|| {
                    let Some(entry) = self.frozen.table.entry(&tag) else { return Target::default() };
                    let holders = entry.holders.iter().map(|holder| (holder.owner, holder.all())).collect();
                    let order = self.orders.get(&tag).cloned();
                    Target::new(holders, order.unwrap_or_else(|| entry.queue.iter().copied().collect()))
                });
            }
        }
        Some(place)
    }

    /// The next one that the waiter waits for: holders first.
    fn next_edge(&mut self, place: &mut Place) -> Option<Edge> {
        let Place { waiter, tag, mode, is_courteous, .. } = *place;
        let edge = |blocker, is_soft| Some(Edge { waiter, blocker, tag, mode, is_soft, is_courteous });
        if place.is_single {
            return edge(place.single.take()?, false);
        }
        let target = self.targets.get_mut(&tag)?;
        if let Some(start) = self.start.filter(|start| *start != waiter && target.start_was_skipped[mode as usize]) {
            target.start_was_skipped[mode as usize] = false;
            return edge(start, false);
        }
        let visited = &mut target.visited_holders[mode as usize];
        while let Some((holder, held)) = target.holders.get(*visited) {
            *visited += 1;
            self.edges_visited += 1;
            if !held.intersects(mode.conflicts()) {
                continue;
            }
            if *holder != waiter {
                return edge(*holder, false);
            }
            target.start_was_skipped[mode as usize] |= self.start == Some(waiter);
        }
        let end = target.positions.get(&waiter).copied()?;
        let visited = &mut target.visited_queue[mode as usize];
        while *visited < end {
            let member = target.queue[*visited];
            *visited += 1;
            self.edges_visited += 1;
            if member.mode.conflicts_with(mode) {
                return edge(member.owner, true);
            }
        }
        None
    }
}

impl Target {
    fn new(holders: Vec<(OwnerId, ModeSet)>, queue: Vec<QueuedLock>) -> Target {
        let positions = queue.iter().enumerate().map(|(position, waiter)| (waiter.owner, position)).collect();
        Target {
            holders,
            queue,
            positions,
            visited_holders: [0; 9],
            visited_queue: [0; 9],
            start_was_skipped: [false; 9],
        }
    }
}

/// A queue in an order that obeys the constraints of this target: from its end on, each place gets the last waiter that needn't
/// come before somebody who has no place yet. None if they contradict each other.
///
/// So a waiter goes just before the one it must come before, as in PostgreSQL, and all others stay where they are.
pub(crate) fn order(queue: Vec<QueuedLock>, constraints: &[Constraint], tag: &LockTag) -> Option<Vec<QueuedLock>> {
    let constraints: Vec<&Constraint> = constraints.iter().filter(|constraint| constraint.tag == *tag).collect();
    let mut unplaced_after: FxHashSet<OwnerId> = constraints.iter().map(|constraint| constraint.after).collect();
    let mut reversed: Vec<QueuedLock> = Vec::with_capacity(queue.len());
    // Those that were passed over, the last in the queue first.
    let mut passed: Vec<QueuedLock> = Vec::new();
    let may_be_placed = |waiter: &QueuedLock, unplaced_after: &FxHashSet<OwnerId>| {
        !constraints
            .iter()
            .any(|constraint| constraint.before == waiter.owner && unplaced_after.contains(&constraint.after))
    };
    for waiter in queue.into_iter().rev() {
        if !may_be_placed(&waiter, &unplaced_after) {
            passed.push(waiter);
            continue;
        }
        unplaced_after.remove(&waiter.owner);
        reversed.push(waiter);
        while let Some(next) = passed.iter().position(|waiter| may_be_placed(waiter, &unplaced_after)) {
            let waiter = passed.remove(next);
            unplaced_after.remove(&waiter.owner);
            reversed.push(waiter);
        }
    }
    reversed.reverse();
    passed.is_empty().then_some(reversed)
}
