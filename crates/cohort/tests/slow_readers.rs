//! Clients that read slowly while their session ends or the server stops get all of their answer, over each kind of connection.
// invariants: row 40

mod common;

use std::cell::Cell;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::Server;
use common::conversation::{Sent, packet, start_packet};

/// A connection over which a session has begun.
trait Connection: Read + Write {}
impl<C: Read + Write> Connection for C {}

/// Reads from a socket at a pace that can be changed.
struct Paced<S> {
    socket: S,
    /// The bytes that are read at a time, and the pause after them.
    pace: Rc<Cell<(usize, Duration)>>,
}

impl<S: Read> Read for Paced<S> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let (bytes, pause) = self.pace.get();
        std::thread::sleep(pause);
        let most = buffer.len().min(bytes);
        self.socket.read(&mut buffer[..most])
    }
}

impl<S: Write> Write for Paced<S> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.socket.flush()
    }
}

/// Two kilobytes, four times a second.
const SLOWLY: (usize, Duration) = (2048, Duration::from_millis(250));
const FAST: (usize, Duration) = (1 << 20, Duration::ZERO);

/// A client that reads at its own pace, and all that it has read.
struct Client {
    connection: Box<dyn Connection>,
    pace: Rc<Cell<(usize, Duration)>>,
    read: Vec<u8>,
}

impl Client {
    fn begin(connection: impl Connection + 'static, pace: Rc<Cell<(usize, Duration)>>) -> Client {
        let mut client = Client { connection: Box::new(connection), pace, read: Vec::new() };
        client.send(&start_packet(&[("user", "postgres"), ("database", "postgres")]));
        while !client.read.ends_with(b"Z\0\0\0\x05I") {
            assert!(client.read_once());
        }
        client.read.clear();
        client
    }

    fn unix(server: &Server) -> Client {
        let pace = Rc::new(Cell::new(FAST));
        let socket = UnixStream::connect(server.socket()).unwrap();
        Client::begin(Paced { socket, pace: pace.clone() }, pace)
    }

    fn tcp_socket(server: &Server) -> TcpStream {
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], server.port()));
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        // The system keeps little for a client that does not read.
        socket.set_recv_buffer_size(16 << 10).unwrap();
        socket.connect(&address.into()).unwrap();
        socket.into()
    }

    fn tcp(server: &Server) -> Client {
        let pace = Rc::new(Cell::new(FAST));
        Client::begin(Paced { socket: Client::tcp_socket(server), pace: pace.clone() }, pace)
    }

    fn tls(server: &Server, certificate: rustls::pki_types::CertificateDer<'static>) -> Client {
        let pace = Rc::new(Cell::new(FAST));
        let mut socket = Client::tcp_socket(server);
        socket.write_all(&packet(80_877_103, b"")).unwrap();
        let mut answer = [0];
        socket.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"S");
        let mut roots = rustls::RootCertStore::empty();
        roots.add(certificate).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
        let connection = rustls::ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
        let stream = rustls::StreamOwned::new(connection, Paced { socket, pace: pace.clone() });
        Client::begin(stream, pace)
    }

    fn send(&mut self, bytes: &[u8]) {
        self.connection.write_all(bytes).unwrap();
        self.connection.flush().unwrap();
    }

    /// Reads once; false at the end.
    fn read_once(&mut self) -> bool {
        let mut buffer = vec![0; 1 << 20];
        match self.connection.read(&mut buffer) {
            Ok(0) => false,
            Ok(count) => {
                self.read.extend_from_slice(&buffer[..count]);
                true
            }
            // The end may come without TLS's close_notify.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => false,
            Err(error) => panic!("{error}"),
        }
    }

    fn read_slowly_for(&mut self, time: Duration) {
        self.pace.set(SLOWLY);
        let begun = Instant::now();
        while begun.elapsed() < time {
            assert!(self.read_once(), "the connection has ended");
        }
    }

    /// The kinds of all messages, when the rest has been read.
    fn kinds(mut self) -> String {
        self.pace.set(FAST);
        while self.read_once() {}
        let (mut rest, mut kinds) = (&self.read[..], String::new());
        while let Some((kind, after)) = rest.split_first() {
            let length = after.first_chunk().map_or(usize::MAX, |length| u32::from_be_bytes(*length) as usize);
            assert!(length <= after.len(), "it ends within a message, after {} of them", kinds.len());
            kinds.push(char::from(*kind));
            rest = &after[length..];
        }
        kinds
    }
}

/// The kinds of an answer of so many rows.
fn answer(rows: usize) -> String {
    format!("T{}CZ", "D".repeat(rows))
}

fn rows(count: usize) -> String {
    format!("select repeat('x', 1000) from generate_series(1, {count})")
}

/// The session ends 11 seconds after the socket last had room.
#[test]
fn a_session_that_ends_has_its_client_read_on() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = Client::unix(&server);
    client.send(&Sent::query(&format!("{}; select pg_sleep(11)", rows(350))).bytes());
    client.send(&Sent::new(b'X', b"").bytes());
    client.read_slowly_for(Duration::from_secs(13));
    assert_eq!(client.kinds(), answer(350).replace('Z', "TDCZ"));
}

/// A statement that runs longer than a client may take nothing while the server stops.
#[test]
fn a_statement_that_ends_while_the_server_stops_has_its_client_read_on() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = Client::unix(&server);
    client.send(&Sent::query(&format!("{}; select pg_sleep(8)", rows(350))).bytes());
    client.read_slowly_for(Duration::from_secs(1));
    server.signal("TERM");
    client.read_slowly_for(Duration::from_secs(8));
    assert_eq!(client.kinds(), answer(350).replace('Z', "TDCZE"));
    server.wait_within(Duration::from_secs(30));
}

/// The time of a client's pause before the signal does not count.
fn pause_before_the_stop(connect: fn(&Server) -> Client) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = connect(&server);
    client.send(&Sent::query(&rows(20_000)).bytes());
    std::thread::sleep(Duration::from_secs(7));
    server.signal("TERM");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(client.kinds(), answer(20_000).replace('Z', "ZE"));
    server.wait_within(Duration::from_secs(30));
}

#[test]
fn a_client_that_paused_before_the_stop_may_read_on() {
    pause_before_the_stop(Client::unix);
}

#[test]
fn a_client_that_paused_before_the_stop_may_read_on_over_tcp() {
    pause_before_the_stop(Client::tcp);
}

/// So slowly that the encrypted bytes of one write take longer than a client may take nothing.
#[test]
fn a_client_that_reads_slowly_over_tls_may_read_on_while_the_server_stops() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = folder.path().join("key");
    write_secret(&key, &made.signing_key.serialize_pem());
    let certificate = folder.path().join("certificate");
    write_secret(&certificate, &made.cert.pem());
    let files = [format!("ssl_cert_file={}", certificate.display()), format!("ssl_key_file={}", key.display())];
    let server = Server::start(folder.path(), &["ssl=on", &files[0], &files[1]]);
    let mut client = Client::tls(&server, made.cert.der().clone());
    client.send(&Sent::query(&rows(12_000)).bytes());
    client.read_slowly_for(Duration::from_secs(1));
    server.signal("TERM");
    client.read_slowly_for(Duration::from_secs(12));
    assert_eq!(client.kinds(), answer(12_000).replace('Z', "ZE"));
    server.wait_within(Duration::from_secs(30));
}

fn write_secret(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}
