//! Stored expressions name things; when one of those is going to be called otherwise, they are bound first and
//! written again afterwards.

use std::sync::Arc;

use base::{Oid, Result};
use engine::catalog::{Catalog, ConstraintKind, TableDef};

use super::ddl::Ddl;
use super::deparse::{Deparser, NoNames, Qualify, TableNames};
use crate::binder::DefinitionUse;
use crate::plan::{Expr, ExprKind, FunctionTarget};
use crate::types::{SqlType, oids};

/// Where an expression is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Default(usize),
    Generated(usize),
    Check(Oid),
    IndexKey(Oid, usize),
    IndexPredicate(Oid),
}

/// Expressions on their way from one text to the next.
pub(super) struct Restatement {
    expressions: Vec<(Oid, Place, Expr)>,
}

/// The expressions of a table's own columns: a column is going to be called otherwise.
pub(super) fn expressions_of(ddl: &Ddl<'_>, table: &Arc<TableDef>) -> Restatement {
    let mut expressions = Vec::new();
    collect(ddl, &ddl.catalog(), table, &mut |place, expr| {
        if !matches!(place, Place::Default(_)) {
            expressions.push((table.oid, place, expr));
        }
    });
    Restatement { expressions }
}

/// The expressions of all tables that name functions or relations: something outside of tables' columns is going to
/// be called otherwise.
pub(super) fn naming_expressions(ddl: &Ddl<'_>) -> Restatement {
    let catalog = ddl.catalog();
    let mut expressions = Vec::new();
    for table in catalog.tables() {
        collect(ddl, &catalog, table, &mut |place, expr| {
            if expr.any(&names_something) {
                expressions.push((table.oid, place, expr));
            }
        });
    }
    Restatement { expressions }
}

fn names_something(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(call) => matches!(call.function, FunctionTarget::Stored(_)),
        ExprKind::Set(call) => matches!(call.function, FunctionTarget::Stored(_)),
        ExprKind::Constant(_) => crate::types::text_io::is_reg_type(expr.sql_type.oid),
        // A cast to a type that a user made names it.
        ExprKind::Cast(_) => expr.sql_type.oid.0 >= Oid::FIRST_NORMAL.0,
        _ => expr.sql_type.oid == oids::REGCLASS,
    }
}

fn collect(ddl: &Ddl<'_>, catalog: &Catalog, table: &Arc<TableDef>, take: &mut dyn FnMut(Place, Expr)) {
    let mut bind = |text: &str, place: Place, used_for: DefinitionUse<'_>| {
        // What can't be bound any more can't be written either: it stays.
        if let Ok(expr) = ddl.stored_expression(table, text, used_for) {
            take(place, expr);
        }
    };
    for (number, column) in table.columns.iter().enumerate().filter(|(_, column)| !column.dropped) {
        let sql_type = SqlType::with_typmod(column.type_oid, column.typmod);
        if let Some(text) = &column.default {
            bind(text, Place::Default(number), DefinitionUse::Default { column: &column.name, sql_type });
        }
        if let Some(text) = &column.generated {
            bind(text, Place::Generated(number), DefinitionUse::Generated { column: &column.name, sql_type });
        }
    }
    for constraint in &table.constraints {
        if let ConstraintKind::Check { expression, .. } = &constraint.kind {
            bind(expression, Place::Check(constraint.oid), DefinitionUse::Check);
        }
    }
    for index in catalog.indexes_of(table.oid) {
        for (number, key) in index.keys.iter().enumerate() {
            if let Some(text) = &key.expression {
                bind(text, Place::IndexKey(index.oid, number), DefinitionUse::IndexKey);
            }
        }
        if let Some(text) = &index.predicate {
            bind(text, Place::IndexPredicate(index.oid), DefinitionUse::IndexPredicate);
        }
    }
}

impl Restatement {
    /// Writes the expressions as they read now.
    pub fn store(self, ddl: &Ddl<'_>) -> Result<()> {
        for (table, place, expr) in self.expressions {
            let def = ddl.table(table)?;
            let view = ddl.view();
            let names = TableNames(&def);
            let over_row = || Deparser::new(&view, &names, Qualify::Always).indented();
            match place {
                Place::Default(number) => {
                    let text = Deparser::new(&view, &NoNames, Qualify::Always).indented().text(&expr);
                    change_table(ddl, &def, |def| def.columns[number].default = Some(text))?;
                }
                Place::Generated(number) => {
                    let text = over_row().text(&expr);
                    change_table(ddl, &def, |def| def.columns[number].generated = Some(text))?;
                }
                Place::Check(oid) => {
                    let text = over_row().text(&expr);
                    change_table(ddl, &def, |def| {
                        for constraint in def.constraints.iter_mut().filter(|constraint| constraint.oid == oid) {
                            if let ConstraintKind::Check { expression, .. } = &mut constraint.kind {
                                expression.clone_from(&text);
                            }
                        }
                    })?;
                }
                Place::IndexKey(index, number) => {
                    let text = over_row().full_text(&expr);
                    let catalog = ddl.catalog();
                    let Some(old) = catalog.index(index) else { continue };
                    let mut new = (**old).clone();
                    new.keys[number].expression = Some(text);
                    if new != **old {
                        ddl.replace(new)?;
                    }
                }
                Place::IndexPredicate(index) => {
                    let text = over_row().text(&expr);
                    let catalog = ddl.catalog();
                    let Some(old) = catalog.index(index) else { continue };
                    let mut new = (**old).clone();
                    new.predicate = Some(text);
                    if new != **old {
                        ddl.replace(new)?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn change_table(ddl: &Ddl<'_>, old: &TableDef, change: impl FnOnce(&mut TableDef)) -> Result<()> {
    let mut new = old.clone();
    change(&mut new);
    if new == *old { Ok(()) } else { ddl.replace(new) }
}
