//! Who may change or drop an object: its owner, members of its owner, superusers.
//!
//! Asked before the statement does anything. What the statement names and is not there is left to the statement, which has
//! the words for it.

use base::{Error, Oid, Result, sqlstate};

use super::ddl::{Ddl, Found};
use super::drop::find_function;
use crate::catalogs::DATABASE_OID;
use crate::privileges::{Privileges, Subject};
use crate::tree::{AlterTableAction, ObjectKind, ObjectName, QualifiedName, ReindexTarget, RoleName, Statement};

/// 42501 if whoever runs the statement doesn't own what it changes.
pub(super) fn check(ddl: &Ddl<'_>, statement: &Statement) -> Result<()> {
    if ddl.state.is_superuser() {
        return Ok(());
    }
    match statement {
        Statement::CreateIndex(create) => relation(ddl, &create.table),
        Statement::CreateTrigger(create) => match ddl.find(&create.table)?.as_ref().and_then(Found::oid) {
            Some(oid) => ddl.state.require(oid, Privileges::TRIGGER),
            None => Ok(()),
        },
        Statement::AlterSequence(alter) => relation(ddl, &alter.name),
        Statement::AlterTable(alter) if alter.kind == ObjectKind::Type => attribute_owner(ddl, &alter.name),
        Statement::AlterTable(alter) => {
            relation(ddl, &alter.name)?;
            let schema = match ddl.find(&alter.name)? {
                Some(Found::Table(table)) => Some(table.schema),
                Some(Found::Sequence(sequence)) => Some(sequence.schema),
                _ => None,
            };
            alter.actions.iter().try_for_each(|action| match action {
                AlterTableAction::ChangeOwner(owner) => becomes_owner(ddl, owner, schema),
                _ => Ok(()),
            })
        }
        Statement::AlterEnum(alter) => of_type(ddl, &alter.name),
        Statement::AlterDomain(alter) => of_type(ddl, &alter.name),
        Statement::Rename(rename) => object(ddl, &rename.object),
        Statement::AlterOwner { object: named, new_owner } => {
            object(ddl, named)?;
            let schema = match ddl.find(&named.name) {
                Ok(Some(Found::Table(table))) => Some(table.schema),
                Ok(Some(Found::Sequence(sequence))) => Some(sequence.schema),
                _ => None,
            };
            becomes_owner(ddl, new_owner, schema)
        }
        Statement::AlterObjectSchema { object: named, .. } | Statement::Comment { object: named, .. } => {
            object(ddl, named)
        }
        Statement::Drop(drop) => drop.objects.iter().try_for_each(|named| object(ddl, named)),
        Statement::Reindex(reindex) => match &reindex.target {
            ReindexTarget::Table(name) | ReindexTarget::Index(name) => relation(ddl, name),
            _ => superuser_only("reindex"),
        },
        Statement::AlterFunction(alter) => {
            let kind = if alter.is_procedure { ObjectKind::Procedure } else { ObjectKind::Function };
            let (name, arguments) = (alter.function.name.clone(), alter.function.arguments.clone());
            object(ddl, &ObjectName { kind, name, part: None, arguments })
        }
        Statement::RefreshMaterializedView { view, .. } => relation(ddl, view),
        Statement::CreateView(create) if create.replace => relation(ddl, &create.name),
        Statement::CreateSchema(create) => {
            let catalog = ddl.catalog();
            if let Some(database) = Subject::find(&catalog, DATABASE_OID) {
                database.require(&catalog, ddl.owner(), Privileges::CREATE)?;
            }
            create.owner.as_ref().map_or(Ok(()), |owner| becomes_owner(ddl, owner, None))
        }
        _ => Ok(()),
    }
}

fn superuser_only(what: &str) -> Result<()> {
    Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, format!("must be superuser to {what}")))
}

/// A role can be given something only by its members, and only where it may make such things itself.
fn becomes_owner(ddl: &Ddl<'_>, name: &RoleName, schema: Option<Oid>) -> Result<()> {
    let role = ddl.role(name)?;
    let catalog = ddl.catalog();
    if crate::session::is_member(&catalog, ddl.owner(), role) {
        let schema = schema.and_then(|schema| Subject::find(&catalog, schema));
        return schema.map_or(Ok(()), |schema| schema.require(&catalog, role, Privileges::CREATE));
    }
    let shown = catalog.role(role).map_or("", |role| role.name.as_str());
    Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, format!("must be member of role \"{shown}\"")))
}

fn require_owner(ddl: &Ddl<'_>, oid: Oid) -> Result<()> {
    let catalog = ddl.catalog();
    match Subject::find(&catalog, oid) {
        Some(subject) => subject.require_owner(&catalog, ddl.owner()),
        None => Ok(()),
    }
}

/// The relation, or the table of an index.
fn relation(ddl: &Ddl<'_>, name: &QualifiedName) -> Result<()> {
    match ddl.find(name)? {
        Some(Found::Index(index)) => {
            let catalog = ddl.catalog();
            match Subject::find(&catalog, index.table) {
                Some(table) if !table.is_owned_by(&catalog, ddl.owner()) => {
                    Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, format!("must be owner of index {}", index.name)))
                }
                _ => Ok(()),
            }
        }
        Some(Found::Table(table)) => require_owner(ddl, table.oid),
        Some(Found::Sequence(sequence)) => require_owner(ddl, sequence.oid),
        Some(Found::System(name)) => {
            let message = format!("permission denied: \"{name}\" is a system catalog");
            Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message))
        }
        // Whatever is tried on it as a relation, the statement refuses.
        Some(Found::Composite(_)) | None => Ok(()),
    }
}

fn object(ddl: &Ddl<'_>, named: &ObjectName) -> Result<()> {
    match named.kind {
        ObjectKind::Schema => match ddl.view().schema_named(&named.name.name) {
            Ok(oid) => require_owner(ddl, oid),
            Err(_) => Ok(()),
        },
        ObjectKind::Function | ObjectKind::Procedure | ObjectKind::Routine => match find_function(ddl, named) {
            Ok(function) => {
                let catalog = ddl.catalog();
                let described = format!("{} {}", super::rename::kind_words(named.kind).to_lowercase(), named.name);
                let subject = Subject::find(&catalog, function.oid).map(|subject| Subject { described, ..subject });
                subject.map_or(Ok(()), |subject| subject.require_owner(&catalog, ddl.owner()))
            }
            Err(_) => Ok(()),
        },
        ObjectKind::Type | ObjectKind::Domain => of_type(ddl, &named.name),
        ObjectKind::Attribute => attribute_owner(ddl, &named.name),
        // Asked where the role is at hand.
        ObjectKind::Role => Ok(()),
        ObjectKind::Database => superuser_only("change this"),
        _ => relation(ddl, &named.name),
    }
}

fn of_type(ddl: &Ddl<'_>, name: &QualifiedName) -> Result<()> {
    let oid = crate::types::reg_types::parse_reg(&ddl.view(), &name.to_string(), crate::types::oids::REGTYPE);
    let Ok(oid) = oid else { return Ok(()) };
    let catalog = ddl.catalog();
    let described = format!("type {}", crate::types::format_type_name(&ddl.view(), Oid(oid)));
    let subject = Subject::find(&catalog, Oid(oid)).map(|subject| Subject { described, ..subject });
    subject.map_or(Ok(()), |subject| subject.require_owner(&catalog, ddl.owner()))
}

/// Where attributes change, a composite type is a relation, and messages call it a table.
fn attribute_owner(ddl: &Ddl<'_>, name: &QualifiedName) -> Result<()> {
    let Some(def) = super::user_type::find(ddl, name)? else { return relation(ddl, name) };
    let catalog = ddl.catalog();
    let subject = Subject::find(&catalog, def.oid)
        .map(|subject| Subject { described: format!("table {}", name.name), ..subject });
    subject.map_or(Ok(()), |subject| subject.require_owner(&catalog, ddl.owner()))
}
