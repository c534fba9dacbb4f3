//! The plan nodes above FROM and WHERE: groups, windows, sets, distinct rows, order, locks, limit.

use base::lock_mode::LockMode;
use base::{Error, Result};
use plan::bound::{Distinct, Query, RelationKind, TargetEntry};
use plan::{
    Aggregate, AggregateCall, Expr, ExprKind, LockRows, Node, Plan, ROW_MARK, Recheck, RowLock, RowSlots, ScanColumn,
    ScanId, ScanSlots, SetCall, SetItem, SortKey, Variable, Window, WindowCall, WindowFrameBound,
};
use rustc_hash::FxHashMap;
use types::{SqlType, Value};

use super::computed::Computed;
use super::fold::{has_subquery, is_volatile};
use super::lower::{Layout, raised_levels, replace_grouped};
use super::query::{collect_aggregates, target_layout};
use super::selectivity::{Relations, group_count};
use super::{GROUP_RELATION, Grouping, Planner, SET_RELATION, TARGET_RELATION, WINDOW_RELATION, node};
use crate::binder;

impl Planner<'_, '_> {
    /// The plan of a query above the rows of its FROM and WHERE.
    pub(super) fn above_from(
        &mut self,
        mut query: Query,
        mut plan: Plan,
        mut layout: Layout,
        is_ordered: bool,
        locks: Option<(Vec<RowLock>, Recheck)>,
    ) -> Result<Plan> {
        if query.is_grouped {
            if query.groups.iter().any(|group| group.any(&|expr| matches!(expr.kind, ExprKind::Set(_)))) {
                (plan, layout) = self.sets_below_groups(&mut query, plan, layout)?;
            }
            (plan, layout) = self.group(&mut query, plan, layout)?;
        }
        if query.targets.iter().any(|target| target.expr.any(&|expr| matches!(expr.kind, ExprKind::Window(_)))) {
            (plan, layout) = self.windows(&mut query, plan, layout)?;
        }
        if query.has_sets && sorts_before_sets(&query) {
            return self.sets_after_sorting(query, plan, layout, is_ordered, locks);
        }
        if query.has_sets {
            let is_sorted_after = query.has_written_order && query.distinct != Distinct::All;
            (plan, layout) = self.sets(&mut query.targets, plan, layout, !is_sorted_after)?;
        }
        let visible = query.targets.iter().filter(|target| !target.hidden).count();
        let calls_volatile = query.targets.iter().any(|target| is_volatile(&target.expr));
        if calls_volatile && query.has_written_order && query.distinct != Distinct::All {
            let calls_itself = query.targets.iter().any(|target| binder::calls_volatile(&target.expr));
            let wants_few = query.limit.is_some() || self.context.settings.keeps_row_places;
            if !calls_itself && !wants_few && locks.is_none() {
                (plan, layout) = self.compute_subqueries(&mut query, plan, layout)?;
            }
            return self.finish_computing_once(query, plan, layout, is_ordered, locks);
        }
        let simple = query.distinct == Distinct::No && !query.has_sets && sorts_by_columns(&query);
        if simple || locks.is_some() {
            return self.finish_before_projection(query, plan, layout, is_ordered, locks, calls_volatile);
        }
        // Compute the select list first, then work on its slots.
        let exprs = query.targets.iter_mut().map(|target| std::mem::replace(&mut target.expr, Expr::boolean(true)));
        let exprs = exprs.collect::<Vec<_>>();
        let types = exprs.iter().map(|expr| expr.sql_type).collect::<Vec<_>>();
        plan = self.project(plan, exprs, &layout)?;
        let layout = target_layout(types.len());
        let column = |index: u32| {
            let variable = Variable { level: 0, relation: TARGET_RELATION, attribute: index as i32, location: -1 };
            Expr::new(ExprKind::Variable(variable), types[index as usize])
        };
        if query.distinct == Distinct::All {
            let (width, rows, cost) = (plan.width as usize, plan.rows, plan.cost);
            let cost = cost + rows * self.context.settings.costs.cpu_operator_cost * width as f64;
            plan = node(
                Node::Distinct { input: Box::new(plan), types: types.clone() },
                width,
                (rows * 0.5).max(1.0),
                cost,
            );
        }
        if !query.order.is_empty() && !is_ordered {
            let keys = query.order.iter().map(|item| SortKey {
                expr: column(item.target),
                descending: item.descending,
                nulls_first: item.nulls_first,
            });
            plan = self.sort(plan, keys.collect(), &layout)?;
        }
        if let Distinct::On(on) = &query.distinct {
            let keys = on.iter().map(|target| column(*target)).collect();
            let keys = self.lower_all(keys, &layout)?;
            let (width, rows, cost) = (plan.width as usize, plan.rows, plan.cost);
            plan = node(Node::DistinctOn { input: Box::new(plan), keys }, width, (rows * 0.5).max(1.0), cost);
        }
        let ties = query.order.iter().map(|item| column(item.target)).collect();
        plan = self.limit(plan, query.limit, query.offset, query.with_ties.then_some(ties), &layout)?;
        if visible == types.len() {
            return Ok(plan);
        }
        let shown = query.targets.iter().enumerate().filter(|(_, target)| !target.hidden);
        let shown = shown.map(|(index, _)| column(index as u32)).collect();
        self.project(plan, shown, &layout)
    }

    /// Order and DISTINCT ON on the rows as they come, then the calls that return sets: as often as rows are asked for.
    fn sets_after_sorting(
        &mut self,
        mut query: Query,
        mut plan: Plan,
        mut layout: Layout,
        is_ordered: bool,
        mut locks: Option<(Vec<RowLock>, Recheck)>,
    ) -> Result<Plan> {
        let expr_of = |query: &Query, target: u32| query.targets[target as usize].expr.clone();
        let calls_volatile = query.targets.iter().any(|target| is_volatile(&target.expr));
        if calls_volatile {
            (plan, layout) = self.compute_keys(&mut query, plan, layout, &mut locks)?;
        }
        if !is_ordered {
            let keys = query.order.iter().map(|item| SortKey {
                expr: expr_of(&query, item.target),
                descending: item.descending,
                nulls_first: item.nulls_first,
            });
            let keys = keys.collect();
            plan = self.sort(plan, keys, &layout)?;
        }
        plan = locked(plan, locks);
        if let Distinct::On(on) = &query.distinct {
            let keys = on.iter().map(|target| expr_of(&query, *target)).collect();
            let keys = self.lower_all(keys, &layout)?;
            let (width, rows, cost) = (plan.width as usize, plan.rows, plan.cost);
            plan = node(Node::DistinctOn { input: Box::new(plan), keys }, width, (rows * 0.5).max(1.0), cost);
        }
        (plan, layout) = self.sets(&mut query.targets, plan, layout, true)?;
        self.limit_and_project(query, plan, &layout, calls_volatile)
    }

    /// The keys of the order and of DISTINCT ON are computed first, and what is volatile besides after sorting: in the
    /// order of the rows, and for no row that the limit cuts off.
    fn finish_computing_once(
        &mut self,
        mut query: Query,
        plan: Plan,
        layout: Layout,
        is_ordered: bool,
        mut locks: Option<(Vec<RowLock>, Recheck)>,
    ) -> Result<Plan> {
        let (mut plan, layout) = self.compute_keys(&mut query, plan, layout, &mut locks)?;
        if !is_ordered {
            let keys = query.order.iter().map(|item| SortKey {
                expr: query.targets[item.target as usize].expr.clone(),
                descending: item.descending,
                nulls_first: item.nulls_first,
            });
            let keys = keys.collect();
            plan = self.sort(plan, keys, &layout)?;
        }
        plan = locked(plan, locks);
        if let Distinct::On(on) = &query.distinct {
            let keys = on.iter().map(|target| query.targets[*target as usize].expr.clone()).collect();
            let keys = self.lower_all(keys, &layout)?;
            let (width, rows, cost) = (plan.width as usize, plan.rows, plan.cost);
            plan = node(Node::DistinctOn { input: Box::new(plan), keys }, width, (rows * 0.5).max(1.0), cost);
        }
        self.limit_and_project(query, plan, &layout, true)
    }

    /// Computes the volatile subqueries of the select list before the sort, each as a column. As in PostgreSQL they are computed after the sort
    /// only with LIMIT, or if the list itself calls something volatile.
    fn compute_subqueries(&mut self, query: &mut Query, plan: Plan, layout: Layout) -> Result<(Plan, Layout)> {
        let on = if let Distinct::On(on) = &query.distinct { on.as_slice() } else { &[] };
        let keys = query.order.iter().map(|item| item.target).chain(on.iter().copied()).collect::<Vec<_>>();
        let mut computed = Computed::default();
        let mut places = Vec::new();
        for (place, target) in query.targets.iter().enumerate() {
            if is_volatile(&target.expr) && !keys.contains(&(place as u32)) {
                computed.add_again(&target.expr);
                places.push(place);
            }
        }
        let (plan, layout) = self.compute(plan, layout, &mut computed)?;
        for (place, (_, column)) in places.into_iter().zip(computed.pairs()) {
            query.targets[place].expr.kind = column.kind.clone();
        }
        Ok((plan, layout))
    }

    /// Makes columns of the keys of the order and of DISTINCT ON, but for those that are computed for the order alone.
    /// A row whose newer version is locked has them computed anew.
    fn compute_keys(
        &mut self,
        query: &mut Query,
        plan: Plan,
        layout: Layout,
        locks: &mut Option<(Vec<RowLock>, Recheck)>,
    ) -> Result<(Plan, Layout)> {
        let on = if let Distinct::On(on) = &query.distinct { on.as_slice() } else { &[] };
        let mut computed = Computed::default();
        for target in query.order.iter().map(|item| item.target).chain(on.iter().copied()) {
            let target = &query.targets[target as usize];
            if !target.hidden || is_volatile(&target.expr) || has_subquery(&target.expr) {
                computed.add(&target.expr);
            }
        }
        let given = plan.width as usize;
        let (plan, layout) = self.compute(plan, layout, &mut computed)?;
        query.targets.iter_mut().for_each(|target| computed.replace(&mut target.expr));
        if let (Some((_, Recheck::Columns { computed, .. })), Node::Project { exprs, .. }) = (locks, &plan.node)
            && exprs.len() > given
        {
            computed.extend((given as u32..).zip(exprs[given..].iter().cloned()));
        }
        Ok((plan, layout))
    }

    /// The limit, and the select list: last, so that nothing is computed for rows that the limit cuts off. A list that calls
    /// something volatile is computed for rows that are skipped, too.
    fn limit_and_project(
        &mut self,
        query: Query,
        mut plan: Plan,
        layout: &Layout,
        calls_volatile: bool,
    ) -> Result<Plan> {
        let Query { order, targets, limit, offset, with_ties, .. } = query;
        let ties = with_ties.then(|| order.iter().map(|item| targets[item.target as usize].expr.clone()).collect());
        if !calls_volatile || (offset.is_none() && !with_ties) {
            plan = self.limit(plan, limit, offset, ties, layout)?;
            let shown = targets.into_iter().filter(|target| !target.hidden).map(|target| target.expr).collect();
            return self.project(plan, shown, layout);
        }
        let mut shown =
            targets.into_iter().filter(|target| !target.hidden).map(|target| target.expr).collect::<Vec<_>>();
        let visible = shown.iter().map(|expr| expr.sql_type).collect::<Vec<_>>();
        let column = |place: usize, sql_type: SqlType| {
            let attribute = place as i32;
            Expr::new(
                ExprKind::Variable(Variable { level: 0, relation: TARGET_RELATION, attribute, location: -1 }),
                sql_type,
            )
        };
        let ties = ties.map(|ties: Vec<Expr>| {
            let places = visible.len()..;
            let columns = places.zip(&ties).map(|(place, tie)| column(place, tie.sql_type)).collect();
            shown.extend(ties);
            columns
        });
        let width = shown.len();
        plan = self.project(plan, shown, layout)?;
        let layout = target_layout(width);
        plan = self.limit(plan, limit, offset, ties, &layout)?;
        if visible.len() == width {
            return Ok(plan);
        }
        let shown = visible.into_iter().enumerate().map(|(place, sql_type)| column(place, sql_type)).collect();
        self.project(plan, shown, &layout)
    }

    /// Order, locks and limit on the rows as they come, the select list last: nothing is computed for rows that the
    /// limit cuts off.
    fn finish_before_projection(
        &mut self,
        query: Query,
        mut plan: Plan,
        layout: Layout,
        is_ordered: bool,
        locks: Option<(Vec<RowLock>, Recheck)>,
        calls_volatile: bool,
    ) -> Result<Plan> {
        let keys = query.order.iter().map(|item| SortKey {
            expr: query.targets[item.target as usize].expr.clone(),
            descending: item.descending,
            nulls_first: item.nulls_first,
        });
        let keys = keys.collect::<Vec<_>>();
        if !keys.is_empty() && !is_ordered {
            plan = self.sort(plan, keys, &layout)?;
        }
        plan = locked(plan, locks);
        self.limit_and_project(query, plan, &layout, calls_volatile)
    }

    /// Expressions over each row; nothing if they are the row itself.
    pub(super) fn project(&mut self, plan: Plan, exprs: Vec<Expr>, layout: &Layout) -> Result<Plan> {
        let exprs = self.lower_all(exprs, layout)?;
        let same = exprs.len() == plan.width as usize
            && exprs
                .iter()
                .enumerate()
                .all(|(slot, expr)| matches!(expr.kind, ExprKind::Column(found) if found as usize == slot));
        if same {
            return Ok(plan);
        }
        let (width, rows) = (exprs.len(), plan.rows);
        let cost = plan.cost + rows * self.context.settings.costs.cpu_operator_cost;
        // A row that comes from nothing is the expressions themselves.
        if let Node::Result { exprs: none, condition } = &plan.node
            && none.is_empty()
        {
            let condition = condition.clone();
            return Ok(node(Node::Result { exprs, condition }, width, rows, cost));
        }
        Ok(node(Node::Project { input: Box::new(plan), exprs }, width, rows, cost))
    }

    pub(super) fn sort(&mut self, plan: Plan, keys: Vec<SortKey>, layout: &Layout) -> Result<Plan> {
        let keys = keys
            .into_iter()
            .map(|key| Ok(SortKey { expr: self.lower(key.expr, layout)?, ..key }))
            .collect::<Result<Vec<_>>>()?;
        let (width, rows) = (plan.width as usize, plan.rows);
        let cost = plan.cost + rows * (rows + 2.0).log2() * 2.0 * self.context.settings.costs.cpu_operator_cost;
        Ok(node(Node::Sort { input: Box::new(plan), keys }, width, rows, cost))
    }

    pub(super) fn limit(
        &mut self,
        plan: Plan,
        limit: Option<Expr>,
        offset: Option<Expr>,
        ties: Option<Vec<Expr>>,
        layout: &Layout,
    ) -> Result<Plan> {
        // LIMIT ALL is LIMIT NULL.
        let limit = limit.filter(|limit| !matches!(limit.as_constant(), Some(Value::Null)));
        let offset = offset.filter(|offset| !matches!(offset.as_constant(), Some(Value::Null | Value::Int8(0))));
        if limit.is_none() && offset.is_none() {
            return Ok(plan);
        }
        let count = limit.as_ref().and_then(Expr::as_constant).and_then(Value::as_i64).map(|count| count as f64);
        let rows = count.unwrap_or(plan.rows).min(plan.rows).max(1.0);
        let empty = Layout::default();
        let limit = limit.map(|limit| self.lower(limit, &empty)).transpose()?;
        let offset = offset.map(|offset| self.lower(offset, &empty)).transpose()?;
        let ties = ties.map(|ties| self.lower_all(ties, layout)).transpose()?;
        let (width, cost) = (plan.width as usize, plan.cost);
        Ok(node(Node::Limit { input: Box::new(plan), limit, offset, ties }, width, rows, cost))
    }

    /// Grouping: the new rows are the groups' expressions and the aggregates.
    fn group(&mut self, query: &mut Query, mut plan: Plan, mut layout: Layout) -> Result<(Plan, Layout)> {
        if query.groups.iter().any(is_volatile) {
            (plan, layout) = self.compute_groups(query, plan, layout)?;
        }
        let mut groups = std::mem::take(&mut query.groups);
        let mut calls: Vec<AggregateCall> = Vec::new();
        for target in &query.targets {
            collect_aggregates(&target.expr, &mut calls);
        }
        query.having.iter().for_each(|having| collect_aggregates(having, &mut calls));
        for window in &query.windows {
            window.partition.iter().for_each(|expr| collect_aggregates(expr, &mut calls));
            window.order.iter().for_each(|key| collect_aggregates(&key.expr, &mut calls));
        }
        if groups.iter().any(|group| !matches!(group.kind, ExprKind::Variable(_))) {
            let targets = query.targets.iter_mut().map(|target| &mut target.expr);
            let windows = query
                .windows
                .iter_mut()
                .flat_map(|window| window.partition.iter_mut().chain(window.order.iter_mut().map(|key| &mut key.expr)));
            for expr in targets.chain(query.having.iter_mut()).chain(windows) {
                group_in_subqueries(expr, 0, &groups);
            }
        }
        // Columns that the grouped primary key determines come along.
        let mut determined = Vec::new();
        if !groups.is_empty() {
            for target in &query.targets {
                collect_ungrouped(&target.expr, &groups, &mut determined);
            }
            query.having.iter().for_each(|having| collect_ungrouped(having, &groups, &mut determined));
        }
        let key_count = groups.len();
        groups.extend(determined);
        let count = group_count(&groups[..key_count], plan.rows, &Relations { query, sizes: self.sizes(query) });
        let lowered_groups = self.lower_all(groups.clone(), &layout)?;
        let mut lowered_calls = Vec::with_capacity(calls.len());
        for call in &calls {
            lowered_calls.push(self.lower_call(call.clone(), &layout)?);
        }
        let width = groups.len() + calls.len();
        let slots = (0..width as i32).map(|place| (GROUP_RELATION, place)).collect();
        let calls = calls.into_iter().map(|call| {
            let sql_type = call.types.result;
            Expr::new(ExprKind::Aggregate(Box::new(call)), sql_type)
        });
        let calls = calls.collect::<Vec<_>>();
        for target in &mut query.targets {
            sync::yield_point()?;
            replace_grouped(&mut target.expr, &groups, &calls);
        }
        for window in &mut query.windows {
            window.partition.iter_mut().for_each(|expr| replace_grouped(expr, &groups, &calls));
            window.order.iter_mut().for_each(|key| replace_grouped(&mut key.expr, &groups, &calls));
        }
        let having = query.having.take().map(|mut having| {
            replace_grouped(&mut having, &groups, &calls);
            having
        });
        self.frame().grouping = Some(Grouping { groups, calls });
        let cost = plan.cost + plan.rows * self.context.settings.costs.cpu_operator_cost * width as f64;
        let aggregate =
            Aggregate { input: plan, groups: lowered_groups, key_count, sorted: false, calls: lowered_calls };
        let plan = node(Node::Aggregate(Box::new(aggregate)), width, count, cost);
        let layout = Layout { slots };
        let plan = self.filter(plan, having.into_iter().collect(), &layout)?;
        Ok((plan, layout))
    }

    /// Computes volatile grouping expressions as columns, so that rows that have to wait for their group keep the values.
    fn compute_groups(&mut self, query: &mut Query, plan: Plan, layout: Layout) -> Result<(Plan, Layout)> {
        let mut computed = Computed::default();
        query.groups.iter().filter(|group| is_volatile(group)).for_each(|group| computed.add_again(group));
        let computed_rows = self.compute(plan, layout, &mut computed)?;
        replace_items(query, computed.pairs());
        let mut columns = computed.pairs().iter().map(|(_, column)| column.clone());
        for group in query.groups.iter_mut().filter(|group| is_volatile(group)) {
            *group = columns.next().expect("each of them has been computed");
        }
        query.targets.iter_mut().for_each(|target| computed.replace(&mut target.expr));
        query.having.iter_mut().for_each(|having| computed.replace(having));
        for window in &mut query.windows {
            window.partition.iter_mut().for_each(|expr| computed.replace(expr));
            window.order.iter_mut().for_each(|key| computed.replace(&mut key.expr));
        }
        Ok(computed_rows)
    }

    fn lower_call(&mut self, mut call: AggregateCall, layout: &Layout) -> Result<AggregateCall> {
        if call.order.iter().any(|key| is_volatile(&key.expr)) {
            let place = |key: &SortKey| call.arguments.iter().position(|argument| binder::same(argument, &key.expr));
            call.key_arguments = call.order.iter().map(place).collect();
        }
        call.arguments = self.lower_all(call.arguments, layout)?;
        for key in &mut call.order {
            let expr = std::mem::replace(&mut key.expr, Expr::boolean(true));
            key.expr = self.lower(expr, layout)?;
        }
        call.filter = call.filter.map(|filter| self.lower(filter, layout)).transpose()?;
        call.level = 0;
        Ok(call)
    }

    /// Windows, one after the other: each adds its functions' values to the rows.
    fn windows(&mut self, query: &mut Query, mut plan: Plan, mut layout: Layout) -> Result<(Plan, Layout)> {
        let mut computed = Computed::default();
        for window in &query.windows {
            window.partition.iter().for_each(|expr| computed.add_volatile(expr));
            window.order.iter().for_each(|key| computed.add_volatile(&key.expr));
        }
        (plan, layout) = self.compute(plan, layout, &mut computed)?;
        query.targets.iter_mut().for_each(|target| computed.replace(&mut target.expr));
        for window in &mut query.windows {
            window.partition.iter_mut().for_each(|expr| computed.replace(expr));
            window.order.iter_mut().for_each(|key| computed.replace(&mut key.expr));
        }
        let mut calls: Vec<WindowCall> = Vec::new();
        for target in &mut query.targets {
            extract_windows(&mut target.expr, &mut calls);
        }
        if let Some(grouping) = &self.frame().grouping {
            for call in &mut calls {
                call.arguments
                    .iter_mut()
                    .for_each(|argument| replace_grouped(argument, &grouping.groups, &grouping.calls));
                call.filter.iter_mut().for_each(|filter| replace_grouped(filter, &grouping.groups, &grouping.calls));
            }
        }
        let windows = std::mem::take(&mut query.windows);
        for (number, window) in windows.into_iter().enumerate() {
            sync::yield_point()?;
            let own = calls.iter().enumerate().filter(|(_, call)| call.window as usize == number);
            let own = own.map(|(index, call)| (index, call.clone())).collect::<Vec<_>>();
            if own.is_empty() {
                continue;
            }
            let partition_keys = window.partition.iter().map(|expr| SortKey {
                expr: expr.clone(),
                descending: false,
                nulls_first: false,
            });
            let keys = partition_keys.chain(window.order.iter().cloned()).collect::<Vec<_>>();
            if !keys.is_empty() {
                plan = self.sort(plan, keys, &layout)?;
            }
            let partition = self.lower_all(window.partition, &layout)?;
            let mut order = Vec::with_capacity(window.order.len());
            for key in window.order {
                order.push(SortKey { expr: self.lower(key.expr, &layout)?, ..key });
            }
            let mut lowered = Vec::with_capacity(own.len());
            let mut slots = layout.slots.clone();
            for (index, mut call) in own {
                call.arguments = self.lower_all(call.arguments, &layout)?;
                call.filter = call.filter.map(|filter| self.lower(filter, &layout)).transpose()?;
                for bound in [&mut call.frame.start, &mut call.frame.end] {
                    if let WindowFrameBound::Preceding(offset) | WindowFrameBound::Following(offset) = bound {
                        let expr = std::mem::replace(offset.as_mut(), Expr::boolean(true));
                        **offset = self.lower(expr, &Layout::default())?;
                    }
                }
                lowered.push(call);
                slots.push((WINDOW_RELATION, index as i32));
            }
            let (width, rows) = (slots.len(), plan.rows);
            let cost = plan.cost + rows * self.context.settings.costs.cpu_operator_cost * lowered.len() as f64;
            let offsets_of = firsts_with_offsets(&lowered);
            let built = Window { input: plan, partition, order, calls: lowered, offsets_of };
            plan = node(Node::Window(Box::new(built)), width, rows, cost);
            super::check_plan_depth(&plan)?;
            layout = Layout { slots };
        }
        Ok((plan, layout))
    }

    /// Set-returning calls of a select list: each layer of nesting is a node. With `with_values`, the last one computes what is
    /// volatile beside them.
    fn sets(
        &mut self,
        targets: &mut [TargetEntry],
        mut plan: Plan,
        mut layout: Layout,
        with_values: bool,
    ) -> Result<(Plan, Layout)> {
        let mut count = layout.slots.iter().filter(|(relation, _)| *relation == SET_RELATION).count() as i32;
        let last_level = last_level_of_items(targets.iter().map(|target| &target.expr));
        for level in 1.. {
            let mut items = Vec::new();
            let is_last = last_level == Some(level);
            for target in targets.iter_mut() {
                extract_sets(&mut target.expr, &mut items, count, is_last);
                if is_last && with_values && is_volatile(&target.expr) {
                    let column = set_column(count + items.len() as i32, target.expr.sql_type);
                    items.push(SetItem::Value(std::mem::replace(&mut target.expr, column)));
                }
            }
            if items.is_empty() {
                return Ok((plan, layout));
            }
            let found = items.len() as i32;
            (plan, layout) = self.project_set(plan, layout, items, count)?;
            count += found;
        }
        Err(Error::internal("sets without an end"))
    }

    fn project_set(&mut self, plan: Plan, layout: Layout, items: Vec<SetItem>, first: i32) -> Result<(Plan, Layout)> {
        let mut lowered = Vec::with_capacity(items.len());
        let mut slots = layout.slots.clone();
        for (offset, item) in items.into_iter().enumerate() {
            lowered.push(match item {
                SetItem::Call(mut call) => {
                    call.arguments = self.lower_all(call.arguments, &layout)?;
                    SetItem::Call(call)
                }
                SetItem::Value(value) => SetItem::Value(self.lower(value, &layout)?),
            });
            slots.push((SET_RELATION, first + offset as i32));
        }
        let (width, rows) = (slots.len(), plan.rows * 1000.0);
        let cost = plan.cost + rows * self.context.settings.costs.cpu_tuple_cost;
        let built = Node::ProjectSet { input: Box::new(plan), items: lowered };
        Ok((node(built, width, rows, cost), Layout { slots }))
    }

    /// Sets that are grouped by are made before the groups.
    fn sets_below_groups(&mut self, query: &mut Query, plan: Plan, layout: Layout) -> Result<(Plan, Layout)> {
        let mut items = Vec::new();
        let mut replacements: Vec<(Expr, Expr)> = Vec::new();
        let last_level = last_level_of_items(query.groups.iter());
        for group in &mut query.groups {
            let before = group.clone();
            extract_sets(group, &mut items, 0, last_level == Some(1));
            replacements.push((before, group.clone()));
        }
        replace_items(query, &replacements);
        query.has_sets =
            query.targets.iter().any(|target| target.expr.any(&|expr| matches!(expr.kind, ExprKind::Set(_))));
        self.project_set(plan, layout, items, 0)
    }

    /// The locks of a query's rows, and how to try again when one has changed.
    pub(super) fn row_locks(
        &mut self,
        query: &Query,
        layout: &Layout,
        scans: &FxHashMap<u32, ScanId>,
        conditions: Vec<Expr>,
        has_outer_join: bool,
    ) -> Result<Option<(Vec<RowLock>, Recheck)>> {
        if query.locks.is_empty() {
            return Ok(None);
        }
        let mut locks = Vec::with_capacity(query.locks.len());
        for lock in &query.locks {
            let RelationKind::Table(table) = &query.relations[lock.relation as usize].kind else {
                return Err(Error::internal("a lock on the rows of no table"));
            };
            let Some(scan) = scans.get(&lock.relation) else { return Err(Error::internal("a lock without a scan")) };
            let ctid = layout.find(lock.relation, -1).ok_or_else(|| Error::internal("a lock without a ctid"))?;
            self.lock_table(table.oid, LockMode::RowShare);
            locks.push(RowLock {
                table: table.clone(),
                scan: *scan,
                ctid: ctid as u32,
                mode: lock.mode,
                wait: lock.wait,
            });
        }
        let relations = query.locks.iter().map(|lock| lock.relation).collect::<Vec<_>>();
        let recheck = self.recheck(query, &relations, layout, scans, conditions, has_outer_join)?;
        Ok(Some((locks, recheck)))
    }

    /// How to try `conditions` again when a row of one of these entries has been replaced.
    pub(super) fn recheck(
        &mut self,
        query: &Query,
        replaced: &[u32],
        layout: &Layout,
        scans: &FxHashMap<u32, ScanId>,
        conditions: Vec<Expr>,
        has_outer_join: bool,
    ) -> Result<Recheck> {
        let mut slots = Vec::with_capacity(replaced.len());
        let mut rows = Vec::new();
        for (relation, entry) in query.relations.iter().enumerate() {
            let relation = relation as u32;
            let Some(scan) = scans.get(&relation) else { continue };
            let RelationKind::Table(table) = &entry.kind else {
                let own = layout.slots.iter().zip(0..).filter(|(slot, _)| slot.0 == relation);
                let own = own.map(|(_, place)| place).collect();
                if let Some(mark) = layout.find(relation, ROW_MARK) {
                    rows.push(RowSlots { scan: *scan, mark: mark as u32, slots: own });
                }
                continue;
            };
            let Some(ctid) = layout.find(relation, -1) else { continue };
            if !has_outer_join && !replaced.contains(&relation) {
                continue;
            }
            let own = layout.slots.iter().enumerate().filter(|(_, slot)| slot.0 == relation);
            let columns =
                own.map(|(slot, (_, attribute))| (slot as u32, ScanColumn::of_attribute(*attribute))).collect();
            slots.push(ScanSlots { scan: *scan, table: table.clone(), ctid: ctid as u32, columns });
        }
        if has_outer_join {
            return Ok(Recheck::Rerun { scans: slots, rows });
        }
        let condition = self.lower_conditions(conditions, layout)?;
        Ok(Recheck::Columns { scans: slots, condition, computed: Vec::new() })
    }
}

/// Rows with their locks, if any are wanted.
fn locked(plan: Plan, locks: Option<(Vec<RowLock>, Recheck)>) -> Plan {
    let Some((locks, recheck)) = locks else { return plan };
    let (width, rows, cost) = (plan.width as usize, plan.rows, plan.cost);
    let lock = LockRows { input: plan, locks, recheck };
    node(Node::LockRows(Box::new(lock)), width, rows, cost + rows * 0.01)
}

/// Whether rows are sorted before the calls that return sets are made: if nothing that is sorted or made distinct by needs them.
fn sorts_before_sets(query: &Query) -> bool {
    let is_key = |target: u32| {
        query.order.iter().any(|item| item.target == target)
            || matches!(&query.distinct, Distinct::On(on) if on.contains(&target))
    };
    let has_set = |target: &TargetEntry| target.expr.any(&|expr| matches!(expr.kind, ExprKind::Set(_)));
    query.has_written_order
        && query.distinct != Distinct::All
        && query.targets.iter().zip(0..).all(|(target, place)| !has_set(target) || !is_key(place))
}

/// Whether the order of a query can be had before its select list is computed: it is by columns as they come.
fn sorts_by_columns(query: &Query) -> bool {
    query.order.iter().all(|item| {
        let target = &query.targets[item.target as usize];
        match &target.expr.kind {
            ExprKind::Variable(_) => true,
            // A hidden expression is computed for the order alone.
            _ => target.hidden && !is_volatile(&target.expr) && !has_subquery(&target.expr),
        }
    })
}

/// Within subqueries, replaces what the query around them groups by: its columns alone would not be known of a group.
fn group_in_subqueries(expr: &mut Expr, depth: u32, groups: &[Expr]) {
    // The arguments of the query's own aggregates are of its rows, subqueries in them as well.
    if matches!(&expr.kind, ExprKind::Aggregate(call) if call.level == depth) {
        return;
    }
    if depth > 0 {
        let is_it = |group: &Expr| {
            // Constants are what they are anywhere.
            if !group.any(&|inner| matches!(inner.kind, ExprKind::Variable(_))) {
                return false;
            }
            let mut group = group.clone();
            raised_levels(&mut group, depth);
            binder::same(&group, expr)
        };
        if let Some(place) = groups.iter().position(is_it) {
            let attribute = place as i32;
            let variable = Variable { level: depth, relation: GROUP_RELATION, attribute, location: -1 };
            expr.kind = ExprKind::Variable(variable);
            return;
        }
    }
    expr.for_each_child_mut(&mut |child| group_in_subqueries(child, depth, groups));
    if let ExprKind::Subquery(subquery) = &mut expr.kind
        && let plan::SubqueryBody::Bound(query) = &mut subquery.body
    {
        query.for_each_expr_mut(depth + 1, &mut |inner, depth| group_in_subqueries(inner, depth, groups));
    }
}

/// Columns of the query that are neither grouped by nor within an aggregate.
fn collect_ungrouped(expr: &Expr, groups: &[Expr], found: &mut Vec<Expr>) {
    fn collect(expr: &Expr, depth: u32, groups: &[Expr], found: &mut Vec<Expr>) {
        if depth == 0 && groups.iter().any(|group| binder::same(group, expr)) {
            return;
        }
        match &expr.kind {
            ExprKind::Aggregate(call) if call.level == depth => return,
            ExprKind::Variable(variable) if variable.level == depth && variable.relation != GROUP_RELATION => {
                let own = Expr::new(ExprKind::Variable(Variable { level: 0, ..*variable }), expr.sql_type);
                let known = groups.iter().chain(found.iter()).any(|known| binder::same(known, &own));
                if !known {
                    found.push(own);
                }
                return;
            }
            _ => {}
        }
        expr.for_each_child(&mut |child| collect(child, depth, groups, found));
        if let ExprKind::Subquery(subquery) = &expr.kind
            && let plan::SubqueryBody::Bound(query) = &subquery.body
        {
            query.for_each_expr(depth + 1, &mut |inner, depth| collect(inner, depth, groups, found));
        }
    }
    collect(expr, 0, groups, found);
}

fn extract_windows(expr: &mut Expr, calls: &mut Vec<WindowCall>) {
    if let ExprKind::Window(_) = &expr.kind {
        let variable = Variable { level: 0, relation: WINDOW_RELATION, attribute: calls.len() as i32, location: -1 };
        if let ExprKind::Window(call) = std::mem::replace(&mut expr.kind, ExprKind::Variable(variable)) {
            calls.push(*call);
        }
        return;
    }
    expr.for_each_child_mut(&mut |child| extract_windows(child, calls));
}

/// Puts the second of each pair in the place of items of the select list that are the first. Of several firsts that are the same,
/// each item has one of its own.
fn replace_items(query: &mut Query, replacements: &[(Expr, Expr)]) {
    let mut is_used = vec![false; replacements.len()];
    for target in &mut query.targets {
        let fits = |place: &usize| binder::same(&target.expr, &replacements[*place].0);
        let unused = (0..replacements.len()).filter(|place| !is_used[*place]).find(fits);
        if let Some(place) = unused.or_else(|| (0..replacements.len()).find(fits)) {
            is_used[place] = true;
            target.expr = replacements[place].1.clone();
        }
    }
}

/// The level of nesting on which a list's items are calls that return sets themselves, if nothing is left to be computed after
/// the last level.
fn last_level_of_items<'e>(items: impl Iterator<Item = &'e Expr>) -> Option<u32> {
    fn level(expr: &Expr) -> u32 {
        let mut deepest = 0;
        expr.for_each_child(&mut |child| deepest = deepest.max(level(child)));
        deepest + u32::from(matches!(expr.kind, ExprKind::Set(_)))
    }
    let (mut last, mut is_item) = (0, true);
    for item in items {
        let (found, is_set) = (level(item), matches!(item.kind, ExprKind::Set(_)));
        if found >= last && found > 0 {
            is_item = is_set && (is_item || found > last);
            last = found;
        }
    }
    is_item.then_some(last)
}

/// Takes out the innermost set-returning calls. With `items_apart`, a volatile one that is the whole of `expr` is made by itself;
/// others that are written alike are made once, as in PostgreSQL.
fn extract_sets(expr: &mut Expr, items: &mut Vec<SetItem>, first: i32, items_apart: bool) {
    let nested = |call: &SetCall| {
        call.arguments.iter().any(|argument| argument.any(&|expr| matches!(expr.kind, ExprKind::Set(_))))
    };
    match &expr.kind {
        ExprKind::Set(call) if !nested(call) => {
            let is_apart = items_apart && binder::is_volatile_set(call);
            let is_same = |other: &SetItem| matches!(other, SetItem::Call(other) if !is_apart && binder::same_set_call(other, call));
            let place = items.iter().position(is_same).unwrap_or(items.len());
            let column = set_column(first + place as i32, expr.sql_type);
            if let ExprKind::Set(call) = std::mem::replace(&mut expr.kind, column.kind)
                && place == items.len()
            {
                items.push(SetItem::Call(*call));
            }
        }
        _ => expr.for_each_child_mut(&mut |child| extract_sets(child, items, first, false)),
    }
}

/// The column that holds an item of a `ProjectSet`.
fn set_column(attribute: i32, sql_type: SqlType) -> Expr {
    let variable = Variable { level: 0, relation: SET_RELATION, attribute, location: -1 };
    Expr::new(ExprKind::Variable(variable), sql_type)
}

/// For each call, the place of the first call whose frame has the same offsets: its own, if none before it has. Two subqueries are never the same
/// here, so an offset that is one is computed for each call.
fn firsts_with_offsets(calls: &[WindowCall]) -> Vec<u32> {
    let has_same = |call: &WindowCall, other: &WindowCall| {
        other.frame.mode == call.frame.mode
            && same_offset(&other.frame.start, &call.frame.start)
            && same_offset(&other.frame.end, &call.frame.end)
    };
    let places = calls
        .iter()
        .enumerate()
        .map(|(place, call)| calls[..place].iter().position(|other| has_same(call, other)).unwrap_or(place) as u32);
    places.collect()
}

fn same_offset(left: &WindowFrameBound, right: &WindowFrameBound) -> bool {
    match (left.offset(), right.offset()) {
        (Some(left), Some(right)) => binder::same(left, right),
        (left, right) => left.is_none() && right.is_none(),
    }
}
