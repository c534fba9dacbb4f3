//! Hash joins: the right side in a hash table, probed by each left row. A right side that outgrows its memory is divided
//! by the hashes of its keys into temporary files, and so is the left side; then one pair of parts is joined after the
//! other.

use base::Result;
use plan::{Call, Effort, Expr, ExprKind, JoinKind};
use types::Value;

use crate::evaluate::{evaluate, is_true};
use crate::measure::kilobytes;
use crate::operand::{comparison, operand};
use crate::row_set::{RowEquality, Rows};
use crate::spill::{DEPTH_MAX, KeySlots, PARTITIONS, Partitions, SpillReader, hash_memory_bytes, next_row};
use crate::{BoxOperator, Operator, Run};

/// See the module.
pub struct HashJoinRows<'p> {
    node: &'p plan::HashJoin,
    left: BoxOperator<'p>,
    right: BoxOperator<'p>,
    equality: Option<RowEquality>,
    table: Option<Table>,
    /// The table of a run that has ended, for the next one.
    kept: Option<Table>,
    /// The part of the left side that is read; the left side itself if it was not divided.
    left_part: Option<SpillReader>,
    left_part_row: Vec<Value>,
    /// Parts still to be joined, and how often they were divided.
    waiting: Vec<Pair>,
    row: Vec<Value>,
    left_width: usize,
    early: Vec<EarlyComparison<'p>>,
    /// The current left row's keys and their hash, and the next right row they may match.
    probe: Vec<Value>,
    hash: u64,
    candidate: u32,
    has_left: bool,
    /// `row` begins with the current left row.
    left_is_copied: bool,
    matched: bool,
    /// For right and full joins: the next right row without a partner to look at.
    unmatched_at: usize,
    /// Of the whole right side.
    right_rows: u64,
    has_null_key: bool,
    effort: Option<Effort>,
    batches: u64,
}

/// A comparison that the condition begins with, of a left column and a right one: most pairs of rows that it refuses need
/// not be put together.
struct EarlyComparison<'p> {
    call: &'p Call,
    left: usize,
    right: usize,
    /// The right column stands first.
    is_turned: bool,
}

/// Comparisons of this kind from the condition's beginning on: behind anything else, they might hide its error.
fn early_comparisons(node: &plan::HashJoin) -> Vec<EarlyComparison<'_>> {
    let conjuncts = match &node.condition {
        Some(Expr { kind: ExprKind::And(operands), .. }) => &operands[..],
        Some(condition) => std::slice::from_ref(condition),
        None => &[],
    };
    conjuncts.iter().map_while(|conjunct| early_comparison(conjunct, node.left.width as usize)).collect()
}

fn early_comparison(conjunct: &Expr, left_width: usize) -> Option<EarlyComparison<'_>> {
    let ExprKind::Call(call) = &conjunct.kind else { return None };
    let column = |number: usize| match call.arguments[number].kind {
        ExprKind::Column(slot) => Some(slot as usize),
        _ => None,
    };
    if call.operator.is_none() || call.arguments.len() != 2 {
        return None;
    }
    match (column(0)?, column(1)?) {
        (left, right) if left < left_width && right >= left_width => {
            Some(EarlyComparison { call, left, right: right - left_width, is_turned: false })
        }
        (right, left) if left < left_width && right >= left_width => {
            Some(EarlyComparison { call, left, right: right - left_width, is_turned: true })
        }
        _ => None,
    }
}

impl EarlyComparison<'_> {
    /// Whether it is false; if it is not, the condition as a whole tells.
    #[inline]
    fn refuses(&self, left: &[Value], right: &[Value]) -> bool {
        let (left, right) = (&left[self.left], &right[self.right]);
        let truth =
            if self.is_turned { comparison(self.call, right, left) } else { comparison(self.call, left, right) };
        truth == Some(false)
    }
}

struct Pair {
    left: Option<SpillReader>,
    right: Option<SpillReader>,
    depth: u32,
}

/// Which hashes a divided right side has: left rows with others have no partner. One bit for many hashes.
struct HashBits(Vec<u64>);

const HASH_BITS: u32 = 22;

impl HashBits {
    fn new() -> HashBits {
        HashBits(vec![0; (1 << HASH_BITS) / 64])
    }

    fn place(hash: u64) -> (usize, u64) {
        let bit = spread(hash) >> (u64::BITS - HASH_BITS);
        ((bit / 64) as usize, 1 << (bit % 64))
    }

    fn add(&mut self, hash: u64) {
        let (word, bit) = HashBits::place(hash);
        self.0[word] |= bit;
    }

    fn may_have(&self, hash: u64) -> bool {
        let (word, bit) = HashBits::place(hash);
        self.0[word] & bit != 0
    }
}

/// No row.
const NONE: u32 = u32::MAX;

struct Table {
    /// The right rows, with keys that are no columns behind them.
    rows: Rows,
    keys: KeySlots,
    hashes: Vec<u64>,
    /// By the first bits of a hash: the first row that has them.
    heads: Vec<u32>,
    /// The next row with the same first bits.
    next: Vec<u32>,
    shift: u32,
    matched: Vec<bool>,
}

impl Table {
    /// Chains the rows by their hashes, earlier rows first. Rows without a hash have a NULL among their keys.
    fn chain(rows: Rows, keys: KeySlots, hashes: Vec<Option<u64>>, keeps_matched: bool) -> Table {
        let bits = (rows.len().max(1) * 2).next_power_of_two().trailing_zeros().max(4);
        let shift = u64::BITS - bits;
        let mut heads = vec![NONE; 1 << bits];
        let mut next = vec![NONE; rows.len()];
        for (index, hash) in hashes.iter().enumerate().rev() {
            if let Some(hash) = hash {
                let head = &mut heads[(spread(*hash) >> shift) as usize];
                next[index] = std::mem::replace(head, index as u32);
            }
        }
        let hashes = hashes.into_iter().map(Option::unwrap_or_default).collect();
        let matched = if keeps_matched { vec![false; rows.len()] } else { Vec::new() };
        Table { rows, keys, hashes, heads, next, shift, matched }
    }

    fn bytes(&self) -> usize {
        let places = (self.heads.len() + self.next.len()) * size_of::<u32>();
        self.rows.bytes() + places + self.hashes.len() * size_of::<u64>()
    }

    #[inline]
    fn first(&self, hash: u64) -> u32 {
        self.heads[(spread(hash) >> self.shift) as usize]
    }
}

/// The first bits of the hash are made of all of it.
#[inline]
fn spread(hash: u64) -> u64 {
    hash.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl<'p> HashJoinRows<'p> {
    pub fn new(node: &'p plan::HashJoin, left: BoxOperator<'p>, right: BoxOperator<'p>) -> Self {
        HashJoinRows {
            node,
            left,
            right,
            equality: None,
            table: None,
            kept: None,
            left_part: None,
            left_part_row: Vec::new(),
            waiting: Vec::new(),
            row: Vec::new(),
            left_width: node.left.width as usize,
            early: early_comparisons(node),
            probe: Vec::new(),
            hash: 0,
            candidate: NONE,
            has_left: false,
            left_is_copied: false,
            matched: false,
            unmatched_at: 0,
            right_rows: 0,
            has_null_key: false,
            effort: None,
            batches: 0,
        }
    }

    fn keeps_unmatched_right(&self) -> bool {
        matches!(self.node.kind, JoinKind::Right | JoinKind::Full)
    }

    /// Whether the table serves the next run as well: it is the whole right side, which stays as it is, and nothing was noted in it.
    fn is_kept(&self) -> bool {
        self.node.keeps_right && self.batches == 0 && self.waiting.is_empty() && !self.keeps_unmatched_right()
    }

    /// Reads a right side, or a part of one, into a table; divides both sides, and gives no table, if it is too large.
    fn make_table(
        &mut self,
        mut part: Option<SpillReader>,
        left_part: Option<SpillReader>,
        depth: u32,
        run: &mut Run<'_, 'p>,
    ) -> Result<Option<Table>> {
        let equality = self.equality.as_ref().expect("made before the first table");
        let limit_bytes = hash_memory_bytes(run);
        let keeps_all = self.keeps_unmatched_right();
        let columns = self.node.right_keys.iter().map(|key| match key.kind {
            ExprKind::Column(slot) => Some(slot as usize),
            _ => None,
        });
        let width = self.node.right.width as usize;
        let keys = KeySlots::new(columns, width);
        let mut rows = Rows::default();
        let mut hashes: Vec<Option<u64>> = Vec::new();
        let mut computed = Vec::with_capacity(keys.computed.len());
        let mut parts: Option<(Partitions, HashBits)> = None;
        let mut part_row = Vec::new();
        while let Some(row) = next_row(&mut self.right, &mut part, &mut part_row, run)? {
            sync::yield_point()?;
            if depth == 0 {
                self.right_rows += 1;
            }
            computed.clear();
            for number in &keys.computed {
                computed.push(evaluate(&self.node.right_keys[*number], row, run)?);
            }
            let value_of = |slot: usize| if slot < width { &row[slot] } else { &computed[slot - width] };
            let has_null = keys.slots.iter().any(|slot| value_of(*slot).is_null());
            if has_null {
                self.has_null_key = true;
                if !keeps_all {
                    continue;
                }
            }
            let hash = (!has_null).then(|| equality.hash_of(keys.slots.iter().map(|slot| value_of(*slot))));
            if let Some((parts, bits)) = &mut parts {
                hash.iter().for_each(|hash| bits.add(*hash));
                parts.push(hash.map_or(0, |hash| parts.part_of(hash)), row, run)?;
                continue;
            }
            rows.push_parts(row, &computed);
            hashes.push(hash);
            let bytes = rows.bytes() + hashes.len() * (2 * size_of::<u64>() + 2 * size_of::<u32>());
            if bytes > limit_bytes && depth < DEPTH_MAX && !self.node.right_keys.is_empty() {
                let mut divided = Partitions::new(depth);
                let mut bits = HashBits::new();
                for (index, hash) in hashes.drain(..).enumerate() {
                    hash.iter().for_each(|hash| bits.add(*hash));
                    let part = hash.map_or(0, |hash| divided.part_of(hash));
                    divided.push(part, &rows.get(index)[..width], run)?;
                }
                rows = Rows::default();
                parts = Some((divided, bits));
            }
        }
        match parts {
            None => {
                self.left_part = left_part;
                let table = Table::chain(rows, keys, hashes, keeps_all);
                let before = match self.effort {
                    Some(Effort::Hash { kilobytes, .. }) => kilobytes,
                    _ => 0,
                };
                self.effort = Some(Effort::Hash {
                    buckets: table.heads.len() as u64,
                    batches: self.batches + 1,
                    kilobytes: kilobytes(table.bytes()).max(before),
                });
                Ok(Some(table))
            }
            Some((parts, bits)) => {
                let right = parts.finish()?;
                self.batches += PARTITIONS as u64 - 1;
                self.divide_left(right, &bits, left_part, depth, run)?;
                Ok(None)
            }
        }
    }

    /// Divides the left side as the right one was.
    fn divide_left(
        &mut self,
        right: Vec<Option<SpillReader>>,
        bits: &HashBits,
        mut part: Option<SpillReader>,
        depth: u32,
        run: &mut Run<'_, 'p>,
    ) -> Result<()> {
        let mut parts = Partitions::new(depth);
        let mut part_row = Vec::new();
        while let Some(row) = next_row(&mut self.left, &mut part, &mut part_row, run)? {
            sync::yield_point()?;
            let has_keys = keys_into(&self.node.left_keys, row, &mut self.probe, run)?;
            let equality = self.equality.as_ref().expect("made before the first table");
            let hash = if has_keys { equality.hash(&self.probe) } else { 0 };
            // In these joins a left row without a partner may still be a row of the result.
            let is_wanted = matches!(self.node.kind, JoinKind::Left | JoinKind::Full | JoinKind::Anti);
            if is_wanted || (has_keys && bits.may_have(hash)) {
                parts.push(if has_keys { parts.part_of(hash) } else { 0 }, row, run)?;
            }
        }
        let mut left = parts.finish()?;
        for (place, right) in right.into_iter().enumerate().rev() {
            let left = left[place].take();
            if left.is_some() || (right.is_some() && self.keeps_unmatched_right()) {
                self.waiting.push(Pair { left, right, depth: depth + 1 });
            }
        }
        debug_assert!(self.waiting.len() <= PARTITIONS * (DEPTH_MAX as usize + 1));
        Ok(())
    }

    /// Moves to a table there is something to be joined with: the first, or that of the next parts.
    fn next_table(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        self.unmatched_at = 0;
        if self.equality.is_none() {
            self.equality = Some(RowEquality::new(self.node.right_keys.iter().map(|key| key.sql_type), run)?);
            self.table = self.make_table(None, None, 0, run)?;
        } else {
            self.table = None;
        }
        while self.table.is_none() {
            let Some(Pair { left, right, depth }) = self.waiting.pop() else { return Ok(false) };
            // A side without rows is a file without any: not the operator again.
            let (left, right) = (or_empty(left, run)?, or_empty(right, run)?);
            self.table = self.make_table(Some(right), Some(left), depth, run)?;
        }
        Ok(true)
    }

    /// Takes the next left row and finds the first that it may match.
    fn next_left(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        let found = match &mut self.left_part {
            Some(part) => part.next(&mut self.left_part_row)?,
            None => self.left.next(run)?,
        };
        if !found {
            return Ok(false);
        }
        sync::yield_point()?;
        self.has_left = true;
        self.left_is_copied = false;
        self.matched = false;
        self.candidate = NONE;
        let row = if self.left_part.is_some() { &self.left_part_row } else { self.left.row() };
        let has_keys = keys_into(&self.node.left_keys, row, &mut self.probe, run)?;
        let table = self.table.as_ref().expect("made before the first left row");
        let equality = self.equality.as_ref().expect("made before the first table");
        if has_keys {
            self.hash = equality.hash(&self.probe);
            self.candidate = table.first(self.hash);
        } else if self.node.null_aware && self.right_rows > 0 {
            // `NULL NOT IN (...)` is unknown unless there is nothing to compare with.
            self.matched = true;
        }
        if self.node.null_aware && self.has_null_key {
            self.matched = true;
        }
        Ok(true)
    }

    /// The next right row with the left row's keys.
    #[inline]
    fn next_candidate(&mut self) -> Option<usize> {
        let table = self.table.as_ref().expect("made before the first left row");
        let equality = self.equality.as_ref().expect("made before the first table");
        while self.candidate != NONE {
            let at = self.candidate as usize;
            self.candidate = table.next[at];
            if table.hashes[at] == self.hash {
                let row = table.rows.get(at);
                if equality.equal_of(table.keys.slots.iter().map(|slot| &row[*slot]), self.probe.iter()) {
                    return Some(at);
                }
            }
        }
        None
    }

    /// The current left row.
    #[inline]
    fn left_row(&self) -> &[Value] {
        if self.left_part.is_some() { &self.left_part_row } else { self.left.row() }
    }

    /// Whether the condition begins with comparisons, and one of the current left row and this right one is false: not
    /// being known, a truth is left to the others.
    #[inline]
    fn is_refused_early(&self, place: usize) -> bool {
        if self.early.is_empty() {
            return false;
        }
        let table = self.table.as_ref().expect("made before the first left row");
        let (left, right) = (self.left_row(), table.rows.get(place));
        self.early.iter().any(|comparison| comparison.refuses(left, right))
    }

    fn copy_left(&mut self) {
        if self.left_is_copied {
            self.row.truncate(self.left_width);
            return;
        }
        self.left_is_copied = true;
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        row.extend_from_slice(self.left_row());
        self.row = row;
    }
}

fn or_empty(part: Option<SpillReader>, run: &Run<'_, '_>) -> Result<SpillReader> {
    match part {
        Some(part) => Ok(part),
        None => Ok(SpillReader::new(crate::spill::SpillWriter::new(run)?.finish()?)),
    }
}

/// The values of the keys; false if one is NULL, which matches nothing.
#[inline]
fn keys_into<'p>(keys: &'p [Expr], row: &[Value], out: &mut Vec<Value>, run: &mut Run<'_, 'p>) -> Result<bool> {
    out.clear();
    for key in keys {
        let value = operand(key, row, run)?.into_value();
        if value.is_null() {
            return Ok(false);
        }
        out.push(value);
    }
    Ok(true)
}

impl<'p> Operator<'p> for HashJoinRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.equality.is_none() && !self.next_table(run)? {
            return Ok(false);
        }
        let kind = self.node.kind;
        let right_width = self.node.right.width as usize;
        loop {
            if self.table.is_none() {
                return Ok(false);
            }
            loop {
                if !self.has_left && !self.next_left(run)? {
                    break;
                }
                while let Some(place) = self.next_candidate() {
                    if self.is_refused_early(place) {
                        continue;
                    }
                    let decides_alone = self.node.condition.is_none();
                    if !(decides_alone && matches!(kind, JoinKind::Semi | JoinKind::Anti)) {
                        self.copy_left();
                        let table = self.table.as_ref().expect("looked at above");
                        self.row.extend_from_slice(&table.rows.get(place)[..right_width]);
                        if let Some(condition) = &self.node.condition
                            && !is_true(condition, &self.row, run)?
                        {
                            run.locals.removed_rows += 1;
                            continue;
                        }
                    }
                    self.matched = true;
                    if let Some(matched) = self.table.as_mut().and_then(|table| table.matched.get_mut(place)) {
                        *matched = true;
                    }
                    match kind {
                        JoinKind::Anti => break,
                        JoinKind::Semi => {
                            self.copy_left();
                            self.has_left = false;
                            return Ok(true);
                        }
                        _ => return Ok(true),
                    }
                }
                self.has_left = false;
                if !self.matched && matches!(kind, JoinKind::Left | JoinKind::Full | JoinKind::Anti) {
                    self.copy_left();
                    if kind != JoinKind::Anti {
                        self.row.resize(self.left_width + right_width, Value::Null);
                    }
                    return Ok(true);
                }
            }
            if let (true, Some(table)) = (self.keeps_unmatched_right(), &self.table) {
                while self.unmatched_at < table.rows.len() {
                    let place = self.unmatched_at;
                    self.unmatched_at += 1;
                    if !table.matched[place] {
                        self.row.clear();
                        self.row.resize(self.left_width, Value::Null);
                        self.row.extend_from_slice(&table.rows.get(place)[..right_width]);
                        return Ok(true);
                    }
                }
            }
            if self.is_kept() {
                self.kept = self.table.take();
            }
            self.next_table(run)?;
        }
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        if self.is_kept()
            && let Some(table) = self.kept.take().or_else(|| self.table.take())
        {
            self.table = Some(table);
            self.has_left = false;
            self.left.rescan();
            return;
        }
        self.kept = None;
        self.equality = None;
        self.table = None;
        self.left_part = None;
        self.waiting.clear();
        self.has_left = false;
        self.unmatched_at = 0;
        self.right_rows = 0;
        self.has_null_key = false;
        self.batches = 0;
        self.left.rescan();
        self.right.rescan();
    }

    fn effort(&self) -> Option<Effort> {
        self.effort
    }
}
