//! Constants and functions shared by the producers of rows.

use base::Oid;
use types::{ArrayValue, Value, oids};

use super::Equal;

/// The tablespace everything is in.
pub const TABLESPACE_OID: Oid = Oid(1663);
/// `heap` in `pg_am`.
pub const HEAP_METHOD: Oid = Oid(2);
/// `btree` in `pg_am`.
pub const BTREE_METHOD: Oid = Oid(403);

/// A row of things that are values or become some.
macro_rules! row {
    ($($value:expr),* $(,)?) => { vec![$(types::Value::from($value)),*] };
}
pub(super) use row;

/// SQL NULL, short enough for a row.
pub const NULL: Value = Value::Null;

/// The values of a column that a statement asks for.
pub enum Wanted<'e, T> {
    /// Anything.
    All,
    /// Only this.
    Only(T),
    /// NULL, which `=` finds in no row.
    Nothing(std::marker::PhantomData<&'e ()>),
}

/// The only oid wanted in `column`.
pub fn wanted_oid(equal: Equal<'_>, column: usize) -> Wanted<'_, Oid> {
    match equal.iter().find(|(place, _)| *place == column) {
        None => Wanted::All,
        Some((_, Value::Null)) => Wanted::Nothing(std::marker::PhantomData),
        Some((_, value)) => match value.as_i64().and_then(|number| u32::try_from(number).ok()) {
            Some(oid) => Wanted::Only(Oid(oid)),
            None => Wanted::All,
        },
    }
}

/// The only name wanted in `column`.
pub fn wanted_name<'e>(equal: Equal<'e>, column: usize) -> Wanted<'e, &'e str> {
    match equal.iter().find(|(place, _)| *place == column) {
        None => Wanted::All,
        Some((_, Value::Null)) => Wanted::Nothing(std::marker::PhantomData),
        Some((_, value)) => value.as_str().map_or(Wanted::All, Wanted::Only),
    }
}

impl<T: PartialEq> Wanted<'_, T> {
    /// Whether a row with this is wanted.
    pub fn matches(&self, value: &T) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Only(wanted) => wanted == value,
            Wanted::Nothing(_) => false,
        }
    }
}

/// A `"char"`.
pub fn letter(letter: char) -> Value {
    Value::Char(letter as u8)
}

/// An `xid`.
pub fn xid(xid: u64) -> Value {
    Value::Xid(xid)
}

/// An `oidvector`.
pub fn oid_vector(oids: impl IntoIterator<Item = Oid>) -> Value {
    let values = oids.into_iter().map(Value::oid).collect();
    Value::Array(ArrayValue::with_lower_bound(oids::OID, values, 0).into())
}

/// An `int2vector`.
pub fn int2_vector(numbers: impl IntoIterator<Item = i16>) -> Value {
    let values = numbers.into_iter().map(Value::Int2).collect();
    Value::Array(ArrayValue::with_lower_bound(oids::INT2, values, 0).into())
}

/// An `int2[]` of column numbers, from the places of the columns.
pub fn column_numbers<'c>(places: impl IntoIterator<Item = &'c usize>) -> Value {
    Value::array(oids::INT2, places.into_iter().map(|place| Value::Int2(*place as i16 + 1)).collect())
}

/// A `text[]`; NULL for none.
pub fn text_array<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Value {
    let values: Vec<Value> = texts.into_iter().map(Value::text).collect();
    if values.is_empty() { Value::Null } else { Value::array(oids::TEXT, values) }
}

/// `YES` or `NO`.
pub fn yes_or_no(yes: bool) -> Value {
    Value::text(if yes { "YES" } else { "NO" })
}
