//! Decoders of stored rows into values.

use std::cell::OnceCell;

use base::{Result, Tid, Xid};
use engine::{Table, Version};
use plan::ScanColumn;
use schema::catalog::TableDef;
use schema::row::{Datum, RowValues};
use smallvec::SmallVec;
use types::{CatalogLookup, StorageKind, Value};

/// Reads the wanted columns of stored rows into slots.
pub struct RowDecoder {
    /// Ascending by column, so that a row is walked once.
    steps: Vec<DecodeStep>,
    /// Slots of system columns.
    system: Vec<(usize, ScanColumn)>,
}

struct DecodeStep {
    column: usize,
    slot: usize,
    kind: StorageKind,
    /// The width of the columns between the last step's and this one's, if each has one and there are any.
    skipped_bytes: Option<usize>,
}

impl DecodeStep {
    /// Puts the next of `values`, which is this step's, into `out`: straight into it, as a value that is made elsewhere
    /// and moved costs more than the reading.
    #[inline(always)]
    fn read_into(&self, values: &mut RowValues<'_>, out: &mut Value) -> Result<()> {
        match self.kind {
            StorageKind::Int4 => {
                if let Some(bytes) = values.next_fixed() {
                    *out = Value::Int4(i32::from_le_bytes(bytes));
                    return Ok(());
                }
            }
            StorageKind::Int8 => {
                if let Some(bytes) = values.next_fixed() {
                    *out = Value::Int8(i64::from_le_bytes(bytes));
                    return Ok(());
                }
            }
            StorageKind::Float8 => {
                if let Some(bytes) = values.next_fixed() {
                    *out = Value::Float8(f64::from_le_bytes(bytes));
                    return Ok(());
                }
            }
            StorageKind::Date => {
                if let Some(bytes) = values.next_fixed() {
                    *out = Value::Date(i32::from_le_bytes(bytes));
                    return Ok(());
                }
            }
            StorageKind::Timestamp => {
                if let Some(bytes) = values.next_fixed() {
                    *out = Value::Timestamp(i64::from_le_bytes(bytes));
                    return Ok(());
                }
            }
            StorageKind::Text | StorageKind::PaddedText | StorageKind::Numeric => {
                if let Some(bytes) = values.next_short_bytes() {
                    *out = self.kind.read(Datum::Bytes(bytes))?;
                    return Ok(());
                }
            }
            _ => {}
        }
        *out = self.kind.read(values.next().unwrap_or_default())?;
        Ok(())
    }
}

/// The version at `tid`, for its system columns: it is looked at once, when the first that is written there is wanted.
pub(super) struct SystemColumns<'t> {
    table: &'t Table,
    tid: Tid,
    version: OnceCell<Option<Version>>,
}

impl<'t> SystemColumns<'t> {
    /// Those of the version at `tid`.
    pub fn of(table: &'t Table, tid: Tid) -> SystemColumns<'t> {
        SystemColumns { table, tid, version: OnceCell::new() }
    }

    /// One of them.
    ///
    /// # Errors
    /// Those of reading its header.
    pub fn value(&self, column: ScanColumn) -> Result<Value> {
        match column {
            ScanColumn::Ctid => return Ok(Value::Tid(self.tid)),
            ScanColumn::TableOid => return Ok(Value::oid(self.table.oid())),
            _ if self.version.get().is_none() => {
                let _ = self.version.set(self.table.version(self.tid)?);
            }
            _ => {}
        }
        let Some(Some(version)) = self.version.get() else { return Ok(Value::Null) };
        // Clients know the lower half of transactions' numbers.
        let shown = |xid: Xid| Value::Xid(xid.0 & 0xFFFF_FFFF);
        // One column of PostgreSQL's rows is both: who removed a row hides who made it.
        let command = if version.xmax.is_valid() { version.cmax } else { version.cmin };
        Ok(match column {
            ScanColumn::Xmin => shown(version.xmin),
            ScanColumn::Xmax => shown(version.xmax),
            _ => Value::Xid(u64::from(command.0)),
        })
    }
}

impl RowDecoder {
    /// A decoder that puts each of `columns` into the slot beside it.
    pub fn new(table: &TableDef, columns: &[(usize, ScanColumn)], catalog: &dyn CatalogLookup) -> RowDecoder {
        let mut steps = Vec::with_capacity(columns.len());
        let mut system = Vec::new();
        for &(slot, column) in columns {
            match column {
                ScanColumn::Column(column) => {
                    let column = column as usize;
                    let kind = StorageKind::of(catalog, table.columns[column].type_oid);
                    steps.push(DecodeStep { column, slot, kind, skipped_bytes: None });
                }
                other => system.push((slot, other)),
            }
        }
        steps.sort_by_key(|step| step.column);
        RowDecoder::of_sorted(table, steps, system)
    }

    /// Slots in the order of `columns`.
    pub(super) fn of_scan(table: &TableDef, columns: &[ScanColumn], catalog: &dyn CatalogLookup) -> RowDecoder {
        let columns: SmallVec<[_; 16]> = columns.iter().copied().enumerate().collect();
        RowDecoder::new(table, &columns, catalog)
    }

    /// Every column of the table, each of its kind, slot by place. Dropped ones leave their slots as they are: the type may be gone.
    pub fn of_full_row(table: &TableDef, kinds: &[StorageKind]) -> RowDecoder {
        let live = table.columns.iter().zip(kinds).enumerate().filter(|(_, (column, _))| !column.dropped);
        let steps =
            live.map(|(place, (_, &kind))| DecodeStep { column: place, slot: place, kind, skipped_bytes: None });
        RowDecoder::of_sorted(table, steps.collect(), Vec::new())
    }

    fn of_sorted(table: &TableDef, mut steps: Vec<DecodeStep>, system: Vec<(usize, ScanColumn)>) -> RowDecoder {
        let mut at = 0;
        for step in &mut steps {
            let widths = table.columns.get(at..step.column).unwrap_or_default().iter();
            let widths = widths.map(|column| column.physical.width_bytes());
            step.skipped_bytes = widths.sum::<Option<usize>>().filter(|width| *width > 0);
            at = step.column + 1;
        }
        RowDecoder { steps, system }
    }

    /// Fills the slots of `out` from one stored row.
    ///
    /// # Errors
    /// XX001 for stored bytes that are no value of their type; those of reading the row's header.
    #[inline]
    pub fn decode(&self, table: &Table, bytes: &[u8], tid: Tid, out: &mut [Value]) -> Result<()> {
        let mut values = table.row(bytes).iter();
        let mut at = 0;
        let mut last: Option<&DecodeStep> = None;
        for step in &self.steps {
            if let Some(last) = last
                && last.column == step.column
            {
                out[step.slot] = out[last.slot].clone();
                continue;
            }
            if step.skipped_bytes.is_some_and(|width| values.skip_fixed(step.column, width)) {
                at = step.column;
            }
            while at < step.column {
                values.skip_one();
                at += 1;
            }
            at += 1;
            step.read_into(&mut values, &mut out[step.slot])?;
            last = Some(step);
        }
        if !self.system.is_empty() {
            let of_version = SystemColumns::of(table, tid);
            for (slot, column) in &self.system {
                out[*slot] = of_version.value(*column)?;
            }
        }
        Ok(())
    }
}
