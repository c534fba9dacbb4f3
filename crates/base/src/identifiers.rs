//! Newtypes for positions and names inside the engine.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// A position in the write-ahead log, in bytes since the log began.
///
/// A record is named by its *end*, exclusive: "durable up to `l`" covers every record whose end is at
/// or below `l`. A transaction's commit sequence number is the `Lsn` of its commit record's end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Lsn(pub u64);

impl Lsn {
    /// Before every record; a page that was never logged carries it.
    pub const ZERO: Lsn = Lsn(0);
    /// After every record.
    pub const MAX: Lsn = Lsn(u64::MAX);
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}

impl fmt::Debug for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A transaction identifier: 64 bits, given out in ascending order, never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Xid(pub u64);

impl Xid {
    /// No transaction.
    pub const INVALID: Xid = Xid(0);
    /// The transaction that made the first rows of a new database; always committed.
    pub const BOOTSTRAP: Xid = Xid(1);
    /// Stands in for every transaction older than every snapshot; always committed.
    pub const FROZEN: Xid = Xid(2);
    /// The first identifier given to a real transaction.
    pub const FIRST_NORMAL: Xid = Xid(3);
    /// Identifiers at or above this are refused: the top bits mark entries of the csn store.
    pub const LIMIT: Xid = Xid(1 << 62);

    /// Whether this names a transaction at all.
    pub fn is_valid(self) -> bool {
        self.0 != 0
    }

    /// Whether this names a real transaction rather than one of the reserved identifiers.
    pub fn is_normal(self) -> bool {
        self >= Self::FIRST_NORMAL
    }
}

impl fmt::Display for Xid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Xid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "xid {}", self.0)
    }
}

/// The place of a tuple version: block of its relation's file, and line pointer in the block.
///
/// Line pointers count from 1; slot 0 is invalid.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Tid {
    /// Block number, from 0.
    pub block: u32,
    /// Line pointer, from 1.
    pub slot: u16,
}

impl Tid {
    /// No tuple.
    pub const INVALID: Tid = Tid { block: u32::MAX, slot: 0 };

    /// Builds the place `(block, slot)`.
    pub const fn new(block: u32, slot: u16) -> Tid {
        Tid { block, slot }
    }

    /// The six bytes stored in tuples and index entries; memcmp orders them as `Ord` does.
    pub fn to_bytes(self) -> [u8; 6] {
        let (b, s) = (self.block.to_be_bytes(), self.slot.to_be_bytes());
        [b[0], b[1], b[2], b[3], s[0], s[1]]
    }

    /// The inverse of [`Tid::to_bytes`].
    pub fn from_bytes(bytes: [u8; 6]) -> Tid {
        let [b0, b1, b2, b3, s0, s1] = bytes;
        Tid { block: u32::from_be_bytes([b0, b1, b2, b3]), slot: u16::from_be_bytes([s0, s1]) }
    }
}

impl fmt::Display for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{})", self.block, self.slot)
    }
}

impl fmt::Debug for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The name of a catalog object, as PostgreSQL's `oid`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct Oid(pub u32);

impl Oid {
    /// No object.
    pub const INVALID: Oid = Oid(0);
    /// Objects made by users start here; everything below is built in.
    pub const FIRST_NORMAL: Oid = Oid(16384);
    /// Set in the numbers of array types of users' types, and in no others. Not the highest bit: many clients take a number
    /// for a signed one.
    pub const ARRAY_TYPE_BIT: u32 = 1 << 30;
    /// The bit that marked array types in descriptors written by older versions.
    const FORMER_ARRAY_TYPE_BIT: u32 = 1 << 31;
}

impl<'de> Deserialize<'de> for Oid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Oid, D::Error> {
        let number = u32::deserialize(deserializer)?;
        Ok(Oid(match number & Oid::FORMER_ARRAY_TYPE_BIT {
            0 => number,
            _ => number & !Oid::FORMER_ARRAY_TYPE_BIT | Oid::ARRAY_TYPE_BIT,
        }))
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oid {}", self.0)
    }
}

/// The name of a relation's file under `base/`; never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct FileNumber(pub u64);

impl fmt::Display for FileNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for FileNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file {}", self.0)
    }
}

/// A holder of locks, snapshots and a place in the running set: a session or a prepared transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
pub struct OwnerId(pub u32);

/// The number of a command inside its transaction: a statement doesn't see what it wrote itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
pub struct CommandId(pub u32);

impl CommandId {
    /// The first command of a transaction.
    pub const FIRST: CommandId = CommandId(0);
    /// Later than every command: a tuple whose cmax is this was not deleted by its own transaction.
    pub const MAX: CommandId = CommandId(u32::MAX);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tid_bytes_round_trip_and_keep_the_order() {
        let tids = [Tid::new(0, 1), Tid::new(0, 300), Tid::new(1, 1), Tid::new(256, 2), Tid::new(u32::MAX, 9)];
        for pair in tids.windows(2) {
            assert!(pair[0].to_bytes() < pair[1].to_bytes());
        }
        for tid in tids {
            assert_eq!(Tid::from_bytes(tid.to_bytes()), tid);
        }
    }

    #[test]
    fn former_numbers_of_array_types_are_read_as_those_of_today() {
        let read = |number: u32| {
            let deserializer = serde::de::value::U32Deserializer::<serde::de::value::Error>::new(number);
            Oid::deserialize(deserializer).unwrap()
        };
        assert_eq!(read(16384), Oid(16384));
        assert_eq!(read(1 << 31 | 16384), Oid(Oid::ARRAY_TYPE_BIT | 16384));
        assert_eq!(read(Oid::ARRAY_TYPE_BIT | 16384), Oid(Oid::ARRAY_TYPE_BIT | 16384));
    }

    #[test]
    fn lsn_is_shown_as_postgresql_shows_it() {
        assert_eq!(Lsn(0x16_B374_D848).to_string(), "16/B374D848");
    }
}
