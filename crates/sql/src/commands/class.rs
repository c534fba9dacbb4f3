//! The class of a statement for `log_statement`.

use syntax::tree::{DefinitionElement, Statement};

use super::facts::facts;
use crate::state::SessionState;
use crate::state::log::StatementClass;

/// The class of a statement. PREPARE, EXECUTE and EXPLAIN ANALYZE are of the class of the statement in them.
pub fn class_of(state: &SessionState, statement: &Statement) -> StatementClass {
    match statement {
        Statement::Prepare(prepare) => class_of(state, &prepare.statement),
        Statement::Execute(execute) => {
            let prepared = state.prepared.borrow().get(execute.name.as_str()).cloned();
            match prepared.as_ref().and_then(|prepared| prepared.tree.as_ref()) {
                Some(tree) => class_of(state, &tree.statement),
                None => StatementClass::Other,
            }
        }
        Statement::Explain(explain) if analyzes(&explain.options) => class_of(state, &explain.statement),
        _ => facts(statement).class,
    }
}

/// Whether EXPLAIN runs the statement. The last of several options counts.
fn analyzes(options: &[DefinitionElement]) -> bool {
    let last = options.iter().rfind(|option| option.name.as_str() == "analyze");
    last.and_then(DefinitionElement::boolean) == Some(true)
}
