//! The queue of one row.

use std::collections::VecDeque;
use std::time::Instant;

use base::OwnerId;
use sync::{Arc, ExclusiveLatch, spin_hint};

use crate::latches::ROW_QUEUE;
use crate::row_table::RowKey;

/// Those who wait for one row, in the order they came.
///
/// The first is the *head*. It either waits for the end of the transaction that has the row, registered with
/// [`crate::xid_wait::XidWaits`], or it has been woken and has its *turn*. All others sleep until they are the head.
/// A queue follows its row from version to version, and so is an object of its own rather than a part of the row table.
pub(crate) struct RowQueue {
    pub(crate) state: ExclusiveLatch<RowQueueState>,
}

pub(crate) struct RowQueueState {
    /// Where the row table knows it. Changes only under the latches of the partitions of both keys.
    pub(crate) key: RowKey,
    pub(crate) members: VecDeque<Member>,
    /// The queue that all members were moved to, when it met another one.
    pub(crate) joined: Option<Arc<RowQueue>>,
}

#[derive(Clone, Copy)]
pub(crate) struct Member {
    pub(crate) owner: OwnerId,
    pub(crate) since: Instant,
}

impl RowQueue {
    pub(crate) fn new(key: RowKey) -> RowQueue {
        RowQueue {
            state: ExclusiveLatch::new(&ROW_QUEUE, RowQueueState { key, members: VecDeque::new(), joined: None }),
        }
    }

    /// Looks at the queue that the members are in now.
    ///
    /// The detector does so while it holds everything, latches of a higher rank too. Nobody then waits for anything under a
    /// queue's latch, so that it is free in a moment.
    pub(crate) fn with_current<R>(self: &Arc<RowQueue>, look: impl FnOnce(&RowQueueState) -> R) -> R {
        let mut queue = self.clone();
        loop {
            let joined = match queue.state.try_lock() {
                Some(state) => match state.joined.clone() {
                    Some(joined) => joined,
                    None => return look(&state),
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
    pub(crate) fn head(&self) -> Option<&Member> {
        self.members.front()
    }

    pub(crate) fn is_head(&self, owner: OwnerId) -> bool {
        self.head().is_some_and(|member| member.owner == owner)
    }

    /// Takes a member out. `None`: it is not here. Otherwise, whether it was the head.
    pub(crate) fn remove(&mut self, owner: OwnerId) -> Option<bool> {
        let position = self.members.iter().position(|member| member.owner == owner)?;
        self.members.remove(position);
        Some(position == 0)
    }

    /// Puts a member where its age belongs, but not before the first `fixed` ones.
    pub(crate) fn insert_by_age(&mut self, member: Member, fixed: usize) {
        let behind = self.members.iter().skip(fixed).rposition(|other| other.since <= member.since);
        let position = fixed + behind.map_or(0, |index| index + 1);
        self.members.insert(position.min(self.members.len()), member);
    }
}
