//! Between statements and how long they may take: what is told before ReadyForQuery and while the session idles, and its timers.

use std::sync::Arc;
use std::time::Instant;

use base::{Error, sqlstate};
use sync::{Armed, InterruptKind, Timer};

use super::{Activity, Block, SqlSession};
use executor::client::Client;

/// So many notifications are told before others may do something.
const TOLD_AT_ONCE: usize = 1024;

impl SqlSession {
    /// The last thing before ReadyForQuery: what was notified meanwhile, and the session idles.
    pub fn before_ready(&mut self, client: &mut dyn Client) {
        if self.block == Block::None {
            self.deliver_notifications(client);
            while self.has_more_notifications && !client.wants_relief() {
                sync::let_others_run();
                self.deliver_notifications(client);
            }
        }
        self.report_settings(client);
        self.note_idle();
        self.state.info.set_activity(match self.transaction_status() {
            b'T' => Activity::IdleInTransaction,
            b'E' => Activity::IdleInFailedTransaction,
            _ => Activity::Idle,
        });
        self.idle_since = Instant::now();
        // A cancel that came too late is not for the next statement.
        self.state.interrupt().clear(InterruptKind::Cancel);
    }

    /// Tells the client a part of what it listens for, no more than it has room for. Also called while the session idles.
    pub fn deliver_notifications(&mut self, client: &mut dyn Client) {
        let channels = &self.state.channels;
        if !channels.has_any() {
            return;
        }
        self.has_more_notifications = true;
        let mut told = 0;
        while self.has_more_notifications && told < TOLD_AT_ONCE && !client.wants_relief() {
            let (notifications, has_more) = channels.take(self.state.info.pid);
            told += notifications.len();
            for notification in notifications {
                client.require(notification.csn);
                client.notification(notification.pid, &notification.channel, &notification.payload);
            }
            self.has_more_notifications = has_more;
        }
    }

    /// Whether there is more that the client is to be told.
    pub fn has_more_notifications(&self) -> bool {
        self.has_more_notifications
    }

    /// Has the session told by `wake` of what is notified while it idles, if it listens and hasn't arranged that yet: true if it
    /// has now, and something may be waiting already.
    pub fn arrange_wake(&mut self, wake: impl FnOnce() -> Arc<dyn Fn() + Send + Sync>) -> bool {
        let is_new = self.state.has_listened.get() && !self.has_wake;
        if is_new {
            self.has_wake = true;
            self.state.channels.set_wake(self.state.info.pid, wake());
        }
        is_new
    }

    /// The session has another worker: it is told of notifications by `wake` from now on, if it is told of them at all.
    pub fn renew_wake(&mut self, wake: impl FnOnce() -> Arc<dyn Fn() + Send + Sync>) {
        if self.has_wake {
            self.state.channels.set_wake(self.state.info.pid, wake());
        }
    }

    /// When the session has idled too long, if it may not idle for ever.
    pub fn idle_deadline(&self) -> Option<Instant> {
        let cached = self.state.cached();
        let timeout = match self.block {
            Block::Explicit => cached.idle_in_transaction_timeout,
            _ => cached.idle_timeout,
        };
        let limit = self.transaction_limit.as_ref().map(|(at, _)| *at);
        timeout.map(|timeout| self.idle_since + timeout).into_iter().chain(limit).min()
    }

    /// The error that ends the session, if it has idled too long at `now`.
    pub fn idle_timeout_passed(&self, now: Instant) -> Option<Error> {
        if self.idle_deadline()? > now {
            return None;
        }
        if self.transaction_limit.as_ref().is_some_and(|(at, _)| *at <= now) {
            return Some(InterruptKind::TransactionTimeout.error());
        }
        Some(match self.block {
            Block::Explicit => Error::new(
                sqlstate::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                "terminating connection due to idle-in-transaction timeout",
            ),
            _ => Error::new(base::SqlState::new("57P05"), "terminating connection due to idle-session timeout"),
        })
    }

    /// `statement_timeout` runs from here, unless it runs already.
    pub(super) fn start_timer(&mut self) {
        if self.timer.is_none() {
            self.timer = self.statement_timer();
        }
    }

    /// Limits the time of the statement that begins.
    pub(super) fn statement_timer(&self) -> Option<Armed> {
        let timeout = self.state.cached().statement_timeout?;
        let [statement, _] = self.timers();
        Some(statement.arm(Instant::now() + timeout))
    }

    pub(super) fn timers(&self) -> &[Timer; 2] {
        self.timers.get_or_init(|| {
            let kinds = [InterruptKind::StatementTimeout, InterruptKind::TransactionTimeout];
            kinds.map(|kind| self.state.instance.timers.timer(self.state.interrupt(), kind))
        })
    }
}
