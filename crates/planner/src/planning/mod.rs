//! From bound queries to plans.
//!
//! # How it works
//! A query is planned in its own *frame*. Its subqueries in FROM and its common table expressions are merged into it
//! where this does not change the result. Its conditions are split at AND and attached where their columns are. Each table
//! gets the cheapest access to its rows: a unique index's point, an index range, or all rows. Tables are joined in the
//! order that a search over left-deep orders finds cheapest, each by hash, by nested loop, or by a nested loop that
//! looks the right row up by index. The nodes above the joins (groups, windows, distinct rows, order, limit, row locks,
//! changes) are stacked in the one order that SQL gives them.
//!
//! Columns are bound variables until the very end: only when a node is built, from below, is it known which slot holds
//! which column, and its expressions are *lowered* to slots. A variable of an enclosing query (or of a left join side)
//! becomes an outer value then. The code that starts the inner plan stores this value first.
//!
//! # Costs
//! In PostgreSQL's units and with its default constants, but far fewer terms. One rule stands above costs: a row that
//! a unique index finds by its full key is always looked up that way, so that a plan made when the table was small
//! stays right, and so that the session can wait for the row suspended.

mod access;
mod arbiter;
mod build;
mod change;
mod computed;
mod definition;
pub mod domain;
mod flatten;
mod fold;
mod implication;
mod inline;
mod join;
mod leakproof;
mod lower;
mod merge;
pub mod names;
mod needed;
mod negate;
mod outer_join;
mod query;
pub mod routine;
mod scan;
mod selectivity;
mod semi_join;
mod set_operation;
mod statistics;
mod unread;
mod upper;
mod values;
mod volatility;

#[cfg(test)]
mod tests;

pub use definition::{column_default, copy_filter, table_expressions};
pub use fold::fold;
pub use inline::Inlining;
pub use statistics::{ColumnStatistics, TableStatistics};
pub use volatility::volatility;

use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{Lsn, Oid, Result};
use plan::privileges::{Access, Privileges};
use plan::{
    self, Command, CteId, Expr, Node, OutputColumn, Plan, RowPlaces, ScanId, Statement, StatementKind, Variable, bound,
};
use schema::catalog::{Catalog, RelationKind, TableDef};
use syntax::parser::{STACK_RESERVE_BYTES, too_deep};
use syntax::tree::{self, Name};
use types::SqlType;

use crate::binder::{self, BindContext, Bound, Parameters};

/// Binds and plans a parsed statement; a utility statement is handed through.
///
/// `types` are the parameters' types as far as they are given ([`Oid::INVALID`] and `unknown` are inferred, and more
/// parameters may be found).
///
/// # Errors
/// PostgreSQL's, with positions in the context's text; 0A000 for what is left out; 54001 if it is nested too deep.
pub fn plan(statement: &tree::ParsedStatement, types: &[SqlType], context: &mut BindContext<'_>) -> Result<Statement> {
    let types = types.iter().map(|sql_type| sql_type.oid).collect::<Vec<_>>();
    plan_statement(&statement.statement, context, &mut Parameters::declared(&types))
}

/// Binds and plans a statement; a utility statement is handed through.
///
/// `parameters` holds the declared types; those inferred are added.
pub fn plan_statement(
    statement: &tree::Statement,
    context: &mut BindContext<'_>,
    parameters: &mut Parameters,
) -> Result<Statement> {
    let catalog_version = context.catalog.version();
    let Some(bound) = binder::bind(statement, context, parameters)? else {
        return Ok(Statement {
            kind: StatementKind::Utility(Box::new(statement.clone())),
            parameters: parameters.types().to_vec(),
            columns: utility_columns(statement),
            command: Command::Utility,
            catalog_version,
            locks: Arc::from([]),
            access: Vec::new(),
            outer_count: 0,
            subquery_count: 0,
            scan_count: 0,
            cte_count: 0,
            is_point: false,
            is_read_only: false,
            row_places: RowPlaces::default(),
            is_cacheable: false,
            depends_on_values: false,
            lacks_arbiter: false,
            has_large_constants: false,
            is_makeshift: false,
            usable_from: Lsn::ZERO,
            has_inlined: false,
            unpopulated: None,
            meaning: None,
        });
    };
    plan_bound(bound, context, parameters)
}

/// Plans a bound statement.
pub fn plan_bound(bound: Bound, context: &mut BindContext<'_>, parameters: &Parameters) -> Result<Statement> {
    let catalog_version = context.catalog.version();
    let Bound { mut query, cte_count, depends_on_settings, mut access, .. } = bound;
    let columns = query.output_columns();
    let command = match query.change.as_deref() {
        None if query.is_settings_update => Command::Update,
        None => Command::Select,
        Some(bound::Change::Insert { .. }) => Command::Insert,
        Some(bound::Change::Update { .. }) => Command::Update,
        Some(bound::Change::Delete { .. }) => Command::Delete,
        Some(bound::Change::Merge { .. }) => Command::Merge,
    };
    let mut row_places = if context.settings.keeps_row_places { add_places(&mut query) } else { RowPlaces::default() };
    let mut planner = Planner {
        context,
        frames: Vec::new(),
        uses: Vec::new(),
        varying_ctes: Vec::new(),
        varying_reads: Vec::new(),
        outer_count: 0,
        scan_count: 0,
        subquery_count: 0,
        locks: Vec::new(),
        cte_count,
        inlining: Inlining::default(),
        is_read_only: true,
        usable_from: Lsn::ZERO,
        is_makeshift: false,
        depends_on_values: false,
        awaits_values: false,
        lacks_arbiter: false,
        unpopulated: None,
    };
    let plan = planner.query(query)?;
    let is_point = is_point(&plan);
    row_places.is_simple = row_places.tables.len() == 1 && is_plain_scan(&plan);
    let Planner { outer_count, scan_count, subquery_count, mut locks, cte_count, inlining, is_read_only, .. } = planner;
    let Planner { usable_from, is_makeshift, depends_on_values, awaits_values, lacks_arbiter, unpopulated, .. } =
        planner;
    let has_values = planner.context.parameter_values.is_some();
    let has_large_constants = inlining.has_large_constants();
    let depends_on_settings = depends_on_settings || inlining.depends_on_settings;
    for noted in inlining.access {
        noted.add_to(&mut access);
    }
    let context = planner.context;
    add_locks_of_views(&access, context.catalog, &mut locks);
    // Relations that the statement itself names come first, in its order. Then one view after the other is opened, as PostgreSQL does it.
    let place = |oid: Oid| {
        let uses = access.iter().enumerate().filter(|(_, access)| access.object == oid);
        let first = uses.map(|(place, access)| (&access.within, place)).min();
        first.map_or((vec![u32::MAX; 2], usize::MAX), |(within, place)| (within.clone(), place))
    };
    locks.sort_by_cached_key(|(oid, _)| (place(*oid), *oid));
    let meaning = std::mem::take(&mut context.meaning).finished(context.catalog, locks.iter().map(|(oid, _)| *oid));
    Ok(Statement {
        kind: StatementKind::Query(Box::new(plan)),
        parameters: parameters.types().to_vec(),
        columns,
        command,
        catalog_version,
        locks: locks.into(),
        access,
        outer_count,
        subquery_count,
        scan_count,
        cte_count,
        is_point,
        is_read_only,
        row_places,
        is_cacheable: !depends_on_settings && !is_makeshift && !has_large_constants && !has_values,
        // The row that a key finds is found by its key, whatever the value.
        depends_on_values: depends_on_values && !is_point || awaits_values,
        lacks_arbiter,
        has_large_constants,
        is_makeshift,
        usable_from,
        has_inlined: inlining.has_inlined,
        unpopulated,
        meaning,
    })
}

/// Has a cursor's query give the places of its tables' rows behind its columns, if each of its rows is made of one row each.
fn add_places(query: &mut bound::Query) -> RowPlaces {
    if query.change.is_some() {
        return RowPlaces::default();
    }
    // A view's table, or a subquery's, is as good as one in FROM.
    flatten::pull_up(query);
    let mut places = RowPlaces { locks_rows: !query.locks.is_empty(), ..RowPlaces::default() };
    let is_made_of_rows = query.set_operation.is_none()
        && !query.is_grouped
        && query.windows.is_empty()
        && query.distinct == bound::Distinct::No
        && !query.has_sets;
    if !is_made_of_rows {
        return places;
    }
    let sql_type = SqlType::new(types::oids::TID);
    let name = Name::new_static("ctid");
    for (number, relation) in query.relations.iter_mut().enumerate() {
        let number = number as u32;
        let mut given = Vec::new();
        match &mut relation.kind {
            bound::RelationKind::Table(table) => {
                given.push(-1);
                places.tables.push((table.oid, query.locks.iter().any(|lock| lock.relation == number)));
            }
            // One that locks rows itself stays what it is.
            bound::RelationKind::Subquery(inner) if !inner.locks.is_empty() => {
                let of_inner = add_places(inner);
                places.locks_rows |= of_inner.locks_rows;
                for _ in &of_inner.tables {
                    given.push(relation.columns.len() as i32);
                    relation.columns.push(bound::Column { name: name.clone(), sql_type, dropped: false });
                }
                places.tables.extend(of_inner.tables);
            }
            _ => {}
        }
        for attribute in given {
            let variable = Variable { level: 0, relation: number, attribute, location: -1 };
            let column = OutputColumn { name: name.clone(), sql_type, table: Oid::INVALID, attribute: 0 };
            let expr = Expr::new(plan::ExprKind::Variable(variable), sql_type);
            query.targets.push(bound::TargetEntry { expr, column, hidden: false });
        }
    }
    places
}

/// Whether a plan scans one table and does no more than to compute columns.
fn is_plain_scan(plan: &Plan) -> bool {
    match &plan.node {
        Node::SeqScan(_) | Node::IndexScan(_) | Node::IndexPoint(_) => true,
        Node::Project { input, .. }
        | Node::KeptRows { input, .. }
        | Node::Filter { input, .. }
        | Node::OneTimeFilter { input, .. }
        | Node::Limit { input, .. } => is_plain_scan(input),
        _ => false,
    }
}

/// The columns of the utility statements that return rows and whose columns don't depend on anything.
fn utility_columns(statement: &tree::Statement) -> Vec<OutputColumn> {
    let text = |name: &str| {
        vec![OutputColumn { name: Name::new(name), sql_type: SqlType::TEXT, table: Oid::INVALID, attribute: 0 }]
    };
    match statement {
        tree::Statement::Explain(explain) => {
            let is_json = explain.options.iter().any(|option| {
                option.name == "format" && option.text().is_some_and(|format| format.eq_ignore_ascii_case("json"))
            });
            let mut columns = text("QUERY PLAN");
            if is_json {
                columns[0].sql_type = SqlType::new(types::oids::JSON);
            }
            columns
        }
        tree::Statement::Show(name) if name == "all" => {
            ["name", "setting", "description"].into_iter().flat_map(text).collect()
        }
        tree::Statement::Show(name) => text(match name.as_str() {
            "timezone" => "TimeZone",
            "datestyle" => "DateStyle",
            "intervalstyle" => "IntervalStyle",
            other => other,
        }),
        _ => Vec::new(),
    }
}

/// Views are locked as tables are, so that nobody replaces or drops one while a statement goes by it.
fn add_locks_of_views(access: &[Access], catalog: &Catalog, locks: &mut Vec<(Oid, LockMode)>) {
    let changes_rows = locks.iter().any(|(_, mode)| *mode >= LockMode::RowExclusive);
    // The privilege UPDATE is also that of FOR UPDATE and its kin.
    let mode_of_update = if changes_rows { LockMode::RowExclusive } else { LockMode::RowShare };
    for Access { object, privileges, .. } in access {
        if catalog.table(*object).is_none_or(|table| table.kind != RelationKind::View) {
            continue;
        }
        let has = |asked: Privileges| *privileges & asked != Privileges::NONE;
        let mode = if has(Privileges::INSERT | Privileges::DELETE) {
            LockMode::RowExclusive
        } else if has(Privileges::UPDATE) {
            mode_of_update
        } else {
            LockMode::AccessShare
        };
        match locks.iter_mut().find(|(oid, _)| oid == object) {
            Some((_, held)) => *held = (*held).max(mode),
            None => locks.push((*object, mode)),
        }
    }
}

/// Whether a plan touches one row found by a unique index, or inserts rows it is given.
fn is_point(plan: &Plan) -> bool {
    fn is_plain(plan: &Plan) -> bool {
        match &plan.node {
            Node::IndexPoint(_) | Node::Result { .. } | Node::Values { .. } => true,
            Node::Project { input, .. }
            | Node::Filter { input, .. }
            | Node::OneTimeFilter { input, .. }
            | Node::Limit { input, .. } => is_plain(input),
            Node::LockRows(lock) => is_plain(&lock.input),
            _ => false,
        }
    }
    match &plan.node {
        Node::Insert(insert) => is_plain(&insert.input),
        Node::Update(update) => is_plain(&update.input),
        Node::Delete(delete) => is_plain(&delete.input),
        _ => is_plain(plan),
    }
}

/// Plans one statement.
struct Planner<'c, 'a> {
    context: &'c mut BindContext<'a>,
    /// The queries being planned, outermost first.
    frames: Vec<Frame>,
    /// Outer values read, in order: the frame they come from, and their number.
    uses: Vec<(usize, u32)>,
    /// The common table expressions being planned or read whose rows a rescan makes anew.
    varying_ctes: Vec<CteId>,
    /// Which of them, and which work tables, are read, in order.
    varying_reads: Vec<CteId>,
    outer_count: u32,
    scan_count: u32,
    subquery_count: u32,
    locks: Vec<(Oid, LockMode)>,
    cte_count: u32,
    inlining: Inlining,
    is_read_only: bool,
    /// The newest of the indexes looked at may be used from here on.
    usable_from: Lsn,
    /// An index was left out that is too new for a snapshot in use.
    is_makeshift: bool,
    /// The plan might be another one if the parameters' values were known.
    depends_on_values: bool,
    /// The values of parameters could lead ON CONFLICT to more indexes.
    awaits_values: bool,
    /// ON CONFLICT has found no index without them.
    lacks_arbiter: bool,
    /// A materialized view without rows that a subquery reads.
    unpopulated: Option<Arc<TableDef>>,
}

/// The state of a query while it, or a query inside it, is being planned.
#[derive(Default)]
struct Frame {
    /// Expressions of this query (over its own variables) that something inside it reads as outer values.
    requests: Vec<Request>,
    /// The outputs of the grouping, which replace equal expressions above it.
    grouping: Option<Grouping>,
}

/// An outer value.
struct Request {
    /// Its expression, over the variables of its frame.
    expr: Expr,
    /// Its number.
    index: u32,
}

/// The outputs of a query's grouping.
struct Grouping {
    groups: Vec<Expr>,
    calls: Vec<Expr>,
}

/// A column of a row under construction: an entry of the range table and a column of it, or a computed one.
type Slot = (u32, i32);

/// The cost added to a method that a setting turns off, so that it is used only where there is no other method.
const DISABLED_COST: f64 = 1e10;
/// Stands for a relation in the slots of grouping expressions and aggregates.
const GROUP_RELATION: u32 = u32::MAX;
/// Stands for a relation in the slots of window functions.
const WINDOW_RELATION: u32 = u32::MAX - 1;
/// Stands for a relation in the slots of set-returning calls.
const SET_RELATION: u32 = u32::MAX - 2;
/// Stands for a relation in the slots of a select list.
const TARGET_RELATION: u32 = u32::MAX - 3;
/// Stands for a relation in the slots of expressions that are computed once.
const COMPUTED_RELATION: u32 = u32::MAX - 4;

/// One in so many nodes may be a query: each of them becomes several nodes.
const NODES_OF_QUERY: u32 = 4;

/// How deep a plan may be where it is made.
fn plan_depth_max() -> u32 {
    if sync::is_on_further_stack() { plan::DEPTH_MAX } else { plan::DEPTH_IN_COROUTINES_MAX }
}

/// How deep queries may be nested where they are planned.
fn queries_nested_max() -> u32 {
    plan_depth_max() / NODES_OF_QUERY
}

/// 54001 if a plan is too deep to be run with the stack there is.
fn check_plan_depth(plan: &Plan) -> Result<()> {
    if plan.depth > plan_depth_max() { Err(too_deep()) } else { Ok(()) }
}

impl Planner<'_, '_> {
    /// 54001 if the stack is nearly used up.
    fn check_stack(&self) -> Result<()> {
        if sync::remaining_stack_bytes() < STACK_RESERVE_BYTES { Err(too_deep()) } else { Ok(()) }
    }

    /// A number for a scan.
    fn next_scan(&mut self) -> ScanId {
        self.scan_count += 1;
        ScanId(self.scan_count - 1)
    }

    /// Notes that the statement locks a table, in the strongest mode asked for.
    fn lock_table(&mut self, table: Oid, mode: LockMode) {
        match self.locks.iter_mut().find(|(oid, _)| *oid == table) {
            Some((_, held)) => *held = (*held).max(mode),
            None => self.locks.push((table, mode)),
        }
    }

    /// The frame of the query being planned.
    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a query is being planned")
    }

    /// The number of the outer value that `expr` of frame `depth` is; read from inside that frame.
    fn outer_value(&mut self, depth: usize, expr: Expr) -> u32 {
        let known = self.frames[depth].requests.iter().find(|request| binder::is_one_value(&request.expr, &expr));
        let index = match known {
            Some(request) => request.index,
            None => {
                let index = self.outer_count;
                self.outer_count += 1;
                self.frames[depth].requests.push(Request { expr, index });
                index
            }
        };
        self.uses.push((depth, index));
        index
    }

    /// Takes the outer values of the innermost frame that were read since `mark`, with their expressions. The caller's node stores them
    /// before the plan that reads them starts. Values that `can_store` refuses are left for a node further up.
    fn take_arguments(&mut self, mark: usize, can_store: impl Fn(&Expr) -> bool) -> Vec<(u32, Expr)> {
        let depth = self.frames.len() - 1;
        let mut arguments: Vec<(u32, Expr)> = Vec::new();
        let mut kept = Vec::new();
        for (used, index) in self.uses.drain(mark..) {
            if used != depth {
                kept.push((used, index));
                continue;
            }
            if arguments.iter().any(|(known, _)| *known == index) {
                continue;
            }
            let request = self.frames[depth].requests.iter().find(|request| request.index == index);
            let expr = &request.expect("every use has its request").expr;
            if can_store(expr) {
                arguments.push((index, expr.clone()));
            } else {
                kept.push((used, index));
            }
        }
        self.uses.append(&mut kept);
        arguments
    }

    /// A number for a subquery.
    fn next_subquery(&mut self) -> u32 {
        self.subquery_count += 1;
        self.subquery_count - 1
    }
}

/// A plan node.
fn node(node: Node, width: usize, rows: f64, cost: f64) -> Plan {
    Plan::new(node, width, rows, cost)
}
