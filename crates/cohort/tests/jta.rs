//! A JTA transaction manager over two servers: Narayana and pgjdbc's XA data source drive distributed transactions; the program,
//! the servers or all of them are killed between prepare and commit, and recovery completes every branch.
//!
//! The program is in `tests/java`. Maven gets what it needs; where Java or Maven are missing, or Maven can't get it, the test is
//! skipped, aloud. `COHORT_JTA_SERVERS=127.0.0.1:5432,127.0.0.1:5433` runs it on any two servers, which must trust the user
//! `postgres` and are not killed. `COHORT_JTA_SEED` seeds the load.

mod common;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use common::Server;
use postgres::{Client, NoTls};

const ACCOUNTS: i64 = 10;
const BALANCE: i64 = 1000;

/// How long the program may take to say what it is waited for.
const WORD_LIMIT: Duration = Duration::from_secs(60);

/// Where a database is.
#[derive(Clone)]
struct Address {
    host: String,
    port: u16,
}

impl Address {
    fn connect(&self) -> Client {
        let url = format!("host={} port={} user=postgres dbname=postgres", self.host, self.port);
        Client::connect(&url, NoTls).unwrap()
    }

    /// Numbers and amounts of the transfers that have arrived.
    fn transfers(&self) -> BTreeMap<i64, i64> {
        let rows = self.connect().query("select id, amount from transfer", &[]).unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }

    fn prepared(&self) -> i64 {
        self.connect().query_one("select count(*) from pg_prepared_xacts", &[]).unwrap().get(0)
    }
}

/// The program and its surroundings.
struct Stage {
    class_path: String,
    addresses: [Address; 2],
    /// The transaction manager's log, and what the program says on its standard error.
    folder: PathBuf,
}

impl Stage {
    /// Starts the program.
    fn run(&self, arguments: &[&str]) -> Program {
        let said = File::options().create(true).append(true).open(self.folder.join("program.log")).unwrap();
        let servers = self.addresses.iter().map(|address| format!("{}:{}", address.host, address.port));
        let mut process = Command::new("java")
            .args(["-XX:TieredStopAtLevel=1", "-cp", &self.class_path, "cohort.jta.Transfers"])
            .args(servers)
            .arg(self.folder.join("transactions"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(said)
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let log = self.folder.join("program.log");
        Program { process, input, lines, committed: Vec::new(), log }
    }

    /// Checks that the two databases agree: they have the same transfers, all acknowledged ones among them, no prepared transaction is
    /// left, and no money was made or lost.
    fn assert_agreement(&self, acknowledged: &[i64]) {
        let [first, second] = self.addresses.each_ref().map(Address::transfers);
        let mirrored: BTreeMap<i64, i64> = second.iter().map(|(number, amount)| (*number, -amount)).collect();
        assert_eq!(first, mirrored, "transfers differ");
        for number in acknowledged {
            assert!(first.contains_key(number), "{number} was acknowledged and is lost");
        }
        for (address, transfers) in self.addresses.iter().zip([first, second]) {
            assert_eq!(address.prepared(), 0);
            let sum: i64 = address.connect().query_one("select sum(balance)::int8 from account", &[]).unwrap().get(0);
            assert_eq!(sum, ACCOUNTS * BALANCE + transfers.values().sum::<i64>());
        }
    }
}

/// The running program, killed when dropped.
struct Program {
    process: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    /// The transfers that it said to have committed.
    committed: Vec<i64>,
    log: PathBuf,
}

impl Program {
    /// Reads on until it says this word.
    fn wait_for(&mut self, word: &str) {
        loop {
            match self.lines.recv_timeout(WORD_LIMIT) {
                Ok(line) if line == word => return,
                Ok(line) => self.note(&line),
                Err(error) => panic!("{error}; the program said {}", std::fs::read_to_string(&self.log).unwrap()),
            }
        }
    }

    fn note(&mut self, line: &str) {
        if let Some(number) = line.strip_prefix("committed ") {
            self.committed.push(number.parse().unwrap());
        }
    }

    fn go_on(&mut self) {
        self.input.write_all(b"\n").unwrap();
    }

    /// Ends the program by SIGKILL; returns the transfers that it said to have committed.
    fn kill(mut self) -> Vec<i64> {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        while let Ok(line) = self.lines.recv_timeout(WORD_LIMIT) {
            self.note(&line);
        }
        std::mem::take(&mut self.committed)
    }

    /// Waits for the program's end; returns the transfers that it said to have committed.
    fn finish(mut self) -> Vec<i64> {
        self.wait_for("done");
        assert!(self.process.wait().unwrap().success());
        std::mem::take(&mut self.committed)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Two servers of our own, if they are.
struct Servers {
    own: Option<[Server; 2]>,
    folders: [tempfile::TempDir; 2],
}

impl Servers {
    /// SIGKILL for one of them, and a new start at its port.
    fn kill(&mut self, which: usize) {
        let Some(own) = self.own.take() else { return };
        let port = own[which].port();
        let mut servers = own.map(Some);
        servers[which].take().unwrap().kill();
        servers[which] = Some(Server::start_at(self.folders[which].path(), port, &[]));
        self.own = Some(servers.map(Option::unwrap));
    }
}

fn stage(class_path: String, folder: &Path) -> (Stage, Servers) {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let foreign = std::env::var("COHORT_JTA_SERVERS").ok();
    let own = foreign.is_none().then(|| folders.each_ref().map(|folder| Server::start(folder.path(), &[])));
    let addresses = match (&own, &foreign) {
        (Some(own), _) => own.each_ref().map(|server| Address { host: "127.0.0.1".to_owned(), port: server.port() }),
        (None, foreign) => {
            let address = |text: &str| {
                let (host, port) = text.split_once(':').expect("host:port");
                Address { host: host.to_owned(), port: port.parse().unwrap() }
            };
            let (first, second) = foreign.as_ref().unwrap().split_once(',').expect("two servers");
            [address(first), address(second)]
        }
    };
    for address in &addresses {
        address
            .connect()
            .batch_execute(&format!(
                "drop table if exists account, transfer;
                 create table account (id int primary key, balance bigint not null);
                 create table transfer (id bigint primary key, amount bigint not null);
                 insert into account select generate_series(1, {ACCOUNTS}), {BALANCE}"
            ))
            .unwrap();
    }
    (Stage { class_path, addresses, folder: folder.to_owned() }, Servers { own, folders })
}

// invariants: row 21
#[test]
fn a_jta_transaction_manager_recovers_every_branch() {
    let Some(class_path) = common::java::class_path() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (stage, mut servers) = stage(class_path, folder.path());

    // The program is killed at every point between the first prepare and the last commit.
    let points = [("one-prepared", [1, 0]), ("both-prepared", [1, 1]), ("one-committed", [0, 1])];
    let mut prepared = [0, 0];
    for (number, (point, left)) in (1..).zip(points) {
        let mut program = stage.run(&["pause", point, &number.to_string()]);
        program.wait_for("reached");
        program.kill();
        for (sum, left) in prepared.iter_mut().zip(left) {
            *sum += left;
        }
        assert_eq!(stage.addresses.each_ref().map(Address::prepared), prepared, "{point}");
    }
    servers.kill(0);
    servers.kill(1);
    assert_eq!(stage.addresses.each_ref().map(Address::prepared), prepared, "after the servers' end");
    stage.run(&["recover"]).finish();
    // Nobody had decided about the first one; the others were decided.
    assert_eq!(stage.addresses[0].transfers(), BTreeMap::from([(2, -2), (3, -3)]));
    stage.assert_agreement(&[2, 3]);

    // A server is killed, and the program goes on with the commit.
    for (number, point) in [(4, "both-prepared"), (5, "one-committed")] {
        let mut program = stage.run(&["pause", point, &number.to_string()]);
        program.wait_for("reached");
        servers.kill(1);
        program.go_on();
        program.finish();
        assert_eq!(stage.addresses[0].transfers()[&number], -number);
        stage.assert_agreement(&[]);
    }

    // The program and a server are killed at a random moment of a load; the next one recovers and goes on.
    let seed: u64 = std::env::var("COHORT_JTA_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut acknowledged = Vec::new();
    for round in seed..seed + 2 {
        let first = 1000 * (round - seed + 1);
        let mut program = stage.run(&["load", &round.to_string(), &first.to_string()]);
        program.wait_for("ready");
        std::thread::sleep(Duration::from_millis(300 + round * 7919 % 500));
        acknowledged.extend(program.kill());
        servers.kill((round % 2) as usize);
    }
    stage.run(&["recover"]).finish();
    assert!(!acknowledged.is_empty());
    stage.assert_agreement(&acknowledged);
    eprintln!("{} transfers under load, seed {seed}", acknowledged.len());
}
