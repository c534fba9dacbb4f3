//! Text input of every type; what was read can be written in both formats, and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use types::text_io::is_reg_type;
use types::{
    BuiltinCatalog, FormatSettings, PlainContext, SqlType, binary_output, builtin_types, element_type, input, oids,
    output_string,
};

const TIMETZ_ARRAY: base::Oid = base::Oid(1270);

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
    let Ok(written) = output_string(&value, ty.oid, &format, &BuiltinCatalog) else { return };
    // A zone in POSIX's notation may be further from Greenwich than a number may say, in PostgreSQL as well.
    // An operator's name may be that of several, and what is no object here is written as one that is.
    let element = element_type(&BuiltinCatalog, ty.oid).unwrap_or(ty.oid);
    if !matches!(ty.oid, oids::TIMETZ | TIMETZ_ARRAY) && !is_reg_type(element) {
        let again = input(&mut context, &written, ty).unwrap_or_else(|error| panic!("{written:?}: {error}"));
        assert_eq!(output_string(&again, ty.oid, &format, &BuiltinCatalog).ok(), Some(written));
    }
    let _ = binary_output(&value, ty.oid, &BuiltinCatalog, &mut Vec::new());
});
