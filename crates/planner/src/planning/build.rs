//! From paths to plan nodes, from below: here it becomes known which slot holds what.

use base::Result;
use plan::bound::Relation;
use plan::{CursorName, Expr, ExprKind, HashJoin, JoinKind, MergeJoin, NestedLoop, Node, Plan, ScanId, SortKey};
use rustc_hash::FxHashMap;
use types::{SqlType, Value};

use super::flatten::relations_of;
use super::join::{JoinPath, Method, Path};
use super::lower::Layout;
use super::needed::Needed;
use super::{Planner, node};
use crate::binder::calls_volatile;

/// The inputs and the results of building a query's FROM.
pub(super) struct Builder<'q> {
    /// The entries; subqueries are taken out as they are planned.
    pub(super) relations: &'q mut Vec<Relation>,
    /// The columns read.
    pub(super) needed: &'q Needed,
    /// The rows of other entries are kept as a whole, for a second look at a row that has changed.
    pub(super) keeps_rows: bool,
    /// The number of each entry's scan, as far as it has one.
    pub(super) scans: FxHashMap<u32, ScanId>,
    /// The entry of which only the row that a cursor stands on is read.
    pub(super) current_of: Option<(u32, CursorName)>,
}

impl Planner<'_, '_> {
    /// The plan of a path, and what its slots hold.
    pub(super) fn build(&mut self, builder: &mut Builder<'_>, path: Path) -> Result<(Plan, Layout)> {
        match path {
            Path::Nothing => {
                let result = Node::Result { exprs: Vec::new(), condition: None };
                Ok((node(result, 0, 1.0, 0.01), Layout::default()))
            }
            Path::Scan { scan, conditions } => self.build_scan(builder, scan, conditions),
            Path::Join(join) => self.build_join(builder, *join),
            Path::Filter { input, conditions } => {
                let is_above_rows = !matches!(*input, Path::Nothing);
                let (plan, layout) = self.build(builder, *input)?;
                let is_gate = |condition: &Expr| {
                    let is_fixed = relations_of(condition) == 0 && !calls_volatile(condition);
                    is_above_rows && is_fixed && condition.as_constant().is_none()
                };
                let (gates, conditions): (Vec<_>, Vec<_>) = conditions.into_iter().partition(is_gate);
                let plan = self.filter(plan, conditions, &layout)?;
                Ok((self.one_time_filter(plan, gates)?, layout))
            }
        }
    }

    /// A filter above `plan`, unless there are no conditions.
    pub(super) fn filter(&mut self, plan: Plan, conditions: Vec<Expr>, layout: &Layout) -> Result<Plan> {
        let Some(condition) = self.lower_conditions(conditions, layout)? else { return Ok(plan) };
        let (width, rows, cost) = (plan.width as usize, plan.rows, plan.cost);
        // A condition that is never true needs no rows to be looked at.
        if let Some(Value::Bool(false) | Value::Null) = condition.as_constant() {
            let exprs = vec![Expr::null(SqlType::UNKNOWN); width];
            return Ok(node(Node::Result { exprs, condition: Some(Expr::boolean(false)) }, width, 1.0, 0.01));
        }
        // A row that comes from nothing, and has no columns that the condition could read, takes the condition itself.
        if let Node::Result { exprs, condition: None } = &plan.node
            && exprs.is_empty()
        {
            return Ok(node(Node::Result { exprs: Vec::new(), condition: Some(condition) }, width, rows, cost));
        }
        let cost = cost + rows * self.context.settings.costs.cpu_operator_cost;
        Ok(node(Node::Filter { input: Box::new(plan), condition }, width, rows, cost))
    }

    /// A condition that reads no row is looked at once, before any row is.
    fn one_time_filter(&mut self, plan: Plan, conditions: Vec<Expr>) -> Result<Plan> {
        let Some(condition) = self.lower_conditions(conditions, &Layout::default())? else { return Ok(plan) };
        let (width, rows, cost) = (plan.width as usize, plan.rows, plan.cost);
        Ok(node(Node::OneTimeFilter { input: Box::new(plan), condition }, width, rows, cost))
    }

    fn build_join(&mut self, builder: &mut Builder<'_>, join: JoinPath) -> Result<(Plan, Layout)> {
        let JoinPath { kind, left, right, method, conditions, rows, cost } = join;
        let (mut left, left_layout) = self.build(builder, left)?;
        let (mark, reads_mark) = (self.uses.len(), self.varying_reads.len());
        let (mut right, right_layout) = self.build(builder, right)?;
        let layout = left_layout.join(&right_layout);
        let keeps_right = self.uses.len() == mark && self.varying_reads.len() == reads_mark;
        let arguments = self.take_arguments(mark, |expr| is_in(expr, &left_layout));
        let arguments = arguments
            .into_iter()
            .map(|(index, argument)| Ok((index, self.lower(argument, &left_layout)?)))
            .collect::<Result<Vec<_>>>()?;
        let condition = self.lower_conditions(conditions, &layout)?;
        let width = match kind {
            JoinKind::Semi | JoinKind::Anti => left_layout.slots.len(),
            _ => layout.slots.len(),
        };
        let built = match method {
            Method::Nested { keep_right } => {
                let keep_right = keep_right && arguments.is_empty();
                Node::NestedLoop(Box::new(NestedLoop { kind, left, right, arguments, condition, keep_right }))
            }
            Method::Hash { left_keys, right_keys } => {
                let left_keys = self.lower_all(left_keys, &left_layout)?;
                let mark = self.uses.len();
                let right_keys = self.lower_all(right_keys, &right_layout)?;
                let keeps_right = keeps_right && self.uses.len() == mark;
                debug_assert!(arguments.is_empty(), "a hashed side reads nothing of the other");
                let null_aware = false;
                let join = HashJoin { kind, left, right, left_keys, right_keys, condition, null_aware, keeps_right };
                Node::HashJoin(Box::new(join))
            }
            Method::Merge { left_keys, right_keys, sorts_left, sorts_right } => {
                debug_assert!(arguments.is_empty(), "a merged side reads nothing of the other");
                if sorts_left {
                    left = self.sort(left, ascending(&left_keys), &left_layout)?;
                }
                if sorts_right {
                    right = self.sort(right, ascending(&right_keys), &right_layout)?;
                }
                let left_keys = self.lower_all(left_keys, &left_layout)?;
                let right_keys = self.lower_all(right_keys, &right_layout)?;
                Node::MergeJoin(Box::new(MergeJoin { kind, left, right, left_keys, right_keys, condition }))
            }
        };
        // Nothing above a semi or anti join sees the other side.
        let layout = if width < layout.slots.len() { left_layout } else { layout };
        Ok((node(built, width, rows, cost), layout))
    }
}

/// The order by these keys that a merge join reads its sides in.
fn ascending(keys: &[Expr]) -> Vec<SortKey> {
    keys.iter().map(|key| SortKey { expr: key.clone(), descending: false, nulls_first: false }).collect()
}

/// Whether a row of this layout has all that `expr` reads.
fn is_in(expr: &Expr, layout: &Layout) -> bool {
    !expr.any(&|inner| match &inner.kind {
        ExprKind::Variable(variable) => layout.find(variable.relation, variable.attribute).is_none(),
        _ => false,
    })
}
