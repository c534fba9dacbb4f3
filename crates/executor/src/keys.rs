//! Index keys of rows as SQL has them: columns by their types' order, expressions and predicates evaluated.

use std::cell::RefCell;

use base::Result;
use engine::Table;
use engine::key::IndexKeySource;
use plan::{IndexExpressions, TableExpressions};
use schema::key::KeyBuffer;
use schema::row::Datum;
use syntax::parser::if_readable;
use types::{SqlType, StorageKind, Value};

use crate::evaluate::evaluate;
use crate::scan::key_kind;
use crate::{Run, evaluate::is_true};

/// Makes the keys of one table's rows during one statement.
pub struct TableKeys<'k, 'a, 'p> {
    kinds: &'k [StorageKind],
    expressions: Option<&'p TableExpressions>,
    /// Taken for the length of one call; the engine calls from one thread, and not from within itself.
    run: RefCell<&'k mut Run<'a, 'p>>,
}

impl<'k, 'a, 'p> TableKeys<'k, 'a, 'p> {
    /// Keys of rows whose columns are stored as `kinds`.
    pub fn new(
        kinds: &'k [StorageKind],
        expressions: Option<&'p TableExpressions>,
        run: &'k mut Run<'a, 'p>,
    ) -> TableKeys<'k, 'a, 'p> {
        TableKeys { kinds, expressions, run: RefCell::new(run) }
    }

    fn expressions_of(&self, index_position: usize) -> Option<&'p IndexExpressions> {
        self.expressions?.indexes.get(index_position)?.as_ref()
    }

    /// The values of a stored row. Those of dropped columns are NULL: their types may be gone.
    fn values(&self, table: &Table, row: &[Datum]) -> Result<Vec<Value>> {
        let columns = row.iter().zip(self.kinds).zip(&table.def.columns);
        columns
            .map(|((datum, kind), column)| if column.dropped { Ok(Value::Null) } else { kind.read(*datum) })
            .collect()
    }
}

impl IndexKeySource for TableKeys<'_, '_, '_> {
    fn key(&self, table: &Table, index_position: usize, row: &[Datum], out: &mut KeyBuffer) -> Result<bool> {
        let index = &table.indexes[index_position].def;
        let Some(expressions) = self.expressions_of(index_position) else {
            for part in &index.keys {
                let column = part.column.unwrap_or_default();
                self.kinds[column].push_datum_key(row[column], part.descending, part.nulls_first, out)?;
            }
            return Ok(true);
        };
        let values = self.values(table, row)?;
        let mut run = self.run.borrow_mut();
        if let Some(predicate) = &expressions.predicate
            && !is_true(predicate, &values, &mut **run)?
        {
            return Ok(false);
        }
        for (number, part) in index.keys.iter().enumerate() {
            match part.column {
                Some(column) => {
                    self.kinds[column].push_datum_key(row[column], part.descending, part.nulls_first, out)?;
                }
                None => {
                    let expr = expressions.keys.iter().find(|(key, _)| *key as usize == number).map(|(_, expr)| expr);
                    let value = match expr {
                        Some(expr) => evaluate(expr, &values, &mut **run)?,
                        None => Value::Null,
                    };
                    if value.is_null() {
                        out.push_null(part.nulls_first);
                    } else {
                        let kind = key_kind(index, &table.def, number, &value, &run.catalog);
                        kind.push_value_key(&value, part.descending, part.nulls_first, out)?;
                    }
                }
            }
        }
        Ok(true)
    }

    fn describe(&self, table: &Table, index_position: usize, row: &[Datum]) -> Result<Option<String>> {
        let index = &table.indexes[index_position].def;
        let Some(values) = if_readable(self.values(table, row))? else { return Ok(None) };
        let mut run = self.run.borrow_mut();
        // The key is told only to roles that may read all its columns.
        if let Some(readable) = run.state.readable_columns(table.def.oid)
            && !index.keys.iter().all(|part| part.column.is_some_and(|column| readable.contains(&column)))
        {
            return Ok(None);
        }
        let (mut names, mut texts) = (Vec::new(), Vec::new());
        for (number, part) in index.keys.iter().enumerate() {
            let (name, value, sql_type) = match part.column {
                Some(column) => {
                    let def = &table.def.columns[column];
                    (def.name.clone(), values[column].clone(), SqlType::with_typmod(def.type_oid, def.typmod))
                }
                None => {
                    let expressions = self.expressions_of(index_position);
                    let mut keys = expressions.into_iter().flat_map(|expressions| &expressions.keys);
                    let Some((_, expr)) = keys.find(|(key, _)| *key as usize == number) else { return Ok(None) };
                    let Some(value) = if_readable(evaluate(expr, &values, &mut **run))? else { return Ok(None) };
                    let shown = if_readable(run.host.index_column(&table.def, index, number))?.flatten();
                    (shown.unwrap_or_default(), value, expr.sql_type)
                }
            };
            names.push(name);
            texts.push(if value.is_null() {
                "null".to_owned()
            } else {
                types::shown_string(&value, sql_type.oid, &run.format, &run.catalog)
            });
        }
        Ok(Some(format!("Key ({})=({})", names.join(", "), texts.join(", "))))
    }
}
