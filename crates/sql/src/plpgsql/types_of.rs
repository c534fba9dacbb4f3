//! The types that declarations name.

use std::sync::Arc;

use base::{Error, Result, sqlstate};
use schema::catalog::TableDef;
use types::{RecordShape, SqlType};

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
        let table = self.table(parts)?;
        Ok(VariableKind::Record(Some(RowType { shape: RecordShape::of_table(&table), domain: None })))
    }

    fn type_of(&self, parts: &[String]) -> Result<VariableKind> {
        if let [name] = parts
            && let Some(place) = find_variable(&self.scopes, self.scope, name)
        {
            return Ok(self.variables[place].kind.clone());
        }
        let Some((column, table)) = parts.split_last().filter(|(_, table)| !table.is_empty()) else {
            let message = format!("type \"{}\" does not exist", parts.join("."));
            return Err(Error::new(sqlstate::UNDEFINED_OBJECT, message));
        };
        // A field of a variable.
        if let [record] = table
            && let Some(place) = find_variable(&self.scopes, self.scope, record)
            && let VariableKind::Record(Some(row)) = &self.variables[place].kind
            && let Some((_, sql_type)) = row.shape.fields.iter().find(|(name, _)| name == column)
        {
            return Ok(kind_of(*sql_type, self.catalog));
        }
        let table = self.table(table)?;
        let found = table.columns.iter().find(|def| def.name == *column && !def.dropped).ok_or_else(|| {
            let message = format!("column \"{column}\" of relation \"{}\" does not exist", table.name);
            Error::new(sqlstate::UNDEFINED_COLUMN, message)
        })?;
        Ok(kind_of(SqlType::with_typmod(found.type_oid, found.typmod), self.catalog))
    }

    fn table(&self, parts: &[String]) -> Result<Arc<TableDef>> {
        let (schema, name) = match parts {
            [schema, name] => (Some(schema.as_str()), name),
            _ => (None, &parts[parts.len() - 1]),
        };
        match self.catalog.relation(schema, name) {
            Some(schema::catalog::Relation::Table(table)) => Ok(Arc::clone(table)),
            _ => {
                let message = format!("relation \"{}\" does not exist", parts.join("."));
                Err(Error::new(sqlstate::UNDEFINED_TABLE, message))
            }
        }
    }
}
