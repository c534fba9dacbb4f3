//! `information_schema`.

use std::sync::Arc;

use base::{Oid, Result};
use plan::VirtualTable;
use schema::catalog::{
    BOOTSTRAP_ROLE, ColumnDef, ConstraintKind, Identity, PG_CATALOG_SCHEMA, Persistence, RelationKind, SequenceDef,
    TableDef,
};
use types::numeric::decode_typmod;
use types::{CatalogLookup, SqlType, TypeKind, Value, base_type, builtin_type, format_type_name, oids, type_shape};

use super::information_privileges::{column_is_accessible, is_accessible, is_changeable, is_schema_usable};
use super::information_types::{collation, domain_is_not_null, interval_fields};
use super::relations::{self, constraints, index_places, role_name};
use super::rows::{NULL, row, yes_or_no};
use super::{Equal, objects};
use crate::commands::definitions::{StoredAs, stored_expression};
use crate::state::session_of;
use crate::state::updatable::{is_updatable, takes_rows};
use crate::system_tables;
use executor::Run;

/// `tables`
pub fn tables(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let database = run.state.database_name();
    let row = |schema: String, name: &str, kind: &str, insertable: bool, commit: Option<&str>| {
        row![
            database,
            schema,
            name,
            kind,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            yes_or_no(insertable),
            yes_or_no(false),
            commit,
        ]
    };
    let mut rows = Vec::new();
    for table in super::system().tables() {
        let is_view = system_tables::is_view(&table);
        let kind = if is_view { "VIEW" } else { "BASE TABLE" };
        rows.push(row(run.catalog.schema_name(table.schema), &table.name, kind, !is_view, None));
    }
    for table in relations::tables(run.catalog.catalog()) {
        let (kind, insertable) = match table.kind {
            RelationKind::Table if table.persistence == Persistence::Temporary => ("LOCAL TEMPORARY", true),
            RelationKind::Table => ("BASE TABLE", true),
            RelationKind::View => ("VIEW", takes_rows(session_of(run), &table)),
            // The standard knows no materialized views.
            RelationKind::MaterializedView => continue,
        };
        if !is_accessible(run, &table) {
            continue;
        }
        let commit = (table.persistence == Persistence::Temporary).then_some("PRESERVE");
        rows.push(row(run.catalog.schema_name(table.schema), &table.name, kind, insertable, commit));
    }
    Ok(rows)
}

/// Length, precision and the like, as the standard asks for them.
#[derive(Default)]
pub(super) struct Measures {
    pub(super) characters: Option<i32>,
    pub(super) octets: Option<i32>,
    pub(super) precision: Option<i32>,
    pub(super) radix: Option<i32>,
    pub(super) scale: Option<i32>,
    pub(super) datetime: Option<i32>,
}

/// The longest a text may be, as PostgreSQL says it.
const TEXT_MAX_OCTETS: i32 = 1 << 30;

pub(super) fn measures(sql_type: SqlType) -> Measures {
    let none = Measures::default();
    let typmod = sql_type.typmod;
    match sql_type.oid {
        oids::TEXT => Measures { octets: Some(TEXT_MAX_OCTETS), ..none },
        oids::VARCHAR | oids::BPCHAR if typmod >= 4 => {
            Measures { characters: Some(typmod - 4), octets: Some((typmod - 4).saturating_mul(4)), ..none }
        }
        oids::VARCHAR | oids::BPCHAR => Measures { octets: Some(TEXT_MAX_OCTETS), ..none },
        oids::BIT | oids::VARBIT => Measures { characters: (typmod > 0).then_some(typmod), ..none },
        oids::INT2 => Measures { precision: Some(16), radix: Some(2), scale: Some(0), ..none },
        oids::INT4 => Measures { precision: Some(32), radix: Some(2), scale: Some(0), ..none },
        oids::INT8 => Measures { precision: Some(64), radix: Some(2), scale: Some(0), ..none },
        oids::FLOAT4 => Measures { precision: Some(24), radix: Some(2), ..none },
        oids::FLOAT8 => Measures { precision: Some(53), radix: Some(2), ..none },
        oids::NUMERIC => {
            let declared = decode_typmod(typmod);
            Measures {
                precision: declared.map(|(precision, _)| precision),
                radix: Some(10),
                scale: declared.map(|(_, scale)| scale),
                ..none
            }
        }
        oids::DATE => Measures { datetime: Some(0), ..none },
        oids::TIME | oids::TIMETZ | oids::TIMESTAMP | oids::TIMESTAMPTZ => {
            Measures { datetime: Some(if typmod < 0 { 6 } else { typmod }), ..none }
        }
        oids::INTERVAL => {
            let precision = typmod & 0xFFFF;
            Measures { datetime: Some(if typmod < 0 || precision == 0xFFFF { 6 } else { precision }), ..none }
        }
        _ => none,
    }
}

/// The name of a type without its modifier, as the standard's views give it.
pub(super) fn data_type(run: &Run<'_, '_>, oid: Oid) -> String {
    match type_shape(&run.catalog, oid).map(|shape| shape.kind) {
        Some(TypeKind::Array(_)) => "ARRAY".to_owned(),
        _ if builtin_type(oid).is_some() => format_type_name(&run.catalog, oid),
        _ => "USER-DEFINED".to_owned(),
    }
}

/// Schema and name of a type in `pg_type`.
pub(super) fn type_identity(run: &Run<'_, '_>, oid: Oid) -> (String, String) {
    match builtin_type(oid) {
        Some(def) => (run.catalog.schema_name(PG_CATALOG_SCHEMA), def.name.to_owned()),
        None => match run.catalog.user_type(oid) {
            Some(user_type) => (user_type.schema.clone(), user_type.name.clone()),
            None => Default::default(),
        },
    }
}

/// A column of any table.
struct ColumnRow<'r> {
    schema: String,
    table: &'r str,
    name: &'r str,
    place: usize,
    default: Option<String>,
    not_null: bool,
    sql_type: SqlType,
    identity: Option<Identity>,
    generated: Option<String>,
    updatable: bool,
}

impl ColumnRow<'_> {
    fn values(self, run: &Run<'_, '_>) -> Vec<Value> {
        let database = run.state.database_name();
        // A domain is described by what is under it.
        let base = base_type(&run.catalog, self.sql_type);
        let of = measures(base);
        let (type_schema, type_name) = type_identity(run, base.oid);
        let is_domain = base.oid != self.sql_type.oid;
        let (domain_schema, domain_name) =
            if is_domain { type_identity(run, self.sql_type.oid) } else { Default::default() };
        let domain = |text: String| is_domain.then_some(text);
        let sequence = self.identity.and_then(|identity| run.catalog.catalog().sequence(identity.sequence));
        let number = |of: fn(&SequenceDef) -> i64| sequence.map(|sequence| of(sequence).to_string());
        let is_not_null = self.not_null || is_domain && domain_is_not_null(run, self.sql_type.oid);
        let [collation_catalog, collation_schema, collation_name] = collation(run, base.oid);
        row![
            database,
            self.schema,
            self.table,
            self.name,
            self.place as i32 + 1,
            self.default,
            yes_or_no(!is_not_null),
            data_type(run, base.oid),
            of.characters,
            of.octets,
            of.precision,
            of.radix,
            of.scale,
            of.datetime,
            interval_fields(run, base),
            NULL,
            NULL,
            NULL,
            NULL,
            collation_catalog,
            collation_schema,
            collation_name,
            domain(database.to_owned()),
            domain(domain_schema),
            domain(domain_name),
            database,
            type_schema,
            type_name,
            NULL,
            NULL,
            NULL,
            NULL,
            (self.place + 1).to_string(),
            yes_or_no(false),
            yes_or_no(self.identity.is_some()),
            self.identity.map(|identity| if identity.always { "ALWAYS" } else { "BY DEFAULT" }),
            number(|sequence| sequence.start),
            number(|sequence| sequence.increment),
            number(|sequence| sequence.maximum),
            number(|sequence| sequence.minimum),
            yes_or_no(sequence.is_some_and(|sequence| sequence.cycle)),
            if self.generated.is_some() { "ALWAYS" } else { "NEVER" },
            self.generated,
            yes_or_no(self.updatable),
        ]
    }
}

fn own_column(run: &Run<'_, '_>, table: &Arc<TableDef>, place: usize, column: &ColumnDef) -> Result<Vec<Value>> {
    let shown = |text: &String, stored_as| stored_expression(session_of(run), table, text, stored_as, false);
    let row = ColumnRow {
        schema: run.catalog.schema_name(table.schema),
        table: &table.name,
        name: &column.name,
        place,
        default: column.default.as_ref().map(|text| shown(text, StoredAs::Default(place))).transpose()?,
        not_null: column.not_null,
        sql_type: SqlType::with_typmod(column.type_oid, column.typmod),
        identity: column.identity,
        generated: column.generated.as_ref().map(|text| shown(text, StoredAs::OverRow)).transpose()?,
        updatable: is_updatable(session_of(run), table, place, false),
    };
    Ok(row.values(run))
}

fn system_columns(run: &Run<'_, '_>, table: &VirtualTable) -> Vec<Vec<Value>> {
    let row = |(place, column): (usize, &plan::VirtualColumn)| {
        ColumnRow {
            schema: run.catalog.schema_name(table.schema),
            table: &table.name,
            name: &column.name,
            place,
            default: None,
            not_null: false,
            sql_type: column.sql_type,
            identity: None,
            generated: None,
            updatable: false,
        }
        .values(run)
    };
    table.columns.iter().enumerate().map(row).collect()
}

/// `columns`
pub fn columns(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let (schema, name) = (super::rows::wanted_name(equal, 1), super::rows::wanted_name(equal, 2));
    let mut rows = Vec::new();
    for table in super::system().tables() {
        if name.matches(&table.name.as_str()) && schema.matches(&run.catalog.schema_name(table.schema).as_str()) {
            rows.extend(system_columns(run, &table));
        }
    }
    for table in relations::tables(run.catalog.catalog()) {
        let is_wanted = name.matches(&table.name.as_str())
            && schema.matches(&run.catalog.schema_name(table.schema).as_str())
            && table.kind != RelationKind::MaterializedView;
        if !is_wanted {
            continue;
        }
        for (place, column) in table.columns.iter().enumerate().filter(|(_, column)| !column.dropped) {
            if column_is_accessible(run, &table, place) {
                rows.push(own_column(run, &table, place, column)?);
            }
        }
    }
    Ok(rows)
}

/// `schemata`
pub fn schemata(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let database = run.state.database_name();
    let catalog = run.catalog.catalog();
    let row = |(_, name, owner): (Oid, String, Oid)| {
        let owner = role_name(catalog, if catalog.role(owner).is_some() { owner } else { BOOTSTRAP_ROLE });
        row![database, name, owner, NULL, NULL, NULL, NULL]
    };
    let schemas = objects::schemas(catalog).into_iter();
    Ok(schemas.filter(|(oid, ..)| is_schema_usable(run, *oid)).map(row).collect())
}

/// `table_constraints`
pub fn table_constraints(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let database = run.state.database_name();
    let catalog = run.catalog.catalog();
    let mut rows = Vec::new();
    let mut add =
        |table: &TableDef, name: &str, kind: &str, deferrable: bool, deferred: bool, distinct: Option<bool>| {
            let schema = run.catalog.schema_name(table.schema);
            rows.push(row![
                database,
                schema.as_str(),
                name,
                database,
                schema.as_str(),
                table.name.as_str(),
                kind,
                yes_or_no(deferrable),
                yes_or_no(deferred),
                yes_or_no(true),
                distinct.map(yes_or_no),
            ]);
        };
    for (table, constraint) in constraints(catalog).into_iter().filter(|(table, _)| is_changeable(run, table)) {
        let index = |oid: Oid| catalog.index(oid).is_none_or(|index| !index.nulls_not_distinct);
        let (kind, distinct) = match &constraint.kind {
            ConstraintKind::PrimaryKey { .. } => ("PRIMARY KEY", None),
            ConstraintKind::Unique { index: oid } => ("UNIQUE", Some(index(*oid))),
            ConstraintKind::Check { .. } => ("CHECK", None),
            ConstraintKind::ForeignKey { .. } => ("FOREIGN KEY", None),
        };
        add(&table, &constraint.name, kind, constraint.deferrable, constraint.initially_deferred, distinct);
    }
    // The standard has NOT NULL as a check with a name.
    for table in relations::tables(catalog).into_iter().filter(|table| is_changeable(run, table)) {
        for (place, column) in table.columns.iter().enumerate() {
            if column.not_null && !column.dropped {
                let name = format!("{}_{}_{}_not_null", table.schema, table.oid, place + 1);
                add(&table, &name, "CHECK", false, false, None);
            }
        }
    }
    Ok(rows)
}

/// `key_column_usage`
pub fn key_column_usage(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let database = run.state.database_name();
    let catalog = run.catalog.catalog();
    let mut rows = Vec::new();
    for (table, constraint) in constraints(catalog) {
        // Place of the column in the key it refers to, for foreign keys.
        let (columns, referenced): (Vec<usize>, Option<Vec<Option<usize>>>) = match &constraint.kind {
            ConstraintKind::PrimaryKey { index } | ConstraintKind::Unique { index } => {
                (index_places(catalog, *index), None)
            }
            ConstraintKind::ForeignKey { columns, referenced_columns, referenced_index, .. } => {
                let key = index_places(catalog, *referenced_index);
                let places = referenced_columns.iter().map(|place| key.iter().position(|own| own == place)).collect();
                (columns.clone(), Some(places))
            }
            ConstraintKind::Check { .. } => continue,
        };
        let schema = run.catalog.schema_name(table.schema);
        for (number, place) in columns.iter().enumerate() {
            if !column_is_accessible(run, &table, *place) {
                continue;
            }
            let referenced = referenced.as_ref().and_then(|places| places[number]);
            rows.push(row![
                database,
                schema.as_str(),
                constraint.name.as_str(),
                database,
                schema.as_str(),
                table.name.as_str(),
                table.columns[*place].name.as_str(),
                number as i32 + 1,
                referenced.map(|place| place as i32 + 1),
            ]);
        }
    }
    Ok(rows)
}
