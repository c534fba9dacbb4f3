//! Descriptors of functions and procedures.

use base::Oid;
use serde::{Deserialize, Serialize};

/// A function or procedure.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FunctionDef {
    /// Its identifier.
    pub oid: Oid,
    /// The schema it is in.
    pub schema: Oid,
    /// Its name; several functions may have it, with different arguments.
    pub name: String,
    /// The role that owns it.
    pub owner: Oid,
    /// Its arguments in order.
    pub arguments: Vec<ArgumentDef>,
    /// The type of its result.
    pub returns: Oid,
    /// Whether it returns a set of such values.
    pub returns_set: bool,
    /// The language of its body.
    pub language: String,
    /// Its body.
    pub body: String,
    /// Its volatility: the inputs that its result depends on.
    pub volatility: Volatility,
    /// Whether a null argument makes the result null.
    pub strict: bool,
    /// Its kind.
    pub kind: FunctionKind,
    /// `SECURITY DEFINER`.
    pub security_definer: bool,
    /// `SET name = value` clauses.
    pub settings: Vec<(String, String)>,
    /// `COMMENT ON`.
    pub comment: Option<String>,
    /// `COST`, as it was given.
    pub cost: Option<f32>,
    /// `ROWS`, as it was given.
    pub rows: Option<f32>,
    /// `LEAKPROOF`
    pub leakproof: bool,
    /// `PARALLEL`; described only.
    pub parallel: Parallel,
}

/// Whether a function may run in helpers of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Parallel {
    /// `UNSAFE`
    #[default]
    Unsafe,
    /// `RESTRICTED`
    Restricted,
    /// `SAFE`
    Safe,
}

/// An argument of a function.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ArgumentDef {
    /// Its name.
    pub name: Option<String>,
    /// Its type.
    pub type_oid: Oid,
    /// Which way it goes.
    pub mode: ArgumentMode,
    /// Its default, as SQL.
    pub default: Option<String>,
}

/// Which way an argument goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ArgumentMode {
    /// `IN`.
    In,
    /// `OUT`.
    Out,
    /// `INOUT`.
    InOut,
    /// `VARIADIC`.
    Variadic,
    /// A column of `RETURNS TABLE`.
    Table,
}

impl ArgumentMode {
    /// Whether a call passes it.
    pub fn is_input(self) -> bool {
        matches!(self, ArgumentMode::In | ArgumentMode::InOut | ArgumentMode::Variadic)
    }

    /// Whether it is part of the result.
    pub fn is_output(self) -> bool {
        matches!(self, ArgumentMode::Out | ArgumentMode::InOut | ArgumentMode::Table)
    }
}

impl FunctionDef {
    /// A volatile function in SQL without arguments and body that returns nothing.
    pub fn new(oid: Oid, schema: Oid, name: impl Into<String>, owner: Oid) -> FunctionDef {
        FunctionDef {
            oid,
            schema,
            name: name.into(),
            owner,
            arguments: Vec::new(),
            returns: Oid::INVALID,
            returns_set: false,
            language: "sql".to_owned(),
            body: String::new(),
            volatility: Volatility::Volatile,
            strict: false,
            kind: FunctionKind::Function,
            security_definer: false,
            settings: Vec::new(),
            comment: None,
            cost: None,
            rows: None,
            leakproof: false,
            parallel: Parallel::Unsafe,
        }
    }

    /// Whether it is called by `CALL`.
    pub fn is_procedure(&self) -> bool {
        self.kind == FunctionKind::Procedure
    }

    /// Whether its last argument takes the rest of a call.
    pub fn is_variadic(&self) -> bool {
        self.arguments.iter().any(|argument| argument.mode == ArgumentMode::Variadic)
    }
}

/// The inputs that a function's result depends on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Volatility {
    /// Its arguments.
    Immutable,
    /// Its arguments and the statement's snapshot.
    Stable,
    /// Anything.
    Volatile,
}

/// The kind of a function, by the place where it can be called.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FunctionKind {
    /// In an expression.
    Function,
    /// By `CALL`.
    Procedure,
}
