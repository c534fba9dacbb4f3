//! CREATE SCHEMA.

use base::{Error, Result, sqlstate};
use schema::catalog::SchemaDef;
use syntax::tree::{CreateSchema, Name, QualifiedName, RoleName, Statement};

use super::ddl::{Ddl, schema_is_taken};
use crate::state::UtilityOutput;

/// CREATE SCHEMA, with the statements in it.
pub(super) fn create(ddl: &mut Ddl<'_>, create: &CreateSchema) -> Result<UtilityOutput> {
    let owner = match &create.owner {
        Some(role) => ddl.role(role)?,
        None => ddl.owner(),
    };
    let name = match (&create.name, &create.owner) {
        (Some(name), _) => name.clone(),
        (None, Some(RoleName::Name(role, _))) => role.clone(),
        (None, _) => Name::new(&ddl.state.acting_role().name),
    };
    check_name(&name)?;
    if create.if_not_exists {
        ddl.engine().lock_name(base::Oid::INVALID, &name, false)?;
        if ddl.view().schema_named(&name).is_ok() {
            ddl.notice(sqlstate::DUPLICATE_SCHEMA, format!("schema \"{name}\" already exists, skipping"));
            return Ok(UtilityOutput::tag("CREATE SCHEMA"));
        }
    }
    if matches!(name.as_str(), "information_schema") {
        return Err(schema_is_taken(&name));
    }
    ddl.create(SchemaDef { oid: ddl.allocate_oid(), name: name.to_string(), owner, comment: None })?;
    if create.elements.is_empty() {
        return Ok(UtilityOutput::tag("CREATE SCHEMA"));
    }
    // The elements of CREATE SCHEMA look names up in the new schema first.
    let state = ddl.state;
    let path = crate::state::settings::show(state, "search_path")?;
    let path = format!("{}, {path}", types::reg_types::quote_identifier(&name));
    state.settings.borrow_mut().push_level();
    let local = base::settings::Change::Local;
    let made = crate::state::settings::set(state, "search_path", &path, local, ddl.client)
        // They belong to the schema's owner.
        .and_then(|()| state.acting_as(owner, || create_elements(ddl, create, &name)));
    state.settings.borrow_mut().roll_back_level();
    made?;
    Ok(UtilityOutput::tag("CREATE SCHEMA"))
}

/// Makes what stands in CREATE SCHEMA, in an order in which later ones may read earlier ones.
fn create_elements(ddl: &mut Ddl<'_>, create: &CreateSchema, name: &Name) -> Result<()> {
    let mut elements = create.elements.clone();
    elements.sort_by_key(|element| match element {
        Statement::CreateSequence(_) => 0,
        Statement::CreateTable(_) => 1,
        Statement::CreateView(_) => 2,
        Statement::CreateIndex(_) => 3,
        Statement::CreateTrigger(_) => 4,
        _ => 5,
    });
    for mut element in elements {
        match &mut element {
            Statement::CreateTable(inner) => put_into(&mut inner.name, name)?,
            Statement::CreateView(inner) => put_into(&mut inner.name, name)?,
            Statement::CreateSequence(inner) => put_into(&mut inner.name, name)?,
            Statement::CreateIndex(inner) => put_into(&mut inner.table, name)?,
            Statement::CreateTrigger(inner) => put_into(&mut inner.table, name)?,
            // It finds what it names by the search path.
            Statement::Grant(_) => {}
            _ => return Err(Error::unsupported("this kind of statement is not supported within CREATE SCHEMA")),
        }
        super::run_definition(ddl, &element)?;
    }
    Ok(())
}

/// Puts an object that is created within CREATE SCHEMA into that schema.
fn put_into(object: &mut QualifiedName, schema: &Name) -> Result<()> {
    match &object.schema {
        Some(other) if other != schema => Err(Error::new(
            sqlstate::INVALID_SCHEMA_DEFINITION,
            format!("CREATE specifies a schema ({other}) different from the one being created ({schema})"),
        )),
        _ => {
            object.schema = Some(schema.clone());
            Ok(())
        }
    }
}

/// 42939 for a name that only the system's schemas have.
pub(super) fn check_name(name: &str) -> Result<()> {
    if name.starts_with("pg_") {
        return Err(Error::new(sqlstate::RESERVED_NAME, format!("unacceptable schema name \"{name}\""))
            .detail("The prefix \"pg_\" is reserved for system schemas."));
    }
    Ok(())
}
