//! The session state that evaluation needs: settings, clocks, randomness and the catalog.

pub use base::settings::words::{ByteaOutput, IntervalStyle};
use std::sync::Arc;

use base::{Error, Oid, Result};

use super::datetime::TimeZone;
use super::oids;
use super::random::RandomState;
use super::type_table::{Category, SqlType, TypeKind, TypeShape};
use super::value::{RecordShape, Value};

/// `DateStyle`'s first part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DateStyle {
    /// `1997-12-17 07:37:16-08`
    #[default]
    Iso,
    /// `12/17/1997 07:37:16.00 PST`
    Sql,
    /// `Wed Dec 17 07:37:16 1997 PST`
    Postgres,
    /// `17.12.1997 07:37:16.00 PST`
    German,
}

/// `DateStyle`'s second part: how ambiguous input is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DateOrder {
    /// month, day, year
    #[default]
    Mdy,
    /// day, month, year
    Dmy,
    /// year, month, day
    Ymd,
}

/// The session's settings that text input and output depend on.
#[derive(Clone, Debug)]
pub struct FormatSettings {
    /// Output format of dates.
    pub date_style: DateStyle,
    /// Input order of dates.
    pub date_order: DateOrder,
    /// Output format of intervals.
    pub interval_style: IntervalStyle,
    /// The session's zone.
    pub time_zone: TimeZone,
    /// Above 0: floats in their shortest exact form; otherwise digits less (15 or 6 plus this).
    pub extra_float_digits: i32,
    /// Output format of `bytea`.
    pub bytea_output: ByteaOutput,
    /// An unquoted `NULL` among an array's elements is NULL rather than a text.
    pub array_nulls: bool,
}

impl Default for FormatSettings {
    fn default() -> Self {
        FormatSettings {
            date_style: DateStyle::Iso,
            date_order: DateOrder::Mdy,
            interval_style: IntervalStyle::Postgres,
            time_zone: TimeZone::utc(),
            extra_float_digits: 1,
            bytea_output: ByteaOutput::Hex,
            array_nulls: true,
        }
    }
}

/// A type that a user made.
#[derive(Clone, Debug)]
pub struct UserType {
    /// Its number.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// The name of its schema.
    pub schema: String,
    /// The type of arrays of it, or none.
    pub array: Oid,
    /// Its kind, with the details of that kind.
    pub kind: UserTypeKind,
}

/// The kinds of types that users make.
#[derive(Clone, Debug)]
pub enum UserTypeKind {
    /// Labels in order.
    Enum(Vec<EnumLabel>),
    /// Over a base type; its constraints are checked through [`CatalogLookup::check_domain`].
    Domain(SqlType),
    /// Also the row type of a table.
    Composite(Arc<RecordShape>),
    /// An array of another user type.
    Array(Oid),
}

/// One label of an enum.
#[derive(Clone, Debug)]
pub struct EnumLabel {
    /// As [`super::EnumValue::key`].
    pub key: i64,
    /// Its text.
    pub label: String,
}

impl UserType {
    /// How resolution sees it.
    pub fn shape(&self, catalog: &dyn CatalogLookup) -> TypeShape {
        let (kind, category) = match &self.kind {
            UserTypeKind::Enum(_) => (TypeKind::Enum, Category::Enum),
            UserTypeKind::Composite(_) => (TypeKind::Composite, Category::Composite),
            UserTypeKind::Array(element) => (TypeKind::Array(*element), Category::Array),
            UserTypeKind::Domain(base) => (
                TypeKind::Domain(*base),
                super::type_table::type_shape(catalog, base.oid).map_or(Category::User, |shape| shape.category),
            ),
        };
        TypeShape { kind, category, preferred: false, array: self.array }
    }
}

/// A function that a user made, as far as resolution is concerned.
#[derive(Clone, Debug)]
pub struct UserFunction {
    /// Its number.
    pub oid: Oid,
    /// The name of its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Types of its input arguments.
    pub arguments: Vec<Oid>,
    /// Names of its input arguments; empty where an argument has none.
    pub argument_names: Vec<String>,
    /// How many of the last arguments have a default.
    pub defaults: usize,
    /// Whether the last argument is VARIADIC.
    pub variadic: bool,
    /// The type of its result.
    pub result: Oid,
    /// Whether it returns a set.
    pub returns_set: bool,
    /// Whether it is a procedure, for CALL only.
    pub procedure: bool,
}

/// The functions of one name that users made, the nearest in the search path first.
#[derive(Clone, Debug, Default)]
pub struct UserFunctions {
    /// Those of schemas before `pg_catalog`: they hide built-in ones. None if the name was given with its schema.
    pub before_builtins: Vec<UserFunction>,
    /// The others.
    pub after_builtins: Vec<UserFunction>,
}

impl UserFunctions {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.before_builtins.is_empty() && self.after_builtins.is_empty()
    }
}

/// The kind of object that a `reg*` type names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegKind {
    /// `regclass`
    Class,
    /// `regnamespace`
    Namespace,
    /// `regrole`
    Role,
    /// `regcollation`
    Collation,
    /// `regproc`, for functions of types
    Proc,
    /// `regconfig` and `regdictionary`
    TextSearch,
}

/// Questions to the catalog that types, input, output and resolution ask.
///
/// Everything has a default that knows only what is built in.
pub trait CatalogLookup {
    /// Whether names may be looked up in a schema.
    fn may_look_into(&self, _schema: Oid) -> bool {
        true
    }

    /// Refuses a schema that the role may not look into. One that does not exist passes.
    ///
    /// # Errors
    /// 42501
    fn require_usage(&self, _schema: &str) -> Result<()> {
        Ok(())
    }

    /// A type that is not built in.
    fn user_type(&self, _oid: Oid) -> Option<Arc<UserType>> {
        None
    }

    /// The user-defined type called `name` in `schema`, or on the search path.
    fn user_type_named(&self, _schema: Option<&str>, _name: &str) -> Option<Oid> {
        None
    }

    /// The type called `name` in a schema that stands before `pg_catalog` in the search path: it hides a built-in one.
    fn type_before_builtins(&self, _name: &str) -> Option<Oid> {
        None
    }

    /// Whether the type can be named without its schema.
    fn type_is_visible(&self, _oid: Oid) -> bool {
        true
    }

    /// A function that is not built in.
    fn user_function(&self, _oid: Oid) -> Option<UserFunction> {
        None
    }

    /// The functions called `name` in `schema`, or on the search path, that are not built in.
    fn user_functions(&self, _schema: Option<&str>, _name: &str) -> UserFunctions {
        UserFunctions::default()
    }

    /// Whether `pg_catalog` is in the search path. Calls and types find what is built in under an empty path, too.
    fn finds_builtins(&self) -> bool {
        true
    }

    /// The name of what `oid` names, quoted and qualified as far as needed, as `regclass` prints it.
    fn object_name(&self, _kind: RegKind, _oid: Oid) -> Option<String> {
        None
    }

    /// Returns the identifier of the object that the dotted name stands for.
    fn object_named(&self, _kind: RegKind, _name: &[String]) -> Result<Option<Oid>> {
        Ok(None)
    }

    /// Checks the constraints of a domain on a value of its base type: 23502 or 23514 when violated.
    fn check_domain(&self, _domain: Oid, _value: &Value) -> Result<()> {
        Ok(())
    }

    /// DEFAULT of a domain, as SQL: what its columns have that have none of their own.
    fn domain_default(&self, _domain: Oid) -> Option<String> {
        None
    }
}

/// The fields of a composite type; nothing for any other type.
pub fn composite_shape(catalog: &dyn CatalogLookup, oid: Oid) -> Option<Arc<RecordShape>> {
    match &catalog.user_type(oid)?.kind {
        UserTypeKind::Composite(shape) => Some(Arc::clone(shape)),
        _ => None,
    }
}

/// Knows nothing but what is built in.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltinCatalog;

impl CatalogLookup for BuiltinCatalog {}

/// The session state that functions need while a statement runs.
pub trait EvalContext {
    /// The settings that input and output depend on.
    fn format(&self) -> &FormatSettings;

    /// The catalog as the statement sees it.
    fn catalog(&self) -> &dyn CatalogLookup;

    /// When the transaction began: `now()`. Microseconds since 2000-01-01 UTC.
    fn transaction_timestamp(&self) -> i64;

    /// When the statement arrived: `statement_timestamp()`. Microseconds since 2000-01-01 UTC.
    fn statement_timestamp(&self) -> i64;

    /// The session's random numbers: `random()`, `setseed()`.
    fn random(&mut self) -> &mut RandomState;

    /// Checks the constraints of a domain: 23502, 23514.
    fn check_domain(&mut self, domain: Oid, value: &Value) -> Result<()> {
        self.catalog().check_domain(domain, value)
    }

    /// Whether the transaction in progress has added the label with this key to an enum.
    fn is_new_label(&self, _key: i64) -> bool {
        false
    }

    /// Notes a warning about a statement that is being bound, for the client to hear.
    fn warn(&mut self, _warning: Error) {}

    /// Calls a function of the registry whose implementation is [`super::Implementation::Session`]:
    /// one that the session, the catalogs or the engine answer (`current_setting`, `nextval`,
    /// `pg_get_indexdef`, ...). By oid; [`super::function`] gives the name.
    fn session_function(&mut self, function: Oid, _arguments: &[Value]) -> Result<Value> {
        let name = super::function(function).map_or("?", |def| def.name);
        Err(Error::unsupported(format!("function {name} is not supported")))
    }

    /// Like [`EvalContext::session_function`], for functions that return sets.
    fn session_set_function(&mut self, function: Oid, _arguments: &[Value]) -> Result<Vec<Value>> {
        let name = super::function(function).map_or("?", |def| def.name);
        Err(Error::unsupported(format!("function {name} is not supported")))
    }
}

/// A context without a session: for constants, tests and tools.
#[derive(Debug)]
pub struct PlainContext {
    /// Settings; the defaults to begin with.
    pub settings: FormatSettings,
    /// Answer of both clocks.
    pub timestamp: i64,
    /// Random numbers.
    pub random: RandomState,
}

impl Default for PlainContext {
    fn default() -> Self {
        PlainContext {
            settings: FormatSettings::default(),
            timestamp: super::datetime::clock_micros(),
            random: RandomState::from_entropy(),
        }
    }
}

impl EvalContext for PlainContext {
    fn format(&self) -> &FormatSettings {
        &self.settings
    }

    fn catalog(&self) -> &dyn CatalogLookup {
        &BuiltinCatalog
    }

    fn transaction_timestamp(&self) -> i64 {
        self.timestamp
    }

    fn statement_timestamp(&self) -> i64 {
        self.timestamp
    }

    fn random(&mut self) -> &mut RandomState {
        &mut self.random
    }
}

/// Whether text output of the type asks the catalog (enum labels, `regclass` names, composite fields of
/// such): whoever sends rows without a catalog at hand must have them converted to text before.
pub fn output_needs_catalog(catalog: &dyn CatalogLookup, oid: Oid) -> bool {
    use oids::*;
    match oid {
        REGCLASS | REGTYPE | REGPROC | REGPROCEDURE | REGOPER | REGOPERATOR | REGNAMESPACE | REGROLE | REGCOLLATION
        | REGCONFIG | REGDICTIONARY | RECORD => true,
        _ => match super::type_table::type_shape(catalog, oid).map(|shape| shape.kind) {
            Some(TypeKind::Enum | TypeKind::Composite) => true,
            Some(TypeKind::Array(element)) => output_needs_catalog(catalog, element),
            Some(TypeKind::Domain(base)) => output_needs_catalog(catalog, base.oid),
            _ => false,
        },
    }
}
