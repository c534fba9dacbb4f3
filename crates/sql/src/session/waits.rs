//! What sessions wait for, as `pg_stat_activity` and those who serve figures tell it.

use base::OwnerId;
use engine::{LockMode, LockTag};
use rustc_hash::FxHashMap;
use std::time::{Duration, Instant};

use super::{Activity, Instance, SessionInfo};

/// A wait, by the words of `pg_stat_activity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionWait {
    /// `wait_event_type`
    pub kind: &'static str,
    /// `wait_event`
    pub event: &'static str,
}

/// What sessions wait for at one moment.
pub struct SessionWaits<'i> {
    instance: &'i Instance,
    locks: FxHashMap<OwnerId, (LockTag, LockMode, Instant)>,
}

/// The kind of waits for locks.
const LOCK: &str = "Lock";
/// A wait of so long is not for a deadlock to be found, however large `deadlock_timeout` is.
const DEADLOCK_PATIENCE: Duration = Duration::from_secs(10);
/// The wait of a deferrable transaction for a safe snapshot.
const SAFE_SNAPSHOT: SessionWait = SessionWait { kind: "IPC", event: "SafeSnapshot" };

impl Instance {
    /// What sessions wait for now.
    pub fn waits(&self) -> SessionWaits<'_> {
        SessionWaits { instance: self, locks: self.database().locks().waits() }
    }

    /// The number of sessions, if there are prepared transactions, and each session waits for a lock or a safe snapshot without any
    /// time limit.
    pub fn sessions_stuck_on_prepared_transactions(&self) -> Option<usize> {
        if self.database().transactions().prepared_transactions().is_empty() || self.armed_time_limits() > 0 {
            return None;
        }
        let (sessions, waits) = (self.sessions(), self.waits());
        let endless = self.database().locks().endless_waiters(DEADLOCK_PATIENCE);
        let is_stuck = |session: &SessionInfo| match waits.of(session) {
            Some(wait) => wait == SAFE_SNAPSHOT || wait.kind == LOCK && endless.contains(&session.owner()),
            None => false,
        };
        (!sessions.is_empty() && sessions.iter().all(|session| is_stuck(session))).then_some(sessions.len())
    }
}

impl SessionWaits<'_> {
    /// What this session waits for; nothing, if it works.
    pub fn of(&self, info: &SessionInfo) -> Option<SessionWait> {
        let wait = |kind, event| Some(SessionWait { kind, event });
        let activity = info.activity();
        // Only active sessions wait for snapshots. The question takes a lock that commits need, so it is not asked for idle ones.
        let ssi = self.instance.database().transactions().ssi();
        if activity == Activity::Active && !ssi.safe_snapshot_blockers(info.owner()).is_empty() {
            return Some(SAFE_SNAPSHOT);
        }
        if let Some(event) = info.wait_report.event() {
            return wait(event.kind(), event.name());
        }
        match self.locks.get(&info.owner()) {
            Some((tag, ..)) => wait(LOCK, tag.kind()),
            None if activity == Activity::Active => None,
            None => wait("Client", "ClientRead"),
        }
    }
}
