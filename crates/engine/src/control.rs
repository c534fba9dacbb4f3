//! The control file: where recovery begins, and what the log alone could not tell.
//!
//! `control` holds two slots of 4096 bytes. A write goes to the slot that is not the newest and is synced, so that one
//! whole slot is there at every moment. A slot:
//!
//! ```text
//!  0  magic "COHORTDB"
//!  8  u32 format version
//! 12  u32 length of the body
//! 16  u32 crc32c over bytes 0..16 and the body
//! 20  body: ControlData, postcard
//! ```
//!
//! The format version lies outside the body, so that a later format is named as such instead of being called damaged.

use std::path::{Path, PathBuf};

use base::{Error, Lsn, Result, Xid, sqlstate};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use sync::Mutex;
use vfs::{File, OpenMode, Vfs};

/// The format of everything in a data directory. Raised with every change that older code could not read.
pub const FORMAT_VERSION: u32 = 5;

const MAGIC: [u8; 8] = *b"COHORTDB";
const SLOT_BYTES: usize = 4096;
const HEAD_BYTES: usize = 20;

/// The file's name in the data directory.
pub const CONTROL_FILE: &str = "control";

/// The contents of the control file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ControlData {
    /// Counts writes; the slot with the higher number is the newer.
    pub sequence: u64,
    /// A random number given to the database when it was made.
    pub system_identifier: u64,
    /// Whether the database was closed, with nothing to redo.
    pub closed: bool,
    /// The log's epoch at the redo point.
    pub epoch: u32,
    /// Where redo begins.
    pub redo: Lsn,
    /// The log was durable at least up to here.
    pub durable_floor: Lsn,
    /// The next transaction identifier, at the redo point.
    pub next_xid: Xid,
    /// The oldest transaction whose outcome may still be asked for.
    pub oldest_xid: Xid,
    /// The next object identifier.
    pub next_oid: u32,
    /// The next file number.
    pub next_file: u64,
    /// The catalog's version.
    pub catalog_version: u64,
    /// Size of a log segment, in bytes.
    pub segment_size_bytes: u64,
    /// When this was written, in microseconds since 1970-01-01 UTC.
    pub written_at_us: i64,
}

/// The open control file.
pub(crate) struct ControlFile {
    file: Arc<dyn File>,
    path: PathBuf,
    vfs: Arc<dyn Vfs>,
    /// Guards the newest contents. A leaf, but held while writing: only the checkpointer and the close write.
    data: Mutex<ControlData>,
}

impl ControlFile {
    /// Makes the file; both slots say `data`.
    pub(crate) fn create(vfs: &Arc<dyn Vfs>, directory: &Path, data: ControlData) -> Result<ControlFile> {
        let path = directory.join(CONTROL_FILE);
        let io = |error| Error::io(format!("could not write file \"{}\"", path.display()), &error);
        let file = vfs.open(&path, OpenMode::Create).map_err(io)?;
        file.allocate_zeroed(2 * SLOT_BYTES as u64).map_err(io)?;
        let bytes = encode(&data);
        for slot in [0, SLOT_BYTES] {
            file.write_all_at(&bytes, slot as u64).map_err(io)?;
        }
        file.sync_all().map_err(io)?;
        vfs.sync_dir(directory).map_err(io)?;
        Ok(ControlFile { file, path: path.clone(), vfs: vfs.clone(), data: Mutex::new(data) })
    }

    /// Opens the file and reads the newer whole slot.
    pub(crate) fn open(vfs: &Arc<dyn Vfs>, directory: &Path) -> Result<ControlFile> {
        let path = directory.join(CONTROL_FILE);
        let file = vfs
            .open(&path, OpenMode::ReadWrite)
            .map_err(|error| Error::io(format!("could not open file \"{}\"", path.display()), &error))?;
        let data = read_slots(file.as_ref(), &path)?;
        Ok(ControlFile { file, path, vfs: vfs.clone(), data: Mutex::new(data) })
    }

    /// The newest contents.
    pub(crate) fn data(&self) -> ControlData {
        self.data.lock().clone()
    }

    /// Changes the contents and makes the change durable. A failure ends the process (rule R4).
    pub(crate) fn update(&self, change: impl FnOnce(&mut ControlData)) {
        let mut data = self.data.lock();
        change(&mut data);
        data.sequence += 1;
        data.written_at_us = wall_clock_us();
        let slot = data.sequence % 2 * SLOT_BYTES as u64;
        let written = self.file.write_all_at(&encode(&data), slot).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            drop(data);
            let what = format!("could not write file \"{}\"", self.path.display());
            self.vfs.fail_stop(&Error::io(what, &error).to_string());
        }
    }
}

/// Reads the control file of a database that may be open elsewhere.
///
/// # Errors
/// 58P01 if there is none; 0A000 if its format is newer; XX001 if both slots are damaged.
pub fn read_control(vfs: &dyn Vfs, directory: &Path) -> Result<ControlData> {
    let path = directory.join(CONTROL_FILE);
    let file = vfs
        .open(&path, OpenMode::Read)
        .map_err(|error| Error::io(format!("could not open file \"{}\"", path.display()), &error))?;
    read_slots(file.as_ref(), &path)
}

fn read_slots(file: &dyn File, path: &Path) -> Result<ControlData> {
    let mut newest: Option<ControlData> = None;
    let mut newer_format = None;
    for slot in 0..2 {
        let mut bytes = vec![0; SLOT_BYTES];
        match file.read_exact_at(&mut bytes, (slot * SLOT_BYTES) as u64) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => continue,
            Err(error) => return Err(Error::io(format!("could not read file \"{}\"", path.display()), &error)),
        }
        match decode(&bytes) {
            Slot::Whole(data) if newest.as_ref().is_none_or(|other| other.sequence < data.sequence) => {
                newest = Some(*data)
            }
            Slot::NewerFormat(version) => newer_format = Some(version),
            _ => {}
        }
    }
    if let Some(version) = newer_format {
        return Err(Error::new(sqlstate::FEATURE_NOT_SUPPORTED, "database files are incompatible with server")
            .detail(format!(
                "The data directory was made with format version {version}, but this program knows versions up to \
                 {FORMAT_VERSION}."
            ))
            .hint("Use a newer version of the program.")
            .fatal());
    }
    newest.ok_or_else(|| Error::corrupted(format!("file \"{}\" is damaged or no control file", path.display())).fatal())
}

fn encode(data: &ControlData) -> Vec<u8> {
    let body = postcard::to_stdvec(data).expect("integers always serialise");
    let mut bytes = Vec::with_capacity(SLOT_BYTES);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes), &body);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.extend_from_slice(&body);
    assert!(bytes.len() <= SLOT_BYTES, "control data fit a slot");
    bytes.resize(SLOT_BYTES, 0);
    bytes
}

enum Slot {
    Whole(Box<ControlData>),
    NewerFormat(u32),
    Damaged,
}

fn decode(bytes: &[u8]) -> Slot {
    let word = |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes);
    if bytes.get(..8) != Some(&MAGIC[..]) {
        return Slot::Damaged;
    }
    let (version, length, checksum) = (word(8), word(12) as usize, word(16));
    let Some(body) = bytes.get(HEAD_BYTES..HEAD_BYTES.saturating_add(length)) else { return Slot::Damaged };
    if crc32c::crc32c_append(crc32c::crc32c(&bytes[..16]), body) != checksum {
        return Slot::Damaged;
    }
    if version > FORMAT_VERSION {
        return Slot::NewerFormat(version);
    }
    postcard::from_bytes(body).map_or(Slot::Damaged, |data| Slot::Whole(Box::new(data)))
}

/// Microseconds since 1970-01-01 UTC.
pub(crate) fn wall_clock_us() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_micros().min(i64::MAX as u128) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vfs::SimulatedVfs;

    fn data() -> ControlData {
        ControlData {
            sequence: 1,
            system_identifier: 77,
            closed: false,
            epoch: 1,
            redo: Lsn(1 << 24),
            durable_floor: Lsn(1 << 24),
            next_xid: Xid::FIRST_NORMAL,
            oldest_xid: Xid::FIRST_NORMAL,
            next_oid: 16384,
            next_file: 2,
            catalog_version: 1,
            segment_size_bytes: 1 << 24,
            written_at_us: 0,
        }
    }

    fn disk() -> (Arc<dyn Vfs>, SimulatedVfs) {
        let disk = SimulatedVfs::new(1);
        disk.create_dir_all(Path::new("/d")).unwrap();
        (Arc::new(disk.clone()), disk)
    }

    #[test]
    fn the_newest_whole_slot_is_read() {
        let (vfs, disk) = disk();
        let control = ControlFile::create(&vfs, Path::new("/d"), data()).unwrap();
        control.update(|data| data.next_oid = 20000);
        control.update(|data| data.next_oid = 30000);
        assert_eq!(read_control(&disk, Path::new("/d")).unwrap().next_oid, 30000);
        // The newest slot is damaged: the one before it counts.
        let slot = control.data().sequence % 2 * SLOT_BYTES as u64;
        disk.flip_bit(&Path::new("/d").join(CONTROL_FILE), slot + 30, 3).unwrap();
        assert_eq!(read_control(&disk, Path::new("/d")).unwrap().next_oid, 20000);
        disk.flip_bit(&Path::new("/d").join(CONTROL_FILE), SLOT_BYTES as u64 - slot + 30, 3).unwrap();
        assert_eq!(read_control(&disk, Path::new("/d")).unwrap_err().sqlstate(), sqlstate::DATA_CORRUPTED);
    }

    #[test]
    fn a_newer_format_is_refused_by_name() {
        let (vfs, disk) = disk();
        let mut bytes = encode(&data());
        bytes[8..12].copy_from_slice(&(FORMAT_VERSION + 1).to_le_bytes());
        let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes[..16]), &bytes[20..20 + length]);
        bytes[16..20].copy_from_slice(&checksum.to_le_bytes());
        let file = vfs.open(&Path::new("/d").join(CONTROL_FILE), OpenMode::Create).unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        file.write_all_at(&bytes, SLOT_BYTES as u64).unwrap();
        let error = read_control(&disk, Path::new("/d")).unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate::FEATURE_NOT_SUPPORTED);
        assert!(error.fields().detail.as_deref().unwrap().contains(&format!("version {}", FORMAT_VERSION + 1)));
    }

    // invariants: row 26
    #[test]
    fn any_bytes_decode_without_panic() {
        for length in [0, 5, 20, 21, SLOT_BYTES] {
            for fill in [0, 1, 0xFF] {
                assert!(matches!(decode(&vec![fill; length]), Slot::Damaged));
            }
        }
        let mut bytes = encode(&data());
        bytes[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(decode(&bytes), Slot::Damaged));
    }

    // invariants: row 1
    #[test]
    fn a_crash_while_writing_leaves_the_old_or_the_new_contents() {
        for seed in 0..50 {
            let disk = SimulatedVfs::new(seed);
            disk.create_dir_all(Path::new("/d")).unwrap();
            disk.sync_dir(Path::new("/")).unwrap();
            let vfs: Arc<dyn Vfs> = Arc::new(disk.clone());
            let control = ControlFile::create(&vfs, Path::new("/d"), data()).unwrap();
            control.update(|data| data.next_oid = 20000);
            disk.add_fault(vfs::Fault::CrashAtCall(disk.io_calls() + 1 + seed % 2));
            let _ =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| control.update(|data| data.next_oid = 30000)));
            let after = disk.crash();
            let found = read_control(&after, Path::new("/d")).unwrap().next_oid;
            assert!(found == 20000 || found == 30000, "seed {seed}: {found}");
        }
    }
}
