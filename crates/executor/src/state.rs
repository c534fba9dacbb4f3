//! The part of a session that the execution of statements uses.
//!
//! One coroutine or thread at a time uses a session. All of its state is reached through a shared reference, so that a function called
//! by a statement can run statements of its own.

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::sync::Arc;

use base::lock_mode::LockMode;
use base::settings::{Id, SessionSettings, Value as Setting};
use base::{Lsn, Oid, Result};
use engine::Database;
use plan::privileges::ActingRole;
use plan::{CatalogCallbacks, CatalogView};
use rustc_hash::FxHashMap;
use schema::catalog::{BOOTSTRAP_ROLE, Catalog, DATABASE_OID};
use sync::Interrupt;
use types::random::RandomState;
use types::{FormatSettings, SqlType, datetime};

use crate::call_place::CallPlace;
use crate::helpers::Helpers;
use crate::pending_checks::{Deferral, PendingCheck};
use crate::rights::{LentRole, Roles};
use crate::settings::ExecutionSettings;
use crate::shared_change::{Captured, SharedChange};

/// The role that connected, and to what.
pub struct Login {
    /// The role's number: its name may come to be another role's.
    pub role: Oid,
    /// The role's name at that time.
    pub role_name: String,
    /// The database's name.
    pub database: String,
    /// The database's number.
    pub database_oid: Oid,
}

/// See the module.
pub struct ExecutionState {
    /// The database, for temporary files.
    pub database: Database,
    /// Threads that help with scans.
    pub helpers: Arc<Helpers>,
    pub(super) login: Login,
    interrupt: Arc<Interrupt>,
    callbacks: CatalogCallbacks,
    engine: RefCell<engine::Session>,
    /// The session's settings.
    pub settings: RefCell<SessionSettings>,
    in_force: RefCell<ExecutionSettings>,
    catalog: RefCell<Option<CatalogView>>,
    /// The same for roles whose rights were lent lately.
    lent_catalogs: RefCell<Vec<(Oid, CatalogView)>>,
    random: Cell<Option<RandomState>>,
    /// When the transaction began; microseconds since 2000-01-01 UTC.
    pub transaction_timestamp: Cell<i64>,
    /// When the client's statement came; microseconds since 2000-01-01 UTC.
    pub statement_timestamp: Cell<i64>,
    /// Code that users made, or `set_config`, has run in the transaction in progress. By what it has read it may have changed
    /// settings, cursors, prepared statements and the catalog.
    pub has_run_functions: Cell<bool>,
    /// Constraint checks to be made at the end of the statement, or of the transaction if deferred.
    pub pending_checks: RefCell<Vec<PendingCheck>>,
    /// The number of the next of them.
    pub next_check: Cell<u64>,
    /// Deferred checks that `SET CONSTRAINTS` has had made in this transaction: a rollback makes those pending again that it undoes.
    pub made_checks: RefCell<Vec<PendingCheck>>,
    /// The changes by statements in progress for which triggers are called once for all rows together.
    pub shared_changes: RefCell<Vec<Arc<SharedChange>>>,
    /// A foreign key's action is about to be run: the number of the first check of the statement that it is part of.
    pub action_of: Cell<Option<u64>>,
    /// The labels that this transaction has added to enums, by their keys.
    pub new_labels: RefCell<Vec<i64>>,
    /// `SET CONSTRAINTS` of this transaction: all, or by constraint's oid.
    pub deferred: RefCell<Deferral>,
    /// The roles that the settings name, with the generation of the settings and the version of the catalog that they were
    /// looked up for.
    pub(super) roles: RefCell<Option<((u64, u64), u64, Roles)>>,
    /// The roles that `role` and `session_authorization` named when they were set: the names may be others' by now.
    pub(super) named_roles: RefCell<FxHashMap<String, Oid>>,
    /// The role that the session starts as, if its start-up options or what is kept for its role name one.
    pub(super) start_role: Cell<Option<Oid>>,
    /// The role whose rights count for the while.
    pub(super) lent_role: Cell<Option<LentRole>>,
    pub(super) is_role_lent: Cell<bool>,
    /// How many times over rights are lent, also those that the session has anyway.
    pub(super) lent_depth: Cell<u32>,
    /// Within [`ExecutionState::restricted_to`].
    pub(super) is_restricted: Cell<bool>,
    /// The oid of the temporary schema, once there is one.
    pub temporary_schema: Cell<Option<Oid>>,
    /// The columns that a call in FROM lists for what the function that is about to run returns.
    pub expected_columns: RefCell<Option<Arc<[(String, SqlType)]>>>,
    /// The relations of statements whose functions are running, innermost last.
    pub in_use: RefCell<Vec<Arc<[(Oid, LockMode)]>>>,
    /// Where the functions under way have called each other, the innermost last.
    pub calls: RefCell<Vec<CallPlace>>,
    /// How many trigger functions are under way.
    pub trigger_depth: Cell<i32>,
    /// The rows that the trigger being called can read as tables.
    pub captured: RefCell<Option<Arc<Captured>>>,
}

impl ExecutionState {
    /// The state of a new session.
    ///
    /// # Errors
    /// 22023 for a setting whose text is no value.
    pub fn new(
        database: Database,
        helpers: Arc<Helpers>,
        callbacks: CatalogCallbacks,
        login: Login,
        engine: engine::Session,
        settings: SessionSettings,
    ) -> Result<ExecutionState> {
        let mut in_force = ExecutionSettings::new(&settings)?;
        // State that depends on the role is looked up at its first use.
        in_force.generation = (u64::MAX, u64::MAX);
        let now = datetime::clock_micros();
        Ok(ExecutionState {
            database,
            helpers,
            login,
            interrupt: Arc::clone(engine.interrupt()),
            callbacks,
            engine: RefCell::new(engine),
            settings: RefCell::new(settings),
            in_force: RefCell::new(in_force),
            catalog: RefCell::new(None),
            lent_catalogs: RefCell::default(),
            random: Cell::new(None),
            transaction_timestamp: Cell::new(now),
            statement_timestamp: Cell::new(now),
            has_run_functions: Cell::new(false),
            pending_checks: RefCell::default(),
            next_check: Cell::new(0),
            made_checks: RefCell::default(),
            shared_changes: RefCell::default(),
            action_of: Cell::new(None),
            new_labels: RefCell::default(),
            deferred: RefCell::default(),
            roles: RefCell::default(),
            named_roles: RefCell::default(),
            start_role: Cell::new(None),
            lent_role: Cell::new(None),
            is_role_lent: Cell::new(false),
            lent_depth: Cell::new(0),
            is_restricted: Cell::new(false),
            temporary_schema: Cell::new(None),
            expected_columns: RefCell::default(),
            in_use: RefCell::default(),
            calls: RefCell::default(),
            trigger_depth: Cell::new(0),
            captured: RefCell::new(None),
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
        &self.interrupt
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
        let cached = self.execution_settings();
        if let Some(view) = &*self.catalog.borrow()
            && view.is_of(self.engine().catalog_version(), &cached.search_path_text)
        {
            return view.clone();
        }
        let (path, plan_path) = (Arc::clone(&cached.search_path_text), Arc::clone(&cached.plan_path));
        drop(cached);
        let catalog = self.engine_catalog();
        let view = CatalogView::new(
            self.callbacks,
            catalog,
            path,
            plan_path,
            &self.acting_role(),
            self.temporary_schema.get(),
        );
        *self.catalog.borrow_mut() = Some(view.clone());
        view
    }

    /// The catalog as a role sees it whose rights are lent.
    fn lent_catalog(&self) -> CatalogView {
        let catalog = self.engine_catalog();
        let path = self.execution_settings().search_path_text.clone();
        let role = self.acting_role();
        let is_good = |(of, view): &&(Oid, CatalogView)| *of == role.oid && view.is_of(catalog.version(), &path);
        if let Some((_, view)) = self.lent_catalogs.borrow().iter().find(is_good) {
            return view.clone();
        }
        // This may renew the settings, which forgets all views.
        let plan_path = self.plan_path_of(&path, &role);
        let temporary = self.temporary_schema.get();
        let view =
            CatalogView::new(self.callbacks, Arc::clone(&catalog), Arc::clone(&path), plan_path, &role, temporary);
        let mut views = self.lent_catalogs.borrow_mut();
        views.retain(|(of, view)| *of != role.oid && view.is_of(catalog.version(), &path));
        views.push((role.oid, view.clone()));
        view
    }

    fn plan_path_of(&self, search_path: &Arc<str>, role: &ActingRole) -> Arc<str> {
        let place = Place { database: self.database_oid(), temporary_schema: self.temporary_schema.get() };
        plan_path(search_path, role, place, self.execution_settings().planner_choices.as_deref())
    }

    /// Returns the part of a plan's cache key besides its text, see [`CatalogView::plan_path`].
    pub fn plan_path(&self) -> Arc<str> {
        self.with_plan_path(Arc::clone)
    }

    /// Calls `work` with [`ExecutionState::plan_path`], which is not copied.
    pub fn with_plan_path<T>(&self, work: impl FnOnce(&Arc<str>) -> T) -> T {
        if self.is_role_lent.get() {
            return work(self.lent_catalog().plan_path());
        }
        work(&self.execution_settings().plan_path)
    }

    /// The session has a temporary schema from now on.
    pub fn set_temporary_schema(&self, schema: Oid) {
        self.temporary_schema.set(Some(schema));
        let search_path = Arc::clone(&self.execution_settings().search_path_text);
        let plan_path = self.plan_path_of(&search_path, &self.session_acting());
        self.in_force.borrow_mut().plan_path = plan_path;
        self.forget_catalog();
    }

    /// Names are looked up anew: somebody else is meant by `$user` in the search path, and looks into other schemas.
    pub fn forget_catalog(&self) {
        *self.catalog.borrow_mut() = None;
        self.lent_catalogs.borrow_mut().clear();
    }

    /// The value of one setting.
    pub fn setting(&self, id: Id) -> Setting {
        self.settings.borrow().get(id)
    }

    /// Whether `session_replication_role` is `replica`: foreign keys and deferrable keys are not looked at, and other triggers are called.
    pub fn is_in_replica(&self) -> bool {
        crate::settings::is_in_replica(&self.settings.borrow())
    }

    /// The settings that text input and output depend on.
    pub fn format(&self) -> Arc<FormatSettings> {
        Arc::clone(&self.execution_settings().format)
    }

    /// The position that everything said so far must wait for; nothing, if the session waived it.
    #[inline]
    pub fn gate(&self) -> Lsn {
        self.engine().gate()
    }

    /// Lends the session's random numbers; a function called meanwhile gets fresh ones.
    pub fn take_random(&self) -> RandomState {
        self.random.take().unwrap_or_else(RandomState::from_entropy)
    }

    /// Takes them back.
    pub fn put_random(&self, random: RandomState) {
        self.random.set(Some(random));
    }

    /// The number of the database that the session is in.
    pub fn database_oid(&self) -> Oid {
        self.login.database_oid
    }

    /// The name of the database that the session is in, which nobody renames meanwhile.
    pub fn database_name(&self) -> &str {
        &self.login.database
    }

    /// Where new objects go.
    pub fn current_schema(&self) -> Option<String> {
        self.catalog().current_schema_name()
    }

    /// The engine's session; none while a row operation or a change of the transaction uses it alone.
    pub fn try_engine(&self) -> Option<Ref<'_, engine::Session>> {
        self.engine.try_borrow().ok()
    }

    /// Copies of the settings that are read often. While a caller holds an earlier result, they are not renewed: this call gives the old ones.
    #[inline]
    pub fn execution_settings(&self) -> Ref<'_, ExecutionSettings> {
        if self.in_force.borrow().generation != self.settings.borrow().generation() {
            self.renew_settings();
        }
        self.in_force.borrow()
    }

    /// Reads the settings anew, which have changed.
    #[cold]
    fn renew_settings(&self) {
        // Values were checked when they were set.
        let fresh = ExecutionSettings::new(&self.settings.borrow());
        if let Ok(mut fresh) = fresh {
            let search_path = Arc::clone(&fresh.search_path_text);
            let choices = fresh.planner_choices.as_deref();
            let place = Place { database: self.database_oid(), temporary_schema: self.temporary_schema.get() };
            fresh.plan_path = plan_path(&search_path, &self.session_acting(), place, choices);
            let Ok(mut place) = self.in_force.try_borrow_mut() else { return };
            *place = fresh;
            drop(place);
            // The role may be another one, too, and other triggers may be called.
            self.forget_catalog();
        }
        self.apply_settings();
    }

    /// Hands what the engine needs to know of the settings on to it.
    fn apply_settings(&self) {
        let Ok(mut engine) = self.engine.try_borrow_mut() else { return };
        let settings = self.in_force.borrow();
        engine.set_synchronous_commit(settings.synchronous_commit);
        engine.set_commit_delay(settings.commit_delay);
        engine.set_lock_timeout(settings.lock_timeout);
        engine.set_deadlock_timeout(settings.deadlock_timeout);
    }

    /// Does `work` with these relations in use: what users' functions do meanwhile may not change them.
    pub fn while_in_use<T>(&self, relations: Arc<[(Oid, LockMode)]>, work: impl FnOnce() -> T) -> T {
        self.in_use.borrow_mut().push(relations);
        let result = work();
        self.in_use.borrow_mut().pop();
        result
    }
}

/// Where a session looks names up.
struct Place {
    database: Oid,
    temporary_schema: Option<Oid>,
}

/// The part of a plan's key besides the statement's text: the search path, the role where that matters for it, the database, the
/// temporary schema, and the settings that direct the planner. Most sessions are a superuser's in `postgres` without any of these,
/// and share the text itself.
fn plan_path(search_path: &Arc<str>, role: &ActingRole, place: Place, planner_choices: Option<&str>) -> Arc<str> {
    let is_any_role = role.is_superuser && (role.oid == BOOTSTRAP_ROLE || !search_path.contains("$user"));
    let Place { database, temporary_schema } = place;
    if is_any_role && database == DATABASE_OID && temporary_schema.is_none() && planner_choices.is_none() {
        return Arc::clone(search_path);
    }
    let mut path = search_path.to_string();
    if !is_any_role {
        path.push_str(&format!(" of {}", role.oid));
    }
    if database != DATABASE_OID {
        path.push_str(&format!(" in {database}"));
    }
    if let Some(schema) = temporary_schema {
        path.push_str(&format!(" before {schema}"));
    }
    if let Some(choices) = planner_choices {
        path.push_str(&format!(" with {choices}"));
    }
    Arc::from(path)
}
