//! MERGE.

use super::{Assignment, Expr, Plan, Recheck, ScanId, Target};

/// MERGE.
#[derive(Debug)]
pub struct Merge {
    /// The table.
    pub target: Target,
    /// The name it goes by in the statement.
    pub alias: syntax::tree::Name,
    /// The scan of the table.
    pub scan: ScanId,
    /// The slot of the ctid of the table's row; NULL in a row of the source that matches none.
    pub ctid: u32,
    /// Gives the rows of the source, each with the rows of the table that it matches.
    pub input: Plan,
    /// The WHEN clauses, over the input row.
    pub clauses: Vec<MergeWhen>,
    /// How to try again with a newer version: whether it still matches.
    pub recheck: Recheck,
}

/// A WHEN clause. Of those that a row meets, the first one counts.
#[derive(Debug, Clone)]
pub struct MergeWhen {
    /// It is for rows of the source that match a row of the table; otherwise for those that match none.
    pub matched: bool,
    /// Only if true.
    pub condition: Option<Expr>,
    /// The action.
    pub action: MergeAction,
}

/// The action of a WHEN clause.
#[derive(Debug, Clone)]
pub enum MergeAction {
    /// The columns assigned. The others keep the values of the version that is replaced.
    Update(Vec<Assignment>),
    /// The row is deleted.
    Delete,
    /// The full row that is inserted: an expression for each column of the table, as in [`Insert::input`](super::Insert::input).
    Insert(Vec<Expr>),
    /// The row is left alone.
    Nothing,
}

impl MergeWhen {
    /// Calls `visit` for each of its expressions.
    pub fn for_each_expr<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        self.condition.iter().for_each(&mut *visit);
        match &self.action {
            MergeAction::Update(assignments) => assignments.iter().for_each(|assignment| visit(&assignment.value)),
            MergeAction::Insert(row) => row.iter().for_each(visit),
            MergeAction::Delete | MergeAction::Nothing => {}
        }
    }

    /// As [`MergeWhen::for_each_expr`], to change them.
    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.condition.iter_mut().for_each(&mut *visit);
        match &mut self.action {
            MergeAction::Update(assignments) => {
                assignments.iter_mut().for_each(|assignment| visit(&mut assignment.value));
            }
            MergeAction::Insert(row) => row.iter_mut().for_each(visit),
            MergeAction::Delete | MergeAction::Nothing => {}
        }
    }
}
