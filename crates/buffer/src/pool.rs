//! The page cache: finding, pinning, reading in and extending.
//!
//! A hit takes no lock: it looks for the page in the table, pins the frame with one atomic addition, and looks again at the
//! frame's page id, which a pin holds still. Everything else goes through the latch of the page's partition.

use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use base::{Error, FileNumber, Lsn, Result};
use sync::atomic::{AtomicUsize, Ordering};
use sync::{Arc, Mutex};
use vfs::descriptors::FileShare;
use vfs::{OpenMode, Vfs};

use crate::apart::call_on_file_thread;
use crate::files::{Files, RelationFile};
use crate::frame::{CLAIMED, Frame, Frames, PIN, PIN_MASK, USAGE, USAGE_MASK, USAGE_MAX, VALID};
use crate::statistics::Counters;
use crate::sweep::{Claim, Cleaner};
use crate::table::Table;
use crate::truncations::Truncations;
use crate::{BufferStatistics, DoubleWrite, DurableLog, PAGE_BYTES, PageId, PageWrite, Pinned, page};

/// The fewest frames a pool works with: a session may hold a few pins at once.
const FRAMES_MIN: usize = 16;

/// How a [`BufferPool`] is set up.
#[derive(Clone, Debug)]
pub struct BufferPoolOptions {
    /// Pages held in memory (`shared_buffers`); at least 16.
    pub frames: usize,
    /// Files held open at a time, beside the one that each thread uses at the moment.
    pub open_files: usize,
}

impl Default for BufferPoolOptions {
    fn default() -> Self {
        BufferPoolOptions { frames: 16384, open_files: FileShare::of_process().tables }
    }
}

/// How a page is going to be used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Again, perhaps: its usage is raised.
    Normal,
    /// Once, by a scan that must not drive out what others use.
    Scan,
}

/// The outcome of an attempt to give a frame to a page.
#[derive(PartialEq, Eq)]
enum Published {
    /// The frame has the page now.
    Done,
    /// Another frame has it.
    Elsewhere,
    /// The page may not come into the cache: its file is being removed, or the block was cut off.
    Refused,
}

/// The page cache over the files in `base/`.
pub struct BufferPool {
    pub(crate) frames: Frames,
    pub(crate) table: Table,
    pub(crate) files: Files,
    pub(crate) log: Arc<dyn DurableLog>,
    pub(crate) doublewrite: Arc<DoubleWrite>,
    /// Where the clock stands; counts on for ever.
    pub(crate) hand: AtomicUsize,
    /// Held while pages are written ahead of the hand; never waited for.
    pub(crate) cleaner: Mutex<Cleaner>,
    pub(crate) counters: Counters,
    truncations: Truncations,
}

impl BufferPool {
    /// An empty cache over the files in `base_dir`, which is made if needed.
    pub fn new(
        vfs: Arc<dyn Vfs>,
        base_dir: &Path,
        log: Arc<dyn DurableLog>,
        doublewrite: Arc<DoubleWrite>,
        options: BufferPoolOptions,
    ) -> Result<BufferPool> {
        let frames = options.frames.max(FRAMES_MIN);
        Ok(BufferPool {
            frames: Frames::new(frames),
            table: Table::new(frames),
            files: Files::new(vfs, base_dir, options.open_files)?,
            log,
            doublewrite,
            hand: AtomicUsize::new(0),
            cleaner: Mutex::new(Cleaner::default()),
            counters: Counters::default(),
            truncations: Truncations::default(),
        })
    }

    /// Pins a page, reading it in if needed. XX001 if it is damaged or lies beyond the file's end, 58030 if it can't be
    /// read, 53000 if every frame is pinned.
    #[inline]
    pub fn pin(&self, page: PageId) -> Result<Pinned<'_>> {
        self.pin_with(page, Access::Normal)
    }

    /// As [`BufferPool::pin`], for a page that is read once by a large scan: it is the first to go again.
    #[inline]
    pub fn pin_for_scan(&self, page: PageId) -> Result<Pinned<'_>> {
        self.pin_with(page, Access::Scan)
    }

    /// Pins a page if it is in memory.
    pub fn pin_if_cached(&self, page: PageId) -> Option<Pinned<'_>> {
        let index = self.table.find(&self.frames, page)?;
        self.try_pin(index, page, Access::Normal)
    }

    #[inline]
    fn pin_with(&self, page: PageId, access: Access) -> Result<Pinned<'_>> {
        if let Some(index) = self.table.find(&self.frames, page)
            && let Some(pinned) = self.try_pin(index, page, access)
        {
            return Ok(pinned);
        }
        self.pin_slow(page, access)
    }

    /// Pins a frame if it holds `page`, waiting for its bytes to be read in.
    #[inline]
    fn try_pin(&self, index: u32, page: PageId, access: Access) -> Option<Pinned<'_>> {
        let frame = &self.frames[index];
        let raise = access == Access::Normal && frame.state.load(Ordering::Relaxed) & USAGE_MASK < USAGE_MAX;
        let before = frame.state.fetch_add(if raise { PIN + USAGE } else { PIN }, Ordering::Acquire);
        let pinned = Pinned::new(frame);
        if before & (VALID | CLAIMED) == VALID && frame.holds(page) {
            self.counters.count_hit();
            return Some(pinned);
        }
        if before & CLAIMED != 0 || !frame.holds(page) {
            return None;
        }
        // Somebody is reading it in, under the exclusive latch.
        drop(pinned.read());
        if frame.state.load(Ordering::Acquire) & VALID == 0 {
            return None;
        }
        self.counters.count_hit();
        Some(pinned)
    }

    #[cold]
    fn pin_slow(&self, page: PageId, access: Access) -> Result<Pinned<'_>> {
        loop {
            let found = self.table.latch(page).find(&self.frames, page);
            if let Some(index) = found {
                if let Some(pinned) = self.try_pin(index, page, access) {
                    return Ok(pinned);
                }
                // It is just being given to another page, or could not be read: look again when that is over.
                sync::thread::yield_now();
                continue;
            }
            let relation = self.files.get(page.file)?;
            if page.block >= relation.blocks() {
                let message = format!("could not read block {} in file \"base/{}\"", page.block, page.file);
                return Err(Error::corrupted(message).detail(format!("The file has {} blocks.", relation.blocks())));
            }
            let victim = self.take_victim()?;
            let frame = &self.frames[victim];
            frame.latch.lock_exclusive();
            if self.publish(victim, page, access, || relation.has(page.block)) != Published::Done {
                frame.latch.unlock_exclusive();
                self.release_victim(victim);
                continue;
            }
            let view = Pinned::new(frame).into_latched_write();
            return self.read_in(&relation, victim, view);
        }
    }

    /// Gives a claimed and latched frame to `page`, with a pin for the caller, unless another frame holds it already or the
    /// page may not come. The latter is asked under the latch of the page's partition. [`BufferPool::discard`]
    /// passes all these latches before it looks for pages that have come: later ones are refused.
    fn publish(&self, victim: u32, page: PageId, access: Access, may_come: impl FnOnce() -> bool) -> Published {
        let frame = &self.frames[victim];
        let partition = self.table.latch(page);
        if partition.find(&self.frames, page).is_some() {
            return Published::Elsewhere;
        }
        if !may_come() {
            return Published::Refused;
        }
        frame.set_page_id(Some(page));
        let usage = if access == Access::Normal { USAGE } else { 0 };
        set_state(frame, PIN + usage);
        partition.insert(&self.frames, page, victim);
        Published::Done
    }

    /// Gives back a frame that was claimed and is not needed: the clock will find it.
    fn release_victim(&self, victim: u32) {
        set_state(&self.frames[victim], 0);
    }

    /// Reads a page into a frame that is published without being valid.
    fn read_in<'a>(&'a self, relation: &Arc<RelationFile>, index: u32, mut view: PageWrite<'a>) -> Result<Pinned<'a>> {
        let page = view.page_id();
        match self.read_block(relation, page.block, &mut view) {
            Ok(()) => {
                self.frames[index].state.fetch_or(VALID, Ordering::Release);
                self.counters.count_read();
                Ok(view.into_pinned())
            }
            Err(error) => {
                // Those who wait for the latch find the page invalid, and try for themselves. The frame is free when
                // the last of them has let go.
                let partition = self.table.latch(page);
                partition.remove(&self.frames, page, index);
                self.frames[index].set_page_id(None);
                drop(partition);
                drop(view);
                Err(error)
            }
        }
    }

    fn read_block(&self, relation: &Arc<RelationFile>, block: u32, bytes: &mut [u8]) -> Result<()> {
        let file = relation.number;
        let handle = self.files.handle(relation)?;
        handle.read_exact_at(bytes, u64::from(block) * PAGE_BYTES as u64).map_err(|error| {
            let message = format!("could not read block {block} in file \"base/{file}\"");
            if error.kind() == ErrorKind::UnexpectedEof {
                Error::corrupted(message).detail("The file is shorter than it was.")
            } else {
                Error::io(message, &error)
            }
        })?;
        if !page::is_valid(bytes, file.0, block) {
            let detail = format!(
                "The page's checksum is {:08X}, but its content has {:08X}.",
                page::page_checksum(bytes),
                page::compute_checksum(bytes, file.0, block)
            );
            let message = format!("invalid page in block {block} of relation file base/{file}");
            return Err(Error::corrupted(message).detail(detail));
        }
        Ok(())
    }

    /// Extends a file by a page of zeros, latched from the moment it exists: others find the block as soon as it does.
    /// 53100 if the disk is full.
    pub fn pin_new(&self, file: FileNumber) -> Result<PageWrite<'_>> {
        let relation = self.files.get(file)?;
        let victim = self.take_victim()?;
        let frame = &self.frames[victim];
        frame.latch.lock_exclusive();
        let published = self.files.extend(&relation, |block| {
            // Nobody asks for a block that the file does not have yet, and the file is neither cut nor marked meanwhile.
            if self.publish(victim, PageId::new(file, block), Access::Normal, || true) == Published::Done {
                return Ok(());
            }
            Err(Error::internal(format!("block {block} beyond the end of file \"base/{file}\" is in the cache")))
        });
        if let Err(error) = published {
            frame.latch.unlock_exclusive();
            self.release_victim(victim);
            return Err(error);
        }
        let mut view = Pinned::new(frame).into_latched_write();
        view.fill(0);
        frame.state.fetch_or(VALID, Ordering::Release);
        self.counters.count_extension();
        Ok(view)
    }

    /// Pins a page for redo: a file or page that does not exist is made, of zeros. See [`BufferPool::create_file_for_redo`].
    pub fn pin_for_redo(&self, page: PageId) -> Result<Pinned<'_>> {
        if let Some(pinned) = self.pin_if_cached(page) {
            return Ok(pinned);
        }
        let relation = self.files.create_if_missing(page.file)?;
        let blocks = page.block.checked_add(1).ok_or_else(|| Error::corrupted("a block number is out of range"))?;
        self.files.extend_for_redo(&relation, blocks)?;
        self.pin(page)
    }

    /// How many blocks a file has.
    pub fn block_count(&self, file: FileNumber) -> Result<u32> {
        self.files.blocks(file)
    }

    /// Turns syncing of pages on or off, those of the commit log among them: see [`DoubleWrite::set_fsync`].
    pub fn set_fsync(&self, on: bool) {
        self.doublewrite.set_fsync(on);
    }

    /// Makes an empty file; its name is durable on return. 58P02 if it exists.
    pub fn create_file(&self, file: FileNumber) -> Result<()> {
        self.files.create(file, OpenMode::CreateNew).map(drop)
    }

    /// As [`BufferPool::create_file`], for redo: no error if it exists, and its name is durable after
    /// [`BufferPool::finish_redo`] only.
    pub fn create_file_for_redo(&self, file: FileNumber) -> Result<()> {
        self.files.create_if_missing(file).map(drop)
    }

    /// Makes the names of all files durable that redo has made, and of those that a process made that was killed.
    pub fn finish_redo(&self) {
        self.files.sync_directory();
    }

    /// Forgets the pages of files, written or not, and removes the files; that is durable on return. Returns the files that
    /// could not be removed, and why; one that does not exist is no error. The files are in ascending order.
    ///
    /// A request for a page of them fails with 58P01 from now on. This waits for pages that are pinned.
    pub fn drop_files(&self, files: &[FileNumber]) -> Vec<(FileNumber, Error)> {
        debug_assert!(files.is_sorted());
        self.files.begin_removal(files);
        self.discard(|page| files.binary_search(&page.file).is_ok());
        self.files.remove(files)
    }

    /// Cuts a file to `blocks` blocks, after `log` has inserted the record that says so and that record is durable. Returns
    /// the record's end; nothing if the file is as short already. Nobody else may be using what is cut off.
    ///
    /// An error comes before anything is logged. From then on a failure or a panic ends the process (R4): a crash would cut the
    /// file, so nobody may go on with one that is not cut.
    pub fn truncate_file(
        self: &Arc<Self>,
        file: FileNumber,
        blocks: u32,
        log: impl FnOnce() -> Lsn,
    ) -> Result<Option<Lsn>> {
        let relation = self.files.get(file)?;
        if blocks >= relation.blocks() {
            return Ok(None);
        }
        // Not held while the log is waited for: it only has to be seen that the file can be opened.
        drop(self.files.handle(&relation)?);
        let _under_way = self.truncations.begin();
        let cut = catch_unwind(AssertUnwindSafe(|| {
            let end = log();
            self.log.flush(end);
            let pool = Arc::clone(self);
            call_on_file_thread(move || pool.files.truncate(&relation, blocks, || pool.discard_tail(file, blocks)))?;
            Ok::<_, Error>(end)
        }));
        match cut {
            Ok(Ok(end)) => Ok(Some(end)),
            Ok(Err(error)) => self.files.vfs().fail_stop(&error.to_string()),
            // The panic's own message is in the log.
            Err(_) => self.files.vfs().fail_stop(&format!("could not truncate file \"base/{file}\": internal error")),
        }
    }

    /// As [`BufferPool::truncate_file`], for redo, which has read the record.
    pub fn truncate_file_for_redo(&self, file: FileNumber, blocks: u32) -> Result<()> {
        let relation = self.files.get(file)?;
        if blocks >= relation.blocks() {
            return Ok(());
        }
        self.files.truncate(&relation, blocks, || self.discard_tail(file, blocks))
    }

    /// Waits until every file is cut whose cutting is under way. A checkpoint does this when it has its redo point. The
    /// pages that are cut off are forgotten without being written, and the record that cuts them may lie below the redo
    /// point: without this wait a crash would bring back what those pages were before they were emptied.
    pub fn finish_truncations(&self) {
        self.truncations.finish();
    }

    /// Forgets the cached pages of a file from block `from` on.
    fn discard_tail(&self, file: FileNumber, from: u32) {
        self.discard(|page| page.file == file && page.block >= from);
    }

    /// Forgets cached pages. More of them are refused already.
    fn discard(&self, is_unwanted: impl Fn(PageId) -> bool) {
        self.table.pass_latches();
        let wanted = |frame: &Frame| is_unwanted(frame.page_id());
        for index in 0..self.frames.len() as u32 {
            let frame = &self.frames[index];
            while wanted(frame) {
                if !self.try_claim(index, Claim::EvenDirty) {
                    // A write that is under way ends by itself, and so does the pin of somebody who looks the page over.
                    sync::thread::yield_now();
                } else if wanted(frame) {
                    self.detach(index);
                    frame.forget_changes();
                    self.release_victim(index);
                } else {
                    self.unclaim(index);
                }
            }
        }
    }

    /// Whether the file exists.
    pub fn file_exists(&self, file: FileNumber) -> bool {
        self.files.exists(file)
    }

    /// The files that exist, sorted.
    pub fn list_files(&self) -> Result<Vec<FileNumber>> {
        self.files.list()
    }

    /// The files that exist and that `is_known` does not know: left behind by a crash.
    pub fn orphans(&self, is_known: impl Fn(FileNumber) -> bool) -> Result<Vec<FileNumber>> {
        Ok(self.list_files()?.into_iter().filter(|&file| !is_known(file)).collect())
    }

    /// The end of the oldest record whose change is on a dirty page.
    pub fn oldest_dirty_lsn(&self) -> Option<Lsn> {
        self.frames.iter().filter_map(Frame::oldest_change).min()
    }

    /// How many frames there are.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Returns the counts so far.
    pub fn statistics(&self) -> BufferStatistics {
        self.counters.read(self.doublewrite.batches(), self.doublewrite.syncs())
    }
}

/// Sets everything in a claimed frame's state but the pins that come and go by mistake; `state` may add a pin.
pub(crate) fn set_state(frame: &Frame, state: u64) {
    let mut old = frame.state.load(Ordering::Relaxed);
    while let Err(now) =
        frame.state.compare_exchange_weak(old, (old & PIN_MASK) + state, Ordering::AcqRel, Ordering::Relaxed)
    {
        old = now;
    }
}
