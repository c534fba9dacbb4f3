//! A client that shows everything a server answers: tags, notices, details and hints among it, which drivers drop.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use postgres::fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::{DataRowBody, ErrorFields, Field, Message};
use postgres_protocol::message::frontend;

/// How long a server may take to answer: no statement that works takes nearly as long.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// One connection.
pub struct Session {
    stream: UnixStream,
    received: BytesMut,
    /// The data for the next COPY FROM STDIN.
    copy_input: Vec<u8>,
    /// Whether columns' types and errors' contexts and objects are shown as well.
    in_detail: bool,
    /// If set, a server that does not end its answer within [`ANSWER_LIMIT`] does not fail the test: the answer is [`NO_ANSWER`].
    may_be_silent: bool,
}

/// The answer of a server that gave none in time, if the session may be silent.
pub const NO_ANSWER: &str = "no answer\n";

/// The first identifier of objects that are made after the database. Identifiers from here on differ from server to server.
const FIRST_NORMAL_OID: u32 = 16384;

impl Session {
    /// Connects through a server's socket to the database `postgres`, as `user`, without a password.
    pub fn connect(socket: &Path, user: &str) -> Session {
        Session::try_connect(socket, user).unwrap()
    }

    /// As [`Session::connect`].
    ///
    /// # Errors
    /// The server's answer, if it refuses.
    pub fn try_connect(socket: &Path, user: &str) -> Result<Session, String> {
        let stream = UnixStream::connect(socket).map_err(|error| error.to_string())?;
        stream.set_read_timeout(Some(ANSWER_LIMIT)).unwrap();
        let mut session = Session {
            stream,
            received: BytesMut::new(),
            copy_input: Vec::new(),
            in_detail: false,
            may_be_silent: false,
        };
        let mut message = BytesMut::new();
        frontend::startup_message([("user", user), ("database", "postgres")], &mut message).unwrap();
        session.stream.write_all(&message).map_err(|error| error.to_string())?;
        let answer = session.answer();
        if answer.contains("FATAL") || answer.contains("the connection is closed") { Err(answer) } else { Ok(session) }
    }

    /// Shows columns' types, and errors' contexts and objects, from now on.
    pub fn show_details(&mut self) {
        self.in_detail = true;
    }

    /// From now on, [`NO_ANSWER`] is the answer of a server that does not answer in time.
    pub fn allow_silence(&mut self) {
        self.may_be_silent = true;
    }

    /// Runs a COPY FROM STDIN with `input` as its data; returns the server's answer.
    pub fn copy_in(&mut self, text: &str, input: &str) -> String {
        self.copy_input = input.as_bytes().to_vec();
        self.send(text);
        self.answer()
    }

    /// Sends a text in the simple protocol, which may have several statements; returns the server's answer.
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

    /// Says farewell, as clients do before they close the connection.
    pub fn send_farewell(&mut self) {
        let mut message = BytesMut::new();
        frontend::terminate(&mut message);
        self.stream.write_all(&message).unwrap();
    }

    /// Runs one statement in the extended protocol; returns the server's answer.
    pub fn extended(&mut self, text: &str) -> String {
        self.extended_with(text, &[])
    }

    /// Like [`Self::extended`], with values for the parameters. The answer shows the parameters' types.
    pub fn extended_with(&mut self, text: &str, values: &[&str]) -> String {
        self.extended_with_nulls(text, &values.iter().map(|value| Some(*value)).collect::<Vec<_>>())
    }

    /// Like [`Self::extended_with`], with values that may be NULL.
    pub fn extended_with_nulls(&mut self, text: &str, values: &[Option<&str>]) -> String {
        let mut message = BytesMut::new();
        frontend::parse("", text, [], &mut message).unwrap();
        if !values.is_empty() {
            frontend::describe(b'S', "", &mut message).unwrap();
        }
        let bound = frontend::bind("", "", [], values, write_value, [], &mut message);
        assert!(bound.is_ok());
        frontend::describe(b'P', "", &mut message).unwrap();
        frontend::execute("", 0, &mut message).unwrap();
        frontend::sync(&mut message);
        self.stream.write_all(&message).unwrap();
        self.answer()
    }

    /// Binds a statement to a portal of this name; returns the server's answer.
    pub fn bind(&mut self, portal: &str, text: &str) -> String {
        let mut message = BytesMut::new();
        frontend::parse("", text, [], &mut message).unwrap();
        write_bind(portal, "", &mut message);
        frontend::sync(&mut message);
        self.stream.write_all(&message).unwrap();
        self.answer()
    }

    /// Prepares a statement under a name; returns the server's answer.
    pub fn prepare(&mut self, statement: &str, text: &str) -> String {
        let mut message = BytesMut::new();
        frontend::parse(statement, text, [], &mut message).unwrap();
        frontend::sync(&mut message);
        self.stream.write_all(&message).unwrap();
        self.answer()
    }

    /// Prepares a statement and describes it; the server's answer.
    pub fn describe(&mut self, text: &str) -> String {
        let mut message = BytesMut::new();
        frontend::parse("", text, [], &mut message).unwrap();
        frontend::describe(b'S', "", &mut message).unwrap();
        frontend::sync(&mut message);
        self.stream.write_all(&message).unwrap();
        self.answer()
    }

    /// Describes a named statement, binds it, describes the portal and runs it; the server's answer.
    pub fn run_prepared(&mut self, statement: &str) -> String {
        let mut message = BytesMut::new();
        frontend::describe(b'S', statement, &mut message).unwrap();
        write_bind("", statement, &mut message);
        frontend::describe(b'P', "", &mut message).unwrap();
        frontend::execute("", 0, &mut message).unwrap();
        frontend::sync(&mut message);
        self.stream.write_all(&message).unwrap();
        self.answer()
    }

    /// Binds a named statement with values, describes the portal and runs it; the server's answer.
    pub fn run_prepared_with(&mut self, statement: &str, values: &[Option<&str>]) -> String {
        let mut message = BytesMut::new();
        let bound = frontend::bind("", statement, [], values, write_value, [], &mut message);
        assert!(bound.is_ok());
        frontend::describe(b'P', "", &mut message).unwrap();
        frontend::execute("", 0, &mut message).unwrap();
        frontend::sync(&mut message);
        self.stream.write_all(&message).unwrap();
        self.answer()
    }

    /// Executes a portal for at most `max_rows` rows; returns the server's answer.
    pub fn execute(&mut self, portal: &str, max_rows: i32) -> String {
        let mut message = BytesMut::new();
        frontend::execute(portal, max_rows, &mut message).unwrap();
        frontend::sync(&mut message);
        self.stream.write_all(&message).unwrap();
        self.answer()
    }

    /// Everything up to the word that the server is ready, a line each. Columns are shown once there are rows, or are none, or the
    /// statement is only described: a statement that fails may or may not have told them before.
    pub fn answer(&mut self) -> String {
        let (mut seen, mut columns_line) = (String::new(), String::new());
        let started = Instant::now();
        loop {
            let message = self.message();
            // One that says something again and again does not answer either.
            let is_late = self.may_be_silent && started.elapsed() > ANSWER_LIMIT;
            let Some(message) = message.ok().filter(|_| !is_late) else {
                seen.push_str(NO_ANSWER);
                return seen;
            };
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
                    let shown: Vec<String> =
                        columns.fields().map(|field| Ok(column(&field, self.in_detail))).collect().unwrap();
                    columns_line = format!("columns {}\n", shown.join(" | "));
                }
                Some(Message::DataRow(row)) => writeln!(seen, "row {}", values(&row).join(" | ")).unwrap(),
                Some(Message::CommandComplete(body)) => writeln!(seen, "tag {}", body.tag().unwrap()).unwrap(),
                Some(Message::ParameterDescription(parameters)) => {
                    let types: Vec<u32> = parameters.parameters().collect().unwrap();
                    writeln!(seen, "parameters {types:?}").unwrap();
                }
                Some(Message::PortalSuspended) => seen.push_str("suspended\n"),
                Some(Message::EmptyQueryResponse) => seen.push_str("empty\n"),
                Some(Message::NoData) => seen.push_str("no columns\n"),
                Some(Message::ErrorResponse(body)) => seen.push_str(&report(body.fields(), self.in_detail)),
                Some(Message::NoticeResponse(body)) => seen.push_str(&report(body.fields(), self.in_detail)),
                Some(Message::CopyInResponse(_)) => self.send_copy_input(),
                Some(Message::CopyData(body)) => {
                    // Binary data are shown as what they are.
                    let data = body.data().escape_ascii().to_string();
                    writeln!(seen, "copied {data}").unwrap();
                }
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
                    writeln!(seen, "{columns_line}ready, {status}").unwrap();
                    return seen;
                }
                Some(_) => {}
            }
        }
    }

    /// Reads so many bytes at most, which are forgotten. None if the server has closed the connection.
    pub fn read_some(&mut self, most: usize) -> usize {
        self.stream.read(&mut vec![0; most]).unwrap_or(0)
    }

    /// Sends what a COPY is to read, and its end.
    fn send_copy_input(&mut self) {
        let data = Bytes::from(std::mem::take(&mut self.copy_input));
        let mut message = BytesMut::new();
        frontend::CopyData::new(data).unwrap().write(&mut message);
        frontend::copy_done(&mut message);
        self.stream.write_all(&message).unwrap();
    }

    /// The next message; none if the server has closed the connection.
    fn message(&mut self) -> Result<Option<Message>, Silence> {
        loop {
            if let Some(message) = Message::parse(&mut self.received).unwrap() {
                return Ok(Some(message));
            }
            let mut part = [0; 8192];
            let length = match self.stream.read(&mut part) {
                Err(error) if error.kind() == ErrorKind::WouldBlock && self.may_be_silent => return Err(Silence),
                Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("no answer within {ANSWER_LIMIT:?}"),
                // A process that was stopped and goes on: reads with a time limit aren't begun again by themselves.
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => 0,
                read => read.unwrap(),
            };
            if length == 0 {
                return Ok(None);
            }
            self.received.extend_from_slice(&part[..length]);
        }
    }
}

/// The server has not answered in time.
struct Silence;

/// Binds a statement without parameters to a portal.
fn write_bind(portal: &str, statement: &str, message: &mut BytesMut) {
    let no_parameters = std::iter::empty::<i32>();
    let bound = frontend::bind(portal, statement, [], no_parameters, |_, _| Ok(IsNull::Yes), [], message);
    assert!(bound.is_ok());
}

/// A row's values as text.
fn values(row: &DataRowBody) -> Vec<String> {
    let show = |range: Option<std::ops::Range<usize>>| {
        range.map_or_else(|| "(null)".to_owned(), |range| String::from_utf8_lossy(&row.buffer()[range]).into_owned())
    };
    row.ranges().map(|range| Ok(show(range))).collect().unwrap()
}

/// Puts a parameter's value into a Bind message.
fn write_value(
    value: &Option<&str>,
    buffer: &mut BytesMut,
) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
    let Some(text) = value else { return Ok(IsNull::Yes) };
    buffer.extend_from_slice(text.as_bytes());
    Ok(IsNull::No)
}

/// A column's name, and if asked for its type and the type's modifier.
fn column(field: &Field<'_>, in_detail: bool) -> String {
    match (in_detail, field.type_oid()) {
        (false, _) => field.name().to_owned(),
        (true, FIRST_NORMAL_OID..) => format!("{} user type {}", field.name(), field.type_modifier()),
        (true, oid) => format!("{} {oid} {}", field.name(), field.type_modifier()),
    }
}

/// The other things an error or a notice may say of itself.
const FIELDS_IN_DETAIL: [(&str, u8); 6] =
    [("CONTEXT", b'W'), ("SCHEMA", b's'), ("TABLE", b't'), ("COLUMN", b'c'), ("TYPE", b'd'), ("CONSTRAINT", b'n')];

/// An error's or a notice's severity, code, message, detail and hint, and if asked for where it arose and its objects.
fn report(fields: ErrorFields<'_>, in_detail: bool) -> String {
    let fields: Vec<(u8, String)> = fields
        .map(|field| Ok((field.type_(), String::from_utf8_lossy(field.value_bytes()).into_owned())))
        .collect()
        .unwrap();
    let field = |wanted: u8| fields.iter().find(|(kind, _)| *kind == wanted).map_or("", |(_, text)| text.as_str());
    let mut seen = format!("{} {}: {}\n", field(b'S'), field(b'C'), field(b'M'));
    let more = if in_detail { &FIELDS_IN_DETAIL[..] } else { &[] };
    for (name, kind) in [("DETAIL", b'D'), ("HINT", b'H')].iter().chain(more) {
        if !field(*kind).is_empty() {
            writeln!(seen, "{name}: {}", field(*kind)).unwrap();
        }
    }
    seen
}
