//! What `log_statement` counts a statement among, and what it is called while it runs.

use std::borrow::Cow;

use super::{definition_tag, name};
use crate::session::SessionState;
use crate::tree::{self, Statement};

/// The classes of `log_statement`: its words ask for a class and those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatementClass {
    /// Changes definitions.
    Definition,
    /// Changes rows.
    Change,
    /// All others.
    Other,
}

/// The class of a statement. EXECUTE and EXPLAIN ANALYZE are of the class of what they run.
pub fn class_of(state: &SessionState, statement: &Statement) -> StatementClass {
    match statement {
        Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Truncate(_) => {
            StatementClass::Change
        }
        Statement::Copy(copy) if copy.is_from => StatementClass::Change,
        Statement::Prepare(prepare) => class_of(state, &prepare.statement),
        Statement::Execute(execute) => {
            let prepared = state.prepared.borrow().get(execute.name.as_str()).cloned();
            match prepared.as_ref().and_then(|prepared| prepared.tree.as_ref()) {
                Some(tree) => class_of(state, &tree.statement),
                None => StatementClass::Other,
            }
        }
        Statement::Explain(explain) if explain.options.iter().any(|option| option.name.as_str() == "analyze") => {
            class_of(state, &explain.statement)
        }
        Statement::Select(_)
        | Statement::Transaction(_)
        | Statement::Deallocate(_)
        | Statement::DeclareCursor(_)
        | Statement::Fetch(_)
        | Statement::ClosePortal(_)
        | Statement::Explain(_)
        | Statement::Copy(_)
        | Statement::Vacuum(_)
        | Statement::Checkpoint
        | Statement::Set(_)
        | Statement::Show(_)
        | Statement::Discard(_)
        | Statement::Listen(_)
        | Statement::Unlisten(_)
        | Statement::Notify { .. }
        | Statement::Lock(_)
        | Statement::Do { .. }
        | Statement::Call(_)
        | Statement::SetConstraints { .. }
        | Statement::Load(_)
        | Statement::Reindex(_) => StatementClass::Other,
        _ => StatementClass::Definition,
    }
}

/// What a statement is called while it runs: its tag, without numbers.
pub fn activity(statement: &Statement) -> Cow<'static, str> {
    use tree::Transaction;
    match statement {
        Statement::Select(_) => "SELECT".into(),
        Statement::Insert(_) => "INSERT".into(),
        Statement::Update(_) => "UPDATE".into(),
        Statement::Delete(_) => "DELETE".into(),
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
