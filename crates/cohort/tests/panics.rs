//! A session that panics: its client is told so, what it held is given up, and the server lives.
// invariants: rows 11 and 39

mod common;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::report::{LogForm, Report, Reporter};
use cohort::{CurrentCredentials, Database, Instance, OpenOptions, Server, ServerOptions, SocketOptions};
use common::wire::Session;
use postgres::{Client, NoTls};

/// A log whose writer panics when somebody of this name is not let in.
struct PanicsForAStranger;

const STRANGER: &str = "stranger";

impl Reporter for PanicsForAStranger {
    fn report(&self, report: &Report<'_>) {
        assert!(report.session.and_then(|session| session.user) != Some(STRANGER), "on purpose");
    }

    fn rotate(&self) -> bool {
        false
    }

    fn current_file(&self, _: Option<LogForm>) -> Option<String> {
        None
    }
}

/// A server of this process, one of whose functions panics: `pg_reload_conf()`.
fn start(folder: &Path) -> (Database, Server) {
    let database = Database::open(OpenOptions::new(folder.join("data"))).unwrap();
    let instance = Instance::new(database.clone());
    instance.set_reload(Arc::new(|| panic!("on purpose")));
    instance.set_reporter(Arc::new(PanicsForAStranger));
    let options = ServerOptions {
        host: "127.0.0.1".to_owned(),
        port: 0,
        sockets: SocketOptions::in_directory(folder, 0o700),
        worker_count: 1,
        connections: None,
        max_connections: 8,
        superuser_reserved_connections: 1,
        credentials: CurrentCredentials::default(),
    };
    (database, Server::start(instance, &options).unwrap())
}

fn count(client: &mut Client, query: &str) -> i64 {
    client.query_one(query, &[]).unwrap().get(0)
}

/// The sockets that this process has open.
fn sockets() -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    links
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .filter(|target| target.starts_with("socket:"))
        .count()
}

#[test]
fn a_session_that_panics_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (database, server) = start(folder.path());
    let socket = folder.path().join(format!(".s.PGSQL.{}", server.port()));
    let url = format!("host={} port={} user=postgres dbname=postgres", folder.path().display(), server.port());
    let mut control = Client::connect(&url, NoTls).unwrap();
    control.batch_execute("create table t as select generate_series(1, 100) as id").unwrap();
    let before = sockets();
    // More than there are places.
    for round in 0..20 {
        let mut session = Session::connect(&socket, "postgres");
        session.simple("create temporary table mine (id int); listen changes; select pg_advisory_lock(7)");
        session.simple("begin; insert into t values (1000); lock table t in share mode; declare c cursor for select 1");
        let panics = "select id, case when id = 100 then pg_reload_conf() end from t where id <= 100 order by id";
        let told = match round % 2 {
            0 => session.simple(panics),
            _ => session.extended(panics),
        };
        // No gate holds the rows that came before: nobody was asked what they depend on.
        assert!(!told.contains("row "), "{told}");
        assert!(told.contains("FATAL XX000: the session failed on an internal error"), "{told}");
        assert!(told.ends_with("the connection is closed\n"), "{told}");
    }
    let others =
        "select count(*) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'";
    let held = "select count(*) from pg_locks where pid is distinct from pg_backend_pid()";
    let temporary = "select count(*) from pg_namespace where nspname like 'pg\\_temp\\_%'";
    let started = Instant::now();
    while [others, held, temporary].iter().any(|query| count(&mut control, query) > 0) || sockets() != before {
        assert!(started.elapsed() < Duration::from_secs(20), "something is left: {} sockets of {before}", sockets());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(count(&mut control, "select count(*) from t"), 100);
    drop(control);
    server.stop(cohort::StopMode::AfterStatements);
    database.close().unwrap();
}

#[test]
fn a_panic_before_a_session_ends_its_connection_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (database, server) = start(folder.path());
    let url = format!("host=127.0.0.1 port={} dbname=postgres", server.port());
    let mut client = Client::connect(&format!("{url} user=postgres"), NoTls).unwrap();
    for _ in 0..20 {
        let error = Client::connect(&format!("{url} user={STRANGER}"), NoTls).err().unwrap();
        assert_eq!(error.code().map(|code| code.code()), Some("XX000"), "{error}");
    }
    assert_eq!(count(&mut client, "select count(*) from pg_stat_activity where backend_type = 'client backend'"), 1);
    drop(client);
    server.stop(cohort::StopMode::AfterStatements);
    database.close().unwrap();
}
