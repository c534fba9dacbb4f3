//! Marks in the queue of constraint checks: a rollback to a mark drops the checks that were queued since.

use crate::foreign_key::Deferral;
use crate::state::ExecutionState;

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
