//! The expressions and types of a new definition: as they will be stored, so nothing is folded.

use std::sync::Arc;

use base::{Error, Result, sqlstate};
use plan::{Expr, ExprKind};
use schema::catalog::{ColumnDef, FunctionDef as StoredFunction, TableDef};
use syntax::tree::{self, Name, TypeName};
use types::{CastContext, SqlType};

use super::scope::{Place, Scope};
use super::{BindContext, Binder, Parameters};

/// The purpose of an expression of a definition.
#[derive(Debug, Clone, Copy)]
pub enum DefinitionUse<'a> {
    /// DEFAULT of a column: it sees no columns.
    Default {
        /// The column's name.
        column: &'a str,
        /// Its type.
        sql_type: SqlType,
    },
    /// DEFAULT of a function's parameter.
    ParameterDefault(SqlType),
    /// CHECK
    Check,
    /// GENERATED ALWAYS AS
    Generated {
        /// The column's name.
        column: &'a str,
        /// Its type.
        sql_type: SqlType,
    },
    /// GENERATED ALWAYS AS, before it becomes a value of the column's type.
    GeneratedBeforeCast,
    /// An index key.
    IndexKey,
    /// The condition of a partial index.
    IndexPredicate,
    /// The values of a column that is given another type.
    AlterType {
        /// The column's name.
        column: &'a str,
        /// Its new type.
        sql_type: SqlType,
        /// USING was written.
        is_using: bool,
    },
}

/// Binds an expression of a definition, over the full row of `table` (slot `n` is the column at place `n`). Errors
/// point into the context's text.
///
/// # Errors
/// Errors of binding; 42804 when the expression has the wrong type.
pub fn definition_expression(
    context: &mut BindContext<'_>,
    table: Option<&Arc<TableDef>>,
    expr: &tree::Expr,
    used_for: DefinitionUse<'_>,
) -> Result<Expr> {
    let mut parameters = Parameters::fixed(Vec::new());
    let mut binder = Binder::new(context, &mut parameters);
    binder.is_definition = true;
    let bound = binder.definition_expression(table, expr, used_for);
    binder.hand_on_needed();
    bound
}

/// The type that a name stands for.
///
/// # Errors
/// 42704 if there is none, and those of its modifiers.
pub fn definition_type(context: &mut BindContext<'_>, name: &TypeName) -> Result<SqlType> {
    let mut parameters = Parameters::fixed(Vec::new());
    Binder::new(context, &mut parameters).type_of(name)
}

/// [`definition_type`] of a name that the statement has written: USAGE of its schema is needed.
///
/// # Errors
/// 42704 if there is none, and those of its modifiers.
pub fn named_type(context: &mut BindContext<'_>, name: &TypeName) -> Result<SqlType> {
    let mut parameters = Parameters::fixed(Vec::new());
    let mut binder = Binder::new(context, &mut parameters);
    let sql_type = binder.type_of(name);
    binder.hand_on_needed();
    sql_type
}

/// The procedure that CALL names, and its input arguments, which see no columns.
///
/// # Errors
/// 42883 if there is none, 42809 if it is a function.
pub fn procedure_call(
    context: &mut BindContext<'_>,
    call: &tree::FunctionCall,
    parameters: &mut Parameters,
) -> Result<(Arc<StoredFunction>, Vec<Expr>)> {
    let mut binder = Binder::new(context, parameters);
    binder.scopes.push(Scope::new(Place::Call));
    let bound = binder.procedure(call);
    binder.hand_on_needed();
    bound
}

/// The default of a column, its identity's and its domain's included; NULL if it has none.
///
/// # Errors
/// Errors of binding.
pub fn column_default(context: &mut BindContext<'_>, column: &ColumnDef) -> Result<Expr> {
    let mut parameters = Parameters::fixed(Vec::new());
    let mut binder = Binder::new(context, &mut parameters);
    let bound = binder.column_default(column);
    binder.hand_on_needed();
    bound
}

impl Binder<'_, '_> {
    fn definition_expression(
        &mut self,
        table: Option<&Arc<TableDef>>,
        expr: &tree::Expr,
        used_for: DefinitionUse<'_>,
    ) -> Result<Expr> {
        let place = match used_for {
            DefinitionUse::Default { .. } | DefinitionUse::ParameterDefault(_) => Place::ColumnDefault,
            DefinitionUse::Check => Place::CheckConstraint,
            DefinitionUse::Generated { .. } | DefinitionUse::GeneratedBeforeCast => Place::Generated,
            DefinitionUse::IndexKey => Place::IndexExpression,
            DefinitionUse::IndexPredicate => Place::IndexPredicate,
            DefinitionUse::AlterType { .. } => Place::AlterType,
        };
        self.scopes.push(Scope::new(place));
        if let Some(table) = table {
            let relation = self.add_table(table.clone(), Name::new(&table.name));
            self.show(relation, Some(table.schema), table.oid, true);
        }
        let bound = self.expr(expr).map_err(|error| refuse_columns(error, used_for));
        let bound = bound.and_then(|bound| self.as_wanted(bound, expr, used_for));
        self.scopes.pop();
        let mut bound = bound?;
        to_row_slots(&mut bound);
        if bound.any(&|expr| matches!(expr.kind, ExprKind::Variable(_))) {
            let message = format!("cannot use system column in {}", place.name());
            return Err(self.error(sqlstate::INVALID_COLUMN_REFERENCE, message, expr.location));
        }
        Ok(bound)
    }

    /// Refuses constant fields of a row that are too long. The text that is kept has explicit casts, which would cut them silently.
    ///
    /// # Errors
    /// 22001, 22003.
    fn check_constant_fields(&mut self, expr: &Expr) -> Result<()> {
        let fields = match &expr.kind {
            ExprKind::Row { fields, .. } => fields,
            // A domain's checks see the row.
            ExprKind::Cast(cast) if cast.cast.context == CastContext::Assignment => {
                return self.check_constant_fields(&cast.input);
            }
            _ => return Ok(()),
        };
        for field in fields {
            match &field.kind {
                ExprKind::Cast(cast) if cast.cast.context == CastContext::Assignment && !cast.cast.checks_domain() => {
                    if let Some(value) = cast.input.as_constant() {
                        cast.cast.apply(self.context.eval, value.clone())?;
                    }
                }
                _ => self.check_constant_fields(field)?,
            }
        }
        Ok(())
    }

    fn as_wanted(&mut self, bound: Expr, expr: &tree::Expr, used_for: DefinitionUse<'_>) -> Result<Expr> {
        let location = expr.location;
        match used_for {
            DefinitionUse::Check => self.coerce_boolean(bound, "CHECK", location),
            DefinitionUse::IndexPredicate => self.coerce_boolean(bound, "WHERE", location),
            DefinitionUse::IndexKey => self.settle(bound, location),
            DefinitionUse::GeneratedBeforeCast => Ok(bound),
            DefinitionUse::ParameterDefault(sql_type) => {
                let context = CastContext::Assignment;
                self.coerce_or(bound, sql_type, context, location, |binder, bound| {
                    let (wanted, found) = (binder.type_name(sql_type.oid), binder.type_name(bound.sql_type.oid));
                    let message = format!("argument of DEFAULT must be type {wanted}, not type {found}");
                    binder.error(sqlstate::DATATYPE_MISMATCH, message, location)
                })
            }
            DefinitionUse::Default { column, sql_type } | DefinitionUse::Generated { column, sql_type } => {
                let wanted = self.coerce_or(bound, sql_type, CastContext::Assignment, location, |binder, bound| {
                    let (wanted, found) = (binder.type_name(sql_type.oid), binder.type_name(bound.sql_type.oid));
                    let message =
                        format!("column \"{column}\" is of type {wanted} but default expression is of type {found}");
                    Error::new(sqlstate::DATATYPE_MISMATCH, message)
                        .hint("You will need to rewrite or cast the expression.")
                })?;
                self.check_constant_fields(&wanted)?;
                Ok(wanted)
            }
            DefinitionUse::AlterType { column, sql_type, is_using } => {
                self.coerce_or(bound, sql_type, CastContext::Assignment, location, |binder, _| {
                    let wanted = types::format_type(binder.context.lookup, sql_type);
                    if is_using {
                        let bare = binder.type_name(sql_type.oid);
                        let message = format!(
                            "result of USING clause for column \"{column}\" cannot be cast automatically to type {bare}"
                        );
                        return Error::new(sqlstate::DATATYPE_MISMATCH, message)
                            .hint("You might need to add an explicit cast.");
                    }
                    let bare = binder.type_name(sql_type.oid);
                    let quoted = types::reg_types::quote_identifier(column);
                    Error::new(
                        sqlstate::DATATYPE_MISMATCH,
                        format!("column \"{column}\" cannot be cast automatically to type {bare}"),
                    )
                    .hint(format!("You might need to specify \"USING {quoted}::{wanted}\"."))
                })
            }
        }
    }
}

/// A default sees no columns: a name that is not found gets PostgreSQL's words for that.
fn refuse_columns(error: Error, used_for: DefinitionUse<'_>) -> Error {
    // A literal of type regclass may name a relation that is not there.
    let is_missing = match error.sqlstate() {
        sqlstate::UNDEFINED_COLUMN => true,
        sqlstate::UNDEFINED_TABLE => !error.message().starts_with("relation "),
        _ => false,
    };
    if !is_missing || !matches!(used_for, DefinitionUse::Default { .. } | DefinitionUse::ParameterDefault(_)) {
        return error;
    }
    let refusal = Error::unsupported("cannot use column reference in DEFAULT expression");
    match error.fields().position {
        Some(position) => refusal.at(position),
        None => refusal,
    }
}

/// Variables of the only entry become slots of its full row.
fn to_row_slots(expr: &mut Expr) {
    if let ExprKind::Variable(variable) = &expr.kind
        && variable.attribute >= 0
    {
        expr.kind = ExprKind::Column(variable.attribute as u32);
    }
    expr.for_each_child_mut(&mut to_row_slots);
}
