//! Where pages of csns go that leave the window in memory while somebody may still ask for them: files without a log and
//! without syncs, worthless after a restart. Written once, read an entry at a time.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use base::{Error, Result};
use rustc_hash::FxHashMap;
use sync::{Arc, Mutex};
use vfs::{File, OpenMode, Vfs};

use crate::csn::PAGE_ENTRIES;

/// Pages in a file.
const SEGMENT_PAGES: u64 = 64;
const PAGE_BYTES: u64 = PAGE_ENTRIES * 8;

/// Spilled pages.
pub(crate) struct Spill {
    vfs: Arc<dyn Vfs>,
    directory: PathBuf,
    /// The most files that stay open. Those in use are not counted.
    open_max: usize,
    segments: Mutex<Segments>,
    /// Pages that could not be written: kept here instead.
    unwritten: Mutex<FxHashMap<u64, Box<[u64]>>>,
}

#[derive(Default)]
struct Segments {
    /// The files there are, by segment.
    all: FxHashMap<u64, Segment>,
    /// Those whose file is open, the one opened longest ago first.
    opened: VecDeque<u64>,
}

#[derive(Default)]
struct Segment {
    file: Option<Arc<dyn File>>,
    /// How many of its pages are still wanted.
    pages: u64,
}

impl Spill {
    /// Empty; what an earlier start left is removed. At most `open_max` files stay open.
    pub(crate) fn new(vfs: Arc<dyn Vfs>, directory: &Path, open_max: usize) -> Result<Spill> {
        let failed = |error| Error::io(format!("could not remake directory \"{}\"", directory.display()), &error);
        vfs.remove_dir_all(directory).map_err(failed)?;
        vfs.create_dir_all(directory).map_err(failed)?;
        let (segments, unwritten) = (Mutex::new(Segments::default()), Mutex::new(FxHashMap::default()));
        Ok(Spill { vfs, directory: directory.to_owned(), open_max: open_max.max(1), segments, unwritten })
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
        let number = page / SEGMENT_PAGES;
        let file = self.open(number, OpenMode::Create)?;
        file.write_all_at(bytes, page % SEGMENT_PAGES * PAGE_BYTES)?;
        self.segments.lock().all.entry(number).or_default().pages += 1;
        Ok(())
    }

    /// The open file of a segment. The caller holds the lock over what left the window, so the segment's pages
    /// are not removed meanwhile.
    fn open(&self, number: u64, mode: OpenMode) -> std::io::Result<Arc<dyn File>> {
        let open_file = |segments: &Segments| segments.all.get(&number).and_then(|segment| segment.file.clone());
        if let Some(file) = open_file(&self.segments.lock()) {
            return Ok(file);
        }
        // Others read from files that are open meanwhile.
        let file = self.vfs.open(&self.path(number), mode)?;
        let oldest = {
            let mut segments = self.segments.lock();
            if let Some(file) = open_file(&segments) {
                return Ok(file);
            }
            segments.all.entry(number).or_default().file = Some(Arc::clone(&file));
            segments.opened.push_back(number);
            let oldest = if segments.opened.len() > self.open_max { segments.opened.pop_front() } else { None };
            oldest.and_then(|oldest| segments.all.get_mut(&oldest)).and_then(|segment| segment.file.take())
        };
        drop(oldest);
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
        let file = self.open(page / SEGMENT_PAGES, OpenMode::ReadWrite);
        let read = file.and_then(|file| file.read_exact_at(bytes, page % SEGMENT_PAGES * PAGE_BYTES + offset));
        if let Err(error) = read {
            // Without it nobody can tell what a snapshot sees.
            self.vfs.fail_stop(&Error::io("could not read commit sequence numbers", &error).to_string());
        }
    }

    /// Forgets a page that was taken over.
    pub(crate) fn remove(&self, page: u64) {
        if self.unwritten.lock().remove(&page).is_some() {
            return;
        }
        let number = page / SEGMENT_PAGES;
        let mut segments = self.segments.lock();
        let segment = segments.all.get_mut(&number).expect("a spilled page has a file");
        segment.pages -= 1;
        if segment.pages == 0 {
            segments.all.remove(&number);
            segments.opened.retain(|&opened| opened != number);
            // A file that stays is removed at the next start.
            let _ = self.vfs.remove_file(&self.path(number));
        }
    }
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use sync::atomic::{AtomicUsize, Ordering};
    use vfs::{HookedCall, SimulatedVfs};

    use super::*;

    const OPEN_MAX: usize = 4;

    #[test]
    fn one_file_gives_way_to_one_that_is_opened() {
        let disk = SimulatedVfs::new(1);
        let spill = Spill::new(Arc::new(disk.clone()), Path::new("/csn"), OPEN_MAX).unwrap();
        let opened = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&opened);
        disk.set_hook(move |call| {
            if matches!(call, HookedCall::Opened(_)) {
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        for segment in 0..7 {
            spill.write(segment * SEGMENT_PAGES, &[segment; PAGE_ENTRIES as usize]);
            assert_eq!(disk.open_files(), OPEN_MAX.min(segment as usize + 1));
        }
        // Those that are open are read without opening any.
        for segment in [6, 5, 4, 3, 6, 5, 4, 3] {
            assert_eq!(spill.read_entry(segment * SEGMENT_PAGES, 1), segment);
        }
        assert_eq!(opened.load(Ordering::Relaxed), 7);
        assert_eq!(spill.read_page(0), [0; PAGE_ENTRIES as usize]);
        assert_eq!((opened.load(Ordering::Relaxed), disk.open_files()), (8, OPEN_MAX));
        for segment in 0..7 {
            spill.remove(segment * SEGMENT_PAGES);
        }
        assert_eq!(disk.open_files(), 0);
        assert!(disk.list_dir(Path::new("/csn")).unwrap().is_empty());
    }
}
