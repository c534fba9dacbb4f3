//! Comments, owners, and properties of objects.

use base::{Oid, Result};
use schema::catalog::{ConstraintKind, RelationKind, ReplicaIdentity};
use types::Value;

use super::definitions::table_of;
use super::{Bodies, integer, oid, text};
use crate::catalogs;
use executor::Run;

pub(super) const FUNCTIONS: Bodies = &[
    (1215, |run, args| comment(run, oid(args, 0)?, Some(text(args, 1)?), 0)),
    (1348, |run, args| comment(run, oid(args, 0)?, None, 0)),
    (1216, |run, args| comment(run, oid(args, 0)?, Some("pg_class"), integer(args, 1)?)),
    (1993, |run, args| comment(run, oid(args, 0)?, Some(text(args, 1)?), 0)),
    (1642, |run, args| Ok(catalogs::role_name(run.catalog.catalog(), oid(args, 0)?).into())),
    (3537, super::object_words::describe),
    (6120, replica_identity_index),
    (6121, |run, args| {
        Ok(Value::Bool(table_of(run, oid(args, 0)?).is_some_and(|table| table.kind == RelationKind::Table)))
    }),
    (3424, |_, args| Ok(args[0].clone())),
    (3778, |_, _| Ok(Value::text(""))),
    (3298, |_, _| Ok(Value::Bool(false))),
    (3299, |_, _| Ok(Value::Bool(false))),
    (636, |_, args| {
        let is_btree = oid(args, 0)? == catalogs::BTREE_METHOD;
        Ok(if is_btree { access_method_property(text(args, 1)?) } else { Value::Null })
    }),
    (637, |run, args| {
        let is_index = run.catalog.catalog().index(oid(args, 0)?).is_some();
        Ok(if is_index { index_property(text(args, 1)?) } else { Value::Null })
    }),
    (638, index_column_property),
    (3448, |_, _| Ok(Value::Null)),
    (6249, |_, _| Ok(Value::Null)),
];

/// `pg_get_replica_identity_index`: the index whose columns tell a table's rows apart.
fn replica_identity_index(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let Some(table) = table_of(run, oid(args, 0)?) else { return Ok(Value::Null) };
    let primary = || {
        table.constraints.iter().find_map(|constraint| match constraint.kind {
            ConstraintKind::PrimaryKey { index } if !constraint.deferrable => Some(index),
            _ => None,
        })
    };
    let index = match table.replica_identity {
        ReplicaIdentity::Default => primary(),
        ReplicaIdentity::Index(index) => run.catalog.catalog().index(index).map(|index| index.oid),
        ReplicaIdentity::Nothing | ReplicaIdentity::Full => None,
    };
    Ok(index.map_or(Value::Null, Value::oid))
}

/// The comment on an object, or on a column of it.
fn comment(run: &Run<'_, '_>, wanted: Oid, catalog_name: Option<&str>, column: i64) -> Result<Value> {
    let class = match catalog_name {
        None => None,
        Some(name) => match catalogs::system_table_named(Some("pg_catalog"), name) {
            Some(table) => Some(table.oid),
            None => return Ok(Value::Null),
        },
    };
    let found = catalogs::comments(run.catalog.catalog()).into_iter().find(|(oid, own_class, own_column, _)| {
        *oid == wanted && class.is_none_or(|class| class == *own_class) && i64::from(*own_column) == column
    });
    Ok(found.map(|(.., comment)| comment).into())
}

/// The capabilities of the access method `btree`.
fn access_method_property(name: &str) -> Value {
    match name.to_ascii_lowercase().as_str() {
        "can_order" | "can_unique" | "can_multi_col" | "can_include" => Value::Bool(true),
        "can_exclude" => Value::Bool(false),
        _ => Value::Null,
    }
}

fn index_property(name: &str) -> Value {
    match name.to_ascii_lowercase().as_str() {
        "index_scan" | "backward_scan" => Value::Bool(true),
        "clusterable" | "bitmap_scan" => Value::Bool(false),
        _ => Value::Null,
    }
}

fn index_column_property(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let Some(index) = run.catalog.catalog().index(oid(args, 0)?) else { return Ok(Value::Null) };
    let place = usize::try_from(integer(args, 1)? - 1).unwrap_or(usize::MAX);
    let is_included = place >= index.keys.len() && place < index.keys.len() + index.included.len();
    let Some(key) = index.keys.get(place) else {
        let property = text(args, 2)?.to_ascii_lowercase();
        return Ok(if is_included && property == "orderable" { Value::Bool(false) } else { Value::Null });
    };
    Ok(match text(args, 2)?.to_ascii_lowercase().as_str() {
        "asc" => Value::Bool(!key.descending),
        "desc" => Value::Bool(key.descending),
        "nulls_first" => Value::Bool(key.nulls_first),
        "nulls_last" => Value::Bool(!key.nulls_first),
        "orderable" | "search_array" | "search_nulls" => Value::Bool(true),
        "distance_orderable" | "returnable" => Value::Bool(false),
        _ => Value::Null,
    })
}
