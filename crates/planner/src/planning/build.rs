//! From paths to plan nodes, from below: here it becomes known which slot holds what.

use base::lock_mode::LockMode;
use base::{Error, Result};
use plan::bound::{Distinct, Query, Relation, RelationKind, SetOperation};
use plan::{
    CurrentOf, CursorName, Expr, ExprKind, FunctionScan, HashJoin, IndexPoint, IndexRange, IndexScan, JoinKind,
    MergeJoin, NestedLoop, Node, Plan, ROW_MARK, ScanColumn, ScanId, SeqScan, SetCall, SortKey, VirtualScan,
};
use rustc_hash::FxHashMap;
use types::{SqlType, Value};

use super::access::{Access, ScanPath};
use super::flatten::{relations_of, substitute};
use super::fold::{has_subquery, is_volatile};
use super::join::{JoinPath, Method, Path};
use super::leakproof::is_leakproof;
use super::lower::Layout;
use super::needed::Needed;
use super::unread::drop_unread_columns;
use super::{Planner, node};
use crate::binder::{self, calls_volatile};

/// The inputs and the results of building a query's FROM.
pub(super) struct Builder<'q> {
    /// The entries; subqueries are taken out as they are planned.
    pub(super) relations: &'q mut Vec<Relation>,
    /// The columns read.
    pub(super) needed: &'q Needed,
    /// The rows of other entries are kept as a whole, for a second look at a row that has changed.
    pub(super) keeps_rows: bool,
    /// The number of each entry's scan, as far as it has one.
    pub(super) scans: FxHashMap<u32, ScanId>,
    /// The entry of which only the row that a cursor stands on is read.
    pub(super) current_of: Option<(u32, CursorName)>,
}

impl Planner<'_, '_> {
    /// The plan of a path, and what its slots hold.
    pub(super) fn build(&mut self, builder: &mut Builder<'_>, path: Path) -> Result<(Plan, Layout)> {
        match path {
            Path::Nothing => {
                let result = Node::Result { exprs: Vec::new(), condition: None };
                Ok((node(result, 0, 1.0, 0.01), Layout::default()))
            }
            Path::Scan { scan, conditions } => self.build_scan(builder, scan, conditions),
            Path::Join(join) => self.build_join(builder, *join),
            Path::Filter { input, conditions } => {
                let is_above_rows = !matches!(*input, Path::Nothing);
                let (plan, layout) = self.build(builder, *input)?;
                let is_gate = |condition: &Expr| {
                    let is_fixed = relations_of(condition) == 0 && !calls_volatile(condition);
                    is_above_rows && is_fixed && condition.as_constant().is_none()
                };
                let (gates, conditions): (Vec<_>, Vec<_>) = conditions.into_iter().partition(is_gate);
                let plan = self.filter(plan, conditions, &layout)?;
                Ok((self.one_time_filter(plan, gates)?, layout))
            }
        }
    }

    /// A filter above `plan`, unless there are no conditions.
    pub(super) fn filter(&mut self, plan: Plan, conditions: Vec<Expr>, layout: &Layout) -> Result<Plan> {
        let Some(condition) = self.lower_conditions(conditions, layout)? else { return Ok(plan) };
        let (width, rows, cost) = (plan.width as usize, plan.rows, plan.cost);
        // A condition that is never true needs no rows to be looked at.
        if let Some(Value::Bool(false) | Value::Null) = condition.as_constant() {
            let exprs = vec![Expr::null(SqlType::UNKNOWN); width];
            return Ok(node(Node::Result { exprs, condition: Some(Expr::boolean(false)) }, width, 1.0, 0.01));
        }
        // A row that comes from nothing, and has no columns that the condition could read, takes the condition itself.
        if let Node::Result { exprs, condition: None } = &plan.node
            && exprs.is_empty()
        {
            return Ok(node(Node::Result { exprs: Vec::new(), condition: Some(condition) }, width, rows, cost));
        }
        let cost = cost + rows * self.context.settings.costs.cpu_operator_cost;
        Ok(node(Node::Filter { input: Box::new(plan), condition }, width, rows, cost))
    }

    /// A condition that reads no row is looked at once, before any row is.
    fn one_time_filter(&mut self, plan: Plan, conditions: Vec<Expr>) -> Result<Plan> {
        let Some(condition) = self.lower_conditions(conditions, &Layout::default())? else { return Ok(plan) };
        let (width, rows, cost) = (plan.width as usize, plan.rows, plan.cost);
        Ok(node(Node::OneTimeFilter { input: Box::new(plan), condition }, width, rows, cost))
    }

    /// The plan of an entry. Where an outer join may make up its rows and the query reads the row as a whole, its own rows get a mark.
    fn build_scan(
        &mut self,
        builder: &mut Builder<'_>,
        scan: ScanPath,
        mut conditions: Vec<Expr>,
    ) -> Result<(Plan, Layout)> {
        let number = scan.relation;
        if builder.needed.columns(number).first() != Some(&ROW_MARK) {
            return self.build_unmarked_scan(builder, scan, conditions);
        }
        // No row is made up below the join.
        conditions.iter_mut().for_each(|condition| substitute(condition, 0, number, &[]));
        let (plan, mut layout) = self.build_unmarked_scan(builder, scan, conditions)?;
        let (width, rows, cost) = (layout.slots.len(), plan.rows, plan.cost);
        let slot_type = |place: &(u32, i32)| {
            let columns = &builder.relations[number as usize].columns;
            usize::try_from(place.1)
                .ok()
                .and_then(|column| columns.get(column))
                .map_or(SqlType::UNKNOWN, |column| column.sql_type)
        };
        let columns = layout.slots.iter().zip(0..);
        let columns = columns.map(|(place, slot)| Expr::new(ExprKind::Column(slot), slot_type(place)));
        let exprs = columns.chain([Expr::boolean(true)]).collect();
        layout.slots.push((number, ROW_MARK));
        Ok((node(Node::Project { input: Box::new(plan), exprs }, width + 1, rows, cost), layout))
    }

    fn build_unmarked_scan(
        &mut self,
        builder: &mut Builder<'_>,
        scan: ScanPath,
        conditions: Vec<Expr>,
    ) -> Result<(Plan, Layout)> {
        let number = scan.relation;
        let (rows, cost) = (scan.rows, scan.cost);
        let relation = &mut builder.relations[number as usize];
        let alias = relation.alias.clone();
        let width_of_all = relation.columns.len();
        let everything = || Layout { slots: (0..width_of_all as i32).map(|place| (number, place)).collect() };
        match &mut relation.kind {
            RelationKind::Table(table) => {
                let table = table.clone();
                let id = self.next_scan();
                builder.scans.insert(number, id);
                self.lock_table(table.oid, LockMode::AccessShare);
                let attributes = builder.needed.columns(number);
                let layout = Layout { slots: attributes.iter().map(|attribute| (number, *attribute)).collect() };
                let columns =
                    attributes.iter().map(|attribute| ScanColumn::of_attribute(*attribute)).collect::<Vec<_>>();
                let width = columns.len();
                let filter = self.lower_conditions(conditions, &layout)?;
                let built = match scan.access {
                    Access::Point { index, position, key } => {
                        let key = key.into_iter().map(|value| self.from_outside(value)).collect::<Result<_>>()?;
                        Node::IndexPoint(Box::new(IndexPoint {
                            scan: id,
                            table,
                            alias,
                            index,
                            index_position: position,
                            key,
                            columns,
                            filter,
                            is_changed: false,
                        }))
                    }
                    Access::Index(access) => {
                        let mut bound = |bound: Option<(Expr, bool)>| {
                            bound
                                .map(|(value, inclusive)| -> Result<_> { Ok((self.from_outside(value)?, inclusive)) })
                                .transpose()
                        };
                        let (lower, upper) = (bound(access.lower)?, bound(access.upper)?);
                        let equal = access
                            .equal
                            .into_iter()
                            .map(|key| key.into_part(|value| self.from_outside(value)))
                            .collect::<Result<_>>()?;
                        Node::IndexScan(Box::new(IndexScan {
                            scan: id,
                            table,
                            alias,
                            index: access.index,
                            index_position: access.position,
                            range: IndexRange { equal, lower, upper, skip_nulls: access.skip_nulls },
                            backward: access.backward,
                            columns,
                            filter,
                        }))
                    }
                    _ if builder.current_of.as_ref().is_some_and(|(target, _)| *target == number) => {
                        let (_, cursor) = builder.current_of.take().ok_or_else(|| Error::internal("no cursor"))?;
                        Node::CurrentOf(Box::new(CurrentOf { scan: id, table, alias, columns, cursor }))
                    }
                    Access::Sequential | Access::Virtual { .. } => {
                        Node::SeqScan(Box::new(SeqScan { scan: id, table, alias, columns, filter }))
                    }
                };
                Ok((node(built, width, rows, cost), layout))
            }
            RelationKind::Virtual(table) => {
                let table = table.clone();
                if self.context.catalog.sequence(table.oid).is_some() {
                    self.lock_table(table.oid, LockMode::AccessShare);
                }
                let id = self.next_scan();
                builder.scans.insert(number, id);
                let attributes = builder.needed.columns(number);
                let attributes = attributes.strip_prefix(&[ROW_MARK]).unwrap_or(attributes);
                let mut columns = Vec::with_capacity(attributes.len());
                for attribute in attributes {
                    columns.push(u32::try_from(*attribute).map_err(|_| {
                        Error::unsupported(format!("system columns of \"{}\" are not supported", table.name))
                    })?);
                }
                let layout = Layout { slots: attributes.iter().map(|attribute| (number, *attribute)).collect() };
                let filter = self.lower_conditions(conditions, &layout)?;
                let equal = match scan.access {
                    Access::Virtual { equal } => equal
                        .into_iter()
                        .map(|(column, value)| Ok((column, self.from_outside(value)?)))
                        .collect::<Result<_>>()?,
                    _ => Vec::new(),
                };
                let width = columns.len();
                let built = VirtualScan { scan: id, table, alias, columns, equal, filter };
                Ok((node(Node::VirtualScan(Box::new(built)), width, rows, cost), layout))
            }
            RelationKind::Subquery(inner) => {
                let mut inner = std::mem::take(inner.as_mut());
                let mut rest = Vec::new();
                for condition in conditions {
                    if let Some(condition) = push_into(&mut inner, number, condition) {
                        rest.push(condition);
                    }
                }
                if !builder.keeps_rows {
                    drop_unread_columns(&mut inner, builder.needed.columns(number));
                }
                let plan = self.query(inner)?;
                let layout = everything();
                let plan = self.filter(plan, rest, &layout)?;
                Ok((plan, layout))
            }
            RelationKind::Function { calls, ordinality } => {
                let (calls, ordinality) = (std::mem::take(calls), *ordinality);
                let column_names = relation.columns.iter().map(|column| column.name.clone()).collect();
                let calls = calls.into_iter().map(|call| self.set_call_from_outside(call)).collect::<Result<_>>()?;
                let layout = everything();
                let filter = self.lower_conditions(conditions, &layout)?;
                let id = self.next_scan();
                let built = FunctionScan { scan: id, alias, calls, column_names, ordinality, filter };
                Ok((node(Node::FunctionScan(Box::new(built)), width_of_all, rows, cost), layout))
            }
            RelationKind::Values(values) => {
                let mut lowered = Vec::with_capacity(values.len());
                for row in std::mem::take(values) {
                    lowered.push(row.into_iter().map(|value| self.from_outside(value)).collect::<Result<Vec<_>>>()?);
                }
                let layout = everything();
                let plan = node(Node::Values { rows: lowered }, width_of_all, rows, cost);
                let plan = self.filter(plan, conditions, &layout)?;
                Ok((plan, layout))
            }
            RelationKind::Cte(cte) => {
                let cte = *cte;
                if self.varying_ctes.contains(&cte) {
                    self.varying_reads.push(cte);
                }
                let layout = everything();
                let filter = self.lower_conditions(conditions, &layout)?;
                let id = self.next_scan();
                let built = Node::CteScan { cte, name: alias, scan: id, filter };
                Ok((node(built, width_of_all, rows, cost), layout))
            }
            RelationKind::WorkTable(cte) => {
                let cte = *cte;
                self.varying_reads.push(cte);
                let layout = everything();
                let plan = node(Node::WorkTableScan { cte }, width_of_all, rows, cost);
                let plan = self.filter(plan, conditions, &layout)?;
                Ok((plan, layout))
            }
            RelationKind::Excluded => Err(Error::internal("\"excluded\" is not scanned")),
        }
    }

    /// A value that no row of this query's own scan gives: constants, parameters and outer values.
    fn from_outside(&mut self, value: Expr) -> Result<Expr> {
        let value = self.outside(value);
        self.lower(value, &Layout::default())
    }

    fn set_call_from_outside(&mut self, mut call: SetCall) -> Result<SetCall> {
        for argument in &mut call.arguments {
            let value = std::mem::replace(argument, Expr::boolean(true));
            *argument = self.from_outside(value)?;
        }
        Ok(call)
    }

    fn build_join(&mut self, builder: &mut Builder<'_>, join: JoinPath) -> Result<(Plan, Layout)> {
        let JoinPath { kind, left, right, method, conditions, rows, cost } = join;
        let (mut left, left_layout) = self.build(builder, left)?;
        let (mark, reads_mark) = (self.uses.len(), self.varying_reads.len());
        let (mut right, right_layout) = self.build(builder, right)?;
        let layout = left_layout.join(&right_layout);
        let keeps_right = self.uses.len() == mark && self.varying_reads.len() == reads_mark;
        let arguments = self.take_arguments(mark, |expr| is_in(expr, &left_layout));
        let arguments = arguments
            .into_iter()
            .map(|(index, argument)| Ok((index, self.lower(argument, &left_layout)?)))
            .collect::<Result<Vec<_>>>()?;
        let condition = self.lower_conditions(conditions, &layout)?;
        let width = match kind {
            JoinKind::Semi | JoinKind::Anti => left_layout.slots.len(),
            _ => layout.slots.len(),
        };
        let built = match method {
            Method::Nested { keep_right } => {
                let keep_right = keep_right && arguments.is_empty();
                Node::NestedLoop(Box::new(NestedLoop { kind, left, right, arguments, condition, keep_right }))
            }
            Method::Hash { left_keys, right_keys } => {
                let left_keys = self.lower_all(left_keys, &left_layout)?;
                let mark = self.uses.len();
                let right_keys = self.lower_all(right_keys, &right_layout)?;
                let keeps_right = keeps_right && self.uses.len() == mark;
                debug_assert!(arguments.is_empty(), "a hashed side reads nothing of the other");
                let null_aware = false;
                let join = HashJoin { kind, left, right, left_keys, right_keys, condition, null_aware, keeps_right };
                Node::HashJoin(Box::new(join))
            }
            Method::Merge { left_keys, right_keys, sorts_left, sorts_right } => {
                debug_assert!(arguments.is_empty(), "a merged side reads nothing of the other");
                if sorts_left {
                    left = self.sort(left, ascending(&left_keys), &left_layout)?;
                }
                if sorts_right {
                    right = self.sort(right, ascending(&right_keys), &right_layout)?;
                }
                let left_keys = self.lower_all(left_keys, &left_layout)?;
                let right_keys = self.lower_all(right_keys, &right_layout)?;
                Node::MergeJoin(Box::new(MergeJoin { kind, left, right, left_keys, right_keys, condition }))
            }
        };
        // Nothing above a semi or anti join sees the other side.
        let layout = if width < layout.slots.len() { left_layout } else { layout };
        Ok((node(built, width, rows, cost), layout))
    }
}

/// The order by these keys that a merge join reads its sides in.
fn ascending(keys: &[Expr]) -> Vec<SortKey> {
    keys.iter().map(|key| SortKey { expr: key.clone(), descending: false, nulls_first: false }).collect()
}

/// Whether a row of this layout has all that `expr` reads.
fn is_in(expr: &Expr, layout: &Layout) -> bool {
    !expr.any(&|inner| match &inner.kind {
        ExprKind::Variable(variable) => layout.find(variable.relation, variable.attribute).is_none(),
        _ => false,
    })
}

/// Moves a condition on a subquery's columns into it, where that changes nothing but speed; gives it back otherwise.
fn push_into(query: &mut Query, relation: u32, condition: Expr) -> Option<Expr> {
    if is_volatile(&condition) || has_subquery(&condition) || !can_push(query, relation, &condition) {
        return Some(condition);
    }
    push(query, relation, condition);
    None
}

fn can_push(query: &Query, relation: u32, condition: &Expr) -> bool {
    let shape = query.limit.is_none()
        && query.offset.is_none()
        && query.windows.is_empty()
        && query.change.is_none()
        && !query.has_sets
        && !matches!(query.distinct, Distinct::On(_));
    if !shape || query.is_barrier && !is_leakproof(condition) {
        return false;
    }
    if let Some(operation) = &query.set_operation {
        return can_push_into_operation(query, operation, relation, condition);
    }
    let read =
        |place: i32| usize::try_from(place).ok().and_then(|place| query.output().nth(place)).map(|target| &target.expr);
    // Every column read must be one that means the same below: not volatile, and grouped by if there are groups.
    !condition.any(&|inner| match &inner.kind {
        ExprKind::Variable(variable) if variable.level == 0 && variable.relation == relation => {
            read(variable.attribute).is_none_or(|target| {
                is_volatile(target)
                    || has_subquery(target)
                    || (query.is_grouped && !query.groups.iter().any(|group| binder::same(group, target)))
            })
        }
        _ => false,
    })
}

fn can_push_into_operation(query: &Query, operation: &SetOperation, relation: u32, condition: &Expr) -> bool {
    match operation {
        SetOperation::Leaf(leaf) => match &query.relations[*leaf as usize].kind {
            RelationKind::Subquery(inner) => can_push(inner, relation, condition),
            _ => false,
        },
        SetOperation::Cast { .. } => false,
        SetOperation::Node { left, right, .. } => {
            can_push_into_operation(query, left, relation, condition)
                && can_push_into_operation(query, right, relation, condition)
        }
    }
}

fn push(query: &mut Query, relation: u32, condition: Expr) {
    if let Some(operation) = query.set_operation.take() {
        push_into_operation(query, &operation, relation, condition);
        query.set_operation = Some(operation);
        return;
    }
    let mut condition = condition;
    let targets = query.output().map(|target| target.expr.clone()).collect::<Vec<_>>();
    // Seen from inside the subquery, the condition's variables of enclosing queries are one level further out. Then the subquery's
    // columns are replaced by their expressions.
    raise_outer(&mut condition);
    substitute(&mut condition, 0, relation, &targets);
    let conditions = query.filter.take().into_iter().chain(std::iter::once(condition)).collect();
    query.filter = Expr::all(conditions);
}

/// Variables of enclosing queries move one query out.
fn raise_outer(expr: &mut Expr) {
    if let ExprKind::Variable(variable) = &mut expr.kind {
        if variable.level > 0 {
            variable.level += 1;
        }
        return;
    }
    expr.for_each_child_mut(&mut raise_outer);
}

fn push_into_operation(query: &mut Query, operation: &SetOperation, relation: u32, condition: Expr) {
    match operation {
        SetOperation::Leaf(leaf) => {
            if let RelationKind::Subquery(inner) = &mut query.relations[*leaf as usize].kind {
                let mut condition = condition;
                // The set operation is a query of its own between the leaf and the reader.
                raise_outer(&mut condition);
                push(inner, relation, condition);
            }
        }
        SetOperation::Cast { .. } => {}
        SetOperation::Node { left, right, .. } => {
            push_into_operation(query, left, relation, condition.clone());
            push_into_operation(query, right, relation, condition);
        }
    }
}
