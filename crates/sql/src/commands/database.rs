//! CREATE, ALTER and DROP DATABASE.
//!
//! A new database is a copy of a template that nobody is in. While a database is copied, renamed or dropped, it lets nobody in
//! ([`ClosedDatabase`]): the session keeps it closed until its transaction has ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::lock_mode::LockMode;
use base::{Error, Oid, Result, missing, sqlstate};
use plan::privileges;
use schema::catalog::DatabaseDef;
use sync::InterruptKind;
use syntax::tree::{DefinitionElement, DefinitionValue, Name, RoleName};

use super::ddl::Ddl;
use crate::session_defaults;
use crate::state::{CHANGE_LOCK, ClosedDatabase, DROP_LOCK, UtilityOutput};
use executor::client::Severity;

/// The template of a new database for which no other is named.
const DEFAULT_TEMPLATE: &str = "template1";
/// How long a statement waits for sessions to leave the database that it wants to have alone.
const WAIT_FOR_SESSIONS_MAX: Duration = Duration::from_secs(5);
/// How often it looks.
const WAIT_STEP: Duration = Duration::from_millis(20);
/// The locales that a database may have. All sort by the bytes of UTF-8.
const LOCALES: [&str; 5] = ["C", "POSIX", "C.UTF-8", "C.utf8", "C.UTF8"];

/// The options of CREATE DATABASE, each at most once.
#[derive(Default)]
struct Options {
    owner: Option<RoleName>,
    template: Option<String>,
    is_template: Option<bool>,
    allows_connections: Option<bool>,
    connection_limit: Option<i32>,
}

/// CREATE DATABASE.
pub(super) fn create(ddl: &mut Ddl<'_>, name: &Name, options: &[DefinitionElement]) -> Result<UtilityOutput> {
    let options = read_options(ddl, options)?;
    let owner = match &options.owner {
        Some(owner) => ddl.role(owner)?,
        None => ddl.owner(),
    };
    let catalog = ddl.catalog();
    if !ddl.state.is_superuser() && !privileges::is_member(&catalog, ddl.owner(), owner) {
        let role = catalog.role(owner).map_or("", |role| role.name.as_str());
        let message = format!("must be member of role \"{role}\"");
        return Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message));
    }
    let template_name = options.template.as_deref().unwrap_or(DEFAULT_TEMPLATE);
    let find = || Ok(ddl.catalog().database_by_name(template_name).cloned());
    let Some(template) = ddl.find_held(CHANGE_LOCK, find, |found| found.as_ref().map(|def| def.oid))? else {
        ddl.engine().observe_horizon();
        let message = format!("template database \"{template_name}\" does not exist");
        return Err(Error::new(sqlstate::INVALID_CATALOG_NAME, message));
    };
    let catalog = ddl.catalog();
    if !template.is_template && !privileges::has_rights_of(&catalog, ddl.owner(), template.owner) {
        let message = format!("permission denied to copy database \"{template_name}\"");
        return Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message));
    }
    if catalog.database_by_name(name).is_some() {
        ddl.engine().observe_horizon();
        return Err(is_taken(name));
    }
    ddl.keep_role(owner)?;
    close(ddl, template.oid, || format!("source database \"{template_name}\" is being accessed by other users"))?;
    let def = DatabaseDef {
        is_template: options.is_template.unwrap_or(false),
        allows_connections: options.allows_connections.unwrap_or(true),
        connection_limit: options.connection_limit.unwrap_or(-1),
        ..DatabaseDef::new(ddl.allocate_oid(), name.as_str(), owner)
    };
    ddl.state.changed_catalog.set(true);
    ddl.engine().create_database(def, template.oid)?;
    Ok(UtilityOutput::tag("CREATE DATABASE"))
}

/// DROP DATABASE.
pub(super) fn drop(ddl: &mut Ddl<'_>, name: &Name, if_exists: bool, force: bool) -> Result<UtilityOutput> {
    let tag = || Ok(UtilityOutput::tag("DROP DATABASE"));
    if ddl.catalog().database_by_name(name).is_none() {
        ddl.skip(missing::database(name), if_exists)?;
        return tag();
    }
    let def = held(ddl, name, DROP_LOCK)?;
    require_owner(ddl, &def)?;
    if def.is_template {
        return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, "cannot drop a template database"));
    }
    if def.oid == ddl.state.database_oid() {
        return Err(Error::new(sqlstate::OBJECT_IN_USE, "cannot drop the currently open database"));
    }
    let closed = ddl.state.close_database(def.oid);
    if force {
        end_sessions(ddl, &closed, &def)?;
    }
    wait_until_empty(ddl, &closed, || format!("database \"{name}\" is being accessed by other users"))?;
    let catalog = ddl.catalog();
    let lists = privileges::stored_object(&catalog, def.oid);
    for oid in lists.into_iter().chain(session_defaults::kept_for_database(&catalog, def.oid)) {
        ddl.engine().drop_object(oid)?;
    }
    ddl.state.changed_catalog.set(true);
    ddl.engine().drop_database(def.oid)?;
    tag()
}

/// ALTER DATABASE with options.
pub(super) fn alter(ddl: &mut Ddl<'_>, name: &Name, options: &[DefinitionElement]) -> Result<UtilityOutput> {
    let mut read = Options::default();
    for option in options {
        match option.name.as_str() {
            "is_template" => set(ddl, &mut read.is_template, boolean(option)?, option)?,
            "allow_connections" => set(ddl, &mut read.allows_connections, boolean(option)?, option)?,
            "connection_limit" => set(ddl, &mut read.connection_limit, connection_limit(option)?, option)?,
            // There is one, and every database is in it.
            "tablespace" => check_tablespace(option.text())?,
            other => return Err(ddl.at(unknown_option(other), option.location)),
        }
    }
    let def = held(ddl, name, CHANGE_LOCK)?;
    require_owner(ddl, &def)?;
    if read.allows_connections == Some(false) && def.oid == ddl.state.database_oid() {
        let message = "cannot disallow connections for current database";
        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    ddl.replace(DatabaseDef {
        is_template: read.is_template.unwrap_or(def.is_template),
        allows_connections: read.allows_connections.unwrap_or(def.allows_connections),
        connection_limit: read.connection_limit.unwrap_or(def.connection_limit),
        ..(*def).clone()
    })?;
    Ok(UtilityOutput::tag("ALTER DATABASE"))
}

/// ALTER DATABASE ... RENAME TO.
pub(super) fn rename(ddl: &mut Ddl<'_>, name: &Name, new: &Name) -> Result<()> {
    let def = held(ddl, name, DROP_LOCK)?;
    require_owner(ddl, &def)?;
    let catalog = ddl.catalog();
    if !ddl.state.is_superuser() && !catalog.role(ddl.owner()).is_some_and(|role| role.create_database) {
        return Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, "permission denied to rename database"));
    }
    if catalog.database_by_name(new).is_some() {
        return Err(is_taken(new));
    }
    if def.oid == ddl.state.database_oid() {
        return Err(Error::unsupported("current database cannot be renamed"));
    }
    close(ddl, def.oid, || format!("database \"{name}\" is being accessed by other users"))?;
    ddl.replace(DatabaseDef { name: new.to_string(), ..(*def).clone() })
}

/// The database called `name`, with its description locked.
fn held(ddl: &Ddl<'_>, name: &Name, mode: LockMode) -> Result<Arc<DatabaseDef>> {
    ddl.find_held(mode, || ddl.database(name), |def| Some(def.oid))
}

fn require_owner(ddl: &Ddl<'_>, def: &DatabaseDef) -> Result<()> {
    if privileges::has_rights_of(&ddl.catalog(), ddl.owner(), def.owner) {
        return Ok(());
    }
    let message = format!("must be owner of database {}", def.name);
    Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message))
}

fn is_taken(name: &str) -> Error {
    Error::new(sqlstate::DUPLICATE_DATABASE, format!("database \"{name}\" already exists"))
}

/// Lets nobody into a database until the transaction has ended, and waits until nobody is in it.
fn close(ddl: &Ddl<'_>, database: Oid, refusal: impl FnOnce() -> String) -> Result<()> {
    let closed = ddl.state.close_database(database);
    wait_until_empty(ddl, &closed, refusal)
}

/// Waits until no other session and no prepared transaction is in a database.
///
/// # Errors
/// 55006 with the words of `refusal` after five seconds; 57014 and its kin.
fn wait_until_empty(ddl: &Ddl<'_>, closed: &ClosedDatabase, refusal: impl FnOnce() -> String) -> Result<()> {
    let deadline = Instant::now() + WAIT_FOR_SESSIONS_MAX;
    loop {
        let own = ddl.state.info.pid;
        let sessions = closed.sessions().iter().filter(|info| info.pid != own).count();
        let prepared = prepared_in(ddl, closed.oid());
        if sessions + prepared == 0 {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(Error::new(sqlstate::OBJECT_IN_USE, refusal()).detail(users_detail(sessions, prepared)));
        }
        ddl.state.wait_until(Instant::now() + WAIT_STEP)?;
    }
}

/// How many prepared transactions are in a database.
fn prepared_in(ddl: &Ddl<'_>, database: Oid) -> usize {
    let prepared = ddl.engine().prepared_transactions();
    prepared.iter().filter(|prepared| prepared.database == database).count()
}

/// A DETAIL that counts the users of a database.
fn users_detail(sessions: usize, prepared: usize) -> String {
    let verb = |count: usize| if count == 1 { "is" } else { "are" };
    let noun = |count: usize| if count == 1 { "session" } else { "sessions" };
    match (sessions, prepared) {
        (sessions, 0) => format!("There {} {sessions} other {} using the database.", verb(sessions), noun(sessions)),
        (0, 1) => "There is 1 prepared transaction using the database.".to_owned(),
        (0, prepared) => format!("There are {prepared} prepared transactions using the database."),
        _ => {
            format!("There are {sessions} other session(s) and {prepared} prepared transaction(s) using the database.")
        }
    }
}

/// DROP DATABASE ... WITH (FORCE): ends the sessions that are in it.
fn end_sessions(ddl: &Ddl<'_>, closed: &ClosedDatabase, def: &DatabaseDef) -> Result<()> {
    let prepared = prepared_in(ddl, closed.oid());
    if prepared > 0 {
        let message = format!("database \"{}\" is being used by prepared transactions", def.name);
        let error = Error::new(sqlstate::OBJECT_IN_USE, message);
        return Err(error.detail(users_detail(0, prepared)));
    }
    let sessions = closed.sessions();
    for info in &sessions {
        ddl.state.check_signal(info.role, InterruptKind::Terminate)?;
    }
    for info in sessions {
        info.interrupt.raise(InterruptKind::Terminate);
    }
    Ok(())
}

fn read_options(ddl: &mut Ddl<'_>, options: &[DefinitionElement]) -> Result<Options> {
    let mut read = Options::default();
    let mut met: Vec<&str> = Vec::new();
    for option in options {
        let name = option.name.as_str();
        if name == "location" {
            let warning = Error::unsupported("LOCATION is not supported anymore");
            let warning = warning.hint("Consider using tablespaces instead.");
            ddl.tell(Severity::Warning, &ddl.at(warning, option.location));
            continue;
        }
        if met.contains(&name) {
            return Err(ddl.at(repeated(), option.location));
        }
        met.push(name);
        // DEFAULT has no value.
        if option.value.is_none() {
            continue;
        }
        let text = || option.value.as_ref().and_then(DefinitionValue::text);
        match name {
            "owner" => read.owner = role(option),
            "template" => read.template = text(),
            "is_template" => read.is_template = Some(boolean(option)?),
            "allow_connections" => read.allows_connections = Some(boolean(option)?),
            "connection_limit" => read.connection_limit = Some(connection_limit(option)?),
            "encoding" => check_encoding(option).map_err(|error| ddl.at(error, option.location))?,
            "lc_collate" | "lc_ctype" | "locale" => check_locale(text())?,
            "locale_provider" => check_provider(text())?,
            "icu_locale" => {
                let message = "ICU locale cannot be specified unless locale provider is ICU";
                return Err(Error::new(sqlstate::INVALID_OBJECT_DEFINITION, message));
            }
            "tablespace" => check_tablespace(text())?,
            "strategy" => check_strategy(text())?,
            "collation_version" | "oid" => {
                return Err(Error::unsupported(format!("option \"{name}\" of CREATE DATABASE is not supported")));
            }
            other => return Err(ddl.at(unknown_option(other), option.location)),
        }
    }
    Ok(read)
}

fn repeated() -> Error {
    Error::new(sqlstate::SYNTAX_ERROR, "conflicting or redundant options")
}

fn unknown_option(name: &str) -> Error {
    Error::new(sqlstate::SYNTAX_ERROR, format!("option \"{name}\" not recognized"))
}

fn set<T>(ddl: &Ddl<'_>, place: &mut Option<T>, value: T, option: &DefinitionElement) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(ddl.at(repeated(), option.location)),
    }
}

fn boolean(option: &DefinitionElement) -> Result<bool> {
    option
        .boolean()
        .ok_or_else(|| Error::new(sqlstate::SYNTAX_ERROR, format!("{} requires a Boolean value", option.name)))
}

fn connection_limit(option: &DefinitionElement) -> Result<i32> {
    let Some(DefinitionValue::Integer(limit)) = option.value else {
        let message = format!("{} requires an integer value", option.name);
        return Err(Error::new(sqlstate::SYNTAX_ERROR, message));
    };
    match i32::try_from(limit) {
        Ok(limit) if limit >= -1 => Ok(limit),
        _ => Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("invalid connection limit: {limit}"))),
    }
}

/// The role that OWNER names; none for DEFAULT.
fn role(option: &DefinitionElement) -> Option<RoleName> {
    match &option.value {
        Some(DefinitionValue::String(name)) => Some(RoleName::Name(name.as_str().into(), option.location)),
        Some(DefinitionValue::Roles(roles)) => roles.first().cloned(),
        _ => None,
    }
}

fn check_encoding(option: &DefinitionElement) -> Result<()> {
    /// PostgreSQL's number of UTF8.
    const UTF8: i64 = 6;
    let invalid = |what: String| Error::new(sqlstate::UNDEFINED_OBJECT, what);
    match &option.value {
        None | Some(DefinitionValue::Integer(UTF8 | -1)) => Ok(()),
        Some(DefinitionValue::Integer(number)) => Err(invalid(format!("{number} is not a valid encoding code"))),
        Some(value) => {
            let name = value.text().unwrap_or_default();
            if is_utf8(&name) {
                return Ok(());
            }
            if crate::state::settings::is_encoding(&name) {
                return Err(Error::unsupported(format!("encoding \"{name}\" of a database is not supported")));
            }
            Err(invalid(format!("{name} is not a valid encoding name")))
        }
    }
}

fn is_utf8(name: &str) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    matches!(name.to_ascii_lowercase().as_str(), "utf8" | "unicode")
}

fn check_locale(name: Option<String>) -> Result<()> {
    match name {
        Some(name) if !LOCALES.contains(&name.as_str()) => {
            Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("invalid locale name: \"{name}\"")))
        }
        _ => Ok(()),
    }
}

fn check_provider(name: Option<String>) -> Result<()> {
    match name.as_deref() {
        None | Some("libc") => Ok(()),
        Some("icu") => Err(Error::unsupported("the locale provider ICU is not supported")),
        Some(name) => {
            Err(Error::new(sqlstate::INVALID_OBJECT_DEFINITION, format!("unrecognized locale provider: {name}")))
        }
    }
}

fn check_tablespace(name: Option<String>) -> Result<()> {
    match name.as_deref() {
        None | Some("pg_default") => Ok(()),
        Some("pg_global") => {
            Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, "pg_global cannot be used as default tablespace"))
        }
        Some(name) => Err(Error::new(sqlstate::UNDEFINED_OBJECT, format!("tablespace \"{name}\" does not exist"))),
    }
}

/// Both strategies of PostgreSQL copy the same; there is one way here.
fn check_strategy(name: Option<String>) -> Result<()> {
    match name.map(|name| name.to_ascii_lowercase()).as_deref() {
        None | Some("wal_log" | "file_copy") => Ok(()),
        Some(name) => {
            let message = format!("invalid create database strategy \"{name}\"");
            Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
                .hint("Valid strategies are \"wal_log\" and \"file_copy\"."))
        }
    }
}
