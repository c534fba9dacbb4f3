//! The part of a session that writes to the server's log.
//!
//! While nothing is to be logged, no message is made and no clock is read ([`LogSettings::looks_at_statements`]).

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Instant;

use base::report::{Facts, Identity, Level, Report, Reporter};
use base::settings::{Id, SessionSettings, Value as Setting};
use base::{Error, ErrorFields, sqlstate};
use types::{SqlType, Value};

use super::auto_explain::Watched;
use super::instance::Instance;
use super::session_state::SessionState;
use base::settings::words::LoggedStatements;
use executor::client::Severity;

/// The classes of `log_statement`: its words ask for a class and those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatementClass {
    /// Changes definitions.
    Definition,
    /// Changes rows.
    Change,
    /// All others.
    Other,
}

/// The settings of the log in the form in which statements look at them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogSettings {
    pub(crate) min_messages: Level,
    min_error_statement: Level,
    /// `log_statement`: the classes up to this one; none if there is none.
    pub(crate) statements: Option<StatementClass>,
    duration: bool,
    min_duration_ms: i64,
    min_sample_ms: i64,
    sample_rate: f64,
    transaction_sample_rate: f64,
    /// In bytes; negative for no limit.
    pub(crate) parameter_max: i64,
    pub(crate) parameter_max_on_error: i64,
    /// `log_lock_waits`
    pub(crate) lock_waits: bool,
    /// Something is to be looked at when a statement begins or ends.
    pub(crate) looks_at_statements: bool,
}

impl LogSettings {
    pub(crate) fn new(settings: &SessionSettings) -> LogSettings {
        let integer = |id: Id| settings.get(id).as_integer().unwrap_or(-1);
        let rate = |id: Id| match settings.get(id) {
            Setting::Float(rate) => rate,
            _ => 0.0,
        };
        let statements = match settings.get(Id::LogStatement).word() {
            LoggedStatements::None => None,
            LoggedStatements::Definitions => Some(StatementClass::Definition),
            LoggedStatements::Changes => Some(StatementClass::Change),
            LoggedStatements::All => Some(StatementClass::Other),
        };
        let duration = settings.get(Id::LogDuration).as_bool();
        let (min_duration_ms, min_sample_ms) =
            (integer(Id::LogMinDurationStatement), integer(Id::LogMinDurationSample));
        let transaction_sample_rate = rate(Id::LogTransactionSampleRate);
        LogSettings {
            min_messages: settings.get(Id::LogMinMessages).word(),
            min_error_statement: settings.get(Id::LogMinErrorStatement).word(),
            statements,
            duration,
            min_duration_ms,
            min_sample_ms,
            sample_rate: rate(Id::LogStatementSampleRate),
            transaction_sample_rate,
            lock_waits: settings.get(Id::LogLockWaits).as_bool(),
            parameter_max: integer(Id::LogParameterMaxLength),
            parameter_max_on_error: integer(Id::LogParameterMaxLengthOnError),
            looks_at_statements: statements.is_some()
                || duration
                || min_duration_ms >= 0
                || min_sample_ms >= 0
                || transaction_sample_rate > 0.0,
        }
    }
}

/// The session's state that the log tells of.
#[derive(Default)]
pub(crate) struct SessionLog {
    current: RefCell<Current>,
    /// The kind of statement that runs, or that none does.
    activity: RefCell<Cow<'static, str>>,
    /// When the Bind that is worked on was begun, if somebody wants to know. Other messages set the statement's time stamp.
    bind_began: Cell<Option<Instant>>,
    /// Its statement is in the log already.
    pub(crate) was_logged: Cell<bool>,
    /// All statements of the transaction are to be logged.
    pub(crate) is_sampled: Cell<bool>,
    /// `auto_explain` is loaded.
    has_auto_explain: Cell<bool>,
}

/// The text of what runs.
#[derive(Default)]
enum Current {
    /// Nothing runs.
    #[default]
    None,
    /// All of it stands in `pg_stat_activity`.
    InActivity,
    /// It is longer than what is kept there, or another one.
    Text(Arc<str>),
}

impl Instance {
    /// Has messages written by `reporter`. Only the first call counts.
    pub fn set_reporter(&self, reporter: Arc<dyn Reporter>) {
        let _ = self.reporter.set(reporter);
    }

    /// The writer of the log, if messages don't go to the program's own logger.
    pub fn reporter(&self) -> Option<&Arc<dyn Reporter>> {
        self.reporter.get()
    }

    /// Writes a message to the log.
    pub fn report(&self, report: &Report<'_>) {
        match self.reporter.get() {
            Some(reporter) => reporter.report(report),
            None => base::report::to_facade(report),
        }
    }

    /// Writes a message about a connection that has no session yet, if `log_min_messages` lets it through.
    pub fn report_of_connection(
        &self,
        level: Level,
        error: &Error,
        identity: &Identity,
        named: Option<(&str, &str)>,
        activity: &str,
    ) {
        if level < self.database().settings().get(Id::LogMinMessages).word::<Level>() {
            return;
        }
        let facts = Facts {
            identity,
            user: named.map(|(user, _)| user),
            database: named.map(|(_, database)| database),
            application_name: "",
            activity,
            virtual_transaction: "",
            transaction: 0,
        };
        self.report(&Report { level, fields: error.fields(), statement: None, session: Some(facts) });
    }
}

impl SessionState {
    /// Whether what is of such severity goes to the log.
    pub(crate) fn is_logged(&self, severity: Severity) -> bool {
        level_of(severity) >= self.cached().log.min_messages
    }

    /// Writes a notice to the log.
    pub(crate) fn log_notice(&self, severity: Severity, notice: &Error) {
        self.report(level_of(severity), notice.fields(), true);
    }

    /// Writes an error to the log, if it is wanted there.
    pub(crate) fn log_error(&self, error: &Error) {
        let level = if error.fields().fatal { Level::Fatal } else { Level::Error };
        if level >= self.cached().log.min_messages {
            self.report(level, error.fields(), true);
        }
    }

    /// Writes a message for administrators, without the statement.
    pub(crate) fn log_line(&self, message: String, detail: Option<String>) {
        if Level::Log < self.cached().log.min_messages {
            return;
        }
        let mut error = Error::new(sqlstate::SUCCESSFUL_COMPLETION, message);
        error.fields_mut().detail = detail;
        self.report(Level::Log, error.fields(), false);
    }

    #[cold]
    pub(crate) fn report(&self, level: Level, fields: &ErrorFields, may_show_statement: bool) {
        let shows_statement = may_show_statement && level >= self.cached().log.min_error_statement;
        let statement = if shows_statement { self.statement_text() } else { None };
        let transaction = self.try_engine().and_then(|engine| engine.xid_if_assigned());
        let virtual_transaction = format!("{}/0", self.info.owner().0);
        let application_name = self.info.application_name();
        let activity = self.log.activity.borrow().clone();
        let session = Facts {
            identity: &self.info.identity,
            user: Some(&self.info.user),
            database: Some(&self.info.database),
            application_name: &application_name,
            activity: &activity,
            virtual_transaction: &virtual_transaction,
            transaction: transaction.map_or(0, |xid| xid.0),
        };
        self.instance.report(&Report { level, fields, statement: statement.as_deref(), session: Some(session) });
    }

    /// The text of what runs.
    pub(crate) fn statement_text(&self) -> Option<Arc<str>> {
        match &*self.log.current.borrow() {
            Current::None => None,
            Current::InActivity => Some(self.info.query()),
            Current::Text(text) => Some(Arc::clone(text)),
        }
    }

    /// Notes the text that runs from now on. `pg_stat_activity` has been told of it.
    pub(crate) fn note_statement(&self, text: &str, shared: Option<&Arc<str>>) {
        let is_whole = self.info.keeps_all_of(text);
        *self.log.current.borrow_mut() = match shared {
            _ if is_whole => Current::InActivity,
            Some(shared) => Current::Text(Arc::clone(shared)),
            None => Current::Text(Arc::from(text)),
        };
        self.begin_logging();
    }

    /// Notes a text that runs from now on, of which `pg_stat_activity` is not told.
    pub(crate) fn note_bound_statement(&self, text: &Arc<str>) {
        *self.log.current.borrow_mut() = Current::Text(Arc::clone(text));
        self.begin_logging();
        if self.cached().log.looks_at_statements {
            self.log.bind_began.set(Some(Instant::now()));
        }
    }

    fn begin_logging(&self) {
        self.log.was_logged.set(false);
        self.log.bind_began.set(None);
    }

    /// A statement begins, whose plan may be to be logged.
    #[inline]
    pub(crate) fn watch(&self) -> Option<Watched> {
        let auto_explain = self.cached().auto_explain?;
        if self.log.has_auto_explain.get() { auto_explain.watch() } else { None }
    }

    /// LOAD 'auto_explain', or a setting that has it loaded.
    pub(crate) fn load_auto_explain(&self) {
        self.log.has_auto_explain.set(true);
    }

    /// Loads what `shared_preload_libraries` and `session_preload_libraries` name.
    ///
    /// # Errors
    /// 58P01 for a library that there is not.
    pub(crate) fn load_libraries(&self) -> base::Result<()> {
        for id in [Id::SharedPreloadLibraries, Id::SessionPreloadLibraries] {
            let names = self.setting(id);
            for name in names.as_text().split(',').map(|name| name.trim().trim_matches('"')) {
                match name {
                    "" => {}
                    "auto_explain" | "$libdir/auto_explain" => self.load_auto_explain(),
                    _ => {
                        let message = format!("could not access file \"{name}\": No such file or directory");
                        return Err(Error::new(sqlstate::UNDEFINED_FILE, message).fatal());
                    }
                }
            }
        }
        Ok(())
    }

    /// Nothing runs any more.
    pub(crate) fn forget_statement(&self) {
        self.log.current.take();
    }

    /// Notes what kind of statement runs.
    pub(crate) fn note_activity(&self, activity: impl Into<Cow<'static, str>>) {
        *self.log.activity.borrow_mut() = activity.into();
    }

    /// Decides whether all statements of the transaction that begins are logged.
    pub(crate) fn sample_transaction(&self) {
        let rate = self.cached().log.transaction_sample_rate;
        if rate > 0.0 || self.log.is_sampled.get() {
            self.log.is_sampled.set(is_in_sample(rate));
        }
    }

    /// The message that is worked on has ended well: writes how long it took, and what it was, if that is wanted.
    #[cold]
    pub(crate) fn log_duration(&self, what: impl FnOnce() -> String, detail: impl FnOnce() -> Option<String>) {
        let log = self.cached().log;
        let micros = match self.log.bind_began.take() {
            Some(began) => began.elapsed().as_micros() as i64,
            None => (types::datetime::clock_micros() - self.statement_timestamp.get()).max(0),
        };
        let exceeds = |limit_ms: i64| limit_ms >= 0 && micros >= limit_ms * 1000;
        let in_sample = exceeds(log.min_sample_ms) && is_in_sample(log.sample_rate);
        let shows_statement = exceeds(log.min_duration_ms) || in_sample || self.log.is_sampled.get();
        if !shows_statement && !log.duration {
            return;
        }
        let duration = format!("duration: {}.{:03} ms", micros / 1000, micros % 1000);
        if shows_statement && !self.log.was_logged.get() {
            self.log_line(format!("{duration}  {}", what()), detail());
        } else {
            self.log_line(duration, None);
        }
    }

    /// Values of parameters as the log shows them; nothing if there are none, or they are not to be shown.
    pub(crate) fn parameters_text(&self, values: &[Value], types: &[SqlType], max_bytes: i64) -> Option<String> {
        if values.is_empty() || max_bytes == 0 {
            return None;
        }
        let (format, catalog) = (self.format(), self.catalog());
        let mut text = String::new();
        for (index, (value, sql_type)) in values.iter().zip(types).enumerate() {
            let separator = if index > 0 { ", " } else { "" };
            text.push_str(&format!("{separator}${} = ", index + 1));
            let mut bytes = Vec::new();
            if value.is_null() {
                text.push_str("NULL");
                continue;
            }
            // A value that can't be shown is left out: the log is no reason for a statement to fail.
            let _ = types::output(value, sql_type.oid, &format, &catalog, &mut bytes);
            let shown = String::from_utf8_lossy(&bytes);
            let end = if max_bytes > 0 { shown.floor_char_boundary(max_bytes as usize) } else { shown.len() };
            text.push('\'');
            text.push_str(&shown[..end].replace('\'', "''"));
            text.push_str(if end < shown.len() { "...'" } else { "'" });
        }
        Some(text)
    }
}

fn is_in_sample(rate: f64) -> bool {
    rate >= 1.0 || rate > 0.0 && rand::random::<f64>() <= rate
}

fn level_of(severity: Severity) -> Level {
    match severity {
        Severity::Debug => Level::Debug1,
        Severity::Log => Level::Log,
        Severity::Info => Level::Info,
        Severity::Notice => Level::Notice,
        Severity::Warning => Level::Warning,
    }
}
