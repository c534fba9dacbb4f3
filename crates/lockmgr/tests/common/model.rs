//! A model of locks: PostgreSQL's rules for relations, advisory keys and rows, written down as simply as they can be.
//!
//! Each session is always in a transaction. A step runs to its end or until it must wait, and then so do all whom it woke. A step
//! whose outcome depends on which of those runs first, or on something that PostgreSQL does otherwise on purpose, is marked
//! as [`Model::undefined`]: a generator of schedules takes another one.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};

use super::{LockMode, RowLockMode};

/// The thing that is locked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Object {
    Table(u32),
    Advisory(u32),
    /// The place at the front of a row's queue, which PostgreSQL calls a tuple lock.
    Queue(u32),
}

/// The reaction to a lock that is not free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Patience {
    Wait,
    /// NOWAIT.
    Fail,
    /// SKIP LOCKED, or a function that tries.
    Skip,
    /// A short `lock_timeout`.
    TimeOut,
}

/// A statement that changes a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Change {
    /// An UPDATE of a column that no index has.
    Unindexed,
    /// An UPDATE of a column that an index has, which is no key.
    Indexed,
    /// An UPDATE of a key.
    Key,
    Delete,
}

impl Change {
    pub const ALL: [Change; 4] = [Change::Unindexed, Change::Indexed, Change::Key, Change::Delete];

    /// The row lock that goes with it.
    fn mode(self) -> RowLockMode {
        match self {
            Change::Unindexed | Change::Indexed => RowLockMode::NoKeyUpdate,
            Change::Key | Change::Delete => RowLockMode::Update,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Row {
        row: u32,
        mode: RowLockMode,
        patience: Patience,
    },
    Change {
        row: u32,
        change: Change,
        patience: Patience,
    },
    Table {
        table: u32,
        mode: LockMode,
        patience: Patience,
    },
    Advisory {
        key: u32,
        mode: LockMode,
        for_session: bool,
        patience: Patience,
    },
    Unlock {
        key: u32,
        mode: LockMode,
    },
    Savepoint,
    /// To the savepoint at this depth, from 1 on.
    RollbackTo(usize),
    Release(usize),
    Commit,
    Rollback,
    /// Somebody else cancels the session's statement.
    Cancel,
}

impl Step {
    /// The row lock that it asks for.
    fn row_request(self) -> Option<(u32, RowLockMode, Patience)> {
        match self {
            Step::Row { row, mode, patience } => Some((row, mode, patience)),
            Step::Change { row, change, patience } => Some((row, change.mode(), patience)),
            _ => None,
        }
    }
}

/// How a step ended. A statement that finds no row has skipped it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Answer {
    Done,
    Skipped,
    NotAvailable,
    Deadlock,
    Cancelled,
}

/// The level of what a session holds beyond its transaction.
const OF_SESSION: usize = usize::MAX;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Hold {
    session: usize,
    object: Object,
    mode: LockMode,
    /// The savepoint depths it was taken at, once for each time.
    levels: Vec<usize>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct RowHold {
    row: u32,
    session: usize,
    xid: u64,
    mode: RowLockMode,
    level: usize,
}

/// A change of a row by a transaction that has not ended.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Changed {
    row: u32,
    session: usize,
    change: Change,
    level: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Wait {
    For(Object, LockMode),
    ForEnd(u64),
}

#[derive(Clone, Debug, Default)]
struct Session {
    /// The transaction of each level: 0 is the top.
    xids: Vec<u64>,
    /// Of closed savepoints, with the level they now belong to.
    released: Vec<(usize, u64)>,
    failed: bool,
    running: Option<Step>,
    wait: Option<Wait>,
    /// Those in the way when it last looked at the row it waits for.
    seen_holders: Vec<u64>,
    answer: Option<Answer>,
}

#[derive(Clone, Debug)]
pub struct Model {
    sessions: Vec<Session>,
    holds: Vec<Hold>,
    queues: BTreeMap<Object, Vec<(usize, LockMode)>>,
    rows: Vec<RowHold>,
    changed: Vec<Changed>,
    /// Rows whose deletion is committed.
    gone: BTreeSet<u32>,
    /// The strongest lock that has ended while others remained: PostgreSQL still finds it written at the row.
    stale: BTreeMap<u32, RowLockMode>,
    next_xid: u64,
    woken: Vec<usize>,
    latest_first: bool,
    undefined: bool,
}

impl Model {
    pub fn new(sessions: usize) -> Model {
        let mut model = Model {
            sessions: vec![Session::default(); sessions],
            holds: Vec::new(),
            queues: BTreeMap::new(),
            rows: Vec::new(),
            changed: Vec::new(),
            gone: BTreeSet::new(),
            stale: BTreeMap::new(),
            next_xid: 100,
            woken: Vec::new(),
            latest_first: false,
            undefined: false,
        };
        (0..sessions).for_each(|session| model.begin(session));
        model
    }

    fn begin(&mut self, session: usize) {
        let xid = self.new_xid();
        let answer = self.sessions[session].answer;
        self.sessions[session] = Session { xids: vec![xid], answer, ..Session::default() };
    }

    fn new_xid(&mut self) -> u64 {
        self.next_xid += 1;
        self.next_xid
    }

    /// The state after a step; none if the step is no use, or if its outcome is a matter of timing.
    pub fn after(&self, session: usize, step: Step) -> Option<Model> {
        if !self.is_possible(session, step) {
            return None;
        }
        let run = |latest_first| {
            let mut model = self.clone();
            model.latest_first = latest_first;
            model.take(session, step);
            model
        };
        let (one, other) = (run(false), run(true));
        (!one.undefined && one.observable() == other.observable()).then_some(one)
    }

    fn is_possible(&self, session: usize, step: Step) -> bool {
        let at = &self.sessions[session];
        match step {
            Step::Cancel => at.wait.is_some(),
            _ if at.wait.is_some() => false,
            Step::RollbackTo(depth) => (1..at.xids.len()).contains(&depth),
            Step::Rollback => true,
            _ if at.failed => false,
            Step::Release(depth) => (1..at.xids.len()).contains(&depth),
            Step::Savepoint => at.xids.len() < 4,
            _ => true,
        }
    }

    /// All that can be seen from outside, now and later.
    fn observable(&self) -> impl PartialEq + use<> {
        let (mut holds, mut rows, mut changed) = (self.holds.clone(), self.rows.clone(), self.changed.clone());
        holds.sort();
        rows.sort();
        changed.sort();
        let sessions: Vec<_> = self.sessions.iter().map(|at| (at.wait, at.answer, at.failed)).collect();
        (holds, rows, changed, self.gone.clone(), sessions, self.queues.clone())
    }

    pub fn is_blocked(&self, session: usize) -> bool {
        self.sessions[session].wait.is_some()
    }

    pub fn answer(&self, session: usize) -> Option<Answer> {
        self.sessions[session].answer
    }

    pub fn has_failed(&self, session: usize) -> bool {
        self.sessions[session].failed
    }

    /// How many savepoints are open.
    pub fn depth(&self, session: usize) -> usize {
        self.sessions[session].xids.len() - 1
    }

    /// The transaction that the session writes as now.
    pub fn xid(&self, session: usize) -> u64 {
        *self.sessions[session].xids.last().unwrap()
    }

    /// The sessions that keep a session waiting.
    pub fn blockers(&self, session: usize) -> Vec<usize> {
        let edges = self.edges(session);
        edges.into_iter().map(|(blocker, _)| blocker).collect::<BTreeSet<usize>>().into_iter().collect()
    }

    /// The sessions that keep a session waiting, each with whether it does so only by its place in a queue.
    fn edges(&self, session: usize) -> Vec<(usize, bool)> {
        match self.sessions[session].wait {
            None => Vec::new(),
            Some(Wait::ForEnd(xid)) => vec![(self.owner_of(xid).unwrap(), false)],
            Some(Wait::For(object, mode)) => {
                let holders = self.holders(object).filter(|hold| hold.session != session && conflict(hold.mode, mode));
                let ahead = self.queues[&object].iter().take_while(|(other, _)| *other != session);
                let ahead = ahead.filter(|(_, wanted)| conflict(*wanted, mode));
                holders.map(|hold| (hold.session, false)).chain(ahead.map(|(other, _)| (*other, true))).collect()
            }
        }
    }

    /// Whether a session is in a circle of waits: of holders alone, or with places in queues.
    pub fn circle(&self, session: usize, with_queues: bool) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![session];
        while let Some(at) = open.pop() {
            for (blocker, is_soft) in self.edges(at) {
                if is_soft && !with_queues {
                    continue;
                }
                if blocker == session {
                    return true;
                }
                if seen.insert(blocker) {
                    open.push(blocker);
                }
            }
        }
        false
    }

    fn owner_of(&self, xid: u64) -> Option<usize> {
        self.sessions.iter().position(|at| at.xids.contains(&xid) || at.released.iter().any(|(_, id)| *id == xid))
    }

    fn holders(&self, object: Object) -> impl Iterator<Item = &Hold> {
        self.holds.iter().filter(move |hold| hold.object == object)
    }

    fn take(&mut self, session: usize, step: Step) {
        self.undefined = false;
        self.sessions[session].answer = None;
        match step {
            Step::Row { .. } | Step::Change { .. } => {
                self.sessions[session].running = Some(step);
                self.sessions[session].seen_holders.clear();
                self.try_row(session);
            }
            Step::Table { table, mode, patience } => {
                self.sessions[session].running = Some(step);
                self.lock_once(session, Object::Table(table), mode, false, patience);
            }
            Step::Advisory { key, mode, for_session, patience } => {
                self.sessions[session].running = Some(step);
                self.lock_once(session, Object::Advisory(key), mode, for_session, patience);
            }
            Step::Unlock { key, mode } => {
                self.unlock(session, Object::Advisory(key), mode);
                self.sessions[session].answer = Some(Answer::Done);
            }
            Step::Savepoint => {
                let xid = self.new_xid();
                self.sessions[session].xids.push(xid);
            }
            Step::RollbackTo(depth) => {
                self.undo(session, depth);
                let xid = self.new_xid();
                let at = &mut self.sessions[session];
                at.xids.truncate(depth);
                at.xids.push(xid);
                at.failed = false;
            }
            Step::Release(depth) => self.release(session, depth),
            Step::Commit | Step::Rollback => {
                if step == Step::Commit {
                    self.commit_changes(session);
                }
                self.undo(session, 0);
                self.begin(session);
            }
            Step::Cancel => self.fail(session, Answer::Cancelled),
        }
        if matches!(step, Step::Savepoint | Step::RollbackTo(_) | Step::Release(_) | Step::Commit | Step::Rollback) {
            self.sessions[session].answer = Some(Answer::Done);
        }
        while !self.woken.is_empty() {
            let next = if self.latest_first { self.woken.pop().unwrap() } else { self.woken.remove(0) };
            self.go_on(next);
        }
    }

    fn go_on(&mut self, session: usize) {
        match self.sessions[session].running {
            Some(Step::Row { .. } | Step::Change { .. }) => self.try_row(session),
            _ => self.sessions[session].answer = Some(Answer::Done),
        }
    }

    fn lock_once(&mut self, session: usize, object: Object, mode: LockMode, for_session: bool, patience: Patience) {
        let level = if for_session { OF_SESSION } else { self.depth(session) };
        match self.lock(session, object, mode, level, patience) {
            Some(Answer::Done) => self.sessions[session].answer = Some(Answer::Done),
            Some(Answer::Skipped) => self.sessions[session].answer = Some(Answer::Skipped),
            Some(answer) => self.fail(session, answer),
            None if patience == Patience::TimeOut => self.fail(session, Answer::NotAvailable),
            None => {}
        }
    }

    /// None: it waits.
    fn lock(
        &mut self,
        session: usize,
        object: Object,
        mode: LockMode,
        level: usize,
        patience: Patience,
    ) -> Option<Answer> {
        if let Some(hold) =
            self.holds.iter_mut().find(|hold| (hold.session, hold.object, hold.mode) == (session, object, mode))
        {
            hold.levels.push(level);
            return Some(Answer::Done);
        }
        let queue = self.queues.get(&object).cloned().unwrap_or_default();
        let is_excluded = self.holders(object).any(|hold| hold.session != session && conflict(hold.mode, mode));
        if !is_excluded && !queue.iter().any(|(_, wanted)| conflict(*wanted, mode)) {
            self.grant(session, object, mode, level);
            return Some(Answer::Done);
        }
        let held: Vec<LockMode> =
            self.holders(object).filter(|hold| hold.session == session).map(|hold| hold.mode).collect();
        if matches!(patience, Patience::Fail | Patience::Skip) {
            // PostgreSQL 15 never lets it go ahead of a waiter.
            self.undefined |= !held.is_empty() && !is_excluded;
            return Some(if patience == Patience::Fail { Answer::NotAvailable } else { Answer::Skipped });
        }
        let mut position = queue.len();
        for (index, (other, wanted)) in queue.iter().enumerate() {
            if !held.iter().any(|mode| conflict(*mode, *wanted)) {
                continue;
            }
            if self.holders(object).any(|hold| hold.session == *other && conflict(hold.mode, mode)) {
                return Some(Answer::Deadlock);
            }
            if !is_excluded && !queue[..index].iter().any(|(_, ahead)| conflict(*ahead, mode)) {
                self.grant(session, object, mode, level);
                return Some(Answer::Done);
            }
            position = index;
            break;
        }
        self.queues.entry(object).or_default().insert(position, (session, mode));
        self.sessions[session].wait = Some(Wait::For(object, mode));
        None
    }

    fn grant(&mut self, session: usize, object: Object, mode: LockMode, level: usize) {
        self.holds.push(Hold { session, object, mode, levels: vec![level] });
    }

    /// Grants, in order, all whom neither a holder nor an earlier waiter keeps out.
    fn wake(&mut self, object: Object) {
        let mut ahead: Vec<LockMode> = Vec::new();
        for (session, mode) in self.queues.remove(&object).unwrap_or_default() {
            let is_excluded = ahead.iter().any(|other| conflict(*other, mode))
                || self.holders(object).any(|hold| hold.session != session && conflict(hold.mode, mode));
            if is_excluded {
                ahead.push(mode);
                self.queues.entry(object).or_default().push((session, mode));
                continue;
            }
            let for_session = matches!(self.sessions[session].running, Some(Step::Advisory { for_session: true, .. }));
            let level = if for_session { OF_SESSION } else { self.depth(session) };
            self.grant(session, object, mode, level);
            self.sessions[session].wait = None;
            self.woken.push(session);
        }
    }

    /// Takes levels away from what a session holds, and releases what has none left.
    fn drop_levels(&mut self, session: usize, mut goes: impl FnMut(&Hold, usize) -> bool) {
        let mut released = BTreeSet::new();
        for hold in self.holds.iter_mut().filter(|hold| hold.session == session) {
            let key = Hold { levels: Vec::new(), ..hold.clone() };
            hold.levels.retain(|level| !goes(&key, *level));
            if hold.levels.is_empty() {
                released.insert(hold.object);
            }
        }
        self.holds.retain(|hold| !hold.levels.is_empty());
        released.into_iter().for_each(|object| self.wake(object));
    }

    fn unlock(&mut self, session: usize, object: Object, mode: LockMode) {
        let mut done = false;
        self.drop_levels(session, |hold, level| {
            let goes = !done && hold.object == object && hold.mode == mode && level == OF_SESSION;
            done |= goes;
            goes
        });
    }

    fn try_row(&mut self, session: usize) {
        let running = self.sessions[session].running;
        let (row, mode, patience) = running.and_then(Step::row_request).expect("it is about a row");
        let own_changes = || self.changed.iter().filter(|changed| (changed.row, changed.session) == (row, session));
        if self.gone.contains(&row) || own_changes().any(|changed| changed.change == Change::Delete) {
            return self.finish_row(session, Answer::Skipped);
        }
        // PostgreSQL writes the stronger lock at the new version only, where waiters come without a place in the queue.
        self.undefined |= mode == RowLockMode::Update
            && own_changes().next().is_some()
            && own_changes().all(|changed| changed.change.mode() < mode);
        let own: Vec<RowLockMode> =
            self.rows.iter().filter(|hold| hold.row == row && hold.session == session).map(|hold| hold.mode).collect();
        let queue = Object::Queue(row);
        let in_the_way = self
            .rows
            .iter()
            .filter(|hold| hold.row == row && hold.session != session && hold.mode.conflicts_with(mode));
        let holders: Vec<u64> = in_the_way.map(|hold| hold.xid).collect();
        let holder = holders.iter().copied().min();
        let has_place = self.holders(queue).any(|hold| hold.session == session);
        let level = self.depth(session);
        if own.iter().any(|held| *held >= mode) {
            return self.finish_row(session, Answer::Done);
        }
        let Some(holder) = holder else {
            let stale = self.stale.get(&row).copied();
            let finds_stale = match mode {
                RowLockMode::KeyShare => stale == Some(RowLockMode::Update),
                RowLockMode::Share => stale >= Some(RowLockMode::NoKeyUpdate),
                _ => false,
            };
            // PostgreSQL queues here, though nobody is in the way.
            let taken = self.holders(queue).any(|hold| hold.session != session) || self.queues.contains_key(&queue);
            self.undefined |= finds_stale && own.is_empty() && !has_place && taken;
            self.stale.remove(&row);
            self.rows.push(RowHold { row, session, xid: self.xid(session), mode, level });
            return self.finish_row(session, Answer::Done);
        };
        // PostgreSQL waits for all that it has seen, one after the other, before it looks at the row again.
        let seen_holders = &mut self.sessions[session].seen_holders;
        seen_holders.retain(|xid| holders.contains(xid));
        match seen_holders.iter().min() {
            Some(first) => self.undefined |= *first != holder,
            None => *seen_holders = holders,
        }
        match patience {
            Patience::Fail => return self.fail(session, Answer::NotAvailable),
            Patience::Skip => return self.finish_row(session, Answer::Skipped),
            Patience::TimeOut => return self.fail(session, Answer::NotAvailable),
            Patience::Wait => {}
        }
        if own.is_empty()
            && !has_place
            && self.lock(session, queue, mode.tuple_lock_mode(), level, Patience::Wait).is_none()
        {
            return;
        }
        self.sessions[session].wait = Some(Wait::ForEnd(holder));
    }

    fn waits_for_row(&self, session: usize, row: u32) -> bool {
        let at = &self.sessions[session];
        at.wait.is_some() && at.running.and_then(Step::row_request).is_some_and(|(of, ..)| of == row)
    }

    fn finish_row(&mut self, session: usize, answer: Answer) {
        if let (Answer::Done, Some(Step::Change { row, change, .. })) = (answer, self.sessions[session].running) {
            // In Cohort the queue goes to the new version at once, and a newcomer waits at the old one.
            self.undefined |= (0..self.sessions.len()).any(|other| other != session && self.waits_for_row(other, row));
            self.changed.push(Changed { row, session, change, level: self.depth(session) });
        }
        self.sessions[session].answer = Some(answer);
        self.drop_levels(session, |hold, _| matches!(hold.object, Object::Queue(_)));
    }

    fn fail(&mut self, session: usize, answer: Answer) {
        let innermost = self.depth(session);
        let at = &mut self.sessions[session];
        at.answer = Some(answer);
        at.failed = true;
        if let Some(Wait::For(object, _)) = at.wait.take() {
            self.queues.get_mut(&object).unwrap().retain(|(other, _)| *other != session);
            self.wake(object);
        }
        self.undo(session, innermost);
    }

    /// Rows that were deleted are gone, and others have a new version. The waiters of a row's old version go on to the new one. In
    /// PostgreSQL each version has a queue of its own: several waiters race for the new one's, and one that still waits for somebody else
    /// has no place there.
    fn commit_changes(&mut self, session: usize) {
        let committed = &self.sessions[session];
        let is_mine = |xid: &u64| committed.xids.contains(xid) || committed.released.iter().any(|(_, id)| id == xid);
        let (mine, others): (Vec<Changed>, Vec<Changed>) =
            std::mem::take(&mut self.changed).into_iter().partition(|changed| changed.session == session);
        for Changed { row, .. } in mine.iter().filter(|changed| changed.change != Change::Delete) {
            let waiting: Vec<&Session> = (0..self.sessions.len())
                .filter(|other| self.waits_for_row(*other, *row))
                .map(|other| &self.sessions[other])
                .collect();
            let goes_on = |at: &&Session| match at.wait {
                Some(Wait::ForEnd(xid)) => is_mine(&xid) && at.seen_holders.iter().all(is_mine),
                _ => false,
            };
            self.undefined |= waiting.len() > 1 || !waiting.iter().all(goes_on);
        }
        self.gone.extend(mine.iter().filter(|changed| changed.change == Change::Delete).map(|changed| changed.row));
        self.changed = others;
    }

    /// Undoes what was done at this depth and deeper.
    fn undo(&mut self, session: usize, depth: usize) {
        let at = &mut self.sessions[session];
        let released: Vec<u64> = at.released.extract_if(.., |(level, _)| *level >= depth).map(|(_, xid)| xid).collect();
        let mut ended: Vec<u64> = at.xids[depth..].to_vec();
        ended.extend(&released);
        let is_waited_for = |xid: &u64| self.sessions.iter().any(|at| at.wait == Some(Wait::ForEnd(*xid)));
        // PostgreSQL waits for the whole transaction, once the savepoint was released.
        self.undefined |= depth > 0 && released.iter().any(is_waited_for);
        for hold in self.rows.iter().filter(|hold| hold.session == session && hold.level >= depth) {
            let stale = self.stale.entry(hold.row).or_insert(RowLockMode::KeyShare);
            *stale = (*stale).max(hold.mode);
        }
        self.rows.retain(|hold| hold.session != session || hold.level < depth);
        self.changed.retain(|changed| changed.session != session || changed.level < depth);
        let rows = &self.rows;
        self.stale.retain(|row, _| rows.iter().any(|hold| hold.row == *row));
        self.drop_levels(session, |_, level| level != OF_SESSION && level >= depth);
        for other in 0..self.sessions.len() {
            if let Some(Wait::ForEnd(xid)) = self.sessions[other].wait
                && ended.contains(&xid)
            {
                self.sessions[other].wait = None;
                self.woken.push(other);
            }
        }
    }

    fn release(&mut self, session: usize, depth: usize) {
        let outer = depth - 1;
        let lower = |level: &mut usize| {
            if *level != OF_SESSION {
                *level = (*level).min(outer);
            }
        };
        self.rows.iter_mut().filter(|hold| hold.session == session).for_each(|hold| lower(&mut hold.level));
        let changed = self.changed.iter_mut().filter(|changed| changed.session == session);
        changed.for_each(|changed| lower(&mut changed.level));
        self.holds
            .iter_mut()
            .filter(|hold| hold.session == session)
            .for_each(|hold| hold.levels.iter_mut().for_each(lower));
        let at = &mut self.sessions[session];
        at.released.iter_mut().for_each(|(level, _)| lower(level));
        let closed = at.xids.split_off(depth);
        at.released.extend(closed.into_iter().map(|xid| (outer, xid)));
    }
}

fn conflict(one: LockMode, other: LockMode) -> bool {
    one.conflicts_with(other)
}

/// A random step for one of the sessions, which need not be possible. Some change rows.
pub fn random_step_with_changes(mut random: impl FnMut(u32) -> u32, model: &Model, session: usize) -> Step {
    if model.is_blocked(session) || model.has_failed(session) || random(4) != 0 {
        return random_step(random, model, session);
    }
    // Most rows are left to the others.
    let change = Change::ALL[[0, 0, 0, 1, 1, 1, 2, 2, 3][random(9) as usize]];
    let patience = if random(5) == 0 { Patience::TimeOut } else { Patience::Wait };
    Step::Change { row: random(2), change, patience }
}

/// A random step for one of the sessions, which need not be possible. None changes rows.
pub fn random_step(mut random: impl FnMut(u32) -> u32, model: &Model, session: usize) -> Step {
    if model.is_blocked(session) {
        return Step::Cancel;
    }
    if model.has_failed(session) {
        return if random(3) == 0 { Step::Rollback } else { Step::RollbackTo(1 + random(3) as usize) };
    }
    let patience = match random(8) {
        0 => Patience::Fail,
        1 => Patience::Skip,
        2 => Patience::TimeOut,
        _ => Patience::Wait,
    };
    match random(20) {
        0..10 => Step::Row { row: random(2), mode: RowLockMode::ALL[random(4) as usize], patience },
        10..13 => {
            // LOCK TABLE knows no SKIP LOCKED.
            let patience = if patience == Patience::Skip { Patience::Fail } else { patience };
            Step::Table { table: random(2), mode: LockMode::ALL[random(8) as usize], patience }
        }
        13..15 => {
            let mode = if random(2) == 0 { LockMode::Share } else { LockMode::Exclusive };
            let patience = if patience == Patience::Fail { Patience::Skip } else { patience };
            Step::Advisory { key: random(2), mode, for_session: random(3) == 0, patience }
        }
        15 => Step::Unlock { key: random(2), mode: if random(2) == 0 { LockMode::Share } else { LockMode::Exclusive } },
        16 => Step::Savepoint,
        17 => Step::RollbackTo(1 + random(3) as usize),
        18 => Step::Release(1 + random(3) as usize),
        _ => {
            if random(2) == 0 {
                Step::Commit
            } else {
                Step::Rollback
            }
        }
    }
}
