//! The part of a session that statements, functions and commands use.
//!
//! One coroutine or thread at a time uses a session. All of its state is reached through a shared
//! reference, so that a function called by a statement can run statements of its own.

use std::any::Any;
use std::cell::{Cell, Ref, RefCell};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use base::settings::SessionSettings;
use base::{Error, Lsn, Oid, Result, sqlstate};
use engine::SavepointId;
use rustc_hash::FxHashMap;
use schema::catalog::SIGNAL_BACKEND_ROLE;
use sync::{InterruptKind, Waiter};

use super::instance::{ClosedDatabase, Instance};
use super::notify::{ChannelChange, Channels, Pending};
use super::open_cursors::OpenCursor;
use super::plan_cache::Planned;
use super::ready_functions::ReadyFunctions;
use super::session_info::SessionInfo;
use super::settings::CachedSettings;
use super::tcp::TcpTimes;
use executor::client::{Client, Severity};
use executor::{ExecutionState, Login, Run, outer_context};

/// See the module.
pub struct SessionState {
    execution: ExecutionState,
    cached: RefCell<CachedSettings>,
    pub(crate) instance: Arc<Instance>,
    pub(crate) info: Arc<SessionInfo>,
    /// Plans this session ran lately, by text and parameter types.
    pub(crate) plans: RefCell<super::plan_cache::Plans>,
    /// Texts it parsed lately.
    pub(crate) trees: RefCell<super::parse_cache::ParseCache>,
    /// The state that the session keeps for the server's log.
    pub(crate) log: super::log::SessionLog,
    /// Warnings that the client has not been told yet.
    pub(crate) warnings: super::warnings::Warnings,
    /// The READ COMMITTED of the transaction in progress was asked for as READ UNCOMMITTED.
    pub(crate) is_read_uncommitted: Cell<bool>,
    /// The transaction in progress has changed the catalog: its plans are its own.
    pub(crate) changed_catalog: Cell<bool>,
    /// Statements of this session are nested so deep that it runs on a further stack, where what it keeps of them also ends.
    pub(crate) nests_deep: Cell<bool>,
    /// Characters of a long query string that stand before the part of it that runs.
    pub(crate) characters_before: Cell<u32>,
    /// `NOTIFY`s of this transaction: channel and payload.
    pub(crate) notifications: RefCell<Pending>,
    /// `LISTEN`s and `UNLISTEN`s of this transaction.
    pub(crate) channel_changes: RefCell<Vec<ChannelChange>>,
    /// A LISTEN of the session has committed.
    pub(crate) has_listened: Cell<bool>,
    /// A part of the transaction that was undone has used something temporary.
    pub(crate) used_temporary: Cell<bool>,
    /// The channels of its database.
    pub(crate) channels: Arc<Channels>,
    /// Databases that let nobody in until the transaction has ended.
    pub(crate) closed_databases: RefCell<Vec<Arc<ClosedDatabase>>>,
    /// Prepared statements by name, for SQL's EXECUTE as for the protocol.
    pub(crate) prepared: RefCell<FxHashMap<String, Arc<super::prepared::Prepared>>>,
    /// The portals of the protocol.
    pub(crate) portals: Arc<super::portal_list::PortalList>,
    /// The open cursors by name.
    pub(crate) cursors: RefCell<FxHashMap<String, OpenCursor>>,
    /// The number of the next cursor to be opened.
    pub(crate) next_cursor: Cell<u64>,
    /// The number of the first cursor that this transaction opened, or will.
    pub(crate) first_cursor: Cell<u64>,
    /// The plans of portals that are suspended, while a utility statement runs.
    pub(crate) suspended: RefCell<Vec<Arc<Planned>>>,
    /// The names of those that a loop is about: they outlive a COMMIT in the loop.
    pub(crate) looped_cursors: RefCell<Vec<String>>,
    /// Loops under way over rows of what is no plain query: a COMMIT in them is refused.
    pub(crate) unholdable_loops: Cell<u32>,
    /// Blocks with EXCEPTION under way.
    pub(crate) subtransactions: Cell<u32>,
    /// Whether what is called next may end the transaction.
    pub(crate) may_end_transaction: Cell<bool>,
    /// The number of the last cursor that was given a name of its own.
    pub(crate) unnamed_cursors: Cell<u32>,
    /// The `ON COMMIT` actions of temporary tables.
    pub(crate) on_commit: RefCell<Vec<(Oid, syntax::tree::OnCommit)>>,
    /// The functions that each language has made ready for this session.
    pub(crate) ready_functions: ReadyFunctions,
}

/// The session that an execution belongs to.
#[inline]
pub fn session_of<'a>(run: &Run<'a, '_>) -> &'a SessionState {
    let host: &'a dyn Any = run.host;
    host.downcast_ref().expect("executions have sessions as their hosts")
}

/// How much was to happen at the commit, and which cursors and snapshots there were, when a subtransaction began.
#[derive(Clone, Copy)]
pub(crate) struct CommitMark {
    notifications: usize,
    channel_changes: usize,
    /// The number of the next cursor.
    pub(crate) next_cursor: u64,
    /// The snapshots in use.
    snapshot_depth: usize,
}

impl SessionState {
    /// Lets nobody into a database until the transaction has ended.
    pub(crate) fn close_database(&self, oid: Oid) -> Arc<ClosedDatabase> {
        let closed = self.instance.close_database(oid);
        self.closed_databases.borrow_mut().push(Arc::clone(&closed));
        closed
    }

    /// 42501 for a role that may not cancel or end the sessions of `target`. A superuser's session is for superusers. Any other is for a role
    /// that has the rights of `target` or of `pg_signal_backend`.
    pub(crate) fn check_signal(&self, target: Oid, kind: InterruptKind) -> Result<()> {
        let is_end = kind == InterruptKind::Terminate;
        let is_superusers = self.engine_catalog().role(target).is_some_and(|role| role.superuser);
        let message = if is_superusers {
            if self.is_superuser() {
                return Ok(());
            }
            let what = if is_end { "terminate superuser process" } else { "cancel superuser query" };
            format!("must be a superuser to {what}")
        } else {
            if self.has_rights_of(target) || self.has_rights_of(SIGNAL_BACKEND_ROLE) {
                return Ok(());
            }
            let what = if is_end { "process is being terminated" } else { "query is being canceled" };
            format!("must be a member of the role whose {what} or member of pg_signal_backend")
        };
        Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message))
    }

    /// Waits without keeping the thread from its other sessions.
    ///
    /// # Errors
    /// 57014 and its kin.
    pub(crate) fn wait_until(&self, deadline: Instant) -> Result<()> {
        Waiter::new().wait(Some(deadline), Some(self.interrupt()));
        self.interrupt().check()
    }

    /// How much is to happen when the transaction commits.
    pub(crate) fn commit_mark(&self) -> CommitMark {
        let notifications = self.notifications.borrow().len();
        let channel_changes = self.channel_changes.borrow().len();
        let (next_cursor, snapshot_depth) = (self.next_cursor.get(), self.engine().snapshot_depth());
        CommitMark { notifications, channel_changes, next_cursor, snapshot_depth }
    }

    /// Undoes the part of the transaction since `savepoint`. The actions that this part has queued for the commit, those after `mark`, are
    /// forgotten. The cursors that it opened end. A statement around it goes on under the snapshots that it had.
    pub(crate) fn rollback_to(&self, savepoint: SavepointId, mark: CommitMark) -> Result<()> {
        self.end_cursors_from(mark.next_cursor);
        // Its locks, by which this could be seen, go.
        if super::temporary::was_used(self) {
            self.used_temporary.set(true);
        }
        self.engine().rollback_within(savepoint, mark.snapshot_depth)?;
        self.notifications.borrow_mut().truncate(mark.notifications);
        self.channel_changes.borrow_mut().truncate(mark.channel_changes);
        Ok(())
    }

    pub(crate) fn new(
        instance: Arc<Instance>,
        info: Arc<SessionInfo>,
        engine: engine::Session,
        settings: SessionSettings,
    ) -> Result<SessionState> {
        let mut cached = CachedSettings::new(&settings);
        // The first look renews them, and tells the lock manager what it needs to know.
        cached.generation = (u64::MAX, u64::MAX);
        cached.tcp = info.tcp.unwrap_or_default();
        let login = Login {
            role: info.role,
            role_name: info.user.clone(),
            database: info.database.clone(),
            database_oid: info.database_oid,
        };
        let (database, helpers, callbacks) =
            (instance.database().clone(), Arc::clone(&instance.helpers), instance.callbacks.catalog);
        let execution = ExecutionState::new(database, helpers, callbacks, login, engine, settings)?;
        let channels = instance.channels_of(info.database_oid);
        Ok(SessionState {
            execution,
            instance,
            info,
            cached: RefCell::new(cached),
            plans: RefCell::new(super::plan_cache::plans_of_session()),
            trees: RefCell::default(),
            log: super::log::SessionLog::default(),
            warnings: super::warnings::Warnings::default(),
            is_read_uncommitted: Cell::new(false),
            changed_catalog: Cell::new(false),
            nests_deep: Cell::new(false),
            characters_before: Cell::new(0),
            notifications: RefCell::default(),
            channel_changes: RefCell::default(),
            has_listened: Cell::new(false),
            used_temporary: Cell::new(false),
            channels,
            closed_databases: RefCell::default(),
            prepared: RefCell::default(),
            portals: Arc::default(),
            cursors: RefCell::default(),
            next_cursor: Cell::new(1),
            first_cursor: Cell::new(0),
            suspended: RefCell::default(),
            looped_cursors: RefCell::default(),
            unholdable_loops: Cell::new(0),
            subtransactions: Cell::new(0),
            may_end_transaction: Cell::new(false),
            unnamed_cursors: Cell::new(0),
            on_commit: RefCell::default(),
            ready_functions: ReadyFunctions::default(),
        })
    }

    /// Whether plans of this session may serve others, and theirs this one. A session with temporary tables finds other
    /// tables by the same names.
    pub(crate) fn shares_plans(&self) -> bool {
        !self.changed_catalog.get() && self.temporary_schema.get().is_none()
    }

    /// Whether the indexes of a plan lead to all that the snapshots in use may see.
    pub fn has_snapshots_for(&self, planned: &Planned) -> bool {
        let usable_from = planned.statement.usable_from;
        usable_from == Lsn::ZERO || self.engine().oldest_snapshot().is_none_or(|oldest| usable_from <= oldest)
    }

    /// Whether a plan may be used now, and is as good as one made now.
    pub fn is_good(&self, planned: &Planned) -> bool {
        if planned.statement.is_makeshift || !self.has_snapshots_for(planned) {
            return false;
        }
        let version = self.engine().catalog_version();
        self.with_plan_path(|path| planned.is_good(version, path))
    }

    /// How the session reads string constants now.
    pub fn parse_options(&self) -> syntax::parser::ParseOptions {
        syntax::parser::ParseOptions { standard_conforming_strings: self.cached().standard_conforming_strings }
    }

    /// Copies of the settings that are read often. While a caller holds an earlier result, they are not renewed: this call gives the old ones.
    #[inline]
    pub fn cached(&self) -> Ref<'_, CachedSettings> {
        if self.cached.borrow().generation != self.settings.borrow().generation() {
            self.renew_cached();
        }
        self.cached.borrow()
    }

    /// The timeouts that the operating system applies to the session's TCP connection; none if the session has no TCP connection.
    pub(crate) fn tcp_times(&self) -> Option<TcpTimes> {
        self.info.tcp.map(|_| self.cached().tcp)
    }

    /// Reads the settings anew, which have changed.
    #[cold]
    fn renew_cached(&self) {
        // The engine is told of them now: the next statement may look at nothing else.
        drop(self.execution_settings());
        let mut fresh = CachedSettings::new(&self.settings.borrow());
        let own = self.info.tcp.unwrap_or_default();
        let Ok(mut cached) = self.cached.try_borrow_mut() else { return };
        fresh.tcp = fresh.tcp.taken(cached.tcp, own);
        *cached = fresh;
        self.instance.database().locks().set_logs_waits(self.info.owner(), cached.log.lock_waits);
    }

    /// Puts settings into force that have changed.
    pub(crate) fn follow_settings(&self) {
        drop(self.execution_settings());
        drop(self.cached());
    }

    /// Whether the client wants to hear what is of such severity.
    pub fn is_heard(&self, severity: Severity) -> bool {
        let cached = self.cached();
        severity == Severity::Info || severity >= cached.client_min_messages && !cached.only_errors
    }

    /// Tells the client something that is no error, if it wants to hear it, and the log likewise.
    pub fn notice(&self, severity: Severity, notice: &Error, client: &mut dyn Client) {
        let (is_heard, is_logged) = (self.is_heard(severity), self.is_logged(severity));
        if !is_heard && !is_logged {
            return;
        }
        let calls = self.calls.borrow();
        let with_context = (!calls.is_empty() && notice.fields().context.is_none()).then(|| {
            let context = outer_context(&calls);
            notice.clone().context(context.trim_start())
        });
        drop(calls);
        let notice = with_context.as_ref().unwrap_or(notice);
        if is_logged {
            self.log_notice(severity, notice);
        }
        if is_heard {
            client.require(self.gate());
            client.notice(severity, notice);
        }
    }
}

impl Deref for SessionState {
    type Target = ExecutionState;

    #[inline]
    fn deref(&self) -> &ExecutionState {
        &self.execution
    }
}
