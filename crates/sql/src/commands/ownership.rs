//! The roles that may change or drop an object: its owner, members of its owner, superusers. The owner of an object's schema may drop it, too.
//!
//! Asked before the statement does anything. An object that does not exist is left to the statement, which has
//! the words for it.

use base::{Error, Oid, Result, sqlstate};
use plan::privileges::{Privileges, Subject};
use syntax::tree::{AlterTableAction, ObjectKind, ObjectName, QualifiedName, ReindexTarget, RoleName, Statement};

use super::ddl::{Ddl, Found};
use super::drop::find_function;

/// 42501 if the role that runs the statement does not own what it changes.
pub(super) fn check(ddl: &Ddl<'_>, statement: &Statement) -> Result<()> {
    if ddl.state.is_superuser() {
        return Ok(());
    }
    match statement {
        Statement::CreateIndex(create) => {
            relation(ddl, &create.table)?;
            match ddl.find(&create.table)? {
                Some(Found::Table(table)) => ddl.require_create(table.schema),
                _ => Ok(()),
            }
        }
        Statement::CreateTrigger(create) => match ddl.find(&create.table)?.as_ref().and_then(Found::oid) {
            Some(oid) => ddl.state.require(oid, Privileges::TRIGGER),
            None => Ok(()),
        },
        Statement::AlterSequence(alter) => relation(ddl, &alter.name),
        Statement::AlterTable(alter) if alter.kind == ObjectKind::Type => attribute_owner(ddl, &alter.name),
        Statement::AlterTable(alter) => {
            relation(ddl, &alter.name)?;
            let place = match ddl.find(&alter.name)? {
                Some(Found::Table(table)) => Some((table.schema, table.owner)),
                Some(Found::Sequence(sequence)) => Some((sequence.schema, sequence.owner)),
                _ => None,
            };
            alter.actions.iter().try_for_each(|action| match action {
                AlterTableAction::ChangeOwner(owner) => becomes_owner_in(ddl, owner, place),
                _ => Ok(()),
            })
        }
        Statement::AlterEnum(alter) => of_type(ddl, &alter.name),
        Statement::AlterDomain(alter) => of_type(ddl, &alter.name),
        Statement::Rename(rename) => {
            object(ddl, &rename.object)?;
            match rename.object.kind {
                ObjectKind::Schema => require_create_in_database(ddl),
                // To rename a type, its owner needs no right to create in the schema. Databases are in none.
                ObjectKind::Database | ObjectKind::Type | ObjectKind::Domain => Ok(()),
                _ => match place_of(ddl, &rename.object)? {
                    Some((schema, _)) => ddl.require_create(schema),
                    None => Ok(()),
                },
            }
        }
        // To let a database keep its owner needs no right.
        Statement::AlterOwner { object: named, new_owner }
            if named.kind == ObjectKind::Database
                && ddl.role(new_owner)? == ddl.database(&named.name.name)?.owner =>
        {
            Ok(())
        }
        Statement::AlterOwner { object: named, new_owner } => {
            object(ddl, named)?;
            if named.kind == ObjectKind::Database {
                becomes_owner(ddl, new_owner, None)?;
                return require_create_database(ddl, "change owner of database");
            }
            becomes_owner_in(ddl, new_owner, place_of(ddl, named)?)?;
            let catalog = ddl.catalog();
            let found = Some(named).filter(|named| named.kind == ObjectKind::Schema);
            let found = found.and_then(|named| ddl.view().schema_named(&named.name.name).ok());
            match found.and_then(|oid| Subject::find(&catalog, oid)) {
                Some(schema) if schema.owner != ddl.role(new_owner)? => require_create_in_database(ddl),
                _ => Ok(()),
            }
        }
        Statement::AlterObjectSchema { object: named, .. } => object(ddl, named),
        Statement::Comment { object: named, .. } => object_or_part(ddl, named),
        Statement::Drop(drop) => drop.objects.iter().try_for_each(|named| match place_of(ddl, named)? {
            Some((schema, _)) if owns_schema(ddl, schema) => Ok(()),
            None if is_missing_trigger(ddl, named)? => Ok(()),
            _ => object_or_part(ddl, named),
        }),
        Statement::Reindex(reindex) => match &reindex.target {
            ReindexTarget::Table(name) | ReindexTarget::Index(name) => relation(ddl, name),
            // The tables in it need not be the role's.
            ReindexTarget::Schema(name) => match ddl.view().schema_named(name) {
                Ok(oid) => require_owner_as(ddl, oid, format!("schema {name}")),
                Err(_) => Ok(()),
            },
            // The statement itself refuses another database.
            ReindexTarget::System(name) | ReindexTarget::Database(name) if name.as_str() == ddl.state.database_name() => {
                require_owner(ddl, ddl.state.database_oid())
            }
            ReindexTarget::System(_) | ReindexTarget::Database(_) => Ok(()),
        },
        Statement::AlterFunction(alter) => {
            let kind = if alter.is_procedure { ObjectKind::Procedure } else { ObjectKind::Function };
            let (name, arguments) = (alter.function.name.clone(), alter.function.arguments.clone());
            object(ddl, &ObjectName { kind, name, part: None, arguments })
        }
        Statement::RefreshMaterializedView { view, .. } => relation(ddl, view),
        Statement::CreateView(create) if create.replace => relation(ddl, &create.name),
        Statement::CreateSchema(create) => {
            require_create_in_database(ddl)?;
            create.owner.as_ref().map_or(Ok(()), |owner| becomes_owner(ddl, owner, None))
        }
        // CREATE on the schema is enough; `Ddl` asks for that where it finds the schema.
        Statement::CreateTable(_)
        | Statement::CreateTableAs(_)
        | Statement::CreateView(_)
        | Statement::CreateSequence(_)
        | Statement::CreateEnum { .. }
        | Statement::CreateComposite { .. }
        | Statement::CreateDomain(_)
        // It asks who owns the function that it replaces.
        | Statement::CreateFunction(_) => Ok(()),
        // There is one extension, and it is there.
        Statement::CreateExtension { .. } => Ok(()),
        // Where the role, the database or what is granted is at hand.
        Statement::CreateRole(_)
        | Statement::AlterRole(_)
        | Statement::AlterRoleSet { .. }
        | Statement::AlterDatabase { .. }
        | Statement::AlterDatabaseSet { .. }
        | Statement::DropDatabase { .. }
        | Statement::DropRole { .. }
        | Statement::Grant(_)
        | Statement::GrantRole(_)
        | Statement::AlterDefaultPrivileges(_)
        | Statement::ReassignOwned { .. }
        | Statement::DropOwned { .. } => Ok(()),
        // Statements that they run are checked as anywhere.
        Statement::Do { .. } | Statement::Call(_) => Ok(()),
        // They run elsewhere, each of which asks for what it needs; here they are refused.
        Statement::Select(_)
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_)
        | Statement::Transaction(_)
        | Statement::Prepare(_)
        | Statement::Deallocate(_)
        | Statement::DeclareCursor(_)
        | Statement::Fetch(_)
        | Statement::ClosePortal(_)
        | Statement::Explain(_)
        | Statement::Vacuum(_)
        | Statement::Checkpoint
        | Statement::Set(_)
        | Statement::Show(_)
        | Statement::Discard(_)
        | Statement::Listen(_)
        | Statement::Unlisten(_)
        | Statement::Notify { .. }
        | Statement::Lock(_)
        | Statement::SetConstraints { .. }
        | Statement::Load(_)
        | Statement::Truncate(_)
        | Statement::AlterSystem(_) => superuser_only("run this statement here"),
        Statement::CreateDatabase { .. } => require_create_database(ddl, "create database"),
        // Only functions get here, and in functions these statements are refused (0A000).
        Statement::Copy(_) | Statement::Execute(_) => Ok(()),
        // They are not supported.
        Statement::Cluster { .. } | Statement::Unsupported(_) => Ok(()),
    }
}

fn superuser_only(what: &str) -> Result<()> {
    Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, format!("must be superuser to {what}")))
}

/// 42501 for a role that may not make schemas in the database.
pub(super) fn require_create_in_database(ddl: &Ddl<'_>) -> Result<()> {
    let catalog = ddl.catalog();
    match Subject::find(&catalog, catalog.database()) {
        Some(database) => database.require(&catalog, ddl.owner(), Privileges::CREATE),
        None => Ok(()),
    }
}

/// As [`object`]; where a part of a relation is meant, messages call what it belongs to a relation.
fn object_or_part(ddl: &Ddl<'_>, named: &ObjectName) -> Result<()> {
    if !matches!(named.kind, ObjectKind::Column | ObjectKind::TableConstraint | ObjectKind::Trigger) {
        return object(ddl, named);
    }
    match ddl.find(&named.name)? {
        Some(Found::Table(table)) => require_owner_as(ddl, table.oid, format!("relation {}", table.name)),
        Some(Found::Composite(def)) => require_owner_as(ddl, def.oid, format!("relation {}", def.name)),
        _ => object(ddl, named),
    }
}

/// 42501 for who may not make databases.
fn require_create_database(ddl: &Ddl<'_>, what: &str) -> Result<()> {
    if ddl.catalog().role(ddl.owner()).is_some_and(|role| role.create_database) {
        return Ok(());
    }
    Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, format!("permission denied to {what}")))
}

/// A role can be given something only by its members, and only where it may make such things itself.
fn becomes_owner(ddl: &Ddl<'_>, name: &RoleName, schema: Option<Oid>) -> Result<()> {
    let role = ddl.role(name)?;
    let catalog = ddl.catalog();
    if ddl.state.is_superuser() || plan::privileges::is_member(&catalog, ddl.owner(), role) {
        return schema.map_or(Ok(()), |schema| ddl.require_create_as(schema, role));
    }
    let shown = catalog.role(role).map_or("", |role| role.name.as_str());
    Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, format!("must be member of role \"{shown}\"")))
}

/// As [`becomes_owner`], of an object in a schema. Nothing is asked where the owner stays.
fn becomes_owner_in(ddl: &Ddl<'_>, name: &RoleName, place: Option<(Oid, Oid)>) -> Result<()> {
    match place {
        Some((_, owner)) if ddl.role(name)? == owner => Ok(()),
        place => becomes_owner(ddl, name, place.map(|(schema, _)| schema)),
    }
}

/// 42501 unless the role owns the object.
pub(super) fn require_owner(ddl: &Ddl<'_>, oid: Oid) -> Result<()> {
    let described = Subject::find(&ddl.catalog(), oid).map_or_else(|| format!("object {oid}"), |found| found.described);
    require_owner_as(ddl, oid, described)
}

/// 42501 unless the role owns the object. An object that is no subject of privileges is the server's own, and is left to superusers.
fn require_owner_as(ddl: &Ddl<'_>, oid: Oid, described: String) -> Result<()> {
    let catalog = ddl.catalog();
    match Subject::find(&catalog, oid) {
        Some(subject) => Subject { described, ..subject }.require_owner(&catalog, ddl.owner()),
        None if ddl.state.is_superuser() => Ok(()),
        None => Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, format!("must be owner of {described}"))),
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
        // The statement itself refuses a composite type where it needs a relation.
        Some(Found::Composite(_)) | None => Ok(()),
    }
}

/// The schema and the owner of an object, if it is in a schema.
fn place_of(ddl: &Ddl<'_>, named: &ObjectName) -> Result<Option<(Oid, Oid)>> {
    Ok(match named.kind {
        ObjectKind::Function | ObjectKind::Procedure | ObjectKind::Routine => {
            find_function(ddl, named).ok().map(|function| (function.schema, function.owner))
        }
        ObjectKind::Type | ObjectKind::Domain => {
            if let Some(def) = super::user_type::find(ddl, &named.name)? {
                return Ok(Some((def.schema, def.owner)));
            }
            // A table's row type.
            match ddl.find(&named.name) {
                Ok(Some(Found::Table(table))) => Some((table.schema, table.owner)),
                _ => None,
            }
        }
        ObjectKind::Table
        | ObjectKind::View
        | ObjectKind::MaterializedView
        | ObjectKind::Sequence
        | ObjectKind::Index => match ddl.find(&named.name) {
            Ok(Some(Found::Table(table))) => Some((table.schema, table.owner)),
            Ok(Some(Found::Sequence(sequence))) => Some((sequence.schema, sequence.owner)),
            Ok(Some(Found::Index(index))) => {
                let table = ddl.catalog().table(index.table).map(|table| table.owner);
                table.map(|owner| (index.schema, owner))
            }
            _ => None,
        },
        _ => None,
    })
}

/// Whether a trigger is meant that its table does not have.
fn is_missing_trigger(ddl: &Ddl<'_>, named: &ObjectName) -> Result<bool> {
    let (ObjectKind::Trigger, Some(name)) = (named.kind, &named.part) else { return Ok(false) };
    Ok(match ddl.find(&named.name)? {
        Some(Found::Table(table)) => !table.triggers.iter().any(|trigger| trigger.name == **name),
        _ => false,
    })
}

/// Whether the role owns a schema: then it may drop what others own there.
fn owns_schema(ddl: &Ddl<'_>, schema: Oid) -> bool {
    let catalog = ddl.catalog();
    Subject::find(&catalog, schema).is_some_and(|schema| schema.is_owned_by(&catalog, ddl.owner()))
}

fn object(ddl: &Ddl<'_>, named: &ObjectName) -> Result<()> {
    match named.kind {
        ObjectKind::Schema => match ddl.view().schema_named(&named.name.name) {
            Ok(oid) => require_owner_as(ddl, oid, format!("schema {}", named.name.name)),
            Err(_) => Ok(()),
        },
        ObjectKind::Function | ObjectKind::Procedure | ObjectKind::Routine => match find_function(ddl, named) {
            Ok(function) => {
                let described = format!("{} {}", super::rename::kind_words(named.kind).to_lowercase(), named.name);
                require_owner_as(ddl, function.oid, described)
            }
            Err(_) => Ok(()),
        },
        ObjectKind::Type | ObjectKind::Domain | ObjectKind::DomainConstraint => of_type(ddl, &named.name),
        ObjectKind::Attribute => attribute_owner(ddl, &named.name),
        // Asked where the role is at hand.
        ObjectKind::Role => Ok(()),
        ObjectKind::Database => require_owner(ddl, ddl.database(&named.name.name)?.oid),
        _ => relation(ddl, &named.name),
    }
}

fn of_type(ddl: &Ddl<'_>, name: &QualifiedName) -> Result<()> {
    let oid = types::reg_types::parse_reg(&ddl.view(), &name.to_string(), types::oids::REGTYPE);
    let Ok(oid) = oid else { return Ok(()) };
    require_owner_as(ddl, Oid(oid), format!("type {}", types::format_type_name(&ddl.view(), Oid(oid))))
}

/// Where attributes change, a composite type is a relation, and messages call it a table.
fn attribute_owner(ddl: &Ddl<'_>, name: &QualifiedName) -> Result<()> {
    let Some(def) = super::user_type::find(ddl, name)? else { return relation(ddl, name) };
    require_owner_as(ddl, def.oid, format!("table {}", name.name))
}
