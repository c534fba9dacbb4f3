//! Choosing functions, operators and common types; aggregates.

use crate::context::{EnumLabel, UserTypeKind};
use crate::*;

use base::Oid;

fn aggregate_of(name: &str, types: &[SqlType], rows: &[&[Value]]) -> String {
    let mut context = PlainContext::default();
    let resolved = resolve_function(&BuiltinCatalog, &Call::new(name, types)).unwrap();
    let Callee::Aggregate(def) = resolved.callee else { panic!("{name} is no aggregate") };
    let mut state = (def.start)(&resolved.types);
    for row in rows {
        let arguments: Vec<Value> = resolved
            .arguments
            .iter()
            .map(|source| match source {
                ArgumentSource::Argument(index, cast) => cast.apply(&mut context, row[*index].clone()).unwrap(),
                _ => panic!("aggregates take what they are given"),
            })
            .collect();
        state.update(&mut context, &arguments).unwrap();
    }
    let value = state.finish(&mut context).unwrap();
    output_string(&value, resolved.types.result.oid, &context.settings, &BuiltinCatalog).unwrap()
}

#[test]
fn aggregates_give_postgresql_s_results() {
    let ints: Vec<Value> = [Value::Int4(1), Value::Int4(2), Value::Null, Value::Int4(4)].to_vec();
    let rows: Vec<&[Value]> = ints.iter().map(std::slice::from_ref).collect();
    let int4 = [SqlType::INT4];
    assert_eq!(aggregate_of("count", &int4, &rows), "3");
    assert_eq!(aggregate_of("count", &[], &rows), "4");
    assert_eq!(aggregate_of("sum", &int4, &rows), "7");
    assert_eq!(aggregate_of("avg", &int4, &rows), "2.3333333333333333");
    assert_eq!(aggregate_of("min", &int4, &rows), "1");
    assert_eq!(aggregate_of("max", &int4, &rows), "4");
    assert_eq!(aggregate_of("stddev", &int4, &rows), "1.5275252316519467");
    assert_eq!(aggregate_of("var_pop", &int4, &rows), "1.5555555555555556");
    assert_eq!(aggregate_of("array_agg", &int4, &rows), "{1,2,NULL,4}");
    assert_eq!(aggregate_of("bit_or", &int4, &rows), "7");
    assert_eq!(aggregate_of("json_agg", &int4, &rows), "[1, 2, null, 4]");
    assert_eq!(aggregate_of("sum", &int4, &[]), "");
    assert_eq!(aggregate_of("count", &int4, &[]), "0");

    let texts =
        [[Value::from("b"), Value::from(",")], [Value::Null, Value::from(";")], [Value::from("a"), Value::from("-")]];
    let rows: Vec<&[Value]> = texts.iter().map(<[Value; 2]>::as_slice).collect();
    assert_eq!(aggregate_of("string_agg", &[SqlType::TEXT, SqlType::UNKNOWN], &rows), "b-a");
    assert_eq!(aggregate_of("max", &[SqlType::TEXT], &rows), "b");

    let floats = [Value::Float8(1.5), Value::Float8(2.5)];
    let rows: Vec<&[Value]> = floats.iter().map(std::slice::from_ref).collect();
    let float8 = [SqlType::new(oids::FLOAT8)];
    assert_eq!(aggregate_of("sum", &float8, &rows), "4");
    assert_eq!(aggregate_of("avg", &float8, &rows), "2");
    assert_eq!(aggregate_of("stddev_samp", &float8, &rows), "0.7071067811865476");

    let numerics =
        ["1.10", "2.205", "99999999999999999999999.5"].map(|text| Value::Numeric(Numeric::parse(text).unwrap()));
    let rows: Vec<&[Value]> = numerics.iter().map(std::slice::from_ref).collect();
    assert_eq!(aggregate_of("sum", &[SqlType::NUMERIC], &rows), "100000000000000000000002.805");
}

#[test]
fn sums_beyond_their_type_are_refused() {
    let mut context = PlainContext::default();
    let def = aggregates_named("sum").iter().find(|def| def.arguments == [oids::INT4]).unwrap();
    let types = CallTypes::new([SqlType::INT4], SqlType::INT8);
    let mut state = (def.start)(&types);
    for _ in 0..2 {
        state.update(&mut context, &[Value::Int4(i32::MAX)]).unwrap();
    }
    let def = aggregates_named("sum").iter().find(|def| def.arguments == [oids::INT8]).unwrap();
    let mut wide = (def.start)(&types);
    for _ in 0..3 {
        wide.update(&mut context, &[Value::Int8(i64::MAX)]).unwrap();
    }
    let value = wide.finish(&mut context).unwrap();
    assert_eq!(
        output_string(&value, oids::NUMERIC, &context.settings, &BuiltinCatalog).unwrap(),
        "27670116110564327421"
    );
}

#[test]
fn common_types_follow_postgresql() {
    let common =
        |types: &[SqlType]| common_type(&BuiltinCatalog, "CASE", types).map(|ty| format_type(&BuiltinCatalog, ty));
    let (int4, int8, unknown, text) = (SqlType::INT4, SqlType::INT8, SqlType::UNKNOWN, SqlType::TEXT);
    assert_eq!(common(&[int4, int8]).unwrap(), "bigint");
    assert_eq!(common(&[unknown, int4]).unwrap(), "integer");
    assert_eq!(common(&[unknown, unknown]).unwrap(), "text");
    assert_eq!(common(&[int4, SqlType::NUMERIC, SqlType::new(oids::FLOAT8)]).unwrap(), "double precision");
    assert_eq!(
        common(&[SqlType::with_typmod(oids::VARCHAR, 7), SqlType::with_typmod(oids::VARCHAR, 7)]).unwrap(),
        "character varying(3)"
    );
    assert_eq!(
        common(&[SqlType::with_typmod(oids::VARCHAR, 7), SqlType::with_typmod(oids::VARCHAR, 9)]).unwrap(),
        "character varying"
    );
    // each can be cast to the other, so the first one stays
    assert_eq!(common(&[SqlType::new(oids::VARCHAR), text]).unwrap(), "character varying");
    assert_eq!(common(&[text, SqlType::new(oids::VARCHAR)]).unwrap(), "text");
    let error = common(&[int4, text]).unwrap_err();
    assert_eq!(error.message(), "CASE types integer and text cannot be matched");
    assert_eq!(error.sqlstate().as_str(), "42804");
}

/// A catalog with an enum, a domain and a function.
struct UserCatalog;

const MOOD: Oid = Oid(16400);
const POSITIVE: Oid = Oid(16402);

impl CatalogLookup for UserCatalog {
    fn user_type(&self, oid: Oid) -> Option<std::sync::Arc<UserType>> {
        let (name, kind) = match oid {
            MOOD => {
                let label = |position: i64, label: &str| EnumLabel { key: position << 32, label: label.to_owned() };
                ("mood", UserTypeKind::Enum(vec![label(1, "sad"), label(2, "ok")]))
            }
            POSITIVE => ("positive", UserTypeKind::Domain(SqlType::INT4)),
            _ => return None,
        };
        let (name, schema) = (name.to_owned(), "public".to_owned());
        Some(std::sync::Arc::new(UserType { oid, name, schema, array: Oid::INVALID, kind }))
    }

    fn user_type_named(&self, _schema: Option<&str>, name: &str) -> Option<Oid> {
        match name {
            "mood" => Some(MOOD),
            "positive" => Some(POSITIVE),
            _ => None,
        }
    }

    fn user_functions(&self, _schema: Option<&str>, name: &str) -> UserFunctions {
        if name != "add" {
            return UserFunctions::default();
        }
        let add = UserFunction {
            oid: Oid(16500),
            schema: "public".to_owned(),
            name: name.to_owned(),
            arguments: vec![oids::INT4, oids::INT4],
            argument_names: vec!["a".to_owned(), "b".to_owned()],
            defaults: 1,
            variadic: false,
            result: oids::INT4,
            returns_set: false,
            procedure: false,
        };
        UserFunctions { before_builtins: Vec::new(), after_builtins: vec![add] }
    }

    fn check_domain(&self, domain: Oid, value: &Value) -> base::Result<()> {
        match value.as_i64() {
            Some(number) if domain == POSITIVE && number <= 0 => Err(base::Error::new(
                base::sqlstate::CHECK_VIOLATION,
                "value for domain positive violates check constraint \"positive_check\"",
            )),
            _ => Ok(()),
        }
    }
}

#[test]
fn functions_of_users_take_names_and_defaults() {
    let types = [SqlType::INT4, SqlType::UNKNOWN];
    let call = Call { argument_names: &[Some("b"), Some("a")], ..Call::new("add", &types) };
    let resolved = resolve_function(&UserCatalog, &call).unwrap();
    assert!(matches!(resolved.arguments[0], ArgumentSource::Argument(1, _)));
    assert!(matches!(resolved.arguments[1], ArgumentSource::Argument(0, _)));
    let resolved = resolve_function(&UserCatalog, &Call::new("add", &types[..1])).unwrap();
    assert!(matches!(resolved.arguments[1], ArgumentSource::Default(1)));
    let error = resolve_function(&UserCatalog, &Call::new("add", &[])).unwrap_err();
    assert_eq!(error.message(), "function add() does not exist");
    let error =
        resolve_function(&UserCatalog, &Call { procedure: true, ..Call::new("add", &[SqlType::TEXT]) }).unwrap_err();
    assert_eq!(error.message(), "procedure add(text) does not exist");
}

#[test]
fn enums_and_domains_resolve_to_what_they_are_made_of() {
    let mood = SqlType::new(MOOD);
    let resolved = resolve_operator(&UserCatalog, None, "<", Some(mood), SqlType::UNKNOWN).unwrap();
    assert_eq!(resolved.function.name, "enum_lt");
    assert_eq!(resolved.casts[1].target.oid, MOOD);
    let resolved = resolve_operator(&UserCatalog, None, "+", Some(SqlType::new(POSITIVE)), SqlType::INT8).unwrap();
    assert_eq!(resolved.function.name, "int48pl");
    assert_eq!(StorageKind::of(&UserCatalog, POSITIVE), StorageKind::Int4);

    let mut context = PlainContext::default();
    let cast = Cast::explicit(&UserCatalog, SqlType::INT4, SqlType::new(POSITIVE)).unwrap();
    assert_eq!(cast.target.oid, POSITIVE);
    // the context of this test knows no domain, so nothing is checked
    assert_eq!(cast.apply(&mut context, Value::Int4(-1)).unwrap(), Value::Int4(-1));
    assert!(UserCatalog.check_domain(POSITIVE, &Value::Int4(-1)).is_err());
}

#[test]
fn modifiers_are_checked_where_types_are_named() {
    let encode =
        |oid: Oid, modifiers: &[i32]| encode_typmod(oid, modifiers).map_err(|error| error.message().to_owned());
    assert_eq!(encode(oids::VARCHAR, &[3]), Ok(7));
    assert_eq!(encode(oids::VARCHAR, &[0]), Err("length for type varchar must be at least 1".to_owned()));
    assert_eq!(encode(oids::BPCHAR, &[10_485_761]), Err("length for type char cannot exceed 10485760".to_owned()));
    assert_eq!(encode(oids::NUMERIC, &[10, 2]), Ok(655_366));
    assert_eq!(encode(oids::NUMERIC, &[0]), Err("NUMERIC precision 0 must be between 1 and 1000".to_owned()));
    assert_eq!(encode(oids::TIMESTAMP, &[9]), Ok(6));
    assert_eq!(encode(oids::INT4, &[1]), Err("type modifier is not allowed for type \"int4\"".to_owned()));
}
