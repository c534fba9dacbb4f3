//! A whole log with valid and damaged records: read, and recovered twice.
//!
//! The input is a list of records, each with a byte that says what is wrong with it. Checksums are made here, since a
//! fuzzer can't guess them.
#![no_main]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use base::Lsn;
use libfuzzer_sys::fuzz_target;
use vfs::{OpenMode, SimulatedVfs, Vfs};
use wal::{Epoch, Wal, WalControl, WalOptions, WalReader};

const SEGMENT_BYTES: u64 = 4096;
const HEADER_BYTES: usize = 24;

/// The log that the input describes, from the position `SEGMENT_BYTES` on.
fn log(mut input: &[u8]) -> Vec<u8> {
    let mut log = Vec::new();
    while let Some((control, rest)) = input.split_first_chunk::<6>() {
        let [rmgr, info, epoch, damage, length_low, length_high] = *control;
        let length = usize::from(u16::from_le_bytes([length_low, length_high]) % 3000).min(rest.len());
        let (payload, rest) = rest.split_at(length);
        input = rest;
        let start = SEGMENT_BYTES + log.len() as u64;
        let mut header = [0; HEADER_BYTES];
        header[..4].copy_from_slice(&((HEADER_BYTES + length) as u32).to_le_bytes());
        (header[16], header[17], header[20]) = (rmgr % 8, info, epoch % 4);
        let mut covered = [0; 32];
        covered[..8].copy_from_slice(&start.to_le_bytes());
        covered[8..24].copy_from_slice(&header[8..24]);
        covered[24..28].copy_from_slice(&header[..4]);
        let checksum = crc32c::crc32c_append(crc32c::crc32c(payload), &covered);
        header[4..8].copy_from_slice(&checksum.to_le_bytes());
        let at = log.len();
        log.extend_from_slice(&header);
        log.extend_from_slice(payload);
        log.resize(log.len().next_multiple_of(8), 0);
        if damage >= 0xE0 {
            let place = at + usize::from(damage - 0xE0) % (log.len() - at);
            log[place] ^= 0x10;
        }
    }
    log
}

fn disk_with(log: &[u8]) -> SimulatedVfs {
    let disk = SimulatedVfs::new(1);
    disk.create_dir_all(Path::new("/wal")).expect("nothing fails");
    for (number, bytes) in log.chunks(SEGMENT_BYTES as usize).enumerate() {
        let path = format!("/wal/{:016X}", number + 1);
        let file = disk.open(Path::new(&path), OpenMode::Create).expect("nothing fails");
        file.allocate_zeroed(SEGMENT_BYTES).expect("nothing fails");
        file.write_all_at(bytes, 0).expect("nothing fails");
    }
    disk
}

fn recover(disk: &SimulatedVfs, durable_floor: u64) -> Option<Vec<(Lsn, Vec<u8>)>> {
    let control = WalControl {
        redo: Lsn(SEGMENT_BYTES),
        epoch: Epoch(1),
        durable_floor: Lsn(durable_floor),
        page_lsn_met: Arc::new(AtomicU64::new(0)),
    };
    let options = WalOptions {
        segment_size_bytes: SEGMENT_BYTES,
        buffers_bytes: 1 << 16,
        segments_ahead: 0,
        ..WalOptions::default()
    };
    let mut records = Vec::new();
    let recovered = Wal::recover(Arc::new(disk.clone()), Path::new("/wal"), control, options, |record| {
        let _ = engine::redo::describe(record);
        records.push((record.end, record.payload.to_vec()));
        Ok(())
    });
    recovered.ok().map(|_| records)
}

fuzz_target!(|bytes: &[u8]| {
    let Some((floor, bytes)) = bytes.split_first_chunk::<2>() else { return };
    let log = log(bytes);
    if log.len() > 16 * SEGMENT_BYTES as usize {
        return;
    }
    let disk = disk_with(&log);
    let vfs: Arc<dyn Vfs> = Arc::new(disk.clone());
    let limit = Lsn(SEGMENT_BYTES + log.len() as u64);
    let opened = WalReader::open(vfs, Path::new("/wal"), SEGMENT_BYTES, Lsn(SEGMENT_BYTES), None, limit);
    if let Ok(mut reader) = opened {
        while let Ok(Some(record)) = reader.next() {
            let _ = engine::redo::describe(&record);
        }
    }
    let floor = SEGMENT_BYTES + u64::from(u16::from_le_bytes(*floor)) / 64 * 8;
    let Some(first) = recover(&disk, floor) else { return };
    assert_eq!(recover(&disk, floor), Some(first), "recovering twice equals recovering once");
});
