//! Vacuum: removing what is dead to everyone, freezing what everyone sees, and letting the commit log go.

use base::settings::{Id, Value};
use base::{FileNumber, Oid, Result, Tid, Xid};
use btree::BTree;
use heap::Heap;
use rustc_hash::FxHashMap;
use sync::atomic::{AtomicU64, Ordering};
use sync::{Arc, Mutex};

use super::{Database, Shared, integer};
use crate::catalog_store::{CATALOG_FILE, CATALOG_RELATION, maintenance_bytes};
use crate::session::VacuumOptions;
use schema::catalog::TableDef;

/// Blocks per step: between steps the vacuum looks whether it should stop.
const STEP_BLOCKS: u32 = 64;
/// Tables are vacuumed when they hold transactions this many times older than `vacuum_freeze_min_age`.
const FREEZE_AGE_FACTOR: i64 = 4;

/// The oldest transaction whose status must stay in the commit log.
pub(crate) struct Frozen {
    /// The value known when the database was opened. It holds for each heap that is not in `heaps`.
    at_open: Xid,
    oldest: AtomicU64,
    /// The oldest transaction left in each heap vacuumed or made since the database was opened. A leaf.
    heaps: Mutex<FxHashMap<FileNumber, Xid>>,
}

impl Frozen {
    pub(crate) fn new(at_open: Xid) -> Frozen {
        Frozen { at_open, oldest: AtomicU64::new(at_open.0), heaps: Mutex::new(FxHashMap::default()) }
    }

    /// No row holds an older transaction that is not frozen.
    pub(crate) fn oldest(&self) -> Xid {
        Xid(self.oldest.load(Ordering::SeqCst))
    }

    /// The heap `file` holds nothing older than `xid`.
    pub(crate) fn set(&self, file: FileNumber, xid: Xid) {
        self.heaps.lock().insert(file, xid);
    }

    /// Lets go of a file that is removed.
    pub(crate) fn forget(&self, file: FileNumber) {
        self.heaps.lock().remove(&file);
    }

    pub(crate) fn of(&self, file: FileNumber) -> Xid {
        self.heaps.lock().get(&file).copied().unwrap_or(self.at_open)
    }

    /// Raises [`Frozen::oldest`] to what the heaps in use allow.
    fn raise(&self, heaps_in_use: impl Iterator<Item = FileNumber>, oldest_running: Xid) {
        let known = self.heaps.lock();
        let oldest = heaps_in_use
            .fold(oldest_running, |oldest, file| oldest.min(known.get(&file).copied().unwrap_or(self.at_open)));
        self.oldest.fetch_max(oldest.0, Ordering::SeqCst);
    }
}

/// The results of vacuuming one heap.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Vacuumed {
    pub(crate) live: u64,
    pub(crate) recently_dead: u64,
    pub(crate) removed: u64,
    pub(crate) index_entries: u64,
}

/// Vacuums a heap and its trees. `go_on` fails when the vacuum should stop.
pub(crate) fn vacuum_relation(
    shared: &Shared,
    heap: &Heap,
    trees: &[Arc<BTree>],
    go_on: &dyn Fn() -> Result<()>,
) -> Result<Vacuumed> {
    let _operation = shared.begin_operation()?;
    // Before anything is read: whoever writes an older xid later is running now.
    let oldest_running = shared.transactions.oldest_running_xid();
    shared.transactions.refresh_removal_floor();
    let dead_max = maintenance_bytes(shared) / size_of::<Tid>();
    let mut done = Vacuumed::default();
    let mut oldest = oldest_running;
    let mut dead: Vec<Tid> = Vec::new();
    let mut from = Some(0);
    while let Some(block) = from {
        go_on()?;
        let step = heap.vacuum_step(block, STEP_BLOCKS, trees.is_empty())?;
        done.live += step.live_tuples;
        done.recently_dead += step.recently_dead_tuples;
        done.removed += step.removed_tuples;
        oldest = step.oldest_xid.map_or(oldest, |xid| oldest.min(xid));
        dead.extend(step.dead);
        from = step.next;
        if dead.len() >= dead_max || (from.is_none() && !dead.is_empty()) {
            for tree in trees {
                go_on()?;
                done.index_entries += tree.vacuum(&|tid| dead.binary_search(&tid).is_ok())?;
            }
            heap.vacuum_free(&dead)?;
            dead.clear();
        }
    }
    shared.frozen.set(heap.file, oldest);
    Ok(done)
}

/// Vacuums the tables that have many dead rows or hold very old transactions. Returns how many.
pub(super) fn vacuum_where_needed(database: &Database) -> Result<usize> {
    let shared = &database.shared;
    let settings = &shared.options.settings;
    let threshold = integer(settings, Id::AutovacuumVacuumThreshold) as f64;
    let scale = match settings.get(Id::AutovacuumVacuumScaleFactor) {
        Value::Float(scale) => scale,
        _ => 0.2,
    };
    let age_limit = integer(settings, Id::VacuumFreezeMinAge).saturating_mul(FREEZE_AGE_FACTOR) as u64;
    let next_xid = shared.transactions.next_xid().0;
    let is_old = |file: FileNumber| next_xid.saturating_sub(shared.frozen.of(file).0) > age_limit;
    let has_many_dead = |unique: Oid, rows: f64| {
        database.table_activity(unique).is_some_and(|activity| {
            let rows = rows.max(activity.live() as f64);
            activity.dead().max(activity.dead_values()) as f64 > threshold + scale * rows
        })
    };
    let mut vacuumed = 0;
    if has_many_dead(CATALOG_RELATION, 0.0) || is_old(CATALOG_FILE) {
        let done = vacuum_relation(shared, &shared.catalog.heap, &[], &|| shared.check_open())?;
        shared.relations.activity(CATALOG_RELATION).vacuumed(done.live, done.recently_dead);
        vacuumed += 1;
    }
    let options = VacuumOptions { skip_locked: true, gives_way: true, ..VacuumOptions::default() };
    for catalog in database.catalogs().databases() {
        let needs_it = |def: &&Arc<TableDef>| {
            def.kind.has_storage() && (has_many_dead(catalog.unique(def.oid), def.estimated_rows) || is_old(def.file))
        };
        let tables: Vec<_> = catalog.tables().filter(needs_it).collect();
        if tables.is_empty() {
            continue;
        }
        let mut session = database.session_in(catalog.database())?;
        for def in tables {
            let _vacuuming = shared.vacuuming.lock();
            shared.check_not_closing()?;
            let begun = std::time::Instant::now();
            match session.open_table(def.oid).and_then(|table| session.vacuum(&table, options)) {
                Ok(_) => {
                    vacuumed += 1;
                    log_vacuum(settings, &def.name, begun.elapsed());
                }
                // Dropped meanwhile, or locked: the next round will see.
                Err(error) if error.sqlstate() == base::sqlstate::UNDEFINED_TABLE => {}
                Err(error) if error.sqlstate() == base::sqlstate::LOCK_NOT_AVAILABLE => {}
                Err(error) => return Err(error.context(format!("while vacuuming table \"{}\"", def.name))),
            }
        }
    }
    raise_oldest(database);
    Ok(vacuumed)
}

/// After vacuums: how much of the commit log is needed now.
pub(crate) fn raise_oldest(database: &Database) {
    let shared = &database.shared;
    let oldest_running = shared.transactions.oldest_running_xid();
    let catalogs = database.catalogs();
    let heaps = catalogs
        .databases()
        .flat_map(|catalog| catalog.tables())
        .filter(|def| def.kind.has_storage())
        .flat_map(|def| [def.file, def.overflow_file])
        .filter(|file| file.0 != 0)
        .chain([CATALOG_FILE]);
    shared.frozen.raise(heaps, oldest_running);
}

/// Writes a vacuum in the background to the log, if it took as long as `log_autovacuum_min_duration`.
fn log_vacuum(settings: &base::settings::ServerSettings, table: &str, took: std::time::Duration) {
    let least_ms = integer(settings, Id::LogAutovacuumMinDuration);
    if least_ms >= 0 && took.as_millis() as i64 >= least_ms {
        log::info!("automatic vacuum of table \"{table}\": elapsed: {:.2} s", took.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use vfs::{SimulatedVfs, Vfs};

    use super::*;
    use crate::{OpenOptions, TransactionOptions};
    use schema::catalog::{BOOTSTRAP_ROLE, PUBLIC_SCHEMA, TableDef};
    use schema::row::PhysicalType;

    #[test]
    fn what_is_known_of_a_heap_goes_with_its_file() {
        let vfs: Arc<dyn Vfs> = Arc::new(SimulatedVfs::new(1));
        let options = OpenOptions { vfs, background: false, ..OpenOptions::new("/data") };
        let database = Database::open(options).unwrap();
        let mut session = database.session().unwrap();
        let known = || database.shared.frozen.heaps.lock().len();
        let before = known();
        for _ in 0..10 {
            let def = TableDef::new(session.allocate_oid(), PUBLIC_SCHEMA, "t", BOOTSTRAP_ROLE);
            let oid = def.oid;
            session.begin(TransactionOptions::default()).unwrap();
            session.create_object(def.column("id", PhysicalType::I32)).unwrap();
            session.commit_and_wait().unwrap();
            assert!(known() > before);
            session.begin(TransactionOptions::default()).unwrap();
            session.drop_object(oid).unwrap();
            session.commit_and_wait().unwrap();
            database.shared.removals.remove_all();
            assert_eq!(known(), before);
        }
    }
}
