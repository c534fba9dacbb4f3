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
    /// The rows.
    pub rows: Arc<[Tid]>,
}

/// One change of the catalog by a transaction.
#[derive(Clone)]
pub enum Change {
    /// Made or replaced.
    Put(Entry),
    /// Dropped.
    Drop(Oid),
}

impl Change {
    /// The object.
    pub fn oid(&self) -> Oid {
        match self {
            Change::Put(entry) => entry.object.oid(),
            Change::Drop(oid) => *oid,
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

/// One version of all catalog objects.
#[derive(Clone, Default)]
pub struct Catalog {
    version: u64,
    csn: Lsn,
    objects: FxHashMap<Oid, Entry>,
    names: HashMap<NameKey, SmallVec<[Oid; 1]>, FxBuildHasher>,
    indexes: FxHashMap<Oid, Arc<[Arc<IndexDef>]>>,
    /// Tables with a foreign key to the key's table.
    referencing: FxHashMap<Oid, SmallVec<[Oid; 2]>>,
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

    /// Whether a schema is some session's own, for its temporary objects.
    pub fn is_temporary(&self, schema: Oid) -> bool {
        self.schema(schema).is_some_and(|schema| schema.name.starts_with(TEMPORARY_SCHEMA_PREFIX))
    }

    /// The object `oid`.
    pub fn object(&self, oid: Oid) -> Option<&Object> {
        self.objects.get(&oid).map(|entry| &entry.object)
    }

    /// All objects, in no order.
    pub fn objects(&self) -> impl Iterator<Item = &Object> + Clone {
        self.objects.values().map(|entry| &entry.object)
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
        self.names.get(&NameRef(space, schema, name)).map_or(&[], |oids| oids.as_slice())
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
        self.indexes.get(&table).map_or(&[], |indexes| indexes)
    }

    /// The tables with a foreign key to `table`.
    pub fn tables_referencing(&self, table: Oid) -> impl Iterator<Item = &Arc<TableDef>> {
        self.referencing.get(&table).into_iter().flatten().filter_map(|oid| self.table(*oid))
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
    pub fn entry(&self, oid: Oid) -> Option<&Entry> {
        self.objects.get(&oid)
    }

    /// This version with `changes` made, under another number.
    pub fn with_changes<'a>(&self, changes: impl IntoIterator<Item = &'a Change>, version: u64) -> Catalog {
        let mut next = self.clone();
        next.version = version;
        for change in changes {
            match change {
                Change::Put(entry) => next.put(entry.clone()),
                Change::Drop(oid) => next.remove(*oid),
            }
        }
        next
    }

    /// Sets the commit that makes this version.
    pub fn set_csn(&mut self, csn: Lsn) {
        self.csn = csn;
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
        self.objects.insert(oid, entry);
    }

    fn remove(&mut self, oid: Oid) {
        let Some(entry) = self.objects.remove(&oid) else { return };
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
        f.debug_struct("Catalog").field("version", &self.version).field("objects", &self.objects.len()).finish()
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

    fn put(object: impl Into<Object>) -> Change {
        Change::Put(Entry { object: object.into(), rows: [].into() })
    }

    fn table(oid: u32, name: &str) -> TableDef {
        TableDef::new(Oid(oid), PUBLIC_SCHEMA, name, BOOTSTRAP_ROLE).column("id", PhysicalType::I32)
    }

    #[test]
    fn objects_are_found_by_name_until_dropped_and_old_versions_do_not_change() {
        let empty = Catalog::default();
        let first = empty.with_changes(&[put(table(1, "t"))], 1);
        let renamed = first.with_changes(&[put(table(1, "u"))], 2);
        let dropped = renamed.with_changes(&[Change::Drop(Oid(1))], 3);
        let found = |catalog: &Catalog, name: &str| catalog.table_by_name(PUBLIC_SCHEMA, name).map(|def| def.oid);
        assert_eq!(found(&empty, "t"), None);
        assert_eq!((found(&first, "t"), found(&first, "u")), (Some(Oid(1)), None));
        assert_eq!((found(&renamed, "t"), found(&renamed, "u")), (None, Some(Oid(1))));
        assert_eq!(found(&dropped, "u"), None);
        assert_eq!(dropped.version(), 3);
        assert!(first.table_by_name(Oid(11), "t").is_none());
    }

    #[test]
    fn indexes_of_a_table_are_listed_oldest_first() {
        let def = table(1, "t");
        let index = |oid: u32| put(IndexDef::new(Oid(oid), &def, format!("i{oid}"), &[0], false));
        let catalog = Catalog::default().with_changes(&[put(def.clone()), index(9), index(5)], 1);
        let oids: Vec<_> = catalog.indexes_of(Oid(1)).iter().map(|index| index.oid.0).collect();
        assert_eq!(oids, [5, 9]);
        let catalog = catalog.with_changes(&[Change::Drop(Oid(5)), Change::Drop(Oid(9))], 2);
        assert!(catalog.indexes_of(Oid(1)).is_empty());
    }

    #[test]
    fn relations_share_a_name_space_and_functions_are_told_apart_by_arguments() {
        let catalog = Catalog::default().with_changes(&[put(table(1, "x"))], 1);
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
}
