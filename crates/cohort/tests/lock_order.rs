//! The order in which a statement locks its relations, on Cohort and on a real PostgreSQL 15.
//!
//! Tables, views, views of views and functions in SQL are named by a random statement: in FROM, in common table expressions, in subqueries of
//! expressions, as targets of changes. Another session holds one of the tables. While the statement waits for it, Cohort may have locked no
//! relation that PostgreSQL has not locked: two sessions could end in a deadlock that PostgreSQL does not have. Modes are not compared, as
//! Cohort locks a relation once, in the strongest mode.
//!
//! `COHORT_LOCK_ORDER` says how many statements are tried, `COHORT_LOCK_ORDER_FROM` the seed of the first one.

mod common;

use std::path::Path;

use common::Server;
use common::background::Background;
use common::reference::{Reference, server_binaries};
use common::search::search;
use common::wire::Session;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// How many statements there are if nobody asks for another number.
const STATEMENTS: u64 = 150;

const SETUP: &[&str] = &[
    "create table t1 (id int, a int)",
    "create table t2 (id int, a int)",
    "create table t3 (id int, a int)",
    "create table t4 (id int, a int)",
    "create view v1 as select id, a from t1",
    "create view v2 as select id, a from t2 where id > 0",
    "create view v5 as select id, a from t1 where exists (select from t4)",
    "create view v6 as select id, a from v5 where a > (select count(*) from v2)",
    "create view w1 as select v1.id, t3.a from v1, t3",
    "create view w2 as select x.id, x.a from (select * from v2) x where exists (select from t4)",
    "create view w3 as with c as (select * from v1) select v2.id, c.a from v2, c",
    "create view w4 as select id, a from v1 union all select id, a from t2",
    "create function f1() returns setof t4 language sql stable as 'select * from t4'",
    "create function f2() returns bigint language sql stable as 'select count(*) from v2'",
];
const TABLES: &[&str] = &["t1", "t2", "t3", "t4"];
/// Relations that can be read.
const SOURCES: &[&str] = &["t1", "t2", "t3", "t4", "v1", "v2", "w1", "w2", "w3", "w4", "v1", "w1", "f1()"];
/// Relations whose rows can be changed.
const TARGETS: &[&str] = &["t1", "t2", "t3", "v1", "v2", "v5", "v6"];

struct Choices(StdRng);

impl Choices {
    fn any<T: Copy>(&mut self, of: &[T]) -> T {
        *of.choose(&mut self.0).expect("there are some")
    }

    /// The items of a FROM.
    fn from(&mut self, depth: u32) -> String {
        let count = self.0.random_range(1..=2);
        let items: Vec<String> = (0..count)
            .map(|number| match self.0.random_range(0..6) {
                0 if depth < 2 => format!("({}) s{depth}{number}", self.query(depth + 1)),
                _ => format!("{} r{depth}{number}", self.any(SOURCES)),
            })
            .collect();
        items.join(", ")
    }

    fn query(&mut self, depth: u32) -> String {
        let from = self.from(depth);
        let filter = match self.0.random_range(0..6) {
            0 if depth < 2 => format!(" where exists ({})", self.query(depth + 1)),
            1 => format!(" where (select max(a) from {}) > 0", self.any(SOURCES)),
            2 => " where f2() >= 0".to_owned(),
            _ => String::new(),
        };
        match self.0.random_range(0..8) {
            0 if depth < 2 => {
                let common = self.query(depth + 1);
                format!("with c{depth} as ({common}) select r{depth}9.* from {} r{depth}9, c{depth}", self.any(SOURCES))
            }
            1 if depth < 2 => {
                format!("select 1 as id, 2 as a from {from}{filter} union all ({})", self.query(depth + 1))
            }
            2 => format!("select (select count(*) from {})::int as id, 2 as a from {from}{filter}", self.any(SOURCES)),
            _ => format!("select 1 as id, 2 as a from {from}{filter}"),
        }
    }

    fn statement(&mut self) -> String {
        let target = self.any(TARGETS);
        match self.0.random_range(0..12) {
            0 => format!("insert into {target} (id, a) select id, a from ({}) q", self.query(1)),
            1 => format!("update {target} set a = 1 from {}", self.from(1)),
            2 => format!("update {target} set a = (select count(*) from {})", self.any(SOURCES)),
            3 => format!("delete from {target} where exists ({})", self.query(1)),
            4 => format!("with c as ({}) delete from {target} using c", self.query(1)),
            5 => format!("explain {}", self.query(0)),
            6 => format!("prepare p as {}", self.query(0)),
            7 => format!("do $$ begin perform * from ({}) q; end $$", self.query(1)),
            8 => format!("select id from {} for update", self.any(&["t1", "v1", "v2", "w1", "w2", "w4"])),
            _ => self.query(0),
        }
    }
}

/// One server: a session that holds a table, and a session whose statement waits for it.
struct Side {
    holder: Session,
    waiting: Background,
}

impl Side {
    fn connect(socket: &Path) -> Side {
        let mut holder = Session::connect(socket, "postgres");
        for text in SETUP {
            let answer = holder.simple(text);
            assert!(!answer.contains("ERROR "), "{text}: {answer}");
        }
        Side { holder, waiting: Background::connect(socket, &[]) }
    }

    /// The relations that the statement has locked while it waits, or none if it does not wait.
    fn locks(&mut self, statement: &str, held: &str) -> Option<Vec<String>> {
        let answer = self.holder.simple(&format!("begin; lock table {held}"));
        assert!(!answer.contains("ERROR "), "{answer}");
        self.waiting.send(statement);
        let settled = self.waiting.settled(&mut self.holder);
        let seen = self.holder.simple(&format!(
            "select distinct relation::regclass::text from pg_locks where pid = {} and granted and locktype = 'relation' \
             and relation >= 16384 order by 1",
            self.waiting.pid
        ));
        self.holder.simple("rollback");
        let waits = settled.is_none();
        let answer = settled.unwrap_or_else(|| self.waiting.answer());
        assert!(!answer.contains("ERROR "), "{statement}: {answer}");
        self.waiting.send("deallocate all");
        self.waiting.answer();
        let locks = seen.lines().filter_map(|line| line.strip_prefix("row ")).map(str::to_owned).collect();
        waits.then_some(locks)
    }
}

#[test]
fn relations_are_locked_in_the_order_of_postgresql() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start_with(&binaries, &["autovacuum=off", "fsync=off"]);
    let mut sides = [Side::connect(&reference.socket()), Side::connect(&server.socket())];
    let (mut waits, mut unlocked) = (0, 0);
    let count = search("COHORT_LOCK_ORDER", STATEMENTS, |seed| {
        let mut choices = Choices(StdRng::seed_from_u64(seed));
        let (statement, held) = (choices.statement(), choices.any(TABLES));
        let [expected, found] = sides.each_mut().map(|side| side.locks(&statement, held));
        let (expected, found) = match (expected, found) {
            (Some(expected), Some(found)) => (expected, found),
            // PREPARE plans the statement in Cohort, and inlines functions.
            (None, Some(_)) if statement.starts_with("prepare ") => return None,
            (None, Some(_)) => return Some(format!("{held} is held\n{statement};\nonly Cohort waits\n")),
            // Cohort does not lock relations of parts that planning leaves out: see docs/compatibility.md.
            (Some(_), None) => {
                unlocked += 1;
                return None;
            }
            (None, None) => return None,
        };
        waits += 1;
        let mut early = found.iter().filter(|relation| !expected.contains(relation));
        early.next().map(|relation| {
            format!("{held} is held\n{statement};\n{relation} is early\nPostgreSQL: {expected:?}\nCohort: {found:?}\n")
        })
    });
    assert!(waits >= count / 4, "only {waits} of {count} statements have waited");
    assert!(unlocked <= count / 8, "{unlocked} of {count} statements have waited in PostgreSQL alone");
    server.stop();
}
