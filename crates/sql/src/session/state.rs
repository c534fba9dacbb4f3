//! The part of a session that statements, functions and commands use.
//!
//! One coroutine or thread at a time uses a session. All of its state is reached through a shared
//! reference, so that a function called by a statement can run statements of its own.

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::sync::Arc;

use base::lock_mode::LockMode;
use base::settings::{Id, SessionSettings, Value as Setting};
use base::{Error, Lsn, Oid, Result, sqlstate};
use engine::SavepointId;
use plan::privileges::{self, Access, ActingRole, Privileges, Subject};
use plan::{CatalogCallbacks, CatalogView};
use rustc_hash::FxHashMap;
use schema::catalog::{BOOTSTRAP_ROLE, Catalog, FunctionDef};
use sync::Interrupt;
use types::random::RandomState;
use types::{FormatSettings, SqlType, datetime};

use super::instance::{Instance, SessionInfo};
use super::notify::{ChannelChange, Pending};
use super::open_cursors::OpenCursor;
use super::plan_cache::Planned;
use super::settings::CachedSettings;
use super::tcp::TcpTimes;
use crate::client::{Client, Severity};
use crate::executor::PendingCheck;

/// The callbacks of views of the catalog.
const CALLBACKS: CatalogCallbacks =
    CatalogCallbacks { system: crate::catalogs::system, check_domain: planner::domain::check_constant };

/// See the module.
pub struct SessionState {
    pub(crate) instance: Arc<Instance>,
    pub(crate) info: Arc<SessionInfo>,
    pub(super) engine: RefCell<engine::Session>,
    pub(crate) settings: RefCell<SessionSettings>,
    cached: RefCell<CachedSettings>,
    /// Plans this session ran lately, by text and parameter types.
    pub(crate) plans: RefCell<super::plan_cache::Plans>,
    /// Texts it parsed lately.
    pub(crate) trees: RefCell<super::parse_cache::ParseCache>,
    /// The state that the session keeps for the server's log.
    pub(super) log: super::report::SessionLog,
    /// Warnings that the client has not been told yet.
    pub(crate) warnings: super::warnings::Warnings,
    catalog: RefCell<Option<CatalogView>>,
    /// The same for roles whose rights were lent lately.
    lent_catalogs: RefCell<Vec<(Oid, CatalogView)>>,
    random: Cell<Option<RandomState>>,
    pub(crate) transaction_timestamp: Cell<i64>,
    pub(crate) statement_timestamp: Cell<i64>,
    /// The READ COMMITTED of the transaction in progress was asked for as READ UNCOMMITTED.
    pub(super) is_read_uncommitted: Cell<bool>,
    /// The transaction in progress has changed the catalog: its plans are its own.
    pub(crate) changed_catalog: Cell<bool>,
    /// Code that users made, or `set_config`, has run in the transaction in progress. By what it has read it may have changed
    /// settings, cursors, prepared statements and the catalog.
    pub(crate) has_run_functions: Cell<bool>,
    /// Statements of this session are nested so deep that it runs on a further stack, where what it keeps of them also ends.
    pub(super) nests_deep: Cell<bool>,
    /// Characters of a long query string that stand before the part of it that runs.
    pub(super) characters_before: Cell<u32>,
    /// Constraint checks to be made at the end of the statement, or of the transaction if deferred.
    pub(crate) pending_checks: RefCell<Vec<PendingCheck>>,
    /// The number of the next of them.
    pub(crate) next_check: Cell<u64>,
    /// Deferred checks that `SET CONSTRAINTS` has had made in this transaction: a rollback makes those pending again that it undoes.
    pub(crate) made_checks: RefCell<Vec<PendingCheck>>,
    /// The changes by statements in progress for which triggers are called once for all rows together.
    pub(crate) shared_changes: RefCell<Vec<Arc<crate::executor::SharedChange>>>,
    /// A foreign key's action is about to be run: the number of the first check of the statement that it is part of.
    pub(crate) action_of: Cell<Option<u64>>,
    /// The labels that this transaction has added to enums, by their keys.
    pub(crate) new_labels: RefCell<Vec<i64>>,
    /// `SET CONSTRAINTS` of this transaction: all, or by constraint's oid.
    pub(crate) deferred: RefCell<crate::executor::Deferral>,
    /// `NOTIFY`s of this transaction: channel and payload.
    pub(crate) notifications: RefCell<Pending>,
    /// `LISTEN`s and `UNLISTEN`s of this transaction.
    pub(crate) channel_changes: RefCell<Vec<ChannelChange>>,
    /// A LISTEN of the session has committed.
    pub(crate) has_listened: Cell<bool>,
    /// A part of the transaction that was undone has used something temporary.
    pub(crate) used_temporary: Cell<bool>,
    /// The roles that the settings name, with the generation of the settings and the version of the catalog that they were
    /// looked up for.
    roles: RefCell<Option<((u64, u64), u64, Roles)>>,
    /// The roles that `role` and `session_authorization` named when they were set: the names may be others' by now.
    named_roles: RefCell<FxHashMap<String, Oid>>,
    /// The role that the session starts as, if its start-up options or what is kept for its role name one.
    start_role: Cell<Option<Oid>>,
    /// The role whose rights count for the while.
    lent_role: Cell<Option<LentRole>>,
    is_role_lent: Cell<bool>,
    /// How many times over rights are lent, also those that the session has anyway.
    lent_depth: Cell<u32>,
    /// Within [`SessionState::restricted_to`].
    is_restricted: Cell<bool>,
    /// The oid of the temporary schema, once there is one.
    pub(crate) temporary_schema: Cell<Option<Oid>>,
    /// Prepared statements by name, for SQL's EXECUTE as for the protocol.
    pub(crate) prepared: RefCell<FxHashMap<String, Arc<super::prepared::Prepared>>>,
    /// The portals of the protocol.
    pub(crate) portals: Arc<super::portal::PortalList>,
    /// The open cursors by name.
    pub(crate) cursors: RefCell<FxHashMap<String, OpenCursor>>,
    /// The number of the next cursor to be opened.
    pub(super) next_cursor: Cell<u64>,
    /// The number of the first cursor that this transaction opened, or will.
    pub(super) first_cursor: Cell<u64>,
    /// The columns that a call in FROM lists for what the function that is about to run returns.
    pub(crate) expected_columns: RefCell<Option<Arc<[(String, SqlType)]>>>,
    /// The relations of statements whose functions are running, innermost last.
    pub(crate) in_use: RefCell<Vec<Arc<[(Oid, LockMode)]>>>,
    /// The plans of portals that are suspended, while a utility statement runs.
    pub(super) suspended: RefCell<Vec<Arc<Planned>>>,
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
    /// Where the functions under way have called each other, the innermost last.
    pub(crate) calls: RefCell<Vec<crate::plpgsql::CallPlace>>,
    /// How many trigger functions are under way.
    pub(crate) trigger_depth: Cell<i32>,
    /// The rows that the trigger being called can read as tables.
    pub(crate) captured: RefCell<Option<Arc<crate::executor::Captured>>>,
    /// The `ON COMMIT` actions of temporary tables.
    pub(crate) on_commit: RefCell<Vec<(Oid, syntax::tree::OnCommit)>>,
    /// Functions compiled by this session.
    pub(crate) functions: RefCell<FxHashMap<Oid, Arc<crate::plpgsql::Compiled>>>,
    /// Bodies of functions in SQL, with plans.
    pub(crate) sql_bodies: RefCell<crate::sql_function::Bodies>,
}

/// How much was to happen at the commit, and which cursors and snapshots there were, when a subtransaction began.
#[derive(Clone, Copy)]
pub(crate) struct CommitMark {
    notifications: usize,
    channel_changes: usize,
    /// The number of the next cursor.
    pub(super) next_cursor: u64,
    /// The snapshots in use.
    snapshot_depth: usize,
}

/// Constraint checks and their deferral as they were when a subtransaction began.
pub(crate) struct CheckMark {
    /// Those from this number on were queued since.
    first: u64,
    /// How many had been made early.
    made: usize,
    /// The deferral that `SET CONSTRAINTS` had set.
    deferral: crate::executor::Deferral,
}

impl SessionState {
    /// Forgets the pending constraint checks from this number on: the changes that queued them are undone.
    pub(crate) fn forget_checks_from(&self, first: u64) {
        self.pending_checks.borrow_mut().retain(|check| check.number < first);
        self.forget_shared_changes_from(first);
    }

    /// Constraint checks as they are now.
    pub(crate) fn check_mark(&self) -> CheckMark {
        let made = self.made_checks.borrow().len();
        CheckMark { first: self.next_check.get(), made, deferral: self.deferred.borrow().clone() }
    }

    /// Constraint checks and their deferral as they were.
    pub(crate) fn restore_checks(&self, mark: &CheckMark) {
        self.forget_checks_from(mark.first);
        *self.deferred.borrow_mut() = mark.deferral.clone();
        let mut made = self.made_checks.borrow_mut();
        if made.len() > mark.made {
            let mut pending = self.pending_checks.borrow_mut();
            pending.extend(made.drain(mark.made..).filter(|check| check.number < mark.first));
            pending.sort_by_key(|check| check.number);
            pending.dedup_by_key(|check| check.number);
        }
    }

    /// After an error: what was queued since is forgotten.
    pub(crate) fn forget_checks_since(&self, mark: &CheckMark) {
        self.forget_checks_from(mark.first);
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
        if crate::commands::temporary::was_used(self) {
            self.used_temporary.set(true);
        }
        self.engine().rollback_within(savepoint, mark.snapshot_depth)?;
        self.notifications.borrow_mut().truncate(mark.notifications);
        self.channel_changes.borrow_mut().truncate(mark.channel_changes);
        Ok(())
    }

    pub(super) fn new(
        instance: Arc<Instance>,
        info: Arc<SessionInfo>,
        engine: engine::Session,
        settings: SessionSettings,
    ) -> Result<SessionState> {
        let mut cached = CachedSettings::new(&settings)?;
        // State that depends on the role is looked up at its first use.
        cached.generation = (u64::MAX, u64::MAX);
        cached.tcp = info.tcp.unwrap_or_default();
        let now = datetime::clock_micros();
        Ok(SessionState {
            instance,
            info,
            engine: RefCell::new(engine),
            settings: RefCell::new(settings),
            cached: RefCell::new(cached),
            plans: RefCell::new(super::plan_cache::plans_of_session()),
            trees: RefCell::default(),
            catalog: RefCell::new(None),
            log: super::report::SessionLog::default(),
            warnings: super::warnings::Warnings::default(),
            lent_catalogs: RefCell::default(),
            random: Cell::new(None),
            transaction_timestamp: Cell::new(now),
            statement_timestamp: Cell::new(now),
            is_read_uncommitted: Cell::new(false),
            changed_catalog: Cell::new(false),
            has_run_functions: Cell::new(false),
            nests_deep: Cell::new(false),
            characters_before: Cell::new(0),
            pending_checks: RefCell::default(),
            next_check: Cell::new(0),
            made_checks: RefCell::default(),
            shared_changes: RefCell::default(),
            action_of: Cell::new(None),
            new_labels: RefCell::default(),
            deferred: RefCell::default(),
            notifications: RefCell::default(),
            channel_changes: RefCell::default(),
            has_listened: Cell::new(false),
            used_temporary: Cell::new(false),
            roles: RefCell::default(),
            named_roles: RefCell::default(),
            start_role: Cell::new(None),
            lent_role: Cell::new(None),
            is_role_lent: Cell::new(false),
            lent_depth: Cell::new(0),
            is_restricted: Cell::new(false),
            temporary_schema: Cell::new(None),
            prepared: RefCell::default(),
            portals: Arc::default(),
            cursors: RefCell::default(),
            next_cursor: Cell::new(1),
            first_cursor: Cell::new(0),
            expected_columns: RefCell::default(),
            in_use: RefCell::default(),
            suspended: RefCell::default(),
            looped_cursors: RefCell::default(),
            unholdable_loops: Cell::new(0),
            subtransactions: Cell::new(0),
            may_end_transaction: Cell::new(false),
            unnamed_cursors: Cell::new(0),
            calls: RefCell::default(),
            trigger_depth: Cell::new(0),
            captured: RefCell::new(None),
            on_commit: RefCell::default(),
            functions: RefCell::default(),
            sql_bodies: RefCell::default(),
        })
    }

    /// The engine's session, for rows and objects.
    #[inline]
    pub fn engine(&self) -> Ref<'_, engine::Session> {
        self.engine.borrow()
    }

    /// The engine's session, for transaction control: not while a row operation runs.
    #[inline]
    pub fn engine_mut(&self) -> RefMut<'_, engine::Session> {
        self.engine.borrow_mut()
    }

    /// The session's interrupts.
    pub fn interrupt(&self) -> &Arc<Interrupt> {
        &self.info.interrupt
    }

    /// The catalog as the session sees it now.
    pub fn engine_catalog(&self) -> Arc<Catalog> {
        self.engine().catalog()
    }

    /// The catalog with the session's search path; made anew only when one of them has changed.
    pub fn catalog(&self) -> CatalogView {
        if self.is_role_lent.get() {
            return self.lent_catalog();
        }
        // This forgets the view if settings have changed. Every statement comes by, so nothing is cloned before it is needed.
        let cached = self.cached();
        if let Some(view) = &*self.catalog.borrow()
            && view.is_of(self.engine().catalog_version(), &cached.search_path_text)
        {
            return view.clone();
        }
        let (path, plan_path) = (Arc::clone(&cached.search_path_text), Arc::clone(&cached.plan_path));
        drop(cached);
        let catalog = self.engine_catalog();
        let view =
            CatalogView::new(CALLBACKS, catalog, path, plan_path, &self.acting_role(), self.temporary_schema.get());
        *self.catalog.borrow_mut() = Some(view.clone());
        view
    }

    /// The catalog as a role sees it whose rights are lent.
    fn lent_catalog(&self) -> CatalogView {
        let catalog = self.engine_catalog();
        let path = self.cached().search_path_text.clone();
        let role = self.acting_role();
        let mut views = self.lent_catalogs.borrow_mut();
        let is_good = |(of, view): &(Oid, CatalogView)| *of == role.oid && view.is_of(catalog.version(), &path);
        if let Some((_, view)) = views.iter().find(|kept| is_good(kept)) {
            return view.clone();
        }
        let plan_path = self.plan_path_of(&path, &role);
        let temporary = self.temporary_schema.get();
        let view = CatalogView::new(CALLBACKS, Arc::clone(&catalog), Arc::clone(&path), plan_path, &role, temporary);
        views.retain(|(of, view)| *of != role.oid && view.is_of(catalog.version(), &path));
        views.push((role.oid, view.clone()));
        view
    }

    fn plan_path_of(&self, search_path: &Arc<str>, role: &ActingRole) -> Arc<str> {
        plan_path(search_path, role, self.temporary_schema.get(), self.cached().planner_choices.as_deref())
    }

    /// Whether plans of this session may serve others, and theirs this one. A session with temporary tables finds other
    /// tables by the same names.
    pub(super) fn shares_plans(&self) -> bool {
        !self.changed_catalog.get() && self.temporary_schema.get().is_none()
    }

    /// Returns the part of a plan's cache key besides its text, see [`CatalogView::plan_path`].
    pub fn plan_path(&self) -> Arc<str> {
        if self.is_role_lent.get() {
            return Arc::clone(self.lent_catalog().plan_path());
        }
        Arc::clone(&self.cached().plan_path)
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
        if self.is_role_lent.get() {
            return planned.is_good(version, self.lent_catalog().plan_path());
        }
        planned.is_good(version, &self.cached().plan_path)
    }

    /// The session has a temporary schema from now on.
    pub fn set_temporary_schema(&self, schema: Oid) {
        self.temporary_schema.set(Some(schema));
        let search_path = Arc::clone(&self.cached().search_path_text);
        let plan_path = self.plan_path_of(&search_path, &self.session_acting());
        self.cached.borrow_mut().plan_path = plan_path;
        self.forget_catalog();
    }

    /// Names are looked up anew: somebody else is meant by `$user` in the search path, and looks into other schemas.
    pub(super) fn forget_catalog(&self) {
        *self.catalog.borrow_mut() = None;
        self.lent_catalogs.borrow_mut().clear();
    }

    /// How the session reads string constants now.
    pub fn parse_options(&self) -> syntax::parser::ParseOptions {
        syntax::parser::ParseOptions { standard_conforming_strings: self.cached().standard_conforming_strings }
    }

    /// Copies of the settings that are read often. A caller that still has them from before, while another thread has the
    /// settings read again, gets those from before once more.
    #[inline]
    pub fn cached(&self) -> Ref<'_, CachedSettings> {
        if self.cached.borrow().generation != self.settings.borrow().generation() {
            self.renew_cached();
        }
        self.cached.borrow()
    }

    /// The timeouts that the operating system applies to the session's TCP connection; none if the session has no TCP connection.
    pub(super) fn tcp_times(&self) -> Option<TcpTimes> {
        self.info.tcp.map(|_| self.cached().tcp)
    }

    /// Reads the settings anew, which have changed.
    #[cold]
    fn renew_cached(&self) {
        // Values were checked when they were set.
        let fresh = CachedSettings::new(&self.settings.borrow());
        if let Ok(mut cached) = fresh {
            let search_path = Arc::clone(&cached.search_path_text);
            cached.plan_path = plan_path(
                &search_path,
                &self.session_acting(),
                self.temporary_schema.get(),
                cached.planner_choices.as_deref(),
            );
            let own = self.info.tcp.unwrap_or_default();
            let Ok(mut place) = self.cached.try_borrow_mut() else { return };
            cached.tcp = cached.tcp.taken(place.tcp, own);
            *place = cached;
            drop(place);
            // The role may be another one, too.
            *self.catalog.borrow_mut() = None;
        }
        self.apply_settings();
    }

    /// Hands what the engine needs to know of the settings on to it.
    pub(super) fn apply_settings(&self) {
        let Ok(mut engine) = self.engine.try_borrow_mut() else { return };
        let cached = self.cached.borrow();
        engine.set_synchronous_commit(cached.synchronous_commit);
        engine.set_commit_delay(cached.commit_delay);
        engine.set_lock_timeout(cached.lock_timeout);
        engine.set_deadlock_timeout(cached.deadlock_timeout);
        self.instance.database().locks().set_logs_waits(self.info.owner(), cached.log.lock_waits);
    }

    /// The value of one setting.
    pub fn setting(&self, id: Id) -> Setting {
        self.settings.borrow().get(id)
    }

    /// Whether `session_replication_role` is `replica`: foreign keys and deferrable keys are not looked at, and other triggers are called.
    pub fn is_in_replica(&self) -> bool {
        super::settings::is_in_replica(&self.settings.borrow())
    }

    /// The settings that text input and output depend on.
    pub fn format(&self) -> Arc<FormatSettings> {
        Arc::clone(&self.cached().format)
    }

    /// The position that everything said so far must wait for; nothing, if the session waived it.
    #[inline]
    pub fn gate(&self) -> Lsn {
        self.engine().gate()
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
            let context = crate::plpgsql::outer_context(&calls);
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

    /// Lends the session's random numbers; a function called meanwhile gets fresh ones.
    pub fn take_random(&self) -> RandomState {
        self.random.take().unwrap_or_else(RandomState::from_entropy)
    }

    /// Takes them back.
    pub fn put_random(&self, random: RandomState) {
        self.random.set(Some(random));
    }

    /// The role whose rights count.
    pub fn acting_role(&self) -> Arc<ActingRole> {
        self.roles().acting
    }

    /// The session's role: the role that connected, or the role that SET SESSION AUTHORIZATION named.
    pub fn session_role(&self) -> Arc<ActingRole> {
        self.roles().session
    }

    /// Whether the acting role has by itself what another role has.
    pub fn has_rights_of(&self, role: Oid) -> bool {
        self.is_superuser() || privileges::has_rights_of(&self.engine_catalog(), self.acting_role().oid, role)
    }

    /// 42501 unless the acting role may do all of this. For what a view reads, the view's owner needs the privilege, even if the acting role is
    /// a superuser.
    ///
    /// # Errors
    /// 42501
    pub fn require_all(&self, needed: &[Access]) -> Result<()> {
        if self.is_superuser() && needed.iter().all(|access| access.checked_as.is_none()) {
            return Ok(());
        }
        privileges::check(&self.engine_catalog(), self.acting_role().oid, self.temporary_schema.get(), needed)
    }

    /// 42501 unless the acting role may look into the schemas in which a definition names something.
    ///
    /// # Errors
    /// 42501
    pub fn require_schemas(&self, named: &[Access]) -> Result<()> {
        if self.is_superuser() {
            return Ok(());
        }
        privileges::check_schemas(&self.engine_catalog(), self.acting_role().oid, self.temporary_schema.get(), named)
    }

    /// 0A000 for what is in another session's temporary schema: `what` can't be done with it.
    ///
    /// # Errors
    /// 0A000
    pub fn refuse_foreign_temporary(&self, schema: Oid, what: &str) -> Result<()> {
        if Some(schema) == self.temporary_schema.get() || !self.engine_catalog().is_temporary(schema) {
            return Ok(());
        }
        Err(Error::unsupported(format!("cannot {what} temporary tables of other sessions")))
    }

    /// 42501 unless the acting role has one of these privileges on the object.
    ///
    /// # Errors
    /// 42501
    pub fn require(&self, object: Oid, any_of: Privileges) -> Result<()> {
        if self.is_superuser() {
            return Ok(());
        }
        let catalog = self.engine_catalog();
        match Subject::find(&catalog, object) {
            Some(subject) if (subject.privileges_of(&catalog, self.acting_role().oid) & any_of).is_empty() => {
                Err(subject.denied())
            }
            _ => Ok(()),
        }
    }

    /// 42501 unless the acting role may CALL the procedure.
    ///
    /// # Errors
    /// 42501
    pub fn require_call(&self, procedure: &FunctionDef) -> Result<()> {
        self.require(procedure.oid, Privileges::EXECUTE)
    }

    /// 42501 unless the acting role has the privilege on the table, or on each of these columns, by their places.
    ///
    /// # Errors
    /// 42501
    pub fn require_columns(&self, table: Oid, privilege: Privileges, places: &[usize]) -> Result<()> {
        if self.is_superuser() {
            return Ok(());
        }
        let catalog = self.engine_catalog();
        match Subject::find(&catalog, table) {
            Some(subject) if !subject.has_columns(&catalog, self.acting_role().oid, privilege, places) => {
                Err(subject.denied())
            }
            _ => Ok(()),
        }
    }

    /// The columns of a table whose values an error may tell the acting role besides those it gave values for; none if
    /// it may read all of them.
    pub fn readable_columns(&self, table: Oid) -> Option<Vec<usize>> {
        if self.is_superuser() {
            return None;
        }
        privileges::readable_columns(&self.engine_catalog(), self.acting_role().oid, table)
    }

    /// Runs `work` with the rights of another role: a SECURITY DEFINER function's owner, a referenced table's.
    pub(crate) fn acting_as<T>(&self, role: Oid, work: impl FnOnce() -> T) -> T {
        let depth = self.lent_depth.get();
        self.lent_depth.set(depth + 1);
        let result = self.with_role(role, work);
        self.lent_depth.set(depth);
        result
    }

    /// Runs `work`, which may call what the owner of a table has written though somebody else wants it done (REINDEX,
    /// REFRESH MATERIALIZED VIEW): with the owner's rights, and without a trace in the session. PostgreSQL calls it a
    /// security-restricted operation.
    pub(crate) fn restricted_to<T>(&self, owner: Oid, work: impl FnOnce() -> T) -> T {
        let was_restricted = self.is_restricted.replace(true);
        self.settings.borrow_mut().push_level();
        let result = self.with_role(owner, work);
        self.settings.borrow_mut().roll_back_level();
        self.is_restricted.set(was_restricted);
        result
    }

    /// Refuses to do what would have an effect after [`SessionState::restricted_to`].
    ///
    /// # Errors
    /// 42501
    pub(crate) fn refuse_if_restricted(&self, what: &str) -> Result<()> {
        if !self.is_restricted.get() {
            return Ok(());
        }
        let message = format!("cannot {what} within security-restricted operation");
        Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message))
    }

    /// Whether [`SessionState::acting_as`] is under way.
    pub(crate) fn acts_for_another(&self) -> bool {
        self.lent_depth.get() > 0
    }

    fn with_role<T>(&self, role: Oid, work: impl FnOnce() -> T) -> T {
        if self.acting_role().oid == role {
            return work();
        }
        let before = self.lent_role.replace(Some(self.lendable(role)));
        self.is_role_lent.set(true);
        let result = work();
        self.is_role_lent.set(before.is_some());
        self.lent_role.set(before);
        result
    }

    /// A role as it is now. A dropped role has no rights of its own, and never gets those of the caller.
    fn lendable(&self, role: Oid) -> LentRole {
        let catalog = self.engine_catalog();
        let gone =
            || ActingRole { oid: role, name: format!("unknown (OID={role})"), is_superuser: false, exists: false };
        let acting = catalog.role(role).map_or_else(gone, ActingRole::of);
        LentRole { acting: Arc::new(acting), catalog_version: catalog.version() }
    }

    /// The role whose rights are lent for a while. It may have lost some since.
    fn lent(&self) -> Option<Arc<ActingRole>> {
        let mut lent = self.lent_role.take();
        if let Some(outdated) = lent.as_ref().filter(|lent| !self.is_catalog_version(lent.catalog_version)) {
            lent = Some(self.lendable(outdated.acting.oid));
        }
        let acting = lent.as_ref().map(|lent| Arc::clone(&lent.acting));
        self.lent_role.set(lent);
        acting
    }

    /// The acting role, rights lent for a while aside.
    pub(super) fn session_acting(&self) -> Arc<ActingRole> {
        let lent = self.lent_role.take();
        let roles = self.roles();
        self.lent_role.set(lent);
        roles.acting
    }

    fn roles(&self) -> Roles {
        let generation = self.settings.borrow().generation();
        let is_good = |kept: &((u64, u64), u64, Roles)| kept.0 == generation && self.is_catalog_version(kept.1);
        if !self.roles.borrow().as_ref().is_some_and(is_good) {
            let version = self.engine.try_borrow().map_or(0, |engine| engine.catalog_version());
            let roles = self.find_roles();
            *self.roles.borrow_mut() = Some((generation, version, roles));
        }
        let mut roles = match &*self.roles.borrow() {
            Some((.., roles)) => roles.clone(),
            None => self.find_roles(),
        };
        if let Some(lent) = self.lent() {
            roles.acting = lent;
        }
        roles
    }

    /// Whether the catalog is still of this version; taken for granted in the middle of a change of the transaction.
    fn is_catalog_version(&self, version: u64) -> bool {
        self.engine.try_borrow().map_or(true, |engine| engine.catalog_version() == version)
    }

    /// Keeps which role a name stood for when a setting was given it.
    pub(super) fn note_role(&self, name: &str, role: Oid) {
        self.named_roles.borrow_mut().insert(name.to_owned(), role);
    }

    /// Notes the role that the session starts as, which RESET SESSION AUTHORIZATION returns to.
    pub(super) fn note_start_role(&self, name: &str) {
        self.start_role.set(self.named_roles.borrow().get(name).copied());
    }

    /// The roles that `session_authorization` and `role` were set to. Roles that are gone have no rights but everybody's.
    fn find_roles(&self) -> Roles {
        let catalog = match self.engine.try_borrow() {
            Ok(engine) => engine.catalog(),
            // In the middle of a change of the transaction: what others see will do.
            Err(_) => self.instance.database().catalog(),
        };
        let of = |oid: Oid, name: &str| {
            let gone = || ActingRole { oid, name: name.to_owned(), is_superuser: false, exists: false };
            Arc::new(catalog.role(oid).map_or_else(gone, ActingRole::of))
        };
        let noted = |name: &str| self.named_roles.borrow().get(name).copied();
        let setting = self.setting(Id::SessionAuthorization);
        let session = match noted(setting.as_text()) {
            Some(role) if self.settings.borrow().is_set(Id::SessionAuthorization) => of(role, setting.as_text()),
            _ => match self.start_role.get() {
                Some(role) => of(role, setting.as_text()),
                None => of(self.info.role, &self.info.user),
            },
        };
        let role = self.setting(Id::Role);
        let acting = match &**role.as_text() {
            "none" => None,
            // Without a note it was never asked for, and stands for nobody.
            name => Some(of(noted(name).unwrap_or(Oid::INVALID), name)),
        };
        Roles { acting: acting.unwrap_or_else(|| Arc::clone(&session)), session }
    }

    /// The database.
    pub fn database_name(&self) -> &str {
        &self.info.database
    }

    /// Where new objects go.
    pub fn current_schema(&self) -> Option<String> {
        self.catalog().current_schema_name()
    }

    /// Whether the user may do anything.
    pub fn is_superuser(&self) -> bool {
        if !self.is_role_lent.get()
            && let Some((generation, version, roles)) = &*self.roles.borrow()
            && *generation == self.settings.borrow().generation()
            && self.is_catalog_version(*version)
        {
            return roles.acting.is_superuser;
        }
        self.roles().acting.is_superuser
    }
}

/// The part of a plan's key besides the statement's text: the search path, the role where that matters for it, the
/// temporary schema, and the settings that direct the planner. Most sessions are a superuser's without any of these,
/// and share the text itself.
fn plan_path(
    search_path: &Arc<str>,
    role: &ActingRole,
    temporary_schema: Option<Oid>,
    planner_choices: Option<&str>,
) -> Arc<str> {
    let is_any_role = role.is_superuser && (role.oid == BOOTSTRAP_ROLE || !search_path.contains("$user"));
    if is_any_role && temporary_schema.is_none() && planner_choices.is_none() {
        return Arc::clone(search_path);
    }
    let mut path = search_path.to_string();
    if !is_any_role {
        path.push_str(&format!(" of {}", role.oid));
    }
    if let Some(schema) = temporary_schema {
        path.push_str(&format!(" before {schema}"));
    }
    if let Some(choices) = planner_choices {
        path.push_str(&format!(" with {choices}"));
    }
    Arc::from(path)
}

/// A role whose rights are lent, as it was under a version of the catalog.
struct LentRole {
    acting: Arc<ActingRole>,
    catalog_version: u64,
}

#[derive(Clone)]
struct Roles {
    session: Arc<ActingRole>,
    acting: Arc<ActingRole>,
}
