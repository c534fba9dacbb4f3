//! The files under `base/`: one per relation, named by its number.
//!
//! A relation is one file, however large: offsets have 64 bits, and every file system the engine runs on has files of
//! 2^32 pages of 8 KiB. So a block's place needs no arithmetic over segments, and dropping or cutting a file is one call.
//!
//! Files are extended by writing zeros, before any page of the new part is in the cache: a full disk is an error of the
//! statement that needed the room, not of the write-back that comes later. Growth is an eighth of the file at a time, up
//! to a megabyte; the block count that the engine sees grows page by page. After a restart it is the file's length, so that
//! empty pages may be found at the end.
//!
//! At most `opened_max` handles stay open; the one opened longest ago gives way to the next. Beside them each thread has one that it
//! uses at the moment. None is held while something else is waited for.
//!
//! The removal of a file begins with a mark on it ([`Files::begin_removal`]). From then on only write-back finds the file, and
//! no page of it comes into the cache. Write-back needs it until the remover has taken the last page out of the cache.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use base::{Error, FileNumber, Result, sqlstate};
use rustc_hash::FxHashMap;
use sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use sync::{Arc, Mutex, MutexGuard, RwLock};
use vfs::{File, OpenMode, Vfs};

use crate::PAGE_BYTES;
use crate::apart::call_on_file_thread;

/// The most blocks by which a file grows at a time beyond what is asked for.
const GROWTH_BLOCKS_MAX: u32 = 128;

pub(crate) fn file_name(file: FileNumber) -> String {
    file.0.to_string()
}

/// More files than a database can make: numbers are given out one after the other.
const FILE_NUMBERS_END: u64 = 1 << 48;

/// The number of the file with this name, if a database can have given it the name.
pub(crate) fn file_number(name: &str) -> Option<FileNumber> {
    let file = FileNumber(name.parse().ok()?);
    (file.0 < FILE_NUMBERS_END && file_name(file) == name).then_some(file)
}

/// The files under `base/`.
pub(crate) struct Files {
    vfs: Arc<dyn Vfs>,
    directory: PathBuf,
    known: RwLock<FxHashMap<u64, Arc<RelationFile>>>,
    /// Counts files that were removed. Raised while `known` forgets one.
    removed: AtomicU64,
    /// Files whose handle is kept, the one opened longest ago first. A leaf.
    opened: Mutex<VecDeque<Arc<RelationFile>>>,
    /// Files held open at a time; more are closed and opened again as needed.
    opened_max: usize,
}

/// One file. Kept from first use until it is dropped; its handle may be closed in between.
pub(crate) struct RelationFile {
    pub(crate) number: FileNumber,
    /// The handle that is kept. A thread has one file's at a time, and takes `Files::opened` under it.
    handle: Mutex<Option<Arc<dyn File>>>,
    /// Blocks the engine knows of.
    blocks: AtomicU32,
    /// Blocks the file has on disk; held while the file is extended or cut.
    allocated: Mutex<u32>,
    /// It is being removed: no page of it may come into the cache.
    is_removed: AtomicBool,
}

impl RelationFile {
    pub(crate) fn blocks(&self) -> u32 {
        self.blocks.load(Ordering::Acquire)
    }

    /// Whether the block may be read: the file has it and is not being removed.
    pub(crate) fn has(&self, block: u32) -> bool {
        !self.is_removed.load(Ordering::Acquire) && block < self.blocks()
    }

    /// # Errors
    /// 58P01 if the file is being removed, as if it were gone.
    pub(crate) fn check_not_removed(&self) -> Result<()> {
        if self.is_removed.load(Ordering::Acquire) { Err(no_such_file(self.number)) } else { Ok(()) }
    }
}

fn no_such_file(file: FileNumber) -> Error {
    Error::io(format!("could not open file \"base/{file}\""), &std::io::Error::from(ErrorKind::NotFound))
}

/// Makes a directory, if needed, whose name is durable.
pub(crate) fn make_directory(vfs: &dyn Vfs, directory: &Path) -> Result<()> {
    let failed = |error| Error::io(format!("could not create directory \"{}\"", directory.display()), &error);
    vfs.create_dir_all(directory).map_err(failed)?;
    directory.parent().map_or(Ok(()), |parent| vfs.sync_dir(parent)).map_err(failed)
}

impl Files {
    pub(crate) fn new(vfs: Arc<dyn Vfs>, directory: &Path, opened_max: usize) -> Result<Files> {
        make_directory(&*vfs, directory)?;
        let (known, opened) = (RwLock::new(FxHashMap::default()), Mutex::new(VecDeque::new()));
        let (directory, removed) = (directory.to_owned(), AtomicU64::new(0));
        Ok(Files { vfs, directory, known, removed, opened, opened_max: opened_max.max(1) })
    }

    pub(crate) fn vfs(&self) -> &Arc<dyn Vfs> {
        &self.vfs
    }

    fn path(&self, file: FileNumber) -> PathBuf {
        self.directory.join(file_name(file))
    }

    /// The file, which must exist and not be on its way out.
    pub(crate) fn get(&self, file: FileNumber) -> Result<Arc<RelationFile>> {
        let relation = self.get_to_write_back(file)?;
        relation.check_not_removed()?;
        Ok(relation)
    }

    /// The file of a page in the cache. It may be on its way out: then its remover waits until the page is written.
    pub(crate) fn get_to_write_back(&self, file: FileNumber) -> Result<Arc<RelationFile>> {
        loop {
            if let Some(known) = self.known.read().get(&file.0) {
                return Ok(Arc::clone(known));
            }
            let removed = self.removed.load(Ordering::Acquire);
            let handle = self.open(file)?;
            // Since it was opened it may have been removed, and forgotten, so that nothing tells of it but the count.
            if let Some(relation) = self.remember(file, handle, Some(removed))? {
                return Ok(relation);
            }
        }
    }

    fn open(&self, file: FileNumber) -> Result<Arc<dyn File>> {
        let failed = |error| Error::io(format!("could not open file \"base/{file}\""), &error);
        self.vfs.open(&self.path(file), OpenMode::ReadWrite).map_err(failed)
    }

    /// How many blocks the file has.
    pub(crate) fn blocks(&self, file: FileNumber) -> Result<u32> {
        if let Some(known) = self.known.read().get(&file.0) {
            return known.check_not_removed().map(|()| known.blocks());
        }
        Ok(self.get(file)?.blocks())
    }

    /// The file from now on, with this handle unless it is known already. `None` if a file has been removed since the
    /// count was `removed`.
    fn remember(
        &self,
        file: FileNumber,
        handle: Arc<dyn File>,
        removed: Option<u64>,
    ) -> Result<Option<Arc<RelationFile>>> {
        let failed = |error| Error::io(format!("could not find the size of file \"base/{file}\""), &error);
        let bytes = handle.len().map_err(failed)?;
        // A crash while the file was extended may have left a part of a page.
        let blocks = bytes.div_ceil(PAGE_BYTES as u64);
        if bytes != blocks * PAGE_BYTES as u64 {
            handle
                .set_len(blocks * PAGE_BYTES as u64)
                .map_err(|error| Error::io(format!("could not extend file \"base/{file}\""), &error))?;
        }
        let blocks = u32::try_from(blocks)
            .map_err(|_| Error::corrupted(format!("file \"base/{file}\" is larger than a relation can be")))?;
        let mut known = self.known.write();
        if let Some(known) = known.get(&file.0) {
            return Ok(Some(Arc::clone(known)));
        }
        if removed.is_some_and(|removed| self.removed.load(Ordering::Relaxed) != removed) {
            return Ok(None);
        }
        let relation = Arc::new(RelationFile {
            number: file,
            handle: Mutex::new(None),
            blocks: AtomicU32::new(blocks),
            allocated: Mutex::new(blocks),
            is_removed: AtomicBool::new(false),
        });
        known.insert(file.0, Arc::clone(&relation));
        drop(known);
        let kept = relation.handle.lock();
        self.keep(&relation, kept, handle);
        Ok(Some(relation))
    }

    /// Keeps a handle, unless the file has one or is being removed: then the handle is not kept, and its user closes it. Closes the
    /// one that was opened longest ago, if there are too many. One that is in use stays open until its user is done with it.
    fn keep(
        &self,
        relation: &Arc<RelationFile>,
        mut kept: MutexGuard<'_, Option<Arc<dyn File>>>,
        handle: Arc<dyn File>,
    ) {
        if kept.is_some() || relation.is_removed.load(Ordering::Acquire) {
            return;
        }
        *kept = Some(handle);
        let oldest = {
            let mut opened = self.opened.lock();
            opened.push_back(Arc::clone(relation));
            if opened.len() > self.opened_max { opened.pop_front() } else { None }
        };
        drop(kept);
        if let Some(oldest) = oldest {
            let closed = oldest.handle.lock().take();
            drop(closed);
        }
    }

    /// The open handle of a file, for a call that ends soon.
    pub(crate) fn handle(&self, relation: &Arc<RelationFile>) -> Result<Arc<dyn File>> {
        let kept = relation.handle.lock();
        if let Some(handle) = &*kept {
            return Ok(Arc::clone(handle));
        }
        let opened = self.open(relation.number)?;
        self.keep(relation, kept, Arc::clone(&opened));
        Ok(opened)
    }

    /// Adds a block at the end; `publish` is told its number before anybody else can ask for it.
    pub(crate) fn extend<R>(&self, relation: &Arc<RelationFile>, publish: impl FnOnce(u32) -> Result<R>) -> Result<R> {
        let mut allocated = relation.allocated.lock();
        relation.check_not_removed()?;
        let block = relation.blocks.load(Ordering::Relaxed);
        if block == u32::MAX {
            let message = format!("cannot extend file \"base/{}\" beyond {} blocks", relation.number, u32::MAX);
            return Err(Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        }
        if block >= *allocated {
            let growth = (block / 8).clamp(1, GROWTH_BLOCKS_MAX).min(u32::MAX - block);
            *allocated = self.allocate(relation, block + growth).or_else(|error| {
                // The disk may have room for one more, though not for many.
                if growth > 1 { self.allocate(relation, block + 1) } else { Err(error) }
            })?;
        }
        let published = publish(block)?;
        relation.blocks.store(block + 1, Ordering::Release);
        Ok(published)
    }

    fn allocate(&self, relation: &Arc<RelationFile>, blocks: u32) -> Result<u32> {
        let bytes = u64::from(blocks) * PAGE_BYTES as u64;
        self.handle(relation)?.allocate_zeroed(bytes).map_err(|error| {
            let hint =
                if matches!(error.kind(), ErrorKind::StorageFull) { Some("Check free disk space.") } else { None };
            let error = Error::io(format!("could not extend file \"base/{}\"", relation.number), &error);
            if let Some(hint) = hint { error.hint(hint) } else { error }
        })?;
        Ok(blocks)
    }

    /// Makes the file at least `blocks` long, with zeros, for redo.
    pub(crate) fn extend_for_redo(&self, relation: &Arc<RelationFile>, blocks: u32) -> Result<()> {
        let mut allocated = relation.allocated.lock();
        if blocks > *allocated {
            *allocated = self.allocate(relation, blocks)?;
        }
        relation.blocks.fetch_max(blocks, Ordering::Release);
        Ok(())
    }

    /// Makes an empty file whose name is durable.
    pub(crate) fn create(&self, file: FileNumber, mode: OpenMode) -> Result<Arc<RelationFile>> {
        let handle = self.make(file, mode)?;
        let (vfs, directory) = (Arc::clone(&self.vfs), self.directory.clone());
        call_on_file_thread(move || sync_or_end(&*vfs, &directory));
        self.remember_made(file, handle)
    }

    /// The file that the caller has made: nobody else removes it meanwhile.
    fn remember_made(&self, file: FileNumber, handle: Arc<dyn File>) -> Result<Arc<RelationFile>> {
        let remembered = self.remember(file, handle, None)?;
        Ok(remembered.expect("nothing only if removals were counted"))
    }

    fn make(&self, file: FileNumber, mode: OpenMode) -> Result<Arc<dyn File>> {
        let failed = |error| Error::io(format!("could not create file \"base/{file}\""), &error);
        self.vfs.open(&self.path(file), mode).map_err(failed)
    }

    /// The file, made if it does not exist. Its name may not be durable.
    pub(crate) fn create_if_missing(&self, file: FileNumber) -> Result<Arc<RelationFile>> {
        if self.exists(file) { self.get(file) } else { self.remember_made(file, self.make(file, OpenMode::Create)?) }
    }

    /// Cuts the file, and makes that durable. `discard` forgets the cached pages of what is cut off; by then nobody can
    /// bring in more of them.
    pub(crate) fn truncate(&self, relation: &Arc<RelationFile>, blocks: u32, discard: impl FnOnce()) -> Result<()> {
        let mut allocated = relation.allocated.lock();
        relation.blocks.store(blocks, Ordering::Release);
        discard();
        let handle = self.handle(relation)?;
        handle
            .set_len(u64::from(blocks) * PAGE_BYTES as u64)
            .map_err(|error| Error::io(format!("could not truncate file \"base/{}\"", relation.number), &error))?;
        *allocated = blocks;
        if let Err(error) = handle.sync_all() {
            let error = Error::io(format!("could not sync file \"base/{}\"", relation.number), &error);
            self.vfs.fail_stop(&error.to_string());
        }
        Ok(())
    }

    /// Marks files that are about to be removed. This waits for a caller that extends one of them.
    pub(crate) fn begin_removal(&self, files: &[FileNumber]) {
        for &file in files {
            let unknown = || {
                // Its pages are not in the cache. The mark keeps others from opening it.
                let (handle, blocks, allocated) = (Mutex::new(None), AtomicU32::new(0), Mutex::new(0));
                Arc::new(RelationFile { number: file, handle, blocks, allocated, is_removed: AtomicBool::new(true) })
            };
            let relation = Arc::clone(self.known.write().entry(file.0).or_insert_with(unknown));
            let _allocated = relation.allocated.lock();
            relation.is_removed.store(true, Ordering::Release);
        }
    }

    /// Removes files that are marked and of which no page is in the cache, and makes that durable. Returns those that could not
    /// be removed, and why; one that does not exist is no error.
    pub(crate) fn remove(&self, files: &[FileNumber]) -> Vec<(FileNumber, Error)> {
        let mut errors = Vec::new();
        for file in files {
            let known = self.known.read().get(&file.0).cloned();
            if let Some(known) = known {
                // Both at once: whoever opens it from now on does not keep it.
                let mut handle = known.handle.lock();
                handle.take();
                self.opened.lock().retain(|opened| !Arc::ptr_eq(opened, &known));
            }
            match self.vfs.remove_file(&self.path(*file)) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    errors.push((*file, Error::io(format!("could not remove file \"base/{file}\""), &error)));
                }
                _ => {}
            }
            // Not before: others would open it again.
            let mut known = self.known.write();
            known.remove(&file.0);
            self.removed.fetch_add(1, Ordering::Release);
        }
        self.sync_directory();
        errors
    }

    pub(crate) fn exists(&self, file: FileNumber) -> bool {
        self.known.read().contains_key(&file.0) || self.vfs.exists(&self.path(file))
    }

    /// The numbers of all files, in order. Files with other names are not ours to judge.
    pub(crate) fn list(&self) -> Result<Vec<FileNumber>> {
        let failed = |error| Error::io(format!("could not read directory \"{}\"", self.directory.display()), &error);
        let names = self.vfs.list_dir(&self.directory).map_err(failed)?;
        let mut files: Vec<_> = names.iter().filter_map(|name| file_number(name)).collect();
        files.sort_unstable();
        Ok(files)
    }

    pub(crate) fn sync_directory(&self) {
        sync_or_end(&*self.vfs, &self.directory);
    }
}

/// Makes the names in a directory durable. A failure ends the process (R4).
fn sync_or_end(vfs: &dyn Vfs, directory: &Path) {
    if let Err(error) = vfs.sync_dir(directory) {
        let error = Error::io(format!("could not sync directory \"{}\"", directory.display()), &error);
        vfs.fail_stop(&error.to_string());
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use vfs::{FailStop, Fault, HookedCall, SimulatedVfs};

    use super::*;

    const FILE: FileNumber = FileNumber(16384);

    fn files_on(disk: &SimulatedVfs, opened_max: usize) -> Arc<Files> {
        Arc::new(Files::new(Arc::new(disk.clone()), Path::new("/base"), opened_max).unwrap())
    }

    #[test]
    fn no_more_files_are_held_open_than_may_be() {
        let disk = SimulatedVfs::new(1);
        let files = files_on(&disk, 3);
        let relations: Vec<_> =
            (0..10).map(|number| files.create(FileNumber(number), OpenMode::CreateNew).unwrap()).collect();
        assert_eq!(disk.open_files(), 3);
        for relation in relations.iter().chain(&relations) {
            assert_eq!(files.handle(relation).unwrap().len().unwrap(), 0);
            assert_eq!(disk.open_files(), 3);
        }
        // The one that the caller uses, and one that gives way to it.
        assert!(disk.most_open() <= 5, "{} were open", disk.most_open());
    }

    #[test]
    fn a_failed_sync_ends_the_process_with_its_sqlstate() {
        let ends_with = |disk: &SimulatedVfs, call: &dyn Fn()| {
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).unwrap_err();
            let FailStop(message) = ended.downcast_ref().expect("it ends itself");
            assert!(message.ends_with("(SQLSTATE 58030)"), "{message}");
            assert!(disk.is_crashed());
        };
        let disk = SimulatedVfs::new(1);
        let files = files_on(&disk, 3);
        let relation = files.create(FILE, OpenMode::CreateNew).unwrap();
        disk.add_fault(Fault::FailSync(disk.syncs() + 1));
        ends_with(&disk, &|| files.truncate(&relation, 0, || ()).unwrap());

        let disk = SimulatedVfs::new(1);
        let files = files_on(&disk, 3);
        disk.add_fault(Fault::FailSync(disk.syncs() + 1));
        ends_with(&disk, &|| files.sync_directory());
    }

    #[test]
    fn a_file_that_is_opened_while_it_is_removed_is_closed_by_its_user() {
        let disk = SimulatedVfs::new(1);
        let files = files_on(&disk, 3);
        let relation = files.create(FILE, OpenMode::CreateNew).unwrap();
        let (user, used) = (Arc::downgrade(&files), relation.clone());
        disk.set_hook(move |call| {
            if matches!(call, HookedCall::Remove(_)) {
                drop(user.upgrade().expect("it is in use").handle(&used).unwrap());
            }
        });
        files.begin_removal(&[FILE]);
        assert!(files.remove(&[FILE]).is_empty());
        assert_eq!(disk.open_files(), 0);
        assert!(files.opened.lock().is_empty());
    }
}
