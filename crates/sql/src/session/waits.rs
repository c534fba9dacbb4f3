//! What sessions wait for, as `pg_stat_activity` and those who serve figures tell it.

use base::OwnerId;
use engine::{LockMode, LockTag};
use rustc_hash::{FxHashMap, FxHashSet};
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
    /// time limit. [`Instance::all_wait_for_prepared_transactions`] tells whether they wait for those.
    pub fn sessions_stuck_beside_prepared_transactions(&self) -> Option<usize> {
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

    /// Whether each session waits for a prepared transaction, or for a session that does: one owner that never goes on is enough to
    /// keep a session waiting. Sessions that wait for each other, or for the background vacuum, go on by themselves.
    ///
    /// It freezes the table of locks, and looks at each pair of sessions that wait for one lock.
    pub fn all_wait_for_prepared_transactions(&self) -> bool {
        let database = self.database();
        let ssi = database.transactions().ssi();
        let prepared = database.transactions().prepared_transactions();
        let mut never_ending: FxHashSet<OwnerId> = prepared.iter().map(|prepared| prepared.owner).collect();
        let owners: Vec<OwnerId> = self.sessions().iter().map(|session| session.owner()).collect();
        let mut blockers = database.locks().blocking_owners_of(&owners);
        for owner in &owners {
            blockers.entry(*owner).or_default().extend(ssi.safe_snapshot_blockers(*owner));
        }
        let mut count = 0;
        while count < never_ending.len() {
            count = never_ending.len();
            let is_kept = |(owner, blockers): (&OwnerId, &Vec<OwnerId>)| {
                blockers.iter().any(|blocker| never_ending.contains(blocker)).then_some(*owner)
            };
            let kept: Vec<OwnerId> = blockers.iter().filter_map(is_kept).collect();
            never_ending.extend(kept);
        }
        owners.iter().all(|owner| never_ending.contains(owner))
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
