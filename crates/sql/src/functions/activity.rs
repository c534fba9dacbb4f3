//! Other sessions: signals, notifications, sleep, and the counters of tables.

use std::time::{Duration, Instant};

use base::{Error, Oid, Result, sqlstate};
use sync::InterruptKind;
use types::{Value, datetime};

use super::{Bodies, integer, mistyped, oid, text};
use crate::state::session_of;
use executor::Run;
use executor::client::Severity;

pub(super) const FUNCTIONS: Bodies = &[
    (2026, |run, _| Ok(Value::Int4(session_of(run).info.pid))),
    (1937, |run, args| {
        let sessions = session_of(run).instance.sessions();
        let place = usize::try_from(integer(args, 0)? - 1).ok();
        Ok(place.and_then(|place| sessions.get(place)).map(|session| session.pid).into())
    }),
    (2171, |run, args| signal(run, integer(args, 0)?, InterruptKind::Cancel)),
    (2096, terminate),
    (4543, |_, _| Ok(Value::Bool(true))),
    (2626, |run, args| match args[0] {
        Value::Float8(seconds) => sleep(run, seconds),
        _ => Err(mistyped(args, 0)),
    }),
    (3935, |run, args| match args[0] {
        Value::Interval(span) => {
            let days = f64::from(span.months) * 30.0 + f64::from(span.days);
            sleep(run, days * 86_400.0 + span.micros as f64 / 1e6)
        }
        _ => Err(mistyped(args, 0)),
    }),
    (3936, |run, args| match args[0] {
        Value::TimestampTz(until) => sleep(run, until.saturating_sub(datetime::clock_micros()) as f64 / 1e6),
        _ => Err(mistyped(args, 0)),
    }),
    (3036, notify),
    (3296, |_, _| Ok(Value::Float8(0.0))),
    // Of tables and functions nothing is kept that could be set back.
    (2274, |_, _| Ok(Value::Void)),
    (3775, reset_shared),
    (2307, reset_slru),
    (9105, |_, _| {
        sync::latch_classes().into_iter().for_each(sync::LatchClass::reset);
        Ok(Value::Void)
    }),
    (3776, |_, _| Ok(Value::Void)),
    (2230, |_, _| Ok(Value::Void)),
    (2137, |_, _| Ok(Value::Void)),
    (1928, |_, _| Ok(Value::Int8(0))),
    (1929, |_, _| Ok(Value::Int8(0))),
    (1930, |_, _| Ok(Value::Int8(0))),
    (2878, |run, args| count(run, oid(args, 0)?, engine::TableActivity::live)),
    (2879, |run, args| count(run, oid(args, 0)?, engine::TableActivity::dead)),
    (1931, |run, args| count(run, oid(args, 0)?, engine::TableActivity::inserted)),
    (1932, |run, args| count(run, oid(args, 0)?, engine::TableActivity::updated)),
    (1933, |run, args| count(run, oid(args, 0)?, engine::TableActivity::deleted)),
    (1972, |run, args| count(run, oid(args, 0)?, engine::TableActivity::updated_in_page)),
];

fn count(run: &Run<'_, '_>, table: Oid, of: fn(&engine::TableActivity) -> u64) -> Result<Value> {
    let activity = session_of(run).instance.database().table_activity(run.catalog.catalog().unique(table));
    Ok(Value::Int8(activity.map_or(0, |activity| of(&activity)) as i64))
}

fn signal(run: &mut Run<'_, '_>, pid: i64, kind: InterruptKind) -> Result<Value> {
    let target = i32::try_from(pid).ok().and_then(|pid| session_of(run).instance.session(pid));
    let Some(target) = target else {
        let warning = Error::new(sqlstate::WARNING, format!("PID {pid} is not a PostgreSQL backend process"));
        run.notice(Severity::Warning, &warning);
        run.relieve()?;
        return Ok(Value::Bool(false));
    };
    session_of(run).check_signal(target.role, kind)?;
    // An idle session has nothing to cancel.
    if kind != InterruptKind::Cancel || target.activity() == crate::state::Activity::Active {
        target.interrupt.raise(kind);
    }
    if target.pid == session_of(run).info.pid {
        run.state.interrupt().check()?;
    }
    Ok(Value::Bool(true))
}

fn terminate(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let (pid, timeout) = (integer(args, 0)?, integer(args, 1)?);
    if timeout < 0 {
        let message = "\"timeout\" must not be negative";
        return Err(Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message));
    }
    let signalled = signal(run, pid, InterruptKind::Terminate)?;
    if timeout == 0 || !signalled.is_true() {
        return Ok(signalled);
    }
    let deadline = Instant::now() + Duration::from_millis(timeout as u64);
    while Instant::now() < deadline {
        if session_of(run).instance.session(pid as i32).is_none() {
            return Ok(Value::Bool(true));
        }
        session_of(run).wait_until((Instant::now() + Duration::from_millis(10)).min(deadline))?;
    }
    let message = format!("backend with PID {pid} did not terminate within {timeout} milliseconds");
    run.notice(Severity::Warning, &Error::new(sqlstate::WARNING, message));
    Ok(Value::Bool(false))
}

/// The longest sleep: a century is for ever.
const LONGEST_SLEEP_SECONDS: f64 = 100.0 * 366.0 * 86_400.0;

fn sleep(run: &mut Run<'_, '_>, seconds: f64) -> Result<Value> {
    if seconds > 0.0 {
        let deadline = Instant::now() + Duration::from_secs_f64(seconds.min(LONGEST_SLEEP_SECONDS));
        while Instant::now() < deadline {
            session_of(run).wait_until(deadline)?;
        }
    }
    Ok(Value::Void)
}

fn notify(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let invalid = |message: &str| Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message));
    let channel = if args[0].is_null() { "" } else { text(args, 0)? };
    let payload = if args[1].is_null() { "" } else { text(args, 1)? };
    if channel.is_empty() {
        return invalid("channel name cannot be empty");
    }
    if channel.len() > base::limits::NAME_MAX_BYTES {
        return invalid("channel name too long");
    }
    if payload.len() >= 8000 {
        return invalid("payload string too long");
    }
    session_of(run).notify(channel, payload)?;
    Ok(Value::Void)
}

fn reset_shared(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    match text(args, 0)? {
        "wal" => session_of(run).instance.counted.reset_wal(session_of(run).instance.database()),
        "archiver" | "bgwriter" | "recovery_prefetch" => {}
        target => {
            let message = format!("unrecognized reset target: \"{target}\"");
            return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
                .hint("Target must be \"archiver\", \"bgwriter\", \"recovery_prefetch\", or \"wal\"."));
        }
    }
    Ok(Value::Void)
}

/// Sets back one of the caches that PostgreSQL has; null: all. A name that is none of them stands for "other".
fn reset_slru(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    if args[0].is_null() || text(args, 0)?.eq_ignore_ascii_case("Xact") {
        session_of(run).instance.counted.reset_commit_log(session_of(run).instance.database());
    }
    Ok(Value::Void)
}

/// The channels that the session listens on.
pub(super) fn listening_channels(run: &mut Run<'_, '_>, _: &[Value]) -> Result<Vec<Value>> {
    let mut channels = session_of(run).channels.listening(session_of(run).info.pid);
    channels.sort();
    Ok(channels.into_iter().map(Value::from).collect())
}

/// The places of the connected sessions, counted from 1.
pub(super) fn backend_ids(run: &mut Run<'_, '_>, _: &[Value]) -> Result<Vec<Value>> {
    Ok((1..=session_of(run).instance.sessions().len()).map(|number| Value::Int4(number as i32)).collect())
}
