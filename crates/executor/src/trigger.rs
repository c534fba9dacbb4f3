//! Triggers: what is called around the changes of a table's rows.
//!
//! BEFORE triggers run where the change is made and may give the row other values, or leave it out. Calls of AFTER triggers are
//! queued with the checks of foreign keys, and made at the end of the statement, or of the transaction if they are deferred.

use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{CommandId, Error, Oid, Result, sqlstate};
use plan::{Event, PlannedTrigger, SUPPRESS_REDUNDANT_UPDATES, TableTriggers, VirtualTable};
use schema::catalog::{FunctionDef, TriggerDef, TriggerTiming};
use schema::row::ColumnSet;
use types::{RecordShape, RecordValue, Value};

use crate::Run;
use crate::assignment_cast::cast_for_assignment;
use crate::evaluate::is_true;
use crate::shared_change::{Captured, EndMark, SharedChange};
use crate::state::ExecutionState;

/// The changes of a statement that its triggers need, by event; `None` for an event that no trigger needs.
#[derive(Default)]
pub struct Captures {
    insert: Option<Arc<SharedChange>>,
    update: Option<Arc<SharedChange>>,
    delete: Option<Arc<SharedChange>>,
}

impl Captures {
    fn of(&self, event: Event) -> Option<&Arc<SharedChange>> {
        match event {
            Event::Insert => self.insert.as_ref(),
            Event::Update => self.update.as_ref(),
            Event::Delete => self.delete.as_ref(),
            Event::Truncate => None,
        }
    }
}

/// A row as the table stores it.
type FullRow<'r> = Option<&'r [Value]>;

/// A call of an AFTER trigger that is to be made.
#[derive(Clone)]
pub struct QueuedCall {
    triggers: Arc<TableTriggers>,
    trigger: Arc<PlannedTrigger>,
    event: Event,
    old: Option<Arc<RecordValue>>,
    new: Option<Arc<RecordValue>>,
    captured: Option<Arc<Captured>>,
    /// Of a statement's trigger: it is not called where more of the statement comes behind it.
    end: Option<EndMark>,
}

/// The values passed to a trigger function.
pub struct TriggerCall<'a> {
    /// The trigger's name.
    pub name: &'a str,
    /// BEFORE, AFTER or INSTEAD OF.
    pub when: &'static str,
    /// ROW or STATEMENT.
    pub level: &'static str,
    /// INSERT, UPDATE, DELETE or TRUNCATE.
    pub operation: &'static str,
    /// The number of the table.
    pub table: Oid,
    /// The table's name.
    pub table_name: &'a str,
    /// The name of the table's schema.
    pub table_schema: &'a str,
    /// The arguments of CREATE TRIGGER.
    pub arguments: &'a [String],
    /// The shape of the table's rows.
    pub shape: &'a Arc<RecordShape>,
    /// The old row, of UPDATE and DELETE.
    pub old: Option<Arc<RecordValue>>,
    /// The new row, of INSERT and UPDATE.
    pub new: Option<Arc<RecordValue>>,
    /// The trigger.
    pub oid: Oid,
    /// The statement's rows as tables that can be read.
    pub transition_tables: &'a Arc<[Arc<VirtualTable>]>,
    /// The rows of the transition tables.
    pub captured: Option<&'a Arc<Captured>>,
}

/// A table's triggers, to be fired.
pub struct Firing<'t>(pub &'t Arc<TableTriggers>);

impl std::ops::Deref for Firing<'_> {
    type Target = TableTriggers;

    fn deref(&self) -> &TableTriggers {
        self.0
    }
}

impl Firing<'_> {
    /// The changes to keep for the statement that runs as `command`. A foreign key's action is part of the statement
    /// whose checks are numbered from `statement` on.
    pub fn captures(&self, state: &ExecutionState, statement: Option<u64>, command: CommandId) -> Captures {
        let shared = |event: Event| {
            let concerned = || self.list.iter().filter(|trigger| event.concerns(&trigger.def));
            let is_read = concerned().any(|trigger| !trigger.transition_tables.is_empty());
            let is_wanted = is_read || concerned().any(|trigger| !trigger.def.for_each_row);
            is_wanted.then(|| SharedChange::join(state, (statement, command), (self.table.oid, event), is_read))
        };
        Captures { insert: shared(Event::Insert), update: shared(Event::Update), delete: shared(Event::Delete) }
    }

    /// Those that a change fires: `assigned` are the columns an UPDATE names.
    fn fired<'t>(
        &'t self,
        timing: TriggerTiming,
        for_row: bool,
        event: Event,
        assigned: Option<&'t ColumnSet>,
    ) -> impl Iterator<Item = &'t Arc<PlannedTrigger>> {
        self.list.iter().filter(move |trigger| {
            let def = &trigger.def;
            let columns = &trigger.update_columns;
            let names_column =
                || assigned.is_none_or(|assigned| columns.iter().any(|column| assigned.contains(*column)));
            plan::is_trigger_of(def, timing, for_row, event)
                && (event != Event::Update || columns.is_empty() || names_column())
        })
    }

    fn record(&self, row: FullRow<'_>) -> Option<Arc<RecordValue>> {
        let live = |row: &[Value]| -> Vec<Value> {
            let columns = row.iter().zip(&self.table.columns).filter(|(_, column)| !column.dropped);
            columns.map(|(value, _)| value.clone()).collect()
        };
        row.map(|row| Arc::new(RecordValue { shape: Arc::clone(&self.shape), fields: live(row) }))
    }

    /// The full row that a trigger returned, its values cast where their types differ.
    fn full_row(&self, record: &RecordValue, function: &FunctionDef, run: &mut Run<'_, '_>) -> Result<Vec<Value>> {
        let pairs = record.shape.fields.iter().zip(&self.shape.fields).enumerate();
        let name = |oid| types::format_type_name(&run.catalog, oid);
        let mut wrong = pairs.filter(|(_, ((_, given), (_, wanted)))| given.oid != wanted.oid).map(|(number, pair)| {
            let ((_, given), (_, wanted)) = pair;
            format!(
                "Returned type {} does not match expected type {} in column {}.",
                name(given.oid),
                name(wanted.oid),
                number + 1
            )
        });
        let count = || {
            format!(
                "Number of returned columns ({}) does not match expected column count ({}).",
                record.fields.len(),
                self.shape.fields.len()
            )
        };
        let differs = record.fields.len() != self.shape.fields.len();
        if let Some(detail) = wrong.next().or_else(|| differs.then(count)) {
            let message = "returned row structure does not match the structure of the triggering table";
            return Err(Error::new(sqlstate::DATATYPE_MISMATCH, message)
                .detail(detail)
                .context(format!("PL/pgSQL function {}() during function exit", function.name)));
        }
        let mut fields = record.fields.iter().zip(&record.shape.fields).zip(&self.shape.fields);
        let mut row = Vec::with_capacity(self.table.columns.len());
        for column in &self.table.columns {
            if column.dropped {
                row.push(Value::Null);
                continue;
            }
            let Some(((value, (_, source)), (_, target))) = fields.next() else { break };
            row.push(cast_for_assignment(value.clone(), *source, *target, run)?);
        }
        Ok(row)
    }

    /// Whether WHEN holds.
    fn holds(
        &self,
        trigger: &PlannedTrigger,
        old: FullRow<'_>,
        new: FullRow<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<bool> {
        let Some(condition) = &trigger.condition else { return Ok(true) };
        let width = self.table.columns.len();
        let mut both = Vec::with_capacity(2 * width);
        for row in [old, new] {
            match row {
                Some(row) => both.extend_from_slice(row),
                None => both.resize(both.len() + width, Value::Null),
            }
        }
        let mut locals = crate::Locals::for_expression();
        let state = run.state;
        state.while_in_use(Arc::from([(self.table.oid, LockMode::RowExclusive)]), || {
            is_true(condition, &both, &mut run.with_locals(&[], &mut locals))
        })
    }

    /// Calls the statement's BEFORE triggers.
    ///
    /// # Errors
    /// Errors of the triggers and of their conditions.
    pub fn before_statement(
        &self,
        event: Event,
        assigned: Option<&ColumnSet>,
        captures: &Captures,
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        if captures.of(event).is_some_and(|change| !change.begin()) {
            return Ok(());
        }
        for trigger in self.fired(TriggerTiming::Before, false, event, assigned) {
            if self.holds(trigger, None, None, run)? {
                call(self, trigger, event, (None, None), None, run)?;
            }
        }
        Ok(())
    }

    /// Queues the statement's AFTER triggers.
    ///
    /// # Errors
    /// Errors of the triggers' conditions.
    pub fn after_statement(
        &self,
        event: Event,
        assigned: Option<&ColumnSet>,
        captures: &Captures,
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        if let Some(change) = captures.of(event) {
            change.end();
        }
        self.queue(false, event, assigned, (None, None), captures, run)
    }

    /// Calls a row's BEFORE triggers: the row as they leave it; none if it is to be left alone.
    ///
    /// # Errors
    /// Errors of the triggers and of their conditions.
    pub fn before_row(
        &self,
        event: Event,
        assigned: Option<&ColumnSet>,
        old: FullRow<'_>,
        new: FullRow<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<Option<Vec<Value>>> {
        self.around_row(TriggerTiming::Before, event, assigned, old, new, run)
    }

    /// Calls the INSTEAD OF triggers for a view's row: as [`Firing::before_row`].
    ///
    /// # Errors
    /// Errors of the triggers and of their conditions.
    pub fn instead_of_row(
        &self,
        event: Event,
        old: FullRow<'_>,
        new: FullRow<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<Option<Vec<Value>>> {
        self.around_row(TriggerTiming::InsteadOf, event, None, old, new, run)
    }

    fn around_row(
        &self,
        timing: TriggerTiming,
        event: Event,
        assigned: Option<&ColumnSet>,
        old: FullRow<'_>,
        new: FullRow<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<Option<Vec<Value>>> {
        let mut new = new.map(<[Value]>::to_vec);
        let is_before = timing == TriggerTiming::Before;
        let generated = || self.table.columns.iter().enumerate().filter(|(_, column)| column.generated.is_some());
        for trigger in self.fired(timing, true, event, assigned) {
            if let Some(new) = new.as_mut().filter(|_| is_before) {
                // They are computed once all triggers have been called.
                generated().for_each(|(place, _)| new[place] = Value::Null);
            }
            if !self.holds(trigger, old, new.as_deref(), run)? {
                continue;
            }
            let returned = call(self, trigger, event, (self.record(old), self.record(new.as_deref())), None, run)?;
            let Some(returned) = returned else { return Ok(None) };
            if new.is_some() {
                new = Some(self.full_row(&returned, &trigger.function, run)?);
            }
        }
        Ok(Some(new.unwrap_or_default()))
    }

    /// Queues a row's AFTER triggers.
    ///
    /// # Errors
    /// Errors of the triggers' conditions.
    pub fn after_row(
        &self,
        event: Event,
        assigned: Option<&ColumnSet>,
        (old, new): (FullRow<'_>, FullRow<'_>),
        captures: &Captures,
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        if let Some(captured) = captures.of(event).and_then(|change| change.captured.as_ref()) {
            captured.add(self.record(old).as_deref(), self.record(new).as_deref(), run)?;
        }
        self.queue(true, event, assigned, (old, new), captures, run)
    }

    fn queue(
        &self,
        for_row: bool,
        event: Event,
        assigned: Option<&ColumnSet>,
        (old, new): (FullRow<'_>, FullRow<'_>),
        captures: &Captures,
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        for trigger in self.fired(TriggerTiming::After, for_row, event, assigned) {
            if !self.holds(trigger, old, new, run)? {
                continue;
            }
            let (old, new) = (self.record(old), self.record(new));
            let (triggers, trigger) = (Arc::clone(self.0), Arc::clone(trigger));
            let change = captures.of(event);
            let reads_rows = !trigger.transition_tables.is_empty();
            let captured = change.filter(|_| reads_rows).and_then(|change| change.captured.clone());
            let end = change.filter(|_| !for_row).map(SharedChange::mark);
            crate::pending_checks::queue_call(
                run.state,
                QueuedCall { triggers, trigger, event, old, new, captured, end },
            );
        }
        Ok(())
    }
}

/// `suppress_redundant_updates_trigger`: leaves out an update that would leave the row as it is.
fn suppress_redundant_update(call: TriggerCall<'_>) -> Result<Option<Arc<RecordValue>>> {
    let refusal = |what: &str| {
        let message = format!("suppress_redundant_updates_trigger: must be called {what}");
        Err(Error::new(sqlstate::TRIGGER_PROTOCOL_VIOLATED, message))
    };
    if call.operation != "UPDATE" {
        return refusal("on update");
    }
    if call.when != "BEFORE" {
        return refusal("before update");
    }
    if call.level != "ROW" {
        return refusal("for each row");
    }
    let is_redundant = match (&call.old, &call.new) {
        (Some(old), Some(new)) => old.fields == new.fields,
        _ => false,
    };
    Ok(call.new.filter(|_| !is_redundant))
}

fn call(
    triggers: &TableTriggers,
    trigger: &PlannedTrigger,
    event: Event,
    (old, new): (Option<Arc<RecordValue>>, Option<Arc<RecordValue>>),
    captured: Option<&Arc<Captured>>,
    run: &mut Run<'_, '_>,
) -> Result<Option<Arc<RecordValue>>> {
    let table = &triggers.table;
    let schema = run.catalog.schema_name(table.schema);
    let call = TriggerCall {
        name: &trigger.def.name,
        when: match trigger.def.timing {
            TriggerTiming::Before => "BEFORE",
            TriggerTiming::After => "AFTER",
            TriggerTiming::InsteadOf => "INSTEAD OF",
        },
        level: if trigger.def.for_each_row { "ROW" } else { "STATEMENT" },
        operation: event.word(),
        table: table.oid,
        table_name: &table.name,
        table_schema: &schema,
        arguments: &trigger.def.arguments,
        shape: &triggers.shape,
        old,
        new,
        oid: trigger.def.oid,
        transition_tables: &trigger.transition_tables,
        captured,
    };
    if trigger.function.oid == SUPPRESS_REDUNDANT_UPDATES {
        return suppress_redundant_update(call);
    }
    // The function may have another body or owner than when the statement was planned, or the call queued.
    let catalog = run.state.engine_catalog();
    let function = catalog.function(trigger.function.oid).unwrap_or(&trigger.function);
    let host = run.host;
    host.call_trigger(run, function, &call)
}

impl QueuedCall {
    /// The table whose change fired it.
    pub fn table(&self) -> Oid {
        self.triggers.table.oid
    }

    /// Whether it waits for the transaction's end.
    pub fn is_deferred(&self, state: &ExecutionState) -> bool {
        let def = &self.trigger.def;
        def.deferrable && state.deferred.borrow().said_of(def.oid).unwrap_or(def.initially_deferred)
    }

    /// Makes the call, unless the trigger has been dropped since; what it returns is of no interest.
    pub fn make(&self, run: &mut Run<'_, '_>) -> Result<()> {
        let catalog = run.state.engine_catalog();
        let is_this = |def: &TriggerDef| def.oid == self.trigger.def.oid;
        if !catalog.table(self.table()).is_some_and(|table| table.triggers.iter().any(is_this)) {
            return Ok(());
        }
        if self.end.as_ref().is_some_and(|end| !end.is_last()) {
            return Ok(());
        }
        if let Some(captured) = &self.captured {
            captured.close()?;
        }
        let rows = (self.old.clone(), self.new.clone());
        call(&self.triggers, &self.trigger, self.event, rows, self.captured.as_ref(), run).map(|_| ())
    }
}
