//! How many rows things have: estimates.

use plan::bound::{Query, RelationKind};
use plan::{Call, Expr, ExprKind, FunctionTarget, Quantified};
use types::{OperatorRole, Value};

use super::Planner;
use super::flatten::relations_of;
use super::fold::is_volatile;
use super::statistics::TableStatistics;

/// PostgreSQL's guesses where nothing is known.
const DEFAULT_EQUAL: f64 = 0.005;
const DEFAULT_RANGE: f64 = 0.333;
/// Of bounds that leave nothing between them, as far as is known.
const DEFAULT_BETWEEN: f64 = 0.005;
const DEFAULT_PATTERN: f64 = 0.01;
const DEFAULT_BOOLEAN: f64 = 0.5;
/// Rows and pages of a table that was never counted.
const UNKNOWN_ROWS: f64 = 1000.0;
const UNKNOWN_PAGES: f64 = 10.0;
/// Rows of a function's result.
const FUNCTION_ROWS: f64 = 1000.0;
/// Distinct values of a column that nothing is known of.
const DEFAULT_DISTINCT: f64 = 200.0;

/// A query with the sizes of the entries of its range table, for the time that it is planned.
pub(super) struct Relations<'q> {
    pub(super) query: &'q Query,
    pub(super) sizes: Vec<Size>,
}

/// The size of an entry.
#[derive(Debug, Clone, Default)]
pub(super) struct Size {
    pub(super) rows: f64,
    pub(super) pages: f64,
    pub(super) statistics: Option<TableStatistics>,
    /// Columns that are keys by themselves: as many values as rows.
    pub(super) keys: Vec<i32>,
}

impl Planner<'_, '_> {
    /// The sizes of a query's entries.
    pub(super) fn sizes(&self, query: &Query) -> Vec<Size> {
        query.relations.iter().map(|relation| self.size(&relation.kind)).collect()
    }

    fn size(&self, kind: &RelationKind) -> Size {
        let rows_only = |rows: f64| Size { rows, pages: rows / 100.0, ..Size::default() };
        match kind {
            RelationKind::Table(table) => {
                let statistics = TableStatistics::of(table);
                let keys =
                    self.context.catalog.indexes_of(table.oid).iter().filter_map(|index| match index.keys.as_slice() {
                        [key] if index.unique && !index.deferrable && index.predicate.is_none() => {
                            key.column.map(|column| column as i32)
                        }
                        _ => None,
                    });
                let keys = keys.collect();
                if table.estimated_rows < 0.0 {
                    return Size { rows: UNKNOWN_ROWS, pages: UNKNOWN_PAGES, statistics, keys };
                }
                // A table grows between counts: small ones are taken for somewhat larger.
                let pages = f64::from(table.estimated_pages).max(UNKNOWN_PAGES);
                Size { rows: table.estimated_rows.max(1.0), pages, statistics, keys }
            }
            RelationKind::Virtual(table) => rows_only(table.estimated_rows.max(1.0)),
            RelationKind::Values(rows) => rows_only(rows.len() as f64),
            RelationKind::Function { calls, .. } => rows_only(calls.iter().map(function_rows).fold(1.0, f64::max)),
            RelationKind::Subquery(query) => rows_only(self.rows_of(query)),
            RelationKind::Cte(_) | RelationKind::WorkTable(_) => rows_only(UNKNOWN_ROWS),
            RelationKind::Excluded => rows_only(1.0),
        }
    }

    /// A guess at a subquery's rows, before it is planned.
    fn rows_of(&self, query: &Query) -> f64 {
        if let Some(limit) = query.limit.as_ref().and_then(Expr::as_constant).and_then(Value::as_i64) {
            return (limit as f64).max(1.0);
        }
        if query.is_grouped && query.groups.is_empty() {
            return 1.0;
        }
        let sizes = self.sizes(query);
        let largest = sizes.iter().map(|size| size.rows).fold(1.0, f64::max);
        let relations = Relations { query, sizes };
        let filtered = query.filter.iter().fold(largest, |rows, filter| rows * selectivity(filter, &relations));
        if query.is_grouped { (filtered * 0.1).max(1.0) } else { filtered.max(1.0) }
    }
}

/// The rows of a set-returning call.
fn function_rows(call: &plan::SetCall) -> f64 {
    if !call.returns_set {
        return 1.0;
    }
    if let FunctionTarget::Builtin(function) = &call.function
        && function.name == "generate_series"
    {
        let bounds = call.arguments.iter().map(|argument| argument.as_constant().and_then(Value::as_i64));
        if let [Some(first), Some(last), step @ ..] = bounds.collect::<Vec<_>>().as_slice() {
            let step = step.first().copied().flatten().unwrap_or(1);
            if step != 0 {
                return (last.saturating_sub(*first).checked_div(step).unwrap_or(0).max(0) as f64) + 1.0;
            }
        }
    }
    FUNCTION_ROWS
}

impl Relations<'_> {
    /// The number of distinct values of an expression.
    pub(super) fn distinct(&self, expr: &Expr) -> f64 {
        let ExprKind::Variable(variable) = &expr.kind else { return DEFAULT_DISTINCT };
        if variable.level != 0 {
            return DEFAULT_DISTINCT;
        }
        let Some(size) = self.sizes.get(variable.relation as usize) else { return DEFAULT_DISTINCT };
        if size.keys.contains(&variable.attribute) {
            return size.rows;
        }
        let known =
            size.statistics.as_ref().zip(usize::try_from(variable.attribute).ok()).and_then(|(statistics, place)| {
                statistics.columns.get(place)?.as_ref().map(|column| column.distinct_among(size.rows))
            });
        known.unwrap_or_else(|| DEFAULT_DISTINCT.min(size.rows))
    }

    /// Whether some values of a column are known to be more common than others.
    pub(super) fn has_common_values(&self, expr: &Expr) -> bool {
        let is_key = match &expr.kind {
            ExprKind::Variable(variable) => {
                self.sizes.get(variable.relation as usize).is_some_and(|size| size.keys.contains(&variable.attribute))
            }
            _ => false,
        };
        !is_key && self.column(expr).is_some_and(|column| !column.common.is_empty())
    }

    /// Whether it is known how a column's values lie.
    pub(super) fn has_bounds(&self, expr: &Expr) -> bool {
        self.column(expr).is_some_and(|column| column.bounds.len() > 1)
    }

    /// How far the order of a column's values is that of the rows, if that is known.
    pub(super) fn correlation(&self, expr: &Expr) -> Option<f64> {
        self.column(expr)?.correlation
    }

    /// The statistics of a column's values, and the number of the entry's rows.
    fn column_of(&self, expr: &Expr) -> Option<(&super::ColumnStatistics, f64)> {
        let ExprKind::Variable(variable) = &expr.kind else { return None };
        let column = self.column(expr)?;
        Some((column, self.sizes.get(variable.relation as usize)?.rows))
    }

    fn column(&self, expr: &Expr) -> Option<&super::ColumnStatistics> {
        let ExprKind::Variable(variable) = &expr.kind else { return None };
        if variable.level != 0 {
            return None;
        }
        let statistics = self.sizes.get(variable.relation as usize)?.statistics.as_ref()?;
        statistics.columns.get(usize::try_from(variable.attribute).ok()?)?.as_ref()
    }
}

/// The share of rows for which a condition is true.
pub(super) fn selectivity(condition: &Expr, relations: &Relations<'_>) -> f64 {
    let share = match &condition.kind {
        ExprKind::Constant(Value::Bool(true)) => 1.0,
        ExprKind::Constant(_) => 0.0,
        ExprKind::And(parts) => conjunction(parts.iter(), relations),
        ExprKind::Or(parts) => 1.0 - parts.iter().map(|part| 1.0 - selectivity(part, relations)).product::<f64>(),
        ExprKind::Not(input) => 1.0 - selectivity(input, relations),
        ExprKind::IsNull(input) => relations.column(input).map_or(DEFAULT_EQUAL, |column| column.null_fraction),
        ExprKind::IsNotNull(input) => {
            1.0 - relations.column(input).map_or(DEFAULT_EQUAL, |column| column.null_fraction)
        }
        ExprKind::Call(call) => call_selectivity(call, relations),
        ExprKind::Quantified(quantified) => {
            let count = match quantified.array.as_constant() {
                Some(Value::Array(array)) => array.values.len() as f64,
                _ => 10.0,
            };
            match quantified.operator.role {
                OperatorRole::Equal => any_equal(quantified, count, relations),
                OperatorRole::NotEqual => 1.0 - any_equal(quantified, count, relations),
                _ => DEFAULT_RANGE,
            }
        }
        _ => DEFAULT_BOOLEAN,
    };
    share.clamp(1e-9, 1.0)
}

/// The share of rows for which all conditions are true. Two that bound a column from below and from above say
/// together how much lies between.
pub(super) fn conjunction<'e>(parts: impl Iterator<Item = &'e Expr>, relations: &Relations<'_>) -> f64 {
    let mut share = 1.0;
    // By column: what each bound leaves, and whether both are known.
    let mut bounded: Vec<((u32, i32), [Option<f64>; 2], bool)> = Vec::new();
    for part in parts {
        let own = selectivity(part, relations);
        let Some((column, is_upper, is_known)) = bound_of(part, relations) else {
            share *= own;
            continue;
        };
        let place = match bounded.iter().position(|(found, ..)| *found == column) {
            Some(place) => place,
            None => {
                bounded.push((column, [None, None], true));
                bounded.len() - 1
            }
        };
        let side = &mut bounded[place].1[usize::from(is_upper)];
        *side = Some(side.map_or(own, |other| other.min(own)));
        bounded[place].2 &= is_known;
    }
    for (_, sides, is_known) in bounded {
        share *= match sides {
            // PostgreSQL's guess: a range with both ends given selects few of the rows.
            [Some(_), Some(_)] if !is_known => DEFAULT_BETWEEN,
            [Some(above), Some(below)] => {
                let between = above + below - 1.0;
                if between > 1e-4 { between } else { DEFAULT_BETWEEN.min(above).min(below) }
            }
            [above, below] => above.or(below).unwrap_or(1.0),
        };
    }
    share.clamp(1e-9, 1.0)
}

/// The column that a condition compares with a value which is the same for all rows, whether it bounds it from above, and whether
/// it is known how many rows it leaves.
fn bound_of(condition: &Expr, relations: &Relations<'_>) -> Option<((u32, i32), bool, bool)> {
    let ExprKind::Call(call) = &condition.kind else { return None };
    let (operator, [left, right]) = (call.operator?, call.arguments.as_slice()) else { return None };
    let is_less = match operator.role {
        OperatorRole::Less | OperatorRole::LessEqual => true,
        OperatorRole::Greater | OperatorRole::GreaterEqual => false,
        _ => return None,
    };
    let is_fixed = |value: &Expr| relations_of(value) == 0 && !is_volatile(value);
    let (column, value, is_upper) = match (&left.kind, &right.kind) {
        (ExprKind::Variable(variable), _) if variable.level == 0 && is_fixed(right) => (variable, right, is_less),
        (_, ExprKind::Variable(variable)) if variable.level == 0 && is_fixed(left) => (variable, left, !is_less),
        _ => return None,
    };
    let place = if is_fixed(right) { left } else { right };
    let known = relations.column(place).zip(value.as_constant()).and_then(|(known, value)| known.fraction_below(value));
    Some(((column.relation, column.attribute), is_upper, known.is_some()))
}

/// The share of rows whose value is among those of an array.
fn any_equal(quantified: &Quantified, count: f64, relations: &Relations<'_>) -> f64 {
    let share = match (relations.column_of(&quantified.left), quantified.array.as_constant()) {
        (Some((known, rows)), Some(Value::Array(array))) => {
            array.values.iter().filter(|value| !value.is_null()).map(|value| known.fraction_equal(value, rows)).sum()
        }
        _ => count / relations.distinct(&quantified.left),
    };
    f64::min(share, 1.0)
}

fn call_selectivity(call: &Call, relations: &Relations<'_>) -> f64 {
    let (Some(operator), [left, right]) = (call.operator, call.arguments.as_slice()) else { return DEFAULT_BOOLEAN };
    let equal = || {
        let joined = relations_of(left) != 0 && relations_of(right) != 0;
        let (l, r) = (relations.distinct(left), relations.distinct(right));
        if joined {
            return 1.0 / l.max(r).max(1.0);
        }
        let (column, other) = if relations_of(left) != 0 { (left, right) } else { (right, left) };
        if let (Some((known, rows)), Some(value)) = (relations.column_of(column), other.as_constant())
            && !value.is_null()
        {
            return known.fraction_equal(value, rows);
        }
        1.0 / relations.distinct(column).max(1.0)
    };
    match operator.role {
        OperatorRole::Equal => equal(),
        OperatorRole::NotEqual => 1.0 - equal(),
        OperatorRole::Less | OperatorRole::LessEqual => range(left, right, true, relations),
        OperatorRole::Greater | OperatorRole::GreaterEqual => range(left, right, false, relations),
        OperatorRole::Pattern => DEFAULT_PATTERN,
        OperatorRole::Other => DEFAULT_BOOLEAN,
    }
}

fn range(left: &Expr, right: &Expr, less: bool, relations: &Relations<'_>) -> f64 {
    let (column, value, less) = if right.as_constant().is_some() { (left, right, less) } else { (right, left, !less) };
    let below =
        relations.column(column).zip(value.as_constant()).and_then(|(column, value)| column.fraction_below(value));
    match below {
        Some(below) => (if less { below } else { 1.0 - below }).clamp(1e-6, 1.0),
        None => DEFAULT_RANGE,
    }
}

/// The number of groups of a query's rows.
pub(super) fn group_count(groups: &[Expr], rows: f64, relations: &Relations<'_>) -> f64 {
    if groups.is_empty() {
        return 1.0;
    }
    let combinations = groups.iter().map(|group| relations.distinct(group)).product::<f64>();
    combinations.min(rows).max(1.0)
}
