//! Positions in the log.

use base::settings::Id;
use base::settings::words::WalLevel;
use base::{Error, Result, sqlstate};
use executor::Run;
use types::Value;

use super::{Bodies, mistyped, text};
use crate::state::session_of;

/// Bytes of a segment of the log; `pg_walfile_name` counts in them.
const SEGMENT_BYTES: u64 = 16 << 20;

pub(super) const FUNCTIONS: Bodies = &[
    (2849, |run, _| Ok(Value::PgLsn(session_of(run).instance.database().wal().written().0))),
    (3330, |run, _| Ok(Value::PgLsn(session_of(run).instance.database().wal().durable().0))),
    (2852, |run, _| Ok(Value::PgLsn(session_of(run).instance.database().wal().reserved().0))),
    (2848, |run, _| Ok(Value::PgLsn(session_of(run).instance.database().wal().reserved().0))),
    (3098, |run, args| create_restore_point(run, text(args, 0)?)),
    (2851, |_, args| match args[0] {
        Value::PgLsn(lsn) => {
            // The position just before, so that a segment's end belongs to it.
            let segment = lsn.saturating_sub(1) / SEGMENT_BYTES;
            let per_file = (1u64 << 32) / SEGMENT_BYTES;
            Ok(format!("{:08X}{:08X}{:08X}", 1, segment / per_file, segment % per_file).into())
        }
        _ => Err(mistyped(args, 0)),
    }),
    (3810, |_, _| Ok(Value::Bool(false))),
    (3073, |_, _| Ok(Value::Bool(false))),
    (3820, |_, _| Ok(Value::Null)),
    (3821, |_, _| Ok(Value::Null)),
    (3830, |_, _| Ok(Value::Null)),
    (3436, |_, _| {
        Err(Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, "recovery is not in progress")
            .hint("Recovery control functions can only be executed during recovery."))
    }),
];

/// The most bytes that the name of a restore point may have.
const RESTORE_POINT_BYTES_MAX: usize = 63;

/// pg_create_restore_point: gives the present end of the log a name, which `cohort waldump` shows.
fn create_restore_point(run: &Run<'_, '_>, name: &str) -> Result<Value> {
    let state = session_of(run);
    if state.setting(Id::WalLevel).word::<WalLevel>() == WalLevel::Minimal {
        let message = "WAL level not sufficient for creating a restore point";
        return Err(Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .hint("wal_level must be set to \"replica\" or \"logical\" at server start."));
    }
    if name.len() > RESTORE_POINT_BYTES_MAX {
        let message = format!("value too long for restore point (maximum {RESTORE_POINT_BYTES_MAX} characters)");
        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    let end = state.instance.database().create_restore_point(name)?;
    state.log_line(format!("restore point \"{name}\" created at {end}"), None);
    Ok(Value::PgLsn(end.0))
}
