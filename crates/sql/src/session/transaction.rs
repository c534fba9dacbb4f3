//! BEGIN, COMMIT, ROLLBACK, savepoints, and SET TRANSACTION.

use std::sync::atomic::Ordering;
use std::time::Instant;

use base::{Error, Result, sqlstate};
use engine::{SavepointId, TransactionOptions};
use syntax::tree::{Statement, Transaction, TransactionModes};
use types::datetime;

use super::{Block, SqlSession, settings};
use crate::commands::{Snapshot, facts};
use crate::state::CommitMark;
use crate::state::characteristics::{apply_modes, note_level, options_to_begin, set_modes};
use executor::CheckMark;
use executor::client::{Client, Severity};

/// A savepoint by its name.
pub(super) struct Savepoint {
    name: String,
    id: SavepointId,
    /// The constraint checks that were pending.
    checks: CheckMark,
    /// The actions queued for the commit when the savepoint was made.
    pub(super) mark: CommitMark,
}

impl SqlSession {
    /// Sees to it that a transaction is in progress: an implicit one, if there is none.
    pub(super) fn ensure_transaction(&mut self) -> Result<()> {
        if self.block == Block::None {
            self.start_transaction(options_to_begin(&self.state))?;
            self.block = Block::Implicit;
        }
        Ok(())
    }

    /// Takes the transaction's snapshot (above READ COMMITTED), if binding `statement` reads the catalog as a query does. The isolation level
    /// can't change any more then.
    ///
    /// # Errors
    /// Those of taking a snapshot.
    pub(super) fn take_snapshot_to_bind(&self, statement: &Statement) -> Result<()> {
        if facts(statement).snapshot == Snapshot::ToBind {
            self.state.engine().take_transaction_snapshot()?;
        }
        Ok(())
    }

    /// The same, if a utility statement takes a snapshot to run.
    ///
    /// # Errors
    /// Those of taking a snapshot.
    pub(super) fn take_snapshot_to_run(&self, statement: &Statement) -> Result<()> {
        if facts(statement).snapshot != Snapshot::Never {
            self.state.engine().take_transaction_snapshot()?;
        }
        Ok(())
    }

    fn start_transaction(&mut self, options: TransactionOptions) -> Result<()> {
        self.state.sample_transaction();
        self.state.begin(options, self.state.statement_timestamp.get())?;
        if let Some(timeout) = self.state.cached().transaction_timeout {
            let at = Instant::now() + timeout;
            let [_, transaction] = self.timers();
            self.transaction_limit = Some((at, transaction.arm(at)));
        }
        Ok(())
    }

    /// Runs one of the statements of this module; its tag.
    pub(super) fn run_transaction_statement(
        &mut self,
        statement: &Transaction,
        is_one_of_several: bool,
        client: &mut dyn Client,
    ) -> Result<String> {
        match statement {
            Transaction::Begin { modes, is_start } => {
                let tag = if *is_start { "START TRANSACTION" } else { "BEGIN" }.to_owned();
                match self.block {
                    Block::None => {
                        self.start_transaction(apply_modes(options_to_begin(&self.state), *modes))?;
                        note_level(&self.state, *modes);
                    }
                    Block::Implicit => {
                        // Earlier statements of the same string become part of the block.
                        let options = apply_modes(self.state.engine().transaction_options(), *modes);
                        if *modes != TransactionModes::default() {
                            self.state.engine().set_transaction_options(options)?;
                            note_level(&self.state, *modes);
                        }
                    }
                    Block::Explicit => {
                        let warning =
                            Error::new(sqlstate::ACTIVE_SQL_TRANSACTION, "there is already a transaction in progress");
                        self.state.notice(Severity::Warning, &warning, client);
                        if *modes != TransactionModes::default() {
                            set_modes(&self.state, *modes, client)?;
                        }
                        return Ok(tag);
                    }
                }
                self.block = Block::Explicit;
                Ok(tag)
            }
            Transaction::Commit { chain } => self.end_block(true, *chain, client),
            Transaction::Rollback { chain } => self.end_block(false, *chain, client),
            Transaction::Savepoint(name) => {
                self.require_block("SAVEPOINT")?;
                let id = self.state.engine_mut().savepoint()?;
                self.state.settings.borrow_mut().push_level();
                let (name, mark) = (name.to_string(), self.state.commit_mark());
                self.savepoints.push(Savepoint { name, id, checks: self.state.check_mark(), mark });
                Ok("SAVEPOINT".to_owned())
            }
            Transaction::Release(name) => {
                self.require_block("RELEASE SAVEPOINT")?;
                let place = self.savepoint(name)?;
                self.state.engine_mut().release(self.savepoints[place].id)?;
                for _ in place..self.savepoints.len() {
                    self.state.settings.borrow_mut().release_level();
                }
                self.lift_portals(place);
                self.savepoints.truncate(place);
                Ok("RELEASE".to_owned())
            }
            Transaction::RollbackTo(name) => {
                self.require_block("ROLLBACK TO SAVEPOINT")?;
                let place = self.savepoint(name)?;
                self.end_portals_above(place);
                self.state.rollback_to(self.savepoints[place].id, self.savepoints[place].mark)?;
                for _ in place..self.savepoints.len() {
                    self.state.settings.borrow_mut().roll_back_level();
                }
                self.state.settings.borrow_mut().push_level();
                settings::note_application_name(&self.state);
                self.state.restore_checks(&self.savepoints[place].checks);
                self.savepoints.truncate(place + 1);
                self.state.plans.borrow_mut().clear();
                Ok("ROLLBACK".to_owned())
            }
            Transaction::Prepare(gid) => self.prepare_block(gid, is_one_of_several, client),
            Transaction::CommitPrepared(gid) => self.finish_prepared(gid, true, is_one_of_several, client),
            Transaction::RollbackPrepared(gid) => self.finish_prepared(gid, false, is_one_of_several, client),
        }
    }

    /// After an error: what the innermost savepoint, or else the transaction, has queued is forgotten.
    pub(super) fn forget_checks_of_failure(&self) {
        match self.savepoints.last() {
            Some(innermost) => self.state.forget_checks_since(&innermost.checks),
            None => self.state.forget_checks_from(0),
        }
    }

    /// COMMIT and ROLLBACK.
    fn end_block(&mut self, commit: bool, chain: bool, client: &mut dyn Client) -> Result<String> {
        if self.block != Block::Explicit {
            if chain {
                let what = if commit { "COMMIT" } else { "ROLLBACK" };
                let message = format!("{what} AND CHAIN can only be used in transaction blocks");
                return Err(Error::new(sqlstate::NO_ACTIVE_SQL_TRANSACTION, message));
            }
            let warning = Error::new(sqlstate::NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress");
            self.state.notice(Severity::Warning, &warning, client);
            if self.block == Block::None {
                return Ok(if commit { "COMMIT" } else { "ROLLBACK" }.to_owned());
            }
        }
        let options = self.state.engine().transaction_options();
        let failed = self.state.engine().transaction_failed();
        if commit && !failed {
            self.commit_block(client)?;
        } else {
            self.roll_back_block()?;
        }
        if chain {
            self.start_transaction(options)?;
            self.block = Block::Explicit;
        }
        Ok(if commit && !failed { "COMMIT" } else { "ROLLBACK" }.to_owned())
    }

    /// Commits the implicit transaction, if one is in progress.
    ///
    /// # Errors
    /// Of the commit.
    pub(super) fn commit_implicit(&mut self, client: &mut dyn Client) -> Result<()> {
        if self.block == Block::Implicit { self.commit_block(client) } else { Ok(()) }
    }

    /// Commits the transaction in progress, and ends the session's portals and savepoints with it. All later answers to the client wait
    /// for this commit.
    pub(super) fn commit_block(&mut self, client: &mut dyn Client) -> Result<()> {
        // `statement_timeout` ends with the statement: what is done at the commit has no limit.
        self.timer = None;
        if let Err(error) = self.state.before_commit(client) {
            self.roll_back_block()?;
            return Err(error);
        }
        self.end_portals();
        self.forget_block();
        self.state.commit(client)
    }

    /// Rolls the transaction in progress back, and ends the session's portals and savepoints with it.
    pub(super) fn roll_back_block(&mut self) -> Result<()> {
        self.end_portals();
        self.forget_block();
        self.state.roll_back()
    }

    /// Clears the session's own state of the transaction block.
    pub(super) fn forget_block(&mut self) {
        self.block = Block::None;
        self.is_within_pipeline = false;
        self.transaction_limit = None;
        self.savepoints.clear();
    }

    fn require_block(&self, what: &str) -> Result<()> {
        if self.block == Block::Explicit {
            return Ok(());
        }
        Err(Error::new(sqlstate::NO_ACTIVE_SQL_TRANSACTION, format!("{what} can only be used in transaction blocks")))
    }

    fn savepoint(&self, name: &str) -> Result<usize> {
        self.savepoints.iter().rposition(|savepoint| savepoint.name == name).ok_or_else(|| {
            Error::new(sqlstate::INVALID_SAVEPOINT_SPECIFICATION, format!("savepoint \"{name}\" does not exist"))
        })
    }

    /// The session's clock moves on: a new statement has arrived.
    pub(super) fn start_clock(&self) {
        let now = datetime::clock_micros();
        self.state.statement_timestamp.set(now);
        self.state.info.statement_start.store(now, Ordering::Relaxed);
    }
}
