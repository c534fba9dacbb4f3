//! `pg_depend`: what of it clients ask for, found in the descriptors.

use std::sync::Arc;

use base::{Oid, Result};
use engine::catalog::Catalog;
use engine::catalog::ConstraintKind::{ForeignKey, PrimaryKey, Unique};

use super::objects::class;
use super::relations::{constraints, default_oid};
use super::rows::{letter, row};
use super::{Equal, rule_oid, user_types};
use crate::executor::Run;
use crate::types::context::UserTypeKind;
use crate::types::reg_types::parse_reg;
use crate::types::{CatalogLookup, Value, oids};

/// `pg_attrdef`
const DEFAULT: Oid = Oid(2604);
/// `pg_rewrite`
const RULE: Oid = Oid(2618);

/// `pg_depend`
pub fn pg_depend(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let catalog = Arc::clone(run.catalog.catalog());
    let mut rows = Vec::new();
    add_sequences(&catalog, &mut rows);
    add_constraints(&catalog, &mut rows);
    add_defaults(run, &catalog, &mut rows);
    add_types(run, &catalog, &mut rows);
    add_uses_of_types(&catalog, &mut rows);
    let wants_rules = equal.iter().all(|(place, value)| *place != 0 || value.as_i64() == Some(i64::from(RULE.0)));
    if wants_rules {
        add_views(run, &mut rows)?;
    }
    Ok(rows)
}

/// Sequences of columns.
fn add_sequences(catalog: &Catalog, rows: &mut Vec<Vec<Value>>) {
    let relation = class::RELATION;
    let mut sequences: Vec<_> = catalog.sequences().collect();
    sequences.sort_by_key(|sequence| sequence.oid);
    for sequence in sequences {
        let Some((table, place)) = sequence.owned_by else { continue };
        let is_identity = catalog.table(table).is_some_and(|table| {
            table.columns.get(place).and_then(|column| column.identity).is_some_and(|own| own.sequence == sequence.oid)
        });
        let kind = letter(if is_identity { 'i' } else { 'a' });
        rows.push(row![relation, sequence.oid, 0i32, relation, table, place as i32 + 1, kind]);
    }
}

fn add_constraints(catalog: &Catalog, rows: &mut Vec<Vec<Value>>) {
    let relation = class::RELATION;
    for (table, constraint) in constraints(catalog) {
        if let PrimaryKey { index } | Unique { index } = constraint.kind {
            rows.push(row![relation, index, 0i32, class::CONSTRAINT, constraint.oid, 0i32, letter('i')]);
        }
        if let ForeignKey { referenced_table, .. } = constraint.kind {
            rows.push(row![class::CONSTRAINT, constraint.oid, 0i32, relation, referenced_table, 0i32, letter('n')]);
        }
        rows.push(row![class::CONSTRAINT, constraint.oid, 0i32, relation, table.oid, 0i32, letter('a')]);
    }
}

/// Defaults of their columns, and the sequences they take numbers from.
fn add_defaults(run: &Run<'_, '_>, catalog: &Catalog, rows: &mut Vec<Vec<Value>>) {
    for table in super::relations::tables(catalog) {
        for (place, column) in table.columns.iter().enumerate().filter(|(_, column)| !column.dropped) {
            let Some(text) = column.generated.as_ref().or(column.default.as_ref()) else { continue };
            let (default, number) = (default_oid(table.oid, place + 1), place as i32 + 1);
            rows.push(row![DEFAULT, default, 0i32, class::RELATION, table.oid, number, letter('a')]);
            for sequence in sequences_in(run, text) {
                rows.push(row![DEFAULT, default, 0i32, class::RELATION, sequence, 0i32, letter('n')]);
            }
        }
    }
}

/// The sequences that a stored expression names in calls of `nextval`.
fn sequences_in(run: &Run<'_, '_>, text: &str) -> Vec<Oid> {
    let named = text.split("nextval('").skip(1).filter_map(|rest| rest.split_once('\''));
    let found = named.filter_map(|(name, _)| parse_reg(&run.catalog, name, oids::REGCLASS).ok().map(Oid));
    found.collect()
}

/// Types made of other types.
fn add_types(run: &Run<'_, '_>, catalog: &Catalog, rows: &mut Vec<Vec<Value>>) {
    for oid in user_types::all(catalog).into_iter().filter(|oid| catalog.table(*oid).is_none()) {
        let Some(user_type) = run.catalog.user_type(oid) else { continue };
        let parts: Vec<Oid> = match &user_type.kind {
            UserTypeKind::Composite(shape) => shape.fields.iter().map(|(_, sql_type)| sql_type.oid).collect(),
            UserTypeKind::Domain(base) => vec![base.oid],
            _ => continue,
        };
        for part in parts.into_iter().filter(|part| *part >= Oid::FIRST_NORMAL) {
            let part = user_types::element_of_array(part).unwrap_or(part);
            rows.push(row![class::TYPE, oid, 0i32, class::TYPE, part, 0i32, letter('n')]);
        }
    }
}

/// Columns and functions of the types that users made, and row types of their relations.
fn add_uses_of_types(catalog: &Catalog, rows: &mut Vec<Vec<Value>>) {
    let made = |oid: Oid| (oid >= Oid::FIRST_NORMAL).then(|| user_types::element_of_array(oid).unwrap_or(oid));
    for table in super::relations::tables(catalog) {
        rows.push(row![class::TYPE, table.oid, 0i32, class::RELATION, table.oid, 0i32, letter('i')]);
        for (place, column) in table.columns.iter().enumerate().filter(|(_, column)| !column.dropped) {
            if let Some(made) = made(column.type_oid) {
                let number = place as i32 + 1;
                rows.push(row![class::RELATION, table.oid, number, class::TYPE, made, 0i32, letter('n')]);
            }
        }
    }
    let mut functions: Vec<_> = catalog.functions().collect();
    functions.sort_by_key(|function| function.oid);
    for function in functions {
        let own = function.arguments.iter().map(|argument| argument.type_oid).chain([function.returns]);
        let mut types: Vec<Oid> = own.filter_map(made).collect();
        types.sort_unstable();
        types.dedup();
        for made in types {
            rows.push(row![class::FUNCTION, function.oid, 0i32, class::TYPE, made, 0i32, letter('n')]);
        }
    }
}

/// Views, by the rules they are, of what they read.
fn add_views(run: &mut Run<'_, '_>, rows: &mut Vec<Vec<Value>>) -> Result<()> {
    for used in crate::commands::what_views_use(run.state, &mut *run.client)? {
        let rule = rule_oid(used.view);
        rows.push(row![RULE, rule, 0i32, class::RELATION, used.view, 0i32, letter('i')]);
        for relation in used.named.relations {
            rows.push(row![RULE, rule, 0i32, class::RELATION, relation, 0i32, letter('n')]);
        }
        for function in used.named.functions {
            rows.push(row![RULE, rule, 0i32, class::FUNCTION, function, 0i32, letter('n')]);
        }
        for part in used.named.types {
            let part = user_types::element_of_array(part).unwrap_or(part);
            rows.push(row![RULE, rule, 0i32, class::TYPE, part, 0i32, letter('n')]);
        }
    }
    Ok(())
}
