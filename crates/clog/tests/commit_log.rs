//! The commit log: its three ways to set bits, and crashes.
#![cfg(not(shuttle))]

extern crate buffer as cohort_buffer;
#[path = "../../buffer/tests/support/mod.rs"]
mod support;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Lsn, Xid};
use buffer::{DoubleWrite, DoubleWriteOptions, DurableLog, LateLog, doublewrite};
use cohort_clog::{ClogBits, ClogUpdate, StatusStore, StatusStoreOptions};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use support::watch::WatchingVfs;
use support::{TestLog, rounds};
use sync::Arc;
use vfs::{FailStop, Fault, SimulatedOptions, SimulatedVfs, Survival, Vfs};

const XIDS_PER_PAGE: u64 = (8192 - 16) * 4;

fn open(vfs: Arc<dyn Vfs>, log: Arc<dyn DurableLog>, next_xid_at_checkpoint: Xid) -> base::Result<StatusStore> {
    let directory = Path::new("/data");
    let failed = |error| base::Error::io("could not make the data directory", &error);
    vfs.create_dir_all(directory).map_err(failed)?;
    vfs.sync_dir(Path::new("/")).map_err(failed)?;
    let doublewrite = DoubleWrite::open(vfs.clone(), directory, DoubleWriteOptions::default())?;
    let options =
        StatusStoreOptions { transaction_buffers: 16, next_xid_at_checkpoint, ..StatusStoreOptions::default() };
    StatusStore::open(vfs, directory, log, doublewrite, options)
}

/// Transactions with up to eight subtransactions each, spread so that many families cross pages.
fn families(seed: u64, count: usize) -> Vec<(Vec<Xid>, ClogBits)> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut xids: Vec<u64> = (0..6).flat_map(|page| page * XIDS_PER_PAGE + 10..page * XIDS_PER_PAGE + 400).collect();
    xids.shuffle(&mut random);
    (0..count)
        .map(|_| {
            let near = random.random_bool(0.6);
            let size = if random.random_bool(0.5) { 1 } else { random.random_range(2..9) };
            let mut family = vec![xids.pop().unwrap()];
            for _ in 1..size {
                let fits = |xid: &u64| !near || xid / XIDS_PER_PAGE == family[0] / XIDS_PER_PAGE;
                let place = xids.iter().rposition(fits).unwrap();
                family.push(xids.swap_remove(place));
            }
            let bits = if random.random_bool(0.8) { ClogBits::Committed } else { ClogBits::Aborted };
            (family.into_iter().map(Xid).collect(), bits)
        })
        .collect()
}

// invariants: row 14
#[test]
fn all_three_ways_set_the_same_bits() {
    for (seed, mode) in [ClogUpdate::Cohort, ClogUpdate::Group, ClogUpdate::Each].into_iter().enumerate() {
        let status = open(Arc::new(SimulatedVfs::new(1)), Arc::new(LateLog::new()), Xid(3)).unwrap();
        status.set_clog_update(mode);
        assert_eq!(status.clog_update(), mode);
        let families = families(seed as u64, 300);
        std::thread::scope(|scope| {
            for part in families.chunks(75) {
                let status = &status;
                scope.spawn(move || {
                    for (family, bits) in part {
                        status.set_transaction_bits(family[0], &family[1..], *bits, Lsn(8));
                    }
                });
            }
        });
        for (family, bits) in &families {
            for &xid in family {
                assert_eq!(status.clog().get(xid).unwrap(), *bits, "{mode:?}");
            }
        }
    }
}

// invariants: row 14
#[test]
fn who_reads_bits_meanwhile_never_takes_a_part_of_a_family_for_the_whole() {
    for mode in [ClogUpdate::Group, ClogUpdate::Each] {
        let status = open(Arc::new(SimulatedVfs::new(1)), Arc::new(LateLog::new()), Xid(3)).unwrap();
        status.set_clog_update(mode);
        let families: Vec<_> = families(5, 300).into_iter().filter(|(_, bits)| *bits == ClogBits::Committed).collect();
        let begun = AtomicU64::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for (family, bits) in &families {
                    begun.fetch_add(1, Ordering::SeqCst);
                    status.set_transaction_bits(family[0], &family[1..], *bits, Lsn(8));
                }
            });
            while begun.load(Ordering::SeqCst) < families.len() as u64 {
                let at = begun.load(Ordering::SeqCst).saturating_sub(1) as usize;
                let (family, _) = &families[at];
                // A child is shown as committed only if its top-level transaction is.
                for &child in &family[1..] {
                    if status.clog().get(child).unwrap() == ClogBits::Committed {
                        assert_eq!(status.clog().get(family[0]).unwrap(), ClogBits::Committed);
                    }
                }
            }
        });
    }
}

// invariants: row 12
#[test]
fn bits_whose_log_is_not_durable_stay_in_memory_and_nobody_waits() {
    let log = Arc::new(TestLog::default());
    let vfs = WatchingVfs::new(SimulatedVfs::new(1));
    vfs.log.set(log.clone()).ok().unwrap();
    let status = open(Arc::new(vfs), log.clone(), Xid(3)).unwrap();
    let xid = |page: u64| Xid(page * XIDS_PER_PAGE + 9);
    for page in 0..60 {
        status.set_transaction_bits(xid(page), &[], ClogBits::Committed, log.insert());
    }
    assert_eq!((log.flushes.load(Ordering::SeqCst), status.clog().statistics().writes), (0, 0));
    // As soon as the log is durable the cache is as small again as it should be.
    log.flush(log.inserted());
    status.set_transaction_bits(xid(60), &[], ClogBits::Committed, log.insert());
    status.checkpoint();
    assert!((0..61).all(|page| status.clog().get(xid(page)).unwrap() == ClogBits::Committed));
    assert!(status.clog().statistics().reads > 40, "{:?}", status.clog().statistics());
}

/// The crash tests' knowledge of the commit log: every family whose bits were begun to be set, and the log's end it needs.
#[derive(Default)]
struct History {
    families: Vec<(Vec<Xid>, ClogBits, Lsn)>,
    /// How many of them a finished checkpoint covers.
    checkpointed: usize,
    highest: u64,
}

fn work(status: &StatusStore, log: &TestLog, history: &sync::Mutex<History>, seed: u64, done: usize) {
    let mut random = StdRng::seed_from_u64(seed);
    for (family, bits) in families(seed % 7, 300).into_iter().skip(done) {
        let lsn = log.insert();
        {
            let mut history = history.lock();
            history.families.push((family.clone(), bits, lsn));
            let highest = family.iter().map(|xid| xid.0).max().unwrap();
            history.highest = history.highest.max(highest);
        }
        match random.random_range(0..3) {
            // As a leader does: after the flush.
            0 => {
                log.flush(lsn);
                let all: Vec<_> = family.iter().map(|&xid| (xid, bits)).collect();
                status.set_bits(&all, lsn);
            }
            // As an asynchronous commit does: before it.
            _ => {
                status.set_clog_update([ClogUpdate::Group, ClogUpdate::Each][random.random_range(0..2)]);
                status.set_transaction_bits(family[0], &family[1..], bits, lsn);
            }
        }
        if random.random_bool(0.05) {
            let covered = history.lock().families.len();
            status.checkpoint();
            history.lock().checkpointed = covered;
        }
        // Reads of old pages drive others out of the sixteen places.
        for _ in 0..random.random_range(0..4) {
            let page = random.random_range(0..40);
            status.clog().get(Xid(page * XIDS_PER_PAGE + 3)).unwrap();
        }
    }
}

fn check(disk: &SimulatedVfs, history: &History, durable: Lsn) {
    doublewrite::recover(disk, Path::new("/data")).unwrap();
    let status = open(Arc::new(disk.clone()), Arc::new(LateLog::new()), Xid(3)).unwrap();
    let mut expected = HashMap::new();
    for (number, (family, bits, lsn)) in history.families.iter().enumerate() {
        for &xid in family {
            let found = status.clog().get(xid).unwrap();
            if found != ClogBits::InProgress {
                // R1; "about to be committed" is as good as in progress.
                assert!(found == *bits || found == ClogBits::SubCommitted, "{xid:?} is {found:?}");
                assert!(*lsn <= durable, "bits of {xid:?} are on the disk, their record at {lsn} is not");
            }
            if number < history.checkpointed {
                assert_eq!(found, *bits, "{xid:?} was covered by a checkpoint");
            }
            expected.insert(xid, (*bits, *lsn));
        }
    }
    // Redo sets the bits of every durable record again.
    for (family, bits, _) in history.families.iter().filter(|(_, _, lsn)| *lsn <= durable) {
        let all: Vec<_> = family.iter().map(|&xid| (xid, *bits)).collect();
        status.set_bits(&all, durable);
    }
    for (xid, (bits, lsn)) in expected {
        let bits = if lsn <= durable { bits } else { ClogBits::InProgress };
        assert_eq!(status.clog().get(xid).unwrap(), bits);
    }
}

fn crash_run(seed: u64, faults: Vec<Fault>) -> bool {
    let disk = SimulatedVfs::with_options(SimulatedOptions { seed, survival: Survival::Seeded, faults });
    let history = sync::Mutex::new(History::default());
    let log = Arc::new(TestLog::default());
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let vfs = WatchingVfs::new(disk.clone());
        vfs.log.set(log.clone()).ok().unwrap();
        let Ok(status) = open(Arc::new(vfs), log.clone(), Xid(3)) else { return };
        work(&status, &log, &history, seed, 0);
    }));
    let stopped = match ended {
        Ok(()) => false,
        Err(panic) if panic.is::<FailStop>() => true,
        Err(panic) => {
            eprintln!("seed {seed}");
            resume_unwind(panic);
        }
    };
    let result = catch_unwind(AssertUnwindSafe(|| check(&disk.crash(), &history.lock(), log.durable())));
    if let Err(panic) = result {
        eprintln!("seed {seed}");
        resume_unwind(panic);
    }
    stopped
}

// invariants: rows 1, 2, 12, 31 (as far as the bits go)
#[test]
fn after_a_power_failure_bits_are_neither_ahead_of_the_log_nor_behind_a_checkpoint() {
    let mut stopped = 0;
    for seed in 0..rounds(150) {
        let at = StdRng::seed_from_u64(seed).random_range(1..150);
        stopped += u32::from(crash_run(seed, vec![Fault::CrashAtCall(at)]));
    }
    assert!(stopped > 20, "{stopped}");
}

// invariants: rows 6, 7
#[test]
fn a_failed_write_or_sync_of_the_commit_log_ends_the_process_and_loses_nothing() {
    let mut stopped = 0;
    for seed in 0..rounds(60) {
        let mut random = StdRng::seed_from_u64(seed);
        let faults = match seed % 3 {
            0 => vec![Fault::FailSync(random.random_range(6..40))],
            1 => vec![Fault::FailWrite(random.random_range(6..60))],
            _ => vec![Fault::NoSpaceFromWrite(random.random_range(6..30))],
        };
        stopped += u32::from(crash_run(seed, faults));
    }
    assert!(stopped > 20, "{stopped}");
}
