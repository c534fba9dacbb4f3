//! Which expressions give something else, or have effects, each time that they are computed.

use crate::plan::{AggregateCall, Expr, ExprKind, FunctionTarget, SetCall, Subquery, SubqueryBody};
use crate::types::Volatility;

/// Whether evaluating `expr` again may give something else, or has effects.
pub(crate) fn is_volatile(expr: &Expr) -> bool {
    expr.any(&|inner| match &inner.kind {
        ExprKind::Call(call) => is_volatile_function(&call.function),
        ExprKind::Set(_) => true,
        ExprKind::Subquery(subquery) => is_volatile_subquery(subquery),
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
        FunctionTarget::Stored(function) => function.volatility == engine::catalog::Volatility::Volatile,
    }
}

/// Whether a subquery that is not planned yet calls something volatile, at any depth.
fn is_volatile_subquery(subquery: &Subquery) -> bool {
    let SubqueryBody::Bound(query) = &subquery.body else { return false };
    let mut is_volatile = false;
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
