//! Transaction identifiers and what became of them.

use base::{Error, Result, Xid, sqlstate};
use engine::TransactionStatus;
use types::Value;

use super::{Bodies, integer, mistyped};
use crate::state::session_of;
use executor::Run;

pub(super) const FUNCTIONS: Bodies = &[
    (2943, |run, _| Ok(Value::Int8(current(run)?.0 as i64))),
    (3348, |run, _| Ok(if_assigned(run).map(|xid| xid.0 as i64).into())),
    (5059, |run, _| Ok(Value::Xid(current(run)?.0))),
    (5060, |run, _| Ok(if_assigned(run).map_or(Value::Null, |xid| Value::Xid(xid.0)))),
    (3360, |run, args| {
        let xid = integer(args, 0)?;
        status(run, Xid(xid as u64))
    }),
    (5066, |run, args| status(run, xid(args)?)),
    (1181, |run, args| {
        let next = session_of(run).instance.database().transactions().next_xid().0;
        let age = next as i64 - xid(args)?.0 as i64;
        Ok(Value::Int4(age.clamp(0, i64::from(i32::MAX)) as i32))
    }),
    (3939, |_, _| Ok(Value::Int4(0))),
    (3581, |_, _| Err(no_commit_timestamps())),
    (3583, |_, _| Err(no_commit_timestamps())),
    (3809, |run, _| Ok(Value::text(&run.engine().export_snapshot()?))),
];

fn xid(args: &[Value]) -> Result<Xid> {
    match args[0] {
        Value::Xid(xid) => Ok(Xid(xid)),
        _ => Err(mistyped(args, 0)),
    }
}

fn current(run: &Run<'_, '_>) -> Result<Xid> {
    run.engine().xid()
}

fn if_assigned(run: &Run<'_, '_>) -> Option<Xid> {
    run.engine().xid_if_assigned()
}

fn no_commit_timestamps() -> Error {
    Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, "could not get commit timestamp data")
        .hint("Commit timestamps are not kept.")
}

fn status(run: &Run<'_, '_>, xid: Xid) -> Result<Value> {
    let database = session_of(run).instance.database();
    if xid >= database.transactions().next_xid() {
        let message = format!("transaction ID {xid} is in the future");
        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    let status = database.status().try_status(xid);
    // Nothing is kept of an older one. Only now: its bits may have gone while they were looked for.
    if !xid.is_valid() || (xid.is_normal() && xid < database.status().oldest_xid()) {
        return Ok(Value::Null);
    }
    Ok(Value::text(match status? {
        TransactionStatus::InProgress => "in progress",
        TransactionStatus::Committed(_) => "committed",
        TransactionStatus::Aborted => "aborted",
    }))
}
