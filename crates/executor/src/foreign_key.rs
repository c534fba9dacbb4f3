//! Foreign keys.
//!
//! A changed row queues a check (`pending_checks`). Checks and actions are SQL statements of their own, which are planned once and kept like any other. The check of a new
//! reference selects the referenced row `FOR KEY SHARE`, so that the row stays until this transaction has ended. When a referenced
//! row is deleted or its key changes, a SELECT, DELETE or UPDATE on the referencing table checks or changes the rows that refer to it.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::lock_mode::{LockMode, WaitPolicy};
use base::{Error, Oid, Result, Tid, sqlstate};
use engine::Isolation;
use plan::CatalogView;
use schema::catalog::{
    BOOTSTRAP_ROLE, Catalog, ConstraintDef, ConstraintKind, ForeignKeyAction, ForeignKeyMatch, TableDef,
};
use schema::row::RowBytes;
use types::reg_types::quote_identifier;
use types::{SqlType, Value};

use crate::Run;
use crate::call_place::CallPlace;
use crate::host::OnRow;
use crate::modify::concurrent_change;
use crate::pending_checks::{self, Sight, Work, seeing};
use crate::row_set::RowEquality;
use crate::state::ExecutionState;

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
pub(crate) struct ForeignKey {
    constraint: Oid,
    name: String,
    /// The table that refers.
    pub(crate) table: Arc<TableDef>,
    columns: Vec<usize>,
    pub(crate) referenced: Arc<TableDef>,
    referenced_columns: Vec<usize>,
    /// The columns that SET NULL and SET DEFAULT set when the row referred to is deleted.
    delete_set_columns: Vec<usize>,
    on_update: ForeignKeyAction,
    on_delete: ForeignKeyAction,
    matching: ForeignKeyMatch,
    initially_deferred: bool,
    deferrable: bool,
}

#[derive(Clone)]
pub(crate) enum Check {
    /// The version `row` refers to these values: if it is still there, they must be.
    Referenced { values: Vec<Value>, row: Tid },
    /// These values of the referenced columns are gone: nothing may refer to them, or what refers is changed.
    /// `new` are the values that replace them; `None` if the row was deleted.
    Gone { old: Vec<Value>, new: Option<Vec<Value>> },
}

impl Check {
    /// Whether it changes the rows that refer to others. Such an action is never deferred.
    pub(crate) fn is_action(&self, key: &ForeignKey) -> bool {
        match self {
            Check::Referenced { .. } => false,
            Check::Gone { new, .. } => key.action(new.is_some()) != ForeignKeyAction::NoAction,
        }
    }
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
            delete_set_columns: table.delete_set_columns_of(constraint.oid).unwrap_or(columns).to_vec(),
            referenced: Arc::clone(catalog.table(*referenced_table)?),
            referenced_columns: referenced_columns.clone(),
            on_update: *on_update,
            on_delete: *on_delete,
            matching: *matching,
            initially_deferred: constraint.initially_deferred,
            deferrable: constraint.deferrable,
        }))
    }

    /// The action for references to a row that is deleted, or whose key is replaced.
    fn action(&self, is_replaced: bool) -> ForeignKeyAction {
        if is_replaced { self.on_update } else { self.on_delete }
    }

    pub(crate) fn is_deferred(&self, state: &ExecutionState) -> bool {
        self.deferrable && state.deferred.borrow().said_of(self.constraint).unwrap_or(self.initially_deferred)
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
    fn of(table: &Arc<TableDef>, catalog: &Catalog) -> ForeignKeys {
        let keys_of = |table: &Arc<TableDef>| -> Vec<Arc<ForeignKey>> {
            table.constraints.iter().filter_map(|constraint| ForeignKey::new(constraint, table, catalog)).collect()
        };
        let to_this = |key: &Arc<ForeignKey>| key.referenced.oid == table.oid;
        let mut incoming: Vec<_> = catalog.tables_referencing(table.oid).flat_map(keys_of).filter(to_this).collect();
        // The oldest first, as the triggers that PostgreSQL has for them are called.
        incoming.sort_by_key(|key| key.constraint);
        ForeignKeys { outgoing: keys_of(table), incoming }
    }

    /// Those of and to `table` that changes of it by this session have looked at.
    pub fn looked_at(table: &Arc<TableDef>, state: &ExecutionState) -> ForeignKeys {
        let mut keys = ForeignKeys::of(table, &state.engine_catalog());
        if !keys.is_empty() {
            let is_kept = |key: &Arc<ForeignKey>| !table.unkept_constraints.contains(&key.constraint);
            let is_kept = |key: &Arc<ForeignKey>| !state.is_in_replica() && is_kept(key);
            keys.outgoing.retain(is_kept);
            keys.incoming.retain(is_kept);
        }
        keys
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.outgoing.is_empty() && self.incoming.is_empty()
    }

    /// A row with these values was inserted; it is the version `row`.
    pub fn after_insert(&self, values: &[Value], row: Tid, run: &Run<'_, '_>) {
        for key in &self.outgoing {
            let referring = pick(values, &key.columns);
            // A check that waits is there even if it has nothing to look for, so that the table isn't altered meanwhile.
            if referring.iter().any(Value::is_null) && key.is_deferred(run.state) {
                queue(run.state, key, Check::Referenced { values: referring, row });
            } else {
                queue_reference(key, referring, row, run);
            }
        }
    }

    /// A row was updated: its new version is `row`. `is_own`: this transaction had made the old version, too.
    pub fn after_update(&self, old: &[Value], new: &[Value], (row, is_own): (Tid, bool), run: &Run<'_, '_>) {
        for key in &self.incoming {
            let (gone, replacement) = (pick(old, &key.referenced_columns), pick(new, &key.referenced_columns));
            // The referring column gets the very value: 1.0 becomes 1.00 there, too, and 0 becomes -0.
            if gone != replacement {
                row_gone(key, gone, Some(replacement), run);
            }
        }
        for key in &self.outgoing {
            let referring = pick(new, &key.columns);
            // A pending check of the old version would find it replaced and check nothing. So the new version needs a check of its own,
            // even if it has the same reference. NOT VALID may have let in a key that MATCH FULL refuses.
            let may_be_mixed = key.matching == ForeignKeyMatch::Full && referring.iter().any(Value::is_null);
            if is_own || may_be_mixed || !is_same(&pick(old, &key.columns), &referring) {
                queue_reference(key, referring, row, run);
            }
        }
    }

    /// Whether updates need to know who made the old version of a row.
    pub fn refers(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// A row was deleted.
    pub fn after_delete(&self, old: &[Value], run: &Run<'_, '_>) {
        for key in &self.incoming {
            row_gone(key, pick(old, &key.referenced_columns), None, run);
        }
    }
}

fn is_same(left: &[Value], right: &[Value]) -> bool {
    RowEquality::OfValues.equal(left, right)
}

/// Queues the check of a reference. One that is NULL refers to nothing; MATCH FULL wants it NULL as a whole.
fn queue_reference(key: &Arc<ForeignKey>, values: Vec<Value>, row: Tid, run: &Run<'_, '_>) {
    let null_count = values.iter().filter(|value| value.is_null()).count();
    let is_mixed = key.matching == ForeignKeyMatch::Full && null_count < values.len();
    if null_count == 0 || is_mixed {
        queue(run.state, key, Check::Referenced { values, row });
    }
}

fn row_gone(key: &Arc<ForeignKey>, old: Vec<Value>, new: Option<Vec<Value>>, run: &Run<'_, '_>) {
    if !old.iter().any(Value::is_null) {
        queue(run.state, key, Check::Gone { old, new });
    }
}

fn queue(state: &ExecutionState, key: &Arc<ForeignKey>, what: Check) {
    pending_checks::push(state, Work::ForeignKey { key: Arc::clone(key), what });
}

/// Makes a check of the statement whose checks are numbered from `first` on.
///
/// # Errors
/// 23503, and errors of the actions.
pub(crate) fn make(key: &Arc<ForeignKey>, what: &Check, first: u64, run: &mut Run<'_, '_>) -> Result<()> {
    let Some(key) = key_under_lock(key, what, run)? else { return Ok(()) };
    let key = &*key;
    let (old, new) = match what {
        Check::Referenced { values, row } => {
            return seeing(Sight::Statement, run, |run| {
                if is_there(key, *row, run)? { require_referenced(key, values, run) } else { Ok(()) }
            });
        }
        Check::Gone { old, new } => (old, new),
    };
    let action = key.action(new.is_some());
    match action {
        ForeignKeyAction::Restrict => {
            return seeing(Sight::Latest, run, |run| refuse_references(key, old, run));
        }
        ForeignKeyAction::NoAction => return seeing(Sight::Latest, run, |run| refuse_orphans(key, old, run)),
        ForeignKeyAction::Cascade | ForeignKeyAction::SetNull | ForeignKeyAction::SetDefault => {}
    }
    // A snapshot that stays does not see all references. References that have gone since need no action; those that have come or changed can't be
    // acted upon.
    let is_fixed = run.engine().isolation() != Isolation::ReadCommitted;
    let acted = seeing(if is_fixed { Sight::Latest } else { Sight::Statement }, run, |run| {
        if is_fixed {
            refuse_unseen_references(key, old, run)?;
        }
        run.state.action_of.set(Some(first));
        act(key, action, old, new.as_deref(), run)
    });
    run.state.action_of.set(None);
    acted?;
    if action == ForeignKeyAction::SetDefault {
        // The default may be the very value that is gone.
        return seeing(Sight::Latest, run, |run| refuse_orphans(key, old, run));
    }
    Ok(())
}

/// Locks the other table, and then looks the key up again: other transactions may have changed, renamed or dropped the tables before the lock
/// was granted. The check's snapshot is taken after this, because an older one would not see their changes. None if the constraint is gone.
fn key_under_lock(key: &Arc<ForeignKey>, what: &Check, run: &mut Run<'_, '_>) -> Result<Option<Arc<ForeignKey>>> {
    let constraint_of = |table: &TableDef| table.constraints.iter().position(|own| own.oid == key.constraint);
    if run.catalog.catalog().table(key.table.oid).and_then(|table| constraint_of(table)).is_none() {
        return Ok(None);
    }
    let (other_table, mode) = match what {
        Check::Referenced { .. } => (&key.referenced, LockMode::RowShare),
        Check::Gone { new, .. } => match key.action(new.is_some()) {
            ForeignKeyAction::NoAction | ForeignKeyAction::Restrict => (&key.table, LockMode::RowShare),
            _ => (&key.table, LockMode::RowExclusive),
        },
    };
    run.engine().lock_relation(other_table.oid, mode, WaitPolicy::Block)?;
    run.refresh_catalog();
    let catalog = run.catalog.catalog();
    let is_unchanged = |known: &Arc<TableDef>| catalog.table(known.oid).is_some_and(|now| Arc::ptr_eq(now, known));
    if is_unchanged(&key.table) && is_unchanged(&key.referenced) {
        return Ok(Some(Arc::clone(key)));
    }
    let Some(table) = catalog.table(key.table.oid) else { return Ok(None) };
    Ok(constraint_of(table).and_then(|place| ForeignKey::new(&table.constraints[place], table, catalog)))
}

/// 40001 if one of the rows that refer to `old` by now is not one that the transaction's own snapshot sees.
fn refuse_unseen_references(key: &ForeignKey, old: &[Value], run: &mut Run<'_, '_>) -> Result<()> {
    let table = table_name(&key.table, &run.catalog);
    let text = format!("SELECT ctid FROM {table} x WHERE {}", equalities(&key.table, &key.columns, 1));
    let types = column_types(&key.referenced, &key.referenced_columns);
    let mut references = Vec::new();
    run_text(&text, old.to_vec(), &types, owner_of(&key.table, run), run, &mut |_, row| {
        references.extend(row.iter().filter_map(|place| if let Value::Tid(tid) = place { Some(*tid) } else { None }));
        Ok(ControlFlow::Continue(()))
    })?;
    seeing(Sight::Statement, run, |run| {
        for reference in references {
            sync::yield_point()?;
            if !is_there(key, reference, run)? {
                return Err(concurrent_change("update"));
            }
        }
        Ok(())
    })
}

/// Whether the version that referred is still there: neither deleted nor replaced since.
fn is_there(key: &ForeignKey, row: Tid, run: &Run<'_, '_>) -> Result<bool> {
    let engine = run.engine();
    let table = engine.open_table(key.table.oid)?;
    engine.fetch(&table, row, &mut RowBytes::new())
}

/// Does what the constraint says to the rows that refer to `old`.
fn act(
    key: &ForeignKey,
    action: ForeignKeyAction,
    old: &[Value],
    new: Option<&[Value]>,
    run: &mut Run<'_, '_>,
) -> Result<()> {
    let set_columns = if new.is_some() { &key.columns } else { &key.delete_set_columns };
    match (action, new) {
        (ForeignKeyAction::Cascade, None) => {
            let text = format!(
                "DELETE FROM ONLY {} WHERE {}",
                quoted_table_name(&key.table, &run.catalog),
                equalities_to_columns(key, 1)
            );
            execute(key, &text, old.to_vec(), &column_types(&key.referenced, &key.referenced_columns), run)
        }
        (ForeignKeyAction::Cascade, Some(new)) => {
            let assignments = assignments(key, &key.columns, |number| format!("${}", number + 1));
            update_references(key, &assignments, new.to_vec(), old, run)
        }
        (ForeignKeyAction::SetNull, _) => {
            let assignments = assignments(key, set_columns, |_| "NULL".to_owned());
            update_references(key, &assignments, Vec::new(), old, run)
        }
        _ => {
            let assignments = assignments(key, set_columns, |_| "DEFAULT".to_owned());
            update_references(key, &assignments, Vec::new(), old, run)
        }
    }
}

/// Nothing may refer to values that are gone, unless another row has taken them over by now.
fn refuse_orphans(key: &ForeignKey, old: &[Value], run: &mut Run<'_, '_>) -> Result<()> {
    let types = column_types(&key.referenced, &key.referenced_columns);
    if exists((&key.referenced, &key.referenced_columns), (old, &types), "", run)? {
        return Ok(());
    }
    refuse_references(key, old, run)
}

/// A new reference must find its row, which is locked against removal until this transaction ends.
fn require_referenced(key: &ForeignKey, values: &[Value], run: &mut Run<'_, '_>) -> Result<()> {
    let null_count = values.iter().filter(|value| value.is_null()).count();
    if null_count > 0 {
        let is_mixed = key.matching == ForeignKeyMatch::Full && null_count < values.len();
        return if is_mixed { Err(partly_null(key, run)) } else { Ok(()) };
    }
    let types = column_types(&key.table, &key.columns);
    if exists((&key.referenced, &key.referenced_columns), (values, &types), " FOR KEY SHARE", run)? {
        return Ok(());
    }
    Err(not_present(key, values, run))
}

/// The error for a reference by MATCH FULL of which only a part is NULL: 23503.
fn partly_null(key: &ForeignKey, run: &Run<'_, '_>) -> Error {
    let message =
        format!("insert or update on table \"{}\" violates foreign key constraint \"{}\"", key.table.name, key.name);
    Error::new(sqlstate::FOREIGN_KEY_VIOLATION, message)
        .detail("MATCH FULL does not allow mixing of null and nonnull key values.")
        .constraint(&run.catalog.schema_name(key.table.schema), &key.table.name, &key.name)
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
    let types = column_types(&key.referenced, &key.referenced_columns);
    if !exists((&key.table, &key.columns), (old, &types), " FOR KEY SHARE", run)? {
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

/// `Key (a, b)=(1, 2)`, or `Key` if the acting role may not read the columns.
fn describe(table: &TableDef, columns: &[usize], values: &[Value], run: &Run<'_, '_>) -> String {
    if let Some(readable) = run.state.readable_columns(table.oid)
        && !columns.iter().all(|column| readable.contains(column))
    {
        return "Key".to_owned();
    }
    let names: Vec<&str> = columns.iter().map(|column| table.columns[*column].name.as_str()).collect();
    let texts: Vec<String> = columns
        .iter()
        .zip(values)
        .map(|(column, value)| types::shown_string(value, table.columns[*column].type_oid, &run.format, &run.catalog))
        .collect();
    format!("Key ({})=({})", names.join(", "), texts.join(", "))
}

/// Whether a row of a table has these values, of these types, in these columns.
fn exists(
    (table, columns): (&TableDef, &[usize]),
    (values, types): (&[Value], &[SqlType]),
    lock: &str,
    run: &mut Run<'_, '_>,
) -> Result<bool> {
    let text =
        format!("SELECT 1 FROM {} x WHERE {}{lock}", table_name(table, &run.catalog), equalities(table, columns, 1));
    let mut is_there = false;
    run_text(&text, values.to_vec(), types, owner_of(table, run), run, &mut |_, _| {
        is_there = true;
        Ok(ControlFlow::Break(()))
    })?;
    Ok(is_there)
}

fn assignments(key: &ForeignKey, columns: &[usize], value: impl Fn(usize) -> String) -> String {
    let assign =
        |(number, column): (usize, &usize)| format!("{} = {}", quoted(&key.table.columns[*column].name), value(number));
    columns.iter().enumerate().map(assign).collect::<Vec<_>>().join(", ")
}

fn update_references(
    key: &ForeignKey,
    assignments: &str,
    new: Vec<Value>,
    old: &[Value],
    run: &mut Run<'_, '_>,
) -> Result<()> {
    let text = format!(
        "UPDATE ONLY {} SET {assignments} WHERE {}",
        quoted_table_name(&key.table, &run.catalog),
        equalities_to_columns(key, new.len() + 1)
    );
    let mut types = column_types(&key.referenced, &key.referenced_columns);
    if !new.is_empty() {
        types.extend(column_types(&key.referenced, &key.referenced_columns));
    }
    let mut values = new;
    values.extend_from_slice(old);
    execute(key, &text, values, &types, run)
}

/// Runs an action. Notices and errors raised meanwhile name the action's statement in their context. The words are PostgreSQL's,
/// as clients may look for them.
fn execute(key: &ForeignKey, text: &str, values: Vec<Value>, types: &[SqlType], run: &mut Run<'_, '_>) -> Result<()> {
    let state = run.state;
    state.calls.borrow_mut().push(CallPlace::of_server(&Arc::from(text)));
    let owner = owner_of(&key.table, run);
    let result = run_text(text, values, types, owner, run, &mut |_, _| Ok(ControlFlow::Continue(())));
    state.calls.borrow_mut().pop();
    result.map_err(|error| error.context(format!("SQL statement \"{text}\"")))
}

/// The table's present owner.
fn owner_of(table: &TableDef, run: &Run<'_, '_>) -> Oid {
    run.catalog.catalog().table(table.oid).map_or(table.owner, |table| table.owner)
}

/// Runs a statement as the owner of the table that it reads or changes. A role that changes a row need not be allowed to read the
/// rows that the row refers to, or that refer to it. Triggers and expressions of that table must not use that role's rights.
fn run_text(
    text: &str,
    values: Vec<Value>,
    types: &[SqlType],
    owner: Oid,
    run: &mut Run<'_, '_>,
    on_row: &mut OnRow<'_>,
) -> Result<()> {
    let text: Arc<str> = Arc::from(text);
    let types: Arc<[SqlType]> = Arc::from(types);
    let state = run.state;
    // To the triggers of the rows that are changed, the key's action counts as a trigger around them.
    let depth = &state.trigger_depth;
    depth.set(depth.get() + 1);
    let host = run.host;
    let done = state.acting_as(owner, || host.run_text(run, &text, &types, &values, on_row));
    depth.set(depth.get() - 1);
    done
}

fn table_name(table: &TableDef, catalog: &CatalogView) -> String {
    format!("{}.{}", quote_identifier(&catalog.schema_name(table.schema)), quote_identifier(&table.name))
}

/// An identifier as the statements of actions have it: always quoted.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn quoted_table_name(table: &TableDef, catalog: &CatalogView) -> String {
    format!("{}.{}", quoted(&catalog.schema_name(table.schema)), quoted(&table.name))
}

fn equalities_to_columns(key: &ForeignKey, first: usize) -> String {
    let equal = |(number, column): (usize, &usize)| {
        format!("${} OPERATOR(pg_catalog.=) {}", first + number, quoted(&key.table.columns[*column].name))
    };
    key.columns.iter().enumerate().map(equal).collect::<Vec<_>>().join(" AND ")
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
    // Nothing that users have written runs, and a role with REFERENCES need not be allowed to read the rows.
    run_text(&text, Vec::new(), &[], BOOTSTRAP_ROLE, run, &mut |_, row| {
        orphan = Some(row.to_vec());
        Ok(ControlFlow::Break(()))
    })?;
    match orphan {
        Some(values) if values.iter().any(Value::is_null) => Err(partly_null(&key, run)),
        Some(values) => Err(not_present(&key, &values, run)),
        None => Ok(()),
    }
}
