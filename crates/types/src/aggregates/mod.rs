//! The registry of built-in aggregates.
//!
//! An [`AggregateState`] is what one group has gathered: the common cases are small values inside it, the others
//! [`Accumulator`]s behind a box.

pub use ordered::check_share;
use std::cmp::Ordering;
use std::fmt;
use std::sync::LazyLock;

use base::{Error, Oid, Result, sqlstate};
use rustc_hash::FxHashMap;

use super::compare::{Comparator, comparator, compare_values};
use super::context::{BuiltinCatalog, EvalContext};
use super::function_def::CallTypes;
use super::oids::*;
use super::type_table::base_type;
use super::value::Value;

mod json;
mod lists;
mod ordered;
mod statistics;
mod sums;

use json::{JsonList, JsonMembers};
use lists::{ArrayList, ArrayStack, BitOperation, Bits, ByteList, StringList};
use ordered::{Ordered, OrderedKind};
use statistics::{Moment, Moments, NumericMoments, Regression, Relation};
use sums::{AmountSum, IntervalSum, NumericSum, WideSum};

/// Aggregates that tell where a row would stand among the others: the executor computes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hypothetical {
    /// One more than there are rows before it
    Rank,
    /// One more than there are distinct rows before it
    DenseRank,
    /// The share of the rows that come before it
    PercentRank,
    /// The share of the rows, itself included, that don't come after it
    CumeDist,
}

/// A built-in aggregate.
#[derive(Clone, Copy)]
pub struct AggregateDef {
    /// PostgreSQL's number for it.
    pub oid: Oid,
    /// Its name in `pg_catalog`.
    pub name: &'static str,
    /// Types of the arguments (the direct ones first, for ordered-set aggregates).
    pub arguments: &'static [Oid],
    /// Whether the last argument is VARIADIC.
    pub variadic: bool,
    /// The type of its result.
    pub result: Oid,
    /// How many of the arguments are direct ones of an ordered-set aggregate; `None` for normal ones.
    pub direct_arguments: Option<usize>,
    /// It tells where a row would stand among the others.
    pub hypothetical: Option<Hypothetical>,
    /// The state of an empty group.
    pub start: fn(&CallTypes) -> AggregateState,
}

impl fmt::Debug for AggregateDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name, self.oid)
    }
}

/// An aggregate that needs more than a few words.
pub trait Accumulator: fmt::Debug + Send {
    /// Takes in one row's arguments.
    fn update(&mut self, context: &mut dyn EvalContext, arguments: &[Value]) -> Result<()>;
    /// Before the first row of those that come in order: how many there will be whose last argument is not NULL.
    fn expect(&mut self, _rows: u64) {}
    /// The value now.
    fn finish(&self, context: &mut dyn EvalContext) -> Result<Value>;
    /// Memory held, roughly.
    fn heap_bytes(&self) -> usize {
        64
    }
}

/// The state of an aggregate over the values of one group so far.
#[derive(Debug)]
pub enum AggregateState {
    /// `count(*)`
    CountRows(i64),
    /// `count(x)`
    Count(i64),
    /// `sum` of `int2` and `int4`
    SumInteger(Option<i64>),
    /// `sum` of `float4`
    SumReal(Option<f32>),
    /// `sum` of `float8`
    SumDouble(Option<f64>),
    /// `min` and `max`: the value so far, and how it compares to those it beat
    Extreme(Value, Comparator, Ordering),
    /// `bool_and` (true) and `bool_or`
    Logical(Option<bool>, bool),
    /// The rest.
    Other(Box<dyn Accumulator>),
}

impl AggregateState {
    fn other(accumulator: impl Accumulator + 'static) -> AggregateState {
        AggregateState::Other(Box::new(accumulator))
    }

    fn extreme(types: &CallTypes, wanted: Ordering) -> AggregateState {
        let oid = types.arguments.first().map_or(INT8, |ty| base_type(&BuiltinCatalog, *ty).oid);
        AggregateState::Extreme(Value::Null, comparator(oid).unwrap_or(compare_values), wanted)
    }

    /// Takes in one row's arguments; `count(*)` gets none.
    #[inline]
    pub fn update(&mut self, context: &mut dyn EvalContext, arguments: &[Value]) -> Result<()> {
        match self {
            AggregateState::CountRows(count) => *count += 1,
            AggregateState::Count(count) => *count += i64::from(!arguments[0].is_null()),
            AggregateState::SumInteger(sum) => {
                if let Some(value) = arguments[0].as_i64() {
                    *sum = Some(sum.unwrap_or(0).checked_add(value).ok_or_else(bigint_out_of_range)?);
                }
            }
            AggregateState::SumReal(sum) => {
                if let Value::Float4(value) = arguments[0] {
                    let total = sum.map_or(value, |sum| sum + value);
                    check_finite(f64::from(total), f64::from(sum.unwrap_or(0.0)), f64::from(value))?;
                    *sum = Some(total);
                }
            }
            AggregateState::SumDouble(sum) => {
                if let Value::Float8(value) = arguments[0] {
                    let total = sum.map_or(value, |sum| sum + value);
                    check_finite(total, sum.unwrap_or(0.0), value)?;
                    *sum = Some(total);
                }
            }
            AggregateState::Extreme(best, compare, wanted) => {
                let value = &arguments[0];
                // Of equal values the later one stays, as in 1.0 and 1.00.
                if !value.is_null() && (best.is_null() || compare(value, best) != wanted.reverse()) {
                    *best = value.clone();
                }
            }
            AggregateState::Logical(state, is_and) => {
                if let Value::Bool(value) = arguments[0] {
                    *state = Some(match (*state, *is_and) {
                        (None, _) => value,
                        (Some(old), true) => old && value,
                        (Some(old), false) => old || value,
                    });
                }
            }
            AggregateState::Other(accumulator) => accumulator.update(context, arguments)?,
        }
        Ok(())
    }

    /// Before the first row of those that come in order: how many there will be whose last argument is not NULL.
    pub fn expect(&mut self, rows: u64) {
        if let AggregateState::Other(accumulator) = self {
            accumulator.expect(rows);
        }
    }

    /// The aggregate's value now; more rows may follow (window frames).
    pub fn finish(&self, context: &mut dyn EvalContext) -> Result<Value> {
        Ok(match self {
            AggregateState::CountRows(count) | AggregateState::Count(count) => Value::Int8(*count),
            AggregateState::SumInteger(sum) => sum.map_or(Value::Null, Value::Int8),
            AggregateState::SumReal(sum) => sum.map_or(Value::Null, Value::Float4),
            AggregateState::SumDouble(sum) => sum.map_or(Value::Null, Value::Float8),
            AggregateState::Extreme(best, ..) => best.clone(),
            AggregateState::Logical(state, _) => state.map_or(Value::Null, Value::Bool),
            AggregateState::Other(accumulator) => accumulator.finish(context)?,
        })
    }

    /// Memory held outside the state itself, roughly.
    pub fn heap_bytes(&self) -> usize {
        match self {
            AggregateState::Extreme(best, ..) => best.heap_bytes(),
            AggregateState::Other(accumulator) => accumulator.heap_bytes(),
            _ => 0,
        }
    }
}

#[cold]
fn bigint_out_of_range() -> Error {
    Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range")
}

/// 22003 if adding two finite numbers gave an infinite one.
fn check_finite(total: f64, left: f64, right: f64) -> Result<()> {
    if total.is_infinite() && !left.is_infinite() && !right.is_infinite() {
        return Err(Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow"));
    }
    Ok(())
}

struct Registry {
    by_oid: FxHashMap<Oid, &'static AggregateDef>,
    by_name: FxHashMap<&'static str, Vec<&'static AggregateDef>>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry { by_oid: FxHashMap::default(), by_name: FxHashMap::default() };
    for def in AGGREGATES {
        registry.by_oid.insert(def.oid, def);
        registry.by_name.entry(def.name).or_default().push(def);
    }
    registry
});

/// All built-in aggregates.
pub fn aggregates() -> impl Iterator<Item = &'static AggregateDef> {
    AGGREGATES.iter()
}

/// The built-in aggregate `oid`.
pub fn aggregate(oid: Oid) -> Option<&'static AggregateDef> {
    REGISTRY.by_oid.get(&oid).copied()
}

/// The built-in aggregates called `name`.
pub fn aggregates_named(name: &str) -> &'static [&'static AggregateDef] {
    REGISTRY.by_name.get(name).map_or(&[], Vec::as_slice)
}

const fn aggregate_def(
    oid: u32,
    name: &'static str,
    arguments: &'static [Oid],
    result: Oid,
    start: fn(&CallTypes) -> AggregateState,
) -> AggregateDef {
    let (variadic, direct_arguments, hypothetical) = (false, None, None);
    AggregateDef { oid: Oid(oid), name, arguments, variadic, result, direct_arguments, hypothetical, start }
}

/// An aggregate that places its direct arguments among the rows of WITHIN GROUP.
const fn hypothetical_def(oid: u32, name: &'static str, result: Oid, kind: Hypothetical) -> AggregateDef {
    let mut def = aggregate_def(oid, name, &[ANY], result, |_| AggregateState::CountRows(0));
    def.variadic = true;
    def.direct_arguments = Some(1);
    def.hypothetical = Some(kind);
    def
}

impl AggregateDef {
    /// The same, as an ordered-set aggregate: its rows come in the order of WITHIN GROUP.
    const fn ordered_set(mut self, direct_arguments: usize) -> AggregateDef {
        self.direct_arguments = Some(direct_arguments);
        self
    }
}

/// number, name, argument types, result type, the state of an empty group
#[rustfmt::skip]
static AGGREGATES: &[AggregateDef] = &[
    aggregate_def(2803, "count", &[], INT8, |_| AggregateState::CountRows(0)),
    aggregate_def(2147, "count", &[ANY], INT8, |_| AggregateState::Count(0)),
    aggregate_def(2109, "sum", &[INT2], INT8, |_| AggregateState::SumInteger(None)),
    aggregate_def(2108, "sum", &[INT4], INT8, |_| AggregateState::SumInteger(None)),
    aggregate_def(2107, "sum", &[INT8], NUMERIC, |_| AggregateState::other(WideSum::new(false))),
    aggregate_def(2114, "sum", &[NUMERIC], NUMERIC, |_| AggregateState::other(NumericSum::new(false))),
    aggregate_def(2110, "sum", &[FLOAT4], FLOAT4, |_| AggregateState::SumReal(None)),
    aggregate_def(2111, "sum", &[FLOAT8], FLOAT8, |_| AggregateState::SumDouble(None)),
    aggregate_def(2113, "sum", &[INTERVAL], INTERVAL, |_| AggregateState::other(IntervalSum::new(false))),
    aggregate_def(2112, "sum", &[MONEY], MONEY, |_| AggregateState::other(AmountSum::default())),
    aggregate_def(2102, "avg", &[INT2], NUMERIC, |_| AggregateState::other(WideSum::new(true))),
    aggregate_def(2101, "avg", &[INT4], NUMERIC, |_| AggregateState::other(WideSum::new(true))),
    aggregate_def(2100, "avg", &[INT8], NUMERIC, |_| AggregateState::other(WideSum::new(true))),
    aggregate_def(2103, "avg", &[NUMERIC], NUMERIC, |_| AggregateState::other(NumericSum::new(true))),
    aggregate_def(2104, "avg", &[FLOAT4], FLOAT8, |_| AggregateState::other(Moments::new(Moment::Average))),
    aggregate_def(2105, "avg", &[FLOAT8], FLOAT8, |_| AggregateState::other(Moments::new(Moment::Average))),
    aggregate_def(2106, "avg", &[INTERVAL], INTERVAL, |_| AggregateState::other(IntervalSum::new(true))),
    aggregate_def(2115, "max", &[INT8], INT8, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(2116, "max", &[INT4], INT4, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(2117, "max", &[INT2], INT2, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(2118, "max", &[OID], OID, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(2119, "max", &[FLOAT4], FLOAT4, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(2120, "max", &[FLOAT8], FLOAT8, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(2125, "max", &[MONEY], MONEY, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(2122, "max", &[DATE], DATE, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(2123, "max", &[TIME], TIME, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(2124, "max", &[TIMETZ], TIMETZ, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(2126, "max", &[TIMESTAMP], TIMESTAMP, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(2127, "max", &[TIMESTAMPTZ], TIMESTAMPTZ, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(2128, "max", &[INTERVAL], INTERVAL, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(2129, "max", &[TEXT], TEXT, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(2130, "max", &[NUMERIC], NUMERIC, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(2050, "max", &[ANYARRAY], ANYARRAY, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(2244, "max", &[BPCHAR], BPCHAR, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(2797, "max", &[TID], TID, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(3564, "max", &[INET], INET, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(4189, "max", &[PG_LSN], PG_LSN, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(5099, "max", &[XID8], XID8, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(3526, "max", &[ANYENUM], ANYENUM, |types| AggregateState::extreme(types, Ordering::Greater)),
    aggregate_def(2131, "min", &[INT8], INT8, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(2132, "min", &[INT4], INT4, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(2133, "min", &[INT2], INT2, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(2134, "min", &[OID], OID, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(2135, "min", &[FLOAT4], FLOAT4, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(2136, "min", &[FLOAT8], FLOAT8, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(2141, "min", &[MONEY], MONEY, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(2138, "min", &[DATE], DATE, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(2139, "min", &[TIME], TIME, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(2140, "min", &[TIMETZ], TIMETZ, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(2142, "min", &[TIMESTAMP], TIMESTAMP, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(2143, "min", &[TIMESTAMPTZ], TIMESTAMPTZ, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(2144, "min", &[INTERVAL], INTERVAL, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(2145, "min", &[TEXT], TEXT, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(2146, "min", &[NUMERIC], NUMERIC, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(2051, "min", &[ANYARRAY], ANYARRAY, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(2245, "min", &[BPCHAR], BPCHAR, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(2798, "min", &[TID], TID, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(3565, "min", &[INET], INET, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(4190, "min", &[PG_LSN], PG_LSN, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(5100, "min", &[XID8], XID8, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(3527, "min", &[ANYENUM], ANYENUM, |types| AggregateState::extreme(types, Ordering::Less)),
    aggregate_def(2517, "bool_and", &[BOOL], BOOL, |_| AggregateState::Logical(None, true)),
    aggregate_def(2519, "every", &[BOOL], BOOL, |_| AggregateState::Logical(None, true)),
    aggregate_def(2518, "bool_or", &[BOOL], BOOL, |_| AggregateState::Logical(None, false)),
    aggregate_def(2236, "bit_and", &[INT2], INT2, |_| AggregateState::other(Bits::new(BitOperation::And))),
    aggregate_def(2238, "bit_and", &[INT4], INT4, |_| AggregateState::other(Bits::new(BitOperation::And))),
    aggregate_def(2240, "bit_and", &[INT8], INT8, |_| AggregateState::other(Bits::new(BitOperation::And))),
    aggregate_def(2242, "bit_and", &[BIT], BIT, |_| AggregateState::other(Bits::new(BitOperation::And))),
    aggregate_def(2237, "bit_or", &[INT2], INT2, |_| AggregateState::other(Bits::new(BitOperation::Or))),
    aggregate_def(2239, "bit_or", &[INT4], INT4, |_| AggregateState::other(Bits::new(BitOperation::Or))),
    aggregate_def(2241, "bit_or", &[INT8], INT8, |_| AggregateState::other(Bits::new(BitOperation::Or))),
    aggregate_def(2243, "bit_or", &[BIT], BIT, |_| AggregateState::other(Bits::new(BitOperation::Or))),
    aggregate_def(6164, "bit_xor", &[INT2], INT2, |_| AggregateState::other(Bits::new(BitOperation::Xor))),
    aggregate_def(6165, "bit_xor", &[INT4], INT4, |_| AggregateState::other(Bits::new(BitOperation::Xor))),
    aggregate_def(6166, "bit_xor", &[INT8], INT8, |_| AggregateState::other(Bits::new(BitOperation::Xor))),
    aggregate_def(6167, "bit_xor", &[BIT], BIT, |_| AggregateState::other(Bits::new(BitOperation::Xor))),
    aggregate_def(3538, "string_agg", &[TEXT, TEXT], TEXT, |_| AggregateState::other(StringList::default())),
    aggregate_def(3545, "string_agg", &[BYTEA, BYTEA], BYTEA, |_| AggregateState::other(ByteList::default())),
    aggregate_def(2335, "array_agg", &[ANYNONARRAY], ANYARRAY, |types| AggregateState::other(ArrayList::new(types))),
    aggregate_def(4053, "array_agg", &[ANYARRAY], ANYARRAY, |types| AggregateState::other(ArrayStack::new(types))),
    aggregate_def(2157, "stddev", &[FLOAT4], FLOAT8, |_| AggregateState::other(Moments::new(Moment::StddevSample))),
    aggregate_def(2158, "stddev", &[FLOAT8], FLOAT8, |_| AggregateState::other(Moments::new(Moment::StddevSample))),
    aggregate_def(2156, "stddev", &[INT2], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::StddevSample))),
    aggregate_def(2155, "stddev", &[INT4], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::StddevSample))),
    aggregate_def(2154, "stddev", &[INT8], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::StddevSample))),
    aggregate_def(2159, "stddev", &[NUMERIC], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::StddevSample))),
    aggregate_def(2715, "stddev_samp", &[FLOAT4], FLOAT8, |_| AggregateState::other(Moments::new(Moment::StddevSample))),
    aggregate_def(2716, "stddev_samp", &[FLOAT8], FLOAT8, |_| AggregateState::other(Moments::new(Moment::StddevSample))),
    aggregate_def(2714, "stddev_samp", &[INT2], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::StddevSample))),
    aggregate_def(2713, "stddev_samp", &[INT4], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::StddevSample))),
    aggregate_def(2712, "stddev_samp", &[INT8], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::StddevSample))),
    aggregate_def(2717, "stddev_samp", &[NUMERIC], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::StddevSample))),
    aggregate_def(2727, "stddev_pop", &[FLOAT4], FLOAT8, |_| AggregateState::other(Moments::new(Moment::StddevPopulation))),
    aggregate_def(2728, "stddev_pop", &[FLOAT8], FLOAT8, |_| AggregateState::other(Moments::new(Moment::StddevPopulation))),
    aggregate_def(2726, "stddev_pop", &[INT2], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::StddevPopulation))),
    aggregate_def(2725, "stddev_pop", &[INT4], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::StddevPopulation))),
    aggregate_def(2724, "stddev_pop", &[INT8], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::StddevPopulation))),
    aggregate_def(2729, "stddev_pop", &[NUMERIC], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::StddevPopulation))),
    aggregate_def(2151, "variance", &[FLOAT4], FLOAT8, |_| AggregateState::other(Moments::new(Moment::VarianceSample))),
    aggregate_def(2152, "variance", &[FLOAT8], FLOAT8, |_| AggregateState::other(Moments::new(Moment::VarianceSample))),
    aggregate_def(2150, "variance", &[INT2], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::VarianceSample))),
    aggregate_def(2149, "variance", &[INT4], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::VarianceSample))),
    aggregate_def(2148, "variance", &[INT8], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::VarianceSample))),
    aggregate_def(2153, "variance", &[NUMERIC], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::VarianceSample))),
    aggregate_def(2644, "var_samp", &[FLOAT4], FLOAT8, |_| AggregateState::other(Moments::new(Moment::VarianceSample))),
    aggregate_def(2645, "var_samp", &[FLOAT8], FLOAT8, |_| AggregateState::other(Moments::new(Moment::VarianceSample))),
    aggregate_def(2643, "var_samp", &[INT2], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::VarianceSample))),
    aggregate_def(2642, "var_samp", &[INT4], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::VarianceSample))),
    aggregate_def(2641, "var_samp", &[INT8], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::VarianceSample))),
    aggregate_def(2646, "var_samp", &[NUMERIC], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::VarianceSample))),
    aggregate_def(2721, "var_pop", &[FLOAT4], FLOAT8, |_| AggregateState::other(Moments::new(Moment::VariancePopulation))),
    aggregate_def(2722, "var_pop", &[FLOAT8], FLOAT8, |_| AggregateState::other(Moments::new(Moment::VariancePopulation))),
    aggregate_def(2720, "var_pop", &[INT2], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::VariancePopulation))),
    aggregate_def(2719, "var_pop", &[INT4], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::VariancePopulation))),
    aggregate_def(2718, "var_pop", &[INT8], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::VariancePopulation))),
    aggregate_def(2723, "var_pop", &[NUMERIC], NUMERIC, |_| AggregateState::other(NumericMoments::new(Moment::VariancePopulation))),
    aggregate_def(2829, "corr", &[FLOAT8, FLOAT8], FLOAT8, |_| AggregateState::other(Regression::new(Relation::Correlation))),
    aggregate_def(2827, "covar_pop", &[FLOAT8, FLOAT8], FLOAT8, |_| AggregateState::other(Regression::new(Relation::CovariancePopulation))),
    aggregate_def(2828, "covar_samp", &[FLOAT8, FLOAT8], FLOAT8, |_| AggregateState::other(Regression::new(Relation::CovarianceSample))),
    aggregate_def(2818, "regr_count", &[FLOAT8, FLOAT8], INT8, |_| AggregateState::other(Regression::new(Relation::Count))),
    aggregate_def(2822, "regr_avgx", &[FLOAT8, FLOAT8], FLOAT8, |_| AggregateState::other(Regression::new(Relation::AverageX))),
    aggregate_def(2823, "regr_avgy", &[FLOAT8, FLOAT8], FLOAT8, |_| AggregateState::other(Regression::new(Relation::AverageY))),
    aggregate_def(2819, "regr_sxx", &[FLOAT8, FLOAT8], FLOAT8, |_| AggregateState::other(Regression::new(Relation::SumXx))),
    aggregate_def(2820, "regr_syy", &[FLOAT8, FLOAT8], FLOAT8, |_| AggregateState::other(Regression::new(Relation::SumYy))),
    aggregate_def(2821, "regr_sxy", &[FLOAT8, FLOAT8], FLOAT8, |_| AggregateState::other(Regression::new(Relation::SumXy))),
    aggregate_def(2825, "regr_slope", &[FLOAT8, FLOAT8], FLOAT8, |_| AggregateState::other(Regression::new(Relation::Slope))),
    aggregate_def(2826, "regr_intercept", &[FLOAT8, FLOAT8], FLOAT8, |_| AggregateState::other(Regression::new(Relation::Intercept))),
    aggregate_def(2824, "regr_r2", &[FLOAT8, FLOAT8], FLOAT8, |_| AggregateState::other(Regression::new(Relation::RSquared))),
    aggregate_def(3175, "json_agg", &[ANYELEMENT], JSON, |types| AggregateState::other(JsonList::new(types, false))),
    aggregate_def(3267, "jsonb_agg", &[ANYELEMENT], JSONB, |types| AggregateState::other(JsonList::new(types, true))),
    aggregate_def(3197, "json_object_agg", &[ANY, ANY], JSON, |types| AggregateState::other(JsonMembers::new(types, false))),
    aggregate_def(3270, "jsonb_object_agg", &[ANY, ANY], JSONB, |types| AggregateState::other(JsonMembers::new(types, true))),
    aggregate_def(3984, "mode", &[ANYELEMENT], ANYELEMENT, |types| AggregateState::other(Ordered::new(OrderedKind::Mode, types))).ordered_set(0),
    aggregate_def(3974, "percentile_cont", &[FLOAT8, FLOAT8], FLOAT8, |types| AggregateState::other(Ordered::new(OrderedKind::Continuous, types))).ordered_set(1),
    aggregate_def(3976, "percentile_cont", &[FLOAT8, INTERVAL], INTERVAL, |types| AggregateState::other(Ordered::new(OrderedKind::Continuous, types))).ordered_set(1),
    aggregate_def(3980, "percentile_cont", &[FLOAT8_ARRAY, FLOAT8], FLOAT8_ARRAY, |types| AggregateState::other(Ordered::new(OrderedKind::Continuous, types))).ordered_set(1),
    aggregate_def(3982, "percentile_cont", &[FLOAT8_ARRAY, INTERVAL], INTERVAL_ARRAY, |types| AggregateState::other(Ordered::new(OrderedKind::Continuous, types))).ordered_set(1),
    aggregate_def(3972, "percentile_disc", &[FLOAT8, ANYELEMENT], ANYELEMENT, |types| AggregateState::other(Ordered::new(OrderedKind::Discrete, types))).ordered_set(1),
    aggregate_def(3978, "percentile_disc", &[FLOAT8_ARRAY, ANYELEMENT], ANYARRAY, |types| AggregateState::other(Ordered::new(OrderedKind::Discrete, types))).ordered_set(1),
    hypothetical_def(3986, "rank", INT8, Hypothetical::Rank),
    hypothetical_def(3988, "percent_rank", FLOAT8, Hypothetical::PercentRank),
    hypothetical_def(3990, "cume_dist", FLOAT8, Hypothetical::CumeDist),
    hypothetical_def(3992, "dense_rank", INT8, Hypothetical::DenseRank),
];
