//! Sessions share plans by the texts of statements. The temporary tables and settings of one session never show in what
//! another session is answered: every conversation below is held with a PostgreSQL, whose sessions share nothing.

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

fn failure(error: &postgres::Error) -> String {
    let error = error.as_db_error().unwrap_or_else(|| panic!("the session is lost: {error:?}"));
    format!("{}: {}", error.code().code(), error.message())
}

/// The rows that the simple protocol gives, as text.
fn rows(client: &mut Client, text: &str) -> Result<String, String> {
    let mut shown = String::new();
    for message in &client.simple_query(text).map_err(|error| failure(&error))? {
        if let SimpleQueryMessage::Row(row) = message {
            let values = (0..row.len()).map(|column| row.get(column).unwrap_or("NULL"));
            writeln!(shown, "{}", values.collect::<Vec<_>>().join("|")).unwrap();
        }
    }
    Ok(shown)
}

/// The answer to a statement, as text.
fn answer(client: &mut Client, way: Way, statement: &str) -> String {
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
    rows(client, &text).unwrap_or_else(|failure| {
        // It may stand there if an EXECUTE failed.
        let _ = client.batch_execute("deallocate all");
        failure
    })
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

/// Settings that change what texts mean or how values look, with values that differ.
const SETTINGS: [(&str, &[&str]); 11] = [
    ("datestyle", &["'ISO, MDY'", "'German, DMY'", "'SQL, DMY'", "'ISO, YMD'"]),
    ("intervalstyle", &["postgres", "iso_8601", "sql_standard", "postgres_verbose"]),
    ("timezone", &["'UTC'", "'America/New_York'", "'Asia/Kolkata'"]),
    ("extra_float_digits", &["1", "0", "-3"]),
    ("bytea_output", &["hex", "escape"]),
    ("standard_conforming_strings", &["on", "off"]),
    ("transform_null_equals", &["off", "on"]),
    ("array_nulls", &["on", "off"]),
    ("search_path", &["public", "other, public", "\"$user\", public", "other, pg_catalog"]),
    ("role", &["none", "somebody"]),
    ("check_function_bodies", &["on", "off"]),
];

/// PostgreSQL keeps the plans of a function in PL/pgSQL when a setting changes, and with them the constants that it computed.
const OF_PLPGSQL: &str = "select f_plpgsql()";

const UNDER_SETTINGS: [&str; 64] = [
    "select ('02.03.2024'::date + 0)::text",
    "select date '2024-03-02'::text",
    "select '02/03/2024'::date::text",
    "select '2024-03-02'::date::text",
    "select array['2024-03-02'::date]::text",
    "select '{2024-03-02,01/02/2024}'::date[]::text",
    "select ('2024-03-02'::timestamp)::text",
    "select '2024-03-02 10:00'::timestamptz::text",
    "select '2024-03-02 10:00+02'::timestamptz::text",
    "select extract(epoch from '2024-03-02 10:00'::timestamptz)::text",
    "select extract(epoch from timestamp '2024-03-02 10:00' at time zone 'UTC')::text",
    "select ('2024-03-02 10:00'::timestamp::timestamptz)::text",
    "select ('2024-03-02'::date::timestamptz)::text",
    "select (timestamptz '2024-03-02 10:00+00')::date::text",
    "select (timestamptz '2024-03-02 10:00+00')::timestamp::text",
    "select date_trunc('day', timestamptz '2024-03-02 02:00+00')::text",
    "select to_char(timestamptz '2024-03-02 02:00+00', 'YYYY-MM-DD HH24:MI TZ')",
    "select (timestamptz '2024-03-02 02:00+00' = timestamp '2024-03-02 02:00')::text",
    "select (date '2024-03-02' < timestamptz '2024-03-02 02:00+00')::text",
    "select make_interval(days => 3, hours => 4)::text",
    "select interval '1 day 2 hours'::text",
    "select '-1 2:03'::interval::text",
    "select (interval '1 year' + '3 days')::text",
    "select array[interval '1 day']::text",
    "select row(date '2024-03-02', interval '1 day')::text",
    "select to_json(timestamptz '2024-03-02 02:00+00')::text",
    "select jsonb_build_object('a', timestamp '2024-03-02')::text",
    "select (0.1::float8 + 0.2::float8)::text",
    "select (1.0::float4 / 3)::text",
    "select '{0.1}'::float8[]::text || (0.1::float8 + 0.2)::text",
    "select concat(0.1::float8 + 0.2::float8, date '2024-03-02')",
    "select format('%s', date '2024-03-02')",
    "select '\\x4142'::bytea::text",
    "select ('\\x4142'::bytea || '\\x00'::bytea)::text",
    "select length('a\\nb')::text",
    "select quote_ident('a') || quote_ident('A b')",
    "select (null = null)::text",
    "select coalesce((p = null)::text, 'unknown') from public.s",
    "select '{null,a}'::text[]::text",
    "select x::text from s",
    "select current_user::text || coalesce(current_schema::text, '')",
    "select 's'::regclass::text",
    "select d::text from dated where d > '01/02/2024' order by 1",
    "select g()::text",
    "select h()::text",
    "select v.d::text from dated_view v",
    "select (0.1::float8 + i)::text from generate_series(1, 2) i",
    "select array[0.1::float4]::text || row(0.1::float8)::text",
    "select array[0.1::float8 + 0.2]::text[]::text",
    "select format('%s %s', 0.1::float8 + 0.2, '\\x41'::bytea)",
    "select to_jsonb(0.1::float8 + 0.2)::text || to_jsonb('\\x41'::bytea)::text",
    "select string_agg((0.1::float8 + 0.2)::text, ',')",
    "select case when p = null then 'null' else 'other' end from public.s",
    "select (null = p)::text from public.s where not (p = null)",
    "select (row(p, x) = row(null, 1))::text from public.s",
    "select (p = null::text)::text from public.s",
    "select array_length('{null,NULL,\"null\"}'::text[], 1)::text || coalesce(('{null}'::text[])[1], 'none')",
    "select coalesce(('{NULL}'::text[])[1], p) from public.s",
    "select measured::text from measures",
    "select f_sql()",
    OF_PLPGSQL,
    "insert into dated (d) values ('2/1/2030') returning d::text || t::text",
    "insert into dated default values returning d::text",
    "select (('t' || 'oday')::date = current_date and ('1' || '0:00')::time = '10:00')::text",
];

fn setup_under_settings() -> Vec<Step<'static>> {
    [
        "create schema other",
        "create table s (x int, p text); insert into s values (1, 'public')",
        "create table other.s (x text, p text); insert into other.s values ('other', 'other')",
        "create table dated (d date default '01/02/2024', t timestamptz default '2024-03-02 10:00', \
         check (d > '01/02/1999'))",
        "insert into dated (d) values (default), ('2024-12-31')",
        "create view dated_view as select d from dated where d <= '01/02/2024'::date",
        "create function g() returns date language sql stable as 'select ''01/02/2024''::date'",
        "create function h() returns text language plpgsql stable as \
         'begin return ''01/02/2024''::date || interval ''1 day''::text; end'",
        "create role somebody superuser",
        "grant all on schema public to public; create schema somebody; \
         create table somebody.s as select 3.5 as x, '' as p",
        "create view measures as select (0.1::float8 + 0.2)::text || ('\\x41'::bytea)::text as measured",
        "create function f_sql() returns text language sql as \
         'select (0.1::float8 + 0.2)::text || (''\\x41''::bytea)::text'",
        "create function f_plpgsql() returns text language plpgsql as \
         'begin return (0.1::float8 + 0.2)::text || (''\\x41''::bytea)::text; end'",
        "create index on dated ((extract(year from d)::float8::text)); create index on s ((p::bytea::text))",
    ]
    .map(|text| (0, Way::Simple, text))
    .to_vec()
}

/// A setting changes in one session between the uses of what it has prepared. PostgreSQL computes some constants when it plans, and
/// doesn't compute them anew: the answer that it gives a new session is right, too.
#[test]
fn a_setting_that_changes_counts_for_what_was_prepared_before() {
    let Some(both) = both() else { return };
    let mut differences = String::new();
    both.compare(1, &setup_under_settings(), &mut differences);
    assert!(differences.is_empty(), "{differences}");
    let url = both.reference.url();
    for (name, values) in SETTINGS {
        let connect = |url: &str| Client::connect(url, NoTls).unwrap();
        let (mut ours, mut theirs) = (connect(&both.server.url()), connect(&url));
        for (number, text) in UNDER_SETTINGS.iter().enumerate().filter(|(_, text)| !text.starts_with("insert")) {
            for client in [&mut ours, &mut theirs] {
                answer(client, Way::Simple, &format!("prepare p{number} as {text}"));
            }
        }
        for value in values.iter().chain(&values[..1]) {
            let set = format!("set {name} = {value}");
            let mut fresh = connect(&url);
            for client in [&mut ours, &mut theirs, &mut fresh] {
                answer(client, Way::Simple, &set);
            }
            for (number, text) in UNDER_SETTINGS.iter().enumerate().filter(|(_, text)| !text.starts_with("insert")) {
                let execute = format!("execute p{number}");
                let expected = [rows(&mut theirs, &execute), rows(&mut fresh, text)];
                let cursor = format!("begin; declare c cursor for {text}; fetch all from c; commit");
                for use_of_it in [&execute, *text, &cursor] {
                    let found = rows(&mut ours, use_of_it);
                    if !expected.contains(&found) {
                        writeln!(differences, "{set}: {use_of_it}\n  Cohort: {found:?}\n  PostgreSQL: {expected:?}")
                            .unwrap();
                    }
                    let _ = ours.batch_execute("rollback");
                }
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// `pg_proc` calls functions immutable, stable or volatile as PostgreSQL's does. The planner computes calls of immutable ones.
#[test]
fn functions_are_as_volatile_as_postgresqls() {
    let Some(both) = both() else { return };
    let text =
        "select oid || ' ' || proname, provolatile::text from pg_proc where oid < 10000 and prokind in ('f', 'w')";
    let functions = |url: &str| -> std::collections::BTreeMap<String, String> {
        let rows = Client::connect(url, NoTls).unwrap().query(text, &[]).unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    };
    let (ours, theirs) = (functions(&both.server.url()), functions(&both.reference.url()));
    let mut differences = String::new();
    for (name, volatility) in &ours {
        if let Some(expected) = theirs.get(name).filter(|expected| *expected != volatility) {
            writeln!(differences, "{name}: {volatility} instead of {expected}").unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn settings_of_one_session_do_not_change_what_another_is_answered() {
    let Some(both) = both() else { return };
    let mut differences = String::new();
    both.compare(1, &setup_under_settings(), &mut differences);
    for (name, values) in SETTINGS {
        let changes: Vec<String> = values.iter().map(|value| format!("set {name} = {value}")).collect();
        for way in WAYS {
            let mut steps: Vec<Step<'_>> = Vec::new();
            let sessions = changes.len();
            steps.extend(changes.iter().enumerate().map(|(session, text)| (session, Way::Simple, text.as_str())));
            for text in UNDER_SETTINGS {
                steps.extend((0..sessions).map(|session| (session, way, text)));
            }
            // The same sessions under another value each.
            let shifted = changes.iter().cycle().skip(1).take(sessions);
            steps.extend(shifted.enumerate().map(|(session, text)| (session, Way::Simple, text.as_str())));
            for text in UNDER_SETTINGS.iter().filter(|text| **text != OF_PLPGSQL) {
                steps.extend((0..sessions).map(|session| (session, way, *text)));
            }
            both.compare(sessions, &steps, &mut differences);
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// Definitions keep what `transform_null_equals` was when they were made.
#[test]
fn definitions_keep_what_an_equals_sign_before_null_meant() {
    let Some(both) = both() else { return };
    let mut differences = String::new();
    let mut steps = Vec::new();
    for (name, setting) in [("plain", "off"), ("tested", "on")] {
        for text in [
            format!("set transform_null_equals = {setting}"),
            format!(
                "create table {name} (a int default case when 1 = null then 1 else 2 end, b int, check (b = null))"
            ),
            format!("create view view_{name} as select a = null as x, null = b as y from {name} where not (a = null)"),
            format!("create index on {name} (a) where a = null"),
        ] {
            steps.push((0, Way::Simple, &*text.leak()));
        }
    }
    for setting in ["set transform_null_equals = off", "set transform_null_equals = on"] {
        steps.push((0, Way::Simple, setting));
        for name in ["plain", "tested"] {
            for text in [
                format!("insert into {name} (b) values (null)"),
                format!("insert into {name} (b) values (1)"),
                format!("insert into view_{name} values (true)"),
                format!("select a, b from {name} where a = null or b = null"),
                format!("select x, y from view_{name}"),
                format!("select pg_get_viewdef('view_{name}'::regclass) like '%IS NULL%'"),
                format!("select pg_get_indexdef(indexrelid) from pg_index where indrelid = '{name}'::regclass"),
            ] {
                steps.push((0, Way::Simple, &*text.leak()));
            }
        }
    }
    both.compare(1, &steps, &mut differences);
    assert!(differences.is_empty(), "{differences}");
}
