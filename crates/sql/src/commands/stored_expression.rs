//! The expressions that the catalog holds as text: where they stand, and what they are when bound.

use std::sync::Arc;

use base::{Oid, Result};
use plan::Expr;
use plan::user_types::TypeBody;
use schema::catalog::{Catalog, ConstraintKind, CustomDef, FunctionDef, TableDef, class};
use syntax::parser::if_readable;
use types::SqlType;

use super::ddl::Ddl;
use super::dependencies::Node;
use super::trigger::bound_condition;
use super::user_type::bound_check;
use planner::binder::DefinitionUse;

/// Where an expression is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Default { table: Oid, column: usize },
    Generated { table: Oid, column: usize },
    Check { table: Oid, constraint: Oid },
    IndexKey { index: Oid, number: usize },
    IndexPredicate { index: Oid },
    TriggerCondition { table: Oid, trigger: Oid },
    DomainDefault { domain: Oid },
    DomainCheck { domain: Oid, check: Oid },
    ArgumentDefault { function: Oid, number: usize },
}

impl Place {
    /// Returns the node that depends on the objects that the expression names.
    pub fn owner(self) -> Node {
        match self {
            Place::Default { table, column } => Node::Default(table, column),
            Place::Generated { table, column } => Node::Column(table, column),
            Place::Check { table, constraint } => Node::Constraint(table, constraint),
            Place::IndexKey { index, .. } | Place::IndexPredicate { index } => Node::Object(index),
            Place::TriggerCondition { table, trigger } => Node::Trigger(table, trigger),
            Place::DomainDefault { domain } => Node::Object(domain),
            Place::DomainCheck { domain, check } => Node::Constraint(domain, check),
            Place::ArgumentDefault { function, .. } => Node::Object(function),
        }
    }
}

/// All of them that may name an object and whose texts `mention` something: calls, casts and whole rows are what names one.
pub(super) fn for_each_naming(
    ddl: &Ddl<'_>,
    mention: &dyn Fn(&str) -> bool,
    take: &mut dyn FnMut(Place, Expr),
) -> Result<()> {
    for_each_wanted(ddl, &|_, text| ["(", "::", ".*"].iter().any(|sign| text.contains(sign)) && mention(text), take)
}

/// Which expressions are to be bound, by their places and texts.
type Wanted<'w> = dyn Fn(Place, &str) -> bool + 'w;

/// All that are `wanted`; those of one object follow each other.
pub(super) fn for_each_wanted(ddl: &Ddl<'_>, wanted: &Wanted<'_>, take: &mut dyn FnMut(Place, Expr)) -> Result<()> {
    let catalog = ddl.catalog();
    ddl.without_needs(|| {
        for table in catalog.tables() {
            sync::yield_point()?;
            of_table(ddl, &catalog, table, wanted, take)?;
        }
        for domain in catalog.customs(class::TYPE) {
            of_domain(ddl, domain, wanted, take)?;
        }
        for function in catalog.functions() {
            of_function(ddl, function, wanted, take)?;
        }
        Ok(())
    })
}

/// Those of a table.
pub(super) fn for_each_of_table(ddl: &Ddl<'_>, table: &Arc<TableDef>, take: &mut dyn FnMut(Place, Expr)) -> Result<()> {
    ddl.without_needs(|| of_table(ddl, &ddl.catalog(), table, &|_, _| true, take))
}

fn of_table(
    ddl: &Ddl<'_>,
    catalog: &Catalog,
    table: &Arc<TableDef>,
    wanted: &Wanted<'_>,
    take: &mut dyn FnMut(Place, Expr),
) -> Result<()> {
    let mut bind = |text: &str, place: Place, used_for: DefinitionUse<'_>| -> Result<()> {
        if !wanted(place, text) {
            return Ok(());
        }
        // An expression that can't be bound any more can't be written in new form either: it stays as it is.
        if let Some(expr) = if_readable(ddl.stored_expression(table, text, used_for))? {
            take(place, expr);
        }
        Ok(())
    };
    let oid = table.oid;
    for (number, column) in table.columns.iter().enumerate().filter(|(_, column)| !column.dropped) {
        let (sql_type, name) = (SqlType::with_typmod(column.type_oid, column.typmod), &column.name);
        if let Some(text) = &column.default {
            let used_for = DefinitionUse::Default { column: name, sql_type };
            bind(text, Place::Default { table: oid, column: number }, used_for)?;
        }
        if let Some(text) = &column.generated {
            let used_for = DefinitionUse::Generated { column: name, sql_type };
            bind(text, Place::Generated { table: oid, column: number }, used_for)?;
        }
    }
    for constraint in &table.constraints {
        if let ConstraintKind::Check { expression, .. } = &constraint.kind {
            bind(expression, Place::Check { table: oid, constraint: constraint.oid }, DefinitionUse::Check)?;
        }
    }
    for index in catalog.indexes_of(oid) {
        for (number, key) in index.keys.iter().enumerate() {
            if let Some(text) = &key.expression {
                bind(text, Place::IndexKey { index: index.oid, number }, DefinitionUse::IndexKey)?;
            }
        }
        if let Some(text) = &index.predicate {
            bind(text, Place::IndexPredicate { index: index.oid }, DefinitionUse::IndexPredicate)?;
        }
    }
    for trigger in &table.triggers {
        let place = Place::TriggerCondition { table: oid, trigger: trigger.oid };
        if trigger.condition.as_deref().is_some_and(|text| wanted(place, text))
            && let Some(expr) = bound_condition(ddl.state, table, trigger)?
        {
            take(place, expr);
        }
    }
    Ok(())
}

fn of_domain(ddl: &Ddl<'_>, def: &CustomDef, wanted: &Wanted<'_>, take: &mut dyn FnMut(Place, Expr)) -> Result<()> {
    let Ok(TypeBody::Domain { base, default, checks, .. }) = TypeBody::decode(&def.body) else { return Ok(()) };
    let used_for = DefinitionUse::Default { column: &def.name, sql_type: base };
    let place = Place::DomainDefault { domain: def.oid };
    if let Some(text) = default.filter(|text| wanted(place, text))
        && let Some(expr) = if_readable(ddl.stored_default(&text, used_for))?
    {
        take(place, expr);
    }
    for check in &checks {
        let place = Place::DomainCheck { domain: def.oid, check: check.oid };
        if wanted(place, &check.expression)
            && let Some(expr) = if_readable(bound_check(&ddl.view(), &check.expression, base))?
        {
            take(place, expr);
        }
    }
    Ok(())
}

fn of_function(ddl: &Ddl<'_>, def: &FunctionDef, wanted: &Wanted<'_>, take: &mut dyn FnMut(Place, Expr)) -> Result<()> {
    for (number, argument) in def.arguments.iter().enumerate() {
        let place = Place::ArgumentDefault { function: def.oid, number };
        let Some(text) = argument.default.as_deref().filter(|text| wanted(place, text)) else { continue };
        let used_for = DefinitionUse::ParameterDefault(SqlType::new(argument.type_oid));
        if let Some(expr) = if_readable(ddl.stored_default(text, used_for))? {
            take(place, expr);
        }
    }
    Ok(())
}
