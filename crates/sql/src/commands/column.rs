//! A column as it is written, on its way to its descriptor.

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use plan::{Expr, ExprKind};
use schema::catalog::{ColumnDef, ColumnProperties, Identity, SequenceDef, TableDef};
use syntax::tree::{self, ColumnDefinition, Constraint, ConstraintAttribute, ConstraintKind, DefinitionElement, Name};
use types::{SqlType, TypeKind, Value, Volatility, oids};

use super::ddl::Ddl;
use super::index::is_system_column;
use super::{properties, sequence};
use planner::binder::{DefinitionUse, expression_columns, has_whole_row};
use planner::deparse::{NoNames, TableNames};

/// A column, and what its definition asks for beyond its descriptor.
pub(super) struct NewColumn {
    /// The descriptor; default, identity and generation are filled in once the whole table is known.
    pub def: ColumnDef,
    /// DEFAULT
    pub default: Option<tree::Expr>,
    /// GENERATED ALWAYS AS
    pub generated: Option<tree::Expr>,
    /// A sequence counts it: serial, or identity with ALWAYS and the sequence's options.
    pub counted: Option<Counted>,
    /// CHECK, PRIMARY KEY, UNIQUE and REFERENCES, as table constraints.
    pub constraints: Vec<Constraint>,
    /// COLLATE and COMPRESSION; its place is filled in where it has one.
    pub properties: ColumnProperties,
}

/// How a sequence counts a column.
pub(super) enum Counted {
    /// serial
    Serial,
    /// GENERATED ... AS IDENTITY
    Identity { always: bool, options: Vec<DefinitionElement> },
}

/// The integer type behind a serial type.
fn serial_type(name: &tree::TypeName) -> Option<Oid> {
    if name.schema.is_some() || name.percent_type {
        return None;
    }
    match name.name.as_str() {
        "smallserial" | "serial2" => Some(oids::INT2),
        "serial" | "serial4" => Some(oids::INT4),
        "bigserial" | "serial8" => Some(oids::INT8),
        _ => None,
    }
}

/// Reads a column's definition; `table` is the table's name.
pub(super) fn read(ddl: &Ddl<'_>, table: &str, column: &ColumnDefinition) -> Result<NewColumn> {
    let Some(type_name) = &column.type_name else {
        return Err(Error::internal(format!("column \"{}\" has no type", column.name)));
    };
    let serial = serial_type(type_name);
    let sql_type = match serial {
        Some(_) if type_name.array_dimensions > 0 => {
            return Err(ddl.at(Error::unsupported("array of serial is not implemented"), type_name.location));
        }
        Some(integer) => SqlType::new(integer),
        None if type_name.setof => {
            let message = format!("column \"{}\" cannot be declared SETOF", column.name);
            return Err(Error::new(sqlstate::INVALID_TABLE_DEFINITION, message));
        }
        None => ddl.usable_type(type_name)?,
    };
    check_name_and_type(ddl, &column.name, sql_type.oid)?;
    let properties = properties::of_definition(ddl, column, sql_type)?;
    let physical = types::physical_type(&ddl.view(), sql_type.oid);
    let mut def = ColumnDef::new(column.name.as_str(), sql_type.oid, physical);
    def.typmod = sql_type.typmod;
    def.not_null = serial.is_some();
    let mut new = NewColumn {
        def,
        default: None,
        generated: None,
        counted: serial.map(|_| Counted::Serial),
        constraints: Vec::new(),
        properties,
    };
    let constraints = with_attributes(ddl, &column.constraints)?;
    let mut nullability = serial.map(|_| true);
    for constraint in constraints {
        read_constraint(ddl, table, &column.name, &mut new, &mut nullability, constraint)?;
    }
    new.def.not_null = nullability == Some(true);
    Ok(new)
}

/// 42701 for a system column's name, 42P16 for a type that no column can have.
pub(super) fn check_name_and_type(ddl: &Ddl<'_>, name: &str, type_oid: Oid) -> Result<()> {
    if is_system_column(name) {
        let message = format!("column name \"{name}\" conflicts with a system column name");
        return Err(Error::new(sqlstate::DUPLICATE_COLUMN, message));
    }
    check_type(ddl, name, type_oid)
}

/// 42P16 for a type that no column can have.
pub(super) fn check_type(ddl: &Ddl<'_>, name: &str, type_oid: Oid) -> Result<()> {
    let view = ddl.view();
    let shape = types::type_shape(&view, type_oid).map(|shape| shape.kind);
    // Of the arrays of pseudo-types, `record[]` is a pseudo-type itself, and of `cstring[]` the elements are refused, as in PostgreSQL.
    if type_oid == oids::CSTRING_ARRAY {
        return check_type(ddl, name, oids::CSTRING);
    }
    let is_pseudo = matches!(shape, Some(TypeKind::Pseudo));
    if is_pseudo || matches!(type_oid, oids::UNKNOWN | oids::RECORD | oids::RECORD_ARRAY | oids::VOID) {
        let type_name = types::format_type_name(&view, type_oid);
        let message = format!("column \"{name}\" has pseudo-type {type_name}");
        return Err(Error::new(sqlstate::INVALID_TABLE_DEFINITION, message));
    }
    Ok(())
}

/// DEFERRABLE and its kin become part of the constraint they stand behind.
fn with_attributes(ddl: &Ddl<'_>, constraints: &[Constraint]) -> Result<Vec<Constraint>> {
    let mut out: Vec<Constraint> = Vec::with_capacity(constraints.len());
    let (mut saw_deferrable, mut saw_initially) = (false, false);
    for constraint in constraints {
        let ConstraintKind::Attribute(attribute) = &constraint.kind else {
            (saw_deferrable, saw_initially) = (false, false);
            out.push(constraint.clone());
            continue;
        };
        let complaint = |message: String| ddl.at(Error::new(sqlstate::SYNTAX_ERROR, message), constraint.location);
        let (words, is_first) = match attribute {
            ConstraintAttribute::Deferrable => ("DEFERRABLE", !saw_deferrable),
            ConstraintAttribute::NotDeferrable => ("NOT DEFERRABLE", !saw_deferrable),
            ConstraintAttribute::Deferred => ("INITIALLY DEFERRED", !saw_initially),
            ConstraintAttribute::Immediate => ("INITIALLY IMMEDIATE", !saw_initially),
        };
        let target = out.last_mut().filter(|target| {
            matches!(
                target.kind,
                ConstraintKind::PrimaryKey(_)
                    | ConstraintKind::Unique(_)
                    | ConstraintKind::ForeignKey(_)
                    | ConstraintKind::Exclusion
            )
        });
        let Some(target) = target else { return Err(complaint(format!("misplaced {words} clause"))) };
        if !is_first {
            let kind = if words.starts_with("INITIALLY") {
                "INITIALLY IMMEDIATE/DEFERRED"
            } else {
                "DEFERRABLE/NOT DEFERRABLE"
            };
            return Err(complaint(format!("multiple {kind} clauses not allowed")));
        }
        let contradiction = || complaint("constraint declared INITIALLY DEFERRED must be DEFERRABLE".to_owned());
        match attribute {
            ConstraintAttribute::Deferrable => {
                saw_deferrable = true;
                target.deferrable = true;
            }
            ConstraintAttribute::NotDeferrable => {
                saw_deferrable = true;
                if saw_initially && target.initially_deferred {
                    return Err(contradiction());
                }
                target.deferrable = false;
            }
            ConstraintAttribute::Deferred => {
                saw_initially = true;
                if saw_deferrable && !target.deferrable {
                    return Err(contradiction());
                }
                target.initially_deferred = true;
                target.deferrable = true;
            }
            ConstraintAttribute::Immediate => saw_initially = true,
        }
    }
    Ok(out)
}

fn read_constraint(
    ddl: &Ddl<'_>,
    table: &str,
    column: &Name,
    new: &mut NewColumn,
    nullability: &mut Option<bool>,
    mut constraint: Constraint,
) -> Result<()> {
    let location = constraint.location;
    let complaint = |message: String| {
        let message = format!("{message} for column \"{column}\" of table \"{table}\"");
        Err(ddl.at(Error::new(sqlstate::SYNTAX_ERROR, message), location))
    };
    let conflict = |wanted: bool, found: Option<bool>| found.is_some_and(|found| found != wanted);
    match &mut constraint.kind {
        ConstraintKind::Null => {
            if conflict(false, *nullability) {
                return complaint("conflicting NULL/NOT NULL declarations".to_owned());
            }
            *nullability = Some(false);
        }
        ConstraintKind::NotNull => {
            if conflict(true, *nullability) {
                return complaint("conflicting NULL/NOT NULL declarations".to_owned());
            }
            *nullability = Some(true);
        }
        ConstraintKind::Default(expr) => {
            if new.default.is_some() || matches!(new.counted, Some(Counted::Serial)) {
                return complaint("multiple default values specified".to_owned());
            }
            new.default = Some(expr.clone());
        }
        ConstraintKind::Identity { always, options } => {
            if new.counted.is_some() {
                return complaint("multiple identity specifications".to_owned());
            }
            if !matches!(new.def.type_oid, oids::INT2 | oids::INT4 | oids::INT8) {
                return Err(identity_type());
            }
            if conflict(true, *nullability) {
                return complaint("conflicting NULL/NOT NULL declarations".to_owned());
            }
            *nullability = Some(true);
            new.counted = Some(Counted::Identity { always: *always, options: std::mem::take(options) });
        }
        ConstraintKind::Generated(expr) => {
            if new.generated.is_some() {
                return complaint("multiple generation clauses specified".to_owned());
            }
            new.generated = Some(expr.clone());
        }
        ConstraintKind::PrimaryKey(key) => {
            if conflict(true, *nullability) {
                return complaint("conflicting NULL/NOT NULL declarations".to_owned());
            }
            key.columns = vec![column.clone()];
            new.constraints.push(constraint);
        }
        ConstraintKind::Unique(key) => {
            key.columns = vec![column.clone()];
            new.constraints.push(constraint);
        }
        ConstraintKind::ForeignKey(key) => {
            key.columns = vec![column.clone()];
            new.constraints.push(constraint);
        }
        ConstraintKind::Check(_) => new.constraints.push(constraint),
        ConstraintKind::Exclusion => {
            return Err(ddl.at(Error::unsupported("exclusion constraints are not supported"), location));
        }
        ConstraintKind::Attribute(_) => {}
    }
    let is_identity = matches!(new.counted, Some(Counted::Identity { .. }));
    if new.default.is_some() && is_identity {
        return complaint("both default and identity specified".to_owned());
    }
    if new.default.is_some() && new.generated.is_some() {
        return complaint("both default and generation expression specified".to_owned());
    }
    if is_identity && new.generated.is_some() {
        return complaint("both identity and generation expression specified".to_owned());
    }
    Ok(())
}

/// The error for an identity column that is no integer.
pub(super) fn identity_type() -> Error {
    Error::new(sqlstate::INVALID_PARAMETER_VALUE, "identity column type must be smallint, integer, or bigint")
}

/// The text of a default; none for NULL, which needs none, unless it takes the place of a domain's default.
pub(super) fn default_text(ddl: &Ddl<'_>, column: &ColumnDef, expr: &tree::Expr) -> Result<Option<String>> {
    let bound = bind_default(ddl, column, expr)?;
    let sql_type = SqlType::with_typmod(column.type_oid, column.typmod);
    let is_of_domain = types::base_type(&ddl.view(), sql_type).oid != sql_type.oid;
    (is_of_domain || !is_null(&bound)).then(|| ddl.to_store(&bound, &NoNames)).transpose()
}

/// A default, coerced to its column's type.
pub(super) fn bind_default(ddl: &Ddl<'_>, column: &ColumnDef, expr: &tree::Expr) -> Result<Expr> {
    let sql_type = SqlType::with_typmod(column.type_oid, column.typmod);
    ddl.expression(None, expr, DefinitionUse::Default { column: &column.name, sql_type })
}

/// Whether a default is NULL and nothing else. A NULL with a length, as in `NULL::numeric(6,2)`, is a default that is kept, as in PostgreSQL.
fn is_null(expr: &Expr) -> bool {
    let has_length = expr.sql_type.typmod >= 0 && expr.sql_type.oid != oids::INTERVAL;
    matches!(&expr.kind, ExprKind::Constant(Value::Null)) && !has_length
}

/// The text of a generated column's expression; `table` holds all columns, those that are generated marked.
pub(super) fn generated_text(ddl: &Ddl<'_>, table: &Arc<TableDef>, place: usize, expr: &tree::Expr) -> Result<String> {
    // As in PostgreSQL, only the expression must be immutable, not its conversion to the column's type. So the expression is bound without the
    // conversion first.
    let bound = ddl.expression(Some(table), expr, DefinitionUse::GeneratedBeforeCast)?;
    if has_whole_row(&bound, table) {
        let message = "cannot use whole-row variable in column generation expression";
        let error = Error::new(sqlstate::INVALID_OBJECT_DEFINITION, message)
            .detail("This would cause the generated column to depend on its own value.");
        return Err(ddl.at(error, expr.location));
    }
    let other = expression_columns(&bound).into_iter().find(|place| table.columns[*place].generated.is_some());
    if let Some(other) = other {
        let name = &table.columns[other].name;
        let message = format!("cannot use generated column \"{name}\" in column generation expression");
        let error = Error::new(sqlstate::INVALID_OBJECT_DEFINITION, message)
            .detail("A generated column cannot reference another generated column.");
        return Err(ddl.at(error, expr.location));
    }
    if ddl.planned_volatility(&bound)? != Volatility::Immutable {
        return Err(Error::new(sqlstate::INVALID_OBJECT_DEFINITION, "generation expression is not immutable"));
    }
    let column = &table.columns[place];
    let sql_type = SqlType::with_typmod(column.type_oid, column.typmod);
    let bound = ddl.expression(Some(table), expr, DefinitionUse::Generated { column: &column.name, sql_type })?;
    ddl.to_store(&bound, &TableNames(table))
}

/// The sequence of a column that counts, and the column's default or identity by it.
pub(super) fn count(
    ddl: &mut Ddl<'_>,
    table: &mut TableDef,
    place: usize,
    counted: &Counted,
    taken: &[String],
    statement: &str,
) -> Result<SequenceDef> {
    let type_oid = table.columns[place].type_oid;
    let no_options: &[DefinitionElement] = &[];
    let options = match counted {
        Counted::Serial => no_options,
        Counted::Identity { options, .. } => options,
    };
    let sequence = sequence::for_column(ddl, table, place, type_oid, options, taken)?;
    ddl.tell_implicit(|| {
        let (name, table, column) = (&sequence.name, &table.name, &table.columns[place].name);
        format!("{statement} will create implicit sequence \"{name}\" for serial column \"{table}.{column}\"")
    });
    match counted {
        Counted::Serial => {
            let schema = types::reg_types::quote_identifier(&ddl.view().schema_name(sequence.schema));
            let name = types::reg_types::quote_identifier(&sequence.name);
            let literal = types::reg_types::quote_literal(&format!("{schema}.{name}"));
            table.columns[place].default = Some(format!("nextval({literal}::regclass)"));
        }
        Counted::Identity { always, .. } => {
            table.columns[place].identity = Some(Identity { always: *always, sequence: sequence.oid });
        }
    }
    Ok(sequence)
}

/// Marks a column as generated before its expression is known.
pub(super) fn mark_generated(column: &mut ColumnDef) {
    column.generated = Some(String::new());
}
