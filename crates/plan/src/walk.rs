//! Walking over expressions and plans.

use super::{Expr, ExprKind, Node, Plan, SubqueryKind, WindowFrameBound};

impl Node {
    /// Calls `visit` for each plan that gives it rows. Subqueries in its expressions are left out.
    pub fn for_each_input<'p>(&'p self, visit: &mut dyn FnMut(&'p Plan)) {
        match self {
            Node::Result { .. }
            | Node::Values { .. }
            | Node::SeqScan(_)
            | Node::IndexScan(_)
            | Node::IndexPoint(_)
            | Node::FunctionScan(_)
            | Node::VirtualScan(_)
            | Node::CteScan { .. }
            | Node::WorkTableScan { .. }
            | Node::CurrentOf(_) => {}
            Node::Filter { input, .. }
            | Node::OneTimeFilter { input, .. }
            | Node::Project { input, .. }
            | Node::KeptRows { input, .. }
            | Node::ProjectSet { input, .. }
            | Node::Sort { input, .. }
            | Node::Limit { input, .. }
            | Node::Distinct { input, .. }
            | Node::DistinctOn { input, .. } => visit(input),
            Node::NestedLoop(join) => [&join.left, &join.right].into_iter().for_each(visit),
            Node::HashJoin(join) => [&join.left, &join.right].into_iter().for_each(visit),
            Node::MergeJoin(join) => [&join.left, &join.right].into_iter().for_each(visit),
            Node::Aggregate(aggregate) => visit(&aggregate.input),
            Node::Window(window) => visit(&window.input),
            Node::SetOperation { left, right, .. } => [left, right].into_iter().for_each(|input| visit(input)),
            Node::Append { inputs } => inputs.iter().for_each(visit),
            Node::With { ctes, input } => {
                ctes.iter().for_each(|cte| visit(&cte.plan));
                visit(input);
            }
            Node::RecursiveUnion(union) => [&union.anchor, &union.recursive].into_iter().for_each(visit),
            Node::LockRows(lock) => visit(&lock.input),
            Node::Insert(insert) => visit(&insert.input),
            Node::Update(update) => visit(&update.input),
            Node::Delete(delete) => visit(&delete.input),
            Node::Merge(merge) => visit(&merge.input),
            Node::ViewChange(change) => visit(&change.input),
        }
    }

    /// How many nodes below it may run one within the other.
    pub(super) fn depth_of_inputs(&self) -> u32 {
        let (mut deepest, mut sum) = (0_u32, 0_u32);
        self.for_each_input(&mut |input| {
            deepest = deepest.max(input.depth);
            sum = sum.saturating_add(input.depth);
        });
        // A common table expression may be run by one that reads it, and that one by a third one.
        if matches!(self, Node::With { .. }) { sum } else { deepest }
    }
}

impl Expr {
    /// Calls `visit` for each direct operand. Of a subquery, those that belong to the row around it: its left operands
    /// and arguments, not what is inside its body.
    pub fn for_each_child<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        match &self.kind {
            ExprKind::Constant(_)
            | ExprKind::Parameter(_)
            | ExprKind::Column(_)
            | ExprKind::Outer(_)
            | ExprKind::CaseOperand
            | ExprKind::Session(_)
            | ExprKind::Variable(_) => {}
            ExprKind::Call(call) | ExprKind::NullIf(call) | ExprKind::IsDistinct { equal: call, .. } => {
                call.arguments.iter().for_each(visit);
            }
            ExprKind::And(list)
            | ExprKind::Or(list)
            | ExprKind::Coalesce(list)
            | ExprKind::Greatest(list)
            | ExprKind::Least(list)
            | ExprKind::Array { elements: list, .. }
            | ExprKind::Row { fields: list, .. } => list.iter().for_each(visit),
            ExprKind::Not(input)
            | ExprKind::IsNull(input)
            | ExprKind::IsNotNull(input)
            | ExprKind::IsTruth { input, .. } => visit(input),
            ExprKind::Case { operand, whens, otherwise } => {
                if let Some(operand) = operand {
                    visit(operand);
                }
                for when in whens {
                    visit(&when.condition);
                    visit(&when.result);
                }
                if let Some(otherwise) = otherwise {
                    visit(otherwise);
                }
            }
            ExprKind::Subscript { input, subscripts, .. } => {
                visit(input);
                for (low, high) in subscripts {
                    low.iter().chain(high).for_each(&mut *visit);
                }
            }
            ExprKind::Quantified(quantified) => {
                visit(&quantified.left);
                visit(&quantified.array);
            }
            ExprKind::Subquery(subquery) => {
                if let SubqueryKind::Quantified { left, .. } = &subquery.kind {
                    left.iter().for_each(&mut *visit);
                }
                subquery.arguments.iter().for_each(|(_, argument)| visit(argument));
            }
            ExprKind::Field(access) => visit(&access.input),
            ExprKind::Cast(cast) => visit(&cast.input),
            ExprKind::Aggregate(call) => {
                call.arguments.iter().for_each(&mut *visit);
                call.order.iter().for_each(|key| visit(&key.expr));
                call.filter.iter().for_each(visit);
            }
            ExprKind::Window(call) => {
                call.arguments.iter().for_each(&mut *visit);
                call.filter.iter().for_each(&mut *visit);
                for bound in [&call.frame.start, &call.frame.end] {
                    if let WindowFrameBound::Preceding(offset) | WindowFrameBound::Following(offset) = bound {
                        visit(offset);
                    }
                }
            }
            ExprKind::Set(call) => call.arguments.iter().for_each(visit),
        }
    }

    /// Calls `visit` for each direct operand, to change it. Of a subquery as [`Expr::for_each_child`].
    pub fn for_each_child_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        match &mut self.kind {
            ExprKind::Constant(_)
            | ExprKind::Parameter(_)
            | ExprKind::Column(_)
            | ExprKind::Outer(_)
            | ExprKind::CaseOperand
            | ExprKind::Session(_)
            | ExprKind::Variable(_) => {}
            ExprKind::Call(call) | ExprKind::NullIf(call) | ExprKind::IsDistinct { equal: call, .. } => {
                call.arguments.iter_mut().for_each(visit);
            }
            ExprKind::And(list)
            | ExprKind::Or(list)
            | ExprKind::Coalesce(list)
            | ExprKind::Greatest(list)
            | ExprKind::Least(list)
            | ExprKind::Array { elements: list, .. }
            | ExprKind::Row { fields: list, .. } => list.iter_mut().for_each(visit),
            ExprKind::Not(input)
            | ExprKind::IsNull(input)
            | ExprKind::IsNotNull(input)
            | ExprKind::IsTruth { input, .. } => visit(input),
            ExprKind::Case { operand, whens, otherwise } => {
                if let Some(operand) = operand {
                    visit(operand);
                }
                for when in whens {
                    visit(&mut when.condition);
                    visit(&mut when.result);
                }
                if let Some(otherwise) = otherwise {
                    visit(otherwise);
                }
            }
            ExprKind::Subscript { input, subscripts, .. } => {
                visit(input);
                for (low, high) in subscripts {
                    low.iter_mut().chain(high).for_each(&mut *visit);
                }
            }
            ExprKind::Quantified(quantified) => {
                visit(&mut quantified.left);
                visit(&mut quantified.array);
            }
            ExprKind::Subquery(subquery) => {
                if let SubqueryKind::Quantified { left, .. } = &mut subquery.kind {
                    left.iter_mut().for_each(&mut *visit);
                }
                subquery.arguments.iter_mut().for_each(|(_, argument)| visit(argument));
            }
            ExprKind::Field(access) => visit(&mut access.input),
            ExprKind::Cast(cast) => visit(&mut cast.input),
            ExprKind::Aggregate(call) => {
                call.arguments.iter_mut().for_each(&mut *visit);
                call.order.iter_mut().for_each(|key| visit(&mut key.expr));
                call.filter.iter_mut().for_each(visit);
            }
            ExprKind::Window(call) => {
                call.arguments.iter_mut().for_each(&mut *visit);
                call.filter.iter_mut().for_each(&mut *visit);
                for bound in [&mut call.frame.start, &mut call.frame.end] {
                    if let WindowFrameBound::Preceding(offset) | WindowFrameBound::Following(offset) = bound {
                        visit(offset);
                    }
                }
            }
            ExprKind::Set(call) => call.arguments.iter_mut().for_each(visit),
        }
    }

    /// Whether `test` holds for this expression or any operand below it (bodies of subqueries left out).
    pub fn any(&self, test: &dyn Fn(&Expr) -> bool) -> bool {
        if test(self) {
            return true;
        }
        let mut found = false;
        self.for_each_child(&mut |child| found = found || child.any(test));
        found
    }
}
