//! A client that shows everything a server answers: tags, notices, details and hints among it, which drivers drop.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use bytes::BytesMut;
use postgres::fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::{DataRowBody, ErrorFields, Message};
use postgres_protocol::message::frontend;

/// How long a server may take to answer: no statement that works takes nearly as long.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// One connection.
pub struct Session {
    stream: UnixStream,
    received: BytesMut,
}

impl Session {
    /// Connects through a server's socket to the database `postgres`, as `user`, without a password.
    pub fn connect(socket: &Path, user: &str) -> Session {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(ANSWER_LIMIT)).unwrap();
        let mut session = Session { stream, received: BytesMut::new() };
        let mut message = BytesMut::new();
        frontend::startup_message([("user", user), ("database", "postgres")], &mut message).unwrap();
        session.stream.write_all(&message).unwrap();
        let answer = session.answer();
        assert!(!answer.contains("FATAL"), "{answer}");
        session
    }

    /// What the server answers to a text in the simple protocol, which may have several statements.
    pub fn simple(&mut self, text: &str) -> String {
        self.send(text);
        self.answer()
    }

    /// Sends a text in the simple protocol.
    pub fn send(&mut self, text: &str) {
        let mut message = BytesMut::new();
        frontend::query(text, &mut message).unwrap();
        self.stream.write_all(&message).unwrap();
    }

    /// What the server answers to one statement in the extended protocol.
    pub fn extended(&mut self, text: &str) -> String {
        let mut message = BytesMut::new();
        frontend::parse("", text, [], &mut message).unwrap();
        let no_parameters = std::iter::empty::<i32>();
        let bound = frontend::bind("", "", [], no_parameters, |_, _| Ok(IsNull::Yes), [], &mut message);
        assert!(bound.is_ok());
        frontend::describe(b'P', "", &mut message).unwrap();
        frontend::execute("", 0, &mut message).unwrap();
        frontend::sync(&mut message);
        self.stream.write_all(&message).unwrap();
        self.answer()
    }

    /// Everything up to the word that the server is ready, a line each. Columns are shown once there are rows, or are none: a
    /// statement that fails may or may not have told them before.
    pub fn answer(&mut self) -> String {
        let (mut seen, mut columns_line) = (String::new(), String::new());
        loop {
            let message = self.message();
            match message {
                Some(Message::DataRow(_) | Message::CommandComplete(_)) => {
                    seen.push_str(&std::mem::take(&mut columns_line))
                }
                Some(Message::ErrorResponse(_)) => columns_line.clear(),
                _ => {}
            }
            match message {
                None => {
                    seen.push_str("the connection is closed\n");
                    return seen;
                }
                Some(Message::RowDescription(columns)) => {
                    let names: Vec<String> =
                        columns.fields().map(|field| Ok(field.name().to_owned())).collect().unwrap();
                    columns_line = format!("columns {}\n", names.join(" | "));
                }
                Some(Message::DataRow(row)) => writeln!(seen, "row {}", values(&row).join(" | ")).unwrap(),
                Some(Message::CommandComplete(body)) => writeln!(seen, "tag {}", body.tag().unwrap()).unwrap(),
                Some(Message::EmptyQueryResponse) => seen.push_str("empty\n"),
                Some(Message::NoData) => seen.push_str("no columns\n"),
                Some(Message::ErrorResponse(body)) => seen.push_str(&report(body.fields())),
                Some(Message::NoticeResponse(body)) => seen.push_str(&report(body.fields())),
                Some(Message::NotificationResponse(body)) => {
                    writeln!(seen, "notification {} {:?}", body.channel().unwrap(), body.message().unwrap()).unwrap();
                }
                Some(Message::ReadyForQuery(body)) => {
                    let status = match body.status() {
                        b'I' => "idle",
                        b'T' => "in a block",
                        b'E' => "in a failed block",
                        other => panic!("an unknown status {other}"),
                    };
                    writeln!(seen, "ready, {status}").unwrap();
                    return seen;
                }
                Some(_) => {}
            }
        }
    }

    /// The next message; none if the server has closed the connection.
    fn message(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = Message::parse(&mut self.received).unwrap() {
                return Some(message);
            }
            let mut part = [0; 8192];
            let length = match self.stream.read(&mut part) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("no answer within {ANSWER_LIMIT:?}"),
                read => read.unwrap_or(0),
            };
            if length == 0 {
                return None;
            }
            self.received.extend_from_slice(&part[..length]);
        }
    }
}

/// A row's values as text.
fn values(row: &DataRowBody) -> Vec<String> {
    let show = |range: Option<std::ops::Range<usize>>| {
        range.map_or_else(|| "(null)".to_owned(), |range| String::from_utf8_lossy(&row.buffer()[range]).into_owned())
    };
    row.ranges().map(|range| Ok(show(range))).collect().unwrap()
}

/// An error's or a notice's severity, code, message, detail and hint.
fn report(fields: ErrorFields<'_>) -> String {
    let fields: Vec<(u8, String)> = fields
        .map(|field| Ok((field.type_(), String::from_utf8_lossy(field.value_bytes()).into_owned())))
        .collect()
        .unwrap();
    let field = |wanted: u8| fields.iter().find(|(kind, _)| *kind == wanted).map_or("", |(_, text)| text.as_str());
    let mut seen = format!("{} {}: {}\n", field(b'S'), field(b'C'), field(b'M'));
    for (name, kind) in [("DETAIL", b'D'), ("HINT", b'H')] {
        if !field(kind).is_empty() {
            writeln!(seen, "{name}: {}", field(kind)).unwrap();
        }
    }
    seen
}
