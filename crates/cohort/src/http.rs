//! A small HTTP server on one thread of its own, for those who look on: metrics and the dashboard.
//!
//! Nobody who looks on can hold the database up: its threads don't come here. Nor can many of them, or slow ones, take much memory or
//! keep others out for long: there are at most as many as [`connections_of_monitor`] says, each has one request and must be done in time, and a
//! request's body is not read.
//!
//! Nothing asks for a password, so no web page elsewhere may read the answers by way of a browser on this machine. Such a page can let
//! a name of its own point here (DNS rebinding). So the `Host` of a request must be an address, `localhost`, or the name that is
//! listened on.

use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use base::{Error, Result, sqlstate};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, X_CONTENT_TYPE_OPTIONS};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::MissedTickBehavior;
use vfs::descriptors::connections_of_monitor;

/// A client that has not sent its request by then is disconnected.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// A client that has not taken the answer by then is disconnected as well.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(20);
/// The largest head of a request, in bytes.
const HEAD_LIMIT_BYTES: usize = 16 << 10;

/// The purpose of a server.
pub(crate) struct Purpose {
    /// The setting with the address to listen on.
    pub setting: &'static str,
    /// The name of the thing that it serves.
    pub what: &'static str,
    /// An example of an address.
    pub example: &'static str,
}

/// Answers requests.
pub(crate) type Answer = dyn Fn(&Request<Incoming>) -> Response<String> + Send + Sync;

/// Work that the server's thread does regularly.
pub(crate) struct Chore {
    pub every: Duration,
    pub run: Box<dyn FnMut() + Send>,
}

/// A thread that serves; it ends when this is dropped.
pub(crate) struct HttpServer {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
    what: &'static str,
}

impl HttpServer {
    /// Serves on `address`, which is `host:port`.
    ///
    /// # Errors
    /// 22023 for what is no address; 58030 when it can't be listened on.
    pub(crate) fn start(
        purpose: &Purpose,
        address: &str,
        answer: Arc<Answer>,
        chore: Option<Chore>,
    ) -> Result<HttpServer> {
        let what = purpose.what;
        let listener = listen(purpose, address)?;
        let failed = |error: std::io::Error| Error::io(format!("could not serve {what} on \"{address}\""), &error);
        let local_address = listener.local_addr().map_err(failed)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let listener = {
            let _runtime = runtime.enter();
            tokio::net::TcpListener::from_std(listener).map_err(failed)?
        };
        let answer = answer_to_own_names(purpose, address, answer);
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name(what.to_owned())
            .spawn(move || {
                runtime.block_on(async move {
                    tokio::spawn(accept_all(listener, answer));
                    if let Some(chore) = chore {
                        tokio::spawn(run_regularly(chore));
                    }
                    // That the sender is gone is the message.
                    let _ = stopped.await;
                });
            })
            .map_err(failed)?;
        Ok(HttpServer { address: local_address, stop: Some(stop), thread: Some(thread), what })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            log::error!("the thread that serves {} panicked", self.what);
        }
    }
}

/// The host and the port of an address, if that is what it is.
fn host_and_port(address: &str) -> Option<(&str, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    (!host.is_empty()).then_some((host, port.parse().ok()?))
}

fn listen(purpose: &Purpose, address: &str) -> Result<TcpListener> {
    let Purpose { setting, what, example } = purpose;
    if host_and_port(address).is_none() {
        let message = format!("invalid value for parameter \"{setting}\": \"{address}\"");
        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
            .hint(format!("It is a host and a port, as in \"{example}\".")));
    }
    let failed = |error: std::io::Error| {
        Error::io(format!("could not listen on \"{address}\" for {what}"), &error)
            .hint(format!("Set {setting} to an address of this machine that is free, or to nothing."))
    };
    let addresses: Vec<SocketAddr> = address.to_socket_addrs().map_err(failed)?.collect();
    let listener = TcpListener::bind(&*addresses).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

async fn run_regularly(mut chore: Chore) {
    let mut ticks = tokio::time::interval(chore.every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        (chore.run)();
    }
}

async fn accept_all(listener: tokio::net::TcpListener, answer: Arc<Answer>) {
    let places = Arc::new(Semaphore::new(connections_of_monitor()));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Closed at once, so that nobody waits in a queue that only grows.
                let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
                let answer = Arc::clone(&answer);
                tokio::spawn(async move {
                    let service = service_fn(|request| {
                        let answer = answer_within_reason(&request, &*answer);
                        async move { Ok::<_, std::convert::Infallible>(answer) }
                    });
                    let connection = http1::Builder::new()
                        .timer(TokioTimer::new())
                        .header_read_timeout(REQUEST_TIMEOUT)
                        .max_buf_size(HEAD_LIMIT_BYTES)
                        .keep_alive(false)
                        .serve_connection(TokioIo::new(stream), service);
                    // A client that goes away, or sends what is no request, is no concern of ours.
                    let _ = tokio::time::timeout(CONNECTION_TIMEOUT, connection).await;
                    drop(place);
                });
            }
            // Out of descriptors, most likely: some may be free soon.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Only looks are allowed.
fn answer_within_reason(request: &Request<Incoming>, answer: &Answer) -> Response<String> {
    let response = answer(request);
    if response.status() == StatusCode::OK && !matches!(*request.method(), Method::GET | Method::HEAD) {
        let refused = Response::builder().status(StatusCode::METHOD_NOT_ALLOWED).header(ALLOW, "GET, HEAD");
        return refused.body("Only GET and HEAD.\n".to_owned()).expect("all headers are constants");
    }
    response
}

/// `answer` for those who call the server by a name of its own; others are told which names these are.
fn answer_to_own_names(purpose: &Purpose, address: &str, answer: Arc<Answer>) -> Arc<Answer> {
    let Purpose { setting, what, .. } = purpose;
    let listens_on = host_and_port(address).map_or("", |(host, _)| host).to_owned();
    let why = format!("Requests for {what} must name an address, localhost, or the name in {setting} as their host.\n");
    Arc::new(move |request: &Request<Incoming>| {
        let named = request.headers().get(HOST).and_then(|host| host.to_str().ok());
        if named.is_some_and(|named| may_be_called(named, &listens_on)) {
            return answer(request);
        }
        let refused = Response::builder().status(StatusCode::MISDIRECTED_REQUEST);
        let refused = refused.header(CONTENT_TYPE, "text/plain; charset=utf-8");
        let refused = refused.header(CACHE_CONTROL, "no-store").header(X_CONTENT_TYPE_OPTIONS, "nosniff");
        refused.body(why.clone()).expect("all headers are constants")
    })
}

/// Whether a request may call the server so in its `Host`: by an address, as `localhost`, or by the name it was told to listen on. Any
/// other name is somebody's who lets it point here.
fn may_be_called(named: &str, listens_on: &str) -> bool {
    let (host, port) = match named.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (named, None),
    };
    if port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return false;
    }
    match host.strip_prefix('[').map(|rest| rest.strip_suffix(']')) {
        Some(address) => address.is_some_and(|address| matches!(address.parse(), Ok(IpAddr::V6(_)))),
        None => {
            matches!(host.parse(), Ok(IpAddr::V4(_)))
                || host.eq_ignore_ascii_case("localhost")
                || (!host.is_empty() && host.eq_ignore_ascii_case(listens_on))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PURPOSE: Purpose = Purpose { setting: "metrics_listen", what: "metrics", example: "127.0.0.1:9187" };

    #[test]
    fn what_is_no_address_is_refused_plainly() {
        for address in ["nonsense", ":9187", "127.0.0.1:", "127.0.0.1:port", "127.0.0.1:99999"] {
            let error = listen(&PURPOSE, address).unwrap_err();
            assert_eq!(error.sqlstate(), sqlstate::INVALID_PARAMETER_VALUE, "{address}");
            assert!(error.to_string().contains(address), "{error}");
        }
        let taken = listen(&PURPOSE, "127.0.0.1:0").unwrap();
        let error = listen(&PURPOSE, &taken.local_addr().unwrap().to_string()).unwrap_err();
        assert!(error.to_string().contains("could not listen on"), "{error}");
    }

    #[test]
    fn only_addresses_localhost_and_the_configured_name_are_answered_to() {
        let allowed = [
            "127.0.0.1",
            "127.0.0.1:8432",
            "10.1.2.3:80",
            "[::1]",
            "[::1]:8432",
            "localhost",
            "LocalHost:1",
            "db:8432",
        ];
        for host in allowed {
            assert!(may_be_called(host, "DB"), "{host}");
        }
        let refused = [
            "",
            ":8432",
            "evil.example",
            "evil.example:8432",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "::1",
            "[127.0.0.1]",
            "[::1",
            "[::1]x",
            "localhost:port",
            "127.0.0.1:99999",
            "db.evil.example",
        ];
        for host in refused {
            assert!(!may_be_called(host, "db"), "{host}");
        }
        assert!(!may_be_called("", ""));
    }
}
