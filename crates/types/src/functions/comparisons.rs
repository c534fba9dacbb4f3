//! `= <> < <= > >=` of every type that has an order: the functions, and the operators that call them.

use std::cmp::Ordering;

use base::{Oid, Result};

use super::records;
use crate::compare::{compare_f64, compare_networks, compare_padded, compare_values};
use crate::context::EvalContext;
use crate::datetime::arithmetic::{date_to_timestamp, date_to_timestamptz, timestamp_to_timestamptz};
use crate::function_def::{FunctionDef, Volatility};
use crate::oids::*;
use crate::operators::{OperatorDef, OperatorRole};
use crate::value::Value;

/// A way to compare a pair of types.
trait Pair {
    /// Stable where the session's zone decides.
    const VOLATILITY: Volatility = Volatility::Immutable;

    /// Whether they can be compared at all.
    ///
    /// # Errors
    /// 42804 for rows whose columns differ in type.
    #[inline]
    fn check(_: &mut dyn EvalContext, _: &Value, _: &Value) -> Result<()> {
        Ok(())
    }

    /// Their order; neither is NULL.
    fn compare(context: &mut dyn EvalContext, left: &Value, right: &Value) -> Ordering;
}

struct Same;
struct Int4;
struct Int8;
struct Integers;
struct Text;
struct Padded;
struct Floats;
struct Networks;
struct Moments;
struct Records;
struct ZonedMoments;

impl Pair for Same {
    fn compare(_: &mut dyn EvalContext, left: &Value, right: &Value) -> Ordering {
        compare_values(left, right)
    }
}

impl Pair for Int4 {
    #[inline]
    fn compare(_: &mut dyn EvalContext, left: &Value, right: &Value) -> Ordering {
        match (left, right) {
            (Value::Int4(left), Value::Int4(right)) => left.cmp(right),
            _ => compare_values(left, right),
        }
    }
}

impl Pair for Int8 {
    #[inline]
    fn compare(_: &mut dyn EvalContext, left: &Value, right: &Value) -> Ordering {
        match (left, right) {
            (Value::Int8(left), Value::Int8(right)) => left.cmp(right),
            _ => compare_values(left, right),
        }
    }
}

impl Pair for Integers {
    fn compare(_: &mut dyn EvalContext, left: &Value, right: &Value) -> Ordering {
        left.as_i64().cmp(&right.as_i64())
    }
}

impl Pair for Text {
    fn compare(_: &mut dyn EvalContext, left: &Value, right: &Value) -> Ordering {
        match (left, right) {
            (Value::Text(left), Value::Text(right)) => left.as_bytes().cmp(right.as_bytes()),
            _ => compare_values(left, right),
        }
    }
}

impl Pair for Records {
    fn check(context: &mut dyn EvalContext, left: &Value, right: &Value) -> Result<()> {
        match (left, right) {
            (Value::Record(left), Value::Record(right)) => {
                records::check_comparable(context, left, right, compare_values)
            }
            _ => Ok(()),
        }
    }

    fn compare(_: &mut dyn EvalContext, left: &Value, right: &Value) -> Ordering {
        compare_values(left, right)
    }
}

impl Pair for Networks {
    fn compare(_: &mut dyn EvalContext, left: &Value, right: &Value) -> Ordering {
        compare_networks(left, right)
    }
}

impl Pair for Padded {
    fn compare(_: &mut dyn EvalContext, left: &Value, right: &Value) -> Ordering {
        compare_padded(left, right)
    }
}

impl Pair for Floats {
    fn compare(_: &mut dyn EvalContext, left: &Value, right: &Value) -> Ordering {
        let double = |value: &Value| match value {
            Value::Float4(value) => f64::from(*value),
            Value::Float8(value) => *value,
            _ => f64::NAN,
        };
        compare_f64(double(left), double(right))
    }
}

/// Dates and timestamps meet as timestamps; if one has a zone, both are taken as moments in the session's zone.
impl Pair for Moments {
    fn compare(context: &mut dyn EvalContext, left: &Value, right: &Value) -> Ordering {
        let with_zone = matches!(left, Value::TimestampTz(_)) || matches!(right, Value::TimestampTz(_));
        place_in_time(context, left, with_zone).cmp(&place_in_time(context, right, with_zone))
    }
}

/// The place of a date or timestamp among all moments; `with_zone`: in the session's zone. Values that can't be converted lie beyond all
/// finite moments on their side, and within the infinite ones.
pub(super) fn place_in_time(context: &dyn EvalContext, value: &Value, with_zone: bool) -> i64 {
    let zone = &context.format().time_zone;
    let (moment, is_early) = match value {
        Value::Date(days) if with_zone => (date_to_timestamptz(*days, zone), *days < 0),
        Value::Date(days) => (date_to_timestamp(*days), *days < 0),
        Value::Timestamp(timestamp) if with_zone => (timestamp_to_timestamptz(*timestamp, zone), *timestamp < 0),
        Value::Timestamp(timestamp) | Value::TimestampTz(timestamp) => (Ok(*timestamp), false),
        _ => (Ok(0), false),
    };
    moment.unwrap_or(if is_early { i64::MIN + 1 } else { i64::MAX - 1 })
}

impl Pair for ZonedMoments {
    const VOLATILITY: Volatility = Volatility::Stable;

    fn compare(context: &mut dyn EvalContext, left: &Value, right: &Value) -> Ordering {
        Moments::compare(context, left, right)
    }
}

fn equal<P: Pair>(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    P::check(context, &a[0], &a[1])?;
    Ok(Value::Bool(P::compare(context, &a[0], &a[1]) == Ordering::Equal))
}

fn not_equal<P: Pair>(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    P::check(context, &a[0], &a[1])?;
    Ok(Value::Bool(P::compare(context, &a[0], &a[1]) != Ordering::Equal))
}

fn less<P: Pair>(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    P::check(context, &a[0], &a[1])?;
    Ok(Value::Bool(P::compare(context, &a[0], &a[1]) == Ordering::Less))
}

fn less_equal<P: Pair>(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    P::check(context, &a[0], &a[1])?;
    Ok(Value::Bool(P::compare(context, &a[0], &a[1]) != Ordering::Greater))
}

fn greater<P: Pair>(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    P::check(context, &a[0], &a[1])?;
    Ok(Value::Bool(P::compare(context, &a[0], &a[1]) == Ordering::Greater))
}

fn greater_equal<P: Pair>(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    P::check(context, &a[0], &a[1])?;
    Ok(Value::Bool(P::compare(context, &a[0], &a[1]) != Ordering::Less))
}

/// The comparison operators of one pair of types, for finding commutators.
struct Family {
    left: Oid,
    right: Oid,
    operators: [u32; 6],
}

const fn same(left: Oid, right: Oid) -> bool {
    left.0 == right.0
}

/// The operator that gives the same with its operands swapped.
const fn commutator(left: Oid, right: Oid, index: usize) -> u32 {
    const SWAPPED: [usize; 6] = [0, 1, 4, 5, 2, 3];
    let mut family = 0;
    while family < FAMILIES.len() {
        if same(FAMILIES[family].left, right) && same(FAMILIES[family].right, left) {
            return FAMILIES[family].operators[SWAPPED[index]];
        }
        family += 1;
    }
    0
}

const ROLES: [OperatorRole; 6] = [
    OperatorRole::Equal,
    OperatorRole::NotEqual,
    OperatorRole::Less,
    OperatorRole::LessEqual,
    OperatorRole::Greater,
    OperatorRole::GreaterEqual,
];
const NAMES: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];
const NEGATED: [usize; 6] = [1, 0, 5, 4, 3, 2];

const fn comparison(left: Oid, right: Oid, operators: [u32; 6], functions: [u32; 6], index: usize) -> OperatorDef {
    OperatorDef {
        oid: Oid(operators[index]),
        name: NAMES[index],
        left,
        right,
        result: BOOL,
        function: Oid(functions[index]),
        commutator: Oid(commutator(left, right, index)),
        negator: Oid(operators[NEGATED[index]]),
        role: ROLES[index],
    }
}

/// One line for a pair of types: how it is compared, the types, the operators' numbers for `= <> < <= > >=`, the
/// names of their functions, and the functions' numbers.
macro_rules! comparisons {
    ($($pair:ident $left:ident $right:ident [$($operator:literal)*] [$eq:literal $ne:literal $lt:literal $le:literal $gt:literal $ge:literal] [$feq:literal $fne:literal $flt:literal $fle:literal $fgt:literal $fge:literal];)*) => {
        const FAMILIES: &[Family] = &[$(Family { left: $left, right: $right, operators: [$($operator),*] }),*];

        /// The comparison functions, of stable volatility where a zone is involved.
        pub(super) static FUNCTIONS: &[FunctionDef] = &[$(
            FunctionDef::plain($feq, $eq, &[$left, $right], BOOL, equal::<$pair>).with_volatility(<$pair>::VOLATILITY),
            FunctionDef::plain($fne, $ne, &[$left, $right], BOOL, not_equal::<$pair>).with_volatility(<$pair>::VOLATILITY),
            FunctionDef::plain($flt, $lt, &[$left, $right], BOOL, less::<$pair>).with_volatility(<$pair>::VOLATILITY),
            FunctionDef::plain($fle, $le, &[$left, $right], BOOL, less_equal::<$pair>).with_volatility(<$pair>::VOLATILITY),
            FunctionDef::plain($fgt, $gt, &[$left, $right], BOOL, greater::<$pair>).with_volatility(<$pair>::VOLATILITY),
            FunctionDef::plain($fge, $ge, &[$left, $right], BOOL, greater_equal::<$pair>).with_volatility(<$pair>::VOLATILITY),
        )*];

        /// The comparison operators.
        pub(crate) static OPERATORS: &[OperatorDef] = &[$(
            comparison($left, $right, [$($operator),*], [$feq, $fne, $flt, $fle, $fgt, $fge], 0),
            comparison($left, $right, [$($operator),*], [$feq, $fne, $flt, $fle, $fgt, $fge], 1),
            comparison($left, $right, [$($operator),*], [$feq, $fne, $flt, $fle, $fgt, $fge], 2),
            comparison($left, $right, [$($operator),*], [$feq, $fne, $flt, $fle, $fgt, $fge], 3),
            comparison($left, $right, [$($operator),*], [$feq, $fne, $flt, $fle, $fgt, $fge], 4),
            comparison($left, $right, [$($operator),*], [$feq, $fne, $flt, $fle, $fgt, $fge], 5),
        )*];
    };
}

comparisons! {
    Same BOOL BOOL [91 85 58 1694 59 1695] ["booleq" "boolne" "boollt" "boolle" "boolgt" "boolge"] [60 84 56 1691 57 1692];
    Same BYTEA BYTEA [1955 1956 1957 1958 1959 1960] ["byteaeq" "byteane" "bytealt" "byteale" "byteagt" "byteage"] [1948 1953 1949 1950 1951 1952];
    Same CHAR CHAR [92 630 631 632 633 634] ["chareq" "charne" "charlt" "charle" "chargt" "charge"] [61 70 1246 72 73 74];
    Text NAME NAME [93 643 660 661 662 663] ["nameeq" "namene" "namelt" "namele" "namegt" "namege"] [62 659 655 656 657 658];
    Text NAME TEXT [254 259 255 256 258 257] ["nameeqtext" "namenetext" "namelttext" "nameletext" "namegttext" "namegetext"] [240 245 241 242 244 243];
    Int8 INT8 INT8 [410 411 412 414 413 415] ["int8eq" "int8ne" "int8lt" "int8le" "int8gt" "int8ge"] [467 468 469 471 470 472];
    Integers INT8 INT2 [1868 1869 1870 1872 1871 1873] ["int82eq" "int82ne" "int82lt" "int82le" "int82gt" "int82ge"] [1856 1857 1858 1860 1859 1861];
    Integers INT8 INT4 [416 417 418 420 419 430] ["int84eq" "int84ne" "int84lt" "int84le" "int84gt" "int84ge"] [474 475 476 478 477 479];
    Integers INT2 INT8 [1862 1863 1864 1866 1865 1867] ["int28eq" "int28ne" "int28lt" "int28le" "int28gt" "int28ge"] [1850 1851 1852 1854 1853 1855];
    Same INT2 INT2 [94 519 95 522 520 524] ["int2eq" "int2ne" "int2lt" "int2le" "int2gt" "int2ge"] [63 145 64 148 146 151];
    Integers INT2 INT4 [532 538 534 540 536 542] ["int24eq" "int24ne" "int24lt" "int24le" "int24gt" "int24ge"] [158 164 160 166 162 168];
    Integers INT4 INT8 [15 36 37 80 76 82] ["int48eq" "int48ne" "int48lt" "int48le" "int48gt" "int48ge"] [852 853 854 856 855 857];
    Integers INT4 INT2 [533 539 535 541 537 543] ["int42eq" "int42ne" "int42lt" "int42le" "int42gt" "int42ge"] [159 165 161 167 163 169];
    Int4 INT4 INT4 [96 518 97 523 521 525] ["int4eq" "int4ne" "int4lt" "int4le" "int4gt" "int4ge"] [65 144 66 149 147 150];
    Text TEXT NAME [260 265 261 262 264 263] ["texteqname" "textnename" "textltname" "textlename" "textgtname" "textgename"] [247 252 248 249 251 250];
    Text TEXT TEXT [98 531 664 665 666 667] ["texteq" "textne" "text_lt" "text_le" "text_gt" "text_ge"] [67 157 740 741 742 743];
    Same OID OID [607 608 609 611 610 612] ["oideq" "oidne" "oidlt" "oidle" "oidgt" "oidge"] [184 185 716 717 1638 1639];
    Same TID TID [387 402 2799 2801 2800 2802] ["tideq" "tidne" "tidlt" "tidle" "tidgt" "tidge"] [1292 1265 2791 2793 2790 2792];
    Same OIDVECTOR OIDVECTOR [649 644 645 647 646 648] ["oidvectoreq" "oidvectorne" "oidvectorlt" "oidvectorle" "oidvectorgt" "oidvectorge"] [679 619 677 678 681 680];
    Same FLOAT4 FLOAT4 [620 621 622 624 623 625] ["float4eq" "float4ne" "float4lt" "float4le" "float4gt" "float4ge"] [287 288 289 290 291 292];
    Floats FLOAT4 FLOAT8 [1120 1121 1122 1124 1123 1125] ["float48eq" "float48ne" "float48lt" "float48le" "float48gt" "float48ge"] [299 300 301 302 303 304];
    Floats FLOAT8 FLOAT4 [1130 1131 1132 1134 1133 1135] ["float84eq" "float84ne" "float84lt" "float84le" "float84gt" "float84ge"] [305 306 307 308 309 310];
    Same FLOAT8 FLOAT8 [670 671 672 673 674 675] ["float8eq" "float8ne" "float8lt" "float8le" "float8gt" "float8ge"] [293 294 295 296 297 298];
    Padded BPCHAR BPCHAR [1054 1057 1058 1059 1060 1061] ["bpchareq" "bpcharne" "bpcharlt" "bpcharle" "bpchargt" "bpcharge"] [1048 1053 1049 1050 1051 1052];
    Same DATE DATE [1093 1094 1095 1096 1097 1098] ["date_eq" "date_ne" "date_lt" "date_le" "date_gt" "date_ge"] [1086 1091 1087 1088 1089 1090];
    Moments DATE TIMESTAMP [2347 2350 2345 2346 2349 2348] ["date_eq_timestamp" "date_ne_timestamp" "date_lt_timestamp" "date_le_timestamp" "date_gt_timestamp" "date_ge_timestamp"] [2340 2343 2338 2339 2341 2342];
    ZonedMoments DATE TIMESTAMPTZ [2360 2363 2358 2359 2362 2361] ["date_eq_timestamptz" "date_ne_timestamptz" "date_lt_timestamptz" "date_le_timestamptz" "date_gt_timestamptz" "date_ge_timestamptz"] [2353 2356 2351 2352 2354 2355];
    Same TIME TIME [1108 1109 1110 1111 1112 1113] ["time_eq" "time_ne" "time_lt" "time_le" "time_gt" "time_ge"] [1145 1106 1102 1103 1104 1105];
    Moments TIMESTAMP DATE [2373 2376 2371 2372 2375 2374] ["timestamp_eq_date" "timestamp_ne_date" "timestamp_lt_date" "timestamp_le_date" "timestamp_gt_date" "timestamp_ge_date"] [2366 2369 2364 2365 2367 2368];
    Same TIMESTAMP TIMESTAMP [2060 2061 2062 2063 2064 2065] ["timestamp_eq" "timestamp_ne" "timestamp_lt" "timestamp_le" "timestamp_gt" "timestamp_ge"] [2052 2053 2054 2055 2057 2056];
    ZonedMoments TIMESTAMP TIMESTAMPTZ [2536 2539 2534 2535 2538 2537] ["timestamp_eq_timestamptz" "timestamp_ne_timestamptz" "timestamp_lt_timestamptz" "timestamp_le_timestamptz" "timestamp_gt_timestamptz" "timestamp_ge_timestamptz"] [2522 2525 2520 2521 2523 2524];
    ZonedMoments TIMESTAMPTZ DATE [2386 2389 2384 2385 2388 2387] ["timestamptz_eq_date" "timestamptz_ne_date" "timestamptz_lt_date" "timestamptz_le_date" "timestamptz_gt_date" "timestamptz_ge_date"] [2379 2382 2377 2378 2380 2381];
    ZonedMoments TIMESTAMPTZ TIMESTAMP [2542 2545 2540 2541 2544 2543] ["timestamptz_eq_timestamp" "timestamptz_ne_timestamp" "timestamptz_lt_timestamp" "timestamptz_le_timestamp" "timestamptz_gt_timestamp" "timestamptz_ge_timestamp"] [2529 2532 2527 2528 2530 2531];
    Same TIMESTAMPTZ TIMESTAMPTZ [1320 1321 1322 1323 1324 1325] ["timestamptz_eq" "timestamptz_ne" "timestamptz_lt" "timestamptz_le" "timestamptz_gt" "timestamptz_ge"] [1152 1153 1154 1155 1157 1156];
    Same INTERVAL INTERVAL [1330 1331 1332 1333 1334 1335] ["interval_eq" "interval_ne" "interval_lt" "interval_le" "interval_gt" "interval_ge"] [1162 1163 1164 1165 1167 1166];
    Same TIMETZ TIMETZ [1550 1551 1552 1553 1554 1555] ["timetz_eq" "timetz_ne" "timetz_lt" "timetz_le" "timetz_gt" "timetz_ge"] [1352 1353 1354 1355 1357 1356];
    Same NUMERIC NUMERIC [1752 1753 1754 1755 1756 1757] ["numeric_eq" "numeric_ne" "numeric_lt" "numeric_le" "numeric_gt" "numeric_ge"] [1718 1719 1722 1723 1720 1721];
    Records RECORD RECORD [2988 2989 2990 2992 2991 2993] ["record_eq" "record_ne" "record_lt" "record_le" "record_gt" "record_ge"] [2981 2982 2983 2985 2984 2986];
    Same ANYARRAY ANYARRAY [1070 1071 1072 1074 1073 1075] ["array_eq" "array_ne" "array_lt" "array_le" "array_gt" "array_ge"] [744 390 391 393 392 396];
    Same UUID UUID [2972 2973 2974 2976 2975 2977] ["uuid_eq" "uuid_ne" "uuid_lt" "uuid_le" "uuid_gt" "uuid_ge"] [2956 2959 2954 2955 2958 2957];
    Same MONEY MONEY [900 901 902 904 903 905] ["cash_eq" "cash_ne" "cash_lt" "cash_le" "cash_gt" "cash_ge"] [888 889 890 891 892 893];
    Same BIT BIT [1784 1785 1786 1788 1787 1789] ["biteq" "bitne" "bitlt" "bitle" "bitgt" "bitge"] [1581 1582 1595 1594 1593 1592];
    Same VARBIT VARBIT [1804 1805 1806 1808 1807 1809] ["varbiteq" "varbitne" "varbitlt" "varbitle" "varbitgt" "varbitge"] [1666 1667 1671 1670 1669 1668];
    Same MACADDR MACADDR [1220 1221 1222 1223 1224 1225] ["macaddr_eq" "macaddr_ne" "macaddr_lt" "macaddr_le" "macaddr_gt" "macaddr_ge"] [830 835 831 832 833 834];
    Same MACADDR8 MACADDR8 [3362 3363 3364 3365 3366 3367] ["macaddr8_eq" "macaddr8_ne" "macaddr8_lt" "macaddr8_le" "macaddr8_gt" "macaddr8_ge"] [4113 4118 4114 4115 4116 4117];
    Networks INET INET [1201 1202 1203 1204 1205 1206] ["network_eq" "network_ne" "network_lt" "network_le" "network_gt" "network_ge"] [920 925 921 922 923 924];
    Same PG_LSN PG_LSN [3222 3223 3224 3226 3225 3227] ["pg_lsn_eq" "pg_lsn_ne" "pg_lsn_lt" "pg_lsn_le" "pg_lsn_gt" "pg_lsn_ge"] [3233 3236 3231 3232 3235 3234];
    Same ANYENUM ANYENUM [3516 3517 3518 3520 3519 3521] ["enum_eq" "enum_ne" "enum_lt" "enum_le" "enum_gt" "enum_ge"] [3508 3509 3510 3512 3511 3513];
    Same JSONB JSONB [3240 3241 3242 3244 3243 3245] ["jsonb_eq" "jsonb_ne" "jsonb_lt" "jsonb_le" "jsonb_gt" "jsonb_ge"] [4043 4038 4039 4041 4040 4042];
    Same XID8 XID8 [5068 5072 5073 5075 5074 5076] ["xid8eq" "xid8ne" "xid8lt" "xid8le" "xid8gt" "xid8ge"] [5084 5085 5034 5036 5035 5037];
}
