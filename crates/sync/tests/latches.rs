//! Latches under real threads.
#![cfg(not(shuttle))]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use cohort_sync::{ExclusiveGuard, ExclusiveLatch, Latch, LatchClass, LatchCounters, RawLatch, Waiter};

#[test]
fn exclusive_holders_exclude_all_and_every_taking_is_counted() {
    static CLASS: LatchClass = LatchClass::new("test exclusion", 1);
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 20_000;
    let latch = Arc::new(Latch::new(&CLASS, (0u64, 0u64)));
    let threads: Vec<_> = (0..THREADS)
        .map(|me| {
            let latch = latch.clone();
            thread::spawn(move || {
                for round in 0..ROUNDS {
                    if (round + me) % 3 == 0 {
                        let mut pair = latch.exclusive();
                        pair.0 += 1;
                        pair.1 += 1;
                    } else {
                        let pair = latch.shared();
                        assert_eq!(pair.0, pair.1);
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let counters = CLASS.counters();
    let written = latch.shared().0;
    assert_eq!(counters.exclusive, written);
    assert_eq!(counters.exclusive + counters.shared, THREADS * ROUNDS);
}

#[test]
fn a_blocked_taker_is_counted_and_woken() {
    static CLASS: LatchClass = LatchClass::new("test blocked", 1);
    let latch = Arc::new(ExclusiveLatch::new(&CLASS, 0));
    let guard = latch.lock();
    let other = latch.clone();
    let thread = thread::spawn(move || *other.lock() += 1);
    while CLASS.counters().blocked == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    drop(guard);
    thread.join().unwrap();
    assert_eq!(*latch.lock(), 1);
    assert_eq!(CLASS.counters().blocked, 1);
    assert_eq!(CLASS.counters().exclusive, 3);
}

#[test]
fn trying_never_waits_and_failing_takes_nothing() {
    static CLASS: LatchClass = LatchClass::new("test trying", 1);
    let latch = Latch::new(&CLASS, ());
    let shared = latch.try_shared().unwrap();
    assert!(latch.try_exclusive().is_none());
    assert!(latch.try_shared().is_some());
    drop(shared);
    let exclusive = latch.try_exclusive().unwrap();
    assert!(latch.try_shared().is_none() && latch.try_exclusive().is_none());
    let shared = ExclusiveGuard::downgrade(exclusive);
    assert!(latch.try_shared().is_some() && latch.try_exclusive().is_none());
    drop(shared);
    drop(latch.exclusive());
    assert_eq!(CLASS.counters(), LatchCounters { shared: 3, exclusive: 2, ..LatchCounters::default() });
}

#[test]
fn a_stream_of_readers_does_not_keep_a_writer_out() {
    static CLASS: LatchClass = LatchClass::new("test writer", 1);
    let latch = Arc::new(Latch::new(&CLASS, ()));
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (latch, done) = (latch.clone(), done.clone());
            thread::spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let guard = latch.shared();
                    thread::sleep(Duration::from_micros(200));
                    drop(guard);
                }
            })
        })
        .collect();
    for _ in 0..20 {
        drop(latch.exclusive());
    }
    done.store(true, Ordering::Relaxed);
    readers.into_iter().for_each(|reader| reader.join().unwrap());
}

#[test]
fn a_raw_latch_works_without_guards() {
    static CLASS: LatchClass = LatchClass::new("test raw", 1).several_at_once();
    let latch = RawLatch::new(&CLASS);
    let second = RawLatch::new(&CLASS);
    latch.lock_exclusive();
    second.lock_shared();
    assert!(latch.is_locked_exclusive() && !second.is_locked_exclusive() && second.is_locked());
    latch.downgrade();
    assert!(latch.try_lock_shared());
    latch.unlock_shared();
    latch.unlock_shared();
    second.unlock_shared();
    assert!(latch.try_lock_exclusive());
    latch.unlock_exclusive();
    assert!(!latch.is_locked());
}

#[test]
fn a_latch_is_two_words() {
    assert_eq!(size_of::<RawLatch>(), 2 * size_of::<usize>());
}

#[cfg(debug_assertions)]
mod ranks {
    use super::*;

    static LOW: LatchClass = LatchClass::new("test low", 10);
    static HIGH: LatchClass = LatchClass::new("test high", 20);
    static SAME: LatchClass = LatchClass::new("test same", 20);
    static SEVERAL: LatchClass = LatchClass::new("test several", 30).several_at_once();

    #[test]
    fn rising_ranks_are_fine_and_so_is_trying_in_any_order() {
        let (low, high) = (Latch::new(&LOW, ()), ExclusiveLatch::new(&HIGH, ()));
        let (one, two) = (Latch::new(&SEVERAL, ()), Latch::new(&SEVERAL, ()));
        let guards = (low.shared(), high.lock(), one.exclusive(), two.exclusive());
        drop(guards);
        let held = high.lock();
        assert!(low.try_exclusive().is_some());
        drop(held);
        drop(low.exclusive());
    }

    #[test]
    #[should_panic(expected = r#"latch "test low" (rank 10) taken while "test high" (rank 20) is held"#)]
    fn a_falling_rank_panics() {
        let (low, high) = (Latch::new(&LOW, ()), ExclusiveLatch::new(&HIGH, ()));
        let _high = high.lock();
        let _low = low.shared();
    }

    #[test]
    #[should_panic(expected = "taken while")]
    fn two_classes_of_one_rank_panic() {
        let (high, same) = (Latch::new(&HIGH, ()), Latch::new(&SAME, ()));
        let _high = high.shared();
        let _same = same.shared();
    }

    #[test]
    #[should_panic(expected = "taken while")]
    fn two_latches_of_a_class_panic_unless_it_allows_several() {
        let (one, two) = (Latch::new(&HIGH, ()), Latch::new(&HIGH, ()));
        let _one = one.shared();
        let _two = two.shared();
    }

    #[test]
    #[should_panic(expected = r#"waiting while latch "test low" is held"#)]
    fn waiting_with_a_latch_held_panics() {
        let low = Latch::new(&LOW, ());
        let _low = low.shared();
        Waiter::new().wait(None, None);
    }
}

/// The uncontended price, printed: `cargo test --release -p cohort-sync --test latches price -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn price_of_an_uncontended_latch() {
    static CLASS: LatchClass = LatchClass::new("test price", 1);
    const ROUNDS: u32 = 20_000_000;
    let latch = Latch::new(&CLASS, AtomicU64::new(0));
    let mutex = cohort_sync::Mutex::new(0u64);
    let time = |name: &str, f: &dyn Fn()| {
        let start = std::time::Instant::now();
        (0..ROUNDS).for_each(|_| f());
        println!("{name}: {:.1} ns", start.elapsed().as_nanos() as f64 / f64::from(ROUNDS));
    };
    time("shared", &|| drop(std::hint::black_box(&latch).shared()));
    time("exclusive", &|| drop(std::hint::black_box(&latch).exclusive()));
    time("parking_lot::Mutex", &|| drop(std::hint::black_box(&mutex).lock()));
}
