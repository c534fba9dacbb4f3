//! Single rows under contention: hot rows, row locks, turns, and many threads.

mod support;

use std::time::{Duration, Instant};

use base::{FileNumber, Lsn, Oid, Tid, sqlstate};
use buffer::PageId;
use cohort_heap::{Heap, HeapServices, Modify, RemovalFloor, UpdateOptions};
use lockmgr::{RowLockMode, RowTurn, WaitPolicy};
use support::{Db, Options, Snapshots, Txn, scale};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Arc, Mutex, thread};

const FILE: FileNumber = FileNumber(9);

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

fn heap_of(db: &Db, file: FileNumber) -> Heap {
    db.pool.create_file(file).unwrap();
    let services = HeapServices {
        pool: db.pool.clone(),
        wal: db.wal.clone(),
        status: db.status.clone(),
        locks: db.locks.clone(),
        removal_floor: Arc::new(Floor(db.snapshots.clone())),
    };
    Heap::new(Arc::new(services), Oid(16384), file, 100)
}

fn insert(db: &Db, heap: &Heap, payload: &[u8]) -> Tid {
    let txn = db.begin(0);
    let tid = heap.insert(&txn.ctx(), payload).unwrap();
    txn.commit();
    tid
}

fn hot(turn: Option<RowTurn<'_>>) -> UpdateOptions<'_> {
    UpdateOptions { indexed_columns_changed: false, mode: RowLockMode::NoKeyUpdate, wait: WaitPolicy::Block, turn }
}

fn number(payload: &[u8]) -> u64 {
    u64::from_le_bytes(payload[..8].try_into().unwrap())
}

/// The targets that index entries would have: the roots of one row's chains.
struct Row(Mutex<Vec<Tid>>);

impl Row {
    fn new(root: Tid) -> Row {
        Row(Mutex::new(vec![root]))
    }

    fn read<R>(&self, heap: &Heap, txn: &Txn<'_>, f: impl Fn(Tid, &[u8]) -> R) -> R {
        let roots = self.0.lock().clone();
        let found = roots.iter().rev().find_map(|root| heap.read_chain(&txn.ctx(), *root, &f).unwrap());
        found.expect("the row is there")
    }

    /// Read committed's update: waits, looks again at the newest version, and tries again.
    fn add(&self, heap: &Heap, txn: &mut Txn<'_>, by: u64) {
        txn.new_snapshot();
        let read = |tid: Tid, payload: &[u8]| (tid, payload.to_vec());
        let (mut tid, mut payload) = self.read(heap, txn, read);
        let ctx = txn.ctx();
        let mut turn = None;
        loop {
            let mut new = payload.clone();
            new[..8].copy_from_slice(&number(&payload).wrapping_add(by).to_le_bytes());
            match heap.update(&ctx, tid, &new, hot(turn.take())).unwrap() {
                Modify::Done { hot: true, .. } => return,
                Modify::Done { tid, .. } => return self.0.lock().push(tid),
                Modify::Updated { newest, turn: given, .. } => {
                    (tid, payload) = heap.newest_version(&ctx, newest, read).unwrap().expect("nobody deletes it");
                    turn = given;
                }
                _ => panic!("the row can only be updated"),
            }
        }
    }
}

#[test]
fn a_row_updated_a_million_times_stays_fast_and_its_table_small() {
    let db = Db::new(Options::large());
    let heap = heap_of(&db, FILE);
    let row = Row::new(insert(&db, &heap, &[0; 100]));
    let rounds = 100_000 * scale();
    let mut times = Vec::new();
    for _ in 0..10 {
        let start = Instant::now();
        for round in 0..rounds / 10 {
            let mut txn = db.begin(1);
            row.add(&heap, &mut txn, 1);
            txn.commit();
            if round % 100 == 0 {
                db.settle();
            }
        }
        times.push(start.elapsed());
    }
    let mut txn = db.begin(1);
    txn.next_command();
    assert_eq!(row.read(&heap, &txn, |_, payload| number(payload)), rounds);
    assert_eq!(row.0.lock().len(), 1, "every update is a heap-only one");
    assert!(heap.block_count().unwrap() <= 2, "{} blocks", heap.block_count().unwrap());
    let (first, last) = (times[0].min(times[1]), times[8].min(times[9]));
    println!("an update: {:?} at first, {:?} at last", first * 10 / rounds as u32, last * 10 / rounds as u32);
    assert!(last < first * 5, "{times:?}");
}

#[test]
fn a_page_that_somebody_is_at_is_no_reason_to_extend_the_file() {
    let db = Db::new(Options::large());
    let heap = heap_of(&db, FILE);
    // Full pages, and then two with room for rows that leave theirs.
    let row = Row::new(insert(&db, &heap, &[0; 1000]));
    while heap.block_count().unwrap() < 3 {
        insert(&db, &heap, &[0; 1000]);
    }
    for _ in 0..2 {
        let page = db.pool.pin_new(FILE).unwrap().page_id();
        assert_eq!(heap.vacuum_step(page.block, 1, true).unwrap().next, None);
    }
    let blocks = heap.block_count().unwrap();
    let busy = db.pool.pin(PageId::new(FILE, 3)).unwrap();
    let at_it = busy.write();
    let mut txn = db.begin(1);
    row.add(&heap, &mut txn, 1);
    txn.commit();
    drop(at_it);
    assert_eq!(row.0.lock().last().map(|tid| tid.block), Some(4));
    assert_eq!(heap.block_count().unwrap(), blocks);
}

#[test]
fn room_that_updates_leave_is_for_the_rows_of_the_page() {
    let db = Db::new(Options::large());
    let heap = heap_of(&db, FILE);
    let first = insert(&db, &heap, &[0; 1000]);
    let second = insert(&db, &heap, &[0; 1000]);
    while heap.block_count().unwrap() < 2 {
        insert(&db, &heap, &[0; 1000]);
    }
    // The last but one finds no room and prunes the page, so that another long row would fit.
    let mut tid = first;
    for _ in 0..8 {
        let txn = db.begin(1);
        let updated = heap.update(&txn.ctx(), tid, &[1; 100], hot(None)).unwrap();
        let Modify::Done { tid: newest, hot: true } = updated else { panic!("there is room") };
        tid = newest;
        txn.commit();
        db.settle();
    }
    let fill = || {
        let blocks = heap.block_count().unwrap();
        let mut placed = Vec::new();
        while heap.block_count().unwrap() == blocks {
            placed.push(insert(&db, &heap, &[0; 1000]).block);
        }
        placed
    };
    assert!(!fill().contains(&0));
    // Any insert may use the room that a deleted row leaves.
    let txn = db.begin(1);
    assert!(matches!(heap.delete(&txn.ctx(), second, WaitPolicy::Block, None).unwrap(), Modify::Done { .. }));
    txn.commit();
    db.settle();
    assert!(heap.is_dead_root(second).unwrap());
    assert!(fill().contains(&0));
}

#[test]
fn a_row_updated_often_in_one_transaction_is_right_and_shrinks_afterwards() {
    let db = Db::new(Options::large());
    let heap = heap_of(&db, FILE);
    let row = Row::new(insert(&db, &heap, &[0; 100]));
    let mut txn = db.begin(1);
    for _ in 0..2000 {
        row.add(&heap, &mut txn, 1);
    }
    txn.next_command();
    assert_eq!(row.read(&heap, &txn, |_, payload| number(payload)), 2000);
    txn.commit();
    let grown = heap.block_count().unwrap();
    for _ in 0..2 {
        db.settle();
        let step = heap.vacuum_step(0, u32::MAX, false).unwrap();
        heap.vacuum_free(&step.dead).unwrap();
    }
    let txn = db.begin(1);
    assert_eq!(row.read(&heap, &txn, |_, payload| number(payload)), 2000);
    for _ in 0..grown {
        for _ in 0..10 {
            heap.insert(&txn.ctx(), &[0; 100]).unwrap();
        }
    }
    assert_eq!(heap.block_count().unwrap(), grown, "the room that came free is used again");
}

#[test]
fn concurrent_updates_of_hot_rows_lose_nothing() {
    const THREADS: u32 = 6;
    const ROWS: usize = 3;
    let db = Db::new(Options::large());
    let heap = heap_of(&db, FILE);
    let rows: Vec<Row> = (0..ROWS).map(|_| Row::new(insert(&db, &heap, &[0; 60]))).collect();
    let rounds = 1500 * scale();
    let done = AtomicBool::new(false);
    let start = Instant::now();
    thread::scope(|scope| {
        let updaters: Vec<_> = (1..=THREADS)
            .map(|owner| {
                let (db, heap, rows) = (&db, &heap, &rows);
                scope.spawn(move || {
                    for round in 0..rounds {
                        let mut txn = db.begin(owner);
                        // Whole transactions end in different ways.
                        rows[(round as usize + owner as usize) % ROWS].add(heap, &mut txn, 1);
                        if round % 7 == 3 {
                            txn.abort();
                        } else {
                            txn.commit();
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                db.settle();
                thread::sleep(Duration::from_millis(1));
            }
        });
        for updater in updaters {
            updater.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    println!("{:?} an update", start.elapsed() / (rounds as u32 * THREADS));
    let txn = db.begin(0);
    let sum: u64 = rows.iter().map(|row| row.read(&heap, &txn, |_, payload| number(payload))).sum();
    let committed = (0..rounds).filter(|round| round % 7 != 3).count() as u64;
    assert_eq!(sum, committed * u64::from(THREADS));
    assert_eq!(db.locks.waiting_count(), 0);
}

#[test]
fn money_moved_between_rows_by_many_is_neither_made_nor_lost() {
    const THREADS: u32 = 4;
    const ROWS: u64 = 40;
    let db = Db::new(Options::large());
    let heap = heap_of(&db, FILE);
    let mut start_value = [0u8; 200];
    start_value[..8].copy_from_slice(&1000u64.to_le_bytes());
    let rows: Vec<Row> = (0..ROWS).map(|_| Row::new(insert(&db, &heap, &start_value))).collect();
    let done = AtomicBool::new(false);
    let checks = AtomicU64::new(0);
    thread::scope(|scope| {
        let movers: Vec<_> = (1..=THREADS)
            .map(|owner| {
                let (db, heap, rows) = (&db, &heap, &rows);
                scope.spawn(move || {
                    let mut state = u64::from(owner);
                    for _ in 0..2000 * scale() {
                        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                        let (one, other) = ((state >> 33) % ROWS, (state >> 43) % ROWS);
                        if one == other {
                            continue;
                        }
                        let mut txn = db.begin(owner);
                        // In order, so that nobody waits in a circle.
                        rows[one.min(other) as usize].add(heap, &mut txn, 1);
                        rows[one.max(other) as usize].add(heap, &mut txn, u64::MAX);
                        txn.commit();
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let txn = db.begin(0);
                let mut sum = 0u64;
                for row in &rows {
                    sum = sum.wrapping_add(row.read(&heap, &txn, |_, payload| number(payload)));
                }
                assert_eq!(sum, 1000 * ROWS, "a snapshot sees whole transactions");
                txn.commit();
                db.settle();
                checks.fetch_add(1, Ordering::Relaxed);
            }
        });
        for mover in movers {
            mover.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(checks.load(Ordering::Relaxed) > 0);
}

#[test]
fn concurrent_inserters_share_the_blocks_and_every_row_is_there_once() {
    const THREADS: u32 = 4;
    let db = Db::new(Options::large());
    let heap = heap_of(&db, FILE);
    let rows = 4000 * scale();
    thread::scope(|scope| {
        for owner in 1..=THREADS {
            let (db, heap) = (&db, &heap);
            scope.spawn(move || {
                for row in 0..rows {
                    let txn = db.begin(owner);
                    let mut payload = [0u8; 64];
                    payload[..8].copy_from_slice(&(row * u64::from(THREADS) + u64::from(owner - 1)).to_le_bytes());
                    heap.insert(&txn.ctx(), &payload).unwrap();
                    txn.commit();
                }
            });
        }
    });
    let txn = db.begin(0);
    let mut seen = vec![0u8; (rows * u64::from(THREADS)) as usize];
    let mut page = cohort_heap::PageTuples::new();
    let mut scan = heap.scan().unwrap();
    while scan.next_page(&txn.ctx(), &mut page).unwrap() {
        page.iter().for_each(|(_, payload)| seen[number(payload) as usize] += 1);
    }
    assert!(seen.iter().all(|&times| times == 1));
    let least = seen.len() / 81;
    let blocks = heap.block_count().unwrap() as usize;
    assert!(blocks <= least + 20, "{blocks} blocks for what fits in {least}");
}

// invariants: row 41
#[test]
fn a_scan_of_pages_without_a_visible_row_can_be_interrupted() {
    let db = Db::new(Options::large());
    let heap = heap_of(&db, FILE);
    let txn = db.begin(1);
    for _ in 0..100 {
        heap.insert(&txn.ctx(), &[0; 500]).unwrap();
    }
    txn.abort();
    assert!(heap.block_count().unwrap() > 3);
    let interrupt = sync::Interrupt::new();
    let txn = db.begin(1);
    let mut page = cohort_heap::PageTuples::new();
    interrupt.raise(sync::InterruptKind::Cancel);
    let scanned = sync::with_interrupt(&interrupt, || heap.scan().unwrap().next_page(&txn.ctx(), &mut page));
    assert_eq!(scanned.unwrap_err().sqlstate(), sqlstate::QUERY_CANCELED);
    interrupt.raise(sync::InterruptKind::Cancel);
    let built =
        sync::with_interrupt(&interrupt, || heap.scan_for_build(&|read| read(&txn.ctx()), &mut |_| unreachable!()));
    assert_eq!(built.unwrap_err().sqlstate(), sqlstate::QUERY_CANCELED);
}

// invariants: row 30
#[test]
fn a_key_share_lock_protects_its_row_across_updates_by_others() {
    for (updates, abort_last, moved) in
        [(1, false, false), (3, false, false), (1, true, false), (3, true, true), (2, false, true)]
    {
        let db = Db::new(Options::large());
        let heap = heap_of(&db, FILE);
        let root = insert(&db, &heap, &[0; 100]);
        let holder = db.begin(1);
        let locked = heap.lock(&holder.ctx(), root, RowLockMode::KeyShare, WaitPolicy::Block, None).unwrap();
        assert!(matches!(locked, Modify::Done { .. }));
        // Others update it, to other pages too.
        let mut at = root;
        for round in 0..updates {
            let mut txn = db.begin(2);
            txn.next_command();
            let options = UpdateOptions { indexed_columns_changed: moved, ..hot(None) };
            let payload = vec![1; if moved { 7000 } else { 100 }];
            let Modify::Done { tid, .. } = heap.update(&txn.ctx(), at, &payload, options).unwrap() else {
                panic!("an update that leaves keys alone goes past a key-share lock");
            };
            if abort_last && round + 1 == updates {
                txn.abort();
            } else {
                at = tid;
                txn.commit();
            }
            db.settle();
            let step = heap.vacuum_step(0, u32::MAX, false).unwrap();
            heap.vacuum_free(&step.dead).unwrap();
        }
        // Nobody can delete it or change its key, at once or by waiting a moment.
        let mut deleter = db.begin(3);
        deleter.next_command();
        assert!(matches!(heap.delete(&deleter.ctx(), at, WaitPolicy::Skip, None).unwrap(), Modify::Skipped));
        let options = UpdateOptions { mode: RowLockMode::Update, wait: WaitPolicy::NoWait, ..hot(None) };
        let error = heap.update(&deleter.ctx(), at, &[2; 100], options).map(|_| ()).unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate::LOCK_NOT_AVAILABLE);
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            let (heap, deleter, ended) = (&heap, &deleter, &ended);
            let deleting = scope.spawn(move || {
                let done = heap.delete(&deleter.ctx(), at, WaitPolicy::Block, None).unwrap();
                assert!(ended.load(Ordering::SeqCst), "it waited for the holder's end");
                assert!(matches!(done, Modify::Done { .. }));
            });
            thread::sleep(Duration::from_millis(50));
            ended.store(true, Ordering::SeqCst);
            holder.commit();
            deleting.join().unwrap();
        });
        deleter.commit();
    }
}

// invariants: row 30
#[test]
fn a_key_share_lock_taken_while_an_update_runs_protects_both_its_outcomes() {
    for commits in [false, true] {
        let db = Db::new(Options::large());
        let heap = heap_of(&db, FILE);
        let root = insert(&db, &heap, &[0; 100]);
        let mut updater = db.begin(2);
        updater.next_command();
        let mut newest = root;
        for length in [100, 8000] {
            updater.next_command();
            match heap.update(&updater.ctx(), newest, &vec![1; length], hot(None)).unwrap() {
                Modify::Done { tid, .. } => newest = tid,
                _ => panic!("nobody is in the way"),
            }
        }
        assert_ne!(newest.block, root.block);
        let holder = db.begin(1);
        let locked = heap.lock(&holder.ctx(), root, RowLockMode::KeyShare, WaitPolicy::NoWait, None).unwrap();
        assert!(matches!(locked, Modify::Done { .. }), "an update that leaves keys alone is no obstacle");
        let survivor = if commits {
            updater.commit();
            newest
        } else {
            updater.abort();
            root
        };
        db.settle();
        heap.vacuum_step(0, u32::MAX, false).unwrap();
        let mut deleter = db.begin(3);
        deleter.new_snapshot();
        assert!(matches!(heap.delete(&deleter.ctx(), survivor, WaitPolicy::Skip, None).unwrap(), Modify::Skipped));
        holder.commit();
        assert!(matches!(heap.delete(&deleter.ctx(), survivor, WaitPolicy::Skip, None).unwrap(), Modify::Done { .. }));
        deleter.commit();
    }
}

#[test]
fn a_lock_for_update_excludes_updates_until_its_savepoint_is_rolled_back() {
    let db = Db::new(Options::large());
    let heap = heap_of(&db, FILE);
    let root = insert(&db, &heap, &[0; 100]);
    let mut holder = db.begin(1);
    let savepoint = holder.savepoint();
    heap.lock(&holder.ctx(), root, RowLockMode::Update, WaitPolicy::Block, None).unwrap();
    let updater = db.begin(2);
    let skip = || UpdateOptions { wait: WaitPolicy::Skip, ..hot(None) };
    assert!(matches!(heap.update(&updater.ctx(), root, &[1; 100], skip()).unwrap(), Modify::Skipped));
    holder.rollback_to(savepoint);
    assert!(matches!(heap.update(&updater.ctx(), root, &[1; 100], skip()).unwrap(), Modify::Done { .. }));
    let seen = heap.lock(&holder.ctx(), root, RowLockMode::Share, WaitPolicy::Skip, None).unwrap();
    assert!(matches!(seen, Modify::Skipped));
    updater.commit();
    let seen = heap.lock(&holder.ctx(), root, RowLockMode::Share, WaitPolicy::Skip, None).unwrap();
    assert!(matches!(seen, Modify::Updated { .. }));
}

#[test]
fn a_key_share_lock_held_for_long_does_not_bloat_a_hot_row() {
    let db = Db::new(Options::large());
    let heap = heap_of(&db, FILE);
    let root = insert(&db, &heap, &[0; 100]);
    let row = Row::new(root);
    let mut holder = db.begin(1);
    heap.lock(&holder.ctx(), root, RowLockMode::KeyShare, WaitPolicy::Block, None).unwrap();
    for round in 0..5000 {
        let mut txn = db.begin(2);
        row.add(&heap, &mut txn, 1);
        txn.commit();
        if round % 10 == 0 {
            holder.new_snapshot();
            db.settle();
        }
    }
    assert!(heap.block_count().unwrap() <= 2);
    let deleter = db.begin(3);
    let newest = row.read(&heap, &deleter, |tid, _| tid);
    assert!(matches!(heap.delete(&deleter.ctx(), newest, WaitPolicy::Skip, None).unwrap(), Modify::Skipped));
    holder.commit();
    assert!(matches!(heap.delete(&deleter.ctx(), newest, WaitPolicy::Skip, None).unwrap(), Modify::Done { .. }));
}

#[test]
fn a_deadlock_of_two_rows_has_one_victim() {
    let db = Db::new(Options::large());
    let heap = heap_of(&db, FILE);
    let roots = [insert(&db, &heap, &[0; 100]), insert(&db, &heap, &[0; 100])];
    let victims = AtomicU64::new(0);
    let barrier = std::sync::Barrier::new(2);
    thread::scope(|scope| {
        for side in 0..2usize {
            let (db, heap, roots, victims, barrier) = (&db, &heap, &roots, &victims, &barrier);
            scope.spawn(move || {
                let mut txn = db.begin(side as u32 + 1);
                Row::new(roots[side]).add(heap, &mut txn, 1);
                barrier.wait();
                txn.next_command();
                match heap.update(&txn.ctx(), roots[1 - side], &[9; 100], hot(None)) {
                    Ok(Modify::Done { .. } | Modify::Updated { .. }) => {
                        txn.commit();
                    }
                    Ok(_) => panic!("the other row is updated or not"),
                    Err(error) => {
                        assert_eq!(error.sqlstate(), sqlstate::DEADLOCK_DETECTED);
                        victims.fetch_add(1, Ordering::Relaxed);
                        txn.abort();
                    }
                }
            });
        }
    });
    assert_eq!(victims.load(Ordering::Relaxed), 1);
}

#[test]
fn rows_inserted_beside_a_vacuum_find_room_in_the_pages_that_were_added_for_them() {
    const INSERTERS: u32 = 4;
    let db = Db::new(Options::large());
    let heap = heap_of(&db, FILE);
    let rounds = 8000 * scale();
    let are_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (db, heap, are_done) = (&db, &heap, &are_done);
        // Pages that were just added come to those who look for room.
        let vacuum = scope.spawn(move || {
            while !are_done.load(Ordering::Relaxed) {
                let from = heap.block_count().unwrap().saturating_sub(8);
                heap.vacuum_step(from, u32::MAX, true).unwrap();
            }
        });
        let inserters: Vec<_> = (0..INSERTERS)
            .map(|number| {
                scope.spawn(move || {
                    for round in 0..rounds {
                        let txn = db.begin(number + 1);
                        // Rows of half a page: each second one needs a page of its own.
                        if round % 2 == 0 {
                            heap.insert(&txn.ctx(), &[1; 4000]).unwrap();
                        } else {
                            heap.insert_many(&txn.ctx(), &[&[2; 4000][..]; 3], &mut |_, _| ()).unwrap();
                        }
                        txn.commit();
                    }
                })
            })
            .collect();
        let outcomes: Vec<_> = inserters.into_iter().map(|inserter| inserter.join()).collect();
        are_done.store(true, Ordering::Relaxed);
        vacuum.join().unwrap();
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    });
    let live = heap.vacuum_step(0, u32::MAX, true).unwrap().live_tuples;
    assert_eq!(live, u64::from(INSERTERS) * rounds * 2);
}

// invariants: row 12, as far as hints are concerned
#[test]
fn no_committed_hint_is_set_before_the_commit_is_durable() {
    let db = Db::new(Options::large());
    let heap = heap_of(&db, FILE);
    let root = insert(&db, &heap, &[0; 100]);
    let page_of = |block| db.pool.pin(buffer::PageId::new(FILE, block)).unwrap().read().to_vec();
    let read = || {
        let txn = db.begin(1);
        assert!(heap.read_chain(&txn.ctx(), root, |_, _| ()).unwrap().is_some());
    };
    db.snapshots.raise_floor();
    if db.wal.durable() < db.wal.reserved() {
        let before = page_of(0);
        read();
        assert_eq!(page_of(0), before, "nothing is durable: nothing is marked");
    }
    db.settle();
    let before = page_of(0);
    read();
    assert_ne!(page_of(0), before, "now it is");
}

#[test]
fn who_holds_a_row_already_does_not_queue_behind_those_who_wait_for_it() {
    for locks_first in [false, true] {
        let db = Db::new(Options::large());
        let heap = heap_of(&db, FILE);
        let row = Row::new(insert(&db, &heap, &[0; 100]));
        let mut holder = db.begin(1);
        if locks_first {
            let tid = row.read(&heap, &holder, |tid, _| tid);
            heap.lock(&holder.ctx(), tid, RowLockMode::Update, WaitPolicy::Block, None).unwrap();
        } else {
            row.add(&heap, &mut holder, 1);
        }
        thread::scope(|scope| {
            let waiters: Vec<_> = (2..5)
                .map(|owner| {
                    let (db, heap, row) = (&db, &heap, &row);
                    scope.spawn(move || {
                        let mut txn = db.begin(owner);
                        row.add(heap, &mut txn, 100);
                        txn.commit();
                    })
                })
                .collect();
            while db.locks.waiting_count() < 3 {
                thread::sleep(Duration::from_millis(1));
            }
            // Longer than newcomers may overtake, shorter than the search for deadlocks takes to begin.
            thread::sleep(Duration::from_millis(20));
            for _ in 0..3 {
                row.add(&heap, &mut holder, 1);
            }
            holder.commit();
            waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        });
        let txn = db.begin(1);
        assert_eq!(row.read(&heap, &txn, |_, payload| number(payload)), 303 + u64::from(!locks_first));
    }
}

#[test]
fn a_row_that_is_too_long_is_refused() {
    let db = Db::new(Options::large());
    let heap = heap_of(&db, FILE);
    let txn = db.begin(0);
    let error = heap.insert(&txn.ctx(), &[0; cohort_heap::PAYLOAD_MAX_BYTES + 1]).unwrap_err();
    assert_eq!(error.sqlstate(), sqlstate::INTERNAL_ERROR);
    heap.insert(&txn.ctx(), &[0; cohort_heap::PAYLOAD_MAX_BYTES]).unwrap();
}

#[test]
fn a_version_of_the_own_command_counts_as_changed_by_it_when_it_is_to_be_locked() {
    let db = Db::new(Options::large());
    let heap = heap_of(&db, FILE);
    let mut txn = db.begin(0);
    txn.next_command();
    let tid = heap.insert(&txn.ctx(), &[1; 100]).unwrap();
    let mode = RowLockMode::NoKeyUpdate;
    let command = txn.ctx().command;
    match heap.lock(&txn.ctx(), tid, mode, WaitPolicy::Block, None).unwrap() {
        Modify::SelfModified { command: by } => assert_eq!(by, command),
        _ => panic!("this very command has made it"),
    }
    txn.next_command();
    assert!(matches!(heap.lock(&txn.ctx(), tid, mode, WaitPolicy::Block, None).unwrap(), Modify::Done { .. }));
}
