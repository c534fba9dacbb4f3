//! Whether rows within values have the fields that their types have now.
//!
//! A value of a row type has the fields that the type had when the value was made. A function can change the type while it holds the
//! value in a variable. Stored rows have to be as long as their type is, so such a value must not be stored.

use base::{Error, Oid, Result, sqlstate};
use engine::catalog::TableDef;

use super::{CatalogLookup, StorageKind, Value, composite_shape, format_type_name, oids};

/// The columns of a table whose values contain rows of a composite type. Most tables have none.
pub struct RowColumns(Vec<RowColumn>);

struct RowColumn {
    place: usize,
    type_name: String,
    form: Form,
}

/// The form that a value must have.
enum Form {
    /// Neither a row nor an array.
    Plain(StorageKind),
    /// A row with such fields.
    Row(Vec<Form>),
    /// An array of such elements.
    Array(Box<Form>),
}

impl RowColumns {
    /// The columns of `table`, which are of these kinds, as their types are now.
    pub fn of(catalog: &dyn CatalogLookup, table: &TableDef, kinds: &[StorageKind]) -> RowColumns {
        let columns = table.columns.iter().zip(kinds).enumerate().filter(|(_, (column, _))| !column.dropped);
        let may_have_rows = |kind: &StorageKind| matches!(kind, StorageKind::Record(_) | StorageKind::Array(_));
        let candidates = columns.filter(|(_, (_, kind))| may_have_rows(kind));
        let found = candidates.filter_map(|(place, (column, _))| {
            let form = Form::of(catalog, column.type_oid);
            let type_name = || format_type_name(catalog, column.type_oid);
            form.has_row().then(|| RowColumn { place, type_name: type_name(), form })
        });
        RowColumns(found.collect())
    }

    /// Checks a full row that is going to be stored.
    ///
    /// # Errors
    /// 55000 for a row whose type has been changed since it was made; interrupts.
    pub fn check(&self, row: &[Value]) -> Result<()> {
        self.0.iter().try_for_each(|column| column.check(&row[column.place]))
    }

    /// Checks the value of one column.
    ///
    /// # Errors
    /// As [`RowColumns::check`].
    pub fn check_one(&self, place: usize, value: &Value) -> Result<()> {
        self.0.iter().filter(|column| column.place == place).try_for_each(|column| column.check(value))
    }
}

impl RowColumn {
    fn check(&self, value: &Value) -> Result<()> {
        if self.form.fits(value)? {
            return Ok(());
        }
        let message = format!(
            "cannot store a value of type {} because a type was changed after the value was made",
            self.type_name
        );
        Err(Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .hint("Make the value again after the change."))
    }
}

impl Form {
    fn of(catalog: &dyn CatalogLookup, oid: Oid) -> Form {
        match StorageKind::of(catalog, oid) {
            StorageKind::Record(row_type) if row_type != oids::RECORD => {
                let shape = composite_shape(catalog, row_type);
                let fields = shape.iter().flat_map(|shape| &shape.fields);
                Form::Row(fields.map(|(_, sql_type)| Form::of(catalog, sql_type.oid)).collect())
            }
            StorageKind::Array(element) => Form::Array(Box::new(Form::of(catalog, element))),
            plain => Form::Plain(plain),
        }
    }

    fn has_row(&self) -> bool {
        match self {
            Form::Plain(_) => false,
            Form::Row(_) => true,
            Form::Array(element) => element.has_row(),
        }
    }

    fn fits(&self, value: &Value) -> Result<bool> {
        sync::yield_point()?;
        match (self, value) {
            (_, Value::Null) => Ok(true),
            (Form::Plain(kind), value) => Ok(kind.takes(value)),
            (Form::Row(fields), Value::Record(record)) => {
                if fields.len() != record.fields.len() {
                    return Ok(false);
                }
                for (form, value) in fields.iter().zip(&record.fields) {
                    if !form.fits(value)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            // Elements that are no rows are all of one type.
            (Form::Array(element), Value::Array(array)) if !element.has_row() => {
                array.values.iter().find(|value| !value.is_null()).map_or(Ok(true), |first| element.fits(first))
            }
            (Form::Array(element), Value::Array(array)) => {
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
