//! The request of a new session, and the facts of a session that other sessions may read.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, Ordering};

use base::report::Identity;
use base::{Oid, OwnerId};
use schema::catalog::RoleDef;
use sync::{Interrupt, Mutex, WaitReport};
use types::datetime::clock_micros;

use super::tcp::TcpTimes;

/// The request of a new connection.
#[derive(Clone, Debug, Default)]
pub struct ConnectRequest {
    /// The user.
    pub user: String,
    /// The database.
    pub database: String,
    /// Settings for the session.
    pub settings: Vec<(String, String)>,
    /// The client's address; none for a Unix socket or an embedded session.
    pub peer: Option<SocketAddr>,
    /// The server's address that the client has connected to; none likewise.
    pub local: Option<SocketAddr>,
    /// Version and cipher suite of its encryption.
    pub encryption: Option<(&'static str, &'static str)>,
    /// The system's own times for its TCP connection; none for a Unix socket.
    pub tcp: Option<TcpTimes>,
    /// Its identity in the log, if it has been mentioned there; a new one is made otherwise.
    pub identity: Option<Arc<Identity>>,
}

/// The facts of a session that other sessions may read.
pub struct SessionInfo {
    /// Its number, as `pg_backend_pid()` gives it.
    pub pid: i32,
    /// A client that sends this number may cancel it.
    pub secret: i32,
    /// The number of the role that connected: its name may come to be another role's.
    pub role: Oid,
    /// The role's name at that time.
    pub user: String,
    /// The name of the database that it is connected to.
    pub database: String,
    /// The number of that database.
    pub database_oid: Oid,
    /// Whether it was a superuser then: it may become anybody by SET SESSION AUTHORIZATION, as in PostgreSQL 15.
    pub was_superuser: bool,
    /// The client's address; none for a Unix socket or an embedded session.
    pub peer: Option<SocketAddr>,
    /// The server's address that the client has connected to; none for a Unix socket or an embedded session.
    pub local: Option<SocketAddr>,
    /// Version and cipher suite of its encryption.
    pub encryption: Option<(&'static str, &'static str)>,
    /// The system's own times for its TCP connection; none for a Unix socket or an embedded session.
    pub tcp: Option<TcpTimes>,
    /// The engine's name for the session.
    owner: AtomicU32,
    /// A number that no other session has that is connected now.
    pub number: u32,
    /// Interrupts it: others raise it, and its statements look at it.
    pub interrupt: Arc<Interrupt>,
    /// Its identity in the log.
    pub identity: Arc<Identity>,
    /// Its present wait deep in the engine.
    pub wait_report: Arc<WaitReport>,
    /// When it connected; microseconds since 2000-01-01 UTC.
    pub started_at: i64,
    /// When its transaction began, or 0.
    pub transaction_start: AtomicI64,
    /// When its statement began.
    pub statement_start: AtomicI64,
    /// When its state last changed.
    pub state_change: AtomicI64,
    /// Its [`Activity`].
    activity: AtomicI32,
    /// The beginning of the text that it runs or ran last. A leaf.
    query: Mutex<Arc<str>>,
    /// At most this many bytes of the text are kept. `track_activity_query_size` counts one more, as in PostgreSQL.
    query_bytes_max: usize,
    /// The client's name for itself. A leaf.
    application_name: Mutex<Arc<str>>,
}

/// The present activity of a session, as in `pg_stat_activity.state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Waits for its client, outside a transaction.
    Idle = 0,
    /// Runs a statement.
    Active = 1,
    /// Waits for its client in a transaction.
    IdleInTransaction = 2,
    /// Waits for its client in a failed transaction.
    IdleInFailedTransaction = 3,
}

impl Activity {
    /// The words of `pg_stat_activity.state`.
    pub fn name(self) -> &'static str {
        match self {
            Activity::Idle => "idle",
            Activity::Active => "active",
            Activity::IdleInTransaction => "idle in transaction",
            Activity::IdleInFailedTransaction => "idle in transaction (aborted)",
        }
    }
}

impl SessionInfo {
    /// Those of the session that `request` asks for, as `role`.
    pub(crate) fn new(
        request: ConnectRequest,
        identity: Arc<Identity>,
        role: &RoleDef,
        number: u32,
        engine: &engine::Session,
        query_bytes_max: usize,
    ) -> SessionInfo {
        let now = clock_micros();
        SessionInfo {
            pid: identity.pid,
            identity,
            secret: rand::random(),
            was_superuser: role.superuser,
            role: role.oid,
            user: request.user,
            database: request.database,
            database_oid: engine.database_oid(),
            peer: request.peer,
            local: request.local,
            encryption: request.encryption,
            tcp: request.tcp,
            owner: AtomicU32::new(engine.owner().0),
            number,
            interrupt: Arc::clone(engine.interrupt()),
            wait_report: Arc::clone(engine.wait_report()),
            started_at: now,
            transaction_start: AtomicI64::new(0),
            statement_start: AtomicI64::new(0),
            state_change: AtomicI64::new(now),
            activity: AtomicI32::new(Activity::Idle as i32),
            query: Mutex::new(Arc::from("")),
            query_bytes_max,
            application_name: Mutex::new(Arc::from("")),
        }
    }

    /// The number by which locks and views know the session. PREPARE TRANSACTION gives it a new one.
    pub fn owner(&self) -> OwnerId {
        OwnerId(self.owner.load(Ordering::Relaxed))
    }

    pub(crate) fn set_owner(&self, owner: OwnerId) {
        self.owner.store(owner.0, Ordering::Relaxed);
    }

    /// Its present activity.
    pub fn activity(&self) -> Activity {
        match self.activity.load(Ordering::Relaxed) {
            1 => Activity::Active,
            2 => Activity::IdleInTransaction,
            3 => Activity::IdleInFailedTransaction,
            _ => Activity::Idle,
        }
    }

    pub(crate) fn set_activity(&self, activity: Activity) {
        self.activity.store(activity as i32, Ordering::Relaxed);
    }

    /// The beginning of the text that it runs or ran last.
    pub fn query(&self) -> Arc<str> {
        Arc::clone(&self.query.lock())
    }

    /// Keeps the beginning of the text that it runs; a text that is short enough and shared already is not copied.
    pub(crate) fn set_query(&self, text: &str, shared: Option<&Arc<str>>) {
        let kept = &text[..text.floor_char_boundary(self.query_bytes_max)];
        let mut current = self.query.lock();
        match shared {
            Some(shared) if kept.len() == text.len() => {
                if !Arc::ptr_eq(&current, shared) {
                    *current = Arc::clone(shared);
                }
            }
            _ => *current = Arc::from(kept),
        }
    }

    /// Whether [`SessionInfo::query`] has all of such a text.
    pub(crate) fn keeps_all_of(&self, text: &str) -> bool {
        text.len() <= self.query_bytes_max
    }

    /// The client's name for itself.
    pub fn application_name(&self) -> Arc<str> {
        Arc::clone(&self.application_name.lock())
    }

    pub(crate) fn set_application_name(&self, name: &str) {
        *self.application_name.lock() = Arc::from(name);
    }
}
