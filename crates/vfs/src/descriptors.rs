//! How the descriptors that the system allows a process are shared out, so that nobody takes those that another can't do without.
//!
//! | for | how many |
//! | --- | --- |
//! | what the process has open when it asks | so many |
//! | a database's own files ([`OWN_FILES`]), and what each thread opens for a moment | a fixed number |
//! | a server's listeners, polls and wakers | a fixed number, and two a worker |
//! | those who look on: metrics, dashboard | a fixed number each |
//! | commit positions for old snapshots | a sixteenth of the rest, at least 4: more files are closed and opened again |
//! | tables and indexes | a quarter of what then remains, 8 to 512: more files are closed and opened again |
//! | files of statements: what spills, COPY | an eighth of it, at least 8: a statement that needs one more fails with 53000 |
//! | connections | what is left, at least 16: one more is refused with 53300 |
//!
//! Only the last four shares shrink. A process that can't have the least of each is refused before it touches a file.

use std::fmt;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What one database may have open of its own at a time, each holder keeping to its number:
///
/// | | |
/// | --- | --- |
/// | lock, control file, double-write area | 3 |
/// | log: the segment being written and the next one, one being synced, an older one, one being made, the directory | 6 |
/// | segments of the commit log | [`STATUS_FILES`] |
pub const OWN_FILES: usize = 3 + 6 + STATUS_FILES;

/// Segments of the commit log that are held open at a time.
pub const STATUS_FILES: usize = 8;

/// What one thread has open for a moment at most: a file that is being read, written or made though its place was given to
/// another one, one that it is closing, and a directory.
const MOMENTARY: usize = 3;

/// Threads of a database that use its files: checkpointer, tidy, vacuum, file remover, log writer.
const BACKGROUND_THREADS: usize = 5;

const SPILLED_MIN: usize = 4;
const TABLES_MIN: usize = 8;
const TABLES_MAX: usize = 512;
const STATEMENTS_MIN: usize = 8;
const CONNECTIONS_MIN: usize = 16;

/// A server's listeners, the acceptor's poll and waker, and a connection that is accepted and not counted yet.
const SERVER: usize = 8;
/// A worker's poll and waker.
const WORKER: usize = 2;
/// An HTTP server's listener and runtime.
const ONLOOKER: usize = 8;
/// What one has connections for at least.
const ONLOOKER_CONNECTIONS_MIN: usize = 4;
const ONLOOKER_CONNECTIONS_MAX: usize = 64;

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
    /// With fewer no database is opened.
    pub const SMALLEST: FileShare = FileShare { spilled: SPILLED_MIN, tables: TABLES_MIN, statements: STATEMENTS_MIN };

    /// What a program takes for a database that it embeds, whose limit it leaves as it is.
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

    /// Whether the process may have as many as the database will have, used by one thread and its own.
    ///
    /// # Errors
    /// If it may not.
    pub fn check(&self) -> Result<(), TooFew> {
        let needed = self.most_open(1 + BACKGROUND_THREADS);
        let allowed = limit();
        if allowed < needed { Err(TooFew { allowed, needed }) } else { Ok(()) }
    }
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
    /// For a server with so many workers, and so many HTTP servers for those who look on, of what the process may have beyond
    /// what it has open now.
    ///
    /// # Errors
    /// If the system allows too few.
    pub fn of_process(workers: usize, onlookers: usize) -> Result<ServerShare, TooFew> {
        ServerShare::of(limit(), open_now(), workers, onlookers)
    }

    fn of(limit: usize, open_now: usize, workers: usize, onlookers: usize) -> Result<ServerShare, TooFew> {
        let threads = workers + processors() + BACKGROUND_THREADS;
        let before_onlookers = open_now + OWN_FILES + MOMENTARY * threads + SERVER + WORKER * workers;
        let fixed = |limit| before_onlookers + onlookers * (ONLOOKER + connections_of_an_onlooker(limit));
        let least = |limit| fixed(limit) + SPILLED_MIN + TABLES_MIN + STATEMENTS_MIN + CONNECTIONS_MIN;
        // The more there are, the more onlookers have.
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

/// How many connections a server may have beside a database with [`FileShare::of_process`].
pub fn for_connections() -> usize {
    let limit = limit();
    let FileShare { spilled, tables, statements } = FileShare::of(limit);
    (limit - limit / 8).saturating_sub(spilled).saturating_sub(tables).saturating_sub(statements)
}

/// How many connections one of those servers may have that are for who looks on.
pub fn for_onlookers() -> usize {
    connections_of_an_onlooker(limit())
}

fn connections_of_an_onlooker(limit: usize) -> usize {
    (limit / 32).clamp(ONLOOKER_CONNECTIONS_MIN, ONLOOKER_CONNECTIONS_MAX)
}

/// The system allows the process fewer descriptors than it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFew {
    /// So many are allowed.
    pub allowed: usize,
    /// So many are needed at least.
    pub needed: usize,
}

impl fmt::Display for TooFew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} open files are allowed, {} are needed", self.allowed, self.needed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(share: ServerShare, open_now: usize, workers: usize, onlookers: usize, limit: usize) -> usize {
        let threads = workers + processors() + BACKGROUND_THREADS;
        let looking_on = onlookers * (ONLOOKER + connections_of_an_onlooker(limit));
        open_now + share.files.most_open(threads) + SERVER + WORKER * workers + looking_on + share.connections
    }

    #[test]
    fn all_shares_together_are_never_more_than_the_limit() {
        for (workers, onlookers) in [(1, 0), (2, 2), (64, 1)] {
            let TooFew { needed, .. } = ServerShare::of(10, 5, workers, onlookers).unwrap_err();
            assert!(ServerShare::of(needed - 1, 5, workers, onlookers).is_err());
            for limit in (needed..needed + 3000).chain([20_000, 1 << 20]) {
                let share = ServerShare::of(limit, 5, workers, onlookers).unwrap();
                assert!(total(share, 5, workers, onlookers, limit) <= limit, "{limit}: {share:?}");
                assert!(share.files.tables >= TABLES_MIN && share.files.statements >= STATEMENTS_MIN, "{share:?}");
                assert!(share.files.spilled >= SPILLED_MIN, "{share:?}");
                assert!(share.connections >= CONNECTIONS_MIN, "{limit}: {share:?}");
            }
        }
    }

    #[test]
    fn most_of_many_are_for_connections_and_many_are_for_old_snapshots() {
        let share = ServerShare::of(20_000, 5, 2, 0).unwrap();
        assert_eq!(share.files.tables, TABLES_MAX);
        assert!(share.files.spilled > 1000, "{share:?}");
        assert!(share.connections > 15_000, "{share:?}");
    }

    #[test]
    fn a_process_without_a_limit_has_enough_of_everything() {
        let share = ServerShare::of(usize::MAX, 5, 2, 0).unwrap();
        assert!(share.connections > 1 << 40 && share.files.statements > 1 << 40);
    }
}
