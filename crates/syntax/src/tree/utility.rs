//! Statements about transactions, sessions and the server, as written.

use base::settings::words::IsolationLevel;

use super::{Expr, Location, Name, QualifiedName, Query, Statement, TypeName};

/// Transaction control.
#[derive(Debug, Clone, PartialEq)]
pub enum Transaction {
    /// BEGIN, START TRANSACTION
    Begin {
        /// How it is to run.
        modes: TransactionModes,
        /// It was written as START TRANSACTION.
        is_start: bool,
    },
    /// COMMIT, END
    Commit {
        /// AND CHAIN
        chain: bool,
    },
    /// ROLLBACK, ABORT
    Rollback {
        /// AND CHAIN
        chain: bool,
    },
    /// SAVEPOINT
    Savepoint(Name),
    /// RELEASE
    Release(Name),
    /// ROLLBACK TO
    RollbackTo(Name),
    /// PREPARE TRANSACTION
    Prepare(String),
    /// COMMIT PREPARED
    CommitPrepared(String),
    /// ROLLBACK PREPARED
    RollbackPrepared(String),
}

impl Transaction {
    /// The name of the command.
    pub fn name(&self) -> &'static str {
        match self {
            Transaction::Begin { is_start: false, .. } => "BEGIN",
            Transaction::Begin { is_start: true, .. } => "START TRANSACTION",
            Transaction::Commit { .. } => "COMMIT",
            Transaction::Rollback { .. } | Transaction::RollbackTo(_) => "ROLLBACK",
            Transaction::Savepoint(_) => "SAVEPOINT",
            Transaction::Release(_) => "RELEASE",
            Transaction::Prepare(_) => "PREPARE TRANSACTION",
            Transaction::CommitPrepared(_) => "COMMIT PREPARED",
            Transaction::RollbackPrepared(_) => "ROLLBACK PREPARED",
        }
    }
}

/// Modes of a transaction, as far as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransactionModes {
    /// ISOLATION LEVEL
    pub isolation: Option<IsolationLevel>,
    /// READ ONLY
    pub read_only: Option<bool>,
    /// DEFERRABLE
    pub deferrable: Option<bool>,
}

/// DECLARE CURSOR
#[derive(Debug, Clone)]
pub struct DeclareCursor {
    /// Its name.
    pub name: Name,
    /// BINARY
    pub binary: bool,
    /// SCROLL, NO SCROLL
    pub scroll: Option<bool>,
    /// WITH HOLD
    pub hold: bool,
    /// INSENSITIVE or ASENSITIVE, which change nothing.
    pub insensitive: bool,
    /// The query.
    pub query: Query,
}

/// FETCH and MOVE
#[derive(Debug, Clone, PartialEq)]
pub struct Fetch {
    /// The cursor.
    pub cursor: Name,
    /// MOVE
    pub is_move: bool,
    /// Which way.
    pub direction: FetchDirection,
    /// How far; `i64::MAX` is ALL.
    pub count: i64,
}

/// Which way a cursor moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are named as in SQL")]
pub enum FetchDirection {
    Forward,
    Backward,
    Absolute,
    Relative,
}

/// EXPLAIN
#[derive(Debug, Clone)]
pub struct Explain {
    /// The statement that is explained.
    pub statement: Statement,
    /// Options as written.
    pub options: Vec<DefinitionElement>,
}

/// COPY
#[derive(Debug, Clone)]
pub struct Copy {
    /// The table or query.
    pub source: CopySource,
    /// The columns named.
    pub columns: Vec<Name>,
    /// FROM rather than TO.
    pub is_from: bool,
    /// Where from or to.
    pub endpoint: CopyEndpoint,
    /// Options as written.
    pub options: Vec<DefinitionElement>,
    /// WHERE, of COPY FROM.
    pub filter: Option<Expr>,
}

/// The table or query that COPY copies.
#[derive(Debug, Clone)]
pub enum CopySource {
    /// A table.
    Table(QualifiedName),
    /// The rows of a query (or of a change's RETURNING).
    Query(Statement),
}

/// Where COPY reads or writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyEndpoint {
    /// STDIN, STDOUT
    Client,
    /// A file of the server.
    File(String),
    /// A program of the server.
    Program(String),
}

/// VACUUM and ANALYZE
#[derive(Debug, Clone, PartialEq)]
pub struct Vacuum {
    /// VACUUM rather than ANALYZE.
    pub is_vacuum: bool,
    /// Options as written: `full`, `freeze`, `verbose`, `analyze`, ...
    pub options: Vec<DefinitionElement>,
    /// Tables, with columns; empty means all.
    pub tables: Vec<(QualifiedName, Vec<Name>)>,
}

/// SET and RESET
#[derive(Debug, Clone, PartialEq)]
pub struct VariableSet {
    /// The variable; `TRANSACTION`, `SESSION CHARACTERISTICS` and `TRANSACTION SNAPSHOT` for those forms.
    pub name: Name,
    /// The operation.
    pub action: SetAction,
    /// SET LOCAL
    pub is_local: bool,
}

/// The operation of SET or RESET.
#[derive(Debug, Clone, PartialEq)]
pub enum SetAction {
    /// `= value, ...`
    Value(Vec<SettingValue>),
    /// `TO DEFAULT`
    Default,
    /// `FROM CURRENT`
    Current,
    /// SET TRANSACTION, SET SESSION CHARACTERISTICS
    Modes(TransactionModes),
    /// SET TRANSACTION SNAPSHOT
    Snapshot(String),
    /// RESET
    Reset,
    /// RESET ALL
    ResetAll,
}

/// A value given to a setting.
#[derive(Debug, Clone, PartialEq)]
pub enum SettingValue {
    /// A string or word.
    String(String),
    /// An integer.
    Integer(i32),
    /// Any other number, as written.
    Number(String),
    /// `SET TIME ZONE INTERVAL '...' HOUR TO MINUTE`: the text, and the type's modifier.
    Interval(String, i32),
}

/// DISCARD
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are named as in SQL")]
pub enum Discard {
    All,
    Plans,
    Sequences,
    Temporary,
}

/// LOCK TABLE
#[derive(Debug, Clone, PartialEq)]
pub struct LockTable {
    /// Which.
    pub tables: Vec<QualifiedName>,
    /// PostgreSQL's number of the mode, 1 (ACCESS SHARE) to 8 (ACCESS EXCLUSIVE).
    pub mode: i32,
    /// NOWAIT
    pub nowait: bool,
}

/// An option as the grammar leaves it: name and, perhaps, value.
#[derive(Debug, Clone, PartialEq)]
pub struct DefinitionElement {
    /// `namespace.name`, of storage parameters.
    pub namespace: Option<Name>,
    /// The option.
    pub name: Name,
    /// Its value.
    pub value: Option<DefinitionValue>,
    /// Where it stands.
    pub location: Location,
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq)]
pub enum DefinitionValue {
    /// A string, or a word.
    String(String),
    /// An integer.
    Integer(i64),
    /// Any other number, as written.
    Number(String),
    /// TRUE, FALSE
    Boolean(bool),
    /// A type, a word perhaps.
    Type(TypeName),
    /// Names, `FORCE_QUOTE (a, b)`; or a qualified name.
    Names(Vec<Name>),
    /// `*`
    Star,
    /// Roles.
    Roles(Vec<RoleName>),
    /// An expression.
    Expr(Expr),
    /// SET clause of CREATE FUNCTION.
    Set(Box<VariableSet>),
}

impl DefinitionElement {
    /// The value as a boolean, as PostgreSQL's `defGetBoolean` reads it: absent is true.
    pub fn boolean(&self) -> Option<bool> {
        match &self.value {
            None => Some(true),
            Some(DefinitionValue::Boolean(value)) => Some(*value),
            Some(DefinitionValue::Integer(0)) => Some(false),
            Some(DefinitionValue::Integer(1)) => Some(true),
            Some(value) => match value.text()?.to_ascii_lowercase().as_str() {
                "true" | "on" => Some(true),
                "false" | "off" => Some(false),
                _ => None,
            },
        }
    }

    /// The value as text.
    pub fn text(&self) -> Option<String> {
        self.value.as_ref()?.text()
    }
}

impl DefinitionValue {
    /// The value as text, where it has one.
    pub fn text(&self) -> Option<String> {
        match self {
            DefinitionValue::String(text) | DefinitionValue::Number(text) => Some(text.clone()),
            DefinitionValue::Integer(value) => Some(value.to_string()),
            DefinitionValue::Boolean(value) => Some(value.to_string()),
            DefinitionValue::Type(name) => Some(name.name.to_string()),
            DefinitionValue::Names(names) => Some(names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(".")),
            DefinitionValue::Star => Some("*".to_owned()),
            _ => None,
        }
    }
}

/// A role as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleName {
    /// A name.
    Name(Name, Location),
    /// CURRENT_ROLE, CURRENT_USER
    CurrentUser,
    /// SESSION_USER
    SessionUser,
    /// PUBLIC
    Public,
}
