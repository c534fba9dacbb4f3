//! The queue of one row.

use std::collections::VecDeque;
use std::time::Instant;

use base::OwnerId;
use smallvec::SmallVec;
use sync::{Arc, ExclusiveLatch, spin_hint};

use crate::RowLockMode;
use crate::latches::ROW_QUEUE;
use crate::row_table::RowKey;

/// Those who wait for one row, in the order they came.
///
/// A member is *at the front* if its mode goes together with the modes of all members before it. It then either waits for the
/// end of a transaction that has the row, registered with [`crate::xid_wait::XidWaits`], or it has been woken and has its
/// *turn*. All others sleep until they come to the front. So one updater is at the front at a time, but any number of sharers.
///
/// A queue follows its row from version to version, and so is an object of its own rather than a part of the row table.
pub(crate) struct RowQueue {
    pub(crate) state: ExclusiveLatch<RowQueueState>,
}

pub(crate) struct RowQueueState {
    /// Where the row table knows it. Changes only under the latches of the partitions of both keys.
    pub(crate) key: RowKey,
    /// The members by mode, in the order of their numbers. So the next one to come to the front is found without a scan.
    members: [VecDeque<Member>; 4],
    /// How many of each mode are at the front: the first ones.
    fronts: [usize; 4],
    next_number: u64,
    /// The queue that all members were moved to, when it met another one.
    pub(crate) joined: Option<Arc<RowQueue>>,
}

/// The number of a member that was let pass those before it.
const PASSED: u64 = 0;
const FIRST_NUMBER: u64 = 1;

#[derive(Clone, Copy)]
pub(crate) struct Member {
    pub(crate) owner: OwnerId,
    pub(crate) mode: RowLockMode,
    pub(crate) since: Instant,
    /// Nothing but those who came before stands in its way: it could have the row at once.
    pub(crate) is_courteous: bool,
    /// Its place in the queue: the lower, the earlier.
    number: u64,
}

impl RowQueue {
    pub(crate) fn new(key: RowKey) -> RowQueue {
        RowQueue { state: ExclusiveLatch::new(&ROW_QUEUE, RowQueueState::new(key)) }
    }

    /// Looks at the queue that the members are in now.
    ///
    /// The detector does so while it holds everything, latches of a higher rank too. Nobody then waits for anything under a
    /// queue's latch, so that it is free in a moment.
    pub(crate) fn with_current<R>(self: &Arc<RowQueue>, look: impl FnOnce(&mut RowQueueState) -> R) -> R {
        let mut queue = self.clone();
        loop {
            let joined = match queue.state.try_lock() {
                Some(mut state) => match state.joined.clone() {
                    Some(joined) => joined,
                    None => return look(&mut state),
                },
                None => {
                    spin_hint();
                    continue;
                }
            };
            queue = joined;
        }
    }
}

impl RowQueueState {
    fn new(key: RowKey) -> RowQueueState {
        RowQueueState { key, members: Default::default(), fronts: [0; 4], next_number: FIRST_NUMBER, joined: None }
    }

    /// Adds a newcomer behind all others. True: it is at the front.
    pub(crate) fn push(&mut self, owner: OwnerId, mode: RowLockMode, is_courteous: bool) -> bool {
        let number = self.next_number;
        self.next_number += 1;
        let at_front = !self.has_conflicting_before(mode, number);
        let member = Member { owner, mode, since: Instant::now(), is_courteous, number };
        let members = &mut self.members[mode as usize];
        if at_front {
            // All of its own mode are at the front too, as those before it would keep them back no less.
            debug_assert_eq!(self.fronts[mode as usize], members.len());
            self.fronts[mode as usize] += 1;
        }
        members.push_back(member);
        at_front
    }

    /// Whether a member that came before `number` excludes `mode`.
    fn has_conflicting_before(&self, mode: RowLockMode, number: u64) -> bool {
        RowLockMode::ALL.into_iter().any(|other| {
            other.conflicts_with(mode)
                && self.members[other as usize].front().is_some_and(|first| first.number < number)
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.iter().all(VecDeque::is_empty)
    }

    /// The member that came first.
    pub(crate) fn eldest(&self) -> Option<&Member> {
        self.members.iter().filter_map(VecDeque::front).min_by_key(|member| member.number)
    }

    fn position(&self, owner: OwnerId, mode: RowLockMode) -> Option<usize> {
        self.members[mode as usize].iter().position(|member| member.owner == owner)
    }

    pub(crate) fn is_at_front(&self, owner: OwnerId, mode: RowLockMode) -> bool {
        self.members[mode as usize].iter().take(self.fronts[mode as usize]).any(|member| member.owner == owner)
    }

    /// The members at the front.
    pub(crate) fn fronts(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().zip(self.fronts).flat_map(|(members, fronts)| members.iter().take(fronts))
    }

    /// The members that are not at the front, in order.
    pub(crate) fn behind(&self) -> Vec<Member> {
        let behind =
            |(members, fronts): (&VecDeque<Member>, usize)| members.iter().skip(fronts).copied().collect::<Vec<_>>();
        let mut all: Vec<Member> = self.members.iter().zip(self.fronts).flat_map(behind).collect();
        all.sort_unstable_by_key(|member| member.number);
        all
    }

    /// Takes a member out; false if it is not here. To be followed by [`RowQueueState::promote`].
    pub(crate) fn remove(&mut self, owner: OwnerId, mode: RowLockMode) -> bool {
        let Some(position) = self.position(owner, mode) else { return false };
        self.members[mode as usize].remove(position);
        if position < self.fronts[mode as usize] {
            self.fronts[mode as usize] -= 1;
        }
        true
    }

    /// Moves members to the front that no earlier member excludes any more, and returns them.
    pub(crate) fn promote(&mut self) -> SmallVec<[Member; 2]> {
        let mut promoted = SmallVec::new();
        for mode in RowLockMode::ALL {
            while let Some(next) = self.members[mode as usize].get(self.fronts[mode as usize]).copied() {
                if self.has_conflicting_before(mode, next.number) {
                    break;
                }
                self.fronts[mode as usize] += 1;
                promoted.push(next);
            }
        }
        promoted.sort_unstable_by_key(|member: &Member| member.number);
        promoted
    }

    /// Brings one to the front before its time.
    pub(crate) fn let_pass(&mut self, owner: OwnerId, mode: RowLockMode) {
        let fronts = self.fronts[mode as usize];
        if let Some(position) = self.position(owner, mode).filter(|position| *position >= fronts)
            && let Some(member) = self.members[mode as usize].remove(position)
        {
            self.members[mode as usize].insert(fronts, Member { number: PASSED, ..member });
            self.fronts[mode as usize] += 1;
        }
    }

    /// Puts those behind the front in this order. To be followed by [`RowQueueState::promote`].
    pub(crate) fn reorder(&mut self, order: &[OwnerId]) {
        let mut behind = self.behind();
        let numbers: Vec<u64> = behind.iter().map(|member| member.number).collect();
        behind.sort_by_key(|member| order.iter().position(|owner| *owner == member.owner));
        for (members, fronts) in self.members.iter_mut().zip(self.fronts) {
            members.truncate(fronts);
        }
        for (member, number) in behind.into_iter().zip(numbers) {
            self.members[member.mode as usize].push_back(Member { number, ..member });
        }
    }

    /// Takes the members of another queue in, by age. Those of either that `stays` says have their turn are at the front, and
    /// nobody else is. To be followed by [`RowQueueState::promote`].
    pub(crate) fn join(&mut self, other: &mut RowQueueState, mut stays: impl FnMut(&Member) -> bool) {
        let mut active: Vec<Member> = Vec::new();
        let mut asleep: Vec<Member> = Vec::new();
        for state in [&mut *self, other] {
            asleep.extend(state.behind());
            for member in state.fronts() {
                if stays(member) { active.push(*member) } else { asleep.push(*member) }
            }
            state.members.iter_mut().for_each(VecDeque::clear);
            state.fronts = [0; 4];
        }
        asleep.sort_by_key(|member| (member.since, member.number));
        self.next_number = FIRST_NUMBER;
        for (member, is_active) in
            active.into_iter().map(|member| (member, true)).chain(asleep.into_iter().map(|member| (member, false)))
        {
            let number = self.next_number;
            self.next_number += 1;
            self.members[member.mode as usize].push_back(Member { number, ..member });
            self.fronts[member.mode as usize] += usize::from(is_active);
        }
    }
}
