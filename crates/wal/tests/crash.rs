//! The log on the simulated disk: crashes, torn and stale bytes, damage, failing calls.
#![cfg(not(shuttle))]

mod support;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::{Lsn, sqlstate};
use cohort_wal::{DelayPolicy, Epoch, Wal, WalControl, WalOptions, WalReader};
use rand::Rng;
use support::{DIR, HEAD, Model, SEGMENT_BYTES, for_each_seed, meet_page_lsn, small_options, until_crash};
use vfs::{Fault, SimulatedOptions, SimulatedVfs, Survival, Vfs};

fn crash_at_call(seed: u64, call: u64) -> SimulatedOptions {
    SimulatedOptions { seed, survival: Survival::Seeded, faults: vec![Fault::CrashAtCall(call)] }
}

/// Ends a life: by power failure at some call, or by the process's end between two steps.
fn live(model: &mut Model, disk: &SimulatedVfs, wal: &Wal) -> base::Result<()> {
    if model.random.random_bool(0.6) {
        return model.run(wal);
    }
    for _ in 0..model.random.random_range(0..40) {
        model.step(wal)?;
    }
    assert!(!disk.is_crashed());
    Ok(())
}

// invariants: rows 1, 2, 3, 4 (no older epoch comes back), 5, 12, 25, as far as the log is concerned
#[test]
fn after_crashes_anywhere_the_log_is_a_prefix_with_all_that_was_acknowledged() {
    for_each_seed(400, |seed| {
        let mut model = Model::new(seed);
        let call = model.random.random_range(1..120);
        let mut disk = SimulatedVfs::with_options(crash_at_call(seed, call));
        let mut created = false;
        for life in 0..8 {
            until_crash(&disk, || {
                let wal = if created {
                    model.recover(&disk)?
                } else {
                    // A crash while the log is made leaves nothing that was acknowledged: the directory is made anew.
                    disk.remove_dir_all(Path::new(DIR)).map_err(|error| base::Error::io("remove", &error))?;
                    let wal = model.create(&disk)?;
                    created = true;
                    wal
                };
                live(&mut model, &disk, &wal)
            });
            let call = model.random.random_range(1..150);
            disk = if !disk.is_crashed() && model.random.random_bool(0.7) {
                let disk = disk.kill();
                disk.add_fault(Fault::CrashAtCall(call));
                disk
            } else {
                disk.crash_with(crash_at_call(seed * 31 + life, call))
            };
        }
        let disk = disk.crash();
        if created {
            model.recover(&disk).expect("the last recovery succeeds");
        }
    });
}

/// A log of `count` records, each acknowledged by a sync of its own; the disk after a crash, and the model.
fn synced_records(seed: u64, count: usize, options: &SimulatedOptions) -> (SimulatedVfs, Model) {
    let mut model = Model::new(seed);
    model.options = small_options();
    let disk = SimulatedVfs::new(seed);
    let wal = model.create(&disk).expect("nothing fails");
    for _ in 0..count {
        let payload_bytes = model.random.random_range(8..200);
        let end = model.insert(&wal, payload_bytes);
        model.acknowledge(&wal, end);
    }
    drop(wal);
    (disk.crash_with(options.clone()), model)
}

fn segment_path(position: Lsn) -> String {
    format!("{DIR}/{:016X}", position.0 / SEGMENT_BYTES)
}

fn flip(disk: &SimulatedVfs, position: Lsn, bit: u8) {
    disk.flip_bit(Path::new(&segment_path(position)), position.0 % SEGMENT_BYTES, bit).expect("the segment is there");
}

fn working(seed: u64) -> SimulatedOptions {
    SimulatedOptions { seed, survival: Survival::Nothing, faults: Vec::new() }
}

// invariants: row 4
#[test]
fn a_flipped_bit_before_the_last_batch_fails_recovery_and_changes_nothing() {
    for_each_seed(60, |seed| {
        let (disk, mut model) = synced_records(seed, 30, &working(seed));
        let victim = model.random.random_range(0..model.records.len() - 1);
        let record = model.records[victim].clone();
        let length = 24 + record.payload.len() as u64;
        let position = Lsn(record.start.0 + model.random.random_range(0..length));
        flip(&disk, position, model.random.random_range(0..8));
        let before = disk.contents();
        let error = Wal::recover(Arc::new(disk.clone()), Path::new(DIR), model.control, model.options, |_| Ok(()))
            .err()
            .expect("damage is found");
        assert_eq!(error.sqlstate(), sqlstate::DATA_CORRUPTED, "{error}");
        assert_eq!(error.message(), format!("write-ahead log is damaged at {}", record.start));
        assert_eq!(disk.contents(), before);
    });
}

// invariants: rows 3, 4: damage in the very last batch can't be told from a torn tail
#[test]
fn a_flipped_bit_in_the_last_record_is_taken_for_a_torn_tail() {
    for_each_seed(30, |seed| {
        let (disk, mut model) = synced_records(seed, 10, &working(seed));
        let last = model.records.last().expect("ten records").clone();
        flip(&disk, Lsn(last.start.0 + model.random.random_range(0..32)), 3);
        model.acknowledged = last.start;
        let wal = model.recover(&disk).expect("recovery stops there");
        assert_eq!(model.records.len(), 9);
        assert_eq!(wal.epoch(), Epoch(2));
    });
}

// invariants: row 4: page LSN and control
#[test]
fn a_page_or_the_control_file_can_prove_the_last_batch_damaged() {
    for proof in ["page", "control"] {
        let (disk, model) = synced_records(7, 10, &working(7));
        let last = model.records.last().expect("ten records");
        flip(&disk, last.start, 0);
        let before = disk.contents();
        let control = WalControl {
            durable_floor: if proof == "control" { last.end } else { model.control.redo },
            ..model.control.clone()
        };
        let met = control.clone();
        let error = Wal::recover(Arc::new(disk.clone()), Path::new(DIR), control, model.options, |_| {
            if proof == "page" {
                meet_page_lsn(&met, last.end);
            }
            Ok(())
        })
        .err()
        .expect("damage is found");
        assert_eq!(error.message(), format!("write-ahead log is damaged at {}", last.start), "{proof}");
        assert_eq!(disk.contents(), before, "{proof}");
    }
}

// invariants: rows 3, 4: unsynced records survive behind a hole, and must not come back once the hole is filled again
#[test]
fn no_record_from_behind_a_torn_tail_comes_back_to_life() {
    for_each_seed(100, |seed| {
        let mut model = Model::new(seed);
        model.options = small_options();
        let disk = SimulatedVfs::new(seed);
        let wal = model.create(&disk).expect("nothing fails");
        // Records as long as a batch mark: one of the next life ends exactly where one of this life begins.
        for _ in 0..3 {
            let end = model.insert(&wal, 8);
            model.acknowledge(&wal, end);
        }
        for _ in 0..90 {
            model.insert(&wal, 8);
        }
        wal.ensure_room(4000);
        drop(wal);
        let disk = disk.crash_with(SimulatedOptions { seed, survival: Survival::AnySubset, faults: Vec::new() });
        let wal = model.recover(&disk).expect("a torn tail is no damage");
        let filled = model.random.random_range(0..20);
        for _ in 0..filled {
            model.insert(&wal, 8);
        }
        let end = model.insert(&wal, 8);
        model.acknowledge(&wal, end);
        drop(wal);
        let disk = disk.crash();
        let wal = model.recover(&disk).expect("a torn tail is no damage");
        assert_eq!(wal.epoch(), Epoch(3));
    });
}

// invariants: row 3
#[test]
fn stale_bytes_of_a_recycled_segment_are_no_records() {
    for_each_seed(30, |seed| {
        let mut model = Model::new(seed);
        model.options = small_options();
        let disk = SimulatedVfs::new(seed);
        let wal = model.create(&disk).expect("nothing fails");
        for _ in 0..20 {
            for _ in 0..30 {
                let payload_bytes = model.random.random_range(8..200);
                let end = model.insert(&wal, payload_bytes);
                model.acknowledge(&wal, end);
            }
            model.control.redo = wal.durable();
            model.control.durable_floor = wal.durable();
            wal.recycle_before(wal.durable()).expect("nothing fails");
        }
        assert!(wal.statistics().segments_recycled > 0);
        drop(wal);
        let disk = disk.crash();
        model.recover(&disk).expect("recovery stops at the tail");
    });
}

// invariants: row 5
#[test]
fn a_torn_rewrite_of_the_tail_block_loses_nothing_acknowledged() {
    for_each_seed(100, |seed| {
        let mut model = Model::new(seed);
        model.options = small_options();
        let disk = SimulatedVfs::new(seed);
        let wal = model.create(&disk).expect("nothing fails");
        for _ in 0..model.random.random_range(1..8) {
            let end = model.insert(&wal, 16);
            model.acknowledge(&wal, end);
        }
        // The next flush writes into the same sector, and the power fails during its sync.
        disk.add_fault(Fault::CrashAtCall(disk.io_calls() + model.random.random_range(1..3)));
        until_crash(&disk, || {
            let end = model.insert(&wal, 16);
            model.acknowledge(&wal, end);
            Ok(())
        });
        let disk = disk.crash();
        model.recover(&disk).expect("recovery stops at the tail");
    });
}

fn wait(wal: &Wal, upto: Lsn) -> base::Result<()> {
    wal.wait_durable(upto, DelayPolicy::NONE);
    Ok(())
}

// invariants: row 6
#[test]
fn a_failed_sync_acknowledges_nothing_and_is_not_tried_again() {
    for_each_seed(30, |seed| {
        let mut model = Model::new(seed);
        model.options = small_options();
        let disk = SimulatedVfs::new(seed);
        let wal = model.create(&disk).expect("nothing fails");
        let end = model.insert(&wal, 40);
        model.acknowledge(&wal, end);
        let syncs = wal.statistics().syncs;
        for nth in 1..100 {
            disk.add_fault(Fault::FailSync(nth));
        }
        // Longer than a sector: what is not written again would stay lost.
        let lost = model.insert(&wal, 2500);
        assert_eq!(until_crash(&disk, || wait(&wal, lost)), None);
        assert!(wal.durable() < lost);
        assert!(disk.is_crashed(), "the process has ended");
        let calls = disk.io_calls();
        assert_eq!(until_crash(&disk, || wait(&wal, lost)), None);
        assert_eq!((disk.io_calls(), wal.statistics().syncs), (calls, syncs), "nobody syncs again");
        // The cache counted pages as clean that never reached the disk. The log that recovery builds on must survive a power cut.
        let disk = disk.kill();
        drop(model.recover(&disk).expect("the process may start again"));
        let kept = model.records.len();
        let disk = disk.crash();
        model.recover(&disk).expect("no damage");
        assert_eq!(model.records.len(), kept);
    });
}

// invariants: row 7
#[test]
fn interrupted_and_short_writes_change_nothing() {
    for_each_seed(40, |seed| {
        let mut model = Model::new(seed);
        let disk = SimulatedVfs::new(seed);
        for _ in 0..10 {
            disk.add_fault(Fault::ShortWrite(model.random.random_range(1..60)));
            disk.add_fault(Fault::InterruptedWrite(model.random.random_range(1..60)));
            disk.add_fault(Fault::InterruptedRead(model.random.random_range(1..10)));
        }
        let wal = model.create(&disk).expect("nothing fails for good");
        for _ in 0..60 {
            model.step(&wal).expect("nothing fails for good");
        }
        drop(wal);
        let disk = disk.crash();
        model.recover(&disk).expect("nothing fails for good");
    });
}

// invariants: row 7
#[test]
fn a_full_disk_ends_the_process_and_loses_nothing_acknowledged() {
    for_each_seed(60, |seed| {
        let mut model = Model::new(seed);
        let disk = SimulatedVfs::new(seed);
        let wal = model.create(&disk).expect("there is room");
        disk.add_fault(Fault::NoSpaceFromWrite(model.random.random_range(1..60)));
        assert_eq!(until_crash(&disk, || model.run(&wal)), None);
        drop(wal);
        let disk = if model.random.random_bool(0.5) { disk.kill() } else { disk.crash() };
        model.recover(&disk).expect("there is room again");
    });
}

// invariants: row 7
#[test]
fn a_disk_too_full_for_a_segment_ahead_stops_nobody_who_needs_none() {
    let disk = SimulatedVfs::new(1);
    let options = WalOptions { segment_size_bytes: 1 << 16, segments_ahead: 1, ..small_options() };
    let wal = Wal::create(Arc::new(disk.clone()), Path::new(DIR), options).expect("there is room");
    let writes = disk.writes();
    disk.add_fault(Fault::NoSpaceFromWrite(writes + 1));
    wal.start_flusher_thread();
    let unfinished = Path::new(DIR).join("unfinished");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !disk.is_crashed() && (disk.writes() == writes || disk.exists(&unfinished)) {
        assert!(Instant::now() < deadline, "nobody tries to prepare a segment, or nobody gives its room back");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(!disk.is_crashed(), "the process ended for a segment that nobody needs yet");
    let end = wal.insert(HEAD, &[b"record"]).end;
    wal.wait_durable(end, DelayPolicy::NONE);
    wal.stop();
}

// invariants: row 32
#[test]
fn a_segment_ahead_whose_name_is_not_durable_ends_the_process() {
    let disk = SimulatedVfs::new(1);
    let options = WalOptions { segment_size_bytes: 1 << 16, segments_ahead: 1, ..small_options() };
    let wal = Wal::create(Arc::new(disk.clone()), Path::new(DIR), options).expect("there is room");
    disk.add_fault(Fault::NoSpaceForDirectorySync(disk.directory_syncs() + 1));
    wal.start_flusher_thread();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !disk.is_crashed() {
        assert!(Instant::now() < deadline, "commits could go to a segment that a crash takes away");
        std::thread::sleep(Duration::from_millis(1));
    }
    wal.stop();
}

// invariants: row 7
#[test]
fn a_log_that_cannot_be_read_is_an_error_with_its_sqlstate() {
    let (disk, model) = synced_records(3, 5, &working(3));
    disk.add_fault(Fault::FailRead(2));
    let error = Wal::recover(Arc::new(disk), Path::new(DIR), model.control, model.options, |_| Ok(()))
        .err()
        .expect("a read fails");
    assert_eq!(error.sqlstate(), sqlstate::IO_ERROR, "{error}");
}

// invariants: row 25
#[test]
fn recovery_killed_midway_and_run_again_gives_the_same_log() {
    for_each_seed(60, |seed| {
        let disk_after_crash = || {
            let mut model = Model::new(seed);
            model.options = small_options();
            let disk = SimulatedVfs::new(seed);
            let wal = model.create(&disk).expect("nothing fails");
            for _ in 0..60 {
                model.step(&wal).expect("nothing fails");
            }
            drop(wal);
            (disk.crash_with(working(seed)), model)
        };
        let (undisturbed, mut model) = disk_after_crash();
        let tail = model.recover(&undisturbed).expect("no damage").reserved();
        let expected = model.records.clone();
        for call in 1..30 {
            let (disk, mut model) = disk_after_crash();
            disk.add_fault(Fault::CrashAtCall(disk.io_calls() + call));
            until_crash(&disk, || model.recover(&disk));
            let disk = disk.crash();
            let wal = model.recover(&disk).expect("no damage");
            assert_eq!(model.records, expected);
            assert!(wal.reserved() >= tail);
        }
    });
}

#[test]
fn a_log_is_not_created_over_another() {
    let mut model = Model::new(1);
    let disk = SimulatedVfs::new(1);
    drop(model.create(&disk).expect("nothing fails"));
    let error = model.create(&disk).err().expect("refused");
    assert_eq!(error.sqlstate(), sqlstate::DUPLICATE_FILE);
}

#[test]
fn a_flush_beyond_the_end_of_the_log_ends_the_process() {
    let mut model = Model::new(1);
    let disk = SimulatedVfs::new(1);
    let wal = model.create(&disk).expect("nothing fails");
    let beyond = Lsn(wal.reserved().0 + 8);
    assert_eq!(until_crash(&disk, || wait(&wal, beyond)), None);
}

// invariants: row 26
#[test]
fn random_bytes_in_a_segment_are_read_without_panic_or_hang() {
    for_each_seed(60, |seed| {
        let (disk, mut model) = synced_records(seed, 3, &working(seed));
        let file =
            disk.open(Path::new(&segment_path(Lsn(SEGMENT_BYTES))), vfs::OpenMode::ReadWrite).expect("it is there");
        let mut bytes = vec![0; 2000];
        model.random.fill(&mut bytes[..]);
        // Lengths that look possible are the interesting ones.
        for at in (0..bytes.len()).step_by(8) {
            if model.random.random_bool(0.5) {
                bytes[at + 2..at + 4].fill(0);
            }
        }
        file.write_all_at(&bytes, 900).expect("it can be written");
        let disk: Arc<dyn Vfs> = Arc::new(disk);
        let begin = Lsn(SEGMENT_BYTES + model.random.random_range(0..300) * 8);
        let mut reader = WalReader::open(Arc::clone(&disk), Path::new(DIR), SEGMENT_BYTES, begin, None, Lsn::MAX)
            .expect("a position of a record");
        while reader.next().expect("nothing fails").is_some() {}
        let _ = Wal::recover(disk, Path::new(DIR), model.control, model.options, |_| Ok(()));
    });
}

#[test]
fn the_reader_gives_what_was_inserted_also_before_it_is_written() {
    let mut model = Model::new(2);
    let disk = SimulatedVfs::new(2);
    let wal = model.create(&disk).expect("nothing fails");
    for _ in 0..20 {
        model.insert(&wal, 500);
    }
    let mut reader = wal.reader(model.records[3].start).expect("a record begins there");
    for expected in &model.records[3..] {
        let record = reader.next().expect("nothing fails").expect("a record");
        assert_eq!((record.start, record.end, record.head), (expected.start, expected.end, HEAD));
        assert_eq!(record.payload, expected.payload);
    }
    assert!(reader.next().expect("nothing fails").is_none());
    assert_eq!(reader.end(), Some(cohort_wal::LogEnd::Limit));
}
