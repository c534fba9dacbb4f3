//! What sessions wait for, as `pg_stat_activity` and those who serve figures tell it.

use base::OwnerId;
use engine::{LockMode, LockTag};
use rustc_hash::FxHashMap;
use std::time::Instant;

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

impl Instance {
    /// What sessions wait for now.
    pub fn waits(&self) -> SessionWaits<'_> {
        SessionWaits { instance: self, locks: self.database().locks().waits() }
    }
}

impl SessionWaits<'_> {
    /// What this session waits for; nothing, if it works.
    pub fn of(&self, info: &SessionInfo) -> Option<SessionWait> {
        let wait = |kind, event| Some(SessionWait { kind, event });
        let activity = info.activity();
        // Only who runs a statement takes a snapshot; the others need not disturb those who commit by asking.
        let ssi = self.instance.database().transactions().ssi();
        if activity == Activity::Active && !ssi.safe_snapshot_blockers(info.owner()).is_empty() {
            return wait("IPC", "SafeSnapshot");
        }
        if let Some(event) = info.wait_report.event() {
            return wait(event.kind(), event.name());
        }
        match self.locks.get(&info.owner()) {
            Some((tag, ..)) => wait("Lock", tag.kind()),
            None if activity == Activity::Active => None,
            None => wait("Client", "ClientRead"),
        }
    }
}
