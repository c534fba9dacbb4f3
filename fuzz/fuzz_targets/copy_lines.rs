//! COPY's text and CSV, cut anywhere.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sql::fuzz_copy;

fuzz_target!(|bytes: &[u8]| {
    let [kind, cut, data @ ..] = bytes else { return };
    let cut = usize::from(*cut).min(data.len());
    let whole = fuzz_copy(*kind, &[data]);
    let in_pieces = fuzz_copy(*kind, &[&data[..cut], &data[cut..]]);
    assert_eq!(whole, in_pieces, "it matters where the data is cut");
});
