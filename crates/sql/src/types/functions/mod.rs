//! The registry of built-in functions.

use std::sync::LazyLock;

use base::Oid;
use rustc_hash::FxHashMap;

use super::function_def::FunctionDef;

mod integers;

/// All tables of functions, by subject.
static TABLES: &[&[FunctionDef]] = &[integers::FUNCTIONS];

struct Registry {
    by_oid: FxHashMap<Oid, &'static FunctionDef>,
    by_name: FxHashMap<&'static str, Vec<&'static FunctionDef>>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry { by_oid: FxHashMap::default(), by_name: FxHashMap::default() };
    for def in functions() {
        registry.by_oid.insert(def.oid, def);
        registry.by_name.entry(def.name).or_default().push(def);
    }
    registry
});

/// All built-in functions except aggregates.
pub fn functions() -> impl Iterator<Item = &'static FunctionDef> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The built-in function `oid`.
pub fn function(oid: Oid) -> Option<&'static FunctionDef> {
    REGISTRY.by_oid.get(&oid).copied()
}

/// The built-in functions called `name`.
pub fn functions_named(name: &str) -> &'static [&'static FunctionDef] {
    REGISTRY.by_name.get(name).map_or(&[], Vec::as_slice)
}
