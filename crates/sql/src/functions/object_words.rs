//! `pg_describe_object`: objects in words.

use base::{Error, Oid, Result};
use schema::catalog::{RelationKind, class};
use types::{Value, format_type_name, oids, reg_types};

use super::{Found, integer, oid};
use crate::catalogs;
use crate::system_tables::{default_oid, is_view, rule_oid};
use executor::Run;

/// Catalogs whose objects have a name that stands in their rows: what the objects are called, and the column of the name.
const IN_ROWS: &[(Oid, &str, &str)] = &[
    (class::ROLE, "role", "rolname"),
    (class::SCHEMA, "schema", "nspname"),
    (class::DATABASE, "database", "datname"),
    (class::LANGUAGE, "language", "lanname"),
    (Oid(1213), "tablespace", "spcname"),
    (Oid(2601), "access method", "amname"),
    (Oid(3079), "extension", "extname"),
];

/// Catalogs whose objects are told by a type for their names: what the objects are called, and the type.
const BY_TYPE: &[(Oid, &str, Oid)] = &[
    (class::FUNCTION, "function", oids::REGPROCEDURE),
    (class::TYPE, "type", oids::REGTYPE),
    (Oid(2617), "operator", oids::REGOPERATOR),
    (Oid(3456), "collation", oids::REGCOLLATION),
];

/// `pg_cast`
const CAST: Oid = Oid(2605);
/// `pg_opclass`
const OPERATOR_CLASS: Oid = Oid(2616);
/// `pg_opfamily`
const OPERATOR_FAMILY: Oid = Oid(2753);

/// `pg_describe_object`
pub(super) fn describe(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let (class, object, part) = (oid(args, 0)?, oid(args, 1)?, integer(args, 2)?);
    if class == Oid::INVALID && object == Oid::INVALID {
        return Ok(Value::Null);
    }
    let words = match class {
        class::RELATION if part == 0 => relation(run, object),
        class::RELATION => column(run, object, part)?,
        class::DEFAULT => default(run, object)?,
        class::RULE => rule(run, object),
        class::CONSTRAINT => on_relation(run, class, object, ["constraint", "conname", "conrelid"])?,
        class::TRIGGER => on_relation(run, class, object, ["trigger", "tgname", "tgrelid"])?,
        class::DEFAULT_ACL => default_privileges(run, object)?,
        CAST => field(run, class, object, &["castsource", "casttarget"])?.map(|fields| {
            let name = |place: usize| format_type_name(&run.catalog, number(&fields[place]));
            format!("cast from {} to {}", name(0), name(1))
        }),
        OPERATOR_CLASS => field(run, class, object, &["opcname"])?
            .map(|name| format!("operator class {} for access method btree", text(&name[0]))),
        OPERATOR_FAMILY => field(run, class, object, &["opfname"])?
            .map(|name| format!("operator family {} for access method btree", text(&name[0]))),
        _ => by_name(run, class, object)?,
    };
    Ok(words.into())
}

/// An object that needs nothing but its name.
fn by_name(run: &mut Run<'_, '_>, class: Oid, object: Oid) -> Result<Option<String>> {
    if let Some((_, what, column)) = IN_ROWS.iter().find(|entry| entry.0 == class) {
        return Ok(field(run, class, object, &[column])?.map(|name| format!("{what} {}", text(&name[0]))));
    }
    let Some((_, what, by)) = BY_TYPE.iter().find(|entry| entry.0 == class) else {
        return Err(Error::internal(format!("unrecognized object class: {class}")));
    };
    let mut name = Vec::new();
    reg_types::write_reg(object.0, *by, &run.catalog, &mut name);
    let name = String::from_utf8_lossy(&name).into_owned();
    // The number is written where nothing has it.
    Ok((object != Oid::INVALID && name != object.to_string()).then(|| format!("{what} {name}")))
}

/// Some columns of an object's row in its catalog.
fn field(run: &mut Run<'_, '_>, class: Oid, object: Oid, columns: &[&str]) -> Result<Option<Vec<Value>>> {
    let Some(table) = catalogs::system_table(class) else { return Ok(None) };
    let place = |name: &str| table.columns.iter().position(|column| column.name == name);
    let places: Option<Vec<usize>> = columns.iter().map(|name| place(name)).collect();
    let (Some(key), Some(places)) = (place("oid"), places) else { return Ok(None) };
    let rows = catalogs::rows(run, &table, &[(key, Value::oid(object))])?;
    let row = rows.into_iter().find(|row| number(&row[key]) == object);
    Ok(row.map(|row| places.iter().map(|place| row[*place].clone()).collect()))
}

fn number(value: &Value) -> Oid {
    value.as_i64().and_then(|number| u32::try_from(number).ok()).map_or(Oid::INVALID, Oid)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A relation's kind and name.
fn relation(run: &Run<'_, '_>, object: Oid) -> Option<String> {
    let what = match super::relation(run, object)? {
        Found::Table(table) => match table.kind {
            RelationKind::Table => "table",
            RelationKind::View => "view",
            RelationKind::MaterializedView => "materialized view",
        },
        Found::Index(_) => "index",
        Found::Sequence(_) => "sequence",
        Found::Composite(_) => "composite type",
        Found::System => match catalogs::system_table(object) {
            Some(table) if is_view(&table) => "view",
            _ => "table",
        },
    };
    Some(format!("{what} {}", super::relation_name(run, object)))
}

fn column(run: &mut Run<'_, '_>, object: Oid, part: i64) -> Result<Option<String>> {
    let Some(relation) = relation(run, object) else { return Ok(None) };
    let Some(table) = catalogs::system_table_named(Some("pg_catalog"), "pg_attribute") else { return Ok(None) };
    let place = |name: &str| table.columns.iter().position(|column| column.name == name);
    let (Some(name), Some(attribute)) = (place("attname"), place("attnum")) else { return Ok(None) };
    let rows = catalogs::rows(run, &table, &[(0, Value::oid(object))])?;
    let row = rows.iter().find(|row| row[attribute].as_i64() == Some(part));
    Ok(row.map(|row| format!("column {} of {relation}", text(&row[name]))))
}

fn default(run: &mut Run<'_, '_>, object: Oid) -> Result<Option<String>> {
    let found = run.catalog.catalog().tables().find_map(|table| {
        let columns = table.columns.iter().enumerate().filter(|(_, column)| !column.dropped);
        let mut with_default = columns.filter(|(_, column)| column.default.is_some() || column.generated.is_some());
        let place = with_default.find(|(place, _)| default_oid(table.oid, place + 1) == object)?.0;
        Some((table.oid, place))
    });
    let Some((table, place)) = found else { return Ok(None) };
    Ok(column(run, table, place as i64 + 1)?.map(|column| format!("default value for {column}")))
}

fn rule(run: &Run<'_, '_>, object: Oid) -> Option<String> {
    let is_its_rule = |oid: Oid| rule_oid(oid) == object;
    let mut tables = run.catalog.catalog().tables();
    let view = tables.find(|table| table.view_query.is_some() && is_its_rule(table.oid))?;
    Some(format!("rule _RETURN on {}", relation(run, view.oid)?))
}

/// Something that has a name of its own on a relation: what it is, and the columns of its name and its relation.
fn on_relation(run: &mut Run<'_, '_>, class: Oid, object: Oid, names: [&str; 3]) -> Result<Option<String>> {
    let [what, name, of] = names;
    let Some(fields) = field(run, class, object, &[name, of])? else { return Ok(None) };
    let name = text(&fields[0]);
    Ok(Some(match relation(run, number(&fields[1])) {
        Some(relation) => format!("{what} {name} on {relation}"),
        // A check of a domain.
        None => format!("{what} {name}"),
    }))
}

fn default_privileges(run: &mut Run<'_, '_>, object: Oid) -> Result<Option<String>> {
    let columns = &["defaclrole", "defaclnamespace", "defaclobjtype"];
    let Some(fields) = field(run, class::DEFAULT_ACL, object, columns)? else { return Ok(None) };
    let what = match fields[2] {
        Value::Char(b'r') => "relations",
        Value::Char(b'S') => "sequences",
        Value::Char(b'f') => "functions",
        Value::Char(b'T') => "types",
        _ => "schemas",
    };
    let role = catalogs::role_name(run.catalog.catalog(), number(&fields[0]));
    let place = match number(&fields[1]) {
        Oid::INVALID => String::new(),
        schema => format!(" in schema {}", run.catalog.schema_name(schema)),
    };
    Ok(Some(format!("default privileges on new {what} belonging to role {role}{place}")))
}
