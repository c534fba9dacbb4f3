//! A row of a table with any columns.
#![no_main]

use schema::row::{PhysicalType, RowView};
use libfuzzer_sys::fuzz_target;

const TYPES: [PhysicalType; 7] = [
    PhysicalType::Bool,
    PhysicalType::I16,
    PhysicalType::I32,
    PhysicalType::I64,
    PhysicalType::F32,
    PhysicalType::F64,
    PhysicalType::Bytes,
];

fuzz_target!(|bytes: &[u8]| {
    let Some((columns, bytes)) = bytes.split_first_chunk::<4>() else { return };
    let seed = u32::from_le_bytes(*columns);
    let types: Vec<PhysicalType> =
        (0..seed % 12).map(|column| TYPES[(seed.rotate_left(column * 5) % 7) as usize]).collect();
    let view = RowView::new(&types, bytes);
    // Detached values are brought back before anybody looks at a row.
    let is_detached = bytes.get(1).is_some_and(|high| high & 0x40 != 0);
    if view.check().is_err() || is_detached {
        return;
    }
    view.iter().for_each(drop);
    for column in 0..types.len() + 1 {
        view.is_null(column);
        view.get(column.min(types.len().saturating_sub(1)));
    }
});
