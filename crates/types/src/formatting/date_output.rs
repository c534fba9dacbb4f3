//! Dates and intervals, written by a template.

use std::borrow::Cow;

use base::{Error, Result, sqlstate};

use super::fields::{DateField, ROMAN_MONTHS, date_template};
use super::ordinal_suffix;
use super::template::{Field, Part};
use crate::datetime::calendar::{self, Civil, HOUR, JULIAN_EPOCH, MINUTE, MONTHS, SECOND, WEEKDAYS, is_infinite};
use crate::datetime::zone::ZoneOffset;
use crate::value::Interval;

/// The value to write: a moment, or an interval split into the same fields.
struct Moment {
    civil: Civil,
    zone: Option<ZoneOffset>,
    is_interval: bool,
}

/// A timestamp by a template; nothing for an infinite one, or an empty template.
///
/// # Errors
/// None: every template means something.
pub fn timestamp(local: i64, zone: Option<ZoneOffset>, template: &str) -> Result<Option<String>> {
    if template.is_empty() || is_infinite(local) {
        return Ok(None);
    }
    Moment { civil: Civil::from_micros(local), zone, is_interval: false }.text(template).map(Some)
}

/// An interval by a template; nothing for an empty template.
///
/// # Errors
/// 22007 for fields that only a date has.
pub fn interval(value: &Interval, template: &str) -> Result<Option<String>> {
    if template.is_empty() {
        return Ok(None);
    }
    let civil = Civil {
        year: i64::from(value.months / 12),
        month: i64::from(value.months % 12),
        day: i64::from(value.days),
        hour: value.micros / HOUR,
        minute: value.micros / MINUTE % 60,
        second: value.micros / SECOND % 60,
        micros: value.micros % SECOND,
    };
    Moment { civil, zone: None, is_interval: true }.text(template).map(Some)
}

fn padded(value: i64, width: usize) -> String {
    format!("{value:0width$}")
}

/// Fields that an interval does not have.
fn only_dates_have(id: DateField) -> bool {
    use DateField::*;
    let is_of_date =
        matches!(id, Era { .. } | DayName(_) | DayShort(_) | DayOfWeek | IsoDay | MonthName(_) | MonthShort(_));
    is_of_date || matches!(id, Zone { .. } | ZoneHour | ZoneMinute | Offset)
}

fn meridiem(is_afternoon: bool, upper: bool, dots: bool) -> &'static str {
    match (is_afternoon, upper, dots) {
        (false, true, true) => "A.M.",
        (false, false, true) => "a.m.",
        (false, true, false) => "AM",
        (false, false, false) => "am",
        (true, true, true) => "P.M.",
        (true, false, true) => "p.m.",
        (true, true, false) => "PM",
        (true, false, false) => "pm",
    }
}

fn era(is_before_christ: bool, upper: bool, dots: bool) -> &'static str {
    match (is_before_christ, upper, dots) {
        (false, true, true) => "A.D.",
        (false, false, true) => "a.d.",
        (false, true, false) => "AD",
        (false, false, false) => "ad",
        (true, true, true) => "B.C.",
        (true, false, true) => "b.c.",
        (true, true, false) => "BC",
        (true, false, false) => "bc",
    }
}

impl Moment {
    fn text(&self, template: &str) -> Result<String> {
        let mut out = String::new();
        for part in date_template(template) {
            match part {
                Part::Field(field) => self.field(&field, &mut out)?,
                Part::Separator(character) | Part::Space(character) | Part::Text(character) => out.push(character),
            }
        }
        Ok(out)
    }

    /// The year as it is shown: BC counts from 1.
    fn shown_year(&self, year: i64) -> i64 {
        if self.is_interval || year > 0 { year } else { 1 - year }
    }

    fn day_of_year(&self) -> i64 {
        let Civil { year, month, day, .. } = self.civil;
        if self.is_interval { (year * 12 + month) * 30 + day } else { calendar::day_of_year(year, month, day) }
    }

    fn century(&self) -> i64 {
        let year = self.civil.year;
        if self.is_interval {
            year / 100
        } else if year > 0 {
            (year - 1) / 100 + 1
        } else {
            year / 100 - 1
        }
    }

    fn days(&self) -> i64 {
        let Civil { year, month, day, .. } = self.civil;
        calendar::days_from_civil(year, month, day)
    }

    fn weekday(&self) -> i64 {
        calendar::weekday(self.days())
    }

    fn field(&self, field: &Field<'_, DateField>, out: &mut String) -> Result<()> {
        if self.is_interval && only_dates_have(field.id) {
            let message = "invalid format specification for an interval value";
            return Err(Error::new(sqlstate::INVALID_DATETIME_FORMAT, message)
                .hint("Intervals are not tied to specific calendar dates."));
        }
        let Some(text) = self.number(field) else {
            out.push_str(&self.word(field));
            return Ok(());
        };
        out.push_str(&text);
        if let Some(upper) = field.ordinal {
            out.push_str(ordinal_suffix(&text, upper));
        }
        Ok(())
    }

    /// A field that has no ordinal: a name, or a part of the zone.
    fn word(&self, field: &Field<'_, DateField>) -> Cow<'static, str> {
        let Civil { year, month, hour, .. } = self.civil;
        let name =
            |text: String, width: usize| if field.fill || field.translated { text } else { format!("{text:<width$}") };
        let text = match field.id {
            DateField::Meridiem { upper, dots } => return Cow::Borrowed(meridiem(hour % 24 >= 12, upper, dots)),
            DateField::Era { upper, dots } => return Cow::Borrowed(era(year <= 0, upper, dots)),
            DateField::DayName(case) => name(case.of(WEEKDAYS[self.weekday() as usize]), 9),
            DateField::DayShort(case) => case.of(&WEEKDAYS[self.weekday() as usize][..3]),
            DateField::MonthName(case) => name(case.of(MONTHS[month as usize - 1]), 9),
            DateField::MonthShort(case) => case.of(&MONTHS[month as usize - 1][..3]),
            DateField::Roman { .. } if self.is_interval && month == 0 && year == 0 => String::new(),
            DateField::Roman { upper } => {
                let roman = self.roman_month();
                name(if upper { roman.to_owned() } else { roman.to_ascii_lowercase() }, 4)
            }
            DateField::Zone { upper } => match &self.zone {
                Some(zone) if upper => zone.abbreviation.clone(),
                Some(zone) => zone.abbreviation.to_lowercase(),
                None => String::new(),
            },
            DateField::ZoneHour | DateField::ZoneMinute | DateField::Offset => self.offset(field),
            _ => String::new(),
        };
        Cow::Owned(text)
    }

    fn roman_month(&self) -> &'static str {
        let Civil { year, month, .. } = self.civil;
        let place = if month == 0 {
            // Whole years end with their twelfth month, or begin with it.
            if year >= 0 { 11 } else { 0 }
        } else if month < 0 {
            12 + month
        } else {
            month - 1
        };
        ROMAN_MONTHS[place as usize]
    }

    /// The zone's offset, or its hours or minutes.
    fn offset(&self, field: &Field<'_, DateField>) -> String {
        let seconds = self.zone.as_ref().map_or(0, |zone| i64::from(zone.seconds));
        let (sign, hours) = (if seconds >= 0 { '+' } else { '-' }, seconds.abs() / 3600);
        let minutes = seconds.abs() % 3600 / 60;
        match field.id {
            DateField::ZoneHour => format!("{sign}{hours:02}"),
            DateField::ZoneMinute => padded(minutes, 2),
            _ => {
                let hours = if field.fill { hours.to_string() } else { padded(hours, 2) };
                let minutes = if minutes == 0 { String::new() } else { format!(":{minutes:02}") };
                format!("{sign}{hours}{minutes}")
            }
        }
    }

    /// A field that may have an ordinal; nothing for other fields, and for the quarter of no month.
    fn number(&self, field: &Field<'_, DateField>) -> Option<String> {
        let Civil { year, month, day, hour, minute, second, micros } = self.civil;
        // One place more for a sign.
        let number = |value: i64, width: usize| {
            let width = if field.fill { 0 } else { width + usize::from(value < 0) };
            padded(value, width)
        };
        Some(match field.id {
            DateField::Hour12 => {
                let shown = if hour % 12 == 0 { 12 } else { hour % 12 };
                padded(shown, if field.fill { 0 } else { 2 + usize::from(hour < 0) })
            }
            DateField::Hour24 => number(hour, 2),
            DateField::Minute => number(minute, 2),
            DateField::Second => number(second, 2),
            DateField::Fraction(digits) => padded(micros / 10i64.pow(6 - digits), digits as usize),
            DateField::Millisecond => padded(micros / 1000, 3),
            DateField::Microsecond => padded(micros, 6),
            DateField::SecondOfDay => (hour * 3600 + minute * 60 + second).to_string(),
            DateField::Month => number(month, 2),
            DateField::DayOfYear => padded(self.day_of_year(), if field.fill { 0 } else { 3 }),
            DateField::IsoDayOfYear => {
                let (iso_year, _) = calendar::iso_week(self.days());
                let first = calendar::iso_week_monday(iso_year, 1);
                padded(self.days() - first + 1, if field.fill { 0 } else { 3 })
            }
            DateField::Day => padded(day, if field.fill { 0 } else { 2 }),
            DateField::DayOfWeek => (self.weekday() + 1).to_string(),
            DateField::IsoDay => if self.weekday() == 0 { 7 } else { self.weekday() }.to_string(),
            DateField::WeekOfYear => padded((self.day_of_year() - 1) / 7 + 1, if field.fill { 0 } else { 2 }),
            DateField::IsoWeek => padded(calendar::iso_week(self.days()).1, if field.fill { 0 } else { 2 }),
            DateField::WeekOfMonth => ((day - 1) / 7 + 1).to_string(),
            DateField::Quarter if month == 0 => return None,
            DateField::Quarter => ((month - 1) / 3 + 1).to_string(),
            DateField::Century => {
                let century = self.century();
                if (-99..=99).contains(&century) { number(century, 2) } else { century.to_string() }
            }
            DateField::YearWithComma => {
                let shown = self.shown_year(year);
                format!("{},{:03}", shown / 1000, shown % 1000)
            }
            DateField::Year(digits) => self.year(field, year, digits),
            DateField::IsoYear(digits) => self.year(field, calendar::iso_week(self.days()).0, digits),
            DateField::Julian => (self.days() + JULIAN_EPOCH).to_string(),
            DateField::Meridiem { .. }
            | DateField::Era { .. }
            | DateField::DayName(_)
            | DateField::DayShort(_)
            | DateField::MonthName(_)
            | DateField::MonthShort(_)
            | DateField::Roman { .. }
            | DateField::Zone { .. }
            | DateField::ZoneHour
            | DateField::ZoneMinute
            | DateField::Offset
            | DateField::Exact => return None,
        })
    }

    fn year(&self, field: &Field<'_, DateField>, year: i64, digits: u32) -> String {
        let shown = self.shown_year(year);
        let shown_part = if digits >= 4 { shown } else { shown % 10i64.pow(digits) };
        let width = if field.fill || digits == 1 { 1 } else { digits as usize + usize::from(shown < 0) };
        padded(shown_part, width)
    }
}
