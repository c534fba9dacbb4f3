//! Turns for sessions that try again.
//!
//! A thousand clients that change the same hundred rows, and try again at once when they fail, leave each other no chance. A
//! transaction that has waited for a row finds it changed. A transaction that reads many rows always meets a row that another
//! has just written. So of the transactions whose session has failed with 40001 and not committed since, only a limited number
//! run at a time. The others wait before they take a snapshot, when they hold nothing yet, and are admitted in the order in which
//! they failed. A session that hasn't failed never waits, and with few clients nobody waits.
//!
//! A turn is not guaranteed. A session that has waited for long goes on without one: the sessions that have a turn may wait for a
//! lock that this session holds, or be idle.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use base::Result;
use sync::{Arc, Interrupt, Mutex, Waiter, Waker, Woken};

/// The number of retries that run at a time. It is high enough that the processors have work while some retries wait for a row,
/// and no higher, as each retry is in the way of the others.
const TURNS_PER_PROCESSOR: usize = 4;
const TURNS_MIN: usize = 8;

/// The turns in use, and the queue of sessions that wait for a turn.
pub struct Retries {
    /// A leaf.
    state: Mutex<State>,
}

struct State {
    /// Free turns. No session waits while this is above zero.
    free: usize,
    waiting: VecDeque<(u64, Waker)>,
    next_number: u64,
}

/// The right to try again, until dropped.
#[must_use]
pub struct RetryTurn(Arc<Retries>);

/// A place in the queue. When it is dropped, the session leaves the queue, and a turn that has come just now is handed on.
struct Queued<'a> {
    retries: &'a Arc<Retries>,
    number: u64,
}

impl Retries {
    /// With as many turns as suit the machine.
    pub(crate) fn new() -> Arc<Retries> {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        Retries::with_turns((TURNS_PER_PROCESSOR * processors).max(TURNS_MIN))
    }

    fn with_turns(count: usize) -> Arc<Retries> {
        Arc::new(Retries { state: Mutex::new(State { free: count, waiting: VecDeque::new(), next_number: 0 }) })
    }

    /// Waits for a turn, but not longer than `patience`, after which it returns none. The caller must hold nothing.
    ///
    /// # Errors
    /// 57014 and its kin when the session is interrupted.
    pub fn take_turn(self: &Arc<Retries>, interrupt: &Interrupt, patience: Duration) -> Result<Option<RetryTurn>> {
        let waiter = Waiter::new();
        let queued = {
            let mut state = self.state.lock();
            if state.free > 0 {
                state.free -= 1;
                return Ok(Some(RetryTurn(self.clone())));
            }
            let number = state.next_number;
            state.next_number += 1;
            state.waiting.push_back((number, waiter.waker()));
            Queued { retries: self, number }
        };
        let deadline = Instant::now() + patience;
        loop {
            match waiter.wait(Some(deadline), Some(interrupt)) {
                Woken::Woken => {
                    std::mem::forget(queued);
                    return Ok(Some(RetryTurn(self.clone())));
                }
                Woken::TimedOut => return Ok(None),
                Woken::Interrupted => interrupt.check()?,
            }
        }
    }

    /// How many wait for a turn.
    pub fn waiting(&self) -> usize {
        self.state.lock().waiting.len()
    }

    /// A turn is over.
    fn hand_on(&self) {
        let next = {
            let mut state = self.state.lock();
            let next = state.waiting.pop_front();
            if next.is_none() {
                state.free += 1;
            }
            next
        };
        if let Some((_, waker)) = next {
            waker.wake();
        }
    }
}

impl Drop for RetryTurn {
    fn drop(&mut self) {
        self.0.hand_on();
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        let left = {
            let mut state = self.retries.state.lock();
            let place = state.waiting.iter().position(|(number, _)| *number == self.number);
            place.and_then(|place| state.waiting.remove(place))
        };
        if left.is_none() {
            self.retries.hand_on();
        }
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use sync::{InterruptKind, thread};

    use super::*;

    const TURNS: usize = 3;
    const PATIENCE: Duration = Duration::from_secs(60);

    fn all_turns(retries: &Arc<Retries>) -> Vec<RetryTurn> {
        let interrupt = Interrupt::new();
        (0..TURNS).map(|_| retries.take_turn(&interrupt, PATIENCE).unwrap().unwrap()).collect()
    }

    fn until_waiting(retries: &Retries, count: usize) {
        while retries.waiting() != count {
            thread::yield_now();
        }
    }

    #[test]
    fn turns_are_given_in_the_order_of_asking_and_to_so_many_at_a_time() {
        let retries = Retries::with_turns(TURNS);
        let mut turns = all_turns(&retries);
        let came = Arc::new(Mutex::new(Vec::new()));
        let threads: Vec<_> = (0..3)
            .map(|number| {
                let (others, came) = (retries.clone(), came.clone());
                let thread = thread::spawn(move || {
                    let turn = others.take_turn(&Interrupt::new(), PATIENCE).unwrap().unwrap();
                    came.lock().push(number);
                    turn
                });
                until_waiting(&retries, number + 1);
                thread
            })
            .collect();
        for (number, thread) in threads.into_iter().enumerate() {
            assert_eq!(*came.lock(), (0..number).collect::<Vec<_>>());
            turns.pop();
            turns.push(thread.join().unwrap());
        }
        assert_eq!(came.lock().len(), 3);
        drop(turns);
        assert_eq!(all_turns(&retries).len(), TURNS, "none was lost");
    }

    #[test]
    fn who_loses_patience_or_is_interrupted_leaves_the_queue_and_takes_no_turn_along() {
        let retries = Retries::with_turns(TURNS);
        let turns = all_turns(&retries);
        assert!(retries.take_turn(&Interrupt::new(), Duration::from_millis(1)).unwrap().is_none());
        let interrupt = Arc::new(Interrupt::new());
        let waiting = thread::spawn({
            let (retries, interrupt) = (retries.clone(), interrupt.clone());
            move || retries.take_turn(&interrupt, PATIENCE).map(|turn| turn.is_some())
        });
        until_waiting(&retries, 1);
        interrupt.raise(InterruptKind::Cancel);
        assert_eq!(waiting.join().unwrap().unwrap_err().sqlstate(), base::sqlstate::QUERY_CANCELED);
        assert_eq!(retries.waiting(), 0);
        // One that was handed a turn at that very moment hands it on.
        let queued = {
            retries.state.lock().waiting.push_back((77, Waiter::new().waker()));
            Queued { retries: &retries, number: 77 }
        };
        drop(turns);
        drop(queued);
        assert_eq!(all_turns(&retries).len(), TURNS);
    }
}

#[cfg(all(test, shuttle))]
mod models {
    use sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use sync::thread;

    use super::*;

    #[test]
    fn a_turn_is_one_persons_and_none_is_lost_whoever_gives_up() {
        let iterations =
            std::env::var("COHORT_MODEL_ITERATIONS").map_or(3000, |text| text.parse().expect("a number of executions"));
        let model = || {
            let (retries, holders) = (Retries::with_turns(1), Arc::new(AtomicUsize::new(0)));
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let (retries, holders) = (retries.clone(), holders.clone());
                    thread::spawn(move || {
                        let patience = Duration::from_secs(1);
                        if let Some(_turn) = retries.take_turn(&Interrupt::new(), patience).unwrap() {
                            assert_eq!(holders.fetch_add(1, SeqCst), 0);
                            thread::yield_now();
                            holders.fetch_sub(1, SeqCst);
                        }
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            let state = retries.state.lock();
            assert_eq!((state.free, state.waiting.len()), (1, 0));
        };
        shuttle::check_random(model, iterations);
        shuttle::check_pct(model, iterations, 3);
    }
}
