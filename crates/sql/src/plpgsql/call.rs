//! CALL within a function: the procedure's outputs go to the variables that stand in their places.

use base::{Error, Result, sqlstate};

use super::expression::{as_call, bind_call, within};
use super::frame::Frame;
use super::tree::{Expression, find_variable};
use crate::executor::{Due, Locals, Run, evaluate, run_pending_checks};
use crate::tree::{ExprKind, Statement};
use crate::types::{CallTypes, SqlType, Value};

/// Runs a CALL.
///
/// # Errors
/// What the procedure raises; 42601 for an output that no variable stands for.
pub fn run_call(call: &Expression, frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<()> {
    let parsed = crate::parser::parse(&call.text, crate::parser::ParseOptions::default())?;
    let Some(Statement::Call(written)) = parsed.first().map(|parsed| &parsed.statement) else {
        return Err(Error::internal("a CALL that is none"));
    };
    let (function, arguments, parameters) = bind_call(call, written, frame, run)?;
    if !frame.function.is_volatile {
        return Err(within(Error::unsupported("CALL is not allowed in a non-volatile function"), call));
    }
    let types = CallTypes::new(arguments.iter().map(|argument| argument.sql_type), SqlType::new(function.returns));
    let may_end_transaction = super::transaction::may_be_ended_below(frame, run);
    let result = as_call(call, frame, run, |run| {
        let state = run.state;
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
    let places = crate::commands::argument_places(&function, written).unwrap_or_default();
    let outputs = function.arguments.iter().enumerate().filter(|(_, argument)| argument.mode.is_output());
    let given = match result {
        Value::Record(record) => record.fields.clone(),
        value => vec![value],
    };
    for ((place, argument), value) in outputs.zip(given) {
        let written = places.iter().position(|own| *own == place).and_then(|number| written.arguments.get(number));
        let find = |name: &str| find_variable(&frame.function.scopes, call.scope, name);
        let (target, field) = match written.map(value_of) {
            Some(ExprKind::Column(parts)) if parts.len() == 1 => (find(&parts[0]), None),
            Some(ExprKind::Column(parts)) if parts.len() == 2 => (find(&parts[0]), Some(parts[1].as_str())),
            _ => (None, None),
        };
        if let (Some(record), Some(field)) = (target, field) {
            frame.assign_field(record, field, value, SqlType::new(argument.type_oid), run)?;
            continue;
        }
        let Some(target) = target else {
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
        frame.assign(target, value, SqlType::new(argument.type_oid), run)?;
    }
    Ok(())
}

/// What stands for an argument, with or without a name.
fn value_of(written: &crate::tree::Expr) -> &ExprKind {
    match &written.kind {
        ExprKind::NamedArgument { value, .. } => &value.kind,
        kind => kind,
    }
}
