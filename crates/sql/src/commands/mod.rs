//! Utility statements: everything that is not a query.

mod alter_table;
mod class;
mod column;
mod comment;
mod composite;
mod constraint;
mod copy;
mod create_table;
mod cursor;
mod database;
mod ddl;
mod default_privileges;
pub(crate) mod definitions;
pub mod dependencies;
mod drop;
mod explain;
mod extension;
mod facts;
mod function;
mod grant;
mod index;
mod maintenance;
pub mod options;
mod overloads;
mod owned;
mod ownership;
mod parameters;
mod prepared;
mod properties;
mod rename;
mod reshape;
mod restate;
mod result_shape;
mod rewrite;
mod rights;
mod role;
mod schema;
mod sequence;
mod session_default;
mod stored_expression;
mod stored_query;
mod system;
mod table_as;
pub mod temporary;
mod top_level;
pub mod trigger;
mod user_type;
mod validate;
mod variables;
mod view;

pub use class::class_of;
pub use copy::fuzz_copy;
pub use facts::{Snapshot, facts};
use std::sync::Arc;

use ::schema::catalog::{ArgumentDef, FunctionDef, Relation, TableDef};
use base::{Error, Result, missing, sqlstate};
use syntax::tree::{self, QualifiedName, Statement};
use types::{SqlType, Value};

use crate::state::{Planned, SessionState, UtilityOutput};
use executor::client::{Client, Severity};
pub use parameters::parameter_types;
use planner::binder::VariableNames;
pub use result_shape::session_columns;
pub use top_level::TopLevel;

/// Runs a utility statement.
///
/// # Errors
/// Errors of the statement; 0A000 for statements that are not supported.
pub fn run(
    session: &mut dyn TopLevel,
    statement: &Statement,
    planned: &Arc<Planned>,
    text: &Arc<str>,
    parameters: &[Value],
    client: &mut dyn Client,
) -> Result<UtilityOutput> {
    refuse_definition(session.state(), statement)?;
    match statement {
        Statement::Set(set) => variables::set(session, set, client),
        Statement::AlterSystem(set) => system::alter(session.state(), set),
        Statement::Show(name) => variables::show(session.state(), name),
        Statement::Discard(what) => variables::discard(session, *what),
        Statement::Copy(copy) => copy::run(session.state(), copy, text, client),
        Statement::Vacuum(vacuum) => maintenance::vacuum(session, vacuum, client),
        Statement::Checkpoint => maintenance::checkpoint(session.state()),
        Statement::Lock(_) if !session.is_in_block() => {
            Err(Error::new(sqlstate::NO_ACTIVE_SQL_TRANSACTION, "LOCK TABLE can only be used in transaction blocks"))
        }
        Statement::Lock(lock) => maintenance::lock(session.state(), lock, client),
        Statement::Truncate(truncate) => maintenance::truncate(session.state(), truncate, client),
        Statement::Prepare(prepare) => prepared::prepare(session.state(), prepare, text),
        Statement::Execute(execute) => prepared::execute(session, execute, text, client),
        Statement::Deallocate(name) => prepared::deallocate(session.state(), name.as_deref()),
        Statement::DeclareCursor(declare) => cursor::declare_on_top(session, declare, planned, text, parameters),
        Statement::Fetch(fetch) => cursor::fetch_on_top(session, fetch, client),
        Statement::ClosePortal(name) => cursor::close_on_top(session, name.as_deref()),
        Statement::Explain(explain) => explain::run(session.state(), explain, planned, text, parameters, None, client),
        Statement::Listen(channel) => listen(session.state(), channel),
        Statement::Unlisten(channel) => unlisten(session.state(), channel.as_deref()),
        Statement::Notify { channel, payload } => notify(session.state(), channel, payload),
        Statement::SetConstraints { constraints, deferred } => {
            variables::set_constraints(session, constraints, *deferred, client)
        }
        Statement::Load(library) => load(session.state(), library),
        _ => {
            let may_end_transaction = session.may_end_transaction();
            let mut ddl = ddl::Ddl::new(session.state(), text, client);
            ddl.may_end_transaction = may_end_transaction;
            define(&mut ddl, statement, planned, parameters)
        }
    }
}

/// Runs a utility statement within a function. A cursor's query may name the function's `variables`. Statements that need the session as
/// a whole are refused.
///
/// # Errors
/// Errors of the statement; 0A000 for statements that can't run in a function.
pub fn run_nested(
    state: &SessionState,
    statement: &Statement,
    planned: &Arc<Planned>,
    text: &Arc<str>,
    parameters: &[Value],
    variables: Option<&dyn VariableNames>,
    client: &mut dyn Client,
) -> Result<UtilityOutput> {
    refuse_definition(state, statement)?;
    if let Some(name) = facts(statement).refused_in_block {
        let message = format!("{name} cannot be executed from a function");
        return Err(Error::new(sqlstate::ACTIVE_SQL_TRANSACTION, message));
    }
    match statement {
        Statement::Show(name) => variables::show(state, name),
        Statement::Discard(what) => variables::discard_within(state, *what),
        Statement::Prepare(prepare) => prepared::prepare(state, prepare, text),
        Statement::Deallocate(name) => prepared::deallocate(state, name.as_deref()),
        Statement::Load(library) => load(state, library),
        Statement::Checkpoint => maintenance::checkpoint(state),
        Statement::Vacuum(analyze) => maintenance::analyze(state, analyze, client),
        Statement::Explain(explain) => explain::run(state, explain, planned, text, parameters, variables, client),
        Statement::Listen(channel) => listen(state, channel),
        Statement::Unlisten(channel) => unlisten(state, channel.as_deref()),
        Statement::SetConstraints { constraints, deferred } => {
            variables::set_constraints_within(state, constraints, *deferred, true, client)
        }
        Statement::Notify { channel, payload } => notify(state, channel, payload),
        Statement::Truncate(truncate) => maintenance::truncate(state, truncate, client),
        Statement::Lock(lock) => maintenance::lock(state, lock, client),
        Statement::Set(set) => variables::set_within(state, set, client),
        Statement::DeclareCursor(declare) => cursor::declare(state, declare, planned, text, parameters, variables),
        Statement::Fetch(fetch) => cursor::fetch(state, fetch, client),
        Statement::ClosePortal(name) => cursor::close(state, name.as_deref()),
        _ => {
            let mut ddl = ddl::Ddl::new(state, text, client);
            ddl.variables = variables;
            ddl.may_end_transaction = state.may_end_transaction.take();
            define(&mut ddl, statement, planned, parameters)
        }
    }
}

/// CREATE TABLE AS of a query that has been planned where it stands.
///
/// # Errors
/// Those of making the table, and of the query.
pub fn create_table_as(
    state: &SessionState,
    create: &tree::CreateTableAs,
    planned: Arc<Planned>,
    parameters: Vec<Value>,
    text: &Arc<str>,
    client: &mut dyn Client,
) -> Result<UtilityOutput> {
    table_as::create_from(&mut ddl::Ddl::new(state, text, client), create, Some((planned, parameters)), (&[], &[]))
}

/// Returns the objects that each view uses.
///
/// # Errors
/// Interrupts (57014, fatal errors) and 53200.
pub fn what_views_use(state: &SessionState, client: &mut dyn Client) -> Result<Vec<dependencies::ViewUse>> {
    let text = Arc::from("");
    let mut uses = || dependencies::uses_of_views(&ddl::Ddl::new(state, &text, client), &|_| true);
    match sync::on_further_stack(&mut uses) {
        Ok(uses) => uses,
        Err(_) => uses(),
    }
}

/// The objects used by the stored expressions that `wanted` asks for.
///
/// # Errors
/// Interrupts (57014, fatal errors) and 53200.
pub fn what_expressions_use(
    state: &SessionState,
    client: &mut dyn Client,
    wanted: dependencies::WantedUses,
) -> Result<Vec<dependencies::ExpressionUse>> {
    let text = Arc::from("");
    let mut uses = || dependencies::uses_of_expressions(&ddl::Ddl::new(state, &text, client), wanted);
    match sync::on_further_stack(&mut uses) {
        Ok(uses) => uses,
        Err(_) => uses(),
    }
}

/// LOAD: there are no libraries to load. Others than those in `plugins` are for superusers.
fn load(state: &SessionState, library: &str) -> Result<UtilityOutput> {
    let is_plugin = library.strip_prefix("$libdir/plugins/").is_some_and(|rest| !rest.contains('/'));
    if !state.is_superuser() && !is_plugin {
        let message = format!("access to library \"{library}\" is not allowed");
        return Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message));
    }
    let name = library.strip_prefix("$libdir/").unwrap_or(library);
    match name.strip_prefix("plugins/").unwrap_or(name) {
        "auto_explain" => state.load_auto_explain(),
        "plpgsql" => {}
        _ => {
            let message = format!("could not access file \"{library}\": No such file or directory");
            return Err(Error::new(sqlstate::UNDEFINED_FILE, message));
        }
    }
    Ok(UtilityOutput::tag("LOAD"))
}

/// LISTEN.
fn listen(state: &SessionState, channel: &str) -> Result<UtilityOutput> {
    state.refuse_if_restricted("execute LISTEN")?;
    state.listen(channel)?;
    Ok(UtilityOutput::tag("LISTEN"))
}

/// UNLISTEN.
fn unlisten(state: &SessionState, channel: Option<&str>) -> Result<UtilityOutput> {
    state.refuse_if_restricted("execute UNLISTEN")?;
    state.unlisten(channel)?;
    Ok(UtilityOutput::tag("UNLISTEN"))
}

/// NOTIFY.
fn notify(state: &SessionState, channel: &str, payload: &str) -> Result<UtilityOutput> {
    if payload.len() >= 8000 {
        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, "payload string too long"));
    }
    state.notify(channel, payload)?;
    Ok(UtilityOutput::tag("NOTIFY"))
}

/// 25006 for a statement that changes the catalog in a read-only transaction.
fn refuse_definition(state: &SessionState, statement: &Statement) -> Result<()> {
    let facts = facts(statement);
    if !facts.is_refused_read_only {
        return Ok(());
    }
    let is_read_only = {
        let engine = state.engine();
        engine.in_transaction() && engine.transaction_options().read_only
    };
    if !is_read_only {
        return Ok(());
    }
    Err(executor::read_only_transaction(&facts.tag))
}

/// Which parameters the arguments of a CALL are for, in the order of the arguments; none if there is no such parameter.
pub fn argument_places(function: &FunctionDef, call: &tree::FunctionCall) -> Option<Vec<usize>> {
    let parameters = &function.arguments;
    let place = |(number, written): (usize, &tree::Expr)| match &written.kind {
        tree::ExprKind::NamedArgument { name, .. } => {
            parameters.iter().position(|own| own.name.as_deref() == Some(name.as_str()))
        }
        _ if number < parameters.len() => Some(number),
        // More values of a variadic parameter.
        _ => parameters.len().checked_sub(1).filter(|_| function.is_variadic()),
    };
    call.arguments.iter().enumerate().map(place).collect()
}

/// The procedure that a CALL names.
///
/// # Errors
/// 42883 if there is none that alone has the name and as many arguments.
pub fn procedure_named(state: &SessionState, call: &tree::FunctionCall) -> Result<Arc<FunctionDef>> {
    let view = state.catalog();
    let schemas = match &call.name.schema {
        Some(schema) => vec![view.usable_schema(schema)?],
        None => view.function_path(),
    };
    let fits = |function: &&Arc<FunctionDef>| {
        let Some(places) = argument_places(function, call) else { return false };
        let is_given = |(place, argument): (usize, &ArgumentDef)| {
            places.contains(&place) || argument.default.is_some() && argument.mode.is_input()
        };
        function.is_procedure() && function.arguments.iter().enumerate().all(is_given)
    };
    let mut named = schemas.iter().flat_map(|schema| view.catalog().functions_named(*schema, &call.name.name));
    let message = || format!("procedure {} does not exist", call.name);
    named.find(fits).cloned().ok_or_else(|| Error::new(sqlstate::UNDEFINED_FUNCTION, message()))
}

/// A CALL without what stands in the places of OUT parameters, which is not passed; nothing if there is none.
pub fn without_outputs(state: &SessionState, call: &tree::FunctionCall) -> Option<tree::FunctionCall> {
    let function = procedure_named(state, call).ok()?;
    if function.arguments.iter().all(|argument| argument.mode.is_input()) {
        return None;
    }
    let places = argument_places(&function, call)?;
    let mut call = call.clone();
    let mut modes = places.iter().map(|place| function.arguments[*place].mode.is_input());
    call.arguments.retain(|_| modes.next().unwrap_or(true));
    Some(call)
}

/// Runs a statement within CREATE SCHEMA.
fn run_definition(ddl: &mut ddl::Ddl<'_>, statement: &Statement) -> Result<UtilityOutput> {
    let planned = plan_inner(ddl.state, ddl.text, statement, &[])?;
    ddl.within(|ddl| define(ddl, statement, &planned, &[]))
}

/// Runs a statement that makes, changes or drops objects, or calls them. Definitions bind what is stored, and views that are
/// nested in views need more stack than a coroutine has. Nothing that they bind outlives them.
fn define(
    ddl: &mut ddl::Ddl<'_>,
    statement: &Statement,
    planned: &Planned,
    parameters: &[Value],
) -> Result<UtilityOutput> {
    if matches!(statement, Statement::Do { .. } | Statement::Call(_)) {
        return define_here(ddl, statement, planned, parameters);
    }
    sync::on_further_stack(|| define_here(ddl, statement, planned, parameters))
        .map_err(|_| syntax::parser::no_stack())?
}

fn define_here(
    ddl: &mut ddl::Ddl<'_>,
    statement: &Statement,
    planned: &Planned,
    parameters: &[Value],
) -> Result<UtilityOutput> {
    ddl.check_rights(statement)?;
    match statement {
        Statement::CreateTable(create) => create_table::create(ddl, create),
        Statement::CreateTableAs(create) => {
            if let (true, Statement::Select(query)) = (create.materialized_view, &create.source) {
                stored_query::lock_relations_of(ddl, query)?;
            }
            table_as::create(ddl, create, planned, parameters)
        }
        Statement::CreateIndex(create) => index::create(ddl, create),
        Statement::CreateTrigger(create) => trigger::create(ddl, create),
        Statement::CreateView(create) => {
            stored_query::lock_relations_of(ddl, &create.query)?;
            view::create(ddl, create)
        }
        Statement::CreateSequence(create) => sequence::create(ddl, create),
        Statement::AlterSequence(alter) => sequence::alter(ddl, alter),
        Statement::CreateSchema(create) => schema::create(ddl, create),
        Statement::CreateExtension { name, if_not_exists } => extension::create(ddl, name, *if_not_exists),
        Statement::CreateFunction(create) => function::create(ddl, create),
        Statement::AlterFunction(alter) => function::alter(ddl, alter),
        Statement::CreateEnum { name, labels } => user_type::create_enum(ddl, name, labels),
        Statement::CreateComposite { name, columns } => user_type::create_composite(ddl, name, columns),
        Statement::CreateDomain(create) => user_type::create_domain(ddl, create),
        Statement::AlterEnum(alter) => user_type::alter_enum(ddl, alter),
        Statement::AlterDomain(alter) => user_type::alter_domain(ddl, alter),
        Statement::Do { language, body } => function::run_block(ddl, language.as_ref(), body),
        Statement::Call(call) => function::call(ddl, call, parameters, &planned.statement.parameters),
        Statement::Drop(drop) => drop::drop(ddl, drop),
        Statement::AlterTable(alter) => alter_table::alter(ddl, alter),
        Statement::Rename(rename) => rename::rename(ddl, rename),
        Statement::AlterOwner { object, new_owner } => rename::alter_owner(ddl, object, new_owner),
        Statement::AlterObjectSchema { object, new_schema, if_exists } => {
            rename::set_schema(ddl, object, new_schema, *if_exists)
        }
        Statement::Comment { object, comment } => comment::comment(ddl, object, comment.as_deref()),
        Statement::Reindex(reindex) => index::reindex(ddl, reindex),
        Statement::RefreshMaterializedView { view, concurrently, no_data } => {
            table_as::refresh(ddl, view, *concurrently, *no_data)
        }
        Statement::CreateRole(create) => role::create(ddl, create),
        Statement::AlterRole(alter) => role::alter(ddl, alter),
        Statement::AlterRoleSet { role, database, set } => {
            session_default::alter_role(ddl, role.as_ref(), database.as_ref(), set)
        }
        Statement::CreateDatabase { name, options } => database::create(ddl, name, options),
        Statement::AlterDatabase { name, options } => database::alter(ddl, name, options),
        Statement::DropDatabase { name, if_exists, force } => database::drop(ddl, name, *if_exists, *force),
        Statement::AlterDatabaseSet { name, set } => session_default::alter_database(ddl, name, set),
        Statement::DropRole { roles, if_exists } => role::drop(ddl, roles, *if_exists),
        Statement::Grant(grant) => grant::grant(ddl, grant),
        Statement::GrantRole(grant) => role::grant(ddl, grant),
        Statement::AlterDefaultPrivileges(alter) => default_privileges::alter(ddl, alter),
        Statement::ReassignOwned { roles, new_role } => owned::reassign(ddl, roles, new_role),
        Statement::DropOwned { roles, cascade } => owned::drop(ddl, roles, *cascade),
        _ => Err(Error::unsupported(format!("{} is not supported", facts(statement).tag))),
    }
}

/// The table called `name`.
///
/// # Errors
/// 42P01 if there is none, 42809 if it is something else.
fn find_table(state: &SessionState, name: &QualifiedName) -> Result<Arc<TableDef>> {
    let view = state.catalog();
    if let Some(schema) = &name.schema {
        view.usable_schema(schema)?;
    }
    match view.relation_or_type(name.schema.as_deref(), &name.name) {
        Some(Ok(Relation::Table(table))) => Ok(Arc::clone(table)),
        Some(_) => Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{}\" is not a table", name.name))),
        None => {
            // That it is not there is something others may have committed a moment ago.
            state.engine().observe_horizon();
            Err(missing::relation(name))
        }
    }
}

/// Plans a statement that stands within another, which has parameters of these types.
fn plan_inner(
    state: &SessionState,
    text: &Arc<str>,
    statement: &Statement,
    parameters: &[SqlType],
) -> Result<Arc<Planned>> {
    let tree = tree::ParsedStatement { statement: statement.clone(), start: 0, end: text.len(), depth: 0 };
    crate::state::prepared::plan_uncached(state, text, &tree, parameters)
}

/// Tells the client a notice of this code.
fn notice(session: &dyn TopLevel, severity: Severity, error: &Error, client: &mut dyn Client) {
    session.state().notice(severity, error, client);
}
