//! Reports of the events that a session waits for, for views and other sessions.
//!
//! The cause of most waits is known from the place where they wait: a lock's queue, a client's socket. Some waits happen deep in
//! the engine, where the session is not known. For those, the code that knows the session has the waits of its thread or
//! coroutine reported ([`WaitReport::reporting`]), and the wait names its event ([`WaitEvent::waiting`]).

use std::cell::Cell;
use std::sync::Arc;
// Reporting is no part of any algorithm, so a model need not see it.
use std::sync::atomic::{AtomicU8, Ordering};

/// A wait with a name of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum WaitEvent {
    /// For the leader of a group to set the transaction's status bits.
    XactGroupUpdate = 1,
}

impl WaitEvent {
    /// `pg_stat_activity.wait_event_type`
    pub fn kind(self) -> &'static str {
        match self {
            WaitEvent::XactGroupUpdate => "IPC",
        }
    }

    /// `pg_stat_activity.wait_event`
    pub fn name(self) -> &'static str {
        match self {
            WaitEvent::XactGroupUpdate => "XactGroupUpdate",
        }
    }

    /// Reports the wait until dropped, if the waits of this thread or coroutine are reported.
    pub fn waiting(self) -> Waiting {
        let report = with_current(|report| report.cloned());
        if let Some(report) = &report {
            report.0.store(self as u8, Ordering::Relaxed);
        }
        Waiting(report)
    }
}

/// The event that one session waits for.
#[derive(Default)]
pub struct WaitReport(AtomicU8);

impl WaitReport {
    /// Returns the event that the session waits for at the moment.
    pub fn event(&self) -> Option<WaitEvent> {
        (self.0.load(Ordering::Relaxed) == WaitEvent::XactGroupUpdate as u8).then_some(WaitEvent::XactGroupUpdate)
    }

    /// Has the waits of this thread or coroutine reported here, until dropped.
    pub fn reporting(self: &Arc<WaitReport>) -> Reporting {
        Reporting { before: CURRENT.replace(Some(Arc::clone(self))) }
    }
}

/// See [`WaitReport::reporting`].
#[must_use]
pub struct Reporting {
    before: Option<Arc<WaitReport>>,
}

impl Drop for Reporting {
    fn drop(&mut self) {
        CURRENT.set(self.before.take());
    }
}

/// See [`WaitEvent::waiting`].
#[must_use]
pub struct Waiting(Option<Arc<WaitReport>>);

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(report) = &self.0 {
            report.0.store(0, Ordering::Relaxed);
        }
    }
}

thread_local! {
    /// Where waits are reported now.
    static CURRENT: Cell<Option<Arc<WaitReport>>> = const { Cell::new(None) };
}

fn with_current<R>(f: impl FnOnce(Option<&Arc<WaitReport>>) -> R) -> R {
    let current = CURRENT.take();
    let result = f(current.as_ref());
    CURRENT.set(current);
    result
}

/// Removes and returns the thread's report. A coroutine's report is kept so while it is suspended: others run on its thread meanwhile.
pub(crate) fn set_aside() -> Option<Arc<WaitReport>> {
    CURRENT.take()
}

/// Undoes [`set_aside`].
pub(crate) fn bring_back(report: Option<Arc<WaitReport>>) {
    CURRENT.set(report);
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use crate::{Coroutine, ReadyQueue, StackPool, Step, yield_now};

    #[test]
    fn a_wait_is_reported_while_it_lasts_and_only_where_somebody_asked_for_it() {
        let report = Arc::new(WaitReport::default());
        drop(WaitEvent::XactGroupUpdate.waiting());
        assert_eq!(report.event(), None);
        {
            let _reporting = report.reporting();
            let _waiting = WaitEvent::XactGroupUpdate.waiting();
            assert_eq!(report.event(), Some(WaitEvent::XactGroupUpdate));
        }
        let _waiting = WaitEvent::XactGroupUpdate.waiting();
        assert_eq!(report.event(), None);
    }

    #[test]
    fn coroutines_of_one_thread_report_each_its_own_waits() {
        let queue = Arc::new(ReadyQueue::new(|| ()));
        let reports = [0, 1].map(|_| Arc::new(WaitReport::default()));
        let mut sessions = [0, 1].map(|number| {
            let report = Arc::clone(&reports[number]);
            Coroutine::new(&StackPool::default(), Arc::clone(&queue), number as u64, move || {
                let _reporting = report.reporting();
                yield_now();
                let _waiting = WaitEvent::XactGroupUpdate.waiting();
                yield_now();
            })
        });
        let events = || [0, 1].map(|number: usize| reports[number].event().is_some());
        // Both have begun to report before either waits.
        for session in &mut sessions {
            assert_eq!(session.resume(), Step::Suspended { deadline: None });
        }
        sessions[0].resume();
        assert_eq!(events(), [true, false]);
        sessions[1].resume();
        assert_eq!(events(), [true, true]);
        assert_eq!(sessions[0].resume(), Step::Finished(()));
        assert_eq!(events(), [false, true]);
        assert_eq!(sessions[1].resume(), Step::Finished(()));
        assert_eq!(events(), [false, false]);
        assert!(with_current(|report| report.is_none()), "the thread reports nothing");
    }
}
