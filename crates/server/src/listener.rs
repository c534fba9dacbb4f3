//! The server: listeners, and workers that run the sessions.

use std::collections::BTreeSet;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::OnceLock;
use std::time::Duration;

use base::report::{Identity, Level};
use base::{Error, Lsn, Result, sqlstate};
use engine::too_few_descriptors;
use mio::net::{TcpListener, UnixListener};
use mio::{Events, Interest, Poll, Token};
use sql::Instance;
use sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sync::{Arc, Mutex};

use crate::connection_budget::ConnectionBudget;
use crate::outgoing::Outgoing;
use crate::stream::{Socket, Stream};
use crate::tls::CurrentCredentials;
use crate::unix_socket::{SocketOptions, UnixSocket};
use crate::worker::{self, Shared, StopMode, WorkerHandle, too_many};

/// Where and how a server listens.
#[derive(Clone)]
pub struct ServerOptions {
    /// Host names or addresses, separated by commas; `*` for all; empty for no TCP.
    pub host: String,
    /// TCP port, and the number in the Unix sockets' names; 0 picks a free one.
    pub port: u16,
    /// The Unix sockets.
    pub sockets: SocketOptions,
    /// Threads that run sessions; 0 for one per core.
    pub worker_count: usize,
    /// How many connections there are descriptors for, with a session or without ([`vfs::descriptors::ServerShare`]). None for
    /// what the database leaves.
    pub connections: Option<usize>,
    /// The most sessions at a time, if there are descriptors for so many.
    pub max_connections: usize,
    /// How many of them only superusers may have.
    pub superuser_reserved_connections: usize,
    /// Certificate, key and rules of encryption, if connections are encrypted.
    pub credentials: CurrentCredentials,
}

/// How many threads run sessions if so many are asked for; 0 asks for one per core.
pub fn worker_threads(worker_count: usize) -> usize {
    match worker_count {
        0 => std::thread::available_parallelism().map_or(2, usize::from),
        count => count,
    }
}

/// Time between two checks of a stopping server for stuck sessions.
const STUCK_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// If so many checks in a row find all sessions waiting, their waits are followed. A single check may find all of them waiting by
/// chance, as each goes on soon after.
const STUCK_CHECKS: usize = 20;

/// A running server.
pub struct Server {
    workers: Arc<Vec<WorkerHandle>>,
    shared: Arc<Shared>,
    /// Held by the one who waits for its end.
    acceptor: Mutex<Option<std::thread::JoinHandle<()>>>,
    stop_accepting: mio::Waker,
    /// The files of its Unix sockets. A leaf.
    sockets: Mutex<Vec<UnixSocket>>,
    port: u16,
}

const STOP: Token = Token(usize::MAX);

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Server {
    /// Listens, and serves `instance` until [`Server::stop`].
    ///
    /// # Errors
    /// When an address can't be listened on, with what to do about it.
    pub fn start(instance: Arc<Instance>, options: &ServerOptions) -> Result<Server> {
        let poll = Poll::new().map_err(|error| Error::io("could not create a poll", &error))?;
        let mut listeners = Vec::new();
        let mut port = options.port;
        for address in addresses(&options.host, port)? {
            let listener = listen_tcp(SocketAddr::new(address.ip(), port))?;
            if port == 0 {
                port = listener
                    .local_addr()
                    .map_err(|error| Error::io("could not read a socket's address", &error))?
                    .port();
            }
            listeners.push(Listener::Tcp(listener));
        }
        let mut sockets = Vec::new();
        for (socket, listener) in options.sockets.listen(port)? {
            sockets.push(socket);
            listeners.push(Listener::Unix(listener));
        }
        if listeners.is_empty() {
            return Err(Error::new(sqlstate::CONFIG_FILE_ERROR, "no address to listen on")
                .hint("Give --host, or --socket-dir, or both."));
        }
        let ServerOptions { max_connections, superuser_reserved_connections, .. } = *options;
        let connections = match options.connections {
            Some(connections) => connections,
            None => {
                let files = instance.database().file_share();
                files.connections_beside(worker_threads(options.worker_count)).map_err(too_few_descriptors)?
            }
        };
        let budget = ConnectionBudget::new(connections, max_connections, superuser_reserved_connections)?;
        if budget.sessions_max() < options.max_connections {
            log::warn!(
                "the system allows {} open files, which are enough for {} sessions; max_connections is {}",
                vfs::descriptors::limit(),
                budget.sessions_max(),
                options.max_connections
            );
        }
        let shared = Arc::new(Shared {
            instance,
            gated_count: AtomicUsize::new(0),
            peers: OnceLock::new(),
            moved_count: AtomicU64::new(0),
            budget,
            credentials: options.credentials.clone(),
        });
        let workers = (0..worker_threads(options.worker_count))
            .map(|number| worker::start(Arc::clone(&shared), number))
            .collect::<Result<_>>()?;
        let workers: Arc<Vec<WorkerHandle>> = Arc::new(workers);
        if workers.len() > 1 {
            shared.peers.get_or_init(|| workers.iter().map(WorkerHandle::peer).collect());
        }
        let stop_accepting =
            mio::Waker::new(poll.registry(), STOP).map_err(|error| Error::io("could not create a waker", &error))?;
        let acceptor = {
            let (workers, shared) = (Arc::clone(&workers), Arc::clone(&shared));
            std::thread::Builder::new()
                .name("acceptor".to_owned())
                .spawn(move || accept_all(poll, listeners, &workers, &shared))
                .map_err(|error| Error::io("could not start the acceptor thread", &error))?
        };
        let (acceptor, sockets) = (Mutex::new(Some(acceptor)), Mutex::new(sockets));
        Ok(Server { workers, shared, acceptor, stop_accepting, sockets, port })
    }

    /// The TCP port in use.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Removes the files of the Unix sockets: nobody connects over them any more.
    pub fn remove_sockets(&self) {
        self.sockets.lock().clear();
    }

    /// How often a session has gone from one worker to another.
    pub fn moved_sessions(&self) -> u64 {
        self.shared.moved_count.load(Ordering::Relaxed)
    }

    /// Begins to stop: new clients are refused with 57P03, and sessions end, those that wait for their client at once. May be
    /// called again with [`StopMode::AtOnce`]. Returns at once.
    pub fn begin_stop(&self, mode: StopMode) {
        self.shared.budget.close();
        for worker in self.workers.iter() {
            worker.begin_stop(mode);
        }
    }

    /// Waits for the end of all sessions, and ends the server. Sessions that would never end are interrupted. Needs a
    /// [`Server::begin_stop`].
    pub fn finish(&self) {
        self.wait_for_sessions();
        if let Err(error) = self.stop_accepting.wake() {
            log::error!("could not wake the acceptor: {error}");
        }
        if let Some(acceptor) = self.acceptor.lock().take()
            && acceptor.join().is_err()
        {
            log::error!("the acceptor thread panicked");
        }
        self.remove_sockets();
        for worker in self.workers.iter() {
            worker.join();
        }
    }

    /// Waits until all sessions have ended. Interrupts those that are left if none of them goes on by itself: they wait for prepared
    /// transactions, which nobody can finish any more, or in a circle.
    fn wait_for_sessions(&self) {
        let Shared { budget, instance, .. } = &*self.shared;
        let mut checks = 0;
        while !budget.wait_for_last_end(STUCK_CHECK_INTERVAL) {
            // A session that has ended and still sends keeps its place.
            let all_wait = instance.sessions_if_all_wait() == Some(budget.session_count());
            checks = if all_wait { checks + 1 } else { 0 };
            if checks < STUCK_CHECKS {
                continue;
            }
            checks = 0;
            if instance.no_session_goes_on() {
                log::info!("all remaining statements wait for what does not happen any more: they are interrupted");
                self.begin_stop(StopMode::AtOnce);
            }
        }
    }

    /// Stops, and returns when all sessions are gone.
    pub fn stop(&self, mode: StopMode) {
        self.begin_stop(mode);
        self.finish();
    }
}

/// How many addresses a server listens on that is given these host names or addresses, separated by commas.
///
/// # Errors
/// When a name can't be translated.
pub fn address_count(host: &str) -> Result<usize> {
    addresses(host, 0).map(|addresses| addresses.len())
}

fn addresses(host: &str, port: u16) -> Result<Vec<SocketAddr>> {
    let mut all = Vec::new();
    for name in host.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let name = if name == "*" { "0.0.0.0" } else { name };
        let resolved = (name, port)
            .to_socket_addrs()
            .map_err(|error| Error::io(format!("could not translate host name \"{name}\" to address"), &error))?;
        for address in resolved {
            if !all.contains(&address) {
                all.push(address);
            }
        }
    }
    Ok(all)
}

fn listen_tcp(address: SocketAddr) -> Result<TcpListener> {
    let what = || format!("could not listen on \"{}\", port {}", address.ip(), address.port());
    let attempt = || {
        let domain = socket2::Domain::for_address(address);
        let socket = socket2::Socket::new(domain, socket2::Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.bind(&address.into())?;
        socket.listen(4096)?;
        socket.set_nonblocking(true)?;
        Ok(TcpListener::from_std(socket.into()))
    };
    attempt().map_err(|error: std::io::Error| {
        let error_told = Error::io(what(), &error);
        if error.kind() == std::io::ErrorKind::AddrInUse {
            let port = address.port();
            error_told.hint(format!(
                "Is another server already running on port {port}? If not, wait a few seconds and retry."
            ))
        } else {
            error_told
        }
    })
}

fn accept_all(mut poll: Poll, mut listeners: Vec<Listener>, workers: &[WorkerHandle], shared: &Shared) {
    for (index, listener) in listeners.iter_mut().enumerate() {
        let registered = match listener {
            Listener::Tcp(listener) => poll.registry().register(listener, Token(index), Interest::READABLE),
            Listener::Unix(listener) => poll.registry().register(listener, Token(index), Interest::READABLE),
        };
        if let Err(error) = registered {
            log::error!("could not watch a listening socket: {error}");
        }
    }
    let mut events = Events::with_capacity(16);
    // Listeners on which more wait than could be accepted. No event tells of those again.
    let mut waiting: BTreeSet<usize> = BTreeSet::new();
    let mut is_reported = false;
    loop {
        let timeout = (!waiting.is_empty()).then_some(ACCEPT_AGAIN_TIME);
        if let Err(error) = poll.poll(&mut events, timeout)
            && error.kind() != std::io::ErrorKind::Interrupted
        {
            log::error!("poll failed: {error}");
        }
        for event in &events {
            if event.token() == STOP {
                return;
            }
            waiting.insert(event.token().0);
        }
        let mut failure = None;
        waiting.retain(|index| match accept_waiting(&listeners[*index], workers, shared) {
            Ok(()) => false,
            Err(error) => {
                failure = Some(error);
                true
            }
        });
        if let Some(error) = &failure
            && !is_reported
        {
            log::error!("could not accept a connection, and goes on trying: {error}");
        }
        is_reported = failure.is_some();
    }
}

/// How long to wait before accepting again what could not be accepted: some connections may have ended by then.
const ACCEPT_AGAIN_TIME: Duration = Duration::from_millis(50);

/// Accepts all that wait on one listener.
///
/// # Errors
/// Those of the system, which is out of descriptors or memory.
fn accept_waiting(listener: &Listener, workers: &[WorkerHandle], shared: &Shared) -> std::io::Result<()> {
    loop {
        let accepted = match listener {
            Listener::Tcp(listener) => listener.accept().map(|(stream, _)| {
                let socket = socket2::SockRef::from(&stream);
                // Without it a small reply may wait for the client's acknowledgement; it works without, only slower.
                let _ = socket.set_tcp_nodelay(true);
                // A machine that is switched off says no farewell. Where this can't be had, its connections stay.
                let _ = socket.set_keepalive(true);
                Socket::Tcp(stream)
            }),
            Listener::Unix(listener) => listener.accept().map(|(stream, _)| Socket::Unix(stream)),
        };
        match accepted {
            Ok(mut socket) if !shared.budget.enter() => refuse(&mut socket, &shared.instance),
            Ok(socket) => {
                let least = workers.iter().min_by_key(|worker| worker.load()).expect("a server has a worker");
                least.adopt(Stream::new(socket));
            }
            Err(error) => match error.kind() {
                std::io::ErrorKind::WouldBlock => return Ok(()),
                // The client has gone away before it was accepted.
                std::io::ErrorKind::Interrupted | std::io::ErrorKind::ConnectionAborted => {}
                _ => return Err(error),
            },
        }
    }
}

/// Tells a client that there is no descriptor for it, without waiting for what it has to say.
fn refuse(socket: &mut Socket, instance: &Instance) {
    let (error, mut outgoing) = (too_many(), Outgoing::default());
    let identity = Identity::new(instance.next_pid(), instance.clock(), None);
    instance.report_of_connection(Level::Fatal, &error, &identity, None, "");
    outgoing.error_or_notice(b'E', "FATAL", &error);
    // A socket that has just been opened has room for it; a client that has gone away needs no answer.
    let _ = std::io::Write::write(socket, outgoing.sendable(Lsn::ZERO));
}
