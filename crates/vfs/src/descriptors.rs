//! How the descriptors that the system allows a process are shared out: connections must not take those that files need.
//!
//! | for | how many |
//! | --- | --- |
//! | tables and indexes | a quarter, at most 512: more files are closed and opened again |
//! | files of statements that spill | an eighth |
//! | the log, statuses, listeners | an eighth |
//! | connections | the rest |

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Tables and indexes that are held open at a time, where the system allows so many.
const TABLES_MAX: usize = 512;

/// How many descriptors the process may have.
pub fn limit() -> usize {
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| limit as usize)
}

/// Raises the limit as far as the system lets the process do it. Where that fails, the limit stays.
pub fn raise_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// How many tables' and indexes' files may be open.
pub fn for_tables() -> usize {
    (limit() / 4).clamp(1, TABLES_MAX)
}

/// How many files of statements may be open.
pub fn for_temporary_files() -> usize {
    (limit() / 8).max(1)
}

/// How many connections may be open.
pub fn for_connections() -> usize {
    let limit = limit();
    limit - limit / 4 - for_tables()
}
