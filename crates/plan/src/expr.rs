//! Expressions: what is computed from a row.

use std::sync::Arc;

use schema::catalog::FunctionDef as StoredFunction;
use syntax::tree::Name;
use types::{AggregateDef, CallTypes, FunctionDef, OperatorDef, RecordShape, SqlType, Value};

use super::bound::Query;
use super::{Plan, SortKey};

/// An expression and the type of its value.
#[derive(Debug, Clone)]
pub struct Expr {
    /// The computation.
    pub kind: ExprKind,
    /// The type of the value.
    pub sql_type: SqlType,
}

/// The computation of an expression.
#[derive(Debug, Clone)]
pub enum ExprKind {
    /// A value.
    Constant(Value),
    /// `$n`, counted from 0 here.
    Parameter(u32),
    /// A slot of the current row.
    Column(u32),
    /// An outer value (see the module's text).
    Outer(u32),
    /// A built-in function or operator.
    Call(Box<Call>),
    /// All of them; NULL if none is false and one is NULL. Evaluation stops at the first false.
    And(Vec<Expr>),
    /// Any of them; NULL if none is true and one is NULL. Evaluation stops at the first true.
    Or(Vec<Expr>),
    /// NOT
    Not(Box<Expr>),
    /// `IS NULL`; for a row value, whether all its fields are NULL.
    IsNull(Box<Expr>),
    /// `IS NOT NULL`; for a row value, whether none of its fields is NULL.
    IsNotNull(Box<Expr>),
    /// `IS TRUE`, `IS NOT FALSE`, ...: whether the operand is (or is not) that truth value, `None` being UNKNOWN.
    IsTruth {
        /// A boolean.
        input: Box<Expr>,
        /// The truth value.
        value: Option<bool>,
        /// IS NOT.
        negated: bool,
    },
    /// `IS DISTINCT FROM` (negated: `IS NOT DISTINCT FROM`); the call is the equality operator of the two operands.
    IsDistinct {
        /// `a = b`
        equal: Box<Call>,
        /// IS NOT DISTINCT FROM.
        negated: bool,
    },
    /// CASE; the simple form has become `operand = value` conditions over [`ExprKind::CaseOperand`].
    Case {
        /// The operand of the simple form.
        operand: Option<Box<Expr>>,
        /// Tried in order.
        whens: Vec<CaseWhen>,
        /// ELSE; NULL without it.
        otherwise: Option<Box<Expr>>,
    },
    /// The operand of the innermost simple CASE around it.
    CaseOperand,
    /// The first that is not NULL; the others after it are not evaluated.
    Coalesce(Vec<Expr>),
    /// The first operand of the call, or NULL if the call (an equality) is true.
    NullIf(Box<Call>),
    /// The greatest that is not NULL.
    Greatest(Vec<Expr>),
    /// The least that is not NULL.
    Least(Vec<Expr>),
    /// ARRAY[...] of elements of one type.
    Array {
        /// The elements, or arrays of one dimension less.
        elements: Vec<Expr>,
        /// The elements are arrays themselves.
        nested: bool,
    },
    /// An element or slice of an array.
    Subscript {
        /// The array.
        input: Box<Expr>,
        /// Lower bound (only for slices) and upper bound (or the index) per dimension; `None` is an omitted bound.
        subscripts: Vec<(Option<Expr>, Option<Expr>)>,
        /// `[a:b]` somewhere.
        slice: bool,
    },
    /// `left operator ANY|ALL (array)`.
    Quantified(Box<Quantified>),
    /// A subquery.
    Subquery(Box<Subquery>),
    /// A row value; its type is `record` or a table's row type (which has the table's oid).
    Row {
        /// The fields.
        fields: Vec<Expr>,
        /// The names of the fields.
        shape: Arc<RecordShape>,
        /// Whether this is the row of an item of FROM, or of a table, as a whole: `t.*` has all columns that `t` has.
        is_whole: bool,
    },
    /// A field of a row value.
    Field(Box<FieldAccess>),
    /// A cast, or the coercion to a length.
    Cast(Box<CastExpr>),
    /// CURRENT_TIMESTAMP and its kin.
    Session(SessionValue),
    /// A column of a range table entry, by number: never survives planning.
    Variable(Variable),
    /// An aggregate call: never survives planning, where it becomes a slot of an `Aggregate` node.
    Aggregate(Box<AggregateCall>),
    /// A window function call: never survives planning.
    Window(Box<WindowCall>),
    /// A set-returning call in a select list: never survives planning, where it becomes a slot of a `ProjectSet`.
    Set(Box<SetCall>),
}

/// A call of a function that gives one value.
#[derive(Debug, Clone)]
pub struct Call {
    /// The function.
    pub function: FunctionTarget,
    /// Its arguments, coerced to what it takes. Of a strict function, a NULL one makes the result NULL.
    pub arguments: Vec<Expr>,
    /// The types of the arguments and the result.
    pub types: CallTypes,
    /// The operator, when it was written as one.
    pub operator: Option<&'static OperatorDef>,
    /// Whether it was written in the grammar's own words, as `trim(both from a)`.
    pub in_words: bool,
    /// Where it stands in the statement's text, in bytes from 0; for errors.
    pub location: i32,
}

/// A function that can be called.
#[derive(Debug, Clone)]
pub enum FunctionTarget {
    /// Built in.
    Builtin(&'static FunctionDef),
    /// Made by CREATE FUNCTION.
    Stored(Arc<StoredFunction>),
}

/// One arm of a CASE.
#[derive(Debug, Clone)]
pub struct CaseWhen {
    /// A boolean.
    pub condition: Expr,
    /// The value if it is true.
    pub result: Expr,
}

/// ANY or ALL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantifier {
    /// ANY, SOME, IN.
    Any,
    /// ALL.
    All,
    /// The only row, of which there may be none: then the result is unknown.
    Only,
}

/// `left operator ANY|ALL (array)`.
#[derive(Debug, Clone)]
pub struct Quantified {
    /// Which.
    pub quantifier: Quantifier,
    /// The operator's function: two arguments, boolean.
    pub function: &'static FunctionDef,
    /// The types it is called with: the left operand's and the elements'.
    pub types: CallTypes,
    /// The operator.
    pub operator: &'static OperatorDef,
    /// The left operand, coerced to what the operator takes.
    pub left: Expr,
    /// An array whose elements are what the operator takes on its right.
    pub array: Expr,
}

/// A subquery within an expression.
#[derive(Debug, Clone)]
pub struct Subquery {
    /// How its rows become a value.
    pub kind: SubqueryKind,
    /// The query, or the plan that runs.
    pub body: SubqueryBody,
    /// Its number in the statement: where an executor keeps its state and results.
    pub id: u32,
    /// Outer values to store before it starts, computed from the current row.
    pub arguments: Vec<(u32, Expr)>,
    /// It reads outer values (its own arguments or those of a query further out), or a common table expression that does.
    /// Otherwise its result is the same for the whole statement and can be kept.
    pub correlated: bool,
    /// Where it stands in the statement's text, in bytes from 0; -1 if it was not written.
    pub location: i32,
}

/// How a subquery's rows become a value.
#[derive(Debug, Clone)]
pub enum SubqueryKind {
    /// The one column of the one row; NULL if there is none, 21000 if there are more.
    Scalar,
    /// Whether there is a row.
    Exists,
    /// `(left, ...) operator ANY|ALL (subquery)`; IN is `= ANY`, NOT IN is NOT around it.
    Quantified {
        /// Which.
        quantifier: Quantifier,
        /// The left operands, over the current row.
        left: Vec<Expr>,
        /// The comparisons, one per column: over a row of the left values followed by the subquery's columns.
        /// Each is a boolean; a row of the subquery matches if all are true (or, with `any_column`, if any is).
        comparisons: Vec<Expr>,
        /// Comparisons are combined by OR: the operator is `<>`.
        any_column: bool,
        /// All comparisons are plain equalities `left[n] = column n` of one type: the rows may be kept in a hash
        /// table.
        hashable: bool,
    },
    /// ARRAY(subquery): the values of the one column.
    Array {
        /// The values are arrays: the result has a dimension more.
        of_arrays: bool,
    },
}

/// The query of a subquery, or its plan.
#[derive(Debug, Clone)]
pub enum SubqueryBody {
    /// As bound: never survives planning.
    Bound(Box<Query>),
    /// Its plan.
    Planned(Arc<Plan>),
}

/// The attribute number of the mark of an entry's rows: true, and NULL in a row that an outer join has made up. Only entries that are not
/// tables have this column. The number is below those of system columns, so the mark comes first in lists of columns.
pub const ROW_MARK: i32 = -7;

/// A column of a range table entry.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    /// How many queries further out the range table lies; 0 is the query the expression belongs to.
    pub level: u32,
    /// The entry in that query's range table.
    pub relation: u32,
    /// The column: its place among the entry's columns from 0, a negative number for a system column, or [`ROW_MARK`].
    pub attribute: i32,
    /// Where it stands in the statement's text, in bytes from 0.
    pub location: i32,
}

/// A field of a row value.
#[derive(Debug, Clone)]
pub struct FieldAccess {
    /// The row value.
    pub input: Expr,
    /// The field's place, from 0.
    pub field: u32,
    /// Its attribute number, 0 if not known. Rows that were made before the type changed have the field at another place, and are read by it.
    pub attribute_number: u32,
    /// Its name.
    pub name: Name,
}

/// A cast, or the coercion of a value to its type's length or precision.
#[derive(Debug, Clone)]
pub struct CastExpr {
    /// The value that is cast.
    pub input: Expr,
    /// The cast.
    pub cast: types::Cast,
    /// Where it stands in the statement's text, in bytes from 0.
    pub location: i32,
}

/// CURRENT_TIMESTAMP and its kin: what depends on the session or the transaction's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionValue {
    /// CURRENT_DATE
    CurrentDate,
    /// CURRENT_TIME, with its precision if given
    CurrentTime(Option<u8>),
    /// CURRENT_TIMESTAMP
    CurrentTimestamp(Option<u8>),
    /// LOCALTIME
    LocalTime(Option<u8>),
    /// LOCALTIMESTAMP
    LocalTimestamp(Option<u8>),
    /// CURRENT_USER, CURRENT_ROLE, USER
    CurrentUser,
    /// SESSION_USER
    SessionUser,
    /// CURRENT_CATALOG
    CurrentCatalog,
    /// CURRENT_SCHEMA
    CurrentSchema,
}

/// A call of an aggregate function.
#[derive(Debug, Clone)]
pub struct AggregateCall {
    /// The aggregate.
    pub function: &'static AggregateDef,
    /// Its arguments over the input row, coerced; none for `count(*)`. An ordered-set aggregate's direct ones
    /// come first.
    pub arguments: Vec<Expr>,
    /// The types of the arguments and the result.
    pub types: CallTypes,
    /// DISTINCT: each combination of arguments once.
    pub distinct: bool,
    /// ORDER BY within the call.
    pub order: Vec<SortKey>,
    /// For each key of the order the argument that it is, if one of the keys is volatile: both are computed once. Else nothing.
    pub key_arguments: Vec<Option<usize>>,
    /// FILTER.
    pub filter: Option<Expr>,
    /// How many queries further out the query is whose rows it gathers; 0 after planning.
    pub level: u32,
    /// Where it stands in the statement's text, in bytes from 0.
    pub location: i32,
}

impl AggregateCall {
    /// How many of the arguments, the first ones, are an ordered-set aggregate's direct ones.
    pub fn direct_count(&self) -> usize {
        match self.function.hypothetical {
            Some(_) => self.arguments.len() - self.order.len(),
            None => self.function.direct_arguments.unwrap_or(0).min(self.arguments.len()),
        }
    }
}

/// A call of a window function, or of an aggregate used as one.
#[derive(Debug, Clone)]
pub struct WindowCall {
    /// The function that is called.
    pub function: WindowTarget,
    /// Its arguments over the input row.
    pub arguments: Vec<Expr>,
    /// The types of the arguments and the result.
    pub types: CallTypes,
    /// The rows of the partition it sees.
    pub frame: WindowFrame,
    /// FILTER, for aggregates.
    pub filter: Option<Expr>,
    /// Which of the query's windows it is over; meaningless after planning.
    pub window: u32,
    /// Where it stands in the statement's text, in bytes from 0.
    pub location: i32,
}

/// The function that a [`WindowCall`] calls.
#[derive(Debug, Clone)]
pub enum WindowTarget {
    /// A true window function.
    Window(&'static FunctionDef),
    /// An aggregate over the frame.
    Aggregate(&'static AggregateDef),
}

/// The rows of a partition that a window function sees.
#[derive(Debug, Clone)]
pub struct WindowFrame {
    /// The unit of its bounds.
    pub mode: WindowFrameMode,
    /// Where it starts.
    pub start: WindowFrameBound,
    /// Where it ends.
    pub end: WindowFrameBound,
    /// The rows that it leaves out.
    pub exclusion: FrameExclusion,
}

/// EXCLUDE: what a frame leaves out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FrameExclusion {
    /// Nothing.
    #[default]
    NoOthers,
    /// The current row.
    CurrentRow,
    /// The current row and its peers.
    Group,
    /// The current row's peers, but not itself.
    Ties,
}

/// The unit of a frame's bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowFrameMode {
    /// Peers.
    Range,
    /// Rows.
    Rows,
    /// Groups of peers.
    Groups,
}

/// One end of a frame.
#[derive(Debug, Clone)]
pub enum WindowFrameBound {
    /// The partition's first row.
    UnboundedPreceding,
    /// So many before.
    Preceding(Box<Expr>),
    /// The current row (or its peers).
    CurrentRow,
    /// So many after.
    Following(Box<Expr>),
    /// The partition's last row.
    UnboundedFollowing,
}

impl WindowFrameBound {
    /// The expression that says how far it lies from the current row, if there is one.
    pub fn offset(&self) -> Option<&Expr> {
        match self {
            WindowFrameBound::Preceding(expr) | WindowFrameBound::Following(expr) => Some(expr),
            _ => None,
        }
    }
}

/// A call of a function that may give a set of rows.
#[derive(Debug, Clone)]
pub struct SetCall {
    /// The function.
    pub function: FunctionTarget,
    /// Its arguments, coerced.
    pub arguments: Vec<Expr>,
    /// The types of the arguments and of one row of the result: a composite type or `record` if it has several columns.
    pub types: CallTypes,
    /// It gives a set; otherwise it gives one row.
    pub returns_set: bool,
    /// The columns of a composite result, by type; in FROM they become slots. One for a scalar result.
    pub columns: Vec<SqlType>,
    /// The result is a row value whose fields are `columns`.
    pub composite: bool,
    /// Where it stands in the statement's text, in bytes from 0.
    pub location: i32,
}

impl Expr {
    /// An expression of this kind and type.
    pub fn new(kind: ExprKind, sql_type: SqlType) -> Expr {
        Expr { kind, sql_type }
    }

    /// A constant.
    pub fn constant(value: Value, sql_type: SqlType) -> Expr {
        Expr { kind: ExprKind::Constant(value), sql_type }
    }

    /// NULL of this type.
    pub fn null(sql_type: SqlType) -> Expr {
        Expr::constant(Value::Null, sql_type)
    }

    /// A boolean constant.
    pub fn boolean(value: bool) -> Expr {
        Expr::constant(Value::Bool(value), SqlType::BOOL)
    }

    /// A slot of the current row.
    pub fn column(slot: usize, sql_type: SqlType) -> Expr {
        Expr { kind: ExprKind::Column(slot as u32), sql_type }
    }

    /// The value of a constant.
    pub fn as_constant(&self) -> Option<&Value> {
        match &self.kind {
            ExprKind::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Whether this is the constant TRUE.
    pub fn is_true(&self) -> bool {
        matches!(self.kind, ExprKind::Constant(Value::Bool(true)))
    }

    /// The conjunction of these conditions: `None` if there are none.
    pub fn all(mut conditions: Vec<Expr>) -> Option<Expr> {
        match conditions.len() {
            0 => None,
            1 => conditions.pop(),
            _ => Some(Expr { kind: ExprKind::And(conditions), sql_type: SqlType::BOOL }),
        }
    }
}
