//! How clients come to have sessions: authentication and connecting.

use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use base::access::{AccessRules, Attempt, Demand};
use base::report::Identity;
use base::settings::{Id, SessionSettings};
use base::{Error, Oid, Result, missing, sqlstate};
use engine::Database;
use pgwire::api::auth::sasl::scram::ScramSecret;
use plan::CatalogCallbacks;
use plan::privileges::{Privileges, Subject, is_member};
use schema::catalog::RoleDef;
use types::datetime;

use super::SqlSession;
use crate::state::{Callbacks, ConnectRequest, Instance, SessionInfo, SessionState, refuses_connections, settings};
use crate::{catalogs, commands, password, plpgsql, session_defaults, sql_function};

/// The parts of other modules that the sessions' state calls.
static CALLBACKS: Callbacks = Callbacks {
    catalog: CatalogCallbacks { system: catalogs::system, check_domain: planner::domain::check_constant },
    parameter_types: commands::parameter_types,
    session_columns: commands::session_columns,
    languages: &[&sql_function::Sql, &plpgsql::PlPgSql],
};

impl Instance {
    /// The SQL side of `database`.
    pub fn new(database: Database) -> Arc<Instance> {
        Instance::with_callbacks(database, &CALLBACKS)
    }

    /// Opens a session.
    ///
    /// # Errors
    /// 28000 for an unknown role, 3D000 for an unknown database, 53300 when there are too many; errors of settings.
    pub fn connect(self: &Arc<Self>, mut request: ConnectRequest) -> Result<SqlSession> {
        let catalogs = self.database().catalogs();
        let shared = catalogs.of(Oid::INVALID);
        let refused = |what: &str| {
            let message = format!("role \"{}\" {what}", request.user);
            Error::new(sqlstate::INVALID_AUTHORIZATION_SPECIFICATION, message).fatal()
        };
        let role = shared.role_by_name(&request.user).ok_or_else(|| refused("does not exist"))?;
        if !role.login {
            return Err(refused("is not permitted to log in"));
        }
        self.check_connection_limit(role)?;
        let found = shared.database_by_name(&request.database);
        let database = found.ok_or_else(|| missing::database(&request.database).fatal())?;
        let catalog = catalogs.of(database.oid);
        if !database.allows_connections {
            return Err(refuses_connections(database));
        }
        if let Some(subject) = Subject::find(catalog, database.oid)
            && !subject.privileges_of(catalog, role.oid).contains(Privileges::CONNECT)
        {
            return Err(subject.connection_denied().fatal());
        }
        let mut session_settings = SessionSettings::new(Arc::clone(self.database().settings()));
        session_settings.set_at_session_start("session_authorization", &request.user, true).map_err(Error::fatal)?;
        let engine = self.database().session_in(database.oid).map_err(Error::fatal)?;
        engine.interrupt().keep_until_cleared();
        let query_size = session_settings.get(Id::TrackActivityQuerySize).as_integer();
        let query_bytes_max = query_size.map_or(0, |bytes| bytes as usize).saturating_sub(1);
        let new_identity = || Arc::new(Identity::new(self.next_pid(), datetime::clock_micros(), request.peer));
        let identity = request.identity.take().unwrap_or_else(new_identity);
        let settings_asked = std::mem::take(&mut request.settings);
        let info = Arc::new(SessionInfo::new(request, identity, role, self.take_number(), &engine, query_bytes_max));
        // A deadlock's DETAIL names the session by this pid.
        self.database().locks().set_process_id(info.owner(), info.pid);
        let state =
            SessionState::new(Arc::clone(self), Arc::clone(&info), engine, session_settings).map_err(Error::fatal)?;
        self.add_session(&info)?;
        let session = SqlSession::new(state);
        let state = session.state();
        for (name, value) in session_defaults::at_session_start(catalog, role.oid) {
            // Permission was checked at ALTER ROLE. A value that is no longer valid must not block login.
            if let Err(error) = settings::set_at_session_start(state, &name, &value, true) {
                state.warnings.add(error);
            }
        }
        for (name, value) in &settings_asked {
            // The client may ask for any encoding. It is told that this is UTF-8.
            let value = match name.to_ascii_lowercase().as_str() {
                "client_encoding" if settings::is_encoding(value) => "UTF8",
                "client_encoding" => {
                    let message = format!("invalid value for parameter \"client_encoding\": \"{value}\"");
                    return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message).fatal());
                }
                _ => value,
            };
            settings::set_at_session_start(state, name, value, role.superuser).map_err(Error::fatal)?;
        }
        info.set_application_name(state.setting(Id::ApplicationName).as_text());
        state.follow_settings();
        state.load_libraries()?;
        Ok(session)
    }

    /// The proof that the rules demand of a client that wants to connect.
    ///
    /// # Errors
    /// 28000 if it may not connect; 22023 for rules that do not parse; [`base::settings`] refuses those before.
    pub fn demand(&self, attempt: &Attempt<'_>) -> Result<Demand> {
        let rules = AccessRules::parse(self.database().settings().get(Id::HbaRules).as_text())?;
        let catalog = self.database().catalog();
        let user = catalog.role_by_name(attempt.user).map(|role| role.oid);
        rules.demand(attempt, |group| {
            let group = catalog.role_by_name(group).map(|role| role.oid);
            user.zip(group).is_some_and(|(user, group)| is_member(&catalog, user, group))
        })
    }

    /// The kept form of the password of `user`. None if the role is unknown, has no password, or the password has expired.
    pub fn kept_password(&self, user: &str) -> Option<String> {
        let catalog = self.database().catalog();
        let is_good = |role: &&Arc<RoleDef>| role.valid_until.is_none_or(|until| datetime::clock_micros() < until);
        catalog.role_by_name(user).filter(is_good).and_then(|role| role.password.clone())
    }

    /// The secret that a client must prove to know if it says that it is `user`, and whether the proof lets it in. A user without a
    /// password, or with one that has expired or is kept as an MD5 hash, gets a secret that no password fits.
    pub fn secret_of(&self, user: &str) -> (ScramSecret, bool) {
        match self.kept_password(user).as_deref().and_then(password::secret) {
            Some(secret) => (secret, true),
            None => {
                let mut hasher = rustc_hash::FxHasher::default();
                (self.mock_seed, user).hash(&mut hasher);
                (password::nobodys_secret(hasher.finish()), false)
            }
        }
    }

    /// Why a client that says it is `user` has not been let in after it was asked for a password: for the log only.
    pub fn refusal_of(&self, user: &str) -> String {
        let catalog = self.database().catalog();
        match catalog.role_by_name(user) {
            None => format!("Role \"{user}\" does not exist."),
            Some(role) if role.password.is_none() => format!("User \"{user}\" has no password assigned."),
            Some(role) if role.valid_until.is_some_and(|until| datetime::clock_micros() >= until) => {
                format!("User \"{user}\" has an expired password.")
            }
            Some(_) => format!("Password does not match for user \"{user}\"."),
        }
    }
}
