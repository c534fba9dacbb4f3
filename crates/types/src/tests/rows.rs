//! Every row of the type table is whole: each type that values can have goes through all that is done with values.
//!
//! A type that is added needs texts of values in [`samples`], and then fails here for each place in which it was forgotten.

use std::cmp::Ordering;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;

use base::Oid;
use bumpalo::Bump;
use schema::key::KeyBuffer;

use crate::type_table::{Order, TypeFunction};
use crate::*;

/// Texts of values as the type writes them, in its order if it has one. Texts that differ are values that differ.
fn samples(oid: Oid) -> &'static [&'static str] {
    use oids::*;
    match oid {
        BOOL => &["f", "t"],
        BYTEA => &["\\x", "\\x00", "\\x0102", "\\xff"],
        CHAR => &["", "a", "\\377"],
        TEXT | NAME | VARCHAR | REFCURSOR => &["", "B", "a", "a b", "é"],
        BPCHAR => &["", "B", "a", "a b"],
        INT2 => &["-32768", "0", "7"],
        INT4 | INT8 => &["-2147483648", "-1", "0", "7"],
        FLOAT4 | FLOAT8 => &["-Infinity", "-1.5", "0", "0.25", "Infinity", "NaN"],
        NUMERIC => &["-Infinity", "-1.5", "0", "0.25", "12345678901234567890", "Infinity", "NaN"],
        OID | XID | CID | XID8 => &["0", "7", "4294967295"],
        TID => &["(0,1)", "(0,2)", "(7,1)"],
        INT2VECTOR | OIDVECTOR => &["1", "1 2", "2"],
        JSON => &["{\"a\":  1}", "null"],
        JSONB => &["null", "\"a\"", "1", "true", "[1, 2]", "{\"a\": 1}"],
        CIDR => &["10.0.0.0/8", "10.0.0.0/9", "::/0"],
        INET => &["10.0.0.0/8", "10.0.0.1", "192.168.0.1/16", "::1"],
        ACLITEM => &["=r/postgres"],
        PG_NODE_TREE => &["{CONST}"],
        DATE => &["-infinity", "1999-12-31", "2024-02-29", "infinity"],
        TIME => &["00:00:00", "12:34:56.789", "24:00:00"],
        TIMETZ => &["00:00:00+02", "00:00:00+00", "12:34:56.789-05:30"],
        TIMESTAMP => &["-infinity", "1999-12-31 23:59:59", "2024-02-29 00:00:00.5", "infinity"],
        TIMESTAMPTZ => &["-infinity", "1999-12-31 23:59:59+00", "2024-02-29 00:00:00.5+00", "infinity"],
        INTERVAL => &["-02:00:00", "00:00:00", "1 day", "1 mon", "1 year 2 mons 3 days 04:05:06"],
        UUID => &["00000000-0000-0000-0000-000000000001", "ffffffff-0000-4000-8000-00000000000a"],
        MONEY => &["-$1,234.56", "-$0.01", "$0.00", "$7.00", "$1,000,000.00"],
        BIT | VARBIT => &["", "0", "00", "01", "1", "101", "1010", "10101010", "101010101"],
        MACADDR => &["00:00:00:00:00:00", "08:00:2b:01:02:03", "ff:ff:ff:ff:ff:fe"],
        MACADDR8 => &["00:00:00:00:00:00:00:00", "08:00:2b:ff:fe:01:02:03", "ff:ff:ff:ff:ff:ff:ff:fe"],
        PG_LSN => &["0/0", "16/B374D848"],
        oid if crate::text_io::is_reg_type(oid) => &["1", "4294967295"],
        other => panic!("type {other} has no samples: write some, in its order"),
    }
}

/// A modifier that the samples do not fit into unchanged, as it is written, with a sample and what becomes of it in an explicit cast.
fn modified(oid: Oid) -> (&'static [i32], &'static str, &'static str) {
    use oids::*;
    match oid {
        VARCHAR => (&[2], "a b", "a "),
        BPCHAR => (&[3], "a", "a  "),
        BIT => (&[4], "101", "1010"),
        VARBIT => (&[2], "101", "10"),
        NUMERIC => (&[5, 1], "0.25", "0.3"),
        TIME => (&[0], "12:34:56.789", "12:34:57"),
        TIMETZ => (&[0], "12:34:56.789-05:30", "12:34:57-05:30"),
        TIMESTAMP => (&[0], "2024-02-29 00:00:00.7", "2024-02-29 00:00:01"),
        TIMESTAMPTZ => (&[0], "2024-02-29 00:00:00.7+00", "2024-02-29 00:00:01+00"),
        INTERVAL => (&[4], "1 year 2 mons 3 days 04:05:06", "1 year"),
        other => panic!("type {other} has no sample with a modifier"),
    }
}

/// The types that values have, without their arrays.
fn rows() -> impl Iterator<Item = &'static TypeDef> {
    builtin_types().iter().filter(|def| !def.is_pseudo() && !def.is_array())
}

fn read(def: &TypeDef, text: &str) -> Value {
    let mut context = PlainContext::default();
    input(&mut context, text, SqlType::new(def.oid)).unwrap_or_else(|error| panic!("{} '{text}': {error:?}", def.name))
}

fn written(value: &Value, oid: Oid) -> String {
    output_string(value, oid, &FormatSettings::default(), &BuiltinCatalog).unwrap()
}

fn hash(value: &Value, oid: Oid) -> u64 {
    let mut hasher = DefaultHasher::new();
    hash_value(value, oid, &mut hasher);
    hasher.finish()
}

fn key(kind: StorageKind, value: &Value) -> KeyBuffer {
    let mut key = KeyBuffer::new();
    kind.push_value_key(value, false, false, &mut key).unwrap();
    key
}

#[test]
fn every_type_reads_what_it_writes() {
    for def in rows() {
        for text in samples(def.oid) {
            assert_eq!(written(&read(def, text), def.oid), *text, "{}", def.name);
        }
    }
}

#[test]
fn every_type_reads_the_binary_form_that_it_writes() {
    let mut context = PlainContext::default();
    for def in rows() {
        let has_binary = def.function_name(TypeFunction::Receive) != "-" && def.oid != oids::PG_NODE_TREE;
        assert_eq!(def.binary_input.is_some(), has_binary, "{}", def.name);
        for text in samples(def.oid).iter().filter(|_| has_binary) {
            let value = read(def, text);
            let mut bytes = Vec::new();
            binary_output(&value, def.oid, &BuiltinCatalog, &mut bytes).unwrap();
            let back = binary_input(&mut context, &bytes, SqlType::new(def.oid)).unwrap();
            assert_eq!((&back, written(&back, def.oid).as_str()), (&value, *text), "{}", def.name);
            if def.length > 0 && def.oid != oids::NAME {
                assert_eq!(bytes.len(), def.length as usize, "{}", def.name);
            }
        }
    }
}

#[test]
fn every_type_is_stored_and_comes_back() {
    for def in rows() {
        let kind = StorageKind::of(&BuiltinCatalog, def.oid);
        for text in samples(def.oid) {
            let value = read(def, text);
            assert!(kind.takes(&value), "{} is not stored as {kind:?}", def.name);
            let arena = Bump::new();
            let datum = kind.write(&value, &arena);
            assert_eq!(kind.read(datum).unwrap(), value, "{}", def.name);
            let mut stored = KeyBuffer::new();
            kind.push_datum_key(datum, false, false, &mut stored).unwrap();
            assert_eq!(stored, key(kind, &value), "{}", def.name);
            let mut packed = packed::Packed::new();
            packed::write_any(&value, &mut packed);
            assert_eq!(packed::read_any(&mut packed.as_slice()).unwrap(), value, "{} in a file", def.name);
        }
    }
}

#[test]
fn values_keys_and_elements_of_arrays_have_the_order_of_the_type() {
    for def in rows() {
        let Some(compare) = comparator(def.oid) else { continue };
        let kind = StorageKind::of(&BuiltinCatalog, def.oid);
        let values: Vec<Value> = samples(def.oid).iter().map(|text| read(def, text)).collect();
        for (left_place, left) in values.iter().enumerate() {
            for (right_place, right) in values.iter().enumerate() {
                let expected = left_place.cmp(&right_place);
                let shown = format!("{}: {left:?} and {right:?}", def.name);
                assert_eq!(compare(left, right), expected, "{shown}");
                assert_eq!(key(kind, left).as_slice().cmp(key(kind, right).as_slice()), expected, "{shown}");
                let [left, right] = [left, right].map(|value| Value::array(def.oid, vec![value.clone()]));
                assert_eq!(compare_values(&left, &right), expected, "{shown} in arrays");
                let kind = StorageKind::Array(def.oid);
                assert_eq!(
                    key(kind, &left).as_slice().cmp(key(kind, &right).as_slice()),
                    expected,
                    "{shown} in arrays"
                );
            }
        }
    }
}

#[test]
fn equal_values_hash_alike_and_others_do_not() {
    for def in rows().filter(|def| equality(def.oid).is_some()) {
        let values: Vec<Value> = samples(def.oid).iter().map(|text| read(def, text)).collect();
        for (place, value) in values.iter().enumerate() {
            assert_eq!(equality(def.oid).unwrap()(value, &value.clone()), Ordering::Equal, "{}", def.name);
            assert_eq!(hash(value, def.oid), hash(&value.clone(), def.oid), "{}", def.name);
            let others = values.iter().skip(place + 1);
            others.for_each(|other| assert_ne!(hash(value, def.oid), hash(other, def.oid), "{}", def.name));
        }
    }
}

#[test]
fn every_type_has_arrays_that_are_read_and_written() {
    let mut context = PlainContext::default();
    for def in rows().filter(|def| def.oid != oids::PG_NODE_TREE) {
        assert_ne!(def.array, Oid::INVALID, "{}", def.name);
        let values = samples(def.oid).iter().map(|text| read(def, text)).collect();
        let array = Value::array(def.oid, values);
        let text = written(&array, def.array);
        let back = input(&mut context, &text, SqlType::new(def.array)).unwrap();
        assert_eq!(back, array, "{} {text}", def.name);
        assert!(StorageKind::of(&BuiltinCatalog, def.array).takes(&array), "{}", def.name);
    }
}

#[test]
fn every_type_with_an_order_has_operators_for_it() {
    // PostgreSQL has none for `refcursor`.
    for def in rows().filter(|def| def.oid != oids::REFCURSOR) {
        for role in [OperatorRole::Less, OperatorRole::Equal, OperatorRole::Greater] {
            let is_wanted = match def.order {
                Order::By(_) => true,
                Order::EqualityOnly => role == OperatorRole::Equal,
                Order::None => false,
            };
            assert_eq!(ordering_operator(def.oid, role).is_some(), is_wanted, "{} {role:?}", def.name);
        }
    }
}

#[test]
fn every_function_that_a_row_names_has_a_number() {
    use TypeFunction::{Input, Output, Receive, Send, TypmodInput, TypmodOutput};
    for def in builtin_types() {
        for kind in [Input, Output, Receive, Send, TypmodInput, TypmodOutput] {
            let name = def.function_name(kind);
            assert!(name == "-" || type_functions::oid_of(&name).is_some(), "{name} of {}", def.name);
        }
    }
}

#[test]
fn modifiers_are_written_as_they_are_read_and_fit_values() {
    let mut context = PlainContext::default();
    for def in rows().filter(|def| def.typmod.is_some()) {
        let (written_as, text, fitted) = modified(def.oid);
        let ty = SqlType::with_typmod(def.oid, encode_typmod(def.oid, written_as).unwrap());
        assert_eq!(parse_type_name(&BuiltinCatalog, &format_type(&BuiltinCatalog, ty)).unwrap(), ty, "{}", def.name);
        let bare = SqlType::new(def.oid);
        assert_eq!(
            parse_type_name(&BuiltinCatalog, &format_type(&BuiltinCatalog, bare)).unwrap(),
            bare,
            "{}",
            def.name
        );
        let found = coerce_length(read(def, text), ty, true).unwrap();
        assert_eq!(written(&found, def.oid), fitted, "{}", def.name);
        // A value that fits is read back with the modifier, from text and from the binary form.
        assert_eq!(input(&mut context, fitted, ty).unwrap(), found, "{}", def.name);
        let mut bytes = Vec::new();
        binary_output(&found, def.oid, &BuiltinCatalog, &mut bytes).unwrap();
        assert_eq!(binary_input(&mut context, &bytes, ty).unwrap(), found, "{}", def.name);
    }
}
