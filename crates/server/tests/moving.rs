//! Replies that wait for the log leave in order, even if their session goes to another worker meanwhile.

mod support;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use postgres::NoTls;
use postgres_protocol::message::frontend;
use support::TestServer;
use vfs::{RealVfs, SlowedVfs};

/// The time for an event that must come. It comes much earlier on an idle machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A client that sends without waiting for answers.
struct Hasty {
    stream: UnixStream,
    received: Vec<u8>,
}

impl Hasty {
    fn connect(server: &TestServer) -> Hasty {
        let stream = UnixStream::connect(server.socket()).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let mut hasty = Hasty { stream, received: Vec::new() };
        let mut message = bytes::BytesMut::new();
        frontend::startup_message([("user", "postgres"), ("database", "postgres")], &mut message).unwrap();
        hasty.stream.write_all(&message).unwrap();
        hasty.tags(0);
        hasty
    }

    fn send(&mut self, text: &str) {
        let mut message = bytes::BytesMut::new();
        frontend::query(text, &mut message).unwrap();
        self.stream.write_all(&message).unwrap();
    }

    /// The command tags, and errors, up to the ReadyForQuery behind so many of them.
    fn tags(&mut self, count: usize) -> Vec<String> {
        let mut tags = Vec::new();
        loop {
            while let [kind, a, b, c, d, ref rest @ ..] = self.received[..] {
                let length = u32::from_be_bytes([a, b, c, d]) as usize - 4;
                if rest.len() < length {
                    break;
                }
                let text = String::from_utf8_lossy(&rest[..length]).trim_end_matches('\0').to_owned();
                self.received.drain(..length + 5);
                match kind {
                    b'C' | b'E' => tags.push(text),
                    b'Z' if tags.len() >= count => return tags,
                    _ => {}
                }
            }
            let mut part = [0; 4096];
            let length = self.stream.read(&mut part).expect("the server answers");
            assert!(length > 0, "the server has closed the connection after {tags:?}");
            self.received.extend_from_slice(&part[..length]);
        }
    }
}

// invariants: row 11
#[test]
fn replies_that_wait_for_the_log_leave_in_order_from_where_the_session_is() {
    let disk = SlowedVfs::new(Arc::new(RealVfs::new()), Duration::ZERO);
    let server = TestServer::start(Arc::new(disk.clone()), &[], 2);
    let mut long = server.connect();
    let token = long.cancel_token();
    let mut sessions: Vec<Hasty> = (0..9).map(|_| Hasty::connect(&server)).collect();
    sessions[0].send("create table t (v int)");
    assert_eq!(sessions[0].tags(1), ["CREATE TABLE"]);
    disk.set_sync_latency(Duration::from_millis(40));
    let started = Instant::now();
    let mut rounds = 0;
    while server.moved_sessions() < 5 || rounds < 4 {
        assert!(started.elapsed() < LIMIT, "sessions don't move: {}", server.moved_sessions());
        rounds += 1;
        // All these replies wait for the log.
        sessions.iter_mut().for_each(|session| session.send("insert into t values (1)"));
        std::thread::scope(|scope| {
            let working = scope.spawn(|| long.batch_execute("select count(*) from generate_series(1, 1000000000000)"));
            // The long work has had a turn by now.
            std::thread::sleep(Duration::from_millis(10));
            for session in &mut sessions {
                session.send("begin; insert into t values (2); commit");
                session.send("select 1");
            }
            for session in &mut sessions {
                assert_eq!(session.tags(5), ["INSERT 0 1", "BEGIN", "INSERT 0 1", "COMMIT", "SELECT 1"]);
            }
            while !working.is_finished() {
                token.cancel_query(NoTls).unwrap();
                // A second cancel could be for the next statement.
                let cancelled = Instant::now();
                while !working.is_finished() && cancelled.elapsed() < Duration::from_secs(2) {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
    }
    disk.set_sync_latency(Duration::ZERO);
    let rows: i64 = server.connect().query_one("select count(*) from t", &[]).unwrap().get(0);
    assert_eq!(rows, 2 * 9 * rounds);
}
