//! Fast paths for the expressions that most rows meet: operands are borrowed in place, and comparisons and
//! arithmetic of the common types are done here. The operators' own functions handle the rest (NULL where it matters,
//! overflow, other types).

use std::cmp::Ordering;
use std::ops::Deref;

use base::Result;
use plan::{Call, Expr, ExprKind, FunctionTarget};
use types::{OperatorRole, Value, oids};

use crate::evaluate::{Evaluator, evaluate};

/// An operand: where it lies, or computed.
pub(super) enum Operand<'v> {
    Borrowed(&'v Value),
    Owned(Value),
}

impl Operand<'_> {
    pub fn into_value(self) -> Value {
        match self {
            Operand::Borrowed(value) => value.clone(),
            Operand::Owned(value) => value,
        }
    }
}

impl Deref for Operand<'_> {
    type Target = Value;

    #[inline]
    fn deref(&self) -> &Value {
        match self {
            Operand::Borrowed(value) => value,
            Operand::Owned(value) => value,
        }
    }
}

/// The value of `expr` for `row`, not copied if it is a slot, a constant or a parameter.
#[inline]
pub(super) fn operand<'v, 'a: 'v, 'p: 'a, E: Evaluator<'a, 'p>>(
    expr: &'p Expr,
    row: &'v [Value],
    run: &mut E,
) -> Result<Operand<'v>> {
    match &expr.kind {
        ExprKind::Column(slot) => Ok(Operand::Borrowed(&row[*slot as usize])),
        ExprKind::Constant(value) => Ok(Operand::Borrowed(value)),
        ExprKind::Parameter(index) if (*index as usize) < run.parameters().len() => {
            Ok(Operand::Borrowed(&run.parameters()[*index as usize]))
        }
        _ => Ok(Operand::Owned(evaluate(expr, row, run)?)),
    }
}

/// Whether an ordering is what an operator of this role asks for; `None` if it is no comparison.
#[inline]
fn holds(role: OperatorRole, ordering: Ordering) -> Option<bool> {
    Some(match role {
        OperatorRole::Equal => ordering.is_eq(),
        OperatorRole::NotEqual => ordering.is_ne(),
        OperatorRole::Less => ordering.is_lt(),
        OperatorRole::LessEqual => ordering.is_le(),
        OperatorRole::Greater => ordering.is_gt(),
        OperatorRole::GreaterEqual => ordering.is_ge(),
        _ => return None,
    })
}

/// The truth of a comparison of two values of one common kind; `None` if it is something else.
#[inline]
pub(super) fn comparison(call: &Call, left: &Value, right: &Value) -> Option<bool> {
    let operator = call.operator?;
    let ordering = match (left, right) {
        (Value::Int4(left), Value::Int4(right)) => left.cmp(right),
        (Value::Int8(left), Value::Int8(right)) => left.cmp(right),
        (Value::Int4(left), Value::Int8(right)) => i64::from(*left).cmp(right),
        (Value::Int8(left), Value::Int4(right)) => left.cmp(&i64::from(*right)),
        (Value::Date(left), Value::Date(right)) => left.cmp(right),
        (Value::Timestamp(left), Value::Timestamp(right)) => left.cmp(right),
        (Value::TimestampTz(left), Value::TimestampTz(right)) => left.cmp(right),
        (Value::Float8(left), Value::Float8(right)) => left.partial_cmp(right)?,
        (Value::Numeric(left), Value::Numeric(right)) => left.compare(right),
        (Value::Text(left), Value::Text(right)) if operator.left == oids::BPCHAR || operator.right == oids::BPCHAR => {
            types::without_padding(left).cmp(types::without_padding(right))
        }
        (Value::Text(_), Value::Text(_)) if operator.left == oids::INET => return None,
        (Value::Text(left), Value::Text(right)) => left.as_bytes().cmp(right.as_bytes()),
        _ => return None,
    };
    holds(operator.role, ordering)
}

/// The result of an operator, if there is a short way to it.
#[inline]
pub(super) fn binary(call: &Call, left: &Value, right: &Value) -> Option<Value> {
    if let Some(truth) = comparison(call, left, right) {
        return Some(Value::Bool(truth));
    }
    let FunctionTarget::Builtin(function) = &call.function else { return None };
    let finite = |value: f64| value.is_finite().then_some(Value::Float8(value));
    Some(match (function.oid.0, left, right) {
        (177, Value::Int4(left), Value::Int4(right)) => Value::Int4(left.checked_add(*right)?),
        (181, Value::Int4(left), Value::Int4(right)) => Value::Int4(left.checked_sub(*right)?),
        (141, Value::Int4(left), Value::Int4(right)) => Value::Int4(left.checked_mul(*right)?),
        (463, Value::Int8(left), Value::Int8(right)) => Value::Int8(left.checked_add(*right)?),
        (464, Value::Int8(left), Value::Int8(right)) => Value::Int8(left.checked_sub(*right)?),
        (465, Value::Int8(left), Value::Int8(right)) => Value::Int8(left.checked_mul(*right)?),
        (218, Value::Float8(left), Value::Float8(right)) => finite(left + right)?,
        (219, Value::Float8(left), Value::Float8(right)) => finite(left - right)?,
        (216, Value::Float8(left), Value::Float8(right)) => {
            let product = left * right;
            if product == 0.0 && *left != 0.0 && *right != 0.0 {
                return None;
            }
            finite(product)?
        }
        (1724, Value::Numeric(left), Value::Numeric(right)) => Value::Numeric(left.add(right).ok()?),
        (1725, Value::Numeric(left), Value::Numeric(right)) => Value::Numeric(left.subtract(right).ok()?),
        (1726, Value::Numeric(left), Value::Numeric(right)) => Value::Numeric(left.multiply(right).ok()?),
        _ => return None,
    })
}

/// The truth of a condition for `row`; `None` is unknown.
#[inline]
pub(super) fn truth<'a, 'p: 'a, E: Evaluator<'a, 'p>>(
    condition: &'p Expr,
    row: &[Value],
    run: &mut E,
) -> Result<Option<bool>> {
    match &condition.kind {
        ExprKind::And(operands) => {
            let mut result = Some(true);
            for operand in operands {
                match truth(operand, row, run)? {
                    Some(false) => return Ok(Some(false)),
                    Some(true) => {}
                    None => result = None,
                }
            }
            Ok(result)
        }
        ExprKind::Call(call) if call.operator.is_some() && call.arguments.len() == 2 => {
            let left = operand(&call.arguments[0], row, run)?;
            let right = operand(&call.arguments[1], row, run)?;
            if let Some(truth) = comparison(call, &left, &right) {
                return Ok(Some(truth));
            }
            let value = crate::evaluate::call_function(call, &[left.into_value(), right.into_value()], run)?;
            Ok(as_truth(&value))
        }
        _ => Ok(as_truth(&evaluate(condition, row, run)?)),
    }
}

fn as_truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        _ => None,
    }
}
