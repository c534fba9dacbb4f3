//! Waiting: one word for parking a thread and for suspending a coroutine.
//!
//! Engine code never knows which of the two it runs in. It makes a [`Waiter`], leaves its [`Waker`]
//! where the one who ends the wait will find it, and waits. A wake that comes first is not lost: the
//! wait then returns at once.
//!
//! ```text
//!            wait                     wake
//!   IDLE ------------> WAITING ---------------> WOKEN
//!    |  <------------     |       unpark the thread, or
//!    |   poke, deadline,  |       queue the coroutine's token
//!    |   stray resumption
//!    |
//!    +----------------------------------------> WOKEN
//!                     wake
//! ```
//!
//! Only the waiter goes from IDLE to WAITING. The side that ends WAITING notifies, so a coroutine's
//! token is queued at most once per suspension. A resumption for another reason finds WAITING still
//! there, and the waiter looks around and suspends again.

use std::marker::PhantomData;
use std::sync::Arc;
use std::task::Wake;
use std::time::{Duration, Instant};

use crate::coroutine;
use crate::facade::atomic::{AtomicU32, Ordering};
use crate::facade::thread;
use crate::held;
use crate::interrupt::Interrupt;
use crate::parking::{Parked, ParkingSpot, Sleeper, Whom};
use crate::ready_queue::ReadyQueue;

const IDLE: u32 = 0;
const WAITING: u32 = 1;
const WOKEN: u32 = 2;

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// By its [`Waker`].
    Woken,
    /// Its deadline passed.
    TimedOut,
    /// Its session was interrupted; the interrupt is still pending.
    Interrupted,
}

/// One wait of the thread or coroutine that made it.
///
/// ```
/// use cohort_sync::{Waiter, Woken};
///
/// let waiter = Waiter::new();
/// let waker = waiter.waker();
/// std::thread::spawn(move || waker.wake());
/// assert_eq!(waiter.wait(None, None), Woken::Woken);
/// ```
pub struct Waiter {
    cell: Arc<WaitCell>,
    not_send: PhantomData<*const ()>,
}

/// Wakes a [`Waiter`], once and from any thread. A waker may outlive the wait: waking a wait that is over does nothing.
#[derive(Clone)]
pub struct Waker {
    cell: Arc<WaitCell>,
}

struct WaitCell {
    state: AtomicU32,
    spot: ParkingSpot,
    who: Who,
}

/// The kind of the waiter: a thread or a coroutine.
enum Who {
    Thread,
    Coroutine { queue: Arc<ReadyQueue>, token: u64 },
}

impl Waiter {
    /// A wait of the calling thread or coroutine that has not begun.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Waiter {
        let who = match coroutine::current() {
            Some((queue, token)) => Who::Coroutine { queue, token },
            None => Who::Thread,
        };
        let cell = WaitCell { state: AtomicU32::new(IDLE), spot: ParkingSpot::new(), who };
        Waiter { cell: Arc::new(cell), not_send: PhantomData }
    }

    /// Returns a waker for this wait.
    pub fn waker(&self) -> Waker {
        Waker { cell: self.cell.clone() }
    }

    /// Waits until woken, `deadline` or an interrupt; returns at once if woken before. Of several reasons, being woken
    /// comes first. A wait that ended for another reason can be taken up again.
    ///
    /// # Panics
    /// In debug builds, if the caller holds a latch.
    #[track_caller]
    pub fn wait(&self, deadline: Option<Instant>, interrupt: Option<&Interrupt>) -> Woken {
        if self.is_woken() {
            return Woken::Woken;
        }
        held::check_none();
        let Some(interrupt) = interrupt else {
            return self.wait_registered(deadline, None);
        };
        interrupt.set_waiting(Some(self.waker()));
        // A coroutine that is dropped while it waits leaves by unwinding.
        let _registered = Registered(interrupt);
        self.wait_registered(deadline, Some(interrupt))
    }

    /// Whether it has been woken.
    pub fn is_woken(&self) -> bool {
        self.cell.state.load(Ordering::Acquire) == WOKEN
    }

    fn wait_registered(&self, deadline: Option<Instant>, interrupt: Option<&Interrupt>) -> Woken {
        let cell = &*self.cell;
        let interrupted = || interrupt.is_some_and(Interrupt::pending_in_order);
        let mut may_be_late = !cfg!(shuttle);
        loop {
            if cell.exchange(IDLE, WAITING) == WOKEN {
                return Woken::Woken;
            }
            // Looked for only now: see `Interrupt`.
            let reason = if interrupted() {
                Some(Woken::Interrupted)
            } else if may_be_late && deadline.is_some_and(has_passed) {
                Some(Woken::TimedOut)
            } else {
                None
            };
            if let Some(reason) = reason {
                return if cell.exchange(WAITING, IDLE) == WOKEN { Woken::Woken } else { reason };
            }
            may_be_late = cell.pause(deadline);
            if cell.exchange(WAITING, IDLE) == WOKEN {
                return Woken::Woken;
            }
        }
    }
}

/// The waiter that an interrupt pokes, until dropped.
struct Registered<'a>(&'a Interrupt);

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.0.set_waiting(None);
    }
}

/// A modelled deadline is passed when a modelled sleep says so, a real one by the clock.
fn has_passed(deadline: Instant) -> bool {
    cfg!(shuttle) || Instant::now() >= deadline
}

impl WaitCell {
    /// Goes from one state to another if it is in the former; which it was in.
    fn exchange(&self, from: u32, to: u32) -> u32 {
        self.state.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).unwrap_or_else(|found| found)
    }

    /// Sleeps or suspends until notified, or perhaps for no reason. Whether the deadline may be the reason.
    fn pause(&self, deadline: Option<Instant>) -> bool {
        match &self.who {
            Who::Thread => {
                let still_waiting = || self.state.load(Ordering::Relaxed) == WAITING;
                let parked = self.spot.park(self.key(), Sleeper::Exclusive, still_waiting, deadline);
                parked == Parked::TimedOut
            }
            Who::Coroutine { .. } => {
                if !coroutine::suspend(deadline) {
                    // The coroutine is being dropped, and a drop in it waits: nobody unparks this thread.
                    thread::sleep(Duration::from_millis(1));
                }
                true
            }
        }
    }

    fn notify(&self) {
        match &self.who {
            Who::Thread => self.spot.unpark(self.key(), Whom::Next, |_| {}),
            Who::Coroutine { queue, token } => queue.push(*token),
        }
    }

    fn wake_by_ref(&self) {
        if self.state.swap(WOKEN, Ordering::SeqCst) == WAITING {
            self.notify();
        }
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(&self.state).addr()
    }
}

impl Waker {
    /// Wakes the waiter. Idempotent.
    pub fn wake(&self) {
        self.cell.wake_by_ref();
    }

    /// Makes the waiter look around, without ending its wait.
    pub(crate) fn poke(&self) {
        if self.cell.exchange(WAITING, IDLE) == WAITING {
            self.cell.notify();
        }
    }
}

/// Lets a thread or coroutine await a future: the future wakes its [`Waiter`].
impl From<Waker> for std::task::Waker {
    fn from(waker: Waker) -> std::task::Waker {
        std::task::Waker::from(waker.cell)
    }
}

impl Wake for WaitCell {
    fn wake(self: Arc<Self>) {
        (*self).wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        (**self).wake_by_ref();
    }
}

impl std::fmt::Debug for Waiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiter").field("is_woken", &self.is_woken()).finish()
    }
}

impl std::fmt::Debug for Waker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waker").finish_non_exhaustive()
    }
}
