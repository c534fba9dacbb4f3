//! The part of the SQL side that all sessions of a database share: the list of sessions, plans, timers, notifications.

use std::hash::{Hash as _, Hasher as _};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use base::access::{AccessRules, Attempt, Demand};
use base::report::{Identity, Reporter};
use base::settings::{Id, SessionSettings};
use base::{Error, Oid, OwnerId, Result, sqlstate};
use engine::Database;
use pgwire::api::auth::sasl::scram::ScramSecret;
use plan::privileges::{Privileges, Subject, is_member};
use rustc_hash::FxHashMap;
use schema::catalog::{DATABASE_OID, RoleDef};
use sync::{Interrupt, InterruptKind, Mutex, Timers, WaitReport};
use types::datetime;

use super::counted::Counted;
use super::notify::Channels;
use super::plan_cache::PlanCache;
use super::state::SessionState;
use super::tcp::TcpTimes;
use super::{SqlSession, settings};
use crate::{password, session_defaults};
use executor::Helpers;

/// The database every connection is to.
const DATABASE: &str = "postgres";

/// See the module.
pub struct Instance {
    database: Database,
    pub(crate) plans: PlanCache,
    pub(crate) timers: Timers,
    pub(crate) channels: Channels,
    pub(crate) helpers: Arc<Helpers>,
    /// Guards the connected sessions by pid. A leaf; held for a look-up or a copy.
    sessions: Mutex<FxHashMap<i32, Arc<SessionInfo>>>,
    pub(super) next_pid: AtomicI32,
    next_number: AtomicU32,
    /// Numbers of sessions that are gone. A leaf.
    free_numbers: Mutex<Vec<u32>>,
    pub(crate) started_at: i64,
    /// Makes salts for users that have no password.
    mock_seed: u64,
    /// Since when statistics count.
    pub(crate) counted: Counted,
    /// Reads the configuration file again; the program that serves sets it.
    pub(crate) reload: Mutex<Option<Arc<dyn Fn() -> bool + Send + Sync>>>,
    /// Keeps a setting beside the configuration file; the program that serves sets it. Held while it does.
    setting_keeper: Mutex<Option<Box<SettingKeeper>>>,
    /// Writes the server's log; the program that serves sets it.
    pub(super) reporter: OnceLock<Arc<dyn Reporter>>,
}

/// The argument of [`Instance::set_setting_keeper`].
pub type SettingKeeper = dyn Fn(KeptSetting<'_>) -> Result<()> + Send + Sync;

/// A request of ALTER SYSTEM.
#[derive(Clone, Copy, Debug)]
pub enum KeptSetting<'s> {
    /// This setting has this value from the next reload on.
    Set(&'s str, &'s str),
    /// The value in the configuration file counts again.
    Reset(&'s str),
    /// The values in the configuration file count again, for all settings.
    ResetAll,
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
    /// To which database.
    pub database: String,
    /// Whether it was a superuser then: it may become anybody by SET SESSION AUTHORIZATION, as in PostgreSQL 15.
    pub was_superuser: bool,
    /// Where from; none for a Unix socket or an embedded session.
    pub peer: Option<SocketAddr>,
    /// Which address of the server's it came to; none likewise.
    pub local: Option<SocketAddr>,
    /// Version and cipher suite of its encryption.
    pub encryption: Option<(&'static str, &'static str)>,
    /// The system's own times for its TCP connection; none likewise.
    pub tcp: Option<TcpTimes>,
    /// The engine's name for the session.
    owner: AtomicU32,
    /// A number that no other session has that is connected now.
    pub number: u32,
    /// How it is interrupted.
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
    /// So much is kept of it: `track_activity_query_size` counts a byte at the end, as PostgreSQL does.
    query_bytes_max: usize,
    /// A leaf.
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
    /// By what number locks and views know it. Another one after each PREPARE TRANSACTION.
    pub fn owner(&self) -> OwnerId {
        OwnerId(self.owner.load(Ordering::Relaxed))
    }

    pub(super) fn set_owner(&self, owner: OwnerId) {
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

    pub(super) fn set_activity(&self, activity: Activity) {
        self.activity.store(activity as i32, Ordering::Relaxed);
    }

    /// The beginning of the text that it runs or ran last.
    pub fn query(&self) -> Arc<str> {
        Arc::clone(&self.query.lock())
    }

    /// Keeps the beginning of the text that it runs; a text that is short enough and shared already is not copied.
    pub(super) fn set_query(&self, text: &str, shared: Option<&Arc<str>>) {
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
    pub(super) fn keeps_all_of(&self, text: &str) -> bool {
        text.len() <= self.query_bytes_max
    }

    /// The client's name for itself.
    pub fn application_name(&self) -> Arc<str> {
        Arc::clone(&self.application_name.lock())
    }

    pub(super) fn set_application_name(&self, name: &str) {
        *self.application_name.lock() = Arc::from(name);
    }
}

/// The request of a new connection.
#[derive(Clone, Debug, Default)]
pub struct ConnectRequest {
    /// The user.
    pub user: String,
    /// The database.
    pub database: String,
    /// Settings for the session.
    pub settings: Vec<(String, String)>,
    /// Where it comes from.
    pub peer: Option<SocketAddr>,
    /// Which address of the server's it came to.
    pub local: Option<SocketAddr>,
    /// Version and cipher suite of its encryption.
    pub encryption: Option<(&'static str, &'static str)>,
    /// The system's own times for its TCP connection; none for a Unix socket.
    pub tcp: Option<TcpTimes>,
    /// Its identity in the log, if it has been mentioned there; a new one is made otherwise.
    pub identity: Option<Arc<Identity>>,
}

impl Instance {
    /// The time; microseconds since 2000-01-01 UTC.
    pub fn clock(&self) -> i64 {
        datetime::clock_micros()
    }

    /// The number of the next connection.
    pub fn next_pid(&self) -> i32 {
        self.next_pid.fetch_add(1, Ordering::Relaxed) & 0x7FFF_FFFF
    }

    /// The SQL side of `database`.
    pub fn new(database: Database) -> Arc<Instance> {
        // A file that can't be removed now is removed when its name is used again.
        let _ = crate::commands::temporary::remove_leftovers(&database);
        let started_at = datetime::clock_micros();
        Arc::new(Instance {
            database,
            plans: PlanCache::default(),
            timers: Timers::default(),
            channels: Channels::default(),
            helpers: Arc::default(),
            sessions: Mutex::new(FxHashMap::default()),
            next_pid: AtomicI32::new(std::process::id() as i32 & 0x000F_FFFF | 1),
            next_number: AtomicU32::new(0),
            free_numbers: Mutex::default(),
            started_at,
            mock_seed: rand::random(),
            counted: Counted::new(started_at),
            reload: Mutex::new(None),
            setting_keeper: Mutex::new(None),
            reporter: OnceLock::new(),
        })
    }

    /// How many time limits there are of statements and transactions that are running: at most two for each session.
    pub fn time_limits(&self) -> usize {
        self.timers.entry_count()
    }

    /// How many time limits of statements and transactions there are that will end something.
    pub(super) fn armed_time_limits(&self) -> usize {
        self.timers.armed_count()
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Sets the action of `pg_reload_conf()`, which returns true if the file was read.
    pub fn set_reload(&self, reload: Arc<dyn Fn() -> bool + Send + Sync>) {
        *self.reload.lock() = Some(reload);
    }

    /// Sets the action of ALTER SYSTEM.
    pub fn set_setting_keeper(&self, keeper: Box<SettingKeeper>) {
        *self.setting_keeper.lock() = Some(keeper);
    }

    /// Keeps a setting beside the configuration file: one session at a time.
    ///
    /// # Errors
    /// 0A000 where nothing is configured by a file; what writing one fails with.
    pub(crate) fn keep_setting(&self, setting: KeptSetting<'_>) -> Result<()> {
        match &*self.setting_keeper.lock() {
            Some(keep) => keep(setting),
            None => Err(Error::unsupported("ALTER SYSTEM is not supported where there is no configuration file")),
        }
    }

    /// Opens a session.
    ///
    /// # Errors
    /// 28000 for an unknown role, 3D000 for an unknown database, 53300 when there are too many; errors of settings.
    pub fn connect(self: &Arc<Self>, request: ConnectRequest) -> Result<SqlSession> {
        let catalog = self.database.catalog();
        let refused = |what: &str| {
            let message = format!("role \"{}\" {what}", request.user);
            Error::new(sqlstate::INVALID_AUTHORIZATION_SPECIFICATION, message).fatal()
        };
        let role = catalog.role_by_name(&request.user).ok_or_else(|| refused("does not exist"))?;
        if !role.login {
            return Err(refused("is not permitted to log in"));
        }
        self.check_connection_limit(role)?;
        if request.database != DATABASE {
            let message = format!("database \"{}\" does not exist", request.database);
            return Err(Error::new(sqlstate::INVALID_CATALOG_NAME, message).fatal());
        }
        if let Some(database) = Subject::find(&catalog, DATABASE_OID)
            && !database.privileges_of(&catalog, role.oid).contains(Privileges::CONNECT)
        {
            return Err(database.connection_denied().fatal());
        }
        let mut session_settings = SessionSettings::new(Arc::clone(self.database.settings()));
        session_settings.set_at_session_start("session_authorization", &request.user, true).map_err(Error::fatal)?;
        let engine = self.database.session().map_err(Error::fatal)?;
        engine.interrupt().keep_until_cleared();
        let now = datetime::clock_micros();
        let query_size = session_settings.get(Id::TrackActivityQuerySize).as_integer();
        let query_bytes_max = query_size.map_or(0, |bytes| bytes as usize).saturating_sub(1);
        let identity = request.identity.unwrap_or_else(|| Arc::new(Identity::new(self.next_pid(), now, request.peer)));
        let info = Arc::new(SessionInfo {
            pid: identity.pid,
            identity,
            secret: rand::random(),
            was_superuser: role.superuser,
            role: role.oid,
            user: request.user,
            database: request.database,
            peer: request.peer,
            local: request.local,
            encryption: request.encryption,
            tcp: request.tcp,
            owner: AtomicU32::new(engine.owner().0),
            number: self.take_number(),
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
        });
        // By which a deadlock's description names it.
        self.database.locks().set_process_id(info.owner(), info.pid);
        let state =
            SessionState::new(Arc::clone(self), Arc::clone(&info), engine, session_settings).map_err(Error::fatal)?;
        self.sessions.lock().insert(info.pid, Arc::clone(&info));
        let session = SqlSession::new(state);
        let state = session.state();
        for (name, value) in session_defaults::at_session_start(&catalog, role.oid) {
            // The right to keep it was checked when it was kept. A value that is no longer valid is no reason to turn the session away.
            if let Err(error) = settings::set_at_session_start(state, &name, &value, true) {
                state.warnings.add(error);
            }
        }
        for (name, value) in &request.settings {
            // The client may ask for any encoding. It is told that this is UTF-8.
            let value = match name.to_ascii_lowercase().as_str() {
                "client_encoding" if settings::is_encoding(value) => "UTF8",
                "client_encoding" => {
                    let message = format!("invalid value for parameter \"client_encoding\": \"{value}\"");
                    return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message).fatal());
                }
                _ => value,
            };
            settings::set_at_session_start(state, name, value, role.superuser).map_err(Error::fatal)?;
        }
        info.set_application_name(state.setting(Id::ApplicationName).as_text());
        state.follow_settings();
        state.load_libraries()?;
        Ok(session)
    }

    /// 53300 for a role that has as many sessions as it may have.
    fn check_connection_limit(&self, role: &RoleDef) -> Result<()> {
        if role.superuser || role.connection_limit < 0 {
            return Ok(());
        }
        let count = self.sessions.lock().values().filter(|session| session.role == role.oid).count();
        if count < role.connection_limit as usize {
            return Ok(());
        }
        let message = format!("too many connections for role \"{}\"", role.name);
        Err(Error::new(sqlstate::TOO_MANY_CONNECTIONS, message).fatal())
    }

    /// The proof that the rules demand of a client that wants to connect.
    ///
    /// # Errors
    /// 28000 if it may not connect; 22023 for rules that are none, which [`base::settings`] doesn't let through.
    pub fn demand(&self, attempt: &Attempt<'_>) -> Result<Demand> {
        let rules = AccessRules::parse(self.database.settings().get(Id::HbaRules).as_text())?;
        let catalog = self.database.catalog();
        let user = catalog.role_by_name(attempt.user).map(|role| role.oid);
        rules.demand(attempt, |group| {
            let group = catalog.role_by_name(group).map(|role| role.oid);
            user.zip(group).is_some_and(|(user, group)| is_member(&catalog, user, group))
        })
    }

    /// The kept form of the password of `user`; none if there is none, or if it has expired.
    pub fn kept_password(&self, user: &str) -> Option<String> {
        let catalog = self.database.catalog();
        let is_good = |role: &&Arc<RoleDef>| role.valid_until.is_none_or(|until| datetime::clock_micros() < until);
        catalog.role_by_name(user).filter(is_good).and_then(|role| role.password.clone())
    }

    /// The secret that a client must prove to know if it says that it is `user`, and whether the proof lets it in. A user without a
    /// password, or with one that has expired or is kept as an MD5 hash, gets a secret that no password fits.
    pub fn secret_of(&self, user: &str) -> (ScramSecret, bool) {
        match self.kept_password(user).as_deref().and_then(password::secret) {
            Some(secret) => (secret, true),
            None => {
                let mut hasher = rustc_hash::FxHasher::default();
                (self.mock_seed, user).hash(&mut hasher);
                (password::nobodys_secret(hasher.finish()), false)
            }
        }
    }

    /// Why a client that says it is `user` has not been let in after it was asked for a password: for the log only.
    pub fn refusal_of(&self, user: &str) -> String {
        let catalog = self.database.catalog();
        match catalog.role_by_name(user) {
            None => format!("Role \"{user}\" does not exist."),
            Some(role) if role.password.is_none() => format!("User \"{user}\" has no password assigned."),
            Some(role) if role.valid_until.is_some_and(|until| datetime::clock_micros() >= until) => {
                format!("User \"{user}\" has an expired password.")
            }
            Some(_) => format!("Password does not match for user \"{user}\"."),
        }
    }

    /// Cancels what session `pid` does, if `secret` is its secret.
    pub fn cancel(&self, pid: i32, secret: i32) {
        if let Some(info) = self.session(pid)
            && info.secret == secret
            && info.activity() == Activity::Active
        {
            info.interrupt.raise(InterruptKind::Cancel);
        }
    }

    /// A connected session.
    pub fn session(&self, pid: i32) -> Option<Arc<SessionInfo>> {
        self.sessions.lock().get(&pid).cloned()
    }

    /// The session the engine calls `owner`.
    pub fn session_of(&self, owner: OwnerId) -> Option<Arc<SessionInfo>> {
        self.sessions.lock().values().find(|info| info.owner() == owner).cloned()
    }

    /// All connected sessions.
    pub fn sessions(&self) -> Vec<Arc<SessionInfo>> {
        let mut all: Vec<_> = self.sessions.lock().values().cloned().collect();
        all.sort_by_key(|info| info.pid);
        all
    }

    pub(super) fn disconnect(&self, pid: i32) {
        self.channels.forget(pid);
        let gone = self.sessions.lock().remove(&pid);
        if let Some(info) = gone {
            self.free_numbers.lock().push(info.number);
        }
    }

    fn take_number(&self) -> u32 {
        let free = self.free_numbers.lock().pop();
        free.unwrap_or_else(|| self.next_number.fetch_add(1, Ordering::Relaxed))
    }
}

/// Every setting a client is told of, as it starts.
pub(super) fn reported(state: &SessionState) -> Vec<(&'static str, String)> {
    let mut all = settings::reported(state);
    for (name, value) in &mut all {
        match *name {
            "is_superuser" => *value = if state.is_superuser() { "on" } else { "off" }.to_owned(),
            "session_authorization" => value.clone_from(&state.session_role().name),
            _ => {}
        }
    }
    all
}
