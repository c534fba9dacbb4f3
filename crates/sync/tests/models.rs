//! Latches and waits under every order of steps that a random scheduler finds:
//! `RUSTFLAGS="--cfg shuttle" cargo test -p cohort-sync --test models`.
//!
//! `COHORT_MODEL_ITERATIONS` says how many executions each model gets. A failure prints a schedule
//! that `shuttle::replay` runs again. A lost wake-up shows as a deadlock.
#![cfg(shuttle)]

use cohort_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use cohort_sync::{
    Arc, Condvar, ExclusiveGuard, ExclusiveLatch, Interrupt, InterruptKind, Latch, LatchClass, Mailbox, Mutex,
    PoolOptions, ReadyQueue, Timers, Waiter, Woken, Work, WorkPool, thread, with_interrupt,
};
use std::time::{Duration, Instant};

static CLASS: LatchClass = LatchClass::new("model", 1);
static SEVERAL: LatchClass = LatchClass::new("model several", 2).several_at_once();

fn check(model: impl Fn() + Send + Sync + 'static) {
    let iterations =
        std::env::var("COHORT_MODEL_ITERATIONS").map_or(3000, |text| text.parse().expect("a number of executions"));
    let model = Arc::new(model);
    let again = model.clone();
    shuttle::check_random(move || model(), iterations);
    shuttle::check_pct(move || again(), iterations, 3);
}

fn join_all(threads: Vec<thread::JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn an_exclusive_latch_excludes_and_wakes_every_sleeper() {
    check(|| {
        let latch = Arc::new(ExclusiveLatch::new(&CLASS, 0u32));
        let inside = Arc::new(AtomicU32::new(0));
        let threads = (0..3)
            .map(|_| {
                let (latch, inside) = (latch.clone(), inside.clone());
                thread::spawn(move || {
                    for _ in 0..2 {
                        let mut guard = latch.lock();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        *guard += 1;
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        join_all(threads);
        assert_eq!(*latch.lock(), 6);
    });
}

/// Readers and writers, with the marks of who is inside checked by everyone.
fn readers_and_writers(readers: u32, writers: u32, downgrade: bool) {
    let latch = Arc::new(Latch::new(&CLASS, 0u32));
    let inside = Arc::new(AtomicU32::new(0));
    const WRITER: u32 = 1000;
    let mut threads: Vec<_> = (0..writers)
        .map(|_| {
            let (latch, inside) = (latch.clone(), inside.clone());
            thread::spawn(move || {
                let mut guard = latch.exclusive();
                assert_eq!(inside.fetch_add(WRITER, Ordering::SeqCst), 0);
                *guard += 1;
                inside.fetch_sub(WRITER, Ordering::SeqCst);
                if downgrade {
                    inside.fetch_add(1, Ordering::SeqCst);
                    let shared = ExclusiveGuard::downgrade(guard);
                    assert!(*shared > 0 && inside.load(Ordering::SeqCst) < WRITER);
                    inside.fetch_sub(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    threads.extend((0..readers).map(|_| {
        let (latch, inside) = (latch.clone(), inside.clone());
        thread::spawn(move || {
            let guard = latch.shared();
            assert!(inside.fetch_add(1, Ordering::SeqCst) < WRITER);
            let seen = *guard;
            assert_eq!(*guard, seen);
            inside.fetch_sub(1, Ordering::SeqCst);
        })
    }));
    join_all(threads);
    assert_eq!(*latch.exclusive(), writers);
}

#[test]
fn a_latch_shares_or_excludes_and_wakes_every_sleeper() {
    check(|| readers_and_writers(2, 2, false));
    check(|| readers_and_writers(3, 1, false));
}

#[test]
fn a_downgraded_latch_lets_readers_in_and_no_writer() {
    check(|| readers_and_writers(2, 2, true));
}

#[test]
fn a_failed_try_leaves_a_latch_as_it_was() {
    check(|| {
        let latch = Arc::new(Latch::new(&CLASS, 0u32));
        let threads = (0..3)
            .map(|me| {
                let latch = latch.clone();
                thread::spawn(move || match me {
                    0 => *latch.exclusive() += 1,
                    1 => drop(latch.try_shared()),
                    _ => {
                        if let Some(mut guard) = latch.try_exclusive() {
                            *guard += 1;
                        }
                        *latch.exclusive() += 1;
                    }
                })
            })
            .collect();
        join_all(threads);
        assert!(matches!(*latch.shared(), 2 | 3));
    });
}

#[test]
fn latches_taken_hand_over_hand_do_not_deadlock() {
    check(|| {
        let chain: Arc<Vec<_>> = Arc::new((0..3).map(|_| Latch::new(&SEVERAL, 0u32)).collect());
        let threads = (0..2)
            .map(|_| {
                let chain = chain.clone();
                thread::spawn(move || {
                    let mut held = chain[0].exclusive();
                    *held += 1;
                    for latch in &chain[1..] {
                        let mut next = latch.exclusive();
                        *next += 1;
                        held = next;
                    }
                    drop(held);
                })
            })
            .collect();
        join_all(threads);
        assert!(chain.iter().all(|latch| *latch.shared() == 2));
    });
}

#[test]
fn no_wake_is_lost_whenever_it_comes() {
    check(|| {
        let waiter = Waiter::new();
        let done = Arc::new(AtomicBool::new(false));
        let threads = (0..2)
            .map(|_| {
                let (waker, done) = (waiter.waker(), done.clone());
                thread::spawn(move || {
                    done.store(true, Ordering::SeqCst);
                    waker.wake();
                })
            })
            .collect();
        assert_eq!(waiter.wait(None, None), Woken::Woken);
        assert!(done.load(Ordering::SeqCst));
        join_all(threads);
        assert_eq!(waiter.wait(None, None), Woken::Woken);
    });
}

#[test]
fn no_interrupt_is_lost_whenever_it_comes() {
    check(|| {
        let interrupt = Arc::new(Interrupt::new());
        let raiser = interrupt.clone();
        let thread = thread::spawn(move || raiser.raise(InterruptKind::Cancel));
        assert_eq!(Waiter::new().wait(None, Some(&interrupt)), Woken::Interrupted);
        assert_eq!(interrupt.take(), Some(InterruptKind::Cancel));
        thread.join().unwrap();
    });
}

#[test]
fn a_wake_and_an_interrupt_at_once_both_arrive() {
    check(|| {
        let interrupt = Arc::new(Interrupt::new());
        let raiser = interrupt.clone();
        let waiter = Waiter::new();
        let waker = waiter.waker();
        let raising = thread::spawn(move || raiser.raise(InterruptKind::Terminate));
        let waking = thread::spawn(move || waker.wake());
        let mut interrupted = 0;
        while waiter.wait(None, Some(&interrupt)) == Woken::Interrupted {
            assert_eq!(interrupt.take(), Some(InterruptKind::Terminate));
            interrupted += 1;
        }
        join_all(vec![raising, waking]);
        assert_eq!(interrupted + usize::from(interrupt.pending()), 1);
    });
}

#[test]
fn a_wait_with_a_deadline_ends_with_or_without_a_wake() {
    check(|| {
        let waiter = Waiter::new();
        assert_eq!(waiter.wait(Some(Instant::now()), None), Woken::TimedOut);
        let waker = waiter.waker();
        let thread = thread::spawn(move || waker.wake());
        waiter.wait(Some(Instant::now()), None);
        assert_eq!(waiter.wait(None, None), Woken::Woken);
        thread.join().unwrap();
    });
}

/// How other crates use a wait: a queue of wakers under a lock, and a hand-over from each to the next.
#[test]
fn a_queue_of_waiters_is_served_to_its_end() {
    check(|| {
        let queue = Arc::new(Mutex::new(Vec::new()));
        let served = Arc::new(AtomicU64::new(0));
        let threads = (0..3)
            .map(|_| {
                let (queue, served) = (queue.clone(), served.clone());
                thread::spawn(move || {
                    let waiter = Waiter::new();
                    let mut waiting = queue.lock();
                    waiting.push(waiter.waker());
                    let is_first = waiting.len() == 1;
                    drop(waiting);
                    if !is_first {
                        assert_eq!(waiter.wait(None, None), Woken::Woken);
                    }
                    served.fetch_add(1, Ordering::SeqCst);
                    let mut waiting = queue.lock();
                    waiting.remove(0);
                    let next = waiting.first().cloned();
                    drop(waiting);
                    if let Some(next) = next {
                        next.wake();
                    }
                })
            })
            .collect();
        join_all(threads);
        assert_eq!(served.load(Ordering::SeqCst), 3);
    });
}

#[test]
fn the_facades_condition_variable_keeps_its_promises() {
    check(|| {
        let pair = Arc::new((Mutex::new(0u32), Condvar::new()));
        let other = pair.clone();
        let thread = thread::spawn(move || {
            *other.0.lock() = 1;
            other.1.notify_all();
        });
        let mut guard = pair.0.lock();
        if *guard == 0 {
            pair.1.wait_for(&mut guard, std::time::Duration::from_secs(1));
        }
        pair.1.wait_while(&mut guard, |value| *value == 0);
        assert_eq!(*guard, 1);
        drop(guard);
        thread.join().unwrap();
    });
}

/// The models can fail: a wake that looks before it marks is found out.
#[test]
#[should_panic(expected = "deadlock")]
fn a_planted_lost_wake_up_is_found() {
    check(|| {
        let slot = Arc::new(Mutex::new(None));
        let done = Arc::new(AtomicBool::new(false));
        let (others_slot, others_done) = (slot.clone(), done.clone());
        thread::spawn(move || {
            others_done.store(true, Ordering::SeqCst);
            let waker: Option<cohort_sync::Waker> = others_slot.lock().clone();
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        if !done.load(Ordering::SeqCst) {
            let waiter = Waiter::new();
            *slot.lock() = Some(waiter.waker());
            waiter.wait(None, None);
        }
    });
}

// invariants: row 39
#[test]
fn a_timer_fires_while_it_is_armed_and_never_for_what_comes_later() {
    check(|| {
        let (timers, interrupt) = (Arc::new(Timers::new()), Arc::new(Interrupt::new()));
        let start = Instant::now();
        let at = move |seconds: u64| start + Duration::from_secs(seconds);
        let clock = {
            let timers = timers.clone();
            thread::spawn(move || {
                for seconds in [10, 20] {
                    timers.fire(at(seconds));
                }
            })
        };
        let timer = timers.timer(&interrupt, InterruptKind::StatementTimeout);
        for seconds in [10, 15] {
            let armed = timer.arm(at(seconds));
            drop(armed);
            assert!(!interrupt.pending(), "a statement that is over interrupts the next one");
        }
        let armed = timer.arm(at(30));
        assert!(!interrupt.pending(), "it is not due yet");
        clock.join().unwrap();
        assert!(timers.entry_count() <= 1);
        timers.fire(at(30));
        assert!(interrupt.pending(), "a time limit was lost");
        drop(armed);
        assert!(!interrupt.pending());
        drop(timer);
        assert_eq!(timers.entry_count(), 0);
    });
}

/// A pool of a few threads, for one execution.
fn pool(threads_max: fn() -> usize) -> &'static WorkPool {
    Box::leak(Box::new(WorkPool::new(PoolOptions {
        name: "model",
        stack_bytes: None,
        threads_max,
        idle_time: Some(Duration::from_secs(1)),
    })))
}

/// Long work of two sessions waits for short work of a third, which would never come if it waited for a thread behind them.
#[test]
fn short_work_of_a_pool_does_not_wait_for_long_work() {
    check(|| {
        let pool = pool(|| 2);
        let short_is_done = Arc::new((Mutex::new(false), Condvar::new()));
        let long = |short_is_done: Arc<(Mutex<bool>, Condvar)>| {
            thread::spawn(move || {
                let work = move || {
                    let (is_done, changed) = &*short_is_done;
                    changed.wait_while(&mut is_done.lock(), |is_done| !*is_done);
                };
                pool.run(Work::Long, work).unwrap();
            })
        };
        let mut threads: Vec<_> = (0..2).map(|_| long(short_is_done.clone())).collect();
        threads.push(thread::spawn(move || {
            assert_eq!(pool.run(Work::Short, || 7).unwrap(), 7);
            let (is_done, changed) = &*short_is_done;
            *is_done.lock() = true;
            changed.notify_all();
        }));
        join_all(threads);
        assert_eq!(pool.waiting(), 0);
    });
}

/// Sessions are interrupted at any moment: each has its answer or its error, and what nobody waits for has left the queue.
#[test]
fn interrupted_work_leaves_a_pool() {
    check(|| {
        let pool = pool(|| 2);
        let begun = Arc::new(AtomicU32::new(0));
        let sessions: Vec<_> = (0..3)
            .map(|number| {
                let (begun, interrupt) = (begun.clone(), Arc::new(Interrupt::new()));
                let interrupted = interrupt.clone();
                let length = if number == 0 { Work::Short } else { Work::Long };
                let session = thread::spawn(move || {
                    let work = move || begun.fetch_add(1, Ordering::SeqCst);
                    with_interrupt(&interrupted, || pool.run(length, work)).is_ok()
                });
                (interrupt, session)
            })
            .collect();
        for (interrupt, _) in &sessions[1..] {
            interrupt.raise(InterruptKind::Cancel);
        }
        let answered: Vec<bool> = sessions.into_iter().map(|(_, session)| session.join().unwrap()).collect();
        assert!(answered[0], "it was not interrupted");
        assert_eq!(pool.waiting(), 0);
        let count = answered.iter().filter(|is_answered| **is_answered).count();
        assert!(begun.load(Ordering::SeqCst) as usize >= count);
    });
}

/// Two sessions leave their work while it runs on. Another session's long work and work with a bound find threads all the same.
#[test]
fn abandoned_work_keeps_no_session_waiting() {
    check(|| {
        let pool = pool(|| 3);
        let others_are_done = Arc::new((Mutex::new(false), Condvar::new()));
        let endless = |interrupt: Arc<Interrupt>, others_are_done: Arc<(Mutex<bool>, Condvar)>| {
            thread::spawn(move || {
                let work = move || {
                    let (are_done, changed) = &*others_are_done;
                    changed.wait_while(&mut are_done.lock(), |are_done| !*are_done);
                };
                let _ = with_interrupt(&interrupt, || pool.run(Work::Long, work));
            })
        };
        let interrupts = [Arc::new(Interrupt::new()), Arc::new(Interrupt::new())];
        let mut threads: Vec<_> =
            interrupts.iter().map(|interrupt| endless(interrupt.clone(), others_are_done.clone())).collect();
        threads.push(thread::spawn(move || {
            assert_eq!(pool.run(Work::Bounded, || 7).unwrap(), 7);
            for interrupt in &interrupts {
                interrupt.raise(InterruptKind::Cancel);
            }
            assert_eq!(pool.run(Work::Long, || 8).unwrap(), 8);
            let (are_done, changed) = &*others_are_done;
            *are_done.lock() = true;
            changed.notify_all();
        }));
        join_all(threads);
        assert_eq!(pool.waiting(), 0);
    });
}

/// A thread that sleeps with an open mailbox, as a worker does in its poll.
struct Sleeper {
    mailbox: Mailbox<u32>,
    ready: Arc<ReadyQueue>,
    /// Whether it has been woken, for its sleep.
    woken: Arc<(Mutex<bool>, Condvar)>,
}

const PUT: u64 = 1;
const LEAVE: u64 = 2;

impl Sleeper {
    fn new() -> Sleeper {
        let woken = Arc::new((Mutex::new(false), Condvar::new()));
        let notified = woken.clone();
        let ready = Arc::new(ReadyQueue::new(move || {
            *notified.0.lock() = true;
            notified.1.notify_all();
        }));
        Sleeper { mailbox: Mailbox::new(), ready, woken }
    }

    /// Rounds of a worker until it is told to leave: what it was given.
    fn run(&self) -> Vec<u32> {
        let (mut taken, mut tokens) = (Vec::new(), Vec::new());
        loop {
            let sleeps = self.ready.may_sleep();
            if sleeps {
                self.mailbox.open();
                let mut woken = self.woken.0.lock();
                self.woken.1.wait_while(&mut woken, |woken| !*woken);
                *woken = false;
            }
            self.ready.set_awake();
            if sleeps {
                taken.extend(self.mailbox.close());
            }
            tokens.clear();
            self.ready.drain(&mut tokens);
            if tokens.contains(&LEAVE) {
                assert_eq!(self.mailbox.put(0), Err(0), "nobody would take it");
                return taken;
            }
        }
    }

    /// Gives it something if it sleeps.
    fn give(&self, value: u32) -> bool {
        let is_given = self.mailbox.is_open() && self.mailbox.put(value).is_ok();
        if is_given {
            self.ready.push(PUT);
        }
        is_given
    }
}

/// The sleeper gets what was put into its mailbox, all of it and each once, without being told anything else, also if it is told
/// to leave at the same time.
#[test]
fn what_is_put_into_a_mailbox_is_taken_out() {
    check(|| {
        let sleeper = Arc::new(Sleeper::new());
        let givers: Vec<_> = (0..2)
            .map(|giver| {
                let sleeper = sleeper.clone();
                thread::spawn(move || {
                    let given = (0..2).map(|number| 10 * giver + number).filter(|value| sleeper.give(*value));
                    given.collect::<Vec<u32>>()
                })
            })
            .collect();
        let leaving = {
            let sleeper = sleeper.clone();
            thread::spawn(move || sleeper.ready.push(LEAVE))
        };
        let mut taken = sleeper.run();
        leaving.join().unwrap();
        let mut given: Vec<u32> = givers.into_iter().flat_map(|giver| giver.join().unwrap()).collect();
        given.sort_unstable();
        taken.sort_unstable();
        assert_eq!(given, taken);
    });
}

/// Without being told anything else, a sleeper takes what it was given: it does not sleep on beside a full mailbox.
#[test]
fn who_is_given_something_wakes_up() {
    check(|| {
        let sleeper = Arc::new(Sleeper::new());
        let owner = {
            let sleeper = sleeper.clone();
            thread::spawn(move || sleeper.run())
        };
        while !sleeper.give(7) {
            thread::yield_now();
        }
        // It sleeps again, so it has taken out what it was given.
        while !sleeper.mailbox.is_open() {
            thread::yield_now();
        }
        sleeper.ready.push(LEAVE);
        assert_eq!(owner.join().unwrap(), [7]);
    });
}

/// An interrupt is raised while its session goes from one owner to another: one of the two acts on it.
#[test]
fn an_interrupt_reaches_a_session_that_changes_its_owner() {
    check(|| {
        let queues = [(); 2].map(|()| Arc::new(ReadyQueue::new(|| ())));
        let interrupt = Arc::new(Interrupt::new());
        interrupt.set_owner(queues[0].clone(), 1);
        let raising = {
            let interrupt = interrupt.clone();
            thread::spawn(move || interrupt.raise(InterruptKind::Terminate))
        };
        interrupt.set_owner(queues[1].clone(), 2);
        let is_seen = interrupt.take_end().is_some();
        raising.join().unwrap();
        let mut tokens = Vec::new();
        queues[1].drain(&mut tokens);
        assert!(is_seen || tokens == [2], "nobody who has the session has heard of it");
    });
}
