//! How many commits a second the log makes durable, and what it adds to the bare disk.
//!
//! A commit is one record of 120 bytes (96 of payload), inserted and waited for. Three ways to wait:
//!
//! - `threads`: each of N threads inserts and waits, one after the other ([`Wal::wait_durable`]): embedded callers.
//! - `listeners`: two threads play N sessions; each inserts for every session whose commit is durable, asks for one flush
//!   and sleeps until the listener rings: the server.
//! - `futures`: two threads poll N futures ([`cohort_wal::CommitTicket`]) each on an executor of a few lines.
//!
//! `floor` is the same write and sync, one after the other, without a log: what the disk allows at 1.
//! `insert` is the time of an insert alone, nobody waiting.
//!
//! ```text
//! cargo run --release -p cohort-wal --example flush_loop -- [DIRECTORY] [SECONDS] [EMULATED_SYNC_US] [ONLY]
//! ```

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake};
use std::time::{Duration, Instant};

use base::{Lsn, Xid};
use cohort_wal::{CommitTicket, DelayPolicy, RecordHead, RmgrId, Wal, WalOptions};
use vfs::{OpenMode, RealVfs, SlowedVfs, Vfs};

const PAYLOAD_BYTES: usize = 96;
const IN_FLIGHT: [usize; 4] = [1, 8, 32, 128];
const HEAD: RecordHead = RecordHead { rmgr: RmgrId::XACT, info: 1, xid: Xid(3) };

fn main() {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().map_or_else(|| std::env::temp_dir().join("flush_loop"), PathBuf::from);
    let seconds: f64 = arguments.next().map_or(2.0, |text| text.parse().expect("SECONDS is a number"));
    let duration = Duration::from_secs_f64(seconds);
    let sync_us: u64 = arguments.next().map_or(0, |text| text.parse().expect("EMULATED_SYNC_US is a number"));
    let only = arguments.next();
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let mut vfs: Arc<dyn Vfs> = Arc::new(RealVfs::new());
    if sync_us > 0 {
        vfs = Arc::new(SlowedVfs::new(vfs, Duration::from_micros(sync_us)));
    }
    vfs.create_dir_all(&dir).expect("the directory can be made");

    if wanted("floor") {
        println!("floor      1 in flight  {:>9.0} /s", floor(&*vfs, &dir, duration));
    }
    if wanted("insert") {
        let wal = fresh(&vfs, &dir, false);
        println!("insert     1 thread     {:>9.1} ns", insert_only(&wal, 1));
        println!("insert     2 threads    {:>9.1} ns", insert_only(&wal, 2));
    }
    for (name, way) in
        [("threads", threads as fn(&Arc<Wal>, usize, Duration) -> u64), ("listeners", listeners), ("futures", futures)]
    {
        if !wanted(name) {
            continue;
        }
        for in_flight in IN_FLIGHT {
            let wal = fresh(&vfs, &dir, true);
            way(&wal, in_flight, duration / 8);
            let before = wal.statistics();
            let begin = Instant::now();
            let cpu_begin = cpu_seconds();
            let commits = way(&wal, in_flight, duration);
            let elapsed = begin.elapsed().as_secs_f64();
            let cpu = cpu_seconds() - cpu_begin;
            let after = wal.statistics();
            let syncs = after.sync_time_us.since(&before.sync_time_us);
            println!(
                "{name:<10} {in_flight:>3} in flight {:>9.0} /s  {:>7.0} syncs/s  {:>6.1} a sync  {:>6.1} us a sync  {:>5.1} us CPU  led by committers {:>3.0} %  unprepared {}",
                commits as f64 / elapsed,
                syncs.count as f64 / elapsed,
                commits as f64 / syncs.count.max(1) as f64,
                syncs.mean(),
                cpu * 1e6 / commits as f64,
                100.0 * (after.led_by_committer - before.led_by_committer) as f64
                    / (after.led_by_committer + after.led_by_flusher - before.led_by_committer - before.led_by_flusher)
                        .max(1) as f64,
                after.segments_unprepared,
            );
        }
    }
    vfs.remove_dir_all(&dir).expect("the directory can be removed");
}

/// Processor time of this process so far.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or("").split(' ').collect();
    let ticks = |index: usize| fields.get(index).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

fn fresh(vfs: &Arc<dyn Vfs>, dir: &Path, with_flusher: bool) -> Arc<Wal> {
    let dir = dir.join("wal");
    vfs.remove_dir_all(&dir).expect("the old log can be removed");
    let wal = Arc::new(Wal::create(Arc::clone(vfs), &dir, WalOptions::default()).expect("a log can be made"));
    if with_flusher {
        wal.start_flusher_thread();
        std::thread::sleep(Duration::from_millis(300));
    }
    wal
}

fn floor(vfs: &dyn Vfs, dir: &Path, duration: Duration) -> f64 {
    let file = vfs.open(&dir.join("floor"), OpenMode::Create).expect("a file can be made");
    file.allocate_zeroed(16 << 20).expect("there is room");
    file.sync_all().expect("it can be synced");
    let bytes = [7; 24 + PAYLOAD_BYTES + 32];
    let begin = Instant::now();
    let mut count = 0;
    while begin.elapsed() < duration {
        file.write_all_at(&bytes, count * bytes.len() as u64 % (15 << 20)).expect("it can be written");
        file.sync_data().expect("it can be synced");
        count += 1;
    }
    count as f64 / begin.elapsed().as_secs_f64()
}

fn insert_only(wal: &Arc<Wal>, threads: usize) -> f64 {
    let rounds = 200_000;
    let payload = [7; PAYLOAD_BYTES];
    let mut best = f64::MAX;
    for _ in 0..8 {
        let spent: Vec<Duration> = std::thread::scope(|scope| {
            let runs: Vec<_> = (0..threads)
                .map(|_| {
                    scope.spawn(|| {
                        let begin = Instant::now();
                        for _ in 0..rounds / threads / 4 {
                            wal.insert(HEAD, &[&payload]);
                        }
                        begin.elapsed()
                    })
                })
                .collect();
            runs.into_iter().map(|run| run.join().expect("no panic")).collect()
        });
        wal.flush(wal.reserved());
        let worst = spent.iter().max().expect("at least one thread");
        best = f64::min(best, worst.as_nanos() as f64 / (rounds / threads / 4) as f64);
    }
    best
}

fn threads(wal: &Arc<Wal>, in_flight: usize, duration: Duration) -> u64 {
    let stop = AtomicBool::new(false);
    let total = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..in_flight {
            scope.spawn(|| {
                let payload = [7; PAYLOAD_BYTES];
                let mut commits = 0;
                while !stop.load(Ordering::Relaxed) {
                    let inserted = wal.insert(HEAD, &[&payload]);
                    wal.wait_durable(inserted.end, DelayPolicy::NONE);
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

/// Rings when `durable` has advanced.
#[derive(Default)]
struct Bell {
    durable: Mutex<Lsn>,
    rung: Condvar,
}

fn listeners(wal: &Arc<Wal>, in_flight: usize, duration: Duration) -> u64 {
    let stop = AtomicBool::new(false);
    let total = AtomicU64::new(0);
    let workers = in_flight.min(2);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let sessions = (in_flight + worker) / workers;
            let bell = Arc::new(Bell::default());
            let ring = Arc::clone(&bell);
            wal.add_durable_listener(Arc::new(move |durable| {
                *ring.durable.lock().expect("no panic") = durable;
                ring.rung.notify_one();
            }));
            let (stop, total) = (&stop, &total);
            scope.spawn(move || {
                let payload = [7; PAYLOAD_BYTES];
                let mut waiting = std::collections::VecDeque::new();
                let mut commits = 0;
                let mut idle = sessions;
                while !stop.load(Ordering::Relaxed) || !waiting.is_empty() {
                    if !stop.load(Ordering::Relaxed) {
                        for _ in 0..idle {
                            waiting.push_back(wal.insert(HEAD, &[&payload]).end);
                        }
                    }
                    idle = 0;
                    if let Some(&last) = waiting.back()
                        && !(in_flight == 1 && wal.try_lead_inline(last, DelayPolicy::NONE))
                    {
                        wal.request_flush(last, DelayPolicy::NONE);
                        let mut durable = bell.durable.lock().expect("no panic");
                        while *durable < waiting[0] && wal.durable() < waiting[0] {
                            durable = bell.rung.wait(durable).expect("no panic");
                        }
                    }
                    let durable = wal.durable();
                    while waiting.front().is_some_and(|&lsn| lsn <= durable) {
                        waiting.pop_front();
                        idle += 1;
                        commits += 1;
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

/// Tells a thread which of its futures to poll.
struct TaskWaker {
    index: usize,
    ready: Arc<(Mutex<Vec<usize>>, Condvar)>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        let mut ready = self.ready.0.lock().expect("no panic");
        ready.push(self.index);
        if ready.len() == 1 {
            self.ready.1.notify_one();
        }
    }
}

fn futures(wal: &Arc<Wal>, in_flight: usize, duration: Duration) -> u64 {
    let stop = AtomicBool::new(false);
    let total = AtomicU64::new(0);
    let workers = in_flight.min(2);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let sessions = (in_flight + worker) / workers;
            let (stop, total) = (&stop, &total);
            scope.spawn(move || {
                let payload = [7; PAYLOAD_BYTES];
                let ready = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
                let wakers: Vec<std::task::Waker> = (0..sessions)
                    .map(|index| Arc::new(TaskWaker { index, ready: Arc::clone(&ready) }).into())
                    .collect();
                let mut tickets: Vec<Option<CommitTicket>> = (0..sessions).map(|_| None).collect();
                let mut runnable: Vec<usize> = (0..sessions).collect();
                let mut commits = 0;
                while !stop.load(Ordering::Relaxed) {
                    for index in runnable.drain(..) {
                        loop {
                            let ticket = tickets[index].get_or_insert_with(|| {
                                wal.ticket(wal.insert(HEAD, &[&payload]).end, DelayPolicy::NONE)
                            });
                            match Pin::new(ticket).poll(&mut Context::from_waker(&wakers[index])) {
                                Poll::Pending => break,
                                Poll::Ready(()) => {
                                    commits += 1;
                                    tickets[index] = None;
                                }
                            }
                            if stop.load(Ordering::Relaxed) {
                                break;
                            }
                        }
                    }
                    let mut woken = ready.0.lock().expect("no panic");
                    while woken.is_empty() && !stop.load(Ordering::Relaxed) {
                        let timeout = Duration::from_millis(10);
                        woken = ready.1.wait_timeout(woken, timeout).expect("no panic").0;
                    }
                    std::mem::swap(&mut *woken, &mut runnable);
                }
                total.fetch_add(commits, Ordering::Relaxed);
            });
        }
        std::thread::sleep(duration);
        stop.store(true, Ordering::Relaxed);
    });
    total.into_inner()
}
