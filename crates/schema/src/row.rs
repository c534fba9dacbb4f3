//! Physical rows: how the values of a row lie in a tuple's payload.
//!
//! ```text
//! u16   columns stored (low 11 bits) | HAS_NULLS | HAS_DETACHED
//! [u8]  null bitmap, one bit per stored column, 1 = null   (only with HAS_NULLS)
//!       the values of the columns that are not null, in column order, unaligned, little endian
//! ```
//!
//! Fixed-width values take 1, 2, 4 or 8 bytes. A value of [`PhysicalType::Bytes`] starts with a lead byte: below
//! [`LEAD_LONG`] it is the length; [`LEAD_LONG`] is followed by a `u32` length. A *detached* value is one that the engine
//! compressed or moved out of line (see the engine's `large` module). Detached values have lead bytes of their own and
//! set HAS_DETACHED in the header. Every read of the row API puts them back before it hands a row out, so a [`RowView`]
//! outside the engine never meets one.
//!
//! A row may store fewer columns than its table has now: it is older than `ALTER TABLE ADD COLUMN`.
//! The missing ones read as null, or as the column's missing default (see [`RowView::with_missing`]).

use base::{Error, Result};
use serde::{Deserialize, Serialize};

/// The physical type of a value in a row; SQL types map onto these.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum PhysicalType {
    /// One byte, 0 or 1.
    Bool,
    /// Two bytes.
    I16,
    /// Four bytes.
    I32,
    /// Eight bytes.
    I64,
    /// Four bytes, IEEE 754.
    F32,
    /// Eight bytes, IEEE 754.
    F64,
    /// Any number of bytes.
    Bytes,
}

impl PhysicalType {
    /// The width of a value in bytes; `None` for [`PhysicalType::Bytes`].
    pub const fn width_bytes(self) -> Option<usize> {
        match self {
            PhysicalType::Bool => Some(1),
            PhysicalType::I16 => Some(2),
            PhysicalType::I32 | PhysicalType::F32 => Some(4),
            PhysicalType::I64 | PhysicalType::F64 => Some(8),
            PhysicalType::Bytes => None,
        }
    }
}

/// One value of a row, borrowed from it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Datum<'a> {
    /// SQL's null.
    #[default]
    Null,
    /// A [`PhysicalType::Bool`].
    Bool(bool),
    /// A [`PhysicalType::I16`].
    I16(i16),
    /// A [`PhysicalType::I32`].
    I32(i32),
    /// A [`PhysicalType::I64`].
    I64(i64),
    /// A [`PhysicalType::F32`].
    F32(f32),
    /// A [`PhysicalType::F64`].
    F64(f64),
    /// A [`PhysicalType::Bytes`].
    Bytes(&'a [u8]),
}

impl Datum<'_> {
    /// Whether this is SQL's null.
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }
}

const COLUMNS_MASK: u16 = 0x07FF;
const HAS_NULLS: u16 = 0x8000;
const HAS_DETACHED: u16 = 0x4000;
const HEADER_BYTES: usize = 2;

/// Lead bytes below this are the length of a short value.
pub const LEAD_LONG: u8 = 0xF0;
/// Compressed in place: `u32` plain length, `u32` stored length, the compressed bytes.
pub const LEAD_COMPRESSED: u8 = 0xF1;
/// Out of line: `u64` and `u32` name the value, `u32` plain length, `u32` stored length (shorter: compressed).
pub const LEAD_OUT_OF_LINE: u8 = 0xF2;
/// Bytes after [`LEAD_OUT_OF_LINE`].
pub const OUT_OF_LINE_BYTES: usize = 20;

const _: () = assert!(base::limits::COLUMNS_MAX <= COLUMNS_MASK as usize);

/// Writes a row of `values`, whose kinds must be those of `types` (or null), at the end of `out`.
///
/// # Errors
/// XX000 if a value's kind is not its column's; 54000 if a value is longer than a value may be.
pub fn encode_row(types: &[PhysicalType], values: &[Datum], out: &mut Vec<u8>) -> Result<()> {
    debug_assert_eq!(types.len(), values.len());
    let count = values.len().min(types.len());
    let nulls = values[..count].iter().any(Datum::is_null);
    let header = count as u16 | if nulls { HAS_NULLS } else { 0 };
    out.extend_from_slice(&header.to_le_bytes());
    let bitmap = out.len();
    if nulls {
        out.resize(bitmap + count.div_ceil(8), 0);
    }
    for (column, (kind, value)) in types.iter().zip(values).enumerate() {
        match (kind, value) {
            (_, Datum::Null) => out[bitmap + column / 8] |= 1 << (column % 8),
            (PhysicalType::Bool, Datum::Bool(v)) => out.push(u8::from(*v)),
            (PhysicalType::I16, Datum::I16(v)) => out.extend_from_slice(&v.to_le_bytes()),
            (PhysicalType::I32, Datum::I32(v)) => out.extend_from_slice(&v.to_le_bytes()),
            (PhysicalType::I64, Datum::I64(v)) => out.extend_from_slice(&v.to_le_bytes()),
            (PhysicalType::F32, Datum::F32(v)) => out.extend_from_slice(&v.to_le_bytes()),
            (PhysicalType::F64, Datum::F64(v)) => out.extend_from_slice(&v.to_le_bytes()),
            (PhysicalType::Bytes, Datum::Bytes(v)) => push_bytes(v, out)?,
            (kind, value) => {
                return Err(Error::internal(format!("column {column} holds {kind:?}, got {value:?}")));
            }
        }
    }
    Ok(())
}

fn push_bytes(value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    if value.len() > base::limits::VALUE_MAX_BYTES {
        return Err(value_too_long(value.len()));
    }
    if value.len() < usize::from(LEAD_LONG) {
        out.push(value.len() as u8);
    } else {
        out.push(LEAD_LONG);
        out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    }
    out.extend_from_slice(value);
    Ok(())
}

#[cold]
fn value_too_long(length: usize) -> Error {
    Error::new(base::sqlstate::PROGRAM_LIMIT_EXCEEDED, format!("invalid memory alloc request size {length}"))
}

/// A value of a stored row, detached ones not yet put back.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum StoredValue<'a> {
    /// As it is.
    Plain(Datum<'a>),
    /// All bytes of a detached value, its lead byte included.
    Detached(&'a [u8]),
}

/// A row read in place.
///
/// ```
/// use cohort_schema::row::{Datum, PhysicalType, RowView, encode_row};
///
/// let types = [PhysicalType::I32, PhysicalType::Bytes, PhysicalType::I64];
/// let mut bytes = Vec::new();
/// encode_row(&types, &[Datum::I32(7), Datum::Bytes(b"seven"), Datum::Null], &mut bytes)?;
/// let row = RowView::new(&types, &bytes);
/// assert_eq!(row.get(1), Datum::Bytes(b"seven"));
/// assert_eq!(row.iter().collect::<Vec<_>>(), [Datum::I32(7), Datum::Bytes(b"seven"), Datum::Null]);
/// # Ok::<(), base::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct RowView<'a> {
    types: &'a [PhysicalType],
    missing: &'a [Option<Box<[u8]>>],
    bytes: &'a [u8],
    stored: usize,
    nulls: bool,
    values_at: usize,
}

impl<'a> RowView<'a> {
    /// Reads `bytes` as a row of a table whose columns are `types` now.
    #[inline]
    pub fn new(types: &'a [PhysicalType], bytes: &'a [u8]) -> RowView<'a> {
        RowView::with_missing(types, &[], bytes)
    }

    /// The same; columns that the row doesn't store read as the one-column row `missing[column]`, if there is one.
    #[inline]
    pub fn with_missing(types: &'a [PhysicalType], missing: &'a [Option<Box<[u8]>>], bytes: &'a [u8]) -> RowView<'a> {
        let header = match bytes {
            [low, high, ..] => u16::from_le_bytes([*low, *high]),
            _ => 0,
        };
        let stored = usize::from(header & COLUMNS_MASK);
        let nulls = header & HAS_NULLS != 0;
        let values_at = HEADER_BYTES + if nulls { stored.div_ceil(8) } else { 0 };
        RowView { types, missing, bytes, stored, nulls, values_at }
    }

    /// How many columns the row stores.
    pub fn stored_columns(&self) -> usize {
        self.stored
    }

    /// The value of `column`; null beyond the last one.
    #[inline]
    pub fn get(&self, column: usize) -> Datum<'a> {
        let mut values = self.iter();
        for _ in 0..column {
            values.skip_one();
        }
        values.next().unwrap_or(Datum::Null)
    }

    /// Whether `column` is null, without reading the values before it.
    pub fn is_null(&self, column: usize) -> bool {
        if column >= self.stored { self.get(column).is_null() } else { self.null_bit(column) }
    }

    /// The values of all columns the table has now, in order.
    #[inline]
    pub fn iter(&self) -> RowValues<'a> {
        RowValues { view: *self, column: 0, at: self.values_at }
    }

    /// Appends the values of the first `upto` columns to `out`.
    #[inline]
    pub fn decode_prefix(&self, upto: usize, out: &mut impl Extend<Datum<'a>>) {
        out.extend(self.iter().take(upto));
    }

    #[inline]
    fn null_bit(&self, column: usize) -> bool {
        self.nulls && self.bytes.get(HEADER_BYTES + column / 8).is_some_and(|byte| byte & (1 << (column % 8)) != 0)
    }

    fn missing_value(&self, column: usize) -> Datum<'a> {
        match self.missing.get(column) {
            Some(Some(row)) => RowView::new(&self.types[column..=column], row).get(0),
            _ => Datum::Null,
        }
    }

    /// The stored values, detached ones as they are.
    pub fn stored_values(&self) -> impl Iterator<Item = StoredValue<'a>> + use<'a> {
        let mut values = self.iter();
        let stored = self.stored;
        std::iter::from_fn(move || if values.column < stored { values.next_stored() } else { None })
    }

    /// Whether the bytes are a well-formed row.
    ///
    /// # Errors
    /// XX001 if the row is cut short or says what cannot be.
    pub fn check(&self) -> Result<()> {
        if self.bytes.len() < self.values_at || self.stored > self.types.len() {
            return Err(Error::corrupted("row header is damaged"));
        }
        let mut values = self.iter();
        while values.column < self.stored {
            match values.next_stored() {
                Some(StoredValue::Detached(_)) if !has_detached(self.bytes) => {
                    return Err(Error::corrupted("row has a detached value and doesn't say so"));
                }
                Some(_) if values.at <= self.bytes.len() => {}
                _ => return Err(Error::corrupted(format!("row is cut short at column {}", values.column))),
            }
        }
        if values.at != self.bytes.len() {
            return Err(Error::corrupted("row has bytes left over"));
        }
        Ok(())
    }
}

/// Whether the row in `bytes` has values that were compressed or moved out of line.
#[inline]
pub fn has_detached(bytes: &[u8]) -> bool {
    bytes.get(1).is_some_and(|high| u16::from(*high) << 8 & HAS_DETACHED != 0)
}

/// The values of a row in column order.
#[derive(Clone)]
pub struct RowValues<'a> {
    view: RowView<'a>,
    column: usize,
    at: usize,
}

impl<'a> RowValues<'a> {
    #[inline]
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = self.view.bytes.get(self.at..self.at + N)?;
        self.at += N;
        bytes.try_into().ok()
    }

    /// The next column's bytes, if it is stored, not null and `N` bytes wide, as the caller knows from its type;
    /// otherwise nothing happens.
    #[inline]
    pub fn next_fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        if self.column >= self.view.stored || self.view.null_bit(self.column) {
            return None;
        }
        debug_assert_eq!(self.view.types.get(self.column).and_then(|kind| kind.width_bytes()), Some(N));
        let bytes = self.take::<N>()?;
        self.column += 1;
        Some(bytes)
    }

    /// The next column's bytes, if it is stored, not null, and of [`PhysicalType::Bytes`], as the caller knows, and short;
    /// otherwise nothing happens.
    #[inline]
    pub fn next_short_bytes(&mut self) -> Option<&'a [u8]> {
        if self.column >= self.view.stored || self.view.null_bit(self.column) {
            return None;
        }
        debug_assert_eq!(self.view.types.get(self.column), Some(&PhysicalType::Bytes));
        let lead = *self.view.bytes.get(self.at)?;
        if lead >= LEAD_LONG {
            return None;
        }
        let start = self.at + 1;
        let bytes = self.view.bytes.get(start..start + usize::from(lead))?;
        self.at = start + bytes.len();
        self.column += 1;
        Some(bytes)
    }

    /// Steps over columns that have fixed widths, `width_bytes` in all, up to `column`, if none of the row's values is
    /// null and it stores them all; otherwise nothing happens.
    #[inline]
    pub fn skip_fixed(&mut self, column: usize, width_bytes: usize) -> bool {
        if self.view.nulls || column > self.view.stored {
            return false;
        }
        self.at += width_bytes;
        self.column = column;
        true
    }

    /// Steps over one column.
    #[inline]
    pub fn skip_one(&mut self) {
        match self.view.types.get(self.column).and_then(|kind| kind.width_bytes()) {
            Some(width) if self.column < self.view.stored => {
                if !self.view.null_bit(self.column) {
                    self.at += width;
                }
                self.column += 1;
            }
            _ => {
                if self.next_short_bytes_unless_fixed().is_none() {
                    self.next_stored();
                }
            }
        }
    }

    #[inline]
    fn next_short_bytes_unless_fixed(&mut self) -> Option<&'a [u8]> {
        match self.view.types.get(self.column) {
            Some(PhysicalType::Bytes) => self.next_short_bytes(),
            _ => None,
        }
    }

    #[inline]
    fn next_stored(&mut self) -> Option<StoredValue<'a>> {
        let column = self.column;
        let kind = *self.view.types.get(column)?;
        self.column += 1;
        if column >= self.view.stored {
            return Some(StoredValue::Plain(self.view.missing_value(column)));
        }
        if self.view.null_bit(column) {
            return Some(StoredValue::Plain(Datum::Null));
        }
        let value = match kind {
            PhysicalType::Bool => Datum::Bool(self.take::<1>()? != [0]),
            PhysicalType::I16 => Datum::I16(i16::from_le_bytes(self.take()?)),
            PhysicalType::I32 => Datum::I32(i32::from_le_bytes(self.take()?)),
            PhysicalType::I64 => Datum::I64(i64::from_le_bytes(self.take()?)),
            PhysicalType::F32 => Datum::F32(f32::from_le_bytes(self.take()?)),
            PhysicalType::F64 => Datum::F64(f64::from_le_bytes(self.take()?)),
            PhysicalType::Bytes => return self.next_bytes(),
        };
        Some(StoredValue::Plain(value))
    }

    #[inline]
    fn next_bytes(&mut self) -> Option<StoredValue<'a>> {
        let start = self.at;
        let [lead] = self.take::<1>()?;
        let length = match lead {
            LEAD_LONG => u32::from_le_bytes(self.take()?) as usize,
            LEAD_COMPRESSED => {
                self.take::<4>()?;
                u32::from_le_bytes(self.take()?) as usize
            }
            LEAD_OUT_OF_LINE => OUT_OF_LINE_BYTES,
            short if short < LEAD_LONG => usize::from(short),
            _ => return None,
        };
        let bytes = self.view.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(match lead {
            LEAD_COMPRESSED | LEAD_OUT_OF_LINE => StoredValue::Detached(&self.view.bytes[start..self.at]),
            _ => StoredValue::Plain(Datum::Bytes(bytes)),
        })
    }
}

impl<'a> Iterator for RowValues<'a> {
    type Item = Datum<'a>;

    #[inline]
    fn next(&mut self) -> Option<Datum<'a>> {
        if self.column >= self.view.types.len() {
            return None;
        }
        match self.next_stored() {
            Some(StoredValue::Plain(value)) => Some(value),
            // Damage: pages are checksummed, so this is a row that was never written well. `check` names it.
            Some(StoredValue::Detached(_)) | None => {
                debug_assert!(false, "row is damaged or was handed out with detached values");
                Some(Datum::Null)
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.view.types.len() - self.column.min(self.view.types.len());
        (left, Some(left))
    }
}

impl ExactSizeIterator for RowValues<'_> {}

/// Builds a row value by value; values may be detached ones taken over from an older version.
pub fn encode_stored(types: &[PhysicalType], values: &[StoredValue], out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let plain: smallvec::SmallVec<[Datum; 16]> = values
        .iter()
        .map(|value| match value {
            StoredValue::Plain(datum) => *datum,
            StoredValue::Detached(_) => Datum::Bytes(&[]),
        })
        .collect();
    if !values.iter().any(|value| matches!(value, StoredValue::Detached(_))) {
        return encode_row(types, &plain, out);
    }
    let nulls = plain.iter().any(Datum::is_null);
    let header = values.len() as u16 | HAS_DETACHED | if nulls { HAS_NULLS } else { 0 };
    out.extend_from_slice(&header.to_le_bytes());
    let bitmap = out.len();
    if nulls {
        out.resize(bitmap + values.len().div_ceil(8), 0);
    }
    let mut single = Vec::new();
    for (column, value) in values.iter().enumerate() {
        match value {
            StoredValue::Plain(Datum::Null) => out[bitmap + column / 8] |= 1 << (column % 8),
            StoredValue::Plain(datum) => {
                single.clear();
                encode_row(&types[column..=column], &[*datum], &mut single)?;
                out.extend_from_slice(&single[HEADER_BYTES..]);
            }
            StoredValue::Detached(bytes) => out.extend_from_slice(bytes),
        }
    }
    debug_assert!(has_detached(&out[start..]));
    Ok(())
}

/// A row's bytes copied out of the engine; reused from call to call, so that reading allocates nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowBytes(Vec<u8>);

impl RowBytes {
    /// An empty buffer.
    pub fn new() -> RowBytes {
        RowBytes::default()
    }

    /// Takes a copy of a row's bytes.
    #[inline]
    pub fn copy_from(&mut self, bytes: &[u8]) {
        self.0.clear();
        self.0.extend_from_slice(bytes);
    }

    /// The bytes, to be written anew.
    pub fn vec(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }

    /// The bytes.
    pub fn into_vec(self) -> Vec<u8> {
        self.0
    }
}

impl std::ops::Deref for RowBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// A set of column numbers, from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnSet(smallvec::SmallVec<[u64; 1]>);

impl ColumnSet {
    /// No column.
    pub fn new() -> ColumnSet {
        ColumnSet::default()
    }

    /// Every one of the first `count` columns.
    pub fn all(count: usize) -> ColumnSet {
        (0..count).collect()
    }

    /// Adds `column`.
    pub fn insert(&mut self, column: usize) {
        if self.0.len() <= column / 64 {
            self.0.resize(column / 64 + 1, 0);
        }
        self.0[column / 64] |= 1 << (column % 64);
    }

    /// Adds all of `other`.
    pub fn insert_all(&mut self, other: &ColumnSet) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (word, added) in self.0.iter_mut().zip(&other.0) {
            *word |= added;
        }
    }

    /// Whether `column` is in the set.
    pub fn contains(&self, column: usize) -> bool {
        self.0.get(column / 64).is_some_and(|word| word & (1 << (column % 64)) != 0)
    }

    /// Whether a column is in both sets.
    #[inline]
    pub fn intersects(&self, other: &ColumnSet) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    /// Whether no column is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The columns in the set, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.0.len() * 64).filter(|column| self.contains(*column))
    }
}

impl FromIterator<usize> for ColumnSet {
    fn from_iter<I: IntoIterator<Item = usize>>(columns: I) -> ColumnSet {
        let mut set = ColumnSet::new();
        for column in columns {
            set.insert(column);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES: [PhysicalType; 7] = [
        PhysicalType::Bool,
        PhysicalType::I16,
        PhysicalType::I32,
        PhysicalType::I64,
        PhysicalType::F32,
        PhysicalType::F64,
        PhysicalType::Bytes,
    ];

    fn round_trip(values: &[Datum]) {
        let mut bytes = Vec::new();
        encode_row(&TYPES[..values.len()], values, &mut bytes).unwrap();
        let row = RowView::new(&TYPES[..values.len()], &bytes);
        row.check().unwrap();
        assert_eq!(row.iter().collect::<Vec<_>>(), values);
        for (column, value) in values.iter().enumerate() {
            assert_eq!(row.get(column), *value);
            assert_eq!(row.is_null(column), value.is_null());
        }
    }

    #[test]
    fn every_kind_of_value_round_trips() {
        let long = vec![7; 1000];
        for bytes in [&b""[..], b"short", &long[..239], &long[..240], &long] {
            round_trip(&[
                Datum::Bool(true),
                Datum::I16(-2),
                Datum::I32(i32::MIN),
                Datum::I64(i64::MAX),
                Datum::F32(1.5),
                Datum::F64(-0.25),
                Datum::Bytes(bytes),
            ]);
        }
        round_trip(&[Datum::Null; 7]);
        round_trip(&[Datum::Null, Datum::I16(1), Datum::Null, Datum::I64(4)]);
        round_trip(&[]);
    }

    #[test]
    fn a_row_older_than_a_column_reads_its_missing_default() {
        let mut bytes = Vec::new();
        encode_row(&TYPES[..2], &[Datum::Bool(false), Datum::I16(3)], &mut bytes).unwrap();
        let mut default = Vec::new();
        encode_row(&TYPES[2..3], &[Datum::I32(42)], &mut default).unwrap();
        assert_eq!(RowView::new(&TYPES[..3], &bytes).get(2), Datum::Null);
        let missing = [None, None, Some(default.into_boxed_slice())];
        let row = RowView::with_missing(&TYPES[..4], &missing, &bytes);
        assert_eq!(row.iter().collect::<Vec<_>>()[2..], [Datum::I32(42), Datum::Null]);
        assert!(!row.is_null(2));
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_refused() {
        assert!(encode_row(&TYPES[1..2], &[Datum::I64(1)], &mut Vec::new()).is_err());
    }

    // invariants: row 26
    #[test]
    fn damaged_rows_are_named_and_never_panic() {
        let mut bytes = Vec::new();
        encode_row(
            &TYPES[2..],
            &[Datum::I32(1), Datum::Null, Datum::F32(0.0), Datum::F64(1.0), Datum::Bytes(b"xyz")],
            &mut bytes,
        )
        .unwrap();
        for cut in 0..bytes.len() {
            assert!(RowView::new(&TYPES[2..], &bytes[..cut]).check().is_err(), "cut at {cut}");
        }
        // A value that lies elsewhere, in a row that says it has none.
        let mut detached = vec![1, 0, LEAD_OUT_OF_LINE];
        detached.resize(3 + OUT_OF_LINE_BYTES, 0);
        assert!(RowView::new(&[PhysicalType::Bytes], &detached).check().is_err());
    }

    #[test]
    fn column_sets_span_words() {
        let set: ColumnSet = [1, 64, 700].into_iter().collect();
        assert!(set.contains(700) && set.contains(64) && !set.contains(0) && !set.contains(1600));
        assert!(set.intersects(&ColumnSet::all(2)) && !set.intersects(&ColumnSet::all(1)));
        assert!(ColumnSet::new().is_empty() && !set.is_empty());
    }
}
