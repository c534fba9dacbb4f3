//! Opening: a new directory, a closed one, and one whose process ended without closing it.
//!
//! | what is found | what happens |
//! | --- | --- |
//! | nothing, or an empty directory | a new database (if `create`) |
//! | `bootstrap` marker, no whole `control` | making it was interrupted: begun again from nothing |
//! | `bootstrap` marker and `control` | made to the end but for removing the marker: opened |
//! | other files, but no `control` | refused: not a data directory, or part of one is missing |
//! | `control` of a newer format | refused by name |
//! | `control` damaged in both copies | refused |
//! | lock held | refused: in use |
//! | `control` | recovery from its redo point; nothing to redo if it was closed |
//!
//! Recovery: torn pages are mended from the double-write area, then the log is read from the redo point and every record
//! applied, and a checkpoint makes all that lasting. Killed anywhere, it begins again from the same redo point. Files that no
//! object owns are removed last: the log from the old redo point may presuppose their pages.

use std::io;
use std::path::Path;
use std::sync::Arc;

use base::settings::Id;
use base::{Error, FileNumber, Lsn, Result, Xid, sqlstate};
use btree::BTreeServices;
use buffer::{
    BufferPool, BufferPoolOptions, DoubleWrite, DoubleWriteOptions, DurableLog, FileRemovals, LateLog, doublewrite,
};
use clog::{ClogBits, StatusStore, StatusStoreOptions};
use heap::{HeapServices, RemovalFloor};
use lockmgr::LockManager;
use rustc_hash::FxHashSet;
use sync::atomic::AtomicU64;
use vfs::descriptors::TooFew;
use vfs::{OpenMode, Vfs};
use wal::{Epoch, Wal, WalControl};
use xact::twophase::{PreparedOptions, RecoveredPrepared, saved};
use xact::{FileRemover, ManagerOptions, TransactionManager, XactRedo};

use super::options::OpenOptions;
use super::vacuum::Frozen;
use super::{Database, Shared, twophase};
use crate::catalog_store::{CATALOG_FILE, CatalogStore};
use crate::control::{CONTROL_FILE, ControlData, ControlFile, wall_clock_us};
use crate::numbers::Numbers;
use crate::redo::{Recovered, Redo};
use crate::relations::Relations;
use crate::sequence::Sequences;
use crate::session::TEMPORARY_DIRECTORY;
use schema::catalog::DATABASE_OID;

const LOCK_FILE: &str = "postmaster.pid";
const TWOPHASE_DIRECTORY: &str = "twophase";
const BOOTSTRAP_MARKER: &str = "bootstrap";
/// Files that may lie in a directory before it becomes a database.
const NOT_OURS: [&str; 3] = [LOCK_FILE, "cohort.conf", "lost+found"];

pub(crate) fn open(options: OpenOptions) -> Result<Database> {
    options.files.check().map_err(too_few_descriptors)?;
    let (vfs, directory) = (options.vfs.clone(), options.directory.clone());
    let existed = vfs.exists(&directory);
    if !existed {
        if !options.create {
            return Err(missing(&directory, "does not exist"));
        }
        create_lasting(&*vfs, &directory)
            .map_err(|error| Error::io(format!("could not create directory \"{}\"", directory.display()), &error))?;
    }
    let lock = vfs.lock_exclusive(&directory.join(LOCK_FILE)).map_err(|error| lock_error(&directory, &error))?;
    let names = vfs
        .list_dir(&directory)
        .map_err(|error| Error::io(format!("could not open directory \"{}\"", directory.display()), &error))?;
    let has = |name: &str| names.iter().any(|other| other == name);
    let control = if has(CONTROL_FILE) { Some(ControlFile::open(&vfs, &directory)) } else { None };
    let control = match control {
        Some(Ok(control)) => control,
        // The marker says that nobody has ever used what is there.
        _ if has(BOOTSTRAP_MARKER) => bootstrap(&options)?,
        Some(Err(error)) => return Err(error),
        None if names.iter().all(|name| NOT_OURS.contains(&name.as_str())) => {
            if !options.create {
                return Err(missing(&directory, "is empty"));
            }
            bootstrap(&options)?
        }
        None => return Err(not_whole(&directory)),
    };
    for part in ["wal", "base", "clog", TWOPHASE_DIRECTORY] {
        if !vfs.exists(&directory.join(part)) {
            return Err(not_whole(&directory).detail(format!("Its directory \"{part}\" is missing.")));
        }
    }
    let shown = std::path::absolute(&directory).unwrap_or_else(|_| directory.clone());
    options.settings.set_preset(Id::DataDirectory, &shown.to_string_lossy());
    let database = start(options, control, lock)?;
    if vfs.exists(&directory.join(BOOTSTRAP_MARKER)) {
        let removed = vfs.remove_file(&directory.join(BOOTSTRAP_MARKER)).and_then(|()| vfs.sync_dir(&directory));
        removed.map_err(|error| Error::io("could not finish the new database", &error))?;
    }
    Ok(database)
}

/// Makes a directory and all those above it that are missing; their names are durable on return.
fn create_lasting(vfs: &dyn Vfs, directory: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = directory.ancestors().take_while(|above| !vfs.exists(above)).collect();
    vfs.create_dir_all(directory)?;
    missing.into_iter().rev().try_for_each(|made| sync_above(vfs, made))
}

/// Makes a directory's name durable. A parent that this process may not open is skipped.
fn sync_above(vfs: &dyn Vfs, directory: &Path) -> io::Result<()> {
    let above = match directory.parent() {
        None => return Ok(()),
        Some(above) if above.as_os_str().is_empty() => Path::new("."),
        Some(above) => above,
    };
    match vfs.sync_dir(above) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced,
    }
}

/// The error of a process that the system allows too few descriptors.
#[cold]
pub fn too_few_descriptors(too_few: TooFew) -> Error {
    let TooFew { allowed, needed } = too_few;
    Error::new(sqlstate::INSUFFICIENT_RESOURCES, "insufficient file descriptors available to start server process")
        .detail(format!("It may have {allowed} open, and needs at least {needed}."))
        .hint(format!(
            "Raise the limit of open files (\"ulimit -n\") to {needed} or more, or the database's own shares of it."
        ))
        .fatal()
}

#[cold]
fn missing(directory: &Path, what: &str) -> Error {
    Error::new(sqlstate::UNDEFINED_FILE, format!("data directory \"{}\" {what}", directory.display())).fatal()
}

#[cold]
fn not_whole(directory: &Path) -> Error {
    Error::new(
        sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("directory \"{}\" is not empty and is no whole data directory", directory.display()),
    )
    .hint("If part of a data directory was lost, restore it; for a new database name a directory that is empty.")
    .fatal()
}

#[cold]
fn lock_error(directory: &Path, error: &std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::WouldBlock {
        return Error::new(sqlstate::LOCK_FILE_EXISTS, format!("lock file \"{LOCK_FILE}\" is held by another process"))
            .hint(format!("Is the data directory \"{}\" in use by another process?", directory.display()))
            .fatal();
    }
    Error::io(format!("could not lock data directory \"{}\"", directory.display()), error).fatal()
}

/// Makes the files of a new database; `control` is the last, so that it is there only when the rest is.
fn bootstrap(options: &OpenOptions) -> Result<ControlFile> {
    let (vfs, directory) = (&options.vfs, &options.directory);
    let failed = |error| Error::io(format!("could not create data directory \"{}\"", directory.display()), &error);
    let marker = directory.join(BOOTSTRAP_MARKER);
    vfs.open(&marker, OpenMode::Create).and_then(|file| file.sync_all()).map_err(failed)?;
    vfs.sync_dir(directory).map_err(failed)?;
    sync_above(&**vfs, directory).map_err(failed)?;
    for name in vfs.list_dir(directory).map_err(failed)? {
        match name.as_str() {
            "wal" | "base" | "clog" | TWOPHASE_DIRECTORY => {
                vfs.remove_dir_all(&directory.join(name)).map_err(failed)?
            }
            CONTROL_FILE | "doublewrite" => vfs.remove_file(&directory.join(name)).map_err(failed)?,
            _ => {}
        }
    }
    for name in ["wal", "base", "clog", TWOPHASE_DIRECTORY] {
        vfs.create_dir_all(&directory.join(name)).map_err(failed)?;
    }
    let wal = Wal::create(vfs.clone(), &directory.join("wal"), options.wal_options(options.segment_size_bytes))?;
    let redo = wal.reserved();
    drop(wal);
    vfs.sync_dir(&directory.join("base")).map_err(failed)?;
    vfs.sync_dir(directory).map_err(failed)?;
    let first_xid = options.first_xid.max(Xid::FIRST_NORMAL);
    let data = ControlData {
        sequence: 1,
        system_identifier: (wall_clock_us() as u64) << 8 ^ vfs.now_micros(),
        closed: false,
        epoch: Epoch::FIRST.0,
        redo,
        durable_floor: redo,
        next_xid: first_xid,
        oldest_xid: first_xid,
        next_oid: base::Oid::FIRST_NORMAL.0,
        next_file: CATALOG_FILE.0 + 1,
        catalog_version: 1,
        segment_size_bytes: options.segment_size_bytes,
        written_at_us: wall_clock_us(),
    };
    ControlFile::create(vfs, directory, data)
}

/// Removes files for the transaction manager.
struct Remover(Arc<FileRemovals>);

impl FileRemover for Remover {
    fn remove_file(&self, file: FileNumber, after: Lsn) {
        self.0.hand_over(file, after);
    }

    fn finish_removals(&self) {
        self.0.remove_all();
    }
}

/// The queue that removes files. All that is known of a file in memory is forgotten when it is removed.
fn file_removals(
    pool: &Arc<BufferPool>,
    relations: &Arc<Relations>,
    sequences: &Arc<Sequences>,
    frozen: &Arc<Frozen>,
) -> Arc<FileRemovals> {
    // Weak, because open heaps lead to the transaction manager, which owns this.
    let (relations, sequences, frozen) = (Arc::downgrade(relations), sequences.clone(), frozen.clone());
    Arc::new(FileRemovals::new(pool.clone(), move |file| {
        if let Some(relations) = relations.upgrade() {
            relations.forget(file);
        }
        sequences.forget(file);
        frozen.forget(file);
    }))
}

/// The floor up to which heaps prune: they remove row versions that were dead before it.
struct ManagerFloor(Arc<TransactionManager>);

impl RemovalFloor for ManagerFloor {
    fn floor(&self) -> Lsn {
        self.0.removal_floor()
    }

    fn raise(&self) -> Lsn {
        self.0.try_refresh_removal_floor()
    }
}

fn start(options: OpenOptions, control: ControlFile, lock: Box<dyn std::any::Any + Send + Sync>) -> Result<Database> {
    let directory = options.directory.clone();
    let from = control.data();
    options
        .vfs
        .remove_dir_all(&directory.join(TEMPORARY_DIRECTORY))
        .map_err(|error| Error::io("could not remove temporary files", &error))?;
    let Storage { pool, status, late_log } = open_storage(&options, &from)?;
    let relations = Arc::new(Relations::default());
    let sequences = Arc::new(Sequences::default());
    let frozen = Arc::new(Frozen::new(from.oldest_xid));
    let removals = file_removals(&pool, &relations, &sequences, &frozen);
    let files: Arc<dyn FileRemover> = Arc::new(Remover(removals.clone()));
    let (wal, mut recovered) = recover(&options, &from, &pool, &status, &removals)?;
    recovered.check_missing(|file| file == CATALOG_FILE)?;
    late_log.attach(wal.clone());
    let prepared = prepared_transactions(&options, &from, &status, &mut recovered)?;
    let next_xid = recovered.transactions.next_xid.max(from.next_xid);
    status.start(next_xid);
    let catalog_version = from.catalog_version + recovered.transactions.catalog_changes;
    // However many there are, they are restored.
    let prepared_max = options.prepared_max();
    let slots = options.slots() + (prepared.len() as u32).saturating_sub(prepared_max);
    let locks = Arc::new(LockManager::new(slots));
    locks.set_database(DATABASE_OID);
    let twophase = directory.join(TWOPHASE_DIRECTORY);
    let transactions = TransactionManager::new(
        wal.clone(),
        status.clone(),
        locks.clone(),
        ManagerOptions {
            slots,
            prepared: PreparedOptions { max: prepared_max, vfs: options.vfs.clone(), directory: twophase },
            next_xid,
            horizon: wal.reserved(),
            catalog_version,
            files,
        },
    );
    transactions.set_twophase_state(options.settings.get(Id::TwophaseState).word());
    let heaps = Arc::new(HeapServices {
        pool: pool.clone(),
        wal: wal.clone(),
        status: status.clone(),
        locks: locks.clone(),
        removal_floor: Arc::new(ManagerFloor(transactions.clone())),
    });
    let trees = Arc::new(BTreeServices { pool: pool.clone(), wal: wal.clone() });
    pool.create_file_for_redo(CATALOG_FILE)?;
    pool.finish_redo();
    // Numbers of files on the disk are not reused, even if the log does not know them.
    let beyond_all = pool.list_files()?.last().map_or(0, |file| file.0 + 1);
    let numbers = Numbers::new(recovered.next_oid, recovered.next_file.max(beyond_all));
    let catalog = CatalogStore::new(&relations, &heaps);
    let shared = Arc::new(Shared::new(
        options,
        control,
        lock,
        wal,
        pool,
        removals,
        status,
        locks,
        transactions,
        heaps,
        trees,
        relations,
        sequences,
        frozen,
        numbers,
        catalog,
    ));
    let database = Database::assemble(shared.clone());
    let made_by_prepared = twophase::restore(&shared, prepared, catalog_version)?;
    settle(&database, &shared, &recovered, &from, made_by_prepared)?;
    shared.reload();
    database.start_background();
    Ok(database)
}

/// The parts of a database that recovery writes to.
struct Storage {
    pool: Arc<BufferPool>,
    status: Arc<StatusStore>,
    /// The log that both wait for, which is opened last.
    late_log: Arc<LateLog>,
}

/// Opens the pages and the status of transactions. Torn pages are whole afterwards.
fn open_storage(options: &OpenOptions, from: &ControlData) -> Result<Storage> {
    let (vfs, directory) = (&options.vfs, &options.directory);
    doublewrite::recover(vfs.as_ref(), directory)?;
    let fsync = options.settings.get(Id::Fsync).as_bool();
    // The process that left it may have run with `fsync` off.
    let area_options = DoubleWriteOptions { fsync, all_unsynced: !from.closed, ..DoubleWriteOptions::default() };
    let area = DoubleWrite::open(vfs.clone(), directory, area_options)?;
    let late_log = Arc::new(LateLog::new());
    let log: Arc<dyn DurableLog> = late_log.clone();
    let frames = (options.integer(Id::SharedBuffers) as usize).max(16);
    let pool = Arc::new(BufferPool::new(
        vfs.clone(),
        &directory.join("base"),
        log.clone(),
        area.clone(),
        BufferPoolOptions { frames, open_files: options.files.tables },
    )?);
    let status = Arc::new(StatusStore::open(
        vfs.clone(),
        directory,
        log,
        area,
        StatusStoreOptions {
            transaction_buffers: options.integer(Id::TransactionBuffers) as usize,
            csn_window: options.csn_window,
            spilled_files: options.files.spilled,
            clog_update: options.settings.get(Id::ClogUpdate).word(),
            oldest_xid: from.oldest_xid,
            next_xid_at_checkpoint: from.next_xid,
        },
    )?);
    Ok(Storage { pool, status, late_log })
}

/// The prepared transactions: those that the log has, and those that were saved before the checkpoint.
fn prepared_transactions(
    options: &OpenOptions,
    from: &ControlData,
    status: &StatusStore,
    recovered: &mut Recovered,
) -> Result<Vec<RecoveredPrepared>> {
    let twophase = options.directory.join(TWOPHASE_DIRECTORY);
    let saved = saved::load(options.vfs.as_ref(), &twophase, &recovered.transactions.prepared, |xid| {
        Ok(xid < from.oldest_xid || status.clog().get(xid)? != ClogBits::InProgress)
    })?;
    let mut prepared = std::mem::take(&mut recovered.transactions.prepared);
    prepared.extend(saved);
    Ok(prepared)
}

/// Brings the files in line with the catalog: fills a new catalog, makes a checkpoint of what the log said, and removes files that
/// nothing uses.
fn settle(
    database: &Database,
    shared: &Arc<Shared>,
    recovered: &Recovered,
    from: &ControlData,
    made_by_prepared: Vec<FileNumber>,
) -> Result<()> {
    let used = files_in_use(shared, made_by_prepared);
    recovered.check_missing(|file| used.contains(&file))?;
    if shared.catalog.committed().objects().next().is_none() {
        CatalogStore::fill_new(database)?;
        shared.checkpoint_now();
    } else if CatalogStore::add_missing(database)? || recovered.records > 0 || !from.closed {
        shared.checkpoint_now();
    }
    remove_orphans(shared, &used)?;
    shared.control.update(|data| data.closed = false);
    Ok(())
}

fn recover(
    options: &OpenOptions,
    from: &ControlData,
    pool: &Arc<BufferPool>,
    status: &Arc<StatusStore>,
    removals: &Arc<FileRemovals>,
) -> Result<(Arc<Wal>, Recovered)> {
    let page_lsn_met = Arc::new(AtomicU64::new(0));
    let xact = XactRedo::new(status.clone(), Arc::new(Remover(removals.clone())), from.next_xid);
    let mut redo = Redo::new(pool.clone(), removals.clone(), xact, from.next_oid, from.next_file, page_lsn_met.clone());
    let control =
        WalControl { redo: from.redo, epoch: Epoch(from.epoch), durable_floor: from.durable_floor, page_lsn_met };
    let wal = Wal::recover(
        options.vfs.clone(),
        &options.directory.join("wal"),
        control,
        options.wal_options(from.segment_size_bytes),
        |record| redo.apply(record),
    )?;
    Ok((Arc::new(wal), redo.finish()))
}

/// The files that objects own, and those that prepared transactions have made.
fn files_in_use(shared: &Shared, made_by_prepared: Vec<FileNumber>) -> FxHashSet<FileNumber> {
    let catalog = shared.catalog.committed();
    let owned = catalog.objects().flat_map(|object| object.files());
    owned.chain(made_by_prepared).chain([CATALOG_FILE]).collect()
}

/// Removes files that nobody uses: those of transactions that were in progress when the process ended, and those whose
/// removal the last process had not finished. Nobody has made a file since `used` was taken. A checkpoint comes first:
/// until `control` names a later redo point, a start may have to apply records to pages of these files.
fn remove_orphans(shared: &Shared, used: &FxHashSet<FileNumber>) -> Result<()> {
    for file in shared.pool.orphans(|file| used.contains(&file))? {
        shared.removals.hand_over(file, Lsn::ZERO);
    }
    shared.removals.remove_all();
    Ok(())
}
