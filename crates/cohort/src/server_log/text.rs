//! Messages as plain text: a line for the message, and one each for DETAIL, HINT, CONTEXT and so on.

use base::ErrorFields;
use base::report::Level;

use super::{Entry, Format, Verbosity, prefix};

/// The lines of a message. A line end within a message is followed by a tab, so that a client's text can't forge a message.
pub(super) fn lines(entry: &Entry<'_>, format: &Format) -> Vec<u8> {
    let (report, fields) = (entry.report, entry.report.fields);
    let mut out = String::with_capacity(256);
    let mut line = |label: &str, text: &str| {
        prefix::write(entry, format, &mut out);
        out.push_str(label);
        out.push_str(":  ");
        out.push_str(&text.replace('\n', "\n\t"));
        out.push('\n');
    };
    let state = match format.verbosity {
        Verbosity::Verbose => format!("{}: ", fields.sqlstate),
        _ => String::new(),
    };
    line(label_of(report.level), &format!("{state}{}{}", fields.message, position(fields)));
    if format.verbosity >= Verbosity::Default {
        let detail = fields.detail_for_log.as_ref().or(fields.detail.as_ref());
        let parts = [
            ("DETAIL", detail),
            ("HINT", fields.hint.as_ref()),
            ("QUERY", fields.internal_query.as_ref()),
            ("CONTEXT", fields.context.as_ref()),
        ];
        for (label, text) in parts {
            if let Some(text) = text {
                line(label, text);
            }
        }
        if format.verbosity == Verbosity::Verbose {
            line("LOCATION", &location(fields));
        }
    }
    if let Some(statement) = report.statement {
        line("STATEMENT", statement);
    }
    out.into_bytes()
}

/// All levels for developers have one name in the log.
pub(super) fn label_of(level: Level) -> &'static str {
    match level {
        Level::Debug1 | Level::Debug2 | Level::Debug3 | Level::Debug4 | Level::Debug5 => "DEBUG",
        other => other.name(),
    }
}

/// Where in the statement the error lies.
fn position(fields: &ErrorFields) -> String {
    match fields.position.or(fields.internal_position) {
        Some(position) => format!(" at character {position}"),
        None => String::new(),
    }
}

/// Where in the source the message was made.
pub(super) fn location(fields: &ErrorFields) -> String {
    let place = format!("{}:{}", fields.origin.file(), fields.origin.line());
    match fields.routine {
        Some(routine) => format!("{routine}, {place}"),
        None => place,
    }
}
