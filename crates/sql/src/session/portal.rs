//! Portals: bound statements and their running plans.

use std::sync::Arc;

use base::Result;
use plan::{Command, StatementKind};
use syntax::tree;
use types::Value;

use super::SqlSession;
use crate::state::portal_list::Listed;
use crate::state::{Cursor, Opening, Planned, Running, SessionState, cannot_run, query_plan};
use executor::RowStore;
use executor::client::{Client, Formats};

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
    pub prepared: Option<Arc<crate::state::prepared::Prepared>>,
    /// The statement as it stands in its text, where that may have several.
    pub tree: Option<Arc<tree::ParsedStatement>>,
    /// How many savepoints were open when it was made: it ends when there is a rollback to one of them.
    pub depth: usize,
    /// Its place among those of the protocol.
    pub listed: Option<Listed>,
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
    /// It has not begun, and the same message has asked for its rights and taken its locks. Its plan is good under these.
    Locked,
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
    pub(super) fn gather_for_fetch(&mut self, name: &str, client: &mut dyn Client) -> Result<()> {
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
            crate::commands::facts(statement).refused_in_block.is_some()
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

impl SessionState {
    /// A portal through which a cursor's rows are given.
    pub(super) fn portal_of_cursor(&self, name: &str, depth: usize) -> Option<Portal> {
        let cursors = self.cursors.borrow();
        let open = cursors.get(name)?;
        Some(Portal {
            planned: Some(Arc::clone(&open.planned)),
            text: Arc::clone(&open.statement),
            parameters: Vec::new(),
            formats: open.formats.clone(),
            progress: Progress::Done,
            prepared: None,
            tree: None,
            depth,
            listed: None,
        })
    }
}
