//! Reading intervals, and what their modifiers do.

use base::{Error, Result, sqlstate};

use super::calendar::{DAY, HOUR, MINUTE, SECOND, interval_out_of_range};
use super::fields::{Field, FieldKind, split_fields};
use super::parse::{ParseError, parse_clock};
use crate::context::IntervalStyle;
use crate::value::Interval;

/// Units of an interval, also those that `extract` and `date_trunc` know.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
}

impl Unit {
    /// The unit of this name, in lower case; abbreviations and plurals included.
    pub fn named(word: &str) -> Option<Unit> {
        let word = word.get(..10).unwrap_or(word);
        Some(match word {
            "us" | "usec" | "usecond" | "useconds" | "usecs" | "microsecon" => Unit::Microsecond,
            "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => Unit::Millisecond,
            "s" | "sec" | "second" | "seconds" | "secs" => Unit::Second,
            "m" | "min" | "mins" | "minute" | "minutes" => Unit::Minute,
            "h" | "hour" | "hours" | "hr" | "hrs" => Unit::Hour,
            "d" | "day" | "days" => Unit::Day,
            "w" | "week" | "weeks" => Unit::Week,
            "mon" | "mons" | "month" | "months" => Unit::Month,
            "qtr" | "quarter" => Unit::Quarter,
            "y" | "year" | "years" | "yr" | "yrs" => Unit::Year,
            "dec" | "decade" | "decades" | "decs" => Unit::Decade,
            "c" | "cent" | "centuries" | "century" => Unit::Century,
            "mil" | "mils" | "millennia" | "millennium" => Unit::Millennium,
            _ => return None,
        })
    }
}

/// The field bits in an interval's modifier.
pub mod range {
    /// `MONTH`
    pub const MONTH: i32 = 1 << 1;
    /// `YEAR`
    pub const YEAR: i32 = 1 << 2;
    /// `DAY`
    pub const DAY: i32 = 1 << 3;
    /// `HOUR`
    pub const HOUR: i32 = 1 << 10;
    /// `MINUTE`
    pub const MINUTE: i32 = 1 << 11;
    /// `SECOND`
    pub const SECOND: i32 = 1 << 12;
    /// No restriction
    pub const FULL: i32 = 0x7FFF;
}

/// Precision value that stands for none.
pub const FULL_PRECISION: i32 = 0xFFFF;

/// The field range of a modifier.
pub fn typmod_range(typmod: i32) -> i32 {
    if typmod < 0 { range::FULL } else { (typmod >> 16) & 0x7FFF }
}

/// The precision of a modifier, if it has one.
pub fn typmod_precision(typmod: i32) -> Option<i32> {
    (typmod >= 0 && typmod & 0xFFFF != FULL_PRECISION).then_some(typmod & 0xFFFF)
}

/// Years, months, days and microseconds while they add up.
#[derive(Default)]
struct Sum {
    years: i64,
    months: i64,
    days: i64,
    micros: i64,
}

fn within_i32(field: Option<i64>) -> Result<i64, ParseError> {
    field.filter(|field| i32::try_from(*field).is_ok()).ok_or(ParseError::FieldOverflow)
}

impl Sum {
    fn add_micros(&mut self, value: i64, unit: i64, fraction: f64) -> Result<(), ParseError> {
        let fraction = (fraction * unit as f64).round_ties_even() as i64;
        self.micros = value
            .checked_mul(unit)
            .and_then(|micros| micros.checked_add(fraction))
            .and_then(|micros| micros.checked_add(self.micros))
            .ok_or(ParseError::FieldOverflow)?;
        Ok(())
    }

    fn add_days(&mut self, value: i64, unit: i64, fraction: f64) -> Result<(), ParseError> {
        let days = value.checked_mul(unit).ok_or(ParseError::FieldOverflow)?;
        let fraction = fraction * unit as f64;
        let whole = fraction.trunc();
        self.days = self
            .days
            .checked_add(days)
            .and_then(|days| days.checked_add(whole as i64))
            .filter(|days| i32::try_from(*days).is_ok())
            .ok_or(ParseError::FieldOverflow)?;
        self.add_micros(0, DAY, fraction - whole)
    }

    fn add_months(&mut self, value: i64) -> Result<(), ParseError> {
        self.months = within_i32(value.checked_add(self.months))?;
        Ok(())
    }

    fn add_years(&mut self, value: i64, unit: i64, fraction: f64) -> Result<(), ParseError> {
        self.years = within_i32(value.checked_mul(unit).and_then(|years| years.checked_add(self.years)))?;
        self.add_months((fraction * (unit * 12) as f64).round_ties_even() as i64)
    }

    fn add(&mut self, unit: Unit, value: i64, fraction: f64) -> Result<(), ParseError> {
        match unit {
            Unit::Microsecond => self.add_micros(value, 1, fraction),
            Unit::Millisecond => self.add_micros(value, 1000, fraction),
            Unit::Second => self.add_micros(value, SECOND, fraction),
            Unit::Minute => self.add_micros(value, MINUTE, fraction),
            Unit::Hour => self.add_micros(value, HOUR, fraction),
            Unit::Day => self.add_days(value, 1, fraction),
            Unit::Week => self.add_days(value, 7, fraction),
            Unit::Month => {
                self.add_months(value)?;
                self.add_days(0, 30, fraction)
            }
            Unit::Quarter => Err(ParseError::BadFormat),
            Unit::Year => self.add_years(value, 1, fraction),
            Unit::Decade => self.add_years(value, 10, fraction),
            Unit::Century => self.add_years(value, 100, fraction),
            Unit::Millennium => self.add_years(value, 1000, fraction),
        }
    }

    fn negate(&mut self) -> Result<(), ParseError> {
        self.years = -self.years;
        self.months = -self.months;
        self.days = -self.days;
        self.micros = self.micros.checked_neg().ok_or(ParseError::FieldOverflow)?;
        Ok(())
    }

    fn finish(self) -> Result<Interval, ParseError> {
        let months = i32::try_from(self.years * 12 + self.months).map_err(|_| ParseError::IntervalRange)?;
        let days = i32::try_from(self.days).map_err(|_| ParseError::FieldOverflow)?;
        Ok(Interval { months, days, micros: self.micros })
    }
}

/// Reads an interval with its modifier. 22007, 22015, 22008.
pub fn parse_interval(text: &str, typmod: i32, style: IntervalStyle) -> Result<Interval> {
    let range = typmod_range(typmod);
    let parsed = split_fields(text).and_then(|fields| decode(&fields, range, style));
    let parsed = match parsed {
        Err(ParseError::BadFormat) => parse_iso(text),
        other => other,
    };
    let interval = parsed.map_err(|error| match error {
        ParseError::FieldOverflow | ParseError::MonthDayOverflow => {
            ParseError::IntervalOverflow.into_error("interval", text)
        }
        other => other.into_error("interval", text),
    })?;
    apply_typmod(interval, typmod)
}

/// A signed number that may have a fraction, with what follows it.
fn leading_number(text: &str) -> Result<(i64, f64, &str), ParseError> {
    let sign_length = usize::from(text.starts_with(['+', '-']));
    let negative = text.starts_with('-');
    let digits = text[sign_length..].bytes().take_while(u8::is_ascii_digit).count();
    let whole_end = sign_length + digits;
    let value = if digits == 0 {
        0
    } else {
        text[sign_length..whole_end].parse::<i64>().map_err(|_| ParseError::FieldOverflow)?
    };
    let mut rest = &text[whole_end..];
    let mut fraction = 0.0;
    if let Some(after) = rest.strip_prefix('.') {
        let count = after.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 && count == 0 {
            return Err(ParseError::BadFormat);
        }
        if count > 0 {
            fraction = format!("0.{}", &after[..count]).parse().map_err(|_| ParseError::BadFormat)?;
        }
        rest = &after[count..];
    } else if digits == 0 {
        return Err(ParseError::BadFormat);
    }
    Ok(if negative { (-value, -fraction, rest) } else { (value, fraction, rest) })
}

/// The clock `[h:]mm:ss`, read as the range says where it is ambiguous, in microseconds.
fn clock_micros(text: &str, range: i32) -> Result<i64, ParseError> {
    let hours: i64 = match text.split(':').next().map(str::parse) {
        Some(Ok(hours)) => hours,
        _ => return Err(ParseError::BadFormat),
    };
    let rest = &text[text.find(':').ok_or(ParseError::BadFormat)?..];
    // the hours may be more than a clock's
    let clock = parse_clock(&format!("0{rest}"))?;
    let shifted = !rest[1..].contains(':') && (rest.contains('.') || range == range::MINUTE | range::SECOND);
    if shifted {
        // minutes and seconds
        let seconds = if rest.contains('.') { clock.second } else { clock.minute };
        return hours
            .checked_mul(MINUTE)
            .and_then(|micros| micros.checked_add(seconds * SECOND + clock.micros))
            .ok_or(ParseError::FieldOverflow);
    }
    hours.checked_mul(HOUR).and_then(|micros| micros.checked_add(clock.time_micros())).ok_or(ParseError::FieldOverflow)
}

/// Bits of the units given, to find one given twice.
fn unit_bits(unit: Unit, fraction: f64) -> u32 {
    let bit = |unit: Unit| 1_u32 << unit as u32;
    match unit {
        Unit::Second if fraction != 0.0 => bit(Unit::Second) | bit(Unit::Millisecond) | bit(Unit::Microsecond),
        other => bit(other),
    }
}

const CLOCK_BITS: u32 = 1 << Unit::Hour as u32
    | 1 << Unit::Minute as u32
    | 1 << Unit::Second as u32
    | 1 << Unit::Millisecond as u32
    | 1 << Unit::Microsecond as u32;

fn rightmost_unit(range: i32) -> Unit {
    use self::range::{DAY, HOUR, MINUTE, MONTH, YEAR};
    match range {
        YEAR => Unit::Year,
        r if r == MONTH || r == YEAR | MONTH => Unit::Month,
        DAY => Unit::Day,
        r if r == HOUR || r == DAY | HOUR => Unit::Hour,
        r if r == MINUTE || r == HOUR | MINUTE || r == DAY | HOUR | MINUTE => Unit::Minute,
        _ => Unit::Second,
    }
}

/// Reads the fields from the right, so that units come before their numbers.
fn decode(fields: &[Field], range: i32, style: IntervalStyle) -> Result<Interval, ParseError> {
    let mut sum = Sum::default();
    let mut seen = 0_u32;
    let mut unit: Option<Unit> = None;
    let mut ago = false;
    // in the SQL standard's style one leading sign holds for all fields, unless another is written
    let sign_for_all = style == IntervalStyle::SqlStandard
        && fields.first().is_some_and(|field| field.text.starts_with('-'))
        && !fields[1..].iter().any(|field| field.text.starts_with(['+', '-']));
    for field in fields.iter().rev() {
        let text = field.text.as_str();
        let negate_here = |value: i64| if sign_for_all && value > 0 { -value } else { value };
        let bits;
        match field.kind {
            FieldKind::Time => {
                sum.add_micros(negate_here(clock_micros(text, range)?), 1, 0.0)?;
                bits = CLOCK_BITS;
                unit = Some(Unit::Day);
            }
            FieldKind::Zone if text.contains(':') => {
                let micros = clock_micros(&text[1..], range)?;
                sum.add_micros(if text.starts_with('-') { -micros } else { micros }, 1, 0.0)?;
                bits = CLOCK_BITS;
                unit = Some(Unit::Day);
            }
            FieldKind::Zone | FieldKind::Date | FieldKind::Number => {
                let (value, fraction, rest) = leading_number(text)?;
                let mut own_unit = *unit.get_or_insert_with(|| rightmost_unit(range));
                let (mut value, mut fraction) = (value, fraction);
                if let Some(months) = rest.strip_prefix('-') {
                    // years-months
                    let months: i64 = months.parse().map_err(|_| ParseError::BadFormat)?;
                    if !(0..12).contains(&months) {
                        return Err(ParseError::FieldOverflow);
                    }
                    let months = if text.starts_with('-') { -months } else { months };
                    value =
                        value.checked_mul(12).and_then(|v| v.checked_add(months)).ok_or(ParseError::FieldOverflow)?;
                    fraction = 0.0;
                    own_unit = Unit::Month;
                    unit = Some(Unit::Month);
                } else if !rest.is_empty() {
                    return Err(ParseError::BadFormat);
                }
                if sign_for_all && (value > 0 || fraction > 0.0) {
                    (value, fraction) = (-value, -fraction);
                }
                sum.add(own_unit, value, fraction)?;
                bits = unit_bits(own_unit, fraction);
                if own_unit == Unit::Hour {
                    unit = Some(Unit::Day);
                }
            }
            FieldKind::Word => {
                if text == "ago" {
                    ago = true;
                    unit = None;
                } else if text != "at" && text != "on" {
                    unit = Some(Unit::named(text).ok_or(ParseError::BadFormat)?);
                }
                continue;
            }
            FieldKind::SignedWord => return Err(ParseError::BadFormat),
        }
        if seen & bits != 0 {
            return Err(ParseError::BadFormat);
        }
        seen |= bits;
    }
    if seen == 0 {
        return Err(ParseError::BadFormat);
    }
    if ago {
        sum.negate()?;
    }
    sum.finish()
}

/// `P1Y2M3DT4H5M6.7S`, `P1W`, `P0001-02-03T04:05:06`.
fn parse_iso(text: &str) -> Result<Interval, ParseError> {
    let mut rest = text.strip_prefix('P').filter(|rest| !rest.is_empty()).ok_or(ParseError::BadFormat)?;
    let mut sum = Sum::default();
    let mut in_date = true;
    let mut has_field = false;
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix('T') {
            in_date = false;
            has_field = false;
            rest = time;
            continue;
        }
        let (value, fraction, after) = leading_number(rest)?;
        let mut characters = after.chars();
        let letter = characters.next();
        match (in_date, letter) {
            (true, Some('Y')) => sum.add(Unit::Year, value, fraction)?,
            (true, Some('M')) => sum.add(Unit::Month, value, fraction)?,
            (true, Some('W')) => sum.add(Unit::Week, value, fraction)?,
            (true, Some('D')) => sum.add(Unit::Day, value, fraction)?,
            (false, Some('H')) => sum.add(Unit::Hour, value, fraction)?,
            (false, Some('M')) => sum.add(Unit::Minute, value, fraction)?,
            (false, Some('S')) => sum.add(Unit::Second, value, fraction)?,
            // the alternative format: everything at once
            (true, Some('-')) if !has_field => return parse_iso_alternative(sum, rest),
            (false, Some(':')) if !has_field => return parse_iso_alternative(sum, text),
            _ => return Err(ParseError::BadFormat),
        }
        has_field = true;
        rest = characters.as_str();
    }
    sum.finish()
}

fn parse_iso_alternative(mut sum: Sum, text: &str) -> Result<Interval, ParseError> {
    let text = text.strip_prefix('P').unwrap_or(text);
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    if !date.is_empty() {
        let mut rest = date;
        for (unit, is_last) in [(Unit::Year, false), (Unit::Month, false), (Unit::Day, true)] {
            let (value, fraction, after) = leading_number(rest)?;
            sum.add(unit, value, fraction)?;
            if after.is_empty() {
                rest = after;
                break;
            }
            rest = after.strip_prefix('-').filter(|_| !is_last).ok_or(ParseError::BadFormat)?;
        }
        if !rest.is_empty() {
            return Err(ParseError::BadFormat);
        }
    }
    if let Some(mut rest) = time {
        for (unit, is_last) in [(Unit::Hour, false), (Unit::Minute, false), (Unit::Second, true)] {
            let (value, fraction, after) = leading_number(rest)?;
            sum.add(unit, value, fraction)?;
            if after.is_empty() {
                rest = after;
                break;
            }
            rest = after.strip_prefix(':').filter(|_| !is_last).ok_or(ParseError::BadFormat)?;
        }
        if !rest.is_empty() {
            return Err(ParseError::BadFormat);
        }
    }
    sum.finish()
}

/// Cuts an interval down to the fields of its modifier, and rounds its seconds. 22015.
pub fn apply_typmod(interval: Interval, typmod: i32) -> Result<Interval> {
    use self::range::{DAY as DAYS, HOUR as HOURS, MINUTE as MINUTES, MONTH, YEAR};
    if typmod < 0 {
        return Ok(interval);
    }
    let Interval { mut months, mut days, mut micros } = interval;
    match typmod_range(typmod) {
        YEAR => (months, days, micros) = (months / 12 * 12, 0, 0),
        r if r == MONTH || r == YEAR | MONTH => (days, micros) = (0, 0),
        DAYS => micros = 0,
        r if r == HOURS || r == DAYS | HOURS => micros = micros / HOUR * HOUR,
        r if r == MINUTES || r == HOURS | MINUTES || r == DAYS | HOURS | MINUTES => micros = micros / MINUTE * MINUTE,
        _ => {}
    }
    if let Some(precision) = typmod_precision(typmod) {
        micros = round_micros(micros, precision).ok_or_else(interval_out_of_range)?;
    }
    Ok(Interval { months, days, micros })
}

/// Rounds microseconds half away from zero to so many digits of a second.
pub fn round_micros(micros: i64, precision: i32) -> Option<i64> {
    if !(0..6).contains(&precision) {
        return Some(micros);
    }
    let unit = 10_i64.pow(6 - precision as u32);
    let half = if micros >= 0 { unit / 2 } else { -unit / 2 };
    Some(micros.checked_add(half)? / unit * unit)
}

/// 22023 for a precision that is negative; larger ones are cut to 6 with a warning by the caller.
pub fn check_precision(type_name: &str, suffix: &str, precision: i32) -> Result<i32> {
    if precision < 0 {
        return Err(Error::new(
            sqlstate::INVALID_PARAMETER_VALUE,
            format!("{type_name}({precision}){suffix} precision must not be negative"),
        ));
    }
    Ok(precision.min(6))
}
