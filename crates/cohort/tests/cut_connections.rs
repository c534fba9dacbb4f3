//! Connections of real drivers that are cut, half-closed, reset, stalled, split and merged at every byte: nothing is left of them.
//!
//! A proxy records what drivers say, and the tests say it again with a fault at a chosen byte. `COHORT_CUT_EVERY_BYTE` tries each
//! fault at each byte; otherwise it is tried at a sample of them, where messages end among others. `COHORT_CUT_SEED` sets the
//! sample's seed.
// invariants: row 39

mod common;
#[path = "cut_connections/drivers.rs"]
mod drivers;

use std::path::Path;

use common::leftovers::Watch;
use common::recording::{Burst, Fault, Recorder, Recording, Target, replay};
use common::{Server, free_port};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

const WORKERS: usize = 2;
/// Offsets per fault and conversation, if not each is tried.
const SAMPLES: usize = 14;
/// Connections at a time.
const PLAYERS: usize = 4;

/// A server with what the conversations need. It tells its metrics at a port of its own.
fn start(folder: &Path, settings: &[&str]) -> (Server, u16) {
    let metrics_port = free_port();
    let metrics = format!("metrics_listen=127.0.0.1:{metrics_port}");
    let server = Server::start(folder, &[&["worker_threads=2", &metrics], settings].concat());
    let setup = "create table kept (id int primary key, note text); insert into kept values (1, 'one');
        create table filled (id int, note text); create table branches (id int primary key, balance int);
        insert into branches values (1, 0)";
    server.connect().batch_execute(setup).unwrap();
    (server, metrics_port)
}

/// Takes note of what there is, time limits among it.
fn watch((server, metrics_port): &(Server, u16), folder: &Path) -> Watch {
    Watch::start(server, folder.join("data"), WORKERS).counting_time_limits(*metrics_port)
}

/// Records what a driver does at the port that it is given.
fn record(name: &str, server: &Server, run: impl FnOnce(u16)) -> Recording {
    let recorder = Recorder::start(name, server.port());
    run(recorder.port());
    let mut recorded = recorder.finish();
    recorded.sort_by_key(Recording::length_bytes);
    recorded.pop().expect("the driver has connected")
}

/// Where a conversation is disturbed.
fn offsets(recording: &Recording, random: &mut rand::rngs::StdRng) -> Vec<usize> {
    let length = recording.length_bytes();
    if std::env::var_os("COHORT_CUT_EVERY_BYTE").is_some() {
        return (0..=length).collect();
    }
    let edges = recording.edges();
    (0..SAMPLES)
        .map(|number| match number % 2 {
            0 => (*edges.choose(random).unwrap() + [0, 0, 1][random.random_range(0..3)]).min(length),
            _ => random.random_range(0..=length),
        })
        .collect()
}

/// Tries each fault on a conversation, which must go the same way whenever it is repeated.
fn disturb(server: &Server, watch: &mut Watch, recording: &Recording) {
    disturb_by(&Fault::ALL, server, watch, recording);
}

fn disturb_by(faults: &[Fault], server: &Server, watch: &mut Watch, recording: &Recording) {
    let seed: u64 = std::env::var("COHORT_CUT_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(39);
    let mut random = rand::rngs::StdRng::seed_from_u64(seed);
    let targets = [Target::tcp(server.port()), Target::unix(&server.socket())];
    for &fault in faults {
        let offsets = offsets(recording, &mut random);
        for (round, offsets) in offsets.chunks(PLAYERS * 4).enumerate() {
            std::thread::scope(|scope| {
                for player in 0..PLAYERS {
                    let (targets, mine) = (&targets, offsets.iter().skip(player).step_by(PLAYERS));
                    scope.spawn(move || {
                        for offset in mine {
                            replay(recording, &targets[offset % 2], *offset, fault);
                        }
                    });
                }
            });
            watch.assert_nothing_is_left(&format!("{} was disturbed by {fault:?} ({seed}, {round})", recording.name));
        }
    }
    println!("{}: {} bytes in {} bursts", recording.name, recording.length_bytes(), recording.bursts.len());
}

/// A driver's conversation is recorded, and disturbed.
fn disturb_driver(name: &str, run: impl FnOnce(u16)) {
    let folder = tempfile::tempdir().unwrap();
    let started = start(folder.path(), &[]);
    let server = &started.0;
    let recording = record(name, server, run);
    // Threads that a first use starts are there once it was undisturbed.
    replay(&recording, &Target::tcp(server.port()), recording.length_bytes(), Fault::Close);
    let mut watch = watch(&started, folder.path());
    disturb(server, &mut watch, &recording);
    drop(watch);
    started.0.stop();
}

#[test]
fn of_psql_nothing_is_left() {
    if common::has_client("psql") {
        disturb_driver("psql", drivers::psql);
    }
}

#[test]
fn of_pgbench_nothing_is_left() {
    if common::has_client("pgbench") {
        disturb_driver("pgbench", |port| drivers::pgbench(port, "simple"));
        disturb_driver("pgbench with prepared statements", |port| drivers::pgbench(port, "prepared"));
    }
}

#[test]
fn of_tokio_postgres_nothing_is_left() {
    disturb_driver("tokio-postgres", drivers::tokio_postgres);
}

#[test]
fn of_pipelines_and_portals_nothing_is_left() {
    disturb_driver("tokio-postgres with pipelines", drivers::pipelines);
}

/// The client's messages about its password, or within its encryption, are valid only once.
/// A repeated conversation ends there.
#[test]
fn of_handshakes_and_passwords_nothing_is_left() {
    if !common::has_client("psql") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (folder.path().join("server.crt"), folder.path().join("server.key"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let files = [format!("ssl_cert_file={}", certificate.display()), format!("ssl_key_file={}", key.display())];
    let rules = "hba_rules=local all all trust; host all all all scram-sha-256";
    let started = start(folder.path(), &["ssl=on", &files[0], &files[1], rules]);
    let server = &started.0;
    server.connect().batch_execute("create role ann login password 'secret'").unwrap();
    for mode in ["require", "disable"] {
        let recording = record(&format!("psql with sslmode={mode}"), server, |port| drivers::psql_as_ann(port, mode));
        let mut watch = watch(&started, folder.path());
        let faults = Fault::ALL.into_iter().filter(|fault| *fault != Fault::Split).collect::<Vec<_>>();
        disturb_by(&faults, server, &mut watch, &recording);
    }
    started.0.stop();
}

#[test]
fn of_requests_for_encryption_and_cancels_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let started = start(folder.path(), &[]);
    let server = &started.0;
    let mut watch = watch(&started, folder.path());
    let encryption = vec![0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
    let start_up = b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0".to_vec();
    let cancel = vec![0, 0, 0, 16, 0x04, 0xd2, 0x16, 0x2e, 0, 0, 0, 7, 0, 0, 0, 9];
    let declined = vec![
        Burst { bytes: encryption, after_messages: 0 },
        Burst { bytes: start_up, after_messages: 1 },
        Burst { bytes: b"Q\0\0\0\x0dselect 1\0X\0\0\0\x04".to_vec(), after_messages: 4 },
    ];
    disturb(server, &mut watch, &Recording::made("a declined request for encryption", declined, 8));
    let cancel = vec![Burst { bytes: cancel, after_messages: 0 }];
    disturb(server, &mut watch, &Recording::made("a request to cancel", cancel, 0));
    drop(watch);
    started.0.stop();
}
