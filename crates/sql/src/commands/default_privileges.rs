//! ALTER DEFAULT PRIVILEGES, and what new objects get by it.

use base::{Error, Oid, Result, sqlstate};
use plan::privileges::{self, Acl, DefaultAcl, Kind, Subject};
use schema::catalog::CustomDef;
use syntax::tree::{DefaultPrivileges, ObjectKind, RoleName};

use super::ddl::Ddl;
use super::grant;
use crate::state::UtilityOutput;

/// ALTER DEFAULT PRIVILEGES.
pub(super) fn alter(ddl: &mut Ddl<'_>, alter: &DefaultPrivileges) -> Result<UtilityOutput> {
    let acting = ddl.state.acting_role();
    let roles = if alter.roles.is_empty() {
        vec![ddl.role(&RoleName::CurrentUser)?]
    } else {
        alter.roles.iter().map(|role| ddl.role(role)).collect::<Result<_>>()?
    };
    let schemas = if alter.schemas.is_empty() {
        vec![Oid::INVALID]
    } else {
        let view = ddl.view();
        alter.schemas.iter().map(|schema| view.schema_named(schema)).collect::<Result<Vec<_>>>()?
    };
    let kind = match alter.grant.kind {
        ObjectKind::Table => Kind::Relation,
        ObjectKind::Sequence => Kind::Sequence,
        ObjectKind::Type | ObjectKind::Domain => Kind::Type,
        ObjectKind::Schema => Kind::Schema,
        _ => Kind::Function,
    };
    if kind == Kind::Schema && !alter.schemas.is_empty() {
        let message = "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS";
        return Err(Error::new(sqlstate::INVALID_GRANT_OPERATION, message));
    }
    let grantees = alter
        .grant
        .grantees
        .iter()
        .map(|name| if *name == RoleName::Public { Ok(Oid::INVALID) } else { ddl.role(name) })
        .collect::<Result<Vec<_>>>()?;
    for role in roles {
        if !acting.is_superuser && !privileges::is_member(&ddl.catalog(), acting.oid, role) {
            let name = ddl.catalog().role(role).map_or_else(String::new, |role| role.name.clone());
            let message = format!("must be member of role \"{name}\"");
            return Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message));
        }
        for schema in &schemas {
            change(ddl, alter, DefaultAcl { role, schema: *schema, kind }, &grantees)?;
        }
    }
    Ok(UtilityOutput::tag("ALTER DEFAULT PRIVILEGES"))
}

fn change(ddl: &Ddl<'_>, alter: &DefaultPrivileges, of: DefaultAcl, grantees: &[Oid]) -> Result<()> {
    let subject = Subject { oid: Oid::INVALID, kind: of.kind, owner: of.role, described: String::new() };
    if alter.grant.privileges.iter().any(|(_, columns)| !columns.is_empty()) {
        let message = "default privileges cannot be set for columns";
        return Err(Error::new(sqlstate::INVALID_GRANT_OPERATION, message));
    }
    let wanted = grant::wanted(&alter.grant, &subject)? & subject.kind.all();
    ddl.engine().lock_name(Oid::INVALID, &of.name(), false)?;
    let known = privileges::default_acl(&ddl.catalog(), &of);
    let initial = initial(&of);
    let mut acl = known.as_ref().map_or_else(|| initial.clone(), |(_, acl)| acl.clone());
    for grantee in grantees {
        grant::change_list(&mut acl, &alter.grant, &subject, *grantee, of.role, wanted)?;
    }
    sort(&mut acl);
    store(ddl, of, acl)
}

/// Takes from a list what it has for these roles.
pub(super) fn forget_roles(ddl: &Ddl<'_>, of: DefaultAcl, roles: &[Oid]) -> Result<()> {
    ddl.engine().lock_name(Oid::INVALID, &of.name(), false)?;
    let Some((_, mut acl)) = privileges::default_acl(&ddl.catalog(), &of) else { return Ok(()) };
    acl.0.retain(|item| !roles.contains(&item.grantee));
    store(ddl, of, acl)
}

/// Returns the list before the first change. The list for all schemas begins with the built-in default privileges. The list for one schema
/// begins empty, because it is added to the list for all schemas.
fn initial(of: &DefaultAcl) -> Acl {
    let subject = Subject { oid: Oid::INVALID, kind: of.kind, owner: of.role, described: String::new() };
    let mut initial = if of.schema == Oid::INVALID { subject.default_acl() } else { Acl::default() };
    sort(&mut initial);
    initial
}

/// Stores a list. A list equal to the one before the first change is not stored, and its object is dropped.
fn store(ddl: &Ddl<'_>, of: DefaultAcl, acl: Acl) -> Result<()> {
    let initial = initial(&of);
    match privileges::default_acl(&ddl.catalog(), &of) {
        Some((oid, _)) if acl == initial => ddl.drop(oid),
        Some((oid, _)) => ddl.replace(of.to_store(oid, &acl)?),
        None if acl == initial => Ok(()),
        None => ddl.create::<CustomDef>(of.to_store(ddl.allocate_oid(), &acl)?),
    }
}

/// The order that lists have which were made ahead of their objects.
fn sort(acl: &mut Acl) {
    acl.0.sort_by_key(|item| (item.grantee, item.grantor));
}

/// Gives a new object the privileges that ALTER DEFAULT PRIVILEGES has announced.
pub(super) fn apply(ddl: &Ddl<'_>, oid: Oid) -> Result<()> {
    let catalog = ddl.catalog();
    if !privileges::has_default_acls(&catalog) {
        return Ok(());
    }
    let Some(subject) = Subject::find(&catalog, oid) else { return Ok(()) };
    let schema = catalog.object(oid).and_then(privileges::schema_of).unwrap_or(Oid::INVALID);
    let of = |schema| DefaultAcl { role: subject.owner, schema, kind: subject.kind };
    let found = |schema| privileges::default_acl(&catalog, &of(schema)).map(|(_, acl)| acl);
    let usual = subject.default_acl();
    let mut acl = found(Oid::INVALID).unwrap_or_else(|| usual.clone());
    let added = if schema == Oid::INVALID { None } else { found(schema) };
    for item in added.into_iter().flat_map(|added| added.0) {
        grant::add(&mut acl, item.grantee, item.grantor, item.privileges, false);
        grant::add(&mut acl, item.grantee, item.grantor, item.grantable, true);
    }
    let mut usual = usual;
    sort(&mut usual);
    sort(&mut acl);
    if acl == usual { Ok(()) } else { grant::store(ddl, oid, &acl) }
}
