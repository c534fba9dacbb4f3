//! Expressions and statements of a function: planned once, run with the variables as parameters.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;

use base::{Error, Result, sqlstate};

use super::frame::Frame;
use super::tree::{Expression, ExpressionPlan, VariableKind};
use crate::binder::{Parameters, VariableConflict, VariableNames};
use crate::executor::{self, Due, Locals, Run};
use crate::plan::{Node, StatementKind};
use crate::session::planning::Environment;
use crate::session::{Nested, Planned, query_plan};
use crate::tree::{Name, Statement};
use crate::types::{SqlType, Value, oids};

/// The names that a function's variables have in its statements.
struct Names<'f> {
    frame: &'f Frame<'f>,
    /// Record fields met so far; parameters behind the variables.
    fields: RefCell<Vec<(usize, String, SqlType)>>,
}

impl VariableNames for Names<'_> {
    fn variable(&self, parts: &[Name]) -> Option<(u32, SqlType)> {
        let variables = &self.frame.function.variables;
        let find = |name: &str| {
            let is_value = |kind: &VariableKind| matches!(kind, VariableKind::Scalar(_) | VariableKind::Record(_));
            variables.iter().rposition(|variable| variable.name == name && is_value(&variable.kind))
        };
        match parts {
            [name] => {
                // `$1` is the first parameter, whatever it is called.
                let place = find(name).or_else(|| {
                    let number: usize = name.strip_prefix('$')?.parse().ok()?;
                    number.checked_sub(1).filter(|place| *place < self.frame.function.variables.len())
                })?;
                Some((place as u32, self.frame.type_of(place)))
            }
            [record, field] => {
                let place = find(record)?;
                let Value::Record(value) = &self.frame.values[place] else {
                    // The block's own label, or the function's name, in front of a variable.
                    return None;
                };
                let (_, sql_type) = value.shape.fields.iter().find(|(name, _)| name == field.as_str())?;
                let mut fields = self.fields.borrow_mut();
                let known = fields.iter().position(|(record, name, _)| *record == place && name == field.as_str());
                let index = known.unwrap_or_else(|| {
                    fields.push((place, field.to_string(), *sql_type));
                    fields.len() - 1
                });
                Some(((variables.len() + index) as u32, *sql_type))
            }
            _ => None,
        }
    }

    fn conflict(&self) -> VariableConflict {
        VariableConflict::Error
    }
}

/// A good plan for `expression`, and the parameters to run it with.
fn plan(expression: &Expression, frame: &Frame<'_>, run: &Run<'_, '_>) -> Result<ExpressionPlan> {
    let version = run.state.engine().catalog_version();
    if let Some(plan) = &*expression.plan.borrow()
        && plan.catalog_version == version
        && Arc::ptr_eq(&plan.planned.search_path, run.catalog.path_text())
        && plan.fields.iter().all(|(record, field, sql_type)| frame.field_type(*record, field) == Some(*sql_type))
    {
        return Ok(plan.clone());
    }
    let mut statements = if expression.is_statement {
        crate::parser::parse(&expression.text, crate::parser::ParseOptions::default())
    } else {
        crate::parser::parse_plpgsql_expression(&expression.text)
    }
    .map_err(|error| internal_position(error, &expression.text))?;
    let tree = statements.pop().ok_or_else(|| Error::new(sqlstate::SYNTAX_ERROR, "an expression is empty"))?;
    let names = Names { frame, fields: RefCell::default() };
    let types: Vec<SqlType> = (0..frame.function.variables.len()).map(|place| frame.type_of(place)).collect();
    let environment = Environment::new(run.state, &run.catalog).with_variables(&names);
    let mut statement = environment
        .plan(&expression.text, &tree.statement, Parameters::fixed(types))
        .map_err(|error| internal_position(error, &expression.text))?;
    statement.catalog_version = version;
    let planned = Arc::new(Planned::new(statement, Arc::clone(run.catalog.path_text()), &run.catalog));
    let plan = ExpressionPlan { planned, fields: names.fields.into_inner().into(), catalog_version: version };
    *expression.plan.borrow_mut() = Some(plan.clone());
    Ok(plan)
}

/// An error within a function's statement points into that statement, not into the one that called the function.
fn internal_position(mut error: Error, text: &str) -> Error {
    let fields = error.fields_mut();
    if let Some(position) = fields.position.take() {
        fields.internal_position = Some(position);
        fields.internal_query = Some(text.to_owned());
    }
    error
}

/// Runs `work` with the parameters of `plan`: the variables, and the record fields it reads.
fn with_parameters<T>(plan: &ExpressionPlan, frame: &Frame<'_>, work: impl FnOnce(&[Value]) -> Result<T>) -> Result<T> {
    if plan.fields.is_empty() {
        return work(&frame.values);
    }
    let mut parameters = frame.values.clone();
    for (record, field, _) in plan.fields.iter() {
        parameters.push(frame.field(*record, field)?);
    }
    work(&parameters)
}

/// The value of an expression, and its type.
///
/// # Errors
/// What it raises; 42601 if it does not give one column, 21000 if it gives several rows.
pub fn evaluate(expression: &Expression, frame: &Frame<'_>, run: &mut Run<'_, '_>) -> Result<(Value, SqlType)> {
    let plan = plan(expression, frame, run)?;
    let sql_type = match plan.planned.description.columns.as_slice() {
        [column] => column.sql_type,
        columns => {
            return Err(Error::new(
                sqlstate::SYNTAX_ERROR,
                format!("query \"{}\" returned {} columns", expression.text, columns.len()),
            ));
        }
    };
    let tree = query_plan(&plan.planned)?;
    // Without a table in it, an expression is worked out on the spot.
    if let Node::Result { exprs, condition: None } = &tree.node
        && plan.planned.statement.subquery_count == 0
    {
        let value = with_parameters(&plan, frame, |parameters| {
            let mut locals = Locals::new(&plan.planned.statement);
            let mut inner = run.with_locals(parameters, &mut locals);
            executor::evaluate(&exprs[0], &[], &mut inner)
        })?;
        return Ok((value, sql_type));
    }
    let mut value = None;
    run_plan(&plan, frame, run, &mut |_, row| {
        if value.is_some() {
            return Err(Error::new(
                sqlstate::CARDINALITY_VIOLATION,
                format!("query \"{}\" returned more than one row", expression.text),
            ));
        }
        value = Some(row[0].clone());
        Ok(ControlFlow::Continue(()))
    })
    .map_err(|error| error.context(format!("SQL expression \"{}\"", expression.text)))?;
    Ok((value.unwrap_or_default(), sql_type))
}

/// What is done with each row of a statement.
pub type OnRow<'f> = dyn FnMut(&mut Run<'_, '_>, &[Value]) -> Result<ControlFlow<()>> + 'f;

fn run_plan(plan: &ExpressionPlan, frame: &Frame<'_>, run: &mut Run<'_, '_>, on_row: &mut OnRow<'_>) -> Result<u64> {
    let state = run.state;
    if frame.function.is_volatile {
        state.engine().push_snapshot()?;
    }
    let first_check = state.next_check.get();
    let result = with_parameters(plan, frame, |parameters| Nested::run(run, &plan.planned, parameters, on_row))
        .and_then(|count| {
            executor::run_pending_checks(state, Due::Statement(first_check), &mut *run.client)?;
            Ok(count)
        });
    if frame.function.is_volatile {
        state.engine().pop_snapshot();
    }
    result
}

/// Runs a statement, giving its rows to `on_row`; what its columns are is told first. The number of rows.
///
/// # Errors
/// What it raises.
pub fn run_statement(
    expression: &Expression,
    frame: &Frame<'_>,
    run: &mut Run<'_, '_>,
    on_plan: &mut dyn FnMut(&Planned) -> Result<()>,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    let plan = plan(expression, frame, run)?;
    if let StatementKind::Utility(utility) = &plan.planned.statement.kind {
        if matches!(**utility, Statement::Transaction(_)) {
            return Err(Error::unsupported("unsupported transaction command in PL/pgSQL"));
        }
        return Err(Error::unsupported(format!(
            "utility statements in PL/pgSQL are not supported: \"{}\"",
            expression.text
        )));
    }
    on_plan(&plan.planned)?;
    run_plan(&plan, frame, run, on_row).map_err(|error| error.context(format!("SQL statement \"{}\"", expression.text)))
}

/// Runs a text made at run time with these parameters.
///
/// # Errors
/// What it raises.
pub fn run_dynamic(
    text: &str,
    parameters: &[(Value, SqlType)],
    frame: &Frame<'_>,
    run: &mut Run<'_, '_>,
    on_plan: &mut dyn FnMut(&Planned) -> Result<()>,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    let types: Arc<[SqlType]> = parameters
        .iter()
        .map(|(_, sql_type)| if sql_type.oid == oids::UNKNOWN { SqlType::TEXT } else { *sql_type })
        .collect();
    let values: Vec<Value> = parameters.iter().map(|(value, _)| value.clone()).collect();
    let state = run.state;
    let mut work = || -> Result<u64> {
        let planned = Nested::plan_text(state, &Arc::from(text), &types)?;
        if let StatementKind::Utility(utility) = &planned.statement.kind {
            if matches!(**utility, Statement::Transaction(_)) {
                return Err(Error::unsupported("EXECUTE of transaction commands is not implemented"));
            }
            return Err(Error::unsupported("EXECUTE of a utility statement is not supported"));
        }
        on_plan(&planned)?;
        if frame.function.is_volatile {
            state.engine().push_snapshot()?;
        }
        let first_check = state.next_check.get();
        let result = Nested::run(run, &planned, &values, on_row).and_then(|count| {
            executor::run_pending_checks(state, Due::Statement(first_check), &mut *run.client)?;
            Ok(count)
        });
        if frame.function.is_volatile {
            state.engine().pop_snapshot();
        }
        result
    };
    work().map_err(|error| internal_position(error, text).context(format!("SQL statement \"{text}\"")))
}
