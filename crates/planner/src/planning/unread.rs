//! Parts of subqueries that nobody reads are not computed: the select list of EXISTS, and columns that the query around leaves out.
//! So they raise no errors either, as in PostgreSQL.

use base::Result;
use plan::bound::{Distinct, Query};
use plan::{Expr, ExprKind};
use types::Value;

use super::Planner;
use super::fold::{fold, is_volatile};
use super::query::collect_aggregates;

impl Planner<'_, '_> {
    /// Takes the select list, its order and its groups out of a query of which only the existence of rows matters. Queries whose
    /// number of rows has to do with the list keep it.
    pub(super) fn drop_unread_list(&mut self, query: &mut Query) -> Result<()> {
        let mut calls = Vec::new();
        query.targets.iter().for_each(|target| collect_aggregates(&target.expr, &mut calls));
        let is_plain = query.set_operation.is_none()
            && calls.is_empty()
            && !(query.is_grouped && query.groups.is_empty())
            && query.having.is_none()
            && !query.targets.iter().any(|target| target.expr.any(&|expr| matches!(expr.kind, ExprKind::Window(_))))
            && !query.has_sets
            && query.offset.is_none()
            && query.locks.is_empty()
            && !query.is_kept_apart
            && query.change.is_none()
            && query.ctes.iter().all(|cte| cte.query.change.is_none());
        if !is_plain {
            return Ok(());
        }
        if let Some(limit) = &mut query.limit {
            fold(limit, self.context, &mut self.inlining)?;
            match (limit.as_constant(), &limit.kind) {
                // One row is as good as many.
                (Some(Value::Null), _) => query.limit = None,
                (Some(rows), _) if rows.as_i64().is_some_and(|rows| rows > 0) => query.limit = None,
                // A constant of the statement, as a rule.
                (None, ExprKind::Parameter(_)) => {}
                (None, ExprKind::Cast(cast)) if matches!(cast.input.kind, ExprKind::Parameter(_)) => {}
                _ => return Ok(()),
            }
        }
        query.with_ties = false;
        query.targets.clear();
        query.groups.clear();
        query.is_grouped = false;
        query.windows.clear();
        query.distinct = Distinct::No;
        query.order.clear();
        query.has_written_order = false;
        Ok(())
    }
}

/// Makes NULL of the columns of a subquery in FROM that the query around does not read.
pub(super) fn drop_unread_columns(query: &mut Query, read: &[i32]) {
    if query.set_operation.is_some() || query.distinct == Distinct::All || query.change.is_some() {
        return;
    }
    let is_key = |place: usize, query: &Query| {
        query.order.iter().any(|item| item.target as usize == place)
            || matches!(&query.distinct, Distinct::On(on) if on.contains(&(place as u32)))
    };
    let mut column = 0;
    for place in 0..query.targets.len() {
        if query.targets[place].hidden {
            continue;
        }
        let is_read = read.binary_search(&column).is_ok();
        column += 1;
        let expr = &query.targets[place].expr;
        let is_grouped_by = query.groups.iter().any(|group| crate::binder::same(group, expr));
        let is_needed = is_read
            || is_key(place, query)
            || is_grouped_by
            || is_volatile(expr)
            || expr.any(&|inner| matches!(inner.kind, ExprKind::Set(_)));
        if !is_needed {
            let expr = &mut query.targets[place].expr;
            *expr = Expr::null(expr.sql_type);
        }
    }
}
