//! The objects that views use.

use std::sync::Arc;

use base::{Oid, Result};
use plan::bound::{FromItem, Query, RelationKind};
use plan::{Expr, ExprKind, SubqueryBody};
use schema::catalog::{Catalog, RelationKind as TableKind, TableDef};

use super::Named;
use crate::commands::ddl::Ddl;
use crate::commands::stored_query::StoredQuery;

/// The columns and fields that a bound query reads.
#[derive(Default)]
struct Read {
    /// Columns of tables, by place.
    columns: Vec<(Oid, usize)>,
    /// Fields of rows, by their type and place.
    fields: Vec<(Oid, usize)>,
}

/// The objects and columns that one view uses.
pub struct ViewUse {
    /// The view.
    pub view: Oid,
    /// The tables, views, sequences, functions and types that its query names.
    pub named: Named,
    /// The columns that it uses of these tables.
    pub columns: Vec<(Oid, usize)>,
}

/// The uses of those views whose texts `mention` something.
pub(in crate::commands) fn uses_of_views(ddl: &Ddl<'_>, mention: &dyn Fn(&str) -> bool) -> Result<Vec<ViewUse>> {
    let catalog = ddl.catalog();
    let mentioning = views(&catalog).filter(|view| view.view_query.as_deref().is_some_and(mention));
    mentioning.filter_map(|view| use_of_view(ddl, view).transpose()).collect()
}

/// All views, materialized ones among them.
pub(super) fn views(catalog: &Catalog) -> impl Iterator<Item = &Arc<TableDef>> {
    catalog.tables().filter(|table| matches!(table.kind, TableKind::View | TableKind::MaterializedView))
}

/// The uses of a view. To find them its query is bound. Those of the views that it reads are not: in a chain of views each would be bound
/// for all above it.
pub(super) fn use_of_view(ddl: &Ddl<'_>, view: &Arc<TableDef>) -> Result<Option<ViewUse>> {
    sync::yield_point()?;
    Ok(StoredQuery::of_view(ddl, view)?.map(|stored| use_of_query(view.oid, &stored)))
}

/// The uses of a view whose query has been bound.
pub(in crate::commands) fn use_of_query(view: Oid, stored: &StoredQuery) -> ViewUse {
    let (mut named, mut read) = (stored.named(), Read::default());
    if let Some(bound) = &stored.bound {
        walk(bound, &mut Vec::new(), &mut read);
    }
    // Catalogs that are views read columns, too; those are not the view's.
    read.columns.retain(|(table, _)| named.relations.contains(table));
    named.fields = read.fields;
    ViewUse { view, named, columns: read.columns }
}

/// Collects what a bound query uses; `outer` are the queries around it.
fn walk<'q>(query: &'q Query, outer: &mut Vec<&'q Query>, found: &mut Read) {
    fn joins<'q>(item: &'q FromItem, visit: &mut dyn FnMut(&'q Expr)) {
        if let FromItem::Join(join) = item {
            joins(&join.left, visit);
            joins(&join.right, visit);
            join.condition.iter().for_each(visit);
        }
    }
    outer.push(query);
    for relation in &query.relations {
        match &relation.kind {
            RelationKind::Subquery(inner) => walk(inner, outer, found),
            RelationKind::Function { calls, .. } => {
                for call in calls {
                    call.arguments.iter().for_each(|argument| visit(argument, outer, found));
                }
            }
            RelationKind::Values(rows) => {
                rows.iter().flatten().for_each(|value| visit(value, outer, found));
            }
            _ => {}
        }
    }
    for cte in &query.ctes {
        walk(&cte.query, outer, found);
        if let Some((recursive, _)) = &cte.recursive {
            walk(recursive, outer, found);
        }
    }
    let mut exprs: Vec<&Expr> = Vec::new();
    query.from.iter().for_each(|item| joins(item, &mut |condition| exprs.push(condition)));
    exprs.extend(query.targets.iter().map(|target| &target.expr));
    exprs.extend(query.filter.iter().chain(&query.having).chain(&query.offset).chain(&query.limit));
    exprs.extend(&query.groups);
    for window in &query.windows {
        exprs.extend(&window.partition);
        exprs.extend(window.order.iter().map(|key| &key.expr));
    }
    exprs.into_iter().for_each(|expr| visit(expr, outer, found));
    outer.pop();
}

fn visit<'q>(expr: &'q Expr, outer: &mut Vec<&'q Query>, found: &mut Read) {
    match &expr.kind {
        // A table's row as a whole is of whatever columns it has.
        ExprKind::Row { fields, shape, is_whole: true }
            if fields
                .first()
                .and_then(|field| {
                    let of_table = table_of(field, outer).map(|(table, _)| table);
                    of_table.or_else(|| field_of_function(field, outer).map(|(row_type, _)| row_type))
                })
                // A function that takes any record has its type, not the row's.
                .is_some_and(|row_type| row_type == expr.sql_type.oid || row_type == shape.type_oid) =>
        {
            return;
        }
        ExprKind::Variable(_) => {
            if let Some((table, attribute)) = table_of(expr, outer).filter(|(_, attribute)| *attribute >= 0) {
                found.columns.push((table, attribute as usize));
            }
            found.fields.extend(field_of_function(expr, outer));
        }
        ExprKind::Field(access) => found.fields.push((access.input.sql_type.oid, access.field as usize)),
        ExprKind::Subquery(subquery) => {
            if let SubqueryBody::Bound(inner) = &subquery.body {
                walk(inner, outer, found);
            }
        }
        _ => {}
    }
    expr.for_each_child(&mut |child| visit(child, outer, found));
}

/// The type whose rows a function in FROM gives, and the field of it, that a variable is.
fn field_of_function(expr: &Expr, outer: &[&Query]) -> Option<(Oid, usize)> {
    let ExprKind::Variable(variable) = &expr.kind else { return None };
    let query = outer.get(outer.len().checked_sub(1 + variable.level as usize)?)?;
    let RelationKind::Function { calls, .. } = &query.relations.get(variable.relation as usize)?.kind else {
        return None;
    };
    let mut place = usize::try_from(variable.attribute).ok()?;
    for call in calls {
        if place < call.columns.len() {
            return call.composite.then_some((call.types.result.oid, place));
        }
        place -= call.columns.len();
    }
    None
}

/// The table that a variable is a column of.
fn table_of(expr: &Expr, outer: &[&Query]) -> Option<(Oid, i32)> {
    let ExprKind::Variable(variable) = &expr.kind else { return None };
    let query = outer.get(outer.len().checked_sub(1 + variable.level as usize)?)?;
    match &query.relations.get(variable.relation as usize)?.kind {
        RelationKind::Table(table) => Some((table.oid, variable.attribute)),
        _ => None,
    }
}
