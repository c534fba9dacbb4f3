//! Functions in SQL: the statements of a body, run one after the other; the last one's rows are the result.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use plan::{CatalogView, Command, StatementKind};
use rustc_hash::FxHashMap;
use schema::catalog::{FunctionDef, Volatility};
use sync::Mutex;
use syntax::parser::{self, ParseOptions};
use syntax::tree::{ParsedStatement, Statement};
use types::{
    self, Cast, CastContext, CatalogLookup, RecordShape, RecordValue, SqlType, TypeKind, Value, is_polymorphic, oids,
    type_shape,
};

use crate::state::callbacks::no_blocks;
use crate::state::planning::Environment;
use crate::state::ready_functions::Kept;
use crate::state::{Language, session_of};
use crate::state::{Planned, RelationLocks, SessionState, nested};
use executor::Run;
use planner::binder;
use planner::routine::{ParameterNames, check_columns, check_result, input_types, is_anonymous_row, result_shape};

/// Refuses types that no function in SQL can have.
///
/// # Errors
/// 42P13.
fn check_types(function: &FunctionDef, view: &CatalogView) -> Result<()> {
    let is_pseudo = |oid| type_shape(view, oid).is_some_and(|shape| shape.kind == TypeKind::Pseudo);
    let refused = |what: &str, oid| {
        let shown = types::format_type_name(view, oid);
        Err(Error::new(sqlstate::INVALID_FUNCTION_DEFINITION, format!("SQL functions cannot {what} type {shown}")))
    };
    let returns = function.returns;
    if is_pseudo(returns) && !matches!(returns, oids::RECORD | oids::VOID) && !is_polymorphic(returns) {
        return refused("return", returns);
    }
    for argument in function.arguments.iter().filter(|argument| argument.mode.is_input()) {
        if is_pseudo(argument.type_oid) && !is_polymorphic(argument.type_oid) {
            return refused("have arguments of", argument.type_oid);
        }
    }
    Ok(())
}

/// Checks a body as CREATE FUNCTION does: that its statements can be bound, and that the last one gives the result. Where a
/// type is not known before a call, only the grammar is checked.
///
/// # Errors
/// Errors of binding, with positions in the body; 42P13 for a body that does not fit its result.
fn check(state: &SessionState, view: &CatalogView, function: &FunctionDef) -> Result<()> {
    let in_context = |mut error: Error| {
        let fields = error.fields_mut();
        fields.internal_position = fields.position.take();
        if fields.internal_position.is_some() {
            fields.internal_query = Some(function.body.clone());
            return error;
        }
        error.context(format!("SQL function \"{}\"", function.name))
    };
    let statements = parser::parse(&function.body, state.parse_options()).map_err(in_context)?;
    if function.arguments.iter().any(|argument| argument.mode.is_input() && is_polymorphic(argument.type_oid)) {
        return Ok(());
    }
    let names = ParameterNames(function);
    let environment = Environment::new(state, view).with_variables(Some(&names));
    let mut columns = None;
    for tree in &statements {
        let mut parameters = binder::Parameters::fixed(input_types(function));
        let mut bind = |statement: &Statement| -> Result<Option<binder::Bound>> {
            let bound =
                environment.with_context(&function.body, |context| binder::bind(statement, context, &mut parameters));
            let bound = bound.map_err(in_context)?;
            let access = bound.as_ref().map_or(&[][..], |bound| bound.access.as_slice());
            state.require_schemas(access).map_err(in_context)?;
            Ok(bound)
        };
        let bound = bind(&tree.statement)?;
        if let Statement::DeclareCursor(declare) = &tree.statement {
            bind(&Statement::Select(Box::new(declare.query.clone())))?;
        }
        columns = bound.map(|bound| {
            let columns = bound.query.output_columns();
            columns.into_iter().map(|column| (column.name.to_string(), column.sql_type)).collect::<Vec<_>>()
        });
    }
    let last = statements.last().map(|tree| &tree.statement);
    check_result(function, last, columns.as_deref(), view).map_err(in_context)
}

/// The language `sql`.
pub(crate) struct Sql;

impl Language for Sql {
    fn name(&self) -> &'static str {
        "sql"
    }

    fn check_types(&self, function: &FunctionDef, view: &CatalogView) -> Result<()> {
        check_types(function, view)
    }

    fn check_body(&self, state: &SessionState, view: &CatalogView, function: &FunctionDef) -> Result<Vec<Error>> {
        check(state, view, function).map(|()| Vec::new())
    }

    fn run_block(&self, _: &mut Run<'_, '_>, _: &str) -> Result<()> {
        Err(no_blocks("sql"))
    }
}

/// Bodies that a session keeps from call to call.
#[derive(Default)]
pub(crate) struct Bodies {
    by_function: FxHashMap<Oid, Arc<Body>>,
    text_bytes: usize,
}

impl Kept for Bodies {
    const PLACE: usize = 0;
}

/// A parsed body with its plans takes many times the memory of its text. When the texts have more bytes than this, all bodies are dropped.
const TEXT_BYTES_MAX: usize = 256 << 10;

/// A body in parsed form, with the plans of its statements.
struct Body {
    /// The definition it was made from.
    function: Arc<FunctionDef>,
    options: ParseOptions,
    statements: Vec<KeptStatement>,
}

struct KeptStatement {
    tree: ParsedStatement,
    plan: Mutex<Option<Arc<Planned>>>,
}

impl Body {
    fn of(function: &Arc<FunctionDef>, state: &SessionState) -> Result<Arc<Body>> {
        let options = state.parse_options();
        let known = state.ready_functions.of::<Bodies>().borrow().by_function.get(&function.oid).cloned();
        if let Some(body) = known
            && body.options == options
            && (Arc::ptr_eq(&body.function, function) || body.function == *function)
        {
            return Ok(body);
        }
        let statements = parser::parse(&function.body, options)?;
        let statements = statements.into_iter().map(|tree| KeptStatement { tree, plan: Mutex::default() }).collect();
        let body = Arc::new(Body { function: Arc::clone(function), options, statements });
        let mut bodies = state.ready_functions.of::<Bodies>().borrow_mut();
        bodies.text_bytes += function.body.len();
        if bodies.text_bytes > TEXT_BYTES_MAX {
            *bodies = Bodies::default();
            bodies.text_bytes = function.body.len();
        }
        // A body alone that is so long is not kept.
        if function.body.len() <= TEXT_BYTES_MAX {
            bodies.by_function.insert(function.oid, Arc::clone(&body));
        }
        Ok(body)
    }
}

impl KeptStatement {
    /// The plan, made by `plan` unless one is kept that is still good.
    fn planned(
        &self,
        run: &Run<'_, '_>,
        plan: impl FnOnce(&Run<'_, '_>) -> Result<Arc<Planned>>,
    ) -> Result<Arc<Planned>> {
        // Taken out first: planning may call the function.
        let known = self.plan.lock().clone();
        if let Some(planned) = known.filter(|planned| session_of(run).is_good(planned)) {
            return Ok(planned);
        }
        let planned = plan(run)?;
        // A constant may have been read under a setting that changes.
        *self.plan.lock() = planned.statement.is_cacheable.then(|| Arc::clone(&planned));
        Ok(planned)
    }
}

/// Runs the body: the values of the last statement's rows; only of the first, if `only_first`.
///
/// # Errors
/// Errors of its statements, with the function in the context; 42P13 for a body that does not fit its result.
pub fn run(
    run: &mut Run<'_, '_>,
    function: &Arc<FunctionDef>,
    arguments: &[Value],
    only_first: bool,
) -> Result<Vec<Value>> {
    executor::with_stack_for_call(|| run_here(run, function, arguments, only_first))
}

fn run_here(
    run: &mut Run<'_, '_>,
    function: &Arc<FunctionDef>,
    arguments: &[Value],
    only_first: bool,
) -> Result<Vec<Value>> {
    // The columns that a query around has listed for a record.
    let listed = run.state.expected_columns.take();
    run.check_depth()?;
    // Errors in the body itself are found before the body runs.
    let at_startup = |mut error: Error| {
        let fields = error.fields_mut();
        if fields.position.is_some() && fields.internal_query.is_none() {
            fields.internal_position = fields.position.take();
            fields.internal_query = Some(function.body.clone());
        }
        error.context(format!("SQL function \"{}\" during startup", function.name))
    };
    let body = Body::of(function, session_of(run)).map_err(at_startup)?;
    let types = input_types(function);
    let names = ParameterNames(function);
    let mut values = Vec::new();
    let count = body.statements.len();
    for (number, kept) in body.statements.iter().enumerate() {
        let tree = &kept.tree;
        let in_context = |error: Error| {
            // It may leave thousands of calls, one after the other.
            sync::let_others_run();
            error.context(format!("SQL function \"{}\" statement {}", function.name, number + 1))
        };
        let mut locks = RelationLocks::default();
        let planned = loop {
            run.refresh_catalog();
            let planned = kept.planned(run, |run| {
                let environment = Environment::new(session_of(run), &run.catalog).with_variables(Some(&names));
                environment.planned(&function.body, &tree.statement, binder::Parameters::fixed(types.clone()))
            });
            let planned = planned.map_err(at_startup)?;
            if planned.statement.lacks_arbiter {
                return Err(at_startup(plan::no_arbiter()));
            }
            let is_utility = matches!(planned.statement.kind, StatementKind::Utility(_));
            if is_utility || locks.take(session_of(run), &planned).map_err(in_context)? {
                break planned;
            }
        };
        if function.volatility != Volatility::Volatile {
            refuse_change(&planned.statement, function.returns_set).map_err(at_startup)?;
        }
        if let StatementKind::Utility(utility) = &planned.statement.kind {
            if let Statement::Transaction(command) = &**utility {
                let message = format!("{} is not allowed in an SQL function", command.name());
                return Err(Error::unsupported(message));
            }
            let text: Arc<str> = Arc::from(function.body.as_str());
            let (state, client) = (session_of(run), &mut *run.client);
            crate::commands::run_nested(state, utility, &planned, &text, arguments, Some(&names), client)
                .map_err(in_context)?;
            run.relieve()?;
            run.catalog = state.catalog();
            continue;
        }
        let is_last = number + 1 == count;
        let columns: Vec<(String, SqlType)> =
            planned.statement.columns.iter().map(|column| (column.name.to_string(), column.sql_type)).collect();
        if is_last {
            let has_plan = matches!(planned.statement.kind, StatementKind::Query(_));
            check_result(function, Some(&tree.statement), has_plan.then_some(&columns), &run.catalog)
                .and_then(|()| match &listed {
                    Some(listed) if !is_one_row(&columns, &run.catalog) => {
                        let wanted: Vec<SqlType> = listed.iter().map(|(_, sql_type)| *sql_type).collect();
                        check_columns(function, &columns, &wanted, &run.catalog)
                    }
                    _ => Ok(()),
                })
                .map_err(at_startup)?;
        }
        let is_volatile = function.volatility == Volatility::Volatile;
        let state = session_of(run);
        if is_volatile {
            state.engine().push_snapshot()?;
        }
        let mut rows: Vec<Vec<Value>> = Vec::new();
        // A query ends at the first row; what changes rows, and a query without a result, runs to its end.
        let is_query = planned.statement.command == Command::Select && function.returns != oids::VOID;
        let ends_early = is_last && only_first && is_query;
        let first_check = state.next_check.get();
        let result = nested::run(run, &planned, arguments, &mut |_, row| {
            if is_last && (!only_first || rows.is_empty()) {
                rows.push(row.to_vec());
            }
            Ok(if ends_early { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })
        .and_then(|_| executor::run_pending_checks(state, executor::Due::Statement(first_check), &mut *run.client));
        if is_volatile {
            state.engine().pop_snapshot();
        }
        result.map_err(in_context)?;
        if is_last && function.returns != oids::VOID {
            let shape = match &listed {
                Some(listed) if !is_one_row(&columns, &run.catalog) => {
                    Some(Arc::new(RecordShape::without_type(listed.to_vec())))
                }
                _ => result_shape(function, &run.catalog),
            };
            for row in rows {
                let value = result_value(function, shape.as_ref(), &columns, row, run);
                values.push(value.map_err(in_context)?);
            }
        }
    }
    if function.returns == oids::VOID && !function.returns_set {
        return Ok(vec![Value::Null]);
    }
    Ok(values)
}

/// 0A000 for a statement that changes something in a function that promised not to.
fn refuse_change(statement: &plan::Statement, returns_set: bool) -> Result<()> {
    let what = match (&statement.kind, statement.command) {
        (StatementKind::Utility(utility), _) => match &**utility {
            Statement::Transaction(_) => return Ok(()),
            utility => crate::commands::facts(utility).tag,
        },
        _ => match executor::changing_tag(statement) {
            // PostgreSQL makes a query that only locks rows part of the one that reads from the function.
            Some(_) if returns_set && statement.is_read_only => return Ok(()),
            Some(what) => what.into(),
            None => return Ok(()),
        },
    };
    Err(Error::unsupported(format!("{what} is not allowed in a non-volatile function")))
}

/// Whether there is one column that is a row: it is the result of a function that returns a record.
fn is_one_row(columns: &[(String, SqlType)], view: &dyn CatalogLookup) -> bool {
    let [(_, only)] = columns else { return false };
    let base = types::base_type(view, *only).oid;
    base == oids::RECORD || types::composite_shape(view, base).is_some()
}

/// One row as a value of the function's result, which [`check_result`] has found to fit.
fn result_value(
    function: &FunctionDef,
    shape: Option<&Arc<RecordShape>>,
    columns: &[(String, SqlType)],
    row: Vec<Value>,
    run: &mut Run<'_, '_>,
) -> Result<Value> {
    let becomes_record = match (shape, columns) {
        (Some(_), [(_, source)]) => source.oid != function.returns && !is_anonymous_row(function, columns),
        (None, [_]) => function.returns == oids::RECORD && !is_one_row(columns, &run.catalog),
        _ => true,
    };
    if !becomes_record {
        let source = columns.first().map_or(SqlType::UNKNOWN, |(_, source)| *source);
        let value = row.into_iter().next().unwrap_or_default();
        return assigned(value, source, SqlType::new(function.returns), run);
    }
    let Some(shape) = shape else {
        let shape = Arc::new(RecordShape::without_type(columns.to_vec()));
        return Ok(Value::Record(Arc::new(RecordValue { shape, fields: row })));
    };
    let types = columns.iter().zip(&shape.fields);
    let fields = row
        .into_iter()
        .zip(types)
        .map(|(value, ((_, source), (_, target)))| assigned(value, *source, *target, run))
        .collect::<Result<_>>()?;
    Ok(Value::Record(Arc::new(RecordValue { shape: Arc::clone(shape), fields })))
}

/// The value as an assignment to `target` makes it.
fn assigned(value: Value, source: SqlType, target: SqlType, run: &mut Run<'_, '_>) -> Result<Value> {
    match Cast::find(&run.catalog, source, target, CastContext::Assignment) {
        Some(cast) if !cast.is_noop() => cast.apply(run, value),
        _ => Ok(value),
    }
}
