//! Temporary objects: a schema for each session that wants one, gone when the session is.

use base::{Error, Oid, Result, sqlstate};
use plan::privileges::{Privileges, Subject};
use schema::catalog::{BOOTSTRAP_ROLE, Persistence, SchemaDef, TEMPORARY_SCHEMA_PREFIX};

use super::ddl::Ddl;
use crate::state::temporary;

/// The session's temporary schema, made when it is first needed.
pub(super) fn schema(ddl: &mut Ddl<'_>) -> Result<Oid> {
    ddl.state.refuse_if_restricted("create temporary table")?;
    let catalog = ddl.catalog();
    // A transaction that made it may have been rolled back.
    if let Some(oid) = ddl.state.temporary_schema.get()
        && catalog.schema(oid).is_some()
    {
        ddl.require_create_as(oid, ddl.owner())?;
        return Ok(oid);
    }
    if let Some(database) = Subject::find(&catalog, catalog.database())
        && !database.privileges_of(&catalog, ddl.owner()).contains(Privileges::TEMPORARY)
    {
        let message = format!("permission denied to create temporary tables in database \"{}\"", database.name());
        return Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message));
    }
    let name = format!("{TEMPORARY_SCHEMA_PREFIX}{}", ddl.state.info.number);
    let oid = match catalog.schema_by_name(&name) {
        // A session of this number ended without cleaning up.
        Some(leftover) => {
            let leftover = leftover.oid;
            temporary::drop_contents(&ddl.engine(), leftover)?;
            ddl.state.changed_catalog.set(true);
            leftover
        }
        None => {
            let oid = ddl.allocate_oid();
            ddl.create(SchemaDef { oid, name, owner: BOOTSTRAP_ROLE, comment: None })?;
            oid
        }
    };
    ddl.state.set_temporary_schema(oid);
    Ok(oid)
}

/// Whether a relation of this persistence may refer to one of `other`'s, as foreign keys and views do.
pub(super) fn may_outlive(own: Persistence, other: Persistence) -> bool {
    own == Persistence::Temporary || other != Persistence::Temporary
}
