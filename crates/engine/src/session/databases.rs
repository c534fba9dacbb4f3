//! Making databases as copies of others, and dropping them.
//!
//! A copy has its template's objects under the same numbers, because rows may hold these numbers. Their files are copied page by page, and each
//! page is logged. Locks and counts need a number that no other database uses: each object of a copy gets one ([`Entry::unique`]).

use base::{Error, FileNumber, Oid, Result, Xid};
use buffer::PageId;
use lockmgr::{LockMode, LockTag, WaitPolicy};
use schema::catalog::{Catalog, Change, DatabaseDef, Entry, Object, class};
use wal::{RecordHead, RmgrId};

use super::Session;
use crate::redo::EngineRecord;

impl Session {
    /// Makes a database with the objects of `template`. The caller sees to it that no session is in `template`, and that no prepared
    /// transaction is.
    ///
    /// # Errors
    /// 42P04 if the name is taken; 25006 in a read-only transaction; 53100, 58030, XX001; interrupts.
    pub fn create_database(&self, def: DatabaseDef, template: Oid) -> Result<()> {
        let database = def.oid;
        self.create_object(def)?;
        // A vacuum in the background would change files while they are copied.
        self.lock_tables_of(template, LockMode::Share)?;
        let catalogs = self.database.catalogs();
        if catalogs.of(Oid::INVALID).database_def(template).is_none() {
            return Err(self.no_object(template));
        }
        let source = catalogs.of(template);
        for entry in source.own_entries().filter(|entry| !is_temporary(source, &entry.object)) {
            self.yield_point()?;
            let object = self.with_copied_storage(&entry.object)?;
            // Objects that every database has from its beginning keep their own number, so that most databases have no second numbers at all.
            let unique = if object.oid() < Oid::FIRST_NORMAL { object.oid() } else { self.allocate_oid() };
            let copy = Entry { object, database, unique, rows: [].into() };
            let copy = self.with_latest_ctx(|ctx| self.shared().catalog.write(ctx, copy))?;
            self.changed(Change::Put(copy))?;
        }
        Ok(())
    }

    /// Drops a database with all that it has. The caller sees to it that no session and no prepared transaction is in it.
    ///
    /// # Errors
    /// 42704 if there is no such database; 25006 in a read-only transaction.
    pub fn drop_database(&self, database: Oid) -> Result<()> {
        self.drop_object(database)?;
        // A vacuum in the background ends first, and none begins.
        self.lock_tables_of(database, LockMode::AccessExclusive)?;
        let catalogs = self.database.catalogs();
        for entry in catalogs.of(database).own_entries() {
            self.yield_point()?;
            self.erase(entry)?;
            for file in entry.object.files() {
                self.drop_storage(file)?;
            }
            self.changed(Change::Drop { database, oid: entry.object.oid() })?;
        }
        Ok(())
    }

    /// Locks all tables of a database that nobody is in. The catalogs of before may be out of date afterwards.
    fn lock_tables_of(&self, database: Oid, mode: LockMode) -> Result<()> {
        let catalogs = self.database.catalogs();
        let is_table = |entry: &&Entry| matches!(&entry.object, Object::Table(def) if def.kind.has_storage());
        let tables = catalogs.of(database).own_entries().filter(is_table);
        let mut numbers: Vec<Oid> = tables.map(|entry| entry.unique).collect();
        numbers.sort_unstable();
        for unique in numbers {
            self.yield_point()?;
            self.lock(LockTag::Relation(unique), mode, WaitPolicy::Block)?;
        }
        Ok(())
    }

    /// The object with copies of its files.
    fn with_copied_storage(&self, object: &Object) -> Result<Object> {
        Ok(match object.clone() {
            Object::Table(def) => {
                let mut def = std::sync::Arc::unwrap_or_clone(def);
                for file in [&mut def.file, &mut def.overflow_file, &mut def.overflow_index_file] {
                    *file = self.copy_file(*file)?;
                }
                def.into()
            }
            Object::Index(def) => {
                let mut def = std::sync::Arc::unwrap_or_clone(def);
                def.file = self.copy_file(def.file)?;
                def.into()
            }
            Object::Sequence(def) => {
                let mut def = std::sync::Arc::unwrap_or_clone(def);
                // The page may hold a later value, since values are logged ahead. The copy goes on from the last value that was given out.
                let shared = self.shared();
                let (position, _) = shared.sequences.position(&shared.pool, def.file)?;
                def.file = self.create_storage()?;
                let xid = self.assign_xid()?;
                shared.sequences.create_at(&shared.pool, &shared.wal, def.file, position, xid)?;
                def.into()
            }
            other => other.copied(),
        })
    }

    /// Copies a file, and returns the copy's number; 0 for 0.
    fn copy_file(&self, from: FileNumber) -> Result<FileNumber> {
        if from == FileNumber(0) {
            return Ok(from);
        }
        let shared = self.shared();
        let to = self.create_storage()?;
        // The rows of the copy are as old as those of the file.
        shared.frozen.set(to, shared.frozen.of(from));
        for block in 0..shared.pool.block_count(from)? {
            self.yield_point()?;
            shared.wal.ensure_room(EngineRecord::PAGE_COPIED_BYTES_MAX);
            let source = shared.pool.pin(PageId::new(from, block))?;
            let mut page = shared.pool.pin_new(to)?;
            if page.page_id().block != block {
                return Err(Error::internal("somebody else writes to a file that is being copied"));
            }
            page.copy_from_slice(&source.read());
            let head = RecordHead { rmgr: RmgrId::ENGINE, info: EngineRecord::PAGE_COPIED, xid: Xid::INVALID };
            let parts = [&to.0.to_le_bytes()[..], &block.to_le_bytes(), &page[..]];
            let end = shared.wal.insert(head, &parts).end;
            page.set_lsn(end);
        }
        Ok(to)
    }
}

/// Whether an object belongs to a session's temporary schema, or says who may use such an object.
fn is_temporary(catalog: &Catalog, object: &Object) -> bool {
    match object {
        Object::Schema(def) => catalog.is_temporary(def.oid),
        Object::Custom(def) if matches!(def.class, class::ACL | class::COLUMN) => {
            let subject = def.name.parse().ok().and_then(|number| catalog.object(Oid(number)));
            subject.is_some_and(|subject| catalog.is_temporary(subject.schema()))
        }
        object => catalog.is_temporary(object.schema()),
    }
}
