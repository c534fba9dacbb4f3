//! The queue of checks that wait for the end of their statement, or of the transaction if they are deferred: foreign keys, AFTER triggers,
//! deferrable keys.
//!
//! Checks are numbered as they are queued. A statement makes those from its own first number on, and a rollback to a mark drops those that
//! were queued since.

use std::sync::Arc;

use base::{Oid, Result};
use rustc_hash::FxHashMap;
use schema::catalog::{ConstraintKind, TableDef};
use types::StorageKind;

use crate::client::Client;
use crate::foreign_key::{self, Check, ForeignKey};
use crate::host::Host;
use crate::keys::TableKeys;
use crate::state::ExecutionState;
use crate::trigger::QueuedCall;
use crate::{Locals, Run};

/// A check that waits for the end of its statement or transaction.
#[derive(Clone)]
pub struct PendingCheck {
    /// Checks are numbered within their session, so that a savepoint's rollback finds those queued after it. They are kept in the order of
    /// these numbers.
    pub number: u64,
    work: Work,
    is_deferred: bool,
    /// The statement has ended: the check keeps its place in the queue of deferred checks.
    is_placed: bool,
}

impl PendingCheck {
    /// Whether it waits for the transaction's end, and a change of this table's rows has queued it.
    pub fn is_deferred_on(&self, table: Oid) -> bool {
        let of = match &self.work {
            Work::ForeignKey { key, what: Check::Referenced { .. } } => key.table.oid,
            Work::ForeignKey { key, what: Check::Gone { .. } } => key.referenced.oid,
            Work::Trigger(call) => call.table(),
            Work::Unique(key, _) => key.table.oid,
        };
        self.is_deferred && of == table
    }

    /// Makes the check, which is one of the statement whose checks are numbered from `first` on.
    fn make(&self, first: u64, run: &mut Run<'_, '_>) -> Result<()> {
        match &self.work {
            Work::ForeignKey { key, what } => foreign_key::make(key, what, first, run),
            Work::Trigger(call) => seeing(Sight::Statement, run, |run| call.make(run)),
            Work::Unique(key, duplicate) => seeing(Sight::Latest, run, |run| require_unique(key, duplicate, run)),
        }
    }
}

#[derive(Clone)]
pub(crate) enum Work {
    ForeignKey { key: Arc<ForeignKey>, what: Check },
    Trigger(QueuedCall),
    Unique(Arc<DeferrableKey>, engine::PossibleDuplicate),
}

impl Work {
    /// Whether it waits for the transaction's end, as `SET CONSTRAINTS` says now.
    fn is_deferred(&self, state: &ExecutionState) -> bool {
        match self {
            Work::ForeignKey { key, what } => !what.is_action(key) && key.is_deferred(state),
            Work::Trigger(call) => call.is_deferred(state),
            Work::Unique(key, _) => key.is_deferred(state),
        }
    }
}

/// A unique or primary key constraint that is looked at later.
#[derive(Debug)]
pub(crate) struct DeferrableKey {
    constraint: Oid,
    table: Arc<TableDef>,
    initially_deferred: bool,
}

impl DeferrableKey {
    fn is_deferred(&self, state: &ExecutionState) -> bool {
        state.deferred.borrow().said_of(self.constraint).unwrap_or(self.initially_deferred)
    }
}

/// Queues a second look at the keys that a row of `table` was entered with while other rows had them: the primary key's or those of
/// the other constraints, as PostgreSQL has its triggers for foreign keys between them.
pub(crate) fn queue_possible_duplicates(
    table: &Arc<TableDef>,
    duplicates: &[engine::PossibleDuplicate],
    of_primary: bool,
    state: &ExecutionState,
) {
    for duplicate in duplicates {
        let constraint = table.constraints.iter().find(|constraint| match constraint.kind {
            ConstraintKind::PrimaryKey { index } => of_primary && index == duplicate.index,
            ConstraintKind::Unique { index } => !of_primary && index == duplicate.index,
            _ => false,
        });
        let Some(constraint) = constraint else { continue };
        if state.is_in_replica() || table.unkept_constraints.contains(&constraint.oid) {
            continue;
        }
        let key = Arc::new(DeferrableKey {
            constraint: constraint.oid,
            table: Arc::clone(table),
            initially_deferred: constraint.initially_deferred,
        });
        push(state, Work::Unique(key, duplicate.clone()));
    }
}

/// The second look: 23505 if two rows have the key by now.
fn require_unique(key: &DeferrableKey, duplicate: &engine::PossibleDuplicate, run: &mut Run<'_, '_>) -> Result<()> {
    let engine = run.engine();
    let table = engine.open_table(key.table.oid)?;
    let kinds = StorageKind::of_columns(&run.catalog, &table.def);
    let mut locals = Locals::for_expression();
    let mut inner = run.with_locals(&[], &mut locals);
    let keys = TableKeys::new(&kinds, None, &mut inner);
    engine.check_duplicate(&table, duplicate, &keys)
}

/// `SET CONSTRAINTS` of a transaction.
#[derive(Debug, Default, Clone)]
pub struct Deferral {
    /// `ALL`, if it was said.
    pub all: Option<bool>,
    /// By constraint, said after that.
    pub by_constraint: FxHashMap<Oid, bool>,
}

impl Deferral {
    /// Whether `SET CONSTRAINTS` has made a constraint deferred; none if it has not named the constraint.
    pub(crate) fn said_of(&self, constraint: Oid) -> Option<bool> {
        self.by_constraint.get(&constraint).copied().or(self.all)
    }
}

/// Queues the call of a trigger.
pub(crate) fn queue_call(state: &ExecutionState, call: QueuedCall) {
    push(state, Work::Trigger(call));
}

pub(crate) fn push(state: &ExecutionState, work: Work) {
    let is_deferred = work.is_deferred(state);
    let number = next_number(state);
    state.pending_checks.borrow_mut().push(PendingCheck { number, work, is_deferred, is_placed: false });
}

fn next_number(state: &ExecutionState) -> u64 {
    state.next_check.replace(state.next_check.get() + 1)
}

/// The index of the first check whose number is at least `first`.
fn place_of(first: u64, checks: &[PendingCheck]) -> usize {
    checks.partition_point(|check| check.number < first)
}

/// Moves the deferred checks of the statement that ends to the end of the queue. Statements that its triggers or functions ran have ended
/// before it, so their checks come first. A `SET CONSTRAINTS ... DEFERRED` within the statement counts for what the statement has queued.
fn place_deferred(state: &ExecutionState, first: u64) {
    let mut pending = state.pending_checks.borrow_mut();
    let start = place_of(first, &pending);
    let is_deferred =
        |check: &mut PendingCheck| !check.is_placed && (check.is_deferred || check.work.is_deferred(state));
    let deferred: Vec<PendingCheck> = pending.extract_if(start.., is_deferred).collect();
    pending.extend(deferred.into_iter().map(|check| PendingCheck {
        number: next_number(state),
        is_deferred: true,
        is_placed: true,
        ..check
    }));
}

/// Which of the pending checks are to be made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Those of the statement that has ended: not deferred, and numbered from here on. A statement inside a statement leaves
    /// those of the outer one alone.
    Statement(u64),
    /// All: the transaction commits.
    All,
}

/// Makes the checks that are due.
///
/// # Errors
/// 23503, and errors of the actions.
pub fn run_pending_checks(host: &dyn Host, due: Due, client: &mut dyn Client) -> Result<()> {
    let state = host.execution();
    let first = match due {
        Due::Statement(first) => first,
        Due::All => 0,
    };
    if state.pending_checks.borrow().is_empty() {
        state.forget_shared_changes_from(first);
        return Ok(());
    }
    let mut locals = Locals::for_expression();
    let mut run = Run::new(host, client, &[], &mut locals);
    let began = due == Due::All;
    if began {
        state.engine().begin_statement()?;
    }
    let result = run_all(state, due, &mut run);
    if began {
        state.engine().end_statement();
    }
    state.forget_shared_changes_from(first);
    result
}

/// Makes the checks that `SET CONSTRAINTS ... IMMEDIATE` has made immediate. Within a function, what the statement around it has
/// queued waits for that statement's end.
///
/// # Errors
/// As [`run_pending_checks`].
pub fn apply_deferral(host: &dyn Host, is_nested: bool, client: &mut dyn Client) -> Result<()> {
    let state = host.execution();
    let first = state.next_check.get();
    {
        let mut pending = state.pending_checks.borrow_mut();
        let is_due = |check: &mut PendingCheck| check.is_deferred && !check.work.is_deferred(state);
        let due: Vec<PendingCheck> = pending.extract_if(.., is_due).collect();
        if due.is_empty() {
            return Ok(());
        }
        // If this is undone, the checks are as pending as before.
        state.made_checks.borrow_mut().extend(due.iter().cloned());
        pending.extend(due.into_iter().map(|check| PendingCheck {
            number: next_number(state),
            is_deferred: false,
            ..check
        }));
    }
    if is_nested {
        return run_pending_checks(host, Due::Statement(first), client);
    }
    state.engine().begin_statement()?;
    let result = run_pending_checks(host, Due::Statement(first), client);
    state.engine().end_statement();
    result
}

fn run_all(state: &ExecutionState, due: Due, run: &mut Run<'_, '_>) -> Result<()> {
    let (is_all, first) = match due {
        Due::All => (true, 0),
        Due::Statement(first) => (false, first),
    };
    loop {
        if !is_all {
            place_deferred(state, first);
        }
        let ready: Vec<PendingCheck> = {
            let mut pending = state.pending_checks.borrow_mut();
            let start = place_of(first, &pending);
            if !is_all && pending[start..].iter().any(|check| check.is_deferred) {
                state.refuse_if_restricted("fire deferred trigger")?;
            }
            pending.extract_if(start.., |check| is_all || !check.is_deferred).collect()
        };
        if ready.is_empty() {
            return Ok(());
        }
        for check in ready {
            sync::yield_point()?;
            // Rows changed by an action queue further checks, which are made in the next round.
            check.make(first, run)?;
        }
    }
}

/// The rows visible to a check.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Those that a statement of the transaction would see.
    Statement,
    /// All rows committed by now, at every isolation level: a reference that the transaction's snapshot doesn't see must not be
    /// left behind.
    Latest,
}

pub(crate) fn seeing<T>(
    sight: Sight,
    run: &mut Run<'_, '_>,
    work: impl FnOnce(&mut Run<'_, '_>) -> Result<T>,
) -> Result<T> {
    match sight {
        Sight::Statement => run.engine().push_snapshot()?,
        Sight::Latest => run.engine().push_latest_snapshot()?,
    }
    let result = work(run);
    run.engine().pop_snapshot();
    result
}

/// Constraint checks and their deferral as they were when a subtransaction began.
pub struct CheckMark {
    /// Those from this number on were queued since.
    first: u64,
    /// How many had been made early.
    made: usize,
    /// The deferral that `SET CONSTRAINTS` had set.
    deferral: Deferral,
}

impl ExecutionState {
    /// Forgets the pending constraint checks from this number on: the changes that queued them are undone.
    pub fn forget_checks_from(&self, first: u64) {
        self.pending_checks.borrow_mut().retain(|check| check.number < first);
        self.forget_shared_changes_from(first);
    }

    /// Constraint checks as they are now.
    pub fn check_mark(&self) -> CheckMark {
        let made = self.made_checks.borrow().len();
        CheckMark { first: self.next_check.get(), made, deferral: self.deferred.borrow().clone() }
    }

    /// Constraint checks and their deferral as they were.
    pub fn restore_checks(&self, mark: &CheckMark) {
        self.forget_checks_from(mark.first);
        *self.deferred.borrow_mut() = mark.deferral.clone();
        let mut made = self.made_checks.borrow_mut();
        if made.len() > mark.made {
            let mut pending = self.pending_checks.borrow_mut();
            pending.extend(made.drain(mark.made..).filter(|check| check.number < mark.first));
            pending.sort_by_key(|check| check.number);
            pending.dedup_by_key(|check| check.number);
        }
    }

    /// After an error: what was queued since is forgotten.
    pub fn forget_checks_since(&self, mark: &CheckMark) {
        self.forget_checks_from(mark.first);
    }

    /// The statement whose checks are numbered from here on has ended, or is undone.
    pub fn forget_shared_changes_from(&self, first: u64) {
        let mut changes = self.shared_changes.borrow_mut();
        // They are in the order of their numbers. Those of the statements around this one may be thousands.
        while changes.pop_if(|change| change.number >= first).is_some() {}
    }
}
