//! What a committer holds until its commit is durable.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use base::Lsn;

/// A place in a cohort: it tells when the log is durable up to a position. Dropping it gives up the telling, not the flush.
#[must_use = "the log is durable only when the ticket says so"]
pub struct CommitTicket {}

impl CommitTicket {
    /// Waits until the log is durable up to [`CommitTicket::lsn`]; may lead the flush on the calling thread.
    pub fn wait(self) {
        todo!()
    }
    /// Whether the log is durable up to [`CommitTicket::lsn`].
    pub fn is_durable(&self) -> bool {
        todo!()
    }
    /// The position that must become durable.
    pub fn lsn(&self) -> Lsn {
        todo!()
    }
}

impl Future for CommitTicket {
    type Output = ();
    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        todo!()
    }
}
