//! The catalog's rows, and how versions of it are published.
//!
//! Objects are rows of one heap, `base/1`, in pieces where a page can't hold them. They are read once, when the database
//! is opened; from then on [`Catalogs`] in memory follow the rows.
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
    BOOTSTRAP_ROLE, Catalogs, Change, DATABASE_OID, DATABASE_OWNER_ROLE, DatabaseDef, Entry, INFORMATION_SCHEMA,
    Object, PG_CATALOG_SCHEMA, PREDEFINED_ROLES, PUBLIC_SCHEMA, RoleDef, SchemaDef, TEMPLATE0_DATABASE,
    TEMPLATE1_DATABASE, class,
};

/// The heap of the catalog.
pub(crate) const CATALOG_FILE: FileNumber = FileNumber(1);
/// The identifier by which locks and messages know it.
pub(crate) const CATALOG_RELATION: Oid = Oid(1);
/// Serialises the publishing of versions.
pub(crate) const PUBLISH_LOCK: LockTag = LockTag::Object { class: CATALOG_RELATION, object: 0 };
pub(crate) const PUBLISH_MODE: LockMode = LockMode::Exclusive;

/// `u32` [`Entry::unique`], `u16` piece with [`HAS_DATABASE`], `u16` pieces, `u32` database, which is zero for objects that all databases share.
const PIECE_HEAD_BYTES: usize = 12;
/// Set in the number of each piece. Older code wrote rows without it, and without a database: there was one. It could write more pieces, of a
/// description of over 196 MB.
const HAS_DATABASE: u16 = 1 << 15;
/// The most pieces of an object.
const PIECES_MAX: usize = HAS_DATABASE as usize - 1;
const PIECE_BYTES: usize = 6000;

const _: () = assert!(PIECE_HEAD_BYTES + PIECE_BYTES <= heap::PAYLOAD_MAX_BYTES);

/// The committed catalog and its heap.
pub(crate) struct CatalogStore {
    pub(crate) heap: Arc<Heap>,
    committed: ArcSwap<Catalogs>,
    /// The version that the commit in progress will make current. A leaf.
    pending: Mutex<Option<Arc<Catalogs>>>,
}

impl CatalogStore {
    pub(crate) fn new(relations: &Relations, heaps: &Arc<HeapServices>) -> CatalogStore {
        CatalogStore {
            heap: relations.heap(heaps, CATALOG_RELATION, CATALOG_FILE, 100),
            committed: ArcSwap::from_pointee(Catalogs::default()),
            pending: Mutex::new(None),
        }
    }

    /// The version installed last. Use [`CatalogStore::latest`] unless nobody else is there.
    pub(crate) fn committed(&self) -> Arc<Catalogs> {
        self.committed.load_full()
    }

    /// The latest committed version.
    #[inline]
    pub(crate) fn latest(&self, shared: &Shared) -> Arc<Catalogs> {
        let committed = self.committed.load();
        if committed.version() == shared.transactions.catalog_version() {
            return committed.clone();
        }
        drop(committed);
        self.install(shared)
    }

    /// Installs what is pending, now that its version has been reached.
    #[cold]
    pub(crate) fn install(&self, shared: &Shared) -> Arc<Catalogs> {
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
    fn read(&self, shared: &Shared, own: Xid, version: u64) -> Result<Catalogs> {
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
        let mut pieces: FxHashMap<(Option<Oid>, Oid), Vec<Piece>> = FxHashMap::default();
        let mut page = PageTuples::new();
        let mut scan = self.heap.scan()?;
        while scan.next_page(&ctx, &mut page)? {
            for (tid, bytes) in page.iter() {
                let PieceHead { database, unique, piece, rest } = PieceHead::decode(bytes)?;
                pieces.entry((database, unique)).or_default().push((piece, tid, rest.to_vec()));
            }
        }
        let mut changes = Vec::with_capacity(pieces.len());
        for ((database, unique), mut parts) in pieces {
            parts.sort_by_key(|(piece, ..)| *piece);
            let bytes: Vec<u8> = parts.iter().flat_map(|(_, _, bytes)| bytes.iter().copied()).collect();
            let object = decode_object(bytes)
                .map_err(|error| Error::corrupted(format!("catalog object {unique} is damaged: {error}")))?;
            let (database, object) = match database {
                Some(database) => (database, object),
                None => from_former_layout(object),
            };
            let rows = parts.iter().map(|(_, tid, _)| *tid).collect();
            changes.push(Change::Put(Entry { object, database, unique, rows }));
        }
        Ok(Catalogs::default().with_changes(&changes, version))
    }

    /// Writes the rows of an object. Returns the entry with these rows.
    pub(crate) fn write(&self, ctx: &TxnCtx<'_>, entry: Entry) -> Result<Entry> {
        let Entry { object, database, unique, .. } = entry;
        let bytes = postcard::to_stdvec(&object)
            .map_err(|error| Error::internal(format!("could not serialise catalog object: {error}")))?;
        let pieces = bytes.len().div_ceil(PIECE_BYTES).max(1);
        if pieces > PIECES_MAX {
            let message = format!("description of \"{}\" is too long", object.name());
            return Err(Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        }
        let mut rows = Vec::with_capacity(pieces);
        let mut row = Vec::with_capacity(PIECE_HEAD_BYTES + bytes.len().min(PIECE_BYTES));
        for (piece, part) in bytes.chunks(PIECE_BYTES).enumerate() {
            row.clear();
            row.extend_from_slice(&unique.0.to_le_bytes());
            row.extend_from_slice(&(piece as u16 | HAS_DATABASE).to_le_bytes());
            row.extend_from_slice(&(pieces as u16).to_le_bytes());
            row.extend_from_slice(&database.0.to_le_bytes());
            row.extend_from_slice(part);
            rows.push(self.heap.insert(ctx, &row)?);
        }
        Ok(Entry { object, database, unique, rows: rows.into() })
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

    /// Fills the catalog of a new folder: the first role, the predefined ones, and three databases.
    pub(crate) fn fill_new(database: &Database) -> Result<()> {
        let mut session = database.session()?;
        session.begin(crate::TransactionOptions::default())?;
        session.create_at_start(
            RoleDef {
                superuser: true,
                create_role: true,
                create_database: true,
                login: true,
                replication: true,
                bypass_row_security: true,
                ..predefined_role(BOOTSTRAP_ROLE, &database.shared.options.superuser, &[])
            },
            Oid::INVALID,
        )?;
        for (oid, name, member_of) in PREDEFINED_ROLES {
            session.create_at_start(predefined_role(oid, name, member_of), Oid::INVALID)?;
        }
        session.commit_and_wait()?;
        Self::add_missing(database)?;
        Ok(())
    }

    /// Makes the predefined roles and the first databases that a folder of an older version has not. Whether it did.
    pub(crate) fn add_missing(database: &Database) -> Result<bool> {
        let catalogs = database.catalogs();
        let shared = catalogs.of(Oid::INVALID);
        let is_missing =
            |(oid, name, _): &(Oid, &str, &[Oid])| shared.role(*oid).is_none() && shared.role_by_name(name).is_none();
        let roles: Vec<_> = PREDEFINED_ROLES.into_iter().filter(is_missing).collect();
        // Only a folder from before there were several databases has no database but `postgres`.
        let has_templates = shared.databases().any(|def| def.oid != DATABASE_OID);
        let mut databases = if has_templates { Vec::new() } else { first_databases().to_vec() };
        databases.retain(|def| shared.database_def(def.oid).is_none());
        if roles.is_empty() && databases.is_empty() {
            return Ok(false);
        }
        let mut session = database.session()?;
        session.begin(crate::TransactionOptions::default())?;
        for (oid, name, member_of) in roles {
            session.create_at_start(predefined_role(oid, name, member_of), Oid::INVALID)?;
        }
        for def in databases {
            let is_empty = catalogs.of(def.oid).schemas().next().is_none();
            for schema in first_schemas().into_iter().filter(|_| is_empty) {
                session.create_at_start(schema, def.oid)?;
            }
            session.create_at_start(def, Oid::INVALID)?;
        }
        session.commit_and_wait()?;
        Ok(true)
    }
}

/// The databases of a new folder.
fn first_databases() -> [DatabaseDef; 3] {
    let database = |oid, name: &str, comment: &str| DatabaseDef {
        comment: Some(comment.into()),
        ..DatabaseDef::new(oid, name, BOOTSTRAP_ROLE)
    };
    let template = |oid, name: &str, comment: &str, allows_connections| DatabaseDef {
        is_template: true,
        allows_connections,
        ..database(oid, name, comment)
    };
    [
        database(DATABASE_OID, "postgres", "default administrative connection database"),
        template(TEMPLATE1_DATABASE, "template1", "default template for new databases", true),
        template(TEMPLATE0_DATABASE, "template0", "unmodifiable empty database", false),
    ]
}

/// The schemas of a new database.
fn first_schemas() -> [SchemaDef; 3] {
    let schema = |oid, name: &str, owner, comment: Option<&str>| SchemaDef {
        oid,
        name: name.into(),
        owner,
        comment: comment.map(Into::into),
    };
    [
        schema(PG_CATALOG_SCHEMA, "pg_catalog", BOOTSTRAP_ROLE, Some("system catalog schema")),
        schema(PUBLIC_SCHEMA, "public", DATABASE_OWNER_ROLE, Some("standard public schema")),
        schema(INFORMATION_SCHEMA, "information_schema", BOOTSTRAP_ROLE, None),
    ]
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

/// A row of an object: the number of the piece, the row's place, and its part of the description.
type Piece = (u16, Tid, Vec<u8>);

/// The beginning of a row, and what follows it.
struct PieceHead<'b> {
    /// None: older code wrote the row, when there was one database.
    database: Option<Oid>,
    unique: Oid,
    piece: u16,
    rest: &'b [u8],
}

impl PieceHead<'_> {
    fn decode(bytes: &[u8]) -> Result<PieceHead<'_>> {
        let cut_short = || Error::corrupted("catalog row is cut short");
        let (head, rest) = bytes.split_first_chunk::<8>().ok_or_else(cut_short)?;
        let [a, b, c, d, e, f, _, _] = *head;
        let (unique, piece) = (Oid(u32::from_le_bytes([a, b, c, d])), u16::from_le_bytes([e, f]));
        if piece & HAS_DATABASE == 0 {
            return Ok(PieceHead { database: None, unique, piece, rest });
        }
        let (database, rest) = rest.split_first_chunk().ok_or_else(cut_short)?;
        let database = Some(Oid(u32::from_le_bytes(*database)));
        Ok(PieceHead { database, unique, piece: piece & !HAS_DATABASE, rest })
    }
}

/// The database of an object in a row of the former layout, and the object in today's form. The owner of the database and the privileges on it
/// were custom objects.
fn from_former_layout(object: Object) -> (Oid, Object) {
    let object = match &object {
        Object::Custom(def) if def.class == class::DATABASE => {
            Object::from(DatabaseDef::new(def.oid, def.name.as_str(), def.owner))
        }
        Object::Custom(def) if def.class == class::ACL && def.name == DATABASE_OID.to_string() => {
            let mut def = (**def).clone();
            def.class = class::SHARED_ACL;
            Object::from(def)
        }
        _ => object,
    };
    (if object.is_shared() { Oid::INVALID } else { DATABASE_OID }, object)
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
