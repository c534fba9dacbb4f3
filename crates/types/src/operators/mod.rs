//! The built-in operators.

use std::sync::LazyLock;

use base::Oid;
use rustc_hash::FxHashMap;

use super::functions;

mod table;

/// A built-in operator.
#[derive(Clone, Copy, Debug)]
pub struct OperatorDef {
    /// PostgreSQL's number for it.
    pub oid: Oid,
    /// Its name.
    pub name: &'static str,
    /// Type of the left operand; none for prefix operators.
    pub left: Oid,
    /// Type of the right operand.
    pub right: Oid,
    /// Type of the result.
    pub result: Oid,
    /// The function that computes it.
    pub function: Oid,
    /// The operator with its operands swapped, or none.
    pub commutator: Oid,
    /// The operator with the opposite truth, or none.
    pub negator: Oid,
    /// Its role in planning.
    pub role: OperatorRole,
}

/// The role of an operator in planning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OperatorRole {
    /// `<` of the types' default order
    Less,
    /// `<=`
    LessEqual,
    /// `=`: can be hashed, merged and looked up in an index
    Equal,
    /// `>=`
    GreaterEqual,
    /// `>`
    Greater,
    /// `<>`
    NotEqual,
    /// `~~`, `~`, `^@` and the like: prefixes may be looked up
    Pattern,
    /// Nothing special
    Other,
}

struct Registry {
    by_oid: FxHashMap<Oid, &'static OperatorDef>,
    by_name: FxHashMap<&'static str, Vec<&'static OperatorDef>>,
    by_role: FxHashMap<(Oid, OperatorRole), &'static OperatorDef>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry =
        Registry { by_oid: FxHashMap::default(), by_name: FxHashMap::default(), by_role: FxHashMap::default() };
    for def in operators() {
        registry.by_oid.insert(def.oid, def);
        registry.by_name.entry(def.name).or_default().push(def);
        if def.left == def.right && !matches!(def.role, OperatorRole::Pattern | OperatorRole::Other) {
            registry.by_role.insert((def.left, def.role), def);
        }
    }
    registry
});

/// All built-in operators.
pub fn operators() -> impl Iterator<Item = &'static OperatorDef> {
    functions::COMPARISON_OPERATORS.iter().chain(table::OPERATORS)
}

/// The built-in operator `oid`.
pub fn operator(oid: Oid) -> Option<&'static OperatorDef> {
    REGISTRY.by_oid.get(&oid).copied()
}

/// The built-in operators called `name`; `!=` is another name for `<>`.
pub fn operators_named(name: &str) -> &'static [&'static OperatorDef] {
    let name = if name == "!=" { "<>" } else { name };
    REGISTRY.by_name.get(name).map_or(&[], Vec::as_slice)
}

/// The operator with this name and exactly these operand types (`left` none for prefix operators).
pub fn operator_exact(name: &str, left: Oid, right: Oid) -> Option<&'static OperatorDef> {
    operators_named(name).iter().copied().find(|def| def.left == left && def.right == right)
}

/// The operator that plays `role` in the default order of `oid` with itself: what ORDER BY, DISTINCT, IN and joins use.
///
/// Types without operators of their own (`varchar`, arrays, enums, records, `regclass`) have those of the type they
/// are taken for. Pass the base type of a domain.
pub fn ordering_operator(oid: Oid, role: OperatorRole) -> Option<&'static OperatorDef> {
    let find = |oid: Oid| REGISTRY.by_role.get(&(oid, role)).copied();
    find(oid).or_else(|| find(super::type_table::builtin_type(oid)?.ordered_as))
}
