//! The session as a utility statement can use it that the client has sent: such a statement may end its transaction, and use the portals of the
//! protocol. A statement that a function runs gets [`SessionState`] only.

use std::sync::Arc;

use base::Result;
use executor::RowStore;
use executor::client::Client;
use types::Value;

use crate::state::{Planned, Prepared, SessionState};

/// See the module.
pub trait TopLevel {
    /// The part of the session that functions can use, too.
    fn state(&self) -> &SessionState;

    /// Whether a block is open: one that BEGIN began, or the implicit one of several statements in a query string.
    fn is_in_block(&self) -> bool;

    /// Whether a CALL may end the transaction: only if no block, other statement or suspended portal is part of it.
    fn may_end_transaction(&self) -> bool;

    /// Does `work` outside of transactions: the implicit transaction around the statement is committed before it, and another one
    /// begins after it.
    ///
    /// # Errors
    /// Of the commit; 57P01 if the database is closing. No transaction is in progress then.
    fn between_transactions(&mut self, client: &mut dyn Client, work: &mut dyn FnMut(&SessionState)) -> Result<()>;

    /// Whether there is a portal or cursor of this name.
    fn has_portal(&self, name: &str) -> bool;

    /// Closes a portal.
    fn close_portal(&mut self, name: &str);

    /// Closes the portals of the protocol, but for the one that runs.
    fn close_portals(&mut self);

    /// Runs the portal that a FETCH or MOVE names to its end, if it gives rows but is not a query, and makes a cursor of the rows
    /// that it has not given yet.
    ///
    /// # Errors
    /// 55000 for a portal that has failed, and those of its statement.
    fn run_portal_for_fetch(&mut self, name: &str, client: &mut dyn Client) -> Result<()>;

    /// Runs a prepared statement to its end. Gives its rows and its tag.
    ///
    /// # Errors
    /// Those of the statement.
    fn run_prepared(
        &mut self,
        prepared: Arc<Prepared>,
        planned: Arc<Planned>,
        parameters: Vec<Value>,
        client: &mut dyn Client,
    ) -> Result<(RowStore, String)>;
}
