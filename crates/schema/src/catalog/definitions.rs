//! Descriptors of catalog objects, as they are stored.
//!
//! SQL texts (defaults, checks, predicates, view queries, function bodies) are opaque here.

use std::sync::Arc;

use base::{FileNumber, Lsn, Oid};
use serde::{Deserialize, Serialize};

use super::class;
use super::function::FunctionDef;
use super::role::RoleDef;
use super::trigger::{ConstraintTrigger, TransitionTables, TriggerDef};
use crate::row::{ColumnSet, PhysicalType};

/// The schema `pg_catalog`.
pub const PG_CATALOG_SCHEMA: Oid = Oid(11);
/// The database `postgres`, the default one of embedded sessions. PostgreSQL gives it this number, too.
pub const DATABASE_OID: Oid = Oid(5);
/// The database `template1`, which CREATE DATABASE copies by default.
pub const TEMPLATE1_DATABASE: Oid = Oid(1);
/// The database `template0`, which nobody connects to.
pub const TEMPLATE0_DATABASE: Oid = Oid(4);
/// The schema `public`.
pub const PUBLIC_SCHEMA: Oid = Oid(2200);
/// The schema `information_schema`.
pub const INFORMATION_SCHEMA: Oid = Oid(13000);
/// The prefix of the names of temporary schemas. The number of the session follows it.
pub const TEMPORARY_SCHEMA_PREFIX: &str = "pg_temp_";

/// The kind of a table-like object, as in `pg_class.relkind`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum RelationKind {
    /// An ordinary table, `r`.
    Table,
    /// A view, `v`: no storage.
    View,
    /// A materialized view, `m`.
    MaterializedView,
}

impl RelationKind {
    /// Whether such an object has rows of its own.
    pub fn has_storage(self) -> bool {
        !matches!(self, RelationKind::View)
    }
}

/// How lasting a relation is, as in `pg_class.relpersistence`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Persistence {
    /// Until dropped, `p`.
    #[default]
    Permanent,
    /// Accepted as such; stored and logged like a permanent one, `u`.
    Unlogged,
    /// Until its session ends, `t`.
    Temporary,
}

/// A namespace.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SchemaDef {
    /// Its identifier.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// The role that owns it.
    pub owner: Oid,
    /// `COMMENT ON`.
    pub comment: Option<String>,
}

/// A table, view or materialized view.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TableDef {
    /// Its identifier.
    pub oid: Oid,
    /// The schema it is in.
    pub schema: Oid,
    /// Its name.
    pub name: String,
    /// The role that owns it.
    pub owner: Oid,
    /// Its kind.
    pub kind: RelationKind,
    /// How lasting it is.
    pub persistence: Persistence,
    /// Its heap. Zero in a descriptor given to `create_object`: storage is made for it.
    pub file: FileNumber,
    /// The heap of values too large for a row; zero: none yet, made when a column could need it.
    pub overflow_file: FileNumber,
    /// The index of the overflow heap.
    pub overflow_index_file: FileNumber,
    /// Its columns in order; dropped ones stay in place.
    pub columns: Vec<ColumnDef>,
    /// Its constraints.
    pub constraints: Vec<ConstraintDef>,
    /// How full an insert makes a page, in percent.
    pub fillfactor: u8,
    /// Rows, by the last VACUUM or ANALYZE; negative: never counted.
    pub estimated_rows: f64,
    /// Pages, by the last VACUUM or ANALYZE.
    pub estimated_pages: u32,
    /// The query of a view, as SQL.
    pub view_query: Option<String>,
    /// The statistics that ANALYZE gathered; opaque here.
    pub column_statistics: Option<Vec<u8>>,
    /// Storage parameters other than fillfactor, `name=value`.
    pub options: Vec<String>,
    /// `COMMENT ON`.
    pub comment: Option<String>,
    /// Its triggers. Format version 2 ended before it.
    pub triggers: Vec<TriggerDef>,
    /// The names that its triggers' functions read a statement's rows by. Format version 3 ended before it.
    pub transition_tables: Vec<TransitionTables>,
    /// The columns that `ON DELETE SET NULL` and `SET DEFAULT` set, where not all of the key: by constraint.
    pub delete_set_columns: Vec<(Oid, Vec<usize>)>,
    /// The columns and functions that a view's query could name when the view was made; none if older code made it.
    pub view_scope: Option<ViewScope>,
    /// A materialized view whose query has not been run yet, or not since `REFRESH ... WITH NO DATA`.
    pub is_unpopulated: bool,
    /// Its constraints, and foreign keys to it, that `DISABLE TRIGGER ALL` has switched off: changes of its rows don't have them looked at.
    pub unkept_constraints: Vec<Oid>,
    /// Properties of columns that are only kept, shown and dumped. Columns without any are left out.
    pub column_properties: Vec<ColumnProperties>,
    /// `REPLICA IDENTITY`
    pub replica_identity: ReplicaIdentity,
    /// `CLUSTER ON`: an index that may be gone.
    pub clustered_on: Option<Oid>,
    /// Names and comments that its constraint triggers have as constraints.
    pub constraint_triggers: Vec<ConstraintTrigger>,
}

/// Properties of a column that change nothing about which values it has.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ColumnProperties {
    /// The column's place.
    pub place: usize,
    /// `COLLATE`, where it is not the type's own one.
    pub collation: Option<Oid>,
    /// `SET STATISTICS`
    pub statistics: Option<i32>,
    /// `SET STORAGE`, as in `pg_attribute.attstorage`, where it is not the type's own one.
    pub storage: Option<u8>,
    /// `SET COMPRESSION`, as in `pg_attribute.attcompression`.
    pub compression: Option<u8>,
}

/// The part of an old row that logical replication is told, as in `pg_class.relreplident`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum ReplicaIdentity {
    /// The primary key, `d`.
    #[default]
    Default,
    /// Nothing, `n`.
    Nothing,
    /// All columns, `f`.
    Full,
    /// The columns of an index, which may be gone, `i`.
    Index(Oid),
}

/// The scope in which the names of a view's query were looked up. Columns and functions that came later do not change the
/// query's meaning.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ViewScope {
    /// The relations that it reads, and the row types that functions in FROM return, with the number of columns that each had. Dropped
    /// columns of relations count.
    pub columns: Vec<(Oid, u32)>,
    /// The functions made by users that it calls.
    pub functions: Vec<Oid>,
}

impl ViewScope {
    /// How many columns of a relation or row type it could name; `None` for all.
    pub fn columns_of(&self, relation: Oid) -> Option<usize> {
        let found = self.columns.iter().find(|(oid, _)| *oid == relation);
        found.map(|(_, columns)| *columns as usize)
    }
}

impl TableDef {
    /// A table without columns, its storage not made yet.
    pub fn new(oid: Oid, schema: Oid, name: impl Into<String>, owner: Oid) -> TableDef {
        TableDef {
            oid,
            schema,
            name: name.into(),
            owner,
            kind: RelationKind::Table,
            persistence: Persistence::Permanent,
            file: FileNumber(0),
            overflow_file: FileNumber(0),
            overflow_index_file: FileNumber(0),
            columns: Vec::new(),
            constraints: Vec::new(),
            triggers: Vec::new(),
            transition_tables: Vec::new(),
            delete_set_columns: Vec::new(),
            view_scope: None,
            is_unpopulated: false,
            unkept_constraints: Vec::new(),
            column_properties: Vec::new(),
            replica_identity: ReplicaIdentity::Default,
            clustered_on: None,
            constraint_triggers: Vec::new(),
            fillfactor: 100,
            estimated_rows: -1.0,
            estimated_pages: 0,
            view_query: None,
            column_statistics: None,
            options: Vec::new(),
            comment: None,
        }
    }

    /// The same with a column more.
    #[must_use]
    pub fn column(mut self, name: impl Into<String>, physical: PhysicalType) -> TableDef {
        self.columns.push(ColumnDef::new(name, Oid::INVALID, physical));
        self
    }

    /// The position of the column called `name`, dropped ones not counted.
    pub fn column_by_name(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| !column.dropped && column.name == name)
    }

    /// The names that the function of one of its triggers reads a statement's rows by.
    pub fn transition_tables_of(&self, trigger: Oid) -> Option<&TransitionTables> {
        self.transition_tables.iter().find(|tables| tables.trigger == trigger)
    }

    /// The name that a constraint trigger has as a constraint.
    pub fn constraint_name_of<'t>(&'t self, trigger: &'t TriggerDef) -> &'t str {
        let other = self.as_constraint(trigger.oid).and_then(|constraint| constraint.name.as_deref());
        other.unwrap_or(&trigger.name)
    }

    /// The constraint trigger that is called so as a constraint.
    pub fn constraint_trigger_named(&self, name: &str) -> Option<&TriggerDef> {
        self.triggers.iter().find(|def| def.is_constraint && self.constraint_name_of(def) == name)
    }

    /// The names and comments that constraint triggers have as constraints.
    pub fn as_constraint(&self, trigger: Oid) -> Option<&ConstraintTrigger> {
        self.constraint_triggers.iter().find(|constraint| constraint.trigger == trigger)
    }

    /// The same, to be changed.
    pub fn as_constraint_mut(&mut self, trigger: Oid) -> &mut ConstraintTrigger {
        let found = self.constraint_triggers.iter().position(|constraint| constraint.trigger == trigger);
        let place = found.unwrap_or_else(|| {
            self.constraint_triggers.push(ConstraintTrigger { trigger, ..ConstraintTrigger::default() });
            self.constraint_triggers.len() - 1
        });
        &mut self.constraint_triggers[place]
    }

    /// The columns that a foreign key sets when the row referred to is deleted, where they were listed.
    pub fn delete_set_columns_of(&self, constraint: Oid) -> Option<&[usize]> {
        let found = self.delete_set_columns.iter().find(|(oid, _)| *oid == constraint);
        found.map(|(_, columns)| columns.as_slice())
    }

    /// The properties of the column at this place; most columns have none.
    pub fn properties_of(&self, place: usize) -> ColumnProperties {
        let found = self.column_properties.iter().find(|properties| properties.place == place);
        found.cloned().unwrap_or(ColumnProperties { place, ..ColumnProperties::default() })
    }

    /// Keeps what was said of a column.
    pub fn set_properties(&mut self, properties: ColumnProperties) {
        self.column_properties.retain(|old| old.place != properties.place);
        let nothing = ColumnProperties { place: properties.place, ..ColumnProperties::default() };
        if properties != nothing {
            self.column_properties.push(properties);
        }
    }

    /// The files it owns.
    pub fn files(&self) -> impl Iterator<Item = FileNumber> {
        [self.file, self.overflow_file, self.overflow_index_file].into_iter().filter(|file| file.0 != 0)
    }
}

/// A column of a table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ColumnDef {
    /// Its name.
    pub name: String,
    /// Its SQL type.
    pub type_oid: Oid,
    /// The type's modifier, -1 for none.
    pub typmod: i32,
    /// The physical type of its values in a row.
    pub physical: PhysicalType,
    /// Whether nulls are refused (by the SQL layer).
    pub not_null: bool,
    /// The default, as SQL.
    pub default: Option<String>,
    /// The value in rows older than the column, as `encode_row` of a one-column row.
    pub missing_default: Option<Vec<u8>>,
    /// `ALTER TABLE DROP COLUMN` has hidden it; it takes no new values but null.
    pub dropped: bool,
    /// `GENERATED ... AS IDENTITY`.
    pub identity: Option<Identity>,
    /// `GENERATED ALWAYS AS (expression) STORED`, as SQL.
    pub generated: Option<String>,
    /// `COMMENT ON COLUMN`.
    pub comment: Option<String>,
}

impl ColumnDef {
    /// A column that may be null and has no default.
    pub fn new(name: impl Into<String>, type_oid: Oid, physical: PhysicalType) -> ColumnDef {
        ColumnDef {
            name: name.into(),
            type_oid,
            typmod: -1,
            physical,
            not_null: false,
            default: None,
            missing_default: None,
            dropped: false,
            identity: None,
            generated: None,
            comment: None,
        }
    }
}

/// How an identity column takes values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Identity {
    /// `ALWAYS` rather than `BY DEFAULT`.
    pub always: bool,
    /// The sequence behind it.
    pub sequence: Oid,
}

/// A constraint of a table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ConstraintDef {
    /// Its identifier.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// Its kind, with the details of that kind.
    pub kind: ConstraintKind,
    /// Whether it holds for rows older than itself.
    pub validated: bool,
    /// `DEFERRABLE`.
    pub deferrable: bool,
    /// `INITIALLY DEFERRED`.
    pub initially_deferred: bool,
    /// `COMMENT ON CONSTRAINT`.
    pub comment: Option<String>,
}

/// The kind of a constraint: the condition that rows must meet.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum ConstraintKind {
    /// The key by which rows are named.
    PrimaryKey {
        /// Its index.
        index: Oid,
    },
    /// No two rows alike.
    Unique {
        /// Its index.
        index: Oid,
    },
    /// An expression that is not false.
    Check {
        /// As SQL.
        expression: String,
        /// `NO INHERIT`.
        no_inherit: bool,
    },
    /// A row of another table that has these values.
    ForeignKey {
        /// The columns here, by position.
        columns: Vec<usize>,
        /// The other table.
        referenced_table: Oid,
        /// The columns there, by position.
        referenced_columns: Vec<usize>,
        /// The unique index there.
        referenced_index: Oid,
        /// The action on the referencing rows when the referenced row is updated.
        on_update: ForeignKeyAction,
        /// The action on the referencing rows when the referenced row is deleted.
        on_delete: ForeignKeyAction,
        /// Which nulls excuse a row.
        matching: ForeignKeyMatch,
    },
}

/// The action on the referencing rows when the referenced row changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum ForeignKeyAction {
    /// An error, at the statement's end or later.
    #[default]
    NoAction,
    /// An error at once.
    Restrict,
    /// The same change.
    Cascade,
    /// Nulls.
    SetNull,
    /// Defaults.
    SetDefault,
}

/// Which nulls excuse a row from a foreign key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum ForeignKeyMatch {
    /// Any.
    #[default]
    Simple,
    /// All or none.
    Full,
}

/// An index.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct IndexDef {
    /// Its identifier.
    pub oid: Oid,
    /// The schema it is in: its table's.
    pub schema: Oid,
    /// Its name.
    pub name: String,
    /// Its table.
    pub table: Oid,
    /// Its tree. Zero in a descriptor given to `create_object`: storage is made for it.
    pub file: FileNumber,
    /// Whether two rows may have the same key.
    pub unique: bool,
    /// Whether it is the primary key's.
    pub primary: bool,
    /// Whether nulls are equal to each other in a unique index.
    pub nulls_not_distinct: bool,
    /// The sort keys.
    pub keys: Vec<IndexKey>,
    /// Columns of `INCLUDE`, by position; described, not stored.
    pub included: Vec<usize>,
    /// The condition of a partial index, as SQL.
    pub predicate: Option<String>,
    /// The columns that expressions and predicate read, by position.
    pub expression_columns: Vec<usize>,
    /// The constraint it belongs to.
    pub constraint_name: Option<String>,
    /// Rows entered, by the last VACUUM or ANALYZE.
    pub estimated_rows: f64,
    /// Pages, by the last VACUUM or ANALYZE.
    pub estimated_pages: u32,
    /// Only for snapshots at or above this: rows had older versions, when it was built, that it does not lead to.
    pub usable_from: Lsn,
    /// Storage parameters, `name=value`.
    pub options: Vec<String>,
    /// `COMMENT ON`.
    pub comment: Option<String>,
    /// Whether its uniqueness is looked at later, instead of where a row is entered. Format version 3 ended before it.
    pub deferrable: bool,
    /// Properties of its keys that are only kept, shown and dumped. Keys without any are left out.
    pub key_properties: Vec<KeyProperties>,
}

/// Properties of an index's key that change nothing about its order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct KeyProperties {
    /// The key's place.
    pub place: usize,
    /// The collation, where it is not that of the column or expression.
    pub collation: Option<Oid>,
    /// The operator class, where it is not the type's default one.
    pub operator_class: Option<Oid>,
    /// `SET STATISTICS`
    pub statistics: Option<i32>,
}

impl IndexDef {
    /// An index on plain columns, ascending, nulls last; its storage not made yet.
    pub fn new(oid: Oid, table: &TableDef, name: impl Into<String>, columns: &[usize], unique: bool) -> IndexDef {
        IndexDef {
            oid,
            schema: table.schema,
            name: name.into(),
            table: table.oid,
            file: FileNumber(0),
            unique,
            deferrable: false,
            key_properties: Vec::new(),
            primary: false,
            nulls_not_distinct: false,
            keys: columns.iter().map(|column| IndexKey::column(*column)).collect(),
            included: Vec::new(),
            predicate: None,
            expression_columns: Vec::new(),
            constraint_name: None,
            estimated_rows: 0.0,
            estimated_pages: 0,
            usable_from: Lsn::ZERO,
            options: Vec::new(),
            comment: None,
        }
    }

    /// The properties of the key at this place; most keys have none.
    pub fn properties_of(&self, place: usize) -> KeyProperties {
        let found = self.key_properties.iter().find(|properties| properties.place == place);
        found.cloned().unwrap_or(KeyProperties { place, ..KeyProperties::default() })
    }

    /// Keeps what was said of a key.
    pub fn set_properties(&mut self, properties: KeyProperties) {
        self.key_properties.retain(|old| old.place != properties.place);
        let nothing = KeyProperties { place: properties.place, ..KeyProperties::default() };
        if properties != nothing {
            self.key_properties.push(properties);
        }
    }

    /// Whether a foreign key may refer to its columns: it is unique, of all rows, and its keys are columns.
    pub fn may_be_referenced(&self) -> bool {
        self.unique && self.predicate.is_none() && self.keys.iter().all(|key| key.column.is_some())
    }

    /// Every column whose change may change an entry.
    pub fn columns_read(&self) -> ColumnSet {
        self.keys.iter().filter_map(|key| key.column).chain(self.expression_columns.iter().copied()).collect()
    }

    /// The name in messages about it: its constraint's if it has one.
    pub fn constraint_or_name(&self) -> &str {
        self.constraint_name.as_deref().unwrap_or(&self.name)
    }
}

/// One thing an index is sorted by.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct IndexKey {
    /// A column, by position.
    pub column: Option<usize>,
    /// Or an expression, as SQL.
    pub expression: Option<String>,
    /// Largest first.
    pub descending: bool,
    /// Nulls before values.
    pub nulls_first: bool,
}

impl IndexKey {
    /// A column, ascending, nulls last.
    pub fn column(column: usize) -> IndexKey {
        IndexKey { column: Some(column), expression: None, descending: false, nulls_first: false }
    }
}

/// A sequence; its position is kept apart, since it does not obey transactions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SequenceDef {
    /// Its identifier.
    pub oid: Oid,
    /// The schema it is in.
    pub schema: Oid,
    /// Its name.
    pub name: String,
    /// The role that owns it.
    pub owner: Oid,
    /// Where its position is kept. Zero in a descriptor given to `create_object`: storage is made for it.
    pub file: FileNumber,
    /// The integer type of its values.
    pub type_oid: Oid,
    /// The first value.
    pub start: i64,
    /// From one value to the next; not zero.
    pub increment: i64,
    /// The least value.
    pub minimum: i64,
    /// The greatest value.
    pub maximum: i64,
    /// Values a session may take at once.
    pub cache: i64,
    /// Whether it starts again behind its last value.
    pub cycle: bool,
    /// The table and column it goes with.
    pub owned_by: Option<(Oid, usize)>,
    /// `COMMENT ON`.
    pub comment: Option<String>,
}

impl SequenceDef {
    /// A sequence that counts up from 1.
    pub fn new(oid: Oid, schema: Oid, name: impl Into<String>, owner: Oid) -> SequenceDef {
        SequenceDef {
            oid,
            schema,
            name: name.into(),
            owner,
            file: FileNumber(0),
            type_oid: Oid(20),
            start: 1,
            increment: 1,
            minimum: 1,
            maximum: i64::MAX,
            cache: 1,
            cycle: false,
            owned_by: None,
            comment: None,
        }
    }
}

/// Any other object (a type, domain, trigger, cast ...), described by the layer above.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CustomDef {
    /// Its identifier.
    pub oid: Oid,
    /// The kind of the object, as the oid of PostgreSQL's catalog for it (`pg_type` is 1247).
    pub class: Oid,
    /// The schema it is in, if it is in one.
    pub schema: Oid,
    /// Its name, unique for class and schema.
    pub name: String,
    /// The role that owns it.
    pub owner: Oid,
    /// The description.
    pub body: Vec<u8>,
}

/// A database. All databases share it, as they share roles.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DatabaseDef {
    /// Its identifier.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// The role that owns it.
    pub owner: Oid,
    /// Whether roles that may make databases may copy it.
    pub is_template: bool,
    /// Whether sessions may be in it.
    pub allows_connections: bool,
    /// How many sessions of roles that are no superusers may be in it; -1: any number.
    pub connection_limit: i32,
    /// `COMMENT ON`.
    pub comment: Option<String>,
}

impl DatabaseDef {
    /// A database that anybody may connect to.
    pub fn new(oid: Oid, name: impl Into<String>, owner: Oid) -> DatabaseDef {
        DatabaseDef {
            oid,
            name: name.into(),
            owner,
            is_template: false,
            allows_connections: true,
            connection_limit: -1,
            comment: None,
        }
    }
}

/// Any object.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Object {
    /// A namespace.
    Schema(Arc<SchemaDef>),
    /// A table, view or materialized view.
    Table(Arc<TableDef>),
    /// An index.
    Index(Arc<IndexDef>),
    /// A sequence.
    Sequence(Arc<SequenceDef>),
    /// A function or procedure.
    Function(Arc<FunctionDef>),
    /// A role.
    Role(Arc<RoleDef>),
    /// Anything else.
    Custom(Arc<CustomDef>),
    /// A database.
    Database(Arc<DatabaseDef>),
}

/// The name space an object's name is unique in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NameSpace {
    /// Schemas.
    Schema,
    /// Tables, views, indexes and sequences of a schema.
    Relation,
    /// Functions of a schema; a name may be shared.
    Function,
    /// Roles.
    Role,
    /// Custom objects of a class and schema.
    Custom(Oid),
    /// Databases.
    Database,
}

impl Object {
    /// Its identifier.
    pub fn oid(&self) -> Oid {
        match self {
            Object::Schema(def) => def.oid,
            Object::Table(def) => def.oid,
            Object::Index(def) => def.oid,
            Object::Sequence(def) => def.oid,
            Object::Function(def) => def.oid,
            Object::Role(def) => def.oid,
            Object::Custom(def) => def.oid,
            Object::Database(def) => def.oid,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Object::Schema(def) => &def.name,
            Object::Table(def) => &def.name,
            Object::Index(def) => &def.name,
            Object::Sequence(def) => &def.name,
            Object::Function(def) => &def.name,
            Object::Role(def) => &def.name,
            Object::Custom(def) => &def.name,
            Object::Database(def) => &def.name,
        }
    }

    /// The schema it is in; [`Oid::INVALID`] if in none.
    pub fn schema(&self) -> Oid {
        match self {
            Object::Schema(_) | Object::Role(_) | Object::Database(_) => Oid::INVALID,
            Object::Table(def) => def.schema,
            Object::Index(def) => def.schema,
            Object::Sequence(def) => def.schema,
            Object::Function(def) => def.schema,
            Object::Custom(def) => def.schema,
        }
    }

    /// The role that owns it, if one does.
    pub fn owner(&self) -> Option<Oid> {
        match self {
            Object::Schema(def) => Some(def.owner),
            Object::Table(def) => Some(def.owner),
            Object::Sequence(def) => Some(def.owner),
            Object::Function(def) => Some(def.owner),
            Object::Custom(def) => Some(def.owner),
            Object::Database(def) => Some(def.owner),
            Object::Index(_) | Object::Role(_) => None,
        }
    }

    /// Where its name must be unique.
    pub fn name_space(&self) -> NameSpace {
        match self {
            Object::Schema(_) => NameSpace::Schema,
            Object::Table(_) | Object::Index(_) | Object::Sequence(_) => NameSpace::Relation,
            Object::Function(_) => NameSpace::Function,
            Object::Role(_) => NameSpace::Role,
            Object::Custom(def) => NameSpace::Custom(def.class),
            Object::Database(_) => NameSpace::Database,
        }
    }

    /// Whether all databases share it.
    pub fn is_shared(&self) -> bool {
        match self {
            Object::Role(_) | Object::Database(_) => true,
            Object::Custom(def) => class::is_shared(def.class),
            _ => false,
        }
    }

    /// A copy that shares nothing with this object: caches compare descriptors by address (`Arc::ptr_eq`).
    pub fn copied(&self) -> Object {
        match self {
            Object::Schema(def) => Object::Schema(Arc::new((**def).clone())),
            Object::Table(def) => Object::Table(Arc::new((**def).clone())),
            Object::Index(def) => Object::Index(Arc::new((**def).clone())),
            Object::Sequence(def) => Object::Sequence(Arc::new((**def).clone())),
            Object::Function(def) => Object::Function(Arc::new((**def).clone())),
            Object::Role(def) => Object::Role(Arc::new((**def).clone())),
            Object::Custom(def) => Object::Custom(Arc::new((**def).clone())),
            Object::Database(def) => Object::Database(Arc::new((**def).clone())),
        }
    }

    /// The files it owns.
    pub fn files(&self) -> Vec<FileNumber> {
        match self {
            Object::Table(def) => def.files().collect(),
            Object::Index(def) if def.file.0 != 0 => vec![def.file],
            Object::Sequence(def) if def.file.0 != 0 => vec![def.file],
            _ => Vec::new(),
        }
    }
}

macro_rules! from_definition {
    ($($variant:ident $def:ident)*) => {$(
        impl From<$def> for Object {
            fn from(def: $def) -> Object {
                Object::$variant(Arc::new(def))
            }
        }

        impl From<Arc<$def>> for Object {
            fn from(def: Arc<$def>) -> Object {
                Object::$variant(def)
            }
        }
    )*};
}

from_definition! {
    Schema SchemaDef
    Table TableDef
    Index IndexDef
    Sequence SequenceDef
    Function FunctionDef
    Role RoleDef
    Custom CustomDef
    Database DatabaseDef
}
