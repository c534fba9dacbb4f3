//! Statements that commit by themselves, between others that are sent without a Sync: what they are answered and what is left,
//! compared with a PostgreSQL.

mod common;

use std::path::Path;

use common::Server;
use common::conversation::{Sent, Talk};
use common::reference::{Reference, server_binaries};

const STATEMENTS: [&str; 14] = [
    "vacuum",
    "vacuum made",
    "analyze made",
    "checkpoint",
    "create index concurrently made_i on made (i)",
    "drop index concurrently made_index",
    "alter system set work_mem = '5MB'",
    "discard all",
    "discard plans",
    "commit prepared 'nobody'",
    "rollback prepared 'nobody'",
    "set local work_mem = '5MB'",
    "lock table made",
    "truncate made",
];

/// The statements before and behind it in its pipeline.
const AROUND: [(&str, &str); 4] = [
    ("insert into made values (1)", "select 1 / (i - i) from made"),
    ("select 1", "select 2"),
    ("", "select 1 / (i - i) from made"),
    ("begin", "commit"),
];

/// One pipeline, and what later statements find.
fn converse(socket: &Path, statement: &str, (before, after): (&str, &str)) -> Vec<String> {
    let mut talk = Talk::start(socket);
    let ask = |talk: &mut Talk, text: &str| {
        talk.send(&Sent::query(text).bytes());
        talk.hear_until_ready()
    };
    ask(&mut talk, "drop table if exists made");
    ask(&mut talk, "create table made (i int); create index made_index on made (i); insert into made values (7)");
    for text in [before, statement, after].into_iter().filter(|text| !text.is_empty()) {
        let verbs = [Sent::parse("", text, &[]), Sent::bind("", "", &[], &[], &[]), Sent::execute("", 0)];
        verbs.iter().for_each(|verb| talk.send(&verb.bytes()));
    }
    talk.send(&Sent::new(b'S', Vec::new()).bytes());
    let mut heard = talk.hear_until_ready();
    heard.extend(ask(
        &mut talk,
        "select i, (select count(*) from pg_indexes where tablename = 'made') from made order by i",
    ));
    ask(&mut talk, "alter system reset work_mem");
    heard
}

#[test]
fn statements_that_commit_by_themselves_take_nothing_along() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start_with(&binaries, &["autovacuum=off"]);
    for statement in STATEMENTS {
        for around in AROUND {
            let expected = converse(&reference.socket(), statement, around);
            assert_eq!(converse(&server.socket(), statement, around), expected, "{statement} between {around:?}");
        }
    }
}
