//! Whether a plan could be another one if the values of the statement's parameters were known.

use plan::bound::{Query, RelationKind};
use plan::{Call, Expr, ExprKind, Variable};
use types::OperatorRole;

use super::Planner;
use super::flatten::{Group, Unit, relations_of};
use super::selectivity::Relations;

impl Planner<'_, '_> {
    /// Notes whether values could change what is estimated of a query, or which of its conditions are left.
    pub(super) fn note_values(&mut self, query: &Query, group: &Group) {
        if self.depends_on_values || self.context.parameter_values.is_some() {
            return;
        }
        // With a limit an order is worth an index or a sort.
        let limit = query.limit.iter().chain(&query.offset).any(has_parameter) && !query.order.is_empty();
        self.depends_on_values = limit || {
            let mut conditions = Vec::new();
            conditions_with_parameters(group, &mut conditions);
            !conditions.is_empty() && {
                let relations = Relations { query, sizes: self.sizes(query) };
                conditions.into_iter().any(|condition| self.is_sensitive(condition, &relations))
            }
        };
    }

    /// Whether a value could change what is estimated of a condition.
    fn is_sensitive(&self, condition: &Expr, relations: &Relations<'_>) -> bool {
        if !has_parameter(condition) {
            return false;
        }
        // It may come out as a constant.
        if relations_of(condition) == 0 {
            return true;
        }
        match &condition.kind {
            ExprKind::And(parts) | ExprKind::Or(parts) => parts.iter().any(|part| self.is_sensitive(part, relations)),
            ExprKind::Not(input) => self.is_sensitive(input, relations),
            ExprKind::Call(call) => self.is_sensitive_comparison(call, relations),
            // How many elements there are matters, too.
            ExprKind::Quantified(quantified) => has_parameter(&quantified.array),
            _ => false,
        }
    }

    fn is_sensitive_comparison(&self, call: &Call, relations: &Relations<'_>) -> bool {
        let (Some(operator), [left, right]) = (call.operator, call.arguments.as_slice()) else { return false };
        let (column, value) = if relations_of(left) != 0 { (left, right) } else { (right, left) };
        let ExprKind::Variable(variable) = &column.kind else { return false };
        if variable.level != 0 || relations_of(value) != 0 {
            return false;
        }
        let is_known = match operator.role {
            OperatorRole::Equal | OperatorRole::NotEqual => relations.has_common_values(column),
            OperatorRole::Less | OperatorRole::LessEqual | OperatorRole::Greater | OperatorRole::GreaterEqual => {
                relations.has_bounds(column)
            }
            OperatorRole::Pattern | OperatorRole::Other => false,
        };
        is_known || self.is_in_predicate(variable, relations.query)
    }

    /// Whether the condition of a partial index may be about the column: then a value can tell that the index serves.
    fn is_in_predicate(&self, variable: &Variable, query: &Query) -> bool {
        let RelationKind::Table(table) = &query.relations[variable.relation as usize].kind else { return false };
        let Some(column) = usize::try_from(variable.attribute).ok().and_then(|place| table.columns.get(place)) else {
            return false;
        };
        let indexes = self.context.catalog.indexes_of(table.oid);
        indexes.iter().any(|index| index.predicate.as_ref().is_some_and(|predicate| predicate.contains(&*column.name)))
    }
}

fn conditions_with_parameters<'g>(group: &'g Group, found: &mut Vec<&'g Expr>) {
    found.extend(group.conditions.iter().filter(|condition| has_parameter(condition)));
    for unit in &group.units {
        if let Unit::Outer(join) = unit {
            found.extend(join.conditions.iter().filter(|condition| has_parameter(condition)));
            conditions_with_parameters(&join.left, found);
            conditions_with_parameters(&join.right, found);
        }
    }
}

/// Subqueries are looked at when they are planned.
fn has_parameter(expr: &Expr) -> bool {
    expr.any(&|inner| matches!(inner.kind, ExprKind::Parameter(_)))
}
