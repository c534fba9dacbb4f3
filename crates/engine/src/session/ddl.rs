//! Objects, their storage, and locks on them.

use base::{FileNumber, Oid, Result};
use lockmgr::{AdvisoryKey, Granted, LockMode, WaitPolicy};
use sync::Arc;

use super::Session;
use crate::catalog::{Catalog, Object};
use crate::table::Table;

impl Session {
    /// The catalog as this transaction sees it: the latest committed one with its own changes. One atomic load if
    /// nothing has changed since the last call.
    pub fn catalog(&self) -> Arc<Catalog> {
        todo!()
    }

    /// The version that [`Session::catalog`] would have. Compare for equality: own changes have versions of their own.
    pub fn catalog_version(&self) -> u64 {
        todo!()
    }

    /// An identifier for a new object; never given out again.
    pub fn allocate_oid(&self) -> Oid {
        todo!()
    }

    /// Makes an object. Storage is made for it where its descriptor has file zero. Its name is locked first, so that of
    /// two who make the same one the second waits for the first.
    ///
    /// # Errors
    /// 42P06, 42P07, 42723, 42710 if the name is taken; 25006 in a read-only transaction.
    pub fn create_object(&self, object: impl Into<Object>) -> Result<()> {
        self.create(object.into())
    }

    /// Gives an object another description. Files that the old one named and the new one doesn't go at commit; storage
    /// is made where the new one has file zero.
    ///
    /// # Errors
    /// 42704 if there is no such object; as [`Session::create_object`] if its name changes; XX000 "tuple concurrently
    /// updated" if another transaction changes it at the same time.
    pub fn replace_object(&self, object: impl Into<Object>) -> Result<()> {
        self.replace(object.into())
    }

    fn create(&self, object: Object) -> Result<()> {
        todo!()
    }

    fn replace(&self, object: Object) -> Result<()> {
        todo!()
    }

    /// Drops an object and, once committed and durable, its storage. Objects that depend on it are the caller's.
    ///
    /// # Errors
    /// 42704 if there is no such object; XX000 "tuple concurrently deleted".
    pub fn drop_object(&self, oid: Oid) -> Result<()> {
        todo!()
    }

    /// Makes an empty file, which goes again if the transaction (or savepoint) is rolled back.
    ///
    /// # Errors
    /// 25006 in a read-only transaction; 53100, 58030.
    pub fn create_storage(&self) -> Result<FileNumber> {
        todo!()
    }

    /// Removes a file once the transaction has committed and that is durable.
    ///
    /// # Errors
    /// 25006 in a read-only transaction.
    pub fn drop_storage(&self, file: FileNumber) -> Result<()> {
        todo!()
    }

    /// Locks a relation until the transaction ends. Look into the catalog again afterwards: it may have changed.
    ///
    /// # Errors
    /// 55P03, 40P01, 57014.
    pub fn lock_relation(&self, oid: Oid, mode: LockMode, wait: WaitPolicy) -> Result<Granted> {
        todo!()
    }

    /// Locks any object that is not a relation until the transaction ends; `class` is the oid of PostgreSQL's catalog
    /// for its kind.
    ///
    /// # Errors
    /// As [`Session::lock_relation`].
    pub fn lock_object(&self, class: Oid, oid: Oid, mode: LockMode, wait: WaitPolicy) -> Result<Granted> {
        todo!()
    }

    /// Locks a name until the transaction ends, so that who makes an object of it can look first.
    ///
    /// # Errors
    /// As [`Session::lock_relation`].
    pub fn lock_name(&self, schema: Oid, name: &str) -> Result<()> {
        todo!()
    }

    /// Takes an advisory lock; `for_session`: until unlocked or the session ends, otherwise until the transaction ends.
    ///
    /// # Errors
    /// As [`Session::lock_relation`].
    pub fn advisory_lock(
        &self,
        key: AdvisoryKey,
        mode: LockMode,
        wait: WaitPolicy,
        for_session: bool,
    ) -> Result<Granted> {
        todo!()
    }

    /// Gives back one acquisition of a session-level advisory lock; false: it was not held.
    pub fn advisory_unlock(&self, key: AdvisoryKey, mode: LockMode) -> bool {
        todo!()
    }

    /// Gives back all session-level advisory locks.
    pub fn advisory_unlock_all(&self) {
        todo!()
    }

    /// Opens a table as the catalog describes it now.
    ///
    /// # Errors
    /// 42P01 if there is no such table; 42809 if it has no rows of its own.
    pub fn open_table(&self, oid: Oid) -> Result<Arc<Table>> {
        todo!()
    }
}
