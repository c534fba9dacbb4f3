//! The log's public face.

use std::path::Path;
use std::time::Duration;

use base::{Error, Lsn, Result, Xid};
use sync::atomic::Ordering;
use sync::{Arc, Mutex};
use vfs::Vfs;

use crate::recovery::{self, Pending, Survey};
use crate::segments::{SegmentLayout, Segments};
use crate::shared::Shared;
use crate::{
    CommitTicket, DelayPolicy, Epoch, FlushPhase, Inserted, Record, RecordHead, RmgrId, WalControl, WalOptions,
    WalReader, WalStatistics, WalTuning, record,
};

/// The questions of a leader about other transactions, before and while it waits (rule R6).
pub trait SiblingsProbe: Send + Sync {
    /// Transactions that hold an xid and do not wait for a lock, the asking one included.
    fn writers(&self) -> usize;
    /// Those of them that have not yet asked for a flush: they may still join.
    fn unjoined_writers(&self) -> usize;
}

/// The write-ahead log. Shared as `Arc<Wal>`; its threads end when it is dropped.
pub struct Wal {
    shared: Arc<Shared>,
    /// Taken by [`Wal::replay`], after which records may be inserted.
    pending: Mutex<Option<Pending>>,
}

impl Wal {
    /// Makes a new log in `dir`, which is made if needed. Its first record lies at one segment's size.
    ///
    /// # Errors
    /// 58P02 if there is a log already; 58030, 53100 and their kin.
    pub fn create(vfs: Arc<dyn Vfs>, dir: &Path, options: WalOptions) -> Result<Wal> {
        let options = checked(options)?;
        let failed = |error| Error::io("could not create the write-ahead log", &error);
        vfs.create_dir_all(dir).map_err(failed)?;
        if let Some(above) = dir.parent() {
            vfs.sync_dir(above).map_err(failed)?;
        }
        let layout = SegmentLayout::new(vfs, dir, options.segment_size_bytes);
        if !layout.numbers().map_err(failed)?.is_empty() {
            let message = format!("write-ahead log in \"{}\" exists already", dir.display());
            return Err(Error::new(base::sqlstate::DUPLICATE_FILE, message));
        }
        let begin = options.segment_size_bytes;
        let survey = Survey { tail: begin, epoch: Epoch(0), highest_epoch: Epoch(0), proven: begin };
        let wal = Wal::at_tail(layout, &options, &survey, begin, None)?;
        wal.begin_epoch(survey.epoch);
        Ok(wal)
    }

    /// Opens an existing log, in two steps: this one decides where the log ends and makes sure that it is on the disk up to
    /// there, so that [`Wal::durable`] and [`Wal::flush`] can serve page write-back while redo runs; then [`Wal::replay`].
    /// Nothing may be inserted before that has returned.
    ///
    /// # Errors
    /// XX001 if the log is damaged before its tail: nothing is changed then. 58030 and its kin.
    pub fn open(vfs: Arc<dyn Vfs>, dir: &Path, control: WalControl, options: WalOptions) -> Result<Wal> {
        let options = checked(options)?;
        let layout = SegmentLayout::new(vfs, dir, options.segment_size_bytes);
        let survey = recovery::survey(&layout, &control)?;
        recovery::secure(&layout, control.redo.0, &survey)?;
        let redo = control.redo.0;
        Wal::at_tail(layout, &options, &survey, redo, Some(Pending { control, survey }))
    }

    /// The second step of opening: gives every record from the redo point on, of another resource manager than the log
    /// itself, to `apply`; then clears what lies behind the log's tail and begins a new epoch.
    ///
    /// # Errors
    /// XX001 if a page proves the log damaged: nothing is cleared then. Any error of `apply` is passed on.
    pub fn replay(&self, apply: impl FnMut(&Record<'_>) -> Result<()>) -> Result<()> {
        let Some(pending) = self.pending.lock().take() else {
            return Err(Error::internal("the write-ahead log was replayed already"));
        };
        pending.redo(self.shared.layout(), apply)?;
        recovery::clear_behind(self.shared.layout(), pending.survey.tail)?;
        self.begin_epoch(pending.survey.epoch);
        Ok(())
    }

    /// [`Wal::open`] and [`Wal::replay`] in one.
    ///
    /// # Errors
    /// Those of both.
    pub fn recover(
        vfs: Arc<dyn Vfs>,
        dir: &Path,
        control: WalControl,
        options: WalOptions,
        apply: impl FnMut(&Record<'_>) -> Result<()>,
    ) -> Result<Wal> {
        let wal = Wal::open(vfs, dir, control, options)?;
        wal.replay(apply)?;
        Ok(wal)
    }

    fn at_tail(
        layout: SegmentLayout,
        options: &WalOptions,
        survey: &Survey,
        needed_from: u64,
        pending: Option<Pending>,
    ) -> Result<Wal> {
        let tuning = Arc::new(WalTuning::new(options));
        let device = Segments::open(layout.clone(), options, Arc::clone(&tuning), survey.tail, needed_from)
            .map_err(|error| Error::io("could not open the write-ahead log", &error))?;
        let epoch = Epoch(survey.highest_epoch.0 + 1);
        let shared = Shared::new(Box::new(device), layout, survey.tail, epoch, options, tuning);
        Ok(Wal { shared: Arc::new(shared), pending: Mutex::new(pending) })
    }

    /// Writes the first record of this start's epoch, and makes it durable.
    fn begin_epoch(&self, before: Epoch) {
        let head = RecordHead { rmgr: RmgrId::WAL, info: record::INFO_END_OF_RECOVERY, xid: Xid::INVALID };
        let inserted = self.shared.insert(head, &[&before.0.to_le_bytes()], |_| ()).0;
        self.shared.wait_in_cohort(inserted.end.0, DelayPolicy::NONE, None);
    }

    /// Inserts a record whose payload is `parts` joined. Never fails: an I/O error ends the process. May wait for room in
    /// the buffers, writing them out itself.
    ///
    /// # Panics
    /// If the payload is longer than [`crate::PAYLOAD_MAX_BYTES`].
    #[inline]
    pub fn insert(&self, head: RecordHead, parts: &[&[u8]]) -> Inserted {
        self.insert_then(head, parts, |_| ()).0
    }

    /// As [`Wal::insert`]; `under_latch` runs with the record's end while no other record can be placed. It must be short,
    /// take no latch of a lower rank, and not panic.
    #[inline]
    pub fn insert_then<R>(
        &self,
        head: RecordHead,
        parts: &[&[u8]],
        under_latch: impl FnOnce(Lsn) -> R,
    ) -> (Inserted, R) {
        debug_assert!(self.pending.lock().is_none(), "nothing is inserted before redo has ended");
        self.shared.insert(head, parts, under_latch)
    }

    /// Runs `f` with the end of the last record placed, while no other can be placed.
    pub fn at_insertion_point<R>(&self, f: impl FnOnce(Lsn) -> R) -> R {
        self.shared.insertion.at_insertion_point(f)
    }

    /// Waits until `bytes` of payload could be inserted without waiting. To be called before latches are taken.
    pub fn ensure_room(&self, bytes: usize) {
        self.shared.ensure_room(bytes);
    }

    /// Everything up to here is durable; with `fsync` off: written. At the end of a record.
    #[inline]
    pub fn durable(&self) -> Lsn {
        Lsn(self.shared.positions.durable())
    }

    /// When [`Wal::durable`] last advanced: the time of day, in microseconds since 1970; 0 if it has not since the log was opened.
    pub fn durable_at_us(&self) -> u64 {
        self.shared.durable_at_us.load(Ordering::Relaxed)
    }

    /// Everything up to here has been given to the operating system.
    pub fn written(&self) -> Lsn {
        Lsn(self.shared.positions.written())
    }

    /// The end of the contiguous completed prefix.
    pub fn inserted(&self) -> Lsn {
        Lsn(self.shared.insertion.advance().inserted)
    }

    /// The end of the last record placed; it may still be copied.
    pub fn reserved(&self) -> Lsn {
        Lsn(self.shared.insertion.reserved())
    }

    /// The epoch of this start.
    pub fn epoch(&self) -> Epoch {
        self.shared.insertion.epoch()
    }

    /// A ticket for `upto`: a future, or something to wait on.
    pub fn ticket(&self, upto: Lsn, policy: DelayPolicy) -> CommitTicket {
        CommitTicket::new(Arc::clone(&self.shared), upto.0, policy)
    }

    /// Waits until the log is durable up to `upto`; may lead the flush on this thread. Works like [`CommitTicket::wait`], but
    /// without a ticket.
    pub fn wait_durable(&self, upto: Lsn, policy: DelayPolicy) {
        self.shared.wait_durable(upto.0, policy);
    }

    /// Waits like [`Wal::wait_durable`] with the default policy: for pages that must not reach the disk before the log (rule R1).
    /// Such a wait is no commit: `group_commit = off` and `commit_delay_scope = each` do not apply to it.
    pub fn flush(&self, upto: Lsn) {
        self.shared.flush_for_pages(upto.0);
    }

    /// Turns syncing on or off. When this returns with it on, everything that counts as durable has been synced.
    pub fn set_fsync(&self, on: bool) {
        let was_on = self.tuning().fsync();
        self.tuning().set_fsync(on);
        if on && !was_on {
            // A flush that did not sync has not written this record, so one that syncs everything comes after it.
            let end = self.shared.insert_batch_mark();
            self.flush(Lsn(end));
        }
    }

    /// Asks for a flush and does not wait: listeners tell when it is done. The flusher thread leads; without one, the
    /// calling thread does. Counts as one member of the cohort.
    pub fn request_flush(&self, upto: Lsn, policy: DelayPolicy) {
        self.shared.request_flush(upto.0, policy);
    }

    /// Flushes on this thread if nobody else flushes or waits, it was quiet lately, and no delay applies; true if `upto` is
    /// durable.
    pub fn try_lead_inline(&self, upto: Lsn, policy: DelayPolicy) -> bool {
        self.shared.try_lead_inline(upto.0, policy)
    }

    /// How long a committer must sleep before it joins a cohort, with `commit_delay_scope = each` (siblings permitting).
    /// [`CommitTicket::wait`] does so itself; sessions that call [`Wal::request_flush`] do it before.
    pub fn delay_before_joining(&self, policy: DelayPolicy) -> Option<Duration> {
        self.shared.delay_before_joining(policy)
    }

    /// Adds a function that the leader calls with the new `durable` after each flush, once it has woken the members. It must
    /// be short, and must not wait for a flush.
    pub fn add_durable_listener(&self, listener: Arc<dyn Fn(Lsn) + Send + Sync>) {
        self.shared.hooks.add_listener(listener);
    }

    /// Adds a function that the leader calls with the new `durable` after all listeners: work off the reply path. Calls
    /// never overlap, and see `durable` ascending.
    pub fn add_retire_hook(&self, hook: Arc<dyn Fn(Lsn) + Send + Sync>) {
        self.shared.hooks.add_retire_hook(hook);
    }

    /// Sets whom leaders ask about other transactions. Without one, no delay is taken.
    pub fn set_siblings_probe(&self, probe: Arc<dyn crate::SiblingsProbe>) {
        self.shared.set_siblings_probe(probe);
    }

    /// Starts the thread that leads flushes under load, and the one that prepares segments.
    pub fn start_flusher_thread(&self) {
        self.shared.start_flusher_thread();
    }

    /// Starts the thread that flushes what asynchronous commits left behind, every `delay`.
    pub fn start_walwriter(&self, delay: Duration) {
        self.shared.start_walwriter(delay);
    }

    /// Ends all threads of the log. They first finish the work that was asked of them before.
    pub fn stop(&self) {
        self.shared.stop_threads();
    }

    /// Reads the log from `from`, where a record must begin, up to what is inserted now.
    ///
    /// # Errors
    /// XX001 if no record can begin there.
    pub fn reader(&self, from: Lsn) -> Result<WalReader> {
        let limit = self.shared.write_out(None);
        let layout = self.shared.layout();
        WalReader::open(Arc::clone(&layout.vfs), &layout.dir, layout.size_bytes, from, None, Lsn(limit))
    }

    /// Reads back the record that begins at `start` and ends at `end`: head and payload. Bytes that are not in the files yet
    /// are written out first.
    ///
    /// # Errors
    /// XX001 if there is none; 58030 and its kin if it can't be read.
    pub fn read_record(&self, start: Lsn, end: Lsn) -> Result<(RecordHead, Vec<u8>)> {
        while self.written() < end {
            self.shared.write_out(None);
            sync::thread::yield_now();
        }
        crate::reader::read_record(self.shared.layout().clone(), start)
    }

    /// Declares that nothing before `before` is needed any more: whole segments before it are used again or removed.
    ///
    /// # Errors
    /// A segment could not be removed (58030 and its kin). It will be tried again next time.
    pub fn recycle_before(&self, before: Lsn) -> Result<()> {
        let released = self.shared.device.release_before(before.0.min(self.shared.positions.durable()));
        self.shared.call_preparer();
        released.map_err(|error| Error::io("could not remove old segments of the write-ahead log", &error))
    }

    /// The current step of the flush's leader. A waiting committer waits for this step.
    pub fn flush_phase(&self) -> FlushPhase {
        self.shared.phase()
    }

    /// The settings that can be changed while the log is in use.
    pub fn tuning(&self) -> &WalTuning {
        &self.shared.tuning
    }

    /// The counts of the log.
    pub fn statistics(&self) -> WalStatistics {
        self.shared.statistics()
    }
}

impl Drop for Wal {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Refuses options that the log can't work with.
fn checked(options: WalOptions) -> Result<WalOptions> {
    const SMALLEST_BYTES: u64 = 4096;
    let invalid = |message: String| Err(Error::new(base::sqlstate::INVALID_PARAMETER_VALUE, message));
    if !options.segment_size_bytes.is_power_of_two() || options.segment_size_bytes < SMALLEST_BYTES {
        return invalid(format!("invalid size of a write-ahead log segment: {} bytes", options.segment_size_bytes));
    }
    if !(SMALLEST_BYTES..=8 << 30).contains(&(options.buffers_bytes as u64)) {
        return invalid(format!("invalid size of the write-ahead log's buffers: {} bytes", options.buffers_bytes));
    }
    Ok(options)
}
