//! Settings of the log.

pub use base::settings::words::{DelayScope, SyncMethod};
use sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// How long a leader waits for others to join (`commit_delay`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DelaySetting {
    /// Not at all.
    #[default]
    Off,
    /// At most so many microseconds.
    Micros(u32),
    /// At most half the measured time of a sync, and not at all where that is short.
    Auto,
}

/// The delay a committer brings with it: its session's `commit_delay` and `commit_siblings`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayPolicy {
    /// `commit_delay`
    pub delay: DelaySetting,
    /// `commit_siblings`: so many other transactions must be running for the delay to apply.
    pub siblings: u32,
}

impl DelayPolicy {
    /// No delay.
    pub const NONE: DelayPolicy = DelayPolicy { delay: DelaySetting::Off, siblings: 5 };
}

impl Default for DelayPolicy {
    fn default() -> DelayPolicy {
        DelayPolicy::NONE
    }
}

/// The settings that are fixed when the log is opened, and the first values of those that can change later.
#[derive(Clone, Debug)]
pub struct WalOptions {
    /// Size of a segment file; a power of two, at least 64 KiB. The log's first record lies at this position.
    pub segment_size_bytes: u64,
    /// `wal_buffers`: memory for records that are not yet written; rounded up to a power of two, at least 64 KiB.
    pub buffers_bytes: usize,
    /// `wal_sync_method`
    pub sync_method: SyncMethod,
    /// `wal_direct_io`: while `fsync` is on, writes go past the operating system's cache where files can be opened so.
    pub direct_io: bool,
    /// `fsync`
    pub fsync: bool,
    /// `group_commit`
    pub group_commit: bool,
    /// `commit_delay_scope`
    pub delay_scope: DelayScope,
    /// The delay of flush requests that come from no session.
    pub default_delay: DelayPolicy,
    /// Segments that a thread keeps ready beyond the one being written; 0: none, they are made when needed.
    pub segments_ahead: usize,
}

impl Default for WalOptions {
    fn default() -> WalOptions {
        WalOptions {
            segment_size_bytes: 16 << 20,
            buffers_bytes: 16 << 20,
            sync_method: SyncMethod::Fdatasync,
            direct_io: true,
            fsync: true,
            group_commit: true,
            delay_scope: DelayScope::Leader,
            default_delay: DelayPolicy::NONE,
            segments_ahead: 2,
        }
    }
}

/// `group_commit = off`
const EACH_IN_TURN: u8 = 1;
/// `commit_delay_scope = each`
const EACH_DELAYS: u8 = 2;

/// The settings that can be changed while the log is in use.
#[derive(Debug)]
pub struct WalTuning {
    fsync: AtomicBool,
    /// [`EACH_IN_TURN`] and [`EACH_DELAYS`], so that a commit asks for both with one load.
    before: AtomicU8,
    walwriter_delay_us: AtomicU64,
    default_delay: AtomicU64,
    segments_ahead: AtomicU8,
}

impl WalTuning {
    pub(crate) fn new(options: &WalOptions) -> WalTuning {
        WalTuning {
            fsync: AtomicBool::new(options.fsync),
            before: AtomicU8::new(
                if options.group_commit { 0 } else { EACH_IN_TURN }
                    | if options.delay_scope == DelayScope::Each { EACH_DELAYS } else { 0 },
            ),
            walwriter_delay_us: AtomicU64::new(200_000),
            default_delay: AtomicU64::new(pack(options.default_delay)),
            segments_ahead: AtomicU8::new(options.segments_ahead.min(255) as u8),
        }
    }

    /// `fsync`
    pub fn fsync(&self) -> bool {
        self.fsync.load(Ordering::Relaxed)
    }
    /// Changes `fsync` for flushes to come: see [`crate::Wal::set_fsync`].
    pub(crate) fn set_fsync(&self, on: bool) {
        self.fsync.store(on, Ordering::Relaxed);
    }
    /// `group_commit`
    pub fn group_commit(&self) -> bool {
        self.before.load(Ordering::Relaxed) & EACH_IN_TURN == 0
    }
    /// Changes `group_commit`.
    pub fn set_group_commit(&self, on: bool) {
        self.set_before(EACH_IN_TURN, !on);
    }
    /// `commit_delay_scope`
    pub fn delay_scope(&self) -> DelayScope {
        if self.before.load(Ordering::Relaxed) & EACH_DELAYS != 0 { DelayScope::Each } else { DelayScope::Leader }
    }
    /// Changes `commit_delay_scope`.
    pub fn set_delay_scope(&self, scope: DelayScope) {
        self.set_before(EACH_DELAYS, scope == DelayScope::Each);
    }
    /// Whether each committer waits for its flush itself, in its turn or after a delay of its own, rather than leaving it to
    /// a leader: `group_commit` is off, or `commit_delay_scope` is `each`.
    #[inline]
    pub fn each_waits(&self) -> bool {
        self.before.load(Ordering::Relaxed) != 0
    }

    fn set_before(&self, switch: u8, on: bool) {
        if on {
            self.before.fetch_or(switch, Ordering::Relaxed);
        } else {
            self.before.fetch_and(!switch, Ordering::Relaxed);
        }
    }
    /// The delay of flush requests that come from no session.
    pub fn default_delay(&self) -> DelayPolicy {
        unpack(self.default_delay.load(Ordering::Relaxed))
    }
    /// Changes the delay of flush requests that come from no session.
    pub fn set_default_delay(&self, policy: DelayPolicy) {
        self.default_delay.store(pack(policy), Ordering::Relaxed);
    }
    /// `wal_writer_delay` in microseconds.
    pub fn walwriter_delay_us(&self) -> u64 {
        self.walwriter_delay_us.load(Ordering::Relaxed)
    }
    /// Changes `wal_writer_delay`.
    pub fn set_walwriter_delay_us(&self, delay_us: u64) {
        self.walwriter_delay_us.store(delay_us, Ordering::Relaxed);
    }
    /// Segments kept ready beyond the one being written.
    pub fn segments_ahead(&self) -> usize {
        usize::from(self.segments_ahead.load(Ordering::Relaxed))
    }
}

const AUTO: u32 = u32::MAX;

/// A policy in one word, so that the first member of a cohort can leave it for the leader with one store.
pub(crate) fn pack(policy: DelayPolicy) -> u64 {
    let delay_us = match policy.delay {
        DelaySetting::Off => 0,
        DelaySetting::Micros(delay_us) => delay_us.min(AUTO - 1),
        DelaySetting::Auto => AUTO,
    };
    u64::from(delay_us) << 32 | u64::from(policy.siblings)
}

pub(crate) fn unpack(word: u64) -> DelayPolicy {
    let delay = match (word >> 32) as u32 {
        0 => DelaySetting::Off,
        AUTO => DelaySetting::Auto,
        delay_us => DelaySetting::Micros(delay_us),
    };
    DelayPolicy { delay, siblings: word as u32 }
}
