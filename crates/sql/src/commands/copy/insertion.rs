//! The rows that COPY FROM reads become rows of the table.

use std::borrow::Cow;
use std::sync::Arc;

use base::{Error, Result, sqlstate};
use plan::privileges::Privileges;
use plan::{CatalogView, Expr, ExprKind};
use schema::catalog::{ColumnDef, TableDef};
use types::reg_types::quote_identifier;
use types::{CatalogLookup, SqlType, Value};

use super::format::LineReader;
use super::options::{CopyFormat, CopyOptions};
use super::{Source, wire_format};
use crate::state::planning::Environment;
use crate::state::{Planned, Running, SessionState, nested};
use executor::client::Client;
use executor::{Locals, Run, evaluate};
use planner::binder::expression_columns;
use planner::{column_default, copy_filter};

/// Reads rows from the client and inserts each as `INSERT ... VALUES ($1, ...)` would.
pub(super) fn copy_from(
    state: &SessionState,
    table: &Arc<TableDef>,
    columns: &[usize],
    filter: Option<&RowFilter>,
    options: &CopyOptions,
    client: &mut dyn Client,
) -> Result<u64> {
    let target = Target::new(state, table, columns, filter);
    let types = target.types();
    let planned = target.plan(&types)?;
    let first_check = state.next_check.get();
    state.engine().begin_statement()?;
    client.require(state.gate());
    client.copy_in_response(wire_format(options), columns.len())?;
    client.relieve()?;
    let mut running = Running::start(&planned)?;
    let mut source =
        Source { table, columns, types: &types, options, reader: LineReader::default(), fields: Vec::new() };
    let result = running.with_dependent_mut(|_, execution| -> Result<u64> {
        execution.root.begin_rows(&mut Run::new(state, client, &[], &mut execution.locals))?;
        let mut insert = |values: &[Value], client: &mut dyn Client| -> Result<bool> {
            let Some(parameters) = target.row(values, client)? else { return Ok(false) };
            // A trigger may leave the row out.
            let before = execution.locals.affected_rows;
            let mut run = Run::new(state, client, &parameters, &mut execution.locals);
            execution.root.rescan();
            while execution.root.next(&mut run)? {}
            drop(run);
            Ok(execution.locals.affected_rows > before)
        };
        match options.format {
            CopyFormat::Binary => source.read_binary(state, client, &mut insert),
            _ => source.read_lines(state, client, &mut insert),
        }
    });
    let result = result.and_then(|count| {
        running.with_dependent_mut(|_, execution| {
            let mut run = Run::new(state, client, &[], &mut execution.locals);
            execution.root.end_rows(&mut run)
        })?;
        Ok(count)
    });
    let result = result.and_then(|count| {
        executor::run_pending_checks(state, executor::Due::Statement(first_check), client)?;
        Ok(count)
    });
    state.engine().end_statement();
    result
}

/// The columns that rows are inserted into.
struct Target<'t> {
    state: &'t SessionState,
    table: &'t TableDef,
    /// Those that are copied.
    columns: &'t [usize],
    filter: Option<&'t RowFilter>,
    /// The columns of the INSERT, in the order of its parameters: those copied, those that get their default before WHERE, and `unasked`.
    inserted: Vec<usize>,
    /// Columns of a domain that are not copied and have no default. They get NULL explicitly, so that the domain's checks are not run.
    unasked: Vec<usize>,
}

impl<'t> Target<'t> {
    fn new(
        state: &'t SessionState,
        table: &'t TableDef,
        columns: &'t [usize],
        filter: Option<&'t RowFilter>,
    ) -> Target<'t> {
        let filled = filter.map_or(&[][..], |filter| &filter.filled);
        let mut inserted: Vec<usize> = columns.iter().copied().chain(filled.iter().map(|(place, _)| *place)).collect();
        let view = state.catalog();
        let unasked: Vec<usize> = (0..table.columns.len())
            .filter(|place| !inserted.contains(place) && is_null_of_domain(&view, &table.columns[*place]))
            .collect();
        inserted.extend(&unasked);
        Target { state, table, columns, filter, inserted, unasked }
    }

    fn types(&self) -> Vec<SqlType> {
        let defs = self.inserted.iter().map(|column| &self.table.columns[*column]);
        defs.map(|def| SqlType::with_typmod(def.type_oid, def.typmod)).collect()
    }

    /// The plan of the INSERT, whose parameters have these types.
    fn plan(&self, types: &[SqlType]) -> Result<Arc<Planned>> {
        let (state, table) = (self.state, self.table);
        let insert: Arc<str> = self.insert_statement().into();
        let bare_types: Arc<[SqlType]> = types.iter().map(|sql_type| SqlType::new(sql_type.oid)).collect();
        let plan = || nested::locked(state, || nested::plan_text(state, &insert, &bare_types));
        if self.inserted.len() == self.columns.len() {
            return plan();
        }
        // Defaults need no privilege on their columns.
        state.require_columns(table.oid, Privileges::INSERT, self.columns)?;
        state.acting_as(table.owner, plan)
    }

    fn insert_statement(&self) -> String {
        let table = self.table;
        let names: Vec<String> =
            self.inserted.iter().map(|column| quote_identifier(&table.columns[*column].name)).collect();
        let parameters: Vec<String> = (1..=self.inserted.len()).map(|number| format!("${number}")).collect();
        let schema = self.state.catalog().schema_name(table.schema);
        let target = format!("INSERT INTO {}.{}", quote_identifier(&schema), quote_identifier(&table.name));
        if names.is_empty() {
            format!("{target} DEFAULT VALUES")
        } else {
            format!("{target} ({}) OVERRIDING SYSTEM VALUE VALUES ({})", names.join(", "), parameters.join(", "))
        }
    }

    /// The parameters of the INSERT, from the values of the columns that are copied; nothing for a row that the filter leaves out.
    fn row<'v>(&self, values: &'v [Value], client: &mut dyn Client) -> Result<Option<Cow<'v, [Value]>>> {
        let mut parameters = Cow::Borrowed(values);
        if let Some(filter) = self.filter {
            let mut row = vec![Value::Null; self.table.columns.len()];
            for (place, value) in self.columns.iter().zip(values) {
                row[*place] = value.clone();
            }
            let mut locals = Locals::for_expression();
            let mut run = Run::new(self.state, client, &[], &mut locals);
            for (place, default) in &filter.filled {
                row[*place] = evaluate(default, &[], &mut run)?;
            }
            if !evaluate(&filter.condition, &row, &mut run)?.is_true() {
                return Ok(None);
            }
            if !filter.filled.is_empty() {
                parameters = self.inserted.iter().map(|place| row[*place].clone()).collect();
            }
        }
        if !self.unasked.is_empty() {
            parameters.to_mut().resize(self.inserted.len(), Value::Null);
        }
        Ok(Some(parameters))
    }
}

/// WHERE: the condition that rows must meet, over the table's full row.
pub(super) struct RowFilter {
    condition: Expr,
    /// The defaults of columns that are not copied. They are computed for each row before the condition is, whether it
    /// asks for them or not, as a default may count.
    filled: Vec<(usize, Expr)>,
}

impl RowFilter {
    pub(super) fn bind(
        state: &SessionState,
        table: &Arc<TableDef>,
        columns: &[usize],
        filter: &syntax::tree::Expr,
        text: &Arc<str>,
    ) -> Result<RowFilter> {
        let environment = Environment::new(state, &state.catalog());
        let mut condition = environment.with_rights(text, |context| copy_filter(context, table, filter))?;
        settle_system_columns(&mut condition, table)?;
        let read = expression_columns(&condition);
        if !read.is_empty() {
            state.require_columns(table.oid, Privileges::SELECT, &read)?;
        }
        if let Some(place) = read.into_iter().find(|place| table.columns[*place].generated.is_some()) {
            let message = "generated columns are not supported in COPY FROM WHERE conditions";
            return Err(Error::new(sqlstate::INVALID_COLUMN_REFERENCE, message)
                .detail(format!("Column \"{}\" is a generated column.", table.columns[place].name)));
        }
        let is_filled = |place: &usize| {
            let column = &table.columns[*place];
            !column.dropped && column.generated.is_none() && !columns.contains(place)
        };
        let filled = (0..table.columns.len())
            .filter(is_filled)
            .map(|place| {
                let column = &table.columns[place];
                let default = match is_null_of_domain(environment.view(), column) {
                    true => Expr::null(SqlType::with_typmod(column.type_oid, column.typmod)),
                    false => environment.with_rights("", |context| column_default(context, column))?,
                };
                Ok((place, default))
            })
            .collect::<Result<_>>()?;
        Ok(RowFilter { condition, filled })
    }
}

/// Whether a column is of a domain, and has no default, its domain's among them.
fn is_null_of_domain(view: &CatalogView, column: &ColumnDef) -> bool {
    let sql_type = SqlType::with_typmod(column.type_oid, column.typmod);
    !column.dropped
        && column.default.is_none()
        && column.identity.is_none()
        && column.generated.is_none()
        && types::base_type(view, sql_type).oid != sql_type.oid
        && view.domain_default(sql_type.oid).is_none()
}

/// Of the system columns a row that is not stored yet has but its table.
fn settle_system_columns(expr: &mut Expr, table: &TableDef) -> Result<()> {
    if let ExprKind::Variable(variable) = &expr.kind {
        if expr.sql_type.oid != types::oids::OID || variable.attribute >= 0 {
            return Err(Error::unsupported(
                "system columns but tableoid are not supported in COPY FROM WHERE conditions",
            ));
        }
        expr.kind = ExprKind::Constant(Value::oid(table.oid));
    }
    let mut result = Ok(());
    expr.for_each_child_mut(&mut |child| {
        if result.is_ok() {
            result = settle_system_columns(child, table);
        }
    });
    result
}
