//! PREPARE, EXECUTE and DEALLOCATE.

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use syntax::parser::character_position;
use syntax::tree::{Execute, ParsedStatement, Prepare};
use types::{SqlType, Value};

use super::top_level::TopLevel;
use crate::state::planning::Environment;
use crate::state::prepared::prepared_named;
use crate::state::{Planned, Prepared, SessionState, UtilityOutput};
use executor::client::Client;
use executor::{Locals, Run, evaluate};
use planner::binder::{self, Parameters};

/// PREPARE.
pub fn prepare(state: &SessionState, prepare: &Prepare, text: &Arc<str>) -> Result<UtilityOutput> {
    state.refuse_if_restricted("execute PREPARE")?;
    if !prepare.statement.has_plan() {
        return Err(Error::new(
            sqlstate::INVALID_PREPARED_STATEMENT_DEFINITION,
            "utility statements cannot be prepared",
        ));
    }
    let name = prepare.name.as_str();
    let environment = Environment::new(state, &state.catalog());
    let types = prepare
        .types
        .iter()
        .map(|name| environment.with_rights(text, |context| binder::definition_type(context, name)))
        .map(|sql_type| sql_type.map(|sql_type| sql_type.oid))
        .collect::<Result<Vec<Oid>>>()?;
    let tree = ParsedStatement { statement: prepare.statement.clone(), start: 0, end: text.len(), depth: 0 };
    let prepared = Prepared::new(state, name, Arc::clone(text), Some(Arc::new(tree)), &types, true)?;
    if state.prepared.borrow().contains_key(name) {
        return Err(Error::new(
            sqlstate::DUPLICATE_PREPARED_STATEMENT,
            format!("prepared statement \"{name}\" already exists"),
        ));
    }
    state.prepared.borrow_mut().insert(name.to_owned(), Arc::new(prepared));
    Ok(UtilityOutput::tag("PREPARE"))
}

/// The plan that EXECUTE runs, and the values of its parameters.
///
/// # Errors
/// 26000 for an unknown statement; 42601 and 42804 for parameters that don't fit.
pub(super) fn plan_of_execute(
    state: &SessionState,
    text: &str,
    execute: &Execute,
    client: &mut dyn Client,
) -> Result<(Arc<Planned>, Vec<Value>)> {
    let prepared = prepared_named(state, &execute.name)?;
    let planned = prepared.plan(state)?;
    let values = parameter_values(state, text, execute, &planned.statement.parameters, client)?;
    let planned = prepared.plan_for(state, planned, &values)?;
    Ok((planned, values))
}

fn parameter_values(
    state: &SessionState,
    text: &str,
    execute: &Execute,
    types: &[SqlType],
    client: &mut dyn Client,
) -> Result<Vec<Value>> {
    if execute.parameters.len() != types.len() {
        let message = format!("wrong number of parameters for prepared statement \"{}\"", execute.name);
        let detail = format!("Expected {} parameters but got {}.", types.len(), execute.parameters.len());
        return Err(Error::new(sqlstate::SYNTAX_ERROR, message).detail(detail));
    }
    if types.is_empty() {
        return Ok(Vec::new());
    }
    let view = state.catalog();
    let environment = Environment::new(state, &view);
    let mut bound = Vec::with_capacity(types.len());
    for (number, (expr, sql_type)) in execute.parameters.iter().zip(types).enumerate() {
        let mut none = Parameters::fixed(Vec::new());
        let found = environment.with_context(text, |context| binder::scalar(expr, None, context, &mut none))?;
        let coerced =
            environment.with_rights(text, |context| binder::scalar(expr, Some(*sql_type), context, &mut none));
        bound.push(coerced.map_err(|error| {
            if error.sqlstate() != sqlstate::CANNOT_COERCE {
                return error;
            }
            let message = format!(
                "parameter ${} of type {} cannot be coerced to the expected type {}",
                number + 1,
                types::format_type_name(&view, found.sql_type.oid),
                types::format_type_name(&view, sql_type.oid)
            );
            let error = Error::new(sqlstate::DATATYPE_MISMATCH, message)
                .hint("You will need to rewrite or cast the expression.");
            match character_position(text, expr.location) {
                Some(position) => error.at(position),
                None => error,
            }
        })?);
    }
    state.engine().push_snapshot()?;
    let mut locals = Locals::for_expression();
    let mut run = Run::new(state, client, &[], &mut locals);
    let values = bound.iter().map(|expr| evaluate(expr, &[], &mut run)).collect();
    drop(run);
    state.engine().pop_snapshot();
    values
}

/// EXECUTE.
pub fn execute(
    session: &mut dyn TopLevel,
    execute: &Execute,
    text: &str,
    client: &mut dyn Client,
) -> Result<UtilityOutput> {
    let prepared = prepared_named(session.state(), &execute.name)?;
    let (planned, parameters) = plan_of_execute(session.state(), text, execute, client)?;
    let gives_rows = planned.gives_rows();
    let (rows, tag) = session.run_prepared(prepared, planned, parameters, client)?;
    Ok(UtilityOutput { tag, rows: gives_rows.then_some(rows) })
}

/// DEALLOCATE.
pub fn deallocate(state: &SessionState, name: Option<&str>) -> Result<UtilityOutput> {
    state.refuse_if_restricted("execute DEALLOCATE")?;
    match name {
        None => {
            state.prepared.borrow_mut().clear();
            Ok(UtilityOutput::tag("DEALLOCATE ALL"))
        }
        Some(name) => {
            prepared_named(state, name)?;
            state.prepared.borrow_mut().remove(name);
            Ok(UtilityOutput::tag("DEALLOCATE"))
        }
    }
}
