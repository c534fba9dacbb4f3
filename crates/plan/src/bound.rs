//! Bound queries: every name looked up, every expression typed; what the planner starts from.
//!
//! Columns are [`Variable`](crate::Variable)s here: an entry of a query's range table and a column of it, with
//! the number of queries to go out to find that range table.

use std::sync::Arc;

use base::lock_mode::{RowLockMode, WaitPolicy};
use schema::catalog::TableDef;
use syntax::tree::Name;
use types::SqlType;

use super::{
    Assignment, CteId, CursorName, Expr, ExprKind, JoinKind, MergeWhen, OutputColumn, SetCall, SortKey, SubqueryBody,
    Target, VirtualTable, WindowFrame,
};

/// A bound SELECT, or the part of a change that finds its rows.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// The range table.
    pub relations: Vec<Relation>,
    /// FROM: its items are joined by their product.
    pub from: Vec<FromItem>,
    /// WHERE
    pub filter: Option<Expr>,
    /// The select list; hidden ones are only sorted, grouped or made distinct by.
    pub targets: Vec<TargetEntry>,
    /// GROUP BY's expressions.
    pub groups: Vec<Expr>,
    /// The places in `groups` of items that only repeat an earlier one. The text of a query that is stored leaves them out.
    pub repeated_groups: Vec<usize>,
    /// Whether there is GROUP BY, HAVING or an aggregate.
    pub is_grouped: bool,
    /// HAVING
    pub having: Option<Expr>,
    /// The windows that window functions refer to.
    pub windows: Vec<WindowSpec>,
    /// DISTINCT
    pub distinct: Distinct,
    /// ORDER BY, over targets.
    pub order: Vec<OrderItem>,
    /// There is an ORDER BY: `order` is not DISTINCT ON's alone.
    pub has_written_order: bool,
    /// OFFSET, an int8.
    pub offset: Option<Expr>,
    /// LIMIT, an int8.
    pub limit: Option<Expr>,
    /// WITH TIES
    pub with_ties: bool,
    /// FOR UPDATE and its kin.
    pub locks: Vec<Lock>,
    /// The query is a set operation: `from` and the like are empty, `relations` are its leaves.
    pub set_operation: Option<SetOperation>,
    /// WITH
    pub ctes: Vec<Cte>,
    /// INSERT, UPDATE, DELETE or MERGE of the rows found.
    pub change: Option<Box<Change>>,
    /// The select list has calls that return sets.
    pub has_sets: bool,
    /// WHERE CURRENT OF: only the row that a cursor stands on is changed.
    pub current_of: Option<CursorName>,
    /// Entries that are subqueries whose rows a FOR UPDATE of this query locks, and how. `locks` has tables alone.
    pub locked_subqueries: Vec<(u32, RowLockMode)>,
    /// It is not merged into the query that reads it: it locks rows, or a view's triggers take its rows.
    pub is_kept_apart: bool,
    /// It is a view with `security_barrier`: no condition sees rows that it does not show, but leakproof ones.
    pub is_barrier: bool,
    /// It was written as an UPDATE of `pg_settings`.
    pub is_settings_update: bool,
}

/// An entry of the range table.
#[derive(Debug, Clone)]
pub struct Relation {
    /// Its kind.
    pub kind: RelationKind,
    /// The name it goes by.
    pub alias: Name,
    /// Its columns, with their names as the alias gives them.
    pub columns: Vec<Column>,
    /// It may read entries to its left.
    pub lateral: bool,
    /// Where the statement's needs tell which columns of it are read, for tables and views.
    pub access: Option<usize>,
}

/// A column of a range table entry.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub sql_type: SqlType,
    /// It is there no more: a dropped column of a table.
    pub dropped: bool,
}

/// The kind of a range table entry.
#[derive(Debug, Clone)]
pub enum RelationKind {
    /// A table; its columns are the table's, dropped ones included.
    Table(Arc<TableDef>),
    /// A table computed by the server.
    Virtual(Arc<VirtualTable>),
    /// A subquery, or a view's query.
    Subquery(Box<Query>),
    /// Set-returning functions side by side.
    Function {
        /// The calls.
        calls: Vec<SetCall>,
        /// WITH ORDINALITY
        ordinality: bool,
    },
    /// VALUES
    Values(Vec<Vec<Expr>>),
    /// A common table expression.
    Cte(CteId),
    /// The working table of a recursive one, within its own recursive term.
    WorkTable(CteId),
    /// The row that was to be inserted, in ON CONFLICT DO UPDATE.
    Excluded,
}

/// An item of FROM.
#[derive(Debug, Clone)]
pub enum FromItem {
    /// An entry of the range table.
    Relation(u32),
    /// A join of two items.
    Join(Box<Join>),
}

/// A join.
#[derive(Debug, Clone)]
pub struct Join {
    /// Inner, Left, Right or Full.
    pub kind: JoinKind,
    /// The left side.
    pub left: FromItem,
    /// The right side.
    pub right: FromItem,
    /// ON, or what USING and NATURAL mean.
    pub condition: Option<Expr>,
}

/// An item of the select list.
#[derive(Debug, Clone)]
pub struct TargetEntry {
    /// The selected expression.
    pub expr: Expr,
    /// The description of the column that a client gets.
    pub column: OutputColumn,
    /// Not part of the result.
    pub hidden: bool,
}

/// DISTINCT
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Distinct {
    /// Not written.
    #[default]
    No,
    /// Over all targets that are not hidden.
    All,
    /// ON these targets.
    On(Vec<u32>),
}

/// An item of ORDER BY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderItem {
    /// The target.
    pub target: u32,
    /// DESC
    pub descending: bool,
    /// NULLS FIRST
    pub nulls_first: bool,
}

/// A window.
#[derive(Debug, Clone)]
pub struct WindowSpec {
    /// Its name, if WINDOW gives it one.
    pub name: Option<Name>,
    /// PARTITION BY
    pub partition: Vec<Expr>,
    /// ORDER BY
    pub order: Vec<SortKey>,
    /// The frame, if WINDOW gives it one.
    pub frame: Option<WindowFrame>,
    /// The frame was written: the window can't be built upon.
    pub has_own_frame: bool,
}

/// A lock on the rows of an entry.
#[derive(Debug, Clone, Copy)]
pub struct Lock {
    /// The entry.
    pub relation: u32,
    /// How strong.
    pub mode: RowLockMode,
    /// How to treat locks that other transactions hold.
    pub wait: WaitPolicy,
    /// The clause is in a query outside. Merging the two queries then locks the same rows.
    pub is_from_outside: bool,
}

/// A set operation over leaves of the range table, all with the same column types.
#[derive(Debug, Clone)]
pub enum SetOperation {
    /// A leaf.
    Leaf(u32),
    /// An operand brought to the types of the whole: expressions over its columns as slots.
    Cast {
        /// The operand.
        input: Box<SetOperation>,
        /// The columns.
        exprs: Vec<Expr>,
    },
    /// An operation.
    Node {
        /// Which.
        operator: syntax::tree::SetOperator,
        /// ALL
        all: bool,
        /// The first operand.
        left: Box<SetOperation>,
        /// The second operand.
        right: Box<SetOperation>,
    },
}

/// A common table expression.
#[derive(Debug, Clone)]
pub struct Cte {
    /// Its number within the statement.
    pub id: CteId,
    /// Its name.
    pub name: Name,
    /// Its query; of a recursive one, the anchor.
    pub query: Query,
    /// The recursive term, and whether it is UNION ALL.
    pub recursive: Option<(Query, bool)>,
    /// How many places read it.
    pub references: u32,
    /// MATERIALIZED or NOT MATERIALIZED was written.
    pub materialized: Option<bool>,
    /// Of a query that is to be stored: the two terms as they were written, if SEARCH or CYCLE made others of them.
    pub written_terms: Option<Box<(Query, Query)>>,
}

/// A change of rows.
#[derive(Debug, Clone)]
pub enum Change {
    /// INSERT: the query's targets are the table's columns in order, dropped ones as NULL.
    Insert {
        /// The table.
        target: Target,
        /// ON CONFLICT
        on_conflict: Option<OnConflict>,
        /// RETURNING, over relation 0 of a range table that has only the target.
        returning: Option<Vec<TargetEntry>>,
    },
    /// UPDATE of relation `relation`.
    Update {
        /// The table.
        target: Target,
        /// Its entry in the range table.
        relation: u32,
        /// SET, over the query's relations.
        assignments: Vec<Assignment>,
        /// RETURNING, over the query's relations; the target's variables mean the new row.
        returning: Option<Vec<TargetEntry>>,
    },
    /// DELETE of relation `relation`.
    Delete {
        /// The table.
        target: Target,
        /// Its entry in the range table.
        relation: u32,
        /// RETURNING, over the query's relations.
        returning: Option<Vec<TargetEntry>>,
    },
    /// MERGE into relation `relation`, which the query's FROM joins with the source.
    Merge {
        /// The table.
        target: Target,
        /// Its entry in the range table.
        relation: u32,
        /// ON, over the query's relations. The join has it, too; here it is to be tried again for a newer version of a row.
        condition: Expr,
        /// The WHEN clauses, over the query's relations.
        clauses: Vec<MergeWhen>,
    },
}

impl Change {
    /// RETURNING.
    pub fn returning(&self) -> Option<&Vec<TargetEntry>> {
        match self {
            Change::Insert { returning, .. } | Change::Update { returning, .. } | Change::Delete { returning, .. } => {
                returning.as_ref()
            }
            Change::Merge { .. } => None,
        }
    }
}

/// The target of ON CONFLICT.
#[derive(Debug, Clone)]
pub enum ConflictTarget {
    /// None is written: all unique indexes.
    AllIndexes,
    /// The index of a constraint, by its position among the table's indexes.
    Constraint(u32),
    /// The unique indexes that have these keys.
    Keys {
        /// The columns among them, by place.
        columns: Vec<usize>,
        /// The expressions among them, over the table's full row.
        expressions: Vec<Expr>,
        /// It implies the predicates of the indexes.
        filter: Option<Expr>,
    },
}

/// ON CONFLICT
#[derive(Debug, Clone)]
pub struct OnConflict {
    /// The target.
    pub target: ConflictTarget,
    /// SET and WHERE of DO UPDATE, over relation 0 (the existing row) and relation 1 (`excluded`).
    pub update: Option<(Vec<Assignment>, Option<Expr>)>,
}

impl Query {
    /// The columns of its result.
    pub fn output(&self) -> impl Iterator<Item = &TargetEntry> {
        self.targets.iter().filter(|target| !target.hidden)
    }

    /// The columns a client sees: RETURNING's for a change.
    pub fn output_columns(&self) -> Vec<OutputColumn> {
        match self.change.as_deref() {
            None => self.output().map(|target| target.column.clone()).collect(),
            Some(change) => change.returning().into_iter().flatten().map(|target| target.column.clone()).collect(),
        }
    }
}

impl Query {
    /// Calls `visit` for each expression of this query, and of the queries in its FROM and WITH, with the number of
    /// queries between them and this one. Expressions inside expressions are `visit`'s business.
    pub fn for_each_expr<'q>(&'q self, depth: u32, visit: &mut dyn FnMut(&'q Expr, u32)) {
        fn join<'q>(item: &'q FromItem, depth: u32, visit: &mut dyn FnMut(&'q Expr, u32)) {
            if let FromItem::Join(inner) = item {
                join(&inner.left, depth, visit);
                join(&inner.right, depth, visit);
                inner.condition.iter().for_each(|condition| visit(condition, depth));
            }
        }
        for relation in &self.relations {
            match &relation.kind {
                RelationKind::Subquery(query) => query.for_each_expr(depth + 1, visit),
                RelationKind::Function { calls, .. } => {
                    calls.iter().flat_map(|call| &call.arguments).for_each(|argument| visit(argument, depth));
                }
                RelationKind::Values(rows) => rows.iter().flatten().for_each(|value| visit(value, depth)),
                _ => {}
            }
        }
        self.from.iter().for_each(|item| join(item, depth, visit));
        for cte in &self.ctes {
            cte.query.for_each_expr(depth + 1, visit);
            if let Some((recursive, _)) = &cte.recursive {
                recursive.for_each_expr(depth + 1, visit);
            }
        }
        self.targets.iter().for_each(|target| visit(&target.expr, depth));
        for expr in self.filter.iter().chain(&self.having).chain(&self.offset).chain(&self.limit).chain(&self.groups) {
            visit(expr, depth);
        }
        for window in &self.windows {
            window.partition.iter().for_each(|expr| visit(expr, depth));
            window.order.iter().for_each(|key| visit(&key.expr, depth));
        }
        match self.change.as_deref() {
            None => {}
            Some(Change::Insert { on_conflict, returning, .. }) => {
                if let Some(OnConflict { update: Some((assignments, condition)), .. }) = on_conflict {
                    assignments.iter().for_each(|assignment| visit(&assignment.value, depth));
                    condition.iter().for_each(|condition| visit(condition, depth));
                }
                returning.iter().flatten().for_each(|target| visit(&target.expr, depth));
            }
            Some(Change::Update { assignments, returning, .. }) => {
                assignments.iter().for_each(|assignment| visit(&assignment.value, depth));
                returning.iter().flatten().for_each(|target| visit(&target.expr, depth));
            }
            Some(Change::Delete { returning, .. }) => {
                returning.iter().flatten().for_each(|target| visit(&target.expr, depth));
            }
            Some(Change::Merge { condition, clauses, .. }) => {
                visit(condition, depth);
                clauses.iter().for_each(|clause| clause.for_each_expr(&mut |expr| visit(expr, depth)));
            }
        }
    }

    /// Whether it locks rows, or a query anywhere in it does.
    pub fn locks_rows(&self) -> bool {
        let mut locks = self.locks_rows_in_from();
        // The walk comes to the expressions of queries in FROM and WITH by itself.
        self.for_each_expr(0, &mut |expr, _| {
            locks = locks
                || expr.any(&|inner| match &inner.kind {
                    ExprKind::Subquery(subquery) => {
                        matches!(&subquery.body, SubqueryBody::Bound(query) if query.locks_rows())
                    }
                    _ => false,
                });
        });
        locks
    }

    /// Whether it locks rows, or a query in its FROM or WITH does.
    fn locks_rows_in_from(&self) -> bool {
        let in_relation = |relation: &Relation| match &relation.kind {
            RelationKind::Subquery(query) => query.locks_rows_in_from(),
            _ => false,
        };
        let in_cte = |cte: &Cte| {
            let recursive = cte.recursive.as_ref().map(|(recursive, _)| recursive);
            std::iter::once(&cte.query).chain(recursive).any(Query::locks_rows_in_from)
        };
        !self.locks.is_empty() || self.relations.iter().any(in_relation) || self.ctes.iter().any(in_cte)
    }

    /// As [`Query::for_each_expr`], to change them.
    pub fn for_each_expr_mut(&mut self, depth: u32, visit: &mut dyn FnMut(&mut Expr, u32)) {
        fn join(item: &mut FromItem, depth: u32, visit: &mut dyn FnMut(&mut Expr, u32)) {
            if let FromItem::Join(inner) = item {
                join(&mut inner.left, depth, visit);
                join(&mut inner.right, depth, visit);
                inner.condition.iter_mut().for_each(|condition| visit(condition, depth));
            }
        }
        for relation in &mut self.relations {
            match &mut relation.kind {
                RelationKind::Subquery(query) => query.for_each_expr_mut(depth + 1, visit),
                RelationKind::Function { calls, .. } => {
                    calls.iter_mut().flat_map(|call| &mut call.arguments).for_each(|argument| visit(argument, depth));
                }
                RelationKind::Values(rows) => rows.iter_mut().flatten().for_each(|value| visit(value, depth)),
                _ => {}
            }
        }
        self.from.iter_mut().for_each(|item| join(item, depth, visit));
        for cte in &mut self.ctes {
            cte.query.for_each_expr_mut(depth + 1, visit);
            if let Some((recursive, _)) = &mut cte.recursive {
                recursive.for_each_expr_mut(depth + 1, visit);
            }
        }
        self.targets.iter_mut().for_each(|target| visit(&mut target.expr, depth));
        let single = [&mut self.filter, &mut self.having, &mut self.offset, &mut self.limit];
        for expr in single.into_iter().flatten().chain(&mut self.groups) {
            visit(expr, depth);
        }
        for window in &mut self.windows {
            window.partition.iter_mut().for_each(|expr| visit(expr, depth));
            window.order.iter_mut().for_each(|key| visit(&mut key.expr, depth));
        }
        match self.change.as_deref_mut() {
            None => {}
            Some(Change::Insert { on_conflict, returning, .. }) => {
                if let Some(OnConflict { update: Some((assignments, condition)), .. }) = on_conflict {
                    assignments.iter_mut().for_each(|assignment| visit(&mut assignment.value, depth));
                    condition.iter_mut().for_each(|condition| visit(condition, depth));
                }
                returning.iter_mut().flatten().for_each(|target| visit(&mut target.expr, depth));
            }
            Some(Change::Update { assignments, returning, .. }) => {
                assignments.iter_mut().for_each(|assignment| visit(&mut assignment.value, depth));
                returning.iter_mut().flatten().for_each(|target| visit(&mut target.expr, depth));
            }
            Some(Change::Delete { returning, .. }) => {
                returning.iter_mut().flatten().for_each(|target| visit(&mut target.expr, depth));
            }
            Some(Change::Merge { condition, clauses, .. }) => {
                visit(condition, depth);
                clauses.iter_mut().for_each(|clause| clause.for_each_expr_mut(&mut |expr| visit(expr, depth)));
            }
        }
    }
}

/// Calls `visit` for each expression within `expr`, itself first, and within the subqueries in it, with the number of
/// queries between them and `expr`.
pub fn for_each_inner<'e>(expr: &'e Expr, depth: u32, visit: &mut dyn FnMut(&'e Expr, u32)) {
    visit(expr, depth);
    expr.for_each_child(&mut |child| for_each_inner(child, depth, visit));
    if let ExprKind::Subquery(subquery) = &expr.kind
        && let SubqueryBody::Bound(query) = &subquery.body
    {
        query.for_each_expr(depth + 1, &mut |inner, depth| for_each_inner(inner, depth, visit));
    }
}

/// As [`for_each_inner`], to change them; itself last.
pub fn for_each_inner_mut(expr: &mut Expr, depth: u32, visit: &mut dyn FnMut(&mut Expr, u32)) {
    expr.for_each_child_mut(&mut |child| for_each_inner_mut(child, depth, visit));
    if let ExprKind::Subquery(subquery) = &mut expr.kind
        && let SubqueryBody::Bound(query) = &mut subquery.body
    {
        query.for_each_expr_mut(depth + 1, &mut |inner, depth| for_each_inner_mut(inner, depth, visit));
    }
    visit(expr, depth);
}
