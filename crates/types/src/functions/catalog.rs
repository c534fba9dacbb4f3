//! Types, sizes, names of objects, enums and window functions: what has no subject of its own.

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};

use super::{FunctionDef, mismatch};
use crate::compare::{compare_padded, compare_values};
use crate::context::{EnumLabel, EvalContext};
use crate::datetime::abbreviations::{ABBREVIATIONS, Abbreviation};
use crate::datetime::calendar::SECOND;
use crate::datetime::{self, TimeZone};
use crate::function_def::{CallTypes, ReadyRows, ValueStream, WindowFunction};
use crate::numeric::Numeric;
use crate::oids::*;
use crate::reg_types::{parse_reg, parse_reg_name};
use crate::text_io::refuse_new_label;
use crate::type_name::{self, enum_labels, format_type_name};
use crate::type_table::{SqlType, builtin_type};
use crate::value::{EnumValue, Interval, RecordShape, RecordValue, Value};

fn suppress_redundant_updates(_: &mut dyn EvalContext, _: &[Value]) -> Result<Value> {
    let message = "suppress_redundant_updates_trigger: must be called as trigger";
    Err(Error::new(sqlstate::TRIGGER_PROTOCOL_VIOLATED, message))
}

fn format_type(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let Value::Oid(oid) = a[0] else { return Ok(Value::Null) };
    let name = match a[1] {
        Value::Int4(typmod) => type_name::format_type(context.catalog(), SqlType::with_typmod(Oid(oid), typmod)),
        _ => format_type_name(context.catalog(), Oid(oid)),
    };
    Ok(Value::from(name))
}

/// Bytes in a unit that leaves at most five digits. Every step keeps one bit more than wanted, for rounding.
fn size_pretty(bytes: i128) -> String {
    const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];
    let mut size = bytes;
    for (index, unit) in UNITS.iter().enumerate() {
        let limit = if index == 0 { 10 * 1024 } else { 20 * 1024 - 1 };
        if size.abs() < limit || index + 1 == UNITS.len() {
            let rounded = if index == 0 { size } else { (size + size.signum()) / 2 };
            return format!("{rounded} {unit}");
        }
        size /= if index == 0 { 1 << 9 } else { 1 << 10 };
    }
    String::new()
}

fn size_pretty_numeric(bytes: &Numeric) -> Result<Value> {
    if bytes.scale().is_none() {
        return Ok(Value::from(format!("{bytes} PB")));
    }
    match bytes.to_i128_at(0) {
        Some(size) if bytes.scale() == Some(0) => Ok(Value::from(size_pretty(size))),
        _ if bytes.abs().compare(&Numeric::from(10_240)).is_lt() => Ok(Value::from(format!("{bytes} bytes"))),
        _ => {
            let rounded = bytes.truncate(0)?;
            Ok(rounded.to_i128_at(0).map(size_pretty).into())
        }
    }
}

/// How many bytes at the beginning of a text are a number. An E is part of it only in front of digits.
fn length_of_number(text: &[u8]) -> usize {
    let digits = |from: usize| text.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let sign = |from: usize| usize::from(matches!(text.get(from), Some(b'+' | b'-')));
    let mut end = sign(0);
    end += digits(end);
    if text.get(end) == Some(&b'.') {
        end += 1 + digits(end + 1);
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let exponent = end + 1 + sign(end + 1);
        if digits(exponent) > 0 {
            end = exponent + digits(exponent);
        }
    }
    end
}

/// `10 MB` in bytes. 22023.
fn size_bytes(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    take!(a; Text text);
    let invalid = || Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("invalid size: \"{text}\""));
    let trimmed = text.trim();
    let number = &trimmed[..length_of_number(trimmed.as_bytes())];
    let unit = trimmed[number.len()..].trim();
    let mut size = Numeric::parse(number).map_err(|_| invalid())?;
    let bits = match unit.to_ascii_lowercase().as_str() {
        "" | "b" | "bytes" => 0,
        "kb" => 10,
        "mb" => 20,
        "gb" => 30,
        "tb" => 40,
        "pb" => 50,
        _ => {
            return Err(invalid()
                .detail(format!("Invalid size unit: \"{unit}\"."))
                .hint("Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\"."));
        }
    };
    size = size.multiply(&Numeric::from(1_i64 << bits))?;
    Ok(Value::Int8(size.to_integer("bigint", i64::MIN..=i64::MAX)?))
}

fn count_nulls(a: &[Value], nulls: bool) -> Result<Value> {
    let mut count = 0;
    for value in a {
        sync::yield_point()?;
        count += i32::from(value.is_null() == nulls);
    }
    Ok(Value::Int4(count))
}

/// The object text names, NULL if there is none; a number is not a name.
fn to_reg(context: &mut dyn EvalContext, a: &[Value], oid: Oid) -> Result<Value> {
    take!(a; Text text);
    if text.bytes().all(|byte| byte.is_ascii_digit()) || text == "-" {
        return Ok(Value::Null);
    }
    match parse_reg(context.catalog(), text, oid) {
        Ok(found) => Ok(Value::Oid(found)),
        Err(error)
            if matches!(error.sqlstate().class(), "42" | "3F")
                && error.sqlstate() != sqlstate::INSUFFICIENT_PRIVILEGE
                && error.sqlstate() != sqlstate::SYNTAX_ERROR
                && error.sqlstate() != sqlstate::INVALID_NAME =>
        {
            Ok(Value::Null)
        }
        Err(error) => Err(error),
    }
}

/// The bytes a value takes, about as PostgreSQL counts them.
fn column_size(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let header = |bytes: usize| bytes + if bytes < 127 { 1 } else { 4 };
    Ok(Value::Int4(match &a[0] {
        Value::Bool(_) | Value::Char(_) => 1,
        Value::Int2(_) => 2,
        Value::Int4(_) | Value::Float4(_) | Value::Date(_) | Value::Oid(_) => 4,
        Value::Int8(_) | Value::Float8(_) | Value::Time(_) | Value::Timestamp(_) | Value::TimestampTz(_) => 8,
        Value::MacAddr(_) => 6,
        Value::MacAddr8(_) | Value::Money(_) => 8,
        Value::TimeTz(_) => 12,
        Value::Interval(_) | Value::Uuid(_) => 16,
        Value::Text(text) => header(text.len()) as i32,
        Value::Bytea(bytes) => header(bytes.len()) as i32,
        Value::Bits(bits) => header(bits.bytes().len() + 4) as i32,
        other => header(other.heap_bytes().max(8)) as i32,
    }))
}

fn collation_for(context: &mut dyn EvalContext, types: &CallTypes, _: &[Value]) -> Result<Value> {
    let oid = types.arguments.first().map_or(UNKNOWN, |ty| ty.oid);
    match builtin_type(oid).map(|def| def.collation.0) {
        Some(100) => Ok(Value::from("\"default\"")),
        Some(950) => Ok(Value::from("\"C\"")),
        _ if oid == UNKNOWN => Ok(Value::Null),
        _ => Err(Error::new(
            sqlstate::DATATYPE_MISMATCH,
            format!("collations are not supported by type {}", format_type_name(context.catalog(), oid)),
        )),
    }
}

fn vector_types(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    take!(a; Array array);
    let names: Vec<String> = array
        .values
        .iter()
        .filter_map(Value::as_i64)
        .map(|oid| format_type_name(context.catalog(), Oid(oid as u32)))
        .collect();
    Ok(Value::from(names.join(", ")))
}

/// An enum type, by the type of a function's argument, and its labels.
fn enum_of(context: &dyn EvalContext, types: &CallTypes) -> Result<(Oid, Vec<EnumLabel>)> {
    let oid = types.arguments.first().map_or(UNKNOWN, |ty| ty.oid);
    let labels = enum_labels(context.catalog(), oid)
        .ok_or_else(|| Error::unsupported("could not determine actual enum type"))?;
    Ok((oid, labels))
}

fn enum_end(context: &mut dyn EvalContext, types: &CallTypes, last: bool) -> Result<Value> {
    let (type_oid, labels) = enum_of(context, types)?;
    let Some(label) = (if last { labels.last() } else { labels.first() }) else { return Ok(Value::Null) };
    refuse_new_label(context, type_oid, label)?;
    Ok(Value::Enum(EnumValue { type_oid, key: label.key }))
}

fn enum_range(context: &mut dyn EvalContext, types: &CallTypes, a: &[Value]) -> Result<Value> {
    let (type_oid, labels) = enum_of(context, types)?;
    let key = |value: Option<&Value>| match value {
        Some(Value::Enum(value)) => Some(value.key),
        _ => None,
    };
    let (from, to) = if a.len() == 2 { (key(a.first()), key(a.get(1))) } else { (None, None) };
    let is_within =
        |label: &&EnumLabel| from.is_none_or(|from| label.key >= from) && to.is_none_or(|to| label.key <= to);
    let mut values = Vec::new();
    for label in labels.iter().filter(is_within) {
        refuse_new_label(context, type_oid, label)?;
        values.push(Value::Enum(EnumValue { type_oid, key: label.key }));
    }
    Ok(Value::array(type_oid, values))
}

fn record(columns: &[(&str, Oid)], fields: Vec<Value>) -> Value {
    let names = columns.iter().map(|(name, oid)| ((*name).to_owned(), SqlType::new(*oid)));
    let shape = RecordShape::without_type(names.collect());
    Value::Record(Arc::new(RecordValue { shape: Arc::new(shape), fields }))
}

fn keywords(_: &mut dyn EvalContext, _: &CallTypes, _: &[Value]) -> Result<Box<dyn ValueStream>> {
    const COLUMNS: [(&str, Oid); 5] =
        [("word", TEXT), ("catcode", CHAR), ("barelabel", BOOL), ("catdesc", TEXT), ("baredesc", TEXT)];
    let rows = crate::keywords::all()
        .map(|(word, category, bare)| {
            let description = match category {
                b'R' => "reserved",
                b'T' => "reserved (can be function or type name)",
                b'C' => "unreserved (cannot be function or type name)",
                _ => "unreserved",
            };
            let fields = vec![
                Value::from(word),
                Value::Char(category),
                Value::Bool(bare),
                Value::from(description),
                Value::from(if bare { "can be bare label" } else { "requires AS" }),
            ];
            record(&COLUMNS, fields)
        })
        .collect();
    Ok(ReadyRows::boxed(rows))
}

fn offset_interval(seconds: i32) -> Value {
    Value::Interval(Interval { micros: i64::from(seconds) * SECOND, ..Interval::default() })
}

fn zone_abbreviations(_: &mut dyn EvalContext, _: &CallTypes, _: &[Value]) -> Result<Box<dyn ValueStream>> {
    const COLUMNS: [(&str, Oid); 3] = [("abbrev", TEXT), ("utc_offset", INTERVAL), ("is_dst", BOOL)];
    let now = datetime::clock_micros();
    let rows = ABBREVIATIONS
        .iter()
        .filter_map(|(name, meaning)| {
            let (seconds, daylight) = match meaning {
                Abbreviation::Standard(seconds) => (*seconds, false),
                Abbreviation::Daylight(seconds) => (*seconds, true),
                Abbreviation::Zone(zone) => {
                    let offset = TimeZone::abbreviated(zone, name)?.offset_at(now);
                    (offset.seconds, offset.daylight)
                }
            };
            let fields = vec![Value::from(name.to_ascii_uppercase()), offset_interval(seconds), Value::Bool(daylight)];
            Some(record(&COLUMNS, fields))
        })
        .collect();
    Ok(ReadyRows::boxed(rows))
}

/// Other names of encodings, without punctuation and in lower case, with the names that [`ENCODINGS`] has for them.
const ENCODING_ALIASES: [(&str, &str); 40] = [
    ("abc", "WIN1258"),
    ("alt", "WIN866"),
    ("iso88591", "LATIN1"),
    ("iso885910", "LATIN6"),
    ("iso885913", "LATIN7"),
    ("iso885914", "LATIN8"),
    ("iso885915", "LATIN9"),
    ("iso885916", "LATIN10"),
    ("iso88592", "LATIN2"),
    ("iso88593", "LATIN3"),
    ("iso88594", "LATIN4"),
    ("iso88599", "LATIN5"),
    ("koi8", "KOI8R"),
    ("mskanji", "SJIS"),
    ("shiftjis", "SJIS"),
    ("shiftjis2004", "SHIFT_JIS_2004"),
    ("tcvn", "WIN1258"),
    ("tcvn5712", "WIN1258"),
    ("unicode", "UTF8"),
    ("vscii", "WIN1258"),
    ("win", "WIN1251"),
    ("win932", "SJIS"),
    ("win936", "GBK"),
    ("win949", "UHC"),
    ("win950", "BIG5"),
    ("windows1250", "WIN1250"),
    ("windows1251", "WIN1251"),
    ("windows1252", "WIN1252"),
    ("windows1253", "WIN1253"),
    ("windows1254", "WIN1254"),
    ("windows1255", "WIN1255"),
    ("windows1256", "WIN1256"),
    ("windows1257", "WIN1257"),
    ("windows1258", "WIN1258"),
    ("windows866", "WIN866"),
    ("windows874", "WIN874"),
    ("windows932", "SJIS"),
    ("windows936", "GBK"),
    ("windows949", "UHC"),
    ("windows950", "BIG5"),
];

/// The number of the encoding that a name stands for, -1 if it is none. Case and punctuation don't count.
fn encoding_named(name: &str) -> i32 {
    let letters = |name: &str| -> String {
        name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let wanted = letters(name);
    let alias = ENCODING_ALIASES.iter().find(|(alias, _)| *alias == wanted).map(|(_, encoding)| letters(encoding));
    let wanted = alias.unwrap_or(wanted);
    let place = ENCODINGS.iter().position(|encoding| letters(encoding) == wanted);
    place.and_then(|place| i32::try_from(place).ok()).unwrap_or(-1)
}

/// The names of PostgreSQL's encodings, by number.
const ENCODINGS: [&str; 42] = [
    "SQL_ASCII",
    "EUC_JP",
    "EUC_CN",
    "EUC_KR",
    "EUC_TW",
    "EUC_JIS_2004",
    "UTF8",
    "MULE_INTERNAL",
    "LATIN1",
    "LATIN2",
    "LATIN3",
    "LATIN4",
    "LATIN5",
    "LATIN6",
    "LATIN7",
    "LATIN8",
    "LATIN9",
    "LATIN10",
    "WIN1256",
    "WIN1258",
    "WIN866",
    "WIN874",
    "KOI8R",
    "WIN1251",
    "WIN1252",
    "ISO_8859_5",
    "ISO_8859_6",
    "ISO_8859_7",
    "ISO_8859_8",
    "WIN1250",
    "WIN1253",
    "WIN1254",
    "WIN1255",
    "WIN1257",
    "KOI8U",
    "SJIS",
    "BIG5",
    "GBK",
    "UHC",
    "GB18030",
    "JOHAB",
    "SHIFT_JIS_2004",
];

#[cold]
fn null_element() -> Error {
    Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "null array element not allowed in this context")
}

/// `name=value` after `name=value`, as storage parameters are kept.
fn options_to_table(_: &mut dyn EvalContext, _: &CallTypes, args: &[Value]) -> Result<Box<dyn ValueStream>> {
    const COLUMNS: [(&str, Oid); 2] = [("option_name", TEXT), ("option_value", TEXT)];
    let Value::Array(options) = &args[0] else { return Ok(ReadyRows::boxed(Vec::new())) };
    let rows = options.values.iter().map(|option| match option {
        Value::Text(option) => {
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, Value::text(value)),
                None => (option.as_str(), Value::Null),
            };
            Ok(record(&COLUMNS, vec![Value::text(name), value]))
        }
        _ => Err(null_element()),
    });
    Ok(ReadyRows::boxed(rows.collect::<Result<_>>()?))
}

fn zone_names(_: &mut dyn EvalContext, _: &CallTypes, _: &[Value]) -> Result<Box<dyn ValueStream>> {
    const COLUMNS: [(&str, Oid); 4] = [("name", TEXT), ("abbrev", TEXT), ("utc_offset", INTERVAL), ("is_dst", BOOL)];
    let now = datetime::clock_micros();
    let rows = TimeZone::all_names()
        .into_iter()
        .filter_map(|name| {
            let offset = TimeZone::named(&name)?.offset_at(now);
            let fields = vec![
                Value::from(name),
                Value::from(offset.abbreviation),
                offset_interval(offset.seconds),
                Value::Bool(offset.daylight),
            ];
            Some(record(&COLUMNS, fields))
        })
        .collect();
    Ok(ReadyRows::boxed(rows))
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::plain(1291, "suppress_redundant_updates_trigger", &[], TRIGGER, suppress_redundant_updates).volatile(),
    FunctionDef::plain(1081, "format_type", &[OID, INT4], TEXT, format_type).stable().not_strict(),
    FunctionDef::typed(1619, "pg_typeof", &[ANY], REGTYPE, |_, types, _| Ok(Value::Oid(types.arguments.first().map_or(UNKNOWN, |ty| ty.oid).0))).stable().not_strict(),
    FunctionDef::plain(2288, "pg_size_pretty", &[INT8], TEXT, |_, a| { take!(a; Int8 bytes); Ok(Value::from(size_pretty(i128::from(*bytes)))) }),
    FunctionDef::plain(3166, "pg_size_pretty", &[NUMERIC], TEXT, |_, a| { take!(a; Numeric bytes); size_pretty_numeric(bytes) }),
    FunctionDef::plain(3334, "pg_size_bytes", &[TEXT], INT8, size_bytes),
    FunctionDef::typed(438, "num_nulls", &[ANY], INT4, |_, _, a| count_nulls(a, true)).not_strict().variadic(),
    FunctionDef::typed(440, "num_nonnulls", &[ANY], INT4, |_, _, a| count_nulls(a, false)).not_strict().variadic(),
    FunctionDef::plain(3495, "to_regclass", &[TEXT], REGCLASS, |context, a| to_reg(context, a, REGCLASS)).stable(),
    FunctionDef::plain(3493, "to_regtype", &[TEXT], REGTYPE, |context, a| to_reg(context, a, REGTYPE)).stable(),
    FunctionDef::plain(3494, "to_regproc", &[TEXT], REGPROC, |context, a| to_reg(context, a, REGPROC)).stable(),
    FunctionDef::plain(3479, "to_regprocedure", &[TEXT], REGPROCEDURE, |context, a| to_reg(context, a, REGPROCEDURE)).stable(),
    FunctionDef::plain(3492, "to_regoper", &[TEXT], REGOPER, |context, a| to_reg(context, a, REGOPER)).stable(),
    FunctionDef::plain(3476, "to_regoperator", &[TEXT], REGOPERATOR, |context, a| to_reg(context, a, REGOPERATOR)).stable(),
    FunctionDef::plain(4086, "to_regnamespace", &[TEXT], REGNAMESPACE, |context, a| to_reg(context, a, REGNAMESPACE)).stable(),
    FunctionDef::plain(4093, "to_regrole", &[TEXT], REGROLE, |context, a| to_reg(context, a, REGROLE)).stable(),
    FunctionDef::plain(4195, "to_regcollation", &[TEXT], REGCOLLATION, |context, a| to_reg(context, a, REGCOLLATION)).stable(),
    FunctionDef::plain(1079, "regclass", &[TEXT], REGCLASS, |context, a| { take!(a; Text t); Ok(Value::Oid(parse_reg_name(context.catalog(), t, REGCLASS)?)) }).stable(),
    FunctionDef::plain(1597, "pg_encoding_to_char", &[INT4], NAME, |_, a| { take!(a; Int4 n); Ok(Value::from(usize::try_from(*n).ok().and_then(|n| ENCODINGS.get(n)).copied().unwrap_or_default())) }).stable(),
    FunctionDef::plain(1264, "pg_char_to_encoding", &[NAME], INT4, |_, a| { take!(a; Text t); Ok(Value::Int4(encoding_named(t))) }).stable(),
    FunctionDef::plain(810, "pg_client_encoding", &[], NAME, |_, _| Ok(Value::from("UTF8"))).stable(),
    FunctionDef::plain(1039, "getdatabaseencoding", &[], NAME, |_, _| Ok(Value::from("UTF8"))).stable(),
    FunctionDef::plain(2319, "pg_encoding_max_length", &[INT4], INT4, |_, a| { take!(a; Int4 n); Ok(if *n == 6 { Value::Int4(4) } else { Value::Null }) }),
    FunctionDef::plain(1269, "pg_column_size", &[ANY], INT4, column_size).stable(),
    FunctionDef::plain(2121, "pg_column_compression", &[ANY], TEXT, |_, _| Ok(Value::Null)).stable(),
    FunctionDef::plain(315, "pg_jit_available", &[], BOOL, |_, _| Ok(Value::Bool(false))).volatile(),
    FunctionDef::typed(3162, "pg_collation_for", &[ANY], TEXT, collation_for).stable().not_strict(),
    FunctionDef::plain(1349, "oidvectortypes", &[OIDVECTOR], TEXT, vector_types).stable(),
    FunctionDef::typed(3528, "enum_first", &[ANYENUM], ANYENUM, |context, types, _| enum_end(context, types, false)).stable().not_strict(),
    FunctionDef::typed(3529, "enum_last", &[ANYENUM], ANYENUM, |context, types, _| enum_end(context, types, true)).stable().not_strict(),
    FunctionDef::typed(3531, "enum_range", &[ANYENUM], ANYARRAY, enum_range).stable().not_strict(),
    FunctionDef::typed(3530, "enum_range", &[ANYENUM, ANYENUM], ANYARRAY, enum_range).stable().not_strict(),
    FunctionDef::plain(3525, "enum_larger", &[ANYENUM, ANYENUM], ANYENUM, |_, a| Ok(super::larger(a))),
    FunctionDef::plain(3524, "enum_smaller", &[ANYENUM, ANYENUM], ANYENUM, |_, a| Ok(super::smaller(a))),
    FunctionDef::plain(2795, "tidlarger", &[TID, TID], TID, |_, a| Ok(super::larger(a))),
    FunctionDef::plain(2796, "tidsmaller", &[TID, TID], TID, |_, a| Ok(super::smaller(a))),
    FunctionDef::plain(4187, "pg_lsn_larger", &[PG_LSN, PG_LSN], PG_LSN, |_, a| Ok(super::larger(a))),
    FunctionDef::plain(4188, "pg_lsn_smaller", &[PG_LSN, PG_LSN], PG_LSN, |_, a| Ok(super::smaller(a))),
    FunctionDef::plain(5097, "xid8_larger", &[XID8, XID8], XID8, |_, a| Ok(super::larger(a))),
    FunctionDef::plain(5098, "xid8_smaller", &[XID8, XID8], XID8, |_, a| Ok(super::smaller(a))),
    FunctionDef::set(2289, "pg_options_to_table", &[TEXT_ARRAY], RECORD, options_to_table).stable().named(&["options_array"]).columns(&[("option_name", TEXT), ("option_value", TEXT)]),
    FunctionDef::set(1686, "pg_get_keywords", &[], RECORD, keywords).stable().columns(&[("word", TEXT), ("catcode", CHAR), ("barelabel", BOOL), ("catdesc", TEXT), ("baredesc", TEXT)]),
    FunctionDef::set(2599, "pg_timezone_abbrevs", &[], RECORD, zone_abbreviations).stable().columns(&[("abbrev", TEXT), ("utc_offset", INTERVAL), ("is_dst", BOOL)]),
    FunctionDef::set(2856, "pg_timezone_names", &[], RECORD, zone_names).stable().columns(&[("name", TEXT), ("abbrev", TEXT), ("utc_offset", INTERVAL), ("is_dst", BOOL)]),
    FunctionDef::window(3100, "row_number", &[], INT8, WindowFunction::RowNumber),
    FunctionDef::window(3101, "rank", &[], INT8, WindowFunction::Rank),
    FunctionDef::window(3102, "dense_rank", &[], INT8, WindowFunction::DenseRank),
    FunctionDef::window(3103, "percent_rank", &[], FLOAT8, WindowFunction::PercentRank),
    FunctionDef::window(3104, "cume_dist", &[], FLOAT8, WindowFunction::CumeDist),
    FunctionDef::window(3105, "ntile", &[INT4], INT4, WindowFunction::Ntile),
    FunctionDef::window(3106, "lag", &[ANYELEMENT], ANYELEMENT, WindowFunction::Lag),
    FunctionDef::window(3107, "lag", &[ANYELEMENT, INT4], ANYELEMENT, WindowFunction::Lag),
    FunctionDef::window(3108, "lag", &[ANYCOMPATIBLE, INT4, ANYCOMPATIBLE], ANYCOMPATIBLE, WindowFunction::Lag),
    FunctionDef::window(3109, "lead", &[ANYELEMENT], ANYELEMENT, WindowFunction::Lead),
    FunctionDef::window(3110, "lead", &[ANYELEMENT, INT4], ANYELEMENT, WindowFunction::Lead),
    FunctionDef::window(3111, "lead", &[ANYCOMPATIBLE, INT4, ANYCOMPATIBLE], ANYCOMPATIBLE, WindowFunction::Lead),
    FunctionDef::window(3112, "first_value", &[ANYELEMENT], ANYELEMENT, WindowFunction::FirstValue),
    FunctionDef::window(3113, "last_value", &[ANYELEMENT], ANYELEMENT, WindowFunction::LastValue),
    FunctionDef::window(3114, "nth_value", &[ANYELEMENT, INT4], ANYELEMENT, WindowFunction::NthValue),
    FunctionDef::plain(351, "btint4cmp", &[INT4, INT4], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(842, "btint8cmp", &[INT8, INT8], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(350, "btint2cmp", &[INT2, INT2], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(360, "bttextcmp", &[TEXT, TEXT], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(355, "btfloat8cmp", &[FLOAT8, FLOAT8], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(354, "btfloat4cmp", &[FLOAT4, FLOAT4], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(1769, "numeric_cmp", &[NUMERIC, NUMERIC], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(1092, "date_cmp", &[DATE, DATE], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(2045, "timestamp_cmp", &[TIMESTAMP, TIMESTAMP], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(1314, "timestamptz_cmp", &[TIMESTAMPTZ, TIMESTAMPTZ], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(2960, "uuid_cmp", &[UUID, UUID], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(2515, "booland_statefunc", &[BOOL, BOOL], BOOL, |_, a| { take!(a; Bool left, Bool right); Ok(Value::Bool(*left && *right)) }),
    FunctionDef::plain(2516, "boolor_statefunc", &[BOOL, BOOL], BOOL, |_, a| { take!(a; Bool left, Bool right); Ok(Value::Bool(*left || *right)) }),
    FunctionDef::plain(1693, "btboolcmp", &[BOOL, BOOL], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(1954, "byteacmp", &[BYTEA, BYTEA], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(356, "btoidcmp", &[OID, OID], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(1315, "interval_cmp", &[INTERVAL, INTERVAL], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(1107, "time_cmp", &[TIME, TIME], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(4044, "jsonb_cmp", &[JSONB, JSONB], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(382, "btarraycmp", &[ANYARRAY, ANYARRAY], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(359, "btnamecmp", &[NAME, NAME], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(3514, "enum_cmp", &[ANYENUM, ANYENUM], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(358, "btcharcmp", &[CHAR, CHAR], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(1358, "timetz_cmp", &[TIMETZ, TIMETZ], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(3251, "pg_lsn_cmp", &[PG_LSN, PG_LSN], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(2794, "bttidcmp", &[TID, TID], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(1078, "bpcharcmp", &[BPCHAR, BPCHAR], INT4, |_, a| Ok(Value::Int4(compare_padded(&a[0], &a[1]) as i32))),
];
