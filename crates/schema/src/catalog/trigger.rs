//! Descriptors of triggers, as they are stored with their table.

use base::Oid;
use serde::{Deserialize, Serialize};

/// When a trigger is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum TriggerTiming {
    /// `BEFORE`
    Before,
    /// `AFTER`
    After,
    /// `INSTEAD OF`
    InsteadOf,
}

/// In which sessions a trigger is called, as in `pg_trigger.tgenabled`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum TriggerEnabled {
    /// In ordinary ones, `O`.
    #[default]
    Origin,
    /// In none, `D`.
    Disabled,
    /// In those that apply what was replicated, `R`.
    Replica,
    /// In all, `A`.
    Always,
}

/// A trigger of a table or view.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TriggerDef {
    /// Its identifier.
    pub oid: Oid,
    /// Its name, unique for its table.
    pub name: String,
    /// The function that is called.
    pub function: Oid,
    /// When it is called.
    pub timing: TriggerTiming,
    /// For each row rather than once for a statement.
    pub for_each_row: bool,
    /// By INSERT.
    pub on_insert: bool,
    /// By UPDATE.
    pub on_update: bool,
    /// By DELETE.
    pub on_delete: bool,
    /// By TRUNCATE.
    pub on_truncate: bool,
    /// The columns of `UPDATE OF`, by position; none: any.
    pub update_columns: Vec<usize>,
    /// `WHEN`, as SQL.
    pub condition: Option<String>,
    /// The arguments that the function gets.
    pub arguments: Vec<String>,
    /// `CREATE CONSTRAINT TRIGGER`
    pub is_constraint: bool,
    /// `DEFERRABLE`
    pub deferrable: bool,
    /// `INITIALLY DEFERRED`
    pub initially_deferred: bool,
    /// The table of a constraint trigger's `FROM`, or zero.
    pub from_table: Oid,
    /// Where it is called.
    pub enabled: TriggerEnabled,
    /// `COMMENT ON TRIGGER`.
    pub comment: Option<String>,
}

/// `REFERENCING` of a trigger.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TransitionTables {
    /// The trigger.
    pub trigger: Oid,
    /// The name that `OLD TABLE` gives to the old rows.
    pub old: Option<String>,
    /// The name that `NEW TABLE` gives to the new rows.
    pub new: Option<String>,
}

/// The name and comment of a constraint trigger as a constraint, where they differ from those of the trigger.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ConstraintTrigger {
    /// The trigger.
    pub trigger: Oid,
    /// The constraint's name, where one of the two has been renamed.
    pub name: Option<String>,
    /// `COMMENT ON CONSTRAINT`.
    pub comment: Option<String>,
}

impl TriggerDef {
    /// Whether a session calls it: one whose `session_replication_role` is `replica`, or another one.
    pub fn is_enabled(&self, in_replica: bool) -> bool {
        match self.enabled {
            TriggerEnabled::Always => true,
            TriggerEnabled::Origin => !in_replica,
            TriggerEnabled::Replica => in_replica,
            TriggerEnabled::Disabled => false,
        }
    }
}
