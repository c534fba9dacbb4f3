//! The registry of built-in functions.
//!
//! Each module lists the functions of one subject: number, name, argument types, result type and implementation,
//! as `pg_proc` has them.

use std::cmp::Ordering;
use std::sync::LazyLock;

use base::{Error, Oid};
use rustc_hash::FxHashMap;

use super::compare::compare_values;
use super::function_def::{FunctionDef, Volatility};
use super::operators::OperatorDef;
use super::value::Value;

/// Binds the values of a call's arguments: `take!(a; Int4 count, Text text)`.
macro_rules! take {
    ($arguments:ident; $($variant:ident $name:ident),* $(,)?) => {
        let [$(Value::$variant($name)),*] = $arguments else { return Err(mismatch(&$arguments[0])) };
    };
}

pub(crate) mod amounts;
pub mod arrays;
pub mod assign;
mod bits;
mod bytes;
mod catalog;
mod comparisons;
mod datetimes;
mod degrees;
mod floats;
mod format;
mod formatting;
mod hashes;
mod integers;
pub mod join_keys;
mod json;
pub mod json_records;
mod jsonb;
pub mod leakproof;
mod mac_addresses;
mod networks;
mod numerics;
mod patterns;
mod records;
mod series;
mod server;
pub mod session;
pub(crate) mod text;
mod unicode;

/// All tables of functions, by subject.
static TABLES: &[&[FunctionDef]] = &[
    comparisons::FUNCTIONS,
    records::FUNCTIONS,
    integers::FUNCTIONS,
    floats::FUNCTIONS,
    numerics::FUNCTIONS,
    datetimes::FUNCTIONS,
    formatting::FUNCTIONS,
    text::FUNCTIONS,
    unicode::FUNCTIONS,
    patterns::FUNCTIONS,
    bytes::FUNCTIONS,
    arrays::FUNCTIONS,
    series::FUNCTIONS,
    catalog::FUNCTIONS,
    json::FUNCTIONS,
    jsonb::FUNCTIONS,
    json_records::FUNCTIONS,
    hashes::FUNCTIONS,
    networks::FUNCTIONS,
    mac_addresses::FUNCTIONS,
    amounts::FUNCTIONS,
    bits::FUNCTIONS,
    session::FUNCTIONS,
    server::FUNCTIONS,
];

/// The comparison operators: they are listed with their functions.
pub(super) static COMPARISON_OPERATORS: &[OperatorDef] = comparisons::OPERATORS;

struct Registry {
    by_oid: FxHashMap<Oid, &'static FunctionDef>,
    by_name: FxHashMap<&'static str, Vec<&'static FunctionDef>>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry { by_oid: FxHashMap::default(), by_name: FxHashMap::default() };
    for def in functions() {
        registry.by_oid.insert(def.oid, def);
        registry.by_name.entry(def.name).or_default().push(def);
    }
    registry
});

/// All built-in functions except aggregates.
pub fn functions() -> impl Iterator<Item = &'static FunctionDef> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The built-in function `oid`.
pub fn function(oid: Oid) -> Option<&'static FunctionDef> {
    REGISTRY.by_oid.get(&oid).copied()
}

/// The built-in functions called `name`.
pub fn functions_named(name: &str) -> &'static [&'static FunctionDef] {
    REGISTRY.by_name.get(name).map_or(&[], Vec::as_slice)
}

/// A value of another type than the function's declaration says: an error in a plan, never in what a client sent.
#[cold]
fn mismatch(value: &Value) -> Error {
    Error::internal(format!("function called with an argument of the wrong type: {value:?}"))
}

/// Whether a name stands for functions that give the same for the same arguments, all of them.
pub fn is_immutable_function(name: &str) -> bool {
    let found = functions_named(&name.to_ascii_lowercase());
    !found.is_empty() && found.iter().all(|def| def.volatility == Volatility::Immutable && !def.returns_set)
}

/// The larger of two values of one type.
fn larger(a: &[Value]) -> Value {
    larger_by(compare_values(&a[0], &a[1]), a)
}

/// The smaller of two values of one type.
fn smaller(a: &[Value]) -> Value {
    smaller_by(compare_values(&a[0], &a[1]), a)
}

/// The larger of two values of this order: of equal ones the second.
fn larger_by(order: Ordering, a: &[Value]) -> Value {
    if order == Ordering::Greater { a[0].clone() } else { a[1].clone() }
}

/// The smaller of two values of this order: of equal ones the second.
fn smaller_by(order: Ordering, a: &[Value]) -> Value {
    if order == Ordering::Less { a[0].clone() } else { a[1].clone() }
}
