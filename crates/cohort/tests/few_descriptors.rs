//! The fewest descriptors that a server starts with are enough for any number of tables: nothing ends it, and no start is
//! refused for what lies on the disk.

mod common;

use std::path::Path;

use common::Server;
use postgres::error::SqlState;
use postgres::{Client, NoTls};

const TABLES: usize = 160;
const PREPARED: usize = 4;
const SETTINGS: [&str; 6] = [
    "worker_threads=2",
    "work_mem=64kB",
    "maintenance_work_mem=1MB",
    "shared_buffers=2MB",
    "max_prepared_transactions=8",
    "checkpoint_timeout=30s",
];

/// The fewest descriptors that the server starts with, as it says itself.
fn fewest(folder: &Path, arguments: &[&str]) -> usize {
    let said = Server::refused_limited(folder, 24, &SETTINGS, arguments);
    assert!(said.contains("insufficient file descriptors available to start server process"), "{said}");
    assert!(!folder.join("data").exists(), "something was written");
    let hint = said.lines().find(|line| line.contains("Raise the limit of open files")).expect(&said);
    hint.split_whitespace().find_map(|word| word.parse().ok()).expect(hint)
}

#[test]
fn each_address_that_is_listened_on_has_a_descriptor() {
    const ADDRESSES: usize = 24;
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let addresses: Vec<_> = (1..=ADDRESSES).map(|last| format!("127.0.0.{last}")).collect();
    let host = ["--host", &addresses.join(",")];
    let of_one = fewest(folder, &[]);
    let of_all = fewest(folder, &host);
    assert_eq!(of_all - of_one, ADDRESSES - 1);
    let server = Server::start_limited(folder, of_all, &SETTINGS, &host);
    assert!(crowd(&server).len() >= 8);
    server.stop();
}

/// As many clients as the server takes, until it says that they are too many.
fn crowd(server: &Server) -> Vec<Client> {
    let mut clients = Vec::new();
    for _ in 0..400 {
        match Client::connect(&server.url(), NoTls) {
            Ok(client) => clients.push(client),
            // Some can't read why, since their own bytes have met a closed socket.
            Err(error) if error.as_db_error().is_none() => {}
            Err(error) => {
                assert_eq!(error.code(), Some(&SqlState::TOO_MANY_CONNECTIONS), "{error}");
                return clients;
            }
        }
    }
    panic!("{} clients are connected, and nobody is told that they are too many: {}", clients.len(), server.log());
}

/// A statement that may need more files than there are for statements.
fn spill(client: &mut Client, statement: &str) {
    if let Err(error) = client.batch_execute(statement) {
        assert_eq!(error.code(), Some(&SqlState::INSUFFICIENT_RESOURCES), "{statement}: {error}");
    }
}

fn fill(client: &mut Client) {
    for number in 0..TABLES {
        let table = format!("create table t{number} (id serial primary key, v int)");
        let rows = format!("insert into t{number} (v) select 0 from generate_series(1, 10)");
        client.batch_execute(&format!("{table}; {rows}")).unwrap();
    }
    client.batch_execute("checkpoint").unwrap();
    let large = "create table large (id int, note text);
                 insert into large select i, 'note ' || i from generate_series(1, 60000) i;
                 create index on large (note, id)";
    client.batch_execute(large).unwrap();
}

/// Touches all tables, from all clients, with checkpoints between.
fn work(clients: &mut [Client], folder: &Path) {
    let count = clients.len();
    for number in 0..TABLES {
        let client = &mut clients[number % count];
        client.batch_execute(&format!("update t{number} set v = v + 1")).unwrap();
        match number % 40 {
            9 => client.batch_execute("checkpoint").unwrap(),
            19 => spill(client, "select count(*) from (select * from large order by id % 100, note) s"),
            29 => spill(client, "select count(*) from large a join large b on a.note = b.note"),
            39 => spill(client, &format!("copy large to '{}'", folder.join("copied").display())),
            _ => {}
        }
    }
    for (number, client) in clients.iter_mut().take(PREPARED).enumerate() {
        let prepare = format!("begin; update t{number} set v = v + 1; prepare transaction 'p{number}'");
        client.batch_execute(&prepare).unwrap();
    }
    clients[0].batch_execute("vacuum").unwrap();
    clients[0].batch_execute("checkpoint").unwrap();
    // The rows of the others are locked by those that are prepared.
    for number in PREPARED..TABLES {
        clients[number % count].batch_execute(&format!("update t{number} set v = v + 1")).unwrap();
    }
}

/// All rows, each changed twice.
fn verify(client: &mut Client) {
    for number in 0..TABLES {
        let row = client.query_one(&format!("select count(*), sum(v) from t{number}"), &[]).unwrap();
        assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (10, 20), "t{number}");
    }
    assert_eq!(client.query_one("select count(*) from large", &[]).unwrap().get::<_, i64>(0), 60_000);
}

#[test]
fn with_the_fewest_descriptors_no_number_of_tables_ends_the_server_or_hinders_a_start() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let fewest = fewest(folder, &[]);
    let said = Server::refused_limited(folder, fewest - 1, &SETTINGS, &[]);
    assert!(said.contains(&format!("to {fewest} or more")), "{said}");

    let server = Server::start_limited(folder, fewest, &SETTINGS, &[]);
    fill(&mut server.connect());
    let mut clients = crowd(&server);
    assert!(clients.len() >= 8, "{} clients", clients.len());
    work(&mut clients, folder);
    server.kill();
    drop(clients);

    let server = Server::start_limited(folder, fewest, &SETTINGS, &[]);
    let mut client = server.connect();
    for number in 0..PREPARED {
        client.batch_execute(&format!("commit prepared 'p{number}'")).unwrap();
    }
    verify(&mut client);
    assert!(!server.log().contains("PANIC"), "{}", server.log());
    drop(client);
    server.stop();
}

#[test]
fn the_soft_limit_is_raised_to_the_hard_one() {
    const HARD: usize = 777;
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    // Too few to start with.
    let soft = fewest(folder, &[]) - 1;
    let server = Server::start_limited_softly(folder, soft, HARD, &SETTINGS);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.id())).unwrap();
    let open_files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let open_files: Vec<&str> = open_files.split_whitespace().take(2).collect();
    assert_eq!(open_files, [HARD.to_string(), HARD.to_string()]);
    // The server counts on them, too.
    let clients: Vec<Client> = (0..soft + 20).map(|_| server.connect()).collect();
    drop(clients);
    server.stop();
}
