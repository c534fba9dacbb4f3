//! The cohort's state machine under every order of its steps that `shuttle` tries.
//!
//! ```text
//! RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR=target/shuttle cargo test --release -p cohort-wal --test model
//! ```
//!
//! A member that is never woken shows as a deadlock: every thread of a model must end without further traffic.
#![cfg(shuttle)]

mod support;

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use base::Lsn;
use cohort_wal::{DelayPolicy, DelaySetting, SiblingsProbe, Wal, WalOptions};
use support::{DIR, HEAD, small_options};
use sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sync::{Arc, Mutex, thread};
use vfs::SimulatedVfs;

fn iterations() -> usize {
    std::env::var("COHORT_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(2000)
}

fn explore(model: impl Fn() + Send + Sync + 'static) {
    let model = std::sync::Arc::new(model);
    for depth in [None, Some(3)] {
        let model = std::sync::Arc::clone(&model);
        match depth {
            None => shuttle::check_random(move || model(), iterations()),
            Some(depth) => shuttle::check_pct(move || model(), iterations(), depth),
        }
    }
}

fn log(options: WalOptions) -> Arc<Wal> {
    let disk = Arc::new(SimulatedVfs::new(1));
    let options = WalOptions { segments_ahead: 0, segment_size_bytes: 65536, ..options };
    Arc::new(Wal::create(disk, Path::new(DIR), options).expect("nothing fails"))
}

fn commit(wal: &Wal) {
    let end = wal.insert(HEAD, &[b"commit"]).end;
    wal.wait_durable(end, DelayPolicy::NONE);
    assert!(wal.durable() >= end);
}

fn committers(wal: &Arc<Wal>, threads: usize, commits: usize) -> Vec<thread::JoinHandle<()>> {
    let run = |_| {
        let wal = Arc::clone(wal);
        thread::spawn(move || (0..commits).for_each(|_| commit(&wal)))
    };
    (0..threads).map(run).collect()
}

fn join(threads: Vec<thread::JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
}

// invariants: row 8
#[test]
fn every_committer_ends_without_a_flusher() {
    explore(|| {
        let wal = log(small_options());
        join(committers(&wal, 4, 2));
    });
}

// invariants: row 8
#[test]
fn every_committer_ends_with_a_flusher_that_comes_and_goes() {
    explore(|| {
        let wal = log(small_options());
        wal.start_flusher_thread();
        let threads = committers(&wal, 4, 2);
        wal.stop();
        join(threads);
    });
}

// invariants: row 8
#[test]
fn every_request_is_served() {
    explore(|| {
        let wal = log(small_options());
        let highest = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&highest);
        wal.add_durable_listener(Arc::new(move |durable: Lsn| {
            told.fetch_max(durable.0, Ordering::SeqCst);
        }));
        wal.start_flusher_thread();
        let request = || {
            let wal = Arc::clone(&wal);
            thread::spawn(move || {
                for _ in 0..2 {
                    let end = wal.insert(HEAD, &[b"request"]).end;
                    if !wal.try_lead_inline(end, DelayPolicy::NONE) {
                        wal.request_flush(end, DelayPolicy::NONE);
                    }
                }
            })
        };
        let mut threads = vec![request(), request()];
        threads.extend(committers(&wal, 1, 2));
        join(threads);
        wal.stop();
        assert_eq!(wal.durable(), wal.inserted());
        assert_eq!(highest.load(Ordering::SeqCst), wal.durable().0);
    });
}

// invariants: row 8
#[test]
fn who_waits_for_the_listener_is_told_without_further_traffic() {
    explore(|| {
        let wal = log(small_options());
        let bell = Arc::new((Mutex::new(Lsn::ZERO), sync::Condvar::new()));
        let ring = Arc::clone(&bell);
        wal.add_durable_listener(Arc::new(move |durable| {
            let mut highest = ring.0.lock();
            *highest = durable.max(*highest);
            ring.1.notify_all();
        }));
        wal.start_flusher_thread();
        let session = |_| {
            let (wal, bell) = (Arc::clone(&wal), Arc::clone(&bell));
            thread::spawn(move || {
                let end = wal.insert(HEAD, &[b"request"]).end;
                wal.request_flush(end, DelayPolicy::NONE);
                let mut highest = bell.0.lock();
                while *highest < end && wal.durable() < end {
                    bell.1.wait(&mut highest);
                }
            })
        };
        let mut threads: Vec<_> = (0..2).map(session).collect();
        threads.extend(committers(&wal, 1, 1));
        join(threads);
        wal.stop();
    });
}

// invariants: row 8
#[test]
fn a_request_without_a_flusher_is_led_by_somebody() {
    explore(|| {
        let wal = log(small_options());
        let requester = Arc::clone(&wal);
        let mut threads = committers(&wal, 2, 1);
        threads.push(thread::spawn(move || {
            let end = requester.insert(HEAD, &[b"request"]).end;
            requester.request_flush(end, DelayPolicy::NONE);
        }));
        join(threads);
        // Everything but the mark of the last batch, which belongs to nobody, was asked for.
        assert!(wal.durable().0 + 32 >= wal.inserted().0, "{} of {}", wal.durable(), wal.inserted());
    });
}

/// Polls once, then drops the ticket: an heir that never leads.
struct PollOnce(Option<cohort_wal::CommitTicket>);

impl Future for PollOnce {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if let Some(mut ticket) = self.0.take() {
            let _ = Pin::new(&mut ticket).poll(context);
            shuttle::thread::yield_now();
        }
        Poll::Ready(())
    }
}

// invariants: row 8
#[test]
fn a_future_that_is_dropped_while_it_waits_leaves_nobody_behind() {
    for with_flusher in [false, true] {
        explore(move || {
            let wal = log(small_options());
            if with_flusher {
                wal.start_flusher_thread();
            }
            let awaiting = |dropped: bool| {
                let wal = Arc::clone(&wal);
                thread::spawn(move || {
                    let ticket = wal.ticket(wal.insert(HEAD, &[b"future"]).end, DelayPolicy::NONE);
                    if dropped {
                        shuttle::future::block_on(PollOnce(Some(ticket)));
                    } else {
                        let upto = ticket.lsn();
                        shuttle::future::block_on(ticket);
                        assert!(wal.durable() >= upto);
                    }
                })
            };
            let mut threads = vec![awaiting(true), awaiting(false), awaiting(true)];
            threads.extend(committers(&wal, 1, 1));
            join(threads);
            wal.stop();
        });
    }
}

// invariants: row 8
#[test]
fn every_committer_gets_its_turn_with_group_commit_off() {
    explore(|| {
        let wal = log(WalOptions { group_commit: false, ..small_options() });
        let mut threads = committers(&wal, 3, 2);
        let flushing = Arc::clone(&wal);
        threads.push(thread::spawn(move || flushing.flush(flushing.reserved())));
        join(threads);
    });
}

// invariants: row 10
#[test]
fn records_larger_than_the_buffers_pass_each_other_by() {
    explore(|| {
        let wal = log(small_options());
        let run = |bytes: usize| {
            let wal = Arc::clone(&wal);
            thread::spawn(move || {
                let payload = vec![1; bytes];
                let end = wal.insert(HEAD, &[&payload]).end;
                wal.wait_durable(end, DelayPolicy::NONE);
            })
        };
        join(vec![run(9000), run(5000), run(100)]);
    });
}

/// Transactions that insert, commit and go: all that a probe sees.
#[derive(Default)]
struct Running {
    writers: AtomicUsize,
    unjoined: AtomicUsize,
}

impl SiblingsProbe for Running {
    fn writers(&self) -> usize {
        self.writers.load(Ordering::SeqCst)
    }
    fn unjoined_writers(&self) -> usize {
        self.unjoined.load(Ordering::SeqCst)
    }
}

// invariants: rows 8, 10
#[test]
fn a_delay_ends_though_siblings_come_and_go() {
    explore(|| {
        let wal = log(small_options());
        let running = Arc::new(Running::default());
        wal.set_siblings_probe(running.clone());
        wal.start_flusher_thread();
        let policy = DelayPolicy { delay: DelaySetting::Micros(1000), siblings: 1 };
        let run = |_| {
            let (wal, running) = (Arc::clone(&wal), Arc::clone(&running));
            thread::spawn(move || {
                running.writers.fetch_add(1, Ordering::SeqCst);
                running.unjoined.fetch_add(1, Ordering::SeqCst);
                let end = wal.insert(HEAD, &[b"commit"]).end;
                running.unjoined.fetch_sub(1, Ordering::SeqCst);
                wal.wait_durable(end, policy);
                running.writers.fetch_sub(1, Ordering::SeqCst);
            })
        };
        join((0..3).map(run).collect());
        wal.stop();
    });
}

#[test]
fn retire_hooks_never_overlap_and_see_durable_ascend_to_the_end() {
    explore(|| {
        let wal = log(small_options());
        let busy = Arc::new(AtomicUsize::new(0));
        let seen = Arc::new(Mutex::new(Lsn::ZERO));
        let (entered, last) = (Arc::clone(&busy), Arc::clone(&seen));
        wal.add_retire_hook(Arc::new(move |durable| {
            assert_eq!(entered.fetch_add(1, Ordering::SeqCst), 0, "another call is at work");
            let mut last = last.lock();
            assert!(durable > *last);
            *last = durable;
            drop(last);
            entered.fetch_sub(1, Ordering::SeqCst);
        }));
        join(committers(&wal, 3, 2));
        assert_eq!(*seen.lock(), wal.durable());
    });
}
