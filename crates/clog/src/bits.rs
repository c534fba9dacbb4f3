//! The two bits, and where in the commit log's pages they lie.

use base::Xid;
use buffer::STORE_PAGE_BYTES;

/// Transactions whose bits are on one page.
pub(crate) const XIDS_PER_PAGE: u64 = STORE_PAGE_BYTES as u64 * 4;

/// The meaning of two bits of the commit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum ClogBits {
    /// Running, or lost in a crash.
    #[default]
    InProgress = 0,
    /// Committed.
    Committed = 1,
    /// Aborted.
    Aborted = 2,
    /// A subtransaction whose top-level transaction is about to be marked committed on another page.
    SubCommitted = 3,
}

impl ClogBits {
    /// From the two low bits of `bits`.
    pub fn from_bits(bits: u8) -> ClogBits {
        match bits & 3 {
            0 => ClogBits::InProgress,
            1 => ClogBits::Committed,
            2 => ClogBits::Aborted,
            _ => ClogBits::SubCommitted,
        }
    }

    /// Whether nothing can change it any more.
    pub fn is_final(self) -> bool {
        matches!(self, ClogBits::Committed | ClogBits::Aborted)
    }
}

pub(crate) fn page_of(xid: Xid) -> u64 {
    xid.0 / XIDS_PER_PAGE
}

fn place_of(xid: Xid) -> (usize, u32) {
    let index = (xid.0 % XIDS_PER_PAGE) as usize;
    (index / 4, (index % 4) as u32 * 2)
}

/// The bits of `xid`, which lie on this page.
pub(crate) fn get(page: &[u8], xid: Xid) -> ClogBits {
    let (byte, shift) = place_of(xid);
    ClogBits::from_bits(page[byte] >> shift)
}

/// Sets the bits of `xid`, which lie on this page.
pub(crate) fn set(page: &mut [u8], xid: Xid, bits: ClogBits) {
    let (byte, shift) = place_of(xid);
    let old = ClogBits::from_bits(page[byte] >> shift);
    debug_assert!(!old.is_final() || old == bits, "{xid:?} was {old:?} and cannot become {bits:?}");
    page[byte] = page[byte] & !(3 << shift) | (bits as u8) << shift;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_do_not_touch_each_other() {
        let mut page = vec![0; STORE_PAGE_BYTES];
        let all = [ClogBits::Committed, ClogBits::Aborted, ClogBits::SubCommitted, ClogBits::InProgress];
        let first = XIDS_PER_PAGE * 7;
        for offset in 0..XIDS_PER_PAGE {
            set(&mut page, Xid(first + offset), all[(offset * 7 % 4) as usize]);
        }
        for offset in 0..XIDS_PER_PAGE {
            assert_eq!(get(&page, Xid(first + offset)), all[(offset * 7 % 4) as usize]);
        }
    }
}
