//! The catalogs, beside a real PostgreSQL 15's: the same relations with the same columns, and a plain word about each function, operator
//! and type that is missing.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::Server;
use common::reference::{Reference, server_binaries};
use postgres::{Client, NoTls, SimpleQueryMessage};

/// Each relation of the two schemas with its columns. Domains count as the types under them: the standard's own ones are not there.
const COLUMNS: &str = "
    select n.nspname || '.' || c.relname,
           string_agg(a.attname || ' ' ||
                      case t.typtype when 'd' then format_type(t.typbasetype, t.typtypmod)
                                     else format_type(a.atttypid, a.atttypmod) end, ', ' order by a.attnum)
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    join pg_type t on t.oid = a.atttypid
    where n.nspname in ('pg_catalog', 'information_schema') and c.relkind in ('r', 'v') and c.relname not like 'cohort\\_%'
    group by 1";

/// Columns whose types differ, as Cohort lacks those of PostgreSQL: relation and column. Whose relation is `*` differ everywhere.
const OTHER_TYPES: &[(&str, &str)] = &[
    ("pg_catalog.pg_statistic_ext_data", "stxdndistinct"),
    ("pg_catalog.pg_statistic_ext_data", "stxddependencies"),
    ("pg_catalog.pg_statistic_ext_data", "stxdmcv"),
    ("pg_catalog.pg_statistic_ext_data", "stxdexpr"),
    ("pg_catalog.pg_stats_ext", "n_distinct"),
    ("pg_catalog.pg_stats_ext", "dependencies"),
    // Without the precision that the standard's domain has.
    ("*", "created"),
    ("*", "last_altered"),
];

fn rows(client: &mut Client, query: &str) -> Vec<Vec<String>> {
    let messages = client.simple_query(query).unwrap();
    let row = |message: SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|place| row.get(place).unwrap_or_default().to_owned()).collect())
        }
        _ => None,
    };
    messages.into_iter().filter_map(row).collect()
}

fn names(client: &mut Client, query: &str) -> BTreeSet<String> {
    rows(client, query).into_iter().map(|mut row| row.remove(0)).collect()
}

struct Both {
    ours: Client,
    theirs: Client,
    _server: Server,
    _reference: Reference,
    _folder: tempfile::TempDir,
}

fn start() -> Option<Both> {
    let binaries = server_binaries()?;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start(&binaries);
    let (ours, theirs) = (server.connect(), Client::connect(&reference.url(), NoTls).unwrap());
    Some(Both { ours, theirs, _server: server, _reference: reference, _folder: folder })
}

/// Names of columns with their types; the latter are left out where they are known to differ.
fn columns(relation: &str, list: &str) -> Vec<String> {
    let differs =
        |column: &str| OTHER_TYPES.iter().any(|(of, name)| *name == column && (*of == relation || *of == "*"));
    list.split(", ")
        .map(|column| match column.split_once(' ') {
            Some((name, _)) if differs(name) => name.to_owned(),
            _ => column.to_owned(),
        })
        .collect()
}

#[test]
fn relations_of_the_catalogs_have_postgresqls_columns() {
    let Some(mut both) = start() else { return };
    let (ours, theirs) = (&mut both.ours, &mut both.theirs);
    let read = |client: &mut Client| -> BTreeMap<String, String> {
        rows(client, COLUMNS).into_iter().map(|row| (row[0].clone(), row[1].clone())).collect()
    };
    let (found, expected) = (read(ours), read(theirs));
    let mut wrong = Vec::new();
    for (relation, list) in &expected {
        match found.get(relation) {
            None => wrong.push(format!("{relation} is missing")),
            Some(own) if columns(relation, own) != columns(relation, list) => {
                wrong.push(format!("{relation}\n  PostgreSQL: {list}\n  Cohort:     {own}"));
            }
            Some(_) => {}
        }
        // Its rows can be computed.
        if let Err(error) = ours.simple_query(&format!("select * from {relation}")) {
            wrong.push(format!("{relation}: {error:?}"));
        }
    }
    wrong.extend(
        found.keys().filter(|relation| !expected.contains_key(*relation)).map(|more| format!("{more} is more")),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The SQLSTATE that a statement fails with.
fn code(client: &mut Client, statement: &str) -> Option<String> {
    let error = client.simple_query(statement).err()?;
    Some(error.code().expect("an error of the server's").code().to_owned())
}

#[test]
fn what_postgresql_has_and_cohort_lacks_is_said_to_be_unsupported() {
    let Some(mut both) = start() else { return };
    let (ours, theirs) = (&mut both.ours, &mut both.theirs);
    let mut wrong = Vec::new();
    let functions = "select distinct proname from pg_proc where pronamespace = 'pg_catalog'::regnamespace";
    let known = names(ours, functions);
    for name in names(theirs, functions).difference(&known) {
        for statement in [format!("select \"{name}\"()"), format!("select pg_catalog.\"{name}\"(1, 'x')")] {
            if code(ours, &statement).as_deref() != Some("0A000") {
                wrong.push(statement);
            }
        }
    }
    let types = "select typname from pg_type where typnamespace = 'pg_catalog'::regnamespace and typtype <> 'c' and typelem = 0";
    let known = names(ours, types);
    for name in names(theirs, types).difference(&known) {
        let statement = format!("select null::\"{name}\"");
        if code(ours, &statement).as_deref() != Some("0A000") {
            wrong.push(statement);
        }
    }
    let operators = "select distinct oprname from pg_operator";
    let known = names(ours, operators);
    for name in names(theirs, operators).difference(&known) {
        let statement = format!("select 'a' {name} 'b'");
        if code(ours, &statement).as_deref() != Some("0A000") {
            wrong.push(statement);
        }
    }
    assert!(wrong.is_empty(), "not 0A000:\n{}", wrong.join("\n"));
    assert_eq!(code(ours, "select no_such_function()").as_deref(), Some("42883"));
    assert_eq!(code(ours, "select null::no_such_type").as_deref(), Some("42704"));
    assert_eq!(code(ours, "select 1 @@@@ 2").as_deref(), Some("42883"));
    // A function of that name that somebody has made is meant, with its own errors.
    ours.batch_execute("create function to_tsvector(int) returns int language sql as 'select 1'").unwrap();
    assert_eq!(code(ours, "select to_tsvector('x', 'y')").as_deref(), Some("42883"));
    assert_eq!(code(ours, "select to_tsvector(1)"), None);
}
