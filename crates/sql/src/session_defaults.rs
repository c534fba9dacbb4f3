//! Settings that ALTER ROLE ... SET and ALTER DATABASE ... SET keep for future sessions.

use base::{Error, Oid, Result};
use schema::catalog::{BOOTSTRAP_ROLE, Catalog, CustomDef, Object, class};

/// The class of the custom objects that hold the settings kept for a database. Settings kept for a role in all databases are in the
/// role's own description.
const CLASS: Oid = class::ROLE_SETTING;

/// Names of settings with their values.
pub type Settings = Vec<(String, String)>;

/// The sessions that start with such settings. [`Oid::INVALID`] stands for any database or role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionsOf {
    /// The database that the sessions connect to.
    pub database: Oid,
    /// The role that the sessions connect as.
    pub role: Oid,
}

impl SessionsOf {
    /// The name of the object that keeps their settings; also the name that is locked by who changes the settings.
    pub fn name(self) -> String {
        format!("{}/{}", self.database.0, self.role.0)
    }

    fn of_name(name: &str) -> Option<SessionsOf> {
        let (database, role) = name.split_once('/')?;
        Some(SessionsOf { database: Oid(database.parse().ok()?), role: Oid(role.parse().ok()?) })
    }

    fn is_role_alone(self) -> bool {
        self.database == Oid::INVALID && self.role != Oid::INVALID
    }

    /// Returns the settings kept for these sessions.
    pub fn kept(self, catalog: &Catalog) -> Settings {
        if self.is_role_alone() {
            return catalog.role(self.role).map(|role| role.settings.clone()).unwrap_or_default();
        }
        let def = catalog.custom_by_name(CLASS, Oid::INVALID, &self.name());
        def.map(|def| decoded(&def.body)).unwrap_or_default()
    }

    /// Returns the catalog change that keeps `settings` for these sessions. `allocate` gives the number of a new object.
    ///
    /// # Errors
    /// XX000 if they can't be encoded.
    pub fn to_keep(self, catalog: &Catalog, settings: Settings, allocate: impl FnOnce() -> Oid) -> Result<Keeping> {
        if self.is_role_alone() {
            return Ok(match catalog.role(self.role) {
                Some(role) => {
                    let mut role = (**role).clone();
                    role.settings = settings;
                    Keeping::Replace(role.into())
                }
                None => Keeping::Nothing,
            });
        }
        let old = catalog.custom_by_name(CLASS, Oid::INVALID, &self.name()).map(|def| def.oid);
        if settings.is_empty() {
            return Ok(old.map_or(Keeping::Nothing, Keeping::Drop));
        }
        let body = serde_json::to_vec(&settings)
            .map_err(|error| Error::internal(format!("settings can't be stored: {error}")))?;
        let oid = old.unwrap_or_else(allocate);
        let def = CustomDef { oid, class: CLASS, schema: Oid::INVALID, name: self.name(), owner: BOOTSTRAP_ROLE, body };
        Ok(if old.is_some() { Keeping::Replace(def.into()) } else { Keeping::Create(def.into()) })
    }
}

/// A change of the catalog.
pub enum Keeping {
    /// None.
    Nothing,
    /// A new object.
    Create(Object),
    /// Another description of an object.
    Replace(Object),
    /// An object less.
    Drop(Oid),
}

// A body that can't be read has no settings.
fn decoded(body: &[u8]) -> Settings {
    serde_json::from_slice(body).unwrap_or_default()
}

/// Everything that is kept, as `pg_db_role_setting` shows it.
pub fn all(catalog: &Catalog) -> Vec<(SessionsOf, Settings)> {
    let of_roles = catalog
        .roles()
        .map(|role| (SessionsOf { database: Oid::INVALID, role: role.oid }, role.settings.clone()))
        .filter(|(_, settings)| !settings.is_empty());
    let customs = catalog.customs(CLASS);
    let others = customs.filter_map(|def| Some((SessionsOf::of_name(&def.name)?, decoded(&def.body))));
    of_roles.chain(others).collect()
}

/// The objects that keep something for a role in one database.
pub fn objects_of_role(catalog: &Catalog, role: Oid) -> Vec<Oid> {
    let is_own = |def: &&std::sync::Arc<CustomDef>| SessionsOf::of_name(&def.name).is_some_and(|of| of.role == role);
    catalog.customs(CLASS).filter(is_own).map(|def| def.oid).collect()
}

/// Returns the settings that a session of `role` starts with. More general settings come first, because a later value replaces an earlier
/// value of the same setting.
pub fn at_session_start(catalog: &Catalog, role: Oid) -> Settings {
    let (any, database) = (Oid::INVALID, catalog.database());
    [(any, any), (database, any), (any, role), (database, role)]
        .into_iter()
        .flat_map(|(database, role)| SessionsOf { database, role }.kept(catalog))
        .collect()
}

/// The custom objects that hold settings kept for a database, and for roles in it.
pub fn kept_for_database(catalog: &Catalog, database: Oid) -> Vec<Oid> {
    let is_of_it =
        |def: &&std::sync::Arc<CustomDef>| SessionsOf::of_name(&def.name).is_some_and(|of| of.database == database);
    catalog.customs(CLASS).filter(is_of_it).map(|def| def.oid).collect()
}
