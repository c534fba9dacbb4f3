//! The parts of a session that binding, planning and the reading of literals use.

use std::cell::RefCell;
use std::sync::Arc;

use base::lock_mode::{LockMode, WaitPolicy};
use base::settings::Id;
use base::{Error, Lsn, Oid, Result, sqlstate};
use plan::privileges::Access;
use plan::{CatalogView, Meaning, PlannerCosts, VirtualTable};
use schema::catalog::TableDef;
use syntax::parser::no_stack;
use types::random::RandomState;
use types::{CatalogLookup, EvalContext, FormatSettings, Value};

use super::plan_cache::Planned;
use super::session_state::SessionState;
use executor::client::{Client, OutgoingRow, Severity};
use executor::{Locals, Run, evaluate};
use planner::binder::{BindContext, Parameters, PlannerSettings, Resolved, VariableNames};
use planner::domain;

/// A session as the planner sees it.
pub struct Environment<'a> {
    state: &'a SessionState,
    view: CatalogView,
    variables: Option<&'a dyn VariableNames>,
    transition_tables: &'a [Arc<VirtualTable>],
    keeps_row_places: bool,
    stored_query_of: Option<Arc<TableDef>>,
    resolved: Option<&'a RefCell<Resolved>>,
    leaves_views_closed: bool,
    errors_wait: bool,
    parameter_values: Option<&'a [Value]>,
    earlier: Option<&'a Meaning>,
    /// The relations that the last statement named, if it was found to be wrong.
    named_relations: RefCell<Vec<(Oid, LockMode)>>,
}

/// Classes of the SQLSTATEs of errors that may be gone once a relation has changed.
const CLASSES_OF_WRONG_STATEMENTS: &[&str] = &["0A", "22", "42", "55"];

impl<'a> Environment<'a> {
    /// The session `state` with the catalog `view`.
    pub fn new(state: &'a SessionState, view: &CatalogView) -> Environment<'a> {
        Environment {
            state,
            view: view.clone(),
            variables: None,
            transition_tables: &[],
            keeps_row_places: false,
            stored_query_of: None,
            resolved: None,
            leaves_views_closed: false,
            errors_wait: false,
            parameter_values: None,
            earlier: None,
            named_relations: RefCell::default(),
        }
    }

    /// The text means what it meant when it was planned before.
    #[must_use]
    pub fn meaning_as(mut self, earlier: Option<&'a Meaning>) -> Environment<'a> {
        self.earlier = earlier;
        self
    }

    /// Constants that can't be computed are no errors yet: they are when the statement runs.
    #[must_use]
    pub fn with_errors_waiting(mut self) -> Environment<'a> {
        self.errors_wait = true;
        self
    }

    /// Plans are made for these values of the parameters alone.
    #[must_use]
    pub fn with_parameter_values(mut self, values: &'a [Value]) -> Environment<'a> {
        self.parameter_values = Some(values);
        self
    }

    /// Views are bound as tables: the queries of those that a text names matter to its plan, and not to what it uses itself.
    #[must_use]
    pub fn leaving_views_closed(mut self) -> Environment<'a> {
        self.leaves_views_closed = true;
        self
    }

    /// Records in `resolved` which objects the names stand for.
    #[must_use]
    pub fn taking_down(mut self, resolved: &'a RefCell<Resolved>) -> Environment<'a> {
        self.resolved = Some(resolved);
        self
    }

    /// For a view's stored query: its names mean what they meant when it was made.
    #[must_use]
    pub fn for_query_of(mut self, view: &Arc<TableDef>) -> Environment<'a> {
        self.view = self.view.for_stored_text().clone();
        self.stored_query_of = Some(Arc::clone(view));
        self
    }

    /// With names of a function's variables.
    #[must_use]
    pub fn with_variables(mut self, variables: Option<&'a dyn VariableNames>) -> Environment<'a> {
        self.variables = variables;
        self
    }

    /// With tables that a trigger's function can read besides those of the catalog.
    #[must_use]
    pub fn with_transition_tables(mut self, tables: &'a [Arc<VirtualTable>]) -> Environment<'a> {
        self.transition_tables = tables;
        self
    }

    /// For a cursor, on request: its rows tell where they come from.
    #[must_use]
    pub fn with_row_places(mut self, keeps_row_places: bool) -> Environment<'a> {
        self.keeps_row_places = keeps_row_places;
        self
    }

    /// The catalog.
    pub fn view(&self) -> &CatalogView {
        &self.view
    }

    /// Returns the context in which literals are read.
    pub fn eval_context(&self) -> SessionEval<'a> {
        SessionEval { state: self.state, view: self.view.clone(), format: self.state.format(), random: None }
    }

    /// Binds and plans a statement that stands in `text`.
    ///
    /// # Errors
    /// Errors of binding and planning.
    pub fn plan(
        &self,
        text: &str,
        statement: &syntax::tree::Statement,
        mut parameters: Parameters,
    ) -> Result<plan::Statement> {
        self.with_context(text, |context| planner::plan_statement(statement, context, &mut parameters))
    }

    /// The same, ready to be run. If planning fails, other transactions may be changing the relations that the statement names. So it locks
    /// these relations, which waits for the others, and plans again if the catalog has changed. (A plan that was made waits for its locks in
    /// [`RelationLocks`](super::relation_locks::RelationLocks).)
    ///
    /// # Errors
    /// Errors of binding, planning and waiting for locks.
    pub fn planned(
        &self,
        text: &str,
        statement: &syntax::tree::Statement,
        parameters: Parameters,
    ) -> Result<Arc<Planned>> {
        let mut locked = Vec::new();
        let mut planned = self.planned_without_waiting(text, statement, parameters.clone());
        let mut named = self.named_relations.take();
        let mut version = self.view.catalog().version();
        while let Err(error) = &planned
            && CLASSES_OF_WRONG_STATEMENTS.contains(&error.sqlstate().class())
            && let Some(view) = self.catalog_under_locks(named, &mut locked, version)?
        {
            version = view.catalog().version();
            let environment = self.with_view(view);
            planned = environment.planned_without_waiting(text, statement, parameters.clone());
            named = environment.named_relations.take();
        }
        planned
    }

    /// Locks relations that are not locked yet. Returns the catalog after that, if it is not the one of `version`.
    fn catalog_under_locks(
        &self,
        named: Vec<(Oid, LockMode)>,
        locked: &mut Vec<(Oid, LockMode)>,
        version: u64,
    ) -> Result<Option<CatalogView>> {
        let before = locked.len();
        for lock in named {
            if !locked.contains(&lock) {
                self.state.engine().lock_relation(lock.0, lock.1, WaitPolicy::Block)?;
                locked.push(lock);
            }
        }
        let has_changed = version != self.state.engine().catalog_version();
        Ok((locked.len() > before && has_changed).then(|| self.state.catalog()))
    }

    /// The same environment with another state of the catalog.
    fn with_view(&self, view: CatalogView) -> Environment<'a> {
        Environment {
            view,
            stored_query_of: self.stored_query_of.clone(),
            named_relations: RefCell::default(),
            ..*self
        }
    }

    /// As [`Environment::planned`], by the catalog as it is, without waiting. A statement that is too deep for this stack, as views over views
    /// may be, is planned on a further one.
    pub fn planned_without_waiting(
        &self,
        text: &str,
        statement: &syntax::tree::Statement,
        parameters: Parameters,
    ) -> Result<Arc<Planned>> {
        match self.planned_here(text, statement, parameters.clone()) {
            Err(error) if error.sqlstate() == sqlstate::STATEMENT_TOO_COMPLEX && !sync::is_on_further_stack() => {
                self.state.nests_deep.set(true);
                self.state.warnings.forget();
                let plan = || self.planned_here(text, statement, parameters);
                sync::on_further_stack(plan).map_err(|_| no_stack())?
            }
            planned => planned,
        }
    }

    fn planned_here(
        &self,
        text: &str,
        statement: &syntax::tree::Statement,
        parameters: Parameters,
    ) -> Result<Arc<Planned>> {
        let tree = statement;
        let mut statement = self.plan(text, tree, parameters)?;
        let mut gives_rows = false;
        if let Some(shape) =
            (self.state.instance.callbacks.session_columns)(self.state, text, tree, &statement.parameters)?
        {
            (statement.columns, gives_rows) = (shape.columns, shape.gives_rows);
        }
        Ok(Arc::new(Planned::new(statement, gives_rows, Arc::clone(self.view.plan_path()), &self.view)))
    }

    /// Runs `work` with a context for the binder and the planner. Errors point into `text`.
    ///
    /// # Errors
    /// Errors of `work`.
    pub fn with_context<T>(&self, text: &str, work: impl FnOnce(&mut BindContext<'_>) -> Result<T>) -> Result<T> {
        self.bind(text, work).map(|(result, _)| result)
    }

    /// As [`Environment::with_context`], for expressions that are evaluated without a plan: the acting role needs the privileges.
    ///
    /// # Errors
    /// Errors of `work`; 42501.
    pub fn with_rights<T>(&self, text: &str, work: impl FnOnce(&mut BindContext<'_>) -> Result<T>) -> Result<T> {
        let (result, needed) = self.bind(text, work)?;
        self.state.require_all(&needed)?;
        Ok(result)
    }

    /// Returns the result of `work`. Also returns the privileges that expressions need which `work` has bound alone, outside a statement.
    ///
    /// # Errors
    /// Errors of `work`.
    pub fn bind<T>(
        &self,
        text: &str,
        work: impl FnOnce(&mut BindContext<'_>) -> Result<T>,
    ) -> Result<(T, Vec<Access>)> {
        let mut eval = self.eval_context();
        let mut context = BindContext {
            catalog: self.view.catalog(),
            system: self.view.system(),
            lookup: &self.view,
            stored_lookup: self.view.for_stored_text(),
            body_lookup: self.view.for_bodies(),
            body_path: self.view.for_bodies().path(),
            eval: &mut eval,
            search_path: self.view.path(),
            temporary_schema: self.state.temporary_schema.get(),
            variables: self.variables,
            transition_tables: self.transition_tables,
            database: self.state.database_name(),
            text,
            text_is_stored: self.view.is_for_stored_text(),
            stored_query_of: self.stored_query_of.clone(),
            resolved: self.resolved,
            leaves_views_closed: self.leaves_views_closed,
            meaning: Meaning::default(),
            earlier: self.earlier,
            parameter_values: self.parameter_values,
            settings: PlannerSettings {
                keeps_row_places: self.keeps_row_places,
                errors_wait: self.errors_wait,
                ..planner_settings(self.state)
            },
            needed: Vec::new(),
            named_relations: Vec::new(),
        };
        let result = work(&mut context)
            .inspect_err(|_| *self.named_relations.borrow_mut() = std::mem::take(&mut context.named_relations))?;
        Ok((result, context.needed))
    }
}

fn planner_settings(state: &SessionState) -> PlannerSettings {
    let is_on = |id: Id| state.setting(id).as_bool();
    PlannerSettings {
        oldest_snapshot: state.engine().oldest_snapshot(),
        enable_seqscan: is_on(Id::EnableSeqscan),
        enable_indexscan: is_on(Id::EnableIndexscan),
        enable_hashjoin: is_on(Id::EnableHashjoin),
        enable_mergejoin: is_on(Id::EnableMergejoin),
        enable_nestloop: is_on(Id::EnableNestloop),
        enable_sort: is_on(Id::EnableSort),
        transform_null_equals: is_on(Id::TransformNullEquals),
        standard_conforming_strings: state.parse_options().standard_conforming_strings,
        in_replica: state.is_in_replica(),
        costs: PlannerCosts::of(&state.settings.borrow()),
        ..PlannerSettings::default()
    }
}

/// Evaluation outside of a running statement: literals, parameters, constants.
pub struct SessionEval<'a> {
    state: &'a SessionState,
    view: CatalogView,
    format: Arc<FormatSettings>,
    random: Option<RandomState>,
}

impl Drop for SessionEval<'_> {
    fn drop(&mut self) {
        if let Some(random) = self.random.take() {
            self.state.put_random(random);
        }
    }
}

/// Collects notices of functions while a literal is read: warnings are sent later.
struct Aside<'a> {
    state: &'a SessionState,
}

impl Client for Aside<'_> {
    /// The session knows the commits that it has met, too, and tells the client.
    fn require(&mut self, _lsn: Lsn) {}

    fn row(&mut self, _row: &OutgoingRow<'_>) -> Result<()> {
        Ok(())
    }

    fn notice(&mut self, severity: Severity, notice: &Error) {
        if severity == Severity::Warning {
            self.state.warnings.note(notice.clone());
        }
    }

    fn error(&mut self, _error: &Error) {}

    fn parameter_status(&mut self, _name: &str, _value: &str) {}

    fn notification(&mut self, _pid: i32, _channel: &str, _payload: &str) {}

    fn read_copy_data(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn relieve(&mut self) -> Result<()> {
        Ok(())
    }
}

impl EvalContext for SessionEval<'_> {
    fn format(&self) -> &FormatSettings {
        &self.format
    }

    fn catalog(&self) -> &dyn CatalogLookup {
        &self.view
    }

    fn transaction_timestamp(&self) -> i64 {
        self.state.transaction_timestamp.get()
    }

    fn statement_timestamp(&self) -> i64 {
        self.state.statement_timestamp.get()
    }

    fn check_domain(&mut self, domain: Oid, value: &Value) -> Result<()> {
        let state = self.state;
        domain::check_literal(&self.view, domain, value, &mut |check| {
            state.require_all(&check.needed)?;
            let mut locals = Locals::for_expression();
            let mut client = Aside { state };
            let mut run = Run::new(state, &mut client, std::slice::from_ref(value), &mut locals);
            evaluate(&check.condition, &[], &mut run)
        })
    }

    fn is_new_label(&self, key: i64) -> bool {
        self.state.new_labels.borrow().contains(&key)
    }

    fn warn(&mut self, warning: Error) {
        self.state.warnings.note(warning);
    }

    fn random(&mut self) -> &mut RandomState {
        self.random.get_or_insert_with(|| self.state.take_random())
    }
}
