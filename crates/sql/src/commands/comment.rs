//! COMMENT.

use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{Error, Result, missing, sqlstate};
use plan::user_types::is_composite_type;
use schema::catalog::{DatabaseDef, FunctionDef, IndexDef, RelationKind, RoleDef, SchemaDef, SequenceDef, TableDef};
use syntax::tree::{ObjectKind, ObjectName};

use super::ddl::{Ddl, Found, system_refusal};
use super::drop::{hold_function, hold_schema};
use crate::state::{CHANGE_LOCK, UtilityOutput};

/// COMMENT ON.
pub(super) fn comment(ddl: &Ddl<'_>, object: &ObjectName, comment: Option<&str>) -> Result<UtilityOutput> {
    // An empty comment is none.
    let comment = comment.filter(|comment| !comment.is_empty()).map(str::to_owned);
    match object.kind {
        ObjectKind::Table
        | ObjectKind::View
        | ObjectKind::MaterializedView
        | ObjectKind::Index
        | ObjectKind::Sequence => match relation(ddl, object)? {
            Found::Table(table) => ddl.replace(TableDef { comment, ..Arc::unwrap_or_clone(table) })?,
            Found::Index(index) => ddl.replace(IndexDef { comment, ..Arc::unwrap_or_clone(index) })?,
            Found::Sequence(sequence) => ddl.replace(SequenceDef { comment, ..Arc::unwrap_or_clone(sequence) })?,
            Found::Composite(def) => return Err(is_composite_type(&def.name)),
            Found::System(name) => return Err(system_refusal(&name)),
        },
        ObjectKind::Column => {
            let found = relation(ddl, object)?;
            let name = object.part.as_deref().unwrap_or_default();
            let table = match found {
                Found::Table(table) => table,
                Found::Composite(def) => {
                    super::composite::comment_on_attribute(ddl, &def, name, comment)?;
                    return Ok(UtilityOutput::tag("COMMENT"));
                }
                other => {
                    let message = format!("cannot set comment on relation \"{}\"", object.name);
                    let error = Error::new(sqlstate::WRONG_OBJECT_TYPE, message);
                    return Err(match other {
                        Found::Index(_) => error.detail("This operation is not supported for indexes."),
                        Found::Sequence(_) => error.detail("This operation is not supported for sequences."),
                        _ => error,
                    });
                }
            };
            let Some(place) = table.column_by_name(name) else {
                return Err(missing::column_of_relation(name, &table.name));
            };
            let mut table = Arc::unwrap_or_clone(table);
            table.columns[place].comment = comment;
            ddl.replace(table)?;
        }
        ObjectKind::Database => {
            let find = || ddl.database(&object.name.name);
            let def = ddl.find_held(CHANGE_LOCK, find, |def| Some(def.oid))?;
            ddl.replace(DatabaseDef { comment, ..Arc::unwrap_or_clone(def) })?;
        }
        ObjectKind::TableConstraint => {
            let Found::Table(table) = relation(ddl, object)? else {
                let message = format!("\"{}\" is not a table", object.name);
                return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message));
            };
            let name = object.part.as_deref().unwrap_or_default();
            if let Some(trigger) = table.constraint_trigger_named(name).map(|def| def.oid) {
                let mut table = Arc::unwrap_or_clone(table);
                table.as_constraint_mut(trigger).comment = comment;
                ddl.replace(table)?;
                return Ok(UtilityOutput::tag("COMMENT"));
            }
            let Some(place) = table.constraints.iter().position(|constraint| constraint.name == name) else {
                return Err(missing::constraint_for_table(name, &table.name));
            };
            let mut table = Arc::unwrap_or_clone(table);
            table.constraints[place].comment = comment;
            ddl.replace(table)?;
        }
        ObjectKind::Trigger => {
            let Found::Table(table) = ddl.required_locked(&object.name, LockMode::ShareUpdateExclusive)? else {
                return Err(ddl.no_relation(&object.name));
            };
            let mut table = Arc::unwrap_or_clone(table);
            let place = super::trigger::place_of(&table, object.part.as_deref().unwrap_or_default())?;
            table.triggers[place].comment = comment;
            ddl.replace(table)?;
        }
        ObjectKind::Schema => {
            let oid = hold_schema(ddl, &object.name.name, CHANGE_LOCK)?;
            let catalog = ddl.catalog();
            let Some(schema) = catalog.schema(oid) else {
                return Err(Error::new(
                    sqlstate::INSUFFICIENT_PRIVILEGE,
                    format!("permission denied for schema {}", object.name.name),
                ));
            };
            ddl.replace(SchemaDef { comment, ..(**schema).clone() })?;
        }
        ObjectKind::Function | ObjectKind::Procedure | ObjectKind::Routine => {
            let function = hold_function(ddl, object, CHANGE_LOCK)?;
            ddl.replace(FunctionDef { comment, ..Arc::unwrap_or_clone(function) })?;
        }
        ObjectKind::Role => {
            let catalog = super::role::hold_role(ddl, &object.name.name)?;
            let role = catalog.role_by_name(&object.name.name).ok_or_else(|| missing::role(&object.name.name))?;
            super::role::require_power_over(ddl, role, "must be superuser", "must have CREATEROLE privilege")?;
            ddl.replace(RoleDef { comment, ..(**role).clone() })?;
        }
        ObjectKind::Type | ObjectKind::Domain => super::user_type::set_comment(ddl, object, comment)?,
        _ => return Err(Error::unsupported("comments on this kind of object are not supported")),
    }
    Ok(UtilityOutput::tag("COMMENT"))
}

fn relation(ddl: &Ddl<'_>, object: &ObjectName) -> Result<Found> {
    let found = ddl.required_locked(&object.name, LockMode::ShareUpdateExclusive)?;
    let is = |kind: RelationKind| matches!(&found, Found::Table(table) if table.kind == kind);
    let (fits, what) = match object.kind {
        ObjectKind::Table => (is(RelationKind::Table), "a table"),
        ObjectKind::View => (is(RelationKind::View), "a view"),
        ObjectKind::MaterializedView => (is(RelationKind::MaterializedView), "a materialized view"),
        ObjectKind::Index => (matches!(found, Found::Index(_)), "an index"),
        ObjectKind::Sequence => (matches!(found, Found::Sequence(_)), "a sequence"),
        _ => (true, ""),
    };
    if fits || matches!(found, Found::System(_)) {
        return Ok(found);
    }
    Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{}\" is not {what}", found.name())))
}
