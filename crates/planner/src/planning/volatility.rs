//! How much an expression's value may change between evaluations.

use plan::{Call, Expr, ExprKind, FunctionTarget};
use schema::catalog::Volatility as StoredVolatility;
use types::{Volatility, has_immutable_output};

/// The least constant of all that the expression calls.
pub fn volatility(expr: &Expr) -> Volatility {
    let mut worst = own_volatility(expr);
    expr.for_each_child(&mut |child| worst = worst.max(volatility(child)));
    worst
}

fn own_volatility(expr: &Expr) -> Volatility {
    match &expr.kind {
        ExprKind::Call(call) if joins_immutable_text(call) || is_never_made(call) => Volatility::Immutable,
        ExprKind::Call(call) | ExprKind::NullIf(call) | ExprKind::IsDistinct { equal: call, .. } => {
            of_function(&call.function)
        }
        ExprKind::Set(call) => of_function(&call.function),
        ExprKind::Quantified(quantified) => quantified.function.volatility,
        ExprKind::Session(_) => Volatility::Stable,
        ExprKind::Cast(cast) if !cast.cast.is_immutable() && !is_null(&cast.input) => Volatility::Stable,
        ExprKind::Subquery(_) => Volatility::Volatile,
        _ => Volatility::Immutable,
    }
}

/// Whether an expression is NULL without being evaluated.
fn is_null(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Constant(value) => value.is_null(),
        ExprKind::Cast(cast) => !cast.cast.checks_domain() && is_null(&cast.input),
        ExprKind::Call(call) => is_never_made(call),
        _ => false,
    }
}

/// Whether a call is NULL because one of its arguments is.
fn is_never_made(call: &Call) -> bool {
    let is_strict = match &call.function {
        FunctionTarget::Builtin(function) => function.strict,
        FunctionTarget::Stored(function) => function.strict,
    };
    is_strict && call.arguments.iter().any(is_null)
}

/// Whether it is `text || value` or `value || text`, and the value's text never changes. PostgreSQL puts the body of these stable functions
/// in their place before it looks at it.
fn joins_immutable_text(call: &Call) -> bool {
    matches!(&call.function, FunctionTarget::Builtin(function) if matches!(function.name, "textanycat" | "anytextcat"))
        && call.arguments.iter().all(|argument| has_immutable_output(argument.sql_type.oid))
}

fn of_function(function: &FunctionTarget) -> Volatility {
    match function {
        FunctionTarget::Builtin(function) => function.volatility,
        FunctionTarget::Stored(function) => match function.volatility {
            StoredVolatility::Immutable => Volatility::Immutable,
            StoredVolatility::Stable => Volatility::Stable,
            StoredVolatility::Volatile => Volatility::Volatile,
        },
    }
}
