//! The stored queries of views: what their names stand for, and writing them anew when that is called otherwise.
//!
//! A stored query is text, with every name completed: relations, types and functions with their schemas, columns with
//! what they are a column of, NATURAL with the columns it compares. It is read under the view's [`ViewScope`], so that
//! columns and functions made later don't come into it.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use base::{Oid, Result};
use engine::LockMode;
use engine::catalog::{RelationKind, TableDef, ViewScope};

use super::ddl::{CHANGE_LOCK, Ddl, Found};
use super::deparse::{Deparser, KnownLiteral, NoNames, Qualify, QueryNames, WrittenNames, query_text};
use super::dependencies::Named;
use crate::binder::{self, Bound, Parameters, Resolved};
use crate::parser::{ParseOptions, if_readable, parse};
use crate::plan::Expr;
use crate::session::planning::Environment;
use crate::session::quote_identifier;
use crate::tree::{Alias, Join, Location, Name, QualifiedName, Query, Statement, TableReference, TypeName};
use crate::types::{self, SqlType};

/// A query with what its names stand for.
pub(super) struct StoredQuery {
    query: Box<Query>,
    relations: HashMap<Location, Oid>,
    types: HashMap<Location, SqlType>,
    resolved: Resolved,
    /// The tables and views that it names in FROM, by what they were called, and the aliases that it gives them.
    references: Vec<(Oid, Name, Option<Name>)>,
    /// The names of everything else in FROM.
    aliases: Vec<Name>,
    /// The relations whose columns it gives names of its own.
    aliased: HashSet<Oid>,
    /// It names columns in other ways than one by one: in joins by their names or with names of their own, as fields of rows.
    names_otherwise: bool,
}

/// A column that is called otherwise from now on.
pub(super) struct RenamedColumn {
    relation: Oid,
    place: usize,
}

/// How references to a relation are written from now on.
pub(super) type Restate<'r> = &'r dyn Fn(Oid, TableReference) -> TableReference;

impl StoredQuery {
    /// Of a query with names as they are now and what binding it took down.
    pub fn new(ddl: &Ddl<'_>, query: Box<Query>, resolved: Resolved) -> StoredQuery {
        let collector = Collector {
            ddl,
            relations: RefCell::default(),
            types: RefCell::default(),
            references: RefCell::default(),
            aliases: RefCell::default(),
            aliased: RefCell::default(),
            names_otherwise: Cell::new(false),
            fields: RefCell::default(),
        };
        query_text(&query, &collector);
        let (relations, types) = (collector.relations.into_inner(), collector.types.into_inner());
        let has_row_fields = collector.fields.borrow().iter().any(|field| !resolved.fields.contains_key(field));
        let names_otherwise = collector.names_otherwise.get() || has_row_fields;
        let (aliased, references) = (collector.aliased.into_inner(), collector.references.into_inner());
        let aliases = collector.aliases.into_inner();
        StoredQuery { query, relations, types, resolved, references, aliases, aliased, names_otherwise }
    }

    /// Of a view, as it is stored; and bound, if it still can be, the views that it names as if they were tables.
    ///
    /// # Errors
    /// Interrupts (57014, fatal errors) and 53200: they say nothing about the text.
    pub fn of_view(ddl: &Ddl<'_>, view: &Arc<TableDef>) -> Result<Option<(StoredQuery, Option<Bound>)>> {
        let Some(text) = view.view_query.as_deref() else { return Ok(None) };
        let Some(query) = parsed(text)? else { return Ok(None) };
        let statement = Statement::Select(query);
        let resolved = RefCell::default();
        // Of one that can't be bound any more, names are kept in step as far as they stand for something.
        let bound = Environment::new(ddl.state, &ddl.view())
            .for_query_of(view)
            .taking_down(&resolved)
            .leaving_views_closed()
            .with_context(text, |context| binder::bind(&statement, context, &mut Parameters::fixed(Vec::new())));
        let bound = if_readable(bound)?.flatten();
        let Statement::Select(query) = statement else { return Ok(None) };
        Ok(Some((StoredQuery::new(ddl, query, resolved.into_inner()), bound)))
    }

    /// The query as it is to be stored, with the names that things have now.
    pub fn text(&self, ddl: &Ddl<'_>, restate: Restate<'_>) -> String {
        query_text(&self.query, &NamesNow { stored: self, ddl, restate, renamed: None, relations: self.renamed(ddl) })
    }

    /// The relations that the query reads under their own names, and that are called otherwise now: from the old names to what the query
    /// calls them. One whose new name would be taken for something else goes on being called as it was, by an alias.
    fn renamed(&self, ddl: &Ddl<'_>) -> HashMap<Name, Name> {
        let mut renamed = HashMap::new();
        for (oid, old, alias) in &self.references {
            let Some(new) = ddl.catalog().object(*oid).map(|object| Name::new(object.name())) else { continue };
            if alias.is_none() && new != *old {
                renamed.insert(old.clone(), (*oid, new));
            }
        }
        if renamed.is_empty() {
            return HashMap::new();
        }
        let text = query_text(&self.query, &WrittenNames);
        let called = |(old, (oid, new)): (Name, (Oid, Name))| {
            let is_alone = self.references.iter().all(|(other, name, alias)| match alias {
                Some(alias) => *alias != old,
                None => *name != old || *other == oid,
            });
            let is_free = is_alone && !self.aliases.contains(&old) && !names(&text, &quote_identifier(&new));
            (old.clone(), if is_free { new } else { old })
        };
        renamed.into_iter().map(called).collect()
    }

    /// [`StoredQuery::text`] after a column was renamed: the new name takes the old one's place, where every use of the column is one
    /// by itself. Else the query goes on using the old name, by an alias.
    fn text_of_renamed(&self, ddl: &Ddl<'_>, column: &RenamedColumn, restate: Restate<'_>) -> String {
        let now = ddl.catalog().table(column.relation).and_then(|table| table.columns.get(column.place).cloned());
        let Some(now) = now.filter(|_| !self.names_otherwise && !self.aliased.contains(&column.relation)) else {
            return self.text(ddl, restate);
        };
        let renamed = Some((column, Name::new(&now.name)));
        let relations = HashMap::new();
        query_text(&self.query, &NamesNow { stored: self, ddl, restate: &as_written, renamed, relations })
    }

    /// What its names are looked up among from now on.
    pub fn scope(&self, ddl: &Ddl<'_>) -> ViewScope {
        let catalog = ddl.catalog();
        let mut columns: Vec<(Oid, u32)> = Vec::new();
        for oid in self.relations.values() {
            let count = match (catalog.table(*oid), crate::catalogs::system_table(*oid)) {
                (Some(table), _) => table.columns.len(),
                (None, Some(table)) => table.columns.len(),
                (None, None) => continue,
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
            relations: self.relations.values().copied().collect(),
            types: types.filter(|oid| *oid >= Oid::FIRST_NORMAL).collect(),
            fields: Vec::new(),
            keys: keys.clone(),
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
        let mut named = StoredQuery::new(ddl, Box::new(query.clone()), Resolved::default()).named().relations;
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

/// Whether a name stands in a text, as a word of its own.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '"');
    text.match_indices(name).any(|(start, found)| {
        let (before, after) = (&text[..start], &text[start + found.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

/// The query of a view's text, if it can be read.
pub(super) fn parsed(text: &str) -> Result<Option<Box<Query>>> {
    let statements = if_readable(parse(text, ParseOptions::default()))?;
    Ok(match statements.and_then(|mut statements| statements.pop()).map(|parsed| parsed.statement) {
        Some(Statement::Select(query)) => Some(query),
        _ => None,
    })
}

/// Looks names up, and writes nothing.
struct Collector<'d, 'a> {
    ddl: &'d Ddl<'a>,
    relations: RefCell<HashMap<Location, Oid>>,
    types: RefCell<HashMap<Location, SqlType>>,
    references: RefCell<Vec<(Oid, Name, Option<Name>)>>,
    aliases: RefCell<Vec<Name>>,
    aliased: RefCell<HashSet<Oid>>,
    names_otherwise: Cell<bool>,
    fields: RefCell<Vec<(Location, Name)>>,
}

impl QueryNames for Collector<'_, '_> {
    fn table(&self, reference: &TableReference) -> String {
        let name = &reference.name;
        let found = match self.ddl.find(name).ok().flatten() {
            Some(Found::System(_)) => {
                let view = self.ddl.view();
                view.relation(name.schema.as_deref(), &name.name).map(|found| found.oid())
            }
            found => found.and_then(|found| found.oid()),
        };
        if let Some(oid) = found {
            self.relations.borrow_mut().insert(name.location, oid);
            let alias = reference.alias.as_ref().map(|alias| alias.name.clone());
            self.references.borrow_mut().push((oid, name.name.clone(), alias));
            if reference.alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
                self.aliased.borrow_mut().insert(oid);
            }
        }
        String::new()
    }

    fn alias(&self, name: &Name) {
        self.aliases.borrow_mut().push(name.clone());
    }

    fn field(&self, location: Location, name: &Name) -> Option<Name> {
        self.fields.borrow_mut().push((location, name.clone()));
        None
    }

    fn join(&self, join: &Join) {
        if join.natural || !join.using.is_empty() || join.alias.is_some() {
            self.names_otherwise.set(true);
        }
    }

    fn type_name(&self, name: &TypeName) -> String {
        if let Ok(sql_type) = self.ddl.type_of(name) {
            self.types.borrow_mut().insert(name.location, sql_type);
        }
        String::new()
    }
}

/// The names that things have now.
struct NamesNow<'s, 'd, 'a> {
    stored: &'s StoredQuery,
    ddl: &'d Ddl<'a>,
    restate: Restate<'s>,
    renamed: Option<(&'s RenamedColumn, Name)>,
    /// Relations that take their new names for the old ones.
    relations: HashMap<Name, Name>,
}

impl NamesNow<'_, '_, '_> {
    fn place_of(&self, oid: Oid) -> Option<(Oid, Name)> {
        if let Some(table) = crate::catalogs::system_table(oid) {
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
    fn table(&self, reference: &TableReference) -> String {
        let found = self.stored.relations.get(&reference.name.location);
        let Some((oid, (schema, name))) = found.and_then(|oid| Some((*oid, self.place_of(*oid)?))) else {
            return WrittenNames.table(reference);
        };
        // Unless all that names it can be written anew, it goes on being called as it was, which the names of its columns begin with.
        let alias = reference.alias.clone().or_else(|| {
            let old = &reference.name.name;
            (*old != name && self.relations.get(old) != Some(&name))
                .then(|| Alias { name: old.clone(), columns: Vec::new() })
        });
        let reference = TableReference { name: self.completed(schema, name), alias, only: reference.only };
        WrittenNames.table(&(self.restate)(oid, reference))
    }

    fn function(&self, name: &QualifiedName) -> String {
        let catalog = self.ddl.catalog();
        let found = self.stored.resolved.functions.get(&name.location).and_then(|oid| catalog.function(*oid));
        match found {
            Some(function) => WrittenNames.function(&self.completed(function.schema, Name::new(&function.name))),
            None => WrittenNames.function(name),
        }
    }

    fn type_name(&self, name: &TypeName) -> String {
        match self.stored.types.get(&name.location).copied() {
            Some(sql_type) => Deparser::new(&self.ddl.view(), &NoNames, Qualify::Always).type_name(sql_type),
            None => WrittenNames.type_name(name),
        }
    }

    fn column(&self, location: Location) -> Option<&[Name; 2]> {
        self.stored.resolved.columns.get(&location)
    }

    fn relation(&self, name: &Name) -> Option<&Name> {
        self.relations.get(name)
    }

    fn row(&self, location: Location, name: &Name) -> Option<&Name> {
        let relation = *self.stored.resolved.rows.get(&location)?;
        let is_it = |(oid, old, alias): &(Oid, Name, Option<Name>)| *oid == relation && old == name && alias.is_none();
        self.relations.get(name).filter(|_| self.stored.references.iter().any(is_it))
    }

    fn renamed(&self, location: Location) -> Option<&Name> {
        let (column, name) = self.renamed.as_ref()?;
        let is_it = self.stored.resolved.attributes.get(&location) == Some(&(column.relation, column.place));
        is_it.then_some(name)
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

    fn natural(&self, location: Location) -> Option<&[Name]> {
        self.stored.resolved.natural.get(&location).map(Vec::as_slice)
    }
}

/// The stored queries of views on their way from one text to the next.
pub(super) struct StoredQueries(Vec<(Oid, StoredQuery)>);

/// Those of all views; or of those that read a relation.
pub(super) fn stored_queries(ddl: &Ddl<'_>, reading: Option<Oid>) -> Result<StoredQueries> {
    let catalog = ddl.catalog();
    let views =
        catalog.tables().filter(|view| matches!(view.kind, RelationKind::View | RelationKind::MaterializedView));
    let concerned = views.filter(|view| match (reading, &view.view_scope) {
        (Some(relation), Some(scope)) => scope.columns_of(relation).is_some(),
        _ => true,
    });
    let mut queries = Vec::new();
    for view in concerned {
        sync::yield_point()?;
        if let Some((stored, _)) = StoredQuery::of_view(ddl, view)? {
            queries.push((view.oid, stored));
        }
    }
    Ok(StoredQueries(queries))
}

impl StoredQueries {
    /// Writes the queries with the names that things have now.
    pub fn store(&self, ddl: &Ddl<'_>, renamed: Option<&RenamedColumn>, restate: Restate<'_>) -> Result<()> {
        for (view, stored) in &self.0 {
            let text = match renamed {
                Some(column) => stored.text_of_renamed(ddl, column, restate),
                None => stored.text(ddl, restate),
            };
            let differs = |old: &TableDef| old.view_query.as_deref() != Some(&text);
            if !ddl.catalog().table(*view).is_some_and(|old| differs(old)) {
                continue;
            }
            ddl.lock(*view, CHANGE_LOCK)?;
            // Another transaction may have dropped or replaced it meanwhile.
            if let Some(old) = ddl.catalog().table(*view).filter(|old| differs(old)) {
                ddl.replace(TableDef { view_query: Some(text), ..(**old).clone() })?;
            }
        }
        Ok(())
    }
}

/// A column of a relation that is going to be called otherwise.
pub(super) fn renamed_column(relation: &TableDef, place: usize) -> RenamedColumn {
    RenamedColumn { relation: relation.oid, place }
}

/// A column of a relation is going to be called otherwise: an alias keeps the names that columns have had.
pub(super) fn with_column_names(relation: &TableDef) -> impl Fn(Oid, TableReference) -> TableReference + use<> {
    let names: Vec<Name> =
        relation.columns.iter().filter(|column| !column.dropped).map(|column| Name::new(&column.name)).collect();
    let relation = relation.oid;
    move |oid, mut reference| {
        if oid == relation {
            let old = || Alias { name: reference.name.name.clone(), columns: Vec::new() };
            let alias = reference.alias.get_or_insert_with(old);
            let known = alias.columns.len();
            alias.columns.extend(names.iter().skip(known).cloned());
        }
        reference
    }
}

/// A column that no view uses is going to be dropped: aliases that list a table's columns do without it.
pub(super) fn column_dropped(ddl: &Ddl<'_>, table: &TableDef, place: usize) -> Result<()> {
    let number = table.columns[..place].iter().filter(|column| !column.dropped).count();
    stored_queries(ddl, Some(table.oid))?.store(ddl, None, &|oid, mut reference| {
        if oid == table.oid
            && let Some(alias) = reference.alias.as_mut().filter(|alias| alias.columns.len() > number)
        {
            alias.columns.remove(number);
        }
        reference
    })
}

/// References as they are.
pub(super) fn as_written(_: Oid, reference: TableReference) -> TableReference {
    reference
}
