//! One record of the log, as its bytes stand.
#![no_main]

use base::Lsn;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((at, bytes)) = bytes.split_first_chunk::<8>() else { return };
    if let Some(record) = wal::decode(bytes, Lsn(u64::from_le_bytes(*at))) {
        assert!((record.end.0 - record.start.0) as usize <= bytes.len());
    }
});
