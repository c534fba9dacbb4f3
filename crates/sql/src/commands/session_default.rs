//! ALTER ROLE ... SET and ALTER DATABASE ... SET.

use base::{Error, Oid, Result, sqlstate};
use plan::privileges::Subject;
use syntax::tree::{Name, RoleName, VariableSet};

use super::ddl::Ddl;
use super::{role, variables};
use crate::session_defaults::{Keeping, SessionsOf};
use crate::state::{CHANGE_LOCK, UtilityOutput};

/// ALTER ROLE ... SET; no role is ALL.
pub(super) fn alter_role(
    ddl: &mut Ddl<'_>,
    role: Option<&RoleName>,
    database: Option<&Name>,
    set: &VariableSet,
) -> Result<UtilityOutput> {
    let denied = |message: &str| Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message);
    let mut of = SessionsOf { database: Oid::INVALID, role: Oid::INVALID };
    if let Some(name) = role {
        of.role = ddl.role_to_change(name)?;
        if let RoleName::Name(name, _) = name {
            role::refuse_reserved(name, "Cannot alter reserved roles.")?;
        }
        let catalog = ddl.catalog();
        let is_superuser = catalog.role(of.role).is_some_and(|role| role.superuser);
        let may_create = catalog.role(ddl.owner()).is_some_and(|role| role.create_role);
        if is_superuser && !ddl.state.is_superuser() {
            return Err(denied("must be superuser to alter superusers"));
        }
        if !ddl.state.is_superuser() && !may_create && of.role != ddl.owner() {
            return Err(denied("permission denied"));
        }
    }
    if let Some(name) = database {
        of.database = held_database(ddl, name)?;
    }
    if role.is_none() {
        if database.is_some() {
            require_database_owner(ddl, of.database)?;
        } else if !ddl.state.is_superuser() {
            return Err(denied("must be superuser to alter settings globally"));
        }
    }
    change(ddl, of, set)?;
    Ok(UtilityOutput::tag("ALTER ROLE"))
}

/// ALTER DATABASE ... SET.
pub(super) fn alter_database(ddl: &mut Ddl<'_>, name: &Name, set: &VariableSet) -> Result<UtilityOutput> {
    let database = held_database(ddl, name)?;
    require_database_owner(ddl, database)?;
    change(ddl, SessionsOf { database, role: Oid::INVALID }, set)?;
    Ok(UtilityOutput::tag("ALTER DATABASE"))
}

/// The database called `name`, which nobody drops meanwhile.
fn held_database(ddl: &Ddl<'_>, name: &Name) -> Result<Oid> {
    ddl.find_held(CHANGE_LOCK, || ddl.database(name), |def| Some(def.oid)).map(|def| def.oid)
}

fn require_database_owner(ddl: &Ddl<'_>, database: Oid) -> Result<()> {
    let catalog = ddl.catalog();
    match Subject::find(&catalog, database) {
        Some(database) => database.require_owner(&catalog, ddl.owner()),
        None => Ok(()),
    }
}

fn change(ddl: &mut Ddl<'_>, of: SessionsOf, set: &VariableSet) -> Result<()> {
    ddl.engine().lock_name(Oid::INVALID, &of.name(), true)?;
    let catalog = ddl.catalog();
    let mut settings = of.kept(&catalog);
    variables::change_kept(ddl.state, &mut settings, set)?;
    match of.to_keep(&catalog, settings, || ddl.allocate_oid())? {
        Keeping::Nothing => Ok(()),
        Keeping::Create(object) => ddl.create(object),
        Keeping::Replace(object) => ddl.replace(object),
        Keeping::Drop(oid) => ddl.drop(oid),
    }
}
