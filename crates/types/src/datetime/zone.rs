//! Time zones: IANA names and POSIX rules through `jiff`, which brings its own copy of the database.

use std::sync::Arc;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone as JiffZone};

use super::calendar::{Civil, DAY, SECOND, UNIX_EPOCH_SECONDS, civil_from_days, days_from_civil};

/// A time zone as a session names it. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeZone(Arc<Zone>);

#[derive(Debug, PartialEq)]
struct Zone {
    name: String,
    rules: Rules,
}

#[derive(Debug, PartialEq)]
enum Rules {
    /// Seconds east of UTC, and what the zone is called in output.
    Fixed(i32, String),
    Named(JiffZone),
    /// The meanings of an abbreviation, as in `MSK`, in this zone
    Abbreviated(JiffZone, String),
}

/// The offset of a zone at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneOffset {
    /// Seconds east of UTC.
    pub seconds: i32,
    /// Whether daylight saving time is in force.
    pub daylight: bool,
    /// As in `EST`; for zones without letters, the offset.
    pub abbreviation: String,
}

impl TimeZone {
    /// UTC.
    pub fn utc() -> TimeZone {
        TimeZone(Arc::new(Zone { name: "UTC".to_owned(), rules: Rules::Fixed(0, "UTC".to_owned()) }))
    }

    /// A zone with a fixed offset in seconds east of UTC, named the way `SET TIME ZONE -7` names it: `<-07>+07`.
    pub fn fixed(seconds_east: i32) -> TimeZone {
        let format_offset = |seconds: i32, always_sign: bool| {
            let sign = if seconds < 0 {
                "-"
            } else if always_sign {
                "+"
            } else {
                ""
            };
            let seconds = seconds.abs();
            let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            match (minutes, seconds) {
                (0, 0) => format!("{sign}{hours:02}"),
                (_, 0) => format!("{sign}{hours:02}:{minutes:02}"),
                _ => format!("{sign}{hours:02}:{minutes:02}:{seconds:02}"),
            }
        };
        let abbreviation = format_offset(seconds_east, true);
        let name = format!("<{abbreviation}>{}", format_offset(-seconds_east, true));
        TimeZone(Arc::new(Zone { name, rules: Rules::Fixed(seconds_east, abbreviation) }))
    }

    /// The zone of this name: an IANA name in any case, a POSIX rule (`EST5EDT`, `<-03>+03`, `+3`), `UTC`.
    pub fn named(name: &str) -> Option<TimeZone> {
        if name.is_empty() || name.len() > 255 || name.contains("..") || name.starts_with('/') {
            return None;
        }
        if ["utc", "gmt"].iter().any(|utc| name.eq_ignore_ascii_case(utc)) {
            let name = name.to_ascii_uppercase();
            return Some(TimeZone(Arc::new(Zone { rules: Rules::Fixed(0, name.clone()), name })));
        }
        if let Ok(zone) = jiff::tz::db().get(name) {
            let name = zone.iana_name().unwrap_or(name).to_owned();
            // Most servers' zone is one of these, and what has no rules needs no looking up.
            let rules = if has_one_offset(&zone) {
                let info = zone.to_offset_info(jiff::Timestamp::UNIX_EPOCH);
                Rules::Fixed(info.offset().seconds(), info.abbreviation().to_owned())
            } else {
                Rules::Named(zone)
            };
            return Some(TimeZone(Arc::new(Zone { name, rules })));
        }
        posix_zone(name)
    }

    /// The meanings of `abbreviation` in the zone `name` at each time.
    pub fn abbreviated(name: &str, abbreviation: &str) -> Option<TimeZone> {
        let rules = match jiff::tz::db().get(name) {
            Ok(zone) if !has_one_offset(&zone) => Rules::Abbreviated(zone, abbreviation.to_ascii_uppercase()),
            _ => return TimeZone::named(name),
        };
        Some(TimeZone(Arc::new(Zone { name: name.to_owned(), rules })))
    }

    /// The names of all zones of the database.
    pub fn all_names() -> Vec<String> {
        jiff::tz::db().available().map(|name| name.as_str().to_owned()).collect()
    }

    /// The zone that a number of hours east of UTC stands for, as in `SET TIME ZONE 5.5`.
    pub fn from_hours(hours: f64) -> Option<TimeZone> {
        let seconds = (hours * 3600.0).round();
        (seconds.abs() < 168.0 * 3600.0).then(|| TimeZone::fixed(seconds as i32))
    }

    /// Whether it has had one offset at all times.
    pub fn is_fixed(&self) -> bool {
        match &self.0.rules {
            Rules::Fixed(..) => true,
            Rules::Named(zone) | Rules::Abbreviated(zone, _) => has_one_offset(zone),
        }
    }

    /// The name it was found by, as `SHOW TimeZone` shows it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the zone's offset at a moment, which is given in microseconds since 2000-01-01 UTC.
    pub fn offset_at(&self, timestamp: i64) -> ZoneOffset {
        match &self.0.rules {
            Rules::Fixed(seconds, name) => {
                ZoneOffset { seconds: *seconds, daylight: false, abbreviation: name.clone() }
            }
            Rules::Named(zone) => {
                let info = zone.to_offset_info(jiff_timestamp(timestamp));
                ZoneOffset {
                    seconds: info.offset().seconds(),
                    daylight: info.dst().is_dst(),
                    abbreviation: info.abbreviation().to_owned(),
                }
            }
            Rules::Abbreviated(zone, abbreviation) => {
                let (seconds, daylight) = abbreviated_offset(zone, abbreviation, jiff_timestamp(timestamp));
                ZoneOffset { seconds, daylight, abbreviation: abbreviation.clone() }
            }
        }
    }

    /// Seconds east of UTC at a moment.
    pub fn seconds_at(&self, timestamp: i64) -> i32 {
        match &self.0.rules {
            Rules::Fixed(seconds, _) => *seconds,
            Rules::Named(zone) => zone.to_offset(jiff_timestamp(timestamp)).seconds(),
            Rules::Abbreviated(zone, abbreviation) => {
                abbreviated_offset(zone, abbreviation, jiff_timestamp(timestamp)).0
            }
        }
    }

    /// Seconds east of UTC when the zone's clocks show this. Skipped times count as before the jump, repeated ones as
    /// after it.
    pub fn seconds_at_local(&self, local: &Civil) -> i32 {
        match &self.0.rules {
            Rules::Fixed(seconds, _) => *seconds,
            Rules::Named(zone) => local_offset(zone, jiff_datetime(local)).seconds(),
            Rules::Abbreviated(zone, abbreviation) => {
                // The moment by the zone's own rules decides what the abbreviation means.
                let datetime = jiff_datetime(local);
                let moment = local_offset(zone, datetime).to_timestamp(datetime);
                abbreviated_offset(zone, abbreviation, moment.unwrap_or(jiff::Timestamp::UNIX_EPOCH)).0
            }
        }
    }

    /// The moment at which the zone's clocks show `local` (microseconds since 2000-01-01), if it can be counted.
    pub fn to_utc(&self, local: i64) -> Option<i64> {
        let seconds = match &self.0.rules {
            Rules::Fixed(seconds, _) => *seconds,
            Rules::Named(_) | Rules::Abbreviated(..) => self.seconds_at_local(&Civil::from_micros(local)),
        };
        local.checked_sub(i64::from(seconds) * SECOND)
    }

    /// Returns the local time that the zone's clocks show at a moment; `None` if it overflows.
    pub fn to_local(&self, timestamp: i64) -> Option<i64> {
        timestamp.checked_add(i64::from(self.seconds_at(timestamp)) * SECOND)
    }
}

/// A zone's offset when its clocks show this. Skipped times count as before the jump, repeated ones as after it.
fn local_offset(zone: &JiffZone, local: DateTime) -> Offset {
    match zone.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset,
        AmbiguousOffset::Gap { before, .. } => before,
        AmbiguousOffset::Fold { after, .. } => after,
    }
}

/// The meaning of an abbreviation in a zone at a moment, in seconds east of UTC, and whether it is daylight saving time: as it was used
/// last, or else as it will be used next, or else what the zone has then.
fn abbreviated_offset(zone: &JiffZone, abbreviation: &str, moment: jiff::Timestamp) -> (i32, bool) {
    let info = zone.to_offset_info(moment);
    if info.abbreviation().eq_ignore_ascii_case(abbreviation) {
        return (info.offset().seconds(), info.dst().is_dst());
    }
    let uses = |change: &jiff::tz::TimeZoneTransition<'_>| change.abbreviation().eq_ignore_ascii_case(abbreviation);
    // Rules without an end change the clocks for ever, so only some of the next changes are looked at.
    let change = zone.preceding(moment).find(uses).or_else(|| zone.following(moment).take(NEXT_CHANGES).find(uses));
    match change {
        Some(change) => (change.offset().seconds(), change.dst().is_dst()),
        None => (info.offset().seconds(), info.dst().is_dst()),
    }
}

/// So many changes of a zone's clocks are more than any abbreviation stays unused.
const NEXT_CHANGES: usize = 400;

/// Whether a zone's clocks have never been changed.
fn has_one_offset(zone: &JiffZone) -> bool {
    zone.to_fixed_offset().is_ok() || zone.preceding(jiff::Timestamp::MAX).next().is_none()
}

/// A moment in the range `jiff` knows: beyond it, the rules of a year with the same calendar 400 years apart hold.
fn jiff_timestamp(timestamp: i64) -> jiff::Timestamp {
    const CYCLE_SECONDS: i64 = 146_097 * 86_400;
    const LAST: i64 = 253_402_200_000;
    const FIRST: i64 = -377_705_000_000;
    let mut seconds = timestamp.div_euclid(SECOND) + UNIX_EPOCH_SECONDS;
    if seconds > LAST {
        seconds -= (seconds - LAST).div_euclid(CYCLE_SECONDS) * CYCLE_SECONDS + CYCLE_SECONDS;
    } else if seconds < FIRST {
        seconds = FIRST;
    }
    jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

fn jiff_datetime(local: &Civil) -> DateTime {
    let mut year = local.year;
    let (mut month, mut day) = (local.month, local.day);
    if year > 9998 {
        year = 9599 + (year - 9599).rem_euclid(400);
    } else if year < -9998 {
        (year, month, day) = (-9998, 1, 1);
    }
    // fields out of range (24:00:00, 23:59:60) carry over
    let carry = local.time_micros().div_euclid(DAY);
    let time = local.time_micros().rem_euclid(DAY);
    if carry != 0 {
        (year, month, day) = civil_from_days(days_from_civil(year, month, day) + carry);
    }
    let second_of_day = time / SECOND;
    DateTime::new(
        year as i16,
        month as i8,
        day as i8,
        (second_of_day / 3600) as i8,
        (second_of_day / 60 % 60) as i8,
        (second_of_day % 60) as i8,
        (time % SECOND * 1000) as i32,
    )
    .unwrap_or(DateTime::ZERO)
}

/// A POSIX rule, or a bare offset which counts west of UTC as in one.
fn posix_zone(name: &str) -> Option<TimeZone> {
    let first = name.as_bytes()[0];
    if matches!(first, b'+' | b'-') || first.is_ascii_digit() {
        let west = parse_posix_offset(name)?;
        let rules = Rules::Fixed(-west, TimeZone::fixed(-west).offset_at(0).abbreviation);
        return Some(TimeZone(Arc::new(Zone { name: name.to_owned(), rules })));
    }
    // a colon-separated offset after <...> or letters, without daylight rule
    let (abbreviation, offset) = if let Some(rest) = name.strip_prefix('<') {
        rest.split_once('>')?
    } else {
        name.split_at(name.find(|c: char| !c.is_ascii_alphabetic())?)
    };
    if let Some(west) = parse_posix_offset(offset) {
        if abbreviation.is_empty() {
            return None;
        }
        let rules = Rules::Fixed(-west, abbreviation.to_ascii_uppercase());
        return Some(TimeZone(Arc::new(Zone { name: name.to_ascii_uppercase(), rules })));
    }
    let upper = name.to_ascii_uppercase();
    let zone = match JiffZone::posix(&upper) {
        Ok(zone) => zone,
        // without a rule for the change, that of the United States holds
        Err(_) => JiffZone::posix(&format!("{upper},M3.2.0,M11.1.0")).ok()?,
    };
    Some(TimeZone(Arc::new(Zone { name: upper, rules: Rules::Named(zone) })))
}

/// `[+-]h[h][:mm[:ss]]` in seconds.
fn parse_posix_offset(text: &str) -> Option<i32> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let mut seconds = 0;
    let mut parts = digits.split(':');
    for (unit, limit) in [(3600, 167), (60, 59), (1, 59)] {
        let Some(part) = parts.next() else { break };
        if part.is_empty() || part.len() > 3 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let value: i32 = part.parse().ok()?;
        if value > limit {
            return None;
        }
        seconds += value * unit;
    }
    if parts.next().is_some() {
        return None;
    }
    Some(if negative { -seconds } else { seconds })
}

#[cfg(test)]
mod tests {
    use super::super::calendar::HOUR;
    use super::*;

    fn local(year: i64, month: i64, day: i64, hour: i64, minute: i64) -> Civil {
        Civil { year, month, day, hour, minute, ..Civil::default() }
    }

    #[test]
    fn skipped_and_repeated_times_are_read_as_standard_time() {
        let zone = TimeZone::named("america/new_york").unwrap();
        assert_eq!(zone.name(), "America/New_York");
        assert_eq!(zone.seconds_at_local(&local(2024, 3, 10, 2, 30)), -5 * 3600);
        assert_eq!(zone.seconds_at_local(&local(2024, 11, 3, 1, 30)), -5 * 3600);
        assert_eq!(zone.seconds_at_local(&local(2024, 7, 1, 0, 0)), -4 * 3600);
    }

    #[test]
    fn rules_hold_beyond_the_library_s_range() {
        let zone = TimeZone::named("America/New_York").unwrap();
        assert_eq!(zone.seconds_at_local(&local(30000, 7, 1, 0, 0)), -4 * 3600);
        let far = days_from_civil(294_000, 7, 1) * DAY + 4 * HOUR;
        assert_eq!(zone.seconds_at(far), -4 * 3600);
        assert_eq!(zone.seconds_at_local(&local(1800, 1, 1, 0, 0)), -(4 * 3600 + 56 * 60 + 2));
    }

    #[test]
    fn offsets_and_posix_rules_count_west() {
        let zone = TimeZone::named("+5:30").unwrap();
        assert_eq!((zone.name(), zone.seconds_at(0)), ("+5:30", -(5 * 3600 + 1800)));
        assert_eq!(TimeZone::named("FOO7").unwrap().offset_at(0).abbreviation, "FOO");
        assert_eq!(TimeZone::from_hours(-7.5).unwrap().name(), "<-07:30>+07:30");
        assert_eq!(TimeZone::named("<+05>-05:00:00").unwrap().seconds_at(0), 5 * 3600);
        assert!(TimeZone::named("pst").is_none());
        assert!(TimeZone::named("PST8PDT").unwrap().offset_at(days_from_civil(2024, 7, 1) * DAY).daylight);
    }
}
