//! The session as the host of its executions.

use std::sync::Arc;

use base::{Error, Oid, Result};
use plan::{Statement, VirtualTable};
use schema::catalog::{FunctionDef, IndexDef, TableDef};
use types::{CallTypes, RecordValue, SqlType, Value, ValueStream};

use crate::state::{SessionState, nested};
use crate::{catalogs, functions, plpgsql};
use executor::client::{Client, Severity};
use executor::{CursorPlace, ExecutionState, Host, Locals, OnRow, Run, TriggerCall, evaluate};

impl Host for SessionState {
    fn execution(&self) -> &ExecutionState {
        self
    }

    fn call(
        &self,
        run: &mut Run<'_, '_>,
        function: &Arc<FunctionDef>,
        types: &CallTypes,
        arguments: &[Value],
    ) -> Result<Value> {
        plpgsql::call(run, function, types, arguments)
    }

    fn call_set(
        &self,
        run: &mut Run<'_, '_>,
        function: &Arc<FunctionDef>,
        types: &CallTypes,
        arguments: &[Value],
    ) -> Result<Box<dyn ValueStream>> {
        plpgsql::call_set(run, function, types, arguments)
    }

    fn call_trigger(
        &self,
        run: &mut Run<'_, '_>,
        function: &Arc<FunctionDef>,
        call: &TriggerCall<'_>,
    ) -> Result<Option<Arc<RecordValue>>> {
        plpgsql::call_trigger(run, function, call)
    }

    fn session_function(&self, run: &mut Run<'_, '_>, function: Oid, arguments: &[Value]) -> Result<Value> {
        functions::call(run, function, arguments)
    }

    fn session_set_function(&self, run: &mut Run<'_, '_>, function: Oid, arguments: &[Value]) -> Result<Vec<Value>> {
        functions::call_set(run, function, arguments)
    }

    fn catalog_rows(
        &self,
        run: &mut Run<'_, '_>,
        table: &VirtualTable,
        equal: &[(usize, Value)],
    ) -> Result<Vec<Vec<Value>>> {
        catalogs::rows(run, table, equal)
    }

    fn check_domain(&self, run: &mut Run<'_, '_>, domain: Oid, value: &Value) -> Result<()> {
        let catalog = run.catalog.clone();
        planner::domain::check_domain(&catalog, domain, value, &mut |check| {
            self.require_all(&check.needed)?;
            let mut locals = Locals::for_expression();
            let mut run = run.with_locals(std::slice::from_ref(value), &mut locals);
            evaluate(&check.condition, &[], &mut run)
        })
    }

    fn run_text(
        &self,
        run: &mut Run<'_, '_>,
        text: &Arc<str>,
        types: &Arc<[SqlType]>,
        values: &[Value],
        on_row: &mut OnRow<'_>,
    ) -> Result<()> {
        let planned = nested::locked(self, || nested::plan_text(self, text, types))?;
        nested::run(run, &planned, values, on_row).map(drop)
    }

    fn index_column(&self, table: &Arc<TableDef>, index: &IndexDef, number: usize) -> Result<Option<String>> {
        crate::commands::definitions::index_column(self, table, index, number, true)
    }

    fn look_at_cursor(&self, name: &str, look: &mut dyn FnMut(&Statement, &CursorPlace)) -> bool {
        let cursors = self.cursors.borrow();
        let Some(open) = cursors.get(name) else { return false };
        look(&open.planned.statement, &open.place);
        true
    }

    fn notice(&self, severity: Severity, notice: &Error, client: &mut dyn Client) {
        SessionState::notice(self, severity, notice, client);
    }
}
