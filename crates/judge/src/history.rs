//! Histories: what transactions did, as their clients saw it.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

/// A transaction. One that is tried again is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId(pub u64);

/// A version of a row, unique in the whole history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionId(pub u64);

/// A row, by its table and its unique key. A row deleted and inserted again is the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object {
    /// The table.
    pub table: u32,
    /// The key.
    pub key: i64,
}

/// Numbers the moments of a history; shared by all its clients.
#[derive(Debug, Default)]
pub struct Clock(AtomicU64);

impl Clock {
    /// A clock at its beginning.
    pub fn new() -> Clock {
        Clock::default()
    }

    /// The next moment: later than every one that was read before, by any client.
    pub fn now(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// Something lasted from a moment before it began to a moment after it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Before it began.
    pub began: u64,
    /// After it ended.
    pub ended: u64,
}

/// The actions of all clients.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// All transactions, in any order.
    pub transactions: Vec<Transaction>,
}

/// The actions of one transaction.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// The transaction's identifier.
    pub id: TransactionId,
    /// Its operations, in order.
    pub operations: Vec<Operation>,
    /// How it ended.
    pub end: End,
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It committed, and when: from before its commit was called to after the call returned.
    Committed(Span),
    /// It was rolled back, or never ended.
    Aborted,
}

/// One thing that a transaction did.
#[derive(Clone, Debug)]
pub enum Operation {
    /// It wrote a version.
    Write(Write),
    /// It saw a version.
    Read(Read),
    /// It looked for all rows that satisfy a condition.
    PredicateRead(PredicateRead),
}

/// A version was written.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    /// The row.
    pub object: Object,
    /// The new version.
    pub version: VersionId,
    /// The version that it replaces; `None` for an insert.
    pub replaces: Option<VersionId>,
    /// The value that conditions test besides the key; `None` if the row was deleted.
    pub class: Option<i64>,
    /// A moment after the write and before the transaction's end. It decides the order of a key's inserts.
    pub at: u64,
    /// The write was undone by a rollback to an earlier savepoint.
    pub is_undone: bool,
}

/// A version was seen.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// The row.
    pub object: Object,
    /// The version.
    pub version: VersionId,
}

/// All rows were looked for that satisfy a condition. Finding no row by its key is one, too.
#[derive(Clone, Debug)]
pub struct PredicateRead {
    /// The condition.
    pub predicate: Predicate,
    /// All versions that were found.
    pub seen: Vec<Read>,
    /// The time at which the read's snapshot was taken. It tells which version of a row did not satisfy the condition.
    pub looked: Span,
}

/// A condition on rows.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// The table.
    pub table: u32,
    /// The keys that satisfy it.
    pub keys: RangeInclusive<i64>,
    /// The classes that satisfy it.
    pub classes: RangeInclusive<i64>,
}

impl Predicate {
    /// Whether a row may satisfy it in some class.
    pub fn covers(&self, object: Object) -> bool {
        self.table == object.table && self.keys.contains(&object.key)
    }

    /// Whether a row that it covers satisfies it as a version of this class (`None`: deleted).
    pub fn holds_for(&self, class: Option<i64>) -> bool {
        class.is_some_and(|class| self.classes.contains(&class))
    }
}

impl Operation {
    /// A write that is not undone.
    pub fn write(
        object: Object,
        version: VersionId,
        replaces: Option<VersionId>,
        class: Option<i64>,
        at: u64,
    ) -> Operation {
        Operation::Write(Write { object, version, replaces, class, at, is_undone: false })
    }

    /// A read of one row that was there.
    pub fn read(object: Object, version: VersionId) -> Operation {
        Operation::Read(Read { object, version })
    }
}

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{}", self.0)
    }
}

impl fmt::Display for VersionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "version {:#x}", self.0)
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.table, self.key)
    }
}
