//! Rows kept in memory, and sets of rows that are equal by their types' own equality.

use std::hash::{BuildHasher, Hasher};

use base::{Oid, Result};
use hashbrown::HashTable;

use super::Run;
use super::evaluate::comparator_of;
use crate::types::{self, BuiltinCatalog, Comparator, SqlType, Value, oids};

/// A row kept in memory.
pub type Row = Box<[Value]>;

/// How rows are hashed and compared; NULLs are equal to each other.
pub enum RowEquality {
    /// By the columns' types.
    Typed(Vec<(Oid, Comparator)>),
    /// By what the values themselves are; all values of a column are of one type, or NULL.
    OfValues,
}

impl RowEquality {
    /// For rows whose values have these types.
    ///
    /// # Errors
    /// 42883 for a type that has no equality.
    pub fn new(columns: impl IntoIterator<Item = SqlType>, run: &Run<'_, '_>) -> Result<RowEquality> {
        let typed = |sql_type| {
            let base = types::base_type(&run.catalog, sql_type);
            Ok((base.oid, comparator_of(base, run)?))
        };
        columns.into_iter().map(typed).collect::<Result<_>>().map(RowEquality::Typed)
    }

    /// The hash of the values.
    pub fn hash(&self, row: &[Value]) -> u64 {
        let mut hasher = rustc_hash::FxBuildHasher.build_hasher();
        for (index, value) in row.iter().enumerate() {
            if value.is_null() {
                hasher.write_u8(0);
                continue;
            }
            let oid = match self {
                RowEquality::Typed(columns) => columns[index].0,
                RowEquality::OfValues => type_of(value),
            };
            types::hash_value(value, oid, &mut hasher);
        }
        hasher.finish()
    }

    /// Whether the rows are equal.
    pub fn equal(&self, left: &[Value], right: &[Value]) -> bool {
        left.iter().zip(right).enumerate().all(|(index, (left, right))| match (left.is_null(), right.is_null()) {
            (true, true) => true,
            (false, false) => match self {
                RowEquality::Typed(columns) => columns[index].1(left, right).is_eq(),
                RowEquality::OfValues => match types::comparator(type_of(left)) {
                    Some(compare) => compare(left, right).is_eq(),
                    None => left == right,
                },
            },
            _ => false,
        })
    }
}

/// A type whose equality is that of `value`.
pub(super) fn type_of(value: &Value) -> Oid {
    match value {
        Value::Bool(_) => oids::BOOL,
        Value::Int2(_) => oids::INT2,
        Value::Int4(_) => oids::INT4,
        Value::Int8(_) => oids::INT8,
        Value::Float4(_) => oids::FLOAT4,
        Value::Float8(_) => oids::FLOAT8,
        Value::Numeric(_) => oids::NUMERIC,
        Value::Null | Value::Void | Value::Text(_) => oids::TEXT,
        Value::Bytea(_) => oids::BYTEA,
        Value::Date(_) => oids::DATE,
        Value::Time(_) => oids::TIME,
        Value::TimeTz(_) => oids::TIMETZ,
        Value::Timestamp(_) => oids::TIMESTAMP,
        Value::TimestampTz(_) => oids::TIMESTAMPTZ,
        Value::Interval(_) => oids::INTERVAL,
        Value::Uuid(_) => oids::UUID,
        Value::Oid(_) => oids::OID,
        Value::Char(_) => oids::CHAR,
        Value::Tid(_) => oids::TID,
        Value::Xid(_) => oids::XID8,
        Value::PgLsn(_) => oids::PG_LSN,
        Value::Jsonb(_) => oids::JSONB,
        Value::Enum(label) => label.type_oid,
        Value::Array(array) => types::array_type(&BuiltinCatalog, array.element).unwrap_or(oids::RECORD),
        Value::Record(_) => oids::RECORD,
    }
}

/// Distinct rows, each with something that belongs to it.
pub struct RowMap<T> {
    entries: Vec<(Row, T)>,
    table: HashTable<usize>,
}

impl<T> Default for RowMap<T> {
    fn default() -> Self {
        RowMap { entries: Vec::new(), table: HashTable::new() }
    }
}

impl<T> RowMap<T> {
    /// What belongs to `row`; `make` makes it if the row is new.
    pub fn entry(&mut self, row: &[Value], equality: &RowEquality, make: impl FnOnce() -> T) -> &mut T {
        let hash = equality.hash(row);
        let found = self.table.find(hash, |index| equality.equal(&self.entries[*index].0, row)).copied();
        let index = found.unwrap_or_else(|| {
            self.entries.push((row.into(), make()));
            let index = self.entries.len() - 1;
            let entries = &self.entries;
            self.table.insert_unique(hash, index, |index| equality.hash(&entries[*index].0));
            index
        });
        &mut self.entries[index].1
    }

    /// What belongs to `row`, if it is there.
    pub fn get(&self, row: &[Value], equality: &RowEquality) -> Option<&T> {
        let hash = equality.hash(row);
        let index = self.table.find(hash, |index| equality.equal(&self.entries[*index].0, row))?;
        Some(&self.entries[*index].1)
    }

    /// The rows in the order they came.
    pub fn into_entries(self) -> Vec<(Row, T)> {
        self.entries
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}

/// Distinct rows.
#[derive(Default)]
pub struct RowSet(RowMap<()>);

impl RowSet {
    /// Adds `row`; whether it is new.
    pub fn insert(&mut self, row: &[Value], equality: &RowEquality) -> bool {
        let before = self.0.len();
        self.0.entry(row, equality, || ());
        self.0.len() > before
    }

    /// Whether `row` is there.
    pub fn contains(&self, row: &[Value], equality: &RowEquality) -> bool {
        self.0.get(row, equality).is_some()
    }
}
