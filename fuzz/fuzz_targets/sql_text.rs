//! The text of statements: parsed, and stripped of its constants.
#![no_main]

use libfuzzer_sys::fuzz_target;
use syntax::parser::{ParseOptions, normalize, parse};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if text.contains('\0') {
        return;
    }
    for standard_conforming_strings in [true, false] {
        if let Err(error) = parse(text, ParseOptions { standard_conforming_strings }) {
            assert_ne!(error.sqlstate(), base::sqlstate::INTERNAL_ERROR, "{text:?}: {error}");
        }
    }
    if let Some((text, constants)) = normalize(text) {
        assert!(!constants.is_empty() || !text.contains('$'));
        let _ = parse(&text, ParseOptions::default());
    }
});
