//! Building a tree from sorted entries: from left to right and from the leaves up, each page written once.

use base::limits::PAGE_SIZE_BYTES;
use base::{Error, Result, Tid};

use crate::change::{Change, Changes, append_entry};
use crate::insert::separator;
use crate::page::{Bound, Entry, Links};
use crate::tree::{BTree, FIRST_LEAF, META_BLOCK, check_key};

/// How full leaves are made, in percent; inner pages are made as full.
const FILL_PERCENT: usize = 90;
/// The room for entries and a high key in a page.
const ROOM_BYTES: usize = PAGE_SIZE_BYTES - 34;
const CAPACITY_BYTES: usize = ROOM_BYTES * FILL_PERCENT / 100;

type Position = (Vec<u8>, [u8; 6]);

/// The page of a level that is being filled.
struct Level {
    block: u32,
    left: u32,
    /// Where its range begins.
    low: Position,
    entries: Vec<u8>,
    /// Bytes the entries take in the page.
    size: usize,
    count: usize,
    /// The last entry, and where in `entries` it begins.
    last: Position,
    last_child: u32,
    last_start: usize,
}

impl BTree {
    /// Fills an empty tree from entries in ascending order of key and tid, which nobody else uses yet.
    ///
    /// # Errors
    /// XX000 if the tree is not empty or the entries not in order; whatever `sorted` fails with.
    pub fn bulk_build(&self, sorted: &mut dyn Iterator<Item = Result<(Vec<u8>, Tid)>>) -> Result<()> {
        {
            let first = self.pin(FIRST_LEAF)?;
            let guard = first.read();
            let page = crate::page::Page::new(&guard);
            if !page.is_root() || page.count() > 0 {
                return Err(Error::internal(format!("the index in file {} is not empty", self.file)));
            }
        }
        let mut levels: Vec<Level> = vec![Level::new(FIRST_LEAF, 0, (Vec::new(), [0; 6]))];
        let mut any = false;
        for item in sorted {
            let (key, tid) = item?;
            check_key(&key)?;
            let position = (key, tid.to_bytes());
            if any && bound(&levels[0].last) >= bound(&position) {
                return Err(Error::internal("index entries to be built from are not in order"));
            }
            any = true;
            self.add(&mut levels, 0, position, 0)?;
        }
        if !any {
            return Ok(());
        }
        // The last page of each level has no right sibling; the highest is the root.
        let mut at = 0;
        while at < levels.len() {
            let root = at + 1 == levels.len();
            self.finish(&mut levels, at, None, root)?;
            at += 1;
        }
        let (root, level) = (levels[at - 1].block, (at - 1) as u16);
        self.services.wal.ensure_room(64);
        let mut meta = [self.pin(META_BLOCK)?.into_write()];
        let mut changes = Changes::new(self.file);
        changes.apply(&mut meta[0], &Change::Meta { root, level });
        self.root_changed(root, level);
        changes.log(&self.services.wal, &mut meta);
        Ok(())
    }

    /// Adds an entry to the page of a level, beginning a new page if it is full.
    fn add(&self, levels: &mut Vec<Level>, at: usize, position: Position, child: u32) -> Result<()> {
        let level = at as u16;
        let entry = Entry { bound: bound(&position), child };
        let size = entry.size(level);
        if levels[at].count > 0 && levels[at].size + size > CAPACITY_BYTES {
            self.begin_page(levels, at, &entry)?;
        }
        levels[at].push(&entry, level);
        Ok(())
    }

    /// Ends the page of a level before `entry`, and begins the next.
    fn begin_page(&self, levels: &mut Vec<Level>, at: usize, entry: &Entry<'_>) -> Result<()> {
        let level = at as u16;
        let low_before = |last: &Entry<'_>, first: &Entry<'_>| {
            if level == 0 { separator(last, first) } else { (first.bound.key.to_vec(), first.bound.tid) }
        };
        let block = self.services.pool.pin_new(self.file)?.page_id().block;
        let full = &mut levels[at];
        let last = std::mem::take(&mut full.last);
        let last = Entry { bound: bound(&last), child: full.last_child };
        let mut next = Level::new(block, full.block, low_before(&last, entry));
        if full.size + (Entry { bound: bound(&next.low), child: 0 }).size(level) > ROOM_BYTES {
            // The high key is too long: the last entry goes to the next page, and one no longer than it takes its room.
            full.entries.truncate(full.last_start);
            full.size -= last.size(level);
            full.count -= 1;
            let mut rest = &full.entries[..];
            let mut before = None;
            while let Some((entry, length)) = Entry::parse(rest, level) {
                before = Some(entry);
                rest = &rest[length..];
            }
            let before = before.ok_or_else(|| Error::internal("an index page for one entry"))?;
            next.low = low_before(&before, &last);
            next.push(&last, level);
        }
        let low = next.low.clone();
        self.finish(levels, at, Some((block, &low)), false)?;
        levels[at] = next;
        Ok(())
    }

    /// Writes the page of a level and enters it in the level above, if there is one or must be.
    fn finish(&self, levels: &mut Vec<Level>, at: usize, next: Option<(u32, &Position)>, root: bool) -> Result<()> {
        let page = &levels[at];
        let links = Links { level: at as u16, root, left: page.left, right: next.map_or(0, |(block, _)| block) };
        let high = next.map(|(_, low)| bound(low));
        self.services.wal.ensure_room(2 * PAGE_SIZE_BYTES);
        let mut guard = [self.pin(page.block)?.into_write()];
        let mut changes = Changes::new(self.file);
        changes.apply(&mut guard[0], &Change::New { links, high, entries: &page.entries });
        changes.log(&self.services.wal, &mut guard);
        drop(guard);
        if root {
            return Ok(());
        }
        let (low, block) = (levels[at].low.clone(), levels[at].block);
        if at + 1 == levels.len() {
            let parent = self.services.pool.pin_new(self.file)?.page_id().block;
            levels.push(Level::new(parent, 0, (Vec::new(), [0; 6])));
        }
        self.add(levels, at + 1, low, block)
    }
}

impl Level {
    fn new(block: u32, left: u32, low: Position) -> Level {
        let entries = Vec::with_capacity(PAGE_SIZE_BYTES);
        let last = (Vec::new(), [0; 6]);
        Level { block, left, low, entries, size: 0, count: 0, last, last_child: 0, last_start: 0 }
    }

    fn push(&mut self, entry: &Entry<'_>, level: u16) {
        self.last_start = self.entries.len();
        append_entry(&mut self.entries, entry, level);
        self.size += entry.size(level);
        self.count += 1;
        self.last = (entry.bound.key.to_vec(), entry.bound.tid);
        self.last_child = entry.child;
    }
}

fn bound(position: &Position) -> Bound<'_> {
    Bound { key: &position.0, tid: position.1 }
}
