//! Expressions of definitions, ready to be computed.

use std::sync::Arc;

use base::Result;
use plan::{Expr, TableExpressions};
use schema::catalog::{ColumnDef, TableDef};
use syntax::tree;

use super::{Inlining, fold};
use crate::binder::{self, BindContext};

/// The default of a column, its identity's and its domain's included; NULL if it has none.
///
/// # Errors
/// Errors of binding and folding.
pub fn column_default(context: &mut BindContext<'_>, column: &ColumnDef) -> Result<Expr> {
    let bound = binder::column_default(context, column)?;
    folded_alone(bound, context)
}

/// WHERE of COPY FROM, over a table's full row.
///
/// # Errors
/// Errors of binding and folding.
pub fn copy_filter(context: &mut BindContext<'_>, table: &Arc<TableDef>, filter: &tree::Expr) -> Result<Expr> {
    let bound = binder::copy_filter(context, table, filter)?;
    folded_alone(bound, context)
}

/// The expressions of a table's constraints, generated columns and indexes; `None` when it has none.
///
/// # Errors
/// Errors of binding and folding.
pub fn table_expressions(
    context: &mut BindContext<'_>,
    table: &Arc<TableDef>,
) -> Result<Option<Arc<TableExpressions>>> {
    let mut bound = binder::table_expressions(context, table)?;
    let mut inlining = Inlining::default();
    fold_table_expressions(&mut bound, context, &mut inlining)?;
    hand_on_needed(inlining, context);
    Ok(bound)
}

/// Folds the expressions of a table.
///
/// # Errors
/// Errors of folding.
pub(super) fn fold_table_expressions(
    expressions: &mut Option<Arc<TableExpressions>>,
    context: &mut BindContext<'_>,
    inlining: &mut Inlining,
) -> Result<()> {
    let Some(expressions) = expressions else { return Ok(()) };
    let TableExpressions { checks, generated, indexes } = Arc::make_mut(expressions);
    let of_indexes = indexes.iter_mut().flatten().flat_map(|index| {
        let keys = index.keys.iter_mut().map(|(_, key)| key);
        keys.chain(&mut index.predicate)
    });
    let of_columns = generated.iter_mut().map(|(_, expr)| expr);
    let mut all = checks.iter_mut().map(|(_, condition)| condition).chain(of_columns).chain(of_indexes);
    all.try_for_each(|expr| fold(expr, context, inlining))
}

/// Folds an expression that is run as it is, without a plan.
fn folded_alone(mut expr: Expr, context: &mut BindContext<'_>) -> Result<Expr> {
    let mut inlining = Inlining::default();
    fold(&mut expr, context, &mut inlining)?;
    hand_on_needed(inlining, context);
    Ok(expr)
}

/// Hands on the privileges that inlined functions need.
fn hand_on_needed(inlining: Inlining, context: &mut BindContext<'_>) {
    for access in inlining.access {
        access.add_to(&mut context.needed);
    }
}
