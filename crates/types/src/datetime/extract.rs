//! Parts of dates, times and intervals, and cutting them off.

use std::borrow::Cow;

use base::{Error, Result, sqlstate};

use super::calendar::{
    Civil, DAY, HOUR, JULIAN_EPOCH, MINUTE, SECOND, TIMESTAMP_INFINITY, UNIX_EPOCH_SECONDS, check_timestamp,
    civil_from_days, day_of_year, days_from_civil, is_infinite, iso_week, iso_week_monday, timestamp_out_of_range,
    weekday,
};
use super::interval::Unit;
use super::zone::TimeZone;
use crate::numeric::Numeric;
use crate::value::Interval;

/// A field that `extract` can be asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Field {
    Unit(Unit),
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    Epoch,
    IsoYear,
    Julian,
    Zone,
    ZoneHour,
    ZoneMinute,
}

fn field_named(name: &str) -> Option<Field> {
    Some(match name {
        "dow" => Field::DayOfWeek,
        "isodow" => Field::IsoDayOfWeek,
        "doy" => Field::DayOfYear,
        "epoch" => Field::Epoch,
        "isoyear" => Field::IsoYear,
        "j" | "jd" | "julian" => Field::Julian,
        "timezone" => Field::Zone,
        "timezone_h" | "timezone_hour" => Field::ZoneHour,
        "timezone_m" | "timezone_minute" => Field::ZoneMinute,
        other => Field::Unit(Unit::named(other)?),
    })
}

fn lower(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

#[cold]
fn not_recognized(name: &str, type_name: &str) -> Error {
    Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("unit \"{name}\" not recognized for type {type_name}"))
}

#[cold]
fn not_supported(name: &str, type_name: &str) -> Error {
    Error::unsupported(format!("unit \"{name}\" not supported for type {type_name}"))
}

/// A part's value: whole, or with digits of microseconds.
fn whole(value: i64) -> Numeric {
    Numeric::from(value)
}

fn scaled(value: i128, scale: u16) -> Numeric {
    Numeric::with_scale(value, scale)
}

/// Years since 1 AD without a year 0, as centuries count them.
fn count_from_one(year: i64, width: i64) -> i64 {
    if year > 0 { (year + width - 1) / width } else { -((width - 1 - (year - 1)) / width) }
}

fn clock_part(unit: Unit, time: &Civil) -> Option<Numeric> {
    let seconds = i128::from(time.second) * i128::from(SECOND) + i128::from(time.micros);
    Some(match unit {
        Unit::Microsecond => whole(seconds as i64),
        Unit::Millisecond => scaled(seconds, 3),
        Unit::Second => scaled(seconds, 6),
        Unit::Minute => whole(time.minute),
        Unit::Hour => whole(time.hour),
        _ => return None,
    })
}

fn calendar_part(field: Field, civil: &Civil) -> Option<Numeric> {
    let days = civil.days();
    Some(whole(match field {
        Field::Unit(Unit::Day) => civil.day,
        Field::Unit(Unit::Week) => iso_week(days).1,
        Field::Unit(Unit::Month) => civil.month,
        Field::Unit(Unit::Quarter) => (civil.month - 1) / 3 + 1,
        // there is no year 0: 1 BC comes before 1 AD
        Field::Unit(Unit::Year) => {
            if civil.year > 0 {
                civil.year
            } else {
                civil.year - 1
            }
        }
        Field::Unit(Unit::Decade) => civil.year.div_euclid(10),
        Field::Unit(Unit::Century) => count_from_one(civil.year, 100),
        Field::Unit(Unit::Millennium) => count_from_one(civil.year, 1000),
        Field::DayOfWeek => weekday(days),
        Field::IsoDayOfWeek => match weekday(days) {
            0 => 7,
            other => other,
        },
        Field::DayOfYear => day_of_year(civil.year, civil.month, civil.day),
        Field::IsoYear => {
            let year = iso_week(days).0;
            if year > 0 { year } else { year - 1 }
        }
        _ => return None,
    }))
}

/// The field of an infinite value: fields that grow without end are infinite, the others are NULL.
fn part_of_infinity(field: Field, positive: bool) -> Option<Numeric> {
    let grows = matches!(
        field,
        Field::Unit(Unit::Year | Unit::Decade | Unit::Century | Unit::Millennium)
            | Field::Julian
            | Field::IsoYear
            | Field::Epoch
    );
    grows.then_some(if positive { Numeric::Infinity } else { Numeric::NegativeInfinity })
}

/// A part of a timestamp; `zone` if it has one. `None`: NULL. 22023, 0A000.
pub fn timestamp_part(name: &str, timestamp: i64, zone: Option<&TimeZone>) -> Result<Option<Numeric>> {
    let type_name = if zone.is_some() { "timestamp with time zone" } else { "timestamp without time zone" };
    let lowered = lower(name);
    let field = field_named(&lowered).ok_or_else(|| not_recognized(&lowered, type_name))?;
    let of_zone = matches!(field, Field::Zone | Field::ZoneHour | Field::ZoneMinute);
    if of_zone && zone.is_none() {
        return Err(not_supported(&lowered, type_name));
    }
    if is_infinite(timestamp) {
        return Ok(part_of_infinity(field, timestamp == TIMESTAMP_INFINITY));
    }
    let offset = zone.map_or(0, |zone| i64::from(zone.seconds_at(timestamp)));
    let local = timestamp.checked_add(offset * SECOND).ok_or_else(timestamp_out_of_range)?;
    let civil = Civil::from_micros(local);
    let value = match field {
        Field::Epoch => {
            let micros = i128::from(timestamp) + i128::from(UNIX_EPOCH_SECONDS) * i128::from(SECOND);
            Some(scaled(micros, 6))
        }
        Field::Julian => {
            let day = whole(civil.days() + JULIAN_EPOCH);
            let share = whole(civil.time_micros()).divide(&whole(DAY))?;
            Some(day.add(&share)?)
        }
        Field::Zone => Some(whole(offset)),
        Field::ZoneHour => Some(whole(offset / 3600)),
        Field::ZoneMinute => Some(whole(offset / 60 % 60)),
        Field::Unit(unit) => clock_part(unit, &civil).or_else(|| calendar_part(field, &civil)),
        _ => calendar_part(field, &civil),
    };
    value.map(Some).ok_or_else(|| not_supported(&lowered, type_name))
}

/// A part of a date. `None`: NULL. 22023, 0A000.
pub fn date_part(name: &str, days: i32) -> Result<Option<Numeric>> {
    const TYPE_NAME: &str = "date";
    let lowered = lower(name);
    let field = field_named(&lowered).ok_or_else(|| not_recognized(&lowered, TYPE_NAME))?;
    let is_calendar = match field {
        Field::Unit(unit) => unit >= Unit::Day,
        Field::Zone | Field::ZoneHour | Field::ZoneMinute => false,
        _ => true,
    };
    if !is_calendar {
        return Err(not_supported(&lowered, TYPE_NAME));
    }
    if super::calendar::is_infinite_date(days) {
        return Ok(part_of_infinity(field, days > 0));
    }
    let (year, month, day) = super::calendar::civil_from_days(i64::from(days));
    let civil = Civil { year, month, day, ..Civil::default() };
    let value = match field {
        Field::Epoch => Some(whole(i64::from(days) * 86_400 + UNIX_EPOCH_SECONDS)),
        Field::Julian => Some(whole(i64::from(days) + JULIAN_EPOCH)),
        _ => calendar_part(field, &civil),
    };
    value.map(Some).ok_or_else(|| not_supported(&lowered, TYPE_NAME))
}

/// A part of a time of day; `zone`: its seconds west if it has one. 22023, 0A000.
pub fn time_part(name: &str, micros: i64, zone: Option<i32>) -> Result<Numeric> {
    let type_name = if zone.is_some() { "time with time zone" } else { "time without time zone" };
    let lowered = lower(name);
    let field = field_named(&lowered).ok_or_else(|| not_recognized(&lowered, type_name))?;
    let time = Civil::from_time(micros);
    let value = match (field, zone) {
        (Field::Epoch, None) => Some(scaled(i128::from(micros), 6)),
        (Field::Epoch, Some(west)) => Some(scaled(i128::from(micros) + i128::from(west) * i128::from(SECOND), 6)),
        (Field::Zone, Some(west)) => Some(whole(-i64::from(west))),
        (Field::ZoneHour, Some(west)) => Some(whole(-i64::from(west) / 3600)),
        (Field::ZoneMinute, Some(west)) => Some(whole(-i64::from(west) / 60 % 60)),
        (Field::Unit(unit), _) => clock_part(unit, &time),
        _ => None,
    };
    value.ok_or_else(|| not_supported(&lowered, type_name))
}

/// A part of an interval. 22023, 0A000.
pub fn interval_part(name: &str, interval: &Interval) -> Result<Numeric> {
    const TYPE_NAME: &str = "interval";
    let lowered = lower(name);
    let field = field_named(&lowered).ok_or_else(|| not_recognized(&lowered, TYPE_NAME))?;
    let (years, months) = (i64::from(interval.months / 12), i64::from(interval.months % 12));
    let seconds = interval.micros % MINUTE;
    let value = match field {
        Field::Unit(Unit::Microsecond) => Some(whole(seconds)),
        Field::Unit(Unit::Millisecond) => Some(scaled(i128::from(seconds), 3)),
        Field::Unit(Unit::Second) => Some(scaled(i128::from(seconds), 6)),
        Field::Unit(Unit::Minute) => Some(whole(interval.micros / MINUTE % 60)),
        Field::Unit(Unit::Hour) => Some(whole(interval.micros / HOUR)),
        Field::Unit(Unit::Day) => Some(whole(i64::from(interval.days))),
        Field::Unit(Unit::Month) => Some(whole(months)),
        Field::Unit(Unit::Quarter) => Some(whole(months / 3 + 1)),
        Field::Unit(Unit::Year) => Some(whole(years)),
        Field::Unit(Unit::Decade) => Some(whole(years / 10)),
        Field::Unit(Unit::Century) => Some(whole(years / 100)),
        Field::Unit(Unit::Millennium) => Some(whole(years / 1000)),
        Field::Epoch => {
            // a year counts 365.25 days, a month 30
            let days = i128::from(years) * 1461 + i128::from(months) * 120 + i128::from(interval.days) * 4;
            Some(scaled(days * i128::from(DAY / 4) + i128::from(interval.micros), 6))
        }
        _ => None,
    };
    value.ok_or_else(|| not_supported(&lowered, TYPE_NAME))
}

/// A timestamp cut down to a unit. 22023, 0A000.
fn truncate_local(name: &str, lowered: &str, timestamp: i64, type_name: &str) -> Result<(i64, Unit)> {
    let unit = match field_named(lowered) {
        Some(Field::Unit(unit)) => unit,
        Some(_) => return Err(not_supported(lowered, type_name)),
        None => return Err(not_recognized(name, type_name)),
    };
    let days = timestamp.div_euclid(DAY);
    let (year, month, _) = civil_from_days(days);
    let cut = |width: i64| Some(timestamp - timestamp.rem_euclid(width));
    let start_of_year = |year: i64| days_from_civil(year, 1, 1).checked_mul(DAY);
    let truncated = match unit {
        Unit::Microsecond => Some(timestamp),
        Unit::Millisecond => cut(1000),
        Unit::Second => cut(SECOND),
        Unit::Minute => cut(MINUTE),
        Unit::Hour => cut(HOUR),
        Unit::Day => cut(DAY),
        Unit::Week => {
            let (year_of_week, week) = iso_week(days);
            iso_week_monday(year_of_week, week).checked_mul(DAY)
        }
        Unit::Month => days_from_civil(year, month, 1).checked_mul(DAY),
        Unit::Quarter => days_from_civil(year, (month - 1) / 3 * 3 + 1, 1).checked_mul(DAY),
        Unit::Year => start_of_year(year),
        Unit::Decade => start_of_year(year.div_euclid(10) * 10),
        // the first year of a century or millennium ends in 01
        Unit::Century => start_of_year((year - 1).div_euclid(100) * 100 + 1),
        Unit::Millennium => start_of_year((year - 1).div_euclid(1000) * 1000 + 1),
    };
    let truncated = truncated.ok_or_else(timestamp_out_of_range)?;
    Ok((check_timestamp(truncated)?, unit))
}

/// `date_trunc` of a timestamp. 22023, 0A000, 22008.
pub fn truncate_timestamp(name: &str, timestamp: i64) -> Result<i64> {
    if is_infinite(timestamp) {
        return Ok(timestamp);
    }
    Ok(truncate_local(name, &lower(name), timestamp, "timestamp without time zone")?.0)
}

/// `date_trunc` of a moment in a zone. 22023, 0A000, 22008.
pub fn truncate_timestamptz(name: &str, timestamp: i64, zone: &TimeZone) -> Result<i64> {
    if is_infinite(timestamp) {
        return Ok(timestamp);
    }
    let offset = i64::from(zone.seconds_at(timestamp)) * SECOND;
    let local = timestamp.checked_add(offset).ok_or_else(timestamp_out_of_range)?;
    let (truncated, unit) = truncate_local(name, &lower(name), local, "timestamp with time zone")?;
    // from a day on the offset may be another one; below, the clock must not jump
    let utc = if unit >= Unit::Day { zone.to_utc(truncated) } else { truncated.checked_sub(offset) };
    check_timestamp(utc.ok_or_else(timestamp_out_of_range)?)
}

/// `date_trunc` of an interval. 22023, 0A000.
pub fn truncate_interval(name: &str, interval: &Interval) -> Result<Interval> {
    const TYPE_NAME: &str = "interval";
    let lowered = lower(name);
    let unit = match field_named(&lowered) {
        Some(Field::Unit(unit)) => unit,
        Some(_) => return Err(not_supported(&lowered, TYPE_NAME)),
        None => return Err(not_recognized(&lowered, TYPE_NAME)),
    };
    let &Interval { months, days, micros } = interval;
    let of_months = |width: i32| Interval { months: months / width * width, ..Interval::default() };
    let of_time = |width: i64| Interval { months, days, micros: micros / width * width };
    Ok(match unit {
        Unit::Microsecond => *interval,
        Unit::Millisecond => of_time(1000),
        Unit::Second => of_time(SECOND),
        Unit::Minute => of_time(MINUTE),
        Unit::Hour => of_time(HOUR),
        Unit::Day => Interval { months, days, micros: 0 },
        Unit::Month => of_months(1),
        Unit::Quarter => of_months(3),
        Unit::Year => of_months(12),
        Unit::Decade => of_months(120),
        Unit::Century => of_months(1200),
        Unit::Millennium => of_months(12_000),
        Unit::Week => {
            return Err(not_supported(&lowered, TYPE_NAME).detail("Months usually have fractional weeks."));
        }
    })
}
