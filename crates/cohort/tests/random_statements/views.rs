//! Views against their own texts: a view that is made again from what `pg_get_viewdef` shows has the same rows, whatever was renamed
//! or added meanwhile. And beside a real PostgreSQL: rows and texts are the same after each change.

use std::sync::atomic::{AtomicU64, Ordering};

use super::answers::Answer;
use super::choices::Choices;
use super::common::wire::Session;
use super::generator::Generator;
use super::schema::{Schema, Table};

/// The type and the functions that the views of this page read beside the tables.
const HELPERS: &[&str] = &[
    "set search_path to r",
    "drop view if exists made, again cascade",
    "drop type if exists pair_of_int cascade",
    "create type pair_of_int as (x int4, y int4)",
    "drop function if exists of_t0(int4) cascade",
    "drop function if exists first_of(t0) cascade",
    "create function of_t0(n int4) returns setof t0 language sql stable as 'select * from r.t0 where id <= n'",
    "create function first_of(t0) returns int4 language sql immutable as 'select $1.id * 10'",
];

/// Objects that hide built-in ones where their schema comes first: under this path a text that names a built-in one needs its schema.
const HIDING_PATH: &str = "hiding, pg_catalog, r";
const HIDING: &[&str] = &[
    "create schema hiding",
    "create type hiding.text as enum ('a', 'b')",
    "create type hiding.date as (a pg_catalog.date)",
    "create domain hiding.int4 as pg_catalog.int4 check (value < 0)",
    "create domain hiding.jsonb as pg_catalog.int8",
    "create table hiding.numeric (a pg_catalog.int4)",
    "create table hiding.pg_class (oid pg_catalog.int4)",
    "create table hiding.uuid (a pg_catalog.int4)",
    "create function hiding.lower(pg_catalog.text) returns pg_catalog.text language sql as $$ select 'hidden'::pg_catalog.text $$",
    "create function hiding.upper(pg_catalog.text) returns pg_catalog.int4 language sql as 'select 1'",
    "create function hiding.length(pg_catalog.text) returns pg_catalog.text language sql as $$ select 'x'::pg_catalog.text $$",
    "create function hiding.abs(pg_catalog.int4) returns pg_catalog.int4 language sql as 'select -7'",
    "create function hiding.count() returns pg_catalog.int4 language sql as 'select -7'",
    "create function hiding.max(pg_catalog.int4) returns pg_catalog.int4 language sql as 'select -7'",
    "create function hiding.sum(pg_catalog.int4) returns pg_catalog.int4 language sql as 'select -7'",
    "create function hiding.row_number() returns pg_catalog.int4 language sql as 'select -7'",
    "create function hiding.row_to_json(pg_catalog.anyelement) returns pg_catalog.int4 language sql as 'select -7'",
    "create function hiding.generate_series(pg_catalog.int4, pg_catalog.int4) returns setof pg_catalog.int4 language sql as 'select -7'",
    "create function hiding.pg_typeof(pg_catalog.anyelement) returns pg_catalog.int4 language sql as 'select -7'",
];

/// Functions of the random schemas: their bodies mean what the caller's search path says.
const WITH_BODIES: &[&str] =
    &["twice(", "is_even(", "shout(", "hashed(", "counted(", "walked(", "ids(", "rows_of(", "of_t0", "first_of"];

/// Queries with what only a view's text has to keep apart. `T` and `U` stand for tables, `C` for a column of `T`. In those of the second
/// list a table's whole row is read, which grows with the table.
const FORMS: &[&str] = &[
    "select * from T",
    "select x.* from (select * from T) x",
    "select x.* from (select * from T) x where x.id in (select id from U)",
    "select j.* from (T a join U b on a.id = b.id) j (i1, i2)",
    "select j.i1, j.id from (T a join U b on a.id = b.id) j (i1)",
    "select a.id, a.C, b.id as other from T a join U b using (id)",
    "select a.id, b.* from T a join U b using (id)",
    "select id, a.C from T a full join U b using (id)",
    "select id, a.C, d.id as last from (T a full join U b using (id)) full join U d using (id)",
    "select x.id, c.id as other from (T a left join U b using (id)) x, U c where x.id = c.id",
    "select x.id from T a join U b using (id) as x",
    "select a.id, a.C from T a where exists (select * from U b where b.id = a.id)",
    "select a.id from T a where (a.id, a.C is null) in (select b.id, b.C is null from T b)",
    "select a.id from T a where a.id = (select max(z.id) from (select * from U) z where z.id <= a.id)",
    "with recursive r as (select * from T where id < 3 union all select r.* from r where r.id < 0) select * from r",
    "with recursive r as (select id, C from T union select r.id + 100, r.C from r where r.id < 90) select x.id, x.C from r x",
    "with recursive r (n, k) as (select id, C from T union select n + 100, k from r where n < 90) select * from r",
    "with q as (select * from T) select q.id, s.C from q join (select * from q) s using (id)",
    "with T as (select 2 as id) select x.id, y.id as other, y.C from T x, r.T y",
    "with q as (select * from T), T as (select * from q where id > 1) select T.* from T",
    "select f.* from of_t0(4) f",
    "select f.id as k from of_t0(4) f (a, b)",
    "select a.id as k, f.* from U a, lateral of_t0(a.id) f",
    "select f.*, o from rows from (of_t0(3), generate_series(1, 2)) with ordinality f (a)",
    "select (of_t0(3)).*",
    "select id, (of_t0(2)).id as k from T",
    "select T.first_of from t0 T",
    "select T.id from T where T.id in (select x.first_of / 10 from t0 x)",
    "select (select row_to_json(z) from (select * from T where id = 1) z) as k",
    "select row_to_json(x)::text as k from (select id, C from T) x",
    "select row_to_json(x)::text as k from (select a.id, b.C from T a join T b using (id)) x",
    "select tableoid::regclass = 'T'::regclass as k, id from T",
    "select pg_typeof(tableoid::regclass)::text as k, pg_typeof(ctid)::text as l, id from T",
    "select 'first_of'::regproc::oid is not null as k, 'of_t0(int4)'::regprocedure = 'of_t0'::regproc::regprocedure as l",
    "select 'T'::regclass::oid = 't0'::regclass as k, 'mood'::regtype::text as l",
    "select id, sum(id) over w as s, count(*) over (w rows 1 preceding) as n from T window w as (order by id)",
    "select id, sum(id) over (partition by id % 2 order by id rows between 1 preceding and current row) as s from T",
    "select a.id, l.* from T a left join lateral (select b.id + 1 as id2, b.C from T b where b.id = a.id) l on true",
    "select * from T union all select * from T",
    "select id, C from T except all select id, C from T where id > 2 order by id",
    "(select id, C from T order by id limit 2) union all (select id, C from T order by id desc limit 1)",
    "select id, count(*) as n from T group by id having count(*) > 0 order by id",
    "select distinct on (id) id, C from T order by id, C is null",
    "select id as C, C as id from T order by 1",
    "select id as x, id + 1 as id from T order by id",
    "select id % 2 as C, count(*) as n from T group by id % 2",
    "select * from (values (1, 'a'), (2, 'b')) v",
    "select * from (values (1, 'a'), (2, 'b')) v (n)",
    "values (1, 'a'), (2, null)",
    "select T.id from T where exists (select 1 from (select * from U) T where T.id > 1)",
    "select T.id, (select max(T.id) from U T) as k from T",
    "select a.id, a.C from T a order by a.C is null, a.id for update of a",
    "select case when id > 2 then C end as k, coalesce(C, C) as l from T",
    "select (row(id, id + 1)::pair_of_int).x as k, (array[id, 2])[1] as l from T",
    "select * from T natural join (select id from U) b",
    "select a.id, b.o from T a cross join unnest(array[1, 2]) with ordinality as b (n, o)",
    "select trim(a.id::text) as k, a.C from T a order by trim(a.id::text), a.C is null",
    "select a.*, substring(id::text from 1 for 1) as p from T a order by substring(id::text from 1 for 1), id",
    "select T.*, substring(id::text from 1 for 1) as p, overlay(id::text placing 'x' from 1) as q, count(*) as n from T group by T.id, p, q",
    "select distinct on (p) *, position('1' in id::text) as p, substring(id::text from 2) as q from T order by p, id",
    "select id::text collate \"C\" as k from T order by id::text collate \"C\"",
    "select id from T order by id using >, C is null",
    "select id from T order by id fetch first (select min(z.id) from T z) rows with ties",
    "select x.k from (values ((select min(z.id)::text from T z) collate \"C\")) x (k)",
    "with recursive r as (select * from T where id = 1 union all select t.* from T t join r on t.id = r.id + 1) search depth first by id set o \
     select id, C from r order by o",
    "with recursive r as (select id, C from T where id = 1 union all select t.id, t.C from T t join r on t.id = r.id + 1) \
     cycle id set c to 'y' default 'n' using p select r.id, c from r",
    "select j.a, j.b from json_to_recordset('[{\"a\": 1, \"b\": \"x\"}]') as j (a int4, b text)",
    "select trim(both (select '1') from (select max(z.id)::text from T z)) as k",
    "select (select 3) between symmetric (select max(id) from T) and (select min(id) from U) as k",
    "select (select min(id) from T) between 0 and (select max(id) from U) as k, timestamptz 'epoch' at time zone (select 'UTC') as l",
    "select (select max(id) from T) = all (select id from U) or trim('a') = 'a' and exists (select from U) as k",
    "select (array[id, 2, 3])[:2] as k, (array[id, 2])[2:] as l from T",
    "select * from rows from (ids(2), generate_series(1, 3))",
    "select row(T.id, 1) = (select U.id, 1 from U order by U.id limit 1) as k, T.id from T",
];

/// See [`FORMS`].
const ROW_FORMS: &[&str] = &[
    "select T from T",
    "select x.id, x.T from (select id, T from T) x",
    "select T::text as k from T where T is not null",
    "select (T).id as k, (T.*).C as l from T",
    "select a as k from T a where a = a and a.* is not distinct from a",
    "select count(a) as n, count(distinct a.id) as m from T a",
    "select f from of_t0(3) f",
    "select row(a.*)::text as k, row(a.id, a.*)::text as l from T a",
    "select first_of(t0) as k from t0",
    "select x::text as k from (select * from T) x",
    "select q.r::text as k from (select a as r from T a) q",
    "select a.id, b as k from T a left join T b on b.id = a.id + 1",
    "select array_agg(a order by a.id)::text as k from T a",
];

/// Names for what is renamed: new ones, and such that queries use for something else.
const NAMES: &[&str] = &["fresh", "a", "b", "x", "j", "f", "q", "z", "w", "id2", "k", "n", "r", "user"];

/// How many views were to be made, and how many were. Not every query can be a view.
static TRIED: AtomicU64 = AtomicU64::new(0);
static MADE: AtomicU64 = AtomicU64::new(0);

/// Fails if so few queries became views that nothing was judged.
pub fn require_views() {
    let (tried, made) = (TRIED.load(Ordering::Relaxed), MADE.load(Ordering::Relaxed));
    assert!(made * 2 > tried, "only {made} of {tried} queries became views");
}

/// A view and what happens to the objects below it.
pub struct Case {
    query: String,
    /// Statements, each with the one that undoes it.
    changes: Vec<(String, String)>,
    /// Its rows follow a table's changes.
    follows: bool,
}

impl Case {
    /// Of any query.
    pub fn random(schema: &Schema, choices: &mut Choices) -> Case {
        if choices.chance(15) {
            let query = Generator::new(choices, schema, false).query_statement().text;
            return Case::of(query, true, schema, choices);
        }
        Case::of_forms(schema, choices)
    }

    /// Of a query that is written out on this page.
    fn of_forms(schema: &Schema, choices: &mut Choices) -> Case {
        match choices.chance(30) {
            false => Case::of(form(schema, choices, FORMS), false, schema, choices),
            true => Case::of(form(schema, choices, ROW_FORMS), true, schema, choices),
        }
    }

    fn of(query: String, follows: bool, schema: &Schema, choices: &mut Choices) -> Case {
        let query = match choices.below(8) {
            0..5 => query,
            5 => format!("select * from ({query}) w"),
            6 => format!("with w as ({query}) select w.* from w"),
            _ => format!("select * from ({query}) w union all select * from ({query}) v"),
        };
        let mut changes: Vec<(String, String)> = Vec::new();
        let mut used: Vec<&str> = Vec::new();
        for _ in 0..choices.below(5) {
            let free: Vec<&str> = NAMES.iter().filter(|name| !used.contains(name)).copied().collect();
            let name = *choices.of(&free);
            used.push(name);
            let table = choices.of(&real_tables(schema)).name.clone();
            let change = match choices.below(4) {
                0 => renaming(schema, choices, &table, name),
                1 => (format!("alter table r.{table} rename to {}", quoted(name)), {
                    format!("alter table r.{} rename to {table}", quoted(name))
                }),
                2 => (format!("alter table r.{table} add column {} int4 default 7", quoted(name)), {
                    format!("alter table r.{table} drop column {}", quoted(name))
                }),
                _ => {
                    let function = *choices.of(&["of_t0", "first_of"]);
                    let name = quoted(name);
                    (format!("alter function r.{function} rename to {name}"), {
                        format!("alter function r.{name} rename to {function}")
                    })
                }
            };
            // Another change of the same thing would not find it.
            let is_of = |text: &str| text.split(" to ").next().map(str::to_owned);
            if !change.0.contains("add column") && changes.iter().any(|(other, _)| is_of(other) == is_of(&change.0)) {
                continue;
            }
            changes.push(change);
        }
        // Columns first: a table that has been renamed is not found by its old name.
        changes.sort_by_key(|(text, _)| !text.contains(" column "));
        Case {
            follows: follows || ["of_t0", "first_of", "ids("].iter().any(|name| query.contains(name)),
            query,
            changes,
        }
    }
}

fn real_tables(schema: &Schema) -> Vec<&Table> {
    schema.tables.iter().filter(|table| !table.is_view).collect()
}

fn form(schema: &Schema, choices: &mut Choices, forms: &[&str]) -> String {
    let form = *choices.of(forms);
    let tables = real_tables(schema);
    let (table, other) = (*choices.of(&tables), *choices.of(&tables));
    let columns: Vec<&str> = table.columns.iter().skip(1).map(|column| column.name.as_str()).collect();
    let column = *choices.of(&columns);
    let words = form.split_inclusive(|c: char| !c.is_alphanumeric());
    let replaced = words.map(|word| {
        let end = word.trim_end_matches(|c: char| !c.is_alphanumeric()).len();
        let named = match &word[..end] {
            "T" => &table.name,
            "U" => &other.name,
            "C" => column,
            same => same,
        };
        format!("{named}{}", &word[end..])
    });
    replaced.collect()
}

fn renaming(schema: &Schema, choices: &mut Choices, table: &str, name: &str) -> (String, String) {
    let table = real_tables(schema).into_iter().find(|found| found.name == table).expect("one of them");
    let column = &choices.of(&table.columns).name;
    let (table, name) = (&table.name, quoted(name));
    (
        format!("alter table r.{table} rename column {column} to {name}"),
        format!("alter table r.{table} rename column {name} to {column}"),
    )
}

fn quoted(name: &str) -> String {
    if name == "user" { "\"user\"".to_owned() } else { name.to_owned() }
}

fn rows_of(session: &mut Session, text: &str) -> Answer {
    Answer::of(&session.simple(text), false)
}

/// The text of a view; an error's words if there is none.
fn text_of(session: &mut Session, arguments: &str) -> Result<String, String> {
    let seen = session.simple(&format!("select pg_get_viewdef({arguments})"));
    let start = seen.find("\nrow ").ok_or_else(|| seen.clone())? + "\nrow ".len();
    let end = seen.rfind("\ntag ").ok_or_else(|| seen.clone())?;
    Ok(seen[start..end].trim_end_matches(';').to_owned())
}

/// Makes what the views read, and what hides built-in objects unless it is there already.
fn set_up(session: &mut Session) {
    let mut run = |text: &str| {
        let answer = session.simple(text);
        assert!(answer.contains("\ntag ") || answer.starts_with("tag "), "{text}: {answer}");
        answer
    };
    HELPERS.iter().for_each(|text| drop(run(text)));
    if run("select to_regnamespace('hiding') is null").contains("row t") {
        HIDING.iter().for_each(|text| drop(run(text)));
    }
}

/// Makes the view, under names of columns that differ. Not every query can be a view.
fn make(session: &mut Session, case: &Case) -> bool {
    set_up(session);
    let query = &case.query;
    if session.simple(&format!("create view made as {query}")).contains("tag ") {
        return true;
    }
    let names: Vec<String> = (1..40).map(|number| format!("o{number}")).collect();
    (1..names.len()).rev().any(|count| {
        let text = format!("create view made ({}) as {query}", names[..count].join(", "));
        session.simple(&text).contains("tag ")
    })
}

/// A view says of itself what it is, after any change.
pub fn texts_mean_their_views(session: &mut Session, schema: &Schema, choices: &mut Choices) -> Option<String> {
    let case = Case::random(schema, choices);
    TRIED.fetch_add(1, Ordering::Relaxed);
    if !make(session, &case) {
        return None;
    }
    MADE.fetch_add(1, Ordering::Relaxed);
    let mut done: Vec<&str> = Vec::new();
    let mut found = None;
    let mut before = rows_of(session, "select * from r.made");
    for change in std::iter::once(None).chain(case.changes.iter().map(Some)) {
        if let Some((change, _)) = change {
            if !session.simple(change).contains("tag ") {
                continue;
            }
            done.push(change);
        }
        let now = rows_of(session, "select * from r.made");
        if before.is_late() || now.is_late() {
            break;
        }
        session.simple(&format!("set search_path to {HIDING_PATH}"));
        let hidden = rows_of(session, "select * from r.made");
        session.simple("set search_path to r");
        let says = if now != before && !case.follows {
            Some(format!("its rows were\n{}and are\n{}", before.shown(), now.shown()))
        } else if hidden != now && !hidden.is_late() && !WITH_BODIES.iter().any(|name| case.query.contains(name)) {
            Some(format!("its rows\n{}become under {HIDING_PATH}\n{}", now.shown(), hidden.shown()))
        } else {
            made_again(session, &now)
        };
        if let Some(says) = says {
            let done = done.join(";\n");
            found = Some(format!("create view made as {};\n{done};\n{says}", case.query));
            break;
        }
        before = now;
    }
    session.simple("set search_path to r");
    session.simple("drop view if exists r.made, r.again");
    for (change, undo) in case.changes.iter().rev() {
        if done.contains(&change.as_str()) {
            session.simple(undo);
        }
    }
    found
}

/// The difference between the view `made`, whose rows are these, and one that is made of its text.
fn made_again(session: &mut Session, rows: &Answer) -> Option<String> {
    for (path, arguments) in [("r", "'r.made'"), ("''", "'r.made'"), (HIDING_PATH, "'r.made'"), ("r", "'r.made', true")]
    {
        session.simple(&format!("set search_path to {path}"));
        let text = match text_of(session, arguments) {
            Ok(text) => text,
            Err(says) => return Some(format!("there is no text: {says}")),
        };
        let made = session.simple(&format!("create view r.again as {text}"));
        if !made.contains("tag ") {
            return Some(format!("under {path}: {text}\n{made}"));
        }
        // The bodies of functions name tables without their schema.
        session.simple("set search_path to r");
        let again = rows_of(session, "select * from r.again");
        session.simple("drop view r.again");
        if again.is_late() {
            return None;
        }
        if again != *rows {
            return Some(format!("under {path}: {text}\nits rows\n{}are not\n{}", again.shown(), rows.shown()));
        }
    }
    None
}

/// Words of queries whose texts differ though they mean the same: frames without BETWEEN, casts between numbers of objects that were not
/// written, and words of the grammar, which are shown with their neighbours as they were written.
const SAID_OTHERWISE: &[&str] = &[
    "over (w rows",
    "regclass",
    "regproc",
    "collate",
    "(select",
    "trim(",
    "substring(",
    "position(",
    "using >",
    "cycle",
    "json_to",
];
/// Where a text differs after changes: columns that a function's rows get later are listed, and what the alias of a join lists because two
/// columns were called alike stays.
const CHANGED_OTHERWISE: &[&str] = &["of_t0", " j (", ") x, "];

/// A view tells the same text as on another server.
pub fn texts_differ(
    ours: &mut Session,
    theirs: &mut Session,
    schema: &Schema,
    choices: &mut Choices,
) -> Option<String> {
    let mut case = Case::of_forms(schema, choices);
    if SAID_OTHERWISE.iter().any(|words| case.query.contains(words)) {
        return None;
    }
    if CHANGED_OTHERWISE.iter().any(|words| case.query.contains(words)) {
        case.changes.clear();
    }
    let (made, expected) = (make(ours, &case), make(theirs, &case));
    let mut done: Vec<&str> = Vec::new();
    let mut found = (made != expected).then(|| format!("it is a view there: {expected}, here: {made}"));
    let changes = if made && expected { case.changes.as_slice() } else { &[] };
    for change in std::iter::once(None).chain(changes.iter().map(Some)) {
        if let Some((change, _)) = change {
            let [here, there] = [&mut *ours, &mut *theirs].map(|session| session.simple(change).contains("tag "));
            if here != there && found.is_none() {
                found = Some(format!("{change} passes there: {there}, here: {here}"));
            }
            if here || there {
                done.push(change);
            }
        }
        for (path, arguments) in [("r", "'r.made'"), (HIDING_PATH, "'r.made'"), ("r", "'r.made', true")] {
            if found.is_none() && made && expected {
                let texts = [&mut *ours, &mut *theirs].map(|session| {
                    session.simple(&format!("set search_path to {path}"));
                    let text = text_of(session, arguments);
                    session.simple("set search_path to r");
                    text
                });
                let [here, there] = match texts {
                    [Ok(here), Ok(there)] => [here, there],
                    [here, there] => [here, there].map(|text| text.unwrap_or_else(|says| says[..11].to_owned())),
                };
                let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                found = (words(&here) != words(&there))
                    .then(|| format!("under {path}:\nPostgreSQL: {there}\nCohort:     {here}"));
            }
        }
    }
    for session in [ours, theirs] {
        session.simple("drop view if exists r.made");
        for (change, undo) in case.changes.iter().rev() {
            if done.contains(&change.as_str()) {
                session.simple(undo);
            }
        }
    }
    found.map(|found| format!("create view made as {};\n{};\n{found}", case.query, done.join(";\n")))
}
