//! Properties that hold for all values.

use std::cmp::Ordering;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::sync::Arc;

use bumpalo::Bump;
use num_bigint::BigInt;
use proptest::prelude::*;
use schema::key::KeyBuffer;

use crate::json::{Json, JsonbValue};
use crate::*;

fn numeric() -> impl Strategy<Value = Numeric> {
    prop_oneof![
        8 => (any::<i64>(), 0_u32..20).prop_map(|(unscaled, scale)| Numeric::from_parts(unscaled.into(), scale).unwrap()),
        4 => (-1000_i64..1000, 0_u32..4).prop_map(|(unscaled, scale)| Numeric::from_parts(unscaled.into(), scale).unwrap()),
        4 => (any::<i128>(), any::<i128>(), 0_u32..60)
            .prop_map(|(a, b, scale)| Numeric::from_parts(BigInt::from(a) * BigInt::from(b), scale).unwrap()),
        1 => Just(Numeric::NaN),
        1 => Just(Numeric::Infinity),
        1 => Just(Numeric::NegativeInfinity),
    ]
}

fn interval() -> impl Strategy<Value = Interval> {
    (-1200_i32..1200, -4000_i32..4000, -(1_i64 << 45)..(1 << 45)).prop_map(|(months, days, micros)| Interval {
        months,
        days,
        micros,
    })
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        (any::<i64>(), 0_u32..5).prop_map(|(n, scale)| Json::Number(Numeric::from_parts(n.into(), scale).unwrap())),
        text().prop_map(|text| Json::String(text.into())),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
            prop::collection::vec(("[a-c]{0,2}", inner), 0..4)
                .prop_map(|pairs| Json::object(pairs.into_iter().map(|(key, value)| (key.into(), value)).collect())),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ab ]{0,4}", ".{0,40}"].prop_map(|text| text.replace('\0', ""))
}

/// A pair of values of one type.
fn pairs() -> impl Strategy<Value = (base::Oid, Value, Value)> {
    fn both<T: std::fmt::Debug>(
        oid: base::Oid,
        strategy: impl Strategy<Value = T> + Clone,
        wrap: fn(T) -> Value,
    ) -> impl Strategy<Value = (base::Oid, Value, Value)> {
        (strategy.clone(), strategy).prop_map(move |(left, right)| (oid, wrap(left), wrap(right)))
    }
    prop_oneof![
        (numeric(), numeric()).prop_map(|(l, r)| (oids::NUMERIC, Value::Numeric(l), Value::Numeric(r))),
        (interval(), interval()).prop_map(|(l, r)| (oids::INTERVAL, Value::Interval(l), Value::Interval(r))),
        (text(), text()).prop_map(|(l, r)| (oids::TEXT, Value::from(l), Value::from(r))),
        (text(), text()).prop_map(|(l, r)| (oids::BPCHAR, Value::from(l), Value::from(r))),
        (json(), json()).prop_map(|(l, r)| {
            (oids::JSONB, Value::Jsonb(Arc::new(JsonbValue(l))), Value::Jsonb(Arc::new(JsonbValue(r))))
        }),
        both(oids::INT2, any::<i16>(), Value::Int2),
        both(oids::INT4, any::<i32>(), Value::Int4),
        both(oids::INT8, any::<i64>(), Value::Int8),
        both(oids::FLOAT4, any::<f32>(), Value::Float4),
        both(oids::FLOAT8, any::<f64>(), Value::Float8),
        both(oids::BOOL, any::<bool>(), Value::Bool),
        both(oids::OID, any::<u32>(), Value::Oid),
        both(oids::CHAR, 1_u8..127, Value::Char),
        both(oids::DATE, -2_451_545..2_145_031_949, Value::Date),
        both(oids::TIMESTAMP, -211_813_488_000_000_000_i64..9_223_371_331_200_000_000, Value::Timestamp),
        both(oids::TIMESTAMPTZ, -211_813_488_000_000_000_i64..9_223_371_331_200_000_000, Value::TimestampTz),
        both(oids::TIME, 0_i64..=86_400_000_000, Value::Time),
        both(oids::TIMETZ, (0_i64..86_400_000_000, -50_000_i32..50_000), |(micros, zone)| {
            Value::TimeTz(TimeTz { micros, zone })
        }),
        both(oids::UUID, any::<[u8; 16]>(), Value::Uuid),
        both(oids::MONEY, any::<i64>(), Value::Money),
        both(oids::VARBIT, (0_usize..40, prop::collection::vec(0_u8..4, 5)), |(length, bytes)| {
            Value::Bits(Arc::new(bit_strings::BitString::new(length, bytes)))
        }),
        both(oids::MACADDR, any::<[u8; 6]>(), Value::MacAddr),
        both(oids::MACADDR8, any::<[u8; 8]>(), Value::MacAddr8),
        both(oids::PG_LSN, 0_u64..1 << 62, Value::PgLsn),
        (prop::collection::vec(any::<u8>(), 0..40), prop::collection::vec(0_u8..3, 0..4)).prop_map(|(l, r)| (
            oids::BYTEA,
            Value::bytea(l),
            Value::bytea(r)
        )),
        (
            prop::collection::vec(prop::option::of(-2_i32..3), 0..5),
            prop::collection::vec(prop::option::of(-2_i32..3), 0..5)
        )
            .prop_map(|(l, r)| (oids::INT4_ARRAY, array_of(oids::INT4, l), array_of(oids::INT4, r))),
        (prop::collection::vec(prop::option::of(text()), 0..4), prop::collection::vec(prop::option::of(text()), 0..4))
            .prop_map(|(l, r)| (oids::TEXT_ARRAY, array_of(oids::TEXT, l), array_of(oids::TEXT, r))),
    ]
}

fn array_of<T: Into<Value>>(element: base::Oid, values: Vec<Option<T>>) -> Value {
    Value::array(element, values.into_iter().map(Into::into).collect())
}

fn key(kind: StorageKind, value: &Value, descending: bool) -> KeyBuffer {
    let mut key = KeyBuffer::new();
    kind.push_value_key(value, descending, false, &mut key).unwrap();
    key
}

fn hash(value: &Value, oid: base::Oid) -> u64 {
    let mut hasher = DefaultHasher::new();
    hash_value(value, oid, &mut hasher);
    hasher.finish()
}

proptest! {
    #![proptest_config(ProptestConfig {
        // more by setting COHORT_PROPTEST_CASES; a failure prints its input
        cases: std::env::var("COHORT_PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2000),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn keys_are_ordered_as_values_are((oid, left, right) in pairs()) {
        let kind = StorageKind::of(&BuiltinCatalog, oid);
        let order = comparator(oid).unwrap()(&left, &right);
        prop_assert_eq!(key(kind, &left, false).as_slice().cmp(key(kind, &right, false).as_slice()), order);
        prop_assert_eq!(key(kind, &left, true).as_slice().cmp(key(kind, &right, true).as_slice()), order.reverse());
        prop_assert_eq!(comparator(oid).unwrap()(&right, &left), order.reverse());
        if order == Ordering::Equal {
            prop_assert_eq!(hash(&left, oid), hash(&right, oid));
        }
    }

    #[test]
    fn values_come_back_from_rows_and_give_the_same_keys((oid, value, _) in pairs()) {
        let kind = StorageKind::of(&BuiltinCatalog, oid);
        let arena = Bump::new();
        let datum = kind.write(&value, &arena);
        let back = kind.read(datum).unwrap();
        prop_assert!(comparator(oid).unwrap()(&value, &back).is_eq());
        prop_assert_eq!(format!("{value:?}"), format!("{back:?}"));
        let mut stored = KeyBuffer::new();
        kind.push_datum_key(datum, false, false, &mut stored).unwrap();
        prop_assert_eq!(stored, key(kind, &value, false));
    }

    #[test]
    fn values_come_back_from_text_and_binary((oid, value, _) in pairs()) {
        let mut context = PlainContext::default();
        let ty = SqlType::new(oid);
        let text = output_string(&value, oid, &context.settings, &BuiltinCatalog).unwrap();
        let read = input(&mut context, &text, ty).unwrap();
        let again = output_string(&read, oid, &context.settings, &BuiltinCatalog).unwrap();
        prop_assert_eq!(&text, &again);
        prop_assert!(comparator(oid).unwrap()(&value, &read).is_eq(), "{} became {:?}", text, read);
        let mut bytes = Vec::new();
        binary_output(&value, oid, &BuiltinCatalog, &mut bytes).unwrap();
        let read = binary_input(&mut context, &bytes, ty).unwrap();
        prop_assert_eq!(output_string(&read, oid, &context.settings, &BuiltinCatalog).unwrap(), text);
    }

    #[test]
    fn reading_arbitrary_text_and_bytes_never_panics(oid in 0_u32..5100, text in ".{0,24}", bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let mut context = PlainContext::default();
        let ty = SqlType::new(base::Oid(oid));
        let _ = input(&mut context, &text, ty);
        let _ = binary_input(&mut context, &bytes, ty);
        let _ = parse_type_name(&BuiltinCatalog, &text);
        let _ = StorageKind::of(&BuiltinCatalog, ty.oid).read(schema::row::Datum::Bytes(&bytes));
    }

    #[test]
    fn date_like_text_never_panics(text in "[0-9JanMar:. /+TZ-]{0,24}( (BC|PM|PST|ago|days|mons|h))?") {
        let mut context = PlainContext::default();
        for oid in [oids::DATE, oids::TIME, oids::TIMETZ, oids::TIMESTAMP, oids::TIMESTAMPTZ, oids::INTERVAL] {
            if let Ok(value) = input(&mut context, &text, SqlType::new(oid)) {
                let shown = output_string(&value, oid, &context.settings, &BuiltinCatalog).unwrap();
                // A POSIX zone such as `r16` may be 16 hours or more from UTC, but a zone that is written as a number may not.
                // So PostgreSQL, too, shows a timetz that it can't read.
                let read = input(&mut context, &shown, SqlType::new(oid));
                if matches!(value, Value::TimeTz(time) if time.zone.abs() >= 16 * 3600) {
                    prop_assert_eq!(read.unwrap_err().sqlstate(), base::sqlstate::INVALID_TIME_ZONE_DISPLACEMENT_VALUE);
                } else {
                    prop_assert_eq!(output_string(&read.unwrap(), oid, &context.settings, &BuiltinCatalog).unwrap(), shown);
                }
            }
        }
    }

    #[test]
    fn numeric_arithmetic_agrees_with_integers(left in any::<i64>(), right in any::<i64>()) {
        let (a, b) = (Numeric::from(left), Numeric::from(right));
        prop_assert_eq!(a.add(&b).unwrap().to_string(), (i128::from(left) + i128::from(right)).to_string());
        prop_assert_eq!(a.subtract(&b).unwrap().to_string(), (i128::from(left) - i128::from(right)).to_string());
        prop_assert_eq!(a.multiply(&b).unwrap().to_string(), (i128::from(left) * i128::from(right)).to_string());
        if right != 0 {
            prop_assert_eq!(a.divide_truncated(&b).unwrap().to_string(), (i128::from(left) / i128::from(right)).to_string());
            prop_assert_eq!(a.remainder(&b).unwrap().to_string(), (i128::from(left) % i128::from(right)).to_string());
        }
    }

    #[test]
    fn numeric_laws_hold(a in numeric(), b in numeric()) {
        prop_assert_eq!(a.add(&b).unwrap().to_string(), b.add(&a).unwrap().to_string());
        prop_assert_eq!(a.multiply(&b).unwrap().to_string(), b.multiply(&a).unwrap().to_string());
        prop_assert_eq!(a.compare(&b), b.compare(&a).reverse());
        if a.is_finite() && b.is_finite() {
            prop_assert_eq!(a.add(&b).unwrap().subtract(&b).unwrap().compare(&a), Ordering::Equal);
            if !b.is_zero() {
                let whole = a.divide_truncated(&b).unwrap().multiply(&b).unwrap();
                prop_assert_eq!(whole.add(&a.remainder(&b).unwrap()).unwrap().compare(&a), Ordering::Equal);
            }
        }
    }

    #[test]
    fn patterns_never_panic(pattern in ".{0,16}", subject in ".{0,16}") {
        let _ = pattern::like(subject.as_bytes(), pattern.as_bytes(), true);
        if let Ok(regex) = posix::regex(&pattern, posix::Options::default()) {
            let _ = regex.matches(&subject, 0, 8);
        }
    }

    #[test]
    fn json_never_panics(text in r#"[\[\]{},:"\\0-9eE.+a-z -]{0,24}"#) {
        if let Ok(json) = Json::parse(&text) {
            prop_assert!(json::check(&text).is_ok());
            prop_assert_eq!(Json::parse(&json.to_string()).unwrap().compare(&json), Ordering::Equal);
        }
    }
}
