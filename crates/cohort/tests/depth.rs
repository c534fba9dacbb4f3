//! Statements nested deep and chains that are long: what PostgreSQL takes, with its stack of 2 MB, Cohort takes too, and what is
//! beyond it is refused with an error. No session is lost over it.

mod common;

use std::fmt::Write as _;

use common::Server;
use common::reference::{Reference, server_binaries};
use postgres::{Client, NoTls, SimpleQueryMessage};

/// Makes a query of a construct that is nested or repeated so many times.
type Shape = fn(usize) -> String;

/// A construct, its query, and how often PostgreSQL takes it: the sizes to try are below and above.
const SHAPES: &[(&str, Shape, &[usize])] = &[
    ("parentheses", |n| format!("select {}1{}", "(".repeat(n), ")".repeat(n)), &[100, 1000, 5000, 10_000]),
    ("sum", |n| format!("select {}", vec!["1"; n].join("+")), &[400, 1000, 3000, 10_000]),
    ("sum of columns", |n| format!("select {} {ONE}", vec!["a"; n].join("+")), &[400, 1000, 3000, 10_000]),
    ("concatenation", |n| format!("select {}", vec!["'a'"; n].join("||")), &[400, 3000, 10_000]),
    ("differences to the right", |n| nested(n, "select ", "1-(", "1", ")"), &[400, 3000, 10_000]),
    ("and", |n| format!("select {} {ONE}", vec!["a=1"; n].join(" and ")), &[1000, 10_000]),
    ("or", |n| format!("select {} {ONE}", vec!["a=1"; n].join(" or ")), &[1000, 10_000]),
    ("and within or", |n| nested(n / 2, "select ", "(a=1 and (a=1 or ", "true", "))") + ONE, &[400, 3000]),
    ("not", |n| format!("select {}true", "not ".repeat(n)), &[400, 2000]),
    ("minus", |n| format!("select {}a {ONE}", "- ".repeat(n)), &[400, 3000, 10_000]),
    ("case in a result", |n| nested(n, "select ", "case when a=1 then ", "1", " else 0 end") + ONE, &[200, 1000, 5000]),
    ("case in else", |n| nested(n, "select ", "case when a=2 then 1 else ", "1", " end") + ONE, &[200, 2000, 5000]),
    ("function calls", |n| nested(n, "select ", "abs(", "a", ")") + ONE, &[400, 3000]),
    ("coalesce", |n| nested(n, "select ", "coalesce(null, ", "a", ")") + ONE, &[400, 2000]),
    ("casts", |n| format!("select a{} {ONE}", "::int8::int4".repeat(n / 2)), &[400, 2000, 10_000]),
    (
        "is not distinct from",
        |n| nested(n, "select a ", " is not distinct from (a is null", "", ")") + ONE,
        &[100, 1000],
    ),
    ("subscripts", |n| nested(n, "select ", "(array[", "1", "])[1]"), &[100, 500]),
    (
        "subqueries in from",
        |n| nested(n, "select * from ", "(select * from ", "(values (1)) t(a)", ") s"),
        &[200, 500, 5000],
    ),
    ("scalar subqueries", |n| nested(n, "select ", "(select ", "1", ")"), &[200, 1000, 5000]),
    ("exists", |n| nested(n, "select 1 where ", "exists (select 1 where ", "true", ")"), &[200, 500, 5000]),
    ("in a subquery", |n| nested(n, "select 1 where ", "1 in (select 1 where ", "true", ")"), &[200, 500, 5000]),
    (
        "with within with",
        |n| nested(n, "select * from ", "(with c as (select * from ", "(values (1)) t(a)", ") select * from c) s"),
        &[100, 300],
    ),
    ("chain of with", chain_of_with, &[100, 200]),
    ("union all", |n| vec!["select 1"; n].join(" union all "), &[500, 3000, 20_000]),
    ("union", |n| vec!["select 1"; n].join(" union "), &[500, 3000, 20_000]),
    ("intersect", |n| vec!["select 1"; n].join(" intersect "), &[500, 2000, 20_000]),
    ("except", |n| vec!["select 1"; n].join(" except "), &[500, 2000, 20_000]),
    ("union to the right", |n| nested(n, "select 1", " union all (select 1", "", ")"), &[500, 2000]),
    ("in a list", |n| format!("select 1 {ONE} where a in ({})", terms(n)), &[1000, 5000]),
    ("values", |n| format!("values {}", vec!["(1)"; n].join(",")), &[1000, 10_000]),
    ("joins", joins, &[50, 100]),
    ("json", |n| nested(n, "select '", "[", "", "]") + "'::json::text", &[1000, 100_000]),
    ("jsonb", |n| nested(n, "select '", "{\"a\":", "1", "}") + "'::jsonb::text", &[1000, 100_000]),
    ("arrows", |n| format!("select ('{{}}'::jsonb{})::text", "->'a'".repeat(n)), &[400, 3000]),
];

const ONE: &str = " from (values (1)) t(a)";

fn nested(n: usize, start: &str, open: &str, core: &str, close: &str) -> String {
    format!("{start}{}{core}{}", open.repeat(n), close.repeat(n))
}

fn terms(n: usize) -> String {
    (0..n).map(|number| format!("a+{number}")).collect::<Vec<_>>().join(",")
}

fn chain_of_with(n: usize) -> String {
    let mut text = "with c0 as (select 1 as a)".to_owned();
    for number in 0..n {
        write!(text, ", c{} as (select a from c{number})", number + 1).unwrap();
    }
    write!(text, " select * from c{n}").unwrap();
    text
}

fn joins(n: usize) -> String {
    let mut text = "select count(*) from (values (1)) t0(a)".to_owned();
    for number in 1..=n {
        write!(text, " left join (values (1)) t{number}(a) on t{number}.a = t{}.a", number - 1).unwrap();
    }
    text
}

/// Where a query stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Context {
    Simple,
    Extended,
    Prepare,
    Explain,
    View,
    SqlFunction,
    PlpgsqlFunction,
    Cursor,
    Copy,
    CreateTable,
}

impl Context {
    /// The statements that make it and use it; of queries only the rows are compared.
    fn statements(self, query: &str) -> Vec<String> {
        let all = match self {
            Context::Simple | Context::Extended => return vec![query.to_owned()],
            Context::Prepare => [format!("prepare p as {query}"), "execute p".to_owned(), "deallocate p".to_owned()],
            Context::Explain => [format!("explain (costs off) {query}"), String::new(), String::new()],
            Context::View => {
                [format!("create view v(x) as {query}"), "select * from v".to_owned(), "drop view v".to_owned()]
            }
            Context::SqlFunction => [
                format!("create function f() returns text language sql as $$ select x::text from ({query}) q(x) $$"),
                "select f()".to_owned(),
                "drop function f()".to_owned(),
            ],
            Context::PlpgsqlFunction => [
                format!(
                    "create function f() returns text language plpgsql as $$ begin return (select min(x::text) from ({query}) q(x)); end $$"
                ),
                "select f()".to_owned(),
                "drop function f()".to_owned(),
            ],
            Context::Cursor => {
                [format!("declare c cursor with hold for {query}"), "fetch all c".to_owned(), "close c".to_owned()]
            }
            Context::Copy => [format!("copy ({query}) to '/dev/null'"), String::new(), String::new()],
            Context::CreateTable => {
                [format!("create table made(x) as {query}"), "table made".to_owned(), "drop table made".to_owned()]
            }
        };
        all.into_iter().filter(|text| !text.is_empty()).collect()
    }
}

/// Rows, or a SQLSTATE.
fn run(client: &mut Client, context: Context, statement: &str) -> Result<String, String> {
    let code = |error: postgres::Error| match error.as_db_error() {
        Some(error) => error.code().code().to_owned(),
        None => format!("the session is lost: {error}"),
    };
    if context == Context::Extended {
        let rows = client.query(statement, &[]).map_err(code)?;
        return Ok(format!("{} rows", rows.len()));
    }
    let messages = client.simple_query(statement).map_err(code)?;
    if context == Context::Explain {
        return Ok(String::new());
    }
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|column| row.get(column).unwrap_or("NULL")).collect::<Vec<_>>().join("|"))
        }
        _ => None,
    });
    Ok(rows.collect::<Vec<_>>().join("\n"))
}

/// The answers of both servers to a query in a context.
fn answers(client: &mut Client, context: Context, query: &str) -> Result<String, String> {
    let mut last = Ok(String::new());
    for (number, statement) in context.statements(query).iter().enumerate() {
        let answer = run(client, context, statement);
        match number {
            0 if answer.is_err() => return answer,
            0 | 1 => last = answer,
            _ => {
                answer?;
            }
        }
    }
    last
}

/// Codes of what is too deep, too long or too large.
fn is_refusal(code: &str) -> bool {
    matches!(code, "54001" | "54000" | "54023" | "42601" | "53200" | "22P02" | "54011")
}

struct Servers {
    server: Server,
    reference: Reference,
    _folder: tempfile::TempDir,
}

fn servers() -> Option<Servers> {
    let reference = Reference::start(&server_binaries()?);
    let folder = tempfile::tempdir().unwrap();
    Some(Servers { server: Server::start(folder.path(), &[]), reference, _folder: folder })
}

/// Compares what both answer; every session survives.
fn compare(servers: &Servers, contexts: &[Context], sizes: impl Fn(&[usize]) -> Vec<usize>) {
    let connect = |url: &str| Client::connect(url, NoTls).unwrap();
    let (mut ours, mut theirs) = (connect(&servers.server.url()), connect(&servers.reference.url()));
    let mut differences = String::new();
    for (name, shape, all) in SHAPES {
        for size in sizes(all) {
            let query = shape(size);
            for context in contexts {
                let our_answer = answers(&mut ours, *context, &query);
                let their_answer = answers(&mut theirs, *context, &query);
                let is_right = match (&our_answer, &their_answer) {
                    (Ok(ours), Ok(theirs)) => ours == theirs,
                    (Ok(_), Err(_)) => true,
                    (Err(ours), Err(theirs)) => ours == theirs || is_refusal(ours),
                    (Err(_), Ok(_)) => false,
                };
                if !is_right {
                    let short =
                        |answer: &Result<String, String>| format!("{answer:?}").chars().take(100).collect::<String>();
                    writeln!(
                        differences,
                        "{name} x {size}, {context:?}: {} instead of {}",
                        short(&our_answer),
                        short(&their_answer)
                    )
                    .unwrap();
                }
                if ours.is_closed() {
                    ours = connect(&servers.server.url());
                }
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
    assert!(!servers.server.log().contains("panicked"), "{}", servers.server.log());
}

#[test]
fn what_postgresql_takes_is_taken() {
    let Some(servers) = servers() else { return };
    compare(&servers, &[Context::Simple, Context::Extended], <[usize]>::to_vec);
}

#[test]
fn what_is_nested_is_taken_wherever_it_stands() {
    let Some(servers) = servers() else { return };
    let contexts = [
        Context::Prepare,
        Context::Explain,
        Context::View,
        Context::SqlFunction,
        Context::PlpgsqlFunction,
        Context::Cursor,
        Context::Copy,
        Context::CreateTable,
    ];
    compare(&servers, &contexts, |sizes| vec![sizes[0]]);
}

/// Definitions that lead to others, and functions that call themselves.
#[test]
fn chains_of_views_domains_functions_and_triggers_are_followed() {
    let Some(servers) = servers() else { return };
    let mut setup =
        vec!["create view v0 as select 1 as a".to_owned(), "create domain d0 as int check (value > 0)".to_owned()];
    for number in 1..=250 {
        setup.push(format!("create view v{number} as select a from v{}", number - 1));
        if number <= 100 {
            setup.push(format!("create domain d{number} as d{} check (value > 0)", number - 1));
        }
    }
    setup.extend(
        [
            "create function fp(n int) returns int language plpgsql as 'begin if n = 0 then return 0; end if; return fp(n-1)+1; end'",
            "create function fs(n int) returns int language sql volatile as 'select case when n = 0 then 0 else fs(n-1)+1 end'",
            "create function fd(n int) returns int language plpgsql as \
             'declare r int; begin if n = 0 then return 0; end if; execute ''select fd($1)+1'' into r using n-1; return r; end'",
            "create table tr(n int)",
            "create function ftr() returns trigger language plpgsql as \
             'begin if new.n > 0 then insert into tr values (new.n-1); end if; return new; end'",
            "create trigger a before insert on tr for each row execute function ftr()",
            "create function forever(n int) returns int language plpgsql as 'begin return forever(n+1); end'",
        ]
        .map(str::to_owned),
    );
    let connect = |url: &str| Client::connect(url, NoTls).unwrap();
    let (mut ours, mut theirs) = (connect(&servers.server.url()), connect(&servers.reference.url()));
    for text in &setup {
        ours.batch_execute(text).unwrap();
        theirs.batch_execute(text).unwrap();
    }
    let uses = [
        "select a from v100",
        "select a from v250",
        "select a from v250 x where a = 1",
        "create view again as select * from v250",
        "alter view v0 rename to renamed",
        "alter view renamed rename column a to b",
        "select b from renamed",
        "drop view renamed",
        "select 1::d100",
        "select fp(500)",
        "select fs(500)",
        "select fs(1000)",
        "select fs(5000)",
        "select fd(500)",
        "insert into tr values (500)",
        "select count(*) from tr",
        "select forever(1)",
        "select 1 + forever(1)",
        "select fp(100000)",
        "select count(*) from tr",
    ];
    let mut differences = String::new();
    for text in uses {
        let (our_answer, their_answer) =
            (run(&mut ours, Context::Simple, text), run(&mut theirs, Context::Simple, text));
        if our_answer != their_answer {
            writeln!(differences, "{text}: {our_answer:?} instead of {their_answer:?}").unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// The touched memory of stacks goes back to the system.
#[test]
fn deep_statements_of_many_sessions_leave_no_memory_behind() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let resident_kb = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let text = format!("select {}", vec!["1"; 3000].join("+"));
    let mut clients: Vec<Client> = (0..20).map(|_| server.connect()).collect();
    clients[0].simple_query(&text).unwrap();
    clients[1].simple_query(&text).unwrap();
    let before = resident_kb();
    for client in &mut clients {
        client.simple_query(&text).unwrap();
    }
    let after = resident_kb();
    assert!(after < before + (100 << 10), "{after} kB resident, {before} before");
}

/// Wrappers of a number that give a number again.
const WRAPPERS: [(&str, &str); 22] = [
    ("(", " + 1)"),
    ("(1 - ", ")"),
    ("abs(", ")"),
    ("(- ", ")"),
    ("coalesce(null, ", ")"),
    ("case when ", " > 0 then 1 else 2 end"),
    ("case ", " when 1 then 2 else 3 end"),
    ("case when a = 1 then ", " else 0 end"),
    ("case when a = 2 then 0 else ", " end"),
    ("(select ", ")"),
    ("(select max(x) from (select ", " as x) s)"),
    ("(select x from (values (", ")) v(x))"),
    ("(with c as (select ", " as x) select x from c)"),
    ("(select ", " union all select 7 limit 1)"),
    ("(select 7 intersect select ", ")"),
    ("(select count(*)::int from (select 1 where exists (select 1 where ", " = 1)) s)"),
    ("(select count(*)::int where 1 in (select ", "))"),
    ("greatest(", ", 1)"),
    ("nullif(", ", 5)"),
    ("(array[", ", 2])[1]"),
    ("((", ")::bigint::int)"),
    ("case when ", " is null then 1 else a end"),
];

/// A number within wrappers that `seed` chooses.
fn mixture(seed: u64, depth: usize) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let (mut before, mut after) = (Vec::new(), Vec::new());
    // A few kinds in each, so that some are nested in themselves for long.
    let kinds = 1 + (seed as usize % 5);
    for _ in 0..depth {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let kind = (seed as usize * 7 + (state as usize % kinds) * 5) % WRAPPERS.len();
        before.push(WRAPPERS[kind].0);
        after.push(WRAPPERS[kind].1);
    }
    after.reverse();
    format!("select {}a{} from (values (1)) t(a)", before.concat(), after.concat())
}

/// Constructs within each other, as deep as PostgreSQL takes them and deeper: the same answer, or 54001. `COHORT_DEPTH_SEEDS=500`
/// tries more mixtures, `COHORT_DEPTH_FROM=17` begins with another one.
#[test]
fn mixtures_of_constructs_are_answered_or_refused() {
    let Some(servers) = servers() else { return };
    let number = |name: &str, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (from, seeds) = (number("COHORT_DEPTH_FROM", 0), number("COHORT_DEPTH_SEEDS", 12));
    let limit = "set statement_timeout = '20s'; set jit = off; set max_parallel_workers_per_gather = 0";
    let connect = |url: &str| {
        let mut client = Client::connect(url, NoTls).unwrap();
        client.batch_execute(limit).unwrap();
        client
    };
    let (mut ours, mut theirs) = (connect(&servers.server.url()), connect(&servers.reference.url()));
    let contexts = [Context::Simple, Context::Prepare, Context::Explain, Context::View, Context::PlpgsqlFunction];
    let mut differences = String::new();
    for seed in from..from + seeds {
        for depth in [20, 100, 400, 1500, 4000] {
            let (query, context) = (mixture(seed, depth), contexts[seed as usize % contexts.len()]);
            let our_answer = answers(&mut ours, context, &query);
            let their_answer = answers(&mut theirs, context, &query);
            let is_right = match (&our_answer, &their_answer) {
                (Ok(ours), Ok(theirs)) => ours == theirs,
                (Ok(_), Err(code)) => is_refusal(code) || code == "57014",
                // A stored definition may be nested less deep than a statement.
                (Err(code), Ok(_)) => code == "54001" && depth > 100,
                (Err(ours), Err(theirs)) => ours == theirs || is_refusal(ours),
            };
            if !is_right {
                let short =
                    |answer: &Result<String, String>| format!("{answer:?}").chars().take(100).collect::<String>();
                let (found, expected) = (short(&our_answer), short(&their_answer));
                writeln!(differences, "seed {seed}, depth {depth}, {context:?}: {found} instead of {expected}")
                    .unwrap();
                for client in [&mut ours, &mut theirs] {
                    if !client.is_closed() {
                        let _ =
                            client.batch_execute("deallocate all; drop view if exists v; drop function if exists f()");
                    }
                }
            }
            for (client, url) in [(&mut ours, servers.server.url()), (&mut theirs, servers.reference.url())] {
                if client.is_closed() {
                    *client = connect(&url);
                }
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
    assert!(!servers.server.log().contains("panicked"), "{}", servers.server.log());
}

/// How many of them are parsed at a time is tested beside the parser's threads.
#[test]
fn large_texts_of_many_sessions_are_answered_and_so_are_short_ones_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    let text = format!("select {}", vec!["'abcdefghij'"; 20_000].join(","));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = server.connect();
                for _ in 0..3 {
                    // More columns than a row may have: it has been parsed by then.
                    assert_eq!(client.simple_query(&text).unwrap_err().as_db_error().unwrap().code().code(), "54011");
                }
            });
        }
        let mut client = server.connect();
        for _ in 0..50 {
            client.simple_query("select 1").unwrap();
        }
    });
}
