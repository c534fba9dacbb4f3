//! Messages for the server's log: each has its level, its text and the session that it comes from.
//!
//! A program that serves clients gives the database a [`Reporter`], which writes messages as `log_line_prefix` and its kin say.
//! Without one, messages go through the `log` crate to whatever logger the program has installed ([`to_facade`]).

use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;

use crate::error::{Error, ErrorFields, Result};
use crate::settings::words::Words;
use crate::sqlstate;

/// How grave a message is, in the order of `log_min_messages`. The discriminants are the places of its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The most detailed.
    Debug5,
    /// For developers.
    Debug4,
    /// For developers.
    Debug3,
    /// For developers.
    Debug2,
    /// For developers.
    Debug1,
    /// Asked for by a client.
    Info,
    /// Worth knowing for a client.
    Notice,
    /// Likely a mistake.
    Warning,
    /// A statement failed.
    Error,
    /// For administrators.
    Log,
    /// A session ended.
    Fatal,
    /// The process ends.
    Panic,
}

const LEVELS: [Level; 12] = [
    Level::Debug5,
    Level::Debug4,
    Level::Debug3,
    Level::Debug2,
    Level::Debug1,
    Level::Info,
    Level::Notice,
    Level::Warning,
    Level::Error,
    Level::Log,
    Level::Fatal,
    Level::Panic,
];

impl Words for Level {
    /// Those of `log_min_messages`.
    const WORDS: &'static [&'static str] = &[
        "debug5", "debug4", "debug3", "debug2", "debug1", "info", "notice", "warning", "error", "log", "fatal", "panic",
    ];

    fn at(place: usize) -> Option<Level> {
        LEVELS.get(place).copied()
    }
}

impl Level {
    /// As it stands in front of a message.
    pub fn name(self) -> &'static str {
        match self {
            Level::Debug5 => "DEBUG5",
            Level::Debug4 => "DEBUG4",
            Level::Debug3 => "DEBUG3",
            Level::Debug2 => "DEBUG2",
            Level::Debug1 => "DEBUG1",
            Level::Info => "INFO",
            Level::Notice => "NOTICE",
            Level::Warning => "WARNING",
            Level::Error => "ERROR",
            Level::Log => "LOG",
            Level::Fatal => "FATAL",
            Level::Panic => "PANIC",
        }
    }

    /// The level of the `log` crate that is nearest.
    fn in_facade(self) -> log::Level {
        match self {
            Level::Debug5 | Level::Debug4 | Level::Debug3 | Level::Debug2 => log::Level::Trace,
            Level::Debug1 => log::Level::Debug,
            Level::Info | Level::Notice | Level::Log => log::Level::Info,
            Level::Warning => log::Level::Warn,
            Level::Error | Level::Fatal | Level::Panic => log::Level::Error,
        }
    }
}

/// The identity of a connection in the log, from its first byte to its end.
#[derive(Debug)]
pub struct Identity {
    /// The session's number.
    pub pid: i32,
    /// When it connected; microseconds since 2000-01-01 UTC.
    pub started_at: i64,
    /// Where from; none for a Unix socket or an embedded session.
    pub peer: Option<SocketAddr>,
    /// How many lines the log has of it, in each of [`LogForm::ALL`].
    pub lines: [AtomicU64; 3],
}

impl Identity {
    /// One that the log has no lines of yet.
    pub fn new(pid: i32, started_at: i64, peer: Option<SocketAddr>) -> Identity {
        Identity { pid, started_at, peer, lines: Default::default() }
    }
}

/// The state of a session at the moment at which it reports something.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Number, start and peer.
    pub identity: &'a Identity,
    /// The user, once the client has named one.
    pub user: Option<&'a str>,
    /// The database, likewise.
    pub database: Option<&'a str>,
    /// The client's name for itself.
    pub application_name: &'a str,
    /// The kind of its statement, or `idle`.
    pub activity: &'a str,
    /// The number of its virtual transaction.
    pub virtual_transaction: &'a str,
    /// The number of its transaction, or 0.
    pub transaction: u64,
}

/// A message for the log.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// How grave it is.
    pub level: Level,
    /// The text: message, DETAIL, HINT and so on.
    pub fields: &'a ErrorFields,
    /// The statement that it is about, if it is to be shown.
    pub statement: Option<&'a str>,
    /// The session that it comes from; none for the server's own threads.
    pub session: Option<Facts<'a>>,
}

/// A writer of the log.
pub trait Reporter: Send + Sync {
    /// Writes a message. The caller has looked whether it is wanted, and is not to wait for a slow disk or terminal.
    fn report(&self, report: &Report<'_>);

    /// Begins a new log file; false if messages are not collected in files.
    fn rotate(&self) -> bool;

    /// The file that is written in this form now, or the first of all forms that are written.
    fn current_file(&self, form: Option<LogForm>) -> Option<String>;
}

/// Hands a message to the program's own logger, if it has one.
pub fn to_facade(report: &Report<'_>) {
    let level = report.level.in_facade();
    if !log::log_enabled!(target: "cohort::session", level) {
        return;
    }
    let fields = report.fields;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    log::log!(
        target: "cohort::session", level,
        severity = report.level.name(),
        sqlstate = fields.sqlstate.as_str(),
        detail = text(&fields.detail).as_str(),
        hint = text(&fields.hint).as_str(),
        context = text(&fields.context).as_str(),
        statement = report.statement.unwrap_or_default(),
        pid = report.session.map_or(0, |session| session.identity.pid),
        user = report.session.and_then(|session| session.user).unwrap_or_default();
        "{}", fields.message
    );
}

/// A form in which the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogForm {
    /// Lines for people.
    Text,
    /// A line of values for each message.
    Csv,
    /// An object for each message, on a line.
    Json,
}

impl LogForm {
    /// All of them.
    pub const ALL: [LogForm; 3] = [LogForm::Text, LogForm::Csv, LogForm::Json];

    /// The word of `log_destination`.
    pub fn name(self) -> &'static str {
        match self {
            LogForm::Text => "stderr",
            LogForm::Csv => "csvlog",
            LogForm::Json => "jsonlog",
        }
    }

    /// The form of a word.
    pub fn named(name: &str) -> Option<LogForm> {
        LogForm::ALL.into_iter().find(|form| form.name() == name)
    }
}

/// Where the log goes, in the words of `log_destination`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Destinations([bool; 3]);

impl Destinations {
    /// Whether the log is to be written in this form.
    pub fn has(self, form: LogForm) -> bool {
        self.0[form as usize]
    }

    /// Reads `log_destination`.
    ///
    /// # Errors
    /// 0A000 for syslog, 22023 for what is no destination.
    pub fn parse(text: &str) -> Result<Destinations> {
        let mut all = Destinations::default();
        if text.trim().is_empty() {
            return Ok(all);
        }
        for word in text.split(',').map(|word| word.trim().trim_matches('"')) {
            let word = word.to_ascii_lowercase();
            if let Some(form) = LogForm::named(&word) {
                all.0[form as usize] = true;
                continue;
            }
            match word.as_str() {
                "syslog" => {
                    return Err(Error::unsupported("log_destination \"syslog\" is not supported")
                        .hint("Use stderr, and have the service manager pass it on to syslog."));
                }
                "" => return Err(invalid(text).detail("List syntax is invalid.")),
                _ => return Err(invalid(text).detail(format!("Unrecognized key word: \"{word}\"."))),
            }
        }
        Ok(all)
    }
}

fn invalid(text: &str) -> Error {
    let message = format!("invalid value for parameter \"log_destination\": \"{text}\"");
    Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_stand_in_the_order_of_their_words() {
        for (place, word) in Level::WORDS.iter().enumerate() {
            let level = Level::at(place).unwrap();
            assert_eq!((level.name(), level as usize), (word.to_ascii_uppercase().as_str(), place));
        }
    }

    #[test]
    fn destinations_are_a_list_and_syslog_is_refused() {
        assert_eq!(Destinations::parse("stderr, CSVLOG,jsonlog").unwrap(), Destinations([true; 3]));
        assert!(Destinations::parse("csvlog").unwrap().has(LogForm::Csv));
        assert_eq!(Destinations::parse("").unwrap(), Destinations::default());
        assert_eq!(Destinations::parse("syslog").unwrap_err().sqlstate(), sqlstate::FEATURE_NOT_SUPPORTED);
        let refused = Destinations::parse("stderr,eventlog").unwrap_err();
        assert_eq!(refused.fields().detail.as_deref(), Some("Unrecognized key word: \"eventlog\"."));
    }
}
