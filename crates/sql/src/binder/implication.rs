//! Whether one condition makes sure of another: for partial indexes. PostgreSQL's rules are in `optimizer/util/predtest.c`.

use std::cmp::Ordering;

use base::Oid;

use super::aggregate::same;
use crate::plan::{Call, Expr, ExprKind, Quantified, Quantifier};
use crate::types::{OperatorRole, Value, compare_values, oids};

/// Longer lists are not looked through.
const ELEMENTS_MAX: usize = 100;

/// Whether `predicate` is true of every row of which `filter` is, as far as can be seen at a glance.
pub(crate) fn implies(filter: &Expr, predicate: &Expr) -> bool {
    if same(filter, predicate) {
        return true;
    }
    match (&filter.kind, &predicate.kind) {
        (_, ExprKind::And(parts)) => parts.iter().all(|part| implies(filter, part)),
        (ExprKind::Or(parts), _) => parts.iter().all(|part| implies(part, predicate)),
        (ExprKind::And(parts), ExprKind::Or(choices)) => {
            parts.iter().any(|part| implies(part, predicate)) || choices.iter().any(|choice| implies(filter, choice))
        }
        (ExprKind::And(parts), _) => parts.iter().any(|part| implies(part, predicate)),
        (_, ExprKind::Or(choices)) => choices.iter().any(|choice| implies(filter, choice)),
        (ExprKind::Call(call), ExprKind::IsNotNull(input)) => excludes_null(call, input),
        (ExprKind::Call(filter), ExprKind::Call(predicate)) => {
            match (Comparison::of(filter), Comparison::of(predicate)) {
                (Some(filter), Some(predicate)) => comparison_implies(&filter, &predicate),
                _ => false,
            }
        }
        (ExprKind::Quantified(any), ExprKind::Call(predicate)) => any_implies(any, predicate),
        _ => false,
    }
}

/// A strict condition on something makes sure that it is not NULL. Of a row, `IS NOT NULL` asks more: that no field is NULL.
fn excludes_null(condition: &Call, input: &Expr) -> bool {
    !input.sql_type.may_be_row()
        && condition.operator.is_some_and(|operator| !matches!(operator.role, OperatorRole::Other))
        && condition.arguments.iter().any(|argument| same(argument, input))
}

/// `a IN (12, 13)` makes sure of `a > 10` if each element does.
fn any_implies(any: &Quantified, predicate: &Call) -> bool {
    let Some(predicate) = Comparison::of(predicate) else { return false };
    let (Quantifier::Any, Some(Value::Array(array))) = (any.quantifier, any.array.as_constant()) else { return false };
    array.values.len() <= ELEMENTS_MAX
        && array.values.iter().filter(|element| !element.is_null()).all(|value| {
            let filter = Comparison { operand: &any.left, role: any.operator.role, value, type_oid: array.element };
            comparison_implies(&filter, &predicate)
        })
}

/// Of two comparisons of the same operand with constants of one type, whether the first makes sure of the second: `a > 11` of `a > 10`.
fn comparison_implies(filter: &Comparison<'_>, predicate: &Comparison<'_>) -> bool {
    use OperatorRole::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    if !same(filter.operand, predicate.operand) {
        return false;
    }
    let Some(order) = order(filter, predicate) else { return false };
    match (filter.role, predicate.role) {
        (Equal, Equal) => order.is_eq(),
        (Equal, NotEqual) => order.is_ne(),
        (Equal | Less | LessEqual, Less) => match filter.role {
            Less => order.is_le(),
            _ => order.is_lt(),
        },
        (Equal | Less | LessEqual, LessEqual) => order.is_le(),
        (Equal | Greater | GreaterEqual, Greater) => match filter.role {
            Greater => order.is_ge(),
            _ => order.is_gt(),
        },
        (Equal | Greater | GreaterEqual, GreaterEqual) => order.is_ge(),
        (Less, NotEqual) => order.is_le(),
        (LessEqual, NotEqual) => order.is_lt(),
        (Greater, NotEqual) => order.is_ge(),
        (GreaterEqual, NotEqual) => order.is_gt(),
        _ => false,
    }
}

/// `operand role constant`
struct Comparison<'e> {
    operand: &'e Expr,
    role: OperatorRole,
    value: &'e Value,
    type_oid: Oid,
}

impl<'e> Comparison<'e> {
    fn of(call: &'e Call) -> Option<Comparison<'e>> {
        let (operator, [left, right]) = (call.operator?, call.arguments.as_slice()) else { return None };
        let is_comparison = !matches!(operator.role, OperatorRole::Pattern | OperatorRole::Other);
        let (operand, constant, role) = match (left.as_constant(), right.as_constant()) {
            (None, Some(_)) => (left, right, operator.role),
            (Some(_), None) => (right, left, commuted(operator.role)),
            _ => return None,
        };
        let value = constant.as_constant().filter(|value| is_comparison && !value.is_null())?;
        Some(Comparison { operand, role, value, type_oid: constant.sql_type.oid })
    }
}

fn commuted(role: OperatorRole) -> OperatorRole {
    match role {
        OperatorRole::Less => OperatorRole::Greater,
        OperatorRole::LessEqual => OperatorRole::GreaterEqual,
        OperatorRole::Greater => OperatorRole::Less,
        OperatorRole::GreaterEqual => OperatorRole::LessEqual,
        other => other,
    }
}

/// How the constants of two comparisons are ordered; nothing for types whose order is not that of their values as such.
fn order(filter: &Comparison<'_>, predicate: &Comparison<'_>) -> Option<Ordering> {
    if let (Some(filter), Some(predicate)) = (integer(filter.value), integer(predicate.value)) {
        return Some(filter.cmp(&predicate));
    }
    let is_plain = !matches!(filter.type_oid, oids::BPCHAR | oids::INET | oids::CIDR);
    (is_plain && filter.type_oid == predicate.type_oid).then(|| compare_values(filter.value, predicate.value))
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int2(value) => Some(i64::from(*value)),
        Value::Int4(value) => Some(i64::from(*value)),
        Value::Int8(value) => Some(*value),
        _ => None,
    }
}
