//! The values that hold for every session that has none of its own.

use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{COUNT, Context, Definition, Id, Value, all, lookup, parse};
use crate::error::{Error, Result};
use crate::sqlstate;

/// Where a value came from; as in `pg_settings.source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Built in.
    Default,
    /// The configuration file.
    ConfigurationFile,
    /// The command line; a configuration file does not override it.
    CommandLine,
}

impl Source {
    /// The words of `pg_settings.source`.
    pub fn name(self) -> &'static str {
        match self {
            Source::Default => "default",
            Source::ConfigurationFile => "configuration file",
            Source::CommandLine => "command line",
        }
    }
}

/// The server-wide values. Shared by all sessions; changed at start and on reload only.
pub struct ServerSettings {
    /// Guards all values. Rank: none, it is a leaf; held for a copy only.
    values: RwLock<Vec<(Value, Source)>>,
    generation: AtomicU64,
}

impl Default for ServerSettings {
    fn default() -> Self {
        let values = all()
            .map(|definition| {
                let value = parse(definition.id, definition.default).expect("a test parses every default");
                (value, Source::Default)
            })
            .collect();
        ServerSettings { values: RwLock::new(values), generation: AtomicU64::new(1) }
    }
}

impl ServerSettings {
    /// All defaults.
    pub fn new() -> ServerSettings {
        ServerSettings::default()
    }

    /// The value of `id`.
    pub fn get(&self, id: Id) -> Value {
        self.read()[id as usize].0.clone()
    }

    /// Where the value of `id` came from.
    pub fn source(&self, id: Id) -> Source {
        self.read()[id as usize].1
    }

    /// Grows with every change, so that readers can keep copies.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Sets `name` to `text` before or at start.
    ///
    /// # Errors
    /// 42704 for an unknown name, 22023 for a bad value, 55P02 for what nobody may set.
    pub fn set_at_start(&self, name: &str, text: &str, source: Source) -> Result<()> {
        let id = lookup(name)?;
        let definition = id.definition();
        if definition.context == Context::Internal {
            return Err(cannot_be_changed(definition));
        }
        let value = parse(id, text)?;
        self.write()[id as usize] = (value, source);
        self.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Sets what the server shows and nobody may set.
    pub fn set_preset(&self, id: Id, text: &str) {
        debug_assert_eq!(id.definition().context, Context::Internal);
        self.write()[id as usize] = (Value::Text(text.into()), Source::Default);
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Takes up a configuration file that was read again. Settings it no longer names return to their defaults.
    /// Gives the names of the changed settings that only a restart takes up; they keep their values.
    ///
    /// # Errors
    /// As [`ServerSettings::set_at_start`]; nothing is changed then.
    pub fn reload(&self, entries: &[(String, String)]) -> Result<Vec<&'static str>> {
        let mut wanted: Vec<Option<Value>> = vec![None; COUNT];
        for (name, text) in entries {
            let id = lookup(name)?;
            wanted[id as usize] = Some(parse(id, text)?);
        }
        let mut pending_restart = Vec::new();
        let mut values = self.write();
        for definition in all() {
            let (value, source) = &mut values[definition.id as usize];
            if *source == Source::CommandLine {
                continue;
            }
            let (new_value, new_source) = match wanted[definition.id as usize].take() {
                Some(value) => (value, Source::ConfigurationFile),
                // The server has worked it out at its start.
                None if *source == Source::Default && definition.context <= Context::Postmaster => continue,
                None => (parse(definition.id, definition.default)?, Source::Default),
            };
            if definition.context <= Context::Postmaster {
                if *value != new_value {
                    pending_restart.push(definition.name);
                }
            } else {
                (*value, *source) = (new_value, new_source);
            }
        }
        drop(values);
        self.generation.fetch_add(1, Ordering::Release);
        Ok(pending_restart)
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Vec<(Value, Source)>> {
        self.values.read().expect("no code panics while it holds the values")
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Vec<(Value, Source)>> {
        self.values.write().expect("no code panics while it holds the values")
    }
}

/// The error for a setting that can't be changed in a session: 55P02.
pub(super) fn cannot_be_changed(definition: &Definition) -> Error {
    let how = match definition.context {
        Context::Postmaster => "cannot be changed without restarting the server",
        Context::Sighup => "cannot be changed now",
        _ => "cannot be changed",
    };
    Error::new(sqlstate::CANT_CHANGE_RUNTIME_PARAM, format!("parameter \"{}\" {how}", definition.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reload_keeps_the_command_line_and_names_what_needs_a_restart() {
        let settings = ServerSettings::new();
        settings.set_at_start("commit_delay", "10", Source::CommandLine).unwrap();
        let entry = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let restart = settings
            .reload(&[entry("commit_delay", "20"), entry("max_connections", "7000"), entry("deadlock_timeout", "2s")])
            .unwrap();
        assert_eq!(restart, ["max_connections"]);
        assert_eq!(settings.get(lookup("commit_delay").unwrap()), Value::Integer(10));
        assert_eq!(settings.get(lookup("deadlock_timeout").unwrap()), Value::Integer(2000));
        settings.reload(&[]).unwrap();
        assert_eq!(settings.get(lookup("deadlock_timeout").unwrap()), Value::Integer(1000));
    }
}
