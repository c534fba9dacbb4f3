//! Whether rows within values have the fields that their types have now.
//!
//! A value of a row type has the fields that the type had when the value was made. A function can change the type while it holds the
//! value in a variable. Stored rows have to be as long as their type is, so such a value must not be stored.

use base::{Error, Oid, Result, sqlstate};
use bumpalo::Bump;
use engine::catalog::TableDef;

use super::{CatalogLookup, StorageKind, Value, composite_shape, format_type_name, oids};

/// The columns of a table whose values have rows of named types in them. Most tables have none.
pub struct RowColumns(Vec<(usize, String, Shape)>);

/// The form that a value must have.
enum Shape {
    /// A row. For each field its kind, and its shape if it has rows in it.
    Row(Vec<(StorageKind, Option<Shape>)>),
    /// An array of such elements.
    Array(Box<Shape>),
}

impl RowColumns {
    /// The columns of `table`, which are of these kinds, as their types are now.
    pub fn of(catalog: &dyn CatalogLookup, table: &TableDef, kinds: &[StorageKind]) -> RowColumns {
        let columns = table.columns.iter().zip(kinds).enumerate().filter(|(_, (column, _))| !column.dropped);
        let may_have_rows = |kind: &StorageKind| matches!(kind, StorageKind::Record(_) | StorageKind::Array(_));
        let candidates = columns.filter(|(_, (_, kind))| may_have_rows(kind));
        let shaped = candidates.filter_map(|(place, (column, _))| {
            let shape = Shape::of(catalog, column.type_oid)?;
            Some((place, format_type_name(catalog, column.type_oid), shape))
        });
        RowColumns(shaped.collect())
    }

    /// Checks a full row that is going to be stored.
    ///
    /// # Errors
    /// 55000 for a row whose type has been changed since it was made; interrupts.
    pub fn check(&self, row: &[Value]) -> Result<()> {
        self.0.iter().try_for_each(|(place, _, _)| self.check_one(*place, &row[*place]))
    }

    /// Checks the value of one column.
    ///
    /// # Errors
    /// As [`RowColumns::check`].
    pub fn check_one(&self, column: usize, value: &Value) -> Result<()> {
        let Some((_, name, shape)) = self.0.iter().find(|(place, _, _)| *place == column) else { return Ok(()) };
        if shape.fits(value)? {
            return Ok(());
        }
        let message = format!("cannot store a value of type {name} that is older than a change of a type in it");
        Err(Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .hint("Make the value again after the change."))
    }
}

impl Shape {
    fn of(catalog: &dyn CatalogLookup, oid: Oid) -> Option<Shape> {
        match StorageKind::of(catalog, oid) {
            StorageKind::Record(row_type) if row_type != oids::RECORD => {
                let shape = composite_shape(catalog, row_type)?;
                let field = |oid: Oid| (StorageKind::of(catalog, oid), Shape::of(catalog, oid));
                Some(Shape::Row(shape.fields.iter().map(|(_, sql_type)| field(sql_type.oid)).collect()))
            }
            StorageKind::Array(element) => Some(Shape::Array(Box::new(Shape::of(catalog, element)?))),
            _ => None,
        }
    }

    fn fits(&self, value: &Value) -> Result<bool> {
        sync::yield_point()?;
        match (self, value) {
            (_, Value::Null) => Ok(true),
            (Shape::Row(fields), Value::Record(record)) => {
                if fields.len() != record.fields.len() {
                    return Ok(false);
                }
                for ((kind, shape), value) in fields.iter().zip(&record.fields) {
                    let fits = match shape {
                        Some(shape) => shape.fits(value)?,
                        None => is_readable(*kind, value),
                    };
                    if !fits {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Shape::Array(element), Value::Array(array)) => {
                for value in &array.values {
                    if !element.fits(value)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

/// Whether a value without rows in it is read as the same type as it is stored.
fn is_readable(kind: StorageKind, value: &Value) -> bool {
    match value {
        // These are written with what they are.
        Value::Array(_) => matches!(kind, StorageKind::Array(_)),
        Value::Record(_) => matches!(kind, StorageKind::Record(_)),
        value => kind.read(kind.write(value, &Bump::new())).is_ok(),
    }
}
