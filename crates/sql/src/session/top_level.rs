//! The session as utility statements use it, and portals whose rows are gathered instead of sent.

use std::sync::Arc;

use base::{Error, Lsn, Result};
use engine::Database;
use types::Value;

use super::{Block, Portal, Progress, SqlSession};
use crate::commands::TopLevel;
use crate::state::{Planned, Prepared, SessionState};
use executor::client::{Client, Formats, OutgoingRow, Severity};
use executor::{RowStore, work_memory_bytes};

impl TopLevel for SqlSession {
    fn state(&self) -> &SessionState {
        &self.state
    }

    fn is_in_block(&self) -> bool {
        self.block == Block::Explicit || self.is_one_of_several
    }

    fn may_end_transaction(&self) -> bool {
        let is_suspended = |portal: &Portal| matches!(portal.progress, Progress::Suspended { .. });
        let mut portals = self.portals.values().chain(&self.unnamed_portal);
        self.block == Block::Implicit && !self.is_one_of_several && !portals.any(is_suspended)
    }

    fn between_transactions(&mut self, client: &mut dyn Client, work: &mut dyn FnMut(&SessionState)) -> Result<()> {
        self.commit_implicit(client)?;
        work(&self.state);
        self.ensure_transaction()
    }

    fn has_portal(&self, name: &str) -> bool {
        self.portals.contains_key(name) || self.state.has_cursor(name)
    }

    fn close_portal(&mut self, name: &str) {
        SqlSession::close_portal(self, name);
    }

    fn close_portals(&mut self) {
        self.close_unnamed_portal();
        for (_, portal) in self.portals.drain() {
            portal.progress.give_up(&self.state);
        }
    }

    fn run_portal_for_fetch(&mut self, name: &str, client: &mut dyn Client) -> Result<()> {
        self.gather_for_fetch(name, client)
    }

    fn run_prepared(
        &mut self,
        prepared: Arc<Prepared>,
        planned: Arc<Planned>,
        parameters: Vec<Value>,
        client: &mut dyn Client,
    ) -> Result<(RowStore, String)> {
        let mut portal = Portal {
            planned: Some(planned),
            text: Arc::clone(&prepared.text),
            parameters,
            formats: Formats::default(),
            progress: Progress::Ready,
            prepared: Some(prepared),
            tree: None,
            depth: self.savepoints.len(),
            listed: None,
        };
        self.gather_rest(&mut portal, client)
    }
}

impl SqlSession {
    /// Runs a portal to its end. Gives the rows that are left of it, and its tag.
    ///
    /// # Errors
    /// Those of its statement.
    pub(super) fn gather_rest(&mut self, portal: &mut Portal, client: &mut dyn Client) -> Result<(RowStore, String)> {
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
