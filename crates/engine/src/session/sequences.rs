//! Sequences.

use base::{Oid, Result};

use super::Session;

impl Session {
    /// The sequence's next value.
    ///
    /// # Errors
    /// 42P01 if there is none; 2200H beyond its last value; 25006 in a read-only transaction.
    pub fn nextval(&self, sequence: Oid) -> Result<i64> {
        todo!()
    }

    /// The value that this session got last from the sequence.
    ///
    /// # Errors
    /// 55000 if it got none.
    pub fn currval(&self, sequence: Oid) -> Result<i64> {
        todo!()
    }

    /// The value that this session got last from any sequence.
    ///
    /// # Errors
    /// 55000 if it got none.
    pub fn lastval(&self) -> Result<i64> {
        todo!()
    }

    /// Sets the sequence: the next value is `value` itself, or with `is_called` the one after it.
    ///
    /// # Errors
    /// 22003 if it is out of the sequence's bounds; 25006 in a read-only transaction.
    pub fn setval(&self, sequence: Oid, value: i64, is_called: bool) -> Result<()> {
        todo!()
    }

    /// Last value and whether it was given out: what `SELECT * FROM sequence` shows.
    ///
    /// # Errors
    /// 42P01 if there is none.
    pub fn sequence_state(&self, sequence: Oid) -> Result<(i64, bool)> {
        todo!()
    }
}
