//! Pins and latched views of pages.
//!
//! A pin keeps a page in its frame; a latched view gives its bytes. Neither may live across a wait: a coroutine that is
//! suspended with a latch would block the thread that it needs to go on.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};

use base::Lsn;
use sync::atomic::Ordering;

use crate::frame::{Frame, PIN};
use crate::{PageId, page};

/// A page that stays in the cache, not latched: others may change it.
pub struct Pinned<'a> {
    frame: &'a Frame,
    not_send: PhantomData<*const ()>,
}

impl<'a> Pinned<'a> {
    /// Takes over a pin that the caller has.
    #[inline]
    pub(crate) fn new(frame: &'a Frame) -> Pinned<'a> {
        Pinned { frame, not_send: PhantomData }
    }

    /// Which page this is.
    #[inline]
    pub fn page_id(&self) -> PageId {
        self.frame.page_id()
    }

    /// The page, latched in shared mode.
    #[inline]
    pub fn read(&self) -> PageRead<'_> {
        self.frame.latch.lock_shared();
        PageRead { frame: self.frame, owns_pin: false, not_send: PhantomData }
    }

    /// The page, latched in exclusive mode.
    #[inline]
    pub fn write(&self) -> PageWrite<'_> {
        self.frame.latch.lock_exclusive();
        PageWrite { frame: self.frame, owns_pin: false, not_send: PhantomData }
    }

    /// The page in shared mode, if that needs no waiting.
    #[inline]
    pub fn try_read(&self) -> Option<PageRead<'_>> {
        let locked = self.frame.latch.try_lock_shared();
        locked.then(|| PageRead { frame: self.frame, owns_pin: false, not_send: PhantomData })
    }

    /// The page in exclusive mode, if that needs no waiting.
    #[inline]
    pub fn try_write(&self) -> Option<PageWrite<'_>> {
        let locked = self.frame.latch.try_lock_exclusive();
        locked.then(|| PageWrite { frame: self.frame, owns_pin: false, not_send: PhantomData })
    }

    /// Latches in shared mode; the view takes the pin with it.
    #[inline]
    pub fn into_read(self) -> PageRead<'a> {
        self.frame.latch.lock_shared();
        PageRead { frame: self.give_up_pin(), owns_pin: true, not_send: PhantomData }
    }

    /// Latches in exclusive mode; the view takes the pin with it.
    #[inline]
    pub fn into_write(self) -> PageWrite<'a> {
        self.frame.latch.lock_exclusive();
        self.into_latched_write()
    }

    /// The view of a page that the caller has latched in exclusive mode already.
    pub(crate) fn into_latched_write(self) -> PageWrite<'a> {
        PageWrite { frame: self.give_up_pin(), owns_pin: true, not_send: PhantomData }
    }

    fn give_up_pin(self) -> &'a Frame {
        let frame = self.frame;
        mem::forget(self);
        frame
    }
}

impl Drop for Pinned<'_> {
    #[inline]
    fn drop(&mut self) {
        self.frame.unpin();
    }
}

/// A page latched in shared mode: its bytes don't change.
pub struct PageRead<'a> {
    frame: &'a Frame,
    owns_pin: bool,
    not_send: PhantomData<*const ()>,
}

impl<'a> PageRead<'a> {
    /// Which page this is.
    #[inline]
    pub fn page_id(&self) -> PageId {
        self.frame.page_id()
    }

    /// The page's LSN.
    #[inline]
    pub fn lsn(&self) -> Lsn {
        page::page_lsn(self)
    }

    /// Gives up the latch and keeps (or takes) a pin.
    pub fn into_pinned(self) -> Pinned<'a> {
        let pinned = keep_pin(self.frame, self.owns_pin);
        self.frame.latch.unlock_shared();
        mem::forget(self);
        pinned
    }
}

/// A pin of a frame on which the caller has one, taking that over if `owns_pin`.
fn keep_pin(frame: &Frame, owns_pin: bool) -> Pinned<'_> {
    if !owns_pin {
        frame.state.fetch_add(PIN, Ordering::Relaxed);
    }
    Pinned::new(frame)
}

impl Deref for PageRead<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: this guard holds the latch in shared mode, and the slice does not outlive it.
        unsafe { self.frame.bytes() }
    }
}

impl Drop for PageRead<'_> {
    #[inline]
    fn drop(&mut self) {
        self.frame.latch.unlock_shared();
        if self.owns_pin {
            self.frame.unpin();
        }
    }
}

/// A page latched in exclusive mode.
///
/// A caller that changes bytes calls [`PageWrite::set_lsn`] with the end of the record that describes the change, or
/// [`PageWrite::mark_dirty_hint`], before the latch is given up. Without this call the change may be lost when the frame is
/// reused.
pub struct PageWrite<'a> {
    frame: &'a Frame,
    owns_pin: bool,
    not_send: PhantomData<*const ()>,
}

impl<'a> PageWrite<'a> {
    /// Which page this is.
    #[inline]
    pub fn page_id(&self) -> PageId {
        self.frame.page_id()
    }

    /// The page's LSN.
    #[inline]
    pub fn lsn(&self) -> Lsn {
        page::page_lsn(self)
    }

    /// Sets the page's LSN to the end of the record that describes the change, and marks the page dirty.
    #[inline]
    pub fn set_lsn(&mut self, lsn: Lsn) {
        debug_assert!(self.lsn() <= lsn, "a page's LSN never goes back");
        page::set_page_lsn(self, lsn);
        self.frame.mark_dirty(lsn);
    }

    /// Marks the page dirty for a change that may be lost and that no record describes.
    #[inline]
    pub fn mark_dirty_hint(&mut self) {
        self.frame.mark_dirty_hint();
    }

    /// Keeps the latch, in shared mode.
    pub fn downgrade(self) -> PageRead<'a> {
        self.frame.latch.downgrade();
        let read = PageRead { frame: self.frame, owns_pin: self.owns_pin, not_send: PhantomData };
        mem::forget(self);
        read
    }

    /// Gives up the latch and keeps (or takes) a pin.
    pub fn into_pinned(self) -> Pinned<'a> {
        let pinned = keep_pin(self.frame, self.owns_pin);
        self.frame.latch.unlock_exclusive();
        mem::forget(self);
        pinned
    }
}

impl Deref for PageWrite<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: this guard holds the latch in exclusive mode; the slice borrows it, so that no mutable one exists.
        unsafe { self.frame.bytes() }
    }
}

impl DerefMut for PageWrite<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: this guard holds the latch in exclusive mode; the slice borrows it mutably, so that it is the only one.
        unsafe { self.frame.bytes_mut() }
    }
}

impl Drop for PageWrite<'_> {
    #[inline]
    fn drop(&mut self) {
        self.frame.latch.unlock_exclusive();
        if self.owns_pin {
            self.frame.unpin();
        }
    }
}
