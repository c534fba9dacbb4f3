//! Portals: bound statements and their running plans.

use std::sync::Arc;

use base::Result;
use self_cell::self_cell;

use super::plan_cache::Planned;
use crate::client::Formats;
use crate::executor::{self, BoxOperator, Locals};
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

/// The plan of a query.
///
/// # Errors
/// XX000 for a utility statement, which has none.
pub fn query_plan(planned: &Planned) -> Result<&Plan> {
    match &planned.statement.kind {
        StatementKind::Query(plan) => Ok(plan),
        StatementKind::Utility(_) => Err(base::Error::internal("a utility statement has no plan")),
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
    /// Rows made already (by a utility statement, or kept beyond their transaction): those still to be given,
    /// and the tag for their end.
    Rows {
        /// The rows.
        rows: std::vec::IntoIter<Vec<Value>>,
        /// The tag.
        tag: String,
    },
    /// It has ended.
    Done,
}
