//! Triggers.

use base::{Oid, Result};
use schema::catalog::{TriggerDef, TriggerEnabled, TriggerTiming};
use types::Value;

use super::rows::{NULL, int2_vector, letter, row, wanted_oid};
use super::{Equal, relations};
use executor::Run;

/// `pg_trigger.tgtype`
fn type_bits(def: &TriggerDef) -> i16 {
    let timing = match def.timing {
        TriggerTiming::Before => 2,
        TriggerTiming::After => 0,
        TriggerTiming::InsteadOf => 64,
    };
    let flags =
        [(def.for_each_row, 1), (def.on_insert, 4), (def.on_delete, 8), (def.on_update, 16), (def.on_truncate, 32)];
    flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum::<i16>() + timing
}

/// `pg_trigger`. The triggers that PostgreSQL makes for foreign keys are not there.
pub fn pg_trigger(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let (oid, table_oid) = (wanted_oid(equal, 0), wanted_oid(equal, 1));
    let mut rows = Vec::new();
    for table in relations::tables(run.catalog.catalog()) {
        if !table_oid.matches(&table.oid) {
            continue;
        }
        for def in table.triggers.iter().filter(|def| oid.matches(&def.oid)) {
            let enabled = match def.enabled {
                TriggerEnabled::Origin => 'O',
                TriggerEnabled::Disabled => 'D',
                TriggerEnabled::Replica => 'R',
                TriggerEnabled::Always => 'A',
            };
            let arguments: Vec<u8> = def.arguments.iter().flat_map(|text| [text.as_bytes(), &[0]].concat()).collect();
            let none = Oid::INVALID;
            let constraint = if def.is_constraint { def.oid } else { none };
            let tables = table.transition_tables_of(def.oid);
            let old_table = tables.and_then(|tables| tables.old.as_deref());
            let new_table = tables.and_then(|tables| tables.new.as_deref());
            rows.push(row![
                def.oid,
                table.oid,
                none,
                def.name.as_str(),
                def.function,
                type_bits(def),
                letter(enabled),
                false,
                def.from_table,
                none,
                constraint,
                def.deferrable,
                def.initially_deferred,
                def.arguments.len() as i16,
                int2_vector(def.update_columns.iter().map(|place| *place as i16 + 1)),
                Value::Bytea(arguments.into()),
                def.condition.as_deref().map_or(NULL, Value::text),
                old_table.map_or(NULL, Value::text),
                new_table.map_or(NULL, Value::text)
            ]);
        }
    }
    Ok(rows)
}
