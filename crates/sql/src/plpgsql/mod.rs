//! PL/pgSQL: functions compiled once a session, their statements planned once each.

mod call;
mod compile;
mod conditions;
mod cursors;
mod dynamic;
mod element;
mod embedded;
mod expression;
mod frame;
mod interpret;
mod loops;
mod parse;
mod raise;
mod records;
mod results;
mod return_names;
mod row_types;
mod statements;
mod transaction;
mod tree;
mod trigger;
mod types_of;

use std::sync::Arc;

use base::{Error, Oid, Result, missing, sqlstate};
use frame::Frame;
use interpret::{Flow, leaving, run_block};
use plan::CatalogView;
use results::outputs;
use rustc_hash::FxHashMap;
use schema::catalog::FunctionDef;
use tree::{Function, VariableKind};
use types::{CallTypes, EvalContext, ReadyRows, SqlType, Value, ValueStream, oids};

use crate::state::ready_functions::Kept;
use crate::state::{Language, SessionState, session_of};
use executor::client::Severity;
use executor::{RowStore, Run, StoreReader, cast_for_assignment};
use planner::routine::concrete;
pub use trigger::call_trigger;

/// The language `plpgsql`.
pub(crate) struct PlPgSql;

impl Language for PlPgSql {
    fn name(&self) -> &'static str {
        "plpgsql"
    }

    fn check_types(&self, _: &FunctionDef, _: &CatalogView) -> Result<()> {
        Ok(())
    }

    fn check_body(&self, _: &SessionState, view: &CatalogView, function: &FunctionDef) -> Result<Vec<Error>> {
        check(function, view)
    }

    fn run_block(&self, run: &mut Run<'_, '_>, body: &str) -> Result<()> {
        run_anonymous(run, body)
    }
}

/// The functions that a session has compiled.
#[derive(Default)]
struct CompiledFunctions(FxHashMap<Oid, Arc<Compiled>>);

impl Kept for CompiledFunctions {
    const PLACE: usize = 1;
}

/// A function a session has compiled, with the definition it was compiled from.
struct Compiled {
    definition: Arc<FunctionDef>,
    function: Function,
    /// The catalog that it was compiled under, if it has variables or a result of a row type: the type's columns may change.
    catalog_version: Option<u64>,
}

impl Compiled {
    /// Whether it is what compiling `definition` now would give.
    fn is_good(&self, definition: &Arc<FunctionDef>, state: &SessionState) -> bool {
        (Arc::ptr_eq(&self.definition, definition) || self.definition == *definition)
            && self.catalog_version.is_none_or(|version| version == state.engine().catalog_version())
    }
}

/// Calls a stored function for its one value.
///
/// # Errors
/// Errors of the function, with the place in their context; 2F005 if it ends without RETURN.
pub fn call(
    run: &mut Run<'_, '_>,
    function: &Arc<FunctionDef>,
    types: &CallTypes,
    arguments: &[Value],
) -> Result<Value> {
    if function.strict && arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    if function.security_definer || !function.settings.is_empty() || function.language != "plpgsql" {
        session_of(run).may_end_transaction.set(false);
    }
    run.in_function(|run| {
        with_rights(run, function, |run| match function.language.as_str() {
            "plpgsql" => with_settings(run, function, |run| {
                let compiled = compiled(run, function, types)?;
                let (value, _) = execute(&compiled.function, arguments, run)?;
                Ok(value)
            }),
            "sql" => with_settings(run, function, |run| {
                let definition = concrete(function, types, &run.catalog);
                let rows = crate::sql_function::run(run, definition.as_ref().unwrap_or(function), arguments, true)?;
                Ok(rows.into_iter().next().unwrap_or_default())
            }),
            other => Err(missing::language(other)),
        })
    })
}

/// Runs a function's body with the rights that count there: its owner's, if it is SECURITY DEFINER.
fn with_rights<'a, 'p, T>(
    run: &mut Run<'a, 'p>,
    function: &FunctionDef,
    body: impl FnOnce(&mut Run<'a, 'p>) -> Result<T>,
) -> Result<T> {
    if !function.security_definer {
        return body(run);
    }
    let state = session_of(run);
    let result = state.acting_as(function.owner, || {
        // Names mean what they mean to the owner.
        run.catalog = state.catalog();
        body(run)
    });
    run.catalog = state.catalog();
    result
}

/// Calls a stored function for its set of values.
///
/// # Errors
/// As [`call`].
pub fn call_set(
    run: &mut Run<'_, '_>,
    function: &Arc<FunctionDef>,
    types: &CallTypes,
    arguments: &[Value],
) -> Result<Box<dyn ValueStream>> {
    if function.strict && arguments.iter().any(Value::is_null) {
        return Ok(ReadyRows::boxed(Vec::new()));
    }
    run.in_function(|run| {
        with_rights(run, function, |run| match function.language.as_str() {
            "plpgsql" => with_settings(run, function, |run| {
                let compiled = compiled(run, function, types)?;
                let (_, mut rows) = execute(&compiled.function, arguments, run)?;
                rows.flush()?;
                Ok(Box::new(GatheredRows { rows, reader: StoreReader::default(), at: 0 }) as Box<dyn ValueStream>)
            }),
            "sql" => with_settings(run, function, |run| {
                let definition = concrete(function, types, &run.catalog);
                let rows = crate::sql_function::run(run, definition.as_ref().unwrap_or(function), arguments, false)?;
                Ok(ReadyRows::boxed(rows))
            }),
            other => Err(missing::language(other)),
        })
    })
}

/// The rows that a function has gathered, each a row of one value.
struct GatheredRows {
    rows: RowStore,
    reader: StoreReader,
    at: usize,
}

impl ValueStream for GatheredRows {
    fn next(&mut self, _: &mut dyn EvalContext) -> Result<Option<Value>> {
        if self.at >= self.rows.len() {
            return Ok(None);
        }
        let row = self.reader.read(&self.rows, self.at)?;
        self.at += 1;
        Ok(row.first().cloned())
    }
}

/// Runs a function under the settings of its SET clauses.
fn with_settings<T>(
    run: &mut Run<'_, '_>,
    function: &FunctionDef,
    work: impl FnOnce(&mut Run<'_, '_>) -> Result<T>,
) -> Result<T> {
    if function.settings.is_empty() {
        return work(run);
    }
    let state = session_of(run);
    state.settings.borrow_mut().push_level();
    let (catalog, format) = (run.catalog.clone(), Arc::clone(&run.format));
    let set = |(name, value): &(String, String)| {
        crate::state::settings::set(state, name, value, base::settings::Change::Local, &mut *run.client)
    };
    let result = function.settings.iter().try_for_each(set).and_then(|()| {
        (run.catalog, run.format) = (state.catalog(), state.format());
        work(run)
    });
    if result.is_err() {
        state.roll_back_settings();
        (run.catalog, run.format) = (catalog, format);
        return result;
    }
    let own = function.settings.iter().map(|(name, _)| name.as_str());
    // It has changed the role, too.
    let role = own.clone().any(|name| name == "session_authorization").then_some("role");
    state.settings.borrow_mut().end_function_level(own.chain(role));
    crate::state::settings::note_application_name(state);
    (run.catalog, run.format) = (state.catalog(), state.format());
    result
}

/// DO.
///
/// # Errors
/// Errors of the body.
fn run_anonymous(run: &mut Run<'_, '_>, body: &str) -> Result<()> {
    let function = compile::compile_block(body, &run.catalog).map_err(|error| compiling(error, "inline_code_block"))?;
    for warning in &function.warnings {
        session_of(run).notice(Severity::Warning, warning, &mut *run.client);
    }
    execute(&function, &[], run)?;
    Ok(())
}

/// An error of compiling: those that are not of the grammar, which say where they are, get a context.
fn compiling(error: Error, name: &str) -> Error {
    let of_compiler = ["unrecognized exception condition", "too few parameters", "too many parameters", "relation \""];
    if of_compiler.iter().any(|start| error.message().starts_with(start)) {
        return error.context(format!("compilation of PL/pgSQL function \"{name}\" near line 1"));
    }
    error
}

/// Checks a body as CREATE FUNCTION does: what is to be told of it.
///
/// # Errors
/// 42601 and its kin.
fn check(function: &FunctionDef, catalog: &CatalogView) -> Result<Vec<Error>> {
    let is_trigger = function.returns == oids::TRIGGER;
    if is_trigger && function.arguments.iter().any(|argument| argument.mode.is_input()) {
        let message = "trigger functions cannot have declared arguments";
        return Err(Error::new(sqlstate::INVALID_FUNCTION_DEFINITION, message)
            .hint("The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead.")
            .context(format!("compilation of PL/pgSQL function \"{}\" near line 1", function.name)));
    }
    let compiled = compile::compile(function, is_trigger, catalog);
    compiled.map(|compiled| compiled.warnings).map_err(|error| compiling(error, &function.name))
}

/// The compiled form of a function; compiled anew if it was replaced.
fn compiled(run: &Run<'_, '_>, function: &Arc<FunctionDef>, types: &CallTypes) -> Result<Arc<Compiled>> {
    if matches!(function.returns, oids::TRIGGER | oids::EVENT_TRIGGER) {
        let error = Error::unsupported("trigger functions can only be called as triggers");
        return Err(error.context(format!("compilation of PL/pgSQL function \"{}\" near line 1", function.name)));
    }
    let Some(definition) = concrete(function, types, &run.catalog) else { return compiled_as(run, function, false) };
    if let Some(known) = session_of(run).ready_functions.of::<CompiledFunctions>().borrow().0.get(&function.oid)
        && known.is_good(&definition, session_of(run))
    {
        return Ok(Arc::clone(known));
    }
    compiled_as(run, &definition, false)
}

/// The compiled form of a trigger function.
fn compiled_trigger(run: &Run<'_, '_>, function: &Arc<FunctionDef>) -> Result<Arc<Compiled>> {
    compiled_as(run, function, true)
}

fn compiled_as(run: &Run<'_, '_>, function: &Arc<FunctionDef>, is_trigger: bool) -> Result<Arc<Compiled>> {
    let state: &SessionState = session_of(run);
    let kept = state.ready_functions.of::<CompiledFunctions>();
    if let Some(compiled) = kept.borrow().0.get(&function.oid)
        && compiled.is_good(function, state)
    {
        return Ok(Arc::clone(compiled));
    }
    let version = state.engine().catalog_version();
    let compiled = compile::compile(function, is_trigger, &state.catalog())?;
    let has_rows = compiled.row_types_version.is_some();
    let made = Arc::new(Compiled {
        definition: Arc::clone(function),
        function: compiled,
        catalog_version: has_rows.then_some(version),
    });
    kept.borrow_mut().0.insert(function.oid, Arc::clone(&made));
    Ok(made)
}

/// The value of RETURN as a value of the function's result.
fn returned_value(value: Value, sql_type: SqlType, frame: &Frame<'_>, run: &mut Run<'_, '_>) -> Result<Value> {
    let result = frame.function.result;
    match (value, frame.queried_shape(&run.catalog)) {
        _ if result.oid == oids::VOID => Ok(Value::Void),
        (Value::Record(record), Some(shape)) => {
            let row = row_types::as_result(&record, &shape, run)?;
            // A domain checks its rows.
            let is_domain = frame.result_shape().is_none();
            if is_domain { cast_for_assignment(row, SqlType::new(shape.type_oid), result, run) } else { Ok(row) }
        }
        (value, Some(_)) if frame.result_shape().is_some() => Ok(value),
        (value, _) if result.oid == oids::RECORD => results::check_record(&value, frame, run).map(|()| value),
        (value, _) => cast_for_assignment(value, sql_type, result, run),
    }
}

/// Runs a compiled function: its value, and the rows it gathered.
fn execute(function: &Function, arguments: &[Value], run: &mut Run<'_, '_>) -> Result<(Value, RowStore)> {
    executor::with_stack_for_call(|| execute_here(function, arguments, run))
}

fn execute_here(function: &Function, arguments: &[Value], run: &mut Run<'_, '_>) -> Result<(Value, RowStore)> {
    run.check_depth()?;
    let mut frame = Frame::new(function, run);
    frame.may_end_transaction = session_of(run).may_end_transaction.take();
    frame.expected_columns = run.state.expected_columns.take();
    let inputs = function.variables.iter().enumerate().filter(|(place, _)| {
        // Pure outputs take no argument.
        *place < function.found
    });
    let mut values = arguments.iter();
    for (place, _) in inputs {
        if function.is_pure_output(place) {
            continue;
        }
        if let Some(value) = values.next() {
            frame.values[place] = match (value, &function.variables[place].kind) {
                // A row without a type may have been written where the composite type is wanted.
                (Value::Record(record), VariableKind::Record(Some(row))) => frame::fit_record(record, &row.shape, run)?,
                _ => value.clone(),
            };
        }
    }
    if session_of(run).changed_catalog.get() {
        frame.expect_older_rows(run);
    }
    let flow = run_block(&function.body, &mut frame, run);
    let flow = flow.map_err(|error| leaving(error, &frame))?;
    let rows = std::mem::take(&mut frame.rows);
    if function.returns_set {
        return Ok((Value::Null, rows));
    }
    // The last statement may have changed a type.
    run.refresh_catalog();
    frame.follow_row_types(run);
    let value = match flow {
        _ if !function.outputs.is_empty() => outputs(&frame)?,
        Flow::Return(value, sql_type) => returned_value(value, sql_type, &frame, run).map_err(|error| {
            error.context(format!(
                "PL/pgSQL function {} while casting return value to function's return type",
                function.signature
            ))
        })?,
        _ if function.result.oid == oids::VOID => Value::Void,
        _ => {
            let error = Error::new(
                sqlstate::FUNCTION_EXECUTED_NO_RETURN_STATEMENT,
                "control reached end of function without RETURN",
            );
            return Err(error.context(format!("PL/pgSQL function {}", function.signature)));
        }
    };
    Ok((value, rows))
}
