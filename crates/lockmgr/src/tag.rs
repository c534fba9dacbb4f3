//! The targets of locks.

use std::fmt;

use base::{Oid, Tid, Xid};

/// The target of a lock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LockTag {
    /// A relation: table, index, sequence.
    Relation(Oid),
    /// A page of a relation.
    Page {
        /// The relation.
        relation: Oid,
        /// Its page.
        block: u32,
    },
    /// A row, by the place of one of its versions.
    Row {
        /// The relation.
        relation: Oid,
        /// The version's place.
        tid: Tid,
    },
    /// The end of a transaction.
    Xid(Xid),
    /// A number that means something to applications only.
    Advisory(AdvisoryKey),
    /// The same key in a database other than `postgres`.
    AdvisoryIn {
        /// The database.
        database: Oid,
        /// The number.
        key: AdvisoryKey,
    },
    /// A catalog object that is no relation, or anything else that two sessions agree to name so.
    Object {
        /// The catalog that the object is in.
        class: Oid,
        /// The object.
        object: u64,
    },
}

/// The key of an advisory lock; the two forms never meet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AdvisoryKey {
    /// `pg_advisory_lock(bigint)`.
    One(i64),
    /// `pg_advisory_lock(int, int)`.
    Two(i32, i32),
}

impl LockTag {
    /// Whether it is an advisory lock.
    pub const fn is_advisory(&self) -> bool {
        matches!(self, LockTag::Advisory(_) | LockTag::AdvisoryIn { .. })
    }

    /// The `locktype` of `pg_locks`, and the wait event of a session that waits for it.
    pub const fn kind(&self) -> &'static str {
        match self {
            LockTag::Relation(_) => "relation",
            LockTag::Page { .. } => "page",
            LockTag::Row { .. } => "tuple",
            LockTag::Xid(_) => "transactionid",
            LockTag::Advisory(_) | LockTag::AdvisoryIn { .. } => "advisory",
            LockTag::Object { .. } => "object",
        }
    }

    /// How messages name the target, in a database with this identifier.
    pub fn describe(&self, database: Oid) -> String {
        match self {
            LockTag::Relation(relation) => format!("relation {relation} of database {database}"),
            LockTag::Page { relation, block } => format!("page {block} of relation {relation} of database {database}"),
            LockTag::Row { relation, tid } => {
                format!("tuple ({},{}) of relation {relation} of database {database}", tid.block, tid.slot)
            }
            LockTag::Xid(xid) => format!("transaction {xid}"),
            // The four numbers are database, high half, low half and form, as PostgreSQL prints them.
            LockTag::Advisory(AdvisoryKey::One(key)) => {
                format!("advisory lock [{database},{},{},1]", (*key as u64) >> 32, *key as u32)
            }
            LockTag::Advisory(AdvisoryKey::Two(high, low)) => {
                format!("advisory lock [{database},{},{},2]", *high as u32, *low as u32)
            }
            LockTag::AdvisoryIn { database, key } => LockTag::Advisory(*key).describe(*database),
            LockTag::Object { class, object } => format!("object {object} of class {class} of database {database}"),
        }
    }
}

impl fmt::Display for LockTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}
