//! Changes of several pages at once, as one log record: the doer and redo apply them by the same code.
//!
//! | change | number | after the block (4) |
//! | --- | --- | --- |
//! | new | 1 | level 2, root 1, left 4, right 4, high key's entry if right isn't 0, length 2, entries |
//! | keep | 2 | the first so many entries 2, right 4, high key's entry, new entry's number 2 (0xFFFF: none), new entry |
//! | insert | 3 | number 2, entry |
//! | left | 4 | left 4 |
//! | meta | 5 | root 4, level 2 |
//!
//! `keep` is what a split does to the page that is split: it keeps its first entries, gets a high key and a
//! new right sibling, and is not the root any more. The entry whose insertion made the split necessary may
//! belong to it.

use std::fmt::Write;

use base::limits::PAGE_SIZE_BYTES;
use base::{FileNumber, Lsn, Result};
use buffer::{PageId, PageWrite};
use wal::{RecordHead, RmgrId, Wal};

use crate::page::{Bound, Entry, Links, Page, PageMut, corrupted};

/// An entry into a leaf: block 4, number 2, entry.
pub(crate) const INSERT: u8 = 1;
/// Entries out of a leaf: block 4, numbers 2 each.
pub(crate) const DELETE: u8 = 2;
/// A list of changes.
pub(crate) const CHANGE: u8 = 3;

const NONE: u16 = u16::MAX;

/// A change of one page.
pub(crate) enum Change<'a> {
    /// The page is made anew; its old content is ignored. `entries`: the bytes of the entries, one after the other.
    New { links: Links, high: Option<Bound<'a>>, entries: &'a [u8] },
    /// The page is split: only the first `kept` entries stay, and perhaps a new one joins them.
    Keep { level: u16, kept: u16, right: u32, high: Bound<'a>, new: Option<(u16, Entry<'a>)> },
    /// The page gets one more entry.
    Insert { level: u16, index: u16, entry: Entry<'a> },
    /// The page gets another left sibling.
    Left(u32),
    /// The page, which is the first block, names the root.
    Meta { root: u32, level: u16 },
}

impl Change<'_> {
    /// Does it. `None`: it doesn't fit the page.
    pub(crate) fn apply(&self, page: &mut PageMut<'_>) -> Option<()> {
        match self {
            Change::New { links, high, entries } => {
                page.rebuild(*links, *high, Entries { bytes: entries, level: links.level }).then_some(())
            }
            Change::Keep { level, kept, right, high, new } => {
                let old = *page.0;
                let old = Page(&old);
                let kept = usize::from(*kept);
                if old.level() != *level || kept > old.count() {
                    return None;
                }
                let links = Links { root: false, right: *right, ..old.links() };
                if !page.rebuild(links, Some(*high), (0..kept).map_while(|index| old.entry(index))) {
                    return None;
                }
                match new {
                    Some((index, entry)) => page.insert(usize::from(*index), entry).then_some(()),
                    None => Some(()),
                }
            }
            Change::Insert { level, index, entry } => {
                (page.read().level() == *level && page.insert(usize::from(*index), entry)).then_some(())
            }
            Change::Left(left) => {
                page.set_left(*left);
                Some(())
            }
            Change::Meta { root, level } => {
                page.set_meta(*root, *level);
                Some(())
            }
        }
    }

    /// Whether the page need not be there before.
    pub(crate) fn makes_page(&self) -> bool {
        matches!(self, Change::New { .. } | Change::Meta { .. })
    }

    fn write(&self, block: u32, out: &mut Vec<u8>) {
        let put_entry = |out: &mut Vec<u8>, entry: &Entry<'_>, level: u16| {
            let (head, length) = entry.head(level);
            out.extend_from_slice(&head[..length]);
            out.extend_from_slice(entry.bound.key);
        };
        let number = match self {
            Change::New { .. } => 1,
            Change::Keep { .. } => 2,
            Change::Insert { .. } => 3,
            Change::Left(_) => 4,
            Change::Meta { .. } => 5,
        };
        out.push(number);
        out.extend_from_slice(&block.to_le_bytes());
        match self {
            Change::New { links, high, entries } => {
                out.extend_from_slice(&links.level.to_le_bytes());
                out.push(u8::from(links.root));
                out.extend_from_slice(&links.left.to_le_bytes());
                out.extend_from_slice(&links.right.to_le_bytes());
                if let Some(high) = high {
                    put_entry(out, &Entry { bound: *high, child: 0 }, 0);
                }
                out.extend_from_slice(&(entries.len() as u16).to_le_bytes());
                out.extend_from_slice(entries);
            }
            Change::Keep { level, kept, right, high, new } => {
                out.extend_from_slice(&level.to_le_bytes());
                out.extend_from_slice(&kept.to_le_bytes());
                out.extend_from_slice(&right.to_le_bytes());
                put_entry(out, &Entry { bound: *high, child: 0 }, 0);
                match new {
                    Some((index, entry)) => {
                        out.extend_from_slice(&index.to_le_bytes());
                        put_entry(out, entry, *level);
                    }
                    None => out.extend_from_slice(&NONE.to_le_bytes()),
                }
            }
            Change::Insert { level, index, entry } => {
                out.extend_from_slice(&level.to_le_bytes());
                out.extend_from_slice(&index.to_le_bytes());
                put_entry(out, entry, *level);
            }
            Change::Left(left) => out.extend_from_slice(&left.to_le_bytes()),
            Change::Meta { root, level } => {
                out.extend_from_slice(&root.to_le_bytes());
                out.extend_from_slice(&level.to_le_bytes());
            }
        }
    }

    fn describe(&self, block: u32, line: &mut String) {
        let _ = match self {
            Change::New { links, entries, .. } => {
                write!(line, "new block {block} level {} with {} bytes", links.level, entries.len())
            }
            Change::Keep { kept, right, .. } => write!(line, "block {block} keeps {kept}, the rest goes to {right}"),
            Change::Insert { index, entry, .. } => {
                write!(line, "block {block} gets child {} as {index}", entry.child)
            }
            Change::Left(left) => write!(line, "block {block} is right of {left}"),
            Change::Meta { root, level } => write!(line, "root is block {root} at level {level}"),
        };
    }
}

/// Entries lying one after the other.
struct Entries<'a> {
    bytes: &'a [u8],
    level: u16,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;
    fn next(&mut self) -> Option<Entry<'a>> {
        let (entry, length) = Entry::parse(self.bytes, self.level)?;
        self.bytes = &self.bytes[length..];
        Some(entry)
    }
}

/// Puts an entry's bytes behind others.
pub(crate) fn append_entry(out: &mut Vec<u8>, entry: &Entry<'_>, level: u16) {
    let (head, length) = entry.head(level);
    out.extend_from_slice(&head[..length]);
    out.extend_from_slice(entry.bound.key);
}

/// A record being put together while its changes are done.
pub(crate) struct Changes {
    record: Vec<u8>,
}

impl Changes {
    pub(crate) fn new(file: FileNumber) -> Changes {
        let mut record = Vec::with_capacity(2 * PAGE_SIZE_BYTES);
        record.extend_from_slice(&file.0.to_le_bytes());
        Changes { record }
    }

    /// Does a change to a latched page and puts it on record.
    ///
    /// # Panics
    /// If the change doesn't fit, which whoever planned it has ruled out.
    pub(crate) fn apply(&mut self, guard: &mut PageWrite<'_>, change: &Change<'_>) {
        let block = guard.page_id().block;
        change.apply(&mut PageMut::new(guard)).expect("a change is planned for the page as it is");
        change.write(block, &mut self.record);
    }

    /// Logs all and stamps the pages, which are still latched, with the record's end.
    pub(crate) fn log(self, wal: &Wal, pages: &mut [PageWrite<'_>]) -> Lsn {
        let head = RecordHead { rmgr: RmgrId::BTREE, info: CHANGE, xid: base::Xid::INVALID };
        let end = wal.insert(head, &[&self.record]).end;
        for page in pages {
            page.set_lsn(end);
        }
        end
    }
}

/// Reads a record's parts off its front.
pub(crate) struct Cursor<'a>(pub(crate) &'a [u8]);

impl<'a> Cursor<'a> {
    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(front)
    }
    pub(crate) fn u8(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }
    pub(crate) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(*self.take(2)?.first_chunk()?))
    }
    pub(crate) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.take(4)?.first_chunk()?))
    }
    pub(crate) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(*self.take(8)?.first_chunk()?))
    }
    pub(crate) fn entry(&mut self, level: u16) -> Option<Entry<'a>> {
        let (entry, length) = Entry::parse(self.0, level)?;
        self.0 = &self.0[length..];
        Some(entry)
    }

    /// The next change of a list and the block it is for.
    pub(crate) fn change(&mut self) -> Option<(u32, Change<'a>)> {
        let number = self.u8()?;
        let block = self.u32()?;
        let change = match number {
            1 => {
                let level = self.u16()?;
                let root = self.u8()? != 0;
                let links = Links { level, root, left: self.u32()?, right: self.u32()? };
                let high = if links.right != 0 { Some(self.entry(0)?.bound) } else { None };
                let length = self.u16()?;
                Change::New { links, high, entries: self.take(length.into())? }
            }
            2 => {
                let (level, kept, right) = (self.u16()?, self.u16()?, self.u32()?);
                let high = self.entry(0)?.bound;
                let index = self.u16()?;
                let new = if index == NONE { None } else { Some((index, self.entry(level)?)) };
                Change::Keep { level, kept, right, high, new }
            }
            3 => {
                let level = self.u16()?;
                Change::Insert { level, index: self.u16()?, entry: self.entry(level)? }
            }
            4 => Change::Left(self.u32()?),
            5 => Change::Meta { root: self.u32()?, level: self.u16()? },
            _ => return None,
        };
        Some((block, change))
    }
}

/// Applies each change of a record by `f`, which is told the page and what to do to it.
pub(crate) fn each_change<'a>(
    info: u8,
    payload: &'a [u8],
    f: &mut dyn FnMut(PageId, Action<'a>) -> Result<()>,
) -> Result<()> {
    let damaged = || corrupted(format!("an index record of kind {info} makes no sense"));
    let mut cursor = Cursor(payload);
    let file = FileNumber(cursor.u64().ok_or_else(damaged)?);
    match info {
        INSERT => {
            let block = cursor.u32().ok_or_else(damaged)?;
            let index = cursor.u16().ok_or_else(damaged)?;
            let entry = cursor.entry(0).ok_or_else(damaged)?;
            f(PageId::new(file, block), Action::Change(Change::Insert { level: 0, index, entry }))
        }
        DELETE => {
            let block = cursor.u32().ok_or_else(damaged)?;
            f(PageId::new(file, block), Action::Delete(cursor.0))
        }
        CHANGE => {
            while !cursor.0.is_empty() {
                let (block, change) = cursor.change().ok_or_else(damaged)?;
                f(PageId::new(file, block), Action::Change(change))?;
            }
            Ok(())
        }
        _ => Err(damaged()),
    }
}

/// The action of a record on one page.
pub(crate) enum Action<'a> {
    /// One change of a list, or an insertion.
    Change(Change<'a>),
    /// The entries with these numbers, two bytes each, are removed.
    Delete(&'a [u8]),
}

/// The numbers in a list.
pub(crate) fn numbers(list: &[u8]) -> impl Iterator<Item = usize> {
    list.chunks_exact(2).map(|pair| usize::from(u16::from_le_bytes([pair[0], pair[1]])))
}

/// One line about a record, for `waldump`. Takes any bytes.
pub fn describe(info: u8, payload: &[u8]) -> String {
    let mut line = String::new();
    let mut last_file = None;
    let outcome = each_change(info, payload, &mut |page, action| {
        if !line.is_empty() {
            line.push_str("; ");
        }
        last_file = Some(page.file);
        match action {
            Action::Delete(list) => {
                let _ = write!(line, "delete {} entries from block {}", list.len() / 2, page.block);
            }
            Action::Change(Change::Insert { level: 0, index, entry }) => {
                let _ = write!(
                    line,
                    "insert into block {} as {index}: key of {} bytes for {}",
                    page.block,
                    entry.bound.key.len(),
                    entry.tid()
                );
            }
            Action::Change(change) => change.describe(page.block, &mut line),
        }
        Ok(())
    });
    if let Err(error) = outcome {
        let _ = write!(line, "{}damaged: {}", if line.is_empty() { "" } else { "; " }, error.message());
    }
    if let Some(file) = last_file {
        let _ = write!(line, ", file {file}");
    }
    line
}
