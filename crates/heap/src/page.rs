//! A heap page: line pointers grow up from the header, tuples grow down from the end.
//!
//! | bytes | field | |
//! | --- | --- | --- |
//! | 0..16 | | the page cache's: LSN, checksum, flags, kind |
//! | 16..18 | `lower` | end of the line pointers |
//! | 18..20 | `upper` | start of the tuples |
//! | 20..22 | `holes` | bytes between `upper` and the end that no tuple uses |
//! | 22..24 | `unused` | line pointers that are free |
//! | 24..32 | `prune_xid` | some transaction that removed a version here and whose end may make pruning worthwhile; zero if there is none |
//! | 32.. | line pointers | four bytes each, counted from 1: offset (13 bits), quiet (1), quiet and heap-only (1), state (2), length (15) |
//!
//! A tuple is *quiet* when its maker is marked as frozen and nobody has removed it: there is nothing to be pruned about it, and
//! the pruner needn't fetch it from memory to see that. The two bits are hints, set by the pruner and not logged;
//! removing the tuple clears them.
//!
//! Holes are closed when room is needed and not before ([`PageMut::place`]), in line pointer order: redo
//! does the same steps on the same bytes, so nothing about it is logged.
//!
//! The bytes come from a disk and may be damaged. No function here panics or reads outside the page for any bytes: an
//! invalid line pointer is [`Item::Damaged`].

use base::limits::PAGE_SIZE_BYTES;
use base::{CommandId, Error, Result, Tid, Xid};

use crate::tuple::{HEADER_BYTES, Tuple, TupleMut, flag, new_header, u16_at, u32_at, u64_at};

/// Where line pointers begin.
pub(crate) const LINE_POINTERS: usize = 32;
const LINE_POINTER_BYTES: usize = 4;
/// The value of bytes 14..16 of a heap page.
pub(crate) const KIND: u16 = 0x4850;

/// The longest payload of a tuple, in bytes. A longer value is cut up or moved out of line above the heap.
pub const PAYLOAD_MAX_BYTES: usize = 8000;
const _: () = assert!(LINE_POINTERS + LINE_POINTER_BYTES + HEADER_BYTES + PAYLOAD_MAX_BYTES <= PAGE_SIZE_BYTES);

/// A page that has as many line pointers, all in use, counts as full: more rows than these never fit, so that some are dead and
/// wait for a vacuum, and more of them would only take the rows' room.
const SLOTS_ENOUGH: usize = (PAGE_SIZE_BYTES - LINE_POINTERS) / (LINE_POINTER_BYTES + HEADER_BYTES);

/// More line pointers than a page can ever have.
pub(crate) const SLOTS_MAX: usize = (PAGE_SIZE_BYTES - LINE_POINTERS) / LINE_POINTER_BYTES;

const STATE_UNUSED: u32 = 0;
const STATE_NORMAL: u32 = 1;
const STATE_REDIRECT: u32 = 2;
const STATE_DEAD: u32 = 3;

/// In a line pointer: its tuple is quiet, and not heap-only.
const QUIET: u32 = 1 << 13;
/// In a line pointer: its tuple is quiet, and heap-only.
const QUIET_HEAP_ONLY: u32 = 1 << 14;

/// Facts about a tuple that its line pointer records, so that the tuple itself need not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Quiet {
    /// Nothing.
    Unknown,
    /// Quiet, and a row's first version in the page.
    Root,
    /// Quiet, and heap-only.
    HeapOnly,
}

/// The content of a line pointer.
#[derive(Clone, Copy)]
pub(crate) enum Item<'a> {
    /// Free to be used for a new tuple, or not there at all.
    Unused,
    /// A tuple version.
    Normal(Tuple<'a>),
    /// The versions before the one in this slot were pruned; index entries that point to the redirect lead to that slot.
    Redirect(u16),
    /// Its tuple is gone, but index entries may still point here.
    Dead,
    /// Bytes that no page should have.
    Damaged,
}

/// A page's bytes, to be read.
#[derive(Clone, Copy)]
pub(crate) struct Page<'a>(pub(crate) &'a [u8; PAGE_SIZE_BYTES]);

/// A page's bytes, to be changed. The caller holds the page's exclusive latch and logs what it does.
pub(crate) struct PageMut<'a>(pub(crate) &'a mut [u8; PAGE_SIZE_BYTES]);

impl<'a> Page<'a> {
    /// Takes what the page cache hands out.
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Page<'a> {
        Page(bytes.try_into().expect("the page cache hands out whole pages"))
    }

    /// Whether nothing was ever written here: fresh from extending the file.
    #[inline]
    pub(crate) fn is_new(self) -> bool {
        u16_at(self.0, 14) == 0 && self.upper() == 0
    }

    #[inline]
    pub(crate) fn lower(self) -> usize {
        usize::from(u16_at(self.0, 16))
    }
    #[inline]
    pub(crate) fn upper(self) -> usize {
        usize::from(u16_at(self.0, 18))
    }
    #[inline]
    pub(crate) fn holes(self) -> usize {
        usize::from(u16_at(self.0, 20))
    }
    #[inline]
    pub(crate) fn unused(self) -> usize {
        usize::from(u16_at(self.0, 22))
    }
    #[inline]
    pub(crate) fn prune_xid(self) -> Xid {
        Xid(u64_at(self.0, 24))
    }

    /// The highest line pointer; they count from 1.
    #[inline]
    pub(crate) fn slots(self) -> u16 {
        let lower = self.lower().min(PAGE_SIZE_BYTES);
        (lower.saturating_sub(LINE_POINTERS) / LINE_POINTER_BYTES) as u16
    }

    #[inline]
    pub(crate) fn item(self, slot: u16) -> Item<'a> {
        if slot == 0 || slot > self.slots() {
            return Item::Unused;
        }
        let pointer = u32_at(self.0, line_pointer_at(slot));
        let (offset, state, length) = unpack(pointer);
        match state {
            STATE_UNUSED => Item::Unused,
            STATE_REDIRECT => Item::Redirect(offset as u16),
            STATE_DEAD => Item::Dead,
            _ => match self.0.get(offset..offset + length) {
                Some(bytes) if length >= HEADER_BYTES => Item::Normal(Tuple(bytes)),
                _ => Item::Damaged,
            },
        }
    }

    /// Returns the facts that the line pointer records about its tuple.
    #[inline]
    pub(crate) fn quiet(self, slot: u16) -> Quiet {
        if slot == 0 || slot > self.slots() {
            return Quiet::Unknown;
        }
        let pointer = u32_at(self.0, line_pointer_at(slot));
        match pointer & (QUIET | QUIET_HEAP_ONLY) {
            QUIET => Quiet::Root,
            QUIET_HEAP_ONLY => Quiet::HeapOnly,
            _ => Quiet::Unknown,
        }
    }

    /// The tuple in `slot`, if there is one.
    #[inline]
    pub(crate) fn tuple(self, slot: u16) -> Option<Tuple<'a>> {
        match self.item(slot) {
            Item::Normal(tuple) => Some(tuple),
            _ => None,
        }
    }

    /// Bytes a new tuple, header included, can have here once holes are closed.
    #[inline]
    pub(crate) fn room(self) -> usize {
        if self.is_new() {
            return PAGE_SIZE_BYTES - LINE_POINTERS - LINE_POINTER_BYTES;
        }
        let free = self.upper().saturating_sub(self.lower()) + self.holes();
        match self.unused() {
            0 if self.slots_are_enough() => 0,
            0 => free.saturating_sub(LINE_POINTER_BYTES),
            _ => free,
        }
    }

    /// Whether a tuple of `length` bytes, header included, fits.
    #[inline]
    pub(crate) fn has_room(self, length: usize) -> bool {
        if self.is_new() {
            return length <= self.room();
        }
        if self.unused() == 0 && self.slots_are_enough() {
            return false;
        }
        let gap = self.upper().saturating_sub(self.lower());
        let pointer = if self.unused() > 0 { 0 } else { LINE_POINTER_BYTES };
        // The new line pointer must fit below the tuples even if only holes make room for the tuple:
        // closing them moves `upper` up, so the sum is what counts.
        gap + self.holes() >= length + pointer
    }

    fn slots_are_enough(self) -> bool {
        usize::from(self.slots()) >= SLOTS_ENOUGH
    }

    /// Where [`PageMut::place`] will put the next tuple if nobody says where.
    pub(crate) fn next_slot(self) -> u16 {
        if self.is_new() {
            return 1;
        }
        if self.unused() > 0 {
            for slot in 1..=self.slots() {
                if matches!(self.item(slot), Item::Unused) {
                    return slot;
                }
            }
        }
        self.slots() + 1
    }

    /// Holds the page against its rules; XX001 names the first that is broken.
    pub(crate) fn check(self) -> Result<()> {
        let fail = |what: String| Err(Error::corrupted(format!("invalid heap page: {what}")));
        if self.is_new() {
            return Ok(());
        }
        let (lower, upper) = (self.lower(), self.upper());
        if u16_at(self.0, 14) != KIND {
            return fail(format!("kind {:#x}", u16_at(self.0, 14)));
        }
        if lower < LINE_POINTERS
            || lower > upper
            || upper > PAGE_SIZE_BYTES
            || !(lower - LINE_POINTERS).is_multiple_of(4)
        {
            return fail(format!("lower {lower}, upper {upper}"));
        }
        let (mut used, mut unused) = (0, 0);
        let mut covered = [0u64; PAGE_SIZE_BYTES / 64];
        for slot in 1..=self.slots() {
            match self.item(slot) {
                Item::Unused => unused += 1,
                Item::Dead => {}
                Item::Redirect(to) => {
                    if !self.tuple(to).is_some_and(|tuple| tuple.has(flag::HEAP_ONLY)) {
                        return fail(format!("slot {slot} redirects to {to}, which is no heap-only tuple"));
                    }
                }
                Item::Normal(tuple) => {
                    let (offset, _, length) = unpack(u32_at(self.0, line_pointer_at(slot)));
                    if offset < upper {
                        return fail(format!("slot {slot} begins at {offset}, before upper {upper}"));
                    }
                    for byte in offset..offset + length {
                        if covered[byte / 64] & (1 << (byte % 64)) != 0 {
                            return fail(format!("slot {slot} overlaps another tuple"));
                        }
                        covered[byte / 64] |= 1 << (byte % 64);
                    }
                    if !tuple.xmin().is_valid() {
                        return fail(format!("slot {slot} has no xmin"));
                    }
                    used += length;
                }
                Item::Damaged => return fail(format!("slot {slot} points outside the page")),
            }
        }
        if unused != self.unused() || used + self.holes() != PAGE_SIZE_BYTES - upper {
            return fail(format!("{used} bytes used, {} in holes, {unused} unused slots", self.holes()));
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

    #[inline]
    pub(crate) fn read(&self) -> Page<'_> {
        Page(self.0)
    }

    /// Makes it an empty heap page, whatever it was. The page cache's own bytes stay, but for the kind.
    pub(crate) fn init(&mut self) {
        self.0[16..].fill(0);
        self.0[12..14].fill(0);
        self.put_u16(14, KIND);
        self.put_u16(16, LINE_POINTERS as u16);
        self.put_u16(18, PAGE_SIZE_BYTES as u16);
    }

    #[inline]
    pub(crate) fn tuple(&mut self, slot: u16) -> Option<TupleMut<'_>> {
        if slot == 0 || slot > self.read().slots() {
            return None;
        }
        let (offset, state, length) = unpack(u32_at(self.0, line_pointer_at(slot)));
        if state != STATE_NORMAL || length < HEADER_BYTES {
            return None;
        }
        self.0.get_mut(offset..offset + length).map(TupleMut)
    }

    /// Puts a tuple at `slot`, which is unused or the one after the last. False if it doesn't fit there:
    /// then nothing has changed.
    #[must_use]
    pub(crate) fn place(&mut self, slot: u16, header: &[u8; HEADER_BYTES], payload: &[&[u8]]) -> bool {
        let page = self.read();
        let length = HEADER_BYTES + payload.iter().map(|part| part.len()).sum::<usize>();
        let appended = slot == page.slots() + 1;
        if slot == 0 || slot > page.slots() + 1 || !matches!(page.item(slot), Item::Unused) || length > 0x7FFF {
            return false;
        }
        let pointer_bytes = if appended { LINE_POINTER_BYTES } else { 0 };
        let gap = page.upper().saturating_sub(page.lower());
        if gap + page.holes() < length + pointer_bytes {
            return false;
        }
        if gap < length + pointer_bytes {
            self.close_holes();
        }
        let (lower, upper) = (self.read().lower(), self.read().upper());
        if upper > PAGE_SIZE_BYTES || upper.saturating_sub(lower) < length + pointer_bytes {
            return false; // only on a damaged page: `holes` was not true
        }
        let offset = upper - length;
        let mut at = offset;
        for part in [&header[..]].iter().chain(payload) {
            self.0[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        self.put_u16(18, offset as u16);
        if appended {
            self.put_u16(16, (lower + LINE_POINTER_BYTES) as u16);
        } else {
            self.put_u16(22, self.read().unused().saturating_sub(1) as u16);
        }
        self.put_pointer(slot, offset, STATE_NORMAL, length);
        true
    }

    /// Frees the tuple in `slot`; its line pointer becomes `state`.
    fn drop_tuple(&mut self, slot: u16, target: usize, state: u32) {
        if slot == 0 || slot > self.read().slots() {
            return;
        }
        match self.read().item(slot) {
            Item::Normal(tuple) => self.put_u16(20, (self.read().holes() + tuple.0.len()) as u16),
            Item::Unused => return,
            _ => {}
        }
        if state == STATE_UNUSED {
            self.put_u16(22, (self.read().unused() + 1) as u16);
        }
        self.put_pointer(slot, target, state, 0);
    }

    pub(crate) fn set_redirect(&mut self, slot: u16, to: u16) {
        self.drop_tuple(slot, usize::from(to), STATE_REDIRECT);
    }
    pub(crate) fn set_dead(&mut self, slot: u16) {
        self.drop_tuple(slot, 0, STATE_DEAD);
    }
    pub(crate) fn set_unused(&mut self, slot: u16) {
        self.drop_tuple(slot, 0, STATE_UNUSED);
    }

    /// Marks a version as removed in favour of `successor`; itself, if it was deleted. `about_xmax`: the flags that say how.
    pub(crate) fn remove(&mut self, slot: u16, xid: Xid, command: CommandId, successor: Tid, about_xmax: u16) {
        if let Some(mut tuple) = self.tuple(slot) {
            tuple.set_xmax(xid, command, successor, about_xmax & flag::ABOUT_XMAX);
            self.clear_quiet(slot);
            if !self.read().prune_xid().is_valid() {
                self.set_prune_xid(xid);
            }
        }
    }

    /// Notes in the line pointer that the tuple is quiet, if it is.
    pub(crate) fn note_quiet(&mut self, slot: u16) {
        let Some(tuple) = self.read().tuple(slot) else { return };
        if tuple.has(flag::XMIN_FROZEN) && !tuple.xmax().is_valid() {
            let bit = if tuple.has(flag::HEAP_ONLY) { QUIET_HEAP_ONLY } else { QUIET };
            let at = line_pointer_at(slot);
            let pointer = u32_at(self.0, at) & !(QUIET | QUIET_HEAP_ONLY) | bit;
            self.0[at..at + 4].copy_from_slice(&pointer.to_le_bytes());
        }
    }

    fn clear_quiet(&mut self, slot: u16) {
        let at = line_pointer_at(slot);
        let pointer = u32_at(self.0, at) & !(QUIET | QUIET_HEAP_ONLY);
        self.0[at..at + 4].copy_from_slice(&pointer.to_le_bytes());
    }

    pub(crate) fn set_prune_xid(&mut self, xid: Xid) {
        self.0[24..32].copy_from_slice(&xid.0.to_le_bytes());
    }

    /// Cuts unused line pointers off the end of the array, and forgets holes when no tuple is left.
    pub(crate) fn trim(&mut self) {
        while self.read().slots() > 0 && matches!(self.read().item(self.read().slots()), Item::Unused) {
            let lower = self.read().lower() - LINE_POINTER_BYTES;
            self.put_u16(16, lower as u16);
            self.put_u16(22, self.read().unused().saturating_sub(1) as u16);
        }
        if self.read().upper() + self.read().holes() == PAGE_SIZE_BYTES {
            self.put_u16(18, PAGE_SIZE_BYTES as u16);
            self.put_u16(20, 0);
        }
    }

    /// Moves the tuples together at the end of the page, in line pointer order.
    fn close_holes(&mut self) {
        let old = *self.0;
        let page = Page(&old);
        let mut upper = PAGE_SIZE_BYTES;
        for slot in 1..=page.slots() {
            if let Item::Normal(tuple) = page.item(slot) {
                let length = tuple.0.len();
                if upper < length + page.lower() {
                    return; // only on a damaged page whose tuples overlap
                }
                upper -= length;
                self.0[upper..upper + length].copy_from_slice(tuple.0);
                let quiet = u32_at(&old, line_pointer_at(slot)) & (QUIET | QUIET_HEAP_ONLY);
                self.put_pointer(slot, upper | quiet as usize, STATE_NORMAL, length);
            }
        }
        self.put_u16(18, upper as u16);
        self.put_u16(20, 0);
    }

    #[inline]
    fn put_u16(&mut self, at: usize, value: u16) {
        self.0[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }

    #[inline]
    fn put_pointer(&mut self, slot: u16, offset: usize, state: u32, length: usize) {
        let pointer = offset as u32 | state << 15 | (length as u32) << 17;
        let at = line_pointer_at(slot);
        self.0[at..at + 4].copy_from_slice(&pointer.to_le_bytes());
    }
}

#[inline]
fn line_pointer_at(slot: u16) -> usize {
    LINE_POINTERS + (usize::from(slot) - 1) * LINE_POINTER_BYTES
}

#[inline]
fn unpack(pointer: u32) -> (usize, u32, usize) {
    ((pointer & 0x1FFF) as usize, pointer >> 15 & 3, (pointer >> 17) as usize)
}

/// Clears what a page may differ in from what redo makes of it: its checksum, bits that are set without a record, and what
/// lies in holes.
pub fn mask_unlogged(page: &mut [u8]) {
    page[8..12].fill(0);
    let mut page = PageMut::new(page);
    let old = *page.0;
    page.0[Page(&old).lower().min(PAGE_SIZE_BYTES)..].fill(0);
    for slot in 1..=Page(&old).slots() {
        page.clear_quiet(slot);
        if let (Some(before), Some(mut tuple)) = (Page(&old).tuple(slot), page.tuple(slot)) {
            tuple.0.copy_from_slice(before.0);
            tuple.clear_flags(flag::UNLOGGED);
        }
    }
}

/// Holds a page's bytes against the rules of a heap page; XX001 names the first that is broken.
pub fn check_page(page: &[u8]) -> Result<()> {
    Page::new(page).check()
}

/// Reads any bytes as a heap page and looks at all of it: what a fuzzer calls.
pub fn fuzz_page(bytes: &[u8]) -> Result<usize> {
    let mut page = [0u8; PAGE_SIZE_BYTES];
    let length = bytes.len().min(PAGE_SIZE_BYTES);
    page[..length].copy_from_slice(&bytes[..length]);
    let sound = Page(&page).check();
    let mut seen = 0;
    for slot in 0..=Page(&page).slots().saturating_add(2) {
        if let Item::Normal(tuple) = Page(&page).item(slot) {
            seen += tuple.payload().len() + usize::from(tuple.flags()) + tuple.ctid().slot as usize;
        }
    }
    // The changes that redo makes must not panic on damaged pages either.
    let mut page = PageMut(&mut page);
    let header = new_header(Xid(7), CommandId(0), Tid::new(0, 1), 0);
    for slot in 0..=page.read().slots().min(64) {
        page.set_redirect(slot, slot / 2);
        page.set_dead(slot);
        page.set_unused(slot);
        let _ = page.place(slot, &header, &[&[1; 100]]);
    }
    page.trim();
    sound.map(|()| seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> [u8; HEADER_BYTES] {
        new_header(Xid(9), CommandId(1), Tid::new(0, 1), 0)
    }

    #[test]
    fn tuples_placed_are_found_and_their_room_comes_back() {
        let mut bytes = [0; PAGE_SIZE_BYTES];
        assert!(Page(&bytes).is_new());
        let mut page = PageMut(&mut bytes);
        page.init();
        let mut count = 0u16;
        while page.read().has_room(HEADER_BYTES + 100) {
            let slot = page.read().next_slot();
            assert!(page.place(slot, &header(), &[&[count as u8; 60], &[1; 40]]));
            count += 1;
        }
        assert_eq!(count, 60);
        page.read().check().unwrap();
        assert_eq!(page.read().tuple(17).unwrap().payload()[..60], [16; 60]);
        assert!(!page.place(count + 1, &header(), &[&[0; 100]]));
        for slot in (1..=count).step_by(2) {
            page.set_unused(slot);
        }
        page.trim();
        page.read().check().unwrap();
        // One tuple longer than any hole: the holes must be closed for it.
        assert!(page.place(1, &header(), &[&[7; 3000]]));
        page.read().check().unwrap();
        assert_eq!(page.read().tuple(1).unwrap().payload(), [7; 3000]);
        assert_eq!(page.read().tuple(18).unwrap().payload()[..60], [17; 60]);
    }

    #[test]
    fn a_page_of_dead_line_pointers_counts_as_full() {
        let mut bytes = [0; PAGE_SIZE_BYTES];
        let mut page = PageMut(&mut bytes);
        page.init();
        let mut slot = 0;
        while page.read().has_room(HEADER_BYTES + 10) {
            slot = page.read().next_slot();
            assert!(page.place(slot, &header(), &[&[1; 10]]));
            page.set_dead(slot);
        }
        assert_eq!((usize::from(slot), page.read().room()), (SLOTS_ENOUGH, 0));
        page.read().check().unwrap();
        // A vacuum frees it.
        page.set_unused(7);
        assert!(page.read().has_room(6000) && page.read().room() > 6000);
        assert_eq!(page.read().next_slot(), 7);
    }

    #[test]
    fn a_quiet_tuple_is_known_by_its_line_pointer_until_somebody_removes_it() {
        let mut bytes = [0; PAGE_SIZE_BYTES];
        let mut page = PageMut(&mut bytes);
        page.init();
        let heap_only = new_header(Xid(9), CommandId(1), Tid::new(0, 2), flag::HEAP_ONLY);
        assert!(page.place(1, &header(), &[&[1; 3000]]) && page.place(2, &heap_only, &[&[2; 3000]]));
        page.note_quiet(1);
        assert_eq!(page.read().quiet(1), Quiet::Unknown, "its maker is not known to be settled");
        for slot in [1, 2] {
            page.tuple(slot).unwrap().add_flags(flag::XMIN_FROZEN);
            page.note_quiet(slot);
        }
        assert_eq!((page.read().quiet(1), page.read().quiet(2)), (Quiet::Root, Quiet::HeapOnly));
        page.read().check().unwrap();
        // Neither moving tuples nor what is masked minds; removing does.
        assert!(page.place(3, &header(), &[&[3; 1000]]));
        page.set_unused(3);
        assert!(page.place(3, &header(), &[&[3; 2000]]));
        assert_eq!((page.read().quiet(1), page.read().quiet(2)), (Quiet::Root, Quiet::HeapOnly));
        assert_eq!(page.read().tuple(2).unwrap().payload(), [2; 3000]);
        page.remove(1, Xid(12), CommandId(0), Tid::new(0, 1), 0);
        assert_eq!((page.read().quiet(1), page.read().quiet(2)), (Quiet::Unknown, Quiet::HeapOnly));
        page.set_unused(2);
        assert_eq!(page.read().quiet(2), Quiet::Unknown);
        page.read().check().unwrap();
    }

    #[test]
    fn an_emptied_page_has_all_its_room_again() {
        let mut bytes = [0; PAGE_SIZE_BYTES];
        let mut page = PageMut(&mut bytes);
        page.init();
        let room = page.read().room();
        for slot in 1..=10 {
            assert!(page.place(slot, &header(), &[&[1; 200]]));
        }
        page.set_redirect(1, 2);
        page.set_dead(3);
        for slot in 1..=10 {
            page.set_unused(slot);
        }
        page.trim();
        page.read().check().unwrap();
        assert_eq!(page.read().room(), room);
        assert_eq!(page.read().slots(), 0);
    }

    // invariants: row 26
    #[test]
    fn a_count_of_unused_slots_at_its_limit_does_not_overflow() {
        let mut bytes = vec![0u8; PAGE_SIZE_BYTES];
        let mut page = PageMut::new(&mut bytes);
        page.init();
        assert!(page.place(1, &header(), &[&[3; 50]]));
        page.put_u16(22, u16::MAX);
        page.set_unused(1);
        assert!(page.read().check().is_err());
    }

    // invariants: row 26
    #[test]
    fn any_bytes_are_read_without_a_panic() {
        let mut state = 0x9E37_79B9_7F4A_7C15u64;
        for round in 0..3000u32 {
            let mut bytes = vec![0u8; PAGE_SIZE_BYTES];
            let mut page = PageMut::new(&mut bytes);
            page.init();
            for slot in 1..=20 {
                assert!(page.place(slot, &header(), &[&[3; 50]]));
            }
            // A sound page with some bytes changed finds more than noise does.
            for _ in 0..1 + round % 40 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let at = (state >> 40) as usize % if round % 2 == 0 { 200 } else { PAGE_SIZE_BYTES };
                bytes[at] = (state >> 20) as u8;
            }
            let _ = fuzz_page(&bytes);
        }
    }
}
