//! A whole query: WITH, FROM and WHERE, then what stands above them.

use base::{Error, Result};
use plan::bound::{Change, Cte, Distinct, Query, RelationKind};
use plan::{AggregateCall, Expr, ExprKind, Node, Plan, RecursiveUnion, SubqueryBody, SubqueryKind, bound};
use types::{SqlType, Value};

use super::access::{Access, Offered};
use super::build::Builder;
use super::flatten::{Group, RelationSet, Unit, inline_ctes, raise_query, relations_of};
use super::fold::has_subquery;
use super::join::{Path, scan_path};
use super::lower::Layout;
use super::needed::Needed;
use super::selectivity::Relations;
use super::{DISABLED_COST, Frame, Planner, node};

impl Planner<'_, '_> {
    /// The plan of a query in a frame of its own; its slots are the query's output columns.
    pub(super) fn query(&mut self, query: Query) -> Result<Plan> {
        self.check_stack()?;
        self.frames.push(Frame::default());
        let result = self.query_in_frame(query);
        let depth = self.frames.len() - 1;
        let frame = self.frames.pop();
        if result.is_ok()
            && let Some((_, missing)) = self.uses.iter().find(|(used, _)| *used == depth)
        {
            let request = frame.iter().flat_map(|frame| &frame.requests).find(|request| request.index == *missing);
            let what = request.map(|request| format!("{:?}", request.expr.kind)).unwrap_or_default();
            return Err(Error::internal(format!("{what} is in no slot")));
        }
        result
    }

    fn query_in_frame(&mut self, mut query: Query) -> Result<Plan> {
        sync::yield_point()?;
        // Parts of an INSERT may read them.
        if !query.ctes.is_empty() {
            inline_ctes(&mut query)?;
        }
        // INSERT's RETURNING has a range table of its own: it must not be taken for the query's.
        let insert = match query.change.as_deref() {
            Some(Change::Insert { .. }) => query.change.take(),
            _ => None,
        };
        let group = self.flatten(&mut query)?;
        let ctes = std::mem::take(&mut query.ctes);
        let mut planned = Vec::with_capacity(ctes.len());
        for cte in ctes {
            // A query that nobody reads is not run, whatever it calls.
            if cte.references == 0 && cte.recursive.is_none() && cte.query.change.is_none() {
                continue;
            }
            planned.push(self.cte(cte)?);
        }
        let mut plan = if query.set_operation.is_some() {
            self.set_operation(query)?
        } else if matches!(query.change.as_deref(), Some(Change::Merge { .. })) {
            self.merge(query, group)?
        } else if query.change.is_some() {
            self.change(query, group)?
        } else {
            self.select(query, group)?
        };
        if let Some(insert) = insert {
            plan = self.insert(*insert, plan)?;
        }
        super::check_plan_depth(&plan)?;
        if planned.is_empty() {
            return Ok(plan);
        }
        // All nodes that read these common table expressions are below the `With` node, and are rescanned together with them.
        self.varying_reads.retain(|read| planned.iter().all(|cte| cte.id != *read));
        let (width, rows) = (plan.width as usize, plan.rows);
        let cost = plan.cost + planned.iter().map(|cte| cte.plan.cost).sum::<f64>();
        let plan = node(Node::With { ctes: planned, input: Box::new(plan) }, width, rows, cost);
        super::check_plan_depth(&plan)?;
        Ok(plan)
    }

    fn cte(&mut self, cte: Cte) -> Result<plan::Cte> {
        let Cte { id, name, query, recursive, .. } = cte;
        let modifies = query.change.is_some();
        let (mark, reads_mark) = (self.uses.len(), self.varying_reads.len());
        let plan = match recursive {
            None => self.query(query)?,
            Some((recursive, all)) => {
                let types = query.output().map(|target| target.expr.sql_type).collect();
                let anchor = self.query(query)?;
                let recursive = self.query(recursive)?;
                let (width, rows) = (anchor.width as usize, anchor.rows * 10.0);
                let cost = anchor.cost + recursive.cost * 10.0;
                self.varying_reads.retain(|read| *read != id);
                let union = RecursiveUnion { cte: id, anchor, recursive, all, types };
                node(Node::RecursiveUnion(Box::new(union)), width, rows, cost)
            }
        };
        let correlated = self.uses.len() > mark || self.varying_reads.len() > reads_mark;
        if correlated {
            self.varying_ctes.push(id);
        }
        Ok(plan::Cte { id, name, plan, correlated, modifies })
    }

    fn select(&mut self, mut query: Query, group: Group) -> Result<Plan> {
        if let Some(rewritten) = self.least_and_greatest(&query, &group)? {
            query = rewritten;
            return self.select_from(query, Group::default());
        }
        self.select_from(query, group)
    }

    fn select_from(&mut self, mut query: Query, group: Group) -> Result<Plan> {
        let recheck = if query.locks.is_empty() { Vec::new() } else { group.conditions.clone() };
        let (path, is_ordered) = self.from_path(&query, group)?;
        let has_outer_join = path.has_outer_join();
        let mut needed = Needed::of(&query, &path);
        for lock in &query.locks {
            needed.add_column(lock.relation, -1);
        }
        if has_outer_join && !query.locks.is_empty() {
            needed.add_places(&query);
        }
        recheck.iter().for_each(|condition| needed.add(condition));
        let keeps_rows = !query.locks.is_empty();
        let mut relations = std::mem::take(&mut query.relations);
        let mut builder = Builder {
            relations: &mut relations,
            needed: &needed,
            keeps_rows,
            scans: Default::default(),
            current_of: None,
        };
        let (plan, layout) = self.build(&mut builder, path)?;
        let scans = builder.scans;
        query.relations = relations;
        let locks = self.row_locks(&query, &layout, &scans, recheck, has_outer_join)?;
        self.above_from(query, plan, layout, is_ordered, locks)
    }

    /// The path of a query's FROM and WHERE, and whether its rows come in the query's order.
    fn from_path(&mut self, query: &Query, group: Group) -> Result<(Path, bool)> {
        let relations = Relations { query, sizes: self.sizes(query) };
        if let [Unit::Relation(relation)] = group.units.as_slice() {
            let relation = *relation;
            if let Some(found) = self.ordered_path(&relations, relation, &group)? {
                return Ok((found, true));
            }
        }
        let path = self.plan_group(&relations, group)?;
        // A single row is in every order.
        let is_point = matches!(&path, Path::Scan { scan, .. } if matches!(scan.access, Access::Point { .. }));
        Ok((path, is_point))
    }

    /// A path of a single table that makes sorting unnecessary, if one is cheaper than sorting.
    fn ordered_path(&mut self, relations: &Relations<'_>, relation: u32, group: &Group) -> Result<Option<Path>> {
        let query = relations.query;
        let simple = !query.order.is_empty()
            && !query.is_grouped
            && query.windows.is_empty()
            && !query.has_sets
            && query.distinct != Distinct::All
            && query.change.is_none();
        if !simple || !matches!(query.relations[relation as usize].kind, RelationKind::Table(_)) {
            return Ok(None);
        }
        let mut wanted = Vec::with_capacity(query.order.len());
        for item in &query.order {
            match &query.targets[item.target as usize].expr.kind {
                ExprKind::Variable(variable)
                    if variable.level == 0 && variable.relation == relation && variable.attribute >= 0 =>
                {
                    wanted.push((variable.attribute, item.descending, item.nulls_first));
                }
                _ => return Ok(None),
            }
        }
        let own: RelationSet = 1 << relation;
        let (conditions, rest): (Vec<_>, Vec<_>) =
            group.conditions.iter().partition(|condition| relations_of(condition) == own);
        let offered = conditions.iter().map(|condition| Offered { condition, relations: own }).collect::<Vec<_>>();
        let Some(ordered) = self.ordered_access(relations, relation, &offered, &wanted)? else { return Ok(None) };
        let cheapest = self.cheapest_access(relations, relation, &offered, 0)?;
        if matches!(cheapest.access, Access::Point { .. }) {
            return Ok(None);
        }
        let settings = self.context.settings;
        let sort = cheapest.rows * (cheapest.rows + 2.0).log2() * 2.0 * settings.costs.cpu_operator_cost;
        let sort = if settings.enable_sort { sort } else { sort + DISABLED_COST };
        // With a limit only part of the ordered scan runs.
        let share = match &query.limit {
            None => 1.0,
            Some(limit) => {
                let rows = limit.as_constant().and_then(Value::as_i64).map_or(ordered.rows * 0.1, |rows| rows as f64);
                ((rows + 1.0) / ordered.rows.max(1.0)).min(1.0)
            }
        };
        if ordered.cost * share >= cheapest.cost + sort {
            return Ok(None);
        }
        let conditions = conditions.into_iter().cloned().collect();
        let path = scan_path(ordered, conditions);
        let rest = rest.into_iter().cloned().collect::<Vec<_>>();
        Ok(Some(if rest.is_empty() { path } else { Path::Filter { input: Box::new(path), conditions: rest } }))
    }

    /// `SELECT min(a), max(b) FROM t`: each the first row of an index, read as a subquery of its own.
    fn least_and_greatest(&mut self, query: &Query, group: &Group) -> Result<Option<Query>> {
        let [Unit::Relation(relation)] = group.units.as_slice() else { return Ok(None) };
        let relation = *relation;
        let simple = query.is_grouped
            && query.groups.is_empty()
            && query.having.is_none()
            && query.windows.is_empty()
            && !query.has_sets
            && query.relations.len() == 1
            && query.order.is_empty()
            && query.distinct == Distinct::No;
        if !simple || !matches!(query.relations[relation as usize].kind, RelationKind::Table(_)) {
            return Ok(None);
        }
        let mut calls: Vec<AggregateCall> = Vec::new();
        for target in &query.targets {
            // Those in subqueries are read there as outer values of a grouping.
            if has_subquery(&target.expr) {
                return Ok(None);
            }
            collect_aggregates(&target.expr, &mut calls);
        }
        if calls.is_empty() {
            return Ok(None);
        }
        let relations = Relations { query, sizes: self.sizes(query) };
        let mut subqueries = Vec::with_capacity(calls.len());
        for call in &calls {
            let descending = match call.function.name {
                "min" => false,
                "max" => true,
                _ => return Ok(None),
            };
            let [argument] = call.arguments.as_slice() else { return Ok(None) };
            let ExprKind::Variable(variable) = &argument.kind else { return Ok(None) };
            let plain = !call.distinct && call.filter.is_none() && call.order.is_empty() && call.level == 0;
            if !plain || variable.level != 0 || variable.attribute < 0 {
                return Ok(None);
            }
            let present = Expr::new(ExprKind::IsNotNull(Box::new(argument.clone())), SqlType::BOOL);
            let mut conditions = group.conditions.clone();
            conditions.push(present);
            let own: RelationSet = 1 << relation;
            if conditions.iter().any(|condition| relations_of(condition) & !own != 0) {
                return Ok(None);
            }
            let offered = conditions.iter().map(|condition| Offered { condition, relations: relations_of(condition) });
            let offered = offered.collect::<Vec<_>>();
            let wanted = [(variable.attribute, descending, descending)];
            let Some(ordered) = self.ordered_access(&relations, relation, &offered, &wanted)? else { return Ok(None) };
            let cheapest = self.cheapest_access(&relations, relation, &offered, 0)?;
            if ordered.cost / ordered.rows.max(1.0) >= cheapest.cost {
                return Ok(None);
            }
            let number = u32::MAX - subqueries.len() as u32;
            subqueries.push(first_of(query, conditions, argument, descending, number));
        }
        let (limit, offset) = (query.limit.clone(), query.offset.clone());
        let mut rewritten = Query { targets: query.targets.clone(), limit, offset, ..Query::default() };
        for target in &mut rewritten.targets {
            replace_aggregates(&mut target.expr, &calls, &subqueries);
        }
        Ok(Some(rewritten))
    }
}

/// `SELECT argument FROM ... WHERE conditions ORDER BY argument LIMIT 1`, one query further in.
fn first_of(query: &Query, conditions: Vec<Expr>, argument: &Expr, descending: bool, id: u32) -> Expr {
    let column = plan::OutputColumn {
        name: syntax::tree::Name::new_static("?column?"),
        sql_type: argument.sql_type,
        table: base::Oid::INVALID,
        attribute: 0,
    };
    let mut inner = Query {
        relations: query.relations.clone(),
        from: vec![bound::FromItem::Relation(0)],
        filter: Expr::all(conditions),
        targets: vec![bound::TargetEntry { expr: argument.clone(), column, hidden: false }],
        order: vec![bound::OrderItem { target: 0, descending, nulls_first: descending }],
        limit: Some(Expr::constant(Value::Int8(1), SqlType::INT8)),
        ..Query::default()
    };
    raise_query(&mut inner, 1);
    let subquery = plan::Subquery {
        kind: SubqueryKind::Scalar,
        body: SubqueryBody::Bound(Box::new(inner)),
        id,
        arguments: Vec::new(),
        correlated: false,
        location: -1,
    };
    Expr::new(ExprKind::Subquery(Box::new(subquery)), argument.sql_type)
}

/// The aggregates of the query's own level, each once.
pub(super) fn collect_aggregates(expr: &Expr, calls: &mut Vec<AggregateCall>) {
    bound::for_each_inner(expr, 0, &mut |inner, depth| {
        if let ExprKind::Aggregate(call) = &inner.kind
            && call.level == depth
        {
            let own = super::lower::lowered_levels(inner.clone(), depth);
            let ExprKind::Aggregate(own_call) = &own.kind else { return };
            sync::let_others_run();
            if !calls.iter().any(|known| crate::binder::is_one_aggregate(known, own_call)) {
                calls.push((**own_call).clone());
            }
        }
    });
}

fn replace_aggregates(expr: &mut Expr, calls: &[AggregateCall], replacements: &[Expr]) {
    if let ExprKind::Aggregate(call) = &expr.kind {
        let found = calls.iter().position(|known| {
            known.function.oid == call.function.oid
                && known.arguments.len() == call.arguments.len()
                && known.arguments.iter().zip(&call.arguments).all(|(a, b)| crate::binder::same(a, b))
        });
        if let Some(index) = found {
            let sql_type = expr.sql_type;
            *expr = Expr { sql_type, ..replacements[index].clone() };
        }
        return;
    }
    expr.for_each_child_mut(&mut |child| replace_aggregates(child, calls, replacements));
}

/// The slots of a select list.
pub(super) fn target_layout(width: usize) -> Layout {
    Layout { slots: (0..width as i32).map(|place| (super::TARGET_RELATION, place)).collect() }
}
