//! INSERT, UPDATE and DELETE.

use std::sync::Arc;

use base::{CommandId, Error, Result, Tid, sqlstate};
use bumpalo::Bump;
use engine::catalog::TriggerTiming;
use engine::row::{ColumnSet, Datum, RowBytes};
use engine::{ConflictOutcome, Isolation, Modify, Table};
use smallvec::SmallVec;

use super::evaluate::{evaluate, is_true};
use super::foreign_key;
use super::keys::TableKeys;
use super::recheck::{Recheck, Rechecked};
use super::row_decoder::{RowDecoder, SystemColumns};
use super::scan::evaluate_into;
use super::trigger::{Captures, Event, TableTriggers};
use super::{BoxOperator, Operator, Run};
use crate::plan::{self, Assignment, OnConflict, ScanColumn, Target};
use crate::types::{self, StorageKind, Value};

/// Datums of one row on their way to the engine.
type Datums<'d> = SmallVec<[Datum<'d>; 16]>;

/// The table a statement changes, open.
struct OpenTarget<'p> {
    target: &'p Target,
    table: Arc<Table>,
    kinds: Vec<StorageKind>,
    full_row: RowDecoder,
    foreign_keys: foreign_key::ForeignKeys,
    captures: Captures,
}

impl<'p> OpenTarget<'p> {
    fn open(target: &'p Target, run: &Run<'_, 'p>) -> Result<OpenTarget<'p>> {
        let table = run.engine().open_table(target.table.oid)?;
        let kinds = table.def.columns.iter().map(|column| StorageKind::of(&run.catalog, column.type_oid)).collect();
        let full_row = RowDecoder::of_full_row(&table.def, &run.catalog);
        let foreign_keys = foreign_key::ForeignKeys::of(&table.def, &run.state.engine_catalog());
        // Whatever is changed from here on on behalf of the action's triggers is none of it.
        let statement = run.state.action_of.take();
        let captures = match &target.triggers {
            Some(triggers) => triggers.captures(run.state, statement, run.engine().snapshot().command),
            None => Captures::default(),
        };
        Ok(OpenTarget { target, table, kinds, full_row, foreign_keys, captures })
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

    /// Locks the row that BEFORE triggers are about to see; what became of it if it is not there any more.
    fn lock_for_triggers(&self, tid: &mut Tid, run: &Run<'_, 'p>) -> Result<Option<Modify>> {
        let mode = engine::RowLockMode::NoKeyUpdate;
        match run.engine().lock_row(&self.table, *tid, mode, engine::WaitPolicy::Block)? {
            Modify::Done { tid: locked } => {
                *tid = locked;
                Ok(None)
            }
            other => Ok(Some(other)),
        }
    }

    /// Queues a second look at keys whose uniqueness is not looked at where rows are entered.
    fn after_entering(&self, run: &Run<'_, 'p>) {
        if self.table.has_deferrable_keys {
            foreign_key::queue_possible_duplicates(&self.table.def, run.state);
        }
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

    fn datums<'d>(&self, values: &'d [Value], arena: &'d Bump) -> Datums<'d> {
        values.iter().zip(&self.kinds).map(|(value, kind)| kind.write(value, arena)).collect()
    }

    fn expressions(&self) -> Option<&'p plan::TableExpressions> {
        self.target.expressions.as_deref()
    }
}

/// `error` with the DETAIL `Failing row contains (1, null).`, each value cut to 64 characters. Whoever may not read the
/// table is told of the columns it may read or has given values: `Failing row contains (a) = (1).`
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
        let text = types::output_string(value, column.type_oid, &run.format, &run.catalog);
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

/// What the statement's own change `command` of a row says to another change of it: nothing if the statement itself made the first
/// one, which counts. 27000 if a trigger or a function did that the statement called.
fn already_changed(what: &str, command: CommandId, run: &Run<'_, '_>) -> Result<()> {
    if command <= run.engine().snapshot().command {
        return Ok(());
    }
    let message = format!("tuple to be {what} was already modified by an operation triggered by the current command");
    Err(Error::new(sqlstate::TRIGGERED_DATA_CHANGE_VIOLATION, message)
        .hint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows."))
}

/// INSERT.
pub struct InsertRows<'p> {
    node: &'p plan::Insert,
    input: BoxOperator<'p>,
    open: Option<OpenTarget<'p>>,
    values: Vec<Value>,
    row: Vec<Value>,
    arena: Bump,
    is_over: bool,
}

impl<'p> InsertRows<'p> {
    pub fn new(node: &'p plan::Insert, input: BoxOperator<'p>) -> Self {
        InsertRows { node, input, open: None, values: Vec::new(), row: Vec::new(), arena: Bump::new(), is_over: false }
    }

    /// The columns that ON CONFLICT DO UPDATE assigns.
    fn conflict_columns(&self) -> Option<ColumnSet> {
        let update = self.node.on_conflict.as_ref()?.update.as_ref()?;
        Some(update.assignments.iter().map(|assignment| assignment.column as usize).collect())
    }

    /// The statement's own triggers, before the first row and after the last one.
    fn fire_statement(&self, triggers: &Arc<TableTriggers>, is_before: bool, run: &mut Run<'_, 'p>) -> Result<()> {
        let updated = self.conflict_columns();
        let captures = &self.open.as_ref().expect("opened before the first row").captures;
        if is_before {
            triggers.before_statement(Event::Insert, None, captures, run)?;
            if updated.is_some() {
                triggers.before_statement(Event::Update, updated.as_ref(), captures, run)?;
            }
            return Ok(());
        }
        if updated.is_some() {
            triggers.after_statement(Event::Update, updated.as_ref(), captures, run)?;
        }
        triggers.after_statement(Event::Insert, None, captures, run)
    }

    /// Puts the system columns of the version behind `self.values`.
    fn push_version(&mut self, stored: &Stored) -> Result<()> {
        let open = self.open.as_ref().expect("opened before the first row");
        let columns = self.values.len();
        open.push_version(stored.tid, &mut self.values)?;
        if stored.is_update {
            // It was locked to be updated, and who made the version holds the lock: what tells updates from inserts.
            self.values[columns + XMAX_PLACE] = self.values[columns + XMIN_PLACE].clone();
        }
        Ok(())
    }

    /// Stores `self.values`; the version that was inserted or made by an update.
    fn store(&mut self, run: &mut Run<'_, 'p>) -> Result<Option<Stored>> {
        let open = self.open.as_ref().expect("opened before the first row");
        if let Some(triggers) = open.triggers(TriggerTiming::Before, true, Event::Insert) {
            match triggers.before_row(Event::Insert, None, None, Some(&self.values), run)? {
                Some(values) => self.values = values,
                None => return Ok(None),
            }
        }
        open.complete(&mut self.values, run)?;
        self.arena.reset();
        match &self.node.on_conflict {
            None => {
                let datums = open.datums(&self.values, &self.arena);
                let engine = run.engine();
                let keys = TableKeys::new(&open.kinds, open.expressions(), run);
                let tid = engine.insert(&open.table, &datums, &keys)?;
                drop(engine);
                open.after_entering(run);
                open.foreign_keys.check_new_row(&open.table.def, &self.values, None, tid, run)?;
                if let Some(triggers) = &open.target.triggers {
                    triggers.after_row(Event::Insert, None, (None, Some(&self.values)), &open.captures, run)?;
                }
                Ok(Some(Stored { tid, is_update: false }))
            }
            Some(on_conflict) => insert_or_resolve(open, on_conflict, &mut self.values, run),
        }
    }
}

impl<'p> Operator<'p> for InsertRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.open.is_none() {
            self.open = Some(OpenTarget::open(&self.node.target, run)?);
            if let Some(triggers) = &self.node.target.triggers {
                self.fire_statement(triggers, true, run)?;
            }
        }
        while self.input.next(run)? {
            run.step()?;
            self.values.clear();
            self.values.extend_from_slice(self.input.row());
            let Some(stored) = self.store(run)? else { continue };
            run.locals.affected_rows += 1;
            if let Some(returning) = &self.node.returning {
                if self.node.target.returns_version {
                    self.push_version(&stored)?;
                }
                evaluate_into(returning, &self.values, &mut self.row, run)?;
                return Ok(true);
            }
        }
        if let Some(triggers) = self.node.target.triggers.as_ref().filter(|_| !self.is_over) {
            self.is_over = true;
            self.fire_statement(triggers, false, run)?;
        }
        Ok(false)
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.input.rescan();
    }
}

/// What an INSERT made.
struct Stored {
    tid: Tid,
    /// There was such a row already, which was updated.
    is_update: bool,
}

/// Where `xmin` and `xmax` stand in [`ScanColumn::SYSTEM`].
const XMIN_PLACE: usize = 1;
const XMAX_PLACE: usize = 3;

/// The error for a row that a deferrable key would have to judge: 55000.
fn deferrable_arbiter(open: &OpenTarget<'_>, position: usize, run: &Run<'_, '_>) -> Error {
    let def = &open.table.def;
    let message = "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters";
    let error = Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
    match run.catalog.catalog().indexes_of(def.oid).get(position) {
        Some(index) => error.constraint(&run.catalog.schema_name(def.schema), &def.name, index.constraint_or_name()),
        None => error,
    }
}

/// INSERT ... ON CONFLICT of one row. The version inserted or made by an update; `values` become the row as stored.
fn insert_or_resolve<'p>(
    open: &OpenTarget<'p>,
    on_conflict: &'p OnConflict,
    values: &mut Vec<Value>,
    run: &mut Run<'_, 'p>,
) -> Result<Option<Stored>> {
    let mut arbiters: SmallVec<[usize; 4]> = on_conflict.arbiters.iter().map(|position| *position as usize).collect();
    if let Some(deferrable) = on_conflict.deferrable_arbiter {
        // Arbiters are asked in their order: only a row that conflicts with none of those before it gets to the deferrable one.
        let deferrable = deferrable as usize;
        if arbiters.is_empty() {
            arbiters.extend((0..deferrable).filter(|position| open.table.indexes[*position].def.unique));
        } else {
            arbiters.retain(|position| *position < deferrable);
        }
        if arbiters.is_empty() {
            return Err(deferrable_arbiter(open, deferrable, run));
        }
    }
    let arbiters = (!arbiters.is_empty()).then_some(arbiters.as_slice());
    loop {
        let outcome = {
            let arena = Bump::new();
            let datums = open.datums(values, &arena);
            let engine = run.engine();
            let keys = TableKeys::new(&open.kinds, open.expressions(), run);
            engine.insert_on_conflict(&open.table, &datums, &keys, arbiters)
        };
        let outcome = match (on_conflict.deferrable_arbiter, outcome) {
            // What was inserted goes with the statement.
            (Some(deferrable), Ok(ConflictOutcome::Inserted(_))) => {
                return Err(deferrable_arbiter(open, deferrable as usize, run));
            }
            (Some(deferrable), Err(error)) if error.sqlstate() == sqlstate::UNIQUE_VIOLATION => {
                return Err(deferrable_arbiter(open, deferrable as usize, run));
            }
            (_, outcome) => outcome?,
        };
        let tid = match outcome {
            ConflictOutcome::Conflict { tid, .. } => tid,
            ConflictOutcome::Inserted(tid) => {
                open.after_entering(run);
                open.foreign_keys.check_new_row(&open.table.def, values, None, tid, run)?;
                if let Some(triggers) = &open.target.triggers {
                    triggers.after_row(Event::Insert, None, (None, Some(values)), &open.captures, run)?;
                }
                return Ok(Some(Stored { tid, is_update: false }));
            }
        };
        let Some(update) = &on_conflict.update else { return Ok(None) };
        // Lock the row first: its newest version is what gets updated.
        let engine = run.engine();
        let mode = engine::RowLockMode::NoKeyUpdate;
        let tid = match engine.lock_row(&open.table, tid, mode, engine::WaitPolicy::Block)? {
            Modify::Done { tid } => tid,
            Modify::SelfModified { .. } => {
                return Err(Error::new(
                    sqlstate::CARDINALITY_VIOLATION,
                    "ON CONFLICT DO UPDATE command cannot affect row a second time",
                )
                .hint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values."));
            }
            Modify::Updated { newest, .. } => {
                if engine.isolation() != Isolation::ReadCommitted {
                    return Err(concurrent_change("update"));
                }
                match engine.lock_row(&open.table, newest, mode, engine::WaitPolicy::Block)? {
                    Modify::Done { tid } => tid,
                    _ => continue,
                }
            }
            Modify::Deleted { .. } if engine.isolation() != Isolation::ReadCommitted => {
                return Err(concurrent_change("delete"));
            }
            Modify::Deleted { .. } | Modify::Skipped => continue,
        };
        let mut bytes = RowBytes::new();
        let Some(tid) = engine.newest_version(&open.table, tid, &mut bytes)? else { continue };
        drop(engine);
        let mut existing = vec![Value::Null; open.kinds.len()];
        open.full_row.decode(&open.table, &bytes, tid, &mut existing)?;
        let mut both = existing.clone();
        both.extend(values.iter().cloned());
        if update.reads_version {
            open.push_version(tid, &mut both)?;
        }
        if let Some(condition) = &update.condition
            && !is_true(condition, &both, run)?
        {
            return Ok(None);
        }
        let mut updated = existing.clone();
        assign(&update.assignments, &both, &mut updated, run)?;
        let assigned: ColumnSet = update.assignments.iter().map(|assignment| assignment.column as usize).collect();
        let mut changed: ColumnSet = changed_columns(&update.assignments, open);
        if let Some(triggers) = open.triggers(TriggerTiming::Before, true, Event::Update) {
            match triggers.before_row(Event::Update, Some(&assigned), Some(&existing), Some(&updated), run)? {
                Some(values) => updated = values,
                None => return Ok(None),
            }
            changed = open.all_columns();
        }
        open.complete(&mut updated, run)?;
        let outcome = {
            let arena = Bump::new();
            let datums = open.datums(&updated, &arena);
            let engine = run.engine();
            let keys = TableKeys::new(&open.kinds, open.expressions(), run);
            engine.update(&open.table, tid, &datums, &changed, &keys)?
        };
        match outcome {
            Modify::Done { tid } => {
                open.after_entering(run);
                open.foreign_keys.after_update(&open.table.def, &existing, &updated, tid, run)?;
                if let Some(triggers) = &open.target.triggers {
                    let rows = (Some(existing.as_slice()), Some(updated.as_slice()));
                    triggers.after_row(Event::Update, Some(&assigned), rows, &open.captures, run)?;
                }
                *values = updated;
                return Ok(Some(Stored { tid, is_update: true }));
            }
            Modify::SelfModified { command } => {
                already_changed("updated", command, run)?;
                return Ok(None);
            }
            _ => continue,
        }
    }
}

fn assign<'p>(
    assignments: &'p [Assignment],
    input: &[Value],
    values: &mut [Value],
    run: &mut Run<'_, 'p>,
) -> Result<()> {
    for assignment in assignments {
        values[assignment.column as usize] = evaluate(&assignment.value, input, run)?;
    }
    Ok(())
}

/// The columns an update may change: those assigned, and generated ones.
fn changed_columns(assignments: &[Assignment], open: &OpenTarget<'_>) -> ColumnSet {
    let mut changed: ColumnSet = assignments.iter().map(|assignment| assignment.column as usize).collect();
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

/// UPDATE.
pub struct UpdateRows<'p> {
    node: &'p plan::Update,
    input: BoxOperator<'p>,
    open: Option<(OpenTarget<'p>, ColumnSet)>,
    /// The input row; the re-check puts a newer version's values into it.
    current: Vec<Value>,
    row: Vec<Value>,
    old: RowBytes,
    assigned: Vec<Value>,
    arena: Bump,
    recheck: Recheck<'p>,
    /// The columns that SET names.
    named: ColumnSet,
    is_over: bool,
}

impl<'p> UpdateRows<'p> {
    pub fn new(node: &'p plan::Update, input: BoxOperator<'p>) -> Self {
        UpdateRows {
            node,
            input,
            open: None,
            current: Vec::new(),
            row: Vec::new(),
            old: RowBytes::new(),
            assigned: Vec::new(),
            arena: Bump::new(),
            recheck: Recheck::new(&node.recheck, &node.input),
            named: ColumnSet::default(),
            is_over: false,
        }
    }

    /// Updates the row that `self.current` names; whether it was updated.
    fn change(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        let node = self.node;
        let mut tid = ctid(&self.current, node.ctid)?;
        if !run.locals.take_kept_row(node.scan, tid, &mut self.old) {
            let (open, _) = self.open.as_ref().expect("opened before the first row");
            if !run.engine().fetch(&open.table, tid, &mut self.old)? {
                return Ok(false);
            }
        }
        loop {
            let (open, changed) = self.open.as_ref().expect("opened before the first row");
            let before = open.triggers(TriggerTiming::Before, true, Event::Update);
            self.assigned.clear();
            for assignment in &node.assignments {
                self.assigned.push(evaluate(&assignment.value, &self.current, run)?);
            }
            for (assignment, value) in node.assignments.iter().zip(&self.assigned) {
                let column = &open.table.def.columns[assignment.column as usize];
                if column.not_null && value.is_null() && before.is_none() {
                    let values = self.new_values(open)?;
                    return Err(open.not_null_violation(&column.name, &values, run));
                }
            }
            let gone = if before.is_some() { open.lock_for_triggers(&mut tid, run)? } else { None };
            let outcome = if let Some(gone) = gone {
                gone
            } else if open.needs_values() || node.returning.is_some() {
                let mut existing = vec![Value::Null; open.kinds.len()];
                open.full_row.decode(&open.table, &self.old, tid, &mut existing)?;
                let mut updated = existing.clone();
                for (assignment, value) in node.assignments.iter().zip(&self.assigned) {
                    updated[assignment.column as usize] = value.clone();
                }
                let mut changed = changed;
                let all;
                if let Some(triggers) = before {
                    let (old, new) = (Some(existing.as_slice()), Some(updated.as_slice()));
                    match triggers.before_row(Event::Update, Some(&self.named), old, new, run)? {
                        Some(values) => updated = values,
                        None => return Ok(false),
                    }
                    all = open.all_columns();
                    changed = &all;
                }
                open.complete(&mut updated, run)?;
                self.arena.reset();
                let outcome = {
                    let datums = open.datums(&updated, &self.arena);
                    let engine = run.engine();
                    let keys = TableKeys::new(&open.kinds, open.expressions(), run);
                    engine.update(&open.table, tid, &datums, changed, &keys)?
                };
                if let Modify::Done { tid } = outcome {
                    open.foreign_keys.after_update(&open.table.def, &existing, &updated, tid, run)?;
                    if let Some(triggers) = &open.target.triggers {
                        let (old, new) = (Some(existing.as_slice()), Some(updated.as_slice()));
                        triggers.after_row(Event::Update, Some(&self.named), (old, new), &open.captures, run)?;
                    }
                    if let Some(returning) = &node.returning {
                        let mut input = std::mem::take(&mut self.current);
                        input.extend(updated);
                        if open.target.returns_version {
                            open.push_version(tid, &mut input)?;
                        }
                        let result = evaluate_into(returning, &input, &mut self.row, run);
                        self.current = input;
                        result?;
                    }
                }
                outcome
            } else {
                self.arena.reset();
                let mut datums: Datums<'_> = open.table.row(&self.old).iter().collect();
                datums.resize(open.kinds.len(), Datum::Null);
                for (assignment, value) in node.assignments.iter().zip(&self.assigned) {
                    let column = assignment.column as usize;
                    datums[column] = open.kinds[column].write(value, &self.arena);
                }
                let engine = run.engine();
                let keys = TableKeys::new(&open.kinds, None, run);
                engine.update(&open.table, tid, &datums, changed, &keys)?
            };
            let newest = match outcome {
                Modify::Done { .. } => {
                    open.after_entering(run);
                    return Ok(true);
                }
                Modify::Skipped => return Ok(false),
                Modify::SelfModified { command } => {
                    already_changed("updated", command, run)?;
                    return Ok(false);
                }
                Modify::Deleted { .. } => return self.deleted(run),
                Modify::Updated { newest, .. } => newest,
            };
            if run.engine().isolation() != Isolation::ReadCommitted {
                return Err(concurrent_change("update"));
            }
            let table = Arc::clone(&self.open.as_ref().expect("opened before the first row").0.table);
            match self.recheck.try_again(node.scan, &table, newest, &mut self.current, &mut self.old, run)? {
                Rechecked::Qualifies(version) => tid = version,
                Rechecked::Fails => return Ok(false),
            }
        }
    }

    fn new_values(&self, open: &OpenTarget<'p>) -> Result<Vec<Value>> {
        let mut values = vec![Value::Null; open.kinds.len()];
        open.full_row.decode(&open.table, &self.old, Tid::INVALID, &mut values)?;
        for (assignment, value) in self.node.assignments.iter().zip(&self.assigned) {
            values[assignment.column as usize] = value.clone();
        }
        Ok(values)
    }

    fn deleted(&self, run: &Run<'_, 'p>) -> Result<bool> {
        if run.engine().isolation() == Isolation::ReadCommitted { Ok(false) } else { Err(concurrent_change("delete")) }
    }
}

impl<'p> Operator<'p> for UpdateRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.open.is_none() {
            let open = OpenTarget::open(&self.node.target, run)?;
            let changed = changed_columns(&self.node.assignments, &open);
            if let Some(triggers) = &self.node.target.triggers {
                self.named = self.node.assignments.iter().map(|assignment| assignment.column as usize).collect();
                triggers.before_statement(Event::Update, Some(&self.named), &open.captures, run)?;
            }
            self.open = Some((open, changed));
        }
        while self.input.next(run)? {
            run.step()?;
            self.current.clear();
            self.current.extend_from_slice(self.input.row());
            if self.change(run)? {
                run.locals.affected_rows += 1;
                if self.node.returning.is_some() {
                    return Ok(true);
                }
            }
        }
        if let Some(triggers) = self.node.target.triggers.as_ref().filter(|_| !self.is_over) {
            self.is_over = true;
            let (open, _) = self.open.as_ref().expect("opened before the first row");
            triggers.after_statement(Event::Update, Some(&self.named), &open.captures, run)?;
        }
        Ok(false)
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.input.rescan();
    }
}

/// DELETE.
pub struct DeleteRows<'p> {
    node: &'p plan::Delete,
    input: BoxOperator<'p>,
    open: Option<OpenTarget<'p>>,
    current: Vec<Value>,
    row: Vec<Value>,
    old: RowBytes,
    recheck: Recheck<'p>,
    is_over: bool,
}

impl<'p> DeleteRows<'p> {
    pub fn new(node: &'p plan::Delete, input: BoxOperator<'p>) -> Self {
        DeleteRows {
            node,
            input,
            open: None,
            current: Vec::new(),
            row: Vec::new(),
            old: RowBytes::new(),
            recheck: Recheck::new(&node.recheck, &node.input),
            is_over: false,
        }
    }

    /// Deletes the row that `self.current` names; whether it was deleted.
    fn change(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        let open = self.open.as_ref().expect("opened before the first row");
        let mut tid = ctid(&self.current, self.node.ctid)?;
        let triggers = open.target.triggers.as_ref();
        let before = open.triggers(TriggerTiming::Before, true, Event::Delete);
        let needs_old = self.node.returning.is_some() || !open.foreign_keys.is_empty() || triggers.is_some();
        if needs_old
            && !run.locals.take_kept_row(self.node.scan, tid, &mut self.old)
            && !run.engine().fetch(&open.table, tid, &mut self.old)?
        {
            return Ok(false);
        }
        loop {
            let gone = if before.is_some() { open.lock_for_triggers(&mut tid, run)? } else { None };
            let is_gone = gone.is_some();
            let outcome = match (gone, before) {
                (Some(gone), _) => gone,
                (None, before) => {
                    if let Some(triggers) = before {
                        let mut values = vec![Value::Null; open.kinds.len()];
                        open.full_row.decode(&open.table, &self.old, tid, &mut values)?;
                        if triggers.before_row(Event::Delete, None, Some(&values), None, run)?.is_none() {
                            return Ok(false);
                        }
                    }
                    run.engine().delete(&open.table, tid)?
                }
            };
            let isolation = run.engine().isolation();
            match outcome {
                Modify::Done { .. } => break,
                Modify::Skipped => return Ok(false),
                Modify::SelfModified { command } => {
                    // Triggers lock the row as one to be updated.
                    already_changed(if is_gone { "updated" } else { "deleted" }, command, run)?;
                    return Ok(false);
                }
                Modify::Deleted { .. } if isolation == Isolation::ReadCommitted => return Ok(false),
                Modify::Deleted { .. } => return Err(concurrent_change("delete")),
                Modify::Updated { .. } if isolation != Isolation::ReadCommitted => {
                    return Err(concurrent_change("update"));
                }
                Modify::Updated { newest, .. } => {
                    let (current, old) = (&mut self.current, &mut self.old);
                    match self.recheck.try_again(self.node.scan, &open.table, newest, current, old, run)? {
                        Rechecked::Qualifies(version) => tid = version,
                        Rechecked::Fails => return Ok(false),
                    }
                }
            }
        }
        if needs_old {
            let mut values = vec![Value::Null; open.kinds.len()];
            open.full_row.decode(&open.table, &self.old, tid, &mut values)?;
            open.foreign_keys.after_delete(&values, run);
            if let Some(triggers) = triggers {
                triggers.after_row(Event::Delete, None, (Some(&values), None), &open.captures, run)?;
            }
            if let Some(returning) = &self.node.returning {
                let mut input = std::mem::take(&mut self.current);
                input.extend(values);
                if open.target.returns_version {
                    open.push_version(tid, &mut input)?;
                }
                let result = evaluate_into(returning, &input, &mut self.row, run);
                self.current = input;
                result?;
            }
        }
        Ok(true)
    }
}

impl<'p> Operator<'p> for DeleteRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.open.is_none() {
            let open = self.open.insert(OpenTarget::open(&self.node.target, run)?);
            if let Some(triggers) = &self.node.target.triggers {
                triggers.before_statement(Event::Delete, None, &open.captures, run)?;
            }
        }
        while self.input.next(run)? {
            run.step()?;
            self.current.clear();
            self.current.extend_from_slice(self.input.row());
            if self.change(run)? {
                run.locals.affected_rows += 1;
                if self.node.returning.is_some() {
                    return Ok(true);
                }
            }
        }
        if let Some(triggers) = self.node.target.triggers.as_ref().filter(|_| !self.is_over) {
            self.is_over = true;
            let captures = &self.open.as_ref().expect("opened before the first row").captures;
            triggers.after_statement(Event::Delete, None, captures, run)?;
        }
        Ok(false)
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.input.rescan();
    }
}
