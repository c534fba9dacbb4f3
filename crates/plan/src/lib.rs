//! Plans, and the data that binder, planner, executor and commands share: bound queries, privileges, types of users, the catalog with a
//! search path. A statement is a tree of [`Plan`] nodes over [`Expr`]s; the planner makes it and the executor runs it.
//!
//! # Rows and slots
//! Every node produces rows that are flat slices of [`Value`]; a column of the node's input is a **slot**, an
//! index into that slice. [`Plan::width`] is the number of slots a node produces. The slots of each node:
//!
//! | node | slots |
//! | --- | --- |
//! | scans | their `columns`, in that order (a scan reads only what is needed; system columns are asked for by name) |
//! | `Result`, `Project`, `Values` | their expressions |
//! | `ProjectSet` | the input's slots, then one for each of its items |
//! | `Filter`, `OneTimeFilter`, `Sort`, `Limit`, `Distinct`, `LockRows`, `With` | the input's slots |
//! | joins | the left side's slots, then the right side's; semi and anti joins only the left's |
//! | `Aggregate` | the grouping expressions, then the aggregates |
//! | `Window` | the input's slots, then the window functions |
//! | `SetOperation`, `Append`, `RecursiveUnion` | the slots of either input |
//! | `Insert`, `Update`, `Delete` | the RETURNING list (no row at all without one) |
//! | `Merge` | none |
//!
//! Expressions of a node see its *input's* slots (for joins both inputs' together); expressions of a scan see
//! the scan's own slots, those of `Result` and `Values` see none.
//!
//! # Outer values
//! A correlated subquery and the inner side of a parameterised or LATERAL join read values of rows outside
//! themselves. Each such value has an index into the statement's array of *outer values*
//! ([`Statement::outer_count`] long): the node that starts the inner plan ([`Subquery::arguments`],
//! [`NestedLoop::arguments`]) stores them there first, and [`ExprKind::Outer`] reads them. An inner plan is
//! restarted whenever its values have changed.
//!
//! # The read-committed re-check
//! When a row to be changed or locked turns out to have a newer committed version, the statement's
//! conditions are tried again on that version: [`Recheck`] says how.

// Plans are shared by `Arc` with all sessions, and are built once behind boxes.
#![allow(clippy::wrong_self_convention, clippy::large_enum_variant, clippy::arc_with_non_send_sync)]
#![allow(clippy::type_complexity)]

pub mod bound;
mod builtin_function;
mod catalog_view;
mod costs;
mod expr;
mod meaning;
mod measured;
mod merge;
pub mod privileges;
mod scan;
mod system_table;
mod trigger;
pub mod user_types;
mod walk;

use std::sync::Arc;

use base::lock_mode::{LockMode, RowLockMode, WaitPolicy};
use base::{Error, Lsn, Oid, sqlstate};
use schema::catalog::TableDef;
use schema::row::ColumnSet;
use syntax::tree::{self, Name};
use types::SqlType;

use crate::privileges::Access;
pub use builtin_function::{SUPPRESS_REDUNDANT_UPDATES, builtin_trigger_function, function_as_stored};
pub use catalog_view::{CatalogCallbacks, CatalogView, describe_function, split_names};
pub use costs::PlannerCosts;
pub use expr::{
    AggregateCall, Call, CaseWhen, CastExpr, Expr, ExprKind, FieldAccess, FrameExclusion, FunctionTarget, Quantified,
    Quantifier, ROW_MARK, SessionValue, SetCall, Subquery, SubqueryBody, SubqueryKind, Variable, WindowCall,
    WindowFrame, WindowFrameBound, WindowFrameMode, WindowTarget,
};
pub use meaning::{EarlierField, Meaning};
pub use measured::{Effort, Measured};
pub use merge::{Merge, MergeAction, MergeWhen};
pub use scan::{FunctionScan, IndexPoint, IndexRange, IndexScan, KeyPart, ScanColumn, SeqScan, VirtualScan};
pub use system_table::{NoSystemCatalog, SystemCatalog, VirtualColumn, VirtualTable};
pub use trigger::{Event, NEW_ROWS, OLD_ROWS, PlannedTrigger, TableTriggers, is_trigger_of};

/// A planned statement: immutable, shared by all sessions that run the same text.
#[derive(Debug)]
pub struct Statement {
    /// The plan, or the utility statement to run.
    pub kind: StatementKind,
    /// The types of `$1`, `$2`, ... as given or inferred.
    pub parameters: Vec<SqlType>,
    /// The columns of the result; empty for statements that return no rows.
    pub columns: Vec<OutputColumn>,
    /// The beginning of the command tag.
    pub command: Command,
    /// The catalog it was planned against; the executor checks it again once it holds the locks below.
    pub catalog_version: u64,
    /// Relation locks to take before it runs, each relation once: first those that the statement names, in its order, then those
    /// that views read.
    pub locks: Arc<[(Oid, LockMode)]>,
    /// The privileges that it requires. They are checked each time it runs.
    pub access: Vec<Access>,
    /// The number of outer values its plan uses.
    pub outer_count: u32,
    /// The number of [`Subquery`] bodies; their `id`s are below it.
    pub subquery_count: u32,
    /// The number of scans; their [`ScanId`]s are below it.
    pub scan_count: u32,
    /// The number of common table expressions; their [`CteId`]s are below it.
    pub cte_count: u32,
    /// It touches one row by a unique index, or inserts given rows: it may wait for a row by suspending its
    /// session and starting again.
    pub is_point: bool,
    /// It changes no table (it may still call functions that do).
    pub is_read_only: bool,
    /// For a cursor: the rows of tables that its own rows are made of, whose places come behind the columns.
    pub row_places: RowPlaces,
    /// It may be kept: false when planning used something the catalog version does not cover.
    pub is_cacheable: bool,
    /// It might be planned otherwise if the values of its parameters were known.
    pub depends_on_values: bool,
    /// ON CONFLICT has no arbiter index in this plan. A plan for given values of parameters may have one. Running this plan is an error:
    /// [`no_arbiter`].
    pub lacks_arbiter: bool,
    /// It has computed constants that take much memory: a prepared statement or a cache keeps no such plan.
    pub has_large_constants: bool,
    /// It does without an index that is too new for the snapshots in use: the next run gets another plan.
    pub is_makeshift: bool,
    /// Only snapshots at or above this may run it, as some of its indexes know no older versions of rows.
    pub usable_from: Lsn,
    /// Functions in SQL have become part of it.
    pub has_inlined: bool,
    /// A subquery of it reads this materialized view, which has no rows yet. That is an error even if the subquery is never run.
    pub unpopulated: Option<Arc<TableDef>>,
    /// The meaning of its text, if that matters to another plan.
    pub meaning: Option<Arc<Meaning>>,
}

/// Which rows of tables a cursor's row is made of, for `WHERE CURRENT OF`.
#[derive(Debug, Default)]
pub struct RowPlaces {
    /// The tables, in the order of the places; and whether their rows are locked.
    pub tables: Vec<(Oid, bool)>,
    /// It is FOR UPDATE or its kin.
    pub locks_rows: bool,
    /// It scans one table and does nothing more with its rows than to compute columns.
    pub is_simple: bool,
}

/// The cursor that `WHERE CURRENT OF` names.
#[derive(Debug, Clone)]
pub struct CursorName {
    /// The name as written.
    pub name: Name,
    /// The parameter that holds the cursor's name, where a function's variable was written.
    pub parameter: Option<u32>,
}

/// The row of a table that a cursor stands on, its newest version.
#[derive(Debug)]
pub struct CurrentOf {
    /// The scan's number.
    pub scan: ScanId,
    /// The table.
    pub table: Arc<TableDef>,
    /// The name it goes by in the statement.
    pub alias: Name,
    /// The slots.
    pub columns: Vec<ScanColumn>,
    /// The cursor.
    pub cursor: CursorName,
}

/// The two kinds of statements.
#[derive(Debug)]
pub enum StatementKind {
    /// A query or a change of rows.
    Query(Box<Plan>),
    /// Everything else, run from its tree.
    Utility(Box<tree::Statement>),
}

/// The beginning of a command tag, for statements that have a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// `SELECT n`
    Select,
    /// `INSERT 0 n`
    Insert,
    /// `UPDATE n`
    Update,
    /// `DELETE n`
    Delete,
    /// `MERGE n`
    Merge,
    /// A utility statement: its own tag.
    Utility,
}

impl Command {
    /// The name in messages. A utility statement that has rows is named as a query.
    pub fn name(self) -> &'static str {
        match self {
            Command::Select | Command::Utility => "SELECT",
            Command::Insert => "INSERT",
            Command::Update => "UPDATE",
            Command::Delete => "DELETE",
            Command::Merge => "MERGE",
        }
    }
}

/// A column of a result, as a client is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputColumn {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub sql_type: SqlType,
    /// The table it comes from unchanged, or [`Oid::INVALID`].
    pub table: Oid,
    /// The column's number in that table from 1, or 0.
    pub attribute: i16,
}

/// The number of a scan within its statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScanId(pub u32);

/// The number of a common table expression within its statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CteId(pub u32);

/// So many nodes of a plan may run one within the other on a coroutine's stack. A deeper plan is made and run on a further one.
pub const DEPTH_IN_COROUTINES_MAX: u32 = 250;
/// The same on a further stack: the deepest that a plan may be.
pub const DEPTH_MAX: u32 = 6000;

/// A node of a plan, with the planner's estimates for it.
#[derive(Debug)]
pub struct Plan {
    /// The operation of the node.
    pub node: Node,
    /// The number of slots it produces.
    pub width: u32,
    /// The number of rows it is expected to produce.
    pub rows: f64,
    /// The expected cost of running it to the end, in PostgreSQL's units (one sequential page read).
    pub cost: f64,
    /// How many nodes may run one within the other, this one included.
    pub depth: u32,
}

/// A column that a `ProjectSet` puts behind a row.
#[derive(Debug)]
pub enum SetItem {
    /// A set, value by value.
    Call(SetCall),
    /// Something volatile beside the sets: computed with each look for their next values, as in PostgreSQL.
    Value(Expr),
}

/// The operation of a plan node.
#[derive(Debug)]
pub enum Node {
    /// One row of expressions, if the condition holds.
    Result {
        /// The row.
        exprs: Vec<Expr>,
        /// Without it, the row always comes.
        condition: Option<Expr>,
    },
    /// Rows of expressions.
    Values {
        /// The rows, all of one length.
        rows: Vec<Vec<Expr>>,
    },
    /// Every visible row of a table.
    SeqScan(Box<SeqScan>),
    /// The rows of a table within a range of an index, in the index's order.
    IndexScan(Box<IndexScan>),
    /// The one row of a table with a given unique key.
    IndexPoint(Box<IndexPoint>),
    /// The rows of set-returning functions, side by side.
    FunctionScan(Box<FunctionScan>),
    /// A table computed by the server: a system catalog or view.
    VirtualScan(Box<VirtualScan>),
    /// The rows of a common table expression.
    CteScan {
        /// Which.
        cte: CteId,
        /// Its name, for EXPLAIN.
        name: Name,
        /// The scan's number.
        scan: ScanId,
        /// Keeps only rows for which it is true.
        filter: Option<Expr>,
    },
    /// The rows that the last round of the [`RecursiveUnion`] with this `cte` added.
    WorkTableScan {
        /// Which.
        cte: CteId,
    },
    /// Rows for which the condition is true.
    Filter {
        /// Where rows come from.
        input: Box<Plan>,
        /// The condition.
        condition: Expr,
    },
    /// Returns all input rows if the condition is true, and none otherwise. The condition reads no row and is computed once, before the first
    /// one.
    OneTimeFilter {
        /// Where rows come from.
        input: Box<Plan>,
        /// The condition.
        condition: Expr,
    },
    /// Expressions over each row.
    Project {
        /// Where rows come from.
        input: Box<Plan>,
        /// The new row.
        exprs: Vec<Expr>,
    },
    /// The rows of an entry that is no table. While a re-check runs the input again, the row alone that the entry had.
    KeptRows {
        /// Where rows come from.
        input: Box<Plan>,
        /// The number by which the re-check names it.
        scan: ScanId,
    },
    /// Each row as often as its set-returning calls give values, in step; a shorter set is padded with NULL.
    ProjectSet {
        /// Where rows come from.
        input: Box<Plan>,
        /// Over the input's slots, and computed in this order.
        items: Vec<SetItem>,
    },
    /// For each left row the matching right rows, the right side run again each time.
    NestedLoop(Box<NestedLoop>),
    /// The right side is put in a hash table once, then probed by each left row.
    HashJoin(Box<HashJoin>),
    /// Both sides come in the order of their keys, and are read side by side.
    MergeJoin(Box<MergeJoin>),
    /// All rows, ordered.
    Sort {
        /// Where rows come from.
        input: Box<Plan>,
        /// The order; ties come in any order.
        keys: Vec<SortKey>,
    },
    /// The first rows after an offset.
    Limit {
        /// Where rows come from.
        input: Box<Plan>,
        /// An int8; NULL or absent means all rows.
        limit: Option<Expr>,
        /// An int8; NULL or absent means 0.
        offset: Option<Expr>,
        /// FETCH ... WITH TIES: rows that equal the last one in these expressions come as well.
        ties: Option<Vec<Expr>>,
    },
    /// One row per group.
    Aggregate(Box<Aggregate>),
    /// Window functions over partitions; the input is sorted by partition, then by order.
    Window(Box<Window>),
    /// Each distinct row once.
    Distinct {
        /// Where rows come from.
        input: Box<Plan>,
        /// Of its columns.
        types: Vec<SqlType>,
    },
    /// The first row of each run of rows that are equal in the keys; the input is sorted by them first.
    DistinctOn {
        /// Where rows come from.
        input: Box<Plan>,
        /// The expressions that have equal values in all rows of a run.
        keys: Vec<Expr>,
    },
    /// INTERSECT or EXCEPT (UNION is an `Append`, with a `Distinct` above it unless ALL).
    SetOperation {
        /// Which.
        operation: SetOperator,
        /// Keep duplicates, counted as the standard says.
        all: bool,
        /// The first operand.
        left: Box<Plan>,
        /// The second operand.
        right: Box<Plan>,
        /// Of either's columns.
        types: Vec<SqlType>,
    },
    /// The rows of all inputs, one input after the other.
    Append {
        /// All of the same width.
        inputs: Vec<Plan>,
    },
    /// Makes common table expressions available to `input`.
    With {
        /// In the order of their text; a later one may read an earlier one.
        ctes: Vec<Cte>,
        /// The main query.
        input: Box<Plan>,
    },
    /// WITH RECURSIVE: the anchor's rows, then again and again the recursive term over the last round's.
    RecursiveUnion(Box<RecursiveUnion>),
    /// SELECT ... FOR UPDATE and its weaker kin.
    LockRows(Box<LockRows>),
    /// INSERT.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE.
    Delete(Box<Delete>),
    /// MERGE.
    Merge(Box<Merge>),
    /// The row a cursor stands on.
    CurrentOf(Box<CurrentOf>),
    /// INSERT, UPDATE or DELETE of a view by its INSTEAD OF triggers.
    ViewChange(Box<ViewChange>),
}

/// How a join treats rows without a partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// They vanish.
    Inner,
    /// Left ones come with NULLs.
    Left,
    /// Right ones come with NULLs.
    Right,
    /// Both do.
    Full,
    /// Left rows that have a partner, once each, alone.
    Semi,
    /// Left rows that have none, alone.
    Anti,
}

/// For each left row, the right side is run again.
#[derive(Debug)]
pub struct NestedLoop {
    /// Inner, Left, Semi or Anti.
    pub kind: JoinKind,
    /// The outer side.
    pub left: Plan,
    /// The inner side.
    pub right: Plan,
    /// Outer values to store before the right side starts, computed from the left row.
    pub arguments: Vec<(u32, Expr)>,
    /// Sees both sides' slots (for semi and anti joins as well).
    pub condition: Option<Expr>,
    /// The right side does not depend on the left row: its rows can be kept and read again.
    pub keep_right: bool,
}

/// A join by equality.
#[derive(Debug)]
pub struct HashJoin {
    /// Any kind.
    pub kind: JoinKind,
    /// The probing side.
    pub left: Plan,
    /// The hashed side.
    pub right: Plan,
    /// Over the left slots; the same types as `right_keys`, pair by pair. A NULL matches nothing.
    pub left_keys: Vec<Expr>,
    /// Over the right slots.
    pub right_keys: Vec<Expr>,
    /// The join's further condition, over the slots of both sides.
    pub condition: Option<Expr>,
    /// NOT IN: an anti join in which a NULL key on either side means "unknown", so the row does not come.
    pub null_aware: bool,
    /// The right side is the same however often the join runs again.
    pub keeps_right: bool,
}

/// A join by equality of two sides that come in the ascending order of their keys, NULLs last.
#[derive(Debug)]
pub struct MergeJoin {
    /// Any kind but a right join.
    pub kind: JoinKind,
    /// The side that leads.
    pub left: Plan,
    /// The side whose rows of one key are kept.
    pub right: Plan,
    /// Over the left slots; of types that compare with those of `right_keys`, pair by pair. A NULL matches nothing.
    pub left_keys: Vec<Expr>,
    /// Over the right slots.
    pub right_keys: Vec<Expr>,
    /// The join's further condition, over the slots of both sides.
    pub condition: Option<Expr>,
}

/// One key of an order.
#[derive(Debug, Clone)]
pub struct SortKey {
    /// The compared expression. Its values are compared by their type's default order.
    pub expr: Expr,
    /// The greatest first.
    pub descending: bool,
    /// NULLs come before all others.
    pub nulls_first: bool,
}

/// One row per group; without grouping expressions one row in all, even of no input.
#[derive(Debug)]
pub struct Aggregate {
    /// Where rows come from.
    pub input: Plan,
    /// The grouping expressions. Rows with equal values of them are one group; NULLs are equal.
    pub groups: Vec<Expr>,
    /// How many of them, the first ones, tell groups apart. These determine the others.
    pub key_count: usize,
    /// The input is sorted by the grouping expressions: groups come in order, one at a time.
    pub sorted: bool,
    /// The aggregates that are computed for each group.
    pub calls: Vec<AggregateCall>,
}

/// Window functions with one common window.
#[derive(Debug)]
pub struct Window {
    /// Sorted by `partition`, then `order`.
    pub input: Plan,
    /// The expressions that have equal values in all rows of a partition.
    pub partition: Vec<Expr>,
    /// The sort keys of a partition. Rows with equal keys are peers.
    pub order: Vec<SortKey>,
    /// The window functions that are computed for each row.
    pub calls: Vec<WindowCall>,
    /// For each call, the first call whose frame has the same offsets: offsets that are written the same way are computed once.
    pub offsets_of: Vec<u32>,
}

/// INTERSECT or EXCEPT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperator {
    /// Rows of both.
    Intersect,
    /// Rows of the first alone.
    Except,
}

/// A common table expression.
#[derive(Debug)]
pub struct Cte {
    /// Its number.
    pub id: CteId,
    /// Its name.
    pub name: Name,
    /// Its plan: run as its rows are asked for, which are kept.
    pub plan: Plan,
    /// It reads outer values, a work table, or another such expression: its rows are made anew when those have changed.
    pub correlated: bool,
    /// It changes rows: run to its end even if nobody reads it.
    pub modifies: bool,
}

/// The plan of a recursive common table expression.
#[derive(Debug)]
pub struct RecursiveUnion {
    /// Whose working table the recursive term scans.
    pub cte: CteId,
    /// The first rows.
    pub anchor: Plan,
    /// Holds a `WorkTableScan` of `cte`.
    pub recursive: Plan,
    /// UNION ALL: otherwise each distinct row once.
    pub all: bool,
    /// The types of its columns.
    pub types: Vec<SqlType>,
}

/// Locks the rows of some of its input's tables.
#[derive(Debug)]
pub struct LockRows {
    /// Where rows come from.
    pub input: Plan,
    /// Which rows, how.
    pub locks: Vec<RowLock>,
    /// How to try again with a newer version.
    pub recheck: Recheck,
}

/// A lock on one row of each input row.
#[derive(Debug)]
pub struct RowLock {
    /// The table.
    pub table: Arc<TableDef>,
    /// The scan whose rows are locked.
    pub scan: ScanId,
    /// The slot of the row's [`ScanColumn::Ctid`]; NULL where an outer join found no row.
    pub ctid: u32,
    /// How strong.
    pub mode: RowLockMode,
    /// How to treat a lock that another transaction holds.
    pub wait: WaitPolicy,
}

/// How to try a statement's conditions again for a newer version of one row.
#[derive(Debug)]
pub enum Recheck {
    /// Read the scan's slots anew from the newer version, then test the condition.
    Columns {
        /// For each scan whose rows may be replaced: where its columns lie in the input row.
        scans: Vec<ScanSlots>,
        /// Over the input row, with the replaced scan's slots read from the newer version: true if the row
        /// still qualifies. Without it, every newer version does.
        condition: Option<Expr>,
        /// Slots of the input row that are computed from the others, and how: anew for a newer version.
        computed: Vec<(u32, Expr)>,
    },
    /// Run the input again, with each of these scans giving only one row: the newer version for the one that was
    /// replaced, the version named by the input row's ctid slot for the others. Each resulting row qualifies.
    Rerun {
        /// The scans of tables below.
        scans: Vec<ScanSlots>,
        /// The entries below that are no tables. Each gives the row that it had in the input row.
        rows: Vec<RowSlots>,
    },
}

/// Where the columns of an entry that is no table lie in a row further up.
#[derive(Debug, Clone)]
pub struct RowSlots {
    /// Its [`Node::KeptRows`].
    pub scan: ScanId,
    /// The slot of its mark ([`ROW_MARK`]): NULL if an outer join has made up the row.
    pub mark: u32,
    /// All its slots in the order of its row, the mark among them.
    pub slots: Vec<u32>,
}

/// Where the columns of a scan lie in a row further up.
#[derive(Debug, Clone)]
pub struct ScanSlots {
    /// The scan.
    pub scan: ScanId,
    /// Its table.
    pub table: Arc<TableDef>,
    /// The slot of its ctid.
    pub ctid: u32,
    /// Slot and what it holds, the ctid included.
    pub columns: Vec<(u32, ScanColumn)>,
}

/// A table whose rows are changed, and what its constraints need.
#[derive(Debug, Clone)]
pub struct Target {
    /// The table.
    pub table: Arc<TableDef>,
    /// Its constraints' and indexes' expressions; `None` when it has none.
    pub expressions: Option<Arc<TableExpressions>>,
    /// Its triggers; `None` when it has none.
    pub triggers: Option<Arc<TableTriggers>>,
    /// WITH CHECK OPTION of the views in whose place it stands: the view's name, and what must be true of new rows.
    pub view_checks: Vec<(Name, Expr)>,
    /// The columns that the statement gives values: an error may show them to a role that may not read the table.
    pub given: ColumnSet,
    /// RETURNING reads system columns: those of the version written come behind its row, as in [`ScanColumn::SYSTEM`].
    pub returns_version: bool,
}

/// The expressions that belong to a table's definition, bound over the table's full row: slot `n` is the column
/// at place `n` of [`TableDef::columns`], dropped ones included (NULL).
#[derive(Debug, Clone, Default)]
pub struct TableExpressions {
    /// CHECK constraints: name, and condition that must not be false.
    pub checks: Vec<(Name, Expr)>,
    /// Stored generated columns: place, and expression.
    pub generated: Vec<(u32, Expr)>,
    /// For each index by its position (ascending oid): its key expressions and predicate; `None` if it has neither.
    pub indexes: Vec<Option<IndexExpressions>>,
}

/// An index's expressions over its table's full row.
#[derive(Debug, Clone)]
pub struct IndexExpressions {
    /// One for each key column that is an expression: its place among the keys, and the expression.
    pub keys: Vec<(u32, Expr)>,
    /// Rows for which it is not true have no entry.
    pub predicate: Option<Expr>,
}

/// INSERT.
#[derive(Debug)]
pub struct Insert {
    /// The table.
    pub target: Target,
    /// Produces full rows: slot `n` is the column at place `n` of the table, defaults filled in. Generated
    /// columns are NULL here, and computed by `target.expressions`.
    pub input: Plan,
    /// ON CONFLICT.
    pub on_conflict: Option<OnConflict>,
    /// Over the full row inserted (or, after ON CONFLICT DO UPDATE, the row as it became).
    pub returning: Option<Vec<Expr>>,
}

/// 42P10: ON CONFLICT's target leads to no index.
pub fn no_arbiter() -> Error {
    let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
    Error::new(sqlstate::INVALID_COLUMN_REFERENCE, message)
}

/// ON CONFLICT.
#[derive(Debug)]
pub struct OnConflict {
    /// Positions of the arbiter indexes; empty means every unique index.
    pub arbiters: Vec<u32>,
    /// The first arbiter that is deferrable, which is an error for the row that gets as far as to it.
    pub deferrable_arbiter: Option<u32>,
    /// See [`Statement::lacks_arbiter`].
    pub lacks_arbiter: bool,
    /// DO UPDATE; `None` is DO NOTHING.
    pub update: Option<ConflictUpdate>,
}

/// ON CONFLICT DO UPDATE. Its expressions see the existing row's full columns, then the full row that was to be
/// inserted (`excluded`).
#[derive(Debug)]
pub struct ConflictUpdate {
    /// The columns assigned.
    pub assignments: Vec<Assignment>,
    /// Only if true.
    pub condition: Option<Expr>,
    /// They read system columns of the existing row: these come behind both rows, as in [`ScanColumn::SYSTEM`].
    pub reads_version: bool,
}

/// One `column = expression` of a SET clause.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// The column's place in the table.
    pub column: u32,
    /// Its new value, coerced to the column's type.
    pub value: Expr,
}

/// UPDATE. Columns that are not assigned keep the values of the version that is replaced; the executor takes them
/// from that version, not from the input row.
#[derive(Debug)]
pub struct Update {
    /// The table.
    pub target: Target,
    /// The scan that gave the row.
    pub scan: ScanId,
    /// The slot of the row's ctid.
    pub ctid: u32,
    /// Gives the rows to change; the same row may come twice from a join, then the first counts.
    pub input: Plan,
    /// The columns assigned, over the input row.
    pub assignments: Vec<Assignment>,
    /// How to try again with a newer version.
    pub recheck: Recheck,
    /// RETURNING, over the input row followed by the new version's full columns.
    pub returning: Option<Vec<Expr>>,
}

/// INSERT, UPDATE or DELETE of a view whose INSTEAD OF triggers do it.
#[derive(Debug)]
pub struct ViewChange {
    /// The view.
    pub target: Target,
    /// The operation on its rows.
    pub event: Event,
    /// INSERT: full rows. UPDATE and DELETE: rows that hold the view's, among others.
    pub input: Plan,
    /// UPDATE and DELETE: the slots of the view's columns in the input row.
    pub old: Vec<u32>,
    /// UPDATE: the columns assigned, over the input row.
    pub assignments: Vec<Assignment>,
    /// RETURNING: of INSERT over the new row, otherwise over the input row followed by the new (DELETE: the old) row.
    pub returning: Option<Vec<Expr>>,
}

/// DELETE.
#[derive(Debug)]
pub struct Delete {
    /// The table.
    pub target: Target,
    /// The scan that gave the row.
    pub scan: ScanId,
    /// The slot of the row's ctid.
    pub ctid: u32,
    /// Gives the rows to delete.
    pub input: Plan,
    /// How to try again with a newer version.
    pub recheck: Recheck,
    /// RETURNING, over the input row followed by the deleted version's full columns.
    pub returning: Option<Vec<Expr>>,
}

impl Plan {
    /// A node of `width` slots.
    pub fn new(node: Node, width: usize, rows: f64, cost: f64) -> Plan {
        let width = u32::try_from(width).expect("a row has fewer than 2^32 columns");
        let depth = node.depth_of_inputs().saturating_add(1);
        Plan { node, width, rows, cost, depth }
    }
}
