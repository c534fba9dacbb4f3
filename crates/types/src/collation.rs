//! Collations. Text is ordered by its bytes, so these are the ones that do so: the others are known by name and refused.

use base::{Error, Oid, Result, missing};

use super::{CatalogLookup, SqlType, base_type, builtin_type};

/// The number of the collation `default`.
pub const DEFAULT: Oid = Oid(100);

/// A collation.
pub struct Collation {
    /// Its number.
    pub oid: Oid,
    /// Its name, in `pg_catalog`.
    pub name: &'static str,
    /// The provider's letter, as in `pg_collation.collprovider`.
    pub provider: char,
    /// The encoding that it is for, -1 for any.
    pub encoding: i32,
    /// The name of its locale.
    pub locale: Option<&'static str>,
}

/// UTF-8, as `pg_collation.collencoding` numbers it.
const UTF8: i32 = 6;

const fn of_library(oid: u32, name: &'static str, encoding: i32, locale: &'static str) -> Collation {
    Collation { oid: Oid(oid), name, provider: 'c', encoding, locale: Some(locale) }
}

/// All collations. PostgreSQL numbers the last two anew in each version.
pub const COLLATIONS: &[Collation] = &[
    Collation { oid: DEFAULT, name: "default", provider: 'd', encoding: -1, locale: None },
    of_library(950, "C", -1, "C"),
    of_library(951, "POSIX", -1, "POSIX"),
    of_library(12340, "ucs_basic", UTF8, "C"),
    of_library(12341, "C.utf8", UTF8, "C.utf8"),
];

/// The collation with this number.
pub fn by_oid(oid: Oid) -> Option<&'static Collation> {
    COLLATIONS.iter().find(|collation| collation.oid == oid)
}

/// The collation of this name.
pub fn named(name: &str) -> Option<&'static Collation> {
    COLLATIONS.iter().find(|collation| collation.name == name)
}

/// The collation that a statement names.
///
/// # Errors
/// 42704 if there is none; 0A000 if it is one of ICU's.
pub fn required(schema: Option<&str>, name: &str) -> Result<Oid> {
    let in_catalog = schema.is_none_or(|schema| schema == "pg_catalog");
    if let Some(collation) = named(name).filter(|_| in_catalog) {
        return Ok(collation.oid);
    }
    let shown = schema.map_or_else(|| name.to_owned(), |schema| format!("{schema}.{name}"));
    if in_catalog && (name.ends_with("-x-icu") || name == "unicode") {
        return Err(Error::unsupported(format!("collation \"{shown}\" is not supported")));
    }
    Err(missing::collation(shown))
}

/// The collation that values of a type have by themselves; invalid for a type without one.
pub fn of_type(lookup: &dyn CatalogLookup, oid: Oid) -> Oid {
    let mut innermost = base_type(lookup, SqlType::new(oid)).oid;
    if builtin_type(innermost).is_none()
        && let Some(element) = super::element_type(lookup, innermost)
    {
        innermost = base_type(lookup, SqlType::new(element)).oid;
    }
    builtin_type(innermost).map_or(Oid::INVALID, |def| def.collation)
}
