//! The parts of plans that EXPLAIN leaves out, one line for each: assignments, re-checks, row locks, rows of VALUES, limits, comparisons
//! with subqueries. Slots are shown by their numbers.

use plan::{Assignment, CatalogView, Expr, ExprKind, Node, OnConflict, Plan, Recheck, SubqueryBody, SubqueryKind};
use schema::catalog::TableDef;
use types::SqlType;

use crate::deparse::{Deparser, Names, Qualify};

/// Slots are called `#n`, and outer values `outer n`.
struct Slots;

impl Names for Slots {
    fn column(&self, slot: u32) -> (String, Option<SqlType>) {
        (format!("#{slot}"), None)
    }

    fn outer(&self, index: u32, _deparser: &Deparser<'_>) -> String {
        format!("outer {index}")
    }
}

/// The text of an expression over slots.
pub(super) fn expr_text(view: &CatalogView, expr: &Expr) -> String {
    Deparser::new(view, &Slots, Qualify::WhereNeeded).full_text(expr)
}

/// The lines for a plan and its inputs.
pub(super) fn details(view: &CatalogView, plan: &Plan) -> Vec<String> {
    let mut lines = Details { view, lines: Vec::new() };
    lines.plan(plan);
    lines.lines
}

struct Details<'a> {
    view: &'a CatalogView,
    lines: Vec<String>,
}

impl Details<'_> {
    fn plan(&mut self, plan: &Plan) {
        match &plan.node {
            Node::Result { exprs, .. } => exprs.iter().for_each(|expr| self.subquery(expr)),
            Node::IndexPoint(scan) => self.lines.push(format!("point in {}", scan.index.name)),
            Node::SeqScan(scan) => scan.filter.iter().for_each(|filter| self.subquery(filter)),
            Node::Values { rows } => {
                let rows = rows.iter().map(|row| format!("({})", self.list(row))).collect::<Vec<_>>();
                self.lines.push(format!("values {}", rows.join(", ")));
            }
            Node::Limit { limit, offset, .. } => {
                for (name, value) in [("limit", limit), ("offset", offset)] {
                    self.lines.extend(value.as_ref().map(|value| format!("{name} {}", self.text(value))));
                }
            }
            Node::DistinctOn { keys, .. } => self.lines.push(format!("distinct on {}", self.list(keys))),
            Node::Window(window) => {
                let order = window.order.iter().map(|key| self.text(&key.expr)).collect::<Vec<_>>().join(", ");
                self.lines.push(format!("partition by {} order by {order}", self.list(&window.partition)));
            }
            Node::LockRows(lock) => {
                for row in &lock.locks {
                    let line = format!("lock row {} of {}: {:?}, {:?}", row.ctid, row.table.name, row.mode, row.wait);
                    self.lines.push(line);
                }
                self.recheck(&lock.recheck);
            }
            Node::Insert(insert) => {
                if let Some(conflict) = &insert.on_conflict {
                    self.conflict(conflict, &insert.target.table);
                }
            }
            Node::Update(update) => {
                self.lines.push(format!("update row {}", update.ctid));
                self.assignments(&update.assignments, &update.target.table);
                self.recheck(&update.recheck);
            }
            Node::Delete(delete) => {
                self.lines.push(format!("delete row {}", delete.ctid));
                self.recheck(&delete.recheck);
            }
            _ => {}
        }
        plan.node.for_each_input(&mut |input| self.plan(input));
    }

    /// The comparison and the plan of an expression that is a subquery.
    fn subquery(&mut self, expr: &Expr) {
        let ExprKind::Subquery(subquery) = &expr.kind else { return };
        if let SubqueryKind::Quantified { quantifier, left, comparisons, .. } = &subquery.kind {
            let line = format!("{} compared with {quantifier:?}: {}", self.list(left), self.list(comparisons));
            self.lines.push(line);
        }
        if let SubqueryBody::Planned(plan) = &subquery.body {
            self.plan(plan);
        }
    }

    fn text(&self, expr: &Expr) -> String {
        expr_text(self.view, expr)
    }

    fn list(&self, exprs: &[Expr]) -> String {
        exprs.iter().map(|expr| self.text(expr)).collect::<Vec<_>>().join(", ")
    }

    fn conflict(&mut self, conflict: &OnConflict, table: &TableDef) {
        self.lines.push(format!("conflict on indexes {:?}", conflict.arbiters));
        if let Some(update) = &conflict.update {
            self.assignments(&update.assignments, table);
        }
    }

    fn assignments(&mut self, assignments: &[Assignment], table: &TableDef) {
        for assignment in assignments {
            let column = &table.columns[assignment.column as usize].name;
            self.lines.push(format!("set {column} = {}", self.text(&assignment.value)));
        }
    }

    fn recheck(&mut self, recheck: &Recheck) {
        self.lines.push(match recheck {
            Recheck::Columns { condition: None, .. } => "recheck nothing".to_owned(),
            Recheck::Columns { condition: Some(condition), .. } => format!("recheck {}", self.text(condition)),
            Recheck::Rerun { scans, rows } => format!("run {} scans again, keep {} rows", scans.len(), rows.len()),
        });
    }
}
