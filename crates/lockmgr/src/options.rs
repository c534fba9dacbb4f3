//! How a lock is asked for, and what came of it.

use std::time::Duration;

use base::lock_mode::WaitPolicy;
use sync::Interrupt;

/// How long a lock is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LockDuration {
    /// Until the transaction ends, or the savepoint it was taken after is rolled back.
    #[default]
    Transaction,
    /// Until it is unlocked as often as it was locked, or the session ends.
    Session,
}

/// The conditions of one lock request.
#[derive(Clone, Copy)]
pub struct LockOptions<'a> {
    /// The policy when the lock isn't free.
    pub wait: WaitPolicy,
    /// How long the lock is kept.
    pub duration: LockDuration,
    /// How long to wait before failing with 55P03; no limit if absent.
    pub lock_timeout: Option<Duration>,
    /// How long to wait before looking for a deadlock.
    pub deadlock_timeout: Duration,
    /// Wakes the wait when the session is cancelled.
    pub interrupt: &'a Interrupt,
}

impl<'a> LockOptions<'a> {
    /// PostgreSQL's defaults: wait without limit, look for deadlocks after a second.
    pub fn new(interrupt: &'a Interrupt) -> LockOptions<'a> {
        LockOptions {
            wait: WaitPolicy::Block,
            duration: LockDuration::Transaction,
            lock_timeout: None,
            deadlock_timeout: Duration::from_secs(1),
            interrupt,
        }
    }

    /// The same with another policy.
    #[must_use]
    pub fn policy(mut self, wait: WaitPolicy) -> Self {
        self.wait = wait;
        self
    }

    /// The same, kept by the session.
    #[must_use]
    pub fn for_session(mut self) -> Self {
        self.duration = LockDuration::Session;
        self
    }
}

/// The result of a lock request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Granted {
    /// The owner holds the lock now.
    Acquired,
    /// The owner held it in this mode before.
    AlreadyHeld,
    /// Somebody else holds it, and the policy was [`WaitPolicy::Skip`].
    Skipped,
}

/// A point in an owner's sequence of lock requests: rolling back to it releases the locks taken later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct LockMark(pub(crate) u32);

/// Which of an owner's locks to release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// All locks that last until the transaction's end.
    Transaction,
    /// All locks that were taken after the mark and last until the transaction's end.
    Subtransaction(LockMark),
    /// All locks, including those kept by the session.
    Session,
    /// The advisory locks kept by the session (`pg_advisory_unlock_all`).
    SessionAdvisory,
}
