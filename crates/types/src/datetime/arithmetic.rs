//! Arithmetic with dates, times and intervals.

use base::{Error, Result, sqlstate};

use super::calendar::{
    Civil, DATE_INFINITY, DATE_MAX, DATE_MINUS_INFINITY, DAY, HOUR, SECOND, TIMESTAMP_INFINITY,
    TIMESTAMP_MINUS_INFINITY, check_date, check_timestamp, civil_from_days, days_from_civil, days_in_month,
    interval_out_of_range, is_infinite, is_infinite_date, timestamp_out_of_range,
};
use super::zone::TimeZone;
use crate::value::{Interval, TimeTz};

/// Midnight of a date. 22008.
pub fn date_to_timestamp(days: i32) -> Result<i64> {
    match days {
        DATE_INFINITY => Ok(TIMESTAMP_INFINITY),
        DATE_MINUS_INFINITY => Ok(TIMESTAMP_MINUS_INFINITY),
        _ => check_timestamp(i64::from(days).checked_mul(DAY).unwrap_or(i64::MAX)).map_err(|_| date_out_of_range()),
    }
}

#[cold]
fn date_out_of_range() -> Error {
    Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, "date out of range for timestamp")
}

/// Midnight of a date in a zone. 22008.
pub fn date_to_timestamptz(days: i32, zone: &TimeZone) -> Result<i64> {
    let local = date_to_timestamp(days)?;
    if is_infinite(local) {
        return Ok(local);
    }
    zone.to_utc(local)
        .map_or_else(|| Err(date_out_of_range()), |utc| check_timestamp(utc).map_err(|_| date_out_of_range()))
}

/// The moment at which a zone's clocks show a timestamp. 22008.
pub fn timestamp_to_timestamptz(local: i64, zone: &TimeZone) -> Result<i64> {
    if is_infinite(local) {
        return Ok(local);
    }
    check_timestamp(zone.to_utc(local).ok_or_else(timestamp_out_of_range)?)
}

/// The local time that a zone's clocks show at a moment. 22008 if it is out of range.
pub fn timestamptz_to_timestamp(timestamp: i64, zone: &TimeZone) -> Result<i64> {
    if is_infinite(timestamp) {
        return Ok(timestamp);
    }
    check_timestamp(zone.to_local(timestamp).ok_or_else(timestamp_out_of_range)?)
}

/// The day of a timestamp.
pub fn timestamp_to_date(timestamp: i64) -> i32 {
    match timestamp {
        TIMESTAMP_INFINITY => DATE_INFINITY,
        TIMESTAMP_MINUS_INFINITY => DATE_MINUS_INFINITY,
        _ => timestamp.div_euclid(DAY) as i32,
    }
}

/// `date + days`. 22008.
pub fn add_days(date: i32, days: i64) -> Result<i32> {
    if is_infinite_date(date) {
        return Ok(date);
    }
    check_date(i64::from(date) + days)
}

/// `timestamp + interval`: months first (the day cut to the month's length), then days, then time. 22008.
pub fn add_interval(timestamp: i64, interval: &Interval) -> Result<i64> {
    if is_infinite(timestamp) {
        return Ok(timestamp);
    }
    let with_days = add_months_and_days(timestamp, interval)?;
    check_timestamp(with_days.checked_add(interval.micros).ok_or_else(timestamp_out_of_range)?)
}

fn add_months_and_days(mut timestamp: i64, interval: &Interval) -> Result<i64> {
    if interval.months != 0 {
        let (mut days, time) = (timestamp.div_euclid(DAY), timestamp.rem_euclid(DAY));
        days = add_months(days, i64::from(interval.months));
        timestamp =
            days.checked_mul(DAY).and_then(|micros| micros.checked_add(time)).ok_or_else(timestamp_out_of_range)?;
        check_timestamp(timestamp)?;
    }
    if interval.days != 0 {
        timestamp = i64::from(interval.days)
            .checked_mul(DAY)
            .and_then(|micros| micros.checked_add(timestamp))
            .ok_or_else(timestamp_out_of_range)?;
        check_timestamp(timestamp)?;
    }
    Ok(timestamp)
}

fn add_months(days: i64, months: i64) -> i64 {
    let (year, month, day) = civil_from_days(days);
    let total = year * 12 + month - 1 + months;
    let (year, month) = (total.div_euclid(12), total.rem_euclid(12) + 1);
    days_from_civil(year, month, day.min(days_in_month(year, month)))
}

/// `timestamptz + interval`: months and days in the zone's calendar, time on the clock of UTC. 22008.
pub fn add_interval_in_zone(timestamp: i64, interval: &Interval, zone: &TimeZone) -> Result<i64> {
    if is_infinite(timestamp) {
        return Ok(timestamp);
    }
    let mut moved = timestamp;
    // one step at a time, as each may land in a gap of the zone
    for step in [
        Interval { months: interval.months, ..Interval::default() },
        Interval { days: interval.days, ..Interval::default() },
    ] {
        if step != Interval::default() {
            let local = zone.to_local(moved).ok_or_else(timestamp_out_of_range)?;
            let local = add_months_and_days(local, &step)?;
            moved = check_timestamp(zone.to_utc(local).ok_or_else(timestamp_out_of_range)?)?;
        }
    }
    check_timestamp(moved.checked_add(interval.micros).ok_or_else(timestamp_out_of_range)?)
}

/// The interval with every part's sign changed. 22008.
pub fn negate(interval: &Interval) -> Result<Interval> {
    match (interval.months.checked_neg(), interval.days.checked_neg(), interval.micros.checked_neg()) {
        (Some(months), Some(days), Some(micros)) => Ok(Interval { months, days, micros }),
        _ => Err(interval_out_of_range()),
    }
}

/// `interval + interval`. 22008.
pub fn add_intervals(left: &Interval, right: &Interval) -> Result<Interval> {
    let sum = (
        left.months.checked_add(right.months),
        left.days.checked_add(right.days),
        left.micros.checked_add(right.micros),
    );
    match sum {
        (Some(months), Some(days), Some(micros)) => Ok(Interval { months, days, micros }),
        _ => Err(interval_out_of_range()),
    }
}

/// `interval - interval`. 22008.
pub fn subtract_intervals(left: &Interval, right: &Interval) -> Result<Interval> {
    let difference = (
        left.months.checked_sub(right.months),
        left.days.checked_sub(right.days),
        left.micros.checked_sub(right.micros),
    );
    match difference {
        (Some(months), Some(days), Some(micros)) => Ok(Interval { months, days, micros }),
        _ => Err(interval_out_of_range()),
    }
}

/// Rounds to a microsecond's share, to get rid of what binary fractions leave.
fn round_share(value: f64) -> f64 {
    (value * 1e6).round_ties_even() / 1e6
}

/// Scales an interval: fractions of months become days, fractions of days become time. 22008.
fn scale(interval: &Interval, scaled: impl Fn(f64) -> f64) -> Result<Interval> {
    let whole = |value: f64| -> Result<i32> {
        if value.is_nan() || value > f64::from(i32::MAX) || value < f64::from(i32::MIN) {
            return Err(interval_out_of_range());
        }
        Ok(value as i32)
    };
    let months_scaled = scaled(f64::from(interval.months));
    let days_scaled = scaled(f64::from(interval.days));
    let months = whole(months_scaled)?;
    let mut days = whole(days_scaled)?;
    let remaining_days = round_share((months_scaled - f64::from(months)) * 30.0);
    let mut remaining_seconds =
        round_share((days_scaled - f64::from(days) + remaining_days - remaining_days.trunc()) * 86_400.0);
    if remaining_seconds.abs() >= 86_400.0 {
        let more = (remaining_seconds / 86_400.0) as i32;
        days = days.checked_add(more).ok_or_else(interval_out_of_range)?;
        remaining_seconds -= f64::from(more) * 86_400.0;
    }
    days = days.checked_add(remaining_days as i32).ok_or_else(interval_out_of_range)?;
    let micros = (scaled(interval.micros as f64) + remaining_seconds * 1e6).round_ties_even();
    if micros.is_nan() || !(micros >= i64::MIN as f64 && micros < -(i64::MIN as f64)) {
        return Err(interval_out_of_range());
    }
    Ok(Interval { months, days, micros: micros as i64 })
}

/// `interval * factor`. 22008.
pub fn multiply_interval(interval: &Interval, factor: f64) -> Result<Interval> {
    scale(interval, |value| value * factor)
}

/// `interval / divisor`. 22012, 22008.
pub fn divide_interval(interval: &Interval, divisor: f64) -> Result<Interval> {
    if divisor == 0.0 {
        return Err(Error::new(sqlstate::DIVISION_BY_ZERO, "division by zero"));
    }
    scale(interval, |value| value / divisor)
}

/// `timestamp - timestamp`, in days and time. 22008.
pub fn subtract_timestamps(left: i64, right: i64) -> Result<Interval> {
    if is_infinite(left) || is_infinite(right) {
        return Err(Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, "cannot subtract infinite timestamps"));
    }
    // As in PostgreSQL 15, what takes more than 64 bits comes out modulo 2^64.
    justify_hours(&Interval { months: 0, days: 0, micros: left.wrapping_sub(right) })
}

/// Turns 24 hours into a day. 22008.
pub fn justify_hours(interval: &Interval) -> Result<Interval> {
    let whole = (interval.micros / DAY) as i32;
    let mut days = interval.days.checked_add(whole).ok_or_else(interval_out_of_range)?;
    let mut micros = interval.micros % DAY;
    if days > 0 && micros < 0 {
        micros += DAY;
        days -= 1;
    } else if days < 0 && micros > 0 {
        micros -= DAY;
        days += 1;
    }
    Ok(Interval { months: interval.months, days, micros })
}

/// Turns 30 days into a month. 22008.
pub fn justify_days(interval: &Interval) -> Result<Interval> {
    let mut months = interval.months.checked_add(interval.days / 30).ok_or_else(interval_out_of_range)?;
    let mut days = interval.days % 30;
    if months > 0 && days < 0 {
        days += 30;
        months -= 1;
    } else if months < 0 && days > 0 {
        days -= 30;
        months += 1;
    }
    Ok(Interval { months, days, micros: interval.micros })
}

/// Turns hours into days and days into months, all with one sign. 22008.
pub fn justify_interval(interval: &Interval) -> Result<Interval> {
    let mut months = i64::from(interval.months);
    let mut days = i64::from(interval.days);
    let mut micros = interval.micros;
    if (days > 0 && micros > 0) || (days < 0 && micros < 0) {
        months += days / 30;
        days %= 30;
    }
    days += micros / DAY;
    micros %= DAY;
    months += days / 30;
    days %= 30;
    if months > 0 && (days < 0 || (days == 0 && micros < 0)) {
        days += 30;
        months -= 1;
    } else if months < 0 && (days > 0 || (days == 0 && micros > 0)) {
        days -= 30;
        months += 1;
    }
    if days > 0 && micros < 0 {
        micros += DAY;
        days -= 1;
    } else if days < 0 && micros > 0 {
        micros -= DAY;
        days += 1;
    }
    let months = i32::try_from(months).map_err(|_| interval_out_of_range())?;
    Ok(Interval { months, days: days as i32, micros })
}

/// The difference of two timestamps in years, months, days and time of the calendar. 22008.
pub fn age(left: i64, right: i64) -> Result<Interval> {
    if is_infinite(left) || is_infinite(right) {
        return Err(timestamp_out_of_range());
    }
    let (later, earlier, sign) = if left >= right { (left, right, 1) } else { (right, left, -1) };
    let (late, early) = (Civil::from_micros(later), Civil::from_micros(earlier));
    let mut years = late.year - early.year;
    let mut months = late.month - early.month;
    let mut days = late.day - early.day;
    let mut micros = late.time_micros() - early.time_micros();
    if micros < 0 {
        micros += DAY;
        days -= 1;
    }
    while days < 0 {
        // the days of the month that the span begins in
        days += days_in_month(early.year, early.month);
        months -= 1;
    }
    while months < 0 {
        months += 12;
        years -= 1;
    }
    let interval = Interval { months: (years * 12 + months) as i32, days: days as i32, micros };
    if sign < 0 { negate(&interval) } else { Ok(interval) }
}

/// `time + interval`: wraps at midnight, months and days don't count.
pub fn add_to_time(time: i64, interval: &Interval) -> i64 {
    time.wrapping_add(interval.micros % DAY).rem_euclid(DAY)
}

/// `timetz` as another offset (seconds west) shows it.
pub fn shift_timetz(time: TimeTz, zone: i32) -> TimeTz {
    let micros = (time.micros + i64::from(time.zone - zone) * SECOND).rem_euclid(DAY);
    TimeTz { micros, zone }
}

/// The start of the bin of width `stride` counted from `origin`. 22008, 0A000, 22023.
pub fn bin(stride: &Interval, timestamp: i64, origin: i64) -> Result<i64> {
    if is_infinite(timestamp) {
        return Ok(timestamp);
    }
    if is_infinite(origin) {
        return Err(Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, "origin out of range"));
    }
    if stride.months != 0 {
        return Err(Error::unsupported("timestamps cannot be binned into intervals containing months or years"));
    }
    let width = i64::from(stride.days)
        .checked_mul(DAY)
        .and_then(|micros| micros.checked_add(stride.micros))
        .ok_or_else(interval_out_of_range)?;
    if width <= 0 {
        return Err(Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, "stride must be greater than zero"));
    }
    let difference = timestamp.checked_sub(origin).ok_or_else(interval_out_of_range)?;
    check_timestamp(origin + difference.div_euclid(width) * width)
}

/// A date of these fields; negative years are BC. 22008.
pub fn make_date(year: i64, month: i64, day: i64) -> Result<i32> {
    let invalid = || {
        Error::new(
            sqlstate::DATETIME_FIELD_OVERFLOW,
            format!("date field value out of range: {year}-{month:02}-{day:02}"),
        )
    };
    let internal_year = if year < 0 { year + 1 } else { year };
    let valid = year != 0 && (1..=12).contains(&month) && (1..=days_in_month(internal_year, month)).contains(&day);
    if !valid {
        return Err(invalid());
    }
    let days = days_from_civil(internal_year, month, day);
    if days > i64::from(DATE_MAX) || check_date(days).is_err() {
        return Err(Error::new(
            sqlstate::DATETIME_FIELD_OVERFLOW,
            format!("date out of range: {year}-{month:02}-{day:02}"),
        ));
    }
    Ok(days as i32)
}

/// A time of day of these fields. 22008.
pub fn make_time(hour: i64, minute: i64, second: f64) -> Result<i64> {
    let micros = (second * SECOND as f64).round_ties_even();
    let in_range =
        (0..=24).contains(&hour) && (0..=59).contains(&minute) && micros >= 0.0 && micros <= 60.0 * SECOND as f64;
    // Seconds may be infinite, or no number.
    let time = in_range.then(|| hour * HOUR + minute * 60 * SECOND + micros as i64);
    time.filter(|time| *time <= DAY).ok_or_else(|| {
        Error::new(
            sqlstate::DATETIME_FIELD_OVERFLOW,
            format!("time field value out of range: {hour}:{minute:02}:{}", pad_seconds(second)),
        )
    })
}

fn pad_seconds(second: f64) -> String {
    let shown = crate::number_text::float8_text(second);
    if shown.len() == 1 { format!("0{shown}") } else { shown }
}
