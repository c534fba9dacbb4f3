//! The page cache under schedules that `shuttle` chooses.
#![cfg(shuttle)]

mod support;

use base::Lsn;
use cohort_buffer::{DurableLog, HEADER_BYTES};
use support::{FILE, Stand, TestLog, data_dir, get, page, rounds};
use sync::{Arc, thread};
use vfs::{SimulatedOptions, SimulatedVfs, Survival};

const PINNED: u32 = 13;
const BLOCKS: u32 = 18;

/// A pool of 16 frames over 18 pages, all of them clean.
fn stand(disk: &SimulatedVfs) -> Arc<Stand> {
    let stand = Stand::open(Arc::new(disk.clone()), &data_dir(), 16, TestLog::default()).unwrap();
    stand.pool.create_file(FILE).unwrap();
    (0..BLOCKS).for_each(|_| drop(stand.pool.pin_new(FILE).unwrap()));
    stand.pool.flush_all();
    Arc::new(stand)
}

fn iterations(default: u64) -> usize {
    rounds(default) as usize
}

/// Threads that fight for three frames lose no change, and a page is never in two of them.
#[test]
fn changes_survive_eviction_in_every_order() {
    shuttle::check_random(
        || {
            let disk = SimulatedVfs::new(1);
            let stand = stand(&disk);
            // Only three frames are left for five pages.
            let pins: Vec<_> = (0..PINNED).map(|block| stand.pool.pin(page(block)).unwrap()).collect();
            let threads: Vec<_> = (0..3_usize)
                .map(|thread| {
                    let stand = Arc::clone(&stand);
                    thread::spawn(move || {
                        for step in 0..3 {
                            let block = PINNED + (step * 2 + thread as u32) % (BLOCKS - PINNED);
                            // With all three frames pinned at this moment there is no room: an error, and no harm.
                            while stand.add(page(block), HEADER_BYTES + 8 * thread, 1).is_err() {
                                thread::yield_now();
                            }
                        }
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            drop(pins);
            let mut counts = [0; 3];
            for block in PINNED..BLOCKS {
                let pinned = stand.pool.pin(page(block)).unwrap();
                let view = pinned.read();
                for (thread, count) in counts.iter_mut().enumerate() {
                    *count += get(&view, HEADER_BYTES + 8 * thread);
                }
            }
            assert_eq!(counts, [3; 3]);
        },
        iterations(300),
    );
}

/// A checkpoint that runs beside writers and evictions misses nothing that was logged before it began.
#[test]
fn a_checkpoint_beside_writers_misses_no_change() {
    shuttle::check_random(
        || {
            let disk = SimulatedVfs::new(1);
            let stand = stand(&disk);
            let pins: Vec<_> = (0..PINNED).map(|block| stand.pool.pin(page(block)).unwrap()).collect();
            let writer = {
                let stand = Arc::clone(&stand);
                thread::spawn(move || {
                    for step in 0..4 {
                        while stand.add(page(PINNED + step % 5), HEADER_BYTES, 1).is_err() {
                            thread::yield_now();
                        }
                    }
                })
            };
            thread::yield_now();
            let redo = stand.log.inserted();
            stand.log.flush(redo);
            stand.pool.flush_dirty(redo, &mut |_| ());
            // Reads the disk's current content, without any cache.
            let after = Stand::open(Arc::new(disk.clone()), &data_dir(), 16, TestLog::from(Lsn(1 << 20))).unwrap();
            let changes: u64 = (PINNED..BLOCKS).map(|block| after.read(page(block), HEADER_BYTES).unwrap()).sum();
            assert!(changes * 8 >= redo.0, "{changes} changes are on the disk, the redo point is {redo}");
            writer.join().unwrap();
            drop(pins);
        },
        iterations(300),
    );
}

/// A dropped file's pages are gone whatever else goes on in the cache.
#[test]
fn dropping_a_file_beside_evictions_leaves_nothing_of_it() {
    shuttle::check_random(
        || {
            let disk = SimulatedVfs::new(1);
            let stand = stand(&disk);
            let other = base::FileNumber(9);
            stand.pool.create_file(other).unwrap();
            for _ in 0..4 {
                stand.pool.pin_new(other).unwrap().mark_dirty_hint();
            }
            let evictor = {
                let stand = Arc::clone(&stand);
                thread::spawn(move || (0..6).for_each(|block| drop(stand.pool.pin(page(block)))))
            };
            let cleaner = {
                let stand = Arc::clone(&stand);
                thread::spawn(move || stand.pool.clean_ahead(4))
            };
            assert!(stand.pool.drop_files(&[other]).is_empty());
            evictor.join().unwrap();
            cleaner.join().unwrap();
            assert!(!stand.pool.file_exists(other));
            stand.pool.flush_all();
            assert_eq!(stand.pool.list_files().unwrap(), [FILE]);
        },
        iterations(300),
    );
}

/// Pages of a file that is being removed are read, changed and added, and pages are written back. None of the file's pages is
/// left in the cache: its write-back would find no file, and end the process. The file itself stays away.
///
/// invariants: row 33.
#[test]
fn a_file_that_is_being_removed_comes_back_neither_to_the_cache_nor_to_the_disk() {
    let other = base::FileNumber(9);
    let model = move || {
        let disk = SimulatedVfs::new(1);
        let stand = stand(&disk);
        stand.pool.create_file(other).unwrap();
        drop(stand.pool.pin_new(other).unwrap());
        stand.pool.flush_all();
        // Its page is out of the cache, so that it must be read in.
        (0..BLOCKS).for_each(|block| drop(stand.pool.pin(page(block))));
        let spawn = |step: fn(&Stand)| {
            let stand = Arc::clone(&stand);
            thread::spawn(move || step(&stand))
        };
        let threads = [
            spawn(|stand| {
                let block = cohort_buffer::PageId::new(base::FileNumber(9), 0);
                let _ = stand.add(block, HEADER_BYTES, 1);
            }),
            spawn(|stand| {
                if let Ok(mut added) = stand.pool.pin_new(base::FileNumber(9)) {
                    added.mark_dirty_hint();
                }
            }),
            spawn(|stand| stand.pool.flush_all()),
        ];
        assert!(stand.pool.drop_files(&[other]).is_empty());
        assert!(stand.pool.block_count(other).is_err());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(stand.pool.pin_if_cached(cohort_buffer::PageId::new(other, 0)).is_none());
        stand.pool.flush_all();
        assert_eq!(stand.pool.list_files().unwrap(), [FILE]);
        assert!(!stand.pool.file_exists(other));
    };
    shuttle::check_random(model, iterations(500));
    shuttle::check_pct(model, iterations(1500), 3);
}

/// A page is emptied and cut off while a checkpoint runs. If the checkpoint's redo point lies behind the change that emptied
/// the page, a crash must not bring back what the page was before. Redo cuts the file if the record that says so is durable
/// and lies behind the redo point.
///
/// invariants: row 34.
#[test]
fn cutting_a_file_beside_a_checkpoint_brings_nothing_back() {
    const ROW: u64 = 1;
    const EMPTIED: u64 = 2;
    let last = BLOCKS - 1;
    shuttle::check_pct(
        move || {
            let disk = SimulatedVfs::new(1);
            let stand = stand(&disk);
            stand.add(page(last), HEADER_BYTES, ROW).unwrap();
            stand.log.flush(stand.log.inserted());
            stand.pool.flush_all();
            let cutter = {
                let stand = Arc::clone(&stand);
                thread::spawn(move || {
                    let emptied = stand.add(page(last), HEADER_BYTES, EMPTIED - ROW).unwrap();
                    let cut = stand.pool.truncate_file(FILE, last, || stand.log.insert()).unwrap();
                    (emptied, cut.unwrap())
                })
            };
            thread::yield_now();
            let redo = stand.log.inserted();
            stand.log.flush(redo);
            stand.pool.finish_truncations();
            stand.pool.flush_dirty(redo, &mut |_| ());
            // The crash is one moment for the log and the disk: nothing between these two lines lets another thread run.
            let durable = stand.log.durable();
            let left = disk.survivor(SimulatedOptions { survival: Survival::Nothing, ..SimulatedOptions::new(1) });
            let (emptied, cut) = cutter.join().unwrap();
            let after = Stand::open(Arc::new(left), &data_dir(), 16, TestLog::from(Lsn(1 << 20))).unwrap();
            if redo < cut && cut <= durable {
                after.pool.truncate_file_for_redo(FILE, last).unwrap();
            }
            if redo >= emptied && after.pool.block_count(FILE).unwrap() > last {
                assert_eq!(after.read(page(last), HEADER_BYTES).unwrap(), EMPTIED, "the row is back");
            }
        },
        iterations(2000),
        // Few switches, each at any step: the checkpoint must run whole between two steps of the cut.
        3,
    );
}
