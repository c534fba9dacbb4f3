//! SET, SHOW, RESET, DISCARD, SET TRANSACTION and SET CONSTRAINTS.

use base::settings::{self, Change, Id};
use base::{Error, Oid, Result, sqlstate};
use syntax::tree::{Discard, QualifiedName, SetAction, SettingValue, TransactionModes, VariableSet};
use types::Value;

use super::top_level::TopLevel;
use crate::state::{SessionState, UtilityOutput, set_modes, settings as session_settings, temporary};
use executor::client::{Client, Severity};

/// SET and RESET.
pub fn set(session: &mut dyn TopLevel, set: &VariableSet, client: &mut dyn Client) -> Result<UtilityOutput> {
    if set.is_local && !session.is_in_block() {
        let warning =
            Error::new(sqlstate::NO_ACTIVE_SQL_TRANSACTION, "SET LOCAL can only be used in transaction blocks");
        super::notice(session, Severity::Warning, &warning, client);
    }
    match &set.action {
        SetAction::Value(_) | SetAction::Default | SetAction::Reset | SetAction::Current => {
            return set_within(session.state(), set, client);
        }
        _ => {}
    }
    let state = session.state();
    match &set.action {
        SetAction::ResetAll => {
            reset_all(state);
            return Ok(UtilityOutput::tag("RESET"));
        }
        SetAction::Modes(modes) => {
            if set.name.eq_ignore_ascii_case("SESSION CHARACTERISTICS") {
                set_characteristics(state, *modes, client)?;
            } else {
                if !session.is_in_block() {
                    let warning = Error::new(
                        sqlstate::NO_ACTIVE_SQL_TRANSACTION,
                        "SET TRANSACTION can only be used in transaction blocks",
                    );
                    super::notice(session, Severity::Warning, &warning, client);
                }
                set_modes(session.state(), *modes, client)?;
            }
        }
        SetAction::Snapshot(name) => {
            if set.is_local {
                return Err(Error::unsupported("SET LOCAL TRANSACTION SNAPSHOT is not implemented"));
            }
            if !session.is_in_block() {
                let warning = Error::new(
                    sqlstate::NO_ACTIVE_SQL_TRANSACTION,
                    "SET TRANSACTION can only be used in transaction blocks",
                );
                super::notice(session, Severity::Warning, &warning, client);
            }
            session.state().engine_mut().import_snapshot(name)?;
        }
        _ => {}
    }
    Ok(UtilityOutput::tag("SET"))
}

/// SET SESSION CHARACTERISTICS: how the transactions to come begin.
fn set_characteristics(state: &SessionState, modes: TransactionModes, client: &mut dyn Client) -> Result<()> {
    if let Some(level) = modes.isolation {
        session_settings::set(state, "default_transaction_isolation", level.word(), Change::Session, client)?;
    }
    let on_off = |on: bool| if on { "on" } else { "off" };
    if let Some(read_only) = modes.read_only {
        let text = on_off(read_only);
        session_settings::set(state, "default_transaction_read_only", text, Change::Session, client)?;
    }
    if let Some(deferrable) = modes.deferrable {
        let text = on_off(deferrable);
        session_settings::set(state, "default_transaction_deferrable", text, Change::Session, client)?;
    }
    Ok(())
}

/// SET and RESET, wherever they stand.
///
/// # Errors
/// Those of the setting; 0A000 for what only a session can do.
pub(super) fn set_within(state: &SessionState, set: &VariableSet, client: &mut dyn Client) -> Result<UtilityOutput> {
    let change = if set.is_local { Change::Local } else { Change::Session };
    match &set.action {
        SetAction::Value(values) => {
            let text = value_text(&set.name, values)?;
            session_settings::set(state, &set.name, &text, change, client)?;
        }
        SetAction::Default => session_settings::reset(state, &set.name, change)?,
        SetAction::Reset => {
            session_settings::reset(state, &set.name, change)?;
            return Ok(UtilityOutput::tag("RESET"));
        }
        SetAction::Current => {
            let text = session_settings::show(state, &set.name)?;
            session_settings::set(state, &set.name, &text, change, client)?;
        }
        SetAction::Modes(modes) if set.name.eq_ignore_ascii_case("SESSION CHARACTERISTICS") => {
            set_characteristics(state, *modes, client)?;
        }
        SetAction::Modes(modes) => set_modes(state, *modes, client)?,
        SetAction::ResetAll => {
            reset_all(state);
            return Ok(UtilityOutput::tag("RESET"));
        }
        _ => return Err(Error::unsupported("this form of SET is not supported in a function")),
    }
    Ok(UtilityOutput::tag("SET"))
}

/// The hours of an interval such as `-03:30`.
fn hours_of(text: &str) -> Option<String> {
    let digits = text.trim_start_matches(['+', '-']);
    let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "0"));
    let hours = hours.parse::<f64>().ok()? + minutes.parse::<f64>().ok()? / 60.0;
    let sign = if text.starts_with('-') { "-" } else { "" };
    Some(format!("{sign}{hours}"))
}

/// The text of a SET's values: several are joined by commas, quoted if they are names of schemas.
pub(super) fn value_text(name: &str, values: &[SettingValue]) -> Result<String> {
    let id = settings::lookup(name).ok();
    let is_path = id == Some(Id::SearchPath);
    let is_list = is_path || matches!(id, Some(Id::Datestyle | Id::UnixSocketDirectories | Id::ListenAddresses));
    if values.len() > 1 && !is_list {
        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("SET {name} takes only one argument")));
    }
    let text = |value: &SettingValue| match value {
        SettingValue::String(text) if is_path => types::reg_types::quote_identifier(text),
        SettingValue::Interval(text, _) if id == Some(Id::Timezone) => hours_of(text).unwrap_or_else(|| text.clone()),
        SettingValue::String(text) | SettingValue::Number(text) => text.clone(),
        SettingValue::Integer(number) => number.to_string(),
        SettingValue::Interval(text, _) => text.clone(),
    };
    Ok(values.iter().map(text).collect::<Vec<_>>().join(", "))
}

/// Changes settings that are kept for later, as SET and RESET say: those of a function, of a role's sessions.
///
/// # Errors
/// 42704, 22023, 42501 and 55P02 as [`session_settings::set`].
pub(super) fn change_kept(state: &SessionState, kept: &mut Vec<(String, String)>, set: &VariableSet) -> Result<()> {
    let value = match &set.action {
        SetAction::Value(values) => Some(value_text(&set.name, values)?),
        SetAction::Current => Some(session_settings::show(state, &set.name)?),
        SetAction::ResetAll => {
            // Settings that the user may not set stay.
            kept.retain(|(name, _)| session_settings::check_kept(state, name, None).is_err());
            return Ok(());
        }
        _ => None,
    };
    let own_name = session_settings::check_kept(state, &set.name, value.as_deref())?;
    let place = kept.iter().position(|(name, _)| name.eq_ignore_ascii_case(&own_name));
    match (place, value) {
        (Some(place), Some(value)) => kept[place] = (own_name, value),
        (Some(place), None) => drop(kept.remove(place)),
        (None, Some(value)) => kept.push((own_name, value)),
        (None, None) => {}
    }
    Ok(())
}

fn reset_all(state: &SessionState) {
    state.settings.borrow_mut().reset_all();
    state.follow_settings();
    session_settings::note_application_name(state);
}

/// SHOW.
pub fn show(state: &SessionState, name: &str) -> Result<UtilityOutput> {
    let rows = if name.eq_ignore_ascii_case("all") {
        settings::all()
            .filter(|definition| session_settings::may_see(state, definition.id))
            .map(|definition| {
                let value = session_settings::show(state, definition.name)?;
                Ok(vec![Value::text(definition.name), Value::text(value), Value::text(definition.description)])
            })
            .collect::<Result<_>>()?
    } else {
        vec![vec![Value::text(session_settings::show(state, name)?)]]
    };
    Ok(UtilityOutput::few("SHOW", rows))
}

/// DISCARD.
pub fn discard(session: &mut dyn TopLevel, what: Discard) -> Result<UtilityOutput> {
    if what == Discard::All {
        session.close_portals();
    }
    discard_within(session.state(), what)
}

/// DISCARD of what functions can see, too: all but the portals of the protocol. A function can't run DISCARD ALL.
pub fn discard_within(state: &SessionState, what: Discard) -> Result<UtilityOutput> {
    state.refuse_if_restricted("execute DISCARD")?;
    let tag = match what {
        Discard::All => {
            state.drop_cursors();
            session_settings::reset(state, "session_authorization", Change::Session)?;
            reset_all(state);
            state.prepared.borrow_mut().clear();
            state.channels.unlisten(state.info.pid, None);
            state.engine().advisory_unlock_all();
            state.engine().forget_sequences();
            state.plans.borrow_mut().clear();
            temporary::discard(state)?;
            "DISCARD ALL"
        }
        Discard::Plans => {
            state.plans.borrow_mut().clear();
            "DISCARD PLANS"
        }
        Discard::Sequences => {
            state.engine().forget_sequences();
            "DISCARD SEQUENCES"
        }
        Discard::Temporary => {
            temporary::discard(state)?;
            "DISCARD TEMP"
        }
    };
    Ok(UtilityOutput::tag(tag))
}

/// SET CONSTRAINTS.
pub fn set_constraints(
    session: &mut dyn TopLevel,
    constraints: &[QualifiedName],
    deferred: bool,
    client: &mut dyn Client,
) -> Result<UtilityOutput> {
    if !session.is_in_block() {
        let warning =
            Error::new(sqlstate::NO_ACTIVE_SQL_TRANSACTION, "SET CONSTRAINTS can only be used in transaction blocks");
        super::notice(session, Severity::Warning, &warning, client);
    }
    set_constraints_within(session.state(), constraints, deferred, false, client)
}

/// Says of the constraints of this name in a schema whether they are deferred; whether there is one.
fn defer_named(state: &SessionState, schema: Oid, name: &str, deferred: bool) -> Result<bool> {
    let catalog = state.engine_catalog();
    let mut found = false;
    for table in catalog.tables().filter(|table| table.schema == schema) {
        let trigger = table.constraint_trigger_named(name).map(|def| (def.oid, def.deferrable));
        let named = table.constraints.iter().filter(|constraint| constraint.name == name);
        for (oid, is_deferrable) in trigger.into_iter().chain(named.map(|found| (found.oid, found.deferrable))) {
            if deferred && !is_deferrable {
                let message = format!("constraint \"{name}\" is not deferrable");
                return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, message));
            }
            state.deferred.borrow_mut().by_constraint.insert(oid, deferred);
            found = true;
        }
    }
    Ok(found)
}

/// SET CONSTRAINTS, wherever it stands.
///
/// # Errors
/// 42704 for a constraint that does not exist, 42809 for one that can't be deferred, and those of the checks made.
pub(super) fn set_constraints_within(
    state: &SessionState,
    constraints: &[QualifiedName],
    deferred: bool,
    is_nested: bool,
    client: &mut dyn Client,
) -> Result<UtilityOutput> {
    if constraints.is_empty() {
        let mut deferral = state.deferred.borrow_mut();
        deferral.all = Some(deferred);
        deferral.by_constraint.clear();
    } else {
        let view = state.catalog();
        for name in constraints {
            let schemas = match &name.schema {
                Some(schema) => vec![view.usable_schema(schema)?],
                None => view.path().to_vec(),
            };
            // Those of the first schema that has one of this name.
            let mut found = Ok(false);
            for schema in schemas {
                found = defer_named(state, schema, &name.name, deferred);
                if !matches!(found, Ok(false)) {
                    break;
                }
            }
            if !found? {
                let message = format!("constraint \"{}\" does not exist", name.name);
                return Err(Error::new(sqlstate::UNDEFINED_OBJECT, message));
            }
        }
    }
    if !deferred {
        executor::apply_deferral(state, is_nested, client)?;
    }
    Ok(UtilityOutput::tag("SET CONSTRAINTS"))
}
