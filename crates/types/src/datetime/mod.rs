//! Dates, times and zones.
//!
//! All arithmetic is on counts of days and microseconds from 2000-01-01; the calendar is our own, since
//! PostgreSQL's years reach further than libraries go. Zones come from `jiff` (see [`zone`]).

use base::{Error, Result, sqlstate};

pub mod abbreviations;
pub mod arithmetic;
pub mod calendar;
pub mod extract;
pub mod fields;
pub mod format;
pub mod interval;
pub mod parse;
pub mod zone;

use calendar::{
    DATE_INFINITY, DATE_MINUS_INFINITY, DAY, SECOND, TIMESTAMP_INFINITY, TIMESTAMP_MINUS_INFINITY, UNIX_EPOCH_DAYS,
    check_date, check_timestamp,
};
use parse::{Moment, ParseError, ParseSettings, parse_moment};
pub use zone::TimeZone;

use super::context::EvalContext;
use super::value::TimeTz;

/// The clock: microseconds since 2000-01-01 UTC.
pub fn clock_micros() -> i64 {
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    since_1970.as_micros() as i64 - UNIX_EPOCH_DAYS * DAY
}

fn settings_of(context: &dyn EvalContext) -> ParseSettings<'_> {
    let format = context.format();
    ParseSettings { order: format.date_order, zone: &format.time_zone, now: context.transaction_timestamp() }
}

fn out_of_range(type_name: &str, text: &str) -> Error {
    Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, format!("{type_name} out of range: \"{text}\""))
}

/// Reads a `date`: days since 2000-01-01. 22007, 22008.
pub fn parse_date(context: &dyn EvalContext, text: &str) -> Result<i32> {
    const NAME: &str = "date";
    match parse_moment(text, &settings_of(context), false).map_err(|error| error.into_error(NAME, text))? {
        Moment::Infinity => Ok(DATE_INFINITY),
        Moment::MinusInfinity => Ok(DATE_MINUS_INFINITY),
        Moment::Epoch => Ok(-(UNIX_EPOCH_DAYS as i32)),
        Moment::Fields { civil, has_date: true, .. } => check_date(civil.days()).map_err(|_| out_of_range(NAME, text)),
        Moment::Fields { .. } => Err(ParseError::BadFormat.into_error(NAME, text)),
    }
}

/// Reads a `timestamp`: microseconds since 2000-01-01. 22007, 22008.
pub fn parse_timestamp(context: &dyn EvalContext, text: &str, typmod: i32) -> Result<i64> {
    const NAME: &str = "timestamp";
    match parse_moment(text, &settings_of(context), false).map_err(|error| error.into_error(NAME, text))? {
        Moment::Infinity => Ok(TIMESTAMP_INFINITY),
        Moment::MinusInfinity => Ok(TIMESTAMP_MINUS_INFINITY),
        Moment::Epoch => Ok(-UNIX_EPOCH_DAYS * DAY),
        Moment::Fields { civil, has_date: true, .. } => {
            let timestamp = civil.to_micros().ok_or_else(|| out_of_range(NAME, text))?;
            check_timestamp(timestamp).map_err(|_| out_of_range(NAME, text))?;
            round_timestamp(timestamp, typmod)
        }
        Moment::Fields { .. } => Err(ParseError::BadFormat.into_error(NAME, text)),
    }
}

/// Reads a `timestamptz`: microseconds since 2000-01-01 UTC. 22007, 22008.
pub fn parse_timestamptz(context: &dyn EvalContext, text: &str, typmod: i32) -> Result<i64> {
    const NAME: &str = "timestamp with time zone";
    let settings = settings_of(context);
    match parse_moment(text, &settings, false).map_err(|error| error.into_error(NAME, text))? {
        Moment::Infinity => Ok(TIMESTAMP_INFINITY),
        Moment::MinusInfinity => Ok(TIMESTAMP_MINUS_INFINITY),
        Moment::Epoch => Ok(-UNIX_EPOCH_DAYS * DAY),
        Moment::Fields { civil, offset, has_date: true, .. } => {
            let seconds = offset.unwrap_or_else(|| settings.zone.seconds_at_local(&civil));
            let timestamp = civil
                .to_micros()
                .and_then(|local| local.checked_sub(i64::from(seconds) * SECOND))
                .ok_or_else(|| out_of_range("timestamp", text))?;
            check_timestamp(timestamp).map_err(|_| out_of_range("timestamp", text))?;
            round_timestamp(timestamp, typmod)
        }
        Moment::Fields { .. } => Err(ParseError::BadFormat.into_error(NAME, text)),
    }
}

/// Reads a `time`: microseconds since midnight. 22007, 22008.
pub fn parse_time(context: &dyn EvalContext, text: &str, typmod: i32) -> Result<i64> {
    const NAME: &str = "time";
    match parse_moment(text, &settings_of(context), true).map_err(|error| error.into_error(NAME, text))? {
        Moment::Fields { civil, has_time: true, .. } => Ok(round_time(civil.time_micros(), typmod)),
        _ => Err(ParseError::BadFormat.into_error(NAME, text)),
    }
}

/// Reads a `timetz`. 22007, 22008.
pub fn parse_timetz(context: &dyn EvalContext, text: &str, typmod: i32) -> Result<TimeTz> {
    const NAME: &str = "time with time zone";
    let settings = settings_of(context);
    match parse_moment(text, &settings, true).map_err(|error| error.into_error(NAME, text))? {
        Moment::Fields { civil, offset, has_date, has_time: true } => {
            let seconds = offset.unwrap_or_else(|| {
                let mut local = civil;
                if !has_date {
                    let now = settings.zone.to_local(settings.now).unwrap_or(settings.now);
                    (local.year, local.month, local.day) = calendar::civil_from_days(now.div_euclid(DAY));
                }
                settings.zone.seconds_at_local(&local)
            });
            Ok(TimeTz { micros: round_time(civil.time_micros(), typmod), zone: -seconds })
        }
        _ => Err(ParseError::BadFormat.into_error(NAME, text)),
    }
}

/// Rounds a timestamp to the digits of its modifier. 22008.
pub fn round_timestamp(timestamp: i64, typmod: i32) -> Result<i64> {
    if typmod < 0 || calendar::is_infinite(timestamp) {
        return Ok(timestamp);
    }
    interval::round_micros(timestamp, typmod).ok_or_else(calendar::timestamp_out_of_range)
}

/// Rounds a time of day to the digits of its modifier.
pub fn round_time(micros: i64, typmod: i32) -> i64 {
    if typmod < 0 { micros } else { interval::round_micros(micros, typmod).unwrap_or(micros) }
}
