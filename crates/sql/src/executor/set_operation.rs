//! UNION, INTERSECT, EXCEPT and DISTINCT.

use base::Result;

use super::evaluate::evaluate;
use super::row_set::{Row, RowEquality, RowMap};
use super::spill::{DEPTH_MAX, Partitions, SpillReader, hash_memory_bytes, next_row};
use super::{BoxOperator, Operator, Run};
use crate::plan::{Expr, SetOperator};
use crate::types::Value;

/// The rows of all inputs, one after the other.
pub struct Append<'p> {
    inputs: Vec<BoxOperator<'p>>,
    at: usize,
}

impl<'p> Append<'p> {
    pub fn new(inputs: Vec<BoxOperator<'p>>) -> Self {
        Append { inputs, at: 0 }
    }
}

impl<'p> Operator<'p> for Append<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        while let Some(input) = self.inputs.get_mut(self.at) {
            if input.next(run)? {
                return Ok(true);
            }
            self.at += 1;
        }
        Ok(false)
    }

    fn row(&self) -> &[Value] {
        self.inputs[self.at].row()
    }

    fn rescan(&mut self) {
        self.at = 0;
        self.inputs.iter_mut().for_each(|input| input.rescan());
    }
}

/// Each distinct row once. When they outgrow their memory, rows that are not among them yet go to temporary files,
/// divided by their hashes, to be looked at a part at a time.
pub struct Distinct<'p> {
    input: BoxOperator<'p>,
    seen: RowMap<()>,
    /// Where rows for which there is no room go, and how often those being read now were divided.
    late: Option<Partitions>,
    depth: u32,
    waiting: Vec<(SpillReader, u32)>,
    /// The part being read; the input before there is one.
    part: Option<SpillReader>,
    part_row: Vec<Value>,
}

impl<'p> Distinct<'p> {
    pub fn new(input: BoxOperator<'p>) -> Self {
        let (seen, part_row) = (RowMap::default(), Vec::new());
        Distinct { input, seen, late: None, depth: 0, waiting: Vec::new(), part: None, part_row }
    }
}

impl<'p> Operator<'p> for Distinct<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        let limit_bytes = hash_memory_bytes(run);
        let equality = RowEquality::OfValues;
        loop {
            let row = match next_row(&mut self.input, &mut self.part, &mut self.part_row, run)? {
                Some(row) => row,
                None => {
                    if let Some(late) = self.late.take() {
                        let parts = late.finish()?.into_iter().flatten();
                        self.waiting.extend(parts.map(|part| (part, self.depth + 1)));
                    }
                    let Some((part, depth)) = self.waiting.pop() else { return Ok(false) };
                    self.part = Some(part);
                    self.depth = depth;
                    self.seen = RowMap::default();
                    continue;
                }
            };
            run.step()?;
            let hash = equality.hash(row);
            if self.seen.find(row, hash, &equality).is_some() {
                continue;
            }
            if let Some(late) = &mut self.late {
                late.push(late.part_of(hash), row, run)?;
                continue;
            }
            self.seen.add(row, hash, ());
            if self.seen.bytes() > limit_bytes && self.depth < DEPTH_MAX {
                self.late = Some(Partitions::new(self.depth));
            }
            return Ok(true);
        }
    }

    fn row(&self) -> &[Value] {
        if self.part.is_some() { &self.part_row } else { self.input.row() }
    }

    fn rescan(&mut self) {
        self.seen = RowMap::default();
        self.late = None;
        self.depth = 0;
        self.waiting.clear();
        self.part = None;
        self.input.rescan();
    }
}

/// The first row of each run of rows that are equal in the keys.
pub struct DistinctOn<'p> {
    input: BoxOperator<'p>,
    keys: &'p [Expr],
    last: Option<Row>,
    equality: Option<RowEquality>,
}

impl<'p> DistinctOn<'p> {
    pub fn new(input: BoxOperator<'p>, keys: &'p [Expr]) -> Self {
        DistinctOn { input, keys, last: None, equality: None }
    }
}

impl<'p> Operator<'p> for DistinctOn<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.equality.is_none() {
            self.equality = Some(RowEquality::new(self.keys.iter().map(|key| key.sql_type), run)?);
        }
        let equality = self.equality.as_ref().expect("made above");
        while self.input.next(run)? {
            run.step()?;
            let row = self.input.row();
            let keys: Row = self.keys.iter().map(|key| evaluate(key, row, run)).collect::<Result<_>>()?;
            if !self.last.as_ref().is_some_and(|last| equality.equal(last, &keys)) {
                self.last = Some(keys);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Value] {
        self.input.row()
    }

    fn rescan(&mut self) {
        self.last = None;
        self.input.rescan();
    }
}

/// INTERSECT and EXCEPT.
pub struct SetOperationRows<'p> {
    operation: SetOperator,
    all: bool,
    left: BoxOperator<'p>,
    right: BoxOperator<'p>,
    /// How often each row of the right side came; for plain operations, whether the left row was given.
    counts: Option<RowMap<RightCount>>,
}

#[derive(Default)]
struct RightCount {
    count: u64,
    was_given: bool,
}

impl<'p> SetOperationRows<'p> {
    pub fn new(operation: SetOperator, all: bool, left: BoxOperator<'p>, right: BoxOperator<'p>) -> Self {
        SetOperationRows { operation, all, left, right, counts: None }
    }
}

impl<'p> Operator<'p> for SetOperationRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.counts.is_none() {
            let mut map = RowMap::<RightCount>::default();
            while self.right.next(run)? {
                run.step()?;
                map.entry(self.right.row(), &RowEquality::OfValues, RightCount::default).count += 1;
            }
            self.counts = Some(map);
        }
        let map = self.counts.as_mut().expect("made above");
        while self.left.next(run)? {
            run.step()?;
            let entry = map.entry(self.left.row(), &RowEquality::OfValues, RightCount::default);
            let is_wanted = match (self.operation, self.all) {
                (SetOperator::Intersect, true) => {
                    let is_there = entry.count > 0;
                    entry.count = entry.count.saturating_sub(1);
                    is_there
                }
                (SetOperator::Except, true) => {
                    let is_there = entry.count > 0;
                    entry.count = entry.count.saturating_sub(1);
                    !is_there
                }
                (operation, false) => {
                    let matches = (entry.count > 0) == (operation == SetOperator::Intersect);
                    matches && !std::mem::replace(&mut entry.was_given, true)
                }
            };
            if is_wanted {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Value] {
        self.left.row()
    }

    fn rescan(&mut self) {
        self.counts = None;
        self.left.rescan();
        self.right.rescan();
    }
}
