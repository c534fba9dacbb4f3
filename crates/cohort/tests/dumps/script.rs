//! Random scripts of definitions.
//!
//! A script keeps a rough idea of what it has made, so that most statements succeed. One that fails must fail alike on both servers.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::views;

/// A table, a view or a materialized view.
#[derive(Clone)]
pub struct Relation {
    pub name: String,
    pub columns: Vec<(String, &'static str)>,
}

/// The objects that exist by now.
pub struct Script {
    pub random: StdRng,
    pub tables: Vec<Relation>,
    pub views: Vec<Relation>,
    indexes: Vec<(String, String)>,
    sequences: Vec<String>,
    domains: Vec<String>,
    enums: Vec<String>,
    composites: Vec<String>,
    functions: Vec<(String, &'static str)>,
    triggers: Vec<(String, String)>,
    made: usize,
}

/// A script of this seed.
pub fn script(seed: u64, length: usize) -> Vec<String> {
    let mut script = Script {
        random: StdRng::seed_from_u64(seed),
        tables: Vec::new(),
        views: Vec::new(),
        indexes: Vec::new(),
        sequences: Vec::new(),
        domains: Vec::new(),
        enums: Vec::new(),
        composites: Vec::new(),
        functions: Vec::new(),
        triggers: Vec::new(),
        made: 0,
    };
    let mut statements = vec!["create schema one".to_owned(), "create schema two".to_owned()];
    statements.push(script.table());
    statements.extend((0..length).map(|_| script.statement()));
    statements
}

const TYPES: &[&str] = &[
    "int",
    "bigint",
    "smallint",
    "text",
    "varchar(20)",
    "varchar",
    "char(5)",
    "numeric(8,2)",
    "numeric",
    "boolean",
    "date",
    "timestamptz",
    "timestamp(3)",
    "float8",
    "real",
    "uuid",
    "jsonb",
    "json",
    "bytea",
    "interval",
    "inet",
    "text[]",
    "int[]",
    "time",
    "name",
    "interval day to second",
];

/// A value of a type, for a default.
fn value(kind: &str) -> &'static [&'static str] {
    match kind {
        "int" | "bigint" | "smallint" => &["5", "-3", "2 + 2", "'7'", "length('abc')", "null"],
        "text" | "varchar(20)" | "varchar" | "char(5)" | "name" => {
            &["'it''s'", "'a' || 'b'", "upper('x')", "current_user", "E'a\\nb'", "'x'::text", "null", "CURRENT_USER"]
        }
        "numeric(8,2)" | "numeric" | "float8" | "real" => &["1.50", "-2", "'3.5'", "1 / 3.0", "round(2.567, 1)"],
        "boolean" => &["true", "not false", "1 < 2", "'t'"],
        "date" => &["current_date", "'2020-02-03'", "CURRENT_DATE + 1"],
        "timestamptz" => &["now()", "CURRENT_TIMESTAMP", "now() + interval '1 day'"],
        "timestamp(3)" => &["localtimestamp", "'2020-01-01 10:00'", "CURRENT_TIMESTAMP(2)"],
        "uuid" => &["gen_random_uuid()", "'00000000-0000-0000-0000-000000000001'"],
        "jsonb" | "json" => &["'{}'", "'[1, 2]'"],
        "text[]" => &["'{a,b}'", "array['x', 'y']", "array[]::text[]"],
        "int[]" => &["'{1,2}'", "array[1, 2]"],
        "interval" => &["'1 day'", "interval '2 hours'"],
        "inet" => &["'10.0.0.1'"],
        "time" => &["'12:00'", "localtime"],
        "bytea" => &["'\\x00ff'"],
        _ => &["null"],
    }
}

/// A condition on a column of a type.
fn condition(column: &str, kind: &str, random: &mut StdRng) -> String {
    let forms: &[&str] = match kind {
        "int" | "bigint" | "smallint" => &[
            "C > 0",
            "C between 1 and 10",
            "C in (1, 2, 3)",
            "C % 2 = 0",
            "C <> all (array[1, 2])",
            "C is null or C < 5",
            "abs(C) < 100",
            "not C = 3",
        ],
        "text" | "varchar(20)" | "varchar" => &[
            "C <> ''",
            "C like 'a%'",
            "length(C) < 10",
            "C ~ '^a'",
            "C in ('a', 'b')",
            "lower(C) = C",
            "C is not null",
            "C not like '%z'",
            "C = 'x' collate \"C\"",
        ],
        "char(5)" => &["C = 'a'", "C <> 'b'"],
        "numeric(8,2)" | "numeric" | "float8" | "real" => &["C > 1.5", "C >= 0", "C between 0 and 1", "C * 2 < 10"],
        "boolean" => &["C", "not C", "C is true", "C is not false"],
        "date" => &["C > '2000-01-01'", "extract(year from C) > 1990", "C is distinct from '2001-01-01'"],
        "text[]" => &["'a' = any (C)", "C[1] = 'x'", "array_length(C, 1) > 1"],
        "jsonb" => &["C ->> 'a' = 'b'", "C ? 'k'", "C @> '{}'"],
        _ => &["C is not null", "C is null"],
    };
    pick(random, forms).replace('C', column)
}

/// One of some.
pub fn pick<'a, T>(random: &mut StdRng, list: &'a [T]) -> &'a T {
    &list[random.random_range(0..list.len())]
}

impl Script {
    pub fn chance(&mut self, percent: u32) -> bool {
        self.random.random_range(0..100) < percent
    }

    /// A new name; some need quotes.
    pub fn name(&mut self, prefix: &str) -> String {
        self.made += 1;
        match self.random.random_range(0..12) {
            0 => format!("\"{prefix} {}\"", self.made),
            1 => format!("\"{}{}\"", prefix.to_uppercase(), self.made),
            _ => format!("{prefix}{}", self.made),
        }
    }

    fn schema(&mut self) -> &'static str {
        if self.chance(75) { "one" } else { "two" }
    }

    fn new_name(&mut self, prefix: &str) -> String {
        let (schema, name) = (self.schema(), self.name(prefix));
        format!("{schema}.{name}")
    }

    pub fn any_table(&mut self) -> Relation {
        pick(&mut self.random, &self.tables).clone()
    }

    fn statement(&mut self) -> String {
        loop {
            let made = match self.random.random_range(0..100) {
                0..12 => Some(self.table()),
                12..22 => Some(self.index()),
                22..36 => Some(views::view(self)),
                36..42 => Some(self.new_type()),
                42..48 => Some(self.function()),
                48..51 => self.trigger(),
                51..54 => Some(self.sequence()),
                54..60 => self.comment(),
                60..66 => self.grant(),
                66..68 => Some(self.default_privileges()),
                68..71 => self.owner(),
                71..92 => self.alter_table(),
                92..97 => self.rename(),
                _ => self.alter_other(),
            };
            if let Some(made) = made {
                return made;
            }
        }
    }

    fn new_type(&mut self) -> String {
        match self.random.random_range(0..3) {
            0 => {
                let name = self.new_name("mood");
                self.enums.push(name.clone());
                format!("create type {name} as enum ('sad', 'it''s ok', 'happy')")
            }
            1 => {
                let name = self.new_name("pair");
                self.composites.push(name.clone());
                let collate = if self.chance(30) { " collate \"C\"" } else { "" };
                format!("create type {name} as (a int, b varchar(10){collate}, \"C d\" numeric(6,3)[])")
            }
            _ => {
                let name = self.new_name("dom");
                self.domains.push(name.clone());
                let kind = *pick(&mut self.random, &["int", "text", "varchar(20)", "numeric(8,2)"]);
                let mut text = format!("create domain {name} as {kind}");
                if matches!(kind, "text" | "varchar(20)") && self.chance(30) {
                    text += " collate \"C\"";
                }
                if self.chance(40) {
                    text += &format!(" default {}", pick(&mut self.random, value(kind)));
                }
                if self.chance(30) {
                    text += " not null";
                }
                if self.chance(60) {
                    text += &format!(" constraint fits check ({})", condition("value", kind, &mut self.random));
                }
                text
            }
        }
    }

    fn column_type(&mut self) -> String {
        let own: Vec<String> = self.domains.iter().chain(&self.enums).chain(&self.composites).cloned().collect();
        if !own.is_empty() && self.chance(12) {
            let array = if self.chance(20) { "[]" } else { "" };
            return format!("{}{array}", pick(&mut self.random, &own));
        }
        (*pick(&mut self.random, TYPES)).to_owned()
    }

    fn column(&mut self, place: usize) -> (String, String, &'static str) {
        let name = match self.random.random_range(0..10) {
            0 => format!("\"Col {place}\""),
            1 => format!("\"order{place}\""),
            _ => format!("c{place}"),
        };
        let kind = self.column_type();
        let known = TYPES.iter().find(|known| **known == kind).copied().unwrap_or("other");
        let mut text = format!("{name} {kind}");
        if self.chance(12) {
            let method = *pick(&mut self.random, &["pglz", "lz4", "default"]);
            if matches!(known, "text" | "varchar(20)" | "varchar" | "jsonb" | "bytea") {
                text += &format!(" compression {method}");
            }
        }
        if matches!(known, "text" | "varchar(20)" | "varchar" | "char(5)" | "text[]" | "name") && self.chance(25) {
            text += &format!(
                " collate {}",
                pick(&mut self.random, &["\"C\"", "\"POSIX\"", "pg_catalog.\"default\"", "ucs_basic"])
            );
        }
        match self.random.random_range(0..12) {
            0..3 => text += &format!(" default {}", pick(&mut self.random, value(known))),
            3 => text += " not null",
            4 if matches!(known, "int" | "bigint" | "smallint") => {
                text += *pick(
                    &mut self.random,
                    &[
                        " generated always as identity",
                        " generated by default as identity (start 10 increment 3 cache 5)",
                        " generated always as identity (minvalue -5 maxvalue 100 cycle)",
                    ],
                );
            }
            5 => text += &format!(" check ({})", condition(&name, known, &mut self.random)),
            6 if !matches!(known, "json" | "other") => text += " unique",
            7 if !matches!(known, "json" | "other") => {
                text += &format!(" constraint \"Named {place}\" unique nulls not distinct")
            }
            _ => {}
        }
        (text, name, known)
    }

    pub fn table(&mut self) -> String {
        let name = self.new_name("t");
        let count = self.random.random_range(2..7);
        let (mut parts, mut columns) = (Vec::new(), Vec::new());
        for place in 0..count {
            let (text, column, known) = self.column(place);
            parts.push(text);
            columns.push((column, known));
        }
        let serial = self.chance(15);
        if serial {
            parts.push("s serial".to_owned());
            columns.push(("s".to_owned(), "int"));
        }
        let usable: Vec<(String, &'static str)> =
            columns.iter().filter(|(_, kind)| !matches!(*kind, "json" | "other")).cloned().collect();
        if !usable.is_empty() && self.chance(50) {
            let key = pick(&mut self.random, &usable).0.clone();
            let named = if self.chance(30) { "constraint \"the key\" " } else { "" };
            let tail = pick(
                &mut self.random,
                &["", "", " deferrable", " deferrable initially deferred", " with (fillfactor=70)"],
            );
            parts.push(format!("{named}primary key ({key}){tail}"));
        }
        if let Some((column, kind)) = columns.iter().find(|(_, kind)| *kind == "int").cloned()
            && self.chance(40)
        {
            parts.push(format!("g numeric generated always as ({column} * 2.5) stored"));
            columns.push(("g".to_owned(), "numeric"));
            parts.push(format!("constraint ck check ({}) no inherit", condition(&column, kind, &mut self.random)));
        }
        let kind = if self.chance(8) { "unlogged " } else { "" };
        let options = pick(
            &mut self.random,
            &["", "", "", " with (fillfactor=80)", " with (autovacuum_enabled=false, fillfactor=50)"],
        );
        self.tables.push(Relation { name: name.clone(), columns });
        format!("create {kind}table {name} ({}){options}", parts.join(", "))
    }

    fn index_key(&mut self, column: &str, kind: &str) -> String {
        let is_text = matches!(kind, "text" | "varchar(20)" | "varchar");
        let mut key = match self.random.random_range(0..5) {
            0 if is_text => format!("lower({column})"),
            1 if is_text => format!("({column} || 'x')"),
            0 if matches!(kind, "int" | "bigint") => format!("({column} + 1)"),
            1 if kind == "jsonb" => format!("({column} ->> 'a')"),
            _ => column.to_owned(),
        };
        if is_text && self.chance(15) {
            key += " collate \"POSIX\"";
        }
        if self.chance(30) {
            let class = match kind {
                "text" => {
                    *pick(&mut self.random, &["text_ops", "text_pattern_ops", "varchar_pattern_ops", "varchar_ops"])
                }
                "varchar(20)" | "varchar" => {
                    *pick(&mut self.random, &["varchar_ops", "text_pattern_ops", "varchar_pattern_ops"])
                }
                "char(5)" => *pick(&mut self.random, &["bpchar_ops", "bpchar_pattern_ops"]),
                "int" => "int4_ops",
                _ => "",
            };
            if !class.is_empty() {
                key += &format!(" {class}");
            }
        }
        key + *pick(&mut self.random, &["", "", "", " desc", " asc nulls first", " desc nulls last"])
    }

    fn index(&mut self) -> String {
        let table = self.any_table();
        let name = self.name("i");
        let mut keys = Vec::new();
        for _ in 0..self.random.random_range(1..3) {
            let (column, kind) = pick(&mut self.random, &table.columns).clone();
            keys.push(self.index_key(&column, kind));
        }
        let unique = if self.chance(25) { "unique " } else { "" };
        let mut text = format!("create {unique}index {name} on {} using btree ({})", table.name, keys.join(", "));
        if self.chance(20) {
            text += &format!(" include ({})", pick(&mut self.random, &table.columns).0);
        }
        if !unique.is_empty() && self.chance(30) {
            text += " nulls not distinct";
        }
        if self.chance(15) {
            text += " with (fillfactor=60)";
        }
        if self.chance(25) {
            let (column, kind) = pick(&mut self.random, &table.columns).clone();
            text += &format!(" where {}", condition(&column, kind, &mut self.random));
        }
        let schema = table.name.split('.').next().unwrap().to_owned();
        self.indexes.push((format!("{schema}.{name}"), table.name));
        text
    }

    fn function(&mut self) -> String {
        let name = self.new_name("f");
        let attributes = *pick(
            &mut self.random,
            &[
                "",
                "immutable",
                "stable strict",
                "volatile security definer",
                "immutable leakproof parallel safe",
                "cost 5",
                "parallel restricted",
                "set search_path = one, pg_temp",
                "set work_mem = '8MB' set timezone to 'UTC'",
            ],
        );
        let (arguments, signature, returns, body) = *pick(
            &mut self.random,
            &[
                ("a int, b text default 'x'", "(int, text)", "int", "select a"),
                ("", "()", "setof int", "select 1 union all select 2"),
                ("variadic v int[]", "(int[])", "int", "select v[1]"),
                ("out a int, out b text", "()", "", "select 1, 'it''s'::text"),
                ("a int, inout b int", "(int, int)", "", "select a + b"),
                ("a numeric(5,2), b varchar(3) = 'q'", "(numeric, varchar)", "text", "select b::text"),
                (
                    "a int default 1 + 2, b date default current_date",
                    "(int, date)",
                    "table (x int, y date)",
                    "select a, b",
                ),
                ("a anyelement", "(anyelement)", "anyelement", "select a"),
            ],
        );
        if self.chance(15) {
            self.functions.push((format!("{name}(int, text)"), "procedure"));
            return format!("create procedure {name}(a int, b text default null) language sql as $$ select 1 $$");
        }
        let returns = if returns.is_empty() { String::new() } else { format!(" returns {returns}") };
        self.functions.push((format!("{name}{signature}"), "function"));
        if self.chance(25) && returns == " returns int" && !arguments.starts_with("variadic") {
            let body = "$$\ndeclare x int := 1;\nbegin\n  return a + x; -- it's\nend\n$$";
            return format!("create function {name}({arguments}){returns} language plpgsql {attributes} as {body}");
        }
        format!("create function {name}({arguments}){returns} language sql {attributes} as $$ {body} $$")
    }

    fn trigger(&mut self) -> Option<String> {
        let table = self.any_table();
        let (name, function) = (self.name("trg"), self.new_name("trf"));
        if let Some((known, _)) = self.functions.iter().find(|(_, kind)| *kind == "trigger function").cloned() {
            let (column, kind) = pick(&mut self.random, &table.columns).clone();
            let when = condition(&format!("new.{column}"), kind, &mut self.random);
            let text = match self.random.random_range(0..5) {
                0 => format!(
                    "create trigger {name} before insert or update on {} for each row execute function {known}",
                    table.name
                ),
                1 => format!(
                    "create trigger {name} after update of {column} on {} for each row when ({when}) execute function {known}",
                    table.name
                ),
                2 => format!(
                    "create trigger {name} after delete or truncate on {} for each statement execute function {known}",
                    table.name
                ),
                3 => format!(
                    "create constraint trigger {name} after insert on {} deferrable initially deferred for each row execute function {known}",
                    table.name
                ),
                _ => format!(
                    "create trigger {name} after insert on {} referencing new table as fresh for each statement execute function {known}",
                    table.name
                ),
            };
            let text = text.replace(
                &format!("execute function {known}"),
                &format!("execute function {}", known.replace("()", "('an', 'argument')")),
            );
            self.triggers.push((name, table.name));
            return Some(text);
        }
        self.functions.push((format!("{function}()"), "trigger function"));
        Some(format!("create function {function}() returns trigger language plpgsql as $$ begin return new; end $$"))
    }

    fn sequence(&mut self) -> String {
        let name = self.new_name("seq");
        self.sequences.push(name.clone());
        let options = pick(
            &mut self.random,
            &[
                "",
                " as int",
                " as smallint increment -2",
                " start 100 increment 5 maxvalue 1000 cycle",
                " cache 20",
                " minvalue -10 start 3",
            ],
        );
        format!("create sequence {name}{options}")
    }

    fn comment(&mut self) -> Option<String> {
        let table = self.any_table();
        let text = *pick(&mut self.random, &["'it''s a comment'", "'two\nlines'", "'back\\slash'", "null"]);
        let what = match self.random.random_range(0..9) {
            0 => format!("table {}", table.name),
            1 => format!("column {}.{}", table.name, pick(&mut self.random, &table.columns).0),
            2 => format!("index {}", self.indexes.last()?.0),
            3 => format!("sequence {}", self.sequences.last()?),
            4 => format!("type {}", self.enums.last()?),
            5 => format!("domain {}", self.domains.last()?),
            6 => self.functions.last().map(|(name, kind)| format!("{} {name}", kind.replace("trigger ", "")))?,
            7 => self.triggers.last().map(|(name, table)| format!("trigger {name} on {table}"))?,
            _ => "schema one".to_owned(),
        };
        Some(format!("comment on {what} is {text}"))
    }

    fn grant(&mut self) -> Option<String> {
        let table = self.any_table();
        let role = *pick(&mut self.random, &["dump_a", "dump_b", "public"]);
        let option = if role != "public" && self.chance(25) { " with grant option" } else { "" };
        let text = match self.random.random_range(0..9) {
            0 => format!("grant select, insert on {} to {role}{option}", table.name),
            1 => format!(
                "grant update ({}) on {} to {role}{option}",
                pick(&mut self.random, &table.columns).0,
                table.name
            ),
            2 => format!("grant all on {} to {role}", table.name),
            3 => format!("grant usage on sequence {} to {role}{option}", self.sequences.last()?),
            4 => self.functions.last().map(|(name, kind)| match *kind {
                "procedure" => format!("grant execute on procedure {name} to {role}"),
                _ => format!("revoke execute on function {name} from public"),
            })?,
            5 => format!("grant usage on type {} to {role}", self.enums.last()?),
            6 => format!("revoke usage on domain {} from public", self.domains.last()?),
            7 => format!("grant usage, create on schema one to {role}{option}"),
            _ => format!("revoke select on {} from postgres", table.name),
        };
        Some(text)
    }

    fn default_privileges(&mut self) -> String {
        (*pick(
            &mut self.random,
            &[
                "alter default privileges in schema one grant select on tables to dump_a",
                "alter default privileges in schema one grant all on sequences to dump_b",
                "alter default privileges for role dump_a revoke execute on functions from public",
                "alter default privileges for role dump_a in schema two grant execute on routines to dump_b",
                "alter default privileges for role dump_b grant usage on types to dump_a with grant option",
                "alter default privileges for role dump_b grant usage on schemas to dump_a",
            ],
        ))
        .to_owned()
    }

    fn owner(&mut self) -> Option<String> {
        let role = *pick(&mut self.random, &["dump_a", "dump_b"]);
        let what = match self.random.random_range(0..7) {
            0 => format!("table {}", self.any_table().name),
            1 => format!("view {}", self.views.last()?.name),
            2 => format!("sequence {}", self.sequences.last()?),
            3 => format!("type {}", self.enums.last()?),
            4 => format!("domain {}", self.domains.last()?),
            5 => self.functions.last().map(|(name, kind)| format!("{} {name}", kind.replace("trigger ", "")))?,
            _ => "schema two".to_owned(),
        };
        Some(format!("alter {what} owner to {role}"))
    }

    fn alter_table(&mut self) -> Option<String> {
        let place = self.random.random_range(0..self.tables.len());
        let table = self.tables[place].clone();
        let (column, kind) = pick(&mut self.random, &table.columns).clone();
        let action = match self.random.random_range(0..23) {
            0 => {
                let number = table.columns.len() + 20;
                let (text, name, known) = self.column(number);
                self.tables[place].columns.push((name, known));
                format!("add column {text}")
            }
            1 if table.columns.len() > 2 => {
                self.tables[place].columns.retain(|(name, _)| *name != column);
                format!("drop column {column} cascade")
            }
            2 => format!("alter {column} set default {}", pick(&mut self.random, value(kind))),
            3 => format!("alter {column} drop default"),
            4 => format!("alter {column} set not null"),
            5 => format!("alter {column} drop not null"),
            6 => format!(
                "alter {column} set storage {}",
                pick(&mut self.random, &["plain", "external", "main", "extended"])
            ),
            7 => format!("alter {column} set statistics {}", pick(&mut self.random, &["0", "100", "-1", "12345"])),
            8 => format!("alter {column} set compression {}", pick(&mut self.random, &["pglz", "lz4", "default"])),
            9 => format!("replica identity {}", pick(&mut self.random, &["full", "nothing", "default"])),
            10 => {
                let index = self.indexes.iter().rfind(|(_, of)| *of == table.name)?.0.clone();
                format!("replica identity using index {}", index.split_once('.').unwrap().1)
            }
            11 => {
                let index = self.indexes.iter().rfind(|(_, of)| *of == table.name)?.0.clone();
                format!("cluster on {}", index.split_once('.').unwrap().1)
            }
            12 => format!(
                "add constraint \"C{}\" check ({}) not valid",
                self.made,
                condition(&column, kind, &mut self.random)
            ),
            13 => {
                self.made += 1;
                format!("add constraint u{} unique ({column})", self.made)
            }
            14 => {
                let new = self.name("renamed");
                self.tables[place]
                    .columns
                    .iter_mut()
                    .filter(|(name, _)| *name == column)
                    .for_each(|found| found.0.clone_from(&new));
                format!("rename column {column} to {new}")
            }
            15 => {
                let new = self.name("rt");
                let schema = table.name.split('.').next().unwrap().to_owned();
                self.rename_table(&table.name, &format!("{schema}.{new}"));
                format!("rename to {new}")
            }
            16 => "set (fillfactor=66, autovacuum_vacuum_scale_factor=0.2)".to_owned(),
            17 => "reset (fillfactor)".to_owned(),
            18 => {
                let referenced = self.any_table();
                let target = pick(&mut self.random, &referenced.columns).clone();
                let tail = pick(
                    &mut self.random,
                    &[
                        "",
                        " on delete cascade",
                        " on update set null on delete set default",
                        " match full deferrable",
                        " on delete restrict not valid",
                    ],
                );
                format!("add foreign key ({column}) references {} ({}){tail}", referenced.name, target.0)
            }
            19 if kind == "int" => {
                self.tables[place]
                    .columns
                    .iter_mut()
                    .filter(|(name, _)| *name == column)
                    .for_each(|found| found.1 = "bigint");
                format!("alter {column} type bigint")
            }
            20 => {
                let (old, new) =
                    (table.name.split_once('.').unwrap(), if table.name.starts_with("one.") { "two" } else { "one" });
                self.rename_table(&table.name, &format!("{new}.{}", old.1));
                format!("set schema {new}")
            }
            21 if matches!(kind, "text" | "varchar") => format!("alter {column} type text collate \"POSIX\""),
            _ => pick(
                &mut self.random,
                &["set without cluster", "disable trigger all", "enable trigger all", "set unlogged", "set logged"],
            )
            .to_string(),
        };
        Some(format!("alter table {} {action}", table.name))
    }

    fn rename_table(&mut self, old: &str, new: &str) {
        self.tables.iter_mut().filter(|table| table.name == old).for_each(|table| table.name = new.to_owned());
        self.triggers.iter_mut().filter(|(_, table)| table == old).for_each(|found| found.1 = new.to_owned());
        let schema = new.split('.').next().unwrap();
        for (index, _) in self.indexes.iter_mut().filter(|(_, table)| table == old) {
            *index = format!("{schema}.{}", index.split_once('.').unwrap().1);
        }
        self.indexes.iter_mut().filter(|(_, table)| table == old).for_each(|found| found.1 = new.to_owned());
    }

    /// A new name for the last of a list of names with schemas: the old one, and the new one without schema.
    fn renamed(&mut self, list: fn(&mut Script) -> &mut Vec<String>, prefix: &str) -> Option<(String, String)> {
        let new = self.name(prefix);
        let found = list(self).last_mut()?;
        let old = found.clone();
        *found = format!("{}.{new}", old.split('.').next().unwrap());
        Some((old, new))
    }

    fn rename(&mut self) -> Option<String> {
        Some(match self.random.random_range(0..7) {
            0 => {
                let new = self.name("ri");
                let found = self.indexes.last_mut()?;
                let old = found.0.clone();
                found.0 = format!("{}.{new}", old.split('.').next().unwrap());
                format!("alter index {old} rename to {new}")
            }
            1 => self
                .renamed(|script| &mut script.sequences, "rs")
                .map(|(old, new)| format!("alter sequence {old} rename to {new}"))?,
            2 => self
                .renamed(|script| &mut script.domains, "rd")
                .map(|(old, new)| format!("alter domain {old} rename to {new}"))?,
            3 => self
                .renamed(|script| &mut script.enums, "re")
                .map(|(old, new)| format!("alter type {old} rename to {new}"))?,
            4 => self
                .renamed(|script| &mut script.composites, "rc")
                .map(|(old, new)| format!("alter type {old} rename to {new}"))?,
            5 => {
                let new = self.name("rv");
                let found = self.views.last_mut()?;
                let old = found.name.clone();
                found.name = format!("{}.{new}", old.split('.').next().unwrap());
                format!("alter table {old} rename to {new}")
            }
            _ => format!("alter type {} rename attribute b to b{}", self.composites.last()?, self.made),
        })
    }

    fn alter_other(&mut self) -> Option<String> {
        Some(match self.random.random_range(0..9) {
            0 => format!("alter sequence {} as bigint", self.sequences.last()?),
            1 => format!("alter sequence {} increment 7 cache 3", self.sequences.last()?),
            2 => {
                let table = self.any_table();
                format!(
                    "alter sequence {} owned by {}.{}",
                    self.sequences.last()?,
                    table.name,
                    pick(&mut self.random, &table.columns).0
                )
            }
            3 => format!("alter domain {} set not null", self.domains.last()?),
            4 => format!(
                "alter domain {} add constraint more{} check (value is not null) not valid",
                self.domains.last()?,
                self.made
            ),
            5 => format!("alter type {} add value 'more {}' before 'happy'", self.enums.last()?, self.made),
            6 => format!("alter type {} add attribute x{} text", self.composites.last()?, self.made),
            7 => format!("alter index {} set (fillfactor=55)", self.indexes.last()?.0),
            _ => {
                let (name, kind) = self.functions.iter().rfind(|(_, kind)| *kind == "function")?.clone();
                format!(
                    "alter {kind} {name} {}",
                    pick(&mut self.random, &["stable", "security definer", "set work_mem = '1MB'", "cost 7"])
                )
            }
        })
    }
}
