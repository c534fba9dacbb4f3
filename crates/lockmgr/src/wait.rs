//! How a wait passes: spinning, sleeping, its limits.

use std::time::{Duration, Instant};

use base::{OwnerId, Result, Xid};
use sync::atomic::Ordering::Relaxed;
use sync::{Waiter, Woken, in_coroutine, spin_hint};

use crate::{LockManager, LockMode, LockOptions, LockTag, error};

/// How often to look before sleeping. A thread that sleeps needs several microseconds to be woken; a coroutine is
/// suspended and resumed in a fraction of one, and while it spins its thread's other sessions stand still.
const SPINS_OF_A_THREAD: u32 = if cfg!(shuttle) { 1 } else { 60 };
const SPINS_OF_A_COROUTINE: u32 = if cfg!(shuttle) { 1 } else { 15 };

pub(crate) fn spin_until(mut done: impl FnMut() -> bool) -> bool {
    let spins = if in_coroutine() { SPINS_OF_A_COROUTINE } else { SPINS_OF_A_THREAD };
    for _ in 0..spins {
        if done() {
            return true;
        }
        spin_hint();
    }
    done()
}

/// Leaves the queue when dropped, unless the wait was granted.
struct Leaving<F: FnMut()> {
    leave: F,
    needed: bool,
}

impl<F: FnMut()> Drop for Leaving<F> {
    fn drop(&mut self) {
        if self.needed {
            (self.leave)();
        }
    }
}

impl LockManager {
    /// Spins a moment for the end of `xid`.
    pub(crate) fn spin_for_end(&self, xid: Xid) -> bool {
        !xid.is_valid() || spin_until(|| self.running.owner_of(xid).is_none())
    }

    /// Passes the wait that `waiter` belongs to, until it is granted or one of its limits is reached. In the second case
    /// `leave` takes the owner out of its queue, or gives back what was granted at the last moment; so it does if the
    /// coroutine is dropped meanwhile.
    ///
    /// No latch may be held.
    pub(crate) fn pass_wait(
        &self,
        owner: OwnerId,
        waiter: Waiter,
        options: &LockOptions<'_>,
        leave: impl FnMut(),
    ) -> Result<()> {
        let mut leaving = Leaving { leave, needed: true };
        let result = self.pass_registered_wait(owner, waiter, options);
        leaving.needed = result.is_err();
        result
    }

    fn pass_registered_wait(&self, owner: OwnerId, mut waiter: Waiter, options: &LockOptions<'_>) -> Result<()> {
        let slot = self.owners.get(owner);
        if slot.is_granted() {
            return Ok(());
        }
        let start = Instant::now();
        let give_up_at = options.lock_timeout.and_then(|timeout| start.checked_add(timeout));
        if give_up_at.is_some() {
            slot.with_wait(|wait| wait.has_limit = true);
        }
        let mut look_at = start.checked_add(options.deadlock_timeout);
        let _counted = self.count_waiting(owner);
        let mut logged = None;
        loop {
            let deadline = match (give_up_at, look_at) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
            let woken = waiter.wait(deadline, Some(options.interrupt));
            if slot.is_granted() {
                if let Some(target) = logged {
                    self.log_wait(owner, "acquired", target, start.elapsed(), None);
                }
                return Ok(());
            }
            match woken {
                Woken::TimedOut => {}
                Woken::Interrupted => options.interrupt.check()?,
                // It came to the front of a row's queue, or its queue met another, long after it had looked for a deadlock.
                Woken::Woken => {
                    let fresh = Waiter::new();
                    let renewed = slot.with_wait(|wait| {
                        wait.renew(&fresh);
                        wait.has_looked = false;
                        wait.target_since.checked_add(options.deadlock_timeout)
                    });
                    // None: it has been granted meanwhile, and the old waiter returns at once.
                    let Some(due_at) = renewed else { continue };
                    (waiter, look_at) = (fresh, due_at);
                }
            }
            let now = Instant::now();
            if give_up_at.is_some_and(|at| now >= at) {
                return Err(error::timed_out());
            }
            if look_at.is_some_and(|at| now >= at) {
                let target = slot.logs_waits.load(Relaxed).then(|| self.waiting_for(owner)).flatten();
                let looked = self.look_for_deadlock(owner, options.deadlock_timeout, now);
                if let (Some(target), Err(_)) = (target, &looked) {
                    self.log_wait(owner, "detected deadlock while waiting for", target, start.elapsed(), None);
                }
                look_at = looked?;
                if let (Some(target), None, None) = (target, look_at, logged) {
                    logged = Some(target);
                    let others = self.describe_others(owner, target.0);
                    self.log_wait(owner, "still waiting for", target, start.elapsed(), Some(others));
                }
            }
        }
    }

    /// Writes to the log what came of a wait. No latch may be held.
    #[cold]
    fn log_wait(
        &self,
        owner: OwnerId,
        what: &str,
        (tag, mode): (LockTag, LockMode),
        since: Duration,
        detail: Option<String>,
    ) {
        let (process, target) = (self.process_id(owner), tag.describe(self.database()));
        let micros = since.as_micros();
        let (millis, micros) = (micros / 1000, micros % 1000);
        log::info!(
            pid = process, detail = detail.as_deref().unwrap_or_default();
            "process {process} {what} {mode} on {target} after {millis}.{micros:03} ms"
        );
    }

    /// The processes that keep the owner waiting, and those that wait for the same, as a message's detail.
    fn describe_others(&self, owner: OwnerId, tag: LockTag) -> String {
        let mut waits: Vec<_> = self.waits().into_iter().filter(|(_, (other, ..))| *other == tag).collect();
        waits.sort_by_key(|(_, (.., since))| *since);
        let queue: Vec<OwnerId> = waits.into_iter().map(|(waiter, _)| waiter).collect();
        let holders: Vec<OwnerId> =
            self.blocking_owners(owner).into_iter().filter(|blocker| !queue.contains(blocker)).collect();
        let list = |owners: &[OwnerId]| {
            owners.iter().map(|owner| self.process_id(*owner).to_string()).collect::<Vec<_>>().join(", ")
        };
        let noun = if holders.len() == 1 { "Process" } else { "Processes" };
        format!("{noun} holding the lock: {}. Wait queue: {}.", list(&holders), list(&queue))
    }

    /// Looks for a deadlock if the owner has waited for the same for so long. Returns when to look, if it is too early.
    ///
    /// A circle closes when somebody begins to wait, or comes to the front of a row's queue and so waits for somebody else, or
    /// when two queues of a row become one and others wait for somebody who has a turn. Each of these looks once, so that
    /// every circle is found.
    fn look_for_deadlock(&self, owner: OwnerId, after: Duration, now: Instant) -> Result<Option<Instant>> {
        let due_at = self.owners.get(owner).with_wait(|wait| {
            // A model's deadlines pass at any time.
            let due_at = wait.target_since.checked_add(after).filter(|at| *at > now && !cfg!(shuttle));
            wait.has_looked = due_at.is_none();
            due_at
        });
        match due_at {
            Some(None) => match self.find_deadlock(owner) {
                Some(lines) => Err(error::deadlock(lines)),
                None => Ok(None),
            },
            due_at => Ok(due_at.flatten()),
        }
    }
}
