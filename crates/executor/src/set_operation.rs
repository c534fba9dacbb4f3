//! UNION, INTERSECT, EXCEPT and DISTINCT.

use base::Result;
use plan::{Effort, Expr, SetOperator};
use types::{SqlType, Value, oids};

use crate::evaluate::evaluate;
use crate::measure::kilobytes;
use crate::row_set::{Row, RowEquality, RowMap};
use crate::spill::{DEPTH_MAX, Partitions, SpillReader, hash_memory_bytes, next_row};
use crate::{BoxOperator, Operator, Run};

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
    types: &'p [SqlType],
    equality: Option<RowEquality>,
}

impl<'p> Distinct<'p> {
    /// `types` are those of the columns.
    pub fn new(input: BoxOperator<'p>, types: &'p [SqlType]) -> Self {
        let (seen, part_row) = (RowMap::default(), Vec::new());
        let (late, part, equality) = (None, None, None);
        Distinct { input, seen, late, depth: 0, waiting: Vec::new(), part, part_row, types, equality }
    }
}

/// How rows of these types compare as wholes: by their values, unless the type gives equality a meaning of its own.
pub(super) fn equality_of(types: &[SqlType], run: &Run<'_, '_>) -> Result<RowEquality> {
    let is_padded = |sql_type: &SqlType| types::base_type(&run.catalog, *sql_type).oid == oids::BPCHAR;
    if types.iter().any(is_padded) {
        return RowEquality::new(types.iter().copied(), run);
    }
    Ok(RowEquality::OfValues)
}

impl<'p> Operator<'p> for Distinct<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        let limit_bytes = hash_memory_bytes(run);
        if self.equality.is_none() {
            self.equality = Some(equality_of(self.types, run)?);
        }
        let equality = self.equality.as_ref().expect("made above");
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
            sync::yield_point()?;
            let hash = equality.hash(row);
            if self.seen.find(row, hash, equality).is_some() {
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

    fn effort(&self) -> Option<Effort> {
        let waiting = self.waiting.iter().map(|(part, _)| part.bytes()).sum::<usize>();
        Some(Effort::Groups {
            batches: 1 + self.waiting.len() as u64,
            kilobytes: kilobytes(self.seen.bytes()),
            disk_kilobytes: if waiting == 0 { 0 } else { kilobytes(waiting) },
        })
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
            sync::yield_point()?;
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
///
/// The right side's rows are counted, then the left side's looked up. When the counts outgrow their memory, rows of either
/// side that are not among them go to temporary files, divided by their hashes, and are looked at a part at a time.
pub struct SetOperationRows<'p> {
    operation: SetOperator,
    all: bool,
    left: BoxOperator<'p>,
    right: BoxOperator<'p>,
    types: &'p [SqlType],
    equality: Option<RowEquality>,
    /// How often each row of the right side came; for plain operations, whether the left row was given.
    counts: RowMap<RightCount>,
    is_counted: bool,
    /// Rows of both sides for which there is no room, and how often those being read now were divided.
    late: Option<(Partitions, Partitions)>,
    depth: u32,
    waiting: Vec<(Option<SpillReader>, SpillReader, u32)>,
    /// The part of the left side being read; the left side itself before there is one.
    part: Option<SpillReader>,
    part_row: Vec<Value>,
}

#[derive(Default)]
struct RightCount {
    count: u64,
    was_given: bool,
}

impl<'p> SetOperationRows<'p> {
    /// `types` are those of either side's columns.
    pub fn new(
        operation: SetOperator,
        all: bool,
        left: BoxOperator<'p>,
        right: BoxOperator<'p>,
        types: &'p [SqlType],
    ) -> Self {
        SetOperationRows {
            operation,
            all,
            left,
            right,
            types,
            equality: None,
            counts: RowMap::default(),
            is_counted: false,
            late: None,
            depth: 0,
            waiting: Vec::new(),
            part: None,
            part_row: Vec::new(),
        }
    }

    /// Counts the rows of the right side, or of a part of it.
    fn count(&mut self, mut part: Option<SpillReader>, is_part: bool, run: &mut Run<'_, 'p>) -> Result<()> {
        let limit_bytes = hash_memory_bytes(run);
        let equality = self.equality.as_ref().expect("made at the beginning");
        let mut buffer = Vec::new();
        while !is_part || part.is_some() {
            let Some(row) = next_row(&mut self.right, &mut part, &mut buffer, run)? else { break };
            sync::yield_point()?;
            let hash = equality.hash(row);
            if let Some(index) = self.counts.find(row, hash, equality) {
                self.counts.entry_at(index).count += 1;
            } else if let Some((late, _)) = &mut self.late {
                late.push(late.part_of(hash), row, run)?;
            } else {
                self.counts.add(row, hash, RightCount { count: 1, was_given: false });
                if self.counts.bytes() > limit_bytes && self.depth < DEPTH_MAX {
                    self.late = Some((Partitions::new(self.depth), Partitions::new(self.depth)));
                }
            }
        }
        Ok(())
    }

    /// Turns to the next part; false when there is none.
    fn next_part(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if let Some((right, left)) = self.late.take() {
            for (right, left) in right.finish()?.into_iter().zip(left.finish()?) {
                self.waiting.extend(left.map(|left| (right, left, self.depth + 1)));
            }
        }
        let Some((right, left, depth)) = self.waiting.pop() else { return Ok(false) };
        self.depth = depth;
        self.counts = RowMap::default();
        self.count(right, true, run)?;
        self.part = Some(left);
        Ok(true)
    }
}

impl<'p> Operator<'p> for SetOperationRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if !self.is_counted {
            self.equality = Some(equality_of(self.types, run)?);
            self.count(None, false, run)?;
            self.is_counted = true;
        }
        let limit_bytes = hash_memory_bytes(run);
        loop {
            let Some(row) = next_row(&mut self.left, &mut self.part, &mut self.part_row, run)? else {
                if !self.next_part(run)? {
                    return Ok(false);
                }
                continue;
            };
            sync::yield_point()?;
            let equality = self.equality.as_ref().expect("made at the beginning");
            let hash = equality.hash(row);
            let index = match (self.counts.find(row, hash, equality), &mut self.late) {
                (Some(index), _) => index,
                (None, Some((_, late))) => {
                    late.push(late.part_of(hash), row, run)?;
                    continue;
                }
                (None, None) if self.operation == SetOperator::Intersect => continue,
                (None, None) if self.all => return Ok(true),
                (None, None) => {
                    if self.counts.bytes() > limit_bytes && self.depth < DEPTH_MAX {
                        let mut late = Partitions::new(self.depth);
                        late.push(late.part_of(hash), row, run)?;
                        self.late = Some((Partitions::new(self.depth), late));
                        continue;
                    }
                    self.counts.add(row, hash, RightCount::default())
                }
            };
            let entry = self.counts.entry_at(index);
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
    }

    fn row(&self) -> &[Value] {
        if self.part.is_some() { &self.part_row } else { self.left.row() }
    }

    fn rescan(&mut self) {
        self.counts = RowMap::default();
        self.is_counted = false;
        self.late = None;
        self.depth = 0;
        self.waiting.clear();
        self.part = None;
        self.left.rescan();
        self.right.rescan();
    }
}
