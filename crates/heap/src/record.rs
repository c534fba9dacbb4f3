//! The heap's log records: how they are written, read back and described.
//!
//! Every payload begins with the file (8 bytes) and the block (4) it changes; the transaction is the
//! record's own. All numbers are little-endian.
//!
//! | kind | then |
//! | --- | --- |
//! | insert | slot 2, command 4, payload |
//! | insert many | command 4, count 2, count x (slot 2, length 2), payloads |
//! | update | old slot 2, new slot 2, command 4, flags of the old 2 and new 2, bytes at the beginning 2 and at the end 2 that the payload shares with the old one's, the bytes between |
//! | update to another page | old block 4, old slot 2, new slot 2, command 4, flags of the old 2 and new 2, payload; the block before is the new one's |
//! | delete | slot 2, command 4 |
//! | prune | prune xid 8, three counts 2: redirected (from 2, to 2), dead 2, unused 2 |
//! | freeze | two counts 2: frozen 2, `xmax` cleared 2 |
//! | truncate | nothing: blocks from this one on are gone |
//!
//! Bit 0x80 of the kind says that the page named first is made anew, so that redo needs nothing of what
//! it was.

use std::fmt::Write;

use base::{CommandId, Error, FileNumber, Result, Xid};

use crate::tuple::{u16_at, u32_at, u64_at};

pub(crate) const INSERT: u8 = 1;
pub(crate) const INSERT_MANY: u8 = 2;
pub(crate) const UPDATE: u8 = 3;
pub(crate) const UPDATE_MOVED: u8 = 4;
pub(crate) const DELETE: u8 = 5;
pub(crate) const PRUNE: u8 = 6;
pub(crate) const FREEZE: u8 = 7;
pub(crate) const TRUNCATE: u8 = 8;
/// The page named first is made anew.
pub(crate) const INIT: u8 = 0x80;

/// A record read back.
pub(crate) enum HeapRecord<'a> {
    Insert {
        slot: u16,
        command: CommandId,
        payload: &'a [u8],
    },
    InsertMany {
        command: CommandId,
        entries: &'a [u8],
        payloads: &'a [u8],
    },
    Update {
        old: u16,
        new: u16,
        command: CommandId,
        old_flags: u16,
        new_flags: u16,
        prefix: usize,
        suffix: usize,
        middle: &'a [u8],
    },
    UpdateMoved {
        old_block: u32,
        old: u16,
        new: u16,
        command: CommandId,
        old_flags: u16,
        new_flags: u16,
        payload: &'a [u8],
    },
    Delete {
        slot: u16,
        command: CommandId,
    },
    Prune {
        prune_xid: Xid,
        redirected: &'a [u8],
        dead: &'a [u8],
        unused: &'a [u8],
    },
    Freeze {
        frozen: &'a [u8],
        cleared: &'a [u8],
    },
    Truncate,
}

/// Writes numbers one after the other into a small array.
pub(crate) struct Head<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Head<N> {
    pub(crate) fn new(file: FileNumber, block: u32) -> Head<N> {
        Head { bytes: [0; N], length: 0 }.u64(file.0).u32(block)
    }
    fn put(mut self, bytes: &[u8]) -> Self {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
        self
    }
    pub(crate) fn u16(self, value: u16) -> Self {
        self.put(&value.to_le_bytes())
    }
    pub(crate) fn u32(self, value: u32) -> Self {
        self.put(&value.to_le_bytes())
    }
    pub(crate) fn u64(self, value: u64) -> Self {
        self.put(&value.to_le_bytes())
    }
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Reads numbers off the front of a payload; running short is damage.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        if self.0.len() < length {
            return Err(Error::corrupted("a heap record is too short"));
        }
        let (front, rest) = self.0.split_at(length);
        self.0 = rest;
        Ok(front)
    }
    fn u16(&mut self) -> Result<u16> {
        Ok(u16_at(self.take(2)?, 0))
    }
    fn u32(&mut self) -> Result<u32> {
        Ok(u32_at(self.take(4)?, 0))
    }
    fn u64(&mut self) -> Result<u64> {
        Ok(u64_at(self.take(8)?, 0))
    }
    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

/// Reads a payload back. Takes any bytes.
pub(crate) fn decode(info: u8, payload: &[u8]) -> Result<(FileNumber, u32, HeapRecord<'_>)> {
    let mut cursor = Cursor(payload);
    let (file, block) = (FileNumber(cursor.u64()?), cursor.u32()?);
    let record = match info & !INIT {
        INSERT => HeapRecord::Insert { slot: cursor.u16()?, command: CommandId(cursor.u32()?), payload: cursor.rest() },
        INSERT_MANY => {
            let command = CommandId(cursor.u32()?);
            let count = usize::from(cursor.u16()?);
            let entries = cursor.take(count * 4)?;
            HeapRecord::InsertMany { command, entries, payloads: cursor.rest() }
        }
        UPDATE => HeapRecord::Update {
            old: cursor.u16()?,
            new: cursor.u16()?,
            command: CommandId(cursor.u32()?),
            old_flags: cursor.u16()?,
            new_flags: cursor.u16()?,
            prefix: cursor.u16()?.into(),
            suffix: cursor.u16()?.into(),
            middle: cursor.rest(),
        },
        UPDATE_MOVED => HeapRecord::UpdateMoved {
            old_block: cursor.u32()?,
            old: cursor.u16()?,
            new: cursor.u16()?,
            command: CommandId(cursor.u32()?),
            old_flags: cursor.u16()?,
            new_flags: cursor.u16()?,
            payload: cursor.rest(),
        },
        DELETE => HeapRecord::Delete { slot: cursor.u16()?, command: CommandId(cursor.u32()?) },
        PRUNE => {
            let prune_xid = Xid(cursor.u64()?);
            let counts = [cursor.u16()?, cursor.u16()?, cursor.u16()?].map(usize::from);
            HeapRecord::Prune {
                prune_xid,
                redirected: cursor.take(counts[0] * 4)?,
                dead: cursor.take(counts[1] * 2)?,
                unused: cursor.take(counts[2] * 2)?,
            }
        }
        FREEZE => {
            let counts = [cursor.u16()?, cursor.u16()?].map(usize::from);
            HeapRecord::Freeze { frozen: cursor.take(counts[0] * 2)?, cleared: cursor.take(counts[1] * 2)? }
        }
        TRUNCATE => HeapRecord::Truncate,
        kind => return Err(Error::corrupted(format!("a heap record of unknown kind {kind}"))),
    };
    Ok((file, block, record))
}

/// The slots in a list of a record.
pub(crate) fn slots(list: &[u8]) -> impl Iterator<Item = u16> {
    list.chunks_exact(2).map(|pair| u16_at(pair, 0))
}

/// The pairs of slots (or slot and length) in a list of a record.
pub(crate) fn pairs(list: &[u8]) -> impl Iterator<Item = (u16, u16)> {
    list.chunks_exact(4).map(|pair| (u16_at(pair, 0), u16_at(pair, 2)))
}

/// One line about a record, for `waldump`. Takes any bytes.
pub fn describe(info: u8, payload: &[u8]) -> String {
    let (file, block, record) = match decode(info, payload) {
        Ok(decoded) => decoded,
        Err(error) => return format!("damaged: {}", error.message()),
    };
    let mut line = String::new();
    let _ = match record {
        HeapRecord::Insert { slot, payload, .. } => write!(line, "insert ({block},{slot}) {} bytes", payload.len()),
        HeapRecord::InsertMany { entries, payloads, .. } => {
            write!(line, "insert many block {block}: {} tuples, {} bytes", entries.len() / 4, payloads.len())
        }
        HeapRecord::Update { old, new, new_flags, prefix, suffix, middle, .. } => {
            let hot = if new_flags & crate::tuple::flag::HEAP_ONLY != 0 { "hot update" } else { "update" };
            write!(line, "{hot} ({block},{old}) to ({block},{new}) {}+{}+{} bytes", prefix, middle.len(), suffix)
        }
        HeapRecord::UpdateMoved { old_block, old, new, payload, .. } => {
            write!(line, "update ({old_block},{old}) to ({block},{new}) {} bytes", payload.len())
        }
        HeapRecord::Delete { slot, .. } => write!(line, "delete ({block},{slot})"),
        HeapRecord::Prune { redirected, dead, unused, .. } => write!(
            line,
            "prune block {block}: {} redirected, {} dead, {} unused",
            redirected.len() / 4,
            dead.len() / 2,
            unused.len() / 2
        ),
        HeapRecord::Freeze { frozen, cleared } => {
            write!(line, "freeze block {block}: {} tuples, {} xmax cleared", frozen.len() / 2, cleared.len() / 2)
        }
        HeapRecord::Truncate => write!(line, "truncate to {block} blocks"),
    };
    let _ = write!(line, ", file {file}");
    if info & INIT != 0 {
        line.push_str(", new page");
    }
    line
}

/// How many bytes two payloads share at the beginning and, apart from those, at the end.
pub(crate) fn shared_ends(old: &[u8], new: &[u8]) -> (usize, usize) {
    let words = old.chunks_exact(8).zip(new.chunks_exact(8)).take_while(|(a, b)| a == b).count() * 8;
    let prefix = words + old[words..].iter().zip(&new[words..]).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[prefix..], &new[prefix..]);
    let words = old.rchunks_exact(8).zip(new.rchunks_exact(8)).take_while(|(a, b)| a == b).count() * 8;
    let (old, new) = (&old[..old.len() - words], &new[..new.len() - words]);
    (prefix, words + old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_ends_never_overlap() {
        assert_eq!(shared_ends(b"aaaa", b"aaa"), (3, 0));
        assert_eq!(shared_ends(b"abcXdef", b"abcYYdef"), (3, 3));
        assert_eq!(shared_ends(b"0123456789abcdefgh", b"0123456789abcdefgh"), (18, 0));
        assert_eq!(shared_ends(b"0123456789abcdefgh", b"0123456789abcdeXgh"), (15, 2));
        assert_eq!(shared_ends(b"", b"x"), (0, 0));
    }

    // invariants: row 26
    #[test]
    fn any_payload_is_decoded_or_refused() {
        let mut state = 1u64;
        for length in 0..200 {
            for info in (0..=10).chain(0x80..0x8A) {
                let bytes: Vec<u8> = (0..length)
                    .map(|_| {
                        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                        if state >> 63 == 0 { (state >> 33) as u8 } else { (state >> 40) as u8 & 3 }
                    })
                    .collect();
                assert!(!describe(info, &bytes).is_empty());
            }
        }
    }
}
