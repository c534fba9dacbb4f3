//! How values lie in rows and in index keys.

use base::{Error, Oid, Result, Tid};
use bumpalo::Bump;
use schema::catalog::TableDef;
use schema::key::KeyBuffer;
use schema::row::{Datum, PhysicalType};
use smallvec::SmallVec;

use super::compare::without_padding;
use super::context::CatalogLookup;
use super::numeric::Numeric;
use super::type_table::{TypeKind, builtin_type, type_shape};
use super::value::{EnumValue, SmolStr, Value};
use super::{network, packed};

/// How values of a type are stored in rows. Domains are stored as their base type.
pub fn physical_type(catalog: &dyn CatalogLookup, oid: Oid) -> PhysicalType {
    match StorageKind::of(catalog, oid) {
        StorageKind::Bool => PhysicalType::Bool,
        StorageKind::Int2 | StorageKind::Char => PhysicalType::I16,
        StorageKind::Int4 | StorageKind::Date => PhysicalType::I32,
        StorageKind::Int8
        | StorageKind::Time
        | StorageKind::Money
        | StorageKind::Timestamp
        | StorageKind::TimestampTz
        | StorageKind::Oid
        | StorageKind::Xid
        | StorageKind::PgLsn
        | StorageKind::Tid
        | StorageKind::Enum(_) => PhysicalType::I64,
        StorageKind::Float4 => PhysicalType::F32,
        StorageKind::Float8 => PhysicalType::F64,
        _ => PhysicalType::Bytes,
    }
}

/// How a stored datum becomes a value: found once per column, kept in plans.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum StorageKind {
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    /// UTF-8 as is; `char(n)` too, padded
    Text,
    /// As [`StorageKind::Text`], but trailing blanks don't count in keys
    PaddedText,
    /// As [`StorageKind::Text`], but keys are in the order of addresses
    Network,
    Bytea,
    Date,
    Time,
    Timestamp,
    TimestampTz,
    Oid,
    Xid,
    PgLsn,
    Tid,
    Char,
    Uuid,
    Money,
    Bits,
    MacAddr,
    MacAddr8,
    Numeric,
    Interval,
    TimeTz,
    Jsonb,
    Enum(Oid),
    /// An array with elements of this type
    Array(Oid),
    Record(Oid),
}

impl StorageKind {
    /// The kinds of a table's columns. Dropped ones have one, too.
    pub fn of_columns(catalog: &dyn CatalogLookup, table: &TableDef) -> Vec<StorageKind> {
        table.columns.iter().map(|column| StorageKind::of(catalog, column.type_oid)).collect()
    }

    /// The kind for a type; domains are looked through. Unknown types count as text.
    pub fn of(catalog: &dyn CatalogLookup, oid: Oid) -> StorageKind {
        if let Some(def) = builtin_type(oid) {
            return def.stored;
        }
        match type_shape(catalog, oid).map(|shape| shape.kind) {
            Some(TypeKind::Array(element)) => StorageKind::Array(element),
            Some(TypeKind::Domain(base)) => StorageKind::of(catalog, base.oid),
            Some(TypeKind::Enum) => StorageKind::Enum(oid),
            Some(TypeKind::Composite) => StorageKind::Record(oid),
            _ => StorageKind::Text,
        }
    }

    /// The value that a row's datum stands for. No allocation for fixed widths and strings up to 23 bytes. XX001 if
    /// the row was damaged.
    #[inline]
    pub fn read(self, datum: Datum<'_>) -> Result<Value> {
        Ok(match (self, datum) {
            (_, Datum::Null) => Value::Null,
            (StorageKind::Int4, Datum::I32(value)) => Value::Int4(value),
            (StorageKind::Int8, Datum::I64(value)) => Value::Int8(value),
            (StorageKind::Text | StorageKind::PaddedText | StorageKind::Network, Datum::Bytes(bytes)) => {
                Value::Text(SmolStr::new(std::str::from_utf8(bytes).map_err(|_| damaged())?))
            }
            (StorageKind::Timestamp, Datum::I64(value)) => Value::Timestamp(value),
            (StorageKind::TimestampTz, Datum::I64(value)) => Value::TimestampTz(value),
            (StorageKind::Bool, Datum::Bool(value)) => Value::Bool(value),
            (StorageKind::Int2, Datum::I16(value)) => Value::Int2(value),
            (StorageKind::Float4, Datum::F32(value)) => Value::Float4(value),
            (StorageKind::Float8, Datum::F64(value)) => Value::Float8(value),
            (StorageKind::Date, Datum::I32(value)) => Value::Date(value),
            (StorageKind::Time, Datum::I64(value)) => Value::Time(value),
            (StorageKind::Money, Datum::I64(value)) => Value::Money(value),
            (StorageKind::Oid, Datum::I64(value)) => Value::Oid(value as u32),
            (StorageKind::Xid, Datum::I64(value)) => Value::Xid(value as u64),
            (StorageKind::PgLsn, Datum::I64(value)) => Value::PgLsn(value as u64),
            (StorageKind::Tid, Datum::I64(value)) => Value::Tid(Tid::new((value >> 16) as u32, value as u16)),
            (StorageKind::Char, Datum::I16(value)) => Value::Char(value as u8),
            (StorageKind::Enum(type_oid), Datum::I64(key)) => Value::Enum(EnumValue { type_oid, key }),
            (StorageKind::Numeric, Datum::Bytes(bytes)) => Value::Numeric(Numeric::decode(bytes)?),
            (kind, Datum::Bytes(bytes)) => packed::read(kind, bytes)?,
            _ => return Err(damaged()),
        })
    }

    /// Whether a value is one of a type of this kind.
    pub fn takes(self, value: &Value) -> bool {
        match (self, value) {
            (_, Value::Null | Value::Void)
            | (StorageKind::Bool, Value::Bool(_))
            | (StorageKind::Int2, Value::Int2(_))
            | (StorageKind::Int4, Value::Int4(_))
            | (StorageKind::Int8, Value::Int8(_))
            | (StorageKind::Float4, Value::Float4(_))
            | (StorageKind::Float8, Value::Float8(_))
            | (StorageKind::Text | StorageKind::PaddedText | StorageKind::Network, Value::Text(_))
            | (StorageKind::Bytea, Value::Bytea(_))
            | (StorageKind::Date, Value::Date(_))
            | (StorageKind::Time, Value::Time(_))
            | (StorageKind::Timestamp, Value::Timestamp(_))
            | (StorageKind::TimestampTz, Value::TimestampTz(_))
            | (StorageKind::Oid, Value::Oid(_))
            | (StorageKind::Xid, Value::Xid(_))
            | (StorageKind::PgLsn, Value::PgLsn(_))
            | (StorageKind::Tid, Value::Tid(_))
            | (StorageKind::Char, Value::Char(_))
            | (StorageKind::Uuid, Value::Uuid(_))
            | (StorageKind::Money, Value::Money(_))
            | (StorageKind::Bits, Value::Bits(_))
            | (StorageKind::MacAddr, Value::MacAddr(_))
            | (StorageKind::MacAddr8, Value::MacAddr8(_))
            | (StorageKind::Numeric, Value::Numeric(_))
            | (StorageKind::Interval, Value::Interval(_))
            | (StorageKind::TimeTz, Value::TimeTz(_))
            | (StorageKind::Jsonb, Value::Jsonb(_))
            | (StorageKind::Array(_), Value::Array(_))
            | (StorageKind::Record(_), Value::Record(_)) => true,
            (StorageKind::Enum(type_oid), Value::Enum(value)) => type_oid == value.type_oid,
            _ => false,
        }
    }

    /// The datum to store for `value`; what needs encoding is encoded into `arena`.
    #[inline]
    pub fn write<'a>(self, value: &'a Value, arena: &'a Bump) -> Datum<'a> {
        match value {
            Value::Null | Value::Void => Datum::Null,
            Value::Int4(value) | Value::Date(value) => Datum::I32(*value),
            Value::Int8(value) | Value::Time(value) | Value::Timestamp(value) | Value::TimestampTz(value) => {
                Datum::I64(*value)
            }
            Value::Text(text) => Datum::Bytes(text.as_bytes()),
            Value::Bool(value) => Datum::Bool(*value),
            Value::Int2(value) => Datum::I16(*value),
            Value::Float4(value) => Datum::F32(*value),
            Value::Float8(value) => Datum::F64(*value),
            Value::Oid(value) => Datum::I64(i64::from(*value)),
            Value::Money(value) => Datum::I64(*value),
            Value::Xid(value) | Value::PgLsn(value) => Datum::I64(*value as i64),
            Value::Tid(tid) => Datum::I64(i64::from(tid.block) << 16 | i64::from(tid.slot)),
            Value::Char(value) => Datum::I16(i16::from(*value)),
            Value::Enum(value) => Datum::I64(value.key),
            Value::Bytea(bytes) => Datum::Bytes(bytes),
            Value::Uuid(uuid) => Datum::Bytes(uuid),
            Value::MacAddr(address) => Datum::Bytes(address),
            Value::MacAddr8(address) => Datum::Bytes(address),
            Value::Numeric(_)
            | Value::Interval(_)
            | Value::TimeTz(_)
            | Value::Jsonb(_)
            | Value::Bits(_)
            | Value::Array(_)
            | Value::Record(_) => {
                let mut bytes = SmallVec::new();
                packed::write(value, &mut bytes);
                Datum::Bytes(arena.alloc_slice_copy(&bytes))
            }
        }
    }

    /// Whether the key of a stored datum is that of its physical kind, as [`KeyBuffer::push_datum`] writes it.
    pub fn has_plain_key(self) -> bool {
        !matches!(
            self,
            StorageKind::PaddedText
                | StorageKind::Network
                | StorageKind::Numeric
                | StorageKind::Interval
                | StorageKind::TimeTz
                | StorageKind::Jsonb
                | StorageKind::Bits
                | StorageKind::Array(_)
                | StorageKind::Record(_)
        )
    }

    /// Appends the key of a stored datum: its `memcmp` order is the type's order.
    #[inline]
    pub fn push_datum_key(
        self,
        datum: Datum<'_>,
        descending: bool,
        nulls_first: bool,
        key: &mut KeyBuffer,
    ) -> Result<()> {
        match datum {
            Datum::Bytes(bytes) if self == StorageKind::PaddedText => {
                let length = bytes.len() - bytes.iter().rev().take_while(|byte| **byte == b' ').count();
                key.push_datum(Datum::Bytes(&bytes[..length]), descending, nulls_first);
            }
            Datum::Bytes(_) if !self.has_plain_key() => {
                return self.push_value_key(&self.read(datum)?, descending, nulls_first, key);
            }
            plain => key.push_datum(plain, descending, nulls_first),
        }
        Ok(())
    }

    /// Appends the key of a value: the same bytes as for its stored datum.
    #[inline]
    pub fn push_value_key(self, value: &Value, descending: bool, nulls_first: bool, key: &mut KeyBuffer) -> Result<()> {
        let datum = match value {
            Value::Int4(value) => Datum::I32(*value),
            Value::Int8(value) => Datum::I64(*value),
            Value::Text(text) if self == StorageKind::PaddedText => Datum::Bytes(without_padding(text).as_bytes()),
            Value::Text(text) if self == StorageKind::Network => {
                let mut ordered = Vec::new();
                network::write_key(text, &mut ordered);
                push_ordered_key(&ordered, descending, key);
                return Ok(());
            }
            Value::Numeric(_)
            | Value::Interval(_)
            | Value::TimeTz(_)
            | Value::Jsonb(_)
            | Value::Bits(_)
            | Value::Array(_)
            | Value::Record(_) => {
                let mut ordered = Vec::new();
                packed::write_ordered(value, &mut ordered);
                push_ordered_key(&ordered, descending, key);
                return Ok(());
            }
            // everything else needs no arena
            other => return self.push_plain_key(other, descending, nulls_first, key),
        };
        key.push_datum(datum, descending, nulls_first);
        Ok(())
    }

    fn push_plain_key(self, value: &Value, descending: bool, nulls_first: bool, key: &mut KeyBuffer) -> Result<()> {
        // an empty arena allocates nothing until it is used
        let arena = Bump::new();
        key.push_datum(self.write(value, &arena), descending, nulls_first);
        Ok(())
    }
}

#[cold]
fn damaged() -> Error {
    Error::corrupted("stored value doesn't have its column's type")
}

fn push_ordered_key(ordered: &[u8], descending: bool, key: &mut KeyBuffer) {
    if descending {
        key.push_descending(|key| key.push_ordered(ordered));
    } else {
        key.push_ordered(ordered);
    }
}
