//! A worker: one thread that runs the sessions pinned to it.
//!
//! ```text
//! poll ─> read what has arrived ─> run sessions ─> send what is durable ─> ask for a flush of the rest ─┐
//!   ^                                                                                                    │
//!   └────────────── woken by sockets, by the ready queue, by the log's leader once per flush ────────────┘
//! ```
//!
//! A session's messages run in a coroutine; when it waits for a lock, the worker goes on with another. One that could go on,
//! but whose time slice is over, goes behind those that did. A round gives a turn to one session of these, and
//! to all to which something has happened, so that a short statement waits for one long one at most. Replies
//! wait in their ports until the log is durable far enough (rule R3); the leader of a flush wakes each
//! worker once, and the worker sends every reply the flush has freed.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

use base::access::{AccessMethod, Attempt};
use base::settings::Id;
use base::{Error, Lsn, sqlstate};
use bytes::BytesMut;
use mio::{Events, Interest, Poll, Token};
use pgwire::api::auth::sasl::scram::ScramServerAuth;
use slab::Slab;
use sql::session::{ConnectRequest, Instance};
use sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sync::{Arc, Coroutine, Interrupt, InterruptKind, Mutex, ReadyQueue, StackPool, Step, TimeSlices};
use wal::{DelayPolicy, Wal};

use crate::authentication::{Exchange, Outcome};
use crate::conversation::{Conversation, Next, no_stack};
use crate::port::{Port, SharedPort};
use crate::startup::{self, EncryptionKind, Refusal, Request};
use crate::stream::Stream;
use crate::tls::CurrentCredentials;

/// The socket token of the worker's own waker.
const WAKE: Token = Token(usize::MAX);
/// Ready-queue tokens that name no connection.
const NEWCOMERS: u64 = u64::MAX;
const DURABLE: u64 = u64::MAX - 1;
const STOP: u64 = u64::MAX - 2;

/// A connection that has not authenticated after this long is closed.
const AUTHENTICATION_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a client that was told why its session ends has for closing the connection itself.
///
/// Closed at once, the connection would be reset if something the client has sent is still unread, and drivers that find its end
/// together with the last message report the one and forget the other.
const FAREWELL_TIME: Duration = Duration::from_millis(100);

/// What other threads hold of a worker.
pub struct WorkerHandle {
    ready: Arc<ReadyQueue>,
    newcomers: Arc<Mutex<Vec<Stream>>>,
    /// Sessions of this worker, for balancing.
    session_count: Arc<AtomicUsize>,
    /// How many of them have long work under way.
    long_count: Arc<AtomicUsize>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// A session with long work weighs as much as so many others when a new one is dealt out.
const LONG_WORK_WEIGHT: usize = 4;

impl WorkerHandle {
    /// How much it has to do: new connections go where this is least.
    pub fn load(&self) -> usize {
        let long = self.long_count.load(Ordering::Relaxed).saturating_mul(LONG_WORK_WEIGHT);
        self.session_count.load(Ordering::Relaxed).saturating_add(long)
    }

    /// Hands a new connection to the worker.
    pub fn adopt(&self, stream: Stream) {
        self.session_count.fetch_add(1, Ordering::Relaxed);
        self.newcomers.lock().push(stream);
        self.ready.push(NEWCOMERS);
    }

    /// Asks the worker to end its sessions after their running statements.
    pub fn stop(&self) {
        self.ready.push(STOP);
    }

    /// Waits for its end.
    pub fn join(&mut self) {
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            eprintln!("cohort: a worker thread panicked");
        }
    }
}

/// What all workers of a server share.
pub struct Shared {
    /// The SQL side.
    pub instance: Arc<Instance>,
    /// Replies waiting for the log, in all workers.
    pub gated_count: AtomicUsize,
    /// Open connections, in all workers.
    pub connection_count: AtomicUsize,
    /// The most there may be.
    pub max_connections: usize,
    /// What connections are encrypted with.
    pub credentials: CurrentCredentials,
}

struct Connection {
    port: SharedPort,
    state: State,
    /// Tells tokens of this connection from those of an earlier one in the same place.
    generation: u32,
    /// What it has asked for before it starts a session.
    asked: startup::Asked,
    interrupt: Option<Arc<Interrupt>>,
    /// The position its replies wait for, if it is in the worker's heap.
    gate: Option<Lsn>,
    opened: Instant,
    /// When it is closed if the client doesn't do it, which was told why by then.
    closes: Option<Instant>,
}

enum State {
    Starting,
    /// Has been asked for its password.
    Authenticating(Box<Exchange>),
    Idle(Box<Conversation>),
    Running(Coroutine<(Box<Conversation>, Next)>),
    /// Ends when what is to be sent has been sent.
    Closing,
}

struct Worker {
    poll: Poll,
    shared: Arc<Shared>,
    wal: Arc<Wal>,
    ready: Arc<ReadyQueue>,
    newcomers: Arc<Mutex<Vec<Stream>>>,
    session_count: Arc<AtomicUsize>,
    long_count: Arc<AtomicUsize>,
    stacks: StackPool,
    connections: Slab<Connection>,
    next_generation: u32,
    slices: TimeSlices,
    /// Sessions that could go on, but whose time slice was over: first come, first served.
    yielded: VecDeque<u64>,
    /// Connections that produced something, or whose socket takes more, since the last look.
    unsettled: Vec<usize>,
    /// Replies waiting for the log.
    gated: BinaryHeap<Reverse<(Lsn, u64)>>,
    /// The lowest of them, for the listener.
    waiting_for: Arc<AtomicU64>,
    /// The delay that applies to the next flush request.
    delay: DelayPolicy,
    timers: BinaryHeap<Reverse<(Instant, u64)>>,
    scratch: Box<[u8]>,
    is_stopping: bool,
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
            eprintln!("cohort: could not wake a worker: {error}");
        }
    }));
    let newcomers = Arc::new(Mutex::new(Vec::new()));
    let session_count = Arc::new(AtomicUsize::new(0));
    let long_count = Arc::new(AtomicUsize::new(0));
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
    let handle = WorkerHandle {
        ready: Arc::clone(&ready),
        newcomers: Arc::clone(&newcomers),
        session_count: Arc::clone(&session_count),
        long_count: Arc::clone(&long_count),
        thread: None,
    };
    let run = move || {
        let worker = Worker {
            poll,
            shared,
            wal,
            ready,
            newcomers,
            session_count,
            long_count,
            stacks: StackPool::default(),
            connections: Slab::new(),
            next_generation: 0,
            slices: TimeSlices::new(),
            yielded: VecDeque::new(),
            unsettled: Vec::new(),
            gated: BinaryHeap::new(),
            waiting_for,
            delay: DelayPolicy::default(),
            timers: BinaryHeap::new(),
            scratch: vec![0; 64 * 1024].into_boxed_slice(),
            is_stopping: false,
        };
        // Panics of sessions end those sessions. After any other nobody could answer the worker's sessions, and what they
        // hold would be held for ever: as after a failed write of the log, the process ends, and recovery decides.
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| worker.run())).is_err() {
            eprintln!("cohort: a worker failed on an internal error; the process ends");
            std::process::abort();
        }
    };
    let thread = std::thread::Builder::new()
        .name(format!("worker {number}"))
        .spawn(run)
        .map_err(|error| Error::io("could not start a worker thread", &error))?;
    Ok(WorkerHandle { thread: Some(thread), ..handle })
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
            }
            if let Err(error) = self.poll.poll(&mut events, timeout)
                && error.kind() != std::io::ErrorKind::Interrupted
            {
                eprintln!("cohort: poll failed: {error}");
            }
            if may_sleep {
                self.slices.wake_up();
            }
            self.ready.set_awake();
            for event in &events {
                if event.token() != WAKE {
                    self.on_event(event.token().0, event.is_readable(), event.is_writable());
                }
            }
            tokens.clear();
            self.ready.drain(&mut tokens);
            for &token in &tokens {
                match token {
                    NEWCOMERS => self.admit(),
                    DURABLE => {}
                    STOP => self.begin_stop(),
                    token => self.resume(token),
                }
            }
            if let Some(token) = self.yielded.pop_front() {
                self.resume(token);
            }
            if self.long_count.load(Ordering::Relaxed) != self.yielded.len() {
                self.long_count.store(self.yielded.len(), Ordering::Relaxed);
            }
            self.fire_timers();
            self.settle();
            if self.is_stopping && self.connections.is_empty() {
                return;
            }
        }
    }

    /// How long to sleep in the poll: not at all while sessions are ready.
    fn time_to_sleep(&mut self) -> Option<Duration> {
        if !self.unsettled.is_empty() || !self.yielded.is_empty() || !self.ready.may_sleep() {
            return Some(Duration::ZERO);
        }
        let next = self.timers.peek().map(|Reverse((at, _))| *at)?;
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
        let unsent_limit = self.shared.instance.database().settings().get(Id::MaxUnsentOutput);
        let unsent_limit_bytes = unsent_limit.as_integer().unwrap_or(1024) as usize * 1024;
        for mut stream in streams {
            let entry = self.connections.vacant_entry();
            let index = entry.key();
            let interests = Interest::READABLE | Interest::WRITABLE;
            if self.poll.registry().register(&mut stream, Token(index), interests).is_err() {
                self.session_count.fetch_sub(1, Ordering::Relaxed);
                self.shared.connection_count.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let generation = self.next_generation;
            // Generations at the top of the range would collide with the tokens that name no connection.
            self.next_generation = (generation + 1) & 0x7FFF_FFFF;
            let port = Rc::new(RefCell::new(Port::new(stream, Arc::clone(&self.wal), unsent_limit_bytes)));
            port.borrow_mut().set_readable();
            let opened = Instant::now();
            entry.insert(Connection {
                port,
                state: State::Starting,
                generation,
                asked: startup::Asked::default(),
                interrupt: None,
                gate: None,
                opened,
                closes: None,
            });
            self.timers.push(Reverse((opened + AUTHENTICATION_TIMEOUT, self.token_of(index))));
            self.read_and_run(index);
        }
    }

    fn on_event(&mut self, index: usize, is_readable: bool, is_writable: bool) {
        let Some(connection) = self.connections.get(index) else { return };
        if is_writable {
            connection.port.borrow_mut().set_writable();
            if connection.port.borrow().has_unsent() {
                self.unsettled.push(index);
            }
        }
        if is_readable {
            connection.port.borrow_mut().set_readable();
            self.read_and_run(index);
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
        loop {
            let connection = &mut self.connections[index];
            if matches!(connection.state, State::Running(_)) {
                return;
            }
            if !connection.port.borrow().is_readable() {
                if connection.port.borrow().is_closed() {
                    self.unsettled.push(index);
                }
                return;
            }
            if self.slices.is_over() {
                // A client that sends without a pause.
                self.yielded.push_back(self.token_of(index));
                return;
            }
            connection.port.borrow_mut().read_once(&mut self.scratch);
            self.work(index);
        }
    }

    /// Works on what has arrived.
    fn work(&mut self, index: usize) {
        self.unsettled.push(index);
        let token = self.token_of(index);
        let connection = &mut self.connections[index];
        match std::mem::replace(&mut connection.state, State::Closing) {
            State::Starting => self.start_session(index),
            State::Authenticating(exchange) => self.authenticate(index, *exchange),
            State::Idle(mut conversation) => {
                let port = Rc::clone(&connection.port);
                if port.borrow().incoming.pending().is_empty() {
                    connection.state = State::Idle(conversation);
                    return;
                }
                let run = move || {
                    let next = conversation.run(&port);
                    (conversation, next)
                };
                match Coroutine::try_new(&self.stacks, Arc::clone(&self.ready), token, run) {
                    Ok(coroutine) => {
                        connection.state = State::Running(coroutine);
                        self.step(index);
                    }
                    // The session has ended with `run`; others go on.
                    Err(_) => {
                        let error = no_stack();
                        connection.port.borrow_mut().outgoing.error_or_notice(b'E', "FATAL", &error);
                    }
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

    /// A coroutine that waited may go on, an idle session has been notified of something, or a connection was being read when its
    /// turn was over.
    fn resume(&mut self, token: u64) {
        let Some(index) = self.index_of(token) else { return };
        let connection = &mut self.connections[index];
        self.slices.begin();
        match &mut connection.state {
            State::Running(_) => self.step(index),
            State::Idle(conversation) => {
                conversation.deliver_notifications(&connection.port);
                self.unsettled.push(index);
            }
            _ => {}
        }
        self.go_on(index);
    }

    /// Runs a connection's coroutine until it waits or ends.
    fn step(&mut self, index: usize) {
        self.unsettled.push(index);
        let token = self.token_of(index);
        let connection = &mut self.connections[index];
        let State::Running(coroutine) = &mut connection.state else { return };
        let step = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| coroutine.resume()));
        match step {
            Ok(Step::Suspended { deadline }) => {
                if let Some(deadline) = deadline {
                    self.timers.push(Reverse((deadline, token)));
                }
            }
            Ok(Step::Yielded) => self.yielded.push_back(token),
            Ok(Step::Finished((conversation, next))) => {
                self.delay = conversation.sql.delay_policy();
                connection.state = match next {
                    Next::Idle => State::Idle(conversation),
                    Next::Close => State::Closing,
                };
                if let State::Idle(conversation) = &mut connection.state {
                    let ready = &self.ready;
                    let wake = || -> Arc<dyn Fn() + Send + Sync> {
                        let ready = Arc::clone(ready);
                        Arc::new(move || ready.push(token))
                    };
                    if conversation.sql.arrange_wake(wake) {
                        conversation.deliver_notifications(&connection.port);
                    }
                }
                if let (State::Idle(conversation), true) = (&mut connection.state, self.is_stopping) {
                    conversation.end(&connection.port, &shutting_down());
                    connection.state = State::Closing;
                } else if let State::Idle(conversation) = &mut connection.state
                    && let Some(deadline) = conversation.sql.idle_deadline()
                {
                    self.timers.push(Reverse((deadline, token)));
                }
            }
            Err(_) => {
                // The panic's own message is in the log; the session's transaction was rolled back as it unwound.
                let error = Error::internal("the session failed on an internal error").fatal();
                connection.port.borrow_mut().outgoing.error_or_notice(b'E', "FATAL", &error);
                connection.state = State::Closing;
            }
        }
    }

    /// Works on what arrives before a session has begun.
    fn start_session(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let decoded = startup::decode(connection.port.borrow().incoming.pending(), connection.asked);
        let result = match decoded {
            Ok(None) => {
                connection.state = State::Starting;
                return;
            }
            Ok(Some((request, length))) => {
                connection.port.borrow_mut().incoming.consume(length);
                match request {
                    Request::Encryption(kind) => self.answer_encryption(index, kind).map(|()| State::Starting),
                    Request::Cancel { pid, secret } => {
                        self.shared.instance.cancel(pid, secret);
                        connection.state = State::Closing;
                        return;
                    }
                    Request::Start(request) => self.admit_or_ask(index, request),
                }
            }
            Err(Refusal::Told(error)) => Err(error),
            Err(Refusal::ToldPlainly(error)) => {
                connection.port.borrow_mut().outgoing.raw(&startup::plain_error(&error));
                return;
            }
            Err(Refusal::Silent) => return,
        };
        self.go_on_starting(index, result);
    }

    /// Works on a client's answer to being asked for its password.
    fn authenticate(&mut self, index: usize, exchange: Exchange) {
        let port = Rc::clone(&self.connections[index].port);
        let message = {
            let port = port.borrow();
            let pending = port.incoming.pending();
            match startup::password_message(pending) {
                Ok(None) => {
                    self.connections[index].state = State::Authenticating(Box::new(exchange));
                    return;
                }
                Ok(Some(length)) => Ok(pending[..length].to_vec()),
                Err(error) => Err(error),
            }
        };
        let result = message.and_then(|message| {
            port.borrow_mut().incoming.consume(message.len());
            let mut out = BytesMut::new();
            let (outcome, exchange) = exchange.take(&message[5..], &mut out)?;
            port.borrow_mut().outgoing.raw(&out);
            match (outcome, exchange) {
                (Outcome::Proved(request), _) => self.connect(index, request),
                (Outcome::Continues, Some(exchange)) => Ok(State::Authenticating(Box::new(exchange))),
                (Outcome::Continues, None) => Err(Error::internal("an exchange ended without an outcome")),
            }
        });
        self.go_on_starting(index, result);
    }

    /// Takes the next step towards a session: works on what has arrived already, or tells why it ends here.
    fn go_on_starting(&mut self, index: usize, next: base::Result<State>) {
        let connection = &mut self.connections[index];
        // Whether a role exists, may log in, and by which password: the catalog says so (rule R3).
        let newest_commit = self.shared.instance.database().transactions().newest_commit();
        connection.port.borrow_mut().outgoing.require(newest_commit);
        match next {
            Ok(state) => {
                connection.state = state;
                if !connection.port.borrow().incoming.pending().is_empty() {
                    self.work(index);
                }
            }
            Err(error) => {
                let mut port = connection.port.borrow_mut();
                port.outgoing.error_or_notice(b'E', "FATAL", &error);
                connection.state = State::Closing;
            }
        }
    }

    /// Answers with one byte whether the connection will be encrypted.
    fn answer_encryption(&mut self, index: usize, kind: EncryptionKind) -> base::Result<()> {
        let credentials = self.shared.credentials.get();
        let connection = &mut self.connections[index];
        let mut port = connection.port.borrow_mut();
        let credentials = credentials.filter(|_| kind == EncryptionKind::Tls && !port.stream().is_unix());
        connection.asked = startup::Asked::after(kind, credentials.is_some());
        port.outgoing.raw(if credentials.is_some() { b"S" } else { b"N" });
        // What came along would have been sent before our answer was known.
        port.refuse_ahead_of_answer(kind)?;
        if let Some(credentials) = credentials {
            // The answer itself goes out in clear; a socket that has just been opened has room for a byte.
            let durable = self.wal.durable();
            port.send(durable);
            port.encrypt(credentials)?;
        }
        Ok(())
    }

    /// Lets a client in, refuses it, or asks for its password: whichever the rules say.
    fn admit_or_ask(&mut self, index: usize, request: startup::StartRequest) -> base::Result<State> {
        let port = Rc::clone(&self.connections[index].port);
        let mut port = port.borrow_mut();
        if let Some(options) = &request.unknown {
            startup::negotiate(options, &mut port.outgoing);
        }
        request.check_user()?;
        self.check_room()?;
        let instance = &self.shared.instance;
        let attempt = Attempt {
            address: port.stream().peer().map(|peer| peer.ip()),
            is_encrypted: port.stream().encryption().is_some(),
            user: &request.user,
            database: &request.database,
        };
        match instance.access_method(&attempt)? {
            AccessMethod::ScramSha256 => {
                let scram = match port.stream().encryption() {
                    Some(encryption) => encryption.credentials().scram.clone(),
                    None => ScramServerAuth::new(),
                };
                let (secret, is_known) = instance.secret_of(&request.user);
                let mut out = BytesMut::new();
                let exchange = Exchange::begin(request, secret, is_known, scram, &mut out);
                port.outgoing.raw(&out);
                Ok(State::Authenticating(Box::new(exchange)))
            }
            AccessMethod::Trust | AccessMethod::Reject => {
                drop(port);
                self.connect(index, request)
            }
        }
    }

    fn check_room(&self) -> base::Result<()> {
        if self.is_stopping {
            return Err(Error::new(sqlstate::CANNOT_CONNECT_NOW, "the database system is shutting down"));
        }
        if self.shared.connection_count.load(Ordering::Relaxed) > self.shared.max_connections {
            return Err(Error::new(sqlstate::TOO_MANY_CONNECTIONS, "sorry, too many clients already"));
        }
        Ok(())
    }

    /// Begins the session of a client that has been let in.
    fn connect(&mut self, index: usize, mut request: startup::StartRequest) -> base::Result<State> {
        self.check_room()?;
        let connection = &mut self.connections[index];
        let mut port = connection.port.borrow_mut();
        startup::let_in(&mut port.outgoing);
        let settings = request.take_settings()?;
        let mut sql = self.shared.instance.connect(ConnectRequest {
            user: request.user,
            database: request.database,
            settings,
            peer: port.stream().peer(),
            local: port.stream().local(),
            encryption: port.stream().encryption().and_then(|encryption| encryption.agreed()),
        })?;
        let parameters = sql.reported_parameters();
        startup::welcome(&parameters, sql.pid(), sql.secret(), &mut port.outgoing);
        port.outgoing.ready_for_query(b'I');
        let conversation = Box::new(Conversation::new(sql));
        connection.interrupt = Some(Arc::clone(conversation.interrupt()));
        Ok(State::Idle(conversation))
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
            let token = self.token_of(index);
            let connection = &mut self.connections[index];
            if let State::Idle(conversation) = &mut connection.state
                && conversation.may_tell_more(&connection.port)
            {
                conversation.deliver_notifications(&connection.port);
                self.unsettled.push(index);
                continue;
            }
            let port = connection.port.borrow();
            let is_over = match connection.state {
                State::Running(_) => false,
                State::Closing if port.is_closed() => true,
                State::Closing if port.has_unsent() => false,
                State::Closing if port.outgoing.says_farewell() => {
                    let now = Instant::now();
                    let closes = *connection.closes.get_or_insert_with(|| {
                        self.timers.push(Reverse((now + FAREWELL_TIME, token)));
                        now + FAREWELL_TIME
                    });
                    closes <= now
                }
                State::Closing => true,
                State::Starting | State::Authenticating(_) | State::Idle(_) => port.is_closed(),
            };
            drop(port);
            if is_over {
                self.remove(index);
            }
        }
    }

    fn remove(&mut self, index: usize) {
        let connection = self.connections.remove(index);
        let mut port = connection.port.borrow_mut();
        // Nothing can be done about a socket that can't be deregistered; it is closed all the same.
        let _ = self.poll.registry().deregister(port.stream());
        drop(port);
        self.session_count.fetch_sub(1, Ordering::Relaxed);
        self.shared.connection_count.fetch_sub(1, Ordering::Relaxed);
    }

    fn fire_timers(&mut self) {
        if self.timers.is_empty() {
            return;
        }
        let now = Instant::now();
        while let Some(Reverse((at, token))) = self.timers.peek().copied() {
            if at > now {
                break;
            }
            self.timers.pop();
            let Some(index) = self.index_of(token) else { continue };
            let connection = &mut self.connections[index];
            match &mut connection.state {
                State::Running(_) => self.resume(token),
                State::Starting | State::Authenticating(_) if connection.opened + AUTHENTICATION_TIMEOUT <= now => {
                    connection.port.borrow_mut().close();
                    self.unsettled.push(index);
                }
                State::Idle(conversation) => {
                    if let Some(error) = conversation.sql.idle_timeout_passed(now) {
                        conversation.end(&connection.port, &error);
                        connection.state = State::Closing;
                        self.unsettled.push(index);
                    }
                }
                State::Closing => self.unsettled.push(index),
                State::Starting | State::Authenticating(_) => {}
            }
        }
    }

    /// Ends idle sessions at once and interrupts waits; running statements end first.
    fn begin_stop(&mut self) {
        self.is_stopping = true;
        for (index, connection) in &mut self.connections {
            self.unsettled.push(index);
            match &mut connection.state {
                State::Idle(conversation) => {
                    conversation.end(&connection.port, &shutting_down());
                    connection.state = State::Closing;
                }
                State::Running(_) => {
                    if let Some(interrupt) = &connection.interrupt {
                        interrupt.raise(InterruptKind::Terminate);
                    }
                }
                State::Starting | State::Authenticating(_) => connection.state = State::Closing,
                State::Closing => {}
            }
        }
    }
}

fn shutting_down() -> Error {
    Error::new(sqlstate::ADMIN_SHUTDOWN, "terminating connection due to administrator command").fatal()
}
