//! The page cache on real files.
#![cfg(not(shuttle))]

mod support;

use std::sync::atomic::Ordering;

use base::{FileNumber, Lsn, sqlstate};
use cohort_buffer::{
    BufferPool, BufferPoolOptions, DoubleWrite, DoubleWriteOptions, DurableLog, HEADER_BYTES, PAGE_BYTES, PageId,
};
use support::watch::WatchingVfs;
use support::{FILE, Stand, TestLog, get, page, put};
use sync::Arc;
use vfs::{OpenMode, RealVfs, SimulatedVfs, Vfs};

fn stand(frames: usize) -> (tempfile::TempDir, Stand) {
    let directory = tempfile::tempdir().unwrap();
    let vfs = WatchingVfs::new(RealVfs::new());
    let watched = Arc::clone(&vfs.log);
    let stand = Stand::open(Arc::new(vfs), directory.path(), frames, TestLog::default()).unwrap();
    watched.set(stand.log.clone()).ok().unwrap();
    (directory, stand)
}

fn fill(stand: &Stand, blocks: u32) {
    stand.pool.create_file(FILE).unwrap();
    for block in 0..blocks {
        assert_eq!(stand.pool.pin_new(FILE).unwrap().page_id().block, block);
        stand.add(page(block), HEADER_BYTES, u64::from(block) + 1).unwrap();
    }
}

// invariants: row 12 (every write is checked against the log by the watching file system)
#[test]
fn a_table_many_times_the_cache_keeps_every_page() {
    let (_directory, stand) = stand(16);
    fill(&stand, 500);
    for round in 1..4 {
        for block in 0..500 {
            assert_eq!(stand.read(page(block), HEADER_BYTES).unwrap(), u64::from(block) + round);
            stand.add(page(block), HEADER_BYTES, 1).unwrap();
        }
    }
    let statistics = stand.pool.statistics();
    assert!(statistics.evictions > 1000 && statistics.written_by_eviction > 1000, "{statistics:?}");
    assert!(statistics.batches < statistics.written_by_eviction / 4, "{statistics:?}");
    assert!(stand.log.flushes.load(Ordering::SeqCst) > 0);
}

#[test]
fn a_checkpoint_writes_what_was_dirty_before_and_nothing_else() {
    let (_directory, stand) = stand(64);
    fill(&stand, 40);
    let redo = stand.log.inserted();
    for block in 0..10 {
        stand.add(page(block), HEADER_BYTES, 1).unwrap();
    }
    let mut reached = Vec::new();
    stand.pool.flush_dirty(redo, &mut |progress| reached.push(progress));
    assert_eq!(stand.pool.statistics().written_by_checkpoint, 40);
    assert_eq!((reached.last().unwrap().written, reached.last().unwrap().total), (40, 40));
    assert_eq!(stand.pool.oldest_dirty_lsn(), None);

    let redo = stand.log.inserted();
    for block in 0..10 {
        stand.add(page(block), HEADER_BYTES, 1).unwrap();
    }
    stand.pool.flush_dirty(redo, &mut |_| ());
    assert_eq!(stand.pool.statistics().written_by_checkpoint, 40);
    assert!(stand.pool.oldest_dirty_lsn().unwrap() > redo);
}

#[test]
fn a_checkpoint_waits_for_a_change_that_is_logged_and_not_yet_marked() {
    let (_directory, stand) = stand(64);
    fill(&stand, 1);
    stand.pool.flush_all();
    let pinned = stand.pool.pin(page(0)).unwrap();
    let mut view = pinned.write();
    put(&mut view, HEADER_BYTES, 99);
    let lsn = stand.log.insert();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            stand.pool.flush_dirty(lsn, &mut |_| ());
            done.store(true, Ordering::SeqCst);
        });
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!done.load(Ordering::SeqCst), "the checkpoint passed by a latched page");
        view.set_lsn(lsn);
        drop(view);
    });
    assert_eq!(stand.pool.statistics().written_by_checkpoint, 2);
}

#[test]
fn hints_are_written_with_everything_and_not_by_a_checkpoint() {
    let (_directory, stand) = stand(16);
    fill(&stand, 1);
    stand.pool.flush_all();
    let pinned = stand.pool.pin(page(0)).unwrap();
    {
        let mut view = pinned.try_write().unwrap();
        view[100] = 7;
        view.mark_dirty_hint();
    }
    stand.pool.flush_dirty(Lsn::MAX, &mut |_| ());
    assert_eq!(stand.pool.statistics().written_by_checkpoint, 1);
    stand.pool.flush_file(FileNumber(1));
    assert_eq!(stand.pool.statistics().written_by_checkpoint, 1);
    stand.pool.flush_file(FILE);
    assert_eq!(stand.pool.statistics().written_by_checkpoint, 2);
}

#[test]
fn a_damaged_page_is_an_error_and_its_frame_is_not_lost() {
    let (directory, mut damaged) = stand(16);
    fill(&damaged, 40);
    damaged.pool.flush_all();
    let vfs = RealVfs::new();
    let file = vfs.open(&directory.path().join("base/16384"), OpenMode::ReadWrite).unwrap();
    file.write_all_at(&[1], 3 * PAGE_BYTES as u64 + 5000).unwrap();
    damaged = Stand::open(Arc::new(RealVfs::new()), directory.path(), 16, TestLog::from(Lsn(1 << 20))).unwrap();
    for _ in 0..100 {
        let error = damaged.pool.pin(page(3)).err().unwrap();
        assert_eq!(error.sqlstate(), sqlstate::DATA_CORRUPTED);
        assert_eq!(error.message(), "invalid page in block 3 of relation file base/16384");
    }
    for block in (0..40).filter(|&block| block != 3) {
        assert_eq!(damaged.read(page(block), HEADER_BYTES).unwrap(), u64::from(block) + 1);
    }
}

#[test]
fn blocks_and_files_that_do_not_exist_are_errors() {
    let (_directory, stand) = stand(16);
    fill(&stand, 3);
    assert_eq!(stand.pool.pin(page(3)).err().unwrap().sqlstate(), sqlstate::DATA_CORRUPTED);
    let nowhere = PageId::new(FileNumber(9), 0);
    assert_eq!(stand.pool.pin(nowhere).err().unwrap().sqlstate(), sqlstate::UNDEFINED_FILE);
    assert_eq!(stand.pool.pin_new(FileNumber(9)).err().unwrap().sqlstate(), sqlstate::UNDEFINED_FILE);
    assert_eq!(stand.pool.block_count(FileNumber(9)).err().unwrap().sqlstate(), sqlstate::UNDEFINED_FILE);
    assert_eq!(stand.pool.create_file(FILE).err().unwrap().sqlstate(), sqlstate::DUPLICATE_FILE);
}

#[test]
fn with_every_frame_pinned_one_more_is_an_error_and_then_works() {
    let (_directory, stand) = stand(16);
    fill(&stand, 20);
    let mut pins: Vec<_> = (0..16).map(|block| stand.pool.pin(page(block)).unwrap()).collect();
    let error = stand.pool.pin(page(16)).err().unwrap();
    assert_eq!(
        (error.sqlstate(), error.message()),
        (sqlstate::INSUFFICIENT_RESOURCES, "no unpinned buffers available")
    );
    assert!(stand.pool.pin(page(7)).is_ok());
    pins.truncate(15);
    assert_eq!(stand.read(page(16), HEADER_BYTES).unwrap(), 17);
}

#[test]
fn files_are_dropped_cut_and_listed() {
    let (directory, stand) = stand(32);
    fill(&stand, 20);
    let other = FileNumber(16385);
    stand.pool.create_file(other).unwrap();
    stand.pool.pin_new(other).unwrap().mark_dirty_hint();
    assert_eq!(stand.pool.list_files().unwrap(), [FILE, other]);
    assert_eq!(stand.pool.orphans(|file| file == FILE).unwrap(), [other]);

    stand.pool.truncate_file(FILE, 5, || stand.log.insert()).unwrap();
    assert_eq!(stand.pool.block_count(FILE).unwrap(), 5);
    assert!(stand.pool.pin(page(5)).is_err());
    assert_eq!(std::fs::metadata(directory.path().join("base/16384")).unwrap().len(), 5 * PAGE_BYTES as u64);
    let view = stand.pool.pin_new(FILE).unwrap();
    assert_eq!(view.page_id().block, 5);
    assert!(view.iter().all(|&byte| byte == 0), "a block that was cut off came back");
    drop(view);

    assert!(stand.pool.drop_files(&[other]).is_empty());
    assert!(stand.pool.drop_files(&[other]).is_empty());
    assert!(!stand.pool.file_exists(other) && stand.pool.file_exists(FILE));
    stand.pool.flush_all();
    assert_eq!(stand.pool.list_files().unwrap(), [FILE]);
}

#[test]
fn redo_makes_files_and_pages_that_are_missing() {
    let (_directory, stand) = stand(16);
    let pinned = stand.pool.pin_for_redo(page(30)).unwrap();
    assert!(pinned.read().iter().all(|&byte| byte == 0));
    drop(pinned);
    assert_eq!(stand.pool.block_count(FILE).unwrap(), 31);
    for block in 0..31 {
        assert_eq!(stand.read(page(block), HEADER_BYTES).unwrap(), 0);
    }
    stand.pool.create_file_for_redo(FILE).unwrap();
}

#[test]
fn a_scan_leaves_what_others_use_in_the_cache() {
    let (_directory, stand) = stand(64);
    fill(&stand, 1000);
    stand.pool.flush_all();
    for _ in 0..6 {
        (0..20).for_each(|block| drop(stand.pool.pin(page(block)).unwrap()));
    }
    let before = stand.pool.statistics().reads;
    for block in 100..180 {
        drop(stand.pool.pin_for_scan(page(block)).unwrap());
    }
    let between = stand.pool.statistics().reads;
    (0..20).for_each(|block| drop(stand.pool.pin(page(block)).unwrap()));
    assert!(between - before >= 70);
    assert_eq!(stand.pool.statistics().reads, between, "the scan drove out pages in use");
}

#[test]
fn the_cleaner_leaves_nothing_for_those_who_need_a_frame() {
    let (_directory, stand) = stand(64);
    fill(&stand, 64);
    while stand.pool.clean_ahead(16) > 0 {
        for block in 0..64 {
            drop(stand.pool.pin_if_cached(page(block)));
        }
    }
    stand.pool.flush_all();
    let before = stand.pool.statistics();
    for _ in 0..64 {
        drop(stand.pool.pin_new(FILE).unwrap());
    }
    let after = stand.pool.statistics();
    assert_eq!(before.written_by_eviction, after.written_by_eviction);
}

#[test]
fn views_can_take_their_pin_along() {
    let (_directory, stand) = stand(16);
    fill(&stand, 2);
    let mut view = stand.pool.pin(page(0)).unwrap().into_write();
    assert!(stand.pool.pin(page(0)).unwrap().try_read().is_none());
    put(&mut view, 64, 5);
    view.set_lsn(stand.log.insert());
    let view = view.downgrade();
    assert_eq!(get(&stand.pool.pin(page(0)).unwrap().read(), 64), 5);
    let pinned = view.into_pinned();
    assert!(pinned.try_write().is_some());
    let again = pinned.read().into_pinned();
    assert_eq!(again.page_id(), page(0));
}

/// A log whose flush is done by another thread, for which a caller in a coroutine would be suspended.
#[derive(Default)]
struct SlowLog {
    inner: TestLog,
}

impl DurableLog for SlowLog {
    fn durable(&self) -> Lsn {
        self.inner.durable()
    }

    fn flush(&self, upto: Lsn) {
        let waiter = sync::Waiter::new();
        let waker = waiter.waker();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(1));
                waker.wake();
            });
        });
        waiter.wait(None, None);
        self.inner.flush(upto);
    }
}

#[test]
fn eviction_under_a_page_latch_never_suspends_the_coroutine() {
    let directory = tempfile::tempdir().unwrap();
    let vfs = Arc::new(RealVfs::new());
    let doublewrite = DoubleWrite::open(vfs.clone(), directory.path(), DoubleWriteOptions::default()).unwrap();
    let log = Arc::new(SlowLog::default());
    let options = BufferPoolOptions { frames: 16, ..BufferPoolOptions::default() };
    let pool =
        Arc::new(BufferPool::new(vfs, &directory.path().join("base"), log.clone(), doublewrite, options).unwrap());
    pool.create_file(FILE).unwrap();
    let work = move || {
        let mut held = pool.pin_new(FILE).unwrap();
        held.set_lsn(log.inner.insert());
        for _ in 0..100 {
            pool.pin_new(FILE).unwrap().set_lsn(log.inner.insert());
        }
        drop(held);
        log.inner.flushes.load(Ordering::SeqCst)
    };
    let queue = Arc::new(sync::ReadyQueue::new(|| ()));
    let mut coroutine = sync::Coroutine::new(&sync::StackPool::new(1 << 20, 1), queue, 1, work);
    match coroutine.resume() {
        sync::Step::Finished(flushes) => assert!(flushes > 0),
        sync::Step::Suspended { .. } | sync::Step::Yielded => panic!("suspended with a page latched"),
    }
}

#[test]
fn threads_that_share_a_small_cache_lose_no_change() {
    let (_directory, stand) = stand(24);
    fill(&stand, 60);
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let stand = &stand;
            scope.spawn(move || {
                for step in 0..3000_u32 {
                    let block = (step * 7 + thread as u32 * 13) % 60;
                    stand.add(page(block), HEADER_BYTES + 8 + 8 * thread, 1).unwrap();
                    if step % 500 == 499 {
                        stand.pool.flush_dirty(stand.log.inserted(), &mut |_| ());
                    }
                }
            });
        }
    });
    let mut counts = [0; 4];
    for block in 0..60 {
        let pinned = stand.pool.pin(page(block)).unwrap();
        let view = pinned.read();
        for (thread, count) in counts.iter_mut().enumerate() {
            *count += get(&view, HEADER_BYTES + 8 + 8 * thread);
        }
    }
    assert_eq!(counts, [3000; 4]);
}

/// A log whose flush fails on an internal error.
#[derive(Default)]
struct PanickingLog(TestLog);

impl DurableLog for PanickingLog {
    fn durable(&self) -> Lsn {
        self.0.durable()
    }

    fn flush(&self, _upto: Lsn) {
        panic!("on purpose");
    }
}

// invariants: row 6
#[test]
fn a_panic_between_the_record_of_a_cut_and_the_cut_ends_the_process() {
    let disk = SimulatedVfs::new(1);
    let vfs: Arc<dyn Vfs> = Arc::new(disk.clone());
    vfs.create_dir_all(&support::data_dir()).unwrap();
    let doublewrite = DoubleWrite::open(vfs.clone(), &support::data_dir(), DoubleWriteOptions::default()).unwrap();
    let log = Arc::new(PanickingLog::default());
    let options = BufferPoolOptions { frames: 24, ..BufferPoolOptions::default() };
    let pool = BufferPool::new(vfs, &support::data_dir().join("base"), log.clone(), doublewrite, options).unwrap();
    let pool = Arc::new(pool);
    pool.create_file(FILE).unwrap();
    for _ in 0..2 {
        pool.pin_new(FILE).unwrap().mark_dirty_hint();
    }
    assert!(!disk.is_crashed());
    let cut = std::panic::AssertUnwindSafe(|| pool.truncate_file(FILE, 1, || log.0.insert()));
    assert!(std::panic::catch_unwind(cut).is_err());
    assert!(disk.is_crashed(), "nobody goes on with a file that a crash would cut");
}
