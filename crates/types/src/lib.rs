//! Types, values, functions and operators with PostgreSQL's semantics.
//!
//! - [`value`] is what an expression evaluates to, 24 bytes and cheap to clone; [`type_table`] is what `pg_type` knows.
//! - [`text_io`] and [`binary_io`] read and write every type; [`storage`] maps values to the engine's rows and keys;
//!   [`compare`] orders and hashes them. The three agree: equal values have equal keys and hashes, and keys are
//!   ordered as values are (see the tests in `properties`).
//! - [`cast`], [`operators`], [`functions`] and [`aggregates`] are static tables with PostgreSQL's own numbers;
//!   [`resolve`] chooses among them, and among what users made, by PostgreSQL's rules.
//! - [`numeric`], [`datetime`], [`json`], [`pattern`], [`posix`] are the arithmetic behind them.
//! - [`context`] is all that evaluation asks of the session and the catalog.
//!
//! Text is compared by its bytes, as in the "C" collation. Values never hold what their type forbids: text is UTF-8
//! without zeros, dates and timestamps are in range or infinite.
//!
//! Left out: XML, geometric types, ranges and text search.

// `from_*` speaks of SQL's FROM here, and shapes of types are shared by `Arc` though a session keeps them to itself.
#![allow(clippy::wrong_self_convention, clippy::large_enum_variant, clippy::arc_with_non_send_sync)]
#![allow(clippy::type_complexity)]

pub mod absent;
pub mod aggregates;
mod apart;
mod array_structure;
pub mod array_text;
pub mod binary_io;
pub mod bit_strings;
pub mod cast;
pub mod collation;
pub mod compare;
pub mod context;
pub mod datetime;
pub mod formatting;
pub mod function_def;
pub mod functions;
pub mod json;
pub mod json_convert;
pub mod json_text;
pub mod keywords;
pub mod mac_address;
pub mod money;
pub mod network;
pub mod number_text;
pub mod numeric;
pub mod oids;
pub mod operators;
pub mod packed;
pub mod pattern;
pub mod posix;
pub mod random;
pub mod record_text;
pub mod reg_types;
pub mod resolve;
mod row_columns;
pub mod storage;
pub mod string_types;
pub mod text_io;
pub mod type_functions;
pub mod type_name;
mod type_rows;
pub mod type_table;
pub mod typmods;
pub mod value;

pub use aggregates::{
    AggregateDef, AggregateState, Hypothetical, aggregate, aggregates, aggregates_named, check_share,
};
pub use apart::is_large;
pub use array_text::{MAX_DIMENSIONS, too_many_dimensions};
pub use binary_io::{binary_input, binary_output, binary_parameter};
pub use cast::{
    Cast, CastContext, can_cast, cannot_cast, coerce_length, fits_pseudo_target, has_immutable_output, is_pseudo_target,
};
pub use compare::{Comparator, comparator, compare_values, equality, hash_value, is_hashable, without_padding};
pub use context::{
    BuiltinCatalog, CatalogLookup, EvalContext, FormatSettings, PlainContext, UserFunction, UserFunctions, UserType,
    composite_shape,
};
pub use function_def::{
    Authority, CallTypes, FunctionDef, Implementation, ReadyRows, ValueStream, Volatility, WindowFunction,
    WrittenArgument,
};
pub use functions::arrays::{nested_array, stacked_array};
pub use functions::json_records::takes_definitions;
pub use functions::leakproof::is_leakproof;
pub use functions::{assign, function, functions, functions_named, is_immutable_function};
pub use numeric::Numeric;
pub use operators::{
    OperatorDef, OperatorRole, operator, operator_exact, operators, operators_named, ordering_operator,
};
pub use resolve::{
    ArgumentSource, Call, Callee, Resolved, ResolvedOperator, common_type, is_polymorphic, resolve_function,
    resolve_operator, resolve_polymorphic,
};
pub use row_columns::RowColumns;
pub use storage::{StorageKind, physical_type};
pub use text_io::{input, null_input, output, output_lets_others_run, output_string, shown_string};
pub use type_name::{
    encode_typmod, format_type, format_type_name, parse_type_name, precision_warning_of, resolve_type_name, type_named,
};
pub use type_table::{
    Category, SqlType, TypeDef, TypeKind, TypeShape, array_type, base_type, builtin_type, builtin_type_named,
    builtin_types, element_type, subscripted_type, type_shape,
};
pub use typmods::precision_warning;
pub use value::{
    ArrayValue, Dimension, EnumValue, Interval, RecordShape, RecordValue, SmolStr, TimeTz, Value, copy_of_values,
};

#[cfg(test)]
mod tests;
