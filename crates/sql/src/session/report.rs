//! The messages that a session writes to the server's log: errors, notices, statements and how long they took.
//!
//! While nothing is to be logged, no message is made and no clock is read ([`LogSettings::looks_at_statements`]).

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Instant;

use base::report::{Facts, Identity, Level, Report, Reporter};
use base::settings::{Id, SessionSettings, Value as Setting};
use base::{Error, ErrorFields, sqlstate};
use plan::{Command, StatementKind};
use syntax::tree::{ParsedStatement, Statement};
use types::{SqlType, Value};

use super::state::SessionState;
use super::{Instance, Planned, Portal, SqlSession};
use crate::commands::{self, StatementClass, Watched};
use executor::client::{Client, Severity};

/// The settings of the log in the form in which statements look at them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogSettings {
    min_messages: Level,
    min_error_statement: Level,
    /// `log_statement`: the classes up to this one; none if there is none.
    statements: Option<StatementClass>,
    duration: bool,
    min_duration_ms: i64,
    min_sample_ms: i64,
    sample_rate: f64,
    transaction_sample_rate: f64,
    /// In bytes; negative for no limit.
    parameter_max: i64,
    parameter_max_on_error: i64,
    /// `log_lock_waits`
    pub(super) lock_waits: bool,
    /// Something is to be looked at when a statement begins or ends.
    pub(super) looks_at_statements: bool,
}

impl LogSettings {
    pub(super) fn new(settings: &SessionSettings) -> LogSettings {
        let level = |id: Id| Level::of_word(settings.get(id).as_word().unwrap_or(usize::MAX));
        let integer = |id: Id| settings.get(id).as_integer().unwrap_or(-1);
        let rate = |id: Id| match settings.get(id) {
            Setting::Float(rate) => rate,
            _ => 0.0,
        };
        let statements = match settings.get(Id::LogStatement).as_word() {
            Some(1) => Some(StatementClass::Definition),
            Some(2) => Some(StatementClass::Change),
            Some(3) => Some(StatementClass::Other),
            _ => None,
        };
        let duration = settings.get(Id::LogDuration).as_bool();
        let (min_duration_ms, min_sample_ms) =
            (integer(Id::LogMinDurationStatement), integer(Id::LogMinDurationSample));
        let transaction_sample_rate = rate(Id::LogTransactionSampleRate);
        LogSettings {
            min_messages: level(Id::LogMinMessages),
            min_error_statement: level(Id::LogMinErrorStatement),
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
    was_logged: Cell<bool>,
    /// All statements of the transaction are to be logged.
    is_sampled: Cell<bool>,
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
        let least = self.database().settings().get(Id::LogMinMessages).as_word();
        if level < Level::of_word(least.unwrap_or(usize::MAX)) {
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
    pub(super) fn is_logged(&self, severity: Severity) -> bool {
        level_of(severity) >= self.cached().log.min_messages
    }

    /// Writes a notice to the log.
    pub(super) fn log_notice(&self, severity: Severity, notice: &Error) {
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
    fn log_line(&self, message: String, detail: Option<String>) {
        if Level::Log < self.cached().log.min_messages {
            return;
        }
        let mut error = Error::new(sqlstate::SUCCESSFUL_COMPLETION, message);
        error.fields_mut().detail = detail;
        self.report(Level::Log, error.fields(), false);
    }

    #[cold]
    fn report(&self, level: Level, fields: &ErrorFields, may_show_statement: bool) {
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
    fn statement_text(&self) -> Option<Arc<str>> {
        match &*self.log.current.borrow() {
            Current::None => None,
            Current::InActivity => Some(self.info.query()),
            Current::Text(text) => Some(Arc::clone(text)),
        }
    }

    /// Notes the text that runs from now on. `pg_stat_activity` has been told of it.
    pub(super) fn note_statement(&self, text: &str, shared: Option<&Arc<str>>) {
        let is_whole = self.info.keeps_all_of(text);
        *self.log.current.borrow_mut() = match shared {
            _ if is_whole => Current::InActivity,
            Some(shared) => Current::Text(Arc::clone(shared)),
            None => Current::Text(Arc::from(text)),
        };
        self.begin_logging();
    }

    /// Notes a text that runs from now on, of which `pg_stat_activity` is not told.
    pub(super) fn note_bound_statement(&self, text: &Arc<str>) {
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
    pub(super) fn watch(&self) -> Option<Watched> {
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
    pub(super) fn load_libraries(&self) -> base::Result<()> {
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
    pub(super) fn forget_statement(&self) {
        self.log.current.take();
    }

    /// Notes what kind of statement runs.
    pub(super) fn note_activity(&self, activity: impl Into<Cow<'static, str>>) {
        *self.log.activity.borrow_mut() = activity.into();
    }

    /// Decides whether all statements of the transaction that begins are logged.
    pub(super) fn sample_transaction(&self) {
        let rate = self.cached().log.transaction_sample_rate;
        if rate > 0.0 || self.log.is_sampled.get() {
            self.log.is_sampled.set(is_in_sample(rate));
        }
    }

    /// The message that is worked on has ended well: writes how long it took, and what it was, if that is wanted.
    #[cold]
    fn log_duration(&self, what: impl FnOnce() -> String, detail: impl FnOnce() -> Option<String>) {
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
    fn parameters_text(&self, values: &[Value], types: &[SqlType], max_bytes: i64) -> Option<String> {
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

/// How a portal stands in the log: its statement's name, its own if it has one, and its text.
fn named(verb: &str, statement: &str, portal: &str, text: &str) -> String {
    let statement = if statement.is_empty() { "<unnamed>" } else { statement };
    let slash = if portal.is_empty() { "" } else { "/" };
    format!("{verb} {statement}{slash}{portal}: {text}")
}

impl SqlSession {
    /// Writes an error that ends the session to the log.
    pub fn log_end(&self, error: &Error) {
        self.state.log_error(error);
    }

    /// Whether statements are looked at as they begin and end.
    #[inline]
    fn looks_at_statements(&self) -> bool {
        self.state.cached().log.looks_at_statements || self.state.log.is_sampled.get()
    }

    /// Writes a query string to the log, if one of its statements is to be logged and it has not been written yet.
    pub(super) fn log_query_string(&self, text: &str, statements: &[Arc<ParsedStatement>]) {
        if !self.looks_at_statements() || self.state.log.was_logged.get() {
            return;
        }
        let class = statements.iter().map(|parsed| commands::class_of(&self.state, &parsed.statement)).min();
        if self.wants_statement(class.unwrap_or(StatementClass::Other)) {
            self.state.log_line(format!("statement: {text}"), self.prepared_detail(statements));
            self.state.log.was_logged.set(true);
        }
    }

    /// The same for a long text, which is parsed part by part.
    pub(super) fn log_parts(&self, text: &str, parts: &syntax::parser::Parts) -> base::Result<()> {
        let Some(most) = self.state.cached().log.statements else { return Ok(()) };
        let mut is_wanted = most == StatementClass::Other;
        for part in parts.iter() {
            if is_wanted {
                break;
            }
            let (_, statements) = parts.parse(part, text)?;
            is_wanted = statements.iter().any(|parsed| commands::class_of(&self.state, &parsed.statement) <= most);
        }
        if is_wanted {
            self.state.log_line(format!("statement: {text}"), None);
            self.state.log.was_logged.set(true);
        }
        Ok(())
    }

    /// The same for a query string whose one statement has been planned before.
    pub(super) fn log_known(&self, text: &str, command: Command) {
        if self.looks_at_statements() && self.wants_statement(class_of_command(command)) {
            self.state.log_line(format!("statement: {text}"), None);
            self.state.log.was_logged.set(true);
        }
    }

    fn wants_statement(&self, class: StatementClass) -> bool {
        self.state.cached().log.statements.is_some_and(|most| class <= most)
    }

    /// How a statement that EXECUTE names was prepared.
    fn prepared_detail(&self, statements: &[Arc<ParsedStatement>]) -> Option<String> {
        statements.iter().find_map(|parsed| match &parsed.statement {
            Statement::Execute(execute) => {
                let prepared = self.state.prepared.borrow();
                prepared.get(execute.name.as_str()).map(|prepared| format!("prepare: {}", prepared.text))
            }
            _ => None,
        })
    }

    /// A query string has ended well.
    pub(super) fn log_end_of_string(&self, text: &str) {
        if self.looks_at_statements() {
            self.state.log_duration(
                || format!("statement: {text}"),
                || {
                    let trees = self.state.trees.borrow_mut().parse(text, Default::default()).ok()?;
                    self.prepared_detail(&trees.1)
                },
            );
        }
    }

    /// A Parse has ended well.
    pub(super) fn log_end_of_parse(&self, name: &str, text: &str) {
        if self.looks_at_statements() {
            self.state.log_duration(|| named("parse", name, "", text), || None);
        }
    }

    /// A Bind has ended well.
    pub(super) fn log_end_of_bind(&self, name: &str) {
        if !self.looks_at_statements() {
            return;
        }
        let portal = if name.is_empty() { self.unnamed_portal.as_ref() } else { self.portals.get(name) };
        if let Some(portal) = portal {
            let statement = portal.prepared.as_ref().map_or("", |prepared| &prepared.name);
            let what = || named("bind", statement, name, &portal.text);
            self.state.log_duration(what, || self.parameters_detail(portal));
        }
    }

    /// An Execute begins.
    pub(super) fn log_execute(&self, name: &str, portal: &Portal, goes_on: bool) {
        if !self.looks_at_statements() {
            return;
        }
        let class = portal.planned.as_ref().map(|planned| match &planned.statement.kind {
            StatementKind::Utility(tree) => commands::class_of(&self.state, tree),
            StatementKind::Query(_) => class_of_command(planned.statement.command),
        });
        if class.is_some_and(|class| self.wants_statement(class)) {
            self.state.log_line(execution(name, portal, goes_on), self.parameters_detail(portal));
            self.state.log.was_logged.set(true);
        }
    }

    /// An Execute of a query or a utility statement begins.
    pub(super) fn note_execution(&self, name: &str, portal: &Portal, goes_on: bool) {
        if let Some(planned) = &portal.planned {
            match &planned.statement.kind {
                StatementKind::Utility(tree) => self.state.note_activity(commands::activity(tree)),
                StatementKind::Query(_) => self.state.note_activity(activity_of(planned.statement.command)),
            }
        }
        self.log_execute(name, portal, goes_on);
    }

    /// An Execute of BEGIN, COMMIT or their kin begins. The name of its statement, as the portal may be gone afterwards.
    pub(super) fn log_transaction_portal(&self, name: &str) -> String {
        let portal = if name.is_empty() { self.unnamed_portal.as_ref() } else { self.portals.get(name) };
        let Some(portal) = portal.filter(|_| self.looks_at_statements()) else { return String::new() };
        self.log_execute(name, portal, false);
        portal.prepared.as_ref().map_or_else(String::new, |prepared| prepared.name.clone())
    }

    /// An Execute of BEGIN, COMMIT or their kin has ended well. The portal may be gone.
    pub(super) fn log_end_of_transaction_portal(&self, name: &str, text: &str, statement: &str) {
        if self.looks_at_statements() {
            self.state.log_duration(|| named("execute", statement, name, text), || None);
        }
    }

    /// An Execute has ended well.
    pub(super) fn log_end_of_execute(&self, name: &str, portal: &Portal, goes_on: bool) {
        if portal.planned.is_some() && self.looks_at_statements() {
            let detail = || self.parameters_detail(portal);
            self.state.log_duration(|| execution(name, portal, goes_on), detail);
        }
    }

    /// Writes the plan of a statement that has ended to the log, and tells the client of it where the level says so.
    #[cold]
    pub(super) fn log_plan(
        &self,
        watched: &Watched,
        planned: &Planned,
        portal: &Portal,
        client: &mut dyn Client,
    ) -> base::Result<()> {
        let text = match (&portal.prepared, self.state.statement_text()) {
            (None, Some(text)) => text,
            _ => Arc::clone(&portal.text),
        };
        let message = watched.message(&self.state, planned, &portal.parameters, &text)?;
        let Some((level, message)) = message else { return Ok(()) };
        let error = Error::new(sqlstate::SUCCESSFUL_COMPLETION, message);
        if level >= self.state.cached().log.min_messages {
            self.state.report(level, error.fields(), false);
        }
        let severity = match level {
            Level::Info => Severity::Info,
            Level::Notice => Severity::Notice,
            Level::Warning => Severity::Warning,
            Level::Log => Severity::Log,
            _ => Severity::Debug,
        };
        if self.state.is_heard(severity) {
            client.require(self.state.gate());
            client.notice(severity, &error);
        }
        Ok(())
    }

    fn parameters_detail(&self, portal: &Portal) -> Option<String> {
        let max_bytes = self.state.cached().log.parameter_max;
        self.parameters_of(portal, max_bytes).map(|text| format!("parameters: {text}"))
    }

    fn parameters_of(&self, portal: &Portal, max_bytes: i64) -> Option<String> {
        let planned = portal.planned.as_ref()?;
        self.state.parameters_text(&portal.parameters, &planned.statement.parameters, max_bytes)
    }

    /// An error with the values of the portal's parameters, if `log_parameter_max_length_on_error` wants them.
    pub(super) fn with_parameters(&self, error: Error, name: &str, portal: &Portal) -> Error {
        let max_bytes = self.state.cached().log.parameter_max_on_error;
        if max_bytes == 0 {
            return error;
        }
        let which = if name.is_empty() { "unnamed portal".to_owned() } else { format!("portal \"{name}\"") };
        match self.parameters_of(portal, max_bytes) {
            Some(text) => error.context(format!("{which} with parameters: {text}")),
            None => error,
        }
    }

    /// The session's activity in the log while it waits for its client.
    pub(super) fn note_idle(&self) {
        self.state.forget_statement();
        self.state.note_activity(match self.transaction_status() {
            b'T' => "idle in transaction",
            b'E' => "idle in transaction (aborted)",
            _ => "idle",
        });
    }

    /// Writes the session's end to the log.
    pub(super) fn log_disconnection(&self) {
        if !self.state.setting(Id::LogDisconnections).as_bool() {
            return;
        }
        let info = &self.state.info;
        let millis = (types::datetime::clock_micros() - info.started_at).max(0) / 1000;
        let (hours, minutes, seconds) = (millis / 3_600_000, millis / 60_000 % 60, millis / 1000 % 60);
        let from = match info.peer {
            Some(peer) => format!("{} port={}", peer.ip().to_canonical(), peer.port()),
            None => "[local]".to_owned(),
        };
        self.state.forget_statement();
        let time = format!("{hours}:{minutes:02}:{seconds:02}.{:03}", millis % 1000);
        let (user, database) = (&info.user, &info.database);
        let message = format!("disconnection: session time: {time} user={user} database={database} host={from}");
        self.state.log_line(message, None);
    }
}

fn execution(name: &str, portal: &Portal, goes_on: bool) -> String {
    let verb = if goes_on { "execute fetch from" } else { "execute" };
    named(verb, portal.prepared.as_ref().map_or("", |prepared| &prepared.name), name, &portal.text)
}

fn class_of_command(command: Command) -> StatementClass {
    match command {
        Command::Select | Command::Utility => StatementClass::Other,
        Command::Insert | Command::Update | Command::Delete | Command::Merge => StatementClass::Change,
    }
}

/// The kind of a query, as a command's tag begins.
pub(super) fn activity_of(command: Command) -> &'static str {
    match command {
        Command::Select | Command::Utility => "SELECT",
        Command::Insert => "INSERT",
        Command::Update => "UPDATE",
        Command::Delete => "DELETE",
        Command::Merge => "MERGE",
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
