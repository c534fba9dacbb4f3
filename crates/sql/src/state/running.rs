//! Running plans, each with the plan that it borrows.

use std::sync::Arc;

use base::{Error, Result, sqlstate};
use plan::{Node, Plan, StatementKind};
use self_cell::self_cell;

use super::plan_cache::Planned;
use executor::{BoxOperator, Locals, Measurements};

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
