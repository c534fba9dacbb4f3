//! Exported snapshots: one transaction lets others see exactly what it sees.
//!
//! The exporter's slot holds the snapshot until its transaction ends, and the registry names it that long. An importer looks
//! the name up and publishes the snapshot in its own slot under the registry's latch; the exporter takes the name out
//! under the same latch before it lets go of the snapshot. So whoever finds the name finds the versions.

use base::{Error, Lsn, Result, sqlstate};
use rustc_hash::FxHashMap;
use sync::Mutex;
use xact::{BeginOptions, Isolation, TransactionState};

use super::Session;
use super::transaction::no_transaction;

/// All snapshots that are exported now.
#[derive(Default)]
pub(crate) struct Exports(Mutex<Registry>);

#[derive(Default)]
struct Registry {
    by_name: FxHashMap<String, Export>,
    /// Transactions that have exported a snapshot so far.
    exporters: u64,
}

#[derive(Clone, Copy)]
struct Export {
    csn: Lsn,
    /// How the exporter's transaction runs.
    options: BeginOptions,
    /// Nothing that reads with it can be part of an anomaly.
    is_safe: bool,
}

/// The snapshots that a session's transaction has exported.
#[derive(Default)]
pub(super) struct OwnExports {
    /// Which exporter the transaction is.
    number: u64,
    names: Vec<String>,
}

impl Session {
    /// `pg_export_snapshot()`: gives what the statement sees a name by which other transactions can import it, as long as this
    /// one runs.
    ///
    /// # Errors
    /// 25001 inside a savepoint; 25P01 without a transaction.
    pub fn export_snapshot(&self) -> Result<String> {
        let csn = self.snapshot().csn;
        let mut slot = self.slot.borrow_mut();
        if slot.state() == TransactionState::Idle {
            return Err(no_transaction());
        }
        if slot.depth() > 0 {
            let message = "cannot export a snapshot from a subtransaction";
            return Err(Error::new(sqlstate::ACTIVE_SQL_TRANSACTION, message));
        }
        slot.hold_snapshot_at(csn);
        let mut own = self.exports.borrow_mut();
        let mut registry = self.shared().exports.0.lock();
        if own.names.is_empty() {
            registry.exporters += 1;
            own.number = registry.exporters;
        }
        // As PostgreSQL forms it: the session, its transaction, and the snapshot's number in that.
        let name = format!("{:08X}-{:08X}-{}", slot.owner().0 + 1, own.number, own.names.len() + 1);
        registry
            .by_name
            .insert(name.clone(), Export { csn, options: slot.options(), is_safe: slot.serializable().is_none() });
        own.names.push(name.clone());
        Ok(name)
    }

    /// `SET TRANSACTION SNAPSHOT`: the transaction sees what the exporter of `name` sees.
    ///
    /// # Errors
    /// - 25001 after the first query or inside a savepoint.
    /// - 0A000 at read committed. At serializable, 0A000 if the exporter is not serializable, if the exporter is
    ///   read-only and this transaction may write, or if this transaction is read-only and deferrable.
    /// - 22023 for a name that nobody has exported, or whose exporter has ended.
    pub fn import_snapshot(&mut self, name: &str) -> Result<()> {
        let slot = self.slot.get_mut();
        if slot.has_begun() || slot.depth() > 0 {
            let message = "SET TRANSACTION SNAPSHOT must be called before any query";
            return Err(Error::new(sqlstate::ACTIVE_SQL_TRANSACTION, message));
        }
        let own = slot.options();
        if slot.state() == TransactionState::Idle || own.isolation == Isolation::ReadCommitted {
            return Err(Error::unsupported(
                "a snapshot-importing transaction must have isolation level SERIALIZABLE or REPEATABLE READ",
            ));
        }
        let registry = self.database.shared.exports.0.lock();
        let Some(export) = registry.by_name.get(name) else {
            let message = format!("invalid snapshot identifier: \"{name}\"");
            return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message));
        };
        if own.isolation == Isolation::Serializable {
            if export.options.isolation != Isolation::Serializable {
                return Err(Error::unsupported(
                    "a serializable transaction cannot import a snapshot from a non-serializable transaction",
                ));
            }
            if export.options.read_only && !own.read_only {
                return Err(Error::unsupported(
                    "a non-read-only serializable transaction cannot import a snapshot from a read-only transaction",
                ));
            }
            if own.read_only && own.deferrable {
                return Err(Error::unsupported("a snapshot-importing transaction must not be READ ONLY DEFERRABLE"));
            }
        }
        slot.import_snapshot(export.csn, export.is_safe)
    }

    /// The transaction ends: nobody can import its snapshots any more. Before it gives them up.
    #[inline]
    /// Whether the transaction has exported a snapshot.
    pub(super) fn has_exports(&self) -> bool {
        !self.exports.borrow().names.is_empty()
    }

    pub(super) fn withdraw_exports(&self) {
        if !self.exports.borrow().names.is_empty() {
            self.withdraw_all();
        }
    }

    #[cold]
    fn withdraw_all(&self) {
        let mut registry = self.shared().exports.0.lock();
        for name in self.exports.borrow_mut().names.drain(..) {
            registry.by_name.remove(&name);
        }
    }
}
