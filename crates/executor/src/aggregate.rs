//! GROUP BY and aggregates.
//!
//! Groups are found by hash. When they outgrow their memory, rows of groups that are not there yet go to temporary
//! files, divided by their hashes, and are grouped a part at a time after those that are there.

use base::Result;
use plan::{AggregateCall, Effort};
use types::Value;

use crate::accumulator::Accumulator;
use crate::measure::kilobytes;
use crate::operand::operand;
use crate::row_set::{RowEquality, RowMap};
use crate::spill::{DEPTH_MAX, Partitions, SpillReader, hash_memory_bytes, next_row};
use crate::{BoxOperator, Operator, Run};

/// One row per group.
pub struct AggregateRows<'p> {
    node: &'p plan::Aggregate,
    input: BoxOperator<'p>,
    /// Groups still to give; `None` before the input was read.
    groups: Option<Groups<'p>>,
    /// Rows of groups there was no room for, with how often they were divided.
    waiting: Vec<(SpillReader, u32)>,
    row: Vec<Value>,
    /// Parts there were, the most memory one took, and what the others took in files.
    batches: u64,
    most_bytes: usize,
    disk_bytes: usize,
}

/// Groups, of which the first `given` have been given.
#[derive(Default)]
struct Groups<'p> {
    keys: RowMap<()>,
    /// One for each call and group, those of a group together.
    accumulators: Vec<Accumulator<'p>>,
    count: usize,
    given: usize,
}

/// Rows between two looks at how much memory the groups take.
const ROWS_BETWEEN_LOOKS: u32 = 256;

impl<'p> AggregateRows<'p> {
    pub fn new(node: &'p plan::Aggregate, input: BoxOperator<'p>) -> Self {
        let (waiting, row) = (Vec::new(), Vec::new());
        AggregateRows { node, input, groups: None, waiting, row, batches: 0, most_bytes: 0, disk_bytes: 0 }
    }

    /// The one group of everything.
    fn gather_all(&mut self, run: &mut Run<'_, 'p>) -> Result<Groups<'p>> {
        let mut accumulators = start_all(&self.node.calls).collect::<Vec<_>>();
        while self.input.next(run)? {
            sync::yield_point()?;
            take_all(&mut accumulators, self.input.row(), run)?;
        }
        Ok(Groups { keys: RowMap::default(), accumulators, count: 1, given: 0 })
    }

    /// Groups the rows of the input, or of a file of rows that had to wait.
    fn gather(&mut self, mut spilled: Option<SpillReader>, depth: u32, run: &mut Run<'_, 'p>) -> Result<Groups<'p>> {
        let node = self.node;
        let equality = RowEquality::new(node.groups[..node.key_count].iter().map(|group| group.sql_type), run)?;
        let limit_bytes = hash_memory_bytes(run);
        let calls = node.calls.len();
        let group_bytes = calls * size_of::<Accumulator<'_>>();
        let mut keys = RowMap::<()>::default();
        let mut accumulators: Vec<Accumulator<'p>> = Vec::new();
        let mut key = Vec::with_capacity(node.groups.len());
        let mut late: Option<Partitions> = None;
        let mut spilled_row = Vec::new();
        let mut until_look = ROWS_BETWEEN_LOOKS;
        while let Some(row) = next_row(&mut self.input, &mut spilled, &mut spilled_row, run)? {
            sync::yield_point()?;
            key.clear();
            for group in &node.groups {
                key.push(operand(group, row, run)?.into_value());
            }
            let hash = equality.hash(&key[..node.key_count]);
            let group = match keys.find(&key, hash, &equality) {
                Some(group) => group,
                None => {
                    if let Some(late) = &mut late {
                        late.push(late.part_of(hash), row, run)?;
                        continue;
                    }
                    accumulators.extend(start_all(&node.calls));
                    keys.add(&key, hash, ())
                }
            };
            take_all(&mut accumulators[group * calls..(group + 1) * calls], row, run)?;
            until_look -= 1;
            if until_look == 0 && late.is_none() {
                until_look = ROWS_BETWEEN_LOOKS;
                let bytes = keys.bytes() + keys.len() * group_bytes;
                // The memory that aggregates hold outside of themselves is added up only when it may matter.
                let outside = if bytes > limit_bytes / 4 || keys.len() < 64 {
                    accumulators.iter().map(Accumulator::heap_bytes).sum()
                } else {
                    0
                };
                if bytes + outside > limit_bytes && keys.len() > 1 && depth < DEPTH_MAX {
                    late = Some(Partitions::new(depth));
                    // The rows that DISTINCT and ORDER BY keep for the existing groups go to files, too.
                    let share_bytes = limit_bytes / accumulators.len().max(1);
                    accumulators.iter_mut().for_each(|accumulator| accumulator.tighten(share_bytes));
                }
            } else if until_look == 0 {
                until_look = ROWS_BETWEEN_LOOKS;
            }
        }
        self.batches += 1;
        let outside = if keys.len() < 64 { accumulators.iter().map(Accumulator::heap_bytes).sum() } else { 0 };
        self.most_bytes = self.most_bytes.max(keys.bytes() + keys.len() * group_bytes + outside);
        if let Some(late) = late {
            let parts = late.finish()?.into_iter().flatten();
            for part in parts {
                self.disk_bytes += part.bytes();
                self.waiting.push((part, depth + 1));
            }
        }
        Ok(Groups { count: keys.len(), keys, accumulators, given: 0 })
    }
}

impl<'p> Operator<'p> for AggregateRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.groups.is_none() {
            let is_grouped = !self.node.groups.is_empty();
            self.groups = Some(if is_grouped { self.gather(None, 0, run)? } else { self.gather_all(run)? });
        }
        loop {
            let groups = self.groups.as_mut().expect("gathered above");
            if groups.given == groups.count {
                let Some((reader, depth)) = self.waiting.pop() else { return Ok(false) };
                self.groups = Some(Groups::default());
                self.groups = Some(self.gather(Some(reader), depth, run)?);
                continue;
            }
            let group = groups.given;
            groups.given += 1;
            self.row.clear();
            if !self.node.groups.is_empty() {
                self.row.extend_from_slice(groups.keys.row(group));
            }
            let calls = self.node.calls.len();
            for accumulator in &mut groups.accumulators[group * calls..(group + 1) * calls] {
                let value = accumulator.value(run)?;
                self.row.push(value);
            }
            return Ok(true);
        }
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.groups = None;
        self.waiting.clear();
        (self.batches, self.disk_bytes) = (0, 0);
        self.input.rescan();
    }

    fn effort(&self) -> Option<Effort> {
        (!self.node.groups.is_empty() && !self.node.sorted).then(|| Effort::Groups {
            batches: self.batches + self.waiting.len() as u64,
            kilobytes: kilobytes(self.most_bytes),
            disk_kilobytes: if self.disk_bytes == 0 { 0 } else { kilobytes(self.disk_bytes) },
        })
    }
}

fn start_all(calls: &[AggregateCall]) -> impl Iterator<Item = Accumulator<'_>> {
    calls.iter().map(Accumulator::new)
}

#[inline]
fn take_all<'p>(accumulators: &mut [Accumulator<'p>], row: &[Value], run: &mut Run<'_, 'p>) -> Result<()> {
    accumulators.iter_mut().try_for_each(|accumulator| accumulator.take(row, run))
}
