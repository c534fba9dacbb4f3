//! The built-in types, a row each.
//!
//! A row has what `pg_type` says of a type, and the functions for it that are chosen by the type's number: text and binary input, its
//! modifier, how it is stored and compared. Output, hashes and keys need the value alone: each is a `match` over [`Value`], which the
//! compiler completes. The tests in `tests::rows` run every row.

use std::sync::Arc;

use base::{Error, Oid, Result, Tid, sqlstate};

use super::array_text;
use super::binary_io::{Reader, read_array};
use super::bit_strings::BitString;
use super::compare::{compare_int4, compare_int8, compare_networks, compare_padded, compare_text, compare_values};
use super::context::EvalContext;
use super::datetime::calendar::{DAY, check_date, check_timestamp, is_infinite, is_infinite_date};
use super::datetime::{self, interval, round_time, round_timestamp};
use super::json::{self, Json, JsonbValue};
use super::mac_address;
use super::money;
use super::network;
use super::number_text;
use super::numeric::Numeric;
use super::oids::*;
use super::reg_types;
use super::storage::StorageKind;
use super::string_types;
use super::type_table::{Align, BinaryInput, Category, Order, SqlType, TextInput, TypeDef};
use super::typmods::{self, Typmod};
use super::value::{Interval, SmolStr, TimeTz, Value};

/// A type of base kind: stored as text and compared by what it is stored as, until more is said.
const fn row(
    oid: Oid,
    name: &'static str,
    length: i16,
    category: Category,
    align: Align,
    array: u32,
    input: &'static str,
) -> TypeDef {
    TypeDef {
        oid,
        name,
        sql_name: None,
        bare_name_means_one: false,
        length,
        category,
        is_preferred: false,
        by_value: matches!(length, 1 | 2 | 4 | 8),
        align,
        storage_letter: if length == -1 { 'x' } else { 'p' },
        collation: Oid::INVALID,
        array: Oid(array),
        element: Oid::INVALID,
        input,
        text_input: None,
        binary_input: None,
        typmod: None,
        stored: StorageKind::Text,
        order: Order::By(compare_values),
        ordered_as: oid,
    }
}

/// A pseudo-type without arrays.
const fn pseudo(oid: Oid, name: &'static str, length: i16, align: Align, input: &'static str) -> TypeDef {
    row(oid, name, length, Category::Pseudo, align, 0, input)
}

/// A type whose values are numbers of objects.
const fn reg(oid: Oid, name: &'static str, array: u32, input: &'static str) -> TypeDef {
    row(oid, name, 4, Category::Number, Align::Int, array, input)
        .reads(read_reg, |_, reader, _| Ok(Value::Oid(reader.u32()?)))
        .stored(StorageKind::Oid)
        .ordered_as(OID)
}

impl TypeDef {
    const fn named(mut self, name: &'static str) -> TypeDef {
        self.sql_name = Some(name);
        self
    }

    const fn preferred(mut self) -> TypeDef {
        self.is_preferred = true;
        self
    }

    /// Text and binary input.
    const fn reads(mut self, text: TextInput, binary: BinaryInput) -> TypeDef {
        self.text_input = Some(text);
        self.binary_input = Some(binary);
        self
    }

    /// Text input, of a type without a binary form.
    const fn reads_text(mut self, text: TextInput) -> TypeDef {
        self.text_input = Some(text);
        self
    }

    const fn typmod(mut self, typmod: &'static Typmod) -> TypeDef {
        self.typmod = Some(typmod);
        self
    }

    /// Its bare name in SQL means a length of 1.
    const fn bare_name_means_one(mut self) -> TypeDef {
        self.bare_name_means_one = true;
        self
    }

    const fn stored(mut self, kind: StorageKind) -> TypeDef {
        self.stored = kind;
        self
    }

    const fn order(mut self, order: Order) -> TypeDef {
        self.order = order;
        self
    }

    const fn ordered_as(mut self, oid: Oid) -> TypeDef {
        self.ordered_as = oid;
        self
    }

    const fn storage(mut self, letter: char) -> TypeDef {
        self.storage_letter = letter;
        self
    }

    const fn collation(mut self, collation: u32) -> TypeDef {
        self.collation = Oid(collation);
        self
    }

    /// Its values have 8 bytes and are not passed by value nevertheless.
    const fn by_reference(mut self) -> TypeDef {
        self.by_value = false;
        self
    }

    const fn element(mut self, element: Oid) -> TypeDef {
        self.element = element;
        self
    }
}

/// The number of "default" in `pg_collation`.
const DEFAULT: u32 = 100;
/// The number of "C" in `pg_collation`.
const C: u32 = 950;

fn read_text(_: &mut dyn EvalContext, text: &str, _: SqlType) -> Result<Value> {
    Ok(Value::text(text))
}

fn receive_text(_: &mut dyn EvalContext, reader: &mut Reader<'_>, _: SqlType) -> Result<Value> {
    Ok(Value::text(reader.rest_text()?))
}

fn receive_varchar(_: &mut dyn EvalContext, reader: &mut Reader<'_>, ty: SqlType) -> Result<Value> {
    Ok(Value::Text(string_types::assign_varchar(SmolStr::new(reader.rest_text()?), ty.typmod)?))
}

fn receive_char(_: &mut dyn EvalContext, reader: &mut Reader<'_>, ty: SqlType) -> Result<Value> {
    Ok(Value::Text(string_types::assign_char(SmolStr::new(reader.rest_text()?), ty.typmod)?))
}

fn receive_name(_: &mut dyn EvalContext, reader: &mut Reader<'_>, _: SqlType) -> Result<Value> {
    let text = reader.rest_text()?;
    if text.len() > base::limits::NAME_MAX_BYTES {
        return Err(Error::new(sqlstate::NAME_TOO_LONG, "identifier too long")
            .detail(format!("Identifier must be less than {} characters.", base::limits::NAME_MAX_BYTES + 1)));
    }
    Ok(Value::text(text))
}

fn read_numeric(_: &mut dyn EvalContext, text: &str, ty: SqlType) -> Result<Value> {
    Ok(Value::Numeric(Numeric::parse(text)?.apply_typmod(ty.typmod)?))
}

fn receive_numeric(_: &mut dyn EvalContext, reader: &mut Reader<'_>, ty: SqlType) -> Result<Value> {
    Ok(Value::Numeric(Numeric::read_binary(reader.rest())?.apply_typmod(ty.typmod)?))
}

fn receive_date(_: &mut dyn EvalContext, reader: &mut Reader<'_>, _: SqlType) -> Result<Value> {
    let days = reader.i32()?;
    if !is_infinite_date(days) {
        check_date(i64::from(days))?;
    }
    Ok(Value::Date(days))
}

fn receive_time_of_day(reader: &mut Reader<'_>) -> Result<i64> {
    let micros = reader.i64()?;
    if (0..=DAY).contains(&micros) {
        Ok(micros)
    } else {
        Err(Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, "time out of range"))
    }
}

fn receive_time(_: &mut dyn EvalContext, reader: &mut Reader<'_>, ty: SqlType) -> Result<Value> {
    Ok(Value::Time(round_time(receive_time_of_day(reader)?, ty.typmod)))
}

fn receive_timetz(_: &mut dyn EvalContext, reader: &mut Reader<'_>, ty: SqlType) -> Result<Value> {
    let micros = receive_time_of_day(reader)?;
    let zone = reader.i32()?;
    if zone.abs() >= 16 * 3600 {
        let message = "time zone displacement out of range";
        return Err(Error::new(sqlstate::INVALID_TIME_ZONE_DISPLACEMENT_VALUE, message));
    }
    Ok(Value::TimeTz(TimeTz { micros: round_time(micros, ty.typmod), zone }))
}

fn receive_timestamp(reader: &mut Reader<'_>, typmod: i32) -> Result<i64> {
    let timestamp = reader.i64()?;
    if !is_infinite(timestamp) {
        check_timestamp(timestamp)?;
    }
    round_timestamp(timestamp, typmod)
}

fn read_interval(context: &mut dyn EvalContext, text: &str, ty: SqlType) -> Result<Value> {
    let style = context.format().interval_style;
    Ok(Value::Interval(interval::parse_interval(text, ty.typmod, style)?))
}

fn receive_interval(_: &mut dyn EvalContext, reader: &mut Reader<'_>, ty: SqlType) -> Result<Value> {
    let micros = reader.i64()?;
    let days = reader.i32()?;
    let months = reader.i32()?;
    Ok(Value::Interval(interval::apply_typmod(Interval { months, days, micros }, ty.typmod)?))
}

fn read_network(_: &mut dyn EvalContext, text: &str, ty: SqlType) -> Result<Value> {
    Ok(Value::text(network::parse(text, ty.oid)?))
}

fn receive_network(_: &mut dyn EvalContext, reader: &mut Reader<'_>, ty: SqlType) -> Result<Value> {
    Ok(Value::text(network::read_binary(reader.rest(), ty.oid)?))
}

fn receive_bit(_: &mut dyn EvalContext, reader: &mut Reader<'_>, ty: SqlType) -> Result<Value> {
    let length = BitString::received_fixed(reader.i32()?, ty.typmod)?;
    Ok(Value::Bits(Arc::new(BitString::new(length, reader.take(length.div_ceil(8))?.to_vec()))))
}

fn receive_varbit(_: &mut dyn EvalContext, reader: &mut Reader<'_>, ty: SqlType) -> Result<Value> {
    let length = BitString::received_varying(reader.i32()?, ty.typmod)?;
    Ok(Value::Bits(Arc::new(BitString::new(length, reader.take(length.div_ceil(8))?.to_vec()))))
}

/// An address of six octets stands for one of eight.
fn receive_macaddr8(_: &mut dyn EvalContext, reader: &mut Reader<'_>, _: SqlType) -> Result<Value> {
    let address = if reader.length() == 6 { mac_address::widened(reader.fixed()?) } else { reader.fixed()? };
    Ok(Value::MacAddr8(address))
}

/// `xid` and `cid`, whose numbers have 32 bits.
fn read_short_xid(_: &mut dyn EvalContext, text: &str, _: SqlType) -> Result<Value> {
    Ok(Value::Xid(number_text::parse_xid(text) & 0xFFFF_FFFF))
}

fn receive_short_xid(_: &mut dyn EvalContext, reader: &mut Reader<'_>, _: SqlType) -> Result<Value> {
    Ok(Value::Xid(u64::from(reader.u32()?)))
}

fn receive_tid(_: &mut dyn EvalContext, reader: &mut Reader<'_>, _: SqlType) -> Result<Value> {
    let block = reader.u32()?;
    Ok(Value::Tid(Tid::new(block, u16::from_be_bytes(reader.fixed()?))))
}

fn read_json(_: &mut dyn EvalContext, text: &str, _: SqlType) -> Result<Value> {
    json::check(text)?;
    Ok(Value::text(text))
}

fn receive_json(context: &mut dyn EvalContext, reader: &mut Reader<'_>, ty: SqlType) -> Result<Value> {
    read_json(context, reader.rest_text()?, ty)
}

fn read_jsonb(_: &mut dyn EvalContext, text: &str, _: SqlType) -> Result<Value> {
    Ok(Value::Jsonb(Arc::new(JsonbValue(Json::parse(text)?))))
}

fn receive_jsonb(context: &mut dyn EvalContext, reader: &mut Reader<'_>, ty: SqlType) -> Result<Value> {
    let version = reader.fixed::<1>()?[0];
    if version != 1 {
        return Err(Error::internal(format!("unsupported jsonb version number {version}")));
    }
    read_jsonb(context, reader.rest_text()?, ty)
}

fn read_vector(context: &mut dyn EvalContext, text: &str, ty: SqlType) -> Result<Value> {
    Ok(Value::Array(Arc::new(array_text::parse_vector(context, text, ty.oid)?)))
}

fn receive_vector(context: &mut dyn EvalContext, reader: &mut Reader<'_>, ty: SqlType) -> Result<Value> {
    let element = if ty.oid == INT2VECTOR { INT2 } else { OID };
    Ok(Value::Array(Arc::new(read_array(context, reader, SqlType::new(element))?)))
}

fn read_reg(context: &mut dyn EvalContext, text: &str, ty: SqlType) -> Result<Value> {
    Ok(Value::Oid(reg_types::parse_reg(context.catalog(), text, ty.oid)?))
}

fn read_record(_: &mut dyn EvalContext, _: &str, _: SqlType) -> Result<Value> {
    Err(Error::unsupported("input of anonymous composite types is not implemented"))
}

fn receive_void(_: &mut dyn EvalContext, reader: &mut Reader<'_>, _: SqlType) -> Result<Value> {
    reader.rest();
    Ok(Value::Void)
}

/// Number, name, length, category, alignment, array type, input function; then what else is to be said. Array types follow from these.
#[rustfmt::skip]
pub(super) static ROWS: &[TypeDef] = &[
    row(BOOL, "bool", 1, Category::Boolean, Align::Char, 1000, "boolin").named("boolean").preferred().stored(StorageKind::Bool)
        .reads(|_, text, _| Ok(Value::Bool(number_text::parse_bool(text)?)), |_, reader, _| Ok(Value::Bool(reader.fixed::<1>()?[0] != 0))),
    row(BYTEA, "bytea", -1, Category::User, Align::Int, 1001, "byteain").stored(StorageKind::Bytea)
        .reads(|_, text, _| Ok(Value::Bytea(string_types::parse_bytea(text)?.into())), |_, reader, _| Ok(Value::Bytea(reader.rest().into()))),
    row(CHAR, "char", 1, Category::Internal, Align::Char, 1002, "charin").named("\"char\"").stored(StorageKind::Char)
        .reads(|_, text, _| Ok(Value::Char(string_types::parse_char(text))), |_, reader, _| Ok(Value::Char(reader.fixed::<1>()?[0]))),
    row(NAME, "name", 64, Category::String, Align::Char, 1003, "namein").element(CHAR).collation(C).order(Order::By(compare_text))
        .reads(|_, text, _| Ok(Value::text(reg_types::truncate_name(text))), receive_name),
    row(INT8, "int8", 8, Category::Number, Align::Double, 1016, "int8in").named("bigint").stored(StorageKind::Int8).order(Order::By(compare_int8))
        .reads(|_, text, _| Ok(Value::Int8(number_text::parse_int8(text)?)), |_, reader, _| Ok(Value::Int8(reader.i64()?))),
    row(INT2, "int2", 2, Category::Number, Align::Short, 1005, "int2in").named("smallint").stored(StorageKind::Int2)
        .reads(|_, text, _| Ok(Value::Int2(number_text::parse_int2(text)?)), |_, reader, _| Ok(Value::Int2(i16::from_be_bytes(reader.fixed()?)))),
    row(INT2VECTOR, "int2vector", -1, Category::Array, Align::Int, 1006, "int2vectorin").element(INT2).storage('p')
        .stored(StorageKind::Array(INT2)).ordered_as(ANYARRAY).reads(read_vector, receive_vector),
    row(INT4, "int4", 4, Category::Number, Align::Int, 1007, "int4in").named("integer").stored(StorageKind::Int4).order(Order::By(compare_int4))
        .reads(|_, text, _| Ok(Value::Int4(number_text::parse_int4(text)?)), |_, reader, _| Ok(Value::Int4(reader.i32()?))),
    reg(REGPROC, "regproc", 1008, "regprocin"),
    row(TEXT, "text", -1, Category::String, Align::Int, 1009, "textin").preferred().collation(DEFAULT).order(Order::By(compare_text))
        .reads(read_text, receive_text),
    row(OID, "oid", 4, Category::Number, Align::Int, 1028, "oidin").preferred().stored(StorageKind::Oid)
        .reads(|_, text, _| Ok(Value::Oid(number_text::parse_oid(text)?)), |_, reader, _| Ok(Value::Oid(reader.u32()?))),
    row(TID, "tid", 6, Category::User, Align::Short, 1010, "tidin").stored(StorageKind::Tid)
        .reads(|_, text, _| number_text::parse_tid(text), receive_tid),
    row(XID, "xid", 4, Category::User, Align::Int, 1011, "xidin").stored(StorageKind::Xid).order(Order::EqualityOnly)
        .reads(read_short_xid, receive_short_xid),
    row(CID, "cid", 4, Category::User, Align::Int, 1012, "cidin").stored(StorageKind::Xid).order(Order::EqualityOnly)
        .reads(read_short_xid, receive_short_xid),
    row(OIDVECTOR, "oidvector", -1, Category::Array, Align::Int, 1013, "oidvectorin").element(OID).storage('p')
        .stored(StorageKind::Array(OID)).reads(read_vector, receive_vector),
    row(JSON, "json", -1, Category::User, Align::Int, 199, "json_in").order(Order::None).reads(read_json, receive_json),
    row(PG_NODE_TREE, "pg_node_tree", -1, Category::Internal, Align::Int, 0, "pg_node_tree_in").collation(DEFAULT).order(Order::None)
        .reads_text(read_text),
    row(CIDR, "cidr", -1, Category::Network, Align::Int, 651, "cidr_in").storage('m').stored(StorageKind::Network)
        .order(Order::By(compare_networks)).ordered_as(INET).reads(read_network, receive_network),
    row(FLOAT4, "float4", 4, Category::Number, Align::Int, 1021, "float4in").named("real").stored(StorageKind::Float4)
        .reads(|_, text, _| Ok(Value::Float4(number_text::parse_float4(text)?)), |_, reader, _| Ok(Value::Float4(f32::from_be_bytes(reader.fixed()?)))),
    row(FLOAT8, "float8", 8, Category::Number, Align::Double, 1022, "float8in").named("double precision").preferred().stored(StorageKind::Float8)
        .reads(|_, text, _| Ok(Value::Float8(number_text::parse_float8(text)?)), |_, reader, _| Ok(Value::Float8(f64::from_be_bytes(reader.fixed()?)))),
    row(UNKNOWN, "unknown", -2, Category::Unknown, Align::Char, 0, "unknownin").reads(read_text, receive_text),
    row(INET, "inet", -1, Category::Network, Align::Int, 1041, "inet_in").preferred().storage('m').stored(StorageKind::Network)
        .order(Order::By(compare_networks)).reads(read_network, receive_network),
    row(ACLITEM, "aclitem", 12, Category::User, Align::Int, 1034, "aclitemin").order(Order::None).reads_text(read_text),
    row(BPCHAR, "bpchar", -1, Category::String, Align::Int, 1014, "bpcharin").typmod(&typmods::BPCHAR).bare_name_means_one().collation(DEFAULT)
        .stored(StorageKind::PaddedText).order(Order::By(compare_padded))
        .reads(|_, text, ty| Ok(Value::Text(string_types::assign_char(SmolStr::new(text), ty.typmod)?)), receive_char),
    row(VARCHAR, "varchar", -1, Category::String, Align::Int, 1015, "varcharin").typmod(&typmods::VARCHAR).collation(DEFAULT)
        .order(Order::By(compare_text)).ordered_as(TEXT)
        .reads(|_, text, ty| Ok(Value::Text(string_types::assign_varchar(SmolStr::new(text), ty.typmod)?)), receive_varchar),
    row(DATE, "date", 4, Category::DateTime, Align::Int, 1182, "date_in").stored(StorageKind::Date)
        .reads(|context, text, _| Ok(Value::Date(datetime::parse_date(context, text)?)), receive_date),
    row(TIME, "time", 8, Category::DateTime, Align::Double, 1183, "time_in").typmod(&typmods::TIME).stored(StorageKind::Time)
        .reads(|context, text, ty| Ok(Value::Time(datetime::parse_time(context, text, ty.typmod)?)), receive_time),
    row(TIMESTAMP, "timestamp", 8, Category::DateTime, Align::Double, 1115, "timestamp_in").typmod(&typmods::TIMESTAMP).stored(StorageKind::Timestamp)
        .reads(|context, text, ty| Ok(Value::Timestamp(datetime::parse_timestamp(context, text, ty.typmod)?)), |_, reader, ty| Ok(Value::Timestamp(receive_timestamp(reader, ty.typmod)?))),
    row(TIMESTAMPTZ, "timestamptz", 8, Category::DateTime, Align::Double, 1185, "timestamptz_in").typmod(&typmods::TIMESTAMPTZ).preferred().stored(StorageKind::TimestampTz)
        .reads(|context, text, ty| Ok(Value::TimestampTz(datetime::parse_timestamptz(context, text, ty.typmod)?)), |_, reader, ty| Ok(Value::TimestampTz(receive_timestamp(reader, ty.typmod)?))),
    row(INTERVAL, "interval", 16, Category::Timespan, Align::Double, 1187, "interval_in").typmod(&typmods::INTERVAL).preferred()
        .stored(StorageKind::Interval).reads(read_interval, receive_interval),
    row(TIMETZ, "timetz", 12, Category::DateTime, Align::Double, 1270, "timetz_in").typmod(&typmods::TIMETZ).stored(StorageKind::TimeTz)
        .reads(|context, text, ty| Ok(Value::TimeTz(datetime::parse_timetz(context, text, ty.typmod)?)), receive_timetz),
    row(NUMERIC, "numeric", -1, Category::Number, Align::Int, 1231, "numeric_in").typmod(&typmods::NUMERIC).storage('m')
        .stored(StorageKind::Numeric).reads(read_numeric, receive_numeric),
    row(REFCURSOR, "refcursor", -1, Category::User, Align::Int, 2201, "textin").reads(read_text, receive_text),
    reg(REGPROCEDURE, "regprocedure", 2207, "regprocedurein"),
    reg(REGOPER, "regoper", 2208, "regoperin"),
    reg(REGOPERATOR, "regoperator", 2209, "regoperatorin"),
    reg(REGCLASS, "regclass", 2210, "regclassin"),
    reg(REGTYPE, "regtype", 2211, "regtypein"),
    row(RECORD, "record", -1, Category::Pseudo, Align::Double, 2287, "record_in").stored(StorageKind::Record(RECORD)).reads_text(read_record),
    row(CSTRING, "cstring", -2, Category::Pseudo, Align::Char, 1263, "cstring_in").reads(read_text, receive_text),
    pseudo(ANY, "any", 4, Align::Int, "any_in").named("\"any\""),
    pseudo(ANYARRAY, "anyarray", -1, Align::Double, "anyarray_in"),
    pseudo(VOID, "void", 4, Align::Int, "void_in").order(Order::None).reads(|_, _, _| Ok(Value::Void), receive_void),
    pseudo(TRIGGER, "trigger", 4, Align::Int, "trigger_in"),
    pseudo(LANGUAGE_HANDLER, "language_handler", 4, Align::Int, "language_handler_in"),
    pseudo(TABLE_AM_HANDLER, "table_am_handler", 4, Align::Int, "table_am_handler_in"),
    pseudo(INDEX_AM_HANDLER, "index_am_handler", 4, Align::Int, "index_am_handler_in"),
    pseudo(INTERNAL, "internal", 8, Align::Double, "internal_in"),
    pseudo(ANYELEMENT, "anyelement", 4, Align::Int, "anyelement_in"),
    pseudo(ANYNONARRAY, "anynonarray", 4, Align::Int, "anynonarray_in"),
    row(UUID, "uuid", 16, Category::User, Align::Char, 2951, "uuid_in").stored(StorageKind::Uuid)
        .reads(|_, text, _| number_text::parse_uuid(text), |_, reader, _| Ok(Value::Uuid(reader.fixed()?))),
    row(MONEY, "money", 8, Category::Number, Align::Double, 791, "cash_in").stored(StorageKind::Money)
        .reads(|_, text, _| Ok(Value::Money(money::parse(text)?)), |_, reader, _| Ok(Value::Money(reader.i64()?))),
    row(BIT, "bit", -1, Category::BitString, Align::Int, 1561, "bit_in").typmod(&typmods::BIT).bare_name_means_one().stored(StorageKind::Bits)
        .reads(|_, text, ty| Ok(Value::Bits(Arc::new(BitString::parse_fixed(text, ty.typmod)?))), receive_bit),
    row(VARBIT, "varbit", -1, Category::BitString, Align::Int, 1563, "varbit_in").typmod(&typmods::VARBIT).preferred().stored(StorageKind::Bits)
        .reads(|_, text, ty| Ok(Value::Bits(Arc::new(BitString::parse_varying(text, ty.typmod)?))), receive_varbit),
    row(MACADDR, "macaddr", 6, Category::User, Align::Int, 1040, "macaddr_in").stored(StorageKind::MacAddr)
        .reads(|_, text, _| Ok(Value::MacAddr(mac_address::parse(text)?)), |_, reader, _| Ok(Value::MacAddr(reader.fixed()?))),
    row(MACADDR8, "macaddr8", 8, Category::User, Align::Int, 775, "macaddr8_in").by_reference().stored(StorageKind::MacAddr8)
        .reads(|_, text, _| Ok(Value::MacAddr8(mac_address::parse_wide(text)?)), receive_macaddr8),
    row(PG_LSN, "pg_lsn", 8, Category::User, Align::Double, 3221, "pg_lsn_in").stored(StorageKind::PgLsn)
        .reads(|_, text, _| Ok(Value::PgLsn(number_text::parse_pg_lsn(text)?)), |_, reader, _| Ok(Value::PgLsn(reader.i64()? as u64))),
    pseudo(ANYENUM, "anyenum", 4, Align::Int, "anyenum_in"),
    reg(REGCONFIG, "regconfig", 3735, "regconfigin"),
    reg(REGDICTIONARY, "regdictionary", 3770, "regdictionaryin"),
    row(JSONB, "jsonb", -1, Category::User, Align::Int, 3807, "jsonb_in").stored(StorageKind::Jsonb).reads(read_jsonb, receive_jsonb),
    pseudo(EVENT_TRIGGER, "event_trigger", 4, Align::Int, "event_trigger_in"),
    reg(REGNAMESPACE, "regnamespace", 4090, "regnamespacein"),
    reg(REGROLE, "regrole", 4097, "regrolein"),
    reg(REGCOLLATION, "regcollation", 4192, "regcollationin"),
    row(XID8, "xid8", 8, Category::User, Align::Double, 271, "xid8in").stored(StorageKind::Xid)
        .reads(|_, text, _| Ok(Value::Xid(number_text::parse_xid(text))), |_, reader, _| Ok(Value::Xid(reader.i64()? as u64))),
    pseudo(ANYCOMPATIBLE, "anycompatible", 4, Align::Int, "anycompatible_in"),
    pseudo(ANYCOMPATIBLEARRAY, "anycompatiblearray", -1, Align::Double, "anycompatiblearray_in"),
    pseudo(ANYCOMPATIBLENONARRAY, "anycompatiblenonarray", 4, Align::Int, "anycompatiblenonarray_in"),
];
