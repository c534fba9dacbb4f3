//! INSERT, UPDATE, DELETE and MERGE: what they have in common.

mod delete;
mod insert;
mod merge;
mod on_conflict;
mod update;

use std::cell::OnceCell;
use std::sync::Arc;

use base::lock_mode::{RowLockMode, WaitPolicy};
use base::{CommandId, Error, Result, Tid, sqlstate};
use bumpalo::Bump;
use engine::{Isolation, Modify, Table};
use plan::{Assignment, Event, Expr, ExprKind, ScanColumn, TableTriggers, Target};
use schema::catalog::{Persistence, TriggerTiming};
use schema::row::{ColumnSet, Datum};
use smallvec::SmallVec;
use types::{RowColumns, StorageKind, Value};

use super::evaluate::{evaluate, is_true};
use super::row_decoder::{RowDecoder, SystemColumns};
use super::trigger::{Captures, Firing};
use super::{Run, foreign_key, pending_checks};
pub use delete::DeleteRows;
pub use insert::InsertRows;
pub use merge::MergeRows;
pub use update::UpdateRows;

/// Datums of one row on their way to the engine.
type Datums<'d> = SmallVec<[Datum<'d>; 16]>;

/// The outcome of an attempt to update or delete a row.
enum Attempt {
    /// It is done.
    Done {
        /// The version that was written or deleted.
        stored: Tid,
        /// The full row as it was written or deleted, if it was needed.
        row: Option<Vec<Value>>,
    },
    /// A BEFORE trigger has left the row as it is.
    LeftAlone,
    /// It can't be done with this version.
    Failed(Obstacle),
}

/// The reason why a version can't be updated or deleted.
enum Obstacle {
    /// This transaction has already changed the row.
    SelfModified {
        /// The command that did: this one or a later one.
        command: CommandId,
        /// It showed when the row was locked for BEFORE triggers.
        in_lock: bool,
    },
    /// Another transaction's committed update.
    Updated {
        /// The version it was updated to.
        newest: Tid,
    },
    /// Another transaction's committed delete.
    Deleted,
}

impl Obstacle {
    /// Returns the version that was changed or locked, or what was in the way. Rows to be changed are waited for and never skipped.
    fn check(outcome: Modify, in_lock: bool) -> Result<Tid, Obstacle> {
        match outcome {
            Modify::Done { tid } => Ok(tid),
            Modify::SelfModified { command } => Err(Obstacle::SelfModified { command, in_lock }),
            Modify::Updated { newest, .. } => Err(Obstacle::Updated { newest }),
            Modify::Deleted { .. } | Modify::Skipped => Err(Obstacle::Deleted),
        }
    }

    /// Returns the version to try next, or `None` if the row is to be left as it is. `verb` is what the statement does: `updated`.
    ///
    /// # Errors
    /// 27000 if a trigger or function of the statement has changed the row; above read committed 40001 for other transactions' changes.
    fn next_version(self, verb: &str, run: &Run<'_, '_>) -> Result<Option<Tid>> {
        let may_go_on = run.engine().isolation() == Isolation::ReadCommitted;
        match self {
            Obstacle::SelfModified { command, in_lock } => {
                // Triggers lock the row as one to be updated.
                already_changed(if in_lock { "updated" } else { verb }, command, run)?;
                Ok(None)
            }
            Obstacle::Updated { newest } if may_go_on => Ok(Some(newest)),
            Obstacle::Updated { .. } => Err(concurrent_change("update")),
            Obstacle::Deleted if may_go_on => Ok(None),
            Obstacle::Deleted => Err(concurrent_change("delete")),
        }
    }
}

/// The table a statement changes, open.
struct OpenTarget<'p> {
    target: &'p Target,
    table: Arc<Table>,
    kinds: Vec<StorageKind>,
    row_columns: RowColumns,
    full_row: OnceCell<RowDecoder>,
    foreign_keys: foreign_key::ForeignKeys,
    captures: Captures,
}

impl<'p> OpenTarget<'p> {
    fn open(target: &'p Target, run: &Run<'_, 'p>) -> Result<OpenTarget<'p>> {
        let table = run.engine().open_table(target.table.oid)?;
        if table.def.persistence == Persistence::Temporary {
            run.state.refuse_foreign_temporary(table.def.schema, "access")?;
        }
        let kinds = StorageKind::of_columns(&run.catalog, &table.def);
        let row_columns = RowColumns::of(&table.def, &kinds);
        let foreign_keys = foreign_key::ForeignKeys::looked_at(&table.def, run.state);
        // Later changes on behalf of the action's triggers are not part of the action.
        let statement = run.state.action_of.take();
        let captures = match &target.triggers {
            Some(triggers) => Firing(triggers).captures(run.state, statement, run.engine().snapshot().command),
            None => Captures::default(),
        };
        Ok(OpenTarget { target, table, kinds, row_columns, full_row: OnceCell::new(), foreign_keys, captures })
    }

    /// The values of the stored row at `tid`, column by column. Those of dropped columns are NULL.
    ///
    /// # Errors
    /// XX001 for stored bytes that are no value of their type.
    fn values_of(&self, bytes: &[u8], tid: Tid) -> Result<Vec<Value>> {
        let full_row = self.full_row.get_or_init(|| RowDecoder::of_full_row(&self.table.def, &self.kinds));
        let mut values = vec![Value::Null; self.kinds.len()];
        full_row.decode(&self.table, bytes, tid, &mut values)?;
        Ok(values)
    }

    /// Computes generated columns, then checks NOT NULL and CHECK constraints on the full row `values`.
    fn complete(&self, values: &mut [Value], run: &mut Run<'_, 'p>) -> Result<()> {
        if let Some(expressions) = &self.target.expressions {
            for (column, expr) in &expressions.generated {
                values[*column as usize] = evaluate(expr, values, run)?;
            }
        }
        for (column, value) in self.table.def.columns.iter().zip(values.iter()) {
            if column.not_null && value.is_null() && !column.dropped {
                return Err(self.not_null_violation(&column.name, values, run));
            }
        }
        if let Some(expressions) = &self.target.expressions {
            for (name, check) in &expressions.checks {
                if matches!(evaluate(check, values, run)?, Value::Bool(false)) {
                    let def = &self.table.def;
                    let message = format!("new row for relation \"{}\" violates check constraint \"{name}\"", def.name);
                    return Err(failing_row(self.target, values, run, Error::new(sqlstate::CHECK_VIOLATION, message))
                        .constraint(&run.catalog.schema_name(def.schema), &def.name, name));
                }
            }
        }
        Ok(())
    }

    /// Checks the row `values` against the views' WITH CHECK OPTION: once it is stored, so that what stands in its way is told first,
    /// and a row that is not inserted after all is not checked.
    fn check_views(&self, values: &[Value], run: &mut Run<'_, 'p>) -> Result<()> {
        for (view, condition) in &self.target.view_checks {
            if !is_true(condition, values, run)? {
                let message = format!("new row violates check option for view \"{view}\"");
                let error = Error::new(sqlstate::WITH_CHECK_OPTION_VIOLATION, message);
                return Err(failing_row(self.target, values, run, error));
            }
        }
        Ok(())
    }

    /// The error for a NULL in a NOT NULL column: 23502.
    fn not_null_violation(&self, column: &str, values: &[Value], run: &Run<'_, '_>) -> Error {
        let def = &self.table.def;
        let message =
            format!("null value in column \"{column}\" of relation \"{}\" violates not-null constraint", def.name);
        let mut error = failing_row(self.target, values, run, Error::new(sqlstate::NOT_NULL_VIOLATION, message));
        let fields = error.fields_mut();
        fields.schema = Some(run.catalog.schema_name(def.schema));
        fields.table = Some(def.name.clone());
        fields.column = Some(column.to_owned());
        error
    }

    /// Whether rows must be had as values before they are stored.
    fn needs_values(&self) -> bool {
        self.target.expressions.is_some()
            || !self.foreign_keys.is_empty()
            || self.target.triggers.is_some()
            || !self.target.view_checks.is_empty()
    }

    /// The triggers, if one of them is of this kind.
    fn triggers(&self, timing: TriggerTiming, for_row: bool, event: Event) -> Option<&'p Arc<TableTriggers>> {
        self.target.triggers.as_ref().filter(|triggers| triggers.has(timing, for_row, event))
    }

    /// The lock for a row that an UPDATE of these columns will change, when the new values are not known yet. A BEFORE trigger may change every
    /// generated column.
    fn row_lock_of_update(&self, assigned: &ColumnSet) -> RowLockMode {
        let is_key = |column: usize| self.table.is_key_column(column);
        let is_set = |column: u32| assigned.contains(column as usize);
        let is_read_from =
            |expr: &Expr| expr.any(&|inner| matches!(inner.kind, ExprKind::Column(slot) if is_set(slot)));
        let has_trigger = self.triggers(TriggerTiming::Before, true, Event::Update).is_some();
        let mut generated = self.target.expressions.iter().flat_map(|expressions| &expressions.generated);
        let sets_key = assigned.iter().any(is_key)
            || generated.any(|(column, expr)| is_key(*column as usize) && (has_trigger || is_read_from(expr)));
        if sets_key { RowLockMode::Update } else { RowLockMode::NoKeyUpdate }
    }

    /// Locks the row that BEFORE triggers are about to see, and puts its place into `tid`. Returns what was in the way, if it can't be locked.
    fn lock_for_triggers(&self, tid: &mut Tid, mode: RowLockMode, run: &Run<'_, 'p>) -> Result<Option<Obstacle>> {
        let outcome = run.engine().lock_row(&self.table, *tid, mode, WaitPolicy::Block)?;
        match Obstacle::check(outcome, true) {
            Ok(locked) => *tid = locked,
            Err(obstacle) => return Ok(Some(obstacle)),
        }
        Ok(None)
    }

    /// Whether this transaction made the version `tid`; of interest to foreign keys only.
    fn has_made(&self, tid: Tid, run: &Run<'_, 'p>) -> Result<bool> {
        Ok(self.foreign_keys.refers() && run.engine().own_command(&self.table, tid)?.is_some())
    }

    /// Queues what the table's constraints have to have looked at after a row was entered, in the order of PostgreSQL's triggers for
    /// them; `foreign_keys` queues that of foreign keys.
    fn queue_constraints(&self, run: &Run<'_, 'p>, foreign_keys: impl FnOnce(&foreign_key::ForeignKeys)) {
        let duplicates = match self.table.has_deferrable_keys {
            true => run.engine().take_possible_duplicates(&self.table),
            false => Vec::new(),
        };
        pending_checks::queue_possible_duplicates(&self.table.def, &duplicates, true, run.state);
        foreign_keys(&self.foreign_keys);
        pending_checks::queue_possible_duplicates(&self.table.def, &duplicates, false, run.state);
    }

    /// Puts the system columns of the version at `tid` behind the values of its row, as in [`ScanColumn::SYSTEM`].
    fn push_version(&self, tid: Tid, row: &mut Vec<Value>) -> Result<()> {
        let of_version = SystemColumns::of(&self.table, tid);
        for column in ScanColumn::SYSTEM {
            row.push(of_version.value(column)?);
        }
        Ok(())
    }

    /// All its columns: what a BEFORE trigger may have changed.
    fn all_columns(&self) -> ColumnSet {
        (0..self.kinds.len()).collect()
    }

    fn datums<'d>(&self, values: &'d [Value], arena: &'d Bump, run: &Run<'_, 'p>) -> Result<Datums<'d>> {
        self.row_columns.check(values, &run.catalog)?;
        Ok(values.iter().zip(&self.kinds).map(|(value, kind)| kind.write(value, arena)).collect())
    }

    fn expressions(&self) -> Option<&'p plan::TableExpressions> {
        self.target.expressions.as_deref()
    }
}

/// `error` with the DETAIL `Failing row contains (1, null).`, each value cut to 64 characters. For a role that may not read the
/// whole table, it shows only columns that the role may read or has given values for: `Failing row contains (a) = (1).`
pub(super) fn failing_row(target: &Target, values: &[Value], run: &Run<'_, '_>, error: Error) -> Error {
    let def = &target.table;
    let readable = run.state.readable_columns(def.oid);
    let may_tell = |place: usize| match &readable {
        None => true,
        Some(readable) => readable.contains(&place) || target.given.contains(place),
    };
    let (mut names, mut texts) = (Vec::new(), Vec::new());
    for (place, (column, value)) in def.columns.iter().zip(values).enumerate() {
        if column.dropped || !may_tell(place) {
            continue;
        }
        names.push(column.name.as_str());
        if value.is_null() {
            texts.push("null".to_owned());
            continue;
        }
        let text = types::shown_string(value, column.type_oid, &run.format, &run.catalog);
        texts.push(match text.char_indices().nth(64) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text,
        });
    }
    let values = texts.join(", ");
    match readable {
        None => error.detail(format!("Failing row contains ({values}).")),
        Some(_) if names.is_empty() => error,
        Some(_) => error.detail(format!("Failing row contains ({}) = ({values}).", names.join(", "))),
    }
}

/// The error for a row that another transaction changed or deleted, where the snapshot must not move: 40001.
pub(super) fn concurrent_change(what: &str) -> Error {
    Error::new(sqlstate::SERIALIZATION_FAILURE, format!("could not serialize access due to concurrent {what}"))
}

/// Tells whether a row that `command` of the same transaction has changed already may be passed over. It may if the statement itself
/// made that change: the first change counts. 27000 if a trigger or a function called by the statement made it.
fn already_changed(what: &str, command: CommandId, run: &Run<'_, '_>) -> Result<()> {
    if command <= run.engine().snapshot().command {
        return Ok(());
    }
    let message = format!("tuple to be {what} was already modified by an operation triggered by the current command");
    Err(Error::new(sqlstate::TRIGGERED_DATA_CHANGE_VIOLATION, message)
        .hint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows."))
}

/// The columns that these assignments name.
fn assigned_columns(assignments: &[Assignment]) -> ColumnSet {
    assignments.iter().map(|assignment| assignment.column as usize).collect()
}

/// The columns an update may change: those assigned, and generated ones.
fn changed_columns(assignments: &[Assignment], open: &OpenTarget<'_>) -> ColumnSet {
    let mut changed = assigned_columns(assignments);
    if let Some(expressions) = open.expressions() {
        for (column, _) in &expressions.generated {
            changed.insert(*column as usize);
        }
    }
    changed
}

/// The ctid in a slot of an input row.
fn ctid(row: &[Value], slot: u32) -> Result<Tid> {
    match row[slot as usize] {
        Value::Tid(tid) => Ok(tid),
        ref other => Err(Error::internal(format!("a row to change has {other:?} for its place"))),
    }
}
