//! The waits of sessions, as `pg_stat_activity` and the threads that serve figures tell them.

use base::OwnerId;
use base::lock_mode::LockMode;
use engine::{LockTag, OtherWaits};
use rustc_hash::FxHashMap;
use std::time::{Duration, Instant};

use super::instance::Instance;
use super::session_info::{Activity, SessionInfo};

/// A wait, by the words of `pg_stat_activity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionWait {
    /// `wait_event_type`
    pub kind: &'static str,
    /// `wait_event`
    pub event: &'static str,
}

/// The waits of all sessions at one moment.
pub struct SessionWaits<'i> {
    instance: &'i Instance,
    locks: FxHashMap<OwnerId, (LockTag, LockMode, Instant)>,
}

/// The kind of waits for locks.
const LOCK: &str = "Lock";
/// A wait that has lasted so long counts as one that looks for no deadlock any more, however large `deadlock_timeout` is.
const DEADLOCK_PATIENCE: Duration = Duration::from_secs(10);
/// The wait of a deferrable transaction for a safe snapshot.
const SAFE_SNAPSHOT: SessionWait = SessionWait { kind: "IPC", event: "SafeSnapshot" };

impl Instance {
    /// The waits of this moment.
    pub fn waits(&self) -> SessionWaits<'_> {
        SessionWaits { instance: self, locks: self.database().locks().waits() }
    }

    /// The number of sessions, if each waits for a lock or a safe snapshot, without any time limit. Some of them may go on by themselves all
    /// the same: [`Instance::no_session_goes_on`] follows their waits.
    pub fn sessions_if_all_wait(&self) -> Option<usize> {
        if self.armed_time_limits() > 0 {
            return None;
        }
        let (sessions, waits) = (self.sessions(), self.waits());
        let endless = self.database().locks().endless_waiters(DEADLOCK_PATIENCE);
        let waits_on = |session: &SessionInfo| match waits.of(session) {
            Some(wait) => wait == SAFE_SNAPSHOT || wait.kind == LOCK && endless.contains(&session.owner()),
            None => false,
        };
        (!sessions.is_empty() && sessions.iter().all(|session| waits_on(session))).then_some(sessions.len())
    }

    /// Whether no session goes on unless one is interrupted or a prepared transaction is finished. From each session a chain of
    /// waits leads to a prepared transaction, or to a circle that nobody breaks: one with a wait for a safe snapshot.
    ///
    /// A circle of waits for locks ends when one of its members looks for a deadlock, so its sessions go on. The table of locks is held
    /// still while its waits are copied.
    pub fn no_session_goes_on(&self) -> bool {
        let database = self.database();
        let ssi = database.transactions().ssi();
        let prepared = database.transactions().prepared_transactions();
        let prepared: Vec<OwnerId> = prepared.iter().map(|prepared| prepared.owner).collect();
        let owners: Vec<OwnerId> = self.sessions().iter().map(|session| session.owner()).collect();
        let waits = database.locks().wait_graph();
        let in_or_behind_circles_of_locks = waits.owners_without_end(&[], &OtherWaits::default());
        if in_or_behind_circles_of_locks.iter().any(|owner| waits.will_look_for_deadlock(*owner)) {
            return false;
        }
        let for_snapshots = owners.iter().map(|owner| (*owner, ssi.safe_snapshot_blockers(*owner)));
        let for_snapshots: OtherWaits = for_snapshots.filter(|(_, awaited)| !awaited.is_empty()).collect();
        let without_end = waits.owners_without_end(&prepared, &for_snapshots);
        owners.iter().all(|owner| without_end.contains(owner))
    }
}

impl SessionWaits<'_> {
    /// The wait of this session; none if it works.
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
