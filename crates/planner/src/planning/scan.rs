//! The plan of one entry of FROM, by the way in which its rows are found.

use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{Error, Result};
use plan::bound::{Distinct, Query, RelationKind, SetOperation};
use plan::{
    CteId, CurrentOf, Expr, ExprKind, FunctionScan, IndexPoint, IndexRange, IndexScan, Node, Plan, ROW_MARK,
    ScanColumn, SeqScan, SetCall, VirtualScan, VirtualTable,
};
use schema::catalog::TableDef;
use types::SqlType;

use super::access::{Access, IndexAccess, ScanPath};
use super::build::Builder;
use super::flatten::{is_computed_anew, substitute};
use super::fold::{has_subquery, is_volatile};
use super::leakproof::is_leakproof;
use super::lower::Layout;
use super::unread::drop_unread_columns;
use super::{Planner, node};
use crate::binder;

impl Planner<'_, '_> {
    /// The plan of a scan, and what its slots hold. If the query reads whole rows of the entry, and an outer join may make up some, the scan
    /// adds a column that is true. The join makes it NULL in the rows that it makes up.
    pub(super) fn build_scan(
        &mut self,
        builder: &mut Builder<'_>,
        scan: ScanPath,
        mut conditions: Vec<Expr>,
    ) -> Result<(Plan, Layout)> {
        let number = scan.relation;
        let is_kept = builder.keeps_rows
            && !matches!(&builder.relations[number as usize].kind, RelationKind::Subquery(inner) if is_computed_anew(inner));
        if builder.needed.columns(number).first() != Some(&ROW_MARK) {
            return self.build_unmarked_scan(builder, scan, conditions);
        }
        // A condition that is tested here sees real rows only, so the mark in it is true.
        conditions.iter_mut().for_each(|condition| substitute(condition, 0, number, &[]));
        let (plan, mut layout) = self.build_unmarked_scan(builder, scan, conditions)?;
        let (width, rows, cost) = (layout.slots.len(), plan.rows, plan.cost);
        let columns = &builder.relations[number as usize].columns;
        let type_of = |attribute: i32| usize::try_from(attribute).ok().and_then(|place| columns.get(place));
        let slots = layout.slots.iter().zip(0..).map(|((_, attribute), slot)| {
            let sql_type = type_of(*attribute).map_or(SqlType::UNKNOWN, |column| column.sql_type);
            Expr::new(ExprKind::Column(slot), sql_type)
        });
        let exprs = slots.chain([Expr::boolean(true)]).collect();
        layout.slots.push((number, ROW_MARK));
        let marked = node(Node::Project { input: Box::new(plan), exprs }, width + 1, rows, cost);
        if !is_kept {
            return Ok((marked, layout));
        }
        let scan = self.next_scan();
        builder.scans.insert(number, scan);
        Ok((node(Node::KeptRows { input: Box::new(marked), scan }, width + 1, rows, cost), layout))
    }

    fn build_unmarked_scan(
        &mut self,
        builder: &mut Builder<'_>,
        scan: ScanPath,
        conditions: Vec<Expr>,
    ) -> Result<(Plan, Layout)> {
        let relation = &mut builder.relations[scan.relation as usize];
        match &mut relation.kind {
            RelationKind::Table(table) => {
                let table = table.clone();
                self.scan_table(builder, scan, table, conditions)
            }
            RelationKind::Virtual(table) => {
                let table = table.clone();
                self.scan_virtual_table(builder, scan, table, conditions)
            }
            RelationKind::Subquery(inner) => {
                let inner = std::mem::take(inner);
                self.scan_subquery(builder, scan.relation, inner, conditions)
            }
            RelationKind::Function { calls, ordinality } => {
                let (calls, ordinality) = (std::mem::take(calls), *ordinality);
                self.scan_functions(builder, scan, (calls, ordinality), conditions)
            }
            RelationKind::Values(values) => {
                let values = std::mem::take(values);
                self.scan_values(builder, scan, values, conditions)
            }
            RelationKind::Cte(cte) => {
                let cte = *cte;
                self.scan_cte(builder, scan, cte, conditions)
            }
            RelationKind::WorkTable(cte) => {
                let cte = *cte;
                self.varying_reads.push(cte);
                let layout = builder.layout_of_all(scan.relation);
                let plan = node(Node::WorkTableScan { cte }, layout.slots.len(), scan.rows, scan.cost);
                let plan = self.filter(plan, conditions, &layout)?;
                Ok((plan, layout))
            }
            RelationKind::Excluded => Err(Error::internal("\"excluded\" is not scanned")),
        }
    }

    fn scan_table(
        &mut self,
        builder: &mut Builder<'_>,
        scan: ScanPath,
        table: Arc<TableDef>,
        conditions: Vec<Expr>,
    ) -> Result<(Plan, Layout)> {
        let number = scan.relation;
        let alias = builder.relations[number as usize].alias.clone();
        let id = self.next_scan();
        builder.scans.insert(number, id);
        self.lock_table(table.oid, LockMode::AccessShare);
        let layout = builder.layout_of_needed(number);
        let columns = builder.needed.columns(number).iter().map(|attribute| ScanColumn::of_attribute(*attribute));
        let columns = columns.collect::<Vec<_>>();
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
                let (index, index_position, backward) = (access.index.clone(), access.position, access.backward);
                Node::IndexScan(Box::new(IndexScan {
                    scan: id,
                    table,
                    alias,
                    index,
                    index_position,
                    range: self.index_range(access)?,
                    backward,
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
        Ok((node(built, width, scan.rows, scan.cost), layout))
    }

    fn index_range(&mut self, access: IndexAccess) -> Result<IndexRange> {
        let mut bound = |bound: Option<(Expr, bool)>| {
            bound.map(|(value, inclusive)| -> Result<_> { Ok((self.from_outside(value)?, inclusive)) }).transpose()
        };
        let (lower, upper) = (bound(access.lower)?, bound(access.upper)?);
        let equal = access.equal.into_iter().map(|key| key.into_part(|value| self.from_outside(value)));
        Ok(IndexRange { equal: equal.collect::<Result<_>>()?, lower, upper, skip_nulls: access.skip_nulls })
    }

    fn scan_virtual_table(
        &mut self,
        builder: &mut Builder<'_>,
        scan: ScanPath,
        table: Arc<VirtualTable>,
        conditions: Vec<Expr>,
    ) -> Result<(Plan, Layout)> {
        let number = scan.relation;
        let alias = builder.relations[number as usize].alias.clone();
        if self.context.catalog.sequence(table.oid).is_some() {
            self.lock_table(table.oid, LockMode::AccessShare);
        }
        let id = self.next_scan();
        builder.scans.insert(number, id);
        let attributes = builder.columns_to_read(number);
        let mut columns = Vec::with_capacity(attributes.len());
        for attribute in attributes {
            columns.push(
                u32::try_from(*attribute).map_err(|_| {
                    Error::unsupported(format!("system columns of \"{}\" are not supported", table.name))
                })?,
            );
        }
        let layout = builder.layout_of_needed(number);
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
        Ok((node(Node::VirtualScan(Box::new(built)), width, scan.rows, scan.cost), layout))
    }

    /// The plan of a subquery, which takes the conditions that can be moved into it.
    fn scan_subquery(
        &mut self,
        builder: &mut Builder<'_>,
        number: u32,
        mut inner: Box<Query>,
        conditions: Vec<Expr>,
    ) -> Result<(Plan, Layout)> {
        let mut rest = Vec::new();
        for condition in conditions {
            if let Some(condition) = push_into(&mut inner, number, condition) {
                rest.push(condition);
            }
        }
        if !builder.keeps_rows {
            drop_unread_columns(&mut inner, builder.needed.columns(number));
        }
        let plan = self.query(*inner)?;
        let layout = builder.layout_of_all(number);
        let plan = self.filter(plan, rest, &layout)?;
        Ok((plan, layout))
    }

    /// Set-returning functions side by side, with or without ordinality.
    fn scan_functions(
        &mut self,
        builder: &mut Builder<'_>,
        scan: ScanPath,
        (calls, ordinality): (Vec<SetCall>, bool),
        conditions: Vec<Expr>,
    ) -> Result<(Plan, Layout)> {
        let relation = &builder.relations[scan.relation as usize];
        let alias = relation.alias.clone();
        let column_names = relation.columns.iter().map(|column| column.name.clone()).collect();
        let calls = calls.into_iter().map(|call| self.set_call_from_outside(call)).collect::<Result<_>>()?;
        let layout = builder.layout_of_all(scan.relation);
        let filter = self.lower_conditions(conditions, &layout)?;
        let id = self.next_scan();
        let built = FunctionScan { scan: id, alias, calls, column_names, ordinality, filter };
        Ok((node(Node::FunctionScan(Box::new(built)), layout.slots.len(), scan.rows, scan.cost), layout))
    }

    fn scan_values(
        &mut self,
        builder: &mut Builder<'_>,
        scan: ScanPath,
        values: Vec<Vec<Expr>>,
        conditions: Vec<Expr>,
    ) -> Result<(Plan, Layout)> {
        let mut lowered = Vec::with_capacity(values.len());
        for row in values {
            lowered.push(row.into_iter().map(|value| self.from_outside(value)).collect::<Result<Vec<_>>>()?);
        }
        let layout = builder.layout_of_all(scan.relation);
        let plan = node(Node::Values { rows: lowered }, layout.slots.len(), scan.rows, scan.cost);
        let plan = self.filter(plan, conditions, &layout)?;
        Ok((plan, layout))
    }

    fn scan_cte(
        &mut self,
        builder: &mut Builder<'_>,
        scan: ScanPath,
        cte: CteId,
        conditions: Vec<Expr>,
    ) -> Result<(Plan, Layout)> {
        if self.varying_ctes.contains(&cte) {
            self.varying_reads.push(cte);
        }
        let name = builder.relations[scan.relation as usize].alias.clone();
        let layout = builder.layout_of_all(scan.relation);
        let filter = self.lower_conditions(conditions, &layout)?;
        let id = self.next_scan();
        let built = Node::CteScan { cte, name, scan: id, filter };
        Ok((node(built, layout.slots.len(), scan.rows, scan.cost), layout))
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
}

impl Builder<'_> {
    /// Rows with all columns of an entry.
    fn layout_of_all(&self, number: u32) -> Layout {
        let width = self.relations[number as usize].columns.len();
        Layout { slots: (0..width as i32).map(|place| (number, place)).collect() }
    }

    /// The columns of an entry that are read. A mark of its rows is not read.
    fn columns_to_read(&self, number: u32) -> &[i32] {
        let attributes = self.needed.columns(number);
        attributes.strip_prefix(&[ROW_MARK]).unwrap_or(attributes)
    }

    /// Rows with those columns of an entry that are read.
    fn layout_of_needed(&self, number: u32) -> Layout {
        let attributes = self.columns_to_read(number);
        Layout { slots: attributes.iter().map(|attribute| (number, *attribute)).collect() }
    }
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
