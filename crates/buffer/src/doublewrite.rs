//! The double-write area: pages are written here first, so that one torn in place can be restored.
//!
//! A write of 8 KiB may be torn by a crash. The log carries changes, not whole pages, and a change can't be redone on a page
//! that is half old and half new. So each batch of pages is written one after the other into the area and synced, then in
//! place and synced; then its part of the area is free again. Every page that is torn in place has a whole copy in the area.
//!
//! # Format of the file `doublewrite`
//!
//! Four regions, so that as many batches may be under way. A region is a header page and room for [`BATCH_PAGES_MAX`]
//! copies. The header, little endian:
//!
//! | bytes | meaning |
//! | --- | --- |
//! | 0..8 | magic `COHORTDW` |
//! | 8..16 | sequence number of the batch: later batches have higher ones |
//! | 16..20 | number of copies |
//! | 20..24 | CRC32C of the header page with this field zero |
//! | 24.. | per copy 16 bytes: file u64, block u32, the copy's checksum u32 |
//!
//! A file number with the top bit set names a segment of `clog/`, others a file of `base/`.
//!
//! A free region has zeros for magic. A region's header counts only with a valid CRC, a copy only with the very checksum its header names: bytes of an earlier
//! batch that lie in a region whose new batch never became whole are not taken for the new ones.

use std::path::{Path, PathBuf};

use base::{Error, FileNumber, Lsn, Result};
use rustc_hash::{FxHashMap, FxHashSet};
use sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use sync::{Arc, Mutex, MutexGuard};
use vfs::{File, OpenMode, Vfs};

use crate::{PAGE_BYTES, files, page, paged_store};

/// The most pages in a batch.
pub const BATCH_PAGES_MAX: usize = 128;
/// Regions for the page cache's batches, each held while its batch waits for the log.
const POOL_REGIONS: usize = 3;
/// The last region is the status store's.
const REGIONS: usize = POOL_REGIONS + 1;
const REGION_BYTES: usize = (1 + BATCH_PAGES_MAX) * PAGE_BYTES;
const MAGIC: &[u8; 8] = b"COHORTDW";
const ENTRIES_AT: usize = 24;
const ENTRY_BYTES: usize = 16;
/// Set in the file number of a segment of the commit log.
pub(crate) const STORE_SEGMENT: u64 = 1 << 63;

/// The beginning of a header that counts for nothing.
const FREE_HEADER: [u8; ENTRIES_AT] = [0; ENTRIES_AT];

const _: () = assert!(ENTRIES_AT + BATCH_PAGES_MAX * ENTRY_BYTES <= PAGE_BYTES);

/// How data files are written.
#[derive(Clone, Copy, Debug)]
pub struct DoubleWriteOptions {
    /// Whether pages go through the area before they are written in place.
    pub enabled: bool,
    /// Whether anything is synced, to begin with ([`DoubleWrite::set_fsync`]).
    pub fsync: bool,
    /// Whether every file may hold bytes that an earlier process has written and not synced.
    pub all_unsynced: bool,
}

impl Default for DoubleWriteOptions {
    fn default() -> Self {
        DoubleWriteOptions { enabled: true, fsync: true, all_unsynced: false }
    }
}

/// The double-write area of a data directory; shared by the page cache and the commit log.
pub struct DoubleWrite {
    vfs: Arc<dyn Vfs>,
    data_dir: PathBuf,
    area: Arc<dyn File>,
    /// Whether pages go through the area before they are written in place.
    enabled: bool,
    fsync: AtomicBool,
    /// Files that were written and not synced yet. A leaf, but held while they are synced.
    unsynced: Mutex<Unsynced>,
    regions: [Mutex<Region>; REGIONS],
    next_region: AtomicUsize,
    next_sequence: AtomicU64,
    batches: AtomicU64,
    syncs: AtomicU64,
}

/// Files with bytes that were written while nothing was synced.
struct Unsynced {
    /// All that there are, written perhaps by an earlier process.
    all: bool,
    files: FxHashSet<u64>,
}

/// A region's batch in memory: header page and copies, as they will lie in the area.
struct Region {
    index: usize,
    bytes: Vec<u8>,
    places: Vec<Place>,
}

/// Where a copy belongs.
struct Place {
    file: u64,
    block: u32,
}

impl DoubleWrite {
    /// Opens (or makes) the area `data_dir/doublewrite`. [`recover`] must have run before.
    pub fn open(vfs: Arc<dyn Vfs>, data_dir: &Path, options: DoubleWriteOptions) -> Result<Arc<DoubleWrite>> {
        let failed = |error| Error::io("could not open file \"doublewrite\"", &error);
        let area = vfs.open(&area_path(data_dir), OpenMode::Create).map_err(failed)?;
        area.allocate_zeroed((REGIONS * REGION_BYTES) as u64).map_err(failed)?;
        area.sync_all().map_err(failed)?;
        vfs.sync_dir(data_dir).map_err(failed)?;
        let doublewrite = Arc::new(DoubleWrite {
            vfs,
            data_dir: data_dir.to_owned(),
            area,
            enabled: options.enabled,
            fsync: AtomicBool::new(options.fsync),
            unsynced: Mutex::new(Unsynced { all: options.all_unsynced, files: FxHashSet::default() }),
            regions: std::array::from_fn(|index| Mutex::new(Region { index, bytes: Vec::new(), places: Vec::new() })),
            next_region: AtomicUsize::new(0),
            next_sequence: AtomicU64::new(1),
            batches: AtomicU64::new(0),
            syncs: AtomicU64::new(0),
        });
        if options.fsync {
            doublewrite.sync_unsynced();
        }
        Ok(doublewrite)
    }

    /// Turns syncing on or off. When this returns with it on, every batch written so far is synced, and so will be every later
    /// one. The log must be synced up to what counts as durable before (R1). A failed sync ends the process (R4).
    pub fn set_fsync(&self, on: bool) {
        if self.fsync.swap(on, Ordering::SeqCst) || !on {
            return;
        }
        // A batch that began before has its region, and is noted as unsynced before it gives that up.
        self.regions.iter().for_each(|region| drop(region.lock()));
        self.sync_unsynced();
    }

    fn sync_unsynced(&self) {
        let mut unsynced = self.unsynced.lock();
        let mut files = std::mem::take(&mut unsynced.files);
        if std::mem::take(&mut unsynced.all) {
            files.extend(self.all_files());
        }
        if files.is_empty() {
            return;
        }
        for file in files {
            match self.vfs.open(&path_of(&self.data_dir, file), OpenMode::ReadWrite) {
                Ok(handle) => self.sync(&*handle, &format!("sync file {}", name_of(file))),
                // Dropped since.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => self.failed(&format!("open file {}", name_of(file)), &error),
            }
        }
        self.sync(&*self.area, "sync the double-write area");
    }

    /// The files of `base/` and `clog/` that there are.
    fn all_files(&self) -> Vec<u64> {
        let names = |directory: &str| match self.vfs.list_dir(&self.data_dir.join(directory)) {
            Ok(names) => names,
            Err(error) => self.failed(&format!("read directory \"{directory}\""), &error),
        };
        let of_tables = names("base").into_iter().filter_map(|name| files::file_number(&name)).map(|file| file.0);
        let segments = names("clog").into_iter().filter_map(|name| paged_store::segment_number(&name));
        of_tables.chain(segments.map(|segment| segment | STORE_SEGMENT)).collect()
    }

    /// A new batch of pages. Waits for a region if all have batches under way: whoever has one must not wait for a page
    /// latch.
    pub(crate) fn begin(&self) -> Batch<'_> {
        let first = self.next_region.fetch_add(1, Ordering::Relaxed);
        let mut in_turn = (0..POOL_REGIONS).map(|step| &self.regions[(first + step) % POOL_REGIONS]);
        let region = match in_turn.find_map(|region| region.try_lock()) {
            Some(region) => region,
            None => self.regions[first % POOL_REGIONS].lock(),
        };
        Batch::new(self, region)
    }

    /// A new batch for the status store. The thread that has it must not wait for the log: the log's leader may need the batch's
    /// region.
    pub(crate) fn begin_store(&self) -> Batch<'_> {
        Batch::new(self, self.regions[POOL_REGIONS].lock())
    }

    /// Ends the process: after a failed write or sync nobody knows what is on the disk (R4).
    fn failed(&self, what: &str, error: &std::io::Error) -> ! {
        self.vfs.fail_stop(&Error::io(format!("could not {what}"), error).to_string())
    }

    fn sync(&self, file: &dyn File, what: &str) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = file.sync_data() {
            self.failed(what, &error);
        }
    }

    pub(crate) fn batches(&self) -> u64 {
        self.batches.load(Ordering::Relaxed)
    }

    pub(crate) fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }
}

/// A batch of private copies of pages, to be written together.
pub(crate) struct Batch<'a> {
    doublewrite: &'a DoubleWrite,
    region: MutexGuard<'a, Region>,
}

impl<'a> Batch<'a> {
    fn new(doublewrite: &'a DoubleWrite, mut region: MutexGuard<'a, Region>) -> Batch<'a> {
        region.places.clear();
        if region.bytes.is_empty() {
            region.bytes.resize(REGION_BYTES, 0);
        }
        Batch { doublewrite, region }
    }

    /// Adds a page; the caller copies it into the returned bytes. The pages of one file come one after the other.
    pub(crate) fn push(&mut self, file: u64, block: u32) -> &mut [u8] {
        let index = self.region.places.len();
        assert!(index < BATCH_PAGES_MAX, "a batch has room for {BATCH_PAGES_MAX} pages");
        self.region.places.push(Place { file, block });
        copy_at_mut(&mut self.region.bytes, index)
    }

    /// The copies.
    pub(crate) fn pages(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.region.places.len()).map(|index| copy_at(&self.region.bytes, index))
    }

    /// Writes all copies: on return they are durable in place, if syncing is on. The log that justifies them must be durable already.
    /// `open` gives the file of a number. One is open at a time, however many the pages belong to: descriptors are few.
    pub(crate) fn write(mut self, open: impl Fn(u64) -> Result<Arc<dyn File>>) {
        let Region { index, bytes, places } = &mut *self.region;
        if places.is_empty() {
            return;
        }
        let doublewrite = self.doublewrite;
        for (at, place) in places.iter().enumerate() {
            page::seal(copy_at_mut(bytes, at), place.file, place.block);
        }
        doublewrite.batches.fetch_add(1, Ordering::Relaxed);
        let region_at = (*index * REGION_BYTES) as u64;
        // One answer for the whole batch: a page must not be synced in place if its copy was not.
        let fsync = doublewrite.fsync.load(Ordering::SeqCst);
        if doublewrite.enabled {
            write_header(bytes, places, doublewrite.next_sequence.fetch_add(1, Ordering::Relaxed));
            let used = (1 + places.len()) * PAGE_BYTES;
            if let Err(error) = doublewrite.area.write_all_at(&bytes[..used], region_at) {
                doublewrite.failed("write the double-write area", &error);
            }
            if fsync {
                doublewrite.sync(&*doublewrite.area, "sync the double-write area");
            }
        }
        write_in_place(doublewrite, bytes, places, fsync, open);
        if doublewrite.enabled {
            // Need not last: until the next batch is synced, and this with it, these copies are the newest there are.
            if let Err(error) = doublewrite.area.write_all_at(&FREE_HEADER, region_at) {
                doublewrite.failed("write the double-write area", &error);
            }
        }
    }
}

/// Writes the copies where they belong and syncs their files, or notes that those are to be synced.
fn write_in_place(
    doublewrite: &DoubleWrite,
    bytes: &[u8],
    places: &[Place],
    fsync: bool,
    open: impl Fn(u64) -> Result<Arc<dyn File>>,
) {
    let mut at = 0;
    for of_one_file in places.chunk_by(|left, right| left.file == right.file) {
        let file = of_one_file[0].file;
        let handle = match open(file) {
            Ok(handle) => handle,
            Err(error) => {
                doublewrite.vfs.fail_stop(&format!("could not write block {}: {error}", of_one_file[0].block))
            }
        };
        // Neighbours in one write.
        for run in of_one_file.chunk_by(|left, right| left.block.checked_add(1) == Some(right.block)) {
            let copies = &bytes[(1 + at) * PAGE_BYTES..][..run.len() * PAGE_BYTES];
            let block = run[0].block;
            if let Err(error) = handle.write_all_at(copies, u64::from(block) * PAGE_BYTES as u64) {
                doublewrite.failed(&format!("write block {block} of file {}", name_of(file)), &error);
            }
            at += run.len();
        }
        if fsync {
            doublewrite.sync(&*handle, &format!("sync file {}", name_of(file)));
        }
    }
    if !fsync {
        doublewrite.unsynced.lock().files.extend(places.iter().map(|place| place.file));
    }
}

fn copy_at(bytes: &[u8], index: usize) -> &[u8] {
    &bytes[(1 + index) * PAGE_BYTES..][..PAGE_BYTES]
}

fn copy_at_mut(bytes: &mut [u8], index: usize) -> &mut [u8] {
    &mut bytes[(1 + index) * PAGE_BYTES..][..PAGE_BYTES]
}

fn write_header(bytes: &mut [u8], places: &[Place], sequence: u64) {
    let (header, copies) = bytes.split_at_mut(PAGE_BYTES);
    header.fill(0);
    header[..8].copy_from_slice(MAGIC);
    header[8..16].copy_from_slice(&sequence.to_le_bytes());
    header[16..20].copy_from_slice(&(places.len() as u32).to_le_bytes());
    for (index, place) in places.iter().enumerate() {
        let entry = &mut header[ENTRIES_AT + index * ENTRY_BYTES..][..ENTRY_BYTES];
        entry[..8].copy_from_slice(&place.file.to_le_bytes());
        entry[8..12].copy_from_slice(&place.block.to_le_bytes());
        entry[12..].copy_from_slice(&copies[index * PAGE_BYTES + 8..][..4]);
    }
    let crc = crc32c::crc32c(header);
    header[20..24].copy_from_slice(&crc.to_le_bytes());
}

fn area_path(data_dir: &Path) -> PathBuf {
    data_dir.join("doublewrite")
}

fn name_of(file: u64) -> String {
    if file & STORE_SEGMENT != 0 {
        format!("\"clog/{}\"", paged_store::segment_name(file & !STORE_SEGMENT))
    } else {
        format!("\"base/{}\"", files::file_name(FileNumber(file)))
    }
}

fn path_of(data_dir: &Path, file: u64) -> PathBuf {
    if file & STORE_SEGMENT != 0 {
        data_dir.join("clog").join(paged_store::segment_name(file & !STORE_SEGMENT))
    } else {
        data_dir.join("base").join(files::file_name(FileNumber(file)))
    }
}

/// The findings and restorations of [`recover`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Pages with a whole copy in the area.
    pub copies: usize,
    /// Pages that were torn, or older than their copy, in place and were restored.
    pub restored: usize,
}

/// Restores torn pages of `base/` and `clog/` from the area `data_dir/doublewrite`: the newest valid copy wins.
/// Runs at every start before any page is read. Safe to be killed and run again.
///
/// A page that is all zeros in place, or beyond the end of its file, or whose file is gone, is left alone. Either its file
/// was cut or dropped after the copy was made, or the page was never written in place. In the latter case redo makes the page
/// again from the log.
pub fn recover(vfs: &dyn Vfs, data_dir: &Path) -> Result<Recovered> {
    let path = area_path(data_dir);
    if !vfs.exists(&path) {
        return Ok(Recovered::default());
    }
    let failed = |error| Error::io("could not read file \"doublewrite\"", &error);
    let area = vfs.open(&path, OpenMode::ReadWrite).map_err(failed)?;
    let mut newest: FxHashMap<(u64, u32), (u64, Vec<u8>)> = FxHashMap::default();
    for index in 0..REGIONS {
        let mut region = vec![0; REGION_BYTES];
        let length = read_up_to(&*area, &mut region, (index * REGION_BYTES) as u64).map_err(failed)?;
        for (sequence, file, block, copy) in copies_in(&region[..length]) {
            let place = newest.entry((file, block)).or_insert((0, Vec::new()));
            if sequence > place.0 {
                *place = (sequence, copy.to_vec());
            }
        }
    }
    let mut recovered = Recovered { copies: newest.len(), restored: 0 };
    let mut places: Vec<_> = newest.into_iter().map(|(place, (_, copy))| (place, copy)).collect();
    places.sort_unstable_by_key(|(place, _)| *place);
    for of_one_file in places.chunk_by(|(left, _), (right, _)| left.0 == right.0) {
        recovered.restored += restore(vfs, data_dir, of_one_file[0].0.0, of_one_file)?;
    }
    // Nothing is left that could be taken for newer than what is written from now on.
    for index in 0..REGIONS {
        area.write_all_at(&FREE_HEADER, (index * REGION_BYTES) as u64).map_err(failed)?;
    }
    area.sync_data().map_err(failed)?;
    Ok(recovered)
}

/// Restores those pages of one file that need it, and makes that durable.
fn restore(vfs: &dyn Vfs, data_dir: &Path, file: u64, copies: &[((u64, u32), Vec<u8>)]) -> Result<usize> {
    let path = path_of(data_dir, file);
    if !vfs.exists(&path) {
        return Ok(0);
    }
    let failed =
        |error| Error::io(format!("could not restore file {} from the double-write area", name_of(file)), &error);
    let handle = vfs.open(&path, OpenMode::ReadWrite).map_err(failed)?;
    let length = handle.len().map_err(failed)?;
    let mut restored = 0;
    for ((_, block), copy) in copies {
        let offset = u64::from(*block) * PAGE_BYTES as u64;
        if offset >= length {
            continue;
        }
        let mut in_place = vec![0; PAGE_BYTES];
        read_up_to(&*handle, &mut in_place, offset).map_err(failed)?;
        if page::is_zero(&in_place) {
            continue;
        }
        let lsn_in_place = if page::is_valid(&in_place, file, *block) { Some(page::page_lsn(&in_place)) } else { None };
        if lsn_in_place.is_none_or(|lsn: Lsn| lsn < page::page_lsn(copy)) {
            handle.write_all_at(copy, offset).map_err(failed)?;
            restored += 1;
        }
    }
    // Also what is whole in place: the process that wrote it may have ended before it could sync it, and when the area is
    // given up, nothing else keeps these pages.
    handle.sync_data().map_err(failed)?;
    Ok(restored)
}

/// The whole copies in a region: sequence, file, block and bytes.
fn copies_in(region: &[u8]) -> Vec<(u64, u64, u32, &[u8])> {
    let Some(header) = region.get(..PAGE_BYTES) else { return Vec::new() };
    let number = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
    let long = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
    let mut unsigned = header.to_vec();
    unsigned[20..24].fill(0);
    if &header[..8] != MAGIC || number(20) != crc32c::crc32c(&unsigned) {
        return Vec::new();
    }
    let count = (number(16) as usize).min(BATCH_PAGES_MAX);
    let mut copies = Vec::with_capacity(count);
    for index in 0..count {
        let at = ENTRIES_AT + index * ENTRY_BYTES;
        let (file, block, checksum) = (long(at), number(at + 8), number(at + 12));
        if let Some(copy) = region.get((1 + index) * PAGE_BYTES..(2 + index) * PAGE_BYTES)
            && page::page_checksum(copy) == checksum
            && page::compute_checksum(copy, file, block) == checksum
        {
            copies.push((long(8), file, block, copy));
        }
    }
    copies
}

/// Reads as much as there is, up to the buffer's length.
fn read_up_to(file: &dyn File, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], offset + read as u64)? {
            0 => break,
            bytes => read += bytes,
        }
    }
    Ok(read)
}
