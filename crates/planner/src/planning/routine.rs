//! Functions of users as their callers see them: their parameters, and whether a body gives what was declared.

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use schema::catalog::FunctionDef;
use syntax::tree::{ExprKind, Name, QueryBody, Statement};
use types::function_def::CallTypes;
use types::{Cast, CastContext, CatalogLookup, RecordShape, SqlType, is_polymorphic, oids};

use crate::binder::{VariableConflict, VariableNames};

/// A function with polymorphic arguments as it is for one call: they have the types of the call's arguments.
pub fn concrete(
    function: &Arc<FunctionDef>,
    types: &CallTypes,
    catalog: &dyn CatalogLookup,
) -> Option<Arc<FunctionDef>> {
    let is_polymorphic = types::is_polymorphic;
    if !function.arguments.iter().any(|argument| is_polymorphic(argument.type_oid)) {
        return None;
    }
    let mut definition = (**function).clone();
    // Each output's type is told by the inputs.
    let inputs = function.arguments.iter().filter(|argument| argument.mode.is_input());
    let (declared, passed): (Vec<Oid>, Vec<Oid>) =
        inputs.zip(&types.arguments).map(|(argument, given)| (argument.type_oid, given.oid)).unzip();
    for argument in definition.arguments.iter_mut().filter(|argument| is_polymorphic(argument.type_oid)) {
        if argument.mode.is_output()
            && !argument.mode.is_input()
            && let Ok((_, actual)) = types::resolve_polymorphic(catalog, &passed, &declared, argument.type_oid)
        {
            argument.type_oid = actual;
        }
    }
    let mut given = types.arguments.iter();
    for argument in &mut definition.arguments {
        let given = if argument.mode.is_input() { given.next() } else { None };
        if let Some(given) = given.filter(|_| is_polymorphic(argument.type_oid)) {
            argument.type_oid = given.oid;
        }
    }
    let outputs = definition.arguments.iter().filter(|argument| argument.mode.is_output()).count();
    for argument in &mut definition.arguments {
        if argument.mode.is_output() && is_polymorphic(argument.type_oid) && outputs == 1 {
            argument.type_oid = types.result.oid;
        }
    }
    if is_polymorphic(definition.returns) {
        definition.returns = types.result.oid;
    }
    Some(Arc::new(definition))
}

/// A function's parameters by name.
pub struct ParameterNames<'f>(pub &'f FunctionDef);

impl VariableNames for ParameterNames<'_> {
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

    fn row(&self, parts: &[Name]) -> Option<(u32, SqlType)> {
        self.variable(parts)
    }

    fn conflict(&self) -> VariableConflict {
        VariableConflict::UseColumn
    }
}

/// The types of the arguments that a call gives.
pub fn input_types(function: &FunctionDef) -> Vec<SqlType> {
    let inputs = function.arguments.iter().filter(|argument| argument.mode.is_input());
    inputs.map(|argument| SqlType::new(argument.type_oid)).collect()
}

/// The shape that OUT parameters, or a row type, give the result.
pub fn result_shape(function: &FunctionDef, view: &dyn CatalogLookup) -> Option<Arc<RecordShape>> {
    let outputs: Vec<(String, SqlType)> = function
        .arguments
        .iter()
        .filter(|argument| argument.mode.is_output())
        .map(|argument| (argument.name.clone().unwrap_or_default(), SqlType::new(argument.type_oid)))
        .collect();
    if outputs.len() > 1 {
        return Some(Arc::new(RecordShape::without_type(outputs)));
    }
    types::composite_shape(view, function.returns)
}

/// Whether the columns of the last statement can become the result. `columns` are those of a statement with a plan.
///
/// # Errors
/// 42P13 if they can't.
pub fn check_result(
    function: &FunctionDef,
    last: Option<&Statement>,
    columns: Option<&[(String, SqlType)]>,
    view: &dyn CatalogLookup,
) -> Result<()> {
    let returns = function.returns;
    if returns == oids::VOID {
        return Ok(());
    }
    let shown = |oid| types::format_type_name(view, oid);
    let mismatch = |detail: String| {
        let message = format!("return type mismatch in function declared to return {}", shown(returns));
        Err(Error::new(sqlstate::INVALID_FUNCTION_DEFINITION, message).detail(detail))
    };
    let is_select = matches!(last, Some(Statement::Select(_)));
    let columns = match columns {
        Some(columns) if is_select || !columns.is_empty() => columns,
        _ => {
            let detail = "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.";
            return mismatch(detail.to_owned());
        }
    };
    let fits = |source: SqlType, target: SqlType| {
        source.oid == target.oid || Cast::find(view, source, target, CastContext::Assignment).is_some()
    };
    let Some(wanted) = result_shape(function, view) else {
        if returns == oids::RECORD {
            return Ok(());
        }
        let base = types::base_type(view, SqlType::new(returns)).oid;
        if is_anonymous_row(function, columns) && types::composite_shape(view, base).is_some() {
            return require_written_row(returns, last, view);
        }
        return match columns {
            [(_, source)] if is_polymorphic(returns) || fits(*source, SqlType::new(returns)) => Ok(()),
            [(_, source)] => mismatch(format!("Actual return type is {}.", shown(source.oid))),
            _ => mismatch("Final statement must return exactly one column.".to_owned()),
        };
    };
    if let [(_, source)] = columns
        && returns != oids::RECORD
        && source.oid == returns
    {
        return Ok(());
    }
    if is_anonymous_row(function, columns) {
        return require_written_row(returns, last, view);
    }
    let wanted: Vec<SqlType> = wanted.fields.iter().map(|(_, sql_type)| *sql_type).collect();
    check_columns(function, columns, &wanted, view)
}

/// Whether a function that is to return a row of a type gives one column with anonymous rows. Their field types are known only when they exist.
pub fn is_anonymous_row(function: &FunctionDef, columns: &[(String, SqlType)]) -> bool {
    function.returns != oids::RECORD && matches!(columns, [(_, source)] if source.oid == oids::RECORD)
}

/// 42846 for anonymous rows that are not written as such in the query's list.
fn require_written_row(returns: Oid, last: Option<&Statement>, view: &dyn CatalogLookup) -> Result<()> {
    if let Some(Statement::Select(query)) = last
        && let QueryBody::Select(select) = &query.body
        && let [target] = &select.targets[..]
    {
        let mut expr = &target.expr;
        while let ExprKind::Cast { input, .. } = &expr.kind {
            expr = input;
        }
        if matches!(expr.kind, ExprKind::Row { .. }) {
            return Ok(());
        }
    }
    Err(types::cannot_cast(view, SqlType::new(oids::RECORD), SqlType::new(returns)))
}

/// Whether columns can become those of a row that is wanted.
///
/// # Errors
/// 42P13 if they can't.
pub fn check_columns(
    function: &FunctionDef,
    columns: &[(String, SqlType)],
    wanted: &[SqlType],
    view: &dyn CatalogLookup,
) -> Result<()> {
    let shown = |oid| types::format_type_name(view, oid);
    let mismatch = |detail: String| {
        let message = format!("return type mismatch in function declared to return {}", shown(function.returns));
        Err(Error::new(sqlstate::INVALID_FUNCTION_DEFINITION, message).detail(detail))
    };
    for (number, (_, source)) in columns.iter().enumerate() {
        let Some(target) = wanted.get(number) else {
            return mismatch("Final statement returns too many columns.".to_owned());
        };
        let fits = source.oid == target.oid || Cast::find(view, *source, *target, CastContext::Assignment).is_some();
        if !is_polymorphic(target.oid) && !fits {
            return mismatch(format!(
                "Final statement returns {} instead of {} at column {}.",
                shown(source.oid),
                shown(target.oid),
                number + 1
            ));
        }
    }
    if columns.len() < wanted.len() {
        return mismatch("Final statement returns too few columns.".to_owned());
    }
    Ok(())
}
