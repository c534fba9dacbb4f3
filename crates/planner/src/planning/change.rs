//! INSERT, UPDATE and DELETE.

use base::lock_mode::LockMode;
use base::{Error, Result};
use plan::bound::{Change, ConflictTarget, OnConflict, Query, TargetEntry, for_each_inner};
use plan::{
    self, Assignment, ConflictUpdate, Delete, Event, Expr, ExprKind, Insert, Node, Plan, ScanColumn, Target, Update,
    ViewChange,
};
use schema::catalog::{RelationKind, TriggerTiming};
use types::{SqlType, Value};

use super::build::Builder;
use super::definition::fold_table_expressions;
use super::flatten::Group;
use super::lower::Layout;
use super::needed::Needed;
use super::selectivity::Relations;
use super::{Planner, fold, node};

impl Planner<'_, '_> {
    /// UPDATE or DELETE of the rows that a query finds.
    pub(super) fn change(&mut self, mut query: Query, group: Group) -> Result<Plan> {
        self.is_read_only = false;
        let change = query.change.as_deref_mut().ok_or_else(|| Error::internal("no change"))?;
        let is_update = matches!(change, Change::Update { .. });
        let (Change::Update { relation, target, .. } | Change::Delete { relation, target, .. }) = change else {
            return Err(Error::internal("it is planned elsewhere"));
        };
        fold_table_expressions(&mut target.expressions, self.context, &mut self.inlining)?;
        let relation = *relation;
        let event = if is_update { Event::Update } else { Event::Delete };
        // Such triggers may leave the row as it is.
        let asks_triggers =
            target.triggers.as_ref().is_some_and(|triggers| triggers.has(TriggerTiming::Before, true, event));
        let is_view = target.table.kind == RelationKind::View;
        self.lock_table(target.table.oid, LockMode::RowExclusive);
        let conditions = group.conditions.clone();
        let path = {
            let relations = Relations { query: &query, sizes: self.sizes(&query) };
            self.plan_group(&relations, group)?
        };
        let has_outer_join = path.has_outer_join();
        // RETURNING reads the target's columns from the version written, not from the scan.
        let returning = query.change.as_deref_mut().and_then(returning_of).and_then(Option::take);
        let mut needed = Needed::of(&query, &path);
        if !is_view {
            needed.add_column(relation, -1);
        }
        if has_outer_join {
            needed.add_places(&query);
        }
        for entry in returning.iter().flatten() {
            needed.add_all_but(&entry.expr, relation);
        }
        if let Some(place) = query.change.as_deref_mut().and_then(returning_of) {
            *place = returning;
        }
        conditions.iter().for_each(|condition| needed.add(condition));
        let mut relations = std::mem::take(&mut query.relations);
        let current_of = query.current_of.take().map(|cursor| (relation, cursor));
        let (needed, scans) = (&needed, Default::default());
        let mut builder = Builder { relations: &mut relations, needed, keeps_rows: true, scans, current_of };
        let (mut input, layout) = self.build(&mut builder, path)?;
        let scans = builder.scans;
        query.relations = relations;
        if is_view {
            return self.view_change(query, relation, input, &layout);
        }
        let scan = *scans.get(&relation).ok_or_else(|| Error::internal("the target is not scanned"))?;
        if let Node::IndexPoint(point) = &mut input.node {
            point.is_changed = point.scan == scan && point.filter.is_none() && !asks_triggers;
        }
        let ctid = layout.find(relation, -1).ok_or_else(|| Error::internal("the target has no ctid"))? as u32;
        let recheck = self.recheck(&query, &[relation], &layout, &scans, conditions, has_outer_join)?;
        let (rows, cost) = (input.rows, input.cost + input.rows * 0.01);
        let change = query.change.take().ok_or_else(|| Error::internal("no change"))?;
        match *change {
            Change::Update { mut target, assignments, returning, .. } => {
                let own = std::mem::take(self.frame());
                self.view_checks(&mut target)?;
                *self.frame() = own;
                let assignments = self.lower_assignments(assignments, &layout)?;
                let returning = self.returning(returning, &mut target, relation, &layout)?;
                let width = returning.as_ref().map_or(0, Vec::len);
                let update = Update { target, scan, ctid, input, assignments, recheck, returning };
                Ok(node(Node::Update(Box::new(update)), width, rows, cost))
            }
            Change::Delete { mut target, returning, .. } => {
                let returning = self.returning(returning, &mut target, relation, &layout)?;
                let width = returning.as_ref().map_or(0, Vec::len);
                let delete = Delete { target, scan, ctid, input, recheck, returning };
                Ok(node(Node::Delete(Box::new(delete)), width, rows, cost))
            }
            Change::Insert { .. } | Change::Merge { .. } => Err(Error::internal("it is planned elsewhere")),
        }
    }

    /// UPDATE or DELETE of a view's rows by its triggers.
    fn view_change(&mut self, mut query: Query, relation: u32, input: Plan, layout: &Layout) -> Result<Plan> {
        let change = query.change.take().ok_or_else(|| Error::internal("no change"))?;
        let (event, mut target, assignments, returning) = match *change {
            Change::Update { target, assignments, returning, .. } => (Event::Update, target, assignments, returning),
            Change::Delete { target, returning, .. } => (Event::Delete, target, Vec::new(), returning),
            Change::Insert { .. } | Change::Merge { .. } => return Err(Error::internal("it is planned elsewhere")),
        };
        let own = std::mem::take(self.frame());
        self.view_checks(&mut target)?;
        *self.frame() = own;
        let place = |place: i32| layout.find(relation, place).map(|slot| slot as u32);
        let old = (0..target.table.columns.len() as i32).map(place).collect::<Option<Vec<u32>>>();
        let old = old.ok_or_else(|| Error::internal("a view's rows are not whole"))?;
        let assignments = self.lower_assignments(assignments, layout)?;
        let returning = self.returning(returning, &mut target, relation, layout)?;
        let width = returning.as_ref().map_or(0, Vec::len);
        let (rows, cost) = (input.rows, input.cost);
        let change = ViewChange { target, event, input, old, assignments, returning };
        Ok(node(Node::ViewChange(Box::new(change)), width, rows, cost))
    }

    /// Has the conditions that views make for new rows see the table's full row.
    fn view_checks(&mut self, target: &mut Target) -> Result<()> {
        if target.view_checks.is_empty() {
            return Ok(());
        }
        let layout = Layout { slots: (0..target.table.columns.len() as i32).map(|place| (0, place)).collect() };
        for (_, condition) in &mut target.view_checks {
            fold(condition, self.context, &mut self.inlining)?;
            let bound = std::mem::replace(condition, Expr::new(ExprKind::Constant(Value::Null), SqlType::BOOL));
            *condition = self.lower(bound, &layout)?;
        }
        Ok(())
    }

    fn lower_assignments(&mut self, assignments: Vec<Assignment>, layout: &Layout) -> Result<Vec<Assignment>> {
        assignments
            .into_iter()
            .map(|assignment| Ok(Assignment { value: self.lower(assignment.value, layout)?, ..assignment }))
            .collect()
    }

    /// RETURNING: the target's columns are those of the version written, behind the input row.
    fn returning(
        &mut self,
        returning: Option<Vec<TargetEntry>>,
        target: &mut Target,
        relation: u32,
        layout: &Layout,
    ) -> Result<Option<Vec<Expr>>> {
        let Some(returning) = returning else { return Ok(None) };
        let mut slots = layout.slots.clone();
        for slot in &mut slots {
            // The old version's columns are hidden.
            if slot.0 == relation {
                *slot = (super::TARGET_RELATION, slot.1);
            }
        }
        slots.extend((0..target.table.columns.len() as i32).map(|place| (relation, place)));
        target.returns_version = returning.iter().any(|entry| reads_version(&entry.expr, relation));
        if target.returns_version {
            slots.extend(version_slots(relation));
        }
        let layout = Layout { slots };
        let exprs = returning.into_iter().map(|entry| entry.expr).collect();
        self.lower_all(exprs, &layout).map(Some)
    }

    /// INSERT of the rows of `input`, which are full rows of the table.
    pub(super) fn insert(&mut self, change: Change, input: Plan) -> Result<Plan> {
        self.is_read_only = false;
        let Change::Insert { mut target, on_conflict, returning } = change else {
            return Err(Error::internal("not an INSERT"));
        };
        self.lock_table(target.table.oid, LockMode::RowExclusive);
        fold_table_expressions(&mut target.expressions, self.context, &mut self.inlining)?;
        let columns = target.table.columns.len() as i32;
        let full_row = |relation: u32| (0..columns).map(move |place| (relation, place));
        // RETURNING, ON CONFLICT and the views' checks have a range table of their own.
        let own = std::mem::take(self.frame());
        self.view_checks(&mut target)?;
        let on_conflict = match on_conflict {
            None => None,
            Some(OnConflict { target: conflict_target, update }) => {
                let is_inferred = matches!(conflict_target, ConflictTarget::Keys { .. });
                let arbiters = self.arbiters(&target.table, target.expressions.as_deref(), conflict_target)?;
                let lacks_arbiter = is_inferred && arbiters.is_empty();
                let update = match update {
                    None => None,
                    Some((assignments, condition)) => {
                        let mut layout = Layout { slots: full_row(0).chain(full_row(1)).collect() };
                        let values = assignments.iter().map(|assignment| &assignment.value);
                        let reads_version = values.chain(&condition).any(|expr| reads_version(expr, 0));
                        if reads_version {
                            layout.slots.extend(version_slots(0));
                        }
                        let mut folded = assignments;
                        for assignment in &mut folded {
                            fold(&mut assignment.value, self.context, &mut self.inlining)?;
                        }
                        let assignments = self.lower_assignments(folded, &layout)?;
                        let condition = condition.map(|condition| self.lower(condition, &layout)).transpose()?;
                        Some(ConflictUpdate { assignments, condition, reads_version })
                    }
                };
                let indexes = self.context.catalog.indexes_of(target.table.oid);
                let is_arbiter = |position: &u32| arbiters.is_empty() || arbiters.contains(position);
                let deferrable = (0u32..).zip(indexes).filter(|(_, index)| index.unique && index.deferrable);
                let deferrable_arbiter = deferrable.map(|(position, _)| position).find(is_arbiter);
                Some(plan::OnConflict { arbiters, deferrable_arbiter, lacks_arbiter, update })
            }
        };
        let returning = match returning {
            None => None,
            Some(entries) => {
                let mut layout = Layout { slots: full_row(0).collect() };
                target.returns_version = entries.iter().any(|entry| reads_version(&entry.expr, 0));
                if target.returns_version {
                    layout.slots.extend(version_slots(0));
                }
                let mut exprs = entries.into_iter().map(|entry| entry.expr).collect::<Vec<_>>();
                for expr in &mut exprs {
                    fold(expr, self.context, &mut self.inlining)?;
                }
                Some(self.lower_all(exprs, &layout)?)
            }
        };
        *self.frame() = own;
        let width = returning.as_ref().map_or(0, Vec::len);
        let (rows, cost) = (input.rows, input.cost + input.rows * 0.01);
        if target.table.kind == RelationKind::View {
            let (event, old, assignments) = (Event::Insert, Vec::new(), Vec::new());
            let change = ViewChange { target, event, input, old, assignments, returning };
            return Ok(node(Node::ViewChange(Box::new(change)), width, rows, cost));
        }
        let insert = Insert { target, input, on_conflict, returning };
        Ok(node(Node::Insert(Box::new(insert)), width, rows, cost))
    }
}

fn returning_of(change: &mut Change) -> Option<&mut Option<Vec<TargetEntry>>> {
    match change {
        Change::Insert { returning, .. } | Change::Update { returning, .. } | Change::Delete { returning, .. } => {
            Some(returning)
        }
        Change::Merge { .. } => None,
    }
}

/// Whether an expression, or a subquery in it, reads a system column of an entry.
fn reads_version(expr: &Expr, relation: u32) -> bool {
    let mut reads = false;
    for_each_inner(expr, 0, &mut |inner, depth| {
        if let ExprKind::Variable(variable) = &inner.kind {
            reads |= variable.level == depth && variable.relation == relation && variable.attribute < 0;
        }
    });
    reads
}

/// The slots of an entry's system columns, as in [`ScanColumn::SYSTEM`].
fn version_slots(relation: u32) -> impl Iterator<Item = (u32, i32)> {
    (1..=ScanColumn::SYSTEM.len() as i32).map(move |number| (relation, -number))
}
