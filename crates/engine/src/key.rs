//! How the row API makes the keys of a table's indexes.

use base::Result;
use schema::row::Datum;

use crate::table::Table;

pub use schema::key::{KeyBuffer, PlainKeys};

/// Makes the keys of a table's indexes from its rows.
pub trait IndexKeySource {
    /// Writes the key of `row` in the index at `index_position` of `table` to `out`, which is empty.
    /// `false`: the row has no entry there (the predicate of a partial index is not true).
    ///
    /// # Errors
    /// Errors of evaluating an index expression or predicate.
    fn key(&self, table: &Table, index_position: usize, row: &[Datum], out: &mut KeyBuffer) -> Result<bool>;

    /// Says the key of `row` as messages do: `Key (a, b)=(1, x)`. The engine appends what is wrong with it. `None` if the key can't be
    /// told.
    ///
    /// # Errors
    /// 57014 and its kin when the session is interrupted meanwhile.
    fn describe(&self, table: &Table, index_position: usize, row: &[Datum]) -> Result<Option<String>> {
        let _ = (table, index_position, row);
        Ok(None)
    }
}

impl IndexKeySource for PlainKeys {
    #[inline]
    fn key(&self, table: &Table, index_position: usize, row: &[Datum], out: &mut KeyBuffer) -> Result<bool> {
        PlainKeys::write(&table.indexes[index_position].def, row, out);
        Ok(true)
    }
}
