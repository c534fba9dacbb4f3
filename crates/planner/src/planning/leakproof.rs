//! Which conditions may see rows that a view with `security_barrier` does not show.

use plan::{Call, Expr, ExprKind, FunctionTarget};

/// Whether evaluating an expression tells nothing of the values it sees but by its result. An unknown expression is taken to tell something.
pub(super) fn is_leakproof(expr: &Expr) -> bool {
    let all = |exprs: &[Expr]| exprs.iter().all(is_leakproof);
    match &expr.kind {
        ExprKind::Constant(_)
        | ExprKind::Parameter(_)
        | ExprKind::Column(_)
        | ExprKind::Outer(_)
        | ExprKind::Variable(_)
        | ExprKind::CaseOperand => true,
        ExprKind::Call(call) => is_leakproof_call(call),
        ExprKind::IsDistinct { equal, .. } | ExprKind::NullIf(equal) => is_leakproof_call(equal),
        ExprKind::And(parts) | ExprKind::Or(parts) | ExprKind::Coalesce(parts) => all(parts),
        ExprKind::Array { elements, .. } => all(elements),
        ExprKind::Row { fields, .. } => all(fields),
        ExprKind::Not(input) | ExprKind::IsNull(input) | ExprKind::IsNotNull(input) => is_leakproof(input),
        ExprKind::IsTruth { input, .. } => is_leakproof(input),
        ExprKind::Quantified(quantified) => {
            types::is_leakproof(quantified.function.oid)
                && is_leakproof(&quantified.left)
                && is_leakproof(&quantified.array)
        }
        ExprKind::Field(access) => is_leakproof(&access.input),
        ExprKind::Case { operand, whens, otherwise } => {
            let of_arms = whens.iter().all(|when| is_leakproof(&when.condition) && is_leakproof(&when.result));
            of_arms && [operand, otherwise].into_iter().flatten().all(|expr| is_leakproof(expr))
        }
        _ => false,
    }
}

fn is_leakproof_call(call: &Call) -> bool {
    let function = match &call.function {
        FunctionTarget::Builtin(function) => types::is_leakproof(function.oid),
        FunctionTarget::Stored(function) => function.leakproof,
    };
    function && call.arguments.iter().all(is_leakproof)
}
