//! The control file: two slots, with right and wrong checksums.
#![no_main]

use std::path::Path;

use engine::{CONTROL_FILE, read_control};
use libfuzzer_sys::fuzz_target;
use vfs::{OpenMode, SimulatedVfs, Vfs};

const SLOT_BYTES: usize = 4096;

/// A slot whose checksum is right, if the input does not begin with an odd byte.
fn slot(bytes: &[u8]) -> Vec<u8> {
    let Some((control, bytes)) = bytes.split_first() else { return Vec::new() };
    if control % 2 == 1 {
        return bytes.to_vec();
    }
    let body = &bytes[..bytes.len().min(SLOT_BYTES - 20)];
    let mut slot = b"COHORTDB".to_vec();
    slot.extend_from_slice(&u32::from(control / 64 + 1).to_le_bytes());
    slot.extend_from_slice(&(body.len() as u32).to_le_bytes());
    slot.extend_from_slice(&crc32c::crc32c_append(crc32c::crc32c(&slot), body).to_le_bytes());
    slot.extend_from_slice(body);
    slot
}

fuzz_target!(|bytes: &[u8]| {
    let Some((cut, bytes)) = bytes.split_first() else { return };
    let (first, second) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    let disk = SimulatedVfs::new(1);
    disk.create_dir_all(Path::new("/data")).expect("nothing fails");
    let file = disk.open(&Path::new("/data").join(CONTROL_FILE), OpenMode::Create).expect("nothing fails");
    file.allocate_zeroed(2 * SLOT_BYTES as u64).expect("nothing fails");
    for (number, bytes) in [slot(first), slot(second)].iter().enumerate() {
        file.write_all_at(&bytes[..bytes.len().min(SLOT_BYTES)], (number * SLOT_BYTES) as u64).expect("nothing fails");
    }
    let _ = read_control(&disk, Path::new("/data"));
});
