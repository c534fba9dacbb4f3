//! Files that are being cut, so that a checkpoint can wait for them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use sync::{Mutex, Waiter};

const LOOK_AGAIN_AFTER: Duration = Duration::from_micros(200);

/// The truncations that have begun and not ended.
#[derive(Default)]
pub(crate) struct Truncations {
    /// A leaf.
    numbers: Mutex<Numbers>,
}

#[derive(Default)]
struct Numbers {
    next: u64,
    under_way: BTreeSet<u64>,
}

/// A truncation under way. It ends when this is dropped.
pub(crate) struct Truncation<'a> {
    truncations: &'a Truncations,
    number: u64,
}

impl Drop for Truncation<'_> {
    fn drop(&mut self) {
        self.truncations.numbers.lock().under_way.remove(&self.number);
    }
}

impl Truncations {
    /// One begins, before its record has a place in the log.
    pub(crate) fn begin(&self) -> Truncation<'_> {
        let mut numbers = self.numbers.lock();
        let number = numbers.next;
        numbers.next += 1;
        numbers.under_way.insert(number);
        Truncation { truncations: self, number }
    }

    /// Waits for those that have begun before now.
    pub(crate) fn finish(&self) {
        let before = self.numbers.lock().next;
        while self.numbers.lock().under_way.first().is_some_and(|number| *number < before) {
            Waiter::new().wait(Some(Instant::now() + LOOK_AGAIN_AFTER), None);
        }
    }
}
