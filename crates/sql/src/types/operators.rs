//! The built-in operators.

use base::Oid;

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
    /// What planners may do with it.
    pub role: OperatorRole,
}

/// What a planner may take an operator for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

/// All built-in operators.
pub fn operators() -> impl Iterator<Item = &'static OperatorDef> {
    std::iter::empty()
}

/// The built-in operator `oid`.
pub fn operator(_oid: Oid) -> Option<&'static OperatorDef> {
    todo!()
}

/// The built-in operators called `name`.
pub fn operators_named(_name: &str) -> &'static [&'static OperatorDef] {
    todo!()
}

/// The operator with this name and exactly these operand types (`left` none for prefix operators).
pub fn operator_exact(_name: &str, _left: Oid, _right: Oid) -> Option<&'static OperatorDef> {
    todo!()
}

/// The operator that plays `role` in the default order of `oid` with itself: what ORDER BY, DISTINCT, IN and joins use.
pub fn ordering_operator(_oid: Oid, _role: OperatorRole) -> Option<&'static OperatorDef> {
    todo!()
}
