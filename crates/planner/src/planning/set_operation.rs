//! UNION, INTERSECT and EXCEPT.

use base::{Error, Result};
use plan::bound::{Query, Relation, RelationKind, SetOperation};
use plan::{Expr, Node, Plan, SetOperator, SortKey};
use syntax::tree;
use types::SqlType;

use super::lower::Layout;
use super::query::target_layout;
use super::{Planner, node};

impl Planner<'_, '_> {
    pub(super) fn set_operation(&mut self, mut query: Query) -> Result<Plan> {
        let operation = query.set_operation.take().ok_or_else(|| Error::internal("not a set operation"))?;
        let mut relations = std::mem::take(&mut query.relations);
        let mut plan = self.operation(operation, &mut relations)?.0;
        // The targets are slots already.
        let column = |target: u32| query.targets[target as usize].expr.clone();
        let layout = Layout::default();
        if !query.order.is_empty() {
            let keys = query.order.iter().map(|item| SortKey {
                expr: column(item.target),
                descending: item.descending,
                nulls_first: item.nulls_first,
            });
            plan = self.sort(plan, keys.collect(), &layout)?;
        }
        let ties = query.with_ties.then(|| query.order.iter().map(|item| column(item.target)).collect());
        self.limit(plan, query.limit, query.offset, ties, &layout)
    }

    /// The plan of an operation, and the types of its columns.
    fn operation(&mut self, operation: SetOperation, relations: &mut [Relation]) -> Result<(Plan, Vec<SqlType>)> {
        match operation {
            SetOperation::Leaf(leaf) => match &mut relations[leaf as usize].kind {
                RelationKind::Subquery(query) => {
                    let query = std::mem::take(query.as_mut());
                    let types = query.output().map(|target| target.expr.sql_type).collect();
                    Ok((self.query(query)?, types))
                }
                _ => Err(Error::internal("an operand is no query")),
            },
            SetOperation::Cast { input, exprs } => {
                let (plan, _) = self.operation(*input, relations)?;
                let types = exprs.iter().map(|expr| expr.sql_type).collect();
                let layout = target_layout(plan.width as usize);
                let exprs = exprs
                    .into_iter()
                    .map(|mut expr| super::fold(&mut expr, self.context, &mut self.inlining).map(|()| expr));
                let exprs = exprs.collect::<Result<Vec<Expr>>>()?;
                Ok((self.project(plan, exprs, &layout)?, types))
            }
            SetOperation::Node { operator: tree::SetOperator::Union, all, left, right } => {
                let mut inputs = Vec::new();
                let types = self.append(*left, all, relations, &mut inputs)?;
                self.append(*right, all, relations, &mut inputs)?;
                let width = inputs.first().map_or(0, |input| input.width as usize);
                let rows = inputs.iter().map(|input| input.rows).sum::<f64>();
                let cost = inputs.iter().map(|input| input.cost).sum::<f64>();
                let plan = node(Node::Append { inputs }, width, rows, cost);
                if all {
                    return Ok((plan, types));
                }
                let cost = cost + rows * self.context.settings.costs.cpu_operator_cost * width as f64;
                let distinct = Node::Distinct { input: Box::new(plan), types: types.clone() };
                Ok((node(distinct, width, rows, cost), types))
            }
            SetOperation::Node { operator, all, left, right } => {
                let (left, types) = self.operation(*left, relations)?;
                let (right, _) = self.operation(*right, relations)?;
                let (left, right) = (Box::new(left), Box::new(right));
                let operation = match operator {
                    tree::SetOperator::Except => SetOperator::Except,
                    _ => SetOperator::Intersect,
                };
                let (width, rows) = (left.width as usize, left.rows);
                let cost =
                    left.cost + right.cost + (left.rows + right.rows) * self.context.settings.costs.cpu_operator_cost;
                let set_operation = Node::SetOperation { operation, all, left, right, types: types.clone() };
                Ok((node(set_operation, width, rows, cost), types))
            }
        }
    }

    /// Unions of unions are one: UNION ALL within UNION ALL, and anything within a UNION that drops duplicates.
    /// The types of the columns.
    fn append(
        &mut self,
        operation: SetOperation,
        all: bool,
        relations: &mut [Relation],
        inputs: &mut Vec<Plan>,
    ) -> Result<Vec<SqlType>> {
        match operation {
            SetOperation::Node { operator: tree::SetOperator::Union, all: inner, left, right } if inner || !all => {
                let types = self.append(*left, all, relations, inputs)?;
                self.append(*right, all, relations, inputs)?;
                Ok(types)
            }
            other => {
                let (plan, types) = self.operation(other, relations)?;
                inputs.push(plan);
                Ok(types)
            }
        }
    }
}
