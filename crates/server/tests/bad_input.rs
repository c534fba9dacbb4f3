//! Input that no driver would send: each case gets PostgreSQL's error, and no other session notices.

mod support;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use support::TestServer;
use vfs::RealVfs;

/// A message's kind and body.
type Message = (u8, Vec<u8>);

struct RawClient {
    stream: UnixStream,
}

fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn startup_packet() -> Vec<u8> {
    let body = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
    let mut bytes = (body.len() as u32 + 4).to_be_bytes().to_vec();
    bytes.extend_from_slice(body);
    bytes
}

impl RawClient {
    fn new(server: &TestServer) -> RawClient {
        let stream = UnixStream::connect(server.socket()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        RawClient { stream }
    }

    /// Past its start-up.
    fn started(server: &TestServer) -> RawClient {
        let mut client = RawClient::new(server);
        client.send(&startup_packet());
        client.until_ready();
        client
    }

    fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// The next message; `None` when the server has closed the connection.
    fn receive(&mut self) -> Option<Message> {
        let mut head = [0; 5];
        match self.stream.read(&mut head[..1]) {
            Ok(1) => self.stream.read_exact(&mut head[1..]).unwrap(),
            Ok(_) => return None,
            Err(error) => panic!("no answer: {error}"),
        }
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4;
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        Some((head[0], body))
    }

    fn until_ready(&mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        loop {
            let message = self.receive().expect("the connection stays");
            let is_ready = message.0 == b'Z';
            messages.push(message);
            if is_ready {
                return messages;
            }
        }
    }

    /// Severity, SQLSTATE and text of the one error before the server is ready again.
    fn error(&mut self) -> [String; 3] {
        let messages = self.until_ready();
        let mut errors = messages.iter().filter(|message| message.0 == b'E');
        let error = errors.next().unwrap_or_else(|| panic!("no error in {messages:?}"));
        assert!(errors.next().is_none(), "{messages:?}");
        fields(error)
    }

    /// The same for an error that ends the connection.
    fn last_error(&mut self) -> [String; 3] {
        let message = self.receive().expect("an error before the end");
        assert_eq!(message.0, b'E', "{message:?}");
        assert_eq!(self.receive(), None);
        fields(&message)
    }

    /// Still as it should be.
    fn assert_works(&mut self) {
        self.send(&frame(b'Q', b"select 42\0"));
        let messages = self.until_ready();
        assert!(messages.iter().any(|(kind, body)| *kind == b'D' && body.ends_with(b"42")), "{messages:?}");
    }
}

fn fields(error: &Message) -> [String; 3] {
    let texts: Vec<&[u8]> = error.1.split(|byte| *byte == 0).collect();
    let of = |code: u8| {
        let field = texts.iter().find(|text| text.first() == Some(&code)).expect("every error has it");
        String::from_utf8(field[1..].to_vec()).unwrap()
    };
    [of(b'S'), of(b'C'), of(b'M')]
}

fn server() -> TestServer {
    TestServer::start(Arc::new(RealVfs::new()), &[], 1)
}

fn expect(severity: &str, sqlstate: &str, message: &str) -> [String; 3] {
    [severity.to_owned(), sqlstate.to_owned(), message.to_owned()]
}

#[test]
fn a_stream_that_cannot_be_followed_is_ended_and_nobody_else_notices() {
    let server = server();
    let mut bystander = RawClient::started(&server);
    // As in PostgreSQL, nobody is told of a length that is impossible: the peer does not follow the protocol.
    for bytes in [b"Q\x7F\xFF\xFF\xFF", b"Q\xFF\xFF\xFF\xFF", b"Q\0\0\0\x03"] {
        let mut client = RawClient::started(&server);
        client.send(bytes);
        assert_eq!(client.receive(), None, "{bytes:?}");
        bystander.assert_works();
    }
    let mut client = RawClient::started(&server);
    client.send(b"y\0\0\0\x04");
    assert_eq!(client.last_error(), expect("FATAL", "08P01", "invalid frontend message type 121"));
    bystander.assert_works();
}

#[test]
fn who_is_told_why_its_session_ends_can_read_it_whatever_else_it_has_sent() {
    let server = server();
    let mut client = RawClient::started(&server);
    let mut messages = frame(b'Q', b"select pg_terminate_backend(pg_backend_pid())\0");
    let unread = frame(b'Q', format!("select '{}'\0", "x".repeat(1000)).as_bytes());
    messages.extend(unread.repeat(300));
    client.send(&messages);
    // It may be told in the middle of the answer.
    let told = std::iter::from_fn(|| client.receive()).find(|message| message.0 == b'E').map(|error| fields(&error));
    let message = "terminating connection due to administrator command";
    assert_eq!(told, Some(expect("FATAL", "57P01", message)));
    assert_eq!(client.receive(), None);
    RawClient::started(&server).assert_works();
}

#[test]
fn a_start_up_that_is_cut_short_or_nonsense_leaves_nothing_behind() {
    let server = server();
    let whole = startup_packet();
    for length in [0, 1, 4, 8, whole.len() - 1] {
        let mut client = RawClient::new(&server);
        client.send(&whole[..length]);
        drop(client);
    }
    let mut client = RawClient::new(&server);
    client.send(b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(client.receive(), None);
    let mut client = RawClient::new(&server);
    client.send(b"\0\0\0\x09\0\x02\0\0\0");
    // In the form that such old clients read: without lengths and fields.
    let mut said = Vec::new();
    client.stream.read_to_end(&mut said).unwrap();
    let said = String::from_utf8(said).unwrap();
    assert!(said.starts_with("EFATAL:  unsupported frontend protocol 2.0: server supports 3.0 to 3.0"), "{said:?}");
    let mut client = RawClient::new(&server);
    client.send(b"\0\0\0\x09\0\x03\0\0\0");
    let message = "no PostgreSQL user name specified in startup packet";
    assert_eq!(client.last_error(), expect("FATAL", "28000", message));
    // In two pieces it is as good as in one.
    let mut client = RawClient::new(&server);
    client.send(&whole[..7]);
    std::thread::sleep(Duration::from_millis(20));
    client.send(&whole[7..]);
    client.until_ready();
    client.assert_works();
}

#[test]
fn text_that_is_not_utf8_is_refused_and_the_session_goes_on() {
    let server = server();
    let mut client = RawClient::started(&server);
    client.send(&frame(b'Q', b"select '\xC3\x28'\0"));
    let message = "invalid byte sequence for encoding \"UTF8\": 0xc3";
    let error = client.error();
    assert_eq!(error[..2], expect("ERROR", "22021", "")[..2]);
    assert!(error[2].starts_with(message), "{error:?}");
    client.assert_works();

    client.send(&frame(b'P', b"\0select $1::text\0\0\0"));
    let bind = |parameter: &[u8]| {
        let mut body = b"\0\0\0\0\0\x01".to_vec();
        body.extend_from_slice(&(parameter.len() as u32).to_be_bytes());
        body.extend_from_slice(parameter);
        body.extend_from_slice(b"\0\0");
        frame(b'B', &body)
    };
    for parameter in [&b"\xFF"[..], b"a\xE2\x82", b"a\0b"] {
        client.send(&bind(parameter));
        client.send(&frame(b'E', b"\0\0\0\0\0"));
        client.send(&frame(b'S', b""));
        let error = client.error();
        assert_eq!(error[..2], expect("ERROR", "22021", "")[..2], "{parameter:?}: {error:?}");
    }
    client.send(&bind("ä€".as_bytes()));
    client.send(&frame(b'E', b"\0\0\0\0\0"));
    client.send(&frame(b'S', b""));
    let messages = client.until_ready();
    assert!(messages.iter().any(|(kind, body)| *kind == b'D' && body.ends_with("ä€".as_bytes())), "{messages:?}");
}

#[test]
fn extended_messages_about_what_does_not_exist_fail_until_sync() {
    let server = server();
    let mut client = RawClient::started(&server);
    let bind_no_parameters = |statement: &str| frame(b'B', format!("\0{statement}\0\0\0\0\0\0\0").as_bytes());

    client.send(&bind_no_parameters("nowhere"));
    client.send(&frame(b'E', b"\0\0\0\0\0"));
    // A query is passed over as well.
    client.send(&frame(b'Q', b"select nonsense\0"));
    client.send(&frame(b'S', b""));
    assert_eq!(client.error(), expect("ERROR", "26000", "prepared statement \"nowhere\" does not exist"));

    client.send(&bind_no_parameters(""));
    client.send(&frame(b'S', b""));
    assert_eq!(client.error(), expect("ERROR", "26000", "unnamed prepared statement does not exist"));

    client.send(&frame(b'E', b"nowhere\0\0\0\0\0"));
    client.send(&frame(b'S', b""));
    assert_eq!(client.error(), expect("ERROR", "34000", "portal \"nowhere\" does not exist"));

    client.send(&frame(b'D', b"Znowhere\0"));
    client.send(&frame(b'S', b""));
    assert_eq!(client.error(), expect("ERROR", "08P01", "invalid DESCRIBE message subtype 90"));
    client.assert_works();
}

#[test]
fn a_bind_must_bring_as_many_parameters_and_formats_as_it_says() {
    let server = server();
    let mut client = RawClient::started(&server);
    client.send(&frame(b'P', b"s\0select $1::int + $2::int\0\0\0"));
    client.send(&frame(b'B', b"\0s\0\0\0\0\x01\0\0\0\x011\0\0"));
    client.send(&frame(b'S', b""));
    let message = "bind message supplies 1 parameters, but prepared statement \"s\" requires 2";
    assert_eq!(client.error(), expect("ERROR", "08P01", message));

    // Three formats for two parameters.
    client.send(&frame(b'B', b"\0s\0\0\x03\0\0\0\0\0\0\0\x02\0\0\0\x011\0\0\0\x012\0\0"));
    client.send(&frame(b'S', b""));
    let error = client.error();
    assert_eq!(error, expect("ERROR", "08P01", "bind message has 3 parameter formats but 2 parameters"));

    // A parameter longer than its message.
    client.send(&frame(b'B', b"\0s\0\0\0\0\x02\0\0\xFF\xFF1"));
    client.send(&frame(b'S', b""));
    assert_eq!(client.error()[1], "08P01");

    client.send(&frame(b'B', b"\0s\0\0\0\0\x02\0\0\0\x011\0\0\0\x012\0\0"));
    client.send(&frame(b'E', b"\0\0\0\0\0"));
    client.send(&frame(b'S', b""));
    let messages = client.until_ready();
    assert!(messages.iter().any(|(kind, body)| *kind == b'D' && body.ends_with(b"3")), "{messages:?}");
}
