//! Which columns of which entries are read: scans decode no others.

use plan::bound::{Query, RelationKind, for_each_inner};
use plan::{Expr, ExprKind, ROW_MARK};

use super::flatten::is_computed_anew;
use super::join::Path;

/// For each entry of a range table, the columns read, in ascending order.
#[derive(Debug, Default)]
pub(super) struct Needed {
    columns: Vec<Vec<i32>>,
}

impl Needed {
    /// The columns that a query reads. Its FROM and WHERE have become `path`.
    pub(super) fn of(query: &Query, path: &Path) -> Needed {
        let mut needed = Needed { columns: vec![Vec::new(); query.relations.len()] };
        query.for_each_expr(0, &mut |expr, depth| needed.add_at(expr, depth));
        path.for_each_expr(&mut |expr| needed.add_at(expr, 0));
        needed
    }

    /// A column more.
    pub(super) fn add_column(&mut self, relation: u32, attribute: i32) {
        let Some(columns) = self.columns.get_mut(relation as usize) else { return };
        if let Err(place) = columns.binary_search(&attribute) {
            columns.insert(place, attribute);
        }
    }

    /// The place of every table's row, and the mark of every other entry's row: a second look at a row keeps the others as they were joined.
    /// Simple subqueries, which PostgreSQL merges in any place, compute their rows anew if they read tables.
    pub(super) fn add_places(&mut self, query: &Query) {
        for (relation, entry) in query.relations.iter().enumerate() {
            match &entry.kind {
                RelationKind::Table(_) => self.add_column(relation as u32, -1),
                RelationKind::Subquery(inner) if is_computed_anew(inner) => {}
                _ => self.add_column(relation as u32, ROW_MARK),
            }
        }
    }

    /// Adds the columns that an expression of the query reads.
    pub(super) fn add(&mut self, expr: &Expr) {
        self.add_at(expr, 0);
    }

    /// Adds the columns that an expression reads, except for those of entry `relation`.
    pub(super) fn add_all_but(&mut self, expr: &Expr, relation: u32) {
        for_each_inner(expr, 0, &mut |inner, depth| {
            if let ExprKind::Variable(variable) = &inner.kind
                && variable.level == depth
                && variable.relation != relation
            {
                self.add_column(variable.relation, variable.attribute);
            }
        });
    }

    fn add_at(&mut self, expr: &Expr, depth: u32) {
        for_each_inner(expr, depth, &mut |inner, depth| {
            if let ExprKind::Variable(variable) = &inner.kind
                && variable.level == depth
            {
                self.add_column(variable.relation, variable.attribute);
            }
        });
    }

    /// The columns of an entry.
    pub(super) fn columns(&self, relation: u32) -> &[i32] {
        self.columns.get(relation as usize).map_or(&[], Vec::as_slice)
    }
}
