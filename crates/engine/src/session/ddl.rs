//! Objects, their storage, and locks on them.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use base::{Error, FileNumber, Oid, Result, sqlstate};
use btree::BTree;
use lockmgr::{AdvisoryKey, Granted, LockMode, LockTag, Scope, WaitPolicy};
use rustc_hash::FxHasher;
use smallvec::SmallVec;
use sync::atomic::Ordering;
use wal::{RecordHead, RmgrId};
use xact::SavepointId;

use super::Session;
use crate::catalog_store::CATALOG_RELATION;
use crate::large::Overflow;
use crate::redo::EngineRecord;
use crate::relations::is_current;
use crate::table::{Index, Table};
use schema::catalog::{Catalog, Change, DATABASE_OID, Entry, NameSpace, Object, TableDef, class};
use schema::row::{ColumnSet, PhysicalType};

/// Catalog versions with this bit are a transaction's own.
const OWN_VERSION: u64 = 1 << 63;

/// A transaction's own changes of the catalog.
#[derive(Default)]
pub(super) struct Ddl {
    changes: Vec<Change>,
    /// How many changes there were when each open savepoint began.
    marks: Vec<(SavepointId, usize)>,
    /// The committed catalog with the changes laid over it, and how many of each it was made of.
    own: Option<(u64, usize, Arc<Catalog>)>,
}

impl Ddl {
    #[inline]
    pub(super) fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    pub(super) fn changes(&self) -> &[Change] {
        &self.changes
    }

    pub(super) fn mark(&mut self, savepoint: SavepointId) {
        self.marks.push((savepoint, self.changes.len()));
    }

    /// Marks ascend, and there may be many.
    fn mark_of(&self, savepoint: SavepointId) -> Option<usize> {
        self.marks.binary_search_by_key(&savepoint, |(id, _)| *id).ok()
    }

    pub(super) fn release(&mut self, savepoint: SavepointId) {
        if let Some(at) = self.mark_of(savepoint) {
            self.marks.truncate(at);
        }
    }

    /// Whether anything was undone.
    pub(super) fn rollback_to(&mut self, savepoint: SavepointId) -> bool {
        let Some(at) = self.mark_of(savepoint) else { return false };
        self.marks.truncate(at + 1);
        let kept = self.marks[at].1;
        let undone = kept < self.changes.len();
        self.changes.truncate(kept);
        if undone {
            self.own = None;
        }
        undone
    }

    /// Whether a table has got its storage since the innermost open savepoint began; `before` is what is committed.
    fn has_new_storage(&self, table: &TableDef, before: &Catalog) -> bool {
        let start = self.marks.last().map_or(0, |(_, start)| *start);
        let has_it = |change: &Change| {
            matches!(change, Change::Put(Entry { object: Object::Table(def), .. })
                if def.oid == table.oid && def.file == table.file)
        };
        let was_there = before.table(table.oid).is_some_and(|old| old.file == table.file);
        !was_there && self.changes[start..].iter().any(has_it) && !self.changes[..start].iter().any(has_it)
    }

    /// Forgets everything; whether there was anything.
    pub(super) fn clear(&mut self) -> bool {
        self.marks.clear();
        self.own = None;
        let any = !self.changes.is_empty();
        self.changes.clear();
        any
    }
}

impl Session {
    /// The catalog as this transaction sees it: the latest committed one with its own changes. One atomic load if
    /// nothing has changed since the last call.
    #[inline]
    pub fn catalog(&self) -> Arc<Catalog> {
        if self.ddl.borrow().has_changes() {
            return self.own_catalog();
        }
        self.committed_catalog()
    }

    /// Whether a table was made or truncated by this transaction, since the innermost open savepoint began.
    pub fn has_new_storage(&self, table: &TableDef) -> bool {
        let committed = self.committed_catalog();
        self.ddl.borrow().has_new_storage(table, &committed)
    }

    /// The version that [`Session::catalog`] has. Compare for equality: own changes have versions of their own.
    #[inline]
    pub fn catalog_version(&self) -> u64 {
        if self.ddl.borrow().has_changes() {
            return self.own_catalog().version();
        }
        let known = self.catalog.borrow().version();
        // The caller may find its data valid by a newer version. Its answer then reveals that version, so the session has
        // met it.
        if known == self.shared().transactions.catalog_version() { known } else { self.committed_catalog().version() }
    }

    #[inline]
    fn committed_catalog(&self) -> Arc<Catalog> {
        let mut catalog = self.catalog.borrow_mut();
        if catalog.version() != self.shared().transactions.catalog_version() {
            *catalog = Arc::clone(self.shared().catalog.latest(self.shared()).of(self.database_oid));
            self.observe(catalog.csn());
        }
        catalog.clone()
    }

    fn own_catalog(&self) -> Arc<Catalog> {
        let committed = self.committed_catalog();
        let mut ddl = self.ddl.borrow_mut();
        if let Some((version, count, own)) = &ddl.own
            && (*version, *count) == (committed.version(), ddl.changes.len())
        {
            return own.clone();
        }
        let version = OWN_VERSION | self.shared().own_versions.fetch_add(1, Ordering::Relaxed);
        // Each of a transaction's thousands of definitions adds to what the one before made.
        let own = match &ddl.own {
            Some((of, count, own)) if *of == committed.version() => own.with_changes(&ddl.changes[*count..], version),
            _ => committed.with_changes(&ddl.changes, version),
        };
        let own = Arc::new(own);
        ddl.own = Some((committed.version(), ddl.changes.len(), own.clone()));
        own
    }

    /// An identifier for a new object; not in use, and not given out again before 2^32 others were. [`Oid::INVALID`] once the
    /// database is closed: no object can be made in it.
    pub fn allocate_oid(&self) -> Oid {
        // The log is written now and then.
        let Ok(_operation) = self.shared().begin_operation() else { return Oid::INVALID };
        let catalog = self.catalog();
        loop {
            self.shared().wal.ensure_room(64);
            let oid = self.shared().numbers.allocate_oid(&self.shared().wal);
            if catalog.object(oid).is_none() {
                return oid;
            }
        }
    }

    /// Makes an object. Storage is made for it where its descriptor has file zero. Its name is locked first, so that of
    /// two who make the same one the second waits for the first.
    ///
    /// # Errors
    /// 42P06, 42P07, 42723, 42710 if the name is taken; 25006 in a read-only transaction.
    pub fn create_object(&self, object: impl Into<Object>) -> Result<()> {
        let object = object.into();
        self.assign_xid()?;
        self.claim_name(&object)?;
        self.create(object, self.database_oid)
    }

    /// Makes an object of a database at the start, when nobody else is there. Its name is not locked, since a prepared transaction may hold it for
    /// ever.
    ///
    /// # Errors
    /// As [`Session::create_object`].
    pub(crate) fn create_at_start(&self, object: impl Into<Object>, database: Oid) -> Result<()> {
        self.create(object.into(), database)
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

    fn create(&self, object: Object, database: Oid) -> Result<()> {
        self.assign_xid()?;
        let database = if object.is_shared() { Oid::INVALID } else { database };
        let object = self.with_storage(object)?;
        let entry = Entry { unique: object.oid(), object, database, rows: [].into() };
        let entry = self.with_latest_ctx(|ctx| self.shared().catalog.write(ctx, entry))?;
        self.shared().relations.activity(CATALOG_RELATION).count_inserts(entry.rows.len() as u64);
        self.changed(Change::Put(entry))
    }

    fn replace(&self, object: Object) -> Result<()> {
        self.assign_xid()?;
        let catalog = self.catalog();
        let old = catalog.entry(object.oid()).ok_or_else(|| self.no_object(object.oid()))?;
        if (old.object.name(), old.object.schema()) != (object.name(), object.schema()) {
            self.claim_name(&object)?;
        }
        let object = self.with_storage(object)?;
        self.erase(old)?;
        self.predicate_locks_follow(&old.object, Some(&object));
        let kept = object.files();
        for file in old.object.files() {
            if !kept.contains(&file) {
                self.drop_storage(file)?;
            }
        }
        let entry = Entry { object, ..old.clone() };
        let entry = self.with_latest_ctx(|ctx| self.shared().catalog.write(ctx, entry))?;
        self.changed(Change::Put(entry))
    }

    /// Drops an object and, once committed and durable, its storage. Objects that depend on it are the caller's.
    ///
    /// # Errors
    /// 42704 if there is no such object; XX000 "tuple concurrently deleted".
    pub fn drop_object(&self, oid: Oid) -> Result<()> {
        self.assign_xid()?;
        let catalog = self.catalog();
        let old = catalog.entry(oid).ok_or_else(|| self.no_object(oid))?;
        self.erase(old)?;
        self.predicate_locks_follow(&old.object, None);
        for file in old.object.files() {
            self.drop_storage(file)?;
        }
        self.changed(Change::Drop { database: old.database, oid })
    }

    /// Moves the predicate locks of serializable transactions when storage is given up: locks on parts of the old storage
    /// become locks on the whole table.
    fn predicate_locks_follow(&self, old: &Object, new: Option<&Object>) {
        let ssi = self.shared().transactions.ssi();
        match (old, new) {
            (Object::Table(old), Some(Object::Table(new))) if old.file != new.file => {
                ssi.relation_rewritten(&[old.file], new.file);
            }
            (Object::Index(old), new) => {
                let is_kept = matches!(new, Some(Object::Index(new)) if new.file == old.file);
                if !is_kept && let Some(table) = self.catalog().table(old.table) {
                    ssi.relation_rewritten(&[old.file], table.file);
                }
            }
            _ => {}
        }
    }

    pub(super) fn erase(&self, old: &Entry) -> Result<()> {
        self.with_latest_ctx(|ctx| self.shared().catalog.erase(ctx, old))?;
        let activity = self.shared().relations.activity(CATALOG_RELATION);
        old.rows.iter().for_each(|_| activity.count_delete());
        Ok(())
    }

    pub(super) fn changed(&self, change: Change) -> Result<()> {
        self.ddl.borrow_mut().changes.push(change);
        // The next change may be of the same object: it must see this one's rows.
        self.slot.borrow_mut().advance_command()
    }

    #[cold]
    pub(super) fn no_object(&self, oid: Oid) -> Error {
        self.observe_horizon();
        Error::new(sqlstate::UNDEFINED_OBJECT, format!("object with OID {oid} does not exist"))
    }

    /// Locks the name that `object` is to have and looks whether it is free.
    fn claim_name(&self, object: &Object) -> Result<()> {
        self.lock_name(object.schema(), object.name(), object.is_shared())?;
        let catalog = self.catalog();
        if catalog.conflicting(object).is_none()
            && catalog.object(object.oid()).is_none_or(|other| other.name_space() == object.name_space())
        {
            return Ok(());
        }
        self.observe_horizon();
        let name = object.name();
        let (code, what) = match (object.name_space(), object) {
            (NameSpace::Schema, _) => (sqlstate::DUPLICATE_SCHEMA, "schema"),
            (NameSpace::Relation, _) => (sqlstate::DUPLICATE_TABLE, "relation"),
            (NameSpace::Function, _) => {
                let message = format!("function \"{name}\" already exists with same argument types");
                return Err(Error::new(sqlstate::DUPLICATE_FUNCTION, message));
            }
            (NameSpace::Role, _) => (sqlstate::DUPLICATE_OBJECT, "role"),
            (NameSpace::Database, _) => (sqlstate::DUPLICATE_DATABASE, "database"),
            (NameSpace::Custom(_), _) => (sqlstate::DUPLICATE_OBJECT, "object"),
        };
        Err(Error::new(code, format!("{what} \"{name}\" already exists")))
    }

    /// The descriptor with storage made where it has none.
    fn with_storage(&self, object: Object) -> Result<Object> {
        const NONE: FileNumber = FileNumber(0);
        Ok(match object {
            Object::Table(def) if def.kind.has_storage() => {
                let needs_overflow = def.overflow_file == NONE
                    && def.columns.iter().any(|column| column.physical == PhysicalType::Bytes);
                if def.file != NONE && !needs_overflow {
                    return Ok(Object::Table(def));
                }
                let mut def: TableDef = Arc::unwrap_or_clone(def);
                if def.file == NONE {
                    def.file = self.create_storage()?;
                }
                if needs_overflow {
                    def.overflow_file = self.create_storage()?;
                    def.overflow_index_file = self.create_tree()?;
                }
                Object::Table(Arc::new(def))
            }
            Object::Index(def) if def.file == NONE => {
                let mut def = Arc::unwrap_or_clone(def);
                def.file = self.create_tree()?;
                Object::Index(Arc::new(def))
            }
            Object::Sequence(def) if def.file == NONE => {
                let mut def = Arc::unwrap_or_clone(def);
                def.file = self.create_storage()?;
                let (shared, xid) = (self.shared(), self.assign_xid()?);
                shared.sequences.create(&shared.pool, &shared.wal, def.file, def.start, xid)?;
                Object::Sequence(Arc::new(def))
            }
            other => other,
        })
    }

    fn create_tree(&self) -> Result<FileNumber> {
        let file = self.create_storage()?;
        BTree::create(self.shared().trees.clone(), file)?;
        Ok(file)
    }

    /// Makes an empty file, which goes again if the transaction (or savepoint) is rolled back.
    ///
    /// # Errors
    /// 25006 in a read-only transaction; 53100, 58030.
    pub fn create_storage(&self) -> Result<FileNumber> {
        let xid = self.assign_xid()?;
        let shared = self.shared();
        shared.removals.wait_while_many();
        let file = shared.numbers.allocate_file();
        shared.frozen.set(file, shared.transactions.oldest_running_xid());
        // Known to the rollback before it is there: a file that could not be made is no file to remove.
        self.slot.borrow_mut().drop_file_at_abort(file);
        let head = RecordHead { rmgr: RmgrId::ENGINE, info: EngineRecord::FILE_CREATED, xid };
        shared.wal.insert(head, &[&file.0.to_le_bytes()]);
        shared.pool.create_file(file)?;
        Ok(file)
    }

    /// Removes a file once the transaction has committed and that is durable.
    ///
    /// # Errors
    /// 25006 in a read-only transaction.
    pub fn drop_storage(&self, file: FileNumber) -> Result<()> {
        self.assign_xid()?;
        self.slot.borrow_mut().drop_file_at_commit(file);
        Ok(())
    }

    /// Locks a relation until the transaction ends. Look into the catalog again afterwards: it may have changed.
    ///
    /// Row operations lock their table by themselves; this is for those who want another mode, or the lock first.
    ///
    /// # Errors
    /// 55P03, 40P01, 57014.
    #[inline]
    pub fn lock_relation(&self, oid: Oid, mode: LockMode, wait: WaitPolicy) -> Result<Granted> {
        if self.is_locked(oid, mode) {
            return Ok(Granted::AlreadyHeld);
        }
        let granted = self.lock(LockTag::Relation(self.unique(oid)), mode, wait)?;
        if granted != Granted::Skipped && self.in_transaction() {
            self.locked.borrow_mut().push((oid, mode));
        }
        Ok(granted)
    }

    /// The number under which a relation is locked and counted. It never changes. A relation that this catalog does not know is new, and new
    /// relations have their own number.
    #[inline]
    pub(crate) fn unique(&self, oid: Oid) -> Oid {
        self.catalog.borrow().unique(oid)
    }

    #[inline]
    fn is_locked(&self, oid: Oid, mode: LockMode) -> bool {
        // Every mode keeps out what ACCESS SHARE keeps out.
        self.locked.borrow().iter().any(|(held, by)| *held == oid && (*by == mode || mode == LockMode::AccessShare))
    }

    /// Locks the table of a row operation, so that nobody drops, truncates or cuts it meanwhile.
    #[inline]
    pub(crate) fn lock_table(&self, table: &Table, mode: LockMode) -> Result<()> {
        if self.is_locked(table.oid(), mode) { Ok(()) } else { self.lock_table_now(table, mode) }
    }

    fn lock_table_now(&self, table: &Table, mode: LockMode) -> Result<()> {
        self.lock_relation(table.oid(), mode, WaitPolicy::Block)?;
        // The former holder of the lock may have given the table other storage.
        let catalog = self.catalog();
        if catalog.table(table.oid()).is_some_and(|def| is_current(table, def, catalog.indexes_of(table.oid()))) {
            return Ok(());
        }
        let now = self.open_table(table.oid())?;
        let files = |table: &Table| -> SmallVec<[FileNumber; 8]> {
            table.def.files().chain(table.indexes.iter().map(|index| index.def.file)).collect()
        };
        if files(&now) == files(table) && now.physical == table.physical {
            return Ok(());
        }
        Err(Error::new(
            sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("table \"{}\" has been changed by another transaction", table.def.name),
        )
        .hint("Open it again."))
    }

    /// The transaction, or part of it, has given its locks back.
    pub(super) fn forget_locks(&self) {
        self.locked.borrow_mut().clear();
    }

    /// Locks any object that is not a relation until the transaction ends; `class` is the oid of PostgreSQL's catalog
    /// for its kind.
    ///
    /// # Errors
    /// As [`Session::lock_relation`].
    pub fn lock_object(&self, class: Oid, oid: Oid, mode: LockMode, wait: WaitPolicy) -> Result<Granted> {
        self.lock(LockTag::Object { class, object: self.object_in_database(class, oid) }, mode, wait)
    }

    /// The number by which an object is locked. Those of `postgres`, and those that all databases share, have their own; the others have
    /// the number of their database in the upper half.
    fn object_in_database(&self, class: Oid, oid: Oid) -> u64 {
        let database =
            if class::is_shared(class) || self.database_oid == DATABASE_OID { 0 } else { self.database_oid.0 };
        u64::from(database) << 32 | u64::from(oid.0)
    }

    #[inline]
    pub(super) fn lock(&self, tag: LockTag, mode: LockMode, wait: WaitPolicy) -> Result<Granted> {
        self.shared().locks.lock(self.owner(), tag, mode, &self.lock_options(wait))
    }

    /// Locks a name until the transaction ends, so that the session can look first and then make an object of it. `is_shared`: of an object
    /// that all databases share.
    ///
    /// # Errors
    /// As [`Session::lock_relation`].
    pub fn lock_name(&self, schema: Oid, name: &str, is_shared: bool) -> Result<()> {
        let mut hasher = FxHasher::default();
        // Locks of prepared transactions of the time when there was one database have hashes without it.
        if !is_shared && self.database_oid != DATABASE_OID {
            self.database_oid.hash(&mut hasher);
        }
        (schema, name).hash(&mut hasher);
        // Two names with one hash only wait for each other. Zero is the publishing lock.
        let object = hasher.finish().max(1);
        self.lock(LockTag::Object { class: CATALOG_RELATION, object }, LockMode::Exclusive, WaitPolicy::Block)?;
        Ok(())
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
        let options = self.lock_options(wait);
        let options = if for_session { options.for_session() } else { options };
        self.shared().locks.lock(self.owner(), self.advisory_tag(key), mode, &options)
    }

    fn advisory_tag(&self, key: AdvisoryKey) -> LockTag {
        match self.database_oid {
            DATABASE_OID => LockTag::Advisory(key),
            database => LockTag::AdvisoryIn { database, key },
        }
    }

    /// Gives back one acquisition of a session-level advisory lock; false: it was not held.
    pub fn advisory_unlock(&self, key: AdvisoryKey, mode: LockMode) -> bool {
        self.shared().locks.unlock(self.owner(), self.advisory_tag(key), mode)
    }

    /// Gives back all session-level advisory locks.
    pub fn advisory_unlock_all(&self) {
        self.shared().locks.unlock_all(self.owner(), Scope::SessionAdvisory);
    }

    /// Opens a table as the catalog describes it now.
    ///
    /// # Errors
    /// 42P01 if there is no such table; 42809 if it has no rows of its own.
    pub fn open_table(&self, oid: Oid) -> Result<Arc<Table>> {
        let catalog = self.catalog();
        let Some(def) = catalog.table(oid) else {
            self.observe_horizon();
            let message = format!("could not open relation with OID {oid}");
            return Err(Error::new(sqlstate::UNDEFINED_TABLE, message));
        };
        let indexes = catalog.indexes_of(oid);
        if let Some(table) = self.tables.borrow().get(&oid).filter(|table| is_current(table, def, indexes)) {
            return Ok(table.clone());
        }
        let is_committed = !self.ddl.borrow().has_changes();
        let shared = if is_committed { self.shared().relations.table(def, indexes) } else { None };
        let table = match shared {
            Some(table) => table,
            None => {
                let table = self.build_table(def, &catalog)?;
                if is_committed {
                    self.shared().relations.share_table(&table);
                }
                table
            }
        };
        self.tables.borrow_mut().insert(oid, table.clone());
        Ok(table)
    }

    fn build_table(&self, def: &Arc<TableDef>, catalog: &Catalog) -> Result<Arc<Table>> {
        if !def.kind.has_storage() {
            return Err(Error::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{}\" is not a table", def.name)));
        }
        let (shared, unique) = (self.shared(), catalog.unique(def.oid));
        let (mut indexed_columns, mut key_columns) = (ColumnSet::new(), ColumnSet::new());
        let mut indexes: Vec<Arc<Index>> = Vec::new();
        for index in catalog.indexes_of(def.oid) {
            let columns = index.columns_read();
            indexed_columns.insert_all(&columns);
            if index.may_be_referenced() {
                key_columns.insert_all(&columns);
            }
            let btree = shared.relations.tree(&shared.trees, index.file)?;
            indexes.push(Arc::new(Index { def: index.clone(), btree, columns }));
        }
        let overflow = if def.overflow_file == FileNumber(0) {
            None
        } else {
            let heap = shared.relations.heap(&shared.heaps, unique, def.overflow_file, 100);
            let index = shared.relations.tree(&shared.trees, def.overflow_index_file)?;
            Some(Overflow::new(heap, index)?)
        };
        Ok(Arc::new(Table {
            physical: def.columns.iter().map(|column| column.physical).collect(),
            missing: if def.columns.iter().any(|column| column.missing_default.is_some()) {
                def.columns.iter().map(|column| column.missing_default.clone().map(Vec::into_boxed_slice)).collect()
            } else {
                Vec::new()
            },
            heap: shared.relations.heap(&shared.heaps, unique, def.file, def.fillfactor),
            has_deferrable_keys: indexes.iter().any(|index| index.def.deferrable),
            indexes,
            overflow,
            indexed_columns,
            key_columns,
            activity: shared.relations.activity(unique),
            def: def.clone(),
        }))
    }
}
