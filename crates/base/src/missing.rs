//! Errors about names that stand for nothing, in PostgreSQL's words and with its codes.
//!
//! One fault reads the same wherever it is found. Errors that a single place raises are made there.

use std::fmt::Display;

use crate::error::Error;
use crate::sqlstate::{self, SqlState};

#[cold]
#[track_caller]
fn named(code: SqlState, kind: &str, name: impl Display) -> Error {
    Error::new(code, format!("{kind} \"{name}\" does not exist"))
}

#[cold]
#[track_caller]
fn part(code: SqlState, kind: &str, name: impl Display, of: &str, whole: impl Display) -> Error {
    Error::new(code, format!("{kind} \"{name}\" {of} \"{whole}\" does not exist"))
}

/// 42P01
#[track_caller]
pub fn relation(name: impl Display) -> Error {
    named(sqlstate::UNDEFINED_TABLE, "relation", name)
}

/// 42703, for a column that is looked for without a relation's name.
#[track_caller]
pub fn column(name: impl Display) -> Error {
    named(sqlstate::UNDEFINED_COLUMN, "column", name)
}

/// 42703, for a column that is looked for in an item of FROM.
#[track_caller]
pub fn column_of_item(item: impl Display, name: impl Display) -> Error {
    Error::new(sqlstate::UNDEFINED_COLUMN, format!("column {item}.{name} does not exist"))
}

/// 42703, for a column that a relation or a composite type should have.
#[track_caller]
pub fn column_of_relation(name: impl Display, relation: impl Display) -> Error {
    part(sqlstate::UNDEFINED_COLUMN, "column", name, "of relation", relation)
}

/// 3F000
#[track_caller]
pub fn schema(name: impl Display) -> Error {
    named(sqlstate::INVALID_SCHEMA_NAME, "schema", name)
}

/// 3D000
#[track_caller]
pub fn database(name: impl Display) -> Error {
    named(sqlstate::INVALID_CATALOG_NAME, "database", name)
}

/// 42704
#[track_caller]
pub fn role(name: impl Display) -> Error {
    named(sqlstate::UNDEFINED_OBJECT, "role", name)
}

/// 42704
#[track_caller]
pub fn data_type(name: impl Display) -> Error {
    named(sqlstate::UNDEFINED_OBJECT, "type", name)
}

/// 42704
#[track_caller]
pub fn language(name: impl Display) -> Error {
    named(sqlstate::UNDEFINED_OBJECT, "language", name)
}

/// 42704
#[track_caller]
pub fn access_method(name: impl Display) -> Error {
    named(sqlstate::UNDEFINED_OBJECT, "access method", name)
}

/// 42704. The encoding is the only one there is.
#[track_caller]
pub fn collation(name: impl Display) -> Error {
    part(sqlstate::UNDEFINED_OBJECT, "collation", name, "for encoding", "UTF8")
}

/// 42704, as ALTER TABLE words it.
#[track_caller]
pub fn constraint_of_relation(name: impl Display, relation: impl Display) -> Error {
    part(sqlstate::UNDEFINED_OBJECT, "constraint", name, "of relation", relation)
}

/// 42704, as COMMENT, RENAME CONSTRAINT and ON CONFLICT word it.
#[track_caller]
pub fn constraint_for_table(name: impl Display, table: impl Display) -> Error {
    part(sqlstate::UNDEFINED_OBJECT, "constraint", name, "for table", table)
}

/// 42704, as ALTER DOMAIN words it.
#[track_caller]
pub fn constraint_of_domain(name: impl Display, domain: impl Display) -> Error {
    part(sqlstate::UNDEFINED_OBJECT, "constraint", name, "of domain", domain)
}

/// 42704
#[track_caller]
pub fn trigger_for_table(name: impl Display, table: impl Display) -> Error {
    part(sqlstate::UNDEFINED_OBJECT, "trigger", name, "for table", table)
}

/// 34000
#[track_caller]
pub fn cursor(name: impl Display) -> Error {
    named(sqlstate::INVALID_CURSOR_NAME, "cursor", name)
}

/// 26000
#[track_caller]
pub fn prepared_statement(name: impl Display) -> Error {
    named(sqlstate::INVALID_SQL_STATEMENT_NAME, "prepared statement", name)
}

/// 42704
#[track_caller]
pub fn prepared_transaction(identifier: impl Display) -> Error {
    let message = format!("prepared transaction with identifier \"{identifier}\" does not exist");
    Error::new(sqlstate::UNDEFINED_OBJECT, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_part_names_the_whole() {
        let (error, line) = (column_of_relation("c", "t"), line!());
        assert_eq!(
            (error.sqlstate().as_str(), error.message()),
            ("42703", "column \"c\" of relation \"t\" does not exist")
        );
        assert_eq!(error.fields().origin.line(), line, "the caller's line");
    }
}
