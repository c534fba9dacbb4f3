//! Random histories of interleaved transactions, held against a model that keeps every version and judges
//! visibility by definition.

mod support;

use base::{FileNumber, Liveness, Lsn, Oid, Tid, Xid};
use buffer::{BufferPool, BufferPoolOptions, DoubleWrite, DoubleWriteOptions, LateLog};
use cohort_heap::{
    Heap, HeapRedo, HeapServices, Modify, PageTuples, RemovalFloor, UpdateOptions, check_page, mask_unlogged,
};
use lockmgr::{RowLockMode, WaitPolicy};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use support::{Db, Options, Savepoint, Snapshots, Txn, pages_of, scale};
use sync::Arc;
use vfs::{RealVfs, Vfs};
use wal::RmgrId;

const FILE: FileNumber = FileNumber(7);
const RUNNERS: usize = 4;

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

fn services(db: &Db) -> Arc<HeapServices> {
    Arc::new(HeapServices {
        pool: db.pool.clone(),
        wal: db.wal.clone(),
        status: db.status.clone(),
        locks: db.locks.clone(),
        removal_floor: Arc::new(Floor(db.snapshots.clone())),
    })
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Running,
    Committed(u64),
    Aborted,
}

/// A transaction or subtransaction, as the model sees it.
#[derive(Clone, Copy, Debug)]
struct Doer {
    top: usize,
    outcome: Outcome,
}

#[derive(Clone, Debug)]
struct Version {
    value: Vec<u8>,
    made: (usize, u32),
    removed: Option<(usize, u32)>,
    deleted: bool,
    tid: Tid,
    root: Tid,
}

#[derive(Default)]
struct Model {
    doers: Vec<Doer>,
    versions: Vec<Version>,
    commits: u64,
}

impl Model {
    fn outcome(&self, doer: usize) -> Outcome {
        match self.doers[doer] {
            Doer { outcome: Outcome::Aborted, .. } => Outcome::Aborted,
            Doer { top, .. } => self.doers[top].outcome,
        }
    }

    fn sees(&self, runner: &Runner<'_>, (doer, command): (usize, u32)) -> bool {
        match self.outcome(doer) {
            Outcome::Aborted => false,
            Outcome::Committed(order) => order <= runner.snapshot,
            Outcome::Running => self.doers[doer].top == runner.top && command < runner.txn.command.0,
        }
    }

    fn is_visible(&self, runner: &Runner<'_>, version: &Version) -> bool {
        self.sees(runner, version.made) && !version.removed.is_some_and(|removed| self.sees(runner, removed))
    }

    fn visible(&self, runner: &Runner<'_>) -> Vec<usize> {
        (0..self.versions.len()).filter(|&index| self.is_visible(runner, &self.versions[index])).collect()
    }

    /// The answer that a unique check by `runner` must find behind an index entry.
    fn liveness(&self, runner: &Runner<'_>, root: Tid) -> &'static str {
        for version in self.versions.iter().filter(|version| version.root == root) {
            let other = |doer: usize| self.doers[doer].top != runner.top;
            match self.outcome(version.made.0) {
                Outcome::Aborted => continue,
                Outcome::Running if other(version.made.0) => return "in progress insert",
                _ => {}
            }
            match version.removed.map(|(doer, _)| (self.outcome(doer), other(doer))) {
                None | Some((Outcome::Aborted, _)) => return "live",
                Some((Outcome::Running, true)) => return "in progress delete",
                Some(_) => {}
            }
        }
        "dead"
    }
}

struct Runner<'a> {
    txn: Txn<'a>,
    /// Its index among the model's doers, and that of its current subtransaction.
    top: usize,
    doer: usize,
    snapshot: u64,
    savepoints: Vec<(Savepoint, usize, usize)>,
}

fn random_value(random: &mut StdRng, like: Option<&[u8]>) -> Vec<u8> {
    if let Some(like) = like
        && random.random_bool(0.6)
        && !like.is_empty()
    {
        let mut value = like.to_vec();
        let at = random.random_range(0..value.len());
        value[at] = random.random();
        return value;
    }
    let length = match random.random_range(0..20) {
        0 => random.random_range(0..4000),
        1 => 0,
        _ => random.random_range(1..300),
    };
    (0..length).map(|_| random.random()).collect()
}

fn history(seed: u64, steps: usize) {
    let mut random = StdRng::seed_from_u64(seed);
    let options = Options::small();
    let db = Db::new(options.clone());
    db.pool.create_file(FILE).unwrap();
    let fillfactor = [100, 100, 70][random.random_range(0..3)];
    let heap = Heap::new(services(&db), Oid(16384), FILE, fillfactor);
    let mut model = Model::default();
    let mut runners: Vec<Option<Runner<'_>>> = (0..RUNNERS).map(|_| None).collect();
    let mut page = PageTuples::new();
    for _ in 0..steps {
        let number = random.random_range(0..RUNNERS);
        let Some(runner) = &mut runners[number] else {
            let top = model.doers.len();
            model.doers.push(Doer { top, outcome: Outcome::Running });
            let txn = db.begin(number as u32);
            let snapshot = model.commits;
            let mut runner = Runner { txn, top, doer: top, snapshot, savepoints: Vec::new() };
            runner.txn.next_command();
            runners[number] = Some(runner);
            continue;
        };
        match random.random_range(0..100) {
            0..20 => {
                let value = random_value(&mut random, None);
                let tid = heap.insert(&runner.txn.ctx(), &value).unwrap();
                let made = (runner.doer, runner.txn.command.0);
                model.versions.push(Version { value, made, removed: None, deleted: false, tid, root: tid });
            }
            20..23 => {
                let values: Vec<Vec<u8>> =
                    (0..random.random_range(0..120)).map(|_| random_value(&mut random, None)).collect();
                let slices: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
                let made = (runner.doer, runner.txn.command.0);
                let mut next = 0;
                heap.insert_many(&runner.txn.ctx(), &slices, &mut |index, tid| {
                    assert_eq!(index, next);
                    next += 1;
                    let value = values[index].clone();
                    model.versions.push(Version { value, made, removed: None, deleted: false, tid, root: tid });
                })
                .unwrap();
                assert_eq!(next, values.len());
            }
            23..60 => {
                let visible = model.visible(runner);
                if visible.is_empty() {
                    continue;
                }
                let index = visible[random.random_range(0..visible.len())];
                let old = model.versions[index].clone();
                let deletes = random.random_bool(0.2);
                let changes_index = random.random_bool(0.3);
                let value = random_value(&mut random, Some(&old.value));
                let mode = if random.random_bool(0.5) { RowLockMode::NoKeyUpdate } else { RowLockMode::Update };
                let done = if deletes {
                    heap.delete(&runner.txn.ctx(), old.tid, WaitPolicy::Skip, None).unwrap()
                } else {
                    let options = UpdateOptions {
                        indexed_columns_changed: changes_index,
                        mode,
                        wait: WaitPolicy::Skip,
                        turn: None,
                    };
                    heap.update(&runner.txn.ctx(), old.tid, &value, options).unwrap()
                };
                let remover = old.removed.map(|(doer, _)| (model.outcome(doer), model.doers[doer].top));
                match (done, remover) {
                    (Modify::Done { tid, hot }, None | Some((Outcome::Aborted, _))) => {
                        let made = (runner.doer, runner.txn.command.0);
                        model.versions[index].removed = Some(made);
                        model.versions[index].deleted = deletes;
                        if deletes {
                            assert_eq!(tid, old.tid);
                        } else {
                            assert!(!(hot && changes_index));
                            let root = if hot { old.root } else { tid };
                            model.versions.push(Version { value, made, removed: None, deleted: false, tid, root });
                        }
                    }
                    (Modify::SelfModified { command }, Some((Outcome::Running, top))) => {
                        assert_eq!(top, runner.top);
                        assert_eq!(Some(command.0), old.removed.map(|removed| removed.1));
                    }
                    (Modify::Skipped, Some((Outcome::Running, top))) => assert_ne!(top, runner.top),
                    (Modify::Updated { .. }, Some((Outcome::Committed(_), _))) => assert!(!old.deleted),
                    (Modify::Deleted { .. }, Some((Outcome::Committed(_), _))) => assert!(old.deleted),
                    (_, remover) => panic!("a change of {old:?} went wrong; the model has {remover:?}"),
                }
            }
            60..68 => runner.txn.next_command(),
            68..71 => {
                let inner = model.doers.len();
                model.doers.push(Doer { top: runner.top, outcome: Outcome::Running });
                let savepoint = runner.txn.savepoint();
                runner.savepoints.push((savepoint, runner.doer, inner));
                runner.doer = inner;
            }
            71..73 => {
                if let Some((savepoint, outer, inner)) = runner.savepoints.pop() {
                    runner.txn.rollback_to(savepoint);
                    for doer in &mut model.doers[inner..] {
                        if doer.top == runner.top {
                            doer.outcome = Outcome::Aborted;
                        }
                    }
                    runner.doer = outer;
                }
            }
            73..83 => {
                let runner = runners[number].take().unwrap();
                if random.random_bool(0.75) {
                    model.commits += 1;
                    model.doers[runner.top].outcome = Outcome::Committed(model.commits);
                    runner.txn.commit();
                } else {
                    model.doers[runner.top].outcome = Outcome::Aborted;
                    runner.txn.abort();
                }
            }
            83..86 => db.settle(),
            86..88 => vacuum(&db, &heap, &mut model, &runners, &mut random),
            _ => compare(&heap, &model, runner, &mut page, &mut random),
        }
    }
    for (number, runner) in runners.iter().enumerate() {
        if let Some(runner) = runner {
            compare(&heap, &model, runner, &mut page, &mut random);
        }
        assert!(db.locks.waiting_count() == 0, "runner {number} waits");
    }
    drop(runners);
    for page in pages_of(&db.pool, FILE) {
        check_page(&page).unwrap();
    }
    redo_gives_the_same_bytes(&db, &options, &mut random);
}

fn compare(heap: &Heap, model: &Model, runner: &Runner<'_>, page: &mut PageTuples, random: &mut StdRng) {
    let ctx = runner.txn.ctx();
    let visible = model.visible(runner);
    let mut expected: Vec<(Tid, &[u8])> =
        visible.iter().map(|&index| (model.versions[index].tid, &model.versions[index].value[..])).collect();
    expected.sort();
    let mut found: Vec<(Tid, Vec<u8>)> = Vec::new();
    let mut scan = heap.scan().unwrap();
    while scan.next_page(&ctx, page).unwrap() {
        found.extend(page.iter().map(|(tid, payload)| (tid, payload.to_vec())));
    }
    let found_slices: Vec<(Tid, &[u8])> = found.iter().map(|(tid, payload)| (*tid, &payload[..])).collect();
    assert_eq!(found_slices, expected);
    for &index in visible.iter().take(40) {
        let version = &model.versions[index];
        let by_place = heap.read(&ctx, version.tid, |payload| payload.to_vec()).unwrap();
        assert_eq!(by_place.as_ref(), Some(&version.value));
        let by_root = heap.read_chain(&ctx, version.root, |tid, payload| (tid, payload.to_vec())).unwrap();
        assert_eq!(by_root, Some((version.tid, version.value.clone())));
    }
    if !model.versions.is_empty() {
        let version = &model.versions[random.random_range(0..model.versions.len())];
        let status = match heap.dirty_status(&ctx, version.root).unwrap() {
            Liveness::Dead => "dead",
            Liveness::Live(_) => "live",
            Liveness::InProgressInsert(_) => "in progress insert",
            Liveness::InProgressDelete(_) => "in progress delete",
        };
        assert_eq!(status, model.liveness(runner, version.root), "{version:?}");
        if model.is_visible(runner, version) {
            // The newest version is one that nobody, or only somebody who runs or has aborted, has removed.
            let newest = heap.newest_version(&ctx, version.tid, |tid, payload| (tid, payload.to_vec())).unwrap();
            if let Some((tid, payload)) = newest {
                let is = model.versions.iter().rev().find(|version| version.tid == tid).expect("the model has it");
                assert_eq!(is.value, payload);
                assert!(!is.removed.is_some_and(|(doer, _)| match model.outcome(doer) {
                    Outcome::Committed(_) => true,
                    Outcome::Running => model.doers[doer].top == runner.top,
                    Outcome::Aborted => false,
                }));
            }
        }
    }
}

fn vacuum(db: &Db, heap: &Heap, model: &mut Model, runners: &[Option<Runner<'_>>], random: &mut StdRng) {
    if random.random_bool(0.7) {
        db.settle();
    }
    let mut dead = Vec::new();
    let mut next = Some(0);
    let mut live = 0;
    while let Some(from) = next {
        let step = heap.vacuum_step(from, 3, false).unwrap();
        assert!(step.dead.is_sorted());
        live += step.live_tuples;
        dead.extend(step.dead);
        next = step.next;
    }
    let kept = |version: &Version| match (model.outcome(version.made.0), version.removed) {
        (Outcome::Aborted, _) => false,
        (_, None) => true,
        (_, Some((doer, _))) => !matches!(model.outcome(doer), Outcome::Committed(_)),
    };
    for version in &model.versions {
        if dead.contains(&version.root) {
            assert!(!kept(version), "{version:?} is dead to vacuum");
            assert!(!runners.iter().flatten().any(|runner| model.is_visible(runner, version)));
        }
    }
    assert!(live >= model.versions.iter().filter(|version| kept(version)).count() as u64);
    heap.vacuum_free(&dead).unwrap();
    // A version that nobody can see any more may be gone. A new tuple may take its place, and the model must not confuse the two.
    let stays: Vec<bool> = model
        .versions
        .iter()
        .map(|version| kept(version) || runners.iter().flatten().any(|runner| model.is_visible(runner, version)))
        .collect();
    let mut stays = stays.into_iter();
    model.versions.retain(|version| stays.next().expect("one for each") && !dead.contains(&version.root));
    if runners.iter().all(Option::is_none) {
        heap.truncate_tail().unwrap();
    }
}

/// Applies the whole log to nothing, with a stop in the middle and twice over, and compares with the pages in memory.
// invariants: row 25
fn redo_gives_the_same_bytes(db: &Db, options: &Options, random: &mut StdRng) {
    db.wal.flush(db.wal.reserved());
    let directory = tempfile::tempdir().unwrap();
    let vfs: Arc<dyn Vfs> = Arc::new(RealVfs::new());
    let fresh_pool = || {
        let area = DoubleWrite::open(vfs.clone(), directory.path(), DoubleWriteOptions::default()).unwrap();
        let base_dir = directory.path().join("base");
        let log = Arc::new(LateLog::new());
        BufferPool::new(
            vfs.clone(),
            &base_dir,
            log,
            area,
            BufferPoolOptions { frames: 64, ..BufferPoolOptions::default() },
        )
        .unwrap()
    };
    let mut records: Vec<(Lsn, Xid, u8, Vec<u8>)> = Vec::new();
    let mut reader = db.wal.reader(Lsn(options.wal.segment_size_bytes)).unwrap();
    while let Some(record) = reader.next().unwrap() {
        if record.head.rmgr == RmgrId::HEAP {
            let line = cohort_heap::describe(record.head.info, record.payload);
            assert!(line.contains("file 7") && !line.contains("damaged"), "{line}");
            records.push((record.end, record.head.xid, record.head.info, record.payload.to_vec()));
        }
    }
    let apply = |pool: &BufferPool, records: &[(Lsn, Xid, u8, Vec<u8>)]| {
        let mut redo = HeapRedo::new(Arc::default());
        for (end, xid, info, payload) in records {
            redo.apply(pool, *end, *xid, *info, payload).unwrap();
        }
        redo.finish().count()
    };
    {
        let pool = fresh_pool();
        pool.create_file_for_redo(FILE).unwrap();
        apply(&pool, &records[..random.random_range(0..=records.len())]);
        if random.random_bool(0.5) {
            pool.flush_all();
        }
    }
    let pool = fresh_pool();
    for _ in 0..2 {
        assert_eq!(apply(&pool, &records), 0, "pages are missing");
        let mut redone = pages_of(&pool, FILE);
        let mut lived = pages_of(&db.pool, FILE);
        redone.iter_mut().chain(&mut lived).for_each(|page| mask_unlogged(page));
        // Redo need not make pages that were added and never filled.
        while lived.last().is_some_and(|page| page.iter().all(|byte| *byte == 0)) && lived.len() > redone.len() {
            lived.pop();
        }
        assert_eq!(redone.len(), lived.len());
        for (block, (redone, lived)) in redone.iter().zip(&lived).enumerate() {
            let differs = redone.iter().zip(lived).position(|(a, b)| a != b);
            assert_eq!(differs, None, "block {block} differs");
        }
    }
}

// invariants: rows 15, 25 and 29, as far as the heap is concerned
#[test]
fn histories_agree_with_the_model_and_redo_gives_the_same_bytes() {
    let base: u64 = std::env::var("COHORT_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    for seed in base..base + 25 * scale() {
        println!("seed {seed}");
        history(seed, 1500);
    }
}
