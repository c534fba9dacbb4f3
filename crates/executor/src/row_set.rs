//! Rows kept in memory, and sets of rows that are equal by their types' own equality.

use std::hash::{BuildHasher, Hasher};

use base::{Error, Oid, Result, sqlstate};
use hashbrown::HashTable;
use types::{BuiltinCatalog, Comparator, SqlType, Value, oids};

use crate::Run;

/// A row kept in memory.
pub type Row = Box<[Value]>;

/// Rows of one width kept in memory, one behind the other.
#[derive(Default)]
pub struct Rows {
    width: usize,
    count: usize,
    values: Vec<Value>,
    heap_bytes: usize,
}

impl Rows {
    /// Adds a row; all have the width of the first.
    #[inline]
    pub fn push(&mut self, row: &[Value]) {
        self.push_parts(row, &[]);
    }

    /// Adds a row that comes in two parts.
    #[inline]
    pub fn push_parts(&mut self, row: &[Value], rest: &[Value]) {
        if self.count == 0 {
            self.width = row.len() + rest.len();
        }
        debug_assert_eq!(self.width, row.len() + rest.len());
        self.heap_bytes += row.iter().chain(rest).map(Value::heap_bytes).sum::<usize>();
        self.values.extend_from_slice(row);
        self.values.extend_from_slice(rest);
        self.count += 1;
    }

    /// The row with this number.
    #[inline]
    pub fn get(&self, index: usize) -> &[Value] {
        &self.values[index * self.width..(index + 1) * self.width]
    }

    /// Takes the row with this number out and leaves NULLs.
    #[inline]
    pub fn take_into(&mut self, index: usize, out: &mut Vec<Value>) {
        out.clear();
        let values = &mut self.values[index * self.width..(index + 1) * self.width];
        out.extend(values.iter_mut().map(std::mem::take));
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Memory they take, roughly.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.values.len() * size_of::<Value>() + self.heap_bytes
    }

    /// Forgets them all, and keeps the room they had.
    pub fn clear(&mut self) {
        self.values.clear();
        self.count = 0;
        self.heap_bytes = 0;
    }
}

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
            let equality = types::equality(base.oid).ok_or_else(|| {
                let name = types::format_type_name(&run.catalog, base.oid);
                let message = format!("could not identify an equality operator for type {name}");
                Error::new(sqlstate::UNDEFINED_FUNCTION, message)
            })?;
            Ok((base.oid, equality))
        };
        columns.into_iter().map(typed).collect::<Result<_>>().map(RowEquality::Typed)
    }

    /// How many values, the first ones of a row, are compared.
    #[inline]
    fn width(&self) -> usize {
        match self {
            RowEquality::Typed(columns) => columns.len(),
            RowEquality::OfValues => usize::MAX,
        }
    }

    /// The hash of the values.
    #[inline]
    pub fn hash(&self, row: &[Value]) -> u64 {
        self.hash_of(row.iter())
    }

    /// The hash of a row's values.
    #[inline]
    pub fn hash_of<'v>(&self, row: impl Iterator<Item = &'v Value>) -> u64 {
        let mut hasher = rustc_hash::FxBuildHasher.build_hasher();
        for (index, value) in row.enumerate() {
            match value {
                Value::Int4(value) => hasher.write_i64(i64::from(*value)),
                Value::Int8(value) => hasher.write_i64(*value),
                Value::Null => hasher.write_u8(0),
                value => {
                    let oid = match self {
                        RowEquality::Typed(columns) => columns[index].0,
                        RowEquality::OfValues => type_of(value),
                    };
                    types::hash_value(value, oid, &mut hasher);
                }
            }
        }
        hasher.finish()
    }

    /// Whether the rows are equal.
    #[inline]
    pub fn equal(&self, left: &[Value], right: &[Value]) -> bool {
        self.equal_of(left.iter(), right.iter())
    }

    /// Whether two rows' values are equal.
    #[inline]
    pub fn equal_of<'v>(&self, left: impl Iterator<Item = &'v Value>, right: impl Iterator<Item = &'v Value>) -> bool {
        left.zip(right).take(self.width()).enumerate().all(|(index, pair)| match pair {
            (Value::Int4(left), Value::Int4(right)) => left == right,
            (Value::Int8(left), Value::Int8(right)) => left == right,
            (Value::Null, Value::Null) => true,
            (Value::Null, _) | (_, Value::Null) => false,
            // Joins across widths meet.
            (left @ (Value::Int2(_) | Value::Int4(_) | Value::Int8(_)), right) => left.as_i64() == right.as_i64(),
            (left, right) => self.equal_values(index, left, right),
        })
    }

    fn equal_values(&self, index: usize, left: &Value, right: &Value) -> bool {
        match self {
            RowEquality::Typed(columns) => columns[index].1(left, right).is_eq(),
            RowEquality::OfValues => match types::equality(type_of(left)) {
                Some(compare) => compare(left, right).is_eq(),
                None => left == right,
            },
        }
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
        Value::Money(_) => oids::MONEY,
        Value::Bits(_) => oids::VARBIT,
        Value::MacAddr(_) => oids::MACADDR,
        Value::MacAddr8(_) => oids::MACADDR8,
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

/// Distinct rows, each with something that belongs to it. Rows have numbers from 0, in the order they came.
pub struct RowMap<T> {
    rows: Rows,
    entries: Vec<T>,
    /// Hashes and numbers.
    table: HashTable<(u64, u32)>,
}

impl<T> Default for RowMap<T> {
    fn default() -> Self {
        RowMap { rows: Rows::default(), entries: Vec::new(), table: HashTable::new() }
    }
}

impl<T> RowMap<T> {
    /// The number of `row`, if it is there.
    #[inline]
    pub fn find(&self, row: &[Value], hash: u64, equality: &RowEquality) -> Option<usize> {
        let same = |found: &(u64, u32)| found.0 == hash && equality.equal(self.rows.get(found.1 as usize), row);
        self.table.find(hash, same).map(|found| found.1 as usize)
    }

    /// Adds a row that is not there; its number.
    pub fn add(&mut self, row: &[Value], hash: u64, entry: T) -> usize {
        let index = self.rows.len();
        self.rows.push(row);
        self.entries.push(entry);
        let number = u32::try_from(index).expect("memory holds fewer than 2^32 rows");
        self.table.insert_unique(hash, (hash, number), |found| found.0);
        index
    }

    /// The entry of the row with this number.
    pub fn entry_at(&mut self, index: usize) -> &mut T {
        &mut self.entries[index]
    }

    /// The entry of `row`; `make` makes it if the row is new.
    pub fn entry(&mut self, row: &[Value], equality: &RowEquality, make: impl FnOnce() -> T) -> &mut T {
        let hash = equality.hash(row);
        let index = match self.find(row, hash, equality) {
            Some(index) => index,
            None => self.add(row, hash, make()),
        };
        &mut self.entries[index]
    }

    /// The row with this number.
    pub fn row(&self, index: usize) -> &[Value] {
        self.rows.get(index)
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Memory the rows and their places take, roughly, without what belongs to them.
    pub fn bytes(&self) -> usize {
        self.rows.bytes() + self.table.capacity() * (size_of::<(u64, u32)>() + 1)
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
        self.0.find(row, equality.hash(row), equality).is_some()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The rows in the order they came.
    pub fn rows(&self) -> impl Iterator<Item = &[Value]> {
        (0..self.0.len()).map(|index| self.0.row(index))
    }

    /// Memory it takes, roughly.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }
}
