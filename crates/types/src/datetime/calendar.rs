//! The proleptic Gregorian calendar, and the limits of dates and timestamps.

use base::{Error, Result, sqlstate};

/// Microseconds in a second.
pub const SECOND: i64 = 1_000_000;
/// Microseconds in a minute.
pub const MINUTE: i64 = 60 * SECOND;
/// Microseconds in an hour.
pub const HOUR: i64 = 60 * MINUTE;
/// Microseconds in a day.
pub const DAY: i64 = 24 * HOUR;

/// The date that is above every other.
pub const DATE_INFINITY: i32 = i32::MAX;
/// The date that is below every other.
pub const DATE_MINUS_INFINITY: i32 = i32::MIN;
/// The timestamp that is above every other.
pub const TIMESTAMP_INFINITY: i64 = i64::MAX;
/// The timestamp that is below every other.
pub const TIMESTAMP_MINUS_INFINITY: i64 = i64::MIN;

/// 4714-11-24 BC.
pub const DATE_MIN: i32 = -2_451_545;
/// 5874897-12-31.
pub const DATE_MAX: i32 = 2_145_031_948;
/// 4714-11-24 00:00:00 BC.
pub const TIMESTAMP_MIN: i64 = -211_813_488_000_000_000;
/// 294277-01-01 00:00:00, exclusive.
pub const TIMESTAMP_END: i64 = 9_223_371_331_200_000_000;
/// Days from 1970-01-01 to 2000-01-01.
pub const UNIX_EPOCH_DAYS: i64 = 10_957;
/// Seconds from 1970-01-01 to 2000-01-01.
pub const UNIX_EPOCH_SECONDS: i64 = UNIX_EPOCH_DAYS * 86_400;
/// The julian day number of 2000-01-01.
pub const JULIAN_EPOCH: i64 = 2_451_545;

/// Names of the months.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Names of the days of the week, Sunday first.
pub const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Days from 2000-01-01 to a day of the calendar. Year 0 is 1 BC; months may be out of 1..=12.
pub fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year + (month - 1).div_euclid(12);
    let month = (month - 1).rem_euclid(12) + 1;
    // years counted from March, so that the leap day comes last
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468 - UNIX_EPOCH_DAYS
}

/// Year (0 is 1 BC), month and day of a count of days from 2000-01-01.
pub fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468 + UNIX_EPOCH_DAYS;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// Whether the year has a leap day.
pub fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days in a month, 1..=12.
pub fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Day of the week of a count of days from 2000-01-01, 0 for Sunday.
pub fn weekday(days: i64) -> i64 {
    // 2000-01-01 was a Saturday
    (days + 6).rem_euclid(7)
}

/// Day of the year, from 1.
pub fn day_of_year(year: i64, month: i64, day: i64) -> i64 {
    days_from_civil(year, month, day) - days_from_civil(year, 1, 1) + 1
}

/// The ISO 8601 year and week of a day.
pub fn iso_week(days: i64) -> (i64, i64) {
    // the week belongs to the year of its Thursday
    let monday_based = (weekday(days) + 6) % 7;
    let thursday = days - monday_based + 3;
    let (year, _, _) = civil_from_days(thursday);
    (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
}

/// The Monday of an ISO week.
pub fn iso_week_monday(year: i64, week: i64) -> i64 {
    let fourth = days_from_civil(year, 1, 4);
    fourth - (weekday(fourth) + 6) % 7 + (week - 1) * 7
}

/// A moment taken apart, without a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Civil {
    /// 0 is 1 BC.
    pub year: i64,
    /// 1..=12
    pub month: i64,
    /// 1..=31
    pub day: i64,
    /// 0..=23
    pub hour: i64,
    /// 0..=59
    pub minute: i64,
    /// 0..=59
    pub second: i64,
    /// 0..=999999
    pub micros: i64,
}

impl Civil {
    /// Takes apart microseconds since 2000-01-01.
    pub fn from_micros(timestamp: i64) -> Civil {
        let (year, month, day) = civil_from_days(timestamp.div_euclid(DAY));
        Civil { year, month, day, ..Civil::from_time(timestamp.rem_euclid(DAY)) }
    }

    /// Takes apart microseconds since midnight.
    pub fn from_time(micros: i64) -> Civil {
        Civil {
            hour: micros / HOUR,
            minute: micros / MINUTE % 60,
            second: micros / SECOND % 60,
            micros: micros % SECOND,
            ..Civil::default()
        }
    }

    /// Microseconds since midnight.
    pub fn time_micros(&self) -> i64 {
        self.hour * HOUR + self.minute * MINUTE + self.second * SECOND + self.micros
    }

    /// Days from 2000-01-01.
    pub fn days(&self) -> i64 {
        days_from_civil(self.year, self.month, self.day)
    }

    /// Microseconds since 2000-01-01, unless they can't be counted.
    pub fn to_micros(&self) -> Option<i64> {
        self.days().checked_mul(DAY)?.checked_add(self.time_micros())
    }
}

/// 22008 `timestamp out of range`.
#[cold]
pub fn timestamp_out_of_range() -> Error {
    Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, "timestamp out of range")
}

/// 22008 `date out of range`.
#[cold]
pub fn date_out_of_range() -> Error {
    Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, "date out of range")
}

/// 22008 `interval out of range`.
#[cold]
pub fn interval_out_of_range() -> Error {
    Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, "interval out of range")
}

/// Passes a finite timestamp through if it is one. 22008.
pub fn check_timestamp(timestamp: i64) -> Result<i64> {
    if (TIMESTAMP_MIN..TIMESTAMP_END).contains(&timestamp) { Ok(timestamp) } else { Err(timestamp_out_of_range()) }
}

/// Passes a finite date through if it is one. 22008.
pub fn check_date(days: i64) -> Result<i32> {
    if (i64::from(DATE_MIN)..=i64::from(DATE_MAX)).contains(&days) { Ok(days as i32) } else { Err(date_out_of_range()) }
}

/// Whether a timestamp is one of the infinities.
pub fn is_infinite(timestamp: i64) -> bool {
    timestamp == TIMESTAMP_INFINITY || timestamp == TIMESTAMP_MINUS_INFINITY
}

/// Whether a date is one of the infinities.
pub fn is_infinite_date(days: i32) -> bool {
    days == DATE_INFINITY || days == DATE_MINUS_INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_calendar_agree_over_the_whole_range() {
        assert_eq!(days_from_civil(2000, 1, 1), 0);
        assert_eq!(days_from_civil(-4713, 11, 24), i64::from(DATE_MIN));
        assert_eq!(days_from_civil(5_874_897, 12, 31), i64::from(DATE_MAX));
        assert_eq!(days_from_civil(294_277, 1, 1) * DAY, TIMESTAMP_END);
        let mut days = i64::from(DATE_MIN);
        while days < i64::from(DATE_MAX) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
            assert!(day <= days_in_month(year, month));
            days += 9_973;
        }
    }

    #[test]
    fn iso_weeks_follow_the_thursday() {
        assert_eq!(iso_week(days_from_civil(2005, 1, 1)), (2004, 53));
        assert_eq!(iso_week(days_from_civil(2007, 12, 31)), (2008, 1));
        assert_eq!(iso_week_monday(2008, 1), days_from_civil(2007, 12, 31));
        assert_eq!(weekday(0), 6);
    }
}
