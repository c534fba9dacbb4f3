//! Properties that must hold under every order of steps and every value that a load may see.
//!
//! A thread is taken off where it could go on at most so many times per execution as a model says (`check`).

use base::{Lsn, OwnerId, Xid};
use loom::sync::atomic::AtomicU64;
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use loom::thread;

use crate::csn::{CsnStore, Entry, PAGE_ENTRIES};
use crate::frame::{DIRTY, Frames, PIN, VALID, WRITING};
use crate::hooks::Hooks;
use crate::latch::RawLatch;
use crate::operations::Operations;
use crate::slots::Slots;
use crate::snapshots::Snapshots;
use crate::{Arc, Combiner, LatchClass, Mutex, NoFiles, StatusStoreOptions};

static CLASS: LatchClass = LatchClass::new("model", 1);

/// Tries every execution with at most so many switches away from a thread that could go on.
fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// A value that is read and written without any ordering of its own, so that only a latch can order its uses: `loom` fails
/// when two of them race.
struct Guarded(RawLatch, loom::cell::UnsafeCell<u32>);

// SAFETY: the models check just that the latch keeps the uses apart.
unsafe impl Sync for Guarded {}
// SAFETY: a number.
unsafe impl Send for Guarded {}

impl Guarded {
    fn new() -> Arc<Guarded> {
        Arc::new(Guarded(RawLatch::new(&CLASS), loom::cell::UnsafeCell::new(0)))
    }

    fn add(&self) {
        self.1.with_mut(|value| {
            // SAFETY: the caller has the latch exclusively.
            unsafe { *value += 1 }
        });
    }

    fn get(&self) -> u32 {
        self.1.with(|value| {
            // SAFETY: the caller has the latch.
            unsafe { *value }
        })
    }
}

#[test]
fn what_was_written_under_a_latch_is_seen_under_it() {
    check(3, || {
        let guarded = Guarded::new();
        let writer = thread::spawn({
            let guarded = guarded.clone();
            move || {
                guarded.0.lock_exclusive();
                guarded.add();
                guarded.0.downgrade();
                assert!(guarded.get() >= 1);
                guarded.0.unlock_shared();
            }
        });
        let tryer = thread::spawn({
            let guarded = guarded.clone();
            move || {
                if guarded.0.try_lock_exclusive() {
                    guarded.add();
                    guarded.0.unlock_exclusive();
                }
            }
        });
        guarded.0.lock_shared();
        guarded.get();
        guarded.0.unlock_shared();
        writer.join().unwrap();
        tryer.join().unwrap();
    });
}

#[test]
fn every_sleeper_of_a_latch_is_woken() {
    check(2, || {
        let guarded = Guarded::new();
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let guarded = guarded.clone();
                thread::spawn(move || {
                    guarded.0.lock_exclusive();
                    guarded.add();
                    guarded.0.unlock_exclusive();
                })
            })
            .collect();
        guarded.0.lock_exclusive();
        guarded.add();
        guarded.0.unlock_exclusive();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        guarded.0.lock_shared();
        assert_eq!(guarded.get(), 3);
        guarded.0.unlock_shared();
    });
}

/// A page whose changes are logged: the log's insertion latch orders the records.
struct Logged {
    frames: Frames,
    inserted: Mutex<u64>,
}

impl Logged {
    fn new() -> Arc<Logged> {
        let frames = Frames::new(1);
        frames[0].state.store(VALID, Release);
        Arc::new(Logged { frames, inserted: Mutex::new(0) })
    }

    /// A change: the record, then the mark, both under the page's latch.
    fn change(&self) {
        let frame = &self.frames[0];
        frame.latch.lock_exclusive();
        let end = {
            let mut inserted = self.inserted.lock();
            *inserted += 10;
            *inserted
        };
        frame.mark_dirty(Lsn(end));
        frame.latch.unlock_exclusive();
    }

    /// A write-back: its steps up to the write itself, the write, and the end of the write.
    fn write(&self, write: impl FnOnce()) {
        let frame = &self.frames[0];
        frame.state.fetch_add(WRITING + PIN, AcqRel);
        frame.latch.lock_shared();
        frame.copy_taken();
        frame.latch.unlock_shared();
        write();
        frame.end_write();
    }

    /// Whether a checkpoint whose redo point is `redo` looks at the page more closely.
    fn is_looked_at(&self, redo: u64) -> bool {
        let frame = &self.frames[0];
        frame.latch.is_locked_exclusive() || frame.is_dirty_since(Lsn(redo))
    }
}

#[test]
fn a_checkpoint_misses_no_page_that_was_changed_before_its_redo_point() {
    check(3, || {
        let logged = Logged::new();
        let changer = thread::spawn({
            let logged = logged.clone();
            move || logged.change()
        });
        let redo = *logged.inserted.lock();
        assert!(redo == 0 || logged.is_looked_at(redo), "a change below the redo point is missed");
        changer.join().unwrap();
    });
}

#[test]
fn a_checkpoint_misses_no_page_that_is_being_written_and_changed_again() {
    check(3, || {
        let logged = Logged::new();
        logged.change();
        let written = Arc::new(AtomicU64::new(0));
        let writer = thread::spawn({
            let (logged, written) = (logged.clone(), written.clone());
            move || logged.write(|| written.store(1, Release))
        });
        let changer = thread::spawn({
            let logged = logged.clone();
            move || logged.change()
        });
        let redo = 10;
        if !logged.is_looked_at(redo) {
            assert_eq!(written.load(Acquire), 1, "the first change is neither in memory nor on the disk");
        }
        writer.join().unwrap();
        changer.join().unwrap();
    });
}

// invariants: row 29
#[test]
fn no_snapshot_is_taken_below_the_floor() {
    check(3, || {
        let slots = Arc::new(Slots::new(2, Xid::FIRST_NORMAL));
        assert!((0..2).all(|_| slots.take().is_some()));
        let snapshots = Arc::new(Snapshots::new(Lsn(10)));
        let raiser = thread::spawn({
            let (slots, snapshots) = (slots.clone(), snapshots.clone());
            move || {
                snapshots.note_placed(Lsn(11));
                snapshots.raise_horizon(Lsn(11));
                snapshots.raise_floor(&slots)
            }
        });
        let snapshot = snapshots.take(&slots, OwnerId(0));
        let floor = raiser.join().unwrap();
        assert!(floor <= snapshot, "versions that {snapshot} needs were given up to {floor}");
        snapshots.keep(&slots, OwnerId(0), None);
    });
}

// invariants: row 29
#[test]
fn an_imported_snapshot_stays_protected() {
    check(3, || {
        let slots = Arc::new(Slots::new(2, Xid::FIRST_NORMAL));
        assert!((0..2).all(|_| slots.take().is_some()));
        let snapshots = Arc::new(Snapshots::new(Lsn(10)));
        let snapshot = snapshots.take(&slots, OwnerId(1));
        snapshots.note_placed(Lsn(11));
        snapshots.raise_horizon(Lsn(11));
        let raiser = thread::spawn({
            let (slots, snapshots) = (slots.clone(), snapshots.clone());
            move || snapshots.raise_floor(&slots)
        });
        assert!(snapshots.import(&slots, OwnerId(0), snapshot), "the exporter holds it");
        snapshots.keep(&slots, OwnerId(1), None);
        assert!(raiser.join().unwrap() <= snapshot);
        assert!(snapshots.raise_floor(&slots) <= snapshot);
    });
}

// invariants: rows 11 and 15
#[test]
fn a_commit_is_behind_its_mark_before_it_shows_and_whole_when_it_is_seen() {
    const IN_PROGRESS: u64 = 0;
    check(3, || {
        let slots = Arc::new(Slots::new(1, Xid::FIRST_NORMAL));
        assert!(slots.take().is_some());
        let snapshots = Arc::new(Snapshots::new(Lsn(10)));
        let status = Arc::new(AtomicU64::new(IN_PROGRESS));
        let committer = thread::spawn({
            let (snapshots, status) = (snapshots.clone(), status.clone());
            move || {
                snapshots.note_placed(Lsn(11));
                status.compare_exchange(IN_PROGRESS, 11, AcqRel, Relaxed).unwrap();
                snapshots.raise_horizon(Lsn(11));
            }
        });
        if status.load(Acquire) == 11 {
            assert!(snapshots.placed() >= Lsn(11), "told before it is durable");
        }
        if snapshots.take(&slots, OwnerId(0)) >= Lsn(11) {
            assert_eq!(status.load(Acquire), 11, "a snapshot that sees a commit finds it");
        }
        snapshots.keep(&slots, OwnerId(0), None);
        committer.join().unwrap();
    });
}

// invariants: row 37
#[test]
fn a_close_sees_every_transaction_that_does_not_see_the_close() {
    fn close(slots: &Slots) -> usize {
        let mut in_progress = 0;
        slots.close_if(|| {
            in_progress = slots.in_progress(&[]);
            true
        });
        in_progress
    }
    // One at a time: those that wait for the close's outcome spin.
    check(2, || {
        let slots = Arc::new(Slots::new(1, Xid::FIRST_NORMAL));
        assert!(slots.take().is_some());
        let writer = thread::spawn({
            let slots = slots.clone();
            move || slots.assign_top(OwnerId(0)).is_ok()
        });
        let in_progress = close(&slots);
        assert!(!writer.join().unwrap() || in_progress == 1, "a transaction goes on that the close has not seen");
    });
    check(2, || {
        let slots = Arc::new(Slots::new(1, Xid::FIRST_NORMAL));
        assert!(slots.take().is_some());
        let snapshots = Arc::new(Snapshots::new(Lsn(10)));
        let reader = thread::spawn({
            let (slots, snapshots) = (slots.clone(), snapshots.clone());
            move || {
                snapshots.take(&slots, OwnerId(0));
                !slots.are_closed()
            }
        });
        let in_progress = close(&slots);
        assert!(!reader.join().unwrap() || in_progress == 1, "a snapshot is used that the close has not seen");
    });
}

/// A csn store whose window is full, so that the next page takes the slot of the first.
fn full_window() -> Arc<CsnStore> {
    let options = StatusStoreOptions { csn_window: 0, spilled_files: 1 };
    let store = CsnStore::new(Arc::new(NoFiles), std::path::Path::new("csn"), &options).unwrap();
    store.start(Xid(PAGE_ENTRIES));
    store.extend(Xid(5 * PAGE_ENTRIES - 1));
    Arc::new(store)
}

#[test]
fn a_csn_is_found_while_its_page_leaves_the_window() {
    check(2, || {
        let store = full_window();
        let xid = Xid(PAGE_ENTRIES + 1);
        store.set(xid, Entry::Committed(Lsn(77)));
        let extender = thread::spawn({
            let store = store.clone();
            move || store.extend(Xid(5 * PAGE_ENTRIES))
        });
        let found = store.recent(xid).or_else(|| store.not_recent(xid));
        assert_eq!(found, Some(Entry::Committed(Lsn(77))));
        extender.join().unwrap();
        assert_eq!(store.not_recent(xid), Some(Entry::Committed(Lsn(77))));
    });
}

#[test]
fn a_csn_set_while_its_page_leaves_the_window_is_not_lost() {
    check(2, || {
        let store = full_window();
        let xid = Xid(PAGE_ENTRIES + 1);
        let setter = thread::spawn({
            let store = store.clone();
            move || store.set(xid, Entry::Committed(Lsn(77)))
        });
        store.extend(Xid(5 * PAGE_ENTRIES));
        setter.join().unwrap();
        assert_eq!(store.not_recent(xid), Some(Entry::Committed(Lsn(77))));
        assert_eq!(store.recent(Xid(5 * PAGE_ENTRIES + 1)), Some(Entry::InProgress), "it went into another page");
    });
}

/// A counter of work that is asked for: it is done by whoever gets its turn.
#[test]
fn work_that_is_asked_for_while_somebody_is_at_it_is_done() {
    check(3, || {
        let asked = Arc::new(AtomicU64::new(0));
        let done = Arc::new(Combiner::new(0));
        let ask = |asked: &AtomicU64, done: &Combiner<u64>| {
            asked.fetch_add(1, Relaxed);
            let seen = std::cell::Cell::new(0);
            let work = |done: &mut u64| {
                seen.set(asked.load(Relaxed));
                *done = seen.get().max(*done);
            };
            done.run(work, || asked.load(Relaxed) > seen.get());
        };
        let other = thread::spawn({
            let (asked, done) = (asked.clone(), done.clone());
            move || ask(&asked, &done)
        });
        ask(&asked, &done);
        other.join().unwrap();
        done.run(|done| assert_eq!(*done, 2), || false);
    });
}

/// Two things are to be counted in their order, and the second becomes ready late. Its maker counts only if it comes next.
#[test]
fn work_that_becomes_possible_while_somebody_is_at_it_is_done() {
    check(3, || {
        let (counted, is_ready) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let turn = Arc::new(Combiner::new(()));
        let count = |counted: &AtomicU64, is_ready: &AtomicU64, turn: &Combiner<()>, is_maker: bool| {
            let can_count = || match counted.load(Relaxed) {
                0 => true,
                1 => is_ready.load(Relaxed) == 1,
                _ => false,
            };
            let work = |(): &mut ()| {
                while can_count() {
                    counted.store(counted.load(Relaxed) + 1, Relaxed);
                }
            };
            turn.run_if(|| !is_maker || counted.load(Relaxed) == 1, work, can_count);
        };
        let maker = thread::spawn({
            let (counted, is_ready, turn) = (counted.clone(), is_ready.clone(), turn.clone());
            move || {
                is_ready.store(1, Relaxed);
                count(&counted, &is_ready, &turn, true);
            }
        });
        count(&counted, &is_ready, &turn, false);
        maker.join().unwrap();
        assert_eq!(counted.load(Relaxed), 2);
    });
}

#[test]
fn the_retire_hooks_hear_of_all_that_became_durable() {
    check(3, || {
        let (hooks, durable) = (Arc::new(Hooks::new()), Arc::new(AtomicU64::new(0)));
        let told = Arc::new(AtomicU64::new(0));
        hooks.add_retire_hook(Arc::new({
            let told = told.clone();
            move |to: Lsn| told.store(to.0, Relaxed)
        }));
        let lead = |hooks: &Hooks, durable: &AtomicU64, to: u64| {
            durable.fetch_max(to, AcqRel);
            hooks.tell(|| durable.load(Acquire));
        };
        let other = thread::spawn({
            let (hooks, durable) = (hooks.clone(), durable.clone());
            move || lead(&hooks, &durable, 1)
        });
        // A leader that gathers looks at any time.
        hooks.have_retired(1);
        lead(&hooks, &durable, 2);
        other.join().unwrap();
        assert_eq!(told.load(Relaxed), 2);
        assert!(hooks.have_retired(2));
    });
}

#[test]
fn no_operation_goes_on_once_the_database_is_closed_and_they_are_over() {
    check(3, || {
        let slots = Arc::new(Slots::new(1, Xid::FIRST_NORMAL));
        let (operations, written) = (Arc::new(Operations::default()), Guarded::new());
        let operation = thread::spawn({
            let (slots, operations, written) = (slots.clone(), operations.clone(), written.clone());
            move || {
                if let Some(_under_way) = operations.begin(|| slots.are_closed()) {
                    written.add();
                }
            }
        });
        slots.close_if(|| true);
        if operations.are_over() {
            // Nobody else writes now: loom fails if somebody does.
            written.add();
        }
        operation.join().unwrap();
    });
}
