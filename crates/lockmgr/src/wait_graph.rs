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

struct Target {
    holders: FxHashMap<OwnerId, ModeSet>,
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
                    Target { holders: fronts, queue: row_queue(queue) }
                });
            }
            WaitTarget::Lock { .. } => {
                self.targets.entry(tag).or_insert_with(|| {
                    let entry = frozen.table.entry(&tag);
                    let holders = entry.iter().flat_map(|entry| &entry.holders);
                    let queue = entry.iter().flat_map(|entry| &entry.queue);
                    Target {
                        holders: holders.map(|holder| (holder.owner, holder.all())).collect(),
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
        // Those that go on are taken out, round by round. Members of a circle keep each other in.
        let mut left: FxHashSet<OwnerId> = self.waiters.keys().chain(other_waits.keys()).copied().collect();
        left.extend(never_ending);
        loop {
            let mut kept: FxHashSet<OwnerId> = never_ending.iter().copied().collect();
            let for_transactions = self.waits_for_transactions.iter().filter(|(_, holder)| left.contains(holder));
            kept.extend(for_transactions.map(|(waiter, _)| *waiter));
            let others = other_waits.iter().filter(|(_, awaited)| awaited.iter().any(|owner| left.contains(owner)));
            kept.extend(others.map(|(waiter, _)| *waiter));
            for target in self.targets.values() {
                target.keep_waiters(&left, &mut kept);
            }
            // A victim is still in its queue, but waits no more.
            kept.retain(|owner| left.contains(owner));
            if kept.len() == left.len() {
                return kept;
            }
            left = kept;
        }
    }
}

impl Target {
    /// Adds the waiters that an owner of `blocking` keeps waiting: as a holder, or as a waiter before them.
    fn keep_waiters(&self, blocking: &FxHashSet<OwnerId>, kept: &mut FxHashSet<OwnerId>) {
        // How many of `blocking` stand in the way with each mode.
        let mut counts = [0_usize; LockMode::ALL.len() + 1];
        for held in self.holders.iter().filter(|(holder, _)| blocking.contains(holder)).map(|(_, held)| held) {
            held.iter().for_each(|mode| counts[mode as usize] += 1);
        }
        for QueuedLock { owner, mode } in &self.queue {
            let is_blocking = blocking.contains(owner);
            // A waiter's own locks are not in its way.
            let own = self.holders.get(owner).copied().filter(|_| is_blocking).unwrap_or_default();
            if mode.conflicts().iter().any(|other| counts[other as usize] > usize::from(own.contains(other))) {
                kept.insert(*owner);
            }
            counts[*mode as usize] += usize::from(is_blocking);
        }
    }
}
