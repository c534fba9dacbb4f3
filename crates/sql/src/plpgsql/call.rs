//! CALL within a function: the procedure's outputs go to the variables that stand in their places.

use base::{Error, Result, sqlstate};
use schema::catalog::FunctionDef;
use syntax::tree::{ExprKind, FunctionCall, Name, Statement};
use types::{CallTypes, SqlType, Value, oids};

use super::expression::{as_call, bind_call, within};
use super::frame::Frame;
use super::tree::{Expression, find_label, find_variable};
use crate::state::session_of;
use executor::{Due, Locals, Run, evaluate, run_pending_checks};

/// Runs a CALL.
///
/// # Errors
/// Errors of the procedure; 42601 for an output parameter whose argument is no variable.
pub fn run_call(call: &Expression, frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<()> {
    let parsed = syntax::parser::parse(&call.text, session_of(run).parse_options())?;
    let Some(Statement::Call(written)) = parsed.first().map(|parsed| &parsed.statement) else {
        return Err(Error::internal("a CALL that is none"));
    };
    let (function, arguments, parameters) = bind_call(call, written, frame, run)?;
    let targets = targets(call, &function, written, frame)?;
    if !frame.function.is_volatile {
        return Err(within(Error::unsupported("CALL is not allowed in a non-volatile function"), call));
    }
    let types = CallTypes::new(arguments.iter().map(|argument| argument.sql_type), SqlType::new(function.returns));
    let may_end_transaction = super::transaction::may_be_ended_below(frame, run);
    let result = as_call(call, frame, run, |run| {
        let state = session_of(run);
        state.engine().push_snapshot()?;
        let first_check = state.next_check.get();
        let mut locals = Locals::for_expression();
        let mut inner = run.with_locals(&parameters, &mut locals);
        let values: Result<Vec<Value>> = arguments.iter().map(|argument| evaluate(argument, &[], &mut inner)).collect();
        let result = values.and_then(|values| {
            state.may_end_transaction.set(may_end_transaction);
            super::call(&mut inner, &function, &types, &values)
        });
        drop(inner);
        // The transaction may be another one by now.
        state.may_end_transaction.set(false);
        super::transaction::refresh(run);
        let result = result
            .and_then(|value| run_pending_checks(state, Due::Statement(first_check), &mut *run.client).map(|()| value));
        state.engine().pop_snapshot();
        result
    })?;
    let given = match result {
        Value::Record(record) if targets.len() != 1 => record.fields.clone(),
        value => vec![value],
    };
    for (target, value) in targets.into_iter().zip(given) {
        match target {
            Target { place, field: None, sql_type } => frame.assign(place, value, sql_type, run)?,
            Target { place, field: Some(field), sql_type } => {
                frame.assign_field(place, &field, value, sql_type, run)?
            }
        }
    }
    Ok(())
}

/// Where an output goes: a variable, or the field of one.
struct Target {
    place: usize,
    field: Option<String>,
    sql_type: SqlType,
}

/// The variables that stand in the places of a procedure's outputs. One whose value has to be cast for the call is not one that can be
/// written to.
fn targets(
    call: &Expression,
    function: &FunctionDef,
    written: &FunctionCall,
    frame: &Frame<'_>,
) -> Result<Vec<Target>> {
    let places = crate::commands::argument_places(function, written).unwrap_or_default();
    let outputs = function.arguments.iter().enumerate().filter(|(_, argument)| argument.mode.is_output());
    let mut found = Vec::new();
    for (place, argument) in outputs {
        let written = places.iter().position(|own| *own == place).and_then(|number| written.arguments.get(number));
        let (target, field) = match written.map(value_of) {
            Some(ExprKind::Column(parts)) => variable_named(parts, call, frame),
            _ => (None, None),
        };
        let sql_type = SqlType::new(argument.type_oid);
        let is_of_type = |target: &usize| {
            let own = match &field {
                Some(field) => frame.field_type(*target, field),
                None => Some(frame.type_of(*target)),
            };
            // A record that can be passed has a row of that type.
            let is_same = |own: SqlType| own.oid == sql_type.oid || own.oid == oids::RECORD;
            types::is_polymorphic(sql_type.oid) || own.is_none_or(is_same)
        };
        let Some(target) = target.filter(is_of_type) else {
            let message = match &argument.name {
                Some(name) => format!(
                    "procedure parameter \"{name}\" is an output parameter but corresponding argument is not writable"
                ),
                None => format!(
                    "procedure parameter {} is an output parameter but corresponding argument is not writable",
                    place + 1
                ),
            };
            return Err(Error::new(sqlstate::SYNTAX_ERROR, message));
        };
        let variable = &frame.function.variables[target];
        if variable.is_constant {
            let message = format!("variable \"{}\" is declared CONSTANT", variable.name);
            return Err(Error::new(sqlstate::ERROR_IN_ASSIGNMENT, message));
        }
        found.push(Target { place: target, field, sql_type });
    }
    Ok(found)
}

/// The variable that a name means, and the field of it. A block's label may stand in front.
fn variable_named(parts: &[Name], call: &Expression, frame: &Frame<'_>) -> (Option<usize>, Option<String>) {
    let scopes = &frame.function.scopes;
    let find = |name: &str| find_variable(scopes, call.scope, name);
    let labelled = |label: &str, name: &str| {
        let names = &scopes[find_label(scopes, call.scope, label)?].names;
        names.iter().rev().find(|(own, _)| own == name).map(|(_, place)| *place)
    };
    match parts {
        [name] => (find(name), None),
        [first, second] => match find(first) {
            Some(record) => (Some(record), Some(second.to_string())),
            None => (labelled(first, second), None),
        },
        [label, record, field] => (labelled(label, record), Some(field.to_string())),
        _ => (None, None),
    }
}

/// The value of an argument, which may be written with a name.
fn value_of(written: &syntax::tree::Expr) -> &ExprKind {
    match &written.kind {
        ExprKind::NamedArgument { value, .. } => &value.kind,
        kind => kind,
    }
}
