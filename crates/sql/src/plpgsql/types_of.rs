//! The types that declarations name.

use std::sync::Arc;

use base::{Result, missing};
use plan::user_types::composite_shape;
use types::{CatalogLookup, RecordShape};

use super::compile::kind_of;
use super::parse::{Parser, folded};
use super::tree::{RowType, VariableKind, find_variable};

/// See the module.
pub trait Declared {
    /// The type that a text names: `%TYPE` and `%ROWTYPE` too.
    fn declared_type(&mut self, written: &str) -> Result<VariableKind>;
}

impl Declared for Parser<'_> {
    fn declared_type(&mut self, written: &str) -> Result<VariableKind> {
        let written = written.trim();
        if let Some((name, suffix)) = written.rsplit_once('%') {
            let parts: Vec<String> = name.trim().split('.').map(|part| folded(part.trim())).collect();
            match suffix.trim().to_ascii_lowercase().as_str() {
                "rowtype" => return self.row_type(&parts),
                "type" => return self.type_of(&parts),
                _ => {}
            }
        }
        if written.eq_ignore_ascii_case("record") {
            return Ok(VariableKind::Record(None));
        }
        let sql_type = types::parse_type_name(self.catalog, written).map_err(|mut error| {
            error.fields_mut().position = None;
            error
        })?;
        self.warnings.extend(types::precision_warning_of(self.catalog, written));
        Ok(kind_of(sql_type, self.catalog))
    }
}

impl Parser<'_> {
    fn row_type(&self, parts: &[String]) -> Result<VariableKind> {
        Ok(VariableKind::Record(Some(RowType { shape: self.row_shape(parts)?, domain: None })))
    }

    fn type_of(&self, parts: &[String]) -> Result<VariableKind> {
        if let [name] = parts
            && let Some(place) = find_variable(&self.scopes, self.scope, name)
        {
            return Ok(self.variables[place].kind.clone());
        }
        let Some((column, table)) = parts.split_last().filter(|(_, table)| !table.is_empty()) else {
            return Err(missing::data_type(parts.join(".")));
        };
        // A field of a variable.
        if let [record] = table
            && let Some(place) = find_variable(&self.scopes, self.scope, record)
            && let VariableKind::Record(Some(row)) = &self.variables[place].kind
            && let Some((_, sql_type)) = row.shape.fields.iter().find(|(name, _)| name == column)
        {
            return Ok(kind_of(*sql_type, self.catalog));
        }
        let shape = self.row_shape(table)?;
        let found = shape.fields.iter().find(|(name, _)| name == column).ok_or_else(|| {
            let relation = &table[table.len() - 1];
            missing::column_of_relation(column, relation)
        })?;
        Ok(kind_of(found.1, self.catalog))
    }

    /// The columns of a table, a view or a composite type.
    fn row_shape(&self, parts: &[String]) -> Result<Arc<RecordShape>> {
        let (schema, name) = match parts {
            [schema, name] => (Some(schema.as_str()), name),
            _ => (None, &parts[parts.len() - 1]),
        };
        if let Some(schema) = schema {
            self.catalog.require_usage(schema)?;
        }
        let found = match self.catalog.relation_or_type(schema, name) {
            Some(Ok(schema::catalog::Relation::Table(table))) => Some(RecordShape::of_table(table)),
            Some(Err(composite)) => composite_shape(composite).map(Arc::new),
            _ => self.catalog.system_table(schema, name).map(|table| {
                let fields = table.columns.iter().map(|column| (column.name.to_string(), column.sql_type));
                Arc::new(RecordShape::without_type(fields.collect()))
            }),
        };
        found.ok_or_else(|| missing::relation(parts.join(".")))
    }
}
