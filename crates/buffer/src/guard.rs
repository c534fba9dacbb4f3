//! Pins and latched views of pages.
#![allow(unused_variables)]

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use base::Lsn;

use crate::{BufferPool, PageId};

/// A page that stays in the cache, not latched: others may change it.
pub struct Pinned<'a> {
    pool: &'a BufferPool,
    frame: u32,
}

impl<'a> Pinned<'a> {
    /// Which page this is.
    pub fn page_id(&self) -> PageId {
        todo!()
    }

    /// The page, latched in shared mode.
    #[inline]
    pub fn read(&self) -> PageRead<'_> {
        todo!()
    }

    /// The page, latched in exclusive mode.
    #[inline]
    pub fn write(&self) -> PageWrite<'_> {
        todo!()
    }

    /// The page in shared mode, if that needs no waiting.
    pub fn try_read(&self) -> Option<PageRead<'_>> {
        todo!()
    }

    /// The page in exclusive mode, if that needs no waiting.
    pub fn try_write(&self) -> Option<PageWrite<'_>> {
        todo!()
    }

    /// Latches in shared mode; the view takes the pin with it.
    pub fn into_read(self) -> PageRead<'a> {
        todo!()
    }

    /// Latches in exclusive mode; the view takes the pin with it.
    pub fn into_write(self) -> PageWrite<'a> {
        todo!()
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        todo!()
    }
}

/// A page latched in shared mode: its bytes don't change.
pub struct PageRead<'a> {
    pool: &'a BufferPool,
    frame: u32,
    owns_pin: bool,
    not_send: PhantomData<*const ()>,
}

impl<'a> PageRead<'a> {
    /// Which page this is.
    pub fn page_id(&self) -> PageId {
        todo!()
    }

    /// The page's LSN.
    pub fn lsn(&self) -> Lsn {
        crate::page_lsn(self)
    }

    /// Gives up the latch and keeps (or takes) a pin.
    pub fn into_pinned(self) -> Pinned<'a> {
        todo!()
    }
}

impl Deref for PageRead<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        todo!()
    }
}

impl Drop for PageRead<'_> {
    fn drop(&mut self) {
        todo!()
    }
}

/// A page latched in exclusive mode.
///
/// Whoever changes bytes calls [`PageWrite::set_lsn`] with the end of the record that describes the change, or
/// [`PageWrite::mark_dirty_hint`], before the latch is given up: otherwise the change may be lost when the frame is reused.
pub struct PageWrite<'a> {
    pool: &'a BufferPool,
    frame: u32,
    owns_pin: bool,
    not_send: PhantomData<*const ()>,
}

impl<'a> PageWrite<'a> {
    /// Which page this is.
    pub fn page_id(&self) -> PageId {
        todo!()
    }

    /// The page's LSN.
    pub fn lsn(&self) -> Lsn {
        crate::page_lsn(self)
    }

    /// Sets the page's LSN to the end of the record that describes the change, and marks the page dirty.
    #[inline]
    pub fn set_lsn(&mut self, lsn: Lsn) {
        todo!()
    }

    /// Marks the page dirty for a change that may be lost and that no record describes.
    pub fn mark_dirty_hint(&mut self) {
        todo!()
    }

    /// Keeps the latch, in shared mode.
    pub fn downgrade(self) -> PageRead<'a> {
        todo!()
    }

    /// Gives up the latch and keeps (or takes) a pin.
    pub fn into_pinned(self) -> Pinned<'a> {
        todo!()
    }
}

impl Deref for PageWrite<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        todo!()
    }
}

impl DerefMut for PageWrite<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        todo!()
    }
}

impl Drop for PageWrite<'_> {
    fn drop(&mut self) {
        todo!()
    }
}
