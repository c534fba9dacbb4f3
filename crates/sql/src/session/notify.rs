//! LISTEN and NOTIFY.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::{FxHashMap, FxHashSet};
use sync::Mutex;

/// What was notified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The session that did.
    pub pid: i32,
    /// On which channel.
    pub channel: String,
    /// With what.
    pub payload: String,
    /// The notifier's commit, for the durability gate.
    pub csn: base::Lsn,
}

/// A LISTEN or UNLISTEN, which counts when its transaction has committed.
#[derive(Clone, Debug)]
pub(crate) enum ChannelChange {
    /// LISTEN.
    Listen(String),
    /// UNLISTEN of one channel, or of all.
    Unlisten(Option<String>),
}

/// Who listens, and what waits for them.
#[derive(Default)]
pub struct Channels {
    has_any: AtomicBool,
    /// A leaf.
    listeners: Mutex<FxHashMap<i32, Listener>>,
}

#[derive(Default)]
struct Listener {
    channels: FxHashSet<String>,
    waiting: Vec<Notification>,
    /// Tells the session's worker that something waits.
    wake: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Channels {
    /// `LISTEN channel`
    pub fn listen(&self, pid: i32, channel: &str) {
        self.has_any.store(true, Ordering::Relaxed);
        self.listeners.lock().entry(pid).or_default().channels.insert(channel.to_owned());
    }

    /// `UNLISTEN channel`, or all of them.
    pub fn unlisten(&self, pid: i32, channel: Option<&str>) {
        if let Some(listener) = self.listeners.lock().get_mut(&pid) {
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
        let listeners = self.listeners.lock();
        listeners.get(&pid).map(|listener| listener.channels.iter().cloned().collect()).unwrap_or_default()
    }

    /// How the session is told that something waits while it idles.
    pub fn set_wake(&self, pid: i32, wake: Arc<dyn Fn() + Send + Sync>) {
        self.listeners.lock().entry(pid).or_default().wake = Some(wake);
    }

    /// Hands a committed notification to all that listen.
    pub fn send(&self, notification: &Notification) {
        let mut wakes = Vec::new();
        for listener in self.listeners.lock().values_mut() {
            if listener.channels.contains(&notification.channel) {
                listener.waiting.push(notification.clone());
                wakes.extend(listener.wake.clone());
            }
        }
        for wake in wakes {
            wake();
        }
    }

    /// Whether anybody listens at all: one relaxed load.
    pub fn has_any(&self) -> bool {
        self.has_any.load(Ordering::Relaxed)
    }

    /// Takes what waits for a session.
    pub fn take(&self, pid: i32) -> Vec<Notification> {
        let mut listeners = self.listeners.lock();
        listeners.get_mut(&pid).map(|listener| std::mem::take(&mut listener.waiting)).unwrap_or_default()
    }

    /// The session is gone.
    pub fn forget(&self, pid: i32) {
        self.listeners.lock().remove(&pid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listeners_hear_and_only_their_channels() {
        let channels = Channels::default();
        channels.listen(1, "a");
        channels.listen(2, "b");
        let notification = Notification { pid: 3, channel: "a".to_owned(), payload: "x".to_owned(), csn: base::Lsn(9) };
        channels.send(&notification);
        assert_eq!(channels.take(1), std::slice::from_ref(&notification));
        assert!(channels.take(1).is_empty() && channels.take(2).is_empty());
        channels.unlisten(1, None);
        channels.send(&notification);
        assert!(channels.take(1).is_empty());
    }
}
