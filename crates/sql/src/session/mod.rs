//! Sessions: statements from text to tag, for the protocol and for programs.
//!
//! [`Instance`] is what all sessions of a database share; [`SqlSession`] is one of them. Its methods are the
//! protocol's verbs; what they have to say goes to a [`Client`], each piece behind the commit it depends on.

mod by_text;
mod catalog_view;
mod counted;
mod entry;
mod execute;
pub mod functions;
mod helpers;
mod instance;
mod notify;
mod open_cursors;
mod parse_cache;
mod plain_input;
mod plan_cache;
pub mod planning;
mod portal;
mod prepared;
pub mod settings;
mod state;
mod transaction;
mod transaction_end;
mod twophase;
mod waits;
mod warnings;

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Instant;

use base::{Error, Oid, Result, sqlstate};
use engine::DelayPolicy;
use rustc_hash::FxHashMap;
use sync::{Armed, Interrupt, InterruptKind, Timer};

pub(crate) use catalog_view::describe_function;
pub use catalog_view::{CatalogView, quote_identifier, split_names};
pub(crate) use execute::lock_relations;
pub use execute::{Nested, UtilityOutput};
pub(crate) use execute::{new_run, read_only_transaction, refuse_read_only};
pub(crate) use helpers::Shareable;
pub(crate) use instance::is_member;
pub use instance::{Activity, ConnectRequest, Instance, KeptSetting, SessionInfo, SettingKeeper};
pub(crate) use notify::ChannelChange;
pub use notify::{Channels, Notification};
pub use open_cursors::{OpenCursor, Opening};
pub use plain_input::input_plain;
pub use plan_cache::Planned;
use portal::Ended;
pub(crate) use portal::ListedPortal;
pub(crate) use portal::cannot_run;
pub use portal::{Execution, Portal, Progress, Running, query_plan};
pub use prepared::Prepared;
pub use state::SessionState;
pub use transaction::set_modes;
pub use waits::{SessionWait, SessionWaits};

use crate::client::{Client, Formats};
use crate::parser::{self, ParseOptions};
use crate::tree::{self, ParsedStatement};
use crate::types::{self, SqlType, Value};

/// Whether a transaction is in progress, and who began it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// None is.
    None,
    /// One is, for the statements until the next Sync or end of the query string.
    Implicit,
    /// BEGIN began it.
    Explicit,
}

/// A client's session.
pub struct SqlSession {
    state: SessionState,
    block: Block,
    savepoints: Vec<transaction::Savepoint>,
    /// The unnamed portal, apart from the others because every driver uses it for everything.
    unnamed_portal: Option<Portal>,
    portals: FxHashMap<String, Portal>,
    unnamed_statement: Option<Arc<Prepared>>,
    /// The statement is one of several in its string.
    is_one_of_several: bool,
    /// `transaction_timeout` of the transaction in progress: when it ends, and what interrupts it then if it doesn't idle.
    transaction_limit: Option<(Instant, Armed)>,
    /// `statement_timeout` and `transaction_timeout`, once one was set.
    timers: OnceCell<[Timer; 2]>,
    /// Since when the session has waited for its client.
    idle_since: Instant,
    /// It is told of notifications while it idles.
    has_wake: bool,
    /// The client has not been told all that it listens for, as it has too much to read.
    has_more_notifications: bool,
    /// `statement_timeout` of a statement of the extended protocol: from its first message to the end of Execute.
    timer: Option<Armed>,
    /// The reported settings as the client was told them last, and the generation of the settings at that time.
    told_settings: (Option<(u64, u64)>, Vec<(&'static str, String)>),
    is_closed: bool,
}

/// The client's values for the parameters of a statement.
pub struct BindInput<'a> {
    /// Format codes: none, one for all parameters, or one for each.
    pub parameter_formats: smallvec::SmallVec<[i16; 8]>,
    /// How many parameters there are to be.
    pub parameter_count: usize,
    /// Their values, `None` for NULL, as far as they are well-formed.
    pub parameters: &'a [Option<&'a [u8]>],
    /// The formats of the result's columns, or what is wrong with them or with the parameters.
    pub result_formats: Result<Formats>,
}

impl Drop for SqlSession {
    fn drop(&mut self) {
        self.close();
        // Closing may have failed halfway.
        self.state.instance.disconnect(self.state.info.pid);
    }
}

impl SqlSession {
    /// Undoes what was begun, drops what is temporary, and gives up all locks. It may wait for others: a server closes sessions in
    /// their coroutines. A session that is dropped without it is closed by that.
    pub fn close(&mut self) {
        if std::mem::replace(&mut self.is_closed, true) {
            return;
        }
        self.transaction_limit = None;
        self.timer = None;
        // The session's end is not to be interrupted halfway.
        while self.state.interrupt().take().is_some() {}
        if self.nests_deep() {
            self.end_nested();
        }
        self.portals.clear();
        self.unnamed_portal = None;
        self.state.drop_cursors();
        if self.block != Block::None {
            // The client is gone: what it had begun is undone. There is nobody to tell of an error.
            let _ = self.state.engine_mut().rollback();
        }
        crate::commands::temporary::end_session(&self.state);
        self.state.engine().advisory_unlock_all();
        self.state.instance.disconnect(self.state.info.pid);
    }

    pub(super) fn new(state: SessionState) -> SqlSession {
        SqlSession {
            state,
            block: Block::None,
            savepoints: Vec::new(),
            is_one_of_several: false,
            transaction_limit: None,
            timers: OnceCell::new(),
            unnamed_portal: None,
            portals: FxHashMap::default(),
            unnamed_statement: None,
            idle_since: Instant::now(),
            has_wake: false,
            has_more_notifications: false,
            timer: None,
            told_settings: (None, Vec::new()),
            is_closed: false,
        }
    }

    /// What statements and functions reach of the session.
    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// The session's number.
    pub fn pid(&self) -> i32 {
        self.state.info.pid
    }

    /// What a cancel request must know.
    pub fn secret(&self) -> i32 {
        self.state.info.secret
    }

    /// How the session is interrupted.
    pub fn interrupt(&self) -> Arc<Interrupt> {
        Arc::clone(&self.state.info.interrupt)
    }

    /// The settings a client is told of when it connects.
    pub fn reported_parameters(&mut self) -> Vec<(&'static str, String)> {
        let settings = instance::reported(&self.state);
        self.told_settings = (None, settings.clone());
        settings
    }

    /// Tells the client of reported settings that have another value than it was told last.
    fn report_settings(&mut self, client: &mut dyn Client) {
        let generation = Some(self.state.settings.borrow().generation());
        if self.told_settings.0 == generation {
            return;
        }
        let now = instance::reported(&self.state);
        for ((name, new), (_, told)) in now.iter().zip(&self.told_settings.1) {
            if new != told {
                client.parameter_status(name, new);
            }
        }
        self.told_settings = (generation, now);
    }

    /// How the session's commits may wait for others.
    pub fn delay_policy(&self) -> DelayPolicy {
        self.state.cached().commit_delay
    }

    /// `I`, `T` or `E`, as ReadyForQuery says it.
    pub fn transaction_status(&self) -> u8 {
        match self.block {
            Block::Explicit if self.state.engine().transaction_failed() => b'E',
            Block::Explicit => b'T',
            _ => b'I',
        }
    }

    fn run_query_string(&mut self, text: &str, client: &mut dyn Client) -> Result<()> {
        self.begin_work(text);
        let mut timer = Some(self.statement_timer());
        self.unnamed_statement = None;
        if self.run_known(text, client)? {
            return Ok(());
        }
        self.state.warnings.forget();
        let options = ParseOptions { standard_conforming_strings: self.state.cached().standard_conforming_strings };
        let (text, statements) = self.state.trees.borrow_mut().parse(text, options)?;
        if statements.is_empty() {
            // The end of a query string is the end of what a pipeline has begun before it.
            self.end_pipeline(client)?;
            client.empty_query();
        }
        let count = statements.len();
        self.is_one_of_several = count > 1;
        self.on_enough_stack(statements, |session, statements| {
            for (number, statement) in statements.iter().enumerate() {
                if number > 0 {
                    // Each statement has the whole time.
                    drop(timer.take());
                    timer = Some(session.statement_timer());
                    session.relieve(client)?;
                }
                session.check_not_failed(Some(&statement.statement))?;
                session.close_unnamed_portal();
                session.run_statement(&text, statement, count > 1, number + 1 == count, client)?;
            }
            Ok(())
        })
    }

    /// Works on parsed statements, on a further stack if they are nested deep. From then on the session stays on it, since
    /// what it keeps of them must end there.
    fn on_enough_stack<R>(
        &mut self,
        statements: Arc<[Arc<ParsedStatement>]>,
        work: impl FnOnce(&mut SqlSession, Arc<[Arc<ParsedStatement>]>) -> Result<R>,
    ) -> Result<R> {
        let mut deepest = 0;
        for statement in statements.iter() {
            deepest = deepest.max(statement.depth);
        }
        if deepest <= parser::DEPTH_OF_COROUTINES {
            return work(self, statements);
        }
        self.state.nests_deep.set(true);
        let mut statements = Some(statements);
        let result = sync::on_further_stack(|| {
            let statements = statements.take().ok_or_else(parser::no_stack)?;
            let is_storable = |parsed: &Arc<ParsedStatement>| {
                parsed.depth <= parser::STORED_DEPTH_MAX || !crate::commands::is_stored(&parsed.statement)
            };
            if !statements.iter().all(is_storable) {
                return Err(parser::too_deep());
            }
            work(self, statements)
        });
        // Without a stack they can't end.
        std::mem::forget(statements);
        result.map_err(|_| parser::no_stack())?
    }

    /// Whether the session's messages are to be worked on on a further stack: what it keeps is nested deep.
    pub fn nests_deep(&self) -> bool {
        self.state.nests_deep.get()
    }

    /// Ends what may be nested deep, where there is stack enough.
    fn end_nested(&mut self) {
        let mut nested = Some((
            std::mem::take(&mut self.portals),
            self.unnamed_portal.take(),
            self.unnamed_statement.take(),
            self.state.prepared.take(),
            self.state.plans.replace(plan_cache::plans_of_session()),
            self.state.trees.take(),
        ));
        let ended = sync::on_further_stack(|| {
            drop(nested.take());
            self.state.drop_cursors();
        });
        if ended.is_err() {
            // Better kept for ever than ended without a stack.
            std::mem::forget(nested);
        }
    }

    /// Waits if the client leaves too much unread.
    fn relieve(&self, client: &mut dyn Client) -> Result<()> {
        if !client.wants_relief() {
            return Ok(());
        }
        client.require(self.state.gate());
        client.relieve()
    }

    fn prepare(&mut self, name: &str, text: &str, types: &[Oid], client: &mut dyn Client) -> Result<()> {
        self.begin_work(text);
        self.start_timer();
        if name.is_empty() {
            self.unnamed_statement = None;
        }
        let options = ParseOptions { standard_conforming_strings: self.state.cached().standard_conforming_strings };
        let (text, statements) = self.state.trees.borrow_mut().parse(text, options)?;
        if statements.len() > 1 {
            return Err(Error::new(
                sqlstate::SYNTAX_ERROR,
                "cannot insert multiple commands into a prepared statement",
            ));
        }
        self.on_enough_stack(statements, |session, statements| {
            let tree = statements.first().cloned();
            if let Some(tree) = &tree {
                session.check_not_failed(Some(&tree.statement))?;
            }
            session.ensure_transaction()?;
            if let Some(tree) = &tree {
                session.make_cursor_for(&tree.statement)?;
            }
            let prepared = Arc::new(Prepared::new(&session.state, name, text, tree, types, false)?);
            session.state.tell_warnings(client);
            if name.is_empty() {
                session.unnamed_statement = Some(prepared);
            } else {
                let mut all = session.state.prepared.borrow_mut();
                if all.contains_key(name) {
                    let message = format!("prepared statement \"{name}\" already exists");
                    return Err(Error::new(sqlstate::DUPLICATE_PREPARED_STATEMENT, message));
                }
                all.insert(name.to_owned(), prepared);
            }
            client.require(session.state.gate());
            Ok(())
        })
    }

    /// 26000 unless there is such a prepared statement.
    ///
    /// # Errors
    /// That.
    pub fn find_prepared(&self, name: &str) -> Result<()> {
        self.prepared(name).map(drop)
    }

    fn prepared(&self, name: &str) -> Result<Arc<Prepared>> {
        let found = if name.is_empty() {
            self.unnamed_statement.clone()
        } else {
            self.state.prepared.borrow().get(name).cloned()
        };
        found.ok_or_else(|| {
            let message = if name.is_empty() {
                "unnamed prepared statement does not exist".to_owned()
            } else {
                format!("prepared statement \"{name}\" does not exist")
            };
            Error::new(sqlstate::INVALID_SQL_STATEMENT_NAME, message)
        })
    }

    fn make_portal(&mut self, portal: &str, statement: &str, input: BindInput<'_>) -> Result<()> {
        self.start_timer();
        let prepared = self.prepared(statement)?;
        let is_failed = self.block != Block::None && self.state.engine().transaction_failed();
        if !is_failed {
            self.ensure_transaction()?;
            if let Some(tree) = &prepared.tree {
                self.make_cursor_for(&tree.statement)?;
            }
        }
        // Where the transaction has failed only its end can be bound, which has no plan to be made again.
        let planned = match &prepared.tree {
            None => None,
            Some(_) if is_failed => prepared.last_plan(),
            Some(_) => Some(prepared.plan(&self.state)?),
        };
        let types = planned.as_ref().map_or(&*prepared.types, |planned| &planned.statement.parameters);
        check_counts(statement, &input, types.len())?;
        if is_failed {
            let tree = prepared.tree.as_ref().filter(|_| types.is_empty());
            self.check_not_failed(tree.map(|tree| &tree.statement))?;
        }
        if !portal.is_empty() && self.has_portal(portal) {
            return Err(Error::new(sqlstate::DUPLICATE_CURSOR, format!("cursor \"{portal}\" already exists")));
        }
        let mut values = Vec::with_capacity(input.parameter_count);
        for (index, (bytes, sql_type)) in input.parameters.iter().zip(types).enumerate() {
            let code = match *input.parameter_formats {
                [] => 0,
                [one] => one,
                ref each => each[index],
            };
            values.push(self.parameter(portal, index, *bytes, code, *sql_type)?);
        }
        let formats = input.result_formats?;
        if let Some(columns) = planned.as_ref().filter(|planned| planned.gives_rows()) {
            check_result_formats(&formats, columns.description.columns.len())?;
        }
        let bound_at = self.state.statement_timestamp.get();
        let portal_made = Portal {
            planned,
            text: Arc::clone(&prepared.text),
            parameters: values,
            formats,
            progress: Progress::Ready,
            listed: Some(self.state.portals.add(portal, Arc::clone(&prepared.text), bound_at)),
            prepared: Some(prepared),
            tree: None,
            depth: self.savepoint_depth(),
        };
        if portal.is_empty() {
            self.close_unnamed_portal();
            self.unnamed_portal = Some(portal_made);
        } else {
            self.portals.insert(portal.to_owned(), portal_made);
        }
        Ok(())
    }

    /// Reads one parameter of a portal.
    fn parameter(
        &self,
        portal: &str,
        index: usize,
        bytes: Option<&[u8]>,
        code: i16,
        sql_type: SqlType,
    ) -> Result<Value> {
        let within = |value: &str, error: Error| {
            let which = if portal.is_empty() { "unnamed portal".to_owned() } else { format!("portal \"{portal}\"") };
            error.context(format!("{which} parameter ${}{value}", index + 1))
        };
        let text = match code {
            0 => bytes.map(types::binary_io::utf8),
            1 => None,
            _ => {
                let message = format!("unsupported format code: {code}");
                return Err(within("", Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)));
            }
        };
        let Some(bytes) = bytes else { return Ok(Value::Null) };
        // A value that needs no context is read without making one.
        if let Some(Ok(text)) = text
            && let Some(value) = input_plain(text, sql_type)
        {
            return Ok(value);
        }
        let mut context = planning::Environment::new(&self.state, &self.state.catalog()).eval_context();
        // Values are not shown, as they may be secret or long.
        match text {
            Some(text) => types::input(&mut context, text.map_err(|error| within("", error))?, sql_type)
                .map_err(|error| within(" = '...'", error)),
            None => types::binary_input(&mut context, bytes, sql_type).map_err(|error| within("", error)),
        }
    }

    fn portal_mut(&mut self, name: &str) -> Result<&mut Portal> {
        let found = if name.is_empty() { self.unnamed_portal.as_mut() } else { self.portals.get_mut(name) };
        found.ok_or_else(|| Error::new(sqlstate::INVALID_CURSOR_NAME, format!("portal \"{name}\" does not exist")))
    }

    /// Tells the client of a statement's parameters and columns.
    ///
    /// # Errors
    /// 26000 for an unknown statement.
    pub fn describe_statement(&mut self, name: &str, client: &mut dyn Client) -> Result<()> {
        self.start_timer();
        let prepared = self.prepared(name)?;
        if prepared.tree.is_none() {
            client.parameter_description(&prepared.types.iter().map(|sql_type| sql_type.oid).collect::<Vec<_>>());
            client.no_data();
            return Ok(());
        }
        let is_failed = self.check_not_failed(None);
        let planned = match (&is_failed, prepared.last_plan()) {
            (Err(_), Some(planned)) => planned,
            _ => {
                self.ensure_transaction()?;
                prepared.plan(&self.state)?
            }
        };
        if planned.gives_rows() {
            is_failed?;
        }
        client.require(self.state.gate());
        let oids: Vec<Oid> = planned.statement.parameters.iter().map(|sql_type| sql_type.oid).collect();
        client.parameter_description(&oids);
        if planned.gives_rows() {
            client.row_description(&planned.description, &Formats::default());
        } else {
            client.no_data();
        }
        Ok(())
    }

    /// Tells the client of a portal's columns.
    ///
    /// # Errors
    /// 34000 for an unknown portal, 25P02 for one with columns in a transaction that has failed.
    pub fn describe_portal(&mut self, name: &str, client: &mut dyn Client) -> Result<()> {
        self.start_timer();
        client.require(self.state.gate());
        let can_be_told = self.check_not_failed(None);
        if self.portal_mut(name).is_err()
            && let Some(open) = self.state.cursors.borrow().get(name)
        {
            can_be_told?;
            client.row_description(&open.planned.description, &open.formats);
            return Ok(());
        }
        let portal = self.portal_mut(name)?;
        match &portal.planned {
            Some(planned) if planned.gives_rows() => {
                can_be_told?;
                client.row_description(&planned.description, &portal.formats);
            }
            _ => client.no_data(),
        }
        Ok(())
    }

    fn run_named_portal(&mut self, name: &str, max_rows: u32, client: &mut dyn Client) -> Result<()> {
        self.start_timer();
        if self.portal_mut(name).is_err() && self.state.has_cursor(name) {
            return self.run_cursor(name, max_rows, client);
        }
        if let Some(statement) = self.portal_mut(name)?.transaction_statement().cloned() {
            self.run_transaction_portal(name, &statement, client)?;
            self.timer = None;
            return Ok(());
        }
        let mut portal =
            if name.is_empty() { self.unnamed_portal.take() } else { self.portals.remove(name) }.expect("found above");
        self.begin_work_on(&portal.text);
        let result = self.run_portal(name, &mut portal, max_rows, client);
        // A procedure may have ended the transaction, and with it all portals: its name is free then.
        if self.block != Block::None {
            if name.is_empty() {
                self.unnamed_portal = Some(portal);
            } else {
                self.portals.insert(name.to_owned(), portal);
            }
        }
        if result? == Ended::Completed {
            self.timer = None;
        }
        Ok(())
    }

    /// Forgets a prepared statement.
    pub fn close_statement(&mut self, name: &str) {
        if name.is_empty() {
            self.unnamed_statement = None;
        } else {
            self.state.prepared.borrow_mut().remove(name);
        }
    }

    /// Closes a portal.
    pub fn close_portal(&mut self, name: &str) {
        if name.is_empty() {
            return self.close_unnamed_portal();
        }
        match self.portals.remove(name) {
            Some(portal) => portal.progress.give_up(&self.state),
            None => self.state.forget_cursor(name),
        }
    }

    fn end_pipeline(&mut self, client: &mut dyn Client) -> Result<()> {
        self.timer = None;
        if self.block == Block::Implicit {
            return self.commit(client);
        }
        Ok(())
    }

    /// Takes note of an error before the client is told: the transaction has failed.
    pub fn fail(&mut self, error: &Error, client: &mut dyn Client) {
        self.timer = None;
        self.state.tell_warnings(client);
        client.require(self.state.gate());
        if error.sqlstate() == sqlstate::SERIALIZATION_FAILURE {
            self.state.engine_mut().note_serialization_failure();
        }
        match self.block {
            Block::None => {}
            Block::Implicit => {
                // The error is what the client hears; a rollback has nothing to add.
                let _ = self.roll_back();
            }
            // What has failed can't fail again.
            Block::Explicit if self.state.engine().transaction_failed() => {}
            Block::Explicit => {
                self.fail_portals();
                match self.savepoints.last().map(|innermost| innermost.mark.next_cursor) {
                    Some(next_cursor) => self.state.end_cursors_from(next_cursor),
                    None => self.state.end_cursors(),
                }
                self.state.engine_mut().mark_failed();
                self.forget_checks_of_failure();
                // Settings made since the innermost savepoint no longer hold. The client has yet to undo the rest.
                self.state.settings.borrow_mut().begin_level_anew();
                settings::note_application_name(&self.state);
            }
        }
    }

    /// The last thing before ReadyForQuery: what was notified meanwhile, and the session idles.
    pub fn before_ready(&mut self, client: &mut dyn Client) {
        if self.block == Block::None {
            self.deliver_notifications(client);
        }
        self.report_settings(client);
        self.state.info.set_activity(match self.transaction_status() {
            b'T' => Activity::IdleInTransaction,
            b'E' => Activity::IdleInFailedTransaction,
            _ => Activity::Idle,
        });
        self.idle_since = Instant::now();
        // A cancel that came too late is not for the next statement.
        self.state.interrupt().clear(InterruptKind::Cancel);
    }

    /// Tells the client what it listens for, as much as it has room for. Also called while the session idles.
    pub fn deliver_notifications(&mut self, client: &mut dyn Client) {
        let channels = &self.state.instance.channels;
        if !channels.has_any() {
            return;
        }
        self.has_more_notifications = true;
        while self.has_more_notifications && !client.wants_relief() {
            let (notifications, has_more) = channels.take(self.state.info.pid);
            for notification in notifications {
                client.require(notification.csn);
                client.notification(notification.pid, &notification.channel, &notification.payload);
            }
            self.has_more_notifications = has_more;
        }
    }

    /// Whether there is more that the client is to be told.
    pub fn has_more_notifications(&self) -> bool {
        self.has_more_notifications
    }

    /// Has the session told by `wake` of what is notified while it idles, if it listens and hasn't arranged that yet: true if it
    /// has now, and something may be waiting already.
    pub fn arrange_wake(&mut self, wake: impl FnOnce() -> Arc<dyn Fn() + Send + Sync>) -> bool {
        let is_new = self.state.has_listened.get() && !self.has_wake;
        if is_new {
            self.has_wake = true;
            self.state.instance.channels.set_wake(self.state.info.pid, wake());
        }
        is_new
    }

    /// When the session has idled too long, if it may not idle for ever.
    pub fn idle_deadline(&self) -> Option<Instant> {
        let cached = self.state.cached();
        let timeout = match self.block {
            Block::Explicit => cached.idle_in_transaction_timeout,
            _ => cached.idle_timeout,
        };
        let limit = self.transaction_limit.as_ref().map(|(at, _)| *at);
        timeout.map(|timeout| self.idle_since + timeout).into_iter().chain(limit).min()
    }

    /// The error that ends the session, if it has idled too long at `now`.
    pub fn idle_timeout_passed(&self, now: Instant) -> Option<Error> {
        if self.idle_deadline()? > now {
            return None;
        }
        if self.transaction_limit.as_ref().is_some_and(|(at, _)| *at <= now) {
            return Some(InterruptKind::TransactionTimeout.error());
        }
        Some(match self.block {
            Block::Explicit => Error::new(
                sqlstate::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                "terminating connection due to idle-in-transaction timeout",
            ),
            _ => Error::new(base::SqlState::new("57P05"), "terminating connection due to idle-session timeout"),
        })
    }

    /// `statement_timeout` runs from here, unless it runs already.
    fn start_timer(&mut self) {
        if self.timer.is_none() {
            self.timer = self.statement_timer();
        }
    }

    /// Limits the time of the statement that begins.
    fn statement_timer(&self) -> Option<Armed> {
        let timeout = self.state.cached().statement_timeout?;
        let [statement, _] = self.timers();
        Some(statement.arm(Instant::now() + timeout))
    }

    fn timers(&self) -> &[Timer; 2] {
        self.timers.get_or_init(|| {
            let kinds = [InterruptKind::StatementTimeout, InterruptKind::TransactionTimeout];
            kinds.map(|kind| self.state.instance.timers.timer(self.state.interrupt(), kind))
        })
    }

    fn begin_work(&mut self, text: &str) {
        self.begin_work_on(&Arc::from(text));
    }

    fn begin_work_on(&mut self, text: &Arc<str>) {
        self.is_one_of_several = false;
        self.start_clock();
        self.state.info.set_activity(Activity::Active);
        self.state.info.set_query(text);
    }

    /// In a failed transaction, only its end is accepted.
    fn check_not_failed(&self, statement: Option<&tree::Statement>) -> Result<()> {
        use tree::Transaction;
        if self.block == Block::None || !self.state.engine().transaction_failed() {
            return Ok(());
        }
        match statement {
            Some(tree::Statement::Transaction(
                Transaction::Commit { .. }
                | Transaction::Rollback { .. }
                | Transaction::RollbackTo(_)
                | Transaction::Prepare(_),
            )) => Ok(()),
            _ => Err(Error::new(
                sqlstate::IN_FAILED_SQL_TRANSACTION,
                "current transaction is aborted, commands ignored until end of transaction block",
            )),
        }
    }

    /// Commits the implicit transaction around a statement that makes its own.
    ///
    /// # Errors
    /// Of the commit.
    pub fn leave_implicit(&mut self, client: &mut dyn Client) -> Result<()> {
        if self.block == Block::Implicit { self.commit(client) } else { Ok(()) }
    }

    /// Begins an implicit transaction again, after [`SqlSession::leave_implicit`].
    ///
    /// # Errors
    /// 57P01 if the database is closing.
    pub fn enter_implicit(&mut self) -> Result<()> {
        self.ensure_transaction()
    }

    /// Whether BEGIN has begun a block, or several statements of one string are as good as one.
    pub fn is_in_block(&self) -> bool {
        self.block == Block::Explicit || self.is_one_of_several
    }

    /// Whether a procedure called now may end the transaction: nothing else is part of it.
    pub(crate) fn may_end_transaction(&self) -> bool {
        let is_suspended = |portal: &Portal| matches!(portal.progress, Progress::Suspended { .. });
        let mut portals = self.portals.values().chain(&self.unnamed_portal);
        self.block == Block::Implicit && !self.is_one_of_several && !portals.any(is_suspended)
    }

    /// Closes every portal and cursor.
    pub fn close_all_portals(&mut self) {
        self.close_unnamed_portal();
        for (_, portal) in self.portals.drain() {
            portal.progress.give_up(&self.state);
        }
        self.state.drop_cursors();
    }
}

/// 08P01 unless there are as many parameters as the statement has, and as many formats if there are several.
fn check_counts(statement: &str, input: &BindInput<'_>, required: usize) -> Result<()> {
    let (formats, given) = (input.parameter_formats.len(), input.parameter_count);
    if formats > 1 && formats != given {
        let message = format!("bind message has {formats} parameter formats but {given} parameters");
        return Err(Error::new(sqlstate::PROTOCOL_VIOLATION, message));
    }
    if given != required {
        let message = format!(
            "bind message supplies {given} parameters, but prepared statement \"{statement}\" requires {required}"
        );
        return Err(Error::new(sqlstate::PROTOCOL_VIOLATION, message));
    }
    Ok(())
}

/// 08P01 for several formats that are not as many as the columns.
fn check_result_formats(formats: &Formats, columns: usize) -> Result<()> {
    let given = formats.0.len();
    if given > 1 && given != columns {
        let message = format!("bind message has {given} result formats but query has {columns} columns");
        return Err(Error::new(sqlstate::PROTOCOL_VIOLATION, message));
    }
    Ok(())
}
