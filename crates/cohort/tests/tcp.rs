//! What the settings of TCP do to a connection, beside a real PostgreSQL 15, and to statements whose client has gone.

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use common::Server;
use common::reference::{Reference, server_binaries};
use postgres::{Client, NoTls, SimpleQueryMessage};

const SETTINGS: [&str; 4] =
    ["tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count", "tcp_user_timeout"];

/// What a session does, one after the other; after each all settings are shown.
const STEPS: &[&str] = &[
    "select 1",
    "set tcp_keepalives_idle = 100",
    "set tcp_keepalives_interval = '2min'; set tcp_keepalives_count = 4",
    "set tcp_user_timeout = '5s'",
    "set tcp_keepalives_idle = 0",
    "begin; set local tcp_keepalives_idle = 33",
    "rollback",
    "set tcp_keepalives_count = 127",
    "reset all",
    "set tcp_keepalives_interval = '1d'",
    "set tcp_keepalives_count = 1000",
    "set tcp_keepalives_count = -1",
    "set tcp_user_timeout = 'soon'",
    "discard all",
];

fn told(client: &mut Client, statement: &str) -> String {
    let outcome = client.simple_query(statement).err().map(|error| error.as_db_error().unwrap().message().to_owned());
    let mut shown = vec![format!("{statement}: {}", outcome.unwrap_or_else(|| "done".to_owned()))];
    for name in SETTINGS {
        for query in [format!("show {name}"), format!("select setting from pg_settings where name = '{name}'")] {
            shown.extend(client.simple_query(&query).unwrap().iter().find_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            }));
        }
    }
    shown.join(" ")
}

#[test]
fn the_settings_of_tcp_tell_what_the_system_does() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start_with(&binaries, &["listen_addresses=127.0.0.1"]);
    let port_of = |url: &str| url.split_once("port=").unwrap().1.split(' ').next().unwrap().to_owned();
    for over_tcp in [true, false] {
        let url = |url: String| match over_tcp {
            true => format!("host=127.0.0.1 port={} user=postgres dbname=postgres", port_of(&url)),
            false => url,
        };
        let mut own = Client::connect(&url(server.url()), NoTls).unwrap();
        let mut theirs = Client::connect(&url(reference.url()), NoTls).unwrap();
        for step in STEPS {
            assert_eq!(told(&mut own, step), told(&mut theirs, step), "over TCP: {over_tcp}");
        }
    }
}

/// The timer of a connection's socket at the server, as `ss` tells it.
fn timer(port: u16, client_port: u16) -> Option<String> {
    let filter = format!("sport = :{port} and dport = :{client_port}");
    let output = Command::new("ss").args(["-tno", "state", "established", &filter]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(text.split_once("timer:(keepalive,")?.1.split(',').next()?.to_owned())
}

#[test]
fn the_socket_follows_the_setting() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let url = format!("host=127.0.0.1 port={} user=postgres dbname=postgres", server.port());
    let mut client = Client::connect(&url, NoTls).unwrap();
    let port: i32 = client.query_one("select inet_client_port()", &[]).unwrap().get(0);
    client.batch_execute("set tcp_keepalives_idle = 77").unwrap();
    client.batch_execute("select 1").unwrap();
    let Some(timer) = timer(server.port(), port as u16) else {
        eprintln!("SKIPPED: ss does not tell of timers");
        return;
    };
    // It counts down from 77 seconds: "1min16sec".
    assert!(timer.starts_with("1min"), "{timer}");
}

/// Begins a statement over a socket of its own, and leaves.
fn begin_and_leave(server: &Server, interval: &str) {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let mut body = 196_608u32.to_be_bytes().to_vec();
    body.extend_from_slice(b"user\0postgres\0database\0postgres\0application_name\0leaver\0");
    body.extend_from_slice(format!("client_connection_check_interval\0{interval}\0\0").as_bytes());
    let message = |kind: &[u8], body: &[u8]| {
        let mut message = kind.to_vec();
        message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        message.extend_from_slice(body);
        message
    };
    stream.write_all(&message(b"", &body)).unwrap();
    stream.read_exact(&mut [0; 9]).unwrap();
    stream.write_all(&message(b"Q", b"select pg_sleep(600)\0")).unwrap();
    std::thread::sleep(Duration::from_millis(300));
}

#[test]
fn a_statement_ends_when_its_client_has_gone_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    let mut running = || -> i64 {
        let count = "select count(*) from pg_stat_activity where application_name = 'leaver' and state = 'active'";
        client.query_one(count, &[]).unwrap().get(0)
    };
    begin_and_leave(&server, "0");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(running(), 1, "nobody has asked");
    begin_and_leave(&server, "100ms");
    let begun = Instant::now();
    while running() > 1 {
        assert!(begun.elapsed() < Duration::from_secs(20), "it goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
}
