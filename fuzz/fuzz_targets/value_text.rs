//! Text input of every type; what was read can be written in both formats, and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sql::types::{
    BuiltinCatalog, FormatSettings, PlainContext, SqlType, binary_output, builtin_types, input, output_string,
};

fuzz_target!(|bytes: &[u8]| {
    let [kind, rest @ ..] = bytes else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    if text.contains('\0') {
        return;
    }
    let types = builtin_types();
    let ty = SqlType::with_typmod(types[usize::from(*kind) % types.len()].oid, -1);
    let mut context = PlainContext::default();
    let Ok(value) = input(&mut context, text, ty) else { return };
    let format = FormatSettings::default();
    let written = output_string(&value, ty.oid, &format, &BuiltinCatalog);
    match input(&mut context, &written, ty) {
        Ok(again) => assert_eq!(output_string(&again, ty.oid, &format, &BuiltinCatalog), written),
        // A zone in POSIX's notation may be further from Greenwich than a number may say, in PostgreSQL as well.
        Err(error) if error.sqlstate() == base::sqlstate::INVALID_TIME_ZONE_DISPLACEMENT_VALUE => {}
        Err(error) => panic!("{written:?}: {error}"),
    }
    let _ = binary_output(&value, ty.oid, &BuiltinCatalog, &mut Vec::new());
});
