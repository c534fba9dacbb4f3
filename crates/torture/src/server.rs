//! The server's process: started, watched, signalled, killed.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::wire::{Address, Wire};

/// How long a start may take.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The program, folder, port and settings of each server of a run.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program.
    pub program: PathBuf,
    /// Holds the data, the socket and the server's messages.
    pub folder: PathBuf,
    /// The port of all its lives.
    pub port: u16,
    /// Settings, each `name=value`.
    pub settings: Vec<String>,
}

impl Launch {
    /// Where clients connect to.
    pub fn address(&self) -> Address {
        Address { folder: self.folder.clone(), port: self.port }
    }

    /// The file of the server's messages.
    pub fn messages(&self) -> PathBuf {
        self.folder.join("server.log")
    }

    /// Starts a process and does not wait until it answers.
    ///
    /// # Errors
    /// When the program can't be run.
    pub fn spawn(&self) -> Result<Server, String> {
        let open = || File::options().create(true).append(true).open(self.messages());
        let messages = open().map_err(|error| format!("can't write the server's messages: {error}"))?;
        let mut command = Command::new(&self.program);
        command.arg("serve").arg(self.folder.join("data"));
        command.args(["--host", "127.0.0.1", "--port", &self.port.to_string()]).arg("--socket-dir").arg(&self.folder);
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        command.env("RUST_BACKTRACE", "1").stdin(Stdio::null()).stdout(Stdio::null()).stderr(messages);
        let child = command.spawn().map_err(|error| format!("can't run {}: {error}", self.program.display()))?;
        Ok(Server { child, address: self.address() })
    }

    /// The servers' messages from this place in the file on, and the place where the file ends now.
    pub fn messages_since(&self, offset: usize) -> (String, usize) {
        let bytes = std::fs::read(self.messages()).unwrap_or_default();
        (String::from_utf8_lossy(&bytes[offset.min(bytes.len())..]).into_owned(), bytes.len())
    }
}

/// One life of the server.
pub struct Server {
    child: Child,
    address: Address,
}

impl Server {
    /// Its process number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it answers.
    ///
    /// # Errors
    /// When it ends instead, or does not answer in time.
    pub async fn wait_until_up(&mut self) -> Result<(), String> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.ended() {
                return Err(format!("the server ended while it started: {status}"));
            }
            let connecting = Wire::open(&self.address, false, "");
            if let Ok(Ok(_)) = tokio::time::timeout(Duration::from_secs(1), connecting).await {
                return Ok(());
            }
            if started.elapsed() > START_LIMIT {
                return Err(format!("the server did not answer {} s after its start", START_LIMIT.as_secs()));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
            // It may have ended already; that is noticed elsewhere.
            let _ = kill_process(pid, signal);
        }
    }

    /// SIGKILL, unless it has ended by itself, which is an error.
    ///
    /// # Errors
    /// How it had ended before.
    pub fn kill(mut self) -> Result<(), String> {
        if let Some(status) = self.ended() {
            return Err(format!("the server ended by itself: {status}"));
        }
        self.signal(Signal::KILL);
        match self.child.wait() {
            Ok(status) if status.signal() == Some(9) => Ok(()),
            Ok(status) => Err(format!("the server ended by itself: {status}")),
            Err(error) => Err(format!("can't wait for the server: {error}")),
        }
    }

    /// SIGTERM, and waits for an orderly end. Half of the time is for running statements. Then another SIGTERM interrupts those that
    /// wait for a lock of a prepared transaction, and could wait for ever.
    ///
    /// # Errors
    /// When it does not end in time or not in order; it is left running then.
    pub async fn stop(&mut self, limit: Duration) -> Result<(), String> {
        self.signal(Signal::TERM);
        let started = Instant::now();
        let mut interrupts_at = Some(started + limit / 2);
        loop {
            match self.ended() {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("the server did not stop in order: {status}")),
                None if started.elapsed() > limit => {
                    return Err(format!("the server did not stop {} s after SIGTERM", limit.as_secs()));
                }
                None => tokio::time::sleep(Duration::from_millis(10)).await,
            }
            if interrupts_at.take_if(|at| *at < Instant::now()).is_some() {
                self.signal(Signal::TERM);
            }
        }
    }

    /// Its memory in megabytes, its descriptors and its threads.
    pub fn usage(&self) -> Usage {
        Usage::of(self.child.id()).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing outlives a run. It has ended already in most cases.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The resources that a process uses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Resident memory.
    pub memory_mb: u64,
    /// Open descriptors.
    pub descriptors: usize,
    /// Threads.
    pub threads: usize,
}

impl Usage {
    fn of(pid: u32) -> Option<Usage> {
        let folder = Path::new("/proc").join(pid.to_string());
        let status = std::fs::read_to_string(folder.join("status")).ok()?;
        let field = |name: &str| -> Option<u64> {
            status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
        };
        Some(Usage {
            memory_mb: field("VmRSS:")? / 1024,
            descriptors: std::fs::read_dir(folder.join("fd")).ok()?.count(),
            threads: field("Threads:")? as usize,
        })
    }

    /// The larger of each.
    pub fn max(self, other: Usage) -> Usage {
        Usage {
            memory_mb: self.memory_mb.max(other.memory_mb),
            descriptors: self.descriptors.max(other.descriptors),
            threads: self.threads.max(other.threads),
        }
    }
}
