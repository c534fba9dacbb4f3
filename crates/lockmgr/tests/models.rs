//! Lock queues under every order of steps that a random scheduler finds:
//! `RUSTFLAGS="--cfg shuttle" cargo test -p cohort-lockmgr --test models`.
//!
//! `COHORT_MODEL_ITERATIONS` says how many executions each model gets. A waiter that is forgotten shows as a deadlock.
#![cfg(shuttle)]

mod common;

use std::time::Duration;

use base::{Oid, Tid, Xid, sqlstate};
use cohort_lockmgr::{LockManager, LockMode, LockTag, RowLockAttempt, RowLockMode, RowTurn, Scope};
use common::{RELATION, ROW, Session, TABLE, owner, xid};
use sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering::SeqCst};
use sync::{Arc, InterruptKind, Mutex, thread};

fn check(model: impl Fn() + Send + Sync + 'static) {
    let iterations =
        std::env::var("COHORT_MODEL_ITERATIONS").map_or(1500, |text| text.parse().expect("a number of executions"));
    let model = Arc::new(model);
    let again = model.clone();
    shuttle::check_random(move || model(), iterations);
    shuttle::check_pct(move || again(), iterations, 3);
}

fn manager() -> Arc<LockManager> {
    Arc::new(LockManager::new(6))
}

fn spawn_all(threads: impl IntoIterator<Item = Box<dyn FnOnce() + Send>>) {
    let handles: Vec<_> = threads.into_iter().map(thread::spawn).collect();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
}

fn boxed(run: impl FnOnce() + Send + 'static) -> Box<dyn FnOnce() + Send> {
    Box::new(run)
}

// invariants: row 8, for waits on transactions
#[test]
fn a_transactions_end_is_never_missed() {
    check(|| {
        let locks = manager();
        // Two that share a word, so that one is in the overflow.
        let ids = [xid(1), xid(5)];
        ids.iter().for_each(|id| locks.transaction_started(*id, owner(0)));
        let ended = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let waiters = (0..3).map(|number| {
            let (session, ended) = (Session::new(&locks, number + 1), ended.clone());
            boxed(move || {
                let which = number as usize % 2;
                session.locks.wait_for_xid(session.owner, ids[which], &session.options()).unwrap();
                assert!(ended[which].load(SeqCst));
            })
        });
        let (locks, ended) = (locks.clone(), ended.clone());
        let ender = boxed(move || {
            for which in [1, 0] {
                ended[which].store(true, SeqCst);
                locks.transaction_ended(ids[which]);
            }
        });
        spawn_all(waiters.chain([ender]).collect::<Vec<_>>());
    });
}

#[test]
fn weak_locks_on_the_fast_path_and_strong_ones_exclude_each_other() {
    check(|| {
        let locks = manager();
        let inside = Arc::new(AtomicI64::new(0));
        let threads = (0..3).map(|number| {
            let (session, inside) = (Session::new(&locks, number), inside.clone());
            boxed(move || {
                for _ in 0..2 {
                    let strong = number == 0;
                    let mode = if strong { LockMode::AccessExclusive } else { LockMode::RowExclusive };
                    session.locks.lock(session.owner, TABLE, mode, &session.options()).unwrap();
                    if strong {
                        assert_eq!(inside.swap(-100, SeqCst), 0);
                        thread::yield_now();
                        inside.store(0, SeqCst);
                    } else {
                        assert!(inside.fetch_add(1, SeqCst) >= 0);
                        thread::yield_now();
                        inside.fetch_sub(1, SeqCst);
                    }
                    session.locks.unlock_all(session.owner, Scope::Transaction);
                }
            })
        });
        spawn_all(threads.collect::<Vec<_>>());
        assert!(locks.snapshot().is_empty());
    });
}

/// A row as heap keeps it: the last updater's xid, the newest version's place, who is at it.
struct Row {
    state: Mutex<(Xid, Tid)>,
    next_xid: AtomicU64,
    updates: AtomicUsize,
}

fn row(holder: Xid) -> Arc<Row> {
    Arc::new(Row { state: Mutex::new((holder, ROW)), next_xid: AtomicU64::new(20), updates: AtomicUsize::new(0) })
}

/// Makes a new version of the row for `id`, and returns its place, if no transaction holds it; otherwise its holder and newest version.
fn take_if_free(row: &Row, locks: &LockManager, id: Xid) -> Result<Tid, (Xid, Tid)> {
    let mut state = row.state.lock();
    let (holder, newest) = *state;
    if locks.owner_of(holder).is_some() {
        return Err((holder, newest));
    }
    let next = Tid::new(newest.block + 1, 1);
    *state = (id, next);
    Ok(next)
}

/// One transaction that updates the row; false if it was cancelled.
fn update(row: &Row, session: &Session) -> bool {
    let locks = &*session.locks;
    let id = Xid(row.next_xid.fetch_add(1, SeqCst));
    locks.transaction_started(id, session.owner);
    let mut turn: Option<RowTurn<'_>> = None;
    let mode = RowLockMode::NoKeyUpdate;
    let done = loop {
        let (holder, newest) = match take_if_free(row, locks, id) {
            Ok(next) => {
                if let Some(turn) = turn.take() {
                    turn.updated(next, id, mode);
                }
                row.updates.fetch_add(1, SeqCst);
                break true;
            }
            Err(held) => held,
        };
        let waited = match &mut turn {
            Some(turn) => turn.wait_again(newest, holder, &session.options()).map(|_| ()),
            None => locks
                .wait_for_row(session.owner, RELATION, newest, holder, mode, &session.options())
                .map(|got| turn = got),
        };
        if let Err(error) = waited {
            assert_eq!(error.sqlstate(), sqlstate::QUERY_CANCELED);
            break false;
        }
    };
    drop(turn);
    locks.unlock_all(session.owner, Scope::Transaction);
    locks.transaction_ended(id);
    done
}

// invariants: row 8, for row queues
#[test]
fn everybody_in_a_rows_queue_gets_a_turn() {
    check(|| {
        let locks = manager();
        locks.transaction_started(xid(10), owner(5));
        let row = row(xid(10));
        let updaters = (0..3).map(|number| {
            let (session, row) = (Session::new(&locks, number), row.clone());
            boxed(move || assert!(update(&row, &session)))
        });
        let ender = {
            let locks = locks.clone();
            boxed(move || locks.transaction_ended(xid(10)))
        };
        spawn_all(updaters.chain([ender]).collect::<Vec<_>>());
        assert_eq!(row.updates.load(SeqCst), 3);
        assert!(locks.snapshot().is_empty());
    });
}

#[test]
fn a_cancelled_member_is_gone_and_the_others_get_their_turns() {
    check(|| {
        let locks = manager();
        locks.transaction_started(xid(10), owner(5));
        let row = row(xid(10));
        let cancelled = Session::new(&locks, 0);
        let interrupt = cancelled.interrupt.clone();
        let threads = vec![
            boxed({
                let row = row.clone();
                move || {
                    let _ = update(&row, &cancelled);
                }
            }),
            boxed({
                let (row, session) = (row.clone(), Session::new(&locks, 1));
                move || assert!(update(&row, &session))
            }),
            boxed({
                let (row, session) = (row.clone(), Session::new(&locks, 2));
                move || assert!(update(&row, &session))
            }),
            boxed({
                let locks = locks.clone();
                move || {
                    // Most often there is a queue by then.
                    for _ in 0..30 {
                        if locks.waiting_count() < 3 {
                            thread::yield_now();
                        }
                    }
                    interrupt.raise(InterruptKind::Cancel);
                    for _ in 0..30 {
                        if locks.waiting_count() == 3 {
                            thread::yield_now();
                        }
                    }
                    locks.transaction_ended(xid(10));
                }
            }),
        ];
        spawn_all(threads);
        assert!(row.updates.load(SeqCst) >= 2);
        assert!(locks.snapshot().is_empty());
        assert_eq!(locks.waiting_count(), 0);
    });
}

#[test]
fn row_locks_exclude_while_the_row_moves() {
    check(|| {
        let locks = manager();
        // The page latch, and where the newest version is.
        let page = Arc::new(Mutex::new(ROW));
        let held = Arc::new(AtomicUsize::new(0));
        let lockers = (0..2).map(|number| {
            let (session, page, held) = (Session::new(&locks, number), page.clone(), held.clone());
            boxed(move || {
                let id = xid(10 + u64::from(number));
                session.locks.transaction_started(id, session.owner);
                let mut turn: Option<RowTurn<'_>> = None;
                loop {
                    let latched = page.lock();
                    let tid = *latched;
                    let attempt = session.locks.try_lock_row(session.owner, id, RELATION, tid, RowLockMode::Update);
                    drop(latched);
                    let RowLockAttempt::Conflict(holder) = attempt else {
                        if let Some(turn) = turn.take() {
                            turn.updated(tid, id, RowLockMode::Update);
                        }
                        break;
                    };
                    let options = session.options();
                    match &mut turn {
                        Some(turn) => drop(turn.wait_again(tid, holder, &options).unwrap()),
                        None => {
                            let mode = RowLockMode::Update;
                            turn = session
                                .locks
                                .wait_for_row(session.owner, RELATION, tid, holder, mode, &options)
                                .unwrap();
                        }
                    }
                }
                assert_eq!(held.fetch_add(1, SeqCst), 0, "two hold the row");
                thread::yield_now();
                held.fetch_sub(1, SeqCst);
                session.locks.unlock_all(session.owner, Scope::Transaction);
                session.locks.transaction_ended(id);
            })
        });
        let mover = {
            let (locks, page) = (locks.clone(), page.clone());
            boxed(move || {
                for step in 1..3 {
                    let mut latched = page.lock();
                    let next = Tid::new(step, 1);
                    locks.carry_row(RELATION, *latched, next);
                    // The update commits at once.
                    locks.forget_row(RELATION, *latched);
                    *latched = next;
                }
            })
        };
        spawn_all(lockers.chain([mover]).collect::<Vec<_>>());
        let last = *page.lock();
        assert!(!locks.has_row_entry(RELATION, last));
    });
}

/// Locks the row as heap does, and gives it up again: `held` counts those who exclude each other.
fn lock_row(session: &Session, id: Xid, mode: RowLockMode, held: &AtomicUsize) {
    let locks = &*session.locks;
    let mut turn: Option<RowTurn<'_>> = None;
    while let RowLockAttempt::Conflict(holder) = locks.try_lock_row(session.owner, id, RELATION, ROW, mode) {
        let options = session.options();
        match &mut turn {
            Some(turn) => drop(turn.wait_again(ROW, holder, &options).unwrap()),
            None => turn = locks.wait_for_row(session.owner, RELATION, ROW, holder, mode, &options).unwrap(),
        }
    }
    if let Some(turn) = turn {
        turn.updated(ROW, id, mode);
    }
    if mode == RowLockMode::Update {
        assert_eq!(held.fetch_add(1, SeqCst), 0, "two hold the row");
        thread::yield_now();
        held.fetch_sub(1, SeqCst);
    } else {
        assert_eq!(held.load(SeqCst), 0, "it is shared while somebody else updates it");
    }
    locks.unlock_all(session.owner, Scope::Transaction);
    locks.transaction_ended(id);
}

// invariants: row 38
#[test]
fn sharers_updaters_and_a_holder_that_wants_more_all_get_the_row() {
    check(|| {
        let locks = manager();
        let held = Arc::new(AtomicUsize::new(0));
        for number in 0..5u32 {
            locks.transaction_started(xid(10 + u64::from(number)), owner(number));
        }
        for number in 0..2u32 {
            locks.try_lock_row(owner(number), xid(10 + u64::from(number)), RELATION, ROW, RowLockMode::KeyShare);
        }
        let modes = [RowLockMode::Update, RowLockMode::Update, RowLockMode::Share, RowLockMode::KeyShare];
        let lockers = modes.into_iter().zip(1..5u32).map(|(mode, number)| {
            let (session, held) = (Session::new(&locks, number), held.clone());
            boxed(move || lock_row(&session, xid(10 + u64::from(number)), mode, &held))
        });
        let ender = {
            let locks = locks.clone();
            boxed(move || {
                locks.unlock_all(owner(0), Scope::Transaction);
                locks.transaction_ended(xid(10));
            })
        };
        spawn_all(lockers.chain([ender]).collect::<Vec<_>>());
        assert!(locks.snapshot().is_empty());
        assert!(!locks.has_row_entry(RELATION, ROW));
    });
}

/// One that wants a row at which others wait, and an object: before the row, or while it has its turn at the row.
#[derive(Clone, Copy)]
struct Wants {
    mode: RowLockMode,
    object_first: bool,
}

/// A transaction that wants both. It is rolled back as a deadlock's victim.
fn want(row: &Row, session: &Session, wants: Wants) {
    let locks = &*session.locks;
    let id = Xid(row.next_xid.fetch_add(1, SeqCst));
    locks.transaction_started(id, session.owner);
    if let Err(error) = try_to_get(row, session, id, wants) {
        assert_eq!(error.sqlstate(), sqlstate::DEADLOCK_DETECTED);
    }
    locks.unlock_all(session.owner, Scope::Transaction);
    locks.transaction_ended(id);
}

fn try_to_get(row: &Row, session: &Session, id: Xid, wants: Wants) -> base::Result<()> {
    const OBJECT: LockTag = LockTag::Object { class: Oid(1), object: 1 };
    let locks = &*session.locks;
    if wants.object_first {
        locks.lock(session.owner, OBJECT, LockMode::Exclusive, &session.options())?;
    }
    let mut turn: Option<RowTurn<'_>> = None;
    loop {
        let (holder, newest) = match take_if_free(row, locks, id) {
            Ok(next) => {
                if let Some(turn) = turn.take() {
                    turn.updated(next, id, wants.mode);
                }
                return Ok(());
            }
            Err(held) => held,
        };
        match &mut turn {
            Some(turn) => drop(turn.wait_again(newest, holder, &session.options())?),
            None => {
                turn = locks.wait_for_row(session.owner, RELATION, newest, holder, wants.mode, &session.options())?;
            }
        }
        if !wants.object_first
            && let Some(kept) = turn.take().and_then(RowTurn::keep)
        {
            // As a condition that calls a function, which is looked at again before the row is tried again.
            let locked = locks.lock(session.owner, OBJECT, LockMode::Exclusive, &session.options());
            turn = Some(locks.resume(kept));
            locked?;
        }
    }
}

/// Members come to a row's old and new version, so that its queues meet and become one, again and again. They wait for each
/// other elsewhere as well. A circle that nobody finds, and a member that nobody wakes, leave threads that never end.
// invariants: rows 8 and 22
#[test]
fn queues_that_become_one_forget_nobody_and_hide_no_circle() {
    const MODES: [RowLockMode; 3] = [RowLockMode::Share, RowLockMode::NoKeyUpdate, RowLockMode::Update];
    check(|| {
        let locks = manager();
        locks.transaction_started(xid(10), owner(5));
        let row = row(xid(10));
        let members = (0..4u32).map(|number| {
            let mut session = Session::new(&locks, number);
            session.deadlock_timeout = Duration::ZERO;
            let wants = Wants { mode: MODES[choose(3)], object_first: choose(2) == 0 };
            let row = row.clone();
            boxed(move || want(&row, &session, wants))
        });
        let ender = {
            let (locks, row) = (locks.clone(), row.clone());
            boxed(move || {
                for _ in 0..choose(30) {
                    thread::yield_now();
                }
                // It updates the row before it ends: whoever has looked before waits at the old version.
                row.state.lock().1 = Tid::new(1, 1);
                locks.transaction_ended(xid(10));
            })
        };
        spawn_all(members.chain([ender]).collect::<Vec<_>>());
        assert!(locks.snapshot().is_empty());
        assert_eq!(locks.waiting_count(), 0);
    });
}

/// One of the numbers below `end`.
fn choose(end: usize) -> usize {
    use shuttle::rand::Rng;
    shuttle::rand::thread_rng().gen_range(0..end)
}

// invariants: row 22
#[test]
fn a_circle_has_one_victim_whoever_looks_first() {
    check(|| {
        let locks = manager();
        let objects = [LockTag::Object { class: Oid(1), object: 1 }, LockTag::Object { class: Oid(1), object: 2 }];
        let victims = Arc::new(AtomicUsize::new(0));
        let threads = (0..2usize).map(|number| {
            let mut session = Session::new(&locks, number as u32);
            session.deadlock_timeout = Duration::ZERO;
            session.locks.lock(session.owner, objects[number], LockMode::Exclusive, &session.options()).unwrap();
            let victims = victims.clone();
            boxed(move || {
                let wanted = objects[1 - number];
                if let Err(error) = session.locks.lock(session.owner, wanted, LockMode::Exclusive, &session.options()) {
                    assert_eq!(error.sqlstate(), sqlstate::DEADLOCK_DETECTED);
                    victims.fetch_add(1, SeqCst);
                }
                session.locks.unlock_all(session.owner, Scope::Transaction);
            })
        });
        spawn_all(threads.collect::<Vec<_>>());
        assert!(victims.load(SeqCst) <= 1);
        assert!(locks.snapshot().is_empty());
    });
}

/// The locks that transactions believe they hold.
#[derive(Default)]
struct Held(Mutex<Vec<Hold>>);

struct Hold {
    session: u32,
    tid: Tid,
    mode: RowLockMode,
    /// How many savepoints were open.
    depth: usize,
}

impl Held {
    /// Notes a lock, which must not conflict with one of another session.
    fn add(&self, hold: Hold) {
        let mut all = self.0.lock();
        for other in all.iter().filter(|other| (other.session != hold.session) && other.tid == hold.tid) {
            assert!(!other.mode.conflicts_with(hold.mode), "{:?} beside {:?}", hold.mode, other.mode);
        }
        all.push(hold);
    }

    /// Forgets what the session has locked since so many savepoints were open. The locks are given up after this.
    fn forget(&self, session: u32, depth: usize) {
        self.0.lock().retain(|hold| hold.session != session || hold.depth < depth);
    }
}

/// One transaction of random steps: row locks of all modes on two rows, savepoints, rollbacks to them.
fn lock_at_random(session: &Session, next_xid: &AtomicU64, held: &Held) {
    let (locks, owner) = (&*session.locks, session.owner);
    let begin = || {
        let id = Xid(next_xid.fetch_add(1, SeqCst));
        locks.transaction_started(id, owner);
        id
    };
    let top = begin();
    let mut savepoints = Vec::new();
    for _ in 0..4 {
        match choose(6) {
            0 => savepoints.push((locks.mark(owner), begin())),
            1 if !savepoints.is_empty() => {
                let (mark, id) = savepoints.pop().unwrap();
                held.forget(owner.0, savepoints.len() + 1);
                locks.unlock_all(owner, Scope::Subtransaction(mark));
                locks.transaction_ended(id);
            }
            _ => {
                let (tid, mode) = (Tid::new(0, 1 + choose(2) as u16), RowLockMode::ALL[choose(4)]);
                let id = savepoints.last().map_or(top, |(_, id)| *id);
                match take_row(session, id, tid, mode) {
                    Ok(()) => held.add(Hold { session: owner.0, tid, mode, depth: savepoints.len() }),
                    Err(error) if error.sqlstate() == sqlstate::LOCK_NOT_AVAILABLE => {}
                    Err(error) => {
                        assert_eq!(error.sqlstate(), sqlstate::DEADLOCK_DETECTED);
                        break;
                    }
                }
            }
        }
    }
    held.forget(owner.0, 0);
    locks.unlock_all(owner, Scope::Transaction);
    savepoints.into_iter().for_each(|(_, id)| locks.transaction_ended(id));
    locks.transaction_ended(top);
}

/// Locks a row as heap does.
fn take_row(session: &Session, id: Xid, tid: Tid, mode: RowLockMode) -> base::Result<()> {
    let (locks, options) = (&*session.locks, session.options());
    let mut turn: Option<RowTurn<'_>> = None;
    while let RowLockAttempt::Conflict(holder) = locks.try_lock_row(session.owner, id, RELATION, tid, mode) {
        match &mut turn {
            Some(turn) => drop(turn.wait_again(tid, holder, &options)?),
            None => turn = locks.wait_for_row(session.owner, RELATION, tid, holder, mode, &options)?,
        }
    }
    if let Some(turn) = turn {
        turn.updated(tid, id, mode);
    }
    Ok(())
}

/// Transactions that take stronger locks on what they hold, with savepoints, timeouts and circles: they exclude each other, all end, and
/// nothing is left.
// invariants: rows 8, 22 and 38
#[test]
fn random_transactions_exclude_each_other_and_all_end() {
    check(|| {
        let locks = manager();
        let (next_xid, held) = (Arc::new(AtomicU64::new(20)), Arc::new(Held::default()));
        let threads = (0..3u32).map(|number| {
            let mut session = Session::new(&locks, number);
            session.deadlock_timeout = Duration::ZERO;
            session.lock_timeout = (choose(4) == 0).then_some(Duration::ZERO);
            let (next_xid, held) = (next_xid.clone(), held.clone());
            boxed(move || lock_at_random(&session, &next_xid, &held))
        });
        spawn_all(threads.collect::<Vec<_>>());
        assert!(locks.snapshot().is_empty());
        assert_eq!(locks.waiting_count(), 0);
        assert!((1..=2).all(|slot| !locks.has_row_entry(RELATION, Tid::new(0, slot))));
    });
}

#[test]
fn lock_timeouts_race_with_grants() {
    check(|| {
        let locks = manager();
        let threads = (0..3).map(|number| {
            let mut session = Session::new(&locks, number);
            session.lock_timeout = (number != 0).then_some(Duration::ZERO);
            boxed(move || {
                let mode = if number == 2 { LockMode::Share } else { LockMode::Exclusive };
                match session.locks.lock(session.owner, TABLE, mode, &session.options()) {
                    Ok(_) => assert!(session.locks.holds(session.owner, TABLE, mode)),
                    Err(error) => assert_eq!(error.sqlstate(), sqlstate::LOCK_NOT_AVAILABLE),
                }
                session.locks.unlock_all(session.owner, Scope::Transaction);
            })
        });
        spawn_all(threads.collect::<Vec<_>>());
        assert!(locks.snapshot().is_empty());
        assert_eq!(locks.waiting_count(), 0);
    });
}
