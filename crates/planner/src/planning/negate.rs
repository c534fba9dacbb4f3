//! NOT of a condition is its opposite, where there is one: indexes, selectivity and implication know comparisons, and not NOT.

use plan::{Call, Expr, ExprKind, FunctionTarget, Quantified, Quantifier};
use types::{FunctionDef, OperatorDef, SqlType, Value, oids};

/// The opposite of a condition; NOT of it where it has none.
pub(super) fn negated(condition: Expr) -> Expr {
    let kind = match condition.kind {
        ExprKind::Not(inner) => return *inner,
        ExprKind::Constant(Value::Bool(value)) => ExprKind::Constant(Value::Bool(!value)),
        ExprKind::Constant(Value::Null) => ExprKind::Constant(Value::Null),
        ExprKind::And(parts) => ExprKind::Or(parts.into_iter().map(negated).collect()),
        ExprKind::Or(parts) => ExprKind::And(parts.into_iter().map(negated).collect()),
        ExprKind::IsTruth { input, value, negated } => ExprKind::IsTruth { input, value, negated: !negated },
        ExprKind::IsDistinct { equal, negated } => ExprKind::IsDistinct { equal, negated: !negated },
        // A row may be neither NULL nor not NULL.
        ExprKind::IsNull(input) if !input.sql_type.may_be_row() => ExprKind::IsNotNull(input),
        ExprKind::IsNotNull(input) if !input.sql_type.may_be_row() => ExprKind::IsNull(input),
        ExprKind::Call(call) => match call.operator.and_then(opposite) {
            Some((operator, function)) => {
                let function = FunctionTarget::Builtin(function);
                ExprKind::Call(Box::new(Call { function, operator: Some(operator), ..*call }))
            }
            None => not(ExprKind::Call(call)),
        },
        ExprKind::Quantified(quantified) => {
            let quantifier = match quantified.quantifier {
                Quantifier::Any => Some(Quantifier::All),
                Quantifier::All => Some(Quantifier::Any),
                Quantifier::Only => None,
            };
            match quantifier.zip(opposite(quantified.operator)) {
                Some((quantifier, (operator, function))) => {
                    ExprKind::Quantified(Box::new(Quantified { quantifier, operator, function, ..*quantified }))
                }
                None => not(ExprKind::Quantified(quantified)),
            }
        }
        other => not(other),
    };
    Expr { kind, sql_type: SqlType::BOOL }
}

fn not(kind: ExprKind) -> ExprKind {
    ExprKind::Not(Box::new(Expr { kind, sql_type: SqlType::BOOL }))
}

fn opposite(operator: &OperatorDef) -> Option<(&'static OperatorDef, &'static FunctionDef)> {
    let operator = types::operator(operator.negator)?;
    Some((operator, types::function(operator.function)?))
}

/// `condition = true` is the condition, and `condition <> true` its opposite. Nothing for other calls.
pub(super) fn truth_compared(call: &Call) -> Option<Expr> {
    let (operator, [left, right]) = (call.operator?, call.arguments.as_slice()) else { return None };
    if operator.left != oids::BOOL || operator.right != oids::BOOL {
        return None;
    }
    let is_equal = match operator.role {
        types::OperatorRole::Equal => true,
        types::OperatorRole::NotEqual => false,
        _ => return None,
    };
    let (condition, value) = match (left.as_constant(), right.as_constant()) {
        (None, Some(Value::Bool(value))) => (left, *value),
        (Some(Value::Bool(value)), None) => (right, *value),
        _ => return None,
    };
    Some(if value == is_equal { condition.clone() } else { negated(condition.clone()) })
}
