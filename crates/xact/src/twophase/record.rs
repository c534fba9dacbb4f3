//! The name of a prepared transaction, and the record that holds its whole state.
//!
//! All numbers are little-endian; the record's head names the top-level transaction. Sections come
//! as a kind (u16), a count (u32), a length in bytes (u32), and that many bytes, so that a reader can pass over a kind it
//! needn't know:
//!
//! | section | items |
//! | --- | --- |
//! | 1 who | prepared at (i64, microseconds since 2000-01-01 UTC), owner role (u32), database (u32), gid (bytes to the end) |
//! | 2 children | xid (u64) each |
//! | 3 locks | each lock held until the transaction's end, row locks in memory among them, as `lockmgr` lays them out |
//! | 4 predicate locks | as `ssi` lays them out; absent if nothing that was read matters |
//! | 5 files | which to remove at commit, which at rollback |
//! | 6 catalog | one byte: the commit raises the catalog version |
//!
//! A section without items is left out.

use std::fmt;

use base::limits::GID_MAX_BYTES;
use base::{Error, FileNumber, Oid, Result, Xid, sqlstate};

/// The name of a prepared transaction: up to 199 bytes.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gid(Box<str>);

impl Gid {
    /// Checks a name.
    ///
    /// # Errors
    /// 22023 if it is too long.
    pub fn new(name: &str) -> Result<Gid> {
        if name.len() > GID_MAX_BYTES {
            let message = format!("transaction identifier \"{name}\" is too long");
            return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        Ok(Gid(name.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gid {:?}", &*self.0)
    }
}

/// All that a prepared transaction is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrepareRecord {
    /// Its name.
    pub gid: Gid,
    /// When, in microseconds since 2000-01-01 00:00 UTC.
    pub at_micros: i64,
    /// The role that prepared it.
    pub owner: Oid,
    /// The database it was prepared in.
    pub database: Oid,
    /// Subtransactions that end with it.
    pub children: Vec<Xid>,
    /// Locks, as the lock manager lays them out.
    pub locks: Vec<u8>,
    /// Predicate locks, as `ssi` lays them out.
    pub predicate_locks: Vec<u8>,
    /// Files to remove if it commits.
    pub dropped_files: Vec<FileNumber>,
    /// Files to remove if it is rolled back.
    pub created_files: Vec<FileNumber>,
    /// Whether its commit changes the catalog.
    pub changes_catalog: bool,
}

const WHO: u16 = 1;
const CHILDREN: u16 = 2;
const LOCKS: u16 = 3;
const PREDICATE_LOCKS: u16 = 4;
const FILES: u16 = 5;
const CATALOG: u16 = 6;
const SECTION_HEAD_BYTES: usize = 10;

impl PrepareRecord {
    /// The record's payload.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut who = Vec::new();
        who.extend_from_slice(&self.at_micros.to_le_bytes());
        who.extend_from_slice(&self.owner.0.to_le_bytes());
        who.extend_from_slice(&self.database.0.to_le_bytes());
        who.extend_from_slice(self.gid.as_str().as_bytes());
        put_section(&mut out, WHO, 1, &who);
        put_section(&mut out, CHILDREN, self.children.len(), &numbers(self.children.iter().map(|xid| xid.0)));
        put_section(&mut out, LOCKS, 1, &self.locks);
        put_section(&mut out, PREDICATE_LOCKS, 1, &self.predicate_locks);
        // The count is that of the files to drop; the others follow.
        let files = self.dropped_files.iter().chain(&self.created_files);
        put_section(&mut out, FILES, self.dropped_files.len(), &numbers(files.map(|file| file.0)));
        put_section(&mut out, CATALOG, 1, if self.changes_catalog { &[1] } else { &[] });
        out
    }

    /// Reads a payload. Takes any bytes.
    ///
    /// # Errors
    /// XX001 if they are no prepare record.
    pub fn decode(payload: &[u8]) -> Result<PrepareRecord> {
        Self::read(payload).ok_or_else(|| Error::corrupted("invalid record of a prepared transaction"))
    }

    fn read(mut payload: &[u8]) -> Option<PrepareRecord> {
        let mut record = PrepareRecord {
            gid: Gid(String::new().into()),
            at_micros: 0,
            owner: Oid::INVALID,
            database: Oid::INVALID,
            children: Vec::new(),
            locks: Vec::new(),
            predicate_locks: Vec::new(),
            dropped_files: Vec::new(),
            created_files: Vec::new(),
            changes_catalog: false,
        };
        let mut named = false;
        while !payload.is_empty() {
            let (head, rest) = payload.split_first_chunk::<SECTION_HEAD_BYTES>()?;
            let [k0, k1, c0, c1, c2, c3, l0, l1, l2, l3] = *head;
            let count = u32::from_le_bytes([c0, c1, c2, c3]) as usize;
            let bytes = rest.get(..u32::from_le_bytes([l0, l1, l2, l3]) as usize)?;
            payload = &rest[bytes.len()..];
            match u16::from_le_bytes([k0, k1]) {
                WHO => {
                    let (at_micros, bytes) = bytes.split_first_chunk()?;
                    let (owner, bytes) = bytes.split_first_chunk()?;
                    let (database, gid) = bytes.split_first_chunk()?;
                    record.at_micros = i64::from_le_bytes(*at_micros);
                    record.owner = Oid(u32::from_le_bytes(*owner));
                    record.database = Oid(u32::from_le_bytes(*database));
                    record.gid = Gid::new(str::from_utf8(gid).ok()?).ok()?;
                    named = true;
                }
                CHILDREN => record.children = read_numbers(bytes)?.map(Xid).collect(),
                LOCKS => record.locks = bytes.to_vec(),
                PREDICATE_LOCKS => record.predicate_locks = bytes.to_vec(),
                FILES => {
                    let mut files: Vec<FileNumber> = read_numbers(bytes)?.map(FileNumber).collect();
                    record.created_files = if count <= files.len() { files.split_off(count) } else { return None };
                    record.dropped_files = files;
                }
                CATALOG => record.changes_catalog = bytes == [1],
                _ => {}
            }
        }
        named.then_some(record)
    }
}

fn put_section(out: &mut Vec<u8>, kind: u16, count: usize, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&(count as u32).to_le_bytes());
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn numbers(items: impl Iterator<Item = u64>) -> Vec<u8> {
    items.flat_map(u64::to_le_bytes).collect()
}

fn read_numbers(bytes: &[u8]) -> Option<impl Iterator<Item = u64> + '_> {
    let (numbers, rest) = bytes.as_chunks::<8>();
    rest.is_empty().then(|| numbers.iter().map(|number| u64::from_le_bytes(*number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> PrepareRecord {
        PrepareRecord {
            gid: Gid::new("π transfer").unwrap(),
            at_micros: -7,
            owner: Oid(10),
            database: Oid(5),
            children: vec![Xid(9), Xid(1 << 60)],
            locks: vec![1, 2, 3],
            predicate_locks: Vec::new(),
            dropped_files: vec![FileNumber(4)],
            created_files: vec![FileNumber(5), FileNumber(6)],
            changes_catalog: true,
        }
    }

    #[test]
    fn prepare_records_read_back_as_written() {
        assert_eq!(PrepareRecord::decode(&record().encode()).unwrap(), record());
    }

    // invariants: row 26
    #[test]
    fn damaged_prepare_records_are_errors() {
        let bytes = record().encode();
        for cut in 1..bytes.len() {
            if let Ok(cut) = PrepareRecord::decode(&bytes[..cut]) {
                // Cut between two sections: whole ones are left.
                assert_eq!(cut.gid, record().gid);
            }
            for value in [0, 1, 0x80, 0xFF] {
                let mut damaged = bytes.clone();
                damaged[cut] = value;
                let _ = PrepareRecord::decode(&damaged);
            }
        }
        assert!(PrepareRecord::decode(&[]).is_err());
    }

    #[test]
    fn gids_have_at_most_199_bytes() {
        assert!(Gid::new(&"x".repeat(199)).is_ok());
        let error = Gid::new(&"x".repeat(200)).unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate::INVALID_PARAMETER_VALUE);
        assert!(error.message().ends_with("is too long"));
    }
}
