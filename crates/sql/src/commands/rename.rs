//! ALTER ... RENAME, SET SCHEMA and OWNER TO.

use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{Error, Oid, Result, missing, sqlstate};
use plan::user_types;
use schema::catalog::{
    ConstraintKind, DatabaseDef, FunctionDef, INFORMATION_SCHEMA, IndexDef, Object, PG_CATALOG_SCHEMA, RelationKind,
    RoleDef, SchemaDef, SequenceDef, TableDef,
};
use syntax::tree::{Name, ObjectKind, ObjectName, QualifiedName, Rename, RoleName};

use super::ddl::{Ddl, Found, name_is_taken, role_is_taken, schema_is_taken, system_refusal};
use super::dependencies::Renaming;
use super::drop::{hold_function, hold_schema, input_types};
use super::index::is_system_column;
use super::overloads::Callers;
use super::restate::{naming, naming_column};
use super::role::hold_role;
use super::{composite, constraint};
use crate::state::{CHANGE_LOCK, DROP_LOCK, UtilityOutput};

/// ALTER ... RENAME.
pub(super) fn rename(ddl: &mut Ddl<'_>, rename: &Rename) -> Result<UtilityOutput> {
    let object = &rename.object;
    let new = &rename.new_name;
    let tag = match object.kind {
        ObjectKind::Table
        | ObjectKind::View
        | ObjectKind::Index
        | ObjectKind::Sequence
        | ObjectKind::MaterializedView
        | ObjectKind::ForeignTable => {
            rename_relation(ddl, object, new, rename.if_exists)?;
            format!("ALTER {}", kind_words(object.kind))
        }
        ObjectKind::Column => {
            rename_column(ddl, rename)?;
            format!("ALTER {}", kind_words(rename.relation_kind))
        }
        ObjectKind::Attribute if !super::composite::is_table(ddl, &object.name)? => {
            super::composite::rename_attribute(ddl, rename)?;
            "ALTER TYPE".to_owned()
        }
        ObjectKind::Attribute => {
            rename_column(ddl, rename)?;
            "ALTER TYPE".to_owned()
        }
        ObjectKind::TableConstraint => {
            rename_constraint(ddl, rename)?;
            "ALTER TABLE".to_owned()
        }
        ObjectKind::Schema => {
            rename_schema(ddl, &object.name.name, new)?;
            "ALTER SCHEMA".to_owned()
        }
        ObjectKind::Function | ObjectKind::Procedure | ObjectKind::Routine => {
            rename_function(ddl, object, new)?;
            format!("ALTER {}", kind_words(object.kind))
        }
        ObjectKind::Database => {
            super::database::rename(ddl, &object.name.name, new)?;
            "ALTER DATABASE".to_owned()
        }
        ObjectKind::Trigger => {
            let old = object.part.as_deref().unwrap_or_default();
            super::trigger::rename(ddl, &object.name, old, new)?;
            "ALTER TRIGGER".to_owned()
        }
        ObjectKind::Role => {
            rename_role(ddl, &object.name.name, new)?;
            "ALTER ROLE".to_owned()
        }
        ObjectKind::Type | ObjectKind::Domain => {
            super::user_type::rename(ddl, object, new)?;
            format!("ALTER {}", kind_words(object.kind))
        }
        ObjectKind::DomainConstraint => {
            super::user_type::rename_constraint(ddl, object, new)?;
            "ALTER DOMAIN".to_owned()
        }
        _ => return Err(Error::unsupported("this form of ALTER ... RENAME is not supported")),
    };
    Ok(UtilityOutput::tag(tag))
}

/// The key words of a kind of objects.
pub(super) fn kind_words(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::View => "VIEW",
        ObjectKind::Index => "INDEX",
        ObjectKind::Sequence => "SEQUENCE",
        ObjectKind::MaterializedView => "MATERIALIZED VIEW",
        ObjectKind::Function => "FUNCTION",
        ObjectKind::Procedure => "PROCEDURE",
        ObjectKind::Routine => "ROUTINE",
        ObjectKind::Schema => "SCHEMA",
        ObjectKind::Role => "ROLE",
        ObjectKind::Type => "TYPE",
        ObjectKind::Domain => "DOMAIN",
        _ => "TABLE",
    }
}

/// Returns the relation that a name stands for, locked for a change; none if it does not exist and `if_exists` is set.
fn relation(ddl: &mut Ddl<'_>, object: &ObjectName, kind: ObjectKind, if_exists: bool) -> Result<Option<Found>> {
    let found = match ddl.find_locked(&object.name, LockMode::AccessExclusive)? {
        Some(Found::System(name)) => return Err(system_refusal(&name)),
        Some(found) => found,
        None if if_exists => {
            ddl.notice_skipped(&missing::relation(&object.name));
            return Ok(None);
        }
        None => return Err(ddl.no_relation(&object.name)),
    };
    let is = |wanted: RelationKind| matches!(&found, Found::Table(table) if table.kind == wanted);
    let (fits, what) = match kind {
        ObjectKind::View => (is(RelationKind::View), "a view"),
        ObjectKind::MaterializedView => (is(RelationKind::MaterializedView), "a materialized view"),
        ObjectKind::Sequence => (matches!(found, Found::Sequence(_)), "a sequence"),
        // ALTER INDEX ... RENAME takes any relation, as ALTER TABLE does.
        ObjectKind::Index => (true, "an index"),
        ObjectKind::ForeignTable => (false, "a foreign table"),
        _ => (true, ""),
    };
    if !fits {
        return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{}\" is not {what}", found.name())));
    }
    Ok(Some(found))
}

fn rename_relation(ddl: &mut Ddl<'_>, object: &ObjectName, new: &Name, if_exists: bool) -> Result<()> {
    let Some(found) = relation(ddl, object, object.kind, if_exists)? else { return Ok(()) };
    let schema = match &found {
        Found::Table(table) => table.schema,
        Found::Index(index) => index.schema,
        Found::Sequence(sequence) => sequence.schema,
        Found::Composite(def) => return Err(composite::is_altered_as_type(&def.name)),
        Found::System(name) => return Err(system_refusal(name)),
    };
    if ddl.relation_exists(schema, new) {
        return Err(name_is_taken(new));
    }
    if matches!(found, Found::Table(_)) && user_types::plainly_named(&ddl.catalog(), schema, new).is_some() {
        return Err(Error::new(sqlstate::DUPLICATE_OBJECT, format!("type \"{new}\" already exists")));
    }
    let naming = naming(ddl, &Renaming::of_object(ddl, found.oid().unwrap_or(Oid::INVALID)))?;
    match found {
        Found::Table(table) => ddl.replace(TableDef { name: new.to_string(), ..(*table).clone() })?,
        Found::Sequence(sequence) => ddl.replace(SequenceDef { name: new.to_string(), ..(*sequence).clone() })?,
        Found::Index(index) => rename_index(ddl, &index, new)?,
        Found::Composite(def) => return Err(composite::is_altered_as_type(&def.name)),
        Found::System(name) => return Err(system_refusal(&name)),
    }
    naming.store(ddl)
}

/// An index and the constraint it belongs to are called the same.
fn rename_index(ddl: &Ddl<'_>, index: &IndexDef, new: &Name) -> Result<()> {
    if index.constraint_name.is_some() {
        let mut table = (*ddl.table(index.table)?).clone();
        for constraint in &mut table.constraints {
            if let ConstraintKind::PrimaryKey { index: of } | ConstraintKind::Unique { index: of } = constraint.kind
                && of == index.oid
            {
                constraint.name = new.to_string();
            }
        }
        ddl.replace(table)?;
    }
    ddl.replace(IndexDef {
        name: new.to_string(),
        constraint_name: index.constraint_name.as_ref().map(|_| new.to_string()),
        ..index.clone()
    })
}

fn rename_column(ddl: &mut Ddl<'_>, rename: &Rename) -> Result<()> {
    let Some(found) = relation(ddl, &rename.object, rename.relation_kind, rename.if_exists)? else { return Ok(()) };
    if let Found::Composite(_) = found {
        return composite::rename_attribute(ddl, rename);
    }
    let Found::Table(table) = found else {
        let message = format!("cannot rename columns of relation \"{}\"", found.name());
        return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message).detail(super::index::not_for(&found)));
    };
    let (Some(old), new) = (&rename.object.part, &rename.new_name) else {
        return Err(Error::internal("no column to rename"));
    };
    if is_system_column(old) {
        return Err(Error::unsupported(format!("cannot rename system column \"{old}\"")));
    }
    let Some(place) = table.column_by_name(old) else {
        return Err(missing::column(old));
    };
    if is_system_column(new) {
        let message = format!("column name \"{new}\" conflicts with a system column name");
        return Err(Error::new(sqlstate::DUPLICATE_COLUMN, message));
    }
    if table.column_by_name(new).is_some() {
        let message = format!("column \"{new}\" of relation \"{}\" already exists", table.name);
        return Err(Error::new(sqlstate::DUPLICATE_COLUMN, message));
    }
    let naming = naming_column(ddl, &table, old)?;
    let mut renamed = (*table).clone();
    renamed.columns[place].name = new.to_string();
    ddl.replace(renamed)?;
    naming.store(ddl)
}

fn rename_constraint(ddl: &mut Ddl<'_>, rename: &Rename) -> Result<()> {
    let Some(found) = relation(ddl, &rename.object, ObjectKind::Table, rename.if_exists)? else { return Ok(()) };
    let old = rename.object.part.as_deref().unwrap_or_default();
    let no_constraint = |table: &str| Err(missing::constraint_for_table(old, table));
    let Found::Table(table) = found else {
        if let Found::Composite(def) = &found {
            return no_constraint(&def.name);
        }
        return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{}\" is not a table", found.name())));
    };
    if let Some(trigger) = table.constraint_trigger_named(old).map(|def| def.oid) {
        constraint::require_free_name(&table, &rename.new_name)?;
        let mut renamed = (*table).clone();
        renamed.as_constraint_mut(trigger).name = Some(rename.new_name.to_string());
        return ddl.replace(renamed);
    }
    let Some(place) = table.constraints.iter().position(|constraint| constraint.name == old) else {
        return no_constraint(&table.name);
    };
    if let ConstraintKind::PrimaryKey { index } | ConstraintKind::Unique { index } = table.constraints[place].kind {
        let catalog = ddl.catalog();
        let index = catalog.index(index).ok_or_else(|| super::ddl::gone(index))?;
        return rename_index(ddl, index, &rename.new_name);
    }
    constraint::require_free_name(&table, &rename.new_name)?;
    let mut renamed = (*table).clone();
    renamed.constraints[place].name = rename.new_name.to_string();
    ddl.replace(renamed)
}

fn rename_schema(ddl: &Ddl<'_>, old: &Name, new: &Name) -> Result<()> {
    let oid = hold_schema(ddl, old, DROP_LOCK)?;
    super::schema::check_name(new)?;
    let catalog = ddl.catalog();
    let Some(schema) = catalog.schema(oid).filter(|_| oid != PG_CATALOG_SCHEMA && oid != INFORMATION_SCHEMA) else {
        return Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, format!("permission denied for schema {old}")));
    };
    if ddl.state.catalog().schema_named(new).is_ok() {
        return Err(schema_is_taken(new));
    }
    let naming = naming(ddl, &Renaming::of_schema(ddl, oid))?;
    ddl.replace(SchemaDef { name: new.to_string(), ..(**schema).clone() })?;
    naming.store(ddl)
}

fn rename_function(ddl: &mut Ddl<'_>, object: &ObjectName, new: &Name) -> Result<()> {
    let function = hold_function(ddl, object, DROP_LOCK)?;
    refuse_namesake(ddl, &function, function.schema, new)?;
    call_otherwise(ddl, &function, FunctionDef { name: new.to_string(), ..(*function).clone() })
}

/// 42723 if a function of the schema is called so and has the arguments of `function`.
fn refuse_namesake(ddl: &Ddl<'_>, function: &FunctionDef, schema: Oid, name: &str) -> Result<()> {
    let inputs = input_types(function);
    let catalog = ddl.catalog();
    if catalog.functions_named(schema, name).all(|other| input_types(other) != inputs) {
        return Ok(());
    }
    let view = ddl.view();
    let shown: Vec<String> = inputs.iter().map(|input| types::format_type_name(&view, *input)).collect();
    let schema = view.schema_name(schema);
    let message = format!("function {name}({}) already exists in schema \"{schema}\"", shown.join(", "));
    Err(Error::new(sqlstate::DUPLICATE_FUNCTION, message))
}

/// Gives a function, which is held and was `old`, its new name or schema.
fn call_otherwise(ddl: &Ddl<'_>, old: &FunctionDef, function: FunctionDef) -> Result<()> {
    let naming = naming(ddl, &Renaming::of_object(ddl, function.oid))?;
    let callers = Callers::find(ddl, function.schema, &function.name, Some(old))?;
    ddl.replace(function.clone())?;
    naming.store(ddl)?;
    callers.check(ddl, &function)
}

fn rename_role(ddl: &mut Ddl<'_>, old: &Name, new: &Name) -> Result<()> {
    let catalog = hold_role(ddl, old)?;
    let role = catalog.role_by_name(old).ok_or_else(|| missing::role(old))?;
    if role.oid == ddl.state.session_role().oid {
        return Err(Error::unsupported("session user cannot be renamed"));
    }
    if role.oid == ddl.owner() {
        return Err(Error::unsupported("current user cannot be renamed"));
    }
    for name in [old, new] {
        super::role::refuse_reserved(name, "Role names starting with \"pg_\" are reserved.")?;
    }
    if catalog.role_by_name(new).is_some() {
        return Err(role_is_taken(new));
    }
    let denied = "permission denied to rename role";
    super::role::require_power_over(ddl, role, "must be superuser to rename superusers", denied)?;
    let mut renamed = RoleDef { name: new.to_string(), ..(**role).clone() };
    // Such a hash is of the password and the old name.
    if renamed.password.as_deref().is_some_and(crate::password::is_md5) {
        renamed.password = None;
        ddl.notice(sqlstate::SUCCESSFUL_COMPLETION, "MD5 password cleared because of role rename");
    }
    ddl.replace(renamed)
}

/// ALTER ... SET SCHEMA.
pub(super) fn set_schema(ddl: &mut Ddl<'_>, object: &ObjectName, new: &Name, if_exists: bool) -> Result<UtilityOutput> {
    let tag = format!("ALTER {}", kind_words(object.kind));
    match object.kind {
        ObjectKind::Function | ObjectKind::Procedure | ObjectKind::Routine => {
            let function = hold_function(ddl, object, DROP_LOCK)?;
            let schema = target_schema(ddl, function.schema, new)?;
            if schema != function.schema {
                refuse_namesake(ddl, &function, schema, &function.name)?;
            }
            call_otherwise(ddl, &function, FunctionDef { schema, ..(*function).clone() })?;
        }
        ObjectKind::Table | ObjectKind::View | ObjectKind::Sequence | ObjectKind::MaterializedView => {
            let Some(found) = relation(ddl, object, object.kind, if_exists)? else {
                return Ok(UtilityOutput::tag(tag));
            };
            move_relation(ddl, &found, new)?;
        }
        ObjectKind::Type | ObjectKind::Domain => {
            let found = super::user_type::required(ddl, &object.name, DROP_LOCK)?;
            let schema = target_schema(ddl, found.schema, new)?;
            super::user_type::move_to(ddl, &found, schema, new)?;
        }
        _ => return Err(Error::unsupported("this form of ALTER ... SET SCHEMA is not supported")),
    }
    Ok(UtilityOutput::tag(tag))
}

fn target_schema(ddl: &mut Ddl<'_>, old: Oid, new: &Name) -> Result<Oid> {
    let schema = ddl.object_schema(&QualifiedName {
        catalog: None,
        schema: Some(new.clone()),
        name: Name::new(""),
        location: -1,
    })?;
    let catalog = ddl.catalog();
    if catalog.is_temporary(schema) || catalog.is_temporary(old) {
        return Err(Error::unsupported("cannot move objects into or out of temporary schemas"));
    }
    Ok(schema)
}

fn move_relation(ddl: &mut Ddl<'_>, found: &Found, new: &Name) -> Result<()> {
    let catalog = ddl.catalog();
    let (oid, old) = match found {
        Found::Table(table) => (table.oid, table.schema),
        Found::Sequence(sequence) => (sequence.oid, sequence.schema),
        Found::Index(index) => {
            let message = format!("cannot change schema of index \"{}\"", index.name);
            return Err(
                Error::new(sqlstate::WRONG_OBJECT_TYPE, message).hint("Change the schema of the table instead.")
            );
        }
        Found::Composite(def) => return Err(composite::is_altered_as_type(&def.name)),
        Found::System(name) => return Err(system_refusal(name)),
    };
    let schema = target_schema(ddl, old, new)?;
    if schema == old {
        return Ok(());
    }
    if user_types::relation_name_is_taken(&catalog, schema, found.name()) {
        let message = format!("relation \"{}\" already exists in schema \"{new}\"", found.name());
        return Err(Error::new(sqlstate::DUPLICATE_TABLE, message));
    }
    let is_owned = |sequence: &&Arc<SequenceDef>| sequence.owned_by.is_some_and(|(table, _)| table == oid);
    let moved = catalog.sequences().filter(is_owned).map(|sequence| sequence.oid).chain([oid]).collect();
    let naming = naming(ddl, &Renaming::of_objects(ddl, moved))?;
    match found {
        Found::Table(table) => {
            ddl.replace(TableDef { schema, ..(**table).clone() })?;
            for index in catalog.indexes_of(oid) {
                ddl.lock(index.oid, LockMode::AccessExclusive)?;
                if let Some(index) = ddl.catalog().index(index.oid) {
                    ddl.replace(IndexDef { schema, ..(**index).clone() })?;
                }
            }
            change_owned_sequences(ddl, oid, |sequence| sequence.schema = schema)?;
        }
        Found::Sequence(sequence) => {
            if let Some((table, _)) = sequence.owned_by {
                let table = ddl.table(table)?;
                return Err(Error::unsupported("cannot move an owned sequence into another schema")
                    .detail(format!("Sequence \"{}\" is linked to table \"{}\".", sequence.name, table.name)));
            }
            ddl.replace(SequenceDef { schema, ..(**sequence).clone() })?;
        }
        Found::Index(_) | Found::Composite(_) | Found::System(_) => {}
    }
    naming.store(ddl)
}

/// Changes the sequences that a table owns, each locked against others who do.
fn change_owned_sequences(ddl: &Ddl<'_>, table: Oid, change: impl Fn(&mut SequenceDef)) -> Result<()> {
    let is_owned = |sequence: &SequenceDef| sequence.owned_by.is_some_and(|(owner, _)| owner == table);
    for sequence in ddl.catalog().sequences().filter(|sequence| is_owned(sequence)) {
        ddl.lock(sequence.oid, LockMode::AccessExclusive)?;
        if let Some(sequence) = ddl.catalog().sequence(sequence.oid).filter(|sequence| is_owned(sequence)) {
            let mut changed = (**sequence).clone();
            change(&mut changed);
            ddl.replace(changed)?;
        }
    }
    Ok(())
}

/// ALTER ... OWNER TO.
pub(super) fn alter_owner(ddl: &mut Ddl<'_>, object: &ObjectName, owner: &RoleName) -> Result<UtilityOutput> {
    let role = ddl.role(owner)?;
    let oid = match object.kind {
        ObjectKind::Schema => hold_schema(ddl, &object.name.name, CHANGE_LOCK)?,
        ObjectKind::Function | ObjectKind::Procedure | ObjectKind::Routine => {
            hold_function(ddl, object, CHANGE_LOCK)?.oid
        }
        ObjectKind::Type | ObjectKind::Domain => super::user_type::required(ddl, &object.name, CHANGE_LOCK)?.oid,
        ObjectKind::Database => {
            set_owner(ddl, ddl.database(&object.name.name)?.oid, role)?;
            return Ok(UtilityOutput::tag("ALTER DATABASE"));
        }
        ObjectKind::Table | ObjectKind::View | ObjectKind::Sequence | ObjectKind::MaterializedView => {
            match relation(ddl, object, object.kind, false)?.and_then(|found| found.oid()) {
                Some(oid) => oid,
                None => return Err(ddl.no_relation(&object.name)),
            }
        }
        _ => return Err(Error::unsupported("this form of ALTER ... OWNER TO is not supported")),
    };
    set_owner(ddl, oid, role)?;
    Ok(UtilityOutput::tag(format!("ALTER {}", kind_words(object.kind))))
}

/// 0A000 for a sequence that a table owns: it goes with the table.
pub(super) fn refuse_linked_sequence(ddl: &Ddl<'_>, oid: Oid) -> Result<()> {
    let catalog = ddl.catalog();
    let Some(sequence) = catalog.sequence(oid) else { return Ok(()) };
    let Some(table) = sequence.owned_by.and_then(|(table, _)| catalog.table(table)) else { return Ok(()) };
    let error = Error::unsupported(format!("cannot change owner of sequence \"{}\"", sequence.name));
    Err(error.detail(format!("Sequence \"{}\" is linked to table \"{}\".", sequence.name, table.name)))
}

/// Gives an object, and the sequences a table owns, to a role.
pub(super) fn set_owner(ddl: &Ddl<'_>, oid: Oid, owner: Oid) -> Result<()> {
    if matches!(ddl.catalog().object(oid), Some(Object::Table(_) | Object::Sequence(_))) {
        ddl.lock(oid, LockMode::AccessExclusive)?;
    }
    ddl.hold(oid, CHANGE_LOCK)?;
    let catalog = ddl.catalog();
    if let Some(old) = catalog.object(oid).and_then(Object::owner) {
        super::grant::owner_changed(ddl, oid, old, owner)?;
    }
    match catalog.object(oid).cloned() {
        Some(Object::Table(table)) => {
            ddl.replace(TableDef { owner, ..Arc::unwrap_or_clone(table) })?;
            let catalog = ddl.catalog();
            let is_owned = |sequence: &&Arc<SequenceDef>| sequence.owned_by.is_some_and(|(table, _)| table == oid);
            for sequence in catalog.sequences().filter(is_owned) {
                set_owner(ddl, sequence.oid, owner)?;
            }
            Ok(())
        }
        Some(Object::Sequence(sequence)) => ddl.replace(SequenceDef { owner, ..Arc::unwrap_or_clone(sequence) }),
        Some(Object::Schema(schema)) => ddl.replace(SchemaDef { owner, ..Arc::unwrap_or_clone(schema) }),
        Some(Object::Function(function)) => {
            let mut function = Arc::unwrap_or_clone(function);
            function.owner = owner;
            ddl.replace(function)
        }
        Some(Object::Custom(custom)) => {
            let mut custom = Arc::unwrap_or_clone(custom);
            custom.owner = owner;
            ddl.replace(custom)
        }
        Some(Object::Database(def)) => ddl.replace(DatabaseDef { owner, ..Arc::unwrap_or_clone(def) }),
        Some(Object::Index(_) | Object::Role(_)) | None => Ok(()),
    }
}
