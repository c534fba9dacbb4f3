//! Dates, read by a template: `to_date` and `to_timestamp`.

use base::{Error, Result, sqlstate};

use super::fields::{Calendar, DateField, ROMAN_MONTHS, date_template};
use super::template::{Field, Part, is_separator};
use crate::datetime::calendar::{self, Civil, DAY, JULIAN_EPOCH, MONTHS, WEEKDAYS};

/// The result of reading a text by a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The date and time, local.
    pub civil: Civil,
    /// Seconds east of UTC, if the text says so.
    pub offset: Option<i32>,
    /// Digits of the seconds' fraction that count, if the template says so.
    pub precision: Option<u32>,
}

/// Reads `text` by `template`.
///
/// # Errors
/// 22007 for a text that does not fit, 22008 for a date that there is not.
pub fn read(text: &str, template: &str) -> Result<Reading> {
    let parts = date_template(template);
    let mut reader = Reader { rest: text, before: None, exact: false, extra: 0, found: Found::default() };
    reader.read(&parts)?;
    reader.found.resolve(text)
}

fn bad_format(message: String) -> Error {
    Error::new(sqlstate::INVALID_DATETIME_FORMAT, message)
}

/// Values of fields; 0 for those that were not read.
#[derive(Default)]
struct Found {
    calendar: Option<Calendar>,
    hour: i64,
    is_twelve_hours: bool,
    is_afternoon: i64,
    minute: i64,
    second: i64,
    second_of_day: i64,
    /// Sunday is 1.
    weekday: i64,
    day: i64,
    day_of_year: i64,
    month: i64,
    millisecond: i64,
    microsecond: i64,
    year: i64,
    year_digits: u32,
    before_christ: i64,
    week: i64,
    week_of_month: i64,
    century: i64,
    julian: i64,
    precision: Option<u32>,
    zone_sign: i64,
    zone_hour: i64,
    zone_minute: i64,
}

fn set(place: &mut i64, value: i64, field: &Field<'_, DateField>) -> Result<()> {
    if *place != 0 && *place != value {
        return Err(bad_format(format!("conflicting values for \"{}\" field in formatting string", field.text))
            .detail("This value contradicts a previous setting for the same field type."));
    }
    *place = value;
    Ok(())
}

struct Reader<'t> {
    rest: &'t str,
    /// The character before `rest`.
    before: Option<char>,
    /// `FX`: fields have the widths of the template.
    exact: bool,
    /// Characters skipped beyond those that the template asks for.
    extra: i64,
    found: Found,
}

impl Reader<'_> {
    fn skip(&mut self) {
        let mut characters = self.rest.chars();
        self.before = characters.next().or(self.before);
        self.rest = characters.as_str();
    }

    fn skip_spaces(&mut self) -> i64 {
        let mut skipped = 0;
        while self.rest.starts_with(|character: char| character.is_ascii_whitespace()) {
            self.skip();
            skipped += 1;
        }
        skipped
    }

    fn read(&mut self, parts: &[Part<'_, DateField>]) -> Result<()> {
        for (number, part) in parts.iter().enumerate() {
            if self.rest.is_empty() {
                break;
            }
            let is_exact_mark = matches!(part, Part::Field(field) if field.id == DateField::Exact);
            if !self.exact && !is_exact_mark && (number == 0 || matches!(part, Part::Field(_))) {
                self.extra += self.skip_spaces();
            }
            match part {
                Part::Space(_) | Part::Separator(_) => {
                    if self.exact {
                        self.skip();
                        continue;
                    }
                    // One of the template's for one of the text's, or for none.
                    self.extra -= 1;
                    let first = self.rest.chars().next();
                    if first.is_some_and(|first| first.is_ascii_whitespace() || is_separator(first)) {
                        self.skip();
                        self.extra += 1;
                    }
                }
                Part::Text(_) => {
                    if !self.exact && self.extra > 0 {
                        self.extra -= 1;
                    } else {
                        self.skip();
                    }
                }
                Part::Field(field) => {
                    if let Some(calendar) = field.id.calendar()
                        && *self.found.calendar.get_or_insert(calendar) != calendar
                    {
                        return Err(bad_format("invalid combination of date conventions".to_owned())
                            .hint("Do not mix Gregorian and ISO week date conventions in a formatting template."));
                    }
                    self.field(field, next_may_separate(field, parts.get(number + 1)))?;
                    if field.id == DateField::Exact {
                        continue;
                    }
                    if !self.exact {
                        self.extra = self.skip_spaces();
                    }
                }
            }
        }
        Ok(())
    }

    /// A number of the field's width, or as long as it is where it must end by itself; and how many characters it took.
    fn number(&mut self, field: &Field<'_, DateField>, width: usize, open: bool) -> Result<(i64, usize)> {
        self.skip_spaces();
        let shown: String = self.rest.chars().take(width).collect();
        let sign_length = usize::from(self.rest.starts_with(['-', '+']));
        let digits = |text: &str| text[sign_length.min(text.len())..].bytes().take_while(u8::is_ascii_digit).count();
        let length;
        if field.fill || open {
            let count = digits(self.rest);
            length = if count == 0 { 0 } else { sign_length + count };
        } else {
            let hint = "If your source string is not fixed-width, try using the \"FM\" modifier.";
            if shown.len() < width {
                return Err(bad_format(format!("source string too short for \"{}\" formatting field", field.text))
                    .detail(format!("Field requires {width} characters, but only {} remain.", shown.len()))
                    .hint(hint));
            }
            let count = digits(&shown);
            length = if count == 0 { 0 } else { sign_length + count };
            if length > 0 && length < width {
                return Err(bad_format(format!("invalid value \"{shown}\" for \"{}\"", field.text))
                    .detail(format!("Field requires {width} characters, but only {length} could be parsed."))
                    .hint(hint));
            }
        }
        if length == 0 {
            return Err(bad_format(format!("invalid value \"{shown}\" for \"{}\"", field.text))
                .detail("Value must be an integer."));
        }
        let value = self.rest[..length].trim_start_matches('+').parse::<i32>().map_err(|_| {
            let message = format!("value for \"{}\" in source string is out of range", field.text);
            Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, message).detail(format!(
                "Value must be in the range {} to {}.",
                i32::MIN,
                i32::MAX
            ))
        })?;
        (0..length).for_each(|_| self.skip());
        Ok((i64::from(value), length))
    }

    /// The place of the name that stands here.
    fn name<'n>(&mut self, field: &Field<'_, DateField>, names: impl Iterator<Item = &'n str>) -> Result<i64> {
        for (place, name) in names.enumerate() {
            if self.rest.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name)) {
                (0..name.len()).for_each(|_| self.skip());
                return Ok(place as i64);
            }
        }
        let shown = self.rest.split(|character: char| character.is_ascii_whitespace()).next().unwrap_or_default();
        Err(bad_format(format!("invalid value \"{shown}\" for \"{}\"", field.text))
            .detail("The given value did not match any of the allowed values for this field."))
    }

    fn skip_ordinal(&mut self, field: &Field<'_, DateField>) {
        if field.ordinal.is_some() {
            self.skip();
            self.skip();
        }
    }

    fn field(&mut self, field: &Field<'_, DateField>, open: bool) -> Result<()> {
        use DateField::*;
        let width = field.text.len();
        match field.id {
            Exact => {
                self.exact = true;
                return Ok(());
            }
            Meridiem { .. } | Era { .. } => return self.named(field),
            MonthName(_) | MonthShort(_) | DayName(_) | DayShort(_) | Roman { .. } => return self.named(field),
            Zone { .. } | Offset => {
                let message = format!("formatting field \"{}\" is only supported in to_char", field.text);
                return Err(Error::unsupported(message));
            }
            ZoneHour => return self.zone_hour(field, open),
            ZoneMinute => return self.zone_minute(field, open),
            YearWithComma => self.year_with_comma(field)?,
            Millisecond => self.millisecond(field, open)?,
            Microsecond | Fraction(_) => self.fraction(field, open)?,
            Year(digits) | IsoYear(digits) => {
                let (value, length) = self.number(field, width, open)?;
                // Two fields for the year are compared as they are written.
                set(&mut self.found.year, value, field)?;
                if digits < 4 && length < 4 {
                    self.found.year = nearest_year(value);
                }
                self.found.year_digits = digits;
            }
            IsoDay => {
                let (value, _) = self.number(field, 1, open)?;
                set(&mut self.found.weekday, if value >= 7 { 1 } else { value + 1 }, field)?;
            }
            // A quarter is read, and says nothing.
            Quarter => {
                self.number(field, width, open)?;
            }
            _ => self.plain_number(field, open)?,
        }
        self.skip_ordinal(field);
        Ok(())
    }

    /// A field that is one of several names.
    fn named(&mut self, field: &Field<'_, DateField>) -> Result<()> {
        match field.id {
            DateField::Meridiem { dots, .. } => {
                let names = if dots { ["a.m.", "p.m."] } else { ["am", "pm"] };
                let value = self.name(field, names.into_iter())?;
                set(&mut self.found.is_afternoon, value, field)?;
                self.found.is_twelve_hours = true;
                Ok(())
            }
            DateField::Era { dots, .. } => {
                let names = if dots { ["a.d.", "b.c."] } else { ["ad", "bc"] };
                let value = self.name(field, names.into_iter())?;
                set(&mut self.found.before_christ, value, field)
            }
            DateField::MonthName(_) => {
                let value = self.name(field, MONTHS.into_iter())?;
                set(&mut self.found.month, value + 1, field)
            }
            DateField::MonthShort(_) => {
                let value = self.name(field, MONTHS.into_iter().map(|name| &name[..3]))?;
                set(&mut self.found.month, value + 1, field)
            }
            DateField::DayName(_) => {
                let value = self.name(field, WEEKDAYS.into_iter())?;
                set(&mut self.found.weekday, value + 1, field)
            }
            DateField::DayShort(_) => {
                let value = self.name(field, WEEKDAYS.into_iter().map(|name| &name[..3]))?;
                set(&mut self.found.weekday, value + 1, field)
            }
            DateField::Roman { .. } => {
                // The longer ones first: XII begins like XI and X.
                let value = self.name(field, ROMAN_MONTHS.into_iter().rev())?;
                set(&mut self.found.month, 12 - value, field)
            }
            other => unreachable!("{other:?} is no name"),
        }
    }

    fn zone_hour(&mut self, field: &Field<'_, DateField>, open: bool) -> Result<()> {
        self.found.zone_sign = match self.rest.chars().next() {
            Some(sign @ ('+' | '-' | ' ')) => {
                self.skip();
                if sign == '-' { -1 } else { 1 }
            }
            _ if self.extra > 0 && self.before == Some('-') => -1,
            _ => 1,
        };
        let (value, _) = self.number(field, 2, open)?;
        set(&mut self.found.zone_hour, value, field)
    }

    fn zone_minute(&mut self, field: &Field<'_, DateField>, open: bool) -> Result<()> {
        if self.found.zone_sign == 0 {
            self.found.zone_sign = 1;
        }
        let (value, _) = self.number(field, 2, open)?;
        set(&mut self.found.zone_minute, value, field)
    }

    fn year_with_comma(&mut self, field: &Field<'_, DateField>) -> Result<()> {
        let (thousands, _) = self.number(field, field.text.len(), true)?;
        let invalid = || bad_format("invalid input string for \"Y,YYY\"".to_owned());
        if !self.rest.starts_with(',') {
            return Err(invalid());
        }
        self.skip();
        let count = self.rest.bytes().take(3).take_while(u8::is_ascii_digit).count();
        let years: i64 = self.rest[..count].parse().map_err(|_| invalid())?;
        (0..count).for_each(|_| self.skip());
        set(&mut self.found.year, thousands * 1000 + years, field)?;
        self.found.year_digits = 4;
        Ok(())
    }

    fn millisecond(&mut self, field: &Field<'_, DateField>, open: bool) -> Result<()> {
        let (value, length) = self.number(field, 3, open)?;
        // 25 is a quarter of a second, as 250 is.
        let factor = [100, 100, 10, 1][length.min(3)];
        set(&mut self.found.millisecond, value, field)?;
        self.found.millisecond *= factor;
        Ok(())
    }

    /// A fraction of a second, in microseconds or with so many digits.
    fn fraction(&mut self, field: &Field<'_, DateField>, open: bool) -> Result<()> {
        if let DateField::Fraction(digits) = field.id {
            self.found.precision = Some(digits);
        }
        let digits = self.found.precision.filter(|_| field.id != DateField::Microsecond).unwrap_or(6) as usize;
        let (value, length) = self.number(field, digits, open)?;
        set(&mut self.found.microsecond, value, field)?;
        self.found.microsecond *= 10i64.pow(6u32.saturating_sub(length as u32));
        Ok(())
    }

    /// A number that is the value of one place as it stands.
    fn plain_number(&mut self, field: &Field<'_, DateField>, open: bool) -> Result<()> {
        let width = match field.id {
            DateField::Hour24 | DateField::Hour12 => 2,
            DateField::IsoDayOfYear => 3,
            _ => field.text.len(),
        };
        let (value, _) = self.number(field, width, open)?;
        let found = &mut self.found;
        let place = match field.id {
            DateField::Hour12 => {
                found.is_twelve_hours = true;
                &mut found.hour
            }
            DateField::Hour24 => &mut found.hour,
            DateField::Minute => &mut found.minute,
            DateField::Second => &mut found.second,
            DateField::SecondOfDay => &mut found.second_of_day,
            DateField::Month => &mut found.month,
            DateField::DayOfYear | DateField::IsoDayOfYear => &mut found.day_of_year,
            DateField::Day => &mut found.day,
            DateField::DayOfWeek => &mut found.weekday,
            DateField::WeekOfYear | DateField::IsoWeek => &mut found.week,
            DateField::WeekOfMonth => &mut found.week_of_month,
            DateField::Century => &mut found.century,
            DateField::Julian => &mut found.julian,
            other => unreachable!("{other:?} is no plain number"),
        };
        set(place, value, field)
    }
}

/// Whether a number that stands in front of `next` must end by itself.
fn next_may_separate(field: &Field<'_, DateField>, next: Option<&Part<'_, DateField>>) -> bool {
    if field.ordinal.is_some() {
        return true;
    }
    match next {
        None => true,
        Some(Part::Field(next)) => !next.id.is_number(),
        Some(Part::Separator(character) | Part::Space(character) | Part::Text(character)) => {
            !character.is_ascii_digit()
        }
    }
}

/// The year nearest to 2020 that ends with these digits.
fn nearest_year(year: i64) -> i64 {
    match year {
        ..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}

impl Found {
    fn resolve(mut self, text: &str) -> Result<Reading> {
        let out_of_range =
            || Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, format!("date/time field value out of range: \"{text}\""));
        if self.second_of_day != 0 {
            self.hour = self.second_of_day / 3600;
            self.minute = self.second_of_day / 60 % 60;
            self.second = self.second_of_day % 60;
        }
        if self.is_twelve_hours {
            if !(1..=12).contains(&self.hour) {
                return Err(bad_format(format!("hour \"{}\" is invalid for the 12-hour clock", self.hour))
                    .hint("Use the 24-hour clock, or give an hour between 1 and 12."));
            }
            if self.is_afternoon != 0 && self.hour < 12 {
                self.hour += 12;
            } else if self.is_afternoon == 0 && self.hour == 12 {
                self.hour = 0;
            }
        }
        let (year, mut month, mut day) = (self.resolved_year(), 1, 1);
        let mut civil = Civil { year, month, day, ..Civil::default() };
        let mut is_date = false;
        let from_days = |days: i64| {
            let (year, month, day) = calendar::civil_from_days(days);
            Civil { year, month, day, ..Civil::default() }
        };
        let is_iso = self.calendar == Some(Calendar::IsoWeeks);
        if self.julian != 0 {
            civil = from_days(self.julian - JULIAN_EPOCH);
            is_date = true;
        }
        if self.week != 0 {
            if is_iso {
                let weekday = if self.weekday > 1 { self.weekday - 2 } else { 6 };
                let offset = if self.weekday == 0 { 0 } else { weekday };
                civil = from_days(calendar::iso_week_monday(civil.year, self.week) + offset);
                is_date = true;
            } else {
                self.day_of_year = (self.week - 1) * 7 + 1;
            }
        }
        if self.week_of_month != 0 {
            self.day = (self.week_of_month - 1) * 7 + 1;
        }
        if self.day != 0 {
            day = self.day;
            civil.day = day;
        }
        if self.month != 0 {
            month = self.month;
            civil.month = month;
        }
        if self.day_of_year != 0 && !is_date && (month <= 1 || day <= 1) {
            if self.year == 0 && self.century == 0 && self.before_christ == 0 {
                return Err(bad_format("cannot calculate day of year without year information".to_owned()));
            }
            let first = if is_iso { calendar::iso_week_monday(year, 1) } else { calendar::days_from_civil(year, 1, 1) };
            let length = if calendar::is_leap_year(year) { 366 } else { 365 };
            if !is_iso && !(1..=length).contains(&self.day_of_year) {
                return Err(out_of_range());
            }
            let found = from_days(first + self.day_of_year - 1);
            // A month or a day that is given stays.
            if is_iso || month <= 1 && day <= 1 {
                civil = found;
            } else if month <= 1 {
                civil.month = found.month;
            } else {
                civil.day = found.day;
            }
        }
        let is_valid_date = (1..=12).contains(&civil.month)
            && (1..=calendar::days_in_month(civil.year, civil.month)).contains(&civil.day);
        let micros = self.millisecond * 1000 + self.microsecond;
        let is_valid_time = (0..24).contains(&self.hour)
            && (0..60).contains(&self.minute)
            && (0..60).contains(&self.second)
            && (0..1_000_000).contains(&micros);
        if !is_valid_date || !is_valid_time {
            return Err(out_of_range());
        }
        (civil.hour, civil.minute, civil.second, civil.micros) = (self.hour, self.minute, self.second, micros);
        let offset = match self.zone_sign {
            0 => None,
            _ if !(0..=15).contains(&self.zone_hour) || !(0..60).contains(&self.zone_minute) => {
                return Err(out_of_range());
            }
            sign => Some((sign * (self.zone_hour * 3600 + self.zone_minute * 60)) as i32),
        };
        debug_assert!(civil.time_micros() < DAY);
        Ok(Reading { civil, offset, precision: self.precision })
    }

    /// The year, 0 for 1 BC.
    fn resolved_year(&self) -> i64 {
        let is_before = self.before_christ != 0;
        let century = if is_before { -self.century } else { self.century };
        if self.year != 0 {
            if self.century != 0 && self.year_digits <= 2 {
                return match self.year % 100 {
                    0 => century * 100 + i64::from(century < 0),
                    year if century >= 0 => year + (century - 1) * 100,
                    year => (century + 1) * 100 - year + 1,
                };
            }
            let year = if is_before { -self.year } else { self.year };
            return if year < 0 { year + 1 } else { year };
        }
        match century {
            0 => 0,
            century if century > 0 => (century - 1) * 100 + 1,
            century => century * 100 + 1,
        }
    }
}
