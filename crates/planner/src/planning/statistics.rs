//! The statistics that ANALYZE gathers about the values of a table's columns.

use schema::catalog::TableDef;
use serde::{Deserialize, Serialize};
use types::packed::{Packed, read_any, write_any};
use types::{Value, compare_values};

/// Statistics of a table, as stored in its descriptor.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TableStatistics {
    /// One for each column of the table, by place; `None` where nothing is known.
    pub columns: Vec<Option<ColumnStatistics>>,
}

/// Statistics of a column.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ColumnStatistics {
    /// The share of NULLs, 0 to 1.
    pub null_fraction: f64,
    /// The number of distinct values; if negative, minus their share of the rows (so that it grows with the table).
    pub distinct: f64,
    /// The average size of a value, in bytes.
    pub width_bytes: f64,
    /// The share of the most common value among all rows.
    pub most_common_fraction: f64,
    /// The most common values, packed, with their shares among all rows, the most common first.
    #[serde(default)]
    pub common: Vec<(Vec<u8>, f64)>,
    /// Of values that are points on a line (numbers, dates, the beginnings of texts), bounds that divide them into equally full parts.
    pub bounds: Vec<f64>,
    /// The values, packed, that divide those that are not among the most common ones into equally full parts.
    #[serde(default)]
    pub histogram: Vec<Vec<u8>>,
    /// How far the order of the values is that of the rows, -1 to 1.
    #[serde(default)]
    pub correlation: Option<f64>,
}

/// How many parts a column's bounds divide it into at most.
const PARTS: usize = 100;
/// How many common values are kept at most.
const COMMON_VALUES_MAX: usize = 100;
/// Values longer than this are not kept.
const COMMON_VALUE_BYTES_MAX: usize = 1024;

impl TableStatistics {
    /// The form in which a table's descriptor keeps them.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The statistics of a table, if ANALYZE has made any.
    pub fn of(table: &TableDef) -> Option<TableStatistics> {
        serde_json::from_slice(table.column_statistics.as_deref()?).ok()
    }
}

impl ColumnStatistics {
    /// From a sample of a column's values, taken evenly from a table of `rows` rows.
    pub fn from_sample(sample: &[Value], rows: f64) -> ColumnStatistics {
        let count = sample.len();
        if count == 0 {
            return ColumnStatistics::default();
        }
        let values = sample.iter().filter(|value| !value.is_null()).collect::<Vec<_>>();
        let mut points = values.iter().filter_map(|value| point(value)).collect::<Vec<_>>();
        points.sort_by(f64::total_cmp);
        let mut shown = values.iter().map(|value| (format!("{value:?}"), *value)).collect::<Vec<_>>();
        shown.sort_unstable_by(|left, right| left.0.cmp(&right.0));
        let (mut distinct, mut seen_once, mut longest) = (0_usize, 0_usize, 0_usize);
        let mut repeated = Vec::new();
        for run in shown.chunk_by(|left, right| left.0 == right.0) {
            distinct += 1;
            seen_once += usize::from(run.len() == 1);
            longest = longest.max(run.len());
            if run.len() > 1 {
                repeated.push((run.len(), run[0].1));
            }
        }
        let common = common_values(repeated, values.len(), distinct, seen_once, count);
        let (histogram, correlation) = in_order(&values, &common);
        let present = values.len() as f64;
        // Haas and Stokes' estimator: values seen once in the sample tell how many were not seen at all.
        let (d, f, n) = (distinct as f64, seen_once as f64, present);
        let total = (rows * present / count as f64).max(n);
        let estimate = if n > 0.0 { n * d / (n - f + f * n / total) } else { 0.0 };
        let estimate = estimate.clamp(d, total);
        let bounds = if points.len() == values.len() && points.len() > 1 {
            let parts = PARTS.min(points.len() - 1);
            (0..=parts).map(|part| points[part * (points.len() - 1) / parts]).collect()
        } else {
            Vec::new()
        };
        ColumnStatistics {
            null_fraction: (count - values.len()) as f64 / count as f64,
            distinct: if estimate > 0.1 * total { -estimate / rows.max(1.0) } else { estimate },
            width_bytes: values.iter().map(|value| stored_bytes(value) as f64).sum::<f64>() / present.max(1.0),
            most_common_fraction: longest as f64 / count as f64,
            common,
            bounds,
            histogram,
            correlation,
        }
    }

    /// The share of the rows that have this value.
    pub fn fraction_equal(&self, value: &Value, rows: f64) -> f64 {
        let mut packed = Packed::new();
        write_any(value, &mut packed);
        let same = |common: &[u8]| {
            common == packed.as_slice()
                || read_any(&mut &*common).is_ok_and(|common| compare_values(&common, value).is_eq())
        };
        if let Some((_, fraction)) = self.common.iter().find(|(common, _)| same(common)) {
            return *fraction;
        }
        let others =
            (1.0 - self.null_fraction - self.common.iter().map(|(_, fraction)| fraction).sum::<f64>()).max(0.0);
        let distinct = (self.distinct_among(rows) - self.common.len() as f64).max(1.0);
        // No other value is more common than those that are known to be.
        let least = self.common.last().map_or(1.0, |(_, fraction)| *fraction);
        (others / distinct).min(least)
    }

    /// The number of distinct values in a table of `rows` rows.
    pub fn distinct_among(&self, rows: f64) -> f64 {
        if self.distinct < 0.0 { -self.distinct * rows } else { self.distinct }.max(1.0)
    }

    /// The share of the values below `value`, if that is known.
    pub fn fraction_below(&self, value: &Value) -> Option<f64> {
        let value = point(value)?;
        let parts = self.bounds.len().checked_sub(1).filter(|parts| *parts > 0)?;
        let at = self.bounds.partition_point(|bound| *bound < value);
        if at == 0 {
            return Some(0.0);
        }
        if at > parts {
            return Some(1.0);
        }
        let (low, high) = (self.bounds[at - 1], self.bounds[at]);
        let within = if high > low { (value - low) / (high - low) } else { 0.5 };
        Some(((at - 1) as f64 + within) / parts as f64)
    }
}

/// The values that are worth remembering: all of them if they are few and none came only once, else those that came
/// clearly more often than the average.
fn common_values(
    mut repeated: Vec<(usize, &Value)>,
    present: usize,
    distinct: usize,
    seen_once: usize,
    count: usize,
) -> Vec<(Vec<u8>, f64)> {
    repeated.sort_by_key(|(times, _)| std::cmp::Reverse(*times));
    if seen_once > 0 || distinct > COMMON_VALUES_MAX {
        let average = present as f64 / distinct.max(1) as f64;
        repeated.retain(|(times, _)| *times as f64 > 1.25 * average);
    }
    let kept = repeated.into_iter().filter(|(_, value)| value.heap_bytes() <= COMMON_VALUE_BYTES_MAX);
    let packed = kept.take(COMMON_VALUES_MAX).map(|(times, value)| {
        let mut packed = Packed::new();
        write_any(value, &mut packed);
        (packed.to_vec(), times as f64 / count as f64)
    });
    packed.collect()
}

/// The histogram of the values that are not common, and how far the values come in their order.
fn in_order(values: &[&Value], common: &[(Vec<u8>, f64)]) -> (Vec<Vec<u8>>, Option<f64>) {
    let mut places = (0..values.len()).collect::<Vec<_>>();
    places.sort_by(|left, right| compare_values(values[*left], values[*right]).then(left.cmp(right)));
    let n = values.len() as f64;
    // Both are the numbers from 0 on, in two orders: only the sum of the products differs.
    let (sum, squares) = (n * (n - 1.0) / 2.0, n * (n - 1.0) * (2.0 * n - 1.0) / 6.0);
    let products = places.iter().enumerate().map(|(rank, place)| rank as f64 * *place as f64).sum::<f64>();
    let spread = n * squares - sum * sum;
    let correlation = (spread > 0.0).then(|| (n * products - sum * sum) / spread);
    let packed = |value: &Value| {
        let mut packed = Packed::new();
        write_any(value, &mut packed);
        packed.to_vec()
    };
    let mut others = Vec::with_capacity(places.len());
    let mut distinct = 0;
    for same in places.chunk_by(|left, right| compare_values(values[*left], values[*right]).is_eq()) {
        let value = packed(values[same[0]]);
        if value.len() > COMMON_VALUE_BYTES_MAX || common.iter().any(|(common, _)| *common == value) {
            continue;
        }
        distinct += 1;
        others.extend_from_slice(same);
    }
    let parts = PARTS.min(distinct_parts(distinct));
    if parts == 0 {
        return (Vec::new(), correlation);
    }
    let bounds = (0..=parts).map(|part| packed(values[others[part * (others.len() - 1) / parts]]));
    (bounds.collect(), correlation)
}

/// So many different values bound one part less.
fn distinct_parts(distinct: usize) -> usize {
    distinct.saturating_sub(1)
}

/// The size of a value in a row of PostgreSQL. PostgreSQL's views of statistics show this size.
fn stored_bytes(value: &Value) -> usize {
    let with_length = |bytes: usize| if bytes < 127 { bytes + 1 } else { bytes + 4 };
    match value {
        Value::Bool(_) => 1,
        Value::Int2(_) => 2,
        Value::Int4(_) | Value::Float4(_) | Value::Oid(_) | Value::Date(_) => 4,
        Value::Int8(_) | Value::Float8(_) | Value::Timestamp(_) | Value::TimestampTz(_) | Value::Time(_) => 8,
        Value::Text(text) => with_length(text.len()),
        value => {
            let mut packed = Packed::new();
            write_any(value, &mut packed);
            packed.len()
        }
    }
}

/// Where a value lies on a line, if its type is like that.
fn point(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Int2(value) => f64::from(*value),
        Value::Int4(value) => f64::from(*value),
        Value::Int8(value) => *value as f64,
        Value::Oid(value) => f64::from(*value),
        Value::Float4(value) => f64::from(*value),
        Value::Float8(value) => *value,
        Value::Date(days) => f64::from(*days),
        // The first seven bytes, which a double holds exactly.
        Value::Text(text) => {
            let mut bytes = [0; 8];
            let kept = text.len().min(7);
            bytes[1..=kept].copy_from_slice(&text.as_bytes()[..kept]);
            u64::from_be_bytes(bytes) as f64
        }
        Value::Timestamp(micros) | Value::TimestampTz(micros) | Value::Time(micros) => *micros as f64,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integers(values: impl Iterator<Item = i32>) -> Vec<Value> {
        values.map(Value::Int4).collect()
    }

    #[test]
    fn a_sample_of_a_key_estimates_as_many_values_as_rows() {
        let statistics = ColumnStatistics::from_sample(&integers((0..3000).map(|n| n * 7)), 21_000.0);
        let distinct = statistics.distinct_among(21_000.0);
        assert!((20_000.0..=21_000.0).contains(&distinct), "{distinct}");
    }

    #[test]
    fn a_sample_of_few_values_estimates_those() {
        let statistics = ColumnStatistics::from_sample(&integers((0..3000).map(|n| n % 10)), 1e6);
        assert_eq!(statistics.distinct_among(1e6), 10.0);
        assert!((statistics.most_common_fraction - 0.1).abs() < 0.01);
    }

    #[test]
    fn common_values_are_known_by_their_shares() {
        // Half are 7, the others all different.
        let values = integers((0..2000).map(|n| if n % 2 == 0 { 7 } else { 1000 + n }));
        let statistics = ColumnStatistics::from_sample(&values, 2000.0);
        assert_eq!(statistics.fraction_equal(&Value::Int4(7), 2000.0), 0.5);
        assert!(statistics.fraction_equal(&Value::Int4(1001), 2000.0) < 0.001);
        let few = ColumnStatistics::from_sample(&integers((0..100).map(|n| n % 3)), 100.0);
        assert_eq!(few.fraction_equal(&Value::Int8(0), 100.0), 0.34);
    }

    #[test]
    fn shares_below_a_value_follow_the_bounds() {
        let statistics = ColumnStatistics::from_sample(&integers(0..1001), 1001.0);
        let share = statistics.fraction_below(&Value::Int4(250)).expect("integers have bounds");
        assert!((share - 0.25).abs() < 0.01, "{share}");
        assert_eq!(statistics.fraction_below(&Value::Int4(-5)), Some(0.0));
        assert_eq!(statistics.fraction_below(&Value::Int4(5000)), Some(1.0));
        assert_eq!(statistics.fraction_below(&Value::Bool(true)), None);
    }

    #[test]
    fn statistics_survive_their_stored_form() {
        let table =
            TableStatistics { columns: vec![None, Some(ColumnStatistics::from_sample(&integers(0..50), 50.0))] };
        let stored: TableStatistics = serde_json::from_slice(&table.encode()).expect("it was just encoded");
        assert_eq!(stored, table);
    }
}
