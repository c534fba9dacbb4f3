//! The messages that a session writes to the server's log: errors, notices, statements and how long they took.
//!
//! While nothing is to be logged, no message is made and no clock is read ([`LogSettings::looks_at_statements`]).

use std::sync::Arc;

use base::report::Level;
use base::settings::Id;
use base::{Error, sqlstate};
use plan::{Command, StatementKind};
use syntax::tree::{ParsedStatement, Statement};

use super::{Portal, SqlSession};
use crate::commands;
use crate::state::Planned;
use crate::state::auto_explain::Watched;
use crate::state::log::StatementClass;
use executor::client::{Client, Severity};

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
                StatementKind::Utility(tree) => self.state.note_activity(commands::facts(tree).tag),
                StatementKind::Query(_) => self.state.note_activity(planned.statement.command.name()),
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
