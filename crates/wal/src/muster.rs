//! Where committers gather: who leads, who waits, and what was asked for.
//!
//! # The state machine
//!
//! There is one leader at a time, or none. All transitions happen under [`Muster::queue`].
//!
//! ```text
//!                    a committer joins and may lead
//!            +-------------------------------------------+
//!            |                                           v
//!        +--------+   all are covered,               +-----------+
//!        | Nobody |<---------------------------------| Committer |----+ requests are left, and
//!        +--------+   or an heir is woken            +-----------+<---+ there is no flusher thread
//!          |    ^                                        |
//!   request|    | all are covered                        | requests, or none but coroutines
//!          v    |                                        | and futures, are left
//!        +---------+                                     |
//!   +--->| Flusher |<------------------------------------+
//!   |    +---------+
//!   |         | others are left: the next flush starts at once
//!   +---------+
//! ```
//!
//! | state | entry | exit | owner |
//! | --- | --- | --- | --- |
//! | `Nobody` | [`Shared::end_flush`] covers all, or wakes an heir | a join, a request, [`Shared::try_lead_inline`] | nobody |
//! | `Committer` | a join finds `Nobody` and may lead on its own thread | [`Shared::end_flush`] | the joining thread |
//! | `Flusher` | a request finds `Nobody`; a committer hands over | [`Shared::end_flush`] | the flusher thread |
//!
//! The choice of the leader: a thread that waits leads, since it would only sleep. It hands over to another waiting thread
//! rather than to the flusher, since that thread must be woken anyway. A thread that arrives before this heir has got a
//! processor leads in the heir's stead, so that the disk is not kept waiting. Coroutines and futures don't lead while there
//! is a flusher: their thread has other work. A session that is alone asks to lead ([`Shared::try_lead_inline`]), and may
//! lead if it was quiet lately.
//!
//! A leader goes through: *gather* (it may wait `commit_delay`), *write* all that is completely inserted, *sync*, *publish*
//! `durable`, *hand over*, *wake* the members covered, tell the listeners, run the retire hooks. Only the first four
//! happen while it leads; the rest doesn't keep the next leader waiting.
//!
//! A leader that goes on with another flush gives way a moment before it, so that the members it has just woken can join the
//! next flush. Without this pause, cohorts stay small and the processors are busy with syncs.
//!
//! A thread first gives way a few times: if it is covered meanwhile, or finds that nobody leads, it was never a member.
//! A member is *joined* (in the queue), then *covered* (taken out; `durable` has reached it) or *heir* (taken out and woken
//! though not covered, because nobody leads any more: it tries to lead, like a newcomer, and joins again if somebody was
//! faster). Two rules keep every member from being lost:
//!
//! - A thread that sets `Nobody` while members or requests are left wakes an heir, or leads the next flush itself.
//! - A member that leaves without leading, though it may have been the heir (a dropped future), names the next heir.
//!
//! Requests carry no member: their sum is `requested`, raised *before* the requester looks whether somebody leads. A leader
//! looks at `requested` *after* it has set `Nobody`. One of the two sees the other.

use sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use sync::{CachePadded, Mutex};

use crate::DelayPolicy;
use crate::options;
use crate::shared::Shared;

/// Flushes of at most one member after which it counts as quiet.
const QUIET_AFTER_FLUSHES: u32 = if cfg!(shuttle) { 1 } else { 4 };
/// Threads that a leader, or a thread just woken, wakes itself.
const WAKES_AT_ONCE: usize = if cfg!(shuttle) { 1 } else { 2 };

/// How often a thread lets others have its processor before it sleeps. With more threads than processors they do what
/// brings the flush about, and it need be neither put to sleep nor woken, which costs more than a small transaction; with
/// fewer it comes back at once and sleeps.
const YIELDS_BEFORE_SLEEP: u32 = if cfg!(shuttle) { 1 } else { 4 };

/// The kind of the current leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Leading {
    Nobody,
    Committer,
    Flusher,
}

/// The means to tell a member that it is covered, or heir.
pub(crate) enum MemberWaker {
    /// A thread parked in [`Shared::wait_in_cohort`]: it passes on the wakes of others.
    Thread(sync::Waker),
    /// A coroutine suspended there.
    Coroutine(sync::Waker),
    /// A future that was polled.
    Task(std::task::Waker),
}

impl MemberWaker {
    fn wake(&self) {
        match self {
            MemberWaker::Thread(waker) | MemberWaker::Coroutine(waker) => waker.wake(),
            MemberWaker::Task(waker) => waker.wake_by_ref(),
        }
    }
}

pub(crate) struct Member {
    pub id: u64,
    pub upto: u64,
    pub waker: MemberWaker,
}

pub(crate) struct Queue {
    pub leading: Leading,
    /// In the order in which they joined.
    pub members: Vec<Member>,
    next_id: u64,
}

impl Queue {
    pub fn join(&mut self, upto: u64, waker: MemberWaker) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.members.push(Member { id, upto, waker });
        id
    }

    fn take_covered(&mut self, durable: u64) -> Vec<MemberWaker> {
        let mut covered = Vec::new();
        if self.members.iter().all(|member| member.upto <= durable) {
            covered.extend(self.members.drain(..).map(|member| member.waker));
        } else {
            covered.extend(self.members.extract_if(.., |member| member.upto <= durable).map(|member| member.waker));
        }
        covered
    }

    fn first_thread(&self) -> Option<usize> {
        self.members.iter().position(|member| matches!(member.waker, MemberWaker::Thread(_)))
    }

    /// Takes out a member that can lead: a thread if there is one.
    fn take_heir(&mut self) -> Option<MemberWaker> {
        let index = self.first_thread().unwrap_or(0);
        (!self.members.is_empty()).then(|| self.members.remove(index).waker)
    }
}

pub(crate) struct Muster {
    /// Guards who leads and who waits. Short; nothing is taken under it, nobody is woken under it.
    queue: Mutex<Queue>,
    /// A copy of [`Queue::leading`], for requests.
    leading: CachePadded<AtomicU8>,
    /// The highest position that somebody asked to be flushed without waiting for it.
    requested: CachePadded<AtomicU64>,
    /// Joins and requests since the last flush began.
    joined: AtomicU64,
    /// The delay of the first who joined since then.
    policy: AtomicU64,
    /// Flushes in a row that had at most one member.
    quiet_flushes: AtomicU32,
    /// Whether there is a flusher thread to hand over to. Changed under `queue`.
    has_flusher: AtomicBool,
    /// Threads that are covered and will be woken by those woken before them.
    to_wake: Mutex<Vec<sync::Waker>>,
    to_wake_count: AtomicU32,
}

impl Muster {
    pub fn new() -> Muster {
        Muster {
            queue: Mutex::new(Queue { leading: Leading::Nobody, members: Vec::new(), next_id: 0 }),
            leading: CachePadded::new(AtomicU8::new(Leading::Nobody as u8)),
            requested: CachePadded::new(AtomicU64::new(0)),
            joined: AtomicU64::new(0),
            policy: AtomicU64::new(0),
            quiet_flushes: AtomicU32::new(QUIET_AFTER_FLUSHES),
            has_flusher: AtomicBool::new(false),
            to_wake: Mutex::new(Vec::new()),
            to_wake_count: AtomicU32::new(0),
        }
    }
}

impl Shared {
    fn set_leading(&self, queue: &mut Queue, leading: Leading) {
        queue.leading = leading;
        self.muster.leading.store(leading as u8, Ordering::SeqCst);
    }

    pub fn has_flusher(&self) -> bool {
        self.muster.has_flusher.load(Ordering::Relaxed)
    }

    /// Whether lately nobody had company in a flush.
    fn is_quiet(&self) -> bool {
        self.muster.quiet_flushes.load(Ordering::Relaxed) >= QUIET_AFTER_FLUSHES
    }

    /// Counts a join or request; the first since the last flush began leaves its delay for the leader.
    fn count_joined(&self, policy: DelayPolicy) {
        if self.muster.joined.fetch_add(1, Ordering::Relaxed) == 0 {
            self.muster.policy.store(options::pack(policy), Ordering::Relaxed);
        }
    }

    /// How many have joined or requested since the last call: the members of the flush that begins now.
    pub fn take_joined(&self) -> u64 {
        self.muster.joined.swap(0, Ordering::Relaxed)
    }

    /// How many have joined or requested since the last flush began.
    pub fn joined(&self) -> u64 {
        self.muster.joined.load(Ordering::Relaxed)
    }

    /// The delay that the first member of the coming flush brought with it.
    pub fn joined_policy(&self) -> DelayPolicy {
        options::unpack(self.muster.policy.load(Ordering::Relaxed))
    }

    /// Waits until the log is durable up to `upto`, as a member of a cohort or its leader. A leader writes no more than
    /// `limit`.
    pub fn wait_in_cohort(&self, upto: u64, policy: DelayPolicy, limit: Option<u64>) {
        let in_coroutine = sync::in_coroutine();
        if self.positions.durable() >= upto {
            return;
        }
        self.count_joined(policy);
        if !in_coroutine {
            self.give_way(upto);
        }
        while self.positions.durable() < upto {
            let mut queue = self.muster.queue.lock();
            if self.positions.durable() >= upto {
                return;
            }
            let mut call_flusher = false;
            if queue.leading == Leading::Nobody {
                // A coroutine that leads keeps its thread from others that would join.
                if !in_coroutine || !self.has_flusher() {
                    self.set_leading(&mut queue, Leading::Committer);
                    drop(queue);
                    self.lead_as_committer(upto, policy, limit);
                    continue;
                }
                self.set_leading(&mut queue, Leading::Flusher);
                call_flusher = true;
            }
            let waiter = sync::Waiter::new();
            let waker = waiter.waker();
            queue.join(upto, if in_coroutine { MemberWaker::Coroutine(waker) } else { MemberWaker::Thread(waker) });
            drop(queue);
            if call_flusher {
                self.call_flusher();
            }
            self.check_failed();
            waiter.wait(None, None);
            if !in_coroutine {
                self.pass_on_the_wake();
            }
            self.check_failed();
        }
    }

    /// Lets other threads run for a moment, while somebody leads and `upto` is not durable.
    fn give_way(&self, upto: u64) {
        for _ in 0..YIELDS_BEFORE_SLEEP {
            let is_led = self.muster.leading.load(Ordering::Relaxed) != Leading::Nobody as u8;
            if !is_led || self.positions.durable() >= upto {
                return;
            }
            sync::thread::yield_now();
        }
    }

    /// One or more flushes on this thread, the first of which covers `upto`.
    fn lead_as_committer(&self, upto: u64, policy: DelayPolicy, limit: Option<u64>) {
        let mut limit = limit;
        let (mut upto, mut policy) = (upto, policy);
        loop {
            self.flush_once(Leading::Committer, upto, policy, limit.take());
            if !self.end_flush(Leading::Committer) {
                return;
            }
            self.let_others_join();
            (upto, policy) = (self.positions.durable() + 1, self.joined_policy());
        }
    }

    /// Flushes until nobody waits any more: what the flusher thread does when it is called.
    pub fn lead_as_flusher(&self) {
        loop {
            let needed = self.positions.durable() + 1;
            self.flush_once(Leading::Flusher, needed, self.joined_policy(), None);
            if !self.end_flush(Leading::Flusher) {
                return;
            }
            self.let_others_join();
        }
    }

    /// See [`crate::Wal::request_flush`].
    pub fn request_flush(&self, upto: u64, policy: DelayPolicy) {
        if self.positions.durable() >= upto {
            return;
        }
        self.check_placed(upto);
        self.count_joined(policy);
        self.muster.requested.fetch_max(upto, Ordering::SeqCst);
        if self.muster.leading.load(Ordering::SeqCst) != Leading::Nobody as u8 {
            // The leader looks at `requested` again when it has stopped leading.
            return;
        }
        let mut queue = self.muster.queue.lock();
        if queue.leading != Leading::Nobody || self.positions.durable() >= upto {
            return;
        }
        if self.has_flusher() {
            self.set_leading(&mut queue, Leading::Flusher);
            drop(queue);
            self.call_flusher();
        } else {
            self.set_leading(&mut queue, Leading::Committer);
            drop(queue);
            self.lead_as_committer(upto, policy, None);
        }
    }

    /// See [`crate::Wal::try_lead_inline`].
    pub fn try_lead_inline(&self, upto: u64, policy: DelayPolicy) -> bool {
        if self.positions.durable() >= upto {
            return true;
        }
        self.check_placed(upto);
        let led = self.muster.leading.load(Ordering::Relaxed) != Leading::Nobody as u8;
        if led || !self.is_quiet() || self.delay_applies(policy) {
            return false;
        }
        let mut queue = self.muster.queue.lock();
        if queue.leading != Leading::Nobody || !queue.members.is_empty() {
            return false;
        }
        self.count_joined(policy);
        self.set_leading(&mut queue, Leading::Committer);
        drop(queue);
        self.lead_as_committer(upto, policy, None);
        true
    }

    /// Registers a future, or has it lead; true if `upto` is durable.
    pub fn poll_durable(&self, upto: u64, policy: DelayPolicy, id: &mut Option<u64>, waker: &std::task::Waker) -> bool {
        if self.positions.durable() >= upto {
            return true;
        }
        self.check_placed(upto);
        let mut queue = self.muster.queue.lock();
        if self.positions.durable() >= upto {
            return true;
        }
        if let Some(member) = id.and_then(|id| queue.members.iter_mut().find(|member| member.id == id)) {
            member.waker = MemberWaker::Task(waker.clone());
            return false;
        }
        if id.is_none() {
            self.count_joined(policy);
        }
        let leads = queue.leading == Leading::Nobody;
        if leads && !self.has_flusher() {
            self.set_leading(&mut queue, Leading::Committer);
            drop(queue);
            self.lead_as_committer(upto, policy, None);
            return true;
        }
        *id = Some(queue.join(upto, MemberWaker::Task(waker.clone())));
        if leads {
            self.set_leading(&mut queue, Leading::Flusher);
            drop(queue);
            self.call_flusher();
        }
        false
    }

    /// A future that was polled is dropped before it was told: it may have been named heir.
    pub fn leave(&self, id: u64) {
        let heir = {
            let mut queue = self.muster.queue.lock();
            if let Some(index) = queue.members.iter().position(|member| member.id == id) {
                queue.members.remove(index);
                return;
            }
            if queue.leading == Leading::Nobody { queue.take_heir() } else { None }
        };
        if let Some(heir) = heir {
            heir.wake();
        }
    }

    /// Ends a flush that `leader` led: hands over, wakes who is covered, tells the listeners. True if `leader` must flush
    /// again.
    fn end_flush(&self, leader: Leading) -> bool {
        let durable = self.positions.durable();
        let mut goes_on = false;
        let mut call_flusher = false;
        let mut heir = None;
        let covered = {
            let mut queue = self.muster.queue.lock();
            let covered = queue.take_covered(durable);
            let left = queue.members.len();
            self.note_company(covered.len() + left);
            let has_flusher = self.has_flusher();
            if leader == Leading::Flusher && has_flusher && left > 0 {
                goes_on = true;
            } else {
                self.set_leading(&mut queue, Leading::Nobody);
                let requests_left = self.muster.requested.load(Ordering::SeqCst) > durable;
                if requests_left || has_flusher && left > 0 && queue.first_thread().is_none() {
                    let next = if has_flusher { Leading::Flusher } else { leader };
                    self.set_leading(&mut queue, next);
                    goes_on = next == leader;
                    call_flusher = !goes_on;
                } else {
                    heir = queue.take_heir();
                }
            }
            covered
        };
        if call_flusher {
            self.call_flusher();
        }
        if let Some(heir) = heir {
            heir.wake();
        }
        self.wake_covered(covered);
        self.hooks.tell(|| self.positions.durable());
        goes_on
    }

    fn note_company(&self, members: usize) {
        let alone = members <= 1 && self.last_members.load(Ordering::Relaxed) <= 1;
        if !alone {
            self.muster.quiet_flushes.store(0, Ordering::Relaxed);
        } else if !self.is_quiet() {
            self.muster.quiet_flushes.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Wakes covered members. Many threads wake each other, so that the leader is free for the next flush: it wakes two,
    /// and each of them two more.
    fn wake_covered(&self, covered: Vec<MemberWaker>) {
        let mut threads = Vec::new();
        for member in covered {
            match member {
                MemberWaker::Thread(waker) => threads.push(waker),
                other => other.wake(),
            }
        }
        if threads.len() <= WAKES_AT_ONCE {
            threads.iter().for_each(sync::Waker::wake);
            return;
        }
        let first = threads.split_off(threads.len() - WAKES_AT_ONCE);
        {
            let mut to_wake = self.muster.to_wake.lock();
            // The last in are the first out: those who waited longest go in last.
            to_wake.extend(threads.into_iter().rev());
            self.muster.to_wake_count.store(to_wake.len() as u32, Ordering::Release);
        }
        first.iter().for_each(sync::Waker::wake);
    }

    /// A thread that was woken wakes others in turn.
    fn pass_on_the_wake(&self) {
        if self.muster.to_wake_count.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut wakers: [Option<sync::Waker>; WAKES_AT_ONCE] = [const { None }; WAKES_AT_ONCE];
        {
            let mut to_wake = self.muster.to_wake.lock();
            wakers.iter_mut().for_each(|waker| *waker = to_wake.pop());
            self.muster.to_wake_count.store(to_wake.len() as u32, Ordering::Release);
        }
        wakers.iter().flatten().for_each(sync::Waker::wake);
    }

    /// Says whether there is a flusher thread. When it goes, it leads once more if anything was asked of it.
    pub fn set_has_flusher(&self, has_flusher: bool) {
        let mut queue = self.muster.queue.lock();
        self.muster.has_flusher.store(has_flusher, Ordering::Relaxed);
        if queue.leading == Leading::Nobody && !has_flusher {
            let asked = self.muster.requested.load(Ordering::SeqCst) > self.positions.durable();
            if asked || !queue.members.is_empty() {
                self.set_leading(&mut queue, Leading::Flusher);
            }
        }
    }

    /// Whether the flusher thread was put in charge.
    pub fn flusher_leads(&self) -> bool {
        self.muster.queue.lock().leading == Leading::Flusher
    }

    /// Wakes everybody: the process is about to end, and nobody will be covered any more.
    pub fn wake_all(&self) {
        let members = std::mem::take(&mut self.muster.queue.lock().members);
        members.iter().for_each(|member| member.waker.wake());
        let to_wake = std::mem::take(&mut *self.muster.to_wake.lock());
        to_wake.iter().for_each(sync::Waker::wake);
    }
}
