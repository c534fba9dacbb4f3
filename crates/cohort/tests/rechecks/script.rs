//! The steps of both sessions of a schedule.

use std::fmt;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// The steps of a schedule.
pub struct Script {
    /// The statement reads through indexes, if it can: partial ones and ones of expressions among them.
    pub reads_indexes: bool,
    rows: Vec<String>,
    /// The first session's statements before the second one's.
    pub changes: Vec<String>,
    /// The second session's isolation level.
    pub level: &'static str,
    /// The second session's statement.
    pub statement: String,
    /// A further statement of the first session, while the second one waits.
    pub later: Option<&'static str>,
    /// How the first session ends its transaction.
    pub end: &'static str,
}

impl Script {
    /// The schedule of a seed.
    pub fn of(seed: u64) -> Script {
        let reads_indexes = seed >= INDEXED;
        let mut choices = Choices(StdRng::seed_from_u64(seed), reads_indexes);
        let mut rows = choices.rows();
        let mut later = None;
        let (changes, statement) = match choices.between(0, 3) {
            _ if seed % 10 == OVER_VIEWS => {
                rows.push("create view w as select v.id, u.d from v join u on v.b = u.tid".to_owned());
                later = Some(choices.later_definition());
                (choices.view_definitions(), choices.statement_over_views())
            }
            _ if seed % 10 == MERGED => {
                let count = choices.between(1, 3);
                ((0..count).map(|_| choices.change_beside_merge()).collect(), choices.merge())
            }
            _ if seed % 10 == LOCKED_BELOW => {
                let count = choices.between(1, 3);
                ((0..count).map(|_| choices.change()).collect(), choices.statement_around_locks())
            }
            _ if seed % 20 == OUTER_JOINED || (reads_indexes && seed % 2 == 1) => {
                let count = choices.between(1, 3);
                ((0..count).map(|_| choices.change()).collect(), choices.statement_with_outer_join())
            }
            // A partial index may be in the way of a definition.
            0 if !reads_indexes => (choices.definitions(), choices.statement_on_definitions()),
            1 => {
                rows.extend(choices.keyed_rows());
                (choices.changes_of_keyed(), choices.statement_on_keyed())
            }
            _ => {
                let count = choices.between(1, 3);
                ((0..count).map(|_| choices.change()).collect(), choices.statement())
            }
        };
        // A query behind WITH needs a variable for its rows there.
        let through_function = choices.in_hundred(15) && !statement.starts_with("with ");
        Script {
            reads_indexes,
            rows,
            changes,
            level: if choices.in_hundred(85) { "read committed" } else { "repeatable read" },
            // Statements of functions must wait, too.
            statement: match through_function {
                true => format!("do $$ begin {}; end $$", as_performed(&statement)),
                false => statement,
            },
            later,
            end: if choices.in_hundred(85) { "commit" } else { "rollback" },
        }
    }

    /// The statements that make the tables and their rows.
    pub fn setup(&self) -> Vec<String> {
        let tables = [
            "drop table if exists t, u, t2, p, f, old_p, old_f, other_p, other_f cascade",
            "create table t (id int primary key, b int, c int)",
            "create table u (id int primary key, tid int, d int)",
            "create view v as select id, b from t where b > 1",
        ];
        let indexes = [
            "create index on t ((b % 2))",
            "create index on t (c, (b % 3))",
            "create index on t (b) where c < 3",
            "create index on t (id) where c <> 4",
        ];
        let indexes = indexes.map(str::to_owned).into_iter().filter(|_| self.reads_indexes);
        tables.map(str::to_owned).into_iter().chain(indexes).chain(self.rows.iter().cloned()).collect()
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for text in &self.rows {
            writeln!(f, "{text};")?;
        }
        for text in &self.changes {
            writeln!(f, "1: {text};")?;
        }
        writeln!(f, "2: begin isolation level {}; {};", self.level, self.statement)?;
        if let Some(later) = self.later {
            writeln!(f, "1: {later};")?;
        }
        writeln!(f, "1: {};", self.end)
    }
}

/// A statement within PL/pgSQL: its rows are thrown away.
fn as_performed(statement: &str) -> String {
    match statement.strip_prefix("select ") {
        Some(query) => format!("perform {query}"),
        None => statement.split(" returning ").next().unwrap_or_default().to_owned(),
    }
}

/// The seeds with this last digit are schedules over views of views.
const OVER_VIEWS: u64 = 7;

/// Seeds from here on are schedules whose statements read through indexes.
pub const INDEXED: u64 = 1_000_000;

/// The random choices of a schedule, and whether it reads through indexes.
struct Choices(StdRng, bool);

/// The seeds with this last digit have MERGE.
const MERGED: u64 = 0;
/// The seeds with this last digit have statements around queries that lock rows.
const LOCKED_BELOW: u64 = 8;
/// The seeds with this rest by 20 have statements that join rows of VALUES, functions or subqueries, and have an outer join.
const OUTER_JOINED: u64 = 15;
const LOCKS: &[&str] = &["for update", "for no key update", "for share", "for key share"];

impl Choices {
    fn in_hundred(&mut self, times: u32) -> bool {
        self.0.random_ratio(times, 100)
    }

    fn between(&mut self, low: i32, high: i32) -> i32 {
        self.0.random_range(low..=high)
    }

    fn any<T: Copy>(&mut self, of: &[T]) -> T {
        *of.choose(&mut self.0).expect("there are some")
    }

    /// A value of the columns by which rows are joined.
    fn value(&mut self) -> i32 {
        self.between(1, 4)
    }

    fn rows(&mut self) -> Vec<String> {
        let mut rows = Vec::new();
        for id in 1..=4 {
            rows.push(format!("insert into t values ({id}, {}, {})", self.value(), self.value()));
            // No two rows of `u` have one `tid`: which of several is joined is a matter of the plan.
            rows.push(format!("insert into u values ({id}, {id}, {})", self.value()));
        }
        rows
    }

    /// A change of the first session.
    fn change(&mut self) -> String {
        let (id, value) = (self.value(), self.value());
        match self.between(0, 11) {
            0 => format!("update t set b = {value} where id = {id}"),
            1 => format!("update t set b = b + 1 where id <= {id}"),
            2 => format!("update t set c = {value} where b = {id}"),
            // Both sides of a join together.
            3 => format!("update t set b = b + 10; update u set tid = tid + 10 where id >= {id}"),
            4 => format!("update u set tid = 10 where id = {id}; update t set b = 10 where b = {value}"),
            5 => format!("update u set d = {value} where id = {id}"),
            6 => format!("update u set tid = tid + 100 where id = {id}"),
            7 => format!("delete from t where id = {id}"),
            // Not here: IN and EXISTS. PostgreSQL looks at the same row of the subquery again, or at all of them, as its plan is.
            8 => format!("delete from u where id = {id}"),
            9 => format!("insert into t values ({}, {value}, {value}) on conflict (id) do update set b = 3", id + 3),
            10 => format!("update t set id = id + 10 where id = {id}"),
            // Not FOR UPDATE: PostgreSQL takes a change that the transaction makes after it for a change of the key.
            _ => format!("select * from t where id = {id} for no key update"),
        }
    }

    fn condition(&mut self, columns: &[&str]) -> String {
        let (column, value) = (self.any(columns), self.value());
        let operator = self.any(&["=", "<>", "<=", ">="]);
        if self.1 && columns.contains(&"t.b") && self.in_hundred(75) {
            let (other, rest) = (self.value(), self.between(0, 2));
            return match self.between(0, 4) {
                0 => format!("t.b % 2 = {}", rest % 2),
                1 => format!("t.c = {value} and t.b % 3 = {rest}"),
                2 => format!("t.c {operator} {value} and t.b % 3 = {rest}"),
                3 => format!("t.b {operator} {value} and t.c < 3"),
                _ => format!("t.id = {other} and t.c <> 4"),
            };
        }
        format!("{column} {operator} {value}")
    }

    fn lock(&mut self) -> &'static str {
        self.any(LOCKS)
    }

    /// A change of rows that the second session may merge into.
    fn change_beside_merge(&mut self) -> String {
        let (id, value) = (self.value(), self.value());
        match self.between(0, 5) {
            0 => format!("update t set id = id + 20 where id = {id}"),
            1 => format!("delete from t where id = {id}; insert into t values ({id}, {value}, 20)"),
            2 => format!("insert into t values ({}, {value}, 20)", id + 10),
            3 => format!("merge into t using u on t.id = u.tid and u.d > {value} when matched then update set b = u.d"),
            _ => self.change(),
        }
    }

    /// A MERGE of the second session.
    fn merge(&mut self) -> String {
        let source = self.any(&[
            "u s",
            "u s",
            "(select tid, max(d) as d from u group by tid order by tid) s",
            "(values (1, 3), (2, 1), (11, 2), (12, 4)) s (tid, d)",
            "(values (1, 3), (1, 3), (2, 1), (2, 1)) s (tid, d)",
            "(select u.tid, u.d from u left join t x on x.id = u.d) s",
        ]);
        // A row of the table has equal rows of the source, so that their order is of no matter.
        let on = self.any(&["t.id = s.tid", "t.id = s.tid", "t.b = s.tid", "t.id = s.tid and t.c > s.d"]);
        let mut clauses = Vec::new();
        for _ in 0..self.between(1, 3) {
            let condition = match self.between(0, 3) {
                0 => String::new(),
                1 => format!(" and s.d <> {}", self.value()),
                _ => format!(" and {}", self.condition(&["t.b", "t.c"])),
            };
            let action = match self.between(0, 4) {
                0 => "delete".to_owned(),
                1 => "do nothing".to_owned(),
                2 => format!("update set b = t.b + {}", self.value()),
                _ => "update set c = s.d + t.c * 10".to_owned(),
            };
            let is_last = condition.is_empty();
            clauses.push(format!("when matched{condition} then {action}"));
            if is_last {
                break;
            }
        }
        if self.in_hundred(60) {
            let condition = if self.in_hundred(30) { " and s.d > 1" } else { "" };
            let id = self.any(&["s.tid", "s.tid + 10", "s.tid + 20"]);
            clauses.push(format!("when not matched{condition} then insert values ({id}, s.d, 70)"));
        }
        format!("merge into t using {source} on {on} {}", clauses.join(" "))
    }

    /// A statement that groups, counts or orders rows of a query that locks them.
    fn statement_around_locks(&mut self) -> String {
        let lock = self.lock();
        let of_t = self.condition(&["t.b", "t.c", "t.id"]);
        let locked = match self.between(0, 4) {
            0 => format!("select * from v {lock}"),
            1 => format!("select v.id, u.d as b from v join u on v.b = u.tid {lock}"),
            2 => format!("select * from (select * from t where {of_t}) x {lock}"),
            3 => format!("select * from v {lock} skip locked"),
            _ => format!("select * from t where {of_t} {lock}"),
        };
        match self.between(0, 5) {
            0 => format!("select count(*) from ({locked}) q"),
            1 => format!("with q as ({locked}) select count(*) from q"),
            2 => format!("select b, count(*) from ({locked}) q group by b"),
            3 => format!("select * from ({locked}) q order by id limit 1"),
            4 => format!("select distinct b from ({locked}) q"),
            _ => format!("select id from ({locked}) q where exists (select from u where u.tid = q.b)"),
        }
    }

    /// A statement of the second session.
    fn statement(&mut self) -> String {
        let lock = self.lock();
        let other = self.lock();
        let of_t = self.condition(&["t.b", "t.c", "t.id"]);
        let of_u = self.condition(&["u.d", "u.tid", "u.id"]);
        let both = if self.in_hundred(33) { format!("where {of_t} and {of_u}") } else { String::new() };
        let value = self.value();
        match self.between(0, 27) {
            0..=3 => format!("select * from t join u on t.b = u.tid {both} {lock}"),
            4 => format!("select * from t join u on t.b = u.tid {both} {lock} of t"),
            5 => format!("select * from t join u on t.b = u.tid {both} {lock} of t {other} of u"),
            6 => format!("select t.*, x.* from t join t x on t.b = x.b where {of_t} {lock}"),
            7 => format!("select t.*, u.* from t left join u on t.b = u.tid where {of_t} {lock} of t"),
            // Not here: IN and EXISTS. PostgreSQL looks at the same row of the subquery again, or at all of them, as its plan is.
            8 => format!("select * from t join u on t.b = u.tid where {of_u} {lock} of u"),
            9 => format!("select t.id, u.id, x.id from t join u on t.id = u.id join t x on x.id = t.id {lock}"),
            10 => format!("select *, (select d from u where u.tid = t.b) from t where {of_t} {lock}"),
            11 => format!("select * from t where {of_t} order by id limit 2 {lock}"),
            // Only FOR UPDATE: with a weaker lock PostgreSQL waits, in spite of SKIP LOCKED and NOWAIT, for a row that was changed twice.
            12 => format!("select * from t where {of_t} for update skip locked"),
            13 => format!("select * from t where {of_t} for update nowait"),
            14 => format!("with x as (select * from t where {of_t} {lock}) select * from x join u on x.b = u.tid"),
            15 => format!("select * from (select * from t where {of_t} {lock}) t join u on t.b = u.tid {other} of u"),
            16 => format!("update t set c = c + 10 from u where t.b = u.tid and {of_u} returning t.*"),
            17 => format!("update t set c = c + 10 where {of_t} returning *"),
            18 => format!("update t set c = (select d from u where u.tid = t.b) where {of_t} returning *"),
            19 => format!("delete from t using u where t.b = u.tid and {of_u} returning t.*"),
            20 => format!("delete from t where b = (select max(tid) from u where {of_u}) returning *"),
            21 => format!(
                "insert into t values ({value}, 7, 8), (9, 9, 9) on conflict (id) do update \
                 set b = excluded.b + t.b where {of_t} returning *"
            ),
            22 => format!("insert into t values ({value}, 7, 8) on conflict do nothing returning *"),
            23 => format!("with x as (update t set c = c + 100 where {of_t} returning *) select * from x"),
            24 => format!(
                "update u set d = d + 10 from t x join t on x.b = t.c where u.tid = t.id and {of_t} returning u.id"
            ),
            25 => format!("select v.id, u.id from v join u on v.b = u.tid {lock}"),
            26 => format!(
                "select distinct_b.b, t.id from (select distinct b from t) distinct_b join t using (b) where {of_t} {lock} of t"
            ),
            _ => format!("select * from t join u on t.b = u.tid join t x on x.c = u.d where {of_t} {lock}"),
        }
    }

    /// Changes of definitions by the first session.
    /// A statement that changes or locks rows of `t`, which are joined with rows of no table, and with a table by an outer join.
    fn statement_with_outer_join(&mut self) -> String {
        let of_t = self.condition(&["t.b", "t.c", "t.id"]);
        // Columns `z` and `n`, by which joins are: each value is there once. `n` is NULL in some rows.
        let rows = self.any(&[
            "(values (1, 1), (2, null), (3, 3), (11, null)) x (z, n)",
            "(select g as z, nullif(g, 2) as n from generate_series(1, 12) g) x",
            "(select tid as z, max(tid) as n from u group by tid) x",
            "(select distinct b as z, null::int as n from t) x",
            "generate_series(1, 12) with ordinality x (z, n)",
            "unnest(array[1, 2, 3, 12], array[1, null, 3]) x (z, n)",
        ]);
        let by = self.any(&["t.b = x.z", "t.id = x.z", "t.c = x.n"]);
        let other = self.any(&["u on u.tid = x.z", "u on u.id = x.n", "t u on u.id = x.z"]);
        match self.between(0, 5) {
            0 => format!("delete from t using {rows} left join {other} where {by} and {of_t} returning t.*, x.*"),
            1 => format!(
                "update t set c = c + x.z from {rows} left join {other} where {by} and {of_t} returning t.*, x.*, u.*"
            ),
            2 => format!("select t.*, x from t left join {rows} on {by} where {of_t} for update of t"),
            3 => {
                format!("select t.*, x, u.* from t join {rows} on {by} left join {other} where {of_t} for update of t")
            }
            4 => format!(
                "select t.*, x, u.* from t left join ({rows} left join {other}) on {by} where {of_t} for no key update of t"
            ),
            _ => format!(
                "select t.*, x from t left join lateral (select t.b + g as z, t.c as n from generate_series(0, 0) g) x \
                 on x.z < 20 where {of_t} for update of t"
            ),
        }
    }

    fn definitions(&mut self) -> Vec<String> {
        let change = match self.between(0, 11) {
            0 => "alter table t add d int default 5",
            1 => "alter table t drop c",
            2 => "alter table t rename b to bb",
            3 => "alter table t alter c type text",
            4 => "create unique index on t (c, id)",
            5 => "drop table t cascade; create table t (id int, b text)",
            6 => "alter table t rename to t2; create table t (id int, z int)",
            7 => self.any(&[
                "drop view v; create view v as select id, c as b from t",
                "create or replace view v as select id, b from t where b > 2 with check option",
                "alter view v rename to old_v",
                "create or replace view v as select id, b, c from t where id < 3",
            ]),
            8 => "truncate t",
            9 => "alter table t alter c set not null; alter table t add check (c < 10)",
            10 => "alter table t add d int; update t set d = b",
            _ => "alter table t drop b cascade; alter table t add b text default 'x'",
        };
        change.split("; ").map(str::to_owned).collect()
    }

    /// A statement that goes by the definitions.
    fn statement_on_definitions(&mut self) -> String {
        let (id, value) = (self.value(), self.value());
        match self.between(0, 16) {
            14 => "select * from v".to_owned(),
            15 => format!("update v set b = {value} where id = {id}"),
            16 => format!("insert into v values (20, {value})"),
            0 => format!("select d from t where id = {id}"),
            1 => format!("select * from t where id <= {id}"),
            2 => format!("select b from t where id = {id}"),
            3 => format!("select bb, c from t where id = {id}"),
            4 => "insert into t values (9, 9, 12, 9)".to_owned(),
            5 => "insert into t values (9, 9, 'abc')".to_owned(),
            6 => format!("insert into t values ({value}, 9, 5) on conflict (c, id) do nothing"),
            7 => "insert into t values (1, 'z')".to_owned(),
            8 => format!("update t set b = 'x' where id = {id} returning *"),
            9 => format!("update t set d = 7 where id = {id} returning id, d"),
            10 => "select * from t join u on t.b = u.tid".to_owned(),
            11 => format!("select t.*, length(t.b) from t where id = {id}"),
            12 => format!("delete from t where c = {value} returning id"),
            _ => "select z from t".to_owned(),
        }
    }

    /// Changes of views by the first session.
    fn view_definitions(&mut self) -> Vec<String> {
        let change = match self.between(0, 8) {
            0 => "drop view w",
            1 => "drop view w; drop view v",
            2 => "create or replace view w as select v.id, u.d, 1 as one from v join u on v.id = u.id",
            3 => "create or replace view v as select id, b from t where b > 2",
            4 => "alter view v set (security_barrier)",
            5 => "alter view w rename to w2",
            6 => "alter view v rename to v2; create view v as select id, d as b from u",
            7 => "alter view w reset (security_barrier)",
            _ => "lock v in access exclusive mode",
        };
        change.split("; ").map(str::to_owned).collect()
    }

    fn statement_over_views(&mut self) -> String {
        let (id, lock) = (self.value(), self.lock());
        match self.between(0, 11) {
            10 => "select w.id, u.id from w, u where w.id = u.id".to_owned(),
            11 => format!("select w.id, v.b from w join v using (id) where v.b <> {id}"),
            0 | 1 => "select * from w".to_owned(),
            2 | 3 => "select * from v".to_owned(),
            4 => format!("select * from v {lock}"),
            5 => "select w.id, t.id from w join t on t.id = w.id".to_owned(),
            6 => "select t.id, v.b from t join v on t.id = v.id".to_owned(),
            7 => format!("update v set b = 7 where id = {id}"),
            8 => format!("delete from v where id = {id}"),
            _ => "insert into u select 20 + id, id, b from v".to_owned(),
        }
    }

    /// A change of what the views read, or of other views.
    fn later_definition(&mut self) -> &'static str {
        self.any(&[
            "alter table t add z int",
            "alter table u add z int",
            "truncate t",
            "truncate u",
            "drop view if exists v cascade",
            "alter view if exists v rename to v3",
            "alter table t alter c type text",
        ])
    }

    /// Tables with a foreign key, and two that may take their places.
    fn keyed_rows(&mut self) -> Vec<String> {
        let actions = ["no action", "restrict", "cascade", "set null", "set default"];
        let (on_delete, on_update) = (self.any(&actions), self.any(&actions));
        let deferral = self.any(&["", "", "deferrable initially deferred"]);
        [
            "create table p (id int primary key, v int)".to_owned(),
            "create table other_p (id int primary key, v int)".to_owned(),
            format!(
                "create table f (id int primary key, pid int default 1 references p on delete {on_delete} \
                 on update {on_update} {deferral}, n int)"
            ),
            "create table other_f (id int, pid int, n int)".to_owned(),
            "insert into p select g, g from generate_series(1, 5) g".to_owned(),
            "insert into other_p select g, g from generate_series(3, 8) g".to_owned(),
            "insert into f select g, g, g from generate_series(1, 3) g".to_owned(),
            "insert into other_f select g + 50, g, g from generate_series(2, 4) g".to_owned(),
        ]
        .into()
    }

    /// Changes of the first session that do not wait for the second one.
    fn changes_of_keyed(&mut self) -> Vec<String> {
        let id = self.value();
        let changes = match self.between(0, 17) {
            0 => "alter table f alter n type bigint".to_owned(),
            1 => "alter table p alter v type bigint".to_owned(),
            2 => "alter table f rename to old_f; alter table other_f rename to f".to_owned(),
            3 => "alter table p rename to old_p; alter table other_p rename to p".to_owned(),
            4 => "drop table f".to_owned(),
            5 => "alter table f drop column pid".to_owned(),
            6 => "alter table f rename pid to p2".to_owned(),
            7 => format!("lock f; update f set pid = 4 where id = {id}"),
            8 => "lock p; insert into p values (9, 9)".to_owned(),
            9 => format!("lock f; insert into f values (9, {id}, 9)"),
            10 => "lock f; delete from f".to_owned(),
            11 => "truncate f".to_owned(),
            12 => "alter table f drop constraint f_pid_fkey".to_owned(),
            13 => format!("lock p; update p set v = 7 where id = {id}"),
            14 => format!("insert into f values (9, {id}, 9)"),
            15 => format!("delete from f where pid = {id}"),
            16 => format!("update f set pid = 5 where pid = {id}"),
            _ => "alter table p rename id to id2".to_owned(),
        };
        // Its own checks are made now, so that its end waits for nothing.
        let checks = "set constraints all immediate";
        changes.split("; ").chain([checks]).map(str::to_owned).collect()
    }

    fn statement_on_keyed(&mut self) -> String {
        let id = self.value();
        match self.between(0, 9) {
            0..=2 => format!("delete from p where id = {id}"),
            3 | 4 => format!("update p set id = id + 20 where id = {id}"),
            5 => format!("insert into f values (30, {}, 1)", self.between(1, 9)),
            6 => format!("update f set pid = {} where id = {id}", self.between(1, 9)),
            7 => "delete from p".to_owned(),
            8 => format!("update p set v = 12 where id = {id}"),
            _ => format!("insert into f select 40 + g, g, g from generate_series(2, {id}) g"),
        }
    }
}
