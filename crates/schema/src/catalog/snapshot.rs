//! One version of all descriptors, immutable.

use std::sync::Arc;

use base::{Lsn, Oid, Tid};
use hashbrown::{Equivalent, HashMap};
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use super::definitions::*;
use super::function::{ArgumentMode, FunctionDef};
use super::role::RoleDef;

/// A name in its name space and schema.
#[derive(Clone, PartialEq, Eq, Hash)]
struct NameKey(NameSpace, Oid, Arc<str>);

#[derive(Hash)]
struct NameRef<'a>(NameSpace, Oid, &'a str);

impl Equivalent<NameKey> for NameRef<'_> {
    fn equivalent(&self, key: &NameKey) -> bool {
        (self.0, self.1) == (key.0, key.1) && *self.2 == *key.2
    }
}

/// An object and the rows of the catalog heap that hold it.
#[derive(Clone)]
pub struct Entry {
    /// The object.
    pub object: Object,
    /// The database that it is in; [`Oid::INVALID`] if all share it.
    pub database: Oid,
    /// The number under which a relation is locked and counted. It is the object's own number, except in a copy of a database: there the
    /// template's relation has that number already.
    pub unique: Oid,
    /// The rows.
    pub rows: Arc<[Tid]>,
}

/// One change of the catalog by a transaction.
#[derive(Clone)]
pub enum Change {
    /// Made or replaced.
    Put(Entry),
    /// Dropped.
    Drop {
        /// The database that it was in; [`Oid::INVALID`] if all shared it.
        database: Oid,
        /// The object.
        oid: Oid,
    },
}

impl Change {
    /// The object.
    pub fn oid(&self) -> Oid {
        match self {
            Change::Put(entry) => entry.object.oid(),
            Change::Drop { oid, .. } => *oid,
        }
    }

    /// The database of the object; [`Oid::INVALID`] if all share it.
    pub fn database(&self) -> Oid {
        match self {
            Change::Put(Entry { database, .. }) | Change::Drop { database, .. } => *database,
        }
    }
}

/// The object that a name of the relation name space stands for.
#[derive(Clone, Copy, Debug)]
pub enum Relation<'a> {
    /// A table, view or materialized view.
    Table(&'a Arc<TableDef>),
    /// An index.
    Index(&'a Arc<IndexDef>),
    /// A sequence.
    Sequence(&'a Arc<SequenceDef>),
}

impl Relation<'_> {
    /// Its identifier.
    pub fn oid(&self) -> Oid {
        match self {
            Relation::Table(def) => def.oid,
            Relation::Index(def) => def.oid,
            Relation::Sequence(def) => def.oid,
        }
    }
}

/// One version of the objects that a session of one database sees: those of the database, and those that all databases share.
#[derive(Clone, Default)]
pub struct Catalog {
    version: u64,
    csn: Lsn,
    database: Oid,
    own: Arc<Objects>,
    shared: Arc<Objects>,
}

impl Catalog {
    /// Which version this is; a session's own uncommitted changes make versions of their own.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The commit that made it: who answers from it without reading rows has observed this.
    pub fn csn(&self) -> Lsn {
        self.csn
    }

    /// The database whose objects these are.
    pub fn database(&self) -> Oid {
        self.database
    }

    /// Whether a schema is some session's own, for its temporary objects.
    pub fn is_temporary(&self, schema: Oid) -> bool {
        self.schema(schema).is_some_and(|schema| schema.name.starts_with(TEMPORARY_SCHEMA_PREFIX))
    }

    /// The object `oid`.
    #[inline]
    pub fn object(&self, oid: Oid) -> Option<&Object> {
        self.entry(oid).map(|entry| &entry.object)
    }

    /// All objects, in no order.
    pub fn objects(&self) -> impl Iterator<Item = &Object> + Clone {
        self.entries().map(|entry| &entry.object)
    }

    /// All objects with their rows, in no order.
    fn entries(&self) -> impl Iterator<Item = &Entry> + Clone {
        self.own_entries().chain(self.shared.entries.values())
    }

    /// The objects of the database with their rows, in no order.
    pub fn own_entries(&self) -> impl Iterator<Item = &Entry> + Clone {
        self.own.entries.values()
    }

    /// The number by which the relation `oid` is locked and counted; see [`Entry::unique`].
    #[inline]
    pub fn unique(&self, oid: Oid) -> Oid {
        if self.own.copies.is_empty() {
            return oid;
        }
        self.own.entries.get(&oid).map_or(oid, |entry| entry.unique)
    }

    /// The schema `oid`.
    pub fn schema(&self, oid: Oid) -> Option<&Arc<SchemaDef>> {
        match self.object(oid) {
            Some(Object::Schema(def)) => Some(def),
            _ => None,
        }
    }

    /// The table or view `oid`.
    #[inline]
    pub fn table(&self, oid: Oid) -> Option<&Arc<TableDef>> {
        match self.object(oid) {
            Some(Object::Table(def)) => Some(def),
            _ => None,
        }
    }

    /// The index `oid`.
    pub fn index(&self, oid: Oid) -> Option<&Arc<IndexDef>> {
        match self.object(oid) {
            Some(Object::Index(def)) => Some(def),
            _ => None,
        }
    }

    /// The sequence `oid`.
    pub fn sequence(&self, oid: Oid) -> Option<&Arc<SequenceDef>> {
        match self.object(oid) {
            Some(Object::Sequence(def)) => Some(def),
            _ => None,
        }
    }

    /// The function `oid`.
    pub fn function(&self, oid: Oid) -> Option<&Arc<FunctionDef>> {
        match self.object(oid) {
            Some(Object::Function(def)) => Some(def),
            _ => None,
        }
    }

    /// The role `oid`.
    pub fn role(&self, oid: Oid) -> Option<&Arc<RoleDef>> {
        match self.object(oid) {
            Some(Object::Role(def)) => Some(def),
            _ => None,
        }
    }

    fn named(&self, space: NameSpace, schema: Oid, name: &str) -> &[Oid] {
        match self.own.named(space, schema, name) {
            [] => self.shared.named(space, schema, name),
            found => found,
        }
    }

    /// The schema called `name`.
    pub fn schema_by_name(&self, name: &str) -> Option<&Arc<SchemaDef>> {
        self.schema(*self.named(NameSpace::Schema, Oid::INVALID, name).first()?)
    }

    /// The role called `name`.
    pub fn role_by_name(&self, name: &str) -> Option<&Arc<RoleDef>> {
        self.role(*self.named(NameSpace::Role, Oid::INVALID, name).first()?)
    }

    /// Returns the table, view, index or sequence called `name` in `schema`.
    pub fn relation_by_name(&self, schema: Oid, name: &str) -> Option<Relation<'_>> {
        match self.object(*self.named(NameSpace::Relation, schema, name).first()?)? {
            Object::Table(def) => Some(Relation::Table(def)),
            Object::Index(def) => Some(Relation::Index(def)),
            Object::Sequence(def) => Some(Relation::Sequence(def)),
            _ => None,
        }
    }

    /// The table or view called `name` in `schema`.
    pub fn table_by_name(&self, schema: Oid, name: &str) -> Option<&Arc<TableDef>> {
        match self.relation_by_name(schema, name) {
            Some(Relation::Table(def)) => Some(def),
            _ => None,
        }
    }

    /// The index called `name` in `schema`.
    pub fn index_by_name(&self, schema: Oid, name: &str) -> Option<&Arc<IndexDef>> {
        match self.relation_by_name(schema, name) {
            Some(Relation::Index(def)) => Some(def),
            _ => None,
        }
    }

    /// The sequence called `name` in `schema`.
    pub fn sequence_by_name(&self, schema: Oid, name: &str) -> Option<&Arc<SequenceDef>> {
        match self.relation_by_name(schema, name) {
            Some(Relation::Sequence(def)) => Some(def),
            _ => None,
        }
    }

    /// The functions called `name` in `schema`.
    pub fn functions_named(&self, schema: Oid, name: &str) -> impl Iterator<Item = &Arc<FunctionDef>> {
        self.named(NameSpace::Function, schema, name).iter().filter_map(|oid| self.function(*oid))
    }

    /// The custom object of `class` called `name` in `schema`.
    pub fn custom_by_name(&self, class: Oid, schema: Oid, name: &str) -> Option<&Arc<CustomDef>> {
        match self.object(*self.named(NameSpace::Custom(class), schema, name).first()?) {
            Some(Object::Custom(def)) => Some(def),
            _ => None,
        }
    }

    /// The indexes of `table`, oldest first.
    pub fn indexes_of(&self, table: Oid) -> &[Arc<IndexDef>] {
        self.own.indexes_of(table)
    }

    /// The tables with a foreign key to `table`.
    pub fn tables_referencing(&self, table: Oid) -> impl Iterator<Item = &Arc<TableDef>> {
        self.own.referencing.get(&table).into_iter().flatten().filter_map(|oid| self.table(*oid))
    }

    /// All schemas.
    pub fn schemas(&self) -> impl Iterator<Item = &Arc<SchemaDef>> {
        self.objects().filter_map(|object| if let Object::Schema(def) = object { Some(def) } else { None })
    }

    /// All tables and views.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<TableDef>> + Clone {
        self.objects().filter_map(|object| if let Object::Table(def) = object { Some(def) } else { None })
    }

    /// All indexes.
    pub fn indexes(&self) -> impl Iterator<Item = &Arc<IndexDef>> {
        self.objects().filter_map(|object| if let Object::Index(def) = object { Some(def) } else { None })
    }

    /// All sequences.
    pub fn sequences(&self) -> impl Iterator<Item = &Arc<SequenceDef>> {
        self.objects().filter_map(|object| if let Object::Sequence(def) = object { Some(def) } else { None })
    }

    /// All functions.
    pub fn functions(&self) -> impl Iterator<Item = &Arc<FunctionDef>> {
        self.objects().filter_map(|object| if let Object::Function(def) = object { Some(def) } else { None })
    }

    /// All roles.
    pub fn roles(&self) -> impl Iterator<Item = &Arc<RoleDef>> {
        self.objects().filter_map(|object| if let Object::Role(def) = object { Some(def) } else { None })
    }

    /// The database `oid`.
    pub fn database_def(&self, oid: Oid) -> Option<&Arc<DatabaseDef>> {
        match self.shared.entries.get(&oid).map(|entry| &entry.object) {
            Some(Object::Database(def)) => Some(def),
            _ => None,
        }
    }

    /// The database called `name`.
    pub fn database_by_name(&self, name: &str) -> Option<&Arc<DatabaseDef>> {
        self.database_def(*self.named(NameSpace::Database, Oid::INVALID, name).first()?)
    }

    /// All databases.
    pub fn databases(&self) -> impl Iterator<Item = &Arc<DatabaseDef>> {
        let shared = self.shared.entries.values().map(|entry| &entry.object);
        shared.filter_map(|object| if let Object::Database(def) = object { Some(def) } else { None })
    }

    /// All custom objects of `class`.
    pub fn customs(&self, class: Oid) -> impl Iterator<Item = &Arc<CustomDef>> {
        self.objects().filter_map(move |object| match object {
            Object::Custom(def) if def.class == class => Some(def),
            _ => None,
        })
    }

    /// The object that stands in the way of another of `object`'s name, if there is one.
    pub fn conflicting(&self, object: &Object) -> Option<&Object> {
        let same_name = self.named(object.name_space(), object.schema(), object.name());
        same_name.iter().filter(|oid| **oid != object.oid()).filter_map(|oid| self.object(*oid)).find(|other| {
            match (other, object) {
                (Object::Function(a), Object::Function(b)) => input_types(a).eq(input_types(b)),
                _ => true,
            }
        })
    }

    /// An object with its rows.
    #[inline]
    pub fn entry(&self, oid: Oid) -> Option<&Entry> {
        self.own.entries.get(&oid).or_else(|| self.shared.entries.get(&oid))
    }

    /// This version with `changes` made, under another number. Changes in other databases are left out.
    pub fn with_changes<'a>(&self, changes: impl IntoIterator<Item = &'a Change>, version: u64) -> Catalog {
        let mut next = self.clone();
        next.version = version;
        for change in changes {
            if change.database() == Oid::INVALID {
                Arc::make_mut(&mut next.shared).apply(change);
            } else if change.database() == self.database {
                Arc::make_mut(&mut next.own).apply(change);
            }
        }
        next
    }
}

/// One version of the objects of all databases.
#[derive(Clone, Default)]
pub struct Catalogs {
    version: u64,
    /// That of no database: the shared objects.
    none: Arc<Catalog>,
    databases: FxHashMap<Oid, Arc<Catalog>>,
}

impl Catalogs {
    /// Which version this is.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The catalog of `database`: the shared objects only, if there is no such database.
    pub fn of(&self, database: Oid) -> &Arc<Catalog> {
        self.databases.get(&database).unwrap_or(&self.none)
    }

    /// The catalogs of all databases that have objects.
    pub fn databases(&self) -> impl Iterator<Item = &Arc<Catalog>> {
        self.databases.values()
    }

    /// The database and number of a relation that is locked by the number `unique`.
    pub fn relation(&self, unique: Oid) -> Option<(Oid, Oid)> {
        self.databases.values().find_map(|catalog| {
            let own = |oid: &Oid| catalog.own.entries.get(oid).is_some_and(|entry| entry.unique == unique);
            let oid = catalog.own.copies.get(&unique).copied().or_else(|| Some(unique).filter(own))?;
            Some((catalog.database, oid))
        })
    }

    /// The objects of all databases, and those that they share.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        let own = self.databases.values().flat_map(|catalog| catalog.own.entries.values());
        own.chain(self.none.shared.entries.values()).map(|entry| &entry.object)
    }

    /// This version with `changes` made, under another number.
    pub fn with_changes<'a>(&self, changes: impl IntoIterator<Item = &'a Change>, version: u64) -> Catalogs {
        let mut next = self.clone();
        let mut shared = Arc::clone(&next.none.shared);
        for change in changes {
            let database = change.database();
            if database == Oid::INVALID {
                Arc::make_mut(&mut shared).apply(change);
            } else {
                let catalog = next.databases.entry(database).or_default();
                let catalog = Arc::make_mut(catalog);
                catalog.database = database;
                Arc::make_mut(&mut catalog.own).apply(change);
            }
        }
        next.databases.retain(|_, catalog| !catalog.own.entries.is_empty());
        next.version = version;
        next.for_each(|catalog| {
            catalog.version = version;
            catalog.shared = Arc::clone(&shared);
        });
        next
    }

    /// Sets the commit that makes this version.
    pub fn set_csn(&mut self, csn: Lsn) {
        self.for_each(|catalog| catalog.csn = csn);
    }

    fn for_each(&mut self, change: impl Fn(&mut Catalog)) {
        for catalog in self.databases.values_mut().chain([&mut self.none]) {
            change(Arc::make_mut(catalog));
        }
    }
}

impl std::fmt::Debug for Catalogs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Catalogs").field("version", &self.version).field("databases", &self.databases.len()).finish()
    }
}

/// The objects of one database, or those that all share.
#[derive(Clone, Default)]
struct Objects {
    entries: FxHashMap<Oid, Entry>,
    names: HashMap<NameKey, SmallVec<[Oid; 1]>, FxBuildHasher>,
    indexes: FxHashMap<Oid, Arc<[Arc<IndexDef>]>>,
    /// Tables with a foreign key to the key's table.
    referencing: FxHashMap<Oid, SmallVec<[Oid; 2]>>,
    /// The relations that are locked by another number than their own, by that number.
    copies: FxHashMap<Oid, Oid>,
}

impl Objects {
    fn named(&self, space: NameSpace, schema: Oid, name: &str) -> &[Oid] {
        self.names.get(&NameRef(space, schema, name)).map_or(&[], |oids| oids.as_slice())
    }

    fn indexes_of(&self, table: Oid) -> &[Arc<IndexDef>] {
        self.indexes.get(&table).map_or(&[], |indexes| indexes)
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::Put(entry) => self.put(entry.clone()),
            Change::Drop { oid, .. } => self.remove(*oid),
        }
    }

    fn put(&mut self, entry: Entry) {
        let oid = entry.object.oid();
        self.remove(oid);
        let key = NameKey(entry.object.name_space(), entry.object.schema(), entry.object.name().into());
        self.names.entry(key).or_default().push(oid);
        match &entry.object {
            Object::Index(def) => self.set_indexes(def.table, |indexes| {
                let at = indexes.partition_point(|other| other.oid < oid);
                indexes.insert(at, def.clone());
            }),
            Object::Table(def) => {
                for referenced in referenced_tables(def) {
                    let tables = self.referencing.entry(referenced).or_default();
                    if !tables.contains(&oid) {
                        tables.push(oid);
                    }
                }
            }
            _ => {}
        }
        if entry.unique != oid {
            self.copies.insert(entry.unique, oid);
        }
        self.entries.insert(oid, entry);
    }

    fn remove(&mut self, oid: Oid) {
        let Some(entry) = self.entries.remove(&oid) else { return };
        if entry.unique != oid {
            self.copies.remove(&entry.unique);
        }
        let key = NameKey(entry.object.name_space(), entry.object.schema(), entry.object.name().into());
        if let Some(oids) = self.names.get_mut(&key) {
            oids.retain(|other| *other != oid);
            if oids.is_empty() {
                self.names.remove(&key);
            }
        }
        match &entry.object {
            Object::Index(def) => self.set_indexes(def.table, |indexes| indexes.retain(|other| other.oid != oid)),
            Object::Table(def) => {
                for referenced in referenced_tables(def) {
                    if let Some(tables) = self.referencing.get_mut(&referenced) {
                        tables.retain(|table| *table != oid);
                    }
                }
            }
            _ => {}
        }
    }

    fn set_indexes(&mut self, table: Oid, change: impl FnOnce(&mut Vec<Arc<IndexDef>>)) {
        let mut indexes = self.indexes_of(table).to_vec();
        change(&mut indexes);
        if indexes.is_empty() {
            self.indexes.remove(&table);
        } else {
            self.indexes.insert(table, indexes.into());
        }
    }
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Catalog").field("version", &self.version).field("objects", &self.entries().count()).finish()
    }
}

fn input_types(function: &FunctionDef) -> impl Iterator<Item = Oid> {
    function
        .arguments
        .iter()
        .filter(|argument| !matches!(argument.mode, ArgumentMode::Out | ArgumentMode::Table))
        .map(|argument| argument.type_oid)
}

fn referenced_tables(table: &TableDef) -> impl Iterator<Item = Oid> {
    table.constraints.iter().filter_map(|constraint| match &constraint.kind {
        ConstraintKind::ForeignKey { referenced_table, .. } => Some(*referenced_table),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{ArgumentDef, BOOTSTRAP_ROLE};
    use crate::row::PhysicalType;

    const HERE: Oid = Oid(5);

    fn empty() -> Catalog {
        Catalog { database: HERE, ..Catalog::default() }
    }

    fn dropped(oid: u32) -> Change {
        Change::Drop { database: HERE, oid: Oid(oid) }
    }

    fn put_in(database: Oid, object: impl Into<Object>) -> Change {
        let object = object.into();
        Change::Put(Entry { unique: object.oid(), object, database, rows: [].into() })
    }

    fn put(object: impl Into<Object>) -> Change {
        put_in(HERE, object)
    }

    fn table(oid: u32, name: &str) -> TableDef {
        TableDef::new(Oid(oid), PUBLIC_SCHEMA, name, BOOTSTRAP_ROLE).column("id", PhysicalType::I32)
    }

    #[test]
    fn objects_are_found_by_name_until_dropped_and_old_versions_do_not_change() {
        let empty = empty();
        let first = empty.with_changes(&[put(table(1, "t"))], 1);
        let renamed = first.with_changes(&[put(table(1, "u"))], 2);
        let gone = renamed.with_changes(&[dropped(1)], 3);
        let found = |catalog: &Catalog, name: &str| catalog.table_by_name(PUBLIC_SCHEMA, name).map(|def| def.oid);
        assert_eq!(found(&empty, "t"), None);
        assert_eq!((found(&first, "t"), found(&first, "u")), (Some(Oid(1)), None));
        assert_eq!((found(&renamed, "t"), found(&renamed, "u")), (None, Some(Oid(1))));
        assert_eq!(found(&gone, "u"), None);
        assert_eq!(gone.version(), 3);
        assert!(first.table_by_name(Oid(11), "t").is_none());
    }

    #[test]
    fn indexes_of_a_table_are_listed_oldest_first() {
        let def = table(1, "t");
        let index = |oid: u32| put(IndexDef::new(Oid(oid), &def, format!("i{oid}"), &[0], false));
        let catalog = empty().with_changes(&[put(def.clone()), index(9), index(5)], 1);
        let oids: Vec<_> = catalog.indexes_of(Oid(1)).iter().map(|index| index.oid.0).collect();
        assert_eq!(oids, [5, 9]);
        let catalog = catalog.with_changes(&[dropped(5), dropped(9)], 2);
        assert!(catalog.indexes_of(Oid(1)).is_empty());
    }

    #[test]
    fn relations_share_a_name_space_and_functions_are_told_apart_by_arguments() {
        let catalog = empty().with_changes(&[put(table(1, "x"))], 1);
        let sequence = SequenceDef::new(Oid(2), PUBLIC_SCHEMA, "x", BOOTSTRAP_ROLE);
        assert!(catalog.conflicting(&sequence.into()).is_some());
        let function = |oid: u32, argument: u32| FunctionDef {
            arguments: vec![ArgumentDef { name: None, type_oid: Oid(argument), mode: ArgumentMode::In, default: None }],
            returns: Oid(23),
            ..FunctionDef::new(Oid(oid), PUBLIC_SCHEMA, "x", BOOTSTRAP_ROLE)
        };
        let catalog = catalog.with_changes(&[put(function(3, 23))], 2);
        assert!(catalog.conflicting(&function(4, 20).into()).is_none());
        assert!(catalog.conflicting(&function(4, 23).into()).is_some());
        assert!(catalog.conflicting(&function(3, 23).into()).is_none());
    }

    #[test]
    fn databases_see_shared_objects_and_their_own() {
        let shared = put_in(Oid::INVALID, DatabaseDef::new(Oid(7), "all", BOOTSTRAP_ROLE));
        let other = put_in(Oid(6), table(1, "other"));
        let both = Catalogs::default().with_changes(&[put(table(1, "t")), other, shared], 1);
        let name = |database: u32| both.of(Oid(database)).table(Oid(1)).map(|def| def.name.clone());
        assert_eq!([name(5), name(6), name(7)], [Some("t".into()), Some("other".into()), None]);
        assert!([5, 6, 7].iter().all(|database| both.of(Oid(*database)).object(Oid(7)).is_some()));
        assert_eq!(both.objects().count(), 3);
        let one = both.with_changes(&[dropped(1)], 2);
        assert_eq!((one.of(HERE).tables().count(), one.of(Oid(6)).tables().count()), (0, 1));
        assert_eq!((one.of(Oid(6)).version(), both.of(Oid(6)).version()), (2, 1));
    }

    #[test]
    fn a_copied_relation_is_found_by_its_second_number_until_it_is_dropped() {
        let copy = |name: &str| {
            Change::Put(Entry { object: table(1, name).into(), database: Oid(6), unique: Oid(100), rows: [].into() })
        };
        let both = Catalogs::default().with_changes(&[put(table(1, "t")), copy("t")], 1);
        assert_eq!((both.of(HERE).unique(Oid(1)), both.of(Oid(6)).unique(Oid(1))), (Oid(1), Oid(100)));
        assert_eq!(both.of(Oid(6)).unique(Oid(2)), Oid(2), "a relation in the making");
        assert_eq!((both.relation(Oid(1)), both.relation(Oid(100))), (Some((HERE, Oid(1))), Some((Oid(6), Oid(1)))));
        let renamed = both.with_changes(&[copy("u"), dropped(1)], 2);
        assert_eq!((renamed.relation(Oid(1)), renamed.relation(Oid(100))), (None, Some((Oid(6), Oid(1)))));
        let gone = renamed.with_changes(&[Change::Drop { database: Oid(6), oid: Oid(1) }], 3);
        assert_eq!((gone.relation(Oid(100)), gone.databases().count()), (None, 0));
    }
}
