//! `pg_depend`: what depends on what, found in the descriptors.
//!
//! The rows are those that PostgreSQL has for objects that users made. Those of its tables for long values and of the triggers by which it
//! keeps foreign keys are not there, as there are no such objects. Nothing is told of built-in objects.

use std::collections::BTreeSet;
use std::sync::Arc;

use base::{Oid, Result};
use plan::user_types::TypeBody;
use plan::{privileges, user_types};
use schema::catalog::ConstraintKind::{Check, ForeignKey, PrimaryKey, Unique};
use schema::catalog::{Catalog, ConstraintDef, IndexDef, Object, PUBLIC_SCHEMA, TableDef, class};
use types::context::UserTypeKind;
use types::{CatalogLookup, SqlType, Value, base_type};

use super::objects::language_oid;
use super::relations::{constraints, tables};
use super::rows::{Wanted, letter, row, wanted_oid};
use super::{Equal, system_table};
use crate::commands::dependencies::{Named, WantedUses};
use crate::state::session_of;
use crate::system_tables::{default_oid, is_view, rule_oid};
use executor::Run;

/// An object, or a part of one: its catalog, its number, and the number of the column.
type Address = (Oid, Oid, i32);

/// The rows of the table so far.
struct Rows(Vec<Vec<Value>>);

impl Rows {
    /// Says that `object` depends on `referenced`, unless that is there in any case.
    fn add(&mut self, object: Address, referenced: Address, kind: char) {
        let (class, oid, _) = referenced;
        // PostgreSQL makes its views by statements, and public may be dropped.
        let is_made = class == class::RELATION && system_table(oid).is_some_and(|table| is_view(&table));
        if oid >= Oid::FIRST_NORMAL || is_made || oid == PUBLIC_SCHEMA || oid == language_oid("plpgsql") {
            let ((class, oid, part), (of_class, of_oid, of_part)) = (object, referenced);
            self.0.push(row![class, oid, part, of_class, of_oid, of_part, letter(kind)]);
        }
    }

    /// Says so of several, each once.
    fn add_all(&mut self, object: Address, referenced: impl IntoIterator<Item = Address>, kind: char) {
        let referenced: BTreeSet<Address> = referenced.into_iter().collect();
        referenced.into_iter().for_each(|referenced| self.add(object, referenced, kind));
    }
}

fn relation(oid: Oid) -> Address {
    (class::RELATION, oid, 0)
}

fn column(table: Oid, place: usize) -> Address {
    (class::RELATION, table, place as i32 + 1)
}

/// `pg_depend`
pub fn pg_depend(run: &mut Run<'_, '_>, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    let catalog = Arc::clone(run.catalog.catalog());
    let mut rows = Rows(Vec::new());
    add_schemas(&catalog, &mut rows);
    add_tables(&catalog, &mut rows);
    add_indexes(&catalog, &mut rows);
    add_constraints(&catalog, &mut rows);
    add_triggers(&catalog, &mut rows);
    add_types(run, &catalog, &mut rows);
    add_functions(&catalog, &mut rows);
    let only = |place: usize| match wanted_oid(equal, place) {
        Wanted::Only(oid) => Some(oid),
        Wanted::Nothing(_) => Some(Oid::INVALID),
        _ => None,
    };
    let wanted = WantedUses { class: only(0), object: only(1), used: only(4) };
    add_expressions(run, &catalog, wanted, &mut rows)?;
    if wanted.class.is_none_or(|wanted| wanted == class::RULE) {
        add_views(run, &catalog, &mut rows)?;
    }
    Ok(rows.0)
}

/// Objects of the schemas that they are in. Indexes and the types of rows and arrays depend on something that is in one.
fn add_schemas(catalog: &Catalog, rows: &mut Rows) {
    let mut objects: Vec<&Object> = catalog.objects().collect();
    objects.sort_by_key(|object| object.oid());
    for object in objects {
        let class = match object {
            Object::Table(_) | Object::Sequence(_) => class::RELATION,
            Object::Function(_) => class::FUNCTION,
            Object::Custom(def) if def.class == class::TYPE => class::TYPE,
            _ => continue,
        };
        rows.add((class, object.oid(), 0), (class::SCHEMA, object.schema(), 0), 'n');
    }
    for (oid, of, _) in privileges::default_acls(catalog) {
        if of.schema != Oid::INVALID {
            rows.add((class::DEFAULT_ACL, oid, 0), (class::SCHEMA, of.schema, 0), 'a');
        }
    }
}

/// Columns of their types, defaults of their columns, and sequences of the columns that own them.
fn add_tables(catalog: &Catalog, rows: &mut Rows) {
    for table in tables(catalog) {
        for (place, def) in table.columns.iter().enumerate().filter(|(_, column)| !column.dropped) {
            let its_type = (class::TYPE, def.type_oid, 0);
            rows.add(column(table.oid, place), its_type, 'n');
            let kind = match (&def.generated, &def.default) {
                (Some(_), _) => 'i',
                (None, Some(_)) => 'a',
                (None, None) => continue,
            };
            rows.add((class::DEFAULT, default_oid(table.oid, place + 1), 0), column(table.oid, place), kind);
        }
    }
    let mut sequences: Vec<_> = catalog.sequences().collect();
    sequences.sort_by_key(|sequence| sequence.oid);
    for sequence in sequences {
        let Some((table, place)) = sequence.owned_by else { continue };
        let is_identity = catalog.table(table).is_some_and(|table| {
            table.columns.get(place).and_then(|column| column.identity).is_some_and(|own| own.sequence == sequence.oid)
        });
        rows.add(relation(sequence.oid), column(table, place), if is_identity { 'i' } else { 'a' });
    }
}

/// The constraint that an index is made for.
fn constraint_of<'t>(table: &'t TableDef, index: &IndexDef) -> Option<&'t ConstraintDef> {
    table.constraints.iter().find(
        |constraint| matches!(constraint.kind, PrimaryKey { index: oid } | Unique { index: oid } if oid == index.oid),
    )
}

/// The columns of an index, those of INCLUDE among them.
fn index_columns(index: &IndexDef) -> impl Iterator<Item = usize> {
    index.keys.iter().filter_map(|key| key.column).chain(index.included.iter().copied())
}

/// Indexes of their constraints, or of their columns; of the table as a whole where they have expressions only.
fn add_indexes(catalog: &Catalog, rows: &mut Rows) {
    let mut indexes: Vec<&Arc<IndexDef>> = catalog.indexes().collect();
    indexes.sort_by_key(|index| index.oid);
    for index in indexes {
        let Some(table) = catalog.table(index.table) else { continue };
        match constraint_of(table, index) {
            Some(constraint) => rows.add(relation(index.oid), (class::CONSTRAINT, constraint.oid, 0), 'i'),
            None if index_columns(index).next().is_none() => rows.add(relation(index.oid), relation(table.oid), 'a'),
            None => {
                let columns = index_columns(index).map(|place| column(table.oid, place));
                rows.add_all(relation(index.oid), columns, 'a');
            }
        }
    }
}

/// Constraints of their columns, and foreign keys of what they refer to. [`add_expressions`] tells of checks.
fn add_constraints(catalog: &Catalog, rows: &mut Rows) {
    for (table, constraint) in constraints(catalog) {
        let object = (class::CONSTRAINT, constraint.oid, 0);
        let own = |place: usize| column(table.oid, place);
        match &constraint.kind {
            PrimaryKey { index } | Unique { index } => {
                let index = catalog.index(*index);
                rows.add_all(object, index.into_iter().flat_map(|index| index_columns(index)).map(own), 'a');
            }
            ForeignKey { columns, referenced_table, referenced_columns, referenced_index, .. } => {
                rows.add_all(object, columns.iter().map(|place| own(*place)), 'a');
                rows.add_all(object, referenced_columns.iter().map(|place| column(*referenced_table, *place)), 'n');
                rows.add(object, relation(*referenced_index), 'n');
            }
            Check { .. } => {}
        }
    }
}

/// Triggers of their functions, tables and columns, and the constraints that some of them are.
fn add_triggers(catalog: &Catalog, rows: &mut Rows) {
    for table in tables(catalog) {
        for def in &table.triggers {
            let object = (class::TRIGGER, def.oid, 0);
            rows.add(object, (class::FUNCTION, def.function, 0), 'n');
            rows.add(object, relation(table.oid), 'a');
            if def.from_table != Oid::INVALID {
                rows.add(object, relation(def.from_table), 'a');
            }
            for place in &def.update_columns {
                rows.add(object, column(table.oid, *place), 'n');
            }
            if def.is_constraint {
                // It has the trigger's number.
                let constraint = (class::CONSTRAINT, def.oid, 0);
                rows.add(constraint, relation(table.oid), 'a');
                rows.add(constraint, object, 'i');
            }
        }
    }
}

/// Types of what they are made of: rows of their relations, arrays of their elements, domains of the types under them.
fn add_types(run: &Run<'_, '_>, catalog: &Catalog, rows: &mut Rows) {
    for oid in user_types::all(catalog) {
        let object = (class::TYPE, oid, 0);
        rows.add((class::TYPE, user_types::array_of(oid), 0), object, 'i');
        if catalog.table(oid).is_some() {
            rows.add(object, relation(oid), 'i');
            continue;
        }
        match run.catalog.user_type(oid).map(|user_type| user_type.kind.clone()) {
            Some(UserTypeKind::Composite(shape)) => {
                rows.add(relation(oid), object, 'i');
                for (place, (_, sql_type)) in shape.fields.iter().enumerate() {
                    rows.add(column(oid, place), (class::TYPE, sql_type.oid, 0), 'n');
                }
            }
            Some(UserTypeKind::Domain(base)) => rows.add(object, (class::TYPE, base.oid, 0), 'n'),
            _ => {}
        }
    }
    for custom in catalog.customs(class::TYPE) {
        let Ok(TypeBody::Domain { checks, .. }) = TypeBody::decode(&custom.body) else { continue };
        for check in checks {
            rows.add((class::CONSTRAINT, check.oid, 0), (class::TYPE, custom.oid, 0), 'a');
        }
    }
}

/// Functions of their languages and types.
fn add_functions(catalog: &Catalog, rows: &mut Rows) {
    let mut functions: Vec<_> = catalog.functions().collect();
    functions.sort_by_key(|function| function.oid);
    for function in functions {
        let object = (class::FUNCTION, function.oid, 0);
        rows.add(object, (class::LANGUAGE, language_oid(&function.language), 0), 'n');
        let types = function.arguments.iter().map(|argument| argument.type_oid).chain([function.returns]);
        rows.add_all(object, types.map(|oid| (class::TYPE, oid, 0)), 'n');
    }
}

/// The objects that an expression or a query names, without tables and their columns.
fn named(run: &Run<'_, '_>, catalog: &Catalog, named: &Named) -> Vec<Address> {
    let functions = named.functions.iter().map(|oid| (class::FUNCTION, *oid, 0));
    let types = named.types.iter().map(|oid| (class::TYPE, *oid, 0));
    let fields = named.fields.iter().filter_map(|(row_type, place)| {
        let of = base_type(&run.catalog, SqlType::new(*row_type)).oid;
        match catalog.table(of) {
            // Rows are without the columns that were dropped.
            Some(table) => {
                let mut live = (0..table.columns.len()).filter(|place| !table.columns[*place].dropped);
                live.nth(*place).map(|place| column(of, place))
            }
            None => catalog.object(of).map(|_| column(of, *place)),
        }
    });
    functions.chain(types).chain(fields).collect()
}

/// Defaults, checks, indexes, triggers, domains and functions of what their expressions use.
fn add_expressions(run: &mut Run<'_, '_>, catalog: &Catalog, wanted: WantedUses, rows: &mut Rows) -> Result<()> {
    for used in crate::commands::what_expressions_use(session_of(run), &mut *run.client, wanted)? {
        let object = (used.class, used.object, 0);
        let columns = || used.columns.iter().filter_map(|place| Some(column(used.table?, *place)));
        let is_check = used.class == class::CONSTRAINT;
        let is_index = used.class == class::RELATION;
        if let Some(table) = used.table.filter(|_| is_check) {
            let whole = used.columns.is_empty().then_some(relation(table));
            rows.add_all(object, columns().chain(whole), 'a');
        }
        rows.add_all(object, columns(), if is_index { 'a' } else { 'n' });
        let relations = used.named.relations.iter().map(|oid| relation(*oid));
        rows.add_all(object, named(run, catalog, &used.named).into_iter().chain(relations), 'n');
    }
    Ok(())
}

/// Views, by the rules they are, of what they read.
fn add_views(run: &mut Run<'_, '_>, catalog: &Catalog, rows: &mut Rows) -> Result<()> {
    for used in crate::commands::what_views_use(session_of(run), &mut *run.client)? {
        let rule = (class::RULE, rule_oid(used.view), 0);
        rows.add(rule, relation(used.view), 'i');
        rows.add(rule, relation(used.view), 'n');
        let columns = used.columns.iter().map(|(table, place)| column(*table, *place));
        // A relation of which a column is read is not told of as a whole.
        let of_columns: BTreeSet<Oid> = used.columns.iter().map(|(table, _)| *table).collect();
        let whole = used.named.relations.iter().filter(|oid| !of_columns.contains(oid)).map(|oid| relation(*oid));
        rows.add_all(rule, named(run, catalog, &used.named).into_iter().chain(columns).chain(whole), 'n');
    }
    Ok(())
}
