//! The bytes that a real driver sends to a server. A proxy between the two records them. They are sent again with a
//! fault at a chosen byte.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, Socket, Type};

/// How long a server may take to answer, or to close a connection that has ended.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(20);

/// Bytes that a client sends without waiting for the server in between.
#[derive(Clone)]
pub struct Burst {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// How many messages the server had sent before.
    pub after_messages: usize,
}

/// One connection of a driver.
#[derive(Clone)]
pub struct Recording {
    /// The driver's name.
    pub name: String,
    /// The bytes that it sends.
    pub bursts: Vec<Burst>,
    /// How many messages the server sends in all.
    pub messages: usize,
    /// Their kinds.
    pub kinds: String,
}

impl Recording {
    /// A conversation that is written down rather than recorded. The server sends `messages` messages in all.
    pub fn made(name: &str, bursts: Vec<Burst>, messages: usize) -> Recording {
        Recording { name: name.to_owned(), bursts, messages, kinds: String::new() }
    }

    /// How many bytes the client sends.
    pub fn length_bytes(&self) -> usize {
        self.bursts.iter().map(|burst| burst.bytes.len()).sum()
    }

    /// The offsets at which a message ends, or a burst.
    pub fn edges(&self) -> Vec<usize> {
        let (mut edges, mut start) = (vec![0], 0);
        for burst in &self.bursts {
            // The start-up packet and the requests before it have no kind.
            let mut at = 0;
            while burst.bytes.len() >= at + 5 {
                let kind_bytes = usize::from(burst.bytes[at] != 0);
                let length = &burst.bytes[at + kind_bytes..at + kind_bytes + 4];
                at += u32::from_be_bytes(length.try_into().unwrap()) as usize + kind_bytes;
                if at <= burst.bytes.len() {
                    edges.push(start + at);
                }
            }
            start += burst.bytes.len();
            edges.push(start);
        }
        edges.dedup();
        edges
    }
}

/// A fault of a connection at the chosen byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is closed, right behind the bytes.
    Close,
    /// The client says that it sends no more, right behind the bytes, and reads on.
    HalfClose,
    /// It is reset.
    Reset,
    /// There is a pause within the bytes; then all goes on.
    Split,
    /// The rest is sent at once, and its end with it; the client reads on.
    Merge,
    /// The client reads no more, sends the rest at once, and closes after a pause.
    Deaf,
    /// Nothing more is sent or read for a while; then the connection is closed.
    Stall,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 7] =
        [Fault::Close, Fault::HalfClose, Fault::Reset, Fault::Split, Fault::Merge, Fault::Deaf, Fault::Stall];
}

/// Where a server is reached.
#[derive(Clone)]
pub struct Target(SockAddr, Domain);

impl Target {
    /// At a port of this machine.
    pub fn tcp(port: u16) -> Target {
        Target(SocketAddr::from(([127, 0, 0, 1], port)).into(), Domain::IPV4)
    }

    /// At a Unix socket.
    pub fn unix(path: &Path) -> Target {
        Target(SockAddr::unix(path).unwrap(), Domain::UNIX)
    }

    /// A connection.
    pub fn connect(&self) -> Socket {
        let socket = Socket::new(self.1, Type::STREAM, None).unwrap();
        socket.connect(&self.0).unwrap();
        socket
    }
}

/// Counts the messages in what a server sends. Those that it may send at any time don't count.
#[derive(Default)]
struct MessageCounter {
    pending: Vec<u8>,
    /// The client's first bytes, which may ask for encryption.
    sent: Vec<u8>,
    /// The next byte answers a request for encryption.
    awaits_encryption: bool,
    count: usize,
    /// The kinds of all of them.
    kinds: String,
}

impl MessageCounter {
    fn note_sent(&mut self, bytes: &[u8]) {
        let missing = 8usize.saturating_sub(self.sent.len());
        if missing > 0 {
            self.sent.extend(bytes.iter().take(missing));
            self.awaits_encryption = self.sent.len() == 8 && self.sent[..6] == [0, 0, 0, 8, 0x04, 0xd2];
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        loop {
            if self.awaits_encryption && !self.pending.is_empty() {
                self.awaits_encryption = false;
                self.pending.remove(0);
                self.count += 1;
            }
            let [kind, a, b, c, d, ..] = self.pending[..] else { return };
            let length = u32::from_be_bytes([a, b, c, d]) as usize + 1;
            if self.pending.len() < length {
                return;
            }
            self.pending.drain(..length);
            self.kinds.push(kind.into());
            self.count += usize::from(!matches!(kind, b'A' | b'N' | b'S'));
        }
    }
}

/// A proxy that records each connection that goes through it.
pub struct Recorder {
    port: u16,
    recorded: Arc<Mutex<Vec<Recording>>>,
    open: Arc<AtomicUsize>,
}

impl Recorder {
    /// Passes on to a server on this machine.
    pub fn start(name: &str, server_port: u16) -> Recorder {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let recorder =
            Recorder { port: listener.local_addr().unwrap().port(), recorded: Arc::default(), open: Arc::default() };
        let (recorded, open, name) = (Arc::clone(&recorder.recorded), Arc::clone(&recorder.open), name.to_owned());
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                let server = TcpStream::connect(("127.0.0.1", server_port)).unwrap();
                open.fetch_add(1, Ordering::SeqCst);
                let (recorded, open, name) = (Arc::clone(&recorded), Arc::clone(&open), name.clone());
                std::thread::spawn(move || {
                    let recording = record(name, client, server);
                    recorded.lock().unwrap().push(recording);
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        recorder
    }

    /// Where the driver connects to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The recordings, once the driver is done.
    pub fn finish(self) -> Vec<Recording> {
        let started = Instant::now();
        while self.open.load(Ordering::SeqCst) > 0 {
            assert!(started.elapsed() < ANSWER_LIMIT, "a recorded connection does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::mem::take(&mut self.recorded.lock().unwrap())
    }
}

fn record(name: String, mut client: TcpStream, mut server: TcpStream) -> Recording {
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let counter = Arc::new(Mutex::new(MessageCounter::default()));
    let answers = {
        let (mut client, mut server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let counter = Arc::clone(&counter);
        std::thread::spawn(move || {
            let mut buffer = [0; 64 * 1024];
            while let Ok(count @ 1..) = server.read(&mut buffer) {
                // Counted before the client can react to it.
                counter.lock().unwrap().take(&buffer[..count]);
                if client.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            let _ = client.shutdown(Shutdown::Write);
        })
    };
    let mut bursts: Vec<Burst> = Vec::new();
    let mut buffer = [0; 64 * 1024];
    while let Ok(count @ 1..) = client.read(&mut buffer) {
        let after_messages = {
            let mut counter = counter.lock().unwrap();
            counter.note_sent(&buffer[..count]);
            counter.count
        };
        match bursts.last_mut() {
            Some(last) if last.after_messages == after_messages => last.bytes.extend_from_slice(&buffer[..count]),
            _ => bursts.push(Burst { bytes: buffer[..count].to_vec(), after_messages }),
        }
        if server.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Write);
    answers.join().unwrap();
    let (messages, kinds) = {
        let counter = counter.lock().unwrap();
        (counter.count, counter.kinds.clone())
    };
    Recording { name, bursts, messages, kinds }
}

/// A client that says what was recorded.
struct Player<'r> {
    recording: &'r Recording,
    socket: Socket,
    counter: MessageCounter,
    is_ended: bool,
}

/// Says what was recorded up to `offset`, where `fault` happens. Returns once the connection has ended.
///
/// # Panics
/// If the server does not answer, or does not end a connection that has ended.
pub fn replay(recording: &Recording, target: &Target, offset: usize, fault: Fault) {
    let socket = target.connect();
    socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut player = Player { recording, socket, counter: MessageCounter::default(), is_ended: false };
    let mut start = 0;
    for burst in &recording.bursts {
        let end = start + burst.bytes.len();
        player.await_messages(burst.after_messages, offset);
        if offset >= end {
            player.send(&burst.bytes);
            start = end;
            continue;
        }
        let (before, behind) = burst.bytes.split_at(offset - start);
        player.send(before);
        if fault == Fault::Split {
            std::thread::sleep(Duration::from_millis(2));
            player.send(behind);
            player.go_on(end);
            return;
        }
        break;
    }
    player.fail(fault, offset);
}

impl Player<'_> {
    fn what(&self, offset: usize) -> String {
        format!("{} at byte {offset} of {}", self.recording.name, self.recording.length_bytes())
    }

    fn send(&mut self, bytes: &[u8]) {
        self.counter.note_sent(bytes);
        // The server may have ended the session; the answer says why.
        let _ = (&self.socket).write_all(bytes);
    }

    /// Reads what there is, or waits a moment for it.
    fn read(&mut self) {
        let mut buffer = [0; 16 * 1024];
        match (&self.socket).read(&mut buffer) {
            Ok(0) => self.is_ended = true,
            Ok(count) => self.counter.take(&buffer[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.is_ended = true,
        }
    }

    fn await_messages(&mut self, count: usize, offset: usize) {
        let started = Instant::now();
        while self.counter.count < count && !self.is_ended {
            let what = self.what(offset);
            let (came, kinds, recorded) = (self.counter.count, &self.counter.kinds, &self.recording.kinds);
            assert!(
                started.elapsed() < ANSWER_LIMIT,
                "{what}: {came} of {count} messages came: {kinds}; recorded: {recorded}"
            );
            self.read();
        }
    }

    fn await_end(&mut self, offset: usize, fault: Fault) {
        let started = Instant::now();
        while !self.is_ended {
            assert!(
                started.elapsed() < ANSWER_LIMIT,
                "{}: the server keeps the connection after {fault:?}",
                self.what(offset)
            );
            self.read();
        }
    }

    /// Says the rest, from `start` on, as it was recorded, to the end.
    fn go_on(&mut self, start: usize) {
        let mut at = 0;
        for burst in &self.recording.bursts {
            if at >= start {
                self.await_messages(burst.after_messages, at);
                self.send(&burst.bytes);
            }
            at += burst.bytes.len();
        }
        self.await_messages(self.recording.messages, at);
        assert_eq!(self.counter.count, self.recording.messages, "{}: not all was answered", self.what(start));
    }

    fn rest(&self, offset: usize) -> Vec<u8> {
        let all: Vec<u8> = self.recording.bursts.iter().flat_map(|burst| burst.bytes.iter().copied()).collect();
        all[offset..].to_vec()
    }

    fn fail(mut self, fault: Fault, offset: usize) {
        match fault {
            // Bytes that have arrived and are unread would turn the close into a reset.
            Fault::Close => {
                self.socket.set_nonblocking(true).unwrap();
                self.read();
            }
            Fault::HalfClose => {
                let _ = self.socket.shutdown(Shutdown::Write);
                self.await_end(offset, fault);
            }
            Fault::Reset => self.socket.set_linger(Some(Duration::ZERO)).unwrap(),
            Fault::Split => {}
            Fault::Merge => {
                let rest = self.rest(offset);
                self.send(&rest);
                let _ = self.socket.shutdown(Shutdown::Write);
                self.await_end(offset, fault);
            }
            Fault::Deaf => {
                let rest = self.rest(offset);
                self.send(&rest);
                std::thread::sleep(Duration::from_millis(3));
            }
            Fault::Stall => std::thread::sleep(Duration::from_millis(30)),
        }
    }
}
