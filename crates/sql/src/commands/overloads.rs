//! Functions of one name, and the stored expressions that call one of them.
//!
//! A stored expression names a function by its schema and its name. If a function of that name is made later whose arguments fit
//! better, the expression would call that one. PostgreSQL keeps the function that was meant; here the later function is refused. Views need
//! none of this: they keep the functions that they know.

use base::{Error, Oid, Result};
use engine::catalog::FunctionDef;

use super::ddl::{DROP_LOCK, Ddl};
use super::dependencies::{Named, describe, mentioning, signature};
use super::stored_expression::{Place, for_each_naming, for_each_wanted};

/// The stored expressions that call functions of one schema and name.
#[derive(Default)]
pub(super) struct Callers(Vec<(Place, Vec<Oid>)>);

impl Callers {
    /// Finds the callers before a function gets this name. The functions that have it are locked until the transaction ends, so that
    /// nobody stores another call meanwhile.
    ///
    /// # Errors
    /// Those of waiting for locks.
    pub fn find(ddl: &Ddl<'_>, schema: Oid, name: &str) -> Result<Callers> {
        let namesakes: Vec<Oid> = ddl.catalog().functions_named(schema, name).map(|function| function.oid).collect();
        if namesakes.is_empty() {
            return Ok(Callers::default());
        }
        for function in &namesakes {
            ddl.hold(*function, DROP_LOCK)?;
        }
        let mut callers = Vec::new();
        for_each_naming(ddl, &mentioning(name), &mut |place, expr| {
            let functions = Named::in_whole(&expr).functions;
            if functions.iter().any(|function| namesakes.contains(function)) {
                callers.push((place, functions));
            }
        })?;
        Ok(Callers(callers))
    }

    /// Refuses `function`, which has the name by now, if an expression that called another one does so no more.
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
        // An expression that can't be bound any more is not the same either.
        let Some((place, _)) = self.0.iter().find(|(caller, _)| !same.contains(caller)) else { return Ok(()) };
        let view = ddl.view();
        let message = format!("{} is not supported beside the functions of its name", signature(&view, function));
        let detail =
            format!("An expression of {} would not find another one any more.", describe(&view, place.owner()));
        Err(Error::unsupported(message).detail(detail).hint("Give the function another name."))
    }
}
