//! ALTER SYSTEM: settings that are kept beside the configuration file and go before it, from the next reload or start on.

use base::settings::{self, Context, Id};
use base::{Error, Result, sqlstate};
use syntax::tree::{SetAction, VariableSet};

use super::variables::value_text;
use crate::state::{KeptSetting, SessionState, UtilityOutput};

/// ALTER SYSTEM.
pub fn alter(state: &SessionState, set: &VariableSet) -> Result<UtilityOutput> {
    let permission_denied = |what: &str| {
        let message = format!("permission denied to {what}");
        Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message))
    };
    if matches!(set.action, SetAction::ResetAll) {
        if !state.is_superuser() {
            return permission_denied("perform ALTER SYSTEM RESET ALL");
        }
        state.instance.keep_setting(KeptSetting::ResetAll)?;
        return Ok(UtilityOutput::tag("ALTER SYSTEM"));
    }
    if !state.is_superuser() {
        return permission_denied(&format!("set parameter \"{}\"", set.name));
    }
    let id = settings::lookup(&set.name)?;
    let definition = id.definition();
    if definition.context == Context::Internal || cannot_be_kept(id) {
        let message = format!("parameter \"{}\" cannot be changed", definition.name);
        return Err(Error::new(sqlstate::CANT_CHANGE_RUNTIME_PARAM, message));
    }
    match &set.action {
        SetAction::Value(values) => {
            let text = value_text(&set.name, values)?;
            settings::parse(id, &text)?;
            if text.contains('\n') {
                let message = "parameter value for ALTER SYSTEM must not contain a newline";
                return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message));
            }
            state.instance.keep_setting(KeptSetting::Set(definition.name, &text))?;
        }
        SetAction::Default | SetAction::Reset => state.instance.keep_setting(KeptSetting::Reset(definition.name))?,
        _ => return Err(Error::unsupported("this form of ALTER SYSTEM is not supported")),
    }
    Ok(UtilityOutput::tag("ALTER SYSTEM"))
}

/// Settings that make sense in a session only, and `allow_server_files_as_root`, which the database's superusers must not set.
fn cannot_be_kept(id: Id) -> bool {
    matches!(
        id,
        Id::Role
            | Id::SessionAuthorization
            | Id::IsSuperuser
            | Id::TransactionIsolation
            | Id::TransactionReadOnly
            | Id::TransactionDeferrable
            | Id::AllowServerFilesAsRoot
    )
}
