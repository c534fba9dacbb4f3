//! The columns of utility statements that give rows.

use std::sync::Arc;

use base::Result;
use syntax::tree::Statement;
use types::SqlType;

use crate::state::prepared::prepared_named;
use crate::state::{ResultShape, SessionState};

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
            let Ok(prepared) = prepared_named(state, &execute.name) else { return Ok(None) };
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
