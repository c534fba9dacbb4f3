//! Foreign keys.
//!
//! A changed row queues a check, made at the end of its statement, or of the transaction if the constraint is
//! deferred. Checks and actions are SQL statements of their own, planned once and kept like any other: a new
//! reference looks for its row `FOR KEY SHARE`, so that the row stays until this transaction has ended; what
//! happens to the references of a row that goes is a SELECT, DELETE or UPDATE on the table that holds them.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use engine::catalog::{Catalog, ConstraintDef, ConstraintKind, ForeignKeyAction, ForeignKeyMatch, TableDef};
use rustc_hash::FxHashMap;

use super::row_set::RowEquality;
use super::{Locals, Run};
use crate::client::Client;
use crate::session::{CatalogView, Nested, SessionState, quote_identifier};
use crate::types::{self, SqlType, Value};

/// The foreign keys that changes of one table's rows touch.
#[derive(Default)]
pub struct ForeignKeys {
    /// Of the table itself.
    outgoing: Vec<Arc<ForeignKey>>,
    /// Of other tables (or itself), to it.
    incoming: Vec<Arc<ForeignKey>>,
}

/// One foreign key.
#[derive(Debug)]
struct ForeignKey {
    constraint: Oid,
    name: String,
    /// The table that refers.
    table: Arc<TableDef>,
    columns: Vec<usize>,
    referenced: Arc<TableDef>,
    referenced_columns: Vec<usize>,
    on_update: ForeignKeyAction,
    on_delete: ForeignKeyAction,
    matching: ForeignKeyMatch,
    initially_deferred: bool,
    deferrable: bool,
}

/// A check that waits for the end of its statement or transaction.
pub struct PendingCheck {
    key: Arc<ForeignKey>,
    what: Check,
    is_deferred: bool,
}

enum Check {
    /// A row refers to these values: they must be there.
    Referenced { values: Vec<Value> },
    /// These values of the referenced columns are gone: nothing may refer to them, or what refers is changed.
    /// `new` are the values that replace them; `None` if the row was deleted.
    Gone { old: Vec<Value>, new: Option<Vec<Value>> },
}

/// `SET CONSTRAINTS` of a transaction.
#[derive(Debug, Default)]
pub struct Deferral {
    /// `ALL`, if it was said.
    pub all: Option<bool>,
    /// By constraint, said after that.
    pub by_constraint: FxHashMap<Oid, bool>,
}

impl ForeignKey {
    fn new(constraint: &ConstraintDef, table: &Arc<TableDef>, catalog: &Catalog) -> Option<Arc<ForeignKey>> {
        let ConstraintKind::ForeignKey {
            columns,
            referenced_table,
            referenced_columns,
            on_update,
            on_delete,
            matching,
            ..
        } = &constraint.kind
        else {
            return None;
        };
        Some(Arc::new(ForeignKey {
            constraint: constraint.oid,
            name: constraint.name.clone(),
            table: Arc::clone(table),
            columns: columns.clone(),
            referenced: Arc::clone(catalog.table(*referenced_table)?),
            referenced_columns: referenced_columns.clone(),
            on_update: *on_update,
            on_delete: *on_delete,
            matching: *matching,
            initially_deferred: constraint.initially_deferred,
            deferrable: constraint.deferrable,
        }))
    }

    fn is_deferred(&self, state: &SessionState) -> bool {
        let deferral = state.deferred.borrow();
        let said = deferral.by_constraint.get(&self.constraint).copied().or(deferral.all);
        self.deferrable && said.unwrap_or(self.initially_deferred)
    }
}

fn pick(values: &[Value], columns: &[usize]) -> Vec<Value> {
    columns.iter().map(|column| values[*column].clone()).collect()
}

fn column_types(table: &TableDef, columns: &[usize]) -> Vec<SqlType> {
    columns.iter().map(|column| SqlType::new(table.columns[*column].type_oid)).collect()
}

impl ForeignKeys {
    /// Those of and to `table`.
    pub fn of(table: &Arc<TableDef>, catalog: &Catalog) -> ForeignKeys {
        let keys_of = |table: &Arc<TableDef>| -> Vec<Arc<ForeignKey>> {
            table.constraints.iter().filter_map(|constraint| ForeignKey::new(constraint, table, catalog)).collect()
        };
        let to_this = |key: &Arc<ForeignKey>| key.referenced.oid == table.oid;
        ForeignKeys {
            outgoing: keys_of(table),
            incoming: catalog.tables_referencing(table.oid).flat_map(keys_of).filter(to_this).collect(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.outgoing.is_empty() && self.incoming.is_empty()
    }

    /// A row with these values was inserted, or replaced `old`.
    ///
    /// # Errors
    /// 23503 for a MATCH FULL key that is partly NULL.
    pub fn check_new_row(
        &self,
        table: &TableDef,
        values: &[Value],
        old: Option<&[Value]>,
        run: &Run<'_, '_>,
    ) -> Result<()> {
        for key in &self.outgoing {
            let referring = pick(values, &key.columns);
            if let Some(old) = old
                && is_same(&pick(old, &key.columns), &referring)
            {
                continue;
            }
            let null_count = referring.iter().filter(|value| value.is_null()).count();
            if null_count > 0 {
                if key.matching == ForeignKeyMatch::Full && null_count < referring.len() {
                    let message = format!(
                        "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
                        table.name, key.name
                    );
                    return Err(Error::new(sqlstate::FOREIGN_KEY_VIOLATION, message)
                        .detail("MATCH FULL does not allow mixing of null and nonnull key values.")
                        .constraint(&run.catalog.schema_name(table.schema), &table.name, &key.name));
                }
                continue;
            }
            queue(run.state, key, Check::Referenced { values: referring });
        }
        Ok(())
    }

    /// A row was updated.
    ///
    /// # Errors
    /// As [`ForeignKeys::check_new_row`], and 23503 for ON UPDATE RESTRICT.
    pub fn after_update(&self, table: &TableDef, old: &[Value], new: &[Value], run: &mut Run<'_, '_>) -> Result<()> {
        self.check_new_row(table, new, Some(old), run)?;
        for key in &self.incoming {
            let (gone, replacement) = (pick(old, &key.referenced_columns), pick(new, &key.referenced_columns));
            if !is_same(&gone, &replacement) {
                self.row_gone(key, key.on_update, gone, Some(replacement), run)?;
            }
        }
        Ok(())
    }

    /// A row was deleted.
    ///
    /// # Errors
    /// 23503 for ON DELETE RESTRICT.
    pub fn after_delete(&self, _table: &TableDef, old: &[Value], run: &mut Run<'_, '_>) -> Result<()> {
        for key in &self.incoming {
            self.row_gone(key, key.on_delete, pick(old, &key.referenced_columns), None, run)?;
        }
        Ok(())
    }

    fn row_gone(
        &self,
        key: &Arc<ForeignKey>,
        action: ForeignKeyAction,
        old: Vec<Value>,
        new: Option<Vec<Value>>,
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        if old.iter().any(Value::is_null) {
            return Ok(());
        }
        if action == ForeignKeyAction::Restrict {
            return refuse_references(key, &old, run);
        }
        queue(run.state, key, Check::Gone { old, new });
        Ok(())
    }
}

fn is_same(left: &[Value], right: &[Value]) -> bool {
    RowEquality::OfValues.equal(left, right)
}

fn queue(state: &SessionState, key: &Arc<ForeignKey>, what: Check) {
    // Actions are never deferred, checks are if the constraint is.
    let is_action = match &what {
        Check::Referenced { .. } => false,
        Check::Gone { new, .. } => {
            let action = if new.is_some() { key.on_update } else { key.on_delete };
            action != ForeignKeyAction::NoAction
        }
    };
    let is_deferred = !is_action && key.is_deferred(state);
    state.pending_checks.borrow_mut().push(PendingCheck { key: Arc::clone(key), what, is_deferred });
}

/// Makes the checks that wait for the end of the statement; the deferred ones too, if `deferred_too`.
///
/// # Errors
/// 23503, and whatever the actions raise.
pub fn run_pending_checks(state: &SessionState, deferred_too: bool, client: &mut dyn Client) -> Result<()> {
    if state.pending_checks.borrow().is_empty() {
        return Ok(());
    }
    let mut locals = Locals::for_expression();
    let mut run = crate::session::new_run(state, client, &[], &mut locals);
    let began = deferred_too;
    if began {
        state.engine().begin_statement()?;
    }
    let result = run_all(state, deferred_too, &mut run);
    if began {
        state.engine().end_statement();
    }
    result
}

/// Makes the checks that `SET CONSTRAINTS ... IMMEDIATE` has made immediate.
///
/// # Errors
/// As [`run_pending_checks`].
pub fn apply_deferral(state: &SessionState, client: &mut dyn Client) -> Result<()> {
    for check in state.pending_checks.borrow_mut().iter_mut() {
        check.is_deferred = check.is_deferred && check.key.is_deferred(state);
    }
    state.engine().begin_statement()?;
    let result = run_pending_checks(state, false, client);
    state.engine().end_statement();
    result
}

fn run_all(state: &SessionState, deferred_too: bool, run: &mut Run<'_, '_>) -> Result<()> {
    loop {
        let ready: Vec<PendingCheck> = {
            let mut pending = state.pending_checks.borrow_mut();
            pending.extract_if(.., |check| deferred_too || !check.is_deferred).collect()
        };
        if ready.is_empty() {
            return Ok(());
        }
        for check in ready {
            run.step()?;
            // What actions change queues checks of its own; they are made in the next round.
            state.engine().push_snapshot()?;
            let result = make(&check, run);
            state.engine().pop_snapshot();
            result?;
        }
    }
}

fn make(check: &PendingCheck, run: &mut Run<'_, '_>) -> Result<()> {
    let key = &check.key;
    match &check.what {
        Check::Referenced { values } => require_referenced(key, values, run),
        Check::Gone { old, new } => {
            let action = if new.is_some() { key.on_update } else { key.on_delete };
            match action {
                ForeignKeyAction::NoAction | ForeignKeyAction::Restrict => {
                    // Another row may have taken the values over by now.
                    if exists(key, &key.referenced, &key.referenced_columns, old, "", run)? {
                        return Ok(());
                    }
                    refuse_references(key, old, run)
                }
                ForeignKeyAction::Cascade => match new {
                    None => {
                        let text = format!(
                            "DELETE FROM {} WHERE {}",
                            table_name(&key.table, &run.catalog),
                            equalities(&key.table, &key.columns, 1)
                        );
                        execute(&text, old.clone(), &column_types(&key.referenced, &key.referenced_columns), run)
                    }
                    Some(new) => {
                        let first = old.len() + 1;
                        let assignments = assignments(key, |number| format!("${}", first + number));
                        update_references(key, &assignments, old, new.clone(), run)
                    }
                },
                ForeignKeyAction::SetNull => {
                    let assignments = assignments(key, |_| "NULL".to_owned());
                    update_references(key, &assignments, old, Vec::new(), run)
                }
                ForeignKeyAction::SetDefault => {
                    let assignments = assignments(key, |_| "DEFAULT".to_owned());
                    update_references(key, &assignments, old, Vec::new(), run)
                }
            }
        }
    }
}

/// A new reference must find its row, which is locked against removal until this transaction ends.
fn require_referenced(key: &ForeignKey, values: &[Value], run: &mut Run<'_, '_>) -> Result<()> {
    if exists(key, &key.referenced, &key.referenced_columns, values, " FOR KEY SHARE", run)? {
        return Ok(());
    }
    Err(not_present(key, values, run))
}

/// The error for a reference without its row: 23503.
fn not_present(key: &ForeignKey, values: &[Value], run: &Run<'_, '_>) -> Error {
    let message =
        format!("insert or update on table \"{}\" violates foreign key constraint \"{}\"", key.table.name, key.name);
    let detail = format!(
        "{} is not present in table \"{}\".",
        describe(&key.table, &key.columns, values, run),
        key.referenced.name
    );
    Error::new(sqlstate::FOREIGN_KEY_VIOLATION, message).detail(detail).constraint(
        &run.catalog.schema_name(key.table.schema),
        &key.table.name,
        &key.name,
    )
}

/// Nothing may refer to values that are gone.
fn refuse_references(key: &ForeignKey, old: &[Value], run: &mut Run<'_, '_>) -> Result<()> {
    if !exists(key, &key.table, &key.columns, old, " FOR KEY SHARE", run)? {
        return Ok(());
    }
    let message = format!(
        "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
        key.referenced.name, key.name, key.table.name
    );
    let detail = format!(
        "{} is still referenced from table \"{}\".",
        describe(&key.referenced, &key.referenced_columns, old, run),
        key.table.name
    );
    Err(Error::new(sqlstate::FOREIGN_KEY_VIOLATION, message).detail(detail).constraint(
        &run.catalog.schema_name(key.table.schema),
        &key.table.name,
        &key.name,
    ))
}

/// `Key (a, b)=(1, 2)`
fn describe(table: &TableDef, columns: &[usize], values: &[Value], run: &Run<'_, '_>) -> String {
    let names: Vec<&str> = columns.iter().map(|column| table.columns[*column].name.as_str()).collect();
    let texts: Vec<String> = columns
        .iter()
        .zip(values)
        .map(|(column, value)| types::output_string(value, table.columns[*column].type_oid, &run.format, &run.catalog))
        .collect();
    format!("Key ({})=({})", names.join(", "), texts.join(", "))
}

/// Whether a row of `table` has these values.
fn exists(
    key: &ForeignKey,
    table: &TableDef,
    columns: &[usize],
    values: &[Value],
    lock: &str,
    run: &mut Run<'_, '_>,
) -> Result<bool> {
    let text =
        format!("SELECT 1 FROM {} x WHERE {}{lock}", table_name(table, &run.catalog), equalities(table, columns, 1));
    // The values come from the table on the other side.
    let types = if table.oid == key.referenced.oid && columns == key.referenced_columns {
        column_types(&key.table, &key.columns)
    } else {
        column_types(&key.referenced, &key.referenced_columns)
    };
    let mut is_there = false;
    run_text(&text, values.to_vec(), &types, run, &mut |_, _| {
        is_there = true;
        Ok(ControlFlow::Break(()))
    })?;
    Ok(is_there)
}

fn assignments(key: &ForeignKey, value: impl Fn(usize) -> String) -> String {
    let assign = |(number, column): (usize, &usize)| {
        format!("{} = {}", quote_identifier(&key.table.columns[*column].name), value(number))
    };
    key.columns.iter().enumerate().map(assign).collect::<Vec<_>>().join(", ")
}

fn update_references(
    key: &ForeignKey,
    assignments: &str,
    old: &[Value],
    new: Vec<Value>,
    run: &mut Run<'_, '_>,
) -> Result<()> {
    let text = format!(
        "UPDATE {} SET {assignments} WHERE {}",
        table_name(&key.table, &run.catalog),
        equalities(&key.table, &key.columns, 1)
    );
    let mut types = column_types(&key.referenced, &key.referenced_columns);
    if !new.is_empty() {
        types.extend(column_types(&key.referenced, &key.referenced_columns));
    }
    let mut values = old.to_vec();
    values.extend(new);
    execute(&text, values, &types, run)
}

fn execute(text: &str, values: Vec<Value>, types: &[SqlType], run: &mut Run<'_, '_>) -> Result<()> {
    run_text(text, values, types, run, &mut |_, _| Ok(ControlFlow::Continue(())))
}

/// What is done with each row of a statement.
type OnRow<'f> = dyn FnMut(&mut Run<'_, '_>, &[Value]) -> Result<ControlFlow<()>> + 'f;

fn run_text(
    text: &str,
    values: Vec<Value>,
    types: &[SqlType],
    run: &mut Run<'_, '_>,
    on_row: &mut OnRow<'_>,
) -> Result<()> {
    let text: Arc<str> = Arc::from(text);
    let types: Arc<[SqlType]> = Arc::from(types);
    let planned = Nested::plan_text(run.state, &text, &types)?;
    Nested::run(run, &planned, &values, on_row)?;
    Ok(())
}

fn table_name(table: &TableDef, catalog: &CatalogView) -> String {
    format!("{}.{}", quote_identifier(&catalog.schema_name(table.schema)), quote_identifier(&table.name))
}

fn equalities(table: &TableDef, columns: &[usize], first: usize) -> String {
    let equal = |(number, column): (usize, &usize)| {
        format!("{} OPERATOR(pg_catalog.=) ${}", quote_identifier(&table.columns[*column].name), first + number)
    };
    columns.iter().enumerate().map(equal).collect::<Vec<_>>().join(" AND ")
}

/// Checks a foreign key that is being added against the rows that are there.
///
/// # Errors
/// 23503 for the first row without its partner.
pub fn check_existing_rows(constraint: &ConstraintDef, table: &Arc<TableDef>, run: &mut Run<'_, '_>) -> Result<()> {
    let Some(key) = ForeignKey::new(constraint, table, run.catalog.catalog()) else { return Ok(()) };
    let column = |table: &TableDef, column: usize, alias: &str| {
        format!("{alias}.{}", quote_identifier(&table.columns[column].name))
    };
    let pairs: Vec<String> = key
        .columns
        .iter()
        .zip(&key.referenced_columns)
        .map(|(own, other)| {
            format!(
                "{} OPERATOR(pg_catalog.=) {}",
                column(&key.referenced, *other, "pk"),
                column(&key.table, *own, "fk")
            )
        })
        .collect();
    let own: Vec<String> = key.columns.iter().map(|own| column(&key.table, *own, "fk")).collect();
    let not_null: Vec<String> = own.iter().map(|own| format!("{own} IS NOT NULL")).collect();
    let text = format!(
        "SELECT {} FROM {} fk LEFT JOIN {} pk ON ({}) WHERE {} IS NULL AND ({})",
        own.join(", "),
        table_name(&key.table, &run.catalog),
        table_name(&key.referenced, &run.catalog),
        pairs.join(" AND "),
        column(&key.referenced, key.referenced_columns[0], "pk"),
        not_null.join(if key.matching == ForeignKeyMatch::Full { " OR " } else { " AND " })
    );
    let mut orphan = None;
    run_text(&text, Vec::new(), &[], run, &mut |_, row| {
        orphan = Some(row.to_vec());
        Ok(ControlFlow::Break(()))
    })?;
    match orphan {
        Some(values) => Err(not_present(&key, &values, run)),
        None => Ok(()),
    }
}
