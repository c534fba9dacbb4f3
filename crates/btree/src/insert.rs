//! Inserting entries, and splitting pages that are full.
//!
//! An inserter holds the leaf's exclusive latch from the look for duplicates to the insertion. So if two
//! transactions insert the same key, the second sees the first's entry. All entries of a key begin in one leaf:
//! the leaf where an entry with that key and the lowest tid would go. An inserter into a unique index keeps
//! that leaf latched even if the entry itself goes further right.
//!
//! A split takes its latches from the leaf upwards and from left to right, and keeps them until the whole
//! change is on record, up to the page that takes the last downlink without being split, or the new root.
//! It is one record: after a crash all of a split is there or nothing, so no page is ever without a downlink
//! but while its splitter holds the page to its left. Nobody latches downwards or to the left while holding a
//! latch, hence no deadlock.

use base::limits::PAGE_SIZE_BYTES;
use base::{Liveness, Lsn, Result, Tid, Xid};
use buffer::{PageWrite, Pinned};
use clog::TxnCtx;
use smallvec::SmallVec;
use std::cmp::Ordering;
use sync::atomic::Ordering::Relaxed;

use crate::change::{self, Change, Changes, append_entry};
use crate::page::{Bound, Entry, Links, Page, PageMut};
use crate::tree::{BTree, META_BLOCK, Path, check_key};

/// The result of an insertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InsertOutcome {
    /// The entry is there.
    Inserted,
    /// A live row has the key: where it is, and the csn it was committed at. Nothing was inserted.
    Duplicate(Tid, Lsn),
    /// Whether a row has the key depends on this transaction: wait for its end and call again. Nothing was inserted.
    WaitFor(Xid),
}

/// The question that a unique index asks about the rows that its entries point to: whether they are live.
pub type UniqueCheck<'a> = &'a dyn Fn(Tid) -> Result<Liveness>;

const NO_BLOCK: u32 = u32::MAX;

/// The result of an attempt on one leaf.
enum Attempt {
    Done(InsertOutcome),
    /// The page must be split: log room must be ensured first.
    NeedsLogRoom,
    /// The leaf is not the right one after all.
    WrongLeaf,
}

impl BTree {
    /// Inserts an entry. In a unique index `unique` is asked about each entry that has the key already, under the leaf's latch: it
    /// must not wait. Its finding is returned, and the caller waits or fails.
    ///
    /// # Errors
    /// 54000 for a key that is too long, XX002 for a damaged index, what the page cache or `unique` fails with.
    pub fn insert(
        &self,
        ctx: &TxnCtx<'_>,
        key: &[u8],
        tid: Tid,
        unique: Option<UniqueCheck<'_>>,
    ) -> Result<InsertOutcome> {
        let outcome = self.try_insert(key, tid, unique)?;
        if let InsertOutcome::Duplicate(_, csn) = outcome {
            // The session's reply must wait until the other row is durable (R3).
            ctx.observe(csn);
        }
        Ok(outcome)
    }

    fn try_insert(&self, key: &[u8], tid: Tid, unique: Option<UniqueCheck<'_>>) -> Result<InsertOutcome> {
        check_key(key)?;
        self.services.wal.ensure_room(key.len() + 64);
        let bound = Bound::of(key, tid);
        let last_leaf = self.last_leaf.load(Relaxed);
        if last_leaf != NO_BLOCK {
            match self.insert_into_last(last_leaf, bound, unique)? {
                Attempt::Done(outcome) => return Ok(outcome),
                _ => self.last_leaf.store(NO_BLOCK, Relaxed),
            }
        }
        let mut log_room = false;
        loop {
            let mut path = Path::new();
            let start = if unique.is_some() { Bound::before(key) } else { bound };
            let leaf = self.descend(&start, 0, Some(&mut path))?;
            match self.insert_from(leaf, start, bound, unique, &path, log_room)? {
                Attempt::Done(outcome) => return Ok(outcome),
                Attempt::NeedsLogRoom | Attempt::WrongLeaf => {
                    self.services.wal.ensure_room(4 * PAGE_SIZE_BYTES);
                    log_room = true;
                }
            }
        }
    }

    /// The short way for ascending keys: into the last leaf, without a descent, if the key belongs there and there is room.
    fn insert_into_last(&self, block: u32, bound: Bound<'_>, unique: Option<UniqueCheck<'_>>) -> Result<Attempt> {
        let pinned = self.pin(block)?;
        let mut guard = pinned.write();
        let page = Page::new(&guard);
        let entry = Entry { bound, child: 0 };
        // Beyond the first key, entries with this key can't begin further left.
        let belongs = page.is_node()
            && page.level() == 0
            && page.right() == 0
            && page.room() >= entry.size(0)
            && page.entry(0).is_some_and(|first| first.bound.key < bound.key);
        if !belongs {
            return Ok(Attempt::WrongLeaf);
        }
        if let Some(unique) = unique
            && let Some(outcome) = self.duplicate(page, block, bound.key, unique)?
        {
            return Ok(Attempt::Done(outcome));
        }
        let index = page.below(&bound).ok_or_else(|| self.not_the_page(block, 0))?;
        self.insert_here(&mut guard, index, entry)?;
        Ok(Attempt::Done(InsertOutcome::Inserted))
    }

    /// Inserts into the leaf where `start` belongs, or to the right of it. `start` is where entries with the key begin, in a unique
    /// index; otherwise the entry's own place.
    fn insert_from<'a>(
        &'a self,
        mut pinned: Pinned<'a>,
        start: Bound<'_>,
        bound: Bound<'_>,
        unique: Option<UniqueCheck<'_>>,
        path: &Path,
        log_room: bool,
    ) -> Result<Attempt> {
        let first = loop {
            let guard = pinned.into_write();
            let page = Page::new(&guard);
            if !page.is_node() || page.level() != 0 {
                return Err(self.not_the_page(guard.page_id().block, 0));
            }
            if !page.is_left_of(&start) {
                break guard;
            }
            let right = page.right();
            drop(guard);
            pinned = self.pin(right)?;
        };
        if let Some(unique) = unique
            && let Some(outcome) = self.find_duplicate(&first, bound.key, unique)?
        {
            return Ok(Attempt::Done(outcome));
        }
        // The first leaf stays latched while the entry's own place is looked for among its right siblings.
        let mut further: Option<PageWrite<'_>> = None;
        loop {
            let page = Page::new(further.as_ref().unwrap_or(&first));
            if !page.is_left_of(&bound) {
                break;
            }
            further = Some(self.pin(page.right())?.into_write());
        }
        let (mut guard, _first) = match further {
            Some(guard) => (guard, Some(first)),
            None => (first, None),
        };
        let block = guard.page_id().block;
        let page = Page::new(&guard);
        let entry = Entry { bound, child: 0 };
        let index = page.below(&bound).ok_or_else(|| self.not_the_page(block, 0))?;
        if page.room() >= entry.size(0) {
            if page.right() == 0 && index > 0 && index == page.count() {
                self.last_leaf.store(block, Relaxed);
            }
            self.insert_here(&mut guard, index, entry)?;
        } else if log_room {
            self.split(guard, index, entry, path)?;
        } else {
            return Ok(Attempt::NeedsLogRoom);
        }
        Ok(Attempt::Done(InsertOutcome::Inserted))
    }

    fn insert_here(&self, guard: &mut PageWrite<'_>, index: usize, entry: Entry<'_>) -> Result<()> {
        let block = guard.page_id().block;
        if Page::new(guard).entry(index).is_some_and(|there| there.bound == entry.bound) {
            return Err(crate::page::corrupted(format!(
                "the index in file {} has an entry for {} already",
                self.file,
                entry.tid()
            )));
        }
        if !PageMut::new(guard).insert(index, &entry) {
            return Err(self.not_the_page(block, 0));
        }
        let mut front = [0; 14];
        front[..8].copy_from_slice(&self.file.0.to_le_bytes());
        front[8..12].copy_from_slice(&block.to_le_bytes());
        front[12..].copy_from_slice(&(index as u16).to_le_bytes());
        let (head, length) = entry.head(0);
        guard.set_lsn(self.log(change::INSERT, &[&front, &head[..length], entry.bound.key]));
        Ok(())
    }

    /// Asks about the entries with this key in `first` and, if they may go on there, its right siblings.
    fn find_duplicate(
        &self,
        first: &PageWrite<'_>,
        key: &[u8],
        unique: UniqueCheck<'_>,
    ) -> Result<Option<InsertOutcome>> {
        let goes_on = |page: Page<'_>| page.right() != 0 && page.high().is_some_and(|high| high.key <= key);
        let page = Page::new(first);
        if let Some(outcome) = self.duplicate(page, first.page_id().block, key, unique)? {
            return Ok(Some(outcome));
        }
        let mut next = goes_on(page).then(|| page.right());
        while let Some(block) = next {
            let pinned = self.pin(block)?;
            let guard = pinned.read();
            let page = Page::new(&guard);
            if let Some(outcome) = self.duplicate(page, block, key, unique)? {
                return Ok(Some(outcome));
            }
            next = goes_on(page).then(|| page.right());
        }
        Ok(None)
    }

    /// Asks about the entries with this key in one page.
    fn duplicate(
        &self,
        page: Page<'_>,
        block: u32,
        key: &[u8],
        unique: UniqueCheck<'_>,
    ) -> Result<Option<InsertOutcome>> {
        let damaged = || self.not_the_page(block, 0);
        for index in page.below(&Bound::before(key)).ok_or_else(damaged)?..page.count() {
            let entry = page.entry(index).ok_or_else(damaged)?;
            if entry.bound.key != key {
                break;
            }
            match unique(entry.tid())? {
                Liveness::Dead => {}
                Liveness::Live(csn) => return Ok(Some(InsertOutcome::Duplicate(entry.tid(), csn))),
                Liveness::InProgressInsert(xid) | Liveness::InProgressDelete(xid) => {
                    return Ok(Some(InsertOutcome::WaitFor(xid)));
                }
            }
        }
        Ok(None)
    }

    /// Splits a full page to insert `entry` as number `index`, and its parents as far as they are full.
    fn split(&self, guard: PageWrite<'_>, index: usize, entry: Entry<'_>, path: &Path) -> Result<()> {
        let mut changes = Changes::new(self.file);
        // All pages that are changed stay latched until the record is there.
        let mut held: SmallVec<[PageWrite<'_>; 12]> = SmallVec::new();
        let mut new_root = None;
        let mut key = entry.bound.key.to_vec();
        let (mut tid, mut child) = (entry.bound.tid, entry.child);
        let (mut guard, mut index) = (guard, index);
        let mut planned: SmallVec<[Planned; 4]> = SmallVec::new();
        // First everything is latched and planned, and only then anything changed: what can fail comes first.
        loop {
            let entry = Entry { bound: Bound { key: &key, tid }, child };
            let block = guard.page_id().block;
            let page = Page::new(&guard);
            let level = page.level();
            if page.room() >= entry.size(level) {
                planned.push(Planned::Insert { guard: held.len(), index, key, tid, child });
                held.push(guard);
                break;
            }
            let split = plan_split(page, index, &entry).ok_or_else(|| self.not_the_page(block, level))?;
            let right = self.services.pool.pin_new(self.file)?;
            let right_block = right.page_id().block;
            let old_right = page.right();
            let was_root = page.is_root();
            let separator = split.separator.clone();
            planned.push(Planned::Split { guard: held.len(), split, right_block, old_right: old_right != 0 });
            held.push(guard);
            held.push(right);
            if old_right != 0 {
                held.push(self.pin(old_right)?.into_write());
            }
            if was_root {
                let root = self.services.pool.pin_new(self.file)?;
                let root_block = root.page_id().block;
                let meta = self.pin(META_BLOCK)?.into_write();
                planned.push(Planned::Root { guard: held.len(), level: level + 1, left: block, right: right_block });
                held.push(root);
                held.push(meta);
                new_root = Some((root_block, level + 1));
                // The root's entries: everything below the separator, and from it on.
                (key, tid) = separator;
                planned.push(Planned::RootKey { key, tid });
                break;
            }
            (key, tid) = separator;
            child = right_block;
            (guard, index) = self.parent_of(block, &Bound { key: &key, tid }, level, path)?;
        }
        self.do_split(&mut changes, &mut held, &planned, new_root);
        if let Some((block, level)) = new_root {
            self.root_changed(block, level);
        }
        changes.log(&self.services.wal, &mut held);
        Ok(())
    }

    /// The latched parent of `block`, and where in it an entry for what is split off belongs.
    fn parent_of(&self, block: u32, bound: &Bound<'_>, level: u16, path: &Path) -> Result<(PageWrite<'_>, usize)> {
        // The path begins at the root, which may be a new one since: count from its end. Pages keep their level for ever.
        let known = path.len().checked_sub(usize::from(level) + 1).map(|at| path[at]);
        let mut pinned = match known {
            Some(parent) => self.pin(parent)?,
            None => self.descend(bound, level + 1, None)?,
        };
        loop {
            let guard = pinned.into_write();
            let page = Page::new(&guard);
            let at = guard.page_id().block;
            if !page.is_node() || page.level() != level + 1 {
                return Err(self.not_the_page(at, level + 1));
            }
            if page.is_left_of(bound) {
                let right = page.right();
                drop(guard);
                pinned = self.pin(right)?;
                continue;
            }
            let index = page.below(bound).ok_or_else(|| self.not_the_page(at, level + 1))?;
            let before = index.checked_sub(1).and_then(|before| page.entry(before));
            if before.is_none_or(|entry| entry.child != block) {
                return Err(crate::page::corrupted(format!(
                    "block {at} of the index in file {} has no downlink to block {block}",
                    self.file
                )));
            }
            return Ok((guard, index));
        }
    }

    fn do_split(
        &self,
        changes: &mut Changes,
        held: &mut [PageWrite<'_>],
        planned: &[Planned],
        new_root: Option<(u32, u16)>,
    ) {
        for (at, step) in planned.iter().enumerate() {
            match step {
                Planned::Insert { guard, index, key, tid, child } => {
                    let level = Page::new(&held[*guard]).level();
                    let entry = Entry { bound: Bound { key, tid: *tid }, child: *child };
                    changes.apply(&mut held[*guard], &Change::Insert { level, index: *index as u16, entry });
                }
                Planned::Split { guard, split, right_block, old_right } => {
                    let left_block = held[*guard].page_id().block;
                    let before = Page::new(&held[*guard]).links();
                    let old_high = Page::new(&held[*guard]).high().map(|high| (high.key.to_vec(), high.tid));
                    let high = old_high.as_ref().map(|(key, tid)| Bound { key, tid: *tid });
                    let links = Links { level: before.level, root: false, left: left_block, right: before.right };
                    changes.apply(&mut held[*guard + 1], &Change::New { links, high, entries: &split.moved });
                    let (key, tid) = &split.separator;
                    let new = split.stays.as_ref().map(|(index, bytes)| {
                        let (entry, _) = Entry::parse(bytes, before.level).expect("it was written a moment ago");
                        (*index, entry)
                    });
                    let keep = Change::Keep {
                        level: before.level,
                        kept: split.kept,
                        right: *right_block,
                        high: Bound { key, tid: *tid },
                        new,
                    };
                    changes.apply(&mut held[*guard], &keep);
                    if *old_right {
                        changes.apply(&mut held[*guard + 2], &Change::Left(*right_block));
                    }
                }
                Planned::Root { guard, level, left, right } => {
                    let Some(Planned::RootKey { key, tid }) = planned.get(at + 1) else { continue };
                    let mut entries = Vec::new();
                    append_entry(&mut entries, &Entry { bound: Bound::before(&[]), child: *left }, *level);
                    append_entry(&mut entries, &Entry { bound: Bound { key, tid: *tid }, child: *right }, *level);
                    let links = Links { level: *level, root: true, left: 0, right: 0 };
                    changes.apply(&mut held[*guard], &Change::New { links, high: None, entries: &entries });
                    let (root, level) = new_root.expect("planned with it");
                    changes.apply(&mut held[*guard + 1], &Change::Meta { root, level });
                }
                Planned::RootKey { .. } => {}
            }
        }
    }
}

/// A step of a split. `guard`: the number of its first page among those held.
enum Planned {
    /// The last one: a page that has room for the downlink.
    Insert { guard: usize, index: usize, key: Vec<u8>, tid: [u8; 6], child: u32 },
    /// A page, then the new one, then its old right sibling if there is one.
    Split { guard: usize, split: Split, right_block: u32, old_right: bool },
    /// A new root, then the meta page.
    Root { guard: usize, level: u16, left: u32, right: u32 },
    /// The separator of the new root.
    RootKey { key: Vec<u8>, tid: [u8; 6] },
}

/// How a page is split.
struct Split {
    /// So many of its first entries stay.
    kept: u16,
    /// The new entry, if it stays: its number and bytes.
    stays: Option<(u16, Vec<u8>)>,
    /// The bytes of what goes to the new page.
    moved: Vec<u8>,
    /// Where the new page's range begins.
    separator: (Vec<u8>, [u8; 6]),
}

/// Decides where to split a page that gets `new` as number `index`.
fn plan_split(page: Page<'_>, index: usize, new: &Entry<'_>) -> Option<Split> {
    let level = page.level();
    let count = page.count();
    let mut entries: SmallVec<[Entry<'_>; 512]> = SmallVec::with_capacity(count + 1);
    for at in 0..count {
        entries.push(page.entry(at)?);
    }
    entries.insert(index, *new);
    let separator_at = |at: usize| {
        if level == 0 { separator(&entries[at - 1], &entries[at]) } else { owned(entries[at].bound) }
    };
    let (at, separator) = if page.right() == 0 && index == count && count > 1 {
        // Keys arrive in ascending order: leave the page full. If its new high key doesn't fit, the last entry makes room.
        let (key, tid) = separator_at(count);
        let high = Entry { bound: Bound { key: &key, tid }, child: 0 };
        if page.room() + 2 >= high.size(level) { (count, (key, tid)) } else { (count - 1, separator_at(count - 1)) }
    } else {
        let at = split_point(&entries, level, page.high())?;
        (at, separator_at(at))
    };
    let mut moved = Vec::with_capacity(PAGE_SIZE_BYTES);
    for entry in &entries[at..] {
        append_entry(&mut moved, entry, level);
    }
    let stays = (index < at).then(|| {
        let mut bytes = Vec::new();
        append_entry(&mut bytes, new, level);
        (index as u16, bytes)
    });
    let kept = at - usize::from(stays.is_some());
    Some(Split { kept: kept as u16, stays, moved, separator })
}

/// The number of the first entry that goes right: such that both halves fit, and are as even as can be.
fn split_point(entries: &[Entry<'_>], level: u16, old_high: Option<Bound<'_>>) -> Option<usize> {
    let high_bytes = |high: Bound<'_>| Entry { bound: high, child: 0 }.size(level);
    let total: usize = entries.iter().map(|entry| entry.size(level)).sum();
    let old_high = old_high.map_or(0, high_bytes);
    // The capacity of a page: its size without the header and the high key's offset, which `size` counts.
    let capacity = PAGE_SIZE_BYTES - 32;
    let (mut left, mut best) = (0, None);
    for at in 1..entries.len() {
        left += entries[at - 1].size(level);
        // The left page's high key is at most as long as the first key to the right.
        let (left, right) = (left + high_bytes(entries[at].bound), total - left + old_high.max(2));
        let uneven = left.abs_diff(right);
        if left <= capacity && right <= capacity && best.is_none_or(|(_, least)| uneven < least) {
            best = Some((at, uneven));
        }
    }
    best.map(|(at, _)| at)
}

/// The shortest position that is above the last entry on the left and not above the first on the right.
pub(crate) fn separator(left: &Entry<'_>, right: &Entry<'_>) -> (Vec<u8>, [u8; 6]) {
    match left.bound.key.cmp(right.bound.key) {
        Ordering::Less => {
            let shared = left.bound.key.iter().zip(right.bound.key).take_while(|(a, b)| a == b).count();
            // One byte beyond what they share tells them apart; a key that is a prefix of the other is less.
            (right.bound.key[..(shared + 1).min(right.bound.key.len())].to_vec(), [0; 6])
        }
        _ => owned(right.bound),
    }
}

fn owned(bound: Bound<'_>) -> (Vec<u8>, [u8; 6]) {
    (bound.key.to_vec(), bound.tid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry<'a>(key: &'a [u8], slot: u16) -> Entry<'a> {
        Entry { bound: Bound::of(key, Tid::new(1, slot)), child: 0 }
    }

    #[test]
    fn a_separator_is_above_the_left_and_not_above_the_right() {
        let keys: [&[u8]; 7] = [b"", b"a", b"aa", b"ab", b"abc", b"b", b"ba\0"];
        for (at, left) in keys.iter().enumerate() {
            for right in &keys[at..] {
                let (left, right) = (entry(left, 1), entry(right, 2));
                let (key, tid) = separator(&left, &right);
                let separator = Bound { key: &key, tid };
                assert!(left.bound < separator && separator <= right.bound, "{left:?} {separator:?} {right:?}");
                assert!(key.len() <= right.bound.key.len());
            }
        }
    }
}
