//! A server process for tests, and PostgreSQL's clients.
#![allow(dead_code)]

pub mod background;
pub mod browser;
pub mod conversation;
pub mod http;
pub mod java;
pub mod leftovers;
pub mod recording;
pub mod reference;
pub mod search;
pub mod wire;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// A running `cohort serve`, stopped when dropped.
pub struct Server {
    process: Child,
    folder: PathBuf,
    port: u16,
}

/// The number that an environment variable gives a guard: how much it tries, or from which seed on.
pub fn environment_number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// A port for a server that is started in a moment: nobody else gets it meanwhile.
pub fn free_port() -> u16 {
    torture::free_port().unwrap()
}

/// The program under a limit of open files, which it can't raise.
fn limited(descriptors: usize) -> Command {
    limited_by(&format!("ulimit -n {descriptors}"))
}

fn limited_by(limits: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{limits}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_cohort")]);
    command
}

/// Where the server listens, unless the arguments say so.
fn default_host(arguments: &[&str]) -> &'static [&'static str] {
    if arguments.contains(&"--host") { &[] } else { &["--host", "127.0.0.1"] }
}

impl Server {
    /// Serves `folder/data`; the socket lies in `folder`.
    pub fn start(folder: &Path, settings: &[&str]) -> Server {
        Server::start_at(folder, free_port(), settings)
    }

    /// The same at a port of one's choice.
    pub fn start_at(folder: &Path, port: u16, settings: &[&str]) -> Server {
        Server::start_with(folder, port, settings, &[])
    }

    /// The same with more arguments.
    pub fn start_with(folder: &Path, port: u16, settings: &[&str], arguments: &[&str]) -> Server {
        Server::start_by(Command::new(env!("CARGO_BIN_EXE_cohort")), folder, port, settings, arguments)
    }

    /// The same with sessions that let others run at each of their yield points: nothing may be held across one.
    pub fn start_yielding(folder: &Path, settings: &[&str]) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cohort"));
        command.env("COHORT_ALWAYS_YIELD", "1");
        Server::start_by(command, folder, free_port(), settings, &[])
    }

    /// The same where the system allows only so many descriptors.
    pub fn start_limited(folder: &Path, descriptors: usize, settings: &[&str], arguments: &[&str]) -> Server {
        Server::start_by(limited(descriptors), folder, free_port(), settings, arguments)
    }

    /// The same where the system allows `soft` descriptors, and `hard` ones to a process that asks for them.
    pub fn start_limited_softly(folder: &Path, soft: usize, hard: usize, settings: &[&str]) -> Server {
        let command = limited_by(&format!("ulimit -Sn {soft} && ulimit -Hn {hard}"));
        Server::start_by(command, folder, free_port(), settings, &[])
    }

    /// The last words of a server that does not start, since the system allows so few descriptors.
    pub fn refused_limited(folder: &Path, descriptors: usize, settings: &[&str], arguments: &[&str]) -> String {
        let mut command = limited(descriptors);
        command
            .arg("serve")
            .arg(folder.join("data"))
            .args(["--port", "0"])
            .args(default_host(arguments))
            .args(arguments);
        settings.iter().for_each(|setting| _ = command.args(["-c", setting]));
        let mut process = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        let status = loop {
            match process.try_wait().unwrap() {
                Some(status) => break Some(status),
                None if begun.elapsed() > Duration::from_secs(60) => break None,
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        process.kill().unwrap();
        let said = String::from_utf8_lossy(&process.wait_with_output().unwrap().stderr).into_owned();
        assert!(status.is_some_and(|status| !status.success()), "it started: {said}");
        said
    }

    fn start_by(mut command: Command, folder: &Path, port: u16, settings: &[&str], arguments: &[&str]) -> Server {
        command.arg("serve").arg(folder.join("data")).args(["--port", &port.to_string()]);
        command.arg("--socket-dir").arg(folder).args(default_host(arguments)).args(arguments);
        // Tests may run as root, and some copy from and to files.
        command.args(["-c", "allow_server_files_as_root=on"]);
        for setting in settings {
            command.args(["-c", setting]);
        }
        let log = std::fs::File::options().create(true).append(true).open(folder.join("log")).unwrap();
        let process = command.stderr(log).stdin(Stdio::null()).spawn().unwrap();
        let mut server = Server { process, folder: folder.to_owned(), port };
        let started = Instant::now();
        while postgres::Client::connect(&server.url(), postgres::NoTls).is_err() {
            assert!(server.process.try_wait().unwrap().is_none(), "the server ended: {}", server.log());
            assert!(started.elapsed() < Duration::from_secs(60), "the server did not come up: {}", server.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    /// Where drivers connect to.
    pub fn url(&self) -> String {
        format!("host={} port={} user=postgres dbname=postgres", self.folder.display(), self.port)
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The port it listens at.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where its Unix socket is.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(format!(".s.PGSQL.{}", self.port))
    }

    /// A new connection.
    pub fn connect(&self) -> postgres::Client {
        postgres::Client::connect(&self.url(), postgres::NoTls).unwrap()
    }

    /// The server's log so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Waits until the server's log contains these words. The server may write them with a delay.
    pub fn wait_for_log(&self, words: &str) {
        let begun = Instant::now();
        while !self.log().contains(words) {
            assert!(begun.elapsed() < Duration::from_secs(30), "nothing is said of \"{words}\": {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// SIGKILL.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Sends a signal of this name.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.process.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// SIGTERM, and the end.
    pub fn stop(mut self) {
        self.signal("TERM");
        assert!(self.process.wait().unwrap().success(), "the server did not stop cleanly: {}", self.log());
    }

    /// Waits for the orderly end of a server that has been told to stop.
    pub fn wait_within(self, limit: Duration) {
        let log = self.folder.join("log");
        let said = || std::fs::read_to_string(&log).unwrap_or_default();
        assert!(self.wait_for_end(limit).success(), "the server did not stop cleanly: {}", said());
    }

    /// Waits for the end of a server that has been told to stop.
    pub fn wait_for_end(mut self, limit: Duration) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(started.elapsed() < limit, "the server did not stop within {limit:?}: {}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Runs one of PostgreSQL's clients against the server.
    pub fn client(&self, program: &str, arguments: &[&str]) -> Output {
        Command::new(program)
            .args(["-h", self.folder.to_str().unwrap(), "-p", &self.port.to_string(), "-U", "postgres"])
            .args(arguments)
            .arg("postgres")
            .output()
            .unwrap()
    }

    /// The output of psql for one query, unaligned and without headers.
    pub fn psql(&self, query: &str) -> String {
        let output = self.client("psql", &["-XAt", "-v", "ON_ERROR_STOP=1", "-c", query]);
        assert!(output.status.success(), "{query}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Whether `program` is there. Where CI is set a missing client is an error; elsewhere the test is skipped, aloud.
pub fn has_client(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        assert!(std::env::var_os("CI").is_none(), "{program} is missing");
        eprintln!("SKIPPED: {program} is missing");
    }
    found
}
