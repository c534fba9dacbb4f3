//! Types in `information_schema`: domains, attributes, parameters, and the elements of arrays.

use base::{Oid, Result};
use plan::privileges::Privileges;
use plan::user_types::{self, Described};
use schema::catalog::{ArgumentMode, FunctionDef, RelationKind};
use types::context::UserTypeKind;
use types::{SqlType, TypeKind, Value, base_type, builtin_type, format_type, format_type_name, type_shape};

use super::Equal;
use super::information::{Measures, data_type, measures, type_identity};
use super::information_privileges::{column_is_accessible, is_usable};
use super::relations::tables;
use super::rows::{NULL, row, yes_or_no};
use crate::commands::definitions::stored_value;
use crate::state::session_of;
use executor::Run;

/// The collation `"C"`, which names have.
const C_COLLATION: Oid = Oid(950);

/// Catalog, schema and name of a type's collation, unless that is the default one.
pub(super) fn collation(run: &Run<'_, '_>, oid: Oid) -> [Value; 3] {
    match builtin_type(base_type(&run.catalog, SqlType::new(oid)).oid) {
        Some(def) if def.collation == C_COLLATION => [run.state.database_name(), "pg_catalog", "C"].map(Value::text),
        _ => [NULL, NULL, NULL],
    }
}

/// The fields that an interval is restricted to.
pub(super) fn interval_fields(run: &Run<'_, '_>, sql_type: SqlType) -> Option<String> {
    let shown = format_type(&run.catalog, sql_type);
    let fields = shown.strip_prefix("interval ")?.split('(').next()?.trim();
    (!fields.is_empty()).then(|| fields.to_ascii_uppercase())
}

/// `data_type` to `interval_precision`, as domains, attributes and elements have them.
fn description(run: &Run<'_, '_>, sql_type: SqlType, of: &Measures) -> Vec<Value> {
    let mut values = row![data_type(run, sql_type.oid), of.characters, of.octets, NULL, NULL, NULL];
    values.extend(collation(run, sql_type.oid));
    let fields = interval_fields(run, sql_type);
    values.extend(row![of.precision, of.radix, of.scale, of.datetime, fields, NULL]);
    values
}

/// Catalog, schema and name of a type; what it is in the scope of; and its identifier among those of its object.
fn identity(run: &Run<'_, '_>, oid: Oid, identifier: String) -> Vec<Value> {
    let (schema, name) = type_identity(run, oid);
    row![run.state.database_name(), schema, name, NULL, NULL, NULL, NULL, identifier]
}

/// The types that users made and the acting role may use.
fn usable_types(run: &Run<'_, '_>) -> Vec<(Oid, Described)> {
    let catalog = run.catalog.catalog();
    let all = user_types::all(catalog).into_iter().filter(|oid| catalog.table(*oid).is_none());
    all.filter(|oid| is_usable(run, *oid, Privileges::USAGE))
        .filter_map(|oid| Some((oid, user_types::described(&run.catalog, oid)?)))
        .collect()
}

/// Whether a column of this type refuses nulls by itself.
pub(super) fn domain_is_not_null(run: &Run<'_, '_>, oid: Oid) -> bool {
    user_types::described(&run.catalog, oid).is_some_and(|described| described.not_null)
}

/// `domains`
pub fn domains(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (_, described) in usable_types(run) {
        let UserTypeKind::Domain(base) = described.user_type.kind else { continue };
        let database = run.state.database_name();
        let mut values = row![database, described.user_type.schema.as_str(), described.user_type.name.as_str()];
        values.extend(description(run, base, &measures(base)));
        // `data_type` is the full name of the domain's base type, even if that is an array.
        if builtin_type(base.oid).is_some() {
            values[3] = Value::text(format_type_name(&run.catalog, base.oid));
        }
        let default = described.default.map(|text| stored_value(session_of(run), &text, false));
        values.push(default.transpose()?.into());
        values.extend(identity(run, base.oid, "1".to_owned()));
        rows.push(values);
    }
    Ok(rows)
}

/// `attributes`
pub fn attributes(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (_, described) in usable_types(run) {
        let UserTypeKind::Composite(shape) = &described.user_type.kind else { continue };
        for ((name, sql_type), number) in shape.fields.iter().zip(1i32..) {
            let database = run.state.database_name();
            let base = base_type(&run.catalog, *sql_type);
            let mut values = row![
                database,
                described.user_type.schema.as_str(),
                described.user_type.name.as_str(),
                name.as_str(),
                number,
                NULL,
                yes_or_no(!domain_is_not_null(run, sql_type.oid)),
            ];
            values.extend(description(run, *sql_type, &measures(base)));
            values.extend(identity(run, sql_type.oid, number.to_string()));
            values.push(yes_or_no(false));
            rows.push(values);
        }
    }
    Ok(rows)
}

/// Functions that users made and the acting role may call.
fn callable(run: &Run<'_, '_>) -> Vec<std::sync::Arc<FunctionDef>> {
    let functions = run.catalog.catalog().functions();
    functions.filter(|function| is_usable(run, function.oid, Privileges::EXECUTE)).cloned().collect()
}

/// The name that tells a function from others of its name.
fn specific_name(function: &FunctionDef) -> String {
    format!("{}_{}", function.name, function.oid)
}

/// `parameters`, of functions that users made.
pub fn parameters(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for function in callable(run) {
        let is_owned = super::information_privileges::is_owned(run, function.oid);
        for (argument, number) in function.arguments.iter().zip(1i32..) {
            let mode = match argument.mode {
                ArgumentMode::In | ArgumentMode::Variadic => "IN",
                ArgumentMode::Out | ArgumentMode::Table => "OUT",
                ArgumentMode::InOut => "INOUT",
            };
            let mut values = row![
                run.state.database_name(),
                run.catalog.schema_name(function.schema),
                specific_name(&function),
                number,
                mode,
                yes_or_no(false),
                yes_or_no(false),
                argument.name.as_deref(),
            ];
            values.extend(description(run, SqlType::new(argument.type_oid), &Measures::default()));
            // A parameter has no collation of its own, and none of an interval's fields.
            values[14..17].fill(NULL);
            values.extend(identity(run, argument.type_oid, number.to_string()));
            let default = argument.default.as_ref().filter(|_| is_owned);
            let default = default.map(|text| stored_value(session_of(run), text, false));
            values.push(default.transpose()?.into());
            rows.push(values);
        }
    }
    Ok(rows)
}

/// A part of an object that may be an array: the object's schema, name and kind, the part's identifier and type.
type Part = (Oid, String, &'static str, String, Oid);

/// `element_types`
pub fn element_types(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let mut parts: Vec<Part> = Vec::new();
    for table in tables(run.catalog.catalog()) {
        if table.kind == RelationKind::MaterializedView {
            continue;
        }
        for (place, column) in table.columns.iter().enumerate().filter(|(_, column)| !column.dropped) {
            if column_is_accessible(run, &table, place) {
                parts.push((table.schema, table.name.clone(), "TABLE", (place + 1).to_string(), column.type_oid));
            }
        }
    }
    for (_, described) in usable_types(run) {
        let name = &described.user_type.name;
        match &described.user_type.kind {
            UserTypeKind::Domain(base) => {
                parts.push((described.schema, name.clone(), "DOMAIN", "1".to_owned(), base.oid));
            }
            UserTypeKind::Composite(shape) => {
                let fields = shape.fields.iter().zip(1..);
                parts.extend(fields.map(|((_, sql_type), number): (_, i32)| {
                    (described.schema, name.clone(), "USER-DEFINED TYPE", number.to_string(), sql_type.oid)
                }));
            }
            _ => {}
        }
    }
    for function in callable(run) {
        let own = |number: i32, oid| (function.schema, specific_name(&function), "ROUTINE", number.to_string(), oid);
        parts.extend(function.arguments.iter().zip(1..).map(|(argument, number)| own(number, argument.type_oid)));
        if !function.is_procedure() {
            parts.push(own(0, function.returns));
        }
    }
    let mut rows = Vec::new();
    for (schema, name, kind, identifier, oid) in parts {
        // A domain is no array, even if its base type is one.
        let Some(TypeKind::Array(element)) = type_shape(&run.catalog, oid).map(|shape| shape.kind) else { continue };
        let mut values =
            row![run.state.database_name(), run.catalog.schema_name(schema), name, kind, identifier.as_str()];
        values.extend(description(run, SqlType::new(element), &Measures::default()));
        values.push(NULL);
        values.extend(identity(run, element, format!("a{identifier}")));
        rows.push(values);
    }
    Ok(rows)
}
