//! Where threads sleep: a queue of sleepers per address.
//!
//! A real one costs a latch no memory: the queues are `parking_lot_core`'s, found by address. A
//! modelled one carries its queue, so that a model sees every step.
//!
//! The protocol is the futex's. A thread that wants to sleep says so in the word that it waits on, then
//! parks with a check of the word; the check runs under the queue's lock. A thread that changes the word
//! such that a sleeper may go on looks whether the word says that a thread sleeps, and unparks under the
//! same lock. So a sleeper either sees the change, or is in the queue when the changing thread looks.
#![cfg_attr(not(any(shuttle, loom)), allow(unsafe_code))]

use std::time::Instant;

/// The kind of a sleeper: unparking treats the two kinds differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleeper {
    /// Goes on together with others of its kind.
    Shared,
    /// Goes on alone.
    Exclusive,
}

/// How [`ParkingSpot::park`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parked {
    /// Somebody unparked the thread.
    Unparked,
    /// The check failed: it never slept.
    Refused,
    /// The deadline passed.
    TimedOut,
}

/// Whom to unpark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whom {
    /// The first sleeper, and if it is a shared one, all shared ones.
    Next,
    /// All shared sleepers.
    AllShared,
}

/// Decides about one sleeper after the other, first to last.
struct Selection {
    whom: Whom,
    first: Option<Sleeper>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Unpark,
    Skip,
    Stop,
}

impl Selection {
    fn new(whom: Whom) -> Selection {
        Selection { whom, first: None }
    }

    fn next(&mut self, sleeper: Sleeper) -> Verdict {
        match (self.whom, self.first) {
            (Whom::Next, None) => {
                self.first = Some(sleeper);
                Verdict::Unpark
            }
            (Whom::Next, Some(Sleeper::Exclusive)) => Verdict::Stop,
            (Whom::Next, Some(Sleeper::Shared)) | (Whom::AllShared, _) => match sleeper {
                Sleeper::Shared => Verdict::Unpark,
                Sleeper::Exclusive => Verdict::Skip,
            },
        }
    }
}

#[cfg(not(any(shuttle, loom)))]
mod real {
    use parking_lot_core::{DEFAULT_PARK_TOKEN, DEFAULT_UNPARK_TOKEN, FilterOp, ParkResult, ParkToken};

    use super::*;

    /// The place where the threads that wait for one word sleep.
    pub(crate) struct ParkingSpot;

    const EXCLUSIVE_TOKEN: ParkToken = ParkToken(1);

    impl ParkingSpot {
        pub(crate) const fn new() -> ParkingSpot {
            ParkingSpot
        }

        /// Sleeps until unparked or `deadline`, unless `check` says no. `key` is the address of the word waited on;
        /// `check` must neither panic nor park.
        pub(crate) fn park(
            &self,
            key: usize,
            sleeper: Sleeper,
            check: impl FnOnce() -> bool,
            deadline: Option<Instant>,
        ) -> Parked {
            let token = if sleeper == Sleeper::Exclusive { EXCLUSIVE_TOKEN } else { DEFAULT_PARK_TOKEN };
            // SAFETY: `key` is the address of a word inside a value that the caller borrows, so no other user of the
            // parking lot has that address; `check` neither panics nor calls into the parking lot, nor do the two others.
            match unsafe { parking_lot_core::park(key, check, || {}, |_, _| {}, token, deadline) } {
                ParkResult::Unparked(_) => Parked::Unparked,
                ParkResult::Invalid => Parked::Refused,
                ParkResult::TimedOut => Parked::TimedOut,
            }
        }

        /// Unparks; calls `then` with whether sleepers are left, under the queue's lock.
        pub(crate) fn unpark(&self, key: usize, whom: Whom, then: impl FnOnce(bool)) {
            let mut selection = Selection::new(whom);
            let filter = |token| {
                let sleeper = if token == EXCLUSIVE_TOKEN { Sleeper::Exclusive } else { Sleeper::Shared };
                match selection.next(sleeper) {
                    Verdict::Unpark => FilterOp::Unpark,
                    Verdict::Skip => FilterOp::Skip,
                    Verdict::Stop => FilterOp::Stop,
                }
            };
            let callback = |result: parking_lot_core::UnparkResult| {
                then(result.have_more_threads);
                DEFAULT_UNPARK_TOKEN
            };
            // SAFETY: as for `park`; the filter neither panics nor calls into the parking lot, and `then`, which is private
            // to this crate, stores to an atomic.
            unsafe { parking_lot_core::unpark_filter(key, filter, callback) };
        }
    }
}

#[cfg(not(any(shuttle, loom)))]
pub(crate) use real::ParkingSpot;

#[cfg(any(shuttle, loom))]
mod modelled {
    use super::*;
    use crate::facade::{Condvar, Mutex};

    /// The place where the threads that wait for one word sleep.
    pub(crate) struct ParkingSpot {
        queue: Mutex<Queue>,
        changed: Condvar,
    }

    struct Queue {
        next_ticket: u64,
        sleepers: Vec<(u64, Sleeper)>,
    }

    impl ParkingSpot {
        pub(crate) fn new() -> ParkingSpot {
            ParkingSpot { queue: Mutex::new(Queue { next_ticket: 0, sleepers: Vec::new() }), changed: Condvar::new() }
        }

        pub(crate) fn park(
            &self,
            _key: usize,
            sleeper: Sleeper,
            check: impl FnOnce() -> bool,
            deadline: Option<Instant>,
        ) -> Parked {
            let mut queue = self.queue.lock();
            if !check() {
                return Parked::Refused;
            }
            let ticket = queue.next_ticket;
            queue.next_ticket += 1;
            queue.sleepers.push((ticket, sleeper));
            loop {
                let timed_out = match deadline {
                    None => {
                        self.changed.wait(&mut queue);
                        false
                    }
                    Some(deadline) => self.changed.wait_until(&mut queue, deadline).timed_out(),
                };
                match queue.sleepers.iter().position(|(other, _)| *other == ticket) {
                    None => return Parked::Unparked,
                    Some(position) if timed_out => {
                        queue.sleepers.remove(position);
                        return Parked::TimedOut;
                    }
                    Some(_) => {}
                }
            }
        }

        pub(crate) fn unpark(&self, _key: usize, whom: Whom, then: impl FnOnce(bool)) {
            let mut queue = self.queue.lock();
            let mut selection = Selection::new(whom);
            queue.sleepers.retain(|(_, sleeper)| selection.next(*sleeper) != Verdict::Unpark);
            then(!queue.sleepers.is_empty());
            drop(queue);
            self.changed.notify_all();
        }
    }
}

#[cfg(any(shuttle, loom))]
pub(crate) use modelled::ParkingSpot;
