//! The log's public face.
#![allow(unused_variables)]

use std::path::Path;
use std::time::Duration;

use base::{Lsn, Result};
use sync::Arc;
use vfs::Vfs;

use crate::{
    CommitTicket, DelayPolicy, Epoch, Inserted, Record, RecordHead, WalControl, WalOptions, WalReader, WalStatistics,
    WalTuning,
};

/// What a leader asks about other transactions before and while it waits (rule R6).
pub trait SiblingsProbe: Send + Sync {
    /// Transactions that hold an xid and do not wait for a lock, the asking one included.
    fn writers(&self) -> usize;
    /// Those of them that have not yet asked for a flush: they may still join.
    fn unjoined_writers(&self) -> usize;
}

/// The write-ahead log. Shared as `Arc<Wal>`.
pub struct Wal {}

impl Wal {
    /// Makes a new log in `dir`, which is made if needed. Its first record lies at one segment's size.
    pub fn create(vfs: Arc<dyn Vfs>, dir: &Path, options: WalOptions) -> Result<Wal> {
        todo!()
    }

    /// Opens an existing log: reads it from the redo point, gives every record of another resource manager than the log
    /// itself to `apply`, decides where it ends, clears what lies behind and begins a new epoch.
    ///
    /// # Errors
    /// XX001 if the log is damaged before its tail: nothing is changed then. Whatever `apply` fails with.
    pub fn recover(
        vfs: Arc<dyn Vfs>,
        dir: &Path,
        control: WalControl,
        options: WalOptions,
        apply: impl FnMut(&Record<'_>) -> Result<()>,
    ) -> Result<Wal> {
        todo!()
    }

    /// Inserts a record whose payload is `parts` joined. Never fails: an I/O error ends the process. May wait for room in
    /// the buffers, writing them out itself.
    pub fn insert(&self, head: RecordHead, parts: &[&[u8]]) -> Inserted {
        todo!()
    }

    /// As [`Wal::insert`]; `under_latch` runs with the record's end while no other record can be placed. It must be short,
    /// take no latch of a lower rank, and not panic.
    pub fn insert_then<R>(
        &self,
        head: RecordHead,
        parts: &[&[u8]],
        under_latch: impl FnOnce(Lsn) -> R,
    ) -> (Inserted, R) {
        todo!()
    }

    /// Runs `f` with the end of the last record placed, while no other can be placed.
    pub fn at_insertion_point<R>(&self, f: impl FnOnce(Lsn) -> R) -> R {
        todo!()
    }

    /// Waits until `bytes` of payload could be inserted without waiting. To be called before latches are taken.
    pub fn ensure_room(&self, bytes: usize) {
        todo!()
    }

    /// Everything up to here is durable; with `fsync` off: written.
    pub fn durable(&self) -> Lsn {
        todo!()
    }

    /// Everything up to here has been given to the operating system.
    pub fn written(&self) -> Lsn {
        todo!()
    }

    /// The end of the contiguous completed prefix.
    pub fn inserted(&self) -> Lsn {
        todo!()
    }

    /// The end of the last record placed; it may still be copied.
    pub fn reserved(&self) -> Lsn {
        todo!()
    }

    /// The epoch of this start.
    pub fn epoch(&self) -> Epoch {
        todo!()
    }

    /// A ticket for `upto`: a future, or something to wait on.
    pub fn ticket(&self, upto: Lsn, policy: DelayPolicy) -> CommitTicket {
        todo!()
    }

    /// Waits until the log is durable up to `upto`; may lead the flush on this thread. What [`CommitTicket::wait`] does,
    /// without a ticket.
    pub fn wait_durable(&self, upto: Lsn, policy: DelayPolicy) {
        todo!()
    }

    /// [`Wal::wait_durable`] with the default policy: for pages that must not reach the disk before the log (rule R1).
    pub fn flush(&self, upto: Lsn) {
        todo!()
    }

    /// Asks for a flush and does not wait: listeners tell when it is done. Needs the flusher thread.
    pub fn request_flush(&self, upto: Lsn, policy: DelayPolicy) {
        todo!()
    }

    /// Flushes on this thread if nobody else flushes or waits, and it was quiet lately; true if `upto` is durable.
    pub fn try_lead_inline(&self, upto: Lsn) -> bool {
        todo!()
    }

    /// How long a committer must sleep before it joins a cohort, with `commit_delay_scope = each` (siblings permitting).
    /// [`CommitTicket::wait`] does so itself; sessions that call [`Wal::request_flush`] do it before.
    pub fn delay_before_joining(&self, policy: DelayPolicy) -> Option<Duration> {
        todo!()
    }

    /// Adds a function that the leader calls with the new `durable` after each flush, once it has woken the members.
    pub fn add_durable_listener(&self, listener: Arc<dyn Fn(Lsn) + Send + Sync>) {
        todo!()
    }

    /// Adds a function that the leader calls with the new `durable` after all listeners: work off the reply path. Calls
    /// never overlap, and see `durable` ascending.
    pub fn add_retire_hook(&self, hook: Arc<dyn Fn(Lsn) + Send + Sync>) {
        todo!()
    }

    /// Sets whom leaders ask about other transactions.
    pub fn set_siblings_probe(&self, probe: Arc<dyn SiblingsProbe>) {
        todo!()
    }

    /// Starts the thread that leads flushes under load, and the one that prepares segments.
    pub fn start_flusher_thread(&self) {
        todo!()
    }

    /// Starts the thread that flushes what asynchronous commits left behind, every `delay`.
    pub fn start_walwriter(&self, delay: Duration) {
        todo!()
    }

    /// Ends all threads of the log. What they were asked for before is done first.
    pub fn stop(&self) {
        todo!()
    }

    /// Reads the log from `from`, where a record must begin, up to what is inserted now.
    pub fn reader(&self, from: Lsn) -> Result<WalReader> {
        todo!()
    }

    /// Declares that nothing before `before` is needed any more: whole segments before it are used again or removed.
    pub fn recycle_before(&self, before: Lsn) {
        todo!()
    }

    /// What can be changed while the log is in use.
    pub fn tuning(&self) -> &WalTuning {
        todo!()
    }

    /// What the log has done.
    pub fn statistics(&self) -> WalStatistics {
        todo!()
    }
}
