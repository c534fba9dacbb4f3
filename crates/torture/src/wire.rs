//! A connection that can be cut at any moment.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Client, Config, NoTls, SimpleQueryMessage};

/// Where the server listens.
#[derive(Clone, Debug)]
pub struct Address {
    /// Folder of the Unix socket.
    pub folder: PathBuf,
    /// Port, also of the Unix socket's name.
    pub port: u16,
}

/// A statement's end that is no answer of the ordinary kind.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// An error of the server; the session lives on.
    Refused {
        /// Its SQLSTATE.
        code: String,
        /// Its message.
        message: String,
    },
    /// The connection is gone, and with it the answer.
    Lost(String),
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::Refused { code, message } => write!(formatter, "{code} {message}"),
            Trouble::Lost(why) => write!(formatter, "connection lost: {why}"),
        }
    }
}

/// Sessions that the server ends say so with these before the connection is closed.
const ENDS: [&str; 5] = ["57P01", "57P02", "57P03", "57P05", "25P03"];

impl From<tokio_postgres::Error> for Trouble {
    fn from(error: tokio_postgres::Error) -> Trouble {
        match error.as_db_error() {
            Some(error) if !ENDS.contains(&error.code().code()) => {
                Trouble::Refused { code: error.code().code().to_owned(), message: error.to_string() }
            }
            Some(error) => Trouble::Lost(error.to_string()),
            None => Trouble::Lost(error.to_string()),
        }
    }
}

/// The answer to one simple query.
#[derive(Debug, Default)]
pub struct Answer {
    /// Rows as text.
    pub rows: Vec<Vec<Option<String>>>,
    /// The count of the last command's tag.
    pub count: i64,
}

impl Answer {
    /// A value that must be a number.
    pub fn number(&self, row: usize, column: usize) -> Option<i64> {
        self.text(row, column)?.parse().ok()
    }

    /// A value.
    pub fn text(&self, row: usize, column: usize) -> Option<&str> {
        self.rows.get(row)?.get(column)?.as_deref()
    }
}

/// An open connection.
pub struct Wire {
    /// The driver's half.
    pub client: Client,
    task: JoinHandle<()>,
    /// The server's process number for it.
    pub pid: i32,
    /// Notifications: channel and payload.
    pub notifications: mpsc::UnboundedReceiver<(String, String)>,
}

impl Wire {
    /// Connects, over TCP or the Unix socket.
    ///
    /// # Errors
    /// Errors of the server or the operating system.
    pub async fn open(address: &Address, is_tcp: bool, options: &str) -> Result<Wire, Trouble> {
        let mut config = Config::new();
        if is_tcp {
            config.host("127.0.0.1");
        } else {
            config.host_path(&address.folder);
        }
        config.port(address.port).user("postgres").dbname("postgres").options(options);
        config.connect_timeout(Duration::from_secs(10));
        let (client, mut connection) = config.connect(NoTls).await?;
        let (sender, notifications) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            while let Some(Ok(message)) = std::future::poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notification(message) = message {
                    // Most sessions do not look at them.
                    let _ = sender.send((message.channel().to_owned(), message.payload().to_owned()));
                }
            }
        });
        let mut wire = Wire { client, task, pid: 0, notifications };
        let answer = wire.ask("select pg_backend_pid()").await?;
        wire.pid = answer.number(0, 0).unwrap_or_default() as i32;
        Ok(wire)
    }

    /// One simple query.
    ///
    /// # Errors
    /// The server's error, or that the connection is gone.
    pub async fn ask(&self, text: &str) -> Result<Answer, Trouble> {
        let mut answer = Answer::default();
        for message in self.client.simple_query(text).await? {
            match message {
                SimpleQueryMessage::Row(row) => {
                    answer.rows.push((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect());
                }
                SimpleQueryMessage::CommandComplete(count) => answer.count = count as i64,
                _ => {}
            }
        }
        Ok(answer)
    }

    /// One statement by the extended protocol, for its count.
    ///
    /// # Errors
    /// The server's error, or that the connection is gone.
    pub async fn change(&self, text: &str) -> Result<Answer, Trouble> {
        Ok(Answer { rows: Vec::new(), count: self.client.execute(text, &[]).await? as i64 })
    }

    /// One query by the extended protocol, all of whose columns are text.
    ///
    /// # Errors
    /// The server's error, or that the connection is gone.
    pub async fn ask_extended(&self, text: &str) -> Result<Answer, Trouble> {
        let rows = self.client.query(text, &[]).await?;
        let rows = rows.iter().map(|row| (0..row.len()).map(|column| row.get(column)).collect()).collect();
        Ok(Answer { rows, count: 0 })
    }

    /// Closes the socket without a word.
    pub fn cut(&self) {
        self.task.abort();
    }

    /// Whether it is gone.
    pub fn is_closed(&self) -> bool {
        self.client.is_closed()
    }
}
