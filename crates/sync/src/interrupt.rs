//! Interrupts: how a session is told from outside to stop what it does.
#![allow(unused_variables)]

/// Why a session is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum InterruptKind {
    /// The user asked for it (57014).
    Cancel,
    /// `statement_timeout` (57014).
    StatementTimeout,
    /// `idle_in_transaction_session_timeout` (25P03, the session ends).
    IdleTimeout,
    /// `transaction_timeout` (25P04, the session ends).
    TransactionTimeout,
    /// The session is to end: shut-down or `pg_terminate_backend` (57P01).
    Terminate,
}

/// The interrupts of one session. Shared as `Arc<Interrupt>`.
#[derive(Default)]
pub struct Interrupt {}

impl Interrupt {
    /// Nothing pending.
    pub fn new() -> Interrupt {
        Interrupt::default()
    }
    /// Makes `kind` pending and wakes the session if it waits. From any thread.
    pub fn raise(&self, kind: InterruptKind) {
        todo!()
    }
    /// Whether anything is pending: one relaxed load.
    #[inline]
    pub fn pending(&self) -> bool {
        todo!()
    }
    /// Takes the gravest pending interrupt; the others stay.
    pub fn take(&self) -> Option<InterruptKind> {
        todo!()
    }
    /// Takes what is pending, as the error the client is told.
    pub fn check(&self) -> base::Result<()> {
        todo!()
    }
    /// Forgets a pending `kind`, if there is one: a cancel that came after its statement's end.
    pub fn clear(&self, kind: InterruptKind) {
        todo!()
    }
}
