//! Settings that are changed while the server runs, and those that are kept.

mod common;

use std::fs::OpenOptions;
use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use common::Server;
use postgres::Client;

/// How often commits of a session that waits for none of them took the commit log's latch.
fn latch_acquisitions(client: &mut Client, commits: i64) -> i64 {
    client.batch_execute("select cohort_stat_reset_latches()").unwrap();
    for _ in 0..commits {
        client.execute("insert into t values (1)", &[]).unwrap();
    }
    client.query_one("select exacq from cohort_stat_latches where name = 'XactSLRU'", &[]).unwrap().get(0)
}

fn setting(client: &mut Client, name: &str) -> String {
    client.query_one(&format!("show {name}"), &[]).unwrap().get(0)
}

#[test]
fn a_setting_kept_by_alter_system_holds_from_the_next_reload_and_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let own = ["wal_writer_delay=1s", "autovacuum=off"];
    let server = Server::start(folder.path(), &own);
    std::fs::write(folder.path().join("data/cohort.conf"), "clog_update = group\n").unwrap();
    let mut client = server.connect();
    client.batch_execute("create table t (id int); create role plain login").unwrap();
    client.batch_execute("set synchronous_commit = off").unwrap();
    assert!(latch_acquisitions(&mut client, 300) < 150);

    client.batch_execute("alter system set clog_update = each").unwrap();
    assert_eq!(setting(&mut client, "clog_update"), "cohort");
    assert!(client.query_one("select pg_reload_conf()", &[]).unwrap().get::<_, bool>(0));
    assert_eq!(setting(&mut client, "clog_update"), "each");
    assert!(latch_acquisitions(&mut client, 300) >= 300);

    let plain = format!("{} options='-c search_path=public'", server.url().replace("user=postgres", "user=plain"));
    let mut plain = Client::connect(&plain, postgres::NoTls).unwrap();
    for statement in ["alter system set clog_update = cohort", "alter system reset all"] {
        let error = plain.batch_execute(statement).unwrap_err();
        assert_eq!(error.code().map(|code| code.code()), Some("42501"), "{error}");
    }
    drop((client, plain));
    server.stop();

    let server = Server::start(folder.path(), &own);
    let mut client = server.connect();
    assert_eq!(setting(&mut client, "clog_update"), "each");
    client.batch_execute("alter system reset clog_update").unwrap();
    client.batch_execute("select pg_reload_conf()").unwrap();
    assert_eq!(setting(&mut client, "clog_update"), "group", "what cohort.conf says counts again");
    let data = std::path::absolute(folder.path().join("data")).unwrap();
    assert_eq!(setting(&mut client, "data_directory"), data.to_str().unwrap());
    assert_eq!(setting(&mut client, "config_file"), data.join("cohort.conf").to_str().unwrap());
    drop(client);
    server.stop();
}

/// The first reload reads a pipe, so that it goes on only when the test says so.
#[test]
fn a_reload_is_not_undone_by_one_that_read_an_older_file() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let (file, newer) = (folder.path().join("data/cohort.conf"), folder.path().join("newer.conf"));
    std::fs::remove_file(&file).unwrap();
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    std::fs::write(&newer, "deadlock_timeout = 2222\n").unwrap();
    std::thread::scope(|scope| {
        let (mut early, mut late) = (server.connect(), server.connect());
        let early = scope.spawn(move || early.batch_execute("select pg_reload_conf()").unwrap());
        let mut pipe = OpenOptions::new().write(true).open(&file).unwrap();
        pipe.write_all(b"deadlock_timeout = 1111\n").unwrap();
        std::fs::rename(&newer, &file).unwrap();
        let late = scope.spawn(move || late.batch_execute("select pg_reload_conf()").unwrap());
        // Time for the late one to end before the early one, if nothing holds it up.
        std::thread::sleep(Duration::from_millis(300));
        drop(pipe);
        early.join().unwrap();
        late.join().unwrap();
    });
    assert_eq!(setting(&mut server.connect(), "deadlock_timeout"), "2222ms");
    server.stop();
}

/// Connects as `user` with `options`; what `query` gives, or the error's code.
fn asked(server: &Server, user: &str, options: &str, query: &str) -> Result<String, String> {
    let url = format!("{} options='{options}'", server.url().replace("user=postgres", &format!("user={user}")));
    let code = |error: postgres::Error| error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned());
    let mut client = Client::connect(&url, postgres::NoTls).map_err(code)?;
    Ok(client.query_one(query, &[]).map_err(code)?.get(0))
}

#[test]
fn nobody_becomes_another_by_what_he_starts_with() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    server.connect().batch_execute("create role plain login; create role part; grant part to plain").unwrap();
    let who = "select current_user || ' ' || session_user";
    for options in ["-c role=postgres", "-c session_authorization=postgres", "-c commit_delay=5"] {
        assert_eq!(asked(&server, "plain", options, who), Err("42501".to_owned()), "{options}");
    }
    assert_eq!(asked(&server, "plain", "-c role=part", who), Ok("part plain".to_owned()));
    assert_eq!(asked(&server, "plain", "-c role=nobody", who), Err("22023".to_owned()));
    assert_eq!(asked(&server, "plain", "-c session_authorization=plain", who), Ok("plain plain".to_owned()));
    assert_eq!(asked(&server, "postgres", "-c session_authorization=plain", who), Ok("plain plain".to_owned()));
    assert_eq!(asked(&server, "plain", "-c transaction_isolation=serializable", who), Err("25001".to_owned()));
    assert_eq!(asked(&server, "plain", "-c datestyle=sql,dmy", "show datestyle"), Ok("SQL, DMY".to_owned()));
    assert_eq!(asked(&server, "plain", "-c timezone=europe/berlin", "show timezone"), Ok("Europe/Berlin".to_owned()));
    // Those that were turned away have left nothing behind.
    let sessions = || asked(&server, "postgres", "-c work_mem=4MB", "select count(*)::text from pg_stat_activity");
    let deadline = Instant::now() + Duration::from_secs(30);
    while sessions().as_deref() != Ok("1") {
        assert!(Instant::now() < deadline, "{:?}", sessions());
    }
    server.stop();
}

#[test]
fn sessions_start_with_what_is_kept_for_their_role_and_database() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let kept = "create role plain login; create role part; grant part to plain;
        alter role all set lock_timeout = 1; alter role all set application_name = 'of all';
        alter database postgres set lock_timeout = 2; alter database postgres set work_mem = '5MB';
        alter role plain set work_mem = '6MB'; alter role plain set commit_delay = 3; alter role plain set role = part;
        alter role plain in database postgres set statement_timeout = '1h'; alter role plain set my.own = 'x'";
    server.connect().batch_execute(kept).unwrap();
    let show = |user: &str, options: &str, name: &str| {
        asked(&server, user, options, &format!("select current_setting('{name}')")).unwrap()
    };
    let none = "-c geqo=on";
    let of_plain = [
        ("lock_timeout", "2ms"),
        ("work_mem", "6MB"),
        ("commit_delay", "3"),
        ("statement_timeout", "1h"),
        ("my.own", "x"),
        ("role", "part"),
        ("application_name", "of all"),
    ];
    for (name, value) in of_plain {
        assert_eq!(show("plain", none, name), value, "{name}");
    }
    assert_eq!(show("postgres", none, "work_mem"), "5MB");
    assert_eq!(show("plain", "-c work_mem=7MB", "work_mem"), "7MB", "what the client asks for counts most");
    let mut client = server.connect();
    let name = "select application_name from pg_stat_activity where pid = pg_backend_pid()";
    assert_eq!(client.query_one(name, &[]).unwrap().get::<_, String>(0), "of all");
    client.batch_execute("set work_mem = '9MB'; reset work_mem").unwrap();
    assert_eq!(setting(&mut client, "work_mem"), "5MB", "RESET returns to what the session began with");
    // A kept setting that can no longer be applied does not prevent a login.
    client.batch_execute("revoke part from plain").unwrap();
    assert_eq!(show("plain", none, "role"), "none");
    client.batch_execute("alter role plain reset role; alter role plain in database postgres reset all").unwrap();
    drop(client);
    server.stop();

    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    let count = "select count(*) from pg_db_role_setting where setrole = 'plain'::regrole";
    assert_eq!(client.query_one(count, &[]).unwrap().get::<_, i64>(0), 1);
    client.batch_execute("drop role plain; drop role part").unwrap();
    assert_eq!(setting(&mut client, "work_mem"), "5MB");
    client.batch_execute("alter database postgres reset all; alter role all reset all").unwrap();
    let count = "select count(*) from pg_db_role_setting";
    assert_eq!(client.query_one(count, &[]).unwrap().get::<_, i64>(0), 0);
    drop(client);
    server.stop();
}

/// Appends the text of all sources below `folder`.
fn read_sources(folder: &std::path::Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "tests" && name != "target") {
                read_sources(&path, text);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !["settings/table.rs", "settings/hidden.rs"].iter().any(|list| path.ends_with(list))
        {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// A setting that no code names has no effect, unless it only tells something. The two files that only list settings do not count.
#[test]
fn the_documentation_lists_the_settings_without_effect() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources = String::new();
    read_sources(&root.join("crates"), &mut sources);
    let mut read = std::collections::BTreeSet::new();
    for (start, name) in sources.match_indices("Id::") {
        let rest = &sources[start + name.len()..];
        read.insert(&rest[..rest.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(rest.len())]);
    }
    let can_be_set = |setting: &&base::settings::Definition| setting.context != base::settings::Context::Internal;
    let without_effect: Vec<&str> = base::settings::all()
        .filter(can_be_set)
        .filter(|setting| !read.contains(format!("{:?}", setting.id).as_str()))
        .map(|setting| setting.name)
        .collect();
    let page = std::fs::read_to_string(root.join("docs/compatibility.md")).unwrap();
    let (_, table) = page.split_once("## Settings without effect").unwrap();
    let listed: Vec<&str> = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(listed, without_effect, "docs/compatibility.md on the left, the code on the right");
}

/// The total cost that EXPLAIN tells of a query.
fn cost(client: &mut Client, query: &str) -> f64 {
    let plan: String = client.query(&format!("explain {query}"), &[]).unwrap()[0].get(0);
    plan.split_once("..").unwrap().1.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn each_cost_of_the_planner_counts() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    client
        .batch_execute("create table t as select g as a, repeat('x', 100) as b from generate_series(1, 10000) g; create index on t (a); analyze t")
        .unwrap();
    let (scan, look) = ("select b from t where b <> 'y'", "select b from t where a < 100");
    for (name, query, other_method) in [
        ("seq_page_cost", scan, "indexscan"),
        ("cpu_tuple_cost", scan, "indexscan"),
        ("cpu_operator_cost", scan, "indexscan"),
        ("random_page_cost", look, "seqscan"),
        ("cpu_index_tuple_cost", look, "seqscan"),
    ] {
        client.batch_execute(&format!("reset all; set enable_{other_method} = off")).unwrap();
        let usual = cost(&mut client, query);
        client.batch_execute(&format!("set {name} = 50")).unwrap();
        let dear = cost(&mut client, query);
        assert!(dear > usual * 2.0, "{name}: {dear} instead of {usual}");
    }
}
