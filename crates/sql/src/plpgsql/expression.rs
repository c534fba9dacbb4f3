//! Expressions and statements of a function: planned once, run with the variables as parameters.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::lock_mode::LockMode;
use base::settings::{Id, Value as Setting};
use base::{Error, Oid, Result, sqlstate};
use plan::{Meaning, Node, StatementKind, VirtualTable};
use syntax::tree::{Name, ParsedStatement, Statement};
use types::context::UserTypeKind;
use types::{CatalogLookup, SqlType, Value};

use super::embedded::gather_rows;
use super::frame::Frame;
use super::tree::{Expression, ExpressionPlan, VariableKind, find_label, find_variable_within, known_names};
use crate::state::planning::Environment;
use crate::state::{CUSTOM_PLANS_FIRST, Planned, RelationLocks, SessionState, nested, query_plan};
use crate::state::{Cursor, session_of};
use base::settings::words::PlanCacheMode;
use executor::{CallPlace, Due, Locals, OnRow, Run, StoreReader};
use planner::binder::{Parameters, VariableConflict, VariableNames};

/// The names that a function's variables have in its statements.
struct Names<'f> {
    frame: &'f Frame<'f>,
    /// Where the expression stands.
    scope: usize,
    /// See [`Expression::known`].
    known: Option<(usize, usize)>,
    /// `plpgsql.variable_conflict`
    conflict: Setting,
    /// Record fields met so far; parameters behind the variables.
    fields: RefCell<Vec<(usize, String, SqlType)>>,
    /// Records of which all fields were asked for, with the names of these.
    spread: RefCell<Vec<(usize, Vec<Name>)>>,
    /// Records without a declared type that were asked for as a whole, with the types of their rows.
    rows: RefCell<Vec<(usize, SqlType)>>,
    /// The error of the first field that its record lacks.
    missing: RefCell<Option<Error>>,
}

impl VariableNames for Names<'_> {
    fn variable(&self, parts: &[Name]) -> Option<(u32, SqlType)> {
        let value = |place: usize| {
            let sql_type = self.frame.type_of(place);
            if matches!(self.frame.function.variables[place].kind, VariableKind::Record(None)) {
                self.rows.borrow_mut().push((place, sql_type));
            }
            if let Err(error) = self.frame.whole(place) {
                self.missing.borrow_mut().get_or_insert(error);
            }
            (place as u32, sql_type)
        };
        match parts {
            [name] => self.find(name).map(value),
            [first, second] => match self.find(first) {
                Some(place) if self.is_record(place) => Some(self.field(place, second)),
                _ => self.labelled(first, second).map(value),
            },
            [label, record, field] => self.labelled(label, record).map(|place| self.field(place, field)),
            _ => None,
        }
    }

    fn is_row(&self, parts: &[Name]) -> bool {
        self.record(parts).is_some()
    }

    fn field_names(&self, parts: &[Name]) -> Option<Vec<Name>> {
        let record = self.record(parts)?;
        let Some(fields) = self.frame.fields_of(record) else {
            let error = Error::new(sqlstate::WRONG_OBJECT_TYPE, "record type has not been registered");
            self.missing.borrow_mut().get_or_insert(error);
            return Some(Vec::new());
        };
        let names: Vec<Name> = fields.iter().map(|(name, _)| Name::new(name)).collect();
        self.spread.borrow_mut().push((record, names.clone()));
        Some(names)
    }

    fn conflict(&self) -> VariableConflict {
        self.frame.function.conflict.unwrap_or_else(|| self.conflict.word())
    }
}

impl<'f> Names<'f> {
    fn new(frame: &'f Frame<'f>, expression: &Expression, state: &SessionState) -> Names<'f> {
        let Expression { scope, known, .. } = *expression;
        let (fields, spread, rows) = (RefCell::default(), RefCell::default(), RefCell::default());
        let conflict = state.setting(Id::PlpgsqlVariableConflict);
        Names { frame, scope, known, conflict, fields, spread, rows, missing: RefCell::default() }
    }

    fn is_value(&self, place: usize) -> bool {
        matches!(self.frame.function.variables[place].kind, VariableKind::Scalar(_) | VariableKind::Record(_))
    }

    fn is_record(&self, place: usize) -> bool {
        matches!(self.frame.function.variables[place].kind, VariableKind::Record(_))
    }

    fn find(&self, name: &str) -> Option<usize> {
        find_variable_within(&self.frame.function.scopes, self.scope, name, self.known)
            .filter(|place| self.is_value(*place))
    }

    /// A variable with a block's label, or the function's name, in front.
    fn labelled(&self, label: &str, name: &str) -> Option<usize> {
        let scopes = &self.frame.function.scopes;
        let scope = find_label(scopes, self.scope, label)?;
        let found = known_names(scopes, scope, self.known).iter().rev().find(|(own, _)| own == name);
        found.map(|(_, place)| *place).filter(|place| self.is_value(*place))
    }

    /// The record of this name.
    fn record(&self, parts: &[Name]) -> Option<usize> {
        let place = match parts {
            [name] => self.find(name),
            [label, name] => self.labelled(label, name),
            _ => None,
        };
        place.filter(|place| self.is_record(*place))
    }

    /// A record's field as a parameter. One that the record lacks is a parameter too, and an error of the whole.
    fn field(&self, record: usize, field: &Name) -> (u32, SqlType) {
        let sql_type = self.frame.field_type(record, field).unwrap_or_else(|| {
            if let Err(error) = self.frame.field(record, field) {
                self.missing.borrow_mut().get_or_insert(error);
            }
            SqlType::TEXT
        });
        let mut fields = self.fields.borrow_mut();
        let known = fields.iter().position(|(own, name, _)| *own == record && name == field.as_str());
        let index = known.unwrap_or_else(|| {
            fields.push((record, field.to_string(), sql_type));
            fields.len() - 1
        });
        ((self.frame.function.variables.len() + index) as u32, sql_type)
    }
}

/// A good plan for `expression`, and the parameters to run it with.
fn plan(expression: &Expression, frame: &Frame<'_>, run: &Run<'_, '_>) -> Result<ExpressionPlan> {
    // Taken out first: what follows may plan other expressions, and this one, too.
    let known = expression.plan.lock().clone();
    if let Some(plan) = known
        && session_of(run).is_good(&plan.planned)
        && plan.trigger == trigger_of(frame)
        && plan.fields.iter().all(|(record, field, sql_type)| frame.field_type(*record, field) == Some(*sql_type))
        && plan.rows.iter().all(|(record, sql_type)| frame.type_of(*record) == *sql_type)
        && frame.outdated_variables().all(|place| frame.whole(place).is_ok())
        && plan.spread.iter().all(|(record, names)| {
            let has_name = |((own, _), name): (&(String, SqlType), &Name)| own == name.as_str();
            let fields = frame.fields_of(*record).filter(|fields| fields.len() == names.len());
            fields.is_some_and(|fields| fields.iter().zip(names).all(has_name))
        })
    {
        return if plan.planned.statement.lacks_arbiter {
            plan_for_values(plan, expression, frame, run)
        } else {
            Ok(plan)
        };
    }
    let plan = plan_anew(expression, frame, run).map_err(|error| within(error, expression))?;
    if plan.planned.statement.lacks_arbiter { plan_for_values(plan, expression, frame, run) } else { Ok(plan) }
}

/// A plan for the values that the variables have, for ON CONFLICT that finds no index without them. As in PostgreSQL there are five such
/// plans, unless `plan_cache_mode` says otherwise; `generic` then fails when it is run.
#[cold]
fn plan_for_values(
    generic: ExpressionPlan,
    expression: &Expression,
    frame: &Frame<'_>,
    run: &Run<'_, '_>,
) -> Result<ExpressionPlan> {
    let is_wanted = match session_of(run).setting(Id::PlanCacheMode).word() {
        PlanCacheMode::ForceGeneric => false,
        PlanCacheMode::ForceCustom => true,
        PlanCacheMode::Auto => generic.custom_plans.load(Ordering::Relaxed) < CUSTOM_PLANS_FIRST,
    };
    if !is_wanted {
        return Ok(generic);
    }
    let tree = parsed(expression, session_of(run)).map_err(|error| within(error, expression))?;
    let values = parameters_of(&generic, frame)?;
    let plan = plan_tree(expression, &tree.statement, Some(&values), frame, run);
    let plan = plan.map_err(|error| within(error, expression))?;
    generic.custom_plans.fetch_add(1, Ordering::Relaxed);
    Ok(ExpressionPlan { custom_plans: generic.custom_plans, ..plan })
}

/// A plan once it has its locks. It is made anew if transactions that held locks on the tables have changed them.
fn locked(
    mut plan: ExpressionPlan,
    expression: &Expression,
    frame: &Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<ExpressionPlan> {
    let mut locks = RelationLocks::default();
    while !locks.take(session_of(run), &plan.planned).map_err(|error| within(error, expression))? {
        run.catalog = run.state.catalog();
        plan = self::plan(expression, frame, run)?;
    }
    run.refresh_catalog();
    Ok(plan)
}

/// See [`plan`].
fn plan_anew(expression: &Expression, frame: &Frame<'_>, run: &Run<'_, '_>) -> Result<ExpressionPlan> {
    let tree = parsed(expression, session_of(run))?;
    let plan = plan_tree(expression, &tree.statement, None, frame, run)?;
    *expression.plan.lock() = Some(plan.clone());
    Ok(plan)
}

/// The tree of an expression or a statement.
fn parsed(expression: &Expression, state: &SessionState) -> Result<ParsedStatement> {
    let options = state.parse_options();
    let mut statements = if expression.is_statement {
        syntax::parser::parse(&expression.text, options)?
    } else {
        syntax::parser::parse_plpgsql_expression(&expression.text, options)?
    };
    statements.pop().ok_or_else(|| Error::new(sqlstate::SYNTAX_ERROR, "an expression is empty"))
}

/// A plan for `tree`, which stands in an expression's text.
fn plan_tree(
    expression: &Expression,
    tree: &Statement,
    values: Option<&[Value]>,
    frame: &Frame<'_>,
    run: &Run<'_, '_>,
) -> Result<ExpressionPlan> {
    let names = Names::new(frame, expression, session_of(run));
    let types: Vec<SqlType> = (0..frame.function.variables.len()).map(|place| frame.type_of(place)).collect();
    let mut environment = environment(frame, session_of(run), expression.is_cursor).with_variables(Some(&names));
    if let Some(values) = values {
        environment = environment.with_parameter_values(values);
    }
    let known = expression.plan.lock().clone().map(|plan| plan.planned);
    let earlier = known.as_ref().and_then(|planned| planned.meaning_now(session_of(run)));
    let planned = environment.meaning_as(earlier).planned(&expression.text, tree, Parameters::fixed(types));
    // This error comes first: binding met it before any other error.
    if let Some(missing) = names.missing.take() {
        return Err(missing);
    }
    let planned = planned?;
    let (fields, spread) = (names.fields.into_inner().into(), names.spread.into_inner().into());
    let (rows, trigger) = (names.rows.into_inner().into(), trigger_of(frame));
    Ok(ExpressionPlan { planned, fields, spread, rows, trigger, custom_plans: Arc::default() })
}

/// The environment for planning a statement. It is made anew each time, as an earlier statement may have changed the catalog.
pub(super) fn environment<'e>(frame: &'e Frame<'_>, state: &'e SessionState, is_cursor: bool) -> Environment<'e> {
    let environment = Environment::new(state, &state.catalog());
    environment.with_transition_tables(transition_tables(frame)).with_row_places(is_cursor)
}

/// The trigger whose transition tables can be read.
fn trigger_of(frame: &Frame<'_>) -> Option<Oid> {
    frame.transition_tables.as_ref().map(|(trigger, _)| *trigger)
}

/// The tables that can be read besides those of the catalog.
fn transition_tables<'f>(frame: &'f Frame<'_>) -> &'f [Arc<VirtualTable>] {
    frame.transition_tables.as_ref().map_or(&[], |(_, tables)| tables)
}

/// An error of a text that is part of a function: it points into that text, or else its context names the text.
pub fn in_text(mut error: Error, what: &str, text: &str) -> Error {
    let fields = error.fields_mut();
    match fields.position.take() {
        Some(position) => {
            fields.internal_position = Some(position);
            fields.internal_query = Some(text.to_owned());
            error
        }
        None => error.context(format!("{what} \"{text}\"")),
    }
}

/// The same for an expression or statement of the body.
pub fn within(error: Error, expression: &Expression) -> Error {
    let (what, text) = described(expression);
    in_text(error, what, text)
}

/// The words for an expression in error contexts, and its text there.
fn described(expression: &Expression) -> (&'static str, &Arc<str>) {
    match &expression.assignment {
        Some(text) => ("PL/pgSQL assignment", text),
        None if expression.is_statement => ("SQL statement", &expression.text),
        None => ("SQL expression", &expression.text),
    }
}

/// Runs `work`, what is told meanwhile having this statement of the function in its context.
pub(super) fn told_from<T>(
    frame: &Frame<'_>,
    statement: Option<(&'static str, &Arc<str>)>,
    run: &mut Run<'_, '_>,
    work: impl FnOnce(&mut Run<'_, '_>) -> Result<T>,
) -> Result<T> {
    let state = session_of(run);
    let function = Arc::clone(&frame.function.signature);
    let statement = statement.map(|(what, text)| (what, Arc::clone(text)));
    let place = Some((function, frame.line, frame.activity));
    state.calls.borrow_mut().push(CallPlace { place, statement });
    let result = work(run);
    state.calls.borrow_mut().pop();
    result
}

/// The parameters of `plan`: the variables, and the record fields it reads.
fn parameters_of<'f>(plan: &ExpressionPlan, frame: &'f Frame<'_>) -> Result<Cow<'f, [Value]>> {
    if plan.fields.is_empty() && frame.outdated_variables().next().is_none() {
        return Ok(Cow::Borrowed(&frame.values));
    }
    let mut parameters = values_of(frame);
    for (record, field, _) in plan.fields.iter() {
        parameters.push(frame.field(*record, field)?);
    }
    Ok(Cow::Owned(parameters))
}

/// The values of the variables, with rows as their types are now. No plan reads a variable whose conversion is unclear.
fn values_of(frame: &Frame<'_>) -> Vec<Value> {
    let mut values = frame.values.clone();
    for place in frame.outdated_variables() {
        if let Ok(value) = frame.whole(place) {
            values[place] = value;
        }
    }
    values
}

/// Whether an expression is a constant: what casting it raises arises before anything is run.
pub fn is_constant(expression: &Expression) -> bool {
    let plan = expression.plan.lock().clone();
    let tree = plan.as_ref().and_then(|plan| query_plan(&plan.planned).ok());
    tree.is_some_and(
        |tree| matches!(&tree.node, Node::Result { exprs, .. } if matches!(exprs[0].kind, plan::ExprKind::Constant(_))),
    )
}

/// The label of an enum that a constant was when it was assigned before, until its text is to be read again.
pub(super) fn kept_label(expression: &Expression, target: SqlType, run: &Run<'_, '_>) -> Option<Value> {
    let kept = expression.label.lock().clone();
    let (sql_type, label, meaning) = kept?;
    (sql_type == target && meaning.holds(run.catalog.catalog())).then_some(label)
}

/// Keeps what a constant is as a value of an enum.
pub(super) fn keep_label(expression: &Expression, target: SqlType, label: &Value, run: &Run<'_, '_>) {
    let user_type = run.catalog.user_type(target.oid);
    if is_constant(expression) && user_type.is_some_and(|made| matches!(made.kind, UserTypeKind::Enum(_))) {
        let mut meaning = Meaning::default();
        meaning.note_literal(0, target, label);
        let meaning = meaning.finished(run.catalog.catalog(), std::iter::empty());
        *expression.label.lock() = meaning.map(|meaning| (target, label.clone(), meaning));
    }
}

/// Whether an expression is run as a query, and not worked out on the spot.
pub fn is_query(expression: &Expression) -> bool {
    let plan = expression.plan.lock().clone();
    plan.is_some_and(|plan| {
        let is_result =
            query_plan(&plan.planned).is_ok_and(|tree| matches!(&tree.node, Node::Result { condition: None, .. }));
        !is_result || plan.planned.statement.subquery_count > 0
    })
}

/// The value of an expression, and its type.
///
/// # Errors
/// Errors of the expression; 42601 if it does not give one column, 21000 if it gives several rows.
pub fn evaluate(expression: &Expression, frame: &Frame<'_>, run: &mut Run<'_, '_>) -> Result<(Value, SqlType)> {
    let mut plan = plan(expression, frame, run)?;
    let is_on_the_spot = |plan: &ExpressionPlan| -> Result<bool> {
        let is_result = matches!(&query_plan(&plan.planned)?.node, Node::Result { condition: None, .. });
        // Whether it may be run at all is asked together with the locks.
        let statement = &plan.planned.statement;
        Ok(is_result && statement.subquery_count == 0 && statement.access.is_empty())
    };
    if !is_on_the_spot(&plan)? {
        plan = locked(plan, expression, frame, run)?;
    }
    let sql_type = match plan.planned.description.columns.as_slice() {
        [column] => column.sql_type,
        columns => {
            let plural = if columns.len() == 1 { "" } else { "s" };
            let message = format!("query returned {} column{plural}", columns.len());
            return Err(Error::new(sqlstate::SYNTAX_ERROR, message).context(format!("query: {}", expression.text)));
        }
    };
    let tree = query_plan(&plan.planned)?;
    // Without a table in it, an expression is worked out on the spot.
    if let Node::Result { exprs, condition: None } = &tree.node
        && plan.planned.statement.subquery_count == 0
    {
        let parameters = parameters_of(&plan, frame).map_err(|error| within(error, expression))?;
        let work = |run: &mut Run<'_, '_>| {
            let mut locals = Locals::new(&plan.planned.statement);
            let mut inner = run.with_locals(&parameters, &mut locals);
            executor::evaluate(&exprs[0], &[], &mut inner)
        };
        let value = if may_tell(&exprs[0]) { seeing_changes(frame, run, work) } else { work(run) }?;
        return Ok((value, sql_type));
    }
    let mut value = None;
    let called = Some(described(expression));
    let count = told_from(frame, called, run, |run| {
        refuse_change(&plan.planned, frame)?;
        run_plan(&plan, frame, run, &mut |_, row| {
            if value.is_some() {
                return Err(Error::new(
                    sqlstate::CARDINALITY_VIOLATION,
                    format!("query \"{}\" returned more than one row", expression.text),
                ));
            }
            value = Some(row[0].clone());
            Ok(ControlFlow::Continue(()))
        })
    })
    .map_err(|error| within(error, expression))?;
    frame.row_count.set(count);
    Ok((value.unwrap_or_default(), sql_type))
}

/// Evaluates what calls functions. One that is not volatile sees what this function has changed, unless this one isn't either.
fn seeing_changes<T>(
    frame: &Frame<'_>,
    run: &mut Run<'_, '_>,
    work: impl FnOnce(&mut Run<'_, '_>) -> Result<T>,
) -> Result<T> {
    if !frame.function.is_volatile {
        return told_from(frame, None, run, work);
    }
    let state = session_of(run);
    state.engine().push_snapshot()?;
    let result = told_from(frame, None, run, work);
    state.engine().pop_snapshot();
    result
}

/// Whether an expression calls a function of somebody's, which may tell the client something.
fn may_tell(expr: &plan::Expr) -> bool {
    expr.any(&|inner| {
        matches!(&inner.kind, plan::ExprKind::Call(call) if matches!(call.function, plan::FunctionTarget::Stored(_)))
    })
}

fn run_plan(plan: &ExpressionPlan, frame: &Frame<'_>, run: &mut Run<'_, '_>, on_row: &mut OnRow<'_>) -> Result<u64> {
    let state = session_of(run);
    if frame.function.is_volatile {
        state.engine().push_snapshot()?;
    }
    let first_check = state.next_check.get();
    let result = parameters_of(plan, frame)
        .and_then(|parameters| nested::run(run, &plan.planned, &parameters, on_row))
        .and_then(|count| {
            executor::run_pending_checks(state, Due::Statement(first_check), &mut *run.client)?;
            Ok(count)
        });
    if frame.function.is_volatile {
        state.engine().pop_snapshot();
    }
    result
}

/// Runs a statement and passes its rows to `on_row`. Before that, `on_plan` is given the plan, which describes the columns. The
/// number of rows.
///
/// # Errors
/// Errors of the statement.
pub fn run_statement(
    expression: &Expression,
    frame: &Frame<'_>,
    run: &mut Run<'_, '_>,
    on_plan: &mut dyn FnMut(&Arc<Planned>) -> Result<()>,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    let plan = plan(expression, frame, run)?;
    if let StatementKind::Utility(utility) = &plan.planned.statement.kind {
        if matches!(**utility, Statement::Transaction(_)) {
            return Err(Error::unsupported("unsupported transaction command in PL/pgSQL"));
        }
        on_plan(&plan.planned)?;
        let text = &expression.text;
        let source = match &**utility {
            Statement::CreateTableAs(create) if !matches!(create.source, Statement::Execute(_)) => Some(&create.source),
            Statement::Explain(explain) => match &explain.statement {
                Statement::CreateTableAs(create) if create.source.has_plan() => Some(&create.source),
                statement => Some(statement).filter(|statement| statement.has_plan()),
            },
            _ => None,
        };
        let made_of = match source {
            // Its query may read variables.
            Some(source) => {
                let mut locks = RelationLocks::default();
                let plan = loop {
                    let plan =
                        plan_tree(expression, source, None, frame, run).map_err(|error| within(error, expression))?;
                    if locks.take(session_of(run), &plan.planned).map_err(|error| within(error, expression))? {
                        break plan;
                    }
                };
                let parameters = parameters_of(&plan, frame).map_err(|error| within(error, expression))?.into_owned();
                Some((plan.planned, parameters))
            }
            None => None,
        };
        let result = parameters_of(&plan, frame).and_then(|parameters| {
            told_from(frame, Some(described(expression)), run, |run| match (&**utility, made_of) {
                (Statement::CreateTableAs(create), Some((planned, parameters))) => {
                    let state = session_of(run);
                    let client = &mut *run.client;
                    let output = crate::commands::create_table_as(state, create, planned, parameters, text, client)?;
                    run.catalog = state.catalog();
                    Ok(count_in(&output.tag))
                }
                (Statement::Explain(_), Some((planned, parameters))) => {
                    let names = Names::new(frame, expression, session_of(run));
                    run_utility(utility, &planned, text, (&parameters, Some(&names)), frame, run, on_row)
                }
                (Statement::Do { .. }, _) if super::transaction::may_be_ended_below(frame, run) => {
                    let state = session_of(run);
                    state.may_end_transaction.set(true);
                    let result = run_utility(utility, &plan.planned, text, (&parameters, None), frame, run, on_row);
                    state.may_end_transaction.set(false);
                    super::transaction::refresh(run);
                    result
                }
                _ => run_utility(utility, &plan.planned, text, (&parameters, None), frame, run, on_row),
            })
        });
        return result.map_err(|error| within(error, expression));
    }
    let plan = locked(plan, expression, frame, run)?;
    on_plan(&plan.planned)?;
    refuse_change(&plan.planned, frame).map_err(|error| within(error, expression))?;
    told_from(frame, Some(described(expression)), run, |run| run_plan(&plan, frame, run, on_row))
        .map_err(|error| within(error, expression))
}

/// 0A000 for a statement that changes or locks rows in a function that promised not to.
pub(super) fn refuse_change(planned: &Planned, frame: &Frame<'_>) -> Result<()> {
    if frame.function.is_volatile {
        return Ok(());
    }
    match executor::changing_tag(&planned.statement) {
        Some(what) => Err(Error::unsupported(format!("{what} is not allowed in a non-volatile function"))),
        None => Ok(()),
    }
}

/// The number at a tag's end.
fn count_in(tag: &str) -> u64 {
    tag.rsplit(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// The procedure that a CALL names, its arguments, and the parameters to work them out with.
///
/// # Errors
/// 42883 if there is none, 42809 if it is a function.
pub fn bind_call(
    expression: &Expression,
    call: &syntax::tree::FunctionCall,
    frame: &Frame<'_>,
    run: &Run<'_, '_>,
) -> Result<(Arc<schema::catalog::FunctionDef>, Vec<plan::Expr>, Vec<Value>)> {
    let names = Names::new(frame, expression, session_of(run));
    let types: Vec<SqlType> = (0..frame.function.variables.len()).map(|place| frame.type_of(place)).collect();
    let view = run.state.catalog();
    let trimmed = crate::commands::without_outputs(session_of(run), call);
    let environment = Environment::new(session_of(run), &view).with_variables(Some(&names));
    let bind = |call: &syntax::tree::FunctionCall| {
        environment.with_rights(&expression.text, |context| {
            planner::binder::procedure_call(context, call, &mut Parameters::fixed(types.clone()))
        })
    };
    let bound = bind(trimmed.as_ref().unwrap_or(call)).or_else(|error| match &trimmed {
        // It has the types of all arguments, those for outputs included.
        Some(_) if error.sqlstate() == sqlstate::UNDEFINED_FUNCTION => bind(call),
        _ => Err(error),
    });
    let (function, arguments) = bound.map_err(|error| within(names.missing.take().unwrap_or(error), expression))?;
    if let Some(missing) = names.missing.take() {
        return Err(within(missing, expression));
    }
    let mut parameters = values_of(frame);
    for (record, field, _) in names.fields.into_inner() {
        parameters.push(frame.field(record, &field)?);
    }
    run.state.require_call(&function)?;
    Ok((function, arguments, parameters))
}

/// Runs `work` as the call of a procedure by this statement.
///
/// # Errors
/// Those of `work`, with the statement in their context.
pub fn as_call<T>(
    expression: &Expression,
    frame: &Frame<'_>,
    run: &mut Run<'_, '_>,
    work: impl FnOnce(&mut Run<'_, '_>) -> Result<T>,
) -> Result<T> {
    told_from(frame, Some(described(expression)), run, work).map_err(|error| within(error, expression))
}

/// Runs a utility statement, which may read `variables`; the number of rows it gave or changed.
pub(super) fn run_utility(
    utility: &Statement,
    planned: &Arc<Planned>,
    text: &Arc<str>,
    (parameters, variables): (&[Value], Option<&dyn VariableNames>),
    frame: &Frame<'_>,
    run: &mut Run<'_, '_>,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    if !frame.function.is_volatile {
        let tag = crate::commands::facts(utility).tag;
        return Err(Error::unsupported(format!("{tag} is not allowed in a non-volatile function")));
    }
    let state = session_of(run);
    let output = crate::commands::run_nested(state, utility, planned, text, parameters, variables, &mut *run.client)?;
    run.relieve()?;
    // Later statements see the objects that it made.
    run.catalog = state.catalog();
    // The count in the tag of FETCH or MOVE is not used: only rows given below count.
    let mut count = if matches!(utility, Statement::Fetch(_)) { 0 } else { count_in(&output.tag) };
    let mut rows = output.rows.unwrap_or_default();
    rows.flush()?;
    let mut reader = StoreReader::default();
    for index in 0..rows.len() {
        count += 1;
        if on_row(run, reader.read(&rows, index)?)?.is_break() {
            break;
        }
    }
    Ok(count)
}

/// A statement whose plan gives no rows can't be a cursor's: 42P11 if that is so.
pub(super) fn require_rows(planned: &Planned) -> Result<()> {
    if planned.gives_rows() {
        return Ok(());
    }
    let message = format!("cannot open {} query as cursor", query_name(planned));
    Err(Error::new(sqlstate::INVALID_CURSOR_DEFINITION, message))
}

/// The words for a statement in messages about the rows that it doesn't give.
pub(super) fn query_name(planned: &Planned) -> String {
    match (&planned.statement.kind, planned.statement.command) {
        (StatementKind::Utility(utility), _) => crate::commands::facts(utility).tag.into_owned(),
        (StatementKind::Query(_), command) => command.name().into(),
    }
}

/// 0A000 for a scrollable cursor whose query locks rows.
pub(super) fn refuse_scroll(planned: &Planned, scroll: Option<bool>) -> Result<()> {
    let locks_rows = || planned.statement.locks.iter().any(|(_, mode)| *mode == LockMode::RowShare);
    if scroll != Some(true) || !planned.statement.is_read_only || !locks_rows() {
        return Ok(());
    }
    Err(Error::unsupported("DECLARE SCROLL CURSOR ... FOR UPDATE/SHARE is not supported")
        .detail("Scrollable cursors must be READ ONLY."))
}

/// Opens a cursor over a planned query whose locks are taken.
pub(super) fn open_planned(
    planned: &Arc<Planned>,
    parameters: Vec<Value>,
    scroll: Option<bool>,
    frame: &Frame<'_>,
    run: &Run<'_, '_>,
) -> Result<Cursor> {
    Cursor::of_function(session_of(run), planned, parameters, scroll, frame.function.is_volatile)
}

/// Opens a cursor over a statement of the body, which gives its rows as they are wanted; those of a utility statement are there at once.
///
/// # Errors
/// Those of planning it and of taking its locks; 42P11 if it gives no rows.
pub fn open_statement(
    expression: &Expression,
    scroll: Option<bool>,
    frame: &Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<Cursor> {
    let plan = plan(expression, frame, run)?;
    require_rows(&plan.planned)?;
    if matches!(plan.planned.statement.kind, StatementKind::Utility(_)) {
        let gathered = gather_rows(run, |run, on_plan, on_row| run_statement(expression, frame, run, on_plan, on_row))?;
        return Ok(Cursor::of_rows(plan.planned, gathered.1, scroll.or(Some(false))));
    }
    let plan = locked(plan, expression, frame, run)?;
    let open = |run: &mut Run<'_, '_>| {
        refuse_scroll(&plan.planned, scroll)?;
        refuse_change(&plan.planned, frame)?;
        open_planned(&plan.planned, parameters_of(&plan, frame)?.into_owned(), scroll, frame, run)
    };
    told_from(frame, Some(described(expression)), run, open).map_err(|error| within(error, expression))
}
