//! Frames: the places pages are held in. One slab holds the bytes of all; a header each says whose they are.
//!
//! # The state word
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0..24 | pins; a look-up that turns out wrong pins and unpins, so that a free frame's count may flicker |
//! | 24..32 | usage: raised when pinned, lowered by the clock's hand |
//! | `VALID` | the bytes are the page's; without it, and with a page id, the page is being read in under the exclusive latch |
//! | `DIRTY` | changed since the copy that was last written was taken; changes only under the page's latch |
//! | `WRITING` | a copy is on its way to disk; set by at most one thread, which also holds a pin |
//! | `CLAIMED` | one thread owns the frame to give it to another page: whoever pins it now must let go and look again |
//!
//! The page id changes only while the frame is `CLAIMED`, which needs a moment without pins: after a pin that saw no
//! `CLAIMED`, the id is stable.
#![allow(unsafe_code)]

use std::alloc::{Layout, handle_alloc_error};
use std::ptr::NonNull;

use base::{FileNumber, Lsn};
use rustix::mm;
use sync::atomic::{AtomicU32, AtomicU64, Ordering};
use sync::{LatchClass, RawLatch};

use crate::{PAGE_BYTES, PageId};

pub(crate) const PIN: u64 = 1;
pub(crate) const PIN_MASK: u64 = (1 << 24) - 1;
pub(crate) const USAGE: u64 = 1 << 24;
pub(crate) const USAGE_MASK: u64 = 0xFF << 24;
pub(crate) const VALID: u64 = 1 << 32;
pub(crate) const DIRTY: u64 = 1 << 33;
pub(crate) const WRITING: u64 = 1 << 34;
pub(crate) const CLAIMED: u64 = 1 << 35;

/// Usage is raised up to this. The field is wider, since threads that race may each add one more.
pub(crate) const USAGE_MAX: u64 = 5 * USAGE;

/// The file number of a frame that holds no page.
const NO_FILE: u64 = u64::MAX;
/// No LSN: the page is clean, or dirty by hints alone.
const NO_LSN: u64 = u64::MAX;

/// Latches of pages. Several are held at once by whoever couples them: parents before children, left before right.
pub(crate) static PAGE_LATCH: LatchClass = LatchClass::new("BufferContent", 30).several_at_once();

/// The header of a frame.
#[repr(align(64))]
pub(crate) struct Frame {
    pub(crate) state: AtomicU64,
    file: AtomicU64,
    block: AtomicU32,
    /// The next frame of the table's chain, plus one. Written under the chain's partition latch.
    pub(crate) next: AtomicU32,
    pub(crate) latch: RawLatch,
    bytes: NonNull<u8>,
    /// The end of the first record whose change is on the page and in no copy taken. Written under the exclusive latch, and
    /// under the shared one by the thread that has set `WRITING`.
    first_dirty_lsn: AtomicU64,
    /// The value of `first_dirty_lsn` when the copy that is on its way to disk was taken.
    writing_since_lsn: AtomicU64,
}

// SAFETY: `bytes` points into the slab, which lives as long as the frames do; it is read and written only through
// `Frame::bytes` and `Frame::bytes_mut`, whose callers hold the latch.
unsafe impl Send for Frame {}
// SAFETY: as above; everything else in a frame is atomic.
unsafe impl Sync for Frame {}

impl Frame {
    fn new(bytes: NonNull<u8>) -> Frame {
        Frame {
            state: AtomicU64::new(0),
            file: AtomicU64::new(NO_FILE),
            block: AtomicU32::new(0),
            next: AtomicU32::new(0),
            latch: RawLatch::new(&PAGE_LATCH),
            bytes,
            first_dirty_lsn: AtomicU64::new(NO_LSN),
            writing_since_lsn: AtomicU64::new(NO_LSN),
        }
    }

    /// The page held, as far as that is stable (see the module).
    #[inline]
    pub(crate) fn page_id(&self) -> PageId {
        PageId::new(FileNumber(self.file.load(Ordering::Relaxed)), self.block.load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn holds(&self, page: PageId) -> bool {
        self.block.load(Ordering::Relaxed) == page.block && self.file.load(Ordering::Relaxed) == page.file.0
    }

    pub(crate) fn holds_a_page(&self) -> bool {
        self.file.load(Ordering::Relaxed) != NO_FILE
    }

    /// Gives the frame, which the caller has claimed, to a page or to none.
    pub(crate) fn set_page_id(&self, page: Option<PageId>) {
        let page = page.unwrap_or(PageId::new(FileNumber(NO_FILE), 0));
        self.file.store(page.file.0, Ordering::Relaxed);
        self.block.store(page.block, Ordering::Relaxed);
    }

    /// The page's bytes.
    ///
    /// # Safety
    /// The caller holds the latch, in shared mode at least, for as long as it uses the slice.
    #[inline]
    pub(crate) unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: the slab gives each frame PAGE_BYTES initialised bytes of its own; the caller holds the latch, so that
        // nobody writes them.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr(), PAGE_BYTES) }
    }

    /// The page's bytes, to be changed.
    ///
    /// # Safety
    /// The caller holds the latch in exclusive mode for as long as it uses the slice, and makes no second one.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn bytes_mut(&self) -> &mut [u8] {
        // SAFETY: the slab gives each frame PAGE_BYTES initialised bytes of its own; the caller holds the latch
        // exclusively, so that nobody else reads or writes them.
        unsafe { std::slice::from_raw_parts_mut(self.bytes.as_ptr(), PAGE_BYTES) }
    }

    #[inline]
    pub(crate) fn unpin(&self) {
        let before = self.state.fetch_sub(PIN, Ordering::Release);
        debug_assert!(before & PIN_MASK > 0, "a page is unpinned more often than pinned");
    }

    /// Notes a change that the record ending at `lsn` describes. The caller holds the exclusive latch.
    #[inline]
    pub(crate) fn mark_dirty(&self, lsn: Lsn) {
        // The flag is lowered only under the latch, which the caller has: no need to write what is there already.
        if self.first_dirty_lsn.load(Ordering::Relaxed) == NO_LSN {
            // A thread that sees this change also sees the effects of an earlier `copy_taken`.
            self.first_dirty_lsn.store(lsn.0, Ordering::Release);
        }
        self.mark_dirty_hint();
    }

    /// Notes a change that no record describes. The caller holds the exclusive latch.
    #[inline]
    pub(crate) fn mark_dirty_hint(&self) {
        if self.state.load(Ordering::Relaxed) & DIRTY == 0 {
            self.state.fetch_or(DIRTY, Ordering::Release);
            crate::meter::count(|used| used.dirtied += 1);
        }
    }

    /// Notes that a copy of the page was taken to be written. The caller has set `WRITING` and holds the latch.
    pub(crate) fn copy_taken(&self) {
        // In this order, read in the other: somebody who looks for the oldest change meanwhile never misses both.
        self.writing_since_lsn.store(self.first_dirty_lsn.load(Ordering::Relaxed), Ordering::Relaxed);
        self.first_dirty_lsn.store(NO_LSN, Ordering::Release);
        self.state.fetch_and(!DIRTY, Ordering::AcqRel);
    }

    /// Ends the write: nothing of it remains to be done, or all of it if `copy_taken` was not reached.
    pub(crate) fn end_write(&self) {
        self.writing_since_lsn.store(NO_LSN, Ordering::Release);
        self.state.fetch_and(!WRITING, Ordering::Release);
        self.unpin();
    }

    /// Whether a change by a record that ends at or below `upto` is on the page and not on disk.
    pub(crate) fn is_dirty_since(&self, upto: Lsn) -> bool {
        self.oldest_change().is_some_and(|lsn| lsn <= upto)
    }

    /// The end of the first record whose change is not on disk.
    pub(crate) fn oldest_change(&self) -> Option<Lsn> {
        let in_memory = self.first_dirty_lsn.load(Ordering::Acquire);
        let oldest = in_memory.min(self.writing_since_lsn.load(Ordering::Acquire));
        (oldest != NO_LSN).then_some(Lsn(oldest))
    }

    /// Forgets that the page, which the caller has claimed, was dirty.
    pub(crate) fn forget_changes(&self) {
        self.first_dirty_lsn.store(NO_LSN, Ordering::Relaxed);
    }
}

/// All frames and the slab with their bytes.
pub(crate) struct Frames {
    headers: Box<[Frame]>,
    slab: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the slab is owned, and reached only through the frames' headers.
unsafe impl Send for Frames {}
// SAFETY: as above.
unsafe impl Sync for Frames {}

impl Frames {
    pub(crate) fn new(count: usize) -> Frames {
        assert!(count > 0 && count < u32::MAX as usize, "the number of frames fits the table's links");
        let bytes = count.checked_mul(PAGE_BYTES).expect("the slab fits the address space");
        let slab = map(bytes);
        let headers = (0..count)
            // SAFETY: the offset lies inside the slab.
            .map(|index| Frame::new(unsafe { slab.add(index * PAGE_BYTES) }))
            .collect();
        Frames { headers, slab, bytes }
    }

    pub(crate) fn len(&self) -> usize {
        self.headers.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Frame> {
        self.headers.iter()
    }
}

/// Maps memory that is zero, and takes none before it is touched.
fn map(bytes: usize) -> NonNull<u8> {
    let access = mm::ProtFlags::READ | mm::ProtFlags::WRITE;
    // SAFETY: no address is asked for, so nothing that exists is replaced.
    let mapped = unsafe { mm::mmap_anonymous(std::ptr::null_mut(), bytes, access, mm::MapFlags::PRIVATE) };
    let Some(slab) = mapped.ok().and_then(|slab| NonNull::new(slab.cast::<u8>())) else {
        let page = Layout::from_size_align(bytes, 4096).expect("the slab fits the address space");
        handle_alloc_error(page)
    };
    // Pages are reached at random: with small pages of the processor's, every look-up would miss its translation buffer
    // several times. Where there are no large ones it is as before.
    #[cfg(target_os = "linux")]
    // SAFETY: the range was just mapped.
    let _ = unsafe { mm::madvise(slab.as_ptr().cast(), bytes, mm::Advice::LinuxHugepage) };
    slab
}

impl std::ops::Index<u32> for Frames {
    type Output = Frame;

    #[inline]
    fn index(&self, index: u32) -> &Frame {
        &self.headers[index as usize]
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length, and no guard outlives the pool that owns the frames.
        let unmapped = unsafe { mm::munmap(self.slab.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "what was mapped can be unmapped");
    }
}
