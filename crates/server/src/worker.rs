//! A worker: one thread that runs its sessions.
//!
//! ```text
//! poll ─> read what has arrived ─> run sessions ─> send what is durable ─> ask for a flush of the rest ─┐
//!   ^                                                                                                    │
//!   └────────────── woken by sockets, by the ready queue, by the log's leader once per flush ────────────┘
//! ```
//!
//! A session's messages run in a coroutine; when it waits for a lock, the worker goes on with another. One that could go on,
//! but whose time slice is over, goes into a queue. A round gives a turn to each session that has an event (bytes, a
//! wake, a timer) and to the first one of this queue, so that a short statement waits for one long one at most. An
//! event gives no extra turn to a session in the queue. Replies wait in their ports until the log is durable far enough
//! (rule R3); the leader of a flush wakes each worker once, and the worker sends every reply the flush has freed.

mod moving;
mod peer;
mod starting;
mod stopping;

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use base::report::Identity;
use base::settings::Id;
use base::{Error, Lsn, sqlstate};
use mio::{Events, Interest, Poll, Token};
use slab::Slab;
use sql::Instance;
use sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sync::{Arc, Coroutine, Interrupt, InterruptKind, Mutex, ReadyQueue, StackPool, Step, TimeSlices};
use wal::{DelayPolicy, Wal};

use crate::alarms::{Alarm, Alarms};
use crate::authentication::Exchange;
use crate::connection_budget::ConnectionBudget;
use crate::conversation::{Conversation, Next, no_stack};
use crate::port::{Port, SharedPort};
use crate::startup;
use crate::stream::{Keepalive, Stream};
use crate::tls::CurrentCredentials;
pub(crate) use peer::Peer;
use stopping::Patience;
pub use stopping::StopMode;

/// The socket token of the worker's own waker.
const WAKE: Token = Token(usize::MAX);
/// Ready-queue tokens that name no connection.
const NEWCOMERS: u64 = u64::MAX;
const DURABLE: u64 = u64::MAX - 1;
const STOP_AFTER_STATEMENTS: u64 = u64::MAX - 2;
const STOP_AT_ONCE: u64 = u64::MAX - 3;
const LEAVE: u64 = u64::MAX - 4;
const HANDED_OVER: u64 = u64::MAX - 5;

/// Generations at the top of the range would collide with the tokens that name no connection.
fn generation_after(generation: u32) -> u32 {
    (generation + 1) & 0x7FFF_FFFF
}

/// Queues a connection's token.
fn wake(ready: &Arc<ReadyQueue>, token: u64) -> Arc<dyn Fn() + Send + Sync> {
    let ready = Arc::clone(ready);
    Arc::new(move || ready.push(token))
}

/// How long a client that was told why its session ends has for closing the connection itself.
///
/// Closed at once, the connection would be reset if something the client has sent is still unread, and drivers that find its end
/// together with the last message report the one and forget the other.
const FAREWELL_TIME: Duration = Duration::from_millis(100);

const PATIENCE: Patience = Patience { unread: Duration::from_secs(10), whole: Duration::from_secs(30) };

/// The part of a worker that other threads hold.
pub struct WorkerHandle {
    peer: Arc<Peer>,
    newcomers: Arc<Mutex<Vec<Stream>>>,
    /// Held by the one who waits for its end.
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl WorkerHandle {
    /// How much it has to do: new connections go where this is least.
    pub fn load(&self) -> usize {
        self.peer.load()
    }

    /// The part of it that the other workers hold.
    pub(crate) fn peer(&self) -> Arc<Peer> {
        Arc::clone(&self.peer)
    }

    /// Hands a new connection to the worker.
    pub fn adopt(&self, stream: Stream) {
        self.peer.count_session();
        self.newcomers.lock().push(stream);
        self.peer.ready.push(NEWCOMERS);
    }

    /// Asks the worker to end its sessions, and to begin no others.
    pub fn begin_stop(&self, mode: StopMode) {
        self.peer.ready.push(match mode {
            StopMode::AfterStatements => STOP_AFTER_STATEMENTS,
            StopMode::AtOnce => STOP_AT_ONCE,
        });
    }

    /// Waits for the worker's end, once it has been asked to end its sessions. It gets no connections any more.
    pub fn join(&self) {
        self.peer.ready.push(LEAVE);
        if let Some(thread) = self.thread.lock().take()
            && thread.join().is_err()
        {
            log::error!("a worker thread panicked");
        }
    }
}

/// The part that all workers of a server share.
pub struct Shared {
    /// The SQL side.
    pub instance: Arc<Instance>,
    /// Replies waiting for the log, in all workers.
    pub gated_count: AtomicUsize,
    /// All workers, once they have been started.
    pub(crate) peers: OnceLock<Vec<Arc<Peer>>>,
    /// Sessions that have gone from one worker to another.
    pub moved_count: AtomicU64,
    /// How many connections there may be.
    pub budget: ConnectionBudget,
    /// Certificate, key and rules of encryption, if connections are encrypted.
    pub credentials: CurrentCredentials,
}

struct Connection {
    port: SharedPort,
    /// Its identity in the log.
    identity: Arc<Identity>,
    /// The user and the database that its client has named.
    named: Option<Box<(String, String)>>,
    state: State,
    /// Tells tokens of this connection from those of an earlier one in the same place.
    generation: u32,
    /// Its encryption requests before it starts a session.
    asked: startup::Asked,
    interrupt: Option<Arc<Interrupt>>,
    /// The position its replies wait for, if it is in the worker's heap.
    gate: Option<Lsn>,
    /// When the worker looks at it next without being told to.
    alarm: Alarm,
    /// Since when its session is closed and the client has something to read.
    leaves_since: Option<Instant>,
    /// When the server closes it if the client doesn't. The client has been told why.
    closes: Option<Instant>,
    /// The keepalives that its session has asked for.
    keepalive: Keepalive,
    /// Its session's statements end when the client has gone.
    ends_with_its_client: bool,
    /// It holds one of the places for sessions.
    has_place: bool,
    /// It waits among those that have yielded: an event does not give it another turn before.
    has_yielded: bool,
}

enum State {
    Starting,
    /// Has been asked for its password.
    Authenticating(Box<Exchange>),
    Idle(Box<Conversation>),
    Running(Coroutine<(Box<Conversation>, Next)>),
    /// Its session is closed. Ends when what is to be sent has been sent.
    Closing,
}

/// The task of a session's coroutine.
enum Task {
    /// To work on what has arrived.
    Work,
    /// To end an idle session, and to tell its client why if there is something to be told.
    End(Option<Error>),
}

struct Worker {
    poll: Poll,
    shared: Arc<Shared>,
    wal: Arc<Wal>,
    ready: Arc<ReadyQueue>,
    /// The part of this worker that the others hold.
    peer: Arc<Peer>,
    newcomers: Arc<Mutex<Vec<Stream>>>,
    stacks: StackPool,
    connections: Slab<Connection>,
    next_generation: u32,
    slices: TimeSlices,
    /// Sessions that could go on, but whose time slice was over: first come, first served.
    yielded: VecDeque<u64>,
    /// Connections that produced something, or whose socket takes more, since the last look.
    unsettled: Vec<usize>,
    /// Several connections have something to do in this round.
    is_crowded: bool,
    /// The connection whose session began something last.
    last_begun: Option<u64>,
    /// Replies waiting for the log.
    gated: BinaryHeap<Reverse<(Lsn, u64)>>,
    /// The lowest of them, for the listener.
    waiting_for: Arc<AtomicU64>,
    /// The delay that applies to the next flush request.
    delay: DelayPolicy,
    alarms: Alarms,
    /// Connections without a session, the oldest first.
    starting: BTreeSet<u64>,
    scratch: Box<[u8]>,
    /// How the server stops, and since when.
    stopping: Option<(StopMode, Instant)>,
    /// No connection comes any more: the thread ends with the last one.
    is_leaving: bool,
}

/// Starts a worker thread.
///
/// # Errors
/// When the operating system refuses a poll or a thread.
pub fn start(shared: Arc<Shared>, number: usize) -> base::Result<WorkerHandle> {
    let poll = Poll::new().map_err(|error| Error::io("could not create a poll", &error))?;
    let waker =
        mio::Waker::new(poll.registry(), WAKE).map_err(|error| Error::io("could not create a waker", &error))?;
    let ready = Arc::new(ReadyQueue::new(move || {
        if let Err(error) = waker.wake() {
            log::error!("could not wake a worker: {error}");
        }
    }));
    let newcomers = Arc::new(Mutex::new(Vec::new()));
    let peer = Arc::new(Peer::new(Arc::clone(&ready)));
    let wal = Arc::clone(shared.instance.database().wal());
    let waiting_for = Arc::new(AtomicU64::new(u64::MAX));
    {
        let (ready, waiting_for) = (Arc::clone(&ready), Arc::clone(&waiting_for));
        wal.add_durable_listener(Arc::new(move |durable: Lsn| {
            if waiting_for.load(Ordering::SeqCst) <= durable.0 {
                ready.push(DURABLE);
            }
        }));
    }
    let handle = WorkerHandle { peer: Arc::clone(&peer), newcomers: Arc::clone(&newcomers), thread: Mutex::new(None) };
    let run = move || {
        let worker = Worker {
            poll,
            shared,
            wal,
            ready,
            peer,
            newcomers,
            stacks: StackPool::default(),
            connections: Slab::new(),
            next_generation: 0,
            slices: TimeSlices::new(),
            yielded: VecDeque::new(),
            unsettled: Vec::new(),
            is_crowded: false,
            last_begun: None,
            gated: BinaryHeap::new(),
            waiting_for,
            delay: DelayPolicy::default(),
            alarms: Alarms::default(),
            starting: BTreeSet::new(),
            scratch: vec![0; 64 * 1024].into_boxed_slice(),
            stopping: None,
            is_leaving: false,
        };
        // Panics of sessions, and of connections before they have one, end those. After any other nobody could answer the worker's
        // sessions, and what they hold would be held for ever: as after a failed write of the log, the process ends, and recovery decides.
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| worker.run())).is_err() {
            if log::log_enabled!(log::Level::Error) {
                log::error!(severity = "PANIC"; "a worker failed on an internal error; the process ends");
                log::logger().flush();
            } else {
                eprintln!("PANIC:  a worker failed on an internal error; the process ends");
            }
            std::process::abort();
        }
    };
    let thread = std::thread::Builder::new()
        .name(format!("worker {number}"))
        .spawn(run)
        .map_err(|error| Error::io("could not start a worker thread", &error))?;
    Ok(WorkerHandle { thread: Mutex::new(Some(thread)), ..handle })
}

impl Worker {
    fn run(mut self) {
        let mut events = Events::with_capacity(1024);
        let mut tokens = Vec::new();
        loop {
            let timeout = self.time_to_sleep();
            let may_sleep = timeout != Some(Duration::ZERO);
            if may_sleep {
                self.slices.fall_asleep();
                self.offer_itself();
            }
            if let Err(error) = self.poll.poll(&mut events, timeout)
                && error.kind() != std::io::ErrorKind::Interrupted
            {
                log::error!("poll failed: {error}");
            }
            if may_sleep {
                self.slices.wake_up();
            }
            self.ready.set_awake();
            self.is_crowded = events.iter().nth(1).is_some();
            if may_sleep {
                self.take_in_moved();
            }
            for event in &events {
                if event.token() != WAKE {
                    self.on_event(event);
                }
            }
            tokens.clear();
            self.ready.drain(&mut tokens);
            for &token in &tokens {
                match token {
                    NEWCOMERS => self.admit(),
                    DURABLE | HANDED_OVER => {}
                    STOP_AFTER_STATEMENTS => self.begin_stop(StopMode::AfterStatements),
                    STOP_AT_ONCE => self.begin_stop(StopMode::AtOnce),
                    LEAVE => self.begin_leaving(),
                    token => self.resume(token),
                }
            }
            if let Some(token) = self.yielded.pop_front() {
                if let Some(index) = self.index_of(token) {
                    self.connections[index].has_yielded = false;
                }
                self.resume(token);
            }
            self.peer.set_long_count(self.yielded.len());
            self.ring_alarms();
            debug_assert!(self.alarms.len() <= self.connections.len(), "an alarm is left of a connection");
            self.settle();
            if self.is_leaving && self.connections.is_empty() {
                return;
            }
        }
    }

    /// How long to sleep in the poll: not at all while sessions are ready.
    fn time_to_sleep(&mut self) -> Option<Duration> {
        if !self.unsettled.is_empty() || !self.yielded.is_empty() || !self.ready.may_sleep() {
            return Some(Duration::ZERO);
        }
        let next = self.alarms.soonest()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    fn token_of(&self, index: usize) -> u64 {
        (u64::from(self.connections[index].generation) << 32) | index as u64
    }

    /// The connection a token names, if it still exists.
    fn index_of(&self, token: u64) -> Option<usize> {
        let index = (token & 0xFFFF_FFFF) as usize;
        let connection = self.connections.get(index)?;
        (u64::from(connection.generation) == token >> 32).then_some(index)
    }

    fn admit(&mut self) {
        let streams = std::mem::take(&mut *self.newcomers.lock());
        let integer = |id| self.shared.instance.database().settings().get(id).as_integer();
        let unsent_limit_bytes = integer(Id::MaxUnsentOutput).unwrap_or(1024) as usize * 1024;
        let authentication_limit = Duration::from_secs(integer(Id::AuthenticationTimeout).unwrap_or(60) as u64);
        for mut stream in streams {
            let index = self.connections.vacant_key();
            let interests = Interest::READABLE | Interest::WRITABLE;
            if self.poll.registry().register(&mut stream, Token(index), interests).is_err() {
                self.peer.discount_session();
                self.shared.budget.leave();
                continue;
            }
            let generation = self.next_generation;
            self.next_generation = generation_after(generation);
            let identity = self.receive(&stream);
            let port = Rc::new(RefCell::new(Port::new(stream, Arc::clone(&self.wal), unsent_limit_bytes)));
            port.borrow_mut().set_readable();
            let entry = self.connections.vacant_entry();
            entry.insert(Connection {
                port,
                identity,
                named: None,
                state: State::Starting,
                generation,
                asked: startup::Asked::default(),
                interrupt: None,
                gate: None,
                alarm: Alarm::default(),
                leaves_since: None,
                closes: None,
                keepalive: Keepalive::default(),
                ends_with_its_client: false,
                has_place: false,
                has_yielded: false,
            });
            self.set_alarm(index, Some(Instant::now() + authentication_limit));
            self.begin_starting(index);
            self.read_and_run(index);
        }
    }

    fn set_alarm(&mut self, index: usize, due: Option<Instant>) {
        let token = self.token_of(index);
        self.alarms.set(&mut self.connections[index].alarm, token, due);
    }

    fn on_event(&mut self, event: &mio::event::Event) {
        let index = event.token().0;
        let Some(connection) = self.connections.get(index) else { return };
        let mut port = connection.port.borrow_mut();
        if event.is_writable() {
            port.set_writable();
            if port.has_unsent() {
                self.unsettled.push(index);
            }
        }
        let is_near_its_end = event.is_read_closed() || event.is_error();
        if is_near_its_end {
            port.set_end_is_near();
        }
        if event.is_readable() || is_near_its_end {
            port.set_readable();
            drop(port);
            self.read_and_run(index);
            self.end_if_its_client_has_gone(index);
        }
    }

    /// Gives a connection its turn: reads until the socket is empty, a session has started to run or the turn is over, and works
    /// on what has arrived.
    fn read_and_run(&mut self, index: usize) {
        self.slices.begin();
        self.go_on(index);
    }

    /// The same within a turn that has begun.
    fn go_on(&mut self, index: usize) {
        let token = self.token_of(index);
        // Its session may go to another worker.
        while self.index_of(token).is_some() {
            let connection = &mut self.connections[index];
            if matches!(connection.state, State::Running(_)) {
                return;
            }
            if !connection.port.borrow().is_readable() {
                if connection.port.borrow().has_ended() {
                    self.unsettled.push(index);
                }
                return;
            }
            if self.slices.is_over() {
                // A client that sends without a pause.
                self.queue_yielded(index);
                return;
            }
            connection.port.borrow_mut().read_once(&mut self.scratch);
            self.work(index);
        }
    }

    /// Works on what has arrived.
    fn work(&mut self, index: usize) {
        self.unsettled.push(index);
        let connection = &mut self.connections[index];
        match std::mem::replace(&mut connection.state, State::Closing) {
            State::Starting => self.contain_panic(index, |worker| worker.start_session(index)),
            State::Authenticating(exchange) => {
                self.contain_panic(index, |worker| worker.authenticate(index, *exchange))
            }
            State::Idle(conversation) => {
                if connection.port.borrow().incoming.pending().is_empty() {
                    connection.state = State::Idle(conversation);
                    return;
                }
                let handed_over = match self.peer_for(index) {
                    Some(peer) => self.hand_over(index, conversation, &peer),
                    None => Err(conversation),
                };
                if let Err(conversation) = handed_over {
                    self.run_task(index, conversation, Task::Work);
                }
            }
            // Read, so that the end of the connection is no reset, and forgotten.
            State::Closing => {
                let mut port = connection.port.borrow_mut();
                let count = port.incoming.pending().len();
                port.incoming.consume(count);
            }
            running => connection.state = running,
        }
    }

    /// Has a session's task done in a coroutine.
    fn run_task(&mut self, index: usize, mut conversation: Box<Conversation>, task: Task) {
        let token = self.token_of(index);
        self.last_begun = Some(token);
        let connection = &mut self.connections[index];
        let port = Rc::clone(&connection.port);
        let run = move || {
            let next = match task {
                Task::Work => conversation.run(&port),
                Task::End(reason) => conversation.end(&port, reason.as_ref()),
            };
            (conversation, next)
        };
        match Coroutine::try_new(&self.stacks, Arc::clone(&self.ready), token, run) {
            Ok(coroutine) => {
                connection.state = State::Running(coroutine);
                self.step(index);
            }
            // The session has ended with `run`; others go on.
            Err(_) => {
                connection.port.borrow_mut().outgoing.error_or_notice(b'E', "FATAL", &no_stack());
                connection.state = State::Closing;
                self.set_alarm(index, None);
                self.unsettled.push(index);
            }
        }
    }

    /// Ends a session that idles, in a coroutine: what it leaves is undone there, which may wait for others.
    fn end_session(&mut self, index: usize, reason: Option<Error>) {
        let connection = &mut self.connections[index];
        match std::mem::replace(&mut connection.state, State::Closing) {
            State::Idle(conversation) => self.run_task(index, conversation, Task::End(reason)),
            other => connection.state = other,
        }
    }

    /// Ends an idle session if it was asked to end.
    fn end_if_asked(&mut self, index: usize) -> bool {
        let interrupt = self.connections[index].interrupt.as_ref();
        let kind = interrupt.and_then(|interrupt| interrupt.take_end());
        if let Some(kind) = kind {
            self.end_session(index, Some(kind.error()));
        }
        kind.is_some()
    }

    /// A coroutine that waited may go on, an idle session has been notified of something or is to end, or a connection was being
    /// read when its turn was over.
    fn resume(&mut self, token: u64) {
        let Some(index) = self.index_of(token) else { return };
        self.slices.begin();
        match self.connections[index].state {
            State::Running(_) => self.step(index),
            State::Idle(_) => self.tell_or_end(index),
            _ => {}
        }
        self.go_on(index);
    }

    /// Ends a session that works for a client that has gone, where `client_connection_check_interval` asks for that.
    fn end_if_its_client_has_gone(&mut self, index: usize) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        if !connection.ends_with_its_client || !matches!(connection.state, State::Running(_)) {
            return;
        }
        if connection.port.borrow().is_near_its_end()
            && let Some(interrupt) = &connection.interrupt
        {
            // Once: closing the session is not to be interrupted.
            connection.ends_with_its_client = false;
            interrupt.raise(InterruptKind::Terminate);
        }
    }

    /// Tells an idle session's client what it is notified of, or that the session ends.
    fn tell_or_end(&mut self, index: usize) {
        if self.end_if_asked(index) {
            return;
        }
        let connection = &mut self.connections[index];
        if let State::Idle(conversation) = &mut connection.state {
            conversation.deliver_notifications(&connection.port);
            self.unsettled.push(index);
        }
    }

    /// Runs a connection's coroutine until it waits or ends.
    fn step(&mut self, index: usize) {
        self.unsettled.push(index);
        let connection = &mut self.connections[index];
        if connection.has_yielded {
            return;
        }
        let State::Running(coroutine) = &mut connection.state else { return };
        let step = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| coroutine.resume()));
        match step {
            Ok(Step::Suspended { deadline }) => {
                self.set_alarm(index, deadline);
                self.end_if_its_client_has_gone(index);
            }
            Ok(Step::Yielded) => {
                self.queue_yielded(index);
                self.end_if_its_client_has_gone(index);
            }
            Ok(Step::Finished((conversation, next))) => {
                self.delay = conversation.sql.delay_policy();
                match next {
                    Next::Idle => {
                        connection.state = State::Idle(conversation);
                        self.begin_idling(index);
                    }
                    Next::Close => self.begin_closing(index),
                }
            }
            Err(_) => {
                // The panic's own message is in the log; the session's transaction was rolled back as it unwound.
                self.end_after_panic(index);
            }
        }
    }

    /// Tells a client that its session ends on an internal error.
    fn end_after_panic(&mut self, index: usize) {
        let error = Error::internal("the session failed on an internal error").fatal();
        let mut port = self.connections[index].port.borrow_mut();
        port.outgoing.forget_unflushed();
        port.outgoing.error_or_notice(b'E', "FATAL", &error);
        drop(port);
        self.begin_closing(index);
    }

    /// The session is closed. The connection ends when the client has what is to be sent.
    fn begin_closing(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        connection.state = State::Closing;
        // The client may have taken much since a write was cut short, without an event.
        connection.port.borrow_mut().write_again();
        self.set_alarm(index, None);
    }

    /// The connection has its next turn when those that yielded before it have had theirs.
    fn queue_yielded(&mut self, index: usize) {
        if !std::mem::replace(&mut self.connections[index].has_yielded, true) {
            self.yielded.push_back(self.token_of(index));
        }
    }

    /// A session waits for its client, unless it is to end.
    fn begin_idling(&mut self, index: usize) {
        let token = self.token_of(index);
        let connection = &mut self.connections[index];
        let State::Idle(conversation) = &mut connection.state else { return };
        let ready = &self.ready;
        connection.keepalive.follow(conversation.sql.tcp_times(), connection.port.borrow_mut().stream());
        connection.ends_with_its_client = conversation.sql.ends_with_its_client();
        if conversation.sql.arrange_wake(|| wake(ready, token)) {
            conversation.deliver_notifications(&connection.port);
        }
        let deadline = conversation.sql.idle_deadline();
        self.alarms.set(&mut connection.alarm, token, deadline);
        if self.stopping.is_some() {
            self.end_session(index, Some(shutting_down()));
        } else {
            self.end_if_asked(index);
        }
    }

    /// Sends what may leave, asks for a flush of what may not yet, and takes leave of connections that ended.
    fn settle(&mut self) {
        let mut durable = self.wal.durable();
        loop {
            self.send_unsettled(durable);
            let Some(highest) = self.gated.iter().map(|Reverse((lsn, _))| *lsn).max() else {
                self.waiting_for.store(u64::MAX, Ordering::Relaxed);
                return;
            };
            if self.gated.len() == 1
                && self.shared.gated_count.load(Ordering::Relaxed) == 1
                && self.wal.try_lead_inline(highest, self.delay)
            {
                // Nobody had to be told.
                self.free_gated(self.wal.durable());
            } else {
                let lowest = self.gated.peek().map_or(u64::MAX, |Reverse((lsn, _))| lsn.0);
                self.waiting_for.store(lowest, Ordering::SeqCst);
                // The listener may have run before it could see what we wait for.
                self.free_gated(self.wal.durable());
            }
            if self.unsettled.is_empty() {
                self.wal.request_flush(highest, self.delay);
                return;
            }
            durable = self.wal.durable();
        }
    }

    /// Takes connections whose replies are durable out of the heap.
    fn free_gated(&mut self, durable: Lsn) {
        while let Some(Reverse((lsn, token))) = self.gated.peek().copied() {
            if lsn > durable {
                break;
            }
            self.gated.pop();
            self.shared.gated_count.fetch_sub(1, Ordering::Relaxed);
            if let Some(index) = self.index_of(token) {
                self.connections[index].gate = None;
                self.unsettled.push(index);
            }
        }
    }

    fn send_unsettled(&mut self, durable: Lsn) {
        while let Some(index) = self.unsettled.pop() {
            let Some(connection) = self.connections.get_mut(index) else { continue };
            let gate = connection.port.borrow_mut().send(durable);
            if let Some(gate) = gate
                && connection.gate.is_none()
            {
                connection.gate = Some(gate);
                let token = self.token_of(index);
                self.gated.push(Reverse((gate, token)));
                self.shared.gated_count.fetch_add(1, Ordering::Relaxed);
            }
            let connection = &mut self.connections[index];
            if let State::Idle(conversation) = &mut connection.state
                && conversation.may_tell_more(&connection.port)
            {
                // Its turn comes behind those of others.
                self.ready.push(self.token_of(index));
                continue;
            }
            let port = connection.port.borrow();
            let has_ended = port.has_ended();
            drop(port);
            match connection.state {
                State::Running(_) => {}
                State::Starting | State::Authenticating(_) if has_ended => self.remove(index),
                State::Starting | State::Authenticating(_) => {}
                State::Idle(_) if has_ended => self.end_session(index, None),
                State::Idle(_) => {}
                State::Closing => self.take_leave(index),
            }
        }
    }

    /// Removes a connection whose session is closed, unless it has something left to be sent or to be waited for.
    fn take_leave(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let port = connection.port.borrow();
        let now = Instant::now();
        let deadline = if port.is_closed() {
            Some(now)
        } else if port.has_unsent() {
            let leaves_since = *connection.leaves_since.get_or_insert(now);
            let (patience, since) = match self.stopping {
                Some((mode, stopping_since)) => (mode.patience(), stopping_since.max(leaves_since)),
                None => (PATIENCE, leaves_since),
            };
            // Otherwise it waits for the log.
            port.stalled_since().map(|stalled| (stalled.max(since) + patience.unread).min(since + patience.whole))
        } else if port.outgoing.says_farewell() && !port.has_ended() {
            Some(*connection.closes.get_or_insert(now + FAREWELL_TIME))
        } else {
            Some(now)
        };
        drop(port);
        match deadline {
            Some(deadline) if deadline <= now => self.remove(index),
            deadline => self.set_alarm(index, deadline),
        }
    }

    fn remove(&mut self, index: usize) {
        let token = self.token_of(index);
        self.end_starting(token);
        self.give_place_back(index);
        let mut connection = self.connections.remove(index);
        self.alarms.take_out(&mut connection.alarm, token);
        let mut port = connection.port.borrow_mut();
        // Nothing can be done about a socket that can't be deregistered; it is closed all the same.
        let _ = self.poll.registry().deregister(port.stream());
        drop(port);
        self.peer.discount_session();
        // Its descriptor goes first, then its place among all connections.
        drop(connection);
        self.shared.budget.leave();
    }

    fn ring_alarms(&mut self) {
        if self.alarms.soonest().is_none() {
            return;
        }
        let now = Instant::now();
        while let Some(token) = self.alarms.next(now) {
            let index = self.index_of(token).expect("a connection that is removed takes its alarm with it");
            let connection = &mut self.connections[index];
            if !self.alarms.is_due(&mut connection.alarm, token, now) {
                continue;
            }
            match &mut connection.state {
                State::Running(_) => self.resume(token),
                State::Starting | State::Authenticating(_) => {
                    connection.port.borrow_mut().close();
                    self.unsettled.push(index);
                }
                State::Idle(conversation) => match conversation.sql.idle_timeout_passed(now) {
                    Some(error) => self.end_session(index, Some(error)),
                    None => {
                        let deadline = conversation.sql.idle_deadline();
                        self.set_alarm(index, deadline);
                    }
                },
                State::Closing => {
                    connection.port.borrow_mut().write_again();
                    self.unsettled.push(index);
                }
            }
        }
    }
}

/// The error for a client when there is no place for it.
pub(crate) fn too_many() -> Error {
    Error::new(sqlstate::TOO_MANY_CONNECTIONS, "sorry, too many clients already").fatal()
}

fn shutting_down() -> Error {
    InterruptKind::Terminate.error()
}
