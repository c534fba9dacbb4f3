//! The hash functions of PostgreSQL's operator classes, which applications call to spread rows and to name advisory locks:
//! `pg_advisory_lock(hashtext('name'))`. Clients of both servers must come to the same numbers, so these are Bob Jenkins'
//! hash with PostgreSQL's start values and its way with the last bytes.

use base::{Error, Oid, Result, sqlstate};

use super::{FunctionDef, mismatch};
use crate::compare::{interval_span, without_padding};
use crate::context::BuiltinCatalog;
use crate::network;
use crate::oids::*;
use crate::type_name::format_type_name;
use crate::value::Value;

/// Three words that are mixed.
struct State {
    a: u32,
    b: u32,
    c: u32,
}

impl State {
    /// For a key of so many bytes.
    fn new(length: u32, seed: u64) -> State {
        let start = 0x9e37_79b9_u32.wrapping_add(length).wrapping_add(3_923_095);
        let mut state = State { a: start, b: start, c: start };
        if seed != 0 {
            state.add((seed >> 32) as u32, seed as u32, 0);
            state.mix();
        }
        state
    }

    fn add(&mut self, a: u32, b: u32, c: u32) {
        self.a = self.a.wrapping_add(a);
        self.b = self.b.wrapping_add(b);
        self.c = self.c.wrapping_add(c);
    }

    fn mix(&mut self) {
        let State { a, b, c } = self;
        for (first, second) in [(4, 6), (8, 16), (19, 4)] {
            *a = a.wrapping_sub(*c) ^ c.rotate_left(first);
            *c = c.wrapping_add(*b);
            *b = b.wrapping_sub(*a) ^ a.rotate_left(second);
            *a = a.wrapping_add(*c);
            // The three words change places from step to step.
            (*a, *b, *c) = (*c, *a, *b);
        }
    }

    /// The hash: the low half is that of 32 bits.
    fn finish(mut self) -> u64 {
        let State { a, b, c } = &mut self;
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(14));
        *a = (*a ^ *c).wrapping_sub(c.rotate_left(11));
        *b = (*b ^ *a).wrapping_sub(a.rotate_left(25));
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(16));
        *a = (*a ^ *c).wrapping_sub(c.rotate_left(4));
        *b = (*b ^ *a).wrapping_sub(a.rotate_left(14));
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(24));
        u64::from(*b) << 32 | u64::from(*c)
    }
}

fn hash_bytes(key: &[u8], seed: u64) -> u64 {
    let mut state = State::new(key.len() as u32, seed);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
    let mut blocks = key.chunks_exact(12);
    for block in &mut blocks {
        state.add(word(&block[..4]), word(&block[4..8]), word(&block[8..]));
        state.mix();
    }
    let rest = blocks.remainder();
    let part = |from: usize| word(&rest[from.min(rest.len())..(from + 4).min(rest.len())]);
    // The lowest byte of the third word is kept for the length.
    state.add(part(0), part(4), part(8) << 8);
    state.finish()
}

fn hash_word(key: u32, seed: u64) -> u64 {
    let mut state = State::new(4, seed);
    state.add(key, 0, 0);
    state.finish()
}

/// Numbers that fit into fewer bits hash as those of that type do.
fn hash_int8(value: i64, seed: u64) -> u64 {
    let (low, high) = (value as u32, (value >> 32) as u32);
    hash_word(low ^ if value >= 0 { high } else { !high }, seed)
}

fn hash_float(value: f64, seed: u64) -> u64 {
    match value {
        // Both zeros are equal.
        0.0 => seed,
        value if value.is_nan() => hash_bytes(&0x7ff8_0000_0000_0000_u64.to_le_bytes(), seed),
        value => hash_bytes(&value.to_le_bytes(), seed),
    }
}

/// The hash of a value of type `oid`. 42883
fn hash(value: &Value, oid: Oid, seed: u64) -> Result<u64> {
    Ok(match value {
        Value::Bool(value) => hash_word(u32::from(*value), seed),
        Value::Char(value) => hash_word(i32::from(*value as i8) as u32, seed),
        Value::Int2(value) => hash_word(i32::from(*value) as u32, seed),
        Value::Int4(value) | Value::Date(value) => hash_word(*value as u32, seed),
        Value::Int8(value) | Value::Time(value) | Value::Timestamp(value) | Value::TimestampTz(value) => {
            hash_int8(*value, seed)
        }
        Value::Oid(value) => hash_word(*value, seed),
        Value::Float4(value) => hash_float(f64::from(*value), seed),
        Value::Float8(value) => hash_float(*value, seed),
        Value::Interval(value) => hash_int8(interval_span(value) as i64, seed),
        Value::Uuid(value) => hash_bytes(value, seed),
        Value::MacAddr(value) => hash_bytes(value, seed),
        Value::MacAddr8(value) => hash_bytes(value, seed),
        Value::Bytea(value) => hash_bytes(value, seed),
        Value::Text(value) if oid == BPCHAR => hash_bytes(without_padding(value).as_bytes(), seed),
        Value::Text(value) if matches!(oid, TEXT | VARCHAR | NAME) => hash_bytes(value.as_bytes(), seed),
        Value::Text(text) if matches!(oid, INET | CIDR) => hash_bytes(&network_key(text)?, seed),
        Value::Array(array) => {
            let hashes = array.values.iter().map(|value| hash_or_zero(value, array.element, seed));
            hashes.collect::<Result<Vec<u64>>>()?.into_iter().fold(1, combined)
        }
        Value::Record(record) => {
            let fields = record.fields.iter().zip(&record.shape.fields);
            let hashes = fields.map(|(value, (_, ty))| hash_or_zero(value, ty.oid, seed));
            hashes.collect::<Result<Vec<u64>>>()?.into_iter().fold(0, combined)
        }
        _ => {
            let name = format_type_name(&BuiltinCatalog, oid);
            let message = format!("could not identify a hash function for type {name}");
            return Err(Error::new(sqlstate::UNDEFINED_FUNCTION, message));
        }
    })
}

/// The family, how long the prefix is, the address.
fn network_key(text: &str) -> Result<Vec<u8>> {
    let mut binary = Vec::with_capacity(20);
    network::write_binary(text, INET, &mut binary)?;
    // The binary form has two more bytes before the address.
    binary.drain(2..4);
    Ok(binary)
}

fn hash_or_zero(value: &Value, oid: Oid, seed: u64) -> Result<u64> {
    if value.is_null() { Ok(0) } else { hash(value, oid, seed) }
}

/// The hash of what came before and of one more part.
fn combined(sum: u64, hash: u64) -> u64 {
    (sum << 5).wrapping_sub(sum).wrapping_add(hash)
}

fn short(value: &Value, oid: Oid) -> Result<Value> {
    Ok(Value::Int4(hash(value, oid, 0)? as i32))
}

fn extended(arguments: &[Value], oid: Oid) -> Result<Value> {
    let [value, Value::Int8(seed)] = arguments else { return Err(mismatch(&arguments[0])) };
    Ok(Value::Int8(hash(value, oid, *seed as u64)? as i64))
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::plain(400, "hashtext", &[TEXT], INT4, |_, a| short(&a[0], TEXT)),
    FunctionDef::plain(448, "hashtextextended", &[TEXT, INT8], INT8, |_, a| extended(a, TEXT)),
    FunctionDef::plain(1080, "hashbpchar", &[BPCHAR], INT4, |_, a| short(&a[0], BPCHAR)),
    FunctionDef::plain(972, "hashbpcharextended", &[BPCHAR, INT8], INT8, |_, a| extended(a, BPCHAR)),
    FunctionDef::plain(455, "hashname", &[NAME], INT4, |_, a| short(&a[0], NAME)),
    FunctionDef::plain(447, "hashnameextended", &[NAME, INT8], INT8, |_, a| extended(a, NAME)),
    FunctionDef::plain(454, "hashchar", &[CHAR], INT4, |_, a| short(&a[0], CHAR)),
    FunctionDef::plain(446, "hashcharextended", &[CHAR, INT8], INT8, |_, a| extended(a, CHAR)),
    FunctionDef::plain(449, "hashint2", &[INT2], INT4, |_, a| short(&a[0], INT2)),
    FunctionDef::plain(441, "hashint2extended", &[INT2, INT8], INT8, |_, a| extended(a, INT2)),
    FunctionDef::plain(450, "hashint4", &[INT4], INT4, |_, a| short(&a[0], INT4)),
    FunctionDef::plain(425, "hashint4extended", &[INT4, INT8], INT8, |_, a| extended(a, INT4)),
    FunctionDef::plain(949, "hashint8", &[INT8], INT4, |_, a| short(&a[0], INT8)),
    FunctionDef::plain(442, "hashint8extended", &[INT8, INT8], INT8, |_, a| extended(a, INT8)),
    FunctionDef::plain(453, "hashoid", &[OID], INT4, |_, a| short(&a[0], OID)),
    FunctionDef::plain(445, "hashoidextended", &[OID, INT8], INT8, |_, a| extended(a, OID)),
    FunctionDef::plain(451, "hashfloat4", &[FLOAT4], INT4, |_, a| short(&a[0], FLOAT4)),
    FunctionDef::plain(443, "hashfloat4extended", &[FLOAT4, INT8], INT8, |_, a| extended(a, FLOAT4)),
    FunctionDef::plain(452, "hashfloat8", &[FLOAT8], INT4, |_, a| short(&a[0], FLOAT8)),
    FunctionDef::plain(444, "hashfloat8extended", &[FLOAT8, INT8], INT8, |_, a| extended(a, FLOAT8)),
    FunctionDef::plain(1688, "time_hash", &[TIME], INT4, |_, a| short(&a[0], TIME)),
    FunctionDef::plain(3409, "time_hash_extended", &[TIME, INT8], INT8, |_, a| extended(a, TIME)),
    FunctionDef::plain(2039, "timestamp_hash", &[TIMESTAMP], INT4, |_, a| short(&a[0], TIMESTAMP)),
    FunctionDef::plain(3411, "timestamp_hash_extended", &[TIMESTAMP, INT8], INT8, |_, a| extended(a, TIMESTAMP)),
    FunctionDef::plain(1697, "interval_hash", &[INTERVAL], INT4, |_, a| short(&a[0], INTERVAL)),
    FunctionDef::plain(3418, "interval_hash_extended", &[INTERVAL, INT8], INT8, |_, a| extended(a, INTERVAL)),
    FunctionDef::plain(2963, "uuid_hash", &[UUID], INT4, |_, a| short(&a[0], UUID)),
    FunctionDef::plain(3412, "uuid_hash_extended", &[UUID, INT8], INT8, |_, a| extended(a, UUID)),
    FunctionDef::plain(422, "hashinet", &[INET], INT4, |_, a| short(&a[0], INET)),
    FunctionDef::plain(779, "hashinetextended", &[INET, INT8], INT8, |_, a| extended(a, INET)),
    FunctionDef::plain(399, "hashmacaddr", &[MACADDR], INT4, |_, a| short(&a[0], MACADDR)),
    FunctionDef::plain(778, "hashmacaddrextended", &[MACADDR, INT8], INT8, |_, a| extended(a, MACADDR)),
    FunctionDef::plain(328, "hashmacaddr8", &[MACADDR8], INT4, |_, a| short(&a[0], MACADDR8)),
    FunctionDef::plain(781, "hashmacaddr8extended", &[MACADDR8, INT8], INT8, |_, a| extended(a, MACADDR8)),
    FunctionDef::plain(626, "hash_array", &[ANYARRAY], INT4, |_, a| short(&a[0], ANYARRAY)),
    FunctionDef::plain(782, "hash_array_extended", &[ANYARRAY, INT8], INT8, |_, a| extended(a, ANYARRAY)),
    FunctionDef::plain(6192, "hash_record", &[RECORD], INT4, |_, a| short(&a[0], RECORD)),
    FunctionDef::plain(6193, "hash_record_extended", &[RECORD, INT8], INT8, |_, a| extended(a, RECORD)),
];
