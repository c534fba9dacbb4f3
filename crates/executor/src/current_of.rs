//! WHERE CURRENT OF: the row of a table that a cursor stands on.

use base::{Error, Oid, Result, Tid, missing, sqlstate};
use plan::{CursorName, Statement, StatementKind};
use schema::row::RowBytes;
use types::Value;

use crate::scan::ScanBase;
use crate::{Operator, Run};

/// The row a cursor stands on, its newest version; none if it is gone.
pub struct CurrentOfRow<'p> {
    node: &'p plan::CurrentOf,
    base: ScanBase<'p>,
    is_done: bool,
}

impl<'p> CurrentOfRow<'p> {
    pub fn new(node: &'p plan::CurrentOf) -> Self {
        CurrentOfRow { node, base: ScanBase::new(node.scan, &node.table, &node.columns, None), is_done: false }
    }
}

impl<'p> Operator<'p> for CurrentOfRow<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if let Some(answer) = self.base.replaced(None, run)? {
            return Ok(answer);
        }
        if std::mem::replace(&mut self.is_done, true) {
            return Ok(false);
        }
        let Some(place) = place_of(&self.node.cursor, self.node.table.oid, &self.node.table.name, run)? else {
            return Ok(false);
        };
        let table = self.base.open(run)?;
        let mut bytes = RowBytes::new();
        // Since it was fetched, this transaction may have changed the row.
        let found = match run.engine().fetch(&table, place, &mut bytes)? {
            true => Some(place),
            false => run.engine().newest_version(&table, place, &mut bytes)?,
        };
        match found {
            Some(tid) => self.base.accept(tid, &bytes, run),
            None => Ok(false),
        }
    }

    fn row(&self) -> &[Value] {
        &self.base.row
    }

    fn rescan(&mut self) {
        self.is_done = false;
        self.base.gave_replacement = false;
    }
}

/// The place of the table's row that the cursor's row is made of; none where an outer join found no row.
fn place_of(cursor: &CursorName, table: Oid, table_name: &str, run: &Run<'_, '_>) -> Result<Option<Tid>> {
    let named = cursor.parameter.and_then(|number| run.parameters.get(number as usize));
    let name = match named {
        Some(Value::Text(name)) => name.to_string(),
        Some(Value::Null) => {
            let number = cursor.parameter.map_or(0, |number| number + 1);
            return Err(Error::new(sqlstate::UNDEFINED_OBJECT, format!("no value found for parameter {number}")));
        }
        _ => cursor.name.to_string(),
    };
    let mut found = Ok(None);
    let is_open = run.host.look_at_cursor(&name, &mut |statement, place| {
        found = place_at(statement, place, (table, table_name))
            .map_err(|what| Error::new(sqlstate::INVALID_CURSOR_STATE, format!("cursor \"{name}\" {what}")));
    });
    if is_open { found } else { Err(missing::cursor(name)) }
}

/// The place of the table's row that a cursor at `place` stands on, or why there can be none.
fn place_at(
    statement: &Statement,
    place: &CursorPlace,
    (table, table_name): (Oid, &str),
) -> Result<Option<Tid>, String> {
    if !statement.is_read_only || !matches!(statement.kind, StatementKind::Query(_)) {
        return Err("is not a SELECT query".to_owned());
    }
    if matches!(place, CursorPlace::Held) {
        return Err("is held from a previous transaction".to_owned());
    }
    let wanted = &statement.row_places;
    let mut fitting = wanted
        .tables
        .iter()
        .enumerate()
        .filter(|(_, (oid, is_locked))| *oid == table && (*is_locked || !wanted.locks_rows));
    let number = match (fitting.next(), fitting.next()) {
        (Some((number, _)), None) if wanted.locks_rows || wanted.is_simple => number,
        (Some(_), Some(_)) if wanted.locks_rows => {
            return Err(format!("has multiple FOR UPDATE/SHARE references to table \"{table_name}\""));
        }
        _ if wanted.locks_rows => {
            return Err(format!("does not have a FOR UPDATE/SHARE reference to table \"{table_name}\""));
        }
        _ => return Err(format!("is not a simply updatable scan of table \"{table_name}\"")),
    };
    match place {
        CursorPlace::OnRow(row) => Ok(row.get(number).copied().flatten()),
        _ => Err("is not positioned on a row".to_owned()),
    }
}

/// Where a cursor stands.
pub enum CursorPlace {
    /// Before its first row, or behind its last one.
    Outside,
    /// On a row that is made of these.
    OnRow(Vec<Option<Tid>>),
    /// Its transaction is over.
    Held,
}
