//! The roles that a session acts as, and what they may do.

use std::sync::Arc;

use base::settings::Id;
use base::{Error, Oid, Result, sqlstate};
use plan::privileges::{self, Access, ActingRole, Privileges, Subject};
use schema::catalog::FunctionDef;

use crate::state::ExecutionState;

/// A role whose rights are lent, as it was under a version of the catalog.
pub(super) struct LentRole {
    acting: Arc<ActingRole>,
    catalog_version: u64,
}

/// The roles that a session is of.
#[derive(Clone)]
pub(super) struct Roles {
    session: Arc<ActingRole>,
    acting: Arc<ActingRole>,
}

impl ExecutionState {
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

    /// Runs `work` with the rights of another role: a SECURITY DEFINER function's owner, a referenced table's.
    pub fn acting_as<T>(&self, role: Oid, work: impl FnOnce() -> T) -> T {
        let depth = self.lent_depth.get();
        self.lent_depth.set(depth + 1);
        let result = self.with_role(role, work);
        self.lent_depth.set(depth);
        result
    }

    /// Runs `work`, which may call what the owner of a table has written though somebody else wants it done (REINDEX,
    /// REFRESH MATERIALIZED VIEW): with the owner's rights, and without a trace in the session. PostgreSQL calls it a
    /// security-restricted operation.
    pub fn restricted_to<T>(&self, owner: Oid, work: impl FnOnce() -> T) -> T {
        let was_restricted = self.is_restricted.replace(true);
        self.settings.borrow_mut().push_level();
        let result = self.with_role(owner, work);
        self.settings.borrow_mut().roll_back_level();
        self.is_restricted.set(was_restricted);
        result
    }

    /// Refuses to do what would have an effect after [`ExecutionState::restricted_to`].
    ///
    /// # Errors
    /// 42501
    pub fn refuse_if_restricted(&self, what: &str) -> Result<()> {
        if !self.is_restricted.get() {
            return Ok(());
        }
        let message = format!("cannot {what} within security-restricted operation");
        Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message))
    }

    /// Whether [`ExecutionState::acting_as`] is under way.
    pub fn acts_for_another(&self) -> bool {
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
    pub fn session_acting(&self) -> Arc<ActingRole> {
        let lent = self.lent_role.take();
        let roles = self.roles();
        self.lent_role.set(lent);
        roles.acting
    }

    fn roles(&self) -> Roles {
        let generation = self.settings.borrow().generation();
        let is_good = |kept: &((u64, u64), u64, Roles)| kept.0 == generation && self.is_catalog_version(kept.1);
        if !self.roles.borrow().as_ref().is_some_and(is_good) {
            let version = self.try_engine().map_or(0, |engine| engine.catalog_version());
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
        self.try_engine().is_none_or(|engine| engine.catalog_version() == version)
    }

    /// Keeps which role a name stood for when a setting was given it.
    pub fn note_role(&self, name: &str, role: Oid) {
        self.named_roles.borrow_mut().insert(name.to_owned(), role);
    }

    /// Notes the role that the session starts as, which RESET SESSION AUTHORIZATION returns to.
    pub fn note_start_role(&self, name: &str) {
        self.start_role.set(self.named_roles.borrow().get(name).copied());
    }

    /// The roles that `session_authorization` and `role` were set to. Roles that are gone have no rights but everybody's.
    fn find_roles(&self) -> Roles {
        let catalog = match self.try_engine() {
            Some(engine) => engine.catalog(),
            // In the middle of a change of the transaction: what others see will do.
            None => self.database.catalog(),
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
                None => of(self.login.role, &self.login.role_name),
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
}
