//! What views use.

use std::cell::RefCell;

use base::Oid;
use engine::catalog::{Object, RelationKind as TableKind};

use super::named_in;
use crate::binder::{self, FromItem, Parameters, Query, RelationKind};
use crate::commands::ddl::Ddl;
use crate::commands::deparse::{QueryNames, WrittenNames, query_text};
use crate::parser::{ParseOptions, parse};
use crate::plan::{Expr, ExprKind, SubqueryBody};
use crate::tree::{self, Statement, TableReference, TypeName};

/// What one view uses.
pub struct ViewUse {
    /// The view.
    pub view: Oid,
    /// Tables, views and sequences that its query names.
    pub relations: Vec<Oid>,
    /// Columns of tables among them.
    pub columns: Vec<(Oid, usize)>,
    /// Functions that users made.
    pub functions: Vec<Oid>,
}

/// The query of a view's text.
fn query_of(text: &str) -> Option<Box<tree::Query>> {
    match parse(text, ParseOptions::default()).ok()?.pop()?.statement {
        Statement::Select(query) => Some(query),
        _ => None,
    }
}

/// What all views use.
pub(in crate::commands) fn uses_of_views(ddl: &Ddl<'_>) -> Vec<ViewUse> {
    let catalog = ddl.catalog();
    let views = catalog.tables().filter(|table| matches!(table.kind, TableKind::View | TableKind::MaterializedView));
    views
        .filter_map(|view| {
            let query = query_of(view.view_query.as_deref()?)?;
            let mut found = ViewUse {
                view: view.oid,
                relations: direct_relations(ddl, &query),
                columns: Vec::new(),
                functions: Vec::new(),
            };
            let bound = ddl.bind(|context| {
                let statement = Statement::Select(query);
                binder::bind(&statement, context, &mut Parameters::fixed(Vec::new()))
            });
            if let Ok(Some(bound)) = bound {
                let mut relations = Vec::new();
                walk(&bound.query, &mut Vec::new(), &mut found, &mut relations);
                found.relations.extend(
                    relations
                        .into_iter()
                        .filter(|oid| matches!(catalog.object(*oid), Some(Object::Sequence(_) | Object::Table(_)))),
                );
            }
            // What stands in the views that this one reads is theirs.
            let relations = std::mem::take(&mut found.relations);
            found.columns.retain(|(table, _)| relations.contains(table));
            found.relations = relations;
            Some(found)
        })
        .collect()
}

/// The relations that a query names, those of its subqueries included.
pub(in crate::commands) fn direct_relations(ddl: &Ddl<'_>, query: &tree::Query) -> Vec<Oid> {
    struct Collector<'d, 'a> {
        ddl: &'d Ddl<'a>,
        found: RefCell<Vec<Oid>>,
    }
    impl QueryNames for Collector<'_, '_> {
        fn table(&self, reference: &TableReference) -> String {
            if let Ok(Some(found)) = self.ddl.find(&reference.name) {
                self.found.borrow_mut().extend(found.oid());
            }
            String::new()
        }

        fn type_name(&self, name: &TypeName) -> String {
            WrittenNames.type_name(name)
        }
    }
    let collector = Collector { ddl, found: RefCell::default() };
    query_text(query, &collector);
    let mut found = collector.found.into_inner();
    found.sort();
    found.dedup();
    found
}

/// Collects what a bound query uses; `outer` are the queries around it.
fn walk<'q>(query: &'q Query, outer: &mut Vec<&'q Query>, found: &mut ViewUse, relations: &mut Vec<Oid>) {
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
            RelationKind::Subquery(inner) => walk(inner, outer, found, relations),
            RelationKind::Function { calls, .. } => {
                for call in calls {
                    if let crate::plan::FunctionTarget::Stored(function) = &call.function {
                        found.functions.push(function.oid);
                    }
                    call.arguments.iter().for_each(|argument| visit(argument, outer, found, relations));
                }
            }
            RelationKind::Values(rows) => {
                rows.iter().flatten().for_each(|value| visit(value, outer, found, relations));
            }
            _ => {}
        }
    }
    for cte in &query.ctes {
        walk(&cte.query, outer, found, relations);
        if let Some((recursive, _)) = &cte.recursive {
            walk(recursive, outer, found, relations);
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
    exprs.into_iter().for_each(|expr| visit(expr, outer, found, relations));
    outer.pop();
}

fn visit<'q>(expr: &'q Expr, outer: &mut Vec<&'q Query>, found: &mut ViewUse, relations: &mut Vec<Oid>) {
    match &expr.kind {
        ExprKind::Variable(variable) => {
            let level = outer.len().checked_sub(1 + variable.level as usize);
            if let Some(query) = level.and_then(|level| outer.get(level))
                && let Some(relation) = query.relations.get(variable.relation as usize)
                && let RelationKind::Table(table) = &relation.kind
                && variable.attribute >= 0
            {
                found.columns.push((table.oid, variable.attribute as usize));
            }
        }
        ExprKind::Subquery(subquery) => {
            if let SubqueryBody::Bound(inner) = &subquery.body {
                walk(inner, outer, found, relations);
            }
        }
        _ => named_here(expr, found, relations),
    }
    expr.for_each_child(&mut |child| visit(child, outer, found, relations));
}

/// What an expression names by itself, its operands left out.
fn named_here(expr: &Expr, found: &mut ViewUse, relations: &mut Vec<Oid>) {
    if matches!(expr.kind, ExprKind::Call(_) | ExprKind::Set(_) | ExprKind::Constant(_)) {
        let (mut functions, mut constants) = (Vec::new(), Vec::new());
        named_in(expr, &mut functions, &mut constants);
        found.functions.append(&mut functions);
        relations.append(&mut constants);
    }
}
