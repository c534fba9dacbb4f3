//! The shape of a built-in function, and how it is called.

use std::sync::Arc;

use base::{Oid, Result};
use smallvec::SmallVec;

use super::apart::{self, is_large};
use super::context::EvalContext;
use super::type_table::{SqlType, base_type, element_type};
use super::value::{DROPPED_HERE_MAX, Value};

/// How much a function's result may change between calls with the same arguments.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Volatility {
    /// Never: may be evaluated when the statement is planned.
    Immutable,
    /// Not within one statement: depends on settings, the zone or the catalog.
    Stable,
    /// At any time, or it has effects.
    Volatile,
}

/// The types of one call, after resolution: what functions with `any` or polymorphic arguments look at.
#[derive(Clone, PartialEq, Debug)]
pub struct CallTypes {
    /// The types of the arguments as passed, after implicit casts.
    pub arguments: SmallVec<[SqlType; 2]>,
    /// The type of the result (of one row, for functions that return sets).
    pub result: SqlType,
    /// The last argument is an array whose elements are arguments of their own: `VARIADIC array` where any types go.
    pub spread: bool,
    /// How the call is written, where that isn't argument for argument.
    pub written: Option<Arc<Vec<WrittenArgument>>>,
}

/// An argument of a call that leaves some to their defaults, or names them.
#[derive(Clone, PartialEq, Debug)]
pub struct WrittenArgument {
    /// Its place among the function's arguments.
    pub place: usize,
    /// The name that it is written with.
    pub name: Option<String>,
}

impl CallTypes {
    /// Of a call whose arguments are passed as they are.
    pub fn new(arguments: impl IntoIterator<Item = SqlType>, result: SqlType) -> CallTypes {
        CallTypes { arguments: arguments.into_iter().collect(), result, spread: false, written: None }
    }
}

/// A function on values. NULL arguments reach it only if it is not strict.
pub type PlainFunction = fn(&mut dyn EvalContext, &[Value]) -> Result<Value>;
/// A function that needs to know its arguments' types.
pub type TypedFunction = fn(&mut dyn EvalContext, &CallTypes, &[Value]) -> Result<Value>;
/// A function that returns a set.
pub type SetFunction = fn(&mut dyn EvalContext, &CallTypes, &[Value]) -> Result<Box<dyn ValueStream>>;

/// The roles that may call a function of the server's own, as long as nobody granted anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// Everybody: the function tells and changes nothing that its caller may not, or asks by itself.
    Anybody,
    /// Superusers and these roles.
    Roles(&'static [Oid]),
}

/// How a function does its work.
#[derive(Clone, Copy)]
pub enum Implementation {
    /// On values alone.
    Plain(PlainFunction),
    /// With the types of the call.
    Typed(TypedFunction),
    /// One value (a record, if it has several columns) at a time.
    Set(SetFunction),
    /// Answered by [`EvalContext::session_function`] or [`EvalContext::session_set_function`]. These functions see more than their
    /// arguments, so each declaration tells the roles that may call it.
    Session(Authority),
    /// A window function; the executor computes it.
    Window(WindowFunction),
}

/// The window functions that are not aggregates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
}

/// The rows of a function that returns a set.
pub trait ValueStream: Send {
    /// The next row: the value itself, or a record for functions with several columns.
    fn next(&mut self, context: &mut dyn EvalContext) -> Result<Option<Value>>;
}

/// A stream over rows that are there already.
pub struct ReadyRows(std::vec::IntoIter<Value>);

impl ReadyRows {
    /// A stream of `rows`.
    pub fn boxed(rows: Vec<Value>) -> Box<dyn ValueStream> {
        Box::new(ReadyRows(rows.into_iter()))
    }
}

impl ValueStream for ReadyRows {
    fn next(&mut self, _context: &mut dyn EvalContext) -> Result<Option<Value>> {
        Ok(self.0.next())
    }
}

/// A built-in function.
#[derive(Clone, Copy)]
pub struct FunctionDef {
    /// PostgreSQL's number for it; above [`COHORT_OIDS`] for our own.
    pub oid: Oid,
    /// Its name in `pg_catalog`.
    pub name: &'static str,
    /// Types of the input arguments.
    pub arguments: &'static [Oid],
    /// Whether the last argument is VARIADIC: an array (or `any`) that takes the rest of the call.
    pub variadic: bool,
    /// The type of its result; `record` if it has several columns.
    pub result: Oid,
    /// Whether a NULL argument makes the result NULL without a call.
    pub strict: bool,
    /// Its volatility.
    pub volatility: Volatility,
    /// Whether it returns a set.
    pub returns_set: bool,
    /// Names of the input arguments, where they matter for named notation; may be empty.
    pub argument_names: &'static [&'static str],
    /// Default values of the last arguments, as text input of their types.
    pub defaults: &'static [&'static str],
    /// Output columns, if there are several or if they have a name of their own.
    pub columns: &'static [(&'static str, Oid)],
    /// The code that computes its result.
    pub implementation: Implementation,
}

/// Numbers of built-in functions that PostgreSQL doesn't have start here.
pub const COHORT_OIDS: u32 = 9000;

impl std::fmt::Debug for FunctionDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({})", self.name, self.oid)
    }
}

impl FunctionDef {
    /// Calls it for one value: NULL for NULL if it is strict.
    #[inline]
    pub fn call(&self, context: &mut dyn EvalContext, types: &CallTypes, arguments: &[Value]) -> Result<Value> {
        if self.strict && arguments.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        if arguments.iter().any(is_large)
            && let Some(result) = self.call_apart(context, types, arguments)
        {
            return result?.within_limits();
        }
        match self.implementation {
            Implementation::Plain(function) => function(context, arguments)?.within_limits(),
            Implementation::Typed(function) if types.spread => {
                self.call_spread(function, context, types, arguments)?.within_limits()
            }
            Implementation::Typed(function) => function(context, types, arguments)?.within_limits(),
            Implementation::Session(_) => context.session_function(self.oid, arguments),
            Implementation::Set(function) => {
                Ok(function(context, types, arguments)?.next(context)?.unwrap_or(Value::Null))
            }
            Implementation::Window(_) => Err(base::Error::new(
                base::sqlstate::WINDOWING_ERROR,
                format!("window function {} requires an OVER clause", self.name),
            )),
        }
    }

    /// Calls it on another thread; `None` if it needs the session.
    #[cold]
    pub fn call_apart(
        &self,
        context: &dyn EvalContext,
        types: &CallTypes,
        arguments: &[Value],
    ) -> Option<Result<Value>> {
        if !apart::takes_long(self.name, arguments) {
            return None;
        }
        match self.implementation {
            Implementation::Plain(function) => {
                apart::call_apart(context, arguments, move |context, arguments| function(context, arguments))
            }
            Implementation::Typed(function) if !types.spread => {
                let types = types.clone();
                apart::call_apart(context, arguments, move |context, arguments| function(context, &types, arguments))
            }
            _ => None,
        }
    }

    /// Calls it with the elements of the last argument as arguments of their own.
    #[cold]
    fn call_spread(
        &self,
        function: TypedFunction,
        context: &mut dyn EvalContext,
        types: &CallTypes,
        arguments: &[Value],
    ) -> Result<Value> {
        let (Some((last, first)), Some((last_type, first_types))) =
            (arguments.split_last(), types.arguments.split_last())
        else {
            return Err(base::Error::internal("VARIADIC without an argument"));
        };
        let base = base_type(context.catalog(), *last_type);
        let element = SqlType::new(element_type(context.catalog(), base.oid).unwrap_or(base.oid));
        let elements = match last {
            Value::Array(array) => array.values.as_slice(),
            // To format(), no array is no arguments.
            Value::Null if self.name == "format" => &[],
            _ => return Ok(Value::Null),
        };
        let mut values = Vec::with_capacity(first.len() + elements.len());
        for value in first.iter().chain(elements) {
            sync::yield_point()?;
            values.push(value.clone());
        }
        let element_types = elements.iter().map(|_| {
            sync::let_others_run();
            element
        });
        let value_types = first_types.iter().copied().chain(element_types);
        let result = function(context, &CallTypes::new(value_types, types.result), &values);
        if values.len() > DROPPED_HERE_MAX {
            sync::drop_on_other_thread(values);
        }
        result
    }

    /// Calls it for a set: no rows for NULL if it is strict; one row if it doesn't return a set.
    pub fn call_set(
        &self,
        context: &mut dyn EvalContext,
        types: &CallTypes,
        arguments: &[Value],
    ) -> Result<Box<dyn ValueStream>> {
        if self.strict && self.returns_set && arguments.iter().any(Value::is_null) {
            return Ok(ReadyRows::boxed(Vec::new()));
        }
        match self.implementation {
            Implementation::Set(function) => function(context, types, arguments),
            Implementation::Session(_) if self.returns_set => {
                Ok(ReadyRows::boxed(context.session_set_function(self.oid, arguments)?))
            }
            _ => Ok(ReadyRows::boxed(vec![self.call(context, types, arguments)?])),
        }
    }

    const fn with(
        oid: u32,
        name: &'static str,
        arguments: &'static [Oid],
        result: Oid,
        implementation: Implementation,
    ) -> FunctionDef {
        FunctionDef {
            oid: Oid(oid),
            name,
            arguments,
            variadic: false,
            result,
            strict: true,
            volatility: Volatility::Immutable,
            returns_set: false,
            argument_names: &[],
            defaults: &[],
            columns: &[],
            implementation,
        }
    }

    /// A strict, immutable function on values.
    pub const fn plain(
        oid: u32,
        name: &'static str,
        arguments: &'static [Oid],
        result: Oid,
        function: PlainFunction,
    ) -> FunctionDef {
        FunctionDef::with(oid, name, arguments, result, Implementation::Plain(function))
    }

    /// A strict, immutable function that looks at its arguments' types.
    pub const fn typed(
        oid: u32,
        name: &'static str,
        arguments: &'static [Oid],
        result: Oid,
        function: TypedFunction,
    ) -> FunctionDef {
        FunctionDef::with(oid, name, arguments, result, Implementation::Typed(function))
    }

    /// A strict, immutable function that returns a set.
    pub const fn set(
        oid: u32,
        name: &'static str,
        arguments: &'static [Oid],
        result: Oid,
        function: SetFunction,
    ) -> FunctionDef {
        let mut def = FunctionDef::with(oid, name, arguments, result, Implementation::Set(function));
        def.returns_set = true;
        def
    }

    /// A strict, stable function that the session answers to the roles of `authority`.
    pub const fn session(
        authority: Authority,
        oid: u32,
        name: &'static str,
        arguments: &'static [Oid],
        result: Oid,
    ) -> FunctionDef {
        FunctionDef::with(oid, name, arguments, result, Implementation::Session(authority)).stable()
    }

    /// A window function.
    pub const fn window(
        oid: u32,
        name: &'static str,
        arguments: &'static [Oid],
        result: Oid,
        window: WindowFunction,
    ) -> FunctionDef {
        FunctionDef::with(oid, name, arguments, result, Implementation::Window(window)).not_strict()
    }

    /// The same, with this volatility.
    pub const fn with_volatility(mut self, volatility: Volatility) -> FunctionDef {
        self.volatility = volatility;
        self
    }

    /// The same, stable.
    pub const fn stable(mut self) -> FunctionDef {
        self.volatility = Volatility::Stable;
        self
    }

    /// The same, volatile.
    pub const fn volatile(mut self) -> FunctionDef {
        self.volatility = Volatility::Volatile;
        self
    }

    /// The same, immutable.
    pub const fn immutable(mut self) -> FunctionDef {
        self.volatility = Volatility::Immutable;
        self
    }

    /// The same, called with NULLs too.
    pub const fn not_strict(mut self) -> FunctionDef {
        self.strict = false;
        self
    }

    /// The same, with a VARIADIC last argument.
    pub const fn variadic(mut self) -> FunctionDef {
        self.variadic = true;
        self
    }

    /// The same, returning a set.
    pub const fn returning_set(mut self) -> FunctionDef {
        self.returns_set = true;
        self
    }

    /// The same, with names for its input arguments.
    pub const fn named(mut self, names: &'static [&'static str]) -> FunctionDef {
        self.argument_names = names;
        self
    }

    /// The same, with defaults for its last arguments.
    pub const fn defaults(mut self, defaults: &'static [&'static str]) -> FunctionDef {
        self.defaults = defaults;
        self
    }

    /// The same, with these output columns.
    pub const fn columns(mut self, columns: &'static [(&'static str, Oid)]) -> FunctionDef {
        self.columns = columns;
        self
    }
}
