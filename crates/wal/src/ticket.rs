//! The ticket that a committer holds until its commit is durable.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use base::Lsn;
use sync::Arc;

use crate::DelayPolicy;
use crate::shared::Shared;

/// A place in a cohort: it tells when the log is durable up to a position.
///
/// Wait for it on a thread or in a coroutine ([`CommitTicket::wait`]), or await it as a future, on any executor. Dropping it
/// gives up the notice, not the commit: the commit has its place in the log and will be durable with the next flush.
#[must_use = "the log is durable only when the ticket says so"]
pub struct CommitTicket {
    shared: Arc<Shared>,
    upto: u64,
    policy: DelayPolicy,
    /// Its name in the cohort's queue, once it was polled.
    member: Option<u64>,
}

impl CommitTicket {
    pub(crate) fn new(shared: Arc<Shared>, upto: u64, policy: DelayPolicy) -> CommitTicket {
        CommitTicket { shared, upto, policy, member: None }
    }

    /// Waits until the log is durable up to [`CommitTicket::lsn`]; may lead the flush on the calling thread.
    pub fn wait(self) {
        self.shared.wait_durable(self.upto, self.policy);
    }

    /// Whether the log is durable up to [`CommitTicket::lsn`].
    pub fn is_durable(&self) -> bool {
        self.shared.positions.durable() >= self.upto
    }

    /// The position that must become durable.
    pub fn lsn(&self) -> Lsn {
        Lsn(self.upto)
    }
}

/// The flusher thread leads for futures, since a poll must not block; without one, a poll that finds nobody leading leads.
/// A caller whose thread has nothing else to do calls [`crate::Wal::try_lead_inline`] before it awaits.
/// `commit_delay_scope = each` and `group_commit = off` apply to [`CommitTicket::wait`] only.
impl Future for CommitTicket {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let ticket = self.get_mut();
        if ticket.shared.poll_durable(ticket.upto, ticket.policy, &mut ticket.member, context.waker()) {
            ticket.member = None;
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

impl Drop for CommitTicket {
    fn drop(&mut self) {
        if let Some(member) = self.member.take()
            && !self.is_durable()
        {
            self.shared.leave(member);
        }
    }
}

/// Tickets go where their sessions go.
const _: () = {
    const fn is_send_and_static<T: Send + 'static>() {}
    is_send_and_static::<CommitTicket>();
};
