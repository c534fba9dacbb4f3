//! ANALYZE: what the planner wants to know of a table, from a sample of its rows.

use std::sync::Arc;

use base::lock_mode::{LockMode, WaitPolicy};
use base::{Oid, Result};
use schema::catalog::{ColumnDef, IndexDef, TableDef};
use sync::Work;
use types::{StorageKind, Value};

use crate::state::SessionState;
use planner::{ColumnStatistics, TableStatistics};

/// Rows in a sample: enough for a hundred parts of equal size, as PostgreSQL reckons.
const SAMPLE_ROWS: usize = 30_000;

/// Takes a sample of a table's rows and stores what it says about the table and its columns.
///
/// # Errors
/// 42P01 if the table is gone; 40P01, 55P03, 57014 from waiting for its lock; XX001 and 58030.
pub fn analyze(state: &SessionState, table: Oid) -> Result<()> {
    state.engine().lock_relation(table, LockMode::ShareUpdateExclusive, WaitPolicy::Block)?;
    let open = state.engine().open_table(table)?;
    let view = state.catalog();
    // The type of a dropped column may be gone.
    let kind_of = |column: &ColumnDef| (!column.dropped).then(|| StorageKind::of(&view, column.type_oid));
    let kinds: Vec<Option<StorageKind>> = open.def.columns.iter().map(kind_of).collect();
    let mut samples: Vec<Vec<Value>> = vec![Vec::new(); kinds.len()];
    state.engine().push_snapshot()?;
    let summary = state.engine().sample(&open, SAMPLE_ROWS, &mut |_, row| {
        for ((datum, kind), sample) in row.iter().zip(&kinds).zip(&mut samples) {
            if let Some(kind) = kind {
                sample.push(kind.read(datum)?);
            }
        }
        Ok(())
    });
    state.engine().pop_snapshot();
    let summary = summary?;
    let mut columns = Vec::with_capacity(samples.len());
    for (column, sample) in open.def.columns.iter().zip(samples) {
        columns.push(if column.dropped || sample.is_empty() {
            None
        } else {
            let rows = summary.rows;
            Some(sync::on_other_thread(Work::Bounded, move || ColumnStatistics::from_sample(&sample, rows))?)
        });
    }
    let statistics = TableStatistics { columns };
    let old = Arc::clone(&open.def);
    let new = TableDef {
        estimated_rows: summary.rows,
        estimated_pages: summary.pages,
        column_statistics: Some(statistics.encode()),
        ..(*old).clone()
    };
    state.changed_catalog.set(true);
    if new != *old {
        state.engine().replace_object(new)?;
    }
    for index in &open.indexes {
        let pages = index.block_count()?;
        if pages != index.def.estimated_pages || index.def.estimated_rows != summary.rows {
            let new = IndexDef { estimated_rows: summary.rows, estimated_pages: pages, ..(*index.def).clone() };
            state.engine().replace_object(new)?;
        }
    }
    Ok(())
}
