//! Crashes on the simulated disk: at any call, with any part of what was not synced, while running and while recovering.
//!
//! `COHORT_SEEDS` says how many seeds each test runs (default a few dozen), `COHORT_SEED` runs a single one. A failure names
//! its seed; `COHORT_TRACE` shows how much each crash left.

mod common;
#[path = "common/counters.rs"]
mod counters;
#[path = "common/made.rs"]
mod made;
#[path = "common/workload.rs"]
mod workload;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use base::Oid;
use cohort_engine::Database;
use common::{all, begin, create_table, get, options_on, statement};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use schema::key::PlainKeys;
use schema::row::{Datum, PhysicalType};
use vfs::descriptors::FileShare;
use vfs::{FailStop, Fault, SimulatedOptions, SimulatedVfs, Survival};
use workload::{Model, Runner, verify};

fn for_each_seed(default: u64, test: impl Fn(u64)) {
    let parse = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    if let Some(seed) = parse("COHORT_SEED") {
        return test(seed);
    }
    for seed in 0..parse("COHORT_SEEDS").unwrap_or(default) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| test(seed))) {
            eprintln!("the failure was with COHORT_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

/// Runs `f`; true if it came to its end, false if the simulated process ended under it.
fn lives(disk: &SimulatedVfs, f: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(()) => true,
        Err(panic) if panic.is::<FailStop>() => false,
        // After the end of the simulated process every call fails, and the code that meets this may panic in its own way.
        Err(panic) => {
            if !disk.is_crashed() {
                std::panic::resume_unwind(panic);
            }
            false
        }
    }
}

/// Opens the database, as often as it takes: each time but the last the power may fail again at some call.
fn recover(mut disk: SimulatedVfs, random: &mut StdRng, crashes: u32) -> (Database, SimulatedVfs) {
    for _ in 0..crashes {
        disk.add_fault(Fault::CrashAtCall(disk.io_calls() + random.random_range(1..120)));
        let mut opened = None;
        if !lives(&disk, || opened = Database::open(options_on(&disk, &[])).ok()) || disk.is_crashed() {
            drop(opened);
            disk = disk.crash();
            continue;
        }
        disk.clear_faults();
        if let Some(database) = opened {
            return (database, disk);
        }
    }
    disk.clear_faults();
    let database = Database::open(options_on(&disk, &[])).unwrap_or_else(|error| panic!("recovery failed: {error}"));
    (database, disk)
}

/// The disk of a database that was at work until one of the given calls, or for that many steps; and what must be in it.
fn killed_at_work(seed: u64, random: &mut StdRng, calls: Range<u64>, steps: u32) -> (SimulatedVfs, Model) {
    let disk = SimulatedVfs::new(seed);
    let mut model = Model::default();
    let database = Database::open(options_on(&disk, &[])).unwrap();
    let mut runner = Runner::new(&database);
    runner.create_tables(&mut model).unwrap();
    disk.add_fault(Fault::CrashAtCall(disk.io_calls() + random.random_range(calls)));
    let run_seed = random.random();
    lives(&disk, || {
        runner.run(&mut model, run_seed, steps);
    });
    (disk, model)
}

// invariants: rows 1, 2, 3, 11, 12, 31
#[test]
fn after_a_crash_at_any_call_what_was_acknowledged_is_there_and_nothing_by_halves() {
    for_each_seed(40, |seed| {
        let mut random = StdRng::seed_from_u64(seed);
        let mut disk = SimulatedVfs::new(seed);
        let mut model = Model::default();
        let mut opened = Some(Database::open(options_on(&disk, &[])).unwrap());
        for round in 0..4 {
            let database = opened.take().expect("opened before");
            disk.add_fault(Fault::CrashAtCall(disk.io_calls() + random.random_range(1..400)));
            let steps = random.random_range(50..600);
            let seed = random.random();
            let mut runner = Runner::new(&database);
            lives(&disk, || {
                if runner.create_tables(&mut model).is_ok() {
                    runner.run(&mut model, seed, steps);
                }
            });
            drop(runner);
            drop(database);
            disk = disk.crash();
            let (database, recovered_on) = recover(disk, &mut random, round);
            disk = recovered_on;
            verify(&database, &mut model);
            opened = Some(database);
        }
    });
}

/// More tables than files may be open, with an index each, and a row for each round.
struct ManyTables(Vec<Oid>);

impl ManyTables {
    fn make(database: &Database) -> ManyTables {
        let mut session = database.session().unwrap();
        let make = |number| {
            create_table(&mut session, &format!("many{number}"), &[PhysicalType::I32, PhysicalType::I64]).oid()
        };
        ManyTables((0..50).map(make).collect())
    }

    fn fill(&self, database: &Database, round: i32) {
        let mut session = database.session().unwrap();
        begin(&mut session);
        for oid in &self.0 {
            let table = session.open_table(*oid).unwrap();
            statement(&session, |s| s.insert(&table, &[Datum::I32(round), Datum::I64(1)], &PlainKeys)).unwrap();
        }
        session.commit_and_wait().unwrap();
    }

    fn verify(&self, database: &Database, rounds: i32) {
        let mut session = database.session().unwrap();
        begin(&mut session);
        for oid in &self.0 {
            let table = session.open_table(*oid).unwrap();
            session.begin_statement().unwrap();
            assert_eq!(all(&session, &table, |_| ()).len() as i32, rounds);
            assert!((0..rounds).all(|round| get(&session, &table, round, |_| ()).is_some()));
            session.end_statement();
        }
        session.commit_and_wait().unwrap();
    }
}

#[test]
fn as_few_open_files_as_a_database_needs_are_enough_for_any_number_of_tables_checkpoints_and_recoveries() {
    for_each_seed(8, |seed| {
        let mut random = StdRng::seed_from_u64(seed);
        let mut disk = SimulatedVfs::new(seed);
        disk.set_open_max(FileShare::SMALLEST.most_open(1));
        let mut model = Model::default();
        let mut database = Database::open(options_on(&disk, &[])).unwrap();
        let tables = ManyTables::make(&database);
        for round in 0..3 {
            tables.fill(&database, round);
            disk.add_fault(Fault::CrashAtCall(disk.io_calls() + random.random_range(1..600)));
            let (seed, steps) = (random.random(), random.random_range(50..400));
            let mut runner = Runner::new(&database);
            lives(&disk, || {
                if runner.create_tables(&mut model).is_ok() {
                    runner.run(&mut model, seed, steps);
                }
                database.checkpoint().unwrap();
            });
            drop(runner);
            drop(database);
            // The process ended by the crash that was asked for.
            assert_eq!(disk.opens_refused(), 0);
            let (recovered, recovered_on) = recover(disk.crash(), &mut random, round as u32);
            (database, disk) = (recovered, recovered_on);
            verify(&database, &mut model);
            tables.verify(&database, round + 1);
            assert_eq!(disk.opens_refused(), 0);
        }
        assert!(disk.most_open() > FileShare::SMALLEST.tables, "{} were open at most", disk.most_open());
    });
}

// invariants: rows 6, 7
#[test]
fn failing_calls_and_full_disks_lose_nothing() {
    for_each_seed(40, |seed| {
        let mut random = StdRng::seed_from_u64(seed);
        let mut disk = SimulatedVfs::new(seed);
        let mut model = Model::default();
        {
            let database = Database::open(options_on(&disk, &[])).unwrap();
            let mut runner = Runner::new(&database);
            runner.create_tables(&mut model).unwrap();
            for _ in 0..random.random_range(1..4) {
                let (write, sync) = (disk.writes(), disk.syncs());
                disk.add_fault(match random.random_range(0..9) {
                    0 => Fault::FailWrite(write + random.random_range(1..200)),
                    1 => Fault::FailSync(sync + random.random_range(1..100)),
                    2 => Fault::NoSpaceFromWrite(write + random.random_range(1..200)),
                    3 => Fault::ShortWrite(write + random.random_range(1..100)),
                    4 => Fault::InterruptedWrite(write + random.random_range(1..100)),
                    5 => Fault::FailSetLength(disk.set_lengths() + random.random_range(1..8)),
                    6 => Fault::FailRemoval(disk.removals() + random.random_range(1..20)),
                    7 => Fault::FailDirectorySync(disk.directory_syncs() + random.random_range(1..20)),
                    _ => Fault::FailRead(random.random_range(1..300)),
                });
            }
            let (seed, steps) = (random.random(), random.random_range(50..500));
            lives(&disk, || {
                runner.run(&mut model, seed, steps);
            });
        }
        disk = disk.crash();
        let (database, _disk) = recover(disk, &mut random, 1);
        verify(&database, &mut model);
    });
}

// invariants: row 32
#[test]
fn after_recoveries_that_die_at_every_call_a_start_succeeds() {
    for_each_seed(3, |seed| {
        let mut random = StdRng::seed_from_u64(seed);
        let (disk, model) = killed_at_work(seed, &mut random, 300..1000, 1000);
        let (mut call, mut has_lived) = (0, false);
        while !has_lived {
            call += random.random_range(1..4);
            let mut crashed = disk.crash_with(SimulatedOptions::new(seed));
            // Twice: the second recovery finds what the first has left.
            for (nth, crash_at) in [call, random.random_range(1..call + 10)].into_iter().enumerate() {
                crashed.add_fault(Fault::CrashAtCall(crashed.io_calls() + crash_at));
                let mut opened = None;
                lives(&crashed, || opened = Database::open(options_on(&crashed, &[])).ok());
                has_lived |= nth == 0 && !crashed.is_crashed();
                drop(opened);
                crashed = crashed.crash();
            }
            let (database, _disk) = recover(crashed, &mut random, 0);
            verify(&database, &mut model.clone());
        }
    });
}

// invariants: row 25
#[test]
fn recovery_killed_midway_and_run_again_gives_the_same_bytes() {
    for_each_seed(20, |seed| {
        let mut random = StdRng::seed_from_u64(seed);
        let (disk, mut model) = killed_at_work(seed, &mut random, 50..500, 500);
        let survivors = SimulatedOptions { seed, survival: Survival::AnySubset, faults: Vec::new() };
        let (once, mut again) = (disk.crash_with(survivors.clone()), disk.crash_with(survivors));
        assert!(once.contents() == again.contents(), "the two disks begin alike");
        drop(Database::open(options_on(&once, &[])).unwrap());
        for _ in 0..3 {
            again.add_fault(Fault::CrashAtCall(again.io_calls() + random.random_range(1..60)));
            let mut opened = None;
            let lived = lives(&again, || opened = Database::open(options_on(&again, &[])).ok());
            drop(opened);
            if lived && !again.is_crashed() {
                break;
            }
            again = again.crash();
        }
        again.clear_faults();
        drop(Database::open(options_on(&again, &[])).unwrap());
        let relations = |disk: &SimulatedVfs| -> Vec<(String, Vec<u8>)> {
            disk.contents().into_iter().filter(|(path, _)| path.contains("/base/") || path.contains("/clog/")).collect()
        };
        for ((path, bytes), (other_path, other)) in relations(&once).into_iter().zip(relations(&again)) {
            assert_eq!(path, other_path);
            let differs = bytes.iter().zip(&other).position(|(a, b)| a != b);
            assert!(bytes == other, "{path} differs at {differs:?}, lengths {} and {}", bytes.len(), other.len());
        }
        let (database, _disk) = recover(again, &mut random, 0);
        verify(&database, &mut model);
    });
}
