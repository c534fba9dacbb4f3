//! The effect of TCP's settings on a connection, beside a real PostgreSQL 15, and on statements whose client has gone.

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use common::Server;
use common::conversation::{Sent, start_packet};
use common::reference::{Reference, server_binaries};
use postgres::{Client, NoTls, SimpleQueryMessage};

const SETTINGS: [&str; 4] =
    ["tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count", "tcp_user_timeout"];

/// The steps of a session; after each of them all settings are shown.
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
    for over_tcp in [true, false] {
        let url = |url: String, port: u16| match over_tcp {
            true => format!("host=127.0.0.1 port={port} user=postgres dbname=postgres"),
            false => url,
        };
        let mut own = Client::connect(&url(server.url(), server.port()), NoTls).unwrap();
        let mut theirs = Client::connect(&url(reference.url(), reference.port()), NoTls).unwrap();
        for step in STEPS {
            assert_eq!(told(&mut own, step), told(&mut theirs, step), "over TCP: {over_tcp}");
        }
    }
}

/// How long it is until the keepalive timer of a connection's socket at the server goes off, as the system tells it.
fn keepalive_timer(port: u16, client_port: u16) -> Option<Duration> {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let ends_with = |address: &str, port: u16| address.ends_with(&format!(":{port:04X}"));
    table.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        if !ends_with(words[1], port) || !ends_with(words[2], client_port) {
            return None;
        }
        // The kind of the timer, of which 2 is keepalive, and hundredths of a second.
        let hundredths = words[5].strip_prefix("02:")?;
        Some(Duration::from_millis(u64::from_str_radix(hundredths, 16).unwrap() * 10))
    })
}

#[test]
fn the_socket_follows_the_setting() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let url = format!("host=127.0.0.1 port={} user=postgres dbname=postgres", server.port());
    let mut client = Client::connect(&url, NoTls).unwrap();
    let port: i32 = client.query_one("select inet_client_port()", &[]).unwrap().get(0);
    for idle_seconds in [77, 5000] {
        client.batch_execute(&format!("set tcp_keepalives_idle = {idle_seconds}")).unwrap();
        client.batch_execute("select 1").unwrap();
        let begun = Instant::now();
        let (most, least) = (Duration::from_secs(idle_seconds), Duration::from_secs(idle_seconds - 60));
        // Right after an answer the timer is the one of sending it again.
        let timer = loop {
            if let Some(timer) = keepalive_timer(server.port(), port as u16) {
                break timer;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "there is no timer");
            std::thread::sleep(Duration::from_millis(50));
        };
        assert!(least < timer && timer <= most, "{timer:?} instead of {most:?}");
    }
}

/// Begins a statement over a socket of its own.
fn begin(server: &Server, name: &str, interval: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let parameters = [
        ("user", "postgres"),
        ("database", "postgres"),
        ("application_name", name),
        ("client_connection_check_interval", interval),
    ];
    stream.write_all(&start_packet(&parameters)).unwrap();
    stream.read_exact(&mut [0; 9]).unwrap();
    stream.write_all(&Sent::query("select pg_sleep(600)").bytes()).unwrap();
    stream
}

#[test]
fn a_statement_ends_when_its_client_has_gone_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    let mut wait_for = |names: &str| {
        let query = "select coalesce(string_agg(application_name, ' ' order by application_name), '')
                     from pg_stat_activity where state = 'active' and query ~ '^select pg_sleep'";
        let begun = Instant::now();
        loop {
            let running: String = client.query_one(query, &[]).unwrap().get(0);
            if running == names {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "{running} instead of {names}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let streams = [begin(&server, "asks", "100ms"), begin(&server, "does_not_ask", "0")];
    wait_for("asks does_not_ask");
    drop(streams);
    wait_for("does_not_ask");
    std::thread::sleep(Duration::from_millis(500));
    wait_for("does_not_ask");
}
