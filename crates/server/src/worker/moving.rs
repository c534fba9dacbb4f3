//! Sessions move from a worker that has too much to do to one that sleeps.
//!
//! A suspended coroutine stays on its thread, so a session moves while it has no coroutine: when a message for it has
//! arrived and has not been begun. Its socket leaves one poll for the other. Bytes that arrive meanwhile are announced
//! again where the socket is registered.
//!
//! ```text
//! busy worker     message arrives ── deregister ── put into the mailbox ── wake the other
//! idle worker     open the mailbox ── sleep ───────────────────────────── close it ── register ── run the message
//! ```
//!
//! A worker hands a session over only to one that sleeps at this moment, and only if
//!
//! - it has long work under way, for which the message would have to wait again and again, or
//! - it has hardly slept for some milliseconds, and the message before was another session's: two sessions are at it all the time, or
//! - several of its sessions have something to do, and it has more of them than the other. Where long work has driven sessions to one
//!   worker, they spread again when that work is over.
//!
//! A message that has been handed over is begun where it arrives: it moves no further. A worker that stops opens its mailbox no more,
//! and what it finds in there it takes in before it looks whether it is to stop. So the stop reaches every session.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::rc::Rc;

use base::report::Identity;
use mio::{Interest, Token};
use sync::atomic::Ordering;
use sync::{Arc, Interrupt};

use super::{Alarm, Connection, Peer, State, Task, Worker};
use crate::conversation::Conversation;
use crate::decode;
use crate::port::Port;
use crate::startup;
use crate::stream::Keepalive;

/// A worker that so many ticks in a row have met awake hardly sleeps.
const BUSY_TICKS: u32 = 8;

/// A connection on its way from one worker to another, with the message that its session is about to begin.
pub(crate) struct Moving {
    port: Port,
    conversation: Box<Conversation>,
    asked: startup::Asked,
    interrupt: Option<Arc<Interrupt>>,
    keepalive: Keepalive,
    has_place: bool,
    identity: Arc<Identity>,
    named: Option<Box<(String, String)>>,
}

impl Worker {
    /// The worker has nothing to do: it can be given a session until it wakes up. It is given none any more once it stops.
    pub(super) fn offer_itself(&self) {
        if self.stopping.is_none() && !self.is_leaving {
            self.peer.mailbox.open();
        }
    }

    /// The worker has woken up, and runs the session that it was given meanwhile.
    pub(super) fn take_in_moved(&mut self) {
        if let Some(moving) = self.peer.mailbox.close() {
            self.take_in(*moving);
        }
    }

    /// A worker that would begin the message earlier that has arrived for the session of connection `index`, if there is one.
    pub(super) fn peer_for(&self, index: usize) -> Option<Arc<Peer>> {
        let is_busy = self.slices.awake_ticks() >= BUSY_TICKS && self.last_begun != Some(self.token_of(index));
        let has_others_at_work = is_busy || !self.yielded.is_empty();
        if !has_others_at_work && !self.is_crowded {
            return None;
        }
        let connection = &self.connections[index];
        if self.stopping.is_some() || connection.has_yielded {
            return None;
        }
        let peers = self.shared.peers.get()?;
        let own_count = self.peer.session_count();
        let others = peers.iter().filter(|peer| !Arc::ptr_eq(peer, &self.peer));
        // The counts hardly ever change. A look at them costs less than one at the mailboxes.
        let mut lighter = others.filter(|peer| has_others_at_work || own_count > peer.session_count() + 1);
        let peer = lighter.find(|peer| peer.mailbox.is_open())?;
        // The rest of a message that arrives in pieces would not come to where the first one went, but wherever the socket is by then.
        let port = connection.port.borrow();
        matches!(decode::next_message(port.incoming.pending()), Ok(Some(_))).then(|| Arc::clone(peer))
    }

    /// Gives the session to `peer`, which runs its message. The connection is gone then, or has another place here.
    ///
    /// # Errors
    /// Gives the session back if its socket can't be taken out of the poll.
    pub(super) fn hand_over(
        &mut self,
        index: usize,
        conversation: Box<Conversation>,
        peer: &Peer,
    ) -> Result<(), Box<Conversation>> {
        let connection = &self.connections[index];
        let is_shared = Rc::strong_count(&connection.port) > 1;
        if is_shared || self.poll.registry().deregister(connection.port.borrow_mut().stream()).is_err() {
            return Err(conversation);
        }
        let token = self.token_of(index);
        let Connection {
            port,
            state: _,
            generation: _,
            asked,
            interrupt,
            gate,
            mut alarm,
            leaves_since: _,
            closes: _,
            keepalive,
            ends_with_its_client: _,
            has_place,
            has_yielded: _,
            identity,
            named,
        } = self.connections.remove(index);
        self.alarms.take_out(&mut alarm, token);
        if gate.is_some() {
            // The other worker queues what waits for the log anew.
            self.gated.retain(|Reverse((_, waiting))| *waiting != token);
            self.shared.gated_count.fetch_sub(1, Ordering::Relaxed);
        }
        let port = Rc::into_inner(port).expect("nobody shares it, as was looked up above").into_inner();
        let moving = Box::new(Moving { port, conversation, asked, interrupt, keepalive, has_place, identity, named });
        peer.count_session();
        match peer.mailbox.put(moving) {
            Ok(()) => {
                self.peer.discount_session();
                // It may have enough time now for those that are left.
                self.slices.forget_awake_ticks();
                self.shared.moved_count.fetch_add(1, Ordering::Relaxed);
                peer.ready.push(super::HANDED_OVER);
            }
            Err(moving) => {
                peer.discount_session();
                self.take_in(*moving);
            }
        }
        Ok(())
    }

    /// Makes a session that has moved one of this worker's, and begins its message.
    fn take_in(&mut self, moving: Moving) {
        let Moving { mut port, conversation, asked, interrupt, keepalive, has_place, identity, named } = moving;
        let entry = self.connections.vacant_entry();
        let index = entry.key();
        let interests = Interest::READABLE | Interest::WRITABLE;
        if self.poll.registry().register(port.stream(), Token(index), interests).is_err() {
            // Nobody would hear of its client any more. The session is closed as if that had left.
            port.close();
        }
        let ends_with_its_client = conversation.sql.ends_with_its_client();
        let generation = self.next_generation;
        self.next_generation = super::generation_after(generation);
        entry.insert(Connection {
            port: Rc::new(RefCell::new(port)),
            state: State::Idle(conversation),
            generation,
            asked,
            interrupt,
            gate: None,
            alarm: Alarm::default(),
            leaves_since: None,
            closes: None,
            keepalive,
            ends_with_its_client,
            has_place,
            has_yielded: false,
            identity,
            named,
        });
        self.unsettled.push(index);
        self.slices.begin();
        let token = self.token_of(index);
        self.become_owner(index);
        // Also if something has woken the session where it was.
        self.tell_or_end(index);
        let connection = &mut self.connections[index];
        match std::mem::replace(&mut connection.state, State::Closing) {
            State::Idle(conversation) if !connection.port.borrow().is_closed() => {
                self.run_task(index, conversation, Task::Work);
            }
            other => connection.state = other,
        }
        let connection = &self.connections[index];
        // The poll announces more bytes of the socket, but not bytes that have been decrypted already.
        if !matches!(connection.state, State::Running(_)) && connection.port.borrow().is_readable() {
            self.ready.push(token);
        }
    }

    /// From now on this worker hears of what happens to the idle session.
    fn become_owner(&mut self, index: usize) {
        let token = self.token_of(index);
        let connection = &mut self.connections[index];
        let State::Idle(conversation) = &mut connection.state else { return };
        if let Some(interrupt) = &connection.interrupt {
            interrupt.set_owner(Arc::clone(&self.ready), token);
        }
        let ready = &self.ready;
        conversation.sql.renew_wake(|| super::wake(ready, token));
        let deadline = conversation.sql.idle_deadline();
        self.set_alarm(index, deadline);
    }
}
