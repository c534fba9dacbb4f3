//! The rights of roles, asked of Cohort and of a real PostgreSQL 15: the answers must agree.
//!
//! `authority/setup.sql` makes roles and their objects. Each line of the other files of `authority` is a statement, which runs in a
//! transaction of its own, rolled back afterwards, once as each role of [`ROLES`] on either server. A line that begins with `!` runs
//! outside of a transaction. Further tests ask the same of each function, relation and setting that both servers have.
//!
//! `COHORT_AUTHORITY=functions,roles` runs only the files whose names contain one of these words.

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use common::Server;
use common::reference::{Reference, server_binaries};
use common::wire::Session;
use postgres::{Client, NoTls, SimpleQueryMessage};

/// The roles of the sessions that send the statements. The first three are the owner of everything, a member of the owner, and a member
/// that does not inherit. Then follow a role with all grants, a role without grants, a role with CREATEROLE, a role with ADMIN OPTION,
/// a role with predefined roles, and the owner of the database. The last four are superusers: one stays a superuser, and [`MEANWHILE`] drops one, renames one, and
/// takes the attribute from one.
const ROLES: [&str; 13] = [
    "owner", "member", "heir", "grantee", "stranger", "creator", "admin", "watcher", "keeper", "super", "gone",
    "renamed", "lowered",
];

/// Changes of roles while sessions of these roles are connected.
const MEANWHILE: &str = "drop role gone; alter role renamed rename to other; alter role lowered nosuperuser";

/// Differences that stay: the row's beginning, the role ("" for all), and why.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("select pg_cancel_backend", "", "the row may come before the cancellation"),
    ("select count(*) >= 0 from pg_file_settings", "watcher", "it is empty, and no function is behind it"),
    ("select count(*) >= 0 from pg_config", "watcher", "it is empty, and no function is behind it"),
    ("select case when false then fixed(1)", "", "EXECUTE is asked of calls that are never made, too"),
    ("lock table m", "", "materialized views are locked as tables are"),
    ("lock table pg_", "", "the server's own tables are computed, and not locked"),
    ("analyze", "", "the server's own tables are computed, and not analyzed"),
    ("copy v to stdout", "", "that a view can't be copied is said first"),
    ("create index on t (f(id))", "", "a volatile function that is simple is not taken for an immutable one"),
    ("create materialized view m", "gone", "that the role is gone is said first"),
    ("create temporary table tt (a serial primary key, b mood)", "gone", "the type is asked for first"),
    ("alter table t disable trigger all", "", "triggers of foreign keys have no names of their own"),
    ("alter table t alter column w type", "", "another one of the views is named"),
    ("alter table t set unlogged", "", "references between logged and unlogged tables are not refused"),
    ("insert into pg_", "", "the server's own tables are never changed"),
    ("update pg_", "", "the server's own tables are never changed"),
    ("delete from pg_", "", "the server's own tables are never changed"),
    ("grant select on pg_", "", "nothing is granted on the server's own tables"),
    ("create table information_schema.new_t", "", "nothing is made in the server's own schemas"),
    ("create function pg_catalog.new_f()", "", "nothing is made in the server's own schemas"),
    ("alter schema pg_catalog rename", "", "the server's own schemas stay"),
    ("drop schema pg_catalog", "", "the server's own schemas stay"),
    ("reassign owned by owner to current_user", "member", "CREATE on the database is not asked for"),
    (
        "create function new_f() returns int language sql set role",
        "",
        "roles in SET clauses are asked about when the function runs",
    ),
    ("alter routine p(int) security definer", "", "ALTER ROUTINE changes functions only"),
    ("drop function pg_catalog.now()", "", "built-in functions are not found by DROP"),
    ("drop extension plpgsql", "", "the one extension is not found by DROP"),
    ("alter type t ", "", "row types are not found by ALTER TYPE"),
    ("select count(*) from guarded where v like", "", "conditions are not put in the order of their costs"),
    ("select * from guarded where trusted(v)", "", "conditions are not put in the order of their costs"),
    ("select count(*) >= 0 from pg_hba_file_rules", "watcher", "the view reads no function of its own"),
    ("create language", "", "there is one language more than SQL"),
    ("grant execute on all functions in schema hid", "watcher", "functions are told of in another order"),
    ("select current_setting('is_superuser')", "", "the setting tells what holds now"),
    ("create schema authorization current_user", "gone", "CREATE on the database is asked for first"),
    ("create temporary sequence ts", "", "`pg_temp` is not found in texts that name relations"),
    ("create sequence new_seq owned by", "gone", "the owners are compared first"),
    ("table pg_authid", "", "roles have other numbers"),
    ("grant select on all tables", "watcher", "indexes and sequences are told of in another order"),
    ("select name from pg_settings", "", "there are fewer settings"),
    ("show config_file", "", "the file has another name"),
    ("show data_directory", "", "the folder is another one"),
    ("explain", "", "plans and their costs differ"),
];

/// Whether the difference is one of what there is, and not of who may use it: Cohort refuses what it has not, or both refuse with
/// 42501 in other words.
fn is_about_something_else(expected: &str, found: &str) -> bool {
    let is_missing =
        ["ERROR 0A000", "ERROR 42P01", "ERROR 42883", "unrecognized configuration parameter \"", "ERROR 42P13"];
    let both = |code: &str| expected.contains(code) && found.contains(code);
    is_missing.iter().any(|start| found.contains(start))
        || both("ERROR 42501")
        // Dependents are told in another order.
        || both("ERROR 2BP01") && same_lines(expected, found)
        || is_of_gone(expected) && is_of_gone(found)
}

fn same_lines(one: &str, other: &str) -> bool {
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(|line| line.trim_start_matches("DETAIL: ").to_owned()).collect();
        lines.sort_unstable();
        lines
    };
    sorted(one) == sorted(other)
}

/// Whether it is an error that the role is there no longer, in whichever words.
fn is_of_gone(answer: &str) -> bool {
    answer.contains("was concurrently dropped")
        || answer.contains("cache lookup failed for role")
        || answer.contains("ERROR 42501")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/authority")
}

/// Runs the set-up; both servers must be able to do all of it.
fn set_up(socket: &Path) {
    let mut session = Session::connect(socket, "postgres");
    let text = std::fs::read_to_string(folder().join("setup.sql")).unwrap();
    for statement in lines(&text) {
        let answer = session.simple(statement);
        assert!(!answer.contains("ERROR"), "{statement}: {answer}");
    }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("--"))
}

/// The answer without what differs from server to server.
fn plain(answer: &str) -> String {
    let mut plain = String::new();
    let mut digits = String::new();
    // Numbers of objects differ.
    for letter in answer.chars().chain(['\n']) {
        if letter.is_ascii_digit() {
            digits.push(letter);
            continue;
        }
        match digits.parse::<u64>() {
            // The SQLSTATE stays.
            _ if ["ERROR ", "WARNING ", "NOTICE ", "FATAL "].iter().any(|word| plain.ends_with(word)) => {
                plain.push_str(&digits);
            }
            Ok(number) if digits.len() >= 5 && number >= 16384 => plain.push('#'),
            _ => plain.push_str(&digits),
        }
        digits.clear();
        plain.push(letter);
    }
    plain.trim_end().to_owned()
}

struct Servers {
    server: Server,
    reference: Reference,
    _folder: tempfile::TempDir,
}

impl Servers {
    fn start() -> Option<Servers> {
        let binaries = server_binaries()?;
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(folder.path(), &[]);
        let reference = Reference::start(&binaries);
        set_up(&server.socket());
        set_up(&reference.socket());
        Some(Servers { server, reference, _folder: folder })
    }

    fn sockets(&self) -> [PathBuf; 2] {
        [self.reference.socket(), self.server.socket()]
    }
}

#[test]
fn each_statement_answers_each_role_as_postgresql_does() {
    let Some(servers) = Servers::start() else { return };
    let mut sessions = servers.sockets().map(|socket| ROLES.map(|role| Session::connect(&socket, role)));
    for socket in servers.sockets() {
        let answer = Session::connect(&socket, "postgres").simple(MEANWHILE);
        assert!(!answer.contains("ERROR"), "{answer}");
    }
    let wanted = std::env::var("COHORT_AUTHORITY").ok();
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let (mut compared, mut differing, mut report) = (0, 0, String::new());
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let is_wanted = wanted.as_ref().is_none_or(|words| words.split(',').any(|word| name.contains(word)));
        if name == "setup" || !is_wanted {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        for row in lines(&text) {
            for (place, role) in ROLES.iter().enumerate() {
                let run = |session: &mut Session| match row.strip_prefix('!') {
                    Some(alone) => plain(&session.simple(alone)),
                    None => {
                        session.simple("begin");
                        let answer = plain(&session.simple(row));
                        session.simple("rollback");
                        answer
                    }
                };
                let expected = run(&mut sessions[0][place]);
                let found = run(&mut sessions[1][place]);
                compared += 1;
                let allowed =
                    ALLOWED.iter().any(|(start, of, _)| row.starts_with(start) && (of.is_empty() || of == role));
                if expected != found && !allowed && !is_about_something_else(&expected, &found) {
                    differing += 1;
                    writeln!(report, "--- {name}, {role}: {row}\nPostgreSQL:\n{expected}\nCohort:\n{found}").unwrap();
                }
            }
        }
    }
    assert!(differing == 0, "{differing} of {compared} answers differ\n{report}");
}

/// The rows of a query, by their first column.
fn rows(client: &mut Client, query: &str) -> BTreeMap<String, Vec<Option<String>>> {
    let answers = client.simple_query(query).unwrap();
    let row = |answer: SimpleQueryMessage| match answer {
        SimpleQueryMessage::Row(row) => {
            let values: Vec<_> = (0..row.len()).map(|place| row.get(place).map(str::to_owned)).collect();
            Some((values[0].clone().unwrap_or_default(), values))
        }
        _ => None,
    };
    answers.into_iter().filter_map(row).collect()
}

/// Compares the rows that both servers have.
fn compare(servers: &Servers, query: &str) {
    let mut ours = servers.server.connect();
    let mut theirs = Client::connect(&servers.reference.url(), NoTls).unwrap();
    let (ours, theirs) = (rows(&mut ours, query), rows(&mut theirs, query));
    let common: Vec<_> = theirs.iter().filter_map(|(key, row)| Some((row, ours.get(key)?))).collect();
    assert!(common.len() > 50, "few rows are on both servers");
    let differing: Vec<String> = common
        .iter()
        .filter(|(theirs, ours)| theirs != ours)
        .map(|(theirs, ours)| format!("PostgreSQL: {theirs:?}\n    Cohort: {ours:?}"))
        .collect();
    assert!(differing.is_empty(), "{} of {} differ\n{}", differing.len(), common.len(), differing.join("\n"));
}

#[test]
fn each_function_may_be_called_by_whom_postgresql_lets_call_it() {
    let Some(servers) = Servers::start() else { return };
    compare(
        &servers,
        "select oid::text, proname, has_function_privilege('stranger', oid, 'execute'), has_function_privilege('watcher', oid, 'execute')
         from pg_proc where oid < 9000 and pronamespace = 'pg_catalog'::regnamespace",
    );
    // The refusal is that of the same table.
    let mut admin = servers.server.connect();
    let closed = rows(
        &mut admin,
        "select oid::text, proname, coalesce((select string_agg('null::' || format_type(a, null), ', ' order by n)
                from unnest(proargtypes::oid[]) with ordinality as u (a, n)), '')
         from pg_proc where oid < 9000 and pronamespace = 'pg_catalog'::regnamespace
              and not has_function_privilege('stranger', oid, 'execute')",
    );
    assert!(closed.len() > 5, "few functions are for superusers: {closed:?}");
    let mut stranger = Session::connect(&servers.server.socket(), "stranger");
    for row in closed.values() {
        let (name, arguments) = (row[1].clone().unwrap(), row[2].clone().unwrap());
        let call = format!("select * from {name}({arguments})");
        let answer = stranger.simple(&call);
        assert!(answer.contains(&format!("permission denied for function {name}")), "{call}: {answer}");
    }
}

#[test]
fn each_relation_of_the_system_may_be_read_by_whom_postgresql_lets_read_it() {
    let Some(servers) = Servers::start() else { return };
    compare(
        &servers,
        "select c.oid::regclass::text, has_table_privilege('stranger', c.oid, 'select'), has_any_column_privilege('stranger', c.oid, 'select'),
                has_table_privilege('watcher', c.oid, 'select'), has_table_privilege('stranger', c.oid, 'insert, update, delete')
         from pg_class c where relkind in ('r', 'v') and oid < 16384
              -- Rows of the one are changed by rights of their own, and the other is granted column by column.
              and c.oid::regclass::text not in ('pg_settings', 'pg_subscription')",
    );
    let mut admin = servers.server.connect();
    let closed = rows(
        &mut admin,
        "select c.oid::regclass::text from pg_class c
         where relkind in ('r', 'v') and oid < 16384 and not has_any_column_privilege('stranger', c.oid, 'select')",
    );
    assert!(closed.contains_key("pg_authid"), "{closed:?}");
    let mut stranger = Session::connect(&servers.server.socket(), "stranger");
    for name in closed.keys() {
        let answer = stranger.simple(&format!("select * from {name}"));
        assert!(answer.contains("permission denied for"), "{name}: {answer}");
    }
}

#[test]
fn each_setting_may_be_changed_by_whom_postgresql_lets_change_it() {
    let Some(servers) = Servers::start() else { return };
    let query = "select name, setting from pg_settings";
    let ours = rows(&mut servers.server.connect(), query);
    let theirs = rows(&mut Client::connect(&servers.reference.url(), NoTls).unwrap(), query);
    let names: Vec<&String> = theirs.keys().filter(|name| ours.contains_key(*name)).collect();
    assert!(names.len() > 100);
    let mut report = String::new();
    for role in ["stranger", "creator", "super"] {
        let mut sessions = servers.sockets().map(|socket| Session::connect(&socket, role));
        for name in &names {
            for form in ["set NAME to default", "reset NAME", "alter system reset NAME"] {
                let text = form.replace("NAME", &format!("\"{name}\""));
                // Everybody else's server is not the test's: what a superuser changes in the files stays.
                if role == "super" && form.starts_with("alter system") {
                    continue;
                }
                let [expected, found] = sessions.each_mut().map(|session| plain(&session.simple(&text)));
                let is_refused = |answer: &str| answer.contains("ERROR 42501");
                if is_refused(&expected) != is_refused(&found) {
                    writeln!(report, "--- {role}: {text}\nPostgreSQL:\n{expected}\nCohort:\n{found}").unwrap();
                }
            }
        }
    }
    assert!(report.is_empty(), "{report}");
}

/// The answers of both servers to the same steps, each a role's number and a text.
fn steps_agree(servers: &Servers, roles: &[&str], steps: &[(usize, &str)]) {
    let mut sessions: Vec<Vec<Session>> = servers
        .sockets()
        .iter()
        .map(|socket| roles.iter().map(|role| Session::connect(socket, role)).collect())
        .collect();
    for (role, text) in steps {
        let answers: Vec<String> = sessions.iter_mut().map(|own| plain(&own[*role].simple(text))).collect();
        assert_eq!(answers[0], answers[1], "{}: {text}", roles[*role]);
    }
}

#[test]
fn a_session_is_of_a_role_and_not_of_a_name() {
    let Some(servers) = Servers::start() else { return };
    let whose = "select has_table_privilege('secret', 'select')";
    steps_agree(
        &servers,
        &["postgres", "gone", "renamed", "stranger"],
        &[
            (1, whose),
            (0, "drop role gone"),
            (1, whose),
            (1, "select * from secret"),
            (1, "create role x superuser"),
            (0, "create role gone superuser"),
            (1, "select * from secret"),
            (1, "create role x superuser"),
            (1, "select current_user"),
            (0, "alter role renamed rename to other"),
            (2, "select current_user, session_user"),
            (0, "create role renamed superuser login"),
            (2, "select current_user, session_user"),
            (2, "select * from secret"),
            (2, "create role x superuser"),
            (0, "create role passing; grant passing to stranger"),
            (3, "set role passing"),
            (0, "drop role passing"),
            (3, "select * from secret"),
            (0, "create role passing superuser"),
            (3, "select * from secret"),
            (3, "create role x superuser"),
            (3, "reset role; select current_user"),
        ],
    );
}

#[test]
fn connect_is_asked_of_those_who_connect() {
    let Some(servers) = Servers::start() else { return };
    let refused = |user: &str| -> Vec<Option<String>> {
        let urls = [servers.reference.url(), servers.server.url()];
        let connect = |url: &String| {
            let mut config: postgres::Config = url.parse().unwrap();
            config.user(user).connect(NoTls).err().map(|error| {
                format!(
                    "{:?}",
                    error.as_db_error().map(|e| (
                        e.code().clone(),
                        e.message().to_owned(),
                        e.detail().map(str::to_owned)
                    ))
                )
            })
        };
        urls.iter().map(connect).collect()
    };
    for step in [
        "select 1",
        "revoke connect on database postgres from public",
        "grant connect on database postgres to owner",
        "revoke connect on database postgres from owner; grant connect on database postgres to creator",
    ] {
        for socket in servers.sockets() {
            let answer = Session::connect(&socket, "postgres").simple(step);
            assert!(!answer.contains("ERROR"), "{answer}");
        }
        for role in ["owner", "member", "heir", "stranger", "creator", "super"] {
            let answers = refused(role);
            assert_eq!(answers[0], answers[1], "{role} after {step}");
        }
    }
}
