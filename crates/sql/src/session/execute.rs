//! Running statements: locks, snapshot, rows, tag.

use std::sync::Arc;

use base::{Error, Result, sqlstate};
use plan::{Command, StatementKind};
use syntax::tree;
use types::SqlType;

use super::portal::{Ended, Portal, Progress};
use super::{Block, SqlSession};
use crate::commands::facts;
use crate::state::plan_cache::Planned;
use crate::state::{RelationLocks, Running, UtilityOutput, prepared, refuse_changes};
use executor::client::{Client, Formats, OutgoingRow};
use executor::{RowStore, Run, StoreReader};

impl SqlSession {
    /// Runs one parsed statement of a query string.
    pub(super) fn run_statement(
        &mut self,
        text: &Arc<str>,
        tree: &Arc<tree::ParsedStatement>,
        is_one_of_several: bool,
        is_last: bool,
        client: &mut dyn Client,
    ) -> Result<()> {
        if let tree::Statement::Transaction(statement) = &tree.statement {
            self.close_unnamed_portal();
            let tag = match self.run_transaction_statement(statement, is_one_of_several, client) {
                Ok(tag) => tag,
                Err(error) => {
                    match prepared::plan_uncached(&self.state, text, tree, &[]) {
                        Ok(planned) => {
                            let portal = self.portal_of_string(planned, Arc::clone(text), Some(Arc::clone(tree)));
                            self.keep_failed(portal);
                        }
                        Err(interruption) if syntax::parser::is_interruption(&interruption) => {
                            return Err(interruption);
                        }
                        Err(_) => {}
                    }
                    return Err(error);
                }
            };
            client.require(self.state.gate());
            client.command_complete(&tag);
            return Ok(());
        }
        self.refuse_in_block(&tree.statement, is_one_of_several)?;
        self.ensure_transaction()?;
        self.make_cursor_for(&tree.statement)?;
        self.take_snapshot_to_bind(&tree.statement)?;
        let planned = if is_one_of_several {
            // Its text is a part of the string; kept plans are found by whole strings.
            prepared::plan_uncached(&self.state, text, tree, &[])?
        } else {
            prepared::plan(&self.state, text, tree, &Arc::from([]))?
        };
        // A utility statement binds what is in it once more when it runs.
        if matches!(planned.statement.kind, StatementKind::Query(_)) {
            self.state.tell_warnings(client);
        }
        if !planned.statement.parameters.is_empty() {
            return Err(Error::new(sqlstate::UNDEFINED_PARAMETER, "there is no parameter $1"));
        }
        self.close_unnamed_portal();
        let mut portal = self.portal_of_string(planned, Arc::clone(text), Some(Arc::clone(tree)));
        // The rows of a binary cursor are binary where the client asks for no format.
        if let tree::Statement::Fetch(fetch) = &tree.statement
            && !fetch.is_move
        {
            portal.formats = self.state.formats_of_cursor(&fetch.cursor);
        }
        let result =
            self.lock_first(&mut portal).and_then(|()| self.run_with_description(&mut portal, is_last, client));
        if result.is_err() {
            self.keep_failed(portal);
        }
        result
    }

    /// Fails if the statement's code has dropped the error of an interrupt. Not when the statement has ended the transaction: what has
    /// committed is told to have committed (rule R4).
    fn check_reported(&self) -> Result<()> {
        if self.block == Block::None { Ok(()) } else { self.state.interrupt().check_reported() }
    }

    /// 25001 for what must be a transaction of its own, where it is one of several or in a block.
    fn refuse_in_block(&self, statement: &tree::Statement, is_one_of_several: bool) -> Result<()> {
        let is_in_block = self.block == Block::Explicit || is_one_of_several;
        if !is_in_block && !self.is_within_pipeline {
            return Ok(());
        }
        let Some(name) = facts(statement).refused_in_block else { return Ok(()) };
        let message = match is_in_block {
            true => format!("{name} cannot run inside a transaction block"),
            false => format!("{name} cannot be executed within a pipeline"),
        };
        Err(Error::new(sqlstate::ACTIVE_SQL_TRANSACTION, message))
    }

    /// The portal of a statement of a query string.
    pub(super) fn portal_of_string(
        &self,
        planned: Arc<Planned>,
        text: Arc<str>,
        tree: Option<Arc<tree::ParsedStatement>>,
    ) -> Portal {
        Portal {
            planned: Some(planned),
            text,
            parameters: Vec::new(),
            formats: Formats::default(),
            progress: Progress::Ready,
            prepared: None,
            tree,
            depth: self.savepoints.len(),
            listed: None,
        }
    }

    /// The portal of a statement of a query string that has failed in a block is the unnamed one until the block ends: who asks
    /// for it hears that the transaction has failed.
    pub(super) fn keep_failed(&mut self, mut portal: Portal) {
        if self.block == Block::Explicit {
            std::mem::replace(&mut portal.progress, Progress::Failed).give_up(&self.state);
            self.unnamed_portal = Some(portal);
        }
    }

    /// Locks a query's tables before its rows are described: another transaction that held them may have changed their columns.
    fn lock_first(&mut self, portal: &mut Portal) -> Result<()> {
        match portal.planned.clone() {
            Some(planned) if matches!(planned.statement.kind, StatementKind::Query(_)) => {
                refuse_changes(&self.state, &planned.statement)?;
                self.lock_and_check(planned, portal, true)?;
                portal.progress = Progress::Locked;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Describes a portal's rows, runs it to its end and, if it is the last of its string, commits before its tag.
    pub(super) fn run_with_description(
        &mut self,
        portal: &mut Portal,
        is_last: bool,
        client: &mut dyn Client,
    ) -> Result<()> {
        if let Some(planned) = &portal.planned
            && planned.gives_rows()
        {
            client.row_description(&planned.description, &portal.formats);
        }
        let tag = self.run_to_end(portal, client)?;
        self.check_reported()?;
        if is_last {
            self.commit_implicit(client)?;
        }
        client.command_complete(&tag);
        Ok(())
    }

    /// Runs a portal of the extended protocol.
    pub(super) fn run_portal(
        &mut self,
        name: &str,
        portal: &mut Portal,
        max_rows: u32,
        client: &mut dyn Client,
    ) -> Result<Ended> {
        let Some(planned) = &portal.planned else {
            client.empty_query();
            return Ok(Ended::Completed);
        };
        self.check_not_failed(None)?;
        if let StatementKind::Utility(tree) = &planned.statement.kind
            && matches!(portal.progress, Progress::Ready)
        {
            self.refuse_in_block(tree, false)?;
            self.check_columns(tree, planned, portal)?;
        }
        self.ensure_transaction()?;
        portal.check_can_run(name)?;
        let result = self.run_some(portal, max_rows, client).and_then(|tag| self.check_reported().map(|()| tag));
        if result.is_err() {
            std::mem::replace(&mut portal.progress, Progress::Failed).give_up(&self.state);
        }
        let tag = result?;
        self.is_within_pipeline = true;
        match tag {
            Some(tag) => {
                if portal.is_whole_transaction() {
                    self.commit_implicit(client)?;
                }
                client.command_complete(&tag);
                Ok(Ended::Completed)
            }
            None => {
                client.portal_suspended();
                Ok(Ended::Suspended)
            }
        }
    }

    /// Gives up to `max_rows` rows of a cursor (0 for all), as of a portal.
    pub(super) fn run_cursor(&mut self, name: &str, max_rows: u32, client: &mut dyn Client) -> Result<()> {
        self.check_not_failed(None)?;
        self.ensure_transaction()?;
        let Some(mut portal) = self.state.portal_of_cursor(name, self.savepoints.len()) else {
            return Err(Error::internal("an unknown cursor runs"));
        };
        self.begin_work_on(&portal.text);
        let count = if max_rows == 0 { i64::MAX } else { i64::from(max_rows) };
        let fetch =
            tree::Fetch { cursor: name.into(), direction: tree::FetchDirection::Forward, count, is_move: false };
        let given = self.state.with_cursor(name, |cursor| cursor.fetch(&self.state, &fetch, client))?;
        self.state.tell_warnings(client);
        client.require(self.state.gate());
        self.is_within_pipeline = true;
        let is_over = max_rows == 0 || given.count < u64::from(max_rows);
        let tag = tag_of(Command::Select, given.count);
        self.give_rows(&mut portal, Box::new(given.rows), 0, tag.clone(), 0, client)?;
        if is_over {
            client.command_complete(&tag)
        } else {
            client.portal_suspended()
        }
        Ok(())
    }

    /// Runs a portal of BEGIN, COMMIT or their kin, which may end it.
    pub(super) fn run_transaction_portal(
        &mut self,
        name: &str,
        statement: &tree::Transaction,
        client: &mut dyn Client,
    ) -> Result<()> {
        let portal = self.portal_mut(name)?;
        let (text, can_run) = (Arc::clone(&portal.text), portal.check_can_run(name));
        // A portal that was bound forgets its statement when it fails; one of a query string does not.
        let knows_statement = can_run.is_ok() || portal.prepared.is_none();
        self.begin_work_on(&text);
        self.state.note_activity(statement.name());
        let prepared = self.log_transaction_portal(name);
        let is_end_of_failure = knows_statement.then(|| tree::Statement::Transaction(statement.clone()));
        self.check_not_failed(is_end_of_failure.as_ref())?;
        can_run?;
        let result = self.run_transaction_statement(statement, false, client);
        if let Ok(portal) = self.portal_mut(name) {
            portal.progress = if result.is_ok() { Progress::Done } else { Progress::Failed };
        }
        let tag = result?;
        client.require(self.state.gate());
        client.command_complete(&tag);
        self.log_end_of_transaction_portal(name, &text, &prepared);
        Ok(())
    }

    /// Refuses a utility statement whose columns have changed since it was bound, by what was done to the cursor or the
    /// prepared statement that it names. Where there was none yet no rows are given.
    fn check_columns(&self, tree: &tree::Statement, planned: &Planned, portal: &Portal) -> Result<()> {
        let bound = &planned.statement.columns;
        if bound.is_empty() {
            return Ok(());
        }
        let columns = crate::commands::session_columns(&self.state, &portal.text, tree, &planned.statement.parameters)?;
        if columns.is_some_and(|shape| shape.columns != *bound) {
            return Err(prepared::changed_result());
        }
        Ok(())
    }

    fn run_to_end(&mut self, portal: &mut Portal, client: &mut dyn Client) -> Result<String> {
        match self.run_some(portal, 0, client)? {
            Some(tag) => Ok(tag),
            None => Err(Error::internal("a portal without a limit stopped before its end")),
        }
    }

    /// Gives up to `max_rows` rows of a portal (0 for all); its tag, if that was the end.
    pub(crate) fn run_some(
        &mut self,
        portal: &mut Portal,
        max_rows: u32,
        client: &mut dyn Client,
    ) -> Result<Option<String>> {
        if self.nests_deep() {
            return sync::on_further_stack(|| self.run_some_here(portal, max_rows, client))
                .map_err(|_| syntax::parser::no_stack())?;
        }
        self.run_some_here(portal, max_rows, client)
    }

    fn run_some_here(&mut self, portal: &mut Portal, max_rows: u32, client: &mut dyn Client) -> Result<Option<String>> {
        match std::mem::replace(&mut portal.progress, Progress::Done) {
            start @ (Progress::Ready | Progress::Locked) => {
                let planned = portal.planned.clone().ok_or_else(|| Error::internal("an empty portal runs"))?;
                if let StatementKind::Utility(tree) = &planned.statement.kind {
                    self.take_snapshot_to_run(tree)?;
                    let suspended = self.suspended_plans();
                    *self.state.suspended.borrow_mut() = suspended;
                    let output = crate::commands::run(self, tree, &planned, &portal.text, &portal.parameters, client);
                    self.state.suspended.borrow_mut().clear();
                    let output = output?;
                    self.state.tell_warnings(client);
                    return self.give_output(portal, output, max_rows, client);
                }
                let planned = match start {
                    Progress::Locked => planned,
                    _ => {
                        refuse_changes(&self.state, &planned.statement)?;
                        self.lock_and_check(planned, portal, false)?
                    }
                };
                self.state.engine().begin_statement()?;
                let first_check = self.state.next_check.get();
                let result = self.run_query(portal, &planned, None, max_rows, client);
                self.end_statement(result, first_check, client)
            }
            Progress::Suspended { running, snapshot, given } => {
                let planned = portal.planned.clone().ok_or_else(|| Error::internal("an empty portal runs"))?;
                let begun = self.state.engine().begin_statement();
                if let Err(error) = begun {
                    Progress::Suspended { running, snapshot, given }.give_up(&self.state);
                    return Err(error);
                }
                self.state.engine().enter_snapshot(&snapshot);
                let first_check = self.state.next_check.get();
                let result = self.run_query(portal, &planned, Some(running), max_rows, client);
                // As long as the portal is suspended, it alone holds the snapshot that the plan reads with. Otherwise that snapshot is
                // released.
                match &mut portal.progress {
                    Progress::Suspended { snapshot: kept, given: total, .. } => {
                        *total += given;
                        let newer = std::mem::replace(kept, snapshot);
                        self.state.engine().release_snapshot(newer);
                    }
                    _ => self.state.engine().release_snapshot(snapshot),
                }
                self.end_statement(result, first_check, client)
            }
            Progress::Rows { rows, given, tag } => {
                client.require(self.state.gate());
                self.give_rows(portal, rows, given, tag, max_rows, client)
            }
            Progress::Done => {
                let command = portal.planned.as_ref().map_or(Command::Select, |planned| planned.statement.command);
                Ok(Some(tag_of(command, 0)))
            }
            Progress::Failed => Err(Error::internal("a portal that has failed runs")),
        }
    }

    /// Makes the checks from the number `first_check` on. Those before it are deferred ones of earlier statements.
    fn end_statement<T>(&mut self, result: Result<T>, first_check: u64, client: &mut dyn Client) -> Result<T> {
        let result = result.and_then(|value| {
            executor::run_pending_checks(&self.state, executor::Due::Statement(first_check), client)?;
            Ok(value)
        });
        self.state.engine().end_statement();
        result
    }

    /// Takes the statement's relation locks; plans again if the catalog has moved on by then. `may_change`: the client
    /// doesn't know the columns yet.
    pub(super) fn lock_and_check(
        &mut self,
        mut planned: Arc<Planned>,
        portal: &mut Portal,
        may_change: bool,
    ) -> Result<Arc<Planned>> {
        let mut locks = RelationLocks::default();
        while !locks.take(&self.state, &planned)? {
            let types = || -> Arc<[SqlType]> { planned.statement.parameters.iter().copied().collect() };
            let again = match (&portal.prepared, &portal.tree) {
                (Some(prepared), _) => prepared.plan(&self.state)?,
                // It may be one of several statements of its string.
                (None, Some(tree)) => prepared::plan_uncached(&self.state, &portal.text, tree, &types())?,
                (None, None) => {
                    let statements = syntax::parser::parse(&portal.text, self.state.parse_options())?;
                    let tree = statements.first().ok_or_else(|| Error::internal("a planned text is empty"))?;
                    prepared::plan(&self.state, &portal.text, tree, &types())?
                }
            };
            // The client was told names and types; the tables may be others.
            let shape = |planned: &Planned| -> Vec<_> {
                planned.statement.columns.iter().map(|column| (column.name.clone(), column.sql_type)).collect()
            };
            if !may_change && shape(&again) != shape(&planned) {
                return Err(prepared::changed_result());
            }
            portal.planned = Some(Arc::clone(&again));
            planned = again;
        }
        Ok(planned)
    }

    fn run_query(
        &mut self,
        portal: &mut Portal,
        planned: &Arc<Planned>,
        running: Option<Running>,
        max_rows: u32,
        client: &mut dyn Client,
    ) -> Result<Option<String>> {
        // A statement that goes on after a pause is not watched.
        let watched = if running.is_none() { self.state.watch() } else { None };
        let mut running = match running {
            Some(running) => running,
            None => {
                let measurements = watched.as_ref().and_then(|watched| watched.measurements.clone());
                Running::start_measured(planned, measurements)?
            }
        };
        let command = planned.statement.command;
        let gives_rows = planned.gives_rows();
        if max_rows > 0 && gives_rows && !planned.statement.is_read_only {
            // Its changes are made at once, however few rows are asked for.
            let first_check = self.state.next_check.get();
            let rows = self.gather_rows(portal, &mut running, client)?;
            executor::run_pending_checks(&self.state, executor::Due::Statement(first_check), client)?;
            client.require(self.state.gate());
            return self.give_rows(portal, Box::new(rows), 0, tag_of(command, 0), max_rows, client);
        }
        let (count, is_over) = running.with_dependent_mut(|planned, execution| -> Result<(u64, bool)> {
            let mut run = Run::new(&self.state, client, &portal.parameters, &mut execution.locals);
            let catalog = run.catalog.clone();
            let format = Arc::clone(&run.format);
            let mut count = 0u64;
            while max_rows == 0 || count < u64::from(max_rows) {
                if !execution.root.next(&mut run)? {
                    return Ok((count, true));
                }
                count += 1;
                if gives_rows {
                    run.client.row(&OutgoingRow {
                        values: execution.root.row(),
                        columns: &planned.description.columns,
                        formats: &portal.formats,
                        format: &format,
                        catalog: &catalog,
                    })?;
                    if run.client.wants_relief() {
                        run.client.require(self.state.gate());
                        run.client.relieve()?;
                    }
                }
            }
            Ok((count, false))
        })?;
        if !is_over {
            client.require(self.state.gate());
            let snapshot = self.state.engine().keep_snapshot();
            portal.progress = Progress::Suspended { running, snapshot, given: count };
            return Ok(None);
        }
        if let Some(watched) = watched {
            self.log_plan(&watched, planned, portal, client)?;
        }
        let affected = running.with_dependent(|_, execution| execution.locals.affected_rows);
        // The tag of a write inside a block is provisional: only the end of its transaction tells the client that the write
        // holds. Every other answer depends on the data that the statement has read.
        if self.block != Block::Explicit || count > 0 || command == Command::Select {
            client.require(self.state.gate());
        }
        Ok(Some(tag_of(command, if command == Command::Select { count } else { affected })))
    }

    /// All rows of a running plan.
    fn gather_rows(&self, portal: &Portal, running: &mut Running, client: &mut dyn Client) -> Result<RowStore> {
        running.with_dependent_mut(|_, execution| {
            let mut run = Run::new(&self.state, client, &portal.parameters, &mut execution.locals);
            let limit_bytes = executor::work_memory_bytes(&self.state);
            let mut rows = RowStore::default();
            while execution.root.next(&mut run)? {
                rows.push(execution.root.row(), limit_bytes, &run)?;
            }
            rows.flush()?;
            Ok(rows)
        })
    }

    /// Gives the output of a utility statement to the client.
    fn give_output(
        &mut self,
        portal: &mut Portal,
        output: UtilityOutput,
        max_rows: u32,
        client: &mut dyn Client,
    ) -> Result<Option<String>> {
        client.require(self.state.gate());
        match output.rows {
            None => Ok(Some(output.tag)),
            // The client that bound the statement was told that it has no columns.
            Some(_) if portal.planned.as_ref().is_some_and(|planned| !planned.gives_rows()) => Ok(Some(output.tag)),
            Some(mut rows) => {
                rows.flush()?;
                self.give_rows(portal, Box::new(rows), 0, output.tag, max_rows, client)
            }
        }
    }

    /// Gives rows that have been made, `given` of which have been given. Of a part of them, the number in `tag`, if it has
    /// one, becomes that of the rows given now.
    fn give_rows(
        &mut self,
        portal: &mut Portal,
        rows: Box<RowStore>,
        given: usize,
        tag: String,
        max_rows: u32,
        client: &mut dyn Client,
    ) -> Result<Option<String>> {
        let planned = portal.planned.clone().ok_or_else(|| Error::internal("an empty portal runs"))?;
        let format = self.state.format();
        let catalog = self.state.catalog();
        let mut reader = StoreReader::default();
        let end = if max_rows == 0 { rows.len() } else { rows.len().min(given + max_rows as usize) };
        for index in given..end {
            client.row(&OutgoingRow {
                values: reader.read(&rows, index)?,
                columns: &planned.description.columns,
                formats: &portal.formats,
                format: &format,
                catalog: &catalog,
            })?;
            if client.wants_relief() {
                client.require(self.state.gate());
                client.relieve()?;
            }
        }
        // Whether there are more is found out by asking for them.
        let is_over = max_rows == 0 || end < given + max_rows as usize;
        let is_part = given > 0 || max_rows > 0;
        let answer = is_over.then(|| if is_part { with_count(&tag, end - given) } else { tag.clone() });
        portal.progress = Progress::Rows { rows, given: end, tag };
        Ok(answer)
    }
}

/// The tag of a statement that isn't a utility, for so many rows.
fn tag_of(command: Command, count: u64) -> String {
    match command {
        Command::Select => format_tag("SELECT ", count),
        Command::Insert => format_tag("INSERT 0 ", count),
        Command::Update => format_tag("UPDATE ", count),
        Command::Delete => format_tag("DELETE ", count),
        Command::Merge => format_tag("MERGE ", count),
        Command::Utility => String::new(),
    }
}

/// `tag` with this number of rows, if it has one.
fn with_count(tag: &str, count: usize) -> String {
    match tag.rsplit_once(' ') {
        Some((head, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => format!("{head} {count}"),
        _ => tag.to_owned(),
    }
}

fn format_tag(command: &str, count: u64) -> String {
    let mut tag = String::with_capacity(command.len() + 8);
    tag.push_str(command);
    tag.push_str(itoa::Buffer::new().format(count));
    tag
}
