//! The words for objects in messages.

use base::Oid;
use plan::{CatalogView, describe_function, user_types};
use schema::catalog::{FunctionDef, Object, RelationKind};
use types::reg_types::quote_identifier;

use super::{Node, composite_fields_of};

/// PostgreSQL's words for an object in messages. The names of relations, functions and types are quoted where they need it, others are not.
pub(in crate::commands) fn describe(view: &CatalogView, node: Node) -> String {
    let catalog = view.catalog();
    let table_name = |oid: Oid| match (catalog.table(oid), catalog.object(oid)) {
        (Some(table), _) => relation(view, table.schema, &table.name, oid),
        (None, Some(Object::Custom(def))) => relation(view, def.schema, &def.name, oid),
        (None, _) => oid.to_string(),
    };
    let composite = |oid: Oid| catalog.object(oid).and_then(composite_fields_of);
    let kind_of = |oid: Oid| match catalog.table(oid).map(|table| table.kind) {
        Some(RelationKind::View) => "view",
        Some(RelationKind::MaterializedView) => "materialized view",
        None if composite(oid).is_some() => "composite type",
        _ => "table",
    };
    let column_name = |table: Oid, place: usize| match (catalog.table(table), composite(table)) {
        (Some(table), _) => table.columns[place].name.clone(),
        (None, Some(fields)) => fields[place].0.clone(),
        (None, None) => String::new(),
    };
    match node {
        Node::RowType(table) => format!("type {}", types::format_type_name(view, table)),
        Node::Column(table, place) => {
            format!("column {} of {} {}", column_name(table, place), kind_of(table), table_name(table))
        }
        Node::Default(table, place) => {
            let column = column_name(table, place);
            format!("default value for column {column} of {} {}", kind_of(table), table_name(table))
        }
        Node::Trigger(table, trigger) => {
            let name = catalog
                .table(table)
                .and_then(|table| table.triggers.iter().find(|other| other.oid == trigger))
                .map_or_else(String::new, |trigger| trigger.name.clone());
            format!("trigger {name} on {} {}", kind_of(table), table_name(table))
        }
        Node::Constraint(domain, check) if catalog.table(domain).is_none() => {
            let name = user_types::check_name(catalog, domain, check).unwrap_or_default();
            format!("constraint {name}")
        }
        Node::Constraint(table, constraint) => {
            let name = catalog
                .table(table)
                .and_then(|table| table.constraints.iter().find(|other| other.oid == constraint))
                .map_or_else(String::new, |constraint| constraint.name.clone());
            format!("constraint {name} on {} {}", kind_of(table), table_name(table))
        }
        Node::Object(oid) => match catalog.object(oid) {
            Some(Object::Schema(schema)) => format!("schema {}", schema.name),
            Some(Object::Table(_)) => format!("{} {}", kind_of(oid), table_name(oid)),
            Some(Object::Index(index)) => format!("index {}", relation(view, index.schema, &index.name, oid)),
            Some(Object::Sequence(sequence)) => {
                format!("sequence {}", relation(view, sequence.schema, &sequence.name, oid))
            }
            Some(Object::Function(function)) => format!("function {}", signature(view, function)),
            Some(Object::Role(role)) => format!("role {}", role.name),
            Some(Object::Database(def)) => format!("database {}", def.name),
            Some(Object::Custom(_)) => format!("type {}", types::format_type_name(view, oid)),
            None if user_types::element_of_array(oid).is_some() => {
                format!("type {}", types::format_type_name(view, oid))
            }
            None => oid.to_string(),
        },
    }
}

/// A relation's name, with its schema unless the bare name finds it.
pub(in crate::commands) fn relation(view: &CatalogView, schema: Oid, name: &str, oid: Oid) -> String {
    if view.relation_is_visible(oid, name) {
        return quote_identifier(name);
    }
    format!("{}.{}", quote_identifier(&view.schema_name(schema)), quote_identifier(name))
}

/// `name(integer,text)`, with its schema unless the bare name finds it.
pub(in crate::commands) fn signature(view: &CatalogView, function: &FunctionDef) -> String {
    types::reg_types::user_function_signature(view, &describe_function(view, function))
}
