//! Whether two bound subqueries are the same computation: those that were written alike are.

use std::sync::Arc;

use plan::bound::{FromItem, Query, RelationKind, SetOperation, WindowSpec};
use plan::{Expr, Quantifier, SetCall, SortKey, Subquery, SubqueryBody, SubqueryKind};

use super::aggregate::{same, same_function, same_optional};

/// Whether two subqueries that are not planned yet are the same.
pub(super) fn same_subquery(a: &Subquery, b: &Subquery) -> bool {
    let (SubqueryBody::Bound(left), SubqueryBody::Bound(right)) = (&a.body, &b.body) else { return false };
    // A copy has the original's number.
    a.id == b.id || same_kind(&a.kind, &b.kind) && same_query(left, right)
}

fn same_kind(a: &SubqueryKind, b: &SubqueryKind) -> bool {
    fn of(kind: &SubqueryKind) -> (u8, Option<Quantifier>) {
        match kind {
            SubqueryKind::Scalar => (0, None),
            SubqueryKind::Exists => (1, None),
            SubqueryKind::Array { .. } => (2, None),
            SubqueryKind::Quantified { quantifier, .. } => (3, Some(*quantifier)),
        }
    }
    if of(a) != of(b) {
        return false;
    }
    match (a, b) {
        (
            SubqueryKind::Quantified { left: a, comparisons: v, any_column: x, .. },
            SubqueryKind::Quantified { left: b, comparisons: w, any_column: y, .. },
        ) => x == y && all(a, b) && all(v, w),
        _ => true,
    }
}

fn all(a: &[Expr], b: &[Expr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

fn same_keys(a: &[SortKey], b: &[SortKey]) -> bool {
    let same_key = |a: &SortKey, b: &SortKey| {
        a.descending == b.descending && a.nulls_first == b.nulls_first && same(&a.expr, &b.expr)
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_key(a, b))
}

/// Queries with common table expressions, locks or changes of their own are not compared.
fn same_query(a: &Query, b: &Query) -> bool {
    let is_plain = |query: &Query| query.ctes.is_empty() && !query.locks_rows() && query.change.is_none();
    is_plain(a)
        && is_plain(b)
        && a.is_grouped == b.is_grouped
        && a.with_ties == b.with_ties
        && a.relations.len() == b.relations.len()
        && a.relations.iter().zip(&b.relations).all(|(a, b)| same_relation(&a.kind, &b.kind))
        && same_items(&a.from, &b.from)
        && same_optional(a.filter.as_ref(), b.filter.as_ref())
        && a.targets.len() == b.targets.len()
        && a.targets.iter().zip(&b.targets).all(|(a, b)| a.hidden == b.hidden && same(&a.expr, &b.expr))
        && all(&a.groups, &b.groups)
        && same_optional(a.having.as_ref(), b.having.as_ref())
        && a.windows.len() == b.windows.len()
        && a.windows.iter().zip(&b.windows).all(|(a, b)| same_window(a, b))
        && a.distinct == b.distinct
        && a.order.len() == b.order.len()
        && a.order
            .iter()
            .zip(&b.order)
            .all(|(a, b)| a.target == b.target && a.descending == b.descending && a.nulls_first == b.nulls_first)
        && same_optional(a.offset.as_ref(), b.offset.as_ref())
        && same_optional(a.limit.as_ref(), b.limit.as_ref())
        && match (&a.set_operation, &b.set_operation) {
            (None, None) => true,
            (Some(a), Some(b)) => same_operation(a, b),
            _ => false,
        }
}

fn same_window(a: &WindowSpec, b: &WindowSpec) -> bool {
    all(&a.partition, &b.partition) && same_keys(&a.order, &b.order)
}

fn same_relation(a: &RelationKind, b: &RelationKind) -> bool {
    let same_call =
        |a: &SetCall, b: &SetCall| same_function(&a.function, &b.function) && all(&a.arguments, &b.arguments);
    match (a, b) {
        (RelationKind::Table(a), RelationKind::Table(b)) => a.oid == b.oid,
        (RelationKind::Virtual(a), RelationKind::Virtual(b)) => Arc::ptr_eq(a, b),
        (RelationKind::Subquery(a), RelationKind::Subquery(b)) => same_query(a, b),
        (RelationKind::Function { calls: a, ordinality: x }, RelationKind::Function { calls: b, ordinality: y }) => {
            x == y && a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_call(a, b))
        }
        (RelationKind::Values(a), RelationKind::Values(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| all(a, b))
        }
        (RelationKind::Cte(a), RelationKind::Cte(b)) | (RelationKind::WorkTable(a), RelationKind::WorkTable(b)) => {
            a == b
        }
        _ => false,
    }
}

fn same_items(a: &[FromItem], b: &[FromItem]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_item(a, b))
}

fn same_item(a: &FromItem, b: &FromItem) -> bool {
    match (a, b) {
        (FromItem::Relation(a), FromItem::Relation(b)) => a == b,
        (FromItem::Join(a), FromItem::Join(b)) => {
            a.kind == b.kind
                && same_item(&a.left, &b.left)
                && same_item(&a.right, &b.right)
                && same_optional(a.condition.as_ref(), b.condition.as_ref())
        }
        _ => false,
    }
}

fn same_operation(a: &SetOperation, b: &SetOperation) -> bool {
    match (a, b) {
        (SetOperation::Leaf(a), SetOperation::Leaf(b)) => a == b,
        (SetOperation::Cast { input: a, exprs: v }, SetOperation::Cast { input: b, exprs: w }) => {
            same_operation(a, b) && all(v, w)
        }
        (
            SetOperation::Node { operator: o, all: x, left: a, right: v },
            SetOperation::Node { operator: p, all: y, left: b, right: w },
        ) => o == p && x == y && same_operation(a, b) && same_operation(v, w),
        _ => false,
    }
}
