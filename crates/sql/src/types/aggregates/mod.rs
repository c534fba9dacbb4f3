//! The registry of built-in aggregates.

use base::{Oid, Result};

use super::context::EvalContext;
use super::function_def::CallTypes;
use super::value::Value;

/// A built-in aggregate.
#[derive(Clone, Copy)]
pub struct AggregateDef {
    /// PostgreSQL's number for it.
    pub oid: Oid,
    /// Its name in `pg_catalog`.
    pub name: &'static str,
    /// Types of the arguments (the direct ones first, for ordered-set aggregates).
    pub arguments: &'static [Oid],
    /// Whether the last argument is VARIADIC.
    pub variadic: bool,
    /// The type of its result.
    pub result: Oid,
    /// How many of the arguments are direct ones of an ordered-set aggregate; `None` for normal ones.
    pub direct_arguments: Option<usize>,
    /// The state of an empty group.
    pub start: fn(&CallTypes) -> AggregateState,
}

impl std::fmt::Debug for AggregateDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({})", self.name, self.oid)
    }
}

/// What an aggregate has gathered of one group so far.
#[derive(Debug)]
pub struct AggregateState {}

impl AggregateState {
    /// Takes in one row's arguments; `count(*)` gets none.
    pub fn update(&mut self, _context: &mut dyn EvalContext, _arguments: &[Value]) -> Result<()> {
        todo!()
    }

    /// The aggregate's value now; more rows may follow (window frames).
    pub fn finish(&self, _context: &mut dyn EvalContext) -> Result<Value> {
        todo!()
    }

    /// Memory held, roughly.
    pub fn heap_bytes(&self) -> usize {
        todo!()
    }
}

/// All built-in aggregates.
pub fn aggregates() -> impl Iterator<Item = &'static AggregateDef> {
    std::iter::empty()
}

/// The built-in aggregate `oid`.
pub fn aggregate(_oid: Oid) -> Option<&'static AggregateDef> {
    None
}

/// The built-in aggregates called `name`.
pub fn aggregates_named(_name: &str) -> &'static [&'static AggregateDef] {
    &[]
}
