//! A raw connection: messages of any bytes go in, and all that comes back is shown message by message.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a server may take for what it has to say, unless it is given less.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// The first identifier of what is made after a database: those above differ from server to server.
const FIRST_NORMAL_OID: u32 = 16384;

/// A message of the client, legal or not.
#[derive(Clone, PartialEq, Eq)]
pub struct Sent {
    /// Its first byte.
    pub kind: u8,
    /// The bytes behind the length.
    pub body: Vec<u8>,
    /// The length it gives, where that is not the right one.
    pub length: Option<u32>,
}

impl Sent {
    /// A message whose length is right.
    pub fn new(kind: u8, body: impl Into<Vec<u8>>) -> Sent {
        Sent { kind, body: body.into(), length: None }
    }

    /// A simple query.
    pub fn query(text: &str) -> Sent {
        Sent::new(b'Q', [text.as_bytes(), &[0]].concat())
    }

    /// Parse.
    pub fn parse(name: &str, text: &str, types: &[u32]) -> Sent {
        let mut body = [name.as_bytes(), &[0], text.as_bytes(), &[0]].concat();
        body.extend_from_slice(&(types.len() as u16).to_be_bytes());
        types.iter().for_each(|oid| body.extend_from_slice(&oid.to_be_bytes()));
        Sent::new(b'P', body)
    }

    /// Bind.
    pub fn bind(portal: &str, statement: &str, formats: &[u16], values: &[Option<&[u8]>], results: &[u16]) -> Sent {
        let mut body = [portal.as_bytes(), &[0], statement.as_bytes(), &[0]].concat();
        let codes = |body: &mut Vec<u8>, codes: &[u16]| {
            body.extend_from_slice(&(codes.len() as u16).to_be_bytes());
            codes.iter().for_each(|code| body.extend_from_slice(&code.to_be_bytes()));
        };
        codes(&mut body, formats);
        body.extend_from_slice(&(values.len() as u16).to_be_bytes());
        for value in values {
            match value {
                None => body.extend_from_slice(&(-1i32).to_be_bytes()),
                Some(bytes) => {
                    body.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
                    body.extend_from_slice(bytes);
                }
            }
        }
        codes(&mut body, results);
        Sent::new(b'B', body)
    }

    /// Execute.
    pub fn execute(portal: &str, max_rows: i32) -> Sent {
        Sent::new(b'E', [portal.as_bytes(), &[0], &max_rows.to_be_bytes()].concat())
    }

    /// Describe (`kind` D) or Close (`kind` C) of a statement (`what` S) or a portal (`what` P).
    pub fn named(kind: u8, what: u8, name: &str) -> Sent {
        Sent::new(kind, [&[what], name.as_bytes(), &[0]].concat())
    }

    /// The bytes that go over the wire.
    pub fn bytes(&self) -> Vec<u8> {
        let length = self.length.unwrap_or(self.body.len() as u32 + 4);
        [&[self.kind], &length.to_be_bytes()[..], &self.body].concat()
    }
}

impl std::fmt::Debug for Sent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} \"{}\"", self.kind.escape_ascii(), self.body.escape_ascii())?;
        self.length.map_or(Ok(()), |length| write!(f, " with length {length}"))
    }
}

/// One connection.
pub struct Talk {
    stream: UnixStream,
    received: Vec<u8>,
    /// The server's process, as it says.
    pub pid: u32,
    /// The server has closed the connection.
    pub is_closed: bool,
    /// The system call in which the process behind the connection waits for more, as far as that is known.
    rests_in: Option<String>,
    /// How long the server may take for what it has to say.
    pub patience: Duration,
}

impl Talk {
    /// A connection on which nothing has been said.
    pub fn open(socket: &Path) -> Talk {
        let stream = UnixStream::connect(socket).unwrap();
        Talk { stream, received: Vec::new(), pid: 0, is_closed: false, rests_in: None, patience: ANSWER_LIMIT }
    }

    /// A session of `postgres`, ready for messages.
    pub fn start(socket: &Path) -> Talk {
        let mut talk = Talk::open(socket);
        talk.send(&start_packet(&[("user", "postgres"), ("database", "postgres")]));
        let welcome = talk.hear_until_ready();
        assert!(welcome.last().is_some_and(|last| last == "Z I"), "{welcome:?}");
        talk
    }

    /// The socket, for tests that read and write it themselves.
    pub fn into_stream(self) -> UnixStream {
        self.stream.set_nonblocking(false).unwrap();
        self.stream.set_read_timeout(Some(ANSWER_LIMIT)).unwrap();
        self.stream
    }

    /// Sends bytes; a server that has closed the connection may not take them.
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.set_nonblocking(false).unwrap();
        if let Err(error) = self.stream.write_all(bytes) {
            assert!(matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{error}");
        }
    }

    /// Says that nothing more will be sent.
    pub fn end_sending(&mut self) {
        // The server may have closed the connection.
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
    }

    /// The messages that have arrived. Does not wait.
    pub fn hear(&mut self) -> Vec<String> {
        self.stream.set_nonblocking(true).unwrap();
        while self.read_once() {}
        self.take_messages()
    }

    /// The messages up to ReadyForQuery or the connection's end.
    pub fn hear_until_ready(&mut self) -> Vec<String> {
        self.hear_until(|heard| heard.last().is_some_and(|last| last.starts_with("Z ")))
    }

    /// The messages up to the connection's end.
    pub fn hear_to_the_end(&mut self) -> Vec<String> {
        self.hear_until(|_| false)
    }

    /// The messages that arrive until `is_enough`, the connection's end or a time limit.
    pub fn hear_until(&mut self, is_enough: impl Fn(&[String]) -> bool) -> Vec<String> {
        let mut heard = self.take_messages();
        let deadline = Instant::now() + self.patience;
        self.stream.set_nonblocking(false).unwrap();
        while !self.is_closed && !is_enough(&heard) {
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                heard.push("nothing more within the time limit".to_owned());
                break;
            }
            self.stream.set_read_timeout(Some(rest)).unwrap();
            self.read_once();
            heard.extend(self.take_messages());
        }
        heard
    }

    /// Notes what the process behind the connection waits in, when it has answered everything.
    pub fn note_how_it_rests(&mut self) {
        let deadline = Instant::now() + ANSWER_LIMIT;
        while process_state(self.pid) != Some(b'S') {
            assert!(Instant::now() < deadline, "the reference does not come to rest");
            std::thread::yield_now();
        }
        self.rests_in = system_call(self.pid);
    }

    /// The messages that the process behind the connection sends until it sleeps because it waits for more. Only for a
    /// server that has a process for each session: such a process is runnable as soon as something is sent to it.
    pub fn hear_until_asleep(&mut self) -> Vec<String> {
        let mut heard = Vec::new();
        let mut looks_asleep = 0;
        let deadline = Instant::now() + ANSWER_LIMIT;
        while looks_asleep < 2 && !self.is_closed {
            assert!(Instant::now() < deadline, "the reference does not come to rest");
            let is_asleep = match process_state(self.pid) {
                // It may also sleep on a lock or until something is written.
                Some(state) => state == b'S' && self.rests_in == system_call(self.pid),
                None => {
                    heard.extend(self.hear_to_the_end());
                    break;
                }
            };
            let new = self.hear();
            looks_asleep = if is_asleep && new.is_empty() { looks_asleep + 1 } else { 0 };
            heard.extend(new);
            if !is_asleep {
                std::thread::yield_now();
            }
        }
        heard
    }

    /// Reads once; whether that gave anything.
    fn read_once(&mut self) -> bool {
        let mut part = [0; 16 * 1024];
        match self.stream.read(&mut part) {
            Ok(0) => self.is_closed = true,
            Ok(length) => {
                self.received.extend_from_slice(&part[..length]);
                return true;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => return true,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => self.is_closed = true,
            Err(error) => panic!("{error}"),
        }
        false
    }

    fn take_messages(&mut self) -> Vec<String> {
        let mut heard = Vec::new();
        let mut at = 0;
        while let [kind, a, b, c, d, ref rest @ ..] = self.received[at..] {
            let length = u32::from_be_bytes([a, b, c, d]) as usize;
            // Old protocols' errors and the answers to requests for encryption have no length.
            if !(4..1 << 24).contains(&length) || rest.len() < length - 4 {
                break;
            }
            let body = &rest[..length - 4];
            if kind == b'K' {
                self.pid = u32::from_be_bytes([body[0], body[1], body[2], body[3]]);
            }
            heard.push(shown(kind, body));
            at += length + 1;
        }
        self.received.drain(..at);
        if self.is_closed && !self.received.is_empty() {
            heard.push(format!("bytes {}", self.received.escape_ascii()));
            self.received.clear();
        }
        heard
    }

    /// Takes one byte: the answer to a request for encryption. Nothing if the connection is closed.
    pub fn hear_byte(&mut self) -> Option<u8> {
        self.stream.set_nonblocking(false).unwrap();
        self.stream.set_read_timeout(Some(ANSWER_LIMIT)).unwrap();
        while self.received.is_empty() && self.read_once() {}
        (!self.received.is_empty()).then(|| self.received.remove(0))
    }
}

/// A start-up packet of protocol 3.0.
pub fn start_packet(parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in parameters {
        body.extend_from_slice(&[name.as_bytes(), &[0], value.as_bytes(), &[0]].concat());
    }
    body.push(0);
    packet(196_608, &body)
}

/// A packet as it comes before a session: a length, a code and what follows.
pub fn packet(code: u32, body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32 + 8).to_be_bytes()[..], &code.to_be_bytes(), body].concat()
}

/// The state of a process as the kernel reports it: R for running, S for asleep.
fn process_state(pid: u32) -> Option<u8> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = line.rsplit_once(") ")?;
    rest.bytes().next().filter(|state| *state != b'Z')
}

/// The system call that a process waits in, with its first argument. `None` where the system does not tell.
fn system_call(pid: u32) -> Option<String> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/syscall")).ok()?;
    let mut words = line.split(' ');
    Some(format!("{} {}", words.next()?, words.next()?))
}

/// A message of the server as text, without what differs from server to server.
fn shown(kind: u8, body: &[u8]) -> String {
    let text = match kind {
        b'E' | b'N' => report(body),
        b'K' => String::new(),
        b'T' => columns(body),
        b'S' if body.starts_with(b"server_version\0") => "server_version".to_owned(),
        // The notifier's process.
        b'A' => body[4..].escape_ascii().to_string(),
        _ => body.escape_ascii().to_string(),
    };
    format!("{} {text}", kind.escape_ascii())
}

/// The fields of an error or a notice that do not tell where in the server's source it arose.
fn report(body: &[u8]) -> String {
    let mut seen = String::new();
    for field in body.split(|byte| *byte == 0).filter(|field| !field.is_empty()) {
        // The schema of temporary tables has a number of its own in each session. Contexts are compared elsewhere.
        if !matches!(field[0], b'F' | b'L' | b'R' | b'W') && !field.starts_with(b"spg_temp_") {
            write!(seen, "{}={} ", field[0].escape_ascii(), String::from_utf8_lossy(&field[1..])).unwrap();
        }
    }
    seen
}

fn columns(body: &[u8]) -> String {
    let mut seen = String::new();
    let mut rest = &body[2..];
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        let (name, fields) = (rest[..end].escape_ascii(), &rest[end + 1..]);
        let [t0, t1, t2, t3, n0, n1, o0, o1, o2, o3, ref tail @ ..] = fields[..18] else { unreachable!() };
        let (table, oid) = (u32::from_be_bytes([t0, t1, t2, t3]), u32::from_be_bytes([o0, o1, o2, o3]));
        let oid = if oid < FIRST_NORMAL_OID { oid.to_string() } else { "user's".to_owned() };
        let place = if table == 0 { "no table".to_owned() } else { format!("column {}", u16::from_be_bytes([n0, n1])) };
        write!(seen, "[{name} type {oid} of {place}, {}]", tail.escape_ascii()).unwrap();
        rest = &fields[18..];
    }
    seen
}
