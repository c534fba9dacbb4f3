//! Statements that make, change and drop objects, as written.

use schema::catalog::{TriggerEnabled, TriggerTiming};

use super::{
    DefinitionElement, Expr, Location, Name, OnCommit, QualifiedName, Query, RoleName, Statement, TablePersistence,
    TypeName,
};

/// CREATE TABLE
#[derive(Debug, Clone)]
pub struct CreateTable {
    /// Its name.
    pub name: QualifiedName,
    /// TEMPORARY, UNLOGGED
    pub persistence: TablePersistence,
    /// Columns, constraints and LIKE clauses in the order written.
    pub elements: Vec<TableElement>,
    /// INHERITS
    pub inherits: Vec<QualifiedName>,
    /// PARTITION BY or PARTITION OF was written.
    pub partitioned: bool,
    /// OF type
    pub of_type: Option<TypeName>,
    /// WITH (...)
    pub options: Vec<DefinitionElement>,
    /// ON COMMIT
    pub on_commit: OnCommit,
    /// TABLESPACE
    pub tablespace: Option<Name>,
    /// USING
    pub access_method: Option<Name>,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
}

/// An element of CREATE TABLE.
#[derive(Debug, Clone, PartialEq)]
pub enum TableElement {
    /// A column.
    Column(ColumnDefinition),
    /// A table constraint.
    Constraint(Constraint),
    /// LIKE
    Like {
        /// The model.
        table: QualifiedName,
        /// PostgreSQL's CREATE_TABLE_LIKE bits.
        options: u32,
    },
}

/// A column of a table or composite type.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: Name,
    /// Its type; absent only in CREATE TABLE OF.
    pub type_name: Option<TypeName>,
    /// Its constraints, DEFAULT among them.
    pub constraints: Vec<Constraint>,
    /// COLLATE
    pub collation: Option<QualifiedName>,
    /// COMPRESSION
    pub compression: Option<Name>,
    /// USING, of ALTER COLUMN TYPE.
    pub using: Option<Expr>,
    /// Where it stands.
    pub location: Location,
}

/// A constraint of a column or table.
#[derive(Debug, Clone, PartialEq)]
pub struct Constraint {
    /// CONSTRAINT name
    pub name: Option<Name>,
    /// Its kind, with the condition that it demands.
    pub kind: ConstraintKind,
    /// DEFERRABLE
    pub deferrable: bool,
    /// INITIALLY DEFERRED
    pub initially_deferred: bool,
    /// NOT VALID
    pub not_valid: bool,
    /// NO INHERIT
    pub no_inherit: bool,
    /// Where it stands.
    pub location: Location,
}

/// The kind of a constraint, with the condition that it demands.
#[derive(Debug, Clone, PartialEq)]
pub enum ConstraintKind {
    /// NULL
    Null,
    /// NOT NULL
    NotNull,
    /// DEFAULT
    Default(Expr),
    /// GENERATED ... AS IDENTITY
    Identity {
        /// ALWAYS
        always: bool,
        /// Options of the sequence.
        options: Vec<DefinitionElement>,
    },
    /// GENERATED ALWAYS AS (...) STORED
    Generated(Expr),
    /// CHECK
    Check(Expr),
    /// PRIMARY KEY
    PrimaryKey(KeyConstraint),
    /// UNIQUE
    Unique(KeyConstraint),
    /// REFERENCES, FOREIGN KEY
    ForeignKey(Box<ForeignKey>),
    /// EXCLUDE
    Exclusion,
    /// DEFERRABLE and its kin, standing after the column constraint they belong to.
    Attribute(ConstraintAttribute),
}

/// DEFERRABLE and its kin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are named as in SQL")]
pub enum ConstraintAttribute {
    Deferrable,
    NotDeferrable,
    Deferred,
    Immediate,
}

/// PRIMARY KEY and UNIQUE
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KeyConstraint {
    /// The columns; empty for a column constraint.
    pub columns: Vec<Name>,
    /// INCLUDE
    pub including: Vec<Name>,
    /// NULLS NOT DISTINCT
    pub nulls_not_distinct: bool,
    /// USING INDEX
    pub index: Option<Name>,
    /// USING INDEX TABLESPACE
    pub tablespace: Option<Name>,
    /// WITH (...)
    pub options: Vec<DefinitionElement>,
}

/// REFERENCES
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignKey {
    /// The columns here; empty for a column constraint.
    pub columns: Vec<Name>,
    /// The other table.
    pub table: QualifiedName,
    /// The columns there; empty means its primary key.
    pub referenced: Vec<Name>,
    /// MATCH: `s`, `f` or `p`.
    pub match_type: char,
    /// ON UPDATE: `a` no action, `r` restrict, `c` cascade, `n` set null, `d` set default.
    pub on_update: char,
    /// ON DELETE, likewise.
    pub on_delete: char,
    /// `SET NULL (columns)`
    pub on_delete_columns: Vec<Name>,
}

/// A name that `REFERENCING` of CREATE TRIGGER gives.
#[derive(Debug, Clone, PartialEq)]
pub struct TransitionTable {
    /// The name.
    pub name: Name,
    /// NEW rather than OLD.
    pub is_new: bool,
    /// TABLE rather than ROW.
    pub is_table: bool,
}

/// CREATE INDEX
#[derive(Debug, Clone)]
pub struct CreateTrigger {
    /// OR REPLACE
    pub replace: bool,
    /// CONSTRAINT
    pub is_constraint: bool,
    /// Its name.
    pub name: Name,
    /// The table or view.
    pub table: QualifiedName,
    /// The function that is called.
    pub function: QualifiedName,
    /// The arguments of the function.
    pub arguments: Vec<String>,
    /// BEFORE, AFTER or INSTEAD OF.
    pub timing: TriggerTiming,
    /// FOR EACH ROW
    pub for_each_row: bool,
    /// INSERT
    pub on_insert: bool,
    /// UPDATE
    pub on_update: bool,
    /// DELETE
    pub on_delete: bool,
    /// TRUNCATE
    pub on_truncate: bool,
    /// UPDATE OF
    pub update_columns: Vec<Name>,
    /// WHEN
    pub condition: Option<Expr>,
    /// `REFERENCING`
    pub transition_tables: Vec<TransitionTable>,
    /// DEFERRABLE
    pub deferrable: bool,
    /// INITIALLY DEFERRED
    pub initially_deferred: bool,
    /// FROM
    pub from_table: Option<QualifiedName>,
}

/// CREATE INDEX
#[derive(Debug, Clone, PartialEq)]
pub struct CreateIndex {
    /// Its name.
    pub name: Option<Name>,
    /// Its table.
    pub table: QualifiedName,
    /// USING; `btree` if not written.
    pub access_method: Name,
    /// The sort keys.
    pub elements: Vec<IndexElement>,
    /// INCLUDE
    pub including: Vec<IndexElement>,
    /// WITH (...)
    pub options: Vec<DefinitionElement>,
    /// WHERE
    pub filter: Option<Expr>,
    /// UNIQUE
    pub unique: bool,
    /// NULLS NOT DISTINCT
    pub nulls_not_distinct: bool,
    /// CONCURRENTLY
    pub concurrently: bool,
    /// TABLESPACE
    pub tablespace: Option<Name>,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
}

/// An element of an index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexElement {
    /// A column.
    pub column: Option<Name>,
    /// Or an expression.
    pub expr: Option<Expr>,
    /// COLLATE
    pub collation: Option<QualifiedName>,
    /// The operator class.
    pub operator_class: Option<QualifiedName>,
    /// DESC
    pub descending: bool,
    /// NULLS FIRST or LAST, if written.
    pub nulls_first: Option<bool>,
}

/// CREATE VIEW
#[derive(Debug, Clone)]
pub struct CreateView {
    /// Its name.
    pub name: QualifiedName,
    /// TEMPORARY
    pub persistence: TablePersistence,
    /// Names for its first columns.
    pub columns: Vec<Name>,
    /// The query.
    pub query: Query,
    /// OR REPLACE
    pub replace: bool,
    /// WITH (...)
    pub options: Vec<DefinitionElement>,
    /// WITH CHECK OPTION: `Some(true)` is CASCADED.
    pub check_option: Option<bool>,
}

/// CREATE SEQUENCE
#[derive(Debug, Clone, PartialEq)]
pub struct CreateSequence {
    /// Its name.
    pub name: QualifiedName,
    /// TEMPORARY
    pub persistence: TablePersistence,
    /// `start`, `increment`, `minvalue`, `maxvalue`, `cache`, `cycle`, `as`, `owned_by`.
    pub options: Vec<DefinitionElement>,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
}

/// ALTER SEQUENCE
#[derive(Debug, Clone, PartialEq)]
pub struct AlterSequence {
    /// Its name.
    pub name: QualifiedName,
    /// As for CREATE, and `restart`.
    pub options: Vec<DefinitionElement>,
    /// IF EXISTS
    pub if_exists: bool,
}

/// CREATE SCHEMA
#[derive(Debug, Clone)]
pub struct CreateSchema {
    /// Its name; absent if only AUTHORIZATION is given.
    pub name: Option<Name>,
    /// AUTHORIZATION
    pub owner: Option<RoleName>,
    /// Statements within.
    pub elements: Vec<Statement>,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
}

/// CREATE FUNCTION and CREATE PROCEDURE
#[derive(Debug, Clone)]
pub struct CreateFunction {
    /// Its name.
    pub name: QualifiedName,
    /// OR REPLACE
    pub replace: bool,
    /// CREATE PROCEDURE
    pub is_procedure: bool,
    /// Its parameters.
    pub parameters: Vec<FunctionParameter>,
    /// RETURNS
    pub returns: Option<TypeName>,
    /// `language`, `as` (one or two strings), `volatility`, `strict`, `security`, `cost`, `rows`, `set`, ...
    pub options: Vec<DefinitionElement>,
    /// RETURN expression, or BEGIN ATOMIC: its text.
    pub has_sql_body: bool,
}

/// A parameter of a function.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionParameter {
    /// Its name.
    pub name: Option<Name>,
    /// Its type.
    pub type_name: TypeName,
    /// Which way it goes.
    pub mode: ParameterMode,
    /// DEFAULT
    pub default: Option<Expr>,
}

/// Which way a parameter goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are named as in SQL")]
pub enum ParameterMode {
    In,
    Out,
    InOut,
    Variadic,
    Table,
}

/// ALTER FUNCTION, options only.
#[derive(Debug, Clone)]
pub struct AlterFunction {
    /// Which.
    pub function: FunctionSignature,
    /// PROCEDURE
    pub is_procedure: bool,
    /// As for CREATE.
    pub options: Vec<DefinitionElement>,
}

/// A function named with its argument types.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionSignature {
    /// Its name.
    pub name: QualifiedName,
    /// Types of its input arguments; `None` if no list was written.
    pub arguments: Option<Vec<TypeName>>,
}

/// CREATE DOMAIN
#[derive(Debug, Clone)]
pub struct CreateDomain {
    /// Its name.
    pub name: QualifiedName,
    /// Its base type.
    pub type_name: TypeName,
    /// COLLATE
    pub collation: Option<QualifiedName>,
    /// Its constraints, DEFAULT among them.
    pub constraints: Vec<Constraint>,
}

/// ALTER DOMAIN
#[derive(Debug, Clone)]
pub struct AlterDomain {
    /// Its name.
    pub name: QualifiedName,
    /// The change.
    pub action: AlterDomainAction,
}

/// A change that ALTER DOMAIN makes.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "they are named as in SQL")]
pub enum AlterDomainAction {
    SetDefault(Option<Expr>),
    SetNotNull,
    DropNotNull,
    AddConstraint(Constraint),
    DropConstraint { name: Name, cascade: bool, if_exists: bool },
    ValidateConstraint(Name),
}

/// ALTER TYPE ... ADD VALUE, RENAME VALUE
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterEnum {
    /// The type.
    pub name: QualifiedName,
    /// RENAME VALUE: the label as it was.
    pub old_label: Option<String>,
    /// The new label.
    pub new_label: String,
    /// BEFORE or AFTER which.
    pub neighbor: Option<String>,
    /// AFTER
    pub after: bool,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
}

/// CREATE ROLE, USER, GROUP
#[derive(Debug, Clone, PartialEq)]
pub struct CreateRole {
    /// Its name.
    pub name: Name,
    /// CREATE USER: it may log in.
    pub is_user: bool,
    /// `password`, `superuser`, `inherit`, `createrole`, `createdb`, `canlogin`, ...
    pub options: Vec<DefinitionElement>,
}

/// ALTER ROLE
#[derive(Debug, Clone, PartialEq)]
pub struct AlterRole {
    /// Which.
    pub role: RoleName,
    /// As for CREATE.
    pub options: Vec<DefinitionElement>,
    /// ALTER GROUP ... ADD or DROP USER: 1 or -1.
    pub action: i32,
}

/// GRANT and REVOKE
#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    /// GRANT rather than REVOKE.
    pub is_grant: bool,
    /// ALL ... IN SCHEMA
    pub all_in_schema: bool,
    /// Of what kind the objects are.
    pub kind: ObjectKind,
    /// On what.
    pub objects: Vec<ObjectName>,
    /// Privileges with columns; empty means ALL.
    pub privileges: Vec<(Option<Name>, Vec<Name>)>,
    /// To or from whom.
    pub grantees: Vec<RoleName>,
    /// WITH GRANT OPTION
    pub grant_option: bool,
    /// GRANTED BY
    pub granted_by: Option<RoleName>,
    /// CASCADE
    pub cascade: bool,
}

/// ALTER DEFAULT PRIVILEGES
#[derive(Debug, Clone, PartialEq)]
pub struct DefaultPrivileges {
    /// FOR ROLE; none: the role that runs the statement.
    pub roles: Vec<RoleName>,
    /// IN SCHEMA; none: all.
    pub schemas: Vec<Name>,
    /// The privileges that are granted or revoked.
    pub grant: Grant,
}

/// GRANT and REVOKE of roles
#[derive(Debug, Clone, PartialEq)]
pub struct GrantRole {
    /// GRANT rather than REVOKE.
    pub is_grant: bool,
    /// Which roles.
    pub roles: Vec<Name>,
    /// To or from whom.
    pub grantees: Vec<RoleName>,
    /// WITH ADMIN OPTION, ADMIN OPTION FOR
    pub admin_option: bool,
    /// GRANTED BY
    pub granted_by: Option<RoleName>,
    /// CASCADE
    pub cascade: bool,
}

/// The kinds of objects that statements name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they are named as in SQL")]
pub enum ObjectKind {
    Aggregate,
    Cast,
    Column,
    Collation,
    Conversion,
    Database,
    Domain,
    DomainConstraint,
    Extension,
    Function,
    Index,
    Language,
    LargeObject,
    MaterializedView,
    Operator,
    Procedure,
    Role,
    Routine,
    Rule,
    Schema,
    Sequence,
    TableConstraint,
    Table,
    Tablespace,
    Trigger,
    Type,
    View,
    ForeignTable,
    Policy,
    Attribute,
    Other,
}

/// An object named by a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectName {
    /// Of what kind it is.
    pub kind: ObjectKind,
    /// Its name. For columns, constraints, rules and triggers: that of the table or domain they belong to.
    pub name: QualifiedName,
    /// The column, constraint, rule or trigger.
    pub part: Option<Name>,
    /// A function's argument types.
    pub arguments: Option<Vec<TypeName>>,
}

/// DROP
#[derive(Debug, Clone, PartialEq)]
pub struct Drop {
    /// Of what kind.
    pub kind: ObjectKind,
    /// Which.
    pub objects: Vec<ObjectName>,
    /// CASCADE
    pub cascade: bool,
    /// IF EXISTS
    pub if_exists: bool,
    /// CONCURRENTLY
    pub concurrently: bool,
}

/// TRUNCATE
#[derive(Debug, Clone, PartialEq)]
pub struct Truncate {
    /// Which.
    pub tables: Vec<QualifiedName>,
    /// RESTART IDENTITY
    pub restart_identity: bool,
    /// CASCADE
    pub cascade: bool,
}

/// ALTER TABLE and its kin
#[derive(Debug, Clone)]
pub struct AlterTable {
    /// Which.
    pub name: QualifiedName,
    /// TABLE, INDEX, VIEW, SEQUENCE, TYPE, ...
    pub kind: ObjectKind,
    /// IF EXISTS
    pub if_exists: bool,
    /// The changes, in order.
    pub actions: Vec<AlterTableAction>,
}

/// Which triggers of a table ENABLE and DISABLE TRIGGER are about.
#[derive(Debug, Clone, PartialEq)]
pub enum WhichTriggers {
    /// The one of this name.
    Named(Name),
    /// `USER`: all that users have made.
    User,
    /// `ALL`: also those that see to foreign keys and deferrable keys.
    All,
}

/// One change of ALTER TABLE.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "they are named as in SQL")]
pub enum AlterTableAction {
    AddColumn { column: ColumnDefinition, if_not_exists: bool },
    DropColumn { name: Name, cascade: bool, if_exists: bool },
    SetDefault { column: Name, default: Option<Expr> },
    SetNotNull(Name),
    DropNotNull(Name),
    DropExpression { column: Name, if_exists: bool },
    SetType { column: Name, type_name: TypeName, using: Option<Expr>, collation: Option<QualifiedName> },
    SetStatistics { column: Name, number: i32, target: i32 },
    SetStorage { column: Name, method: String },
    SetCompression { column: Name, method: String },
    SetColumnOptions(Name),
    AddIdentity { column: Name, always: bool, options: Vec<DefinitionElement> },
    SetIdentity { column: Name, options: Vec<DefinitionElement> },
    DropIdentity { column: Name, if_exists: bool },
    AddConstraint(Constraint),
    AlterConstraint { name: Name, deferrable: bool, initially_deferred: bool },
    ValidateConstraint(Name),
    DropConstraint { name: Name, cascade: bool, if_exists: bool },
    ChangeOwner(RoleName),
    SetOptions(Vec<DefinitionElement>),
    ResetOptions(Vec<DefinitionElement>),
    SetLogged(bool),
    ClusterOn(Option<Name>),
    SetTablespace(Name),
    EnableTriggers { which: WhichTriggers, enabled: TriggerEnabled },
    ReplicaIdentity(ReplicaIdentityOf),
    RowSecurity,
    Unsupported(&'static str),
}

/// REPLICA IDENTITY
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "they are named as in SQL")]
pub enum ReplicaIdentityOf {
    Default,
    Full,
    Nothing,
    Index(Name),
}

/// ALTER ... RENAME
#[derive(Debug, Clone, PartialEq)]
pub struct Rename {
    /// The object that is renamed.
    pub object: ObjectName,
    /// The kind of the object that a column or attribute belongs to.
    pub relation_kind: ObjectKind,
    /// Its new name.
    pub new_name: Name,
    /// IF EXISTS
    pub if_exists: bool,
}

/// REINDEX
#[derive(Debug, Clone, PartialEq)]
pub struct Reindex {
    /// What.
    pub target: ReindexTarget,
    /// Options as written.
    pub options: Vec<DefinitionElement>,
}

impl Reindex {
    /// Whether it is to be done CONCURRENTLY; the last option counts.
    pub fn is_concurrent(&self) -> bool {
        let written = self.options.iter().rfind(|option| option.name.as_str() == "concurrently");
        written.is_some_and(|option| option.boolean() == Some(true))
    }

    /// The first option that is unknown, or has a value that it can't have.
    pub fn wrong_option(&self) -> Option<&DefinitionElement> {
        self.options.iter().find(|option| match option.name.as_str() {
            "verbose" | "concurrently" => option.boolean().is_none(),
            "tablespace" => false,
            _ => true,
        })
    }

    /// Whether PostgreSQL makes several transactions of it, so that it can't stand in one. Wrong options are told first.
    pub fn needs_no_block(&self) -> bool {
        let is_small = matches!(self.target, ReindexTarget::Index(_) | ReindexTarget::Table(_));
        self.wrong_option().is_none() && (self.is_concurrent() || !is_small)
    }

    /// Its name in messages.
    pub fn name(&self) -> &'static str {
        match self.target {
            _ if self.is_concurrent() => "REINDEX CONCURRENTLY",
            ReindexTarget::Index(_) | ReindexTarget::Table(_) => "REINDEX",
            ReindexTarget::Schema(_) => "REINDEX SCHEMA",
            ReindexTarget::System(_) => "REINDEX SYSTEM",
            ReindexTarget::Database(_) => "REINDEX DATABASE",
        }
    }
}

/// The object whose indexes REINDEX rebuilds.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "they are named as in SQL")]
pub enum ReindexTarget {
    Index(QualifiedName),
    Table(QualifiedName),
    Schema(Name),
    System(Name),
    Database(Name),
}
