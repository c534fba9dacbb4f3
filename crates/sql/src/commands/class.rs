//! The class of a statement for `log_statement`, and its name while it runs.

use std::borrow::Cow;

use syntax::tree::{self, DefinitionElement, Statement};

use super::{definition_tag, name};
use crate::state::SessionState;
use crate::state::log::StatementClass;

/// The class of a statement. PREPARE, EXECUTE and EXPLAIN ANALYZE are of the class of the statement in them. A statement with a
/// definition's tag is a definition.
pub fn class_of(state: &SessionState, statement: &Statement) -> StatementClass {
    match statement {
        Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_)
        | Statement::Truncate(_) => StatementClass::Change,
        Statement::Copy(copy) if copy.is_from => StatementClass::Change,
        Statement::Prepare(prepare) => class_of(state, &prepare.statement),
        Statement::Execute(execute) => {
            let prepared = state.prepared.borrow().get(execute.name.as_str()).cloned();
            match prepared.as_ref().and_then(|prepared| prepared.tree.as_ref()) {
                Some(tree) => class_of(state, &tree.statement),
                None => StatementClass::Other,
            }
        }
        Statement::Explain(explain) if analyzes(&explain.options) => class_of(state, &explain.statement),
        Statement::CreateDatabase { .. }
        | Statement::DropDatabase { .. }
        | Statement::AlterSystem(_)
        | Statement::CreateExtension { .. }
        | Statement::Cluster { .. } => StatementClass::Definition,
        _ if definition_tag(statement).is_some() => StatementClass::Definition,
        _ => StatementClass::Other,
    }
}

/// Whether EXPLAIN runs the statement. The last of several options counts.
fn analyzes(options: &[DefinitionElement]) -> bool {
    let last = options.iter().rfind(|option| option.name.as_str() == "analyze");
    last.and_then(DefinitionElement::boolean) == Some(true)
}

/// The name of a statement while it runs: its tag, without numbers.
pub fn activity(statement: &Statement) -> Cow<'static, str> {
    use tree::Transaction;
    match statement {
        Statement::Select(_) => "SELECT".into(),
        Statement::Insert(_) => "INSERT".into(),
        Statement::Update(_) => "UPDATE".into(),
        Statement::Delete(_) => "DELETE".into(),
        Statement::Merge(_) => "MERGE".into(),
        Statement::Truncate(_) => "TRUNCATE TABLE".into(),
        Statement::Prepare(_) => "PREPARE".into(),
        Statement::Execute(_) => "EXECUTE".into(),
        Statement::Deallocate(None) => "DEALLOCATE ALL".into(),
        Statement::Deallocate(_) => "DEALLOCATE".into(),
        Statement::Explain(_) => "EXPLAIN".into(),
        Statement::Copy(_) => "COPY".into(),
        Statement::Load(_) => "LOAD".into(),
        Statement::Transaction(statement) => match statement {
            Transaction::Commit { .. } => "COMMIT",
            Transaction::Rollback { .. } | Transaction::RollbackTo(_) => "ROLLBACK",
            Transaction::Prepare(_) => "PREPARE TRANSACTION",
            Transaction::Savepoint(_) => "SAVEPOINT",
            Transaction::Release(_) => "RELEASE",
            Transaction::CommitPrepared(_) => "COMMIT PREPARED",
            Transaction::RollbackPrepared(_) => "ROLLBACK PREPARED",
            _ => "BEGIN",
        }
        .into(),
        other => match definition_tag(other) {
            Some(tag) => tag.into(),
            None => name(other).into(),
        },
    }
}
