//! From bound queries to plans.
use crate::binder::BindContext;
use crate::plan::Expr;
use base::Result;
/// Folds.
pub fn fold(_expr: &mut Expr, _context: &mut BindContext<'_>) -> Result<()> {
    Ok(())
}
