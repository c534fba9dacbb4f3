//! SIGKILL at random moments under load: what was acknowledged is there, and nothing is half there.
//!
//! The clients keep a ledger of what they were told. `COHORT_KILL_ROUNDS` sets the number of rounds.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::Server;
use rand::{Rng, SeedableRng};

const CLIENTS: usize = 8;

/// The answers that one client got: the pairs whose commit was acknowledged, and the pair whose outcome is unknown, if any.
struct Ledger {
    acknowledged: Vec<i64>,
    unknown: Option<i64>,
}

/// Inserts pairs of rows and moves money between accounts until the server is gone.
fn run_client(url: &str, client: usize, first: i64, stop: &AtomicBool) -> Ledger {
    let mut ledger = Ledger { acknowledged: Vec::new(), unknown: None };
    let Ok(mut connection) = postgres::Client::connect(url, postgres::NoTls) else { return ledger };
    let mut random = rand::rngs::StdRng::seed_from_u64(first as u64);
    let mut next = first;
    while !stop.load(Ordering::Relaxed) {
        let id = next * CLIENTS as i64 + client as i64;
        next += 1;
        ledger.unknown = Some(id);
        let mut work = || -> Result<(), postgres::Error> {
            let mut transaction = connection.transaction()?;
            transaction.execute("insert into pairs values ($1, 'a')", &[&id])?;
            let (from, to) = (random.random_range(1..=20), random.random_range(1..=20));
            transaction.execute("update accounts set balance = balance - 1 where id = $1", &[&from.min(to)])?;
            transaction.execute("update accounts set balance = balance + 1 where id = $1", &[&from.max(to)])?;
            transaction.execute("insert into pairs values ($1, 'b')", &[&id])?;
            transaction.commit()
        };
        match work() {
            Ok(()) => ledger.acknowledged.push(id),
            Err(error) if error.as_db_error().is_some() => {}
            Err(_) => return ledger,
        }
        ledger.unknown = None;
    }
    ledger
}

// invariants: row 1 (as far as SIGKILL can show it)
#[test]
fn acknowledged_transactions_survive_being_killed_and_none_is_half_there() {
    let rounds: u64 = std::env::var("COHORT_KILL_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let mut connection = server.connect();
    connection
        .batch_execute(
            "create table pairs (id bigint, half text, primary key (id, half));
             create table accounts (id int primary key, balance bigint not null);
             insert into accounts select generate_series(1, 20), 1000",
        )
        .unwrap();
    drop(connection);
    let mut acknowledged: Vec<i64> = Vec::new();
    let mut first = 1;
    for round in 0..rounds {
        let stop = Arc::new(AtomicBool::new(false));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (url, stop) = (server.url(), Arc::clone(&stop));
                std::thread::spawn(move || run_client(&url, client, first, &stop))
            })
            .collect();
        let mut random = rand::rngs::StdRng::seed_from_u64(round);
        std::thread::sleep(Duration::from_millis(random.random_range(50..600)));
        server.kill();
        stop.store(true, Ordering::Relaxed);
        let ledgers: Vec<Ledger> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        server = Server::start(folder.path(), &[]);
        let mut connection = server.connect();
        let found: Vec<i64> = connection
            .query("select id from pairs where half = 'a' order by id", &[])
            .unwrap()
            .iter()
            .map(|row| row.get(0))
            .collect();
        for ledger in &ledgers {
            acknowledged.extend(&ledger.acknowledged);
        }
        for id in &acknowledged {
            assert!(found.binary_search(id).is_ok(), "round {round}: acknowledged {id} is lost\n{}", server.log());
        }
        let unknown = ledgers.iter().filter(|ledger| ledger.unknown.is_some()).count();
        assert!(
            found.len() <= acknowledged.len() + unknown,
            "round {round}: {} found, {} acknowledged, {unknown} unknown",
            found.len(),
            acknowledged.len()
        );
        // Those found without an answer count from now on.
        acknowledged = found;
        let halves = "select count(*) from pairs a where not exists
                      (select 1 from pairs b where b.id = a.id and b.half <> a.half)";
        let alone: i64 = connection.query_one(halves, &[]).unwrap().get(0);
        assert_eq!(alone, 0, "round {round}: transactions are half there");
        let sum: i64 = connection.query_one("select sum(balance)::bigint from accounts", &[]).unwrap().get(0);
        assert_eq!(sum, 20_000, "round {round}: money was made or lost");
        // By index and by scan, the same rows.
        let by_index: i64 = connection.query_one("select count(*) from pairs where id > 0", &[]).unwrap().get(0);
        let by_scan: i64 = connection.query_one("select count(*) from pairs", &[]).unwrap().get(0);
        assert_eq!(by_index, by_scan, "round {round}: index and heap disagree");
        first = found_maximum(&acknowledged) / CLIENTS as i64 + 2;
    }
    server.stop();
}

fn found_maximum(ids: &[i64]) -> i64 {
    ids.iter().copied().max().unwrap_or(0)
}
