//! The wire driver: connections that speak the PostgreSQL protocol, to a server of our own or to any other.

use std::time::Duration;

use base::{Error, Result};
use postgres::error::SqlState;
use postgres::{Client, NoTls, Statement};
use rand::{Rng, SeedableRng};
use session::{Server, ServerOptions};
use sql::session::Instance;
use sync::Arc;
use sync::atomic::AtomicBool;

use crate::disk::Disk;
use crate::driver::{
    Attempt, BRANCHES, COUNTED_ROWS, Driver, EngineCounts, Measurement, Switches, TELLERS, UPDATE_ROWS, Workload,
    closed_loop, run_clients,
};
use crate::embedded;

/// Connections to a server.
pub struct WireDriver {
    url: String,
    /// The server, if it is our own.
    own: Option<Own>,
    seed: u64,
    sli_rows: i32,
}

struct Own {
    server: Option<Server>,
    database: engine::Database,
    _folder: tempfile::TempDir,
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
    }
}

/// What a driver's error says, in one line.
fn failed(error: &postgres::Error) -> Error {
    match error.as_db_error() {
        Some(database) => Error::internal(format!("the server says: {}", database.message())),
        None => Error::new(base::sqlstate::CONNECTION_FAILURE, error.to_string()),
    }
}

impl WireDriver {
    /// A server of our own on `disk`.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn own(disk: Disk, seed: u64, sli_rows: i32) -> Result<WireDriver> {
        let (database, folder) = embedded::open(disk)?;
        let instance = Instance::new(database.clone());
        let server = Server::start(
            instance,
            &ServerOptions {
                host: "127.0.0.1".to_owned(),
                port: 0,
                socket_directory: Some(folder.path().to_owned()),
                socket_permissions: 0o700,
                worker_count: 0,
                max_connections: 2000,
            },
        )?;
        let url = format!("host={} port={} user=postgres dbname=postgres", folder.path().display(), server.port());
        let own = Own { server: Some(server), database, _folder: folder };
        WireDriver { url, own: Some(own), seed, sli_rows }.prepared()
    }

    /// Any server that `url` leads to.
    ///
    /// # Errors
    /// When it can't be reached.
    pub fn against(url: &str, seed: u64, sli_rows: i32) -> Result<WireDriver> {
        WireDriver { url: url.to_owned(), own: None, seed, sli_rows }.prepared()
    }

    fn connect(&self) -> Result<Client> {
        Client::connect(&self.url, NoTls).map_err(|error| failed(&error))
    }

    /// Makes the workloads' tables.
    fn prepared(self) -> Result<WireDriver> {
        let mut client = self.connect()?;
        client
            .batch_execute(&format!(
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
            ))
            .map_err(|error| failed(&error))?;
        for first in (1..=self.sli_rows).step_by(100_000) {
            let last = self.sli_rows.min(first + 99_999);
            client
                .batch_execute(&format!(
                    "insert into cohort_lab_sli_test select g, 'digoal' || g from generate_series({first}, {last}) g"
                ))
                .map_err(|error| failed(&error))?;
        }
        client.batch_execute("analyze; checkpoint").map_err(|error| failed(&error))?;
        Ok(self)
    }
}

struct WireClient {
    client: Client,
    /// The workload's statement, or all of them if it has several.
    statements: Vec<Statement>,
    random: rand::rngs::StdRng,
    /// Which client it is, if it commits in two phases.
    two_phase: Option<usize>,
    /// Transactions it has prepared.
    prepared: u64,
    /// What the last transaction has chosen: two rows, a number, and which statement.
    chosen: (i32, i32, i64, usize),
}

impl WireClient {
    /// Attempts a transaction; `is_retry`: the same once more.
    fn attempt(&mut self, workload: Workload, rows: i32, is_retry: bool) -> Result<Attempt> {
        if !is_retry {
            let random = &mut self.random;
            let mut id = || random.random_range(1..=rows);
            self.chosen = (id(), id(), random.random_range(-5000..=5000), 0);
            if workload == Workload::CountUpdate {
                self.chosen.3 = usize::from(random.random::<bool>());
            }
        }
        let (id, other, delta, which) = self.chosen;
        let statement = &self.statements[which];
        let done = match workload {
            Workload::Insert => self.client.execute(statement, &[]),
            Workload::ReadUpdate => self.client.execute(statement, &[&id, &other]),
            Workload::CountUpdate if which == 0 => self.client.execute(statement, &[]),
            Workload::Update | Workload::CountUpdate => self.client.execute(statement, &[&delta, &id]),
            Workload::ReadWrite => self.read_and_write(id, delta),
            Workload::Transfer => self.transfer(id, other, delta),
        };
        match done {
            Ok(_) => Ok(Attempt::Committed),
            Err(error) => match error.code().map(SqlState::code) {
                Some("40001" | "40P01") => {
                    if matches!(workload, Workload::ReadWrite | Workload::Transfer) {
                        self.client.batch_execute("rollback").map_err(|error| failed(&error))?;
                    }
                    Ok(Attempt::Aborted)
                }
                _ => Err(failed(&error)),
            },
        }
    }
}

impl WireClient {
    /// What pgbench's own script sends, one statement after the other.
    fn read_and_write(&mut self, account: i32, delta: i64) -> std::result::Result<u64, postgres::Error> {
        let (teller, branch) = (self.random.random_range(1..=TELLERS), self.random.random_range(1..=BRANCHES));
        let [begin, accounts, balance, tellers, branches, history, end] = &self.statements[..] else {
            unreachable!("the script has seven statements");
        };
        self.client.execute(begin, &[])?;
        self.client.execute(accounts, &[&delta, &account])?;
        self.client.query_one(balance, &[&account])?;
        self.client.execute(tellers, &[&delta, &teller])?;
        self.client.execute(branches, &[&delta, &branch])?;
        self.client.execute(history, &[&teller, &branch, &account, &delta])?;
        self.client.execute(end, &[])
    }
}

impl WireClient {
    /// Two accounts, and a commit in one phase or two.
    fn transfer(&mut self, from: i32, to: i32, amount: i64) -> std::result::Result<u64, postgres::Error> {
        let [begin, update, commit] = &self.statements[..] else { unreachable!("the script has three statements") };
        self.client.execute(begin, &[])?;
        self.client.execute(update, &[&-amount, &from])?;
        self.client.execute(update, &[&amount, &to])?;
        let Some(client) = self.two_phase else { return self.client.execute(commit, &[]) };
        self.prepared += 1;
        let gid = format!("{client}.{}", self.prepared);
        self.client.batch_execute(&format!("prepare transaction '{gid}'"))?;
        self.client.batch_execute(&format!("commit prepared '{gid}'"))?;
        Ok(0)
    }
}

impl Driver for WireDriver {
    fn run(
        &mut self,
        workload: Workload,
        clients: usize,
        length: Duration,
        switches: Switches,
        stop: &Arc<AtomicBool>,
    ) -> Result<Measurement> {
        if let Some(own) = &self.own {
            embedded::apply(&own.database, switches);
        }
        let counts = || self.own.as_ref().map(|own| EngineCounts::read(&own.database));
        let before = counts();
        let delay = match switches.commit_delay_us {
            Some(micros) => micros.to_string(),
            None => "auto".to_owned(),
        };
        let settings = format!(
            "set commit_delay = {delay}; set commit_siblings = {}; set synchronous_commit = {}; \
             set default_transaction_isolation = '{}'",
            switches.commit_siblings,
            if switches.synchronous_commit { "on" } else { "off" },
            if switches.serializable { "serializable" } else { "read committed" }
        );
        let rows = match workload {
            Workload::ReadUpdate => self.sli_rows,
            Workload::CountUpdate => COUNTED_ROWS,
            Workload::Insert | Workload::Update | Workload::ReadWrite | Workload::Transfer => UPDATE_ROWS,
        };
        let (count, taken) = run_clients(
            clients,
            length,
            stop,
            |number| {
                let mut client = self.connect()?;
                client.batch_execute(&settings).map_err(|error| failed(&error))?;
                let texts: &[&str] = match workload {
                    Workload::Insert => &["insert into cohort_lab_test values (1, 'test')"],
                    Workload::Update => &["update cohort_lab_accounts set abalance = abalance + $1 where aid = $2"],
                    Workload::Transfer => {
                        &["begin", "update cohort_lab_accounts set abalance = abalance + $1 where aid = $2", "commit"]
                    }
                    Workload::ReadUpdate => &["select * from cohort_lab_f_sli_test($1, $2)"],
                    Workload::CountUpdate => &[
                        "select count(*) from cohort_lab_counted",
                        "update cohort_lab_counted set value = value + $1 where id = $2",
                    ],
                    Workload::ReadWrite => &[
                        "begin",
                        "update cohort_lab_accounts set abalance = abalance + $1 where aid = $2",
                        "select abalance from cohort_lab_accounts where aid = $1",
                        "update cohort_lab_tellers set tbalance = tbalance + $1 where tid = $2",
                        "update cohort_lab_branches set bbalance = bbalance + $1 where bid = $2",
                        "insert into cohort_lab_history (tid, bid, aid, delta, mtime) values ($1, $2, $3, $4, current_timestamp)",
                        "end",
                    ],
                };
                let statements = texts.iter().map(|text| client.prepare(text).map_err(|error| failed(&error)));
                let statements = statements.collect::<Result<_>>()?;
                let random = rand::rngs::StdRng::seed_from_u64(self.seed + number as u64);
                let two_phase = switches.two_phase.map(|_| number);
                Ok(WireClient { client, statements, random, two_phase, prepared: 0, chosen: (1, 1, 0, 0) })
            },
            |client, end, stop| {
                closed_loop(end, stop, switches.retries, |is_retry| client.attempt(workload, rows, is_retry))
            },
        )?;
        let engine = before.zip(counts()).map(|(before, after)| after.since(before));
        Ok(Measurement {
            transactions: count.transactions,
            aborts: count.aborts,
            length: taken,
            latency_us: count.latency_us,
            engine,
        })
    }
}
