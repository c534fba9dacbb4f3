//! The structures that must be found, step by step, on a clock that counts commits.

use base::{FileNumber, Lsn, OwnerId, Result, Tid, Xid};
use clog::ReadWatch;
use sync::Arc;
use sync::atomic::{AtomicU64, Ordering};

use crate::stripes::stripe;
use crate::{KeyRange, PredicatePlace, SerializableTransaction, Ssi, SsiOptions};

const HEAP: FileNumber = FileNumber(10);
const INDEX: FileNumber = FileNumber(11);

/// A database of rows that are nothing but their places.
struct World {
    ssi: Arc<Ssi>,
    horizon: AtomicU64,
    next_xid: AtomicU64,
}

struct Transaction<'a> {
    world: &'a World,
    ssi: Option<SerializableTransaction>,
    xid: Option<Xid>,
}

fn row(number: u16) -> Tid {
    Tid::new(u32::from(number) / 4, number % 4 + 1)
}

impl World {
    fn new() -> World {
        World::with(SsiOptions::default())
    }

    fn with(options: SsiOptions) -> World {
        World { ssi: Ssi::new(options), horizon: AtomicU64::new(1000), next_xid: AtomicU64::new(100) }
    }

    fn now(&self) -> Lsn {
        Lsn(self.horizon.load(Ordering::SeqCst))
    }

    fn begin_as(&self, read_only: bool) -> Transaction<'_> {
        let (_, ssi) = self.ssi.entrance().begin(OwnerId(1), read_only, || self.now());
        Transaction { world: self, ssi, xid: None }
    }

    fn begin(&self) -> Transaction<'_> {
        self.begin_as(false)
    }
}

impl Transaction<'_> {
    fn watch(&self) -> &SerializableTransaction {
        self.ssi.as_ref().expect("watched")
    }

    fn reads(&self, number: u16) -> Result<()> {
        self.watch().saw(HEAP, row(number));
        self.watch().check_read()
    }

    /// Meets the version that another has made or removed.
    fn meets(&self, other: Xid, committed: Option<Lsn>) -> Result<()> {
        self.watch().met(other, committed);
        self.watch().check_read()
    }

    fn xid(&mut self) -> Xid {
        *self.xid.get_or_insert_with(|| {
            let xid = Xid(self.world.next_xid.fetch_add(1, Ordering::SeqCst));
            self.ssi.as_ref().expect("watched").note_xid(xid);
            xid
        })
    }

    fn writes(&mut self, number: u16) -> Result<()> {
        self.xid();
        self.watch().wrote_tuple(HEAP, row(number))
    }

    fn commits(self) -> Result<Lsn> {
        let world = self.world;
        let wrote = self.xid.is_some();
        self.watch().commit(|| {
            let csn = wrote.then(|| Lsn(world.horizon.fetch_add(8, Ordering::SeqCst) + 8));
            (csn, world.now(), csn.unwrap_or(world.now()))
        })
    }
}

impl Transaction<'_> {
    /// As [`Transaction::commits`], but new snapshots do not see the commit until the horizon is raised to the place returned.
    fn commits_unseen(self) -> Result<Lsn> {
        let (horizon, csn) = (self.world.now(), Lsn(self.world.now().0 + 8));
        self.watch().commit(|| (Some(csn), horizon, csn))
    }
}

fn reason(result: Result<impl std::fmt::Debug>) -> String {
    let error = result.expect_err("a serialization failure");
    assert_eq!(error.sqlstate(), base::sqlstate::SERIALIZATION_FAILURE);
    error.fields().detail.clone().unwrap_or_default().replace("Reason code: Canceled on ", "")
}

// invariants: row 17
#[test]
fn one_that_has_committed_is_known_to_those_that_do_not_see_it_yet() {
    let world = World::new();
    let mut a = world.begin();
    a.reads(1).unwrap();
    a.reads(2).unwrap();
    a.writes(1).unwrap();
    let xid = a.xid();
    let csn = a.commits_unseen().unwrap();
    let mut b = world.begin();
    b.reads(1).unwrap();
    b.meets(xid, Some(csn)).unwrap();
    b.reads(2).unwrap();
    assert_eq!(reason(b.writes(2)), "identification as a pivot, during write.");
    world.horizon.store(csn.0, Ordering::SeqCst);
    world.begin().commits().unwrap();
    world.ssi.check_consistency();
}

#[test]
fn a_read_only_one_meets_a_pivot_that_it_does_not_see_yet() {
    let world = World::new();
    let (mut pivot, mut out) = (world.begin(), world.begin());
    pivot.reads(1).unwrap();
    out.writes(1).unwrap();
    out.commits().unwrap();
    pivot.writes(2).unwrap();
    let xid = pivot.xid();
    let csn = pivot.commits_unseen().unwrap();
    let reader = world.begin_as(true);
    let said = reason(reader.meets(xid, Some(csn)));
    assert_eq!(said, format!("conflict out to pivot {}, during read.", xid.0));
}

// invariants: row 17
#[test]
fn of_two_that_write_what_the_other_has_read_one_commits() {
    let world = World::new();
    let (mut a, mut b) = (world.begin(), world.begin());
    a.reads(1).unwrap();
    a.reads(2).unwrap();
    b.reads(1).unwrap();
    b.reads(2).unwrap();
    a.writes(1).unwrap();
    b.writes(2).unwrap();
    a.commits().unwrap();
    assert_eq!(reason(b.commits()), "identification as a pivot, during commit attempt.");
    world.ssi.check_consistency();
}

#[test]
fn who_writes_after_the_other_has_committed_finds_out_at_once() {
    let world = World::new();
    let (mut a, mut b) = (world.begin(), world.begin());
    a.reads(1).unwrap();
    a.reads(2).unwrap();
    b.reads(1).unwrap();
    b.reads(2).unwrap();
    a.writes(1).unwrap();
    a.commits().unwrap();
    assert_eq!(reason(b.writes(2)), "identification as a pivot, during write.");
}

#[test]
fn who_meets_a_committed_pivot_must_go() {
    // t1 -> pivot -> out; out commits first, then the pivot, and only then t1 reads what the pivot wrote.
    let world = World::new();
    let (t1, mut pivot, mut out) = (world.begin(), world.begin(), world.begin());
    pivot.reads(1).unwrap();
    out.writes(1).unwrap();
    out.commits().unwrap();
    pivot.writes(2).unwrap();
    let xid = pivot.xid();
    let csn = pivot.commits().unwrap();
    let said = reason(t1.meets(xid, Some(csn)));
    assert_eq!(said, format!("conflict out to pivot {}, during read.", xid.0));
}

#[test]
fn nobody_is_sacrificed_while_no_tout_has_committed() {
    let world = World::new();
    let (mut t0, mut pivot, mut out) = (world.begin(), world.begin(), world.begin());
    t0.reads(2).unwrap();
    pivot.reads(1).unwrap();
    out.writes(1).unwrap();
    pivot.writes(2).unwrap();
    t0.writes(3).unwrap();
    // The pivot commits before the one it depends on: it comes first, then, in any serial order.
    pivot.commits().unwrap();
    out.commits().unwrap();
    t0.commits().unwrap();
    world.ssi.check_consistency();
}

// invariants: row 17
#[test]
fn the_read_only_anomaly_is_found_and_only_where_the_snapshot_allows_it() {
    // The deposit commits; the withdrawal has not seen it; a report that saw the deposit and not the withdrawal.
    let world = World::new();
    let (mut withdrawal, mut deposit) = (world.begin(), world.begin());
    withdrawal.reads(1).unwrap();
    withdrawal.reads(2).unwrap();
    deposit.writes(2).unwrap();
    deposit.commits().unwrap();
    let report = world.begin_as(true);
    report.reads(1).unwrap();
    report.reads(2).unwrap();
    report.commits().unwrap();
    assert_eq!(reason(withdrawal.writes(1)), "identification as a pivot, during write.");

    // The same with the report's snapshot taken before the deposit: it comes before both.
    let world = World::new();
    let (mut withdrawal, mut deposit) = (world.begin(), world.begin());
    let report = world.begin_as(true);
    withdrawal.reads(1).unwrap();
    withdrawal.reads(2).unwrap();
    deposit.writes(2).unwrap();
    deposit.commits().unwrap();
    report.reads(1).unwrap();
    report.reads(2).unwrap();
    withdrawal.writes(1).unwrap();
    report.commits().unwrap();
    withdrawal.commits().unwrap();
}

// invariants: row 18
#[test]
fn a_retry_does_not_meet_the_same_conflicts_again() {
    let world = World::new();
    let (mut a, mut b) = (world.begin(), world.begin());
    for transaction in [&a, &b] {
        transaction.reads(1).unwrap();
        transaction.reads(2).unwrap();
    }
    a.writes(1).unwrap();
    b.writes(2).unwrap();
    a.commits().unwrap();
    reason(b.commits());
    let mut again = world.begin();
    again.reads(1).unwrap();
    again.reads(2).unwrap();
    again.writes(2).unwrap();
    again.commits().unwrap();
}

#[test]
fn a_range_that_was_looked_through_conflicts_with_a_key_in_it_and_not_with_another() {
    use std::ops::Bound::{Excluded, Included};
    let world = World::new();
    let (mut a, mut b) = (world.begin(), world.begin());
    let scan = a.watch().next_scan(INDEX);
    a.watch().lock_range(INDEX, scan, KeyRange { lower: Included(vec![10]), upper: Excluded(vec![20]) });
    b.watch().lock_key(INDEX, &[30]);
    a.xid();
    b.xid();
    a.watch().wrote_key(INDEX, &[31]).unwrap();
    b.watch().wrote_key(INDEX, &[20]).unwrap();
    assert_eq!(world.ssi.statistics().conflicts, 0);
    a.watch().wrote_key(INDEX, &[30]).unwrap();
    b.watch().wrote_key(INDEX, &[15]).unwrap();
    assert_eq!(world.ssi.statistics().conflicts, 2);
    a.commits().unwrap();
    reason(b.commits());
}

#[test]
fn rolling_back_takes_every_conflict_along() {
    let world = World::new();
    let (mut a, mut b) = (world.begin(), world.begin());
    a.reads(1).unwrap();
    b.reads(2).unwrap();
    a.writes(2).unwrap();
    b.writes(1).unwrap();
    drop(a);
    world.ssi.check_consistency();
    b.commits().unwrap();
    assert_eq!(world.ssi.statistics().locks, 0, "nobody runs: nothing is remembered");
    world.ssi.check_consistency();
}

#[test]
fn what_another_thread_has_finished_goes_when_much_has_gathered_or_somebody_asks() {
    let world = World::new();
    let finish_elsewhere = |count: u16| {
        let old = world.begin();
        let mine = stripe();
        // Few threads have the number of this one.
        let finish = || {
            let is_other = stripe() != mine;
            for number in (0..count).filter(|_| is_other) {
                let transaction = world.begin();
                transaction.reads(number).unwrap();
                transaction.commits().unwrap();
            }
            is_other
        };
        while !std::thread::scope(|scope| scope.spawn(finish).join().unwrap()) {}
        assert_eq!(world.ssi.locks.len(), usize::from(count));
        old.commits().unwrap();
    };
    finish_elsewhere(100);
    assert_eq!(world.ssi.locks.len(), 0);
    finish_elsewhere(10);
    assert_eq!(world.ssi.locks.len(), 10, "they are left to the thread");
    world.ssi.check_consistency();
    assert_eq!(world.ssi.statistics().finished, 0);
    assert_eq!(world.ssi.locks.len(), 0);
    world.ssi.check_consistency();
}

#[test]
fn what_has_finished_is_remembered_as_long_as_somebody_overlaps_it() {
    let world = World::new();
    let old = world.begin();
    for number in 0..50 {
        let mut transaction = world.begin();
        transaction.reads(number).unwrap();
        transaction.writes(number + 100).unwrap();
        transaction.commits().unwrap();
    }
    let statistics = world.ssi.statistics();
    assert_eq!((statistics.active, statistics.finished, statistics.locks), (1, 50, 50));
    assert!(world.ssi.predicate_locks().iter().all(|lock| lock.finished));
    old.commits().unwrap();
    let statistics = world.ssi.statistics();
    assert_eq!((statistics.active, statistics.finished, statistics.locks), (0, 0, 0));
    world.ssi.check_consistency();
}

#[test]
fn many_locks_on_a_page_become_the_page_and_many_in_a_relation_the_relation() {
    let options = SsiOptions { tuples_per_page: 3, locks_per_relation: 5, ..SsiOptions::default() };
    let world = World::with(options);
    let reader = world.begin();
    (0..4).for_each(|number| reader.reads(number).unwrap());
    let places = |world: &World| -> Vec<_> { world.ssi.predicate_locks().iter().map(|lock| lock.place).collect() };
    assert_eq!(places(&world), [PredicatePlace::Page(0)]);
    // A tuple of the page that it never saw, and one elsewhere.
    let mut writer = world.begin();
    writer.writes(40).unwrap();
    assert_eq!(world.ssi.statistics().conflicts, 0);
    writer.writes(3).unwrap();
    assert_eq!(world.ssi.statistics().conflicts, 1);
    (20..40).for_each(|number| reader.reads(number).unwrap());
    assert_eq!(places(&world), [PredicatePlace::Relation]);
}

// invariants: row 20
#[test]
fn with_hardly_any_memory_conflicts_are_still_found_and_nothing_fails_for_want_of_it() {
    let options = SsiOptions { locks: 20, finished: 4, ..SsiOptions::default() };
    let world = World::with(options);
    let mut old = world.begin();
    old.reads(7).unwrap();
    let mut others_sacrificed = 0;
    let mut seven = None;
    for number in 0..2000u16 {
        let mut transaction = world.begin();
        let done = transaction
            .reads(number % 900 + 100)
            .and_then(|()| transaction.writes(number % 900 + 1000))
            .and_then(|()| if number == 5 { transaction.writes(7) } else { Ok(()) });
        if number == 5 {
            seven = transaction.xid;
        }
        let csn = done.and_then(|()| transaction.commits());
        others_sacrificed += u32::from(csn.is_err());
        if number == 5 {
            seven = seven.filter(|_| csn.is_ok());
        }
        let statistics = world.ssi.statistics();
        assert!(statistics.finished <= 5 && statistics.locks < 200, "{statistics:?}");
    }
    assert_eq!(others_sacrificed, 0, "none of them is a pivot");
    let statistics = world.ssi.statistics();
    assert!(statistics.summarised > 1900, "{statistics:?}");
    // A row that the old transaction read was overwritten by a transaction long since merged. Now the old transaction writes a row
    // that another merged transaction has read.
    assert!(seven.is_some());
    assert_eq!(reason(old.writes(101)), "identification as a pivot, during write.");
    drop(old);
    let mut fresh = world.begin();
    fresh.writes(101).unwrap();
    fresh.commits().unwrap();
    assert_eq!(world.ssi.statistics().locks, 0, "the summary goes when nobody overlaps it");
    world.ssi.check_consistency();
}

#[test]
fn a_pivot_remembered_in_summary_is_still_a_pivot() {
    let world = World::with(SsiOptions { finished: 1, ..SsiOptions::default() });
    let late = world.begin();
    let (mut pivot, mut out) = (world.begin(), world.begin());
    pivot.reads(1).unwrap();
    out.writes(1).unwrap();
    out.commits().unwrap();
    pivot.writes(2).unwrap();
    let xid = pivot.xid();
    let csn = pivot.commits().unwrap();
    for number in 0..40 {
        let mut other = world.begin();
        other.writes(number + 100).unwrap();
        other.commits().unwrap();
    }
    assert!(world.ssi.statistics().summarised >= 2);
    assert_eq!(reason(late.meets(xid, Some(csn))), format!("conflict out to old pivot {}.", xid.0));
}

// invariants: row 19
#[test]
fn a_read_only_snapshot_is_safe_when_those_it_overlaps_have_ended_without_harm() {
    let world = World::new();
    assert!(world.begin_as(true).ssi.is_none(), "alone");
    let writer = world.begin();
    let reader = world.begin_as(true);
    assert!(reader.watch().is_watched());
    reader.reads(1).unwrap();
    assert_eq!(world.ssi.statistics().locks, 1);
    writer.commits().unwrap();
    assert!(!reader.watch().is_watched());
    assert_eq!(world.ssi.statistics().locks, 0, "its locks went when it was asked");
    world.ssi.check_consistency();
}

// invariants: row 19
#[test]
fn a_snapshot_is_unsafe_once_one_it_overlaps_commits_with_a_conflict_to_the_past() {
    let world = World::new();
    let (mut pivot, mut out) = (world.begin(), world.begin());
    pivot.reads(1).unwrap();
    out.writes(1).unwrap();
    out.commits().unwrap();
    let reader = world.begin_as(true);
    pivot.writes(2).unwrap();
    pivot.commits().unwrap();
    let interrupt = sync::Interrupt::new();
    assert!(!reader.watch().wait_until_safe(&interrupt).unwrap());
    assert!(reader.watch().is_watched());
    // Another, begun now, overlaps nobody.
    assert!(world.begin_as(true).ssi.is_none() || world.ssi.statistics().active > 0);
}

#[test]
fn an_imported_snapshot_is_watched_from_where_it_stands() {
    let world = World::new();
    let exporter = world.begin();
    let snapshot = world.now();
    let mut out = world.begin();
    out.writes(1).unwrap();
    let (xid, csn) = (out.xid(), out.commits().unwrap());
    let ssi = Some(world.ssi.entrance().begin_imported(OwnerId(2), false, snapshot));
    let mut importer = Transaction { world: &world, ssi, xid: None };
    drop(exporter);
    world.ssi.check_consistency();
    importer.meets(xid, Some(csn)).unwrap();
    let t0 = world.begin();
    t0.reads(2).unwrap();
    assert_eq!(reason(importer.writes(2)), "identification as a pivot, during write.");
}

#[test]
fn a_waiter_for_a_safe_snapshot_is_woken_by_the_last_it_waits_for() {
    let world = World::new();
    let writer = world.begin();
    let reader = world.begin_as(true);
    std::thread::scope(|scope| {
        let watch = reader.ssi.as_ref().expect("watched");
        let waiting = std::thread::Builder::new();
        // The handle is one thread's at a time: the writer moves instead.
        let ending = waiting
            .spawn_scoped(scope, move || {
                while writer.world.ssi.safe_snapshot_blockers(OwnerId(1)).is_empty() {
                    std::thread::yield_now();
                }
                writer.commits().unwrap();
            })
            .unwrap();
        assert!(watch.wait_until_safe(&sync::Interrupt::new()).unwrap());
        ending.join().unwrap();
    });
}

// invariants: row 26
#[test]
fn a_prepared_transaction_comes_back_with_its_locks_and_damaged_ones_are_errors_at_most() {
    let world = World::new();
    let mut prepared = world.begin();
    prepared.reads(1).unwrap();
    prepared.watch().lock_relation(INDEX);
    prepared.xid();
    let state = prepared.watch().prepared_state();
    let restore = |state: &[u8]| {
        let ssi = Ssi::new(SsiOptions::default());
        let xids = [Xid(7), Xid(9)].into_iter();
        ssi.restore_prepared(OwnerId(3), state, Lsn(1000), xids).map(|restored| (ssi.predicate_locks(), restored))
    };
    let (locks, restored) = restore(&state).unwrap();
    let places: Vec<_> = locks.iter().map(|lock| (lock.file, lock.place, lock.owner)).collect();
    let tuple = PredicatePlace::Tuple(row(1));
    assert_eq!(places, [(HEAP, tuple, Some(OwnerId(3))), (INDEX, PredicatePlace::Relation, Some(OwnerId(3)))]);
    drop(restored);
    for cut in 0..state.len() {
        assert_eq!(restore(&state[..cut]).is_ok(), cut % 16 == 1, "cut at {cut}");
        for value in [0, 1, 0x7F, 0xFF] {
            let mut damaged = state.clone();
            damaged[cut] = value;
            let _ = restore(&damaged);
        }
    }
}

#[test]
fn a_prepared_transaction_is_never_the_victim() {
    // It would be the pivot of a later commit.
    let world = World::new();
    let (mut pivot, mut out, mut t0) = (world.begin(), world.begin(), world.begin());
    pivot.reads(1).unwrap();
    t0.reads(2).unwrap();
    pivot.writes(2).unwrap();
    pivot.watch().prepare(world.now()).unwrap();
    t0.writes(5).unwrap();
    out.writes(1).unwrap();
    assert_eq!(reason(out.commits()), "commit attempt with conflict in from prepared pivot.");
    pivot.commits().unwrap();
    t0.commits().unwrap();

    // It may have committed first: who depends on it counts as a pivot at once.
    let world = World::new();
    let (mut pivot, mut prepared, t0) = (world.begin(), world.begin(), world.begin());
    pivot.reads(1).unwrap();
    prepared.writes(1).unwrap();
    prepared.watch().prepare(world.now()).unwrap();
    t0.reads(2).unwrap();
    assert_eq!(reason(pivot.writes(2)), "identification as a pivot, during write.");
    prepared.commits().unwrap();
}

#[test]
fn who_meets_a_prepared_writer_can_be_no_pivot() {
    // The prepared one is no longer checked when it commits, so it must be found now.
    let world = World::new();
    let mut prepared = world.begin();
    prepared.reads(1).unwrap();
    prepared.writes(2).unwrap();
    prepared.watch().prepare(world.now()).unwrap();
    let writer = prepared.xid.expect("it wrote");
    let mut pivot = world.begin();
    pivot.meets(writer, None).unwrap();
    assert_eq!(reason(pivot.writes(1)), "identification as a pivot, during write.");
    prepared.commits().unwrap();

    // The other way round.
    let world = World::new();
    let (mut prepared, mut pivot) = (world.begin(), world.begin());
    prepared.reads(1).unwrap();
    prepared.writes(2).unwrap();
    let writer = prepared.xid.expect("it wrote");
    pivot.writes(1).unwrap();
    prepared.watch().prepare(world.now()).unwrap();
    pivot.meets(writer, None).unwrap_err();
    prepared.commits().unwrap();

    // One that only meets it is in no danger.
    let world = World::new();
    let mut prepared = world.begin();
    prepared.reads(1).unwrap();
    prepared.writes(2).unwrap();
    prepared.watch().prepare(world.now()).unwrap();
    let writer = prepared.xid.expect("it wrote");
    let mut other = world.begin();
    other.meets(writer, None).unwrap();
    other.writes(3).unwrap();
    prepared.commits().unwrap();
    other.commits().unwrap();
}

#[test]
fn who_rewrites_a_relation_conflicts_with_all_who_read_any_of_it() {
    let world = World::new();
    let (reader, mut writer) = (world.begin(), world.begin());
    reader.reads(3).unwrap();
    reader.watch().lock_key(INDEX, b"k");
    writer.xid();
    writer.watch().wrote_relation(HEAP).unwrap();
    assert_eq!(world.ssi.statistics().conflicts, 1);
    let rewritten = FileNumber(50);
    world.ssi.relation_rewritten(&[HEAP, INDEX], rewritten);
    let mut later = world.begin();
    later.xid();
    later.watch().wrote_row(rewritten).unwrap();
    assert_eq!(world.ssi.statistics().conflicts, 2);
    drop((reader, writer, later));
    assert_eq!(world.ssi.statistics().locks, 0);
}

#[test]
fn the_log_can_name_the_pivot() {
    let mut conflicts = crate::conflicts::Conflicts::new();
    conflicts.names_pivots = true;
    let mut begin = |xid: u64| match conflicts.begin(OwnerId(xid as u32), Lsn(10), false) {
        crate::conflicts::Begun::Watched(id, signals) => {
            signals.xid.store(xid, Ordering::Relaxed);
            id
        }
        crate::conflicts::Begun::Safe => unreachable!("it writes"),
    };
    let (first, pivot, out) = (begin(1), begin(2), begin(3));
    conflicts.conflict(first, pivot, pivot, Xid::INVALID).unwrap();
    conflicts.conflict(pivot, out, out, Xid::INVALID).unwrap();
    conflicts.check_commit(out).unwrap();
    let expected = crate::conflicts::Structure { first: Xid(1), pivot: Xid(2), out: Xid(3), out_commit: None };
    assert_eq!(conflicts.named, [expected]);
}

#[test]
fn blind_it_lets_everything_through() {
    let world = World::new();
    world.ssi.set_blind(true);
    let (mut a, mut b) = (world.begin(), world.begin());
    a.reads(1).unwrap();
    b.reads(2).unwrap();
    a.writes(2).unwrap();
    b.writes(1).unwrap();
    a.commits().unwrap();
    b.commits().unwrap();
}
