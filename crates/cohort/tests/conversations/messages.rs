//! Messages that a client may send, and messages that it may not send.

use rand::Rng;
use rand::rngs::StdRng;

use super::common::conversation::Sent;
use super::{any, in_hundred};

/// Statements without parameters.
const STATEMENTS: &[&str] = &[
    "",
    ";",
    "-- nothing",
    "select 1",
    "select 1 as one, 'two' as two, null::text",
    "select",
    "select from t",
    "select from generate_series(1, 2)",
    "select * from t",
    "select i from t where i > 3 order by i",
    "select g from generate_series(1, 12) g",
    "select s, i from t where false",
    "select 1/(3 - g) from generate_series(1, 5) g",
    "select nothing",
    "select from nowhere",
    "selec 1",
    "select loud(i) from t where i < 3",
    "table t",
    "values (1, 'a'), (2, 'b')",
    "insert into t values (6, 'six')",
    "insert into t values (1, 'again')",
    "insert into t values (7), (8) returning i",
    "insert into u values (1, 'bad')",
    "insert into u select i, s from t",
    "update t set s = s || '!' where i < 3",
    "update t set s = 'u' where i = 4",
    "delete from t where i = 5",
    "delete from u",
    "begin",
    "begin isolation level serializable",
    "start transaction read only",
    "commit",
    "rollback",
    "end",
    "abort",
    "commit and chain",
    "rollback and chain",
    "savepoint s",
    "rollback to s",
    "release s",
    "declare c cursor for select i, s from t order by i",
    "declare c scroll cursor with hold for select i from t order by i",
    "declare c binary cursor for select i from t order by i",
    "declare d no scroll cursor for select g from generate_series(1, 4) g",
    "fetch c",
    "fetch 2 from c",
    "fetch all c",
    "fetch backward 1 from c",
    "move 1 in c",
    "fetch 2 from d",
    "fetch p",
    "fetch 2 from p",
    "move 1 in p",
    "close c",
    "close p",
    "close all",
    "set application_name to 'one'",
    "set local application_name to 'two'",
    "reset application_name",
    "set datestyle to 'SQL, DMY'",
    "set local datestyle to 'German'",
    "set timezone to 'Europe/Berlin'",
    "set local timezone to 'UTC'",
    "set intervalstyle to 'iso_8601'",
    "set local intervalstyle to 'postgres_verbose'",
    "set default_transaction_read_only to on",
    "set default_transaction_read_only to off",
    "set standard_conforming_strings to off",
    "reset standard_conforming_strings",
    "reset role",
    "reset session authorization",
    "set nonsense to 1",
    "reset all",
    "discard all",
    "discard plans",
    "show datestyle",
    "show application_name",
    "select set_config('application_name', 'three', true)",
    "select set_config('application_name', 'four', false)",
    "prepare q as select i from t where i < 4 order by i",
    "execute q",
    "deallocate q",
    "deallocate a",
    "deallocate all",
    "copy t to stdout",
    "copy (select i from t where i < 3 order by i) to stdout with (format binary)",
    "copy u from stdin",
    "copy u (a, b) from stdin with (delimiter E'\\t', format csv)",
    "copy u from stdin with (format binary)",
    "listen ch",
    "notify ch, 'hello'",
    "unlisten ch",
    "do $$ begin raise notice 'noted'; end $$",
    "do $$ begin raise warning 'warned' using hint = 'do not'; end $$",
    "do $$ begin raise exception 'excepted' using errcode = '12345'; end $$",
    "do $$ begin set local application_name to 'within'; end $$",
    "do $$ begin commit; end $$",
    "call committing()",
    "explain (costs off) select 1",
    "vacuum",
    "lock table t",
    "truncate u",
    "create temp table v (k int)",
    "create temp table if not exists t (k int)",
    "drop table if exists v",
    "drop table u",
    "select name, statement, is_holdable, is_binary, is_scrollable from pg_cursors order by name",
    "select name, statement, from_sql from pg_prepared_statements order by name",
    "set constraints all deferred",
    "checkpoint",
];

/// Statements with parameters, and how many.
const WITH_PARAMETERS: &[(&str, usize)] = &[
    ("select $1", 1),
    ("select $1::int", 1),
    ("select $1::int + $2", 2),
    ("select $1 as a, $2::text as b", 2),
    ("select i, s from t where i <= $1 order by i", 1),
    ("select g from generate_series(1, $1) g", 1),
    ("insert into t values ($1, $2)", 2),
    ("insert into t values ($1, $2) returning i", 2),
    ("update t set s = $2 where i = $1", 2),
    ("select $2::int", 2),
    ("select loud($1)", 1),
    ("select $1 is null", 1),
    ("select $1 = $2", 2),
    ("declare c cursor for select i from t where i > $1", 1),
    ("select length($1::text), $2::bytea", 2),
];

const STATEMENT_NAMES: &[&str] = &["", "", "a", "b"];
const PORTAL_NAMES: &[&str] = &["", "", "", "p", "c"];

/// A conversation of some dozen messages.
pub fn conversation(random: &mut StdRng) -> Vec<Sent> {
    let mut client = Client::default();
    let mut conversation = Vec::new();
    let length = random.random_range(1..30);
    while conversation.len() < length {
        client.say(random, &mut conversation);
    }
    conversation
}

/// Messages that are sent without waiting for answers. One in ten is damaged.
pub fn pipeline(random: &mut StdRng) -> Vec<Sent> {
    let (mut client, mut pipeline) = (Client::default(), Vec::new());
    let length = random.random_range(2..15);
    while pipeline.len() < length {
        if in_hundred(random, 10) {
            pipeline.push(damaged(random, &pipeline));
        } else {
            client.say(random, &mut pipeline);
        }
    }
    pipeline
}

/// The client's memory: some of its messages make sense because of it.
#[derive(Default)]
struct Client {
    /// How many parameters each statement has.
    statements: std::collections::HashMap<String, usize>,
}

impl Client {
    fn say(&mut self, random: &mut StdRng, said: &mut Vec<Sent>) {
        match random.random_range(0..100) {
            0..26 => said.push(Sent::query(&query(random))),
            26..44 => self.whole_statement(random, said),
            44..52 => said.push(self.parse(random)),
            52..60 => said.push(self.bind(random)),
            60..66 => said.push(describe(random)),
            66..74 => said.push(execute(random)),
            74..77 => said.push(close(random)),
            77..80 => said.push(Sent::new(b'H', [])),
            80..89 => said.push(Sent::new(b'S', [])),
            89..94 => said.push(copied(random)),
            94..95 => self.prepared_before_its_cursor(random, said),
            95..96 => said.push(function_call(random)),
            96..99 => said.push(damaged(random, said)),
            _ => said.push(Sent::new(b'X', [])),
        }
    }

    /// The messages of a driver: Parse to Sync, now and then with one of them left out.
    fn whole_statement(&mut self, random: &mut StdRng, said: &mut Vec<Sent>) {
        let (statement, portal) = (any(random, STATEMENT_NAMES), any(random, PORTAL_NAMES));
        if in_hundred(random, 90) {
            let (text, count) = text(random);
            self.statements.insert(statement.to_owned(), count);
            said.push(Sent::parse(statement, text, &types(random, count)));
        }
        if in_hundred(random, 20) {
            said.push(Sent::named(b'D', b'S', statement));
        }
        if in_hundred(random, 90) {
            said.push(self.bind_of(random, portal, statement));
        }
        if in_hundred(random, 60) {
            said.push(Sent::named(b'D', b'P', portal));
        }
        said.push(Sent::execute(portal, any(random, &[&0, &0, &0, &1, &2, &-1]).to_owned()));
        if in_hundred(random, 20) {
            said.push(Sent::execute(portal, any(random, &[&0, &1, &3]).to_owned()));
        }
        if in_hundred(random, 80) {
            said.push(Sent::new(b'S', []));
        }
    }

    /// A FETCH or MOVE that is parsed before there is its cursor, and run when there is one.
    fn prepared_before_its_cursor(&mut self, random: &mut StdRng, said: &mut Vec<Sent>) {
        let text: &str = any(random, &["fetch 2 from c", "fetch all c", "fetch backward 1 from c", "move 1 in c"]);
        let declared: &str = any(
            random,
            &[
                "declare c scroll cursor for select i, s from t order by i",
                "declare c binary cursor for select i from t order by i",
                "declare c scroll cursor with hold for select 'x' as other",
            ],
        );
        self.statements.insert("a".to_owned(), 0);
        said.extend([Sent::query("rollback"), Sent::query("close all"), Sent::query("begin")]);
        said.extend([Sent::new(b'C', *b"Sa\0"), Sent::parse("a", text, &[])]);
        if in_hundred(random, 50) {
            said.push(Sent::named(b'D', b'S', "a"));
        }
        if in_hundred(random, 50) {
            said.push(Sent::new(b'S', []));
            said.push(Sent::query(declared));
        } else {
            said.extend([Sent::parse("", declared, &[]), Sent::bind("", "", &[], &[], &[]), Sent::execute("", 0)]);
        }
        if in_hundred(random, 50) {
            said.push(Sent::named(b'D', b'S', "a"));
        }
        said.extend([Sent::bind("", "a", &[], &[], &[]), Sent::named(b'D', b'P', ""), Sent::execute("", 0)]);
        said.push(Sent::new(b'S', []));
    }

    fn parse(&mut self, random: &mut StdRng) -> Sent {
        let name = any(random, STATEMENT_NAMES);
        let (text, count) = text(random);
        self.statements.insert(name.to_owned(), count);
        Sent::parse(name, text, &types(random, count))
    }

    fn bind(&mut self, random: &mut StdRng) -> Sent {
        let (portal, statement) = (any(random, PORTAL_NAMES), any(random, STATEMENT_NAMES));
        self.bind_of(random, portal, statement)
    }

    fn bind_of(&self, random: &mut StdRng, portal: &str, statement: &str) -> Sent {
        let count = match self.statements.get(statement) {
            Some(count) if in_hundred(random, 95) => *count,
            _ => random.random_range(0..3),
        };
        let values: Vec<Option<&[u8]>> = (0..count).map(|_| value(random)).collect();
        let formats: &[u16] = match random.random_range(0..20) {
            0..14 => &[],
            14..16 => &[1],
            16..18 => &[0],
            18 => &[0, 1],
            _ => &[2],
        };
        let results: &[u16] = match random.random_range(0..20) {
            0..12 => &[],
            12..16 => &[1],
            16..18 => &[0],
            _ => &[1, 0],
        };
        Sent::bind(portal, statement, formats, &values, results)
    }
}

/// A query string: mostly of one statement.
fn query(random: &mut StdRng) -> String {
    let mut text = any(random, STATEMENTS).to_owned();
    while in_hundred(random, 20) {
        text.push_str("; ");
        text.push_str(any(random, STATEMENTS));
    }
    text
}

/// A text for Parse, and how many parameters it has.
fn text(random: &mut StdRng) -> (&'static str, usize) {
    if in_hundred(random, 3) {
        return ("select 1; select 2", 0);
    }
    if in_hundred(random, 30) {
        return WITH_PARAMETERS[random.random_range(0..WITH_PARAMETERS.len())];
    }
    (any(random, STATEMENTS), 0)
}

fn types(random: &mut StdRng, count: usize) -> Vec<u32> {
    if in_hundred(random, 80) {
        return Vec::new();
    }
    let count = if in_hundred(random, 90) { count } else { random.random_range(0..3) };
    (0..count).map(|_| *any(random, &[&0, &23, &25, &705, &20, &17])).collect()
}

fn value(random: &mut StdRng) -> Option<&'static [u8]> {
    match random.random_range(0..12) {
        0..5 => Some(b"3"),
        5 => None,
        6 => Some(b"0"),
        7 => Some(b""),
        8 => Some(b"some text"),
        9 => Some(&[0, 0, 0, 2]),
        10 => Some(b"bad \xff"),
        _ => Some(b"99999999999"),
    }
}

fn describe(random: &mut StdRng) -> Sent {
    match in_hundred(random, 50) {
        true => Sent::named(b'D', b'S', any(random, STATEMENT_NAMES)),
        false => Sent::named(b'D', b'P', any(random, PORTAL_NAMES)),
    }
}

fn execute(random: &mut StdRng) -> Sent {
    Sent::execute(any(random, PORTAL_NAMES), *any(random, &[&0, &0, &1, &2, &100, &-1]))
}

fn close(random: &mut StdRng) -> Sent {
    match in_hundred(random, 50) {
        true => Sent::named(b'C', b'S', any(random, STATEMENT_NAMES)),
        false => Sent::named(b'C', b'P', any(random, PORTAL_NAMES)),
    }
}

/// A message that belongs to COPY, whether a COPY is under way or not.
fn copied(random: &mut StdRng) -> Sent {
    match random.random_range(0..8) {
        0..3 => Sent::new(b'd', *b"10\tten\n11\televen\n"),
        3 => Sent::new(b'd', *b"12\tx\n"),
        4 => Sent::new(b'd', *b"13\tthir"),
        5 => Sent::new(b'f', *b"given up\0"),
        _ => Sent::new(b'c', []),
    }
}

/// Of a function that there is not.
fn function_call(random: &mut StdRng) -> Sent {
    let oid: u32 = *any(random, &[&1, &16384]);
    let mut body = oid.to_be_bytes().to_vec();
    body.extend_from_slice(&[0, 0, 0, 2, 0, 0, 0, 1, b'1', 0, 0, 0, 1, b'2', 0, 0]);
    if in_hundred(random, 20) {
        body.pop();
    }
    Sent::new(b'F', body)
}

/// A message that no client sends.
fn damaged(random: &mut StdRng, said: &[Sent]) -> Sent {
    let kinds = b"BCDEFHPQSXcdfp";
    match random.random_range(0..10) {
        // Of a type that there is not.
        0 => Sent::new(*any(random, &[&b'?', &0, &b'p', &b'v', &b'Z', &255]), *b"what"),
        // With a length that can't be.
        1 => {
            let kind = kinds[random.random_range(0..kinds.len())];
            let length = *any(random, &[&0, &3, &u32::MAX, &0x7fff_ffff, &0x4000_0000]);
            Sent { kind, body: Vec::new(), length: Some(length) }
        }
        // Longer than messages of its type are.
        2 => Sent::new(*any(random, &[&b'C', &b'D', &b'E', &b'H', &b'S', &b'X', &b'c', &b'f']), vec![b'a'; 10_000]),
        3 => Sent::new(*any(random, &[&b'S', &b'H', &b'X', &b'c']), *b"body"),
        4 => Sent::new(*any(random, &[&b'Q', &b'P', &b'B', &b'D', &b'E', &b'C', &b'F', &b'f']), []),
        5 => Sent::new(b'Q', *b"select 1"),
        6 => Sent::new(b'Q', *b"select '\xff\xfe'\0"),
        // One that was right, cut off.
        7 | 8 => match said.last() {
            Some(last) if !last.body.is_empty() => {
                let end = random.random_range(0..last.body.len());
                Sent::new(last.kind, &last.body[..end])
            }
            _ => Sent::new(b'D', *b"Xnone\0"),
        },
        // One that was right, with something behind.
        _ => match said.last() {
            Some(last) => Sent::new(last.kind, [&last.body[..], b"more\0"].concat()),
            None => Sent::new(b'E', *b"\0\0\0"),
        },
    }
}
