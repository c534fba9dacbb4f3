//! The beginning of a row's sort keys as one number, whose order is that of the rows as far as it goes.

use plan::SortKey;
use types::numeric::Numeric;
use types::{Value, oids, without_padding};

use crate::Run;

/// 128 bits, the first of them first.
pub(super) type Prefix = (u64, u64);

/// How a type's values become bits.
#[derive(Clone, Copy)]
enum Packing {
    /// So many bits that say everything.
    Fixed(u32),
    /// As many of a string's first bytes as there is room for.
    Text,
    /// The same of a `char(n)`, whose trailing blanks don't count.
    Padded,
    /// A number's hundredths, rounded down.
    Hundredths,
    /// Not at all.
    None,
}

struct Part {
    packing: Packing,
    descending: bool,
    nulls_first: bool,
}

/// Makes prefixes.
pub(super) struct Packer {
    parts: Vec<Part>,
    /// The first key that the prefix doesn't say everything about.
    pub first_open: usize,
    /// The prefix says everything.
    pub is_exact: bool,
}

const BITS: u32 = 128;

impl Packer {
    pub fn new(keys: &[SortKey], run: &Run<'_, '_>) -> Packer {
        let mut parts = Vec::with_capacity(keys.len());
        let mut room = BITS;
        let mut first_open = 0;
        for key in keys {
            let packing = match types::base_type(&run.catalog, key.expr.sql_type).oid {
                oids::BOOL => Packing::Fixed(1),
                oids::INT2 => Packing::Fixed(16),
                oids::INT4 | oids::DATE => Packing::Fixed(32),
                oids::INT8 | oids::FLOAT8 | oids::TIMESTAMP | oids::TIMESTAMPTZ | oids::TIME => Packing::Fixed(64),
                oids::TEXT | oids::VARCHAR | oids::NAME => Packing::Text,
                oids::BPCHAR => Packing::Padded,
                oids::NUMERIC => Packing::Hundredths,
                _ => Packing::None,
            };
            let part = Part { packing, descending: key.descending, nulls_first: key.nulls_first };
            match packing {
                Packing::Fixed(width) if width < room => {
                    parts.push(part);
                    first_open += 1;
                    room -= width + 1;
                }
                Packing::Text | Packing::Padded if room > 8 => {
                    parts.push(part);
                    break;
                }
                Packing::Hundredths if room > 64 => {
                    parts.push(part);
                    break;
                }
                _ => break,
            }
        }
        Packer { parts, first_open, is_exact: first_open == keys.len() }
    }

    /// The prefix of a row; `key` gives the value of a key.
    #[inline]
    pub fn pack<'v>(&self, key: impl Fn(usize) -> &'v Value) -> Prefix {
        let mut bits = 0_u128;
        let mut room = BITS;
        for (number, part) in self.parts.iter().enumerate() {
            let value = key(number);
            let width = match part.packing {
                Packing::Fixed(width) => width,
                Packing::Hundredths => 64,
                _ => (room - 1) / 8 * 8,
            };
            room -= 1;
            if value.is_null() {
                bits |= u128::from(!part.nulls_first) << room;
                room -= width;
                continue;
            }
            bits |= u128::from(part.nulls_first) << room;
            room -= width;
            let mut own = match (value, part.packing) {
                (Value::Text(text), Packing::Padded) => first_bytes(without_padding(text), width),
                (Value::Text(text), _) => first_bytes(text, width),
                (value, _) => u128::from(ordered(value)),
            };
            if part.descending {
                own = !own & (u128::MAX >> (BITS - width));
            }
            bits |= own << room;
        }
        ((bits >> 64) as u64, bits as u64)
    }
}

/// The first bytes of a string. No string holds a zero, so that what is missing sorts first.
fn first_bytes(text: &str, width: u32) -> u128 {
    let bytes = text.as_bytes();
    let mut first = [0; 16];
    let count = bytes.len().min(width as usize / 8);
    first[..count].copy_from_slice(&bytes[..count]);
    u128::from_be_bytes(first) >> (BITS - width)
}

/// A number with the order of the value.
fn ordered(value: &Value) -> u64 {
    let signed = |value: i64| (value as u64) ^ (1 << 63);
    match value {
        Value::Bool(value) => u64::from(*value),
        Value::Int2(value) => u64::from((*value as u16) ^ (1 << 15)),
        Value::Int4(value) | Value::Date(value) => u64::from((*value as u32) ^ (1 << 31)),
        Value::Int8(value) | Value::Timestamp(value) | Value::TimestampTz(value) | Value::Time(value) => signed(*value),
        Value::Float8(value) => {
            let value = if value.is_nan() { f64::NAN.abs() } else { *value + 0.0 };
            let bits = value.to_bits();
            if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
        }
        Value::Numeric(value) => signed(hundredths(value)),
        _ => 0,
    }
}

/// A numeric's hundredths, rounded down, the nearest there is to them if they are too many.
fn hundredths(value: &Numeric) -> i64 {
    match value.as_small() {
        Some((unscaled, scale)) if scale <= 2 => unscaled.saturating_mul(10_i64.pow(2 - u32::from(scale))),
        Some((unscaled, scale)) => match 10_i64.checked_pow(u32::from(scale) - 2) {
            Some(divisor) => unscaled.div_euclid(divisor),
            None => -i64::from(unscaled < 0),
        },
        None if value.is_nan() => i64::MAX,
        None => {
            let whole = value.multiply(&Numeric::with_scale(100, 0)).and_then(|value| value.floor());
            let whole = whole.ok().and_then(|whole| whole.to_i64_exact());
            whole.unwrap_or(if value.signum() < 0 { i64::MIN } else { i64::MAX })
        }
    }
}
