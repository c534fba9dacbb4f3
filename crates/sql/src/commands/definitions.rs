//! Definitions of constraints, indexes and views, as `pg_get_constraintdef` and its kin show them.

use std::sync::Arc;

use base::Result;
use plan::{CatalogView, ExprKind};
use schema::catalog::{
    ConstraintDef, ConstraintKind, ForeignKeyAction, ForeignKeyMatch, IndexDef, RelationKind, TableDef,
};
use syntax::parser;
use syntax::tree::{Location, Name, QualifiedName, Query, QueryBody, TableReference, TypeName};
use types::reg_types::{function_is_found, quote_identifier};
use types::{CatalogLookup, SqlType, collation};

use crate::commands::ddl::{bind_stored, bind_stored_value};
use crate::commands::dependencies::relation;
use crate::commands::stored_query::bound_closed;
use crate::commands::user_type::{ValueOf, bound_check};
use crate::operator_classes::operator_class_by_oid;
use crate::state::SessionState;
use crate::state::planning::Environment;
use planner::binder::{DefinitionUse, Resolved, definition_type};
use planner::deparse::{
    Bound, Catalogs, Deparser, NoNames, Qualify, QueryNames, TableNames, TableText, dotted, sort_suffix, written_type,
};

/// The use of a stored expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredAs {
    /// The default of the column at this place.
    Default(usize),
    /// Over the table's row: a check, an index's key or predicate, a generated column.
    OverRow,
}

/// A stored expression as it reads under the session's search path, as `pg_get_expr` shows it. One that can't be bound
/// any more is shown as it is stored.
///
/// # Errors
/// Interrupts (57014, fatal errors) and 53200.
pub fn stored_expression(
    state: &SessionState,
    table: &Arc<TableDef>,
    text: &str,
    stored_as: StoredAs,
    pretty: bool,
) -> Result<String> {
    let view = state.catalog();
    let shown = match stored_as {
        StoredAs::Default(place) => {
            let column = &table.columns[place];
            let sql_type = SqlType::with_typmod(column.type_oid, column.typmod);
            let used_for = DefinitionUse::Default { column: &column.name, sql_type };
            bind_stored(state, table, text, used_for).map(|expr| {
                Deparser::new(&view, &NoNames, Qualify::WhereNeeded)
                    .with_row_types()
                    .indented()
                    .pretty(pretty)
                    .text(&expr)
            })
        }
        StoredAs::OverRow => bind_stored(state, table, text, DefinitionUse::IndexKey).map(|expr| {
            Deparser::new(&view, &TableNames(table), Qualify::WhereNeeded)
                .with_row_types()
                .indented()
                .pretty(pretty)
                .text(&expr)
        }),
    };
    Ok(as_read_now(state, parser::if_readable(shown)?.unwrap_or_else(|| text.to_owned())))
}

/// A text that shows a definition, for a session that reads it as it reads strings now: where backslashes escape, they are doubled.
pub fn as_read_now(state: &SessionState, text: String) -> String {
    if state.parse_options().standard_conforming_strings || !text.contains('\\') {
        return text;
    }
    let mut read = String::with_capacity(text.len() + 8);
    let mut done = 0;
    for (start, end) in syntax::parser::tokens(&text).into_iter().filter(|(start, _)| text[*start..].starts_with('\''))
    {
        read.push_str(&text[done..start]);
        read.push_str(&text[start..end].replace('\\', "\\\\"));
        done = end;
    }
    read.push_str(&text[done..]);
    read
}

/// A stored expression that reads no row, as it reads under the session's search path: the default of a domain or of a function's
/// argument. One that can't be bound any more is shown as it is stored.
///
/// # Errors
/// Interrupts (57014, fatal errors) and 53200.
pub fn stored_value(state: &SessionState, text: &str, pretty: bool) -> Result<String> {
    let view = state.catalog();
    let bound = parser::if_readable(bind_stored_value(state, text))?;
    let deparser = Deparser::new(&view, &NoNames, Qualify::WhereNeeded).with_row_types().indented().pretty(pretty);
    Ok(as_read_now(state, bound.map_or_else(|| text.to_owned(), |expr| deparser.text(&expr))))
}

/// `CHECK ((VALUE > 0))`, of a domain over `base`.
///
/// # Errors
/// Interrupts (57014, fatal errors) and 53200.
pub fn domain_check_clause(state: &SessionState, text: &str, base: SqlType, pretty: bool) -> Result<String> {
    let view = state.catalog();
    let bound = parser::if_readable(bound_check(&view, text, base))?;
    let names = ValueOf(base);
    let deparser = Deparser::new(&view, &names, Qualify::WhereNeeded).with_row_types().indented().pretty(pretty);
    let shown = bound.map_or_else(|| text.to_owned(), |expr| deparser.text(&expr));
    Ok(format!("CHECK ({})", as_read_now(state, shown)))
}

/// `CHECK ((a > 0))`
///
/// # Errors
/// Interrupts (57014, fatal errors) and 53200.
pub fn check_clause(state: &SessionState, table: &Arc<TableDef>, text: &str, pretty: bool) -> Result<String> {
    Ok(format!("CHECK ({})", stored_expression(state, table, text, StoredAs::OverRow, pretty)?))
}

fn column_list(table: &TableDef, columns: &[usize]) -> String {
    let names: Vec<String> = columns.iter().map(|place| quote_identifier(&table.columns[*place].name)).collect();
    names.join(", ")
}

/// A constraint, as `pg_get_constraintdef` shows it.
///
/// # Errors
/// Interrupts (57014, fatal errors) and 53200.
pub fn constraint_definition(
    state: &SessionState,
    table: &Arc<TableDef>,
    constraint: &ConstraintDef,
    pretty: bool,
) -> Result<String> {
    let view = state.catalog();
    let catalog = view.catalog();
    let key = |words: &str, index: base::Oid| match catalog.index(index) {
        Some(index) => {
            let columns: Vec<usize> = index.keys.iter().filter_map(|key| key.column).collect();
            let distinct = if index.nulls_not_distinct { " NULLS NOT DISTINCT" } else { "" };
            let mut text = format!("{words}{distinct} ({})", column_list(table, &columns));
            if !index.included.is_empty() {
                text.push_str(&format!(" INCLUDE ({})", column_list(table, &index.included)));
            }
            text
        }
        None => words.to_owned(),
    };
    let mut text = match &constraint.kind {
        ConstraintKind::PrimaryKey { index } => key("PRIMARY KEY", *index),
        ConstraintKind::Unique { index } => key("UNIQUE", *index),
        ConstraintKind::Check { expression, no_inherit } => {
            let mut text = check_clause(state, table, expression, pretty)?;
            if *no_inherit {
                text.push_str(" NO INHERIT");
            }
            text
        }
        ConstraintKind::ForeignKey {
            columns,
            referenced_table,
            referenced_columns,
            on_update,
            on_delete,
            matching,
            ..
        } => {
            let mut text = format!("FOREIGN KEY ({}) REFERENCES ", column_list(table, columns));
            if let Some(referenced) = catalog.table(*referenced_table) {
                text.push_str(&relation(&view, referenced.schema, &referenced.name, referenced.oid));
                text.push_str(&format!("({})", column_list(referenced, referenced_columns)));
            }
            if *matching == ForeignKeyMatch::Full {
                text.push_str(" MATCH FULL");
            }
            for (event, action) in [("UPDATE", on_update), ("DELETE", on_delete)] {
                let words = match action {
                    ForeignKeyAction::NoAction => continue,
                    ForeignKeyAction::Restrict => "RESTRICT",
                    ForeignKeyAction::Cascade => "CASCADE",
                    ForeignKeyAction::SetNull => "SET NULL",
                    ForeignKeyAction::SetDefault => "SET DEFAULT",
                };
                text.push_str(&format!(" ON {event} {words}"));
                if let Some(columns) = table.delete_set_columns_of(constraint.oid).filter(|_| event == "DELETE") {
                    text.push_str(&format!(" ({})", column_list(table, columns)));
                }
            }
            text
        }
    };
    if constraint.deferrable {
        text.push_str(" DEFERRABLE");
    }
    if constraint.initially_deferred {
        text.push_str(" INITIALLY DEFERRED");
    }
    if !constraint.validated {
        text.push_str(" NOT VALID");
    }
    Ok(text)
}

/// Column `number` of an index (from 0), as `pg_get_indexdef` shows it; nothing beyond the last one.
///
/// # Errors
/// Interrupts (57014, fatal errors) and 53200.
pub fn index_column(
    state: &SessionState,
    table: &Arc<TableDef>,
    index: &IndexDef,
    number: usize,
    pretty: bool,
) -> Result<Option<String>> {
    if let Some(included) = number.checked_sub(index.keys.len()) {
        return Ok(index.included.get(included).map(|place| quote_identifier(&table.columns[*place].name)));
    }
    let key = &index.keys[number];
    Ok(match (key.column, &key.expression) {
        (Some(place), _) => Some(quote_identifier(&table.columns[place].name)),
        (None, Some(text)) => {
            let view = state.catalog();
            let bound = parser::if_readable(bind_stored(state, table, text, DefinitionUse::IndexKey))?;
            Some(match bound {
                Some(expr) => {
                    let names = TableNames(table);
                    let deparser =
                        Deparser::new(&view, &names, Qualify::WhereNeeded).with_row_types().indented().pretty(pretty);
                    let shown = as_read_now(state, deparser.full_text(&expr));
                    let looks_like_function = match &expr.kind {
                        ExprKind::Call(call) => call.operator.is_none(),
                        ExprKind::Coalesce(_) | ExprKind::Greatest(_) | ExprKind::Least(_) | ExprKind::NullIf(_) => {
                            true
                        }
                        _ => false,
                    };
                    if looks_like_function { shown } else { format!("({shown})") }
                }
                None => format!("({text})"),
            })
        }
        (None, None) => None,
    })
}

/// ` COLLATE "C" text_pattern_ops`: what is said of an index's key.
fn key_suffix(index: &IndexDef, place: usize) -> String {
    let properties = index.properties_of(place);
    let mut text = String::new();
    if let Some(collation) = properties.collation.and_then(collation::by_oid) {
        text.push_str(&format!(" COLLATE {}", quote_identifier(collation.name)));
    }
    if let Some(class) = properties.operator_class.and_then(operator_class_by_oid) {
        text.push_str(&format!(" {}", class.name));
    }
    text
}

/// An index, as `pg_get_indexdef` shows it.
///
/// # Errors
/// Interrupts (57014, fatal errors) and 53200.
pub fn index_definition(state: &SessionState, index: &IndexDef, pretty: bool) -> Result<String> {
    let view = state.catalog();
    let Some(table) = view.catalog().table(index.table) else { return Ok(String::new()) };
    let mut columns = Vec::with_capacity(index.keys.len());
    for (number, key) in index.keys.iter().enumerate() {
        if let Some(column) = index_column(state, table, index, number, pretty)? {
            let said = key_suffix(index, number);
            columns.push(format!("{column}{said}{}", sort_suffix(key.descending, key.nulls_first)));
        }
    }
    let mut text = format!(
        "CREATE {}INDEX {} ON {} USING btree ({})",
        if index.unique { "UNIQUE " } else { "" },
        quote_identifier(&index.name),
        if pretty {
            relation(&view, table.schema, &table.name, table.oid)
        } else {
            format!("{}.{}", quote_identifier(&view.schema_name(table.schema)), quote_identifier(&table.name))
        },
        columns.join(", ")
    );
    if !index.included.is_empty() {
        text.push_str(&format!(" INCLUDE ({})", column_list(table, &index.included)));
    }
    if index.nulls_not_distinct {
        text.push_str(" NULLS NOT DISTINCT");
    }
    if !index.options.is_empty() {
        let options: Vec<String> = index
            .options
            .iter()
            .map(|option| match option.split_once('=') {
                Some((name, value)) if quote_identifier(value) != value => format!("{name}='{value}'"),
                _ => option.clone(),
            })
            .collect();
        text.push_str(&format!(" WITH ({})", options.join(", ")));
    }
    if let Some(predicate) = &index.predicate {
        text.push_str(&format!(" WHERE {}", stored_expression(state, table, predicate, StoredAs::OverRow, pretty)?));
    }
    Ok(text)
}

/// A view's query, as `pg_get_viewdef` shows it; nothing for what is no view.
///
/// # Errors
/// Interrupts (57014, fatal errors) and 53200.
pub fn view_definition(state: &SessionState, view: &TableDef, pretty: bool) -> Result<Option<String>> {
    let (Some(text), true) = (&view.view_query, view.kind != RelationKind::Table) else { return Ok(None) };
    let shown = match parser::if_readable(parser::parse_stored_query(text))? {
        Some(query) => {
            let catalog = state.catalog();
            // ORDER BY may name columns as they were called in the query.
            let environment = Environment::new(state, &catalog).for_query_of(&Arc::new(view.clone()));
            let (mut query, bound, resolved) = bound_closed(environment, text, query);
            let bound = parser::if_readable(bound)?.flatten();
            let names = ShownNames { state, view: catalog.clone(), text, resolved };
            name_columns(&mut query, view);
            let sides =
                Bound::new(Catalogs { before: &catalog, now: &catalog, qualify: Qualify::WhereNeeded, known: None });
            planner::deparse::written(&query, &names, pretty, bound.as_ref().map(|query| (&sides, query)))
        }
        None => text.clone(),
    };
    Ok(Some(format!("{};", as_read_now(state, shown))))
}

/// Gives the columns of a query the names that the view's columns have.
fn name_columns(query: &mut Query, view: &TableDef) {
    match &mut query.body {
        QueryBody::Select(select) => {
            for (target, column) in select.targets.iter_mut().zip(&view.columns) {
                target.name = Some(Name::new(&column.name));
            }
        }
        QueryBody::SetOperation { left, right, .. } => {
            name_columns(left, view);
            name_columns(right, view);
        }
        QueryBody::Values(_) => {}
    }
}

/// Names in a stored query, without the schemas that the search path makes superfluous.
struct ShownNames<'a> {
    state: &'a SessionState,
    view: CatalogView,
    /// The stored query.
    text: &'a str,
    resolved: Resolved,
}

impl QueryNames for ShownNames<'_> {
    fn table(&self, reference: &TableReference, is_hidden: &dyn Fn(&str) -> bool) -> TableText {
        let name = &reference.name;
        let schema = name.schema.as_deref().or(Some("pg_catalog"));
        let is_visible = match self.view.relation(schema, &name.name) {
            Some(found) => self.view.relation_is_visible(found.oid(), &name.name),
            None => self
                .view
                .system_table(schema, &name.name)
                .is_some_and(|found| self.view.relation_is_visible(found.oid, &name.name)),
        };
        let own = name.name.to_string();
        if is_visible && !is_hidden(&name.name) {
            return TableText { text: quote_identifier(&own), own };
        }
        let schema = quote_identifier(schema.unwrap_or_default());
        TableText { text: format!("{schema}.{}", quote_identifier(&own)), own }
    }

    fn function(&self, name: &QualifiedName) -> String {
        if let Some(oid) = self.resolved.functions.get(&name.location) {
            return if function_is_found(&self.view, *oid) { quote_identifier(&name.name) } else { dotted(name) };
        }
        let is_hidden = name.schema.is_none() && !self.view.user_functions(None, &name.name).before_builtins.is_empty();
        if is_hidden { format!("pg_catalog.{}", dotted(name)) } else { dotted(name) }
    }

    fn type_name(&self, name: &TypeName) -> String {
        let environment = Environment::new(self.state, self.view.for_stored_text());
        match environment.with_context(self.text, |context| definition_type(context, name)) {
            Ok(sql_type) => Deparser::new(&self.view, &NoNames, Qualify::WhereNeeded).type_name(sql_type),
            Err(_) => written_type(name),
        }
    }

    fn star_width(&self, location: Location) -> Option<usize> {
        self.resolved.stars.get(&location).copied()
    }
}
