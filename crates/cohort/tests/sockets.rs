//! Where a server's Unix sockets are: psql without options finds a server that was started with none, and servers leave each other's alone.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Server, free_port, has_client};
use postgres::{Client, NoTls};

/// A `cohort serve` that is given its arguments by the test; killed when dropped.
struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    fn start(folder: &Path, arguments: &[&str]) -> Process {
        let log = folder.join("log");
        let file = std::fs::File::options().create(true).append(true).open(&log).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_cohort"))
            .arg("serve")
            .arg(folder.join("data"))
            .args(arguments)
            .stdin(Stdio::null())
            .stderr(file)
            .spawn()
            .unwrap();
        Process { child, log }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn wait_until_up(&mut self) {
        let begun = Instant::now();
        while !self.log().contains("ready to accept connections") {
            assert!(self.child.try_wait().unwrap().is_none(), "it ended: {}", self.log());
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not come up: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends a signal and waits for the end.
    fn end(mut self, signal: &str) {
        assert!(Command::new("kill").args(["-s", signal, &self.child.id().to_string()]).status().unwrap().success());
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The folder in which the server puts a socket besides the data folder.
fn system_folder() -> PathBuf {
    let own = Path::new("/var/run/postgresql");
    let probe = own.join(format!("probe-{}", std::process::id()));
    let is_writable = std::fs::write(&probe, "").is_ok();
    let _ = std::fs::remove_file(probe);
    if is_writable { own.to_owned() } else { PathBuf::from("/tmp") }
}

#[test]
fn psql_without_options_finds_a_server_started_without() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port().to_string();
    let mut server = Process::start(folder.path(), &["--port", &port]);
    server.wait_until_up();
    let socket = system_folder().join(format!(".s.PGSQL.{port}"));
    let lock = system_folder().join(format!(".s.PGSQL.{port}.lock"));
    assert!(socket.exists() && lock.exists(), "{}", server.log());
    assert!(folder.path().join(format!("data/.s.PGSQL.{port}")).exists());
    if has_client("psql") {
        // The test's port is not the default one, which another server may have.
        let query = "select current_user || ' ' || current_setting('port')";
        let output = Command::new("psql").args(["-XAtw", "-U", "postgres", "-c", query]).env("PGPORT", &port).output();
        let output = output.unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(said.trim(), format!("postgres {port}"));
    }
    if has_client("pgbench") {
        // As in the README, but shorter.
        for arguments in ["-i -U postgres postgres", "-c 2 -j 2 -M prepared -t 10 -U postgres postgres"] {
            let output = Command::new("pgbench").args(arguments.split(' ')).env("PGPORT", &port).output().unwrap();
            assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    server.end("TERM");
    assert!(!socket.exists() && !lock.exists(), "they are removed");
    assert!(!folder.path().join(format!("data/.s.PGSQL.{port}.lock")).exists());
}

#[test]
fn a_stop_at_once_leaves_no_socket_and_what_a_kill_leaves_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port().to_string();
    let own = folder.path().display().to_string();
    let arguments = ["--port", &port, "--host", "", "--socket-dir", &own];
    let socket = folder.path().join(format!(".s.PGSQL.{port}"));
    let lock = folder.path().join(format!(".s.PGSQL.{port}.lock"));
    let mut server = Process::start(folder.path(), &arguments);
    server.wait_until_up();
    server.end("QUIT");
    assert!(!socket.exists() && !lock.exists());
    std::fs::remove_file(folder.path().join("log")).unwrap();
    let mut server = Process::start(folder.path(), &arguments);
    server.wait_until_up();
    server.end("KILL");
    assert!(socket.exists() && lock.exists());
    std::fs::remove_file(folder.path().join("log")).unwrap();
    let mut server = Process::start(folder.path(), &arguments);
    server.wait_until_up();
    let url = format!("host={own} port={port} user=postgres");
    Client::connect(&url, NoTls).unwrap();
}

#[test]
fn a_server_takes_no_socket_from_another_one() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let shared = tempfile::tempdir().unwrap();
    let port = free_port().to_string();
    let list = format!("{}, {}", shared.path().display(), first.path().display());
    let mut server = Process::start(first.path(), &["--port", &port, "--host", "", "--socket-dir", &list]);
    server.wait_until_up();
    let holder = |folder: &Path| std::fs::read_to_string(folder.join(format!(".s.PGSQL.{port}.lock"))).unwrap();
    let lock = holder(shared.path());
    assert_eq!(lock.lines().next(), Some(server.child.id().to_string().as_str()));

    // It has nowhere else to go.
    let alone = shared.path().display().to_string();
    let mut refused = Process::start(second.path(), &["--port", &port, "--host", "", "--socket-dir", &alone]);
    assert!(!refused.child.wait().unwrap().success());
    assert!(refused.log().contains("another server"), "{}", refused.log());

    // It has a folder of its own, too.
    std::fs::remove_file(second.path().join("log")).unwrap();
    let list = format!("{},{}", shared.path().display(), second.path().display());
    let mut other = Process::start(second.path(), &["--port", &port, "--host", "", "--socket-dir", &list]);
    other.wait_until_up();
    assert!(other.log().contains("WARNING:  another server answers"), "{}", other.log());
    assert_eq!(holder(shared.path()), lock);
    let connect = |folder: &Path| {
        let url = format!("host={} port={port} user=postgres", folder.display());
        Client::connect(&url, NoTls).unwrap()
    };
    connect(second.path()).batch_execute("create table of_the_second ()").unwrap();
    assert!(connect(shared.path()).batch_execute("table of_the_second").is_err());
    other.end("TERM");
    connect(shared.path());
    assert_eq!(holder(shared.path()), lock);
}

#[test]
fn sockets_have_the_permissions_and_the_group_that_are_set() {
    let group = String::from_utf8(Command::new("id").arg("-g").output().unwrap().stdout).unwrap();
    let group = group.trim();
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["unix_socket_permissions=0750", &format!("unix_socket_group={group}")]);
    let metadata = std::fs::metadata(server.socket()).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o750);
    let lock = std::fs::metadata(format!("{}.lock", server.socket().display())).unwrap();
    assert_eq!(lock.permissions().mode() & 0o777, 0o600);
    assert_eq!(server.psql("show unix_socket_directories"), folder.path().display().to_string());
    assert_eq!(server.psql("show port"), server.port().to_string());
}
