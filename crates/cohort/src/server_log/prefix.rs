//! `log_line_prefix`.

use jiff::Timestamp;

use super::{Entry, Format, moment, next_line};

/// The place of the plain form among the counts of lines.
const TEXT: usize = 0;

/// Appends what stands in front of a line.
pub(super) fn write(entry: &Entry<'_>, format: &Format, out: &mut String) {
    let number = next_line(entry, TEXT);
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

/// What an escape stands for; nothing for an unknown one.
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
