//! SELECT: clause by clause, in the order PostgreSQL binds them.

use base::{Result, sqlstate};
use plan::bound::{Column, Distinct, FromItem, OrderItem, Query, Relation, RelationKind, TargetEntry};
use plan::{Expr, ExprKind};
use syntax::tree::{self, GroupItem, Name, QueryBody, Select, SortBy, Target};
use types::{SqlType, oids};

use super::aggregate::same;
use super::scope::{Place, Scope};
use super::target::check_count;
use super::volatility::is_volatile;
use super::{Binder, Part};

impl Binder<'_, '_> {
    /// A statement's own query.
    pub(super) fn top_query(&mut self, query: &tree::Query) -> Result<Query> {
        self.query(query, true)
    }

    /// A subquery of an expression: it sees the names around it.
    pub(super) fn inner_query(&mut self, query: &tree::Query) -> Result<Query> {
        // In FROM, the names to the left are those that LATERAL would show.
        self.in_part(Part::Expression, |binder| binder.query(query, true))
    }

    /// Binds a query in a scope of its own. Without `settle`, targets may stay `unknown`: the caller gives them types.
    pub(super) fn query(&mut self, query: &tree::Query, settle: bool) -> Result<Query> {
        self.nested(|binder| {
            binder.scopes.push(Scope::new(Place::Select));
            let result = binder.query_in_scope(query, settle);
            binder.scopes.pop();
            result
        })
    }

    fn query_in_scope(&mut self, query: &tree::Query, settle: bool) -> Result<Query> {
        let ctes = self.ctes(query.with.as_ref())?;
        let mut bound = match &query.body {
            QueryBody::Select(select) => self.select(select, query, settle)?,
            QueryBody::Values(rows) => self.values_query(rows, query, settle)?,
            QueryBody::SetOperation { .. } => self.set_operation_query(query)?,
        };
        bound.ctes = self.finish_ctes(ctes);
        Ok(bound)
    }

    fn select(&mut self, select: &Select, query: &tree::Query, settle: bool) -> Result<Query> {
        // An arm of a set operation is no query of its own.
        sync::yield_point()?;
        if let Some(into) = &select.into {
            return Err(self.error(sqlstate::SYNTAX_ERROR, "SELECT ... INTO is not allowed here", into.table.location));
        }
        self.from(&select.from)?;
        self.scope().place = Place::Select;
        self.define_windows(&select.windows)?;
        let mut targets = self.targets(&select.targets)?;
        let visible = targets.len();
        let filter = match &select.filter {
            Some(filter) => {
                self.scope().place = Place::Where;
                Some(self.condition(filter, "WHERE")?)
            }
            None => None,
        };
        let having = match &select.having {
            Some(having) => {
                self.scope().place = Place::Having;
                Some(self.condition(having, "HAVING")?)
            }
            None => None,
        };
        self.scope().place = Place::Select;
        if settle {
            self.settle_targets(&mut targets, &select.targets)?;
        }
        let order = self.order(&query.order, &mut targets)?;
        let (groups, repeated_groups) = self.groups(&select.group, &mut targets)?;
        let distinct = self.distinct(select, query, &mut targets, visible, &order)?;
        let order = match &distinct {
            Distinct::On(on) => distinct_on_order(on, order),
            _ => order,
        };
        let offset = self.optional_count(query.offset.as_ref(), "OFFSET", Place::Offset)?;
        let limit = self.optional_count(query.limit.as_ref(), "LIMIT", Place::Limit)?;
        if query.with_ties && order.is_empty() {
            return Err(self.error(
                sqlstate::SYNTAX_ERROR,
                "WITH TIES cannot be specified without ORDER BY clause",
                -1,
            ));
        }
        let scope = self.scope();
        let has_aggregates = scope.has_aggregates;
        let mut bound = Query {
            relations: std::mem::take(&mut scope.relations),
            from: std::mem::take(&mut scope.from),
            filter,
            targets,
            groups,
            repeated_groups,
            is_grouped: has_aggregates || !select.group.is_empty() || having.is_some(),
            having,
            windows: std::mem::take(&mut scope.windows),
            distinct,
            order,
            has_written_order: !query.order.is_empty(),
            offset,
            limit,
            with_ties: query.with_ties,
            has_sets: scope.has_sets,
            ..Query::default()
        };
        if bound.is_grouped {
            self.check_grouping(&bound)?;
        }
        self.locks(&mut bound, &query.locking)?;
        Ok(bound)
    }

    fn optional_count(
        &mut self,
        expr: Option<&tree::Expr>,
        construct: &'static str,
        place: Place,
    ) -> Result<Option<Expr>> {
        expr.map(|expr| self.row_count(expr, construct, place)).transpose()
    }

    /// ORDER BY: items refer to targets.
    pub(super) fn order(&mut self, order: &[SortBy], targets: &mut Vec<TargetEntry>) -> Result<Vec<OrderItem>> {
        let mut items: Vec<OrderItem> = Vec::with_capacity(order.len());
        for sort in order {
            let target = self.find_target(&sort.expr, targets, Place::OrderBy)?;
            self.settle_target(&mut targets[target], sort.expr.start())?;
            self.require_ordering(targets[target].expr.sql_type, sort.expr.start())?;
            let descending = self.is_descending(sort)?;
            let nulls_first = sort.nulls_first.unwrap_or(descending);
            // The same target again adds nothing, but to the text of a query that is stored.
            if self.keeps_words() || items.iter().all(|item| item.target as usize != target) {
                items.push(OrderItem { target: target as u32, descending, nulls_first });
            }
        }
        Ok(items)
    }

    pub(super) fn settle_target(&mut self, target: &mut TargetEntry, location: i32) -> Result<()> {
        if target.expr.sql_type.oid == oids::UNKNOWN {
            self.settle_in_place(&mut target.expr, location)?;
            target.column.sql_type = target.expr.sql_type;
        }
        Ok(())
    }

    /// GROUP BY's expressions, and the places of those that only repeat an earlier one, for the text of a query that is stored.
    fn groups(&mut self, items: &[GroupItem], targets: &mut Vec<TargetEntry>) -> Result<(Vec<Expr>, Vec<usize>)> {
        let mut groups: Vec<Expr> = Vec::with_capacity(items.len());
        let mut repeated = Vec::new();
        // Those that are not in the list.
        let mut hidden: Vec<Expr> = Vec::new();
        // The items of the list that are grouped by.
        let mut grouped: Vec<usize> = Vec::new();
        for item in items {
            match item {
                GroupItem::Expr(expr) => {
                    // `GROUP BY (a, b)` groups by both.
                    let parts = match &expr.kind {
                        tree::ExprKind::Row { fields, explicit: false } => fields.as_slice(),
                        _ => std::slice::from_ref(expr),
                    };
                    for part in parts {
                        let known = targets.len();
                        let index = self.find_target(part, targets, Place::GroupBy)?;
                        self.settle_target(&mut targets[index], part.start())?;
                        let group = targets[index].expr.clone();
                        self.check_group(&group, part.start())?;
                        // A hidden target made for this is not needed: only ORDER BY's, made before, are referred to.
                        let was_made = targets.len() > known;
                        targets.truncate(known);
                        let is_repeated = match was_made {
                            true => hidden.iter().any(|other| same(other, &group)),
                            false => grouped.contains(&index),
                        };
                        // Two items of the list that are volatile are two values, however they are written.
                        let is_same =
                            is_repeated || !is_volatile(&group) && groups.iter().any(|other| same(other, &group));
                        if is_same && !self.keeps_words() {
                            continue;
                        }
                        if is_repeated {
                            repeated.push(groups.len());
                        } else if was_made {
                            hidden.push(group.clone());
                        } else {
                            grouped.push(index);
                        }
                        groups.push(group);
                        check_count(targets.len() + hidden.len())?;
                    }
                }
                GroupItem::Empty(_) => {}
                GroupItem::Rollup(_, location) => return Err(self.unsupported("ROLLUP is not supported", *location)),
                GroupItem::Cube(_, location) => return Err(self.unsupported("CUBE is not supported", *location)),
                GroupItem::Sets(_, location) => {
                    return Err(self.unsupported("GROUPING SETS is not supported", *location));
                }
            }
        }
        Ok((groups, repeated))
    }

    fn check_group(&mut self, group: &Expr, location: i32) -> Result<()> {
        // One of a subquery may be this query's: an entry of the select list that is grouped by was bound as such.
        if let Some(location) = super::aggregate::first_own_aggregate(group) {
            let message = "aggregate functions are not allowed in GROUP BY";
            return Err(self.error(sqlstate::GROUPING_ERROR, message, location));
        }
        if group.any(&|expr| matches!(expr.kind, ExprKind::Window(_))) {
            let message = "window functions are not allowed in GROUP BY";
            return Err(self.error(sqlstate::WINDOWING_ERROR, message, location));
        }
        self.require_equality(group.sql_type, location)
    }

    fn distinct(
        &mut self,
        select: &Select,
        query: &tree::Query,
        targets: &mut Vec<TargetEntry>,
        visible: usize,
        order: &[OrderItem],
    ) -> Result<Distinct> {
        match &select.distinct {
            tree::Distinct::No => Ok(Distinct::No),
            tree::Distinct::All => {
                for (item, sort) in order.iter().zip(&query.order) {
                    if targets[item.target as usize].hidden {
                        let message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
                        return Err(self.error(sqlstate::INVALID_COLUMN_REFERENCE, message, sort.expr.start()));
                    }
                }
                for (index, target) in targets.iter().take(visible).enumerate() {
                    let location = select.targets.get(index).map_or(-1, |target| target.expr.start());
                    self.require_equality(target.expr.sql_type, location)?;
                }
                Ok(Distinct::All)
            }
            tree::Distinct::On(exprs) => {
                let (mut on, mut written) = (Vec::with_capacity(exprs.len()), Vec::new());
                for expr in exprs {
                    let target = self.find_target(expr, targets, Place::DistinctOn)?;
                    self.settle_target(&mut targets[target], expr.location)?;
                    self.require_ordering(targets[target].expr.sql_type, expr.location)?;
                    written.push(target as u32);
                    if !on.contains(&(target as u32)) {
                        on.push(target as u32);
                    }
                }
                // The first sort keys must be these expressions, in any order.
                let leading = order.iter().take_while(|item| on.contains(&item.target)).count();
                // A key that sorting begins with may come again, and sorts nothing then.
                let is_late = |item: &OrderItem| {
                    on.contains(&item.target) && order[..leading].iter().all(|first| first.target != item.target)
                };
                let later = order.iter().skip(leading).position(is_late);
                if later.is_some() || (leading < on.len() && leading < order.len()) {
                    // The culprit is the expression that sorting does not begin with.
                    let culprit = match later {
                        Some(later) => order[leading + later].target,
                        None => on
                            .iter()
                            .copied()
                            .find(|target| !order[..leading].iter().any(|item| item.target == *target))
                            .unwrap_or(on[0]),
                    };
                    let place = on.iter().position(|target| *target == culprit).unwrap_or(0);
                    let location = exprs.get(place).map_or(-1, tree::Expr::start);
                    let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
                    return Err(self.error(sqlstate::INVALID_COLUMN_REFERENCE, message, location));
                }
                // The text of a query that is stored is made from what was written.
                Ok(Distinct::On(if self.keeps_words() { written } else { on }))
            }
        }
    }

    /// VALUES as a query: a relation with columns `column1`, `column2`, ...
    fn values_query(&mut self, rows: &[Vec<tree::Expr>], query: &tree::Query, settle: bool) -> Result<Query> {
        self.scope().place = Place::Values;
        let rows = self.values_rows(rows, settle)?;
        self.scope().place = Place::Select;
        let columns = rows[0]
            .iter()
            .enumerate()
            .map(|(index, value)| Column {
                name: Name::from(format!("column{}", index + 1)),
                sql_type: value.sql_type,
                dropped: false,
            })
            .collect();
        let alias = Name::new_static("*VALUES*");
        let relation = self.add_relation(Relation {
            kind: RelationKind::Values(rows),
            alias,
            columns,
            lateral: false,
            access: None,
        });
        self.show(relation, None, base::Oid::INVALID, true);
        self.scope().from.push(FromItem::Relation(relation));
        let columns = self.scope().columns_of(relation);
        let mut targets = columns.into_iter().map(|column| self.target(column.expr, column.name)).collect::<Vec<_>>();
        let order = self.order(&query.order, &mut targets)?;
        let offset = self.optional_count(query.offset.as_ref(), "OFFSET", Place::Offset)?;
        let limit = self.optional_count(query.limit.as_ref(), "LIMIT", Place::Limit)?;
        if !query.locking.is_empty() {
            return Err(
                self.unsupported(format!("{} cannot be applied to VALUES", super::lock::clause(&query.locking)), -1)
            );
        }
        let scope = self.scope();
        Ok(Query {
            relations: std::mem::take(&mut scope.relations),
            from: std::mem::take(&mut scope.from),
            targets,
            order,
            offset,
            limit,
            with_ties: query.with_ties,
            ..Query::default()
        })
    }

    /// The rows of VALUES, each column of one type.
    fn values_rows(&mut self, rows: &[Vec<tree::Expr>], settle: bool) -> Result<Vec<Vec<Expr>>> {
        let width = rows.first().map_or(0, Vec::len);
        let mut bound = Vec::with_capacity(rows.len());
        for row in rows {
            if row.len() != width {
                let location = row.first().map_or(-1, tree::Expr::start);
                return Err(self.error(sqlstate::SYNTAX_ERROR, "VALUES lists must all be the same length", location));
            }
            if let Some(default) = row.iter().find(|expr| matches!(expr.kind, tree::ExprKind::Default)) {
                let message = "DEFAULT is not allowed in this context";
                return Err(self.error(sqlstate::SYNTAX_ERROR, message, default.location));
            }
            bound.push(self.spread_exprs(row)?);
        }
        let bound_width = bound[0].len();
        for column in 0..bound_width {
            let types = bound.iter().map(|row| row[column].sql_type).collect::<Vec<_>>();
            let place = |row: usize| rows[row].get(column).map_or(-1, tree::Expr::start);
            if !settle && types.iter().all(|sql_type| sql_type.oid == oids::UNKNOWN) {
                continue;
            }
            let locations = (0..rows.len()).map(place).collect::<Vec<_>>();
            let mut common = self.common_type("VALUES", &types, &locations)?;
            // A modifier is kept if all rows have it.
            if types.iter().any(|sql_type| *sql_type != common) {
                common = SqlType::new(common.oid);
            }
            for (row, location) in bound.iter_mut().zip(&locations) {
                let value = std::mem::replace(&mut row[column], Expr::null(SqlType::UNKNOWN));
                row[column] = self.coerce_to_common_type(value, common, "VALUES", *location)?;
                row[column].sql_type = common;
            }
        }
        Ok(bound)
    }

    /// The locations of a select list's items, for errors about columns.
    pub(super) fn target_location(targets: &[Target], index: usize) -> i32 {
        targets.get(index).map_or(-1, |target| target.expr.start())
    }
}

/// The order DISTINCT ON needs: its own expressions first.
fn distinct_on_order(on: &[u32], order: Vec<OrderItem>) -> Vec<OrderItem> {
    let mut items = order;
    let is_sorted = |target: u32| items.iter().any(|item| item.target == target);
    let missing =
        on.iter().enumerate().filter(|(place, target)| !on[..*place].contains(target) && !is_sorted(**target));
    let missing = missing.map(|(_, target)| OrderItem { target: *target, descending: false, nulls_first: false });
    let missing: Vec<OrderItem> = missing.collect();
    let leading = items.iter().take_while(|item| on.contains(&item.target)).count();
    items.splice(leading..leading, missing);
    items
}
