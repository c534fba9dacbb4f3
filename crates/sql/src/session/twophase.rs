//! PREPARE TRANSACTION, COMMIT PREPARED and ROLLBACK PREPARED.

use base::{Error, Oid, Result, sqlstate};
use engine::Finisher;

use super::{Block, SqlSession};
use crate::state::temporary;
use executor::client::{Client, Severity};
use executor::{Due, run_pending_checks};

impl SqlSession {
    /// PREPARE TRANSACTION. As for a COMMIT, a failed transaction is rolled back, and without one there is a warning.
    pub(super) fn prepare_block(
        &mut self,
        gid: &str,
        is_one_of_several: bool,
        client: &mut dyn Client,
    ) -> Result<String> {
        let rolled_back = || Ok("ROLLBACK".to_owned());
        if self.block != Block::Explicit {
            let warning = Error::new(sqlstate::NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress");
            self.state.notice(Severity::Warning, &warning, client);
            // The block that several statements of one string make of themselves is one, all the same.
            if !(self.block == Block::Implicit && is_one_of_several) {
                self.commit_implicit(client)?;
                return rolled_back();
            }
        }
        if self.state.engine().transaction_failed() {
            self.roll_back_block()?;
            return rolled_back();
        }
        if let Err(error) = self.check_preparable(client) {
            self.roll_back_block()?;
            return Err(error);
        }
        self.end_portals();
        let role = self.role();
        let prepared = self.state.engine_mut().prepare_transaction(gid, role);
        // As far as settings are concerned it is a commit.
        let is_prepared = prepared.is_ok();
        self.forget_block();
        self.state.finish_transaction(is_prepared);
        self.state.info.set_owner(self.state.engine().owner());
        self.state.notifications.borrow_mut().clear();
        client.committed(prepared?, self.state.execution_settings().commit_delay);
        Ok("PREPARE TRANSACTION".to_owned())
    }

    /// Runs deferred checks, and refuses what could not be given to another session.
    fn check_preparable(&mut self, client: &mut dyn Client) -> Result<()> {
        run_pending_checks(&self.state, Due::All, client)?;
        let refused = |what: &str| Err(Error::unsupported(format!("cannot PREPARE a transaction that has {what}")));
        if self.state.has_cursor_to_hold() {
            return refused("created a cursor WITH HOLD");
        }
        if self.state.used_temporary.get() || temporary::was_used(&self.state) {
            return refused("operated on temporary objects");
        }
        if !self.state.notifications.borrow().is_empty() || !self.state.channel_changes.borrow().is_empty() {
            return refused("executed LISTEN, UNLISTEN, or NOTIFY");
        }
        Ok(())
    }

    /// COMMIT PREPARED and ROLLBACK PREPARED.
    pub(super) fn finish_prepared(
        &mut self,
        gid: &str,
        commit: bool,
        is_one_of_several: bool,
        client: &mut dyn Client,
    ) -> Result<String> {
        let what = if commit { "COMMIT PREPARED" } else { "ROLLBACK PREPARED" };
        if self.block == Block::Explicit && self.state.engine().transaction_failed() {
            let message = "current transaction is aborted, commands ignored until end of transaction block";
            return Err(Error::new(sqlstate::IN_FAILED_SQL_TRANSACTION, message));
        }
        if self.block == Block::Explicit || is_one_of_several {
            let message = format!("{what} cannot run inside a transaction block");
            return Err(Error::new(sqlstate::ACTIVE_SQL_TRANSACTION, message));
        }
        if self.is_within_pipeline {
            let message = format!("{what} cannot be executed within a pipeline");
            return Err(Error::new(sqlstate::ACTIVE_SQL_TRANSACTION, message));
        }
        // Its own Parse or Bind may have begun one.
        self.commit_implicit(client)?;
        let finisher = Finisher { role: self.role(), is_superuser: self.state.is_superuser() };
        let gate = {
            let mut engine = self.state.engine_mut();
            if commit { engine.commit_prepared(gid, finisher) } else { engine.rollback_prepared(gid, finisher) }
        };
        client.committed(gate?, self.state.execution_settings().commit_delay);
        Ok(what.to_owned())
    }

    fn role(&self) -> Oid {
        self.state.acting_role().oid
    }
}
