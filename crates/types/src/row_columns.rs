//! Whether rows within values have the fields that their types have now.
//!
//! A value of a row type has the fields that the type had when the value was made. A function can change the type while it holds the
//! value in a variable. Stored rows have to be as long as their type is, so such a value must not be stored.

use base::{Error, Oid, Result, sqlstate};
use schema::catalog::TableDef;

use super::{CatalogLookup, StorageKind, Value, composite_shape, format_type_name, oids};

/// The columns of a table that are rows or arrays, with their types. Most tables have none.
pub struct RowColumns(Vec<(usize, Oid)>);

impl RowColumns {
    /// The columns of `table`, which are of these kinds.
    pub fn of(table: &TableDef, kinds: &[StorageKind]) -> RowColumns {
        let columns = table.columns.iter().zip(kinds).enumerate().filter(|(_, (column, _))| !column.dropped);
        let may_have_rows = |kind: &StorageKind| matches!(kind, StorageKind::Record(_) | StorageKind::Array(_));
        let found = columns.filter(|(_, (_, kind))| may_have_rows(kind));
        RowColumns(found.map(|(place, (column, _))| (place, column.type_oid)).collect())
    }

    /// Checks a full row that is going to be stored.
    ///
    /// # Errors
    /// 55000 for a row whose type has been changed since it was made; interrupts.
    #[inline]
    pub fn check(&self, row: &[Value], catalog: &dyn CatalogLookup) -> Result<()> {
        self.0.iter().try_for_each(|(place, type_oid)| check_value(&row[*place], *type_oid, catalog))
    }

    /// Checks the value of one column.
    ///
    /// # Errors
    /// As [`RowColumns::check`].
    #[inline]
    pub fn check_one(&self, column: usize, value: &Value, catalog: &dyn CatalogLookup) -> Result<()> {
        let mut found = self.0.iter().filter(|(place, _)| *place == column);
        found.try_for_each(|(_, type_oid)| check_value(value, *type_oid, catalog))
    }
}

fn check_value(value: &Value, type_oid: Oid, catalog: &dyn CatalogLookup) -> Result<()> {
    if fits(value, StorageKind::of(catalog, type_oid), catalog)? {
        return Ok(());
    }
    let shown = format_type_name(catalog, type_oid);
    let message = format!("cannot store a value of type {shown} because a type was changed after the value was made");
    Err(Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message).hint("Make the value again after the change."))
}

/// Whether a value is one of a type of this kind, and so are the values in it. Types without rows are looked at once for each array.
fn fits(value: &Value, kind: StorageKind, catalog: &dyn CatalogLookup) -> Result<bool> {
    match (value, kind) {
        (Value::Record(record), StorageKind::Record(row_type)) if row_type != oids::RECORD => {
            sync::yield_point()?;
            let Some(shape) = composite_shape(catalog, row_type) else { return Ok(false) };
            if shape.fields.len() != record.fields.len() {
                return Ok(false);
            }
            for ((_, sql_type), value) in shape.fields.iter().zip(&record.fields) {
                if !fits(value, StorageKind::of(catalog, sql_type.oid), catalog)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Array(array), StorageKind::Array(element)) => {
            let element = StorageKind::of(catalog, element);
            let has_rows = matches!(element, StorageKind::Record(_) | StorageKind::Array(_));
            let looked_at = if has_rows { array.values.len() } else { 1 };
            for value in array.values.iter().filter(|value| !value.is_null()).take(looked_at) {
                if !fits(value, element, catalog)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (value, kind) => Ok(kind.takes(value)),
    }
}
