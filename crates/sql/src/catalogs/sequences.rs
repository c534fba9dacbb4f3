//! Sequences: `pg_sequence`, `pg_sequences`, and the one row that a sequence reads as.

use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{Oid, Result, missing, sqlstate};
use plan::VirtualTable;
use plan::privileges::Privileges;
use schema::catalog::{Catalog, SequenceDef};
use types::Value;

use super::relations::role_name;
use super::rows::row;
use super::{Equal, registry};
use crate::system_tables::SEQUENCE_COLUMNS;
use executor::Run;

/// All sequences by oid.
pub fn sequences(catalog: &Catalog) -> Vec<Arc<SequenceDef>> {
    let mut all: Vec<Arc<SequenceDef>> = catalog.sequences().cloned().collect();
    all.sort_by_key(|sequence| sequence.oid);
    all
}

/// `pg_sequence`
pub fn pg_sequence(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let row = |sequence: &Arc<SequenceDef>| {
        row![
            sequence.oid,
            sequence.type_oid,
            sequence.start,
            sequence.increment,
            sequence.maximum,
            sequence.minimum,
            sequence.cache,
            sequence.cycle,
        ]
    };
    Ok(sequences(run.catalog.catalog()).iter().map(row).collect())
}

/// `pg_sequences`
pub fn pg_sequences(run: &mut Run<'_, '_>, _: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let catalog = Arc::clone(run.catalog.catalog());
    let own_temporary = run.state.temporary_schema.get();
    let mut rows = Vec::new();
    for sequence in sequences(&catalog) {
        if catalog.is_temporary(sequence.schema) && Some(sequence.schema) != own_temporary {
            continue;
        }
        let mut last_value = None;
        // Nothing is locked that the role may not read.
        if run.state.require(sequence.oid, Privileges::USAGE | Privileges::SELECT).is_ok() {
            // A look at all sequences waits for none that is only altered.
            last_value = match run.engine().sequence_state(sequence.oid, LockMode::AccessShare) {
                Ok((last, is_called)) => is_called.then_some(last),
                // Dropped by a transaction that was waited for.
                Err(error) if error.sqlstate() == sqlstate::UNDEFINED_TABLE => continue,
                Err(error) => return Err(error),
            };
        }
        rows.push(row![
            run.catalog.schema_name(sequence.schema),
            sequence.name.as_str(),
            role_name(&catalog, sequence.owner),
            sequence.type_oid,
            sequence.start,
            sequence.minimum,
            sequence.maximum,
            sequence.increment,
            sequence.cycle,
            sequence.cache,
            last_value,
        ]);
    }
    Ok(rows)
}

/// The table that a sequence reads as.
pub fn sequence_table(sequence: &SequenceDef) -> Arc<VirtualTable> {
    Arc::new(VirtualTable {
        oid: sequence.oid,
        schema: sequence.schema,
        name: sequence.name.as_str().into(),
        columns: registry::columns(SEQUENCE_COLUMNS),
        estimated_rows: 1.0,
        view_query: None,
    })
}

/// The one row of a sequence.
pub fn sequence_row(run: &mut Run<'_, '_>, sequence: Oid) -> Result<Vec<Vec<Value>>> {
    let name = run.catalog.catalog().sequence(sequence).map(|def| def.name.clone()).unwrap_or_default();
    let (last, is_called) = match run.engine().sequence_state(sequence, LockMode::AccessShare) {
        // Dropped by a transaction that was waited for.
        Err(error) if error.sqlstate() == sqlstate::UNDEFINED_TABLE => {
            return Err(missing::relation(name));
        }
        state => state?,
    };
    Ok(vec![row![last, 0i64, is_called]])
}
