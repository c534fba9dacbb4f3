//! Sessions: statements from text to tag, for the protocol and for programs.
//!
//! [`SqlSession`] is a client's session. Its methods are the protocol's verbs. Their answers go to a [`Client`], each behind the commit that
//! it depends on. The parts that functions and commands use as well are in [`state`](crate::state).

mod connect;
mod entry;
mod execute;
mod extended;
mod host;
mod idle;
mod known_text;
mod portal;
mod query_string;
mod report;
mod top_level;
mod transaction;
mod twophase;

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Instant;

use base::{Error, Result, sqlstate};
use engine::DelayPolicy;
use rustc_hash::FxHashMap;
use sync::{Armed, Interrupt, Timer};

pub use extended::BindInput;
pub use portal::{Portal, Progress};
use syntax::parser;
use syntax::tree::{self, ParsedStatement};

use crate::state::{Activity, Prepared, SessionState, TcpTimes, instance, plan_cache, settings, temporary};
use executor::client::Client;

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
    /// A portal has run in the transaction in progress.
    is_within_pipeline: bool,
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
        self.log_disconnection();
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
        // Before the wait for those who have locked temporary objects, who may wait for these locks themselves.
        self.state.engine().advisory_unlock_all();
        temporary::end_session(&self.state);
        self.state.instance.disconnect(self.state.info.pid);
    }

    pub(super) fn new(state: SessionState) -> SqlSession {
        state.note_activity("idle");
        SqlSession {
            state,
            block: Block::None,
            savepoints: Vec::new(),
            is_within_pipeline: false,
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

    /// The part of the session that statements and functions can use.
    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// The timeouts that the operating system applies to the session's TCP connection; none if the session has no TCP connection.
    pub fn tcp_times(&self) -> Option<TcpTimes> {
        self.state.tcp_times()
    }

    /// Whether its statements end when its client has gone: `client_connection_check_interval`.
    pub fn ends_with_its_client(&self) -> bool {
        self.state.cached().ends_with_its_client
    }

    /// The session's number.
    pub fn pid(&self) -> i32 {
        self.state.info.pid
    }

    /// The secret number that a cancel request must contain.
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
        // A function may have set them by what it has read.
        client.require(self.state.gate());
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
        self.state.execution_settings().commit_delay
    }

    /// `I`, `T` or `E`, as ReadyForQuery says it.
    pub fn transaction_status(&self) -> u8 {
        match self.block {
            Block::Explicit if self.state.engine().transaction_failed() => b'E',
            Block::Explicit => b'T',
            _ => b'I',
        }
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
                parsed.depth <= parser::STORED_DEPTH_MAX || !crate::commands::facts(&parsed.statement).is_stored
            };
            if !statements.iter().all(is_storable) {
                return Err(parser::too_deep());
            }
            work(self, statements)
        });
        // Dropping them needs a deep stack, so leak them.
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
            // Leaked: dropping them on this stack would overflow it.
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

    fn end_pipeline(&mut self, client: &mut dyn Client) -> Result<()> {
        self.timer = None;
        self.commit_implicit(client)
    }

    /// Takes note of an error before the client is told: the transaction has failed.
    pub fn fail(&mut self, error: &Error, client: &mut dyn Client) {
        self.timer = None;
        // The statement has ended: neither its undoing nor the next statement is to be interrupted.
        self.state.interrupt().clear_statement();
        self.state.tell_warnings(client);
        self.state.log_error(error);
        self.state.forget_statement();
        self.state.characters_before.set(0);
        client.require(self.state.gate());
        if error.sqlstate() == sqlstate::SERIALIZATION_FAILURE {
            self.state.engine_mut().note_serialization_failure();
        }
        match self.block {
            Block::None => {}
            Block::Implicit => {
                // The error is what the client hears; a rollback has nothing to add.
                let _ = self.roll_back_block();
            }
            // The transaction has already failed: there is nothing more to do.
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

    fn begin_work(&mut self, text: &str) {
        self.note_work(text, None);
    }

    fn begin_work_on(&mut self, text: &Arc<str>) {
        self.note_work(text, Some(text));
    }

    fn note_work(&mut self, text: &str, shared: Option<&Arc<str>>) {
        self.is_one_of_several = false;
        self.state.characters_before.set(0);
        self.start_clock();
        self.state.info.set_activity(Activity::Active);
        self.state.info.set_query(text, shared);
        self.state.note_statement(text, shared);
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
}

/// Between two messages a session may go to another thread, with its cursors and suspended portals.
const fn may_change_threads<T: Send>() {}
const _: () = may_change_threads::<SqlSession>();
