//! EXISTS and NOT EXISTS that compare with the rows around them become semi and anti joins.

use plan::bound::{Query, Relation, RelationKind, for_each_inner, for_each_inner_mut};
use plan::{Expr, ExprKind, JoinKind, SubqueryBody, SubqueryKind};
use syntax::parser::STACK_RESERVE_BYTES;

use super::flatten::{Group, OuterJoin, RelationSet, Unit, add_item, pull_up, relations_of, split};
use super::fold::{has_subquery, is_volatile};
use super::join::hash_keys;

/// Replaces those EXISTS and NOT EXISTS conditions of `group` that compare with the rows around them by semi and anti joins. `group` is
/// all of `query`'s FROM and WHERE. The expressions that come from inside the subqueries have not been folded yet.
pub(super) fn join_subqueries(query: &mut Query, group: &mut Group, relations_max: usize) {
    if !query.locks.is_empty() || query.change.is_some() || group.units.is_empty() {
        return;
    }
    let mut at = 0;
    while at < group.conditions.len() {
        let outer = group.relations();
        let offset = query.relations.len() as u32;
        let Some(mut found) = joinable(&group.conditions[at], offset, outer, relations_max) else {
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

/// A condition with the entries inside it numbered from `offset` on. EXISTS within it become joins inside of the join.
fn joinable(condition: &Expr, offset: u32, outer: RelationSet, relations_max: usize) -> Option<Found> {
    let (kind, expr) = match &condition.kind {
        ExprKind::Not(inner) => (JoinKind::Anti, inner.as_ref()),
        _ => (JoinKind::Semi, condition),
    };
    let ExprKind::Subquery(subquery) = &expr.kind else { return None };
    let (SubqueryKind::Exists, SubqueryBody::Bound(inner)) = (&subquery.kind, &subquery.body) else { return None };
    if !is_plain(inner) || sync::remaining_stack_bytes() < STACK_RESERVE_BYTES {
        return None;
    }
    let mut inner = inner.as_ref().clone();
    pull_up(&mut inner);
    let mut group = Group::default();
    if let Some(filter) = inner.filter.take() {
        split(filter, &mut group.conditions);
    }
    for item in std::mem::take(&mut inner.from) {
        add_item(item, &mut group);
    }
    join_subqueries(&mut inner, &mut group, relations_max.saturating_sub(offset as usize));
    if !is_joinable(&inner, &group) {
        return None;
    }
    renumber(&mut group, offset);
    let inside = group.relations();
    let mut conditions = std::mem::take(&mut group.conditions);
    // Both sides of an equality must be there.
    if !conditions.iter().any(|condition| hash_keys(condition, outer, inside).is_some()) {
        return None;
    }
    let (own, joining) = conditions.drain(..).partition(|condition| relations_of(condition) & !inside == 0);
    group.conditions = own;
    Some(Found { kind, relations: inner.relations, group, joining })
}

/// Whether the query of an EXISTS only joins and filters: then only its WHERE decides which rows around it have one inside.
pub(super) fn is_plain(inner: &Query) -> bool {
    inner.ctes.is_empty()
        && inner.set_operation.is_none()
        && !inner.is_grouped
        && inner.having.is_none()
        && inner.windows.is_empty()
        && inner.limit.is_none()
        && inner.offset.is_none()
        && inner.locks.is_empty()
        // With a FOR UPDATE of its own it must run for each outer row: a join would lock other rows.
        && !inner.is_kept_apart
        && !inner.has_sets
        && inner.change.is_none()
        && !inner.from.is_empty()
        && inner.filter.is_some()
}

/// Whether a subquery's FROM and WHERE can become a side of a join:
/// - it reads tables, or queries that lock rows once for all rows outside;
/// - its conditions can be evaluated anywhere;
/// - no condition within its own outer joins reads the query around it.
fn is_joinable(inner: &Query, group: &Group) -> bool {
    let is_movable = |condition: &Expr| {
        let mut reads_further_out = false;
        for_each_inner(condition, 0, &mut |found, depth| {
            reads_further_out |= matches!(&found.kind, ExprKind::Aggregate(call) if call.level > depth);
        });
        !reads_further_out && !has_subquery(condition) && !is_volatile(condition)
    };
    let reads_outside = |condition: &Expr| {
        condition.any(&|found| matches!(&found.kind, ExprKind::Variable(variable) if variable.level == 1))
    };
    fn is_apart(inner: &Query, group: &Group, is_good: &dyn Fn(&Expr) -> bool) -> bool {
        group.units.iter().all(|unit| match unit {
            Unit::Relation(relation) => match &inner.relations[*relation as usize].kind {
                RelationKind::Table(_) | RelationKind::Virtual(_) => true,
                RelationKind::Subquery(query) => query.locks_rows() && stands_alone(query),
                _ => false,
            },
            Unit::Outer(join) => {
                [&join.left, &join.right]
                    .into_iter()
                    .all(|side| side.conditions.iter().all(is_good) && is_apart(inner, side, is_good))
                    && join.conditions.iter().all(is_good)
            }
        })
    }
    let within = |condition: &Expr| is_movable(condition) && !reads_outside(condition);
    group.conditions.iter().all(is_movable) && is_apart(inner, group, &within)
}

/// Whether a query reads nothing of the queries around it.
pub(super) fn stands_alone(query: &Query) -> bool {
    let mut reads_outside = false;
    query.for_each_expr(0, &mut |expr, depth| {
        for_each_inner(expr, depth, &mut |found, depth| {
            reads_outside |= match &found.kind {
                ExprKind::Variable(variable) => variable.level > depth,
                ExprKind::Aggregate(call) => call.level > depth,
                _ => false,
            };
        });
    });
    !reads_outside
}

/// Moves a group one query out: its entries are numbered from `offset` on.
fn renumber(group: &mut Group, offset: u32) {
    let of = |condition: &mut Expr| {
        for_each_inner_mut(condition, 0, &mut |found, depth| {
            if let ExprKind::Variable(variable) = &mut found.kind {
                if variable.level == depth {
                    variable.relation += offset;
                } else if variable.level > depth {
                    variable.level -= 1;
                }
            }
        });
    };
    group.conditions.iter_mut().for_each(of);
    for unit in &mut group.units {
        match unit {
            Unit::Relation(relation) => *relation += offset,
            Unit::Outer(join) => {
                join.conditions.iter_mut().for_each(of);
                renumber(&mut join.left, offset);
                renumber(&mut join.right, offset);
            }
        }
    }
}
