//! EXISTS and NOT EXISTS that compare with the rows around them become semi and anti joins.

use super::flatten::{Group, OuterJoin, RelationSet, Unit, relations_of, split};
use super::fold::{has_subquery, is_volatile};
use super::join::hash_keys;
use crate::binder::{FromItem, Query, Relation, RelationKind, for_each_inner, for_each_inner_mut};
use crate::plan::{Expr, ExprKind, JoinKind, SubqueryBody, SubqueryKind};

/// Replaces such conditions of `group`, which is all of `query`'s FROM and WHERE, by joins. What comes from inside
/// the subqueries has not been folded yet.
pub(super) fn join_subqueries(query: &mut Query, group: &mut Group, relations_max: usize) {
    if !query.locks.is_empty() || query.change.is_some() || group.units.is_empty() {
        return;
    }
    let mut at = 0;
    while at < group.conditions.len() {
        let outer = group.relations();
        let offset = query.relations.len() as u32;
        let Some(mut found) = joinable(&group.conditions[at], offset, outer) else {
            at += 1;
            continue;
        };
        if query.relations.len() + found.relations.len() > relations_max {
            return;
        }
        group.conditions.remove(at);
        query.relations.append(&mut found.relations);
        let mut left = std::mem::take(group);
        // Conditions that have subqueries may become joins as well, above this one.
        let (later, own) = std::mem::take(&mut left.conditions).into_iter().partition(has_subquery);
        left.conditions = own;
        group.conditions = later;
        let join = OuterJoin { kind: found.kind, left, right: found.group, conditions: found.joining };
        group.units.push(Unit::Outer(Box::new(join)));
        at = 0;
    }
}

struct Found {
    kind: JoinKind,
    relations: Vec<Relation>,
    group: Group,
    joining: Vec<Expr>,
}

/// What a condition becomes, the entries inside it numbered from `offset` on.
fn joinable(condition: &Expr, offset: u32, outer: RelationSet) -> Option<Found> {
    let (kind, expr) = match &condition.kind {
        ExprKind::Not(inner) => (JoinKind::Anti, inner.as_ref()),
        _ => (JoinKind::Semi, condition),
    };
    let ExprKind::Subquery(subquery) = &expr.kind else { return None };
    let (SubqueryKind::Exists, SubqueryBody::Bound(inner)) = (&subquery.kind, &subquery.body) else { return None };
    let is_plain = inner.ctes.is_empty()
        && inner.set_operation.is_none()
        && !inner.is_grouped
        && inner.having.is_none()
        && inner.windows.is_empty()
        && inner.limit.is_none()
        && inner.offset.is_none()
        && inner.locks.is_empty()
        && !inner.has_sets
        && inner.change.is_none()
        && !inner.from.is_empty()
        && inner.from.iter().all(|item| match item {
            FromItem::Relation(relation) => {
                matches!(inner.relations[*relation as usize].kind, RelationKind::Table(_))
            }
            FromItem::Join(_) => false,
        })
        && inner.from.len() == inner.relations.len();
    if !is_plain {
        return None;
    }
    let mut inner = inner.as_ref().clone();
    let mut filter = inner.filter.take()?;
    let mut reads_further_out = false;
    for_each_inner(&filter, 0, &mut |found, depth| {
        reads_further_out |= matches!(&found.kind, ExprKind::Aggregate(call) if call.level > depth);
    });
    if reads_further_out || has_subquery(&filter) || is_volatile(&filter) {
        return None;
    }
    for_each_inner_mut(&mut filter, 0, &mut |found, depth| {
        if let ExprKind::Variable(variable) = &mut found.kind {
            if variable.level == depth {
                variable.relation += offset;
            } else if variable.level > depth {
                variable.level -= 1;
            }
        }
    });
    let mut conditions = Vec::new();
    split(filter, &mut conditions);
    let units = inner.from.iter().map(|item| match item {
        FromItem::Relation(relation) => Unit::Relation(relation + offset),
        FromItem::Join(_) => unreachable!("looked at above"),
    });
    let mut group = Group { units: units.collect(), conditions: Vec::new() };
    let inside = group.relations();
    // Both sides of an equality must be there.
    if !conditions.iter().any(|condition| hash_keys(condition, outer, inside).is_some()) {
        return None;
    }
    let mut joining = Vec::new();
    for condition in conditions {
        if relations_of(&condition) & !inside == 0 {
            group.conditions.push(condition);
        } else {
            joining.push(condition);
        }
    }
    Some(Found { kind, relations: inner.relations, group, joining })
}
