//! CREATE TABLE AS, SELECT INTO and materialized views: tables made of a query's rows.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{Error, Oid, Result, sqlstate};
use schema::catalog::{Persistence, RelationKind, TableDef};
use syntax::tree::{CreateTableAs, OnCommit, QualifiedName, Statement};
use types::reg_types::quote_identifier;
use types::{SqlType, Value};

use super::composite::hold_row_types;
use super::create_table::{already_there, check_tablespace, plain_table, set_options};
use super::ddl::{Ddl, Found};
use super::rewrite::{Sink, without_indexes};
use super::stored_query::lock_relations_of;
use super::{prepared, view};
use crate::state::planning::Environment;
use crate::state::{Planned, RelationLocks, UtilityOutput, nested};
use planner::binder::{self, Parameters};

/// CREATE TABLE AS, SELECT INTO, CREATE MATERIALIZED VIEW.
pub(super) fn create(
    ddl: &mut Ddl<'_>,
    create: &CreateTableAs,
    bound: &Planned,
    parameters: &[Value],
) -> Result<UtilityOutput> {
    create_from(ddl, create, None, (&bound.statement.parameters, parameters))
}

/// The same, of a query that may have been planned before, with its locks and its parameters; otherwise with
/// `parameters`, of these types.
pub(super) fn create_from(
    ddl: &mut Ddl<'_>,
    create: &CreateTableAs,
    source: Option<(Arc<Planned>, Vec<Value>)>,
    parameters: (&[SqlType], &[Value]),
) -> Result<UtilityOutput> {
    let into = &create.into;
    let tag = if create.materialized_view { "CREATE MATERIALIZED VIEW" } else { "CREATE TABLE AS" };
    let (schema, persistence) = match ddl.creation_schema(&into.table, into.persistence) {
        // Nothing is made, so the right to create is not needed.
        Err(error) if error.sqlstate() == sqlstate::INSUFFICIENT_PRIVILEGE && create.if_not_exists => {
            let found = ddl.find(&into.table)?.map(|found| match found {
                Found::Table(table) => (table.schema, table.persistence),
                Found::Index(index) => (index.schema, Persistence::Permanent),
                Found::Sequence(sequence) => (sequence.schema, Persistence::Permanent),
                Found::Composite(def) => (def.schema, Persistence::Permanent),
                Found::System(_) => (Oid::INVALID, Persistence::Permanent),
            });
            let current = ddl.view().current_schema();
            let is_there = |(schema, _): &(Oid, Persistence)| into.table.schema.is_some() || Some(*schema) == current;
            found.filter(is_there).ok_or(error)?
        }
        place => place?,
    };
    if create.materialized_view && persistence == Persistence::Unlogged {
        return Err(Error::unsupported("materialized views cannot be unlogged"));
    }
    if into.on_commit != OnCommit::PreserveRows && persistence != Persistence::Temporary {
        return Err(Error::new(sqlstate::INVALID_TABLE_DEFINITION, "ON COMMIT can only be used on temporary tables"));
    }
    if create.if_not_exists {
        // Errors of the query come before "already exists". The query of EXECUTE is not checked.
        if source.is_none() && !matches!(create.source, Statement::Execute(_)) {
            columns_of_query(ddl, &create.source, parameters.0)?;
        }
        if already_there(ddl, schema, &into.table.name)? {
            return Ok(UtilityOutput::tag(tag));
        }
    }
    // WITH NO DATA does not plan the query. So errors of planning, such as a division of constants by zero, do not occur.
    let is_planned = !into.no_data || matches!(create.source, Statement::Execute(_));
    if let (false, Statement::Select(query)) = (is_planned, &create.source) {
        lock_relations_of(ddl, query)?;
    }
    let is_planned_here = source.is_none();
    let mut held = Vec::new();
    let (source, mut columns) = loop {
        let version = ddl.catalog().version();
        let source = match &source {
            None if is_planned => Some(planned_source(ddl, create, parameters)?),
            source => source.clone(),
        };
        let columns: Vec<(String, SqlType)> = match &source {
            Some((planned, _)) => {
                // Not what a client is told, for whom a domain is its base type.
                let columns = &planned.statement.columns;
                columns.iter().map(|column| (column.name.to_string(), column.sql_type)).collect()
            }
            None => columns_of_query(ddl, &create.source, parameters.0)?,
        };
        let held_before = held.len();
        for (_, sql_type) in &columns {
            hold_row_types(ddl, sql_type.oid, &mut held, |_| Ok(()))?;
        }
        // The types may have been changed or dropped while they were waited for.
        if held.len() == held_before || ddl.catalog().version() == version {
            break (source, columns);
        }
        if !is_planned_here {
            let message = "could not create the table because of a concurrent change of a type";
            return Err(
                Error::new(sqlstate::SERIALIZATION_FAILURE, message).hint("The transaction might succeed if retried.")
            );
        }
    };
    if into.columns.len() > columns.len() {
        return Err(Error::new(sqlstate::SYNTAX_ERROR, "too many column names were specified"));
    }
    for (column, name) in columns.iter_mut().zip(&into.columns) {
        column.0 = name.to_string();
    }
    // The query may have waited for a table, while the role lost its rights, or the name came to mean another schema.
    let (schema, persistence) = ddl.creation_schema(&into.table, into.persistence)?;
    check_tablespace(ddl, None, persistence)?;
    let mut table = plain_table(ddl, &into.table.name, schema, persistence, &columns)?;
    set_options(&mut table, &into.options)?;
    if create.materialized_view {
        let Statement::Select(query) = &create.source else {
            return Err(Error::internal("a materialized view of something that is no query"));
        };
        table.kind = RelationKind::MaterializedView;
        let defined = view::define(ddl, &into.table.name, query)?;
        if view::reads_temporary(ddl, &defined.scope) {
            return Err(Error::unsupported("materialized views must not use temporary tables or views"));
        }
        table.view_query = Some(defined.text);
        table.view_scope = Some(defined.scope);
        table.is_unpopulated = into.no_data;
    }
    let oid = table.oid;
    ddl.create(table)?;
    if into.on_commit != OnCommit::PreserveRows {
        ddl.state.on_commit.borrow_mut().push((oid, into.on_commit));
    }
    let Some((planned, parameters)) = source.filter(|_| !into.no_data) else {
        // PostgreSQL counts the rows of a prepared query, of which it asks for none.
        let tag = if matches!(create.source, Statement::Execute(_)) { "SELECT 0" } else { tag };
        return Ok(UtilityOutput::tag(tag));
    };
    let state = ddl.state;
    ddl.target = Some(oid);
    let count = if create.materialized_view {
        state.restricted_to(ddl.owner(), || fill(ddl, oid, &planned, &parameters))?
    } else {
        fill(ddl, oid, &planned, &parameters)?
    };
    Ok(UtilityOutput::tag(format!("SELECT {count}")))
}

/// The plan of the query, with its locks taken, and its parameters.
fn planned_source(
    ddl: &mut Ddl<'_>,
    create: &CreateTableAs,
    (types, values): (&[SqlType], &[Value]),
) -> Result<(Arc<Planned>, Vec<Value>)> {
    let Statement::Execute(execute) = &create.source else {
        let planned =
            nested::locked(ddl.state, || environment(ddl).planned(ddl.text, &create.source, declared(types)))?;
        return Ok((planned, values.to_vec()));
    };
    let mut locks = RelationLocks::default();
    loop {
        let (planned, parameters) = prepared::plan_of_execute(ddl.state, ddl.text, execute, ddl.client)?;
        if locks.take(ddl.state, &planned)? {
            return Ok((planned, parameters));
        }
    }
}

/// The environment that the query is bound and planned in: the query may name the arguments of the function that runs the statement.
fn environment<'d>(ddl: &'d Ddl<'_>) -> Environment<'d> {
    Environment::new(ddl.state, &ddl.view()).with_variables(ddl.variables)
}

fn declared(types: &[SqlType]) -> Parameters {
    Parameters::declared(&types.iter().map(|sql_type| sql_type.oid).collect::<Vec<_>>())
}

/// The columns of a query that is not planned.
fn columns_of_query(ddl: &Ddl<'_>, source: &Statement, parameters: &[SqlType]) -> Result<Vec<(String, SqlType)>> {
    let mut parameters = declared(parameters);
    let bound = environment(ddl)
        .with_context(ddl.text, |context| binder::bind(source, context, &mut parameters))?
        .ok_or_else(|| Error::internal("a query was not bound"))?;
    ddl.state.require_schemas(&bound.access)?;
    Ok(bound.query.output_columns().into_iter().map(|column| (column.name.to_string(), column.sql_type)).collect())
}

/// Stores the rows of a query in a new table.
fn fill(ddl: &mut Ddl<'_>, table: Oid, planned: &Arc<Planned>, parameters: &[Value]) -> Result<u64> {
    let open = ddl.open(table)?;
    let mut sink = Sink::new(ddl, open);
    ddl.engine().push_snapshot()?;
    let count = ddl.with_run(|run| {
        nested::run(run, planned, parameters, &mut |run, row| {
            sink.push(row.to_vec(), &run.engine())?;
            Ok(ControlFlow::Continue(()))
        })
    });
    let count = count.and_then(|count| sink.flush(&ddl.engine()).map(|()| count));
    ddl.engine().pop_snapshot();
    count
}

/// REFRESH MATERIALIZED VIEW.
pub(super) fn refresh(
    ddl: &mut Ddl<'_>,
    name: &QualifiedName,
    concurrently: bool,
    no_data: bool,
) -> Result<UtilityOutput> {
    let table = match ddl.required_locked(name, LockMode::AccessExclusive)? {
        Found::Table(table) if table.kind == RelationKind::MaterializedView => table,
        found => {
            let message = match &found {
                Found::Composite(def) => format!("\"{}\" is not a table or materialized view", def.name),
                _ => format!("\"{}\" is not a materialized view", found.name()),
            };
            return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message));
        }
    };
    if concurrently && table.is_unpopulated {
        return Err(Error::unsupported("CONCURRENTLY cannot be used when the materialized view is not populated"));
    }
    if concurrently && no_data {
        let message = "CONCURRENTLY and WITH NO DATA options cannot be used together";
        return Err(Error::new(sqlstate::SYNTAX_ERROR, message));
    }
    let names_rows = |index: &schema::catalog::IndexDef| {
        index.unique && index.predicate.is_none() && index.keys.iter().all(|key| key.column.is_some())
    };
    if concurrently && !ddl.catalog().indexes_of(table.oid).iter().any(|index| names_rows(index)) {
        let schema = quote_identifier(&ddl.view().schema_name(table.schema));
        let name = quote_identifier(&table.name);
        let message = format!("cannot refresh materialized view \"{schema}.{name}\" concurrently");
        return Err(Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .hint("Create a unique index with no WHERE clause on one or more columns of the materialized view."));
    }
    ddl.state.check_not_in_use(table.oid, "REFRESH MATERIALIZED VIEW", &table.name)?;
    let text: Arc<str> = Arc::from(table.view_query.as_deref().unwrap_or_default());
    let statement = Statement::Select(syntax::parser::parse_stored_query(&text)?);
    let state = ddl.state;
    let plan = || {
        state.restricted_to(table.owner, || {
            nested::locked(state, || {
                let environment = Environment::new(state, &ddl.view()).for_query_of(&table);
                environment.planned(&text, &statement, Parameters::fixed(Vec::new()))
            })
        })
    };
    let planned = if no_data { None } else { Some(plan()?) };
    if table.is_unpopulated != no_data {
        ddl.replace(TableDef { is_unpopulated: no_data, ..(*table).clone() })?;
    }
    let open = ddl.open(table.oid)?;
    ddl.state.changed_catalog.set(true);
    ddl.engine().truncate(&open)?;
    if let Some(planned) = planned {
        ddl.target = Some(table.oid);
        state.restricted_to(table.owner, || {
            without_indexes(ddl, table.oid, |ddl| fill(ddl, table.oid, &planned, &[]).map(drop))
        })?;
    }
    Ok(UtilityOutput::tag("REFRESH MATERIALIZED VIEW"))
}
