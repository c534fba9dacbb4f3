//! Helpers that the tests of locks share.
#![allow(dead_code)]

use std::time::{Duration, Instant};

use base::{Oid, OwnerId, Tid, Xid};
use cohort_lockmgr::{LockManager, LockOptions, LockTag};
use sync::{Arc, Interrupt};

pub const RELATION: Oid = Oid(16_384);
pub const TABLE: LockTag = LockTag::Relation(RELATION);
pub const ROW: Tid = Tid::new(0, 1);

pub fn owner(number: u32) -> OwnerId {
    OwnerId(number)
}

pub fn xid(number: u64) -> Xid {
    Xid(number)
}

/// A session that lives in one thread of a test.
pub struct Session {
    pub locks: Arc<LockManager>,
    pub owner: OwnerId,
    pub interrupt: Arc<Interrupt>,
    pub lock_timeout: Option<Duration>,
    pub deadlock_timeout: Duration,
}

impl Session {
    pub fn new(locks: &Arc<LockManager>, number: u32) -> Session {
        Session {
            locks: locks.clone(),
            owner: OwnerId(number),
            interrupt: Arc::new(Interrupt::new()),
            // A wait that a failed test leaves behind ends, so that the failure is told and nothing hangs.
            lock_timeout: Some(Duration::from_secs(90)),
            deadlock_timeout: Duration::from_secs(60),
        }
    }

    pub fn options(&self) -> LockOptions<'_> {
        LockOptions {
            lock_timeout: self.lock_timeout,
            deadlock_timeout: self.deadlock_timeout,
            ..LockOptions::new(&self.interrupt)
        }
    }
}

/// Waits until so many owners wait for locks.
pub fn until_waiting(locks: &LockManager, count: usize) {
    until(|| locks.waiting_count() == count, "the expected number of waiters");
}

pub fn until(mut condition: impl FnMut() -> bool, what: &str) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what} did not come about");
        std::thread::yield_now();
    }
}
