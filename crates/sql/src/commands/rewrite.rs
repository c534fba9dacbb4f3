//! Writing all rows of a table: anew when its columns change, or for the first time.

use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{FileNumber, Lsn, Oid, Result};
use bumpalo::Bump;
use engine::Table;
use plan::CatalogView;
use schema::catalog::{IndexDef, TableDef};
use schema::key::PlainKeys;
use schema::row::Datum;
use smallvec::SmallVec;
use types::{RowColumns, StorageKind, Value};

use super::ddl::Ddl;
use super::{index, validate};
use executor::Run;

/// Rows stored at a time.
const BATCH_ROWS: usize = 64;

/// Stores rows in a table that has no indexes, many at a time.
pub(super) struct Sink {
    table: Arc<Table>,
    kinds: Vec<StorageKind>,
    row_columns: RowColumns,
    view: CatalogView,
    pending: Vec<Vec<Value>>,
    arena: Bump,
}

impl Sink {
    /// For rows of all columns of `table`.
    pub fn new(ddl: &Ddl<'_>, table: Arc<Table>) -> Sink {
        let view = ddl.view();
        let kinds = StorageKind::of_columns(&view, &table.def);
        let row_columns = RowColumns::of(&table.def, &kinds);
        Sink { table, kinds, row_columns, view, pending: Vec::with_capacity(BATCH_ROWS), arena: Bump::new() }
    }

    /// Takes one row.
    pub fn push(&mut self, row: Vec<Value>, engine: &engine::Session) -> Result<()> {
        self.row_columns.check(&row, &self.view)?;
        self.pending.push(row);
        if self.pending.len() >= BATCH_ROWS { self.flush(engine) } else { Ok(()) }
    }

    /// Stores what is still pending.
    pub fn flush(&mut self, engine: &engine::Session) -> Result<()> {
        self.arena.reset();
        let rows: Vec<SmallVec<[Datum<'_>; 16]>> = self
            .pending
            .iter()
            .map(|row| row.iter().zip(&self.kinds).map(|(value, kind)| kind.write(value, &self.arena)).collect())
            .collect();
        let slices: Vec<&[Datum<'_>]> = rows.iter().map(SmallVec::as_slice).collect();
        engine.insert_many(&self.table, &slices, &PlainKeys, &mut |_, _| {})?;
        drop(slices);
        drop(rows);
        self.pending.clear();
        Ok(())
    }
}

/// A function that makes a new row of an old row.
pub(super) type MakeRow<'m, 'p> = &'m mut dyn FnMut(&mut Run<'_, 'p>, &[Value]) -> Result<Vec<Value>>;

/// Gives a table new storage and a new description, and every row that `make` makes of an old one. Its indexes are
/// built again. The caller holds an AccessExclusive lock.
pub(super) fn rewrite<'p>(ddl: &mut Ddl<'_>, old: &Arc<Table>, mut new: TableDef, make: MakeRow<'_, 'p>) -> Result<()> {
    let oid = new.oid;
    // Locked as a scan locks it, the table is read as it was opened, though the catalog moves on.
    ddl.lock(oid, LockMode::AccessShare)?;
    for column in &mut new.columns {
        column.missing_default = None;
    }
    new.file = FileNumber(0);
    new.overflow_file = FileNumber(0);
    new.overflow_index_file = FileNumber(0);
    new.column_statistics = None;
    without_indexes(ddl, oid, |ddl| {
        ddl.replace(new)?;
        let table = ddl.open(oid)?;
        let mut sink = Sink::new(ddl, table);
        validate::for_each_row(ddl, old, &mut |run, _, values| {
            let row = make(run, values)?;
            sink.push(row, &run.engine())
        })?;
        sink.flush(&ddl.engine())
    })
}

/// Runs `work` while a table has no indexes, then builds them.
pub(super) fn without_indexes(
    ddl: &mut Ddl<'_>,
    table: Oid,
    work: impl FnOnce(&mut Ddl<'_>) -> Result<()>,
) -> Result<()> {
    let indexes: Vec<Arc<IndexDef>> = ddl.catalog().indexes_of(table).to_vec();
    for index in &indexes {
        ddl.drop(index.oid)?;
    }
    work(ddl)?;
    for index in &indexes {
        ddl.create_again(IndexDef { file: FileNumber(0), usable_from: Lsn::ZERO, ..(**index).clone() })?;
    }
    for index in &indexes {
        index::build(ddl, table, index.oid)?;
    }
    Ok(())
}
