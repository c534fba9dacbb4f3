//! Index keys: values encoded so that `memcmp` orders them as SQL does.
//!
//! Each value is a marker byte, which sorts nulls first or last, then its ordered bytes:
//!
//! - Integers are big endian, with the sign bit flipped.
//! - Floats have their bits folded into integer order. -0 equals 0, and NaN is greatest.
//! - Byte strings are escaped (`00` becomes `00 FF`) and ended by `00 00`. So a string sorts before its extensions, and
//!   no value's bytes run into those of the next one.
//!
//! A descending value has all its bytes but the marker inverted.

use std::ops::Bound;

use crate::catalog::IndexDef;
use crate::row::Datum;

const NULL_FIRST: u8 = 0;
const VALUE: u8 = 1;
const NULL_LAST: u8 = 2;

/// An index key under construction; reused from row to row.
///
/// ```
/// use cohort_schema::key::KeyBuffer;
///
/// let (mut small, mut large) = (KeyBuffer::new(), KeyBuffer::new());
/// small.push_i32(-5);
/// large.push_i32(3);
/// assert!(small.as_slice() < large.as_slice());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyBuffer {
    bytes: Vec<u8>,
    has_null: bool,
}

impl KeyBuffer {
    /// An empty key.
    pub fn new() -> KeyBuffer {
        KeyBuffer::default()
    }

    /// Forgets the values, keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.has_null = false;
    }

    /// Whether one of the values is null: such keys are equal to no other, unless the index says so.
    pub fn has_null(&self) -> bool {
        self.has_null
    }

    /// The key's bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// A null, before or after every value.
    pub fn push_null(&mut self, nulls_first: bool) {
        self.has_null = true;
        self.bytes.push(if nulls_first { NULL_FIRST } else { NULL_LAST });
    }

    /// A boolean: false before true.
    pub fn push_bool(&mut self, value: bool) {
        self.bytes.extend_from_slice(&[VALUE, u8::from(value)]);
    }

    /// A 16-bit integer.
    pub fn push_i16(&mut self, value: i16) {
        self.bytes.push(VALUE);
        self.bytes.extend_from_slice(&(value as u16 ^ 1 << 15).to_be_bytes());
    }

    /// A 32-bit integer.
    #[inline]
    pub fn push_i32(&mut self, value: i32) {
        let mut bytes = [VALUE; 5];
        bytes[1..].copy_from_slice(&(value as u32 ^ 1 << 31).to_be_bytes());
        self.bytes.extend_from_slice(&bytes);
    }

    /// A 64-bit integer.
    #[inline]
    pub fn push_i64(&mut self, value: i64) {
        let mut bytes = [VALUE; 9];
        bytes[1..].copy_from_slice(&(value as u64 ^ 1 << 63).to_be_bytes());
        self.bytes.extend_from_slice(&bytes);
    }

    /// A 32-bit float, -0 equal to 0 and NaN above everything.
    pub fn push_f32(&mut self, value: f32) {
        let value = if value.is_nan() { f32::NAN.abs() } else { value + 0.0 };
        let bits = value.to_bits();
        let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
        self.bytes.push(VALUE);
        self.bytes.extend_from_slice(&ordered.to_be_bytes());
    }

    /// A 64-bit float, -0 equal to 0 and NaN above everything.
    pub fn push_f64(&mut self, value: f64) {
        let value = if value.is_nan() { f64::NAN.abs() } else { value + 0.0 };
        let bits = value.to_bits();
        let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
        self.bytes.push(VALUE);
        self.bytes.extend_from_slice(&ordered.to_be_bytes());
    }

    /// A byte string in the order of its bytes.
    pub fn push_bytes(&mut self, value: &[u8]) {
        self.bytes.push(VALUE);
        let mut rest = value;
        while let Some(zero) = rest.iter().position(|byte| *byte == 0) {
            self.bytes.extend_from_slice(&rest[..zero]);
            self.bytes.extend_from_slice(&[0, 0xFF]);
            rest = &rest[zero + 1..];
        }
        self.bytes.extend_from_slice(rest);
        self.bytes.extend_from_slice(&[0, 0]);
    }

    /// A value that the caller has encoded so that `memcmp` orders it (numeric, collated text ...).
    pub fn push_ordered(&mut self, value: &[u8]) {
        self.push_bytes(value);
    }

    /// Any value by its physical kind.
    #[inline]
    pub fn push_datum(&mut self, value: Datum, descending: bool, nulls_first: bool) {
        let start = self.bytes.len();
        match value {
            Datum::Null => return self.push_null(nulls_first),
            Datum::Bool(v) => self.push_bool(v),
            Datum::I16(v) => self.push_i16(v),
            Datum::I32(v) => self.push_i32(v),
            Datum::I64(v) => self.push_i64(v),
            Datum::F32(v) => self.push_f32(v),
            Datum::F64(v) => self.push_f64(v),
            Datum::Bytes(v) => self.push_bytes(v),
        }
        if descending {
            self.descend_from(start);
        }
    }

    /// Pushes one value with `push` and turns its order round.
    pub fn push_descending(&mut self, push: impl FnOnce(&mut KeyBuffer)) {
        let start = self.bytes.len();
        push(self);
        if self.bytes.get(start) == Some(&VALUE) {
            self.descend_from(start);
        }
    }

    fn descend_from(&mut self, start: usize) {
        for byte in &mut self.bytes[start + 1..] {
            *byte = !*byte;
        }
    }

    /// The least byte string above every key that starts with this one; `None` if there is none.
    pub fn after_prefix(&self) -> Option<Vec<u8>> {
        let mut bytes = self.bytes.clone();
        while let Some(last) = bytes.pop() {
            if last < u8::MAX {
                bytes.push(last + 1);
                return Some(bytes);
            }
        }
        None
    }

    /// Every key that starts with this one.
    pub fn prefix_range(&self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        let upper = self.after_prefix().map_or(Bound::Unbounded, Bound::Excluded);
        (Bound::Included(self.bytes.clone()), upper)
    }
}

impl From<KeyBuffer> for Vec<u8> {
    fn from(key: KeyBuffer) -> Vec<u8> {
        key.bytes
    }
}

/// Keys of plain columns, by their physical kinds: all that indexes without expressions, predicates and
/// types of an order of their own need.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainKeys;

impl PlainKeys {
    /// Writes the key of `row` in the index `index` to `out`.
    #[inline]
    pub fn write(index: &IndexDef, row: &[Datum], out: &mut KeyBuffer) {
        for key in &index.keys {
            let value = key.column.and_then(|column| row.get(column)).copied().unwrap_or(Datum::Null);
            out.push_datum(value, key.descending, key.nulls_first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(push: impl FnOnce(&mut KeyBuffer)) -> Vec<u8> {
        let mut buffer = KeyBuffer::new();
        push(&mut buffer);
        buffer.into()
    }

    fn ascends<T: Copy + std::fmt::Debug>(values: &[T], push: impl Fn(&mut KeyBuffer, T)) {
        for pair in values.windows(2) {
            let (low, high) = (key(|k| push(k, pair[0])), key(|k| push(k, pair[1])));
            assert!(low < high, "{pair:?}");
            let (low, high) =
                (key(|k| k.push_descending(|k| push(k, pair[0]))), key(|k| k.push_descending(|k| push(k, pair[1]))));
            assert!(low > high, "{pair:?} descending");
            let null = |first: bool| key(|k| k.push_null(first));
            assert!(null(true) < low && low < null(false) && null(true) < high && high < null(false));
        }
    }

    #[test]
    fn memcmp_orders_keys_as_their_values_are_ordered() {
        ascends(&[i16::MIN, -1, 0, 1, i16::MAX], KeyBuffer::push_i16);
        ascends(&[i32::MIN, -1, 0, 1, i32::MAX], KeyBuffer::push_i32);
        ascends(&[i64::MIN, -1, 0, 1, i64::MAX], KeyBuffer::push_i64);
        ascends(&[false, true], KeyBuffer::push_bool);
        ascends(
            &[f64::NEG_INFINITY, -1.5, -f64::MIN_POSITIVE, 0.0, 1e-300, 2.0, f64::INFINITY, f64::NAN],
            KeyBuffer::push_f64,
        );
        ascends(&[f32::NEG_INFINITY, -1.5, 0.0, 2.0, f32::INFINITY, f32::NAN], KeyBuffer::push_f32);
        ascends(
            &[&b""[..], b"\0", b"\0\0", b"\0\x01", b"\0\xff", b"\x01", b"a", b"a\0", b"ab", b"b", b"\xff"],
            |k, v| {
                k.push_bytes(v);
            },
        );
    }

    #[test]
    fn equal_floats_have_equal_keys() {
        assert_eq!(key(|k| k.push_f64(-0.0)), key(|k| k.push_f64(0.0)));
        assert_eq!(key(|k| k.push_f64(-f64::NAN)), key(|k| k.push_f64(f64::NAN)));
    }

    #[test]
    fn values_of_one_key_do_not_run_into_each_other() {
        let two = |a: &[u8], b: &[u8]| {
            key(|k| {
                k.push_bytes(a);
                k.push_bytes(b);
            })
        };
        assert!(two(b"a", b"z") < two(b"ab", b"a"));
        assert!(two(b"a\0", b"a") > two(b"a", b"z"));
    }

    #[test]
    fn a_prefix_range_holds_exactly_the_keys_that_start_with_the_prefix() {
        let mut prefix = KeyBuffer::new();
        prefix.push_i32(-1);
        let (Bound::Included(lower), Bound::Excluded(upper)) = prefix.prefix_range() else { panic!("bounded") };
        let inside = key(|k| {
            k.push_i32(-1);
            k.push_bytes(b"\xff\xff");
        });
        assert!(lower <= inside && inside < upper);
        assert!(key(|k| k.push_i32(0)) >= upper);
        assert_eq!(KeyBuffer { bytes: vec![0xFF, 0xFF], has_null: false }.after_prefix(), None);
    }
}
