//! The format that all pages share: a 16-byte header, the rest is the owner's.
//!
//! | bytes | meaning |
//! | --- | --- |
//! | 0..8 | page LSN: the end of the last record that changed the page, little endian |
//! | 8..12 | CRC32C of the page with this field zero, then its file and block, little endian |
//! | 12..14 | flags, the owner's |
//! | 14..16 | kind, the owner's |
//!
//! A page of zeros is a page that was allocated and never written; it has no checksum.

use base::limits::PAGE_SIZE_BYTES;
use base::{FileNumber, Lsn};

/// A page, header included, in bytes.
pub const PAGE_BYTES: usize = PAGE_SIZE_BYTES;
/// The part of a page that the page cache owns, at its beginning, in bytes.
pub const HEADER_BYTES: usize = 16;

/// The name of a page: a block of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageId {
    /// The file under `base/`.
    pub file: FileNumber,
    /// The block, from 0.
    pub block: u32,
}

impl PageId {
    /// Block `block` of `file`.
    pub const fn new(file: FileNumber, block: u32) -> PageId {
        PageId { file, block }
    }
}

fn field<const N: usize>(page: &[u8], offset: usize) -> [u8; N] {
    page[offset..offset + N].try_into().expect("the slice has N bytes")
}

/// The end of the last record that changed the page.
pub fn page_lsn(page: &[u8]) -> Lsn {
    Lsn(u64::from_le_bytes(field(page, 0)))
}

pub(crate) fn set_page_lsn(page: &mut [u8], lsn: Lsn) {
    page[0..8].copy_from_slice(&lsn.0.to_le_bytes());
}

/// The owner's flags.
pub fn page_flags(page: &[u8]) -> u16 {
    u16::from_le_bytes(field(page, 12))
}

/// Sets the owner's flags.
pub fn set_page_flags(page: &mut [u8], flags: u16) {
    page[12..14].copy_from_slice(&flags.to_le_bytes());
}

/// The owner's page kind.
pub fn page_kind(page: &[u8]) -> u16 {
    u16::from_le_bytes(field(page, 14))
}

/// Sets the owner's page kind.
pub fn set_page_kind(page: &mut [u8], kind: u16) {
    page[14..16].copy_from_slice(&kind.to_le_bytes());
}

pub(crate) fn page_checksum(page: &[u8]) -> u32 {
    u32::from_le_bytes(field(page, 8))
}

/// The checksum that belongs into the header of `page` as block `block` of file `file`.
pub(crate) fn compute_checksum(page: &[u8], file: u64, block: u32) -> u32 {
    debug_assert_eq!(page.len(), PAGE_BYTES);
    let mut crc = crc32c::crc32c(&page[..8]);
    crc = crc32c::crc32c_append(crc, &[0; 4]);
    crc = crc32c::crc32c_append(crc, &page[12..]);
    let mut place = [0; 12];
    place[..8].copy_from_slice(&file.to_le_bytes());
    place[8..].copy_from_slice(&block.to_le_bytes());
    crc32c::crc32c_append(crc, &place)
}

/// Writes the checksum into the header.
pub(crate) fn seal(page: &mut [u8], file: u64, block: u32) {
    let checksum = compute_checksum(page, file, block);
    page[8..12].copy_from_slice(&checksum.to_le_bytes());
}

/// Whether the page is one that was allocated and never written.
pub(crate) fn is_zero(page: &[u8]) -> bool {
    page.iter().all(|&byte| byte == 0)
}

/// Whether the page may be used: its checksum is right, or it was never written.
pub(crate) fn is_valid(page: &[u8], file: u64, block: u32) -> bool {
    page_checksum(page) == compute_checksum(page, file, block) || is_zero(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_page_is_valid_only_in_its_own_place_and_unchanged() {
        let mut page = vec![0; PAGE_BYTES];
        set_page_lsn(&mut page, Lsn(77));
        set_page_kind(&mut page, 3);
        set_page_flags(&mut page, 9);
        page[5000] = 1;
        seal(&mut page, 12, 5);
        assert!(is_valid(&page, 12, 5));
        assert!(!is_valid(&page, 12, 6));
        assert!(!is_valid(&page, 13, 5));
        assert_eq!((page_lsn(&page), page_kind(&page), page_flags(&page)), (Lsn(77), 3, 9));
        for byte in [0, 9, 13, 15, 16, 5000, PAGE_BYTES - 1] {
            page[byte] ^= 4;
            assert!(!is_valid(&page, 12, 5), "byte {byte}");
            page[byte] ^= 4;
        }
    }

    #[test]
    fn a_page_of_zeros_is_valid_everywhere() {
        assert!(is_valid(&[0; PAGE_BYTES], 1, 2));
    }
}
