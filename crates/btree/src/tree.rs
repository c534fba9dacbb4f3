//! A tree, and the ways down it.

use base::limits::PAGE_SIZE_BYTES;
use base::{Error, FileNumber, Result, Tid, Xid};
use buffer::{BufferPool, PageId, Pinned};
use smallvec::SmallVec;
use std::ops::ControlFlow;
use sync::Arc;
use sync::atomic::{AtomicU32, AtomicU64, Ordering};
use wal::{RecordHead, RmgrId, Wal};

use crate::change::{Change, Changes};
use crate::page::{Bound, KEY_MAX_BYTES, Links, Page, corrupted, read_meta};

/// The services that a tree uses.
pub struct BTreeServices {
    /// The page cache.
    pub pool: Arc<BufferPool>,
    /// The log.
    pub wal: Arc<Wal>,
}

/// The block that says where the root is.
pub(crate) const META_BLOCK: u32 = 0;
/// The root of a new tree: for ever its first leaf.
pub(crate) const FIRST_LEAF: u32 = 1;
const NO_BLOCK: u32 = u32::MAX;

/// The inner pages passed on the way down, the root first: parents of what comes next.
pub(crate) type Path = SmallVec<[u32; 8]>;

/// One index. Shared by all sessions.
pub struct BTree {
    /// Where its pages are.
    pub file: FileNumber,
    pub(crate) services: Arc<BTreeServices>,
    /// Level and block of the root when last looked at. An old root is still a way to everything at and below its level: the
    /// pages it doesn't know are reached by right links.
    root: AtomicU64,
    /// The last leaf, while keys arrive in ascending order.
    pub(crate) last_leaf: AtomicU32,
}

impl BTree {
    /// Writes the first pages of an empty tree into `file`, which is empty.
    pub fn create(services: Arc<BTreeServices>, file: FileNumber) -> Result<BTree> {
        {
            let mut meta = services.pool.pin_new(file)?;
            let mut leaf = services.pool.pin_new(file)?;
            if (meta.page_id().block, leaf.page_id().block) != (META_BLOCK, FIRST_LEAF) {
                return Err(Error::internal(format!("relation file {file} of a new index is not empty")));
            }
            let mut changes = Changes::new(file);
            let links = Links { level: 0, root: true, left: 0, right: 0 };
            changes.apply(&mut leaf, &Change::New { links, high: None, entries: &[] });
            changes.apply(&mut meta, &Change::Meta { root: FIRST_LEAF, level: 0 });
            changes.log(&services.wal, &mut [leaf, meta]);
        }
        Ok(BTree::with_root(services, file, FIRST_LEAF, 0))
    }

    /// Opens the tree in `file`. XX002 if there is none.
    pub fn open(services: Arc<BTreeServices>, file: FileNumber) -> Result<BTree> {
        let tree = BTree::with_root(services, file, 0, 0);
        tree.find_root()?;
        Ok(tree)
    }

    fn with_root(services: Arc<BTreeServices>, file: FileNumber, block: u32, level: u16) -> BTree {
        BTree { file, services, root: AtomicU64::new(pack(block, level)), last_leaf: AtomicU32::new(NO_BLOCK) }
    }

    /// How many blocks the file has.
    pub fn block_count(&self) -> Result<u32> {
        self.services.pool.block_count(self.file)
    }

    #[inline]
    pub(crate) fn pin(&self, block: u32) -> Result<Pinned<'_>> {
        self.services.pool.pin(PageId::new(self.file, block))
    }

    pub(crate) fn log(&self, info: u8, parts: &[&[u8]]) -> base::Lsn {
        self.services.wal.insert(RecordHead { rmgr: RmgrId::BTREE, info, xid: Xid::INVALID }, parts).end
    }

    /// Looks up where the root is now.
    fn find_root(&self) -> Result<(u32, u16)> {
        let meta = self.pin(META_BLOCK)?;
        let guard = meta.read();
        let (block, level) = read_meta(Page::new(&guard))?;
        // Under the meta page's latch, which a new root is made under: what is stored is never older than what was there.
        self.root.store(pack(block, level), Ordering::Relaxed);
        Ok((block, level))
    }

    /// A new root was made; the caller holds the meta page's latch.
    pub(crate) fn root_changed(&self, block: u32, level: u16) {
        self.root.store(pack(block, level), Ordering::Relaxed);
    }

    /// The pinned page of this level whose range held `bound` a moment ago: it may have been split since, so that whoever latches it
    /// moves right ([`Page::is_left_of`]). `path` gets the inner pages above it, if somebody asks.
    pub(crate) fn descend(&self, bound: &Bound<'_>, level: u16, mut path: Option<&mut Path>) -> Result<Pinned<'_>> {
        let (mut block, mut at_level) = unpack(self.root.load(Ordering::Relaxed));
        if at_level < level {
            (block, at_level) = self.find_root()?;
        }
        if at_level < level {
            return Err(corrupted(format!("the index in file {} has no level {level}", self.file)));
        }
        let mut pinned = self.pin(block)?;
        let mut verified = false;
        if at_level == level {
            let is_root = Page::new(&pinned.read()).is_root();
            if !is_root {
                (block, at_level) = self.find_root()?;
                pinned = self.pin(block)?;
            }
            verified = true;
        }
        while at_level > level {
            let guard = pinned.read();
            let page = Page::new(&guard);
            if !page.is_node() || page.level() != at_level {
                return Err(self.not_the_page(block, at_level));
            }
            if !verified && !page.is_root() {
                // The tree has grown since somebody last looked. The old root would do, but the way is longer.
                drop(guard);
                (block, at_level) = self.find_root()?;
                pinned = self.pin(block)?;
                verified = true;
                continue;
            }
            verified = true;
            let next = if page.is_left_of(bound) {
                page.right()
            } else {
                if let Some(path) = &mut path {
                    path.push(block);
                }
                let entry = page.child_for(bound).and_then(|index| page.entry(index));
                let child = entry.ok_or_else(|| self.not_the_page(block, at_level))?.child;
                at_level -= 1;
                child
            };
            drop(guard);
            block = next;
            pinned = self.pin(block)?;
        }
        Ok(pinned)
    }

    /// The pinned last page of the leaves: it may have been split since.
    pub(crate) fn descend_to_last(&self) -> Result<Pinned<'_>> {
        let (mut block, mut level) = self.find_root()?;
        loop {
            let pinned = self.pin(block)?;
            let guard = pinned.read();
            let page = Page::new(&guard);
            if !page.is_node() || page.level() != level {
                return Err(self.not_the_page(block, level));
            }
            if page.right() != 0 {
                block = page.right();
                continue;
            }
            if level == 0 {
                drop(guard);
                return Ok(pinned);
            }
            let last = page.count().checked_sub(1).and_then(|last| page.entry(last));
            block = last.ok_or_else(|| self.not_the_page(block, level))?.child;
            level -= 1;
        }
    }

    #[cold]
    pub(crate) fn not_the_page(&self, block: u32, level: u16) -> Error {
        corrupted(format!("block {block} of the index in file {} is not a sound page of level {level}", self.file))
    }

    /// The tids of all entries with exactly this key, ascending, until `found` has enough. No latch is held while `found` runs: by then
    /// the row may be gone and its place another's, which a snapshot taken before does not show.
    ///
    /// # Errors
    /// XX001 and 58030 for a page that can't be read; 57014 and its kin when the session is interrupted.
    pub fn lookup(&self, key: &[u8], found: &mut dyn FnMut(Tid) -> ControlFlow<()>) -> Result<()> {
        self.lookup_with::<false>(key, found)
    }

    /// As [`BTree::lookup`], but `found` runs under the page's latch: no entry it is told of is taken out meanwhile, nor its row's place
    /// used again. For who looks at rows without a snapshot. It must not wait.
    ///
    /// # Errors
    /// XX001 and 58030 for a page that can't be read; 57014 and its kin when the session is interrupted.
    pub fn lookup_latched(&self, key: &[u8], found: &mut dyn FnMut(Tid) -> ControlFlow<()>) -> Result<()> {
        self.lookup_with::<true>(key, found)
    }

    fn lookup_with<const LATCHED: bool>(
        &self,
        key: &[u8],
        found: &mut dyn FnMut(Tid) -> ControlFlow<()>,
    ) -> Result<()> {
        let start = Bound::before(key);
        let mut pinned = self.descend(&start, 0, None)?;
        let mut tids: SmallVec<[Tid; 16]> = SmallVec::new();
        loop {
            let guard = pinned.read();
            let page = Page::new(&guard);
            if !page.is_node() || page.level() != 0 {
                return Err(self.not_the_page(pinned.page_id().block, 0));
            }
            let damaged = || self.not_the_page(pinned.page_id().block, 0);
            let count = page.count();
            // Empty if the key lies to the right; later pages begin with what is left of the key.
            let mut index = page.below(&start).ok_or_else(damaged)?;
            while index < count {
                let entry = page.entry(index).ok_or_else(damaged)?;
                if entry.bound.key != key {
                    break;
                }
                tids.push(entry.tid());
                index += 1;
            }
            let further = page.is_left_of(&Bound::after(key)) || page.high().is_some_and(|high| high.key == key);
            let next = (index == count && further).then(|| page.right());
            let held = LATCHED.then_some(guard);
            for tid in tids.drain(..) {
                if found(tid).is_break() {
                    return Ok(());
                }
            }
            drop(held);
            match next {
                Some(next) => {
                    // Leaves are never given back, so the next one is still there without a pin.
                    drop(pinned);
                    sync::yield_point()?;
                    pinned = self.pin(next)?;
                }
                None => return Ok(()),
            }
        }
    }
}

/// Refuses a key that is too long.
pub(crate) fn check_key(key: &[u8]) -> Result<()> {
    if key.len() <= KEY_MAX_BYTES {
        return Ok(());
    }
    Err(Error::new(
        base::sqlstate::PROGRAM_LIMIT_EXCEEDED,
        format!("index row size {} exceeds btree maximum {KEY_MAX_BYTES}", key.len()),
    )
    .hint("Values larger than 1/3 of a buffer page cannot be indexed."))
}

fn pack(block: u32, level: u16) -> u64 {
    u64::from(level) << 32 | u64::from(block)
}

fn unpack(root: u64) -> (u32, u16) {
    (root as u32, (root >> 32) as u16)
}

const _: () = assert!(PAGE_SIZE_BYTES <= u16::MAX as usize);
