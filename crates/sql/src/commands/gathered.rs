//! The rows of a portal, gathered instead of sent.

use base::{Error, Lsn, Result};
use engine::Database;

use crate::session::{Portal, SqlSession};
use executor::client::{Client, OutgoingRow, Severity};
use executor::{RowStore, work_memory_bytes};

impl SqlSession {
    /// Runs a portal to its end. Gives the rows that are left of it, and its tag.
    ///
    /// # Errors
    /// Those of its statement.
    pub(crate) fn gather_rest(&mut self, portal: &mut Portal, client: &mut dyn Client) -> Result<(RowStore, String)> {
        let state = self.state();
        let (database, limit_bytes) = (state.database.clone(), work_memory_bytes(state));
        let mut collector = RowCollector { client, rows: RowStore::default(), database, limit_bytes };
        let tag = self.run_some(portal, 0, &mut collector)?.unwrap_or_default();
        Ok((collector.rows, tag))
    }
}

/// Keeps rows instead of sending them; everything else goes on to the client.
struct RowCollector<'c> {
    client: &'c mut dyn Client,
    rows: RowStore,
    database: Database,
    limit_bytes: usize,
}

impl Client for RowCollector<'_> {
    fn require(&mut self, lsn: Lsn) {
        self.client.require(lsn);
    }

    fn committed(&mut self, gate: Lsn, delay: engine::DelayPolicy) {
        self.client.committed(gate, delay);
    }

    fn row(&mut self, row: &OutgoingRow<'_>) -> Result<()> {
        self.rows.push_for(&self.database, row.values, self.limit_bytes)
    }

    fn notice(&mut self, severity: Severity, notice: &Error) {
        self.client.notice(severity, notice);
    }

    fn error(&mut self, error: &Error) {
        self.client.error(error);
    }

    fn parameter_status(&mut self, name: &str, value: &str) {
        self.client.parameter_status(name, value);
    }

    fn notification(&mut self, pid: i32, channel: &str, payload: &str) {
        self.client.notification(pid, channel, payload);
    }

    fn read_copy_data(&mut self) -> Result<Option<Vec<u8>>> {
        self.client.read_copy_data()
    }

    fn wants_relief(&self) -> bool {
        self.client.wants_relief()
    }

    fn relieve(&mut self) -> Result<()> {
        self.client.relieve()
    }
}
