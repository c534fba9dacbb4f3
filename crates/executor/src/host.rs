//! The services that statements need from the session above the executor.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::Arc;

use base::{Error, Oid, Result};
use plan::{Statement, VirtualTable};
use schema::catalog::{FunctionDef, IndexDef, TableDef};
use types::{CallTypes, RecordValue, SqlType, Value, ValueStream};

use crate::Run;
use crate::client::{Client, Severity};
use crate::current_of::CursorPlace;
use crate::state::ExecutionState;
use crate::trigger::TriggerCall;

/// A function that is called with each row of a statement, until it says to stop.
pub type OnRow<'f> = dyn FnMut(&mut Run<'_, '_>, &[Value]) -> Result<ControlFlow<()>> + 'f;

/// A session, as the executor sees it: functions that users wrote, texts of statements, the catalogs and cursors lie above the executor.
///
/// A method that is given a [`Run`] is called by the execution that the run belongs to. It may run statements of its own.
pub trait Host: Any {
    /// The state that executions of the session share.
    fn execution(&self) -> &ExecutionState;

    /// Calls a stored function for its one value.
    ///
    /// # Errors
    /// Errors of the function.
    fn call(
        &self,
        run: &mut Run<'_, '_>,
        function: &Arc<FunctionDef>,
        types: &CallTypes,
        arguments: &[Value],
    ) -> Result<Value>;

    /// Calls a stored function for its set of values.
    ///
    /// # Errors
    /// Errors of the function.
    fn call_set(
        &self,
        run: &mut Run<'_, '_>,
        function: &Arc<FunctionDef>,
        types: &CallTypes,
        arguments: &[Value],
    ) -> Result<Box<dyn ValueStream>>;

    /// Calls a trigger function; the row that it returns.
    ///
    /// # Errors
    /// Errors of the function.
    fn call_trigger(
        &self,
        run: &mut Run<'_, '_>,
        function: &Arc<FunctionDef>,
        call: &TriggerCall<'_>,
    ) -> Result<Option<Arc<RecordValue>>>;

    /// Calls a function of the registry that the session answers.
    ///
    /// # Errors
    /// Errors of the function; 0A000 for a function without a body.
    fn session_function(&self, run: &mut Run<'_, '_>, function: Oid, arguments: &[Value]) -> Result<Value>;

    /// Calls a function of the registry that the session answers with a set.
    ///
    /// # Errors
    /// As [`Host::session_function`].
    fn session_set_function(&self, run: &mut Run<'_, '_>, function: Oid, arguments: &[Value]) -> Result<Vec<Value>>;

    /// The rows of a table that the server computes. Rows whose columns do not have the values in `equal` may be left out.
    ///
    /// # Errors
    /// 42501 and errors of what the table shows.
    fn catalog_rows(
        &self,
        run: &mut Run<'_, '_>,
        table: &VirtualTable,
        equal: &[(usize, Value)],
    ) -> Result<Vec<Vec<Value>>>;

    /// Fails if a value breaks a check of a domain.
    ///
    /// # Errors
    /// 23502 and 23514, and errors of the conditions.
    fn check_domain(&self, run: &mut Run<'_, '_>, domain: Oid, value: &Value) -> Result<()>;

    /// Plans a text that the server has written, locks its relations, and runs it. Each row is given to `on_row`.
    ///
    /// # Errors
    /// Errors of the statement.
    fn run_text(
        &self,
        run: &mut Run<'_, '_>,
        text: &Arc<str>,
        types: &Arc<[SqlType]>,
        values: &[Value],
        on_row: &mut OnRow<'_>,
    ) -> Result<()>;

    /// The text of a column of an index that is an expression, as `pg_get_indexdef` shows it.
    ///
    /// # Errors
    /// Errors of binding the expression.
    fn index_column(&self, table: &Arc<TableDef>, index: &IndexDef, number: usize) -> Result<Option<String>>;

    /// Calls `look` with the statement of an open cursor and the cursor's place; false if there is no such cursor.
    fn look_at_cursor(&self, name: &str, look: &mut dyn FnMut(&Statement, &CursorPlace)) -> bool;

    /// Tells the client something that is no error, if it wants to hear it.
    fn notice(&self, severity: Severity, notice: &Error, client: &mut dyn Client);
}
