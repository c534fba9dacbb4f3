//! The server that a wire driver runs against: one of our own in this process, or any other.

use std::time::{Duration, Instant};

use base::{Error, Result, sqlstate};
use engine::{ClogUpdate, TwophaseState};
use postgres::{Client, NoTls};
use server::{CurrentCredentials, Server, ServerOptions, SocketOptions, StopMode};
use sql::Instance;

use crate::disk::Disk;
use crate::driver::{BRANCHES, COUNTED_ROWS, EngineCounts, LatchCounts, Switches, TELLERS, UPDATE_ROWS};
use crate::embedded;

/// How long a reloaded configuration may take until it shows.
const RELOAD_TIME: Duration = Duration::from_secs(10);
/// How prepared transactions of the lab are called.
pub const GID_PREFIX: &str = "cohort_lab ";

/// Converts an error of the PostgreSQL driver: its text in one line, with its SQLSTATE.
pub fn failed(error: &tokio_postgres::Error) -> Error {
    match error.as_db_error() {
        Some(database) => Error::internal(format!(
            "the server says: {} (SQLSTATE {}){}",
            database.message(),
            database.code().code(),
            database.hint().map(|hint| format!("; {hint}")).unwrap_or_default()
        )),
        None => {
            use std::error::Error as _;
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            Error::new(sqlstate::CONNECTION_FAILURE, format!("{error}{cause}"))
        }
    }
}

/// The kind of a server.
#[derive(Clone, Debug)]
pub struct ServerKind {
    /// The answer of `version()`.
    pub version: String,
    /// The server is Cohort, whose switches can be set.
    pub has_switches: bool,
}

impl ServerKind {
    /// Asks the server at `url`.
    ///
    /// # Errors
    /// 08006 when the server can't be reached, and errors of the server.
    pub fn of(url: &str) -> Result<ServerKind> {
        ServerKind::read(&mut connect(url)?)
    }

    fn read(client: &mut Client) -> Result<ServerKind> {
        let query =
            "select version(), (select count(*) from pg_settings where name in ('group_commit', 'clog_update'))";
        let row = client.query_one(query, &[]).map_err(|error| failed(&error))?;
        Ok(ServerKind { version: row.get(0), has_switches: row.get::<_, i64>(1) == 2 })
    }
}

fn connect(url: &str) -> Result<Client> {
    Client::connect(url, NoTls).map_err(|error| failed(&error))
}

/// A server with the workloads' tables.
pub struct Target {
    url: String,
    control: Client,
    kind: ServerKind,
    /// The original values of the switches of another Cohort server.
    found: Vec<(String, String)>,
    /// The server, if this process runs it.
    own: Option<Own>,
}

struct Own {
    server: Option<Server>,
    database: engine::Database,
    _folder: tempfile::TempDir,
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop(StopMode::AtOnce);
        }
    }
}

impl Target {
    /// A server of our own on `disk`, its `sli_test` with `sli_rows` rows.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn own(disk: Disk, sli_rows: i32) -> Result<Target> {
        let (database, folder) = embedded::open(disk)?;
        let server = Server::start(
            Instance::new(database.clone()),
            &ServerOptions {
                host: "127.0.0.1".to_owned(),
                port: 0,
                sockets: SocketOptions::in_directory(folder.path(), 0o700),
                worker_count: 0,
                connections: None,
                max_connections: 2000,
                superuser_reserved_connections: 0,
                credentials: CurrentCredentials::default(),
            },
        )?;
        let url = format!("host={} port={} user=postgres dbname=postgres", folder.path().display(), server.port());
        Target::prepared(url, Some(Own { server: Some(server), database, _folder: folder }), sli_rows)
    }

    /// Any server that `url` leads to.
    ///
    /// # Errors
    /// When it can't be reached, and what it says of the tables.
    pub fn at(url: &str, sli_rows: i32) -> Result<Target> {
        Target::prepared(url.to_owned(), None, sli_rows)
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }

    fn prepared(url: String, own: Option<Own>, sli_rows: i32) -> Result<Target> {
        let mut control = connect(&url)?;
        let kind = ServerKind::read(&mut control)?;
        let mut target = Target { url, control, kind, found: Vec::new(), own };
        target.finish_orphans()?;
        target.make_tables(sli_rows)?;
        Ok(target)
    }

    /// Rolls back what a run that was killed has left prepared: it would hold locks on the tables.
    fn finish_orphans(&mut self) -> Result<()> {
        let query = "select gid from pg_prepared_xacts where database = current_database() and gid like $1";
        let orphans = self.control.query(query, &[&format!("{GID_PREFIX}%")]).map_err(|error| failed(&error))?;
        for orphan in orphans {
            self.execute(&format!("rollback prepared {}", quoted(orphan.get(0))))?;
        }
        Ok(())
    }

    fn make_tables(&mut self, sli_rows: i32) -> Result<()> {
        self.execute(&format!(
            "drop table if exists cohort_lab_test, cohort_lab_accounts, cohort_lab_sli_test, cohort_lab_counted,
               cohort_lab_tellers, cohort_lab_branches, cohort_lab_history;
             create table cohort_lab_test (id int, info text);
             create table cohort_lab_accounts (aid int primary key, abalance bigint);
             insert into cohort_lab_accounts select generate_series(1, {UPDATE_ROWS}), 0;
             create table cohort_lab_sli_test (id int primary key, info text);
             create table cohort_lab_counted (id int primary key, value bigint);
             insert into cohort_lab_counted select generate_series(1, {COUNTED_ROWS}), 0;
             create table cohort_lab_tellers (tid int primary key, tbalance bigint);
             insert into cohort_lab_tellers select generate_series(1, {TELLERS}), 0;
             create table cohort_lab_branches (bid int primary key, bbalance bigint);
             insert into cohort_lab_branches select generate_series(1, {BRANCHES}), 0;
             create table cohort_lab_history (tid int, bid int, aid int, delta bigint, mtime timestamp);
             create or replace function cohort_lab_f_sli_test(i_id1 int, i_id2 int) returns void as $$
             declare
               v_info text;
             begin
               select info into v_info from cohort_lab_sli_test where id = i_id1;
               update cohort_lab_sli_test set info = v_info where id = i_id2;
             end;
             $$ language plpgsql"
        ))?;
        for first in (1..=sli_rows).step_by(100_000) {
            let last = sli_rows.min(first + 99_999);
            self.execute(&format!(
                "insert into cohort_lab_sli_test select g, 'digoal' || g from generate_series({first}, {last}) g"
            ))?;
        }
        // VACUUM is no part of a string of several statements.
        for statement in ["vacuum analyze cohort_lab_accounts", "vacuum analyze cohort_lab_sli_test", "checkpoint"] {
            self.execute(statement)?;
        }
        Ok(())
    }

    fn execute(&mut self, statements: &str) -> Result<()> {
        self.control.batch_execute(statements).map_err(|error| failed(&error))
    }

    /// Returns the statements with which each session sets its own settings.
    pub fn session_settings(&self, switches: Switches) -> String {
        let delay = match switches.commit_delay_us {
            Some(micros) => micros.to_string(),
            None if self.kind.has_switches => "auto".to_owned(),
            None => "0".to_owned(),
        };
        format!(
            "set commit_delay = {delay}; set commit_siblings = {}; set synchronous_commit = {}; \
             set default_transaction_isolation = '{}'",
            switches.commit_siblings,
            if switches.synchronous_commit { "on" } else { "off" },
            if switches.serializable { "serializable" } else { "read committed" }
        )
    }

    /// Sets the switches that belong to the server as a whole, if it has them.
    ///
    /// # Errors
    /// Errors of the server; 55000 if a switch does not take effect.
    pub fn apply(&mut self, switches: Switches) -> Result<()> {
        if let Some(own) = &self.own {
            embedded::apply(&own.database, switches);
            return Ok(());
        }
        if !self.kind.has_switches {
            return Ok(());
        }
        let wanted = server_settings(switches);
        if self.found.is_empty() {
            for (name, _) in &wanted {
                let found = self.show(name)?;
                self.found.push(((*name).to_owned(), found));
            }
        }
        self.set(&wanted)
    }

    fn show(&mut self, name: &str) -> Result<String> {
        let row = self.control.query_one("select current_setting($1)", &[&name]).map_err(|error| failed(&error))?;
        Ok(row.get(0))
    }

    /// Sets settings of another Cohort, and waits until they hold.
    fn set(&mut self, settings: &[(&'static str, &'static str)]) -> Result<()> {
        for (name, value) in settings {
            self.execute(&format!("alter system set {name} = '{value}'"))?;
        }
        self.execute("select pg_reload_conf()")?;
        let deadline = Instant::now() + RELOAD_TIME;
        for (name, value) in settings {
            while self.show(name)? != *value {
                if Instant::now() > deadline {
                    let message = format!("the server did not take {name} = {value}");
                    let hint = "A setting from its command line comes before those of ALTER SYSTEM.";
                    return Err(Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message).hint(hint));
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        Ok(())
    }

    /// Gives another Cohort's switches back as they were found.
    fn restore(&mut self) -> Result<()> {
        let found = std::mem::take(&mut self.found);
        if found.is_empty() {
            return Ok(());
        }
        for (name, _) in &found {
            self.execute(&format!("alter system reset {name}"))?;
        }
        self.execute("select pg_reload_conf()")?;
        for (name, value) in &found {
            // It came from an earlier ALTER SYSTEM, not from the configuration file.
            if self.show(name)? != *value {
                self.execute(&format!("alter system set {name} = {}", quoted(value)))?;
            }
        }
        self.execute("select pg_reload_conf()")
    }

    /// Returns the server's counts so far. Sessions of PostgreSQL report their counts when they end.
    ///
    /// # Errors
    /// Errors of the server.
    pub fn counts(&mut self) -> Result<EngineCounts> {
        let row = self.control.query_one("select wal_sync from pg_stat_wal", &[]).map_err(|error| failed(&error))?;
        let syncs: i64 = row.get(0);
        let latch = if self.kind.has_switches { Some(self.latch_counts()?) } else { None };
        Ok(EngineCounts { syncs: syncs as u64, latch })
    }

    fn latch_counts(&mut self) -> Result<LatchCounts> {
        let query = "select coalesce(sum(exacq), 0)::int8, coalesce(sum(blk), 0)::int8,
                       (select value from cohort_stat_commit where name = 'clog_groups')::int8,
                       (select value from cohort_stat_commit where name = 'clog_group_members')::int8
                     from cohort_stat_latches where name = 'XactSLRU'";
        let row = self.control.query_one(query, &[]).map_err(|error| failed(&error))?;
        let [exclusive, blocked, groups, group_members] = [0, 1, 2, 3].map(|column| row.get::<_, i64>(column) as u64);
        Ok(LatchCounts { exclusive, blocked, groups, group_members })
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Err(error) = self.restore() {
            eprintln!("The server's switches could not be set back: {error}");
        }
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The settings that are the server's, not a session's.
fn server_settings(switches: Switches) -> Vec<(&'static str, &'static str)> {
    let on = |is_on: bool| if is_on { "on" } else { "off" };
    vec![
        ("group_commit", on(switches.group_commit)),
        ("commit_delay_scope", if switches.delay_each { "each" } else { "leader" }),
        ("ssi_scan_locks", if switches.scan_locks_per_tuple { "per_tuple" } else { "once" }),
        (
            "clog_update",
            match switches.clog_update {
                ClogUpdate::Cohort => "cohort",
                ClogUpdate::Group => "group",
                ClogUpdate::Each => "each",
            },
        ),
        (
            "twophase_state",
            match switches.two_phase {
                None | Some(TwophaseState::Memory) => "memory",
                Some(TwophaseState::Wal) => "wal",
                Some(TwophaseState::File) => "file",
            },
        ),
    ]
}
