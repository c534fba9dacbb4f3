//! Reading dates and times: the many notations PostgreSQL takes.
//!
//! Text is split into fields (see [`super::fields`]); each field is then read in the light of
//! what has been seen before it. A set of parts (`Parts`) keeps track of that; a part given twice is an error.

use base::{Error, Result, sqlstate};

use super::abbreviations::{Abbreviation, zone_abbreviation};
use super::calendar::{Civil, DAY, JULIAN_EPOCH, civil_from_days, days_in_month};
use super::fields::{Field, FieldKind, Keyword, keyword, split_fields};
use super::zone::TimeZone;
use crate::context::DateOrder;

/// Why text is not a date or time; the caller words it with the type and the text.
#[derive(Debug)]
pub enum ParseError {
    /// 22007
    BadFormat,
    /// 22008
    FieldOverflow,
    /// 22008, with a hint at DateStyle
    MonthDayOverflow,
    /// 22015
    IntervalOverflow,
    /// 22008 `interval out of range`
    IntervalRange,
    /// 22009
    ZoneOverflow,
    /// 22023 `time zone "x" not recognized`
    UnknownZone(String),
}

impl ParseError {
    /// The error as a client sees it.
    #[cold]
    pub fn into_error(self, type_name: &str, text: &str) -> Error {
        let out_of_range = |sqlstate, what: &str| Error::new(sqlstate, format!("{what} out of range: \"{text}\""));
        match self {
            ParseError::BadFormat => Error::new(
                sqlstate::INVALID_DATETIME_FORMAT,
                format!("invalid input syntax for type {type_name}: \"{text}\""),
            ),
            ParseError::FieldOverflow => out_of_range(sqlstate::DATETIME_FIELD_OVERFLOW, "date/time field value"),
            ParseError::MonthDayOverflow => out_of_range(sqlstate::DATETIME_FIELD_OVERFLOW, "date/time field value")
                .hint("Perhaps you need a different \"datestyle\" setting."),
            ParseError::IntervalOverflow => out_of_range(sqlstate::INTERVAL_FIELD_OVERFLOW, "interval field value"),
            ParseError::IntervalRange => Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, "interval out of range"),
            ParseError::ZoneOverflow => {
                out_of_range(sqlstate::INVALID_TIME_ZONE_DISPLACEMENT_VALUE, "time zone displacement")
            }
            ParseError::UnknownZone(name) => {
                Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("time zone \"{name}\" not recognized"))
            }
        }
    }
}

/// The parts seen so far, one bit each.
type Parts = u32;
const YEAR: Parts = 1;
const MONTH: Parts = 1 << 1;
const DAY_PART: Parts = 1 << 2;
const DAY_OF_YEAR: Parts = 1 << 3;
const TIME: Parts = 1 << 4;
const ZONE: Parts = 1 << 5;
const DAYLIGHT: Parts = 1 << 6;
const WEEKDAY: Parts = 1 << 7;
const MERIDIAN: Parts = 1 << 8;
const ERA: Parts = 1 << 9;
const SPECIAL: Parts = 1 << 10;
const DATE: Parts = YEAR | MONTH | DAY_PART;

/// A zone as the text gives it.
#[derive(Clone, Debug)]
enum GivenZone {
    /// Seconds east of UTC
    Offset(i32),
    /// By rules
    Rules(TimeZone),
}

/// The moment that a text stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A date, perhaps a time, perhaps the seconds east of UTC.
    Fields {
        /// Date and time; the hour may be 24.
        civil: Civil,
        /// Seconds east of UTC, if the text says or implies so.
        offset: Option<i32>,
        /// Whether there is a date at all.
        has_date: bool,
        /// Whether there is a time at all.
        has_time: bool,
    },
    /// `infinity`
    Infinity,
    /// `-infinity`
    MinusInfinity,
    /// 1970-01-01 UTC
    Epoch,
}

/// The settings that reading depends on.
pub struct ParseSettings<'a> {
    /// The order of ambiguous dates.
    pub order: DateOrder,
    /// The session's zone.
    pub zone: &'a TimeZone,
    /// The transaction's time, for `now` and `today`.
    pub now: i64,
}

struct Decoder<'a> {
    settings: &'a ParseSettings<'a>,
    parts: Parts,
    civil: Civil,
    day_of_year: i64,
    two_digit_year: bool,
    has_text_month: bool,
    before_christ: bool,
    afternoon: Option<bool>,
    julian: bool,
    zone: Option<GivenZone>,
    zone_was_named: bool,
    daylight_seconds: i32,
    special: Option<Keyword>,
    /// The first letter of the unit that the next number has.
    unit: u8,
}

/// Reads a date, time or timestamp. `time_only`: for `time` and `timetz`, where digits alone are a time.
pub fn parse_moment(text: &str, settings: &ParseSettings<'_>, time_only: bool) -> Result<Moment, ParseError> {
    if text.len() > 128 {
        // PostgreSQL's work area holds no more; nothing valid is that long
        return Err(ParseError::BadFormat);
    }
    let fields = split_fields(text)?;
    if fields.is_empty() {
        return Err(ParseError::BadFormat);
    }
    let mut decoder = Decoder {
        settings,
        parts: 0,
        civil: Civil::default(),
        day_of_year: 0,
        two_digit_year: false,
        has_text_month: false,
        before_christ: false,
        afternoon: None,
        julian: false,
        zone: None,
        zone_was_named: false,
        daylight_seconds: 0,
        special: None,
        unit: 0,
    };
    decoder.decode(&fields, time_only)?;
    decoder.finish()
}

fn digits_value(text: &str) -> Result<i64, ParseError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ParseError::BadFormat);
    }
    text.parse::<i32>().map(i64::from).map_err(|_| ParseError::FieldOverflow)
}

/// Microseconds of a fraction `.ddd`; more than six digits are rounded.
pub fn fraction_micros(fraction: &str) -> Result<i64, ParseError> {
    let digits = fraction.strip_prefix('.').ok_or(ParseError::BadFormat)?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ParseError::BadFormat);
    }
    if digits.is_empty() {
        return Ok(0);
    }
    let seconds: f64 = format!("0.{digits}").parse().map_err(|_| ParseError::BadFormat)?;
    Ok((seconds * 1_000_000.0).round_ties_even() as i64)
}

/// `hh:mm[:ss[.ffffff]]`; with one colon and a fraction, minutes and seconds.
pub fn parse_clock(text: &str) -> Result<Civil, ParseError> {
    let (clock, fraction) = match text.find('.') {
        Some(point) => (&text[..point], Some(&text[point..])),
        None => (text, None),
    };
    let mut parts = clock.split(':');
    let mut next = || parts.next().map(digits_value).transpose();
    let first = next()?.ok_or(ParseError::BadFormat)?;
    let second = match next() {
        Ok(Some(value)) => value,
        // `04:` has a minute of nothing
        _ => return Err(ParseError::BadFormat),
    };
    let third = next()?;
    if parts.next().is_some() {
        return Err(ParseError::BadFormat);
    }
    let micros = fraction.map_or(Ok(0), fraction_micros)?;
    let (hour, minute, second) = match (third, fraction) {
        (None, Some(_)) => (0, first, second),
        (None, None) => (first, second, 0),
        (Some(third), _) => (first, second, third),
    };
    if minute > 59 || second > 60 || micros > 1_000_000 {
        return Err(ParseError::FieldOverflow);
    }
    Ok(Civil { hour, minute, second, micros, ..Civil::default() })
}

/// `+hh[:mm[:ss]]` or `+hhmm`, in seconds east of UTC.
pub fn parse_offset(text: &str) -> Result<i32, ParseError> {
    let (negative, rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => return Err(ParseError::BadFormat),
    };
    let mut parts = rest.split(':');
    let first = parts.next().unwrap_or("");
    let mut hours = first.parse::<i64>().map_err(|_| ParseError::BadFormat)?;
    let mut minutes = 0;
    let mut seconds = 0;
    let mut is_delimited = false;
    if let Some(part) = parts.next() {
        is_delimited = true;
        minutes = digits_value(part)?;
        if let Some(part) = parts.next() {
            seconds = digits_value(part)?;
        }
    }
    if parts.next().is_some() {
        return Err(ParseError::BadFormat);
    }
    if !is_delimited && first.len() > 2 {
        minutes = hours % 100;
        hours /= 100;
    }
    if hours > 15 || minutes > 59 || seconds > 59 {
        return Err(ParseError::ZoneOverflow);
    }
    let total = (hours * 3600 + minutes * 60 + seconds) as i32;
    Ok(if negative { -total } else { total })
}

impl Decoder<'_> {
    fn mark(&mut self, parts: Parts) -> Result<(), ParseError> {
        if self.parts & parts != 0 {
            return Err(ParseError::BadFormat);
        }
        self.parts |= parts;
        Ok(())
    }

    fn has(&self, parts: Parts) -> bool {
        self.parts & parts == parts
    }

    fn decode(&mut self, fields: &[Field], time_only: bool) -> Result<(), ParseError> {
        let mut expects = None;
        for (index, field) in fields.iter().enumerate() {
            let text = field.text.as_str();
            match field.kind {
                FieldKind::Date => self.date_field(text, &mut expects, time_only)?,
                FieldKind::Time => {
                    if expects.take() == Some(Keyword::Julian) {
                        return Err(ParseError::BadFormat);
                    }
                    self.clock(parse_clock(text)?)?;
                }
                FieldKind::Zone => {
                    self.mark(ZONE)?;
                    self.zone = Some(GivenZone::Offset(parse_offset(text)?));
                }
                FieldKind::Number => self.number_field(text, &mut expects, time_only)?,
                FieldKind::Word | FieldKind::SignedWord => {
                    let next = fields.get(index + 1).map(|field| field.kind);
                    self.word(text, next, &mut expects, time_only)?;
                }
            }
        }
        if expects.is_some() { Err(ParseError::BadFormat) } else { Ok(()) }
    }

    fn clock(&mut self, clock: Civil) -> Result<(), ParseError> {
        self.mark(TIME)?;
        if clock.hour > 24 || clock.time_micros() > DAY {
            return Err(ParseError::FieldOverflow);
        }
        self.civil = Civil { year: self.civil.year, month: self.civil.month, day: self.civil.day, ..clock };
        Ok(())
    }

    fn date_field(&mut self, text: &str, expects: &mut Option<Keyword>, time_only: bool) -> Result<(), ParseError> {
        let starts_with_digit = text.as_bytes()[0].is_ascii_digit();
        match expects.take() {
            Some(Keyword::Julian) => {
                let (number, offset) = text.split_at(text.find('-').ok_or(ParseError::BadFormat)?);
                self.julian_day(number)?;
                self.mark(ZONE)?;
                self.zone = Some(GivenZone::Offset(parse_offset(offset)?));
                return Ok(());
            }
            Some(Keyword::IsoTime) => return self.time_with_zone(text),
            _ => {}
        }
        if time_only
            && starts_with_digit
            && !self.has(DATE)
            && text.matches('-').count() == 1
            && !text.contains(['.', '/'])
        {
            // a time with its zone run together, as in 040506-08
            return self.time_with_zone(text);
        }
        if self.has(DATE) || (time_only && !starts_with_digit && !looks_like_date(text)) {
            if starts_with_digit {
                return self.time_with_zone(text);
            }
            // a zone with punctuation in its name
            return self.zone_name(text).ok_or_else(|| ParseError::UnknownZone(text.to_owned()))?;
        }
        self.date(text)
    }

    fn time_with_zone(&mut self, text: &str) -> Result<(), ParseError> {
        if self.has(TIME) {
            return Err(ParseError::BadFormat);
        }
        let (digits, offset) = text.split_at(text.find('-').ok_or(ParseError::BadFormat)?);
        let offset = parse_offset(offset)?;
        if !self.run_together(digits, true)? {
            return Err(ParseError::BadFormat);
        }
        self.mark(ZONE)?;
        self.zone = Some(GivenZone::Offset(offset));
        Ok(())
    }

    fn zone_name(&mut self, text: &str) -> Option<Result<(), ParseError>> {
        let zone = TimeZone::named(text)?;
        self.zone_was_named = true;
        Some(self.mark(ZONE).map(|()| self.zone = Some(GivenZone::Rules(zone))))
    }

    /// A date of several parts with delimiters between: months in letters first, then the numbers in order.
    fn date(&mut self, text: &str) -> Result<(), ParseError> {
        let mut parts: Vec<&str> = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
            rest = &rest[start..];
            let is_digit = rest.as_bytes()[0].is_ascii_digit();
            let end = rest
                .find(|c: char| if is_digit { !c.is_ascii_digit() } else { !c.is_ascii_alphabetic() })
                .unwrap_or(rest.len());
            parts.push(&rest[..end]);
            rest = &rest[end..];
        }
        let mut numbers = Vec::new();
        for part in parts {
            if part.as_bytes()[0].is_ascii_digit() {
                numbers.push(part);
                continue;
            }
            match keyword(part) {
                Some(Keyword::Ignore) => {}
                Some(Keyword::Month(month)) => {
                    self.mark(MONTH)?;
                    self.has_text_month = true;
                    self.civil.month = month;
                }
                _ => return Err(ParseError::BadFormat),
            }
        }
        for number in numbers {
            self.number(number)?;
        }
        let complete = self.has(DATE) || (self.has(YEAR) && self.has(DAY_OF_YEAR));
        if complete { Ok(()) } else { Err(ParseError::BadFormat) }
    }

    fn julian_day(&mut self, text: &str) -> Result<(), ParseError> {
        let (whole, fraction) = match text.find('.') {
            Some(point) => (&text[..point], Some(&text[point..])),
            None => (text, None),
        };
        let day = digits_value(whole)?;
        self.mark(DATE)?;
        self.julian = true;
        (self.civil.year, self.civil.month, self.civil.day) = civil_from_days(day - JULIAN_EPOCH);
        if let Some(fraction) = fraction {
            let share: f64 = format!("0{fraction}").parse().map_err(|_| ParseError::BadFormat)?;
            let time = Civil::from_time(((share * DAY as f64).round() as i64).min(DAY - 1));
            self.clock(time)?;
        }
        Ok(())
    }

    fn number_field(&mut self, text: &str, expects: &mut Option<Keyword>, time_only: bool) -> Result<(), ParseError> {
        match expects.take() {
            Some(Keyword::Julian) => return self.julian_day(text),
            Some(Keyword::Unit) => return self.labelled(text),
            Some(Keyword::IsoTime) => {
                return if self.run_together(text, true)? { Ok(()) } else { Err(ParseError::BadFormat) };
            }
            _ => {}
        }
        if time_only && !self.has(DATE) && self.parts & (YEAR | MONTH | DAY_PART) == 0 {
            return if self.run_together(text, true)? { Ok(()) } else { Err(ParseError::BadFormat) };
        }
        let point = text.find('.');
        match point {
            Some(_) if !self.has(DATE) && self.parts & DATE == 0 => self.date(text),
            Some(point) if point > 2 => self.run_together(text, false).map(|_| ()),
            _ if text.len() >= 6 && (!self.has(DATE) || !self.has(TIME)) => self.run_together(text, false).map(|_| ()),
            _ => self.number(text),
        }
    }

    /// `yyyymmdd`, `yymmdd`, `hhmmss[.fff]`, `hhmm`; tells whether it was a time.
    fn run_together(&mut self, text: &str, as_time: bool) -> Result<bool, ParseError> {
        let (digits, fraction) = match text.find('.') {
            Some(point) => (&text[..point], Some(&text[point..])),
            None => (text, None),
        };
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(ParseError::BadFormat);
        }
        if fraction.is_none() && !as_time && !self.has(DATE) && digits.len() >= 6 {
            let (rest, day) = digits.split_at(digits.len() - 2);
            let (year, month) = rest.split_at(rest.len() - 2);
            self.mark(DATE)?;
            self.two_digit_year = year.len() == 2;
            self.civil.year = digits_value(year)?;
            self.civil.month = digits_value(month)?;
            self.civil.day = digits_value(day)?;
            return Ok(false);
        }
        if self.has(TIME) {
            return Err(ParseError::BadFormat);
        }
        let micros = fraction.map_or(Ok(0), fraction_micros)?;
        let part = |from: usize| digits_value(&digits[from..from + 2]);
        let clock = match digits.len() {
            6 => Civil { hour: part(0)?, minute: part(2)?, second: part(4)?, micros, ..Civil::default() },
            4 => Civil { hour: part(0)?, minute: part(2)?, micros, ..Civil::default() },
            _ => return Err(ParseError::BadFormat),
        };
        if clock.minute > 59 || clock.second > 60 {
            return Err(ParseError::FieldOverflow);
        }
        self.clock(clock)?;
        Ok(true)
    }

    /// A number that has been told to be year, month or day, as in `y2001m02d04`.
    fn labelled(&mut self, text: &str) -> Result<(), ParseError> {
        let value = digits_value(text)?;
        let (part, field) = match self.unit {
            b'y' => (YEAR, &mut self.civil.year),
            b'd' => (DAY_PART, &mut self.civil.day),
            _ => (MONTH, &mut self.civil.month),
        };
        *field = value;
        self.mark(part)
    }

    /// A number that is year, month or day, depending on what there is already.
    fn number(&mut self, text: &str) -> Result<(), ParseError> {
        let (whole, fraction) = match text.find('.') {
            Some(point) => (&text[..point], Some(&text[point..])),
            None => (text, None),
        };
        if fraction.is_some() {
            if whole.len() > 2 {
                return self.run_together(text, false).map(|_| ());
            }
            return Err(ParseError::BadFormat);
        }
        let value = digits_value(whole)?;
        let length = whole.len();
        let seen = self.parts & DATE;
        if length == 3 && seen == YEAR && (1..=366).contains(&value) {
            self.mark(DAY_OF_YEAR | MONTH | DAY_PART)?;
            self.day_of_year = value;
            return Ok(());
        }
        let order = self.settings.order;
        let part = if seen == 0 {
            match order {
                _ if length >= 3 => YEAR,
                DateOrder::Ymd => YEAR,
                DateOrder::Dmy => DAY_PART,
                DateOrder::Mdy => MONTH,
            }
        } else if seen == YEAR || seen == DAY_PART {
            MONTH
        } else if seen == MONTH {
            if self.has_text_month && (length >= 3 || order == DateOrder::Ymd) { YEAR } else { DAY_PART }
        } else if seen == YEAR | MONTH {
            if self.has_text_month && length >= 3 && self.two_digit_year {
                // the first number was the day after all
                self.mark(DAY_PART)?;
                self.civil.day = self.civil.year;
                self.civil.year = value;
                self.two_digit_year = false;
                return Ok(());
            }
            DAY_PART
        } else if seen == MONTH | DAY_PART {
            YEAR
        } else if seen == DATE {
            return self.run_together(text, false).map(|_| ());
        } else {
            return Err(ParseError::BadFormat);
        };
        self.mark(part)?;
        match part {
            YEAR => {
                self.civil.year = value;
                self.two_digit_year = length <= 2;
            }
            MONTH => self.civil.month = value,
            _ => self.civil.day = value,
        }
        Ok(())
    }

    fn word(
        &mut self,
        text: &str,
        next: Option<FieldKind>,
        expects: &mut Option<Keyword>,
        time_only: bool,
    ) -> Result<(), ParseError> {
        if expects.is_some() {
            return Err(ParseError::BadFormat);
        }
        if let Some(abbreviation) = zone_abbreviation(text) {
            return self.zone_abbreviation(abbreviation, text);
        }
        let Some(keyword) = keyword(text) else {
            return self.zone_name(text).unwrap_or(Err(ParseError::BadFormat));
        };
        match keyword {
            Keyword::Ignore => {}
            Keyword::Now => {
                let now = self.local_now();
                self.mark(DATE | TIME | ZONE)?;
                self.civil = now;
                self.zone = Some(GivenZone::Offset(self.settings.zone.seconds_at(self.settings.now)));
            }
            Keyword::Today | Keyword::Tomorrow | Keyword::Yesterday => {
                let days = self.local_now().days()
                    + match keyword {
                        Keyword::Tomorrow => 1,
                        Keyword::Yesterday => -1,
                        _ => 0,
                    };
                self.mark(DATE)?;
                self.julian = true;
                (self.civil.year, self.civil.month, self.civil.day) = civil_from_days(days);
            }
            Keyword::Zulu => {
                self.mark(TIME | ZONE)?;
                self.zone = Some(GivenZone::Offset(0));
            }
            Keyword::Epoch | Keyword::Infinity | Keyword::MinusInfinity => {
                if time_only {
                    return Err(ParseError::BadFormat);
                }
                self.mark(SPECIAL)?;
                self.special = Some(keyword);
            }
            Keyword::Month(month) => self.month_name(month)?,
            Keyword::Weekday(_) => self.mark(WEEKDAY)?,
            Keyword::Meridian(afternoon) => {
                self.mark(MERIDIAN)?;
                self.afternoon = Some(afternoon);
            }
            Keyword::Era(before) => {
                self.mark(ERA)?;
                self.before_christ = before;
            }
            Keyword::DaylightModifier => {
                self.mark(DAYLIGHT)?;
                self.daylight_seconds = 3600;
            }
            Keyword::Julian | Keyword::IsoTime | Keyword::Unit => {
                *expects = Some(self.prefix(keyword, text, next, time_only)?);
            }
        }
        Ok(())
    }

    fn zone_abbreviation(&mut self, abbreviation: Abbreviation, text: &str) -> Result<(), ParseError> {
        self.mark(ZONE)?;
        self.zone = Some(match abbreviation {
            Abbreviation::Standard(seconds) => GivenZone::Offset(seconds),
            Abbreviation::Daylight(seconds) => GivenZone::Offset(seconds),
            Abbreviation::Zone(name) => {
                let zone = TimeZone::abbreviated(name, text);
                GivenZone::Rules(zone.ok_or_else(|| ParseError::UnknownZone(name.to_owned()))?)
            }
        });
        Ok(())
    }

    fn month_name(&mut self, month: i64) -> Result<(), ParseError> {
        let takes_number = self.has(MONTH) && !self.has_text_month && !self.has(DAY_PART);
        if takes_number && (1..=31).contains(&self.civil.month) {
            // the number taken for the month was the day
            self.mark(DAY_PART)?;
            self.civil.day = self.civil.month;
        } else {
            self.mark(MONTH)?;
        }
        self.has_text_month = true;
        self.civil.month = month;
        Ok(())
    }

    /// A word that says what the number behind it is.
    fn prefix(
        &mut self,
        keyword: Keyword,
        text: &str,
        next: Option<FieldKind>,
        time_only: bool,
    ) -> Result<Keyword, ParseError> {
        let fits = match keyword {
            Keyword::Julian => matches!(next, Some(FieldKind::Number | FieldKind::Date)),
            Keyword::IsoTime => {
                let is_time = matches!(next, Some(FieldKind::Number | FieldKind::Time | FieldKind::Date));
                is_time && (time_only || self.has(DATE))
            }
            _ => {
                let is_unit = matches!(text.to_ascii_lowercase().as_str(), "y" | "m" | "mm" | "d");
                next == Some(FieldKind::Number) && is_unit
            }
        };
        if !fits {
            return Err(ParseError::BadFormat);
        }
        if keyword == Keyword::Unit {
            self.unit = text.as_bytes()[0].to_ascii_lowercase();
        }
        Ok(keyword)
    }

    fn local_now(&self) -> Civil {
        Civil::from_micros(self.settings.zone.to_local(self.settings.now).unwrap_or(self.settings.now))
    }

    fn finish(mut self) -> Result<Moment, ParseError> {
        if let Some(special) = self.special {
            if self.parts & (DATE | TIME) != 0 {
                return Err(ParseError::BadFormat);
            }
            return Ok(match special {
                Keyword::Infinity => Moment::Infinity,
                Keyword::MinusInfinity => Moment::MinusInfinity,
                _ => Moment::Epoch,
            });
        }
        self.check_date()?;
        if let Some(afternoon) = self.afternoon {
            if self.civil.hour > 12 {
                return Err(ParseError::FieldOverflow);
            }
            self.civil.hour = self.civil.hour % 12 + if afternoon { 12 } else { 0 };
        }
        let offset = match &self.zone {
            None => None,
            Some(GivenZone::Offset(seconds)) => Some(seconds + self.daylight_seconds),
            // a zone that changes its offset says nothing about a time without a date
            Some(GivenZone::Rules(zone)) if self.zone_was_named && !self.has(DATE) && !zone.is_fixed() => {
                return Err(ParseError::BadFormat);
            }
            Some(GivenZone::Rules(zone)) => {
                // an abbreviation stands for what it means today
                let local = if self.has(DATE) {
                    self.civil
                } else {
                    let today = self.local_now();
                    Civil { year: today.year, month: today.month, day: today.day, ..self.civil }
                };
                Some(zone.seconds_at_local(&local))
            }
        };
        Ok(Moment::Fields { civil: self.civil, offset, has_date: self.has(DATE), has_time: self.has(TIME) })
    }

    /// Checks the parts of the date against each other, and settles the year.
    fn check_date(&mut self) -> Result<(), ParseError> {
        if self.has(YEAR) && !self.julian {
            let year = self.civil.year;
            self.civil.year = if self.before_christ {
                if year <= 0 {
                    return Err(ParseError::FieldOverflow);
                }
                1 - year
            } else if self.two_digit_year {
                match year {
                    0..70 => year + 2000,
                    70..100 => year + 1900,
                    _ => year,
                }
            } else if year <= 0 {
                return Err(ParseError::FieldOverflow);
            } else {
                year
            };
        }
        if self.has(DAY_OF_YEAR) {
            let days = super::calendar::days_from_civil(self.civil.year, 1, 1) + self.day_of_year - 1;
            (self.civil.year, self.civil.month, self.civil.day) = civil_from_days(days);
        }
        if self.has(MONTH) && !(1..=12).contains(&self.civil.month) {
            return Err(ParseError::MonthDayOverflow);
        }
        if self.has(DAY_PART) && !(1..=31).contains(&self.civil.day) {
            return Err(ParseError::MonthDayOverflow);
        }
        if self.has(DATE) && self.civil.day > days_in_month(self.civil.year, self.civil.month) {
            return Err(ParseError::FieldOverflow);
        }
        Ok(())
    }
}

fn looks_like_date(text: &str) -> bool {
    let word: String = text.chars().take_while(char::is_ascii_alphabetic).collect();
    matches!(keyword(&word), Some(Keyword::Month(_)))
}
