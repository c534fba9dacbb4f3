//! Portals: bound statements and their running plans.

use std::sync::Arc;

use base::{Error, Result, sqlstate};
use self_cell::self_cell;

use super::SqlSession;
use super::plan_cache::Planned;
use crate::client::{Client, Formats};
use crate::executor::{self, BoxOperator, Locals, RowStore};
use crate::plan::{Plan, StatementKind};
use crate::types::Value;

/// A running plan: operators, and what they share.
pub struct Execution<'p> {
    /// The topmost operator.
    pub root: BoxOperator<'p>,
    /// What the execution keeps.
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
        Running::try_new(Arc::clone(planned), |planned| {
            let plan = query_plan(planned)?;
            let mut locals = Locals::new(&planned.statement);
            let root = executor::build(plan, &mut locals);
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
    /// What it runs; `None` for an empty query.
    pub planned: Option<Arc<Planned>>,
    /// The statement's text.
    pub text: Arc<str>,
    /// The values of its parameters.
    pub parameters: Vec<Value>,
    /// The formats its rows are wanted in.
    pub formats: Formats,
    /// Where it stands.
    pub progress: Progress,
    /// Made by DECLARE CURSOR.
    pub is_cursor: bool,
    /// The prepared statement it was bound from, to plan again.
    pub prepared: Option<Arc<super::prepared::Prepared>>,
    /// How many savepoints were open when it was made: it ends when there is a rollback to one of them.
    pub depth: usize,
}

/// What is known of an open cursor.
pub struct OpenCursor {
    /// Its plan.
    pub planned: Arc<Planned>,
    /// What opened it, or its query where a function did.
    pub statement: Arc<str>,
    /// WITH HOLD
    pub is_holdable: bool,
    /// BINARY
    pub is_binary: bool,
    /// It goes backwards.
    pub is_scrollable: bool,
    /// When the statement that opened it began, in microseconds since 2000.
    pub opened_at: i64,
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
    },
    /// Rows made already (by a utility statement, or kept beyond their transaction): how many of them have been given,
    /// and the tag for their end.
    Rows {
        /// The rows.
        rows: RowStore,
        /// How many have been given.
        given: usize,
        /// The tag.
        tag: String,
    },
    /// A cursor, which stands on one of its rows.
    Cursor(Box<crate::commands::Cursor>),
    /// It has ended.
    Done,
    /// It has ended with an error.
    Failed,
}

impl SqlSession {
    /// Whether there is a portal or cursor of this name.
    pub(crate) fn has_portal(&self, name: &str) -> bool {
        self.portals.contains_key(name)
    }

    /// The formats that a cursor gives its rows in.
    pub(crate) fn formats_of(&self, name: &str) -> Formats {
        self.portals.get(name).map(|portal| portal.formats.clone()).unwrap_or_default()
    }

    /// Adds a portal, or puts one back.
    pub(crate) fn add_portal(&mut self, name: &str, portal: Portal) {
        self.portals.insert(name.to_owned(), portal);
    }

    /// Takes a portal out.
    pub(crate) fn take_portal(&mut self, name: &str) -> Option<Portal> {
        self.portals.remove(name)
    }

    /// The names of all cursors.
    pub(crate) fn cursor_names(&self) -> Vec<String> {
        self.portals.iter().filter(|(_, portal)| portal.is_cursor).map(|(name, _)| name.clone()).collect()
    }

    /// How many savepoints are open.
    pub(crate) fn savepoint_depth(&self) -> usize {
        self.savepoints.len()
    }

    /// Gathers the rows of cursors that are to outlive the transaction, which is about to commit.
    pub(super) fn hold_cursors(&mut self, client: &mut dyn Client) -> Result<()> {
        for (name, portal) in &mut self.portals {
            if let Progress::Cursor(cursor) = &mut portal.progress
                && cursor.hold
            {
                cursor.hold_rows(&self.state, client)?;
                self.state.cursor_places.borrow_mut().insert(name.clone(), executor::CursorPlace::Held);
            }
        }
        Ok(())
    }

    /// Whether a cursor WITH HOLD was made in this transaction.
    pub(super) fn has_cursor_to_hold(&self) -> bool {
        let cursor_of = |portal: &Portal| match &portal.progress {
            Progress::Cursor(cursor) => cursor.hold && !cursor.is_held(),
            _ => false,
        };
        self.portals.values().any(cursor_of)
    }

    /// The transaction has ended: portals end with it, but for cursors whose rows were gathered.
    pub(super) fn end_portals(&mut self) {
        self.retain_portals(Portal::is_held);
    }

    /// Back to a savepoint: what was opened after it ends.
    pub(super) fn end_portals_above(&mut self, depth: usize) {
        self.retain_portals(|portal| portal.is_held() || portal.depth <= depth);
    }

    /// Savepoints were released: what was opened after them belongs to what is around them.
    pub(super) fn lift_portals(&mut self, depth: usize) {
        for portal in self.portals.values_mut().chain(&mut self.unnamed_portal) {
            portal.depth = portal.depth.min(depth);
        }
    }

    fn retain_portals(&mut self, keep: impl Fn(&Portal) -> bool) {
        self.unnamed_portal.take_if(|portal| !keep(portal));
        self.portals.retain(|_, portal| keep(portal));
        self.state.cursors.borrow_mut().retain(|name, _| self.portals.contains_key(name));
    }
}

impl Portal {
    /// Refuses what can't go on.
    ///
    /// # Errors
    /// 55000 for a portal that has failed, or has ended and gives no rows.
    pub(super) fn check_can_run(&self, name: &str) -> Result<()> {
        let gives_rows = self.planned.as_ref().is_some_and(|planned| !planned.description.columns.is_empty());
        match &self.progress {
            Progress::Done if !gives_rows => Err(cannot_run(name)),
            Progress::Failed => Err(cannot_run(name)),
            _ => Ok(()),
        }
    }

    /// Whether it outlives transactions: a cursor whose rows have been gathered.
    fn is_held(&self) -> bool {
        matches!(&self.progress, Progress::Cursor(cursor) if cursor.is_held())
    }
}
