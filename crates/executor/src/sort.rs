//! ORDER BY.
//!
//! Rows are kept one behind the other. The sort moves entries of 24 bytes, one for each row: the beginning of its keys as one
//! number, and its place. The keys themselves are compared only where those beginnings are equal and may hide a difference.
//! Rows beyond `work_mem` become sorted runs in temporary files, which are merged. Where only the first rows are wanted, the
//! others are dropped on the way.

use std::cmp::Ordering;

use base::Result;
use plan::{Effort, ExprKind, SortKey};
use types::{Comparator, Value};

use crate::evaluate::{comparator_of, evaluate};
use crate::measure::kilobytes;
use crate::row_set::{Row, Rows};
use crate::sort_key::{Packer, Prefix};
use crate::spill::{KeySlots, SpillReader, SpillWriter, sort_memory_bytes};
use crate::{BoxOperator, Operator, Run};

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

/// The comparison of rows in one sort.
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

/// So many runs are merged into one.
const RUNS_MAX: usize = 120;
/// So many runs of one level are merged into one if a row of each takes more than `work_mem`.
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
                runs.merge_if_many(&comparison, run)?;
            }
        }
        sort_entries(&mut entries, &rows, &comparison)?;
        if runs.is_empty() {
            let is_bounded = self.bound.is_some_and(|bound| count > bound.saturating_mul(2));
            let method = if is_bounded { "top-N heapsort" } else { "quicksort" };
            let bytes = rows.bytes() + entries.len() * size_of::<Entry>();
            self.effort = Some(Effort::Sort { method, kilobytes: kilobytes(bytes), on_disk: false });
            return Ok(Sorted::Memory { rows, entries: entries.into_iter() });
        }
        if !entries.is_empty() {
            runs.write(&mut entries, &mut rows, run)?;
        }
        self.effort =
            Some(Effort::Sort { method: "external merge", kilobytes: kilobytes(runs.file_bytes()), on_disk: true });
        Ok(Sorted::Files(runs.into_merge(comparison)?))
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

/// Sorted rows in files, in the order in which the rows arrived.
#[derive(Default)]
struct Runs {
    files: Vec<SpillReader>,
    /// Of each file. None has a higher level than the one before it.
    sizes: Vec<RunSize>,
}

#[derive(Clone, Copy)]
struct RunSize {
    /// Memory of the largest row. A merge has one row of each run in memory.
    row_max_bytes: usize,
    /// How often rows of the run have been merged at most.
    level: u32,
}

impl Runs {
    fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    fn file_bytes(&self) -> usize {
        self.files.iter().map(SpillReader::bytes).sum()
    }

    /// Writes sorted rows to a file and forgets them.
    fn write(&mut self, entries: &mut Vec<Entry>, rows: &mut Rows, run: &mut Run<'_, '_>) -> Result<()> {
        let mut writer = SpillWriter::new(run)?;
        let mut row_max_bytes = 0;
        for entry in entries.drain(..) {
            sync::yield_point()?;
            let row = rows.get(entry.index as usize);
            row_max_bytes = row_max_bytes.max(row.iter().map(|value| size_of::<Value>() + value.heap_bytes()).sum());
            writer.push(row)?;
        }
        rows.clear();
        self.add(writer, RunSize { row_max_bytes, level: 0 })
    }

    fn add(&mut self, writer: SpillWriter, size: RunSize) -> Result<()> {
        self.files.push(SpillReader::new(writer.finish()?));
        self.sizes.push(size);
        Ok(())
    }

    /// Merges runs as long as there are too many ([`count_to_merge`]).
    fn merge_if_many(&mut self, comparison: &Comparison, run: &mut Run<'_, '_>) -> Result<()> {
        let limit_bytes = sort_memory_bytes(run);
        loop {
            match count_to_merge(&self.sizes, limit_bytes) {
                0 => return Ok(()),
                count => self.merge_last(count, comparison, run)?,
            }
        }
    }

    fn merge_last(&mut self, count: usize, comparison: &Comparison, run: &mut Run<'_, '_>) -> Result<()> {
        let kept = self.files.len() - count;
        let sizes = self.sizes.split_off(kept);
        let row_max_bytes = sizes.iter().map(|size| size.row_max_bytes).max().unwrap_or(0);
        let level = sizes.iter().map(|size| size.level).max().unwrap_or(0) + 1;
        let mut merge = Merge::new(self.files.split_off(kept), comparison)?;
        let mut writer = SpillWriter::new(run)?;
        let mut row = Vec::new();
        while merge.next(comparison, &mut row)? {
            sync::yield_point()?;
            writer.push(&row)?;
        }
        self.add(writer, RunSize { row_max_bytes, level })
    }

    fn into_merge(self, comparison: Comparison) -> Result<Merge> {
        Ok(Merge::new(self.files, &comparison)?.with(comparison))
    }
}

/// How many of the last runs are to become one; 0 for none. Runs are merged if there are [`RUNS_MAX`], or if [`LARGE_RUNS_MAX`] are of
/// one level and a row of each takes more than `limit_bytes`. Then only these are merged, so that a row is not written again with each
/// new run.
fn count_to_merge(runs: &[RunSize], limit_bytes: usize) -> usize {
    let Some(last) = runs.last() else { return 0 };
    if runs.len() >= RUNS_MAX {
        return runs.len();
    }
    let of_last_level = &runs[runs.partition_point(|size| size.level > last.level)..];
    let rows_bytes = of_last_level.iter().map(|size| size.row_max_bytes).sum::<usize>();
    if of_last_level.len() >= LARGE_RUNS_MAX && rows_bytes > limit_bytes { of_last_level.len() } else { 0 }
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

    /// The memory that its rows take.
    pub fn bytes(&self) -> usize {
        self.rows.bytes() + self.entries.len() * size_of::<Entry>()
    }

    /// Moves what is in memory to a file.
    pub fn spill(&mut self, run: &mut Run<'_, '_>) -> Result<()> {
        sort_entries(&mut self.entries, &self.rows, &self.comparison)?;
        self.runs.write(&mut self.entries, &mut self.rows, run)?;
        self.runs.merge_if_many(&self.comparison, run)
    }

    /// The rows in their order.
    pub fn finish(mut self, run: &mut Run<'_, '_>) -> Result<Sorted> {
        sort_entries(&mut self.entries, &self.rows, &self.comparison)?;
        if self.runs.is_empty() {
            return Ok(Sorted::Memory { rows: self.rows, entries: self.entries.into_iter() });
        }
        if !self.entries.is_empty() {
            self.runs.write(&mut self.entries, &mut self.rows, run)?;
        }
        Ok(Sorted::Files(self.runs.into_merge(self.comparison)?))
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
    fn new(runs: Vec<SpillReader>, comparison: &Comparison) -> Result<Merge> {
        let mut merge = Merge { heads: Vec::with_capacity(runs.len()), comparison: None };
        for (number, reader) in runs.into_iter().enumerate() {
            // Reading the first row of each run may take long.
            sync::yield_point()?;
            let mut head = Head { prefix: Prefix::default(), row: Vec::new(), number, reader };
            if head.advance(comparison)? {
                merge.heads.push(head);
            }
        }
        for at in (0..merge.heads.len() / 2).rev() {
            // So may comparing them.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The levels of the runs, once so many have been written whose rows take so much.
    fn levels_after(writes: usize, row_max_bytes: usize, limit_bytes: usize) -> Vec<u32> {
        let mut runs: Vec<RunSize> = Vec::new();
        for _ in 0..writes {
            runs.push(RunSize { row_max_bytes, level: 0 });
            loop {
                let count = count_to_merge(&runs, limit_bytes);
                if count == 0 {
                    break;
                }
                let merged = runs.split_off(runs.len() - count);
                let level = merged.iter().map(|size| size.level).max().unwrap() + 1;
                runs.push(RunSize { row_max_bytes, level });
            }
            assert!(runs.is_sorted_by(|before, after| before.level >= after.level), "{}", runs.len());
        }
        runs.iter().map(|size| size.level).collect()
    }

    #[test]
    fn runs_of_large_rows_are_merged_level_by_level() {
        assert_eq!(levels_after(7, 100, 500), [0; 7]);
        assert_eq!(levels_after(8, 100, 500), [1]);
        assert_eq!(levels_after(23, 100, 500), [1, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(levels_after(64, 100, 500), [2]);
        assert_eq!(levels_after(511, 100, 500).len(), 21);
    }

    #[test]
    fn runs_of_small_rows_are_merged_when_there_are_many() {
        assert_eq!(levels_after(RUNS_MAX - 1, 1, 500), [0; RUNS_MAX - 1]);
        assert_eq!(levels_after(RUNS_MAX, 1, 500), [1]);
        assert_eq!(levels_after(2 * RUNS_MAX - 1, 1, 500), [2]);
    }
}
