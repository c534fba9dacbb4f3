//! Functions in SQL: the statements of a body, run one after the other; the last one's rows are the result.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::{Error, Result, sqlstate};
use engine::catalog::{FunctionDef, Volatility};

use crate::binder::VariableNames;
use crate::executor::{self, Run};
use crate::parser::{self, ParseOptions};
use crate::plan::StatementKind;
use crate::session::planning::Environment;
use crate::session::{Nested, Planned};
use crate::tree::Name;
use crate::types::{Cast, CastContext, RecordShape, RecordValue, SqlType, Value, oids};

/// A function's parameters by name.
struct Parameters<'f>(&'f FunctionDef);

impl VariableNames for Parameters<'_> {
    fn variable(&self, parts: &[Name]) -> Option<(u32, SqlType)> {
        let name = match parts {
            [name] => name,
            [function, name] if function.as_str() == self.0.name => name,
            _ => return None,
        };
        let mut inputs = self.0.arguments.iter().filter(|argument| argument.mode.is_input()).enumerate();
        inputs
            .find(|(_, argument)| argument.name.as_deref() == Some(name.as_str()))
            .map(|(number, argument)| (number as u32, SqlType::new(argument.type_oid)))
    }

    fn conflict(&self) -> crate::binder::VariableConflict {
        crate::binder::VariableConflict::UseColumn
    }
}

/// Runs the body: the values of the last statement's rows; only of the first, if `only_first`.
///
/// # Errors
/// What its statements raise, with the function in the context; 42P13 for a body that does not fit its result.
pub fn run(
    run: &mut Run<'_, '_>,
    function: &Arc<FunctionDef>,
    arguments: &[Value],
    only_first: bool,
) -> Result<Vec<Value>> {
    run.check_depth()?;
    let statements = parser::parse(&function.body, ParseOptions::default())?;
    let types: Vec<SqlType> = function
        .arguments
        .iter()
        .filter(|argument| argument.mode.is_input())
        .map(|argument| SqlType::new(argument.type_oid))
        .collect();
    let names = Parameters(function);
    let mut values = Vec::new();
    let count = statements.len();
    for (number, tree) in statements.iter().enumerate() {
        let in_context =
            |error: Error| error.context(format!("SQL function \"{}\" statement {}", function.name, number + 1));
        let environment = Environment::new(run.state, &run.catalog).with_variables(&names);
        let statement = environment
            .plan(&function.body, &tree.statement, crate::binder::Parameters::fixed(types.clone()))
            .map_err(in_context)?;
        if matches!(statement.kind, StatementKind::Utility(_)) {
            return Err(Error::unsupported("utility statements in SQL functions are not supported"));
        }
        let planned = Arc::new(Planned::new(statement, Arc::clone(run.catalog.path_text())));
        let is_last = number + 1 == count;
        let columns: Vec<(String, SqlType)> =
            planned.description.columns.iter().map(|column| (column.name.clone(), column.sql_type)).collect();
        let is_volatile = function.volatility == Volatility::Volatile;
        let state = run.state;
        if is_volatile {
            state.engine().push_snapshot()?;
        }
        let mut rows: Vec<Vec<Value>> = Vec::new();
        let result = Nested::run(run, &planned, arguments, &mut |_, row| {
            if is_last {
                rows.push(row.to_vec());
            }
            Ok(if is_last && only_first { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })
        .and_then(|_| executor::run_pending_checks(state, false, &mut *run.client));
        if is_volatile {
            state.engine().pop_snapshot();
        }
        result.map_err(in_context)?;
        if is_last && function.returns != oids::VOID {
            for row in rows {
                values.push(result_value(function, &columns, row, run)?);
            }
        }
    }
    if function.returns == oids::VOID && !function.returns_set {
        return Ok(vec![Value::Void]);
    }
    Ok(values)
}

/// One row as a value of the function's result.
fn result_value(
    function: &FunctionDef,
    columns: &[(String, SqlType)],
    row: Vec<Value>,
    run: &mut Run<'_, '_>,
) -> Result<Value> {
    let outputs: Vec<(String, SqlType)> = function
        .arguments
        .iter()
        .filter(|argument| argument.mode.is_output())
        .map(|argument| (argument.name.clone().unwrap_or_default(), SqlType::new(argument.type_oid)))
        .collect();
    let is_row = outputs.len() > 1 || function.returns == oids::RECORD || columns.len() > 1;
    if !is_row {
        let Some((_, source)) = columns.first() else {
            return Err(Error::new(
                sqlstate::INVALID_FUNCTION_DEFINITION,
                format!("return type mismatch in function declared to return {}", function.returns),
            ));
        };
        let value = row.into_iter().next().unwrap_or_default();
        let target = SqlType::new(function.returns);
        return match Cast::find(&run.catalog, *source, target, CastContext::Assignment) {
            Some(cast) if !cast.is_noop() => cast.apply(run, value),
            _ => Ok(value),
        };
    }
    let fields = if outputs.len() == columns.len() { outputs } else { columns.to_vec() };
    let shape = Arc::new(RecordShape { type_oid: oids::RECORD, fields });
    Ok(Value::Record(Arc::new(RecordValue { shape, fields: row })))
}
