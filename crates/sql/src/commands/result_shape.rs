//! The columns of utility statements that give rows.

use std::sync::Arc;

use base::Result;
use plan::OutputColumn;
use syntax::tree::Statement;
use types::SqlType;

use super::prepared::prepared;
use crate::session::{Planned, SessionState};

/// The shape of a statement's result.
pub struct ResultShape {
    /// Its columns.
    pub columns: Vec<OutputColumn>,
    /// It gives rows, though they may have no columns.
    pub gives_rows: bool,
}

impl ResultShape {
    fn of(planned: &Planned) -> ResultShape {
        ResultShape { columns: planned.statement.columns.clone(), gives_rows: planned.gives_rows() }
    }
}

/// The columns of the utility statements whose columns depend on the session: EXECUTE, FETCH and CALL.
///
/// # Errors
/// Those of planning the statement and of resolving a procedure.
pub fn session_columns(
    state: &SessionState,
    text: &str,
    statement: &Statement,
    parameters: &[SqlType],
) -> Result<Option<ResultShape>> {
    match statement {
        Statement::Execute(execute) => {
            // A missing statement is reported at execution, not here.
            let Ok(prepared) = prepared(state, &execute.name) else { return Ok(None) };
            Ok(Some(ResultShape::of(&*prepared.plan(state)?)))
        }
        Statement::Fetch(fetch) if !fetch.is_move => {
            let cursors = state.cursors.borrow();
            let planned = match cursors.get(fetch.cursor.as_str()) {
                Some(cursor) => Some(Arc::clone(&cursor.planned)),
                None => state.portals.plan_with_rows(&fetch.cursor),
            };
            Ok(planned.as_deref().map(ResultShape::of))
        }
        Statement::Call(call) => {
            let columns = super::function::columns_of_call(state, text, call, parameters)?;
            Ok(Some(ResultShape { gives_rows: !columns.is_empty(), columns }))
        }
        _ => Ok(None),
    }
}
