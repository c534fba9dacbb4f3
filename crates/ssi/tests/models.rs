//! Interleavings of readers, writers and commits, by `shuttle`: write skew never commits as a whole.
#![cfg(shuttle)]

use std::collections::HashMap;

use base::{FileNumber, Lsn, OwnerId, Tid, Xid};
use clog::ReadWatch;
use sync::atomic::{AtomicU64, Ordering};
use sync::{Arc, Mutex, thread};

use cohort_ssi::{Ssi, SsiOptions};

const HEAP: FileNumber = FileNumber(1);

/// A version of a row: who made it, and when that committed.
#[derive(Clone, Copy)]
struct Version {
    by: Xid,
}

/// Rows with all their versions, and the commits.
struct World {
    ssi: Arc<Ssi>,
    horizon: AtomicU64,
    rows: [Mutex<Vec<Version>>; 2],
    commits: Mutex<HashMap<Xid, Lsn>>,
}

impl World {
    fn new() -> World {
        World {
            ssi: Ssi::new(SsiOptions::default()),
            horizon: AtomicU64::new(100),
            rows: [Mutex::new(Vec::new()), Mutex::new(Vec::new())],
            commits: Mutex::new(HashMap::new()),
        }
    }

    /// Reads one row and writes the other. The snapshot, if it committed.
    fn read_and_write(&self, number: u32, reads: usize, writes: usize) -> Option<Lsn> {
        let horizon = || Lsn(self.horizon.load(Ordering::SeqCst));
        let (snapshot, watch) = self.ssi.entrance().begin(OwnerId(number), false, horizon);
        let watch = watch.expect("writers are watched");
        let xid = Xid(10 + u64::from(number));
        {
            // The row's mutex stands for its page's latch.
            let row = self.rows[reads].lock();
            for version in row.iter() {
                let committed = self.commits.lock().get(&version.by).copied();
                if committed.is_none_or(|csn| csn > snapshot) {
                    watch.met(version.by, committed);
                }
            }
            watch.saw(HEAP, Tid::new(0, reads as u16 + 1));
        }
        if watch.check_read().is_err() {
            return None;
        }
        watch.note_xid(xid);
        self.rows[writes].lock().push(Version { by: xid });
        let committed = watch.wrote_tuple(HEAP, Tid::new(0, writes as u16 + 1)).and_then(|()| {
            watch.commit(|| {
                let csn = Lsn(self.horizon.load(Ordering::SeqCst) + 8);
                self.commits.lock().insert(xid, csn);
                self.horizon.store(csn.0, Ordering::SeqCst);
                (Some(csn), csn, snapshot)
            })
        });
        if committed.is_err() {
            self.rows[writes].lock().retain(|version| version.by != xid);
        }
        committed.ok()
    }
}

fn check(model: impl Fn() + Send + Sync + 'static) {
    let iterations =
        std::env::var("COHORT_MODEL_ITERATIONS").map_or(3000, |text| text.parse().expect("a number of executions"));
    let model = Arc::new(model);
    let again = model.clone();
    shuttle::check_random(move || model(), iterations);
    shuttle::check_pct(move || again(), iterations, 3);
}

/// Runs transactions that each read one row and write the other, at once. Of two that did the opposite of each other and both
/// committed, one has seen the other.
fn run(transactions: &[(usize, usize)]) {
    let world = Arc::new(World::new());
    let threads: Vec<_> = (0..)
        .zip(transactions.to_vec())
        .map(|(number, (reads, writes))| {
            let world = world.clone();
            thread::spawn(move || (world.read_and_write(number, reads, writes), number, writes))
        })
        .collect();
    let ended: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let commits = world.commits.lock();
    assert!(!commits.is_empty(), "somebody always commits");
    for (one, one_number, one_writes) in &ended {
        for (other, other_number, other_writes) in &ended {
            let (Some(one), Some(other)) = (one, other) else { continue };
            let csn = |number: &u32| commits[&Xid(10 + u64::from(*number))];
            if one_writes != other_writes && *one < csn(other_number) && *other < csn(one_number) {
                panic!("write skew of {one_number} and {other_number}");
            }
        }
    }
}

// invariants: row 17
#[test]
fn two_that_overlap_and_read_what_the_other_writes_never_both_commit() {
    check(|| run(&[(0, 1), (1, 0)]));
}

// invariants: row 17
#[test]
fn nor_do_they_among_others() {
    check(|| run(&[(0, 1), (1, 0), (0, 1)]));
}
