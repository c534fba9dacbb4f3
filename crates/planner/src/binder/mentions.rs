//! Which tables a query names, before it is bound: what common table expressions have to do with each other.

use syntax::tree::{
    self, ConflictTarget, CteStatement, Distinct, ExprKind as Tree, GroupItem, Indirection, Name, QueryBody, SortBy,
    SubqueryKind, Target, WindowDefinition, With,
};

/// Whether the statement of a common table expression reads a table called `name`, anywhere in it.
pub(super) fn statement_mentions(statement: &CteStatement, name: &Name) -> bool {
    let below = |with: Option<&With>, mentions: &dyn Fn() -> bool| match with {
        Some(with) => with_mentions(with, name, mentions),
        None => mentions(),
    };
    match statement {
        CteStatement::Query(query) => mentions(query, name),
        CteStatement::Insert(insert) => below(insert.with.as_ref(), &|| {
            let conflict = insert.on_conflict.as_ref();
            let update = conflict.and_then(|conflict| conflict.update.as_ref());
            reference_mentions(&insert.table, name)
                || insert.source.as_ref().is_some_and(|source| mentions(source, name))
                || conflict.and_then(|conflict| conflict.target.as_ref()).is_some_and(|target| match target {
                    ConflictTarget::Constraint(..) => false,
                    ConflictTarget::Index { filter, .. } => any_mentions(filter, name),
                })
                || update.is_some_and(|update| {
                    any_mentions(update.assignments.iter().map(|assignment| &assignment.value), name)
                        || any_mentions(&update.filter, name)
                })
                || targets_mention(&insert.returning, name)
        }),
        CteStatement::Update(update) => below(update.with.as_ref(), &|| {
            reference_mentions(&update.table, name)
                || update.from.iter().any(|item| item_mentions(item, name))
                || any_mentions(update.assignments.iter().map(|assignment| &assignment.value), name)
                || any_mentions(&update.filter, name)
                || targets_mention(&update.returning, name)
        }),
        CteStatement::Delete(delete) => below(delete.with.as_ref(), &|| {
            reference_mentions(&delete.table, name)
                || delete.using.iter().any(|item| item_mentions(item, name))
                || any_mentions(&delete.filter, name)
                || targets_mention(&delete.returning, name)
        }),
        CteStatement::Unsupported(_) => false,
    }
}

/// Whether a query reads a table called `name`, anywhere in it.
pub(super) fn mentions(query: &tree::Query, name: &Name) -> bool {
    match &query.with {
        Some(with) => with_mentions(with, name, &|| mentions_below_with(query, name)),
        None => mentions_below_with(query, name),
    }
}

/// Whether a WITH or its statement reads `name`. A CTE of that name hides the outer table.
fn with_mentions(with: &With, name: &Name, below: &dyn Fn() -> bool) -> bool {
    let own = with.ctes.iter().position(|cte| cte.name == *name);
    let seen = match own {
        Some(_) if with.recursive => 0,
        // Its own query still reads the outer table.
        Some(place) => place + 1,
        None => with.ctes.len(),
    };
    with.ctes[..seen].iter().any(|cte| statement_mentions(&cte.statement, name)) || own.is_none() && below()
}

fn mentions_below_with(query: &tree::Query, name: &Name) -> bool {
    let in_body = match &query.body {
        QueryBody::Select(select) => {
            let on = match &select.distinct {
                Distinct::On(on) => on.as_slice(),
                Distinct::No | Distinct::All => &[],
            };
            select.from.iter().any(|item| item_mentions(item, name))
                || targets_mention(&select.targets, name)
                || any_mentions(select.filter.iter().chain(&select.having).chain(on), name)
                || select.group.iter().any(|item| group_mentions(item, name))
                || select.windows.iter().any(|window| window_mentions(window, name))
        }
        QueryBody::Values(rows) => any_mentions(rows.iter().flatten(), name),
        QueryBody::SetOperation { left, right, .. } => mentions(left, name) || mentions(right, name),
    };
    in_body || order_mentions(&query.order, name) || any_mentions(query.limit.iter().chain(&query.offset), name)
}

fn any_mentions<'e>(exprs: impl IntoIterator<Item = &'e tree::Expr>, name: &Name) -> bool {
    exprs.into_iter().any(|expr| expr_mentions(expr, name))
}

fn targets_mention(targets: &[Target], name: &Name) -> bool {
    any_mentions(targets.iter().map(|target| &target.expr), name)
}

fn order_mentions(order: &[SortBy], name: &Name) -> bool {
    any_mentions(order.iter().map(|item| &item.expr), name)
}

fn window_mentions(window: &WindowDefinition, name: &Name) -> bool {
    let offsets = window.start_offset.iter().chain(&window.end_offset).map(AsRef::as_ref);
    any_mentions(window.partition.iter().chain(offsets), name) || order_mentions(&window.order, name)
}

fn group_mentions(item: &GroupItem, name: &Name) -> bool {
    match item {
        GroupItem::Expr(expr) => expr_mentions(expr, name),
        GroupItem::Empty(_) => false,
        GroupItem::Rollup(items, _) | GroupItem::Cube(items, _) | GroupItem::Sets(items, _) => {
            items.iter().any(|item| group_mentions(item, name))
        }
    }
}

fn reference_mentions(reference: &tree::TableReference, name: &Name) -> bool {
    reference.name.schema.is_none() && reference.name.name == *name
}

fn item_mentions(item: &tree::FromItem, name: &Name) -> bool {
    match item {
        tree::FromItem::Table(table) => reference_mentions(table, name),
        tree::FromItem::Subquery { query, .. } => mentions(query, name),
        tree::FromItem::Join(join) => {
            item_mentions(&join.left, name) || item_mentions(&join.right, name) || any_mentions(&join.condition, name)
        }
        tree::FromItem::Function { calls, .. } => any_mentions(calls.iter().map(|(call, _)| call), name),
        tree::FromItem::Unsupported(..) => false,
    }
}

fn expr_mentions(expr: &tree::Expr, name: &Name) -> bool {
    let is_in = |expr: &tree::Expr| expr_mentions(expr, name);
    match &expr.kind {
        Tree::Subquery(subquery) => {
            let in_left = match &subquery.kind {
                SubqueryKind::Quantified { left, .. } => is_in(left),
                SubqueryKind::Scalar | SubqueryKind::Exists | SubqueryKind::Array => false,
            };
            in_left || mentions(&subquery.query, name)
        }
        Tree::And(list)
        | Tree::Or(list)
        | Tree::Coalesce(list)
        | Tree::Greatest(list)
        | Tree::Least(list)
        | Tree::Array(list)
        | Tree::Row { fields: list, .. } => list.iter().any(is_in),
        Tree::Not(input)
        | Tree::NullTest { input, .. }
        | Tree::BooleanTest { input, .. }
        | Tree::Cast { input, .. }
        | Tree::Collate { input, .. }
        | Tree::NamedArgument { value: input, .. } => is_in(input),
        Tree::Operator { left, right, .. } => left.as_deref().is_some_and(is_in) || is_in(right),
        Tree::Quantified { left, array: right, .. }
        | Tree::Distinct { left, right, .. }
        | Tree::NullIf(left, right) => is_in(left) || is_in(right),
        Tree::In { left, list, .. } => is_in(left) || list.iter().any(is_in),
        Tree::Between { input, low, high, .. } => is_in(input) || is_in(low) || is_in(high),
        Tree::Function(call) => {
            call.arguments.iter().any(is_in)
                || order_mentions(&call.order, name)
                || any_mentions(&call.filter, name)
                || call.over.as_ref().is_some_and(|over| window_mentions(over, name))
        }
        Tree::Case { operand, whens, otherwise } => {
            operand.as_deref().is_some_and(is_in)
                || whens.iter().any(|(condition, result)| is_in(condition) || is_in(result))
                || otherwise.as_deref().is_some_and(is_in)
        }
        Tree::Indirection { input, steps } => {
            is_in(input)
                || steps.iter().any(|step| match step {
                    Indirection::Index(index) => is_in(index),
                    Indirection::Slice(low, high) => any_mentions(low.iter().chain(high), name),
                    Indirection::Field(_) | Indirection::Star => false,
                })
        }
        Tree::MultiAssignment { source, .. } => is_in(source),
        Tree::Literal(_)
        | Tree::Parameter(_)
        | Tree::Column(_)
        | Tree::Star(_)
        | Tree::Session(_)
        | Tree::Default
        | Tree::DefaultArgument(_)
        | Tree::CurrentOf(_)
        | Tree::Unsupported(_) => false,
    }
}
