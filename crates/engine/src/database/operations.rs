//! Work under way that may write although it is no transaction.

use sync::atomic::{AtomicUsize, Ordering, fence};

/// How many operations there are.
#[derive(Default)]
pub(crate) struct Operations(AtomicUsize);

/// One of them, until it is dropped.
pub(crate) struct Operation<'a>(&'a Operations);

impl Operations {
    /// Begins one, unless `is_closed`. Either this sees that the database has closed, or a look by [`Operations::are_over`] after the
    /// close sees the operation.
    pub fn begin(&self, is_closed: impl FnOnce() -> bool) -> Option<Operation<'_>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let operation = Operation(self);
        fence(Ordering::SeqCst);
        (!is_closed()).then_some(operation)
    }

    /// Whether there are none.
    pub fn are_over(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}
