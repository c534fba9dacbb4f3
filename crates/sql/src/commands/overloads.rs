//! Functions of one name, and the stored expressions that call one of them.
//!
//! A stored expression names a function by its schema and its name. If another function of that name fits the call better, the expression
//! would call that one. PostgreSQL keeps the function that was meant. Here a statement is refused that makes such a function, renames or
//! moves one, or gives one more defaults. Views need none of this: they keep the functions that they know.

use std::collections::BTreeSet;
use std::sync::Arc;

use base::{Error, Oid, Result};
use schema::catalog::{Catalog, FunctionDef};

use super::ddl::Ddl;
use super::dependencies::{Named, describe, mentioning, signature};
use super::stored_expression::{Place, for_each_naming, for_each_wanted};
use crate::state::DROP_LOCK;

/// Stored expressions, each with the functions that it calls.
#[derive(Default)]
pub(super) struct Callers(Vec<(Place, Vec<Oid>)>);

impl Callers {
    /// Finds the expressions that call a function of this schema and name, before another function gets them. `changed` is that other
    /// function as it is now, unless it is new: the expressions that call it are found, too. The functions are locked until the
    /// transaction ends, so that nobody stores another call meanwhile.
    ///
    /// # Errors
    /// Those of waiting for locks.
    pub fn find(ddl: &Ddl<'_>, schema: Oid, name: &str, changed: Option<&FunctionDef>) -> Result<Callers> {
        ddl.engine().lock_name(schema, name, false)?;
        let is_other = |function: &&Arc<FunctionDef>| changed.is_none_or(|own| own.oid != function.oid);
        let mut functions: Vec<Oid> =
            ddl.catalog().functions_named(schema, name).filter(is_other).map(|function| function.oid).collect();
        if functions.is_empty() {
            return Ok(Callers::default());
        }
        for function in &functions {
            ddl.hold(*function, DROP_LOCK)?;
        }
        functions.extend(changed.map(|function| function.oid));
        let names = [Some(name), changed.map(|function| function.name.as_str())];
        let names: Vec<_> = names.into_iter().flatten().map(mentioning).collect();
        let mut callers = Vec::new();
        for_each_naming(ddl, &|text| names.iter().any(|mentioned| mentioned(text)), &mut |place, expr| {
            let called = Named::in_whole(&expr).functions;
            if called.iter().any(|function| functions.contains(function)) {
                callers.push((place, called));
            }
        })?;
        Ok(Callers(callers))
    }

    /// Refuses `function`, which has the name by now, if one of the expressions does not call the same functions any more.
    ///
    /// # Errors
    /// 0A000.
    pub fn check(&self, ddl: &Ddl<'_>, function: &FunctionDef) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let mut same = Vec::new();
        for_each_wanted(ddl, &|place, _| self.0.iter().any(|(caller, _)| *caller == place), &mut |place, expr| {
            let functions = Named::in_whole(&expr).functions;
            if self.0.iter().any(|(caller, called)| *caller == place && *called == functions) {
                same.push(place);
            }
        })?;
        // An expression that can't be bound any more counts as changed.
        let Some((place, _)) = self.0.iter().find(|(caller, _)| !same.contains(caller)) else { return Ok(()) };
        let view = ddl.view();
        let message = format!("function {} would change what a stored expression calls", signature(&view, function));
        let detail =
            format!("The expression of {} calls another function of this name.", describe(&view, place.owner()));
        Err(Error::unsupported(message).detail(detail).hint("Give the function another name."))
    }
}

/// The functions that have the schema and name of a function, itself left out.
pub(super) fn namesakes(catalog: &Catalog, function: Oid) -> BTreeSet<Oid> {
    let Some(own) = catalog.function(function) else { return BTreeSet::new() };
    let same = catalog.functions_named(own.schema, &own.name);
    same.map(|other| other.oid).filter(|other| *other != function).collect()
}
