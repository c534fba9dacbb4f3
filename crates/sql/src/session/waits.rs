//! What sessions wait for, as `pg_stat_activity` and those who serve figures tell it.

use base::OwnerId;
use engine::{LockMode, LockTag};
use rustc_hash::FxHashMap;
use std::sync::Arc;
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

    /// Whether there are sessions, and each of them waits for a lock or for a snapshot: for other transactions.
    pub fn all_sessions_wait_for_transactions(&self) -> bool {
        let (sessions, waits) = (self.sessions(), self.waits());
        let waits_for_transactions =
            |info: &Arc<SessionInfo>| waits.of(info).is_some_and(|wait| wait.kind == "Lock" || wait == SAFE_SNAPSHOT);
        !sessions.is_empty() && sessions.iter().all(waits_for_transactions)
    }
}

/// A deferrable transaction waits until no other can disturb it.
const SAFE_SNAPSHOT: SessionWait = SessionWait { kind: "IPC", event: "SafeSnapshot" };

impl SessionWaits<'_> {
    /// What this session waits for; nothing, if it works.
    pub fn of(&self, info: &SessionInfo) -> Option<SessionWait> {
        let wait = |kind, event| Some(SessionWait { kind, event });
        let activity = info.activity();
        // Only who runs a statement takes a snapshot; the others need not disturb those who commit by asking.
        let ssi = self.instance.database().transactions().ssi();
        if activity == Activity::Active && !ssi.safe_snapshot_blockers(info.owner()).is_empty() {
            return Some(SAFE_SNAPSHOT);
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
