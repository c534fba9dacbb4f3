//! Dirty pages to disk, in batches, never before the log (R1).
//!
//! A page's way: somebody sets `WRITING` and pins the frame, latches the page in shared mode, takes a private copy, lowers
//! `DIRTY`, and lets go of the latch. From there on only the copy is used: the page may change again meanwhile and is
//! dirty again then. When the log is durable up to the copies' LSNs, the batch goes through the double-write area; then
//! `WRITING` ends. A page is never on its way twice at a time, so that writes can't overtake each other.
//!
//! A thread that looks for victims may hold page latches, so it skips pages whose latch is not free. A thread that waits for
//! a latch, or for another thread's write, has no write of its own under way.

use std::mem::ManuallyDrop;

use base::{FileNumber, Lsn};
use sync::atomic::Ordering;

use crate::doublewrite::{BATCH_PAGES_MAX, Batch};
use crate::frame::{CLAIMED, DIRTY, Frame, PIN, VALID, WRITING};
use crate::log::make_durable;
use crate::{BufferPool, PageId, PageRead, Pinned, page};

/// How far a checkpoint's write-out has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushProgress {
    /// Pages written so far.
    pub written: usize,
    /// Pages to write in all.
    pub total: usize,
}

/// Why pages are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Eviction,
    Cleaner,
    Checkpoint,
}

/// Frames whose pages are on their way to disk. When this value is dropped, after success or by a failure that unwinds, their
/// writes end.
struct UnderWay<'a> {
    frames: Vec<&'a Frame>,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.frames.iter().for_each(|frame| frame.end_write());
    }
}

/// The outcome of an attempt to take a copy of a page.
#[derive(PartialEq, Eq)]
enum Taken {
    /// The copy is in the batch.
    Copied,
    /// Nothing to write: clean, or gone.
    NotDirty,
    /// Another thread has the latch exclusively, or is writing the page already.
    InTheWay,
}

impl BufferPool {
    /// Writes those of these frames' pages that are dirty and in nobody's way. Returns how many. Never waits for a page
    /// latch; may wait for the log.
    pub(crate) fn write_frames(&self, frames: &mut [u32], cause: Cause) -> usize {
        // Others may give these frames other pages meanwhile. A sort that reads a frame's page twice could meet two orders,
        // and the library ends such a sort by a panic. So each page is read once.
        frames.sort_by_cached_key(|&index| self.frames[index].page_id());
        let mut batch = self.doublewrite.begin();
        let mut under_way = UnderWay { frames: Vec::with_capacity(frames.len()) };
        for &index in &*frames {
            self.take_copy(index, None, &mut batch, &mut under_way);
        }
        self.write_batch(batch, under_way, cause)
    }

    /// Takes a copy of the page in frame `index` without waiting for anything.
    fn take_copy<'a>(
        &'a self,
        index: u32,
        page: Option<PageId>,
        batch: &mut Batch<'_>,
        under_way: &mut UnderWay<'a>,
    ) -> Taken {
        let (begun, frame) = self.begin_write(index, page);
        if begun != Taken::Copied {
            return begun;
        }
        // The pin that the write has; it ends with the write.
        let pinned = ManuallyDrop::new(Pinned::new(frame));
        let Some(view) = pinned.try_read() else {
            frame.end_write();
            return Taken::InTheWay;
        };
        self.copy(frame, &view, batch);
        drop(view);
        under_way.frames.push(frame);
        Taken::Copied
    }

    /// Sets `WRITING` and pins the frame, if its page is dirty and, should `page` be given, still that page.
    fn begin_write(&self, index: u32, page: Option<PageId>) -> (Taken, &Frame) {
        let frame = &self.frames[index];
        let mut seen = frame.state.load(Ordering::Relaxed);
        loop {
            if seen & WRITING != 0 {
                return (Taken::InTheWay, frame);
            }
            if seen & (VALID | DIRTY | CLAIMED) != VALID | DIRTY {
                return (Taken::NotDirty, frame);
            }
            match frame.state.compare_exchange_weak(seen, (seen | WRITING) + PIN, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => seen = now,
            }
        }
        // From here on the frame keeps its page.
        if page.is_some_and(|page| !frame.holds(page)) {
            frame.end_write();
            return (Taken::NotDirty, frame);
        }
        (Taken::Copied, frame)
    }

    /// Takes a copy of a page that the caller has latched, and whose write has begun.
    fn copy(&self, frame: &Frame, view: &PageRead<'_>, batch: &mut Batch<'_>) {
        let page = frame.page_id();
        batch.push(page.file.0, page.block).copy_from_slice(view);
        frame.copy_taken();
    }

    /// Writes a batch of copies and ends their writes.
    fn write_batch(&self, batch: Batch<'_>, under_way: UnderWay<'_>, cause: Cause) -> usize {
        let pages = under_way.frames.len();
        if pages > 0 {
            make_durable(&*self.log, batch.pages().map(page::page_lsn).max().unwrap_or(Lsn::ZERO));
            batch.write(|file| self.files.handle(&self.files.get_to_write_back(FileNumber(file))?));
            self.counters.count_written(cause, pages);
        }
        pages
    }

    /// Writes all pages dirtied by records that end at or below `upto`. On return their changes are durable in place,
    /// whoever wrote them. `pace` is called between batches and may sleep. The caller holds no page latch.
    pub fn flush_dirty(&self, upto: Lsn, pace: &mut dyn FnMut(FlushProgress)) {
        self.flush_where(|frame| frame.is_dirty_since(upto), pace);
    }

    /// Writes all dirty pages, those with hints only too. The caller holds no page latch.
    pub fn flush_all(&self) {
        self.flush_where(is_dirty_or_written, &mut |_| {});
    }

    /// Writes all dirty pages of a file, those with hints only too. The caller holds no page latch.
    pub fn flush_file(&self, file: FileNumber) {
        self.flush_where(|frame| frame.page_id().file == file && is_dirty_or_written(frame), &mut |_| {});
    }

    fn flush_where(&self, wanted: impl Fn(&Frame) -> bool, pace: &mut dyn FnMut(FlushProgress)) {
        // A record was inserted by somebody who had its page's latch, and has it until the page is marked dirty: a latch
        // that is free now hides nothing, and one that is not is waited for.
        let mut to_write: Vec<(PageId, u32)> = (0..self.frames.len() as u32)
            .filter(|&index| {
                let frame = &self.frames[index];
                frame.holds_a_page() && (frame.latch.is_locked_exclusive() || wanted(frame))
            })
            .map(|index| (self.frames[index].page_id(), index))
            .collect();
        to_write.sort_unstable();
        let mut progress = FlushProgress { written: 0, total: to_write.len() };
        for chunk in to_write.chunks(BATCH_PAGES_MAX) {
            let mut waited_for = Vec::new();
            let mut batch = self.doublewrite.begin();
            let mut under_way = UnderWay { frames: Vec::with_capacity(chunk.len()) };
            for &(page, index) in chunk {
                // A page that went out of its frame was written before it did.
                if self.frames[index].holds(page)
                    && self.take_copy(index, Some(page), &mut batch, &mut under_way) != Taken::Copied
                {
                    waited_for.push((page, index));
                }
            }
            self.write_batch(batch, under_way, Cause::Checkpoint);
            for (page, index) in waited_for {
                self.flush_one_waiting(page, index, &wanted);
            }
            progress.written += chunk.len();
            pace(progress);
        }
    }

    /// Waits until a page's latch has been free and nobody writes it, and writes it if it is wanted then.
    fn flush_one_waiting(&self, page: PageId, index: u32, wanted: &impl Fn(&Frame) -> bool) {
        let Some(pinned) = self.pin_if_cached(page) else { return };
        drop(pinned.read());
        let mut rounds = 0;
        // The pin holds the page in its frame, which may be another one than before: then it was written in between.
        while wanted(&self.frames[index]) && self.frames[index].holds(page) {
            let (begun, frame) = self.begin_write(index, Some(page));
            match begun {
                Taken::NotDirty => return,
                Taken::InTheWay => backoff(&mut rounds),
                Taken::Copied => {
                    // The latch before the place in the area: whoever has the latch may need one.
                    let view = pinned.read();
                    let mut batch = self.doublewrite.begin();
                    let under_way = UnderWay { frames: vec![frame] };
                    self.copy(frame, &view, &mut batch);
                    drop(view);
                    self.write_batch(batch, under_way, Cause::Checkpoint);
                    return;
                }
            }
        }
    }
}

/// Whether the page differs from what is on disk for certain.
fn is_dirty_or_written(frame: &Frame) -> bool {
    frame.state.load(Ordering::Acquire) & (DIRTY | WRITING) != 0
}

/// Waits a little for somebody else's write.
fn backoff(rounds: &mut u32) {
    *rounds += 1;
    if *rounds < 16 || cfg!(shuttle) {
        sync::thread::yield_now();
    } else {
        std::thread::sleep(std::time::Duration::from_micros(50));
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rand::rngs::StdRng;
    use rand::seq::SliceRandom;
    use rand::{Rng, SeedableRng};
    use sync::Arc;
    use vfs::{RealVfs, Vfs};

    use super::*;
    use crate::log::LateLog;
    use crate::{BufferPoolOptions, DoubleWrite, DoubleWriteOptions};

    const FILE: FileNumber = FileNumber(16384);
    const FRAMES: u32 = 2048;

    fn pool_with_a_larger_file(directory: &std::path::Path) -> BufferPool {
        let vfs: Arc<dyn Vfs> = Arc::new(RealVfs::new());
        let doublewrite = DoubleWrite::open(vfs.clone(), directory, DoubleWriteOptions::default()).unwrap();
        let options = BufferPoolOptions { frames: FRAMES as usize, ..BufferPoolOptions::default() };
        let log = Arc::new(LateLog::default());
        let pool = BufferPool::new(vfs, &directory.join("base"), log, doublewrite, options).unwrap();
        pool.create_file(FILE).unwrap();
        (0..2 * FRAMES).for_each(|_| drop(pool.pin_new(FILE).unwrap()));
        pool.flush_all();
        pool
    }

    #[test]
    fn frames_that_get_other_pages_while_they_are_sorted_disturb_nobody() {
        let directory = tempfile::tempdir().unwrap();
        let pool = pool_with_a_larger_file(directory.path());
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut random = StdRng::seed_from_u64(1);
                while !is_over.load(Ordering::Relaxed) {
                    drop(pool.pin(PageId::new(FILE, random.random_range(0..2 * FRAMES))).unwrap());
                }
            });
            let mut frames: Vec<u32> = (0..FRAMES).collect();
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                for _ in 0..3000 {
                    frames.shuffle(&mut StdRng::seed_from_u64(2));
                    assert_eq!(pool.write_frames(&mut frames, Cause::Eviction), 0);
                }
            }));
            is_over.store(true, Ordering::Relaxed);
            outcome.unwrap();
        });
    }
}
