//! Waits for a flush: the waiters, the length of the wait, and the leader. Threads, coroutines, futures, delays, the walwriter.
#![cfg(not(shuttle))]

mod support;

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake};
use std::time::{Duration, Instant};

use base::Lsn;
use cohort_wal::{DelayPolicy, DelayScope, DelaySetting, SiblingsProbe, SyncMethod, Wal, WalOptions};
use support::{DIR, HEAD, small_options};
use sync::{Coroutine, ReadyQueue, StackPool, Step};
use vfs::{RealVfs, SimulatedVfs, SlowedVfs, Vfs};

fn log(options: WalOptions) -> Arc<Wal> {
    Arc::new(Wal::create(Arc::new(SimulatedVfs::new(1)), Path::new(DIR), options).expect("nothing fails"))
}

/// A log on a disk whose syncs take `sync_latency`.
fn slow_log(options: WalOptions, sync_latency: Duration) -> Arc<Wal> {
    let disk: Arc<dyn Vfs> = Arc::new(SimulatedVfs::new(1));
    let slowed = Arc::new(SlowedVfs::new(disk, Duration::ZERO));
    let wal = Wal::create(slowed.clone(), Path::new(DIR), options).expect("nothing fails");
    slowed.set_sync_latency(sync_latency);
    Arc::new(wal)
}

fn roomy() -> WalOptions {
    WalOptions { segment_size_bytes: 1 << 20, buffers_bytes: 1 << 16, ..WalOptions::default() }
}

/// A fixed answer.
struct Siblings {
    writers: usize,
    unjoined: AtomicUsize,
    /// How often it is asked before all have joined.
    joined_after: AtomicUsize,
}

impl Siblings {
    fn new(writers: usize, unjoined: usize, joined_after: usize) -> Arc<Siblings> {
        let (unjoined, joined_after) = (AtomicUsize::new(unjoined), AtomicUsize::new(joined_after));
        Arc::new(Siblings { writers, unjoined, joined_after })
    }
}

impl SiblingsProbe for Siblings {
    fn writers(&self) -> usize {
        self.writers
    }
    fn unjoined_writers(&self) -> usize {
        if self.joined_after.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.unjoined.store(0, Ordering::SeqCst);
        }
        self.unjoined.load(Ordering::SeqCst)
    }
}

const NEVER: usize = usize::MAX / 2;

/// One commit with this policy; the delays taken, those cut short, and the time they took on the disk's clock.
fn delays(options: WalOptions, policy: DelayPolicy, probe: Option<Arc<Siblings>>) -> (u64, u64, u64) {
    let wal = log(options);
    if let Some(probe) = probe {
        wal.set_siblings_probe(probe);
    }
    let before = wal.statistics();
    let end = wal.insert(HEAD, &[b"commit"]).end;
    wal.wait_durable(end, policy);
    let after = wal.statistics();
    (
        after.delays_taken - before.delays_taken,
        after.delays_cut_short - before.delays_cut_short,
        after.delay_time_us - before.delay_time_us,
    )
}

const FOUR_MS: DelayPolicy = DelayPolicy { delay: DelaySetting::Micros(4000), siblings: 5 };

// invariants: row 9
#[test]
fn one_client_never_waits_whatever_is_set() {
    for siblings in [0, 1, 5] {
        let policy = DelayPolicy { siblings, ..FOUR_MS };
        assert_eq!(delays(roomy(), policy, Some(Siblings::new(1, 1, NEVER))), (0, 0, 0));
        assert_eq!(delays(roomy(), policy, None), (0, 0, 0), "nobody to ask");
    }
}

// invariants: row 9
#[test]
fn with_fsync_off_nobody_waits() {
    let options = WalOptions { fsync: false, ..roomy() };
    assert_eq!(delays(options, FOUR_MS, Some(Siblings::new(20, 19, NEVER))), (0, 0, 0));
}

#[test]
fn a_leader_waits_its_delay_if_enough_others_run() {
    assert_eq!(delays(roomy(), FOUR_MS, Some(Siblings::new(5, 4, NEVER))), (0, 0, 0), "only four others");
    let (taken, cut_short, time_us) = delays(roomy(), FOUR_MS, Some(Siblings::new(6, 5, NEVER)));
    assert_eq!((taken, cut_short), (1, 0));
    assert!((4000..4300).contains(&time_us), "{time_us}");
}

#[test]
fn a_delay_ends_when_all_others_have_joined() {
    assert_eq!(delays(roomy(), FOUR_MS, Some(Siblings::new(6, 0, NEVER))), (0, 0, 0), "all have joined already");
    let (taken, cut_short, time_us) = delays(roomy(), FOUR_MS, Some(Siblings::new(6, 5, 4)));
    assert_eq!((taken, cut_short), (1, 1));
    assert!(time_us < 1000, "{time_us}");
}

/// Sessions as a closed loop has them: none runs between its flush and its next commit.
struct ClosedLoop {
    committed: AtomicUsize,
}

impl SiblingsProbe for ClosedLoop {
    fn writers(&self) -> usize {
        self.committed.load(Ordering::SeqCst)
    }
    fn unjoined_writers(&self) -> usize {
        0
    }
}

#[test]
fn a_leader_waits_for_those_whom_the_last_flush_has_woken() {
    let wal = log(roomy());
    let sessions = Arc::new(ClosedLoop { committed: AtomicUsize::new(12) });
    wal.set_siblings_probe(sessions.clone());
    let commit = |committed: usize| {
        let before = wal.statistics();
        let end = wal.insert(HEAD, &[b"commit"]).end;
        sessions.committed.store(committed, Ordering::SeqCst);
        wal.wait_durable(end, FOUR_MS);
        let after = wal.statistics();
        (after.delays_taken - before.delays_taken, after.delays_cut_short - before.delays_cut_short)
    };
    assert_eq!(commit(12), (0, 0), "nobody else can be expected");
    // Of the twelve that were there when the last flush ended, six are back.
    assert_eq!(commit(6), (1, 0));
    assert_eq!(commit(6), (0, 0), "the others did not come: six are all that is expected now");
    assert_eq!(commit(1), (1, 0), "five others were there just now");
    assert_eq!(commit(1), (0, 0), "one client never waits");
}

#[test]
fn an_automatic_delay_is_at_most_half_a_sync() {
    // On a real clock: a simulated one does not see what a slowed sync takes.
    let dir = tempfile::tempdir().expect("a directory can be made");
    let disk = Arc::new(SlowedVfs::new(Arc::new(RealVfs::new()), Duration::from_millis(4)));
    let wal = Wal::create(disk, &dir.path().join("wal"), roomy()).expect("nothing fails");
    wal.set_siblings_probe(Siblings::new(6, 5, NEVER));
    let policy = DelayPolicy { delay: DelaySetting::Auto, siblings: 5 };
    // The shortest: on a busy machine any of them may last longer than it was asked to.
    let mut delay_us = u64::MAX;
    for _ in 0..30 {
        let before = wal.statistics();
        let end = wal.insert(HEAD, &[b"commit"]).end;
        wal.wait_durable(end, policy);
        let after = wal.statistics();
        if after.delays_taken > before.delays_taken && before.syncs > 10 {
            delay_us = delay_us.min(after.delay_time_us - before.delay_time_us);
        }
    }
    let statistics = wal.statistics();
    let sync_us = statistics.sync_time_us.mean();
    assert!(statistics.delays_taken > 0 && sync_us >= 4000.0, "{statistics:?}");
    let share = delay_us as f64 / sync_us;
    assert!(share > 0.2 && share < 0.7, "{delay_us} of {sync_us}: {statistics:?}");
}

// rule R6
#[test]
fn an_automatic_delay_is_none_where_syncs_are_short() {
    // On the simulated disk, whose syncs take no time: a real one may be slow.
    let wal = log(roomy());
    wal.set_siblings_probe(Siblings::new(6, 5, NEVER));
    for _ in 0..20 {
        let end = wal.insert(HEAD, &[b"commit"]).end;
        wal.wait_durable(end, DelayPolicy { delay: DelaySetting::Auto, siblings: 5 });
    }
    assert_eq!((wal.statistics().delays_taken, wal.statistics().syncs >= 20), (0, true));
    let end = wal.insert(HEAD, &[b"commit"]).end;
    wal.wait_durable(end, FOUR_MS);
    assert_eq!(wal.statistics().delays_taken, 1, "the siblings are there");
}

// rule R7
#[test]
fn a_flush_for_a_page_obeys_the_delay() {
    let wal = log(WalOptions { default_delay: FOUR_MS, ..roomy() });
    wal.set_siblings_probe(Siblings::new(6, 5, NEVER));
    let end = wal.insert(HEAD, &[b"page"]).end;
    wal.flush(end);
    assert_eq!(wal.statistics().delays_taken, 1);
}

#[test]
fn with_scope_each_the_committer_sleeps_and_the_leader_does_not() {
    let wal = log(WalOptions { delay_scope: DelayScope::Each, ..roomy() });
    wal.set_siblings_probe(Siblings::new(6, 5, NEVER));
    assert_eq!(wal.delay_before_joining(FOUR_MS), Some(Duration::from_millis(4)));
    assert_eq!(wal.delay_before_joining(DelayPolicy::NONE), None);
    let begin = Instant::now();
    let end = wal.insert(HEAD, &[b"commit"]).end;
    wal.wait_durable(end, FOUR_MS);
    assert!(begin.elapsed() >= Duration::from_millis(4));
    assert_eq!(wal.statistics().delays_taken, 0);
    assert_eq!(log(roomy()).delay_before_joining(FOUR_MS), None, "scope leader");
}

// invariants: row 10
#[test]
fn tiny_buffers_large_records_and_a_delay_do_not_deadlock() {
    for (group_commit, with_flusher) in [(true, false), (true, true), (false, false), (false, true)] {
        let options = WalOptions {
            group_commit,
            default_delay: DelayPolicy { delay: DelaySetting::Micros(200), siblings: 0 },
            ..small_options()
        };
        let wal = log(options);
        wal.set_siblings_probe(Siblings::new(8, 7, NEVER));
        if with_flusher {
            wal.start_flusher_thread();
        }
        std::thread::scope(|scope| {
            for thread in 0..8_usize {
                let wal = &wal;
                scope.spawn(move || {
                    let payload = vec![7; 20_000];
                    for round in 0..20_usize {
                        let bytes = (round * 977 + thread * 4001) % payload.len();
                        let end = wal.insert(HEAD, &[&payload[..bytes]]).end;
                        if round % 2 == 0 {
                            wal.flush(end);
                        }
                    }
                });
            }
        });
        wal.flush(wal.reserved());
    }
}

#[test]
fn durable_is_always_the_end_of_a_record() {
    let wal = log(small_options());
    let begin = wal.durable();
    let done = std::sync::atomic::AtomicBool::new(false);
    let sampled: Vec<Lsn> = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0;
            while !done.load(Ordering::SeqCst) {
                round += 1;
                wal.insert(HEAD, &[&vec![1; 3000 + round % 300 * 40]]);
            }
        });
        let commit = |_| {
            let end = wal.insert(HEAD, &[b"commit"]).end;
            wal.wait_durable(end, DelayPolicy::NONE);
            wal.durable()
        };
        let sampled = (0..200).map(commit).collect();
        done.store(true, Ordering::SeqCst);
        sampled
    });
    let mut reader = wal.reader(begin).expect("a record ends there");
    let mut ends = std::collections::HashSet::new();
    while let Some(record) = reader.next().expect("nothing fails") {
        ends.insert(record.end);
    }
    assert!(sampled.iter().all(|durable| ends.contains(durable)));
}

#[test]
fn every_way_of_flushing_serves_every_thread() {
    for sync_method in [SyncMethod::Fdatasync, SyncMethod::OpenDatasync, SyncMethod::Fsync] {
        for (group_commit, with_flusher) in [(true, false), (true, true), (false, false), (false, true)] {
            let wal = log(WalOptions { sync_method, group_commit, direct_io: !group_commit, ..roomy() });
            if with_flusher {
                wal.start_flusher_thread();
            }
            std::thread::scope(|scope| {
                for _ in 0..12 {
                    scope.spawn(|| {
                        for _ in 0..100 {
                            let end = wal.insert(HEAD, &[b"commit"]).end;
                            wal.wait_durable(end, DelayPolicy::NONE);
                            assert!(wal.durable() >= end);
                        }
                    });
                }
            });
            let statistics = wal.statistics();
            assert!(statistics.cohort_members.count <= statistics.cohort_members.sum + 1);
        }
    }
}

#[test]
fn committers_share_flushes() {
    let wal = slow_log(roomy(), Duration::from_millis(2));
    let before = wal.statistics();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let end = wal.insert(HEAD, &[b"commit"]).end;
                    wal.wait_durable(end, DelayPolicy::NONE);
                }
            });
        }
    });
    let syncs = wal.statistics().syncs - before.syncs;
    assert!(syncs < 160, "{syncs} syncs for 320 commits");
}

#[test]
fn a_flush_for_a_page_does_not_queue_behind_a_suspended_committer() {
    let wal = slow_log(WalOptions { group_commit: false, ..roomy() }, Duration::from_millis(100));
    wal.start_flusher_thread();
    let queue = sync::Arc::new(ReadyQueue::new(|| {}));
    let pool = StackPool::default();
    let committer = Arc::clone(&wal);
    let mut session = Coroutine::new(&pool, queue, 0, move || {
        let end = committer.insert(HEAD, &[b"commit"]).end;
        committer.wait_durable(end, DelayPolicy::NONE);
    });
    // The session has the turn and is suspended. It can go on only when this thread comes back to it.
    assert!(matches!(session.resume(), Step::Suspended { .. }));
    let (sender, receiver) = std::sync::mpsc::channel();
    let writer = Arc::clone(&wal);
    let end = wal.insert(HEAD, &[b"page"]).end;
    let thread = std::thread::spawn(move || {
        writer.flush(end);
        sender.send(()).expect("the test waits");
    });
    receiver.recv_timeout(Duration::from_secs(10)).expect("write-back is not held up by the turn");
    thread.join().expect("no panic");
    assert!(wal.durable() >= end);
    while !matches!(session.resume(), Step::Finished(())) {}
}

#[test]
fn sessions_in_coroutines_wait_without_a_thread() {
    let wal = slow_log(roomy(), Duration::from_micros(500));
    wal.start_flusher_thread();
    let (sender, receiver) = std::sync::mpsc::channel();
    let sender = Mutex::new(sender);
    let queue = sync::Arc::new(ReadyQueue::new(move || {
        let _ = sender.lock().expect("no panic").send(());
    }));
    let pool = StackPool::default();
    let mut sessions: Vec<_> = (0..50)
        .map(|token| {
            let wal = Arc::clone(&wal);
            Coroutine::new(&pool, sync::Arc::clone(&queue), token, move || {
                for _ in 0..5 {
                    let end = wal.insert(HEAD, &[b"commit"]).end;
                    wal.ticket(end, DelayPolicy::NONE).wait();
                    assert!(wal.durable() >= end);
                }
            })
        })
        .collect();
    let mut tokens: Vec<u64> = (0..50).collect();
    let mut finished = 0;
    while finished < 50 {
        for token in tokens.drain(..) {
            if let Step::Finished(()) = sessions[token as usize].resume() {
                finished += 1;
            }
        }
        queue.drain(&mut tokens);
        if tokens.is_empty() && finished < 50 && queue.may_sleep() {
            receiver.recv_timeout(Duration::from_secs(10)).expect("somebody is woken");
        }
        queue.set_awake();
        queue.drain(&mut tokens);
    }
    let statistics = wal.statistics();
    assert!(statistics.led_by_flusher > 0 && statistics.syncs < 150, "{statistics:?}");
}

#[derive(Default)]
struct CountingWaker(AtomicUsize);

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

// invariants: row 8
#[test]
fn a_dropped_future_that_was_to_lead_names_another() {
    let wal = slow_log(roomy(), Duration::from_millis(100));
    let leader = Arc::clone(&wal);
    let leading = std::thread::spawn(move || {
        let end = leader.insert(HEAD, &[b"leader"]).end;
        leader.wait_durable(end, DelayPolicy::NONE);
    });
    std::thread::sleep(Duration::from_millis(40));
    let mut tickets: Vec<_> =
        (0..2).map(|_| wal.ticket(wal.insert(HEAD, &[b"future"]).end, DelayPolicy::NONE)).collect();
    let counters = [Arc::new(CountingWaker::default()), Arc::new(CountingWaker::default())];
    for (ticket, counter) in tickets.iter_mut().zip(&counters) {
        let waker = Arc::clone(counter).into();
        assert_eq!(Pin::new(ticket).poll(&mut Context::from_waker(&waker)), Poll::Pending);
    }
    leading.join().expect("no panic");
    let woken = |index: usize| counters[index].0.load(Ordering::SeqCst);
    assert_eq!((woken(0), woken(1)), (1, 0), "the first is heir");
    drop(tickets.remove(0));
    assert_eq!(woken(1), 1, "the second is heir");
    let waker = Arc::clone(&counters[1]).into();
    assert_eq!(Pin::new(&mut tickets[0]).poll(&mut Context::from_waker(&waker)), Poll::Ready(()));
}

#[test]
fn a_lone_session_leads_inline_and_one_in_company_does_not() {
    let wal = slow_log(roomy(), Duration::from_millis(5));
    wal.start_flusher_thread();
    let end = wal.insert(HEAD, &[b"lone"]).end;
    assert!(wal.try_lead_inline(end, DelayPolicy::NONE));
    assert!(wal.durable() >= end);
    assert_eq!(wal.statistics().led_by_flusher, 0);
    for _ in 0..3 {
        let end = wal.insert(HEAD, &[b"first"]).end;
        wal.request_flush(end, DelayPolicy::NONE);
        let end = wal.insert(HEAD, &[b"second"]).end;
        assert!(!wal.try_lead_inline(end, DelayPolicy::NONE), "somebody flushes");
        wal.request_flush(end, DelayPolicy::NONE);
        wal.flush(end);
    }
    let end = wal.insert(HEAD, &[b"soon after"]).end;
    assert!(!wal.try_lead_inline(end, DelayPolicy::NONE), "there was company a moment ago");
    wal.flush(end);
    for _ in 0..10 {
        let end = wal.insert(HEAD, &[b"alone again"]).end;
        wal.request_flush(end, DelayPolicy::NONE);
        wal.flush(end);
    }
    // With siblings that may join, a session with a delay leaves it to the flusher to wait.
    wal.set_siblings_probe(Siblings::new(6, 5, NEVER));
    let end = wal.insert(HEAD, &[b"delayed"]).end;
    assert!(!wal.try_lead_inline(end, FOUR_MS));
}

// invariants: row 12
#[test]
fn asynchronous_commits_are_durable_within_three_delays_of_the_walwriter() {
    let wal = log(roomy());
    wal.start_walwriter(Duration::from_millis(50));
    let end = wal.insert(HEAD, &[b"asynchronous"]).end;
    let begin = Instant::now();
    while wal.durable() < end {
        assert!(begin.elapsed() < Duration::from_millis(1500), "three delays, and room for a busy machine");
        std::thread::sleep(Duration::from_millis(1));
    }
    let end = wal.insert(HEAD, &[b"at the end"]).end;
    wal.stop();
    assert!(wal.durable() >= end, "the walwriter flushes once more when it stops");
}

#[test]
fn a_listener_is_told_once_per_flush() {
    let wal = log(roomy());
    let calls = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&calls);
    wal.add_durable_listener(Arc::new(move |_: Lsn| {
        counter.fetch_add(1, Ordering::SeqCst);
    }));
    for _ in 0..10 {
        let end = wal.insert(HEAD, &[b"commit"]).end;
        wal.wait_durable(end, DelayPolicy::NONE);
    }
    assert_eq!(calls.load(Ordering::SeqCst), 10);
}

#[test]
fn with_fsync_off_nothing_is_synced_until_it_is_on_again() {
    let wal = log(WalOptions { fsync: false, ..small_options() });
    for _ in 0..100 {
        let end = wal.insert(HEAD, &[&[1; 200]]).end;
        wal.wait_durable(end, DelayPolicy::NONE);
        assert!(wal.durable() >= end);
    }
    assert_eq!(wal.statistics().syncs, 0);
    wal.set_fsync(true);
    assert_eq!(wal.statistics().syncs, 1, "what counted as durable is synced at once");
    let end = wal.insert(HEAD, &[b"commit"]).end;
    wal.wait_durable(end, DelayPolicy::NONE);
    assert_eq!(wal.statistics().syncs, 2);
}
