//! Counts of one session's use of pages, kept only while a [`PageMeter`] exists.
//!
//! Without a meter the counting costs nothing. The counter of hits looks up its stripe anyway, and finds out there whether
//! its thread is being metered. The other counted events go to disk or take a page from clean to dirty, and happen rarely.

use std::cell::{Cell, RefCell};

use base::PageUse;
use sync::coroutine_id;

thread_local! {
    /// Meters on this thread.
    static METERS: Cell<u32> = const { Cell::new(0) };
    /// One entry for each metered coroutine: its identifier, the number of its meters, and its use of pages.
    static USED: RefCell<Vec<(usize, u32, PageUse)>> = const { RefCell::new(Vec::new()) };
}

/// Counts what the coroutine (or the thread outside of one) that made it uses, until it is dropped.
#[derive(Debug)]
pub struct PageMeter {
    owner: usize,
    not_send: std::marker::PhantomData<*const ()>,
}

impl PageMeter {
    /// Begins to count.
    #[must_use]
    pub fn start() -> PageMeter {
        let owner = coroutine_id();
        USED.with_borrow_mut(|used| match used.iter_mut().find(|(found, ..)| *found == owner) {
            Some((_, meters, _)) => *meters += 1,
            None => used.push((owner, 1, PageUse::default())),
        });
        METERS.set(METERS.get() + 1);
        crate::statistics::meter_thread(true);
        PageMeter { owner, not_send: std::marker::PhantomData }
    }

    /// Returns the use up to now. The count began at a moment that is the same for all of a coroutine's meters.
    pub fn read(&self) -> PageUse {
        self.reader().read()
    }

    /// A reader of this meter, which may go to other threads. There it finds nothing.
    pub fn reader(&self) -> PageReader {
        PageReader { owner: self.owner }
    }
}

/// Reads a [`PageMeter`], on its thread and as long as there is one.
#[derive(Clone, Copy, Debug)]
pub struct PageReader {
    owner: usize,
}

impl PageReader {
    /// See [`PageMeter::read`].
    pub fn read(self) -> PageUse {
        USED.with_borrow(|used| used.iter().find(|(found, ..)| *found == self.owner).map(|(.., used)| *used))
            .unwrap_or_default()
    }
}

impl Drop for PageMeter {
    fn drop(&mut self) {
        USED.with_borrow_mut(|used| {
            if let Some(place) = used.iter().position(|(found, ..)| *found == self.owner) {
                used[place].1 -= 1;
                if used[place].1 == 0 {
                    used.swap_remove(place);
                }
            }
        });
        METERS.set(METERS.get() - 1);
        if METERS.get() == 0 {
            crate::statistics::meter_thread(false);
        }
    }
}

/// Counts for the running coroutine, if it is metered.
#[inline]
pub fn count(add: impl FnOnce(&mut PageUse)) {
    if METERS.get() > 0 {
        count_metered(add);
    }
}

#[cold]
fn count_metered(add: impl FnOnce(&mut PageUse)) {
    let owner = coroutine_id();
    USED.with_borrow_mut(|used| {
        if let Some((.., used)) = used.iter_mut().find(|(found, ..)| *found == owner) {
            add(used);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_counts_from_its_start_and_nothing_is_counted_without_one() {
        count(|used| used.reads += 1);
        let meter = PageMeter::start();
        let before = meter.read();
        assert_eq!(before, PageUse::default());
        count(|used| used.reads += 2);
        {
            let inner = PageMeter::start();
            count(|used| used.hits += 1);
            assert_eq!(inner.read(), PageUse { reads: 2, hits: 1, ..PageUse::default() });
        }
        count(|used| used.written += 1);
        let found = meter.read().since(&before);
        assert_eq!(found, PageUse { reads: 2, hits: 1, written: 1, ..PageUse::default() });
        drop(meter);
        count(|used| used.reads += 1);
        assert_eq!(PageMeter::start().read(), PageUse::default());
    }
}
