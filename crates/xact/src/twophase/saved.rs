//! States of prepared transactions in files.
//!
//! `twophase/<xid>` (16 hexadecimal digits) is what a checkpoint has saved, synced before the checkpoint counts:
//!
//! ```text
//!  0  magic "COHORT2P"
//!  8  u64 xid
//! 16  u64 where its record begins in the log, u64 where it ends
//! 32  u32 length of the payload
//! 36  payload: the record's
//!     u32 crc32c over all before
//! ```
//!
//! `<xid>.state` is the same, written by a PREPARE under `twophase_state = file` and never synced: after a crash it says nothing
//! that the log or a checkpoint doesn't say as well, and goes. So does `<xid>.new`, which a crash kept from being renamed.

use std::path::{Path, PathBuf};

use base::{Error, Lsn, Result, Xid};
use sync::Arc;
use vfs::{File, OpenMode, Vfs};

use super::RecoveredPrepared;

const MAGIC: [u8; 8] = *b"COHORT2P";
const HEAD_BYTES: usize = 36;
const CHECKSUM_BYTES: usize = 4;
const UNSYNCED: &str = ".state";
const NEW: &str = ".new";

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedState {
    /// The transaction.
    pub xid: Xid,
    /// Where its record begins.
    pub start: Lsn,
    /// Where its record ends.
    pub end: Lsn,
    /// The record's payload.
    pub payload: Arc<[u8]>,
}

impl SavedState {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.payload.len() + CHECKSUM_BYTES);
        bytes.extend_from_slice(&MAGIC);
        for number in [self.xid.0, self.start.0, self.end.0] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&(self.payload.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&self.payload);
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// Reads what [`SavedState::encode`] wrote; `None` if it didn't. Takes any bytes.
    pub fn decode(bytes: &[u8]) -> Option<SavedState> {
        let (checked, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>()?;
        let (head, payload) = checked.split_at_checked(HEAD_BYTES)?;
        let number = |at: usize| head[at..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let length = u32::from_le_bytes(*head.last_chunk()?) as usize;
        let is_whole =
            head[..8] == MAGIC && length == payload.len() && crc32c::crc32c(checked) == u32::from_le_bytes(*checksum);
        is_whole.then_some(())?;
        Some(SavedState {
            xid: Xid(number(8)?),
            start: Lsn(number(16)?),
            end: Lsn(number(24)?),
            payload: payload.into(),
        })
    }
}

fn path_of(directory: &Path, xid: Xid, suffix: &str) -> PathBuf {
    directory.join(format!("{:016X}{suffix}", xid.0))
}

fn io_error(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::io(format!("could not {what} file \"{}\"", path.display()), error)
}

/// Writes a file anew.
fn write_file(vfs: &dyn Vfs, path: &Path, bytes: &[u8]) -> std::io::Result<Arc<dyn File>> {
    let file = vfs.open(path, OpenMode::Create)?;
    file.set_len(0)?;
    file.write_all_at(bytes, 0)?;
    Ok(file)
}

/// Saves a state, lastingly but for the directory's entry, which the caller syncs.
pub(crate) fn write(vfs: &dyn Vfs, directory: &Path, state: &SavedState) -> Result<()> {
    let (new, path) = (path_of(directory, state.xid, NEW), path_of(directory, state.xid, ""));
    let written = write_file(vfs, &new, &state.encode()).and_then(|file| file.sync_all());
    written.and_then(|()| vfs.rename(&new, &path)).map_err(|error| io_error("write", &path, &error))
}

/// Writes the state of a transaction that is about to be prepared.
pub(crate) fn write_unsynced(vfs: &dyn Vfs, directory: &Path, xid: Xid, payload: &[u8]) -> Result<()> {
    let path = path_of(directory, xid, UNSYNCED);
    let state = SavedState { xid, start: Lsn::ZERO, end: Lsn::ZERO, payload: payload.into() };
    write_file(vfs, &path, &state.encode()).map(|_| ()).map_err(|error| {
        // A half-written file counts as none. The next start removes it at the latest.
        let _ = vfs.remove_file(&path);
        io_error("write", &path, &error)
    })
}

/// Reads what a checkpoint has saved.
pub(crate) fn read(vfs: &dyn Vfs, directory: &Path, xid: Xid) -> Result<SavedState> {
    read_file(vfs, &path_of(directory, xid, ""), xid)
}

/// Reads what a PREPARE of this start has written.
pub(crate) fn read_unsynced(vfs: &dyn Vfs, directory: &Path, xid: Xid) -> Result<SavedState> {
    read_file(vfs, &path_of(directory, xid, UNSYNCED), xid)
}

fn read_file(vfs: &dyn Vfs, path: &Path, xid: Xid) -> Result<SavedState> {
    let io = |error| io_error("read", path, &error);
    let file = vfs.open(path, OpenMode::Read).map_err(io)?;
    let mut bytes = vec![0; file.len().map_err(io)? as usize];
    file.read_exact_at(&mut bytes, 0).map_err(io)?;
    SavedState::decode(&bytes).filter(|state| state.xid == xid).ok_or_else(|| {
        Error::corrupted(format!("saved state of prepared transaction {xid} in file \"{}\" is damaged", path.display()))
            .hint("Restore the file from a backup. Removing it would roll the transaction back without its manager's knowledge.")
    })
}

/// Removes the files of a finished transaction.
pub(crate) fn remove(vfs: &dyn Vfs, directory: &Path, xid: Xid) {
    for suffix in ["", UNSYNCED] {
        let path = path_of(directory, xid, suffix);
        if vfs.exists(&path)
            && let Err(error) = vfs.remove_file(&path)
        {
            // The commit log says that it is finished: the next start passes it by.
            log::warn!("could not remove file \"{}\": {error}", path.display());
        }
    }
}

/// At a start, after redo: returns the states that checkpoints have saved, except those of finished transactions. The files
/// of transactions that are finished according to `is_finished` are removed. `met` are the prepared transactions that redo
/// itself has met; they need no file and are left out of the result.
///
/// # Errors
/// XX001 for a damaged file; 58030 for one that can't be read.
pub fn load(
    vfs: &dyn Vfs,
    directory: &Path,
    met: &[RecoveredPrepared],
    is_finished: impl Fn(Xid) -> Result<bool>,
) -> Result<Vec<RecoveredPrepared>> {
    let mut loaded = Vec::new();
    for name in vfs.list_dir(directory).map_err(|error| io_error("read", directory, &error))? {
        let path = directory.join(&name);
        let number = name.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let (Some(number), suffix) = (number, name.get(16..).unwrap_or_default()) else { continue };
        let xid = Xid(number);
        match suffix {
            "" if met.iter().any(|met| met.xid == xid) => {}
            "" if !is_finished(xid)? => {
                let SavedState { xid, start, end, payload } = read_file(vfs, &path, xid)?;
                loaded.push(RecoveredPrepared { xid, start, end, payload: payload.to_vec(), is_saved: true });
            }
            "" | UNSYNCED | NEW => vfs.remove_file(&path).map_err(|error| io_error("remove", &path, &error))?,
            _ => {}
        }
    }
    Ok(loaded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> SavedState {
        SavedState { xid: Xid(77), start: Lsn(64), end: Lsn(128), payload: Arc::from(&b"everything"[..]) }
    }

    #[test]
    fn states_read_back_as_written() {
        assert_eq!(SavedState::decode(&state().encode()), Some(state()));
    }

    // invariants: row 26
    #[test]
    fn every_damage_to_a_state_is_noticed() {
        let bytes = state().encode();
        for place in 0..bytes.len() {
            assert_eq!(SavedState::decode(&bytes[..place]), None);
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x10;
            assert_eq!(SavedState::decode(&damaged), None);
        }
    }
}
