//! COLLATE clauses that contradict each other.
//!
//! Text is ordered by its bytes whatever its collation, but which collation an expression has is part of what it means: two clauses
//! that name different ones are an error.

use base::{Result, sqlstate};
use syntax::tree::{self, ExprKind as Tree, Location};

use super::Binder;

/// A COLLATE clause: the collation's name, and where it stands.
type Clause<'t> = (&'t str, Location);

/// The parts of an expression whose collations must agree, and whether the expression has theirs.
fn parts(expr: &tree::Expr) -> (Vec<&tree::Expr>, bool) {
    match &expr.kind {
        Tree::Operator { operator, left, right } => {
            let joins = operator.name.as_str() == "||";
            (left.as_deref().into_iter().chain([&**right]).collect(), joins)
        }
        Tree::Quantified { left, array, .. } => (vec![&**left, &**array], false),
        Tree::In { left, list, .. } => (std::iter::once(&**left).chain(list).collect(), false),
        Tree::Distinct { left, right, .. } => (vec![&**left, &**right], false),
        Tree::NullIf(left, right) => (vec![&**left, &**right], true),
        Tree::Coalesce(list) | Tree::Greatest(list) | Tree::Least(list) | Tree::Array(list) => {
            (list.iter().collect(), true)
        }
        Tree::Case { whens, otherwise, .. } => {
            (whens.iter().map(|(_, result)| result).chain(otherwise.as_deref()).collect(), true)
        }
        Tree::Cast { input, .. } => (vec![&**input], true),
        // A function's result may be no text, so its value is not looked at.
        Tree::Function(call) => (call.arguments.iter().collect(), false),
        _ => (Vec::new(), false),
    }
}

/// The clause that decides on an expression's collation.
fn deciding(expr: &tree::Expr) -> Option<Clause<'_>> {
    if let Tree::Collate { collation, .. } = &expr.kind {
        return Some((collation.name.as_str(), expr.location));
    }
    let (parts, has_theirs) = parts(expr);
    if has_theirs { parts.into_iter().find_map(deciding) } else { None }
}

impl Binder<'_, '_> {
    /// 42P21 if clauses in two parts of an expression name different collations.
    pub(super) fn check_collations(&self, expr: &tree::Expr) -> Result<()> {
        let mut first: Option<Clause<'_>> = None;
        for (name, location) in parts(expr).0.into_iter().filter_map(deciding) {
            match first {
                Some((other, _)) if other != name => {
                    let message = format!("collation mismatch between explicit collations \"{other}\" and \"{name}\"");
                    return Err(self.error(sqlstate::COLLATION_MISMATCH, message, location));
                }
                _ => first = first.or(Some((name, location))),
            }
        }
        Ok(())
    }
}
