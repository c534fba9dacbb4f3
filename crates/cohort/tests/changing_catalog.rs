//! Changes of the catalog beside statements that are being planned, stored expressions, and values of types that change.

mod common;

use std::sync::atomic::{AtomicBool, Ordering};

use common::Server;

/// A query whose planning takes longer than others need for a temporary table.
fn slow_to_plan(name: &str) -> String {
    let list = |item: &dyn Fn(usize) -> String, separator: &str| (1..60).map(item).collect::<Vec<_>>().join(separator);
    let tables = list(&|number| format!("t t{number}"), ", ");
    let conditions = list(&|number| format!("t{}.a = t{number}.a", number - 1), " and ");
    format!("select t0.a from t t0, {tables} where {conditions} and '{name}' <> ''")
}

#[test]
fn statements_end_beside_sessions_that_make_and_drop_temporary_tables() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=2", "synchronous_commit=off"]);
    let mut client = server.connect();
    client.batch_execute("create table t (a int primary key); insert into t select generate_series(1, 300)").unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let mut client = server.connect();
            let is_done = &is_done;
            scope.spawn(move || {
                while !is_done.load(Ordering::Relaxed) {
                    client.batch_execute("create temporary table mine (a int); drop table mine").unwrap();
                }
            });
        }
        // Far more than any of the statements takes; those that were planned again and again took for ever.
        client.batch_execute("set statement_timeout = '60s'").unwrap();
        let query = slow_to_plan;
        let statements = [
            query("alone"),
            format!("prepare p as {}; execute p", query("prepared")),
            format!("explain analyze {}", query("explained")),
            format!("begin; declare c cursor for {}; fetch all from c; commit", query("cursor")),
            format!("create table made as {}", query("made")),
            format!("insert into made {}", query("inserted")),
            format!("copy ({}) to '/dev/null'", query("copied")),
            format!("do $do$ begin perform * from ({}) s; end $do$", query("performed")),
            format!("do $do$ begin execute $q${}$q$; end $do$", query("executed")),
            format!(
                "create function f() returns setof int language sql as $f${}$f$; select count(*) from f()",
                query("function")
            ),
            format!("create materialized view seen as {}", query("materialized")),
            "refresh materialized view seen".to_owned(),
        ];
        let failed: Vec<String> = statements
            .iter()
            .filter_map(|statement| {
                let error = client.batch_execute(statement).err()?;
                Some(format!("{}: {error:?}", &statement[..statement.len().min(60)]))
            })
            .collect();
        is_done.store(true, Ordering::Relaxed);
        assert!(failed.is_empty(), "{failed:#?}");
    });
    server.stop();
}

/// The rights of a SECURITY DEFINER function are its owner's, and never the caller's, even if the owner is dropped while the statement runs.
#[test]
fn a_function_of_a_dropped_owner_has_no_rights_of_its_caller() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["synchronous_commit=off"]);
    let mut holder = server.connect();
    let languages =
        [("sql", "select count(*) from pg_authid"), ("plpgsql", "begin return (select count(*) from pg_authid); end")];
    for (language, body) in languages {
        holder
            .batch_execute(&format!(
                "create role maker; create schema made; grant usage, create on schema made to maker; set role maker;
                 create function made.f() returns bigint language {language} security definer set check_function_bodies = off as $${body}$$;
                 reset role; select pg_advisory_lock(1)"
            ))
            .unwrap();
        let mut caller = server.connect();
        let called = std::thread::spawn(move || {
            caller.query("select (select count(*) from pg_advisory_lock(1)), made.f()", &[]).map(|rows| rows.len())
        });
        let waits = "select 1 from pg_locks where locktype = 'advisory' and not granted";
        while holder.query(waits, &[]).unwrap().is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        holder
            .batch_execute("reassign owned by maker to postgres; drop owned by maker; drop role maker; select pg_advisory_unlock(1)")
            .unwrap();
        let error = called.join().unwrap().unwrap_err();
        assert_eq!(error.as_db_error().unwrap().message(), "permission denied for table pg_authid", "{language}");
        holder.batch_execute("drop schema made cascade").unwrap();
    }
    server.stop();
}

#[test]
fn stored_expressions_keep_calling_the_same_function() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["synchronous_commit=off"]);
    let mut client = server.connect();
    let function = |name: &str, result: u32| {
        format!("create function {name} returns int language sql immutable as 'select {result}'")
    };
    client
        .batch_execute(&format!(
            "create schema s; {}; {}; {}; {}; {}; create table other (b int default p(1)); create table t (a int, b int default f(1), check (f(a) < 5));
             create index on t (f(a)); create domain d as int check (f(value) < 5)",
            function("f(anyelement)", 1),
            function("g(int)", 2),
            function("s.f(int)", 3),
            function("p(anyelement)", 4),
            function("f(int, int)", 5),
        ))
        .unwrap();
    let better = [
        function("f(int)", 666),
        function("f(bigint)", 666),
        "alter function g(int) rename to f".to_owned(),
        "alter function s.f(int) set schema public".to_owned(),
        // With a default it takes one argument, too.
        function("f(a int, b int default 0)", 5).replace("create", "create or replace"),
        // Its own caller would call `g(int)`.
        "alter function p(anyelement) rename to g".to_owned(),
    ];
    for statement in &better {
        let error = client.batch_execute(statement).unwrap_err();
        let error = error.as_db_error().unwrap();
        assert_eq!(error.code().code(), "0A000", "{statement}: {error}");
        assert!(error.message().ends_with("would change what a stored expression calls"), "{error}");
        assert!(
            error.detail().is_some_and(|detail| detail.contains("calls another function of this name")),
            "{error:?}"
        );
    }
    // These change nothing about what the expressions call.
    let others = [function("f(text, int)", 666), function("f(text)", 666), function("s.f(anyelement)", 666)];
    for statement in others {
        client.batch_execute(&statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    client.batch_execute("insert into t values (7)").unwrap();
    let row = client.query_one("select b, 8::d from t where f(a) = 1", &[]).unwrap();
    assert_eq!((row.get::<_, i32>(0), row.get::<_, i32>(1)), (1, 8));
    // Nothing calls `f` any more.
    client.batch_execute(&format!("alter function f(anyelement) rename to h; {}", function("f(int)", 666))).unwrap();
    client.batch_execute("insert into t values (9)").unwrap();
    server.stop();
}

#[test]
fn types_do_not_change_below_expressions_that_could_not_be_bound_then() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["synchronous_commit=off"]);
    let mut client = server.connect();
    client
        .batch_execute(
            "create type pair as (a int, b text); create domain checked as pair check ((value).a <> 3);
             create table row_type (a int, b text); create domain checked_row as row_type check ((value).a <> 3)",
        )
        .unwrap();
    for (statement, reader) in [
        ("alter type pair alter attribute a type text", "checked_check"),
        ("alter table row_type alter a type text", "checked_row_check"),
    ] {
        let error = client.batch_execute(statement).unwrap_err();
        let error = error.as_db_error().unwrap();
        assert_eq!(error.code().code(), "0A000", "{statement}: {error}");
        assert!(error.message().contains(reader), "{error}");
    }
    client.batch_execute("alter type pair alter attribute a type bigint, alter attribute b type varchar").unwrap();
    client.batch_execute("alter table row_type alter b type varchar").unwrap();
    let error = client.batch_execute("select '(3,b)'::checked").unwrap_err();
    assert_eq!(error.code().unwrap().code(), "23514");
    client.batch_execute("select '(1,b)'::checked, '(1,b)'::checked_row").unwrap();
    server.stop();
}

#[test]
fn rows_that_are_older_than_their_type_are_not_stored() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["synchronous_commit=off"]);
    let mut client = server.connect();
    client
        .batch_execute(
            "create type triple as (a int, b text, c text); create table stored (n int, q triple, list triple[]);
             insert into stored values (1, row(1, 'b', 'c'), '{}')",
        )
        .unwrap();
    let block = |change: &str, statement: &str| {
        format!(
            "do $$ declare v record; begin select row(7, 'b', 'c')::triple as q into v; execute '{change}'; execute '{statement}' using v.q; end $$"
        )
    };
    // Attribute numbers tell which field became which.
    let both = "alter type triple drop attribute a; alter type triple add attribute d int";
    let (drop, add) = ("alter type triple drop attribute a", "alter type triple add attribute d int");
    for change in [both, drop, add] {
        for statement in [
            "insert into stored values (2, $1)",
            "insert into stored values (2, null, array[null, $1])",
            "update stored set q = $1",
        ] {
            let mut transaction = client.transaction().unwrap();
            let result = transaction.batch_execute(&block(change, statement));
            assert!(result.is_ok(), "{change}; {statement}: {result:?}");
            let rows = "select string_agg(coalesce(q, list[2])::text, ';' order by n desc) from stored";
            let rows = transaction.query_one(rows, &[]).unwrap();
            let kept = [(both, "(b,c,)"), (drop, "(b,c)"), (add, "(7,b,c,)")].into_iter().find(|(of, _)| *of == change);
            assert!(rows.get::<_, String>(0).starts_with(kept.unwrap().1), "{change}; {statement}: {rows:?}");
            transaction.rollback().unwrap();
        }
    }
    // A row that was made before a change in the same statement has too many fields.
    client
        .batch_execute(
            "create function change() returns int language plpgsql as $$ begin alter type triple drop attribute a; return 1; end $$;
             create function keep(triple) returns int language sql as $$ insert into stored values (2, $1); select 1 $$",
        )
        .unwrap();
    let error = client.batch_execute("select change(), keep(row(7, 'b', 'c')::triple)").unwrap_err();
    assert_eq!(error.code().unwrap().code(), "55000", "{error}");
    // A row that is as its type is by then.
    client
        .batch_execute(
            "alter type triple drop attribute a;
             do $$ declare v triple; begin v := row('b', 'c'); insert into stored values (2, v, array[v]); end $$",
        )
        .unwrap();
    let row = client.query_one("select string_agg(q::text || list::text, ';' order by n) from stored", &[]).unwrap();
    assert_eq!(row.get::<_, String>(0), "(b,c){};(b,c){\"(b,c)\"}");
    server.stop();
}

/// Types whose rows are made of two rows of the type before: the number of fields doubles with each.
#[test]
fn tables_of_deeply_nested_types_are_written_without_looking_at_all_their_fields() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["synchronous_commit=off"]);
    let mut client = server.connect();
    client.batch_execute("create type t0 as (a int)").unwrap();
    for level in 1..60 {
        let before = level - 1;
        client.batch_execute(&format!("create type t{level} as (a t{before}, b t{before})")).unwrap();
    }
    client
        .batch_execute(
            "create table deep (id int, q t59, list t59[]); insert into deep values (1, null, null), (2, row(null, null), '{NULL}');
             update deep set id = id + 1; alter type t0 add attribute b int; update deep set q = row(null, null)",
        )
        .unwrap();
    let row = client.query_one("select count(*) from deep where q is null", &[]).unwrap();
    assert_eq!(row.get::<_, i64>(0), 2);
    server.stop();
}

#[test]
fn the_text_of_a_view_over_a_function_means_the_view_after_columns_were_added() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    client
        .batch_execute(
            "create table t (a int, b text); insert into t values (1, 'q');
             create function ft() returns setof t language sql stable as 'select * from t';
             create view of_order as select y.ord::int, y.p from ft() with ordinality y (p, q, ord);
             create view of_both as select y.n, y.q from rows from (ft(), generate_series(11, 11)) y (p, q, n);
             alter table t add c int default 7",
        )
        .unwrap();
    for (view, expected) in [("of_order", "(1,1)"), ("of_both", "(11,q)")] {
        let text: String = client.query_one(&format!("select pg_get_viewdef('{view}')"), &[]).unwrap().get(0);
        client.batch_execute(&format!("create view {view}_again as {text}")).unwrap();
        for name in [view.to_owned(), format!("{view}_again")] {
            let row: String = client.query_one(&format!("select {name}::text from {name}"), &[]).unwrap().get(0);
            assert_eq!(row, expected, "{name}: {text}");
        }
    }
    drop(client);
    server.stop();
}

#[test]
fn a_type_is_not_altered_against_the_rows_that_are_written_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["synchronous_commit=off"]);
    let mut client = server.connect();
    client
        .batch_execute(
            "create type y as (a numeric(6,2), b int); create view v as select row(2.75, 1)::y as x;
             create type z as (a numeric, b int); create table d (x numeric default (row(2.7, 1)::z).a);
             create type pair as (a int, b int); create table t (b int, d pair);
             create view w as select row(1, row(1, 2)::pair)::t as x; create type single as (a int)",
        )
        .unwrap();
    let refused = [
        ("alter type y alter attribute a type int", "cannot alter type \"y\" because view v uses it"),
        ("alter type y alter attribute a type numeric(6,1)", "cannot alter type \"y\" because view v uses it"),
        (
            "alter type z alter attribute a type int",
            "cannot alter type \"z\" because default value for column x of table d uses it",
        ),
        ("alter table t alter column b type text", "cannot alter type \"t\" because view w uses it"),
        ("alter table t alter column d type single using null", "cannot alter type \"t\" because view w uses it"),
    ];
    for (statement, message) in refused {
        let error = client.batch_execute(statement).unwrap_err();
        let error = error.as_db_error().unwrap();
        assert_eq!((error.code().code(), error.message()), ("0A000", message), "{statement}");
    }
    // Renames go on.
    client
        .batch_execute(
            "alter type y rename attribute b to c; alter table t rename to s;
             insert into d default values",
        )
        .unwrap();
    let text = |client: &mut postgres::Client, query: &str| client.query_one(query, &[]).unwrap().get::<_, String>(0);
    assert_eq!(text(&mut client, "select x::text from v"), "(2.75,1)");
    assert_eq!(text(&mut client, "select x::text from w"), "(1,\"(1,2)\")");
    assert_eq!(text(&mut client, "select x::text from d"), "2.7");
    server.stop();
}

#[test]
fn a_type_is_altered_after_a_table_that_stored_its_rows_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["synchronous_commit=off"]);
    let (mut client, mut other) = (server.connect(), server.connect());
    client.batch_execute("create type ct as (a int); create table h (x ct); create table kept (x ct)").unwrap();
    client.batch_execute("insert into h values (row(1)); insert into kept values (row(1))").unwrap();
    client.batch_execute("begin; drop table h").unwrap();
    std::thread::scope(|scope| {
        let altered = scope.spawn(|| other.batch_execute("alter type ct add attribute c int"));
        let waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";
        let mut observer = server.connect();
        // If it does not wait, its answer says why.
        while !altered.is_finished() && observer.query_one(waits, &[]).unwrap().get::<_, i64>(0) == 0 {
            std::thread::yield_now();
        }
        client.batch_execute("commit").unwrap();
        altered.join().unwrap().unwrap();
    });
    let row = client.query_one("select x::text from kept", &[]).unwrap();
    assert_eq!(row.get::<_, String>(0), "(1,)");
    server.stop();
}

#[test]
fn checks_of_domains_call_what_the_sessions_own_path_names() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=2", "synchronous_commit=off"]);
    server
        .connect()
        .batch_execute(
            "create schema common; create schema theirs; create schema ours;
             create function ours.g(int) returns bool language sql immutable as 'select $1 > 0';
             create function theirs.g(int) returns bool language sql immutable as 'select true';
             set search_path = ours;
             create function common.f(int) returns bool language sql immutable as 'select g($1)';
             create domain common.d as int check (common.f(value))",
        )
        .unwrap();
    // Sessions share the threads, and what these have kept of the domain.
    for _ in 0..8 {
        let mut session = server.connect();
        session.batch_execute("set search_path = theirs; select (-1)::common.d").unwrap();
        let mut session = server.connect();
        let error = session.batch_execute("set search_path = ours; select (-1)::common.d").unwrap_err();
        assert_eq!(error.code().map(|code| code.code()), Some("23514"));
    }
    server.stop();
}
