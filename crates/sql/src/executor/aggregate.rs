//! GROUP BY and aggregates.
//!
//! Groups are found by hash. When they outgrow their memory, rows of groups that are not there yet go to temporary
//! files, divided by their hashes, and are grouped a part at a time after those that are there.

use base::Result;

use super::evaluate::{evaluate, evaluate_arguments, is_true};
use super::operand::operand;
use super::row_set::{Row, RowEquality, RowMap, RowSet};
use super::sort::{RowOrder, sort_keys_of};
use super::spill::{DEPTH_MAX, Partitions, SpillReader, hash_memory_bytes, next_row};
use super::{BoxOperator, Operator, Run};
use crate::plan::{self, AggregateCall, Expr, ExprKind, SortKey, WindowCall};
use crate::types::{AggregateDef, AggregateState, Value};

/// One row per group.
pub struct AggregateRows<'p> {
    node: &'p plan::Aggregate,
    input: BoxOperator<'p>,
    /// Groups still to give; `None` before the input was read.
    groups: Option<Groups<'p>>,
    /// Rows of groups there was no room for, with how often they were divided.
    waiting: Vec<(SpillReader, u32)>,
    row: Vec<Value>,
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
        AggregateRows { node, input, groups: None, waiting: Vec::new(), row: Vec::new() }
    }

    /// The one group of everything.
    fn gather_all(&mut self, run: &mut Run<'_, 'p>) -> Result<Groups<'p>> {
        let mut accumulators = start_all(&self.node.calls).collect::<Vec<_>>();
        while self.input.next(run)? {
            run.step()?;
            take_all(&mut accumulators, self.input.row(), run)?;
        }
        Ok(Groups { keys: RowMap::default(), accumulators, count: 1, given: 0 })
    }

    /// Groups the rows of the input, or of a file of rows that had to wait.
    fn gather(&mut self, mut spilled: Option<SpillReader>, depth: u32, run: &mut Run<'_, 'p>) -> Result<Groups<'p>> {
        let node = self.node;
        let equality = RowEquality::new(node.groups.iter().map(|group| group.sql_type), run)?;
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
            run.step()?;
            key.clear();
            for group in &node.groups {
                key.push(operand(group, row, run)?.into_value());
            }
            let hash = equality.hash(&key);
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
                // What aggregates gather outside of themselves is looked at only when it may matter.
                let outside = if bytes > limit_bytes / 4 || keys.len() < 64 {
                    accumulators.iter().map(Accumulator::heap_bytes).sum()
                } else {
                    0
                };
                if bytes + outside > limit_bytes && keys.len() > 1 && depth < DEPTH_MAX {
                    late = Some(Partitions::new(depth));
                }
            } else if until_look == 0 {
                until_look = ROWS_BETWEEN_LOOKS;
            }
        }
        if let Some(late) = late {
            let parts = late.finish()?.into_iter().flatten();
            self.waiting.extend(parts.map(|part| (part, depth + 1)));
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
        self.input.rescan();
    }
}

fn start_all(calls: &[AggregateCall]) -> impl Iterator<Item = Accumulator<'_>> {
    calls.iter().map(Accumulator::new)
}

#[inline]
fn take_all<'p>(accumulators: &mut [Accumulator<'p>], row: &[Value], run: &mut Run<'_, 'p>) -> Result<()> {
    accumulators.iter_mut().try_for_each(|accumulator| accumulator.take(row, run))
}

/// One aggregate call over the rows of one group.
pub(super) struct Accumulator<'p> {
    arguments: &'p [Expr],
    filter: Option<&'p Expr>,
    state: AggregateState,
    /// What DISTINCT and ORDER BY within the call need.
    special: Option<Box<Special<'p>>>,
}

struct Special<'p> {
    order: &'p [SortKey],
    distinct: bool,
    /// Arguments seen, for DISTINCT.
    seen: Option<(RowSet, RowEquality)>,
    /// Sort keys and arguments, for ORDER BY within the call.
    ordered: Vec<(Row, Row)>,
    /// DISTINCT also orders what a list is made of, by the arguments themselves.
    is_distinct_list: bool,
}

/// Whether the order of its arguments shows in the aggregate's value.
fn makes_list(function: &AggregateDef) -> bool {
    matches!(
        function.name,
        "array_agg" | "string_agg" | "json_agg" | "jsonb_agg" | "json_object_agg" | "jsonb_object_agg"
    )
}

impl<'p> Accumulator<'p> {
    /// Over no rows yet.
    pub fn new(call: &'p AggregateCall) -> Accumulator<'p> {
        let special = (call.distinct || !call.order.is_empty()).then(|| {
            Box::new(Special {
                order: &call.order,
                distinct: call.distinct,
                seen: None,
                ordered: Vec::new(),
                is_distinct_list: call.order.is_empty() && makes_list(call.function),
            })
        });
        Accumulator {
            arguments: &call.arguments,
            filter: call.filter.as_ref(),
            state: (call.function.start)(&call.types),
            special,
        }
    }

    /// Of an aggregate used as a window function, over no rows yet.
    pub fn of_window(call: &'p WindowCall, function: &AggregateDef) -> Accumulator<'p> {
        Accumulator {
            arguments: &call.arguments,
            filter: call.filter.as_ref(),
            state: (function.start)(&call.types),
            special: None,
        }
    }

    /// Takes in one row.
    #[inline]
    pub fn take(&mut self, row: &[Value], run: &mut Run<'_, 'p>) -> Result<()> {
        if let Some(filter) = self.filter
            && !is_true(filter, row, run)?
        {
            return Ok(());
        }
        if self.special.is_none() {
            return match self.arguments {
                [] => self.state.update(run, &[]),
                [Expr { kind: ExprKind::Column(slot), .. }] => {
                    self.state.update(run, std::slice::from_ref(&row[*slot as usize]))
                }
                [argument] => {
                    let value = evaluate(argument, row, run)?;
                    self.state.update(run, std::slice::from_ref(&value))
                }
                arguments => {
                    let arguments = evaluate_arguments(arguments, row, run)?;
                    self.state.update(run, &arguments)
                }
            };
        }
        self.take_special(row, run)
    }

    fn take_special(&mut self, row: &[Value], run: &mut Run<'_, 'p>) -> Result<()> {
        let special = self.special.as_mut().expect("it is special");
        let arguments = evaluate_arguments(self.arguments, row, run)?;
        if special.distinct {
            if special.seen.is_none() {
                let equality = RowEquality::new(self.arguments.iter().map(|argument| argument.sql_type), run)?;
                special.seen = Some((RowSet::default(), equality));
            }
            let (seen, equality) = special.seen.as_mut().expect("made above");
            if !seen.insert(&arguments, equality) {
                return Ok(());
            }
        }
        if special.is_distinct_list {
            let row = arguments.into_vec().into_boxed_slice();
            special.ordered.push((row.clone(), row));
            return Ok(());
        }
        if special.order.is_empty() {
            return self.state.update(run, &arguments);
        }
        let keys = sort_keys_of(special.order, row, run)?;
        special.ordered.push((keys, arguments.into_vec().into_boxed_slice()));
        Ok(())
    }

    /// The value so far; more rows may follow.
    pub fn value(&mut self, run: &mut Run<'_, 'p>) -> Result<Value> {
        self.apply_ordered(run)?;
        self.state.finish(run)
    }

    fn apply_ordered(&mut self, run: &mut Run<'_, 'p>) -> Result<()> {
        let Some(special) = self.special.as_mut().filter(|special| !special.ordered.is_empty()) else { return Ok(()) };
        let order = if special.is_distinct_list {
            RowOrder::ascending(self.arguments.iter().map(|argument| argument.sql_type), run)?
        } else {
            RowOrder::new(special.order, run)?
        };
        special.ordered.sort_by(|(left, _), (right, _)| order.compare(left, right));
        for (_, arguments) in special.ordered.drain(..) {
            self.state.update(run, &arguments)?;
        }
        Ok(())
    }

    /// Memory held outside of it, roughly.
    fn heap_bytes(&self) -> usize {
        let special = self.special.as_ref().map_or(0, |special| {
            let seen = special.seen.as_ref().map_or(0, |(seen, _)| seen.bytes());
            seen + special.ordered.len() * 160 + size_of::<Special<'_>>()
        });
        self.state.heap_bytes() + special
    }
}
