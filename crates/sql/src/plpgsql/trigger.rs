//! Trigger functions.

use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{Error, Oid, Result, sqlstate};
use schema::catalog::FunctionDef;
use types::{ArrayValue, RecordValue, SqlType, Value, oids};

use super::Compiled;
use super::frame::Frame;
use super::interpret::{Flow, leaving, run_block};
use super::parse::Parser;
use super::tree::VariableKind;
use executor::{Run, TriggerCall};

/// The names of a trigger function's own variables, in their order behind FOUND.
const NAMES: [(&str, Oid); 10] = [
    ("tg_name", oids::NAME),
    ("tg_when", oids::TEXT),
    ("tg_level", oids::TEXT),
    ("tg_op", oids::TEXT),
    ("tg_relid", oids::OID),
    ("tg_relname", oids::NAME),
    ("tg_table_name", oids::NAME),
    ("tg_table_schema", oids::NAME),
    ("tg_nargs", oids::INT4),
    ("tg_argv", oids::TEXT_ARRAY),
];

/// Declares what only a trigger function has.
pub fn declare(parser: &mut Parser<'_>) {
    for (name, oid) in NAMES {
        parser.declare(name, VariableKind::Scalar(SqlType::new(oid)));
    }
    for name in ["new", "old"] {
        parser.declare(name, VariableKind::Record(None));
    }
}

/// Calls a trigger function; the row it returns. Its SECURITY DEFINER and SET clauses count, as they do for any call.
///
/// # Errors
/// Errors of the function; 2F005 if it ends without RETURN, 42804 for a returned value that is no row.
pub fn call_trigger(
    run: &mut Run<'_, '_>,
    function: &Arc<FunctionDef>,
    call: &TriggerCall<'_>,
) -> Result<Option<Arc<RecordValue>>> {
    executor::with_stack_for_call(|| {
        super::with_rights(run, function, |run| {
            super::with_settings(run, function, |run| call_trigger_here(run, function, call))
        })
    })
}

fn call_trigger_here(
    run: &mut Run<'_, '_>,
    function: &Arc<FunctionDef>,
    call: &TriggerCall<'_>,
) -> Result<Option<Arc<RecordValue>>> {
    run.check_depth()?;
    if function.language != "plpgsql" {
        return Err(Error::unsupported(format!("triggers in language \"{}\" are not supported", function.language)));
    }
    let compiled: Arc<Compiled> = super::compiled_trigger(run, function)?;
    let function = &compiled.function;
    let mut frame = Frame::new(function, run);
    let arguments = call.arguments.iter().map(Value::text).collect();
    let values = [
        Value::text(call.name),
        Value::text(call.when),
        Value::text(call.level),
        Value::text(call.operation),
        Value::oid(call.table),
        Value::text(call.table_name),
        Value::text(call.table_name),
        Value::text(call.table_schema),
        Value::Int4(call.arguments.len() as i32),
        if call.arguments.is_empty() {
            Value::Null
        } else {
            Value::Array(Arc::new(ArrayValue::with_lower_bound(oids::TEXT, arguments, 0)))
        },
    ];
    let first = function.found + 1;
    for (number, value) in values.into_iter().enumerate() {
        frame.values[first + number] = value;
    }
    if call.level == "ROW" {
        let place = first + NAMES.len();
        frame.trigger_rows = Some((Arc::clone(call.shape), [place, place + 1]));
    }
    for (number, row) in [&call.new, &call.old].into_iter().enumerate() {
        if let Some(row) = row {
            frame.values[first + NAMES.len() + number] = Value::Record(Arc::clone(row));
        }
    }
    if !call.transition_tables.is_empty() {
        frame.transition_tables = Some((call.oid, Arc::clone(call.transition_tables)));
    }
    let outer = run.state.captured.replace(call.captured.cloned());
    let depth = &run.state.trigger_depth;
    depth.set(depth.get() + 1);
    // Calls after the statement are of none; but PostgreSQL's statement isn't over then.
    let state = run.state;
    let flow = state
        .while_in_use(Arc::from([(call.table, LockMode::RowExclusive)]), || {
            run.in_function(|run| run_block(&function.body, &mut frame, run))
        })
        .map_err(|error| leaving(error, &frame));
    depth.set(depth.get() - 1);
    run.state.captured.replace(outer);
    match flow? {
        Flow::Return(Value::Record(row), _) => Ok(Some(row)),
        Flow::Return(Value::Null | Value::Void, _) => Ok(None),
        Flow::Return(..) => Err(Error::new(
            sqlstate::DATATYPE_MISMATCH,
            "cannot return non-composite value from function returning composite type",
        )
        .context(format!("PL/pgSQL function {} during function exit", function.signature))),
        _ => Err(Error::new(
            sqlstate::FUNCTION_EXECUTED_NO_RETURN_STATEMENT,
            "control reached end of trigger procedure without RETURN",
        )
        .context(format!("PL/pgSQL function {}", function.signature))),
    }
}
