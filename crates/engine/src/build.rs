//! Index builds: the rows' keys are sorted, in memory as long as they fit and in runs on disk beyond, and entered in order.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Result, Tid};
use vfs::{OpenMode, Vfs};

/// Bytes that a run is read and written by.
const CHUNK_BYTES: usize = 256 << 10;
/// A run's entry: `u32` key length, 6 bytes place, flag, key.
const ENTRY_HEAD_BYTES: usize = 11;

/// An entry of a run or of the sorter's memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SortEntry {
    pub(crate) key: Vec<u8>,
    pub(crate) tid: Tid,
    /// No other entry marked so may have the same key.
    pub(crate) unique: bool,
}

impl Ord for SortEntry {
    fn cmp(&self, other: &SortEntry) -> Ordering {
        (&self.key, self.tid).cmp(&(&other.key, other.tid))
    }
}

impl PartialOrd for SortEntry {
    fn partial_cmp(&self, other: &SortEntry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Sorts entries by key and place.
pub(crate) struct Sorter {
    vfs: Arc<dyn Vfs>,
    directory: PathBuf,
    name: String,
    limit_bytes: usize,
    /// Keys one after the other.
    keys: Vec<u8>,
    entries: Vec<(u32, u32, Tid, bool)>,
    runs: Vec<PathBuf>,
}

impl Sorter {
    /// Sorts within about `limit_bytes` of memory; runs go to `directory`, made if needed, under names that start with
    /// `name`.
    pub(crate) fn new(vfs: Arc<dyn Vfs>, directory: &Path, name: String, limit_bytes: usize) -> Sorter {
        Sorter {
            vfs,
            directory: directory.to_owned(),
            name,
            limit_bytes,
            keys: Vec::new(),
            entries: Vec::new(),
            runs: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, key: &[u8], tid: Tid, unique: bool) -> Result<()> {
        self.entries.push((self.keys.len() as u32, key.len() as u32, tid, unique));
        self.keys.extend_from_slice(key);
        let used = self.keys.len() + self.entries.len() * size_of::<(u32, u32, Tid, bool)>();
        // Offsets are 32 bits wide.
        if used >= self.limit_bytes || self.keys.len() >= u32::MAX as usize / 2 {
            self.spill()?;
        }
        Ok(())
    }

    fn sort(&mut self) -> Result<()> {
        let keys = &self.keys;
        let key = |entry: &(u32, u32, Tid, bool)| &keys[entry.0 as usize..][..entry.1 as usize];
        sync::sort_unstable_by(&mut self.entries, |a, b| key(a).cmp(key(b)).then(a.2.cmp(&b.2)))
    }

    fn spill(&mut self) -> Result<()> {
        self.sort()?;
        let path = self.directory.join(format!("{}.{}", self.name, self.runs.len()));
        let io = |error| Error::io(format!("could not write temporary file \"{}\"", path.display()), &error);
        self.vfs.create_dir_all(&self.directory).map_err(io)?;
        // From here on the file is removed with the sorter, also if this fails.
        self.runs.push(path.clone());
        self.vfs.open(&path, OpenMode::Create).and_then(|file| file.set_len(0)).map_err(io)?;
        // Open for each chunk only: others run in between, and may be building indexes too.
        let write =
            |bytes: &[u8], at| self.vfs.open(&path, OpenMode::ReadWrite).and_then(|file| file.write_all_at(bytes, at));
        let (mut buffer, mut at) = (Vec::with_capacity(CHUNK_BYTES + 4096), 0);
        for (start, length, tid, unique) in self.entries.drain(..) {
            buffer.extend_from_slice(&length.to_le_bytes());
            buffer.extend_from_slice(&tid.to_bytes());
            buffer.push(u8::from(unique));
            buffer.extend_from_slice(&self.keys[start as usize..][..length as usize]);
            if buffer.len() >= CHUNK_BYTES {
                sync::yield_point()?;
                write(&buffer, at).map_err(io)?;
                at += buffer.len() as u64;
                buffer.clear();
            }
        }
        write(&buffer, at).map_err(io)?;
        self.keys.clear();
        Ok(())
    }

    /// The entries in order. Nothing is pushed after this.
    pub(crate) fn finish(&mut self) -> Result<Sorted<'_>> {
        if !self.runs.is_empty() {
            self.spill()?;
            self.entries.shrink_to_fit();
        }
        self.sort()?;
        let mut readers = Vec::with_capacity(self.runs.len());
        let mut heads = BinaryHeap::new();
        for path in &self.runs {
            let mut reader = RunReader::new(self.vfs.clone(), path);
            if let Some(entry) = reader.next()? {
                heads.push(std::cmp::Reverse((entry, readers.len())));
            }
            readers.push(reader);
        }
        Ok(Sorted { keys: &self.keys, entries: self.entries.iter(), readers, heads })
    }
}

impl Drop for Sorter {
    fn drop(&mut self) {
        for run in &self.runs {
            // A leftover is removed when the database is opened.
            let _ = self.vfs.remove_file(run);
        }
    }
}

/// Sorted entries: those in memory, or the runs merged.
pub(crate) struct Sorted<'a> {
    keys: &'a [u8],
    entries: std::slice::Iter<'a, (u32, u32, Tid, bool)>,
    readers: Vec<RunReader>,
    heads: BinaryHeap<std::cmp::Reverse<(SortEntry, usize)>>,
}

impl Iterator for Sorted<'_> {
    type Item = Result<SortEntry>;

    fn next(&mut self) -> Option<Result<SortEntry>> {
        if self.readers.is_empty() {
            let (start, length, tid, unique) = *self.entries.next()?;
            let key = self.keys[start as usize..][..length as usize].to_vec();
            return Some(Ok(SortEntry { key, tid, unique }));
        }
        let std::cmp::Reverse((entry, reader)) = self.heads.pop()?;
        match self.readers[reader].next() {
            Ok(Some(next)) => self.heads.push(std::cmp::Reverse((next, reader))),
            Ok(None) => {}
            Err(error) => return Some(Err(error)),
        }
        Some(Ok(entry))
    }
}

/// Reads a run, which is open for a chunk at a time: there may be more runs than descriptors.
struct RunReader {
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    at: u64,
    buffer: Vec<u8>,
    taken: usize,
}

impl RunReader {
    fn new(vfs: Arc<dyn Vfs>, path: &Path) -> RunReader {
        RunReader { vfs, path: path.to_owned(), at: 0, buffer: Vec::new(), taken: 0 }
    }

    /// Makes sure of `bytes` bytes in the buffer; false at the file's end.
    fn fill(&mut self, bytes: usize) -> Result<bool> {
        while self.buffer.len() - self.taken < bytes {
            self.buffer.drain(..self.taken);
            self.taken = 0;
            let had = self.buffer.len();
            self.buffer.resize(had + CHUNK_BYTES, 0);
            let file = self.vfs.open(&self.path, OpenMode::Read);
            let got = file.and_then(|file| file.read_at(&mut self.buffer[had..], self.at)).map_err(|error| {
                Error::io(format!("could not read temporary file \"{}\"", self.path.display()), &error)
            })?;
            self.buffer.truncate(had + got);
            self.at += got as u64;
            if got == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn next(&mut self) -> Result<Option<SortEntry>> {
        if !self.fill(ENTRY_HEAD_BYTES)? {
            return Ok(None);
        }
        let head: [u8; ENTRY_HEAD_BYTES] =
            self.buffer[self.taken..][..ENTRY_HEAD_BYTES].try_into().expect("a slice of that length");
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let tid = Tid::from_bytes([head[4], head[5], head[6], head[7], head[8], head[9]]);
        if !self.fill(ENTRY_HEAD_BYTES + length)? {
            return Err(Error::internal(format!("temporary file \"{}\" is cut short", self.path.display())));
        }
        let key = self.buffer[self.taken + ENTRY_HEAD_BYTES..][..length].to_vec();
        self.taken += ENTRY_HEAD_BYTES + length;
        Ok(Some(SortEntry { key, tid, unique: head[10] != 0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vfs::SimulatedVfs;

    fn sorted(limit_bytes: usize) -> (Vec<SortEntry>, usize) {
        let disk = SimulatedVfs::new(3);
        let mut sorter = Sorter::new(Arc::new(disk.clone()), Path::new("/tmp"), "sort".into(), limit_bytes);
        let mut state = 1u64;
        for number in 0..5000u32 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let key = (state >> 40).to_be_bytes();
            sorter.push(&key[4..4 + (state >> 60) as usize % 4], Tid::new(number, 1), number % 2 == 0).unwrap();
        }
        let entries: Vec<_> = sorter.finish().unwrap().map(Result::unwrap).collect();
        let runs = sorter.runs.len();
        drop(sorter);
        assert!(disk.list_dir(Path::new("/tmp")).map_or(0, |names| names.len()) == 0, "runs are removed");
        (entries, runs)
    }

    #[test]
    fn sorting_in_runs_gives_the_same_as_sorting_in_memory() {
        let (in_memory, none) = sorted(1 << 30);
        let (in_runs, some) = sorted(20_000);
        assert!(none == 0 && some > 3);
        assert!(in_memory.is_sorted() && in_memory.len() == 5000);
        assert_eq!(in_memory, in_runs);
    }

    #[test]
    fn a_sort_that_is_interrupted_while_it_writes_a_run_leaves_no_file() {
        let disk = SimulatedVfs::new(3);
        let mut sorter = Sorter::new(Arc::new(disk.clone()), Path::new("/tmp"), "sort".into(), usize::MAX);
        // More than is written in one piece. The keys are in order, which leaves the sort little to look at.
        for number in 0..100_000u32 {
            sorter.push(&number.to_be_bytes(), Tid::new(number, 1), true).unwrap();
        }
        let interrupt = Arc::new(sync::Interrupt::new());
        let cancel = Arc::clone(&interrupt);
        // The run's file is there, and nothing is written to it.
        disk.set_hook(move |call| {
            if matches!(call, vfs::HookedCall::SetLength) {
                cancel.raise(sync::InterruptKind::Cancel);
            }
        });
        let spilled = sync::with_interrupt(&interrupt, || sorter.spill());
        assert_eq!(spilled.unwrap_err().sqlstate(), base::sqlstate::QUERY_CANCELED);
        drop(sorter);
        assert!(disk.list_dir(Path::new("/tmp")).map_or(0, |names| names.len()) == 0, "the run is removed");
    }
}
