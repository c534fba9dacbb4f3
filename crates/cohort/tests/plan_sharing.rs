//! Sessions share plans by the texts of statements. The temporary tables of one session never show in what another session
//! is answered: every conversation below is held with a PostgreSQL, whose sessions share nothing.

mod common;

use std::fmt::Write as _;

use common::Server;
use common::reference::{Reference, server_binaries};
use postgres::{Client, NoTls, SimpleQueryMessage};

/// How a statement reaches the server.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    /// The simple protocol.
    Simple,
    /// SQL's PREPARE and EXECUTE, where the statement can be prepared.
    Prepare,
    /// The extended protocol; only the first column is read, as text.
    Extended,
}

const WAYS: [Way; 3] = [Way::Simple, Way::Prepare, Way::Extended];

/// The answer to a statement, as text.
fn answer(client: &mut Client, way: Way, statement: &str) -> String {
    let failure = |error: &postgres::Error| {
        let error = error.as_db_error().expect("the session goes on");
        format!("{}: {}", error.code().code(), error.message())
    };
    if way == Way::Extended {
        return match client.query(statement, &[]) {
            Ok(rows) => rows.iter().map(|row| row.get::<_, Option<String>>(0).unwrap_or_default() + "\n").collect(),
            Err(error) => failure(&error),
        };
    }
    let text = match way {
        Way::Prepare => format!("prepare p as {statement}; execute p; execute p; deallocate p"),
        _ => statement.to_owned(),
    };
    match client.simple_query(&text) {
        Ok(messages) => {
            let mut shown = String::new();
            for message in &messages {
                if let SimpleQueryMessage::Row(row) = message {
                    let values = (0..row.len()).map(|column| row.get(column).unwrap_or("NULL"));
                    writeln!(shown, "{}", values.collect::<Vec<_>>().join("|")).unwrap();
                }
            }
            shown
        }
        Err(error) => {
            let shown = failure(&error);
            // It may stand there if an EXECUTE failed.
            let _ = client.batch_execute("deallocate all");
            shown
        }
    }
}

/// One step of a conversation: which session says what, and how.
type Step<'a> = (usize, Way, &'a str);

/// Holds a conversation of some sessions with a server.
fn converse(url: &str, sessions: usize, steps: &[Step<'_>]) -> Vec<String> {
    let mut clients: Vec<Client> = (0..sessions).map(|_| Client::connect(url, NoTls).unwrap()).collect();
    steps.iter().map(|(session, way, text)| answer(&mut clients[*session], *way, text)).collect()
}

/// Holds it with both servers. All differences are shown together.
fn compare(cohort: &str, postgresql: &str, sessions: usize, steps: &[Step<'_>], differences: &mut String) {
    let (ours, theirs) = (converse(cohort, sessions, steps), converse(postgresql, sessions, steps));
    for ((step, ours), theirs) in steps.iter().zip(ours).zip(theirs) {
        if ours != theirs {
            writeln!(differences, "{step:?}\n  Cohort: {ours:?}\n  PostgreSQL: {theirs:?}").unwrap();
        }
    }
}

struct Both {
    server: Server,
    reference: Reference,
    _folder: tempfile::TempDir,
}

fn both() -> Option<Both> {
    let reference = Reference::start(&server_binaries()?);
    let folder = tempfile::tempdir().unwrap();
    Some(Both { server: Server::start(folder.path(), &[]), reference, _folder: folder })
}

impl Both {
    fn compare(&self, sessions: usize, steps: &[Step<'_>], differences: &mut String) {
        compare(&self.server.url(), &self.reference.url(), sessions, steps, differences);
    }
}

/// Statements on a table `t` that each session may have a temporary one of. The first column is text.
const ON_TABLES: [&str; 12] = [
    "select t::text from t",
    "select a::text from t",
    "select b::text from t",
    "select t.*::text from t",
    "select pg_typeof(a)::text from t where a = '1'",
    "select 't'::regclass::oid = (select oid from pg_class where relname = 't' and relpersistence = 't' and \
     pg_table_is_visible(oid)) :: text",
    "select (select count(*) from t)::text",
    "select x.n::text from (select count(*) as n from t join t u on u = t) x",
    "select f_inline()::text",
    "select f_body()",
    "select n::text from v",
    "with w as (insert into t (a) values ('7') returning a) select a::text from w",
];

const QUALIFIED: [&str; 3] =
    ["select t::text from pg_temp.t", "select t::text from public.t", "select count(*)::text from pg_temp.t x"];

fn setup() -> Vec<Step<'static>> {
    [
        "drop table if exists public.t cascade",
        "create table public.t (a int, p text)",
        "insert into public.t values (1, 'permanent')",
        "create or replace view public.v as select count(*) as n from public.t",
        "create or replace function f_inline() returns bigint language sql stable as 'select count(*) from t'",
        "create or replace function f_body() returns text language sql as 'select string_agg(t::text, '','') from t'",
    ]
    .map(|text| (0, Way::Simple, text))
    .to_vec()
}

/// The statements, by each of some sessions in turn.
fn by_all(steps: &mut Vec<Step<'static>>, sessions: &[usize], way: Way) {
    for text in ON_TABLES.iter().chain(&QUALIFIED) {
        steps.extend(sessions.iter().map(|session| (*session, way, *text)));
    }
}

#[test]
fn temporary_tables_of_one_name_have_plans_of_their_own() {
    let Some(both) = both() else { return };
    let mut differences = String::new();
    for way in WAYS {
        // Session 0 has none, 1 and 2 have others, 3 has a view, 4 an empty schema.
        let mut steps = setup();
        by_all(&mut steps, &[0, 1, 2, 3, 4], way);
        steps.push((4, Way::Simple, "create temp table z (z int); drop table z"));
        by_all(&mut steps, &[0, 4, 1], way);
        steps.push((1, Way::Simple, "create temp table t (a int, b int); insert into t values (1, 10)"));
        steps.push((2, Way::Simple, "create temp table t (b text, a text); insert into t values ('x', '1')"));
        steps.push((3, Way::Simple, "create temp view t as select 1 as a, 'view' as b"));
        by_all(&mut steps, &[0, 1, 2, 3, 4], way);
        by_all(&mut steps, &[2, 1, 4, 3, 0], way);
        // Dropped, and made again with other columns, also in a transaction that is undone.
        steps.push((1, Way::Simple, "drop table t"));
        by_all(&mut steps, &[2, 1, 0], way);
        steps.push((1, Way::Simple, "create temp table t (b date, a numeric); insert into t values ('2024-01-01', 1)"));
        by_all(&mut steps, &[2, 1, 0], way);
        steps.push((2, Way::Simple, "begin; drop table t; create temp table t (a bytea); insert into t values ('1')"));
        steps.push((2, way, "select t::text from t"));
        steps.push((2, Way::Simple, "rollback"));
        by_all(&mut steps, &[2, 1], way);
        // The path tells where the temporary schema is looked into, and whether it is before the others.
        steps.push((1, Way::Simple, "set search_path = public, pg_temp"));
        steps.push((2, Way::Simple, "set search_path = pg_temp, public"));
        by_all(&mut steps, &[0, 1, 2], way);
        steps.push((1, Way::Simple, "discard temp"));
        steps.push((2, Way::Simple, "discard all"));
        by_all(&mut steps, &[0, 1, 2], way);
        both.compare(5, &steps, &mut differences);
    }
    assert!(differences.is_empty(), "{differences}");
}
