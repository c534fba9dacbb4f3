//! The simulated disk: what crashes leave, and failures on order.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use cohort_vfs::{FailStop, Fault, File, OpenMode, SimulatedOptions, SimulatedVfs, Survival, Vfs};

fn path(name: &str) -> &Path {
    Path::new(name)
}

fn options(seed: u64, survival: Survival) -> SimulatedOptions {
    SimulatedOptions { survival, ..SimulatedOptions::new(seed) }
}

/// A file whose name is durable.
fn file(disk: &SimulatedVfs, name: &str) -> Arc<dyn File> {
    let file = disk.open(path(name), OpenMode::CreateNew).unwrap();
    disk.sync_dir(path("/")).unwrap();
    file
}

fn bytes(disk: &SimulatedVfs, name: &str) -> Vec<u8> {
    let file = disk.open(path(name), OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

#[test]
fn after_a_crash_nothing_is_answered() {
    let disk = SimulatedVfs::new(1);
    let file = file(&disk, "/file");
    let after = disk.crash();
    assert!(disk.is_crashed() && !after.is_crashed());
    assert!(file.write_all_at(b"x", 0).is_err() && file.sync_data().is_err() && file.len().is_err());
    assert!(file.read_at(&mut [0], 0).is_err() && file.set_len(1).is_err() && file.allocate_zeroed(1).is_err());
    assert!(disk.open(path("/file"), OpenMode::Create).is_err() && disk.list_dir(path("/")).is_err());
    assert!(disk.sync_dir(path("/")).is_err() && disk.rename(path("/file"), path("/other")).is_err());
    assert!(!disk.exists(path("/file")) && after.exists(path("/file")));
}

// invariants: row 2
#[test]
fn a_name_lasts_only_once_its_directory_is_synced() {
    let mut outcomes = BTreeSet::new();
    for seed in 0..100 {
        let disk = SimulatedVfs::new(seed);
        file(&disk, "/old");
        file(&disk, "/removed");
        disk.open(path("/new"), OpenMode::CreateNew).unwrap().sync_all().unwrap();
        disk.rename(path("/old"), path("/renamed")).unwrap();
        disk.remove_file(path("/removed")).unwrap();
        outcomes.insert(disk.crash().list_dir(path("/")).unwrap());
    }
    for names in &outcomes {
        let has = |name: &str| names.iter().any(|other| other == name);
        assert!(has("old") != has("renamed"), "a rename is neither made nor not made: {names:?}");
    }
    assert_eq!(outcomes.len(), 8);

    for seed in 0..50 {
        let disk = SimulatedVfs::new(seed);
        file(&disk, "/old");
        disk.rename(path("/old"), path("/renamed")).unwrap();
        disk.sync_dir(path("/")).unwrap();
        assert_eq!(disk.crash().list_dir(path("/")).unwrap(), ["renamed"]);
    }
}

#[test]
fn a_directory_that_is_lost_takes_its_files_along() {
    let disk = SimulatedVfs::new(1);
    disk.create_dir_all(path("/a/b")).unwrap();
    disk.open(path("/a/b/file"), OpenMode::CreateNew).unwrap().sync_all().unwrap();
    disk.sync_dir(path("/a/b")).unwrap();
    disk.sync_dir(path("/a")).unwrap();
    assert!(disk.survivor(options(1, Survival::Nothing)).list_dir(path("/")).unwrap().is_empty());
    disk.sync_dir(path("/")).unwrap();
    assert!(disk.survivor(options(1, Survival::Nothing)).exists(path("/a/b/file")));
    disk.remove_dir_all(path("/a")).unwrap();
    assert!(disk.survivor(options(1, Survival::Nothing)).exists(path("/a/b/file")));
    assert!(!disk.survivor(options(1, Survival::Everything)).exists(path("/a")));
    assert!(!disk.is_crashed());
}

#[test]
fn a_rename_to_another_directory_is_made_in_both_or_in_neither() {
    for seed in 0..40 {
        let disk = SimulatedVfs::new(seed);
        disk.create_dir_all(path("/a")).unwrap();
        disk.create_dir_all(path("/b")).unwrap();
        disk.sync_dir(path("/")).unwrap();
        disk.open(path("/a/file"), OpenMode::CreateNew).unwrap();
        disk.sync_dir(path("/a")).unwrap();
        disk.rename(path("/a/file"), path("/b/file")).unwrap();
        // The name is free, and its next owner is durable before the rename is.
        let next = disk.open(path("/a/file"), OpenMode::CreateNew).unwrap();
        next.write_all_at(b"next", 0).unwrap();
        next.sync_all().unwrap();
        disk.sync_dir(path("/a")).unwrap();
        let after = disk.crash();
        assert_eq!(bytes(&after, "/a/file"), b"next");
    }
}

#[test]
fn a_write_through_is_durable_when_it_returns() {
    for seed in 0..50 {
        let disk = SimulatedVfs::new(seed);
        file(&disk, "/file");
        let through = disk.open_datasync(path("/file"), OpenMode::ReadWrite).unwrap();
        through.write_all_at(&[1; 1000], 100).unwrap();
        through.write_all_at(&[2; 10], 300).unwrap();
        let left = bytes(&disk.crash(), "/file");
        assert_eq!((left.len(), left[99], left[100], left[305], left[1099]), (1100, 0, 1, 2, 1));
    }
}

#[test]
fn the_same_seed_means_the_same_crash() {
    let run = |seed| {
        let disk = SimulatedVfs::new(seed);
        for name in ["/a", "/b", "/c"] {
            let file = disk.open(path(name), OpenMode::CreateNew).unwrap();
            for block in 0..10 {
                file.write_all_at(&[block as u8 + 1; 700], block * 700).unwrap();
            }
        }
        disk.crash().contents()
    };
    for seed in 0..20 {
        assert_eq!(run(seed), run(seed));
    }
    assert!((1..20).any(|seed| run(seed) != run(0)));
}

#[test]
fn a_kill_keeps_what_the_cache_holds_but_does_not_make_it_durable() {
    let disk = SimulatedVfs::new(1);
    let file = file(&disk, "/file");
    let _lock = disk.lock_exclusive(path("/lock")).unwrap();
    file.write_all_at(b"cached", 0).unwrap();
    let next = disk.kill();
    assert!(file.sync_data().is_err());
    assert_eq!(bytes(&next, "/file"), b"cached");
    next.lock_exclusive(path("/lock")).unwrap();
    assert_eq!(bytes(&next.crash_with(options(1, Survival::Nothing)), "/file"), b"");
}

/// A log of fixed records as a database keeps one: appended, synced, acknowledged. Returns how many were acknowledged.
fn append_records(disk: &SimulatedVfs) -> u64 {
    let append = || -> std::io::Result<Arc<dyn File>> {
        let file = disk.open(path("/log"), OpenMode::Create)?;
        file.allocate_zeroed(64 * RECORD)?;
        file.sync_all()?;
        disk.sync_dir(path("/"))?;
        Ok(file)
    };
    let Ok(file) = append() else { return 0 };
    let mut acknowledged = 0;
    for record in 0..20u64 {
        let bytes = [record as u8 + 1; RECORD as usize];
        if file.write_all_at(&bytes, record * RECORD).is_err() || file.sync_data().is_err() {
            break;
        }
        acknowledged = record + 1;
    }
    acknowledged
}

const RECORD: u64 = 300;

// invariants: row 1, in miniature: what a log on this disk relies on
#[test]
fn a_crash_at_every_call_keeps_what_was_acknowledged() {
    let disk = SimulatedVfs::new(0);
    assert_eq!(append_records(&disk), 20);
    let calls = disk.io_calls();
    assert!(calls > 40);
    let mut torn = 0;
    for call in 1..=calls {
        for seed in 0..10 {
            let disk = SimulatedVfs::new(seed);
            disk.add_fault(Fault::CrashAtCall(call));
            let acknowledged = append_records(&disk);
            assert!(disk.is_crashed());
            let after = disk.crash();
            if acknowledged == 0 {
                continue;
            }
            let log = bytes(&after, "/log");
            for record in 0..acknowledged {
                let start = (record * RECORD) as usize;
                assert_eq!(log[start..start + RECORD as usize], [record as u8 + 1; RECORD as usize], "seed {seed}");
            }
            let start = (acknowledged * RECORD) as usize;
            let next = &log[start..start + RECORD as usize];
            torn += u32::from(next.iter().any(|byte| *byte != next[0]));
        }
    }
    assert!(torn > 0, "no crash tore a record");
}

// invariants: row 6, the disk's part of it
#[test]
fn a_sync_that_failed_once_works_again_but_what_it_lost_is_gone() {
    let mut lost = 0;
    for seed in 0..50 {
        let disk = SimulatedVfs::new(seed);
        let file = file(&disk, "/file");
        disk.add_fault(Fault::FailSync(disk.syncs() + 1));
        file.write_all_at(&[1; 2048], 0).unwrap();
        assert!(file.sync_data().is_err());
        file.sync_data().unwrap();
        let mut seen = [0; 2048];
        file.read_exact_at(&mut seen, 0).unwrap();
        assert_eq!(seen, [1; 2048], "the cache still has it");
        lost += u32::from(bytes(&disk.crash(), "/file") != [1; 2048]);
    }
    assert!(lost > 10);

    let disk = SimulatedVfs::new(1);
    disk.add_fault(Fault::FailSync(1));
    disk.open(path("/file"), OpenMode::CreateNew).unwrap();
    assert!(disk.sync_dir(path("/")).is_err());
    disk.sync_dir(path("/")).unwrap();
}

// invariants: row 7, the part of it that lies here
#[test]
fn short_writes_and_signals_are_taken_up_inside() {
    let disk = SimulatedVfs::new(3);
    let file = file(&disk, "/file");
    for fault in [Fault::ShortWrite(1), Fault::InterruptedWrite(2), Fault::ShortWrite(3), Fault::InterruptedRead(1)] {
        disk.add_fault(fault);
    }
    let pattern: Vec<u8> = (0..5000u32).map(|byte| byte as u8).collect();
    file.write_all_at(&pattern, 7).unwrap();
    assert_eq!(disk.writes(), 4);
    let mut seen = vec![0; 5000];
    file.read_exact_at(&mut seen, 7).unwrap();
    assert_eq!(seen, pattern);
    disk.add_fault(Fault::ShortWrite(5));
    disk.add_fault(Fault::InterruptedWrite(6));
    file.allocate_zeroed(20_000).unwrap();
    assert_eq!(file.len().unwrap(), 20_000);
}

// invariants: row 7, the part of it that lies here
#[test]
fn a_full_disk_takes_what_needs_no_space() {
    let disk = SimulatedVfs::new(3);
    let file = file(&disk, "/file");
    file.write_all_at(&[1; 1000], 0).unwrap();
    disk.add_fault(Fault::NoSpaceFromWrite(disk.writes() + 1));
    file.write_all_at(&[2; 1000], 0).unwrap();
    assert_eq!(file.write_all_at(&[3; 1000], 500).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(file.allocate_zeroed(5000).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(file.len().unwrap(), 1000);
    assert_eq!(bytes(&disk, "/file")[499..501], [2, 3], "the part that fits was written");
    disk.clear_faults();
    file.write_all_at(&[3; 1000], 500).unwrap();
}

#[test]
fn reads_and_writes_fail_on_order_and_once() {
    let disk = SimulatedVfs::new(3);
    let file = file(&disk, "/file");
    disk.add_fault(Fault::FailWrite(2));
    disk.add_fault(Fault::FailRead(2));
    file.write_all_at(&[1; 100], 0).unwrap();
    assert!(file.write_all_at(&[2; 100], 0).is_err());
    file.write_all_at(&[3; 100], 0).unwrap();
    let mut seen = [0; 100];
    file.read_exact_at(&mut seen, 0).unwrap();
    assert!(file.read_exact_at(&mut seen, 0).is_err());
    file.read_exact_at(&mut seen, 0).unwrap();
    assert_eq!(seen, [3; 100]);
}

#[test]
fn one_open_file_too_many_fails_until_another_is_closed() {
    let disk = SimulatedVfs::new(3);
    disk.set_open_max(3);
    let made = |disk: &SimulatedVfs, name: &str| disk.open(path(name), OpenMode::Create).unwrap();
    let one = made(&disk, "/one");
    let lock = disk.lock_exclusive(path("/lock")).unwrap();
    let two = made(&disk, "/two");
    let is_too_many = |error: std::io::Error| error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error());
    assert!(disk.open(path("/three"), OpenMode::Create).is_err_and(is_too_many));
    assert!(!disk.exists(path("/three")), "what can't be opened is not made");
    assert!(disk.sync_dir(path("/")).is_err_and(is_too_many));
    assert!(disk.list_dir(path("/")).is_err_and(is_too_many));
    one.write_all_at(b"1", 0).unwrap();
    drop(lock);
    assert!(disk.open(path("/none"), OpenMode::Read).is_err_and(|error| error.kind() == ErrorKind::NotFound));
    disk.sync_dir(path("/")).unwrap();
    drop((one, two));
    let next = disk.crash();
    let _files: Vec<_> = (0..3).map(|number| made(&next, &format!("/{number}"))).collect();
    assert!(next.open(path("/four"), OpenMode::Create).is_err_and(is_too_many));
    assert_eq!((disk.most_open(), next.most_open()), (3, 3));
    assert!(disk.opens_refused() > 0);
}

#[test]
fn lengths_removals_and_syncs_of_directories_fail_on_order_and_once() {
    let disk = SimulatedVfs::new(3);
    let file = file(&disk, "/file");
    file.write_all_at(&[1; 100], 0).unwrap();
    file.sync_data().unwrap();
    disk.add_fault(Fault::FailSetLength(disk.set_lengths() + 1));
    disk.add_fault(Fault::FailRemoval(disk.removals() + 1));
    disk.add_fault(Fault::FailDirectorySync(disk.directory_syncs() + 1));
    assert!(file.set_len(10).is_err());
    assert_eq!(bytes(&disk, "/file"), [1; 100], "a failed cut changes nothing");
    assert!(disk.remove_file(path("/file")).is_err() && disk.exists(path("/file")));
    file.sync_data().expect("only the sync of a directory fails");
    assert!(disk.sync_dir(path("/")).is_err());
    file.set_len(10).unwrap();
    disk.remove_file(path("/file")).unwrap();
    disk.sync_dir(path("/")).unwrap();
    assert!(!disk.crash().exists(path("/file")));
}

#[test]
fn damage_stays_through_crashes() {
    let disk = SimulatedVfs::new(1);
    let file = file(&disk, "/file");
    file.write_all_at(&[0; 100], 0).unwrap();
    file.sync_data().unwrap();
    disk.flip_bit(path("/file"), 50, 3).unwrap();
    assert_eq!(bytes(&disk, "/file")[50], 8);
    assert_eq!(bytes(&disk.crash(), "/file")[50], 8);
}

#[test]
fn a_fail_stop_is_a_crash_that_the_harness_catches() {
    let disk = SimulatedVfs::new(1);
    let file = file(&disk, "/file");
    let stopped = catch_unwind(AssertUnwindSafe(|| disk.fail_stop("could not sync"))).unwrap_err();
    assert_eq!(stopped.downcast_ref::<FailStop>(), Some(&FailStop("could not sync".to_owned())));
    assert!(disk.is_crashed() && file.sync_data().is_err());
    assert!(disk.crash().exists(path("/file")));
}

#[test]
fn one_crash_can_be_looked_at_with_many_outcomes() {
    let disk = SimulatedVfs::new(1);
    let file = file(&disk, "/file");
    file.write_all_at(&[1; 8192], 0).unwrap();
    disk.crash();
    let outcomes: BTreeSet<_> =
        (0..50).map(|seed| bytes(&disk.crash_with(SimulatedOptions::new(seed)), "/file")).collect();
    assert!(outcomes.len() > 10);
}
