//! The part of the log that write-back needs.

use std::sync::OnceLock;

use base::Lsn;
use sync::Arc;

/// A log as write-back sees it: how far it is durable, and a way to get it further (R1).
pub trait DurableLog: Send + Sync {
    /// Every record whose end is at or below this is durable.
    fn durable(&self) -> Lsn;
    /// Returns when every record whose end is at or below `upto` is durable.
    fn flush(&self, upto: Lsn);
}

impl DurableLog for wal::Wal {
    fn durable(&self) -> Lsn {
        wal::Wal::durable(self)
    }

    fn flush(&self, upto: Lsn) {
        wal::Wal::flush(self, upto);
    }
}

/// A log that is opened later than the pages it justifies.
///
/// Recovery applies records to pages before there is a [`wal::Wal`] to ask. All it applies was read from the log's files,
/// which it has synced before, so that until [`LateLog::attach`] everything counts as durable.
#[derive(Default)]
pub struct LateLog {
    log: OnceLock<Arc<dyn DurableLog>>,
}

impl LateLog {
    /// No log yet.
    pub fn new() -> LateLog {
        LateLog::default()
    }

    /// From now on `log` is asked. A second call changes nothing.
    pub fn attach(&self, log: Arc<dyn DurableLog>) {
        let _ = self.log.set(log);
    }
}

impl DurableLog for LateLog {
    fn durable(&self) -> Lsn {
        self.log.get().map_or(Lsn::MAX, |log| log.durable())
    }

    fn flush(&self, upto: Lsn) {
        if let Some(log) = self.log.get() {
            log.flush(upto);
        }
    }
}

/// Whether a wait for the log needs a thread of its own. The caller may hold page latches, for which others on its thread
/// would wait in vain if its coroutine were suspended. A plain thread may wait with them, since nobody who flushes the log
/// needs a page; but `sync` can't know that, and panics in debug builds.
fn waits_on_another_thread() -> bool {
    !cfg!(shuttle) && (cfg!(debug_assertions) || sync::in_coroutine())
}

/// Returns when `log` is durable up to `upto`, without ever suspending the caller's coroutine.
pub(crate) fn make_durable(log: &dyn DurableLog, upto: Lsn) {
    if log.durable() >= upto {
        return;
    }
    if waits_on_another_thread() {
        // Once per batch of pages at most.
        let flushed = std::thread::scope(|scope| scope.spawn(|| log.flush(upto)).join());
        if let Err(panic) = flushed {
            std::panic::resume_unwind(panic);
        }
    } else {
        log.flush(upto);
    }
    assert!(log.durable() >= upto, "a flush returns when the log is durable");
}
