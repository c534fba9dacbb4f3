//! Binary input of every type; what was read can be written as text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use types::{
    BuiltinCatalog, FormatSettings, PlainContext, SqlType, binary_input, binary_output, builtin_types, output_string,
};

fuzz_target!(|bytes: &[u8]| {
    let [kind, rest @ ..] = bytes else { return };
    let types = builtin_types();
    let ty = SqlType::with_typmod(types[usize::from(*kind) % types.len()].oid, -1);
    let mut context = PlainContext::default();
    let Ok(value) = binary_input(&mut context, rest, ty) else { return };
    let _ = output_string(&value, ty.oid, &FormatSettings::default(), &BuiltinCatalog);
    let mut written = Vec::new();
    if binary_output(&value, ty.oid, &BuiltinCatalog, &mut written).is_ok() {
        binary_input(&mut context, &written, ty).unwrap_or_else(|error| panic!("{written:?}: {error}"));
    }
});
