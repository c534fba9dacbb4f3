//! The verbs of the extended protocol: Parse, Bind, Describe, Execute and Close.

use std::sync::Arc;

use base::{Error, Oid, Result, missing, sqlstate};
use syntax::tree;
use types::{SqlType, Value};

use super::portal::Ended;
use super::query_string::ParsedText;
use super::{Block, Portal, Progress, SqlSession};
use crate::commands::TopLevel;
use crate::state::{Planned, Prepared, input_plain, planning, prepared};
use executor::client::{Client, Formats};

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

impl SqlSession {
    pub(super) fn prepare(&mut self, name: &str, text: &str, types: &[Oid], client: &mut dyn Client) -> Result<()> {
        self.state.note_activity("PARSE");
        self.begin_work(text);
        self.start_timer();
        let met_before = self.state.gate();
        if name.is_empty() {
            self.unnamed_statement = None;
        }
        let (text, statements) = match self.parse_text(text)? {
            ParsedText::Whole((text, statements)) if statements.len() <= 1 => (text, statements),
            ParsedText::Whole(_) | ParsedText::Parts(_) => {
                let message = "cannot insert multiple commands into a prepared statement";
                return Err(Error::new(sqlstate::SYNTAX_ERROR, message));
            }
        };
        self.on_enough_stack(statements, |session, statements| {
            let tree = statements.first().cloned();
            if let Some(tree) = &tree {
                session.check_not_failed(Some(&tree.statement))?;
            }
            session.ensure_transaction()?;
            if let Some(tree) = &tree {
                session.make_cursor_for(&tree.statement)?;
                session.take_snapshot_to_bind(&tree.statement)?;
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
            session.require_for_plan(met_before, client);
            Ok(())
        })
    }

    /// The prepared statement of this name.
    ///
    /// # Errors
    /// 26000 if there is none.
    pub fn prepared(&self, name: &str) -> Result<Arc<Prepared>> {
        let found = if name.is_empty() {
            self.unnamed_statement.clone()
        } else {
            self.state.prepared.borrow().get(name).cloned()
        };
        found.ok_or_else(|| {
            if name.is_empty() {
                let message = "unnamed prepared statement does not exist";
                return Error::new(sqlstate::INVALID_SQL_STATEMENT_NAME, message);
            }
            missing::prepared_statement(name)
        })
    }

    /// The plan of a portal. FETCH and EXECUTE have the columns of the cursor, or of the prepared statement, that there is now: it need not be
    /// the one that there was when they were prepared.
    fn plan_of_portal(&self, prepared: &Prepared, tree: &tree::ParsedStatement) -> Result<Arc<Planned>> {
        match &tree.statement {
            tree::Statement::Fetch(_) | tree::Statement::Execute(_) => {
                prepared::plan_uncached(&self.state, &prepared.text, tree, &prepared.types)
            }
            _ => prepared.plan(&self.state),
        }
    }

    pub(super) fn make_portal(&mut self, portal: &str, prepared: Arc<Prepared>, input: BindInput<'_>) -> Result<()> {
        self.state.note_activity("BIND");
        self.state.note_bound_statement(&prepared.text);
        self.start_timer();
        let is_failed = self.block != Block::None && self.state.engine().transaction_failed();
        if !is_failed {
            self.ensure_transaction()?;
            if let Some(tree) = &prepared.tree {
                self.make_cursor_for(&tree.statement)?;
                self.take_snapshot_to_bind(&tree.statement)?;
            }
            if input.parameter_count > 0 {
                self.state.engine().take_transaction_snapshot()?;
            }
        }
        // Where the transaction has failed only its end can be bound, which has no plan to be made again.
        let planned = match &prepared.tree {
            None => None,
            Some(_) if is_failed => prepared.last_plan(),
            Some(tree) => Some(self.plan_of_portal(&prepared, tree)?),
        };
        let types = planned.as_ref().map_or(&*prepared.types, |planned| &planned.statement.parameters);
        check_counts(&prepared.name, &input, types.len())?;
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
        let planned = match planned {
            Some(planned) if !is_failed => Some(prepared.plan_for(&self.state, planned, &values)?),
            planned => planned,
        };
        let formats = input.result_formats?;
        if let Some(columns) = planned.as_ref().filter(|planned| planned.gives_rows()) {
            check_result_formats(&formats, columns.description.columns.len())?;
        }
        let bound_at = self.state.statement_timestamp.get();
        // FETCH finds the plan by the portal's name. Workers share plans, so their counters are dear to change: what has no name keeps none.
        let plan_to_find = planned.as_ref().filter(|_| !portal.is_empty()).cloned();
        let listed = self.state.portals.add(portal, plan_to_find, Arc::clone(&prepared.text), bound_at);
        let portal_made = Portal {
            planned,
            text: Arc::clone(&prepared.text),
            parameters: values,
            formats,
            progress: Progress::Ready,
            listed: Some(listed),
            prepared: Some(prepared),
            tree: None,
            depth: self.savepoints.len(),
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
        let Some(bytes) = bytes else {
            if sql_type.oid < Oid::FIRST_NORMAL {
                return Ok(Value::Null);
            }
            // A domain may refuse NULL.
            let mut context = planning::Environment::new(&self.state, &self.state.catalog()).eval_context();
            return types::null_input(&mut context, sql_type).map_err(|error| within("", error));
        };
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
            None => types::binary_parameter(&mut context, bytes, sql_type, index).map_err(|error| within("", error)),
        }
    }

    pub(super) fn portal_mut(&mut self, name: &str) -> Result<&mut Portal> {
        let found = if name.is_empty() { self.unnamed_portal.as_mut() } else { self.portals.get_mut(name) };
        found.ok_or_else(|| Error::new(sqlstate::INVALID_CURSOR_NAME, format!("portal \"{name}\" does not exist")))
    }

    /// Tells the client of a statement's parameters and columns.
    ///
    /// # Errors
    /// 26000 for an unknown statement.
    pub fn describe_statement(&mut self, name: &str, client: &mut dyn Client) -> Result<()> {
        self.start_timer();
        let met_before = self.state.gate();
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
        self.require_for_plan(met_before, client);
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
        // Nothing was met since Bind, which made the plan and whose answer leaves first.
        self.require_for_plan(self.state.gate(), client);
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

    pub(super) fn run_named_portal(&mut self, name: &str, max_rows: u32, client: &mut dyn Client) -> Result<()> {
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
        self.state.portals.set_running(portal.listed.as_ref());
        let goes_on = !matches!(portal.progress, Progress::Ready);
        self.note_execution(name, &portal, goes_on);
        let result = self.run_portal(name, &mut portal, max_rows, client);
        self.state.portals.set_running(None);
        let result = match result {
            Ok(ended) => {
                self.log_end_of_execute(name, &portal, goes_on);
                Ok(ended)
            }
            Err(error) => Err(self.with_parameters(error, name, &portal)),
        };
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
