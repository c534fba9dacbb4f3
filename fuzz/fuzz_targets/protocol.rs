//! Messages from a client, after start-up.
#![no_main]

use libfuzzer_sys::fuzz_target;
use server::decode::{Incoming, Message, next_message};

fuzz_target!(|bytes: &[u8]| {
    let mut incoming = Incoming::default();
    incoming.extend(bytes);
    while let Ok(Some(extent)) = next_message(incoming.pending()) {
        let whole = &incoming.pending()[..extent.length];
        if let Ok(Message::Bind(bind)) = Message::decode(whole)
            && let Ok(rest) = bind.rest()
        {
            assert!(rest.parameters.len() <= rest.parameter_count);
            rest.parameter_formats.iter().for_each(drop);
            rest.result_formats.into_iter().for_each(|formats| formats.iter().for_each(drop));
        }
        incoming.consume(extent.length);
    }
});
