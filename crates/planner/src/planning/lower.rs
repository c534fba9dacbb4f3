//! Lowering expressions: variables become slots or outer values, bound subqueries become plans.

use std::sync::Arc;

use base::{Error, Result};
use plan::bound::for_each_inner_mut;
use plan::{Expr, ExprKind, Node, Plan, SubqueryBody, SubqueryKind, Variable};

use super::{GROUP_RELATION, Planner, Slot};
use crate::binder;

/// Which slot of a row holds what.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    pub(super) slots: Vec<Slot>,
}

impl Layout {
    /// The slot that holds a column.
    pub(super) fn find(&self, relation: u32, attribute: i32) -> Option<usize> {
        self.slots.iter().position(|slot| *slot == (relation, attribute))
    }

    /// Both sides of a join.
    pub(super) fn join(&self, right: &Layout) -> Layout {
        let mut slots = Vec::with_capacity(self.slots.len() + right.slots.len());
        slots.extend_from_slice(&self.slots);
        slots.extend_from_slice(&right.slots);
        Layout { slots }
    }
}

impl Planner<'_, '_> {
    /// `expr` over a row of this layout.
    pub(super) fn lower(&mut self, mut expr: Expr, layout: &Layout) -> Result<Expr> {
        self.lower_in_place(&mut expr, layout)?;
        Ok(expr)
    }

    /// All of these over rows of this layout.
    pub(super) fn lower_all(&mut self, exprs: Vec<Expr>, layout: &Layout) -> Result<Vec<Expr>> {
        exprs.into_iter().map(|expr| self.lower(expr, layout)).collect()
    }

    /// The conjunction of conditions, over rows of this layout.
    pub(super) fn lower_conditions(&mut self, conditions: Vec<Expr>, layout: &Layout) -> Result<Option<Expr>> {
        Ok(Expr::all(self.lower_all(conditions, layout)?))
    }

    fn lower_in_place(&mut self, expr: &mut Expr, layout: &Layout) -> Result<()> {
        self.check_stack()?;
        match &mut expr.kind {
            ExprKind::Variable(variable) if variable.level == 0 => {
                match layout.find(variable.relation, variable.attribute) {
                    Some(slot) => expr.kind = ExprKind::Column(slot as u32),
                    // A join above has it: a condition within a lateral item that was merged reads entries beside the item.
                    None => {
                        let depth = self.frames.len() - 1;
                        let own = expr.clone();
                        expr.kind = ExprKind::Outer(self.outer_value(depth, own));
                    }
                }
                Ok(())
            }
            ExprKind::Variable(variable) => {
                let level = variable.level as usize;
                let depth = self.enclosing(level)?;
                let own = Expr::new(ExprKind::Variable(Variable { level: 0, ..*variable }), expr.sql_type);
                expr.kind = ExprKind::Outer(self.outer_value(depth, own));
                Ok(())
            }
            ExprKind::Aggregate(call) if call.level > 0 => {
                let level = call.level;
                let depth = self.enclosing(level as usize)?;
                let own = lowered_levels(expr.clone(), level);
                expr.kind = ExprKind::Outer(self.outer_value(depth, own));
                Ok(())
            }
            ExprKind::Aggregate(_) => Err(Error::internal("an aggregate outside of a grouping")),
            ExprKind::Subquery(_) => self.lower_subquery(expr, layout),
            _ => {
                let mut result = Ok(());
                expr.for_each_child_mut(&mut |child| {
                    if result.is_ok() {
                        result = self.lower_in_place(child, layout);
                    }
                });
                result
            }
        }
    }

    /// The frame `level` queries further out.
    fn enclosing(&self, level: usize) -> Result<usize> {
        (self.frames.len() - 1).checked_sub(level).ok_or_else(|| Error::internal("a variable has no query"))
    }

    fn lower_subquery(&mut self, expr: &mut Expr, layout: &Layout) -> Result<()> {
        // The left operands of IN belong to the row around it.
        let mut result = Ok(());
        expr.for_each_child_mut(&mut |child| {
            if result.is_ok() {
                result = self.lower_in_place(child, layout);
            }
        });
        result?;
        let ExprKind::Subquery(subquery) = &mut expr.kind else { unreachable!("the caller looked") };
        let SubqueryBody::Bound(query) = &mut subquery.body else { return Ok(()) };
        let mut query = std::mem::take(query.as_mut());
        if matches!(subquery.kind, SubqueryKind::Exists) {
            self.drop_unread_list(&mut query)?;
        }
        let (mark, reads_mark) = (self.uses.len(), self.varying_reads.len());
        let depth = self.frames.len() - 1;
        let plan = self.query(query)?;
        self.note_unpopulated(&plan);
        let correlated =
            self.uses[mark..].iter().any(|(used, _)| *used <= depth) || self.varying_reads.len() > reads_mark;
        // Without a row of this query at hand, as in the condition of an index, a node further up that has one stores the outer values.
        let mut arguments = self.take_arguments(mark, |_| !layout.slots.is_empty());
        for (_, argument) in &mut arguments {
            let above = self.above_grouping(std::mem::replace(argument, Expr::boolean(true)));
            *argument = self.lower(above, layout)?;
        }
        let ExprKind::Subquery(subquery) = &mut expr.kind else { unreachable!("the caller looked") };
        subquery.id = self.next_subquery();
        subquery.correlated = correlated;
        subquery.arguments = arguments;
        subquery.body = SubqueryBody::Planned(Arc::new(plan));
        Ok(())
    }

    /// Notes the first materialized view without rows that a subquery's plan reads: the error names it.
    fn note_unpopulated(&mut self, plan: &Plan) {
        let table = match &plan.node {
            Node::SeqScan(scan) => Some(&scan.table),
            Node::IndexScan(scan) => Some(&scan.table),
            Node::IndexPoint(scan) => Some(&scan.table),
            _ => None,
        };
        if let Some(table) = table.filter(|table| table.is_unpopulated) {
            self.unpopulated.get_or_insert_with(|| Arc::clone(table));
        }
        plan.node.for_each_input(&mut |input| self.note_unpopulated(input));
    }

    /// `expr` as it reads above the query's grouping, if that has been planned.
    pub(super) fn above_grouping(&mut self, mut expr: Expr) -> Expr {
        if let Some(grouping) = &self.frame().grouping {
            replace_grouped(&mut expr, &grouping.groups, &grouping.calls);
        }
        expr
    }

    /// Conditions on other entries of the same query become outer values: the inner side of a nested loop reads them.
    pub(super) fn outside(&mut self, mut expr: Expr) -> Expr {
        fn replace(planner: &mut Planner<'_, '_>, expr: &mut Expr) {
            if let ExprKind::Variable(variable) = &expr.kind
                && variable.level == 0
            {
                let depth = planner.frames.len() - 1;
                let own = expr.clone();
                expr.kind = ExprKind::Outer(planner.outer_value(depth, own));
                return;
            }
            expr.for_each_child_mut(&mut |child| replace(planner, child));
        }
        replace(self, &mut expr);
        expr
    }
}

/// Replaces what a grouping computes by its slots.
pub(super) fn replace_grouped(expr: &mut Expr, groups: &[Expr], calls: &[Expr]) {
    let computed = groups.iter().chain(calls).position(|computed| binder::is_one_value(computed, expr));
    if let Some(index) = computed {
        let variable = Variable { level: 0, relation: GROUP_RELATION, attribute: index as i32, location: -1 };
        expr.kind = ExprKind::Variable(variable);
        return;
    }
    expr.for_each_child_mut(&mut |child| replace_grouped(child, groups, calls));
}

/// `expr`, taken from `levels` queries further in, in terms of its own query.
pub(super) fn lowered_levels(mut expr: Expr, levels: u32) -> Expr {
    for_each_inner_mut(&mut expr, 0, &mut |inner, depth| match &mut inner.kind {
        ExprKind::Variable(variable) if variable.level >= depth + levels => variable.level -= levels,
        ExprKind::Aggregate(call) if call.level >= depth + levels => call.level -= levels,
        _ => {}
    });
    expr
}

/// `expr` moved `levels` queries further in.
pub(super) fn raised_levels(expr: &mut Expr, levels: u32) {
    if levels == 0 {
        return;
    }
    for_each_inner_mut(expr, 0, &mut |inner, depth| match &mut inner.kind {
        ExprKind::Variable(variable) if variable.level >= depth => variable.level += levels,
        ExprKind::Aggregate(call) if call.level >= depth => call.level += levels,
        _ => {}
    });
}
