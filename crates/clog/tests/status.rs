//! The status store against a model, and over restarts.
#![cfg(not(shuttle))]

extern crate buffer as cohort_buffer;
#[path = "../../buffer/tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::path::Path;

use base::{CommandId, Lsn, OwnerId, Xid, sqlstate};
use buffer::{DoubleWrite, DoubleWriteOptions, DurableLog, LateLog};
use cohort_clog::{ClogBits, ClogUpdate, Snapshot, StatusStore, StatusStoreOptions, TransactionStatus, TxnCtx};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use support::{TestLog, rounds};
use sync::Arc;
use vfs::{RealVfs, SimulatedVfs, Vfs};

const XIDS_PER_PAGE: u64 = (8192 - 16) * 4;

fn open_on(vfs: Arc<dyn Vfs>, log: Arc<dyn DurableLog>, options: StatusStoreOptions) -> base::Result<StatusStore> {
    let directory = Path::new("/data");
    vfs.create_dir_all(directory).unwrap();
    vfs.sync_dir(Path::new("/")).unwrap();
    let doublewrite = DoubleWrite::open(vfs.clone(), directory, DoubleWriteOptions::default())?;
    StatusStore::open(vfs, directory, log, doublewrite, options)
}

fn small() -> StatusStoreOptions {
    StatusStoreOptions { transaction_buffers: 16, csn_window: 4096, ..StatusStoreOptions::default() }
}

fn open_in_memory(first_xid: Xid) -> StatusStore {
    let options = StatusStoreOptions { next_xid_at_checkpoint: first_xid, ..small() };
    let status = open_on(Arc::new(SimulatedVfs::new(1)), Arc::new(LateLog::new()), options).unwrap();
    status.start(first_xid);
    status
}

/// The outcome of one of the model's transactions, and whether its bits are set.
#[derive(Clone, Debug)]
struct Modelled {
    outcome: Outcome,
    parent: Option<Xid>,
    has_bits: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Running,
    Committed(Lsn),
    Aborted,
}

struct Model {
    transactions: BTreeMap<Xid, Modelled>,
    horizon: Lsn,
}

impl Model {
    fn outcome(&self, xid: Xid) -> Outcome {
        let own = &self.transactions[&xid];
        match own.parent {
            Some(parent) if own.outcome == Outcome::Running => self.transactions[&parent].outcome,
            _ => own.outcome,
        }
    }

    fn check(&self, status: &StatusStore, xid: Xid) {
        let found = status.status(xid);
        let expected = self.outcome(xid);
        let fits = match (expected, found) {
            (Outcome::Running, TransactionStatus::InProgress) | (Outcome::Aborted, TransactionStatus::Aborted) => true,
            (Outcome::Committed(csn), TransactionStatus::Committed(found)) => {
                found == csn || (found == Lsn::ZERO && csn <= self.horizon)
            }
            _ => false,
        };
        assert!(fits, "{xid:?} is {expected:?} and was found {found:?}, horizon {}", self.horizon);
    }

    fn family(&self, top: Xid) -> Vec<Xid> {
        let children = self.transactions.range(top..).filter(|(_, child)| child.parent == Some(top));
        children.filter(|(_, child)| child.outcome == Outcome::Running).map(|(&xid, _)| xid).collect()
    }
}

// invariants: row 14 (all or nothing, through the window, the spill file, stragglers and the commit log)
#[test]
fn every_status_is_the_models_whatever_was_spilled_and_trimmed() {
    for seed in 0..rounds(12) {
        let mut random = StdRng::seed_from_u64(seed);
        // Some runs cross pages of the commit log.
        let first = if seed % 3 == 0 { XIDS_PER_PAGE * 5 - 6000 } else { random.random_range(3..100_000) };
        let mut next = first;
        let status = open_in_memory(Xid(first));
        let mut model = Model { transactions: BTreeMap::new(), horizon: Lsn::ZERO };
        let mut running: Vec<Xid> = Vec::new();
        let mut awaiting_bits: Vec<Xid> = Vec::new();
        let mut lsn = Lsn(1000);
        status.set_clog_update([ClogUpdate::Cohort, ClogUpdate::Group, ClogUpdate::Each][seed as usize % 3]);
        let assign = |next: &mut u64, model: &mut Model, parent| {
            let xid = Xid(*next);
            *next += 1;
            status.assigned(xid);
            if let Some(parent) = parent {
                status.set_parent(xid, parent);
            }
            let modelled = Modelled { outcome: Outcome::Running, parent, has_bits: false };
            model.transactions.insert(xid, modelled);
            xid
        };
        for step in 0..14_000 {
            match random.random_range(0..100) {
                0..40 => running.push(assign(&mut next, &mut model, None)),
                40..50 if !running.is_empty() => {
                    let top = running[random.random_range(0..running.len())];
                    for _ in 0..random.random_range(1..4) {
                        let sub = assign(&mut next, &mut model, Some(top));
                        if random.random_bool(0.3) {
                            status.set_aborted(sub);
                            model.transactions.get_mut(&sub).unwrap().outcome = Outcome::Aborted;
                            status.set_transaction_bits(sub, &[], ClogBits::Aborted, Lsn::ZERO);
                            model.transactions.get_mut(&sub).unwrap().has_bits = true;
                        }
                    }
                }
                50..90 if running.len() > 3 => {
                    // The oldest few run for long.
                    let top = running.swap_remove(random.random_range(3..running.len()));
                    lsn.0 += 40;
                    if random.random_bool(0.8) {
                        status.set_committed(top, lsn);
                        model.transactions.get_mut(&top).unwrap().outcome = Outcome::Committed(lsn);
                    } else {
                        status.set_aborted(top);
                        model.transactions.get_mut(&top).unwrap().outcome = Outcome::Aborted;
                    }
                    awaiting_bits.push(top);
                }
                90..98 => {
                    for top in awaiting_bits.drain(..) {
                        let children = model.family(top);
                        let bits = match model.outcome(top) {
                            Outcome::Committed(_) => ClogBits::Committed,
                            _ => ClogBits::Aborted,
                        };
                        if random.random_bool(0.5) {
                            status.set_transaction_bits(top, &children, bits, lsn);
                        } else {
                            let all: Vec<_> = children.iter().chain([&top]).map(|&xid| (xid, bits)).collect();
                            status.set_bits(&all, lsn);
                        }
                        for xid in children.into_iter().chain([top]) {
                            model.transactions.get_mut(&xid).unwrap().has_bits = true;
                        }
                    }
                }
                98 if step % 5 == 0 => {
                    let horizon = Lsn(random.random_range(model.horizon.0..=lsn.0));
                    model.horizon = horizon;
                    status.trim(horizon, lsn).unwrap();
                }
                _ => {}
            }
            if next > first {
                for _ in 0..2 {
                    model.check(&status, Xid(random.random_range(first..next)));
                }
            }
        }
        // The old and the young who still run end now.
        for top in running {
            lsn.0 += 40;
            status.set_committed(top, lsn);
            model.transactions.get_mut(&top).unwrap().outcome = Outcome::Committed(lsn);
            awaiting_bits.push(top);
        }
        (first..next).for_each(|xid| model.check(&status, Xid(xid)));
        for top in awaiting_bits {
            let bits = match model.outcome(top) {
                Outcome::Committed(_) => ClogBits::Committed,
                _ => ClogBits::Aborted,
            };
            let all: Vec<_> = model.family(top).into_iter().chain([top]).map(|xid| (xid, bits)).collect();
            status.set_bits(&all, lsn);
        }
        model.horizon = lsn;
        status.trim(lsn, lsn).unwrap();
        (first..next).for_each(|xid| model.check(&status, Xid(xid)));
        let statistics = status.csn_statistics();
        assert_eq!((statistics.spilled_pages, statistics.stragglers), (0, 0), "seed {seed}: {statistics:?}");
        assert!(statistics.kept_from.0 + 3 * 1024 > next);
    }
}

#[test]
fn csns_are_kept_as_long_as_a_snapshot_is_held() {
    let status = open_in_memory(Xid(3));
    for xid in 3..30_000 {
        status.assigned(Xid(xid));
        status.set_committed(Xid(xid), Lsn(xid * 8));
        status.set_bits(&[(Xid(xid), ClogBits::Committed)], Lsn(xid * 8));
    }
    let snapshot = Lsn(2000 * 8);
    status.trim(snapshot, Lsn::MAX).unwrap();
    assert!(status.csn_statistics().spilled_pages > 20);
    for xid in (2001..30_000).step_by(7) {
        assert_eq!(status.status(Xid(xid)), TransactionStatus::Committed(Lsn(xid * 8)));
    }
    assert_eq!(status.status(Xid(5)), TransactionStatus::Committed(Lsn::ZERO));
    // Commits that are not durable are kept as well.
    status.trim(Lsn::MAX, snapshot).unwrap();
    assert!(status.csn_statistics().spilled_pages > 20);
    status.trim(Lsn::MAX, Lsn(1 << 40)).unwrap();
    assert_eq!(status.csn_statistics().spilled_pages, 0);
    assert_eq!(status.status(Xid(2001)), TransactionStatus::Committed(Lsn::ZERO));
}

#[test]
fn an_outcome_without_its_bits_is_not_let_go() {
    let status = open_in_memory(Xid(3));
    for xid in 3..10_000 {
        status.assigned(Xid(xid));
        status.set_committed(Xid(xid), Lsn(xid * 8));
        // The retirement of these lags.
        if xid != 77 && xid != 78 {
            status.set_bits(&[(Xid(xid), ClogBits::Committed)], Lsn(xid * 8));
        }
    }
    status.trim(Lsn::MAX, Lsn(1 << 40)).unwrap();
    assert_eq!(status.csn_statistics().stragglers, 2);
    assert_eq!(status.status(Xid(77)), TransactionStatus::Committed(Lsn(77 * 8)));
    status.set_bits(&[(Xid(77), ClogBits::Committed), (Xid(78), ClogBits::Committed)], Lsn(1));
    status.trim(Lsn::MAX, Lsn(1 << 40)).unwrap();
    assert_eq!(status.csn_statistics().stragglers, 0);
    assert_eq!(status.status(Xid(77)), TransactionStatus::Committed(Lsn::ZERO));
}

#[test]
fn one_that_outlives_its_page_commits_like_any_other() {
    let status = open_in_memory(Xid(3));
    let runs_long = [Xid(7), Xid(8), Xid(9)];
    let commit = |xid: Xid, csn: Lsn| {
        status.set_committed(xid, csn);
        status.set_bits(&[(xid, ClogBits::Committed)], csn);
    };
    for xid in (3..3000).map(Xid) {
        status.assigned(xid);
        if !runs_long.contains(&xid) {
            commit(xid, Lsn(8 * xid.0));
        }
    }
    // The page is trimmed and still in the window; then it leaves that, too.
    status.trim(Lsn::MAX, Lsn(1 << 20)).unwrap();
    assert_eq!(status.csn_statistics().stragglers, 3);
    commit(runs_long[0], Lsn(2 << 20));
    (3000..9000).for_each(|xid| status.assigned(Xid(xid)));
    commit(runs_long[1], Lsn(3 << 20));
    assert_eq!(status.status(runs_long[0]), TransactionStatus::Committed(Lsn(2 << 20)));
    assert_eq!(status.status(runs_long[1]), TransactionStatus::Committed(Lsn(3 << 20)));
    assert_eq!(status.status(runs_long[2]), TransactionStatus::InProgress);
    status.set_aborted(runs_long[2]);
    assert_eq!(status.status(runs_long[2]), TransactionStatus::Aborted);
}

#[test]
fn after_a_restart_an_xid_is_prepared_or_committed_or_aborted() {
    let disk = SimulatedVfs::new(3);
    let log = Arc::new(TestLog::default());
    let status = open_on(Arc::new(disk.clone()), log.clone(), small()).unwrap();
    status.start(Xid(3));
    for xid in 3..5000 {
        status.assigned(Xid(xid));
    }
    status.set_bits(&[(Xid(10), ClogBits::Committed), (Xid(11), ClogBits::Aborted)], log.insert());
    status.checkpoint();
    drop(status);

    let options = StatusStoreOptions { next_xid_at_checkpoint: Xid(5000), ..small() };
    let status = open_on(Arc::new(disk.crash()), log, options).unwrap();
    status.restore_prepared(Xid(20), &[Xid(21), Xid(40)]);
    status.start(Xid(5000));
    assert_eq!(status.status(Xid(10)), TransactionStatus::Committed(Lsn::ZERO));
    assert_eq!(status.status(Xid(11)), TransactionStatus::Aborted);
    assert_eq!(status.status(Xid(12)), TransactionStatus::Aborted, "lost in the crash");
    for (xid, top) in [(20, 20), (21, 20), (40, 20), (41, 41)] {
        assert_eq!(status.top_of(Xid(xid)), Xid(top));
    }
    assert_eq!(status.status(Xid(40)), TransactionStatus::InProgress);
    status.trim(Lsn::MAX, Lsn::MAX).unwrap();
    assert_eq!(status.status(Xid(20)), TransactionStatus::InProgress);

    // Its commit is as visible, and as late, as any other's.
    status.assigned(Xid(5000));
    status.set_committed(Xid(20), Lsn(900));
    assert_eq!(status.status(Xid(40)), TransactionStatus::Committed(Lsn(900)));
    status.set_transaction_bits(Xid(20), &[Xid(21), Xid(40)], ClogBits::Committed, Lsn(900));
    status.trim(Lsn(899), Lsn(2000)).unwrap();
    assert_eq!(status.status(Xid(21)), TransactionStatus::Committed(Lsn(900)));
    status.trim(Lsn(900), Lsn(2000)).unwrap();
    status.trim(Lsn(900), Lsn(2000)).unwrap();
    assert_eq!(status.status(Xid(21)), TransactionStatus::Committed(Lsn::ZERO));
    assert_eq!(status.csn_statistics().stragglers, 0);
}

// invariants: row 24
#[test]
fn xids_near_the_ends_of_their_range_work() {
    for first in [(1 << 32) - 3000, (1 << 62) - 8000, 3] {
        let status = open_in_memory(Xid(first));
        let xids = (0..6000).map(|offset| (offset % 3, Xid(first + offset)));
        for (kind, xid) in xids.clone() {
            status.assigned(xid);
            match kind {
                1 => status.set_parent(xid, Xid(xid.0 - 1)),
                2 => status.set_aborted(xid),
                _ => {}
            }
        }
        for (kind, xid) in xids {
            let expected = if kind == 2 { TransactionStatus::Aborted } else { TransactionStatus::InProgress };
            assert_eq!(status.status(xid), expected);
            assert_eq!(status.top_of(xid), if kind == 1 { Xid(xid.0 - 1) } else { xid });
        }
    }
}

#[test]
fn a_context_knows_its_own_and_observes_what_it_sees() {
    let status = open_in_memory(Xid(3));
    status.assigned(Xid(20));
    status.set_parent(Xid(11), Xid(10));
    status.set_parent(Xid(13), Xid(12));
    status.set_committed(Xid(5), Lsn(500));
    status.set_committed(Xid(6), Lsn(700));
    let (observed, interrupt) = (std::sync::atomic::AtomicU64::new(0), sync::Interrupt::new());
    let ctx = TxnCtx {
        xid: Xid(11),
        top_xid: Xid(10),
        snapshot: Snapshot { csn: Lsn(600), command: CommandId::FIRST },
        command: CommandId::FIRST,
        status: &status,
        observed: &observed,
        owner: OwnerId(0),
        interrupt: &interrupt,
        lock_timeout: None,
        deadlock_timeout: std::time::Duration::from_secs(1),
        watch: None,
    };
    assert!([10, 11].into_iter().all(|xid| ctx.is_own(Xid(xid))));
    assert!([9, 12, 13].into_iter().all(|xid| !ctx.is_own(Xid(xid))));
    assert!(!TxnCtx { xid: Xid::INVALID, top_xid: Xid::INVALID, ..ctx }.is_own(Xid::INVALID));
    let seen = || Lsn(observed.load(std::sync::atomic::Ordering::Relaxed));
    assert!(!ctx.sees_commit_of(Xid(6)) && !ctx.sees_commit_of(Xid(12)));
    assert_eq!(seen(), Lsn::ZERO, "what is not seen is not observed");
    assert!(ctx.sees_commit_of(Xid(5)));
    assert_eq!(seen(), Lsn(500));
    assert_eq!(ctx.status_of(Xid(6)), TransactionStatus::Committed(Lsn(700)));
    ctx.observe(Lsn(100));
    assert_eq!(seen(), Lsn(700));
}

#[test]
fn reserved_xids_have_a_fixed_status() {
    let status = open_in_memory(Xid(2000));
    assert_eq!(status.status(Xid::INVALID), TransactionStatus::Aborted);
    assert_eq!(status.status(Xid::BOOTSTRAP), TransactionStatus::Committed(Lsn::ZERO));
    assert_eq!(status.status(Xid::FROZEN), TransactionStatus::Committed(Lsn::ZERO));
    assert_eq!(status.status(Xid(5000)), TransactionStatus::InProgress, "just given out");
}

#[test]
fn a_damaged_or_missing_page_of_bits_is_an_error_with_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let open = || {
        let vfs: Arc<dyn Vfs> = Arc::new(RealVfs::new());
        let doublewrite = DoubleWrite::open(vfs.clone(), directory.path(), DoubleWriteOptions::default()).unwrap();
        let options = StatusStoreOptions { next_xid_at_checkpoint: Xid(XIDS_PER_PAGE * 2), ..small() };
        StatusStore::open(vfs, directory.path(), Arc::new(LateLog::new()), doublewrite, options).unwrap()
    };
    let status = open();
    let error = status.try_status(Xid(100)).unwrap_err();
    assert_eq!(error.sqlstate(), sqlstate::DATA_CORRUPTED);
    assert_eq!(error.message(), "could not read file \"clog/000000000000\" at page 0");
    drop(status);

    let status = StatusStore::open(
        Arc::new(RealVfs::new()),
        directory.path(),
        Arc::new(LateLog::new()),
        DoubleWrite::open(Arc::new(RealVfs::new()), directory.path(), DoubleWriteOptions::default()).unwrap(),
        small(),
    )
    .unwrap();
    status.set_bits(&[(Xid(100), ClogBits::Committed), (Xid(XIDS_PER_PAGE + 1), ClogBits::Committed)], Lsn(8));
    status.checkpoint();
    drop(status);
    let path = directory.path().join("clog/000000000000");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8192 + 50] ^= 16;
    std::fs::write(&path, bytes).unwrap();
    let status = open();
    assert_eq!(status.try_status(Xid(100)).unwrap(), TransactionStatus::Committed(Lsn::ZERO));
    assert_eq!(status.try_status(Xid(XIDS_PER_PAGE + 1)).unwrap_err().sqlstate(), sqlstate::DATA_CORRUPTED);
}

#[test]
fn truncated_bits_leave_no_files_and_old_xids_count_as_frozen() {
    let disk = SimulatedVfs::new(9);
    let status = open_on(Arc::new(disk.clone()), Arc::new(LateLog::new()), small()).unwrap();
    let xid_of_page = |page: u64| Xid(page * XIDS_PER_PAGE + 5);
    for page in 0..100 {
        status.set_bits(&[(xid_of_page(page), ClogBits::Committed)], Lsn(8));
    }
    status.checkpoint();
    status.start(xid_of_page(100));
    let segments = || disk.list_dir(Path::new("/data/clog")).unwrap().len();
    assert_eq!(segments(), 4);
    status.truncate(xid_of_page(65)).unwrap();
    assert_eq!(segments(), 2);
    assert_eq!(status.status(Xid(100)), TransactionStatus::Committed(Lsn::ZERO));
    assert_eq!(status.status(xid_of_page(65)), TransactionStatus::Committed(Lsn::ZERO));
    assert_eq!(status.status(Xid(xid_of_page(65).0 + 1)), TransactionStatus::Aborted);
    assert_eq!(status.oldest_xid(), xid_of_page(65));
    assert_eq!(status.clog().statistics().truncates, 1);
}
