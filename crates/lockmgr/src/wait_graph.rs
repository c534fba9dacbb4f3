//! All waits at one moment, and which of them never end.

use base::{OwnerId, Xid};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::deadlock::{Frozen, describe, row_queue};
use crate::owner::WaitTarget;
use crate::table::QueuedLock;
use crate::{LockManager, LockMode, LockTag, ModeSet};

/// Waits for something other than locks: waiters, each with all that must end before its wait does.
pub type OtherWaits = FxHashMap<OwnerId, Vec<OwnerId>>;

/// All waits for locks at one moment.
///
/// It holds targets with their holders and queues, and no pairs of waiters: a queue of thousands makes millions of pairs.
#[derive(Default)]
pub struct WaitGraph {
    /// Each waiter, and whether it has looked for a deadlock.
    waiters: FxHashMap<OwnerId, bool>,
    /// Those that wait for the end of a transaction, each with its owner.
    waits_for_transactions: Vec<(OwnerId, OwnerId)>,
    targets: FxHashMap<LockTag, Target>,
}

/// Something that is waited for.
struct Target {
    /// The holders of a lock; of a row, the front of its queue, which waits for transactions.
    ahead: FxHashMap<OwnerId, ModeSet>,
    /// In order. A waiter waits for those before it, too.
    queue: Vec<QueuedLock>,
}

impl LockManager {
    /// All waits for locks. Everything that waits depend on is held still meanwhile.
    pub fn wait_graph(&self) -> WaitGraph {
        let frozen = self.freeze();
        let mut graph = WaitGraph::default();
        for (owner, slot) in self.owners.iter() {
            let wait = slot.with_wait(|wait| (!wait.doomed).then(|| (wait.target.clone(), wait.has_looked)));
            if let Some((target, has_looked)) = wait.flatten() {
                graph.waiters.insert(owner, has_looked);
                graph.add(&frozen, owner, &target);
            }
        }
        graph
    }
}

impl WaitGraph {
    fn add(&mut self, frozen: &Frozen<'_>, waiter: OwnerId, target: &WaitTarget) {
        let (tag, _) = describe(target);
        match target {
            WaitTarget::Xid(xid) | WaitTarget::Row { holder: xid @ Xid(1..), .. } => {
                let holder = frozen.manager.running.owner_of(*xid);
                self.waits_for_transactions.extend(holder.map(|holder| (waiter, holder)));
            }
            WaitTarget::Row { queue, .. } => {
                self.targets.entry(tag).or_insert_with(|| {
                    let fronts = queue.with_current(|state| {
                        let held = |mode: crate::RowLockMode| ModeSet::of(mode.tuple_lock_mode());
                        state.fronts().map(|front| (front.owner, held(front.mode))).collect()
                    });
                    Target { ahead: fronts, queue: row_queue(queue) }
                });
            }
            WaitTarget::Lock { .. } => {
                self.targets.entry(tag).or_insert_with(|| {
                    let entry = frozen.table.entry(&tag);
                    let holders = entry.iter().flat_map(|entry| &entry.holders);
                    let queue = entry.iter().flat_map(|entry| &entry.queue);
                    Target {
                        ahead: holders.map(|holder| (holder.owner, holder.all())).collect(),
                        queue: queue.copied().collect(),
                    }
                });
            }
        }
    }

    /// Whether the owner waits and has yet to look for a deadlock.
    pub fn will_look_for_deadlock(&self, owner: OwnerId) -> bool {
        self.waiters.get(&owner) == Some(&false)
    }

    /// The owners that never go on, if those of `never_ending` don't: these themselves, the members of circles, and all that wait
    /// for such an owner. One is enough to keep a waiter waiting. Owners that wait for nothing go on.
    pub fn owners_without_end(&self, never_ending: &[OwnerId], other_waits: &OtherWaits) -> FxHashSet<OwnerId> {
        let mut search = Search::new(self, never_ending, other_waits);
        search.run();
        search.left
    }
}

/// The search for owners that never go on. It takes out the others: an owner goes on if all that it waits for do. Members of a circle
/// keep each other in.
struct Search<'g> {
    graph: &'g WaitGraph,
    never_ending: FxHashSet<OwnerId>,
    /// The owners that must end before a wait outside of queues does.
    awaited: FxHashMap<OwnerId, Vec<OwnerId>>,
    /// The checks to make when an owner is found to go on.
    dependents: FxHashMap<OwnerId, Vec<Check>>,
    /// The checks of all owners.
    first_checks: FxHashSet<Check>,
    /// The owners that have not been found to go on.
    left: FxHashSet<OwnerId>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Check {
    /// An owner that stands in no queue.
    Owner(OwnerId),
    /// All waiters in the queue of a target.
    Queue(LockTag),
}

impl<'g> Search<'g> {
    fn new(graph: &'g WaitGraph, never_ending: &[OwnerId], other_waits: &OtherWaits) -> Search<'g> {
        let mut awaited: FxHashMap<OwnerId, Vec<OwnerId>> = other_waits.clone();
        for (waiter, holder) in &graph.waits_for_transactions {
            awaited.entry(*waiter).or_default().push(*holder);
        }
        let mut left: FxHashSet<OwnerId> = graph.waiters.keys().chain(other_waits.keys()).copied().collect();
        left.extend(never_ending);
        let mut queued_at = FxHashMap::default();
        for (tag, target) in &graph.targets {
            // A victim is still in its queue, but waits no more.
            let waiters = target.queue.iter().filter(|queued| left.contains(&queued.owner));
            queued_at.extend(waiters.map(|queued| (queued.owner, Check::Queue(*tag))));
        }
        let check_of = |owner: OwnerId| queued_at.get(&owner).copied().unwrap_or(Check::Owner(owner));
        let mut dependents: FxHashMap<OwnerId, Vec<Check>> = FxHashMap::default();
        for (waiter, holders) in &awaited {
            holders.iter().for_each(|holder| dependents.entry(*holder).or_default().push(check_of(*waiter)));
        }
        for (tag, target) in &graph.targets {
            target.ahead.keys().for_each(|owner| dependents.entry(*owner).or_default().push(Check::Queue(*tag)));
        }
        let first_checks = left.iter().map(|owner| check_of(*owner)).collect();
        let never_ending = never_ending.iter().copied().collect();
        Search { graph, never_ending, awaited, dependents, first_checks, left }
    }

    fn run(&mut self) {
        let mut checks = std::mem::take(&mut self.first_checks);
        while !checks.is_empty() {
            let mut gone = Vec::new();
            for check in checks.drain() {
                match check {
                    Check::Owner(owner) => {
                        if !self.waits_outside_of_queues(owner) && self.left.remove(&owner) {
                            gone.push(owner);
                        }
                    }
                    Check::Queue(tag) => self.take_out_of_queue(&self.graph.targets[&tag], &mut gone),
                }
            }
            checks.extend(gone.iter().filter_map(|owner| self.dependents.get(owner)).flatten().copied());
        }
    }

    /// Whether the owner never ends, or waits for one that may not go on, queues aside.
    fn waits_outside_of_queues(&self, owner: OwnerId) -> bool {
        let mut awaited = self.awaited.get(&owner).into_iter().flatten();
        self.never_ending.contains(&owner) || awaited.any(|owner| self.left.contains(owner))
    }

    /// Takes out the waiters of a queue that no owner keeps waiting: neither one ahead of the queue, nor a waiter before them. Those
    /// behind a waiter that is taken out are looked at without it.
    fn take_out_of_queue(&mut self, target: &Target, gone: &mut Vec<OwnerId>) {
        // The number of owners in the way with each mode.
        let mut counts = [0_usize; LockMode::ALL.len() + 1];
        for held in target.ahead.iter().filter(|(owner, _)| self.left.contains(owner)).map(|(_, held)| held) {
            held.iter().for_each(|mode| counts[mode as usize] += 1);
        }
        for QueuedLock { owner, mode } in &target.queue {
            if !self.left.contains(owner) {
                continue;
            }
            // A waiter's own locks are not in its way.
            let own = target.ahead.get(owner).copied().unwrap_or_default();
            let is_blocked =
                mode.conflicts().iter().any(|other| counts[other as usize] > usize::from(own.contains(other)));
            if is_blocked || self.waits_outside_of_queues(*owner) {
                counts[*mode as usize] += 1;
            } else {
                self.left.remove(owner);
                own.iter().for_each(|mode| counts[mode as usize] -= 1);
                gone.push(*owner);
            }
        }
    }
}
