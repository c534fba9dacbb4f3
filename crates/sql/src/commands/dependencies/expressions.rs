//! The objects that stored expressions use: defaults, checks, keys and predicates of indexes, conditions of triggers.

use std::sync::Arc;

use base::{Oid, Result};
use plan::{Expr, ExprKind};
use schema::catalog::{Object, TableDef, class};

use super::{Named, for_each_written, mentioning, name_of};
use crate::commands::ddl::Ddl;
use crate::commands::stored_expression::{Place, for_each_wanted};
use crate::system_tables::default_oid;

/// The objects that the expressions of one object use.
pub struct ExpressionUse {
    /// The catalog that the object is in.
    pub class: Oid,
    /// The object: a default, a constraint, an index, a type, a trigger or a function.
    pub object: Oid,
    /// Its table, if it is a table's.
    pub table: Option<Oid>,
    /// Functions, relations, types and fields that they name.
    pub named: Named,
    /// The columns of the table that they read, by place.
    pub columns: Vec<usize>,
}

/// Which uses are asked for; `None` stands for all.
#[derive(Debug, Clone, Copy)]
pub struct WantedUses {
    /// The catalog that the user is in.
    pub class: Option<Oid>,
    /// The user.
    pub object: Option<Oid>,
    /// The object that is used.
    pub used: Option<Oid>,
}

impl WantedUses {
    fn has(&self, class: Oid, object: Oid) -> bool {
        self.class.is_none_or(|wanted| wanted == class) && self.object.is_none_or(|wanted| wanted == object)
    }
}

/// The uses that are wanted. Expressions that are stored apart are told apart: an index's keys, and its predicate.
pub(in crate::commands) fn uses_of_expressions(ddl: &Ddl<'_>, wanted: WantedUses) -> Result<Vec<ExpressionUse>> {
    let catalog = ddl.catalog();
    let name = wanted.used.map(|used| name_of(&catalog, used));
    let mentions_it = name.as_deref().map(mentioning);
    let is_wanted = |place: Place, text: &str| {
        let (class, object, table) = recorded_as(place, &catalog);
        let may_use = wanted.used.is_none_or(|used| table == Some(used));
        wanted.has(class, object) && (may_use || mentions_it.as_ref().is_some_and(|mentions| mentions(text)))
    };
    let mut uses: Vec<ExpressionUse> = Vec::new();
    let mut last = None;
    for_each_wanted(ddl, &is_wanted, &mut |place, expr| {
        let (class, object, table) = recorded_as(place, &catalog);
        let is_predicate = matches!(place, Place::IndexPredicate { .. });
        // Several keys of an index, or arguments of a function, are recorded together.
        if last != Some((class, object, is_predicate)) {
            uses.push(ExpressionUse { class, object, table, named: Named::default(), columns: Vec::new() });
            last = Some((class, object, is_predicate));
        }
        let def = table.and_then(|table| catalog.table(table));
        if let Some(found) = uses.last_mut() {
            found.add(&expr, def);
        }
    })?;
    for found in &mut uses {
        found.named.sort();
        found.columns.sort_unstable();
        found.columns.dedup();
    }
    Ok(uses)
}

/// The catalog and number under which an expression's uses are recorded, and the table it may read.
fn recorded_as(place: Place, catalog: &schema::catalog::Catalog) -> (Oid, Oid, Option<Oid>) {
    let table_of_index = |index: Oid| match catalog.object(index) {
        Some(Object::Index(index)) => Some(index.table),
        _ => None,
    };
    match place {
        Place::Default { table, column } | Place::Generated { table, column } => {
            (class::DEFAULT, default_oid(table, column + 1), Some(table))
        }
        Place::Check { table, constraint } => (class::CONSTRAINT, constraint, Some(table)),
        Place::IndexKey { index, .. } | Place::IndexPredicate { index } => {
            (class::RELATION, index, table_of_index(index))
        }
        Place::TriggerCondition { table, trigger } => (class::TRIGGER, trigger, Some(table)),
        Place::DomainDefault { domain } => (class::TYPE, domain, None),
        Place::DomainCheck { check, .. } => (class::CONSTRAINT, check, None),
        Place::ArgumentDefault { function, .. } => (class::FUNCTION, function, None),
    }
}

impl ExpressionUse {
    fn add(&mut self, expr: &Expr, table: Option<&Arc<TableDef>>) {
        match &expr.kind {
            // Rows of the table itself are of whatever columns it has.
            ExprKind::Row { shape, is_whole: true, .. } if table.is_some_and(|table| table.oid == shape.type_oid) => {
                return;
            }
            ExprKind::Column(slot) => {
                // A trigger's condition has the columns of two rows.
                let width = table.map_or(0, |table| table.columns.len());
                self.columns.extend((*slot as usize).checked_rem(width));
            }
            _ => self.named.by_itself(expr),
        }
        for_each_written(expr, &mut |child| self.add(child, table));
    }
}
