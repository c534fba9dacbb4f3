//! The part of the SQL side that all sessions of a database share: the list of sessions, plans, timers, notifications. `Instance::new` and
//! `connect` are in `session::connect`, since they need the modules above.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use base::report::Reporter;
use base::{Error, Oid, OwnerId, Result, missing, sqlstate};
use engine::Database;
use rustc_hash::FxHashMap;
use schema::catalog::{DatabaseDef, RoleDef};
use sync::{InterruptKind, Mutex, Timers};
use types::datetime;

use super::callbacks::Callbacks;
use super::counted::Counted;
use super::notify::Channels;
use super::plan_cache::PlanCache;
use super::session_info::{Activity, SessionInfo};
use super::session_state::SessionState;
use super::{settings, temporary};
use executor::Helpers;

/// See the module.
pub struct Instance {
    database: Database,
    pub(crate) callbacks: &'static Callbacks,
    pub(crate) plans: PlanCache,
    pub(crate) timers: Timers,
    /// The channels of each database that a session has been in. A leaf; held for a look-up.
    channels: Mutex<FxHashMap<Oid, Arc<Channels>>>,
    pub(crate) helpers: Arc<Helpers>,
    /// Guards the connected sessions. A leaf; held for a look-up or a copy.
    sessions: Mutex<Sessions>,
    pub(crate) next_pid: AtomicI32,
    next_number: AtomicU32,
    /// Numbers of sessions that are gone. A leaf.
    free_numbers: Mutex<Vec<u32>>,
    pub(crate) started_at: i64,
    /// Makes salts for users that have no password.
    pub(crate) mock_seed: u64,
    /// Since when statistics count.
    pub(crate) counted: Counted,
    /// Reads the configuration file again; the program that serves sets it.
    pub(crate) reload: Mutex<Option<Arc<dyn Fn() -> bool + Send + Sync>>>,
    /// Keeps a setting beside the configuration file; the program that serves sets it. Held while it does.
    setting_keeper: Mutex<Option<Box<SettingKeeper>>>,
    /// Writes the server's log; the program that serves sets it.
    pub(crate) reporter: OnceLock<Arc<dyn Reporter>>,
}

/// The connected sessions.
#[derive(Default)]
struct Sessions {
    by_pid: FxHashMap<i32, Arc<SessionInfo>>,
    /// The databases that let nobody in at the moment.
    closed: Vec<Oid>,
}

/// A database that lets no new sessions in.
pub(crate) struct ClosedDatabase {
    instance: Arc<Instance>,
    oid: Oid,
}

impl ClosedDatabase {
    /// Its number.
    pub(crate) fn oid(&self) -> Oid {
        self.oid
    }

    /// The sessions that are in it.
    pub(crate) fn sessions(&self) -> Vec<Arc<SessionInfo>> {
        let sessions = self.instance.sessions.lock();
        sessions.by_pid.values().filter(|info| info.database_oid == self.oid).cloned().collect()
    }
}

impl Drop for ClosedDatabase {
    fn drop(&mut self) {
        let mut sessions = self.instance.sessions.lock();
        if let Some(place) = sessions.closed.iter().position(|oid| *oid == self.oid) {
            sessions.closed.swap_remove(place);
        }
    }
}

/// 55000
pub(crate) fn refuses_connections(database: &DatabaseDef) -> Error {
    let message = format!("database \"{}\" is not currently accepting connections", database.name);
    Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message).fatal()
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
    pub(crate) fn with_callbacks(database: Database, callbacks: &'static Callbacks) -> Arc<Instance> {
        // A file that can't be removed now is removed when its name is used again.
        let _ = temporary::remove_leftovers(&database);
        let started_at = datetime::clock_micros();
        Arc::new(Instance {
            database,
            callbacks,
            plans: PlanCache::default(),
            timers: Timers::default(),
            channels: Mutex::default(),
            helpers: Arc::default(),
            sessions: Mutex::default(),
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
    pub(crate) fn armed_time_limits(&self) -> usize {
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

    /// 53300 for a role that has as many sessions as it may have.
    pub(crate) fn check_connection_limit(&self, role: &RoleDef) -> Result<()> {
        if role.superuser || role.connection_limit < 0 {
            return Ok(());
        }
        let count = self.sessions.lock().by_pid.values().filter(|session| session.role == role.oid).count();
        if count < role.connection_limit as usize {
            return Ok(());
        }
        let message = format!("too many connections for role \"{}\"", role.name);
        Err(Error::new(sqlstate::TOO_MANY_CONNECTIONS, message).fatal())
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
        self.sessions.lock().by_pid.get(&pid).cloned()
    }

    /// The session the engine calls `owner`.
    pub fn session_of(&self, owner: OwnerId) -> Option<Arc<SessionInfo>> {
        self.sessions.lock().by_pid.values().find(|info| info.owner() == owner).cloned()
    }

    /// All connected sessions.
    pub fn sessions(&self) -> Vec<Arc<SessionInfo>> {
        let mut all: Vec<_> = self.sessions.lock().by_pid.values().cloned().collect();
        all.sort_by_key(|info| info.pid);
        all
    }

    /// The channels of a database. Other databases do not hear what is sent there.
    pub(crate) fn channels_of(&self, database: Oid) -> Arc<Channels> {
        Arc::clone(self.channels.lock().entry(database).or_default())
    }

    /// Adds a session to the connected ones.
    ///
    /// # Errors
    /// 3D000 if its database is gone by now, or has another name; 55000 if the database lets nobody in; 53300 if it has as many sessions as
    /// it may have.
    pub(crate) fn add_session(&self, info: &Arc<SessionInfo>) -> Result<()> {
        let is_closed = {
            let mut sessions = self.sessions.lock();
            sessions.by_pid.insert(info.pid, Arc::clone(info));
            sessions.closed.contains(&info.database_oid)
        };
        // A change that closes the database from here on sees the session. One that has closed it before is seen above, or has ended.
        let checked = self.check_database(info, is_closed);
        if checked.is_err() {
            self.disconnect(info.pid);
        }
        checked
    }

    fn check_database(&self, info: &SessionInfo, is_closed: bool) -> Result<()> {
        let catalogs = self.database.catalogs();
        let found = catalogs.of(Oid::INVALID).database_def(info.database_oid);
        let database = found.filter(|def| def.name == info.database);
        let database = database.ok_or_else(|| missing::database(&info.database).fatal())?;
        if is_closed || !database.allows_connections {
            return Err(refuses_connections(database));
        }
        if info.was_superuser || database.connection_limit < 0 {
            return Ok(());
        }
        let sessions = self.sessions.lock();
        let count = sessions.by_pid.values().filter(|other| other.database_oid == database.oid).count();
        if count > database.connection_limit as usize {
            let message = format!("too many connections for database \"{}\"", database.name);
            return Err(Error::new(sqlstate::TOO_MANY_CONNECTIONS, message).fatal());
        }
        Ok(())
    }

    /// Lets no new sessions into a database until the returned guard is dropped.
    pub(crate) fn close_database(self: &Arc<Self>, oid: Oid) -> Arc<ClosedDatabase> {
        self.sessions.lock().closed.push(oid);
        Arc::new(ClosedDatabase { instance: Arc::clone(self), oid })
    }

    pub(crate) fn disconnect(&self, pid: i32) {
        let gone = self.sessions.lock().by_pid.remove(&pid);
        if let Some(info) = gone {
            if let Some(channels) = self.channels.lock().get(&info.database_oid) {
                channels.forget(pid);
            }
            self.free_numbers.lock().push(info.number);
        }
    }

    pub(crate) fn take_number(&self) -> u32 {
        let free = self.free_numbers.lock().pop();
        free.unwrap_or_else(|| self.next_number.fetch_add(1, Ordering::Relaxed))
    }
}

/// Every setting a client is told of, as it starts.
pub(crate) fn reported(state: &SessionState) -> Vec<(&'static str, String)> {
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
