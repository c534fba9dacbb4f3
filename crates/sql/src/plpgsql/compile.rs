//! From a definition to a [`Function`].

use std::sync::Arc;

use base::{Oid, Result, sqlstate};
use plan::CatalogView;
use plan::user_types::element_of_array;
use schema::catalog::{ArgumentMode, FunctionDef};
use types::reg_types::quote_identifier;
use types::{CatalogLookup, RecordShape, SqlType, oids};

use super::parse::Parser;
use super::records::{Named, with_records};
use super::tree::{Function, RowType, VariableKind};
use super::types_of::Declared;

/// Compiles a stored function.
///
/// # Errors
/// 42601 and its kin for a body that can't be parsed.
pub fn compile(function: &FunctionDef, is_trigger: bool, catalog: &CatalogView) -> Result<Function> {
    let type_name = |oid| types::format_type_name(catalog, oid);
    // The parser knows no types of users, no schemas, and takes no arrays of what it doesn't know.
    let read_as = |oid: Oid| match (element_of_array(oid), catalog.user_type(oid)) {
        (Some(_), _) => "text[]".to_owned(),
        (None, Some(user_type)) => quote_identifier(&user_type.name),
        (None, None) => type_name(oid),
    };
    let mut parameters = Vec::new();
    let mut columns = Vec::new();
    for argument in &function.arguments {
        let name = argument.name.as_deref().map(quote_identifier).unwrap_or_default();
        let mode = match argument.mode {
            ArgumentMode::In => "",
            ArgumentMode::Out => "OUT ",
            ArgumentMode::InOut => "INOUT ",
            // The parser knows no types, and so no arrays.
            ArgumentMode::Variadic => "",
            ArgumentMode::Table => {
                columns.push(format!("{name} {}", read_as(argument.type_oid)));
                continue;
            }
        };
        parameters.push(format!("{mode}{name} {}", read_as(argument.type_oid)));
    }
    let has_outputs =
        function.arguments.iter().any(|argument| !argument.mode.is_input() || argument.mode == ArgumentMode::InOut);
    let returns = if !columns.is_empty() {
        format!("RETURNS TABLE({})", columns.join(", "))
    } else if function.is_procedure() || has_outputs && !function.returns_set {
        String::new()
    } else {
        let set = if function.returns_set { "SETOF " } else { "" };
        format!("RETURNS {set}{}", read_as(function.returns))
    };
    let kind = if function.is_procedure() { "PROCEDURE" } else { "FUNCTION" };
    let body = readable_body(&function.body, catalog);
    let text = format!(
        "CREATE {kind} {}({}) {returns} AS {} LANGUAGE plpgsql",
        quote_identifier(&function.name),
        parameters.join(", "),
        quote_body(&body)
    );
    // One that is being made is not there yet, and nothing of it is called.
    let declared = catalog.user_function(function.oid);
    let signature = declared.map_or_else(
        || Arc::from(function.name.as_str()),
        |declared| Arc::from(types::reg_types::user_function_signature(catalog, &declared)),
    );
    let checked = check_text(&function.body, &text);
    let mut parser = Parser::new(&function.body, &function.name, catalog);
    for (number, argument) in function.arguments.iter().enumerate() {
        let kind = kind_of(SqlType::new(argument.type_oid), catalog);
        let place = parser.declare(argument.name.as_deref().unwrap_or_default(), kind);
        debug_assert_eq!(place, number);
        parser.alias(&format!("${}", number + 1), place);
    }
    let compiled = finish(parser, signature, |parser| {
        if is_trigger {
            super::trigger::declare(parser);
        }
    });
    let mut compiled = first_error(checked, compiled)?;
    compiled.outputs = function
        .arguments
        .iter()
        .enumerate()
        .filter(|(_, argument)| argument.mode.is_output())
        .map(|(number, _)| number)
        .collect();
    compiled.pure_outputs =
        compiled.outputs.iter().copied().filter(|number| !function.arguments[*number].mode.is_input()).collect();
    compiled.result = SqlType::new(function.returns);
    compiled.returns_set = function.returns_set;
    compiled.is_volatile = function.volatility == schema::catalog::Volatility::Volatile;
    compiled.shape = result_shape(function, &compiled, catalog);
    if compiled.shape.is_some() {
        compiled.row_types_version = Some(catalog.catalog().version());
    }
    Ok(compiled)
}

/// Compiles the body of DO.
///
/// # Errors
/// As [`compile`].
pub fn compile_block(body: &str, catalog: &CatalogView) -> Result<Function> {
    let readable = readable_body(body, catalog);
    let text =
        format!("CREATE FUNCTION inline_code_block() RETURNS void AS {} LANGUAGE plpgsql", quote_body(&readable));
    let checked = check_text(body, &text);
    first_error(
        checked,
        finish(Parser::new(body, "inline_code_block", catalog), Arc::from("inline_code_block"), |_| {}),
    )
}

/// The compiled function, if PostgreSQL's parser has nothing against it. That parser doesn't know which types there are: one that is missing
/// is noticed where it is named, which is before what is wrong with the statements.
fn first_error(checked: Result<()>, compiled: Result<Function>) -> Result<Function> {
    match (checked, compiled) {
        (Err(_), Err(missing)) if missing.sqlstate() == sqlstate::UNDEFINED_OBJECT => Err(missing),
        (Err(wrong), _) => Err(wrong),
        (Ok(()), compiled) => compiled,
    }
}

/// Reads the body, the parameters being known.
fn finish(mut parser: Parser<'_>, signature: Arc<str>, more: impl FnOnce(&mut Parser<'_>)) -> Result<Function> {
    let found = parser.declare("found", VariableKind::Scalar(SqlType::BOOL));
    more(&mut parser);
    let body = parser.function_body()?;
    let row_types_version = super::row_types::has_any(&parser.variables).then(|| parser.catalog.catalog().version());
    let holds_rows = super::row_types::may_hold_rows(&parser.variables, parser.catalog);
    Ok(Function {
        signature,
        scopes: parser.scopes,
        conflict: parser.conflict,
        warnings: parser.warnings,
        found,
        body,
        variables: parser.variables,
        outputs: Vec::new(),
        pure_outputs: Vec::new(),
        result: SqlType::new(oids::VOID),
        returns_set: false,
        shape: None,
        row_types_version,
        holds_rows,
        is_volatile: true,
    })
}

/// The body as PostgreSQL's parser understands it best.
fn readable_body(body: &str, catalog: &CatalogView) -> String {
    let of_column = |written: &str| match Parser::new(body, "", catalog).declared_type(written) {
        Ok(VariableKind::Record(Some(_))) => Named::Row,
        _ => Named::Other,
    };
    let what_is = |name: &str| match types::parse_type_name(catalog, name) {
        Ok(found) if types::composite_shape(catalog, types::base_type(catalog, found).oid).is_some() => Named::Row,
        Err(_) if name.contains('%') => of_column(name),
        Ok(found) if found.oid < Oid::FIRST_NORMAL => Named::BuiltIn,
        Ok(_) => Named::Scalar,
        Err(_) => Named::Other,
    };
    with_records(&super::return_names::with_expressions(body), what_is)
}

fn result_shape(function: &FunctionDef, compiled: &Function, catalog: &CatalogView) -> Option<Arc<RecordShape>> {
    if compiled.outputs.len() > 1 {
        let fields = compiled
            .outputs
            .iter()
            .map(|number| {
                let argument = &function.arguments[*number];
                (argument.name.clone().unwrap_or_default(), SqlType::new(argument.type_oid))
            })
            .collect();
        return Some(Arc::new(RecordShape::without_type(fields)));
    }
    types::composite_shape(catalog, function.returns)
}

fn quote_body(body: &str) -> String {
    let mut tag = String::from("$cohort$");
    while body.contains(&tag) {
        tag.insert(1, 'x');
    }
    format!("{tag}{body}{tag}")
}

/// The kind of a variable of this type.
pub fn kind_of(sql_type: SqlType, catalog: &CatalogView) -> VariableKind {
    if sql_type.oid == oids::RECORD {
        return VariableKind::Record(None);
    }
    let base = types::base_type(catalog, sql_type);
    match types::composite_shape(catalog, base.oid) {
        Some(shape) => {
            VariableKind::Record(Some(RowType { shape, domain: (base.oid != sql_type.oid).then_some(sql_type) }))
        }
        None => VariableKind::Scalar(sql_type),
    }
}

/// Has PostgreSQL's parser look at the text that was made of the body, for its errors. Their positions are those in that text,
/// which nobody has seen.
fn check_text(body: &str, text: &str) -> Result<()> {
    let checked = match syntax::parser::first_junk(body, true) {
        Some(junk) => Err(junk),
        None => syntax::parser::check_plpgsql(text),
    };
    checked.map_err(|mut error| {
        error.fields_mut().position = None;
        error
    })
}
