//! Expressions that are computed once for each row, however often a query names them.
//!
//! A key of an order or of a window that calls something volatile must be the same value wherever it is used: for sorting, for
//! telling peers and partitions apart, in the select list, and in parts of the select list that are written alike. It is
//! computed below all its uses, and is a column from then on. An expression that calls nothing volatile stays where it is.

use base::Result;
use plan::{Expr, ExprKind, Node, Plan, Variable};
use types::SqlType;

use super::fold::is_volatile;
use super::lower::Layout;
use super::{COMPUTED_RELATION, Planner, node};
use crate::binder;

/// Expressions, and the columns that hold their values.
#[derive(Default)]
pub(super) struct Computed {
    found: Vec<(Expr, Expr)>,
}

impl Computed {
    /// An expression to be computed; one that is a column already needn't be.
    pub(super) fn add(&mut self, expr: &Expr) {
        if !matches!(expr.kind, ExprKind::Variable(_)) && !self.found.iter().any(|(known, _)| binder::same(known, expr))
        {
            self.add_again(expr);
        }
    }

    /// An expression to be computed by itself, although the same may be there.
    pub(super) fn add_again(&mut self, expr: &Expr) {
        self.found.push((expr.clone(), Expr::boolean(true)));
    }

    /// The expressions, each with the column that holds its value once it is computed.
    pub(super) fn pairs(&self) -> &[(Expr, Expr)] {
        &self.found
    }

    /// The same, if computing it again may give something else.
    pub(super) fn add_volatile(&mut self, expr: &Expr) {
        if is_volatile(expr) {
            self.add(expr);
        }
    }

    /// Replaces computed expressions by the columns that hold their values, in parts of `expr` as well.
    pub(super) fn replace(&self, expr: &mut Expr) {
        if self.found.is_empty() {
            return;
        }
        match self.found.iter().find(|(computed, _)| binder::same(computed, expr)) {
            Some((_, column)) => expr.kind = column.kind.clone(),
            None => expr.for_each_child_mut(&mut |child| self.replace(child)),
        }
    }
}

impl Planner<'_, '_> {
    /// Rows with the values of `computed` behind their columns.
    pub(super) fn compute(
        &mut self,
        plan: Plan,
        mut layout: Layout,
        computed: &mut Computed,
    ) -> Result<(Plan, Layout)> {
        if computed.found.is_empty() {
            return Ok((plan, layout));
        }
        let known = layout.slots.iter().filter(|(relation, _)| *relation == COMPUTED_RELATION).count();
        let mut exprs =
            (0..plan.width).map(|slot| Expr::new(ExprKind::Column(slot), SqlType::UNKNOWN)).collect::<Vec<_>>();
        let mut slots = layout.slots.clone();
        for ((expr, column), attribute) in computed.found.iter_mut().zip(known as i32..) {
            exprs.push(self.lower(expr.clone(), &layout)?);
            let variable = Variable { level: 0, relation: COMPUTED_RELATION, attribute, location: -1 };
            *column = Expr::new(ExprKind::Variable(variable), expr.sql_type);
            slots.push((COMPUTED_RELATION, attribute));
        }
        layout.slots = slots;
        let (width, rows) = (exprs.len(), plan.rows);
        let cost = plan.cost + rows * self.context.settings.costs.cpu_operator_cost;
        Ok((node(Node::Project { input: Box::new(plan), exprs }, width, rows, cost), layout))
    }
}
