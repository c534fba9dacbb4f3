//! Waits for transactions' ends.

use base::{OwnerId, Xid};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use sync::atomic::AtomicU32;
use sync::atomic::Ordering::SeqCst;
use sync::{CachePadded, ExclusiveLatch, ExclusiveLatchGuard};

use crate::latches::XID_WAIT;
use crate::owner::{Owners, WakeList};
use crate::running::RunningTransactions;

const PARTITIONS: usize = if cfg!(shuttle) { 2 } else { 64 };

pub(crate) type Waiters = FxHashMap<Xid, SmallVec<[OwnerId; 2]>>;

/// The waiters for each transaction, in partitions.
///
/// A waiter counts itself in its partition and then asks whether the transaction still runs. The session that ends a transaction
/// first takes it out of the running transactions and then reads the count. Both are sequentially consistent, so either the waiter
/// sees the end or the ending session sees the waiter. An end that nobody waits for costs one load.
pub(crate) struct XidWaits {
    partitions: Box<[CachePadded<Partition>]>,
}

/// One partition, latched.
pub(crate) type LatchedWaiters<'a> = ExclusiveLatchGuard<'a, Waiters>;

struct Partition {
    waiting: AtomicU32,
    waiters: ExclusiveLatch<Waiters>,
}

impl XidWaits {
    pub(crate) fn new() -> XidWaits {
        let partition =
            || Partition { waiting: AtomicU32::new(0), waiters: ExclusiveLatch::new(&XID_WAIT, Waiters::default()) };
        XidWaits { partitions: (0..PARTITIONS).map(|_| CachePadded::new(partition())).collect() }
    }

    fn partition(&self, xid: Xid) -> &Partition {
        &self.partitions[xid.0 as usize % PARTITIONS]
    }

    /// Registers `owner`, which has begun its wait, unless `xid` runs no longer.
    pub(crate) fn register(&self, running: &RunningTransactions, xid: Xid, owner: OwnerId) -> bool {
        let partition = self.partition(xid);
        let mut waiters = partition.waiters.lock();
        partition.waiting.fetch_add(1, SeqCst);
        if xid.is_valid() && running.owner_of(xid).is_some() {
            waiters.entry(xid).or_default().push(owner);
            return true;
        }
        partition.waiting.fetch_sub(1, SeqCst);
        false
    }

    /// Takes `owner` out. False: it had been granted, or never registered.
    pub(crate) fn unregister(&self, xid: Xid, owner: OwnerId) -> bool {
        let partition = self.partition(xid);
        let mut waiters = partition.waiters.lock();
        let Some(list) = waiters.get_mut(&xid) else { return false };
        let Some(position) = list.iter().position(|waiting| *waiting == owner) else { return false };
        list.remove(position);
        if list.is_empty() {
            waiters.remove(&xid);
        }
        partition.waiting.fetch_sub(1, SeqCst);
        true
    }

    /// `xid` has been taken out of the running transactions: grants whoever waits for it.
    pub(crate) fn ended(&self, owners: &Owners, xid: Xid, wake: &mut WakeList) {
        let partition = self.partition(xid);
        if partition.waiting.load(SeqCst) == 0 {
            return;
        }
        let mut waiters = partition.waiters.lock();
        if let Some(list) = waiters.remove(&xid) {
            partition.waiting.fetch_sub(list.len() as u32, SeqCst);
            for owner in list {
                owners.get(owner).grant(wake);
            }
        }
    }

    /// Stops all ends that somebody waits for; for the deadlock detector.
    pub(crate) fn freeze(&self) -> Vec<LatchedWaiters<'_>> {
        self.partitions.iter().map(|partition| partition.waiters.lock()).collect()
    }
}
