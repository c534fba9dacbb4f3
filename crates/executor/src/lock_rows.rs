//! SELECT ... FOR UPDATE and its weaker kin.

use std::sync::Arc;

use base::lock_mode::{LockMode, RowLockMode, WaitPolicy};
use base::{Error, Result, sqlstate};
use engine::{Isolation, Modify, Table};
use plan::{Command, Node, Plan, RowLock, StatementKind};
use schema::catalog::Persistence;
use schema::row::RowBytes;
use types::Value;

use crate::modify::concurrent_change;
use crate::recheck::{Newest, Recheck};
use crate::{BoxOperator, Operator, Run};

/// 25006
pub fn read_only_transaction(what: &str) -> Error {
    let message = format!("cannot execute {what} in a read-only transaction");
    Error::new(sqlstate::READ_ONLY_SQL_TRANSACTION, message)
}

/// Rewords an error of locking a row as PostgreSQL does: NOWAIT's names the table, and a deleted row is reported as updated.
#[cold]
fn in_words_of_locking(error: Error, table: &Table, wait: WaitPolicy) -> Error {
    match error.sqlstate() {
        sqlstate::LOCK_NOT_AVAILABLE if wait == WaitPolicy::NoWait => {
            let message = format!("could not obtain lock on row in relation \"{}\"", table.def.name);
            Error::new(sqlstate::LOCK_NOT_AVAILABLE, message)
        }
        _ if error.fields().message == concurrent_change("delete").fields().message => concurrent_change("update"),
        _ => error,
    }
}

/// The words for a query that locks rows in messages about where it may run; `None` if it locks none.
pub fn locking_tag(plan: &Plan) -> Option<&'static str> {
    if let Node::LockRows(node) = &plan.node {
        return Some(tag(node));
    }
    let mut found = None;
    plan.node.for_each_input(&mut |input| found = found.or_else(|| locking_tag(input)));
    found
}

/// The name of a statement in errors about functions that are not volatile. `None` if it neither changes nor locks rows.
pub fn changing_tag(statement: &plan::Statement) -> Option<&'static str> {
    let StatementKind::Query(plan) = &statement.kind else { return None };
    match statement.command {
        Command::Select | Command::Utility => {
            let locks_rows = statement.locks.iter().any(|(_, mode)| *mode == LockMode::RowShare);
            let tag = if locks_rows || !statement.is_read_only { locking_tag(plan) } else { None };
            // The locks may be those of a query within an expression.
            tag.or(locks_rows.then_some("SELECT FOR UPDATE")).or((!statement.is_read_only).then_some("SELECT"))
        }
        Command::Insert | Command::Update | Command::Delete | Command::Merge => Some(statement.command.name()),
    }
}

fn tag(node: &plan::LockRows) -> &'static str {
    match node.locks.first().map(|lock| lock.mode) {
        Some(RowLockMode::KeyShare) => "SELECT FOR KEY SHARE",
        Some(RowLockMode::Share) => "SELECT FOR SHARE",
        Some(RowLockMode::NoKeyUpdate) => "SELECT FOR NO KEY UPDATE",
        Some(RowLockMode::Update) | None => "SELECT FOR UPDATE",
    }
}

/// Locks rows on their way up.
pub struct LockRowsRows<'p> {
    node: &'p plan::LockRows,
    input: BoxOperator<'p>,
    tables: Vec<Arc<Table>>,
    recheck: Recheck<'p>,
    row: Vec<Value>,
    /// The newest versions of the row's parts that others have changed.
    changed: Vec<Newest>,
}

impl<'p> LockRowsRows<'p> {
    pub fn new(node: &'p plan::LockRows, input: BoxOperator<'p>) -> Self {
        let recheck = Recheck::new(&node.recheck, &node.input);
        LockRowsRows { node, input, tables: Vec::new(), recheck, row: Vec::new(), changed: Vec::new() }
    }

    /// 25006: a lock is as good as a change, and only temporary tables are changed.
    fn refuse_read_only(&self, run: &Run<'_, 'p>) -> Result<()> {
        let is_temporary = |lock: &RowLock| lock.table.persistence == Persistence::Temporary;
        if !run.engine().transaction_options().read_only || self.node.locks.iter().all(is_temporary) {
            return Ok(());
        }
        Err(read_only_transaction(tag(self.node)))
    }

    /// Locks one row in its newest version; false if there is none any more.
    fn lock(&mut self, number: usize, lock: &'p RowLock, run: &mut Run<'_, 'p>) -> Result<bool> {
        // An outer join may have found no row to lock.
        let Value::Tid(mut tid) = self.row[lock.ctid as usize] else { return Ok(true) };
        let table = Arc::clone(&self.tables[number]);
        loop {
            let outcome = run
                .engine()
                .lock_row(&table, tid, lock.mode, lock.wait)
                .map_err(|error| in_words_of_locking(error, &table, lock.wait))?;
            let isolation = run.engine().isolation();
            match outcome {
                Modify::Done { .. } => return Ok(true),
                // A row that the same command or a later one of the transaction has changed is not returned a second time.
                Modify::SelfModified { .. } | Modify::Skipped => return Ok(false),
                Modify::Deleted { .. } if isolation == Isolation::ReadCommitted => return Ok(false),
                Modify::Deleted { .. } => return Err(concurrent_change("update")),
                Modify::Updated { .. } if isolation != Isolation::ReadCommitted => {
                    return Err(concurrent_change("update"));
                }
                Modify::Updated { newest, .. } => {
                    let mut bytes = RowBytes::new();
                    let Some(version) = run.engine().newest_version(&table, newest, &mut bytes)? else {
                        return Ok(false);
                    };
                    tid = version;
                    self.changed.retain(|changed| changed.scan != lock.scan);
                    self.changed.push(Newest { scan: lock.scan, table: Arc::clone(&table), tid, bytes });
                }
            }
        }
    }

    /// Locks each row that the input row was made of, in its newest version. Then asks once, with all of these versions, whether the input row
    /// still qualifies: another transaction may have changed two of them together.
    fn lock_all(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        self.changed.clear();
        for (number, lock) in self.node.locks.iter().enumerate() {
            if !self.lock(number, lock, run)? {
                return Ok(false);
            }
        }
        Ok(self.changed.is_empty() || self.recheck.qualifies(&self.changed, &mut self.row, run)?)
    }
}

impl<'p> Operator<'p> for LockRowsRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.tables.is_empty() {
            self.refuse_read_only(run)?;
            let open = |lock: &RowLock| run.engine().open_table(lock.table.oid);
            self.tables = self.node.locks.iter().map(open).collect::<Result<_>>()?;
        }
        while self.input.next(run)? {
            self.row.clear();
            self.row.extend_from_slice(self.input.row());
            if self.lock_all(run)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.input.rescan();
    }
}
