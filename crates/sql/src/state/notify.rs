//! LISTEN and NOTIFY.
//!
//! Listeners hear of transactions in the order of their commits. A transaction's locks go when its commit record has its
//! place in the log, but its session may wait long after that, for the disk for instance. So another transaction, which
//! waited for one of these locks, can commit later and be done earlier. Each transaction that notifies therefore says
//! that it commits before it does, and notifications of later commits wait until it is done.

use std::collections::{BTreeMap, VecDeque};
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::Lsn;
use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use sync::Mutex;

/// A notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The session that sent it.
    pub pid: i32,
    /// Its channel.
    pub channel: String,
    /// Its payload.
    pub payload: String,
    /// The commit of the transaction that sent it, for the durability gate.
    pub csn: Lsn,
}

/// How many notifications are told before it is asked whether the client has room for more.
const TAKEN_AT_ONCE: usize = 16;

/// So many times it is asked whether a listener listens on a channel before others may do something.
const HANDED_OUT_AT_ONCE: usize = 4096;

/// The most channels that a session may listen on. A transaction may have twice as many LISTEN and UNLISTEN.
pub(crate) const CHANNELS_MAX: usize = 16_384;

impl Notification {
    /// How much memory it takes.
    fn size_bytes(&self) -> usize {
        memory_bytes(&self.channel, &self.payload)
    }
}

/// How much memory a notification takes.
pub(crate) fn memory_bytes(channel: &str, payload: &str) -> usize {
    size_of::<Notification>() + channel.len() + payload.len()
}

/// The notifications of one transaction, each once. They are told when the transaction has committed.
#[derive(Default)]
pub(crate) struct Pending {
    /// In the order of their first NOTIFY.
    all: Vec<Arc<(String, String)>>,
    /// The hash of each, and its index in `all`. Hashes are kept because others wait while the table grows.
    index: HashTable<(u64, usize)>,
    bytes: usize,
}

impl Pending {
    /// Notes a notification, unless it is there or `limit_bytes` would be exceeded. False in the latter case.
    pub(crate) fn push(&mut self, channel: &str, payload: &str, limit_bytes: usize) -> bool {
        let hash = hash(channel, payload);
        let is_same = |&(other_hash, at): &(u64, usize)| {
            other_hash == hash && self.all[at].0 == channel && self.all[at].1 == payload
        };
        if self.index.find(hash, is_same).is_some() {
            return true;
        }
        let bytes = self.bytes + memory_bytes(channel, payload);
        if bytes > limit_bytes {
            return false;
        }
        self.bytes = bytes;
        self.index.insert_unique(hash, (hash, self.all.len()), |&(hash, _)| hash);
        self.all.push(Arc::new((channel.to_owned(), payload.to_owned())));
        true
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All of them, each a channel and its payload.
    pub(crate) fn into_all(self) -> Vec<Arc<(String, String)>> {
        self.all
    }

    /// Each channel with its payload.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.all.iter().map(|notification| (notification.0.as_str(), notification.1.as_str()))
    }

    /// Forgets all but the first `count`: the part of the transaction is undone that made the others.
    pub(crate) fn truncate(&mut self, count: usize) {
        while self.all.len() > count
            && let Some(last) = self.all.pop()
        {
            self.bytes -= memory_bytes(&last.0, &last.1);
            let entry = self.index.find_entry(hash(&last.0, &last.1), |&(_, at)| at == self.all.len());
            entry.expect("each notification is in the index").remove();
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        *self = Pending::default();
    }
}

fn hash(channel: &str, payload: &str) -> u64 {
    FxBuildHasher.hash_one((channel, payload))
}

/// A LISTEN or UNLISTEN, which counts when its transaction has committed.
#[derive(Clone, Debug)]
pub(crate) enum ChannelChange {
    /// LISTEN.
    Listen(String),
    /// UNLISTEN of one channel, or of all.
    Unlisten(Option<String>),
}

/// The sessions that listen, and the notifications that wait for them.
#[derive(Default)]
pub struct Channels {
    has_any: AtomicBool,
    /// A leaf.
    shared: Mutex<Shared>,
}

#[derive(Default)]
struct Shared {
    listeners: FxHashMap<i32, Listener>,
    /// Transactions that notify and are committing, by number. The place of each in the log is behind the position.
    committing: BTreeMap<u64, Lsn>,
    last_number: u64,
    /// Batches that have not been handed out, by the places of their transactions in the log. Most of them may have committed after
    /// one of `committing`.
    held_back: BTreeMap<Lsn, VecDeque<Batch>>,
    /// The number of the next transaction of which something will be handed out.
    next_batch: u64,
}

/// The notifications of one transaction.
struct Batch {
    pid: i32,
    /// The number by which listeners that came later know that it isn't for them, once something has been handed out.
    number: Option<u64>,
    /// Those that have not been handed out.
    notifications: std::vec::IntoIter<Arc<(String, String)>>,
}

#[derive(Default)]
struct Listener {
    /// Each channel, and the first batch that is heard on it.
    channels: FxHashMap<String, u64>,
    waiting: VecDeque<Arc<Notification>>,
    /// How much memory those take.
    waiting_bytes: usize,
    /// Tells the session's worker that something waits.
    wake: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Channels {
    /// `LISTEN channel`
    pub fn listen(&self, pid: i32, channel: &str) {
        self.has_any.store(true, Ordering::Relaxed);
        let mut shared = self.shared.lock();
        let next_batch = shared.next_batch;
        shared.listeners.entry(pid).or_default().channels.entry(channel.to_owned()).or_insert(next_batch);
    }

    /// `UNLISTEN channel`, or all of them.
    pub fn unlisten(&self, pid: i32, channel: Option<&str>) {
        if let Some(listener) = self.shared.lock().listeners.get_mut(&pid) {
            match channel {
                Some(channel) => {
                    listener.channels.remove(channel);
                }
                None => listener.channels.clear(),
            }
        }
    }

    /// The channels that a session listens on.
    pub fn listening(&self, pid: i32) -> Vec<String> {
        let shared = self.shared.lock();
        shared.listeners.get(&pid).map(|listener| listener.channels.keys().cloned().collect()).unwrap_or_default()
    }

    /// How many those are, and whether `channel` is one of them.
    pub(crate) fn listens(&self, pid: i32, channel: &str) -> (usize, bool) {
        let shared = self.shared.lock();
        let listener = shared.listeners.get(&pid);
        listener.map_or((0, false), |listener| (listener.channels.len(), listener.channels.contains_key(channel)))
    }

    /// How the session is told that something waits while it idles.
    pub fn set_wake(&self, pid: i32, wake: Arc<dyn Fn() + Send + Sync>) {
        self.shared.lock().listeners.entry(pid).or_default().wake = Some(wake);
    }

    /// A transaction that notifies is about to commit; every commit up to `horizon` was before it.
    pub fn begin_commit(&self, horizon: Lsn) -> Committing<'_> {
        let mut shared = self.shared.lock();
        shared.last_number += 1;
        let number = shared.last_number;
        shared.committing.insert(number, horizon);
        Committing { channels: self, number }
    }

    /// A transaction has committed and notified this, or has failed and notified nothing.
    fn end_commit(&self, number: u64, batch: Option<(Lsn, Batch)>) {
        {
            let mut shared = self.shared.lock();
            shared.committing.remove(&number);
            if let Some((csn, batch)) = batch {
                shared.held_back.entry(csn).or_default().push_back(batch);
            }
        }
        // A session hands out what comes first, of any transaction.
        while self.hand_out_some() {
            // A session that unwinds can't be suspended.
            if !std::thread::panicking() {
                sync::let_others_run();
            }
        }
    }

    /// Hands out a part of what may be handed out, and says whether there is more.
    fn hand_out_some(&self) -> bool {
        let mut wakes = Vec::new();
        let has_more = self.shared.lock().hand_out_some(&mut wakes);
        for wake in wakes {
            wake();
        }
        has_more
    }

    /// Whether anybody listens at all: one relaxed load.
    pub fn has_any(&self) -> bool {
        self.has_any.load(Ordering::Relaxed)
    }

    /// Whether all that listen have room for so many bytes more of `channel`, if each may have `limit_bytes`.
    pub fn has_room(&self, channel: &str, bytes: usize, limit_bytes: usize) -> bool {
        let shared = self.shared.lock();
        let mut listening = shared.listeners.values().filter(|listener| listener.channels.contains_key(channel));
        listening.all(|listener| listener.waiting_bytes + bytes <= limit_bytes)
    }

    /// Takes a few of those that wait for a session, and says whether there are more.
    pub fn take(&self, pid: i32) -> (Vec<Arc<Notification>>, bool) {
        let mut shared = self.shared.lock();
        let Some(listener) = shared.listeners.get_mut(&pid) else { return (Vec::new(), false) };
        let count = listener.waiting.len().min(TAKEN_AT_ONCE);
        let taken: Vec<_> = listener.waiting.drain(..count).collect();
        listener.waiting_bytes -= taken.iter().map(|notification| notification.size_bytes()).sum::<usize>();
        if listener.waiting.is_empty() {
            listener.waiting = VecDeque::new();
        }
        (taken, !listener.waiting.is_empty())
    }

    /// The session is gone.
    pub fn forget(&self, pid: i32) {
        self.shared.lock().listeners.remove(&pid);
    }
}

impl Shared {
    /// Hands to the listeners a part of what no transaction that is still committing can have been before. True if there is more.
    fn hand_out_some(&mut self, wakes: &mut Vec<Arc<dyn Fn() + Send + Sync>>) -> bool {
        let limit = self.committing.values().min().copied();
        let mut woken = FxHashSet::default();
        let mut left = (HANDED_OUT_AT_ONCE / self.listeners.len().max(1)).max(1);
        while let Some(mut first) = self.held_back.first_entry()
            && limit.is_none_or(|limit| *first.key() <= limit)
        {
            let csn = *first.key();
            let Some(batch) = first.get_mut().front_mut() else {
                first.remove();
                continue;
            };
            if batch.number.is_none() {
                batch.number = Some(self.next_batch);
                self.next_batch += 1;
            }
            let (pid, number) = (batch.pid, batch.number.unwrap_or_default());
            if left == 0 {
                return true;
            }
            let Some(notification) = batch.notifications.next() else {
                first.get_mut().pop_front();
                continue;
            };
            left -= 1;
            let (channel, payload) = Arc::unwrap_or_clone(notification);
            let notification = Arc::new(Notification { pid, channel, payload, csn });
            for (pid, listener) in &mut self.listeners {
                if listener.channels.get(&notification.channel).is_some_and(|first| *first <= number) {
                    listener.waiting_bytes += notification.size_bytes();
                    listener.waiting.push_back(Arc::clone(&notification));
                    if woken.insert(*pid) {
                        wakes.extend(listener.wake.clone());
                    }
                }
            }
        }
        false
    }
}

/// A transaction that notifies and is committing. Dropped, it has notified nothing.
pub struct Committing<'c> {
    channels: &'c Channels,
    number: u64,
}

impl Committing<'_> {
    /// Session `pid` has committed at `csn`, and notified this: channels and payloads.
    pub(crate) fn committed(self, pid: i32, csn: Lsn, notifications: Vec<Arc<(String, String)>>) {
        let (channels, number) = (self.channels, self.number);
        std::mem::forget(self);
        channels.end_commit(number, Some((csn, Batch { pid, number: None, notifications: notifications.into_iter() })));
    }
}

impl Drop for Committing<'_> {
    fn drop(&mut self) {
        self.channels.end_commit(self.number, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notification(payload: &str, csn: u64) -> Notification {
        Notification { pid: 3, channel: "a".to_owned(), payload: payload.to_owned(), csn: Lsn(csn) }
    }

    /// Session 3 commits at `csn` and notifies channel `a` so often.
    fn commit(committing: Committing<'_>, payload: &str, csn: u64, count: usize) {
        let notifications = (0..count).map(|_| Arc::new(("a".to_owned(), payload.to_owned()))).collect();
        committing.committed(3, Lsn(csn), notifications);
    }

    fn taken(channels: &Channels, pid: i32) -> Vec<Notification> {
        channels.take(pid).0.iter().map(|notification| Notification::clone(notification)).collect()
    }

    #[test]
    fn a_notification_is_noted_once_and_again_after_it_was_forgotten() {
        let mut pending = Pending::default();
        let note = |pending: &mut Pending, number: usize| {
            assert!(pending.push(&format!("channel {}", number % 10), &(number / 10).to_string(), usize::MAX));
        };
        for number in (0..1000).chain(0..1000) {
            note(&mut pending, number);
        }
        assert_eq!(pending.len(), 1000);
        pending.truncate(400);
        assert_eq!(pending.len(), 400);
        for number in 300..500 {
            note(&mut pending, number);
        }
        let expected = (0..500).map(|number| (format!("channel {}", number % 10), (number / 10).to_string()));
        assert!(pending.iter().map(|(channel, payload)| (channel.to_owned(), payload.to_owned())).eq(expected));
        assert!(!pending.push("one more", "", pending.bytes));
    }

    #[test]
    fn a_listener_that_does_not_read_has_limited_room() {
        let channels = Channels::default();
        channels.listen(1, "a");
        let size_bytes = notification("x", 9).size_bytes();
        commit(channels.begin_commit(Lsn(0)), "x", 9, 20);
        assert!(channels.has_room("a", size_bytes, 21 * size_bytes) && channels.has_room("b", size_bytes, 0));
        assert!(!channels.has_room("a", size_bytes, 20 * size_bytes));
        assert!(channels.take(1).1);
        assert!(channels.has_room("a", size_bytes, 20 * size_bytes));
        assert!(!channels.take(1).1);
        assert!(channels.has_room("a", size_bytes, size_bytes));
    }

    #[test]
    fn only_listeners_hear_and_only_their_channels() {
        let channels = Channels::default();
        channels.listen(1, "a");
        channels.listen(2, "b");
        commit(channels.begin_commit(Lsn(0)), "x", 9, 1);
        assert_eq!(taken(&channels, 1), [notification("x", 9)]);
        assert!(taken(&channels, 1).is_empty() && taken(&channels, 2).is_empty());
        channels.unlisten(1, None);
        commit(channels.begin_commit(Lsn(9)), "x", 10, 1);
        assert!(taken(&channels, 1).is_empty());
    }

    #[test]
    fn notifications_come_in_commit_order() {
        let channels = Channels::default();
        channels.listen(1, "a");
        let first = channels.begin_commit(Lsn(5));
        let second = channels.begin_commit(Lsn(7));
        commit(second, "second", 20, 1);
        assert!(taken(&channels, 1).is_empty(), "the first may have committed before");
        commit(first, "first", 10, 1);
        assert_eq!(taken(&channels, 1), [notification("first", 10), notification("second", 20)]);
    }

    #[test]
    fn nothing_waits_for_commits_that_fail_or_come_later() {
        let channels = Channels::default();
        channels.listen(1, "a");
        let failed = channels.begin_commit(Lsn(5));
        commit(channels.begin_commit(Lsn(5)), "x", 20, 1);
        assert!(taken(&channels, 1).is_empty());
        drop(failed);
        assert_eq!(taken(&channels, 1), [notification("x", 20)]);
        let later = channels.begin_commit(Lsn(30));
        commit(channels.begin_commit(Lsn(30)), "y", 30, 1);
        assert_eq!(taken(&channels, 1), [notification("y", 30)], "it was there before the later one began");
        drop(later);
    }

    #[test]
    fn a_listener_that_comes_while_a_transaction_is_told_hears_nothing_of_it() {
        let channels = Channels::default();
        channels.listen(1, "a");
        let count = 3 * HANDED_OUT_AT_ONCE;
        let notifications = (0..count).map(|_| Arc::new(("a".to_owned(), "x".to_owned()))).collect::<Vec<_>>();
        let batch = Batch { pid: 3, number: None, notifications: notifications.into_iter() };
        channels.shared.lock().held_back.entry(Lsn(9)).or_default().push_back(batch);
        assert!(channels.hand_out_some());
        channels.listen(2, "a");
        commit(channels.begin_commit(Lsn(9)), "y", 10, 1);
        assert_eq!(taken(&channels, 2), [notification("y", 10)]);
        let mut heard = Vec::new();
        while heard.len() <= count {
            heard.extend(taken(&channels, 1));
        }
        assert!(heard[..count].iter().all(|heard| *heard == notification("x", 9)));
        assert_eq!(heard[count..], [notification("y", 10)]);
    }
}
