//! The page cache on the simulated disk: the power fails, or a call does, at any moment.
//!
//! The log of these tests lies outside the disk: a list of changes, of which a prefix is durable. After the crash every page
//! must be whole, must be one that its page's history had, must not be ahead of the log (R1), and redo from the last
//! finished checkpoint must lead to what the durable log says.
#![cfg(not(shuttle))]

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use base::{FileNumber, Lsn, sqlstate};
use cohort_buffer::{DurableLog, HEADER_BYTES, PAGE_BYTES, PageId, doublewrite};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use support::watch::WatchingVfs;
use support::{FILE, Stand, TestLog, data_dir, get, page, put, rounds};
use sync::{Arc, Mutex};
use vfs::{FailStop, Fault, SimulatedOptions, SimulatedVfs, Survival};

const SHORT_LIVED: FileNumber = FileNumber(20000);
const COUNTERS: usize = (PAGE_BYTES - HEADER_BYTES - 8) / 8;
/// Where hints are put: their loss is no harm.
const HINT_AT: usize = PAGE_BYTES - 8;

#[derive(Clone, Copy, Debug)]
enum Record {
    /// Adds to a counter of a page.
    Add {
        page: PageId,
        offset: usize,
        number: u64,
    },
    /// Cuts [`FILE`].
    Cut {
        blocks: u32,
    },
    /// Makes or removes the short-lived file.
    Make,
    Remove,
}

#[derive(Default)]
struct History {
    records: Vec<(Lsn, Record)>,
    /// The redo point of the last checkpoint that finished.
    redo: Lsn,
}

impl History {
    /// The counters of a block of [`FILE`] after all records up to `upto`.
    fn counters(&self, block: u32, upto: Lsn) -> Vec<u64> {
        let mut counters = vec![0; COUNTERS];
        for &(_, record) in self.records.iter().take_while(|(lsn, _)| *lsn <= upto) {
            match record {
                Record::Add { page, offset, number } if page == support::page(block) => {
                    counters[(offset - HEADER_BYTES) / 8] += number;
                }
                Record::Cut { blocks } if block >= blocks => counters.fill(0),
                _ => {}
            }
        }
        counters
    }
}

/// Works until the end or the first error. Errors of single operations that the disk may give without the power being off
/// are counted.
fn work(stand: &Stand, history: &Mutex<History>, random: &mut StdRng, steps: usize) -> base::Result<usize> {
    let mut errors = 0;
    let log = |record| {
        let lsn = stand.log.insert();
        history.lock().records.push((lsn, record));
        lsn
    };
    if !stand.pool.file_exists(FILE) {
        stand.pool.create_file(FILE)?;
    }
    for _ in 0..steps {
        let blocks = stand.pool.block_count(FILE)?;
        match random.random_range(0..100) {
            0..8 => match stand.pool.pin_new(FILE) {
                Ok(mut view) => {
                    let (page, offset) = (view.page_id(), HEADER_BYTES);
                    put(&mut view, offset, 1);
                    view.set_lsn(log(Record::Add { page, offset, number: 1 }));
                }
                Err(error) if error.sqlstate() == sqlstate::DISK_FULL => errors += 1,
                Err(error) => return Err(error),
            },
            8..80 if blocks > 0 => {
                let page = page(random.random_range(0..blocks));
                let pinned = match stand.pool.pin(page) {
                    Ok(pinned) => pinned,
                    Err(error) if error.sqlstate() == sqlstate::IO_ERROR => {
                        errors += 1;
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                let mut view = pinned.write();
                let offset = HEADER_BYTES + 8 * random.random_range(0..COUNTERS);
                let number = random.random_range(1..1000);
                let value = get(&view, offset) + number;
                put(&mut view, offset, value);
                view.set_lsn(log(Record::Add { page, offset, number }));
            }
            80..85 if blocks > 0 => {
                if let Ok(pinned) = stand.pool.pin(page(random.random_range(0..blocks))) {
                    let mut view = pinned.write();
                    put(&mut view, HINT_AT, random.random());
                    view.mark_dirty_hint();
                }
            }
            85..90 => stand.log.flush(Lsn(random.random_range(0..=stand.log.inserted().0) / 8 * 8)),
            90..93 => drop(stand.pool.clean_ahead(10)),
            93..96 => {
                let redo = stand.log.inserted();
                stand.log.flush(redo);
                stand.pool.flush_dirty(redo, &mut |_| ());
                history.lock().redo = redo;
            }
            96 if blocks > 10 => {
                let blocks = random.random_range(5..blocks);
                stand.pool.truncate_file(FILE, blocks, || log(Record::Cut { blocks }))?;
            }
            97 => {
                if stand.pool.file_exists(SHORT_LIVED) {
                    stand.log.flush(log(Record::Remove));
                    stand.pool.drop_files(&[SHORT_LIVED]).into_iter().try_for_each(|(_, error)| Err(error))?;
                } else {
                    log(Record::Make);
                    stand.pool.create_file(SHORT_LIVED)?;
                    stand.pool.pin_new(SHORT_LIVED).map(|mut page| page.mark_dirty_hint()).ok();
                }
            }
            _ => {}
        }
    }
    Ok(errors)
}

/// Checks every page that is on the disk, redoes, and checks again.
fn recover_and_check(disk: &SimulatedVfs, history: &History, durable: Lsn) -> base::Result<Stand> {
    doublewrite::recover(disk, &data_dir())?;
    let stand = Stand::open(Arc::new(disk.clone()), &data_dir(), 24, TestLog::from(durable))?;
    if stand.pool.file_exists(FILE) {
        for block in 0..stand.pool.block_count(FILE)? {
            let pinned = stand.pool.pin(page(block))?;
            let view = pinned.read();
            assert!(view.lsn() <= durable, "block {block} is of {}, the log of {durable}", view.lsn());
            let expected = history.counters(block, view.lsn());
            for (index, &expected) in expected.iter().enumerate() {
                assert_eq!(get(&view, HEADER_BYTES + 8 * index), expected, "block {block} at {}", view.lsn());
            }
        }
    }
    for &(lsn, record) in history.records.iter().filter(|(lsn, _)| *lsn > history.redo && *lsn <= durable) {
        match record {
            Record::Add { page, offset, number } => {
                let pinned = stand.pool.pin_for_redo(page)?;
                let mut view = pinned.write();
                if view.lsn() < lsn {
                    let value = get(&view, offset) + number;
                    put(&mut view, offset, value);
                    view.set_lsn(lsn);
                }
            }
            Record::Cut { blocks } => {
                stand.pool.create_file_for_redo(FILE)?;
                stand.pool.truncate_file_for_redo(FILE, blocks)?;
            }
            Record::Make => stand.pool.create_file_for_redo(SHORT_LIVED)?,
            Record::Remove => {
                stand.pool.drop_files(&[SHORT_LIVED]).into_iter().try_for_each(|(_, error)| Err(error))?
            }
        }
    }
    stand.pool.finish_redo();
    check(&stand, history, durable)?;
    Ok(stand)
}

/// Checks that the pages are what the durable log says.
fn check(stand: &Stand, history: &History, durable: Lsn) -> base::Result<()> {
    let blocks = if stand.pool.file_exists(FILE) { stand.pool.block_count(FILE)? } else { 0 };
    let touched = history.records.iter().filter_map(|(lsn, record)| match record {
        Record::Add { page, .. } if *lsn <= durable => Some(page.block + 1),
        _ => None,
    });
    for block in 0..touched.max().unwrap_or(0).max(blocks) {
        let expected = history.counters(block, durable);
        if block >= blocks {
            assert!(expected.iter().all(|&counter| counter == 0), "block {block} is gone");
            continue;
        }
        let pinned = stand.pool.pin(page(block))?;
        let view = pinned.read();
        for (index, &expected) in expected.iter().enumerate() {
            assert_eq!(get(&view, HEADER_BYTES + 8 * index), expected, "block {block} at {}", view.lsn());
        }
    }
    Ok(())
}

/// Runs `work` on a disk with these faults. Returns how it ended: the error count, or nothing if the process ended itself.
fn run(disk: &SimulatedVfs, stand_seed: u64, history: &Mutex<History>, log: TestLog) -> (Lsn, Option<usize>) {
    let mut random = StdRng::seed_from_u64(stand_seed);
    let vfs = WatchingVfs::new(disk.clone());
    let watched = Arc::clone(&vfs.log);
    let frames = random.random_range(16..40);
    let durable = Mutex::new(log.durable());
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let stand = Stand::open(Arc::new(vfs), &data_dir(), frames, log)?;
        watched.set(stand.log.clone()).ok().unwrap();
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&stand, history, &mut random, 400)));
        *durable.lock() = stand.log.durable();
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }));
    let durable = *durable.lock();
    match ended {
        Ok(Ok(errors)) => (durable, Some(errors)),
        Ok(Err(error)) => {
            assert!(disk.is_crashed(), "an operation failed while the disk works: {error}");
            (durable, None)
        }
        Err(panic) => match panic.downcast::<FailStop>() {
            Ok(_) => (durable, None),
            Err(panic) => resume_unwind(panic),
        },
    }
}

/// Keeps the expected ends of simulated processes out of the tests' output.
fn quiet() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let default = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !panic.payload().is::<FailStop>() {
                default(panic);
            }
        }));
    });
}

// invariants: rows 2, 12, 25
#[test]
fn after_a_power_failure_at_any_call_pages_are_whole_and_redo_finds_all() {
    quiet();
    for seed in 0..rounds(150) {
        let mut random = StdRng::seed_from_u64(seed);
        let crash_at = random.random_range(1..900);
        let faults = vec![Fault::CrashAtCall(crash_at)];
        let disk = SimulatedVfs::with_options(SimulatedOptions { seed, survival: Survival::Seeded, faults });
        let history = Mutex::new(History::default());
        let result = catch_unwind(AssertUnwindSafe(|| {
            let (mut durable, _) = run(&disk, seed, &history, TestLog::default());
            let mut disk = disk.crash();
            // The power fails again while recovery is at work.
            for again in 0..random.random_range(0..3) {
                disk.add_fault(Fault::CrashAtCall(random.random_range(1..60)));
                let _ = catch_unwind(AssertUnwindSafe(|| recover_and_check(&disk, &history.lock(), durable)))
                    .map_err(|panic| if panic.is::<FailStop>() { panic } else { resume_unwind(panic) });
                disk = disk.crash_with(SimulatedOptions {
                    seed: seed + again,
                    survival: Survival::Seeded,
                    faults: vec![],
                });
            }
            let recovered = recover_and_check(&disk, &history.lock(), durable).unwrap();
            recovered.pool.flush_all();
            drop(recovered);
            // And life goes on: what the log lost never was.
            history.lock().records.retain(|(lsn, _)| *lsn <= durable);
            history.lock().redo = durable;
            disk.add_fault(Fault::CrashAtCall(disk.io_calls() + random.random_range(1..500)));
            doublewrite::recover(&disk, &data_dir()).ok();
            (durable, _) = run(&disk, seed + 1, &history, TestLog::from(durable));
            let disk = disk.crash();
            recover_and_check(&disk, &history.lock(), durable).unwrap();
        }));
        if let Err(panic) = result {
            eprintln!("seed {seed}, crash at call {crash_at}");
            resume_unwind(panic);
        }
    }
}

// invariants: row 6
#[test]
fn a_sync_that_fails_once_ends_the_process_and_loses_nothing() {
    quiet();
    let mut ended = 0;
    for seed in 0..rounds(100) {
        let fail_at = StdRng::seed_from_u64(seed).random_range(5..200);
        let faults = vec![Fault::FailSync(fail_at)];
        let disk = SimulatedVfs::with_options(SimulatedOptions { seed, survival: Survival::Seeded, faults });
        let history = Mutex::new(History::default());
        let (durable, outcome) = run(&disk, seed, &history, TestLog::default());
        ended += u32::from(outcome.is_none());
        recover_and_check(&disk.crash(), &history.lock(), durable).unwrap();
    }
    assert!(ended > 0);
}

// invariants: row 7
#[test]
fn a_full_disk_is_an_error_of_those_who_need_room_and_nobody_elses() {
    quiet();
    let (mut refused, mut finished) = (0, 0);
    for seed in 0..rounds(60) {
        let full_from = StdRng::seed_from_u64(seed).random_range(10..300);
        let faults = vec![Fault::NoSpaceFromWrite(full_from)];
        let disk = SimulatedVfs::with_options(SimulatedOptions { seed, survival: Survival::Seeded, faults });
        let history = Mutex::new(History::default());
        let (durable, outcome) = run(&disk, seed, &history, TestLog::default());
        finished += u32::from(outcome.is_some());
        refused += outcome.unwrap_or(0);
        recover_and_check(&disk.crash(), &history.lock(), durable).unwrap();
    }
    assert!(refused > 0 && finished > 0, "{refused} refused, {finished} runs finished");
}

// invariants: row 7
#[test]
fn short_and_interrupted_calls_go_unnoticed_and_failed_reads_are_errors() {
    quiet();
    let mut failed_reads = 0;
    for seed in 0..rounds(60) {
        let mut random = StdRng::seed_from_u64(seed);
        let mut faults = Vec::new();
        for _ in 0..10 {
            faults.push(Fault::ShortWrite(random.random_range(10..400)));
            faults.push(Fault::InterruptedWrite(random.random_range(10..400)));
            faults.push(Fault::InterruptedRead(random.random_range(1..400)));
            faults.push(Fault::FailRead(random.random_range(1..400)));
        }
        let disk = SimulatedVfs::with_options(SimulatedOptions { seed, survival: Survival::Seeded, faults });
        let history = Mutex::new(History::default());
        let (durable, outcome) = run(&disk, seed, &history, TestLog::default());
        failed_reads += outcome.expect("nothing of this ends the process");
        recover_and_check(&disk.crash(), &history.lock(), durable).unwrap();
    }
    assert!(failed_reads > 0);
}

// invariants: row 6
#[test]
fn a_write_that_fails_ends_the_process_and_loses_nothing() {
    quiet();
    for seed in 0..rounds(60) {
        let fail_at = StdRng::seed_from_u64(seed).random_range(20..300);
        let faults = vec![Fault::FailWrite(fail_at)];
        let disk = SimulatedVfs::with_options(SimulatedOptions { seed, survival: Survival::Seeded, faults });
        let history = Mutex::new(History::default());
        let mut random = StdRng::seed_from_u64(seed);
        let log = TestLog::default();
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let stand = Stand::open(Arc::new(disk.clone()), &data_dir(), 24, log).unwrap();
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&stand, &history, &mut random, 400)));
            // An extension that fails is an error of whoever asked for it; any other failed write ends the process.
            match outcome {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => assert_eq!(error.sqlstate(), sqlstate::IO_ERROR),
                Err(panic) => assert!(panic.is::<FailStop>()),
            }
            stand.log.durable()
        }));
        let durable = ended.unwrap();
        recover_and_check(&disk.crash(), &history.lock(), durable).unwrap();
    }
}

#[test]
fn without_the_double_write_area_a_torn_page_is_found_out() {
    quiet();
    let mut torn = 0;
    for seed in 0..rounds(40) {
        let disk = SimulatedVfs::with_options(SimulatedOptions { seed, survival: Survival::AnySubset, faults: vec![] });
        let vfs: Arc<dyn vfs::Vfs> = Arc::new(disk.clone());
        vfs.create_dir_all(&data_dir()).unwrap();
        vfs.sync_dir(data_dir().parent().unwrap()).unwrap();
        let log = Arc::new(TestLog::default());
        let options = cohort_buffer::DoubleWriteOptions { enabled: false, ..Default::default() };
        let doublewrite = cohort_buffer::DoubleWrite::open(vfs.clone(), &data_dir(), options).unwrap();
        let pool_options = cohort_buffer::BufferPoolOptions { frames: 32, ..Default::default() };
        let pool =
            cohort_buffer::BufferPool::new(vfs, &data_dir().join("base"), log.clone(), doublewrite, pool_options)
                .unwrap();
        let stand_like = |fill: u8| {
            for block in 0..20 {
                let pinned = pool.pin(page(block)).unwrap();
                let mut view = pinned.write();
                view[HEADER_BYTES..].fill(fill);
                view.set_lsn(log.insert());
            }
        };
        pool.create_file(FILE).unwrap();
        (0..20).for_each(|_| drop(pool.pin_new(FILE).unwrap()));
        stand_like(1);
        pool.flush_all();
        stand_like(2);
        disk.add_fault(Fault::CrashAtCall(disk.io_calls() + 2));
        let _ = catch_unwind(AssertUnwindSafe(|| pool.flush_all()));
        let after = disk.crash();
        let stand = Stand::open(Arc::new(after), &data_dir(), 32, TestLog::from(log.durable())).unwrap();
        for block in 0..20 {
            match stand.pool.pin(page(block)) {
                Ok(pinned) => {
                    let view = pinned.read();
                    let first = view[HEADER_BYTES];
                    assert!(view[HEADER_BYTES..].iter().all(|&byte| byte == first), "a torn page was let through");
                }
                Err(error) => {
                    assert_eq!(error.sqlstate(), sqlstate::DATA_CORRUPTED);
                    torn += 1;
                }
            }
        }
    }
    assert!(torn > 0, "the simulated disk tore nothing");
}
