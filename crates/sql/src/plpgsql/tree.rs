//! A compiled function.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use base::Oid;
use plan::Meaning;
use sync::Mutex;
use syntax::tree::Name;
use types::{RecordShape, SqlType, Value};

use crate::state::Planned;
use planner::binder::VariableConflict;

/// A compiled function body.
pub struct Function {
    /// `name(types)` as error contexts name it.
    pub signature: Arc<str>,
    /// The variables, parameters first.
    pub variables: Vec<Variable>,
    /// The meanings of names, by part of the body.
    pub scopes: Vec<Scope>,
    /// The meaning of a name that could also be a column's, if the body says it. Otherwise the setting does.
    pub conflict: Option<VariableConflict>,
    /// Warnings about its declarations.
    pub warnings: Vec<base::Error>,
    /// The variable FOUND.
    pub found: usize,
    /// The body.
    pub body: Block,
    /// The variables of OUT and INOUT parameters, in order.
    pub outputs: Vec<usize>,
    /// Those of them that take no argument.
    pub pure_outputs: Vec<usize>,
    /// The result of one row.
    pub result: SqlType,
    /// It returns a set.
    pub returns_set: bool,
    /// The columns of the result, if it is composite.
    pub shape: Option<Arc<RecordShape>>,
    /// The catalog version from which the columns of the result and the variables come. None if none of them is a row.
    pub row_types_version: Option<u64>,
    /// The value of a variable can have rows.
    pub holds_rows: bool,
    /// It may change the database: each statement takes a new snapshot.
    pub is_volatile: bool,
}

impl Function {
    /// Whether a parameter is OUT alone.
    pub fn is_pure_output(&self, place: usize) -> bool {
        self.pure_outputs.contains(&place)
    }
}

/// A variable.
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: VariableKind,
    /// Where it was declared.
    pub line: u32,
    /// Its first value.
    pub default: Option<Expression>,
    /// It can't be NULL.
    pub not_null: bool,
    /// It can't be assigned.
    pub is_constant: bool,
    /// Its type is that of the value it was given last: a CASE's operand.
    pub takes_type: bool,
    /// The query it is bound to as a cursor.
    pub cursor: Option<Arc<CursorQuery>>,
}

impl Variable {
    /// A variable without a default.
    pub fn new(name: &str, kind: VariableKind, line: u32) -> Variable {
        let name = name.to_owned();
        Variable {
            name,
            kind,
            line,
            default: None,
            not_null: false,
            is_constant: false,
            takes_type: false,
            cursor: None,
        }
    }
}

/// A bound cursor's query.
pub struct CursorQuery {
    /// The variables of its arguments.
    pub parameters: Vec<usize>,
    /// Their names.
    pub names: Vec<String>,
    /// The query.
    pub query: Expression,
    /// SCROLL or NO SCROLL, if it was said.
    pub scroll: Option<bool>,
}

/// A part of a body with names of its own.
pub struct Scope {
    /// The scope around it.
    pub parent: Option<usize>,
    /// The label of its block or loop.
    pub label: Option<String>,
    /// It is a loop's.
    pub is_loop: bool,
    /// Its variables.
    pub names: Vec<(String, usize)>,
}

/// The variable that a name means in `scope`.
pub fn find_variable(scopes: &[Scope], scope: usize, name: &str) -> Option<usize> {
    find_variable_within(scopes, scope, name, None)
}

/// The same where of one scope only the first names are known: those declared before a default.
pub fn find_variable_within(
    scopes: &[Scope],
    scope: usize,
    name: &str,
    known: Option<(usize, usize)>,
) -> Option<usize> {
    let mut at = Some(scope);
    while let Some(scope) = at {
        let names = known_names(scopes, scope, known);
        if let Some((_, place)) = names.iter().rev().find(|(own, _)| own == name) {
            return Some(*place);
        }
        at = scopes[scope].parent;
    }
    None
}

/// The names of a scope that are known.
pub fn known_names(scopes: &[Scope], scope: usize, known: Option<(usize, usize)>) -> &[(String, usize)] {
    let names = &scopes[scope].names;
    match known {
        Some((limited, count)) if limited == scope => &names[..count.min(names.len())],
        _ => names,
    }
}

/// The variable of this name in the block with this label around `scope`.
pub fn find_labelled(scopes: &[Scope], scope: usize, label: &str, name: &str) -> Option<usize> {
    let block = find_label(scopes, scope, label)?;
    scopes[block].names.iter().rev().find(|(own, _)| own == name).map(|(_, place)| *place)
}

/// The scope around `scope`, or it itself, that has this label.
pub fn find_label(scopes: &[Scope], scope: usize, label: &str) -> Option<usize> {
    let mut at = Some(scope);
    while let Some(scope) = at {
        if scopes[scope].label.as_deref() == Some(label) {
            return Some(scope);
        }
        at = scopes[scope].parent;
    }
    None
}

/// The composite type of a variable.
#[derive(Clone)]
pub struct RowType {
    /// Its columns; those of the type below, if a domain was declared.
    pub shape: Arc<RecordShape>,
    /// The domain, whose checks see each value.
    pub domain: Option<SqlType>,
}

/// The kind of a variable.
#[derive(Clone)]
pub enum VariableKind {
    /// Of a type.
    Scalar(SqlType),
    /// A row of any shape, or of this composite type.
    Record(Option<RowType>),
    /// Several variables, to be assigned together.
    Row(Vec<usize>),
    /// A field of a record.
    Field {
        /// The record.
        record: usize,
        /// The field.
        field: String,
    },
}

/// An SQL expression or statement with the plan it was given last.
pub struct Expression {
    /// Its text.
    pub text: Arc<str>,
    /// Whether the text is a whole statement.
    pub is_statement: bool,
    /// Where it stands.
    pub scope: usize,
    /// A scope of which only so many names are known: it stands among the declarations.
    pub known: Option<(usize, usize)>,
    /// The assignment it is the value of.
    pub assignment: Option<Arc<str>>,
    /// It is a cursor's query: its rows tell where they come from.
    pub is_cursor: bool,
    /// A leaf. It has a lock because a session may move to another thread.
    pub(super) plan: Mutex<Option<ExpressionPlan>>,
    /// The label that it is as a value of an enum, if it is a constant: under another name it is the same label. A leaf.
    pub(super) label: Mutex<Option<(SqlType, Value, Arc<Meaning>)>>,
}

/// See [`Expression::plan`].
#[derive(Clone)]
pub(super) struct ExpressionPlan {
    pub planned: Arc<Planned>,
    /// Record fields that are parameters behind the variables: record, field and the type it was planned with.
    pub fields: Arc<[(usize, String, SqlType)]>,
    /// Records that `x.*` spreads, with the names of the fields that they had.
    pub spread: Arc<[(usize, Vec<Name>)]>,
    /// Records without a declared type that it reads as a whole, with the types of their rows.
    pub rows: Arc<[(usize, SqlType)]>,
    /// The trigger whose transition tables it may read.
    pub trigger: Option<Oid>,
    /// How often it was planned for the values that it was to run with.
    pub custom_plans: Arc<AtomicU64>,
}

impl Expression {
    /// An expression that has not been planned.
    pub fn new(text: &str, is_statement: bool, scope: usize) -> Expression {
        Expression {
            text: Arc::from(text),
            is_statement,
            scope,
            known: None,
            assignment: None,
            is_cursor: false,
            plan: Mutex::new(None),
            label: Mutex::new(None),
        }
    }
}

/// A subscript of what is assigned.
pub enum Subscript {
    /// `[n]`
    Index(Expression),
    /// `[n:m]`, of which either may be left out.
    Slice(Option<Expression>, Option<Expression>),
}

/// A step on the way to what is assigned, behind an element of an array: `a[1].x[2] := 3` has two.
pub enum Step {
    /// `.x`
    Field(String),
    /// `[n]` or `[n:m]`, for each dimension.
    Part(Vec<Subscript>),
}

/// BEGIN ... END.
pub struct Block {
    /// Its label.
    pub label: Option<String>,
    /// Variables that get their defaults when it begins.
    pub variables: Vec<usize>,
    /// Its statements.
    pub body: Vec<Statement>,
    /// EXCEPTION.
    pub handlers: Vec<Handler>,
    /// SQLSTATE and SQLERRM of its handlers.
    pub state_places: Option<(usize, usize)>,
}

/// WHEN ... THEN.
pub struct Handler {
    /// Condition names, lower case; `others` among them.
    pub conditions: Vec<String>,
    /// The handler's statements.
    pub body: Vec<Statement>,
}

/// `variable := expression`
pub struct Assignment {
    /// The variable.
    pub target: usize,
    /// The part of it, if it is an array: an element's place, or a slice's ends, for each dimension.
    pub subscripts: Vec<Subscript>,
    /// The way from there to a part of the element.
    pub steps: Vec<Step>,
    /// Its new value.
    pub value: Expression,
}

/// FOR over integers.
pub struct IntegerLoop {
    /// Its label.
    pub label: Option<String>,
    /// The variable.
    pub variable: usize,
    /// From.
    pub lower: Expression,
    /// To.
    pub upper: Expression,
    /// BY.
    pub step: Option<Expression>,
    /// REVERSE.
    pub reverse: bool,
    /// Its statements.
    pub body: Vec<Statement>,
}

/// FOREACH over an array.
pub struct ArrayLoop {
    /// Its label.
    pub label: Option<String>,
    /// The variable.
    pub variable: usize,
    /// SLICE.
    pub slice: u32,
    /// The array.
    pub array: Expression,
    /// Its statements.
    pub body: Vec<Statement>,
}

/// A statement and its line.
pub struct Statement {
    /// The line in the body.
    pub line: u32,
    /// The statement itself.
    pub kind: StatementKind,
}

/// A statement by its kind.
pub enum StatementKind {
    /// A block.
    Block(Block),
    /// `variable := expression`
    Assign(Assignment),
    /// IF: conditions with their statements, and ELSE.
    If {
        /// IF and ELSIF.
        branches: Vec<(Expression, Vec<Statement>)>,
        /// ELSE.
        otherwise: Vec<Statement>,
    },
    /// CASE.
    Case {
        /// The operand and the variable it is put in.
        operand: Option<(Expression, usize)>,
        /// WHEN.
        branches: Vec<(Expression, Vec<Statement>)>,
        /// ELSE; without it 20000.
        otherwise: Option<Vec<Statement>>,
    },
    /// LOOP.
    Loop {
        /// Its label.
        label: Option<String>,
        /// Its statements.
        body: Vec<Statement>,
    },
    /// WHILE.
    While {
        /// Its label.
        label: Option<String>,
        /// As long as this holds.
        condition: Expression,
        /// Its statements.
        body: Vec<Statement>,
    },
    /// FOR over integers.
    ForInteger(IntegerLoop),
    /// FOR over the rows of a query.
    ForQuery {
        /// Its label.
        label: Option<String>,
        /// The variable that each row is assigned to.
        target: usize,
        /// The rows.
        source: RowSource,
        /// Its statements.
        body: Vec<Statement>,
    },
    /// FOREACH over an array.
    ForEach(ArrayLoop),
    /// EXIT and CONTINUE.
    Exit {
        /// EXIT.
        is_exit: bool,
        /// Of which loop or block.
        label: Option<String>,
        /// WHEN.
        condition: Option<Expression>,
    },
    /// FOR over the rows of a bound cursor.
    ForCursor {
        /// Its label.
        label: Option<String>,
        /// The record each row is put in.
        variable: usize,
        /// The cursor.
        cursor: usize,
        /// Its arguments, with the parameters they name.
        arguments: Vec<(Option<String>, Expression)>,
        /// Its statements.
        body: Vec<Statement>,
    },
    /// OPEN.
    Open {
        /// The cursor.
        cursor: usize,
        /// SCROLL or NO SCROLL, if it was said.
        scroll: Option<bool>,
        /// FOR; nothing for a bound cursor.
        source: Option<RowSource>,
        /// A bound cursor's arguments.
        arguments: Vec<(Option<String>, Expression)>,
    },
    /// FETCH, or MOVE.
    Fetch {
        /// The cursor.
        cursor: usize,
        /// Which row.
        fetched: Fetched,
        /// The variable that the row is assigned to; `None` for MOVE.
        into: Option<usize>,
    },
    /// CLOSE.
    Close(usize),
    /// CALL.
    Call(Expression),
    /// COMMIT and ROLLBACK.
    EndTransaction {
        /// COMMIT.
        commit: bool,
        /// AND CHAIN.
        chain: bool,
    },
    /// RETURN.
    Return {
        /// The value.
        value: Option<Expression>,
    },
    /// RETURN NEXT.
    ReturnNext {
        /// The value.
        value: Option<Expression>,
    },
    /// RETURN QUERY.
    ReturnQuery(RowSource),
    /// RAISE.
    Raise(Raise),
    /// ASSERT.
    Assert {
        /// The condition that must hold.
        condition: Expression,
        /// The message if it does not hold.
        message: Option<Expression>,
    },
    /// An SQL statement.
    Sql {
        /// The statement.
        statement: Expression,
        /// INTO.
        into: Option<usize>,
        /// STRICT.
        strict: bool,
    },
    /// EXECUTE.
    Execute {
        /// The text.
        text: Expression,
        /// USING.
        parameters: Vec<Expression>,
        /// INTO.
        into: Option<usize>,
        /// STRICT.
        strict: bool,
    },
    /// PERFORM.
    Perform(Expression),
    /// GET DIAGNOSTICS: what is asked for, and where it goes.
    Diagnostics {
        /// STACKED.
        stacked: bool,
        /// Item and variable.
        items: Vec<(String, usize)>,
    },
}

/// Which row FETCH wants; without a count, one.
pub enum Fetched {
    /// NEXT, FORWARD n
    Forward(Option<Expression>),
    /// PRIOR, BACKWARD n
    Backward(Option<Expression>),
    /// FIRST
    First,
    /// LAST
    Last,
    /// ABSOLUTE n
    Absolute(Expression),
    /// RELATIVE n
    Relative(Expression),
}

/// Where rows come from.
pub enum RowSource {
    /// A query.
    Query(Expression),
    /// EXECUTE text USING values.
    Dynamic {
        /// The text.
        text: Expression,
        /// USING.
        parameters: Vec<Expression>,
    },
}

/// RAISE.
pub struct Raise {
    /// PostgreSQL's number of the level: 21 is EXCEPTION.
    pub level: i64,
    /// A condition's name or SQLSTATE.
    pub condition: Option<String>,
    /// The format; `%` stands for a parameter.
    pub message: Option<String>,
    /// The values for each `%`.
    pub parameters: Vec<Expression>,
    /// USING: option number and value.
    pub options: Vec<(i64, Expression)>,
}
