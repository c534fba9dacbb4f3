//! The log as files of equal size, named by their number: position `p` lies in segment `p / size`.
//!
//! A segment is made ahead of its use by [`LogDevice::prepare`]: an old one is renamed, or a new one is written full of
//! zeros and synced, so that a commit's write changes no metadata and its sync touches nothing but its bytes. A segment that
//! takes its final name is complete: it was synced under another name, and its directory is synced before it is used.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};

use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Arc, Mutex};
use vfs::{File, OpenMode, Vfs};

use crate::blocks::Blocks;
use crate::device::{Batch, LogDevice};
use crate::{SyncMethod, WalOptions, WalStatistics, WalTuning};

/// The name of a segment that is still being filled with zeros.
const UNFINISHED: &str = "unfinished";
/// Zeros are written and synced in pieces of this size, so that a commit's sync never waits for a whole segment's.
const ZERO_PIECE_BYTES: u64 = 1 << 20;
/// Old segments kept for use again, at most.
const SPARE_SEGMENTS_MAX: usize = 64;
/// Old segments kept for use again, whatever was used between two releases.
const SPARE_SEGMENTS_MIN: usize = 3;

/// Where a directory's segments lie and how large they are.
#[derive(Clone)]
pub(crate) struct SegmentLayout {
    pub vfs: Arc<dyn Vfs>,
    pub dir: PathBuf,
    pub size_bytes: u64,
}

impl SegmentLayout {
    pub fn new(vfs: Arc<dyn Vfs>, dir: &Path, size_bytes: u64) -> SegmentLayout {
        SegmentLayout { vfs, dir: dir.to_owned(), size_bytes }
    }

    pub fn number_of(&self, position: u64) -> u64 {
        position / self.size_bytes
    }

    pub fn path(&self, number: u64) -> PathBuf {
        self.dir.join(format!("{number:016X}"))
    }

    /// The numbers of all segments there are.
    pub fn numbers(&self) -> io::Result<BTreeSet<u64>> {
        let names = self.vfs.list_dir(&self.dir)?;
        Ok(names.iter().filter(|name| name.len() == 16).filter_map(|name| u64::from_str_radix(name, 16).ok()).collect())
    }

    /// Reads from the segment files: up to the end of `buffer` or of the segment that `from` lies in; 0 if there is none.
    pub fn read(&self, open: &mut Option<(u64, Arc<dyn File>)>, buffer: &mut [u8], from: u64) -> io::Result<usize> {
        let number = self.number_of(from);
        if open.as_ref().is_none_or(|(opened, _)| *opened != number) {
            *open = match self.vfs.open(&self.path(number), OpenMode::Read) {
                Ok(file) => Some((number, file)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
                Err(error) => return Err(error),
            };
        }
        let Some((_, file)) = open else { return Ok(0) };
        let offset = from % self.size_bytes;
        let wanted = buffer.len().min((self.size_bytes - offset) as usize);
        let mut have = 0;
        while have < wanted {
            match file.read_at(&mut buffer[have..wanted], offset + have as u64) {
                Ok(0) => break,
                Ok(bytes) => have += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(have)
    }
}

/// The segment being written.
struct Current {
    number: u64,
    file: Arc<dyn File>,
    /// How `file` was opened.
    opening: Opening,
}

/// How a segment is opened to be written.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Opening {
    /// Writes are durable when they return.
    datasync: bool,
    /// Writes go past the operating system's cache, in whole blocks.
    direct: bool,
}

impl Opening {
    const PLAIN: Opening = Opening { datasync: false, direct: false };
}

/// The segment being written, and the lowest one with unsynced bytes.
struct Writing {
    current: Option<Current>,
    /// The lowest segment that holds unsynced bytes.
    unsynced_from: Option<u64>,
    /// The blocks that direct writes are made from.
    blocks: Blocks,
}

/// Segments ahead of the current one, and old ones.
struct Supply {
    /// Prepared segments, in order and without gaps. They are not open: no descriptors are spent on waiting segments.
    ready: VecDeque<u64>,
    /// Old segments that may be renamed.
    spare: BTreeSet<u64>,
    /// The segment that would be prepared next.
    next_number: u64,
    /// Where the last release ended. The number of segments used since then predicts how many spares the next interval needs.
    released_to: u64,
}

/// The log in local files.
pub(crate) struct Segments {
    layout: SegmentLayout,
    sync_method: SyncMethod,
    /// Cleared for good by the first segment that can't be opened so.
    direct_io: AtomicBool,
    tuning: Arc<WalTuning>,
    /// Guards who is written. Taken before `supply`. Held across writes, never across a sync of log records.
    writing: Mutex<Writing>,
    /// Guards the prepared and the old segments. Not held across I/O.
    supply: Mutex<Supply>,
    /// Held while a segment is being made, so that a writer in need and the helper thread don't make the same one.
    making: Mutex<()>,
    created: AtomicU64,
    recycled: AtomicU64,
    unprepared: AtomicU64,
}

impl Segments {
    /// The segments in the layout's directory, to be appended to from `position` on. Those wholly before `needed_from` are
    /// old; those behind `position`'s are used when their turn comes.
    pub fn open(
        layout: SegmentLayout,
        options: &WalOptions,
        tuning: Arc<WalTuning>,
        position: u64,
        needed_from: u64,
    ) -> io::Result<Segments> {
        let unfinished = layout.dir.join(UNFINISHED);
        if layout.vfs.exists(&unfinished) {
            layout.vfs.remove_file(&unfinished)?;
        }
        let first_needed = layout.number_of(needed_from);
        let spare = layout.numbers()?.into_iter().filter(|&number| number < first_needed).collect();
        let next_number = layout.number_of(position);
        let supply = Supply { ready: VecDeque::new(), spare, next_number, released_to: needed_from };
        Ok(Segments {
            layout,
            sync_method: options.sync_method,
            direct_io: AtomicBool::new(options.direct_io),
            tuning,
            writing: Mutex::new(Writing { current: None, unsynced_from: None, blocks: Blocks::new() }),
            supply: Mutex::new(supply),
            making: Mutex::new(()),
            created: AtomicU64::new(0),
            recycled: AtomicU64::new(0),
            unprepared: AtomicU64::new(0),
        })
    }

    /// How a segment is to be written now. Without `fsync` nobody waits for the disk, so the cache is of use.
    fn wanted_opening(&self) -> Opening {
        let fsync = self.tuning.fsync();
        Opening {
            datasync: fsync && self.sync_method == SyncMethod::OpenDatasync,
            direct: fsync && self.direct_io.load(Ordering::Relaxed),
        }
    }

    fn open_for_writing(&self, number: u64, opening: Opening) -> io::Result<Arc<dyn File>> {
        let (vfs, path) = (&self.layout.vfs, self.layout.path(number));
        match opening {
            Opening { datasync, direct: true } => vfs.open_direct(&path, OpenMode::ReadWrite, datasync),
            Opening { datasync: true, .. } => vfs.open_datasync(&path, OpenMode::ReadWrite),
            Opening::PLAIN => vfs.open(&path, OpenMode::ReadWrite),
        }
    }

    /// Opens a segment that exists as it is to be written now.
    fn open_as_wanted(&self, number: u64) -> io::Result<Current> {
        let opening = self.wanted_opening();
        match self.open_for_writing(number, opening) {
            Ok(file) => Ok(Current { number, file, opening }),
            Err(error)
                if opening.direct
                    && matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
            {
                self.direct_io.store(false, Ordering::Relaxed);
                let opening = Opening { direct: false, ..opening };
                Ok(Current { number, file: self.open_for_writing(number, opening)?, opening })
            }
            Err(error) => Err(error),
        }
    }

    /// Makes segment `number` the one being written.
    fn turn_to(&self, writing: &mut Writing, number: u64) -> io::Result<()> {
        loop {
            {
                let mut supply = self.supply.lock();
                while supply.ready.front().is_some_and(|ready| *ready < number) {
                    supply.ready.pop_front();
                }
                if supply.ready.pop_front_if(|ready| *ready == number).is_some() {
                    break;
                }
                supply.next_number = supply.next_number.max(number);
            }
            let was_there = self.layout.vfs.exists(&self.layout.path(number));
            if self.make_next(|supply| supply.next_number <= number)? && !was_there && writing.current.is_some() {
                self.unprepared.fetch_add(1, Ordering::Relaxed);
            }
        }
        writing.current = Some(self.open_as_wanted(number)?);
        Ok(())
    }

    /// Makes the next segment and adds it to the supply, if it is `wanted`; false if it is not.
    fn make_next(&self, wanted: impl FnOnce(&Supply) -> bool) -> io::Result<bool> {
        let _making = self.making.lock();
        let (number, spare) = {
            let mut supply = self.supply.lock();
            if !wanted(&supply) {
                return Ok(false);
            }
            (supply.next_number, supply.spare.pop_first())
        };
        if self.layout.vfs.exists(&self.layout.path(number)) {
            self.supply.lock().spare.extend(spare);
            self.complete(number)?;
        } else if !spare.map_or(Ok(false), |spare| self.recycle(spare, number))? {
            self.make_anew(number)?;
        }
        let mut supply = self.supply.lock();
        supply.ready.push_back(number);
        supply.next_number = number + 1;
        Ok(true)
    }

    /// Opens a segment that has its final name already, and makes sure of its size.
    fn complete(&self, number: u64) -> io::Result<Arc<dyn File>> {
        let file = self.open_for_writing(number, Opening::PLAIN)?;
        if file.len()? < self.layout.size_bytes {
            file.allocate_zeroed(self.layout.size_bytes)?;
            file.sync_all().map_err(not_synced)?;
        }
        Ok(file)
    }

    /// Gives an old segment a new number; false if somebody has removed it.
    fn recycle(&self, spare: u64, number: u64) -> io::Result<bool> {
        match self.layout.vfs.rename(&self.layout.path(spare), &self.layout.path(number)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            renamed => renamed?,
        }
        self.layout.vfs.sync_dir(&self.layout.dir).map_err(not_synced)?;
        let file = self.complete(number)?;
        if !self.wanted_opening().direct {
            warm(&*file, self.layout.size_bytes)?;
        }
        self.recycled.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    fn make_anew(&self, number: u64) -> io::Result<()> {
        let vfs = &self.layout.vfs;
        let unfinished = self.layout.dir.join(UNFINISHED);
        if vfs.exists(&unfinished) {
            vfs.remove_file(&unfinished)?;
        }
        let file = vfs.open(&unfinished, OpenMode::CreateNew)?;
        fill_with_zeros(&*file, self.layout.size_bytes).inspect_err(|_| {
            // On a full disk others need the room. A file that stays is removed before the next attempt.
            let _ = vfs.remove_file(&unfinished);
        })?;
        vfs.rename(&unfinished, &self.layout.path(number))?;
        vfs.sync_dir(&self.layout.dir).map_err(not_synced)?;
        self.created.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn append_piece(&self, mut position: u64, mut bytes: &[u8]) -> io::Result<()> {
        let mut writing = self.writing.lock();
        while !bytes.is_empty() {
            let number = self.layout.number_of(position);
            if writing.current.as_ref().is_none_or(|current| current.number != number) {
                self.turn_to(&mut writing, number)?;
            }
            let wanted = self.wanted_opening();
            if writing.current.as_ref().is_some_and(|current| current.opening != wanted) {
                writing.current = Some(self.open_as_wanted(number)?);
            }
            let Writing { current, unsynced_from, blocks } = &mut *writing;
            let current = current.as_ref().expect("turned to it above");
            let offset = position % self.layout.size_bytes;
            let (now, later) = bytes.split_at(bytes.len().min((self.layout.size_bytes - offset) as usize));
            if current.opening.direct {
                blocks.write(&*current.file, position, offset, now)?;
            } else {
                current.file.write_all_at(now, offset)?;
                blocks.forget();
            }
            if !current.opening.datasync {
                unsynced_from.get_or_insert(number);
            }
            position += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    fn sync(&self, file: &dyn File) -> io::Result<()> {
        match self.sync_method {
            SyncMethod::Fsync => file.sync_all(),
            SyncMethod::Fdatasync | SyncMethod::OpenDatasync => file.sync_data(),
        }
    }
}

impl LogDevice for Segments {
    fn append(&self, batch: &Batch<'_>) -> io::Result<()> {
        self.append_piece(batch.start, batch.bytes[0])?;
        self.append_piece(batch.start + batch.bytes[0].len() as u64, batch.bytes[1])
    }

    fn make_durable(&self, upto: u64) -> io::Result<u64> {
        let (unsynced_from, current) = {
            let mut writing = self.writing.lock();
            let current = writing.current.as_ref().map(|current| (current.number, Arc::clone(&current.file)));
            (writing.unsynced_from.take(), current)
        };
        let Some(from) = unsynced_from else { return Ok(upto) };
        let current_number = current.as_ref().map_or(self.layout.number_of(upto), |(number, _)| *number);
        for number in from..current_number {
            // A segment that is gone was released: nobody will read it again.
            match self.open_for_writing(number, Opening::PLAIN) {
                Ok(file) => self.sync(&*file)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        match current {
            Some((_, file)) => self.sync(&*file)?,
            None => match self.open_for_writing(current_number, Opening::PLAIN) {
                Ok(file) => self.sync(&*file)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            },
        }
        Ok(upto)
    }

    fn read(&self, buffer: &mut [u8], from: u64) -> io::Result<usize> {
        self.layout.read(&mut None, buffer, from)
    }

    fn prepare(&self) -> io::Result<bool> {
        self.make_next(|supply| supply.ready.len() < self.tuning.segments_ahead())
    }

    fn release_before(&self, before: u64) -> io::Result<()> {
        let current = self.writing.lock().current.as_ref().map(|current| current.number);
        // Nobody renames an old segment while the list of them is made. `writing` is not held: it is taken before.
        let _making = self.making.lock();
        let first_kept = self.layout.number_of(before).min(current.unwrap_or(u64::MAX));
        let numbers = self.layout.numbers()?;
        let surplus: Vec<u64> = {
            let mut supply = self.supply.lock();
            let used = before.saturating_sub(supply.released_to).div_ceil(self.layout.size_bytes) as usize;
            supply.released_to = before;
            supply.spare.extend(numbers.into_iter().filter(|&number| number < first_kept));
            let keep = (used + 1).clamp(SPARE_SEGMENTS_MIN, SPARE_SEGMENTS_MAX);
            let surplus_count = supply.spare.len().saturating_sub(keep);
            (0..surplus_count).filter_map(|_| supply.spare.pop_first()).collect()
        };
        for number in surplus {
            self.layout.vfs.remove_file(&self.layout.path(number))?;
        }
        Ok(())
    }

    fn count(&self, statistics: &mut WalStatistics) {
        statistics.segments_created = self.created.load(Ordering::Relaxed);
        statistics.segments_recycled = self.recycled.load(Ordering::Relaxed);
        statistics.segments_unprepared = self.unprepared.load(Ordering::Relaxed);
    }
}

/// The error of a failed sync, whatever its reason: after it nobody knows what is durable, so it is never taken for a disk that
/// is full (R4).
fn not_synced(error: io::Error) -> io::Error {
    io::Error::other(format!("could not sync: {error}"))
}

fn fill_with_zeros(file: &dyn File, size_bytes: u64) -> io::Result<()> {
    let mut length = 0;
    while length < size_bytes {
        length = (length + ZERO_PIECE_BYTES).min(size_bytes);
        file.allocate_zeroed(length)?;
        file.sync_data()?;
    }
    file.sync_all()
}

/// Brings a file into the cache: a write of a part of a block would otherwise have to read the block first.
fn warm(file: &dyn File, size_bytes: u64) -> io::Result<()> {
    let mut buffer = vec![0; 256 << 10];
    let mut offset = 0;
    while offset < size_bytes {
        match file.read_at(&mut buffer, offset) {
            Ok(0) => break,
            Ok(bytes) => offset += bytes as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
