//! Writing dates, times and intervals in the styles of DateStyle and IntervalStyle.

use super::calendar::{
    Civil, DAY, HOUR, MINUTE, MONTHS, SECOND, TIMESTAMP_INFINITY, WEEKDAYS, civil_from_days, is_infinite,
    is_infinite_date, weekday,
};
use super::zone::TimeZone;
use crate::context::{DateOrder, DateStyle, FormatSettings, IntervalStyle};
use crate::number_text::write_integer;
use crate::value::{Interval, TimeTz};

fn two(value: i64, out: &mut Vec<u8>) {
    if (0..100).contains(&value) {
        out.extend_from_slice(&[b'0' + (value / 10) as u8, b'0' + (value % 10) as u8]);
    } else {
        write_integer(value, out);
    }
}

fn year(value: i64, out: &mut Vec<u8>) {
    let shown = if value > 0 { value } else { 1 - value };
    if shown < 10_000 {
        two(shown / 100, out);
        two(shown % 100, out);
    } else {
        write_integer(shown, out);
    }
}

fn era(value: i64, out: &mut Vec<u8>) {
    if value <= 0 {
        out.extend_from_slice(b" BC");
    }
}

fn fraction(micros: i64, out: &mut Vec<u8>) {
    if micros == 0 {
        return;
    }
    let mut digits = [b'0'; 7];
    digits[0] = b'.';
    let mut rest = micros.unsigned_abs();
    for digit in digits[1..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let length = 7 - digits.iter().rev().take_while(|digit| **digit == b'0').count();
    out.extend_from_slice(&digits[..length]);
}

fn clock(civil: &Civil, out: &mut Vec<u8>) {
    two(civil.hour, out);
    out.push(b':');
    two(civil.minute, out);
    out.push(b':');
    two(civil.second, out);
    fraction(civil.micros, out);
}

/// Appends an offset in seconds east of UTC: `+02`, `-03:30`, `+00:19:32`.
pub fn write_offset(seconds_east: i32, out: &mut Vec<u8>) {
    out.push(if seconds_east < 0 { b'-' } else { b'+' });
    let seconds = i64::from(seconds_east.abs());
    two(seconds / 3600, out);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    if minutes != 0 || seconds != 0 {
        out.push(b':');
        two(minutes, out);
        if seconds != 0 {
            out.push(b':');
            two(seconds, out);
        }
    }
}

/// Appends a date's year, month and day with the style's delimiters.
fn calendar_date(civil: &Civil, format: &FormatSettings, out: &mut Vec<u8>) {
    let day_first = format.date_order == DateOrder::Dmy;
    let delimiter = match format.date_style {
        DateStyle::Iso => {
            year(civil.year, out);
            out.push(b'-');
            two(civil.month, out);
            out.push(b'-');
            two(civil.day, out);
            return;
        }
        DateStyle::Sql => b'/',
        DateStyle::German => b'.',
        DateStyle::Postgres => b'-',
    };
    let (first, second) = if day_first || format.date_style == DateStyle::German {
        (civil.day, civil.month)
    } else {
        (civil.month, civil.day)
    };
    two(first, out);
    out.push(delimiter);
    two(second, out);
    out.push(delimiter);
    year(civil.year, out);
}

fn infinity(is_positive: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if is_positive { b"infinity" } else { b"-infinity" });
}

/// Appends a `date`.
pub fn write_date(days: i32, format: &FormatSettings, out: &mut Vec<u8>) {
    if is_infinite_date(days) {
        return infinity(days > 0, out);
    }
    let (year, month, day) = civil_from_days(i64::from(days));
    calendar_date(&Civil { year, month, day, ..Civil::default() }, format, out);
    era(year, out);
}

/// Appends a `time`.
pub fn write_time(micros: i64, out: &mut Vec<u8>) {
    clock(&Civil::from_time(micros), out);
}

/// Appends a `timetz`.
pub fn write_timetz(time: TimeTz, out: &mut Vec<u8>) {
    write_time(time.micros, out);
    write_offset(-time.zone, out);
}

/// Appends a `timestamp`.
pub fn write_timestamp(timestamp: i64, format: &FormatSettings, out: &mut Vec<u8>) {
    if is_infinite(timestamp) {
        return infinity(timestamp == TIMESTAMP_INFINITY, out);
    }
    write_civil(timestamp, None, format, out);
}

/// Appends a `timestamptz` as the session's zone shows it.
pub fn write_timestamptz(timestamp: i64, format: &FormatSettings, out: &mut Vec<u8>) {
    if is_infinite(timestamp) {
        return infinity(timestamp == TIMESTAMP_INFINITY, out);
    }
    let local = format.time_zone.to_local(timestamp).unwrap_or(timestamp);
    write_civil(local, Some((&format.time_zone, timestamp)), format, out);
}

fn write_civil(local: i64, zone: Option<(&TimeZone, i64)>, format: &FormatSettings, out: &mut Vec<u8>) {
    let civil = Civil::from_micros(local);
    if format.date_style == DateStyle::Postgres {
        let weekday = weekday(local.div_euclid(DAY)) as usize;
        out.extend_from_slice(&WEEKDAYS[weekday].as_bytes()[..3]);
        out.push(b' ');
        let month = &MONTHS[civil.month as usize - 1].as_bytes()[..3];
        if format.date_order == DateOrder::Dmy {
            two(civil.day, out);
            out.push(b' ');
            out.extend_from_slice(month);
        } else {
            out.extend_from_slice(month);
            out.push(b' ');
            two(civil.day, out);
        }
        out.push(b' ');
        clock(&civil, out);
        out.push(b' ');
        year(civil.year, out);
    } else {
        calendar_date(&civil, format, out);
        out.push(b' ');
        clock(&civil, out);
    }
    if let Some((zone, timestamp)) = zone {
        if format.date_style == DateStyle::Iso {
            write_offset(zone.seconds_at(timestamp), out);
        } else {
            out.push(b' ');
            let offset = zone.offset_at(timestamp);
            out.extend_from_slice(offset.abbreviation.as_bytes());
        }
    }
    era(civil.year, out);
}

/// An interval in the parts it is shown in.
struct IntervalParts {
    years: i64,
    months: i64,
    days: i64,
    hours: i64,
    minutes: i64,
    seconds: i64,
    micros: i64,
}

impl IntervalParts {
    fn of(interval: &Interval) -> IntervalParts {
        IntervalParts {
            years: i64::from(interval.months / 12),
            months: i64::from(interval.months % 12),
            days: i64::from(interval.days),
            hours: interval.micros / HOUR,
            minutes: interval.micros / MINUTE % 60,
            seconds: interval.micros / SECOND % 60,
            micros: interval.micros % SECOND,
        }
    }

    fn all(&self) -> [i64; 7] {
        [self.years, self.months, self.days, self.hours, self.minutes, self.seconds, self.micros]
    }

    fn has_time(&self) -> bool {
        self.all()[3..].iter().any(|part| *part != 0)
    }

    fn time_is_negative(&self) -> bool {
        self.all()[3..].iter().any(|part| *part < 0)
    }
}

fn seconds(parts: &IntervalParts, pad: bool, out: &mut Vec<u8>) {
    if pad {
        two(parts.seconds.abs(), out);
    } else {
        write_integer(parts.seconds.abs(), out);
    }
    fraction(parts.micros, out);
}

/// Appends an `interval`.
pub fn write_interval(interval: &Interval, style: IntervalStyle, out: &mut Vec<u8>) {
    let parts = IntervalParts::of(interval);
    match style {
        IntervalStyle::Postgres => interval_postgres(&parts, out),
        IntervalStyle::PostgresVerbose => interval_verbose(&parts, out),
        IntervalStyle::SqlStandard => interval_sql(&parts, out),
        IntervalStyle::Iso8601 => interval_iso(&parts, out),
    }
}

fn interval_postgres(parts: &IntervalParts, out: &mut Vec<u8>) {
    let mut is_zero = true;
    let mut is_before = false;
    for (value, unit) in [(parts.years, "year"), (parts.months, "mon"), (parts.days, "day")] {
        if value == 0 {
            continue;
        }
        if !is_zero {
            out.push(b' ');
        }
        if is_before && value > 0 {
            out.push(b'+');
        }
        write_integer(value, out);
        out.push(b' ');
        out.extend_from_slice(unit.as_bytes());
        if value != 1 {
            out.push(b's');
        }
        is_before = value < 0;
        is_zero = false;
    }
    if is_zero || parts.has_time() {
        if !is_zero {
            out.push(b' ');
        }
        if parts.time_is_negative() {
            out.push(b'-');
        } else if is_before {
            out.push(b'+');
        }
        two(parts.hours.abs(), out);
        out.push(b':');
        two(parts.minutes.abs(), out);
        out.push(b':');
        seconds(parts, true, out);
    }
}

fn interval_verbose(parts: &IntervalParts, out: &mut Vec<u8>) {
    out.push(b'@');
    let mut is_zero = true;
    let mut is_before = false;
    for (value, unit) in [
        (parts.years, "year"),
        (parts.months, "mon"),
        (parts.days, "day"),
        (parts.hours, "hour"),
        (parts.minutes, "min"),
    ] {
        if value == 0 {
            continue;
        }
        let shown = if is_zero {
            is_before = value < 0;
            value.abs()
        } else if is_before {
            -value
        } else {
            value
        };
        out.push(b' ');
        write_integer(shown, out);
        out.push(b' ');
        out.extend_from_slice(unit.as_bytes());
        if shown != 1 {
            out.push(b's');
        }
        is_zero = false;
    }
    if parts.seconds != 0 || parts.micros != 0 {
        out.push(b' ');
        if parts.seconds < 0 || parts.micros < 0 {
            if is_zero {
                is_before = true;
            } else if !is_before {
                out.push(b'-');
            }
        } else if is_before {
            out.push(b'-');
        }
        seconds(parts, false, out);
        out.extend_from_slice(if parts.seconds.abs() != 1 || parts.micros != 0 { b" secs" } else { b" sec" });
        is_zero = false;
    }
    if is_zero {
        out.extend_from_slice(b" 0");
    }
    if is_before {
        out.extend_from_slice(b" ago");
    }
}

fn interval_sql(parts: &IntervalParts, out: &mut Vec<u8>) {
    let all = parts.all();
    let has_negative = all.iter().any(|part| *part < 0);
    let has_positive = all.iter().any(|part| *part > 0);
    let has_year_month = parts.years != 0 || parts.months != 0;
    let has_day = parts.days != 0;
    let has_day_time = has_day || parts.has_time();
    if !has_negative && !has_positive {
        return out.push(b'0');
    }
    if (has_negative && has_positive) || (has_year_month && has_day_time) {
        // not a value of the standard: each part with its sign
        let sign = |negative: bool| if negative { b'-' } else { b'+' };
        out.push(sign(parts.years < 0 || parts.months < 0));
        write_integer(parts.years.abs(), out);
        out.push(b'-');
        write_integer(parts.months.abs(), out);
        out.push(b' ');
        out.push(sign(parts.days < 0));
        write_integer(parts.days.abs(), out);
        out.push(b' ');
        out.push(sign(parts.time_is_negative()));
    } else {
        if has_negative {
            out.push(b'-');
        }
        if has_year_month {
            write_integer(parts.years.abs(), out);
            out.push(b'-');
            return write_integer(parts.months.abs(), out);
        }
        if has_day {
            write_integer(parts.days.abs(), out);
            out.push(b' ');
        }
    }
    write_integer(parts.hours.abs(), out);
    out.push(b':');
    two(parts.minutes.abs(), out);
    out.push(b':');
    seconds(parts, true, out);
}

fn interval_iso(parts: &IntervalParts, out: &mut Vec<u8>) {
    if parts.all().iter().all(|part| *part == 0) {
        return out.extend_from_slice(b"PT0S");
    }
    let part = |value: i64, letter: u8, out: &mut Vec<u8>| {
        if value != 0 {
            write_integer(value, out);
            out.push(letter);
        }
    };
    out.push(b'P');
    part(parts.years, b'Y', out);
    part(parts.months, b'M', out);
    part(parts.days, b'D', out);
    if parts.has_time() {
        out.push(b'T');
        part(parts.hours, b'H', out);
        part(parts.minutes, b'M', out);
        if parts.seconds != 0 || parts.micros != 0 {
            if parts.seconds < 0 || parts.micros < 0 {
                out.push(b'-');
            }
            seconds(parts, false, out);
            out.push(b'S');
        }
    }
}
