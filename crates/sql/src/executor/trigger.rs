//! Triggers: what is called around the changes of a table's rows.
//!
//! BEFORE triggers run where the change is made and may give the row other values, or leave it out. Calls of AFTER triggers are
//! queued with the checks of foreign keys, and made at the end of the statement, or of the transaction if they are deferred.

use std::sync::Arc;

use base::{Error, Result, sqlstate};
use engine::catalog::{FunctionDef, TableDef, TriggerDef, TriggerTiming};
use engine::row::ColumnSet;

use super::Run;
use super::evaluate::is_true;
use crate::plan::Expr;
use crate::plpgsql::{TriggerCall, call_trigger};
use crate::session::SessionState;
use crate::types::{RecordShape, RecordValue, Value};

/// What happens to rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
    /// TRUNCATE
    Truncate,
}

impl Event {
    fn word(self) -> &'static str {
        match self {
            Event::Insert => "INSERT",
            Event::Update => "UPDATE",
            Event::Delete => "DELETE",
            Event::Truncate => "TRUNCATE",
        }
    }

    fn concerns(self, def: &TriggerDef) -> bool {
        match self {
            Event::Insert => def.on_insert,
            Event::Update => def.on_update,
            Event::Delete => def.on_delete,
            Event::Truncate => def.on_truncate,
        }
    }
}

/// A table's enabled triggers, in the order of their names.
#[derive(Debug)]
pub struct TableTriggers {
    /// The table.
    pub table: Arc<TableDef>,
    /// The shape of its rows, dropped columns left out.
    pub shape: Arc<RecordShape>,
    /// The triggers.
    pub list: Vec<Arc<PlannedTrigger>>,
}

/// A trigger, ready to be called.
#[derive(Debug)]
pub struct PlannedTrigger {
    /// Its definition.
    pub def: TriggerDef,
    /// Its function.
    pub function: Arc<FunctionDef>,
    /// WHEN, over the full old row followed by the full new row.
    pub condition: Option<Expr>,
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
}

impl TableTriggers {
    /// Whether there is a trigger of this kind.
    pub fn has(&self, timing: TriggerTiming, for_row: bool, event: Event) -> bool {
        self.list.iter().any(|trigger| is_of(&trigger.def, timing, for_row, event))
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
            let names_column =
                || assigned.is_none_or(|assigned| def.update_columns.iter().any(|column| assigned.contains(*column)));
            is_of(def, timing, for_row, event)
                && (event != Event::Update || def.update_columns.is_empty() || names_column())
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
        let name = |oid| crate::types::format_type_name(&run.catalog, oid);
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
            row.push(crate::plpgsql::cast(value.clone(), *source, *target, run)?);
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
        let mut locals = super::Locals::for_expression();
        is_true(condition, &both, &mut run.with_locals(&[], &mut locals))
    }

    /// Calls the statement's BEFORE triggers.
    ///
    /// # Errors
    /// What they raise.
    pub fn before_statement(&self, event: Event, assigned: Option<&ColumnSet>, run: &mut Run<'_, '_>) -> Result<()> {
        for trigger in self.fired(TriggerTiming::Before, false, event, assigned) {
            if self.holds(trigger, None, None, run)? {
                call(self, trigger, event, None, None, run)?;
            }
        }
        Ok(())
    }

    /// Queues the statement's AFTER triggers.
    ///
    /// # Errors
    /// What their conditions raise.
    pub fn after_statement(
        self: &Arc<Self>,
        event: Event,
        assigned: Option<&ColumnSet>,
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        self.queue(false, event, assigned, None, None, run)
    }

    /// Calls a row's BEFORE triggers: the row as they leave it; none if it is to be left alone.
    ///
    /// # Errors
    /// What they raise.
    pub fn before_row(
        &self,
        event: Event,
        assigned: Option<&ColumnSet>,
        old: FullRow<'_>,
        new: FullRow<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<Option<Vec<Value>>> {
        let mut new = new.map(<[Value]>::to_vec);
        for trigger in self.fired(TriggerTiming::Before, true, event, assigned) {
            if !self.holds(trigger, old, new.as_deref(), run)? {
                continue;
            }
            let returned = call(self, trigger, event, self.record(old), self.record(new.as_deref()), run)?;
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
    /// What their conditions raise.
    pub fn after_row(
        self: &Arc<Self>,
        event: Event,
        assigned: Option<&ColumnSet>,
        old: FullRow<'_>,
        new: FullRow<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        self.queue(true, event, assigned, old, new, run)
    }

    fn queue(
        self: &Arc<Self>,
        for_row: bool,
        event: Event,
        assigned: Option<&ColumnSet>,
        old: FullRow<'_>,
        new: FullRow<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        for trigger in self.fired(TriggerTiming::After, for_row, event, assigned) {
            if !self.holds(trigger, old, new, run)? {
                continue;
            }
            let (old, new) = (self.record(old), self.record(new));
            let (triggers, trigger) = (Arc::clone(self), Arc::clone(trigger));
            super::foreign_key::queue_call(run.state, QueuedCall { triggers, trigger, event, old, new });
        }
        Ok(())
    }
}

fn is_of(def: &TriggerDef, timing: TriggerTiming, for_row: bool, event: Event) -> bool {
    def.timing == timing && def.for_each_row == for_row && event.concerns(def)
}

fn call(
    triggers: &TableTriggers,
    trigger: &PlannedTrigger,
    event: Event,
    old: Option<Arc<RecordValue>>,
    new: Option<Arc<RecordValue>>,
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
    };
    call_trigger(run, &trigger.function, &call)
}

impl QueuedCall {
    /// Whether it waits for the transaction's end.
    pub fn is_deferred(&self, state: &SessionState) -> bool {
        let def = &self.trigger.def;
        let deferral = state.deferred.borrow();
        let said = deferral.by_constraint.get(&def.oid).copied().or(deferral.all);
        def.deferrable && said.unwrap_or(def.initially_deferred)
    }

    /// Whether it is one for a whole statement.
    pub fn is_of_statement(&self) -> bool {
        !self.trigger.def.for_each_row
    }

    /// Makes the call; what it returns is of no interest.
    pub fn make(&self, run: &mut Run<'_, '_>) -> Result<()> {
        call(&self.triggers, &self.trigger, self.event, self.old.clone(), self.new.clone(), run).map(|_| ())
    }
}
