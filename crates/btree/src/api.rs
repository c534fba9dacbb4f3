//! Signatures first; each moves to its own module as it is filled in.
#![allow(missing_docs, unused_variables)]

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use base::{FileNumber, Liveness, Lsn, Result, Tid, Xid};
use buffer::BufferPool;
use clog::TxnCtx;
use wal::Wal;

/// The longest key, in bytes. Longer ones are refused with 54000.
pub const KEY_MAX_BYTES: usize = 2600;

pub struct BTreeServices {
    pub pool: Arc<BufferPool>,
    pub wal: Arc<Wal>,
}

pub struct BTree {
    pub file: FileNumber,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InsertOutcome {
    Inserted,
    /// A live row has the key; the csn it was committed at.
    Duplicate(Tid, Lsn),
    /// Wait for this transaction, then call again. Nothing was inserted.
    WaitFor(Xid),
}

/// Keys between two bounds; a key is compared by memcmp, and a bound has no tid.
#[derive(Clone, Debug)]
pub struct KeyRange {
    pub lower: Bound<Vec<u8>>,
    pub upper: Bound<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    Forward,
    Backward,
}

impl BTree {
    /// Writes an empty tree's first pages (logged) into `file`, which the caller has created.
    pub fn create(services: Arc<BTreeServices>, file: FileNumber) -> Result<BTree> {
        todo!()
    }
    pub fn open(services: Arc<BTreeServices>, file: FileNumber) -> Result<BTree> {
        todo!()
    }

    /// `unique` is asked under the leaf's latch about each entry with the same key; it must not wait.
    pub fn insert(
        &self,
        ctx: &TxnCtx<'_>,
        key: &[u8],
        tid: Tid,
        unique: Option<&dyn Fn(Tid) -> Result<Liveness>>,
    ) -> Result<InsertOutcome> {
        todo!()
    }

    /// The tids with exactly this key, ascending. No latch is held while `found` runs.
    pub fn lookup(&self, key: &[u8], found: &mut dyn FnMut(Tid) -> ControlFlow<()>) -> Result<()> {
        todo!()
    }

    pub fn scan(&self, range: KeyRange, direction: Direction) -> BTreeScan<'_> {
        todo!()
    }

    /// Fills an empty tree from (key, tid) in ascending order.
    pub fn bulk_build(&self, sorted: &mut dyn Iterator<Item = Result<(Vec<u8>, Tid)>>) -> Result<()> {
        todo!()
    }

    /// Removes the entries whose tid is dead; returns how many.
    pub fn vacuum(&self, is_dead: &dyn Fn(Tid) -> bool) -> Result<u64> {
        todo!()
    }
    pub fn delete_entry(&self, key: &[u8], tid: Tid) -> Result<bool> {
        todo!()
    }
    pub fn block_count(&self) -> Result<u32> {
        todo!()
    }

    /// Holds the whole structure against its rules (nothing else may write meanwhile); returns the number of entries. XX002 if broken.
    pub fn check(&self) -> Result<u64> {
        todo!()
    }
}

/// A scan; holds no latch and no pin between calls.
pub struct BTreeScan<'a> {
    tree: &'a BTree,
}
impl BTreeScan<'_> {
    pub fn next(&mut self) -> Result<Option<(&[u8], Tid)>> {
        todo!()
    }
}

/// Redo of btree records, as `heap::HeapRedo`.
#[derive(Default)]
pub struct BTreeRedo {}
impl BTreeRedo {
    pub fn new() -> BTreeRedo {
        todo!()
    }
    pub fn apply(&mut self, pool: &BufferPool, end: Lsn, xid: Xid, info: u8, payload: &[u8]) -> Result<()> {
        todo!()
    }
    pub fn finish(&self, pool: &BufferPool) -> Result<()> {
        todo!()
    }
}

pub fn describe(info: u8, payload: &[u8]) -> String {
    todo!()
}
