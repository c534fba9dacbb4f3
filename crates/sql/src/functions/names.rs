//! Whether an object's bare name finds it.

use base::{Oid, Result};
use types::reg_types::function_is_found;
use types::{CatalogLookup, Value, aggregate, builtin_type, function, operator};

use super::{Bodies, Found, oid, relation};
use crate::catalogs;
use executor::Run;

pub(super) const FUNCTIONS: Bodies = &[
    (2079, |run, args| relation_is_visible(run, oid(args, 0)?)),
    (2080, |run, args| {
        let wanted = oid(args, 0)?;
        let is_there = builtin_type(wanted).is_some() || run.catalog.user_type(wanted).is_some();
        Ok(if is_there { Value::Bool(run.catalog.type_is_visible(wanted)) } else { Value::Null })
    }),
    (2081, |run, args| function_is_visible(run, oid(args, 0)?)),
    (2082, |_, args| Ok(operator(oid(args, 0)?).map(|_| true).into())),
    (2083, |_, _| Ok(Value::Bool(true))),
    (3829, |_, _| Ok(Value::Bool(true))),
    (3815, |_, args| Ok(matches!(oid(args, 0)?.0, 100 | 950 | 951).then_some(true).into())),
    (2093, |_, _| Ok(Value::Null)),
    (3403, |_, _| Ok(Value::Null)),
    (3756, |_, _| Ok(Value::Null)),
    (3757, |_, _| Ok(Value::Null)),
    (3768, |_, _| Ok(Value::Null)),
    (3758, |_, _| Ok(Value::Null)),
];

fn relation_is_visible(run: &Run<'_, '_>, wanted: Oid) -> Result<Value> {
    Ok(match relation(run, wanted) {
        Some(Found::Table(table)) => run.catalog.relation_is_visible(wanted, &table.name),
        Some(Found::Index(index)) => run.catalog.relation_is_visible(wanted, &index.name),
        Some(Found::Sequence(sequence)) => run.catalog.relation_is_visible(wanted, &sequence.name),
        Some(Found::Composite(def)) => run.catalog.relation_is_visible(wanted, &def.name),
        Some(Found::System) => {
            let table = catalogs::system_table(wanted);
            table.is_some_and(|table| run.catalog.relation_is_visible(wanted, &table.name))
        }
        None => return Ok(Value::Null),
    }
    .into())
}

fn function_is_visible(run: &Run<'_, '_>, wanted: Oid) -> Result<Value> {
    let is_there =
        function(wanted).is_some() || aggregate(wanted).is_some() || run.catalog.catalog().function(wanted).is_some();
    Ok(if is_there { Value::Bool(function_is_found(&run.catalog, wanted)) } else { Value::Null })
}
