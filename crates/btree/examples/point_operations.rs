//! Measures the cost of one row: look-ups through an index, updates and inserts, on one thread, everything in memory.
//!
//! `cargo run --release -p cohort-btree --example point_operations [rows]`. Each line is the mean over all
//! operations of a round; the log is written but not synced, and transactions begin and end as in the
//! server but for snapshots and the running set, which are the transaction manager's. On a machine that does
//! other work as well, compare the processor's time.

#[path = "../../heap/tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use base::{FileNumber, Lsn, Oid, Tid};
use cohort_btree::{BTree, BTreeServices};
use heap::{Heap, HeapServices, Modify, PageTuples, RemovalFloor, UpdateOptions};
use lockmgr::{RowLockMode, WaitPolicy};
use support::{Db, Options, Snapshots, Txn};
use sync::Arc;

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

fn measure(what: &str, operations: u64, f: impl FnOnce()) {
    let processor_ns = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    let (start, start_ns) = (Instant::now(), processor_ns());
    f();
    let per_operation = |ns: f64| ns / operations as f64;
    let wall = per_operation(start.elapsed().as_nanos() as f64);
    println!(
        "{what:60} {:7.0} ns of the processor, {wall:7.0} ns by the wall",
        per_operation(processor_ns() - start_ns)
    );
}

fn key_of(number: u64) -> [u8; 9] {
    let mut key = [1; 9];
    key[1..].copy_from_slice(&number.to_be_bytes());
    key
}

struct Table {
    heap: Heap,
    index: BTree,
}

impl Table {
    fn find(&self, txn: &Txn<'_>, number: u64) -> Option<Tid> {
        let mut found = Ok(None);
        let lookup = self.index.lookup(&key_of(number), &mut |root| {
            found = self.heap.read_chain(&txn.ctx(), root, |tid, payload| {
                black_box(payload[7]);
                tid
            });
            ControlFlow::Break(())
        });
        lookup.and(found).expect("pages are sound")
    }
}

fn main() {
    let rows: u64 = std::env::args().nth(1).and_then(|rows| rows.parse().ok()).unwrap_or(1_000_000);
    let db = Db::new(Options { frames: 1 << 16, ..Options::large() });
    let (heap_file, index_file) = (FileNumber(1), FileNumber(2));
    db.pool.create_file(heap_file).expect("a file");
    db.pool.create_file(index_file).expect("a file");
    let services = HeapServices {
        pool: db.pool.clone(),
        wal: db.wal.clone(),
        status: db.status.clone(),
        locks: db.locks.clone(),
        removal_floor: Arc::new(Floor(db.snapshots.clone())),
    };
    let index_services = Arc::new(BTreeServices { pool: db.pool.clone(), wal: db.wal.clone() });
    let heap = Heap::new(Arc::new(services), Oid(16384), heap_file, 90);
    let table = Table { heap, index: BTree::create(index_services, index_file).expect("a tree") };
    let payload = [7u8; 100];
    measure("insert of a row and its unique ascending key", rows, || {
        let txn = db.begin(0);
        for number in 0..rows {
            let tid = table.heap.insert(&txn.ctx(), &payload).expect("a row");
            let live = |other: Tid| table.heap.dirty_status(&txn.ctx(), other);
            table.index.insert(&txn.ctx(), &key_of(number), tid, Some(&live)).expect("an entry");
        }
        txn.commit();
    });
    db.settle();
    println!(
        "{} blocks of rows, {} of entries",
        table.heap.block_count().unwrap_or(0),
        table.index.block_count().unwrap_or(0)
    );
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % rows
    };
    let operations = 1_000_000;
    for round in ["first", "second"] {
        measure(&format!("look-up of a random key and fetch of its row, {round} time"), operations, || {
            let mut txn = db.begin(0);
            txn.next_command();
            for _ in 0..operations {
                black_box(table.find(&txn, next()));
            }
        });
    }
    measure("look-up of one key and fetch of its row", operations, || {
        let mut txn = db.begin(0);
        txn.next_command();
        for _ in 0..operations {
            black_box(table.find(&txn, 77));
        }
    });
    measure("look-up of a random key alone", operations, || {
        for _ in 0..operations {
            let key = key_of(next());
            table
                .index
                .lookup(&key, &mut |tid| {
                    black_box(tid);
                    ControlFlow::Break(())
                })
                .expect("pages are sound");
        }
    });
    measure("begin and end of a transaction", operations, || {
        for _ in 0..operations {
            db.begin(0).commit();
        }
    });
    db.settle();
    let update = |txn: &Txn<'_>, tid: Tid, number: u64| {
        let mut payload = payload;
        payload[20..28].copy_from_slice(&number.to_le_bytes());
        let options = UpdateOptions {
            indexed_columns_changed: false,
            mode: RowLockMode::NoKeyUpdate,
            wait: WaitPolicy::Block,
            turn: None,
        };
        match table.heap.update(&txn.ctx(), tid, &payload, options).expect("an update") {
            Modify::Done { hot, .. } => hot,
            _ => panic!("nobody else is there"),
        }
    };
    let updates = rows / 5;
    for (what, row) in [("of random rows", None), ("of one row", Some(55))] {
        let mut hot = 0;
        measure(&format!("transaction with look-up, fetch and update, {what}"), updates, || {
            for number in 0..updates {
                let mut txn = db.begin(0);
                txn.next_command();
                let tid = table.find(&txn, row.unwrap_or_else(&mut next)).expect("the row is there");
                hot += u64::from(update(&txn, tid, number));
                txn.commit();
                if number % 50 == 0 {
                    db.settle();
                }
            }
        });
        println!("{hot} of {updates} heap-only, {} blocks of rows", table.heap.block_count().unwrap_or(0));
    }
    // The update alone: rows that are found beforehand.
    let txn = db.begin(0);
    let mut txn_places: Vec<Tid> = Vec::new();
    for number in 0..rows / 20 {
        txn_places.push(table.find(&txn, number * 20 + 3).expect("the row is there"));
    }
    measure("update alone, one in twenty rows, in order", rows / 20, || {
        for (number, tid) in txn_places.iter().enumerate() {
            update(&txn, *tid, number as u64);
        }
    });
    txn.commit();
    db.settle();
    let mut page = PageTuples::new();
    for round in ["first", "second"] {
        let mut seen = 0;
        let txn = db.begin(0);
        measure(&format!("a row of a scan, {round} time"), rows, || {
            let mut scan = table.heap.scan().expect("the file is there");
            while scan.next_page(&txn.ctx(), &mut page).expect("pages are sound") {
                seen += page.iter().map(|(_, payload)| u64::from(payload[0] == 7)).sum::<u64>();
            }
        });
        assert_eq!(seen, rows);
    }
}
