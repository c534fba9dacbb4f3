//! The server's log: Cohort and a real PostgreSQL have the same conversations, and their logs are compared in all three forms.

mod common;

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use common::reference::{Reference, server_binaries};
use common::wire::Session;
use common::{Server, free_port};

/// The settings of both servers.
const SETTINGS: &[&str] = &[
    "logging_collector=on",
    "log_destination=stderr,csvlog,jsonlog",
    "log_filename=server.log",
    "log_line_prefix=%q<%u|%d|%e|%i> ",
    "log_connections=on",
    "log_disconnections=on",
    "log_timezone=GMT",
];

/// Lines that are left out of the comparison on both sides: a part of the line, and the reason.
const KNOWN: &[(&str, &str)] = &[
    ("connection received", "the process that tells of it is another one in PostgreSQL"),
    ("while updating tuple", "a wait's CONTEXT does not name the row"),
];

/// PostgreSQL tells where in the statement the table stands that is waited for.
const PLACE_OF_TABLE: &str = " at character N";

/// Lines that are left out of the comparison of CSV and JSON besides.
const KNOWN_STRUCTURED: &[(&str, &str)] = &[("ShareLock on transaction", "a wait's CONTEXT does not name the row")];

/// The client's words, one line each. A line that begins with `extended ` has a statement and values, separated by ` | `,
/// for the extended protocol; others are query strings of the simple one. `\n` stands for the end of a line.
const SCENES: &[(&str, &[&str])] = &[
    (
        "errors",
        &[
            "select 1/0",
            "selec",
            "select * from nope",
            "select 'a\\nLOG:  forged'::int",
            "select 1;\\nselect 'x'::int;",
            "create table t (id int primary key, v text check (v <> 'bad'))",
            "insert into t values (1, 'bad')",
            "insert into t values (1, 'a'); insert into t values (1, 'b')",
            "begin; select 1/0",
            "select 1",
            "rollback",
            "commit",
            "create table if not exists t (id int)",
            "extended select $1::int / (g - $2::int) from generate_series(0, 0) g | 1 | 0",
            "extended select nope",
            "extended select $1::int | a",
            "extended select 1; select 2",
        ],
    ),
    (
        "levels of RAISE",
        &[
            "do $$begin raise debug 'd'; raise log 'l'; raise info 'i'; raise notice 'n'; raise warning 'w'; end$$",
            "set log_min_messages = debug1",
            "do $$begin raise log 'l'; raise info 'i'; raise notice 'n'; raise warning 'w'; end$$",
            "set log_min_messages = notice",
            "do $$begin raise debug 'd'; raise log 'l'; raise info 'i'; raise notice 'n'; raise warning 'w'; end$$",
            "set log_min_messages = log",
            "select 1/0",
            "do $$begin raise log 'l'; raise warning 'w'; end$$",
            "set log_min_messages = fatal",
            "do $$begin raise log 'l'; raise exception 'e'; end$$",
            "reset log_min_messages",
            "do $$begin raise exception 'two\\nlines' using detail = 'the\\ndetail', hint = 'a hint', errcode = 'P0042'; end$$",
            "do $$begin raise warning '' ; end$$",
        ],
    ),
    (
        "which statements are shown with errors",
        &[
            "set log_min_error_statement = warning",
            "do $$begin raise warning 'w'; raise notice 'n'; end$$",
            "set log_min_error_statement = fatal",
            "select 1/0",
            "set log_min_error_statement = panic",
            "select 1/0",
            "reset log_min_error_statement",
            "set log_error_verbosity = terse",
            "insert into t values (1, 'b')",
            "reset log_error_verbosity",
        ],
    ),
    (
        "definitions",
        &[
            "set log_statement = ddl",
            "create table d (a int)",
            "insert into d values (1)",
            "select 1",
            "select 1; alter table d add b int; select 2",
            "create index on d (a)",
            "comment on table d is 'c'",
            "truncate d",
            "explain analyze select 1",
            "alter system reset work_mem",
            "extended create table d2 (a int)",
            "extended select $1::int | 1",
            "grant select on d to public",
            "select 1 as c into d3",
            "drop table d, d2, d3",
        ],
    ),
    (
        "changes",
        &[
            "set log_statement = mod",
            "create table m (a int)",
            "insert into m values (1)",
            "insert into m values (2)",
            "update m set a = 2 where a = 1",
            "delete from m where a = 1",
            "with x as (insert into m values (9) returning a) select * from x",
            "select * from m",
            "truncate m",
            "explain analyze insert into m values (3)",
            "explain insert into m values (3)",
            "explain (analyze false) insert into m values (3)",
            "explain (analyze, costs off) select a from m",
            "prepare ins as insert into m values ($1)",
            "prepare sel as select * from m",
            "execute ins (4)",
            "execute sel",
            "extended insert into m values ($1) | 5",
            "extended insert into m values ($1) | \\N",
            "extended select * from m",
            "drop table m",
        ],
    ),
    (
        "all statements",
        &[
            "set log_statement = 'all'",
            "select 1",
            "select 2",
            "",
            "selec",
            "begin; select 1; commit",
            "extended begin",
            "extended select $1::text, $2::int | it's | 7",
            "extended select $1::text | \\N",
            "extended commit",
            "extended ",
            "set log_parameter_max_length = 3",
            "extended select $1::text | abcdef",
            "set log_parameter_max_length = 0",
            "extended select $1::text | abcdef",
            "reset log_parameter_max_length",
            "set log_parameter_max_length_on_error = 4",
            "extended select 1 / length($1::text) - 1 / (g - $2::int) from generate_series(1, 1) g | abcdef | 1",
            "reset log_parameter_max_length_on_error",
            "select 'two\\nlines'",
            "show log_statement",
        ],
    ),
    (
        "durations",
        &[
            "set log_duration = on",
            "select 1",
            "extended select $1::int | 1",
            "select 1/0",
            "set log_statement = 'all'",
            "select 1",
            "extended select $1::int | 1",
            "reset log_statement",
            "reset log_duration",
            "set log_min_duration_statement = 0",
            "select 1",
            "select 1; select 2",
            "extended select $1::int | 1",
            "extended begin",
            "extended commit",
            "prepare p as select $1::int",
            "execute p (3)",
            "set log_statement = 'all'",
            "select 1",
            "extended select $1::int | 1",
            "reset log_statement",
            "set log_min_duration_statement = '1min'",
            "select 1",
            "set log_min_duration_sample = 0",
            "select 1",
            "set log_statement_sample_rate = 0",
            "select 1",
            "reset log_min_duration_sample",
            "set log_transaction_sample_rate = 1",
            "select 1",
            "begin",
            "select 2",
            "commit",
            "reset log_transaction_sample_rate",
            "select 1",
        ],
    ),
    (
        "plans",
        &[
            "load 'auto_explain'",
            "set auto_explain.log_min_duration = 0",
            "set enable_seqscan = on",
            "select 1 as one",
            "select 1 as one; select 2 as two",
            "extended select 1 as one",
            "set auto_explain.log_verbose = on",
            "select 'two\\nlines' as lines",
            "set auto_explain.log_format = json",
            "select 1 as \"a \\\"b\"",
            "set auto_explain.log_format = yaml",
            "select 1 as one",
            "set auto_explain.log_format = text",
            "set auto_explain.log_verbose = off",
            "set auto_explain.sample_rate = 0",
            "select 1 as one",
            "set auto_explain.sample_rate = 1",
            "set auto_explain.log_level = debug1",
            "select 1 as one",
            "set auto_explain.log_level = notice",
            "select 1 as one",
            "set auto_explain.log_min_duration = '1min'",
            "select 1 as one",
        ],
    ),
    (
        "passwords",
        &["set log_statement = 'ddl'", "create role with_password password 'secret'", "drop role with_password"],
    ),
    (
        "settings that are refused",
        &[
            "set log_connections = off",
            "set log_destination = 'stderr'",
            "set log_line_prefix = 'x'",
            "set log_min_messages = 'loud'",
            "set log_min_duration_statement = -2",
            "set log_statement_sample_rate = 2",
        ],
    ),
];

/// One of the two servers.
struct Side {
    socket: PathBuf,
    logs: PathBuf,
    /// How much of each file has been read.
    read: [usize; 3],
    scenes: usize,
}

const FILES: [&str; 3] = ["server.log", "server.csv", "server.json"];

impl Side {
    fn new(socket: PathBuf, data: &Path) -> Side {
        Side { socket, logs: data.join("log"), read: [0; 3], scenes: 0 }
    }

    /// The new text of the three files, once all of it has been written.
    fn written(&mut self) -> [String; 3] {
        self.scenes += 1;
        let marker = format!("the end of scene {}.", self.scenes);
        let mut session = Session::connect(&self.socket, "postgres");
        session.simple(&format!("do $$begin raise log '{marker}'; end$$"));
        session.send_farewell();
        while session.read_some(4096) > 0 {}
        let deadline = Instant::now() + Duration::from_secs(60);
        std::array::from_fn(|place| {
            loop {
                let bytes = std::fs::read(self.logs.join(FILES[place])).unwrap_or_default();
                let new = String::from_utf8_lossy(&bytes[self.read[place]..]).into_owned();
                // The end of the marker's own session follows it.
                let is_whole = new.rfind(&marker).is_some_and(|at| new[at..].contains("disconnection: session time"));
                if is_whole && new.ends_with('\n') {
                    self.read[place] = bytes.len();
                    return new;
                }
                assert!(Instant::now() < deadline, "{} never came: {new}", self.logs.join(FILES[place]).display());
                std::thread::sleep(Duration::from_millis(10));
            }
        })
    }
}

/// Says a line of a scene.
fn say(session: &mut Session, line: &str) {
    let line = line.replace("\\n", "\n");
    match line.strip_prefix("extended ") {
        None => _ = session.simple(&line),
        Some(parts) => {
            let mut parts = parts.split(" | ");
            let text = parts.next().unwrap();
            let values: Vec<_> = parts.map(|value| (value != "\\N").then_some(value)).collect();
            session.extended_with_nulls(text, &values);
        }
    }
}

/// Replaces each run of digits after one of the words by `N`.
fn mask_numbers(text: &str) -> String {
    // Of waits for locks, the numbers of processes, tables and transactions, and what kind of statement waits.
    if ["Lock on ", "holding the lock: ", "waiting|", "waiting> "].iter().any(|part| text.contains(part)) {
        let mut masked = String::new();
        for character in text.chars() {
            let shown = if character.is_ascii_digit() { 'N' } else { character };
            if shown != 'N' || !masked.ends_with('N') {
                masked.push(shown);
            }
        }
        for kind in ["SELECT", "UPDATE"] {
            masked = masked.replace(&format!("{kind} waiting"), "waiting");
        }
        return masked.replace(PLACE_OF_TABLE, "");
    }
    let mut masked = text.to_owned();
    for word in ["duration: ", "session time: ", "process "] {
        let mut from = 0;
        while let Some(at) = masked[from..].find(word) {
            let start = from + at + word.len();
            let number = |c: char| c.is_ascii_digit() || c == '.' || c == ':';
            let end = masked[start..].find(|c| !number(c)).map_or(masked.len(), |length| start + length);
            masked.replace_range(start..end, "N");
            from = start;
        }
    }
    masked
}

/// The parts of [`KNOWN`] and [`KNOWN_STRUCTURED`] that were found in a line.
static USED: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

fn contains_one(line: &str, known: &[(&'static str, &str)]) -> bool {
    let found = known.iter().find(|(part, _)| line.contains(part));
    found.inspect(|(part, _)| _ = USED.lock().unwrap().insert(part)).is_some()
}

fn is_known(line: &str) -> bool {
    contains_one(line, KNOWN)
}

fn is_known_structured(line: &str) -> bool {
    is_known(line) || contains_one(line, KNOWN_STRUCTURED)
}

/// The messages of sessions in the plain form.
fn text_messages(log: &str) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    for line in log.lines() {
        match messages.last_mut() {
            Some(last) if line.starts_with('\t') => last.push_str(&format!("\n{line}")),
            _ => messages.push(line.to_owned()),
        }
    }
    messages.retain(|message| message.starts_with('<') && !is_known(message));
    messages.iter().map(|message| mask_numbers(message)).collect()
}

/// The places of columns that differ from run to run: times, numbers of processes and transactions, and the place in the source.
const MASKED_COLUMNS: [usize; 8] = [0, 3, 5, 8, 9, 10, 21, 25];

/// The column of the error's place in the statement; see [`PLACE_OF_TABLE`].
const QUERY_POSITION: usize = 20;

/// The messages of sessions in CSV.
fn csv_messages(log: &str) -> Vec<String> {
    let mut rows = vec![vec![String::new()]];
    let mut is_quoted = false;
    for character in log.chars() {
        let row = rows.last_mut().unwrap();
        match character {
            '"' => {
                is_quoted = !is_quoted;
                row.last_mut().unwrap().push('"');
            }
            ',' if !is_quoted => row.push(String::new()),
            '\n' if !is_quoted => rows.push(vec![String::new()]),
            other => row.last_mut().unwrap().push(other),
        }
    }
    rows.retain(|row| row.len() > 1 && !row[1].is_empty());
    let mut messages: Vec<String> = Vec::new();
    for mut row in rows {
        assert_eq!(row.len(), 26, "{row:?}");
        MASKED_COLUMNS.iter().for_each(|place| row[*place].clear());
        if row[13].contains("Lock on ") {
            row[QUERY_POSITION].clear();
        }
        messages.push(mask_numbers(&row.join(",")));
    }
    messages.retain(|message| !is_known_structured(message));
    messages
}

/// Likewise the keys.
const MASKED_KEYS: [&str; 10] = [
    "timestamp",
    "pid",
    "session_id",
    "session_start",
    "vxid",
    "txid",
    "query_id",
    "func_name",
    "file_name",
    "file_line_num",
];

/// The messages of sessions in JSON.
fn json_messages(log: &str) -> Vec<String> {
    let mut messages = Vec::new();
    for line in log.lines() {
        let mut message: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let object = message.as_object_mut().unwrap();
        if object.get("user").is_none() || is_known_structured(line) {
            continue;
        }
        MASKED_KEYS.iter().for_each(|key| _ = object.remove(*key));
        if line.contains("Lock on ") {
            object.remove("cursor_position");
        }
        messages.push(mask_numbers(&message.to_string()));
    }
    messages
}

/// The differences between two lists of messages.
fn differences(scene: &str, form: &str, theirs: &[String], ours: &[String]) -> String {
    let mut told = String::new();
    for index in 0..theirs.len().max(ours.len()) {
        let (their, our) = (theirs.get(index), ours.get(index));
        if their != our {
            let shown = |message: Option<&String>| message.map_or("(nothing)", String::as_str).to_owned();
            told += &format!(
                "{scene}, {form}, message {index}:\n  PostgreSQL {}\n  Cohort     {}\n",
                shown(their),
                shown(our)
            );
            if told.lines().count() > 24 {
                break;
            }
        }
    }
    told
}

/// Both servers, and what differed between their logs so far.
struct Both {
    theirs: Side,
    ours: Side,
    found: String,
}

impl Both {
    fn compare(&mut self, scene: &str, mut act: impl FnMut(&Path)) {
        let [theirs, ours] = [&mut self.theirs, &mut self.ours].map(|side| {
            act(&side.socket);
            side.written()
        });
        for (place, form) in FILES.iter().enumerate() {
            let messages = [text_messages, csv_messages, json_messages][place];
            self.found += &differences(scene, form, &messages(&theirs[place]), &messages(&ours[place]));
        }
    }
}

#[test]
fn the_log_is_postgresqls() {
    let Some(binaries) = server_binaries() else { return };
    let reference = Reference::start_with(&binaries, SETTINGS);
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), SETTINGS);
    let data_beside = |socket: &Path| socket.parent().unwrap().join("data");
    let sides = [reference.socket(), server.socket()].map(|socket| {
        let data = data_beside(&socket);
        Side::new(socket, &data)
    });
    let [theirs, ours] = sides;
    let mut both = Both { theirs, ours, found: String::new() };
    both.compare("the start", |_| ());
    both.found.clear();
    for (scene, lines) in SCENES {
        both.compare(scene, |socket| {
            let mut session = Session::connect(socket, "postgres");
            lines.iter().for_each(|line| say(&mut session, line));
            session.send_farewell();
            // The server has written all when it closes the connection.
            while session.read_some(4096) > 0 {}
        });
    }
    both.compare("waits for locks", |socket| {
        let mut holder = Session::connect(socket, "postgres");
        let mut waiter = Session::connect(socket, "postgres");
        holder.simple("create table w (id int); insert into w values (1)");
        waiter.simple("set log_lock_waits = on; set deadlock_timeout = '100ms'");
        for (holds, wants) in [
            ("lock table w", "select count(*) from w"),
            ("update w set id = 2", "update w set id = 3"),
            ("select pg_advisory_xact_lock(7)", "select pg_advisory_lock(7)"),
        ] {
            holder.simple(&format!("begin; {holds}"));
            waiter.send(wants);
            std::thread::sleep(Duration::from_secs(1));
            holder.simple("commit");
            waiter.answer();
        }
        for mut session in [holder, waiter] {
            session.send_farewell();
            while session.read_some(4096) > 0 {}
        }
    });
    both.compare("failed logins", |socket| {
        let folder = socket.parent().unwrap().to_str().unwrap();
        let port = socket.extension().unwrap().to_str().unwrap();
        for (user, database) in [("nobody", "postgres"), ("postgres", "nowhere")] {
            let url = format!("host={folder} port={port} user={user} dbname={database} application_name=app");
            assert!(postgres::Client::connect(&url, postgres::NoTls).is_err());
        }
    });
    assert!(both.found.is_empty(), "{}", both.found);
    let unused = KNOWN.iter().chain(KNOWN_STRUCTURED).find(|(part, _)| !USED.lock().unwrap().contains(part));
    assert_eq!(unused, None, "no line contains this");
}

/// Anybody may send such a name, also without a password.
#[test]
fn the_names_of_a_client_begin_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["log_line_prefix=%u@%d/%a "]);
    let mut config: postgres::Config = server.url().parse().unwrap();
    config.user("no\nLOG:  forged").dbname("no\nLOG:  forged");
    assert!(config.connect(postgres::NoTls).is_err());
    server.wait_for_log("no?LOG:  forged@no?LOG:  forged/[unknown] FATAL:  role ");
    assert!(!server.log().lines().any(|line| line.starts_with("LOG:  forged")), "{}", server.log());
}

/// A commit must not wait for somebody to read the log.
#[test]
fn a_log_that_nobody_reads_stops_no_commit() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut process = Command::new(env!("CARGO_BIN_EXE_cohort"))
        .arg("serve")
        .arg(folder.path().join("data"))
        .args(["--port", &port.to_string(), "--host", "", "-c", "log_statement=all", "--socket-dir"])
        .arg(folder.path())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let url = format!("host={} port={port} user=postgres dbname=postgres", folder.path().display());
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut client = loop {
        match postgres::Client::connect(&url, postgres::NoTls) {
            Ok(client) => break client,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    client.batch_execute("create table t (id int)").unwrap();
    // More than the pipe and the queue hold together.
    let comment = "x".repeat(1 << 20);
    for _ in 0..40 {
        client.batch_execute(&format!("/* {comment} */ insert into t values (1)")).unwrap();
    }
    let count: i64 = client.query_one("select count(*) from t", &[]).unwrap().get(0);
    assert_eq!(count, 40);
    let mut stderr = process.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        stderr.read_to_end(&mut said).unwrap();
        String::from_utf8_lossy(&said).into_owned()
    });
    // Soon there is room again, and the next message comes with the number of those that are missing.
    for _ in 0..20 {
        client.batch_execute("select 1").unwrap();
        std::thread::sleep(Duration::from_millis(100));
    }
    drop(client);
    assert!(Command::new("kill").args(["-s", "TERM", &process.id().to_string()]).status().unwrap().success());
    assert!(process.wait().unwrap().success());
    let said = reader.join().unwrap();
    assert!(said.contains("messages were lost"), "{} bytes were read", said.len());
    assert!(said.contains("statement: select 1"));
}

/// Files are turned over on demand and listed, and their names and permissions are as asked for.
#[test]
fn log_files_are_begun_named_and_listed() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [
        "logging_collector=on",
        "log_destination=csvlog",
        "log_directory=my logs",
        "log_filename=a%Y-%S.log",
        "log_file_mode=0640",
        "log_rotation_size=1MB",
    ];
    let server = Server::start(folder.path(), &settings);
    let listed = server.psql("select pg_current_logfile('csvlog')");
    let data = folder.path().join("data");
    assert!(listed.starts_with("my logs/a20") && listed.trim().ends_with(".csv"), "{listed}");
    assert!(data.join(listed.trim()).exists(), "{listed}");
    let list = std::fs::read_to_string(data.join("current_logfiles")).unwrap();
    assert!(list.contains(&format!("csvlog {}", listed.trim())), "{list}");
    assert_eq!(server.psql("select pg_current_logfile('jsonlog') is null").trim(), "t");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(data.join(listed.trim())).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o640 & !umask());
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(server.psql("select pg_rotate_logfile()").trim(), "t");
    let deadline = Instant::now() + Duration::from_secs(10);
    while server.psql("select pg_current_logfile('csvlog')") == listed {
        assert!(Instant::now() < deadline, "no file was begun");
        std::thread::sleep(Duration::from_millis(50));
    }
    server.stop();
}

/// The mask that files made by this process, and by the servers it starts, are subject to.
fn umask() -> u32 {
    let output = Command::new("sh").args(["-c", "umask"]).output().unwrap();
    u32::from_str_radix(String::from_utf8_lossy(&output.stdout).trim(), 8).unwrap()
}

/// Settings that can't be had are refused at the start.
#[test]
fn syslog_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_cohort"))
        .arg("serve")
        .arg(folder.path().join("data"))
        .args(["-c", "log_destination=syslog"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("log_destination \"syslog\" is not supported"), "{said}");
}
