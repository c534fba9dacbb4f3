//! Queries and changes of rows as written.

use super::{DefinitionElement, Expr, Indirection, Location, Name, OperatorName, QualifiedName, Statement, TypeName};

/// SELECT, VALUES or a set operation, with the clauses that apply to the whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// WITH
    pub with: Option<With>,
    /// The body.
    pub body: QueryBody,
    /// ORDER BY
    pub order: Vec<SortBy>,
    /// OFFSET
    pub offset: Option<Expr>,
    /// LIMIT; LIMIT ALL is a NULL literal.
    pub limit: Option<Expr>,
    /// FETCH FIRST ... WITH TIES
    pub with_ties: bool,
    /// FOR UPDATE and its kin.
    pub locking: Vec<Locking>,
}

impl Query {
    /// VALUES and nothing else.
    pub fn of_values(rows: Vec<Vec<Expr>>) -> Query {
        Query {
            with: None,
            body: QueryBody::Values(rows),
            order: Vec::new(),
            offset: None,
            limit: None,
            with_ties: false,
            locking: Vec::new(),
        }
    }

    /// Where its first expression starts; -1 for a query without any.
    pub fn start(&self) -> Location {
        let first = match &self.body {
            QueryBody::Select(select) => select.targets.first().map(|target| &target.expr),
            QueryBody::Values(rows) => rows.first().and_then(|row| row.first()),
            QueryBody::SetOperation { left, .. } => return left.start(),
        };
        first.map_or(-1, Expr::start)
    }
}

/// The body of a query, without the clauses that apply to the whole.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    /// SELECT
    Select(Box<Select>),
    /// VALUES
    Values(Vec<Vec<Expr>>),
    /// UNION, INTERSECT, EXCEPT
    SetOperation {
        /// Which.
        operator: SetOperator,
        /// ALL
        all: bool,
        /// The first operand.
        left: Box<Query>,
        /// The second operand.
        right: Box<Query>,
    },
}

/// UNION, INTERSECT, EXCEPT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are named as in SQL")]
pub enum SetOperator {
    Union,
    Intersect,
    Except,
}

/// SELECT ... FROM ... WHERE ... GROUP BY ... HAVING
#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// DISTINCT
    pub distinct: Distinct,
    /// INTO
    pub into: Option<Box<SelectInto>>,
    /// The select list.
    pub targets: Vec<Target>,
    /// FROM
    pub from: Vec<FromItem>,
    /// WHERE
    pub filter: Option<Expr>,
    /// GROUP BY
    pub group: Vec<GroupItem>,
    /// GROUP BY DISTINCT
    pub group_distinct: bool,
    /// HAVING
    pub having: Option<Expr>,
    /// WINDOW
    pub windows: Vec<WindowDefinition>,
}

/// DISTINCT
#[derive(Debug, Clone, PartialEq)]
pub enum Distinct {
    /// Not written.
    No,
    /// DISTINCT
    All,
    /// DISTINCT ON
    On(Vec<Expr>),
}

/// The target of SELECT INTO and CREATE TABLE AS.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectInto {
    /// The table.
    pub table: QualifiedName,
    /// TEMPORARY, UNLOGGED
    pub persistence: TablePersistence,
    /// The columns' names, as far as given.
    pub columns: Vec<Name>,
    /// WITH (...)
    pub options: Vec<DefinitionElement>,
    /// ON COMMIT
    pub on_commit: OnCommit,
    /// WITH NO DATA
    pub no_data: bool,
}

/// How lasting a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "they are named as in SQL")]
pub enum TablePersistence {
    #[default]
    Permanent,
    Unlogged,
    Temporary,
}

/// ON COMMIT of a temporary table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "they are named as in SQL")]
pub enum OnCommit {
    #[default]
    PreserveRows,
    DeleteRows,
    Drop,
}

/// An item of a select or RETURNING list.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// AS
    pub name: Option<Name>,
    /// What.
    pub expr: Expr,
}

/// An item of GROUP BY.
#[derive(Debug, Clone, PartialEq)]
pub enum GroupItem {
    /// An expression, an ordinal or an output column's name.
    Expr(Expr),
    /// `()`
    Empty(Location),
    /// ROLLUP
    Rollup(Vec<GroupItem>, Location),
    /// CUBE
    Cube(Vec<GroupItem>, Location),
    /// GROUPING SETS
    Sets(Vec<GroupItem>, Location),
}

/// An item of FROM.
#[derive(Debug, Clone, PartialEq)]
pub enum FromItem {
    /// A table, view or common table expression.
    Table(TableReference),
    /// A subquery.
    Subquery {
        /// The query.
        query: Box<Query>,
        /// LATERAL
        lateral: bool,
        /// AS
        alias: Option<Alias>,
    },
    /// Function calls.
    Function {
        /// Each with its own column definitions (ROWS FROM may give them singly).
        calls: Vec<(Expr, Vec<ColumnDefinitionItem>)>,
        /// LATERAL, which functions don't need.
        lateral: bool,
        /// WITH ORDINALITY
        ordinality: bool,
        /// ROWS FROM was written.
        rows_from: bool,
        /// AS
        alias: Option<Alias>,
        /// `AS t(a int, b text)`
        columns: Vec<ColumnDefinitionItem>,
        /// Where it stands.
        location: Location,
    },
    /// A join.
    Join(Box<Join>),
    /// An item that Cohort leaves out: 0A000 with this text.
    Unsupported(&'static str, Location),
}

impl FromItem {
    /// The location of its start, or of a part of it that is no part of another item; -1 if it has no location.
    pub fn start(&self) -> Location {
        match self {
            FromItem::Table(reference) => reference.name.location,
            FromItem::Subquery { query, .. } => query.start(),
            FromItem::Function { location, .. } | FromItem::Unsupported(_, location) => *location,
            FromItem::Join(join) => join.left.start(),
        }
    }
}

/// A table named in a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct TableReference {
    /// Its name.
    pub name: QualifiedName,
    /// AS
    pub alias: Option<Alias>,
    /// ONLY
    pub only: bool,
}

/// An alias with names for the columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Alias {
    /// The alias.
    pub name: Name,
    /// Names for the first columns.
    pub columns: Vec<Name>,
}

/// A column of `AS t(a int, b text)`.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDefinitionItem {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub type_name: TypeName,
    /// Where it stands.
    pub location: Location,
}

/// A join.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// CROSS is Inner without a condition.
    pub kind: JoinType,
    /// NATURAL
    pub natural: bool,
    /// USING
    pub using: Vec<Name>,
    /// The alias of the USING columns.
    pub using_alias: Option<Name>,
    /// ON
    pub condition: Option<Expr>,
    /// The left side.
    pub left: FromItem,
    /// The right side.
    pub right: FromItem,
    /// `(a JOIN b) AS j`
    pub alias: Option<Alias>,
}

/// The joins one can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are named as in SQL")]
pub enum JoinType {
    Inner,
    Left,
    Right,
    Full,
}

/// An item of ORDER BY.
#[derive(Debug, Clone, PartialEq)]
pub struct SortBy {
    /// What.
    pub expr: Expr,
    /// Which way.
    pub direction: SortDirection,
    /// NULLS FIRST or LAST, if written.
    pub nulls_first: Option<bool>,
    /// Where it stands.
    pub location: Location,
}

/// ASC, DESC, USING.
#[derive(Debug, Clone, PartialEq)]
pub enum SortDirection {
    /// ASC, or nothing.
    Ascending,
    /// DESC
    Descending,
    /// USING operator
    Using(OperatorName),
}

/// OVER (...) or WINDOW w AS (...).
#[derive(Debug, Clone, PartialEq)]
pub struct WindowDefinition {
    /// `WINDOW name AS`, or `OVER name`.
    pub name: Option<Name>,
    /// The window it builds on: `OVER (name ...)`.
    pub base: Option<Name>,
    /// PARTITION BY
    pub partition: Vec<Expr>,
    /// ORDER BY
    pub order: Vec<SortBy>,
    /// PostgreSQL's FRAMEOPTION bits.
    pub frame_options: i32,
    /// The start's offset.
    pub start_offset: Option<Box<Expr>>,
    /// The end's offset.
    pub end_offset: Option<Box<Expr>>,
    /// Where it stands.
    pub location: Location,
}

/// WITH
#[derive(Debug, Clone, PartialEq)]
pub struct With {
    /// RECURSIVE
    pub recursive: bool,
    /// The expressions.
    pub ctes: Vec<CommonTableExpression>,
}

/// A common table expression.
#[derive(Debug, Clone, PartialEq)]
pub struct CommonTableExpression {
    /// Its name.
    pub name: Name,
    /// Names for its first columns.
    pub columns: Vec<Name>,
    /// MATERIALIZED, NOT MATERIALIZED
    pub materialized: Option<bool>,
    /// A query, or INSERT, UPDATE or DELETE.
    pub statement: Box<CteStatement>,
    /// SEARCH
    pub search: Option<SearchClause>,
    /// CYCLE
    pub cycle: Option<Box<CycleClause>>,
    /// Where it stands.
    pub location: Location,
}

/// `SEARCH ... FIRST BY columns SET sequence`
#[derive(Debug, Clone, PartialEq)]
pub struct SearchClause {
    /// BREADTH, or DEPTH.
    pub breadth_first: bool,
    /// By what rows of one depth are ordered.
    pub columns: Vec<Name>,
    /// The column that gives the order.
    pub sequence: Name,
    /// Where it stands.
    pub location: Location,
}

/// `CYCLE columns SET mark TO value DEFAULT default USING path`
#[derive(Debug, Clone, PartialEq)]
pub struct CycleClause {
    /// The columns that are compared: rows with equal values of them are the same.
    pub columns: Vec<Name>,
    /// The column that says whether a row closes a cycle.
    pub mark: Name,
    /// The mark of a row that does; `true` if nothing was written.
    pub value: Expr,
    /// The mark of the others; `false` if nothing was written.
    pub default: Expr,
    /// The column with the rows that led to a row.
    pub path: Name,
    /// Where it stands.
    pub location: Location,
}

/// The statement of a common table expression.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "they are named as in SQL")]
pub enum CteStatement {
    Query(Query),
    Insert(Insert),
    Update(Update),
    Delete(Delete),
    Unsupported(&'static str),
}

/// FOR UPDATE and its kin.
#[derive(Debug, Clone, PartialEq)]
pub struct Locking {
    /// How strong.
    pub strength: LockStrength,
    /// OF; empty means all.
    pub tables: Vec<QualifiedName>,
    /// NOWAIT, SKIP LOCKED
    pub wait: LockWait,
}

/// The four row locks, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "they are named as in SQL")]
pub enum LockStrength {
    KeyShare,
    Share,
    NoKeyUpdate,
    Update,
}

/// How to treat a row that another transaction has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockWait {
    /// Wait.
    Block,
    /// SKIP LOCKED
    Skip,
    /// NOWAIT
    Error,
}

/// INSERT
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// WITH
    pub with: Option<With>,
    /// The table.
    pub table: TableReference,
    /// The columns named.
    pub columns: Vec<InsertColumn>,
    /// OVERRIDING; `Some(true)` is SYSTEM VALUE, `Some(false)` USER VALUE.
    pub overriding: Option<bool>,
    /// `None` is DEFAULT VALUES.
    pub source: Option<Box<Query>>,
    /// ON CONFLICT
    pub on_conflict: Option<OnConflict>,
    /// RETURNING
    pub returning: Vec<Target>,
}

/// A column named by INSERT or SET, with steps into it.
#[derive(Debug, Clone, PartialEq)]
pub struct InsertColumn {
    /// Its name.
    pub name: Name,
    /// `a[1]`, `a.b`
    pub indirection: Vec<Indirection>,
    /// Where it stands.
    pub location: Location,
}

/// ON CONFLICT
#[derive(Debug, Clone, PartialEq)]
pub struct OnConflict {
    /// Which conflict; `None` is any.
    pub target: Option<ConflictTarget>,
    /// DO UPDATE SET; `None` is DO NOTHING.
    pub update: Option<ConflictUpdate>,
    /// Where it stands.
    pub location: Location,
}

/// Which conflict is meant.
#[derive(Debug, Clone, PartialEq)]
pub enum ConflictTarget {
    /// ON CONSTRAINT
    Constraint(Name, Location),
    /// Columns and expressions of an index.
    Index {
        /// Its elements.
        elements: Vec<super::IndexElement>,
        /// WHERE, for a partial one.
        filter: Option<Expr>,
        /// Where it stands.
        location: Location,
    },
}

/// DO UPDATE
#[derive(Debug, Clone, PartialEq)]
pub struct ConflictUpdate {
    /// SET
    pub assignments: Vec<Assignment>,
    /// WHERE
    pub filter: Option<Expr>,
}

/// An item of SET.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The column that is assigned.
    pub column: InsertColumn,
    /// Its new value, [`super::ExprKind::Default`] perhaps.
    pub value: Expr,
}

/// UPDATE
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// WITH
    pub with: Option<With>,
    /// The table.
    pub table: TableReference,
    /// SET
    pub assignments: Vec<Assignment>,
    /// FROM
    pub from: Vec<FromItem>,
    /// WHERE
    pub filter: Option<Expr>,
    /// RETURNING
    pub returning: Vec<Target>,
}

/// DELETE
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// WITH
    pub with: Option<With>,
    /// The table.
    pub table: TableReference,
    /// USING
    pub using: Vec<FromItem>,
    /// WHERE
    pub filter: Option<Expr>,
    /// RETURNING
    pub returning: Vec<Target>,
}

/// MERGE
#[derive(Debug, Clone, PartialEq)]
pub struct Merge {
    /// WITH
    pub with: Option<With>,
    /// The table.
    pub table: TableReference,
    /// USING
    pub source: FromItem,
    /// ON
    pub condition: Expr,
    /// The WHEN clauses.
    pub clauses: Vec<MergeWhen>,
}

/// WHEN ... THEN
#[derive(Debug, Clone, PartialEq)]
pub struct MergeWhen {
    /// MATCHED, not NOT MATCHED.
    pub matched: bool,
    /// AND
    pub condition: Option<Expr>,
    /// THEN
    pub action: MergeAction,
}

/// The action of a WHEN clause.
#[derive(Debug, Clone, PartialEq)]
pub enum MergeAction {
    /// UPDATE SET
    Update(Vec<Assignment>),
    /// DELETE
    Delete,
    /// INSERT of one row or of DEFAULT VALUES. Its table is that of the whole statement.
    Insert(Box<Insert>),
    /// DO NOTHING
    Nothing,
}

/// PREPARE
#[derive(Debug, Clone)]
pub struct Prepare {
    /// Its name.
    pub name: Name,
    /// Types of the parameters, as far as given.
    pub types: Vec<TypeName>,
    /// The statement that is prepared.
    pub statement: Statement,
}

/// EXECUTE
#[derive(Debug, Clone, PartialEq)]
pub struct Execute {
    /// The prepared statement.
    pub name: Name,
    /// Its parameters.
    pub parameters: Vec<Expr>,
}

/// CREATE TABLE AS, SELECT INTO, CREATE MATERIALIZED VIEW
#[derive(Debug, Clone)]
pub struct CreateTableAs {
    /// The new table.
    pub into: SelectInto,
    /// A query or EXECUTE.
    pub source: Statement,
    /// CREATE MATERIALIZED VIEW
    pub materialized_view: bool,
    /// SELECT INTO
    pub is_select_into: bool,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
}
