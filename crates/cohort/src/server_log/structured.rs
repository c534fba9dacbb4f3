//! Messages as lines of CSV and of JSON, with the columns and keys of PostgreSQL 15.

use std::fmt::Write as _;

use base::report::LogForm;
use serde_json::{Map, Value};

use super::{Entry, Format, Verbosity, next_line, prefix, text};

/// A line of CSV.
pub(super) fn csv(entry: &Entry<'_>, format: &Format) -> Vec<u8> {
    let (report, fields) = (entry.report, entry.report.fields);
    let session = report.session.as_ref();
    let peer = session.map(|session| match session.identity.peer {
        Some(peer) => format!("{}:{}", peer.ip().to_canonical(), peer.port()),
        None => "[local]".to_owned(),
    });
    let number = next_line(entry, LogForm::Csv).to_string();
    let mut line = Line::default();
    line.plain(&prefix::millis(entry.now, format));
    line.text(session.and_then(|session| session.user));
    line.text(session.and_then(|session| session.database));
    line.plain(&prefix::pid(entry).to_string());
    line.text(peer.as_deref());
    line.plain(&prefix::session_id(entry));
    line.plain(&number);
    line.text(session.map(|session| session.activity).filter(|activity| !activity.is_empty()));
    line.plain(&prefix::time(prefix::started_at(entry), format, "%Y-%m-%d %H:%M:%S %Z"));
    line.plain(session.map_or("", |session| session.virtual_transaction));
    line.plain(&session.map_or(0, |session| session.transaction).to_string());
    line.plain(text::label_of(report.level));
    line.plain(fields.sqlstate.as_str());
    line.text(Some(&fields.message));
    line.text(fields.detail_for_log.as_deref().or(fields.detail.as_deref()));
    line.text(fields.hint.as_deref());
    line.text(fields.internal_query.as_deref());
    let internal_position = fields.internal_query.is_some().then_some(fields.internal_position).flatten();
    line.plain(&internal_position.map_or_else(String::new, |position| position.to_string()));
    line.text(fields.context.as_deref());
    line.text(report.statement);
    let position = report.statement.is_some().then_some(fields.position).flatten();
    line.plain(&position.map_or_else(String::new, |position| position.to_string()));
    let location = (format.verbosity == Verbosity::Verbose).then(|| text::location(fields));
    line.text(location.as_deref());
    line.text(Some(session.map_or("", |session| session.application_name)));
    line.text(Some(prefix::backend_type(entry)));
    line.plain("");
    line.plain("0");
    line.0.push('\n');
    line.0.into_bytes()
}

/// The fields of a line of CSV.
#[derive(Default)]
struct Line(String);

impl Line {
    fn separate(&mut self) {
        if !self.0.is_empty() {
            self.0.push(',');
        }
    }

    fn plain(&mut self, text: &str) {
        self.separate();
        self.0.push_str(text);
    }

    fn text(&mut self, text: Option<&str>) {
        self.separate();
        if let Some(text) = text {
            write!(self.0, "\"{}\"", text.replace('"', "\"\"")).expect("a String takes any text");
        }
    }
}

/// A line of JSON.
pub(super) fn json(entry: &Entry<'_>, format: &Format) -> Vec<u8> {
    let (report, fields) = (entry.report, entry.report.fields);
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            object.insert(key.to_owned(), value);
        }
    };
    let text_value = |text: Option<&str>| text.map_or(Value::Null, Value::from);
    put("timestamp", prefix::millis(entry.now, format).into());
    if let Some(session) = &report.session {
        put("user", text_value(session.user));
        put("dbname", text_value(session.database));
    }
    put("pid", prefix::pid(entry).into());
    if let Some(session) = &report.session {
        put("remote_host", prefix::host(entry).into());
        put("remote_port", session.identity.peer.map_or(Value::Null, |peer| peer.port().into()));
    }
    put("session_id", prefix::session_id(entry).into());
    put("line_num", next_line(entry, LogForm::Json).into());
    if let Some(session) = &report.session {
        put("ps", text_value(Some(session.activity)));
    }
    put("session_start", prefix::time(prefix::started_at(entry), format, "%Y-%m-%d %H:%M:%S %Z").into());
    if let Some(session) = &report.session {
        put("vxid", text_value(Some(session.virtual_transaction).filter(|text| !text.is_empty())));
    }
    put("txid", report.session.map_or(0, |session| session.transaction).into());
    put("error_severity", text::label_of(report.level).into());
    put("state_code", if fields.sqlstate.as_str() == "00000" { Value::Null } else { fields.sqlstate.as_str().into() });
    put("message", fields.message.as_str().into());
    put("detail", text_value(fields.detail_for_log.as_deref().or(fields.detail.as_deref())));
    put("hint", text_value(fields.hint.as_deref()));
    put("internal_query", text_value(fields.internal_query.as_deref()));
    if fields.internal_query.is_some() {
        put("internal_position", fields.internal_position.map_or(Value::Null, Value::from));
    }
    put("context", text_value(fields.context.as_deref()));
    if let Some(statement) = report.statement {
        put("statement", statement.into());
        put("cursor_position", fields.position.map_or(Value::Null, Value::from));
    }
    if format.verbosity == Verbosity::Verbose {
        put("func_name", text_value(fields.routine));
        put("file_name", fields.origin.file().into());
        put("file_line_num", fields.origin.line().into());
    }
    let application_name = report.session.map(|session| session.application_name);
    put("application_name", text_value(application_name.filter(|name| !name.is_empty())));
    put("backend_type", prefix::backend_type(entry).into());
    put("query_id", 0.into());
    let mut line = Value::Object(object).to_string().into_bytes();
    line.push(b'\n');
    line
}
