//! Which expressions give something else, or have effects, each time that they are computed.

use plan::bound::{Cte, Query, RelationKind};
use plan::{AggregateCall, Expr, ExprKind, FunctionTarget, SetCall, Subquery, SubqueryBody};
use types::Volatility;

/// Whether evaluating `expr` again may give something else, or has effects.
pub fn is_volatile(expr: &Expr) -> bool {
    expr.any(&|inner| match &inner.kind {
        ExprKind::Call(call) => is_volatile_function(&call.function),
        ExprKind::Set(_) => true,
        ExprKind::Subquery(subquery) => is_volatile_subquery(subquery),
        _ => false,
    })
}

/// Whether `expr` itself calls something volatile. Subqueries are not looked into, as in PostgreSQL where it orders computations.
pub(crate) fn calls_volatile(expr: &Expr) -> bool {
    expr.any(&|inner| match &inner.kind {
        ExprKind::Call(call) => is_volatile_function(&call.function),
        ExprKind::Set(_) => true,
        _ => false,
    })
}

/// Whether a call that returns a set may return another one when it is made again, or has effects.
pub(crate) fn is_volatile_set(call: &SetCall) -> bool {
    is_volatile_function(&call.function) || call.arguments.iter().any(is_volatile)
}

/// Whether an aggregate over the same rows may come out differently, or has effects.
pub(super) fn is_volatile_aggregate(call: &AggregateCall) -> bool {
    let order = call.order.iter().map(|key| &key.expr);
    call.arguments.iter().chain(order).chain(&call.filter).any(is_volatile)
}

fn is_volatile_function(function: &FunctionTarget) -> bool {
    match function {
        FunctionTarget::Builtin(function) => function.volatility == Volatility::Volatile,
        FunctionTarget::Stored(function) => function.volatility == schema::catalog::Volatility::Volatile,
    }
}

/// Whether a subquery that is not planned yet calls something volatile, at any depth.
fn is_volatile_subquery(subquery: &Subquery) -> bool {
    match &subquery.body {
        SubqueryBody::Bound(query) => is_volatile_query(query),
        _ => false,
    }
}

/// Whether a query calls something volatile, at any depth.
pub(crate) fn is_volatile_query(query: &Query) -> bool {
    let mut is_volatile = calls_volatile_in_from(query);
    query.for_each_expr(0, &mut |expr, _| {
        is_volatile = is_volatile
            || expr.any(&|inner| match &inner.kind {
                ExprKind::Call(call) => is_volatile_function(&call.function),
                ExprKind::Set(call) => is_volatile_function(&call.function),
                ExprKind::Subquery(inner) => is_volatile_subquery(inner),
                _ => false,
            });
    });
    is_volatile
}

/// Whether a function that stands in FROM, here or in a query that is read from, is volatile. Its arguments are expressions of the query.
fn calls_volatile_in_from(query: &Query) -> bool {
    let in_relations = query.relations.iter().any(|relation| match &relation.kind {
        RelationKind::Function { calls, .. } => calls.iter().any(|call| is_volatile_function(&call.function)),
        RelationKind::Subquery(inner) => calls_volatile_in_from(inner),
        _ => false,
    });
    let in_cte = |cte: &Cte| {
        let recursive = cte.recursive.as_ref().map(|(recursive, _)| recursive);
        std::iter::once(&cte.query).chain(recursive).any(calls_volatile_in_from)
    };
    in_relations || query.ctes.iter().any(in_cte)
}
