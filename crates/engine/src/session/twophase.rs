//! Two-phase commit: PREPARE TRANSACTION, and what finishes it.

use base::{Error, Lsn, Oid, Result, missing, sqlstate};
use clog::ClogUpdate;
use xact::TransactionState;
use xact::twophase::{ClaimedTransaction, Gid, PrepareOptions, PreparedTransaction, may_finish};

use super::Session;
use super::transaction::{failed, no_transaction};
use crate::catalog_store::{PUBLISH_LOCK, PUBLISH_MODE};

/// The role of a session that finishes a prepared transaction.
#[derive(Clone, Copy, Debug)]
pub struct Finisher {
    /// The role.
    pub role: Oid,
    /// Whether it may finish transactions that other roles have prepared.
    pub is_superuser: bool,
}

impl Session {
    /// PREPARE TRANSACTION: detaches the transaction from the session. The prepared transaction survives everything,
    /// until somebody finishes it by its name. Returns the gate: the reply waits until the log is durable up to there,
    /// whatever `synchronous_commit` says.
    ///
    /// The session has a new [`Session::owner`] from now on.
    ///
    /// # Errors
    /// - 22023 for a name of 200 bytes or more; 42710 for a name that is in use.
    /// - 55000 if `max_prepared_transactions` is 0; 53200 if that number of transactions is prepared already.
    /// - 0A000 for a transaction that has exported a snapshot, or that holds an advisory lock which the session holds
    ///   too.
    /// - 40001 where a commit would break serializability.
    /// - 25P01 without a transaction; 25P02 in a failed one.
    ///
    /// The transaction is rolled back on an error.
    pub fn prepare_transaction(&mut self, gid: &str, role: Oid) -> Result<Lsn> {
        self.end_statement();
        let prepared = self.try_prepare(gid, role);
        match prepared {
            Ok(end) => {
                self.forget_own_changes();
                self.forget_locks();
                Ok(self.observed().max(end))
            }
            Err(error) => {
                self.rollback()?;
                Err(error)
            }
        }
    }

    fn try_prepare(&mut self, gid: &str, role: Oid) -> Result<Lsn> {
        match self.slot.get_mut().state() {
            TransactionState::Active => {}
            TransactionState::Failed => return Err(failed()),
            TransactionState::Idle => return Err(no_transaction()),
        }
        let options = PrepareOptions { gid: Gid::new(gid)?, role, database: self.database_oid };
        if self.has_exports() {
            return Err(Error::unsupported("cannot PREPARE a transaction that has exported snapshots"));
        }
        let changes_catalog = self.ddl.get_mut().has_changes();
        let slot = self.slot.get_mut();
        if changes_catalog {
            slot.raise_catalog_version();
        }
        slot.prepare(&options)
    }

    /// COMMIT PREPARED. Returns the gate, for which the reply waits.
    ///
    /// # Errors
    /// 25001 in a transaction; 42704 for an unknown name; 42501 if it is somebody else's; 0A000 from another database; 55000 if
    /// somebody is at it; 40P01, 57014 from waiting for another transaction that changes the catalog. It stays prepared then.
    pub fn commit_prepared(&mut self, gid: &str, finisher: Finisher) -> Result<Lsn> {
        let database = self.database.clone();
        let _operation = database.shared.begin_operation()?;
        let claimed = self.claim(gid, finisher)?;
        let changes_catalog = claimed.changes_catalog();
        if changes_catalog {
            self.publish_prepared(&claimed).inspect_err(|_| self.unlock_publishing())?;
        }
        let outcome = self.slot.get_mut().commit_prepared(claimed);
        if changes_catalog {
            self.shared().catalog.install(self.shared());
            self.unlock_publishing();
        }
        if self.shared().status.clog_update() != ClogUpdate::Cohort {
            self.shared().wal.wait_durable(outcome.gate, self.delay.get());
            let _reporting = self.wait_report.reporting();
            self.shared().transactions.complete(&outcome);
        }
        Ok(outcome.gate)
    }

    /// ROLLBACK PREPARED; durable when it returns. Returns the gate.
    ///
    /// # Errors
    /// As [`Session::commit_prepared`].
    pub fn rollback_prepared(&mut self, gid: &str, finisher: Finisher) -> Result<Lsn> {
        let database = self.database.clone();
        let _operation = database.shared.begin_operation()?;
        let claimed = self.claim(gid, finisher)?;
        Ok(self.slot.get_mut().rollback_prepared(claimed))
    }

    fn claim(&mut self, gid: &str, finisher: Finisher) -> Result<ClaimedTransaction> {
        if self.in_transaction() {
            return Err(Error::new(sqlstate::ACTIVE_SQL_TRANSACTION, "there is already a transaction in progress"));
        }
        let transactions = &self.shared().transactions;
        let Ok(name) = Gid::new(gid) else {
            // Nobody can have prepared it.
            return Err(missing::prepared_transaction(gid));
        };
        let claimed = transactions.claim_prepared(&name, |prepared| {
            may_finish(prepared, finisher.role, finisher.is_superuser, self.database_oid)
        });
        // Whether the name exists may depend on log records that are not durable yet.
        self.observe(transactions.prepared_changed());
        claimed
    }

    /// Leaves the catalog with the prepared transaction's changes to be installed by its commit. They are read from the
    /// catalog's rows, as its session may be long gone.
    fn publish_prepared(&self, claimed: &ClaimedTransaction) -> Result<()> {
        let options = self.lock_options(lockmgr::WaitPolicy::Block);
        self.shared().locks.lock(self.owner(), PUBLISH_LOCK, PUBLISH_MODE, &options)?;
        self.shared().catalog.prepare_for(self.shared(), claimed.view().xid)
    }

    fn unlock_publishing(&self) {
        // The session has no transaction, and so nothing else that lasts for one.
        self.shared().locks.unlock_all(self.owner(), lockmgr::Scope::Transaction);
    }

    /// All prepared transactions, by xid. The answer counts for the gate.
    pub fn prepared_transactions(&self) -> Vec<PreparedTransaction> {
        let prepared = self.shared().transactions.prepared_transactions();
        self.observe(self.shared().transactions.prepared_changed());
        self.observe_horizon();
        prepared
    }

    /// The relations that the transaction has locked, and the objects that it has made or changed.
    pub fn objects_of_transaction(&self) -> Vec<Oid> {
        let catalogs = self.database.catalogs();
        let number = |unique: Oid| catalogs.relation(unique).map_or(unique, |(_, oid)| oid);
        let mut objects: Vec<Oid> = self.shared().locks.relations_of(self.owner()).into_iter().map(number).collect();
        objects.extend(self.ddl.borrow().changes().iter().map(schema::catalog::Change::oid));
        objects
    }
}
