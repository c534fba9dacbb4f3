//! The commit log.
#![allow(unused_variables, dead_code)]

use base::{Lsn, Xid};

use crate::ClogBits;

/// Who sets the status bits of a transaction, and how (`clog_update`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum ClogUpdate {
    /// The leader of the flush, for its whole cohort, one pass per page.
    #[default]
    Cohort = 0,
    /// The committer; those that meet at the latch form a group whose leader sets the bits of all.
    Group = 1,
    /// The committer, each with a latch acquisition of its own.
    Each = 2,
}

/// The commit log: two status bits for each transaction, in pages.
pub struct Clog {}

impl Clog {
    /// The bits of `xid`. XX001 if the page that holds them is damaged or missing.
    pub fn get(&self, xid: Xid) -> base::Result<ClogBits> {
        todo!()
    }

    /// Sets bits, one pass and one latch acquisition per page. `lsn` is the end of the last record that justifies them.
    pub fn set_bits(&self, bits: &[(Xid, ClogBits)], lsn: Lsn) {
        todo!()
    }
}
