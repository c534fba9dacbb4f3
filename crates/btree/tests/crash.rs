//! A table with two indexes on the simulated disk: after a crash anywhere each transaction is there whole or
//! not at all, those acknowledged are, and both indexes agree with the table.

#[path = "../../heap/tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use base::{FileNumber, Liveness, Lsn, Oid, Result, Tid};
use cohort_btree::{BTree, BTreeRedo, BTreeServices, Direction, InsertOutcome, KeyRange};
use heap::{Heap, HeapRedo, HeapServices, Modify, PageTuples, RemovalFloor, UpdateOptions};
use lockmgr::{RowLockMode, WaitPolicy};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use support::{Control, Db, Options, Snapshots, Txn, scale};
use sync::Arc;
use sync::atomic::AtomicU64;
use vfs::{FailStop, Fault, SimulatedOptions, SimulatedVfs, Survival, Vfs};
use wal::RmgrId;

const DIR: &str = "/data";
const TABLE: FileNumber = FileNumber(1);
/// On the row's number: unique.
const PRIMARY: FileNumber = FileNumber(2);
/// On its value: not unique, and long keys for splits.
const SECONDARY: FileNumber = FileNumber(3);

struct Floor(Arc<Snapshots>);

impl RemovalFloor for Floor {
    fn floor(&self) -> Lsn {
        self.0.floor()
    }
    fn raise(&self) -> Lsn {
        self.0.raise_floor();
        self.0.floor()
    }
}

struct Table {
    heap: Heap,
    primary: Arc<BTree>,
    secondary: Arc<BTree>,
}

fn primary_key(payload: &[u8]) -> &[u8] {
    &payload[..8]
}

fn secondary_key(payload: &[u8]) -> &[u8] {
    let length = usize::from(payload[8]) * 4;
    &payload[9..9 + length.min(payload.len() - 9)]
}

impl Table {
    fn open(db: &Db, new: bool) -> Result<Table> {
        let services = HeapServices {
            pool: db.pool.clone(),
            wal: db.wal.clone(),
            status: db.status.clone(),
            locks: db.locks.clone(),
            removal_floor: Arc::new(Floor(db.snapshots.clone())),
        };
        let index_services = Arc::new(BTreeServices { pool: db.pool.clone(), wal: db.wal.clone() });
        let index = |file| -> Result<Arc<BTree>> {
            let services = index_services.clone();
            Ok(Arc::new(if new { BTree::create(services, file)? } else { BTree::open(services, file)? }))
        };
        let heap = Heap::new(Arc::new(services), Oid(16384), TABLE, 90);
        Ok(Table { heap, primary: index(PRIMARY)?, secondary: index(SECONDARY)? })
    }

    fn enter(&self, txn: &Txn<'_>, tid: Tid, payload: &[u8]) -> Result<bool> {
        let live = |other: Tid| self.heap.dirty_status(&txn.ctx(), other);
        let unique: &dyn Fn(Tid) -> Result<Liveness> = &live;
        if self.primary.insert(&txn.ctx(), primary_key(payload), tid, Some(unique))? != InsertOutcome::Inserted {
            return Ok(false);
        }
        let outcome = self.secondary.insert(&txn.ctx(), secondary_key(payload), tid, None)?;
        assert_eq!(outcome, InsertOutcome::Inserted);
        Ok(true)
    }

    fn find(&self, txn: &Txn<'_>, number: u64) -> Result<Option<(Tid, Vec<u8>)>> {
        let mut found = Ok(None);
        self.primary.lookup(&number.to_be_bytes(), &mut |root| match self.heap.read_chain(
            &txn.ctx(),
            root,
            |tid, payload| (tid, payload.to_vec()),
        ) {
            Ok(None) => ControlFlow::Continue(()),
            end => {
                found = end;
                ControlFlow::Break(())
            }
        })?;
        found
    }
}

type Rows = BTreeMap<u64, Vec<u8>>;

/// The expected content of the table: the rows after each commit, in order, and the csn up to which commits were acknowledged.
struct Model {
    random: StdRng,
    states: Vec<(Lsn, Rows)>,
    acknowledged: Lsn,
    control: Control,
    commits: u64,
}

fn payload_of(random: &mut StdRng, number: u64) -> Vec<u8> {
    let mut payload = number.to_be_bytes().to_vec();
    let length: u8 = random.random_range(0..200);
    payload.push(length);
    let fill: u8 = random.random_range(0..3);
    payload.resize(9 + usize::from(length) * 4, fill);
    payload.push(random.random());
    payload
}

impl Model {
    /// One transaction of a few changes.
    fn transaction(&mut self, db: &Db, table: &Table) -> Result<()> {
        let mut rows = self.states.last().expect("there is always one").1.clone();
        let mut txn = db.begin(1);
        let random = &mut self.random;
        for _ in 0..random.random_range(1..6) {
            txn.next_command();
            let number = random.random_range(0..60u64);
            let payload = payload_of(random, number);
            match table.find(&txn, number)? {
                None => {
                    assert!(!rows.contains_key(&number), "row {number} is not found by its key");
                    let tid = table.heap.insert(&txn.ctx(), &payload)?;
                    assert!(table.enter(&txn, tid, &payload)?);
                    rows.insert(number, payload);
                }
                Some((tid, old)) => {
                    assert_eq!(rows.get(&number), Some(&old));
                    if random.random_bool(0.3) {
                        table.heap.delete(&txn.ctx(), tid, WaitPolicy::Block, None)?;
                        rows.remove(&number);
                        continue;
                    }
                    let mut payload = payload;
                    if random.random_bool(0.5) {
                        // Only what no index holds.
                        payload = old.clone();
                        *payload.last_mut().expect("it is not empty") = random.random();
                    }
                    let options = UpdateOptions {
                        indexed_columns_changed: secondary_key(&payload) != secondary_key(&old),
                        mode: RowLockMode::NoKeyUpdate,
                        wait: WaitPolicy::Block,
                        turn: None,
                    };
                    match table.heap.update(&txn.ctx(), tid, &payload, options)? {
                        Modify::Done { hot: true, .. } => {}
                        Modify::Done { tid, .. } => assert!(table.enter(&txn, tid, &payload)?),
                        _ => panic!("nobody else is there"),
                    }
                    rows.insert(number, payload);
                }
            }
        }
        if random.random_bool(0.2) {
            txn.abort();
            return Ok(());
        }
        // Known from the moment it has its place: it may be on the disk before commit returns.
        self.states.push((Lsn(db.wal.reserved().0 + 1), rows));
        let csn = txn.commit();
        self.states.last_mut().expect("just pushed").0 = csn;
        self.commits += 1;
        if self.random.random_bool(0.5) {
            db.wal.flush(csn);
            self.acknowledged = csn;
        }
        Ok(())
    }

    fn run(&mut self, db: &Db, table: &Table) -> Result<()> {
        loop {
            match self.random.random_range(0..100) {
                0..4 => self.control = db.checkpoint(),
                4..8 => db.pool.flush_all(),
                8..14 => {
                    db.settle();
                    let step = table.heap.vacuum_step(0, u32::MAX, false)?;
                    let is_dead = |tid: Tid| step.dead.binary_search(&tid).is_ok();
                    table.primary.vacuum(&is_dead)?;
                    table.secondary.vacuum(&is_dead)?;
                    table.heap.vacuum_free(&step.dead)?;
                    table.heap.truncate_tail()?;
                }
                _ => self.transaction(db, table)?,
            }
        }
    }

    fn recover(&mut self, vfs: &Arc<dyn Vfs>, options: &Options) -> Result<Db> {
        let page_lsn_met = Arc::new(AtomicU64::new(0));
        let mut heap = HeapRedo::new(page_lsn_met.clone());
        let mut btree = BTreeRedo::new(page_lsn_met.clone());
        let redo = &mut |record: &wal::Record<'_>, pool: &buffer::BufferPool| match record.head.rmgr {
            RmgrId::HEAP => heap.apply(pool, record.end, record.head.xid, record.head.info, record.payload),
            RmgrId::BTREE => btree.apply(pool, record.end, record.head.xid, record.head.info, record.payload),
            _ => Ok(()),
        };
        let db = Db::recover(vfs, Path::new(DIR), self.control, options.clone(), redo, page_lsn_met)?;
        assert_eq!(heap.finish().chain(btree.finish()).count(), 0, "pages are missing");
        Ok(db)
    }

    /// Holds a recovered table against the states it may be in; later ones are forgotten.
    fn compare(&mut self, db: &Db, table: &Table) -> Result<()> {
        let mut txn = db.begin(1);
        txn.next_command();
        let mut rows = Rows::new();
        let mut places = BTreeMap::new();
        let mut page = PageTuples::new();
        let mut scan = table.heap.scan()?;
        while scan.next_page(&txn.ctx(), &mut page)? {
            for (tid, payload) in page.iter() {
                let number = u64::from_be_bytes(payload[..8].try_into().expect("eight bytes"));
                assert!(rows.insert(number, payload.to_vec()).is_none(), "row {number} is there twice");
                places.insert(tid, number);
            }
        }
        let state = self.states.iter().rposition(|(_, state)| *state == rows);
        let Some(state) = state else { panic!("the table is as no commit left it") };
        if let Some((lost, _)) = self.states.get(state + 1) {
            assert!(*lost > self.acknowledged, "{lost} was acknowledged (up to {}) and is lost", self.acknowledged);
        }
        self.states.truncate(state + 1);
        // Every row is found by each index, once and in order; and nothing else is.
        for (index, key_of) in [(&table.primary, primary_key as fn(&[u8]) -> &[u8]), (&table.secondary, secondary_key)]
        {
            index.check()?;
            let mut found = 0;
            let mut scan = index.scan(KeyRange::all(), Direction::Forward);
            while let Some((key, root)) = scan.next()? {
                let seen = table.heap.read_chain(&txn.ctx(), root, |tid, payload| {
                    assert_eq!(key_of(payload), key, "the entry's key is its row's");
                    tid
                })?;
                if let Some(tid) = seen {
                    assert!(places.contains_key(&tid));
                    found += 1;
                }
            }
            assert_eq!(found, rows.len(), "the index finds all rows and none twice");
        }
        Ok(())
    }
}

/// Runs `f` as a process that may be cut short: true if it was.
fn until_crash(disk: &SimulatedVfs, f: impl FnOnce() -> Result<()>) -> bool {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(())) => false,
        Ok(Err(error)) => {
            assert!(disk.is_crashed(), "{error}");
            true
        }
        Err(panic) if panic.is::<FailStop>() => {
            assert!(disk.is_crashed(), "{}", panic.downcast_ref::<FailStop>().expect("just asked").0);
            true
        }
        Err(panic) => resume_unwind(panic),
    }
}

/// Five lives of a table, each ended by a crash; returns how many commits there were in all.
fn lives(seed: u64) -> u64 {
    let options = Options { frames: if seed.is_multiple_of(2) { 24 } else { 256 }, ..Options::small() };
    let mut random = StdRng::seed_from_u64(seed);
    let crash_at = |random: &mut StdRng, seed: u64| SimulatedOptions {
        seed,
        survival: Survival::Seeded,
        faults: vec![Fault::CrashAtCall(random.random_range(1..400))],
    };
    // The directory and its files are made before anything can go wrong.
    let first = SimulatedVfs::new(seed);
    let vfs: Arc<dyn Vfs> = Arc::new(first.clone());
    let control = {
        let db = Db::create(&vfs, Path::new(DIR), options.clone()).expect("nothing goes wrong yet");
        for file in [TABLE, PRIMARY, SECONDARY] {
            db.pool.create_file(file).expect("nothing goes wrong yet");
        }
        Table::open(&db, true).expect("nothing goes wrong yet");
        db.checkpoint()
    };
    let mut model = Model {
        random: StdRng::seed_from_u64(seed),
        states: vec![(Lsn::ZERO, Rows::new())],
        acknowledged: Lsn::ZERO,
        control,
        commits: 0,
    };
    let mut disk = first.crash_with(crash_at(&mut random, seed));
    for life in 0..5 {
        let vfs: Arc<dyn Vfs> = Arc::new(disk.clone());
        until_crash(&disk, || {
            let db = model.recover(&vfs, &options)?;
            let table = Table::open(&db, false)?;
            model.compare(&db, &table)?;
            model.run(&db, &table)
        });
        disk = disk.crash_with(crash_at(&mut random, seed * 31 + life));
    }
    disk = disk.crash();
    let vfs: Arc<dyn Vfs> = Arc::new(disk);
    let db = model.recover(&vfs, &options).expect("nothing goes wrong any more");
    let table = Table::open(&db, false).expect("the table is there");
    model.compare(&db, &table).expect("the table can be read");
    model.commits
}

// invariants: rows 1, 2, 12 and 25, as far as tables and indexes are concerned
#[test]
fn after_crashes_anywhere_a_table_and_its_indexes_agree_and_nothing_acknowledged_is_lost() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<FailStop>() {
            usual(info);
        }
    }));
    let base: u64 = std::env::var("COHORT_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let seeds = base..base + 60 * scale();
    let mut commits = 0;
    for seed in seeds.clone() {
        println!("seed {seed}");
        commits += lives(seed);
    }
    println!("{commits} commits");
    assert!(commits > 20 * seeds.count() as u64, "most lives get to work");
}
