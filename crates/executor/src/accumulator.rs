//! One aggregate call over the rows of one group.
//!
//! `work_mem` bounds the rows that DISTINCT and ORDER BY within the call keep. More rows than that are sorted in temporary
//! files.

use base::Result;
use plan::{AggregateCall, Expr, ExprKind, SortKey, WindowCall};
use types::{AggregateDef, AggregateState, Hypothetical, Value, check_share};

use crate::Run;
use crate::evaluate::{evaluate, evaluate_arguments, is_true};
use crate::row_set::{Row, RowEquality, RowSet, Rows};
use crate::sort::{RowOrder, RowSorter, sort_keys_of};
use crate::spill::sort_memory_bytes;

/// One aggregate call over the rows of one group.
pub(super) struct Accumulator<'p> {
    arguments: &'p [Expr],
    filter: Option<&'p Expr>,
    state: AggregateState,
    /// State for DISTINCT, ORDER BY and WITHIN GROUP.
    special: Option<Box<Special<'p>>>,
}

struct Special<'p> {
    order: &'p [SortKey],
    /// Keys whose values are those of arguments, see [`AggregateCall::key_arguments`].
    key_arguments: &'p [Option<usize>],
    distinct: bool,
    /// The order of its arguments shows in the aggregate's value.
    makes_list: bool,
    /// Of an aggregate that places a row among the others: which, and how many came before that row or beside it.
    hypothetical: Option<Place>,
    /// How many direct arguments an ordered-set aggregate has, and what they are. They are the same for all rows of a group, so they are
    /// kept once.
    direct_count: usize,
    direct: Vec<Value>,
    /// Arguments seen, for DISTINCT without an order.
    seen: Option<(RowSet, RowEquality)>,
    /// Sort keys and arguments, one behind the other.
    rows: Rows,
    /// The same, once they were too many.
    sorter: Option<Box<RowSorter>>,
    /// How many of them have a last argument that is not NULL.
    values: u64,
    /// The memory that these rows may take; 0 before the limit was looked up.
    limit_bytes: usize,
}

/// How a hypothetical row stands among the others.
struct Place {
    kind: Hypothetical,
    order: Option<RowOrder>,
    rows: u64,
    before: u64,
    beside: u64,
}

/// Less than this isn't worth a file.
const SPILLED_BYTES_MIN: usize = 16 << 10;

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
            let place = |kind| Place { kind, order: None, rows: 0, before: 0, beside: 0 };
            Box::new(Special {
                order: &call.order,
                key_arguments: &call.key_arguments,
                distinct: call.distinct || call.function.hypothetical == Some(Hypothetical::DenseRank),
                makes_list: makes_list(call.function),
                hypothetical: call.function.hypothetical.map(place),
                direct_count: match call.function.hypothetical {
                    Some(_) => 0,
                    None => call.function.direct_arguments.unwrap_or(0),
                },
                direct: Vec::new(),
                seen: None,
                rows: Rows::default(),
                sorter: None,
                values: 0,
                limit_bytes: 0,
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
        if special.limit_bytes == 0 {
            special.limit_bytes = sort_memory_bytes(run);
        }
        let mut arguments = evaluate_arguments(self.arguments, row, run)?;
        if let Some(place) = &mut special.hypothetical {
            // The direct arguments are the row to be placed, the others the row that is there.
            let keys = special.order.len();
            if place.order.is_none() {
                place.order = Some(RowOrder::new(special.order, run)?);
            }
            let (wanted, found) = arguments.split_at(arguments.len() - keys);
            let ordering = place.order.as_ref().expect("made above").compare(found, wanted);
            place.rows += 1;
            place.before += u64::from(ordering.is_lt());
            place.beside += u64::from(ordering.is_eq());
            if !special.distinct || !ordering.is_lt() {
                return Ok(());
            }
            arguments.drain(..keys);
        }
        if special.direct_count > 0 {
            let direct = arguments.drain(..special.direct_count);
            if special.direct.is_empty() {
                special.direct.extend(direct);
            }
        }
        if !special.distinct || special.makes_list || (!special.order.is_empty() && special.hypothetical.is_none()) {
            let keys = if special.key_arguments.is_empty() {
                sort_keys_of(special.order, row, run)?
            } else {
                special.keys_among(&arguments, row, run)?
            };
            return special.keep(&keys, &arguments, self.arguments, run);
        }
        if special.seen.is_none() {
            let types = self.arguments[self.arguments.len() - arguments.len()..].iter();
            let equality = RowEquality::new(types.map(|argument| argument.sql_type), run)?;
            special.seen = Some((RowSet::default(), equality));
        }
        let (seen, equality) = special.seen.as_mut().expect("made above");
        if seen.bytes() > special.limit_bytes {
            if !seen.contains(&arguments, equality) {
                let keys = if special.hypothetical.is_some() { arguments.to_vec() } else { Vec::new() };
                return special.keep(&keys, &arguments, self.arguments, run);
            }
        } else if seen.insert(&arguments, equality) {
            return match &mut special.hypothetical {
                Some(_) => Ok(()),
                None => self.state.update(run, &arguments),
            };
        }
        Ok(())
    }

    /// The value so far; more rows may follow.
    pub fn value(&mut self, run: &mut Run<'_, 'p>) -> Result<Value> {
        let more = self.apply_kept(run)?;
        if let Some(Special { hypothetical: Some(place), seen, .. }) = self.special.as_deref() {
            let (rows, before) = (place.rows as f64, place.before as f64);
            return Ok(match place.kind {
                Hypothetical::Rank => Value::Int8(place.before as i64 + 1),
                Hypothetical::DenseRank => {
                    let distinct = seen.as_ref().map_or(0, |(seen, _)| seen.len() as u64) + more;
                    Value::Int8(distinct as i64 + 1)
                }
                Hypothetical::PercentRank if place.rows == 0 => Value::Float8(0.0),
                Hypothetical::PercentRank => Value::Float8(before / rows),
                Hypothetical::CumeDist => Value::Float8((before + place.beside as f64 + 1.0) / (rows + 1.0)),
            });
        }
        // No row came, but the share is looked at.
        if let Some(special) = self.special.as_deref()
            && special.direct_count == 1
            && special.direct.is_empty()
            && !self.arguments[0].any(&|expr| matches!(expr.kind, ExprKind::Column(_)))
            && let Value::Float8(share) = evaluate(&self.arguments[0], &[], run)?
        {
            check_share(share)?;
        }
        self.state.finish(run)
    }

    /// Hands what was kept to the aggregate, in its order; how many distinct rows that were.
    fn apply_kept(&mut self, run: &mut Run<'_, 'p>) -> Result<u64> {
        let Some(special) = self.special.as_mut() else { return Ok(0) };
        if special.rows.len() == 0 && special.sorter.is_none() {
            return Ok(0);
        }
        self.state.expect(special.values);
        let keys = special.key_count();
        let is_counted_only = special.hypothetical.is_some();
        let equality = if special.distinct {
            let types = self.arguments[self.arguments.len() - special.argument_count(self.arguments)..].iter();
            Some(RowEquality::new(types.map(|argument| argument.sql_type), run)?)
        } else {
            None
        };
        let mut last: Option<Vec<Value>> = None;
        let mut count = 0;
        let mut with_direct = special.direct.clone();
        let direct_count = special.direct_count;
        let state = &mut self.state;
        let mut give = |arguments: &[Value], run: &mut Run<'_, 'p>| -> Result<()> {
            sync::yield_point()?;
            if let Some(equality) = &equality {
                if last.as_ref().is_some_and(|last| equality.equal(last, arguments)) {
                    return Ok(());
                }
                last = Some(arguments.to_vec());
            }
            count += 1;
            if is_counted_only {
                return Ok(());
            }
            if direct_count == 0 {
                return state.update(run, arguments);
            }
            with_direct.truncate(direct_count);
            with_direct.extend_from_slice(arguments);
            state.update(run, &with_direct)
        };
        if let Some(sorter) = special.sorter.take() {
            let mut sorted = sorter.finish(run)?;
            let mut row = Vec::new();
            while sorted.next(&mut row)? {
                give(&row[keys..], run)?;
            }
        } else {
            let order = RowOrder::new(&special.sort_keys(self.arguments), run)?;
            let rows = std::mem::take(&mut special.rows);
            let mut places = (0..rows.len()).collect::<Vec<_>>();
            sync::sort_by(&mut places, |left, right| order.compare(rows.get(*left), rows.get(*right)))?;
            for place in places {
                give(&rows.get(place)[keys..], run)?;
            }
        }
        Ok(count)
    }

    /// Lowers what it may keep in memory.
    pub fn tighten(&mut self, limit_bytes: usize) {
        if let Some(special) = &mut self.special {
            special.limit_bytes = special.limit_bytes.min(limit_bytes).max(SPILLED_BYTES_MIN);
        }
    }

    /// Memory held outside of it, roughly.
    pub fn heap_bytes(&self) -> usize {
        let special = self.special.as_ref().map_or(0, |special| {
            let seen = special.seen.as_ref().map_or(0, |(seen, _)| seen.bytes());
            let sorted = special.sorter.as_ref().map_or(0, |sorter| sorter.bytes());
            let direct = special.direct.iter().map(Value::heap_bytes).sum::<usize>();
            seen + sorted + direct + special.rows.bytes() + size_of::<Special<'_>>()
        });
        self.state.heap_bytes() + special
    }
}

impl<'p> Special<'p> {
    /// The sort keys of a row, those that are arguments taken from these.
    fn keys_among(&self, arguments: &[Value], row: &[Value], run: &mut Run<'_, 'p>) -> Result<Row> {
        let keys = self.order.iter().zip(self.key_arguments).map(|(key, place)| match place {
            Some(place) => Ok(arguments[place - self.direct_count].clone()),
            None => evaluate(&key.expr, row, run),
        });
        keys.collect()
    }

    /// How many of the arguments are kept: not those that are to be placed among the others.
    fn argument_count(&self, arguments: &[Expr]) -> usize {
        if self.hypothetical.is_some() { self.order.len() } else { arguments.len() }
    }

    /// How many keys stand before the arguments of a row that is kept.
    fn key_count(&self) -> usize {
        self.order.len()
    }

    /// The keys by which kept rows are sorted: those of ORDER BY, and for DISTINCT the arguments after them.
    fn sort_keys(&self, arguments: &[Expr]) -> Vec<SortKey> {
        let keys = self.order.iter().enumerate().map(|(place, key)| SortKey {
            expr: Expr::column(place, key.expr.sql_type),
            descending: key.descending,
            nulls_first: key.nulls_first,
        });
        let count = if self.distinct { self.argument_count(arguments) } else { 0 };
        let first = self.key_count();
        let arguments = arguments[arguments.len() - count..].iter().enumerate().map(|(place, argument)| SortKey {
            expr: Expr::column(first + place, argument.sql_type),
            descending: false,
            nulls_first: false,
        });
        keys.chain(arguments).collect()
    }

    /// Keeps a row's sort keys and arguments until all are there.
    fn keep(&mut self, keys: &[Value], values: &[Value], arguments: &[Expr], run: &mut Run<'_, '_>) -> Result<()> {
        self.values += u64::from(values.last().is_some_and(|value| !value.is_null()));
        let sorter = match &mut self.sorter {
            Some(sorter) => {
                let mut row = Vec::with_capacity(keys.len() + values.len());
                row.extend_from_slice(keys);
                row.extend_from_slice(values);
                sorter.push(&row);
                sorter
            }
            None => {
                self.rows.push_parts(keys, values);
                if self.rows.bytes() <= self.limit_bytes {
                    return Ok(());
                }
                let sort_keys = self.sort_keys(arguments);
                let mut sorter = RowSorter::new(&sort_keys, keys.len() + values.len(), run)?;
                for index in 0..self.rows.len() {
                    sorter.push(self.rows.get(index));
                }
                self.rows = Rows::default();
                self.sorter.insert(Box::new(sorter))
            }
        };
        if sorter.bytes() > self.limit_bytes { sorter.spill(run) } else { Ok(()) }
    }
}
