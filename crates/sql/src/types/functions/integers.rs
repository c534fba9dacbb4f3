//! Integer arithmetic.

use super::FunctionDef;

pub(super) static FUNCTIONS: &[FunctionDef] = &[];
