//! The same statements on Cohort and on a real PostgreSQL 15: everything that a client sees of them must agree.
//!
//! Each file of `tests/statements` and its folders runs in one connection and one schema of its own on either server, statement by
//! statement through the simple protocol. A statement ends with a `;` at the end of a line outside of `$$`; after a `COPY ...
//! FROM STDIN` come its data, up to a line `\.`. Compared are command tags, columns with their types, rows, errors, notices and
//! warnings with severity, code, message, DETAIL, HINT, CONTEXT and the objects they name, notifications, COPY's data, and
//! whether a block is open afterwards. Where the two are known to differ, `ALLOWED` says so and why.
//!
//! Each folder has a test of its own, named in `subjects!`. `COHORT_STATEMENTS=joins,views` runs only the files whose names contain one
//! of these words; `COHORT_STATEMENTS_PRINT=1` prints what PostgreSQL answers, too.

mod common;
#[path = "differential/portals.rs"]
mod portals;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::reference::{Reference, server_binaries};
use common::wire::Session;
use common::{Server, has_client};
use portals::{PORTAL_STEPS, PortalStep};
use postgres::types::{IsNull, Kind, ToSql, Type};
use postgres::{Client, NoTls, SimpleQueryMessage};

/// Differences that stay: file, the statement's beginning, and why.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("alter_table", "alter table t inherit", "there is no inheritance"),
    ("alter_table", "alter table t enable row level security", "there is no row level security"),
    ("schemas", "create foreign table", "there are no foreign tables"),
    ("schemas", "create rule", "there are no rules"),
    ("schemas", "create table child", "there is no inheritance"),
    ("schemas", "create table partitioned", "there are no partitions"),
    ("triggers", "copy child from stdin", "what triggers say while rows are copied does not name the line"),
    ("triggers", "delete from audited where id = 2 returning", "rows are given as they come, before AFTER triggers"),
    ("triggers", "insert into audited values (1, 'again') on conflict (id) do update", "rows are given as they come"),
];

/// A statement of a file, and what it copies in.
struct Statement {
    text: String,
    copy_input: Option<String>,
}

/// The statements of a file: each ends with a `;` at the end of a line outside of `$$`.
fn statements(text: &str) -> Vec<Statement> {
    let mut found = Vec::new();
    let mut current = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if current.is_empty() && (line.trim().is_empty() || line.starts_with("--")) {
            continue;
        }
        current.push_str(line);
        current.push('\n');
        if line.trim_end().ends_with(';') && current.matches("$$").count().is_multiple_of(2) {
            let text = std::mem::take(&mut current).trim_end().to_owned();
            let folded = text.to_lowercase();
            let has_input = folded.starts_with("copy ") && folded.contains(" from stdin");
            let input = || lines.by_ref().take_while(|line| *line != "\\.").map(|line| format!("{line}\n")).collect();
            found.push(Statement { text, copy_input: has_input.then(input) });
        }
    }
    assert!(current.is_empty(), "an unfinished statement: {current}");
    found
}

/// Whether the environment asks for files of this name.
fn is_wanted(name: &str) -> bool {
    std::env::var("COHORT_STATEMENTS").map_or(true, |words| words.split(',').any(|word| name.contains(word)))
}

/// The files of a folder, in their order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sql"))
        .collect();
    files.sort();
    files
}

/// A connection whose statements run in a schema of its own.
fn session(socket: &Path, schema: &str) -> Session {
    let mut session = Session::connect(socket, "postgres");
    for setup in
        [format!("create schema {schema}"), format!("set search_path to {schema}"), "set timezone to 'UTC'".into()]
    {
        let answer = session.simple(&setup);
        assert!(!answer.contains("ERROR"), "{setup}: {answer}");
    }
    session.show_details();
    session
}

/// Runs the files of `tests/statements/<subject>` on both servers.
fn compare(subject: &str) {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/statements").join(subject));
    assert!(!files.is_empty());
    let server = Server::start_yielding(folder.path(), &[]);
    let reference = Reference::start(&binaries);
    let (mut compared, mut differing, mut report) = (0, 0, String::new());
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        if !is_wanted(&name) {
            continue;
        }
        let schema = format!("d_{name}");
        let (mut ours, mut theirs) = (session(&server.socket(), &schema), session(&reference.socket(), &schema));
        for Statement { text, copy_input } in statements(&std::fs::read_to_string(&file).unwrap()) {
            let run = |session: &mut Session| match &copy_input {
                Some(input) => session.copy_in(&text, input),
                None => session.simple(&text),
            };
            let (expected, found) = (run(&mut theirs), run(&mut ours));
            if std::env::var_os("COHORT_STATEMENTS_PRINT").is_some() {
                eprintln!("{text}\n{expected}");
            }
            compared += 1;
            assert!(
                !found.contains("the connection is closed"),
                "{name}: the connection broke at {text}\n{found}\n{}",
                server.log()
            );
            let allowed = ALLOWED.iter().find(|(of, start, _)| *of == name && text.starts_with(start));
            match (expected == found, allowed) {
                (true, None) => {}
                (true, Some((_, start, _))) => eprintln!("{name}: no longer different, take it off the list: {start}"),
                (false, Some((_, start, reason))) => eprintln!("{name}: differs ({reason}): {start}"),
                (false, None) => {
                    differing += 1;
                    writeln!(report, "--- {name}: {text}\nPostgreSQL:\n{expected}Cohort:\n{found}").unwrap();
                }
            }
        }
    }
    assert!(differing == 0, "{differing} of {compared} statements differ\n{report}");
    eprintln!("{compared} statements agree");
    server.stop();
}

#[test]
fn statements_have_the_results_that_postgresql_gives_them() {
    compare("");
}

/// A test for each folder of statements, and one that there is none without.
macro_rules! subjects {
    ($($subject:ident),* $(,)?) => {
        mod statements_of {
            $(
                #[test]
                fn $subject() {
                    super::compare(stringify!($subject));
                }
            )*

            #[test]
            fn every_folder_is_compared() {
                let statements = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/statements");
                let entries = std::fs::read_dir(statements).unwrap().map(|entry| entry.unwrap());
                let mut folders: Vec<String> = entries
                    .filter(|entry| entry.path().is_dir())
                    .map(|entry| entry.file_name().into_string().unwrap())
                    .collect();
                folders.sort();
                assert_eq!(folders, [$(stringify!($subject)),*]);
            }
        }
    };
}

// In the order of the alphabet.
subjects! {
    answers,
    changes,
    definitions,
    found,
    functions,
    integrity,
    plans,
    programs,
    properties,
    server,
    sessions,
    types,
}

/// The outcome of one statement as its client sees it: rows, counts and errors.
fn outcome(client: &mut Client, statement: &str) -> String {
    let mut seen = String::new();
    match client.simple_query(statement) {
        Ok(messages) => {
            for message in messages {
                match message {
                    SimpleQueryMessage::RowDescription(columns) => {
                        let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
                        writeln!(seen, "columns {}", names.join(" | ")).unwrap();
                    }
                    SimpleQueryMessage::Row(row) => {
                        let values: Vec<&str> = (0..row.len()).map(|i| row.get(i).unwrap_or("(null)")).collect();
                        writeln!(seen, "row {}", values.join(" | ")).unwrap();
                    }
                    SimpleQueryMessage::CommandComplete(count) => writeln!(seen, "complete {count}").unwrap(),
                    _ => {}
                }
            }
        }
        Err(error) => match error.as_db_error() {
            Some(error) => writeln!(seen, "error {}: {}", error.code().code(), error.message()).unwrap(),
            None => panic!("the connection broke at {statement}: {error}"),
        },
    }
    seen
}

/// Steps of three sessions with each other's snapshots: the session, and its statement, in which `{id}` stands for the snapshot
/// that was exported last.
const SNAPSHOT_STEPS: &[(usize, &str)] = &[
    (0, "create table shared (id int primary key, v int)"),
    (0, "insert into shared select g, 0 from generate_series(1, 10) g"),
    // An exported snapshot is what its exporter sees, whatever happens meanwhile; not what the exporter writes itself.
    (0, "begin isolation level repeatable read"),
    (0, "select count(*) from shared"),
    (1, "insert into shared values (11, 1)"),
    (0, "select pg_export_snapshot() as id"),
    (0, "delete from shared where id = 1"),
    (1, "begin isolation level repeatable read"),
    (1, "set transaction snapshot '{id}'"),
    (1, "select count(*), sum(v) from shared"),
    (2, "select count(*), sum(v) from shared"),
    (2, "begin isolation level repeatable read read only"),
    (2, "set transaction snapshot '{id}'"),
    (2, "select count(*), sum(v) from shared"),
    (2, "set transaction isolation level serializable"),
    (2, "rollback"),
    // The importer keeps it when the exporter is gone; nobody else gets it any more.
    (0, "commit"),
    (2, "delete from shared where id = 2"),
    (2, "vacuum shared"),
    (1, "select count(*), sum(v) from shared"),
    (2, "begin isolation level repeatable read"),
    (2, "set transaction snapshot '{id}'"),
    (2, "rollback"),
    (1, "update shared set v = 7 where id = 2"),
    (1, "rollback"),
    // A read committed transaction exports what its statement sees, and can't import.
    (0, "begin"),
    (0, "select pg_export_snapshot() as id"),
    (2, "insert into shared values (12, 2)"),
    (0, "select count(*) from shared"),
    (1, "begin"),
    (1, "set transaction snapshot '{id}'"),
    (1, "rollback"),
    (1, "begin isolation level repeatable read"),
    (1, "set transaction snapshot '{id}'"),
    (1, "select count(*) from shared"),
    (1, "set transaction snapshot '{id}'"),
    (1, "rollback"),
    (1, "begin isolation level serializable"),
    (1, "set transaction snapshot '{id}'"),
    (1, "rollback"),
    (0, "rollback"),
    (1, "begin isolation level repeatable read"),
    (1, "set transaction snapshot '{id}'"),
    (1, "rollback"),
    // Serializable transactions take snapshots from their like only.
    (0, "begin isolation level serializable read only"),
    (0, "select pg_export_snapshot() as id"),
    (1, "begin isolation level serializable"),
    (1, "set transaction snapshot '{id}'"),
    (1, "rollback"),
    (1, "begin isolation level serializable read only deferrable"),
    (1, "set transaction snapshot '{id}'"),
    (1, "rollback"),
    (2, "insert into shared values (13, 3)"),
    (1, "begin isolation level serializable read only"),
    (1, "set transaction snapshot '{id}'"),
    (1, "select count(*) from shared"),
    (1, "rollback"),
    (0, "rollback"),
    (0, "begin isolation level serializable"),
    (0, "select pg_export_snapshot() as id"),
    (2, "insert into shared values (14, 4)"),
    (1, "begin isolation level serializable"),
    (1, "set transaction snapshot '{id}'"),
    (1, "select count(*) from shared"),
    (1, "insert into shared values (15, 5)"),
    (1, "commit"),
    (0, "select count(*) from shared"),
    (0, "commit"),
    (0, "select count(*) from shared"),
];

/// The outcomes of the steps as the clients see them.
fn snapshot_outcomes(mut clients: Vec<Client>) -> Vec<String> {
    let mut id = String::new();
    let steps = SNAPSHOT_STEPS.iter().map(|(session, step)| {
        let mut seen = outcome(&mut clients[*session], &step.replace("{id}", &id));
        if let Some(row) = seen.strip_prefix("columns id\nrow ") {
            id = row.lines().next().unwrap().to_owned();
        }
        if !id.is_empty() {
            seen = seen.replace(&id, "{id}");
        }
        seen
    });
    steps.collect()
}

#[test]
fn snapshots_pass_between_sessions_as_in_postgresql() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_yielding(folder.path(), &[]);
    let reference = Reference::start(&binaries);
    let expected = snapshot_outcomes((0..3).map(|_| Client::connect(&reference.url(), NoTls).unwrap()).collect());
    let found = snapshot_outcomes((0..3).map(|_| server.connect()).collect());
    for ((step, expected), found) in SNAPSHOT_STEPS.iter().zip(&expected).zip(&found) {
        assert_eq!(found, expected, "at {step:?}");
    }
    server.stop();
}

#[test]
fn portals_live_as_long_as_in_postgresql() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start(&binaries);
    let (mut ours, mut theirs) = (session(&server.socket(), "portals"), session(&reference.socket(), "portals"));
    let mut report = String::new();
    for (number, step) in PORTAL_STEPS.iter().enumerate() {
        let run = |session: &mut Session| match step {
            PortalStep::Simple(text) => session.simple(text),
            PortalStep::Bind(portal, text) => session.bind(portal, text),
            PortalStep::Execute(portal, max_rows) => session.execute(portal, *max_rows),
            PortalStep::Prepare(name, text) => session.prepare(name, text),
            PortalStep::RunPrepared(name) => session.run_prepared(name),
        };
        let (expected, found) = (run(&mut theirs), run(&mut ours));
        if found != expected {
            writeln!(report, "--- {number} {step:?}\nPostgreSQL:\n{expected}Cohort:\n{found}").unwrap();
        }
    }
    assert!(report.is_empty(), "{report}");
    server.stop();
}

/// Statements with parameters that are no queries but have some in them, and the parameters' values.
const PARAMETER_STATEMENTS: &[(&str, &[&str])] = &[
    ("create procedure plus(a int, inout b text) language plpgsql as 'begin b := b || a; end'", &[]),
    (
        "create procedure split(a text, out b int, out c text) language plpgsql as 'begin b := length(a); c := a; end'",
        &[],
    ),
    ("create procedure none() language plpgsql as 'begin commit; end'", &[]),
    ("call plus($1, $2)", &["1", "x"]),
    ("call plus($1::int + 1, $2::text)", &["1", "x"]),
    ("call plus(b => $1, a => $2)", &["1", "2"]),
    ("call plus($1, $3)", &["1", "2", "3"]),
    ("call plus($1, $2, $3)", &["1", "2", "3"]),
    ("call plus($1, $1)", &["1"]),
    ("call split($1, $2, $3)", &["some", "1", "2"]),
    ("call split($1, null, null)", &["some"]),
    ("call none()", &[]),
    ("call plus($1, $2)", &["y", "x"]),
    ("create table source as select i, i % 3 as k from generate_series(1, 20) i", &[]),
    ("create table made as select $1::int as a, $2 as b", &["1", "x"]),
    ("select * from made", &[]),
    ("create table made_more as select i from source where k = $1 and i < $2", &["1", "9"]),
    ("select i into made_into from source where k = $1", &["2"]),
    ("select count(*) from made_more, made_into", &[]),
    ("create table made_twice as select $1::int as a, $1::text as b", &["1"]),
    ("create table made_empty as select i from source where k = $1 with no data", &["2"]),
    ("create table made_unknown as select $2::int", &["1", "2"]),
    ("create temporary table made_here as select $1 || 'x' as a", &["1"]),
    ("select * from made_here", &[]),
    ("create materialized view seen as select $1::int as a", &["1"]),
    ("create materialized view seen as select 1 as a", &[]),
    ("explain (costs off) select i from source where i = $1", &["1"]),
    ("explain (costs off, analyze, timing off, summary off) select i from source where i < $1", &["4"]),
    ("explain (costs off) insert into source values ($1, $2)", &["1", "2"]),
    ("begin", &[]),
    ("explain (costs off, analyze, timing off, summary off) delete from source where i > $1", &["10"]),
    ("rollback", &[]),
    ("explain (costs off) create table never as select i from source where i = $1", &["1"]),
    ("explain (costs off) select i from source where i = $1", &["x"]),
    ("begin", &[]),
    ("declare c cursor for select i from source where i < $1 order by i", &["4"]),
    ("fetch all from c", &[]),
    ("declare d scroll cursor for select $1 || i from source where k = $2 order by i", &["n", "0"]),
    ("fetch last from d", &[]),
    ("fetch prior from d", &[]),
    ("declare kept cursor with hold for select i from source where i > $1 order by i", &["17"]),
    ("commit", &[]),
    ("fetch all from kept", &[]),
    ("declare unknown cursor with hold for select $1", &["1"]),
    ("fetch all from unknown", &[]),
    ("declare unknown_more cursor with hold for select $2::int", &["1", "2"]),
    ("select count(*) from source", &[]),
];

#[test]
fn parameters_stand_in_what_statements_contain() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start(&binaries);
    let (mut ours, mut theirs) = (session(&server.socket(), "parameters"), session(&reference.socket(), "parameters"));
    let mut report = String::new();
    for (text, values) in PARAMETER_STATEMENTS {
        let (expected, found) = (theirs.extended_with(text, values), ours.extended_with(text, values));
        if found != expected {
            writeln!(report, "--- {text} {values:?}\nPostgreSQL:\n{expected}Cohort:\n{found}").unwrap();
        }
    }
    assert!(report.is_empty(), "{report}");
    server.stop();
}

/// A NULL that goes with whatever type its parameter was declared with.
#[derive(Debug)]
struct AnyNull;

impl ToSql for AnyNull {
    fn to_sql(&self, _: &Type, _: &mut bytes::BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        Ok(IsNull::Yes)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    postgres::types::to_sql_checked!();
}

#[test]
fn a_domain_is_asked_about_a_null_that_is_bound() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start(&binaries);
    let answers = |url: &str| {
        let mut client = Client::connect(url, NoTls).unwrap();
        let setup = "create domain strict as int not null; create domain filled as int check (value is not null);
                     create domain plain as int check (value > 0); create table t (a strict, b filled, c plain, i int)";
        client.batch_execute(setup).unwrap();
        let mut answers = Vec::new();
        for (domain, text) in [
            ("strict", "insert into t values ($1, 2, 3, 4)"),
            ("strict", "insert into t (i, a) values (1, $1::strict)"),
            ("filled", "update t set b = $1"),
            ("filled", "select array[$1]"),
            ("plain", "insert into t values (1, 2, $1, 4)"),
        ] {
            let oid: u32 = client.query_one("select $1::text::regtype::oid", &[&domain]).unwrap().get(0);
            let declared = Type::new(domain.to_owned(), oid, Kind::Domain(Type::INT4), "public".to_owned());
            let statement = client.prepare_typed(text, &[declared]).unwrap();
            let outcome = client.execute(&statement, &[&AnyNull]);
            answers.push(outcome.map_err(|error| {
                let error = error.as_db_error().unwrap();
                format!("{} {}", error.code().code(), error.message())
            }));
        }
        answers
    };
    assert_eq!(answers(&server.url()), answers(&reference.url()));
    server.stop();
}

/// The output of psql when it runs `script`, error messages included.
fn psql(connection: &str, script: &Path) -> String {
    let output = Command::new("psql")
        .args(["-X", "-a", "-f", script.file_name().unwrap().to_str().unwrap(), connection])
        .current_dir(script.parent().unwrap())
        .env("PGOPTIONS", "")
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    format!("{printed}{}", String::from_utf8(output.stderr).unwrap())
}

/// Beginnings of lines for which Tab is pressed; what else there is on either server does not show in them.
const BEGINNINGS: &str = include_str!("completion.txt");

/// Statements that make the objects to complete to.
const COMPLETED: &[&str] = &[
    "create table t (id int primary key, name text constraint named check (name <> ''), other_column int)",
    "create table t_more (a int, b int, constraint refers foreign key (a) references t)",
    "create index t_more_b on t_more (b)",
    "create view v as select * from t",
    "create sequence s",
    "create function own_function(a int) returns int language sql as 'select a'",
    "create function own_trigger() returns trigger language plpgsql as 'begin return new; end'",
    "create procedure own_procedure() language sql as ''",
    "create type mood as enum ('sad', 'happy')",
    "create domain positive as int check (value > 0)",
    "create schema elsewhere",
    "create table elsewhere.there (x int)",
    "create role tab_reader",
    "create trigger tr before insert on t for each row execute function own_trigger()",
];

#[test]
fn psql_completes_as_it_does_for_postgresql() {
    let Some(binaries) = server_binaries() else { return };
    if !has_client("psql") || !has_client("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let inputrc = folder.path().join("inputrc");
    let settings = [
        "set page-completions off",
        "set completion-query-items 10000",
        "set bell-style none",
        "set enable-bracketed-paste off",
        "set completion-display-width 1",
    ];
    std::fs::write(&inputrc, settings.join("\n") + "\n").unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start(&binaries);
    let completed = |mut client: Client, socket: PathBuf| {
        for statement in COMPLETED {
            client.simple_query(statement).unwrap();
        }
        let port = socket.extension().unwrap().to_str().unwrap().to_owned();
        let mut script = Command::new("python3")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/completion.py"))
            .args([socket.parent().unwrap().to_str().unwrap(), &port, inputrc.to_str().unwrap()])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut script.stdin.take().unwrap(), BEGINNINGS.as_bytes()).unwrap();
        let output = script.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", server.log());
        String::from_utf8(output.stdout).unwrap()
    };
    let expected = completed(Client::connect(&reference.url(), NoTls).unwrap(), reference.socket());
    let found = completed(server.connect(), server.socket());
    assert!(expected.contains("t_more"), "{expected}");
    assert!(!server.log().contains("ERROR"), "{}", server.log());
    for (number, (expected, found)) in expected.lines().zip(found.lines()).enumerate() {
        assert_eq!(found, expected, "line {number} of what is completed");
    }
    assert_eq!(found, expected);
    server.stop();
}

#[test]
fn psql_describes_a_schema_as_it_does_for_postgresql() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start(&binaries);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/describe.psql");
    let (expected, found) = (psql(&reference.url(), &script), psql(&server.url(), &script));
    assert!(expected.contains("Table \"public.a\""), "{expected}");
    // The first lines that differ say more than all of them.
    for (number, (expected, found)) in expected.lines().zip(found.lines()).enumerate() {
        assert_eq!(found, expected, "line {number} of what psql prints");
    }
    assert_eq!(found.lines().count(), expected.lines().count());
    server.stop();
}

/// Statements whose outcomes show that a dump was restored completely.
const DUMPED: &[&str] = &[
    "select * from app.author order by id",
    "select * from app.book order by id",
    "select * from app.a_cheap order by id",
    "select * from app.counts order by author",
    "select * from plain",
    "select nextval('app.zz_counter'), nextval('app.author_id_seq'), app.add(1)",
    "insert into app.book (author, title) values (1, 'second') returning *",
    "insert into app.a_checked values (200, 'Cid')",
    "insert into app.book (author, title, p) values (1, 'third', -1)",
    "select conname, contype from pg_constraint where connamespace = 'app'::regnamespace order by 1",
    "select indexrelid::regclass, indisunique from pg_index where indrelid in ('app.book'::regclass, 'app.author'::regclass) order by indexrelid::regclass::text",
    "select obj_description('app.author'::regclass), col_description('app.author'::regclass, 2)",
    "call app.nothing()",
    "select x, many, taking_row(x) from aa_of_rows",
    "select * from first_row()",
    "select attrelid::regclass, attname, attacl from pg_attribute where attacl is not null and attrelid::regclass::text like 'app.%' order by attrelid::regclass::text, 2",
];

#[test]
fn pg_dump_takes_a_schema_to_postgresql() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start(&binaries);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dump.sql");
    assert!(!psql(&server.url(), &script).contains("ERROR"));
    let output = Command::new(binaries.join("pg_dump")).arg(server.url()).output().unwrap();
    assert!(output.status.success(), "pg_dump: {}", String::from_utf8_lossy(&output.stderr));
    let dump = folder.path().join("dumped.sql");
    std::fs::write(&dump, &output.stdout).unwrap();
    let restored = psql(&reference.url(), &dump);
    assert!(!restored.contains("ERROR"), "{restored}");
    let (mut ours, mut theirs) = (server.connect(), Client::connect(&reference.url(), NoTls).unwrap());
    for query in DUMPED {
        assert_eq!(outcome(&mut ours, query), outcome(&mut theirs, query), "{query}");
    }
    server.stop();
}
