//! Rows of a composite type, or of a table's row type, in tables and stored texts, when the type gains or loses a column.
//!
//! A stored row of a composite type is as long as the type was when it was written. So the tables that hold such rows are
//! written anew, each with the rows that are there made as the type is now. Stored texts give the fields of a row in order, as in
//! `ROW(1, 2)::pair` and `'(1,2)'::pair`; those that give a field which is dropped are written again without it.

use std::sync::Arc;

use base::lock_mode::LockMode;
use base::{Error, Oid, Result};
use plan::bound::for_each_inner_mut;
use plan::user_types::element_of_array;
use plan::{CatalogView, Expr, ExprKind};
use schema::catalog::TableDef;
use types::context::UserTypeKind;
use types::{CatalogLookup, RecordShape, SqlType, Value};

use super::ddl::Ddl;
use super::rewrite::rewrite;
use super::user_type::users_of_type;

/// A change of the columns of a row type.
#[derive(Debug, Clone)]
pub(super) enum Reshaping {
    /// A column is added at the end.
    Added(String, SqlType),
    /// The column at this place is dropped.
    Dropped(usize),
}

/// The place of a field that stays, after the fields before it have changed.
fn place_after(place: usize, changes: &[Reshaping]) -> usize {
    changes.iter().fold(place, |place, change| match change {
        Reshaping::Dropped(dropped) if *dropped < place => place - 1,
        _ => place,
    })
}

/// Before a row type changes: the tables that hold rows of it.
pub(super) struct Stored {
    type_oid: Oid,
    /// The catalog before the change, with the fields and elements that types had then.
    view: CatalogView,
    tables: Vec<(Oid, Vec<usize>)>,
}

impl Stored {
    /// Finds and locks them.
    ///
    /// # Errors
    /// 55006 if the session itself is using one of them: its statements and cursors hold rows with the old columns.
    pub(super) fn of(ddl: &Ddl<'_>, type_oid: Oid) -> Result<Stored> {
        let view = ddl.view();
        let storing = || {
            let catalog = ddl.catalog();
            let mut tables = Vec::new();
            for table in catalog.tables().filter(|table| table.kind.has_storage()) {
                let columns = table.columns.iter().enumerate().filter(|(_, column)| !column.dropped);
                let holding = columns.filter(|(_, column)| holds(&view, column.type_oid, type_oid));
                let places: Vec<usize> = holding.map(|(place, _)| place).collect();
                if !places.is_empty() {
                    tables.push((table.oid, places));
                }
            }
            tables
        };
        for (table, _) in storing() {
            ddl.lock(table, LockMode::AccessExclusive)?;
        }
        // Others may have dropped tables and columns meanwhile, but made none: they would have to hold the type.
        let (catalog, tables) = (ddl.catalog(), storing());
        let statement = if catalog.table(type_oid).is_some() { "ALTER TABLE" } else { "ALTER TYPE" };
        for (table, _) in &tables {
            if let Some(def) = catalog.table(*table).filter(|def| def.oid != type_oid) {
                ddl.state.check_not_in_use(*table, statement, &def.name)?;
            }
        }
        Ok(Stored { type_oid, view, tables })
    }

    /// The row type.
    pub(super) fn type_oid(&self) -> Oid {
        self.type_oid
    }

    /// Changes the rows of the type in a bound expression, its subqueries included. Returns whether its text must be written again.
    pub(super) fn reshape_expr(&self, expr: &mut Expr, changes: &[Reshaping]) -> bool {
        let mut has_rows = false;
        for_each_inner_mut(expr, 0, &mut |inner, _| has_rows |= self.reshape_node(inner, changes));
        has_rows
    }

    /// The same for one expression, without those in it.
    fn reshape_node(&self, expr: &mut Expr, changes: &[Reshaping]) -> bool {
        match &mut expr.kind {
            ExprKind::Constant(value) => self.reshape_constant(value, expr.sql_type.oid, changes),
            ExprKind::Row { fields, shape, .. } if shape.type_oid == self.type_oid => {
                // A field that the text leaves out is NULL, so added fields need no change of the text.
                let count = fields.len();
                for change in changes {
                    if let Reshaping::Dropped(place) = change
                        && *place < fields.len()
                    {
                        fields.remove(*place);
                        Arc::make_mut(shape).remove(*place);
                    }
                }
                fields.len() < count
            }
            ExprKind::Field(access) if under(&self.view, access.input.sql_type.oid) == self.type_oid => {
                access.field = place_after(access.field as usize, changes) as u32;
                true
            }
            _ => false,
        }
    }

    /// Changes the rows of the type in a constant. Returns whether there are any.
    pub(super) fn reshape_constant(&self, value: &mut Value, type_oid: Oid, changes: &[Reshaping]) -> bool {
        if value.is_null() || !holds(&self.view, type_oid, self.type_oid) {
            return false;
        }
        let old = std::mem::replace(value, Value::Null);
        *value = self.value(old, type_oid, changes);
        true
    }

    /// The place of the field that was at `place` of a row of type `type_oid`. Must not be called for a dropped field.
    pub(super) fn reshape_field(&self, type_oid: Oid, place: usize, changes: &[Reshaping]) -> usize {
        if under(&self.view, type_oid) == self.type_oid { place_after(place, changes) } else { place }
    }

    /// Makes the rows that are there as the type is now, after these changes.
    pub(super) fn reshape(self, ddl: &mut Ddl<'_>, changes: &[Reshaping]) -> Result<()> {
        for (oid, places) in &self.tables {
            let open = ddl.open(*oid)?;
            if changes.is_empty() || open.block_count()? == 0 {
                continue;
            }
            let def = Arc::clone(&open.def);
            let new = TableDef::clone(&*ddl.table(*oid)?);
            rewrite(ddl, &open, new, &mut |_, row| {
                let mut row = row.to_vec();
                for place in places {
                    let value = std::mem::replace(&mut row[*place], Value::Null);
                    row[*place] = self.value(value, def.columns[*place].type_oid, changes);
                }
                Ok(row)
            })?;
        }
        Ok(())
    }

    /// A value of a type as that type is now.
    fn value(&self, value: Value, type_oid: Oid, changes: &[Reshaping]) -> Value {
        if !holds(&self.view, type_oid, self.type_oid) {
            return value;
        }
        match value {
            Value::Array(array) => {
                let mut array = Arc::unwrap_or_clone(array);
                let element = element_of_array(under(&self.view, type_oid)).unwrap_or(array.element);
                let values = std::mem::take(&mut array.values).into_iter();
                array.values = values.map(|value| self.value(value, element, changes)).collect();
                Value::Array(Arc::new(array))
            }
            Value::Record(record) => {
                let mut record = Arc::unwrap_or_clone(record);
                let row_type = under(&self.view, type_oid);
                let fields = fields_of(&self.view, row_type);
                for (place, field) in record.fields.iter_mut().enumerate() {
                    let of = fields.as_ref().and_then(|shape| shape.fields.get(place));
                    if let Some((_, sql_type)) = of {
                        let inner = std::mem::replace(field, Value::Null);
                        *field = self.value(inner, sql_type.oid, changes);
                    }
                }
                if row_type == self.type_oid {
                    let mut shape = RecordShape::clone(&record.shape);
                    // The new numbers are not known here.
                    shape.attributes.clear();
                    for change in changes {
                        match change {
                            Reshaping::Added(name, sql_type) => {
                                shape.fields.push((name.clone(), *sql_type));
                                record.fields.push(Value::Null);
                            }
                            Reshaping::Dropped(place) if *place < record.fields.len() => {
                                shape.remove(*place);
                                record.fields.remove(*place);
                            }
                            Reshaping::Dropped(_) => {}
                        }
                    }
                    record.shape = Arc::new(shape);
                }
                Value::Record(Arc::new(record))
            }
            other => other,
        }
    }
}

/// The type below domains.
fn under(view: &CatalogView, mut oid: Oid) -> Oid {
    while let Some(found) = view.user_type(oid) {
        match &found.kind {
            UserTypeKind::Domain(base) => oid = base.oid,
            _ => break,
        }
    }
    oid
}

/// The fields of a row type.
fn fields_of(view: &CatalogView, oid: Oid) -> Option<Arc<RecordShape>> {
    match &view.user_type(oid)?.kind {
        UserTypeKind::Composite(shape) => Some(Arc::clone(shape)),
        _ => None,
    }
}

/// The row types that values of type `oid` have rows of, however deep; a row type itself among them.
pub(super) fn row_types_in(view: &CatalogView, oid: Oid) -> Vec<Oid> {
    /// `seen`: the types that have been looked at, of which one might name another in a circle.
    fn look(view: &CatalogView, oid: Oid, seen: &mut Vec<Oid>) {
        if oid < Oid::FIRST_NORMAL {
            return;
        }
        let oid = under(view, oid);
        if let Some(element) = element_of_array(oid) {
            return look(view, element, seen);
        }
        if let Some(shape) = fields_of(view, oid).filter(|_| !seen.contains(&oid)) {
            seen.push(oid);
            shape.fields.iter().for_each(|(_, field)| look(view, field.oid, seen));
        }
    }
    let mut seen = Vec::new();
    look(view, oid, &mut seen);
    seen
}

/// Whether values of type `oid` have rows of the row type `wanted` in them.
fn holds(view: &CatalogView, oid: Oid, wanted: Oid) -> bool {
    row_types_in(view, oid).contains(&wanted)
}

/// The first column, as `t.c`, in which a table stores values of the type, also inside arrays, rows and domains. The order of the search is
/// PostgreSQL's.
pub(super) fn storing_column(ddl: &Ddl<'_>, type_oid: Oid) -> Result<Option<String>> {
    find_column_storing(ddl, type_oid, &mut Vec::new())
}

/// `seen`: types that have been searched; types may contain each other by way of tables.
fn find_column_storing(ddl: &Ddl<'_>, wanted: Oid, seen: &mut Vec<Oid>) -> Result<Option<String>> {
    sync::yield_point()?;
    if seen.contains(&wanted) {
        return Ok(None);
    }
    seen.push(wanted);
    for (user, place) in users_of_type(ddl, wanted)? {
        if let (Some(table), Some(place)) = (ddl.catalog().table(user), place)
            && table.kind.has_storage()
        {
            return Ok(Some(format!("{}.{}", table.name, table.columns[place].name)));
        }
        if let Some(found) = find_column_storing(ddl, user, seen)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// 0A000 if a table stores rows of this table's row type.
pub(super) fn refuse_stored_rows(ddl: &Ddl<'_>, table: &TableDef) -> Result<()> {
    match storing_column(ddl, table.oid)? {
        None => Ok(()),
        Some(column) => {
            let name = &table.name;
            Err(Error::unsupported(format!(
                "cannot alter table \"{name}\" because column \"{column}\" uses its row type"
            )))
        }
    }
}
