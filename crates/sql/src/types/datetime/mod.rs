//! Dates, times and zones.

/// A time zone as a session names it.
#[derive(Clone, Debug)]
pub struct TimeZone {}

impl TimeZone {
    /// UTC.
    pub fn utc() -> TimeZone {
        TimeZone {}
    }

    /// The zone of this name, as `SET TimeZone` takes it.
    pub fn named(_name: &str) -> Option<TimeZone> {
        todo!()
    }

    /// The name it was found by, as `SHOW TimeZone` shows it.
    pub fn name(&self) -> &str {
        todo!()
    }
}

/// The clock: microseconds since 2000-01-01 UTC.
pub fn clock_micros() -> i64 {
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    since_1970.as_micros() as i64 - 946_684_800_000_000
}
