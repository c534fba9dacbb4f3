//! Prepared statements, and getting a good plan for a text.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::settings::Id;
use base::{Error, Oid, Result, missing, sqlstate};
use plan::StatementKind;
use sync::Mutex;
use syntax::tree;
use types::{SqlType, Value, oids};

use super::plan_cache::{Key, Planned};
use super::relation_locks::RelationLocks;
use super::session_state::SessionState;
use base::settings::words::PlanCacheMode;
use planner::binder::{Parameters, PlannerSettings};

/// A prepared statement: its text, and a plan that is made anew when the catalog has changed.
pub struct Prepared {
    /// The name it was prepared under.
    pub name: String,
    /// The text of the one statement.
    pub text: Arc<str>,
    /// Its parse tree; `None` for an empty query.
    pub tree: Option<Arc<tree::ParsedStatement>>,
    /// Types given for its parameters.
    pub types: Arc<[SqlType]>,
    /// When; microseconds since 2000-01-01 UTC.
    pub prepared_at: i64,
    /// By SQL's PREPARE rather than the protocol.
    pub from_sql: bool,
    /// A leaf. It has a lock because a session may move to another thread.
    last: Mutex<LastPlan>,
    counts: PlanCounts,
}

/// How often a statement ran with which kind of plan. Only its session counts.
#[derive(Default)]
struct PlanCounts {
    generic: AtomicU64,
    custom: AtomicU64,
    /// The expected costs of the custom plans, planning included: the bits of an f64.
    custom_cost: AtomicU64,
}

/// So many custom plans are made before one that is good for all values is considered.
pub const CUSTOM_PLANS_FIRST: u64 = 5;

/// The plan that was made last.
#[derive(Default)]
struct LastPlan {
    /// `None` if there is none yet, or if it took much memory.
    planned: Option<Arc<Planned>>,
    /// Its columns, which clients have been told; kept also where the plan is not.
    columns: Option<Vec<(String, SqlType)>>,
    /// The types of its parameters, those that were inferred among them: they stay, whatever becomes of what they were inferred from.
    parameters: Option<Arc<[SqlType]>>,
}

impl Prepared {
    /// Prepares the statement `tree` of `text`.
    ///
    /// # Errors
    /// Errors of binding and planning.
    pub fn new(
        state: &SessionState,
        name: &str,
        text: Arc<str>,
        tree: Option<Arc<tree::ParsedStatement>>,
        types: &[Oid],
        from_sql: bool,
    ) -> Result<Prepared> {
        let types = types.iter().map(|oid| SqlType::new(if oid.0 == 0 { SqlType::UNKNOWN.oid } else { *oid }));
        let mut types: Arc<[SqlType]> = types.collect();
        // A utility statement is bound when it runs; what it may be given is to be known before.
        if let (Some(tree), false) = (&tree, from_sql)
            && let Some(inferred) = (state.instance.callbacks.parameter_types)(state, &text, &tree.statement, &types)?
        {
            types = Arc::from(inferred);
        }
        let prepared = Prepared {
            name: name.to_owned(),
            text,
            tree,
            types,
            prepared_at: state.statement_timestamp.get(),
            from_sql,
            last: Mutex::default(),
            counts: PlanCounts::default(),
        };
        if prepared.tree.is_some() {
            let planned = prepared.plan_under_locks(state)?;
            state.require_schemas(&planned.statement.access)?;
            // A utility statement uses none of those that it was given types for.
            let unknown = planned.statement.parameters.iter().position(|sql_type| sql_type.oid == oids::UNKNOWN);
            if let (Some(index), false) = (unknown, from_sql) {
                let message = format!("could not determine data type of parameter ${}", index + 1);
                return Err(Error::new(sqlstate::INDETERMINATE_DATATYPE, message));
            }
        }
        Ok(prepared)
    }

    /// The first plan, made under its relation locks, which are kept until the transaction ends. So what the types of parameters and columns
    /// are inferred from does not change before the statement runs in this transaction.
    fn plan_under_locks(&self, state: &SessionState) -> Result<Arc<Planned>> {
        let mut locks = RelationLocks::default();
        loop {
            let planned = match self.plan(state) {
                // PREPARE binds the statement only. A failing constant is an error of EXECUTE, as is the lack of an arbiter for ON CONFLICT.
                Err(error)
                    if self.from_sql && error.sqlstate().class() == "22"
                        || error.sqlstate() == sqlstate::INVALID_COLUMN_REFERENCE =>
                {
                    self.plan_roughly(state)?
                }
                planned => planned?,
            };
            if locks.take_to_prepare(state, &planned)? {
                return Ok(planned);
            }
            // Nobody has been told yet what was inferred before the wait.
            *self.last.lock() = LastPlan::default();
        }
    }

    /// A plan in which constants that can't be computed are left as they are: they are errors where a row reaches them.
    fn plan_roughly(&self, state: &SessionState) -> Result<Arc<Planned>> {
        let Some(tree) = &self.tree else { return Err(Error::internal("an empty statement has no plan")) };
        let types = self.parameter_types().iter().map(|sql_type| sql_type.oid).collect::<Vec<_>>();
        let environment = super::planning::Environment::new(state, &state.catalog()).with_errors_waiting();
        environment.planned(&self.text, &tree.statement, Parameters::declared(&types))
    }

    /// The types of its parameters: those that were given, and once it has been planned those that were inferred.
    pub fn parameter_types(&self) -> Arc<[SqlType]> {
        self.last.lock().parameters.clone().unwrap_or_else(|| Arc::clone(&self.types))
    }

    /// The plan that was made last, which may be good no longer.
    pub(crate) fn last_plan(&self) -> Option<Arc<Planned>> {
        self.last.lock().planned.clone()
    }

    /// How often it ran with a plan for all values, and with one for the values it was given.
    pub fn plan_counts(&self) -> (u64, u64) {
        (self.counts.generic.load(Ordering::Relaxed), self.counts.custom.load(Ordering::Relaxed))
    }

    /// Returns the plan to run with these values of the parameters: `generic`, which is good for all values, or a custom plan for these
    /// values. `plan_cache_mode` chooses. With `auto`, the first five plans are custom plans. Custom plans go on as long as their expected
    /// average cost, planning included, is less than that of `generic`. If no value can change the plan, the result is `generic`.
    ///
    /// # Errors
    /// Errors of planning.
    pub fn plan_for(&self, state: &SessionState, generic: Arc<Planned>, values: &[Value]) -> Result<Arc<Planned>> {
        if !generic.statement.depends_on_values || !self.wants_custom_plan(state, &generic) {
            if generic.statement.lacks_arbiter {
                return Err(plan::no_arbiter());
            }
            let count = &self.counts.generic;
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            return Ok(generic);
        }
        let Some(tree) = &self.tree else { return Ok(generic) };
        let view = state.catalog();
        let environment = super::planning::Environment::new(state, &view).with_parameter_values(values);
        let environment = environment.meaning_as(generic.meaning_now(state));
        let types = generic.statement.parameters.iter().map(|sql_type| sql_type.oid).collect::<Vec<_>>();
        let custom = environment.planned(&self.text, &tree.statement, Parameters::declared(&types))?;
        let PlanCounts { custom: count, custom_cost, .. } = &self.counts;
        let cost = f64::from_bits(custom_cost.load(Ordering::Relaxed)) + cost_of(&custom) + planning_cost(&custom);
        custom_cost.store(cost.to_bits(), Ordering::Relaxed);
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        Ok(custom)
    }

    fn wants_custom_plan(&self, state: &SessionState, generic: &Planned) -> bool {
        match state.setting(Id::PlanCacheMode).word() {
            PlanCacheMode::ForceGeneric => return false,
            PlanCacheMode::ForceCustom => return true,
            PlanCacheMode::Auto => {}
        }
        let custom = self.counts.custom.load(Ordering::Relaxed);
        if generic.statement.lacks_arbiter {
            // PostgreSQL makes the plan for all values at this point, and fails.
            return custom < CUSTOM_PLANS_FIRST;
        }
        let cost = f64::from_bits(self.counts.custom_cost.load(Ordering::Relaxed));
        custom < CUSTOM_PLANS_FIRST || cost_of(generic) >= cost / custom as f64
    }

    /// A plan that is good now.
    ///
    /// # Errors
    /// Errors of binding and planning.
    pub fn plan(&self, state: &SessionState) -> Result<Arc<Planned>> {
        if let Some(planned) = self.last_plan()
            && state.is_good(&planned)
        {
            return Ok(planned);
        }
        let Some(tree) = &self.tree else { return Err(Error::internal("an empty statement has no plan")) };
        let types = self.parameter_types();
        let last = self.last_plan();
        // Others who plan the text now read it anew.
        let earlier = last.as_ref().and_then(|last| last.meaning_now(state));
        // The text of SQL's PREPARE is that of another statement: no plan may be found by it.
        let planned = if earlier.is_some() {
            let types = types.iter().map(|sql_type| sql_type.oid).collect::<Vec<_>>();
            let environment = super::planning::Environment::new(state, &state.catalog()).meaning_as(earlier);
            environment.planned(&self.text, &tree.statement, Parameters::declared(&types))
        } else if self.from_sql {
            plan_uncached(state, &self.text, tree, &types)
        } else {
            plan(state, &self.text, tree, &types)
        };
        let planned = match planned {
            // The values may be such that nothing reaches the constant.
            Err(error) if error.sqlstate().class() == "22" => {
                let rough = self.plan_roughly(state)?;
                if rough.statement.parameters.is_empty() { Err(error) } else { Ok(rough) }
            }
            planned => planned,
        }?;
        let is_query = !matches!(planned.statement.kind, plan::StatementKind::Utility(_));
        let columns =
            planned.statement.columns.iter().map(|column| (column.name.to_string(), column.sql_type)).collect();
        let mut last = self.last.lock();
        if is_query && last.columns.as_ref().is_some_and(|before| *before != columns) {
            // The client has been told the columns.
            return Err(changed_result());
        }
        last.columns = Some(columns);
        if last.parameters.is_none() {
            last.parameters = Some(match planned.statement.parameters == *self.types {
                true => Arc::clone(&self.types),
                false => planned.statement.parameters.as_slice().into(),
            });
        }
        last.planned = (!planned.statement.has_large_constants).then(|| Arc::clone(&planned));
        Ok(planned)
    }
}

/// The prepared statement of this name.
///
/// # Errors
/// 26000 if there is none.
pub(crate) fn prepared_named(state: &SessionState, name: &str) -> Result<Arc<Prepared>> {
    state.prepared.borrow().get(name).cloned().ok_or_else(|| missing::prepared_statement(name))
}

/// The expected cost of a plan.
fn cost_of(planned: &Planned) -> f64 {
    match &planned.statement.kind {
        StatementKind::Query(plan) => plan.cost,
        StatementKind::Utility(_) => 0.0,
    }
}

/// The cost of planning, as PostgreSQL guesses it: it grows with the number of tables.
fn planning_cost(planned: &Planned) -> f64 {
    1000.0 * PlannerSettings::default().costs.cpu_operator_cost * (planned.statement.locks.len() + 1) as f64
}

/// A good plan for `text`, whose parse is `tree`: from a cache, or made.
///
/// # Errors
/// Errors of binding and planning.
pub fn plan(
    state: &SessionState,
    text: &Arc<str>,
    tree: &tree::ParsedStatement,
    types: &Arc<[SqlType]>,
) -> Result<Arc<Planned>> {
    let key = Key { text: Arc::clone(text), types: Arc::clone(types) };
    if let Some(planned) = cached(state, &key) {
        return Ok(planned);
    }
    let planned = plan_uncached(state, text, tree, types)?;
    keep(state, key, &planned);
    Ok(planned)
}

/// A plan that is made without waiting for others, and kept.
///
/// # Errors
/// Errors of binding and planning.
pub fn plan_without_waiting(state: &SessionState, key: &Key, tree: &tree::ParsedStatement) -> Result<Arc<Planned>> {
    let environment = super::planning::Environment::new(state, &state.catalog());
    let types = key.types.iter().map(|sql_type| sql_type.oid).collect::<Vec<_>>();
    let planned = environment.planned_without_waiting(&key.text, &tree.statement, Parameters::declared(&types))?;
    keep(state, key.clone(), &planned);
    Ok(planned)
}

/// A plan that is not kept.
///
/// # Errors
/// Errors of binding and planning.
pub fn plan_uncached(
    state: &SessionState,
    text: &str,
    tree: &tree::ParsedStatement,
    types: &[SqlType],
) -> Result<Arc<Planned>> {
    let environment = super::planning::Environment::new(state, &state.catalog());
    let types = types.iter().map(|sql_type| sql_type.oid).collect::<Vec<_>>();
    environment.planned(text, &tree.statement, Parameters::declared(&types))
}

/// A good plan kept by this session or by all.
pub fn cached(state: &SessionState, key: &Key) -> Option<Arc<Planned>> {
    if !state.cached().standard_conforming_strings {
        // The same text means something else.
        return None;
    }
    if let Some((_, planned)) = state.plans.borrow().get(key)
        && state.is_good(planned)
    {
        return Some(Arc::clone(planned));
    }
    if !state.shares_plans() {
        return None;
    }
    let (version, search_path) = (state.engine().catalog_version(), state.plan_path());
    let planned = state.instance.plans.get(key, version, &search_path)?;
    if !state.has_snapshots_for(&planned) {
        return None;
    }
    keep_in_session(state, key.clone(), &planned);
    Some(planned)
}

fn keep(state: &SessionState, key: Key, planned: &Arc<Planned>) {
    if !planned.statement.is_cacheable || state.changed_catalog.get() || !state.cached().standard_conforming_strings {
        return;
    }
    // A plan of a deep statement ends where there is stack enough for it: with its session.
    if state.shares_plans() && !state.nests_deep.get() {
        state.instance.plans.put(key.clone(), planned);
    }
    keep_in_session(state, key, planned);
}

fn keep_in_session(state: &SessionState, key: Key, planned: &Arc<Planned>) {
    let text_bytes = key.text.len();
    state.plans.borrow_mut().put(key, text_bytes, Arc::clone(planned));
}

/// 0A000 for a plan that gives other columns than whoever prepared it was told of. Drivers that prepare statements on
/// their own know it by its routine, and prepare them again.
pub(crate) fn changed_result() -> Error {
    Error::unsupported("cached plan must not change result type").routine("RevalidateCachedQuery")
}
