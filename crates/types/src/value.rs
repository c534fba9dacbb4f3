//! The runtime value: what an expression evaluates to and what a row holds.

use std::sync::Arc;

use base::limits::VALUE_MAX_BYTES;
use base::{Oid, Result, Tid};
use schema::catalog::TableDef;
use smallvec::SmallVec;

use super::bit_strings::BitString;
use super::json::JsonbValue;
use super::numeric::Numeric;
pub use smol_str::SmolStr;

/// One SQL value, 24 bytes, cheap to clone.
///
/// A value knows how it is stored, not which SQL type it has: `text`, `varchar`, `char(n)`, `name`, `json` and `unknown`
/// all are [`Value::Text`], and `oid`, `regclass` and their kin all are [`Value::Oid`]. An operation that depends on the
/// type (text output, `char(n)`'s comparison) takes the type too.
#[derive(Debug, Default)]
pub enum Value {
    /// SQL NULL of any type.
    #[default]
    Null,
    /// The result of a function that returns nothing.
    Void,
    /// `bool`
    Bool(bool),
    /// `int2`
    Int2(i16),
    /// `int4`
    Int4(i32),
    /// `int8`
    Int8(i64),
    /// `float4`
    Float4(f32),
    /// `float8`
    Float8(f64),
    /// `numeric`
    Numeric(Numeric),
    /// `text`, `varchar`, `char(n)` (padded with blanks), `name`, `json`, `refcursor`, `unknown`
    Text(SmolStr),
    /// `bytea`
    Bytea(Arc<[u8]>),
    /// `date`: days since 2000-01-01; `i32::MIN` and `i32::MAX` are the infinities
    Date(i32),
    /// `time`: microseconds since midnight
    Time(i64),
    /// `timetz`
    TimeTz(TimeTz),
    /// `timestamp`: microseconds since 2000-01-01; `i64::MIN` and `i64::MAX` are the infinities
    Timestamp(i64),
    /// `timestamptz`: microseconds since 2000-01-01 UTC; `i64::MIN` and `i64::MAX` are the infinities
    TimestampTz(i64),
    /// `interval`
    Interval(Interval),
    /// `uuid`
    Uuid([u8; 16]),
    /// `money`: hundredths
    Money(i64),
    /// `bit(n)` and `bit varying(n)`
    Bits(Arc<BitString>),
    /// `macaddr`
    MacAddr([u8; 6]),
    /// `macaddr8`
    MacAddr8([u8; 8]),
    /// `oid`, `regclass`, `regtype`, `regproc`, ...
    Oid(u32),
    /// `"char"`: one byte
    Char(u8),
    /// `tid`
    Tid(Tid),
    /// `xid`, `xid8` and `cid`
    Xid(u64),
    /// `pg_lsn`
    PgLsn(u64),
    /// `jsonb`
    Jsonb(Arc<JsonbValue>),
    /// A label of an enum type
    Enum(EnumValue),
    /// An array of any element type; also `int2vector` and `oidvector`
    Array(Arc<ArrayValue>),
    /// A row of a composite type, or an anonymous record
    Record(Arc<RecordValue>),
}

const _: () = assert!(std::mem::size_of::<Value>() == 24);

impl Clone for Value {
    /// The kinds that rows are mostly made of come first and inline.
    #[inline]
    fn clone(&self) -> Value {
        match self {
            Value::Int4(value) => Value::Int4(*value),
            Value::Int8(value) => Value::Int8(*value),
            Value::Null => Value::Null,
            Value::Bool(value) => Value::Bool(*value),
            other => other.clone_other(),
        }
    }
}

impl PartialEq for Value {
    /// The same value stored in the same way, so that whatever is computed from one is computed from the other:
    /// `0` and `-0` differ, and so do `1.0` and `1.00`. Any NaN is the same as any other.
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) | (Value::Void, Value::Void) => true,
            (Value::Bool(left), Value::Bool(right)) => left == right,
            (Value::Int2(left), Value::Int2(right)) => left == right,
            (Value::Int4(left), Value::Int4(right)) => left == right,
            (Value::Int8(left), Value::Int8(right)) => left == right,
            (Value::Float4(left), Value::Float4(right)) => {
                left.to_bits() == right.to_bits() || left.is_nan() && right.is_nan()
            }
            (Value::Float8(left), Value::Float8(right)) => {
                left.to_bits() == right.to_bits() || left.is_nan() && right.is_nan()
            }
            (Value::Numeric(left), Value::Numeric(right)) => left == right,
            (Value::Text(left), Value::Text(right)) => left == right,
            (Value::Bytea(left), Value::Bytea(right)) => left == right,
            (Value::Date(left), Value::Date(right)) => left == right,
            (Value::Time(left), Value::Time(right)) => left == right,
            (Value::TimeTz(left), Value::TimeTz(right)) => left == right,
            (Value::Timestamp(left), Value::Timestamp(right)) => left == right,
            (Value::TimestampTz(left), Value::TimestampTz(right)) => left == right,
            (Value::Interval(left), Value::Interval(right)) => left == right,
            (Value::Uuid(left), Value::Uuid(right)) => left == right,
            (Value::Money(left), Value::Money(right)) => left == right,
            (Value::Bits(left), Value::Bits(right)) => left == right,
            (Value::MacAddr(left), Value::MacAddr(right)) => left == right,
            (Value::MacAddr8(left), Value::MacAddr8(right)) => left == right,
            (Value::Oid(left), Value::Oid(right)) => left == right,
            (Value::Char(left), Value::Char(right)) => left == right,
            (Value::Tid(left), Value::Tid(right)) => left == right,
            (Value::Xid(left), Value::Xid(right)) => left == right,
            (Value::PgLsn(left), Value::PgLsn(right)) => left == right,
            (Value::Jsonb(left), Value::Jsonb(right)) => left == right,
            (Value::Enum(left), Value::Enum(right)) => left == right,
            (Value::Array(left), Value::Array(right)) => left == right,
            (Value::Record(left), Value::Record(right)) => left == right,
            _ => false,
        }
    }
}

impl Value {
    fn clone_other(&self) -> Value {
        match self {
            Value::Null => Value::Null,
            Value::Void => Value::Void,
            Value::Bool(value) => Value::Bool(*value),
            Value::Int2(value) => Value::Int2(*value),
            Value::Int4(value) => Value::Int4(*value),
            Value::Int8(value) => Value::Int8(*value),
            Value::Float4(value) => Value::Float4(*value),
            Value::Float8(value) => Value::Float8(*value),
            Value::Numeric(value) => Value::Numeric(value.clone()),
            Value::Text(value) => Value::Text(value.clone()),
            Value::Bytea(value) => Value::Bytea(value.clone()),
            Value::Date(value) => Value::Date(*value),
            Value::Time(value) => Value::Time(*value),
            Value::TimeTz(value) => Value::TimeTz(*value),
            Value::Timestamp(value) => Value::Timestamp(*value),
            Value::TimestampTz(value) => Value::TimestampTz(*value),
            Value::Interval(value) => Value::Interval(*value),
            Value::Uuid(value) => Value::Uuid(*value),
            Value::Money(value) => Value::Money(*value),
            Value::Bits(value) => Value::Bits(value.clone()),
            Value::MacAddr(value) => Value::MacAddr(*value),
            Value::MacAddr8(value) => Value::MacAddr8(*value),
            Value::Oid(value) => Value::Oid(*value),
            Value::Char(value) => Value::Char(*value),
            Value::Tid(value) => Value::Tid(*value),
            Value::Xid(value) => Value::Xid(*value),
            Value::PgLsn(value) => Value::PgLsn(*value),
            Value::Jsonb(value) => Value::Jsonb(value.clone()),
            Value::Enum(value) => Value::Enum(*value),
            Value::Array(value) => Value::Array(value.clone()),
            Value::Record(value) => Value::Record(value.clone()),
        }
    }

    /// Whether this is SQL NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// A text value.
    pub fn text(text: impl AsRef<str>) -> Value {
        Value::Text(SmolStr::new(text))
    }

    /// A bytea value.
    pub fn bytea(bytes: impl Into<Arc<[u8]>>) -> Value {
        Value::Bytea(bytes.into())
    }

    /// An oid value.
    pub fn oid(oid: Oid) -> Value {
        Value::Oid(oid.0)
    }

    /// A one-dimensional array with lower bound 1.
    pub fn array(element: Oid, values: Vec<Value>) -> Value {
        Value::Array(Arc::new(ArrayValue::one_dimensional(element, values)))
    }

    /// The truth of a condition: NULL counts as false.
    #[inline]
    pub fn is_true(&self) -> bool {
        matches!(self, Value::Bool(true))
    }

    /// The string of a [`Value::Text`].
    #[inline]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// Any integer, as 64 bits.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Value::Int2(value) => Some(i64::from(value)),
            Value::Int4(value) => Some(i64::from(value)),
            Value::Int8(value) => Some(value),
            Value::Oid(value) => Some(i64::from(value)),
            _ => None,
        }
    }

    /// The value, unless it is larger than values may be: what a function makes of its arguments may be twice as large as
    /// they are, and so on.
    ///
    /// # Errors
    /// 54000; 54001 for a `jsonb` with too many levels.
    #[inline]
    pub fn within_limits(self) -> Result<Value> {
        if let Value::Jsonb(json) = &self
            && json.is_too_deep()
        {
            return Err(super::json::too_deep());
        }
        let fits = match &self {
            Value::Text(text) => text.len() <= VALUE_MAX_BYTES,
            Value::Bytea(bytes) => bytes.len() <= VALUE_MAX_BYTES,
            Value::Array(_) | Value::Record(_) | Value::Jsonb(_) => self.fits(&mut { VALUE_MAX_BYTES }),
            _ => true,
        };
        if fits { Ok(self) } else { Err(super::functions::text::too_large()) }
    }

    /// Whether it takes no more memory than `left_bytes`, of which it takes its part. Parts that are shared count as often as
    /// they are named: they are written out so.
    fn fits(&self, left_bytes: &mut usize) -> bool {
        let own = std::mem::size_of::<Value>();
        let taken = match self {
            Value::Array(array) => {
                return *left_bytes / own >= array.values.len()
                    && array.values.iter().all(|value| value.fits(left_bytes));
            }
            Value::Record(record) => return record.fields.iter().all(|value| value.fits(left_bytes)),
            other => own + other.heap_bytes(),
        };
        let fits = *left_bytes >= taken;
        *left_bytes = left_bytes.saturating_sub(taken);
        fits
    }

    /// The memory it takes, or `limit_bytes` if that is less. A large value is not looked at beyond that.
    pub fn bytes_up_to(&self, limit_bytes: usize) -> usize {
        let mut left_bytes = limit_bytes;
        if self.fits(&mut left_bytes) { limit_bytes - left_bytes } else { limit_bytes }
    }

    /// Bytes held outside the value itself, roughly: for memory accounts.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Value::Text(text) if text.is_heap_allocated() => text.len() + 16,
            Value::Bytea(bytes) => bytes.len() + 16,
            Value::Bits(bits) => bits.bytes().len() + 48,
            Value::Numeric(numeric) => numeric.heap_bytes(),
            Value::Jsonb(json) => json.heap_bytes() + 16,
            Value::Array(array) => array.values.iter().map(|value| 24 + value.heap_bytes()).sum::<usize>() + 64,
            Value::Record(record) => record.fields.iter().map(|value| 24 + value.heap_bytes()).sum::<usize>() + 64,
            _ => 0,
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<i16> for Value {
    fn from(value: i16) -> Value {
        Value::Int2(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Value {
        Value::Int4(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int8(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Float8(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::text(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        Value::Text(SmolStr::from(value))
    }
}

impl From<Oid> for Value {
    fn from(value: Oid) -> Value {
        Value::Oid(value.0)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

/// A span of time in three parts that don't convert into each other exactly.
///
/// Not `Ord`: `interval '1 month'` equals `interval '30 days'` in SQL, see [`super::compare`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Months; years count as 12.
    pub months: i32,
    /// Days; weeks count as 7.
    pub days: i32,
    /// Microseconds; may exceed a day.
    pub micros: i64,
}

/// A time of day with its own zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeTz {
    /// Microseconds since midnight, local.
    pub micros: i64,
    /// Seconds *west* of UTC, as PostgreSQL stores it.
    pub zone: i32,
}

/// A label of an enum type. Equal and ordered by `key` alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnumValue {
    /// The enum type.
    pub type_oid: Oid,
    /// The label: sort position in the high half, the label's oid in the low half, so that labels
    /// added between others keep the order of stored values.
    pub key: i64,
}

impl EnumValue {
    /// The label's own oid.
    pub fn label_oid(self) -> Oid {
        Oid(self.key as u32)
    }
}

/// One dimension of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Number of elements.
    pub length: u32,
    /// Subscript of the first element.
    pub lower_bound: i32,
}

/// An array: dimensions, and the elements in row-major order. No dimension at all: the empty array.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayValue {
    /// Type of the elements.
    pub element: Oid,
    /// Outermost first; at most six.
    pub dimensions: SmallVec<[Dimension; 1]>,
    /// The elements, the last dimension varying fastest.
    pub values: Vec<Value>,
}

/// Arrays with more elements than this are dropped by another thread.
pub(super) const DROPPED_HERE_MAX: usize = 256 << 10;

impl Drop for ArrayValue {
    fn drop(&mut self) {
        if self.values.len() > DROPPED_HERE_MAX {
            sync::drop_on_other_thread(std::mem::take(&mut self.values));
        }
    }
}

impl ArrayValue {
    /// An array with one dimension that starts at 1.
    pub fn one_dimensional(element: Oid, values: Vec<Value>) -> ArrayValue {
        Self::with_lower_bound(element, values, 1)
    }

    /// An array with one dimension that starts at `lower_bound`.
    pub fn with_lower_bound(element: Oid, values: Vec<Value>, lower_bound: i32) -> ArrayValue {
        let mut dimensions = SmallVec::new();
        if !values.is_empty() {
            dimensions.push(Dimension { length: values.len() as u32, lower_bound });
        }
        ArrayValue { element, dimensions, values }
    }

    /// The array without elements.
    pub fn empty(element: Oid) -> ArrayValue {
        ArrayValue { element, dimensions: SmallVec::new(), values: Vec::new() }
    }

    /// Puts so many NULLs before and behind the elements of an array with one dimension. Lets others run meanwhile.
    ///
    /// # Errors
    /// The error of an interrupt.
    pub fn pad(&mut self, before: usize, behind: usize) -> Result<()> {
        let length = self.values.len();
        let mut padded = Vec::new();
        let lengthened = lengthen(&mut self.values, length + behind, &Value::Null).and_then(|()| {
            if before > 0 {
                padded.reserve(before + length + behind);
            }
            lengthen(&mut padded, before, &Value::Null)
        });
        if let Err(interrupted) = lengthened {
            // The array is as it was.
            self.values.truncate(length);
            return Err(interrupted);
        }
        if before > 0 {
            padded.append(&mut self.values);
            self.values = padded;
        }
        let dimension = &mut self.dimensions[0];
        dimension.length = self.values.len() as u32;
        dimension.lower_bound -= before as i32;
        Ok(())
    }

    /// The same array once more. Lets others run meanwhile.
    ///
    /// # Errors
    /// The error of an interrupt.
    pub fn copied(&self) -> Result<ArrayValue> {
        let values = copy_of_values(&self.values)?;
        Ok(ArrayValue { element: self.element, dimensions: self.dimensions.clone(), values })
    }
}

/// A copy of `values`. Lets others run meanwhile.
///
/// # Errors
/// The error of an interrupt.
pub fn copy_of_values(values: &[Value]) -> Result<Vec<Value>> {
    let mut copy = Vec::with_capacity(values.len());
    for piece in values.chunks(ADDED_AT_ONCE) {
        sync::yield_point()?;
        copy.extend_from_slice(piece);
    }
    Ok(copy)
}

/// Elements that are added between two yield points.
const ADDED_AT_ONCE: usize = 1 << 14;

/// Adds `element` until there are `length`. Lets others run meanwhile.
///
/// # Errors
/// The error of an interrupt.
pub fn lengthen<T: Clone>(elements: &mut Vec<T>, length: usize, element: &T) -> Result<()> {
    elements.reserve(length.saturating_sub(elements.len()));
    while elements.len() < length {
        sync::yield_point()?;
        elements.resize(length.min(elements.len() + ADDED_AT_ONCE), element.clone());
    }
    Ok(())
}

/// The names and types of a record's fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordShape {
    /// The composite type, or `record` for an anonymous row.
    pub type_oid: Oid,
    /// Names and types in order.
    pub fields: Vec<(String, super::SqlType)>,
    /// The fields' attribute numbers. A number is never used again for another field of the type, so it tells which field is which after the
    /// type has changed. Empty if they are not known, as of an anonymous row and of a stored one.
    pub attributes: Vec<u32>,
}

impl RecordShape {
    /// The rows of a table, without its dropped columns.
    pub fn of_table(table: &TableDef) -> Arc<RecordShape> {
        let (mut fields, mut attributes) = (Vec::new(), Vec::new());
        for (place, column) in table.columns.iter().enumerate().filter(|(_, column)| !column.dropped) {
            fields.push((column.name.clone(), super::SqlType::with_typmod(column.type_oid, column.typmod)));
            attributes.push(place as u32 + 1);
        }
        Arc::new(RecordShape { type_oid: table.oid, fields, attributes })
    }

    /// The shape of rows whose type has no name.
    pub fn without_type(fields: Vec<(String, super::SqlType)>) -> RecordShape {
        RecordShape { type_oid: super::oids::RECORD, fields, attributes: Vec::new() }
    }

    /// An anonymous row with fields named `f1`, `f2`, ...
    pub fn anonymous(types: impl IntoIterator<Item = super::SqlType>) -> RecordShape {
        RecordShape::without_type(
            types.into_iter().enumerate().map(|(index, ty)| (format!("f{}", index + 1), ty)).collect(),
        )
    }

    /// Takes the field at a place away.
    pub fn remove(&mut self, place: usize) {
        self.fields.remove(place);
        if place < self.attributes.len() {
            self.attributes.remove(place);
        }
    }

    /// The attribute number of the field at a place, from 0; 0 if it is not known.
    pub fn attribute_at(&self, place: usize) -> u32 {
        self.attributes.get(place).copied().unwrap_or(0)
    }

    /// The place, in rows of this shape, of the field with the number `attribute`; none if there is no such field. If a number is not known
    /// (0, or no numbers in this shape), it is `place`, the field's place in another shape of the type.
    #[inline]
    pub fn place_of(&self, place: usize, attribute: u32) -> Option<usize> {
        let own = self.attribute_at(place);
        if own == attribute || attribute == 0 || self.attributes.is_empty() {
            return Some(place);
        }
        self.attributes.iter().position(|other| *other == attribute)
    }
}

/// A row as one value.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordValue {
    /// Names and types of the fields.
    pub shape: Arc<RecordShape>,
    /// The fields.
    pub fields: Vec<Value>,
}
