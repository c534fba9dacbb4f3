//! Casts: which exist, and doing them.

use base::{Oid, Result};

use super::context::{CatalogLookup, EvalContext};
use super::type_table::SqlType;
use super::value::Value;

/// In which place a cast is asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CastContext {
    /// Operators and function arguments.
    Implicit,
    /// Storing into a column or variable.
    Assignment,
    /// `CAST` and `::`
    Explicit,
}

/// A conversion from one type to another, ready to be applied: kept in plans.
#[derive(Clone, Debug)]
pub struct Cast {
    /// From.
    pub source: SqlType,
    /// To.
    pub target: SqlType,
    /// Where it was asked for.
    pub context: CastContext,
}

impl Cast {
    /// The conversion from `source` to `target`, including the target's modifier; `None` if there is none in this context.
    /// From `unknown`, any target is reached through its input function.
    pub fn find(
        _catalog: &dyn CatalogLookup,
        _source: SqlType,
        _target: SqlType,
        _context: CastContext,
    ) -> Option<Cast> {
        todo!()
    }

    /// As [`Cast::find`] for an explicit cast; 42846 `cannot cast type A to B` if there is none.
    pub fn explicit(_catalog: &dyn CatalogLookup, _source: SqlType, _target: SqlType) -> Result<Cast> {
        todo!()
    }

    /// Whether values pass unchanged.
    pub fn is_noop(&self) -> bool {
        todo!()
    }

    /// Whether the result depends on settings or the clock: such casts must not be folded into a plan.
    pub fn is_immutable(&self) -> bool {
        todo!()
    }

    /// Converts a value; NULL stays NULL.
    pub fn apply(&self, _context: &mut dyn EvalContext, _value: Value) -> Result<Value> {
        todo!()
    }
}

/// Whether values of `source` may be used as `target` in this context, whatever the way.
pub fn can_cast(_catalog: &dyn CatalogLookup, _source: Oid, _target: Oid, _context: CastContext) -> bool {
    todo!()
}
