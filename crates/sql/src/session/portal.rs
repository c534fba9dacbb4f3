//! Portals: bound statements and their running plans.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base::{Error, Result, sqlstate};
use plan::{Command, Node, Plan, StatementKind};
use self_cell::self_cell;
use slab::Slab;
use sync::{Mutex, MutexGuard};
use syntax::tree;
use types::Value;

use super::SqlSession;
use super::open_cursors::Opening;
use super::plan_cache::Planned;
use super::state::SessionState;
use crate::commands::Cursor;
use executor::client::{Client, Formats};
use executor::{BoxOperator, Locals, Measurements, RowStore};

/// A running plan: operators, and what they share.
pub struct Execution<'p> {
    /// The topmost operator.
    pub root: BoxOperator<'p>,
    /// The state of the execution.
    pub locals: Locals<'p>,
}

self_cell!(
    /// A running plan together with the plan it borrows.
    pub struct Running {
        owner: Arc<Planned>,
        #[not_covariant]
        dependent: Execution,
    }
);

impl Running {
    /// Starts `planned`, which must be a query.
    ///
    /// # Errors
    /// XX000 if it is not.
    pub fn start(planned: &Arc<Planned>) -> Result<Running> {
        Running::start_measured(planned, None)
    }

    /// Starts what is below the projection at the plan's top.
    ///
    /// # Errors
    /// XX000 if there is none.
    pub(crate) fn start_below_projection(planned: &Arc<Planned>) -> Result<Running> {
        Running::try_new(Arc::clone(planned), |planned| {
            let Node::Project { input, .. } = &query_plan(planned)?.node else {
                return Err(Error::internal("a plan without a projection"));
            };
            let mut locals = Locals::new(&planned.statement);
            let root = executor::build_to_run(input, &mut locals)?;
            Ok(Execution { root, locals })
        })
    }

    /// The same with operators that measure, if there is something to measure with.
    ///
    /// # Errors
    /// XX000 if it is not a query.
    pub(crate) fn start_measured(planned: &Arc<Planned>, measurements: Option<Measurements>) -> Result<Running> {
        Running::try_new(Arc::clone(planned), |planned| {
            let plan = query_plan(planned)?;
            let mut locals = Locals::new(&planned.statement);
            locals.measurements = measurements;
            let root = executor::build_to_run(plan, &mut locals)?;
            Ok(Execution { root, locals })
        })
    }
}

/// The error of a portal or cursor that has ended for good.
pub(crate) fn cannot_run(name: &str) -> Error {
    Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, format!("portal \"{name}\" cannot be run"))
}

/// The plan of a query.
///
/// # Errors
/// XX000 for a utility statement, which has none.
pub fn query_plan(planned: &Planned) -> Result<&Plan> {
    match &planned.statement.kind {
        StatementKind::Query(plan) => Ok(plan),
        StatementKind::Utility(_) => Err(Error::internal("a utility statement has no plan")),
    }
}

/// A bound statement.
pub struct Portal {
    /// The plan that it runs; `None` for an empty query.
    pub planned: Option<Arc<Planned>>,
    /// The statement's text.
    pub text: Arc<str>,
    /// The values of its parameters.
    pub parameters: Vec<Value>,
    /// The formats its rows are wanted in.
    pub formats: Formats,
    /// The progress of its execution.
    pub progress: Progress,
    /// The prepared statement it was bound from, to plan again.
    pub prepared: Option<Arc<super::prepared::Prepared>>,
    /// The statement as it stands in its text, where that may have several.
    pub tree: Option<Arc<tree::ParsedStatement>>,
    /// How many savepoints were open when it was made: it ends when there is a rollback to one of them.
    pub depth: usize,
    /// Its place among those of the protocol.
    pub listed: Option<Listed>,
}

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
    pub(super) fn add(
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
    pub(super) fn set_running(&self, listed: Option<&Listed>) {
        self.running.store(listed.map_or(NONE_RUNS, |listed| listed.key), Ordering::Relaxed);
    }

    /// Whether the one of this name runs; `None` if there is none.
    pub(super) fn is_running(&self, name: &str) -> Option<bool> {
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

/// How an Execute ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// With the statement.
    Completed,
    /// After as many rows as were asked for.
    Suspended,
}

/// Where a portal stands.
pub enum Progress {
    /// It has not begun.
    Ready,
    /// It stopped after the rows asked for; it goes on under the snapshot it began with.
    Suspended {
        /// Its plan.
        running: Running,
        /// Its snapshot.
        snapshot: engine::PortalSnapshot,
        /// How many rows it has given.
        given: u64,
    },
    /// Rows made already, by a utility statement: how many of them have been given, and the tag for their end.
    Rows {
        /// The rows. Boxed, since a portal is moved for each statement and few have any.
        rows: Box<RowStore>,
        /// How many have been given.
        given: usize,
        /// The tag.
        tag: String,
    },
    /// It has ended.
    Done,
    /// It has ended with an error, or what it was bound in has.
    Failed,
}

impl SqlSession {
    /// Whether there is a portal or cursor of this name.
    pub(crate) fn has_portal(&self, name: &str) -> bool {
        self.portals.contains_key(name) || self.state.has_cursor(name)
    }

    /// Makes a cursor of the portal that a FETCH or MOVE names, so that it and Execute can take turns.
    ///
    /// # Errors
    /// Those of taking its locks and a snapshot, where it has not begun.
    pub(super) fn make_cursor_for(&mut self, statement: &tree::Statement) -> Result<()> {
        let tree::Statement::Fetch(fetch) = statement else { return Ok(()) };
        let Some((name, mut portal)) = self.portals.remove_entry(fetch.cursor.as_str()) else { return Ok(()) };
        let made = self.cursor_of(&mut portal);
        if let Ok(Some(cursor)) = made {
            // It ends with what would have ended the portal.
            let above = self.savepoints.get(portal.depth).map(|savepoint| savepoint.mark.next_cursor);
            let Portal { text: statement, formats, .. } = portal;
            let opening = Opening { statement, formats, is_binary: false, is_scrollable: false };
            self.state.open_cursor_below(&name, cursor, opening, above);
            return Ok(());
        }
        if made.is_err() {
            portal.progress = Progress::Failed;
        }
        self.portals.insert(name, portal);
        made.map(|_| ())
    }

    /// A cursor that goes on where the portal of a query stands; `None` for other portals.
    fn cursor_of(&mut self, portal: &mut Portal) -> Result<Option<Cursor>> {
        let is_query = |planned: &&Arc<Planned>| {
            planned.statement.command == Command::Select
                && planned.statement.is_read_only
                && query_plan(planned).is_ok()
        };
        let Some(planned) = portal.planned.as_ref().filter(is_query).cloned() else { return Ok(None) };
        let parameters = portal.parameters.clone();
        Ok(match std::mem::replace(&mut portal.progress, Progress::Done) {
            Progress::Ready => {
                let planned = self.lock_and_check(planned, portal, false)?;
                Some(Cursor::begin(&self.state, &planned, parameters)?)
            }
            Progress::Suspended { running, snapshot, given } => {
                Some(Cursor::of_portal(planned, parameters, running, snapshot, given))
            }
            Progress::Done => Some(Cursor::of_rows(planned, RowStore::default(), Some(false))),
            other => {
                portal.progress = other;
                None
            }
        })
    }

    /// Runs the portal that a FETCH or MOVE names to its end, if it gives rows but is not a query, and makes a cursor of the rows
    /// that it has not given yet.
    ///
    /// # Errors
    /// 55000 for a portal that has failed, and those of its statement.
    pub(crate) fn run_portal_for_fetch(&mut self, name: &str, client: &mut dyn Client) -> Result<()> {
        let Some(portal) = self.portals.get(name) else { return Ok(()) };
        portal.check_can_run(name)?;
        if !portal.planned.as_ref().is_some_and(|planned| planned.gives_rows()) {
            return Ok(());
        }
        let Some((name, mut portal)) = self.portals.remove_entry(name) else { return Ok(()) };
        let gathered = self.gather_rest(&mut portal, client);
        match (gathered, portal.planned.clone()) {
            (Ok((rows, _)), Some(planned)) => {
                let above = self.savepoints.get(portal.depth).map(|savepoint| savepoint.mark.next_cursor);
                let Portal { text: statement, formats, .. } = portal;
                let opening = Opening { statement, formats, is_binary: false, is_scrollable: false };
                let cursor = Cursor::of_rows(planned, rows, Some(false));
                self.state.open_cursor_below(&name, cursor, opening, above);
                Ok(())
            }
            (gathered, _) => {
                portal.progress = Progress::Failed;
                self.portals.insert(name, portal);
                gathered.map(drop)
            }
        }
    }

    /// How many savepoints are open.
    pub(crate) fn savepoint_depth(&self) -> usize {
        self.savepoints.len()
    }

    /// The transaction has ended: portals end with it, cursors that are not held, and the snapshots that they held.
    pub(super) fn end_portals(&mut self) {
        self.unnamed_portal = None;
        self.portals.clear();
        self.state.end_cursors();
    }

    /// Back to a savepoint: portals that were bound after it end.
    pub(super) fn end_portals_above(&mut self, depth: usize) {
        let unnamed = self.unnamed_portal.take_if(|portal| portal.depth > depth);
        let named = self.portals.extract_if(|_, portal| portal.depth > depth);
        for portal in named.map(|(_, portal)| portal).chain(unnamed) {
            portal.progress.give_up(&self.state);
        }
    }

    /// The transaction has failed: what was bound since the innermost savepoint keeps its name until that is undone, but
    /// runs no more.
    pub(super) fn fail_portals(&mut self) {
        let depth = self.savepoints.len();
        for portal in self.portals.values_mut().chain(&mut self.unnamed_portal) {
            if portal.depth >= depth {
                std::mem::replace(&mut portal.progress, Progress::Failed).give_up(&self.state);
            }
        }
    }

    /// The plans that portals are in the middle of.
    pub(super) fn suspended_plans(&self) -> Vec<Arc<Planned>> {
        let portals = self.portals.values().chain(&self.unnamed_portal);
        let suspended = portals.filter(|portal| matches!(portal.progress, Progress::Suspended { .. }));
        suspended.filter_map(|portal| portal.planned.clone()).collect()
    }

    /// Closes the unnamed portal, as whatever takes its place does.
    pub(super) fn close_unnamed_portal(&mut self) {
        if let Some(portal) = self.unnamed_portal.take() {
            portal.progress.give_up(&self.state);
        }
    }

    /// Savepoints were released: what was opened after them belongs to what is around them.
    pub(super) fn lift_portals(&mut self, depth: usize) {
        for portal in self.portals.values_mut().chain(&mut self.unnamed_portal) {
            portal.depth = portal.depth.min(depth);
        }
    }
}

impl Progress {
    /// Goes on no more: nothing reads with the snapshot any longer.
    pub(super) fn give_up(self, state: &SessionState) {
        if let Progress::Suspended { running, snapshot, .. } = self {
            drop(running);
            state.engine().release_snapshot(snapshot);
        }
    }
}

impl Portal {
    /// BEGIN, COMMIT and their kin, if it is one of them.
    pub(super) fn transaction_statement(&self) -> Option<&tree::Transaction> {
        match &self.planned.as_ref()?.statement.kind {
            StatementKind::Utility(tree) => match &**tree {
                tree::Statement::Transaction(statement) => Some(statement),
                _ => None,
            },
            StatementKind::Query(_) => None,
        }
    }

    /// Whether its transaction ends with it: its statement refuses to be one of several, and begins no other transaction as VACUUM,
    /// REINDEX and DROP INDEX CONCURRENTLY do in PostgreSQL.
    pub(super) fn is_whole_transaction(&self) -> bool {
        let kind = self.planned.as_ref().map(|planned| &planned.statement.kind);
        let ends = |statement: &tree::Statement| {
            crate::commands::needs_no_block(statement)
                && !matches!(
                    statement,
                    tree::Statement::Vacuum(_) | tree::Statement::Drop(_) | tree::Statement::Reindex(_)
                )
        };
        matches!(kind, Some(StatementKind::Utility(tree)) if ends(tree))
    }

    /// Refuses what can't go on.
    ///
    /// # Errors
    /// 55000 for a portal that has failed, or has ended and gives no rows.
    pub(super) fn check_can_run(&self, name: &str) -> Result<()> {
        let gives_rows = self.planned.as_ref().is_some_and(|planned| planned.gives_rows());
        match &self.progress {
            Progress::Done if !gives_rows => Err(cannot_run(name)),
            Progress::Failed => Err(cannot_run(name)),
            _ => Ok(()),
        }
    }
}
