//! ALTER TYPE of composite types: their attributes come, go, and change their types and names.
//!
//! A stored row of a composite type is as long as the type was when it was written, so a type that a table stores keeps
//! its attributes; only their names, which are not stored, may change then.

use std::sync::Arc;

use base::limits::COLUMNS_MAX;
use base::{Error, Oid, Result, sqlstate};
use engine::catalog::{Catalog, CustomDef, RelationKind};

use super::column;
use super::ddl::{Ddl, Found, without_position};
use super::user_type;
use crate::catalogs::user_types::TypeBody;
use crate::tree::{AlterTable, AlterTableAction as Action, QualifiedName, Rename};
use crate::types::{self, SqlType};

/// A composite type as it is now.
struct Composite {
    def: Arc<CustomDef>,
    fields: Vec<(String, SqlType)>,
    comment: Option<String>,
}

impl Composite {
    fn place_of(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|(field, _)| field == name)
    }

    fn no_field(&self, name: &str) -> String {
        format!("column \"{name}\" of relation \"{}\" does not exist", self.def.name)
    }

    fn check_is_free(&self, name: &str) -> Result<()> {
        if self.place_of(name).is_none() {
            return Ok(());
        }
        let message = format!("column \"{name}\" of relation \"{}\" already exists", self.def.name);
        Err(Error::new(sqlstate::DUPLICATE_COLUMN, message))
    }

    fn store(self, ddl: &Ddl<'_>) -> Result<()> {
        let body = TypeBody::Composite { fields: self.fields, comment: self.comment }.encode();
        ddl.replace(CustomDef { body, ..(*self.def).clone() })
    }
}

/// The composite type called `name`: 42P01 if there is none, 42809 if it is another relation.
fn required(ddl: &Ddl<'_>, name: &QualifiedName) -> Result<Composite> {
    if let Some(def) = user_type::find(ddl, name)?
        && let TypeBody::Composite { fields, comment } = TypeBody::decode(&def.body)?
    {
        return Ok(Composite { def, fields, comment });
    }
    if let Some(schema) = &name.schema {
        ddl.view().schema_named(schema)?;
    }
    match ddl.find(name)? {
        Some(found) => {
            let message = format!("\"{}\" is not a composite type", found.name());
            Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message))
        }
        None => Err(ddl.no_relation(name)),
    }
}

/// ALTER TYPE ... ADD ATTRIBUTE, DROP ATTRIBUTE, ALTER ATTRIBUTE ... TYPE; `actions` are in the order in which they run.
pub(super) fn alter(ddl: &mut Ddl<'_>, alter: &AlterTable, actions: &[&Action]) -> Result<()> {
    let mut composite = required(ddl, &alter.name)?;
    for action in actions {
        match action {
            Action::AddColumn { column, .. } => {
                composite.check_is_free(&column.name)?;
                let type_name = column.type_name.as_ref().ok_or_else(|| Error::internal("an attribute has no type"))?;
                let sql_type = ddl.type_of(type_name)?;
                check_type(ddl, &composite, &column.name, sql_type)?;
                refuse_if_used(ddl, &composite, false)?;
                if composite.fields.len() >= COLUMNS_MAX {
                    let message = format!("tables can have at most {COLUMNS_MAX} columns");
                    return Err(Error::new(sqlstate::TOO_MANY_COLUMNS, message));
                }
                composite.fields.push((column.name.to_string(), sql_type));
            }
            Action::DropColumn { name, if_exists, .. } => match composite.place_of(name) {
                Some(place) => {
                    refuse_if_used(ddl, &composite, false)?;
                    composite.fields.remove(place);
                }
                None if *if_exists => {
                    ddl.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("{}, skipping", composite.no_field(name)));
                }
                None => return Err(Error::new(sqlstate::UNDEFINED_COLUMN, composite.no_field(name))),
            },
            Action::SetType { column, type_name, .. } => {
                let Some(place) = composite.place_of(column) else {
                    return Err(Error::new(sqlstate::UNDEFINED_COLUMN, composite.no_field(column)));
                };
                let sql_type = ddl.type_of(type_name).map_err(without_position)?;
                check_type(ddl, &composite, column, sql_type)?;
                refuse_if_used(ddl, &composite, true)?;
                composite.fields[place].1 = sql_type;
            }
            _ => return Err(Error::unsupported("this form of ALTER TYPE is not supported")),
        }
    }
    composite.store(ddl)
}

/// ALTER TYPE ... RENAME ATTRIBUTE
pub(super) fn rename_attribute(ddl: &Ddl<'_>, rename: &Rename) -> Result<()> {
    let mut composite = required(ddl, &rename.object.name)?;
    let old = rename.object.part.as_deref().unwrap_or_default();
    let Some(place) = composite.place_of(old) else {
        return Err(Error::new(sqlstate::UNDEFINED_COLUMN, format!("column \"{old}\" does not exist")));
    };
    composite.check_is_free(&rename.new_name)?;
    composite.fields[place].0 = rename.new_name.to_string();
    composite.store(ddl)
}

/// The error where a table called `name` is wanted and there is none: 42809 for a composite type.
pub(super) fn no_table(ddl: &Ddl<'_>, name: &QualifiedName) -> Result<Error> {
    if let Some(def) = user_type::find(ddl, name)?
        && let TypeBody::Composite { .. } = TypeBody::decode(&def.body)?
    {
        let message = format!("\"{}\" is a composite type", def.name);
        return Ok(Error::new(sqlstate::WRONG_OBJECT_TYPE, message).hint("Use ALTER TYPE instead."));
    }
    Ok(ddl.no_relation(name))
}

/// Whether `name` is a table's: those have columns to rename, whatever the statement calls them.
pub(super) fn is_table(ddl: &Ddl<'_>, name: &QualifiedName) -> Result<bool> {
    Ok(matches!(ddl.find(name)?, Some(Found::Table(_))))
}

/// 42P16 for an attribute that no row can have: of a pseudo-type, or of the type itself.
fn check_type(ddl: &Ddl<'_>, composite: &Composite, name: &str, sql_type: SqlType) -> Result<()> {
    column::check_type(ddl, name, sql_type.oid)?;
    if uses(ddl, &ddl.catalog(), composite.def.oid).contains(&element(ddl, sql_type.oid)) {
        let message = format!("composite type {} cannot be made a member of itself", composite.def.name);
        return Err(Error::new(sqlstate::INVALID_TABLE_DEFINITION, message));
    }
    Ok(())
}

fn element(ddl: &Ddl<'_>, oid: Oid) -> Oid {
    if oid < Oid::FIRST_NORMAL { oid } else { types::element_type(&ddl.view(), oid).unwrap_or(oid) }
}

/// The type and all types that are made of it, however deep; tables' row types are not among them.
fn uses(ddl: &Ddl<'_>, catalog: &Catalog, type_oid: Oid) -> Vec<Oid> {
    let mut found = vec![type_oid];
    let mut next = 0;
    while let Some(part) = found.get(next).copied() {
        next += 1;
        for made in user_type::made_of(catalog, |oid| element(ddl, oid) == part) {
            if !found.contains(&made) {
                found.push(made);
            }
        }
        // A table with rows of the type is itself a type that others may have inside.
        for table in catalog.tables() {
            let has_part = table.columns.iter().any(|column| !column.dropped && element(ddl, column.type_oid) == part);
            if has_part && !found.contains(&table.oid) {
                found.push(table.oid);
            }
        }
    }
    found
}

/// 0A000 if a table's rows hold values of the type or, `with_views`, if a view has a column of it.
fn refuse_if_used(ddl: &Ddl<'_>, composite: &Composite, with_views: bool) -> Result<()> {
    let catalog = ddl.catalog();
    let uses = uses(ddl, &catalog, composite.def.oid);
    for table in catalog.tables() {
        let is_view = table.kind == RelationKind::View;
        let mut columns = table.columns.iter().filter(|column| !column.dropped);
        let Some(column) = columns.find(|column| uses.contains(&element(ddl, column.type_oid))) else { continue };
        let user = if !is_view {
            format!("column \"{}.{}\"", table.name, column.name)
        } else if with_views {
            format!("rule _RETURN on view {}", table.name)
        } else {
            continue;
        };
        let message = format!("cannot alter type \"{}\" because {user} uses it", composite.def.name);
        return Err(Error::unsupported(message));
    }
    Ok(())
}
