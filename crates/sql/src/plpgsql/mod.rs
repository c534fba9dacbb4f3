//! PL/pgSQL: functions compiled once a session, their statements planned once each.

mod compile;
mod expression;
mod frame;
mod interpret;
mod records;
mod returns;
mod tokens;
mod tree;

use std::rc::Rc;
use std::sync::Arc;

use base::{Error, Result, sqlstate};
use engine::catalog::FunctionDef;

use crate::executor::Run;
use crate::session::{CatalogView, SessionState};
use crate::types::{CallTypes, Value, oids};
pub use compile::composite_shape;
use frame::{Frame, cast};
use interpret::{Flow, leaving, outputs, run_block};
use tree::Function;

/// A function a session has compiled, with the definition it was compiled from.
pub struct Compiled {
    definition: Arc<FunctionDef>,
    function: Function,
}

/// Calls a stored function for its one value.
///
/// # Errors
/// What it raises, with its place in the context; 2F005 if it ends without RETURN.
pub fn call(
    run: &mut Run<'_, '_>,
    function: &Arc<FunctionDef>,
    _types: &CallTypes,
    arguments: &[Value],
) -> Result<Value> {
    if function.strict && arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    with_rights(run, function, |run| match function.language.as_str() {
        "plpgsql" => {
            let compiled = compiled(run, function)?;
            let (value, _) = execute(&compiled.function, arguments, run)?;
            Ok(value)
        }
        "sql" => {
            let rows = crate::sql_function::run(run, function, arguments, true)?;
            Ok(rows.into_iter().next().unwrap_or_default())
        }
        other => Err(Error::new(sqlstate::UNDEFINED_OBJECT, format!("language \"{other}\" does not exist"))),
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
    let state = run.state;
    state.acting_as(function.owner, || body(run))
}

/// Calls a stored function for its set of values.
///
/// # Errors
/// As [`call`].
pub fn call_set(
    run: &mut Run<'_, '_>,
    function: &Arc<FunctionDef>,
    _types: &CallTypes,
    arguments: &[Value],
) -> Result<Vec<Value>> {
    if function.strict && arguments.iter().any(Value::is_null) {
        return Ok(Vec::new());
    }
    with_rights(run, function, |run| match function.language.as_str() {
        "plpgsql" => {
            let compiled = compiled(run, function)?;
            let (_, rows) = execute(&compiled.function, arguments, run)?;
            Ok(rows)
        }
        "sql" => crate::sql_function::run(run, function, arguments, false),
        other => Err(Error::new(sqlstate::UNDEFINED_OBJECT, format!("language \"{other}\" does not exist"))),
    })
}

/// DO.
///
/// # Errors
/// What the body raises.
pub fn run_anonymous(run: &mut Run<'_, '_>, body: &str) -> Result<()> {
    let function = compile::compile_block(body, &run.catalog).map_err(|error| {
        // An error of the grammar says where it is.
        if error.sqlstate() == sqlstate::SYNTAX_ERROR {
            return error;
        }
        error.context("compilation of PL/pgSQL function \"inline_code_block\" near line 1")
    })?;
    execute(&function, &[], run)?;
    Ok(())
}

/// Checks a body as CREATE FUNCTION does.
///
/// # Errors
/// 42601 and its kin.
pub fn check(function: &FunctionDef, catalog: &CatalogView) -> Result<()> {
    compile::compile(function, catalog)
        .map(|_| ())
        .map_err(|error| error.context(format!("compilation of PL/pgSQL function \"{}\" near line 1", function.name)))
}

/// The compiled form of a function; compiled anew if it was replaced.
fn compiled(run: &Run<'_, '_>, function: &Arc<FunctionDef>) -> Result<Rc<Compiled>> {
    let state: &SessionState = run.state;
    if matches!(function.returns, oids::TRIGGER | oids::EVENT_TRIGGER) {
        let error = Error::unsupported("trigger functions can only be called as triggers");
        return Err(error.context(format!("compilation of PL/pgSQL function \"{}\" near line 1", function.name)));
    }
    if let Some(compiled) = state.functions.borrow().get(&function.oid)
        && (Arc::ptr_eq(&compiled.definition, function) || compiled.definition == *function)
    {
        return Ok(Rc::clone(compiled));
    }
    let made =
        Rc::new(Compiled { definition: Arc::clone(function), function: compile::compile(function, &run.catalog)? });
    state.functions.borrow_mut().insert(function.oid, Rc::clone(&made));
    Ok(made)
}

/// Runs a compiled function: its value, and the rows it gathered.
fn execute(function: &Function, arguments: &[Value], run: &mut Run<'_, '_>) -> Result<(Value, Vec<Value>)> {
    run.check_depth()?;
    let mut frame = Frame::new(function);
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
            frame.values[place] = value.clone();
        }
    }
    let flow = run_block(&function.body, &mut frame, run);
    let flow = flow.map_err(|error| leaving(error, &frame))?;
    let rows = std::mem::take(&mut frame.rows);
    if function.returns_set {
        return Ok((Value::Null, rows));
    }
    let value = match flow {
        _ if !function.outputs.is_empty() => outputs(&frame),
        Flow::Return(value, sql_type) => match (&function.shape, function.result.oid) {
            (_, oids::VOID) => Value::Void,
            (Some(_), _) => value,
            (None, oids::RECORD) => value,
            (None, _) => cast(value, sql_type, function.result, run).map_err(|error| {
                error.context(format!(
                    "PL/pgSQL function {} while casting return value to function's return type",
                    function.signature
                ))
            })?,
        },
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
