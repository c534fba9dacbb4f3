//! Values of every type as rows keep them.
#![no_main]

use schema::row::{Datum, PhysicalType};
use libfuzzer_sys::fuzz_target;
use types::{BuiltinCatalog, FormatSettings, StorageKind, builtin_types, output_string, physical_type};

fuzz_target!(|bytes: &[u8]| {
    let [kind, rest @ ..] = bytes else { return };
    let types = builtin_types();
    let oid = types[usize::from(*kind) % types.len()].oid;
    if !matches!(physical_type(&BuiltinCatalog, oid), PhysicalType::Bytes) {
        return;
    }
    if let Ok(value) = StorageKind::of(&BuiltinCatalog, oid).read(Datum::Bytes(rest)) {
        let _ = output_string(&value, oid, &FormatSettings::default(), &BuiltinCatalog);
    }
});
