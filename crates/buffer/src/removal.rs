//! Files that are to be removed, and who removes them.
//!
//! To remove a file means to look through all frames, to wait for writes of its pages that are under way, to unlink the file
//! and to sync the directory. A write that is under way may wait for a flush of the log. So nobody whom a flush waits for may
//! remove a file itself: the log's leader, which learns first that a drop is durable, only hands the file over.
//!
//! A thread made for it takes the files in their order ([`FileRemovals::wait_for_work`]). Without such a thread somebody
//! else does it at a moment when nobody waits for it ([`FileRemovals::remove_unless_threaded`]), and a checkpoint does it
//! in any case ([`FileRemovals::remove_all`]).

use std::collections::VecDeque;
use std::time::Duration;

use base::{FileNumber, Lsn};
use sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use sync::{Arc, Condvar, Mutex, Waiter, Waker};

use crate::BufferPool;

/// The files that wait for their removal.
pub struct FileRemovals {
    pool: Arc<BufferPool>,
    forget: Box<dyn Fn(FileNumber) + Send + Sync>,
    /// Guards the files and who is at it. A leaf; not held while a file is removed.
    queue: Mutex<Queue>,
    work: Condvar,
    /// How many files wait: a look that takes no lock.
    pending: AtomicUsize,
    has_thread: AtomicBool,
}

#[derive(Default)]
struct Queue {
    /// Each with the position up to which the log must be durable first.
    files: VecDeque<(FileNumber, Lsn)>,
    handed_over: u64,
    removed: u64,
    /// Somebody removes the first file.
    is_removing: bool,
    waiting: Vec<Waker>,
}

/// The turn of the one that removes the first file. When this is dropped before [`Turn::done`], by a panic, the file
/// waits for another one.
struct Turn<'a> {
    removals: &'a FileRemovals,
    is_done: bool,
}

impl Turn<'_> {
    fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let waiting = {
            let mut queue = self.removals.queue.lock();
            queue.is_removing = false;
            if self.is_done {
                queue.files.pop_front();
                queue.removed += 1;
                self.removals.pending.fetch_sub(1, Ordering::SeqCst);
            }
            std::mem::take(&mut queue.waiting)
        };
        waiting.iter().for_each(Waker::wake);
    }
}

impl FileRemovals {
    /// No files yet. `forget` is called with each file before it is removed.
    pub fn new(pool: Arc<BufferPool>, forget: impl Fn(FileNumber) + Send + Sync + 'static) -> FileRemovals {
        FileRemovals {
            pool,
            forget: Box::new(forget),
            queue: Mutex::new(Queue::default()),
            work: Condvar::new(),
            pending: AtomicUsize::new(0),
            has_thread: AtomicBool::new(false),
        }
    }

    /// Takes a file that nobody uses any more, to be removed when the log is durable up to `after`. Never waits.
    pub fn hand_over(&self, file: FileNumber, after: Lsn) {
        let mut queue = self.queue.lock();
        queue.files.push_back((file, after));
        queue.handed_over += 1;
        self.pending.fetch_add(1, Ordering::SeqCst);
        self.work.notify_one();
    }

    /// Returns when every file that was handed over before is removed, whoever removes it. The caller holds no page latch and
    /// has no write under way.
    pub fn remove_all(&self) {
        let upto = self.queue.lock().handed_over;
        while self.remove_first(upto, true) {}
    }

    /// Removes the files that wait, unless a thread or somebody else does. One load if none wait. The caller holds no page
    /// latch and has no write under way.
    #[inline]
    pub fn remove_unless_threaded(&self) {
        if self.pending.load(Ordering::Relaxed) > 0 && !self.has_thread.load(Ordering::Relaxed) {
            let upto = self.queue.lock().handed_over;
            while self.remove_first(upto, false) {}
        }
    }

    /// Says whether a thread removes the files.
    pub fn set_has_thread(&self, has_thread: bool) {
        self.has_thread.store(has_thread, Ordering::Relaxed);
    }

    /// Waits until there is a file to remove, [`FileRemovals::ring`] is called, or the time is over: what the thread does
    /// between two calls of [`FileRemovals::remove_all`].
    pub fn wait_for_work(&self, at_most: Duration) {
        let mut queue = self.queue.lock();
        if queue.files.is_empty() {
            self.work.wait_for(&mut queue, at_most);
        }
    }

    /// Ends a [`FileRemovals::wait_for_work`].
    pub fn ring(&self) {
        let _queue = self.queue.lock();
        self.work.notify_all();
    }

    /// Removes the first file, or waits for somebody who is at it if `waits` says so. False if the first `upto` are removed, or
    /// somebody is at it who is not waited for.
    fn remove_first(&self, upto: u64, waits: bool) -> bool {
        let mut queue = self.queue.lock();
        if queue.removed >= upto || queue.is_removing && !waits {
            return false;
        }
        if queue.is_removing {
            let waiter = Waiter::new();
            queue.waiting.push(waiter.waker());
            drop(queue);
            waiter.wait(None, None);
            return true;
        }
        let Some(&(file, after)) = queue.files.front() else { return false };
        queue.is_removing = true;
        drop(queue);
        let turn = Turn { removals: self, is_done: false };
        if self.pool.log.durable() < after {
            self.pool.log.flush(after);
        }
        (self.forget)(file);
        if let Err(error) = self.pool.drop_file(file) {
            // Nothing refers to it any more: the next start removes it.
            eprintln!("WARNING:  could not remove file {file} of a dropped relation: {error}");
        }
        turn.done();
        true
    }
}
