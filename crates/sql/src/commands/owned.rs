//! REASSIGN OWNED and DROP OWNED.

use base::lock_mode::LockMode;
use base::{Error, Oid, Result, sqlstate};
use plan::privileges::{self, ColumnAcls, Subject};
use schema::catalog::{BOOTSTRAP_ROLE, Object};
use syntax::tree::RoleName;

use super::ddl::Ddl;
use super::dependencies::{Node, drop_all};
use super::{default_privileges, grant, ownership, rename};
use crate::state::{CHANGE_LOCK, DROP_LOCK, UtilityOutput};

/// REASSIGN OWNED BY ... TO ...
pub(super) fn reassign(ddl: &Ddl<'_>, roles: &[RoleName], new_role: &RoleName) -> Result<UtilityOutput> {
    let roles = owners(ddl, roles, "reassign", "reassign ownership of objects")?;
    let new = member(ddl, new_role, "reassign")?;
    // A role keeps what it is given by itself.
    for role in roles.into_iter().filter(|role| *role != new) {
        for oid in hold_owned(ddl, &[role], CHANGE_LOCK)? {
            match ddl.catalog().object(oid) {
                Some(Object::Schema(_)) => ownership::require_create_in_database(ddl)?,
                Some(object @ (Object::Table(_) | Object::Sequence(_) | Object::Function(_))) => {
                    ddl.require_create_by_superuser_or(object.schema(), new)?;
                }
                _ => {}
            }
            rename::set_owner(ddl, oid, new)?;
        }
    }
    Ok(UtilityOutput::tag("REASSIGN OWNED"))
}

/// DROP OWNED BY ...
pub(super) fn drop(ddl: &mut Ddl<'_>, roles: &[RoleName], cascade: bool) -> Result<UtilityOutput> {
    let roles = owners(ddl, roles, "drop", "drop objects")?;
    let mut owned = hold_owned(ddl, &roles, DROP_LOCK)?;
    // Databases stay.
    let catalog = ddl.catalog();
    owned.retain(|oid| catalog.database_def(*oid).is_none());
    let targets: Vec<Node> = owned.into_iter().map(Node::Object).collect();
    let roles_named = roles.clone();
    for role in roles {
        let columns_of = ColumnAcls::of_role(&ddl.catalog(), role).into_iter().map(|(table, _)| table);
        for oid in privileges::subjects_of_role(&ddl.catalog(), role).into_iter().chain(columns_of) {
            let owner = Subject::find(&ddl.catalog(), oid).map(|subject| subject.owner);
            if owner != Some(role) {
                grant::forget_role(ddl, oid, role)?;
            }
        }
    }
    for (oid, of, acl) in privileges::default_acls(&ddl.catalog()) {
        if roles_named.contains(&of.role) {
            ddl.drop(oid)?;
        } else if acl.0.iter().any(|item| roles_named.contains(&item.grantee)) {
            default_privileges::forget_roles(ddl, of, &roles_named)?;
        }
    }
    drop_all(ddl, &targets, cascade)?;
    Ok(UtilityOutput::tag("DROP OWNED"))
}

/// The roles whose objects are meant: 2BP01 for the one that owns what is built in.
fn owners(ddl: &Ddl<'_>, roles: &[RoleName], verb: &str, what: &str) -> Result<Vec<Oid>> {
    let oids = roles.iter().map(|role| member(ddl, role, verb)).collect::<Result<Vec<Oid>>>()?;
    if oids.contains(&BOOTSTRAP_ROLE) {
        let role = super::dependencies::describe(&ddl.view(), Node::Object(BOOTSTRAP_ROLE));
        let message = format!("cannot {what} owned by {role} because they are required by the database system");
        return Err(Error::new(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message));
    }
    Ok(oids)
}

/// A role of which whoever runs the statement must be a member.
fn member(ddl: &Ddl<'_>, role: &RoleName, verb: &str) -> Result<Oid> {
    let oid = ddl.role(role)?;
    if !privileges::has_rights_of(&ddl.catalog(), ddl.owner(), oid) {
        let message = format!("permission denied to {verb} objects");
        return Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message));
    }
    Ok(oid)
}

/// The objects that the roles own, locked until the transaction ends. Another transaction may give one away during the wait for its lock.
fn hold_owned(ddl: &Ddl<'_>, roles: &[Oid], mode: LockMode) -> Result<Vec<Oid>> {
    let mut held = Vec::new();
    loop {
        let owned: Vec<Oid> = roles.iter().flat_map(|role| owned_by(ddl, *role)).collect();
        let new: Vec<Oid> = owned.iter().copied().filter(|oid| !held.contains(oid)).collect();
        if new.is_empty() {
            return Ok(owned);
        }
        for oid in &new {
            sync::yield_point()?;
            match ddl.catalog().object(*oid) {
                Some(Object::Table(_) | Object::Sequence(_)) => ddl.lock(*oid, LockMode::AccessExclusive)?,
                _ => ddl.hold(*oid, mode)?,
            }
        }
        held.extend(new);
    }
}

/// The objects that a role owns, the newest first, as PostgreSQL tells dependents. A table's own sequences go with it.
fn owned_by(ddl: &Ddl<'_>, role: Oid) -> Vec<Oid> {
    let catalog = ddl.catalog();
    let is_own = |object: &&Object| {
        let is_part = matches!(object, Object::Sequence(sequence) if sequence.owned_by.is_some());
        object.owner() == Some(role) && !is_part && Subject::find(&catalog, object.oid()).is_some()
    };
    let mut owned: Vec<Oid> = catalog.objects().filter(is_own).map(Object::oid).collect();
    owned.sort_unstable_by_key(|oid| std::cmp::Reverse(*oid));
    owned
}
