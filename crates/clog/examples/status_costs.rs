//! The cost of a look at a transaction's status, in nanoseconds: `cargo run --release -p cohort-clog --example status_costs`.
//!
//! Each figure is the best of nine rounds of a million operations.

use std::hint::black_box;
use std::time::Instant;

use base::{Lsn, Xid};
use buffer::{DoubleWrite, DoubleWriteOptions, LateLog};
use cohort_clog::{ClogBits, ClogUpdate, StatusStore, StatusStoreOptions};
use sync::Arc;
use vfs::RealVfs;

const ROUNDS: usize = 9;
const OPERATIONS: u64 = 1_000_000;

fn measure(what: &str, mut operation: impl FnMut(u64)) {
    let best = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            (0..OPERATIONS).for_each(&mut operation);
            start.elapsed()
        })
        .min()
        .expect("there are rounds");
    println!("{what:<44} {:6.1} ns", best.as_nanos() as f64 / OPERATIONS as f64);
}

fn main() -> base::Result<()> {
    let directory = std::env::temp_dir().join(format!("cohort-status-costs-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("the temporary directory can be made");
    let vfs = Arc::new(RealVfs::new());
    let doublewrite = DoubleWrite::open(vfs.clone(), &directory, DoubleWriteOptions::default())?;
    let options = StatusStoreOptions { csn_window: 1 << 24, ..StatusStoreOptions::default() };
    let status = StatusStore::open(vfs, &directory, Arc::new(LateLog::new()), doublewrite, options)?;
    status.start(Xid(1000));
    let mut next = 1000;
    let mut lsn = 0;
    while next < 1_500_000 {
        next += 1;
        lsn += 8;
        status.assigned(Xid(next));
        status.set_committed(Xid(next), Lsn(lsn));
    }
    measure("status, one recent xid", |_| _ = black_box(status.status(black_box(Xid(1_400_000)))));
    measure("status, a thousand recent xids", |step| _ = black_box(status.status(Xid(1_400_000 + step % 1000))));
    measure("status, a million xids at random", |step| {
        _ = black_box(status.status(Xid(10_000 + step.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 1_000_000)));
    });
    status.set_parent(Xid(1_450_000), Xid(1_400_000));
    measure("status, a subtransaction", |_| _ = black_box(status.status(black_box(Xid(1_450_000)))));
    (next + 1..=next + 1 + ROUNDS as u64 * OPERATIONS).for_each(|xid| status.assigned(Xid(xid)));
    measure("set_committed, the next xid", |_| {
        next += 1;
        lsn += 8;
        status.set_committed(Xid(next), Lsn(lsn));
    });
    measure("status, a frozen xid", |_| _ = black_box(status.status(black_box(Xid::FROZEN))));
    let cohort: Vec<_> = (0..64).map(|xid| (Xid(1_300_000 + xid), ClogBits::Committed)).collect();
    measure("set_bits, a cohort of 64", |_| status.set_bits(&cohort, Lsn(lsn)));
    for (name, mode) in [("each", ClogUpdate::Each), ("group", ClogUpdate::Group)] {
        status.set_clog_update(mode);
        measure(&format!("set_transaction_bits, {name}, alone"), |step| {
            status.set_transaction_bits(Xid(1_350_000 + step % 10_000), &[], ClogBits::Committed, Lsn(lsn));
        });
    }
    let old = 999;
    status.set_bits(&[(Xid(old), ClogBits::Committed)], Lsn::ZERO);
    measure("status, by the commit log", |_| _ = black_box(status.status(black_box(Xid(old)))));
    drop(status);
    std::fs::remove_dir_all(&directory).expect("the temporary directory can be removed");
    Ok(())
}
