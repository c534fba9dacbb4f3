//! The rules of GROUP BY and aggregates for a query's expressions.

use base::{Error, Result, sqlstate};
use plan::bound::{Query, RelationKind, for_each_inner};
use plan::{
    AggregateCall, Call, Expr, ExprKind, FunctionTarget, ROW_MARK, SetCall, SubqueryBody, Variable, WindowCall,
    WindowFrameBound, WindowTarget,
};
use schema::catalog::ConstraintKind;
use syntax::tree::Location;

use super::Binder;
use super::volatility::is_volatile_aggregate;

/// Whether two bound expressions are the same computation. Their results may be of different types with the same values.
pub fn same(left: &Expr, right: &Expr) -> bool {
    let all = |left: &[Expr], right: &[Expr]| {
        left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
    };
    match (&left.kind, &right.kind) {
        (ExprKind::Constant(a), ExprKind::Constant(b)) => a == b && left.sql_type.oid == right.sql_type.oid,
        (ExprKind::Parameter(a), ExprKind::Parameter(b)) => a == b,
        (ExprKind::Column(a), ExprKind::Column(b)) => a == b,
        (ExprKind::Outer(a), ExprKind::Outer(b)) => a == b,
        (ExprKind::Variable(a), ExprKind::Variable(b)) => same_variable(a, b),
        (ExprKind::Call(a), ExprKind::Call(b)) | (ExprKind::NullIf(a), ExprKind::NullIf(b)) => same_call(a, b),
        (ExprKind::IsDistinct { equal: a, negated: x }, ExprKind::IsDistinct { equal: b, negated: y }) => {
            x == y && same_call(a, b)
        }
        (ExprKind::Row { fields: a, is_whole: x, .. }, ExprKind::Row { fields: b, is_whole: y, .. }) => {
            x == y && all(a, b)
        }
        (ExprKind::And(a), ExprKind::And(b))
        | (ExprKind::Or(a), ExprKind::Or(b))
        | (ExprKind::Coalesce(a), ExprKind::Coalesce(b))
        | (ExprKind::Greatest(a), ExprKind::Greatest(b))
        | (ExprKind::Least(a), ExprKind::Least(b)) => all(a, b),
        (ExprKind::Array { elements: a, nested: x }, ExprKind::Array { elements: b, nested: y }) => x == y && all(a, b),
        (ExprKind::Not(a), ExprKind::Not(b))
        | (ExprKind::IsNull(a), ExprKind::IsNull(b))
        | (ExprKind::IsNotNull(a), ExprKind::IsNotNull(b)) => same(a, b),
        (
            ExprKind::IsTruth { input: a, value: v, negated: x },
            ExprKind::IsTruth { input: b, value: w, negated: y },
        ) => v == w && x == y && same(a, b),
        (
            ExprKind::Case { operand: a, whens: v, otherwise: x },
            ExprKind::Case { operand: b, whens: w, otherwise: y },
        ) => {
            same_optional(a.as_deref(), b.as_deref())
                && same_optional(x.as_deref(), y.as_deref())
                && v.len() == w.len()
                && v.iter().zip(w).all(|(v, w)| same(&v.condition, &w.condition) && same(&v.result, &w.result))
        }
        (ExprKind::CaseOperand, ExprKind::CaseOperand) => true,
        (
            ExprKind::Subscript { input: a, subscripts: v, slice: x },
            ExprKind::Subscript { input: b, subscripts: w, slice: y },
        ) => {
            x == y
                && same(a, b)
                && v.len() == w.len()
                && v.iter().zip(w).all(|(v, w)| {
                    same_optional(v.0.as_ref(), w.0.as_ref()) && same_optional(v.1.as_ref(), w.1.as_ref())
                })
        }
        (ExprKind::Quantified(a), ExprKind::Quantified(b)) => {
            a.quantifier == b.quantifier
                && a.operator.oid == b.operator.oid
                && same(&a.left, &b.left)
                && same(&a.array, &b.array)
        }
        (ExprKind::Field(a), ExprKind::Field(b)) => a.field == b.field && same(&a.input, &b.input),
        (ExprKind::Cast(a), ExprKind::Cast(b)) => a.cast.target == b.cast.target && same(&a.input, &b.input),
        (ExprKind::Session(a), ExprKind::Session(b)) => a == b,
        (ExprKind::Subquery(a), ExprKind::Subquery(b)) => super::same_query::same_subquery(a, b),
        (ExprKind::Set(a), ExprKind::Set(b)) => same_set_call(a, b),
        (ExprKind::Aggregate(a), ExprKind::Aggregate(b)) => same_aggregate(a, b),
        (ExprKind::Window(a), ExprKind::Window(b)) => same_window_call(a, b),
        _ => false,
    }
}

/// Whether two calls over windows of one query are the same.
fn same_window_call(a: &WindowCall, b: &WindowCall) -> bool {
    let is_one_function = match (&a.function, &b.function) {
        (WindowTarget::Window(a), WindowTarget::Window(b)) => a.oid == b.oid,
        (WindowTarget::Aggregate(a), WindowTarget::Aggregate(b)) => a.oid == b.oid,
        _ => false,
    };
    let is_one_bound = |a: &WindowFrameBound, b: &WindowFrameBound| match (a, b) {
        (WindowFrameBound::Preceding(a), WindowFrameBound::Preceding(b))
        | (WindowFrameBound::Following(a), WindowFrameBound::Following(b)) => same(a, b),
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    };
    is_one_function
        && a.window == b.window
        && a.arguments.len() == b.arguments.len()
        && a.arguments.iter().zip(&b.arguments).all(|(a, b)| same(a, b))
        && same_optional(a.filter.as_ref(), b.filter.as_ref())
        && a.frame.mode == b.frame.mode
        && a.frame.exclusion == b.frame.exclusion
        && is_one_bound(&a.frame.start, &b.frame.start)
        && is_one_bound(&a.frame.end, &b.frame.end)
}

/// Whether two calls that return sets are the same.
pub(crate) fn same_set_call(a: &SetCall, b: &SetCall) -> bool {
    same_function(&a.function, &b.function)
        && a.arguments.len() == b.arguments.len()
        && a.arguments.iter().zip(&b.arguments).all(|(a, b)| same(a, b))
}

/// Whether two aggregates compute the same.
fn same_aggregate(a: &AggregateCall, b: &AggregateCall) -> bool {
    a.function.oid == b.function.oid
        && a.level == b.level
        && a.distinct == b.distinct
        && a.arguments.len() == b.arguments.len()
        && a.arguments.iter().zip(&b.arguments).all(|(a, b)| same(a, b))
        && same_optional(a.filter.as_ref(), b.filter.as_ref())
        && a.order.len() == b.order.len()
        && a.order
            .iter()
            .zip(&b.order)
            .all(|(a, b)| a.descending == b.descending && a.nulls_first == b.nulls_first && same(&a.expr, &b.expr))
}

/// Whether two expressions of one query are the same, and one value: see [`is_one_aggregate`].
pub(crate) fn is_one_value(left: &Expr, right: &Expr) -> bool {
    match (&left.kind, &right.kind) {
        (ExprKind::Aggregate(a), ExprKind::Aggregate(b)) => is_one_aggregate(a, b),
        _ => same(left, right),
    }
}

/// Whether two aggregates of one query are computed as one. An aggregate that calls something volatile is computed wherever it is written.
pub(crate) fn is_one_aggregate(left: &AggregateCall, right: &AggregateCall) -> bool {
    same_aggregate(left, right) && (left.location == right.location || !is_volatile_aggregate(left))
}

fn same_variable(left: &Variable, right: &Variable) -> bool {
    left.level == right.level && left.relation == right.relation && left.attribute == right.attribute
}

pub(super) fn same_optional(left: Option<&Expr>, right: Option<&Expr>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => same(left, right),
        (None, None) => true,
        _ => false,
    }
}

pub(super) fn same_function(left: &FunctionTarget, right: &FunctionTarget) -> bool {
    match (left, right) {
        (FunctionTarget::Builtin(left), FunctionTarget::Builtin(right)) => left.oid == right.oid,
        (FunctionTarget::Stored(left), FunctionTarget::Stored(right)) => left.oid == right.oid,
        _ => false,
    }
}

fn same_call(left: &Call, right: &Call) -> bool {
    same_function(&left.function, &right.function)
        && left.arguments.len() == right.arguments.len()
        && left.arguments.iter().zip(&right.arguments).all(|(left, right)| same(left, right))
}

/// Where the first of the expressions that `test` holds for stands, if it is a call that knows its place.
pub(super) fn location_of(expr: &Expr, test: &dyn Fn(&Expr) -> bool) -> Option<Location> {
    if test(expr) {
        return match &expr.kind {
            ExprKind::Aggregate(call) => Some(call.location),
            ExprKind::Window(call) => Some(call.location),
            ExprKind::Set(call) => Some(call.location),
            _ => None,
        };
    }
    let mut found = None;
    expr.for_each_child(&mut |child| {
        if found.is_none() {
            found = location_of(child, test);
        }
    });
    found
}

/// Where a column of this very query stands in `expr`, if one does.
pub(super) fn first_own_variable(expr: &Expr) -> Option<Location> {
    let mut found = None;
    for_each_inner(expr, 0, &mut |inner, depth| {
        if let ExprKind::Variable(variable) = &inner.kind
            && variable.level == depth
        {
            found.get_or_insert(variable.location);
        }
    });
    found
}

/// Where an aggregate of this very query stands in `expr`, if one does.
pub(super) fn first_own_aggregate(expr: &Expr) -> Option<Location> {
    let mut found = None;
    for_each_inner(expr, 0, &mut |inner, depth| {
        if let ExprKind::Aggregate(call) = &inner.kind
            && call.level == depth
        {
            found.get_or_insert(call.location);
        }
    });
    found
}

impl Binder<'_, '_> {
    /// The query an aggregate belongs to: that of its nearest column, or its own if it has none.
    pub(super) fn aggregate_level(&mut self, call: &AggregateCall, location: Location) -> Result<u32> {
        let mut nearest: Option<u32> = None;
        let parts = call.arguments.iter().chain(call.order.iter().map(|key| &key.expr)).chain(&call.filter);
        for part in parts {
            for_each_inner(part, 0, &mut |inner, depth| {
                let level = match &inner.kind {
                    ExprKind::Variable(variable) => variable.level,
                    ExprKind::Aggregate(aggregate) => aggregate.level,
                    _ => return,
                };
                if let Some(level) = level.checked_sub(depth) {
                    nearest = Some(nearest.map_or(level, |nearest| nearest.min(level)));
                }
            });
        }
        let level = nearest.unwrap_or(0);
        if level as usize >= self.scopes.len() {
            return Err(self.error(sqlstate::INTERNAL_ERROR, "an aggregate has no query", location));
        }
        Ok(level)
    }

    /// 42803 if something that is neither grouped by nor aggregated is used above the grouping.
    pub(super) fn check_grouping(&self, query: &Query) -> Result<()> {
        let checker = Checker { binder: self, query };
        for target in &query.targets {
            checker.check(&target.expr, 0)?;
        }
        if let Some(having) = &query.having {
            checker.check(having, 0)?;
        }
        for window in &query.windows {
            for expr in window.partition.iter().chain(window.order.iter().map(|key| &key.expr)) {
                checker.check(expr, 0)?;
            }
        }
        Ok(())
    }
}

struct Checker<'b, 'c, 'a> {
    binder: &'b Binder<'c, 'a>,
    query: &'b Query,
}

impl Checker<'_, '_, '_> {
    fn check(&self, expr: &Expr, depth: u32) -> Result<()> {
        // Each part of an expression is compared with every group.
        sync::yield_point()?;
        if depth == 0 && self.query.groups.iter().any(|group| same(group, expr)) {
            return Ok(());
        }
        match &expr.kind {
            ExprKind::Aggregate(aggregate) if aggregate.level == depth => {
                let direct = aggregate.direct_count();
                return aggregate.arguments[..direct].iter().try_for_each(|argument| {
                    self.check(argument, depth).map_err(|error| match error.sqlstate() {
                        sqlstate::GROUPING_ERROR => {
                            error.detail("Direct arguments of an ordered-set aggregate must use only grouped columns.")
                        }
                        _ => error,
                    })
                });
            }
            ExprKind::Variable(variable) if variable.level == depth => return self.check_variable(variable, depth),
            _ => {}
        }
        let mut result = Ok(());
        expr.for_each_child(&mut |child| {
            if result.is_ok() {
                result = self.check(child, depth);
            }
        });
        if let (Ok(()), ExprKind::Subquery(subquery)) = (&result, &expr.kind)
            && let SubqueryBody::Bound(query) = &subquery.body
        {
            query.for_each_expr(depth + 1, &mut |inner, depth| {
                if result.is_ok() {
                    result = self.check(inner, depth);
                }
            });
        }
        result
    }

    fn check_variable(&self, variable: &Variable, depth: u32) -> Result<()> {
        let grouped = self.query.groups.iter().any(|group| match &group.kind {
            ExprKind::Variable(group) => group.relation == variable.relation && group.attribute == variable.attribute,
            _ => false,
        });
        if grouped || self.is_determined(variable) {
            return Ok(());
        }
        Err(self.ungrouped(variable, depth))
    }

    /// Whether the column's table is grouped by its primary key, which determines all its columns.
    fn is_determined(&self, variable: &Variable) -> bool {
        let relation = &self.query.relations[variable.relation as usize];
        let RelationKind::Table(table) = &relation.kind else { return false };
        let key = table.constraints.iter().find_map(|constraint| match &constraint.kind {
            ConstraintKind::PrimaryKey { index } if !constraint.deferrable => {
                self.binder.context.catalog.index(*index).map(|index| (constraint.oid, index))
            }
            _ => None,
        });
        let Some((constraint, index)) = key else { return false };
        let is_determined = {
            index.keys.iter().all(|key| {
                key.column.is_some_and(|column| {
                    self.query.groups.iter().any(|group| {
                        matches!(&group.kind, ExprKind::Variable(group)
                            if group.level == 0
                                && group.relation == variable.relation
                                && group.attribute == column as i32)
                    })
                })
            })
        };
        if is_determined {
            self.binder.note_resolved(|resolved| resolved.keys.push(constraint));
        }
        is_determined
    }

    fn ungrouped(&self, variable: &Variable, depth: u32) -> Error {
        let relation = &self.query.relations[variable.relation as usize];
        let column = match usize::try_from(variable.attribute) {
            Ok(attribute) => relation.columns.get(attribute).map_or("?column?", |column| column.name.as_str()),
            Err(_) if variable.attribute == ROW_MARK => "*",
            Err(_) => super::scope::SYSTEM_COLUMNS
                .iter()
                .find(|(_, attribute, _)| *attribute == variable.attribute)
                .map_or("?column?", |(name, ..)| name),
        };
        let name = format!("{}.{column}", relation.alias);
        let message = if depth == 0 {
            format!("column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate function")
        } else {
            format!("subquery uses ungrouped column \"{name}\" from outer query")
        };
        self.binder.error(sqlstate::GROUPING_ERROR, message, variable.location)
    }
}
