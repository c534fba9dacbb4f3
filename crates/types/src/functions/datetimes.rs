//! Functions of dates, times and intervals.

use std::cmp::Ordering;

use base::{Error, Result, sqlstate};

use super::{FunctionDef, mismatch};
use crate::compare::compare_values;
use crate::context::EvalContext;
use crate::datetime::abbreviations::{Abbreviation, zone_abbreviation};
use crate::datetime::calendar::{self, DAY, SECOND, UNIX_EPOCH_SECONDS};
use crate::datetime::{self, TimeZone, arithmetic, extract};
use crate::numeric::Numeric;
use crate::oids::*;
use crate::value::{Interval, TimeTz, Value};

fn as_double(part: Option<Numeric>) -> Value {
    part.map_or(Value::Null, |part| Value::Float8(part.to_f64()))
}

fn as_numeric(part: Option<Numeric>) -> Value {
    part.map_or(Value::Null, Value::Numeric)
}

/// The zone that AT TIME ZONE names: an abbreviation or a zone's name. 22023.
fn zone_named(name: &str) -> Result<TimeZone> {
    let found = match zone_abbreviation(name) {
        Some(Abbreviation::Standard(seconds) | Abbreviation::Daylight(seconds)) => Some(TimeZone::fixed(seconds)),
        Some(Abbreviation::Zone(zone)) => TimeZone::abbreviated(zone, name),
        None => TimeZone::named(name),
    };
    found.ok_or_else(|| Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("time zone \"{name}\" not recognized")))
}

/// A zone by its name, or by a number of hours with a sign, which counts east of UTC here. 22023.
fn zone_east(name: &str) -> Result<TimeZone> {
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        let message = format!("invalid input syntax for type numeric time zone: \"{name}\"");
        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
            .hint("Numeric time zones must have \"-\" or \"+\" as first character."));
    }
    if !name.starts_with(['+', '-']) {
        return zone_named(name);
    }
    let west = zone_named(name)?.seconds_at(0);
    Ok(TimeZone::fixed(-west))
}

/// The zone that is so far east of UTC. 22023.
fn zone_of_interval(interval: &Interval) -> Result<TimeZone> {
    if interval.months != 0 || interval.days != 0 {
        let mut shown = Vec::new();
        datetime::format::write_interval(interval, crate::context::IntervalStyle::Postgres, &mut shown);
        return Err(Error::new(
            sqlstate::INVALID_PARAMETER_VALUE,
            format!("interval time zone \"{}\" must not include months or days", String::from_utf8_lossy(&shown)),
        ));
    }
    Ok(TimeZone::fixed((interval.micros / SECOND) as i32))
}

fn add_in_zone(context: &mut dyn EvalContext, timestamp: i64, interval: &Interval) -> Result<Value> {
    let zone = &context.format().time_zone;
    Ok(Value::TimestampTz(arithmetic::add_interval_in_zone(timestamp, interval, zone)?))
}

fn date_plus(days: i32, interval: &Interval) -> Result<Value> {
    Ok(Value::Timestamp(arithmetic::add_interval(arithmetic::date_to_timestamp(days)?, interval)?))
}

fn subtract_dates(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    take!(a; Date left, Date right);
    if calendar::is_infinite_date(*left) || calendar::is_infinite_date(*right) {
        return Err(Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, "cannot subtract infinite dates"));
    }
    Ok(Value::Int4(left - right))
}

fn date_and_time(days: i32, time: i64) -> Result<Value> {
    let midnight = arithmetic::date_to_timestamp(days)?;
    if calendar::is_infinite(midnight) {
        return Ok(Value::Timestamp(midnight));
    }
    Ok(Value::Timestamp(calendar::check_timestamp(midnight + time)?))
}

fn date_and_timetz(days: i32, time: TimeTz) -> Result<Value> {
    let midnight = arithmetic::date_to_timestamp(days)?;
    if calendar::is_infinite(midnight) {
        return Ok(Value::TimestampTz(midnight));
    }
    let moment = midnight + time.micros + i64::from(time.zone) * SECOND;
    Ok(Value::TimestampTz(calendar::check_timestamp(moment)?))
}

fn timetz_plus(time: TimeTz, interval: &Interval) -> Value {
    Value::TimeTz(TimeTz { micros: arithmetic::add_to_time(time.micros, interval), zone: time.zone })
}

fn time_of_day(local: i64) -> Value {
    if calendar::is_infinite(local) { Value::Null } else { Value::Time(local.rem_euclid(DAY)) }
}

fn timetz_of(context: &mut dyn EvalContext, timestamp: i64) -> Result<Value> {
    let zone = &context.format().time_zone;
    let local = arithmetic::timestamptz_to_timestamp(timestamp, zone)?;
    if calendar::is_infinite(local) {
        return Ok(Value::Null);
    }
    Ok(Value::TimeTz(TimeTz { micros: local.rem_euclid(DAY), zone: -zone.seconds_at(timestamp) }))
}

/// A time in the session's zone, with the offset that holds at this time today.
fn with_session_zone(context: &mut dyn EvalContext, time: i64) -> TimeTz {
    let local = today(context) + time;
    let zone = &context.format().time_zone;
    let seconds = zone.seconds_at_local(&calendar::Civil::from_micros(local));
    TimeTz { micros: time, zone: -seconds }
}

/// Midnight of the session's current day, on its clocks.
fn today(context: &mut dyn EvalContext) -> i64 {
    let now = context.transaction_timestamp();
    let local = context.format().time_zone.to_local(now).unwrap_or(now);
    local - local.rem_euclid(DAY)
}

fn age_in_zone(context: &mut dyn EvalContext, left: i64, right: i64) -> Result<Value> {
    let zone = &context.format().time_zone;
    let left = arithmetic::timestamptz_to_timestamp(left, zone)?;
    let right = arithmetic::timestamptz_to_timestamp(right, zone)?;
    Ok(Value::Interval(arithmetic::age(left, right)?))
}

fn make_timestamp(a: &[Value]) -> Result<i64> {
    take!(a; Int4 year, Int4 month, Int4 day, Int4 hour, Int4 minute, Float8 second);
    let days = arithmetic::make_date(i64::from(*year), i64::from(*month), i64::from(*day))?;
    let time = arithmetic::make_time(i64::from(*hour), i64::from(*minute), *second)?;
    calendar::check_timestamp(i64::from(days) * DAY + time)
}

fn make_interval(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    take!(a; Int4 years, Int4 months, Int4 weeks, Int4 days, Int4 hours, Int4 minutes, Float8 seconds);
    let out_of_range = calendar::interval_out_of_range;
    if !seconds.is_finite() {
        return Err(out_of_range());
    }
    // As in PostgreSQL 15, what takes more bits comes out modulo 2^32, and 2^64.
    let months = years.wrapping_mul(12).wrapping_add(*months);
    let days = weeks.wrapping_mul(7).wrapping_add(*days);
    let clock = i64::from(*hours) * calendar::HOUR + i64::from(*minutes) * calendar::MINUTE;
    let seconds = (seconds * SECOND as f64).round_ties_even();
    if seconds.abs() >= i64::MAX as f64 {
        return Err(out_of_range());
    }
    let micros = clock.wrapping_add(seconds as i64);
    Ok(Value::Interval(Interval { months, days, micros }))
}

/// Seconds since 1970 as a moment. 22008.
fn to_timestamp(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    take!(a; Float8 seconds);
    if seconds.is_infinite() {
        let infinity = if *seconds > 0.0 { calendar::TIMESTAMP_INFINITY } else { calendar::TIMESTAMP_MINUS_INFINITY };
        return Ok(Value::TimestampTz(infinity));
    }
    let out_of_range = |what: String| Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, what);
    if seconds.is_nan() {
        return Err(out_of_range("timestamp cannot be NaN".to_owned()));
    }
    let micros = (seconds - UNIX_EPOCH_SECONDS as f64) * SECOND as f64;
    let rounded = micros.round_ties_even();
    if rounded.abs() >= i64::MAX as f64 || calendar::check_timestamp(rounded as i64).is_err() {
        return Err(out_of_range(format!("timestamp out of range: \"{}\"", crate::number_text::float8_text(*seconds))));
    }
    Ok(Value::TimestampTz(rounded as i64))
}

fn time_of_day_text(context: &mut dyn EvalContext, _: &[Value]) -> Result<Value> {
    let now = datetime::clock_micros();
    let zone = &context.format().time_zone;
    let local = zone.to_local(now).unwrap_or(now);
    let civil = calendar::Civil::from_micros(local);
    let weekday = &calendar::WEEKDAYS[calendar::weekday(local.div_euclid(DAY)) as usize][..3];
    let month = &calendar::MONTHS[civil.month as usize - 1][..3];
    Ok(Value::from(format!(
        "{weekday} {month} {:02} {:02}:{:02}:{:02}.{:06} {} {}",
        civil.day,
        civil.hour,
        civil.minute,
        civil.second,
        civil.micros,
        civil.year,
        zone.offset_at(now).abbreviation
    )))
}

/// Whether two spans have a moment in common, with SQL's rules for NULL ends.
fn overlaps(a: &[Value]) -> Value {
    // the ends of each span in order; NULL counts as unknown
    let ordered = |start: &Value, end: &Value| -> Option<(Value, Value)> {
        match (start.is_null(), end.is_null()) {
            (true, true) => None,
            (true, false) => Some((end.clone(), Value::Null)),
            (false, true) => Some((start.clone(), Value::Null)),
            (false, false) if compare_values(start, end) == Ordering::Greater => Some((end.clone(), start.clone())),
            _ => Some((start.clone(), end.clone())),
        }
    };
    let (Some(first), Some(second)) = (ordered(&a[0], &a[1]), ordered(&a[2], &a[3])) else { return Value::Null };
    let (earlier, later) = match compare_values(&first.0, &second.0) {
        Ordering::Equal => {
            return if first.1.is_null() || second.1.is_null() { Value::Null } else { Value::Bool(true) };
        }
        Ordering::Less => (first, second),
        Ordering::Greater => (second, first),
    };
    if earlier.1.is_null() {
        return Value::Null;
    }
    if compare_values(&later.0, &earlier.1) == Ordering::Less {
        return Value::Bool(true);
    }
    if later.1.is_null() { Value::Null } else { Value::Bool(false) }
}

/// As [`overlaps`], for spans given by start and length.
fn overlaps_with_lengths(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let zone = context.format().time_zone.clone();
    let end = |start: &Value, end: &Value| -> Result<Value> {
        Ok(match (start, end) {
            (Value::Timestamp(start), Value::Interval(length)) => {
                Value::Timestamp(arithmetic::add_interval(*start, length)?)
            }
            (Value::TimestampTz(start), Value::Interval(length)) => {
                Value::TimestampTz(arithmetic::add_interval_in_zone(*start, length, &zone)?)
            }
            (Value::Time(start), Value::Interval(length)) => Value::Time(arithmetic::add_to_time(*start, length)),
            (_, Value::Interval(_)) => Value::Null,
            (_, end) => end.clone(),
        })
    };
    let (first_end, second_end) = (end(&a[0], &a[1])?, end(&a[2], &a[3])?);
    Ok(overlaps(&[a[0].clone(), first_end, a[2].clone(), second_end]))
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::plain(2032, "timestamp_pl_interval", &[TIMESTAMP, INTERVAL], TIMESTAMP, |_, a| { take!(a; Timestamp t, Interval i); Ok(Value::Timestamp(arithmetic::add_interval(*t, i)?)) }),
    FunctionDef::plain(2548, "interval_pl_timestamp", &[INTERVAL, TIMESTAMP], TIMESTAMP, |_, a| { take!(a; Interval i, Timestamp t); Ok(Value::Timestamp(arithmetic::add_interval(*t, i)?)) }),
    FunctionDef::plain(2033, "timestamp_mi_interval", &[TIMESTAMP, INTERVAL], TIMESTAMP, |_, a| { take!(a; Timestamp t, Interval i); Ok(Value::Timestamp(arithmetic::add_interval(*t, &arithmetic::negate(i)?)?)) }),
    FunctionDef::plain(1189, "timestamptz_pl_interval", &[TIMESTAMPTZ, INTERVAL], TIMESTAMPTZ, |context, a| { take!(a; TimestampTz t, Interval i); add_in_zone(context, *t, i) }).stable(),
    FunctionDef::plain(2549, "interval_pl_timestamptz", &[INTERVAL, TIMESTAMPTZ], TIMESTAMPTZ, |context, a| { take!(a; Interval i, TimestampTz t); add_in_zone(context, *t, i) }).stable(),
    FunctionDef::plain(1190, "timestamptz_mi_interval", &[TIMESTAMPTZ, INTERVAL], TIMESTAMPTZ, |context, a| { take!(a; TimestampTz t, Interval i); add_in_zone(context, *t, &arithmetic::negate(i)?) }).stable(),
    FunctionDef::plain(2071, "date_pl_interval", &[DATE, INTERVAL], TIMESTAMP, |_, a| { take!(a; Date d, Interval i); date_plus(*d, i) }),
    FunctionDef::plain(2546, "interval_pl_date", &[INTERVAL, DATE], TIMESTAMP, |_, a| { take!(a; Interval i, Date d); date_plus(*d, i) }),
    FunctionDef::plain(2072, "date_mi_interval", &[DATE, INTERVAL], TIMESTAMP, |_, a| { take!(a; Date d, Interval i); date_plus(*d, &arithmetic::negate(i)?) }),
    FunctionDef::plain(1141, "date_pli", &[DATE, INT4], DATE, |_, a| { take!(a; Date d, Int4 n); Ok(Value::Date(arithmetic::add_days(*d, i64::from(*n))?)) }),
    FunctionDef::plain(2550, "integer_pl_date", &[INT4, DATE], DATE, |_, a| { take!(a; Int4 n, Date d); Ok(Value::Date(arithmetic::add_days(*d, i64::from(*n))?)) }),
    FunctionDef::plain(1142, "date_mii", &[DATE, INT4], DATE, |_, a| { take!(a; Date d, Int4 n); Ok(Value::Date(arithmetic::add_days(*d, -i64::from(*n))?)) }),
    FunctionDef::plain(1140, "date_mi", &[DATE, DATE], INT4, subtract_dates),
    FunctionDef::plain(1272, "datetime_pl", &[DATE, TIME], TIMESTAMP, |_, a| { take!(a; Date d, Time t); date_and_time(*d, *t) }),
    FunctionDef::plain(1296, "timedate_pl", &[TIME, DATE], TIMESTAMP, |_, a| { take!(a; Time t, Date d); date_and_time(*d, *t) }),
    FunctionDef::plain(2025, "timestamp", &[DATE, TIME], TIMESTAMP, |_, a| { take!(a; Date d, Time t); date_and_time(*d, *t) }),
    FunctionDef::plain(1297, "datetimetz_pl", &[DATE, TIMETZ], TIMESTAMPTZ, |_, a| { take!(a; Date d, TimeTz t); date_and_timetz(*d, *t) }),
    FunctionDef::plain(1298, "timetzdate_pl", &[TIMETZ, DATE], TIMESTAMPTZ, |_, a| { take!(a; TimeTz t, Date d); date_and_timetz(*d, *t) }),
    FunctionDef::plain(1359, "timestamptz", &[DATE, TIMETZ], TIMESTAMPTZ, |_, a| { take!(a; Date d, TimeTz t); date_and_timetz(*d, *t) }),
    FunctionDef::plain(1176, "timestamptz", &[DATE, TIME], TIMESTAMPTZ, |context, a| { take!(a; Date d, Time t); let Value::Timestamp(local) = date_and_time(*d, *t)? else { return Ok(Value::Null) }; Ok(Value::TimestampTz(arithmetic::timestamp_to_timestamptz(local, &context.format().time_zone)?)) }).stable(),
    FunctionDef::plain(2031, "timestamp_mi", &[TIMESTAMP, TIMESTAMP], INTERVAL, |_, a| { take!(a; Timestamp l, Timestamp r); Ok(Value::Interval(arithmetic::subtract_timestamps(*l, *r)?)) }),
    FunctionDef::plain(1188, "timestamptz_mi", &[TIMESTAMPTZ, TIMESTAMPTZ], INTERVAL, |_, a| { take!(a; TimestampTz l, TimestampTz r); Ok(Value::Interval(arithmetic::subtract_timestamps(*l, *r)?)) }),
    FunctionDef::plain(1169, "interval_pl", &[INTERVAL, INTERVAL], INTERVAL, |_, a| { take!(a; Interval l, Interval r); Ok(Value::Interval(arithmetic::add_intervals(l, r)?)) }),
    FunctionDef::plain(1170, "interval_mi", &[INTERVAL, INTERVAL], INTERVAL, |_, a| { take!(a; Interval l, Interval r); Ok(Value::Interval(arithmetic::subtract_intervals(l, r)?)) }),
    FunctionDef::plain(1168, "interval_um", &[INTERVAL], INTERVAL, |_, a| { take!(a; Interval i); Ok(Value::Interval(arithmetic::negate(i)?)) }),
    FunctionDef::plain(1618, "interval_mul", &[INTERVAL, FLOAT8], INTERVAL, |_, a| { take!(a; Interval i, Float8 f); Ok(Value::Interval(arithmetic::multiply_interval(i, *f)?)) }),
    FunctionDef::plain(1624, "mul_d_interval", &[FLOAT8, INTERVAL], INTERVAL, |_, a| { take!(a; Float8 f, Interval i); Ok(Value::Interval(arithmetic::multiply_interval(i, *f)?)) }),
    FunctionDef::plain(1326, "interval_div", &[INTERVAL, FLOAT8], INTERVAL, |_, a| { take!(a; Interval i, Float8 f); Ok(Value::Interval(arithmetic::divide_interval(i, *f)?)) }),
    FunctionDef::plain(1690, "time_mi_time", &[TIME, TIME], INTERVAL, |_, a| { take!(a; Time l, Time r); Ok(Value::Interval(Interval { micros: l - r, ..Interval::default() })) }),
    FunctionDef::plain(1747, "time_pl_interval", &[TIME, INTERVAL], TIME, |_, a| { take!(a; Time t, Interval i); Ok(Value::Time(arithmetic::add_to_time(*t, i))) }),
    FunctionDef::plain(1848, "interval_pl_time", &[INTERVAL, TIME], TIME, |_, a| { take!(a; Interval i, Time t); Ok(Value::Time(arithmetic::add_to_time(*t, i))) }),
    FunctionDef::plain(1748, "time_mi_interval", &[TIME, INTERVAL], TIME, |_, a| { take!(a; Time t, Interval i); Ok(Value::Time(arithmetic::add_to_time(*t, &arithmetic::negate(i)?))) }),
    FunctionDef::plain(1749, "timetz_pl_interval", &[TIMETZ, INTERVAL], TIMETZ, |_, a| { take!(a; TimeTz t, Interval i); Ok(timetz_plus(*t, i)) }),
    FunctionDef::plain(2547, "interval_pl_timetz", &[INTERVAL, TIMETZ], TIMETZ, |_, a| { take!(a; Interval i, TimeTz t); Ok(timetz_plus(*t, i)) }),
    FunctionDef::plain(1750, "timetz_mi_interval", &[TIMETZ, INTERVAL], TIMETZ, |_, a| { take!(a; TimeTz t, Interval i); Ok(timetz_plus(*t, &arithmetic::negate(i)?)) }),
    FunctionDef::plain(1295, "justify_days", &[INTERVAL], INTERVAL, |_, a| { take!(a; Interval i); Ok(Value::Interval(arithmetic::justify_days(i)?)) }),
    FunctionDef::plain(1175, "justify_hours", &[INTERVAL], INTERVAL, |_, a| { take!(a; Interval i); Ok(Value::Interval(arithmetic::justify_hours(i)?)) }),
    FunctionDef::plain(2711, "justify_interval", &[INTERVAL], INTERVAL, |_, a| { take!(a; Interval i); Ok(Value::Interval(arithmetic::justify_interval(i)?)) }),
    FunctionDef::plain(1138, "date_larger", &[DATE, DATE], DATE, |_, a| Ok(super::larger(a))),
    FunctionDef::plain(1139, "date_smaller", &[DATE, DATE], DATE, |_, a| Ok(super::smaller(a))),
    FunctionDef::plain(1377, "time_larger", &[TIME, TIME], TIME, |_, a| Ok(super::larger(a))),
    FunctionDef::plain(1378, "time_smaller", &[TIME, TIME], TIME, |_, a| Ok(super::smaller(a))),
    FunctionDef::plain(2036, "timestamp_larger", &[TIMESTAMP, TIMESTAMP], TIMESTAMP, |_, a| Ok(super::larger(a))),
    FunctionDef::plain(2035, "timestamp_smaller", &[TIMESTAMP, TIMESTAMP], TIMESTAMP, |_, a| Ok(super::smaller(a))),
    FunctionDef::plain(1196, "timestamptz_larger", &[TIMESTAMPTZ, TIMESTAMPTZ], TIMESTAMPTZ, |_, a| Ok(super::larger(a))),
    FunctionDef::plain(1195, "timestamptz_smaller", &[TIMESTAMPTZ, TIMESTAMPTZ], TIMESTAMPTZ, |_, a| Ok(super::smaller(a))),
    FunctionDef::plain(1379, "timetz_larger", &[TIMETZ, TIMETZ], TIMETZ, |_, a| Ok(super::larger(a))),
    FunctionDef::plain(1380, "timetz_smaller", &[TIMETZ, TIMETZ], TIMETZ, |_, a| Ok(super::smaller(a))),
    FunctionDef::plain(1198, "interval_larger", &[INTERVAL, INTERVAL], INTERVAL, |_, a| Ok(super::larger(a))),
    FunctionDef::plain(1197, "interval_smaller", &[INTERVAL, INTERVAL], INTERVAL, |_, a| Ok(super::smaller(a))),
    FunctionDef::plain(1373, "isfinite", &[DATE], BOOL, |_, a| { take!(a; Date d); Ok(Value::Bool(!calendar::is_infinite_date(*d))) }),
    FunctionDef::plain(2048, "isfinite", &[TIMESTAMP], BOOL, |_, a| { take!(a; Timestamp t); Ok(Value::Bool(!calendar::is_infinite(*t))) }),
    FunctionDef::plain(1389, "isfinite", &[TIMESTAMPTZ], BOOL, |_, a| { take!(a; TimestampTz t); Ok(Value::Bool(!calendar::is_infinite(*t))) }),
    FunctionDef::plain(1390, "isfinite", &[INTERVAL], BOOL, |_, _| Ok(Value::Bool(true))),
    FunctionDef::plain(2024, "timestamp", &[DATE], TIMESTAMP, |_, a| { take!(a; Date d); Ok(Value::Timestamp(arithmetic::date_to_timestamp(*d)?)) }),
    FunctionDef::plain(1174, "timestamptz", &[DATE], TIMESTAMPTZ, |context, a| { take!(a; Date d); Ok(Value::TimestampTz(arithmetic::date_to_timestamptz(*d, &context.format().time_zone)?)) }).stable(),
    FunctionDef::plain(2028, "timestamptz", &[TIMESTAMP], TIMESTAMPTZ, |context, a| { take!(a; Timestamp t); Ok(Value::TimestampTz(arithmetic::timestamp_to_timestamptz(*t, &context.format().time_zone)?)) }).stable(),
    FunctionDef::plain(2027, "timestamp", &[TIMESTAMPTZ], TIMESTAMP, |context, a| { take!(a; TimestampTz t); Ok(Value::Timestamp(arithmetic::timestamptz_to_timestamp(*t, &context.format().time_zone)?)) }).stable(),
    FunctionDef::plain(2029, "date", &[TIMESTAMP], DATE, |_, a| { take!(a; Timestamp t); Ok(Value::Date(arithmetic::timestamp_to_date(*t))) }),
    FunctionDef::plain(1178, "date", &[TIMESTAMPTZ], DATE, |context, a| { take!(a; TimestampTz t); Ok(Value::Date(arithmetic::timestamp_to_date(arithmetic::timestamptz_to_timestamp(*t, &context.format().time_zone)?))) }).stable(),
    FunctionDef::plain(1316, "time", &[TIMESTAMP], TIME, |_, a| { take!(a; Timestamp t); Ok(time_of_day(*t)) }),
    FunctionDef::plain(2019, "time", &[TIMESTAMPTZ], TIME, |context, a| { take!(a; TimestampTz t); Ok(time_of_day(arithmetic::timestamptz_to_timestamp(*t, &context.format().time_zone)?)) }).stable(),
    FunctionDef::plain(1388, "timetz", &[TIMESTAMPTZ], TIMETZ, |context, a| { take!(a; TimestampTz t); timetz_of(context, *t) }).stable(),
    FunctionDef::plain(2047, "timetz", &[TIME], TIMETZ, |context, a| { take!(a; Time t); Ok(Value::TimeTz(with_session_zone(context, *t))) }).stable(),
    FunctionDef::plain(2046, "time", &[TIMETZ], TIME, |_, a| { take!(a; TimeTz t); Ok(Value::Time(t.micros)) }),
    FunctionDef::plain(1370, "interval", &[TIME], INTERVAL, |_, a| { take!(a; Time t); Ok(Value::Interval(Interval { micros: *t, ..Interval::default() })) }),
    FunctionDef::plain(1419, "time", &[INTERVAL], TIME, |_, a| { take!(a; Interval i); Ok(Value::Time(i.micros.rem_euclid(DAY))) }),
    FunctionDef::plain(1961, "timestamp", &[TIMESTAMP, INT4], TIMESTAMP, |_, a| { take!(a; Timestamp t, Int4 m); Ok(Value::Timestamp(datetime::round_timestamp(*t, *m)?)) }),
    FunctionDef::plain(1967, "timestamptz", &[TIMESTAMPTZ, INT4], TIMESTAMPTZ, |_, a| { take!(a; TimestampTz t, Int4 m); Ok(Value::TimestampTz(datetime::round_timestamp(*t, *m)?)) }),
    FunctionDef::plain(1968, "time", &[TIME, INT4], TIME, |_, a| { take!(a; Time t, Int4 m); Ok(Value::Time(datetime::round_time(*t, *m))) }),
    FunctionDef::plain(1969, "timetz", &[TIMETZ, INT4], TIMETZ, |_, a| { take!(a; TimeTz t, Int4 m); Ok(Value::TimeTz(TimeTz { micros: datetime::round_time(t.micros, *m), zone: t.zone })) }),
    FunctionDef::plain(1200, "interval", &[INTERVAL, INT4], INTERVAL, |_, a| { take!(a; Interval i, Int4 m); Ok(Value::Interval(datetime::interval::apply_typmod(*i, *m)?)) }),
    FunctionDef::plain(2021, "date_part", &[TEXT, TIMESTAMP], FLOAT8, |_, a| { take!(a; Text n, Timestamp t); Ok(as_double(extract::timestamp_part(n, *t, None)?)) }),
    FunctionDef::plain(1171, "date_part", &[TEXT, TIMESTAMPTZ], FLOAT8, |context, a| { take!(a; Text n, TimestampTz t); Ok(as_double(extract::timestamp_part(n, *t, Some(&context.format().time_zone))?)) }).stable(),
    FunctionDef::plain(1384, "date_part", &[TEXT, DATE], FLOAT8, |_, a| { take!(a; Text n, Date d); Ok(as_double(extract::timestamp_part(n, arithmetic::date_to_timestamp(*d)?, None)?)) }),
    FunctionDef::plain(1385, "date_part", &[TEXT, TIME], FLOAT8, |_, a| { take!(a; Text n, Time t); Ok(as_double(Some(extract::time_part(n, *t, None)?))) }),
    FunctionDef::plain(1273, "date_part", &[TEXT, TIMETZ], FLOAT8, |_, a| { take!(a; Text n, TimeTz t); Ok(as_double(Some(extract::time_part(n, t.micros, Some(t.zone))?))) }),
    FunctionDef::plain(1172, "date_part", &[TEXT, INTERVAL], FLOAT8, |_, a| { take!(a; Text n, Interval i); Ok(as_double(Some(extract::interval_part(n, i)?))) }),
    FunctionDef::plain(6202, "extract", &[TEXT, TIMESTAMP], NUMERIC, |_, a| { take!(a; Text n, Timestamp t); Ok(as_numeric(extract::timestamp_part(n, *t, None)?)) }),
    FunctionDef::plain(6203, "extract", &[TEXT, TIMESTAMPTZ], NUMERIC, |context, a| { take!(a; Text n, TimestampTz t); Ok(as_numeric(extract::timestamp_part(n, *t, Some(&context.format().time_zone))?)) }).stable(),
    FunctionDef::plain(6199, "extract", &[TEXT, DATE], NUMERIC, |_, a| { take!(a; Text n, Date d); Ok(as_numeric(extract::date_part(n, *d)?)) }),
    FunctionDef::plain(6200, "extract", &[TEXT, TIME], NUMERIC, |_, a| { take!(a; Text n, Time t); Ok(as_numeric(Some(extract::time_part(n, *t, None)?))) }),
    FunctionDef::plain(6201, "extract", &[TEXT, TIMETZ], NUMERIC, |_, a| { take!(a; Text n, TimeTz t); Ok(as_numeric(Some(extract::time_part(n, t.micros, Some(t.zone))?))) }),
    FunctionDef::plain(6204, "extract", &[TEXT, INTERVAL], NUMERIC, |_, a| { take!(a; Text n, Interval i); Ok(as_numeric(Some(extract::interval_part(n, i)?))) }),
    FunctionDef::plain(2020, "date_trunc", &[TEXT, TIMESTAMP], TIMESTAMP, |_, a| { take!(a; Text n, Timestamp t); Ok(Value::Timestamp(extract::truncate_timestamp(n, *t)?)) }),
    FunctionDef::plain(1217, "date_trunc", &[TEXT, TIMESTAMPTZ], TIMESTAMPTZ, |context, a| { take!(a; Text n, TimestampTz t); Ok(Value::TimestampTz(extract::truncate_timestamptz(n, *t, &context.format().time_zone)?)) }).stable(),
    FunctionDef::plain(1284, "date_trunc", &[TEXT, TIMESTAMPTZ, TEXT], TIMESTAMPTZ, |_, a| { take!(a; Text n, TimestampTz t, Text z); if calendar::is_infinite(*t) { return Ok(Value::TimestampTz(*t)); } Ok(Value::TimestampTz(extract::truncate_timestamptz(n, *t, &zone_named(z)?)?)) }).stable(),
    FunctionDef::plain(1218, "date_trunc", &[TEXT, INTERVAL], INTERVAL, |_, a| { take!(a; Text n, Interval i); Ok(Value::Interval(extract::truncate_interval(n, i)?)) }),
    FunctionDef::plain(6177, "date_bin", &[INTERVAL, TIMESTAMP, TIMESTAMP], TIMESTAMP, |_, a| { take!(a; Interval i, Timestamp t, Timestamp o); Ok(Value::Timestamp(arithmetic::bin(i, *t, *o)?)) }),
    FunctionDef::plain(6178, "date_bin", &[INTERVAL, TIMESTAMPTZ, TIMESTAMPTZ], TIMESTAMPTZ, |_, a| { take!(a; Interval i, TimestampTz t, TimestampTz o); Ok(Value::TimestampTz(arithmetic::bin(i, *t, *o)?)) }),
    FunctionDef::plain(2058, "age", &[TIMESTAMP, TIMESTAMP], INTERVAL, |_, a| { take!(a; Timestamp l, Timestamp r); Ok(Value::Interval(arithmetic::age(*l, *r)?)) }),
    FunctionDef::plain(1199, "age", &[TIMESTAMPTZ, TIMESTAMPTZ], INTERVAL, |context, a| { take!(a; TimestampTz l, TimestampTz r); age_in_zone(context, *l, *r) }),
    FunctionDef::plain(2059, "age", &[TIMESTAMP], INTERVAL, |context, a| { take!(a; Timestamp t); Ok(Value::Interval(arithmetic::age(today(context), *t)?)) }).stable(),
    FunctionDef::plain(1386, "age", &[TIMESTAMPTZ], INTERVAL, |context, a| { take!(a; TimestampTz t); let local = arithmetic::timestamptz_to_timestamp(*t, &context.format().time_zone)?; Ok(Value::Interval(arithmetic::age(today(context), local)?)) }).stable(),
    FunctionDef::plain(2069, "timezone", &[TEXT, TIMESTAMP], TIMESTAMPTZ, |_, a| { take!(a; Text z, Timestamp t); if calendar::is_infinite(*t) { return Ok(Value::TimestampTz(*t)); } Ok(Value::TimestampTz(arithmetic::timestamp_to_timestamptz(*t, &zone_named(z)?)?)) }),
    FunctionDef::plain(1159, "timezone", &[TEXT, TIMESTAMPTZ], TIMESTAMP, |_, a| { take!(a; Text z, TimestampTz t); if calendar::is_infinite(*t) { return Ok(Value::Timestamp(*t)); } Ok(Value::Timestamp(arithmetic::timestamptz_to_timestamp(*t, &zone_named(z)?)?)) }),
    FunctionDef::plain(2070, "timezone", &[INTERVAL, TIMESTAMP], TIMESTAMPTZ, |_, a| { take!(a; Interval z, Timestamp t); if calendar::is_infinite(*t) { return Ok(Value::TimestampTz(*t)); } Ok(Value::TimestampTz(arithmetic::timestamp_to_timestamptz(*t, &zone_of_interval(z)?)?)) }),
    FunctionDef::plain(1026, "timezone", &[INTERVAL, TIMESTAMPTZ], TIMESTAMP, |_, a| { take!(a; Interval z, TimestampTz t); if calendar::is_infinite(*t) { return Ok(Value::Timestamp(*t)); } Ok(Value::Timestamp(arithmetic::timestamptz_to_timestamp(*t, &zone_of_interval(z)?)?)) }),
    FunctionDef::plain(2037, "timezone", &[TEXT, TIMETZ], TIMETZ, |context, a| { take!(a; Text z, TimeTz t); let west = -zone_named(z)?.seconds_at(context.transaction_timestamp()); Ok(Value::TimeTz(arithmetic::shift_timetz(*t, west))) }).stable(),
    FunctionDef::plain(2038, "timezone", &[INTERVAL, TIMETZ], TIMETZ, |context, a| { take!(a; Interval z, TimeTz t); let west = -zone_of_interval(z)?.seconds_at(context.transaction_timestamp()); Ok(Value::TimeTz(arithmetic::shift_timetz(*t, west))) }),
    FunctionDef::plain(3846, "make_date", &[INT4, INT4, INT4], DATE, |_, a| { take!(a; Int4 y, Int4 m, Int4 d); Ok(Value::Date(arithmetic::make_date(i64::from(*y), i64::from(*m), i64::from(*d))?)) }).named(&["year", "month", "day"]),
    FunctionDef::plain(3847, "make_time", &[INT4, INT4, FLOAT8], TIME, |_, a| { take!(a; Int4 h, Int4 m, Float8 s); Ok(Value::Time(arithmetic::make_time(i64::from(*h), i64::from(*m), *s)?)) }).named(&["hour", "min", "sec"]),
    FunctionDef::plain(3461, "make_timestamp", &[INT4, INT4, INT4, INT4, INT4, FLOAT8], TIMESTAMP, |_, a| Ok(Value::Timestamp(make_timestamp(a)?))).named(&["year", "month", "mday", "hour", "min", "sec"]),
    FunctionDef::plain(3462, "make_timestamptz", &[INT4, INT4, INT4, INT4, INT4, FLOAT8], TIMESTAMPTZ, |context, a| Ok(Value::TimestampTz(arithmetic::timestamp_to_timestamptz(make_timestamp(a)?, &context.format().time_zone)?))).stable().named(&["year", "month", "mday", "hour", "min", "sec"]),
    FunctionDef::plain(3463, "make_timestamptz", &[INT4, INT4, INT4, INT4, INT4, FLOAT8, TEXT], TIMESTAMPTZ, |_, a| { let local = make_timestamp(&a[..6])?; Ok(Value::TimestampTz(arithmetic::timestamp_to_timestamptz(local, &zone_east(a[6].as_str().unwrap_or(""))?)?)) }).stable().named(&["year", "month", "mday", "hour", "min", "sec", "timezone"]),
    FunctionDef::plain(3464, "make_interval", &[INT4, INT4, INT4, INT4, INT4, INT4, FLOAT8], INTERVAL, make_interval).named(&["years", "months", "weeks", "days", "hours", "mins", "secs"]).defaults(&["0", "0", "0", "0", "0", "0", "0.0"]),
    FunctionDef::plain(1158, "to_timestamp", &[FLOAT8], TIMESTAMPTZ, to_timestamp),
    FunctionDef::plain(1299, "now", &[], TIMESTAMPTZ, |context, _| Ok(Value::TimestampTz(context.transaction_timestamp()))).stable(),
    FunctionDef::plain(2647, "transaction_timestamp", &[], TIMESTAMPTZ, |context, _| Ok(Value::TimestampTz(context.transaction_timestamp()))).stable(),
    FunctionDef::plain(2648, "statement_timestamp", &[], TIMESTAMPTZ, |context, _| Ok(Value::TimestampTz(context.statement_timestamp()))).stable(),
    FunctionDef::plain(2649, "clock_timestamp", &[], TIMESTAMPTZ, |_, _| Ok(Value::TimestampTz(datetime::clock_micros()))).volatile(),
    FunctionDef::plain(274, "timeofday", &[], TEXT, time_of_day_text).volatile(),
    FunctionDef::plain(1308, "overlaps", &[TIME, TIME, TIME, TIME], BOOL, |_, a| Ok(overlaps(a))).not_strict(),
    FunctionDef::plain(2041, "overlaps", &[TIMESTAMP, TIMESTAMP, TIMESTAMP, TIMESTAMP], BOOL, |_, a| Ok(overlaps(a))).not_strict(),
    FunctionDef::plain(1304, "overlaps", &[TIMESTAMPTZ, TIMESTAMPTZ, TIMESTAMPTZ, TIMESTAMPTZ], BOOL, |_, a| Ok(overlaps(a))).not_strict(),
    FunctionDef::plain(1271, "overlaps", &[TIMETZ, TIMETZ, TIMETZ, TIMETZ], BOOL, |_, a| Ok(overlaps(a))).not_strict(),
    FunctionDef::plain(2042, "overlaps", &[TIMESTAMP, INTERVAL, TIMESTAMP, INTERVAL], BOOL, overlaps_with_lengths).not_strict(),
    FunctionDef::plain(2043, "overlaps", &[TIMESTAMP, TIMESTAMP, TIMESTAMP, INTERVAL], BOOL, overlaps_with_lengths).not_strict(),
    FunctionDef::plain(2044, "overlaps", &[TIMESTAMP, INTERVAL, TIMESTAMP, TIMESTAMP], BOOL, overlaps_with_lengths).not_strict(),
    FunctionDef::plain(1305, "overlaps", &[TIMESTAMPTZ, INTERVAL, TIMESTAMPTZ, INTERVAL], BOOL, overlaps_with_lengths).stable().not_strict(),
    FunctionDef::plain(1306, "overlaps", &[TIMESTAMPTZ, TIMESTAMPTZ, TIMESTAMPTZ, INTERVAL], BOOL, overlaps_with_lengths).stable().not_strict(),
    FunctionDef::plain(1307, "overlaps", &[TIMESTAMPTZ, INTERVAL, TIMESTAMPTZ, TIMESTAMPTZ], BOOL, overlaps_with_lengths).stable().not_strict(),
    FunctionDef::plain(1309, "overlaps", &[TIME, INTERVAL, TIME, INTERVAL], BOOL, overlaps_with_lengths).not_strict(),
    FunctionDef::plain(1310, "overlaps", &[TIME, TIME, TIME, INTERVAL], BOOL, overlaps_with_lengths).not_strict(),
    FunctionDef::plain(1311, "overlaps", &[TIME, INTERVAL, TIME, TIME], BOOL, overlaps_with_lengths).not_strict(),
];
