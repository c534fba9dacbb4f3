//! The Unix sockets of a server. Beside each lies a lock file with the number of the server's process, as PostgreSQL has
//! it. So neither Cohort nor PostgreSQL takes the socket of the other while that process lives. The files of a dead
//! server are removed.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base::{Error, Result, sqlstate};
use mio::net::UnixListener;
use rustix::fs::OFlags;
use rustix::process::{Pid, test_kill_process};

/// Where a server's Unix sockets are, and who may use them.
#[derive(Clone, Debug, Default)]
pub struct SocketOptions {
    /// Their folders; none for no Unix socket.
    pub directories: Vec<PathBuf>,
    /// Access permissions.
    pub permissions: u32,
    /// The group that they belong to, by its name or number; empty for the server's own.
    pub group: String,
    /// The data folder, which the lock files name.
    pub data_directory: PathBuf,
}

impl SocketOptions {
    /// One socket in this folder, with these access permissions.
    pub fn in_directory(directory: &Path, permissions: u32) -> SocketOptions {
        let directory = directory.to_owned();
        SocketOptions {
            directories: vec![directory.clone()],
            permissions,
            group: String::new(),
            data_directory: directory,
        }
    }

    /// Listens in each folder. One that can't be had is told of, and is an error only if it was the last hope.
    ///
    /// # Errors
    /// F0001 and those of the system, if there are folders and none of them can have the socket.
    pub fn listen(&self, port: u16) -> Result<Vec<(UnixSocket, UnixListener)>> {
        let mut open = Vec::new();
        let mut failure = None;
        for directory in &self.directories {
            match UnixSocket::listen(directory, port, self) {
                Ok(socket) => open.push(socket),
                Err(error) => {
                    if let Some(earlier) = failure.replace(error) {
                        warn(&earlier);
                    }
                }
            }
        }
        match failure {
            Some(error) if open.is_empty() => return Err(error),
            Some(error) => warn(&error),
            None => {}
        }
        Ok(open)
    }
}

fn warn(error: &Error) {
    let hint = error.fields().hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    log::warn!("{}{hint}", error.message());
}

/// A socket's file and its lock file. Dropped, it removes both.
pub struct UnixSocket {
    path: PathBuf,
    lock: PathBuf,
}

impl UnixSocket {
    fn listen(directory: &Path, port: u16, options: &SocketOptions) -> Result<(UnixSocket, UnixListener)> {
        let path = directory.join(format!(".s.PGSQL.{port}"));
        let what = |text: &str| format!("{text} Unix-domain socket \"{}\"", path.display());
        let group = group_number(&options.group)?;
        let address = socket2::SockAddr::unix(&path).map_err(|_| {
            Error::new(sqlstate::CONFIG_FILE_ERROR, what("the path is too long for the")).hint("Choose another folder.")
        })?;
        // A server that has no lock file.
        if path.exists() && is_answered(&address) {
            return Err(Error::new(sqlstate::LOCK_FILE_EXISTS, what("another server answers on"))
                .hint("Stop it, or choose another port or socket folder."));
        }
        let lock = directory.join(format!(".s.PGSQL.{port}.lock"));
        take_lock(&lock, &path, port, options)?;
        // From here on both are removed if something fails.
        let socket_files = UnixSocket { path: path.clone(), lock };
        let attempt = || {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None)?;
            socket.bind(&address)?;
            if group.is_some() {
                std::os::unix::fs::chown(&path, None, group)?;
            }
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(options.permissions))?;
            socket.listen(4096)?;
            socket.set_nonblocking(true)?;
            Ok(UnixListener::from_std(socket.into()))
        };
        let listener = attempt().map_err(|error: std::io::Error| Error::io(what("could not listen on"), &error))?;
        Ok((socket_files, listener))
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        // The next start removes what stays. The socket goes first: its lock covers it to its end.
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_file(&self.lock);
    }
}

/// Whether somebody accepts connections there, or would if fewer waited.
fn is_answered(address: &socket2::SockAddr) -> bool {
    let attempt = || {
        let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket.connect(address)
    };
    match attempt() {
        Ok(()) => true,
        Err(error) => error.kind() == ErrorKind::WouldBlock,
    }
}

/// The number of a group.
///
/// # Errors
/// F0000 if there is none of this name.
fn group_number(group: &str) -> Result<Option<u32>> {
    if group.is_empty() {
        return Ok(None);
    }
    if let Ok(number) = group.parse() {
        return Ok(Some(number));
    }
    match uzers::get_group_by_name(group) {
        Some(found) => Ok(Some(found.gid())),
        None => Err(Error::new(sqlstate::CONFIG_FILE_ERROR, format!("group \"{group}\" does not exist"))),
    }
}

/// A lock file is no longer than this: paths have 4,096 bytes at most.
const LOCK_BYTES_MAX: u64 = 16 << 10;

/// Tries to make the lock file so often: another server may be about to write or to remove its own.
const LOCK_ATTEMPTS: usize = 100;

/// Makes a socket's lock file.
///
/// # Errors
/// F0001 if a server that lives has it; those of the system.
fn take_lock(lock: &Path, socket: &Path, port: u16, options: &SocketOptions) -> Result<()> {
    let failed =
        |text: &str, error: &std::io::Error| Error::io(format!("{text} lock file \"{}\"", lock.display()), error);
    let own = std::process::id();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let text = format!(
        "{own}\n{}\n{now}\n{port}\n{}\n",
        options.data_directory.display(),
        socket.parent().unwrap_or(socket).display()
    );
    for attempt in 1..=LOCK_ATTEMPTS {
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(lock) {
            Ok(mut file) => {
                return file.write_all(text.as_bytes()).map_err(|error| {
                    // An empty one would be in the way of the next.
                    let _ = std::fs::remove_file(lock);
                    failed("could not write", &error)
                });
            }
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(failed("could not create", &error)),
            Err(_) => {}
        }
        let mut found = String::new();
        // A folder such as /tmp is everybody's. A link may point to a secret, and a pipe has no end.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(lock);
        match opened.and_then(|file| file.take(LOCK_BYTES_MAX).read_to_string(&mut found)) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(failed("could not read", &error)),
            Ok(_) => {}
        }
        let holder = found.lines().next().and_then(|line| line.trim().parse::<i32>().ok());
        let Some(holder) = holder else {
            // It is being written, unless it stays so.
            if attempt < LOCK_ATTEMPTS {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
            let first_line = found.lines().next().unwrap_or_default();
            let message = format!("bogus data in lock file \"{}\": \"{first_line}\"", lock.display());
            return Err(Error::new(sqlstate::LOCK_FILE_EXISTS, message).hint("Remove it if no server is running."));
        };
        if holder.unsigned_abs() != own && is_alive(holder.saturating_abs()) {
            let message = format!("lock file \"{}\" already exists", lock.display());
            return Err(Error::new(sqlstate::LOCK_FILE_EXISTS, message).hint(format!(
                "Is another server (PID {}) using socket file \"{}\"?",
                holder.saturating_abs(),
                socket.display()
            )));
        }
        if let Err(error) = std::fs::remove_file(lock)
            && error.kind() != ErrorKind::NotFound
        {
            return Err(failed("could not remove the stale", &error));
        }
    }
    Err(Error::new(sqlstate::LOCK_FILE_EXISTS, format!("lock file \"{}\" is made again and again", lock.display())))
}

/// Whether a process of this number runs. A zombie does not run.
fn is_alive(number: i32) -> bool {
    let Some(pid) = Pid::from_raw(number) else { return false };
    let exists = match test_kill_process(pid) {
        Ok(()) => true,
        Err(error) => error == rustix::io::Errno::PERM,
    };
    let state = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    let is_zombie = state.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z'));
    exists && !is_zombie
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(folders: &[&Path]) -> SocketOptions {
        let directories = folders.iter().map(|folder| folder.to_path_buf()).collect();
        SocketOptions { directories, permissions: 0o700, ..SocketOptions::default() }
    }

    #[test]
    fn a_socket_of_a_server_that_lives_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let mut sleeper = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let lock = folder.path().join(".s.PGSQL.1.lock");
        std::fs::write(&lock, format!("{}\n", sleeper.id())).unwrap();
        let refused = options(&[folder.path()]).listen(1).err().unwrap();
        assert_eq!(refused.sqlstate(), sqlstate::LOCK_FILE_EXISTS);
        assert!(refused.message().contains("already exists"), "{}", refused.message());
        assert!(lock.exists());
        options(&[folder.path()]).listen(2).expect("another port is another socket");
        // Its end is noted later.
        sleeper.kill().unwrap();
        let begun = std::time::Instant::now();
        while options(&[folder.path()]).listen(1).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(20));
        }
        sleeper.wait().unwrap();
    }

    #[test]
    fn neither_a_pipe_nor_a_link_in_place_of_a_lock_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let (lock, secret) = (folder.path().join(".s.PGSQL.1.lock"), folder.path().join("secret"));
        assert!(std::process::Command::new("mkfifo").arg(&lock).status().unwrap().success());
        assert!(options(&[folder.path()]).listen(1).is_err());
        std::fs::remove_file(&lock).unwrap();
        std::fs::write(&secret, "the secret\n").unwrap();
        std::os::unix::fs::symlink(&secret, &lock).unwrap();
        let refused = options(&[folder.path()]).listen(1).err().unwrap();
        assert!(!refused.message().contains("the secret"), "{}", refused.message());
        assert!(secret.exists());
    }

    #[test]
    fn what_a_dead_server_has_left_is_removed_and_nothing_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (socket, lock) = (folder.path().join(".s.PGSQL.1"), folder.path().join(".s.PGSQL.1.lock"));
        drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
        std::fs::write(&lock, format!("{}\n/data\n", std::process::id())).unwrap();
        let open = options(&[folder.path()]).listen(1).unwrap();
        assert!(std::os::unix::net::UnixStream::connect(&socket).is_ok());
        let text = std::fs::read_to_string(&lock).unwrap();
        assert_eq!(text.lines().next(), Some(std::process::id().to_string().as_str()));
        drop(open);
        assert!(!socket.exists() && !lock.exists());
    }

    #[test]
    fn one_folder_is_enough_and_none_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        assert_eq!(options(&[&missing, folder.path()]).listen(1).unwrap().len(), 1);
        assert!(options(&[&missing]).listen(1).is_err());
        assert!(options(&[]).listen(1).unwrap().is_empty());
        // A server without a lock file.
        let _answers = std::os::unix::net::UnixListener::bind(folder.path().join(".s.PGSQL.2")).unwrap();
        assert!(options(&[folder.path()]).listen(2).is_err());
        assert!(!folder.path().join(".s.PGSQL.2.lock").exists());
    }

    #[test]
    fn groups_have_names_and_numbers() {
        assert_eq!(group_number("").unwrap(), None);
        assert_eq!(group_number("17").unwrap(), Some(17));
        assert_eq!(group_number("root").unwrap(), Some(0));
        assert!(group_number("no such group").is_err());
    }
}
