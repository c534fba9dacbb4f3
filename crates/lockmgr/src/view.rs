//! What `pg_locks` shows.

use std::time::Instant;

use base::OwnerId;

use crate::{LockMode, LockTag};

/// One row of `pg_locks`.
#[derive(Clone, Debug)]
pub struct LockView {
    /// What is locked.
    pub tag: LockTag,
    /// Who holds it or waits for it.
    pub owner: OwnerId,
    /// In which mode.
    pub mode: LockMode,
    /// Whether it is held; otherwise it is waited for.
    pub granted: bool,
    /// Whether it was taken without the shared lock table.
    pub fast_path: bool,
    /// Since when it has been waited for.
    pub waiting_since: Option<Instant>,
}
