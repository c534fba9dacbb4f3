//! Measures the cost of uncontended locks in nanoseconds, and the memory that row locks take.
//!
//! ```text
//! cargo run --release -p cohort-lockmgr --example uncontended -- [ROW_LOCKS]
//! ```

use std::time::Instant;

use base::{Oid, OwnerId, Tid, Xid};
use cohort_lockmgr::{AdvisoryKey, LockManager, LockMode, LockOptions, LockTag, RowLockMode, Scope};
use sync::Interrupt;

const OWNER: OwnerId = OwnerId(0);

fn main() {
    let row_locks: u32 = std::env::args().nth(1).map_or(1_000_000, |text| text.parse().expect("a number of row locks"));
    let locks = LockManager::new(1000);
    let interrupt = Interrupt::new();
    let options = LockOptions::new(&interrupt);
    let relation = |number: u32| LockTag::Relation(Oid(20_000 + number));
    let lock = |tag, mode| {
        locks.lock(OWNER, tag, mode, &options).expect("nobody is in the way");
    };
    let mut xid = 3;
    measure("a weak relation lock, released", || {
        lock(relation(0), LockMode::RowExclusive);
        locks.unlock_all(OWNER, Scope::Transaction);
    });
    measure("five of them", || {
        (0..5).for_each(|number| lock(relation(number), LockMode::RowExclusive));
        locks.unlock_all(OWNER, Scope::Transaction);
    });
    lock(relation(0), LockMode::RowExclusive);
    measure("one that is held already", || lock(relation(0), LockMode::RowExclusive));
    locks.unlock_all(OWNER, Scope::Transaction);
    measure("nothing to release", || locks.unlock_all(OWNER, Scope::Transaction));
    measure("a transaction's start and end", || {
        xid += 1;
        locks.transaction_started(Xid(xid), OWNER);
        locks.transaction_ended(Xid(xid));
    });
    measure("an advisory lock, released", || {
        lock(LockTag::Advisory(AdvisoryKey::One(7)), LockMode::Exclusive);
        locks.unlock_all(OWNER, Scope::Transaction);
    });
    measure("a strong relation lock, released", || {
        lock(relation(0), LockMode::AccessExclusive);
        locks.unlock_all(OWNER, Scope::Transaction);
    });
    measure("a row lock in memory, released", || {
        locks.try_lock_row(OWNER, Xid(3), Oid(20_000), Tid::new(7, 1), RowLockMode::Update);
        locks.unlock_all(OWNER, Scope::Transaction);
    });
    measure("the look at a row that nobody waits for", || {
        std::hint::black_box(locks.must_queue(OWNER, Oid(20_000), Tid::new(7, 1)));
    });

    let before = resident_bytes();
    let begin = Instant::now();
    for number in 0..row_locks {
        let tid = Tid::new(number / 100, (number % 100) as u16 + 1);
        locks.try_lock_row(OWNER, Xid(3), Oid(20_000), tid, RowLockMode::Update);
    }
    let each = |nanos: u128| nanos as f64 / f64::from(row_locks);
    println!("{row_locks} row locks: {:.0} ns each, {:.0} bytes each", each(begin.elapsed().as_nanos()), {
        (resident_bytes() - before) as f64 / f64::from(row_locks)
    });
    let begin = Instant::now();
    locks.unlock_all(OWNER, Scope::Transaction);
    println!("released: {:.0} ns each", each(begin.elapsed().as_nanos()));
}

fn measure(what: &str, mut run: impl FnMut()) {
    const ROUNDS: u32 = 100_000;
    let best = (0..10)
        .map(|_| {
            let begin = Instant::now();
            (0..ROUNDS).for_each(|_| run());
            begin.elapsed().as_nanos()
        })
        .min();
    println!("{what:<42} {:>7.1} ns", best.unwrap_or(0) as f64 / f64::from(ROUNDS));
}

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}
