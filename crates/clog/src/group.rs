//! The group at the commit log's latch: committers that find it taken push themselves onto a list; the first is their
//! leader, takes the latch once, sets the bits of all, and wakes them.
//!
//! # The states of a member
//!
//! | state | entered by | left when |
//! | --- | --- | --- |
//! | free | the committer, after its bits are set | a committer takes the place |
//! | taken | a committer, which fills in what it wants | it is pushed, or the list's head is of another page |
//! | queued | the push (one compare-and-swap on the head) | a leader swaps the whole list out, under the latch |
//! | done | the leader, after it gave the latch up | its committer sees it, by spinning a moment or by being woken |
//!
//! A list holds requests for one page, that of its first member: others set their bits alone. Between a look at the head
//! and the push the list may have been swapped out and begun anew for another page with the same head, so that the leader
//! may find several pages after all; it takes them one after the other.

use base::{Lsn, Xid};
use sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use sync::{Mutex, WaitEvent, Waiter, Waker, spin_hint};

use crate::ClogBits;
use crate::bits::page_of;
use crate::clog::{Clog, Finished};

/// A transaction with more subtransactions than this sets its bits alone.
pub(crate) const CHILDREN_MAX: usize = 5;
/// Places for members. When all are taken, committers set their bits alone.
const MEMBERS: usize = if cfg!(shuttle) { 3 } else { 256 };
const NONE: u32 = u32::MAX;
/// How long a member spins before it sleeps: the latch is held for less than a microsecond as a rule.
const SPINS: usize = if cfg!(shuttle) { 2 } else { 200 };

/// The list of those who wait for their bits to be set.
pub(crate) struct GroupQueue {
    head: AtomicU32,
    members: Box<[Member]>,
    next_place: AtomicUsize,
    groups: AtomicU64,
    grouped: AtomicU64,
}

/// How often transactions that met at the commit log's latch set their bits together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupStatistics {
    /// Groups, those of one included.
    pub groups: u64,
    /// Transactions in them.
    pub members: u64,
}

#[repr(align(64))]
struct Member {
    taken: AtomicBool,
    done: AtomicBool,
    next: AtomicU32,
    page: AtomicU64,
    request: Mutex<Request>,
}

#[derive(Default)]
struct Request {
    xid: Xid,
    children: [Xid; CHILDREN_MAX],
    children_count: usize,
    bits: ClogBits,
    lsn: Lsn,
    waker: Option<Waker>,
}

impl Request {
    fn finished(&self) -> Finished<'_> {
        let children = &self.children[..self.children_count];
        Finished { xid: self.xid, children, bits: self.bits, lsn: self.lsn }
    }
}

impl GroupQueue {
    pub(crate) fn new() -> GroupQueue {
        let member = || Member {
            taken: AtomicBool::new(false),
            done: AtomicBool::new(false),
            next: AtomicU32::new(NONE),
            page: AtomicU64::new(0),
            request: Mutex::new(Request::default()),
        };
        GroupQueue {
            head: AtomicU32::new(NONE),
            members: (0..MEMBERS).map(|_| member()).collect(),
            next_place: AtomicUsize::new(0),
            groups: AtomicU64::new(0),
            grouped: AtomicU64::new(0),
        }
    }

    /// Has the bits set by a group's leader, which may be the caller. False if there is no group for it to join.
    pub(crate) fn update(&self, clog: &Clog, finished: &Finished<'_>) -> bool {
        let Some(place) = self.take_place() else { return false };
        let member = &self.members[place as usize];
        let page = page_of(finished.xid);
        member.page.store(page, Ordering::Relaxed);
        member.done.store(false, Ordering::Relaxed);
        {
            let mut request = member.request.lock();
            request.xid = finished.xid;
            request.children[..finished.children.len()].copy_from_slice(finished.children);
            request.children_count = finished.children.len();
            request.bits = finished.bits;
            request.lsn = finished.lsn;
        }
        let joined = match self.push(place, page) {
            None => false,
            Some(NONE) => {
                self.lead(clog, page);
                true
            }
            Some(_) => {
                member.wait();
                true
            }
        };
        debug_assert!(!joined || member.done.load(Ordering::Relaxed));
        member.taken.store(false, Ordering::Release);
        joined
    }

    fn take_place(&self) -> Option<u32> {
        let first = self.next_place.fetch_add(1, Ordering::Relaxed);
        (0..MEMBERS).map(|step| (first + step) % MEMBERS).find_map(|place| {
            let taken = &self.members[place].taken;
            let got = taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
            got.then_some(place as u32)
        })
    }

    /// Puts a member at the head of the list. Returns who was there before; none if that one waits for another page.
    fn push(&self, place: u32, page: u64) -> Option<u32> {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            if head != NONE && self.members[head as usize].page.load(Ordering::Relaxed) != page {
                return None;
            }
            self.members[place as usize].next.store(head, Ordering::Relaxed);
            match self.head.compare_exchange_weak(head, place, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(head),
                Err(now) => head = now,
            }
        }
    }

    /// Sets the bits of all who are on the list when the latch is had, and wakes them.
    fn lead(&self, clog: &Clog, page: u64) {
        let mut list = NONE;
        clog.change(page, |bytes, needs| {
            // From here on nobody joins: the next to push finds an empty list and leads a group of its own.
            list = self.head.swap(NONE, Ordering::AcqRel);
            self.apply(list, page, bytes, needs);
        });
        let mut done_up_to = None;
        while let Some(other) = self.next_page(list, done_up_to, page) {
            clog.change(other, |bytes, needs| self.apply(list, other, bytes, needs));
            done_up_to = Some(other);
        }
        self.groups.fetch_add(1, Ordering::Relaxed);
        self.grouped.fetch_add(self.members_on(list).count() as u64, Ordering::Relaxed);
        while list != NONE {
            let member = &self.members[list as usize];
            // Its place may be another's as soon as it is done.
            list = member.next.load(Ordering::Relaxed);
            member.finish();
        }
    }

    /// Sets the bits on `page` of all on the list.
    fn apply(&self, list: u32, page: u64, bytes: &mut [u8], needs: &mut Lsn) {
        for member in self.members_on(list).filter(|member| member.page.load(Ordering::Relaxed) == page) {
            member.request.lock().finished().apply(page, bytes, needs);
        }
    }

    /// The lowest page above `after` that somebody on the list waits for, other than `except`.
    fn next_page(&self, list: u32, after: Option<u64>, except: u64) -> Option<u64> {
        let pages = self.members_on(list).map(|member| member.page.load(Ordering::Relaxed));
        pages.filter(|&page| page != except && after.is_none_or(|after| page > after)).min()
    }

    pub(crate) fn statistics(&self) -> GroupStatistics {
        let (groups, members) = (self.groups.load(Ordering::Relaxed), self.grouped.load(Ordering::Relaxed));
        GroupStatistics { groups, members }
    }

    fn members_on(&self, list: u32) -> impl Iterator<Item = &Member> {
        let first = self.members.get(list as usize);
        std::iter::successors(first, |member| self.members.get(member.next.load(Ordering::Relaxed) as usize))
    }
}

impl Member {
    /// Waits until the leader has set the bits.
    fn wait(&self) {
        for _ in 0..SPINS {
            if self.done.load(Ordering::Acquire) {
                return;
            }
            spin_hint();
        }
        let waiter = Waiter::new();
        {
            let mut request = self.request.lock();
            if self.done.load(Ordering::Acquire) {
                return;
            }
            request.waker = Some(waiter.waker());
        }
        let _waiting = WaitEvent::XactGroupUpdate.waiting();
        waiter.wait(None, None);
        debug_assert!(self.done.load(Ordering::Acquire));
    }

    fn finish(&self) {
        let waker = {
            let mut request = self.request.lock();
            self.done.store(true, Ordering::Release);
            request.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use std::path::Path;

    use buffer::{DoubleWrite, DoubleWriteOptions, LateLog};
    use sync::Arc;
    use vfs::{SimulatedVfs, Vfs};

    use super::*;
    use crate::StatusStoreOptions;
    use crate::bits::XIDS_PER_PAGE;

    fn clog() -> Clog {
        let vfs: Arc<dyn Vfs> = Arc::new(SimulatedVfs::new(1));
        vfs.create_dir_all(Path::new("/data")).unwrap();
        let doublewrite = DoubleWrite::open(vfs.clone(), Path::new("/data"), DoubleWriteOptions::default()).unwrap();
        let options = StatusStoreOptions::default();
        Clog::open(vfs, Path::new("/data/clog"), Arc::new(LateLog::new()), doublewrite, &options).unwrap()
    }

    // invariants: row 14
    #[test]
    fn a_leader_that_finds_several_pages_takes_them_all() {
        let clog = clog();
        let queue = GroupQueue::new();
        let pages = [4, 2, 7, 4, 2, 9];
        let xid = |place: usize| Xid(pages[place] * XIDS_PER_PAGE + place as u64);
        for place in 0..pages.len() {
            let member = &queue.members[place];
            member.taken.store(true, Ordering::Relaxed);
            let mut request = member.request.lock();
            (request.xid, request.bits) = (xid(place), ClogBits::Committed);
            drop(request);
            // As if the head that each looked at had been of its own page.
            member.page.store(pages[0], Ordering::Relaxed);
            assert!(queue.push(place as u32, pages[0]).is_some());
        }
        for (member, &page) in queue.members.iter().zip(&pages) {
            member.page.store(page, Ordering::Relaxed);
        }
        queue.lead(&clog, pages[0]);
        for (place, member) in queue.members.iter().take(pages.len()).enumerate() {
            assert_eq!(clog.get(xid(place)).unwrap(), ClogBits::Committed);
            assert!(member.done.load(Ordering::Relaxed));
        }
        assert_eq!(queue.statistics(), GroupStatistics { groups: 1, members: 6 });
        assert_eq!(queue.head.load(Ordering::Relaxed), NONE);
    }

    #[test]
    fn who_waits_for_the_leader_is_reported_as_waiting_and_the_leader_is_not() {
        let clog = clog();
        let queue = GroupQueue::new();
        let reports = [0, 1].map(|_| std::sync::Arc::new(sync::WaitReport::default()));
        let (held, is_held) = std::sync::mpsc::channel();
        let (release, released) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let (clog, queue, reports) = (&clog, &queue, &reports);
            scope.spawn(move || {
                clog.change(0, |_, _| {
                    held.send(()).unwrap();
                    released.recv().unwrap();
                });
            });
            is_held.recv().unwrap();
            let member = |number: usize| {
                scope.spawn(move || {
                    let _reporting = reports[number].reporting();
                    let xid = Xid(10 + number as u64);
                    queue.update(clog, &Finished { xid, children: &[], bits: ClogBits::Committed, lsn: Lsn(8) })
                })
            };
            let leader = member(0);
            while queue.head.load(Ordering::Acquire) == NONE {
                std::thread::yield_now();
            }
            let follower = member(1);
            while reports[1].event().is_none() {
                std::thread::yield_now();
            }
            assert_eq!(reports[1].event().map(sync::WaitEvent::name), Some("XactGroupUpdate"));
            assert_eq!(reports[0].event(), None);
            release.send(()).unwrap();
            assert!(leader.join().unwrap() && follower.join().unwrap());
        });
        assert_eq!(reports[1].event(), None);
        assert_eq!(queue.statistics(), GroupStatistics { groups: 1, members: 2 });
        assert!([10, 11].into_iter().all(|xid| clog.get(Xid(xid)).unwrap() == ClogBits::Committed));
    }

    #[test]
    fn who_waits_for_another_page_than_the_head_goes_alone() {
        let queue = GroupQueue::new();
        queue.members[0].page.store(3, Ordering::Relaxed);
        assert_eq!(queue.push(0, 3), Some(NONE));
        queue.members[1].page.store(3, Ordering::Relaxed);
        assert_eq!(queue.push(1, 3), Some(0));
        queue.members[2].page.store(5, Ordering::Relaxed);
        assert_eq!(queue.push(2, 5), None);
    }
}
