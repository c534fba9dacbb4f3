//! The relation locks of a plan, and whether the plan is still good once they are taken.

use base::lock_mode::{LockMode, WaitPolicy};
use base::{Oid, Result};

use super::plan_cache::Planned;
use super::session_state::SessionState;

/// Takes the relation locks of a statement's plans, until one of them may be run.
///
/// A plan that was made while others held its tables may not fit these any more. So the catalog must not have moved on since the
/// plan was made, or the plan must have been made under the very locks that it needs: then nobody can have changed its tables. Other
/// changes of the catalog meanwhile, such as others' temporary tables, count as made after the statement was planned.
/// So two plans are mostly enough, however often the catalog changes. A third is made where the second needs further locks.
#[derive(Default)]
pub(crate) struct RelationLocks {
    /// Those that were taken before the plan at hand was made; `None` while it is the first one.
    taken: Option<Vec<(Oid, LockMode)>>,
}

impl RelationLocks {
    /// Takes the locks of `planned`, if it may be run at all. False if the plan must be made anew, after this call, because the
    /// catalog has moved on or an index is too new.
    ///
    /// # Errors
    /// 42501 if the role may not run it; those of waiting for locks.
    pub(crate) fn take(&mut self, state: &SessionState, planned: &Planned) -> Result<bool> {
        state.require_all(&planned.statement.access)?;
        self.take_to_prepare(state, planned)
    }

    /// The same for a statement that is only prepared: permissions are looked at when it runs.
    ///
    /// # Errors
    /// Those of waiting for locks.
    pub(crate) fn take_to_prepare(&mut self, state: &SessionState, planned: &Planned) -> Result<bool> {
        let statement = &planned.statement;
        for (oid, mode) in statement.locks.iter() {
            state.engine().lock_relation(*oid, *mode, WaitPolicy::Block)?;
        }
        let is_current = statement.catalog_version == state.engine().catalog_version();
        if (is_current || self.were_taken_before(planned)) && state.has_snapshots_for(planned) {
            return Ok(true);
        }
        self.taken.get_or_insert_default().extend_from_slice(&statement.locks);
        Ok(false)
    }

    /// Whether `planned` was made under its locks.
    fn were_taken_before(&self, planned: &Planned) -> bool {
        self.taken.as_ref().is_some_and(|taken| planned.statement.locks.iter().all(|lock| taken.contains(lock)))
    }
}
