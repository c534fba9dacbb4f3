//! Properties of columns, indexes and tables that change no answer: they are checked, kept, shown and dumped.

use std::sync::Arc;

use base::{Error, Oid, Result, missing, sqlstate};
use plan::{Expr, user_types};
use schema::catalog::{ColumnDef, IndexDef, KeyProperties, ReplicaIdentity, TableDef};
use syntax::tree::{ColumnDefinition, IndexElement, QualifiedName, ReplicaIdentityOf};
use types::{SqlType, builtin_type, collation};

use super::alter_table::place_of;
use super::ddl::Ddl;
use crate::operator_classes::{OperatorClass, operator_class, operator_class_by_oid, operator_class_named};
use executor::client::Severity;
use planner::binder::expression_columns;

/// The most that ANALYZE can be asked to keep of a column.
const STATISTICS_MAX: i32 = 10_000;

/// The properties in a column's definition.
pub(super) fn of_definition(
    ddl: &Ddl<'_>,
    definition: &ColumnDefinition,
    sql_type: SqlType,
) -> Result<schema::catalog::ColumnProperties> {
    let mut properties = schema::catalog::ColumnProperties::default();
    if let Some(name) = &definition.collation {
        properties.collation = collation_for(ddl, name, sql_type)?;
    }
    if let Some(method) = &definition.compression {
        properties.compression = compression_method(ddl, method, sql_type)?;
    }
    Ok(properties)
}

/// A collation for values of a type; nothing if it is the type's own.
pub(super) fn collation_for(ddl: &Ddl<'_>, name: &QualifiedName, sql_type: SqlType) -> Result<Option<Oid>> {
    let view = ddl.view();
    if let Some(schema) = &name.schema {
        view.schema_named(schema).map_err(|error| ddl.at(error, name.location))?;
    }
    let found = collation::required(name.schema.as_deref(), &name.name);
    let found = found.map_err(|error| ddl.at(error, name.location))?;
    let own = user_types::collation_of(&view, sql_type.oid);
    if own == Oid::INVALID {
        let type_name = types::format_type_name(&view, sql_type.oid);
        let message = format!("collations are not supported by type {type_name}");
        return Err(ddl.at(Error::new(sqlstate::DATATYPE_MISMATCH, message), name.location));
    }
    Ok((found != own).then_some(found))
}

/// The letter of the way in which values of a type are kept, as in `pg_type.typstorage`.
fn storage_of_type(ddl: &Ddl<'_>, sql_type: SqlType) -> char {
    let view = ddl.view();
    let base = types::base_type(&view, sql_type).oid;
    match builtin_type(base) {
        Some(def) => def.storage_letter,
        None => match types::type_shape(&view, base).map(|shape| shape.kind) {
            Some(types::TypeKind::Enum) => 'p',
            _ => 'x',
        },
    }
}

fn compression_method(ddl: &Ddl<'_>, method: &str, sql_type: SqlType) -> Result<Option<u8>> {
    if method == "default" {
        return Ok(None);
    }
    if storage_of_type(ddl, sql_type) == 'p' {
        let type_name = types::format_type_name(&ddl.view(), sql_type.oid);
        return Err(Error::unsupported(format!("column data type {type_name} does not support compression")));
    }
    match method {
        "pglz" => Ok(Some(b'p')),
        "lz4" => Ok(Some(b'l')),
        _ => {
            let message = format!("invalid compression method \"{method}\"");
            Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message))
        }
    }
}

fn type_of(column: &ColumnDef) -> SqlType {
    SqlType::with_typmod(column.type_oid, column.typmod)
}

/// SET COMPRESSION
pub(super) fn set_compression(ddl: &Ddl<'_>, oid: Oid, column: &str, method: &str) -> Result<()> {
    let mut table = (*ddl.table(oid)?).clone();
    let place = place_of(&table, column)?;
    let mut properties = table.properties_of(place);
    properties.compression = compression_method(ddl, method, type_of(&table.columns[place]))?;
    table.set_properties(properties);
    ddl.replace(table)
}

/// SET STORAGE
pub(super) fn set_storage(ddl: &Ddl<'_>, oid: Oid, column: &str, method: &str) -> Result<()> {
    let letter = match method.to_ascii_lowercase().as_str() {
        "plain" => 'p',
        "external" => 'e',
        "extended" => 'x',
        "main" => 'm',
        _ => {
            let message = format!("invalid storage type \"{method}\"");
            return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
    };
    let mut table = (*ddl.table(oid)?).clone();
    let place = place_of(&table, column)?;
    let sql_type = type_of(&table.columns[place]);
    let own = storage_of_type(ddl, sql_type);
    if own == 'p' && letter != 'p' {
        let type_name = types::format_type_name(&ddl.view(), sql_type.oid);
        return Err(Error::unsupported(format!("column data type {type_name} can only have storage PLAIN")));
    }
    let mut properties = table.properties_of(place);
    properties.storage = (letter != own).then_some(letter as u8);
    table.set_properties(properties);
    ddl.replace(table)
}

/// SET STATISTICS, of a column by its name or of an index's column by its number.
pub(super) fn set_statistics(ddl: &mut Ddl<'_>, oid: Oid, column: &str, number: i32, target: i32) -> Result<()> {
    let index = ddl.catalog().index(oid).cloned();
    if number > 0 && index.is_none() {
        return Err(Error::unsupported("cannot refer to non-index column by number"));
    }
    if target < -1 {
        let message = format!("statistics target {target} is too low");
        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    if target > STATISTICS_MAX {
        let message = format!("lowering statistics target to {STATISTICS_MAX}");
        ddl.tell(Severity::Warning, &Error::new(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    let kept = (target >= 0).then_some(target.min(STATISTICS_MAX));
    let Some(index) = index else {
        let mut table = (*ddl.table(oid)?).clone();
        let place = place_of(&table, column)?;
        let mut properties = table.properties_of(place);
        properties.statistics = kept;
        table.set_properties(properties);
        return ddl.replace(table);
    };
    let place = index_column(ddl, &index, column, number)?;
    let mut index = Arc::unwrap_or_clone(index);
    let mut properties = index.properties_of(place);
    properties.statistics = kept;
    index.set_properties(properties);
    ddl.replace(index)
}

/// The place of an index's key whose statistics can be set.
fn index_column(ddl: &Ddl<'_>, index: &IndexDef, column: &str, number: i32) -> Result<usize> {
    let table = ddl.table(index.table)?;
    let mut names = planner::names::stored_index_columns(&table, &index.keys)?;
    names.extend(index.included.iter().map(|place| table.columns[*place].name.clone()));
    let place = if number > 0 {
        let place = number as usize - 1;
        if place >= names.len() {
            let message = format!("column number {number} of relation \"{}\" does not exist", index.name);
            return Err(Error::new(sqlstate::UNDEFINED_COLUMN, message));
        }
        place
    } else {
        names.iter().position(|name| name == column).ok_or_else(|| missing::column_of_relation(column, &index.name))?
    };
    let refused = |what: &str| {
        Error::unsupported(format!(
            "cannot alter statistics on {what} column \"{}\" of index \"{}\"",
            names[place], index.name
        ))
    };
    match index.keys.get(place) {
        None => Err(refused("included")),
        Some(key) if key.expression.is_none() => {
            Err(refused("non-expression").hint("Alter statistics on table column instead."))
        }
        Some(_) => Ok(place),
    }
}

/// The table's index of this name.
fn index_of(ddl: &Ddl<'_>, table: &TableDef, name: &str) -> Result<Arc<IndexDef>> {
    let catalog = ddl.catalog();
    if let Some(index) = catalog.indexes_of(table.oid).iter().find(|index| index.name == name) {
        return Ok(Arc::clone(index));
    }
    if ddl.relation_exists(table.schema, name) {
        let message = format!("\"{name}\" is not an index for table \"{}\"", table.name);
        return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message));
    }
    let message = format!("index \"{name}\" for table \"{}\" does not exist", table.name);
    Err(Error::new(sqlstate::UNDEFINED_OBJECT, message))
}

/// CLUSTER ON and SET WITHOUT CLUSTER: which index CLUSTER would sort by.
pub(super) fn cluster_on(ddl: &Ddl<'_>, oid: Oid, name: Option<&str>) -> Result<()> {
    let mut table = (*ddl.table(oid)?).clone();
    table.clustered_on = match name {
        None => None,
        Some(name) => {
            let index = index_of(ddl, &table, name)?;
            if index.predicate.is_some() {
                return Err(Error::unsupported(format!("cannot cluster on partial index \"{name}\"")));
            }
            Some(index.oid)
        }
    };
    ddl.replace(table)
}

/// REPLICA IDENTITY
pub(super) fn replica_identity(ddl: &Ddl<'_>, oid: Oid, of: &ReplicaIdentityOf) -> Result<()> {
    let mut table = (*ddl.table(oid)?).clone();
    table.replica_identity = match of {
        ReplicaIdentityOf::Default => ReplicaIdentity::Default,
        ReplicaIdentityOf::Full => ReplicaIdentity::Full,
        ReplicaIdentityOf::Nothing => ReplicaIdentity::Nothing,
        ReplicaIdentityOf::Index(name) => {
            let index = index_of(ddl, &table, name)?;
            check_identity(&table, &index)?;
            ReplicaIdentity::Index(index.oid)
        }
    };
    ddl.replace(table)
}

/// 42809 and 0A000 for an index that does not tell rows apart.
fn check_identity(table: &TableDef, index: &IndexDef) -> Result<()> {
    let name = &index.name;
    let refused = |what: &str| format!("cannot use {what} index \"{name}\" as replica identity");
    if !index.unique {
        return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, refused("non-unique")));
    }
    if index.deferrable {
        return Err(Error::unsupported(refused("non-immediate")));
    }
    if index.keys.iter().any(|key| key.expression.is_some()) {
        return Err(Error::unsupported(refused("expression")));
    }
    if index.predicate.is_some() {
        return Err(Error::unsupported(refused("partial")));
    }
    let nullable = index.keys.iter().filter_map(|key| key.column).find(|place| !table.columns[*place].not_null);
    if let Some(place) = nullable {
        let column = &table.columns[place].name;
        let message =
            format!("index \"{name}\" cannot be used as replica identity because column \"{column}\" is nullable");
        return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message));
    }
    Ok(())
}

/// 42P16 if the column is in the index that is the table's replica identity: it must stay NOT NULL.
pub(super) fn refuse_in_identity(ddl: &Ddl<'_>, table: &TableDef, place: usize) -> Result<()> {
    let ReplicaIdentity::Index(index) = table.replica_identity else { return Ok(()) };
    let catalog = ddl.catalog();
    if catalog.index(index).is_some_and(|index| index.keys.iter().any(|key| key.column == Some(place))) {
        let message = format!("column \"{}\" is in index used as replica identity", table.columns[place].name);
        return Err(Error::new(sqlstate::INVALID_TABLE_DEFINITION, message));
    }
    Ok(())
}

/// The properties of an index's key: collation and operator class, where they are not the defaults.
pub(super) fn of_key(
    ddl: &Ddl<'_>,
    table: &TableDef,
    element: &IndexElement,
    column: Option<usize>,
    bound: Option<&Expr>,
    sql_type: SqlType,
) -> Result<KeyProperties> {
    let mut properties = KeyProperties::default();
    if let Some(name) = &element.collation {
        let named = collation::required(name.schema.as_deref(), &name.name)?;
        collation_for(ddl, name, sql_type).map_err(super::ddl::without_position)?;
        properties.collation = (named != own_collation(ddl, table, column, bound, sql_type)).then_some(named);
    }
    if let Some(name) = &element.operator_class {
        let class = required_class(ddl, name, sql_type)?;
        let default = operator_class(&ddl.view(), sql_type.oid);
        properties.operator_class = (class != default).then_some(class);
    }
    Ok(properties)
}

/// The collation that an index's key has without being told.
fn own_collation(
    ddl: &Ddl<'_>,
    table: &TableDef,
    column: Option<usize>,
    bound: Option<&Expr>,
    sql_type: SqlType,
) -> Oid {
    let of_column = |place: usize| {
        let own = || user_types::collation_of(&ddl.view(), table.columns[place].type_oid);
        table.properties_of(place).collation.unwrap_or_else(own)
    };
    if let Some(place) = column {
        return of_column(place);
    }
    let mut found: Vec<Oid> = bound.map(expression_columns).unwrap_or_default().into_iter().map(of_column).collect();
    found.retain(|oid| *oid != Oid::INVALID);
    found.sort_unstable();
    found.dedup();
    match found.as_slice() {
        [only] => *only,
        _ => user_types::collation_of(&ddl.view(), sql_type.oid),
    }
}

fn required_class(ddl: &Ddl<'_>, name: &QualifiedName, sql_type: SqlType) -> Result<Oid> {
    if let Some(schema) = &name.schema {
        ddl.view().schema_named(schema)?;
    }
    let in_catalog = name.schema.as_deref().is_none_or(|schema| schema == "pg_catalog");
    let Some(class) = operator_class_named(&name.name).filter(|_| in_catalog) else {
        let message = format!("operator class \"{name}\" does not exist for access method \"btree\"");
        return Err(Error::new(sqlstate::UNDEFINED_OBJECT, message));
    };
    if takes(ddl, class, sql_type) {
        return Ok(Oid(class.oid));
    }
    let type_name = types::format_type_name(&ddl.view(), sql_type.oid);
    let message = format!("operator class \"{}\" does not accept data type {type_name}", name.name);
    Err(Error::new(sqlstate::DATATYPE_MISMATCH, message))
}

/// Whether values of the type are values of the class's type as they are.
fn takes(ddl: &Ddl<'_>, class: &OperatorClass, sql_type: SqlType) -> bool {
    let view = ddl.view();
    let default = operator_class(&view, sql_type.oid);
    operator_class_by_oid(default).is_some_and(|default| default.type_oid == class.type_oid)
}

/// The properties of a column that ALTER COLUMN TYPE keeps.
pub(super) fn for_new_type(
    ddl: &Ddl<'_>,
    table: &mut TableDef,
    place: usize,
    collation: Option<&QualifiedName>,
) -> Result<()> {
    let mut properties = table.properties_of(place);
    (properties.collation, properties.storage, properties.compression) = (None, None, None);
    if let Some(name) = collation {
        let sql_type = type_of(&table.columns[place]);
        properties.collation = collation_for(ddl, name, sql_type).map_err(super::ddl::without_position)?;
    }
    table.set_properties(properties);
    Ok(())
}
