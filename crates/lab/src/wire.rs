//! The wire driver: connections that speak the PostgreSQL protocol, to a server of our own or to any other.

use std::time::Duration;

use base::{Error, Result};
use postgres::{Client, NoTls, Statement};
use rand::{Rng, SeedableRng};
use session::{Server, ServerOptions};
use sql::session::Instance;
use sync::Arc;
use sync::atomic::AtomicBool;

use crate::disk::Disk;
use crate::driver::{Driver, Measurement, Switches, UPDATE_ROWS, Workload, closed_loop, run_clients};
use crate::embedded;

/// Connections to a server.
pub struct WireDriver {
    url: String,
    /// The server, if it is our own.
    own: Option<Own>,
    seed: u64,
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
    pub fn own(disk: Disk, seed: u64) -> Result<WireDriver> {
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
        WireDriver { url, own: Some(own), seed }.prepared()
    }

    /// Any server that `url` leads to.
    ///
    /// # Errors
    /// When it can't be reached.
    pub fn against(url: &str, seed: u64) -> Result<WireDriver> {
        WireDriver { url: url.to_owned(), own: None, seed }.prepared()
    }

    fn connect(&self) -> Result<Client> {
        Client::connect(&self.url, NoTls).map_err(|error| failed(&error))
    }

    /// Makes the workloads' tables.
    fn prepared(self) -> Result<WireDriver> {
        let mut client = self.connect()?;
        client
            .batch_execute(&format!(
                "drop table if exists cohort_lab_test, cohort_lab_accounts;
                 create table cohort_lab_test (id int, info text);
                 create table cohort_lab_accounts (aid int primary key, abalance bigint);
                 insert into cohort_lab_accounts select generate_series(1, {UPDATE_ROWS}), 0;
                 checkpoint"
            ))
            .map_err(|error| failed(&error))?;
        Ok(self)
    }
}

struct WireClient {
    client: Client,
    statement: Statement,
    random: rand::rngs::StdRng,
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
        let statistics = || self.own.as_ref().map(|own| own.database.wal().statistics().syncs);
        let before = statistics();
        let delay = match switches.commit_delay_us {
            Some(micros) => micros.to_string(),
            None => "auto".to_owned(),
        };
        let settings = format!("set commit_delay = {delay}; set commit_siblings = {}", switches.commit_siblings);
        let (count, taken) = run_clients(
            clients,
            length,
            stop,
            |number| {
                let mut client = self.connect()?;
                client.batch_execute(&settings).map_err(|error| failed(&error))?;
                let text = match workload {
                    Workload::Insert => "insert into cohort_lab_test values (1, 'test')",
                    Workload::Update => "update cohort_lab_accounts set abalance = abalance + $1 where aid = $2",
                };
                let statement = client.prepare(text).map_err(|error| failed(&error))?;
                let random = rand::rngs::StdRng::seed_from_u64(self.seed + number as u64);
                Ok(WireClient { client, statement, random })
            },
            |client, end, stop| {
                closed_loop(end, stop, || {
                    let done = match workload {
                        Workload::Insert => client.client.execute(&client.statement, &[]),
                        Workload::Update => {
                            let delta = client.random.random_range(-5000..=5000i64);
                            let id = client.random.random_range(1..=UPDATE_ROWS);
                            client.client.execute(&client.statement, &[&delta, &id])
                        }
                    };
                    done.map(|_| ()).map_err(|error| failed(&error))
                })
            },
        )?;
        let syncs = before.zip(statistics()).map(|(before, after)| after - before);
        Ok(Measurement { transactions: count.transactions, length: taken, latency_us: count.latency_us, syncs })
    }
}
