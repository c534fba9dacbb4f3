//! Type names.

use base::{Oid, Result, missing, sqlstate};
use plan::privileges::Privileges;
use syntax::tree::{Expr, ExprKind, Literal, Location, Name, TypeName};
use types::SqlType;

use super::Binder;
use super::scope::JoinWithDots;
use super::table::FoundRelation;

impl Binder<'_, '_> {
    /// The type that a name stands for: 42704 if there is none.
    pub(super) fn type_of(&mut self, name: &TypeName) -> Result<SqlType> {
        if name.setof {
            let message = format!("type \"{}\" cannot be SETOF here", name.name);
            return Err(self.error(sqlstate::INVALID_FUNCTION_DEFINITION, message, name.location));
        }
        let known = self.earlier().and_then(|earlier| earlier.type_named(name.location));
        if let Some(known) = known.filter(|known| types::type_shape(self.context.lookup, known.oid).is_some()) {
            self.context.meaning.note_type(name.location, known);
            return Ok(known);
        }
        let found = self.type_written(name)?;
        if !self.text_is_foreign {
            self.context.meaning.note_type(name.location, found);
        }
        Ok(found)
    }

    fn type_written(&mut self, name: &TypeName) -> Result<SqlType> {
        let element = if name.percent_type { self.column_type(name)? } else { self.plain_type(name)? };
        if name.array_dimensions == 0 {
            return Ok(element);
        }
        match types::array_type(self.context.lookup, element.oid) {
            Some(array) => Ok(SqlType::with_typmod(array, element.typmod)),
            None => {
                let element = types::format_type_name(self.context.lookup, element.oid);
                let message = format!("could not find array type for data type {element}");
                Err(self.error(sqlstate::UNDEFINED_OBJECT, message, name.location))
            }
        }
    }

    fn plain_type(&mut self, name: &TypeName) -> Result<SqlType> {
        self.check_schema(name.schema.as_deref(), name.location)?;
        if let Some(schema) = name.schema.as_deref().filter(|_| !self.is_of_stored_text())
            && let Some(schema) = self.schema_named(schema)
            && !self.context.catalog.is_temporary(schema)
        {
            self.needs(schema, Privileges::USAGE);
        }
        let oid =
            types::resolve_type_name(self.context.lookup, name.schema.as_deref(), &name.name).map_err(|error| {
                match error.message().strip_suffix("\" does not exist") {
                    Some(start) if name.array_dimensions > 0 && error.sqlstate() == sqlstate::UNDEFINED_OBJECT => {
                        self.error(error.sqlstate(), format!("{start}[]\" does not exist"), name.location)
                    }
                    _ => self.at(error, name.location),
                }
            })?;
        if name.modifiers.is_empty() {
            return Ok(SqlType::new(oid));
        }
        let modifiers = name.modifiers.iter().map(|modifier| self.modifier(modifier)).collect::<Result<Vec<_>>>()?;
        let typmod = types::encode_typmod(oid, &modifiers).map_err(|error| self.at(error, name.location))?;
        self.warn_of_precision(oid, &modifiers, name.location);
        Ok(SqlType::with_typmod(oid, typmod))
    }

    /// Warns that a type keeps fewer digits of seconds than the statement asks for. A view or a default gave this warning when it was
    /// made, and does not repeat it. A plan with a warning is not cached, so that every use of the text gives the warning.
    pub(super) fn warn_of_precision(&mut self, oid: Oid, modifiers: &[i32], location: Location) {
        if let Some(warning) = types::precision_warning(oid, modifiers).filter(|_| !self.text_is_foreign) {
            let warning = self.at(warning, location);
            self.context.eval.warn(warning);
            self.depends_on_settings = true;
        }
    }

    fn modifier(&self, modifier: &Expr) -> Result<i32> {
        match &modifier.kind {
            ExprKind::Literal(Literal::Integer(value)) => Ok(*value),
            // A minus sign is an operator to the grammar.
            ExprKind::Operator { operator, left: None, right } if operator.name == "-" => Ok(-self.modifier(right)?),
            ExprKind::Literal(Literal::String(text)) | ExprKind::Literal(Literal::Number(text)) => {
                text.parse().map_err(|_| {
                    let message = format!("invalid input syntax for type integer: \"{text}\"");
                    self.error(sqlstate::INVALID_TEXT_REPRESENTATION, message, modifier.location)
                })
            }
            _ => Err(self.error(
                sqlstate::SYNTAX_ERROR,
                "type modifiers must be simple constants or identifiers",
                modifier.location,
            )),
        }
    }

    /// `table.column%TYPE`
    fn column_type(&mut self, name: &TypeName) -> Result<SqlType> {
        let parts = name.name.split('.').map(Name::new).collect::<Vec<_>>();
        let [schema @ .., table, column] = parts.as_slice() else {
            let message = format!("improper %TYPE reference (too few dotted names): {}", name.name);
            return Err(self.error(sqlstate::SYNTAX_ERROR, message, name.location));
        };
        let found = self.relation_named(schema.last(), table, name.location)?;
        let column_type = match found {
            Some(FoundRelation::Composite(_)) => self.field_type(schema.last(), table, column),
            found => found.and_then(|found| found.column_type(column)),
        };
        column_type.ok_or_else(|| {
            let table = parts[..parts.len() - 1].join_with_dots();
            self.at(missing::column_of_relation(column, table), name.location)
        })
    }

    /// The type of a composite type's field.
    fn field_type(&self, schema: Option<&Name>, type_name: &Name, field: &Name) -> Option<SqlType> {
        let lookup = self.context.lookup;
        let oid = types::type_named(lookup, schema.map(|schema| &**schema), type_name)?;
        let shape = types::composite_shape(lookup, oid)?;
        shape.fields.iter().find(|(name, _)| *field == **name).map(|(_, sql_type)| *sql_type)
    }

    /// The type's name in messages.
    pub(super) fn type_name(&self, oid: Oid) -> String {
        types::format_type_name(self.context.lookup, oid)
    }
}
