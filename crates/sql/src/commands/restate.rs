//! Stored expressions and queries are texts with names. Before a name changes, the texts that have it are bound. After the change they are
//! written again from their bound form.

use std::sync::Arc;

use base::{Error, Oid, Result};
use plan::bound::for_each_inner_mut;
use plan::user_types::TypeBody;
use plan::{Expr, ExprKind, bound};
use schema::catalog::{ConstraintKind, CustomDef, FunctionDef, IndexDef, Object, TableDef, class};
use types::SqlType;

use super::ddl::Ddl;
use super::dependencies::{Node, Renaming, describe};
use super::reshape::{Reshaping, Stored};
use super::stored_expression::{Place, for_each_naming, for_each_of_table, for_each_wanted};
use super::stored_query::{StoredQueries, StoredQuery, stored_queries};
use super::trigger::BothRows;
use super::user_type::ValueOf;
use crate::state::CHANGE_LOCK;
use planner::deparse::{Deparser, NoNames, Qualify, TableNames};

/// Bound expressions and queries whose texts will be written again.
pub(super) struct Restatement {
    expressions: Vec<(Place, Expr)>,
    queries: StoredQueries,
}

/// The stored texts that name a column which is about to be renamed.
pub(super) fn naming_column(ddl: &Ddl<'_>, table: &Arc<TableDef>, column: &str) -> Result<Restatement> {
    // Elsewhere, fields of the table's rows may be named.
    let mut restatement = naming(ddl, &Renaming::of_columns(ddl, table.oid, &[column]))?;
    let expressions = &mut restatement.expressions;
    for_each_of_table(ddl, table, &mut |place, expr| {
        if !matches!(place, Place::Default { .. }) && expressions.iter().all(|(other, _)| *other != place) {
            expressions.push((place, expr));
        }
    })?;
    Ok(restatement)
}

/// The stored texts that name an object which is about to be renamed. Their holders are locked until the transaction ends. The caller has
/// locked the object.
pub(super) fn naming(ddl: &Ddl<'_>, renaming: &Renaming) -> Result<Restatement> {
    let queries = stored_queries(ddl, renaming)?;
    let mut expressions = Vec::new();
    for_each_naming(ddl, &|text| renaming.may_be_named_in(text), &mut |place, expr| {
        if renaming.is_named_in(&expr) {
            expressions.push((place, expr));
        }
    })?;
    Ok(Restatement { expressions, queries })
}

/// Finds the stored texts that contain rows of a type, and changes these rows as the coming `changes` of the type say. If columns are
/// `dropped`, texts that name these are found, too: a view may list the columns of the table, or of functions that return such rows.
pub(super) fn with_rows(ddl: &Ddl<'_>, rows: &Stored, dropped: &[&str], changes: &[Reshaping]) -> Result<Restatement> {
    let renaming = match dropped.is_empty() {
        true => Renaming::of_rows(ddl, rows.type_oid()),
        false => Renaming::of_changed_columns(ddl, rows.type_oid(), dropped),
    };
    let Restatement { mut expressions, mut queries } = naming(ddl, &renaming)?;
    expressions.retain_mut(|(_, expr)| rows.reshape_expr(expr, changes));
    queries.reshape(rows, changes, !dropped.is_empty());
    Ok(Restatement { expressions, queries })
}

/// The stored expressions and views that have rows of a type in them, without those that can't be bound now. With each, the types to which
/// fields of written rows are cast.
pub(super) struct Readers {
    row_type: Oid,
    expressions: Vec<(Place, Vec<SqlType>)>,
    views: Vec<(Oid, Vec<SqlType>)>,
}

impl Readers {
    /// Finds them before columns of the type change. The caller holds the type, so that nobody stores another one meanwhile.
    pub fn find(ddl: &Ddl<'_>, row_type: Oid, columns: &[&str]) -> Result<Readers> {
        let renaming = Renaming::of_changed_columns(ddl, row_type, columns);
        let mut expressions = Vec::new();
        for_each_naming(ddl, &|text| renaming.may_be_named_in(text), &mut |place, mut expr| {
            if renaming.is_named_in(&expr) {
                expressions.push((place, casts_of_fields(&mut expr, row_type)));
            }
        })?;
        let views = renaming.views_naming(ddl)?.into_iter();
        let views = views.map(|(view, mut query)| (view, casts_in_query(&mut query, row_type))).collect();
        Ok(Readers { row_type, expressions, views })
    }

    /// Refuses a change after which one of them can't be bound any more, or only with a further cast of a row's field. PostgreSQL alters the type,
    /// and what reads the row fails. Here the cast would come into the text, and change values for good.
    ///
    /// # Errors
    /// 0A000.
    pub fn check(&self, ddl: &Ddl<'_>, type_name: &str) -> Result<()> {
        let mut bound = Vec::new();
        let is_wanted = |place: Place, _: &str| self.expressions.iter().any(|(known, _)| *known == place);
        for_each_wanted(ddl, &is_wanted, &mut |place, mut expr| {
            bound.push((place, casts_of_fields(&mut expr, self.row_type)));
        })?;
        if let Some((place, _)) = self.expressions.iter().find(|reader| !bound.contains(reader)) {
            return Err(read_by(ddl, type_name, place.owner(), "expression"));
        }
        for (oid, casts) in &self.views {
            let catalog = ddl.catalog();
            let Some(view) = catalog.table(*oid) else { continue };
            let mut query = StoredQuery::of_view(ddl, view)?.and_then(|stored| stored.bound);
            if query.as_mut().is_none_or(|query| casts_in_query(query, self.row_type) != *casts) {
                return Err(read_by(ddl, type_name, Node::Object(*oid), "query"));
            }
        }
        Ok(())
    }
}

/// The types to which fields of written rows of the type are cast.
fn casts_of_fields(expr: &mut Expr, row_type: Oid) -> Vec<SqlType> {
    fn add_casts(field: &Expr, all: &mut Vec<SqlType>) {
        if let ExprKind::Cast(cast) = &field.kind {
            all.extend((cast.input.sql_type != field.sql_type).then_some(field.sql_type));
            add_casts(&cast.input, all);
        }
    }
    /// The fields of a row that an expression is, maybe below a cast to its own type.
    fn written(expr: &Expr, row_type: Oid) -> Option<&[Expr]> {
        match &expr.kind {
            ExprKind::Row { fields, shape, is_whole: false } if shape.type_oid == row_type => Some(fields),
            ExprKind::Cast(cast) if cast.input.sql_type.oid == expr.sql_type.oid => written(&cast.input, row_type),
            _ => None,
        }
    }
    let (mut casts, mut before_row) = (Vec::new(), 0);
    for_each_inner_mut(expr, 0, &mut |inner, _| match &inner.kind {
        ExprKind::Row { fields, shape, is_whole: false } if shape.type_oid == row_type => {
            before_row = casts.len();
            fields.iter().for_each(|field| add_casts(field, &mut casts));
        }
        // Of a row whose field is read at once, the other fields don't matter. The row was the last one that was visited.
        ExprKind::Field(access) => {
            if let Some(field) = written(&access.input, row_type).and_then(|fields| fields.get(access.field as usize)) {
                casts.truncate(before_row);
                add_casts(field, &mut casts);
            }
        }
        _ => {}
    });
    casts
}

fn casts_in_query(query: &mut bound::Query, row_type: Oid) -> Vec<SqlType> {
    let mut casts = Vec::new();
    query.for_each_expr_mut(0, &mut |expr, _| casts.extend(casts_of_fields(expr, row_type)));
    casts
}

/// The error for a type whose rows an expression or a query has in it; `part` is "expression" or "query".
fn read_by(ddl: &Ddl<'_>, type_name: &str, reader: Node, part: &str) -> Error {
    let reader = describe(&ddl.view(), reader);
    Error::unsupported(format!("cannot alter type \"{type_name}\" because {reader} uses it"))
        .detail(format!("Its {part} would not be valid with the new type."))
}

impl Restatement {
    /// Writes them as they read now.
    pub fn store(self, ddl: &Ddl<'_>) -> Result<()> {
        for (place, expr) in &self.expressions {
            place.store(ddl, expr)?;
        }
        self.queries.store(ddl)
    }
}

impl Place {
    fn store(self, ddl: &Ddl<'_>, expr: &Expr) -> Result<()> {
        let view = ddl.view();
        let alone = || Deparser::new(&view, &NoNames, Qualify::Always).indented().text(expr);
        let over_row = |table: &TableDef| ddl.stored_text(expr, &TableNames(table));
        match self {
            Place::Default { table, column } => {
                change_table(ddl, table, |def| def.columns[column].default = Some(alone()))
            }
            Place::Generated { table, column } => {
                change_table(ddl, table, |def| def.columns[column].generated = Some(over_row(def)))
            }
            Place::Check { table, constraint } => change_table(ddl, table, |def| {
                let text = over_row(def);
                for found in def.constraints.iter_mut().filter(|found| found.oid == constraint) {
                    if let ConstraintKind::Check { expression, .. } = &mut found.kind {
                        expression.clone_from(&text);
                    }
                }
            }),
            Place::IndexKey { index, number } => change_index(ddl, index, |def, table| {
                let names = TableNames(table);
                let text = Deparser::new(&view, &names, Qualify::Always).indented().full_text(expr);
                def.keys[number].expression = Some(text);
            }),
            Place::IndexPredicate { index } => {
                change_index(ddl, index, |def, table| def.predicate = Some(over_row(table)))
            }
            Place::TriggerCondition { table, trigger } => change_table(ddl, table, |def| {
                let text = ddl.stored_text(expr, &BothRows(def));
                for found in def.triggers.iter_mut().filter(|found| found.oid == trigger) {
                    found.condition = Some(text.clone());
                }
            }),
            Place::DomainDefault { domain } => change_domain(ddl, domain, |body| {
                if let TypeBody::Domain { default, .. } = body {
                    *default = Some(alone());
                }
            }),
            Place::DomainCheck { domain, check } => change_domain(ddl, domain, |body| {
                if let TypeBody::Domain { base, checks, .. } = body {
                    let text = ddl.stored_text(expr, &ValueOf(*base));
                    for found in checks.iter_mut().filter(|found| found.oid == check) {
                        found.expression.clone_from(&text);
                    }
                }
            }),
            Place::ArgumentDefault { function, number } => change_function(ddl, function, |def| {
                def.arguments[number].default = Some(alone());
            }),
        }
    }
}

/// Replaces a description under a lock that `lock` takes, if it changes. Nothing happens if the object has been dropped.
fn replace_changed<T: Into<Object>>(
    ddl: &Ddl<'_>,
    changed: impl Fn() -> Result<Option<T>>,
    lock: impl FnOnce() -> Result<()>,
) -> Result<()> {
    if changed()?.is_none() {
        return Ok(());
    }
    lock()?;
    changed()?.map_or(Ok(()), |new| ddl.replace(new))
}

/// The changed copy of a description; nothing if it is the same.
fn changed_copy<T: Clone + PartialEq>(old: &T, change: impl FnOnce(&mut T)) -> Option<T> {
    let mut new = old.clone();
    change(&mut new);
    (new != *old).then_some(new)
}

fn change_table(ddl: &Ddl<'_>, table: Oid, change: impl Fn(&mut TableDef)) -> Result<()> {
    let changed = || Ok(ddl.catalog().table(table).and_then(|old| changed_copy(&**old, &change)));
    replace_changed(ddl, changed, || ddl.lock(table, CHANGE_LOCK))
}

fn change_index(ddl: &Ddl<'_>, index: Oid, change: impl Fn(&mut IndexDef, &TableDef)) -> Result<()> {
    let changed = || {
        let catalog = ddl.catalog();
        let Some(old) = catalog.index(index) else { return Ok(None) };
        let table = catalog.table(old.table);
        Ok(table.and_then(|table| changed_copy(&**old, |new| change(new, table))))
    };
    replace_changed(ddl, changed, || {
        if let Some(found) = ddl.catalog().index(index) {
            ddl.lock(found.table, CHANGE_LOCK)?;
        }
        ddl.lock(index, CHANGE_LOCK)
    })
}

fn change_domain(ddl: &Ddl<'_>, domain: Oid, change: impl Fn(&mut TypeBody)) -> Result<()> {
    let changed = || -> Result<Option<CustomDef>> {
        let catalog = ddl.catalog();
        let Some(old) = catalog.customs(class::TYPE).find(|def| def.oid == domain) else { return Ok(None) };
        let mut body = TypeBody::decode(&old.body)?;
        change(&mut body);
        Ok(changed_copy(&**old, |new| new.body = body.encode()))
    };
    replace_changed(ddl, changed, || ddl.hold(domain, CHANGE_LOCK))
}

fn change_function(ddl: &Ddl<'_>, function: Oid, change: impl Fn(&mut FunctionDef)) -> Result<()> {
    let changed = || Ok(ddl.catalog().function(function).and_then(|old| changed_copy(&**old, &change)));
    replace_changed(ddl, changed, || ddl.hold(function, CHANGE_LOCK))
}
