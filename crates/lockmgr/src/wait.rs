//! How a wait passes: spinning, sleeping, its limits.

use std::time::{Duration, Instant};

use base::{OwnerId, Result, Xid};
use sync::{Waiter, Woken, in_coroutine, spin_hint};

use crate::owner::WaitTarget;
use crate::{LockManager, LockOptions, error};

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
        waiter: &Waiter,
        options: &LockOptions<'_>,
        leave: impl FnMut(),
    ) -> Result<()> {
        let mut leaving = Leaving { leave, needed: true };
        let result = self.pass_registered_wait(owner, waiter, options);
        leaving.needed = result.is_err();
        result
    }

    fn pass_registered_wait(&self, owner: OwnerId, waiter: &Waiter, options: &LockOptions<'_>) -> Result<()> {
        let slot = self.owners.get(owner);
        if slot.is_granted() {
            return Ok(());
        }
        let start = Instant::now();
        let limit = |timeout: Duration| start.checked_add(timeout);
        let give_up_at = options.lock_timeout.and_then(limit);
        let mut look_for_deadlock_at = limit(options.deadlock_timeout);
        // In a row's queue, whom one waits for changes while one waits: a head that leaves hands its place on, and a circle
        // that it was the victim of may close again behind it. So there one looks again, each time after twice as long.
        // (A model's deadlines pass at any time, and often enough.)
        let is_queued = slot.with_wait(|wait| matches!(wait.target, WaitTarget::Row { .. })) == Some(true);
        let mut look_again_after = options.deadlock_timeout.checked_mul(2).filter(|_| is_queued && !cfg!(shuttle));
        let _counted = self.count_waiting(owner);
        loop {
            let deadline = match (give_up_at, look_for_deadlock_at) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
            let woken = waiter.wait(deadline, Some(options.interrupt));
            if slot.is_granted() {
                return Ok(());
            }
            match woken {
                // Nothing but a grant wakes the waiter, and it was no grant: the deadline is looked at below.
                Woken::Woken | Woken::TimedOut => {}
                Woken::Interrupted => options.interrupt.check()?,
            }
            let now = Instant::now();
            if give_up_at.is_some_and(|at| now >= at) {
                return Err(error::timed_out());
            }
            if look_for_deadlock_at.is_some_and(|at| now >= at) {
                look_for_deadlock_at = look_again_after.and_then(|after| now.checked_add(after));
                look_again_after = look_again_after.and_then(|after| after.checked_mul(2));
                if let Some(lines) = self.find_deadlock(owner) {
                    return Err(error::deadlock(lines));
                }
            }
        }
    }
}
