//! GRANT and REVOKE of privileges.

use base::{Error, Oid, Result, sqlstate};
use engine::catalog::Object;

use super::ddl::{Ddl, Found, system_refusal};
use super::drop::find_function;
use crate::catalogs::DATABASE_OID;
use crate::client::Severity;
use crate::privileges::{self, Acl, AclItem, Kind, Privileges, Subject};
use crate::session::UtilityOutput;
use crate::tree::{Grant, ObjectKind, ObjectName, RoleName};
use crate::types::oids;
use crate::types::reg_types::parse_reg;

/// GRANT and REVOKE.
pub(super) fn grant(ddl: &mut Ddl<'_>, grant: &Grant) -> Result<UtilityOutput> {
    let grantees = grant
        .grantees
        .iter()
        .map(|name| if *name == RoleName::Public { Ok(Oid::INVALID) } else { ddl.role(name) })
        .collect::<Result<Vec<_>>>()?;
    for subject in subjects(ddl, grant)? {
        let wanted = wanted(grant, &subject)?;
        change(ddl, grant, &subject, wanted, &grantees)?;
    }
    Ok(UtilityOutput::tag(if grant.is_grant { "GRANT" } else { "REVOKE" }))
}

/// What the statement is about.
fn subjects(ddl: &Ddl<'_>, grant: &Grant) -> Result<Vec<Subject>> {
    let catalog = ddl.catalog();
    let oids = if grant.all_in_schema {
        let mut oids = Vec::new();
        for object in &grant.objects {
            let schema = ddl.view().schema_named(&object.name.name)?;
            let mut found: Vec<Oid> = catalog
                .objects()
                .filter(|object| privileges::schema_of(object) == Some(schema) && is_of_kind(object, grant.kind))
                .map(Object::oid)
                .collect();
            found.sort();
            oids.extend(found);
        }
        oids
    } else {
        grant.objects.iter().map(|object| find(ddl, grant.kind, object)).collect::<Result<_>>()?
    };
    oids.into_iter()
        .map(|oid| {
            Subject::find(&catalog, oid)
                .ok_or_else(|| Error::unsupported("privileges on this object are not supported"))
        })
        .collect()
}

fn is_of_kind(object: &Object, kind: ObjectKind) -> bool {
    match kind {
        ObjectKind::Table => matches!(object, Object::Table(_)),
        ObjectKind::Sequence => matches!(object, Object::Sequence(_)),
        ObjectKind::Function => matches!(object, Object::Function(function) if !function.is_procedure()),
        ObjectKind::Procedure => matches!(object, Object::Function(function) if function.is_procedure()),
        ObjectKind::Routine => matches!(object, Object::Function(_)),
        _ => false,
    }
}

fn find(ddl: &Ddl<'_>, kind: ObjectKind, object: &ObjectName) -> Result<Oid> {
    match kind {
        ObjectKind::Table | ObjectKind::Sequence => match ddl.find(&object.name)? {
            None => {
                if let Some(schema) = &object.name.schema {
                    ddl.view().schema_named(schema)?;
                }
                Err(ddl.no_relation(&object.name))
            }
            Some(Found::System(name)) => Err(system_refusal(&name)),
            Some(Found::Index(index)) => {
                Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{}\" is an index", index.name)))
            }
            Some(Found::Table(table)) if kind == ObjectKind::Sequence => {
                Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{}\" is not a sequence", table.name)))
            }
            Some(Found::Table(table)) => Ok(table.oid),
            Some(Found::Sequence(sequence)) => Ok(sequence.oid),
        },
        ObjectKind::Schema => ddl.view().schema_named(&object.name.name),
        ObjectKind::Function | ObjectKind::Procedure | ObjectKind::Routine => Ok(find_function(ddl, object)?.oid),
        ObjectKind::Database if object.name.name.as_str() == ddl.state.database_name() => Ok(DATABASE_OID),
        ObjectKind::Database => {
            let message = format!("database \"{}\" does not exist", object.name.name);
            Err(Error::new(sqlstate::INVALID_CATALOG_NAME, message))
        }
        ObjectKind::Type | ObjectKind::Domain => {
            parse_reg(&ddl.view(), &object.name.to_string(), oids::REGTYPE).map(Oid)
        }
        _ => Err(Error::unsupported("privileges on this kind of object are not supported")),
    }
}

/// The privileges that the statement names, as far as objects of this kind have them.
pub(super) fn wanted(grant: &Grant, subject: &Subject) -> Result<Privileges> {
    if grant.privileges.is_empty() {
        return Ok(subject.kind.all());
    }
    let mut wanted = Privileges::NONE;
    for (word, columns) in &grant.privileges {
        if !columns.is_empty() {
            return Err(Error::unsupported("privileges on columns are not supported"));
        }
        let Some(word) = word else { return Ok(subject.kind.all()) };
        let privilege = Privileges::named(word)
            .ok_or_else(|| Error::new(sqlstate::SYNTAX_ERROR, format!("unrecognized privilege type \"{word}\"")))?;
        // As PostgreSQL: sequences may be named as tables are, with the privileges of either.
        let as_table = subject.kind == Kind::Sequence && grant.kind == ObjectKind::Table;
        let is_known = subject.kind.all().contains(privilege) || as_table && Kind::Relation.all().contains(privilege);
        if !is_known {
            let kind = match subject.kind {
                Kind::Relation if grant.kind == ObjectKind::Table && subject.described.starts_with("table") => "table",
                Kind::Relation => "relation",
                Kind::Sequence => "sequence",
                Kind::Schema => "schema",
                Kind::Function if subject.described.starts_with("procedure") => "procedure",
                Kind::Function => "function",
                Kind::Type => "type",
                Kind::Database => "database",
                Kind::Language => "language",
            };
            let word = word.to_ascii_uppercase();
            let message = format!("invalid privilege type {word} for {kind}");
            return Err(Error::new(sqlstate::INVALID_GRANT_OPERATION, message));
        }
        wanted = wanted | (privilege & subject.kind.all());
    }
    Ok(wanted)
}

fn change(ddl: &mut Ddl<'_>, grant: &Grant, subject: &Subject, wanted: Privileges, grantees: &[Oid]) -> Result<()> {
    let catalog = ddl.catalog();
    let role = ddl.owner();
    let grantable = subject.grantable_by(&catalog, role);
    let allowed = wanted & grantable;
    if allowed.is_empty() {
        if subject.privileges_of(&catalog, role).is_empty() {
            return Err(subject.denied());
        }
        let name = subject.described.split_once(' ').map_or("", |(_, name)| name);
        let (code, were) = if grant.is_grant {
            (sqlstate::WARNING_PRIVILEGE_NOT_GRANTED, "were granted")
        } else {
            (sqlstate::WARNING_PRIVILEGE_NOT_REVOKED, "could be revoked")
        };
        ddl.tell(Severity::Warning, &Error::new(code, format!("no privileges {were} for \"{name}\"")));
        return Ok(());
    }
    // What an owner or superuser grants comes from the owner.
    let grantor = if subject.is_owned_by(&catalog, role) { subject.owner } else { role };
    let mut acl = subject.acl(&catalog);
    for grantee in grantees {
        change_list(&mut acl, grant, subject, *grantee, grantor, allowed)?;
    }
    store(ddl, subject.oid, &acl)
}

/// Grants or revokes in a list.
pub(super) fn change_list(
    acl: &mut Acl,
    grant: &Grant,
    subject: &Subject,
    grantee: Oid,
    grantor: Oid,
    allowed: Privileges,
) -> Result<()> {
    if !grant.is_grant {
        return revoke(acl, subject, grantee, grantor, allowed, grant);
    }
    if grant.grant_option && grantee == Oid::INVALID {
        return Err(Error::new(sqlstate::INVALID_GRANT_OPERATION, "grant options can only be granted to roles"));
    }
    add(acl, grantee, grantor, allowed, grant.grant_option);
    Ok(())
}

pub(super) fn add(acl: &mut Acl, grantee: Oid, grantor: Oid, privileges: Privileges, with_option: bool) {
    let grantable = if with_option { privileges } else { Privileges::NONE };
    match acl.0.iter_mut().find(|item| item.grantee == grantee && item.grantor == grantor) {
        Some(item) => {
            item.privileges = item.privileges | privileges;
            item.grantable = item.grantable | grantable;
        }
        None => acl.0.push(AclItem { grantee, grantor, privileges, grantable }),
    }
}

/// Takes back what `grantor` gave to `grantee`, and with CASCADE what was granted on from there.
fn revoke(
    acl: &mut Acl,
    subject: &Subject,
    grantee: Oid,
    grantor: Oid,
    privileges: Privileges,
    grant: &Grant,
) -> Result<()> {
    let only_option = grant.grant_option;
    let Some(item) = acl.0.iter_mut().find(|item| item.grantee == grantee && item.grantor == grantor) else {
        return Ok(());
    };
    let lost_option = item.grantable & privileges;
    item.grantable = item.grantable & !privileges;
    if !only_option {
        item.privileges = item.privileges & !privileges;
    }
    acl.0
        .retain(|item| !item.privileges.is_empty() || (item.grantee == subject.owner && item.grantor == subject.owner));
    // The owner's own right to grant is no item's.
    if lost_option.is_empty() || grantee == subject.owner {
        return Ok(());
    }
    let still =
        acl.0.iter().filter(|item| item.grantee == grantee).fold(Privileges::NONE, |all, item| all | item.grantable);
    let lost = lost_option & !still;
    let dependent: Vec<(Oid, Privileges)> = acl
        .0
        .iter()
        .filter(|item| item.grantor == grantee && !(item.privileges & lost).is_empty())
        .map(|item| (item.grantee, item.privileges & lost))
        .collect();
    if !dependent.is_empty() && !grant.cascade {
        return Err(Error::new(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, "dependent privileges exist")
            .hint("Use CASCADE to revoke them too."));
    }
    let whole = Grant { grant_option: false, ..grant.clone() };
    for (next, privileges) in dependent {
        revoke(acl, subject, next, grantee, privileges, &whole)?;
    }
    Ok(())
}

/// Writes down what has been granted on an object.
pub(super) fn store(ddl: &Ddl<'_>, subject: Oid, acl: &Acl) -> Result<()> {
    match privileges::stored_object(&ddl.catalog(), subject) {
        Some(oid) => ddl.replace(privileges::to_store(oid, subject, acl)?),
        None => {
            let oid = ddl.allocate_oid();
            ddl.create(privileges::to_store(oid, subject, acl)?)
        }
    }
}

/// Takes back all that a role has of an object, and what it has given.
pub(super) fn forget_role(ddl: &Ddl<'_>, subject: Oid, role: Oid) -> Result<()> {
    let Some(mut acl) = privileges::stored(&ddl.catalog(), subject) else { return Ok(()) };
    acl.0.retain(|item| item.grantee != role && item.grantor != role);
    store(ddl, subject, &acl)
}

/// Gives what an old owner has of an object to the new one.
pub(super) fn owner_changed(ddl: &Ddl<'_>, subject: Oid, old: Oid, new: Oid) -> Result<()> {
    let Some(mut acl) = privileges::stored(&ddl.catalog(), subject) else { return Ok(()) };
    let renamed = |role: Oid| if role == old { new } else { role };
    let mut merged = Acl::default();
    for item in acl.0.drain(..) {
        let (grantee, grantor) = (renamed(item.grantee), renamed(item.grantor));
        add(&mut merged, grantee, grantor, item.privileges, false);
        if let Some(last) = merged.0.iter_mut().find(|it| it.grantee == grantee && it.grantor == grantor) {
            last.grantable = last.grantable | item.grantable;
        }
    }
    store(ddl, subject, &merged)
}
