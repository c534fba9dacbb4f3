//! The types of `$1`, `$2`, ... in utility statements that have a query or a call in them, as clients prepare them: CALL,
//! DECLARE CURSOR, EXPLAIN, CREATE TABLE AS and SELECT INTO.

use base::{Error, Result};
use syntax::parser::character_position;
use syntax::tree::{ExprKind, FunctionCall, Statement};
use types::SqlType;

use crate::state::SessionState;
use crate::state::planning::Environment;
use planner::binder::{self, Parameters, procedure_call};

/// Returns the types of a statement's parameters; none for a statement that can't have parameters. `declared` has the types that are given.
///
/// # Errors
/// Errors of binding; 0A000 for a parameter in a materialized view.
pub fn parameter_types(
    state: &SessionState,
    text: &str,
    statement: &Statement,
    declared: &[SqlType],
) -> Result<Option<Vec<SqlType>>> {
    let inner = match statement {
        Statement::Explain(explain) => &explain.statement,
        Statement::Call(_) | Statement::DeclareCursor(_) | Statement::CreateTableAs(_) => statement,
        _ => return Ok(None),
    };
    let declared: Vec<_> = declared.iter().map(|sql_type| sql_type.oid).collect();
    let mut parameters = Parameters::declared(&declared);
    let view = state.catalog();
    let environment = Environment::new(state, &view);
    let mut infer = |statement: &Statement| {
        environment.with_context(text, |context| binder::bind(statement, context, &mut parameters)).map(drop)
    };
    match inner {
        Statement::Call(call) => infer_call(state, &environment, text, call, &mut parameters)?,
        Statement::DeclareCursor(declare) => infer(&Statement::Select(Box::new(declare.query.clone())))?,
        Statement::CreateTableAs(create) => {
            infer(&create.source)?;
            if create.materialized_view && !parameters.types().is_empty() {
                return Err(Error::unsupported("materialized views may not be defined using bound parameters"));
            }
        }
        query => infer(query)?,
    }
    // The statement is bound again when it runs, and gives its warnings then.
    state.warnings.forget();
    Ok(Some(parameters.types().to_vec()))
}

fn infer_call(
    state: &SessionState,
    environment: &Environment<'_>,
    text: &str,
    call: &FunctionCall,
    parameters: &mut Parameters,
) -> Result<()> {
    // An argument in the place of an OUT parameter is not computed, but it has the parameter's type.
    if let Ok(procedure) = super::procedure_named(state, call)
        && let Some(places) = super::argument_places(&procedure, call)
    {
        for (place, written) in places.iter().zip(&call.arguments) {
            let argument = &procedure.arguments[*place];
            if let (ExprKind::Parameter(number), false) = (&written.kind, argument.mode.is_input()) {
                parameters.expect(*number, SqlType::new(argument.type_oid), written.location)?;
            }
        }
    }
    let trimmed = super::without_outputs(state, call);
    let call = trimmed.as_ref().unwrap_or(call);
    environment.with_context(text, |context| procedure_call(context, call, parameters))?;
    parameters.check_all_known().map_err(|(error, location)| match character_position(text, location) {
        Some(position) => error.at(position),
        None => error,
    })
}
