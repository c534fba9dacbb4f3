//! The catalog's rows, and how versions of it are published.
//!
//! Objects are rows of one heap, `base/1`, in pieces where a page can't hold them. They are read once, when the database
//! is opened; from then on a [`Catalog`] in memory follows the rows.
//!
//! A transaction keeps its changes in a journal of its own and sees a catalog with them laid over the committed one. Just
//! before it commits it takes the publishing lock and leaves the next version as *pending*; step 2 of its commit raises
//! the version number, in the same critical section that makes the commit visible. Each session that finds the number
//! raised installs the pending version, and so does the committing session. So nobody waits. No session can see the rows
//! of a commit without its objects, or the objects without the rows.

use std::sync::Arc;

use arc_swap::ArcSwap;
use base::settings::Id;
use base::{CommandId, Error, FileNumber, Lsn, Oid, OwnerId, Result, Tid, Xid, sqlstate};
use clog::{Snapshot, TxnCtx};
use heap::{Heap, HeapServices, Modify, PageTuples};
use lockmgr::{LockMode, LockTag, WaitPolicy};
use rustc_hash::FxHashMap;
use sync::Mutex;
use sync::atomic::AtomicU64;

use crate::database::{Database, Shared, integer};
use crate::relations::Relations;
use schema::catalog::{
    BOOTSTRAP_ROLE, Catalog, Change, DATABASE_OWNER_ROLE, Entry, INFORMATION_SCHEMA, Object, PG_CATALOG_SCHEMA,
    PREDEFINED_ROLES, PUBLIC_SCHEMA, RoleDef, SchemaDef,
};

/// The heap of the catalog.
pub(crate) const CATALOG_FILE: FileNumber = FileNumber(1);
/// The identifier by which locks and messages know it.
pub(crate) const CATALOG_RELATION: Oid = Oid(1);
/// Serialises the publishing of versions.
pub(crate) const PUBLISH_LOCK: LockTag = LockTag::Object { class: CATALOG_RELATION, object: 0 };
pub(crate) const PUBLISH_MODE: LockMode = LockMode::Exclusive;

/// `u32` object, `u16` piece, `u16` pieces.
const PIECE_HEAD_BYTES: usize = 8;
const PIECE_BYTES: usize = 6000;

const _: () = assert!(PIECE_HEAD_BYTES + PIECE_BYTES <= heap::PAYLOAD_MAX_BYTES);

/// The committed catalog and its heap.
pub(crate) struct CatalogStore {
    pub(crate) heap: Arc<Heap>,
    committed: ArcSwap<Catalog>,
    /// The version that the commit in progress will make current. A leaf.
    pending: Mutex<Option<Arc<Catalog>>>,
}

impl CatalogStore {
    pub(crate) fn new(relations: &Relations, heaps: &Arc<HeapServices>) -> CatalogStore {
        CatalogStore {
            heap: relations.heap(heaps, CATALOG_RELATION, CATALOG_FILE, 100),
            committed: ArcSwap::from_pointee(Catalog::default()),
            pending: Mutex::new(None),
        }
    }

    /// The version installed last. Use [`CatalogStore::latest`] unless nobody else is there.
    pub(crate) fn committed(&self) -> Arc<Catalog> {
        self.committed.load_full()
    }

    /// The latest committed version.
    #[inline]
    pub(crate) fn latest(&self, shared: &Shared) -> Arc<Catalog> {
        let committed = self.committed.load();
        if committed.version() == shared.transactions.catalog_version() {
            return committed.clone();
        }
        drop(committed);
        self.install(shared)
    }

    /// Installs what is pending, now that its version has been reached.
    #[cold]
    pub(crate) fn install(&self, shared: &Shared) -> Arc<Catalog> {
        // The version is raised before the horizon: what snapshots see must not be older than the catalog.
        shared.transactions.await_commit_in_progress();
        let mut pending = self.pending.lock();
        let version = shared.transactions.catalog_version();
        if let Some(next) = pending.take_if(|next| next.version() <= version) {
            let mut next = Arc::unwrap_or_clone(next);
            next.set_csn(shared.transactions.newest_commit());
            self.committed.store(Arc::new(next));
        }
        drop(pending);
        self.committed.load_full()
    }

    /// Leaves the committed catalog with `changes` as the next version. The caller holds [`PUBLISH_LOCK`] and commits next.
    pub(crate) fn prepare(&self, shared: &Shared, changes: &[Change]) {
        let latest = self.latest(shared);
        let next = latest.with_changes(changes, latest.version() + 1);
        *self.pending.lock() = Some(Arc::new(next));
    }

    /// As [`CatalogStore::prepare`], with the changes of a prepared transaction, as its rows tell them. The caller holds
    /// [`PUBLISH_LOCK`] and commits it next.
    pub(crate) fn prepare_for(&self, shared: &Shared, prepared: Xid) -> Result<()> {
        let version = self.latest(shared).version() + 1;
        let next = self.read(shared, prepared, version)?;
        *self.pending.lock() = Some(Arc::new(next));
        Ok(())
    }

    /// Reads all rows. Nobody else is there yet.
    pub(crate) fn load(&self, shared: &Shared, version: u64) -> Result<()> {
        let mut catalog = self.read(shared, Xid::INVALID, version)?;
        catalog.set_csn(shared.transactions.newest_commit());
        self.committed.store(Arc::new(catalog));
        Ok(())
    }

    /// The catalog as its rows tell it: what is committed, and what `own` has done.
    fn read(&self, shared: &Shared, own: Xid, version: u64) -> Result<Catalog> {
        let observed = AtomicU64::new(0);
        let interrupt = sync::Interrupt::new();
        let ctx = TxnCtx {
            xid: own,
            top_xid: own,
            snapshot: Snapshot { csn: Lsn::MAX, command: CommandId::MAX },
            command: CommandId::MAX,
            status: &shared.status,
            observed: &observed,
            owner: OwnerId(0),
            interrupt: &interrupt,
            lock_timeout: None,
            deadlock_timeout: std::time::Duration::from_secs(1),
            watch: None,
        };
        let mut pieces: FxHashMap<u32, Vec<(u16, Tid, Vec<u8>)>> = FxHashMap::default();
        let mut page = PageTuples::new();
        let mut scan = self.heap.scan()?;
        while scan.next_page(&ctx, &mut page)? {
            for (tid, bytes) in page.iter() {
                let (oid, piece) = decode_head(bytes)?;
                pieces.entry(oid).or_default().push((piece, tid, bytes[PIECE_HEAD_BYTES..].to_vec()));
            }
        }
        let mut changes = Vec::with_capacity(pieces.len());
        for (oid, mut parts) in pieces {
            parts.sort_by_key(|(piece, ..)| *piece);
            let bytes: Vec<u8> = parts.iter().flat_map(|(_, _, bytes)| bytes.iter().copied()).collect();
            let object = decode_object(bytes)
                .map_err(|error| Error::corrupted(format!("catalog object {oid} is damaged: {error}")))?;
            changes.push(Change::Put(Entry { object, rows: parts.iter().map(|(_, tid, _)| *tid).collect() }));
        }
        Ok(Catalog::default().with_changes(&changes, version))
    }

    /// Writes an object's rows.
    pub(crate) fn write(&self, ctx: &TxnCtx<'_>, object: Object) -> Result<Entry> {
        let bytes = postcard::to_stdvec(&object)
            .map_err(|error| Error::internal(format!("could not serialise catalog object: {error}")))?;
        let pieces = bytes.len().div_ceil(PIECE_BYTES).max(1);
        let count = u16::try_from(pieces).map_err(|_| {
            Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, format!("description of \"{}\" is too long", object.name()))
        })?;
        let mut rows = Vec::with_capacity(pieces);
        let mut row = Vec::with_capacity(PIECE_HEAD_BYTES + bytes.len().min(PIECE_BYTES));
        for (piece, part) in bytes.chunks(PIECE_BYTES).enumerate() {
            row.clear();
            row.extend_from_slice(&object.oid().0.to_le_bytes());
            row.extend_from_slice(&(piece as u16).to_le_bytes());
            row.extend_from_slice(&count.to_le_bytes());
            row.extend_from_slice(part);
            rows.push(self.heap.insert(ctx, &row)?);
        }
        Ok(Entry { object, rows: rows.into() })
    }

    /// Deletes an object's rows.
    pub(crate) fn erase(&self, ctx: &TxnCtx<'_>, entry: &Entry) -> Result<()> {
        for tid in entry.rows.iter() {
            match self.heap.delete(ctx, *tid, WaitPolicy::Block, None)? {
                Modify::Done { .. } => {}
                Modify::Updated { csn, .. } => {
                    ctx.observe(csn);
                    return Err(Error::internal("tuple concurrently updated"));
                }
                Modify::Deleted { csn } => {
                    ctx.observe(csn);
                    return Err(Error::internal("tuple concurrently deleted"));
                }
                Modify::SelfModified { .. } | Modify::Skipped => {
                    return Err(Error::internal("tuple already updated by self"));
                }
            }
        }
        Ok(())
    }

    /// Fills the catalog of a new database: its first schemas and the role that owns them.
    pub(crate) fn fill_new(database: &Database) -> Result<()> {
        let mut session = database.session()?;
        session.begin(crate::TransactionOptions::default())?;
        let schema = |oid, name: &str, owner, comment: &str| SchemaDef {
            oid,
            name: name.into(),
            owner,
            comment: Some(comment.into()),
        };
        let superuser = RoleDef {
            oid: BOOTSTRAP_ROLE,
            name: database.shared.options.superuser.clone(),
            superuser: true,
            inherit: true,
            create_role: true,
            create_database: true,
            login: true,
            replication: true,
            connection_limit: -1,
            password: None,
            valid_until: None,
            member_of: Vec::new(),
            settings: Vec::new(),
            comment: None,
            bypass_row_security: true,
            admin_of: Vec::new(),
        };
        for (oid, name, member_of) in PREDEFINED_ROLES {
            session.create_object(predefined_role(oid, name, member_of))?;
        }
        session.create_object(superuser)?;
        session.create_object(schema(PG_CATALOG_SCHEMA, "pg_catalog", BOOTSTRAP_ROLE, "system catalog schema"))?;
        session.create_object(schema(PUBLIC_SCHEMA, "public", DATABASE_OWNER_ROLE, "standard public schema"))?;
        session.create_object(SchemaDef {
            oid: INFORMATION_SCHEMA,
            name: "information_schema".into(),
            owner: BOOTSTRAP_ROLE,
            comment: None,
        })?;
        session.commit_and_wait()
    }

    /// Makes the predefined roles that a database of an older version has not. Whether it did.
    pub(crate) fn add_missing_roles(database: &Database) -> Result<bool> {
        let catalog = database.catalog();
        let missing: Vec<_> = PREDEFINED_ROLES
            .into_iter()
            .filter(|(oid, name, _)| catalog.role(*oid).is_none() && catalog.role_by_name(name).is_none())
            .collect();
        if missing.is_empty() {
            return Ok(false);
        }
        let mut session = database.session()?;
        session.begin(crate::TransactionOptions::default())?;
        for (oid, name, member_of) in missing {
            session.create_object(predefined_role(oid, name, member_of))?;
        }
        session.commit_and_wait()?;
        Ok(true)
    }
}

fn predefined_role(oid: Oid, name: &str, member_of: &[Oid]) -> RoleDef {
    RoleDef {
        oid,
        name: name.into(),
        superuser: false,
        inherit: true,
        create_role: false,
        create_database: false,
        login: false,
        replication: false,
        connection_limit: -1,
        password: None,
        valid_until: None,
        member_of: member_of.to_vec(),
        settings: Vec::new(),
        comment: None,
        bypass_row_security: false,
        admin_of: Vec::new(),
    }
}

/// The most fields that a kind of object has got since format version 2, all empty where older code wrote one: a zero each.
const YOUNGER_FIELDS: usize = 10;

/// Decodes an object. An older format wrote fewer fields, so its bytes end before the fields that were added later. These
/// fields are read as empty.
fn decode_object(mut bytes: Vec<u8>) -> postcard::Result<Object> {
    let length = bytes.len();
    loop {
        match postcard::from_bytes(&bytes) {
            Err(postcard::Error::DeserializeUnexpectedEnd) if bytes.len() < length + YOUNGER_FIELDS => bytes.push(0),
            decoded => return decoded,
        }
    }
}

fn decode_head(bytes: &[u8]) -> Result<(u32, u16)> {
    match bytes {
        [a, b, c, d, e, f, _, _, ..] => Ok((u32::from_le_bytes([*a, *b, *c, *d]), u16::from_le_bytes([*e, *f]))),
        _ => Err(Error::corrupted("catalog row is cut short")),
    }
}

/// `maintenance_work_mem` in bytes.
pub(crate) fn maintenance_bytes(shared: &Shared) -> usize {
    integer(&shared.options.settings, Id::MaintenanceWorkMem) as usize * 1024
}

#[cfg(test)]
mod tests {
    use base::Oid;

    use super::*;
    use schema::catalog::{IndexDef, TableDef};

    #[test]
    fn objects_of_formats_before_have_nothing_in_younger_fields() {
        let object = Object::from(TableDef::new(Oid(20000), Oid(2200), "t", BOOTSTRAP_ROLE));
        let mut bytes = postcard::to_stdvec(&object).unwrap();
        assert_eq!(decode_object(bytes.clone()).unwrap(), object);
        for _ in 0..YOUNGER_FIELDS {
            assert_eq!(bytes.pop(), Some(0));
            assert_eq!(decode_object(bytes.clone()).unwrap(), object);
        }
        bytes.truncate(bytes.len() / 2);
        assert!(decode_object(bytes).is_err());
        let table = TableDef::new(Oid(20000), Oid(2200), "t", BOOTSTRAP_ROLE);
        let object = Object::from(IndexDef::new(Oid(20001), &table, "t_index", &[], true));
        let mut bytes = postcard::to_stdvec(&object).unwrap();
        assert_eq!(bytes.pop(), Some(0));
        assert_eq!(decode_object(bytes).unwrap(), object);
    }
}
