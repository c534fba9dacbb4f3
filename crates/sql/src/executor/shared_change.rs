//! What a statement's changes of a table share with those that foreign keys' actions make on its behalf.
//!
//! Actions are part of the statement whose end they are run at, and so are all the parts of a statement with a WITH that changes
//! rows. However many of them change a table in one way, its
//! statement-level BEFORE triggers are called once, before the first; its AFTER triggers once, behind the last; and the
//! transition tables hold the rows of all. Once somebody has read a transition table, the next action begins anew.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use base::{CommandId, Oid, Result};

use super::trigger::Event;
use super::{RowStore, Run};
use crate::session::SessionState;
use crate::types::RecordValue;

/// One kind of change of one table, by a statement and the actions that follow from it.
pub struct SharedChange {
    /// In one sequence with the checks that wait for the end of a statement, so that a statement knows its own.
    number: u64,
    /// The command that the statement itself is.
    command: CommandId,
    table: Oid,
    event: Event,
    /// The rows, where a trigger reads them.
    pub(super) captured: Option<Rc<Captured>>,
    /// The BEFORE triggers have been called.
    has_begun: Cell<bool>,
    /// How often its AFTER triggers have been queued: only the last time counts.
    ends: Cell<u64>,
}

impl SharedChange {
    /// The change that is going on, if an action joins the statement whose checks are numbered from `statement` on, or if another
    /// part of the statement `command` has begun it; a new one otherwise.
    pub(super) fn join(
        state: &SessionState,
        (statement, command): (Option<u64>, CommandId),
        (table, event): (Oid, Event),
        is_read: bool,
    ) -> Rc<SharedChange> {
        let mut changes = state.shared_changes.borrow_mut();
        let goes_on = |change: &&Rc<SharedChange>| {
            let is_part = match statement {
                Some(first) => change.number >= first,
                None => change.command == command,
            };
            is_part
                && (change.table, change.event) == (table, event)
                && !change.captured.as_ref().is_some_and(|captured| captured.is_closed.get())
        };
        if let Some(change) = changes.iter().rev().find(goes_on) {
            return Rc::clone(change);
        }
        let change = Rc::new(SharedChange {
            number: state.next_check.replace(state.next_check.get() + 1),
            command,
            table,
            event,
            captured: is_read.then(Rc::default),
            has_begun: Cell::new(false),
            ends: Cell::new(0),
        });
        changes.push(Rc::clone(&change));
        change
    }

    /// Whether the BEFORE triggers are to be called, which they are once.
    pub(super) fn begin(&self) -> bool {
        !self.has_begun.replace(true)
    }

    /// The AFTER triggers are queued: those that were before are no longer to be called.
    pub(super) fn end(&self) {
        self.ends.set(self.ends.get() + 1);
    }

    /// A mark for those queued now.
    pub(super) fn mark(self: &Rc<Self>) -> EndMark {
        EndMark { change: Rc::clone(self), end: self.ends.get() }
    }
}

/// Tells whether AFTER triggers of a statement are still to be called.
#[derive(Clone)]
pub(super) struct EndMark {
    change: Rc<SharedChange>,
    end: u64,
}

impl EndMark {
    pub(super) fn is_last(&self) -> bool {
        self.change.ends.get() == self.end
    }
}

/// The rows of a statement that its triggers' functions can read as tables, for one event.
#[derive(Default)]
pub struct Captured {
    old: RefCell<Rc<RowStore>>,
    new: RefCell<Rc<RowStore>>,
    /// Somebody reads them.
    is_closed: Cell<bool>,
}

impl Captured {
    pub(super) fn add(&self, old: Option<&RecordValue>, new: Option<&RecordValue>, run: &Run<'_, '_>) -> Result<()> {
        for (store, row) in [(&self.old, old), (&self.new, new)] {
            let Some(row) = row else { continue };
            let mut store = store.borrow_mut();
            let store = Rc::get_mut(&mut store).expect("nobody reads the rows before they are closed");
            store.push(&row.fields, super::sort_memory_bytes(run), run)?;
        }
        Ok(())
    }

    /// The old rows, or the new ones.
    pub(crate) fn rows(&self, is_new: bool) -> Rc<RowStore> {
        Rc::clone(&if is_new { &self.new } else { &self.old }.borrow())
    }

    /// No rows are added any more; all can be read.
    pub(super) fn close(&self) -> Result<()> {
        if self.is_closed.replace(true) {
            return Ok(());
        }
        for store in [&self.old, &self.new] {
            if let Some(store) = Rc::get_mut(&mut store.borrow_mut()) {
                store.flush()?;
            }
        }
        Ok(())
    }
}

impl SessionState {
    /// The statement whose checks are numbered from here on has ended, or is undone.
    pub(crate) fn forget_shared_changes_from(&self, first: u64) {
        let mut changes = self.shared_changes.borrow_mut();
        if !changes.is_empty() {
            changes.retain(|change| change.number < first);
        }
    }
}
