//! Advisory locks, and who keeps whom waiting.

use base::lock_mode::{LockMode, WaitPolicy};
use base::{Error, OwnerId, Result, sqlstate};
use engine::{AdvisoryKey, Granted};
use types::{Value, oids};

use super::{Bodies, integer};
use crate::state::session_of;
use executor::Run;
use executor::client::Severity;

/// How a lock function locks.
#[derive(Clone, Copy)]
struct Manner {
    shared: bool,
    waits: bool,
    for_session: bool,
}

const EXCLUSIVE: Manner = Manner { shared: false, waits: true, for_session: true };
const SHARED: Manner = Manner { shared: true, ..EXCLUSIVE };

impl Manner {
    const fn trying(self) -> Manner {
        Manner { waits: false, ..self }
    }

    const fn for_transaction(self) -> Manner {
        Manner { for_session: false, ..self }
    }

    fn mode(self) -> LockMode {
        if self.shared { LockMode::Share } else { LockMode::Exclusive }
    }
}

pub(super) const FUNCTIONS: Bodies = &[
    (2880, |run, args| lock(run, args, EXCLUSIVE)),
    (2886, |run, args| lock(run, args, EXCLUSIVE)),
    (2881, |run, args| lock(run, args, SHARED)),
    (2887, |run, args| lock(run, args, SHARED)),
    (2882, |run, args| lock(run, args, EXCLUSIVE.trying())),
    (2888, |run, args| lock(run, args, EXCLUSIVE.trying())),
    (2883, |run, args| lock(run, args, SHARED.trying())),
    (2889, |run, args| lock(run, args, SHARED.trying())),
    (3089, |run, args| lock(run, args, EXCLUSIVE.for_transaction())),
    (3093, |run, args| lock(run, args, EXCLUSIVE.for_transaction())),
    (3090, |run, args| lock(run, args, SHARED.for_transaction())),
    (3094, |run, args| lock(run, args, SHARED.for_transaction())),
    (3091, |run, args| lock(run, args, EXCLUSIVE.for_transaction().trying())),
    (3095, |run, args| lock(run, args, EXCLUSIVE.for_transaction().trying())),
    (3092, |run, args| lock(run, args, SHARED.for_transaction().trying())),
    (3096, |run, args| lock(run, args, SHARED.for_transaction().trying())),
    (2884, |run, args| unlock(run, args, EXCLUSIVE)),
    (2890, |run, args| unlock(run, args, EXCLUSIVE)),
    (2885, |run, args| unlock(run, args, SHARED)),
    (2891, |run, args| unlock(run, args, SHARED)),
    (2892, |run, _| {
        run.engine().advisory_unlock_all();
        Ok(Value::Void)
    }),
    (3378, is_blocked_for_test),
    (2561, blocking_pids),
    (3376, safe_snapshot_blocking_pids),
];

fn key(args: &[Value]) -> Result<AdvisoryKey> {
    Ok(match args {
        [_] => AdvisoryKey::One(integer(args, 0)?),
        _ => AdvisoryKey::Two(integer(args, 0)? as i32, integer(args, 1)? as i32),
    })
}

fn lock(run: &mut Run<'_, '_>, args: &[Value], manner: Manner) -> Result<Value> {
    let policy = if manner.waits { WaitPolicy::Block } else { WaitPolicy::Skip };
    let granted = run.engine().advisory_lock(key(args)?, manner.mode(), policy, manner.for_session)?;
    if manner.waits {
        return Ok(Value::Void);
    }
    Ok(Value::Bool(granted != Granted::Skipped))
}

fn unlock(run: &mut Run<'_, '_>, args: &[Value], manner: Manner) -> Result<Value> {
    let mode = manner.mode();
    let was_held = run.engine().advisory_unlock(key(args)?, mode);
    if !was_held {
        let warning = Error::new(sqlstate::WARNING, format!("you don't own a lock of type {}", mode.name()));
        run.notice(Severity::Warning, &warning);
        run.relieve()?;
    }
    Ok(Value::Bool(was_held))
}

/// Those who keep a session waiting: holders, and those ahead of it in its queue.
fn blockers(run: &Run<'_, '_>, pid: i64) -> Vec<i32> {
    let instance = &session_of(run).instance;
    let Some(info) = i32::try_from(pid).ok().and_then(|pid| instance.session(pid)) else { return Vec::new() };
    pids_of(run, instance.database().locks().blocking_owners(info.owner()))
}

/// Those whose end a DEFERRABLE transaction waits for.
fn safe_snapshot_blockers(run: &Run<'_, '_>, pid: i64) -> Vec<i32> {
    let instance = &session_of(run).instance;
    let Some(info) = i32::try_from(pid).ok().and_then(|pid| instance.session(pid)) else { return Vec::new() };
    pids_of(run, instance.database().transactions().ssi().safe_snapshot_blockers(info.owner()))
}

fn pids_of(run: &Run<'_, '_>, owners: Vec<OwnerId>) -> Vec<i32> {
    let instance = &session_of(run).instance;
    let mut pids: Vec<i32> =
        owners.into_iter().map(|owner| instance.session_of(owner).map_or(0, |session| session.pid)).collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}

fn blocking_pids(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let pids = blockers(run, integer(args, 0)?);
    Ok(Value::array(oids::INT4, pids.into_iter().map(Value::Int4).collect()))
}

fn safe_snapshot_blocking_pids(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let pids = safe_snapshot_blockers(run, integer(args, 0)?);
    Ok(Value::array(oids::INT4, pids.into_iter().map(Value::Int4).collect()))
}

/// Whether one of the given sessions keeps this one waiting: what the isolation tester asks.
fn is_blocked_for_test(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let Value::Array(interesting) = &args[1] else { return Err(super::mistyped(args, 1)) };
    let pid = integer(args, 0)?;
    let blockers = blockers(run, pid);
    let is_interesting = |pid: &i32| interesting.values.iter().any(|value| value.as_i64() == Some(i64::from(*pid)));
    Ok(Value::Bool(blockers.iter().any(is_interesting) || !safe_snapshot_blockers(run, pid).is_empty()))
}
