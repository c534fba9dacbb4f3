//! A session's own values, laid over the server's, with SET, SET LOCAL and RESET under transactions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::values::cannot_be_changed;
use super::{Context, Definition, Id, ServerSettings, Value, is_custom_name, lookup, parse, show, unrecognized};
use crate::error::{Error, Result};
use crate::sqlstate;

/// The name of a setting: one of the table, or of the form `class.name`.
type Name = std::result::Result<Id, Arc<str>>;

/// The scope of one `SET`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// `SET` or `SET SESSION`.
    Session,
    /// `SET LOCAL`: until the transaction ends.
    Local,
}

/// A transaction, a savepoint or a call of a function with SET clauses.
struct Level {
    /// Copies of `session` and `local` from when it began.
    session: BTreeMap<Name, Value>,
    local: BTreeMap<Name, Value>,
    /// The settings that were changed for the session since.
    changed: BTreeSet<Name>,
}

/// One session's settings.
pub struct SessionSettings {
    server: Arc<ServerSettings>,
    /// Values given when the session started, and the empty texts of custom names that are known; `RESET` returns to them.
    start: BTreeMap<Name, Value>,
    /// Values set since.
    session: BTreeMap<Name, Value>,
    /// Values that end with the transaction.
    local: BTreeMap<Name, Value>,
    /// The levels that have begun, the outermost first.
    levels: Vec<Level>,
    generation: u64,
}

impl SessionSettings {
    /// A session that has set nothing.
    pub fn new(server: Arc<ServerSettings>) -> SessionSettings {
        SessionSettings {
            server,
            start: BTreeMap::new(),
            session: BTreeMap::new(),
            local: BTreeMap::new(),
            levels: Vec::new(),
            generation: 1,
        }
    }

    /// The server-wide values under this session's.
    pub fn server(&self) -> &Arc<ServerSettings> {
        &self.server
    }

    /// The value of `id` for this session.
    pub fn get(&self, id: Id) -> Value {
        self.own(&Ok(id)).cloned().unwrap_or_else(|| self.server.get(id))
    }

    /// Changes whenever any value may have changed, so that callers can keep copies of what they read often.
    #[inline]
    pub fn generation(&self) -> (u64, u64) {
        (self.generation, self.server.generation())
    }

    /// The value of `name` as `SHOW` prints it; `None` for a custom name nobody has set.
    pub fn show(&self, name: &str) -> Option<String> {
        match lookup(name) {
            Ok(id) => Some(show(id, &self.get(id))),
            Err(_) => self.own(&Err(custom(name))).map(|value| value.as_text().to_string()),
        }
    }

    /// `SET name = text`. The setting that changed, unless it has a custom name.
    ///
    /// # Errors
    /// 42704, 22023, 42501 and 55P02 as PostgreSQL words them.
    pub fn set(&mut self, name: &str, text: &str, change: Change, is_superuser: bool) -> Result<Option<Id>> {
        let (name, value, id) = self.checked(name, Some(text), is_superuser, false)?;
        let value = value.expect("a text was given");
        self.make_known(&name);
        match change {
            Change::Session => {
                self.local.remove(&name);
                self.note_changed(&name);
                self.session.insert(name, value);
            }
            Change::Local => {
                self.local.insert(name, value);
            }
        }
        self.generation += 1;
        Ok(id)
    }

    /// `RESET name`, and `SET name TO DEFAULT`.
    ///
    /// # Errors
    /// As [`SessionSettings::set`].
    pub fn reset(&mut self, name: &str, change: Change, is_superuser: bool) -> Result<Option<Id>> {
        let (name, _, id) = self.checked(name, None, is_superuser, false)?;
        self.make_known(&name);
        if change == Change::Local {
            let value = self.start.get(&name).cloned().or_else(|| id.map(|id| self.server.get(id)));
            self.local.insert(name, value.unwrap_or_else(|| Value::Text(Arc::from(""))));
        } else {
            self.local.remove(&name);
            self.session.remove(&name);
            self.note_changed(&name);
        }
        self.generation += 1;
        Ok(id)
    }

    /// Notes that `name` was changed for the session.
    fn note_changed(&mut self, name: &Name) {
        if let Some(level) = self.levels.last_mut() {
            level.changed.insert(name.clone());
        }
    }

    /// A custom name stays known until the session ends: without a value of its own it is an empty text.
    fn make_known(&mut self, name: &Name) {
        if name.is_err() {
            self.start.entry(name.clone()).or_insert_with(|| Value::Text(Arc::from("")));
        }
    }

    /// `RESET ALL`: everything but what describes the session itself.
    pub fn reset_all(&mut self) {
        let stays = |name: &Name| matches!(name, Ok(id) if id.definition().survives_reset_all());
        if let Some(level) = self.levels.last_mut() {
            level.changed.extend(self.local.keys().chain(self.session.keys()).filter(|name| !stays(name)).cloned());
        }
        self.local.retain(|name, _| stays(name));
        self.session.retain(|name, _| stays(name));
        self.generation += 1;
    }

    /// A value given in the start-up message or in its `options`.
    ///
    /// # Errors
    /// As [`SessionSettings::set`].
    pub fn set_at_session_start(&mut self, name: &str, text: &str, is_superuser: bool) -> Result<()> {
        let (name, value, _) = self.checked(name, Some(text), is_superuser, true)?;
        self.start.insert(name, value.expect("a text was given"));
        self.generation += 1;
        Ok(())
    }

    /// A transaction or a savepoint begins.
    pub fn push_level(&mut self) {
        let (session, local) = (self.session.clone(), self.local.clone());
        self.levels.push(Level { session, local, changed: BTreeSet::new() });
    }

    /// The innermost savepoint is released; its values stay.
    pub fn release_level(&mut self) {
        self.pop_level();
    }

    /// The innermost savepoint is rolled back and ends. Gives the settings that are reported and may have changed.
    pub fn roll_back_level(&mut self) {
        if let Some(level) = self.levels.pop() {
            (self.session, self.local) = (level.session, level.local);
            self.generation += 1;
        }
    }

    /// A function with SET clauses for the settings `own` ends. These are as they were before, unless the function has `SET` them for the
    /// session. Other settings keep the values that the function gave them, local ones until the transaction ends.
    pub fn end_function_level<'n>(&mut self, own: impl Iterator<Item = &'n str>) {
        let Some(before) = self.pop_level() else { return };
        let own = own.map(|name| lookup(name).map_err(|_| custom(name)));
        for name in own.filter(|name| !before.changed.contains(name)) {
            match before.local.get(&name) {
                Some(value) => self.local.insert(name, value.clone()),
                None => self.local.remove(&name),
            };
        }
        self.generation += 1;
    }

    /// Ends the innermost level. A setting that was changed in it counts as changed in the one around it, too.
    fn pop_level(&mut self) -> Option<Level> {
        let ended = self.levels.pop()?;
        if let Some(level) = self.levels.last_mut() {
            level.changed.extend(ended.changed.iter().cloned());
        }
        Some(ended)
    }

    /// Undoes all settings made since the innermost transaction or savepoint began, which goes on.
    pub fn begin_level_anew(&mut self) {
        if !self.levels.is_empty() {
            self.roll_back_level();
            self.push_level();
        }
    }

    /// The transaction ends. Without a `SET` in it this costs nothing.
    pub fn end_transaction(&mut self, committed: bool) {
        if committed {
            self.levels.clear();
        } else if !self.levels.is_empty() {
            self.levels.truncate(1);
            self.roll_back_level();
        }
        if !self.local.is_empty() {
            self.local.clear();
            self.generation += 1;
        }
    }

    /// Settings by name with their value here, for `SHOW ALL` and `pg_settings`.
    pub fn all(&self) -> impl Iterator<Item = (&'static Definition, Value)> + '_ {
        super::all().map(|definition| (definition, self.get(definition.id)))
    }

    /// Whether this session has a value of its own for `id`.
    pub fn is_own(&self, id: Id) -> bool {
        self.own(&Ok(id)).is_some()
    }

    /// Whether it was SET, rather than given when the session started.
    pub fn is_set(&self, id: Id) -> bool {
        self.local.contains_key(&Ok(id)) || self.session.contains_key(&Ok(id))
    }

    fn own(&self, name: &Name) -> Option<&Value> {
        if self.local.is_empty() && self.session.is_empty() && self.start.is_empty() {
            return None;
        }
        self.local.get(name).or_else(|| self.session.get(name)).or_else(|| self.start.get(name))
    }

    /// Whether [`SessionSettings::set`] would take it, or without a text [`SessionSettings::reset`].
    ///
    /// # Errors
    /// As [`SessionSettings::set`].
    pub fn check(&self, name: &str, text: Option<&str>, is_superuser: bool) -> Result<()> {
        self.checked(name, text, is_superuser, false).map(drop)
    }

    /// `starts`: the session is about to start.
    fn checked(
        &self,
        name: &str,
        text: Option<&str>,
        is_superuser: bool,
        starts: bool,
    ) -> Result<(Name, Option<Value>, Option<Id>)> {
        let id = match lookup(name) {
            Ok(id) => id,
            Err(_) if is_custom_name(name) => {
                return Ok((Err(custom(name)), text.map(|text| Value::Text(Arc::from(text))), None));
            }
            Err(_) => return Err(unrecognized(name)),
        };
        let definition = id.definition();
        match definition.context {
            Context::User => {}
            Context::SuperuserBackend if !starts => {
                let message = format!("parameter \"{}\" cannot be set after connection start", definition.name);
                return Err(Error::new(sqlstate::CANT_CHANGE_RUNTIME_PARAM, message));
            }
            Context::Superuser | Context::SuperuserBackend if is_superuser => {}
            Context::Superuser | Context::SuperuserBackend => {
                return Err(Error::new(
                    sqlstate::INSUFFICIENT_PRIVILEGE,
                    format!("permission denied to set parameter \"{}\"", definition.name),
                ));
            }
            _ => return Err(cannot_be_changed(definition)),
        }
        let value = text.map(|text| parse(id, text)).transpose()?;
        Ok((Ok(id), value, Some(id)))
    }
}

fn custom(name: &str) -> Arc<str> {
    Arc::from(name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> SessionSettings {
        SessionSettings::new(Arc::new(ServerSettings::new()))
    }

    #[test]
    fn a_rolled_back_transaction_takes_its_settings_with_it() {
        let mut settings = session();
        settings.push_level();
        settings.set("work_mem", "8MB", Change::Session, false).unwrap();
        settings.push_level();
        settings.set("work_mem", "9MB", Change::Session, false).unwrap();
        settings.roll_back_level();
        assert_eq!(settings.show("work_mem").unwrap(), "8MB");
        settings.end_transaction(false);
        assert_eq!(settings.show("work_mem").unwrap(), "4MB");
    }

    #[test]
    fn a_level_that_begins_anew_goes_on_without_what_was_set_in_it() {
        let mut settings = session();
        settings.push_level();
        settings.set("work_mem", "8MB", Change::Session, false).unwrap();
        settings.push_level();
        settings.set("work_mem", "9MB", Change::Local, false).unwrap();
        settings.begin_level_anew();
        assert_eq!(settings.show("work_mem").unwrap(), "8MB");
        settings.roll_back_level();
        settings.begin_level_anew();
        assert_eq!(settings.show("work_mem").unwrap(), "4MB");
    }

    #[test]
    fn set_local_ends_with_its_transaction() {
        let mut settings = session();
        settings.push_level();
        settings.set("work_mem", "8MB", Change::Local, false).unwrap();
        assert_eq!(settings.show("work_mem").unwrap(), "8MB");
        settings.end_transaction(true);
        assert_eq!(settings.show("work_mem").unwrap(), "4MB");
    }

    #[test]
    fn only_a_superuser_sets_commit_delay_and_anyone_commit_siblings() {
        let mut settings = session();
        let refused = settings.set("commit_delay", "10", Change::Session, false).unwrap_err();
        assert_eq!(refused.sqlstate(), sqlstate::INSUFFICIENT_PRIVILEGE);
        assert_eq!(refused.message(), "permission denied to set parameter \"commit_delay\"");
        settings.set("commit_delay", "10", Change::Session, true).unwrap();
        settings.set("commit_siblings", "1", Change::Session, false).unwrap();
    }

    #[test]
    fn reset_returns_to_what_the_session_started_with() {
        let mut settings = session();
        settings.set_at_session_start("work_mem", "5MB", false).unwrap();
        settings.set("work_mem", "6MB", Change::Session, false).unwrap();
        settings.reset("work_mem", Change::Session, false).unwrap();
        assert_eq!(settings.show("work_mem").unwrap(), "5MB");
    }

    #[test]
    fn custom_names_need_a_dot() {
        let mut settings = session();
        settings.set("my.flag", "x", Change::Session, false).unwrap();
        assert_eq!(settings.show("my.flag").unwrap(), "x");
        assert_eq!(
            settings.set("nonsense", "x", Change::Session, false).unwrap_err().sqlstate(),
            sqlstate::UNDEFINED_OBJECT
        );
        let refused = settings.set("fsync", "off", Change::Session, true).unwrap_err();
        assert_eq!(refused.message(), "parameter \"fsync\" cannot be changed now");
        let refused = settings.set("max_connections", "5", Change::Session, true).unwrap_err();
        assert_eq!(refused.message(), "parameter \"max_connections\" cannot be changed without restarting the server");
    }
}
