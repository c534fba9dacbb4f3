//! Random conversations, legal and illegal, with Cohort and with a real PostgreSQL 15: their answers must agree.
//!
//! A conversation is a list of messages of the client. They are sent one at a time to both servers, and the answers are compared after
//! each message. Compared are types of messages, descriptions of rows and parameters, rows, tags, errors with severity, code, message and
//! position, parameter statuses, and whether the connection was closed. Where PostgreSQL sends nothing, Cohort must send nothing.
//!
//! `COHORT_CONVERSATIONS=10000` sets the number of conversations, `COHORT_CONVERSATIONS_FROM=123` the number of the first conversation. A
//! conversation's number is the seed of its random choices. One on which the servers differ is made as short as possible, and printed.

mod common;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::Server;
use common::conversation::{Sent, Talk, packet, start_packet};
use common::environment_number;
use common::reference::{Reference, server_binaries};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

#[path = "conversations/messages.rs"]
mod messages;

/// How many conversations there are if nobody asks for another number.
const CONVERSATIONS: u64 = 300;
/// How long Cohort may take for what it has to say.
const PATIENCE: Duration = Duration::from_secs(20);
/// The same for a conversation that is made shorter and differs by what does not come.
const PATIENCE_SHORTENING: Duration = Duration::from_millis(500);
/// How many that differ are shown before the search ends, unless a number of conversations was asked for.
const DIFFERENCES_MAX: usize = 8;

/// Statements that each session begins with.
const SETUP: &str = "create temp table t (i int primary key, s text default 'x');
    insert into t select g, 'row ' || g from generate_series(1, 5) g;
    create temp table u (a int, b text check (b <> 'bad'))";

/// Objects that all sessions share.
const SHARED: &str =
    "create function loud(int) returns int language plpgsql as 'begin raise notice ''loud %'', $1; return $1; end';
    create procedure committing() language plpgsql as 'begin commit; end'";

#[derive(Clone, Copy)]
struct Servers<'a> {
    ours: &'a Path,
    theirs: &'a Path,
}

/// Where a conversation's answers differ: after which message, and how.
struct Difference {
    place: usize,
    expected: Vec<String>,
    found: Vec<String>,
}

/// Has a conversation with both servers.
fn compare(servers: Servers<'_>, conversation: &[Sent], patience: Duration) -> Option<Difference> {
    let (mut theirs, mut ours) = (Talk::start(servers.theirs), Talk::start(servers.ours));
    for talk in [&mut theirs, &mut ours] {
        talk.send(&Sent::query(SETUP).bytes());
        let answer = talk.hear_until_ready();
        assert_eq!(answer.last().map(String::as_str), Some("Z I"), "{answer:?}");
    }
    theirs.note_how_it_rests();
    ours.patience = patience;
    let farewell = [Sent::new(b'S', []), Sent::new(b'X', [])];
    for (place, message) in conversation.iter().chain(&farewell).enumerate() {
        let bytes = message.bytes();
        ours.send(&bytes);
        theirs.send(&bytes);
        let mut expected = theirs.hear_until_asleep();
        let is_over = theirs.is_closed;
        let mut found = if is_over {
            ours.hear_to_the_end()
        } else if expected.is_empty() {
            ours.hear()
        } else {
            // It may say a little more or less where that is forgiven.
            let is_ready = expected.last().is_some_and(|last| last.starts_with("Z "));
            ours.hear_until(|heard| match is_ready {
                true => heard.last().is_some_and(|last| last.starts_with("Z ")),
                false => heard.len() >= expected.len(),
            })
        };
        if !is_over {
            found.extend(ours.hear());
        }
        for heard in [&mut expected, &mut found] {
            forgive(message, heard);
        }
        if is_computed_early(message, &expected, &found) || has_died(message, &expected, is_over) {
            return None;
        }
        if expected != found || is_over != ours.is_closed {
            let ends = |is_closed: bool| is_closed.then(|| "the connection is closed".to_owned());
            let expected = expected.into_iter().chain(ends(is_over)).collect();
            let found = found.into_iter().chain(ends(ours.is_closed)).collect();
            return Some(Difference { place, expected, found });
        }
        if is_over {
            break;
        }
    }
    None
}

/// Takes out what may differ: a function call is refused here in other words, and columns are told before a statement fails that PostgreSQL
/// computes or runs before it tells them.
fn forgive(message: &Sent, heard: &mut Vec<String>) {
    if message.kind == b'F' {
        heard.retain(|message| !message.starts_with("V ") && !message.starts_with("E "));
    }
    if let Some(place) = heard.windows(2).position(|pair| pair[0].starts_with("T ") && pair[1].starts_with("E ")) {
        heard.remove(place);
    }
}

/// Whether PostgreSQL has computed at Bind what Cohort computes when it runs: a constant that a parameter's value makes. The
/// conversation goes on in another state then.
fn is_computed_early(message: &Sent, expected: &[String], found: &[String]) -> bool {
    let is_of_value = |heard: &String| heard.starts_with("E ") && heard.contains(" C=22");
    message.kind == b'B' && !found.iter().any(is_of_value) && expected.last().is_some_and(is_of_value)
}

/// Whether PostgreSQL's process has died: it does when the unnamed portal of a simple query that failed early is run.
fn has_died(message: &Sent, expected: &[String], is_over: bool) -> bool {
    message.kind == b'E' && message.length.is_none() && is_over && expected.is_empty()
}

/// Leaves messages out as long as the answers still differ.
fn minimised(servers: Servers<'_>, mut conversation: Vec<Sent>, mut difference: Difference) -> (Vec<Sent>, Difference) {
    conversation.truncate(difference.place + 1);
    let mut place = 0;
    while place < conversation.len() {
        let mut shorter = conversation.clone();
        shorter.remove(place);
        match compare(servers, &shorter, PATIENCE_SHORTENING) {
            Some(other) => {
                shorter.truncate(other.place + 1);
                (conversation, difference) = (shorter, other);
            }
            None => place += 1,
        }
    }
    (conversation, difference)
}

/// Both servers, where PostgreSQL is here.
fn with_servers(work: impl FnOnce(Servers<'_>)) {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_yielding(folder.path(), &[]);
    let reference = Reference::start_with(&binaries, &["timezone=Etc/UTC", "autovacuum=off"]);
    let (ours, theirs): (PathBuf, PathBuf) = (server.socket(), reference.socket());
    for socket in [&ours, &theirs] {
        let mut talk = Talk::start(socket);
        talk.send(&Sent::query(SHARED).bytes());
        let answer = talk.hear_until_ready();
        assert!(!answer.iter().any(|message| message.starts_with('E')), "{answer:?}");
    }
    work(Servers { ours: &ours, theirs: &theirs });
    server.stop();
}

// invariants: row 26
#[test]
fn conversations_go_as_with_postgresql() {
    let wanted = environment_number("COHORT_CONVERSATIONS");
    let count = wanted.unwrap_or(CONVERSATIONS);
    let first = environment_number("COHORT_CONVERSATIONS_FROM").unwrap_or(0);
    with_servers(|servers| {
        let (mut differences, mut report) = (0, String::new());
        for seed in first..first + count {
            let conversation = messages::conversation(&mut StdRng::seed_from_u64(seed));
            let Some(difference) = compare(servers, &conversation, PATIENCE) else { continue };
            let (shortest, difference) = minimised(servers, conversation, difference);
            differences += 1;
            let mut shown = format!("--- conversation {seed}\n");
            for message in &shortest {
                writeln!(shown, "{message:?}").unwrap();
            }
            let (expected, found) = (difference.expected.join("\n    "), difference.found.join("\n    "));
            writeln!(shown, "PostgreSQL:\n    {expected}\nCohort:\n    {found}").unwrap();
            eprint!("{shown}");
            report.push_str(&shown);
            if wanted.is_none() && differences == DIFFERENCES_MAX {
                break;
            }
        }
        assert!(differences == 0, "{differences} conversations differ\n{report}");
        eprintln!("{count} conversations agree");
    });
}

/// A server's answers to a whole conversation and its end, which it is sent in pieces.
fn answers_to(socket: &Path, pieces: &[&[u8]]) -> Vec<String> {
    let mut talk = Talk::start(socket);
    talk.send(&Sent::query(SETUP).bytes());
    let ready = talk.hear_until_ready();
    assert_eq!(ready.last().map(String::as_str), Some("Z I"), "{ready:?}");
    let mut heard = Vec::new();
    for piece in pieces {
        talk.send(piece);
        heard.extend(talk.hear());
    }
    // The server may wait for the rest of a message whose length is wrong.
    talk.end_sending();
    heard.extend(talk.hear_to_the_end());
    heard
}

// invariants: row 26
#[test]
fn conversations_go_the_same_however_their_bytes_arrive() {
    let count = environment_number("COHORT_CONVERSATIONS").unwrap_or(CONVERSATIONS);
    let first = environment_number("COHORT_CONVERSATIONS_FROM").unwrap_or(0);
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_yielding(folder.path(), &[]);
    let socket = server.socket();
    let mut talk = Talk::start(&socket);
    talk.send(&Sent::query(SHARED).bytes());
    talk.hear_until_ready();
    for seed in first..first + count {
        let random = &mut StdRng::seed_from_u64(seed);
        let conversation = messages::conversation(random);
        let farewell = [Sent::new(b'S', []), Sent::new(b'X', [])];
        let messages: Vec<Vec<u8>> = conversation.iter().chain(&farewell).map(Sent::bytes).collect();
        let one_by_one: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
        let whole = messages.concat();
        let (start, end) = whole.split_at(random.random_range(0..whole.len()));
        let expected = answers_to(&socket, &one_by_one);
        for (how, pieces) in [("at once", &[&whole[..]][..]), ("in two pieces", &[start, end])] {
            let found = answers_to(&socket, pieces);
            assert_eq!(expected, found, "conversation {seed}, sent {how}, begins {start:?}: {conversation:#?}");
        }
    }
    drop(talk);
    server.stop();
}

// invariants: row 26
/// A message that can't be told from the next one ends a pipeline: what came before it is answered as far as it was flushed.
#[test]
fn pipelines_with_damaged_messages_go_as_with_postgresql() {
    let count = environment_number("COHORT_CONVERSATIONS").unwrap_or(CONVERSATIONS);
    let first = environment_number("COHORT_CONVERSATIONS_FROM").unwrap_or(0);
    with_servers(|servers| {
        let mut differing = Vec::new();
        for seed in first..first + count {
            let pipeline = messages::pipeline(&mut StdRng::seed_from_u64(seed));
            let Some((expected, found)) = compare_at_once(servers, &pipeline) else { continue };
            let mut shortest = (pipeline, expected, found);
            let mut place = 0;
            while place < shortest.0.len() {
                let mut shorter = shortest.0.clone();
                shorter.remove(place);
                match compare_at_once(servers, &shorter) {
                    Some((expected, found)) => shortest = (shorter, expected, found),
                    None => place += 1,
                }
            }
            let (pipeline, expected, found) = shortest;
            differing.push(format!("pipeline {seed}: {pipeline:#?}\nPostgreSQL: {expected:#?}\nCohort: {found:#?}"));
            if differing.len() == DIFFERENCES_MAX {
                break;
            }
        }
        assert!(differing.is_empty(), "{}", differing.join("\n\n"));
    });
}

/// Sends all messages at once to both servers; the answers where they differ.
fn compare_at_once(servers: Servers<'_>, pipeline: &[Sent]) -> Option<(Vec<String>, Vec<String>)> {
    let farewell = [Sent::new(b'S', []), Sent::new(b'X', [])];
    let whole: Vec<u8> = pipeline.iter().chain(&farewell).flat_map(Sent::bytes).collect();
    let (mut expected, mut found) = (answers_to(servers.theirs, &[&whole]), answers_to(servers.ours, &[&whole]));
    // A RowDescription right before an error: whether it comes depends on what PostgreSQL computes first (docs/compatibility.md).
    for heard in [&mut expected, &mut found] {
        while let Some(place) = heard.windows(2).position(|pair| pair[0].starts_with("T ") && pair[1].starts_with("E "))
        {
            heard.remove(place);
        }
    }
    // Forgiven: PostgreSQL refuses it in other words, computes it at another moment, or ends its process.
    let is_of_value = |heard: &String| heard.starts_with("E ") && heard.contains(" C=22");
    let is_forgiven = pipeline.iter().any(|message| message.kind == b'F')
        || pipeline.iter().any(|message| message.kind == b'B')
            && expected.iter().any(is_of_value) != found.iter().any(is_of_value)
        || expected.len() < found.len() && expected[..] == found[..expected.len()] && !has_farewell(&expected);
    (expected != found && !is_forgiven).then_some((expected, found))
}

/// Whether a server has come to the Sync at the end, or said why it ended the session before.
fn has_farewell(heard: &[String]) -> bool {
    heard.last().is_some_and(|last| last.starts_with("Z ") || last.contains("S=FATAL"))
}

/// The first packets of a connection, each sent when the one before it has been answered by a byte.
fn starts() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let (tls, gss) = (packet(80_877_103, b""), packet(80_877_104, b""));
    let with = |parameters: &[(&str, &str)]| vec![start_packet(parameters)];
    let user = ("user", "postgres");
    let version = |code: u32| vec![packet(code, b"user\0postgres\0database\0postgres\0\0")];
    let good = start_packet(&[user]);
    vec![
        ("a user", with(&[user])),
        ("a user and a database", with(&[user, ("database", "postgres")])),
        ("settings", with(&[user, ("application_name", "a"), ("DateStyle", "German"), ("options", "-c work_mem=8MB")])),
        ("an encoding by another name", with(&[user, ("client_encoding", "utf-8")])),
        ("an encoding that is none", with(&[user, ("client_encoding", "nonsense")])),
        ("a setting that is none", with(&[user, ("nonsense", "1")])),
        ("a value that is none", with(&[user, ("datestyle", "nonsense")])),
        ("an option without a value", with(&[user, ("options", "-c work_mem")])),
        ("a long option without a value", with(&[user, ("options", "--work_mem")])),
        ("an argument that is no option", with(&[user, ("options", "nonsense")])),
        ("an unknown user", with(&[("user", "nobody")])),
        ("an unknown database", with(&[user, ("database", "nowhere")])),
        ("no user", with(&[("database", "postgres")])),
        ("an empty user", with(&[("user", ""), ("database", "postgres")])),
        ("nothing", with(&[])),
        ("replication that is none", with(&[user, ("replication", "off"), ("database", "postgres")])),
        ("replication that is neither", with(&[user, ("replication", "perhaps")])),
        ("an option of the protocol", with(&[user, ("_pq_.one", "1"), ("_pq_.two", "")])),
        ("an option of the protocol and no user", with(&[("_pq_.one", "1")])),
        ("a newer minor version", version(3 << 16 | 2)),
        ("an older version", version(2 << 16)),
        ("the oldest version", version(1 << 16)),
        ("a newer version", version(4 << 16)),
        ("no version", version(0)),
        ("no terminator", vec![packet(3 << 16, b"user\0postgres\0")]),
        ("no value", vec![packet(3 << 16, b"user\0postgres\0database\0")]),
        ("half a name", vec![packet(3 << 16, b"user\0postgres\0data")]),
        ("something behind the terminator", vec![packet(3 << 16, b"user\0postgres\0\0more")]),
        ("only a version", vec![packet(3 << 16, b"")]),
        ("a length of zero", vec![vec![0; 8]]),
        ("a length of seven", vec![vec![0, 0, 0, 7, 0, 3, 0]]),
        ("a length of a gigabyte", vec![vec![0x40, 0, 0, 0, 0, 3, 0, 0]]),
        ("a request of another protocol", vec![b"GET / HTTP/1.1\r\n\r\n".to_vec()]),
        ("bytes", vec![vec![255; 30]]),
        ("a cancel of nobody", vec![packet(80_877_102, &[0; 8])]),
        ("a short cancel", vec![packet(80_877_102, &[0; 4])]),
        ("a long cancel", vec![packet(80_877_102, &[0; 12])]),
        ("encryption declined", vec![tls.clone(), good.clone()]),
        ("the other encryption declined", vec![gss.clone(), good.clone()]),
        ("both declined", vec![tls.clone(), gss.clone(), good.clone()]),
        ("both declined, the other way", vec![gss.clone(), tls.clone(), good.clone()]),
        ("encryption twice", vec![tls.clone(), tls.clone()]),
        ("the other encryption twice", vec![gss.clone(), gss.clone()]),
        ("encryption with more behind it", vec![[&tls[..], &good].concat(), Vec::new()]),
        ("the other encryption with more behind it", vec![[&gss[..], &good].concat(), Vec::new()]),
        ("encryption with a body", vec![packet(80_877_103, b"body"), good]),
    ]
}

/// A server's answers to the first packets of a connection. The client then leaves.
fn start(socket: &Path, packets: &[Vec<u8>]) -> Vec<String> {
    let mut talk = Talk::open(socket);
    let mut heard = Vec::new();
    let (last, first) = packets.split_last().expect("there is a packet");
    for packet in first {
        talk.send(packet);
        heard.push(format!("byte {:?}", talk.hear_byte().map(char::from)));
    }
    talk.send(&[last, &Sent::new(b'X', []).bytes()[..]].concat());
    heard.extend(talk.hear_to_the_end());
    heard
}

// invariants: row 26
#[test]
fn connections_start_as_with_postgresql() {
    with_servers(|servers| {
        let mut report = String::new();
        for (what, packets) in starts() {
            let (expected, found) = (start(servers.theirs, &packets), start(servers.ours, &packets));
            if expected != found {
                let (expected, found) = (expected.join("\n    "), found.join("\n    "));
                writeln!(report, "--- {what}\nPostgreSQL:\n    {expected}\nCohort:\n    {found}").unwrap();
            }
        }
        assert!(report.is_empty(), "{report}");
    });
}

/// One of several.
fn any<'a, T: ?Sized>(random: &mut StdRng, of: &'a [&'a T]) -> &'a T {
    of.choose(random).expect("there are some")
}

/// True so many times of a hundred.
fn in_hundred(random: &mut StdRng, times: u32) -> bool {
    random.random_ratio(times, 100)
}
