//! Query strings that were planned before: their constants are lifted out, so that one plan serves all texts that differ in these.

use std::sync::Arc;

use base::{Error, Result};
use plan::StatementKind;
use syntax::parser::{Constant, if_readable};
use types::{SqlType, Value, oids};

use super::portal::{Portal, Progress};
use super::{Block, SqlSession};
use crate::state::plan_cache::{Key, Planned};
use crate::state::{RelationLocks, prepared, refuse_changes};
use executor::client::Client;

impl SqlSession {
    /// Runs a query string of one statement by a plan for its text without the constants. False if there can be none, or if the catalog
    /// has changed while locks were waited for: the text is then planned as it was written.
    pub(super) fn run_known(&mut self, text: &str, client: &mut dyn Client) -> Result<bool> {
        let Some((key_text, constants)) = syntax::parser::normalize(text) else { return Ok(false) };
        if self.block == Block::Explicit && self.state.engine().transaction_failed() {
            return Ok(false);
        }
        let types: Arc<[SqlType]> = constants.iter().map(|constant| constant.sql_type).collect();
        let key = Key { text: Arc::from(key_text.as_str()), types };
        let planned = match prepared::cached(&self.state, &key) {
            Some(planned) => planned,
            None => {
                let Some(planned) = self.plan_normalized(&key)? else { return Ok(false) };
                planned
            }
        };
        // Where the constants matter to the plan, it is made with them.
        if planned.statement.depends_on_values || reads_intervals(&planned.statement.parameters, &key.types) {
            return Ok(false);
        }
        // A constant may be the time at which the transaction began.
        self.ensure_transaction()?;
        let Some(parameters) = self.constants(constants, &planned.statement.parameters)? else { return Ok(false) };
        self.log_known(text, planned.statement.command);
        self.state.note_activity(planned.statement.command.name());
        self.state.tell_warnings(client);
        self.close_unnamed_portal();
        let mut portal = Portal { parameters, ..self.portal_of_string(Arc::clone(&planned), key.text, None) };
        let result = match self.lock_known(&planned) {
            Ok(true) => {
                portal.progress = Progress::Locked;
                self.run_with_description(&mut portal, true, client)
            }
            // The constants may have other types by now. The text is planned as it was written.
            Ok(false) => return Ok(false),
            Err(error) => Err(error),
        };
        let Err(error) = result else { return Ok(true) };
        let has_inlined = portal.planned.as_ref().is_some_and(|planned| planned.statement.has_inlined);
        self.keep_failed(portal);
        Err(if has_inlined { self.error_of_constants(text, error) } else { error })
    }

    /// Takes the locks of a plan that was found by its text. False if the catalog has changed since it was made.
    fn lock_known(&self, planned: &Planned) -> Result<bool> {
        refuse_changes(&self.state, &planned.statement)?;
        self.state.engine().take_transaction_snapshot()?;
        RelationLocks::default().take(&self.state, planned)
    }

    /// The error of a failed statement with its constants where they were written: one that can't be computed within
    /// the body of a function names the function. An interrupt's error when the session is interrupted meanwhile.
    fn error_of_constants(&self, text: &str, error: Error) -> Error {
        if !error.sqlstate().as_str().starts_with("22") {
            return error;
        }
        let mut statements = match syntax::parser::parse(text, self.state.parse_options()) {
            Ok(statements) => statements,
            Err(interruption) if syntax::parser::is_interruption(&interruption) => return interruption,
            Err(_) => return error,
        };
        let (Some(tree), true) = (statements.pop(), statements.is_empty()) else { return error };
        let environment = crate::state::planning::Environment::new(&self.state, &self.state.catalog());
        let planned = environment.plan(text, &tree.statement, planner::binder::Parameters::declared(&[]));
        self.state.warnings.forget();
        match planned {
            Err(found) if found.sqlstate() == error.sqlstate() || syntax::parser::is_interruption(&found) => found,
            _ => error,
        }
    }

    /// The constants of a text as the values of its parameters; `None` if one can't be read as such.
    ///
    /// # Errors
    /// 57014 and its kin when the session is interrupted meanwhile.
    fn constants(&self, constants: Vec<Constant>, types: &[SqlType]) -> Result<Option<Vec<Value>>> {
        let mut values = Vec::with_capacity(constants.len());
        for (constant, sql_type) in constants.into_iter().zip(types) {
            values.push(match &constant.value {
                _ if constant.sql_type.oid != oids::UNKNOWN => constant.value,
                Value::Text(text) => match crate::state::input_plain(text, *sql_type) {
                    Some(value) => value,
                    None => {
                        let environment = crate::state::planning::Environment::new(&self.state, &self.state.catalog());
                        let read = types::input(&mut environment.eval_context(), text, *sql_type);
                        let Some(value) = if_readable(read)? else { return Ok(None) };
                        value
                    }
                },
                _ => constant.value,
            });
        }
        Ok(Some(values))
    }

    /// Plans a text whose constants were lifted out; `None` if it can't be planned that way. The original text is
    /// then planned as it stands, and tells of errors in its own words.
    fn plan_normalized(&mut self, key: &Key) -> Result<Option<Arc<Planned>>> {
        let parsed = syntax::parser::parse(&key.text, syntax::parser::ParseOptions::default());
        let Some(mut statements) = if_readable(parsed)? else { return Ok(None) };
        let (Some(tree), true) = (statements.pop(), statements.is_empty()) else { return Ok(None) };
        let was_idle = self.block == Block::None;
        self.ensure_transaction()?;
        self.take_snapshot_to_bind(&tree.statement)?;
        // If it is wrong, the text is planned as it was written: then it waits for those who change its relations.
        match prepared::plan_without_waiting(&self.state, key, &tree) {
            Ok(planned)
                if is_as_declared(&planned.statement.parameters, &key.types)
                    && matches!(planned.statement.kind, StatementKind::Query(_)) =>
            {
                Ok(Some(planned))
            }
            Err(error) if syntax::parser::is_interruption(&error) => Err(error),
            _ => {
                if was_idle {
                    self.state.engine_mut().withdraw();
                    self.block = Block::None;
                }
                Ok(None)
            }
        }
    }
}

/// Whether a literal without a type became an interval: how that is read depends on the column it is for
/// (`'5'` as an `interval year`), which a parameter doesn't know.
fn reads_intervals(parameters: &[SqlType], declared: &[SqlType]) -> bool {
    let mut pairs = parameters.iter().zip(declared);
    pairs.any(|(parameter, declared)| parameter.oid == oids::INTERVAL && declared.oid == oids::UNKNOWN)
}

/// Whether parameters have the types they were given; those given as unknown have taken one.
fn is_as_declared(types: &[SqlType], declared: &[SqlType]) -> bool {
    types.len() == declared.len()
        && types
            .iter()
            .zip(declared)
            .all(|(sql_type, declared)| declared.oid == oids::UNKNOWN || sql_type.oid == declared.oid)
}
