//! PostgreSQL's rules for choosing functions, operators and common types.

use base::{Oid, Result};
use smallvec::SmallVec;

use super::aggregates::AggregateDef;
use super::cast::Cast;
use super::context::{CatalogLookup, UserFunction};
use super::function_def::{CallTypes, FunctionDef};
use super::operators::OperatorDef;
use super::type_table::SqlType;

/// A call as it is written.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The schema, if written.
    pub schema: Option<&'a str>,
    /// The function's name.
    pub name: &'a str,
    /// The types of the arguments as bound; [`SqlType::UNKNOWN`] for literals and parameters without one.
    pub arguments: &'a [SqlType],
    /// For named notation: per argument its name, `None` for positional ones. Empty if all are positional.
    pub argument_names: &'a [Option<&'a str>],
    /// Whether the last argument is marked VARIADIC.
    pub variadic: bool,
    /// Whether a procedure is looked for (CALL).
    pub procedure: bool,
}

impl<'a> Call<'a> {
    /// A call with positional arguments and no schema.
    pub fn new(name: &'a str, arguments: &'a [SqlType]) -> Call<'a> {
        Call { schema: None, name, arguments, argument_names: &[], variadic: false, procedure: false }
    }
}

/// What a call was found to be.
#[derive(Clone, Debug)]
pub enum Callee {
    /// A built-in function.
    Function(&'static FunctionDef),
    /// A built-in aggregate.
    Aggregate(&'static AggregateDef),
    /// A function or procedure that a user made.
    User(UserFunction),
    /// A cast written like a function: `int4(x)`, `text(x)`. One argument.
    Cast(Cast),
}

/// Where an argument of the function comes from.
#[derive(Clone, Debug)]
pub enum ArgumentSource {
    /// The call's argument at this place, cast unless it is what's wanted.
    Argument(usize, Cast),
    /// The function's default at this place among its input arguments.
    Default(usize),
    /// The call's arguments from here on, each cast to the element type, gathered into an array of this element type.
    VariadicArray(usize, Vec<Cast>, Oid),
}

/// A call, resolved.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// What is called.
    pub callee: Callee,
    /// Where each of its arguments comes from. A call to `any` VARIADIC passes the rest one by one.
    pub arguments: Vec<ArgumentSource>,
    /// Actual types: polymorphic ones replaced.
    pub types: CallTypes,
    /// Whether it returns a set.
    pub returns_set: bool,
}

/// An operator expression, resolved.
#[derive(Clone, Debug)]
pub struct ResolvedOperator {
    /// The operator.
    pub operator: &'static OperatorDef,
    /// Its function.
    pub function: &'static FunctionDef,
    /// Casts for the operands: left (absent for prefix operators), right.
    pub casts: SmallVec<[Cast; 2]>,
    /// Actual types: polymorphic ones replaced.
    pub types: CallTypes,
}

/// Finds the function that a call means.
///
/// Errors: 42883 `function f(integer) does not exist`, 42725 `function f(unknown) is not unique`.
pub fn resolve_function(_catalog: &dyn CatalogLookup, _call: &Call<'_>) -> Result<Resolved> {
    todo!()
}

/// Finds the operator that an expression means; `left` is `None` for prefix operators.
///
/// Errors: 42883 `operator does not exist: text + integer`, 42725 `operator is not unique: ...`.
pub fn resolve_operator(
    _catalog: &dyn CatalogLookup,
    _schema: Option<&str>,
    _name: &str,
    _left: Option<SqlType>,
    _right: SqlType,
) -> Result<ResolvedOperator> {
    todo!()
}

/// The type that CASE, COALESCE, UNION, VALUES, ARRAY[], GREATEST and the like give to expressions of these types.
///
/// `construct` is how the error names it: 42804 `CASE types integer and text cannot be matched`.
/// Unknown literals alone give `text`. The modifier is kept if all agree on it.
pub fn common_type(_catalog: &dyn CatalogLookup, _construct: &str, _types: &[SqlType]) -> Result<SqlType> {
    todo!()
}
