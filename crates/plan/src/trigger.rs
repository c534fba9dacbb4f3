//! Triggers of a table, as planned with the statements that fire them.

use std::sync::Arc;

use base::Oid;
use schema::catalog::{FunctionDef, TableDef, TriggerDef, TriggerTiming};
use types::RecordShape;

use super::{Expr, VirtualTable};

/// A kind of change of rows.
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
    /// The word in TG_OP.
    pub fn word(self) -> &'static str {
        match self {
            Event::Insert => "INSERT",
            Event::Update => "UPDATE",
            Event::Delete => "DELETE",
            Event::Truncate => "TRUNCATE",
        }
    }

    /// Whether a trigger is for it.
    pub fn concerns(self, def: &TriggerDef) -> bool {
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
    /// UPDATE OF: the columns named, and those that generated ones among them are computed from.
    pub update_columns: Vec<usize>,
    /// The statement's rows as tables that its function can read.
    pub transition_tables: Arc<[Arc<VirtualTable>]>,
}

/// Stands for the table of a statement's old rows, which a trigger's function reads.
pub const OLD_ROWS: Oid = Oid(1);
/// The same for its new rows.
pub const NEW_ROWS: Oid = Oid(2);

impl TableTriggers {
    /// Whether there is a trigger of this kind.
    pub fn has(&self, timing: TriggerTiming, for_row: bool, event: Event) -> bool {
        self.list.iter().any(|trigger| is_trigger_of(&trigger.def, timing, for_row, event))
    }
}

/// Whether a trigger is fired at this time, for rows or for statements, by this event.
pub fn is_trigger_of(def: &TriggerDef, timing: TriggerTiming, for_row: bool, event: Event) -> bool {
    def.timing == timing && def.for_each_row == for_row && event.concerns(def)
}
