//! Roles: who they are, their passwords, and which are members of which.

use std::sync::Arc;

use base::settings::Id;
use base::{Error, Oid, Result, missing, sqlstate};
use plan::CatalogView;
use plan::privileges::{self, ColumnAcls, Subject};
use schema::catalog::{Catalog, DATABASE_OWNER_ROLE, RoleDef};
use syntax::tree::{AlterRole, CreateRole, DefinitionElement, DefinitionValue, GrantRole, RoleName};
use types::datetime;

use super::ddl::Ddl;
use super::dependencies::{Node, describe};
use crate::state::planning::Environment;
use crate::state::{CHANGE_LOCK, DROP_LOCK, UtilityOutput};
use crate::system_tables::{SEQUENCE_COLUMNS, SYSTEM_COLUMNS};
use crate::{password, session_defaults};
use executor::client::Severity;

/// CREATE ROLE, USER, GROUP.
pub(super) fn create(ddl: &mut Ddl<'_>, create: &CreateRole) -> Result<UtilityOutput> {
    let demands = |option: &str| create.options.iter().any(|own| own.name == option && own.boolean().unwrap_or(true));
    if demands("superuser") {
        require_superuser(ddl, "create superusers")?;
    } else if demands("isreplication") {
        require_superuser(ddl, "create replication users")?;
    } else if demands("bypassrls") {
        require_superuser(ddl, "create bypassrls users")?;
    } else {
        require_create_role(ddl, "create role")?;
    }
    let name = create.name.as_str();
    refuse_reserved(name, "Role names starting with \"pg_\" are reserved.")?;
    if matches!(name, "public" | "none") {
        return Err(Error::new(sqlstate::RESERVED_NAME, format!("role name \"{name}\" is reserved")));
    }
    let mut role = RoleDef {
        oid: ddl.allocate_oid(),
        name: name.to_owned(),
        superuser: false,
        inherit: true,
        create_role: false,
        create_database: false,
        login: create.is_user,
        replication: false,
        connection_limit: -1,
        password: None,
        valid_until: None,
        member_of: Vec::new(),
        settings: Vec::new(),
        comment: None,
        bypass_row_security: false,
        admin_of: Vec::new(),
    };
    apply(ddl, &mut role, &create.options)?;
    let made = role.oid;
    ddl.create(role)?;
    for group in roles_of(&create.options, "addroleto") {
        let group = ddl.role(group)?;
        change_members(ddl, group, &[made], Change::Add { with_admin: false })?;
    }
    for (option, with_admin) in [("rolemembers", false), ("adminmembers", true)] {
        let members = roles_of(&create.options, option).map(|member| ddl.role(member)).collect::<Result<Vec<_>>>()?;
        change_members(ddl, made, &members, Change::Add { with_admin })?;
    }
    Ok(UtilityOutput::tag("CREATE ROLE"))
}

/// The roles that an option names.
fn roles_of<'o>(options: &'o [DefinitionElement], name: &str) -> impl Iterator<Item = &'o RoleName> + use<'o> {
    let option = options.iter().find(|option| option.name == name);
    let roles = match option.and_then(|option| option.value.as_ref()) {
        Some(DefinitionValue::Roles(roles)) => roles.as_slice(),
        _ => &[],
    };
    roles.iter()
}

/// 42939 for the name of a role of the system's own.
pub(super) fn refuse_reserved(name: &str, detail: &str) -> Result<()> {
    if name.starts_with("pg_") {
        let message = format!("role name \"{name}\" is reserved");
        return Err(Error::new(sqlstate::RESERVED_NAME, message).detail(detail));
    }
    Ok(())
}

/// 42501 for who may not change another role: superusers are for superusers.
pub(super) fn require_power_over(ddl: &Ddl<'_>, role: &RoleDef, of_superusers: &str, of_others: &str) -> Result<()> {
    let may_create = ddl.catalog().role(ddl.owner()).is_some_and(|role| role.create_role);
    if ddl.state.is_superuser() || !role.superuser && may_create {
        return Ok(());
    }
    let message = if role.superuser { of_superusers } else { of_others };
    Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message))
}

/// 42501 for who is neither a superuser nor may make roles.
fn require_create_role(ddl: &Ddl<'_>, what: &str) -> Result<()> {
    let may_create = ddl.catalog().role(ddl.owner()).is_some_and(|role| role.create_role);
    if ddl.state.is_superuser() || may_create {
        return Ok(());
    }
    let message = if what.is_empty() { "permission denied".to_owned() } else { format!("permission denied to {what}") };
    Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message))
}

fn require_superuser(ddl: &Ddl<'_>, what: &str) -> Result<()> {
    if ddl.state.is_superuser() {
        return Ok(());
    }
    Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, format!("must be superuser to {what}")))
}

fn apply(ddl: &mut Ddl<'_>, role: &mut RoleDef, options: &[DefinitionElement]) -> Result<()> {
    for (number, option) in options.iter().enumerate() {
        if options[..number].iter().any(|other| other.name == option.name) {
            let error = Error::new(sqlstate::SYNTAX_ERROR, "conflicting or redundant options");
            return Err(ddl.at(error, option.location));
        }
        let is_on = option.boolean().unwrap_or(true);
        match option.name.as_str() {
            "superuser" => role.superuser = is_on,
            "inherit" => role.inherit = is_on,
            "createrole" => role.create_role = is_on,
            "createdb" => role.create_database = is_on,
            "canlogin" => role.login = is_on,
            "isreplication" => role.replication = is_on,
            "bypassrls" => role.bypass_row_security = is_on,
            "sysid" => {}
            "connectionlimit" => {
                role.connection_limit = match &option.value {
                    Some(DefinitionValue::Integer(limit)) if *limit >= -1 => i32::try_from(*limit).unwrap_or(i32::MAX),
                    _ => {
                        let message = format!("invalid connection limit: {}", option.text().unwrap_or_default());
                        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message));
                    }
                };
            }
            "password" => {
                let password = option.value.as_ref().and_then(|_| option.text()).unwrap_or_default();
                role.password = match password.is_empty() {
                    true => None,
                    false => {
                        password::to_keep(&password, &role.name, ddl.state.setting(Id::PasswordEncryption).word())?
                    }
                };
                if role.password.is_none() && option.value.is_some() {
                    let message = "empty string is not a valid password, clearing password";
                    ddl.notice(sqlstate::SUCCESSFUL_COMPLETION, message);
                }
            }
            "validUntil" => {
                let environment = Environment::new(ddl.state, &ddl.view());
                let text = option.text().unwrap_or_default();
                role.valid_until = Some(datetime::parse_timestamptz(&environment.eval_context(), &text, -1)?);
            }
            // Memberships come when the role is there.
            "addroleto" | "rolemembers" | "adminmembers" => {}
            other => return Err(Error::internal(format!("option \"{other}\" not recognized"))),
        }
    }
    Ok(())
}

/// ALTER ROLE.
pub(super) fn alter(ddl: &mut Ddl<'_>, alter: &AlterRole) -> Result<UtilityOutput> {
    let oid = ddl.role_to_change(&alter.role)?;
    if let RoleName::Name(name, _) = &alter.role {
        refuse_reserved(name, "Cannot alter reserved roles.")?;
    }
    let is_named = |option: &str| alter.options.iter().any(|own| own.name == option);
    let (is_superuser, replicates) =
        ddl.catalog().role(oid).map_or((false, false), |role| (role.superuser, role.replication));
    let is_own_password = oid == ddl.owner() && alter.options.iter().all(|option| option.name == "password");
    if is_superuser || is_named("superuser") {
        require_superuser(ddl, "alter superuser roles or change superuser attribute")?;
    } else if replicates || is_named("isreplication") {
        require_superuser(ddl, "alter replication roles or change replication attribute")?;
    } else if is_named("bypassrls") {
        require_superuser(ddl, "change bypassrls attribute")?;
    } else if !is_own_password {
        require_create_role(ddl, "")?;
    }
    let catalog = ddl.catalog();
    let mut role = (**catalog.role(oid).ok_or_else(|| missing::role(""))?).clone();
    apply(ddl, &mut role, &alter.options)?;
    ddl.replace(role)?;
    let members = roles_of(&alter.options, "rolemembers").map(|member| ddl.role(member)).collect::<Result<Vec<_>>>()?;
    let change =
        if alter.action < 0 { Change::Remove { only_admin: false } } else { Change::Add { with_admin: false } };
    change_members(ddl, oid, &members, change)?;
    Ok(UtilityOutput::tag("ALTER ROLE"))
}

/// The catalog with the role `name` in it, whose description is locked until the transaction ends.
pub(super) fn hold_role(ddl: &Ddl<'_>, name: &str) -> Result<Arc<Catalog>> {
    let find = || {
        let catalog = ddl.catalog();
        let oid = catalog.role_by_name(name).ok_or_else(|| missing::role(name))?.oid;
        Ok((catalog, oid))
    };
    Ok(ddl.find_held(CHANGE_LOCK, find, |(_, oid)| Some(*oid))?.0)
}

/// DROP ROLE.
pub(super) fn drop(ddl: &mut Ddl<'_>, roles: &[RoleName], if_exists: bool) -> Result<UtilityOutput> {
    require_create_role(ddl, "drop role")?;
    for role in roles {
        let RoleName::Name(name, _) = role else {
            return Err(Error::new(
                sqlstate::INVALID_PARAMETER_VALUE,
                "cannot use special role specifier in DROP ROLE",
            ));
        };
        let find = || Ok(ddl.catalog().role_by_name(name).map(|role| role.oid));
        ddl.find_held(DROP_LOCK, find, |found| *found)?;
        let catalog = ddl.catalog();
        let Some(role) = catalog.role_by_name(name) else {
            ddl.skip(missing::role(name), if_exists)?;
            continue;
        };
        if role.oid == ddl.owner() {
            return Err(Error::new(sqlstate::OBJECT_IN_USE, "current user cannot be dropped"));
        }
        if role.oid == ddl.state.session_role().oid {
            return Err(Error::new(sqlstate::OBJECT_IN_USE, "session user cannot be dropped"));
        }
        if role.superuser {
            require_superuser(ddl, "drop superusers")?;
        }
        if role.oid < Oid::FIRST_NORMAL {
            let message = format!("cannot drop role {name} because it is required by the database system");
            return Err(Error::new(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message));
        }
        refuse_owner(ddl, role.oid, name)?;
        for member in catalog.roles().filter(|member| member.member_of.contains(&role.oid)) {
            ddl.hold(member.oid, CHANGE_LOCK)?;
            let catalog = ddl.catalog();
            let Some(member) = catalog.role(member.oid) else { continue };
            let mut member = (**member).clone();
            member.member_of.retain(|group| *group != role.oid);
            member.admin_of.retain(|group| *group != role.oid);
            ddl.replace(member)?;
        }
        for kept in session_defaults::objects_of_role(&catalog, role.oid) {
            ddl.drop(kept)?;
        }
        ddl.drop(role.oid)?;
    }
    Ok(UtilityOutput::tag("DROP ROLE"))
}

/// 2BP01 for a role that owns something.
fn refuse_owner(ddl: &Ddl<'_>, role: Oid, name: &str) -> Result<()> {
    let view = ddl.view();
    let objects = view.catalog().objects().filter(|object| object.owner() == Some(role));
    let mut depending: Vec<(Oid, &str)> = objects.map(|object| (object.oid(), "owner of")).collect();
    let granted = privileges::subjects_of_role(view.catalog(), role).into_iter();
    let subjects = granted.filter_map(|oid| Subject::find(view.catalog(), oid));
    let foreign = subjects.filter(|subject| subject.owner != role);
    depending.extend(foreign.map(|subject| (subject.oid, "privileges for")));
    let mut depending: Vec<(Oid, u32, String)> = depending
        .into_iter()
        .map(|(oid, how)| (oid, 0, format!("{how} {}", describe(&view, Node::Object(oid)))))
        .collect();
    for (table, numbers) in ColumnAcls::of_role(view.catalog(), role) {
        let owner = Subject::find(view.catalog(), table).map(|subject| subject.owner);
        for number in numbers.into_iter().filter(|_| owner != Some(role)) {
            let column = describe_column(&view, table, number);
            // System columns come last.
            depending.push((table, number as u32, format!("privileges for {column}")));
        }
    }
    for (oid, of, acl) in privileges::default_acls(view.catalog()) {
        let is_mentioned = acl.0.iter().any(|item| item.grantee == role);
        let how = if of.role == role {
            "owner of"
        } else if is_mentioned {
            "privileges for"
        } else {
            continue;
        };
        depending.push((oid, 0, format!("{how} {}", of.described(view.catalog()))));
    }
    depending.sort_unstable();
    let mut owned: Vec<String> = depending.into_iter().map(|(.., how)| how).collect();
    owned.extend(depending_elsewhere(ddl, role));
    if owned.is_empty() {
        return Ok(());
    }
    let message = format!("role \"{name}\" cannot be dropped because some objects depend on it");
    Err(Error::new(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message).detail(owned.join("\n")))
}

/// How many objects of each other database belong to a role, or name it in a list of privileges.
fn depending_elsewhere(ddl: &Ddl<'_>, role: Oid) -> Vec<String> {
    let catalogs = ddl.state.database.catalogs();
    let mut others: Vec<_> =
        catalogs.databases().filter(|catalog| catalog.database() != ddl.state.database_oid()).collect();
    others.sort_by_key(|catalog| catalog.database());
    let count = |catalog: &Catalog| {
        let owned = catalog.own_entries().filter(|entry| entry.object.owner() == Some(role)).count();
        let granted = privileges::subjects_of_role(catalog, role).into_iter();
        let subjects = granted.filter(|oid| catalog.database_def(*oid).is_none());
        let foreign = subjects.filter_map(|oid| Subject::find(catalog, oid)).filter(|subject| subject.owner != role);
        let defaults = privileges::default_acls(catalog).into_iter();
        let defaults = defaults.filter(|(_, of, acl)| of.role == role || acl.0.iter().any(|item| item.grantee == role));
        owned + foreign.count() + ColumnAcls::of_role(catalog, role).len() + defaults.count()
    };
    let told = |catalog: &Arc<Catalog>| {
        let (count, name) = (count(catalog), &catalog.database_def(catalog.database())?.name);
        let objects = if count == 1 { "object" } else { "objects" };
        (count > 0).then(|| format!("{count} {objects} in database {name}"))
    };
    others.into_iter().filter_map(told).collect()
}

/// `column a of table t`; also for the columns that every table and every sequence has.
fn describe_column(view: &CatalogView, table: Oid, number: i32) -> String {
    let place = usize::try_from(number - 1).ok().filter(|_| view.catalog().table(table).is_some());
    if let Some(place) = place {
        return describe(view, Node::Column(table, place));
    }
    let of_system = SYSTEM_COLUMNS.iter().find(|(.., own)| i32::from(*own) == number).map(|(name, ..)| *name);
    let of_sequence = || SEQUENCE_COLUMNS.iter().zip(1..).find(|(_, own)| *own == number).map(|((name, _), _)| *name);
    let name = of_system.or_else(of_sequence).unwrap_or_default();
    format!("column {name} of {}", describe(view, Node::Object(table)))
}

/// A change of a role's members.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// They become members.
    Add {
        /// WITH ADMIN OPTION: they may make others members, too.
        with_admin: bool,
    },
    /// They are members no longer.
    Remove {
        /// They stay members, and may not make others members.
        only_admin: bool,
    },
}

/// 42501 for who may not say who is a member of `group`: superusers' roles are for superusers, others for those who may make roles,
/// and for those who have it with the ADMIN OPTION.
fn require_admin(ddl: &Ddl<'_>, group: Oid) -> Result<()> {
    let catalog = ddl.catalog();
    let Some(group) = catalog.role(group) else { return Err(missing::role("")) };
    if group.superuser {
        return require_superuser(ddl, "alter superusers");
    }
    let may_create = require_create_role(ddl, "").is_ok();
    if may_create || privileges::is_admin_of(&catalog, ddl.owner(), group.oid) {
        return Ok(());
    }
    let message = format!("must have admin option on role \"{}\"", group.name);
    Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message))
}

/// Changes who is a member of `group`.
fn change_members(ddl: &mut Ddl<'_>, group: Oid, members: &[Oid], change: Change) -> Result<()> {
    if members.is_empty() {
        return Ok(());
    }
    require_admin(ddl, group)?;
    for member in members {
        ddl.hold(*member, CHANGE_LOCK)?;
        match change {
            Change::Add { with_admin } => add_member(ddl, group, *member, with_admin)?,
            Change::Remove { only_admin } => remove_member(ddl, group, *member, only_admin)?,
        }
    }
    Ok(())
}

/// Makes `member` a member of `group`.
fn add_member(ddl: &mut Ddl<'_>, group: Oid, member: Oid, with_admin: bool) -> Result<()> {
    let catalog = ddl.catalog();
    let mut role = (**catalog.role(member).ok_or_else(|| missing::role(""))?).clone();
    let membership = [(group, "cannot have explicit members"), (member, "cannot be a member of any role")];
    if let Some((_, what)) = membership.iter().find(|(oid, _)| *oid == DATABASE_OWNER_ROLE) {
        return Err(Error::internal(format!("role \"pg_database_owner\" {what}")));
    }
    if privileges::is_member(&catalog, group, member) {
        let group = catalog.role(group).map_or("", |group| group.name.as_str());
        let message = format!("role \"{group}\" is a member of role \"{}\"", role.name);
        return Err(Error::new(sqlstate::INVALID_GRANT_OPERATION, message));
    }
    if role.member_of.contains(&group) && (!with_admin || role.admin_of.contains(&group)) {
        let group = catalog.role(group).map_or("", |group| group.name.as_str());
        let message = format!("role \"{}\" is already a member of role \"{group}\"", role.name);
        ddl.notice(sqlstate::SUCCESSFUL_COMPLETION, message);
        return Ok(());
    }
    if !role.member_of.contains(&group) {
        role.member_of.push(group);
    }
    if with_admin {
        role.admin_of.push(group);
    }
    ddl.replace(role)
}

/// Takes a membership back, or its ADMIN OPTION alone.
fn remove_member(ddl: &mut Ddl<'_>, group: Oid, member: Oid, only_admin: bool) -> Result<()> {
    let catalog = ddl.catalog();
    let mut role = (**catalog.role(member).ok_or_else(|| missing::role(""))?).clone();
    if !role.member_of.contains(&group) {
        let group = catalog.role(group).map_or("", |group| group.name.as_str());
        let message = format!("role \"{}\" is not a member of role \"{group}\"", role.name);
        ddl.tell(Severity::Warning, &Error::new(sqlstate::WARNING, message));
        return Ok(());
    }
    role.admin_of.retain(|other| *other != group);
    if !only_admin {
        role.member_of.retain(|other| *other != group);
    }
    ddl.replace(role)
}

/// GRANT and REVOKE of roles.
pub(super) fn grant(ddl: &mut Ddl<'_>, grant: &GrantRole) -> Result<UtilityOutput> {
    let grantor = grant.granted_by.as_ref().map(|grantor| ddl.role(grantor)).transpose()?;
    let members = grant.grantees.iter().map(|grantee| ddl.role_to_change(grantee)).collect::<Result<Vec<_>>>()?;
    let change = match grant.is_grant {
        true => Change::Add { with_admin: grant.admin_option },
        false => Change::Remove { only_admin: grant.admin_option },
    };
    for group in &grant.roles {
        let group = ddl.role(&RoleName::Name(group.clone(), -1))?;
        require_admin(ddl, group)?;
        if grant.is_grant && grantor.is_some_and(|grantor| grantor != ddl.owner()) {
            require_superuser(ddl, "set grantor")?;
        }
        change_members(ddl, group, &members, change)?;
    }
    Ok(UtilityOutput::tag(if grant.is_grant { "GRANT ROLE" } else { "REVOKE ROLE" }))
}
