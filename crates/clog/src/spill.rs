//! Where pages of csns go that leave the window in memory while somebody may still ask for them: files without a log and
//! without syncs, worthless after a restart. Written once, read an entry at a time.

use std::path::{Path, PathBuf};

use base::{Error, Result};
use rustc_hash::FxHashMap;
use sync::{Arc, Mutex};
use vfs::descriptors::SPILLED_FILES;
use vfs::{File, OpenMode, Vfs};

use crate::csn::PAGE_ENTRIES;

/// Pages in a file.
const SEGMENT_PAGES: u64 = 64;
const PAGE_BYTES: u64 = PAGE_ENTRIES * 8;

/// Spilled pages.
pub(crate) struct Spill {
    vfs: Arc<dyn Vfs>,
    directory: PathBuf,
    /// The files there are, by segment.
    segments: Mutex<FxHashMap<u64, Segment>>,
    /// Pages that could not be written: kept here instead.
    unwritten: Mutex<FxHashMap<u64, Box<[u64]>>>,
}

struct Segment {
    /// Open at most [`SPILLED_FILES`] at a time: a snapshot that is held for long may need any number of files.
    file: Option<Arc<dyn File>>,
    /// How many of its pages are still wanted.
    pages: u64,
}

impl Spill {
    /// Empty; what an earlier start left is removed.
    pub(crate) fn new(vfs: Arc<dyn Vfs>, directory: &Path) -> Result<Spill> {
        let failed = |error| Error::io(format!("could not remake directory \"{}\"", directory.display()), &error);
        vfs.remove_dir_all(directory).map_err(failed)?;
        vfs.create_dir_all(directory).map_err(failed)?;
        let (segments, unwritten) = (Mutex::new(FxHashMap::default()), Mutex::new(FxHashMap::default()));
        Ok(Spill { vfs, directory: directory.to_owned(), segments, unwritten })
    }

    fn path(&self, segment: u64) -> PathBuf {
        self.directory.join(format!("{segment:012X}"))
    }

    /// Takes a page over.
    pub(crate) fn write(&self, page: u64, entries: &[u64]) {
        let bytes: Vec<u8> = entries.iter().flat_map(|entry| entry.to_le_bytes()).collect();
        if self.write_to_file(page, &bytes).is_err() {
            // Worse than a file, better than a failure: nothing is lost.
            self.unwritten.lock().insert(page, entries.into());
        }
    }

    fn write_to_file(&self, page: u64, bytes: &[u8]) -> std::io::Result<()> {
        let mut segments = self.segments.lock();
        let number = page / SEGMENT_PAGES;
        let file = self.open(&mut segments, number, OpenMode::Create)?;
        file.write_all_at(bytes, page % SEGMENT_PAGES * PAGE_BYTES)?;
        segments.get_mut(&number).expect("it was opened").pages += 1;
        Ok(())
    }

    /// The open file of a segment. Closes the others if they are many.
    fn open(
        &self,
        segments: &mut FxHashMap<u64, Segment>,
        number: u64,
        mode: OpenMode,
    ) -> std::io::Result<Arc<dyn File>> {
        if let Some(file) = segments.get(&number).and_then(|segment| segment.file.as_ref()) {
            return Ok(Arc::clone(file));
        }
        if segments.values().filter(|segment| segment.file.is_some()).count() >= SPILLED_FILES {
            segments.values_mut().for_each(|segment| segment.file = None);
        }
        let file = self.vfs.open(&self.path(number), mode)?;
        segments.entry(number).or_insert(Segment { file: None, pages: 0 }).file = Some(Arc::clone(&file));
        Ok(file)
    }

    /// An entry of a page that was taken over.
    pub(crate) fn read_entry(&self, page: u64, index: u64) -> u64 {
        if let Some(entries) = self.unwritten.lock().get(&page) {
            return entries[index as usize];
        }
        let mut bytes = [0; 8];
        self.read(page, index * 8, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// All entries of a page that was taken over.
    pub(crate) fn read_page(&self, page: u64) -> Vec<u64> {
        if let Some(entries) = self.unwritten.lock().get(&page) {
            return entries.to_vec();
        }
        let mut bytes = vec![0; PAGE_BYTES as usize];
        self.read(page, 0, &mut bytes);
        bytes.as_chunks().0.iter().map(|entry| u64::from_le_bytes(*entry)).collect()
    }

    fn read(&self, page: u64, offset: u64, bytes: &mut [u8]) {
        let file = self.open(&mut self.segments.lock(), page / SEGMENT_PAGES, OpenMode::ReadWrite);
        let read = file.and_then(|file| file.read_exact_at(bytes, page % SEGMENT_PAGES * PAGE_BYTES + offset));
        if let Err(error) = read {
            // Without it nobody can tell what a snapshot sees.
            self.vfs.fail_stop(&format!("could not read commit sequence numbers: {error}"));
        }
    }

    /// Forgets a page that was taken over.
    pub(crate) fn remove(&self, page: u64) {
        if self.unwritten.lock().remove(&page).is_some() {
            return;
        }
        let number = page / SEGMENT_PAGES;
        let mut segments = self.segments.lock();
        let segment = segments.get_mut(&number).expect("a spilled page has a file");
        segment.pages -= 1;
        if segment.pages == 0 {
            segments.remove(&number);
            // A file that stays is removed at the next start.
            let _ = self.vfs.remove_file(&self.path(number));
        }
    }
}
