//! The indexes that ON CONFLICT's target names.

use base::Result;
use plan::bound::ConflictTarget;
use plan::{Expr, ExprKind, IndexExpressions, TableExpressions};
use schema::catalog::{IndexDef, TableDef};

use super::implication::implies;
use super::{Planner, fold};
use crate::binder::same;

impl Planner<'_, '_> {
    /// The positions of the arbiter indexes; none if all unique indexes are. `expressions` are those of the table. If the target names no
    /// index, `lacks_arbiter` is set: where the values of parameters matter, that is an error of running the plan.
    ///
    /// # Errors
    /// 42P10 if there are none, and errors of folding.
    pub(super) fn arbiters(
        &mut self,
        table: &TableDef,
        expressions: Option<&TableExpressions>,
        target: ConflictTarget,
    ) -> Result<Vec<u32>> {
        let (columns, mut wanted, mut filter) = match target {
            ConflictTarget::AllIndexes => return Ok(Vec::new()),
            ConflictTarget::Constraint(position) => return Ok(vec![position]),
            ConflictTarget::Keys { columns, expressions, filter } => (columns, expressions, filter),
        };
        for expr in wanted.iter_mut().chain(&mut filter) {
            fold(expr, self.context, &mut self.inlining)?;
        }
        let expressions_of = |position: usize| expressions.and_then(|all| all.indexes.get(position)?.as_ref());
        let matching = self.context.catalog.indexes_of(table.oid).iter().enumerate().filter(|(position, index)| {
            index.unique && has_keys(index, expressions_of(*position), (&columns, &wanted), filter.as_ref())
        });
        let found: Vec<u32> = matching.map(|(position, _)| position as u32).collect();
        let is_parameter = |expr: &Expr| matches!(expr.kind, ExprKind::Parameter(_));
        let awaits_values = filter.is_some_and(|filter| filter.any(&is_parameter));
        self.awaits_values |= awaits_values;
        if found.is_empty() {
            if !awaits_values && !self.context.settings.errors_wait {
                return Err(plan::no_arbiter());
            }
            self.lacks_arbiter = true;
        }
        Ok(found)
    }
}

/// Whether an index has these columns and expressions as keys, and a predicate that `filter` implies. `own` are the index's expressions.
fn has_keys(
    index: &IndexDef,
    own: Option<&IndexExpressions>,
    (columns, expressions): (&[usize], &[Expr]),
    filter: Option<&Expr>,
) -> bool {
    let key_columns: Vec<usize> = index.keys.iter().filter_map(|key| key.column).collect();
    let key_expressions = own.map_or(&[][..], |own| &own.keys);
    let is_key = |wanted: &Expr| key_expressions.iter().any(|(_, key)| same(key, wanted));
    let predicate_holds = match (own.and_then(|own| own.predicate.as_ref()), filter) {
        (None, _) => true,
        (Some(predicate), Some(filter)) => implies(filter, predicate),
        (Some(predicate), None) => predicate.is_true(),
    };
    columns.iter().all(|column| key_columns.contains(column))
        && key_columns.iter().all(|column| columns.contains(column))
        && expressions.len() == key_expressions.len()
        && expressions.iter().all(is_key)
        && predicate_holds
}
