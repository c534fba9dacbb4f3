//! Statements, run: whatever a client that is no superuser sends, the database neither panics nor fails inside, and
//! every statement ends when it is cancelled.
//!
//! Mutations keep to words: they are taken out, doubled, exchanged and replaced by words of the statements that the tests
//! compare with PostgreSQL's, and whole statements of those are put in. Every input runs in a session of its own; a
//! database is used for many.
#![no_main]

use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use base::settings::{ServerSettings, Source};
use base::{Error, Lsn, Result, sqlstate};
use engine::{Database, OpenOptions};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use executor::client::{Client, Formats, OutgoingRow, Severity};
use sql::{BindInput, ConnectRequest, Instance, SqlSession};

/// Inputs that one database serves.
const INPUTS_PER_DATABASE: u32 = 3_000;
/// A statement is cancelled when it has run for this long, and again each time this long passes.
const PATIENCE: Duration = Duration::from_secs(1);

const SETUP: &str = "create role fuzz login; create schema fuzz authorization fuzz;
set session authorization fuzz; set search_path to fuzz;
create table t (a int primary key, b text, c numeric(10, 2), d date, e int[]);
insert into t select g, 'row ' || g, g / 3.0, date '2024-01-01' + g, array[g, g % 7] from generate_series(1, 60) g;
create table u (id serial primary key, a int references t on delete cascade, j jsonb, ts timestamptz default now());
insert into u (a, j) select g, jsonb_build_object('k', g, 'l', array[g]) from generate_series(1, 40) g;
create index on u (a, ts); create index on t (lower(b)) where a > 10;
create view v as select t.a, t.b, u.j from t left join u using (a);
create type mood as enum ('low', 'mid', 'high'); create type pair as (x int, y text);
create domain positive as int check (value > 0);
create table m (id positive, mood mood, pair pair, moods mood[]);
insert into m values (1, 'low', (1, 'one'), '{low,high}'), (2, 'high', null, null);
create sequence s;
create function twice(x int) returns int language sql immutable as 'select x * 2';
create function walk(n int) returns setof t language plpgsql as $$ declare r t; begin
  for r in select * from t where a <= n loop r.b := upper(r.b); return next r; end loop; end $$;
create function stamp() returns trigger language plpgsql as $$ begin new.ts := now(); return new; end $$;
create trigger stamped before insert or update on u for each row execute function stamp();
analyze;";

/// The running statement, for the watch over statements: its instance, the session's pid and secret, and when it began.
static RUNNING: Mutex<Option<(Arc<Instance>, i32, i32, Instant)>> = Mutex::new(None);
static WATCH: LazyLock<()> = LazyLock::new(|| {
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(PATIENCE / 4);
            if let Some((instance, pid, secret, since)) = &*RUNNING.lock().expect("nobody panics with it")
                && since.elapsed() > PATIENCE
            {
                instance.cancel(*pid, *secret);
            }
        }
    });
});

struct Served {
    instance: Arc<Instance>,
    inputs: u32,
    _folder: tempfile::TempDir,
}

impl Served {
    fn new() -> Served {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let settings = ServerSettings::new();
        for (name, value) in [
            ("fsync", "off"),
            ("checkpoint_timeout", "1h"),
            ("max_prepared_transactions", "0"),
            ("work_mem", "256kB"),
            ("shared_buffers", "16MB"),
        ] {
            settings.set_at_start(name, value, Source::CommandLine).expect("the setting exists");
        }
        let options = OpenOptions { settings: Arc::new(settings), ..OpenOptions::new(folder.path()) };
        let instance = Instance::new(Database::open(options).expect("a new database opens"));
        let mut session = connect(&instance, "postgres");
        session.simple_query(SETUP, &mut Watched).expect("the setup runs");
        Served { instance, inputs: 0, _folder: folder }
    }
}

thread_local! {
    static SERVED: RefCell<Option<Served>> = const { RefCell::new(None) };
}

/// Looks at every answer, and forgets it.
struct Watched;

impl Watched {
    fn judge(error: &Error) {
        assert_ne!(error.sqlstate(), sqlstate::INTERNAL_ERROR, "{error}");
    }
}

impl Client for Watched {
    fn require(&mut self, _lsn: Lsn) {}
    fn row(&mut self, row: &OutgoingRow<'_>) -> Result<()> {
        static BYTES: AtomicU64 = AtomicU64::new(0);
        let mut out = Vec::new();
        for index in 0..row.values.len() {
            row.write_value(index, &mut out)?;
        }
        BYTES.fetch_add(out.len() as u64, Ordering::Relaxed);
        Ok(())
    }
    fn notice(&mut self, _severity: Severity, notice: &Error) {
        Watched::judge(notice);
    }
    fn error(&mut self, error: &Error) {
        Watched::judge(error);
    }
    fn parameter_status(&mut self, _name: &str, _value: &str) {}
    fn notification(&mut self, _pid: i32, _channel: &str, _payload: &str) {}
    fn read_copy_data(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }
    fn relieve(&mut self) -> Result<()> {
        Ok(())
    }
}

fn connect(instance: &Arc<Instance>, user: &str) -> SqlSession {
    let request = ConnectRequest {
        user: user.into(),
        database: "postgres".into(),
        settings: vec![("search_path".into(), "fuzz".into()), ("lock_timeout".into(), "1s".into())],
        ..ConnectRequest::default()
    };
    instance.connect(request).expect("the role may connect")
}

/// One after the other by the simple protocol; those of even length by the extended one.
fn run(session: &mut SqlSession, statement: &str) -> Result<()> {
    let client = &mut Watched;
    if statement.len() % 2 == 1 {
        return session.simple_query(statement, client);
    }
    session.parse("", statement, &[], client)?;
    session.describe_statement("", client)?;
    let input = BindInput {
        parameter_formats: Default::default(),
        parameter_count: 0,
        parameters: &[],
        result_formats: Ok(Formats::default()),
    };
    let prepared = session.prepared("")?;
    session.bind("", prepared, input, client)?;
    session.describe_portal("", client)?;
    session.execute("", 3, client)?;
    session.execute("", 0, client)?;
    session.sync(client)
}

fuzz_target!(|bytes: &[u8]| {
    LazyLock::force(&WATCH);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if text.contains('\0') {
        return;
    }
    SERVED.with_borrow_mut(|served| {
        if served.as_ref().is_some_and(|served| served.inputs >= INPUTS_PER_DATABASE) {
            *served = None;
        }
        let served = served.get_or_insert_with(Served::new);
        served.inputs += 1;
        let mut session = connect(&served.instance, "fuzz");
        for statement in text.split(";\n") {
            let running = (Arc::clone(&served.instance), session.pid(), session.secret(), Instant::now());
            *RUNNING.lock().expect("nobody panics with it") = Some(running);
            if let Err(error) = run(&mut session, statement) {
                Watched::judge(&error);
                session.fail(&error, &mut Watched);
                let _ = session.sync(&mut Watched);
                if error.fields().fatal {
                    break;
                }
            }
            session.before_ready(&mut Watched);
        }
        *RUNNING.lock().expect("nobody panics with it") = None;
    });
});

/// The statements of the tests, and the words they are made of.
struct Material {
    files: Vec<Vec<String>>,
    words: Vec<String>,
}

static MATERIAL: LazyLock<Material> = LazyLock::new(|| {
    fn collect(folder: &Path, files: &mut Vec<Vec<String>>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                collect(&path, files);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                files.push(text.split(";\n").map(|statement| statement.trim().to_owned()).collect());
            }
        }
    }
    let mut files = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/cohort/tests/statements"), &mut files);
    files.sort();
    let mut found: Vec<String> = files.iter().flatten().flat_map(|text| words(text)).map(str::to_owned).collect();
    found.extend(SETUP.split_whitespace().map(str::to_owned));
    found.sort();
    found.dedup();
    Material { files, words: found }
});

/// The words, numbers, quoted texts, operators and spaces of a text, nothing left out.
fn words(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            _ if first.is_alphanumeric() || first == '_' => {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.').unwrap_or(rest.len())
            }
            _ if first.is_whitespace() => rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len()),
            _ if "+-*/<>=~!@#%^&|?:".contains(first) => {
                rest.find(|c: char| !"+-*/<>=~!@#%^&|?:".contains(c)).unwrap_or(rest.len())
            }
            _ => first.len_utf8(),
        };
        found.push(&rest[..length]);
        rest = &rest[length..];
    }
    found
}

/// A few statements of one file: some of those that make something, and some of the others.
fn excerpt(random: &mut SmallRng) -> String {
    let Some(file) = MATERIAL.files.choose(random) else { return String::new() };
    let mut chosen: Vec<&str> = Vec::new();
    let makes = |statement: &&String| {
        let start = statement.trim_start().get(..6).unwrap_or_default();
        start.eq_ignore_ascii_case("create") || start.eq_ignore_ascii_case("insert")
    };
    let until = random.random_range(0..file.len());
    if random.random_bool(0.7) {
        chosen.extend(file[..until].iter().filter(makes).take(12).map(String::as_str));
    }
    for _ in 0..random.random_range(1..4) {
        chosen.extend(file.choose(random).map(String::as_str));
    }
    chosen.join(";\n")
}

fn mutated(text: &str, random: &mut SmallRng) -> String {
    if text.len() < 12 || random.random_bool(0.05) {
        return excerpt(random);
    }
    let mut list: Vec<String> = words(text).into_iter().map(str::to_owned).collect();
    for _ in 0..random.random_range(1..6) {
        if list.is_empty() {
            break;
        }
        let at = random.random_range(0..list.len());
        match random.random_range(0..8) {
            0 => {
                list.remove(at);
            }
            1 => {
                let end = (at + random.random_range(1..8)).min(list.len());
                list.drain(at..end);
            }
            2 => {
                let end = (at + random.random_range(1..12)).min(list.len());
                let part: Vec<String> = list[at..end].to_vec();
                let to = random.random_range(0..=list.len());
                list.splice(to..to, part);
            }
            3 | 4 => {
                if let Some(word) = MATERIAL.words.choose(random) {
                    list[at].clone_from(word);
                }
            }
            5 => {
                if let Some(word) = MATERIAL.words.choose(random) {
                    list.insert(at, format!(" {word} "));
                }
            }
            6 => {
                let other = random.random_range(0..list.len());
                list.swap(at, other);
            }
            _ => {
                let other = excerpt(random);
                let theirs = words(&other);
                if !theirs.is_empty() {
                    let from = random.random_range(0..theirs.len());
                    let end = (from + random.random_range(1..20)).min(theirs.len());
                    list.splice(at..at, theirs[from..end].iter().map(|word| (*word).to_owned()));
                }
            }
        }
    }
    list.concat()
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = SmallRng::seed_from_u64(u64::from(seed));
    let text = match std::str::from_utf8(&data[..size]) {
        Ok(text) if random.random_bool(0.9) => mutated(text, &mut random),
        _ => return fuzzer_mutate(data, size, max_size),
    };
    let mut length = text.len().min(max_size);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    data[..length].copy_from_slice(&text.as_bytes()[..length]);
    length
});
