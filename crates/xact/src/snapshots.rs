//! Snapshots, and what nobody needs any more.
//!
//! A snapshot is one position of the log: the *horizon* when it was taken. It sees exactly the transactions whose commit
//! sequence number is at or below it. While it is used, no version that it sees may be removed; but who takes one must not
//! take a lock, and who removes versions can't look at ten thousand slots each time. So:
//!
//! ```text
//!   who takes one                          who raises the floor (once per cohort, and vacuum)
//!   -------------                          ---------------------
//!   s = horizon                            candidate = horizon
//!   slot = s                               raised = candidate
//!   ---- fence ----                        ---- fence ----
//!   raised > s ?  again from the top       floor = min(candidate, every slot)
//! ```
//!
//! The fences order each side's store before its loads: either the taker sees that `raised` has passed its `s`, or the
//! raiser sees the slot. So no snapshot in use is below `floor`, and a version whose remover's commit is at or below it is
//! dead to everyone, now and later.
//!
//! An import publishes a snapshot that is older than `raised`. It does so between two raisings, never during one: a
//! raiser might have passed the importer's slot already and find the exporter's empty.

use base::{Lsn, OwnerId};
use sync::atomic::AtomicU64;
use sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use sync::atomic::fence;
use sync::{CachePadded, Mutex, MutexGuard};

use crate::slots::{NO_SNAPSHOT, Slots};

/// Two marks in the log that every commit raises; on one cache line, since they are written together.
struct Marks {
    /// At or above the csn of every commit of which anybody can know: raised before anything shows the commit.
    placed: AtomicU64,
    /// Every commit at or below is visible to new snapshots. Raised last, in commit order.
    horizon: AtomicU64,
}

pub(crate) struct Snapshots {
    marks: CachePadded<Marks>,
    /// No snapshot below will be taken any more.
    raised: AtomicU64,
    /// No snapshot below is used, or will be.
    floor: AtomicU64,
    raising: Mutex<()>,
}

impl Snapshots {
    pub(crate) fn new(horizon: Lsn) -> Snapshots {
        // Position 0 stands for an empty slot.
        let horizon = horizon.0.max(1);
        Snapshots {
            marks: CachePadded::new(Marks { placed: AtomicU64::new(horizon), horizon: AtomicU64::new(horizon) }),
            raised: AtomicU64::new(0),
            floor: AtomicU64::new(0),
            raising: Mutex::new(()),
        }
    }

    pub(crate) fn horizon(&self) -> Lsn {
        Lsn(self.marks.horizon.load(Acquire))
    }

    /// At or above the csn of every commit of which the caller has seen anything: its status, its locks gone, its catalog
    /// version. The horizon may still be below such a commit. To be read after what was seen.
    pub(crate) fn placed(&self) -> Lsn {
        Lsn(self.marks.placed.load(Acquire))
    }

    /// The commit at `csn` is about to show. The callers take turns in commit order, as at [`Snapshots::raise_horizon`].
    pub(crate) fn note_placed(&self, csn: Lsn) {
        debug_assert!(self.marks.placed.load(Relaxed) < csn.0, "commits show in the order of the log");
        self.marks.placed.store(csn.0, Release);
    }

    /// Makes everything up to `csn` visible. Its callers see to it that one comes after the other.
    pub(crate) fn raise_horizon(&self, csn: Lsn) {
        debug_assert!(self.marks.horizon.load(Relaxed) < csn.0, "the horizon is monotone");
        self.marks.horizon.store(csn.0, Release);
    }

    /// Takes a snapshot for an owner that uses no other.
    #[inline]
    pub(crate) fn take(&self, slots: &Slots, owner: OwnerId) -> Lsn {
        let slot = &slots.get(owner).snapshot;
        loop {
            let snapshot = self.marks.horizon.load(Acquire);
            slot.store(snapshot, Release);
            fence(SeqCst);
            if self.raised.load(Acquire) <= snapshot {
                return Lsn(snapshot);
            }
        }
    }

    /// Publishes the oldest snapshot that an owner still uses; it is not older than the one published before.
    pub(crate) fn keep(&self, slots: &Slots, owner: OwnerId, oldest: Option<Lsn>) {
        slots.get(owner).snapshot.store(oldest.map_or(NO_SNAPSHOT, |oldest| oldest.0), Release);
    }

    /// Publishes a snapshot that somebody else has taken. False: versions it needs may be gone.
    pub(crate) fn import(&self, slots: &Slots, owner: OwnerId, csn: Lsn) -> bool {
        let _between_raisings = self.raising.lock();
        if csn < self.floor() || csn > self.horizon() {
            return false;
        }
        let slot = &slots.get(owner).snapshot;
        let before = slot.load(Relaxed);
        if before == NO_SNAPSHOT || before > csn.0 {
            slot.store(csn.0, SeqCst);
        }
        true
    }

    /// Raises the floor as far as the snapshots in use allow, and returns it. Reads all slots.
    pub(crate) fn raise_floor(&self, slots: &Slots) -> Lsn {
        let one_at_a_time = self.raising.lock();
        self.raise_floor_alone(slots, &one_at_a_time)
    }

    fn raise_floor_alone(&self, slots: &Slots, _one_at_a_time: &MutexGuard<'_, ()>) -> Lsn {
        let candidate = self.marks.horizon.load(Acquire);
        self.raised.store(candidate, SeqCst);
        fence(SeqCst);
        let in_use =
            slots.used().map(|(_, slot)| slot.snapshot.load(Acquire)).filter(|snapshot| *snapshot != NO_SNAPSHOT);
        let floor = in_use.min().map_or(candidate, |oldest| oldest.min(candidate));
        debug_assert!(self.floor.load(Relaxed) <= floor, "a snapshot below the floor was published");
        self.floor.store(floor, Release);
        Lsn(floor)
    }

    /// Raises the floor unless somebody is at it.
    pub(crate) fn try_raise_floor(&self, slots: &Slots) {
        if let Some(one_at_a_time) = self.raising.try_lock() {
            self.raise_floor_alone(slots, &one_at_a_time);
        }
    }

    pub(crate) fn floor(&self) -> Lsn {
        Lsn(self.floor.load(Acquire))
    }
}

#[cfg(all(test, shuttle))]
mod models {
    use base::Xid;
    use sync::{Arc, thread};

    use super::*;

    fn check(model: impl Fn() + Send + Sync + 'static) {
        let iterations =
            std::env::var("COHORT_MODEL_ITERATIONS").map_or(3000, |text| text.parse().expect("a number of executions"));
        let model = Arc::new(model);
        let again = model.clone();
        shuttle::check_random(move || model(), iterations);
        shuttle::check_pct(move || again(), iterations, 3);
    }

    struct World {
        slots: Slots,
        snapshots: Snapshots,
        /// Versions whose remover committed at or below this have been removed.
        removed: AtomicU64,
    }

    impl World {
        fn new() -> Arc<World> {
            let slots = Slots::new(4, Xid::FIRST_NORMAL);
            assert!((0..4).all(|_| slots.take().is_some()));
            Arc::new(World { slots, snapshots: Snapshots::new(Lsn(10)), removed: AtomicU64::new(0) })
        }

        fn commit(&self, upto: u64) {
            let next = self.snapshots.horizon().0 + 1;
            (next..=upto).for_each(|csn| self.snapshots.raise_horizon(Lsn(csn)));
        }

        fn vacuum(&self) {
            let floor = self.snapshots.raise_floor(&self.slots);
            self.removed.fetch_max(floor.0, SeqCst);
        }

        /// Everything a snapshot may look at is there.
        fn look(&self, snapshot: Lsn) {
            assert!(self.removed.load(SeqCst) <= snapshot.0, "a version that {snapshot} needs was removed");
        }
    }

    // invariants: row 29
    #[test]
    fn a_snapshot_taken_while_the_floor_is_raised_never_misses_a_version() {
        check(|| {
            let world = World::new();
            let mut threads: Vec<_> = (0..2)
                .map(|number| {
                    let world = world.clone();
                    thread::spawn(move || {
                        let owner = OwnerId(number);
                        for _ in 0..2 {
                            let snapshot = world.snapshots.take(&world.slots, owner);
                            world.look(snapshot);
                            thread::yield_now();
                            world.look(snapshot);
                            world.snapshots.keep(&world.slots, owner, None);
                        }
                    })
                })
                .collect();
            threads.push(thread::spawn({
                let world = world.clone();
                move || (11..14).for_each(|csn| world.commit(csn))
            }));
            threads.push(thread::spawn({
                let world = world.clone();
                move || (0..3).for_each(|_| world.vacuum())
            }));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            world.vacuum();
            assert_eq!(world.snapshots.floor(), Lsn(13), "nobody holds it back for ever");
        });
    }

    // invariants: row 29
    #[test]
    fn an_imported_snapshot_is_protected_when_its_exporter_lets_go() {
        // The importer's slot comes before the exporter's, and after it.
        for (exporter, importer) in [(OwnerId(2), OwnerId(1)), (OwnerId(0), OwnerId(3))] {
            check(move || {
                let world = World::new();
                let snapshot = world.snapshots.take(&world.slots, exporter);
                world.commit(15);
                let vacuum = thread::spawn({
                    let world = world.clone();
                    move || (0..2).for_each(|_| world.vacuum())
                });
                let import = thread::spawn({
                    let world = world.clone();
                    move || {
                        assert!(world.snapshots.import(&world.slots, importer, snapshot), "the exporter holds it");
                        world.snapshots.keep(&world.slots, exporter, None);
                        world.look(snapshot);
                        thread::yield_now();
                        world.look(snapshot);
                    }
                });
                import.join().unwrap();
                vacuum.join().unwrap();
                world.look(snapshot);
            });
        }
    }
}
