//! Merge joins: both sides come in the order of their keys, and are read once, side by side. The right rows of one key are
//! kept, in a file if they are too many, as every left row of that key is joined with them.

use std::cmp::Ordering;

use base::Result;
use plan::{Expr, JoinKind};
use types::{Comparator, Value};

use crate::evaluate::{comparator_of, evaluate, is_true};
use crate::spill::{RowStore, StoreReader, sort_memory_bytes};
use crate::{BoxOperator, Operator, Run};

/// See the module.
pub struct MergeJoinRows<'p> {
    node: &'p plan::MergeJoin,
    left: BoxOperator<'p>,
    right: BoxOperator<'p>,
    comparators: Option<Vec<Comparator>>,
    step: Step,
    /// The left row's slots, then the right row's.
    row: Vec<Value>,
    /// Of the current left row; and of the right row that was read last, if it is `ahead`.
    left_keys: Vec<Value>,
    right_keys: Vec<Value>,
    matched: bool,
    /// The right side stands on a row that belongs to no group yet.
    ahead: bool,
    right_ended: bool,
    group: Group,
}

/// The next step of the join.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Read a left row.
    Left,
    /// Read right rows until they are not before the left row.
    Align,
    /// Join the left row with the group, from its next row on.
    Match,
    /// The left row has no partner.
    Alone,
    /// The group is done: its rows without a partner are rows of a full join; what comes then.
    Drain { is_last: bool },
    /// The left side has ended: what is left of the right one.
    Rest,
}

/// The right rows of one key.
#[derive(Default)]
struct Group {
    is_open: bool,
    keys: Vec<Value>,
    rows: RowStore,
    reader: StoreReader,
    at: usize,
    /// For full joins: which rows have had a partner.
    matched: Vec<bool>,
}

impl<'p> MergeJoinRows<'p> {
    pub fn new(node: &'p plan::MergeJoin, left: BoxOperator<'p>, right: BoxOperator<'p>) -> Self {
        MergeJoinRows {
            node,
            left,
            right,
            comparators: None,
            step: Step::Left,
            row: Vec::new(),
            left_keys: Vec::new(),
            right_keys: Vec::new(),
            matched: false,
            ahead: false,
            right_ended: false,
            group: Group::default(),
        }
    }

    fn is_full(&self) -> bool {
        self.node.kind == JoinKind::Full
    }

    fn compare(&self, left: &[Value], right: &[Value]) -> Ordering {
        let comparators = self.comparators.as_deref().expect("made before the first row");
        let pairs = left.iter().zip(right).zip(comparators);
        pairs
            .map(|((left, right), compare)| compare(left, right))
            .find(|found| found.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// Has a right row ahead, unless there is none any more.
    fn look_ahead(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if !self.ahead && !self.right_ended {
            sync::yield_point()?;
            self.ahead = self.right.next(run)?;
            self.right_ended = !self.ahead;
        }
        Ok(self.ahead)
    }

    /// Gathers the right rows that have the keys of the one ahead.
    fn gather(&mut self, run: &mut Run<'_, 'p>) -> Result<()> {
        let limit_bytes = sort_memory_bytes(run);
        self.group.rows.clear();
        self.group.reader = StoreReader::default();
        self.group.matched.clear();
        std::mem::swap(&mut self.group.keys, &mut self.right_keys);
        self.group.is_open = true;
        loop {
            self.group.rows.push(self.right.row(), limit_bytes, run)?;
            if self.is_full() {
                self.group.matched.push(false);
            }
            self.ahead = false;
            if !self.look_ahead(run)? {
                break;
            }
            let has_keys = keys_into(&self.node.right_keys, self.right.row(), &mut self.right_keys, run)?;
            if !has_keys || self.compare(&self.group.keys, &self.right_keys).is_ne() {
                break;
            }
        }
        self.group.rows.flush()
    }

    /// The current left row, and NULLs for the right one.
    fn left_alone(&mut self) {
        self.row.clear();
        self.row.extend_from_slice(self.left.row());
        if !matches!(self.node.kind, JoinKind::Semi | JoinKind::Anti) {
            self.row.resize((self.node.left.width + self.node.right.width) as usize, Value::Null);
        }
    }

    /// NULLs for the left row, and the right row ahead.
    fn right_alone(&mut self) {
        self.row.clear();
        self.row.resize(self.node.left.width as usize, Value::Null);
        self.row.extend_from_slice(self.right.row());
        self.ahead = false;
    }

    fn next_left(&mut self, run: &mut Run<'_, 'p>) -> Result<Step> {
        if !self.left.next(run)? {
            return Ok(match self.is_full() {
                true if self.group.is_open => self.drain(true),
                _ => Step::Rest,
            });
        }
        sync::yield_point()?;
        self.matched = false;
        let has_keys = keys_into(&self.node.left_keys, self.left.row(), &mut self.left_keys, run)?;
        Ok(if has_keys { Step::Align } else { Step::Alone })
    }

    /// The step of a left row beside an open group.
    #[inline]
    fn beside_group(&mut self) -> Step {
        match self.compare(&self.left_keys, &self.group.keys) {
            Ordering::Less => Step::Alone,
            Ordering::Equal => {
                self.group.at = 0;
                Step::Match
            }
            Ordering::Greater => self.drain(false),
        }
    }

    /// The next row of the group that has had no partner.
    fn next_unmatched(&mut self) -> Result<bool> {
        while self.group.at < self.group.matched.len() {
            let place = self.group.at;
            self.group.at += 1;
            if !self.group.matched[place] {
                self.row.clear();
                self.row.resize(self.node.left.width as usize, Value::Null);
                self.row.extend_from_slice(self.group.reader.read(&self.group.rows, place)?);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn drain(&mut self, is_last: bool) -> Step {
        self.group.is_open = false;
        self.group.at = 0;
        Step::Drain { is_last }
    }
}

/// The values of the keys; false if one is NULL, which matches nothing.
fn keys_into<'p>(keys: &'p [Expr], row: &[Value], out: &mut Vec<Value>, run: &mut Run<'_, 'p>) -> Result<bool> {
    out.clear();
    for key in keys {
        let value = evaluate(key, row, run)?;
        if value.is_null() {
            return Ok(false);
        }
        out.push(value);
    }
    Ok(true)
}

impl<'p> Operator<'p> for MergeJoinRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.comparators.is_none() {
            let keys = self.node.right_keys.iter();
            self.comparators = Some(keys.map(|key| comparator_of(key.sql_type, run)).collect::<Result<_>>()?);
        }
        let kind = self.node.kind;
        loop {
            match self.step {
                Step::Left => self.step = self.next_left(run)?,
                Step::Align => {
                    if self.group.is_open {
                        self.step = self.beside_group();
                        continue;
                    }
                    if !self.look_ahead(run)? {
                        if matches!(kind, JoinKind::Inner | JoinKind::Semi) {
                            return Ok(false);
                        }
                        self.step = Step::Alone;
                        continue;
                    }
                    let has_keys = keys_into(&self.node.right_keys, self.right.row(), &mut self.right_keys, run)?;
                    let ordering =
                        if has_keys { self.compare(&self.left_keys, &self.right_keys) } else { Ordering::Greater };
                    match ordering {
                        Ordering::Less => self.step = Step::Alone,
                        Ordering::Equal => {
                            self.gather(run)?;
                            self.group.at = 0;
                            self.step = Step::Match;
                        }
                        Ordering::Greater if self.is_full() => {
                            self.right_alone();
                            return Ok(true);
                        }
                        Ordering::Greater => self.ahead = false,
                    }
                }
                Step::Match => {
                    let place = self.group.at;
                    if place >= self.group.rows.len() {
                        self.step = if self.matched { Step::Left } else { Step::Alone };
                        continue;
                    }
                    self.group.at += 1;
                    sync::yield_point()?;
                    self.row.clear();
                    self.row.extend_from_slice(self.left.row());
                    self.row.extend_from_slice(self.group.reader.read(&self.group.rows, place)?);
                    if let Some(condition) = &self.node.condition
                        && !is_true(condition, &self.row, run)?
                    {
                        run.locals.removed_rows += 1;
                        continue;
                    }
                    self.matched = true;
                    if let Some(matched) = self.group.matched.get_mut(place) {
                        *matched = true;
                    }
                    match kind {
                        JoinKind::Anti => self.step = Step::Left,
                        JoinKind::Semi => {
                            self.row.truncate(self.node.left.width as usize);
                            self.step = Step::Left;
                            return Ok(true);
                        }
                        _ => return Ok(true),
                    }
                }
                Step::Alone => {
                    self.step = Step::Left;
                    if matches!(kind, JoinKind::Left | JoinKind::Full | JoinKind::Anti) {
                        self.left_alone();
                        return Ok(true);
                    }
                }
                Step::Drain { is_last } => {
                    if self.next_unmatched()? {
                        return Ok(true);
                    }
                    self.step = if is_last { Step::Rest } else { Step::Align };
                }
                Step::Rest => {
                    if !self.is_full() || !self.look_ahead(run)? {
                        return Ok(false);
                    }
                    self.right_alone();
                    return Ok(true);
                }
            }
        }
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.step = Step::Left;
        self.ahead = false;
        self.right_ended = false;
        self.group.is_open = false;
        self.left.rescan();
        self.right.rescan();
    }
}
