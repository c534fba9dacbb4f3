//! The codes and hints of the grammar's errors, which its library interface leaves out.

use base::{Error, Result, SqlState, sqlstate};

use super::STACK_DEPTH_HINT;

/// Errors of the grammar that are not plain syntax errors: how the message begins, its code, its hint.
const SPECIAL: &[(&str, SqlState, Option<&str>)] = &[
    ("stack depth limit exceeded", sqlstate::STATEMENT_TOO_COMPLEX, Some(STACK_DEPTH_HINT)),
    ("parse tree is nested too deeply", sqlstate::STATEMENT_TOO_COMPLEX, Some(STACK_DEPTH_HINT)),
    (
        "UNENCRYPTED PASSWORD is no longer supported",
        sqlstate::FEATURE_NOT_SUPPORTED,
        Some("Remove UNENCRYPTED to store the password in encrypted form instead."),
    ),
    ("LIMIT #,# syntax is not supported", sqlstate::SYNTAX_ERROR, Some("Use separate LIMIT and OFFSET clauses.")),
    (
        "unrecognized row security option",
        sqlstate::SYNTAX_ERROR,
        Some("Only PERMISSIVE or RESTRICTIVE policies are supported currently."),
    ),
    ("missing argument", sqlstate::SYNTAX_ERROR, Some("Use NONE to denote the missing argument of a unary operator.")),
    (
        "invalid Unicode escape",
        sqlstate::INVALID_ESCAPE_SEQUENCE,
        Some("Unicode escapes must be \\uXXXX or \\UXXXXXXXX."),
    ),
    (
        "unsafe use of \\' in a string literal",
        SqlState::new("22P06"),
        Some("Use '' to write quotes in strings. \\' is insecure in client-only encodings."),
    ),
    ("frame start cannot be UNBOUNDED FOLLOWING", sqlstate::WINDOWING_ERROR, None),
    ("frame starting from", sqlstate::WINDOWING_ERROR, None),
    ("frame end cannot be UNBOUNDED PRECEDING", sqlstate::WINDOWING_ERROR, None),
    ("invalid byte sequence for encoding", sqlstate::CHARACTER_NOT_IN_REPERTOIRE, None),
    ("role name \"", sqlstate::RESERVED_NAME, None),
    ("precision for type float must be", sqlstate::INVALID_PARAMETER_VALUE, None),
    ("column number must be in range", sqlstate::INVALID_PARAMETER_VALUE, None),
    ("unrecognized partitioning strategy", sqlstate::INVALID_PARAMETER_VALUE, None),
    ("current database cannot be changed", sqlstate::FEATURE_NOT_SUPPORTED, None),
    ("CREATE SCHEMA IF NOT EXISTS cannot include", sqlstate::FEATURE_NOT_SUPPORTED, None),
    ("constraints cannot be altered to be NOT VALID", sqlstate::FEATURE_NOT_SUPPORTED, None),
    ("a column list with", sqlstate::FEATURE_NOT_SUPPORTED, None),
    ("aggregates cannot have output arguments", sqlstate::FEATURE_NOT_SUPPORTED, None),
    ("WITH CHECK OPTION not supported", sqlstate::FEATURE_NOT_SUPPORTED, None),
    ("CREATE EXTENSION ... FROM is no longer", sqlstate::FEATURE_NOT_SUPPORTED, None),
    ("CREATE OR REPLACE CONSTRAINT TRIGGER", sqlstate::FEATURE_NOT_SUPPORTED, None),
    ("unrecognized exception condition", sqlstate::UNDEFINED_OBJECT, None),
    ("dropping an enum value is not", sqlstate::FEATURE_NOT_SUPPORTED, None),
];

/// How the message of other errors with 0A000 ends.
const UNSUPPORTED_ENDINGS: &[&str] = &[
    "not yet implemented",
    "constraints cannot be marked DEFERRABLE",
    "constraints cannot be marked NOT VALID",
    "constraints cannot be marked NO INHERIT",
    "constraints cannot be marked NOT ENFORCED",
    "constraints cannot be marked ENFORCED",
];

/// The error for `message`; `position` counts characters from 1, 0 if unknown.
pub(super) fn from_grammar(message: String, position: u32) -> Error {
    let special = SPECIAL.iter().find(|(prefix, ..)| message.starts_with(prefix));
    let code = match special {
        Some((_, code, _)) => *code,
        None if message.ends_with("cannot be used as a role name here") => sqlstate::RESERVED_NAME,
        None if message.ends_with("is declared CONSTANT") => sqlstate::ERROR_IN_ASSIGNMENT,
        None if UNSUPPORTED_ENDINGS.iter().any(|ending| message.ends_with(ending)) => sqlstate::FEATURE_NOT_SUPPORTED,
        None => sqlstate::SYNTAX_ERROR,
    };
    let mut error = Error::new(code, message);
    if code == sqlstate::STATEMENT_TOO_COMPLEX {
        return too_deep();
    }
    if let Some((_, _, Some(hint))) = special {
        error = error.hint(*hint);
    }
    // The grammar of later versions tells a place that PostgreSQL 15 does not.
    let placed = position > 0 && !error.message().starts_with("WITH TIES cannot");
    if placed { error.at(position) } else { error }
}

/// The result of reading a stored text; `None` if the text can't be read any more. Errors that say nothing about the text go through:
/// those of a session that is interrupted, and of a system without memory.
pub fn if_readable<R>(result: Result<R>) -> Result<Option<R>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_interruption(&error) || error.sqlstate() == sqlstate::OUT_OF_MEMORY => Err(error),
        Err(_) => Ok(None),
    }
}

/// The error when the system has no room for a stack: 53200.
pub fn no_stack() -> Error {
    Error::new(sqlstate::OUT_OF_MEMORY, "out of memory").detail("There is no room for a stack to run on.")
}

/// The error for a statement nested too deep: 54001.
pub fn too_deep() -> Error {
    Error::new(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded").hint(STACK_DEPTH_HINT)
}

/// Whether the session was told to stop, which is no failure of what it does.
pub fn is_interruption(error: &Error) -> bool {
    error.sqlstate() == sqlstate::QUERY_CANCELED || error.fields().fatal
}
