//! How many durable transactions a second, and what a transaction costs besides the disk.
//!
//! A transaction is: begin, an xid, one record of 120 bytes (96 of payload), commit, wait until durable. Two ways to wait:
//!
//! - `threads`: N threads, each with a session that waits on its own thread and may lead the flush;
//! - `tickets`: two threads with N sessions between them; each session's ticket is polled as a future, and a thread sleeps
//!   when all of its sessions wait.
//!
//! `cost` leaves the disk out: nanoseconds for the parts of a transaction on one thread, and on two at once.
//!
//! ```text
//! cargo run --release -p cohort-xact --example commit_loop -- [DIRECTORY] [SECONDS] [threads|tickets|cost|all] [SYNC_US]
//! ```
//!
//! With SYNC_US the disk is emulated: put DIRECTORY in memory, and each sync takes so many microseconds, one at a time.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use base::{FileNumber, Lsn, Oid, Xid};
use buffer::{DoubleWrite, DoubleWriteOptions, LateLog};
use clog::{StatusStore, StatusStoreOptions};
use cohort_xact::twophase::PreparedOptions;
use cohort_xact::{BeginOptions, FileRemover, ManagerOptions, SessionSlot, TransactionManager};
use lockmgr::{LockManager, LockMode, LockOptions, LockTag};
use sync::Interrupt;
use vfs::{RealVfs, SlowedVfs, Vfs};
use wal::{CommitTicket, DelayPolicy, RecordHead, RmgrId, Wal, WalOptions};

const PAYLOAD: [u8; 96] = [7; 96];
const IN_FLIGHT: [usize; 4] = [1, 8, 32, 128];
const SLOTS: u32 = 10_000;

struct NoFiles;

impl FileRemover for NoFiles {
    fn remove_file(&self, _: FileNumber, _: Lsn) {}

    fn finish_removals(&self) {}
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().map_or_else(|| std::env::temp_dir().join("xact_commit_loop"), PathBuf::from);
    let seconds: f64 = arguments.next().map_or(2.0, |text| text.parse().expect("SECONDS is a number"));
    let only = arguments.next();
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name || only == "all");
    let sync_us = arguments.next().map(|text| text.parse().expect("SYNC_US is a number"));
    let real: Arc<dyn Vfs> = Arc::new(RealVfs::new());
    let vfs = match sync_us {
        Some(sync_us) => Arc::new(SlowedVfs::new(real, Duration::from_micros(sync_us))),
        None => real,
    };
    if wanted("cost") {
        cost(&fresh(&vfs, &dir, WalOptions { fsync: false, ..WalOptions::default() }));
    }
    for (name, way) in [("threads", threads as Way), ("tickets", tickets)] {
        if !wanted(name) {
            continue;
        }
        for in_flight in IN_FLIGHT {
            let manager = fresh(&vfs, &dir, WalOptions::default());
            way(&manager, in_flight, Duration::from_secs_f64(seconds / 8.0));
            let before = manager.wal().statistics();
            let begin = Instant::now();
            let commits = way(&manager, in_flight, Duration::from_secs_f64(seconds));
            let rate = commits as f64 / begin.elapsed().as_secs_f64();
            let syncs = manager.wal().statistics().sync_time_us.since(&before.sync_time_us);
            println!(
                "{name:<8} {in_flight:>4} in flight {rate:>9.0} /s {:>7.1} commits a sync {:>7.1} us a sync",
                commits as f64 / syncs.count.max(1) as f64,
                syncs.mean(),
            );
            manager.wal().stop();
        }
    }
    vfs.remove_dir_all(&dir).expect("the directory can be removed");
}

type Way = fn(&Arc<TransactionManager>, usize, Duration) -> u64;

fn fresh(vfs: &Arc<dyn Vfs>, dir: &Path, options: WalOptions) -> Arc<TransactionManager> {
    vfs.remove_dir_all(dir).expect("the old directory can be removed");
    vfs.create_dir_all(dir).expect("a directory can be made");
    let late_log = Arc::new(LateLog::new());
    let area = DoubleWrite::open(vfs.clone(), dir, DoubleWriteOptions::default()).expect("the area can be made");
    let status = StatusStore::open(vfs.clone(), dir, late_log.clone(), area, StatusStoreOptions::default());
    let status = Arc::new(status.expect("the commit log can be made"));
    let wal = Arc::new(Wal::create(vfs.clone(), &dir.join("wal"), options).expect("a log can be made"));
    late_log.attach(wal.clone());
    wal.start_flusher_thread();
    std::thread::sleep(Duration::from_millis(300));
    status.start(Xid::FIRST_NORMAL);
    let options = ManagerOptions {
        slots: SLOTS,
        prepared: PreparedOptions { max: 0, vfs: vfs.clone(), directory: dir.join("twophase") },
        next_xid: Xid::FIRST_NORMAL,
        horizon: wal.reserved(),
        catalog_version: 1,
        files: Arc::new(NoFiles),
    };
    TransactionManager::new(wal, status, Arc::new(LockManager::new(SLOTS)), options)
}

fn session(manager: &Arc<TransactionManager>) -> SessionSlot {
    manager.register_session(Arc::new(Interrupt::new())).expect("a slot is free")
}

/// Everything but the wait.
fn transaction(session: &mut SessionSlot) -> base::Lsn {
    session.begin(BeginOptions::default());
    session.take_snapshot();
    let xid = session.assign_xid().expect("xids are left");
    session.manager().wal().insert(RecordHead { rmgr: RmgrId::HEAP, info: 0, xid }, &[&PAYLOAD]);
    session.commit().gate
}

fn threads(manager: &Arc<TransactionManager>, in_flight: usize, duration: Duration) -> u64 {
    let (stop, total) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..in_flight {
            scope.spawn(|| {
                let mut session = session(manager);
                let mut commits = 0;
                while !stop.load(Ordering::Relaxed) {
                    let gate = transaction(&mut session);
                    manager.wal().wait_durable(gate, DelayPolicy::NONE);
                    commits += 1;
                }
                total.fetch_add(commits, Ordering::Relaxed);
            });
        }
        std::thread::sleep(duration);
        stop.store(true, Ordering::Relaxed);
    });
    total.into_inner()
}

/// Wakes a worker that sleeps because all its sessions wait.
struct WakeWorker {
    worker: Thread,
    rung: AtomicBool,
}

impl Wake for WakeWorker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.rung.swap(true, Ordering::SeqCst) {
            self.worker.unpark();
        }
    }
}

fn tickets(manager: &Arc<TransactionManager>, in_flight: usize, duration: Duration) -> u64 {
    let (stop, total) = (AtomicBool::new(false), AtomicU64::new(0));
    let workers = in_flight.min(2);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let sessions = (in_flight + worker) / workers;
            let (stop, total) = (&stop, &total);
            scope.spawn(move || {
                let bell = Arc::new(WakeWorker { worker: std::thread::current(), rung: AtomicBool::new(false) });
                let waker = Waker::from(bell.clone());
                let mut sessions: Vec<(SessionSlot, Option<CommitTicket>)> =
                    (0..sessions).map(|_| (session(manager), None)).collect();
                let mut commits = 0;
                while !stop.load(Ordering::Relaxed) {
                    bell.rung.store(false, Ordering::SeqCst);
                    // All that can run does before anybody asks for a flush.
                    for (session, ticket) in &mut sessions {
                        if ticket.as_ref().is_some_and(CommitTicket::is_durable) {
                            *ticket = None;
                            commits += 1;
                        }
                        if ticket.is_none() {
                            let gate = transaction(session);
                            *ticket = Some(manager.wal().ticket(gate, DelayPolicy::NONE));
                        }
                    }
                    let mut context = Context::from_waker(&waker);
                    let mut any_ready = false;
                    for ticket in sessions.iter_mut().filter_map(|(_, ticket)| ticket.as_mut()) {
                        any_ready |= matches!(Pin::new(ticket).poll(&mut context), Poll::Ready(()));
                    }
                    while !any_ready && !bell.rung.load(Ordering::SeqCst) && !stop.load(Ordering::Relaxed) {
                        std::thread::park_timeout(Duration::from_millis(10));
                    }
                }
                total.fetch_add(commits, Ordering::Relaxed);
            });
        }
        std::thread::sleep(duration);
        stop.store(true, Ordering::Relaxed);
    });
    total.into_inner()
}

/// The best of some rounds, in nanoseconds each.
fn measure(rounds: u32, mut run: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..10 {
        let begin = Instant::now();
        (0..rounds).for_each(|_| run());
        best = best.min(begin.elapsed().as_nanos() as f64 / f64::from(rounds));
    }
    best
}

/// The same on two threads at once: the worse of the two.
fn measure_on_two(manager: &Arc<TransactionManager>, run: impl Fn(&mut SessionSlot) + Sync) -> f64 {
    let times: Vec<f64> = std::thread::scope(|scope| {
        let both: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut session = session(manager);
                    measure(20_000, || run(&mut session))
                })
            })
            .collect();
        both.into_iter().map(|one| one.join().expect("no panic")).collect()
    });
    times.into_iter().fold(0.0, f64::max)
}

fn cost(manager: &Arc<TransactionManager>) {
    let head = RecordHead { rmgr: RmgrId::HEAP, info: 0, xid: Xid(3) };
    let read = |session: &mut SessionSlot| {
        session.begin(BeginOptions::default());
        session.take_snapshot();
        let _ = session.commit();
    };
    let locked = |session: &mut SessionSlot| {
        let options = LockOptions::new(session.interrupt());
        let (locks, owner) = (session.manager().locks(), session.owner());
        locks
            .lock(owner, LockTag::Relation(Oid(20_000)), LockMode::RowExclusive, &options)
            .expect("nobody is in the way");
        locks.unlock_all(owner, lockmgr::Scope::Transaction);
    };
    let assign = |session: &mut SessionSlot| {
        session.begin(BeginOptions::default());
        let _ = session.assign_xid().expect("xids are left");
        session.abort();
    };
    let commit = |session: &mut SessionSlot| {
        session.begin(BeginOptions::default());
        session.take_snapshot();
        let _ = session.assign_xid().expect("xids are left");
        let _ = session.commit();
    };
    let insert = |session: &mut SessionSlot| {
        session.manager().wal().insert(head, &[&PAYLOAD[..12]]);
    };
    type Run<'a> = &'a (dyn Fn(&mut SessionSlot) + Sync);
    let runs: [(&str, Run<'_>); 5] = [
        ("insert a commit-sized record", &insert),
        ("begin, snapshot, commit: read-only", &read),
        ("lock and unlock a relation", &locked),
        ("begin, xid, abort", &assign),
        ("begin, snapshot, xid, commit", &commit),
    ];
    for (name, run) in runs {
        let mut one = session(manager);
        let alone = measure(20_000, || run(&mut one));
        drop(one);
        println!("{name:<36} {alone:>7.1} ns   two threads {:>7.1} ns", measure_on_two(manager, run));
        manager.wal().flush(manager.wal().reserved());
    }
    for idle in [100, 5000, 9000] {
        let sessions: Vec<SessionSlot> = (0..idle).map(|_| session(manager)).collect();
        let nanos = measure(1000, || {
            std::hint::black_box(manager.refresh_removal_floor());
        });
        println!("refresh the floor over {idle:>4} idle sessions {nanos:>7.0} ns");
        drop(sessions);
    }
}
