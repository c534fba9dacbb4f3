//! Whether one condition makes sure of another: for partial indexes. PostgreSQL's rules are in `optimizer/util/predtest.c`.

use std::cmp::Ordering;

use base::Oid;
use plan::{Call, Expr, ExprKind, FunctionTarget, Quantified, Quantifier};
use types::{OperatorDef, OperatorRole, Value, comparator, oids};

use crate::binder::same;

/// Longer lists are not looked through.
const ELEMENTS_MAX: usize = 100;

/// Whether `filter` implies `predicate`, as far as simple rules can tell. Both have been folded.
pub(super) fn implies(filter: &Expr, predicate: &Expr) -> bool {
    // A predicate that is always true is implied by anything. A filter that is always true implies nothing else.
    same(filter, predicate)
        || predicate.is_true()
        || !filter.is_true() && Condition::of(filter).implies(&Condition::of(predicate))
}

/// The parts of a condition. A list of constants is a condition for each of them.
#[derive(Debug, Clone)]
enum Condition<'e> {
    All(Vec<Condition<'e>>),
    Any(Vec<Condition<'e>>),
    Compares(Comparison<'e>),
    Relates(Relation<'e>),
    /// A comparison of this operand with NULL, which is true of no row.
    Unknown(&'e Expr),
    /// False for every row. As in PostgreSQL it implies only another condition that is false for every row.
    False,
    Other(&'e Expr),
}

/// `operand role constant`
#[derive(Debug, Clone)]
struct Comparison<'e> {
    operand: &'e Expr,
    role: OperatorRole,
    value: &'e Value,
    /// The type that the operator reads the constant as.
    type_oid: Oid,
}

/// `left operator right`, where neither is a constant.
#[derive(Debug, Clone)]
struct Relation<'e> {
    left: &'e Expr,
    operator: &'static OperatorDef,
    right: &'e Expr,
}

impl<'e> Condition<'e> {
    fn of(expr: &'e Expr) -> Condition<'e> {
        let of_each = |parts: &'e [Expr]| parts.iter().map(Condition::of).collect::<Vec<_>>();
        match &expr.kind {
            ExprKind::And(parts) => {
                let parts = of_each(parts);
                if parts.iter().any(Condition::is_never_true) { Condition::False } else { Condition::All(parts) }
            }
            ExprKind::Or(parts) => {
                let mut parts = of_each(parts);
                parts.retain(|part| !part.is_never_true());
                match parts.len() {
                    0 => Condition::False,
                    1 => parts.swap_remove(0),
                    _ => Condition::Any(parts),
                }
            }
            ExprKind::Call(call) => Condition::of_call(call).unwrap_or(Condition::Other(expr)),
            ExprKind::Quantified(quantified) => Condition::of_elements(quantified).unwrap_or(Condition::Other(expr)),
            ExprKind::Constant(Value::Bool(false)) => Condition::False,
            _ => Condition::Other(expr),
        }
    }

    /// Whether it is FALSE or NULL.
    fn is_never_true(&self) -> bool {
        match self {
            Condition::False => true,
            Condition::Other(expr) => matches!(expr.as_constant(), Some(Value::Null)),
            _ => false,
        }
    }

    fn of_call(call: &'e Call) -> Option<Condition<'e>> {
        let (operator, [left, right]) = (call.operator?, call.arguments.as_slice()) else { return None };
        Condition::of_operands(operator, left, right)
    }

    fn of_operands(operator: &'static OperatorDef, left: &'e Expr, right: &'e Expr) -> Option<Condition<'e>> {
        if !is_comparison(operator) {
            return None;
        }
        let (operand, constant, role, declared) = match (left.as_constant(), right.as_constant()) {
            (None, None) => return Some(Condition::Relates(Relation { left, operator, right })),
            (None, Some(_)) => (left, right, operator.role, operator.right),
            (Some(_), None) => (right, left, commuted(operator.role), operator.left),
            (Some(_), Some(_)) => return None,
        };
        Some(match constant.as_constant()? {
            Value::Null => Condition::Unknown(operand),
            value => {
                let type_oid = taken_for(declared, constant.sql_type.oid);
                Condition::Compares(Comparison { operand, role, value, type_oid })
            }
        })
    }

    /// `a IN (12, 13)` is a comparison with 12 or one with 13, `a > ALL ('{3,11}')` one with each, and so is `a > ALL (ARRAY[b, 11])`.
    fn of_elements(quantified: &'e Quantified) -> Option<Condition<'e>> {
        let Quantified { operator, left, .. } = quantified;
        let each: Vec<Condition<'e>> = match &quantified.array.kind {
            ExprKind::Array { elements, nested: false } if elements.len() <= ELEMENTS_MAX => {
                elements.iter().map(|element| Condition::of_operands(operator, left, element)).collect::<Option<_>>()?
            }
            ExprKind::Constant(Value::Array(array)) if array.values.len() <= ELEMENTS_MAX => {
                if !is_comparison(operator) || left.as_constant().is_some() {
                    return None;
                }
                let type_oid = taken_for(operator.right, array.element);
                let of_value = |value: &'e Value| match value {
                    Value::Null => Condition::Unknown(left),
                    value => Condition::Compares(Comparison { operand: left, role: operator.role, value, type_oid }),
                };
                array.values.iter().map(of_value).collect()
            }
            _ => return None,
        };
        match quantified.quantifier {
            Quantifier::Any => Some(Condition::Any(each)),
            Quantifier::All => Some(Condition::All(each)),
            Quantifier::Only => None,
        }
    }

    fn implies(&self, predicate: &Condition<'_>) -> bool {
        match (self, predicate) {
            (_, Condition::All(parts)) => parts.iter().all(|part| self.implies(part)),
            (Condition::Any(parts), _) => parts.iter().all(|part| part.implies(predicate)),
            (Condition::All(parts), Condition::Any(choices)) => {
                parts.iter().any(|part| part.implies(predicate)) || choices.iter().any(|choice| self.implies(choice))
            }
            (Condition::All(parts), _) => parts.iter().any(|part| part.implies(predicate)),
            (_, Condition::Any(choices)) => choices.iter().any(|choice| self.implies(choice)),
            (Condition::False, predicate) => matches!(predicate, Condition::False),
            (Condition::Compares(filter), Condition::Compares(predicate)) => filter.implies(predicate),
            (Condition::Compares(filter), Condition::Other(predicate)) => {
                asks_for_a_value(predicate).is_some_and(|input| needs(filter.operand, input))
            }
            (Condition::Relates(filter), Condition::Relates(predicate)) => filter.implies(predicate),
            (Condition::Relates(filter), Condition::Other(predicate)) => {
                asks_for_a_value(predicate).is_some_and(|input| needs(filter.left, input) || needs(filter.right, input))
            }
            // A comparison with NULL is never true, so any `IS NOT NULL` follows from it.
            (Condition::Unknown(_), Condition::Other(predicate)) => asks_for_a_value(predicate).is_some(),
            // Otherwise only comparisons of the same operand follow from it.
            (Condition::Unknown(operand), Condition::Compares(Comparison { operand: asked, .. })) => {
                same(operand, asked)
            }
            (Condition::Unknown(operand), Condition::Unknown(asked)) => same(operand, asked),
            (Condition::Other(filter), Condition::Other(predicate)) => {
                same(filter, predicate) || asks_for_a_value(predicate).is_some_and(|input| needs(filter, input))
            }
            (Condition::Other(_), Condition::Compares(_))
            | (Condition::Relates(_), Condition::Compares(_))
            | (_, Condition::Relates(_) | Condition::Unknown(_) | Condition::False) => false,
        }
    }
}

/// An expression that a condition asks not to be NULL. Of a row, `IS NOT NULL` asks more: that no field is NULL.
fn asks_for_a_value(predicate: &Expr) -> Option<&Expr> {
    match &predicate.kind {
        ExprKind::IsNotNull(input) if !input.sql_type.may_be_row() => Some(input),
        _ => None,
    }
}

/// Whether `expr` is NULL, or not true, wherever `input` is NULL.
fn needs(expr: &Expr, input: &Expr) -> bool {
    if same(expr, input) {
        return true;
    }
    match &expr.kind {
        ExprKind::Constant(Value::Null) => true,
        ExprKind::Call(call) => {
            let is_strict = match &call.function {
                FunctionTarget::Builtin(function) => function.strict,
                FunctionTarget::Stored(function) => function.strict,
            };
            is_strict && call.arguments.iter().any(|argument| needs(argument, input))
        }
        ExprKind::Cast(cast) => needs(&cast.input, input),
        ExprKind::Quantified(quantified) if quantified.function.strict => {
            // A comparison with all elements of an empty array is true of NULL, too.
            let has_elements = match (quantified.quantifier, &quantified.array.kind) {
                (Quantifier::Any, _) => true,
                (_, ExprKind::Constant(Value::Array(array))) => !array.values.is_empty(),
                (_, ExprKind::Array { elements, nested: false }) => !elements.is_empty(),
                _ => false,
            };
            has_elements && needs(&quantified.left, input) || needs(&quantified.array, input)
        }
        _ => false,
    }
}

impl Relation<'_> {
    /// `a = b` makes sure of `a <= b`, and of `b >= a`.
    fn implies(&self, predicate: &Relation<'_>) -> bool {
        let (own, asked) = (self.operator, predicate.operator);
        let is_alike = own.left == asked.left && own.right == asked.right;
        if is_alike && same(self.left, predicate.left) && same(self.right, predicate.right) {
            return role_implies(own.role, asked.role, Ordering::Equal);
        }
        let is_turned = own.left == asked.right && own.right == asked.left;
        is_turned
            && same(self.left, predicate.right)
            && same(self.right, predicate.left)
            && role_implies(own.role, commuted(asked.role), Ordering::Equal)
    }
}

impl Comparison<'_> {
    /// `a > 11` makes sure of `a > 10`.
    fn implies(&self, predicate: &Comparison<'_>) -> bool {
        same(self.operand, predicate.operand)
            && order(self, predicate).is_some_and(|order| role_implies(self.role, predicate.role, order))
    }
}

/// Whether `a filter x` makes sure of `a predicate y`; `order` is that of x beside y.
fn role_implies(filter: OperatorRole, predicate: OperatorRole, order: Ordering) -> bool {
    use OperatorRole::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    match (filter, predicate) {
        (Equal, Equal) | (NotEqual, NotEqual) => order.is_eq(),
        (Equal, NotEqual) => order.is_ne(),
        (Equal | LessEqual, Less) | (LessEqual, NotEqual) => order.is_lt(),
        (Less, Less | NotEqual) | (Equal | Less | LessEqual, LessEqual) => order.is_le(),
        (Equal | GreaterEqual, Greater) | (GreaterEqual, NotEqual) => order.is_gt(),
        (Greater, Greater | NotEqual) | (Equal | Greater | GreaterEqual, GreaterEqual) => order.is_ge(),
        _ => false,
    }
}

fn is_comparison(operator: &OperatorDef) -> bool {
    !matches!(operator.role, OperatorRole::Pattern | OperatorRole::Other)
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

/// The type whose order an operator compares by: an operator on any array takes the array's own.
fn taken_for(declared: Oid, own: Oid) -> Oid {
    if types::is_pseudo_target(declared) { own } else { declared }
}

/// How the constants of two comparisons are ordered; nothing if they are of types that are not compared here.
fn order(filter: &Comparison<'_>, predicate: &Comparison<'_>) -> Option<Ordering> {
    let are_integers = integers(filter.type_oid) && integers(predicate.type_oid);
    if are_integers {
        return Some(filter.value.as_i64().cmp(&predicate.value.as_i64()));
    }
    if let (Some(filter), Some(predicate)) = (moment(filter), moment(predicate)) {
        return Some(filter.cmp(&predicate));
    }
    // `text` and `name` constants are compared only if the operand is a `name`: otherwise the two comparisons have different collations.
    let are_strings =
        filter.operand.sql_type.oid == oids::NAME && strings(filter.type_oid) && strings(predicate.type_oid);
    if filter.type_oid != predicate.type_oid && !are_strings {
        return None;
    }
    Some(comparator(filter.type_oid)?(filter.value, predicate.value))
}

/// A date or a timestamp without a zone, in microseconds: dates reach farther than timestamps do.
fn moment(comparison: &Comparison<'_>) -> Option<i128> {
    const MICROSECONDS_OF_DAY: i128 = 86_400_000_000;
    match (comparison.type_oid, comparison.value) {
        (oids::DATE, Value::Date(i32::MIN)) | (oids::TIMESTAMP, Value::Timestamp(i64::MIN)) => Some(i128::MIN),
        (oids::DATE, Value::Date(i32::MAX)) | (oids::TIMESTAMP, Value::Timestamp(i64::MAX)) => Some(i128::MAX),
        (oids::DATE, Value::Date(days)) => Some(i128::from(*days) * MICROSECONDS_OF_DAY),
        (oids::TIMESTAMP, Value::Timestamp(microseconds)) => Some(i128::from(*microseconds)),
        _ => None,
    }
}

/// String types whose values all have the same order.
fn strings(oid: Oid) -> bool {
    matches!(oid, oids::TEXT | oids::NAME)
}

fn integers(oid: Oid) -> bool {
    matches!(oid, oids::INT2 | oids::INT4 | oids::INT8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Expr;
    use types::SqlType;

    use OperatorRole::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};

    const ROLES: [OperatorRole; 6] = [Less, LessEqual, Equal, GreaterEqual, Greater, NotEqual];

    fn compare(value: i32, role: OperatorRole, constant: i32) -> bool {
        match role {
            Less => value < constant,
            LessEqual => value <= constant,
            Equal => value == constant,
            GreaterEqual => value >= constant,
            Greater => value > constant,
            NotEqual => value != constant,
            OperatorRole::Pattern | OperatorRole::Other => unreachable!("no comparison"),
        }
    }

    /// The values that a row may have: NULL, each constant, and something beside and between them, as types without gaps have it.
    fn values() -> impl Iterator<Item = Option<i32>> + Clone {
        std::iter::once(None).chain((-1..=7).map(Some))
    }

    const CONSTANTS: [i32; 4] = [0, 2, 4, 6];

    /// The table of roles says what brute force says, no less and no more.
    #[test]
    fn roles_imply_what_they_imply_of_every_value() {
        for (filter, predicate) in ROLES.into_iter().flat_map(|filter| ROLES.map(|predicate| (filter, predicate))) {
            for (x, y) in CONSTANTS.into_iter().flat_map(|x| CONSTANTS.map(|y| (x, y))) {
                let is_implied =
                    values().flatten().all(|value| !compare(value, filter, x) || compare(value, predicate, y));
                assert_eq!(
                    role_implies(filter, predicate, x.cmp(&y)),
                    is_implied,
                    "a {filter:?} {x}, a {predicate:?} {y}"
                );
            }
        }
    }

    /// The truth of conditions of which one is enough that is `decisive`.
    fn settled_by(parts: &[Condition<'_>], value: Option<i32>, decisive: bool) -> Option<bool> {
        let truths: Vec<Option<bool>> = parts.iter().map(|part| truth(part, value)).collect();
        if truths.contains(&Some(decisive)) {
            return Some(decisive);
        }
        if truths.contains(&None) { None } else { Some(!decisive) }
    }

    /// Whether a condition over the only column is true, false or unknown.
    fn truth(condition: &Condition<'_>, value: Option<i32>) -> Option<bool> {
        match condition {
            Condition::All(parts) => settled_by(parts, value, false),
            Condition::Any(parts) => settled_by(parts, value, true),
            Condition::Compares(comparison) => {
                let Value::Int4(constant) = comparison.value else { unreachable!("all are integers") };
                value.map(|value| compare(value, comparison.role, *constant))
            }
            Condition::Relates(_) => unreachable!("there is one column"),
            Condition::Unknown(_) => None,
            Condition::False => Some(false),
            Condition::Other(expr) => match &expr.kind {
                ExprKind::IsNotNull(_) => Some(value.is_some()),
                other => unreachable!("{other:?}"),
            },
        }
    }

    /// A predicate that is said to be implied is true of every row of which the condition is true. Filters that are true of no row are judged by
    /// `tests/implied_predicates.rs` only.
    #[test]
    fn conditions_imply_only_what_is_true_of_every_row() {
        let sql_type = SqlType::INT4;
        let operand = Expr { kind: ExprKind::Column(0), sql_type };
        let is_not_null = Expr { kind: ExprKind::IsNotNull(Box::new(operand.clone())), sql_type: SqlType::BOOL };
        let constants = CONSTANTS[..3].iter().map(|constant| Value::Int4(*constant)).collect::<Vec<_>>();
        let mut atoms = vec![Condition::Unknown(&operand), Condition::False, Condition::Other(&is_not_null)];
        for role in ROLES {
            atoms.extend(constants.iter().map(|value| {
                Condition::Compares(Comparison { operand: &operand, role, value, type_oid: sql_type.oid })
            }));
        }
        let mut conditions = atoms.clone();
        conditions.extend([Condition::All(Vec::new()), Condition::Any(Vec::new())]);
        for one in &atoms {
            for other in &atoms {
                let pair = vec![one.clone(), other.clone()];
                conditions.extend([Condition::All(pair.clone()), Condition::Any(pair)]);
            }
        }
        let mut implied = 0;
        for filter in &conditions {
            let accepted = values().filter(|value| truth(filter, *value) == Some(true)).collect::<Vec<_>>();
            for predicate in conditions.iter().filter(|predicate| filter.implies(predicate)) {
                implied += 1;
                for value in &accepted {
                    assert_eq!(truth(predicate, *value), Some(true), "{value:?}: {filter:?}, {predicate:?}");
                }
            }
        }
        assert!(implied > conditions.len(), "each condition implies itself, and some imply others");
    }
}
