//! GROUP BY and aggregates.

use base::Result;

use super::evaluate::{evaluate, evaluate_arguments, is_true};
use super::row_set::{Row, RowEquality, RowMap, RowSet};
use super::sort::{RowOrder, sort_keys_of};
use super::{BoxOperator, Operator, Run};
use crate::plan::{self, AggregateCall, Expr, SortKey, WindowCall};
use crate::types::{AggregateDef, AggregateState, Value};

/// One row per group.
pub struct AggregateRows<'p> {
    node: &'p plan::Aggregate,
    input: BoxOperator<'p>,
    /// Finished groups still to give; `None` before the input was read.
    groups: Option<std::vec::IntoIter<(Row, Vec<Accumulator<'p>>)>>,
    row: Vec<Value>,
}

impl<'p> AggregateRows<'p> {
    pub fn new(node: &'p plan::Aggregate, input: BoxOperator<'p>) -> Self {
        AggregateRows { node, input, groups: None, row: Vec::new() }
    }

    /// Reads the whole input.
    fn gather(&mut self, run: &mut Run<'_, 'p>) -> Result<Vec<(Row, Vec<Accumulator<'p>>)>> {
        let node = self.node;
        let equality = RowEquality::new(node.groups.iter().map(|group| group.sql_type), run)?;
        if node.groups.is_empty() {
            let mut accumulators = start_all(&node.calls);
            while self.input.next(run)? {
                run.step()?;
                take_all(&mut accumulators, self.input.row(), run)?;
            }
            return Ok(vec![(Row::default(), accumulators)]);
        }
        let mut groups = RowMap::<Vec<Accumulator<'p>>>::default();
        let mut key = Vec::with_capacity(node.groups.len());
        while self.input.next(run)? {
            run.step()?;
            let row = self.input.row();
            key.clear();
            for group in &node.groups {
                key.push(evaluate(group, row, run)?);
            }
            take_all(groups.entry(&key, &equality, || start_all(&node.calls)), row, run)?;
        }
        Ok(groups.into_entries())
    }
}

impl<'p> Operator<'p> for AggregateRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.groups.is_none() {
            self.groups = Some(self.gather(run)?.into_iter());
        }
        let Some((key, accumulators)) = self.groups.as_mut().and_then(Iterator::next) else { return Ok(false) };
        self.row.clear();
        self.row.extend(key);
        for accumulator in accumulators {
            let value = accumulator.finish(run)?;
            self.row.push(value);
        }
        Ok(true)
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.groups = None;
        self.input.rescan();
    }
}

fn start_all(calls: &[AggregateCall]) -> Vec<Accumulator<'_>> {
    calls.iter().map(Accumulator::new).collect()
}

fn take_all<'p>(accumulators: &mut [Accumulator<'p>], row: &[Value], run: &mut Run<'_, 'p>) -> Result<()> {
    accumulators.iter_mut().try_for_each(|accumulator| accumulator.take(row, run))
}

/// One aggregate call over the rows of one group.
pub(super) struct Accumulator<'p> {
    arguments: &'p [Expr],
    order: &'p [SortKey],
    filter: Option<&'p Expr>,
    distinct: bool,
    state: AggregateState,
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
        Accumulator {
            arguments: &call.arguments,
            order: &call.order,
            filter: call.filter.as_ref(),
            distinct: call.distinct,
            state: (call.function.start)(&call.types),
            seen: None,
            ordered: Vec::new(),
            is_distinct_list: call.distinct && call.order.is_empty() && makes_list(call.function),
        }
    }

    /// Of an aggregate used as a window function, over no rows yet.
    pub fn of_window(call: &'p WindowCall, function: &AggregateDef) -> Accumulator<'p> {
        Accumulator {
            arguments: &call.arguments,
            order: &[],
            filter: call.filter.as_ref(),
            distinct: false,
            state: (function.start)(&call.types),
            seen: None,
            ordered: Vec::new(),
            is_distinct_list: false,
        }
    }

    /// Takes in one row.
    pub fn take(&mut self, row: &[Value], run: &mut Run<'_, 'p>) -> Result<()> {
        if let Some(filter) = self.filter
            && !is_true(filter, row, run)?
        {
            return Ok(());
        }
        let arguments = evaluate_arguments(self.arguments, row, run)?;
        if self.distinct {
            if self.seen.is_none() {
                let equality = RowEquality::new(self.arguments.iter().map(|argument| argument.sql_type), run)?;
                self.seen = Some((RowSet::default(), equality));
            }
            let (seen, equality) = self.seen.as_mut().expect("made above");
            if !seen.insert(&arguments, equality) {
                return Ok(());
            }
        }
        if self.is_distinct_list {
            let row = arguments.into_vec().into_boxed_slice();
            self.ordered.push((row.clone(), row));
            return Ok(());
        }
        if self.order.is_empty() {
            return self.state.update(run, &arguments);
        }
        let keys = sort_keys_of(self.order, row, run)?;
        self.ordered.push((keys, arguments.into_vec().into_boxed_slice()));
        Ok(())
    }

    /// The aggregate's value.
    pub fn finish(mut self, run: &mut Run<'_, 'p>) -> Result<Value> {
        self.apply_ordered(run)?;
        self.state.finish(run)
    }

    /// The value so far; more rows may follow.
    pub fn value(&mut self, run: &mut Run<'_, 'p>) -> Result<Value> {
        self.apply_ordered(run)?;
        self.state.finish(run)
    }

    fn apply_ordered(&mut self, run: &mut Run<'_, 'p>) -> Result<()> {
        if self.ordered.is_empty() {
            return Ok(());
        }
        let order = if self.is_distinct_list {
            RowOrder::ascending(self.arguments.iter().map(|argument| argument.sql_type), run)?
        } else {
            RowOrder::new(self.order, run)?
        };
        self.ordered.sort_by(|(left, _), (right, _)| order.compare(left, right));
        for (_, arguments) in self.ordered.drain(..) {
            self.state.update(run, &arguments)?;
        }
        Ok(())
    }
}
