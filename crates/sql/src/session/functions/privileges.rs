//! `has_table_privilege` and its kin.
//!
//! Superusers may do everything, owners everything with what is theirs, and everybody may look at what is not a table.

use base::{Error, Oid, Result, sqlstate};
use engine::catalog::Object;

use crate::executor::Run;
use crate::session::is_member;
use crate::types::reg_types::parse_reg;
use crate::types::{Value, oids};

/// What a privilege is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Relation,
    Column,
    Schema,
    Database,
    Function,
    Language,
    Tablespace,
    Type,
    Parameter,
    Role,
}

/// What the function called `name` asks about.
pub(super) fn asked_by(name: &str) -> Option<What> {
    Some(match name {
        "has_table_privilege" | "has_any_column_privilege" | "has_sequence_privilege" => What::Relation,
        "has_column_privilege" => What::Column,
        "has_schema_privilege" => What::Schema,
        "has_database_privilege" => What::Database,
        "has_function_privilege" => What::Function,
        "has_language_privilege" => What::Language,
        "has_tablespace_privilege" => What::Tablespace,
        "has_type_privilege" => What::Type,
        "has_parameter_privilege" => What::Parameter,
        "pg_has_role" => What::Role,
        _ => return None,
    })
}

/// How many arguments follow the user, if one is given.
fn arguments_without_user(what: What) -> usize {
    if what == What::Column { 3 } else { 2 }
}

/// Answers such a function.
///
/// # Errors
/// 42704, 42P01, 3F000, 42883 for what does not exist by its name; 22023 for a privilege there is not.
pub(super) fn check(run: &Run<'_, '_>, what: What, args: &[Value]) -> Result<Value> {
    let (user, rest) = if args.len() > arguments_without_user(what) {
        (role(run, &args[0])?, &args[1..])
    } else {
        (run.catalog.catalog().role_by_name(run.state.current_user()).map(|role| role.oid), args)
    };
    let Some(privilege) = rest.last().and_then(Value::as_str) else {
        return Err(super::mistyped(args, args.len() - 1));
    };
    check_privilege_name(what, privilege)?;
    let catalog = run.catalog.catalog();
    let is_superuser = user.and_then(|user| catalog.role(user)).is_some_and(|role| role.superuser);
    let owner_may = |oid: Oid| {
        let owner = match catalog.index(oid) {
            Some(index) => catalog.table(index.table).map(|table| table.owner),
            None => catalog.object(oid).and_then(Object::owner),
        };
        owner.map(|owner| user.is_some_and(|user| is_member(catalog, user, owner)))
    };
    let only_looks = |privilege: &str| {
        privilege.split(',').any(|word| {
            matches!(
                word.trim().to_ascii_uppercase().as_str(),
                "SELECT" | "USAGE" | "EXECUTE" | "CONNECT" | "TEMP" | "TEMPORARY"
            )
        })
    };
    let allowed = match what {
        What::Role => {
            let group = role(run, &rest[0])?;
            return Ok(user.zip(group).map(|(user, group)| is_superuser || is_member(catalog, user, group)).into());
        }
        What::Relation | What::Column => {
            let oid = match &rest[0] {
                Value::Text(name) => Oid(parse_reg(&run.catalog, name, oids::REGCLASS)?),
                other => oid_of(other)?,
            };
            if what == What::Column && !column_exists(run, oid, &rest[1])? {
                return Ok(Value::Null);
            }
            match super::relation(run, oid) {
                None => return Ok(Value::Null),
                Some(super::Found::System) => is_superuser || only_looks(privilege),
                Some(_) => is_superuser || owner_may(oid).unwrap_or(false),
            }
        }
        What::Schema => {
            let oid = match &rest[0] {
                Value::Text(name) => run.catalog.schema_named(name)?,
                other => oid_of(other)?,
            };
            if run.catalog.schema_name(oid).is_empty() {
                return Ok(Value::Null);
            }
            is_superuser || only_looks(privilege) || owner_may(oid).unwrap_or(false)
        }
        What::Function => {
            if let Value::Text(name) = &rest[0] {
                parse_reg(&run.catalog, name, oids::REGPROCEDURE)?;
            }
            true
        }
        What::Type => {
            if let Value::Text(name) = &rest[0] {
                parse_reg(&run.catalog, name, oids::REGTYPE)?;
            }
            true
        }
        What::Database => {
            if let Value::Text(name) = &rest[0]
                && name.as_str() != run.state.database_name()
            {
                let message = format!("database \"{name}\" does not exist");
                return Err(Error::new(sqlstate::INVALID_CATALOG_NAME, message));
            }
            is_superuser || only_looks(privilege)
        }
        What::Language => true,
        What::Tablespace | What::Parameter => is_superuser,
    };
    Ok(Value::Bool(allowed))
}

fn oid_of(value: &Value) -> Result<Oid> {
    match value {
        Value::Oid(oid) => Ok(Oid(*oid)),
        _ => Err(Error::internal("a privilege was asked for something without a number")),
    }
}

/// A role by name or number; a number without a role is none.
fn role(run: &Run<'_, '_>, value: &Value) -> Result<Option<Oid>> {
    let catalog = run.catalog.catalog();
    match value {
        Value::Text(name) if name.as_str() == "public" => Ok(None),
        Value::Text(name) => match catalog.role_by_name(name) {
            Some(role) => Ok(Some(role.oid)),
            None => Err(Error::new(sqlstate::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"))),
        },
        other => Ok(catalog.role(oid_of(other)?).map(|role| role.oid)),
    }
}

/// Whether the relation has such a column: 42703 for a name it has not.
fn column_exists(run: &Run<'_, '_>, relation: Oid, column: &Value) -> Result<bool> {
    let Some(super::Found::Table(table)) = super::relation(run, relation) else { return Ok(true) };
    match column {
        Value::Text(name) => match table.column_by_name(name) {
            Some(_) => Ok(true),
            None => {
                let message = format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
                Err(Error::new(sqlstate::UNDEFINED_COLUMN, message))
            }
        },
        number => {
            let place = number.as_i64().and_then(|number| usize::try_from(number - 1).ok());
            Ok(place.and_then(|place| table.columns.get(place)).is_some_and(|column| !column.dropped))
        }
    }
}

fn check_privilege_name(what: What, privilege: &str) -> Result<()> {
    let known: &[&str] = match what {
        What::Relation | What::Column => {
            &["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER", "USAGE", "RULE"]
        }
        What::Schema => &["CREATE", "USAGE"],
        What::Database => &["CREATE", "TEMP", "TEMPORARY", "CONNECT"],
        What::Function => &["EXECUTE"],
        What::Language | What::Type => &["USAGE"],
        What::Tablespace => &["CREATE"],
        What::Parameter => &["SET", "ALTER SYSTEM"],
        What::Role => &["USAGE", "MEMBER"],
    };
    for word in privilege.split(',') {
        let upper = word.trim().to_ascii_uppercase();
        let plain = upper.strip_suffix(" WITH GRANT OPTION").or(upper.strip_suffix(" WITH ADMIN OPTION"));
        if !known.contains(&plain.unwrap_or(&upper)) {
            let message = format!("unrecognized privilege type: \"{}\"", word.trim());
            return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
    }
    Ok(())
}
