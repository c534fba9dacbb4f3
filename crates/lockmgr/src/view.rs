//! The content of `pg_locks` and `pg_blocking_pids`.

use std::time::{Duration, Instant};

use base::OwnerId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::deadlock::describe;
use crate::fast_path::StrongCounts;
use crate::owner::{Wait, WaitTarget};
use crate::{LockManager, LockMode, LockTag};

/// One row of `pg_locks`.
#[derive(Clone, Debug)]
pub struct LockView {
    /// The target of the lock.
    pub tag: LockTag,
    /// The owner that holds the lock or waits for it.
    pub owner: OwnerId,
    /// The mode of the lock.
    pub mode: LockMode,
    /// Whether the lock is held. If not, the owner waits for it.
    pub granted: bool,
    /// Whether the lock was taken without the shared lock table.
    pub fast_path: bool,
    /// The time at which the wait for the lock began.
    pub waiting_since: Option<Instant>,
}

impl LockManager {
    /// All locks held and waited for, by owner. Row locks in memory are not among them, as they aren't in PostgreSQL; the
    /// place at the head of a row's queue is, as a tuple lock.
    pub fn snapshot(&self) -> Vec<LockView> {
        let held =
            |tag, owner, mode| LockView { tag, owner, mode, granted: true, fast_path: false, waiting_since: None };
        let mut views = Vec::new();
        {
            let frozen = self.freeze();
            for (tag, entry) in frozen.table().iter() {
                for holder in &entry.holders {
                    views.extend(holder.all().iter().map(|mode| held(*tag, holder.owner, mode)));
                }
            }
            for (owner, slot) in self.owners.iter() {
                for lock in StrongCounts::held(slot).filter(|lock| !lock.is_transferred()) {
                    let tag = LockTag::Relation(lock.relation());
                    views.push(LockView { fast_path: true, ..held(tag, owner, lock.mode()) });
                }
                let Some((target, since)) = slot.with_wait(|wait| (wait.target.clone(), wait.since)) else { continue };
                let (tag, mode) = describe(&target);
                if let (LockTag::Xid(_), WaitTarget::Row { queue, mode, .. }) = (tag, &target) {
                    let key = queue.with_current(|state| state.key);
                    let row = LockTag::Row { relation: key.relation, tid: key.tid };
                    views.push(held(row, owner, mode.tuple_lock_mode()));
                }
                views.push(LockView { granted: false, waiting_since: Some(since), ..held(tag, owner, mode) });
            }
        }
        views.extend(
            self.running.all().into_iter().map(|(xid, owner)| held(LockTag::Xid(xid), owner, LockMode::Exclusive)),
        );
        views.sort_by_key(|view| view.owner);
        views
    }

    /// Returns the owners that keep this owner waiting: holders of its target, and waiters ahead of it in its queue.
    pub fn blocking_owners(&self, owner: OwnerId) -> Vec<OwnerId> {
        if !self.is_waiting(owner) {
            return Vec::new();
        }
        self.freeze().blockers(owner)
    }

    /// Returns the target and the mode that the owner waits for.
    pub fn waiting_for(&self, owner: OwnerId) -> Option<(LockTag, LockMode)> {
        let target = self.owners.get(owner).with_wait(|wait| wait.target.clone())?;
        Some(describe(&target))
    }

    /// Returns all waits by owner: the target, the mode and the time at which the wait began.
    pub fn waits(&self) -> FxHashMap<OwnerId, (LockTag, LockMode, Instant)> {
        let waiting = self.owners.iter().filter_map(|(owner, slot)| {
            let (target, since) = slot.with_wait(|wait| (wait.target.clone(), wait.since))?;
            let (tag, mode) = describe(&target);
            Some((owner, (tag, mode, since)))
        });
        waiting.collect()
    }

    /// The owners whose waits have no end of their own: they have no `lock_timeout`, and have looked for a deadlock or have waited for
    /// longer than `patience`.
    pub fn endless_waiters(&self, patience: Duration) -> FxHashSet<OwnerId> {
        let is_endless =
            |wait: &mut Wait| !wait.has_limit && (wait.has_looked || wait.target_since.elapsed() > patience);
        let endless = self.owners.iter().filter(|(_, slot)| slot.with_wait(is_endless) == Some(true));
        endless.map(|(owner, _)| owner).collect()
    }
}
