//! Window functions.

use base::{Error, Result, sqlstate};
use plan::{WindowCall, WindowTarget};
use types::{AggregateDef, Value, WindowFunction};

use crate::accumulator::Accumulator;
use crate::evaluate::evaluate;
use crate::operand::operand;
use crate::row_set::{Row, RowEquality};
use crate::sort::{RowOrder, sort_keys_of};
use crate::spill::{RowStore, StoreReader, sort_memory_bytes};
use crate::window_frame::{Frame, Offsets, frame, offsets};
use crate::{BoxOperator, Operator, Run};

/// Window functions over partitions of a sorted input. A partition's rows are kept, in a file if they are many; the
/// functions' values are computed as the rows are given.
pub struct WindowRows<'p> {
    node: &'p plan::Window,
    input: BoxOperator<'p>,
    /// The first row of the next partition, with its partition's key.
    pending: Option<(Row, Row)>,
    is_at_end: bool,
    partition: Option<Partition<'p>>,
    /// The row of the partition to be given next.
    at: usize,
    reader: StoreReader,
    /// Of each call, once they are computed.
    offsets: Option<Vec<Offsets>>,
    calls: Vec<CallState<'p>>,
    row: Vec<Value>,
}

/// One partition: its rows, and where each row's peers begin and end.
pub(super) struct Partition<'p> {
    pub node: &'p plan::Window,
    rows: RowStore,
    /// Where each group of peers begins, and the group of each row; nothing if all are peers.
    starts: Vec<u32>,
    groups: Vec<u32>,
}

impl<'p> Partition<'p> {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Where a row's peers begin and end.
    #[inline]
    pub fn peers(&self, at: usize) -> (usize, usize) {
        let Some(group) = self.groups.get(at) else { return (0, self.len()) };
        let group = *group as usize;
        (self.starts[group] as usize, self.starts.get(group + 1).map_or(self.len(), |next| *next as usize))
    }

    /// The value of a sort key for the row at a place.
    pub fn key(
        &self,
        key: &'p plan::SortKey,
        at: usize,
        reader: &mut StoreReader,
        run: &mut Run<'_, 'p>,
    ) -> Result<Value> {
        evaluate(&key.expr, reader.read(&self.rows, at)?, run)
    }
}

/// The state of a call from row to row of a partition.
struct CallState<'p> {
    call: &'p WindowCall,
    offsets: Offsets,
    reader: StoreReader,
    /// Of an aggregate: what it has gathered, and of which rows.
    accumulator: Option<Accumulator<'p>>,
    gathered: (usize, usize),
    last: Option<(Frame, Value)>,
    dense_rank: i64,
    /// Of `ntile`: how many buckets there are, and the row from which it is known.
    buckets: Option<(i64, usize)>,
}

impl<'p> WindowRows<'p> {
    pub fn new(node: &'p plan::Window, input: BoxOperator<'p>) -> Self {
        WindowRows {
            node,
            input,
            pending: None,
            is_at_end: false,
            partition: None,
            at: 0,
            reader: StoreReader::default(),
            offsets: None,
            calls: Vec::new(),
            row: Vec::new(),
        }
    }

    fn next_partition(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.offsets.is_none() {
            self.offsets = Some(offsets(self.node, run)?);
        }
        let mut rows = RowStore::default();
        let limit_bytes = sort_memory_bytes(run);
        let equality = RowEquality::new(self.node.partition.iter().map(|expr| expr.sql_type), run)?;
        let order = RowOrder::new(&self.node.order, run)?;
        let mut partition_key: Option<Row> = None;
        if let Some((key, row)) = self.pending.take() {
            rows.push(&row, limit_bytes, run)?;
            partition_key = Some(key);
        }
        let (mut starts, mut groups) = (Vec::new(), Vec::new());
        let mut peer_key: Option<Row> = None;
        if let (Some(_), false) = (&partition_key, self.node.order.is_empty()) {
            let mut reader = StoreReader::default();
            peer_key = Some(sort_keys_of(&self.node.order, reader.read(&rows, 0)?, run)?);
            starts.push(0);
            groups.push(0);
        }
        let mut key = Vec::with_capacity(self.node.partition.len());
        let mut order_key = Vec::with_capacity(self.node.order.len());
        while !self.is_at_end {
            if !self.input.next(run)? {
                self.is_at_end = true;
                break;
            }
            sync::yield_point()?;
            let row = self.input.row();
            key.clear();
            for expr in &self.node.partition {
                key.push(operand(expr, row, run)?.into_value());
            }
            match &partition_key {
                Some(partition_key) if !equality.equal(partition_key, &key) => {
                    self.pending = Some((Row::from(key.as_slice()), Row::from(row)));
                    break;
                }
                Some(_) => {}
                None => partition_key = Some(Row::from(key.as_slice())),
            }
            if !self.node.order.is_empty() {
                order_key.clear();
                for sort in &self.node.order {
                    order_key.push(operand(&sort.expr, row, run)?.into_value());
                }
                if !peer_key.as_ref().is_some_and(|peers| order.compare(peers, &order_key).is_eq()) {
                    starts.push(rows.len() as u32);
                    match &mut peer_key {
                        Some(peers) => peers.clone_from_slice(&order_key),
                        None => peer_key = Some(Row::from(order_key.as_slice())),
                    }
                }
                groups.push(starts.len() as u32 - 1);
            }
            rows.push(row, limit_bytes, run)?;
        }
        if rows.is_empty() {
            return Ok(false);
        }
        rows.flush()?;
        self.partition = Some(Partition { node: self.node, rows, starts, groups });
        self.at = 0;
        self.reader = StoreReader::default();
        self.calls.clear();
        let offsets = self.offsets.iter().flatten();
        self.calls.extend(self.node.calls.iter().zip(offsets).map(|(call, offsets)| CallState {
            call,
            offsets: offsets.clone(),
            reader: StoreReader::default(),
            accumulator: None,
            gathered: (0, 0),
            last: None,
            dense_rank: 0,
            buckets: None,
        }));
        Ok(true)
    }
}

impl<'p> Operator<'p> for WindowRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        loop {
            if let Some(partition) = &self.partition
                && self.at < partition.len()
            {
                let at = self.at;
                self.at += 1;
                sync::yield_point()?;
                self.row.clear();
                self.row.extend_from_slice(self.reader.read(&partition.rows, at)?);
                for state in &mut self.calls {
                    let value = match &state.call.function {
                        WindowTarget::Aggregate(aggregate) => state.aggregate(aggregate, partition, at, run)?,
                        WindowTarget::Window(function) => {
                            let types::Implementation::Window(kind) = function.implementation else {
                                return Err(Error::internal(format!("{} is no window function", function.name)));
                            };
                            state.window(kind, partition, at, run)?
                        }
                    };
                    self.row.push(value);
                }
                return Ok(true);
            }
            self.partition = None;
            if !self.next_partition(run)? {
                return Ok(false);
            }
        }
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.pending = None;
        self.is_at_end = false;
        self.offsets = None;
        self.partition = None;
        self.input.rescan();
    }
}

impl<'p> CallState<'p> {
    /// An aggregate over the frame of the row at `at`.
    fn aggregate(
        &mut self,
        aggregate: &AggregateDef,
        partition: &Partition<'p>,
        at: usize,
        run: &mut Run<'_, 'p>,
    ) -> Result<Value> {
        let frame = frame(self.call, &self.offsets, at, partition, &mut self.reader, run)?;
        if let Some((last, value)) = &self.last
            && *last == frame
            && !frame.has_exclusion()
        {
            return Ok(value.clone());
        }
        // A frame that only grows at its end goes on from the last one.
        let (from, to) = self.gathered;
        let goes_on = frame.start == from && frame.end >= to && !frame.has_exclusion();
        if !goes_on || self.accumulator.is_none() {
            self.accumulator = Some(Accumulator::of_window(self.call, aggregate));
            self.gathered = (frame.start, frame.start);
        }
        let accumulator = self.accumulator.as_mut().expect("made above");
        for place in self.gathered.1..frame.end {
            if frame.contains(place) {
                sync::yield_point()?;
                accumulator.take(self.reader.read(&partition.rows, place)?, run)?;
            }
        }
        self.gathered = (frame.start, frame.end.max(frame.start));
        let value = accumulator.value(run)?;
        if frame.has_exclusion() {
            self.accumulator = None;
            self.last = None;
        } else {
            self.last = Some((frame, value.clone()));
        }
        Ok(value)
    }

    /// A true window function for the row at `at`.
    fn window(
        &mut self,
        kind: WindowFunction,
        partition: &Partition<'p>,
        at: usize,
        run: &mut Run<'_, 'p>,
    ) -> Result<Value> {
        let count = partition.len();
        let call = self.call;
        let (peers_start, peers_end) = partition.peers(at);
        let mut argument = |number: usize, run: &mut Run<'_, 'p>| -> Result<Option<Value>> {
            let Some(expr) = call.arguments.get(number) else { return Ok(None) };
            evaluate(expr, self.reader.read(&partition.rows, at)?, run).map(Some)
        };
        let too_small = |name: &str, code| Error::new(code, format!("argument of {name} must be greater than zero"));
        Ok(match kind {
            WindowFunction::RowNumber => Value::Int8(at as i64 + 1),
            WindowFunction::Rank => Value::Int8(peers_start as i64 + 1),
            WindowFunction::DenseRank => {
                self.dense_rank += i64::from(peers_start == at);
                Value::Int8(self.dense_rank)
            }
            WindowFunction::PercentRank => {
                Value::Float8(if count > 1 { peers_start as f64 / (count - 1) as f64 } else { 0.0 })
            }
            WindowFunction::CumeDist => Value::Float8(peers_end as f64 / count as f64),
            WindowFunction::Ntile => {
                if self.buckets.is_none() {
                    self.buckets = argument(0, run)?.and_then(|buckets| buckets.as_i64()).map(|buckets| (buckets, at));
                }
                match self.buckets {
                    None => Value::Null,
                    Some((buckets, _)) if buckets <= 0 => {
                        return Err(too_small("ntile", sqlstate::INVALID_ARGUMENT_FOR_NTILE_FUNCTION));
                    }
                    Some((buckets, first)) => Value::Int4(bucket(at - first, count, buckets as usize) as i32),
                }
            }
            WindowFunction::Lag | WindowFunction::Lead => {
                let offset = match argument(1, run)? {
                    None => Some(1),
                    Some(value) => value.as_i64(),
                };
                let Some(offset) = offset else { return Ok(Value::Null) };
                let offset = if kind == WindowFunction::Lag { -offset } else { offset };
                match usize::try_from(at as i64 + offset).ok().filter(|place| *place < count) {
                    Some(place) => evaluate(&call.arguments[0], self.reader.read(&partition.rows, place)?, run)?,
                    None => argument(2, run)?.unwrap_or_default(),
                }
            }
            WindowFunction::FirstValue | WindowFunction::LastValue | WindowFunction::NthValue => {
                let number = if kind == WindowFunction::NthValue { argument(1, run)? } else { None };
                let frame = frame(call, &self.offsets, at, partition, &mut self.reader, run)?;
                let place = match kind {
                    WindowFunction::FirstValue => frame.nth(0),
                    WindowFunction::LastValue => frame.last(),
                    _ => match number.and_then(|number| number.as_i64()) {
                        Some(number) if number <= 0 => {
                            return Err(too_small("nth_value", sqlstate::INVALID_ARGUMENT_FOR_NTH_VALUE_FUNCTION));
                        }
                        number => number.and_then(|number| frame.nth(number as usize - 1)),
                    },
                };
                match place {
                    Some(place) => evaluate(&call.arguments[0], self.reader.read(&partition.rows, place)?, run)?,
                    None => Value::Null,
                }
            }
        })
    }
}

/// The bucket from 1 that row `at` of `count` falls in, the first buckets being one larger if need be.
fn bucket(at: usize, count: usize, buckets: usize) -> usize {
    let (size, larger) = (count / buckets, count % buckets);
    let in_larger = larger * (size + 1);
    if at < in_larger { at / (size + 1) + 1 } else { larger + (at - in_larger) / size.max(1) + 1 }
}
