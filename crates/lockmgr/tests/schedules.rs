//! Random schedules of row, relation and advisory locks, step by step against a model.
//!
//! Each session's statement runs in a coroutine of one thread, so that a schedule has one outcome. After each step the same
//! sessions must wait as in the model, for the same others, and the same answers must have come. `COHORT_LOCK_SCHEDULES` says
//! how many schedules are tried, `COHORT_LOCK_SEED` which one is the first.
#![cfg(not(shuttle))]

mod common;
#[path = "common/model.rs"]
mod model;

use std::time::Duration;

use base::{OwnerId, Result, Tid, Xid, sqlstate};
use cohort_lockmgr::{
    AdvisoryKey, Granted, LockDuration, LockManager, LockMark, LockMode, LockOptions, LockTag, OtherWaits,
    RowLockAttempt, RowLockMode, Scope, WaitPolicy,
};
use common::RELATION;
use model::{Answer, Model, Patience, Step, random_step};
use sync::{Arc, Coroutine, Interrupt, InterruptKind, ReadyQueue, StackPool, Step as Progress};

/// A session as `xact` keeps it.
struct Live {
    owner: OwnerId,
    marks: Vec<LockMark>,
    /// The transactions of each level, those of released savepoints among them.
    xids: Vec<Vec<Xid>>,
    interrupt: Arc<Interrupt>,
    running: Option<Coroutine<Result<Answer>>>,
    answer: Option<Answer>,
}

struct World {
    locks: Arc<LockManager>,
    stacks: StackPool,
    ready: Arc<ReadyQueue>,
    sessions: Vec<Live>,
}

fn row_place(row: u32) -> Tid {
    Tid::new(0, row as u16 + 1)
}

fn options(interrupt: &Interrupt, patience: Patience, deadlock_timeout: Duration) -> LockOptions<'_> {
    LockOptions {
        wait: match patience {
            Patience::Wait | Patience::TimeOut => WaitPolicy::Block,
            Patience::Fail => WaitPolicy::NoWait,
            Patience::Skip => WaitPolicy::Skip,
        },
        lock_timeout: (patience == Patience::TimeOut).then_some(Duration::ZERO),
        deadlock_timeout,
        ..LockOptions::new(interrupt)
    }
}

/// A statement that locks, as heap and the engine do it.
fn run(
    locks: &LockManager,
    owner: OwnerId,
    xid: Xid,
    step: Step,
    interrupt: &Interrupt,
    deadlock_timeout: Duration,
) -> Result<Answer> {
    let granted = |granted| if granted == Granted::Skipped { Answer::Skipped } else { Answer::Done };
    match step {
        Step::Table { table, mode, patience } => {
            let tag = LockTag::Relation(base::Oid(100 + table));
            locks.lock(owner, tag, mode, &options(interrupt, patience, deadlock_timeout)).map(granted)
        }
        Step::Advisory { key, mode, for_session, patience } => {
            let duration = if for_session { LockDuration::Session } else { LockDuration::Transaction };
            let options = LockOptions { duration, ..options(interrupt, patience, deadlock_timeout) };
            let tag = LockTag::Advisory(AdvisoryKey::One(i64::from(key)));
            locks.lock(owner, tag, mode, &options).map(granted)
        }
        Step::Row { row, mode, patience } => {
            let (tid, options) = (row_place(row), options(interrupt, patience, deadlock_timeout));
            let mut turn = None;
            loop {
                let RowLockAttempt::Conflict(holder) = locks.try_lock_row(owner, xid, RELATION, tid, mode) else {
                    if let Some(turn) = turn {
                        cohort_lockmgr::RowTurn::updated(turn, tid, xid, mode);
                    }
                    return Ok(Answer::Done);
                };
                let is_skipped = match &mut turn {
                    Some(turn) => !turn.wait_again(tid, holder, &options)?,
                    None => {
                        turn = locks.wait_for_row(owner, RELATION, tid, holder, mode, &options)?;
                        turn.is_none()
                    }
                };
                if is_skipped {
                    return Ok(Answer::Skipped);
                }
            }
        }
        _ => unreachable!("not a statement that locks"),
    }
}

impl World {
    fn new(model: &Model, sessions: usize) -> World {
        let locks = Arc::new(LockManager::new(sessions as u32));
        let live = |number: usize| Live {
            owner: OwnerId(number as u32),
            marks: vec![locks.mark(OwnerId(number as u32))],
            xids: vec![Vec::new()],
            interrupt: Arc::new(Interrupt::new()),
            running: None,
            answer: None,
        };
        let sessions = (0..sessions).map(live).collect();
        let mut world =
            World { locks, stacks: StackPool::new(128 << 10, 16), ready: Arc::new(ReadyQueue::new(|| {})), sessions };
        (0..world.sessions.len()).for_each(|session| world.start_xid(session, model));
        world
    }

    fn start_xid(&mut self, session: usize, model: &Model) {
        let (xid, at) = (Xid(model.xid(session)), &mut self.sessions[session]);
        self.locks.transaction_started(xid, at.owner);
        at.xids.last_mut().unwrap().push(xid);
    }

    fn undo(&mut self, session: usize, depth: usize) {
        let at = &mut self.sessions[session];
        let scope = if depth == 0 { Scope::Transaction } else { Scope::Subtransaction(at.marks[depth]) };
        self.locks.unlock_all(at.owner, scope);
        for xid in at.xids.drain(depth..).flatten() {
            self.locks.transaction_ended(xid);
        }
        at.marks.truncate(depth);
        at.marks.push(self.locks.mark(at.owner));
        at.xids.push(Vec::new());
    }

    /// Takes a step, and lets all go on who can. `after` is the model's state after it.
    fn take(&mut self, session: usize, step: Step, before: &Model, after: &Model, deadlock_timeout: Duration) {
        let at = &mut self.sessions[session];
        at.answer = None;
        match step {
            Step::Row { .. } | Step::Table { .. } | Step::Advisory { .. } => {
                at.interrupt = Arc::new(Interrupt::new());
                let (locks, owner, xid) = (self.locks.clone(), at.owner, Xid(before.xid(session)));
                let interrupt = at.interrupt.clone();
                let body = move || run(&locks, owner, xid, step, &interrupt, deadlock_timeout);
                at.running = Some(Coroutine::new(&self.stacks, self.ready.clone(), session as u64, body));
                self.resume(session);
            }
            Step::Cancel => at.interrupt.raise(InterruptKind::Cancel),
            Step::Unlock { key, mode } => {
                self.locks.unlock(at.owner, LockTag::Advisory(AdvisoryKey::One(i64::from(key))), mode);
            }
            Step::Savepoint => {
                at.marks.push(self.locks.mark(at.owner));
                at.xids.push(Vec::new());
                self.start_xid(session, after);
            }
            Step::Release(depth) => {
                let closed: Vec<Xid> = at.xids.drain(depth..).flatten().collect();
                at.xids[depth - 1].extend(closed);
                at.marks.truncate(depth);
            }
            Step::RollbackTo(depth) => {
                self.undo(session, depth);
                self.start_xid(session, after);
            }
            Step::Commit | Step::Rollback => {
                self.undo(session, 0);
                self.start_xid(session, after);
            }
            Step::Change { .. } => unreachable!("there are no rows to be changed"),
        }
        if self.sessions[session].running.is_none() && self.sessions[session].answer.is_none() {
            self.sessions[session].answer = Some(Answer::Done);
        }
        let mut tokens = Vec::new();
        loop {
            self.ready.drain(&mut tokens);
            if tokens.is_empty() {
                break;
            }
            for token in tokens.drain(..) {
                self.resume(token as usize);
            }
        }
    }

    fn resume(&mut self, session: usize) {
        let Some(running) = &mut self.sessions[session].running else { return };
        let Progress::Finished(result) = running.resume() else { return };
        self.sessions[session].running = None;
        let answer = match result {
            Ok(answer) => answer,
            Err(error) => {
                let innermost = self.sessions[session].xids.len() - 1;
                self.undo(session, innermost);
                match error.sqlstate() {
                    sqlstate::LOCK_NOT_AVAILABLE => Answer::NotAvailable,
                    sqlstate::DEADLOCK_DETECTED => Answer::Deadlock,
                    sqlstate::QUERY_CANCELED => Answer::Cancelled,
                    other => panic!("{other}: {error}"),
                }
            }
        };
        self.sessions[session].answer = Some(answer);
    }

    /// Three cases: nothing else waits, a running session never ends, and any session waits for another one otherwise than for a lock.
    fn compare_waits_without_end(&self, model: &Model, told: &str) {
        let graph = self.locks.wait_graph();
        let count = self.sessions.len();
        let owner = |session: usize| self.sessions[session].owner;
        let compare = |never_ending: &[usize], other_wait: Option<(usize, usize)>| {
            let owners: Vec<OwnerId> = never_ending.iter().map(|session| owner(*session)).collect();
            let other: OtherWaits =
                other_wait.iter().map(|(waiter, awaited)| (owner(*waiter), vec![owner(*awaited)])).collect();
            let found = graph.owners_without_end(&owners, &other);
            let mut found: Vec<usize> = found.into_iter().map(|owner| owner.0 as usize).collect();
            found.sort_unstable();
            let expected = sessions_without_end(model, count, never_ending, other_wait);
            assert_eq!(found, expected, "waits without end if {never_ending:?} do not end, {other_wait:?}\n{told}");
        };
        compare(&[], None);
        for session in 0..count {
            if !model.is_blocked(session) {
                compare(&[session], None);
            }
            (0..count).filter(|other| *other != session).for_each(|other| compare(&[], Some((session, other))));
        }
    }

    fn compare(&self, model: &Model, told: &str) {
        self.compare_waits_without_end(model, told);
        for (number, at) in self.sessions.iter().enumerate() {
            assert_eq!(at.running.is_some(), model.is_blocked(number), "whether {number} waits\n{told}");
            let blockers: Vec<usize> =
                self.locks.blocking_owners(at.owner).into_iter().map(|owner| owner.0 as usize).collect();
            assert_eq!(blockers, model.blockers(number), "who keeps {number} waiting\n{told}");
            if at.running.is_none() && model.answer(number).is_some() {
                assert_eq!(at.answer, model.answer(number), "what {number} is told\n{told}");
            }
        }
    }
}

/// Those that are kept waiting for ever if `never_ending` do not end and the first of `other_wait` waits for the second, found pair by
/// pair.
fn sessions_without_end(
    model: &Model,
    sessions: usize,
    never_ending: &[usize],
    other_wait: Option<(usize, usize)>,
) -> Vec<usize> {
    let mut left: Vec<usize> = (0..sessions).collect();
    loop {
        let is_kept = |session: &usize| {
            never_ending.contains(session)
                || other_wait.is_some_and(|(waiter, awaited)| waiter == *session && left.contains(&awaited))
                || model.blockers(*session).iter().any(|blocker| left.contains(blocker))
        };
        let kept: Vec<usize> = left.iter().copied().filter(is_kept).collect();
        if kept.len() == left.len() {
            return kept;
        }
        left = kept;
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

/// Numbers below the one asked for.
fn random_numbers(seed: u64) -> impl FnMut(u32) -> u32 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 33) % u64::from(below)) as u32
    }
}

const NEVER: Duration = Duration::from_secs(100_000);

fn run_schedule(seed: u64) {
    let mut random = random_numbers(seed);
    let sessions = 3 + random(3) as usize;
    let mut model = Model::new(sessions);
    let mut world = World::new(&model, sessions);
    let mut told = format!("seed {seed}, {sessions} sessions\n");
    for _ in 0..40 {
        let session = random(sessions as u32) as usize;
        let step = random_step(&mut random, &model, session);
        // Those that wait are left to wait, most often.
        if step == Step::Cancel && random(6) != 0 && (0..sessions).any(|other| !model.is_blocked(other)) {
            continue;
        }
        let Some(after) = model.after(session, step) else { continue };
        told.push_str(&format!("{session}: {step:?}\n"));
        world.take(session, step, &model, &after, NEVER);
        model = after;
        world.compare(&model, &told);
    }
    finish(world, model, told, &mut random);
}

/// Ends all transactions. Before that, one more lock is asked for by a session that looks for a deadlock at once.
fn finish(mut world: World, mut model: Model, mut told: String, random: &mut impl FnMut(u32) -> u32) {
    let sessions = world.sessions.len();
    for _ in 0..10 {
        let session = random(sessions as u32) as usize;
        let step = random_step(&mut *random, &model, session);
        let is_lock = matches!(step, Step::Row { .. } | Step::Table { .. } | Step::Advisory { .. });
        let Some(after) = model.after(session, step).filter(|after| is_lock && after.is_blocked(session)) else {
            continue;
        };
        told.push_str(&format!("{session}: {step:?}, and looks for a deadlock\n"));
        let (hard, soft) = (after.circle(session, false), after.circle(session, true));
        world.take(session, step, &model, &after, Duration::ZERO);
        if !soft {
            world.compare(&after, &told);
            model = after;
            continue;
        }
        let is_victim = world.sessions[session].answer == Some(Answer::Deadlock);
        assert!(is_victim || !hard, "{session} is a victim\n{told}");
        let blockers = world.locks.blocking_owners(world.sessions[session].owner);
        assert!(is_victim || !blockers.contains(&world.sessions[session].owner));
        break;
    }
    for _ in 0..sessions {
        for session in 0..sessions {
            if world.sessions[session].running.is_some() {
                world.take(session, Step::Cancel, &model, &model, NEVER);
            }
        }
    }
    for session in 0..sessions {
        assert!(world.sessions[session].running.is_none(), "{told}");
        world.undo(session, 0);
        world.locks.unlock_all(world.sessions[session].owner, Scope::Session);
    }
    assert!(world.locks.snapshot().is_empty(), "{told}");
    assert_eq!(world.locks.waiting_count(), 0, "{told}");
    assert!((0..2).all(|row| !world.locks.has_row_entry(RELATION, row_place(row))), "{told}");
}

// invariants: rows 22 and 38
#[test]
fn random_schedules_go_as_in_the_model() {
    let first = number("COHORT_LOCK_SEED", 1);
    for seed in first..first + number("COHORT_LOCK_SCHEDULES", 1_000) {
        run_schedule(seed);
    }
}
