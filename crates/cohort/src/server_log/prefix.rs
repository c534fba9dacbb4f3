//! `log_line_prefix`.

use base::report::LogForm;
use jiff::Timestamp;

use super::{Entry, Format, moment, next_line};

/// Appends the prefix of a line.
pub(super) fn write(entry: &Entry<'_>, format: &Format, out: &mut String) {
    let number = next_line(entry, LogForm::Text);
    let mut characters = format.prefix.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '%' {
            out.push(character);
            continue;
        }
        let mut width = String::new();
        while let Some(digit) = characters.next_if(|next| next.is_ascii_digit() || *next == '-' && width.is_empty()) {
            width.push(digit);
        }
        match characters.next() {
            None => return,
            Some('%') => out.push('%'),
            Some('q') if entry.report.session.is_none() => return,
            Some('q') => {}
            Some(escape) => {
                let value = value(entry, format, escape, number).unwrap_or_default();
                pad(&value, width.parse().unwrap_or(0), out);
            }
        }
    }
}

/// Fills up to a width: to the left, or to the right if it is negative. Within limits: a server's log is no place for a billion blanks.
fn pad(value: &str, width: i32, out: &mut String) {
    let columns = (width.unsigned_abs() as usize).min(1024);
    if width < 0 { *out += &format!("{value:<columns$}") } else { *out += &format!("{value:>columns$}") }
}

/// The value of an escape; none for an unknown one.
fn value(entry: &Entry<'_>, format: &Format, escape: char, number: u64) -> Option<String> {
    let session = entry.report.session.as_ref();
    let or_unknown = |value: Option<&str>| match value {
        // Clients choose these names. An end of line among them would begin a line that nobody has reported.
        Some(value) if !value.is_empty() => value.replace(char::is_control, "?"),
        _ => "[unknown]".to_owned(),
    };
    // A session has a name to be unknown; the server's own threads have none.
    let named = |value: Option<&str>| if session.is_some() { or_unknown(value) } else { String::new() };
    Some(match escape {
        'a' => named(session.map(|session| session.application_name)),
        'b' => backend_type(entry).to_owned(),
        'u' => named(session.and_then(|session| session.user)),
        'd' => named(session.and_then(|session| session.database)),
        'r' => session.map_or_else(String::new, |session| match session.identity.peer {
            Some(peer) => format!("{}({})", peer.ip().to_canonical(), peer.port()),
            None => "[local]".to_owned(),
        }),
        'h' => host(entry),
        'p' => pid(entry).to_string(),
        'P' => String::new(),
        't' => time(entry.now, format, "%Y-%m-%d %H:%M:%S %Z"),
        'm' => millis(entry.now, format),
        'n' => {
            let millis = entry.now.as_millisecond();
            format!("{}.{:03}", millis / 1000, millis % 1000)
        }
        'i' => session.map_or_else(String::new, |session| session.activity.to_owned()),
        'e' => entry.report.fields.sqlstate.as_str().to_owned(),
        'c' => session_id(entry),
        'l' => number.to_string(),
        's' => time(started_at(entry), format, "%Y-%m-%d %H:%M:%S %Z"),
        'v' => session.map_or_else(String::new, |session| session.virtual_transaction.to_owned()),
        'x' => session.map_or(0, |session| session.transaction).to_string(),
        'Q' => "0".to_owned(),
        _ => return None,
    })
}

/// A moment in `log_timezone`.
pub(super) fn time(moment: Timestamp, format: &Format, pattern: &str) -> String {
    moment.to_zoned(format.time_zone.clone()).strftime(pattern).to_string()
}

/// The same with milliseconds.
pub(super) fn millis(moment: Timestamp, format: &Format) -> String {
    let zoned = moment.to_zoned(format.time_zone.clone());
    format!("{}.{:03} {}", zoned.strftime("%Y-%m-%d %H:%M:%S"), zoned.millisecond(), zoned.strftime("%Z"))
}

/// Where a session comes from, without its port.
pub(super) fn host(entry: &Entry<'_>) -> String {
    entry.report.session.map_or_else(String::new, |session| match session.identity.peer {
        Some(peer) => peer.ip().to_canonical().to_string(),
        None => "[local]".to_owned(),
    })
}

pub(super) fn pid(entry: &Entry<'_>) -> i64 {
    entry.report.session.map_or(i64::from(entry.process.pid), |session| i64::from(session.identity.pid))
}

pub(super) fn started_at(entry: &Entry<'_>) -> Timestamp {
    entry.report.session.map_or(entry.process.started_at, |session| moment(session.identity.started_at))
}

/// The start and the number of a session, in hexadecimal digits.
pub(super) fn session_id(entry: &Entry<'_>) -> String {
    format!("{:x}.{:x}", started_at(entry).as_second(), pid(entry))
}

pub(super) fn backend_type(entry: &Entry<'_>) -> &'static str {
    if entry.report.session.is_some() { "client backend" } else { "postmaster" }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use base::report::{Facts, Identity, Level, Report};
    use base::settings::{ServerSettings, Source};
    use base::{Error, sqlstate};

    use super::super::Process;
    use super::*;

    /// The prefix of a message of a session, and of the server's own threads.
    fn prefixes(pattern: &str) -> [String; 2] {
        let settings = ServerSettings::new();
        settings.set_at_start("log_line_prefix", pattern, Source::CommandLine).unwrap();
        let format = Format::new(&settings);
        let peer: SocketAddr = "[::ffff:10.1.2.3]:4567".parse().unwrap();
        let identity = Identity::new(77, 0, Some(peer));
        let session = Facts {
            identity: &identity,
            user: Some("ann"),
            database: None,
            application_name: "two\nlines",
            activity: "SELECT",
            virtual_transaction: "3/4",
            transaction: 9,
        };
        let process = Process { pid: 5, started_at: Timestamp::UNIX_EPOCH, lines: Default::default() };
        let error = Error::new(sqlstate::DIVISION_BY_ZERO, "division by zero");
        [Some(session), None].map(|session| {
            let report = Report { level: Level::Error, fields: error.fields(), statement: None, session };
            let mut out = String::new();
            write(&Entry { report: &report, now: moment(1_500_000), process: &process }, &format, &mut out);
            out
        })
    }

    #[test]
    fn escapes_tell_of_the_session_or_of_the_server() {
        for (pattern, of_session, of_server) in [
            ("%u@%d/%a ", "ann@[unknown]/two?lines ", "@/ "),
            ("%r %h", "10.1.2.3(4567) 10.1.2.3", " "),
            ("%p %P %l", "77  1", "5  1"),
            (
                "%m|%t",
                "2000-01-01 00:00:01.500 GMT|2000-01-01 00:00:01 GMT",
                "2000-01-01 00:00:01.500 GMT|2000-01-01 00:00:01 GMT",
            ),
            ("%n", "946684801.500", "946684801.500"),
            ("%c %s", "386d4380.4d 2000-01-01 00:00:00 GMT", "0.5 1970-01-01 00:00:00 GMT"),
            ("%i %v %x %e %b %Q", "SELECT 3/4 9 22012 client backend 0", "  0 22012 postmaster 0"),
            ("%%p %y|", "%p |", "%p |"),
            ("%p%q %u", "77 ann", "5"),
            ("trailing %", "trailing ", "trailing "),
        ] {
            assert_eq!(prefixes(pattern), [of_session, of_server], "{pattern}");
        }
    }

    #[test]
    fn values_are_padded_within_limits() {
        for (pattern, of_session) in [("%5u|", "  ann|"), ("%-5u|", "ann  |"), ("%2u|", "ann|"), ("%0u|", "ann|")] {
            assert_eq!(prefixes(pattern)[0], of_session, "{pattern}");
        }
        assert_eq!(prefixes("%1000000000u")[0].len(), 1024);
        assert_eq!(prefixes("%99999999999u")[0], "ann", "no number");
    }
}
