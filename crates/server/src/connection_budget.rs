//! How many connections a server may have: each costs a descriptor, which the engine's files must not lack.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use base::{Error, Result, sqlstate};
use sync::{Condvar, Mutex};

/// The most connections that may be without a session at a time, if the system has descriptors for so many.
const STARTING_MAX: usize = 1024;
const STARTING_MIN: usize = 8;
/// With fewer sessions no server is of use.
const SESSIONS_MIN: usize = 8;

/// Counts connections, those among them that have no session yet, and sessions. Shared by all workers.
pub struct ConnectionBudget {
    connections: Places,
    starting: Places,
    sessions: Places,
    /// Sessions that only superusers may have.
    reserved: usize,
    /// The server stops.
    closed: AtomicBool,
    /// Held for a look at the count of sessions, or to tell that the last one has ended. A leaf.
    last_end: Mutex<()>,
    last_ended: Condvar,
}

struct Places {
    taken: AtomicUsize,
    most: usize,
}

impl Places {
    fn new(most: usize) -> Places {
        Places { taken: AtomicUsize::new(0), most }
    }

    fn taken(&self) -> usize {
        self.taken.load(Ordering::SeqCst)
    }

    /// Takes a place if there is one.
    fn take(&self) -> bool {
        let one_more = |taken| (taken < self.most).then_some(taken + 1);
        self.taken.fetch_update(Ordering::SeqCst, Ordering::Relaxed, one_more).is_ok()
    }

    /// How many are taken still.
    fn give_back(&self) -> usize {
        self.taken.fetch_sub(1, Ordering::Relaxed) - 1
    }
}

impl ConnectionBudget {
    /// For a server that may have `descriptors` connections open, of which `max_connections` are to have sessions. `reserved` of
    /// those are for superusers.
    ///
    /// # Errors
    /// 53000 if the system allows too few descriptors.
    pub fn new(descriptors: usize, max_connections: usize, reserved: usize) -> Result<ConnectionBudget> {
        let starting = (descriptors / 4).clamp(STARTING_MIN, STARTING_MAX);
        if descriptors < starting + SESSIONS_MIN {
            let needed = SESSIONS_MIN + STARTING_MIN;
            return Err(Error::new(
                sqlstate::INSUFFICIENT_RESOURCES,
                "insufficient file descriptors available to start server process",
            )
            .detail(format!("The system allows {descriptors} connections, the server needs at least {needed}.")));
        }
        let sessions = max_connections.min(descriptors - starting);
        Ok(ConnectionBudget {
            connections: Places::new(descriptors),
            starting: Places::new(starting),
            sessions: Places::new(sessions),
            reserved,
            closed: AtomicBool::new(false),
            last_end: Mutex::new(()),
            last_ended: Condvar::new(),
        })
    }

    /// How many sessions there may be.
    pub fn sessions_max(&self) -> usize {
        self.sessions.most
    }

    /// A connection was accepted. False if it must be refused at once.
    pub fn enter(&self) -> bool {
        self.connections.take()
    }

    /// A connection is closed.
    pub fn leave(&self) {
        self.connections.give_back();
    }

    /// Counts a connection that has no session yet. True if there are too many now.
    pub fn begin_starting(&self) -> bool {
        self.starting.taken.fetch_add(1, Ordering::Relaxed) >= self.starting.most
    }

    /// The connection has a session now, or is gone.
    pub fn end_starting(&self) {
        self.starting.give_back();
    }

    /// Whether there is a place for one more session.
    pub fn has_place(&self) -> bool {
        self.sessions.taken() < self.sessions.most
    }

    /// Takes a place for a session, if there is one. The caller gives it back if the server stops ([`ConnectionBudget::is_closed`]).
    pub fn take_place(&self) -> bool {
        self.sessions.take()
    }

    /// The server stops: no more sessions begin. Once no session is counted after this, there is none any more. Each side first writes
    /// and then reads the other's word, all sequentially consistent. So either the stop counts the place, or the connection sees the stop.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    /// Whether the server stops.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// A session is gone.
    pub fn give_place_back(&self) {
        if self.sessions.give_back() == 0 {
            let _last_end = self.last_end.lock();
            self.last_ended.notify_all();
        }
    }

    /// How many sessions there are, with those that have ended and whose connections still send.
    pub fn session_count(&self) -> usize {
        self.sessions.taken()
    }

    /// Waits for the end of the last session, for `limit` at most. True if no session is left.
    pub fn wait_for_last_end(&self, limit: Duration) -> bool {
        let mut last_end = self.last_end.lock();
        if self.sessions.taken() > 0 {
            self.last_ended.wait_for(&mut last_end, limit);
        }
        self.sessions.taken() == 0
    }

    /// Whether the place that was taken last is kept for superusers.
    pub fn is_for_superusers(&self) -> bool {
        self.sessions.taken() + self.reserved > self.sessions.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_shared_out_and_none_is_taken_twice() {
        let budget = ConnectionBudget::new(100, 10_000, 3).unwrap();
        assert_eq!(budget.sessions_max(), 75);
        assert_eq!((0..101).filter(|_| budget.enter()).count(), 100);
        budget.leave();
        assert!(budget.enter());
        let starting: Vec<bool> = (0..26).map(|_| budget.begin_starting()).collect();
        assert!(!starting[24] && starting[25]);
        let places: Vec<bool> = (0..75).map(|_| budget.take_place() && budget.is_for_superusers()).collect();
        assert!(!places[71] && places[72] && places[74]);
        assert!(!budget.has_place() && !budget.take_place());
        budget.give_place_back();
        assert!(budget.take_place());
        assert_eq!(ConnectionBudget::new(20_000, 50, 3).unwrap().sessions_max(), 50);
        assert!(ConnectionBudget::new(12, 50, 3).is_err());
    }
}
