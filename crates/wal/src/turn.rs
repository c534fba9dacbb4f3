//! `group_commit = off`: committers take the log lock in turn, as in PostgreSQL 9.1.
//!
//! Each committer queues for its turn, first come first served. When it gets there and finds its record durable, it lets
//! the next one go; otherwise it flushes for itself: all that is inserted if nobody is inserting at that moment, or else
//! no more than its own record. The one difference from `on`: there, covered committers leave at once. Here each of them must
//! first get its turn, which costs a switch of threads each, and no flush begins before the turn reaches an uncovered
//! committer.

use std::collections::VecDeque;

use sync::Mutex;

use crate::DelayPolicy;
use crate::shared::Shared;
use crate::statistics::Counters;

#[derive(Default)]
struct Turn {
    taken: bool,
    waiting: VecDeque<sync::Waker>,
}

/// The queue for the log lock.
pub(crate) struct Turns {
    /// Guards the queue only; the turn itself is [`Turn::taken`] and is kept across a sync.
    turn: Mutex<Turn>,
}

impl Turns {
    pub fn new() -> Turns {
        Turns { turn: Mutex::new(Turn::default()) }
    }

    /// Waits for the turn; runs `before_waiting` once it is in the queue.
    fn take(&self, before_waiting: impl FnOnce()) {
        let waiter = {
            let mut turn = self.turn.lock();
            if !turn.taken {
                turn.taken = true;
                return;
            }
            let waiter = sync::Waiter::new();
            turn.waiting.push_back(waiter.waker());
            waiter
        };
        before_waiting();
        // The thread that wakes this one leaves the turn taken: it now belongs to this thread.
        waiter.wait(None, None);
    }

    fn pass_on(&self) {
        let next = {
            let mut turn = self.turn.lock();
            assert!(turn.taken, "who passes the turn on has it");
            let next = turn.waiting.pop_front();
            turn.taken = next.is_some();
            next
        };
        if let Some(next) = next {
            next.wake();
        }
    }

    /// Wakes everybody: the process is about to end.
    pub fn wake_all(&self) {
        let waiting = std::mem::take(&mut self.turn.lock().waiting);
        waiting.iter().for_each(sync::Waker::wake);
    }
}

impl Shared {
    /// Waits until the log is durable up to `upto`, in turn.
    pub fn wait_in_turn(&self, upto: u64, policy: DelayPolicy) {
        self.turns.take(|| self.check_failed());
        self.check_failed();
        Counters::add(&self.counters.turns_taken, 1);
        if self.positions.durable() < upto {
            let limit = if self.insertion.nobody_is_placing() { None } else { Some(upto) };
            self.wait_in_cohort(upto, policy, limit);
        }
        self.turns.pass_on();
    }
}
