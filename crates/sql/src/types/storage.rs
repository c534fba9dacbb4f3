//! How values lie in rows and in index keys.

use base::{Oid, Result};
use bumpalo::Bump;
use engine::key::KeyBuffer;
use engine::row::{Datum, PhysicalType};

use super::context::CatalogLookup;
use super::oids;
use super::type_table::{TypeKind, type_shape};
use super::value::{EnumValue, SmolStr, Value};

/// How values of a type are stored in rows. Domains are stored as their base type.
pub fn physical_type(catalog: &dyn CatalogLookup, oid: Oid) -> PhysicalType {
    match StorageKind::of(catalog, oid) {
        StorageKind::Bool => PhysicalType::Bool,
        StorageKind::Int2 | StorageKind::Char => PhysicalType::I16,
        StorageKind::Int4 | StorageKind::Date => PhysicalType::I32,
        StorageKind::Int8
        | StorageKind::Time
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
    /// The kind for a type; domains are looked through. Unknown types count as text.
    pub fn of(catalog: &dyn CatalogLookup, oid: Oid) -> StorageKind {
        match oid {
            oids::BOOL => StorageKind::Bool,
            oids::INT2 => StorageKind::Int2,
            oids::INT4 => StorageKind::Int4,
            oids::INT8 => StorageKind::Int8,
            oids::FLOAT4 => StorageKind::Float4,
            oids::FLOAT8 => StorageKind::Float8,
            oids::TEXT | oids::VARCHAR | oids::NAME | oids::JSON | oids::UNKNOWN | oids::CSTRING => StorageKind::Text,
            oids::BPCHAR => StorageKind::PaddedText,
            oids::BYTEA => StorageKind::Bytea,
            oids::DATE => StorageKind::Date,
            oids::TIME => StorageKind::Time,
            oids::TIMESTAMP => StorageKind::Timestamp,
            oids::TIMESTAMPTZ => StorageKind::TimestampTz,
            oids::TIMETZ => StorageKind::TimeTz,
            oids::INTERVAL => StorageKind::Interval,
            oids::NUMERIC => StorageKind::Numeric,
            oids::UUID => StorageKind::Uuid,
            oids::JSONB => StorageKind::Jsonb,
            oids::XID | oids::XID8 | oids::CID => StorageKind::Xid,
            oids::PG_LSN => StorageKind::PgLsn,
            oids::TID => StorageKind::Tid,
            oids::CHAR => StorageKind::Char,
            oids::RECORD => StorageKind::Record(oid),
            oids::OID
            | oids::REGCLASS
            | oids::REGTYPE
            | oids::REGPROC
            | oids::REGPROCEDURE
            | oids::REGOPER
            | oids::REGOPERATOR
            | oids::REGNAMESPACE
            | oids::REGROLE
            | oids::REGCOLLATION
            | oids::REGCONFIG
            | oids::REGDICTIONARY => StorageKind::Oid,
            oids::INT2VECTOR => StorageKind::Array(oids::INT2),
            oids::OIDVECTOR => StorageKind::Array(oids::OID),
            _ => match type_shape(catalog, oid).map(|shape| shape.kind) {
                Some(TypeKind::Array(element)) => StorageKind::Array(element),
                Some(TypeKind::Domain(base)) => StorageKind::of(catalog, base.oid),
                Some(TypeKind::Enum) => StorageKind::Enum(oid),
                Some(TypeKind::Composite) => StorageKind::Record(oid),
                _ => StorageKind::Text,
            },
        }
    }

    /// The value that a row's datum stands for. No allocation for fixed widths and strings up to 23 bytes.
    #[inline]
    pub fn read(self, _datum: Datum<'_>) -> Result<Value> {
        todo!()
    }

    /// The datum to store for `value`; what needs encoding is encoded into `arena`.
    #[inline]
    pub fn write<'a>(self, _value: &'a Value, _arena: &'a Bump) -> Datum<'a> {
        todo!()
    }

    /// Appends the key of a stored datum: its `memcmp` order is the type's order.
    #[inline]
    pub fn push_datum_key(
        self,
        _datum: Datum<'_>,
        _descending: bool,
        _nulls_first: bool,
        _key: &mut KeyBuffer,
    ) -> Result<()> {
        todo!()
    }

    /// Appends the key of a value: the same bytes as for its stored datum.
    #[inline]
    pub fn push_value_key(
        self,
        _value: &Value,
        _descending: bool,
        _nulls_first: bool,
        _key: &mut KeyBuffer,
    ) -> Result<()> {
        todo!()
    }
}

const _: fn(SmolStr, EnumValue) = |_, _| ();
