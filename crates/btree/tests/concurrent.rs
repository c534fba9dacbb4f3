//! Many threads at one tree: inserts, scans that meet splits, and unique checks.

#[path = "../../heap/tests/support/mod.rs"]
mod support;

use std::ops::ControlFlow;

use base::{FileNumber, Liveness, Lsn, Tid, Xid, sqlstate};
use cohort_btree::{BTree, BTreeServices, Direction, InsertOutcome, KeyRange};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use support::{Db, Options, scale};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Arc, Interrupt, InterruptKind, Mutex, thread, with_interrupt};

const FILE: FileNumber = FileNumber(5);
const THREADS: u32 = 4;

fn tree_of(db: &Db) -> Arc<BTree> {
    db.pool.create_file(FILE).unwrap();
    let services = Arc::new(BTreeServices { pool: db.pool.clone(), wal: db.wal.clone() });
    Arc::new(BTree::create(services, FILE).unwrap())
}

fn key_of(number: u64) -> Vec<u8> {
    // Long enough that a few thousand make several levels.
    let mut key = vec![b'k'; 100];
    key.extend_from_slice(&number.to_be_bytes());
    key
}

#[test]
fn concurrent_inserts_are_all_there_and_the_tree_is_sound() {
    for ascending in [false, true] {
        let db = Db::new(Options::large());
        let tree = tree_of(&db);
        let each = 6000 * scale();
        thread::scope(|scope| {
            for owner in 0..THREADS {
                let (db, tree) = (&db, &tree);
                scope.spawn(move || {
                    let txn = db.begin(owner);
                    let mut numbers: Vec<u64> = (0..each).map(|n| n * u64::from(THREADS) + u64::from(owner)).collect();
                    if !ascending {
                        numbers.shuffle(&mut StdRng::seed_from_u64(owner.into()));
                    }
                    for number in numbers {
                        let outcome = tree.insert(&txn.ctx(), &key_of(number), Tid::new(number as u32, 1), None);
                        assert_eq!(outcome.unwrap(), InsertOutcome::Inserted);
                    }
                });
            }
        });
        assert_eq!(tree.check().unwrap(), each * u64::from(THREADS));
        for number in 0..each * u64::from(THREADS) {
            let mut found = Vec::new();
            tree.lookup(&key_of(number), &mut |tid| {
                found.push(tid);
                ControlFlow::Continue(())
            })
            .unwrap();
            assert_eq!(found, [Tid::new(number as u32, 1)]);
        }
    }
}

#[test]
fn scans_both_ways_see_once_and_in_order_what_was_there_while_pages_split() {
    let db = Db::new(Options::large());
    let tree = tree_of(&db);
    let there = 3000u64;
    let txn = db.begin(0);
    for number in 0..there {
        tree.insert(&txn.ctx(), &key_of(number * 1000), Tid::new(1, 1), None).unwrap();
    }
    let done = AtomicBool::new(false);
    let scans = AtomicU64::new(0);
    thread::scope(|scope| {
        let inserter = scope.spawn(|| {
            let mut random = StdRng::seed_from_u64(1);
            let txn = db.begin(1);
            let enough = 20_000 * scale() as u32;
            for number in 0..20 * enough {
                // On a busy machine the scans may come late.
                if number >= enough && scans.load(Ordering::Relaxed) > 0 {
                    break;
                }
                let key = key_of(random.random_range(0..there * 1000) / 1000 * 1000 + random.random_range(1..1000));
                // A pair of key and tid is inserted once.
                tree.insert(&txn.ctx(), &key, Tid::new(2 + number, 1), None).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        for direction in [Direction::Forward, Direction::Backward] {
            let (tree, done, scans) = (&tree, &done, &scans);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let mut scan = tree.scan(KeyRange::all(), direction);
                    let mut old = Vec::new();
                    let mut previous: Option<(Vec<u8>, Tid)> = None;
                    while let Some((key, tid)) = scan.next().unwrap() {
                        let entry = (key.to_vec(), tid);
                        if let Some(previous) = previous {
                            assert_eq!(previous < entry, direction == Direction::Forward, "in order, and none twice");
                        }
                        if tid == Tid::new(1, 1) {
                            old.push(entry.0.clone());
                        }
                        previous = Some(entry);
                    }
                    if direction == Direction::Backward {
                        old.reverse();
                    }
                    assert_eq!(old.len() as u64, there);
                    assert!(old.iter().enumerate().all(|(at, key)| *key == key_of(at as u64 * 1000)));
                    scans.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        inserter.join().unwrap();
    });
    assert!(scans.load(Ordering::Relaxed) > 0);
    tree.check().unwrap();
}

#[test]
fn of_all_who_insert_the_same_unique_key_one_succeeds() {
    let db = Db::new(Options::large());
    let tree = tree_of(&db);
    let keys = 3000 * scale();
    let winners: Vec<AtomicU64> = (0..keys).map(|_| AtomicU64::new(0)).collect();
    thread::scope(|scope| {
        for owner in 0..THREADS {
            let (db, tree, winners) = (&db, &tree, &winners);
            scope.spawn(move || {
                let txn = db.begin(owner);
                let mut order: Vec<u64> = (0..keys).collect();
                // Alike enough that the threads meet.
                for chunk in order.chunks_mut(8) {
                    chunk.shuffle(&mut StdRng::seed_from_u64(owner.into()));
                }
                for number in order {
                    let live = |_: Tid| Ok(Liveness::Live(Lsn(7)));
                    let tid = Tid::new(owner, 1);
                    match tree.insert(&txn.ctx(), &key_of(number), tid, Some(&live)).unwrap() {
                        InsertOutcome::Inserted => {
                            winners[number as usize].fetch_add(1, Ordering::Relaxed);
                        }
                        InsertOutcome::Duplicate(other, csn) => {
                            assert_ne!(other, tid);
                            assert_eq!(csn, Lsn(7));
                        }
                        InsertOutcome::WaitFor(_) => panic!("nobody is in progress"),
                    }
                }
            });
        }
    });
    assert!(winners.iter().all(|winner| winner.load(Ordering::Relaxed) == 1));
    assert_eq!(tree.check().unwrap(), keys);
}

#[test]
fn a_unique_check_asks_about_every_entry_of_the_key_over_many_pages() {
    let db = Db::new(Options::large());
    let tree = tree_of(&db);
    let txn = db.begin(0);
    let key = key_of(5);
    for block in 0..1000 {
        for other in [3, 7] {
            tree.insert(&txn.ctx(), &key_of(other), Tid::new(block, 1), None).unwrap();
        }
        tree.insert(&txn.ctx(), &key, Tid::new(block * 2, 1), None).unwrap();
    }
    let asked = Mutex::new(Vec::new());
    let answer = Mutex::new((u32::MAX, Liveness::Dead));
    let check = |tid: Tid| {
        asked.lock().push(tid);
        let (at, what) = *answer.lock();
        Ok(if tid.block == at { what } else { Liveness::Dead })
    };
    let insert = |tid| tree.insert(&txn.ctx(), &key, tid, Some(&check)).unwrap();
    *answer.lock() = (1998, Liveness::InProgressDelete(Xid(9)));
    assert_eq!(insert(Tid::new(5, 9)), InsertOutcome::WaitFor(Xid(9)));
    *answer.lock() = (1200, Liveness::Live(Lsn(3)));
    assert_eq!(insert(Tid::new(5, 9)), InsertOutcome::Duplicate(Tid::new(1200, 1), Lsn(3)));
    *answer.lock() = (u32::MAX, Liveness::Dead);
    asked.lock().clear();
    // First, in the middle and last among its equals.
    for (nth, tid) in [Tid::new(0, 0), Tid::new(777, 1), Tid::new(5000, 1)].into_iter().enumerate() {
        assert_eq!(insert(tid), InsertOutcome::Inserted);
        assert_eq!(asked.lock().drain(..).count(), 1000 + nth);
    }
    assert_eq!(tree.check().unwrap(), 3003);
}

#[test]
fn vacuum_beside_inserts_takes_out_exactly_the_dead() {
    let db = Db::new(Options::large());
    let tree = tree_of(&db);
    let numbers = 12_000 * scale();
    let txn = db.begin(0);
    for number in 0..numbers {
        // Half of what is there at first is dead.
        tree.insert(&txn.ctx(), &key_of(number * 10), Tid::new(number as u32, 1 + (number % 2) as u16), None).unwrap();
    }
    thread::scope(|scope| {
        scope.spawn(|| {
            let removed: u64 = (0..3).map(|_| tree.vacuum(&|tid| tid.slot == 2).unwrap()).sum();
            assert_eq!(removed, numbers / 2);
        });
        scope.spawn(|| {
            let txn = db.begin(1);
            for number in 0..numbers {
                tree.insert(&txn.ctx(), &key_of(number * 10 + 5), Tid::new(number as u32, 3), None).unwrap();
            }
        });
    });
    let mut dead = 0;
    let entries = tree.check_entries(&mut |_, tid| {
        dead += u64::from(tid.slot == 2);
        Ok(())
    });
    assert_eq!((entries.unwrap(), dead), (numbers + numbers / 2, 0));
}

// invariants: row 41
#[test]
fn a_search_through_many_leaves_can_be_interrupted() {
    let db = Db::new(Options::large());
    let tree = tree_of(&db);
    let txn = db.begin(0);
    for number in 0..2000 {
        tree.insert(&txn.ctx(), &key_of(number), Tid::new(number as u32, 1), None).unwrap();
        tree.insert(&txn.ctx(), b"one", Tid::new(number as u32, 2), None).unwrap();
    }
    // All leaves of the long keys are empty then, and stay.
    assert_eq!(tree.vacuum(&|tid| tid.slot == 1).unwrap(), 2000);
    let interrupted = |search: &mut dyn FnMut() -> base::Result<()>| {
        let interrupt = Interrupt::new();
        interrupt.raise(InterruptKind::Cancel);
        with_interrupt(&interrupt, search).unwrap_err().sqlstate()
    };
    for direction in [Direction::Forward, Direction::Backward] {
        let mut scan = tree.scan(KeyRange::prefix(b"k"), direction);
        assert_eq!(interrupted(&mut || scan.next().map(drop)), sqlstate::QUERY_CANCELED, "{direction:?}");
        let mut scan = tree.scan(KeyRange::prefix(b"k"), direction);
        assert!(scan.next().unwrap().is_none());
    }
    let look_up = || tree.lookup(b"one", &mut |_| ControlFlow::Continue(()));
    assert_eq!(interrupted(&mut || look_up()), sqlstate::QUERY_CANCELED);
    look_up().unwrap();
}
