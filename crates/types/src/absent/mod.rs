//! The names of what PostgreSQL 15 has and this engine lacks: who uses one is told so, instead of that it does not exist.
//!
//! The lists are names taken from a PostgreSQL's own catalogs, sorted by their bytes. A test compares them with a server.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

fn words(text: &'static str) -> FxHashSet<&'static str> {
    text.lines().collect()
}

static FUNCTIONS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| words(include_str!("functions.txt")));
static OPERATORS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| words(include_str!("operators.txt")));
static TYPES: LazyLock<FxHashSet<&str>> = LazyLock::new(|| words(include_str!("types.txt")));

/// Whether PostgreSQL has functions of this name, and this engine none.
pub fn is_function(schema: Option<&str>, name: &str) -> bool {
    in_catalog(schema) && FUNCTIONS.contains(name)
}

/// Whether PostgreSQL has operators of this name, and this engine none.
pub fn is_operator(schema: Option<&str>, name: &str) -> bool {
    in_catalog(schema) && OPERATORS.contains(name)
}

/// Whether PostgreSQL has a type of this name, and this engine none.
pub fn is_type(schema: Option<&str>, name: &str) -> bool {
    in_catalog(schema) && TYPES.contains(name)
}

fn in_catalog(schema: Option<&str>) -> bool {
    schema.is_none_or(|schema| schema == "pg_catalog")
}
