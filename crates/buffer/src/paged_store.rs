//! The paged status store: a small page cache of its own over files of 32 pages, for the commit log.
//!
//! Pages lie in banks of 16; a page belongs to bank `page mod banks`, and the bank's latch guards its bytes and the choice
//! of victims. There are no pins: a thread reads or changes a page under the latch, in a moment.
//!
//! A page is written (evicted, or by [`PagedStore::flush`]) from a private copy, with the latch given up; it stays dirty,
//! and in its place, until the copy is durable, and longer if it was changed meanwhile. One write runs at a time, and a copy
//! that a newer one has overtaken is dropped.
//!
//! A thread that sets bits may be the leader of a flush of the log, and must never wait for the log. So evictions take only
//! pages whose log is durable already. When there is no such page, the bank grows by a page until there is one. No thread
//! waits for the log while it has the turn to write, or the store's own region of the double-write area.

use std::path::{Path, PathBuf};

use base::{Error, Lsn, Result};
use rustc_hash::FxHashMap;
use sync::atomic::{AtomicU32, AtomicU64, Ordering};
use sync::{Arc, ExclusiveGuard, Latch, Mutex};
use vfs::descriptors::STATUS_FILES;
use vfs::{File, OpenMode, Vfs};

use crate::doublewrite::{BATCH_PAGES_MAX, STORE_SEGMENT};
use crate::files::make_directory;
use crate::log::make_durable;
use crate::{DoubleWrite, DurableLog, HEADER_BYTES, PAGE_BYTES, page};

/// The part of a store page that is its owner's, in bytes.
pub const STORE_PAGE_BYTES: usize = PAGE_BYTES - HEADER_BYTES;
/// Pages in a file.
pub const SEGMENT_PAGES: u64 = 32;
/// Pages in a bank. Few under the model checker, so that it meets evictions.
const BANK_PAGES: usize = if cfg!(shuttle) { 2 } else { 16 };

/// How a [`PagedStore`] is set up.
pub struct PagedStoreOptions {
    /// Pages kept in memory; rounded up to banks of 16.
    pub pages: usize,
    /// The class of its banks' latches.
    pub latch_class: &'static sync::LatchClass,
    /// The first page that is still kept; those before it are truncated away.
    pub first_page: u64,
    /// Pages from here on may be missing on disk, and are zeros then; one before it that is missing is damage.
    pub missing_allowed_from: u64,
}

/// Counts since the start, as in `pg_stat_slru`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PagedStoreStatistics {
    /// Pages made as zeros.
    pub zeroed: u64,
    /// Pages found in memory.
    pub hits: u64,
    /// Pages read from disk.
    pub reads: u64,
    /// Pages written to disk.
    pub writes: u64,
    /// Flushes of all dirty pages.
    pub flushes: u64,
    /// Truncations.
    pub truncates: u64,
}

impl PagedStoreStatistics {
    /// Returns the counts since `earlier`, a copy of the same store's counts.
    #[must_use]
    pub fn since(&self, earlier: &PagedStoreStatistics) -> PagedStoreStatistics {
        PagedStoreStatistics {
            zeroed: self.zeroed - earlier.zeroed,
            hits: self.hits - earlier.hits,
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
            flushes: self.flushes - earlier.flushes,
            truncates: self.truncates - earlier.truncates,
        }
    }
}

/// A small page cache over files of 32 pages.
pub struct PagedStore {
    vfs: Arc<dyn Vfs>,
    directory: PathBuf,
    log: Arc<dyn DurableLog>,
    doublewrite: Arc<DoubleWrite>,
    banks: Box<[Latch<Bank>]>,
    /// The turn to write pages. Taken without any bank's latch, and not held while waiting for the log.
    write_turn: Mutex<()>,
    /// Files that are open, at most [`STATUS_FILES`]; all are closed to make room for another.
    segments: Mutex<FxHashMap<u64, Arc<dyn File>>>,
    first_page: AtomicU64,
    missing_allowed_from: u64,
    counters: Counters,
}

#[derive(Default)]
struct Counters {
    zeroed: AtomicU64,
    hits: AtomicU64,
    reads: AtomicU64,
    writes: AtomicU64,
    flushes: AtomicU64,
    truncates: AtomicU64,
}

struct Bank {
    slots: Vec<Slot>,
    /// Counts changes of any of its pages.
    changes: u64,
    /// Counts uses, to tell which page was not used for longest.
    clock: AtomicU32,
}

struct Slot {
    page: u64,
    bytes: Box<[u8]>,
    /// The bank's count of changes at this page's last one.
    version: u64,
    /// The newest version that is durable; older copies must not be written any more.
    durable_version: u64,
    last_use: AtomicU32,
}

/// A private copy of a page, to be written.
struct PageCopy {
    page: u64,
    version: u64,
    bytes: Box<[u8]>,
}

impl Bank {
    fn find(&self, page: u64) -> Option<usize> {
        self.slots.iter().position(|slot| slot.page == page)
    }

    fn touch(&self, index: usize) {
        let now = self.clock.load(Ordering::Relaxed).wrapping_add(1);
        self.clock.store(now, Ordering::Relaxed);
        self.slots[index].last_use.store(now, Ordering::Relaxed);
    }

    /// The slot that was not used for longest among those that `may_go`.
    fn least_used(&self, may_go: impl Fn(&Slot) -> bool) -> Option<usize> {
        let now = self.clock.load(Ordering::Relaxed);
        let idle = |slot: &Slot| now.wrapping_sub(slot.last_use.load(Ordering::Relaxed));
        (0..self.slots.len()).filter(|&index| may_go(&self.slots[index])).max_by_key(|&index| idle(&self.slots[index]))
    }
}

impl Slot {
    fn copy(&self) -> PageCopy {
        PageCopy { page: self.page, version: self.version, bytes: self.bytes.clone() }
    }

    fn is_dirty(&self) -> bool {
        self.version > self.durable_version
    }
}

impl PagedStore {
    /// Opens the store in `directory`, which is made if needed. It has to be `clog` in the data directory of `doublewrite`.
    pub fn open(
        vfs: Arc<dyn Vfs>,
        directory: &Path,
        log: Arc<dyn DurableLog>,
        doublewrite: Arc<DoubleWrite>,
        options: PagedStoreOptions,
    ) -> Result<PagedStore> {
        make_directory(&*vfs, directory)?;
        let bank = || Bank { slots: Vec::with_capacity(BANK_PAGES), changes: 0, clock: AtomicU32::new(0) };
        Ok(PagedStore {
            vfs,
            directory: directory.to_owned(),
            log,
            doublewrite,
            banks: (0..options.pages.div_ceil(BANK_PAGES).max(1))
                .map(|_| Latch::new(options.latch_class, bank()))
                .collect(),
            write_turn: Mutex::new(()),
            segments: Mutex::new(FxHashMap::default()),
            first_page: AtomicU64::new(options.first_page),
            missing_allowed_from: options.missing_allowed_from,
            counters: Counters::default(),
        })
    }

    fn bank(&self, page: u64) -> &Latch<Bank> {
        &self.banks[(page % self.banks.len() as u64) as usize]
    }

    /// Shows a page to `reader`. XX001 if it is damaged, missing or truncated away.
    pub fn read<R>(&self, page: u64, reader: impl FnOnce(&[u8]) -> R) -> Result<R> {
        let bank = self.bank(page).shared();
        if let Some(index) = bank.find(page) {
            bank.touch(index);
            self.counters.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(reader(&bank.slots[index].bytes[HEADER_BYTES..]));
        }
        drop(bank);
        let (bank, index) = self.bring_in(page, self.bank(page).exclusive())?;
        Ok(reader(&bank.slots[index].bytes[HEADER_BYTES..]))
    }

    /// Lets `writer` change a page. It is told the LSN up to which the log must be durable before the page gets to disk, and
    /// may raise it. XX001 as for [`PagedStore::read`].
    pub fn write<R>(&self, page: u64, writer: impl FnOnce(&mut [u8], &mut Lsn) -> R) -> Result<R> {
        let bank = self.bank(page).exclusive();
        self.write_latched(page, writer, bank)
    }

    /// As [`PagedStore::write`], if the latch is free; `writer` comes back otherwise.
    pub fn try_write<R, W: FnOnce(&mut [u8], &mut Lsn) -> R>(&self, page: u64, writer: W) -> Result<Result<R, W>> {
        match self.bank(page).try_exclusive() {
            Some(bank) => Ok(Ok(self.write_latched(page, writer, bank)?)),
            None => Ok(Err(writer)),
        }
    }

    fn write_latched<'a, R>(
        &'a self,
        page: u64,
        writer: impl FnOnce(&mut [u8], &mut Lsn) -> R,
        bank: ExclusiveGuard<'a, Bank>,
    ) -> Result<R> {
        let (mut bank, index) = self.bring_in(page, bank)?;
        bank.changes += 1;
        let version = bank.changes;
        let slot = &mut bank.slots[index];
        let mut lsn = page::page_lsn(&slot.bytes);
        let result = writer(&mut slot.bytes[HEADER_BYTES..], &mut lsn);
        debug_assert!(lsn >= page::page_lsn(&slot.bytes), "a page's LSN never goes back");
        page::set_page_lsn(&mut slot.bytes, lsn);
        slot.version = version;
        Ok(result)
    }

    /// Sees to it that a page exists, so that the next [`PagedStore::flush`] writes it even if nothing is changed on it.
    pub fn create(&self, page: u64) -> Result<()> {
        self.write(page, |_, _| ())
    }

    /// The place of a page, brought in if needed. Gives up the latch in between only if a page has to be written first.
    fn bring_in<'a>(
        &'a self,
        page: u64,
        mut bank: ExclusiveGuard<'a, Bank>,
    ) -> Result<(ExclusiveGuard<'a, Bank>, usize)> {
        loop {
            if let Some(index) = bank.find(page) {
                bank.touch(index);
                self.counters.hits.fetch_add(1, Ordering::Relaxed);
                return Ok((bank, index));
            }
            let durable = self.log.durable();
            let clean = if bank.slots.len() < BANK_PAGES { None } else { bank.least_used(|slot| !slot.is_dirty()) };
            let may_be_written = |slot: &Slot| slot.is_dirty() && page::page_lsn(&slot.bytes) <= durable;
            if bank.slots.len() >= BANK_PAGES
                && clean.is_none()
                && let Some(victim) = bank.least_used(may_be_written)
            {
                let copy = bank.slots[victim].copy();
                drop(bank);
                self.write_copies(&[copy]);
                bank = self.bank(page).exclusive();
                continue;
            }
            let bytes = self.load(page)?;
            // All earlier changes of this page are on disk: a changed page stays in memory until it is written.
            let version = bank.changes;
            let slot = Slot { page, bytes, version, durable_version: version, last_use: AtomicU32::new(0) };
            let index = match clean {
                Some(index) => {
                    bank.slots[index] = slot;
                    index
                }
                None => {
                    bank.slots.push(slot);
                    bank.slots.len() - 1
                }
            };
            bank.touch(index);
            return Ok((bank, index));
        }
    }

    /// A page's bytes from disk.
    fn load(&self, page: u64) -> Result<Box<[u8]>> {
        let mut bytes = vec![0; PAGE_BYTES].into_boxed_slice();
        let (segment, block) = place_of(page);
        let name = || format!("file \"clog/{}\" at page {block}", segment_name(segment));
        if page < self.first_page.load(Ordering::Relaxed) {
            return Err(Error::corrupted(format!("could not read {}", name())).detail("It was truncated away."));
        }
        let mut found = false;
        if let Some(file) = self.segment(segment, OpenMode::ReadWrite)? {
            match file.read_exact_at(&mut bytes, u64::from(block) * PAGE_BYTES as u64) {
                Ok(()) => found = !page::is_zero(&bytes),
                // A crash may have left a part of a page that was about to be added.
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => bytes.fill(0),
                Err(error) => return Err(Error::io(format!("could not read {}", name()), &error)),
            }
        }
        if !found && page < self.missing_allowed_from {
            return Err(Error::corrupted(format!("could not read {}", name())).detail("The page is missing."));
        }
        if !page::is_valid(&bytes, STORE_SEGMENT | segment, block) {
            return Err(Error::corrupted(format!("could not read {}", name()))
                .detail("The page's checksum does not match its content."));
        }
        let counter = if found { &self.counters.reads } else { &self.counters.zeroed };
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(bytes)
    }

    /// An open segment; none if it does not exist and `mode` does not make it.
    fn segment(&self, segment: u64, mode: OpenMode) -> Result<Option<Arc<dyn File>>> {
        let mut segments = self.segments.lock();
        if let Some(file) = segments.get(&segment) {
            return Ok(Some(Arc::clone(file)));
        }
        if segments.len() >= STATUS_FILES {
            segments.clear();
        }
        let path = self.directory.join(segment_name(segment));
        let is_new = !self.vfs.exists(&path);
        if is_new && mode != OpenMode::Create {
            return Ok(None);
        }
        let failed = |error| Error::io(format!("could not open file \"clog/{}\"", segment_name(segment)), &error);
        let file = self.vfs.open(&path, mode).map_err(failed)?;
        if is_new {
            self.vfs.sync_dir(&self.directory).map_err(failed)?;
        }
        segments.insert(segment, Arc::clone(&file));
        Ok(Some(file))
    }

    /// Writes copies, unless newer ones were written before. The log must be durable up to their LSNs.
    fn write_copies(&self, copies: &[PageCopy]) {
        let _turn = self.write_turn.lock();
        for chunk in copies.chunks(BATCH_PAGES_MAX) {
            let mut batch = self.doublewrite.begin_store();
            let mut written = Vec::with_capacity(chunk.len());
            for copy in chunk {
                let bank = self.bank(copy.page).shared();
                let is_newest = |slot: &Slot| slot.page == copy.page && slot.durable_version < copy.version;
                if !bank.slots.iter().any(is_newest) {
                    continue;
                }
                drop(bank);
                let (segment, block) = place_of(copy.page);
                batch.push(STORE_SEGMENT | segment, block).copy_from_slice(&copy.bytes);
                written.push(copy);
            }
            batch.write(|file| {
                let made = self.segment(file & !STORE_SEGMENT, OpenMode::Create)?;
                Ok(made.expect("a segment that is made exists"))
            });
            self.counters.writes.fetch_add(written.len() as u64, Ordering::Relaxed);
            for copy in written {
                let mut bank = self.bank(copy.page).exclusive();
                if let Some(index) = bank.find(copy.page) {
                    bank.slots[index].durable_version = copy.version;
                }
            }
            self.shrink();
        }
    }

    /// Banks that had to grow give up what they have too many.
    fn shrink(&self) {
        for bank in &self.banks {
            if bank.shared().slots.len() <= BANK_PAGES {
                continue;
            }
            let mut bank = bank.exclusive();
            while bank.slots.len() > BANK_PAGES
                && let Some(spare) = bank.least_used(|slot| !slot.is_dirty())
            {
                bank.slots.swap_remove(spare);
            }
        }
    }

    /// Makes all changes made so far durable; waits for the log first. A failure ends the process (R4).
    pub fn flush(&self) {
        let mut copies = Vec::new();
        for bank in &self.banks {
            let bank = bank.shared();
            copies.extend(bank.slots.iter().filter(|slot| slot.is_dirty()).map(Slot::copy));
        }
        copies.sort_unstable_by_key(|copy| copy.page);
        let upto = copies.iter().map(|copy| page::page_lsn(&copy.bytes)).max().unwrap_or(Lsn::ZERO);
        make_durable(&*self.log, upto);
        self.write_copies(&copies);
        self.counters.flushes.fetch_add(1, Ordering::Relaxed);
    }

    /// Forgets all pages before `page`, and removes the segments that have only such.
    pub fn truncate_before(&self, page: u64) -> Result<()> {
        let _turn = self.write_turn.lock();
        if self.first_page.fetch_max(page, Ordering::Relaxed) >= page {
            return Ok(());
        }
        for bank in &self.banks {
            bank.exclusive().slots.retain(|slot| slot.page >= page);
        }
        let keep_from = page / SEGMENT_PAGES;
        self.segments.lock().retain(|&segment, _| segment >= keep_from);
        let failed = |error| Error::io("could not truncate directory \"clog\"", &error);
        let names = self.vfs.list_dir(&self.directory).map_err(failed)?;
        for name in names.iter().filter(|name| segment_number(name).is_some_and(|segment| segment < keep_from)) {
            self.vfs.remove_file(&self.directory.join(name)).map_err(failed)?;
        }
        if let Err(error) = self.vfs.sync_dir(&self.directory) {
            self.vfs.fail_stop(&Error::io("could not sync directory \"clog\"", &error).to_string());
        }
        self.counters.truncates.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Pages held in memory.
    pub fn pages_in_memory(&self) -> usize {
        self.banks.iter().map(|bank| bank.shared().slots.len()).sum()
    }

    /// Returns the counts so far.
    pub fn statistics(&self) -> PagedStoreStatistics {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        PagedStoreStatistics {
            zeroed: of(&self.counters.zeroed),
            hits: of(&self.counters.hits),
            reads: of(&self.counters.reads),
            writes: of(&self.counters.writes),
            flushes: of(&self.counters.flushes),
            truncates: of(&self.counters.truncates),
        }
    }
}

fn place_of(page: u64) -> (u64, u32) {
    (page / SEGMENT_PAGES, (page % SEGMENT_PAGES) as u32)
}

/// The name of a segment's file.
pub(crate) fn segment_name(segment: u64) -> String {
    format!("{segment:012X}")
}

pub(crate) fn segment_number(name: &str) -> Option<u64> {
    (name.len() == 12).then(|| u64::from_str_radix(name, 16).ok())?
}
