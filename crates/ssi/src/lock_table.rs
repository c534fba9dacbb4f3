//! Predicate locks, which record the reads of each transaction. Nobody ever waits for them.
//!
//! A reader notes each read before it reads, or while the page is latched; a writer writes first and looks here
//! afterwards. So of the two at least one meets the other: the writer finds the reader's lock, or the reader finds the
//! writer's version. A writer looks from the finest lock to the coarsest, and a reader that exchanges fine locks for a coarse
//! one takes that first.

use std::ops::Bound;

use base::{FileNumber, Lsn};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use sync::atomic::Ordering::{Acquire, Relaxed, Release};
use sync::atomic::{AtomicU32, AtomicUsize};
use sync::{CachePadded, ExclusiveLatch};

use crate::latches;
use crate::records::XactId;
use crate::stripes::StripedCount;
use crate::target::{Place, Target};

/// A transaction has a lock or two, most of the time, and it is the way to the memory that costs: so a bucket is a cache line or
/// two, with its latch and a few locks in it.
const BUCKETS: usize = if cfg!(shuttle) { 1 } else { 1024 };
const RANGE_PARTITIONS: usize = if cfg!(shuttle) { 1 } else { 16 };

/// Keys of an index from one bound to another. Keys are compared by memcmp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// Where it begins.
    pub lower: Bound<Vec<u8>>,
    /// Where it ends.
    pub upper: Bound<Vec<u8>>,
}

impl KeyRange {
    /// Whether the key is in it.
    pub fn contains(&self, key: &[u8]) -> bool {
        let above = match &self.lower {
            Bound::Included(lower) => key >= lower.as_slice(),
            Bound::Excluded(lower) => key > lower.as_slice(),
            Bound::Unbounded => true,
        };
        above
            && match &self.upper {
                Bound::Included(upper) => key <= upper.as_slice(),
                Bound::Excluded(upper) => key < upper.as_slice(),
                Bound::Unbounded => true,
            }
    }
}

/// One holder's lock on one target.
#[derive(Clone, Copy)]
struct Lock {
    target: Target,
    holder: Holder,
}

/// A transaction; or finished ones that are only remembered in summary, by the latest commit among them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holder {
    Transaction(XactId),
    Old(Lsn),
}

type Locks = SmallVec<[Lock; 3]>;

struct Bucket {
    locks: ExclusiveLatch<Locks>,
    /// How many there are, or are about to be.
    count: AtomicU32,
}
const _: () = assert!(cfg!(shuttle) || size_of::<Bucket>() <= 128);

type Ranges = FxHashMap<FileNumber, Vec<RangeLock>>;

struct RangeLock {
    id: XactId,
    /// Which of the holder's scans it belongs to.
    scan: u32,
    range: KeyRange,
}

/// The transactions that a writer found to have read the data that it wrote.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) ids: SmallVec<[XactId; 8]>,
    pub(crate) old: Lsn,
}

impl Found {
    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty() && self.old == Lsn::ZERO
    }

    fn add(&mut self, holder: Holder, but: XactId) {
        match holder {
            Holder::Transaction(id) if id != but => self.ids.push(id),
            Holder::Transaction(_) => {}
            Holder::Old(commit) => self.old = self.old.max(commit),
        }
    }
}

pub(crate) struct LockTable {
    buckets: Box<[CachePadded<Bucket>]>,
    ranges: Box<[CachePadded<ExclusiveLatch<Ranges>>]>,
    coarse: CachePadded<Coarse>,
    tuples_and_keys: StripedCount,
}

/// So that writers needn't look for kinds of locks that nobody holds. Short transactions take none of these, and only read this.
#[derive(Default)]
struct Coarse {
    pages: AtomicUsize,
    relations: AtomicUsize,
    ranges: AtomicUsize,
}

impl Coarse {
    fn len(&self) -> usize {
        [&self.pages, &self.relations, &self.ranges].iter().map(|counter| counter.load(Relaxed)).sum()
    }
}

impl LockTable {
    pub(crate) fn new() -> LockTable {
        LockTable {
            buckets: (0..BUCKETS)
                .map(|_| Bucket { locks: ExclusiveLatch::new(&latches::LOCKS, Locks::new()), count: AtomicU32::new(0) })
                .map(CachePadded::new)
                .collect(),
            ranges: (0..RANGE_PARTITIONS)
                .map(|_| CachePadded::new(ExclusiveLatch::new(&latches::RANGES, FxHashMap::default())))
                .collect(),
            coarse: CachePadded::default(),
            tuples_and_keys: StripedCount::default(),
        }
    }

    fn bucket(&self, target: Target) -> &Bucket {
        &self.buckets[(target.hash64() >> 40) as usize % BUCKETS]
    }

    fn ranges_of(&self, index: FileNumber) -> &ExclusiveLatch<Ranges> {
        &self.ranges[index.0 as usize % RANGE_PARTITIONS]
    }

    /// Counts a lock, before the lock can be found.
    fn count_in(&self, bucket: &Bucket, target: Target) {
        bucket.count.fetch_add(1, Relaxed);
        match target.place() {
            Place::Page(_) => drop(self.coarse.pages.fetch_add(1, Relaxed)),
            Place::Relation => drop(self.coarse.relations.fetch_add(1, Relaxed)),
            Place::Tuple(_) | Place::Key => self.tuples_and_keys.add(1),
        }
    }

    /// Takes a lock off the counts, after it was removed. A thread that sees the lower count sees the coarser lock that replaced it, too.
    fn count_out(&self, bucket: &Bucket, target: Target) {
        bucket.count.fetch_sub(1, Release);
        match target.place() {
            Place::Page(_) => drop(self.coarse.pages.fetch_sub(1, Relaxed)),
            Place::Relation => drop(self.coarse.relations.fetch_sub(1, Relaxed)),
            Place::Tuple(_) | Place::Key => self.tuples_and_keys.add(-1),
        }
    }

    /// How many locks are held.
    pub(crate) fn len(&self) -> usize {
        self.coarse.len() + self.tuples_and_keys.exactly()
    }

    /// Whether more are held; of many, not to the last one.
    pub(crate) fn has_more_than(&self, limit: usize) -> bool {
        const MANY: usize = 4096;
        let fine = if limit < MANY { self.tuples_and_keys.exactly() } else { self.tuples_and_keys.roughly() };
        self.coarse.len() + fine > limit
    }

    /// False if it was held already.
    pub(crate) fn add(&self, target: Target, id: XactId) -> bool {
        let lock = Lock { target, holder: Holder::Transaction(id) };
        let bucket = self.bucket(target);
        self.count_in(bucket, target);
        let mut locks = bucket.locks.lock();
        if locks.iter().any(|held| held.target == target && held.holder == lock.holder) {
            drop(locks);
            self.count_out(bucket, target);
            return false;
        }
        locks.push(lock);
        true
    }

    pub(crate) fn remove(&self, target: Target, id: XactId) {
        self.remove_where(target, |holder| holder == Holder::Transaction(id));
    }

    fn remove_where(&self, target: Target, is_it: impl Fn(Holder) -> bool) {
        let bucket = self.bucket(target);
        let mut locks = bucket.locks.lock();
        let Some(position) = locks.iter().position(|held| held.target == target && is_it(held.holder)) else { return };
        locks.swap_remove(position);
        if locks.is_empty() && locks.spilled() {
            *locks = Locks::new();
        }
        drop(locks);
        self.count_out(bucket, target);
    }

    /// Remembers that finished transactions, the last of which committed at `commit`, have read this. True if nothing was
    /// remembered of the target before.
    pub(crate) fn add_old(&self, target: Target, commit: Lsn) -> bool {
        let bucket = self.bucket(target);
        self.count_in(bucket, target);
        let mut locks = bucket.locks.lock();
        for held in locks.iter_mut().filter(|held| held.target == target) {
            if let Holder::Old(before) = &mut held.holder {
                *before = commit.max(*before);
                drop(locks);
                self.count_out(bucket, target);
                return false;
            }
        }
        locks.push(Lock { target, holder: Holder::Old(commit) });
        true
    }

    /// Forgets what [`LockTable::add_old`] was told of the target.
    pub(crate) fn remove_old(&self, target: Target) {
        self.remove_where(target, |holder| matches!(holder, Holder::Old(_)));
    }

    /// Notes what a scan of an index has covered, in place of what it had covered before.
    pub(crate) fn set_range(&self, index: FileNumber, id: XactId, scan: u32, range: KeyRange) {
        self.coarse.ranges.fetch_add(1, Relaxed);
        let mut partition = self.ranges_of(index).lock();
        let ranges = partition.entry(index).or_default();
        match ranges.iter_mut().find(|held| held.id == id && held.scan == scan) {
            Some(held) => {
                held.range = range;
                drop(partition);
                self.coarse.ranges.fetch_sub(1, Relaxed);
            }
            None => ranges.push(RangeLock { id, scan, range }),
        }
    }

    /// Removes all ranges of an index that `id` holds.
    pub(crate) fn remove_ranges(&self, index: FileNumber, id: XactId) {
        let mut partition = self.ranges_of(index).lock();
        let Some(ranges) = partition.get_mut(&index) else { return };
        let before = ranges.len();
        ranges.retain(|held| held.id != id);
        let removed = before - ranges.len();
        if ranges.is_empty() {
            partition.remove(&index);
        }
        drop(partition);
        self.coarse.ranges.fetch_sub(removed, Relaxed);
    }

    fn look(&self, target: Target, but: XactId, found: &mut Found) {
        let bucket = self.bucket(target);
        if bucket.count.load(Acquire) > 0 {
            let locks = bucket.locks.lock();
            locks.iter().filter(|held| held.target == target).for_each(|held| found.add(held.holder, but));
        }
    }

    /// Finds the transactions other than `but` that have read the tuple, or its page, or its relation.
    #[inline]
    pub(crate) fn readers_of_tuple(&self, tuple: Target, but: XactId, found: &mut Found) {
        self.look(tuple, but, found);
        if self.coarse.pages.load(Relaxed) > 0
            && let Some(page) = tuple.page_of_tuple()
        {
            self.look(page, but, found);
        }
        self.readers_of_relation(tuple.file, but, found);
    }

    /// Finds the transactions other than `but` that have read the whole relation.
    #[inline]
    pub(crate) fn readers_of_relation(&self, file: FileNumber, but: XactId, found: &mut Found) {
        if self.coarse.relations.load(Relaxed) > 0 {
            self.look(Target::relation(file), but, found);
        }
    }

    /// Finds the transactions other than `but` that have looked for the key in the index.
    #[inline]
    pub(crate) fn readers_of_key(&self, index: FileNumber, key: &[u8], but: XactId, found: &mut Found) {
        self.look(Target::key(index, key), but, found);
        if self.coarse.ranges.load(Relaxed) > 0 {
            let partition = self.ranges_of(index).lock();
            let ranges = partition.get(&index).into_iter().flatten();
            found.ids.extend(ranges.filter(|held| held.id != but && held.range.contains(key)).map(|held| held.id));
        }
        self.readers_of_relation(index, but, found);
    }

    /// Finds the transactions other than `but` that have read any part of the file. Looks at every lock.
    pub(crate) fn readers_of_anything(&self, file: FileNumber, but: XactId, found: &mut Found) {
        for bucket in &self.buckets {
            let locks = bucket.locks.lock();
            locks.iter().filter(|held| held.target.file == file).for_each(|held| found.add(held.holder, but));
        }
        let partition = self.ranges_of(file).lock();
        found.ids.extend(partition.get(&file).into_iter().flatten().map(|held| held.id).filter(|id| *id != but));
        drop(partition);
        found.ids.sort_unstable();
        found.ids.dedup();
    }

    /// Every lock, for views.
    pub(crate) fn all(&self) -> Vec<(Target, Option<XactId>)> {
        let mut all = Vec::new();
        for bucket in &self.buckets {
            let locks = bucket.locks.lock();
            all.extend(locks.iter().map(|held| match held.holder {
                Holder::Transaction(id) => (held.target, Some(id)),
                Holder::Old(_) => (held.target, None),
            }));
        }
        for partition in &self.ranges {
            let partition = partition.lock();
            for (index, ranges) in partition.iter() {
                all.extend(ranges.iter().map(|held| (Target::key(*index, b""), Some(held.id))));
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use base::Tid;
    use proptest::prelude::*;

    use super::*;

    const FILE: FileNumber = FileNumber(5);

    fn id(number: u32) -> XactId {
        XactId::new(number, 1)
    }

    fn found(look: impl FnOnce(&mut Found)) -> Vec<XactId> {
        let mut found = Found::default();
        look(&mut found);
        let mut ids = found.ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    #[test]
    fn a_writer_finds_those_who_read_the_tuple_its_page_or_its_relation_but_not_itself() {
        let table = LockTable::new();
        let tid = Tid::new(3, 4);
        assert!(table.add(Target::tuple(FILE, tid), id(1)));
        assert!(!table.add(Target::tuple(FILE, tid), id(1)), "once is enough");
        table.add(Target::page(FILE, 3), id(2));
        table.add(Target::relation(FILE), id(3));
        table.add(Target::tuple(FILE, Tid::new(3, 5)), id(4));
        let tuple = Target::tuple(FILE, tid);
        assert_eq!(found(|found| table.readers_of_tuple(tuple, id(9), found)), [id(1), id(2), id(3)]);
        assert_eq!(found(|found| table.readers_of_tuple(tuple, id(2), found)), [id(1), id(3)]);
        assert_eq!(found(|found| table.readers_of_relation(FILE, id(9), found)), [id(3)]);
        table.remove(tuple, id(1));
        table.remove(Target::page(FILE, 3), id(2));
        table.remove(Target::relation(FILE), id(3));
        table.remove(Target::tuple(FILE, Tid::new(3, 5)), id(4));
        assert_eq!(table.len(), 0);
    }

    #[test]
    fn what_is_remembered_in_summary_is_found_until_it_is_forgotten() {
        let table = LockTable::new();
        let page = Target::page(FILE, 3);
        assert!(table.add_old(page, Lsn(80)));
        assert!(!table.add_old(page, Lsn(40)));
        let look = |table: &LockTable| {
            let mut found = Found::default();
            table.readers_of_tuple(Target::tuple(FILE, Tid::new(3, 1)), id(1), &mut found);
            found.old
        };
        assert_eq!(look(&table), Lsn(80));
        table.remove_old(page);
        assert_eq!(look(&table), Lsn::ZERO);
        assert_eq!(table.len(), 0);
    }

    #[test]
    fn a_scan_has_one_range_that_grows() {
        let table = LockTable::new();
        let range = |upper: u8| KeyRange { lower: Bound::Included(vec![1]), upper: Bound::Excluded(vec![upper]) };
        table.set_range(FILE, id(1), 0, range(5));
        assert!(found(|found| table.readers_of_key(FILE, &[7], id(9), found)).is_empty());
        table.set_range(FILE, id(1), 0, range(9));
        assert_eq!(table.len(), 1);
        assert_eq!(found(|found| table.readers_of_key(FILE, &[7], id(9), found)), [id(1)]);
        table.set_range(FILE, id(1), 1, range(2));
        assert_eq!(table.len(), 2);
        table.remove_ranges(FILE, id(1));
        assert_eq!(table.len(), 0);
    }

    fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
        let key = proptest::collection::vec(0u8..4, 0..3);
        prop_oneof![key.clone().prop_map(Bound::Included), key.prop_map(Bound::Excluded), Just(Bound::Unbounded)]
    }

    proptest! {
        #[test]
        fn a_range_contains_what_the_order_of_keys_says(
            lower in bound(), upper in bound(), key in proptest::collection::vec(0u8..4, 0..3)
        ) {
            use std::ops::RangeBounds;
            let expected = (lower.clone(), upper.clone()).contains(&key);
            prop_assert_eq!(KeyRange { lower, upper }.contains(&key), expected);
        }
    }
}
