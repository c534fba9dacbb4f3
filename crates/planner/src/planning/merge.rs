//! MERGE.

use base::lock_mode::LockMode;
use base::{Error, Result};
use plan::bound::{Change, Query};
use plan::{Expr, Merge, MergeAction, Node, Plan};

use super::build::Builder;
use super::definition::fold_table_expressions;
use super::flatten::Group;
use super::needed::Needed;
use super::selectivity::Relations;
use super::{Planner, node};

impl Planner<'_, '_> {
    /// MERGE of the rows that a query finds: those of the source, joined with the table.
    pub(super) fn merge(&mut self, mut query: Query, group: Group) -> Result<Plan> {
        let not_merge = || Error::internal("not a MERGE");
        let Some(Change::Merge { target, relation, clauses, .. }) = query.change.as_deref_mut() else {
            return Err(not_merge());
        };
        self.is_read_only &= clauses.iter().all(|clause| matches!(clause.action, MergeAction::Nothing));
        fold_table_expressions(&mut target.expressions, self.context, &mut self.inlining)?;
        let relation = *relation;
        self.lock_table(target.table.oid, LockMode::RowExclusive);
        let path = {
            let relations = Relations { query: &query, sizes: self.sizes(&query) };
            self.plan_group(&relations, group)?
        };
        let mut needed = Needed::of(&query, &path);
        needed.add_column(relation, -1);
        let mut relations = std::mem::take(&mut query.relations);
        let (scans, current_of) = (Default::default(), None);
        let mut builder = Builder { relations: &mut relations, needed: &needed, keeps_rows: false, scans, current_of };
        let (input, layout) = self.build(&mut builder, path)?;
        let scans = builder.scans;
        query.relations = relations;
        let scan = *scans.get(&relation).ok_or_else(|| Error::internal("the target is not scanned"))?;
        let ctid = layout.find(relation, -1).ok_or_else(|| Error::internal("the target has no ctid"))? as u32;
        let change = query.change.take().ok_or_else(not_merge)?;
        let Change::Merge { target, condition, mut clauses, .. } = *change else { return Err(not_merge()) };
        // The source's row is not looked at again. ON alone decides whether a newer version of the table's row still matches.
        let recheck = self.recheck(&query, &[relation], &layout, &scans, vec![condition], false)?;
        let mut result = Ok(());
        for clause in &mut clauses {
            clause.for_each_expr_mut(&mut |expr| {
                let bound = std::mem::replace(expr, Expr::boolean(true));
                match self.lower(bound, &layout) {
                    Ok(lowered) => *expr = lowered,
                    Err(error) => result = Err(error),
                }
            });
        }
        result?;
        let alias = query.relations[relation as usize].alias.clone();
        let (rows, cost) = (input.rows, input.cost + input.rows * 0.01);
        let merge = Merge { target, alias, scan, ctid, input, clauses, recheck };
        Ok(node(Node::Merge(Box::new(merge)), 0, rows, cost))
    }
}
