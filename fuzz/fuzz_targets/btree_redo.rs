//! Redo of any tree record on any page.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let [info, length_low, length_high, rest @ ..] = bytes else { return };
    let length = usize::from(u16::from_le_bytes([*length_low, *length_high])).min(rest.len());
    let (record, page) = rest.split_at(length);
    btree::fuzz_redo(*info, record, page);
    let _ = btree::describe(*info, record);
});
