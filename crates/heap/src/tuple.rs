//! A tuple version: 32 bytes of header, then the payload, which the heap never looks into.
//!
//! | bytes | field | |
//! | --- | --- | --- |
//! | 0..8 | `xmin` | the (sub)transaction that made this version |
//! | 8..16 | `xmax` | the (sub)transaction that deleted or updated it; zero if none did |
//! | 16..20 | `cmin` | the command of `xmin` that made it |
//! | 20..24 | `cmax` | the command of `xmax` that removed it |
//! | 24..30 | `ctid` | the version it was updated to; itself if it wasn't |
//! | 30..32 | flags | see the constants of [`flag`] |
//!
//! Nothing is aligned: fields are read and written as little-endian bytes, so that a tuple costs what
//! it holds.

use base::{CommandId, Tid, Xid};

/// Bytes before the payload.
pub(crate) const HEADER_BYTES: usize = 32;

/// The flag bits of a tuple.
pub(crate) mod flag {
    /// No index entry points here: it is reached through the older version before it in its page.
    pub(crate) const HEAP_ONLY: u16 = 1;
    /// `ctid` names a heap-only version in the same page.
    pub(crate) const HOT_UPDATED: u16 = 1 << 1;
    /// `xmin` is committed, durably, and visible to every snapshot there is or will be.
    pub(crate) const XMIN_FROZEN: u16 = 1 << 2;
    /// `xmax` deleted the row or changed a key of it: it conflicts with key-share locks as well.
    pub(crate) const KEYS_CHANGED: u16 = 1 << 3;
    /// `xmax` deleted the row; without this bit it updated it.
    pub(crate) const DELETED: u16 = 1 << 4;
    /// Advisory: the lock manager may know locks on this version. Never logged; stale after a restart.
    pub(crate) const LOCKED_IN_MEMORY: u16 = 1 << 5;

    /// `XMIN_FROZEN` was set by a log record, so that no crash can lose it.
    pub(crate) const FREEZE_LOGGED: u16 = 1 << 6;

    /// The bits that are set without a log record: what may differ between a page and its redo.
    pub(crate) const UNLOGGED: u16 = XMIN_FROZEN | LOCKED_IN_MEMORY;
    /// The bits that speak of `xmax`.
    pub(crate) const ABOUT_XMAX: u16 = HOT_UPDATED | KEYS_CHANGED | DELETED;
}

/// A tuple in a page: at least [`HEADER_BYTES`] long, which the page has checked.
#[derive(Clone, Copy)]
pub(crate) struct Tuple<'a>(pub(crate) &'a [u8]);

impl<'a> Tuple<'a> {
    #[inline]
    pub(crate) fn xmin(self) -> Xid {
        Xid(u64_at(self.0, 0))
    }
    #[inline]
    pub(crate) fn xmax(self) -> Xid {
        Xid(u64_at(self.0, 8))
    }
    #[inline]
    pub(crate) fn cmin(self) -> CommandId {
        CommandId(u32_at(self.0, 16))
    }
    #[inline]
    pub(crate) fn cmax(self) -> CommandId {
        CommandId(u32_at(self.0, 20))
    }
    #[inline]
    pub(crate) fn ctid(self) -> Tid {
        Tid::from_bytes(*self.0[24..].first_chunk().expect("a tuple has its whole header"))
    }
    #[inline]
    pub(crate) fn flags(self) -> u16 {
        u16_at(self.0, 30)
    }
    #[inline]
    pub(crate) fn has(self, bits: u16) -> bool {
        self.flags() & bits != 0
    }
    #[inline]
    pub(crate) fn payload(self) -> &'a [u8] {
        &self.0[HEADER_BYTES..]
    }
}

/// A tuple in a page that may be written.
pub(crate) struct TupleMut<'a>(pub(crate) &'a mut [u8]);

impl TupleMut<'_> {
    #[inline]
    pub(crate) fn set_xmax(&mut self, xmax: Xid, cmax: CommandId, ctid: Tid, about_xmax: u16) {
        let flags = Tuple(self.0).flags() & !flag::ABOUT_XMAX | about_xmax;
        self.0[8..16].copy_from_slice(&xmax.0.to_le_bytes());
        self.0[20..24].copy_from_slice(&cmax.0.to_le_bytes());
        self.0[24..30].copy_from_slice(&ctid.to_bytes());
        self.set_flags(flags);
    }
    #[inline]
    pub(crate) fn set_flags(&mut self, flags: u16) {
        self.0[30..32].copy_from_slice(&flags.to_le_bytes());
    }
    #[inline]
    pub(crate) fn add_flags(&mut self, bits: u16) {
        self.set_flags(Tuple(self.0).flags() | bits);
    }
    #[inline]
    pub(crate) fn clear_flags(&mut self, bits: u16) {
        self.set_flags(Tuple(self.0).flags() & !bits);
    }
}

/// The header of a version that nobody has updated yet.
#[inline]
pub(crate) fn new_header(xmin: Xid, cmin: CommandId, itself: Tid, flags: u16) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[0..8].copy_from_slice(&xmin.0.to_le_bytes());
    header[16..20].copy_from_slice(&cmin.0.to_le_bytes());
    header[24..30].copy_from_slice(&itself.to_bytes());
    header[30..32].copy_from_slice(&flags.to_le_bytes());
    header
}

#[inline]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}
#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*bytes[at..].first_chunk().expect("the caller checked the length"))
}
#[inline]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("the caller checked the length"))
}
