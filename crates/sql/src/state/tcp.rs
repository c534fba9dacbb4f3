//! The settings of a connection over TCP: how long it may be silent, and when it counts as lost.

use base::settings::{Id, SessionSettings};

use super::session_state::SessionState;

/// The timeouts that the operating system applies to a TCP connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpTimes {
    /// Seconds of silence before the system asks by a keepalive whether the peer is still there: `tcp_keepalives_idle`.
    pub idle_seconds: u32,
    /// Seconds between two keepalives that are not answered: `tcp_keepalives_interval`.
    pub interval_seconds: u32,
    /// How many keepalives may stay unanswered: `tcp_keepalives_count`.
    pub count: u32,
    /// Milliseconds for which sent data may stay unacknowledged: `tcp_user_timeout`.
    pub user_timeout_ms: u32,
}

/// The most that Linux takes for the two times of keepalives, in seconds.
const KEEPALIVE_SECONDS_MAX: u32 = 32_767;
/// The most unanswered keepalives that Linux takes.
const KEEPALIVES_MAX: u32 = 127;

impl TcpTimes {
    /// As the session's settings ask for them; 0 for the system's own.
    pub(crate) fn wanted(settings: &SessionSettings) -> TcpTimes {
        let number = |id: Id| settings.get(id).as_integer().map_or(0, |number| number as u32);
        TcpTimes {
            idle_seconds: number(Id::TcpKeepalivesIdle),
            interval_seconds: number(Id::TcpKeepalivesInterval),
            count: number(Id::TcpKeepalivesCount),
            user_timeout_ms: number(Id::TcpUserTimeout),
        }
    }

    /// Returns the values that the system applies when `self` is asked for. A value of 0 gives the system's `own` value. A value that the
    /// system does not accept leaves the value from `before`.
    pub(crate) fn taken(self, before: TcpTimes, own: TcpTimes) -> TcpTimes {
        let choose = |wanted: u32, before: u32, own: u32, maximum: u32| match wanted {
            0 => own,
            wanted if wanted <= maximum => wanted,
            _ => before,
        };
        TcpTimes {
            idle_seconds: choose(self.idle_seconds, before.idle_seconds, own.idle_seconds, KEEPALIVE_SECONDS_MAX),
            interval_seconds: choose(
                self.interval_seconds,
                before.interval_seconds,
                own.interval_seconds,
                KEEPALIVE_SECONDS_MAX,
            ),
            count: choose(self.count, before.count, own.count, KEEPALIVES_MAX),
            user_timeout_ms: choose(self.user_timeout_ms, before.user_timeout_ms, own.user_timeout_ms, u32::MAX),
        }
    }
}

/// The text of one of these settings, which tells what the system does. Without TCP it is 0.
pub(crate) fn shown(state: &SessionState, id: Id) -> String {
    let times = state.tcp_times().unwrap_or_default();
    let number = match id {
        Id::TcpKeepalivesIdle => times.idle_seconds,
        Id::TcpKeepalivesInterval => times.interval_seconds,
        Id::TcpKeepalivesCount => times.count,
        _ => times.user_timeout_ms,
    };
    number.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_does_not_take_changes_nothing() {
        let own = TcpTimes { idle_seconds: 7200, interval_seconds: 75, count: 9, user_timeout_ms: 0 };
        let before = TcpTimes { idle_seconds: 5, ..own };
        let wanted = TcpTimes { idle_seconds: 40_000, interval_seconds: 0, count: 128, user_timeout_ms: 3 };
        assert_eq!(wanted.taken(before, own), TcpTimes { user_timeout_ms: 3, ..before });
        assert_eq!(TcpTimes::default().taken(before, own), own);
    }
}
