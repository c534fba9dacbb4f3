//! Nothing is told before it is durable, whatever it is asked by (rule R3).
//!
//! One session changes something, and its commit is not flushed. Other sessions then ask, in every way there is. An answer that
//! differs from what the same question was answered before the change tells of the change, so it must wait for the change's
//! record in the log.
//!
//! Each change is followed by a share of the questions, another share for each change. `COHORT_GATE_QUESTIONS=all` asks all.

use std::collections::HashMap;
use std::sync::Arc;

use base::settings::{ServerSettings, Source};
use base::{Error, Lsn, Oid, Result};
use engine::{Database, OpenOptions};
use executor::client::{Client, Formats, OutgoingRow, RowDescription, Severity};
use smallvec::SmallVec;
use sql::{BindInput, ConnectRequest, Instance, SqlSession};
use vfs::SimulatedVfs;

/// One question of so many is asked, unless all are wanted.
const SHARE: usize = 6;

/// Collects what a client is told by one message, and what that waits for.
#[derive(Default)]
struct Told {
    text: String,
    required: Lsn,
}

impl Client for Told {
    fn require(&mut self, lsn: Lsn) {
        self.required = self.required.max(lsn);
    }

    fn row_description(&mut self, description: &RowDescription, _formats: &Formats) {
        for column in &description.columns {
            self.text += &format!("{} {} {}, ", column.name, column.sql_type.oid.0, column.table.0);
        }
        self.text.push('\n');
    }

    fn no_data(&mut self) {
        self.text += "no data";
    }

    fn parameter_description(&mut self, types: &[Oid]) {
        self.text += &format!("{types:?} ");
    }

    fn row(&mut self, row: &OutgoingRow<'_>) -> Result<()> {
        for index in 0..row.values.len() {
            let mut value = Vec::new();
            let is_there = row.write_value(index, &mut value)?;
            self.text += &if is_there { String::from_utf8_lossy(&value).into_owned() } else { "~".to_owned() };
            self.text.push('|');
        }
        self.text.push('\n');
        Ok(())
    }

    fn command_complete(&mut self, tag: &str) {
        self.text += tag;
    }

    fn notice(&mut self, severity: Severity, notice: &Error) {
        self.text += &format!("{}: {}\n", severity.name(), notice.message());
    }

    fn error(&mut self, error: &Error) {
        self.text += &format!("{} {}\n", error.sqlstate(), error.message());
    }

    fn parameter_status(&mut self, name: &str, value: &str) {
        self.text += &format!("{name} is {value}\n");
    }

    fn notification(&mut self, _pid: i32, channel: &str, payload: &str) {
        self.text += &format!("notified: {channel} {payload}\n");
    }

    fn read_copy_data(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn copy_data(&mut self, data: &[u8]) {
        self.text += &String::from_utf8_lossy(data);
    }

    fn relieve(&mut self) -> Result<()> {
        Ok(())
    }
}

fn connect(instance: &Arc<Instance>) -> SqlSession {
    let request = ConnectRequest {
        user: "postgres".to_owned(),
        database: "postgres".to_owned(),
        // Nobody is there who could end a wait.
        settings: vec![("lock_timeout".to_owned(), "5ms".to_owned())],
        ..ConnectRequest::default()
    };
    instance.connect(request).unwrap()
}

/// One message; whether it succeeded.
fn message(
    session: &mut SqlSession,
    answers: &mut Vec<Told>,
    work: impl FnOnce(&mut SqlSession, &mut Told) -> Result<()>,
) -> bool {
    // An answer that is sent behind another waits with it.
    let mut told = Told { required: answers.last().map_or(Lsn::ZERO, |last| last.required), ..Told::default() };
    let result = work(session, &mut told);
    if let Err(error) = &result {
        session.fail(error, &mut told);
        told.error(error);
    }
    answers.push(told);
    result.is_ok()
}

/// One cycle of the simple protocol.
fn run(session: &mut SqlSession, text: &str) -> Vec<Told> {
    let mut answers = Vec::new();
    message(session, &mut answers, |session, told| session.simple_query(text, told));
    session.before_ready(&mut answers[0]);
    answers
}

/// One cycle of the extended protocol. The statement is prepared if it has not been before.
fn run_extended(session: &mut SqlSession, text: &str) -> Vec<Told> {
    let mut answers = Vec::new();
    let input = || BindInput {
        parameter_formats: SmallVec::new(),
        parameter_count: 0,
        parameters: &[],
        result_formats: Ok(Formats::default()),
    };
    let is_prepared = session.prepared("asked").is_ok()
        || message(session, &mut answers, |session, told| session.parse("asked", text, &[], told));
    let _ = is_prepared
        && message(session, &mut answers, |session, told| session.describe_statement("asked", told))
        && message(session, &mut answers, |session, told| {
            let prepared = session.prepared("asked")?;
            session.bind("portal", prepared, input(), told)
        })
        && message(session, &mut answers, |session, told| session.describe_portal("portal", told))
        && message(session, &mut answers, |session, told| session.execute("portal", 0, told));
    message(session, &mut answers, |session, told| session.sync(told));
    if let Some(last) = answers.last_mut() {
        session.before_ready(last);
    }
    answers
}

/// The objects that exist before each change.
const SETUP: &str = "
    create table t (id int primary key, v int);
    insert into t select i, i from generate_series(1, 20) i;
    create table child (id int primary key, parent int references t);
    create table spare (id int);
    create table empty (id int primary key);
    create sequence s;
    select nextval('s');
    create sequence fresh;
    create view w as select * from t;
    create type mood as enum ('sad', 'ok');
    create function f() returns int language sql as 'select 1';
    create role ann login;
    create role bob login;
    create role bob2;
    create schema z;
    grant select on t to bob;
    create table held (id int primary key);
    begin; insert into held values (1); prepare transaction 'waiting';
    begin; create table made (id int); prepare transaction 'making';
    select pg_stat_reset()";

/// The changes of a transaction that has committed and is not durable.
const CHANGES: &[&str] = &[
    "insert into t values (50, 5)",
    "insert into empty values (1)",
    "update t set v = v + 1 where id = 3",
    "update t set id = 70 where id = 3",
    "delete from t where id = 4",
    "delete from t",
    "truncate child",
    "begin; insert into t values (60, 1); savepoint a; insert into t values (61, 1); release a; commit",
    "insert into t values (3, 9) on conflict (id) do update set v = excluded.v",
    "insert into child values (1, 5)",
    "copy t to stdout; insert into t select i, 0 from generate_series(200, 260) i",
    "create table u (id int primary key)",
    "create table u as select 1 as id",
    "drop table spare",
    "alter table t add column extra int",
    "alter table t rename column v to other",
    "alter table spare rename to renamed",
    "alter table t add constraint positive check (v > 0)",
    "create index i on t (v)",
    "create view w2 as select 1",
    "drop view w",
    "create type colour as enum ('red')",
    "alter type mood add value 'happy'",
    "create domain positive as int check (value > 0)",
    "create function g() returns int language sql as 'select 2'",
    "create or replace function f() returns int language sql as 'select 7'",
    "create role carl login",
    "alter role ann nologin",
    "alter role ann set work_mem = '8MB'",
    "drop role bob2",
    "grant ann to bob",
    "grant update on t to bob",
    "revoke select on t from bob",
    "create schema y",
    "drop schema z",
    "comment on table t is 'something'",
    "create sequence s2",
    "drop sequence s",
    "alter sequence s increment by 5",
    "alter sequence s restart with 1000",
    "select nextval('fresh')",
    "select setval('s', 500)",
    "alter table t enable row level security",
    "analyze t",
    "begin; insert into t values (101, 1); prepare transaction 'another'",
    "commit prepared 'waiting'",
    "commit prepared 'making'",
    "set synchronous_commit = off; insert into t values (51, 5); notify news, 'early'",
    "begin; insert into t values (52, 5); notify news, 'told'; commit",
    "alter table t add constraint only_one unique (v)",
];

/// The questions.
const QUESTIONS: &[&str] = &[
    "select * from t order by id",
    "select count(*) from t",
    "select * from held",
    "select v from t where id = 3",
    "select id from t where id = 4",
    "select id from t where id = 50",
    "select * from empty",
    "select * from child",
    "select * from w order by 1",
    "select * from u",
    "select * from spare",
    "select * from renamed",
    "select * from made",
    "select extra from t limit 1",
    "select f()",
    "select g()",
    "select 'happy'::mood",
    "select 'red'::colour",
    "select (-1)::positive",
    "insert into t values (50, 6)",
    "insert into t values (50, 6) on conflict do nothing",
    "insert into t values (50, 6) on conflict (id) do update set v = 0 returning v",
    "insert into empty values (1)",
    "insert into child values (2, 4)",
    "update t set v = 0 where id = 4",
    "update t set v = v where id = 3 returning v",
    "delete from t where id = 5",
    "delete from t where id = 3 returning v",
    "select * from t where id = 3 for update",
    "merge into t using (values (50)) n(id) on t.id = n.id when matched then update set v = 1 when not matched then do nothing",
    "table w2",
    "copy t to stdout",
    "copy (select count(*) from t) to stdout",
    "explain select * from t where v = 1",
    "create table u (id int)",
    "create table if not exists u (id int)",
    "drop table if exists u",
    "drop table if exists spare",
    "create sequence if not exists s2",
    "drop view if exists w",
    "create schema if not exists y",
    "drop role if exists carl",
    "drop function g()",
    "comment on column t.v is 'x'",
    "set role carl",
    "set search_path = y; select current_schema()",
    "prepare p as select * from u",
    "declare c cursor with hold for select * from t order by id; fetch all from c",
    "do $$ begin perform * from u; end $$",
    "do $$ begin raise notice 'v is %', (select v from t where id = 3); end $$",
    "select to_regclass('u'), to_regclass('spare'), to_regtype('colour'), to_regrole('carl')",
    "select obj_description('t'::regclass)",
    "select has_table_privilege('bob', 't', 'update'), has_table_privilege('bob', 't', 'select')",
    "select pg_has_role('bob', 'ann', 'member')",
    "select relname from pg_class where oid > 16383 order by 1",
    "select relname, reltuples from pg_class where relname = 't'",
    "select attname from pg_attribute where attrelid = 't'::regclass order by attnum",
    "select typname from pg_type where oid > 16383 order by 1",
    "select rolname, rolcanlogin from pg_roles order by 1",
    "select nspname from pg_namespace order by 1",
    "select proname, prosrc from pg_proc where oid > 16383 order by 1",
    "select table_name from information_schema.tables where table_schema = 'public' order by 1",
    "select setconfig from pg_db_role_setting",
    "select gid from pg_prepared_xacts order by 1",
    "select sequencename, last_value, increment_by from pg_sequences order by 1",
    "select last_value, is_called from s",
    "select nextval('s')",
    "select nextval('fresh')",
    "select relrowsecurity from pg_class where relname = 't'",
    "select pg_sequence_last_value('s'::regclass)",
    "select setval('s', 7)",
    "select currval('s')",
    "select n_live_tup, n_tup_ins, n_tup_upd, n_tup_del from pg_stat_user_tables where relname = 't'",
    "select pg_relation_size('t') > 0, pg_relation_size('child') > 0, pg_relation_size('empty') > 0",
    "select pg_table_size('t'), pg_indexes_size('t'), pg_database_size('postgres')",
    "select xact_commit from pg_stat_database where datname = 'postgres'",
    "select txid_status(txid_current() - 1)",
    "select pg_snapshot_xmax(pg_current_snapshot())",
    "select pg_current_wal_insert_lsn()",
    "select count(*) from pg_locks",
    "select pg_try_advisory_xact_lock(1)",
    "prepare transaction 'another'",
    "commit prepared 'waiting'",
    "commit prepared 'making'",
    "rollback prepared 'another'",
    "commit prepared 'nobody'",
    "begin; prepare transaction 'another'",
    "truncate t",
    "alter table u add column x int",
    "alter sequence s2 increment by 2",
    "create index on t (v)",
    "create unique index on t (v)",
    "analyze u",
    "grant select on u to bob",
    "lock table u",
    "execute everything",
];

struct World {
    database: Database,
    instance: Arc<Instance>,
}

impl World {
    fn new() -> World {
        let settings = ServerSettings::new();
        for (name, value) in [("shared_buffers", "512"), ("max_connections", "400"), ("max_prepared_transactions", "9")]
        {
            settings.set_at_start(name, value, Source::CommandLine).unwrap();
        }
        let database = Database::open(OpenOptions {
            vfs: Arc::new(SimulatedVfs::new(1)),
            settings: Arc::new(settings),
            // Nobody flushes but who waits.
            background: false,
            csn_window: 4096,
            ..OpenOptions::new("/data")
        })
        .unwrap();
        let instance = Instance::new(database.clone());
        let mut session = connect(&instance);
        for statement in SETUP.split(';') {
            let answers = run(&mut session, statement);
            assert!(!answers[0].text.contains("does not exist"), "{statement}: {}", answers[0].text);
        }
        drop(session);
        database.wal().flush(database.wal().reserved());
        World { database, instance }
    }

    fn is_durable(&self, lsn: Lsn) -> bool {
        self.database.wal().durable() >= lsn
    }
}

/// Whether a question has effects that its session cannot undo, so that it gets a database of its own.
fn stays(question: &str) -> bool {
    ["prepared '", "prepare transaction", "nextval", "setval"].iter().any(|part| question.contains(part))
}

/// How a question is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Simple,
    Extended,
}

/// Asks within a transaction that is rolled back, where that can be.
fn ask(session: &mut SqlSession, question: &str, way: Way) -> Vec<Told> {
    let run_it = |session: &mut SqlSession| match way {
        Way::Simple => run(session, question),
        Way::Extended => run_extended(session, question),
    };
    if stays(question) {
        return run_it(session);
    }
    run(session, "begin");
    let mut answers = run_it(session);
    answers.extend(run(session, "rollback"));
    answers
}

/// Whether an answer only counts the rows that an open transaction has changed. That is provisional: the transaction's end waits for
/// what it depends on.
fn is_provisional(text: &str) -> bool {
    let tag = text.lines().last().unwrap_or_default();
    let is_of_write = ["INSERT ", "UPDATE ", "DELETE ", "MERGE "].iter().any(|command| tag.starts_with(command));
    is_of_write && !text.contains('|')
}

fn texts(answers: Vec<Told>) -> Vec<String> {
    answers.into_iter().map(|told| told.text).collect()
}

/// A question to a session.
struct Asked {
    question: &'static str,
    way: Way,
    /// The state of the session.
    whom: &'static str,
    session: SqlSession,
    /// The answer before the change.
    before: Vec<String>,
}

/// The answers to the questions that stay, where nothing has changed.
#[derive(Default)]
struct Unchanged {
    answers: HashMap<&'static str, Vec<String>>,
}

impl Unchanged {
    fn answer(&mut self, question: &'static str) -> Vec<String> {
        let ask_another_world = || texts(ask(&mut connect(&World::new().instance), question, Way::Simple));
        self.answers.entry(question).or_insert_with(ask_another_world).clone()
    }
}

/// A question that is answered in the same way each time, to sessions that have been there since before the change.
fn asked_before(world: &World, question: &'static str, change: &str, unchanged: &mut Unchanged) -> Vec<Asked> {
    let mut asked = Vec::new();
    for way in [Way::Simple, Way::Extended] {
        // An object that stays would be met by the same question asked in another way.
        if way == Way::Extended && (question.contains("; ") || stays(question)) {
            continue;
        }
        let mut old = connect(&world.instance);
        run(&mut old, "prepare everything as select * from t order by id");
        run(&mut old, "listen news");
        if stays(question) {
            // It would change what it is about, so another world is asked.
            let before = unchanged.answer(question);
            asked.push(Asked { question, way, whom: "a silent session", session: connect(&world.instance), before });
            continue;
        }
        let first = texts(ask(&mut old, question, way));
        let before = texts(ask(&mut old, question, way));
        if way == Way::Simple && first != before && !["nextval", "setval"].iter().any(|moves| change.contains(moves)) {
            break;
        }
        if way == Way::Simple && !question.starts_with("execute") {
            let silent = connect(&world.instance);
            asked.push(Asked { question, way, whom: "a silent session", session: silent, before: before.clone() });
        }
        asked.push(Asked { question, way, whom: "an old session", session: old, before });
    }
    asked
}

/// Asks these questions after `change`. Returns how many answers told of it, and adds to `findings` those that told too early.
fn ask_after(change: &str, questions: &[&'static str], unchanged: &mut Unchanged, findings: &mut Vec<String>) -> usize {
    let world = World::new();
    let mut asked = Vec::new();
    for question in questions {
        asked.extend(asked_before(&world, question, change, unchanged));
    }
    let mut writer = connect(&world.instance);
    world.database.wal().flush(world.database.wal().reserved());
    let newest_before = world.database.transactions().newest_commit();
    let mut changed = run(&mut writer, change)[0].required;
    let newest = world.database.transactions().newest_commit();
    if newest > newest_before {
        changed = changed.max(newest);
    }
    let mut told_count = 0;
    for Asked { question, way, whom, mut session, before } in asked {
        if world.is_durable(changed) {
            // The change or a question had to be durable.
            break;
        }
        let answers = ask(&mut session, question, way);
        if world.is_durable(changed) {
            break;
        }
        let has_changed = |(index, told): (usize, &Told)| before.get(index) != Some(&told.text);
        let Some(place) = answers.iter().enumerate().position(has_changed) else { continue };
        told_count += 1;
        let place = if !stays(question) && is_provisional(&answers[place].text) { answers.len() - 1 } else { place };
        if answers[place].required < changed {
            findings.push(format!(
                "{whom} was asked \"{question}\" ({way:?}) after \"{change}\" at {changed}, and told, behind {} only:\n{}\ninstead of:\n{}",
                answers[place].required,
                answers[place].text,
                before.get(place).map_or("", String::as_str),
            ));
        }
    }
    told_count
}

// invariants: rows 11 and 36
#[test]
fn whatever_tells_of_a_change_waits_for_it() {
    let asks_all = std::env::var("COHORT_GATE_QUESTIONS").is_ok_and(|wanted| wanted == "all");
    let (mut findings, mut unchanged, mut told_total) = (Vec::new(), Unchanged::default(), 0);
    for (number, change) in CHANGES.iter().enumerate() {
        let is_asked = |(index, _): &(usize, &&str)| asks_all || (index + number) % SHARE == 0;
        let questions = QUESTIONS.iter().enumerate().filter(is_asked).map(|(_, question)| *question);
        let (stay, pass): (Vec<&str>, Vec<&str>) = questions.partition(|question| stays(question));
        let mut told = ask_after(change, &pass, &mut unchanged, &mut findings);
        for question in stay {
            told += ask_after(change, &[question], &mut unchanged, &mut findings);
        }
        println!("{told} answers told of: {change}");
        told_total += told;
    }
    assert!(findings.is_empty(), "{} answers told too early:\n{}", findings.len(), findings.join("\n\n"));
    assert!(told_total > CHANGES.len(), "only {told_total} answers told of a change");
}

/// Statements of a block that change rows and return none, and their tags.
const WRITES: [(&str, &str); 3] = [
    ("update t set v = v + 1 where id = 1", "UPDATE 1"),
    ("insert into t values (77, 77)", "INSERT 0 1"),
    ("delete from t where id = 77", "DELETE 1"),
];

// invariants: row 11
#[test]
fn what_a_write_in_a_block_has_met_is_waited_for_at_its_end_only() {
    let world = World::new();
    let mut writer = connect(&world.instance);
    let changed = run(&mut writer, "update t set v = 100 where id = 1")[0].required;
    for way in [Way::Simple, Way::Extended] {
        let mut session = connect(&world.instance);
        run(&mut session, "begin");
        for (write, tag) in WRITES {
            let answers = match way {
                Way::Simple => run(&mut session, write),
                // Parsed, described, bound, described again and run.
                Way::Extended => run_extended(&mut session, write),
            };
            let told: Vec<_> = answers.iter().map(|told| (told.required, &*told.text)).collect();
            assert!(told.iter().all(|(required, _)| *required < changed), "{way:?} {write}: {told:?}, not {changed}");
            assert!(told.iter().any(|(_, text)| *text == tag), "{way:?} {write}: {told:?}");
            session.close_portal("portal");
            session.close_statement("asked");
        }
        let told = run(&mut session, "select v from t where id = 1");
        assert!(told[0].required >= changed, "{way:?}: {}", told[0].text);
        let told = run(&mut session, "rollback");
        assert!(told[0].required >= changed, "{way:?}: {}", told[0].text);
        assert!(!world.is_durable(changed), "a write was not provisional");
    }
}

/// Functions that change by what they read what later answers tell, and the statement to ask about then.
const CHANGERS: [(&str, &str); 4] = [
    (
        "perform set_config('search_path', (select case v when 100 then 'z' else 'public' end from t where id = 1), true)",
        "table w",
    ),
    ("execute 'create temp table made_here (a' || (select v from t where id = 1) || ' int)'", "table made_here"),
    ("perform set_config('application_name', (select v::text from t where id = 1), true)", ""),
    ("open c for execute 'select 1 as a' || (select v from t where id = 1)", ""),
];

// invariants: row 11
#[test]
fn what_a_function_has_changed_by_what_it_read_is_waited_for() {
    let world = World::new();
    let mut maker = connect(&world.instance);
    run(&mut maker, "create table z.w (other int)");
    for (number, (body, _)) in CHANGERS.iter().enumerate() {
        let declared = "create function change";
        let text = format!(
            "{declared}{number}() returns int language plpgsql as $$ declare c refcursor := 'portal'; begin {body}; return 9; end $$"
        );
        assert_eq!(run(&mut maker, &text)[0].text, "CREATE FUNCTION", "{text}");
    }
    run(&mut maker, "create table log (v int)");
    world.database.wal().flush(world.database.wal().reserved());
    let changed = run(&mut maker, "update t set v = 100 where id = 1")[0].required;
    for (number, (body, asked)) in CHANGERS.iter().enumerate() {
        let mut session = connect(&world.instance);
        run(&mut session, "begin");
        let told = run(&mut session, &format!("insert into log values (change{number}())"));
        assert!(told[0].text.contains("INSERT 0 1"), "{body}: {}", told[0].text);
        let mut answers = Vec::new();
        if told[0].text.contains(" is ") {
            // The setting is reported at once.
            answers = told;
        } else if asked.is_empty() {
            message(&mut session, &mut answers, |session, told| session.describe_portal("portal", told));
        } else {
            answers = run_extended(&mut session, asked);
        }
        for told in &answers {
            assert!(told.required >= changed, "{body}: {} < {changed}: {}", told.required, told.text);
        }
    }
}

// invariants: row 11
#[test]
fn a_plan_that_others_made_of_a_newer_catalog_waits_for_that() {
    let world = World::new();
    let asked = "select * from spare";
    let mut sessions: Vec<SqlSession> = (0..3).map(|_| connect(&world.instance)).collect();
    for session in &mut sessions {
        run_extended(session, asked);
        run(session, "begin");
    }
    // The tag of a write passes; what is bound after it meets the newer catalog all the same.
    run(&mut sessions[2], "insert into t values (78, 78)");
    let mut writer = connect(&world.instance);
    world.database.wal().flush(world.database.wal().reserved());
    let changed = run(&mut writer, "alter table spare add column more int")[0].required;
    // The first makes the plan, the others find it, one of them under a statement of its own.
    sessions[1].close_statement("asked");
    for session in &mut sessions {
        let answers = run_extended(session, asked);
        let last = answers.last().unwrap();
        assert!(last.required >= changed, "{} < {changed}: {}", last.required, last.text);
        let early = answers.iter().find(|told| told.required < changed && !told.text.is_empty());
        assert!(early.is_none(), "{}", early.unwrap().text);
    }
    assert!(!world.is_durable(changed));
}
