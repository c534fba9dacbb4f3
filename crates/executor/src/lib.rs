//! The executor: runs plans, one row at a time, with PostgreSQL's semantics.
//!
//! Each [`Plan`] node becomes an [`Operator`]; [`build`] makes the tree, [`Operator::next`] pulls rows through
//! it. Operators borrow their plan, so a prepared statement's plan is shared and never copied. [`Locals`] holds the state of one
//! execution that several operators use (outer values, subqueries, common table expressions). Operators reach the state of the
//! session through [`Run`].

// `from_*` speaks of SQL's FROM here, operators are built once and live behind boxes, and what a session keeps to itself is shared by `Arc`
// with plans that all sessions share.
#![allow(clippy::wrong_self_convention, clippy::large_enum_variant, clippy::arc_with_non_send_sync)]
#![allow(clippy::type_complexity)]

mod accumulator;
mod aggregate;
mod assignment_cast;
mod call_place;
pub mod client;
mod cte;
mod current_of;
mod deep;
mod evaluate;
mod foreign_key;
mod function_scan;
mod hash_join;
mod helpers;
mod host;
mod join;
mod kept_rows;
mod keys;
mod limit;
mod lock_rows;
mod measure;
mod merge_join;
mod modify;
mod modify_view;
mod operand;
mod pending_checks;
mod read_ahead;
mod recheck;
mod rights;
mod row_decoder;
mod row_set;
mod scan;
mod set_operation;
mod settings;
mod shared_change;
mod sort;
mod sort_key;
mod spill;
mod state;
mod subquery;
mod trigger;
mod window;
mod window_frame;

use std::cell::Ref;
use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{Error, Oid, Result, Tid, sqlstate};
use schema::catalog::TableDef;
use schema::row::RowBytes;

pub use assignment_cast::cast_for_assignment;
pub use call_place::{CallPlace, outer_context, place_line};
pub use current_of::CursorPlace;
pub use evaluate::evaluate;
pub use foreign_key::check_existing_rows;
pub use helpers::Helpers;
pub use host::{Host, OnRow};
pub use keys::TableKeys;
pub use lock_rows::{changing_tag, locking_tag, read_only_transaction};
pub use measure::Measurements;
pub use pending_checks::{CheckMark, Deferral, Due, PendingCheck, apply_deferral, run_pending_checks};
pub use row_decoder::RowDecoder;
pub use settings::{invalid_value, parts_of_date_style, timeout};
pub use shared_change::{Captured, SharedChange};
pub use spill::{RowStore, StoreReader, sort_memory_bytes, work_memory_bytes};
pub use state::{ExecutionState, Login};
pub use trigger::{Captures, Firing, TriggerCall};

use client::{Client, Severity};
use cte::CteState;
pub use cte::run_changes_of_ctes;
use plan::{CatalogView, Effort, NEW_ROWS, Node, OLD_ROWS, Plan, ScanId, Statement};
use subquery::SubqueryState;
use types::random::RandomState;
use types::{CatalogLookup, EvalContext, FormatSettings, Value};

/// One node of a running plan.
///
/// A portal or cursor keeps its operators from message to message, and its session may go to another thread in between.
pub trait Operator<'p>: Send {
    /// Moves to the next row; false at the end.
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool>;
    /// The row [`Operator::next`] moved to.
    fn row(&self) -> &[Value];
    /// Starts again; outer values may have changed.
    fn rescan(&mut self);
    /// Begins a statement whose rows come one by one, each after a [`Operator::rescan`]: a COPY.
    fn begin_rows(&mut self, _run: &mut Run<'_, 'p>) -> Result<()> {
        Ok(())
    }
    /// Ends such a statement.
    fn end_rows(&mut self, _run: &mut Run<'_, 'p>) -> Result<()> {
        Ok(())
    }
    /// Only so many rows are going to be asked for; a sort that knows it keeps no others.
    fn set_bound(&mut self, _rows: u64) {}
    /// The room that its kept rows took, if it keeps rows: for EXPLAIN ANALYZE.
    fn effort(&self) -> Option<Effort> {
        None
    }
}

/// A node of any kind.
pub type BoxOperator<'p> = Box<dyn Operator<'p> + 'p>;

/// The state of one execution of a statement outside of its operators.
pub struct Locals<'p> {
    /// The relations that the statement uses.
    relations: Option<&'p Arc<[(Oid, LockMode)]>>,
    /// Values of rows outside of the subquery or inner side that reads them.
    pub outer: Vec<Value>,
    subqueries: Vec<Option<Box<SubqueryState<'p>>>>,
    ctes: Vec<CteState<'p>>,
    /// Rows that conditions took out: for EXPLAIN ANALYZE, whose operators take the count to themselves.
    removed_rows: u64,
    /// Operands of the simple CASEs being evaluated, innermost last.
    case_operands: Vec<Value>,
    /// During a re-check: the only row each of these scans gives. By [`ScanId`]; empty otherwise.
    replacements: Vec<Replacement>,
    /// The stored bytes of the row each target scan gave last, for what changes it. By [`ScanId`].
    kept_rows: Vec<Option<KeptRow>>,
    /// Rows inserted, updated or deleted by the statement's topmost node.
    pub affected_rows: u64,
    /// Counts and times of each node, for EXPLAIN ANALYZE.
    pub measurements: Option<Measurements>,
    /// A materialized view without data that the statement reads.
    unpopulated: Option<&'p str>,
}

/// The rows that a scan returns while a re-check runs.
#[derive(Clone, Default)]
enum Replacement {
    /// Its own rows.
    #[default]
    None,
    /// This version alone; no row for `None`.
    Only(Option<(Tid, RowBytes)>),
    /// This row alone, of an entry that is no table; no row for `None`.
    Row(Option<Vec<Value>>),
}

/// The stored row a scan gave last.
#[derive(Default)]
struct KeptRow {
    tid: Tid,
    bytes: RowBytes,
}

impl<'p> Locals<'p> {
    fn note_scan(&mut self, table: &'p TableDef) {
        if table.is_unpopulated {
            self.unpopulated.get_or_insert(&table.name);
        }
    }

    /// For one execution of `statement`.
    pub fn new(statement: &'p Statement) -> Locals<'p> {
        Locals {
            relations: Some(&statement.locks),
            outer: vec![Value::Null; statement.outer_count as usize],
            subqueries: (0..statement.subquery_count).map(|_| None).collect(),
            ctes: (0..statement.cte_count).map(|_| CteState::default()).collect(),
            removed_rows: 0,
            case_operands: Vec::new(),
            replacements: Vec::new(),
            kept_rows: Vec::new(),
            affected_rows: 0,
            measurements: None,
            unpopulated: statement.unpopulated.as_deref().map(|view| view.name.as_str()),
        }
    }

    /// For an expression that stands outside a statement: no outer values, no subqueries.
    pub fn for_expression() -> Locals<'p> {
        Locals {
            relations: None,
            outer: Vec::new(),
            subqueries: Vec::new(),
            ctes: Vec::new(),
            removed_rows: 0,
            case_operands: Vec::new(),
            replacements: Vec::new(),
            kept_rows: Vec::new(),
            affected_rows: 0,
            measurements: None,
            unpopulated: None,
        }
    }

    fn replacement(&self, scan: ScanId) -> &Replacement {
        self.replacements.get(scan.0 as usize).unwrap_or(&Replacement::None)
    }

    /// Has the scan keep the stored bytes of its last row.
    fn keep_rows_of(&mut self, scan: ScanId) {
        let index = scan.0 as usize;
        if self.kept_rows.len() <= index {
            self.kept_rows.resize_with(index + 1, || None);
        }
        self.kept_rows[index].get_or_insert_default();
    }

    fn kept_row(&mut self, scan: ScanId) -> Option<&mut KeptRow> {
        self.kept_rows.get_mut(scan.0 as usize)?.as_mut()
    }

    /// Moves the stored row that the scan gave last to `bytes`, if that is the version `tid` and nobody has taken it yet: a join
    /// may bring the same row of the scan several times.
    fn take_kept_row(&mut self, scan: ScanId, tid: Tid, bytes: &mut RowBytes) -> bool {
        let Some(kept) = self.kept_row(scan).filter(|kept| kept.tid == tid) else { return false };
        kept.tid = Tid::INVALID;
        std::mem::swap(bytes, &mut kept.bytes);
        true
    }
}

/// One execution's access to its session, its client and its parameters.
pub struct Run<'a, 'p> {
    /// The session's state.
    pub state: &'a ExecutionState,
    /// The session above it.
    pub host: &'a dyn Host,
    /// Where notices go.
    pub client: &'a mut dyn Client,
    /// `$1`, `$2`, ...
    pub parameters: &'a [Value],
    /// The state of the execution.
    pub locals: &'a mut Locals<'p>,
    /// The catalog as the statement sees it.
    pub catalog: CatalogView,
    /// Settings that text input and output depend on.
    pub format: Arc<FormatSettings>,
    /// Microseconds since 2000-01-01 UTC.
    pub transaction_timestamp: i64,
    /// Microseconds since 2000-01-01 UTC.
    pub statement_timestamp: i64,
    /// How many functions and subqueries deep this runs.
    pub depth: u32,
    /// The session's random numbers, while this execution has them.
    pub random: Option<RandomState>,
}

impl Run<'_, '_> {
    /// Sees what the statement has changed in the catalog itself, and what others have committed, since it began.
    #[inline]
    pub fn refresh_catalog(&mut self) {
        if self.state.engine().catalog_version() != self.catalog.catalog().version() {
            self.catalog = self.state.catalog();
        }
    }

    /// Goes by settings that the statement has changed itself.
    pub fn refresh_format(&mut self) {
        self.format = self.state.format();
    }
}

impl Drop for Run<'_, '_> {
    fn drop(&mut self) {
        if let Some(random) = self.random.take() {
            self.state.put_random(random);
        }
    }
}

/// The stack that must be left before another function is called, or another expression is evaluated.
const STACK_RESERVE_BYTES: usize = 128 * 1024;

impl<'a, 'p> Run<'a, 'p> {
    /// An execution of a statement, or of an expression, for a session.
    pub fn new(
        host: &'a dyn Host,
        client: &'a mut dyn Client,
        parameters: &'a [Value],
        locals: &'a mut Locals<'p>,
    ) -> Run<'a, 'p> {
        let state = host.execution();
        Run {
            state,
            host,
            client,
            parameters,
            locals,
            catalog: state.catalog(),
            format: state.format(),
            transaction_timestamp: state.transaction_timestamp.get(),
            statement_timestamp: state.statement_timestamp.get(),
            depth: 0,
            random: None,
        }
    }

    /// The engine's session.
    #[inline]
    pub fn engine(&self) -> Ref<'a, engine::Session> {
        self.state.engine()
    }

    /// Waits if the client leaves too much unread.
    ///
    /// # Errors
    /// 08006 when the client is gone, and a pending interrupt.
    pub fn relieve(&mut self) -> Result<()> {
        if !self.client.wants_relief() {
            return Ok(());
        }
        self.client.require(self.state.gate());
        self.client.relieve()
    }

    /// Fails before the stack ends.
    ///
    /// # Errors
    /// 54001.
    #[inline]
    pub fn check_depth(&self) -> Result<()> {
        check_depth()
    }

    /// Runs the body of a user-defined function. Statements of the body find the relations of this statement in use.
    pub fn in_function<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.state.has_run_functions.set(true);
        let Some(relations) = self.locals.relations.filter(|relations| !relations.is_empty()) else {
            return body(self);
        };
        let state = self.state;
        state.while_in_use(Arc::clone(relations), || body(self))
    }

    /// Tells the client something that is no error.
    pub fn notice(&mut self, severity: Severity, notice: &Error) {
        self.host.notice(severity, notice, &mut *self.client);
    }

    /// The same execution with other locals: for a re-check or a function's expression.
    pub fn with_locals<'b, 'q>(&'b mut self, parameters: &'b [Value], locals: &'b mut Locals<'q>) -> Run<'b, 'q> {
        Run {
            state: self.state,
            host: self.host,
            client: &mut *self.client,
            parameters,
            locals,
            catalog: self.catalog.clone(),
            format: Arc::clone(&self.format),
            transaction_timestamp: self.transaction_timestamp,
            statement_timestamp: self.statement_timestamp,
            depth: self.depth + 1,
            random: None,
        }
    }
}

/// Calls of functions go on on a further stack when less than this is left: what they run needs some, too.
const STACK_OF_CALL_BYTES: usize = 768 << 10;

/// Runs the body of a function, on a further stack if calls are nested so deep that this one nears its end.
pub fn with_stack_for_call<R>(body: impl FnOnce() -> Result<R>) -> Result<R> {
    if sync::remaining_stack_bytes() < STACK_OF_CALL_BYTES && !sync::is_on_further_stack() {
        return sync::on_further_stack(body).map_err(|_| syntax::parser::no_stack())?;
    }
    body()
}

/// See [`Run::check_depth`].
#[inline]
fn check_depth() -> Result<()> {
    if sync::remaining_stack_bytes() < STACK_RESERVE_BYTES {
        return Err(Error::new(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
            .hint("Nest expressions, subqueries and function calls less deeply."));
    }
    Ok(())
}

impl EvalContext for Run<'_, '_> {
    fn format(&self) -> &FormatSettings {
        &self.format
    }

    fn catalog(&self) -> &dyn CatalogLookup {
        &self.catalog
    }

    fn transaction_timestamp(&self) -> i64 {
        self.transaction_timestamp
    }

    fn statement_timestamp(&self) -> i64 {
        self.statement_timestamp
    }

    fn random(&mut self) -> &mut RandomState {
        self.random.get_or_insert_with(|| self.state.take_random())
    }

    fn check_domain(&mut self, domain: Oid, value: &Value) -> Result<()> {
        let host = self.host;
        host.check_domain(self, domain, value)
    }

    fn is_new_label(&self, key: i64) -> bool {
        self.state.new_labels.borrow().contains(&key)
    }

    fn session_function(&mut self, function: Oid, arguments: &[Value]) -> Result<Value> {
        let host = self.host;
        host.session_function(self, function, arguments)
    }

    fn session_set_function(&mut self, function: Oid, arguments: &[Value]) -> Result<Vec<Value>> {
        let host = self.host;
        host.session_set_function(self, function, arguments)
    }
}

/// The stack that a node takes, with what it runs for a row.
const STACK_OF_NODE_BYTES: usize = 4 << 10;

/// Makes the operators of a plan that is to be run.
///
/// # Errors
/// 55000 if it reads a materialized view that has no rows yet; 54001 and its kin if there is not enough stack for it.
pub fn build_to_run<'p>(plan: &'p Plan, locals: &mut Locals<'p>) -> Result<BoxOperator<'p>> {
    let needed_bytes = plan.depth as usize * STACK_OF_NODE_BYTES + STACK_RESERVE_BYTES;
    let operator = if sync::remaining_stack_bytes() < needed_bytes {
        if sync::is_on_further_stack() {
            return Err(syntax::parser::too_deep());
        }
        let deep = sync::on_further_stack(|| -> BoxOperator<'p> { Box::new(deep::DeepRows::new(build(plan, locals))) });
        deep.map_err(|_| syntax::parser::no_stack())?
    } else {
        build(plan, locals)
    };
    match locals.unpopulated.take() {
        None => Ok(operator),
        Some(view) => {
            let message = format!("materialized view \"{view}\" has not been populated");
            Err(Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .hint("Use the REFRESH MATERIALIZED VIEW command."))
        }
    }
}

/// Makes the operators of `plan`. `locals` learns which scans must keep their rows.
pub fn build<'p>(plan: &'p Plan, locals: &mut Locals<'p>) -> BoxOperator<'p> {
    let operator = operator_of(plan, locals);
    match &locals.measurements {
        None => operator,
        Some(measurements) => measure::measuring(operator, plan, measurements),
    }
}

fn operator_of<'p>(plan: &'p Plan, locals: &mut Locals<'p>) -> BoxOperator<'p> {
    match &plan.node {
        Node::Result { exprs, condition } => Box::new(scan::ResultRow::new(exprs, condition.as_ref())),
        Node::Values { rows } => Box::new(scan::ValuesRows::new(rows)),
        Node::SeqScan(node) => {
            locals.note_scan(&node.table);
            Box::new(scan::SeqScanRows::new(node))
        }
        Node::CurrentOf(node) => Box::new(current_of::CurrentOfRow::new(node)),
        Node::IndexScan(node) => {
            locals.note_scan(&node.table);
            Box::new(scan::IndexScanRows::new(node))
        }
        Node::IndexPoint(node) => {
            locals.note_scan(&node.table);
            Box::new(scan::IndexPointRow::new(node))
        }
        Node::FunctionScan(node) => Box::new(function_scan::FunctionRows::new(node)),
        Node::VirtualScan(node) if matches!(node.table.oid, OLD_ROWS | NEW_ROWS) => {
            Box::new(function_scan::TransitionRows::new(node))
        }
        Node::VirtualScan(node) => Box::new(function_scan::VirtualRows::new(node)),
        Node::CteScan { cte, filter, .. } => Box::new(cte::CteRows::new(*cte, filter.as_ref())),
        Node::WorkTableScan { cte } => Box::new(cte::WorkTableRows::new(*cte)),
        Node::Filter { input, condition } => Box::new(scan::Filter::new(build(input, locals), condition)),
        Node::OneTimeFilter { input, condition } => Box::new(scan::OneTimeFilter::new(build(input, locals), condition)),
        Node::Project { input, exprs } => Box::new(scan::Project::new(build(input, locals), exprs)),
        Node::KeptRows { input, scan } => Box::new(kept_rows::KeptRows::new(*scan, build(input, locals))),
        Node::ProjectSet { input, items } => Box::new(function_scan::ProjectSet::new(build(input, locals), items)),
        Node::NestedLoop(node) => {
            let (left, right) = (build(&node.left, locals), build(&node.right, locals));
            Box::new(join::NestedLoopRows::new(node, left, right))
        }
        Node::HashJoin(node) => {
            let (left, right) = (build(&node.left, locals), build(&node.right, locals));
            Box::new(hash_join::HashJoinRows::new(node, left, right))
        }
        Node::MergeJoin(node) => {
            let (left, right) = (build(&node.left, locals), build(&node.right, locals));
            Box::new(merge_join::MergeJoinRows::new(node, left, right))
        }
        Node::Sort { input, keys } => Box::new(sort::Sort::new(build(input, locals), keys, plan.width as usize)),
        Node::Limit { input, limit, offset, ties } => {
            Box::new(limit::Limit::new(build(input, locals), limit.as_ref(), offset.as_ref(), ties.as_deref()))
        }
        Node::Aggregate(node) => Box::new(aggregate::AggregateRows::new(node, build(&node.input, locals))),
        Node::Window(node) => Box::new(window::WindowRows::new(node, build(&node.input, locals))),
        Node::Distinct { input, types } => Box::new(set_operation::Distinct::new(build(input, locals), types)),
        Node::DistinctOn { input, keys } => Box::new(set_operation::DistinctOn::new(build(input, locals), keys)),
        Node::SetOperation { operation, all, left, right, types } => {
            let (left, right) = (build(left, locals), build(right, locals));
            Box::new(set_operation::SetOperationRows::new(*operation, *all, left, right, types))
        }
        Node::Append { inputs } => {
            Box::new(set_operation::Append::new(inputs.iter().map(|input| build(input, locals)).collect()))
        }
        Node::With { ctes, input } => {
            for cte in ctes {
                let operator = build(&cte.plan, locals);
                locals.ctes[cte.id.0 as usize].define(operator, cte.modifies);
            }
            Box::new(cte::With::new(ctes, build(input, locals)))
        }
        Node::RecursiveUnion(node) => {
            let (anchor, recursive) = (build(&node.anchor, locals), build(&node.recursive, locals));
            Box::new(cte::RecursiveUnionRows::new(node, anchor, recursive))
        }
        Node::LockRows(node) => Box::new(lock_rows::LockRowsRows::new(node, build(&node.input, locals))),
        Node::Insert(node) => Box::new(modify::InsertRows::new(node, build(&node.input, locals))),
        Node::Update(node) => {
            locals.keep_rows_of(node.scan);
            Box::new(modify::UpdateRows::new(node, build(&node.input, locals)))
        }
        Node::ViewChange(node) => Box::new(modify_view::ViewRows::new(node, build(&node.input, locals))),
        Node::Delete(node) => {
            locals.keep_rows_of(node.scan);
            Box::new(modify::DeleteRows::new(node, build(&node.input, locals)))
        }
        Node::Merge(node) => {
            locals.keep_rows_of(node.scan);
            Box::new(modify::MergeRows::new(node, build(&node.input, locals)))
        }
    }
}
