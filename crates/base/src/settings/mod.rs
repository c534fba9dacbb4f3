//! Settings: one typed table of all of them, their parsing and printing, and where values live.
//!
//! [`table`] lists every setting with its PostgreSQL name where PostgreSQL has the thing. A text becomes
//! a [`Value`] by [`parse`] and a text again by [`show`]. [`ServerSettings`] holds the values that hold for
//! everybody; [`SessionSettings`] lays a session's own over them and takes them back when a transaction
//! or savepoint is rolled back.

mod fixed;
mod hidden;
mod session;
mod table;
mod text;
mod values;
pub mod words;

pub use fixed::is_fixed;
pub use hidden::is_hidden;
pub use session::{Change, SessionSettings};
pub use table::{COUNT, Definition, Id, all};
use text::parse_any;
pub use text::{parse, short_float, show};
pub use values::{ServerSettings, Source};

use std::sync::Arc;

use crate::error::Error;
use crate::sqlstate;

/// The value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of a [`Kind::Bool`].
    Bool(bool),
    /// Of a [`Kind::Integer`], in the setting's own unit.
    Integer(i64),
    /// Of a [`Kind::Float`], in the setting's own unit.
    Float(f64),
    /// Of a [`Kind::Text`].
    Text(Arc<str>),
    /// Index into the words of a [`Kind::Enum`] or of a [`Kind::Integer`] that also takes words.
    Word(usize),
}

/// The shape of a setting's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// `on` or `off`, and what PostgreSQL also takes for them.
    Bool,
    /// A whole number in a unit, or one of a few words.
    Integer {
        /// Smallest value allowed.
        minimum: i64,
        /// Largest value allowed.
        maximum: i64,
        /// The unit of the number.
        unit: Unit,
        /// Words allowed in place of a number.
        words: &'static [&'static str],
    },
    /// A number.
    Float {
        /// Smallest value allowed.
        minimum: f64,
        /// Largest value allowed.
        maximum: f64,
        /// The unit of the number.
        unit: Unit,
    },
    /// Any text.
    Text,
    /// One of these words, in lower case.
    Enum(&'static [&'static str]),
}

/// The unit that a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    None,
    /// Bytes.
    Bytes,
    /// 1024 bytes.
    Kilobytes,
    /// Pages of 8 KiB.
    Pages,
    /// 1024 * 1024 bytes.
    Megabytes,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Minutes.
    Minutes,
}

/// The roles that may change a setting, and the time when they may; as in `pg_settings.context`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Context {
    /// Nobody.
    Internal,
    /// At start only.
    Postmaster,
    /// In the configuration file, taken up on reload.
    Sighup,
    /// A superuser, when a session starts.
    SuperuserBackend,
    /// A superuser, in a session.
    Superuser,
    /// Anyone, in a session.
    User,
}

impl Context {
    /// The word of `pg_settings.context`.
    pub fn name(self) -> &'static str {
        match self {
            Context::Internal => "internal",
            Context::Postmaster => "postmaster",
            Context::Sighup => "sighup",
            Context::SuperuserBackend => "superuser-backend",
            Context::Superuser => "superuser",
            Context::User => "user",
        }
    }
}

impl Value {
    /// The truth value of a [`Kind::Bool`] setting.
    ///
    /// # Panics
    /// If the setting is of another kind: [`table`] and its reader disagree.
    pub fn as_bool(&self) -> bool {
        match self {
            Value::Bool(value) => *value,
            other => panic!("{other:?} is not Boolean"),
        }
    }

    /// The number of a [`Kind::Integer`] setting; `None` where a word stands in its place.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Value::Integer(value) => Some(*value),
            _ => None,
        }
    }

    /// The text of a [`Kind::Text`] setting.
    ///
    /// # Panics
    /// If the setting is of another kind.
    pub fn as_text(&self) -> &Arc<str> {
        match self {
            Value::Text(value) => value,
            other => panic!("{other:?} is not text"),
        }
    }
}

/// Finds a setting by its name, in any case.
///
/// # Errors
/// 42704 when there is none.
pub fn lookup(name: &str) -> Result<Id, Error> {
    table::find(name).ok_or_else(|| unrecognized(name))
}

/// The error for a name that is no setting: 42704.
pub fn unrecognized(name: &str) -> Error {
    Error::new(sqlstate::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\""))
}

/// Whether `name` is of the form `class.name`, which anyone may define.
pub fn is_custom_name(name: &str) -> bool {
    let part_is_valid = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii())
    };
    name.contains('.') && name.split('.').all(part_is_valid)
}
