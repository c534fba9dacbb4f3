//! ALTER TABLE ... ALTER COLUMN ... TYPE.

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use plan::Expr;
use schema::catalog::{ConstraintKind, IndexDef, TableDef};
use syntax::parser::if_readable;
use syntax::tree::{self, Name, TypeName};
use types::reg_types::quote_identifier;
use types::{SqlType, numeric, oids};

use super::super::composite::refuse_member_of_itself;
use super::super::ddl::{Ddl, without_position};
use super::super::dependencies::{Node, stored_columns, views_reading};
use super::super::reshape::refuse_stored_rows;
use super::super::restate::Readers;
use super::super::rewrite::rewrite;
use super::super::{column, constraint, index, properties, sequence};
use super::place_of;
use executor::evaluate;
use planner::binder::{DefinitionUse, expression_columns};
use planner::deparse::{Deparser, NoNames, Qualify, TableNames};

/// Gives a column another type; rows are written again unless their bytes stay what they are.
pub(super) fn change(
    ddl: &mut Ddl<'_>,
    oid: Oid,
    name: &Name,
    type_name: &TypeName,
    using: Option<&tree::Expr>,
    collation: Option<&tree::QualifiedName>,
) -> Result<()> {
    let old = ddl.table(oid)?;
    let place = place_of(&old, name)?;
    let told = ddl.state.warnings.count();
    let target = ddl.usable_type(type_name).map_err(without_position)?;
    ddl.state.warnings.repeat(told);
    column::check_name_and_type(ddl, name, target.oid)?;
    refuse_member_of_itself(ddl, oid, &old.name, target.oid)?;
    if using.is_some() && old.columns[place].generated.is_some() {
        let error = Error::new(
            sqlstate::INVALID_COLUMN_DEFINITION,
            "cannot specify USING when altering type of generated column",
        )
        .detail(format!("Column \"{name}\" is a generated column."));
        return Err(error);
    }
    let values = conversion(ddl, &old, place, target, using)?;
    let readers = Readers::find(ddl, oid, &[name])?;
    let mut new = (*old).clone();
    let column = &mut new.columns[place];
    column.type_oid = target.oid;
    column.typmod = target.typmod;
    column.physical = types::physical_type(&ddl.view(), target.oid);
    properties::for_new_type(ddl, &mut new, place, collation)?;
    new.columns[place].default = ddl.without_needs(|| converted_default(ddl, &old, &new, place))?;
    ddl.without_needs(|| refuse_dependents(ddl, &old, place))?;
    convert_identity(ddl, &new, place)?;
    let was = SqlType::with_typmod(old.columns[place].type_oid, old.columns[place].typmod);
    let keeps_bytes = using.is_none() && old.columns[place].generated.is_none() && keeps_bytes(was, target);
    new.column_statistics = None;
    ddl.without_needs(|| restate(ddl, &mut new, place))?;
    refuse_stored_rows(ddl, &old)?;
    let open = ddl.open(oid)?;
    if open.block_count()? == 0 {
        new.columns[place].missing_default = None;
        ddl.replace(new)?;
    } else if keeps_bytes {
        ddl.replace(new)?;
    } else {
        let checks = checks_of(ddl, &new, place)?;
        let schema = ddl.view().schema_name(new.schema);
        let shape = new.clone();
        rewrite(ddl, &open, new, &mut |run, row| {
            let mut converted = row.to_vec();
            converted[place] = evaluate(&values, row, run)?;
            if shape.columns[place].not_null && converted[place].is_null() {
                return Err(super::super::validate::contains_nulls(&shape, &schema, place));
            }
            for (name, check) in &checks {
                if matches!(evaluate(check, &converted, run)?, types::Value::Bool(false)) {
                    return Err(super::super::validate::violated(&shape, &schema, name));
                }
            }
            Ok(converted)
        })?;
    }
    readers.check(ddl, &old.name)?;
    constraint::check_foreign_keys_again(ddl, oid, place, keeps_bytes)
}

/// The new value over an old row.
fn conversion(
    ddl: &Ddl<'_>,
    old: &Arc<TableDef>,
    place: usize,
    target: SqlType,
    using: Option<&tree::Expr>,
) -> Result<Expr> {
    let column = &old.columns[place];
    if let Some(text) = &column.generated {
        return ddl.stored_expression(old, text, DefinitionUse::Generated { column: &column.name, sql_type: target });
    }
    let used_for = DefinitionUse::AlterType { column: &column.name, sql_type: target, is_using: using.is_some() };
    match using {
        Some(expr) => ddl.expression(Some(old), expr, used_for),
        None => {
            let itself = tree::Expr::new(tree::ExprKind::Column(vec![Name::new(&column.name)]), -1);
            ddl.expression(Some(old), &itself, used_for)
        }
    }
}

/// The column's default as its new type.
fn converted_default(ddl: &Ddl<'_>, old: &Arc<TableDef>, new: &TableDef, place: usize) -> Result<Option<String>> {
    let (before, after) = (&old.columns[place], &new.columns[place]);
    let Some(text) = &before.default else { return Ok(None) };
    let sql_type = SqlType::with_typmod(after.type_oid, after.typmod);
    let used_for = DefinitionUse::Default { column: &before.name, sql_type };
    if let Some(expr) = if_readable(ddl.stored_expression(old, text, used_for))? {
        return Ok(Some(ddl.stored_text(&expr, &NoNames)));
    }
    let wanted = types::format_type_name(&ddl.view(), after.type_oid);
    let message = format!("default for column \"{}\" cannot be cast automatically to type {wanted}", before.name);
    Err(Error::new(sqlstate::DATATYPE_MISMATCH, message))
}

/// The sequence behind an identity column takes the column's type.
fn convert_identity(ddl: &Ddl<'_>, new: &TableDef, place: usize) -> Result<()> {
    let column = &new.columns[place];
    let Some(identity) = column.identity else { return Ok(()) };
    if !matches!(column.type_oid, oids::INT2 | oids::INT4 | oids::INT8) {
        return Err(column::identity_type());
    }
    let catalog = ddl.catalog();
    let Some(counts) = catalog.sequence(identity.sequence) else { return Ok(()) };
    sequence::change_type(ddl, counts, column.type_oid)
}

/// 0A000 for a column that views, triggers or generated columns use.
fn refuse_dependents(ddl: &Ddl<'_>, table: &Arc<TableDef>, place: usize) -> Result<()> {
    let name = &table.columns[place].name;
    let view = ddl.view();
    // The oldest is named.
    let mut found: Vec<Node> = views_reading(ddl, table.oid, place)?.into_iter().map(Node::Object).collect();
    for trigger in &table.triggers {
        if trigger.update_columns.contains(&place)
            || super::super::trigger::columns_read(ddl.state, table, trigger)?.contains(&place)
        {
            found.push(Node::Trigger(table.oid, trigger.oid));
        }
    }
    let oldest = found.into_iter().min_by_key(|node| match node {
        Node::Object(oid) | Node::Trigger(_, oid) => *oid,
        _ => Oid::INVALID,
    });
    if let Some(node) = oldest {
        let shown = super::super::dependencies::describe(&view, node);
        if !matches!(node, Node::Trigger(..)) {
            return Err(read_by_view(&shown, name));
        }
        return Err(Error::unsupported("cannot alter type of a column used in a trigger definition")
            .detail(format!("{shown} depends on column \"{}\"", quote_identifier(name).trim_matches('"'))));
    }
    for (_, column) in table.columns.iter().enumerate().filter(|(other, column)| *other != place && !column.dropped) {
        if let Some(text) = &column.generated
            && stored_columns(ddl, table, text)?.contains(&place)
        {
            return Err(Error::unsupported("cannot alter type of a column used by a generated column")
                .detail(format!("Column \"{name}\" is used by generated column \"{}\".", column.name)));
        }
    }
    Ok(())
}

/// The error for a column, or an attribute, that a view reads; `shown` is the view.
pub(in crate::commands) fn read_by_view(shown: &str, name: &str) -> Error {
    Error::unsupported("cannot alter type of a column used by a view or rule")
        .detail(format!("rule _RETURN on {shown} depends on column \"{}\"", quote_identifier(name).trim_matches('"')))
}

/// Binds the expressions that read the column once more, and stores them as they are written now.
fn restate(ddl: &Ddl<'_>, new: &mut TableDef, place: usize) -> Result<()> {
    let catalog = ddl.catalog();
    let shape = Arc::new(new.clone());
    let restated = |text: &str, used_for: DefinitionUse<'_>| -> Result<Option<String>> {
        let expr = ddl.stored_expression(&shape, text, used_for)?;
        if !expression_columns(&expr).contains(&place) {
            return Ok(None);
        }
        if matches!(used_for, DefinitionUse::IndexKey | DefinitionUse::IndexPredicate) {
            index::require_immutable(ddl, &expr, used_for)?;
        }
        let view = ddl.view();
        let names = TableNames(&shape);
        let deparser = Deparser::new(&view, &names, Qualify::Always).indented();
        Ok(Some(match used_for {
            DefinitionUse::IndexKey => deparser.full_text(&expr),
            _ => deparser.text(&expr),
        }))
    };
    for constraint in &mut new.constraints {
        if let ConstraintKind::Check { expression, .. } = &mut constraint.kind
            && let Some(text) = restated(expression, DefinitionUse::Check)?
        {
            *expression = text;
        }
    }
    for index in catalog.indexes_of(new.oid) {
        let mut changed: IndexDef = (**index).clone();
        for key in &mut changed.keys {
            if let Some(text) = &key.expression
                && let Some(text) = restated(text, DefinitionUse::IndexKey)?
            {
                key.expression = Some(text);
            }
        }
        if let Some(text) = &changed.predicate
            && let Some(text) = restated(text, DefinitionUse::IndexPredicate)?
        {
            changed.predicate = Some(text);
        }
        if changed != **index {
            ddl.replace(changed)?;
        }
    }
    Ok(())
}

/// The checks that read the column: rows have passed the others.
fn checks_of(ddl: &Ddl<'_>, table: &TableDef, place: usize) -> Result<Vec<(String, Expr)>> {
    let shape = Arc::new(table.clone());
    let mut checks = Vec::new();
    for constraint in &table.constraints {
        if let ConstraintKind::Check { expression, .. } = &constraint.kind
            && constraint.validated
        {
            let bind = || ddl.stored_expression(&shape, expression, DefinitionUse::Check);
            if expression_columns(&ddl.without_needs(bind)?).contains(&place) {
                checks.push((constraint.name.clone(), bind()?));
            }
        }
    }
    Ok(checks)
}

/// Whether every value of `was` is stored as the same bytes, and ordered the same, as a value of `is`.
fn keeps_bytes(was: SqlType, is: SqlType) -> bool {
    let is_text = |oid| matches!(oid, oids::TEXT | oids::VARCHAR);
    if is_text(was.oid) && is_text(is.oid) {
        return is.typmod < 0 || (was.typmod >= 0 && was.typmod <= is.typmod);
    }
    if was.oid != is.oid {
        return false;
    }
    if was.typmod == is.typmod || is.typmod < 0 && !matches!(is.oid, oids::BPCHAR) {
        return true;
    }
    match is.oid {
        oids::NUMERIC => match (numeric::decode_typmod(was.typmod), numeric::decode_typmod(is.typmod)) {
            (Some((old_precision, old_scale)), Some((precision, scale))) => {
                old_scale == scale && precision >= old_precision
            }
            _ => false,
        },
        oids::VARBIT => was.typmod >= 0 && is.typmod >= was.typmod,
        oids::TIME | oids::TIMETZ | oids::TIMESTAMP | oids::TIMESTAMPTZ => was.typmod >= 0 && is.typmod >= was.typmod,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varchar(length: i32) -> SqlType {
        SqlType::with_typmod(oids::VARCHAR, length + 4)
    }

    #[test]
    fn a_wider_type_of_the_same_bytes_needs_no_new_rows() {
        assert!(keeps_bytes(varchar(10), varchar(20)));
        assert!(keeps_bytes(varchar(10), SqlType::TEXT));
        assert!(!keeps_bytes(varchar(20), varchar(10)));
        assert!(!keeps_bytes(SqlType::TEXT, varchar(10)));
        assert!(!keeps_bytes(SqlType::INT4, SqlType::INT8));
        assert!(!keeps_bytes(SqlType::with_typmod(oids::BPCHAR, 8), SqlType::TEXT));
        let numeric = |precision, scale| SqlType::with_typmod(oids::NUMERIC, numeric::encode_typmod(precision, scale));
        assert!(keeps_bytes(numeric(5, 2), numeric(8, 2)));
        assert!(keeps_bytes(numeric(5, 2), SqlType::NUMERIC));
        assert!(!keeps_bytes(numeric(5, 2), numeric(8, 3)));
    }
}
