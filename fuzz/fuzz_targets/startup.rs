//! The first packets of a connection.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Some((_, length))) = server::startup::decode(bytes, server::startup::Asked::default()) {
        assert!(length <= bytes.len());
    }
});
