//! State that a statement's changes of a table share with those that foreign keys' actions make on its behalf.
//!
//! Actions are part of the statement whose end they are run at, and so are all the parts of a statement with a WITH that changes
//! rows. However many of them change a table in one way, its
//! statement-level BEFORE triggers are called once, before the first; its AFTER triggers once, behind the last; and the
//! transition tables hold the rows of all. Once somebody has read a transition table, the next action begins anew.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use base::{CommandId, Oid, Result};
use plan::Event;
use sync::Mutex;
use types::RecordValue;

use crate::state::ExecutionState;
use crate::{RowStore, Run};

/// One kind of change of one table, by a statement and the actions that follow from it.
pub struct SharedChange {
    /// In one sequence with the checks that wait for the end of a statement, so that a statement knows its own.
    pub(super) number: u64,
    /// The command that the statement itself is.
    command: CommandId,
    table: Oid,
    event: Event,
    /// The rows, where a trigger reads them.
    pub(super) captured: Option<Arc<Captured>>,
    /// The BEFORE triggers have been called.
    has_begun: AtomicBool,
    /// How often its AFTER triggers have been queued: only the last time counts.
    ends: AtomicU64,
}

impl SharedChange {
    /// The change that is going on, if an action joins the statement whose checks are numbered from `statement` on, or if another
    /// part of the statement `command` has begun it; a new one otherwise.
    pub(super) fn join(
        state: &ExecutionState,
        (statement, command): (Option<u64>, CommandId),
        (table, event): (Oid, Event),
        is_read: bool,
    ) -> Arc<SharedChange> {
        let mut changes = state.shared_changes.borrow_mut();
        // Those of the statements around this one come before it; there may be thousands.
        let may_be_part = |change: &&Arc<SharedChange>| match statement {
            Some(first) => change.number >= first,
            None => change.command >= command,
        };
        let goes_on = |change: &&Arc<SharedChange>| {
            (statement.is_some() || change.command == command)
                && (change.table, change.event) == (table, event)
                && !change.captured.as_ref().is_some_and(|captured| captured.is_closed.load(Ordering::Relaxed))
        };
        if let Some(change) = changes.iter().rev().take_while(may_be_part).find(goes_on) {
            return Arc::clone(change);
        }
        let change = Arc::new(SharedChange {
            number: state.next_check.replace(state.next_check.get() + 1),
            command,
            table,
            event,
            captured: is_read.then(Arc::default),
            has_begun: AtomicBool::new(false),
            ends: AtomicU64::new(0),
        });
        changes.push(Arc::clone(&change));
        change
    }

    /// Whether the BEFORE triggers are to be called, which they are once.
    pub(super) fn begin(&self) -> bool {
        !self.has_begun.swap(true, Ordering::Relaxed)
    }

    /// The AFTER triggers are queued: those that were before are no longer to be called.
    pub(super) fn end(&self) {
        self.ends.fetch_add(1, Ordering::Relaxed);
    }

    /// A mark for those queued now.
    pub(super) fn mark(self: &Arc<Self>) -> EndMark {
        EndMark { change: Arc::clone(self), end: self.ends.load(Ordering::Relaxed) }
    }
}

/// Tells whether AFTER triggers of a statement are still to be called.
#[derive(Clone)]
pub(super) struct EndMark {
    change: Arc<SharedChange>,
    end: u64,
}

impl EndMark {
    pub(super) fn is_last(&self) -> bool {
        self.change.ends.load(Ordering::Relaxed) == self.end
    }
}

/// The rows of a statement that its triggers' functions can read as tables, for one event.
#[derive(Default)]
pub struct Captured {
    /// Both are leaves.
    old: Mutex<Option<Arc<RowStore>>>,
    new: Mutex<Option<Arc<RowStore>>>,
    /// Somebody reads them.
    is_closed: AtomicBool,
}

impl Captured {
    pub(super) fn add(&self, old: Option<&RecordValue>, new: Option<&RecordValue>, run: &Run<'_, '_>) -> Result<()> {
        for (store, row) in [(&self.old, old), (&self.new, new)] {
            let Some(row) = row else { continue };
            // A large row is written with turns for others, and no lock is held across a turn. Only the session of the statement
            // comes here, so nobody misses the rows meanwhile.
            let mut taken = store.lock().take().unwrap_or_default();
            let rows = Arc::get_mut(&mut taken).expect("nobody reads the rows before they are closed");
            let pushed = rows.push(&row.fields, crate::sort_memory_bytes(run), run);
            *store.lock() = Some(taken);
            pushed?;
        }
        Ok(())
    }

    /// The old rows, or the new ones.
    pub fn rows(&self, is_new: bool) -> Arc<RowStore> {
        if is_new { &self.new } else { &self.old }.lock().clone().unwrap_or_default()
    }

    /// No rows are added any more; all can be read.
    pub(super) fn close(&self) -> Result<()> {
        if self.is_closed.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        for store in [&self.old, &self.new] {
            if let Some(store) = store.lock().as_mut().and_then(Arc::get_mut) {
                store.flush()?;
            }
        }
        Ok(())
    }
}
