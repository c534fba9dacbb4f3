//! Waits of threads and coroutines.
#![cfg(not(shuttle))]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use cohort_sync::{
    Coroutine, Interrupt, InterruptKind, ReadyQueue, StackPool, Step, TimeSlices, Waiter, Waker, Woken, Work,
    in_coroutine, is_on_further_stack, let_others_run, on_further_stack, on_large_stack, on_other_thread,
    remaining_stack_bytes, with_interrupt, yield_now, yield_point,
};

fn quiet_queue() -> Arc<ReadyQueue> {
    Arc::new(ReadyQueue::new(|| {}))
}

fn drained(queue: &ReadyQueue) -> Vec<u64> {
    let mut tokens = Vec::new();
    queue.drain(&mut tokens);
    tokens
}

#[test]
fn a_wake_before_the_wait_is_not_lost() {
    let waiter = Waiter::new();
    assert!(!waiter.is_woken());
    waiter.waker().wake();
    waiter.waker().wake();
    assert_eq!(waiter.wait(None, None), Woken::Woken);
    assert_eq!(waiter.wait(None, None), Woken::Woken);
}

#[test]
fn a_thread_is_woken_from_another_one() {
    for _ in 0..2000 {
        let waiter = Waiter::new();
        let waker = waiter.waker();
        let thread = thread::spawn(move || waker.wake());
        assert_eq!(waiter.wait(None, None), Woken::Woken);
        thread.join().unwrap();
    }
}

#[test]
fn a_deadline_ends_a_wait_which_can_be_taken_up_again() {
    let waiter = Waiter::new();
    let start = Instant::now();
    assert_eq!(waiter.wait(Some(start + Duration::from_millis(5)), None), Woken::TimedOut);
    assert!(start.elapsed() >= Duration::from_millis(5));
    assert_eq!(waiter.wait(Some(start), None), Woken::TimedOut);
    waiter.waker().wake();
    assert_eq!(waiter.wait(Some(start), None), Woken::Woken);
}

#[test]
fn an_interrupt_ends_a_wait_and_stays_pending() {
    let interrupt = Arc::new(Interrupt::new());
    let raiser = interrupt.clone();
    let waiter = Waiter::new();
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(5));
        raiser.raise(InterruptKind::Cancel);
    });
    assert_eq!(waiter.wait(None, Some(&interrupt)), Woken::Interrupted);
    thread.join().unwrap();
    assert_eq!(waiter.wait(None, Some(&interrupt)), Woken::Interrupted);
    assert_eq!(interrupt.take(), Some(InterruptKind::Cancel));
    waiter.waker().wake();
    assert_eq!(waiter.wait(None, Some(&interrupt)), Woken::Woken);
}

#[test]
fn a_future_can_wake_a_waiter() {
    let waiter = Waiter::new();
    let waker: std::task::Waker = waiter.waker().into();
    waker.wake_by_ref();
    assert_eq!(waiter.wait(None, None), Woken::Woken);
}

#[test]
fn a_coroutine_suspends_and_its_token_comes_once() {
    let queue = quiet_queue();
    let (wakers, woken) = mpsc::channel::<Waker>();
    let mut coroutine = Coroutine::new(&StackPool::default(), queue.clone(), 7, move || {
        assert!(in_coroutine());
        let waiter = Waiter::new();
        wakers.send(waiter.waker()).unwrap();
        waiter.wait(None, None)
    });
    assert_eq!(coroutine.resume(), Step::Suspended { deadline: None });
    assert!(!in_coroutine());
    let waker = woken.recv().unwrap();
    assert_eq!(coroutine.resume(), Step::Suspended { deadline: None }, "a stray resumption changes nothing");
    thread::spawn(move || {
        waker.wake();
        waker.wake();
    })
    .join()
    .unwrap();
    assert_eq!(drained(&queue), [7]);
    assert_eq!(coroutine.resume(), Step::Finished(Woken::Woken));
    assert!(coroutine.is_finished());
}

#[test]
fn a_coroutine_times_out_when_resumed_at_its_deadline() {
    let waiting = |time| {
        let deadline = Instant::now() + time;
        let wait = move || Waiter::new().wait(Some(deadline), None);
        (deadline, Coroutine::new(&StackPool::default(), quiet_queue(), 1, wait))
    };
    let (far, mut early) = waiting(Duration::from_secs(3600));
    assert_eq!(early.resume(), Step::Suspended { deadline: Some(far) });
    assert_eq!(early.resume(), Step::Suspended { deadline: Some(far) }, "resumed too early");
    // A machine may be so busy that this one has passed before the coroutine begins to wait.
    let (near, mut late) = waiting(Duration::from_millis(5));
    if late.resume() == (Step::Suspended { deadline: Some(near) }) {
        thread::sleep(near.saturating_duration_since(Instant::now()));
        assert_eq!(late.resume(), Step::Finished(Woken::TimedOut));
    }
    assert!(late.is_finished());
}

#[test]
fn an_interrupt_wakes_a_coroutine() {
    let queue = quiet_queue();
    let interrupt = Arc::new(Interrupt::new());
    let inside = interrupt.clone();
    let mut coroutine =
        Coroutine::new(&StackPool::default(), queue.clone(), 3, move || Waiter::new().wait(None, Some(&inside)));
    assert_eq!(coroutine.resume(), Step::Suspended { deadline: None });
    interrupt.raise(InterruptKind::Terminate);
    interrupt.raise(InterruptKind::Cancel);
    assert_eq!(drained(&queue), [3]);
    assert_eq!(coroutine.resume(), Step::Finished(Woken::Interrupted));
}

#[test]
fn yielding_queues_a_coroutine_and_does_nothing_to_a_thread() {
    yield_now();
    let queue = quiet_queue();
    let mut coroutine = Coroutine::new(&StackPool::default(), queue.clone(), 9, yield_now);
    assert_eq!(coroutine.resume(), Step::Suspended { deadline: None });
    assert_eq!(drained(&queue), [9]);
    assert_eq!(coroutine.resume(), Step::Finished(()));
}

#[test]
fn a_panic_inside_comes_out_of_resume_and_the_stack_is_used_again() {
    let pool = StackPool::new(256 << 10, 4);
    let mut coroutine = Coroutine::new(&pool, quiet_queue(), 1, || panic!("inside"));
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| coroutine.resume())).unwrap_err();
    assert_eq!(caught.downcast_ref::<&str>(), Some(&"inside"));
    assert!(coroutine.is_finished() && !in_coroutine());
    drop(coroutine);
    assert_eq!(pool.idle_count(), 1);
}

#[test]
fn dropping_a_suspended_coroutine_drops_what_it_holds() {
    struct Sets(Rc<Cell<bool>>, Option<Waiter>);
    impl Drop for Sets {
        fn drop(&mut self) {
            // A wait in here can't suspend; it must not bring the process down either.
            assert!(!in_coroutine());
            let waiter = self.1.take().unwrap();
            let waker = waiter.waker();
            let waking = thread::spawn(move || waker.wake());
            assert_eq!(waiter.wait(None, None), Woken::Woken);
            waking.join().unwrap();
            assert_eq!(Waiter::new().wait(Some(Instant::now()), None), Woken::TimedOut);
            self.0.set(true);
        }
    }
    let pool = StackPool::default();
    let dropped = Rc::new(Cell::new(false));
    let mut sets = Sets(dropped.clone(), None);
    let interrupt = Arc::new(Interrupt::new());
    let inside = interrupt.clone();
    let mut coroutine = Coroutine::new(&pool, quiet_queue(), 1, move || {
        sets.1 = Some(Waiter::new());
        let _sets = sets;
        Waiter::new().wait(None, Some(&inside));
    });
    assert_eq!(coroutine.resume(), Step::Suspended { deadline: None });
    drop(coroutine);
    assert!(dropped.get());
    assert_eq!(pool.idle_count(), 1);
    interrupt.raise(InterruptKind::Cancel);

    let never_run = Coroutine::new(&pool, quiet_queue(), 2, || ());
    drop(never_run);
    assert_eq!(pool.idle_count(), 1);
}

#[test]
fn the_pool_gives_back_what_it_need_not_keep() {
    let pool = StackPool::new(128 << 10, 2);
    let queue = quiet_queue();
    let coroutines: Vec<_> = (0..10)
        .map(|token| {
            let mut coroutine = Coroutine::new(&pool, queue.clone(), token, || ());
            coroutine.resume();
            coroutine
        })
        .collect();
    drop(coroutines);
    assert_eq!(pool.idle_count(), 2);
}

#[test]
fn remaining_stack_shrinks_with_depth() {
    #[inline(never)]
    fn deeper(levels: u32) -> usize {
        let padding = std::hint::black_box([0u8; 1024]);
        let below = if levels == 0 { remaining_stack_bytes() } else { deeper(levels - 1) };
        std::hint::black_box(padding);
        below
    }
    let check = |size: usize| {
        let here = remaining_stack_bytes();
        assert!(here <= size && here > size / 2, "{here} of {size}");
        let there = deeper(50);
        assert!(there + 50 * 1024 <= here && there > here / 2, "{there} of {here}");
    };
    check(1 << 20);
    Coroutine::new(&StackPool::new(512 << 10, 1), quiet_queue(), 1, move || check(512 << 10)).resume();
}

#[test]
fn a_large_stack_bears_what_a_coroutine_s_does_not() {
    #[inline(never)]
    fn deeper(levels: u32) -> u32 {
        let padding = std::hint::black_box([0u8; 4096]);
        let below = if levels == 0 { 0 } else { deeper(levels - 1) + 1 };
        std::hint::black_box(padding);
        below
    }
    let work = || {
        assert_eq!(on_large_stack(|| deeper(10_000)).unwrap(), 10_000);
        // One within another, and again.
        assert_eq!(on_large_stack(|| on_large_stack(|| deeper(1000)).unwrap()).unwrap(), 1000);
        assert!(!on_large_stack(in_coroutine).unwrap());
        on_large_stack(yield_now).unwrap();
        let remaining_bytes = on_large_stack(remaining_stack_bytes).unwrap();
        assert!(remaining_bytes > 200 << 20 && remaining_bytes <= 256 << 20, "{remaining_bytes}");
        assert!(remaining_stack_bytes() <= 1 << 20);
        let panicked = std::panic::catch_unwind(|| on_large_stack(|| panic!("within")));
        assert!(panicked.is_err());
        in_coroutine()
    };
    assert!(!work());
    let mut coroutine = Coroutine::new(&StackPool::new(128 << 10, 1), quiet_queue(), 1, work);
    assert_eq!(coroutine.resume(), Step::Finished(true));
}

#[test]
fn a_further_stack_bears_more_and_waits_like_the_coroutine_s_own() {
    #[inline(never)]
    fn deeper(levels: u32, end: &dyn Fn()) -> u32 {
        let padding = std::hint::black_box([0u8; 4096]);
        if levels == 0 {
            end();
            return 0;
        }
        let below = deeper(levels - 1, end) + 1;
        std::hint::black_box(padding);
        below
    }
    let pool = StackPool::new(128 << 10, 8);
    let queue = quiet_queue();
    // Several are suspended deep in further stacks of their own at once.
    let mut coroutines: Vec<_> = (0..4)
        .map(|token| {
            Coroutine::new(&pool, queue.clone(), token, move || {
                let before = remaining_stack_bytes();
                let reached = on_further_stack(|| {
                    assert!(is_on_further_stack() && in_coroutine());
                    assert!(remaining_stack_bytes() > 32 << 20);
                    // One within another is the same.
                    on_further_stack(|| deeper(2000, &yield_now)).unwrap()
                });
                assert!(!is_on_further_stack());
                assert!(remaining_stack_bytes().abs_diff(before) < 16 << 10);
                reached.unwrap()
            })
        })
        .collect();
    for coroutine in &mut coroutines {
        assert_eq!(coroutine.resume(), Step::Suspended { deadline: None });
        assert!(!in_coroutine() && !is_on_further_stack());
    }
    // One that is dropped there gives everything back, also when it panics meanwhile.
    drop(coroutines.pop());
    for coroutine in &mut coroutines {
        assert_eq!(coroutine.resume(), Step::Finished(2000));
    }
    let mut panics = Coroutine::new(&pool, queue.clone(), 9, || on_further_stack(|| panic!("within")).unwrap());
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| panics.resume())).is_err());
    drop(panics);
    // A plain thread has one, too.
    assert_eq!(on_further_stack(|| deeper(2000, &|| ())).unwrap(), 2000);
    assert!(!is_on_further_stack());
}

/// A worker as the server has it: it owns coroutines and sleeps until one of them may go on.
struct Worker {
    pool: StackPool,
    queue: Arc<ReadyQueue>,
    notified: mpsc::Receiver<()>,
    coroutines: HashMap<u64, Coroutine<()>>,
}

impl Worker {
    fn new() -> Worker {
        let (notify, notified) = mpsc::channel();
        let queue = Arc::new(ReadyQueue::new(move || notify.send(()).unwrap_or(())));
        Worker { pool: StackPool::new(64 << 10, 64), queue, notified, coroutines: HashMap::new() }
    }

    fn spawn(&mut self, token: u64, f: impl FnOnce() + 'static) {
        let mut coroutine = Coroutine::new(&self.pool, self.queue.clone(), token, f);
        if let Step::Suspended { .. } = coroutine.resume() {
            self.coroutines.insert(token, coroutine);
        }
    }

    fn run_to_the_end(&mut self) {
        let mut tokens = Vec::new();
        while !self.coroutines.is_empty() {
            self.queue.set_awake();
            self.queue.drain(&mut tokens);
            for token in tokens.drain(..) {
                let ended = self.coroutines.get_mut(&token).is_some_and(|one| one.resume() == Step::Finished(()));
                if ended {
                    self.coroutines.remove(&token);
                }
            }
            if self.queue.may_sleep() && !self.coroutines.is_empty() {
                self.notified.recv_timeout(Duration::from_secs(20)).expect("a wake-up is lost");
            }
        }
    }
}

// invariants: row 28, the part of it that lies here
#[test]
fn two_workers_hold_five_thousand_waiting_coroutines_that_all_end() {
    const EACH: u64 = 2500;
    let wakers = Arc::new(cohort_sync::Mutex::new(Vec::<Waker>::new()));
    let workers: Vec<_> = (0..2)
        .map(|_| {
            let wakers = wakers.clone();
            thread::spawn(move || {
                let mut worker = Worker::new();
                let ended = Rc::new(RefCell::new(0));
                for token in 0..EACH {
                    let (wakers, ended) = (wakers.clone(), ended.clone());
                    worker.spawn(token, move || {
                        for _ in 0..3 {
                            let waiter = Waiter::new();
                            wakers.lock().push(waiter.waker());
                            assert_eq!(waiter.wait(None, None), Woken::Woken);
                        }
                        *ended.borrow_mut() += 1;
                    });
                }
                worker.run_to_the_end();
                ended.take()
            })
        })
        .collect();
    let mut woken = 0;
    while woken < 2 * 3 * EACH {
        let batch = std::mem::take(&mut *wakers.lock());
        woken += batch.len() as u64;
        batch.iter().for_each(Waker::wake);
        thread::yield_now();
    }
    assert_eq!(workers.into_iter().map(|worker| worker.join().unwrap()).sum::<u64>(), 2 * EACH);
}

// invariants: row 41
#[test]
fn code_that_only_lets_others_run_hides_no_interrupt_from_the_next_yield_point() {
    let slices = TimeSlices::new();
    let interrupt = Arc::new(Interrupt::new());
    let inside = interrupt.clone();
    let mut coroutine = Coroutine::new(&StackPool::default(), quiet_queue(), 1, move || {
        with_interrupt(&inside, || {
            for _ in 0..3 {
                let (began, mut turns) = (Instant::now(), 0);
                while turns < 1000 && began.elapsed() < Duration::from_millis(100) {
                    let_others_run();
                    turns += 1;
                    thread::sleep(Duration::from_micros(100));
                }
                yield_point()?;
            }
            Ok::<(), base::Error>(())
        })
    });
    slices.wake_up();
    slices.begin();
    assert!(matches!(coroutine.resume(), Step::Yielded));
    interrupt.raise(InterruptKind::Cancel);
    let result = loop {
        slices.begin();
        match coroutine.resume() {
            Step::Finished(result) => break result,
            step => assert!(matches!(step, Step::Yielded)),
        }
    };
    assert_eq!(result.unwrap_err().sqlstate().as_str(), "57014");
}

// invariants: row 41
#[test]
fn code_that_only_lets_others_run_keeps_its_turns_when_it_has_been_interrupted() {
    const CALLS: u32 = 100_000;
    let slices = TimeSlices::new();
    let interrupt = Arc::new(Interrupt::new());
    interrupt.raise(InterruptKind::Cancel);
    let mut coroutine = Coroutine::new(&StackPool::default(), quiet_queue(), 1, move || {
        with_interrupt(&interrupt, || {
            let began = Instant::now();
            // The first turn ends.
            while began.elapsed() < Duration::from_millis(100) {
                let_others_run();
            }
            (0..CALLS).for_each(|_| let_others_run());
        });
    });
    slices.wake_up();
    let mut turns = 0;
    loop {
        slices.begin();
        match coroutine.resume() {
            Step::Finished(()) => break,
            step => assert!(matches!(step, Step::Yielded)),
        }
        turns += 1;
    }
    assert!(turns < CALLS / 2, "{turns} turns");
}

// invariants: row 41
#[test]
fn a_turn_that_lasts_ends_at_a_yield_point_and_an_interrupt_is_found_there() {
    let slices = TimeSlices::new();
    let interrupt = Arc::new(Interrupt::new());
    let inside = interrupt.clone();
    let mut coroutine = Coroutine::new(&StackPool::default(), quiet_queue(), 1, move || {
        with_interrupt(&inside, || {
            let began = Instant::now();
            while began.elapsed() < Duration::from_secs(60) {
                yield_point()?;
            }
            Ok::<(), base::Error>(())
        })
    });
    slices.wake_up();
    for _ in 0..3 {
        slices.begin();
        assert!(matches!(coroutine.resume(), Step::Yielded));
    }
    // A thread that sleeps for long lets the ticker sleep, too; it wakes with the thread.
    slices.fall_asleep();
    thread::sleep(Duration::from_millis(100));
    slices.wake_up();
    slices.begin();
    assert!(matches!(coroutine.resume(), Step::Yielded));
    interrupt.raise(InterruptKind::Cancel);
    slices.begin();
    let Step::Finished(result) = coroutine.resume() else { panic!("the interrupt was not found") };
    assert_eq!(result.unwrap_err().sqlstate().as_str(), "57014");
}

#[test]
fn ticks_are_counted_while_a_thread_is_awake_and_forgotten_when_it_sleeps() {
    let slices = TimeSlices::new();
    let wait_until = |what: &str, is_so: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(60), "not within a minute: {what}");
            // Turns end, and others begin.
            slices.begin();
            thread::sleep(Duration::from_micros(100));
        }
    };
    assert_eq!(slices.awake_ticks(), 0);
    slices.wake_up();
    wait_until("five ticks meet the thread awake", &|| slices.awake_ticks() >= 5);
    slices.fall_asleep();
    let began = Instant::now();
    while slices.awake_ticks() > 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "a tick finds the thread asleep");
        thread::sleep(Duration::from_micros(100));
    }
    slices.wake_up();
    wait_until("the next tick comes", &|| slices.awake_ticks() > 0);
}

#[test]
fn others_run_while_another_thread_works_and_an_interrupt_ends_the_wait() {
    let mut worker = Worker::new();
    let (started, release) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (in_work, in_other) = (started.clone(), release.clone());
    worker.spawn(1, move || {
        let answer = on_other_thread(Work::Long, move || {
            in_work.store(true, Ordering::SeqCst);
            while !in_other.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
            7
        });
        assert_eq!(answer.unwrap(), 7);
    });
    let done = release.clone();
    worker.spawn(2, move || done.store(true, Ordering::SeqCst));
    worker.run_to_the_end();
    assert!(started.load(Ordering::SeqCst) && release.load(Ordering::SeqCst));

    let interrupt = Arc::new(Interrupt::new());
    let inside = interrupt.clone();
    worker.spawn(3, move || {
        let answer = with_interrupt(&inside, || {
            on_other_thread(Work::Long, || {
                // Its own interrupt is raised when nobody waits for it any more.
                while yield_point().is_ok() {
                    thread::sleep(Duration::from_millis(1));
                }
            })
        });
        assert_eq!(answer.unwrap_err().sqlstate().as_str(), "57014");
    });
    interrupt.raise(InterruptKind::Cancel);
    worker.run_to_the_end();
}
