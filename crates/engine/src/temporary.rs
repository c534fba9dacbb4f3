//! Files of one statement: what sorts and hashes write when memory is short. They are nameless to everybody else,
//! never synced, removed when they are let go of, and cleared away when a database is opened after a crash.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use base::{Error, Result, sqlstate};
use vfs::{File, OpenMode, Vfs};

use crate::database::Database;
use crate::session::TEMPORARY_DIRECTORY;

/// Numbers for files; those of index builds have names of another form.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

/// A file that is gone once this is dropped. It is written at its end and read anywhere.
pub struct TemporaryFile {
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    file: Arc<dyn File>,
    length_bytes: u64,
    _place: StatementFile,
}

/// How many files of statements are open: temporary ones, and those that COPY reads or writes. A database's own files need
/// descriptors, too.
pub(crate) struct StatementFiles {
    open: AtomicUsize,
    open_max: usize,
}

impl StatementFiles {
    pub(crate) fn new(open_max: usize) -> Arc<StatementFiles> {
        Arc::new(StatementFiles { open: AtomicUsize::new(0), open_max })
    }
}

/// The right of a statement to have one file open, until this is dropped.
pub struct StatementFile(Arc<StatementFiles>);

impl Drop for StatementFile {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Database {
    /// Counts a file that a statement is about to open.
    ///
    /// # Errors
    /// 53000 if too many are open.
    pub fn statement_file(&self) -> Result<StatementFile> {
        let files = &self.shared.statement_files;
        let place = StatementFile(Arc::clone(files));
        if files.open.fetch_add(1, Ordering::Relaxed) < files.open_max {
            return Ok(place);
        }
        let message = format!("could not open a file for a statement: {} are open", files.open_max);
        Err(Error::new(sqlstate::INSUFFICIENT_RESOURCES, message)
            .hint("Raise work_mem, or the number of files that the system lets the server open."))
    }

    /// A new temporary file in the data directory's folder for them.
    ///
    /// # Errors
    /// 53000 if too many are open, 58030 and its kin if it can't be made.
    pub fn temporary_file(&self) -> Result<TemporaryFile> {
        let place = self.statement_file()?;
        let options = &self.shared.options;
        let folder = options.directory.join(TEMPORARY_DIRECTORY);
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("statement{number}"));
        let failed = |error| Error::io(format!("could not create temporary file \"{}\"", path.display()), &error);
        options.vfs.create_dir_all(&folder).map_err(failed)?;
        let file = options.vfs.open(&path, OpenMode::Create).map_err(failed)?;
        file.set_len(0).map_err(failed)?;
        Ok(TemporaryFile { vfs: options.vfs.clone(), path, file, length_bytes: 0, _place: place })
    }
}

impl TemporaryFile {
    /// Writes at its end; returns where.
    ///
    /// # Errors
    /// 53100 if the disk is full, 58030 for what else it fails with.
    pub fn append(&mut self, bytes: &[u8]) -> Result<u64> {
        let at = self.length_bytes;
        self.file.write_all_at(bytes, at).map_err(|error| {
            Error::io(format!("could not write to temporary file \"{}\"", self.path.display()), &error)
        })?;
        self.length_bytes += bytes.len() as u64;
        buffer::count_use(|used| used.temporary_bytes_written += bytes.len() as u64);
        Ok(at)
    }

    /// Reads what lies at `offset`, fewer bytes only at its end; how many.
    ///
    /// # Errors
    /// 58030.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let count = self.file.read_at(buffer, offset).map_err(|error| {
            Error::io(format!("could not read from temporary file \"{}\"", self.path.display()), &error)
        })?;
        buffer::count_use(|used| used.temporary_bytes_read += count as u64);
        Ok(count)
    }

    /// How much was written.
    pub fn length_bytes(&self) -> u64 {
        self.length_bytes
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // A file that can't be removed here is removed when the database is opened next.
        let _ = self.vfs.remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use vfs::SimulatedVfs;

    use super::*;
    use crate::OpenOptions;

    fn open(vfs: &Arc<dyn Vfs>) -> Database {
        Database::open(OpenOptions { vfs: vfs.clone(), background: false, ..OpenOptions::new("/data") }).unwrap()
    }

    #[test]
    fn a_temporary_file_is_gone_with_its_owner_and_after_a_crash() {
        let vfs: Arc<dyn Vfs> = Arc::new(SimulatedVfs::new(1));
        let database = open(&vfs);
        let folder = PathBuf::from("/data").join(TEMPORARY_DIRECTORY);
        let mut file = database.temporary_file().unwrap();
        assert_eq!(file.append(b"some").unwrap(), 0);
        assert_eq!(file.append(b"thing").unwrap(), 4);
        let mut bytes = [0; 16];
        assert_eq!(file.read(&mut bytes, 2).unwrap(), 7);
        assert_eq!(&bytes[..7], b"mething");
        assert_eq!(vfs.list_dir(&folder).unwrap().len(), 1);
        drop(file);
        assert_eq!(vfs.list_dir(&folder).unwrap().len(), 0);
        // One whose owner never came to let it go.
        std::mem::forget(database.temporary_file().unwrap());
        assert_eq!(vfs.list_dir(&folder).unwrap().len(), 1);
        database.close().unwrap();
        drop(database);
        let _database = open(&vfs);
        assert!(!vfs.exists(&folder) || vfs.list_dir(&folder).unwrap().is_empty());
    }
}
