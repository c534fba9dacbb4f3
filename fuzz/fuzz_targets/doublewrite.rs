//! The double-write area and pages in place, as a start finds them.
//!
//! The header's checksum and, where the input says so, those of the copies are made here.
#![no_main]

use std::path::Path;

use buffer::{PAGE_BYTES, doublewrite};
use libfuzzer_sys::fuzz_target;
use vfs::{OpenMode, SimulatedVfs, Vfs};

const ENTRIES_AT: usize = 24;
const ENTRY_BYTES: usize = 16;

fn checksum_of(page: &[u8], file: u64, block: u32) -> u32 {
    let mut crc = crc32c::crc32c(&page[..8]);
    crc = crc32c::crc32c_append(crc, &[0; 4]);
    crc = crc32c::crc32c_append(crc, &page[12..]);
    crc = crc32c::crc32c_append(crc, &file.to_le_bytes());
    crc32c::crc32c_append(crc, &block.to_le_bytes())
}

fn write(disk: &SimulatedVfs, path: &str, bytes: &[u8]) {
    let file = disk.open(Path::new(path), OpenMode::Create).expect("nothing fails");
    file.write_all_at(bytes, 0).expect("nothing fails");
}

fuzz_target!(|bytes: &[u8]| {
    let [sequence, count, in_place, rest @ ..] = bytes else { return };
    let mut header = vec![0; PAGE_BYTES];
    header[..8].copy_from_slice(b"COHORTDW");
    header[8] = *sequence;
    header[16..18].copy_from_slice(&u16::from(*count).to_le_bytes());
    let mut pages = Vec::new();
    let mut rest = rest;
    for index in 0..usize::from(*count).min(4) {
        let Some((control, after)) = rest.split_first_chunk::<4>() else { break };
        let [file, block, seal, fill] = *control;
        let mut page = vec![fill; PAGE_BYTES];
        let taken = after.len().min(32);
        page[..taken].copy_from_slice(&after[..taken]);
        rest = &after[taken..];
        let checksum = checksum_of(&page, u64::from(file % 3), u32::from(block % 5));
        if seal != 0 {
            page[8..12].copy_from_slice(&checksum.to_le_bytes());
        }
        let at = ENTRIES_AT + index * ENTRY_BYTES;
        header[at] = file % 3;
        header[at + 8] = block % 5;
        header[at + 12..at + 16].copy_from_slice(&checksum.to_le_bytes());
        pages.extend_from_slice(&page);
    }
    let unbound = rest.len().min(64);
    header[400..400 + unbound].copy_from_slice(&rest[..unbound]);
    let checksum = crc32c::crc32c(&header);
    header[20..24].copy_from_slice(&checksum.to_le_bytes());
    header.extend_from_slice(&pages);

    let disk = SimulatedVfs::new(1);
    disk.create_dir_all(Path::new("/data/base")).expect("nothing fails");
    disk.create_dir_all(Path::new("/data/clog")).expect("nothing fails");
    write(&disk, "/data/doublewrite", &header);
    write(&disk, "/data/base/1", &vec![*in_place; 3 * PAGE_BYTES + 100]);
    let vfs: &dyn Vfs = &disk;
    let recovered = doublewrite::recover(vfs, Path::new("/data")).expect("damage is no error here");
    assert!(recovered.restored <= recovered.copies);
    let again = doublewrite::recover(vfs, Path::new("/data")).expect("damage is no error here");
    assert_eq!((again.copies, again.restored), (0, 0), "nothing is restored twice");
});
