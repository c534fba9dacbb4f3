//! `has_table_privilege` and its kin.
//!
//! The answers of [`plan::privileges`], for a user of one's choice.

use base::{Error, Oid, Result, missing, sqlstate};
use plan::privileges::{
    ColumnAcls, Privileges, Subject, has_rights_of, inherited_roles, is_admin_of, is_closed, is_member,
};
use plan::user_types;
use schema::catalog::{Catalog, RelationKind};
use types::reg_types::parse_reg;
use types::{CatalogLookup, Value, oids};

use crate::system_tables::SYSTEM_COLUMNS;
use executor::Run;

pub(super) const FUNCTIONS: super::Bodies = &[(3943, acl_default)];

/// `acldefault`: the privileges on an object of this kind that this role owns, as long as nobody has granted or revoked any.
fn acl_default(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let kind = match &args[0] {
        Value::Char(kind) => *kind as char,
        _ => '?',
    };
    let (of_owner, of_public) = match kind {
        'c' => ("", ""),
        'r' => ("arwdDxt", ""),
        's' => ("rwU", ""),
        'd' => ("CTc", "Tc"),
        'f' => ("X", "X"),
        'l' | 'T' => ("U", "U"),
        'L' => ("rw", ""),
        'n' => ("UC", ""),
        't' => ("C", ""),
        'F' | 'S' => ("U", ""),
        'p' => ("sA", ""),
        other => {
            let message = format!("unrecognized objtype abbreviation: {other}");
            return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
    };
    let owner = oid_of(&args[1])?;
    let owner = run
        .catalog
        .catalog()
        .role(owner)
        .map_or_else(|| owner.to_string(), |role| types::reg_types::quote_identifier(&role.name));
    let mut items = Vec::new();
    if !of_public.is_empty() {
        items.push(Value::text(format!("={of_public}/{owner}")));
    }
    if !of_owner.is_empty() {
        items.push(Value::text(format!("{owner}={of_owner}/{owner}")));
    }
    Ok(Value::array(oids::ACLITEM, items))
}

/// The kind of object that a privilege is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Relation,
    Sequence,
    AnyColumn,
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

/// Returns the kind of object that the function called `name` asks about.
pub(super) fn asked_by(name: &str) -> Option<What> {
    Some(match name {
        "has_table_privilege" => What::Relation,
        "has_sequence_privilege" => What::Sequence,
        "has_any_column_privilege" => What::AnyColumn,
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
        (Some(run.state.acting_role().oid), args)
    };
    let Some(privilege) = rest.last().and_then(Value::as_str) else {
        return Err(super::mistyped(args, args.len() - 1));
    };
    check_privilege_name(what, privilege)?;
    let is_superuser = user.and_then(|user| run.catalog.catalog().role(user)).is_some_and(|role| role.superuser);
    let question = Question { run, user, is_superuser, privilege };
    let allowed = match what {
        What::Role => question.has_role(&rest[0])?,
        What::Relation | What::Sequence | What::AnyColumn | What::Column => question.may_with_relation(what, rest)?,
        What::Schema => question.may_with_schema(&rest[0])?,
        What::Function => question.may_with_function(&rest[0])?,
        What::Type => question.may_with_type(&rest[0])?,
        What::Database => question.may_with_database(&rest[0])?,
        What::Language => Some(true),
        What::Tablespace | What::Parameter => Some(is_superuser),
    };
    Ok(allowed.into())
}

/// The question whether a role has a privilege. The answers are NULL for objects that do not exist.
struct Question<'q, 'a, 'p> {
    run: &'q Run<'a, 'p>,
    /// `None` for a role that does not exist.
    user: Option<Oid>,
    is_superuser: bool,
    /// The privileges of which one is enough, as they were written.
    privilege: &'q str,
}

impl Question<'_, '_, '_> {
    fn catalog(&self) -> &Catalog {
        self.run.catalog.catalog()
    }

    /// Every role may read the tables and views that the server computes, except those with a privilege list.
    fn only_looks(&self) -> bool {
        words(self.privilege).any(|(word, _)| matches!(word, Privileges::SELECT | Privileges::USAGE))
    }

    /// On an object.
    fn may(&self, oid: Oid) -> bool {
        self.may_with_columns(oid, &[])
    }

    /// On an object; or on one of its columns, by their numbers.
    fn may_with_columns(&self, oid: Oid, columns: &[i32]) -> bool {
        let catalog = self.catalog();
        let relation = catalog.index(oid).map_or(oid, |index| index.table);
        let Some(subject) = Subject::find(catalog, relation) else { return self.is_superuser || self.only_looks() };
        let user = self.user.unwrap_or(Oid::INVALID);
        let (mut has, mut grantable) = (subject.privileges_of(catalog, user), subject.grantable_by(catalog, user));
        for column in columns {
            has = has | subject.column_privileges_of(catalog, user, *column);
            grantable = grantable | subject.column_grantable_by(catalog, user, *column);
        }
        words(self.privilege)
            .any(|(word, to_grant)| if to_grant { grantable.contains(word) } else { has.contains(word) })
    }

    fn has_role(&self, group: &Value) -> Result<Option<bool>> {
        let catalog = self.catalog();
        let group = role(self.run, group)?;
        // USAGE asks whether its privileges come by themselves, MEMBER whether they can be had by SET ROLE.
        // Of several words, each of which would do, one is enough.
        let has = |user: Oid, group: Oid| {
            self.privilege.split(',').any(|word| match word.trim().to_ascii_lowercase().as_str() {
                "usage" => has_rights_of(catalog, user, group),
                "member" => self.is_superuser || is_member(catalog, user, group),
                _ => is_admin_of(catalog, user, group),
            })
        };
        Ok(self.user.zip(group).map(|(user, group)| has(user, group)))
    }

    /// A relation by itself, as a sequence, or by one or any of its columns.
    fn may_with_relation(&self, what: What, rest: &[Value]) -> Result<Option<bool>> {
        let (run, catalog) = (self.run, self.catalog());
        let oid = match &rest[0] {
            Value::Text(name) => Oid(parse_reg(&run.catalog, name, oids::REGCLASS)?),
            other => oid_of(other)?,
        };
        let column = if what == What::Column { column_number(run, oid, &rest[1])? } else { None };
        let Some(found) = super::relation(run, oid) else { return Ok(None) };
        if what == What::Column && column.is_none() {
            return Ok(None);
        }
        if what == What::Sequence && !matches!(found, super::Found::Sequence(_)) {
            let name = rest[0].as_str().map_or_else(|| super::relation_name(run, oid), str::to_owned);
            let message = format!("\"{name}\" is not a sequence");
            return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message));
        }
        if let super::Found::Composite(def) = found {
            // It has no list as a relation: its owner may do everything with it.
            let is_owner = self.user.is_some_and(|user| inherited_roles(catalog, user).contains(&def.owner));
            return Ok(Some(self.is_superuser || is_owner));
        }
        Ok(Some(match what {
            What::AnyColumn => {
                let columns = ColumnAcls::stored(catalog, oid).0.into_keys().filter(|number| *number > 0);
                self.may_with_columns(oid, &columns.collect::<Vec<_>>())
            }
            _ => self.may_with_columns(oid, column.as_slice()),
        }))
    }

    fn may_with_schema(&self, schema: &Value) -> Result<Option<bool>> {
        let (run, catalog) = (self.run, self.catalog());
        let oid = match schema {
            Value::Text(name) => run.catalog.schema_named(name)?,
            other => oid_of(other)?,
        };
        if run.catalog.schema_name(oid).is_empty() {
            return Ok(None);
        }
        // A session may do with its own temporary schema what its role may do there.
        if run.state.temporary_schema.get() == Some(oid) && self.user.is_some() {
            let database = Subject::find(catalog, catalog.database()).zip(self.user);
            let makes = database
                .is_some_and(|(database, user)| database.privileges_of(catalog, user).contains(Privileges::TEMPORARY));
            return Ok(Some(makes || words(self.privilege).any(|(word, _)| word == Privileges::USAGE)));
        }
        Ok(Some(self.may(oid)))
    }

    fn may_with_function(&self, function: &Value) -> Result<Option<bool>> {
        let oid = match function {
            Value::Text(name) => Oid(parse_reg(&self.run.catalog, name, oids::REGPROCEDURE)?),
            other => oid_of(other)?,
        };
        let is_built_in = types::function(oid).is_some() || types::aggregate(oid).is_some();
        let is_of_type = types::type_functions::name_of(oid).is_some();
        let exists = is_built_in || is_of_type || self.catalog().function(oid).is_some();
        Ok(exists.then(|| self.may_with_listed(oid)))
    }

    fn may_with_type(&self, type_oid: &Value) -> Result<Option<bool>> {
        let oid = match type_oid {
            Value::Text(name) => Oid(parse_reg(&self.run.catalog, name, oids::REGTYPE)?),
            other => oid_of(other)?,
        };
        let exists = types::builtin_type(oid).is_some() || self.run.catalog.user_type(oid).is_some();
        // The privileges of an array type are those of its element type.
        Ok(exists.then(|| self.may_with_listed(user_types::element_of_array(oid).unwrap_or(oid))))
    }

    /// The row types of tables have no privilege list. Nor have built-in objects, except those that are not open to every role.
    fn may_with_listed(&self, oid: Oid) -> bool {
        let catalog = self.catalog();
        let is_stored = oid >= Oid::FIRST_NORMAL && catalog.table(oid).is_none();
        let has_list = is_stored || is_closed(oid);
        !has_list || Subject::find(catalog, oid).is_none() || self.may(oid)
    }

    fn may_with_database(&self, database: &Value) -> Result<Option<bool>> {
        let catalog = self.catalog();
        let found = match database {
            Value::Text(name) => Some(catalog.database_by_name(name).ok_or_else(|| missing::database(name))?),
            other => catalog.database_def(oid_of(other)?),
        };
        Ok(found.map(|def| self.may(def.oid)))
    }
}

/// The privileges that a text names, and of each whether the right to grant it is meant.
fn words(text: &str) -> impl Iterator<Item = (Privileges, bool)> + '_ {
    text.split(',').filter_map(|word| {
        let upper = word.trim().to_ascii_uppercase();
        let plain = upper.strip_suffix(" WITH GRANT OPTION");
        Privileges::named(plain.unwrap_or(&upper)).map(|privilege| (privilege, plain.is_some()))
    })
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
            None => Err(missing::role(name)),
        },
        other => Ok(catalog.role(oid_of(other)?).map(|role| role.oid)),
    }
}

/// The number of a relation's column; none if it has none of this number. 42703 for a name it has not.
fn column_number(run: &Run<'_, '_>, relation: Oid, column: &Value) -> Result<Option<i32>> {
    let found = super::relation(run, relation);
    let is_system = |number: i32| SYSTEM_COLUMNS.iter().any(|(.., own)| i32::from(*own) == number);
    let Value::Text(name) = column else {
        let number = column.as_i64().and_then(|number| i32::try_from(number).ok()).unwrap_or(0);
        let exists = match found {
            Some(super::Found::Table(table)) if number > 0 => {
                table.columns.get(number as usize - 1).is_some_and(|column| !column.dropped)
            }
            Some(super::Found::Table(table)) => table.kind != RelationKind::View && is_system(number),
            _ => number > 0 || is_system(number),
        };
        return Ok(exists.then_some(number));
    };
    let table = match found {
        Some(super::Found::Table(table)) => table,
        Some(super::Found::Composite(def)) => {
            let fields = user_types::composite_fields(&def).unwrap_or_default();
            let place = fields.iter().position(|(field, _)| field == name.as_str());
            return match place {
                Some(place) => Ok(Some(place as i32 + 1)),
                None => Err(missing::column_of_relation(name, &def.name)),
            };
        }
        _ => return Ok(Some(1)),
    };
    let of_system =
        SYSTEM_COLUMNS.iter().find(|(own, ..)| *own == name.as_str()).map(|(.., number)| i32::from(*number));
    let own = table.column_by_name(name).map(|place| place as i32 + 1);
    match own.or(of_system.filter(|_| table.kind != RelationKind::View)) {
        Some(number) => Ok(Some(number)),
        None => Err(missing::column_of_relation(name, &table.name)),
    }
}

fn check_privilege_name(what: What, privilege: &str) -> Result<()> {
    let known: &[&str] = match what {
        What::Relation => &["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER", "RULE"],
        What::Sequence => &["USAGE", "SELECT", "UPDATE"],
        What::Column | What::AnyColumn => &["SELECT", "INSERT", "UPDATE", "REFERENCES"],
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
