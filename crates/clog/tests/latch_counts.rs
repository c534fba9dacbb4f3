//! How often the commit log's latch is taken: experiment 3 in small. One test only, since the counts are the process's.
#![cfg(not(shuttle))]

extern crate buffer as cohort_buffer;

use base::{Lsn, Xid};
use cohort_buffer::{DoubleWrite, DoubleWriteOptions, LateLog};
use cohort_clog::{ClogBits, ClogUpdate, StatusStore, StatusStoreOptions};
use sync::Arc;
use vfs::{RealVfs, Vfs};

const THREADS: u64 = 8;
const TRANSACTIONS: u64 = 4000;

fn counters() -> sync::LatchCounters {
    let classes = sync::latch_classes();
    classes.iter().find(|class| class.name == "XactSLRU").expect("the commit log is open").counters()
}

#[test]
fn a_cohort_takes_the_latch_once_each_once_per_transaction_and_a_group_at_most_that() {
    let directory = tempfile::tempdir().unwrap();
    let vfs: Arc<dyn Vfs> = Arc::new(RealVfs::new());
    let doublewrite = DoubleWrite::open(vfs.clone(), directory.path(), DoubleWriteOptions::default()).unwrap();
    let log = Arc::new(LateLog::new());
    let status = StatusStore::open(vfs, directory.path(), log, doublewrite, StatusStoreOptions::default()).unwrap();
    status.start(Xid(3));

    let before = counters().exclusive;
    let cohort: Vec<_> = (100..1100).map(|xid| (Xid(xid), ClogBits::Committed)).collect();
    status.set_bits(&cohort, Lsn(8));
    assert_eq!(counters().exclusive - before, 1);

    let mut first = 32_704;
    for mode in [ClogUpdate::Each, ClogUpdate::Group] {
        status.set_clog_update(mode);
        let before = counters();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let status = &status;
                scope.spawn(move || {
                    for step in 0..TRANSACTIONS {
                        let xid = Xid(first + step * THREADS + thread);
                        status.set_transaction_bits(xid, &[], ClogBits::Committed, Lsn(8));
                    }
                });
            }
        });
        let after = counters();
        let taken = after.exclusive - before.exclusive;
        println!(
            "{mode:?}: {taken} for {} transactions, blocked {}",
            THREADS * TRANSACTIONS,
            after.blocked - before.blocked
        );
        match mode {
            ClogUpdate::Each => assert!(taken >= THREADS * TRANSACTIONS),
            _ => assert!(taken <= THREADS * TRANSACTIONS + 8),
        }
        for xid in (first..first + THREADS * TRANSACTIONS).map(Xid) {
            assert_eq!(status.clog().get(xid).unwrap(), ClogBits::Committed);
        }
        first += THREADS * TRANSACTIONS;
    }
}
