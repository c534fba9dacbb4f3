//! Where rows come from: tables, indexes, functions, and tables that are computed.

use std::sync::Arc;

use schema::catalog::{IndexDef, TableDef};
use syntax::tree::Name;

use super::{Expr, ScanId, SetCall, VirtualTable};

/// The value that a scan puts in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScanColumn {
    /// The column at this place in [`TableDef::columns`], from 0.
    Column(u32),
    /// `ctid`: the row version's place, by which Update, Delete and LockRows find their row.
    Ctid,
    /// `tableoid`
    TableOid,
    /// `xmin`
    Xmin,
    /// `xmax`
    Xmax,
    /// `cmin`
    Cmin,
    /// `cmax`
    Cmax,
}

impl ScanColumn {
    /// The system columns, from attribute number -1 down.
    pub const SYSTEM: [ScanColumn; 6] = [
        ScanColumn::Ctid,
        ScanColumn::Xmin,
        ScanColumn::Cmin,
        ScanColumn::Xmax,
        ScanColumn::Cmax,
        ScanColumn::TableOid,
    ];

    /// The scan column with this attribute number: a column's place, or a system column.
    pub fn of_attribute(attribute: i32) -> ScanColumn {
        match u32::try_from(attribute) {
            Ok(place) => ScanColumn::Column(place),
            Err(_) => ScanColumn::SYSTEM[(-1 - attribute) as usize],
        }
    }
}

/// Every visible row of a table.
#[derive(Debug)]
pub struct SeqScan {
    /// The scan's number.
    pub scan: ScanId,
    /// The table.
    pub table: Arc<TableDef>,
    /// The name it goes by in the statement.
    pub alias: Name,
    /// The slots.
    pub columns: Vec<ScanColumn>,
    /// Keeps only rows for which it is true; sees the scan's slots.
    pub filter: Option<Expr>,
}

/// The rows of a table within a range of an index, in the index's order (or against it).
#[derive(Debug)]
pub struct IndexScan {
    /// The scan's number.
    pub scan: ScanId,
    /// The table.
    pub table: Arc<TableDef>,
    /// The name it goes by in the statement.
    pub alias: Name,
    /// The index.
    pub index: Arc<IndexDef>,
    /// Its place among the table's indexes in ascending order of oid, as `engine::Table::indexes` holds them.
    pub index_position: u32,
    /// Which part of it.
    pub range: IndexRange,
    /// Against the index's order.
    pub backward: bool,
    /// The slots.
    pub columns: Vec<ScanColumn>,
    /// Keeps only rows for which it is true; sees the scan's slots. It does not repeat the range's conditions, whose
    /// columns need not be among the slots.
    pub filter: Option<Expr>,
}

/// A range of an index: equality on some leading columns, then bounds on the next one.
///
/// The expressions see no slots, only constants, parameters and outer values. Each has the type of its index
/// column, or is an integer of another width where that column is an integer: a value that the column's type
/// can't hold equals nothing and bounds everything or nothing. A NULL value makes the range empty.
#[derive(Debug, Default)]
pub struct IndexRange {
    /// Conditions on the first index columns, in order.
    pub equal: Vec<KeyPart>,
    /// The lower bound on the next column, in the sense of values (not of the index's direction); true if inclusive.
    pub lower: Option<(Expr, bool)>,
    /// The upper bound on that column; true if inclusive.
    pub upper: Option<(Expr, bool)>,
    /// Rows in which that column is NULL are left out (always so when there is a bound).
    pub skip_nulls: bool,
}

/// A condition on one column of an index.
#[derive(Debug)]
pub enum KeyPart {
    /// `column = value`
    Equal(Expr),
    /// `column = ANY (array)`: one range per distinct element that is not NULL. At most one in a range.
    AnyOf(Expr),
    /// `column IS NULL`
    IsNull,
}

/// The one row of a table with a given key in a unique index.
#[derive(Debug)]
pub struct IndexPoint {
    /// The scan's number.
    pub scan: ScanId,
    /// The table.
    pub table: Arc<TableDef>,
    /// The name it goes by in the statement.
    pub alias: Name,
    /// The index.
    pub index: Arc<IndexDef>,
    /// Its place among the table's indexes in ascending order of oid.
    pub index_position: u32,
    /// One value for each key column; typed as in [`IndexRange`]. A NULL finds nothing.
    pub key: Vec<Expr>,
    /// The slots.
    pub columns: Vec<ScanColumn>,
    /// Keeps only rows for which it is true; sees the scan's slots.
    pub filter: Option<Expr>,
    /// The row that is found is changed, or the statement fails: a serializable transaction needn't note that it was read.
    pub is_changed: bool,
}

/// Set-returning functions side by side (one, unless ROWS FROM): each contributes its columns.
#[derive(Debug)]
pub struct FunctionScan {
    /// The scan's number.
    pub scan: ScanId,
    /// The name it goes by in the statement.
    pub alias: Name,
    /// The calls; a call that returns no set gives one row. A composite result is spread over its columns.
    pub calls: Vec<SetCall>,
    /// The names of the columns, for EXPLAIN.
    pub column_names: Vec<Name>,
    /// WITH ORDINALITY: one more slot, an int8 counting from 1.
    pub ordinality: bool,
    /// Keeps only rows for which it is true.
    pub filter: Option<Expr>,
}

/// A table computed by the server.
#[derive(Debug)]
pub struct VirtualScan {
    /// The scan's number.
    pub scan: ScanId,
    /// The table.
    pub table: Arc<VirtualTable>,
    /// The name it goes by in the statement.
    pub alias: Name,
    /// The slots: places in [`VirtualTable::columns`], from 0.
    pub columns: Vec<u32>,
    /// `column = value` conditions the producer may use to make fewer rows; the filter holds them too.
    pub equal: Vec<(u32, Expr)>,
    /// Keeps only rows for which it is true; sees the scan's slots.
    pub filter: Option<Expr>,
}
