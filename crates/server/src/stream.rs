//! A client's socket, TCP or Unix, encrypted or not.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};
use sql::TcpTimes;
use sync::Arc;

use crate::tls::{Credentials, Encryption};

/// A non-blocking connected socket.
pub struct Stream {
    socket: Socket,
    encryption: Option<Box<Encryption>>,
}

/// The socket below.
pub enum Socket {
    /// Over TCP.
    Tcp(TcpStream),
    /// Over a Unix socket.
    Unix(UnixStream),
}

/// The times that were set for a TCP connection.
#[derive(Default)]
pub struct Keepalive {
    /// As it was told last; none if it does as it does of itself.
    told: Option<TcpTimes>,
}

impl Keepalive {
    /// Has it as the session's settings say now.
    pub fn follow(&mut self, times: Option<TcpTimes>, stream: &Stream) {
        let Socket::Tcp(stream) = &stream.socket else { return };
        let Some(times) = times else { return };
        let before = match self.told {
            Some(told) if told == times => return,
            Some(told) => told,
            None => {
                // Most sessions have what the system does of itself.
                let own = system_times(stream);
                if own == times {
                    self.told = Some(own);
                    return;
                }
                own
            }
        };
        self.told = Some(times);
        let socket = socket2::SockRef::from(stream);
        let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds));
        let mut keepalive = socket2::TcpKeepalive::new();
        if times.idle_seconds != before.idle_seconds {
            keepalive = keepalive.with_time(seconds(times.idle_seconds));
        }
        if times.interval_seconds != before.interval_seconds {
            keepalive = keepalive.with_interval(seconds(times.interval_seconds));
        }
        if times.count != before.count {
            keepalive = keepalive.with_retries(times.count);
        }
        // A system that takes no such times keeps its own.
        let _ = socket.set_tcp_keepalive(&keepalive);
        if times.user_timeout_ms != before.user_timeout_ms {
            let _ = socket.set_tcp_user_timeout(Some(Duration::from_millis(u64::from(times.user_timeout_ms))));
        }
    }
}

/// The system's present times for a connection.
fn system_times(stream: &TcpStream) -> TcpTimes {
    let socket = socket2::SockRef::from(stream);
    let seconds = |time: io::Result<Duration>| time.map_or(0, |time| time.as_secs() as u32);
    TcpTimes {
        idle_seconds: seconds(socket.tcp_keepalive_time()),
        interval_seconds: seconds(socket.tcp_keepalive_interval()),
        count: socket.tcp_keepalive_retries().unwrap_or(0),
        user_timeout_ms: socket.tcp_user_timeout().ok().flatten().map_or(0, |time| time.as_millis() as u32),
    }
}

impl Stream {
    /// A connection that is not encrypted yet.
    pub fn new(socket: Socket) -> Stream {
        Stream { socket, encryption: None }
    }

    /// The peer's address and port; none for a Unix socket.
    pub fn peer(&self) -> Option<SocketAddr> {
        match &self.socket {
            Socket::Tcp(stream) => stream.peer_addr().ok(),
            Socket::Unix(_) => None,
        }
    }

    /// The address and port that the peer has reached; none for a Unix socket.
    pub fn local(&self) -> Option<SocketAddr> {
        match &self.socket {
            Socket::Tcp(stream) => stream.local_addr().ok(),
            Socket::Unix(_) => None,
        }
    }

    /// The system's own times for it; none for a Unix socket.
    pub fn tcp_times(&self) -> Option<TcpTimes> {
        match &self.socket {
            Socket::Tcp(stream) => Some(system_times(stream)),
            Socket::Unix(_) => None,
        }
    }

    /// Whether it is a Unix socket: only this machine's programs reach it, and nothing is encrypted.
    pub fn is_unix(&self) -> bool {
        matches!(self.socket, Socket::Unix(_))
    }

    /// From here on everything is encrypted, beginning with the client's handshake.
    ///
    /// # Errors
    /// XX000 when that can't be set up.
    pub fn encrypt(&mut self, credentials: Arc<Credentials>) -> base::Result<()> {
        self.encryption = Some(Box::new(Encryption::new(credentials)?));
        Ok(())
    }

    /// Its encryption, if it is encrypted.
    pub fn encryption(&self) -> Option<&Encryption> {
        self.encryption.as_deref()
    }

    /// Whether the client has said, within the encryption, that it sends no more.
    pub fn has_ended(&self) -> bool {
        self.encryption.as_ref().is_some_and(|encryption| encryption.has_ended())
    }

    /// Hands encrypted bytes to the socket; the rest stays. Gives how many it took.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn send_encrypted(&mut self) -> io::Result<usize> {
        match &mut self.encryption {
            None => Ok(0),
            Some(encryption) => encryption.send(&mut self.socket),
        }
    }

    /// Whether bytes that were written have not all been taken by the socket.
    pub fn has_unsent(&self) -> bool {
        self.encryption.as_ref().is_some_and(|encryption| encryption.has_unsent())
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.encryption {
            None => self.socket.read(buffer),
            Some(encryption) => encryption.read(&mut self.socket, buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.encryption {
            None => self.socket.write(bytes),
            Some(encryption) => encryption.write(&mut self.socket, bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send_encrypted().map(|_| ())
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.read(buffer),
            Socket::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.write(bytes),
            Socket::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream {
    fn source(&mut self) -> &mut dyn Source {
        match &mut self.socket {
            Socket::Tcp(stream) => stream,
            Socket::Unix(stream) => stream,
        }
    }
}

impl Source for Stream {
    fn register(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.source().register(registry, token, interests)
    }

    fn reregister(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.source().reregister(registry, token, interests)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        self.source().deregister(registry)
    }
}
