//! The stored queries of views: what their names stand for, and writing them anew when that is called otherwise.
//!
//! A stored query is text that is written from what the query was bound to: with every name completed and `*` written out, so that it
//! means the same under any search path and when its tables grow. It is read under the view's [`ViewScope`], so that columns and
//! functions made later don't come into it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{Error, Oid, Result, sqlstate};
use plan::{CatalogView, Expr, bound};
use schema::catalog::{TableDef, ViewScope};
use syntax::parser::{if_readable, parse_stored_query};
use syntax::tree::{Location, Name, QualifiedName, Query, Statement, TableReference, TypeName};
use types::SqlType;

use super::ddl::{Ddl, Found};
use super::dependencies::{Named, Renaming};
use super::reshape::{Reshaping, Stored};
use crate::state::CHANGE_LOCK;
use crate::state::planning::Environment;
use planner::binder::{self, Parameters, Resolved};
use planner::deparse::{
    Catalogs, Deparser, KnownLiteral, NoNames, Qualify, QueryNames, TableText, dotted, query_text, visit_names,
    written_type,
};

/// A query with what its names stand for.
pub(super) struct StoredQuery {
    query: Box<Query>,
    /// Its bound form, in which the views that it reads are tables; `None` if it can't be bound any more.
    pub bound: Option<bound::Query>,
    /// The catalog in which it was bound.
    catalog: CatalogView,
    /// Of a view, what its names are looked up among.
    known: Option<ViewScope>,
    relations: HashMap<Location, Oid>,
    types: HashMap<Location, SqlType>,
    resolved: Resolved,
}

impl StoredQuery {
    /// Looks up the names of a query now. `resolved` is what binding noted.
    fn new(
        ddl: &Ddl<'_>,
        (query, is_stored): (Box<Query>, bool),
        bound: Option<bound::Query>,
        resolved: Resolved,
    ) -> StoredQuery {
        let collector = Collector { ddl, is_stored, relations: RefCell::default(), types: RefCell::default() };
        visit_names(&query, &collector);
        let (relations, types) = (collector.relations.into_inner(), collector.types.into_inner());
        StoredQuery { query, bound, catalog: ddl.view(), known: None, relations, types, resolved }
    }

    /// Of a query that is being defined.
    ///
    /// # Errors
    /// Those of binding.
    pub fn of_definition(ddl: &Ddl<'_>, query: &Query) -> Result<StoredQuery> {
        let query = Box::new(query.clone());
        let (query, bound, resolved) = bound_closed(Environment::new(ddl.state, &ddl.view()), ddl.text, query);
        Ok(StoredQuery::new(ddl, (query, false), bound?, resolved))
    }

    /// Of a view, as it is stored.
    ///
    /// # Errors
    /// Interrupts (57014, fatal errors) and 53200: they say nothing about the text.
    pub fn of_view(ddl: &Ddl<'_>, view: &Arc<TableDef>) -> Result<Option<StoredQuery>> {
        let Some(text) = view.view_query.as_deref() else { return Ok(None) };
        let Some(query) = if_readable(parse_stored_query(text))? else { return Ok(None) };
        let environment = Environment::new(ddl.state, &ddl.view()).for_query_of(view);
        let (query, bound, resolved) = bound_closed(environment, text, query);
        let stored = StoredQuery::new(ddl, (query, true), if_readable(bound)?.flatten(), resolved);
        Ok(Some(StoredQuery { known: view.view_scope.clone(), ..stored }))
    }

    /// The query as it is to be stored, with the names that things have now; nothing if it can't be bound any more.
    pub fn text(&self, ddl: &Ddl<'_>) -> Option<String> {
        let (names, now) = (NamesNow { stored: self, ddl }, ddl.view());
        let known = self.known.as_ref();
        let catalogs = Catalogs { before: &self.catalog, now: &now, qualify: Qualify::Always, known };
        self.bound.as_ref().map(|bound| query_text(&self.query, &names, bound, catalogs))
    }

    /// The columns and functions that the text may use from now on.
    pub fn scope(&self, ddl: &Ddl<'_>) -> ViewScope {
        let catalog = ddl.catalog();
        let mut columns: Vec<(Oid, u32)> = Vec::new();
        for oid in self.relations.values().chain(&self.resolved.row_types) {
            let count = match (catalog.table(*oid), ddl.view().system().table(*oid)) {
                (Some(table), _) => table.columns.len(),
                (None, Some(table)) => table.columns.len(),
                (None, None) => match types::composite_shape(&self.catalog, *oid) {
                    Some(shape) => shape.fields.len(),
                    None => continue,
                },
            };
            columns.push((*oid, count as u32));
        }
        columns.sort_unstable();
        columns.dedup();
        ViewScope { columns, functions: self.named().functions }
    }

    /// The objects that it names, its subqueries included.
    pub fn named(&self) -> Named {
        let Resolved { functions, literals, keys, .. } = &self.resolved;
        let types = self.types.values().map(|sql_type| sql_type.oid);
        let mut named = Named {
            functions: functions.values().copied().collect(),
            relations: self.relations.values().copied().filter(|oid| *oid >= Oid::FIRST_NORMAL).collect(),
            types: types.filter(|oid| *oid >= Oid::FIRST_NORMAL).collect(),
            fields: Vec::new(),
            keys: keys.clone(),
            schemas: Vec::new(),
        };
        literals.values().for_each(|(sql_type, value)| named.a_constant(value, sql_type.oid));
        for list in [&mut named.functions, &mut named.relations, &mut named.types] {
            list.sort_unstable();
            list.dedup();
        }
        named
    }
}

/// Locks the relations that a query names, so that nobody drops or changes them until the transaction ends.
pub(super) fn lock_relations_of(ddl: &Ddl<'_>, query: &Query) -> Result<()> {
    let relations = || {
        let mut named =
            StoredQuery::new(ddl, (Box::new(query.clone()), false), None, Resolved::default()).named().relations;
        named.retain(|oid| ddl.catalog().object(*oid).is_some());
        named
    };
    let mut found = relations();
    loop {
        for oid in &found {
            ddl.lock(*oid, LockMode::AccessShare)?;
        }
        let again = relations();
        if again == found {
            return Ok(());
        }
        found = again;
    }
}

/// Looks names up, and writes nothing.
struct Collector<'d, 'a> {
    ddl: &'d Ddl<'a>,
    /// Whether the query comes from the catalog. Then a name without a schema is a built-in object's.
    is_stored: bool,
    relations: RefCell<HashMap<Location, Oid>>,
    types: RefCell<HashMap<Location, SqlType>>,
}

impl Collector<'_, '_> {
    fn complete(&self, schema: &mut Option<Name>) {
        if self.is_stored && schema.is_none() {
            *schema = Some(Name::new("pg_catalog"));
        }
    }
}

impl QueryNames for Collector<'_, '_> {
    fn table(&self, reference: &TableReference, _is_hidden: &dyn Fn(&str) -> bool) -> TableText {
        let mut name = reference.name.clone();
        self.complete(&mut name.schema);
        let found = if self.is_stored { self.ddl.find_in_all(&name) } else { self.ddl.find(&name) };
        let found = match found.ok().flatten() {
            Some(Found::System(_)) => {
                let table = self.ddl.view().system_table(name.schema.as_deref(), &name.name);
                table.map(|table| table.oid)
            }
            found => found.and_then(|found| found.oid()),
        };
        if let Some(oid) = found {
            self.relations.borrow_mut().insert(name.location, oid);
        }
        TableText { text: String::new(), own: String::new() }
    }

    fn type_name(&self, name: &TypeName) -> String {
        let mut completed = name.clone();
        self.complete(&mut completed.schema);
        let found = if self.is_stored { self.ddl.stored_type(&completed) } else { self.ddl.type_of(&completed) };
        if let Ok(sql_type) = found {
            self.types.borrow_mut().insert(name.location, sql_type);
        }
        String::new()
    }
}

/// The names that things have now.
struct NamesNow<'s, 'd, 'a> {
    stored: &'s StoredQuery,
    ddl: &'d Ddl<'a>,
}

impl NamesNow<'_, '_, '_> {
    fn place_of(&self, oid: Oid) -> Option<(Oid, Name)> {
        if let Some(table) = self.ddl.view().system().table(oid) {
            return Some((table.schema, table.name.clone()));
        }
        let catalog = self.ddl.catalog();
        let object = catalog.object(oid)?;
        Some((object.schema(), Name::new(object.name())))
    }

    fn completed(&self, schema: Oid, name: Name) -> QualifiedName {
        let schema = Name::from(self.ddl.view().schema_name(schema));
        QualifiedName { catalog: None, schema: Some(schema), name, location: -1 }
    }
}

impl QueryNames for NamesNow<'_, '_, '_> {
    fn table(&self, reference: &TableReference, _is_hidden: &dyn Fn(&str) -> bool) -> TableText {
        let found = self.stored.relations.get(&reference.name.location);
        let name = match found.and_then(|oid| self.place_of(*oid)) {
            Some((schema, name)) => self.completed(schema, name),
            None => reference.name.clone(),
        };
        TableText { text: dotted(&name), own: name.name.to_string() }
    }

    fn function(&self, name: &QualifiedName) -> String {
        let catalog = self.ddl.catalog();
        let found = self.stored.resolved.functions.get(&name.location).and_then(|oid| catalog.function(*oid));
        match found {
            Some(function) => dotted(&self.completed(function.schema, Name::new(&function.name))),
            None => dotted(name),
        }
    }

    fn type_name(&self, name: &TypeName) -> String {
        match self.stored.types.get(&name.location).copied() {
            Some(sql_type) => Deparser::new(&self.ddl.view(), &NoNames, Qualify::Always).type_name(sql_type),
            None => written_type(name),
        }
    }

    fn literal(&self, location: Location) -> Option<KnownLiteral> {
        let (sql_type, value) = self.stored.resolved.literals.get(&location)?;
        let view = self.ddl.view();
        let deparser = Deparser::new(&view, &NoNames, Qualify::Always);
        let (text, type_name) = (deparser.literal(value, *sql_type), deparser.type_name(*sql_type));
        let needs_type = deparser.text(&Expr::constant(value.clone(), *sql_type)) != text;
        Some(KnownLiteral { text, type_name, needs_type })
    }

    fn field(&self, location: Location, name: &Name) -> Option<Name> {
        let (type_oid, place) = self.stored.resolved.fields.get(&(location, name.clone()))?;
        let view = self.ddl.view();
        let base = types::base_type(&view, SqlType::new(*type_oid));
        let shape = types::composite_shape(&view, base.oid)?;
        shape.fields.get(*place).map(|(field, _)| Name::new(field))
    }

    fn is_null_test(&self, location: Location) -> bool {
        self.stored.resolved.null_tests.contains(&location)
    }

    fn star_width(&self, location: Location) -> Option<usize> {
        self.stored.resolved.stars.get(&location).copied()
    }
}

/// Views note how many fields of a composite type they know. Takes the dropped ones of these off the number.
pub(super) fn lower_known_fields(ddl: &Ddl<'_>, type_oid: Oid, changes: &[Reshaping]) -> Result<()> {
    let remaining = |known: usize| {
        changes.iter().fold(known, |known, change| match change {
            Reshaping::Dropped(place) if *place < known => known - 1,
            _ => known,
        })
    };
    for view in ddl.catalog().tables() {
        let known = |view: &TableDef| view.view_scope.as_ref().and_then(|scope| scope.columns_of(type_oid));
        if known(view).is_none_or(|known| remaining(known) == known) {
            continue;
        }
        ddl.lock(view.oid, CHANGE_LOCK)?;
        let Some(mut changed) = ddl.catalog().table(view.oid).map(|view| (**view).clone()) else { continue };
        for (oid, count) in changed.view_scope.iter_mut().flat_map(|scope| &mut scope.columns) {
            if *oid == type_oid {
                *count = remaining(*count as usize) as u32;
            }
        }
        ddl.replace(changed)?;
    }
    Ok(())
}

/// The bound queries of views whose texts will be written again.
pub(super) struct StoredQueries(Vec<(Arc<TableDef>, StoredQuery)>);

/// Binds the query of a view as its text is written from it: the views that it reads are tables, and what was written is kept.
pub(super) fn bound_closed(
    environment: Environment<'_>,
    text: &str,
    query: Box<Query>,
) -> (Box<Query>, Result<Option<bound::Query>>, Resolved) {
    let resolved = RefCell::default();
    let statement = Statement::Select(query);
    let bound = environment
        .taking_down(&resolved)
        .leaving_views_closed()
        .with_context(text, |context| binder::bind(&statement, context, &mut Parameters::fixed(Vec::new())));
    let Statement::Select(query) = statement else { unreachable!("it was made above") };
    (query, bound.map(|bound| bound.map(|bound| bound.query)), resolved.into_inner())
}

/// Refuses a view whose text, as it would be stored, can't be bound to columns of these types: better now than when it is read.
///
/// # Errors
/// 0A000.
pub(super) fn check_text(ddl: &Ddl<'_>, view: &Arc<TableDef>, types: &[SqlType]) -> Result<()> {
    let bound = StoredQuery::of_view(ddl, view)?.and_then(|stored| stored.bound);
    let is_it = |bound: &bound::Query| {
        bound.output().map(|target| target.expr.sql_type.oid).eq(types.iter().map(|sql_type| sql_type.oid))
    };
    if bound.as_ref().is_some_and(is_it) {
        return Ok(());
    }
    let message = format!("the query of view \"{}\" cannot be stored", view.name);
    Err(Error::unsupported(message)
        .detail(format!("It would read: {}", view.view_query.as_deref().unwrap_or_default())))
}

/// The views' queries that may have to be written again. Views that name the renamed object are locked until the transaction ends.
pub(super) fn stored_queries(ddl: &Ddl<'_>, renaming: &Renaming) -> Result<StoredQueries> {
    renaming.lock_texts(ddl).map(StoredQueries)
}

impl StoredQueries {
    /// Changes the rows of a type in the queries. Forgets the queries without such rows, unless it `keeps_all`.
    pub fn reshape(&mut self, rows: &Stored, changes: &[Reshaping], keeps_all: bool) {
        self.0.retain_mut(|(_, query)| {
            let mut has_rows = false;
            if let Some(bound) = &mut query.bound {
                bound.for_each_expr_mut(0, &mut |expr, _| has_rows |= rows.reshape_expr(expr, changes));
            }
            for (sql_type, value) in query.resolved.literals.values_mut() {
                has_rows |= rows.reshape_constant(value, sql_type.oid, changes);
            }
            for (type_oid, place) in query.resolved.fields.values_mut() {
                *place = rows.reshape_field(*type_oid, *place, changes);
            }
            has_rows || keeps_all
        });
    }

    /// Writes the queries with the names that things have now.
    pub fn store(&self, ddl: &Ddl<'_>) -> Result<()> {
        for (view, stored) in &self.0 {
            let Some(text) = stored.text(ddl) else { continue };
            if view.view_query.as_deref() == Some(&text) {
                continue;
            }
            ddl.lock(view.oid, CHANGE_LOCK)?;
            // The view was not locked if nothing showed that it names the object. Another transaction may have changed it.
            if let Some(old) = ddl.catalog().table(view.oid) {
                if old.view_query != view.view_query {
                    let message = format!("could not rename because of a concurrent change of view \"{}\"", view.name);
                    return Err(Error::new(sqlstate::SERIALIZATION_FAILURE, message)
                        .hint("The transaction might succeed if retried."));
                }
                let new = TableDef { view_query: Some(text), ..(**old).clone() };
                let types: Vec<SqlType> =
                    stored.bound.iter().flat_map(bound::Query::output).map(|target| target.expr.sql_type).collect();
                check_text(ddl, &Arc::new(new.clone()), &types)?;
                ddl.replace(new)?;
            }
        }
        Ok(())
    }
}
