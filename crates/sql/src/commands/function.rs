//! CREATE FUNCTION and PROCEDURE, ALTER FUNCTION, DO and CALL.

use std::sync::Arc;

use base::limits::ARGUMENTS_MAX;
use base::{Error, Oid, Result, missing, sqlstate};
use plan::privileges::Subject;
use plan::{CatalogView, Expr, OutputColumn};
use schema::catalog::{ArgumentDef, ArgumentMode, FunctionDef, FunctionKind, Parallel, Volatility};
use syntax::tree::{
    AlterFunction, CreateFunction, DefinitionElement, DefinitionValue, FunctionCall, FunctionParameter, Name,
    ObjectKind, ObjectName, ParameterMode, TypeName,
};
use types::{CallTypes, SqlType, TypeKind, Value, oids};

use super::ddl::{Ddl, without_position};
use super::dependencies::signature;
use super::drop::{hold_function, input_types};
use super::overloads::Callers;
use super::variables;
use crate::state::callbacks::no_blocks;
use crate::state::planning::Environment;
use crate::state::{CHANGE_LOCK, Language, SessionState, UtilityOutput};
use executor::{evaluate, run_pending_checks};
use planner::binder::{DefinitionUse, Parameters, procedure_call};
use planner::deparse::NoNames;

/// CREATE FUNCTION and CREATE PROCEDURE.
pub(super) fn create(ddl: &mut Ddl<'_>, create: &CreateFunction) -> Result<UtilityOutput> {
    let schema = ddl.object_schema(&create.name)?;
    if create.has_sql_body {
        return Err(Error::unsupported("SQL-standard function bodies are not supported"));
    }
    let arguments = arguments(ddl, create)?;
    let (returns, returns_set) = result_type(ddl, create, &arguments)?;
    check_polymorphic(ddl, &arguments, returns)?;
    let mut function = FunctionDef {
        arguments,
        returns,
        returns_set,
        language: String::new(),
        kind: if create.is_procedure { FunctionKind::Procedure } else { FunctionKind::Function },
        ..FunctionDef::new(ddl.allocate_oid(), schema, create.name.name.as_str(), ddl.owner())
    };
    apply_options(ddl, &mut function, &create.options, true)?;
    if let Some(language) = language_of(ddl.state, &function) {
        language.check_types(&function, &ddl.view())?;
    }
    let tag = if create.is_procedure { "CREATE PROCEDURE" } else { "CREATE FUNCTION" };
    ddl.engine().lock_name(schema, &function.name, false)?;
    let find = || {
        let catalog = ddl.catalog();
        let mut named = catalog.functions_named(schema, &function.name);
        Ok(named.find(|old| input_types(old) == input_types(&function)).cloned())
    };
    let old =
        if create.replace { ddl.find_held(CHANGE_LOCK, find, |old| old.as_ref().map(|old| old.oid))? } else { find()? };
    let mut made = function.clone();
    match old {
        Some(old) if create.replace => {
            require_owner(ddl, &old)?;
            check_replacement(ddl, &old, &function)?;
            made.oid = old.oid;
            made.owner = old.owner;
            made.comment.clone_from(&old.comment);
            let callers = Callers::find(ddl, schema, &made.name, Some(&old))?;
            ddl.replace(made.clone())?;
            callers.check(ddl, &made)?;
        }
        Some(_) => {
            let message = format!("function \"{}\" already exists with same argument types", function.name);
            return Err(Error::new(sqlstate::DUPLICATE_FUNCTION, message));
        }
        None => {
            let callers = Callers::find(ddl, schema, &made.name, None)?;
            ddl.create(made.clone())?;
            callers.check(ddl, &made)?;
        }
    }
    // A body may call the function itself.
    check_body(ddl, &function)?;
    Ok(UtilityOutput::tag(tag))
}

/// 42501 for who does not own the function that would be replaced.
fn require_owner(ddl: &Ddl<'_>, old: &FunctionDef) -> Result<()> {
    let catalog = ddl.catalog();
    match Subject::find(&catalog, old.oid) {
        // A procedure is called a function here, as in PostgreSQL.
        Some(subject) => {
            let described = format!("function {}", old.name);
            Subject { described, ..subject }.require_owner(&catalog, ddl.owner())
        }
        None => Err(Error::internal(format!("function {} is no subject of privileges", old.name))),
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(sqlstate::INVALID_FUNCTION_DEFINITION, message)
}

/// The type of a parameter or result, and whether it is a set of them.
fn type_of(ddl: &mut Ddl<'_>, name: &TypeName) -> Result<(Oid, bool)> {
    let bare = TypeName { setof: false, ..name.clone() };
    let sql_type = ddl.usable_type(&bare).map_err(without_position)?;
    if name.percent_type {
        let shown = types::format_type_name(&ddl.view(), sql_type.oid);
        ddl.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("type reference {}%TYPE converted to {shown}", name.name));
    }
    Ok((sql_type.oid, name.setof))
}

fn arguments(ddl: &mut Ddl<'_>, create: &CreateFunction) -> Result<Vec<ArgumentDef>> {
    if create.parameters.len() > ARGUMENTS_MAX {
        let what = if create.is_procedure { "procedures" } else { "functions" };
        let message = format!("{what} cannot have more than {ARGUMENTS_MAX} arguments");
        return Err(Error::new(sqlstate::TOO_MANY_ARGUMENTS, message));
    }
    let mut made: Vec<ArgumentDef> = Vec::with_capacity(create.parameters.len());
    let mut had_default = false;
    for parameter in &create.parameters {
        let (type_oid, is_set) = type_of(ddl, &parameter.type_name)?;
        if is_set {
            return Err(invalid(if create.is_procedure {
                "procedures cannot accept set arguments"
            } else {
                "functions cannot accept set arguments"
            }));
        }
        let mode = match parameter.mode {
            ParameterMode::In => ArgumentMode::In,
            ParameterMode::Out => ArgumentMode::Out,
            ParameterMode::InOut => ArgumentMode::InOut,
            ParameterMode::Variadic => ArgumentMode::Variadic,
            ParameterMode::Table => ArgumentMode::Table,
        };
        check_parameter(ddl, parameter, type_oid, mode, &made)?;
        let default = match &parameter.default {
            Some(_) if !mode.is_input() => {
                return Err(invalid("only input parameters can have default values"));
            }
            Some(expr) => {
                had_default = true;
                let bound = ddl.expression(None, expr, DefinitionUse::ParameterDefault(SqlType::new(type_oid)))?;
                Some(ddl.to_store(&bound, &NoNames)?)
            }
            None if had_default && mode.is_input() => {
                return Err(invalid("input parameters after one with a default value must also have defaults"));
            }
            None if had_default && create.is_procedure && mode == ArgumentMode::Out => {
                return Err(invalid("procedure OUT parameters cannot appear after one with a default value"));
            }
            None => None,
        };
        made.push(ArgumentDef { name: parameter.name.as_ref().map(ToString::to_string), type_oid, mode, default });
    }
    Ok(made)
}

fn check_parameter(
    ddl: &Ddl<'_>,
    parameter: &FunctionParameter,
    type_oid: Oid,
    mode: ArgumentMode,
    before: &[ArgumentDef],
) -> Result<()> {
    let has_variadic = before.iter().any(|other| other.mode == ArgumentMode::Variadic);
    if has_variadic && mode.is_input() {
        return Err(invalid("VARIADIC parameter must be the last input parameter"));
    }
    if mode == ArgumentMode::Variadic {
        let shape = types::type_shape(&ddl.view(), type_oid).map(|shape| shape.kind);
        if !matches!(shape, Some(TypeKind::Array(_))) && !matches!(type_oid, oids::ANYARRAY | oids::ANY) {
            return Err(invalid("VARIADIC parameter must be an array"));
        }
    }
    if let Some(name) = &parameter.name {
        // A name may serve once on the way in and once on the way out.
        let is_pure_in = |mode| matches!(mode, ArgumentMode::In | ArgumentMode::Variadic);
        let is_pure_out = |mode| matches!(mode, ArgumentMode::Out | ArgumentMode::Table);
        let clashes = before.iter().any(|other| {
            other.name.as_deref() == Some(name)
                && !(is_pure_in(mode) && is_pure_out(other.mode))
                && !(is_pure_out(mode) && is_pure_in(other.mode))
        });
        if clashes {
            return Err(invalid(format!("parameter name \"{name}\" used more than once")));
        }
    }
    Ok(())
}

/// Returns the function's result type, as RETURNS or the OUT parameters give it, and whether the function returns a set.
fn result_type(ddl: &mut Ddl<'_>, create: &CreateFunction, arguments: &[ArgumentDef]) -> Result<(Oid, bool)> {
    let outputs: Vec<&ArgumentDef> = arguments
        .iter()
        .filter(|argument| matches!(argument.mode, ArgumentMode::Out | ArgumentMode::InOut | ArgumentMode::Table))
        .collect();
    let by_outputs = match outputs.as_slice() {
        [] => None,
        [only] if !create.is_procedure => Some(only.type_oid),
        _ => Some(oids::RECORD),
    };
    if create.is_procedure {
        return Ok((by_outputs.unwrap_or(oids::VOID), false));
    }
    match (&create.returns, by_outputs) {
        (Some(name), by_outputs) => {
            let (oid, is_set) = type_of(ddl, name)?;
            if let Some(required) = by_outputs
                && required != oid
            {
                let shown = types::format_type_name(&ddl.view(), required);
                return Err(invalid(format!("function result type must be {shown} because of OUT parameters")));
            }
            Ok((oid, is_set))
        }
        (None, Some(oid)) => Ok((oid, false)),
        (None, None) => Err(invalid("function result type must be specified")),
    }
}

/// Refuses a polymorphic result that no argument tells the type of.
///
/// # Errors
/// 42P13
fn check_polymorphic(ddl: &mut Ddl<'_>, arguments: &[ArgumentDef], returns: Oid) -> Result<()> {
    let is_compatible = |oid: Oid| types::format_type_name(&ddl.view(), oid).starts_with("anycompatible");
    let outputs = arguments.iter().filter(|argument| argument.mode.is_output()).map(|argument| argument.type_oid);
    for result in outputs.chain([returns]).filter(|oid| types::is_polymorphic(*oid)) {
        let tells = |argument: &ArgumentDef| {
            let oid = argument.type_oid;
            argument.mode.is_input() && types::is_polymorphic(oid) && is_compatible(oid) == is_compatible(result)
        };
        if arguments.iter().any(tells) {
            continue;
        }
        let shown = types::format_type_name(&ddl.view(), result);
        let inputs = if is_compatible(result) {
            "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or anycompatiblemultirange"
        } else {
            "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange"
        };
        let detail = format!("A result of type {shown} requires at least one input of type {inputs}.");
        return Err(invalid("cannot determine result data type").detail(detail));
    }
    Ok(())
}

fn apply_options(ddl: &Ddl<'_>, function: &mut FunctionDef, options: &[DefinitionElement], is_new: bool) -> Result<()> {
    let (mut language, mut body) = (None, None);
    for (number, option) in options.iter().enumerate() {
        if option.name != "set" && options[..number].iter().any(|other| other.name == option.name) {
            let error = Error::new(sqlstate::SYNTAX_ERROR, "conflicting or redundant options");
            return Err(ddl.at(error, option.location));
        }
        let name = option.name.as_str();
        if function.is_procedure() && OF_FUNCTIONS_ALONE.contains(&name) {
            return Err(ddl.at(invalid("invalid attribute in procedure definition"), option.location));
        }
        match name {
            "language" => language = option.text(),
            "as" => body = Some(body_of(option)?),
            "volatility" => {
                function.volatility = match option.text().as_deref() {
                    Some("immutable") => Volatility::Immutable,
                    Some("stable") => Volatility::Stable,
                    _ => Volatility::Volatile,
                };
            }
            "strict" => function.strict = option.boolean().unwrap_or(true),
            "security" => function.security_definer = option.boolean().unwrap_or(true),
            "set" => {
                if let Some(DefinitionValue::Set(set)) = &option.value {
                    variables::change_kept(ddl.state, &mut function.settings, set)?;
                }
            }
            "cost" => function.cost = Some(positive(option, "COST")?),
            "rows" => function.rows = Some(positive(option, "ROWS")?),
            "leakproof" => function.leakproof = option.boolean().unwrap_or(true),
            "parallel" => {
                function.parallel = match option.text().as_deref() {
                    Some("safe") => Parallel::Safe,
                    Some("restricted") => Parallel::Restricted,
                    Some("unsafe") => Parallel::Unsafe,
                    _ => {
                        let message = "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE";
                        return Err(Error::new(sqlstate::SYNTAX_ERROR, message));
                    }
                };
            }
            "support" => {}
            "window" => return Err(Error::unsupported("window functions in this form are not supported")),
            "transform" => return Err(Error::unsupported("TRANSFORM is not supported")),
            other => {
                return Err(Error::new(sqlstate::SYNTAX_ERROR, format!("option \"{other}\" not recognized")));
            }
        }
    }
    if !is_new {
        return check_attributes(ddl, function, options);
    }
    let language = language.ok_or_else(|| invalid("no language specified"))?.to_ascii_lowercase();
    match language.as_str() {
        "plpgsql" | "sql" => function.language = language,
        "c" | "internal" => {
            return Err(Error::unsupported(format!("functions in language {language} are not supported")));
        }
        other => {
            return Err(missing::language(other));
        }
    }
    function.body = body.ok_or_else(|| invalid("no function body specified"))?;
    check_attributes(ddl, function, options)
}

/// Options that procedures don't have.
const OF_FUNCTIONS_ALONE: [&str; 8] =
    ["volatility", "strict", "leakproof", "cost", "rows", "support", "parallel", "window"];

/// Does the checks of a function's attributes that need all of them to be known.
fn check_attributes(ddl: &Ddl<'_>, function: &FunctionDef, options: &[DefinitionElement]) -> Result<()> {
    let makes_leakproof = function.leakproof && options.iter().any(|option| option.name == "leakproof");
    if makes_leakproof && !ddl.state.is_superuser() {
        let message = "only superuser can define a leakproof function";
        return Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message));
    }
    if function.rows.is_some() && !function.returns_set {
        let message = "ROWS is not applicable when function does not return a set";
        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    Ok(())
}

/// A number above zero.
fn positive(option: &DefinitionElement, what: &str) -> Result<f32> {
    let number = option.text().and_then(|text| text.parse::<f32>().ok());
    number
        .filter(|number| *number > 0.0)
        .ok_or_else(|| Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("{what} must be positive")))
}

fn body_of(option: &DefinitionElement) -> Result<String> {
    match &option.value {
        Some(DefinitionValue::Names(parts)) => match parts.as_slice() {
            [body] => Ok(body.to_string()),
            _ => Err(invalid("only one AS item needed for this language")),
        },
        _ => Ok(option.text().unwrap_or_default()),
    }
}

/// Checks what can be known of a body before it runs, under the settings that the function's SET clauses give it, unless
/// `check_function_bodies` is off. Characteristics of the transaction would outlast the check.
fn check_body(ddl: &mut Ddl<'_>, function: &FunctionDef) -> Result<()> {
    let state = ddl.state;
    let is_off = || state.settings.borrow().show("check_function_bodies").is_some_and(|value| value == "off");
    if is_off() {
        return Ok(());
    }
    let mut settings = function.settings.iter().filter(|(name, _)| !name.starts_with("transaction_")).peekable();
    if settings.peek().is_none() {
        return check_text(ddl, function);
    }
    state.settings.borrow_mut().push_level();
    let local = base::settings::Change::Local;
    let checked = settings
        .try_for_each(|(name, value)| crate::state::settings::set(state, name, value, local, ddl.client))
        .and_then(|()| if is_off() { Ok(()) } else { check_text(ddl, function) });
    state.roll_back_settings();
    checked
}

fn check_text(ddl: &Ddl<'_>, function: &FunctionDef) -> Result<()> {
    let Some(language) = language_of(ddl.state, function) else { return Ok(()) };
    let warnings = language
        .check_body(ddl.state, &ddl.view(), function)
        .map_err(|error| pointing_into(ddl.text, &function.body, error))?;
    warnings.into_iter().for_each(|warning| ddl.state.warnings.add(warning));
    Ok(())
}

fn language_of(state: &SessionState, function: &FunctionDef) -> Option<&'static dyn Language> {
    state.instance.callbacks.language(&function.language)
}

/// An error that points into a body, pointing into the statement that holds it instead, if that is plainly to be found there.
fn pointing_into(text: &str, body: &str, mut error: Error) -> Error {
    let is_quoted = |start: usize| {
        let before = text[..start].chars().next_back();
        let after = text[start + body.len()..].chars().next();
        before == after && matches!(before, Some('\'' | '$'))
    };
    let mut places = text.match_indices(body).map(|(start, _)| start).filter(|start| is_quoted(*start));
    if let (Some(start), None) = (places.next(), places.next()) {
        let fields = error.fields_mut();
        if let Some(position) = fields.internal_position.take() {
            fields.position = Some(position + text[..start].chars().count() as u32);
            fields.internal_query = None;
        }
    }
    error
}

/// Refuses changes that CREATE OR REPLACE may not make.
fn check_replacement(ddl: &Ddl<'_>, old: &FunctionDef, new: &FunctionDef) -> Result<()> {
    if old.kind != new.kind {
        let what = if old.kind == FunctionKind::Procedure { "procedure" } else { "function" };
        return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, "cannot change routine kind")
            .detail(format!("\"{}\" is a {what}.", old.name)));
    }
    let words = if old.kind == FunctionKind::Procedure { "PROCEDURE" } else { "FUNCTION" };
    let hint = format!("Use DROP {words} {} first.", signature(&ddl.view(), old));
    if old.returns != new.returns || old.returns_set != new.returns_set {
        return Err(invalid(if old.kind == FunctionKind::Procedure {
            "cannot change whether a procedure has output parameters"
        } else {
            "cannot change return type of existing function"
        })
        .hint(hint));
    }
    let outputs = |function: &FunctionDef| -> Vec<(Option<String>, Oid)> {
        let outputs = function
            .arguments
            .iter()
            .filter(|argument| matches!(argument.mode, ArgumentMode::Out | ArgumentMode::InOut | ArgumentMode::Table));
        outputs.map(|argument| (argument.name.clone(), argument.type_oid)).collect()
    };
    if old.returns == oids::RECORD && outputs(old) != outputs(new) {
        return Err(invalid("cannot change return type of existing function")
            .detail("Row type defined by OUT parameters is different.")
            .hint(hint));
    }
    let inputs = |function: &FunctionDef| -> Vec<ArgumentDef> {
        function.arguments.iter().filter(|argument| argument.mode.is_input()).cloned().collect()
    };
    let (before, after) = (inputs(old), inputs(new));
    for (before, after) in before.iter().zip(&after) {
        if let Some(name) = &before.name
            && before.name != after.name
        {
            return Err(invalid(format!("cannot change name of input parameter \"{name}\"")).hint(hint));
        }
    }
    let defaults = |arguments: &[ArgumentDef]| arguments.iter().filter(|argument| argument.default.is_some()).count();
    if defaults(&after) < defaults(&before) {
        return Err(invalid("cannot remove parameter defaults from existing function").hint(hint));
    }
    Ok(())
}

/// ALTER FUNCTION and ALTER PROCEDURE, options only.
pub(super) fn alter(ddl: &Ddl<'_>, alter: &AlterFunction) -> Result<UtilityOutput> {
    let (kind, tag) = if alter.is_procedure {
        (ObjectKind::Procedure, "ALTER PROCEDURE")
    } else {
        (ObjectKind::Function, "ALTER FUNCTION")
    };
    let object =
        ObjectName { kind, name: alter.function.name.clone(), part: None, arguments: alter.function.arguments.clone() };
    let mut function = (*hold_function(ddl, &object, CHANGE_LOCK)?).clone();
    apply_options(ddl, &mut function, &alter.options, false)?;
    ddl.replace(function)?;
    Ok(UtilityOutput::tag(tag))
}

/// DO.
pub(super) fn run_block(ddl: &mut Ddl<'_>, language: Option<&Name>, body: &str) -> Result<UtilityOutput> {
    let name = language.map_or_else(|| "plpgsql".to_owned(), |language| language.to_ascii_lowercase());
    let Some(language) = ddl.state.instance.callbacks.language(&name) else {
        return Err(match name.as_str() {
            "c" | "internal" => no_blocks(&name),
            _ => missing::language(name),
        });
    };
    let (state, may_end_transaction) = (ddl.state, ddl.may_end_transaction);
    let result = as_statement(ddl, |ddl| {
        state.may_end_transaction.set(may_end_transaction);
        ddl.with_run(|run| language.run_block(run, body))
    });
    state.may_end_transaction.set(false);
    result?;
    Ok(UtilityOutput::tag("DO"))
}

/// Runs `work` under a statement's snapshot, and the checks of constraints that wait for the statement's end.
fn as_statement<T>(ddl: &mut Ddl<'_>, work: impl FnOnce(&mut Ddl<'_>) -> Result<T>) -> Result<T> {
    // A statement around it has checks that wait for its own end.
    let due = executor::Due::Statement(ddl.state.next_check.get());
    ddl.engine().push_snapshot()?;
    let result = work(ddl);
    let result = result.and_then(|value| run_pending_checks(ddl.state, due, ddl.client).map(|()| value));
    ddl.engine().pop_snapshot();
    result
}

/// The procedure of a CALL and its arguments.
fn resolve(
    state: &SessionState,
    text: &str,
    call: &FunctionCall,
    parameters: &[SqlType],
) -> Result<(Arc<FunctionDef>, Vec<Expr>)> {
    let trimmed = super::without_outputs(state, call);
    let call = trimmed.as_ref().unwrap_or(call);
    Environment::new(state, &state.catalog())
        .with_rights(text, |context| procedure_call(context, call, &mut Parameters::fixed(parameters.to_vec())))
}

/// The columns of a CALL. The arguments tell the types of polymorphic outputs.
fn outputs(state: &SessionState, function: &Arc<FunctionDef>, call: &CallTypes) -> Vec<OutputColumn> {
    let concrete = planner::routine::concrete(function, call, &state.catalog());
    concrete
        .as_ref()
        .unwrap_or(function)
        .arguments
        .iter()
        .enumerate()
        .filter(|(_, argument)| matches!(argument.mode, ArgumentMode::Out | ArgumentMode::InOut))
        .map(|(number, argument)| OutputColumn {
            name: argument.name.as_deref().map_or_else(|| Name::from(format!("column{}", number + 1)), Name::from),
            sql_type: SqlType::new(argument.type_oid),
            table: Oid::INVALID,
            attribute: 0,
        })
        .collect()
}

/// The columns that a CALL gives: the procedure's outputs.
pub(super) fn columns_of_call(
    state: &SessionState,
    text: &str,
    call: &FunctionCall,
    parameters: &[SqlType],
) -> Result<Vec<OutputColumn>> {
    let (function, arguments) = resolve(state, text, call, parameters)?;
    Ok(outputs(state, &function, &call_types(&function, &arguments)))
}

fn call_types(function: &FunctionDef, arguments: &[Expr]) -> CallTypes {
    CallTypes::new(arguments.iter().map(|argument| argument.sql_type), SqlType::new(function.returns))
}

/// Whether the only output is itself a row.
fn gives_one_row_value(view: &CatalogView, columns: &[OutputColumn]) -> bool {
    let [column] = columns else { return false };
    let base = types::base_type(view, column.sql_type).oid;
    base == oids::RECORD || types::composite_shape(view, base).is_some()
}

/// CALL.
pub(super) fn call(
    ddl: &mut Ddl<'_>,
    call: &FunctionCall,
    parameters: &[Value],
    types: &[SqlType],
) -> Result<UtilityOutput> {
    let (function, arguments) = resolve(ddl.state, ddl.text, call, types)?;
    ddl.state.require_call(&function)?;
    let call_types = call_types(&function, &arguments);
    let (state, may_end_transaction) = (ddl.state, ddl.may_end_transaction);
    let result = as_statement(ddl, |ddl| {
        ddl.with_run(|run| {
            let mut locals = executor::Locals::for_expression();
            let mut inner = run.with_locals(parameters, &mut locals);
            let values =
                arguments.iter().map(|argument| evaluate(argument, &[], &mut inner)).collect::<Result<Vec<_>>>()?;
            state.may_end_transaction.set(may_end_transaction);
            inner.host.call(&mut inner, &function, &call_types, &values)
        })
    });
    state.may_end_transaction.set(false);
    let result = result?;
    let columns = outputs(ddl.state, &function, &call_types);
    let row = match result {
        _ if columns.is_empty() => return Ok(UtilityOutput::tag("CALL")),
        Value::Void => vec![Value::Null; columns.len()],
        value if gives_one_row_value(&ddl.view(), &columns) => vec![value],
        Value::Record(record) => record.fields.clone(),
        Value::Null => vec![Value::Null; columns.len()],
        value => vec![value],
    };
    Ok(UtilityOutput::few("CALL", vec![row]))
}
