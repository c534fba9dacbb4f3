//! The page cache.
#![allow(unused_variables, dead_code)]

use std::path::Path;

use base::{FileNumber, Lsn, Result};
use sync::Arc;
use vfs::Vfs;

use crate::{BufferStatistics, DoubleWrite, DurableLog, FlushProgress, PageId, Pinned};

/// How a [`BufferPool`] is set up.
#[derive(Clone, Debug)]
pub struct BufferPoolOptions {
    /// Pages held in memory (`shared_buffers`); at least 16.
    pub frames: usize,
}

impl Default for BufferPoolOptions {
    fn default() -> Self {
        BufferPoolOptions { frames: 16384 }
    }
}

/// The page cache over the files in `base/`.
pub struct BufferPool {}

impl BufferPool {
    /// An empty cache over the files in `base_dir`, which is made if needed.
    pub fn new(
        vfs: Arc<dyn Vfs>,
        base_dir: &Path,
        log: Arc<dyn DurableLog>,
        doublewrite: Arc<DoubleWrite>,
        options: BufferPoolOptions,
    ) -> Result<BufferPool> {
        todo!()
    }

    /// Pins a page, reading it in if needed. XX001 if it is damaged or lies beyond the file's end, 58030 if it can't be
    /// read, 53000 if every frame is pinned.
    #[inline]
    pub fn pin(&self, page: PageId) -> Result<Pinned<'_>> {
        todo!()
    }

    /// As [`BufferPool::pin`], for a page that is read once by a large scan: it is the first to go again.
    pub fn pin_for_scan(&self, page: PageId) -> Result<Pinned<'_>> {
        todo!()
    }

    /// Pins a page if it is in memory.
    pub fn pin_if_cached(&self, page: PageId) -> Option<Pinned<'_>> {
        todo!()
    }

    /// Extends a file by a page of zeros and pins it. 53100 if the disk is full.
    pub fn pin_new(&self, file: FileNumber) -> Result<(u32, Pinned<'_>)> {
        todo!()
    }

    /// Pins a page for redo: a file or page that does not exist is made, of zeros.
    pub fn pin_for_redo(&self, page: PageId) -> Result<Pinned<'_>> {
        todo!()
    }

    /// How many blocks a file has.
    pub fn block_count(&self, file: FileNumber) -> Result<u32> {
        todo!()
    }

    /// Makes an empty file; its name is durable on return. 58P02 if it exists.
    pub fn create_file(&self, file: FileNumber) -> Result<()> {
        todo!()
    }

    /// As [`BufferPool::create_file`], for redo: no error if it exists.
    pub fn create_file_for_redo(&self, file: FileNumber) -> Result<()> {
        todo!()
    }

    /// Forgets a file's pages, written or not, and removes it. No error if there is no such file. Nobody else may be using it.
    pub fn drop_file(&self, file: FileNumber) -> Result<()> {
        todo!()
    }

    /// Cuts a file to `blocks` blocks. The record that says so must be durable. Nobody else may be using what is cut off.
    pub fn truncate_file(&self, file: FileNumber, blocks: u32) -> Result<()> {
        todo!()
    }

    /// Whether the file exists.
    pub fn file_exists(&self, file: FileNumber) -> bool {
        todo!()
    }

    /// The files that exist, sorted.
    pub fn list_files(&self) -> Result<Vec<FileNumber>> {
        todo!()
    }

    /// The files that exist and that `is_known` does not know: left behind by a crash.
    pub fn orphans(&self, is_known: impl Fn(FileNumber) -> bool) -> Result<Vec<FileNumber>> {
        Ok(self.list_files()?.into_iter().filter(|&file| !is_known(file)).collect())
    }

    /// Writes all pages dirtied by records that end at or below `upto`. On return their changes are durable in place.
    /// `pace` is called between batches and may sleep.
    pub fn flush_dirty(&self, upto: Lsn, pace: &mut dyn FnMut(FlushProgress)) {
        todo!()
    }

    /// Writes all dirty pages, those with hints only too.
    pub fn flush_all(&self) {
        todo!()
    }

    /// Writes all dirty pages of a file, those with hints only too.
    pub fn flush_file(&self, file: FileNumber) {
        todo!()
    }

    /// Writes up to `pages_max` dirty pages that the clock's hand will come to soon. Returns how many.
    pub fn clean_ahead(&self, pages_max: usize) -> usize {
        todo!()
    }

    /// The end of the oldest record whose change is on a dirty page.
    pub fn oldest_dirty_lsn(&self) -> Option<Lsn> {
        todo!()
    }

    /// How many frames there are.
    pub fn frames(&self) -> usize {
        todo!()
    }

    /// What was counted so far.
    pub fn statistics(&self) -> BufferStatistics {
        todo!()
    }
}
