//! Calls of aggregates: what may stand in them, their order, DISTINCT and FILTER.

use base::{Result, sqlstate};
use plan::{AggregateCall, Expr, ExprKind, SortKey, bound};
use syntax::tree::{self, Location};
use types::{AggregateDef, Resolved};

use super::Binder;
use super::aggregate::{location_of, same};
use super::scope::Place;

impl Binder<'_, '_> {
    /// A call of an aggregate, or of one over a window.
    pub(super) fn aggregate(
        &mut self,
        call: &tree::FunctionCall,
        aggregate: &'static AggregateDef,
        arguments: Vec<Expr>,
        resolved: &Resolved,
    ) -> Result<Expr> {
        let location = call.location;
        let name = &call.name.name;
        if call.over.is_none()
            && arguments.is_empty()
            && !call.star
            && !call.within_group
            && aggregate.arguments.is_empty()
        {
            let message = format!("{name}(*) must be used to call a parameterless aggregate function");
            return Err(self.error(sqlstate::WRONG_OBJECT_TYPE, message, location));
        }
        match (aggregate.direct_arguments, call.within_group) {
            (Some(_), false) => {
                let message = format!("WITHIN GROUP is required for ordered-set aggregate {name}");
                return Err(self.error(sqlstate::WRONG_OBJECT_TYPE, message, location));
            }
            (None, true) => {
                let message = format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP");
                return Err(self.error(sqlstate::WRONG_OBJECT_TYPE, message, location));
            }
            _ => {}
        }
        if call.over.is_some() {
            return self.window_aggregate(call, aggregate, arguments, resolved);
        }
        if self.scope().in_aggregate {
            return Err(self.error(sqlstate::GROUPING_ERROR, "aggregate function calls cannot be nested", location));
        }
        self.scope().in_aggregate = true;
        let built = self.aggregate_call(call, aggregate, arguments, resolved);
        self.scope().in_aggregate = false;
        let mut built = built?;
        built.level = self.aggregate_level(&built, location)?;
        self.refuse_nested_aggregates(&built)?;
        let level = built.level as usize;
        let index = self.scopes.len() - 1 - level;
        let place = self.scopes[index].place;
        if !place.allows_aggregates() {
            let message = match place {
                Place::FromSubquery => {
                    "aggregate functions are not allowed in FROM clause of their own query level".to_owned()
                }
                _ => format!("aggregate functions are not allowed in {}", place.name()),
            };
            return Err(self.error(sqlstate::GROUPING_ERROR, message, location));
        }
        if self.scopes[index].in_aggregate && level > 0 {
            return Err(self.error(sqlstate::GROUPING_ERROR, "aggregate function calls cannot be nested", location));
        }
        self.scopes[index].has_aggregates = true;
        let sql_type = built.types.result;
        Ok(Expr::new(ExprKind::Aggregate(Box::new(built)), sql_type))
    }

    /// 42803 if a subquery within an aggregate's arguments has an aggregate of the same query.
    fn refuse_nested_aggregates(&self, call: &AggregateCall) -> Result<()> {
        let mut place = None;
        let parts = call.arguments.iter().chain(call.order.iter().map(|key| &key.expr)).chain(&call.filter);
        for part in parts {
            bound::for_each_inner(part, 0, &mut |inner, depth| {
                if let ExprKind::Aggregate(aggregate) = &inner.kind
                    && aggregate.level.checked_sub(depth) == Some(call.level)
                {
                    place.get_or_insert(aggregate.location);
                }
            });
        }
        match place {
            None => Ok(()),
            Some(place) => {
                Err(self.error(sqlstate::GROUPING_ERROR, "aggregate function calls cannot be nested", place))
            }
        }
    }

    fn aggregate_call(
        &mut self,
        call: &tree::FunctionCall,
        aggregate: &'static AggregateDef,
        mut arguments: Vec<Expr>,
        resolved: &Resolved,
    ) -> Result<AggregateCall> {
        self.refuse_in_aggregate(&arguments, call.location)?;
        if call.within_group {
            for sort in &call.order {
                let bound = self.expr(&sort.expr)?;
                arguments.push(bound);
            }
        }
        let mut types = resolved.types.clone();
        let mut direct = aggregate.direct_arguments.unwrap_or(0);
        let mut arguments = if aggregate.hypothetical.is_some() {
            direct = arguments.len() - call.order.len();
            let arguments = self.hypothetical_arguments(call, arguments)?;
            types.arguments = arguments.iter().map(|argument| argument.sql_type).collect();
            arguments
        } else {
            self.assemble(call, arguments, resolved, None)?
        };
        let mut order = if call.within_group {
            let keys = call.order.iter().zip(arguments.iter().skip(direct));
            keys.map(|(sort, argument)| self.sort_key(argument.clone(), sort)).collect::<Result<_>>()?
        } else {
            self.aggregate_order(call, &mut arguments)?
        };
        if call.distinct {
            self.check_distinct(call, &mut arguments, &order)?;
        }
        if !call.within_group {
            order = without_repeated_keys(order);
        }
        let filter = match &call.filter {
            Some(filter) => Some(self.aggregate_filter(filter)?),
            None => None,
        };
        arguments.shrink_to_fit();
        Ok(AggregateCall {
            function: aggregate,
            arguments,
            types,
            distinct: call.distinct,
            order,
            key_arguments: Vec::new(),
            filter,
            level: 0,
            location: call.location,
        })
    }

    /// Refuses arguments that an aggregate can't have.
    fn refuse_in_aggregate(&self, arguments: &[Expr], location: Location) -> Result<()> {
        // The arguments were bound before anybody knew that this is an aggregate.
        let find = |test: &dyn Fn(&Expr) -> bool| {
            let found = arguments.iter().find(|argument| argument.any(test))?;
            Some(location_of(found, test).unwrap_or(location))
        };
        if let Some(place) = find(&|expr| matches!(&expr.kind, ExprKind::Aggregate(inner) if inner.level == 0)) {
            let message = "aggregate function calls cannot be nested";
            return Err(self.error(sqlstate::GROUPING_ERROR, message, place));
        }
        if let Some(place) = find(&|expr| matches!(expr.kind, ExprKind::Window(_))) {
            let message = "aggregate function calls cannot contain window function calls";
            return Err(self.error(sqlstate::GROUPING_ERROR, message, place));
        }
        if let Some(place) = find(&|expr| matches!(expr.kind, ExprKind::Set(_))) {
            return Err(self
                .unsupported("aggregate function calls cannot contain set-returning function calls", place)
                .hint("You might be able to move the set-returning function into a LATERAL FROM item."));
        }
        Ok(())
    }

    /// ORDER BY within the parentheses.
    fn aggregate_order(&mut self, call: &tree::FunctionCall, arguments: &mut [Expr]) -> Result<Vec<SortKey>> {
        let mut order = Vec::with_capacity(call.order.len());
        for sort in &call.order {
            let mut bound = self.expr(&sort.expr)?;
            for (argument, written) in arguments.iter_mut().zip(&call.arguments) {
                // An argument is the same key before the cast that the function's type asks for; the rows are sorted after it.
                if same(argument, &bound) {
                    self.settle_in_place(argument, written.start())?;
                } else if same(without_implicit_casts(argument), &bound) {
                    bound = argument.clone();
                }
            }
            let bound = self.settle(bound, sort.expr.start())?;
            order.push(self.sort_key(bound, sort)?);
        }
        Ok(order)
    }

    /// The arguments of an aggregate with DISTINCT must be comparable, and have all that it is ordered by.
    fn check_distinct(&mut self, call: &tree::FunctionCall, arguments: &mut [Expr], order: &[SortKey]) -> Result<()> {
        for (argument, written) in arguments.iter_mut().zip(&call.arguments) {
            self.settle_in_place(argument, written.start())?;
        }
        for (argument, written) in arguments.iter().zip(&call.arguments) {
            self.require_equality(argument.sql_type, written.location)?;
        }
        let is_argument = |key: &SortKey| arguments.iter().any(|argument| same(argument, &key.expr));
        if let Some(place) = order.iter().position(|key| !is_argument(key)) {
            let location = call.order[place].expr.start();
            let message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
            return Err(self.error(sqlstate::INVALID_COLUMN_REFERENCE, message, location));
        }
        Ok(())
    }

    fn aggregate_filter(&mut self, filter: &tree::Expr) -> Result<Expr> {
        let before = std::mem::replace(&mut self.scope().place, Place::Filter);
        self.scope().in_aggregate = false;
        let bound = self.condition(filter, "FILTER");
        self.scope().place = before;
        self.scope().in_aggregate = true;
        bound
    }

    /// The arguments of an aggregate that places a row among the others: as many direct ones as there are columns to
    /// order by, each of its column's type.
    fn hypothetical_arguments(&mut self, call: &tree::FunctionCall, arguments: Vec<Expr>) -> Result<Vec<Expr>> {
        let count = call.order.len();
        let mut direct = arguments;
        let ordered = direct.split_off(direct.len() - count);
        if direct.len() != count {
            let name = &call.name.name;
            let types = direct.iter().chain(&ordered).map(|argument| argument.sql_type).collect::<Vec<_>>();
            let message = format!("function {name}({}) does not exist", self.type_list(&types));
            let hint = format!(
                "To use the hypothetical-set aggregate {name}, the number of hypothetical direct arguments (here {}) must \
                 match the number of ordering columns (here {count}).",
                direct.len()
            );
            return Err(self.error(sqlstate::UNDEFINED_FUNCTION, message, call.location).hint(hint));
        }
        let mut placed = Vec::with_capacity(count);
        let mut found = Vec::with_capacity(count);
        for (index, (wanted, column)) in direct.into_iter().zip(ordered).enumerate() {
            let places = [call.order[index].expr.start(), call.arguments[index].start()];
            let common = self.common_type("WITHIN GROUP", &[column.sql_type, wanted.sql_type], &places)?;
            found.push(self.coerce_to_common_type(column, common, "WITHIN GROUP", places[0])?);
            placed.push(self.coerce_to_common_type(wanted, common, "WITHIN GROUP", places[1])?);
        }
        placed.append(&mut found);
        Ok(placed)
    }
}

fn without_repeated_keys(order: Vec<SortKey>) -> Vec<SortKey> {
    // The same key again adds nothing.
    let mut kept: Vec<SortKey> = Vec::with_capacity(order.len());
    for key in order {
        if !kept.iter().any(|known| same(&known.expr, &key.expr)) {
            kept.push(key);
        }
    }
    kept
}

/// The expression below the casts that nobody has written.
fn without_implicit_casts(mut expr: &Expr) -> &Expr {
    while let ExprKind::Cast(cast) = &expr.kind {
        if cast.cast.context == types::CastContext::Explicit {
            break;
        }
        expr = &cast.input;
    }
    expr
}
