//! The table of settings beside PostgreSQL 15's: each row of `pg_settings`, and what SET says to values that are right and wrong.

mod common;

use std::collections::BTreeMap;

use common::Server;
use common::reference::{Reference, server_binaries};
use postgres::{Client, SimpleQueryMessage};

/// Rows that are meant to differ: the setting, the columns in which it does, and why.
const MEANT: &[(&str, &str, &str)] = &[
    ("TimeZone", "boot_val", "the zone has its whole name"),
    ("client_encoding", "boot_val", "the one encoding is UTF-8"),
    ("commit_delay", "boot_val", "a delay is chosen by the length of a sync"),
    ("config_file", "context", "it lies in the data folder"),
    ("data_checksums", "boot_val", "pages always have checksums"),
    ("data_directory", "context", "the server is told the folder, and not by a setting"),
    ("jit", "boot_val", "there is no compilation of expressions"),
    ("lc_messages", "boot_val", "messages are in English"),
    ("listen_addresses", "boot_val", "the address of this machine has no name to look up"),
    ("max_connections", "boot_val", "sessions are no processes"),
    ("max_pred_locks_per_page", "boot_val", "predicate locks are cheaper"),
    ("max_pred_locks_per_relation", "boot_val", "predicate locks are cheaper"),
    ("max_pred_locks_per_transaction", "context", "the table of predicate locks grows"),
    ("max_prepared_transactions", "boot_val", "prepared transactions are always possible"),
    ("max_stack_depth", "boot_val", "the value that PostgreSQL works out at its start"),
    ("server_encoding", "boot_val", "the one encoding is UTF-8"),
    ("server_version", "boot_val", "it is Cohort"),
    ("server_version_num", "min_val max_val boot_val", "it has no minor versions"),
    ("ssl_library", "boot_val", "another library encrypts"),
    ("ssl_min_protocol_version", "enumvals", "older versions are not safe"),
    ("timezone_abbreviations", "boot_val", "the value that PostgreSQL works out at its start"),
    ("unix_socket_directories", "boot_val", "the data folder has a socket, too"),
    ("vacuum_freeze_min_age", "max_val", "transaction numbers have 64 bits"),
    ("wal_buffers", "min_val max_val boot_val", "the size is not worked out from shared_buffers"),
    ("wal_sync_method", "context enumvals", "the log's files are opened once, and open_sync is not there"),
];

/// Settings that Cohort lacks, which docs/compatibility.md names.
const ABSENT: &[&str] = &[
    "extension_destdir",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "ignore_system_indexes",
    "jit_debugging_support",
    "jit_profiling_support",
    "post_auth_delay",
    "restrict_nonsystem_relation_kind",
];

const COLUMNS: [&str; 7] = ["vartype", "unit", "context", "min_val", "max_val", "enumvals", "boot_val"];

fn rows(client: &mut Client) -> BTreeMap<String, Vec<String>> {
    let query = "select name, vartype, unit, context, min_val, max_val,
                        (select string_agg(word, ',' order by word) from unnest(enumvals) as word), boot_val
                 from pg_settings";
    let mut found = BTreeMap::new();
    for message in client.simple_query(query).unwrap() {
        if let SimpleQueryMessage::Row(row) = message {
            let columns = (1..=COLUMNS.len()).map(|column| row.get(column).unwrap_or("").to_owned()).collect();
            found.insert(row.get(0).unwrap().to_owned(), columns);
        }
    }
    found
}

fn servers() -> Option<(tempfile::TempDir, Server, Reference)> {
    let binaries = server_binaries()?;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    Some((folder, server, Reference::start(&binaries)))
}

#[test]
fn each_row_of_pg_settings_is_postgresql_s() {
    let Some((_folder, server, reference)) = servers() else { return };
    let own = rows(&mut server.connect());
    let theirs = rows(&mut Client::connect(&reference.url(), postgres::NoTls).unwrap());
    let mut differences = Vec::new();
    let mut unused: Vec<&str> = MEANT.iter().map(|(name, ..)| *name).collect();
    for (name, theirs) in &theirs {
        if own.contains_key(name) && ABSENT.contains(&name.as_str()) {
            differences.push(format!("{name} is there, and counts as absent"));
        }
        let Some(own) = own.get(name) else {
            if !ABSENT.contains(&name.as_str()) {
                differences.push(format!("{name} is missing"));
            }
            continue;
        };
        let meant = MEANT.iter().find(|(meant, ..)| meant == name).map_or("", |(_, columns, _)| *columns);
        for (column, (own, theirs)) in COLUMNS.iter().zip(own.iter().zip(theirs)) {
            let is_meant = meant.split(' ').any(|meant| meant == *column);
            if own != theirs && !is_meant {
                differences.push(format!("{name}: {column} is {own:?}, and {theirs:?} in PostgreSQL"));
            }
            if own != theirs && is_meant {
                unused.retain(|unused| unused != name);
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(unused.is_empty(), "these are as in PostgreSQL: {unused:?}");
}

#[test]
fn the_settings_that_postgresql_hides_are_hidden() {
    let Some((_folder, server, reference)) = servers() else { return };
    let (mut own, mut theirs) = (server.connect(), Client::connect(&reference.url(), postgres::NoTls).unwrap());
    let names: Vec<String> = rows(&mut theirs).into_keys().filter(|name| !ABSENT.contains(&name.as_str())).collect();
    for client in [&mut own, &mut theirs] {
        client.batch_execute("create role without_rights; set role without_rights").unwrap();
    }
    let (seen, their_seen) = (rows(&mut own), rows(&mut theirs));
    for name in &names {
        assert_eq!(seen.contains_key(name), their_seen.contains_key(name), "whether {name} is seen");
    }
    assert!(!seen.contains_key("hba_rules"));
    for name in &names {
        for statement in [format!("show \"{name}\""), format!("select current_setting('{name}', true)")] {
            assert_eq!(said(&mut own, &statement), said(&mut theirs, &statement), "{statement}");
        }
    }
}

/// The answer of a server to a statement: the SQLSTATE and the message of its error, or "done".
fn said(client: &mut Client, statement: &str) -> String {
    match client.simple_query(statement) {
        Ok(_) => "done".to_owned(),
        Err(error) => {
            let error = error.as_db_error().unwrap();
            format!("{} {}", error.code().code(), error.message())
        }
    }
}

/// Values to try, by the kind of the setting.
fn values(row: &[String]) -> Vec<String> {
    let [kind, unit, _, minimum, maximum, words, default] = row else { unreachable!() };
    let mut values: Vec<String> = match kind.as_str() {
        "bool" => ["on", "off", "yes", "0", "tr", "o", "2", "", "maybe"].map(str::to_owned).to_vec(),
        "enum" => words.split(',').map(str::to_owned).chain(["ON", "", "no word"].map(str::to_owned)).collect(),
        "integer" | "real" => {
            let mut values = vec![minimum.clone(), maximum.clone(), "1.5".into(), "1e3".into(), "".into(), "x".into()];
            values.extend(["-2", "0x10", " 7 ", "1 kB", "1kb", "3s", "2 min", "1d", "99999999999"].map(str::to_owned));
            values.push(format!("{minimum}{unit}"));
            values
        }
        _ => vec![],
    };
    values.push(default.clone());
    values
}

/// Settings that are not tried: they have a statement of their own, end statements or sessions, depend on the machine or name its files.
const NOT_SET: &[&str] = &[
    "client_encoding",
    "exit_on_error",
    "idle_session_timeout",
    "lc_messages",
    "max_stack_depth",
    "statement_timeout",
    "timezone_abbreviations",
    "transaction_deferrable",
    "transaction_isolation",
    "transaction_read_only",
];

#[test]
fn set_takes_and_refuses_the_values_that_postgresql_does() {
    let Some((_folder, server, reference)) = servers() else { return };
    let (mut own, mut theirs) = (server.connect(), Client::connect(&reference.url(), postgres::NoTls).unwrap());
    let known = rows(&mut own);
    let mut differences = Vec::new();
    let mut tried = 0;
    for (name, row) in rows(&mut theirs) {
        let is_meant = MEANT.iter().any(|(meant, columns, _)| *meant == name && *columns != "boot_val");
        if !known.contains_key(&name) || is_meant || NOT_SET.contains(&name.as_str()) {
            continue;
        }
        let is_fixed = base::settings::lookup(&name).is_ok_and(base::settings::is_fixed);
        for value in values(&row) {
            let statement = format!("set \"{name}\" = '{}'", value.replace('\'', "''"));
            let (own, theirs) = (said(&mut own, &statement), said(&mut theirs, &statement));
            tried += 1;
            let is_refused = is_fixed && theirs == "done" && own.starts_with("0A000");
            if own != theirs && !is_refused {
                differences.push(format!("{statement}\n  Cohort:     {own}\n  PostgreSQL: {theirs}"));
            }
        }
    }
    assert!(tried > 1000, "{tried}");
    assert!(differences.is_empty(), "{} of {tried}\n{}", differences.len(), differences.join("\n"));
}
