//! ORDER BY.
//!
//! Rows are kept one behind the other; what is sorted are 24 bytes for each of them: the beginning of its keys as one
//! number, and its place. Only where those beginnings are equal, and may hide a difference, are the keys themselves looked
//! at. What doesn't fit into `work_mem` becomes sorted runs in temporary files, which are merged. Where only the first
//! rows are wanted, the others are dropped on the way.

use std::cmp::Ordering;

use base::Result;

use super::evaluate::{comparator_of, evaluate};
use super::measure::{Effort, kilobytes};
use super::row_set::{Row, Rows};
use super::sort_key::{Packer, Prefix};
use super::spill::{KeySlots, SpillReader, SpillWriter, sort_memory_bytes};
use super::{BoxOperator, Operator, Run};
use crate::plan::{ExprKind, SortKey};
use crate::types::{Comparator, Value};

/// How rows of keys compare.
pub(super) struct RowOrder(Vec<KeyOrder>);

struct KeyOrder {
    compare: Comparator,
    descending: bool,
    nulls_first: bool,
}

impl RowOrder {
    /// The order of `keys`.
    ///
    /// # Errors
    /// 42883 for a type that has no order.
    pub fn new(keys: &[SortKey], run: &Run<'_, '_>) -> Result<RowOrder> {
        keys.iter()
            .map(|key| {
                Ok(KeyOrder {
                    compare: comparator_of(key.expr.sql_type, run)?,
                    descending: key.descending,
                    nulls_first: key.nulls_first,
                })
            })
            .collect::<Result<_>>()
            .map(RowOrder)
    }

    /// Compares the keys of two rows.
    pub fn compare(&self, left: &[Value], right: &[Value]) -> Ordering {
        self.compare_of(left.iter().zip(right), 0)
    }

    /// Compares pairs of keys, of which the first is that with the number `first`.
    fn compare_of<'v>(&self, pairs: impl Iterator<Item = (&'v Value, &'v Value)>, first: usize) -> Ordering {
        for ((left, right), key) in pairs.zip(&self.0[first..]) {
            let null_side = |first: bool| if first { Ordering::Less } else { Ordering::Greater };
            let ordering = match (left.is_null(), right.is_null()) {
                (true, true) => Ordering::Equal,
                (true, false) => null_side(key.nulls_first),
                (false, true) => null_side(!key.nulls_first),
                (false, false) => {
                    let ordering = (key.compare)(left, right);
                    if key.descending { ordering.reverse() } else { ordering }
                }
            };
            if ordering.is_ne() {
                return ordering;
            }
        }
        Ordering::Equal
    }
}

/// The values of `keys` for `row`.
pub(super) fn sort_keys_of<'p>(keys: &'p [SortKey], row: &[Value], run: &mut Run<'_, 'p>) -> Result<Row> {
    keys.iter().map(|key| evaluate(&key.expr, row, run)).collect()
}

/// A row to be sorted: the beginning of its keys, and its number.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    prefix: Prefix,
    index: u32,
}

/// What is known of the order of one sort.
struct Comparison {
    order: RowOrder,
    packer: Packer,
    keys: KeySlots,
}

impl Comparison {
    fn new(keys: &[SortKey], width: usize, run: &Run<'_, '_>) -> Result<Comparison> {
        let columns = keys.iter().map(|key| match key.expr.kind {
            ExprKind::Column(slot) => Some(slot as usize),
            _ => None,
        });
        Ok(Comparison {
            order: RowOrder::new(keys, run)?,
            packer: Packer::new(keys, run),
            keys: KeySlots::new(columns, width),
        })
    }

    fn rows(&self, left: &[Value], right: &[Value]) -> Ordering {
        let first = self.packer.first_open;
        let pairs = self.keys.slots[first..].iter().map(|slot| (&left[*slot], &right[*slot]));
        self.order.compare_of(pairs, first)
    }

    fn prefix(&self, row: &[Value], computed: &[Value]) -> Prefix {
        let width = row.len();
        self.packer.pack(|number| {
            let slot = self.keys.slots[number];
            if slot < width { &row[slot] } else { &computed[slot - width] }
        })
    }
}

/// All rows, ordered.
pub struct Sort<'p> {
    input: BoxOperator<'p>,
    keys: &'p [SortKey],
    width: usize,
    /// Only so many of the first rows are wanted.
    bound: Option<usize>,
    sorted: Option<Sorted>,
    row: Vec<Value>,
    effort: Option<Effort>,
}

/// Sorted rows still to give.
pub(super) enum Sorted {
    Memory { rows: Rows, entries: std::vec::IntoIter<Entry> },
    Files(Merge),
}

/// Runs up to this number are merged at once.
const RUNS_MAX: usize = 120;
/// The same if a row of each takes more than `work_mem`.
const LARGE_RUNS_MAX: usize = 8;
/// Fewer rows than this are not worth sorting only to drop some.
const TOP_ROWS_MIN: usize = 1024;

impl<'p> Sort<'p> {
    pub fn new(input: BoxOperator<'p>, keys: &'p [SortKey], width: usize) -> Self {
        Sort { input, keys, width, bound: None, sorted: None, row: Vec::new(), effort: None }
    }

    fn sort(&mut self, run: &mut Run<'_, 'p>) -> Result<Sorted> {
        let comparison = Comparison::new(self.keys, self.width, run)?;
        let limit_bytes = sort_memory_bytes(run);
        let mut rows = Rows::default();
        let mut entries: Vec<Entry> = Vec::new();
        let mut runs = Runs::default();
        let mut computed = Vec::with_capacity(comparison.keys.computed.len());
        let mut worst: Option<Prefix> = None;
        let most = self.bound.map_or(usize::MAX, |bound| bound.saturating_mul(2).max(TOP_ROWS_MIN));
        let mut count = 0;
        while self.input.next(run)? {
            sync::yield_point()?;
            count += 1;
            let row = self.input.row();
            computed.clear();
            for number in &comparison.keys.computed {
                computed.push(evaluate(&self.keys[*number].expr, row, run)?);
            }
            let prefix = comparison.prefix(row, &computed);
            if worst.is_some_and(|worst| prefix > worst) {
                continue;
            }
            entries.push(Entry { prefix, index: rows.len() as u32 });
            rows.push_parts(row, &computed);
            if entries.len() >= most {
                sort_entries(&mut entries, &rows, &comparison)?;
                worst = keep_first(&mut entries, &mut rows, self.bound.unwrap_or(0));
            } else if rows.bytes() + entries.len() * size_of::<Entry>() > limit_bytes {
                sort_entries(&mut entries, &rows, &comparison)?;
                runs.write(&mut entries, &mut rows, run)?;
                runs.merge_some(&comparison, run)?;
            }
        }
        sort_entries(&mut entries, &rows, &comparison)?;
        if runs.0.is_empty() {
            let is_bounded = self.bound.is_some_and(|bound| count > bound.saturating_mul(2));
            let method = if is_bounded { "top-N heapsort" } else { "quicksort" };
            let bytes = rows.bytes() + entries.len() * size_of::<Entry>();
            self.effort = Some(Effort::Sort { method, kilobytes: kilobytes(bytes), on_disk: false });
            return Ok(Sorted::Memory { rows, entries: entries.into_iter() });
        }
        if !entries.is_empty() {
            runs.write(&mut entries, &mut rows, run)?;
        }
        let bytes = runs.0.iter().map(|run| run.reader.bytes()).sum::<usize>();
        self.effort = Some(Effort::Sort { method: "external merge", kilobytes: kilobytes(bytes), on_disk: true });
        Ok(Sorted::Files(Merge::new(runs.0, &comparison)?.with(comparison)))
    }
}

/// So many numbers are sorted within a time slice.
const ENTRIES_AT_ONCE_MAX: usize = 8192;

fn sort_entries(entries: &mut [Entry], rows: &Rows, comparison: &Comparison) -> Result<()> {
    if !comparison.packer.is_exact {
        return sync::sort_unstable_by(entries, |left, right| {
            left.prefix
                .cmp(&right.prefix)
                .then_with(|| comparison.rows(rows.get(left.index as usize), rows.get(right.index as usize)))
                .then(left.index.cmp(&right.index))
        });
    }
    let by_prefix = |left: &Entry, right: &Entry| left.prefix.cmp(&right.prefix).then(left.index.cmp(&right.index));
    if entries.len() > ENTRIES_AT_ONCE_MAX {
        return sync::sort_unstable_by(entries, by_prefix);
    }
    entries.sort_unstable_by(by_prefix);
    Ok(())
}

/// Drops all but the first `bound` rows; the prefix of the last of them, if it is to be beaten.
fn keep_first(entries: &mut Vec<Entry>, rows: &mut Rows, bound: usize) -> Option<Prefix> {
    entries.truncate(bound);
    let mut kept = Rows::default();
    let mut row = Vec::new();
    for (number, entry) in entries.iter_mut().enumerate() {
        rows.take_into(entry.index as usize, &mut row);
        kept.push(&row);
        entry.index = number as u32;
    }
    *rows = kept;
    entries.last().map(|entry| entry.prefix)
}

/// Sorted rows in a file.
struct SortedRun {
    reader: SpillReader,
    /// What its largest row takes in the file: a merge has a row of each run in memory.
    row_max_bytes: usize,
    /// How often its rows have been merged.
    level: u32,
}

/// Runs that follow each other in the order of their rows' arrival. Levels fall from the first to the last.
#[derive(Default)]
struct Runs(Vec<SortedRun>);

impl Runs {
    /// Writes sorted rows to a file and forgets them.
    fn write(&mut self, entries: &mut Vec<Entry>, rows: &mut Rows, run: &mut Run<'_, '_>) -> Result<()> {
        let mut writer = SpillWriter::new(run)?;
        for entry in entries.drain(..) {
            sync::yield_point()?;
            writer.push(rows.get(entry.index as usize))?;
        }
        rows.clear();
        self.add(writer, 0)
    }

    fn add(&mut self, writer: SpillWriter, level: u32) -> Result<()> {
        let row_max_bytes = writer.row_max_bytes();
        self.0.push(SortedRun { reader: SpillReader::new(writer.finish()?), row_max_bytes, level });
        Ok(())
    }

    /// Makes one run of many if there are too many, or if a row of each takes more than `work_mem`. Then runs of one level are
    /// merged, so that a row is not written again with each new run.
    fn merge_some(&mut self, comparison: &Comparison, run: &mut Run<'_, '_>) -> Result<()> {
        let limit_bytes = sort_memory_bytes(run);
        if self.0.len() >= RUNS_MAX {
            return self.merge_last(self.0.len(), comparison, run);
        }
        while let Some(SortedRun { level, .. }) = self.0.last() {
            let of_level = || self.0.iter().rev().take_while(|run| run.level == *level);
            let count = of_level().count();
            let heads_bytes = of_level().fold(0usize, |sum, run| sum.saturating_add(run.row_max_bytes));
            if count < LARGE_RUNS_MAX || heads_bytes <= limit_bytes {
                break;
            }
            self.merge_last(count, comparison, run)?;
        }
        Ok(())
    }

    fn merge_last(&mut self, count: usize, comparison: &Comparison, run: &mut Run<'_, '_>) -> Result<()> {
        let merged = self.0.split_off(self.0.len() - count);
        let level = merged.iter().map(|run| run.level).max().unwrap_or(0) + 1;
        let mut merge = Merge::new(merged, comparison)?;
        let mut writer = SpillWriter::new(run)?;
        let mut row = Vec::new();
        while merge.next(comparison, &mut row)? {
            sync::yield_point()?;
            writer.push(&row)?;
        }
        self.add(writer, level)
    }
}

/// Rows that somebody hands over one by one to have them sorted.
pub(super) struct RowSorter {
    comparison: Comparison,
    rows: Rows,
    entries: Vec<Entry>,
    runs: Runs,
}

impl RowSorter {
    /// By these keys, which are columns of the rows.
    ///
    /// # Errors
    /// 42883 for a type that has no order.
    pub fn new(keys: &[SortKey], width: usize, run: &Run<'_, '_>) -> Result<RowSorter> {
        let comparison = Comparison::new(keys, width, run)?;
        debug_assert!(comparison.keys.computed.is_empty());
        Ok(RowSorter { comparison, rows: Rows::default(), entries: Vec::new(), runs: Runs::default() })
    }

    /// Adds a row.
    pub fn push(&mut self, row: &[Value]) {
        let prefix = self.comparison.prefix(row, &[]);
        self.entries.push(Entry { prefix, index: self.rows.len() as u32 });
        self.rows.push(row);
    }

    /// What its rows take in memory.
    pub fn bytes(&self) -> usize {
        self.rows.bytes() + self.entries.len() * size_of::<Entry>()
    }

    /// Moves what is in memory to a file.
    pub fn spill(&mut self, run: &mut Run<'_, '_>) -> Result<()> {
        sort_entries(&mut self.entries, &self.rows, &self.comparison)?;
        self.runs.write(&mut self.entries, &mut self.rows, run)?;
        self.runs.merge_some(&self.comparison, run)
    }

    /// The rows in their order.
    pub fn finish(mut self, run: &mut Run<'_, '_>) -> Result<Sorted> {
        sort_entries(&mut self.entries, &self.rows, &self.comparison)?;
        if self.runs.0.is_empty() {
            return Ok(Sorted::Memory { rows: self.rows, entries: self.entries.into_iter() });
        }
        if !self.entries.is_empty() {
            self.runs.write(&mut self.entries, &mut self.rows, run)?;
        }
        Ok(Sorted::Files(Merge::new(self.runs.0, &self.comparison)?.with(self.comparison)))
    }
}

impl Sorted {
    /// Moves on to the next row; false at the end.
    pub fn next(&mut self, row: &mut Vec<Value>) -> Result<bool> {
        match self {
            Sorted::Memory { rows, entries } => {
                let Some(entry) = entries.next() else { return Ok(false) };
                rows.take_into(entry.index as usize, row);
                Ok(true)
            }
            Sorted::Files(merge) => {
                let comparison = merge.comparison.take().expect("a merge that is read has its comparison");
                let found = merge.next(&comparison, row);
                merge.comparison = Some(comparison);
                found
            }
        }
    }
}

/// Runs being merged: a heap of their next rows, the first on top.
pub(super) struct Merge {
    heads: Vec<Head>,
    comparison: Option<Comparison>,
}

struct Head {
    prefix: Prefix,
    row: Vec<Value>,
    /// The run's number: earlier rows come first among equal ones.
    number: usize,
    reader: SpillReader,
}

impl Merge {
    fn new(runs: Vec<SortedRun>, comparison: &Comparison) -> Result<Merge> {
        let mut merge = Merge { heads: Vec::with_capacity(runs.len()), comparison: None };
        for (number, SortedRun { reader, .. }) in runs.into_iter().enumerate() {
            // The first rows of a hundred runs may be large.
            sync::yield_point()?;
            let mut head = Head { prefix: Prefix::default(), row: Vec::new(), number, reader };
            if head.advance(comparison)? {
                merge.heads.push(head);
            }
        }
        for at in (0..merge.heads.len() / 2).rev() {
            sync::yield_point()?;
            merge.sink(at, comparison);
        }
        Ok(merge)
    }

    fn with(mut self, comparison: Comparison) -> Merge {
        self.comparison = Some(comparison);
        self
    }

    /// The next row.
    fn next(&mut self, comparison: &Comparison, row: &mut Vec<Value>) -> Result<bool> {
        let Some(head) = self.heads.first_mut() else { return Ok(false) };
        std::mem::swap(row, &mut head.row);
        if !head.advance(comparison)? {
            self.heads.swap_remove(0);
        }
        self.sink(0, comparison);
        Ok(true)
    }

    fn sink(&mut self, mut at: usize, comparison: &Comparison) {
        loop {
            let mut first = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heads.len() && self.heads[child].is_before(&self.heads[first], comparison) {
                    first = child;
                }
            }
            if first == at {
                return;
            }
            self.heads.swap(at, first);
            at = first;
        }
    }
}

impl Head {
    fn advance(&mut self, comparison: &Comparison) -> Result<bool> {
        if !self.reader.next(&mut self.row)? {
            return Ok(false);
        }
        self.prefix = comparison.prefix(&self.row, &[]);
        Ok(true)
    }

    fn is_before(&self, other: &Head, comparison: &Comparison) -> bool {
        self.prefix
            .cmp(&other.prefix)
            .then_with(|| comparison.rows(&self.row, &other.row))
            .then(self.number.cmp(&other.number))
            .is_lt()
    }
}

impl<'p> Operator<'p> for Sort<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.sorted.is_none() {
            self.sorted = Some(self.sort(run)?);
        }
        if !self.sorted.as_mut().expect("made above").next(&mut self.row)? {
            return Ok(false);
        }
        self.row.truncate(self.width);
        Ok(true)
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.sorted = None;
        self.input.rescan();
    }

    fn set_bound(&mut self, rows: u64) {
        self.bound = usize::try_from(rows).ok();
    }

    fn effort(&self) -> Option<Effort> {
        self.effort
    }
}
