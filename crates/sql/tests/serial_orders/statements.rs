//! The tables, and the statements that transactions are made of. Many of them read rows in order to change them, and then don't: a
//! trigger or a condition refuses the change, a key is taken, or the change is undone.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// Keys and values are few, so that transactions meet.
const KEYS: std::ops::RangeInclusive<i32> = 1..=3;

pub const SCHEMA: &[&str] = &[
    "create table plain (id int primary key, a int, b int unique, s text)",
    "create index on plain (a)",
    "create unique index on plain (a) where s = 'unique'",
    "create table fired (id int primary key, a int, b int unique, s text)",
    "create index on fired (a)",
    "create table log (k int, v int)",
    "create table pair (id int, a int, b int, s text, primary key (id, a))",
    "create unique index on pair (b, id)",
    "create table parent (id int primary key, a int)",
    "create table child (id int primary key, parent int references parent on delete cascade on update cascade)",
    "create index on child (parent)",
    "create table ward (id int primary key, parent int references parent deferrable initially deferred)",
    "create table later (id int primary key, k int unique deferrable initially deferred)",
    // The trigger looks at a row's old or new `s` to choose its action.
    "create function before_row() returns trigger language plpgsql as $$
     begin
         if tg_op = 'DELETE' then
             if old.s = 'skip' then return null; end if;
             if old.s = 'log' then insert into log values (old.id, old.a); return null; end if;
             if old.s = 'fail' then raise exception 'no'; end if;
             return old;
         end if;
         if new.s = 'skip' then return null; end if;
         if new.s = 'log' then insert into log values (new.id, new.a); return null; end if;
         if new.s = 'fail' then raise exception 'no'; end if;
         if new.s = 'more' then new.a := new.a + 1; end if;
         if new.s = 'same' and tg_op = 'UPDATE' then return old; end if;
         return new;
     end $$",
    "create trigger before_row before insert or update or delete on fired for each row execute function before_row()",
    // Says how many rows a statement concerned, or why it failed.
    "create function tried(text) returns text language plpgsql as $$
     declare n int;
     begin
         execute $1;
         get diagnostics n = row_count;
         return n;
     exception when unique_violation or foreign_key_violation or raise_exception then
         return sqlstate;
     end $$",
    // The same, and undoes it.
    "create function undone(text) returns text language plpgsql as $$
     declare n int;
     begin
         execute $1;
         get diagnostics n = row_count;
         raise exception 'undo';
     exception when unique_violation or foreign_key_violation or raise_exception then
         return sqlstate || coalesce(n, 0);
     end $$",
];

pub const TABLES: &[&str] = &["plain", "fired", "log", "pair", "parent", "child", "ward", "later"];

pub const CLEAR: &[&str] = &[
    "delete from ward",
    "delete from child",
    "delete from parent",
    "delete from plain",
    "update fired set s = null where s = any ('{skip,log,fail,same}')",
    "delete from fired",
    "delete from log",
    "delete from pair",
    "delete from later",
];

/// The tables of a case, and the key that most of its statements are about.
pub struct Theme {
    tables: Vec<&'static str>,
    key: i32,
}

fn one_of(texts: &[&'static str], random: &mut StdRng) -> &'static str {
    texts.choose(random).expect("there are some")
}

impl Theme {
    pub fn choose(random: &mut StdRng) -> Theme {
        let tables: &[&[&str]] = &[
            &["plain"],
            &["plain", "log"],
            &["fired", "log"],
            &["fired", "log"],
            &["fired", "log"],
            &["fired", "plain"],
            &["pair", "log"],
            &["parent", "child"],
            &["parent", "ward"],
            &["parent", "child", "log"],
            &["later", "log"],
        ];
        Theme { tables: tables.choose(random).expect("there are some").to_vec(), key: random.random_range(KEYS) }
    }

    fn key(&self, random: &mut StdRng) -> i32 {
        if random.random_bool(0.6) { self.key } else { random.random_range(KEYS) }
    }

    fn table(&self, random: &mut StdRng) -> &'static str {
        one_of(&self.tables, random)
    }

    /// Fills the tables: each key has a row or none.
    pub fn rows(&self, random: &mut StdRng) -> Vec<String> {
        let mut rows = Vec::new();
        for table in &self.tables {
            for id in KEYS {
                let (a, b) =
                    (self.key(random), if random.random_bool(0.2) { "null".to_owned() } else { id.to_string() });
                let s = word(random);
                if !random.random_bool(0.8) {
                    continue;
                }
                rows.push(match *table {
                    "plain" | "fired" | "pair" => format!("insert into {table} values ({id}, {a}, {b}, null)"),
                    "child" | "ward" => format!("insert into {table} select {id}, id from parent where id = {a}"),
                    "later" => format!("insert into later values ({id}, {b})"),
                    _ => format!("insert into {table} values ({id}, {a})"),
                });
                if *table == "fired" && random.random_bool(0.2) {
                    rows.push("alter table fired disable trigger before_row".to_owned());
                    rows.push(format!("update fired set s = {s} where id = {id}"));
                    rows.push("alter table fired enable trigger before_row".to_owned());
                }
            }
        }
        rows
    }

    /// A statement that only reads.
    pub fn question(&self, random: &mut StdRng) -> String {
        let table = self.table(random);
        let condition = self.condition(table, random);
        match random.random_range(0..8) {
            0 | 2 if table == "log" => "select * from log".to_owned(),
            0 => format!("select count(*) from {table}"),
            1 => format!("select count(*) from {table} where {condition}"),
            2 => {
                let other = self.table(random);
                let column = first_column(other);
                format!(
                    "select t.* from {table} t where {condition} and exists (select from {other} where {column} = {})",
                    self.key(random)
                )
            }
            _ => format!("select * from {table} where {condition}"),
        }
    }

    /// A statement that changes or locks rows, or tries to.
    pub fn change(&self, random: &mut StdRng) -> String {
        let table = self.table(random);
        let condition = self.condition(table, random);
        match random.random_range(0..21) {
            20 => self.merge(table, random),
            0..=7 => {
                let assignment = self.assignment(table, random);
                let returning = one_of(&["", "", " returning *"], random);
                format!("update {table} set {assignment} where {condition}{returning}")
            }
            8..=10 => {
                let returning = one_of(&["", "", " returning *"], random);
                format!("delete from {table} where {condition}{returning}")
            }
            11 => {
                let other = self.table(random);
                let (own, others) = (first_column(table), first_column(other));
                format!(
                    "delete from {table} t using {other} o where t.{own} = o.{others} and t.{own} = {}",
                    self.key(random)
                )
            }
            12 => {
                let strength = one_of(&["update", "no key update", "share", "key share"], random);
                format!("select * from {table} where {condition} for {strength}")
            }
            13 => {
                let assignment = self.assignment(table, random);
                format!(
                    "with changed as (update {table} set {assignment} where {condition} returning 1) select count(*) from changed"
                )
            }
            14 => {
                let other = self.table(random);
                let columns = match table {
                    "plain" | "fired" | "pair" => "count(*), 5, null, null",
                    "child" | "ward" => "count(*), null",
                    _ => "count(*), 5",
                };
                format!("insert into {table} select {columns} from {other} where {}", self.condition(other, random))
            }
            _ => self.insert(table, random),
        }
    }

    fn merge(&self, table: &'static str, random: &mut StdRng) -> String {
        let (key, column) = (self.key(random), first_column(table));
        let row = match table {
            "plain" | "fired" | "pair" => "o.k, 7, null, null",
            "child" | "ward" => "o.k, null",
            _ => "o.k, 7",
        };
        let matched = match random.random_range(0..3) {
            0 => "delete".to_owned(),
            1 => "do nothing".to_owned(),
            _ => format!("update set {}", self.assignment(table, random).replace("= a", "= t.a")),
        };
        format!(
            "merge into {table} t using (values ({key})) o (k) on t.{column} = o.k when matched then {matched} \
             when not matched then insert values ({row})"
        )
    }

    fn insert(&self, table: &'static str, random: &mut StdRng) -> String {
        let (id, other) = (self.key(random), self.key(random));
        let row = match table {
            "plain" | "fired" | "pair" => {
                let b = if random.random_bool(0.4) { "null".to_owned() } else { self.key(random).to_string() };
                format!("{id}, {other}, {b}, {}", word(random))
            }
            _ => format!("{id}, {other}"),
        };
        let insert = format!("insert into {table} values ({row})");
        if table == "log" {
            return insert;
        }
        let arbiter = if table == "pair" { "id, a" } else { "id" };
        match random.random_range(0..10) {
            0..=2 => insert,
            3 if table != "later" => format!("{insert} on conflict do nothing"),
            3..=5 => format!("{insert} on conflict ({arbiter}) do nothing"),
            6 if ["plain", "fired"].contains(&table) => format!("{insert} on conflict (b) do nothing"),
            6 => format!("{insert} on conflict ({arbiter}) do nothing returning *"),
            number => {
                let assignment = self.assignment(table, random).replace("= a", &format!("= {table}.a"));
                let condition = match number {
                    7 => String::new(),
                    8 => " where false".to_owned(),
                    _ => format!(" where {table}.{}", self.condition(table, random)),
                };
                format!("{insert} on conflict ({arbiter}) do update set {assignment}{condition}")
            }
        }
    }

    /// The assignments of an UPDATE.
    fn assignment(&self, table: &str, random: &mut StdRng) -> String {
        let value = self.key(random);
        let from_elsewhere = {
            let other = self.table(random);
            format!("(select count(*) from {other} where {})", self.condition(other, random))
        };
        match table {
            "log" => format!("v = {value}"),
            "parent" => match random.random_range(0..4) {
                0 => format!("id = {value}"),
                1 => format!("a = {from_elsewhere}"),
                _ => format!("a = {value}"),
            },
            "child" | "ward" => {
                format!("parent = {}", if random.random_bool(0.2) { "null".to_owned() } else { value.to_string() })
            }
            "later" => format!("k = {value}"),
            "fired" if random.random_bool(0.5) => format!("s = {}", word(random)),
            _ => match random.random_range(0..10) {
                0 => format!("id = {value}"),
                1 => format!("a = {from_elsewhere}"),
                2 => "a = a".to_owned(),
                3 => format!("b = {value}"),
                4..=7 => format!("s = {}", word(random)),
                _ => format!("a = {value}"),
            },
        }
    }

    /// Which rows: by primary key, most often.
    fn condition(&self, table: &str, random: &mut StdRng) -> String {
        let (first, second) = (self.key(random), self.key(random));
        let column = first_column(table);
        let general = random.random_range(0..10);
        match (table, general) {
            ("pair", 0..=4) => format!("id = {first} and a = {second}"),
            ("pair", 5) => format!("b = {first} and id = {second}"),
            (_, 0..=5) => format!("{column} = {first}"),
            (_, 6) => format!("{column} in ({first}, {second})"),
            (_, 7) => format!("{column} between {} and {}", first.min(second), first.max(second)),
            ("plain" | "fired", 8) => format!("b = {first}"),
            ("plain" | "fired" | "pair", _) => format!("a = {first}"),
            ("child" | "ward", _) => format!("parent = {first}"),
            ("later", _) => format!("k = {first}"),
            _ => format!("{column} >= {first}"),
        }
    }
}

fn word(random: &mut StdRng) -> &'static str {
    one_of(&["null", "'unique'", "'skip'", "'log'", "'log'", "'log'", "'more'", "'same'", "'fail'"], random)
}

fn first_column(table: &str) -> &'static str {
    if table == "log" { "k" } else { "id" }
}
