//! No work of one session keeps another's short statement waiting, and all work can be cancelled.
//!
//! Each kind of long work runs in more sessions than there are workers, beside a session with short statements. The
//! waits of the short statements are measured by how long their worker computed meanwhile, which doesn't depend on how
//! busy the machine is.
//! `COHORT_FAIRNESS_SECONDS=3` runs each kind for so long on two workers and prints latencies by the clock, `COHORT_FAIRNESS_KINDS=sort,vacuum`
//! runs only the kinds whose names contain one of these.

mod common;

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::Server;
use common::conversation::{Sent, Talk};
use common::wire::Session;
use postgres::error::SqlState;
use postgres::{CancelToken, Client, NoTls};

/// A worker computes for no longer than this before it looks after a short statement. A build without optimisation computes
/// several times slower than one with it, so this is more than what is aimed at: 20 ms.
const COMPUTED_MAX: Duration = Duration::from_millis(80);
/// The same before it ends work that was cancelled. The aim is 100 ms.
const COMPUTED_TO_CANCEL_MAX: Duration = Duration::from_millis(250);
/// Work that goes on for so long after it was cancelled has not noticed.
const CANCEL_LIMIT: Duration = Duration::from_secs(60);

/// Statements that take long, or are run again and again.
struct Kind {
    name: &'static str,
    /// Run once before, one by one.
    before: &'static [&'static str],
    /// Run one by one until cancelled.
    statements: &'static [&'static str],
    /// Run one by one after, whatever became of the others.
    after: &'static [&'static str],
}

const fn work(name: &'static str, statements: &'static [&'static str]) -> Kind {
    Kind { name, before: &[], statements, after: &[] }
}

/// Tables that all kinds may use.
const TABLES: &[&str] = &[
    "create table big (id int primary key, k int, t text, n numeric)",
    "insert into big select i, (i * 7919) % 10007, md5(i::text), i / 7.0 from generate_series(1, 40000) i",
    "create table small as select * from big where id <= 2000",
    "create table parent (id int primary key)",
    "create table child (parent int references parent on delete cascade)",
    "create index on child (parent)",
    "insert into parent select generate_series(1, 5000)",
    "insert into child select (i % 5000) + 1 from generate_series(1, 20000) i",
    "create materialized view seen as select k, count(*) from big group by k",
    "create function fib(n int) returns int language plpgsql as
     'begin if n < 2 then return n; end if; return fib(n - 1) + fib(n - 2); end'",
    "create function by_sql(n int) returns bigint language sql volatile as
     'select count(*) from small where id < n'",
    "create function slow_key(n int) returns int language plpgsql immutable as
     'begin for i in 1..200 loop n := (n * 31 + i) % 65521; end loop; return n; end'",
    "create table noted (id int, t text)",
    "create function note() returns trigger language plpgsql as 'begin new.t := new.t || ''!''; return new; end'",
    "create trigger note before insert on noted for each row execute function note()",
];

const KINDS: &[Kind] = &[
    work("plpgsql recursion", &["select fib(40)"]),
    work("plpgsql loop", &["do 'declare i int := 0; begin loop i := i + 1; end loop; end'"]),
    work(
        "plpgsql while",
        &["do 'declare s text := $$$$; begin while length(s) < 100000000 loop s := s || $$xy$$; end loop; end'"],
    ),
    work("plpgsql array growing", &["do 'declare a int[]; begin for i in 1..1000000 loop a := a || i; end loop; end'"]),
    work(
        "plpgsql queries",
        &["do 'declare n int; begin loop select count(*) into n from small where id < 50; end loop; end'"],
    ),
    work(
        "plpgsql cursor loop",
        &["do 'declare r record; begin loop for r in select * from big loop null; end loop; end loop; end'"],
    ),
    work(
        "plpgsql exceptions",
        &["do 'begin loop begin perform 1 / 0; exception when others then null; end; end loop; end'"],
    ),
    work("plpgsql dynamic", &["do 'begin loop execute $$select count(*) from small where id < 50$$; end loop; end'"]),
    work("plpgsql nothing", &["do 'begin loop null; end loop; end'"]),
    work("sql function", &["select sum(by_sql(i % 2000)) from generate_series(1, 1000000) i"]),
    work("series", &["select count(*) from generate_series(1, 1000000000)"]),
    work("series of numerics", &["select count(*) from generate_series(1.0, 1000000000.0)"]),
    work("series in a select list", &["select max(g) from (select generate_series(1, 1000000000) g) s"]),
    work("cross join", &["select count(*) from big a, big b where a.k + b.k = -1"]),
    work("nested loop without a match", &["select count(*) from big a, big b where a.t || b.t = 'x'"]),
    work("hash join", &["select count(*) from big a join big b on a.k % 10 = b.k % 10"]),
    Kind {
        name: "merge join",
        before: &["set enable_hashjoin = off", "set enable_nestloop = off"],
        statements: &["select count(*) from big a join big b on a.k / 100 = b.k / 100"],
        after: &[],
    },
    work("lateral", &["select count(*) from big a, lateral (select count(*) from small b where b.k < a.k) s"]),
    work("correlated subquery", &["select sum((select count(*) from small b where b.k < a.k)) from big a"]),
    work("exists", &["select count(*) from big a where not exists (select from small b where b.k * 2 + 1 = a.k * 2)"]),
    Kind {
        name: "sort of integers",
        before: &["set work_mem = '1GB'"],
        statements: &["select (i * 7919::bigint) % 1000003 from generate_series(1, 400000) i order by 1 offset 399999"],
        after: &[],
    },
    Kind {
        name: "sort of texts",
        before: &["set work_mem = '1GB'"],
        statements: &[
            "select 'the same beginning of all' || i % 99991 from generate_series(1, 200000) i order by 1 offset 199999",
        ],
        after: &[],
    },
    Kind {
        name: "sort of numerics",
        before: &["set work_mem = '1GB'"],
        statements: &["select (i % 9973) ^ 7.5 from generate_series(1, 200000) i order by 1, i offset 199999"],
        after: &[],
    },
    work("sort in files", &["select md5(i::text) from generate_series(1, 400000) i order by 1 offset 399999"]),
    work(
        "window frame",
        &[
            "select max(s) from (select sum(i) over (order by i rows between 500 preceding and current row) s from generate_series(1, 100000) i) t",
        ],
    ),
    work(
        "window over one partition",
        &["select max(r) from (select rank() over (order by i % 100), i from generate_series(1, 300000) i) t(r)"],
    ),
    work("group by", &["select count(*) from (select i % 99991 from generate_series(1, 10000000) i group by 1) s"]),
    work("distinct aggregate", &["select count(distinct i % 99991) from generate_series(1, 10000000) i"]),
    work("ordered aggregate", &["select length(string_agg(t, ',' order by t)) from big"]),
    work("array_agg", &["select cardinality(array_agg(i)) from generate_series(1, 3000000) i"]),
    work(
        "percentile",
        &["select percentile_cont(0.5) within group (order by i % 1000) from generate_series(1, 400000) i"],
    ),
    work(
        "recursive query",
        &["with recursive r(i) as (select 1 union all select i + 1 from r where i < 100000000) select count(*) from r"],
    ),
    work(
        "recursive distinct query",
        &["with recursive r(i) as (select 1 union select (i * 7 + 1) % 10000019 from r) select count(*) from r"],
    ),
    work(
        "except",
        &["select i from generate_series(1, 3000000) i except select i * 2 from generate_series(1, 3000000) i"],
    ),
    work(
        "unnest",
        &[
            "select count(*) from (select array_agg(i) a from generate_series(1, 100000) i) s, unnest(a) x, unnest(a) y where x = -y",
        ],
    ),
    work(
        "long regular expressions",
        &["select count(*) from generate_series(1, 100000) i where repeat('ab', 200000) || i ~ '(a|b)*c$'"],
    ),
    work(
        "groups of regular expressions",
        &[
            "select count(*) from generate_series(1, 1000) i, regexp_matches(repeat('abcd', 20000) || i, '((a|ab)(c|bcd))+', 'g')",
        ],
    ),
    work(
        "backtracking",
        &[r"select count(*) from generate_series(1, 100000) i where repeat('a', 1000) || i ~ '^(a|aa)+x\1$'"],
    ),
    work("replacement", &["select length(regexp_replace(repeat('abc', 1000000), '[a-b]+', 'x', 'g'))"]),
    work("like", &["select repeat('a', 2000000) like '%' || repeat('a', 2000) || 'b%'"]),
    work("ilike", &["select repeat('A', 2000000) ilike '%' || repeat('a', 2000) || 'b%'"]),
    work("texts of megabytes", &["select length(upper(replace(reverse(repeat('xyé', 3000000)), 'x', 'zz')))"]),
    work("hashes", &["select md5(repeat('x', 30000000)), sha256(repeat('x', 30000000)::bytea)"]),
    work("split", &["select cardinality(string_to_array(repeat('ab,', 3000000), ','))"]),
    work(
        "jsonb",
        &[
            "select count(*) from generate_series(1, 100000) i where (select jsonb_agg(x) from generate_series(1, 20000) x) @> '[-1]'",
        ],
    ),
    work(
        "json text",
        &["select count(*) from jsonb_array_elements(('[' || repeat('{\"a\": [1, 2, 3]}, ', 500000) || '1]')::jsonb)"],
    ),
    work("json object", &["select length(jsonb_object_agg(i::text, i)::text) from generate_series(1, 300000) i"]),
    work("factorial", &["select length(factorial(30000)::text)"]),
    work("power of numerics", &["select length((7::numeric ^ 100000)::text)"]),
    work(
        "roots of numerics",
        &["select sum(sqrt(i::numeric(500, 400)) + ln(i::numeric(500, 400))) from generate_series(1, 100000) i"],
    ),
    work(
        "products of numerics",
        &[
            "select count(*) from (select factorial(9000) f offset 0) s, generate_series(1, 10000) i where f * f / (f + i) = 1",
        ],
    ),
    work(
        "date arithmetic",
        &[
            "select max(to_char(timestamp '2000-01-01' + i * interval '1 hour', 'Day, DD Month YYYY')) from generate_series(1, 100000000) i",
        ],
    ),
    Kind {
        name: "create index",
        before: &[],
        statements: &["create index made on big (k)", "drop index made"],
        after: &["drop index if exists made"],
    },
    Kind {
        name: "create index on texts",
        before: &[],
        statements: &["create index made on big (t)", "drop index made"],
        after: &["drop index if exists made"],
    },
    Kind {
        name: "create index on a function",
        before: &[],
        statements: &["create index made on big (slow_key(k))", "drop index made"],
        after: &["drop index if exists made"],
    },
    Kind {
        name: "create unique index",
        before: &[],
        statements: &["create unique index made on big (t, k)", "drop index made"],
        after: &["drop index if exists made"],
    },
    work("reindex", &["reindex table big"]),
    work("translation", &["select length(translate(repeat('b', 100000), repeat('a', 100000), ''))"]),
    Kind {
        name: "grant on a long list",
        before: &[],
        statements: &["do $$ begin execute (select 'grant select on ' || string_agg('big', ', ') || ' to public'
            from generate_series(1, 20000)); end $$"],
        after: &["revoke select on big from public"],
    },
    Kind { name: "vacuum", before: &[], statements: &["update big set k = k + 1", "vacuum big"], after: &[] },
    work("analyze", &["analyze big"]),
    Kind {
        name: "update",
        before: &[],
        statements: &["begin", "update big set k = k + 1", "rollback"],
        after: &["rollback"],
    },
    Kind { name: "delete", before: &[], statements: &["begin", "delete from big", "rollback"], after: &["rollback"] },
    Kind {
        name: "insert",
        before: &[],
        statements: &["begin", "insert into small select * from big", "rollback"],
        after: &["rollback"],
    },
    Kind {
        name: "insert with a trigger",
        before: &[],
        statements: &["begin", "insert into noted select id, t from big", "rollback"],
        after: &["rollback"],
    },
    Kind {
        name: "upsert",
        before: &[],
        statements: &["insert into big select * from big on conflict (id) do update set k = excluded.k"],
        after: &[],
    },
    Kind {
        name: "large values",
        before: &["create temp table large (t text)"],
        statements: &[
            "insert into large select repeat(md5(i::text), 100000) from generate_series(1, 10) i",
            "select sum(length(t)) from large",
            "truncate large",
        ],
        after: &[],
    },
    Kind {
        name: "large values that don't shrink",
        before: &["create temp table large (t text)"],
        statements: &[
            "insert into large select string_agg(md5(i::text), '') from generate_series(1, 200000) i",
            "select sum(length(t)) from large",
            "truncate large",
        ],
        after: &[],
    },
    Kind {
        name: "check of a constraint",
        before: &[],
        statements: &[
            "alter table big add constraint made check (length(t) + slow_key(k) > 0)",
            "alter table big drop constraint made",
        ],
        after: &["alter table big drop constraint if exists made"],
    },
    Kind {
        name: "check of a foreign key",
        before: &["create temp table pointing as select i % 5000 + 1 p from generate_series(1, 100000) i"],
        statements: &[
            "create temp table if not exists pointed as select i p from generate_series(1, 5000) i",
            "alter table pointed add primary key (p)",
            "alter table pointing add constraint made foreign key (p) references pointed",
            "drop table pointed cascade",
        ],
        after: &["drop table if exists pointed cascade"],
    },
    Kind {
        name: "rewrite of a table",
        before: &["create temp table shaped as select * from big"],
        statements: &["alter table shaped alter column k type bigint", "alter table shaped alter column k type int"],
        after: &[],
    },
    Kind {
        name: "cascade",
        before: &[],
        statements: &["begin", "delete from parent", "rollback"],
        after: &["rollback"],
    },
    Kind {
        name: "create table as",
        before: &[],
        statements: &[
            "create temp table made as select a.*, b.k as l from big a join small b using (k)",
            "drop table made",
        ],
        after: &["drop table if exists made"],
    },
    work("refresh of a view", &["refresh materialized view seen"]),
    work("explain analyze", &["explain analyze select count(*) from big a, big b where a.k + b.k = -1"]),
    Kind {
        name: "copy in",
        before: &["create temp table copied (id int primary key, t text)"],
        statements: &["truncate copied", "copy copied from stdin"],
        after: &[],
    },
    work("copy out", &["copy (select i, md5(i::text) from generate_series(1, 10000000) i) to stdout"]),
    work("checkpoint", &["update small set k = k + 1", "checkpoint"]),
    work("savepoints", &["begin", "savepoint a", "update small set k = k + 1", "rollback to a", "rollback"]),
    work(
        "a long list",
        &[
            "do 'declare n int; begin loop execute $$select count(*) from small where id in ($$ || (select string_agg(i::text, $$,$$) from generate_series(1, 5000) i) || $$)$$ into n; end loop; end'",
        ],
    ),
    work("planning of a large join", &[PLANNED]),
    work(
        "many notifications",
        &["do 'begin for i in 1 .. 30000 loop perform pg_notify($$channel$$, i::text); end loop; end'"],
    ),
];

const PLANNED: &str = "do '
    declare
        names text := (select string_agg($$big b$$ || i, $$, $$) from generate_series(1, 40) i);
        conditions text := (select string_agg($$b$$ || i || $$.id = b$$ || i + 1 || $$.k$$, $$ and $$) from generate_series(1, 39) i);
    begin
        loop
            execute $$explain select count(*) from $$ || names || $$ where $$ || conditions;
        end loop;
    end'";

/// How long the kinds that are run are run each, if figures are wanted.
fn measured_seconds() -> Option<f64> {
    std::env::var("COHORT_FAIRNESS_SECONDS").ok().map(|text| text.parse().expect("COHORT_FAIRNESS_SECONDS is a number"))
}

fn is_wanted(name: &str) -> bool {
    match std::env::var("COHORT_FAIRNESS_KINDS") {
        Ok(wanted) => wanted.split(',').any(|wanted| name.contains(wanted)),
        Err(_) => true,
    }
}

/// Processor time that the server's worker threads have had.
struct WorkerClock {
    files: Vec<String>,
}

impl WorkerClock {
    fn new(server: &Server) -> WorkerClock {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", server.id())).unwrap();
        let folders = tasks.map(|task| task.unwrap().path().display().to_string());
        let is_worker = |folder: &String| {
            std::fs::read_to_string(format!("{folder}/comm")).is_ok_and(|name| name.starts_with("worker "))
        };
        let files: Vec<String> = folders.filter(is_worker).map(|folder| format!("{folder}/schedstat")).collect();
        assert!(!files.is_empty(), "the server has workers");
        WorkerClock { files }
    }

    fn read(&self) -> Vec<Duration> {
        let one = |file: &String| {
            let text = std::fs::read_to_string(file).unwrap();
            Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
        };
        self.files.iter().map(one).collect()
    }

    /// The most that one of them has had since.
    fn since(&self, before: &[Duration]) -> Duration {
        self.read().iter().zip(before).map(|(now, before)| now.saturating_sub(*before)).max().unwrap()
    }
}

/// Runs one statement; a COPY with rows made up here, or with its output thrown away.
fn run_statement(client: &mut Client, statement: &str) -> Result<(), postgres::Error> {
    if statement.ends_with("from stdin") {
        let mut writer = client.copy_in(statement)?;
        for id in 0..50_000 {
            // An error shows at the end.
            if writeln!(writer, "{id}\tthe text of row {id}").is_err() {
                break;
            }
        }
        writer.finish()?;
    } else if statement.ends_with("to stdout") {
        let mut reader = client.copy_out(statement)?;
        if let Err(error) = std::io::copy(&mut reader, &mut std::io::sink()) {
            let error = error.into_inner().expect("the driver's error is inside");
            return Err(*error.downcast::<postgres::Error>().expect("it is the driver's"));
        }
    } else {
        client.batch_execute(statement)?;
    }
    Ok(())
}

/// Runs a kind until it is cancelled after `stop` was set.
fn run_until(kind: &Kind, client: &mut Client, stop: &AtomicBool) {
    'runs: while !stop.load(Ordering::SeqCst) {
        for statement in kind.statements {
            if let Err(error) = run_statement(client, statement) {
                let mut code = error.code().cloned();
                // The driver may notice only that the server takes no more rows.
                if code.is_none() && statement.ends_with("from stdin") && client.simple_query("select").is_ok() {
                    code = Some(SqlState::QUERY_CANCELED);
                }
                // Sessions that do the same may be in each other's way.
                let is_expected = code.as_ref().is_some_and(|code| {
                    [
                        SqlState::QUERY_CANCELED,
                        SqlState::T_R_DEADLOCK_DETECTED,
                        SqlState::DUPLICATE_TABLE,
                        SqlState::DUPLICATE_OBJECT,
                        SqlState::UNDEFINED_OBJECT,
                        SqlState::INVALID_REGULAR_EXPRESSION,
                        SqlState::PROGRAM_LIMIT_EXCEEDED,
                    ]
                    .contains(code)
                });
                assert!(is_expected, "{}: {statement}: {error:?}", kind.name);
                for statement in kind.after {
                    // There may be nothing to be taken back.
                    let _ = client.batch_execute(statement);
                }
                if code == Some(SqlState::QUERY_CANCELED) {
                    break 'runs;
                }
                break;
            }
        }
    }
    for statement in kind.after {
        let _ = client.batch_execute(statement);
    }
}

/// Measurements of the session with short statements beside one kind of work.
#[derive(Default)]
struct Met {
    latencies: Vec<Duration>,
    computed_max: Duration,
    cancel: Duration,
    computed_to_cancel: Duration,
}

impl Met {
    fn latency(&mut self, share: f64) -> Duration {
        self.latencies.sort();
        let last = self.latencies.len() - 1;
        self.latencies[(last as f64 * share).round() as usize]
    }
}

/// Short statements for a while.
fn measure(short: &mut Client, clock: &WorkerClock, time: Duration, least: usize) -> Met {
    let statement = short.prepare("select $1::int + 1").unwrap();
    let mut met = Met::default();
    let began = Instant::now();
    while began.elapsed() < time || met.latencies.len() < least {
        let (asked, before) = (Instant::now(), clock.read());
        short.query_one(&statement, &[&1]).unwrap();
        met.computed_max = met.computed_max.max(clock.since(&before));
        met.latencies.push(asked.elapsed());
        std::thread::sleep(Duration::from_millis(5));
    }
    met
}

/// Cancels until the work has ended.
fn cancel(tokens: &[CancelToken], clock: &WorkerClock, running: impl Fn() -> bool, name: &str) -> (Duration, Duration) {
    let (asked, before) = (Instant::now(), clock.read());
    while running() {
        for token in tokens {
            token.cancel_query(NoTls).unwrap();
        }
        let round = Instant::now();
        while running() && round.elapsed() < Duration::from_millis(200) {
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(asked.elapsed() < CANCEL_LIMIT, "{name} can't be cancelled");
    }
    (asked.elapsed(), clock.since(&before))
}

fn try_kind(kind: &Kind, server: &Server, clock: &WorkerClock, sessions: usize, time: Duration) -> Met {
    let mut busy: Vec<Client> = (0..sessions).map(|_| server.connect()).collect();
    for client in &mut busy {
        for statement in kind.before {
            client.batch_execute(statement).unwrap();
        }
    }
    let tokens: Vec<CancelToken> = busy.iter().map(Client::cancel_token).collect();
    let mut short = server.connect();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stop = &stop;
        let threads: Vec<_> =
            busy.iter_mut().map(|client| scope.spawn(move || run_until(kind, client, stop))).collect();
        // The work is under way.
        std::thread::sleep(Duration::from_millis(50));
        let mut met = measure(&mut short, clock, time, 8);
        stop.store(true, Ordering::SeqCst);
        let running = || threads.iter().any(|thread| !thread.is_finished());
        (met.cancel, met.computed_to_cancel) = cancel(&tokens, clock, running, kind.name);
        for thread in threads {
            thread.join().unwrap();
        }
        met
    })
}

fn report(name: &str, met: &mut Met) {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{name:32} p50 {:7.1} p99 {:7.1} max {:7.1} ms, computed at most {:7.1} ms, cancelled in {:7.1} ms, computing {:7.1} ms",
        milliseconds(met.latency(0.5)),
        milliseconds(met.latency(0.99)),
        milliseconds(met.latency(1.0)),
        milliseconds(met.computed_max),
        milliseconds(met.cancel),
        milliseconds(met.computed_to_cancel),
    );
}

// invariants: row 41
#[test]
fn no_work_keeps_short_statements_waiting_and_all_can_be_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let seconds = measured_seconds();
    // One worker: it must have the processor time that a statement waited for.
    let (workers, sessions) = if seconds.is_some() { (2, 3) } else { (1, 2) };
    let server = Server::start(folder.path(), &[&format!("worker_threads={workers}")]);
    let mut client = server.connect();
    let rows = if seconds.is_some() { "400000" } else { "40000" };
    for statement in TABLES {
        client.batch_execute(&statement.replace("40000", rows)).unwrap();
    }
    let clock = WorkerClock::new(&server);
    let time = Duration::from_secs_f64(seconds.unwrap_or(0.1));
    let mut failed = Vec::new();
    for kind in KINDS.iter().filter(|kind| is_wanted(kind.name)) {
        let mut met = try_kind(kind, &server, &clock, sessions, time);
        report(kind.name, &mut met);
        if met.computed_max > COMPUTED_MAX || met.computed_to_cancel > COMPUTED_TO_CANCEL_MAX {
            failed.push(kind.name);
        }
    }
    assert!(failed.is_empty(), "too long in one go: {failed:?}");
    server.stop();
}

// invariants: row 41
#[test]
fn a_client_that_sends_without_a_pause_keeps_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    let clock = WorkerClock::new(&server);
    let mut sender = Session::connect(&server.socket(), "postgres");
    let mut short = server.connect();
    std::thread::scope(|scope| {
        let sending = scope.spawn(move || {
            for _ in 0..400 {
                sender.send("select count(*) from generate_series(1, 3000)");
            }
            for _ in 0..400 {
                assert!(sender.answer().contains("row 3000"));
            }
        });
        let mut met = measure(&mut short, &clock, Duration::from_millis(200), 8);
        report("pipelined statements", &mut met);
        assert!(met.computed_max < COMPUTED_MAX, "{:?}", met.computed_max);
        sending.join().unwrap();
    });
    server.stop();
}

/// So many bytes of Flush messages at a time.
const FLUSHES_BYTES: usize = 64 << 10;

// invariants: row 41
#[test]
fn a_copy_that_gets_no_data_keeps_nobody_waiting_and_can_be_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    let clock = WorkerClock::new(&server);
    let mut short = server.connect();
    short.batch_execute("create table copied (i int)").unwrap();
    let mut talk = Talk::start(&server.socket());
    talk.send(&Sent::query("copy copied from stdin").bytes());
    talk.hear_until(|heard| !heard.is_empty());
    let pid = talk.pid as i32;
    let mut stream = talk.into_stream();
    let mut writer = stream.try_clone().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let flushes = Sent::new(b'H', []).bytes().repeat(FLUSHES_BYTES / 5);
            // A worker that looks after nobody else is to be seen, not waited for.
            let end = Instant::now() + CANCEL_LIMIT;
            while !stop.load(Ordering::SeqCst) && Instant::now() < end {
                // The server may have gone on to close the connection.
                if writer.write_all(&flushes).is_err() {
                    break;
                }
            }
        });
        let mut met = measure(&mut short, &clock, Duration::from_millis(200), 8);
        report("copy without data", &mut met);
        short.execute("select pg_cancel_backend($1)", &[&pid]).unwrap();
        let mut answer = [0];
        stream.read_exact(&mut answer).unwrap();
        stop.store(true, Ordering::SeqCst);
        assert_eq!(answer, *b"E");
        assert!(met.computed_max < COMPUTED_MAX, "{:?}", met.computed_max);
        // The rest is read, so that the writer ends.
        stream.shutdown(std::net::Shutdown::Both).unwrap();
    });
    server.stop();
}

// invariants: row 41
#[test]
fn notifications_give_a_busy_listener_no_further_turns() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    let clock = WorkerClock::new(&server);
    let mut listener = server.connect();
    let token = listener.cancel_token();
    listener.batch_execute("listen channel").unwrap();
    let mut notifier = Session::connect(&server.socket(), "postgres");
    let mut short = server.connect();
    std::thread::scope(|scope| {
        let listening =
            scope.spawn(move || listener.batch_execute("select count(*) from generate_series(1, 100000000000)"));
        let notifying = scope.spawn(move || {
            for number in 0..3000 {
                notifier.send(&format!("notify channel, '{number}'"));
            }
            for _ in 0..3000 {
                assert!(notifier.answer().contains("NOTIFY"));
            }
        });
        let mut met = measure(&mut short, &clock, Duration::from_millis(300), 8);
        report("notifications", &mut met);
        notifying.join().unwrap();
        token.cancel_query(NoTls).unwrap();
        assert_eq!(listening.join().unwrap().unwrap_err().code(), Some(&SqlState::QUERY_CANCELED));
        assert!(met.computed_max < COMPUTED_MAX, "{:?}", met.computed_max);
    });
    server.stop();
}

/// A statement whose constants are lifted out, that takes long to be planned and gives no rows. Each number gives another text.
fn long_to_plan(number: usize) -> String {
    let names: Vec<String> = (1..=40).map(|table| format!("small s{table}")).collect();
    let conditions: Vec<String> = (1..40).map(|table| format!("s{table}.id = s{}.k", table + 1)).collect();
    format!(
        "select count(*) as c{number} from {} where {} and s1.id = -1 and s1.k = -1",
        names.join(", "),
        conditions.join(" and ")
    )
}

// invariants: row 41
#[test]
fn a_time_limit_that_passes_while_a_statement_is_planned_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    let mut client = server.connect();
    client.batch_execute("create table small (id int primary key, k int)").unwrap();
    let began = Instant::now();
    client.simple_query(&long_to_plan(0)).unwrap();
    let limit = began.elapsed() / 6;
    client.batch_execute(&format!("set statement_timeout = '{}us'", limit.as_micros().max(1000))).unwrap();
    for number in 1..4 {
        let error = client.simple_query(&long_to_plan(number)).unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED), "after {limit:?}");
    }
    server.stop();
}

/// Nobody is at the other end.
struct Nobody;

impl sql::client::Client for Nobody {
    fn require(&mut self, _lsn: base::Lsn) {}
    fn row(&mut self, _row: &sql::client::OutgoingRow<'_>) -> base::Result<()> {
        Ok(())
    }
    fn notice(&mut self, _severity: sql::client::Severity, _notice: &base::Error) {}
    fn error(&mut self, _error: &base::Error) {}
    fn parameter_status(&mut self, _name: &str, _value: &str) {}
    fn notification(&mut self, _pid: i32, _channel: &str, _payload: &str) {}
    fn read_copy_data(&mut self) -> base::Result<Option<Vec<u8>>> {
        Ok(None)
    }
    fn relieve(&mut self) -> base::Result<()> {
        Ok(())
    }
}

// invariants: row 41
#[test]
fn a_session_in_a_program_of_its_own_can_be_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let database = cohort::Database::open(cohort::OpenOptions::new(folder.path())).unwrap();
    let instance = cohort::Instance::new(database);
    let request = cohort::ConnectRequest { user: "postgres".into(), database: "postgres".into(), ..Default::default() };
    let mut session = instance.connect(request).unwrap();
    let interrupt = session.interrupt();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        interrupt.raise(sync::InterruptKind::Cancel);
    });
    let error = session.simple_query("select count(*) from generate_series(1, 100000000000)", &mut Nobody).unwrap_err();
    assert_eq!(error.sqlstate().as_str(), "57014");
    canceller.join().unwrap();
    session.before_ready(&mut Nobody);
    let timed = "set statement_timeout = '50ms'; select sum(sqrt(i)) from generate_series(1, 100000000000) i";
    let error = session.simple_query(timed, &mut Nobody).unwrap_err();
    assert!(error.message().contains("statement timeout"), "{error:?}");
}
