//! SET, SHOW and RESET, and copies of settings that every statement reads.

use std::borrow::Cow;
use std::time::Duration;

use base::settings::{self, Change, Id, SessionSettings};
use base::{Error, Result, sqlstate};
use plan::privileges;
use schema::catalog::READ_ALL_SETTINGS_ROLE;
use types::FormatSettings;
use types::context::{DateOrder, DateStyle};
use types::datetime::TimeZone;

use super::auto_explain::AutoExplain;
use super::session_state::SessionState;
use super::tcp::TcpTimes;
use base::settings::words::{IsolationLevel, MessageLevel};
use executor::client::{Client, Severity};
use executor::{invalid_value, parts_of_date_style, timeout};

/// Settings in the form in which the session itself uses them, good until their generation changes.
pub struct CachedSettings {
    pub(crate) generation: (u64, u64),
    pub(crate) client_min_messages: Severity,
    /// `client_min_messages` lets nothing but errors through.
    pub(crate) only_errors: bool,
    pub(crate) statement_timeout: Option<Duration>,
    pub(crate) idle_in_transaction_timeout: Option<Duration>,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) transaction_timeout: Option<Duration>,
    pub(crate) default_isolation: IsolationLevel,
    pub(crate) default_read_only: bool,
    pub(crate) default_deferrable: bool,
    pub(crate) standard_conforming_strings: bool,
    /// The TCP timeouts that the settings ask for; [`SessionState::renew_cached`] replaces them by those that the operating system applies.
    pub(crate) tcp: TcpTimes,
    pub(crate) ends_with_its_client: bool,
    pub(crate) log: super::log::LogSettings,
    /// Plans that are to be logged, where `auto_explain` is loaded.
    pub(crate) auto_explain: Option<AutoExplain>,
}

impl CachedSettings {
    /// Reads them.
    pub fn new(settings: &SessionSettings) -> CachedSettings {
        let timeout = |id: Id| timeout(settings, id);
        let level = settings.get(Id::ClientMinMessages).word();
        CachedSettings {
            generation: settings.generation(),
            only_errors: level == MessageLevel::Error,
            client_min_messages: match level {
                MessageLevel::Log => Severity::Log,
                MessageLevel::Notice => Severity::Notice,
                MessageLevel::Warning | MessageLevel::Error => Severity::Warning,
                _ => Severity::Debug,
            },
            statement_timeout: timeout(Id::StatementTimeout),
            idle_in_transaction_timeout: timeout(Id::IdleInTransactionSessionTimeout),
            idle_timeout: timeout(Id::IdleSessionTimeout),
            transaction_timeout: timeout(Id::TransactionTimeout),
            default_isolation: settings.get(Id::DefaultTransactionIsolation).word(),
            default_read_only: settings.get(Id::DefaultTransactionReadOnly).as_bool(),
            default_deferrable: settings.get(Id::DefaultTransactionDeferrable).as_bool(),
            standard_conforming_strings: settings.get(Id::StandardConformingStrings).as_bool(),
            tcp: TcpTimes::wanted(settings),
            ends_with_its_client: timeout(Id::ClientConnectionCheckInterval).is_some(),
            log: super::log::LogSettings::new(settings),
            auto_explain: AutoExplain::new(settings),
        }
    }
}

/// Completes a partial `DateStyle` from the present one, and names it as PostgreSQL does.
fn canonical_date_style(text: &str, present: &FormatSettings) -> Result<String> {
    let (style, order) = parts_of_date_style(text)?;
    let (style, order) = (style.unwrap_or(present.date_style), order.unwrap_or(present.date_order));
    let style = match style {
        DateStyle::Iso => "ISO",
        DateStyle::Sql => "SQL",
        DateStyle::Postgres => "Postgres",
        DateStyle::German => "German",
    };
    let order = match order {
        DateOrder::Mdy => "MDY",
        DateOrder::Dmy => "DMY",
        DateOrder::Ymd => "YMD",
    };
    Ok(format!("{style}, {order}"))
}

/// `SET name = text`, with what some settings ask beyond the table. The client is told of reported ones before it is told that
/// the session is ready.
///
/// # Errors
/// 22023, 42501, 42704, 55P02; 25001 for the isolation level after the first query.
pub fn set(state: &SessionState, name: &str, text: &str, change: Change, client: &mut dyn Client) -> Result<()> {
    let id = settings::lookup(name).ok();
    refuse_lent_rights(state, id)?;
    if let Some(id @ (Id::TransactionIsolation | Id::TransactionReadOnly | Id::TransactionDeferrable)) = id {
        return super::characteristics::set_characteristic(state, id, text, client);
    }
    let text = canonical(state, id, text)?;
    if let Some(id @ (Id::Role | Id::SessionAuthorization)) = id {
        check_role(state, id, &text)?;
    }
    // Before a block begins, a local value would end with the statement.
    let is_superuser = state.is_superuser();
    let changed = state.settings.borrow_mut().set(name, &text, change, is_superuser)?;
    if changed == Some(Id::SessionAuthorization) {
        forget_role(state, change)?;
    }
    after_change(state, changed);
    Ok(())
}

/// Whether PostgreSQL knows an encoding by this name, which may be written in any case and with any marks between.
pub(crate) fn is_encoding(text: &str) -> bool {
    let plain: String = text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let numbered = |stem: &str, numbers: &[&str]| plain.strip_prefix(stem).is_some_and(|rest| numbers.contains(&rest));
    let pages = [
        "866", "874", "932", "936", "949", "950", "1250", "1251", "1252", "1253", "1254", "1255", "1256", "1257",
        "1258",
    ];
    let parts = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "13", "14", "15", "16"];
    let is_other = matches!(
        plain.as_str(),
        "abc"
            | "alt"
            | "big5"
            | "euccn"
            | "eucjis2004"
            | "eucjp"
            | "euckr"
            | "euctw"
            | "gb18030"
            | "gbk"
            | "johab"
            | "koi8"
            | "koi8r"
            | "koi8u"
            | "mskanji"
            | "muleinternal"
            | "shiftjis"
            | "shiftjis2004"
            | "sjis"
            | "sqlascii"
            | "tcvn"
            | "tcvn5712"
            | "uhc"
            | "unicode"
            | "utf8"
            | "vscii"
            | "win"
    );
    is_other
        || numbered("iso8859", &parts)
        || numbered("latin", &parts[..10])
        || numbered("win", &pages)
        || numbered("windows", &pages)
}

/// The form in which a value is kept.
///
/// # Errors
/// 22023
fn canonical<'t>(state: &SessionState, id: Option<Id>, text: &'t str) -> Result<Cow<'t, str>> {
    Ok(match id {
        Some(Id::Datestyle) => canonical_date_style(text, &state.format())?.into(),
        Some(Id::Timezone) => {
            // A bare number counts hours east of UTC.
            let hours = text.trim().parse::<f64>().ok().filter(|hours| hours.abs() < 168.0);
            let zone = match hours {
                Some(hours) => Some(TimeZone::fixed((hours * 3600.0) as i32)),
                None => TimeZone::named(text),
            };
            let zone = zone.ok_or_else(|| invalid_value("TimeZone", text))?;
            zone.name().to_owned().into()
        }
        Some(Id::ClientEncoding) => {
            let plain: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
            match plain.to_ascii_uppercase().as_str() {
                "UTF8" | "UNICODE" => "UTF8".into(),
                "SQLASCII" => "SQL_ASCII".into(),
                _ => {
                    return Err(invalid_value("client_encoding", text).detail("Only UTF8 is supported."));
                }
            }
        }
        Some(Id::DefaultTablespace) if !matches!(text, "" | "pg_default" | "pg_global") => {
            let detail = format!("Tablespace \"{text}\" does not exist.");
            return Err(invalid_value("default_tablespace", text).detail(detail));
        }
        Some(Id::DefaultTableAccessMethod) if text != "heap" => return Err(no_table_access_method(text)),
        _ => text.into(),
    })
}

fn no_table_access_method(text: &str) -> Error {
    let detail = match text {
        "btree" => {
            let message = format!("access method \"{text}\" is not of type TABLE");
            return Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
        }
        "" => "default_table_access_method cannot be empty.".to_owned(),
        _ => format!("Table access method \"{text}\" does not exist."),
    };
    invalid_value("default_table_access_method", text).detail(detail)
}

/// A value that the session starts with, to which RESET returns: asked for by the client, or kept for its role. Whether
/// the session may act as a role is asked here as anywhere.
///
/// # Errors
/// As [`set`].
pub(crate) fn set_at_session_start(state: &SessionState, name: &str, text: &str, is_superuser: bool) -> Result<()> {
    let id = settings::lookup(name).ok();
    let too_late = |what: &str| {
        let message = format!("SET TRANSACTION {what} must be called before any query");
        Err(Error::new(sqlstate::ACTIVE_SQL_TRANSACTION, message))
    };
    let text = canonical(state, id, text)?;
    match id {
        Some(Id::TransactionIsolation) => return too_late("ISOLATION LEVEL"),
        Some(Id::TransactionDeferrable) => return too_late("[NOT] DEFERRABLE"),
        // It would hold until the transaction of the start ends.
        Some(id @ Id::TransactionReadOnly) => return settings::parse(id, &text).map(drop),
        Some(id @ (Id::Role | Id::SessionAuthorization)) => check_role(state, id, &text)?,
        _ => {}
    }
    state.settings.borrow_mut().set_at_session_start(name, &text, is_superuser)?;
    if id == Some(Id::SessionAuthorization) {
        state.note_start_role(&text);
    }
    Ok(())
}

/// Whether a value may be kept for later; without a text, whether it may be removed. Gives the setting's own name.
///
/// # Errors
/// As [`set`], but what depends on the session in which it will count.
pub fn check_kept(state: &SessionState, name: &str, text: Option<&str>) -> Result<String> {
    let id = settings::lookup(name).ok();
    let is_superuser = state.is_superuser();
    if id.is_none() && settings::is_custom_name(name) && !is_superuser {
        let message = format!("permission denied to set parameter \"{name}\"");
        return Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message));
    }
    // A kept setting may name a tablespace or access method that does not exist yet.
    let is_object = matches!(id, Some(Id::DefaultTablespace | Id::DefaultTableAccessMethod));
    let text = text.map(|text| if is_object { Ok(text.into()) } else { canonical(state, id, text) }).transpose()?;
    state.settings.borrow().check(name, text.as_deref(), is_superuser)?;
    Ok(id.map_or_else(|| name.to_owned(), |id| id.definition().name.to_owned()))
}

/// 42501 for whom the session acts as, while it acts with another role's rights: it would keep that role.
fn refuse_lent_rights(state: &SessionState, id: Option<Id>) -> Result<()> {
    match id {
        Some(id @ (Id::Role | Id::SessionAuthorization)) => {
            let what = format!("set parameter \"{}\"", id.definition().name);
            if state.acts_for_another() {
                let message = format!("cannot {what} within security-definer function");
                return Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message));
            }
            state.refuse_if_restricted(&what)
        }
        _ => Ok(()),
    }
}

/// Checks that the session may act as this role. `SET ROLE` depends on the session's role, and `SET SESSION AUTHORIZATION` on the role that
/// connected. The role that the session acts as now does not matter.
fn check_role(state: &SessionState, id: Id, name: &str) -> Result<()> {
    if id == Id::Role && name == "none" {
        return Ok(());
    }
    let catalog = state.engine_catalog();
    let Some(role) = catalog.role_by_name(name) else {
        state.engine().observe_horizon();
        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("role \"{name}\" does not exist")));
    };
    let (allowed, message) = match id {
        Id::Role => {
            let session = state.session_role();
            let allowed = session.is_superuser || privileges::is_member(&catalog, session.oid, role.oid);
            (allowed, format!("permission denied to set role \"{name}\""))
        }
        _ => {
            let info = &state.info;
            let allowed = info.was_superuser || info.role == role.oid;
            (allowed, format!("permission denied to set session authorization \"{name}\""))
        }
    };
    if !allowed {
        return Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message));
    }
    state.note_role(name, role.oid);
    Ok(())
}

/// `RESET name`, `SET name TO DEFAULT`.
///
/// # Errors
/// As [`set`].
pub fn reset(state: &SessionState, name: &str, change: Change) -> Result<()> {
    refuse_lent_rights(state, settings::lookup(name).ok())?;
    let is_superuser = state.is_superuser();
    let changed = state.settings.borrow_mut().reset(name, change, is_superuser)?;
    if changed == Some(Id::SessionAuthorization) {
        forget_role(state, change)?;
    }
    after_change(state, changed);
    Ok(())
}

/// The session has another role now. It acts as this role, and no longer as the role that `role` named.
fn forget_role(state: &SessionState, change: Change) -> Result<()> {
    state.settings.borrow_mut().set("role", "none", change, true)?;
    Ok(())
}

fn after_change(state: &SessionState, changed: Option<Id>) {
    state.follow_settings();
    if let Some(id) = changed {
        if matches!(id, Id::Role | Id::SessionAuthorization) {
            state.forget_catalog();
        }
        if id == Id::ApplicationName {
            note_application_name(state);
        }
    }
}

/// Makes the value of `application_name` visible to other sessions.
pub fn note_application_name(state: &SessionState) {
    state.info.set_application_name(state.setting(Id::ApplicationName).as_text());
}

/// Every reported setting with its value.
pub fn reported(state: &SessionState) -> Vec<(&'static str, String)> {
    settings::all()
        .filter(|definition| definition.is_reported())
        .map(|definition| (definition.name, settings::show(definition.id, &state.setting(definition.id))))
        .collect()
}

/// Whether the acting role may see the value of the setting.
pub fn may_see(state: &SessionState, id: Id) -> bool {
    !settings::is_hidden(id) || state.has_rights_of(READ_ALL_SETTINGS_ROLE)
}

/// The text `SHOW name` gives.
///
/// # Errors
/// 42704 when there is no such setting, 42501 when the acting role may not see it.
pub fn show(state: &SessionState, name: &str) -> Result<String> {
    match settings::lookup(name) {
        Ok(id) if !may_see(state, id) => {
            let name = id.definition().name;
            let message = format!("must be superuser or have privileges of pg_read_all_settings to examine \"{name}\"");
            Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message))
        }
        Ok(Id::TransactionIsolation) => Ok(super::characteristics::isolation_name(state).to_owned()),
        Ok(Id::TransactionReadOnly) => {
            Ok(if super::characteristics::characteristics(state).read_only { "on" } else { "off" }.to_owned())
        }
        Ok(Id::TransactionDeferrable) => {
            Ok(if super::characteristics::characteristics(state).deferrable { "on" } else { "off" }.to_owned())
        }
        Ok(Id::IsSuperuser) => Ok(if state.session_acting().is_superuser { "on" } else { "off" }.to_owned()),
        Ok(Id::SessionAuthorization) => Ok(state.session_role().name.clone()),
        Ok(id @ (Id::TcpKeepalivesIdle | Id::TcpKeepalivesInterval | Id::TcpKeepalivesCount | Id::TcpUserTimeout)) => {
            Ok(super::tcp::shown(state, id))
        }
        // Permissions are octal.
        Ok(id @ (Id::UnixSocketPermissions | Id::DataDirectoryMode)) => {
            Ok(format!("{:04o}", state.setting(id).as_integer().unwrap_or_default()))
        }
        _ => state.settings.borrow().show(name).ok_or_else(|| settings::unrecognized(name)),
    }
}
