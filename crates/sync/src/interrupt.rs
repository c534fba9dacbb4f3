//! Interrupts: how a session is told from outside to stop what it does.

use base::{Error, SqlState, sqlstate};

use crate::facade::atomic::{AtomicBool, AtomicU8, Ordering};
use crate::facade::{Arc, Mutex};
use crate::ready_queue::ReadyQueue;
use crate::wait::Waker;

/// Why a session is interrupted. The later, the graver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum InterruptKind {
    /// The user asked for it (57014).
    Cancel,
    /// `statement_timeout` (57014).
    StatementTimeout,
    /// `idle_session_timeout` (57P05, the session ends).
    IdleSessionTimeout,
    /// `idle_in_transaction_session_timeout` (25P03, the session ends).
    IdleTimeout,
    /// `transaction_timeout` (25P04, the session ends).
    TransactionTimeout,
    /// The session is to end: shut-down or `pg_terminate_backend` (57P01).
    Terminate,
}

const GRAVEST_FIRST: [InterruptKind; 6] = [
    InterruptKind::Terminate,
    InterruptKind::TransactionTimeout,
    InterruptKind::IdleTimeout,
    InterruptKind::IdleSessionTimeout,
    InterruptKind::StatementTimeout,
    InterruptKind::Cancel,
];

// PostgreSQL 14 and 17 added these codes.
const IDLE_SESSION_TIMEOUT: SqlState = SqlState::new("57P05");
const TRANSACTION_TIMEOUT: SqlState = SqlState::new("25P04");

impl InterruptKind {
    /// Whether it ends the session, and not just a statement.
    pub const fn ends_session(self) -> bool {
        self as u8 > InterruptKind::StatementTimeout as u8
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Returns the error that the client gets.
    #[cold]
    pub fn error(self) -> Error {
        match self {
            InterruptKind::Cancel => Error::new(sqlstate::QUERY_CANCELED, "canceling statement due to user request"),
            InterruptKind::StatementTimeout => {
                Error::new(sqlstate::QUERY_CANCELED, "canceling statement due to statement timeout")
            }
            InterruptKind::IdleSessionTimeout => {
                Error::new(IDLE_SESSION_TIMEOUT, "terminating connection due to idle-session timeout").fatal()
            }
            InterruptKind::IdleTimeout => Error::new(
                sqlstate::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                "terminating connection due to idle-in-transaction timeout",
            )
            .fatal(),
            InterruptKind::TransactionTimeout => {
                Error::new(TRANSACTION_TIMEOUT, "terminating connection due to transaction timeout").fatal()
            }
            InterruptKind::Terminate => {
                Error::new(sqlstate::ADMIN_SHUTDOWN, "terminating connection due to administrator command").fatal()
            }
        }
    }
}

/// The interrupts of one session. Shared as `Arc<Interrupt>`.
///
/// Raising one and beginning a wait may race: each first leaves its mark (`pending`, the waiter's state) and then looks
/// for the other's, all in sequentially consistent order, so at least one of the two sees the other.
pub struct Interrupt {
    /// One bit per kind.
    pending: AtomicU8,
    /// The kinds that a check has reported and that are still pending.
    reported: AtomicU8,
    /// See [`keep_until_cleared`](Interrupt::keep_until_cleared).
    is_kept: AtomicBool,
    told: Mutex<Told>,
    #[cfg(debug_assertions)]
    trial: trial::Trial,
}

/// The wait and the thread that are told of a raised interrupt. A leaf.
#[derive(Default)]
struct Told {
    /// Pokes the wait that the session is in.
    waiting: Option<Waker>,
    /// Where the session's thread hears that the session is to end, while nothing of it runs. The number is the session's token.
    owner: Option<(Arc<ReadyQueue>, u64)>,
}

impl Default for Interrupt {
    fn default() -> Interrupt {
        Interrupt::new()
    }
}

impl Interrupt {
    /// Nothing pending.
    pub fn new() -> Interrupt {
        Interrupt {
            pending: AtomicU8::new(0),
            reported: AtomicU8::new(0),
            is_kept: AtomicBool::new(false),
            told: Mutex::new(Told::default()),
            #[cfg(debug_assertions)]
            trial: trial::Trial::default(),
        }
    }

    /// From now on a check takes nothing. Code that drops the error of a check can then delay a cancel, but can't lose it: each later
    /// check fails too, until the statement has ended and [`clear_statement`](Interrupt::clear_statement) is called.
    pub fn keep_until_cleared(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    /// From now on the session's token is queued when an interrupt that ends the session is raised.
    pub fn set_owner(&self, queue: Arc<ReadyQueue>, token: u64) {
        self.told.lock().owner = Some((queue, token));
    }

    /// Makes `kind` pending and wakes the session if it waits, or its owner if it is to end. From any thread.
    pub fn raise(&self, kind: InterruptKind) {
        self.pending.fetch_or(kind.bit(), Ordering::SeqCst);
        // Cloned out: no lock is held across a wake.
        let (waiting, owner) = {
            let told = self.told.lock();
            (told.waiting.clone(), told.owner.clone().filter(|_| kind.ends_session()))
        };
        if let Some(waker) = waiting {
            waker.poke();
        }
        if let Some((queue, token)) = owner {
            queue.push(token);
        }
    }

    /// Whether anything is pending: one relaxed load.
    #[inline]
    pub fn pending(&self) -> bool {
        self.pending.load(Ordering::Relaxed) != 0
    }

    /// Whether anything is pending, in the order that beginning a wait needs.
    pub(crate) fn pending_in_order(&self) -> bool {
        self.pending.load(Ordering::SeqCst) != 0
    }

    /// Takes the gravest pending interrupt; the others stay.
    pub fn take(&self) -> Option<InterruptKind> {
        if !self.pending() {
            return None;
        }
        GRAVEST_FIRST.into_iter().find(|kind| self.clear(*kind))
    }

    /// Takes the gravest pending interrupt if it ends the session; the others stay.
    pub fn take_end(&self) -> Option<InterruptKind> {
        if !self.pending() {
            return None;
        }
        GRAVEST_FIRST.into_iter().take_while(|kind| kind.ends_session()).find(|kind| self.clear(*kind))
    }

    /// The pending interrupt, as the error that the client is told. An interrupt that ends the session stays pending until [`take`] or
    /// [`take_end`] takes it: code that goes on after some errors comes to its end at the next check all the same. After
    /// [`keep_until_cleared`] the others stay pending, too.
    ///
    /// [`take`]: Interrupt::take
    /// [`take_end`]: Interrupt::take_end
    /// [`keep_until_cleared`]: Interrupt::keep_until_cleared
    ///
    /// # Errors
    /// That error: 57014, 57P01 or one of their kin.
    #[inline]
    pub fn check(&self) -> base::Result<()> {
        #[cfg(debug_assertions)]
        if let Some(kind) = self.trial.count_check() {
            self.raise(kind);
        }
        if !self.pending() {
            return Ok(());
        }
        self.report()
    }

    /// For tests, in builds with debug assertions: the `number`th check from now raises `kind` (0: none does). Counts from before are
    /// forgotten.
    #[cfg(debug_assertions)]
    pub fn raise_at_check(&self, kind: InterruptKind, number: u32) {
        self.trial.begin(kind, number);
    }

    /// The counts since [`raise_at_check`](Interrupt::raise_at_check).
    #[cfg(debug_assertions)]
    pub fn met(&self) -> Met {
        self.trial.met()
    }

    #[cold]
    fn report(&self) -> base::Result<()> {
        match self.gravest() {
            Some(kind) if kind.ends_session() || self.is_kept.load(Ordering::Relaxed) => {
                self.reported.fetch_or(kind.bit(), Ordering::SeqCst);
                #[cfg(debug_assertions)]
                self.trial.note_failed_check();
                Err(kind.error())
            }
            _ => self.take().map_or(Ok(()), |kind| Err(kind.error())),
        }
    }

    /// Fails if a check has failed since the statement began, and its error was dropped. For the places where a statement's result
    /// is about to be final.
    ///
    /// # Errors
    /// The error of that check.
    #[inline]
    pub fn check_reported(&self) -> base::Result<()> {
        match self.reported() {
            None => Ok(()),
            Some(kind) => {
                #[cfg(debug_assertions)]
                self.trial.note_dropped();
                Err(kind.error())
            }
        }
    }

    /// `error`, or the error of a check that `error` has replaced: an interrupted statement ends with the interrupt's error.
    pub fn reported_instead_of(&self, error: Error) -> Error {
        let is_own = |kind: InterruptKind| {
            error.fields().fatal || error.sqlstate() == sqlstate::QUERY_CANCELED && !kind.ends_session()
        };
        match self.reported() {
            Some(kind) if !is_own(kind) => {
                #[cfg(debug_assertions)]
                self.trial.note_dropped();
                kind.error()
            }
            _ => error,
        }
    }

    fn reported(&self) -> Option<InterruptKind> {
        if !self.pending() {
            return None;
        }
        let reported = self.reported.load(Ordering::SeqCst);
        GRAVEST_FIRST.into_iter().find(|kind| reported & kind.bit() != 0)
    }

    /// Forgets the interrupts of a statement that a check has reported: a handler has caught the error, and the statement goes on.
    pub fn clear_reported(&self) {
        let reported = self.reported.load(Ordering::SeqCst);
        for kind in GRAVEST_FIRST.into_iter().filter(|kind| !kind.ends_session() && reported & kind.bit() != 0) {
            self.clear(kind);
        }
    }

    /// Forgets the interrupts that are for one statement: it has ended.
    pub fn clear_statement(&self) {
        self.clear(InterruptKind::StatementTimeout);
        self.clear(InterruptKind::Cancel);
    }

    fn gravest(&self) -> Option<InterruptKind> {
        let pending = self.pending.load(Ordering::SeqCst);
        GRAVEST_FIRST.into_iter().find(|kind| pending & kind.bit() != 0)
    }

    /// Forgets a pending `kind`, and that a check reported it. Whether it was pending.
    #[inline]
    pub fn clear(&self, kind: InterruptKind) -> bool {
        // Each statement does this, mostly with nothing pending: a look costs less than a change.
        if !self.pending() {
            return false;
        }
        self.reported.fetch_and(!kind.bit(), Ordering::SeqCst);
        self.pending.fetch_and(!kind.bit(), Ordering::SeqCst) & kind.bit() != 0
    }

    /// The session begins to wait.
    pub(crate) fn set_waiting(&self, waker: Option<Waker>) {
        self.told.lock().waiting = waker;
    }
}

impl std::fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interrupt").field("pending", &self.pending()).finish_non_exhaustive()
    }
}

#[cfg(debug_assertions)]
pub use trial::Met;

/// An interrupt at a chosen check, by which tests find code that drops the error of a check.
#[cfg(debug_assertions)]
mod trial {
    use super::{GRAVEST_FIRST, InterruptKind};
    // Of the standard library: shuttle need not try their orders.
    use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

    /// Counts since a test chose a check.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Met {
        /// The chosen check has come.
        pub was_raised: bool,
        /// So many checks have failed.
        pub failed_checks: u32,
        /// So often the error of a check was found to have been dropped.
        pub dropped: u32,
    }

    #[derive(Default)]
    pub(super) struct Trial {
        /// The checks up to the chosen one, that one included; 0 if none is chosen.
        checks_left: AtomicU32,
        /// The chosen check has come.
        was_raised: AtomicBool,
        /// The bit of the kind that the chosen check raises.
        kind: AtomicU8,
        failed_checks: AtomicU32,
        dropped: AtomicU32,
    }

    impl Trial {
        pub(super) fn begin(&self, kind: InterruptKind, number: u32) {
            self.was_raised.store(false, Ordering::Relaxed);
            for count in [&self.failed_checks, &self.dropped] {
                count.store(0, Ordering::Relaxed);
            }
            self.kind.store(kind.bit(), Ordering::Relaxed);
            self.checks_left.store(number, Ordering::Relaxed);
        }

        /// A check is made. The kind that it is to raise, if it is the chosen one.
        #[inline]
        pub(super) fn count_check(&self) -> Option<InterruptKind> {
            match self.checks_left.load(Ordering::Relaxed) {
                0 => None,
                left => self.count_down(left),
            }
        }

        #[cold]
        fn count_down(&self, left: u32) -> Option<InterruptKind> {
            self.checks_left.store(left - 1, Ordering::Relaxed);
            if left > 1 {
                return None;
            }
            self.was_raised.store(true, Ordering::Relaxed);
            let chosen = self.kind.load(Ordering::Relaxed);
            GRAVEST_FIRST.into_iter().find(|kind| kind.bit() == chosen)
        }

        pub(super) fn note_failed_check(&self) {
            self.failed_checks.fetch_add(1, Ordering::Relaxed);
        }

        pub(super) fn note_dropped(&self) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }

        pub(super) fn met(&self) -> Met {
            Met {
                was_raised: self.was_raised.load(Ordering::Relaxed),
                failed_checks: self.failed_checks.load(Ordering::Relaxed),
                dropped: self.dropped.load(Ordering::Relaxed),
            }
        }
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_is_taken_first_and_each_once() {
        let interrupt = Interrupt::new();
        assert!(!interrupt.pending() && interrupt.check().is_ok());
        interrupt.raise(InterruptKind::Cancel);
        interrupt.raise(InterruptKind::Terminate);
        interrupt.raise(InterruptKind::StatementTimeout);
        interrupt.raise(InterruptKind::Cancel);
        assert!(interrupt.pending());
        assert_eq!(interrupt.take(), Some(InterruptKind::Terminate));
        assert_eq!(interrupt.take(), Some(InterruptKind::StatementTimeout));
        assert_eq!(interrupt.take(), Some(InterruptKind::Cancel));
        assert_eq!(interrupt.take(), None);
    }

    #[test]
    fn what_ends_a_session_is_told_at_each_check() {
        let interrupt = Interrupt::new();
        interrupt.raise(InterruptKind::Cancel);
        assert!(interrupt.check().is_err() && interrupt.check().is_ok());
        interrupt.raise(InterruptKind::Cancel);
        interrupt.raise(InterruptKind::Terminate);
        for _ in 0..2 {
            assert_eq!(interrupt.check().unwrap_err().sqlstate().as_str(), "57P01");
        }
        assert_eq!(interrupt.take_end(), Some(InterruptKind::Terminate));
        assert_eq!(interrupt.check().unwrap_err().sqlstate().as_str(), "57014");
        assert!(!interrupt.pending());
    }

    #[test]
    fn a_kept_cancel_is_told_at_each_check_until_it_is_cleared() {
        let interrupt = Interrupt::new();
        interrupt.keep_until_cleared();
        interrupt.raise(InterruptKind::Cancel);
        assert!(interrupt.check_reported().is_ok(), "no check has found it yet");
        let other = || Error::new(sqlstate::UNIQUE_VIOLATION, "duplicate key");
        assert_eq!(interrupt.reported_instead_of(other()).sqlstate(), sqlstate::UNIQUE_VIOLATION);
        for _ in 0..2 {
            assert_eq!(interrupt.check().unwrap_err().sqlstate(), sqlstate::QUERY_CANCELED);
        }
        assert_eq!(interrupt.check_reported().unwrap_err().sqlstate(), sqlstate::QUERY_CANCELED);
        assert_eq!(interrupt.reported_instead_of(other()).sqlstate(), sqlstate::QUERY_CANCELED);
        assert_eq!(interrupt.reported_instead_of(other().fatal()).sqlstate(), sqlstate::UNIQUE_VIOLATION);
        let cancelled = InterruptKind::StatementTimeout.error();
        assert!(interrupt.reported_instead_of(cancelled).message().ends_with("statement timeout"));
        interrupt.clear_statement();
        assert!(!interrupt.pending() && interrupt.check().is_ok() && interrupt.check_reported().is_ok());
    }

    #[test]
    fn a_handler_forgets_what_was_reported_and_nothing_else() {
        let interrupt = Interrupt::new();
        interrupt.keep_until_cleared();
        interrupt.raise(InterruptKind::Cancel);
        interrupt.raise(InterruptKind::StatementTimeout);
        assert!(interrupt.check().unwrap_err().message().ends_with("statement timeout"));
        interrupt.clear_reported();
        assert!(interrupt.check().unwrap_err().message().ends_with("user request"));
        interrupt.raise(InterruptKind::Terminate);
        assert_eq!(interrupt.check().unwrap_err().sqlstate(), sqlstate::ADMIN_SHUTDOWN);
        let cancelled = InterruptKind::Cancel.error();
        assert_eq!(interrupt.reported_instead_of(cancelled).sqlstate(), sqlstate::ADMIN_SHUTDOWN);
        interrupt.clear_reported();
        assert_eq!(interrupt.take(), Some(InterruptKind::Terminate), "no handler catches the session's end");
        assert!(!interrupt.pending());
    }

    #[test]
    fn every_kind_is_listed_and_has_its_words() {
        let mut sorted = GRAVEST_FIRST;
        sorted.sort();
        sorted.reverse();
        assert_eq!(sorted, GRAVEST_FIRST);
        let told: Vec<_> = GRAVEST_FIRST
            .iter()
            .map(|kind| {
                let interrupt = Interrupt::new();
                interrupt.raise(*kind);
                let error = interrupt.check().unwrap_err();
                (error.sqlstate().as_str().to_owned(), error.message().to_owned(), error.fields().fatal)
            })
            .collect();
        let expected = [
            ("57P01", "terminating connection due to administrator command", true),
            ("25P04", "terminating connection due to transaction timeout", true),
            ("25P03", "terminating connection due to idle-in-transaction timeout", true),
            ("57P05", "terminating connection due to idle-session timeout", true),
            ("57014", "canceling statement due to statement timeout", false),
            ("57014", "canceling statement due to user request", false),
        ];
        for (told, expected) in told.iter().zip(expected) {
            assert_eq!((told.0.as_str(), told.1.as_str(), told.2), expected);
        }
    }
}
