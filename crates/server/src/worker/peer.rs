//! The part of a worker that the others see: how much it has to do, and where a session is handed to it.

use sync::atomic::{AtomicUsize, Ordering};
use sync::{Arc, CachePadded, Mailbox, ReadyQueue};

use super::moving::Moving;

/// A session with long work weighs as much as so many others when a new one is dealt out.
const LONG_WORK_WEIGHT: usize = 4;

/// The part of a worker that all workers, and the acceptor, hold.
pub(crate) struct Peer {
    pub(super) ready: Arc<ReadyQueue>,
    /// Its connections, those on their way to it included.
    session_count: AtomicUsize,
    /// How many of its sessions have long work under way.
    long_count: AtomicUsize,
    /// Open while the worker sleeps in its poll. Apart from the counts: it changes with each sleep.
    pub(super) mailbox: CachePadded<Mailbox<Box<Moving>>>,
}

impl Peer {
    /// A worker without connections, which is told by `ready` what there is to do.
    pub(super) fn new(ready: Arc<ReadyQueue>) -> Peer {
        Peer {
            ready,
            session_count: AtomicUsize::new(0),
            long_count: AtomicUsize::new(0),
            mailbox: CachePadded::new(Mailbox::new()),
        }
    }

    /// Its connections.
    pub(super) fn session_count(&self) -> usize {
        self.session_count.load(Ordering::Relaxed)
    }

    /// It gets a connection.
    pub(super) fn count_session(&self) {
        self.session_count.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection is gone, or goes to another worker.
    pub(super) fn discount_session(&self) {
        self.session_count.fetch_sub(1, Ordering::Relaxed);
    }

    /// So many of its sessions have long work under way.
    pub(super) fn set_long_count(&self, count: usize) {
        if self.long_count.load(Ordering::Relaxed) != count {
            self.long_count.store(count, Ordering::Relaxed);
        }
    }

    /// How much it has to do: new connections go where this is least.
    pub(super) fn load(&self) -> usize {
        let long = self.long_count.load(Ordering::Relaxed).saturating_mul(LONG_WORK_WEIGHT);
        self.session_count().saturating_add(long)
    }
}
