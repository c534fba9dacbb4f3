//! Status bits and csns under schedules that `shuttle` chooses.
#![cfg(shuttle)]

use std::path::Path;

use base::{Lsn, Xid};
use buffer::{DoubleWrite, DoubleWriteOptions, LateLog};
use cohort_clog::{ClogBits, ClogUpdate, StatusStore, StatusStoreOptions, TransactionStatus};
use sync::{Arc, thread};
use vfs::{SimulatedVfs, Vfs};

const XIDS_PER_PAGE: u64 = (8192 - 16) * 4;
/// Entries in a page of csns, under the model checker.
const PAGE: usize = 4;

fn store(update: ClogUpdate) -> Arc<StatusStore> {
    let vfs: Arc<dyn Vfs> = Arc::new(SimulatedVfs::new(1));
    let directory = Path::new("/data");
    vfs.create_dir_all(directory).unwrap();
    let doublewrite = DoubleWrite::open(vfs.clone(), directory, DoubleWriteOptions::default()).unwrap();
    let options =
        StatusStoreOptions { transaction_buffers: 2, csn_window: 4 * PAGE, clog_update: update, ..Default::default() };
    Arc::new(StatusStore::open(vfs, directory, Arc::new(LateLog::new()), doublewrite, options).unwrap())
}

fn iterations(default: u64) -> usize {
    let factor: u64 = std::env::var("COHORT_TEST_ROUNDS").ok().and_then(|factor| factor.parse().ok()).unwrap_or(1);
    (default * factor) as usize
}

// invariants: rows 8, 14
#[test]
fn every_member_of_a_group_ends_and_has_its_bits_set() {
    let met = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let met_here = std::sync::Arc::clone(&met);
    shuttle::check_random(
        move || {
            let status = store(ClogUpdate::Group);
            // Two pages, subtransactions on the same page and across, an abort.
            let families: [(&[u64], ClogBits); 5] = [
                (&[100], ClogBits::Committed),
                (&[101, 102, 103], ClogBits::Committed),
                (&[104], ClogBits::Aborted),
                (&[XIDS_PER_PAGE + 7], ClogBits::Committed),
                (&[105, XIDS_PER_PAGE + 9], ClogBits::Committed),
            ];
            let threads: Vec<_> = families
                .iter()
                .map(|&(family, bits)| {
                    let status = Arc::clone(&status);
                    thread::spawn(move || {
                        for round in 0..3 {
                            let family: Vec<_> = family.iter().map(|&xid| Xid(xid + 1000 * round)).collect();
                            status.set_transaction_bits(family[0], &family[1..], bits, Lsn(8));
                            // Set for those who come back, not some time later.
                            assert!(family.iter().all(|&xid| status.clog().get(xid).unwrap() == bits));
                        }
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            for (family, bits) in families {
                for &xid in family {
                    assert_eq!(status.clog().get(Xid(xid)).unwrap(), bits);
                }
            }
            let statistics = status.clog().group_statistics();
            met_here.fetch_add(statistics.members - statistics.groups, std::sync::atomic::Ordering::Relaxed);
        },
        iterations(2000),
    );
    assert!(met.load(std::sync::atomic::Ordering::Relaxed) > 0, "no schedule made a group of two");
}

#[test]
fn bits_set_while_pages_are_written_and_evicted_are_not_lost() {
    shuttle::check_random(
        || {
            let status = store(ClogUpdate::Each);
            // One bank of two places, and three pages.
            let xid = |thread: u64, step: u64| Xid((step + thread) % 3 * XIDS_PER_PAGE + 3 + 8 * thread + step);
            let threads: Vec<_> = (0..2)
                .map(|thread| {
                    let status = Arc::clone(&status);
                    thread::spawn(move || {
                        for step in 0..6 {
                            status.set_transaction_bits(xid(thread, step), &[], ClogBits::Aborted, Lsn(16));
                        }
                    })
                })
                .collect();
            (0..3).for_each(|_| status.checkpoint());
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            for (thread, step) in (0..2).flat_map(|thread| (0..6).map(move |step| (thread, step))) {
                assert_eq!(status.clog().get(xid(thread, step)).unwrap(), ClogBits::Aborted);
            }
        },
        iterations(3000),
    );
}

/// A csn that is stored while its page leaves the window is neither lost nor seen to go away again, and no reader takes a
/// later page's entry for it.
#[test]
fn a_commit_that_races_with_its_page_leaving_the_window_is_seen_once_and_for_ever() {
    shuttle::check_random(
        || {
            let status = store(ClogUpdate::Cohort);
            status.start(Xid(3));
            let (early, child, late) = (Xid(5), Xid(6), Xid(5 * PAGE as u64));
            // The next page takes the slot of the one that holds `early`.
            status.assigned(Xid(late.0 - 1));
            status.set_parent(child, early);
            let committer = {
                let status = Arc::clone(&status);
                thread::spawn(move || {
                    status.set_committed(Xid(4), Lsn(700));
                    status.set_committed(early, Lsn(800));
                    status.set_committed(Xid(7), Lsn(850));
                })
            };
            let assigner = {
                let status = Arc::clone(&status);
                thread::spawn(move || {
                    status.assigned(late);
                    status.set_committed(late, Lsn(900));
                })
            };
            let aborter = {
                let status = Arc::clone(&status);
                thread::spawn(move || status.set_aborted(child))
            };
            let mut seen = TransactionStatus::InProgress;
            for _ in 0..4 {
                let now = status.status(early);
                match now {
                    TransactionStatus::InProgress => assert_eq!(seen, TransactionStatus::InProgress),
                    TransactionStatus::Committed(csn) => assert_eq!(csn, Lsn(800)),
                    TransactionStatus::Aborted => panic!("{early:?} never aborted"),
                }
                seen = now;
                thread::yield_now();
            }
            committer.join().unwrap();
            assigner.join().unwrap();
            aborter.join().unwrap();
            assert_eq!(status.status(Xid(4)), TransactionStatus::Committed(Lsn(700)));
            assert_eq!(status.status(early), TransactionStatus::Committed(Lsn(800)));
            assert_eq!(status.status(Xid(7)), TransactionStatus::Committed(Lsn(850)));
            assert_eq!(status.status(late), TransactionStatus::Committed(Lsn(900)));
            assert_eq!(status.status(child), TransactionStatus::Aborted);
        },
        iterations(3000),
    );
}

/// Trimming beside commits and page changes never makes an outcome wrong.
#[test]
fn trimming_beside_commits_changes_no_answer() {
    shuttle::check_random(
        || {
            let status = store(ClogUpdate::Cohort);
            status.start(Xid(3));
            let runs_long = Xid(7);
            let ended = || (3..3 * PAGE as u64).map(Xid).filter(|&xid| xid != runs_long);
            status.assigned(Xid(3 * PAGE as u64));
            ended().for_each(|xid| status.set_committed(xid, Lsn(8 * xid.0)));
            let bits: Vec<_> = ended().map(|xid| (xid, ClogBits::Committed)).collect();
            status.set_bits(&bits, Lsn(8));
            let trimmer = {
                let status = Arc::clone(&status);
                thread::spawn(move || status.trim(Lsn(1 << 20), Lsn(1 << 20)).unwrap())
            };
            let assigner = {
                let status = Arc::clone(&status);
                thread::spawn(move || status.assigned(Xid(6 * PAGE as u64)))
            };
            let committer = {
                let status = Arc::clone(&status);
                thread::spawn(move || status.set_committed(runs_long, Lsn(2 << 20)))
            };
            let csn = status.status(Xid(6));
            assert!(matches!(csn, TransactionStatus::Committed(Lsn(48) | Lsn::ZERO)), "{csn:?}");
            trimmer.join().unwrap();
            assigner.join().unwrap();
            committer.join().unwrap();
            assert_eq!(status.status(runs_long), TransactionStatus::Committed(Lsn(2 << 20)));
        },
        iterations(1000),
    );
}
