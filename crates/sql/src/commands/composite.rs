//! ALTER TYPE of composite types: their attributes come, go, and change their types and names.
//!
//! Where tables store rows of the type, these are made anew ([`super::reshape`]); their attributes keep their types then.

use std::sync::Arc;

use base::limits::COLUMNS_MAX;
use base::lock_mode::LockMode;
use base::{Error, Oid, Result, missing, sqlstate};
use plan::user_types::{self, TypeBody};
use schema::catalog::{Catalog, CustomDef, Object};
use syntax::tree::{AlterTable, AlterTableAction as Action, Name, QualifiedName, Rename};
use types::SqlType;

use super::ddl::{Ddl, Found, without_position};
use super::dependencies::{Node, Renaming, describe, drop_dependents, views_reading};
use super::reshape::{self, Reshaping, Stored, storing_column};
use super::restate::{Readers, naming, with_rows};
use super::stored_query::lower_known_fields;
use super::{column, properties, user_type};
use crate::state::DROP_LOCK;

/// A composite type as it is now.
struct Composite {
    def: Arc<CustomDef>,
    fields: Vec<(String, SqlType)>,
    comment: Option<String>,
    field_comments: Vec<Option<String>>,
    field_collations: Vec<Option<Oid>>,
    /// The fields' attribute numbers.
    attributes: Vec<u32>,
    /// The highest number that a field has had.
    last_attribute: u32,
}

impl Composite {
    fn place_of(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|(field, _)| field == name)
    }

    fn remove(&mut self, place: usize) {
        self.fields.remove(place);
        self.attributes.remove(place);
        if place < self.field_comments.len() {
            self.field_comments.remove(place);
        }
        if place < self.field_collations.len() {
            self.field_collations.remove(place);
        }
    }

    fn no_field(&self, name: &str) -> Error {
        missing::column_of_relation(name, &self.def.name)
    }

    fn check_is_free(&self, name: &str) -> Result<()> {
        if self.place_of(name).is_none() {
            return Ok(());
        }
        let message = format!("column \"{name}\" of relation \"{}\" already exists", self.def.name);
        Err(Error::new(sqlstate::DUPLICATE_COLUMN, message))
    }

    fn store(self, ddl: &Ddl<'_>) -> Result<()> {
        let Composite { def, fields, comment, field_comments, field_collations, attributes, last_attribute } = self;
        let body =
            TypeBody::Composite { fields, comment, field_comments, field_collations, attributes, last_attribute }
                .encode();
        ddl.replace(CustomDef { body, ..(*def).clone() })
    }
}

/// The composite type called `name`: 42P01 if there is none, 42809 if it is another relation.
fn required(ddl: &Ddl<'_>, name: &QualifiedName) -> Result<Composite> {
    let find = || user_type::find(ddl, name);
    if let Some(def) = ddl.find_held(DROP_LOCK, find, |found| found.as_ref().map(|def| def.oid))?
        && let Some(composite) = decoded(&def)?
    {
        return Ok(composite);
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

fn decoded(def: &Arc<CustomDef>) -> Result<Option<Composite>> {
    Ok(match TypeBody::decode(&def.body)? {
        TypeBody::Composite { fields, comment, field_comments, field_collations, attributes, last_attribute } => {
            let attributes = user_types::attribute_numbers(attributes, fields.len());
            let last_attribute = last_attribute.max(attributes.last().copied().unwrap_or(0));
            let def = Arc::clone(def);
            Some(Composite { def, fields, comment, field_comments, field_collations, attributes, last_attribute })
        }
        _ => None,
    })
}

/// ALTER TYPE ... ADD ATTRIBUTE, DROP ATTRIBUTE, ALTER ATTRIBUTE ... TYPE; `actions` are in the order in which they run.
pub(super) fn alter(ddl: &mut Ddl<'_>, alter: &AlterTable, actions: &[&Action]) -> Result<()> {
    let mut composite = required(ddl, &alter.name)?;
    let stored = Stored::of(ddl, composite.def.oid)?;
    let (mut changes, mut dropped) = (Vec::new(), Vec::new());
    let mut retyped: Vec<&Name> = Vec::new();
    for action in actions {
        match action {
            Action::AddColumn { column, .. } => {
                composite.check_is_free(&column.name)?;
                let type_name = column.type_name.as_ref().ok_or_else(|| Error::internal("an attribute has no type"))?;
                let sql_type = ddl.usable_type(type_name)?;
                check_type(ddl, &composite, &column.name, sql_type)?;
                if composite.fields.len() >= COLUMNS_MAX {
                    let message = format!("tables can have at most {COLUMNS_MAX} columns");
                    return Err(Error::new(sqlstate::TOO_MANY_COLUMNS, message));
                }
                if let Some(name) = &column.collation {
                    composite.field_collations.resize(composite.fields.len(), None);
                    composite
                        .field_collations
                        .push(properties::collation_for(ddl, name, sql_type).map_err(without_position)?);
                }
                composite.fields.push((column.name.to_string(), sql_type));
                composite.last_attribute += 1;
                composite.attributes.push(composite.last_attribute);
                changes.push(Reshaping::Added(column.name.to_string(), sql_type));
            }
            Action::DropColumn { name, cascade, if_exists } => match composite.place_of(name) {
                Some(place) => {
                    let is_stored = |(field, _): &(String, SqlType)| field == name.as_str();
                    let fields = user_types::composite_fields(&composite.def).unwrap_or_default();
                    if let Some(place) = fields.iter().position(is_stored) {
                        drop_dependents(ddl, Node::Column(composite.def.oid, place), *cascade)?;
                    }
                    composite.remove(place);
                    dropped.push(name.as_str());
                    changes.push(Reshaping::Dropped(place));
                }
                None if *if_exists => {
                    ddl.notice_skipped(&composite.no_field(name));
                }
                None => return Err(composite.no_field(name)),
            },
            Action::SetType { column, type_name, collation, .. } => {
                let Some(place) = composite.place_of(column) else {
                    return Err(composite.no_field(column));
                };
                let sql_type = ddl.usable_type(type_name).map_err(without_position)?;
                if retyped.contains(&column) {
                    return Err(super::alter_table::two_types(column));
                }
                if sql_type != composite.fields[place].1 {
                    retyped.push(column);
                }
                check_type(ddl, &composite, column, sql_type)?;
                refuse_readers(ddl, &composite, column)?;
                refuse_if_used(ddl, &composite)?;
                composite.fields[place].1 = sql_type;
                composite.field_collations.resize(composite.fields.len(), None);
                composite.field_collations[place] = match collation {
                    Some(name) => properties::collation_for(ddl, name, sql_type).map_err(without_position)?,
                    None => None,
                };
            }
            _ => return Err(Error::unsupported("this form of ALTER TYPE is not supported")),
        }
    }
    let restatement = with_rows(ddl, &stored, &dropped, &changes)?;
    let retyped: Vec<&str> = retyped.iter().map(|name| name.as_str()).collect();
    let readers = match retyped.as_slice() {
        [] => None,
        columns => Some(Readers::find(ddl, composite.def.oid, columns)?),
    };
    let def = Arc::clone(&composite.def);
    composite.store(ddl)?;
    lower_known_fields(ddl, def.oid, &changes)?;
    restatement.store(ddl)?;
    if let Some(readers) = readers {
        readers.check(ddl, &def.name)?;
    }
    stored.reshape(ddl, &changes)
}

/// COMMENT ON COLUMN of a composite type: 42703 if it has no attribute called so.
pub(super) fn comment_on_attribute(
    ddl: &Ddl<'_>,
    def: &Arc<CustomDef>,
    name: &str,
    comment: Option<String>,
) -> Result<()> {
    let mut composite = decoded(def)?.ok_or_else(|| Error::internal("not a composite type"))?;
    let Some(place) = composite.place_of(name) else {
        return Err(composite.no_field(name));
    };
    if composite.field_comments.len() <= place {
        composite.field_comments.resize(place + 1, None);
    }
    composite.field_comments[place] = comment;
    composite.store(ddl)
}

/// ALTER TYPE ... RENAME ATTRIBUTE
pub(super) fn rename_attribute(ddl: &Ddl<'_>, rename: &Rename) -> Result<()> {
    let mut composite = required(ddl, &rename.object.name)?;
    let old = rename.object.part.as_deref().unwrap_or_default();
    let Some(place) = composite.place_of(old) else {
        return Err(missing::column(old));
    };
    composite.check_is_free(&rename.new_name)?;
    let naming = naming(ddl, &Renaming::of_columns(ddl, composite.def.oid, &[old]))?;
    composite.fields[place].0 = rename.new_name.to_string();
    composite.store(ddl)?;
    naming.store(ddl)
}

/// 42809 where ALTER TABLE is tried on a composite type.
pub(super) fn is_altered_as_type(name: &str) -> Error {
    user_types::is_composite_type(name).hint("Use ALTER TYPE instead.")
}

/// Whether `name` is a table's: those have columns to rename, whatever the statement calls them.
pub(super) fn is_table(ddl: &Ddl<'_>, name: &QualifiedName) -> Result<bool> {
    Ok(matches!(ddl.find(name)?, Some(Found::Table(_))))
}

/// 42P16 for an attribute that no row can have: of a pseudo-type, or of the type itself.
fn check_type(ddl: &Ddl<'_>, composite: &Composite, name: &str, sql_type: SqlType) -> Result<()> {
    column::check_type(ddl, name, sql_type.oid)?;
    if uses(ddl, &ddl.catalog(), composite.def.oid).contains(&element(ddl, sql_type.oid)) {
        return Err(member_of_itself(&composite.def.name));
    }
    refuse_member_of_itself(ddl, composite.def.oid, &composite.def.name, sql_type.oid)
}

/// 42P16 for an attribute or column of type `member` in the row type `oid`, if that has rows of the row type in it. The row types in
/// `member` are held until the transaction ends, so that none of them gets rows of this one meanwhile.
pub(super) fn refuse_member_of_itself(ddl: &Ddl<'_>, oid: Oid, name: &str, member: Oid) -> Result<()> {
    hold_row_types(ddl, member, &mut Vec::new(), |found| match found.contains(&oid) {
        true => Err(member_of_itself(name)),
        false => Ok(()),
    })
}

/// Holds the row types that values of type `oid` have rows of until the transaction ends, so that nobody changes or drops them. Adds them
/// to `held`, which has those that are held already. `check` is asked about them each time after locks were waited for.
pub(super) fn hold_row_types(
    ddl: &Ddl<'_>,
    oid: Oid,
    held: &mut Vec<Oid>,
    check: impl Fn(&[Oid]) -> Result<()>,
) -> Result<()> {
    loop {
        let found = reshape::row_types_in(&ddl.view(), oid);
        check(&found)?;
        let new: Vec<Oid> = found.into_iter().filter(|found| !held.contains(found)).collect();
        if new.is_empty() {
            return Ok(());
        }
        for row_type in &new {
            match ddl.catalog().table(*row_type) {
                Some(_) => ddl.lock(*row_type, LockMode::AccessShare)?,
                None => ddl.hold(*row_type, LockMode::AccessShare)?,
            }
        }
        held.extend(new);
    }
}

fn member_of_itself(name: &str) -> Error {
    let message = format!("composite type {name} cannot be made a member of itself");
    Error::new(sqlstate::INVALID_TABLE_DEFINITION, message)
}

fn element(ddl: &Ddl<'_>, oid: Oid) -> Oid {
    if oid < Oid::FIRST_NORMAL { oid } else { types::element_type(&ddl.view(), oid).unwrap_or(oid) }
}

/// Takes away the attributes at these places of a composite type, from what tables store of it, too.
pub(super) fn drop_attributes(ddl: &mut Ddl<'_>, type_oid: Oid, places: &[usize]) -> Result<()> {
    let Some(Object::Custom(def)) = ddl.catalog().object(type_oid).cloned() else { return Ok(()) };
    let Some(mut composite) = decoded(&def)? else { return Ok(()) };
    let stored = Stored::of(ddl, type_oid)?;
    let mut descending = places.to_vec();
    descending.sort_unstable_by(|left, right| right.cmp(left));
    let changes: Vec<Reshaping> = descending.iter().copied().map(Reshaping::Dropped).collect();
    let names: Vec<&str> = places.iter().map(|place| composite.fields[*place].0.as_str()).collect();
    let restatement = with_rows(ddl, &stored, &names, &changes)?;
    descending.iter().for_each(|place| composite.remove(*place));
    composite.store(ddl)?;
    lower_known_fields(ddl, type_oid, &changes)?;
    restatement.store(ddl)?;
    stored.reshape(ddl, &changes)
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

/// 0A000 if a view reads the attribute.
fn refuse_readers(ddl: &Ddl<'_>, composite: &Composite, column: &str) -> Result<()> {
    let fields = user_types::composite_fields(&composite.def).unwrap_or_default();
    let Some(place) = fields.iter().position(|(field, _)| field == column) else { return Ok(()) };
    match views_reading(ddl, composite.def.oid, place)?.into_iter().min() {
        None => Ok(()),
        Some(view) => {
            let shown = describe(&ddl.view(), Node::Object(view));
            Err(super::alter_table::read_by_view(&shown, column))
        }
    }
}

/// 0A000 if a table's rows hold values of the type.
fn refuse_if_used(ddl: &Ddl<'_>, composite: &Composite) -> Result<()> {
    match storing_column(ddl, composite.def.oid)? {
        None => Ok(()),
        Some(column) => {
            let name = &composite.def.name;
            Err(Error::unsupported(format!("cannot alter type \"{name}\" because column \"{column}\" uses it")))
        }
    }
}
