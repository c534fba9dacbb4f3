//! How a worker stops: sessions end after their running statements, or these are interrupted.

use std::time::{Duration, Instant};

use sync::InterruptKind;

use super::{State, Worker, shutting_down};
use crate::port::UNREAD_WHEN_STOPPING;

/// How a server stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopMode {
    /// Running statements end first, and their clients are answered.
    AfterStatements,
    /// Running statements are interrupted.
    AtOnce,
}

impl StopMode {
    pub(super) fn patience(self) -> Patience {
        match self {
            StopMode::AfterStatements => Patience { unread: UNREAD_WHEN_STOPPING, whole: Duration::from_secs(15) },
            StopMode::AtOnce => Patience { unread: Duration::from_secs(1), whole: Duration::from_secs(5) },
        }
    }
}

/// How long a client may take over what it was still to be sent when its session ended.
pub(super) struct Patience {
    /// So long it may take nothing.
    pub(super) unread: Duration,
    /// After so long its connection is closed even if it reads on.
    pub(super) whole: Duration,
}

impl Worker {
    /// Ends idle sessions. Running statements end first, or are interrupted.
    pub(super) fn begin_stop(&mut self, mode: StopMode) {
        if self.stopping.is_some_and(|(before, _)| before == mode || before == StopMode::AtOnce) {
            return;
        }
        self.stopping = Some((mode, Instant::now()));
        let all: Vec<usize> = self.connections.iter().map(|(index, _)| index).collect();
        for index in all {
            self.unsettled.push(index);
            let connection = &mut self.connections[index];
            match &mut connection.state {
                State::Idle(_) => self.end_session(index, Some(shutting_down())),
                State::Running(_) => {
                    connection.port.borrow_mut().begin_stop();
                    if mode == StopMode::AtOnce
                        && let Some(interrupt) = &connection.interrupt
                    {
                        interrupt.raise(InterruptKind::Terminate);
                    }
                }
                // A connection without a session will be refused one.
                State::Starting | State::Authenticating(_) | State::Closing => {}
            }
        }
    }

    /// Closes connections without a session: nobody is left to answer what they send.
    pub(super) fn begin_leaving(&mut self) {
        self.admit();
        self.is_leaving = true;
        for (index, connection) in &mut self.connections {
            if matches!(connection.state, State::Starting | State::Authenticating(_)) {
                connection.state = State::Closing;
                self.unsettled.push(index);
            }
        }
    }
}
