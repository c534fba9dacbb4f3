//! Locks that keep stored texts and the objects that they name in step.
//!
//! Stored texts name objects, so a rename writes these texts again. Two rules make sure that no stored text names a missing object:
//! - A statement that stores a text holds each object that the text names until its transaction ends ([`hold_named`]). A rename takes a
//!   lock on the object that conflicts with these, so that every text that names the object is committed and visible to the rename.
//! - A rename locks each object whose description has such a text, and only then reads the texts that it writes again
//!   ([`Renaming::lock_texts`]). So two renames don't overwrite each other's work, and no transaction replaces a text meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{Error, Oid, Result, sqlstate};
use plan::{CatalogView, Expr, bound, user_types};
use schema::catalog::{Catalog, Object, TableDef};
use types::SqlType;

use super::views::{use_of_query, views};
use super::{Named, Node, casting_to, describe, mentioning};
use crate::commands::ddl::Ddl;
use crate::commands::overloads::namesakes;
use crate::commands::reshape::row_types_in;
use crate::commands::stored_expression::for_each_naming;
use crate::commands::stored_query::StoredQuery;
use crate::commands::user_type::made_of;
use crate::state::CHANGE_LOCK;

/// A renaming: which texts may name the object, and which of those do.
pub(in crate::commands) struct Renaming {
    mentions: Box<dyn Fn(&str) -> bool>,
    names_it: Box<dyn Fn(&Named) -> bool>,
}

impl Renaming {
    /// The renaming of a function, a relation or a type.
    pub fn of_object(ddl: &Ddl<'_>, oid: Oid) -> Renaming {
        Renaming::of_objects(ddl, vec![oid])
    }

    /// The renaming of several of these at once.
    pub fn of_objects(ddl: &Ddl<'_>, oids: Vec<Oid>) -> Renaming {
        let catalog = ddl.catalog();
        let names: Vec<_> = oids.iter().map(|oid| mentioning(&super::name_of(&catalog, *oid))).collect();
        let mentions = move |text: &str| names.iter().any(|mentioned| mentioned(text));
        let names_it = move |named: &Named| named.all().any(|oid| oids.contains(&element(oid)));
        Renaming { mentions: Box::new(mentions), names_it: Box::new(names_it) }
    }

    /// The renaming of a schema: texts name each object in it with its schema.
    pub fn of_schema(ddl: &Ddl<'_>, schema: Oid) -> Renaming {
        let catalog = ddl.catalog();
        let name = catalog.schema(schema).map_or_else(String::new, |schema| schema.name.clone());
        let names_it = move |named: &Named| {
            let is_there = |oid: Oid| catalog.object(element(oid)).is_some_and(|object| object.schema() == schema);
            named.schemas.contains(&schema) || named.all().any(is_there)
        };
        Renaming { mentions: Box::new(mentioning(&name)), names_it: Box::new(names_it) }
    }

    /// The renaming of columns of a table or attributes of a composite type. A function that returns such rows has the same column names.
    /// A text that calls it without naming a column may need a list of columns after the rename.
    pub fn of_columns(ddl: &Ddl<'_>, row_type: Oid, columns: &[&str]) -> Renaming {
        let (view, catalog) = (ddl.view(), ddl.catalog());
        let gives_rows = |returns: Oid| types::base_type(&view, SqlType::new(returns)).oid == row_type;
        let functions: Vec<_> = catalog.functions().filter(|function| gives_rows(function.returns)).collect();
        let mut names: Vec<_> = columns.iter().map(|name| mentioning(name)).collect();
        names.push(mentioning(&super::name_of(&catalog, row_type)));
        names.extend(functions.iter().map(|function| mentioning(&function.name)));
        let mentions = move |text: &str| text.contains(".*") || names.iter().any(|mentioned| mentioned(text));
        let functions: Vec<Oid> = functions.iter().map(|function| function.oid).collect();
        let names_it = move |named: &Named| {
            let is_of_rows = |oid: Oid| types::base_type(&view, SqlType::new(element(oid))).oid == row_type;
            named.relations.contains(&row_type)
                || named.functions.iter().any(|oid| functions.contains(oid))
                || named.types.iter().any(|oid| is_of_rows(*oid))
                || named.fields.iter().any(|(of, _)| is_of_rows(*of))
        };
        Renaming { mentions: Box::new(mentions), names_it: Box::new(names_it) }
    }

    /// Columns of a table or attributes of a composite type change or go: texts may name them, or have the rows in them.
    pub fn of_changed_columns(ddl: &Ddl<'_>, row_type: Oid, columns: &[&str]) -> Renaming {
        let (of_columns, of_rows) = (Renaming::of_columns(ddl, row_type, columns), Renaming::of_rows(ddl, row_type));
        Renaming {
            mentions: Box::new(move |text: &str| (of_columns.mentions)(text) || (of_rows.mentions)(text)),
            names_it: Box::new(move |named: &Named| (of_columns.names_it)(named) || (of_rows.names_it)(named)),
        }
    }

    /// The rows of a row type change. They may stand within rows, arrays and domains of other types; their texts say so with a cast.
    pub fn of_rows(ddl: &Ddl<'_>, row_type: Oid) -> Renaming {
        let catalog = ddl.catalog();
        let made = types_made_of(&catalog, row_type);
        let names: Vec<_> = made.iter().map(|oid| casting_to(&super::name_of(&catalog, *oid))).collect();
        let mentions = move |text: &str| names.iter().any(|casts| casts(text));
        let names_it = move |named: &Named| named.types.iter().any(|oid| made.contains(&element(*oid)));
        Renaming { mentions: Box::new(mentions), names_it: Box::new(names_it) }
    }

    /// The renaming of an enum's value, which may stand in constants of types that are made of the enum.
    pub fn of_value(ddl: &Ddl<'_>, enum_type: Oid) -> Renaming {
        let made = types_made_of(&ddl.catalog(), enum_type);
        let names_it = move |named: &Named| named.types.iter().any(|oid| made.contains(&element(*oid)));
        Renaming { mentions: Box::new(|text: &str| text.contains("::")), names_it: Box::new(names_it) }
    }

    /// Whether a text may name the object.
    pub fn may_be_named_in(&self, text: &str) -> bool {
        (self.mentions)(text)
    }

    /// Whether an expression names the object.
    pub fn is_named_in(&self, expr: &Expr) -> bool {
        (self.names_it)(&Named::in_whole(expr))
    }

    /// Locks each object whose description has a text that names the object, until the transaction ends. The caller holds the object
    /// itself. Returns the queries of those views whose texts may name it.
    ///
    /// # Errors
    /// Those of waiting for locks.
    pub fn lock_texts(&self, ddl: &Ddl<'_>) -> Result<Vec<(Arc<TableDef>, StoredQuery)>> {
        let mut locked = BTreeSet::new();
        loop {
            let version = ddl.engine().catalog_version();
            let catalog = ddl.catalog();
            let queries = self.queries(ddl, &catalog)?;
            let mut holders: BTreeSet<Oid> = BTreeSet::new();
            for_each_naming(ddl, &*self.mentions, &mut |place, expr| {
                if self.is_named_in(&expr) {
                    holders.extend(holder(&catalog, place.owner()));
                }
            })?;
            holders
                .extend(queries.iter().filter(|(view, query)| self.is_named_by(view, query)).map(|(view, _)| view.oid));
            for oid in holders.difference(&locked) {
                match catalog.object(*oid) {
                    Some(Object::Table(_)) => ddl.lock(*oid, CHANGE_LOCK)?,
                    _ => ddl.hold(*oid, CHANGE_LOCK)?,
                }
            }
            // If no other transaction has committed a change meanwhile, what was read is still so.
            if holders.is_subset(&locked) || ddl.engine().catalog_version() == version {
                return Ok(queries);
            }
            locked.extend(holders);
        }
    }

    /// The views whose queries name the object, with the bound queries. Locks nothing.
    pub fn views_naming(&self, ddl: &Ddl<'_>) -> Result<Vec<(Oid, bound::Query)>> {
        let mut queries = self.queries(ddl, &ddl.catalog())?;
        queries.retain(|(view, query)| self.is_named_by(view, query));
        Ok(queries.into_iter().filter_map(|(view, query)| Some((view.oid, query.bound?))).collect())
    }

    fn is_named_by(&self, view: &TableDef, query: &StoredQuery) -> bool {
        (self.names_it)(&use_of_query(view.oid, query).named)
    }

    /// The queries of the views whose texts may name the object.
    fn queries(&self, ddl: &Ddl<'_>, catalog: &Catalog) -> Result<Vec<(Arc<TableDef>, StoredQuery)>> {
        let mut queries = Vec::new();
        let may_name =
            |view: &&Arc<TableDef>| view.view_query.as_deref().is_some_and(|text| self.may_be_named_in(text));
        for view in views(catalog).filter(may_name) {
            sync::yield_point()?;
            if let Some(query) = StoredQuery::of_view(ddl, view)? {
                queries.push((Arc::clone(view), query));
            }
        }
        Ok(queries)
    }
}

/// The object whose description has the text of this node.
fn holder(catalog: &Catalog, node: Node) -> Option<Oid> {
    match node {
        Node::Object(oid) => Some(catalog.index(oid).map_or(oid, |index| index.table)),
        node => node.table(),
    }
}

/// The type, and all domains, composite types and tables' row types that have it in them.
fn types_made_of(catalog: &Catalog, type_oid: Oid) -> BTreeSet<Oid> {
    let mut found = BTreeSet::from([type_oid]);
    loop {
        let has_one = |oid: Oid| found.contains(&element(oid));
        let has_column = |table: &&Arc<TableDef>| table.columns.iter().any(|column| has_one(column.type_oid));
        let tables = catalog.tables().filter(has_column).map(|table| table.oid);
        let all: BTreeSet<Oid> = made_of(catalog, has_one).into_iter().chain(tables).chain([type_oid]).collect();
        if all == found {
            return found;
        }
        found = all;
    }
}

fn element(oid: Oid) -> Oid {
    user_types::element_of_array(oid).unwrap_or(oid)
}

/// Locks the objects that an expression names, so that nobody renames or drops them until the transaction ends.
///
/// # Errors
/// Those of waiting for locks; 42883, 42P01 or 42704 for an object that was dropped meanwhile; 40001 if the expression might mean something
/// else by now.
pub(in crate::commands) fn hold_named_in(ddl: &Ddl<'_>, expr: &Expr) -> Result<()> {
    let (before, named) = (ddl.view(), Named::in_whole(expr));
    hold_named(ddl, &named)?;
    refuse_changed(&before, &ddl.view(), &named)
}

/// The same for what a text names. The caller binds the text again if the catalog has changed meanwhile.
///
/// # Errors
/// Those of waiting for locks; 42883, 42P01 or 42704 for an object that was dropped meanwhile.
pub(in crate::commands) fn hold_named(ddl: &Ddl<'_>, named: &Named) -> Result<()> {
    let before = ddl.view();
    // The table that a statement makes is not there yet, and its checks may name the type of its rows.
    let is_there = |oid: &Oid| *oid >= Oid::FIRST_NORMAL && before.catalog().object(*oid).is_some();
    let mut objects: BTreeSet<Oid> = named.all().map(element).filter(is_there).collect();
    objects.extend(row_types_of(&before, named));
    let mut held = BTreeSet::new();
    // Until the schemas are held, too, in which the objects are by then.
    loop {
        let catalog = ddl.catalog();
        let mut wanted = objects.clone();
        for oid in &objects {
            let Some(object) = catalog.object(*oid) else { return Err(dropped(&before, *oid)) };
            wanted.extend(catalog.schema(object.schema()).map(|schema| schema.oid));
        }
        let mut new = wanted.difference(&held).copied().peekable();
        if new.peek().is_none() {
            return Ok(());
        }
        for oid in new {
            match catalog.object(oid) {
                Some(Object::Table(_) | Object::Sequence(_) | Object::Index(_)) => {
                    ddl.lock(oid, LockMode::AccessShare)?
                }
                _ => ddl.hold(oid, LockMode::AccessShare)?,
            }
        }
        held.extend(wanted);
    }
}

/// The row types whose columns a text may read: those in the types and rows that it names, and in the results of functions.
fn row_types_of(view: &CatalogView, named: &Named) -> BTreeSet<Oid> {
    let returns =
        named.functions.iter().filter_map(|oid| view.catalog().function(*oid)).map(|function| function.returns);
    let fields = named.fields.iter().map(|(row_type, _)| *row_type);
    let found = named.types.iter().copied().chain(fields).chain(returns);
    found.flat_map(|oid| row_types_in(view, oid)).collect()
}

/// 40001 if an expression might mean something else than when it was bound: a function that it names has got a namesake, or a row type
/// has other columns.
fn refuse_changed(before: &CatalogView, now: &CatalogView, named: &Named) -> Result<()> {
    if before.catalog().version() == now.catalog().version() {
        return Ok(());
    }
    let has_new = |oid: &Oid| !namesakes(now.catalog(), *oid).is_subset(&namesakes(before.catalog(), *oid));
    let has_changed = |oid: &Oid| types::composite_shape(before, *oid) != types::composite_shape(now, *oid);
    let changed = named.functions.iter().copied().find(has_new);
    match changed.or_else(|| row_types_of(before, named).into_iter().find(has_changed)) {
        None => Ok(()),
        Some(oid) => {
            let shown = describe(before, Node::Object(oid));
            let message = format!("could not store an expression because of a concurrent change of {shown}");
            Err(Error::new(sqlstate::SERIALIZATION_FAILURE, message).hint("The transaction might succeed if retried."))
        }
    }
}

/// The error for an object that another transaction has dropped; `before` is the catalog that had it.
fn dropped(before: &CatalogView, oid: Oid) -> Error {
    let code = match before.catalog().object(oid) {
        Some(Object::Function(_)) => sqlstate::UNDEFINED_FUNCTION,
        Some(Object::Table(_) | Object::Index(_) | Object::Sequence(_)) => sqlstate::UNDEFINED_TABLE,
        _ => sqlstate::UNDEFINED_OBJECT,
    };
    Error::new(code, format!("{} does not exist", describe(before, Node::Object(oid))))
}
