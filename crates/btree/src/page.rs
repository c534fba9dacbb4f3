//! A page of the tree: entries in key order, found through an array of offsets.
//!
//! | bytes | field | |
//! | --- | --- | --- |
//! | 0..16 | | the page cache's: LSN, checksum, flags ([`ROOT`]), kind |
//! | 16..18 | `lower` | end of the offsets |
//! | 18..20 | `upper` | start of the entries' bytes |
//! | 20..22 | `holes` | bytes behind `upper` that no entry uses |
//! | 22..24 | `level` | 0 for leaves |
//! | 24..28, 28..32 | `left`, `right` | the siblings' blocks; 0 if there is none |
//! | 32.. | offsets | two bytes each: first the high key's (0: the page is the last of its level), then the entries' |
//!
//! An entry is its key's length (2), a tid (6), in inner pages the child's block (4), then the key. Entries
//! are ordered by key and tid together, as memcmp orders them; no two are equal. An inner page's entry says
//! where its child's range begins. The high key says where the page's own range ends: everything in the page
//! is below it, and what is not is to the right.
//!
//! The bytes come from a disk and may be damaged: no function here panics for any bytes. Invalid parts are `None`.

use std::cmp::Ordering;

use base::limits::PAGE_SIZE_BYTES;
use base::{Error, Result, Tid};

/// Flag: the page is the root.
pub(crate) const ROOT: u16 = 1;
/// The value of bytes 14..16 of an index page.
pub(crate) const KIND: u16 = 0x4254;
pub(crate) const KIND_META: u16 = 0x424D;

const OFFSETS: usize = 32;
const OFFSET_BYTES: usize = 2;
const LEAF_HEAD_BYTES: usize = 8;
const INNER_HEAD_BYTES: usize = 12;

/// A page with so many entries is searched as if its keys were spread evenly.
const EVENLY_SPREAD_MIN: usize = 16;

/// The longest key, in bytes. Longer ones are refused with 54000.
pub const KEY_MAX_BYTES: usize = 2600;
// A high key and two entries of any length fit, or a page could not be split.
const _: () =
    assert!(OFFSETS + OFFSET_BYTES + 3 * (INNER_HEAD_BYTES + OFFSET_BYTES + KEY_MAX_BYTES) <= PAGE_SIZE_BYTES);

/// A position in key space: a key, and a tid to tell entries with the same key apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bound<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) tid: [u8; 6],
}

impl<'a> Bound<'a> {
    /// Before every entry with this key.
    #[inline]
    pub(crate) fn before(key: &'a [u8]) -> Bound<'a> {
        Bound { key, tid: [0; 6] }
    }
    /// After every entry with this key.
    #[inline]
    pub(crate) fn after(key: &'a [u8]) -> Bound<'a> {
        Bound { key, tid: [0xFF; 6] }
    }
    #[inline]
    pub(crate) fn of(key: &'a [u8], tid: Tid) -> Bound<'a> {
        Bound { key, tid: tid.to_bytes() }
    }
}

impl Ord for Bound<'_> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        // The first bytes tell most keys apart without a call.
        let heads = number_at(self.key, 0).cmp(&number_at(other.key, 0));
        heads.then_with(|| self.key.cmp(other.key)).then_with(|| self.tid.cmp(&other.tid))
    }
}

/// Eight bytes of a key from `at` on as a number, as if zeros followed: keys that are ordered give numbers that are, or equal ones.
#[inline]
fn number_at(key: &[u8], at: usize) -> u64 {
    let rest = key.get(at..).unwrap_or(&[]);
    if let Some(whole) = rest.first_chunk::<8>() {
        return u64::from_be_bytes(*whole);
    }
    if let (Some(first), Some(last)) = (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        // Between four and seven bytes: where the two overlap, they say the same.
        let (first, last) = (u64::from(u32::from_be_bytes(*first)), u64::from(u32::from_be_bytes(*last)));
        return first << 32 | last << (64 - 8 * rest.len());
    }
    rest.iter().rev().fold(0, |number, byte| (number >> 8) | u64::from(*byte) << 56)
}

/// How far `key` is on the way from `first` to `last`, in `steps`; up to all of them.
#[inline]
fn guess(first: &[u8], last: &[u8], key: &[u8], steps: usize) -> usize {
    let shared = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    if key.get(..shared) != first.get(..shared) {
        return if key < first { 0 } else { steps };
    }
    let least = number_at(first, shared);
    let span = number_at(last, shared).saturating_sub(least);
    let along = number_at(key, shared).saturating_sub(least).min(span);
    // `along` keeps 48 bits and `steps` has 16 at most, so that the product fits; a guess needs no more of them.
    const _: () = assert!(PAGE_SIZE_BYTES <= 1 << 16);
    let (span, along) = if span >= 1 << 16 { (span >> 16, along >> 16) } else { (span.max(1), along) };
    (along * steps as u64 / span) as usize
}

impl PartialOrd for Bound<'_> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// An entry: where it is in key space, and in inner pages the child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) bound: Bound<'a>,
    pub(crate) child: u32,
}

impl<'a> Entry<'a> {
    #[inline]
    pub(crate) fn tid(&self) -> Tid {
        Tid::from_bytes(self.bound.tid)
    }

    /// Bytes it takes in a page of this level, its offset included.
    #[inline]
    pub(crate) fn size(&self, level: u16) -> usize {
        head_bytes(level) + self.bound.key.len() + OFFSET_BYTES
    }

    /// Returns the bytes before the key, and their number.
    #[inline]
    pub(crate) fn head(&self, level: u16) -> ([u8; INNER_HEAD_BYTES], usize) {
        let mut head = [0; INNER_HEAD_BYTES];
        head[0..2].copy_from_slice(&(self.bound.key.len() as u16).to_le_bytes());
        head[2..8].copy_from_slice(&self.bound.tid);
        head[8..12].copy_from_slice(&self.child.to_le_bytes());
        (head, head_bytes(level))
    }

    /// The key of the entry at the front of `bytes`, of a page of this level.
    #[inline]
    fn parse_key(bytes: &'a [u8], level: u16) -> Option<&'a [u8]> {
        let head = head_bytes(level);
        let length = usize::from(u16::from_le_bytes(*bytes.first_chunk()?));
        bytes.get(head..head + length)
    }

    /// Reads an entry of a page of this level off the front of `bytes`; tells its length.
    #[inline]
    pub(crate) fn parse(bytes: &'a [u8], level: u16) -> Option<(Entry<'a>, usize)> {
        let head = head_bytes(level);
        let tid = *bytes.get(2..8)?.first_chunk()?;
        let child = if level > 0 { u32::from_le_bytes(*bytes.get(8..12)?.first_chunk()?) } else { 0 };
        let key = Entry::parse_key(bytes, level)?;
        Some((Entry { bound: Bound { key, tid }, child }, head + key.len()))
    }
}

#[inline]
fn head_bytes(level: u16) -> usize {
    if level == 0 { LEAF_HEAD_BYTES } else { INNER_HEAD_BYTES }
}

/// The level of a page, whether it is the root, and its siblings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Links {
    pub(crate) level: u16,
    pub(crate) root: bool,
    pub(crate) left: u32,
    pub(crate) right: u32,
}

/// A page's bytes, to be read.
#[derive(Clone, Copy)]
pub(crate) struct Page<'a>(pub(crate) &'a [u8; PAGE_SIZE_BYTES]);

/// A page's bytes, to be changed. The caller holds the exclusive latch and logs what it does.
pub(crate) struct PageMut<'a>(pub(crate) &'a mut [u8; PAGE_SIZE_BYTES]);

impl<'a> Page<'a> {
    /// Takes what the page cache hands out.
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Page<'a> {
        Page(bytes.try_into().expect("the page cache hands out whole pages"))
    }

    #[inline]
    fn u16(self, at: usize) -> u16 {
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }
    #[inline]
    fn u32(self, at: usize) -> u32 {
        u32::from_le_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]])
    }

    /// Whether nothing was ever written here.
    #[inline]
    pub(crate) fn is_new(self) -> bool {
        self.u16(14) == 0 && self.u16(18) == 0
    }
    #[inline]
    pub(crate) fn is_node(self) -> bool {
        self.u16(14) == KIND
    }
    #[inline]
    pub(crate) fn level(self) -> u16 {
        self.u16(22)
    }
    #[inline]
    pub(crate) fn left(self) -> u32 {
        self.u32(24)
    }
    #[inline]
    pub(crate) fn right(self) -> u32 {
        self.u32(28)
    }
    #[inline]
    pub(crate) fn is_root(self) -> bool {
        self.u16(12) & ROOT != 0
    }
    pub(crate) fn links(self) -> Links {
        Links { level: self.level(), root: self.is_root(), left: self.left(), right: self.right() }
    }

    /// How many entries there are, the high key not counted.
    #[inline]
    pub(crate) fn count(self) -> usize {
        (usize::from(self.u16(16)).min(PAGE_SIZE_BYTES).saturating_sub(OFFSETS) / OFFSET_BYTES).saturating_sub(1)
    }

    /// The entry with this number, from 0; none beyond the last.
    #[inline]
    pub(crate) fn entry(self, index: usize) -> Option<Entry<'a>> {
        if index >= self.count() {
            return None;
        }
        let at = OFFSETS + (index + 1) * OFFSET_BYTES;
        Some(Entry::parse(self.0.get(usize::from(self.u16(at))..)?, self.level())?.0)
    }

    /// Where the page's range ends; none for the last page of a level.
    #[inline]
    pub(crate) fn high(self) -> Option<Bound<'a>> {
        let offset = usize::from(self.u16(OFFSETS));
        if offset == 0 {
            return None;
        }
        Some(Entry::parse(self.0.get(offset..)?, self.level())?.0.bound)
    }

    /// Whether `bound` is beyond the page's range.
    #[inline]
    pub(crate) fn is_left_of(self, bound: &Bound<'_>) -> bool {
        self.right() != 0 && self.high().is_some_and(|high| *bound >= high)
    }

    /// The key of the entry with this number; the caller has checked that there is one.
    #[inline]
    fn key(self, index: usize) -> Option<&'a [u8]> {
        let at = OFFSETS + (index + 1) * OFFSET_BYTES;
        Entry::parse_key(self.0.get(usize::from(self.u16(at))..)?, self.level())
    }

    /// Whether the entry with this number is below `bound`, whose key begins with `head` as a number; the caller has checked that
    /// there is one.
    #[inline]
    fn is_below(self, index: usize, bound: &Bound<'_>, head: u64) -> Option<bool> {
        let own_head = number_at(self.key(index)?, 0);
        if own_head != head {
            return Some(own_head < head);
        }
        Some(self.entry(index)?.bound < *bound)
    }

    /// How many entries are below `bound`.
    ///
    /// The first look is at the place where the entry would be if the keys between the first and the last were spread evenly, as
    /// numbers that are given out in order are. The search goes on from there in growing steps until it has gone too far, then by
    /// halving. These are fewer looks, and closer together, than by halving alone. A page with unevenly spread keys costs a few
    /// looks more.
    #[inline]
    pub(crate) fn below(self, bound: &Bound<'_>) -> Option<usize> {
        let (mut low, mut high) = (0, self.count());
        let head = number_at(bound.key, 0);
        let mut at = high / 2;
        let mut goes_in_steps = high >= EVENLY_SPREAD_MIN;
        if goes_in_steps {
            // The first key of the leftmost inner page is empty, so it must not be an end of the interpolation.
            let first = usize::from(self.level() > 0);
            at = (first + guess(self.key(first)?, self.key(high - 1)?, bound.key, high - first)).min(high - 1);
        }
        let (mut step, mut went_up) = (0, None);
        while low < high {
            let is_below = self.is_below(at, bound, head)?;
            let next = if is_below {
                low = at + 1;
                low + step
            } else {
                high = at;
                high.wrapping_sub(step + 1)
            };
            goes_in_steps &= went_up.is_none_or(|went_up| went_up == is_below) && (low..high).contains(&next);
            at = if goes_in_steps { next } else { low.midpoint(high) };
            went_up = Some(is_below);
            step = step * 2 + 1;
        }
        Some(low)
    }

    /// The number of the entry whose child's range holds `bound`; the page is an inner one and `bound` in its range.
    #[inline]
    pub(crate) fn child_for(self, bound: &Bound<'_>) -> Option<usize> {
        let below = self.below(bound)?;
        if self.entry(below).is_some_and(|entry| entry.bound == *bound) {
            return Some(below);
        }
        below.checked_sub(1)
    }

    #[inline]
    fn lower(self) -> usize {
        usize::from(self.u16(16))
    }
    #[inline]
    fn upper(self) -> usize {
        usize::from(self.u16(18))
    }
    #[inline]
    fn holes(self) -> usize {
        usize::from(self.u16(20))
    }

    /// Bytes that new entries, offsets included, can take.
    #[inline]
    pub(crate) fn room(self) -> usize {
        self.upper().saturating_sub(self.lower()) + self.holes()
    }

    /// Holds the page against its own rules; XX002 names the first that is broken.
    pub(crate) fn check(self, block: u32) -> Result<()> {
        let fail = |what: &str| Err(corrupted(format!("block {block} of the index: {what}")));
        if !self.is_node() {
            return fail("not a page of a tree");
        }
        if self.lower() < OFFSETS + OFFSET_BYTES || self.lower() > self.upper() || self.upper() > PAGE_SIZE_BYTES {
            return fail("lower and upper make no sense");
        }
        if (self.right() == 0) != (self.u16(OFFSETS) == 0) {
            return fail("a page has a high key if and only if it has a right sibling");
        }
        let mut used = 0;
        let level = self.level();
        let mut previous: Option<Bound<'_>> = None;
        for index in 0..self.count() {
            let Some(entry) = self.entry(index) else { return fail("an entry lies outside the page") };
            if previous.is_some_and(|previous| previous >= entry.bound) {
                return fail("entries are out of order");
            }
            previous = Some(entry.bound);
            used += entry.size(level) - OFFSET_BYTES;
        }
        if self.right() != 0 {
            let Some(high) = self.high() else { return fail("the high key lies outside the page") };
            if previous.is_some_and(|last| last >= high) {
                return fail("an entry is not below the high key");
            }
            used += Entry { bound: high, child: 0 }.size(level) - OFFSET_BYTES;
        }
        if used + self.holes() != PAGE_SIZE_BYTES - self.upper() {
            return fail("its holes are counted wrong");
        }
        Ok(())
    }
}

impl<'a> PageMut<'a> {
    /// Takes what the page cache hands out.
    #[inline]
    pub(crate) fn new(bytes: &'a mut [u8]) -> PageMut<'a> {
        PageMut(bytes.try_into().expect("the page cache hands out whole pages"))
    }

    pub(crate) fn read(&self) -> Page<'_> {
        Page(self.0)
    }

    fn put_u16(&mut self, at: usize, value: u16) {
        self.0[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }

    /// Makes it an empty page with these links, whatever it was.
    pub(crate) fn init(&mut self, links: Links) {
        self.0[16..].fill(0);
        self.put_u16(12, if links.root { ROOT } else { 0 });
        self.put_u16(14, KIND);
        self.put_u16(16, (OFFSETS + OFFSET_BYTES) as u16);
        self.put_u16(18, PAGE_SIZE_BYTES as u16);
        self.put_u16(22, links.level);
        self.0[24..28].copy_from_slice(&links.left.to_le_bytes());
        self.0[28..32].copy_from_slice(&links.right.to_le_bytes());
    }

    pub(crate) fn set_left(&mut self, left: u32) {
        self.0[24..28].copy_from_slice(&left.to_le_bytes());
    }

    /// Gives a page that was just made its high key. False if there is no room.
    #[must_use]
    pub(crate) fn set_high(&mut self, high: Bound<'_>) -> bool {
        match self.store(&Entry { bound: high, child: 0 }, 0) {
            Some(offset) => {
                self.put_u16(OFFSETS, offset);
                true
            }
            None => false,
        }
    }

    /// Puts the bytes of an entry behind the others, leaving `extra` bytes above the offsets; tells where.
    fn store(&mut self, entry: &Entry<'_>, extra: usize) -> Option<u16> {
        let level = self.read().level();
        let (head, head_length) = entry.head(level);
        let length = head_length + entry.bound.key.len();
        let gap = self.read().upper().min(PAGE_SIZE_BYTES).saturating_sub(self.read().lower());
        if gap < length + extra {
            if gap + self.read().holes() < length + extra {
                return None;
            }
            self.close_holes();
        }
        let (lower, upper) = (self.read().lower(), self.read().upper().min(PAGE_SIZE_BYTES));
        if upper < lower + length + extra {
            return None;
        }
        let offset = upper - length;
        self.0[offset..offset + head_length].copy_from_slice(&head[..head_length]);
        self.0[offset + head_length..upper].copy_from_slice(entry.bound.key);
        self.put_u16(18, offset as u16);
        Some(offset as u16)
    }

    /// Inserts an entry as number `index`. False if there is no room, or no such place; then nothing has changed.
    #[must_use]
    pub(crate) fn insert(&mut self, index: usize, entry: &Entry<'_>) -> bool {
        if index > self.read().count() || self.read().lower() < OFFSETS + OFFSET_BYTES {
            return false;
        }
        let Some(offset) = self.store(entry, OFFSET_BYTES) else { return false };
        let (at, lower) = (OFFSETS + (index + 1) * OFFSET_BYTES, self.read().lower());
        self.0.copy_within(at..lower, at + OFFSET_BYTES);
        self.put_u16(at, offset);
        self.put_u16(16, (lower + OFFSET_BYTES) as u16);
        true
    }

    /// Takes out the entries with these numbers, ascending. False if one is not there.
    #[must_use]
    pub(crate) fn remove(&mut self, indexes: impl Iterator<Item = usize>) -> bool {
        let count = self.read().count();
        let level = self.read().level();
        if self.read().lower() != OFFSETS + (count + 1) * OFFSET_BYTES {
            return false;
        }
        let (mut freed, mut removed, mut from) = (0, 0, 0);
        for index in indexes {
            if index < from || index >= count {
                return false;
            }
            let Some(entry) = self.read().entry(index) else { return false };
            freed += entry.size(level) - OFFSET_BYTES;
            self.move_offsets(from, index, removed);
            removed += 1;
            from = index + 1;
        }
        self.move_offsets(from, count, removed);
        let lower = self.read().lower() - removed * OFFSET_BYTES;
        let holes = self.read().holes() + freed;
        self.put_u16(16, lower as u16);
        self.put_u16(20, holes as u16);
        true
    }

    /// Moves the offsets of the entries `from..to` down by `by` places.
    fn move_offsets(&mut self, from: usize, to: usize, by: usize) {
        let at = |index: usize| OFFSETS + (index + 1) * OFFSET_BYTES;
        if by > 0 && from < to {
            self.0.copy_within(at(from)..at(to), at(from - by));
        }
    }

    /// Moves the entries together at the end of the page, in order.
    fn close_holes(&mut self) {
        let old = *self.0;
        let page = Page(&old);
        let links = page.links();
        let _ = self.rebuild(links, page.high(), (0..page.count()).filter_map(|index| page.entry(index)));
    }

    /// Makes the page anew with these entries, which lie elsewhere. False if they don't fit.
    #[must_use]
    pub(crate) fn rebuild<'b>(
        &mut self,
        links: Links,
        high: Option<Bound<'b>>,
        entries: impl Iterator<Item = Entry<'b>>,
    ) -> bool {
        self.init(links);
        if let Some(high) = high
            && !self.set_high(high)
        {
            return false;
        }
        let mut count = 0;
        for entry in entries {
            // As `insert` at the end, but without a chance of calling `close_holes`: there are none.
            let Some(offset) = self.store(&entry, OFFSET_BYTES) else { return false };
            let lower = self.read().lower();
            self.put_u16(lower, offset);
            self.put_u16(16, (lower + OFFSET_BYTES) as u16);
            count += 1;
        }
        self.read().count() == count
    }

    /// Makes it the tree's meta page.
    pub(crate) fn set_meta(&mut self, root: u32, level: u16) {
        self.0[16..].fill(0);
        self.put_u16(12, 0);
        self.put_u16(14, KIND_META);
        self.put_u16(16, 1);
        self.put_u16(18, level);
        self.0[20..24].copy_from_slice(&root.to_le_bytes());
    }
}

/// Reads a meta page: the root's block and level.
pub(crate) fn read_meta(page: Page<'_>) -> Result<(u32, u16)> {
    if page.u16(14) != KIND_META || page.u16(16) != 1 || page.u32(20) == 0 {
        return Err(corrupted("the first block of the index is not an index's first block".to_owned()));
    }
    Ok((page.u32(20), page.u16(18)))
}

/// An index that breaks its own rules (XX002).
#[cold]
pub(crate) fn corrupted(what: String) -> Error {
    Error::new(base::sqlstate::INDEX_CORRUPTED, what)
}

/// Reads any bytes as a page of a tree and does to it what redo does: what a fuzzer calls.
pub fn fuzz_page(bytes: &[u8]) -> Result<usize> {
    let mut page = [0u8; PAGE_SIZE_BYTES];
    let length = bytes.len().min(PAGE_SIZE_BYTES);
    page[..length].copy_from_slice(&bytes[..length]);
    let sound = Page(&page).check(1);
    let _ = read_meta(Page(&page));
    let key = page[40..60].to_vec();
    let bound = Bound::before(&key);
    let found = Page(&page).below(&bound).unwrap_or(0) + Page(&page).child_for(&bound).unwrap_or(0);
    let mut changed = PageMut(&mut page);
    let _ = changed.remove([0, 2, 3].into_iter());
    for index in 0..40 {
        let _ = changed.insert(index, &Entry { bound, child: 7 });
    }
    let _ = changed.remove(1..30);
    sound.map(|()| found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAF: Links = Links { level: 0, root: true, left: 0, right: 0 };

    fn leaf_with(count: u32) -> Box<[u8; PAGE_SIZE_BYTES]> {
        let mut bytes = Box::new([0; PAGE_SIZE_BYTES]);
        let mut page = PageMut(&mut bytes);
        page.init(LEAF);
        for number in 0..count {
            let key = number.to_be_bytes();
            assert!(page.insert(number as usize, &Entry { bound: Bound::of(&key, Tid::new(number, 1)), child: 0 }));
        }
        bytes
    }

    #[test]
    fn entries_are_found_by_key_and_tid() {
        let bytes = leaf_with(100);
        let page = Page(&bytes);
        page.check(1).unwrap();
        let key = 40u32.to_be_bytes();
        assert_eq!(page.below(&Bound::before(&key)), Some(40));
        assert_eq!(page.below(&Bound::after(&key)), Some(41));
        assert_eq!(page.below(&Bound::of(&key, Tid::new(40, 1))), Some(40));
        assert_eq!(page.below(&Bound::of(&key, Tid::new(40, 2))), Some(41));
        assert_eq!(page.entry(99).unwrap().tid(), Tid::new(99, 1));
    }

    /// Keys of all lengths, with zeros at their ends, close together and far apart.
    #[test]
    fn as_many_entries_are_below_a_bound_as_compare_less() {
        let mut state = 1u64;
        let mut number = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for round in 0..300 {
            let letters = [2, 3, 256][round % 3];
            let prefix = vec![7; [0, 3, 9][round / 3 % 3]];
            let mut key = || {
                let length = number(12);
                [prefix.clone(), (0..length).map(|_| number(letters) as u8).collect()].concat()
            };
            let mut keys: Vec<Vec<u8>> = (0..1 + round).map(|_| key()).collect();
            keys.sort();
            let mut bytes = leaf_with(0);
            if round % 2 == 1 {
                // The leftmost inner page begins with an empty key.
                PageMut(&mut bytes).init(Links { level: 1, ..LEAF });
                keys[0] = Vec::new();
            }
            let mut count = 0;
            for (number, key) in keys.iter().enumerate() {
                let entry = Entry { bound: Bound::of(key, Tid::new(number as u32, 1)), child: round as u32 % 2 };
                count += usize::from(PageMut(&mut bytes).insert(number, &entry));
            }
            let sought: Vec<Vec<u8>> = (0..20).map(|_| key()).chain(keys.iter().step_by(7).cloned()).collect();
            for key in &sought {
                for bound in [Bound::before(key), Bound::after(key), Bound::of(key, Tid::new(count as u32 / 2, 1))] {
                    let less = |(number, entry): &(usize, &Vec<u8>)| {
                        entry.as_slice().cmp(key).then(Tid::new(*number as u32, 1).to_bytes().cmp(&bound.tid)).is_lt()
                    };
                    let expected = keys[..count].iter().enumerate().filter(less).count();
                    assert_eq!(Page(&bytes).below(&bound), Some(expected), "{key:?} among {keys:?}");
                }
            }
        }
    }

    #[test]
    fn a_page_filled_emptied_and_filled_again_loses_no_room() {
        let mut bytes = leaf_with(0);
        let mut page = PageMut(&mut bytes);
        let room = page.read().room();
        for round in 0..10u32 {
            let mut count = 0u32;
            loop {
                let key = (count * 2).to_be_bytes();
                let entry = Entry { bound: Bound::of(&key, Tid::new(round, 1)), child: 0 };
                if !page.insert(count as usize, &entry) {
                    break;
                }
                count += 1;
            }
            page.read().check(1).unwrap();
            assert_eq!(count as usize, room / 14);
            assert!(page.remove((0..count as usize).filter(|index| index % 3 != 0)));
            page.read().check(1).unwrap();
            assert_eq!(page.read().entry(1).unwrap().bound.key, 6u32.to_be_bytes());
            assert!(page.remove(0..page.read().count()));
            assert_eq!(page.read().room(), room);
        }
    }

    // invariants: row 26
    #[test]
    fn any_bytes_are_read_without_a_panic() {
        let mut state = 0x9E37_79B9_7F4A_7C15u64;
        for round in 0..3000usize {
            let mut bytes = leaf_with(50);
            for _ in 0..1 + round % 40 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let at = 12 + (state >> 40) as usize % if round % 2 == 0 { 120 } else { PAGE_SIZE_BYTES - 12 };
                bytes[at] = (state >> 20) as u8;
            }
            let _ = fuzz_page(&bytes[..]);
        }
    }
}
