//! A session whose statements run while the test does something else.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::wire::Session;

/// The longest time until a statement has ended, or waits.
const SETTLE_LIMIT: Duration = Duration::from_secs(30);

/// See the module.
pub struct Background {
    texts: Sender<String>,
    answers: Receiver<String>,
    /// Its process.
    pub pid: String,
}

impl Background {
    /// A session that has run the statements of `setup`.
    pub fn connect(socket: &Path, setup: &[&str]) -> Background {
        let mut session = Session::connect(socket, "postgres");
        for text in setup {
            let answer = session.simple(text);
            assert!(!answer.contains("ERROR "), "{text}: {answer}");
        }
        let seen = session.simple("select pg_backend_pid()");
        let pid = seen.lines().find_map(|line| line.strip_prefix("row ")).expect("a process").to_owned();
        let (texts, received) = channel::<String>();
        let (send, answers) = channel();
        std::thread::spawn(move || {
            for text in received {
                if send.send(session.simple(&text)).is_err() {
                    return;
                }
            }
        });
        Background { texts, answers, pid }
    }

    /// Has a statement run.
    pub fn send(&self, text: &str) {
        self.texts.send(text.to_owned()).unwrap();
    }

    /// The answer to the oldest statement that has had none.
    pub fn answer(&self) -> String {
        self.answers.recv_timeout(SETTLE_LIMIT).expect("an answer")
    }

    /// The answer of the statement, or none if it waits for another session. `observer` asks the server.
    pub fn settled(&self, observer: &mut Session) -> Option<String> {
        let started = Instant::now();
        loop {
            if let Ok(answer) = self.answers.recv_timeout(Duration::from_millis(2)) {
                return Some(answer);
            }
            let seen = observer.simple(&format!("select cardinality(pg_blocking_pids({}))", self.pid));
            if !seen.contains("row 0\n") {
                return None;
            }
            assert!(started.elapsed() < SETTLE_LIMIT, "the statement neither waits nor ends");
        }
    }
}
