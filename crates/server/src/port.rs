//! One connection's socket with what has arrived and what is to be sent.
//!
//! A port is shared, within one worker's thread, by the worker's loop and the coroutine that runs the
//! session. Neither keeps it borrowed across a wait.

use std::cell::RefCell;
use std::io::{ErrorKind, Read, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};

use base::{Error, Lsn, Result, sqlstate};
use sync::{Arc, Interrupt, InterruptKind, Waiter, Waker};
use wal::Wal;

use crate::decode::Incoming;
use crate::outgoing::Outgoing;
use crate::startup::EncryptionKind;
use crate::stream::Stream;
use crate::tls::Credentials;

/// A port as both of its users hold it.
pub type SharedPort = Rc<RefCell<Port>>;

/// See the module.
pub struct Port {
    stream: Stream,
    wal: Arc<Wal>,
    /// The bytes that have arrived and not been decoded.
    pub incoming: Incoming,
    /// The bytes to send.
    pub outgoing: Outgoing,
    is_encrypted: bool,
    /// The socket may have more to read.
    readable: bool,
    /// The end of the client's stream was announced. No further event comes, so read until the end.
    end_is_near: bool,
    /// The client sends no more. It may still read.
    ended: bool,
    /// The last write was cut short: the worker hears when the socket takes more.
    write_blocked: bool,
    /// Since when the client has taken nothing of what it was offered, if a write was cut short.
    stalled_since: Option<Instant>,
    /// The client is gone, or the stream can't be followed.
    closed: bool,
    /// The session waits for the log itself: nobody is to ask for a flush on its behalf.
    session_waits: bool,
    /// The session waits when more than this is unsent.
    unsent_limit_bytes: usize,
    /// Since when the server stops. The session then waits for its client no more, or not for long.
    stopping_since: Option<Instant>,
    /// The client has sent what ended in the middle of a message: where the next one begins is not known.
    has_lost_place: bool,
    /// Woken when something arrives, is sent or closes.
    progress: Option<Waker>,
}

impl Port {
    /// A port on `stream`, whose session waits when more than `unsent_limit_bytes` are unsent.
    pub fn new(stream: Stream, wal: Arc<Wal>, unsent_limit_bytes: usize) -> Port {
        Port {
            stream,
            wal,
            incoming: Incoming::default(),
            outgoing: Outgoing::default(),
            is_encrypted: false,
            readable: false,
            end_is_near: false,
            ended: false,
            write_blocked: false,
            stalled_since: None,
            closed: false,
            session_waits: false,
            unsent_limit_bytes,
            stopping_since: None,
            has_lost_place: false,
            progress: None,
        }
    }

    /// The socket.
    pub fn stream(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// Refuses what was sent together with a request for encryption.
    ///
    /// # Errors
    /// 08P01 if bytes came ahead of the answer: somebody may have put them there.
    pub fn refuse_ahead_of_answer(&self, kind: EncryptionKind) -> Result<()> {
        if self.incoming.pending().is_empty() {
            return Ok(());
        }
        let request = match kind {
            EncryptionKind::Tls => "SSL",
            EncryptionKind::Gss => "GSSAPI encryption",
        };
        let message = format!("received unencrypted data after {request} request");
        Err(Error::new(sqlstate::PROTOCOL_VIOLATION, message)
            .detail("This could be either a client-software bug or evidence of an attempted man-in-the-middle attack.")
            .fatal())
    }

    /// Encrypts all that follows.
    ///
    /// # Errors
    /// XX000 when that can't be set up.
    pub fn encrypt(&mut self, credentials: Arc<Credentials>) -> Result<()> {
        self.stream.encrypt(credentials)?;
        self.is_encrypted = true;
        Ok(())
    }

    /// Whether anything waits to be sent.
    pub fn has_unsent(&self) -> bool {
        self.outgoing.unsent_bytes() > 0 || self.stream.has_unsent()
    }

    /// Whether so much is unsent that [`relieve`] is worth its while.
    #[inline]
    pub fn wants_relief(&self) -> bool {
        self.outgoing.unsent_bytes() >= self.unsent_limit_bytes / 4
    }

    /// Whether the stream can be followed no more, as a message was not read to its end.
    pub fn has_lost_place(&self) -> bool {
        self.has_lost_place
    }

    /// Says that a message will not be read to its end.
    pub fn lose_place(&mut self) {
        self.has_lost_place = true;
    }

    /// The log, if each committer waits for its flush itself.
    pub fn wal_if_each_waits(&self) -> Option<Arc<Wal>> {
        self.wal.tuning().each_waits().then(|| Arc::clone(&self.wal))
    }

    /// Says whether the session waits for the log itself, so that no flush is to be asked for on its behalf.
    pub fn set_session_waits(&mut self, waits: bool) {
        self.session_waits = waits;
    }

    /// Whether the client is gone.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether the client sends no more.
    pub fn has_ended(&self) -> bool {
        self.ended || self.closed
    }

    /// Since when the client has taken nothing of what it was offered; `None` if the socket has taken all that may leave.
    pub fn stalled_since(&self) -> Option<Instant> {
        self.stalled_since
    }

    /// The server stops. A session that waits for its client hears of it.
    pub fn begin_stop(&mut self) {
        self.stopping_since.get_or_insert_with(Instant::now);
        self.wake();
    }

    /// Whether the server stops.
    pub fn is_stopping(&self) -> bool {
        self.stopping_since.is_some()
    }

    /// Nothing more is read or sent.
    pub fn close(&mut self) {
        self.closed = true;
        self.outgoing.clear();
        self.wake();
    }

    /// The worker was told that there is something to read.
    pub fn set_readable(&mut self) {
        self.readable = true;
        self.wake();
    }

    /// The worker was told that the client sends no more, or is gone.
    pub fn set_end_is_near(&mut self) {
        self.end_is_near = true;
        self.set_readable();
    }

    /// Whether the client sends no more, or is gone, though not all that it has sent may have been read.
    pub fn is_near_its_end(&self) -> bool {
        self.end_is_near || self.has_ended()
    }

    /// The worker was told that the socket takes more: the client has taken some.
    pub fn set_writable(&mut self) {
        self.stalled_since = None;
        self.write_again();
    }

    /// The socket may take more. It says so only once a third of its buffer is free, which slow clients need long for.
    pub fn write_again(&mut self) {
        self.write_blocked = false;
        self.wake();
    }

    /// Whether a read may find something.
    pub fn is_readable(&self) -> bool {
        self.readable && !self.has_ended()
    }

    /// Reads once through `scratch`. A read that doesn't fill it has emptied the socket, but for the stream's end: one event tells
    /// of bytes and of the end that came with them.
    pub fn read_once(&mut self, scratch: &mut [u8]) {
        loop {
            match self.stream.read(scratch) {
                Ok(0) => self.ended = true,
                Ok(count) => {
                    self.incoming.extend(&scratch[..count]);
                    self.readable = count == scratch.len() || self.end_is_near || self.stream.has_ended();
                    return;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => self.ended = true,
                Err(_) => self.closed = true,
            }
            self.readable = false;
            return;
        }
    }

    /// Sends what may leave at `durable`. Gives the position the rest waits for, if it waits for the log and its session
    /// doesn't do so itself.
    pub fn send(&mut self, durable: Lsn) -> Option<Lsn> {
        if self.stream.has_unsent() && !self.closed && !self.write_blocked {
            match self.stream.send_encrypted() {
                Ok(count) => {
                    if count > 0 {
                        self.stalled_since = None;
                    }
                    self.write_blocked = self.stream.has_unsent();
                }
                Err(_) => self.close(),
            }
        }
        while !self.closed && !self.write_blocked {
            let bytes = self.outgoing.sendable(durable);
            if bytes.is_empty() {
                break;
            }
            match self.stream.write(bytes) {
                Ok(count) => {
                    let is_short = count < bytes.len();
                    self.outgoing.consume(count);
                    self.stalled_since = None;
                    self.write_blocked = if self.is_encrypted { self.stream.has_unsent() } else { is_short };
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.write_blocked = true,
                Err(_) => self.close(),
            }
        }
        self.note_stall();
        if self.progress.is_some() && self.outgoing.unsent_bytes() < self.unsent_limit_bytes / 2 {
            self.wake();
        }
        if self.session_waits { None } else { self.outgoing.next_gate(durable) }
    }

    /// Notes since when the client has taken nothing. While the server stops, the session is woken for it: a wait that began without a
    /// stall has no deadline.
    fn note_stall(&mut self) {
        if !self.write_blocked {
            self.stalled_since = None;
        } else if self.stalled_since.is_none() {
            self.stalled_since = Some(Instant::now());
            if self.is_stopping() {
                self.wake();
            }
        }
    }

    fn wake(&mut self) {
        if let Some(waker) = self.progress.take() {
            waker.wake();
        }
    }
}

/// The error for a client that is gone.
pub fn connection_lost() -> Error {
    Error::new(sqlstate::CONNECTION_FAILURE, "connection to client lost").fatal()
}

/// So long a client may take nothing of what a running statement has to say while the server stops.
pub const UNREAD_WHEN_STOPPING: Duration = Duration::from_secs(5);

/// Sends what may leave; waits while too much is unsent and `may_wait` says so.
///
/// # Errors
/// 08006 when the client is gone, 57P01 when it takes nothing while the server stops, and pending interrupts.
#[inline]
pub fn relieve(port: &SharedPort, interrupt: &Interrupt, may_wait: impl Fn(&mut Port) -> bool) -> Result<()> {
    if !port.borrow().wants_relief() {
        return Ok(());
    }
    wait_for_relief(port, interrupt, may_wait)
}

fn wait_for_relief(port: &SharedPort, interrupt: &Interrupt, may_wait: impl Fn(&mut Port) -> bool) -> Result<()> {
    loop {
        let (waiter, deadline) = {
            let mut port = port.borrow_mut();
            if port.is_stopping() {
                // Whether the client takes something is to be seen without an event, too.
                port.write_again();
            }
            let durable = port.wal.durable();
            port.outgoing.flush();
            port.send(durable);
            if port.closed {
                return Err(connection_lost());
            }
            if port.outgoing.unsent_bytes() < port.unsent_limit_bytes || !may_wait(&mut port) {
                return Ok(());
            }
            // Without a stalled write, the rest waits for the log.
            let both = port.stalled_since.zip(port.stopping_since);
            let deadline = both.map(|(stalled, stopping)| stalled.max(stopping) + UNREAD_WHEN_STOPPING);
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return end_session(interrupt);
            }
            let waiter = Waiter::new();
            port.progress = Some(waiter.waker());
            (waiter, deadline)
        };
        waiter.wait(deadline, Some(interrupt));
        interrupt.check()?;
    }
}

/// The session is to end as the server stops, also if what it runs catches this error.
fn end_session(interrupt: &Interrupt) -> Result<()> {
    interrupt.raise(InterruptKind::Terminate);
    interrupt.check()
}

/// Waits until more has arrived.
///
/// # Errors
/// 08006 when the client is gone, 57P01 when the server stops, and pending interrupts.
pub fn await_input(port: &SharedPort, interrupt: &Interrupt) -> Result<()> {
    let had_bytes = port.borrow().incoming.pending().len();
    let mut scratch = vec![0; 64 * 1024];
    loop {
        let waiter = {
            let mut port = port.borrow_mut();
            if port.is_readable() {
                port.read_once(&mut scratch);
            }
            if port.incoming.pending().len() > had_bytes {
                return Ok(());
            }
            if port.has_ended() {
                return Err(connection_lost());
            }
            if port.is_readable() {
                continue;
            }
            let durable = port.wal.durable();
            port.outgoing.flush();
            port.send(durable);
            if port.is_stopping() {
                return end_session(interrupt);
            }
            let waiter = Waiter::new();
            port.progress = Some(waiter.waker());
            waiter
        };
        waiter.wait(None, Some(interrupt));
        interrupt.check()?;
    }
}
