//! Looks for leftovers of ended sessions in a server: in its own views, and in its process as the system shows it.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use postgres::Client;

use super::Server;
use super::http::request;

/// How long a server may take to clear away what sessions had.
const CLEARING_LIMIT: Duration = Duration::from_secs(15);
/// How many stacks each worker may keep for sessions to come, with those in use.
const STACKS_PER_WORKER: usize = 64 + 4;
/// The size of a coroutine's stack.
const STACK_BYTES: usize = (2 << 20) - (64 << 10);

/// Watches one server through a connection of its own.
pub struct Watch {
    control: Client,
    process: PathBuf,
    data: PathBuf,
    workers: usize,
    /// Where the server tells its metrics, if its time limits are counted, too.
    metrics_port: Option<u16>,
    before: Resources,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Resources {
    sockets: usize,
    threads: usize,
    files_of_dropped_tables: usize,
}

impl Watch {
    /// Takes note of what a quiet server of `workers` workers has. Its data folder is `data`.
    pub fn start(server: &Server, data: PathBuf, workers: usize) -> Watch {
        let process = PathBuf::from(format!("/proc/{}", server.id()));
        let mut watch = Watch {
            control: server.connect(),
            process,
            data,
            workers,
            metrics_port: None,
            before: Resources { sockets: 0, threads: 0, files_of_dropped_tables: 0 },
        };
        watch.before = watch.resources();
        watch
    }

    /// Also counts the time limits of the server, which shows its metrics at this port. Waits until there are none.
    pub fn counting_time_limits(mut self, metrics_port: u16) -> Watch {
        self.metrics_port = Some(metrics_port);
        // The session of a client that has just hung up may still have one.
        let started = Instant::now();
        while self.time_limits() > 0 {
            assert!(started.elapsed() < CLEARING_LIMIT, "there are {} time limits", self.time_limits());
            std::thread::sleep(Duration::from_millis(10));
        }
        // Resources of sessions that have gone meanwhile are not to be allowed for.
        let (before, now) = (self.before, self.resources());
        self.before = Resources {
            sockets: before.sockets.min(now.sockets),
            threads: before.threads.min(now.threads),
            files_of_dropped_tables: before.files_of_dropped_tables.min(now.files_of_dropped_tables),
        };
        self
    }

    fn time_limits(&self) -> usize {
        let Some(port) = self.metrics_port else { return 0 };
        let (_, body) = request(port, "GET /metrics");
        let count = body.lines().find_map(|line| line.strip_prefix("cohort_time_limits "));
        count.expect("it is among the metrics").parse::<f64>().unwrap() as usize
    }

    fn resources(&self) -> Resources {
        let links = std::fs::read_dir(self.process.join("fd")).unwrap().flatten();
        let names: Vec<String> = links
            .filter_map(|entry| std::fs::read_link(entry.path()).ok())
            .map(|target| target.to_string_lossy().into_owned())
            .collect();
        Resources {
            sockets: names.iter().filter(|name| name.starts_with("socket:")).count(),
            threads: std::fs::read_dir(self.process.join("task")).unwrap().count(),
            files_of_dropped_tables: names
                .iter()
                .filter(|name| name.contains("/base/") && name.ends_with(" (deleted)"))
                .count(),
        }
    }

    fn stacks(&self) -> usize {
        let maps = std::fs::read_to_string(self.process.join("maps")).unwrap();
        let size_bytes = |line: &str| {
            let (from, to) = line.split(' ').next()?.split_once('-')?;
            Some(usize::from_str_radix(to, 16).ok()? - usize::from_str_radix(from, 16).ok()?)
        };
        maps.lines().filter(|line| size_bytes(line).is_some_and(|size| size.abs_diff(STACK_BYTES) <= 8192)).count()
    }

    fn count(&mut self, query: &str) -> i64 {
        self.control.query_one(query, &[]).unwrap().get(0)
    }

    /// A list of the leftovers at this moment; empty if there are none.
    fn left(&mut self) -> String {
        let mut left = String::new();
        for (what, query) in [
            (
                "sessions",
                "select count(*) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'",
            ),
            ("locks", "select count(*) from pg_locks where pid is distinct from pg_backend_pid()"),
            ("temporary schemas", "select count(*) from pg_namespace where nspname like 'pg\\_temp\\_%'"),
            ("prepared transactions", "select count(*) from pg_prepared_xacts"),
        ] {
            let count = self.count(query);
            if count > 0 {
                write!(left, "{count} {what}; ").unwrap();
            }
        }
        let temporary = std::fs::read_dir(self.data.join("tmp")).map_or(0, Iterator::count);
        let (now, stacks, limits) = (self.resources(), self.stacks(), self.time_limits());
        if limits > 0 {
            write!(left, "{limits} time limits; ").unwrap();
        }
        if now.sockets > self.before.sockets {
            write!(left, "{} sockets more; ", now.sockets - self.before.sockets).unwrap();
        }
        if now.threads > self.before.threads {
            write!(left, "{} threads more; ", now.threads - self.before.threads).unwrap();
        }
        if now.files_of_dropped_tables > self.before.files_of_dropped_tables {
            write!(left, "{} files of dropped tables; ", now.files_of_dropped_tables).unwrap();
        }
        if temporary > 0 {
            write!(left, "{temporary} temporary files; ").unwrap();
        }
        if stacks > self.workers * STACKS_PER_WORKER {
            write!(left, "{stacks} stacks; ").unwrap();
        }
        left
    }

    /// Nothing is left of sessions that are gone, and the server answers at once.
    ///
    /// # Panics
    /// If something stays.
    pub fn assert_nothing_is_left(&mut self, after: &str) {
        self.assert_nothing_is_left_within(CLEARING_LIMIT, after);
    }

    /// The same, where clearing away may take longer.
    pub fn assert_nothing_is_left_within(&mut self, limit: Duration, after: &str) {
        let started = Instant::now();
        loop {
            let left = self.left();
            if left.is_empty() {
                break;
            }
            assert!(started.elapsed() < limit, "after {after} there are {left}");
            std::thread::sleep(Duration::from_millis(10));
        }
        let asked = Instant::now();
        assert_eq!(self.count("select count(*) from kept"), 1);
        assert!(
            asked.elapsed() < Duration::from_secs(5),
            "after {after} the server took {:?} to answer",
            asked.elapsed()
        );
    }
}
