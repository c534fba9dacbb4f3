//! Definitions as SQL: `pg_get_indexdef` and its kin.

use std::fmt::Write;
use std::sync::Arc;

use base::{Oid, Result};
use plan::split_names;
use schema::catalog::{ArgumentDef, ArgumentMode, FunctionDef, Parallel, RelationKind, TableDef, Volatility};
use types::reg_types::quote_identifier;
use types::{Value, format_type_name};

use super::{Bodies, Found, boolean, integer, oid, relation, relation_named, text};
use crate::catalogs;
use crate::commands::definitions;
use crate::commands::definitions::StoredAs;
use crate::state::session_of;
use crate::system_tables::rule_oid;
use executor::Run;

pub(super) const FUNCTIONS: Bodies = &[
    (1643, |run, args| Ok(index_definition(run, oid(args, 0)?, false)?.into())),
    (2507, index_part),
    (1387, constraint),
    (2508, constraint),
    (1716, expression),
    (2509, expression),
    (1640, view_named),
    (2505, view_named),
    (1641, |run, args| Ok(view_definition(run, oid(args, 0)?, false)?.into())),
    (2506, |run, args| Ok(view_definition(run, oid(args, 0)?, is_pretty(args, 1))?.into())),
    (3159, |run, args| Ok(view_definition(run, oid(args, 0)?, true)?.into())),
    (1573, rule),
    (2504, rule),
    (1662, trigger),
    (2730, trigger),
    (2098, function),
    (2162, |run, args| Ok(of_function(run, args, |run, def| arguments(run, def, true))?.into())),
    (2232, |run, args| Ok(of_function(run, args, |run, def| arguments(run, def, false))?.into())),
    (2165, |run, args| Ok(of_function(run, args, result)?.into())),
    (6197, |_, _| Ok(Value::Null)),
    (3808, argument_default),
    (3352, |_, _| Ok(Value::Null)),
    (3408, |_, _| Ok(Value::Null)),
    (3415, |_, _| Ok(Value::Null)),
    (6174, |_, _| Ok(Value::Null)),
];

/// An index's definition; `None` for what is no index.
///
/// # Errors
/// Interrupts (57014, fatal errors) and 53200. Stored expressions that can't be read any more are shown as they are stored.
fn index_definition(run: &Run<'_, '_>, index: Oid, pretty: bool) -> Result<Option<String>> {
    let index = run.catalog.catalog().index(index).cloned();
    index.map(|index| definitions::index_definition(session_of(run), &index, pretty)).transpose()
}

/// A view's query; `None` for what is no view.
///
/// # Errors
/// Interrupts (57014, fatal errors) and 53200.
fn view_definition(run: &Run<'_, '_>, view: Oid, pretty: bool) -> Result<Option<String>> {
    let catalog = run.catalog.catalog();
    catalog.table(view).map_or(Ok(None), |table| definitions::view_definition(session_of(run), table, pretty))
}

fn view_named(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let view = relation_named(run, text(args, 0)?)?;
    Ok(view_definition(run, view, is_pretty(args, 1))?.unwrap_or_else(|| "Not a view".to_owned()).into())
}

/// Whether the last argument, if it is given, asks for few parentheses.
fn is_pretty(args: &[Value], place: usize) -> bool {
    matches!(args.get(place), Some(Value::Bool(true)))
}

/// One column of an index, or all of it for column 0.
fn index_part(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let index = oid(args, 0)?;
    let (column, pretty) = (integer(args, 1)?, boolean(args, 2)?);
    if column == 0 {
        return Ok(index_definition(run, index, pretty)?.into());
    }
    let catalog = Arc::clone(run.catalog.catalog());
    let Some(index) = catalog.index(index) else { return Ok(Value::Null) };
    let Some(table) = catalog.table(index.table) else { return Ok(Value::Null) };
    let count = index.keys.len() + index.included.len();
    let part = match usize::try_from(column - 1) {
        Ok(place) if place < count => definitions::index_column(session_of(run), table, index, place, pretty)?,
        _ => None,
    };
    // PostgreSQL's answer for a column that is not there is empty, not NULL.
    Ok(Value::from(part.unwrap_or_default()))
}

fn constraint(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let wanted = oid(args, 0)?;
    let pretty = is_pretty(args, 1);
    let catalog = Arc::clone(run.catalog.catalog());
    for table in catalog.tables() {
        if let Some(constraint) = table.constraints.iter().find(|constraint| constraint.oid == wanted) {
            return Ok(definitions::constraint_definition(session_of(run), table, constraint, pretty)?.into());
        }
        if let Some(def) = table.triggers.iter().find(|def| def.is_constraint && def.oid == wanted) {
            let deferrable = if def.deferrable { " DEFERRABLE" } else { "" };
            let deferred = if def.initially_deferred { " INITIALLY DEFERRED" } else { "" };
            return Ok(Value::text(format!("TRIGGER{deferrable}{deferred}")));
        }
    }
    let Some((check, base)) = plan::user_types::check_by_number(&catalog, wanted) else {
        return Ok(Value::Null);
    };
    let text = definitions::domain_check_clause(session_of(run), &check.expression, base, pretty)?;
    Ok(Value::text(if check.validated { text } else { text + " NOT VALID" }))
}

fn trigger(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let wanted = oid(args, 0)?;
    let catalog = Arc::clone(run.catalog.catalog());
    for table in catalog.tables() {
        if let Some(def) = table.triggers.iter().find(|def| def.oid == wanted) {
            let text =
                crate::commands::trigger::definition(session_of(run), &run.catalog, table, def, is_pretty(args, 1))?;
            return Ok(text.into());
        }
    }
    Ok(Value::Null)
}

/// The place of the column whose default reads `text`.
fn default_place(table: &TableDef, text: &str) -> Option<usize> {
    table.columns.iter().position(|column| column.default.as_deref() == Some(text))
}

fn expression(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let stored = text(args, 0)?;
    let relation_oid = oid(args, 1)?;
    let catalog = Arc::clone(run.catalog.catalog());
    let table = catalog.table(relation_oid).or_else(|| catalog.table(catalog.index(relation_oid)?.table));
    let Some(table) = table else {
        // A domain's default names no columns; it is asked for with the catalog that it is in.
        let names_nothing = relation_oid == Oid::INVALID || catalogs::system_table(relation_oid).is_some();
        let shown = names_nothing.then(|| definitions::stored_value(session_of(run), stored, is_pretty(args, 2)));
        return Ok(shown.transpose()?.into());
    };
    let stored_as = default_place(table, stored).map_or(StoredAs::OverRow, StoredAs::Default);
    Ok(definitions::stored_expression(session_of(run), table, stored, stored_as, is_pretty(args, 2))?.into())
}

/// The rule behind a view.
fn rule(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let wanted = oid(args, 0)?;
    let catalog = Arc::clone(run.catalog.catalog());
    let view = catalog.tables().find(|table| table.kind != RelationKind::Table && rule_oid(table.oid) == wanted);
    let Some(view) = view else { return Ok(Value::Null) };
    let name = super::relation_name(run, view.oid);
    let query = definitions::view_definition(session_of(run), view, is_pretty(args, 1))?.unwrap_or_default();
    Ok(format!("CREATE RULE \"_RETURN\" AS\n    ON SELECT TO {name} DO INSTEAD {query}").into())
}

/// Asks `what` of a function that a user made.
fn of_function(
    run: &Run<'_, '_>,
    args: &[Value],
    what: impl FnOnce(&Run<'_, '_>, &FunctionDef) -> Result<Option<String>>,
) -> Result<Option<String>> {
    let wanted = oid(args, 0)?;
    if let Some(def) = run.catalog.catalog().function(wanted).cloned() {
        return what(run, &def);
    }
    let builtin = types::function(wanted).map(|def| (def.arguments, def.result, def.returns_set));
    let builtin = builtin.or_else(|| types::aggregate(wanted).map(|def| (def.arguments, def.result, false)));
    match builtin {
        Some((inputs, result, returns_set)) => {
            what(run, &plan::function_as_stored(wanted, inputs, result, returns_set))
        }
        None => Ok(None),
    }
}

fn argument(run: &Run<'_, '_>, argument: &ArgumentDef, of_procedure: bool, with_default: bool) -> Result<String> {
    let mut text = String::new();
    text.push_str(match argument.mode {
        // Without a mode, DROP PROCEDURE might take another procedure.
        ArgumentMode::In if of_procedure => "IN ",
        ArgumentMode::In | ArgumentMode::Table => "",
        ArgumentMode::Out => "OUT ",
        ArgumentMode::InOut => "INOUT ",
        ArgumentMode::Variadic => "VARIADIC ",
    });
    if let Some(name) = argument.name.as_ref().filter(|name| !name.is_empty()) {
        text.push_str(&quote_identifier(name));
        text.push(' ');
    }
    text.push_str(&format_type_name(&run.catalog, argument.type_oid));
    if let Some(default) = argument.default.as_ref().filter(|_| with_default) {
        text.push_str(" DEFAULT ");
        text.push_str(&definitions::stored_value(session_of(run), default, false)?);
    }
    Ok(text)
}

fn arguments(run: &Run<'_, '_>, def: &FunctionDef, with_defaults: bool) -> Result<Option<String>> {
    let shown = def.arguments.iter().filter(|argument| argument.mode != ArgumentMode::Table);
    let shown = shown.map(|own| argument(run, own, def.is_procedure(), with_defaults));
    Ok(Some(shown.collect::<Result<Vec<_>>>()?.join(", ")))
}

fn result(run: &Run<'_, '_>, def: &FunctionDef) -> Result<Option<String>> {
    if def.is_procedure() {
        return Ok(None);
    }
    let columns: Vec<&ArgumentDef> =
        def.arguments.iter().filter(|argument| argument.mode == ArgumentMode::Table).collect();
    if !columns.is_empty() {
        let columns = columns.into_iter().map(|column| argument(run, column, false, false));
        return Ok(Some(format!("TABLE({})", columns.collect::<Result<Vec<_>>>()?.join(", "))));
    }
    let set = if def.returns_set { "SETOF " } else { "" };
    Ok(Some(format!("{set}{}", format_type_name(&run.catalog, def.returns))))
}

fn argument_default(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let number = integer(args, 1)?;
    let def = run.catalog.catalog().function(oid(args, 0)?).cloned();
    let default = def.and_then(|def| {
        let mut inputs = def.arguments.iter().filter(|argument| argument.mode.is_input());
        inputs.nth(usize::try_from(number - 1).ok()?)?.default.clone()
    });
    let shown = default.map(|text| definitions::stored_value(session_of(run), &text, false));
    Ok(shown.transpose()?.into())
}

/// A quote in dollars that `body` does not hold.
fn dollar_quote(body: &str, stem: &str) -> String {
    let mut quote = format!("${stem}$");
    while body.contains(&quote[..quote.len() - 1]) {
        quote.insert(quote.len() - 1, 'x');
    }
    quote
}

/// CREATE FUNCTION, as it would be written.
fn function(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let Some(def) = run.catalog.catalog().function(oid(args, 0)?).cloned() else { return Ok(Value::Null) };
    let what = if def.is_procedure() { "PROCEDURE" } else { "FUNCTION" };
    let schema = quote_identifier(&run.catalog.schema_name(def.schema));
    let mut text = format!("CREATE OR REPLACE {what} {schema}.{}(", quote_identifier(&def.name));
    text.push_str(&arguments(run, &def, true)?.unwrap_or_default());
    text.push_str(")\n");
    if let Some(result) = result(run, &def)? {
        let _ = writeln!(text, " RETURNS {result}");
    }
    let _ = writeln!(text, " LANGUAGE {}", quote_identifier(&def.language));
    let mut attributes = String::new();
    attributes.push_str(match def.volatility {
        _ if def.is_procedure() => "",
        Volatility::Immutable => " IMMUTABLE",
        Volatility::Stable => " STABLE",
        Volatility::Volatile => "",
    });
    attributes.push_str(match def.parallel {
        Parallel::Safe => " PARALLEL SAFE",
        Parallel::Restricted => " PARALLEL RESTRICTED",
        Parallel::Unsafe => "",
    });
    if def.strict {
        attributes.push_str(" STRICT");
    }
    if def.security_definer {
        attributes.push_str(" SECURITY DEFINER");
    }
    if def.leakproof {
        attributes.push_str(" LEAKPROOF");
    }
    // Default values are not written.
    let estimates =
        [(" COST ", def.cost.filter(|cost| *cost != 100.0)), (" ROWS ", def.rows.filter(|rows| *rows != 1000.0))];
    for (word, number) in estimates {
        if let Some(number) = number {
            let mut digits = Vec::new();
            types::number_text::write_float4(number, 0, &mut digits);
            attributes.push_str(word);
            attributes.push_str(&String::from_utf8_lossy(&digits));
        }
    }
    if !attributes.is_empty() {
        text.push_str(&attributes);
        text.push('\n');
    }
    for (name, value) in &def.settings {
        // Quoted as a whole, a list of names would be one name.
        let is_list = LISTS_OF_NAMES.contains(&name.as_str());
        let names = if is_list && !value.is_empty() { split_names(value) } else { vec![value.clone()] };
        let quoted: Vec<String> = names.iter().map(|name| types::reg_types::quote_literal(name)).collect();
        let _ = writeln!(text, " SET {} TO {}", quote_identifier(name), quoted.join(", "));
    }
    let quote = dollar_quote(&def.body, if def.is_procedure() { "procedure" } else { "function" });
    let _ = writeln!(text, "AS {quote}{}{quote}", def.body);
    Ok(text.into())
}

/// Settings whose values are lists of names.
const LISTS_OF_NAMES: [&str; 6] = [
    "local_preload_libraries",
    "search_path",
    "session_preload_libraries",
    "shared_preload_libraries",
    "temp_tablespaces",
    "unix_socket_directories",
];

/// Whether a relation is a table or the like, for those who ask for columns.
pub(super) fn table_of(run: &Run<'_, '_>, oid: Oid) -> Option<Arc<TableDef>> {
    match relation(run, oid)? {
        Found::Table(table) => Some(table),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dollar_quote_does_not_end_within_what_it_quotes() {
        assert_eq!(dollar_quote("begin end", "function"), "$function$");
        assert_eq!(dollar_quote("a $function$ b", "function"), "$functionx$");
        assert_eq!(dollar_quote("$functionx", "function"), "$functionxx$");
    }
}
