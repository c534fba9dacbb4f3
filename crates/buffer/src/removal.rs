//! Files that are to be removed, and who removes them.
//!
//! To remove a file means to look through all frames, to wait for writes of its pages that are under way, to unlink the file
//! and to sync the directory. A write that is under way may wait for a flush of the log. So nobody whom a flush waits for may
//! remove a file itself: the log's leader, which learns first that a drop is durable, only hands the file over.
//!
//! A thread made for it takes all files that wait, looks through the frames once for all of them, and syncs the directory once
//! ([`FileRemovals::wait_for_work`]). Without such a thread somebody else does it at a moment when nobody waits for it
//! ([`FileRemovals::remove_unless_threaded`]), and a checkpoint does it in any case ([`FileRemovals::remove_all`]). A session
//! that makes files waits while too many wait for their removal ([`FileRemovals::wait_while_many`]).

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use base::{Error, FileNumber, Lsn};
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
    /// Files that could not be removed. Nothing refers to them.
    failed: BTreeSet<FileNumber>,
    /// Somebody removes the first files.
    is_removing: bool,
    waiting: Vec<Waker>,
}

/// With more files than this waiting, nobody makes another one.
const PENDING_MAX: usize = 1000;

const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(1);

/// The turn of the one that removes the first files. When this is dropped before [`Turn::done`], by a panic, the files
/// wait for another one.
struct Turn<'a> {
    removals: &'a FileRemovals,
    /// How many of the files that wait are removed.
    done: usize,
}

impl Turn<'_> {
    fn done(mut self, files: usize) {
        self.done = files;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let waiting = {
            let mut queue = self.removals.queue.lock();
            queue.is_removing = false;
            queue.files.drain(..self.done);
            queue.removed += self.done as u64;
            self.removals.pending.fetch_sub(self.done, Ordering::SeqCst);
            std::mem::take(&mut queue.waiting)
        };
        waiting.iter().for_each(Waker::wake);
    }
}

impl FileRemovals {
    /// No files yet. `forget` is called with each file after its removal.
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
        while self.remove_some(upto, true) {}
    }

    /// Removes the files if very many wait: for recovery, in which no thread does. The caller is as for
    /// [`FileRemovals::remove_all`].
    pub fn remove_if_many(&self) {
        if self.pending.load(Ordering::Relaxed) > PENDING_MAX {
            self.remove_all();
        }
    }

    /// Waits while a thread has very many files to remove. The caller is about to make a file; it holds no page latch and has
    /// no write under way.
    pub fn wait_while_many(&self) {
        while self.pending.load(Ordering::Relaxed) > PENDING_MAX && self.has_thread.load(Ordering::Relaxed) {
            let mut queue = self.queue.lock();
            if !queue.is_removing {
                // The thread is about to begin.
                drop(queue);
                Waiter::new().wait(Some(Instant::now() + LOOK_AGAIN_AFTER), None);
                continue;
            }
            let waiter = queue.join();
            drop(queue);
            waiter.wait(None, None);
        }
    }

    /// Removes the files that wait, unless a thread or somebody else does. One load if none wait. The caller holds no page
    /// latch and has no write under way.
    #[inline]
    pub fn remove_unless_threaded(&self) {
        if self.pending.load(Ordering::Relaxed) > 0 && !self.has_thread.load(Ordering::Relaxed) {
            let upto = self.queue.lock().handed_over;
            while self.remove_some(upto, false) {}
        }
    }

    /// Says whether a thread removes the files. If it no longer does, a [`FileRemovals::wait_for_work`] ends.
    pub fn set_has_thread(&self, has_thread: bool) {
        let _queue = self.queue.lock();
        self.has_thread.store(has_thread, Ordering::Relaxed);
        self.work.notify_all();
    }

    /// Waits until there is a file to remove, there is to be no thread any more, or the time is over: what the thread does
    /// between two calls of [`FileRemovals::remove_all`].
    pub fn wait_for_work(&self, at_most: Duration) {
        let mut queue = self.queue.lock();
        if queue.files.is_empty() && self.has_thread.load(Ordering::Relaxed) {
            self.work.wait_for(&mut queue, at_most);
        }
    }

    /// Removes the files that wait, or waits for somebody who is at it if `waits` says so. False if the first `upto` are removed,
    /// or somebody is at it who is not waited for.
    fn remove_some(&self, upto: u64, waits: bool) -> bool {
        let mut queue = self.queue.lock();
        if queue.removed >= upto || queue.is_removing && !waits {
            return false;
        }
        if queue.is_removing {
            let waiter = queue.join();
            drop(queue);
            waiter.wait(None, None);
            return true;
        }
        let (mut files, after): (Vec<FileNumber>, Vec<Lsn>) = queue.files.iter().copied().unzip();
        queue.is_removing = true;
        drop(queue);
        let turn = Turn { removals: self, done: 0 };
        let after = after.into_iter().max().unwrap_or(Lsn::ZERO);
        if self.pool.log.durable() < after {
            self.pool.log.flush(after);
        }
        files.sort_unstable();
        let failures = self.pool.drop_files(&files);
        // Not before: whoever still read a page would make an entry for the file again, which stayed for ever.
        files.iter().for_each(|file| (self.forget)(*file));
        self.note_failures(&files, failures);
        turn.done(files.len());
        true
    }

    /// Files that could not be removed wait for [`FileRemovals::try_failed_again`], or for the next start. Each is told of once.
    fn note_failures(&self, files: &[FileNumber], failures: Vec<(FileNumber, Error)>) {
        let mut queue = self.queue.lock();
        if failures.is_empty() && queue.failed.is_empty() {
            return;
        }
        let before = queue.failed.clone();
        files.iter().for_each(|file| _ = queue.failed.remove(file));
        queue.failed.extend(failures.iter().map(|(file, _)| *file));
        drop(queue);
        for (_, error) in failures.iter().filter(|(file, _)| !before.contains(file)) {
            log::warn!("{error}; each checkpoint tries again");
        }
    }

    /// Hands over once more what could not be removed: what a checkpoint does first.
    pub fn try_failed_again(&self) {
        let failed: Vec<FileNumber> = self.queue.lock().failed.iter().copied().collect();
        for file in failed {
            self.hand_over(file, Lsn::ZERO);
        }
    }
}

impl Queue {
    /// A waiter that the end of the turn under way wakes.
    fn join(&mut self) -> Waiter {
        let waiter = Waiter::new();
        self.waiting.push(waiter.waker());
        waiter
    }
}
