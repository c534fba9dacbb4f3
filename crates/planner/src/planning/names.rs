//! The names that PostgreSQL gives to objects without a name in the statement: `t_pkey`, `t_a_b_key`, `t_a_idx`, `t_a_seq`, `t_check`,
//! numbered when taken.

use std::cell::{Cell, OnceCell};
use std::collections::HashSet;

use base::limits::NAME_MAX_BYTES;
use base::{Oid, Result};
use plan::user_types::relation_name_is_taken;
use schema::catalog::{Catalog, IndexKey, TableDef};
use syntax::parser::{if_readable, parse_expression};
use syntax::tree::{Expr, ExprKind, IndexElement};

/// `first_second_label`, the longer of the first two cut until all fits a name.
pub fn object_name(first: &str, second: Option<&str>, label: &str) -> String {
    let overhead = label.len() + 1 + usize::from(second.is_some());
    let room = NAME_MAX_BYTES.saturating_sub(overhead);
    let (mut first_length, mut second_length) = (first.len(), second.map_or(0, str::len));
    while first_length + second_length > room {
        if first_length > second_length {
            first_length -= 1;
        } else {
            second_length -= 1;
        }
    }
    let mut name = cut(first, first_length).to_owned();
    if let Some(second) = second {
        name.push('_');
        name.push_str(cut(second, second_length));
    }
    name.push('_');
    name.push_str(label);
    name
}

/// As many whole characters of `text` as fit `length_bytes`.
fn cut(text: &str, length_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(length_bytes)]
}

/// A relation's name that is free in `schema`: with a number behind the label, if need be. Constraints' names count as
/// taken if the relation is to be a constraint's index.
pub fn relation_name(
    catalog: &Catalog,
    schema: Oid,
    first: &str,
    second: Option<&str>,
    label: &str,
    for_constraint: bool,
    also_taken: &[String],
) -> String {
    numbered(first, second, label, |name| {
        also_taken.iter().any(|taken| taken == name)
            || relation_name_is_taken(catalog, schema, name)
            || for_constraint && constraint_is_there(catalog, schema, name)
    })
}

/// A constraint's name that no constraint of the schema's tables has.
pub fn constraint_name(
    catalog: &Catalog,
    schema: Oid,
    table: &str,
    columns: Option<&str>,
    label: &str,
    also_taken: &[String],
) -> String {
    free_constraint_name(catalog, schema, (table, columns, label), also_taken)
}

/// As [`constraint_name`], for a check of a domain.
pub fn type_constraint_name(catalog: &Catalog, schema: Oid, domain: &str, also_taken: &[String]) -> String {
    free_constraint_name(catalog, schema, (domain, None, "check"), also_taken)
}

fn free_constraint_name(
    catalog: &Catalog,
    schema: Oid,
    (first, second, label): (&str, Option<&str>, &str),
    also_taken: &[String],
) -> String {
    let there = constraints_of(catalog, schema);
    let taken = || also_taken.iter().map(String::as_str).chain(there.clone());
    // The first name is free most of the time. If it isn't, thousands may have been numbered before.
    let (is_first, all) = (Cell::new(true), OnceCell::<HashSet<&str>>::new());
    numbered(first, second, label, |name| {
        if is_first.replace(false) {
            return taken().any(|taken| taken == name);
        }
        all.get_or_init(|| taken().collect()).contains(name)
    })
}

fn numbered(first: &str, second: Option<&str>, label: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut name = object_name(first, second, label);
    let mut number = 0;
    while is_taken(&name) {
        number += 1;
        name = object_name(first, second, &format!("{label}{number}"));
    }
    name
}

fn constraint_is_there(catalog: &Catalog, schema: Oid, name: &str) -> bool {
    constraints_of(catalog, schema).any(|constraint| constraint == name)
}

/// The names of the constraints of a schema's tables, and of their constraint triggers.
fn constraints_of(catalog: &Catalog, schema: Oid) -> impl Iterator<Item = &str> + Clone {
    let tables = catalog.tables().filter(move |table| table.schema == schema);
    tables.flat_map(|table| {
        let triggers = table.triggers.iter().filter(|def| def.is_constraint).map(|def| table.constraint_name_of(def));
        table.constraints.iter().map(|constraint| constraint.name.as_str()).chain(triggers)
    })
}

/// The part of an index's name that tells its columns: their names joined, not longer than a name may be.
pub fn joined<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let mut all = String::new();
    for name in names {
        if !all.is_empty() {
            all.push('_');
        }
        all.push_str(name);
        if all.len() >= NAME_MAX_BYTES {
            break;
        }
    }
    cut(&all, NAME_MAX_BYTES.min(all.len())).to_owned()
}

/// The names of an index's own columns: those of the table's columns, or what an expression is called, numbered where
/// a name comes twice.
pub fn index_columns(elements: &[IndexElement]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(elements.len());
    for element in elements {
        let base = match (&element.column, &element.expr) {
            (Some(column), _) => column.to_string(),
            (None, Some(expr)) => expression_name(expr),
            (None, None) => "expr".to_owned(),
        };
        names.push(distinct(base, &names));
    }
    names
}

/// The same for an index that is there.
///
/// # Errors
/// Interrupts (57014, fatal errors) and 53200.
pub fn stored_index_columns(table: &TableDef, keys: &[IndexKey]) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::with_capacity(keys.len());
    for key in keys {
        let base = match (key.column, &key.expression) {
            (Some(column), _) => table.columns[column].name.clone(),
            (None, Some(text)) => {
                let expr = if_readable(parse_expression(text))?;
                expr.map_or_else(|| "expr".to_owned(), |expr| expression_name(&expr))
            }
            (None, None) => "expr".to_owned(),
        };
        names.push(distinct(base, &names));
    }
    Ok(names)
}

fn distinct(base: String, names: &[String]) -> String {
    let mut name = base.clone();
    let mut number = 0;
    while names.contains(&name) {
        number += 1;
        let suffix = number.to_string();
        name = format!("{}{suffix}", cut(&base, base.len().min(NAME_MAX_BYTES - suffix.len())));
    }
    name
}

/// The name of an expression in an index: that of its function, its cast or its construct, or else `expr`.
pub fn expression_name(expr: &Expr) -> String {
    figured_name(expr).unwrap_or_else(|| "expr".to_owned())
}

fn figured_name(expr: &Expr) -> Option<String> {
    strong_name(expr).or_else(|| weak_name(expr))
}

/// The name of a column, a function or a construct: level 2 of PostgreSQL's `FigureColname`. Casts and CASE around it leave it as it is.
fn strong_name(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Column(parts) | ExprKind::Star(parts) => parts.last().map(ToString::to_string),
        ExprKind::Function(call) => Some(call.name.name.to_string()),
        ExprKind::NullIf(..) => Some("nullif".to_owned()),
        ExprKind::Cast { input, .. } | ExprKind::Collate { input, .. } => strong_name(input),
        ExprKind::Case { otherwise, .. } => otherwise.as_ref().and_then(|otherwise| strong_name(otherwise)),
        ExprKind::Array(_) => Some("array".to_owned()),
        ExprKind::Row { .. } => Some("row".to_owned()),
        ExprKind::Coalesce(_) => Some("coalesce".to_owned()),
        ExprKind::Greatest(_) => Some("greatest".to_owned()),
        ExprKind::Least(_) => Some("least".to_owned()),
        ExprKind::Indirection { input, steps } => steps
            .iter()
            .rev()
            .find_map(|step| match step {
                syntax::tree::Indirection::Field(name) => Some(name.to_string()),
                _ => None,
            })
            .or_else(|| strong_name(input)),
        _ => None,
    }
}

/// The name for an expression without a strong name: that of its outermost cast, or `case`. Level 1 of PostgreSQL's `FigureColname`.
fn weak_name(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Cast { type_name, .. } => Some(type_name.name.to_string()),
        ExprKind::Collate { input, .. } | ExprKind::Indirection { input, .. } => weak_name(input),
        ExprKind::Case { .. } => Some("case".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::catalog::{BOOTSTRAP_ROLE, IndexDef, PUBLIC_SCHEMA};

    #[test]
    fn long_parts_are_cut_evenly_and_the_label_stays() {
        assert_eq!(object_name("t", Some("a"), "key"), "t_a_key");
        assert_eq!(object_name("t", None, "pkey"), "t_pkey");
        let (table, column) = ("t".repeat(50), "c".repeat(50));
        let name = object_name(&table, Some(&column), "fkey");
        assert_eq!(name.len(), NAME_MAX_BYTES);
        assert_eq!(name, format!("{}_{}_fkey", "t".repeat(29), "c".repeat(28)));
        let short = object_name(&table, Some("id"), "seq");
        assert!(short.ends_with("_id_seq") && short.len() <= NAME_MAX_BYTES);
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        let table = "ä".repeat(40);
        let name = object_name(&table, None, "pkey");
        assert!(name.len() <= NAME_MAX_BYTES && name.ends_with("_pkey"));
        assert!(name.trim_end_matches("_pkey").chars().all(|c| c == 'ä'));
    }

    #[test]
    fn a_taken_name_is_numbered() {
        let name = numbered("t", Some("a"), "key", |name| matches!(name, "t_a_key" | "t_a_key1"));
        assert_eq!(name, "t_a_key2");
    }

    #[test]
    fn the_names_of_columns_are_joined_up_to_a_names_length() {
        assert_eq!(joined(["a", "b"]), "a_b");
        assert_eq!(joined(["x".repeat(40).as_str(), "y".repeat(40).as_str()]).len(), NAME_MAX_BYTES);
    }

    #[test]
    fn an_expression_in_an_index_is_called_by_its_function_or_expr() {
        let name = |text: &str| expression_name(&syntax::parser::parse_expression(text).expect("it parses"));
        assert_eq!(name("lower(a)"), "lower");
        assert_eq!(name("a + 1"), "expr");
        assert_eq!(name("a::text"), "a");
        assert_eq!(name("(a + 1)::text"), "text");
        assert_eq!(name("coalesce(a, b)"), "coalesce");
        assert_eq!(name("CASE WHEN a THEN b ELSE c END"), "c");
    }

    #[test]
    fn an_index_that_is_there_names_its_columns_the_same_way() {
        let table = TableDef::new(Oid(1), PUBLIC_SCHEMA, "t", BOOTSTRAP_ROLE)
            .column("a", schema::row::PhysicalType::I32)
            .column("b", schema::row::PhysicalType::I32);
        let mut index = IndexDef::new(Oid(2), &table, "i", &[1, 0], false);
        index.keys.push(IndexKey {
            column: None,
            expression: Some("(a + b)".to_owned()),
            descending: false,
            nulls_first: false,
        });
        assert_eq!(stored_index_columns(&table, &index.keys).unwrap(), ["b", "a", "expr"]);
    }

    /// An interrupt says nothing about a stored text.
    #[test]
    fn an_interrupt_ends_the_naming_of_an_index() {
        let table = TableDef::new(Oid(1), PUBLIC_SCHEMA, "t", BOOTSTRAP_ROLE);
        let long = format!("concat(1{})", ", 1".repeat(200_000));
        let key = IndexKey { column: None, expression: Some(long), descending: false, nulls_first: false };
        let interrupt = std::sync::Arc::new(sync::Interrupt::new());
        interrupt.raise(sync::InterruptKind::Cancel);
        let named = sync::with_interrupt(&interrupt, || stored_index_columns(&table, &[key]));
        assert_eq!(named.unwrap_err().sqlstate().as_str(), "57014");
    }
}
