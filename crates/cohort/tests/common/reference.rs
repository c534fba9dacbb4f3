//! A real PostgreSQL 15 to compare with.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};

use super::free_port;

/// The binaries of PostgreSQL 15, if they are here. Where CI is set they must be.
pub fn server_binaries() -> Option<PathBuf> {
    let folder =
        std::env::var_os("PG_BINDIR").map_or_else(|| PathBuf::from("/usr/lib/postgresql/15/bin"), PathBuf::from);
    if folder.join("initdb").exists() && folder.join("postgres").exists() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none(), "no PostgreSQL server in {}", folder.display());
    eprintln!("SKIPPED: no PostgreSQL server in {}", folder.display());
    None
}

/// A command of PostgreSQL's, which root may not run: then as the user `postgres`.
fn as_database_user(program: &Path, arguments: &[&str], is_root: bool) -> Command {
    if !is_root {
        let mut command = Command::new(program);
        command.args(arguments);
        return command;
    }
    let mut line = format!("exec '{}'", program.display());
    for argument in arguments {
        write!(line, " '{argument}'").unwrap();
    }
    let mut command = Command::new("su");
    command.args(["postgres", "-s", "/bin/sh", "-c", &line]);
    command
}

/// A real PostgreSQL in a temporary folder, stopped when dropped.
pub struct Reference {
    process: Child,
    folder: tempfile::TempDir,
    port: u16,
    postgres: PathBuf,
    is_root: bool,
}

impl Reference {
    /// Makes a database cluster and starts its server, as the superuser `postgres` without passwords.
    pub fn start(binaries: &Path) -> Reference {
        Reference::start_with(binaries, &[])
    }

    /// The same with settings, each `name=value`.
    pub fn start_with(binaries: &Path, settings: &[&str]) -> Reference {
        let folder = tempfile::tempdir().unwrap();
        let user = Command::new("id").arg("-u").output().unwrap();
        let is_root = user.stdout.trim_ascii() == b"0";
        if is_root {
            assert!(Command::new("chown").arg("postgres").arg(folder.path()).status().unwrap().success());
        }
        let data = folder.path().join("data");
        let arguments =
            ["-D", data.to_str().unwrap(), "--locale=C", "-E", "UTF8", "-A", "trust", "-U", "postgres", "-N"];
        let output = as_database_user(&binaries.join("initdb"), &arguments, is_root)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "initdb: {}", String::from_utf8_lossy(&output.stderr));
        let (port, postgres) = (free_port(), binaries.join("postgres"));
        let process = launch(&postgres, folder.path(), port, settings, is_root);
        let mut reference = Reference { process, folder, port, postgres, is_root };
        reference.wait_until_up();
        reference
    }

    /// Ends the server, by a crash or in order, and starts it again.
    pub fn restart(&mut self, settings: &[&str], by_crash: bool) {
        self.signal(if by_crash { "-QUIT" } else { "-INT" });
        self.process.wait().unwrap();
        self.process = launch(&self.postgres, self.folder.path(), self.port, settings, self.is_root);
        self.wait_until_up();
    }

    fn wait_until_up(&mut self) {
        let started = Instant::now();
        while Client::connect(&self.url(), NoTls).is_err() {
            assert!(self.process.try_wait().unwrap().is_none(), "PostgreSQL ended");
            assert!(started.elapsed() < Duration::from_secs(60), "PostgreSQL did not come up");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Sends a signal to the postmaster, by its own word on its pid: the child may be `su`.
    fn signal(&self, signal: &str) {
        let pid = std::fs::read_to_string(self.folder.path().join("data/postmaster.pid")).unwrap_or_default();
        if let Some(pid) = pid.lines().next() {
            // It may have ended already.
            let _ = Command::new("kill").args([signal, pid]).status();
        }
    }

    /// The port in its socket's name.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where its Unix socket is.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join(format!(".s.PGSQL.{}", self.port))
    }

    /// Where drivers connect to.
    pub fn url(&self) -> String {
        format!("host={} port={} user=postgres dbname=postgres", self.folder.path().display(), self.port)
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        self.signal("-INT");
        let _ = self.process.wait();
    }
}

/// Starts a server on `folder/data`; the socket lies in `folder`.
fn launch(postgres: &Path, folder: &Path, port: u16, settings: &[&str], is_root: bool) -> Child {
    let (data, number) = (folder.join("data"), port.to_string());
    let mut arguments =
        vec!["-D", data.to_str().unwrap(), "-p", &number, "-k", folder.to_str().unwrap(), "-h", "", "-F"];
    for setting in settings {
        arguments.extend(["-c", setting]);
    }
    as_database_user(postgres, &arguments, is_root)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}
