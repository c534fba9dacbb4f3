//! Statements as written: what the parser makes of a text, before any name is looked up.
//!
//! The tree follows PostgreSQL's raw parse tree, but is typed: what the grammar allows is what the types allow.
//! Positions ([`Location`]) are byte offsets in the text that was parsed, so that errors can point at it.

mod ddl;
mod expr;
mod query;
mod utility;

use types::SmolStr;

pub use ddl::*;
pub use expr::*;
pub use query::*;
pub use utility::*;

/// A name: folded to lower case unless it was quoted, cut to 63 bytes.
pub type Name = SmolStr;

/// A place in the text that was parsed: a byte offset, or -1 if not known.
pub type Location = i32;

/// A dotted name of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QualifiedName {
    /// The database, if written.
    pub catalog: Option<Name>,
    /// The schema, if written.
    pub schema: Option<Name>,
    /// The object.
    pub name: Name,
    /// Where it stands.
    pub location: Location,
}

impl QualifiedName {
    /// A name without a schema.
    pub fn bare(name: impl Into<Name>) -> QualifiedName {
        QualifiedName { catalog: None, schema: None, name: name.into(), location: -1 }
    }
}

impl std::fmt::Display for QualifiedName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for part in [&self.catalog, &self.schema].into_iter().flatten() {
            write!(f, "{part}.")?;
        }
        f.write_str(&self.name)
    }
}

/// A type as written.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeName {
    /// The schema, if written. The grammar itself writes `pg_catalog` for the types that have keywords.
    pub schema: Option<Name>,
    /// The name.
    pub name: Name,
    /// `varchar(3)`, `numeric(5,2)`: integers usually, but the grammar takes any expression.
    pub modifiers: Vec<Expr>,
    /// `[]`, as often as written; the bounds don't matter.
    pub array_dimensions: u32,
    /// `SETOF`
    pub setof: bool,
    /// `column%TYPE`: the name's parts are in `name`, dotted.
    pub percent_type: bool,
    /// Where it stands.
    pub location: Location,
}

/// One statement of a text, and where it stands in it.
#[derive(Debug, Clone)]
pub struct ParsedStatement {
    /// The statement.
    pub statement: Statement,
    /// Where it starts in the text, in bytes.
    pub start: usize,
    /// Where it ends, in bytes; the semicolon is not part of it.
    pub end: usize,
    /// How deep it is nested: binding and planning recurse that deep.
    pub depth: u32,
}

/// A statement.
#[derive(Debug, Clone)]
pub enum Statement {
    /// SELECT, VALUES, TABLE, and set operations of them.
    Select(Box<Query>),
    /// INSERT
    Insert(Box<Insert>),
    /// UPDATE
    Update(Box<Update>),
    /// DELETE
    Delete(Box<Delete>),
    /// MERGE
    Merge(Box<Merge>),
    /// BEGIN, COMMIT, SAVEPOINT, PREPARE TRANSACTION and so on.
    Transaction(Transaction),
    /// PREPARE
    Prepare(Box<Prepare>),
    /// EXECUTE
    Execute(Execute),
    /// DEALLOCATE; `None` is ALL.
    Deallocate(Option<Name>),
    /// DECLARE CURSOR
    DeclareCursor(Box<DeclareCursor>),
    /// FETCH and MOVE
    Fetch(Fetch),
    /// CLOSE; `None` is ALL.
    ClosePortal(Option<Name>),
    /// EXPLAIN
    Explain(Box<Explain>),
    /// COPY
    Copy(Box<Copy>),
    /// VACUUM and ANALYZE
    Vacuum(Vacuum),
    /// CHECKPOINT
    Checkpoint,
    /// SET and RESET
    Set(VariableSet),
    /// SHOW; the name `all` shows all.
    Show(Name),
    /// DISCARD
    Discard(Discard),
    /// LISTEN
    Listen(Name),
    /// UNLISTEN; `None` is `*`.
    Unlisten(Option<Name>),
    /// NOTIFY
    Notify {
        /// The channel.
        channel: Name,
        /// The payload.
        payload: String,
    },
    /// LOCK TABLE
    Lock(LockTable),
    /// DO
    Do {
        /// plpgsql if not written.
        language: Option<Name>,
        /// The code.
        body: String,
    },
    /// CALL
    Call(Box<FunctionCall>),
    /// SET CONSTRAINTS
    SetConstraints {
        /// Which; empty means all.
        constraints: Vec<QualifiedName>,
        /// DEFERRED
        deferred: bool,
    },
    /// LOAD
    Load(String),
    /// CREATE TABLE
    CreateTable(Box<CreateTable>),
    /// CREATE TABLE AS, SELECT INTO, CREATE MATERIALIZED VIEW
    CreateTableAs(Box<CreateTableAs>),
    /// CREATE INDEX
    CreateIndex(Box<CreateIndex>),
    /// CREATE TRIGGER
    CreateTrigger(Box<CreateTrigger>),
    /// CREATE VIEW
    CreateView(Box<CreateView>),
    /// CREATE SEQUENCE
    CreateSequence(CreateSequence),
    /// ALTER SEQUENCE
    AlterSequence(AlterSequence),
    /// CREATE SCHEMA
    CreateSchema(CreateSchema),
    /// CREATE FUNCTION and CREATE PROCEDURE
    CreateFunction(Box<CreateFunction>),
    /// ALTER FUNCTION and ALTER PROCEDURE, options only
    AlterFunction(AlterFunction),
    /// CREATE DOMAIN
    CreateDomain(Box<CreateDomain>),
    /// ALTER DOMAIN
    AlterDomain(Box<AlterDomain>),
    /// CREATE TYPE ... AS ENUM
    CreateEnum {
        /// The type.
        name: QualifiedName,
        /// Its labels.
        labels: Vec<String>,
    },
    /// ALTER TYPE ... ADD VALUE, RENAME VALUE
    AlterEnum(AlterEnum),
    /// CREATE TYPE ... AS (...)
    CreateComposite {
        /// The type.
        name: QualifiedName,
        /// Its columns.
        columns: Vec<ColumnDefinition>,
    },
    /// CREATE ROLE, USER, GROUP
    CreateRole(CreateRole),
    /// ALTER ROLE
    AlterRole(AlterRole),
    /// ALTER ROLE ... SET
    AlterRoleSet {
        /// `None` is ALL.
        role: Option<RoleName>,
        /// IN DATABASE
        database: Option<Name>,
        /// The setting.
        set: VariableSet,
    },
    /// DROP ROLE
    DropRole {
        /// Which.
        roles: Vec<RoleName>,
        /// IF EXISTS
        if_exists: bool,
    },
    /// GRANT and REVOKE of privileges
    Grant(Box<Grant>),
    /// GRANT and REVOKE of roles
    GrantRole(GrantRole),
    /// ALTER DEFAULT PRIVILEGES
    AlterDefaultPrivileges(Box<DefaultPrivileges>),
    /// REASSIGN OWNED
    ReassignOwned {
        /// From whom.
        roles: Vec<RoleName>,
        /// To whom.
        new_role: RoleName,
    },
    /// DROP OWNED
    DropOwned {
        /// Whose.
        roles: Vec<RoleName>,
        /// CASCADE
        cascade: bool,
    },
    /// DROP of most kinds of objects
    Drop(Drop),
    /// TRUNCATE
    Truncate(Truncate),
    /// ALTER TABLE and its kin for views, indexes, sequences and composite types
    AlterTable(Box<AlterTable>),
    /// ALTER ... RENAME
    Rename(Box<Rename>),
    /// ALTER ... OWNER TO
    AlterOwner {
        /// Which object.
        object: ObjectName,
        /// To whom.
        new_owner: RoleName,
    },
    /// ALTER ... SET SCHEMA
    AlterObjectSchema {
        /// Which object.
        object: ObjectName,
        /// Where to.
        new_schema: Name,
        /// IF EXISTS
        if_exists: bool,
    },
    /// COMMENT
    Comment {
        /// On what.
        object: ObjectName,
        /// `None` takes it away.
        comment: Option<String>,
    },
    /// REINDEX
    Reindex(Reindex),
    /// CLUSTER
    Cluster {
        /// `None` is every table clustered before.
        table: Option<QualifiedName>,
        /// USING
        index: Option<Name>,
    },
    /// REFRESH MATERIALIZED VIEW
    RefreshMaterializedView {
        /// Which.
        view: QualifiedName,
        /// CONCURRENTLY
        concurrently: bool,
        /// WITH NO DATA
        no_data: bool,
    },
    /// CREATE EXTENSION
    CreateExtension {
        /// Which.
        name: Name,
        /// IF NOT EXISTS
        if_not_exists: bool,
    },
    /// CREATE DATABASE
    CreateDatabase {
        /// Its name.
        name: Name,
        /// Its options.
        options: Vec<DefinitionElement>,
    },
    /// DROP DATABASE
    DropDatabase {
        /// Its name.
        name: Name,
        /// IF EXISTS
        if_exists: bool,
        /// WITH (FORCE)
        force: bool,
    },
    /// ALTER DATABASE with options
    AlterDatabase {
        /// Its name.
        name: Name,
        /// Its options.
        options: Vec<DefinitionElement>,
    },
    /// ALTER DATABASE ... SET
    AlterDatabaseSet {
        /// Its name.
        name: Name,
        /// The setting.
        set: VariableSet,
    },
    /// ALTER SYSTEM
    AlterSystem(VariableSet),
    /// A statement that Cohort knows and leaves out: binding it gives 0A000.
    Unsupported(&'static str),
}

impl Statement {
    /// Whether it is a query or a change of rows: PREPARE and EXPLAIN take these, and a plan runs them.
    pub fn has_plan(&self) -> bool {
        matches!(
            self,
            Statement::Select(_)
                | Statement::Insert(_)
                | Statement::Update(_)
                | Statement::Delete(_)
                | Statement::Merge(_)
        )
    }
}
