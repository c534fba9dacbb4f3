//! Files that wait for their removal.
#![cfg(not(shuttle))]

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::{FileNumber, Lsn};
use cohort_buffer::{BufferPool, BufferPoolOptions, DoubleWrite, DoubleWriteOptions, FileRemovals};
use support::{TestLog, data_dir};
use sync::Arc;
use vfs::{HookedCall, SimulatedVfs, Vfs};

const FILES: u64 = 1500;

fn open_pool(disk: &SimulatedVfs) -> BufferPool {
    let options = BufferPoolOptions { frames: 64, ..BufferPoolOptions::default() };
    let vfs: Arc<dyn Vfs> = Arc::new(disk.clone());
    vfs.create_dir_all(&data_dir()).unwrap();
    let doublewrite = DoubleWrite::open(vfs.clone(), &data_dir(), DoubleWriteOptions::default()).unwrap();
    BufferPool::new(vfs, &data_dir().join("base"), Arc::new(TestLog::default()), doublewrite, options).unwrap()
}

/// Files that exist and have been handed over.
fn handed_over(disk: &SimulatedVfs) -> (Arc<BufferPool>, FileRemovals) {
    let pool = Arc::new(open_pool(disk));
    let removals = FileRemovals::new(pool.clone(), |_| ());
    for file in (0..FILES).map(FileNumber) {
        pool.create_file(file).unwrap();
        pool.pin_new(file).unwrap().mark_dirty_hint();
        removals.hand_over(file, Lsn::ZERO);
    }
    (pool, removals)
}

// invariants: row 33
#[test]
fn the_directory_is_synced_once_for_all_files_that_wait() {
    let disk = SimulatedVfs::new(1);
    let (pool, removals) = handed_over(&disk);
    let syncs = disk.directory_syncs();
    removals.remove_all();
    assert_eq!(disk.directory_syncs(), syncs + 1);
    assert!((0..FILES).all(|file| !pool.file_exists(FileNumber(file))));
    assert!(pool.orphans(|_| false).unwrap().is_empty());
}

#[test]
fn a_session_makes_no_more_files_while_very_many_wait() {
    let (_pool, removals) = handed_over(&SimulatedVfs::new(1));
    // Nobody would remove them while it waited.
    removals.wait_while_many();
    removals.set_has_thread(true);
    let has_waited = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            removals.wait_while_many();
            assert!(has_waited.load(Ordering::SeqCst), "files were still waiting");
        });
        std::thread::sleep(Duration::from_millis(50));
        has_waited.store(true, Ordering::SeqCst);
        removals.remove_all();
    });
}

#[test]
fn the_thread_that_removes_files_ends_at_once_when_it_is_told_to() {
    let (_pool, removals) = handed_over(&SimulatedVfs::new(1));
    removals.remove_all();
    removals.set_has_thread(true);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            removals.set_has_thread(false);
        });
        removals.wait_for_work(Duration::from_secs(3600));
    });
    removals.wait_for_work(Duration::from_secs(3600));
}

/// A file is opened just when it is removed. The opener must not make the file known again: its handle would stay open and its
/// disk space would not be freed.
#[test]
fn a_file_that_is_removed_while_it_is_opened_is_gone() {
    const FILE: FileNumber = FileNumber(7);
    let disk = SimulatedVfs::new(1);
    {
        let pool = open_pool(&disk);
        pool.create_file(FILE).unwrap();
    }
    let pool = Arc::new(open_pool(&disk));
    // The opener has found the file on the disk when the other one comes, and goes on when that one has removed it.
    let (remover, is_first) = (Arc::downgrade(&pool), AtomicBool::new(true));
    disk.set_hook(move |call| {
        if matches!(call, HookedCall::Opened(path) if path.ends_with("7")) && is_first.swap(false, Ordering::SeqCst) {
            assert!(remover.upgrade().unwrap().drop_files(&[FILE]).is_empty());
        }
    });
    let open_before = disk.open_files();
    assert_eq!(pool.block_count(FILE).unwrap_err().sqlstate(), base::sqlstate::UNDEFINED_FILE);
    assert!(!pool.file_exists(FILE), "it is known again");
    assert_eq!(disk.open_files(), open_before, "it is held open");
}
