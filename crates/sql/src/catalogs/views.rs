//! The views over `pg_class` and its kin that show what a catalog's rows mean: `pg_tables`, `pg_indexes` and others.

use std::collections::BTreeSet;
use std::sync::Arc;

use base::{Oid, Result};
use plan::privileges::{Privileges, Subject};
use schema::catalog::{BOOTSTRAP_ROLE, IndexDef, RelationKind};
use types::packed::read_any;
use types::{ArrayValue, SqlType, Value, oids};

use super::Equal;
use super::relations::{is_foreign_key, role_name, tables};
use super::rows::{NULL, row};
use crate::commands::definitions;
use crate::commands::dependencies::ViewUse;
use crate::state::session_of;
use crate::system_tables::is_view;
use executor::Run;
use planner::TableStatistics;

/// Views that are queries: number, name, columns, and the query.
pub const QUERIES: &[(u32, &str, &str, &str)] = &[
    (
        12081,
        "pg_available_extensions",
        "name name, default_version text, installed_version text, comment text",
        "SELECT extname, extversion, extversion, obj_description(oid, 'pg_extension') FROM pg_catalog.pg_extension",
    ),
    (
        12085,
        "pg_available_extension_versions",
        "name name, version text, installed bool, superuser bool, trusted bool, relocatable bool, schema name, requires name[], comment text",
        "SELECT extname, extversion, true, true, true, extrelocatable, 'pg_catalog'::name, NULL::name[],
                obj_description(oid, 'pg_extension')
         FROM pg_catalog.pg_extension",
    ),
    (
        3054,
        "pg_timezone_abbrevs",
        "abbrev text, utc_offset interval, is_dst bool",
        "SELECT abbrev, utc_offset, is_dst FROM pg_catalog.pg_timezone_abbrevs()",
    ),
    (
        3069,
        "pg_timezone_names",
        "name text, abbrev text, utc_offset interval, is_dst bool",
        "SELECT name, abbrev, utc_offset, is_dst FROM pg_catalog.pg_timezone_names()",
    ),
];

/// `pg_tables`
pub fn pg_tables(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let catalog = run.catalog.catalog();
    let mut rows: Vec<Vec<Value>> = super::system()
        .tables()
        .iter()
        .filter(|table| !is_view(table))
        .map(|table| {
            let schema = run.catalog.schema_name(table.schema);
            let owner = role_name(catalog, BOOTSTRAP_ROLE);
            row![schema, table.name.as_str(), owner, NULL, true, false, false, false]
        })
        .collect();
    for table in tables(catalog).iter().filter(|table| table.kind == RelationKind::Table) {
        let has_triggers = !table.triggers.is_empty()
            || table.constraints.iter().any(is_foreign_key)
            || catalog.tables_referencing(table.oid).next().is_some();
        rows.push(row![
            run.catalog.schema_name(table.schema),
            table.name.as_str(),
            role_name(catalog, table.owner),
            NULL,
            !catalog.indexes_of(table.oid).is_empty(),
            false,
            has_triggers,
            false,
        ]);
    }
    Ok(rows)
}

/// `pg_stats`: what ANALYZE has found out about the columns of the tables that one may read.
pub fn pg_stats(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let catalog = Arc::clone(run.catalog.catalog());
    let role = run.state.acting_role();
    let mut rows = Vec::new();
    for table in tables(&catalog) {
        let Some(statistics) = TableStatistics::of(&table) else { continue };
        let may_read = role.is_superuser
            || Subject::find(&catalog, table.oid)
                .is_some_and(|subject| subject.privileges_of(&catalog, role.oid).contains(Privileges::SELECT));
        if !may_read {
            continue;
        }
        for (column, found) in table.columns.iter().zip(&statistics.columns) {
            let Some(found) = found.as_ref().filter(|_| !column.dropped) else { continue };
            let element = types::base_type(&run.catalog, SqlType::new(column.type_oid)).oid;
            let unpacked = |packed: &mut dyn Iterator<Item = &Vec<u8>>| -> Result<Value> {
                let values = packed.map(|packed| read_any(&mut packed.as_slice())).collect::<Result<Vec<_>>>()?;
                Ok(array_of(element, values))
            };
            let shares = found.common.iter().map(|(_, share)| Value::Float4(*share as f32));
            rows.push(row![
                run.catalog.schema_name(table.schema),
                table.name.as_str(),
                column.name.as_str(),
                false,
                Value::Float4(found.null_fraction as f32),
                found.width_bytes.round() as i32,
                Value::Float4(found.distinct as f32),
                unpacked(&mut found.common.iter().map(|(packed, _)| packed))?,
                array_of(oids::FLOAT4, shares.collect()),
                unpacked(&mut found.histogram.iter())?,
                found.correlation.map_or(Value::Null, |correlation| Value::Float4(correlation as f32)),
                NULL,
                NULL,
                NULL,
            ]);
        }
    }
    Ok(rows)
}

/// An array, or NULL for none.
fn array_of(element: Oid, values: Vec<Value>) -> Value {
    if values.is_empty() {
        return Value::Null;
    }
    Value::Array(Arc::new(ArrayValue::one_dimensional(element, values)))
}

/// `pg_indexes`
pub fn pg_indexes(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let catalog = Arc::clone(run.catalog.catalog());
    let mut indexes: Vec<Arc<IndexDef>> = catalog.indexes().cloned().collect();
    indexes.sort_by_key(|index| index.oid);
    let mut rows = Vec::new();
    for index in indexes {
        let Some(table) = catalog.table(index.table) else { continue };
        let definition = definitions::index_definition(session_of(run), &index, false)?;
        let schema = run.catalog.schema_name(index.schema);
        rows.push(row![schema, table.name.as_str(), index.name.as_str(), NULL, definition]);
    }
    Ok(rows)
}

/// `pg_views`
pub fn pg_views(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let catalog = Arc::clone(run.catalog.catalog());
    let mut rows = Vec::new();
    for view in tables(&catalog).iter().filter(|table| table.kind == RelationKind::View) {
        let definition = definitions::view_definition(session_of(run), view, false)?;
        let schema = run.catalog.schema_name(view.schema);
        rows.push(row![schema, view.name.as_str(), role_name(&catalog, view.owner), definition]);
    }
    Ok(rows)
}

/// `pg_matviews`
pub fn pg_matviews(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let catalog = Arc::clone(run.catalog.catalog());
    let mut rows = Vec::new();
    for view in tables(&catalog).iter().filter(|table| table.kind == RelationKind::MaterializedView) {
        let definition = definitions::view_definition(session_of(run), view, false)?;
        rows.push(row![
            run.catalog.schema_name(view.schema),
            view.name.as_str(),
            role_name(&catalog, view.owner),
            NULL,
            !catalog.indexes_of(view.oid).is_empty(),
            !view.is_unpopulated,
            definition,
        ]);
    }
    Ok(rows)
}

/// Views and what they read, for `view_table_usage` and `view_column_usage`: only of what the acting role owns.
fn usage(run: &mut Run<'_, '_>) -> Result<Vec<(Vec<Value>, ViewUse)>> {
    let catalog = Arc::clone(run.catalog.catalog());
    let used = crate::commands::what_views_use(session_of(run), &mut *run.client)?;
    let named = used.into_iter().filter_map(|used| {
        let view = catalog.table(used.view).filter(|view| view.kind == RelationKind::View)?;
        let schema = run.catalog.schema_name(view.schema);
        Some((row![run.state.database_name(), schema, view.name.as_str()], used))
    });
    Ok(named.collect())
}

/// Catalog, schema and name of a table or view that the acting role owns.
fn owned_table(run: &Run<'_, '_>, oid: Oid) -> Option<Vec<Value>> {
    let table = run.catalog.catalog().table(oid).filter(|table| table.kind != RelationKind::MaterializedView)?;
    let schema = run.catalog.schema_name(table.schema);
    let row = row![run.state.database_name(), schema, table.name.as_str()];
    super::information_privileges::is_owned(run, oid).then_some(row)
}

/// `view_table_usage`
pub fn view_table_usage(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (view, used) in usage(run)? {
        for table in used.named.relations.iter().filter_map(|oid| owned_table(run, *oid)) {
            rows.push(view.iter().cloned().chain(table).collect());
        }
    }
    Ok(rows)
}

/// `view_column_usage`: columns of tables; those of views are not told.
pub fn view_column_usage(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let catalog = Arc::clone(run.catalog.catalog());
    let mut rows = Vec::new();
    for (view, used) in usage(run)? {
        let columns: BTreeSet<&(Oid, usize)> = used.columns.iter().collect();
        for (oid, place) in columns {
            let column = catalog.table(*oid).and_then(|table| table.columns.get(*place));
            if let (Some(table), Some(column)) = (owned_table(run, *oid), column) {
                rows.push(view.iter().cloned().chain(table).chain([Value::text(column.name.as_str())]).collect());
            }
        }
    }
    Ok(rows)
}
