//! Expressions as written.

use super::{Location, Name, QualifiedName, Query, SortBy, TypeName, WindowDefinition};

/// An expression and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// Its kind, with its parts.
    pub kind: ExprKind,
    /// Where errors about it point.
    pub location: Location,
}

/// The kind of an expression, with its parts.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// A literal.
    Literal(Literal),
    /// `$n`, from 1.
    Parameter(u32),
    /// `a`, `t.a`, `s.t.a`.
    Column(Vec<Name>),
    /// `*`, `t.*`: only where the grammar's user allows it.
    Star(Vec<Name>),
    /// CAST, `::`, and typed literals.
    Cast {
        /// The value that is cast.
        input: Box<Expr>,
        /// The type that it is cast to.
        type_name: Box<TypeName>,
    },
    /// COLLATE
    Collate {
        /// The expression that gets the collation.
        input: Box<Expr>,
        /// The collation.
        collation: QualifiedName,
    },
    /// An operator; without a left operand a prefix one. LIKE and its kin are operators `~~`, `~~*`, `~`.
    Operator {
        /// Which.
        operator: OperatorName,
        /// The left operand.
        left: Option<Box<Expr>>,
        /// The right operand.
        right: Box<Expr>,
    },
    /// `left operator ANY|ALL (array)`
    Quantified {
        /// Which.
        operator: OperatorName,
        /// ALL rather than ANY.
        all: bool,
        /// The left operand.
        left: Box<Expr>,
        /// The array.
        array: Box<Expr>,
    },
    /// `IN (list)`
    In {
        /// The left operand.
        left: Box<Expr>,
        /// The list.
        list: Vec<Expr>,
        /// NOT IN
        negated: bool,
    },
    /// BETWEEN
    Between {
        /// The tested value.
        input: Box<Expr>,
        /// One bound.
        low: Box<Expr>,
        /// The other.
        high: Box<Expr>,
        /// SYMMETRIC
        symmetric: bool,
        /// NOT BETWEEN
        negated: bool,
    },
    /// IS DISTINCT FROM
    Distinct {
        /// The left operand.
        left: Box<Expr>,
        /// The right operand.
        right: Box<Expr>,
        /// IS NOT DISTINCT FROM
        negated: bool,
    },
    /// NULLIF
    NullIf(Box<Expr>, Box<Expr>),
    /// AND of two or more.
    And(Vec<Expr>),
    /// OR of two or more.
    Or(Vec<Expr>),
    /// NOT
    Not(Box<Expr>),
    /// IS NULL, IS NOT NULL
    NullTest {
        /// The tested value.
        input: Box<Expr>,
        /// IS NOT NULL
        negated: bool,
    },
    /// IS TRUE and its kin; `None` is UNKNOWN.
    BooleanTest {
        /// The tested value.
        input: Box<Expr>,
        /// The truth value.
        value: Option<bool>,
        /// IS NOT
        negated: bool,
    },
    /// CASE
    Case {
        /// The operand of the simple form.
        operand: Option<Box<Expr>>,
        /// WHEN and THEN.
        whens: Vec<(Expr, Expr)>,
        /// ELSE
        otherwise: Option<Box<Expr>>,
    },
    /// COALESCE
    Coalesce(Vec<Expr>),
    /// GREATEST
    Greatest(Vec<Expr>),
    /// LEAST
    Least(Vec<Expr>),
    /// CURRENT_TIMESTAMP and its kin.
    Session(SessionFunction),
    /// A function call.
    Function(Box<FunctionCall>),
    /// A subquery.
    Subquery(Box<Subquery>),
    /// ARRAY[...]
    Array(Vec<Expr>),
    /// ROW(...) or `(a, b)`.
    Row {
        /// The fields.
        fields: Vec<Expr>,
        /// ROW was written.
        explicit: bool,
    },
    /// Subscripts and field selections applied to an expression.
    Indirection {
        /// The expression that they apply to.
        input: Box<Expr>,
        /// The subscripts and field selections, in order.
        steps: Vec<Indirection>,
    },
    /// DEFAULT, in VALUES lists and SET clauses.
    Default,
    /// In a stored expression, the default of a function's argument, which has this type.
    DefaultArgument(Box<TypeName>),
    /// WHERE CURRENT OF cursor
    CurrentOf(Name),
    /// `name => value` in an argument list.
    NamedArgument {
        /// The argument's name.
        name: Name,
        /// Its value.
        value: Box<Expr>,
    },
    /// `(a, b) = (SELECT ...)` or `= ROW(...)` in a SET clause: column `column` of `columns`, from 1.
    MultiAssignment {
        /// The source, shared by all columns.
        source: std::sync::Arc<Expr>,
        /// Which column.
        column: u32,
        /// Of how many.
        columns: u32,
    },
    /// An expression that Cohort leaves out: 0A000 with this text.
    Unsupported(&'static str),
}

/// A literal.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// NULL
    Null,
    /// TRUE and FALSE
    Boolean(bool),
    /// An integer of at most 32 bits.
    Integer(i32),
    /// Any other number, as written.
    Number(String),
    /// A string.
    String(String),
    /// A bit string, `b` or `x` and the digits.
    BitString(String),
}

/// The name of an operator.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorName {
    /// `OPERATOR(schema.op)`
    pub schema: Option<Name>,
    /// The operator.
    pub name: Name,
}

/// CURRENT_TIMESTAMP and its kin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are named as in SQL")]
pub enum SessionFunction {
    CurrentDate,
    CurrentTime(Option<i32>),
    CurrentTimestamp(Option<i32>),
    LocalTime(Option<i32>),
    LocalTimestamp(Option<i32>),
    CurrentRole,
    CurrentUser,
    User,
    SessionUser,
    CurrentCatalog,
    CurrentSchema,
}

/// A function call.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionCall {
    /// The function.
    pub name: QualifiedName,
    /// Its arguments.
    pub arguments: Vec<Expr>,
    /// ORDER BY within the call, or WITHIN GROUP's.
    pub order: Vec<SortBy>,
    /// FILTER
    pub filter: Option<Expr>,
    /// OVER
    pub over: Option<WindowDefinition>,
    /// WITHIN GROUP
    pub within_group: bool,
    /// `f(*)`
    pub star: bool,
    /// `f(DISTINCT ...)`
    pub distinct: bool,
    /// `f(VARIADIC ...)`
    pub variadic: bool,
    /// Made by the grammar from special syntax such as `EXTRACT(... FROM ...)`.
    pub sql_syntax: bool,
    /// Where it stands.
    pub location: Location,
}

impl FunctionCall {
    /// A call whose only argument has been read already.
    pub fn of_value(function: Name, location: Location) -> FunctionCall {
        FunctionCall {
            // Where it stands is no place of a function's name.
            name: QualifiedName { catalog: None, schema: None, name: function, location: -1 },
            arguments: Vec::new(),
            order: Vec::new(),
            filter: None,
            over: None,
            within_group: false,
            star: false,
            distinct: false,
            variadic: false,
            sql_syntax: false,
            location,
        }
    }
}

/// A subquery in an expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Subquery {
    /// How its rows become a value.
    pub kind: SubqueryKind,
    /// The query.
    pub query: Box<Query>,
}

/// How a subquery's rows become a value.
#[derive(Debug, Clone, PartialEq)]
pub enum SubqueryKind {
    /// `(SELECT ...)`
    Scalar,
    /// EXISTS
    Exists,
    /// ARRAY(SELECT ...)
    Array,
    /// `left operator ANY|ALL (SELECT ...)`; without an operator, IN.
    Quantified {
        /// The left operand, a row perhaps.
        left: Box<Expr>,
        /// `None` is IN.
        operator: Option<OperatorName>,
        /// ALL
        all: bool,
    },
}

/// A step into a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Indirection {
    /// `[index]`
    Index(Expr),
    /// `[low:high]`
    Slice(Option<Expr>, Option<Expr>),
    /// `.name`
    Field(Name),
    /// `.*`
    Star,
}

impl Expr {
    /// Where its text starts: [`Expr::location`] is where its operator or keyword stands.
    pub fn start(&self) -> Location {
        let leftmost = |other: Location| match (self.location, other) {
            (own, other) if own < 0 => other,
            (own, other) if other < 0 => own,
            (own, other) => own.min(other),
        };
        match &self.kind {
            ExprKind::Cast { input, type_name } => {
                let inner = input.start();
                let named = if type_name.location >= 0 && inner < 0 { type_name.location } else { inner };
                leftmost(named)
            }
            ExprKind::Operator { left: Some(left), .. }
            | ExprKind::Quantified { left, .. }
            | ExprKind::In { left, .. }
            | ExprKind::Distinct { left, .. }
            | ExprKind::NullIf(left, _) => leftmost(left.start()),
            ExprKind::Between { input, .. }
            | ExprKind::NullTest { input, .. }
            | ExprKind::BooleanTest { input, .. }
            | ExprKind::Collate { input, .. } => leftmost(input.start()),
            ExprKind::And(parts) | ExprKind::Or(parts) => leftmost(parts.first().map_or(-1, Expr::start)),
            ExprKind::Function(call) => leftmost(call.arguments.first().map_or(-1, Expr::start)),
            ExprKind::Subquery(subquery) => match &subquery.kind {
                SubqueryKind::Quantified { left, .. } => leftmost(left.start()),
                _ => self.location,
            },
            ExprKind::Indirection { input, .. } => input.start(),
            _ => self.location,
        }
    }

    /// An expression at a place.
    pub fn new(kind: ExprKind, location: Location) -> Expr {
        Expr { kind, location }
    }
}
