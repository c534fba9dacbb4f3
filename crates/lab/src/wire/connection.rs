//! A connection that costs its client next to nothing, so that what is measured is the server.
//!
//! `tokio-postgres` opens it: addresses, start-up and passwords. It then lends its stream to the load driver, which sends and reads
//! the messages of prepared statements by itself: a channel between a client and its connection, and values of every
//! type, would take a fifth of what two processors can do.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use base::{Error, Result, sqlstate};
use bytes::BytesMut;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::{ErrorResponseBody, Message};
use postgres_protocol::message::frontend;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::config::Host;
use tokio_postgres::{Config, NoTls};

use super::target::failed;

const DEFAULT_PORT: u16 = 5432;
/// More than an answer of the lab's statements.
const INPUT_SIZE_BYTES: usize = 4096;

trait Duplex: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Duplex for T {}

/// A stream that two may hold, one after the other.
#[derive(Clone)]
struct Lent(Rc<RefCell<Box<dyn Duplex>>>);

impl AsyncRead for Lent {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut **self.0.borrow_mut()).poll_read(context, buffer)
    }
}

impl AsyncWrite for Lent {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut **self.0.borrow_mut()).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut **self.0.borrow_mut()).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut **self.0.borrow_mut()).poll_shutdown(context)
    }
}

/// The answer of a server.
pub enum Answer {
    /// All statements succeeded.
    Done,
    /// An error with this SQLSTATE and message.
    Failed {
        /// The code, which has five characters.
        sqlstate: String,
        /// The message in the server's words.
        message: String,
    },
}

impl Answer {
    /// An error for what was not to fail.
    ///
    /// # Errors
    /// XX000 with the server's SQLSTATE and message.
    pub fn expect_done(self) -> Result<()> {
        match self {
            Answer::Done => Ok(()),
            Answer::Failed { sqlstate, message } => {
                Err(Error::internal(format!("the server says: {message} (SQLSTATE {sqlstate})")))
            }
        }
    }
}

fn broken(error: &io::Error) -> Error {
    Error::new(sqlstate::CONNECTION_FAILURE, format!("the connection to the server is broken: {error}"))
}

/// An open connection.
pub struct Connection {
    stream: Box<dyn Duplex>,
    input: BytesMut,
    output: BytesMut,
}

impl Connection {
    /// Connects as `config` says, to the first of its hosts.
    ///
    /// # Errors
    /// 08006 when the server can't be reached, and what it says.
    pub async fn open(config: &Config) -> Result<Connection> {
        let lent = Lent(Rc::new(RefCell::new(connect(config).await.map_err(|error| broken(&error))?)));
        let opened = config.connect_raw(lent.clone(), NoTls).await.map_err(|error| failed(&error))?;
        drop(opened);
        let stream = Rc::into_inner(lent.0).expect("who opened the connection has given its stream back").into_inner();
        let input = BytesMut::with_capacity(INPUT_SIZE_BYTES);
        Ok(Connection { stream, input, output: BytesMut::new() })
    }

    /// Prepares a statement under `name`.
    ///
    /// # Errors
    /// 08006 when the connection breaks, and what the server says.
    pub async fn prepare(&mut self, name: &str, text: &str) -> Result<()> {
        frontend::parse(name, text, [], &mut self.output).map_err(|error| broken(&error))?;
        frontend::sync(&mut self.output);
        self.exchange().await?.expect_done()
    }

    /// Runs a prepared statement. Values are sent as text; rows are read and dropped.
    ///
    /// # Errors
    /// 08006 when the connection breaks.
    pub async fn execute(&mut self, name: &str, values: &[i64]) -> Result<Answer> {
        let text = |value: &i64, buffer: &mut BytesMut| {
            write!(buffer, "{value}").map_err(|error| Box::new(error) as Box<dyn std::error::Error + Sync + Send>)?;
            Ok(IsNull::No)
        };
        frontend::bind("", name, [], values, text, [], &mut self.output)
            .map_err(|_| Error::internal("a statement's values are too long"))?;
        frontend::execute("", 0, &mut self.output).map_err(|error| broken(&error))?;
        frontend::sync(&mut self.output);
        self.exchange().await
    }

    /// Runs statements as one string.
    ///
    /// # Errors
    /// 08006 when the connection breaks.
    pub async fn simple(&mut self, statements: &str) -> Result<Answer> {
        frontend::query(statements, &mut self.output).map_err(|error| broken(&error))?;
        self.exchange().await
    }

    /// Ends the session, and waits until the server has closed it: PostgreSQL's sessions count what they did when they end.
    pub async fn close(mut self) {
        frontend::terminate(&mut self.output);
        if self.stream.write_all(&self.output).await.is_ok() {
            while matches!(self.stream.read_buf(&mut self.input).await, Ok(1..)) {
                self.input.clear();
            }
        }
    }

    /// Sends what is to be sent and reads until the server is ready for more.
    async fn exchange(&mut self) -> Result<Answer> {
        self.stream.write_all(&self.output).await.map_err(|error| broken(&error))?;
        self.output.clear();
        let mut answer = Answer::Done;
        loop {
            while let Some(message) = Message::parse(&mut self.input).map_err(|error| broken(&error))? {
                match message {
                    Message::ReadyForQuery(_) => return Ok(answer),
                    Message::ErrorResponse(body) => answer = error_of(&body)?,
                    _ => {}
                }
            }
            self.input.reserve(INPUT_SIZE_BYTES);
            if self.stream.read_buf(&mut self.input).await.map_err(|error| broken(&error))? == 0 {
                // A server that ends a session may say why before it closes.
                answer.expect_done()?;
                return Err(broken(&io::ErrorKind::UnexpectedEof.into()));
            }
        }
    }
}

fn error_of(body: &ErrorResponseBody) -> Result<Answer> {
    use fallible_iterator::FallibleIterator;
    let (mut sqlstate, mut message) = (String::new(), String::new());
    let mut fields = body.fields();
    while let Some(field) = fields.next().map_err(|error| broken(&error))? {
        match field.type_() {
            b'C' => sqlstate = String::from_utf8_lossy(field.value_bytes()).into_owned(),
            b'M' => message = String::from_utf8_lossy(field.value_bytes()).into_owned(),
            _ => {}
        }
    }
    Ok(Answer::Failed { sqlstate, message })
}

async fn connect(config: &Config) -> io::Result<Box<dyn Duplex>> {
    let port = config.get_ports().first().copied().unwrap_or(DEFAULT_PORT);
    match config.get_hosts().first() {
        Some(Host::Unix(folder)) => Ok(Box::new(UnixStream::connect(folder.join(format!(".s.PGSQL.{port}"))).await?)),
        host => {
            let name = match host {
                Some(Host::Tcp(name)) => name,
                _ => "localhost",
            };
            let stream = TcpStream::connect((name, port)).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream))
        }
    }
}
