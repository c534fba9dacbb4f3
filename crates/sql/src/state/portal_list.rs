//! The portals of the protocol, as other statements of the session know them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use slab::Slab;
use sync::{Mutex, MutexGuard};

use super::plan_cache::Planned;

/// A portal of the protocol, as `pg_cursors` shows it.
pub struct ListedPortal {
    /// Its name; empty for the unnamed one.
    pub name: String,
    /// The statement's text.
    pub statement: Arc<str>,
    /// When it was bound; microseconds since 2000-01-01 UTC.
    pub bound_at: i64,
    /// Its plan, if it has one and a name to be found by.
    planned: Option<Arc<Planned>>,
}

/// The portals of the protocol that a session has. The session alone uses it, and may move from thread to thread.
pub struct PortalList {
    /// Each Bind adds one and most take it out again at once, so nothing is hashed. A leaf.
    portals: Mutex<Slab<ListedPortal>>,
    /// The key of the one that runs, or `NONE_RUNS`.
    running: AtomicUsize,
}

const NONE_RUNS: usize = usize::MAX;

impl Default for PortalList {
    fn default() -> PortalList {
        PortalList { portals: Mutex::default(), running: AtomicUsize::new(NONE_RUNS) }
    }
}

/// Keeps a portal in the list as long as there is the portal.
pub struct Listed {
    list: Arc<PortalList>,
    key: usize,
}

impl PortalList {
    /// Adds a portal that has just been bound.
    pub(crate) fn add(
        self: &Arc<PortalList>,
        name: &str,
        planned: Option<Arc<Planned>>,
        statement: Arc<str>,
        bound_at: i64,
    ) -> Listed {
        let portal = ListedPortal { name: name.to_owned(), statement, bound_at, planned };
        let key = self.portals.lock().insert(portal);
        Listed { list: Arc::clone(self), key }
    }

    /// Notes which one runs.
    pub(crate) fn set_running(&self, listed: Option<&Listed>) {
        self.running.store(listed.map_or(NONE_RUNS, |listed| listed.key), Ordering::Relaxed);
    }

    /// Whether the one of this name runs; `None` if there is none.
    pub(crate) fn is_running(&self, name: &str) -> Option<bool> {
        let portals = self.portals.lock();
        let (key, _) = portals.iter().find(|(_, portal)| portal.name == name)?;
        Some(self.running.load(Ordering::Relaxed) == key)
    }

    /// The plan of the one of this name, if it gives rows and does not run.
    pub(crate) fn plan_with_rows(&self, name: &str) -> Option<Arc<Planned>> {
        if self.is_running(name)? {
            return None;
        }
        let portals = self.portals.lock();
        let (_, portal) = portals.iter().find(|(_, portal)| portal.name == name)?;
        let planned = portal.planned.clone();
        planned.filter(|planned| planned.gives_rows())
    }

    /// The portals in the list.
    pub fn portals(&self) -> MutexGuard<'_, Slab<ListedPortal>> {
        self.portals.lock()
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let portal = self.list.portals.lock().remove(self.key);
        // Its plan goes after the lock.
        drop(portal);
    }
}
