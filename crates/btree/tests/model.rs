//! Random operations on a tree, held against a sorted map; and redo of their log against the pages.

#[path = "../../heap/tests/support/mod.rs"]
mod support;

use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};

use base::{FileNumber, Lsn, Tid, sqlstate};
use buffer::{BufferPool, BufferPoolOptions, DoubleWrite, DoubleWriteOptions, LateLog, PageId};
use cohort_btree::{BTree, BTreeRedo, BTreeServices, Direction, InsertOutcome, KEY_MAX_BYTES, KeyRange};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use support::{Db, Options, Txn, pages_of, scale};
use sync::Arc;
use vfs::{RealVfs, Vfs};
use wal::RmgrId;

const FILE: FileNumber = FileNumber(5);

fn tree_of(db: &Db, file: FileNumber) -> Arc<BTree> {
    db.pool.create_file(file).unwrap();
    let services = Arc::new(BTreeServices { pool: db.pool.clone(), wal: db.wal.clone() });
    Arc::new(BTree::create(services, file).unwrap())
}

fn insert(tree: &BTree, txn: &Txn<'_>, key: &[u8], tid: Tid) {
    assert_eq!(tree.insert(&txn.ctx(), key, tid, None).unwrap(), InsertOutcome::Inserted);
}

/// The kinds of keys that make trees grow differently.
#[derive(Clone, Copy, Debug)]
enum Keys {
    Random,
    Ascending,
    Descending,
    Few,
    Long,
    Nested,
}

impl Keys {
    fn next(self, random: &mut StdRng, count: u64) -> Vec<u8> {
        match self {
            Keys::Random => random.random_range(0..100_000u64).to_be_bytes().to_vec(),
            Keys::Ascending => count.to_be_bytes().to_vec(),
            Keys::Descending => (u64::MAX - count).to_be_bytes().to_vec(),
            Keys::Few => vec![b'k', random.random_range(0..5)],
            Keys::Long => {
                let mut key = vec![random.random_range(0..3); random.random_range(0..=KEY_MAX_BYTES)];
                if let Some(last) = key.last_mut() {
                    *last = random.random();
                }
                key
            }
            // Keys that are prefixes of others.
            Keys::Nested => vec![random.random_range(0..2); random.random_range(0..60)],
        }
    }
}

type Entries = BTreeSet<(Vec<u8>, Tid)>;

fn random_range(random: &mut StdRng, kind: Keys, count: u64) -> KeyRange {
    let mut bound = |kind: Keys| {
        let at = random.random_range(0..=count);
        let key = kind.next(random, at);
        match random.random_range(0..5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(key),
            _ => Bound::Excluded(key),
        }
    };
    KeyRange { lower: bound(kind), upper: bound(kind) }
}

fn in_range(range: &KeyRange, key: &[u8]) -> bool {
    (match &range.lower {
        Bound::Included(lower) => key >= &lower[..],
        Bound::Excluded(lower) => key > &lower[..],
        Bound::Unbounded => true,
    }) && (match &range.upper {
        Bound::Included(upper) => key <= &upper[..],
        Bound::Excluded(upper) => key < &upper[..],
        Bound::Unbounded => true,
    })
}

fn scan(tree: &Arc<BTree>, range: KeyRange, direction: Direction) -> Vec<(Vec<u8>, Tid)> {
    let mut scan = tree.scan(range, direction);
    let mut found = Vec::new();
    while let Some((key, tid)) = scan.next().unwrap() {
        found.push((key.to_vec(), tid));
    }
    found
}

fn compare(tree: &Arc<BTree>, entries: &Entries, random: &mut StdRng, kind: Keys, count: u64) {
    let range = if random.random_bool(0.2) { KeyRange::all() } else { random_range(random, kind, count) };
    let mut expected: Vec<(Vec<u8>, Tid)> = entries.iter().filter(|(key, _)| in_range(&range, key)).cloned().collect();
    assert_eq!(scan(tree, range.clone(), Direction::Forward), expected, "{range:?}");
    expected.reverse();
    assert_eq!(scan(tree, range.clone(), Direction::Backward), expected, "{range:?}");
    for _ in 0..5 {
        let at = random.random_range(0..=count);
        let key = kind.next(random, at);
        let expected: Vec<Tid> = entries.iter().filter(|(is, _)| *is == key).map(|(_, tid)| *tid).collect();
        let mut found = Vec::new();
        let most = random.random_range(1..1000);
        tree.lookup(&key, &mut |tid| {
            found.push(tid);
            if found.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
        assert_eq!(found, expected[..expected.len().min(most)]);
    }
}

fn operations(seed: u64, kind: Keys, steps: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let options = Options::small();
    let db = Db::new(options.clone());
    let mut tree = tree_of(&db, FILE);
    let txn = db.begin(0);
    let mut entries = Entries::new();
    let mut removed: Vec<(Vec<u8>, Tid)> = Vec::new();
    let mut count = 0;
    if random.random_bool(0.3) {
        // Begin with a tree that was built.
        for _ in 0..random.random_range(0..steps) {
            count += 1;
            entries.insert((kind.next(&mut random, count), Tid::new(count as u32, 1)));
        }
        tree.bulk_build(&mut entries.iter().cloned().map(Ok)).unwrap();
    }
    for step in 0..steps {
        match random.random_range(0..100) {
            0..85 => {
                count += 1;
                let tid = Tid::new(random.random_range(0..50_000), random.random_range(1..50));
                let new = (kind.next(&mut random, count), tid);
                // An entry that was removed may come back.
                let back = if random.random_bool(0.1) { removed.pop() } else { None };
                let (key, tid) = back.unwrap_or(new);
                if entries.insert((key.clone(), tid)) {
                    insert(&tree, &txn, &key, tid);
                } else {
                    let error = tree.insert(&txn.ctx(), &key, tid, None).unwrap_err();
                    assert_eq!(error.sqlstate(), sqlstate::INDEX_CORRUPTED);
                }
            }
            85..95 => {
                let at = random.random_range(0..=count);
                let key = kind.next(&mut random, at);
                let entry = entries.range((key.clone(), Tid::new(0, 0))..).next().cloned();
                let (key, tid) = entry.unwrap_or((key, Tid::new(1, 1)));
                assert!(!tree.delete_entry(&key, tid, &|_| Ok(false)).unwrap(), "its row is alive");
                assert_eq!(tree.delete_entry(&key, tid, &|_| Ok(true)).unwrap(), entries.remove(&(key.clone(), tid)));
                removed.push((key, tid));
            }
            95 if step % 10 == 0 => {
                let divisor = random.random_range(1..4);
                let is_dead = |tid: Tid| tid.block.is_multiple_of(divisor);
                let before = entries.len();
                entries.retain(|(_, tid)| !is_dead(*tid));
                assert_eq!(tree.vacuum(&is_dead).unwrap(), (before - entries.len()) as u64);
            }
            96 if step % 7 == 0 => {
                // Another session opens it, or the first one forgets what it knew.
                let services = BTreeServices { pool: db.pool.clone(), wal: db.wal.clone() };
                tree = Arc::new(BTree::open(Arc::new(services), FILE).unwrap());
            }
            97 if step % 7 == 0 => compare(&tree, &entries, &mut random, kind, count),
            _ => {}
        }
    }
    compare(&tree, &entries, &mut random, kind, count);
    let mut all = entries.iter();
    let checked = tree
        .check_entries(&mut |key, tid| {
            assert_eq!(all.next(), Some(&(key.to_vec(), tid)));
            Ok(())
        })
        .unwrap();
    assert_eq!(checked, entries.len() as u64);
    redo_gives_the_same_bytes(&db, &options, &mut random);
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
    let mut records: Vec<(Lsn, u8, Vec<u8>)> = Vec::new();
    let mut reader = db.wal.reader(Lsn(options.wal.segment_size_bytes)).unwrap();
    while let Some(record) = reader.next().unwrap() {
        if record.head.rmgr == RmgrId::BTREE {
            let line = cohort_btree::describe(record.head.info, record.payload);
            assert!(line.contains("file 5") && !line.contains("damaged"), "{line}");
            records.push((record.end, record.head.info, record.payload.to_vec()));
        }
    }
    let apply = |pool: &BufferPool, records: &[(Lsn, u8, Vec<u8>)]| {
        let mut redo = BTreeRedo::new(Arc::default());
        for (end, info, payload) in records {
            redo.apply(pool, *end, base::Xid::INVALID, *info, payload).unwrap();
        }
        assert_eq!(redo.finish().count(), 0, "pages are missing");
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
        apply(&pool, &records);
        let mut redone = pages_of(&pool, FILE);
        let mut lived = pages_of(&db.pool, FILE);
        redone.iter_mut().chain(&mut lived).for_each(|page| page[8..12].fill(0));
        assert_eq!(redone.len(), lived.len());
        for (block, (redone, lived)) in redone.iter().zip(&lived).enumerate() {
            let differs = redone.iter().zip(lived).position(|(a, b)| a != b);
            assert_eq!(differs, None, "block {block} differs");
        }
    }
}

#[test]
fn a_tree_agrees_with_a_sorted_map_and_redo_gives_the_same_bytes() {
    let base: u64 = std::env::var("COHORT_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    for seed in base..base + 3 * scale() {
        for kind in [Keys::Random, Keys::Ascending, Keys::Descending, Keys::Few, Keys::Long, Keys::Nested] {
            println!("seed {seed}, {kind:?} keys");
            operations(seed, kind, if matches!(kind, Keys::Long) { 1500 } else { 8000 });
        }
    }
}

#[test]
fn ascending_keys_fill_their_pages() {
    let db = Db::new(Options::large());
    let tree = tree_of(&db, FILE);
    let txn = db.begin(0);
    for number in 0..100_000u64 {
        insert(&tree, &txn, &number.to_be_bytes(), Tid::new(number as u32, 1));
    }
    assert_eq!(tree.check().unwrap(), 100_000);
    let full = 8192 / (8 + 8 + 2);
    assert!(tree.block_count().unwrap() < 100_000 / full * 21 / 20, "{} blocks", tree.block_count().unwrap());
}

#[test]
fn a_key_that_is_too_long_is_refused() {
    let db = Db::new(Options::large());
    let tree = tree_of(&db, FILE);
    let txn = db.begin(0);
    let error = tree.insert(&txn.ctx(), &[1; KEY_MAX_BYTES + 1], Tid::new(1, 1), None).unwrap_err();
    assert_eq!(error.sqlstate(), sqlstate::PROGRAM_LIMIT_EXCEEDED);
}

#[test]
fn who_looks_at_an_entrys_row_without_a_snapshot_does_so_under_the_entrys_latch() {
    let db = Db::new(Options::large());
    let tree = tree_of(&db, FILE);
    let (key, tid) = (b"key", Tid::new(1, 1));
    insert(&tree, &db.begin(0), key, tid);
    let is_latched = || {
        let leaf = db.pool.pin(PageId::new(FILE, 1)).unwrap();
        leaf.try_write().is_none()
    };
    assert!(!is_latched());
    let is_latched = || std::thread::scope(|scope| scope.spawn(is_latched).join().unwrap());
    let mut latched = Vec::new();
    let mut found = |_| {
        latched.push(is_latched());
        ControlFlow::Continue(())
    };
    tree.lookup(key, &mut found).unwrap();
    tree.lookup_latched(key, &mut found).unwrap();
    assert_eq!(latched, [false, true]);
    assert!(tree.delete_entry(key, tid, &|_| Ok(is_latched())).unwrap());
}

#[test]
fn entries_out_of_order_are_refused_by_a_build() {
    let db = Db::new(Options::large());
    let tree = tree_of(&db, FILE);
    let entries = [(vec![2], Tid::new(1, 1)), (vec![1], Tid::new(1, 2))];
    assert!(tree.bulk_build(&mut entries.into_iter().map(Ok)).is_err());
}
