//! Which latches a thread holds: in debug builds, taking one out of the order of ranks, or waiting
//! with one held, panics where it happens instead of some day deadlocking.

use crate::LatchClass;

#[cfg(debug_assertions)]
mod checked {
    use std::cell::RefCell;

    use super::LatchClass;

    #[cfg(shuttle)]
    use shuttle::thread_local;

    thread_local! {
        static HELD: RefCell<Vec<&'static LatchClass>> = const { RefCell::new(Vec::new()) };
    }

    /// The caller is about to wait for a latch of this class.
    ///
    /// # Panics
    /// If it holds one that must not be held then: two threads that take latches in different orders deadlock.
    #[track_caller]
    pub(crate) fn check_order(class: &'static LatchClass) {
        let violated = HELD.try_with(|held| held.borrow().iter().copied().find(|held| !class.may_follow(held)));
        if let Ok(Some(held)) = violated
            && !std::thread::panicking()
        {
            panic!(
                "latch {:?} (rank {}) taken while {:?} (rank {}) is held",
                class.name, class.rank, held.name, held.rank
            );
        }
    }

    pub(crate) fn taken(class: &'static LatchClass) {
        let _ = HELD.try_with(|held| held.borrow_mut().push(class));
    }

    pub(crate) fn released(class: &'static LatchClass) {
        let _ = HELD.try_with(|held| {
            let mut held = held.borrow_mut();
            if let Some(last) = held.iter().rposition(|held| std::ptr::eq(*held, class)) {
                held.remove(last);
            }
        });
    }

    /// The caller is about to wait for something that others do.
    ///
    /// # Panics
    /// If it holds a latch: those others may need it, and a suspended coroutine would leave it to its thread.
    #[track_caller]
    pub(crate) fn check_none() {
        let first = HELD.try_with(|held| held.borrow().first().copied());
        if let Ok(Some(held)) = first
            && !std::thread::panicking()
        {
            panic!("waiting while latch {:?} is held", held.name);
        }
    }
}

#[cfg(debug_assertions)]
pub(crate) use checked::*;

#[cfg(not(debug_assertions))]
mod unchecked {
    use super::LatchClass;

    #[inline(always)]
    pub(crate) fn check_order(_class: &'static LatchClass) {}
    #[inline(always)]
    pub(crate) fn taken(_class: &'static LatchClass) {}
    #[inline(always)]
    pub(crate) fn released(_class: &'static LatchClass) {}
    #[inline(always)]
    pub(crate) fn check_none() {}
}

#[cfg(not(debug_assertions))]
pub(crate) use unchecked::*;
