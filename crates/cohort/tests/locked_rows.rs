//! The rows that a statement locks, on Cohort and on a real PostgreSQL 15.
//!
//! A first session runs a random statement with FOR UPDATE or its kin: over tables, views, views that lock rows themselves, subqueries,
//! outer joins, in common table expressions, in subqueries of expressions, as the source of changes. It leaves its transaction open. A
//! second session then asks which rows of each table are free. Both servers must give the statement the same answer, and have the same rows
//! free.
//!
//! `COHORT_LOCKED_ROWS` says how many statements are tried, `COHORT_LOCKED_ROWS_FROM` the seed of the first one.

mod common;

use std::path::Path;

use common::Server;
use common::reference::{Reference, server_binaries};
use common::search::search;
use common::wire::Session;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// How many statements there are if nobody asks for another number.
const STATEMENTS: u64 = 300;

const SETUP: &[&str] = &[
    // Plans of one sort, so that both servers come to rows in the order in which they lie.
    "set enable_hashjoin to off; set enable_mergejoin to off; set enable_indexscan to off; set enable_bitmapscan to off",
    "set enable_indexonlyscan to off; set enable_material to off; set enable_memoize to off",
    "create table t (id int, b int)",
    "create table u (id int, b int)",
    "create table o (id int)",
    "insert into t select g, g % 3 from generate_series(1, 6) g",
    "insert into u select g, g % 2 from generate_series(2, 7) g",
    "insert into o select g from generate_series(3, 8) g",
    "create view v as select * from t where b > 0",
    "create view w as select * from v where id < 6",
    "create view j as select t.id, u.b from t join u using (id)",
    "create view s as select * from u offset 0",
    "create view n as select u.id, t.b from u left join t using (id)",
    "create view m as select v.id, u.b from u left join v on v.id = u.id",
    "create view p as select v.id, u.b from v full join u using (id) where v.id > 1",
    "create view f as select id, b from u order by id limit 2 for update",
    "create view e as select * from o where exists (select from v where v.id = o.id for share)",
];
const TABLES: &[&str] = &["t", "u", "o"];
const CONDITIONS: &[&str] =
    &["x.id > 3", "x.id in (2, 4, 6)", "x.b = 1", "x.id is not null", "x.b is null", "x.id < 100"];
/// Further ones that refuse NULL, in less plain words.
const REFUSALS: &[&str] = &[
    "not (x.id is null)",
    "not (x.id = 3)",
    "(x.b = 1) is true",
    "(x.b = 1) is not false",
    "row(x.id, 1) is not null",
    "x.b <> all (array[0, 3])",
    "x.id not in (3, 4)",
    "exists (select from t z where z.id = x.id and z.b = 1)",
    "not exists (select from t z where z.id = x.id and z.b = 1)",
];
const CLAUSES: &[&str] = &["update", "update", "no key update", "share", "key share"];
const WAITS: &[&str] = &["", "", "", " skip locked", " nowait"];

struct Choices(StdRng);

impl Choices {
    fn any<T: Copy>(&mut self, of: &[T]) -> T {
        *of.choose(&mut self.0).expect("there are some")
    }

    fn one_of(&mut self, count: u32) -> bool {
        self.0.random_range(0..count) == 0
    }

    /// A relation with the columns `id` and `b`.
    fn source(&mut self) -> String {
        match self.0.random_range(0..12) {
            0 => format!("(select * from {} offset 0)", self.any(&["t", "v", "u"])),
            1 => format!("(select * from {} order by id limit 3)", self.any(&["t", "w", "j"])),
            2 => self.any(&["s", "f"]).to_owned(),
            _ => self.joined_source(),
        }
    }

    /// A relation that a join has nothing of but its tables. How much of another one is read, and locked, is up to the plan.
    fn joined_source(&mut self) -> String {
        match self.0.random_range(0..8) {
            0 => "(select * from t where b < 2)".to_owned(),
            1 => "(select id, b from v)".to_owned(),
            _ => self.any(&["t", "u", "v", "w", "j", "n", "m", "p", "t", "v"]).to_owned(),
        }
    }

    fn clause(&mut self, of: &[&str]) -> String {
        let of = if of.is_empty() || !self.one_of(3) { String::new() } else { format!(" of {}", self.any(of)) };
        format!(" for {}{of}{}", self.any(CLAUSES), self.any(WAITS))
    }

    fn filter(&mut self) -> String {
        match self.0.random_range(0..6) {
            0 => String::new(),
            1 => format!(" where {} and {}", self.any(CONDITIONS), self.any(CONDITIONS)),
            2 => format!(" where {}", self.any(REFUSALS)),
            3 => format!(" where {} and {}", self.any(REFUSALS), self.any(CONDITIONS)),
            _ => format!(" where {}", self.any(CONDITIONS)),
        }
    }

    fn order(&mut self) -> String {
        match self.0.random_range(0..3) {
            0 => format!(" order by x.id{} limit {}", self.any(&["", " desc"]), self.0.random_range(1..4)),
            1 => " order by x.id".to_owned(),
            _ => String::new(),
        }
    }

    /// A query of one column `id` that locks rows.
    fn locking(&mut self) -> String {
        let (filter, order) = (self.filter(), self.order());
        if !self.one_of(3) {
            return format!("select x.id from {} x{filter}{order}{}", self.source(), self.clause(&["x"]));
        }
        let join = self.any(&["join", "left join", "right join", "full join"]);
        let clause = self.clause(&["x", "y"]);
        let (source, other) = (self.joined_source(), self.joined_source());
        let more = if filter.is_empty() || self.one_of(2) { "" } else { " and y.b >= 0" };
        format!("select x.id from {source} x {join} {other} y on y.id = x.id{filter}{more}{order}{clause}")
    }

    fn statement(&mut self) -> String {
        let (source, condition) = (self.source(), self.any(CONDITIONS));
        let not = self.any(&["", "", "not "]);
        match self.0.random_range(0..14) {
            0 | 1 => {
                format!(
                    "select o.id from o where {not}exists (select from {source} x where x.id = o.id and {condition}{})",
                    self.clause(&[])
                )
            }
            2 => format!(
                "select o.id from o where {not}exists (select from {source} x where x.id = o.id and {condition})"
            ),
            3 => format!("select exists ({})", self.locking()),
            4 => format!("select id from o where id in ({})", self.locking()),
            5 => format!("with c as ({}) select count(*) from c where id > 2", self.locking()),
            6 => format!(
                "with c as ({}) update t set b = 9 where exists (select from c where c.id = t.id)",
                self.locking()
            ),
            7 => format!("with c as ({}) delete from t where id = (select max(id) from c)", self.locking()),
            8 => format!("with c as not materialized ({}) select id from c where id = 4", self.locking()),
            9 => format!("insert into o select id + 10 from ({}) q where id > 2", self.locking()),
            10 => format!("select q.id from o join ({}) q on q.id = o.id", self.locking()),
            11 => format!("update t set b = 8 where exists (select from {source} x where x.id = t.id)"),
            12 => format!("select x.id from e x{}", self.any(&["", " where x.id < 6", " for update"])),
            _ => self.locking(),
        }
    }
}

/// One server: a session that locks rows, and one that asks for those that are free.
struct Side {
    locks: Session,
    asks: Session,
}

impl Side {
    fn connect(socket: &Path) -> Side {
        let mut locks = Session::connect(socket, "postgres");
        for text in SETUP {
            let answer = locks.simple(text);
            assert!(!answer.contains("ERROR "), "{text}: {answer}");
        }
        Side { locks, asks: Session::connect(socket, "postgres") }
    }

    /// The statement's answer, and the rows that are free while its transaction is open.
    fn outcome(&mut self, statement: &str) -> String {
        self.locks.simple("begin");
        let answer = self.locks.simple(statement);
        // Rows come in an order that no clause gives.
        let mut lines: Vec<&str> = answer.lines().collect();
        lines.sort_unstable();
        let mut outcome = lines.join("\n");
        for table in TABLES {
            for mode in ["update", "key share"] {
                let free = self.asks.simple(&format!("select id from {table} order by id for {mode} skip locked"));
                let rows: Vec<&str> = free.lines().filter_map(|line| line.strip_prefix("row ")).collect();
                outcome.push_str(&format!("\n{table} free for {mode}: {}", rows.join(" ")));
            }
        }
        self.locks.simple("rollback");
        outcome
    }
}

#[test]
fn statements_lock_the_rows_that_they_lock_in_postgresql() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start_with(&binaries, &["autovacuum=off", "fsync=off"]);
    let mut sides = [Side::connect(&reference.socket()), Side::connect(&server.socket())];
    let mut errors = 0;
    let count = search("COHORT_LOCKED_ROWS", STATEMENTS, |seed| {
        let statement = Choices(StdRng::seed_from_u64(seed)).statement();
        let [expected, found] = sides.each_mut().map(|side| side.outcome(&statement));
        errors += u64::from(expected.contains("ERROR "));
        (expected != found).then(|| format!("{statement};\nPostgreSQL:\n{expected}\nCohort:\n{found}\n"))
    });
    assert!(errors <= count / 3, "{errors} of {count} statements have failed");
    server.stop();
}
