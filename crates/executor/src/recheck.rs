//! Read committed's second look: does a row's newer version still satisfy the statement?

use std::sync::Arc;

use base::{CommandId, Result, Tid};
use engine::Table;
use plan::{Plan, RowSlots, ScanId, ScanSlots};
use schema::row::RowBytes;
use types::Value;

use crate::evaluate::{evaluate, is_true};
use crate::row_decoder::RowDecoder;
use crate::{Locals, Replacement, Run, build};

/// How one statement tries again.
pub struct Recheck<'p> {
    how: &'p plan::Recheck,
    input: &'p Plan,
    decoders: Vec<Option<RowDecoder>>,
}

/// The newest version of a row. It takes the place of the version that a scan has read.
pub struct Newest {
    /// The scan whose row it replaces.
    pub scan: ScanId,
    /// The row's table.
    pub table: Arc<Table>,
    /// Its place.
    pub tid: Tid,
    /// Its stored form.
    pub bytes: RowBytes,
}

/// The result of a re-check.
pub enum Rechecked {
    /// The version at this place qualifies; the input row holds its values.
    Qualifies(Tid),
    /// None does any more.
    Fails,
    /// This command of the own transaction, which is the statement itself or one that it has run, has made the newest version.
    SelfModified(CommandId),
}

impl<'p> Recheck<'p> {
    /// For a statement whose rows come from `input`.
    pub fn new(how: &'p plan::Recheck, input: &'p Plan) -> Recheck<'p> {
        Recheck { how, input, decoders: Vec::new() }
    }

    /// Looks at the newest version of the row of `scan` after `newest`. If it qualifies, `row` holds its values
    /// and `bytes` the stored version.
    ///
    /// # Errors
    /// Errors of the conditions.
    pub fn try_again(
        &mut self,
        scan: ScanId,
        table: &Arc<Table>,
        newest: Tid,
        row: &mut Vec<Value>,
        bytes: &mut RowBytes,
        run: &mut Run<'_, 'p>,
    ) -> Result<Rechecked> {
        let Some(tid) = run.engine().newest_version(table, newest, bytes)? else { return Ok(Rechecked::Fails) };
        // An earlier command's version would have been seen at first.
        if let Some(command) = run.engine().own_command(table, tid)? {
            run.engine().end_turn();
            return Ok(Rechecked::SelfModified(command));
        }
        let newest = Newest { scan, table: Arc::clone(table), tid, bytes: std::mem::take(bytes) };
        let qualifies = self.qualifies(std::slice::from_ref(&newest), row, run)?;
        *bytes = newest.bytes;
        if qualifies {
            return Ok(Rechecked::Qualifies(tid));
        }
        run.engine().end_turn();
        Ok(Rechecked::Fails)
    }

    /// Whether a row still qualifies with these versions in it, one for each scan whose row has changed. If so, `row` holds their values.
    ///
    /// # Errors
    /// Errors of the conditions.
    pub fn qualifies(&mut self, newest: &[Newest], row: &mut Vec<Value>, run: &mut Run<'_, 'p>) -> Result<bool> {
        match self.how {
            plan::Recheck::Columns { scans, condition, computed } => {
                for version in newest {
                    self.read_columns(version, scans, row, run)?;
                }
                let qualifies = match condition {
                    Some(condition) => is_true(condition, row, run)?,
                    None => true,
                };
                if qualifies {
                    for (slot, expr) in computed {
                        row[*slot as usize] = evaluate(expr, row, run)?;
                    }
                }
                Ok(qualifies)
            }
            plan::Recheck::Rerun { scans, rows } => self.rerun(newest, (scans, rows), row, run),
        }
    }

    fn read_columns(
        &mut self,
        Newest { scan, table, tid, bytes }: &Newest,
        scans: &'p [ScanSlots],
        row: &mut [Value],
        run: &Run<'_, 'p>,
    ) -> Result<()> {
        let Some(number) = scans.iter().position(|slots| slots.scan == *scan) else { return Ok(()) };
        if self.decoders.is_empty() {
            self.decoders.resize_with(scans.len(), || None);
        }
        let decoder = self.decoders[number].get_or_insert_with(|| {
            let columns: Vec<_> =
                scans[number].columns.iter().map(|(slot, column)| (*slot as usize, *column)).collect();
            RowDecoder::new(&table.def, &columns, &run.catalog)
        });
        decoder.decode(table, bytes, *tid, row)
    }

    /// Runs the input again with each scan reduced to one row.
    fn rerun(
        &self,
        newest: &[Newest],
        (scans, rows): (&'p [ScanSlots], &'p [RowSlots]),
        row: &mut Vec<Value>,
        run: &mut Run<'_, 'p>,
    ) -> Result<bool> {
        let numbers = scans.iter().map(|slots| slots.scan).chain(rows.iter().map(|slots| slots.scan));
        let count = numbers.map(|scan| scan.0 as usize + 1).max().unwrap_or(0);
        let mut replacements = vec![Replacement::None; count];
        for slots in scans {
            let changed = newest.iter().find(|version| version.scan == slots.scan);
            let only = if let Some(version) = changed {
                Some((version.tid, version.bytes.clone()))
            } else {
                match row[slots.ctid as usize] {
                    Value::Tid(tid) => {
                        let table = run.engine().open_table(slots.table.oid)?;
                        let mut bytes = RowBytes::new();
                        let is_there = run.engine().fetch(&table, tid, &mut bytes)?;
                        is_there.then_some((tid, bytes))
                    }
                    _ => None,
                }
            };
            replacements[slots.scan.0 as usize] = Replacement::Only(only);
        }
        for RowSlots { scan, mark, slots } in rows {
            let is_there = !row[*mark as usize].is_null();
            let kept = is_there.then(|| slots.iter().map(|slot| row[*slot as usize].clone()).collect());
            replacements[scan.0 as usize] = Replacement::Row(kept);
        }
        let mut locals = Locals {
            relations: run.locals.relations,
            outer: run.locals.outer.clone(),
            subqueries: run.locals.subqueries.iter().map(|_| None).collect(),
            ctes: run.locals.ctes.iter().map(|cte| cte.kept_rows()).collect(),
            removed_rows: 0,
            case_operands: Vec::new(),
            replacements,
            kept_rows: Vec::new(),
            affected_rows: 0,
            measurements: None,
            unpopulated: None,
        };
        let mut operator = build(self.input, &mut locals);
        let parameters = run.parameters;
        let mut again = run.with_locals(parameters, &mut locals);
        if !operator.next(&mut again)? {
            return Ok(false);
        }
        row.clear();
        row.extend_from_slice(operator.row());
        Ok(true)
    }
}
