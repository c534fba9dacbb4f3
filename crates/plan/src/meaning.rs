//! Types, constants and fields of a kept statement, which are used again when it is planned again.

use std::collections::HashMap;
use std::sync::Arc;

use base::Oid;
use schema::catalog::{Catalog, Object, SchemaDef};
use syntax::tree::{Location, Name};
use types::{RecordShape, SqlType, Value, oids};

/// The objects that type names and literals of a statement's text stand for, where users may rename them. A statement that is kept is planned again
/// after each change of the catalog, but its text is only read again after changes of the relations and functions that it uses. Otherwise its
/// types and constants stay: a label of an enum, for example, is the same label under another name.
#[derive(Debug, Default)]
pub struct Meaning {
    /// Values of literals, by where they stand and what they are read as.
    literals: HashMap<(Location, Oid), Value>,
    /// Types, by where their names stand.
    types: HashMap<Location, SqlType>,
    /// Fields of rows, by where they are taken, the row's type and the name: which field of the type it is, and the type's fields then.
    fields: HashMap<(Location, Oid, Name), (usize, Arc<RecordShape>)>,
    /// Functions that users made.
    functions: Vec<Oid>,
    /// Relations and functions with their descriptors, and the indexes of tables.
    used: Vec<Object>,
    schemas: Vec<Arc<SchemaDef>>,
}

/// Whether a value of this type names something, or is of a type that a user made.
fn is_nameable(type_oid: Oid) -> bool {
    let names_objects =
        [oids::REGCLASS, oids::REGPROC, oids::REGPROCEDURE, oids::REGTYPE, oids::REGNAMESPACE, oids::REGROLE];
    type_oid >= Oid::FIRST_NORMAL || names_objects.contains(&type_oid)
}

/// A field of a row that a text named when it was planned before.
pub enum EarlierField<'m> {
    /// It is at this place now.
    At(usize),
    /// The type has lost it. It was at this place of this shape.
    Gone(usize, &'m Arc<RecordShape>),
}

impl Meaning {
    /// Takes down a literal, if its value may come to have another text.
    pub fn note_literal(&mut self, location: Location, read_as: SqlType, value: &Value) {
        if location >= 0 && is_nameable(read_as.oid) {
            self.literals.insert((location, read_as.oid), value.clone());
        }
    }

    /// Takes down a type's name, if the type may be renamed.
    pub fn note_type(&mut self, location: Location, sql_type: SqlType) {
        if location >= 0 && sql_type.oid >= Oid::FIRST_NORMAL {
            self.types.insert(location, sql_type);
        }
    }

    /// Takes down a field of a row, if it may be renamed.
    pub fn note_field(
        &mut self,
        location: Location,
        row_type: Oid,
        name: &Name,
        position: usize,
        shape: &Arc<RecordShape>,
    ) {
        if location >= 0 && row_type >= Oid::FIRST_NORMAL {
            self.fields.insert((location, row_type, name.clone()), (position, Arc::clone(shape)));
        }
    }

    /// Takes down a function that is called.
    pub fn note_function(&mut self, oid: Oid) {
        self.functions.push(oid);
    }

    /// The literal's value.
    pub fn literal(&self, location: Location, read_as: SqlType) -> Option<&Value> {
        self.literals.get(&(location, read_as.oid))
    }

    /// The type that a name stands for.
    pub fn type_named(&self, location: Location) -> Option<SqlType> {
        self.types.get(&location).copied()
    }

    /// Which field of a row's type, which has the fields `now`, a name stands for.
    pub fn field(&self, location: Location, row_type: Oid, name: &Name, now: &RecordShape) -> Option<EarlierField<'_>> {
        let (place, then) = self.fields.get(&(location, row_type, name.clone()))?;
        let place_now = now.place_of(*place, then.attribute_at(*place)).filter(|place| *place < now.fields.len());
        Some(place_now.map_or(EarlierField::Gone(*place, then), EarlierField::At))
    }

    /// The meaning as a whole, of a statement that uses these relations; none if nothing was taken down.
    #[must_use]
    pub fn finished(mut self, catalog: &Catalog, relations: impl Iterator<Item = Oid>) -> Option<Arc<Meaning>> {
        if self.literals.is_empty() && self.types.is_empty() && self.fields.is_empty() {
            return None;
        }
        let relation_in = |((_, read_as), value): (&(Location, Oid), &Value)| match value {
            Value::Oid(oid) if *read_as == oids::REGCLASS => Some(Oid(*oid)),
            _ => None,
        };
        let named: Vec<Oid> = self.literals.iter().filter_map(relation_in).collect();
        let oids = relations.chain(named).chain(std::mem::take(&mut self.functions));
        self.used = oids.flat_map(|oid| descriptors(catalog, oid)).collect();
        self.schemas = schemas(catalog);
        Some(Arc::new(self))
    }

    /// Whether nothing has changed since for which the text is read again.
    pub fn holds(&self, catalog: &Catalog) -> bool {
        // Indexes follow their tables.
        let others = self.used.iter().filter(|object| !matches!(object, Object::Index(_)));
        let now = others.flat_map(|object| descriptors(catalog, object.oid()));
        now.eq(self.used.iter().cloned()) && schemas(catalog) == self.schemas
    }
}

/// A relation's or function's descriptor, and those of a table's indexes.
fn descriptors(catalog: &Catalog, oid: Oid) -> Vec<Object> {
    let indexes = catalog.indexes_of(oid).iter().cloned().map(Object::Index);
    catalog.object(oid).cloned().into_iter().chain(indexes).collect()
}

fn schemas(catalog: &Catalog) -> Vec<Arc<SchemaDef>> {
    let mut schemas: Vec<_> = catalog.schemas().filter(|schema| !catalog.is_temporary(schema.oid)).cloned().collect();
    schemas.sort_by_key(|schema| schema.oid);
    schemas
}
