//! Functions that need the session, the catalogs or the engine.
//!
//! `types::functions::session` and `types::functions::server` declare these functions; this module implements them under the same numbers.
//! Their results do not come from a visibility check on rows. So a result counts as seen at the moment when the function returns it
//! (rule R3): the answer to a client waits for the log as if every commit so far had been read.

mod activity;
mod definitions;
mod descriptions;
mod files;
mod locks;
mod log;
mod names;
mod object_words;
mod privileges;
mod sequences;
mod settings;
mod transactions;
mod updatable;

use std::sync::{Arc, LazyLock};

use base::{Error, Oid, Result};
use plan::user_types::composite_fields;
use rustc_hash::FxHashMap;
use schema::catalog::{CustomDef, IndexDef, Object, SequenceDef, TableDef};
use types::{CatalogLookup, Value};

use executor::Run;

/// The implementation of a function.
type Body = fn(&mut Run<'_, '_>, &[Value]) -> Result<Value>;
/// The implementation of a function that returns a set.
type SetBody = fn(&mut Run<'_, '_>, &[Value]) -> Result<Vec<Value>>;
/// Functions of one subject by their numbers.
type Bodies = &'static [(u32, Body)];

const TABLES: &[Bodies] = &[
    activity::FUNCTIONS,
    privileges::FUNCTIONS,
    definitions::FUNCTIONS,
    descriptions::FUNCTIONS,
    files::FUNCTIONS,
    locks::FUNCTIONS,
    log::FUNCTIONS,
    names::FUNCTIONS,
    sequences::FUNCTIONS,
    settings::FUNCTIONS,
    transactions::FUNCTIONS,
    updatable::FUNCTIONS,
];

const SETS: &[(u32, SetBody)] = &[
    (1936, activity::backend_ids),
    (2556, |run, _| Ok(vec![Value::oid(run.state.database_oid())])),
    (3035, activity::listening_channels),
    (3425, |_, _| Ok(Vec::new())),
    (6119, |_, _| Ok(Vec::new())),
    (9103, files::advise_willneed),
];

static BODIES: LazyLock<FxHashMap<Oid, Body>> =
    LazyLock::new(|| TABLES.iter().flat_map(|table| table.iter()).map(|(oid, body)| (Oid(*oid), *body)).collect());

/// Calls a function of the registry that the session answers.
///
/// # Errors
/// Errors of the function; 0A000 for a function that is declared but not implemented. The privilege to call it was checked before the
/// statement ran.
pub fn call(run: &mut Run<'_, '_>, function: Oid, args: &[Value]) -> Result<Value> {
    let answer = match BODIES.get(&function) {
        Some(body) => body(run, args),
        None => {
            let name = types::function(function).map_or("?", |def| def.name);
            match privileges::asked_by(name) {
                Some(what) => privileges::check(run, what, args),
                None => Err(Error::unsupported(format!("function {name} is not supported"))),
            }
        }
    };
    // Afterwards: it may tell of a commit that came while it looked.
    run.engine().observe_horizon();
    answer
}

/// Calls a function of the registry that the session answers with a set.
///
/// # Errors
/// As [`call`].
pub fn call_set(run: &mut Run<'_, '_>, function: Oid, args: &[Value]) -> Result<Vec<Value>> {
    match SETS.iter().find(|(oid, _)| *oid == function.0) {
        Some((_, body)) => {
            let answer = body(run, args);
            run.engine().observe_horizon();
            answer
        }
        None => Ok(vec![call(run, function, args)?]),
    }
}

/// The text of argument `place`.
fn text(args: &[Value], place: usize) -> Result<&str> {
    args.get(place).and_then(Value::as_str).ok_or_else(|| mistyped(args, place))
}

/// Any integer or oid.
fn integer(args: &[Value], place: usize) -> Result<i64> {
    args.get(place).and_then(Value::as_i64).ok_or_else(|| mistyped(args, place))
}

fn oid(args: &[Value], place: usize) -> Result<Oid> {
    match args.get(place) {
        Some(Value::Oid(oid)) => Ok(Oid(*oid)),
        _ => Err(mistyped(args, place)),
    }
}

fn boolean(args: &[Value], place: usize) -> Result<bool> {
    match args.get(place) {
        Some(Value::Bool(value)) => Ok(*value),
        _ => Err(mistyped(args, place)),
    }
}

/// The plan is wrong, never the client.
#[cold]
fn mistyped(args: &[Value], place: usize) -> Error {
    Error::internal(format!("function called with a wrong argument {}: {:?}", place + 1, args.get(place)))
}

/// The object that a relation's number stands for.
enum Found {
    Table(Arc<TableDef>),
    Index(Arc<IndexDef>),
    Sequence(Arc<SequenceDef>),
    Composite(Arc<CustomDef>),
    System,
}

fn relation(run: &Run<'_, '_>, oid: Oid) -> Option<Found> {
    let catalog = run.catalog.catalog();
    let table = catalog.table(oid).cloned().map(Found::Table);
    let index = || catalog.index(oid).cloned().map(Found::Index);
    let sequence = || catalog.sequence(oid).cloned().map(Found::Sequence);
    let system = || crate::catalogs::system_table(oid).map(|_| Found::System);
    let composite = || match catalog.object(oid)? {
        Object::Custom(def) if composite_fields(def).is_some() => Some(Found::Composite(Arc::clone(def))),
        _ => None,
    };
    table.or_else(index).or_else(sequence).or_else(composite).or_else(system)
}

/// The relation that a text names: 42P01 if there is none.
fn relation_named(run: &Run<'_, '_>, name: &str) -> Result<Oid> {
    types::reg_types::parse_reg(&run.catalog, name, types::oids::REGCLASS).map(Oid)
}

/// The name of a relation as `regclass` prints it.
fn relation_name(run: &Run<'_, '_>, oid: Oid) -> String {
    let name = run.catalog.object_name(types::context::RegKind::Class, oid);
    name.unwrap_or_else(|| oid.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Implementation;

    #[test]
    fn every_declared_function_has_a_body_and_every_body_a_declaration() {
        for def in types::functions().filter(|def| matches!(def.implementation, Implementation::Session(_))) {
            let has_body = BODIES.contains_key(&def.oid)
                || SETS.iter().any(|(oid, ..)| *oid == def.oid.0)
                || privileges::asked_by(def.name).is_some();
            assert!(has_body, "{} ({}) does nothing", def.name, def.oid);
        }
        let all =
            TABLES.iter().flat_map(|table| table.iter()).map(|(oid, ..)| *oid).chain(SETS.iter().map(|set| set.0));
        let is_nameless = |oid: &u32| *oid == types::functions::session::NEXT_VALUE_OF_IDENTITY.oid.0;
        for oid in all.filter(|oid| !is_nameless(oid)) {
            let def = types::function(Oid(oid)).unwrap_or_else(|| panic!("function {oid} is not declared"));
            assert!(matches!(def.implementation, Implementation::Session(_)), "{} has a body elsewhere", def.name);
        }
    }

    #[test]
    fn no_number_is_given_twice() {
        let mut seen = rustc_hash::FxHashSet::default();
        for oid in TABLES.iter().flat_map(|table| table.iter()).map(|(oid, ..)| *oid) {
            assert!(seen.insert(oid), "function {oid} has two bodies");
        }
    }
}
