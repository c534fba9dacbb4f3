//! Before anything is planned: common table expressions and subqueries are merged into the query that reads them,
//! outer joins that can't make up rows become inner ones, and conditions are split at AND.

use base::lock_mode::RowLockMode;
use base::{Error, Result};
use plan::bound::{
    Cte, Distinct, FromItem, Join, Lock, Query, Relation, RelationKind, for_each_inner, for_each_inner_mut,
};
use plan::{CteId, Expr, ExprKind, FunctionTarget, JoinKind, Quantifier, ROW_MARK, SubqueryBody, SubqueryKind};
use syntax::parser::too_deep;
use types::Value;

use super::fold::{fold, has_subquery, is_volatile};
use super::lower::raised_levels;
use super::semi_join::{is_plain, join_subqueries, stands_alone};
use super::{Inlining, Planner};
use crate::binder::{BindContext, is_volatile_query, same};

/// A set of range table entries.
pub(super) type RelationSet = u128;

/// The most entries a query's range table may have.
const RELATIONS_MAX: usize = 128;

/// Items joined by inner joins, and the conditions on them.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) units: Vec<Unit>,
    pub(super) conditions: Vec<Expr>,
}

/// An item of a group.
#[derive(Debug)]
pub(super) enum Unit {
    /// An entry of the range table.
    Relation(u32),
    /// A left or full join, which keeps its own order.
    Outer(Box<OuterJoin>),
}

/// A left or full join.
#[derive(Debug)]
pub(super) struct OuterJoin {
    pub(super) kind: JoinKind,
    pub(super) left: Group,
    pub(super) right: Group,
    pub(super) conditions: Vec<Expr>,
}

impl Group {
    /// The entries in it.
    pub(super) fn relations(&self) -> RelationSet {
        self.units.iter().fold(0, |set, unit| set | unit.relations())
    }
}

impl Unit {
    /// The entries in it.
    pub(super) fn relations(&self) -> RelationSet {
        match self {
            Unit::Relation(relation) => 1 << relation,
            Unit::Outer(join) => join.left.relations() | join.right.relations(),
        }
    }
}

/// The entries whose columns an expression of their query reads, in its subqueries too.
pub(super) fn relations_of(expr: &Expr) -> RelationSet {
    let mut set = 0;
    match &expr.kind {
        // The common cases, without the walk.
        ExprKind::Variable(variable) if variable.level == 0 => 1 << variable.relation.min(127),
        ExprKind::Constant(_) | ExprKind::Parameter(_) => 0,
        _ => {
            for_each_inner(expr, 0, &mut |inner, depth| {
                if let ExprKind::Variable(variable) = &inner.kind
                    && variable.level == depth
                {
                    set |= 1 << variable.relation.min(127);
                }
            });
            set
        }
    }
}

impl Planner<'_, '_> {
    /// Merges what can be merged into `query`, folds its expressions, and takes its FROM and WHERE apart.
    pub(super) fn flatten(&mut self, query: &mut Query) -> Result<Group> {
        self.inline_functions_in_from(query)?;
        reduce_joins(query);
        pull_up(query);
        self.fold_query(query)?;
        // Conditions that were in subqueries, or that could not be read before they were folded, may refuse more made-up rows.
        while reduce_joins(query) && pull_up(query) {
            self.fold_query(query)?;
        }
        // The operands of a set operation are never joined.
        if query.relations.len() > RELATIONS_MAX && query.set_operation.is_none() {
            return Err(Error::unsupported(format!(
                "queries of more than {RELATIONS_MAX} relations are not supported"
            )));
        }
        let mut group = Group::default();
        if let Some(filter) = query.filter.take() {
            split(filter, &mut group.conditions);
        }
        for item in std::mem::take(&mut query.from) {
            add_item(item, &mut group);
        }
        let known = query.relations.len();
        join_subqueries(query, &mut group, RELATIONS_MAX);
        if query.relations.len() > known {
            self.fold_group(&mut group)?;
        }
        reduce_outer_joins(&mut group, 0);
        check_locks(query, &group)?;
        push_down(&mut group);
        self.note_values(query, &group);
        Ok(group)
    }

    /// Folds a group's conditions, of which some were inside subqueries.
    fn fold_group(&mut self, group: &mut Group) -> Result<()> {
        for condition in &mut group.conditions {
            fold(condition, self.context, &mut self.inlining)?;
        }
        for unit in &mut group.units {
            if let Unit::Outer(join) = unit {
                for condition in &mut join.conditions {
                    fold(condition, self.context, &mut self.inlining)?;
                }
                self.fold_group(&mut join.left)?;
                self.fold_group(&mut join.right)?;
            }
        }
        Ok(())
    }

    /// Folds the expressions of a query; those of its subqueries are folded when they are planned.
    fn fold_query(&mut self, query: &mut Query) -> Result<()> {
        let mut result = Ok(());
        let (context, inlining) = (&mut *self.context, &mut self.inlining);
        query.for_each_expr_mut(0, &mut |expr, depth| {
            if result.is_ok() && depth == 0 {
                result = fold(expr, context, inlining).and_then(|()| fold_own_aggregates(expr, context, inlining));
            }
        });
        result
    }
}

/// Folds the aggregates of a query that stand in subqueries of `expr`: there they are folded with the subquery, and would not be found
/// among those that the query computes.
fn fold_own_aggregates(expr: &mut Expr, context: &mut BindContext<'_>, inlining: &mut Inlining) -> Result<()> {
    if !has_subquery(expr) {
        return Ok(());
    }
    let mut result = Ok(());
    for_each_inner_mut(expr, 0, &mut |inner, depth| {
        let is_own = matches!(&inner.kind, ExprKind::Aggregate(call) if depth > 0 && call.level == depth);
        if is_own && result.is_ok() {
            result = fold(inner, context, inlining);
        }
    });
    result
}

/// Splits a condition at AND. A condition that every arm of an OR shares becomes one of its own: a join may use it.
pub(super) fn split(condition: Expr, conditions: &mut Vec<Expr>) {
    match condition.kind {
        ExprKind::And(parts) => parts.into_iter().for_each(|part| split(part, conditions)),
        ExprKind::Or(arms) => {
            let mut arms = arms.into_iter().map(factors).collect::<Vec<_>>();
            for common in take_common(&mut arms) {
                split(common, conditions);
            }
            // An arm that demands nothing else leaves the others nothing to refuse.
            if arms.iter().all(|arm| !arm.is_empty()) {
                let arms = arms.into_iter().filter_map(Expr::all).collect();
                conditions.push(Expr::new(ExprKind::Or(arms), condition.sql_type));
            }
        }
        _ if condition.is_true() => {}
        _ => conditions.push(condition),
    }
}

/// The conditions that a condition is the conjunction of.
fn factors(condition: Expr) -> Vec<Expr> {
    match condition.kind {
        ExprKind::And(parts) => parts,
        _ => vec![condition],
    }
}

/// Takes the factors out of the arms of an OR that all of them have.
fn take_common(arms: &mut [Vec<Expr>]) -> Vec<Expr> {
    let Some((first, others)) = arms.split_first_mut() else { return Vec::new() };
    let mut common = Vec::new();
    let mut at = 0;
    while at < first.len() {
        let place_in = |arm: &Vec<Expr>| arm.iter().position(|factor| same(factor, &first[at]));
        let places = others.iter().map(place_in).collect::<Option<Vec<usize>>>();
        match places {
            Some(places) if !others.is_empty() && !is_volatile(&first[at]) => {
                for (arm, place) in others.iter_mut().zip(places) {
                    arm.remove(place);
                }
                common.push(first.remove(at));
            }
            _ => at += 1,
        }
    }
    common
}

pub(super) fn add_item(item: FromItem, group: &mut Group) {
    match item {
        FromItem::Relation(relation) => group.units.push(Unit::Relation(relation)),
        FromItem::Join(join) => {
            let Join { kind, left, right, condition } = *join;
            if kind == JoinKind::Inner {
                add_item(left, group);
                add_item(right, group);
                if let Some(condition) = condition {
                    split(condition, &mut group.conditions);
                }
                return;
            }
            // A right join is a left join the other way round.
            let (kind, left, right) = match kind {
                JoinKind::Right => (JoinKind::Left, right, left),
                kind => (kind, left, right),
            };
            let mut outer = OuterJoin { kind, left: Group::default(), right: Group::default(), conditions: Vec::new() };
            add_item(left, &mut outer.left);
            add_item(right, &mut outer.right);
            if let Some(condition) = condition {
                split(condition, &mut outer.conditions);
            }
            group.units.push(Unit::Outer(Box::new(outer)));
        }
    }
}

/// Makes inner joins of outer joins in FROM whose made-up rows a condition above refuses, so that subqueries in them can be merged.
/// Returns whether there were any. [`reduce_outer_joins`] does the same in the tree of joins, which has those of EXISTS as well.
fn reduce_joins(query: &mut Query) -> bool {
    fn reduce(item: &mut FromItem, refused: RelationSet) -> bool {
        let FromItem::Join(join) = item else { return false };
        let before = join.kind;
        let is_refused = |side: &FromItem| refused & relations_in(side) != 0;
        join.kind = match (join.kind, is_refused(&join.left), is_refused(&join.right)) {
            (JoinKind::Left, _, true) | (JoinKind::Right, true, _) | (JoinKind::Full, true, true) => JoinKind::Inner,
            (JoinKind::Full, true, false) => JoinKind::Left,
            (JoinKind::Full, false, true) => JoinKind::Right,
            (kind, ..) => kind,
        };
        let own = join.condition.as_ref().map_or(0, refused_nulls);
        let (left, right) = match join.kind {
            JoinKind::Inner => (refused | own, refused | own),
            JoinKind::Left => (refused, own),
            JoinKind::Right => (own, refused),
            _ => (0, 0),
        };
        let is_reduced = join.kind != before;
        let in_left = reduce(&mut join.left, left);
        reduce(&mut join.right, right) || in_left || is_reduced
    }
    let refused = query.filter.as_ref().map_or(0, refused_nulls);
    let mut is_reduced = false;
    for item in &mut query.from {
        is_reduced |= reduce(item, refused);
    }
    is_reduced
}

fn relations_in(item: &FromItem) -> RelationSet {
    match item {
        FromItem::Relation(relation) => 1 << relation.min(&127),
        FromItem::Join(join) => relations_in(&join.left) | relations_in(&join.right),
    }
}

/// 0A000 for rows to be locked that an outer join may make up.
fn check_locks(query: &Query, group: &Group) -> Result<()> {
    if query.locks.is_empty() && query.locked_subqueries.is_empty() {
        return Ok(());
    }
    for unit in &group.units {
        let Unit::Outer(join) = unit else { continue };
        let nullable = match join.kind {
            JoinKind::Left => join.right.relations(),
            JoinKind::Full => join.left.relations() | join.right.relations(),
            _ => 0,
        };
        let is_nullable = |relation: u32| nullable & 1 << relation.min(127) != 0;
        let of_table = query.locks.iter().find(|lock| is_nullable(lock.relation)).map(|lock| lock.mode);
        let is_locked = |(relation, _): &&(u32, RowLockMode)| {
            let kind = &query.relations[*relation as usize].kind;
            is_nullable(*relation) && matches!(kind, RelationKind::Subquery(inner) if has_rows_to_lock(inner))
        };
        let of_subquery = || query.locked_subqueries.iter().find(is_locked).map(|(_, mode)| *mode);
        if let Some(mode) = of_table.or_else(of_subquery) {
            let message = format!("{} cannot be applied to the nullable side of an outer join", mode.clause());
            return Err(Error::unsupported(message));
        }
        check_locks(query, &join.left)?;
        check_locks(query, &join.right)?;
    }
    Ok(())
}

/// Whether a lock on this subquery locks any row. A simple subquery is merged, so the rows are those of its tables. Any other counts by its
/// result.
fn has_rows_to_lock(query: &Query) -> bool {
    let in_subquery = |(relation, _): &(u32, RowLockMode)| matches!(&query.relations[*relation as usize].kind, RelationKind::Subquery(inner) if has_rows_to_lock(inner));
    !is_simple(query) || !query.locks.is_empty() || query.locked_subqueries.iter().any(in_subquery)
}

/// A condition above a left join that can't hold for made-up NULLs makes it an inner join. `refused_above`: entries whose rows
/// of nothing but NULLs get no further than the conditions above the group.
fn reduce_outer_joins(group: &mut Group, refused_above: RelationSet) {
    let refused =
        |conditions: &[Expr]| conditions.iter().fold(0, |set: RelationSet, condition| set | refused_nulls(condition));
    let mut index = 0;
    while index < group.units.len() {
        let Unit::Outer(join) = &mut group.units[index] else {
            index += 1;
            continue;
        };
        let refused = refused_above | refused(&group.conditions);
        match join.kind {
            JoinKind::Left if refused & join.right.relations() != 0 => {
                let Unit::Outer(join) = group.units.remove(index) else { unreachable!("it was one above") };
                let OuterJoin { left, right, conditions, .. } = *join;
                for inner in [left, right] {
                    group.units.extend(inner.units);
                    group.conditions.extend(inner.conditions);
                }
                group.conditions.extend(conditions);
                // Outer joins that came up from inside may be reduced in turn.
                index = 0;
            }
            JoinKind::Full => {
                let left = refused & join.left.relations() != 0;
                let right = refused & join.right.relations() != 0;
                if left {
                    // Rows made up for the left side vanish: what is left is a left join.
                    join.kind = JoinKind::Left;
                } else if right {
                    join.kind = JoinKind::Left;
                    std::mem::swap(&mut join.left, &mut join.right);
                } else {
                    index += 1;
                }
            }
            _ => index += 1,
        }
    }
    let above = refused_above | refused(&group.conditions);
    for unit in &mut group.units {
        let Unit::Outer(join) = unit else { continue };
        // A row that the join's own condition refuses finds no partner. Of these joins, only a semi join drops a left row without one.
        let own = refused(&join.conditions);
        let (left, right) = match join.kind {
            JoinKind::Semi => (above | own, own),
            JoinKind::Left | JoinKind::Anti => (above, own),
            _ => (0, 0),
        };
        reduce_outer_joins(&mut join.left, left);
        reduce_outer_joins(&mut join.right, right);
    }
}

/// Entries of which the condition is not true when all their columns are NULL.
fn refused_nulls(condition: &Expr) -> RelationSet {
    refused_by(condition, 0)
}

/// The same for entries of the query that lies `level` queries further out.
fn refused_by(condition: &Expr, level: u32) -> RelationSet {
    match &condition.kind {
        ExprKind::Call(_) | ExprKind::Variable(_) | ExprKind::Cast(_) => strict(condition, level),
        ExprKind::Not(input) | ExprKind::IsNotNull(input) => strict(input, level),
        ExprKind::IsTruth { input, value: Some(true), negated: false } => refused_by(input, level),
        ExprKind::IsTruth { input, value: Some(false), negated: false }
        | ExprKind::IsTruth { input, value: None, negated: true } => strict(input, level),
        ExprKind::And(parts) => parts.iter().fold(0, |set, part| set | refused_by(part, level)),
        ExprKind::Or(parts) => shared(parts.iter().map(|part| refused_by(part, level))),
        // Without an element or a row, ANY is false, but ALL is true whatever is on its left.
        ExprKind::Quantified(quantified)
            if quantified.quantifier == Quantifier::Any || has_elements(&quantified.array) =>
        {
            strict(&quantified.left, level)
        }
        ExprKind::Subquery(subquery) => match (&subquery.kind, &subquery.body) {
            (SubqueryKind::Quantified { quantifier: Quantifier::Any, left, hashable: true, .. }, _) => {
                left.iter().fold(0, |set, left| set | strict(left, level))
            }
            (SubqueryKind::Exists, SubqueryBody::Bound(inner)) if is_plain(inner) => {
                inner.filter.as_ref().map_or(0, |filter| refused_by(filter, level + 1))
            }
            _ => 0,
        },
        _ => 0,
    }
}

/// Entries that make the value NULL when their columns are.
fn strict(expr: &Expr, level: u32) -> RelationSet {
    match &expr.kind {
        ExprKind::Variable(variable) if variable.level == level => 1 << variable.relation.min(127),
        ExprKind::Call(call) => match &call.function {
            FunctionTarget::Builtin(function) if function.strict && !function.returns_set => {
                call.arguments.iter().fold(0, |set, argument| set | strict(argument, level))
            }
            _ => 0,
        },
        ExprKind::Cast(cast) => strict(&cast.input, level),
        ExprKind::Not(input) => strict(input, level),
        ExprKind::And(parts) | ExprKind::Or(parts) => shared(parts.iter().map(|part| strict(part, level))),
        _ => 0,
    }
}

/// The entries that all the sets have.
fn shared(sets: impl Iterator<Item = RelationSet>) -> RelationSet {
    sets.reduce(|left, right| left & right).unwrap_or(0)
}

/// Whether an array is known to have an element.
fn has_elements(array: &Expr) -> bool {
    match &array.kind {
        // Arrays of which an array is made may be empty.
        ExprKind::Array { elements, nested } => !nested && !elements.is_empty(),
        ExprKind::Cast(cast) => has_elements(&cast.input),
        _ => matches!(array.as_constant(), Some(Value::Array(found)) if !found.values.is_empty()),
    }
}

/// Moves conditions on one side of a left join to that side, where that changes nothing.
fn push_down(group: &mut Group) {
    for unit in &mut group.units {
        let Unit::Outer(join) = unit else { continue };
        if join.kind == JoinKind::Left {
            let left = join.left.relations();
            let mut kept = Vec::with_capacity(group.conditions.len());
            for condition in std::mem::take(&mut group.conditions) {
                let set = relations_of(&condition);
                if set != 0 && set & !left == 0 {
                    join.left.conditions.push(condition);
                } else {
                    kept.push(condition);
                }
            }
            group.conditions = kept;
            let right = join.right.relations();
            let mut kept = Vec::with_capacity(join.conditions.len());
            for condition in std::mem::take(&mut join.conditions) {
                let set = relations_of(&condition);
                if set != 0 && set & !right == 0 {
                    join.right.conditions.push(condition);
                } else {
                    kept.push(condition);
                }
            }
            join.conditions = kept;
        }
        push_down(&mut join.left);
        push_down(&mut join.right);
    }
}

/// Calls `visit` for each entry of a query's range table and of the range tables of queries inside it, with the number
/// of queries between.
fn for_each_relation(query: &mut Query, depth: u32, visit: &mut dyn FnMut(&mut RelationKind, u32)) {
    for relation in &mut query.relations {
        visit(&mut relation.kind, depth);
        if let RelationKind::Subquery(inner) = &mut relation.kind {
            for_each_relation(inner, depth + 1, visit);
        }
    }
    for cte in &mut query.ctes {
        for_each_relation(&mut cte.query, depth + 1, visit);
        if let Some((recursive, _)) = &mut cte.recursive {
            for_each_relation(recursive, depth + 1, visit);
        }
    }
    // Subqueries in expressions: each expression of this very query, not of the queries visited above.
    query.for_each_expr_mut(0, &mut |expr, inner_depth| {
        if inner_depth == 0 {
            subqueries_of(expr, depth, visit);
        }
    });
}

fn subqueries_of(expr: &mut Expr, depth: u32, visit: &mut dyn FnMut(&mut RelationKind, u32)) {
    expr.for_each_child_mut(&mut |child| subqueries_of(child, depth, visit));
    if let ExprKind::Subquery(subquery) = &mut expr.kind
        && let plan::SubqueryBody::Bound(query) = &mut subquery.body
    {
        for_each_relation(query, depth + 1, visit);
    }
}

/// Makes subqueries of common table expressions that are read once and have no effects. 54001 if these are nested too deep then.
pub(super) fn inline_ctes(query: &mut Query) -> Result<()> {
    let mut index = 0;
    while index < query.ctes.len() {
        if !can_inline(&query.ctes[index]) {
            index += 1;
            continue;
        }
        sync::yield_point()?;
        let Cte { id, query: body, .. } = query.ctes.remove(index);
        if replace_cte(query, id, body) > super::queries_nested_max() {
            return Err(too_deep());
        }
    }
    Ok(())
}

fn can_inline(cte: &Cte) -> bool {
    let wanted = cte.references == 1 && cte.materialized != Some(true) || cte.materialized == Some(false);
    wanted
        && cte.recursive.is_none()
        && cte.query.change.is_none()
        && cte.query.ctes.is_empty()
        // It must run once, as a whole: inlined, it would run for each outer row, or lock fewer rows.
        && !cte.query.locks_rows()
        && !is_volatile_query(&cte.query)
}

/// Puts `body` wherever the common table expression is read, and tells how deep queries are nested now.
fn replace_cte(query: &mut Query, id: CteId, body: Query) -> u32 {
    let is_read = |kind: &RelationKind| matches!(kind, RelationKind::Cte(found) if *found == id);
    let (mut reads, mut nested) = (0, 0);
    for_each_relation(query, 0, &mut |kind, _| reads += u32::from(is_read(kind)));
    let mut body = Some(body);
    for_each_relation(query, 0, &mut |kind, depth| {
        nested = nested.max(depth);
        if !is_read(kind) {
            return;
        }
        reads -= 1;
        let own = if reads == 0 { body.take() } else { body.clone() };
        let mut own = own.expect("the last one that reads it takes it");
        // The body stood one query inside; now it stands one inside of `depth`.
        raise_query(&mut own, depth);
        *kind = RelationKind::Subquery(Box::new(own));
    });
    nested
}

/// Moves a query `levels` further in: what it reads of enclosing queries is that much further out.
pub(super) fn raise_query(query: &mut Query, levels: u32) {
    if levels == 0 {
        return;
    }
    query.for_each_expr_mut(1, &mut |expr, depth| {
        for_each_inner_mut(expr, depth, &mut |inner, depth| match &mut inner.kind {
            ExprKind::Variable(variable) if variable.level >= depth => variable.level += levels,
            ExprKind::Aggregate(call) if call.level >= depth => call.level += levels,
            _ => {}
        });
    });
}

/// Whether a query only joins, filters and computes, so that it can become part of another one.
pub(super) fn is_simple(query: &Query) -> bool {
    query.ctes.is_empty()
        && query.set_operation.is_none()
        && !query.is_grouped
        && query.windows.is_empty()
        && query.distinct == Distinct::No
        && query.order.is_empty()
        && query.limit.is_none()
        && query.offset.is_none()
        // A FOR UPDATE of its own locks the rows that it finds, before the outer query drops some.
        && query.locks.iter().all(|lock| lock.is_from_outside)
        && !query.has_sets
        && query.change.is_none()
        && !query.is_kept_apart
        && !query.targets.iter().any(|target| is_volatile(&target.expr))
}

/// Whether a re-check computes the row of a subquery anew. Only a simple subquery that reads a table, or an entry of the FROM around it, is
/// computed anew. The row of any other is kept as it was joined.
pub(super) fn is_computed_anew(query: &Query) -> bool {
    let reads_rows = |relation: &Relation| {
        matches!(relation.kind, RelationKind::Table(_) | RelationKind::Virtual(_) | RelationKind::Subquery(_))
    };
    is_simple(query) && (query.relations.iter().any(reads_rows) || !stands_alone(query))
}

/// Merges simple subqueries in FROM into the query, where no outer join stands above them, as many as it has room for. Returns whether
/// there were any.
pub(super) fn pull_up(query: &mut Query) -> bool {
    let mut has_merged = false;
    loop {
        let mut candidates = Vec::new();
        query.from.iter().for_each(|item| inner_relations(item, &mut candidates));
        let top_level = |relation: u32| {
            query.from.iter().any(|item| matches!(item, FromItem::Relation(found) if *found == relation))
        };
        for relation in &candidates {
            if let RelationKind::Subquery(inner) = &mut query.relations[*relation as usize].kind
                && query.from.iter().any(|item| matches!(item, FromItem::Relation(found) if found == relation))
            {
                pull_up_row(inner);
            }
        }
        let found = candidates.into_iter().find(|relation| match &query.relations[*relation as usize].kind {
            // A subquery without FROM leaves nothing to stand in its place within a join.
            RelationKind::Subquery(inner) => {
                query.relations.len() + inner.relations.len() <= RELATIONS_MAX
                    && is_simple(inner)
                    && (!inner.from.is_empty() || top_level(*relation))
            }
            _ => false,
        });
        let Some(relation) = found else { return has_merged };
        merge(query, relation);
        has_merged = true;
    }
}

/// Makes a query without FROM of one whose FROM is a single row of VALUES: its values may be constants to fold.
fn pull_up_row(query: &mut Query) {
    let ([relation], [FromItem::Relation(0)]) = (query.relations.as_mut_slice(), query.from.as_slice()) else { return };
    let RelationKind::Values(rows) = &mut relation.kind else { return };
    let has_set = |value: &Expr| value.any(&|inner| matches!(inner.kind, ExprKind::Set(_)));
    if rows.len() != 1 || rows[0].iter().any(|value| is_volatile(value) || has_set(value)) {
        return;
    }
    let Some(row) = rows.pop() else { return };
    query.from.clear();
    query.for_each_expr_mut(0, &mut |expr, depth| substitute(expr, depth, 0, &row));
}

/// The entries that no outer join may make up rows for.
fn inner_relations(item: &FromItem, relations: &mut Vec<u32>) {
    match item {
        FromItem::Relation(relation) => relations.push(*relation),
        FromItem::Join(join) => {
            if matches!(join.kind, JoinKind::Inner | JoinKind::Left) {
                inner_relations(&join.left, relations);
            }
            if matches!(join.kind, JoinKind::Inner | JoinKind::Right) {
                inner_relations(&join.right, relations);
            }
        }
    }
}

/// Merges the subquery that entry `relation` is into `query`.
fn merge(query: &mut Query, relation: u32) {
    let empty = RelationKind::Values(Vec::new());
    let RelationKind::Subquery(inner) = std::mem::replace(&mut query.relations[relation as usize].kind, empty) else {
        return;
    };
    let mut inner = *inner;
    let offset = query.relations.len() as u32;
    // Inside, own columns move to the end of the range table, and everything is one query further out.
    inner.for_each_expr_mut(0, &mut |expr, depth| {
        for_each_inner_mut(expr, depth, &mut |found, depth| match &mut found.kind {
            ExprKind::Variable(variable) if variable.level == depth => variable.relation += offset,
            ExprKind::Variable(variable) if variable.level > depth => variable.level -= 1,
            ExprKind::Aggregate(call) if call.level > depth => call.level -= 1,
            _ => {}
        });
    });
    let targets = inner.targets.iter().filter(|target| !target.hidden).map(|target| target.expr.clone());
    let targets = targets.collect::<Vec<_>>();
    query.relations.append(&mut inner.relations);
    let mut items = inner.from;
    items.iter_mut().for_each(|item| renumber(item, offset));
    query.locks.extend(inner.locks.iter().map(|lock| Lock { relation: lock.relation + offset, ..*lock }));
    query.locked_subqueries.retain(|(locked, _)| *locked != relation);
    query.locked_subqueries.extend(inner.locked_subqueries.iter().map(|(locked, mode)| (locked + offset, *mode)));
    // Its conditions are conditions of the whole.
    let conditions = query.filter.take().into_iter().chain(inner.filter.take()).collect();
    query.filter = Expr::all(conditions);
    replace_item(&mut query.from, relation, items);
    query.for_each_expr_mut(0, &mut |expr, depth| substitute(expr, depth, relation, &targets));
}

/// Replaces the columns of entry `relation` in `expr`, which stands `depth` queries inside, by these expressions.
pub(super) fn substitute(expr: &mut Expr, depth: u32, relation: u32, targets: &[Expr]) {
    for_each_inner_mut(expr, depth, &mut |found, depth| {
        let ExprKind::Variable(variable) = found.kind else { return };
        if variable.level != depth || variable.relation != relation {
            return;
        }
        if variable.attribute == ROW_MARK {
            *found = Expr::boolean(true);
        } else if let Some(target) = usize::try_from(variable.attribute).ok().and_then(|place| targets.get(place)) {
            let mut replacement = target.clone();
            raised_levels(&mut replacement, depth);
            replacement.sql_type = found.sql_type;
            *found = replacement;
        }
    });
}

fn renumber(item: &mut FromItem, offset: u32) {
    match item {
        FromItem::Relation(relation) => *relation += offset,
        FromItem::Join(join) => {
            renumber(&mut join.left, offset);
            renumber(&mut join.right, offset);
        }
    }
}

/// Puts `items` in the place of entry `relation`.
fn replace_item(from: &mut Vec<FromItem>, relation: u32, items: Vec<FromItem>) {
    if let Some(place) = from.iter().position(|item| matches!(item, FromItem::Relation(found) if *found == relation)) {
        from.splice(place..=place, items);
        return;
    }
    let mut items = Some(items);
    for item in from {
        replace_within(item, relation, &mut items);
    }
    debug_assert!(items.is_none(), "the entry stands somewhere in FROM");
}

fn replace_within(item: &mut FromItem, relation: u32, items: &mut Option<Vec<FromItem>>) {
    match item {
        FromItem::Relation(found) if *found == relation => {
            if let Some(parts) = items.take() {
                // Several items become a product of inner joins.
                let product = parts.into_iter().reduce(|left, right| {
                    FromItem::Join(Box::new(Join { kind: JoinKind::Inner, left, right, condition: None }))
                });
                if let Some(product) = product {
                    *item = product;
                }
            }
        }
        FromItem::Relation(_) => {}
        FromItem::Join(join) => {
            replace_within(&mut join.left, relation, items);
            replace_within(&mut join.right, relation, items);
        }
    }
}
