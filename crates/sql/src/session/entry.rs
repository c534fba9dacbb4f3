//! The calls that a session runs for its client, with its interrupts in force.

use std::sync::Arc;

use base::{Lsn, Oid, Result};

use super::{BindInput, Prepared, SqlSession};
use executor::client::Client;

impl SqlSession {
    /// Runs the statements of a query string, one after the other.
    ///
    /// # Errors
    /// Of the first statement that fails; what came before stays said, and is undone.
    pub fn simple_query(&mut self, text: &str, client: &mut dyn Client) -> Result<()> {
        self.interruptible(|session| session.run_query_string(text, client))
    }

    /// Prepares a statement.
    ///
    /// # Errors
    /// Syntax and binding errors, 42P05 for a name in use.
    pub fn parse(&mut self, name: &str, text: &str, types: &[Oid], client: &mut dyn Client) -> Result<()> {
        let parsed = self.interruptible(|session| session.prepare(name, text, types, client));
        if parsed.is_ok() {
            self.log_end_of_parse(name, text);
            self.state.forget_statement();
        }
        parsed
    }

    /// Binds parameters to a prepared statement and makes a portal of it.
    ///
    /// # Errors
    /// 08P01 for a wrong number of parameters, errors of their values.
    pub fn bind(
        &mut self,
        portal: &str,
        prepared: Arc<Prepared>,
        input: BindInput<'_>,
        client: &mut dyn Client,
    ) -> Result<()> {
        let met_before = self.state.gate();
        let made = self.interruptible(|session| session.make_portal(portal, prepared, input));
        self.require_for_plan(met_before, client);
        if made.is_ok() {
            self.log_end_of_bind(portal);
            self.state.forget_statement();
        }
        made
    }

    /// For answers to Parse, Bind and Describe: they wait for the catalog and for what this message has met, which is above
    /// the gate `met_before`. They need not wait for what an earlier write of the block has met: its tag is provisional and
    /// has not waited either (rule R3). That holds as long as the write has changed nothing that they tell of. A function may
    /// have done so; then they wait for everything. Besides, these messages read no rows but through functions.
    pub(super) fn require_for_plan(&self, met_before: Lsn, client: &mut dyn Client) {
        let met = self.state.gate();
        let waits_for_all = met > met_before || self.state.has_run_functions.get();
        client.require(if waits_for_all { met } else { self.state.engine().catalog_gate() });
    }

    /// Runs a portal, up to `max_rows` rows (0 for all).
    ///
    /// # Errors
    /// 34000 for an unknown portal, and whatever the statement raises.
    pub fn execute(&mut self, name: &str, max_rows: u32, client: &mut dyn Client) -> Result<()> {
        let run = self.interruptible(|session| session.run_named_portal(name, max_rows, client));
        if run.is_ok() {
            self.state.forget_statement();
        }
        run
    }

    /// The end of a pipeline: commits what is not in a block.
    ///
    /// # Errors
    /// Of the commit.
    pub fn sync(&mut self, client: &mut dyn Client) -> Result<()> {
        self.interruptible(|session| session.end_pipeline(client))
    }

    /// Runs `work`, whose yield points fail when the session is interrupted. In a coroutine the caller has set the
    /// interrupt already. Work that was interrupted fails with the interrupt's error, also if another has replaced that.
    fn interruptible<R>(&mut self, work: impl FnOnce(&mut SqlSession) -> Result<R>) -> Result<R> {
        let interrupt = self.interrupt();
        let result = if sync::in_coroutine() { work(self) } else { sync::with_interrupt(&interrupt, || work(self)) };
        result.map_err(|error| interrupt.reported_instead_of(error))
    }
}
