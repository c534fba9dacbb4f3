//! How the descriptors that the system allows a process are shared out, so that nobody takes those that another can't do without.
//!
//! | for | how many |
//! | --- | --- |
//! | open before the start | as counted |
//! | a database's own files ([`OWN_FILES`]), and what each thread opens for a moment | a fixed number |
//! | a server's listeners, polls and wakers | a fixed number, one a listener, and two a worker |
//! | monitoring: metrics, dashboard | a fixed number each, and connections by the limit |
//! | commit positions for old snapshots | a sixteenth of the rest, at least 4: more files are closed and opened again |
//! | tables and indexes | a quarter of what then remains, 8 to 512: more files are closed and opened again |
//! | files of statements: what spills, COPY | an eighth of it, at least 8: a statement that needs one more fails with 53000 |
//! | connections | what is left, at least 16: one more is refused with 53300 |
//!
//! Only the last four shares shrink. A process that can't have the least of each is refused before it touches a file.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most files of its own that one folder of databases has open at a time. Each holder keeps to its number:
///
/// | | |
/// | --- | --- |
/// | lock, control file, double-write area | 3 |
/// | log: the segment being written and the next one, one being synced, an older one, one being made, the directory | 6 |
/// | segments of the commit log | [`STATUS_FILES`] |
pub const OWN_FILES: usize = 3 + 6 + STATUS_FILES;

/// Segments of the commit log that are held open at a time.
pub const STATUS_FILES: usize = 8;

/// The most that one thread has open for a moment: a file that is being read, written or made though its place was given to
/// another one, one that it is closing, and a directory.
const MOMENTARY: usize = 3;

/// Threads of a database that use its files: checkpointer, tidy, vacuum, file remover, log writer.
const BACKGROUND_THREADS: usize = 5;

const SPILLED_MIN: usize = 4;
const TABLES_MIN: usize = 8;
const TABLES_MAX: usize = 512;
const STATEMENTS_MIN: usize = 8;
const CONNECTIONS_MIN: usize = 16;

/// A server's poll and waker, its sockets for signals, and a connection that is accepted and not counted yet. Its listeners are
/// counted beside them.
const SERVER: usize = 8;
/// A worker's poll and waker.
const WORKER: usize = 2;
/// An HTTP server's listener and runtime.
const MONITOR: usize = 8;
/// Smallest number of connections of an HTTP server.
const MONITOR_CONNECTIONS_MIN: usize = 4;
const MONITOR_CONNECTIONS_MAX: usize = 64;

/// How many descriptors the process may have.
pub fn limit() -> usize {
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

/// Raises the limit as far as the system lets the process do it. Where that fails, the limit stays.
pub fn raise_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// How many descriptors the process has open.
fn open_now() -> usize {
    // One of those listed is the listing's own. Where there is no such directory it has the standard streams, for all we know.
    std::fs::read_dir("/dev/fd").map_or(3, |listed| listed.count().saturating_sub(1))
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The files of a database that are many: how many of each kind may be open at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileShare {
    /// Files with commit positions for old snapshots.
    pub spilled: usize,
    /// Tables and indexes.
    pub tables: usize,
    /// Files of statements.
    pub statements: usize,
}

impl FileShare {
    /// A database is not opened with a share that is smaller than its part of this.
    pub const SMALLEST: FileShare = FileShare { spilled: SPILLED_MIN, tables: TABLES_MIN, statements: STATEMENTS_MIN };

    /// The shares of a database that a program embeds. The process's limit stays as it is.
    pub fn of_process() -> FileShare {
        FileShare::of(limit())
    }

    fn of(limit: usize) -> FileShare {
        let spilled = (limit / 16).max(SPILLED_MIN);
        let remaining = limit.saturating_sub(spilled);
        let tables = (remaining / 4).clamp(TABLES_MIN, TABLES_MAX);
        FileShare { spilled, tables, statements: (remaining / 8).max(STATEMENTS_MIN) }
    }

    /// The most descriptors that a database has open, used by so many threads at a time.
    pub const fn most_open(&self, threads: usize) -> usize {
        OWN_FILES + self.spilled + self.tables + self.statements + MOMENTARY * threads
    }

    /// Checks that no share is smaller than in [`FileShare::SMALLEST`], and that the process may have as many descriptors as the
    /// database will have, used by one thread and its own.
    ///
    /// # Errors
    /// If a share is too small, or the process may not have so many.
    pub fn check(&self) -> Result<(), TooFew> {
        let enlarged = FileShare {
            spilled: self.spilled.max(SPILLED_MIN),
            tables: self.tables.max(TABLES_MIN),
            statements: self.statements.max(STATEMENTS_MIN),
        };
        let needed = enlarged.most_open(1 + BACKGROUND_THREADS);
        if enlarged != *self {
            return Err(TooFew { allowed: self.most_open(1 + BACKGROUND_THREADS), needed });
        }
        let allowed = limit();
        if allowed < needed { Err(TooFew { allowed, needed }) } else { Ok(()) }
    }

    /// Returns how many connections a server may have. The server listens already, has so many workers, and serves a database
    /// that was opened with these shares. The files that the database has open by now count twice, because they can't be told
    /// from the other files that the process has open.
    ///
    /// # Errors
    /// If the system allows too few.
    pub fn connections_beside(&self, workers: usize) -> Result<usize, TooFew> {
        self.connections_of(limit(), open_now(), workers)
    }

    fn connections_of(&self, allowed: usize, open_now: usize, workers: usize) -> Result<usize, TooFew> {
        let others = open_now + self.most_open(threads(workers)) + SERVER + WORKER * workers;
        let needed = others + CONNECTIONS_MIN;
        if allowed < needed { Err(TooFew { allowed, needed }) } else { Ok(allowed - others) }
    }
}

/// The threads that use the files of a server's database: workers, helpers of scans, and the database's own.
fn threads(workers: usize) -> usize {
    workers + processors() + BACKGROUND_THREADS
}

/// The parts of a server that need descriptors, beside its database and its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerSize {
    /// Sockets that it listens on.
    pub listeners: usize,
    /// Threads that run sessions.
    pub workers: usize,
    /// HTTP servers for monitoring.
    pub monitors: usize,
}

/// How a server's process shares out its descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerShare {
    /// The files of its database.
    pub files: FileShare,
    /// How many connections may be open.
    pub connections: usize,
}

impl ServerShare {
    /// The shares of a server that is about to start, of the descriptors that the process does not have open yet.
    ///
    /// # Errors
    /// If the system allows too few.
    pub fn of_process(server: &ServerSize) -> Result<ServerShare, TooFew> {
        ServerShare::of(limit(), open_now(), server)
    }

    fn of(limit: usize, open_now: usize, server: &ServerSize) -> Result<ServerShare, TooFew> {
        let ServerSize { listeners, workers, monitors } = *server;
        let unmonitored = open_now + OWN_FILES + MOMENTARY * threads(workers) + SERVER + listeners + WORKER * workers;
        let fixed = |limit| unmonitored + monitors * (MONITOR + monitor_connections(limit));
        let least = |limit| fixed(limit) + SPILLED_MIN + TABLES_MIN + STATEMENTS_MIN + CONNECTIONS_MIN;
        // The higher the limit, the more connections a monitor has.
        let mut needed = least(0);
        while needed < least(needed) {
            needed = least(needed);
        }
        if limit < needed {
            return Err(TooFew { allowed: limit, needed });
        }
        let rest = limit - fixed(limit);
        let files = FileShare::of(rest);
        let connections = rest - files.spilled - files.tables - files.statements;
        Ok(ServerShare { files, connections })
    }
}

/// The most connections of an HTTP server for monitoring.
pub fn connections_of_monitor() -> usize {
    monitor_connections(limit())
}

fn monitor_connections(limit: usize) -> usize {
    (limit / 32).clamp(MONITOR_CONNECTIONS_MIN, MONITOR_CONNECTIONS_MAX)
}

/// There are fewer descriptors than are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFew {
    /// How many the process, or the database, may have.
    pub allowed: usize,
    /// How many are needed at least.
    pub needed: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: ServerSize = ServerSize { listeners: 2, workers: 2, monitors: 0 };

    fn total(share: ServerShare, open_now: usize, server: &ServerSize, limit: usize) -> usize {
        let ServerSize { listeners, workers, monitors } = *server;
        let monitoring = monitors * (MONITOR + monitor_connections(limit));
        let files = share.files.most_open(threads(workers));
        open_now + files + SERVER + listeners + WORKER * workers + monitoring + share.connections
    }

    #[test]
    fn all_shares_together_are_never_more_than_the_limit() {
        for (listeners, workers, monitors) in [(1, 1, 0), (2, 2, 2), (100, 64, 1)] {
            let server = ServerSize { listeners, workers, monitors };
            let TooFew { needed, .. } = ServerShare::of(10, 5, &server).unwrap_err();
            assert!(ServerShare::of(needed - 1, 5, &server).is_err());
            for limit in (needed..needed + 3000).chain([20_000, 1 << 20]) {
                let share = ServerShare::of(limit, 5, &server).unwrap();
                assert!(total(share, 5, &server, limit) <= limit, "{limit}: {share:?}");
                assert!(share.files.tables >= TABLES_MIN && share.files.statements >= STATEMENTS_MIN, "{share:?}");
                assert!(share.files.spilled >= SPILLED_MIN, "{share:?}");
                assert!(share.connections >= CONNECTIONS_MIN, "{limit}: {share:?}");
            }
        }
    }

    #[test]
    fn an_embedded_database_and_its_server_are_never_given_more_than_the_limit() {
        for workers in [1, 4, 64] {
            for limit in (0..3000).chain([20_000, 1 << 20, usize::MAX]) {
                let files = FileShare::of(limit);
                match files.connections_of(limit, 20, workers) {
                    Ok(connections) => {
                        let total = 20 + files.most_open(threads(workers)) + SERVER + WORKER * workers + connections;
                        assert!(total <= limit && connections >= CONNECTIONS_MIN, "{limit}: {files:?}, {connections}");
                    }
                    Err(TooFew { allowed, needed }) => assert!(allowed == limit && needed > limit && limit < 20_000),
                }
            }
        }
    }

    #[test]
    fn a_share_that_is_smaller_than_the_smallest_is_refused_whatever_the_sum() {
        FileShare::SMALLEST.check().unwrap();
        for less in [
            FileShare { spilled: SPILLED_MIN - 1, tables: 100, ..FileShare::SMALLEST },
            FileShare { tables: TABLES_MIN - 1, statements: 100, ..FileShare::SMALLEST },
            FileShare { statements: STATEMENTS_MIN - 1, spilled: 100, ..FileShare::SMALLEST },
        ] {
            let TooFew { allowed, needed } = less.check().unwrap_err();
            assert_eq!(needed - allowed, 1);
        }
    }

    #[test]
    fn most_of_many_are_for_connections_and_many_are_for_old_snapshots() {
        let share = ServerShare::of(20_000, 5, &SMALL).unwrap();
        assert_eq!(share.files.tables, TABLES_MAX);
        assert!(share.files.spilled > 1000, "{share:?}");
        assert!(share.connections > 15_000, "{share:?}");
    }

    #[test]
    fn a_process_without_a_limit_has_enough_of_everything() {
        let share = ServerShare::of(usize::MAX, 5, &SMALL).unwrap();
        assert!(share.connections > 1 << 40 && share.files.statements > 1 << 40);
    }
}
