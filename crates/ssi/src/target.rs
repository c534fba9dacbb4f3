//! The target of a predicate lock.

use std::hash::{Hash, Hasher};

use base::{FileNumber, Tid};
use rustc_hash::FxHasher;

/// A relation, a page or a tuple of a heap, or a key of an index. Two words.
///
/// A key is known by its hash: two keys that share one look like a conflict where there is none, never the other way round.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Target {
    pub(crate) file: FileNumber,
    place: u64,
}

/// The part of the file that a [`Target`] names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Relation,
    Page(u32),
    Tuple(Tid),
    Key,
}

const KIND_SHIFT: u32 = 62;
const TUPLE: u64 = 0;
const PAGE: u64 = 1;
const RELATION: u64 = 2;
const KEY: u64 = 3;

impl Target {
    pub(crate) fn relation(file: FileNumber) -> Target {
        Target { file, place: RELATION << KIND_SHIFT }
    }

    pub(crate) fn page(file: FileNumber, block: u32) -> Target {
        Target { file, place: PAGE << KIND_SHIFT | u64::from(block) }
    }

    pub(crate) fn tuple(file: FileNumber, tid: Tid) -> Target {
        Target { file, place: TUPLE << KIND_SHIFT | u64::from(tid.block) << 16 | u64::from(tid.slot) }
    }

    pub(crate) fn key(file: FileNumber, key: &[u8]) -> Target {
        let mut hasher = FxHasher::default();
        key.hash(&mut hasher);
        Target { file, place: KEY << KIND_SHIFT | hasher.finish() >> 2 }
    }

    pub(crate) fn place(self) -> Place {
        match self.place >> KIND_SHIFT {
            TUPLE => Place::Tuple(Tid::new((self.place >> 16) as u32, self.place as u16)),
            PAGE => Place::Page(self.place as u32),
            RELATION => Place::Relation,
            _ => Place::Key,
        }
    }

    /// The page that a tuple is in.
    pub(crate) fn page_of_tuple(self) -> Option<Target> {
        match self.place() {
            Place::Tuple(tid) => Some(Target::page(self.file, tid.block)),
            _ => None,
        }
    }

    pub(crate) fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.file.0) << 64 | u128::from(self.place)).to_le_bytes()
    }

    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Target {
        let both = u128::from_le_bytes(bytes);
        Target { file: FileNumber((both >> 64) as u64), place: both as u64 }
    }

    pub(crate) fn hash64(self) -> u64 {
        let mut hasher = FxHasher::default();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_says_what_it_was_made_of() {
        let file = FileNumber(9);
        let tid = Tid::new(u32::MAX - 1, 291);
        assert_eq!(Target::tuple(file, tid).place(), Place::Tuple(tid));
        assert_eq!(Target::page(file, 7).place(), Place::Page(7));
        assert_eq!(Target::relation(file).place(), Place::Relation);
        assert_eq!(Target::key(file, b"k").place(), Place::Key);
        assert_eq!(Target::tuple(file, tid).page_of_tuple(), Some(Target::page(file, tid.block)));
        assert_eq!(Target::page(file, 7).page_of_tuple(), None);
        assert_eq!(Target::from_bytes(Target::tuple(file, tid).to_bytes()), Target::tuple(file, tid));
    }

    #[test]
    fn targets_of_different_kinds_never_meet() {
        let file = FileNumber(1);
        let all = [
            Target::tuple(file, Tid::new(0, 1)),
            Target::page(file, 1),
            Target::relation(file),
            Target::key(file, &[1]),
            Target::page(FileNumber(2), 1),
        ];
        for (position, one) in all.iter().enumerate() {
            assert!(all[position + 1..].iter().all(|other| other != one));
        }
    }
}
