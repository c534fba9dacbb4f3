//! Settings, and who and where the session is.

use base::report::LogForm;
use base::settings::Change;
use base::{Error, Result, sqlstate};
use sync::Work;
use types::{Value, datetime, oids};

use super::{Bodies, boolean, oid, text};
use crate::state::session_of;
use crate::state::settings;
use executor::Run;
use executor::client::Severity;

/// The result of `version()`. Clients read the version number in it.
const VERSION: &str = concat!(
    "PostgreSQL 15.0 (Cohort ",
    env!("CARGO_PKG_VERSION"),
    ") on ",
    "x86_64-pc-linux-gnu, compiled by rustc, 64-bit"
);

pub(super) const FUNCTIONS: Bodies = &[
    (89, |_, _| Ok(Value::text(VERSION))),
    (2077, |run, args| settings::show(session_of(run), text(args, 0)?).map(Value::from)),
    (3294, current_setting),
    (2078, set_config),
    (1402, |run, _| Ok(run.catalog.current_schema_name().into())),
    (1403, current_schemas),
    (861, |run, _| Ok(run.state.database_name().into())),
    (745, |run, _| Ok(run.state.acting_role().required_name()?.into())),
    (746, |run, _| Ok(run.state.session_role().required_name()?.into())),
    (710, |run, _| Ok(run.state.acting_role().required_name()?.into())),
    (817, |run, _| Ok(Value::text(session_of(run).info.query()))),
    (2854, |run, _| Ok(run.state.temporary_schema.get().unwrap_or_default().into())),
    (2855, is_other_temporary_schema),
    (2560, |run, _| Ok(Value::TimestampTz(session_of(run).instance.started_at))),
    (2034, |run, _| Ok(Value::TimestampTz(session_of(run).instance.started_at))),
    (3163, |run, _| Ok(Value::Int4(run.state.trigger_depth.get()))),
    (2196, |run, _| Ok(session_of(run).info.peer.map(|peer| peer.ip().to_string()).into())),
    (2197, |run, _| Ok(session_of(run).info.peer.map(|peer| i32::from(peer.port())).into())),
    (2198, |run, _| Ok(session_of(run).info.local.map(|local| local.ip().to_string()).into())),
    (2199, |run, _| Ok(session_of(run).info.local.map(|local| i32::from(local.port())).into())),
    (2621, reload_configuration),
    (2622, rotate_log_file),
    (3800, current_log_file),
    (3801, current_log_file),
    (3788, |_, _| Ok(Value::TimestampTz(datetime::clock_micros()))),
    (6240, setting_flags),
];

fn current_setting(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let missing_is_fine = boolean(args, 1)?;
    match settings::show(session_of(run), text(args, 0)?) {
        Ok(value) => Ok(value.into()),
        Err(error) if missing_is_fine && error.sqlstate() == sqlstate::UNDEFINED_OBJECT => Ok(Value::Null),
        Err(error) => Err(error),
    }
}

fn set_config(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "SET requires parameter name"));
    }
    run.state.has_run_functions.set(true);
    let name = text(args, 0)?;
    let change = if matches!(args[2], Value::Bool(true)) { Change::Local } else { Change::Session };
    match &args[1] {
        Value::Null => settings::reset(session_of(run), name, change)?,
        _ => settings::set(session_of(run), name, text(args, 1)?, change, &mut *run.client)?,
    }
    // The rest of the same statement reads and writes values by the new settings.
    run.format = run.state.format();
    settings::show(session_of(run), name).map(Value::from)
}

fn current_schemas(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let path = if boolean(args, 0)? { run.catalog.path() } else { run.catalog.explicit_path() };
    let names = path.iter().map(|schema| run.catalog.schema_name(*schema).into()).collect();
    Ok(Value::array(oids::NAME, names))
}

fn is_other_temporary_schema(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let schema = oid(args, 0)?;
    let is_own = run.state.temporary_schema.get() == Some(schema);
    Ok(Value::Bool(!is_own && run.catalog.schema_name(schema).starts_with("pg_temp_")))
}

fn reload_configuration(run: &mut Run<'_, '_>, _: &[Value]) -> Result<Value> {
    let Some(reload) = session_of(run).instance.reload.lock().clone() else { return Ok(Value::Bool(true)) };
    // When `fsync` goes on, all that was written without it is synced. The worker must not wait for that.
    Ok(Value::Bool(sync::on_other_thread(Work::Bounded, move || reload())?))
}

fn rotate_log_file(run: &mut Run<'_, '_>, _: &[Value]) -> Result<Value> {
    if session_of(run).instance.reporter().is_some_and(|reporter| reporter.rotate()) {
        return Ok(Value::Bool(true));
    }
    let message = "rotation not possible because log collection not active";
    run.notice(Severity::Warning, &Error::new(sqlstate::WARNING, message));
    Ok(Value::Bool(false))
}

fn current_log_file(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let form = match args.first() {
        None | Some(Value::Null) => None,
        Some(_) => {
            let name = text(args, 0)?;
            let unknown = || {
                let message = format!("log format \"{name}\" is not supported");
                Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
                    .hint("The supported log formats are \"stderr\", \"csvlog\", and \"jsonlog\".")
            };
            Some(LogForm::named(name).ok_or_else(unknown)?)
        }
    };
    Ok(session_of(run).instance.reporter().and_then(|reporter| reporter.current_file(form)).into())
}

fn setting_flags(_: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let known = base::settings::lookup(text(args, 0)?).is_ok();
    Ok(if known { Value::array(oids::TEXT, Vec::new()) } else { Value::Null })
}
