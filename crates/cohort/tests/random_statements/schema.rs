//! Random tables with rows, constraints and triggers, and the types and functions that statements use.

use super::choices::Choices;
use super::types::{TYPES, Type, TypeRow};

/// A column.
#[derive(Clone)]
pub struct Column {
    pub name: String,
    pub sql_type: Type,
    /// Takes no NULL.
    pub not_null: bool,
    /// Is computed, so that it can't be given a value.
    pub is_generated: bool,
}

/// A table. Its first column is the key `id`, an int4.
pub struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    pub is_view: bool,
    /// Has rows in hundreds, so that it is read once in a query.
    pub is_large: bool,
}

/// The objects of a case.
pub struct Schema {
    pub tables: Vec<Table>,
    /// The statements that make it.
    pub setup: Vec<String>,
}

/// The objects that every case has.
const COMMON: &[&str] = &[
    "create type mood as enum ('low', 'mid', 'high')",
    "create type pair as (x int4, y text)",
    "create domain positive as int4 check (value > 0)",
    "create function twice(int4) returns int4 language sql immutable as 'select $1 * 2'",
    "create function is_even(i int4) returns bool language sql stable as 'select i % 2 = 0'",
    "create function shout(t text) returns text language plpgsql immutable strict as $$ declare r text := ''; begin \
     for i in 1 .. length(t) loop continue when i = 3; r := r || upper(substr(t, i, 1)) || '!'; end loop; return r; end $$",
    "create function hashed(x int4) returns int8 language plpgsql immutable as $$ declare h int8 := 7; begin \
     if x is null then return null; elsif x < 0 then h := 11; else h := 13; end if; \
     while h < 1000 loop h := h * 3 + abs(x) % 5; end loop; return h % 1000; exception when others then return -1; end $$",
    "create table log (who text, old text, new text)",
    "create function noted() returns trigger language plpgsql as $$ begin \
     if tg_op = 'DELETE' then insert into log values (tg_table_name || tg_when, old::text, null); return old; \
     elsif tg_op = 'UPDATE' then insert into log values (tg_table_name || tg_when, old::text, new::text); \
     else insert into log values (tg_table_name || tg_when, null, new::text); end if; return new; end $$",
    "create function counted() returns trigger language plpgsql as $$ begin \
     insert into log select tg_table_name || tg_op, count(*)::text, min(id)::text from changed; return null; end $$",
];

/// Tables that reach the functions which read them.
const AFTER_TABLES: &[&str] = &[
    "create function walked(n int4) returns int4 language plpgsql stable as $$ declare r record; s int4 := 0; begin \
     for r in select id from t0 where id <= n order by id loop s := s + r.id; exit when s > 20; end loop; return s; end $$",
    "create function ids(n int4) returns setof int4 language sql stable as 'select id from t0 where id <= n'",
    "create function rows_of(n int4) returns table (i int4, t text) language plpgsql stable as $$ begin \
     return query select id, id::text || '!' from t0 where id <= n; return next; end $$",
];

/// Whether every case has this statement in its set-up.
pub fn is_common(text: &str) -> bool {
    COMMON.contains(&text) || AFTER_TABLES.contains(&text)
}

impl Schema {
    /// A random one.
    pub fn random(choices: &mut Choices) -> Schema {
        let mut schema = Schema { tables: Vec::new(), setup: COMMON.iter().map(|text| (*text).to_owned()).collect() };
        for number in 0..choices.between(1, 3) {
            schema.add_table(number, choices);
        }
        schema.setup.extend(AFTER_TABLES.iter().map(|text| (*text).to_owned()));
        if choices.chance(60) {
            schema.setup.push("analyze".to_owned());
        }
        if choices.chance(40) {
            schema.add_view(choices);
        }
        for name in ["hashjoin", "mergejoin", "nestloop", "indexscan", "seqscan", "sort", "hashagg"] {
            if choices.chance(12) {
                schema.setup.push(format!("set enable_{name} = off"));
            }
        }
        if choices.chance(15) {
            schema.setup.push("set work_mem = '64kB'".to_owned());
        }
        if choices.chance(15) {
            let mode = *choices.of(&["force_generic_plan", "force_custom_plan"]);
            schema.setup.push(format!("set plan_cache_mode = {mode}"));
        }
        let zone = *choices.of(&["UTC", "America/New_York", "Asia/Kolkata"]);
        schema.setup.push(format!("set timezone = '{zone}'"));
        schema
    }

    fn add_table(&mut self, number: usize, choices: &mut Choices) {
        let mut columns = vec![Column { name: "id".to_owned(), sql_type: "int4", not_null: true, is_generated: false }];
        let mut definitions = vec!["id int4 primary key".to_owned()];
        for place in 0..choices.between(2, 6) {
            // The common types are common.
            let row = match choices.chance(50) {
                false => &TYPES[choices.below(3)],
                true => &TYPES[choices.below(TYPES.len())],
            };
            let name = format!("c{place}");
            let not_null = choices.chance(15);
            let mut definition = format!("{name} {}", row.name);
            if not_null {
                definition.push_str(" not null");
            }
            if choices.chance(20) {
                definition.push_str(&format!(" default {}", literal(row, choices)));
            }
            definitions.push(definition);
            columns.push(Column { name, sql_type: row.name, not_null, is_generated: false });
        }
        let ints: Vec<String> =
            columns.iter().filter(|column| column.sql_type == "int4").map(|column| column.name.clone()).collect();
        if choices.chance(15) {
            definitions.push(format!("g int4 generated always as ({} % 5) stored", choices.of(&ints)));
            columns.push(Column { name: "g".to_owned(), sql_type: "int4", not_null: false, is_generated: true });
        }
        let parent = (number > 0 && choices.chance(50)).then(|| choices.below(number));
        if let Some(parent) = parent {
            let action = *choices.of(&["no action", "cascade", "set null"]);
            let when = if choices.chance(20) { " deferrable initially deferred" } else { "" };
            definitions.push(format!("parent int4 references t{parent} on delete {action} on update cascade{when}"));
            columns.push(Column { name: "parent".to_owned(), sql_type: "int4", not_null: false, is_generated: false });
        }
        let name = format!("t{number}");
        self.setup.push(format!("create table {name} ({})", definitions.join(", ")));
        let is_large = choices.chance(15);
        self.tables.push(Table { name: name.clone(), columns, is_view: false, is_large });
        self.add_rows(number, choices);
        self.add_indexes(number, choices);
        self.add_triggers(&name, choices);
    }

    fn add_rows(&mut self, number: usize, choices: &mut Choices) {
        let table = &self.tables[number];
        let parent_rows = 4;
        let given: Vec<&Column> = table.columns.iter().filter(|column| !column.is_generated).collect();
        let names: Vec<&str> = given.iter().map(|column| column.name.as_str()).collect();
        let mut rows = Vec::new();
        for id in 1..=choices.between(4, 12) {
            let mut values = vec![id.to_string()];
            for column in &given[1..] {
                let value = match column.name.as_str() {
                    "parent" if choices.chance(20) => "null".to_owned(),
                    "parent" => choices.between(1, parent_rows).to_string(),
                    _ if !column.not_null && choices.chance(20) => "null".to_owned(),
                    _ => literal(super::types::row_of(column.sql_type), choices),
                };
                values.push(value);
            }
            rows.push(format!("({})", values.join(", ")));
        }
        self.setup.push(format!("insert into {} ({}) values {}", table.name, names.join(", "), rows.join(", ")));
        if table.is_large {
            let others: Vec<&str> = names.iter().skip(1).copied().collect();
            let list = others.join(", ");
            let name = &table.name;
            self.setup.push(format!(
                "insert into {name} (id, {list}) select g + 100, {list} from {name}, generate_series(id * 100, id * 100 + 39) g"
            ));
        }
    }

    fn add_indexes(&mut self, number: usize, choices: &mut Choices) {
        let table = &self.tables[number];
        for _ in 0..choices.below(3) {
            let column = choices.of(&table.columns);
            if !super::types::row_of(column.sql_type).is_ordered {
                continue;
            }
            let (name, key) = (&table.name, &column.name);
            let text = match choices.below(6) {
                0 | 1 => format!("create index on {name} ({key})"),
                2 => format!("create index on {name} ({key} desc nulls last, id)"),
                3 => format!("create index on {name} ({key}) where id % 2 = 0"),
                4 if column.sql_type == "int4" => format!("create index on {name} (({key}::int8))"),
                _ if column.sql_type == "int4" => format!("create index on {name} (({key} + 1))"),
                _ => format!("create index on {name} (id, {key}) include (id)"),
            };
            self.setup.push(text);
        }
    }

    fn add_triggers(&mut self, name: &str, choices: &mut Choices) {
        if choices.chance(15) {
            let when = *choices.of(&["after", "before"]);
            self.setup.push(format!(
                "create trigger noted {when} insert or update or delete on {name} for each row execute function noted()"
            ));
        }
        if choices.chance(10) {
            self.setup.push(format!(
                "create trigger counted after delete on {name} referencing old table as changed \
                 for each statement execute function counted()"
            ));
        }
    }

    fn add_view(&mut self, choices: &mut Choices) {
        let of = choices.below(self.tables.len());
        let table = &self.tables[of];
        let filter = *choices.of(&["", " where id > 2", " where id % 3 <> 0"]);
        self.setup.push(format!("create view v as select * from {}{filter}", table.name));
        let (columns, is_large) = (table.columns.clone(), table.is_large);
        self.tables.push(Table { name: "v".to_owned(), columns, is_view: true, is_large });
    }
}

/// A literal of a type, always cast where it is no plain number, truth value or text.
pub fn literal(row: &TypeRow, choices: &mut Choices) -> String {
    let text = *choices.of(row.values);
    match row.name {
        "int4" if text.starts_with('-') => format!("({text})"),
        "int4" | "bool" => text.to_owned(),
        name => format!("'{}'::{name}", text.replace('\'', "''")),
    }
}
