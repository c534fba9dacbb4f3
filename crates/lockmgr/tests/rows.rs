//! Row waits and row locks, and waits for transactions' ends.
#![cfg(not(shuttle))]

mod common;

use std::time::{Duration, Instant};

use base::{OwnerId, Tid, Xid, sqlstate};
use cohort_lockmgr::{LockManager, LockMode, LockTag, RowLockAttempt, RowLockMode, Scope, WaitPolicy};
use common::{RELATION, ROW, Session, owner, until, until_waiting, xid};
use sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use sync::{Arc, Coroutine, InterruptKind, Mutex, ReadyQueue, StackPool, Step, TimeSlices, thread};

fn manager(owners: u32) -> Arc<LockManager> {
    Arc::new(LockManager::new(owners))
}

/// A row of a table, as heap would keep it: who changed it last, and where its newest version is.
struct HotRow {
    locks: Arc<LockManager>,
    state: Mutex<(Xid, Tid)>,
    next_xid: AtomicU64,
    updates: AtomicU64,
    wakes: AtomicUsize,
}

impl HotRow {
    fn new(locks: &Arc<LockManager>, holder: Xid) -> HotRow {
        HotRow {
            locks: locks.clone(),
            state: Mutex::new((holder, ROW)),
            next_xid: AtomicU64::new(1000),
            updates: AtomicU64::new(0),
            wakes: AtomicUsize::new(0),
        }
    }

    /// One transaction that updates the row, as heap does it.
    fn update(&self, session: &Session) {
        let locks = &*self.locks;
        let xid = Xid(self.next_xid.fetch_add(1, SeqCst));
        locks.transaction_started(xid, session.owner);
        let mut turn = None;
        loop {
            let must_queue = turn.is_none() && {
                let newest = self.state.lock().1;
                locks.must_queue(session.owner, RELATION, newest)
            };
            let mut state = self.state.lock();
            let (holder, newest) = *state;
            let holder = if locks.owner_of(holder).is_some() { holder } else { Xid::INVALID };
            if !holder.is_valid() && !must_queue {
                let moved = Tid::new(newest.block, newest.slot % 200 + 1);
                *state = (xid, moved);
                drop(state);
                if let Some(turn) = turn.take() {
                    cohort_lockmgr::RowTurn::updated(turn, moved, xid, RowLockMode::NoKeyUpdate);
                }
                break;
            }
            drop(state);
            self.wakes.fetch_add(1, SeqCst);
            let options = session.options();
            match &mut turn {
                Some(turn) => assert!(turn.wait_again(newest, holder, &options).unwrap()),
                None => {
                    let mode = RowLockMode::NoKeyUpdate;
                    turn = locks.wait_for_row(session.owner, RELATION, newest, holder, mode, &options).unwrap();
                }
            }
        }
        self.updates.fetch_add(1, SeqCst);
        locks.unlock_all(session.owner, Scope::Transaction);
        locks.transaction_ended(xid);
    }
}

#[test]
fn one_heir_is_woken_at_a_time_and_in_order() {
    let locks = manager(64);
    let holder = owner(0);
    locks.transaction_started(xid(10), holder);
    let order = Mutex::new(Vec::new());
    let running = AtomicUsize::new(0);
    thread::scope(|scope| {
        for number in 1..=8 {
            let session = Session::new(&locks, number);
            let (order, running) = (&order, &running);
            scope.spawn(move || {
                let mode = RowLockMode::NoKeyUpdate;
                let turn = session.locks.wait_for_row(session.owner, RELATION, ROW, xid(10), mode, &session.options());
                let turn = turn.unwrap();
                assert_eq!(running.fetch_add(1, SeqCst), 0, "two heirs at once");
                order.lock().push(session.owner.0);
                thread::sleep(Duration::from_millis(2));
                running.fetch_sub(1, SeqCst);
                drop(turn);
            });
            until_waiting(&locks, number as usize);
        }
        // Only the first waits on the transaction; the others wait for those before them.
        assert_eq!(locks.waiting_for(owner(1)), Some((LockTag::Xid(xid(10)), LockMode::Share)));
        assert_eq!(locks.blocking_owners(owner(1)), [holder]);
        let row = LockTag::Row { relation: RELATION, tid: ROW };
        assert_eq!(locks.waiting_for(owner(5)), Some((row, LockMode::Exclusive)));
        assert_eq!(locks.blocking_owners(owner(5)), [1, 2, 3, 4].map(owner));
        locks.transaction_ended(xid(10));
    });
    assert_eq!(*order.lock(), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(!locks.has_row_entry(RELATION, ROW));
    assert!(locks.snapshot().is_empty());
}

#[test]
fn a_hot_row_is_updated_by_all_and_wakes_about_one_for_each_update() {
    let locks = manager(64);
    let row = HotRow::new(&locks, Xid::INVALID);
    let (threads, rounds) = (8, 500);
    thread::scope(|scope| {
        for number in 0..threads {
            let session = Session::new(&locks, number);
            let row = &row;
            scope.spawn(move || (0..rounds).for_each(|_| row.update(&session)));
        }
    });
    let updates = row.updates.load(SeqCst);
    assert_eq!(updates, u64::from(threads) * rounds);
    assert!(row.wakes.load(SeqCst) as u64 <= 3 * updates, "{} waits for {updates} updates", row.wakes.load(SeqCst));
    assert!(locks.snapshot().is_empty());
}

// invariants: row 28
#[test]
fn five_thousand_suspended_sessions_on_two_threads_get_a_row_one_after_the_other() {
    const SESSIONS: u32 = 5000;
    let locks = manager(SESSIONS + 1);
    locks.transaction_started(xid(10), owner(SESSIONS));
    let row = Arc::new(HotRow::new(&locks, xid(10)));
    thread::scope(|scope| {
        for worker in 0..2 {
            let (locks, row) = (locks.clone(), row.clone());
            scope.spawn(move || {
                let this = thread::current();
                let ready = Arc::new(ReadyQueue::new(move || this.unpark()));
                let stacks = StackPool::new(64 << 10, 64);
                let mut sessions: std::collections::BTreeMap<u64, Coroutine<()>> = (0..SESSIONS)
                    .filter(|number| number % 2 == worker)
                    .map(|number| {
                        let (locks, row) = (locks.clone(), row.clone());
                        let run = move || row.update(&Session::new(&locks, number));
                        (u64::from(number), Coroutine::new(&stacks, ready.clone(), u64::from(number), run))
                    })
                    .collect();
                let mut tokens: Vec<u64> = sessions.keys().copied().collect();
                while !sessions.is_empty() {
                    for token in std::mem::take(&mut tokens) {
                        let Some(session) = sessions.get_mut(&token) else { continue };
                        if let Step::Finished(()) = session.resume() {
                            sessions.remove(&token);
                        }
                    }
                    ready.drain(&mut tokens);
                    if tokens.is_empty() && !sessions.is_empty() && ready.may_sleep() {
                        thread::park_timeout(Duration::from_millis(50));
                    }
                    ready.set_awake();
                }
            });
        }
        until_waiting(&locks, SESSIONS as usize);
        locks.unlock_all(owner(SESSIONS), Scope::Transaction);
        locks.transaction_ended(xid(10));
    });
    assert_eq!(row.updates.load(SeqCst), u64::from(SESSIONS));
    assert_eq!(locks.waiting_count(), 0);
    assert!(locks.snapshot().is_empty());
}

#[test]
fn a_member_that_gives_up_leaves_the_others_their_places() {
    let locks = manager(16);
    locks.transaction_started(xid(10), owner(0));
    let sessions: Vec<Session> = (1..=4).map(|number| Session::new(&locks, number)).collect();
    let turns = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for (index, session) in sessions.iter().enumerate() {
            let turns = &turns;
            scope.spawn(move || {
                let mode = RowLockMode::Update;
                match session.locks.wait_for_row(session.owner, RELATION, ROW, xid(10), mode, &session.options()) {
                    Ok(turn) => {
                        let mut turn = turn.expect("no turn is skipped");
                        // One that comes to the front because another one gives up looks for itself.
                        while session.locks.owner_of(xid(10)).is_some() {
                            assert!(turn.wait_again(ROW, xid(10), &session.options()).unwrap());
                        }
                        turns.lock().push(session.owner.0);
                        drop(turn);
                    }
                    Err(error) => assert_eq!(error.sqlstate(), sqlstate::QUERY_CANCELED),
                }
            });
            until_waiting(&locks, index + 1);
        }
        // The head, and one in the middle.
        sessions[0].interrupt.raise(InterruptKind::Cancel);
        sessions[2].interrupt.raise(InterruptKind::Cancel);
        // Two may be waiting before the new head has left the queue, so it is the head that is waited for.
        let transaction = Some((LockTag::Xid(xid(10)), LockMode::Share));
        until(|| locks.waiting_for(owner(2)) == transaction, "the new head's wait for the transaction");
        until_waiting(&locks, 2);
        locks.transaction_ended(xid(10));
    });
    assert_eq!(*turns.lock(), [2, 4]);
}

#[test]
fn who_stands_behind_one_that_waited_for_it_has_its_turn() {
    let locks = manager(16);
    let sharers: Vec<Session> = (1..=2).map(|number| Session::new(&locks, number)).collect();
    locks.transaction_started(xid(10), sharers[0].owner);
    locks.transaction_started(xid(20), sharers[1].owner);
    let turns = AtomicUsize::new(0);
    thread::scope(|scope| {
        // Both share the row and want more of it.
        for (session, other) in sharers.iter().zip([xid(20), xid(10)]) {
            let turns = &turns;
            scope.spawn(move || {
                let mode = RowLockMode::Update;
                match session.locks.wait_for_row(session.owner, RELATION, ROW, other, mode, &session.options()) {
                    Ok(turn) => {
                        // The other one still shares it.
                        let mut turn = turn.expect("no turn is skipped");
                        turns.fetch_add(1, SeqCst);
                        assert!(turn.wait_again(ROW, other, &session.options()).unwrap());
                        turns.fetch_add(1, SeqCst);
                    }
                    Err(error) => assert_eq!(error.sqlstate(), sqlstate::QUERY_CANCELED),
                }
            });
            until_waiting(&locks, if other == xid(20) { 1 } else { 2 });
        }
        sharers[0].interrupt.raise(InterruptKind::Cancel);
        until(|| turns.load(SeqCst) == 1, "the second one's turn");
        let transaction = Some((LockTag::Xid(xid(10)), LockMode::Share));
        until(|| locks.waiting_for(owner(2)) == transaction, "its wait for the first one's transaction");
        locks.transaction_ended(xid(10));
    });
    assert_eq!(turns.load(SeqCst), 2);
}

// invariants: row 38
#[test]
fn a_holder_that_wants_more_goes_ahead_of_those_who_queue() {
    let locks = manager(8);
    for number in 1..=2 {
        locks.transaction_started(xid(number), owner(number as u32));
        locks.try_lock_row(owner(number as u32), xid(number), RELATION, ROW, RowLockMode::Share);
    }
    thread::scope(|scope| {
        let queued = Session::new(&locks, 3);
        let queued = scope.spawn(move || {
            let mode = RowLockMode::Update;
            drop(queued.locks.wait_for_row(queued.owner, RELATION, ROW, xid(1), mode, &queued.options()).unwrap());
        });
        until_waiting(&locks, 1);
        let holder = Session::new(&locks, 2);
        let upgraded = scope.spawn(move || {
            let mode = RowLockMode::Update;
            drop(holder.locks.wait_for_row(holder.owner, RELATION, ROW, xid(1), mode, &holder.options()).unwrap());
            holder.locks.try_lock_row(holder.owner, xid(2), RELATION, ROW, mode)
        });
        until_waiting(&locks, 2);
        assert_eq!(locks.blocking_owners(owner(2)), [owner(1)]);
        locks.unlock_all(owner(1), Scope::Transaction);
        locks.transaction_ended(xid(1));
        assert_eq!(upgraded.join().unwrap(), RowLockAttempt::Acquired);
        locks.unlock_all(owner(2), Scope::Transaction);
        locks.transaction_ended(xid(2));
        queued.join().unwrap();
    });
    assert!(locks.snapshot().is_empty());
}

// invariants: row 38
#[test]
fn sharers_that_queue_behind_an_update_get_the_row_together() {
    let locks = manager(8);
    locks.transaction_started(xid(10), owner(0));
    let together = std::sync::Barrier::new(3);
    thread::scope(|scope| {
        for number in 1..=3 {
            let (session, together) = (Session::new(&locks, number), &together);
            scope.spawn(move || {
                let mode = if number == 2 { RowLockMode::KeyShare } else { RowLockMode::Share };
                let turn = session.locks.wait_for_row(session.owner, RELATION, ROW, xid(10), mode, &session.options());
                turn.unwrap().unwrap().updated(ROW, xid(20 + u64::from(number)), mode);
                together.wait();
            });
            until_waiting(&locks, number as usize);
            assert_eq!(locks.blocking_owners(owner(number)), [owner(0)]);
        }
        locks.transaction_ended(xid(10));
    });
    assert!(!locks.has_row_entry(RELATION, ROW));
}

#[test]
fn queues_of_two_versions_of_a_row_become_one() {
    let locks = manager(16);
    let (old, new) = (ROW, Tid::new(7, 3));
    locks.transaction_started(xid(10), owner(0));
    let order = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let first = Session::new(&locks, 1);
        let order = &order;
        scope.spawn(move || {
            let mode = RowLockMode::Update;
            let turn = first.locks.wait_for_row(first.owner, RELATION, old, xid(10), mode, &first.options());
            let turn = turn.unwrap().unwrap();
            first.locks.transaction_started(xid(11), first.owner);
            // Somebody comes by the new version before the old queue has been moved there.
            let late = Session::new(&first.locks, 9);
            let late = thread::spawn(move || {
                let turn = late.locks.wait_for_row(late.owner, RELATION, new, xid(11), mode, &late.options()).unwrap();
                drop(turn);
                late.locks.waiting_count()
            });
            until(|| first.locks.is_waiting(owner(9)), "the late one's wait");
            turn.updated(new, xid(11), mode);
            assert!(!first.locks.has_row_entry(RELATION, old));
            assert_eq!(first.locks.blocking_owners(owner(2)), [first.owner], "the eldest is the head");
            assert_eq!(first.locks.blocking_owners(owner(9)), [2, 3, 4].map(owner));
            order.lock().push(1);
            first.locks.transaction_ended(xid(11));
            late.join().unwrap();
        });
        until_waiting(&locks, 1);
        for number in 2..=4 {
            let session = Session::new(&locks, number);
            scope.spawn(move || {
                let mode = RowLockMode::Update;
                let turn = session.locks.wait_for_row(session.owner, RELATION, old, xid(10), mode, &session.options());
                let _turn = turn.unwrap();
                order.lock().push(number);
            });
            until_waiting(&locks, number as usize);
        }
        locks.transaction_ended(xid(10));
    });
    assert_eq!(*order.lock(), [1, 2, 3, 4]);
    assert!(locks.snapshot().is_empty());
}

#[test]
fn nowait_and_skip_locked_never_wait() {
    let locks = manager(8);
    locks.transaction_started(xid(10), owner(0));
    let session = Session::new(&locks, 1);
    let mode = RowLockMode::Update;
    let nowait = session.options().policy(WaitPolicy::NoWait);
    let error = locks.wait_for_row(session.owner, RELATION, ROW, xid(10), mode, &nowait).err().unwrap();
    assert_eq!(error.sqlstate(), sqlstate::LOCK_NOT_AVAILABLE);
    let skip = session.options().policy(WaitPolicy::Skip);
    assert!(locks.wait_for_row(session.owner, RELATION, ROW, xid(10), mode, &skip).unwrap().is_none());
    assert!(!locks.wait_for_xid(session.owner, xid(10), &skip).unwrap());
    locks.transaction_ended(xid(10));
    assert!(locks.wait_for_row(session.owner, RELATION, ROW, xid(10), mode, &nowait).unwrap().is_some());
    assert!(locks.wait_for_xid(session.owner, xid(10), &nowait).unwrap());
}

#[test]
fn xids_that_share_a_word_are_told_apart() {
    let locks = manager(8);
    let stride = 1 << 16;
    for lap in 0..5 {
        locks.transaction_started(xid(77 + lap * stride), owner(lap as u32));
    }
    for lap in 0..5 {
        assert_eq!(locks.owner_of(xid(77 + lap * stride)), Some(owner(lap as u32)));
    }
    locks.transaction_ended(xid(77));
    locks.transaction_ended(xid(77 + 3 * stride));
    for lap in 0..6 {
        let expected = (![0, 3, 5].contains(&lap)).then_some(owner(lap as u32));
        assert_eq!(locks.owner_of(xid(77 + lap * stride)), expected);
    }
    assert_eq!(locks.snapshot().len(), 3);
    assert!(locks.snapshot().iter().all(|view| matches!(view.tag, LockTag::Xid(xid) if (xid.0 - 77) % stride == 0)));
    // Near the limit of identifiers, too.
    let last = Xid(Xid::LIMIT.0 - 1);
    locks.transaction_started(last, owner(7));
    assert_eq!(locks.owner_of(last), Some(owner(7)));
}

#[test]
fn row_locks_exclude_as_postgresql_documents() {
    use RowLockMode::{KeyShare, NoKeyUpdate, Share, Update};
    let locks = manager(8);
    let free = [(KeyShare, KeyShare), (KeyShare, Share), (KeyShare, NoKeyUpdate), (Share, Share)];
    for held in [KeyShare, Share, NoKeyUpdate, Update] {
        for wanted in [KeyShare, Share, NoKeyUpdate, Update] {
            let compatible = free.contains(&(held, wanted)) || free.contains(&(wanted, held));
            assert_eq!(locks.try_lock_row(owner(0), xid(10), RELATION, ROW, held), RowLockAttempt::Acquired);
            assert_eq!(locks.row_conflict(owner(1), RELATION, ROW, wanted).is_none(), compatible);
            assert!(locks.row_conflict(owner(0), RELATION, ROW, wanted).is_none(), "own locks never conflict");
            let attempt = locks.try_lock_row(owner(1), xid(11), RELATION, ROW, wanted);
            let expected = if compatible { RowLockAttempt::Acquired } else { RowLockAttempt::Conflict(xid(10)) };
            assert_eq!(attempt, expected, "{held:?} {wanted:?}");
            locks.unlock_all(owner(0), Scope::Transaction);
            locks.unlock_all(owner(1), Scope::Transaction);
            assert!(!locks.has_row_entry(RELATION, ROW));
        }
    }
}

// invariants: row 30, as far as locks go
#[test]
fn row_locks_and_their_queue_follow_the_row() {
    let locks = manager(8);
    let versions = [Tid::new(0, 1), Tid::new(0, 2), Tid::new(9, 1), Tid::new(0, 3)];
    assert_eq!(
        locks.try_lock_row(owner(0), xid(10), RELATION, versions[0], RowLockMode::KeyShare),
        RowLockAttempt::Acquired
    );
    locks.transaction_started(xid(10), owner(0));
    thread::scope(|scope| {
        let deleter = Session::new(&locks, 1);
        let waiting = scope.spawn(move || {
            let mode = RowLockMode::Update;
            let options = deleter.options();
            drop(deleter.locks.wait_for_row(deleter.owner, RELATION, versions[0], xid(10), mode, &options).unwrap());
        });
        until_waiting(&locks, 1);
        for pair in versions.windows(2) {
            locks.carry_row(RELATION, pair[0], pair[1]);
            assert_eq!(locks.row_lockers(RELATION, pair[0]).len(), 1, "the update may abort yet");
            assert!(locks.forget_row(RELATION, pair[0]), "it has committed");
            assert!(!locks.has_row_entry(RELATION, pair[0]));
            assert_eq!(locks.row_lockers(RELATION, pair[1]).len(), 1);
            let attempt = locks.try_lock_row(owner(2), xid(12), RELATION, pair[1], RowLockMode::Update);
            assert_eq!(attempt, RowLockAttempt::Conflict(xid(10)));
            let row = LockTag::Row { relation: RELATION, tid: pair[1] };
            assert!(locks.snapshot().iter().any(|view| view.tag == row), "the queue came along");
        }
        locks.unlock_all(owner(0), Scope::Transaction);
        waiting.join().unwrap();
    });
    locks.transaction_ended(xid(10));
    assert!(!locks.has_row_entry(RELATION, versions[3]));
}

#[test]
fn rolling_back_to_a_savepoint_hands_row_locks_on() {
    let locks = manager(8);
    locks.transaction_started(xid(10), owner(0));
    let other = Tid::new(0, 2);
    locks.try_lock_row(owner(0), xid(10), RELATION, other, RowLockMode::Share);
    let mark = locks.mark(owner(0));
    locks.transaction_started(xid(11), owner(0));
    locks.try_lock_row(owner(0), xid(11), RELATION, ROW, RowLockMode::Update);
    locks.try_lock_row(owner(0), xid(11), RELATION, other, RowLockMode::Update);
    thread::scope(|scope| {
        let session = Session::new(&locks, 1);
        let waiting = scope.spawn(move || {
            let mode = RowLockMode::Update;
            drop(session.locks.wait_for_row(session.owner, RELATION, ROW, xid(11), mode, &session.options()).unwrap());
        });
        until_waiting(&locks, 1);
        locks.unlock_all(owner(0), Scope::Subtransaction(mark));
        waiting.join().unwrap();
    });
    assert!(locks.row_lockers(RELATION, ROW).is_empty());
    let left = locks.row_lockers(RELATION, other);
    assert_eq!(left.iter().map(|locker| locker.mode).collect::<Vec<_>>(), [RowLockMode::Share]);
}

#[test]
fn a_savepoint_rolled_back_releases_carried_locks_as_it_does_the_first_ones() {
    let locks = manager(8);
    let (before, after) = (Tid::new(0, 1), Tid::new(0, 2));
    let carried = |tid: Tid| Tid::new(7, tid.slot);
    locks.try_lock_row(owner(0), xid(10), RELATION, before, RowLockMode::KeyShare);
    let mark = locks.mark(owner(0));
    locks.try_lock_row(owner(0), xid(11), RELATION, after, RowLockMode::KeyShare);
    // Carried in the order that puts the older lock on top.
    for tid in [after, before] {
        locks.carry_row(RELATION, tid, carried(tid));
    }
    locks.unlock_all(owner(0), Scope::Subtransaction(mark));
    let held = |tid| locks.row_lockers(RELATION, tid).len();
    assert_eq!([before, carried(before), after, carried(after)].map(held), [1, 1, 0, 0]);
    assert!(locks.forget_row(RELATION, before));
    locks.unlock_all(owner(0), Scope::Transaction);
    assert!(!locks.has_row_entry(RELATION, carried(before)));
}

#[test]
fn a_row_updated_again_and_again_keeps_one_lock_for_each_holder() {
    let locks = manager(8);
    locks.try_lock_row(owner(0), xid(10), RELATION, ROW, RowLockMode::KeyShare);
    let mut at = ROW;
    for round in 0..100_000u32 {
        let next = Tid::new(round % 3, (round % 100 + 2) as u16);
        locks.carry_row(RELATION, at, next);
        assert!(locks.forget_row(RELATION, at));
        at = next;
    }
    assert_eq!(locks.row_lockers(RELATION, at).len(), 1);
    locks.unlock_all(owner(0), Scope::Transaction);
    assert!(!locks.has_row_entry(RELATION, at));
}

#[test]
fn moves_race_with_releases() {
    let locks = manager(8);
    let rounds = 2000;
    let place = Mutex::new(ROW);
    thread::scope(|scope| {
        for number in 0..2u32 {
            let (locks, place) = (&locks, &place);
            scope.spawn(move || {
                for _ in 0..rounds {
                    {
                        let latched = place.lock();
                        let id = xid(10 + u64::from(number));
                        locks.try_lock_row(OwnerId(number), id, RELATION, *latched, RowLockMode::KeyShare);
                    }
                    locks.unlock_all(OwnerId(number), Scope::Transaction);
                }
            });
        }
        for round in 0..rounds {
            let mut latched = place.lock();
            let next = Tid::new(round % 3, (round % 100 + 2) as u16);
            locks.carry_row(RELATION, *latched, next);
            if round % 2 == 0 {
                locks.forget_row(RELATION, *latched);
            }
            *latched = next;
        }
    });
    let last = *place.lock();
    assert!(locks.row_lockers(RELATION, last).is_empty());
    assert!(!locks.has_row_entry(RELATION, last));
}

// invariants: row 41
#[test]
fn others_run_while_many_locks_are_released() {
    const LOCKS: u32 = 300_000;
    let locks = manager(1);
    for round in 0..2 {
        for number in 0..LOCKS {
            if round == 0 {
                let tid = Tid::new(number / 100, (number % 100) as u16 + 1);
                let locked = locks.try_lock_row(owner(0), xid(10), RELATION, tid, RowLockMode::Update);
                assert_eq!(locked, RowLockAttempt::Acquired);
            } else {
                let session = Session::new(&locks, 0);
                let tag = LockTag::Relation(base::Oid(20_000 + number));
                locks.lock(session.owner, tag, LockMode::AccessExclusive, &session.options()).unwrap();
            }
        }
        let slices = TimeSlices::new();
        let releasing = locks.clone();
        let queue = Arc::new(ReadyQueue::new(|| {}));
        let mut coroutine = Coroutine::new(&StackPool::default(), queue, 1, move || {
            releasing.unlock_all(owner(0), Scope::Transaction);
        });
        slices.wake_up();
        let mut turns = 1;
        loop {
            slices.begin();
            match coroutine.resume() {
                Step::Finished(()) => break,
                step => assert!(matches!(step, Step::Yielded)),
            }
            turns += 1;
        }
        assert!(turns > 1, "round {round}: all of them were released in one turn");
    }
}

#[test]
fn a_million_row_locks_come_and_go() {
    let locks = manager(2);
    let start = Instant::now();
    for number in 0..1_000_000u32 {
        let tid = Tid::new(number / 100, (number % 100) as u16 + 1);
        assert_eq!(locks.try_lock_row(owner(0), xid(10), RELATION, tid, RowLockMode::Update), RowLockAttempt::Acquired);
    }
    locks.unlock_all(owner(0), Scope::Transaction);
    assert!(!locks.has_row_entry(RELATION, ROW));
    assert!(start.elapsed() < Duration::from_secs(20));
}

// invariants: row 27, as far as locks go
#[test]
fn owners_that_vanish_while_they_wait_leave_no_trace() {
    const SESSIONS: u32 = 1000;
    let locks = manager(SESSIONS + 1);
    locks.transaction_started(xid(10), owner(SESSIONS));
    let row = Arc::new(HotRow::new(&locks, xid(10)));
    let ready = Arc::new(ReadyQueue::new(|| {}));
    let stacks = StackPool::new(64 << 10, 16);
    let mut sessions = Vec::new();
    for number in 0..SESSIONS {
        let (locks, row) = (locks.clone(), row.clone());
        let run = move || {
            let session = Session::new(&locks, number);
            if number % 3 == 0 {
                let _ = locks.wait_for_xid(session.owner, xid(10), &session.options());
            } else {
                row.update(&session);
            }
        };
        let mut session = Coroutine::new(&stacks, ready.clone(), u64::from(number), run);
        assert!(matches!(session.resume(), Step::Suspended { .. }));
        sessions.push(session);
    }
    assert_eq!(locks.waiting_count(), SESSIONS as usize);
    // Dropped in mid-wait, the head of the queue among them.
    drop(sessions);
    assert_eq!(locks.waiting_count(), 0);
    assert!(!locks.has_row_entry(RELATION, ROW));
    locks.transaction_ended(xid(10));
}
