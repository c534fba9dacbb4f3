//! Statements that define and undefine constraints, triggers and views, and that switch them off.

use rand::Rng;
use rand::rngs::StdRng;

use super::kinds::{INTEGER, KINDS};
use super::script::{Column, Declared, Effect, Script, Step};
use super::{any, in_hundred};

/// The functions that triggers call. Each says what it is called for.
pub const FUNCTIONS: &[&str] = &[
    "create function note() returns trigger language plpgsql as $$ begin \
     raise notice '% % % % % %', tg_name, tg_when, tg_level, tg_op, old, new; return coalesce(new, old); end $$",
    "create function bump() returns trigger language plpgsql as $$ begin \
     new.b := new.b + 1; return new; end $$",
    "create function skip() returns trigger language plpgsql as $$ begin \
     if coalesce(new.a, old.a) = 3 then return null; end if; return coalesce(new, old); end $$",
    "create function fail() returns trigger language plpgsql as $$ begin \
     if coalesce(new.a, old.a) = 2 then raise exception 'two in %', tg_name; end if; return coalesce(new, old); end $$",
    "create function spread() returns trigger language plpgsql as $$ begin \
     if pg_trigger_depth() < 3 then update t0 set b = coalesce(b, 0) + 1 where id = coalesce(new.a, old.a); end if; \
     return coalesce(new, old); end $$",
    "create function remove() returns trigger language plpgsql as $$ begin \
     if pg_trigger_depth() < 3 then delete from t0 where id = coalesce(new.b, old.b); end if; return coalesce(new, old); end $$",
    "create function tighten() returns trigger language plpgsql as $$ begin \
     set constraints all immediate; return coalesce(new, old); end $$",
];

const REFERENTIAL_ACTIONS: &[&str] =
    &["", "", " no action", " restrict", " cascade", " cascade", " set null", " set default"];

const DEFERRALS: &[&str] = &["", "", " deferrable", " deferrable initially deferred", " deferrable initially deferred"];

/// A column's definition, and what it declares.
pub fn column(table: &str, column: &Column, random: &mut StdRng) -> (String, Vec<Declared>) {
    let name = &column.name;
    let mut text = format!("{name} {}", column.kind.sql_type);
    let mut declares = kind_declared(table, column);
    if name != "id" {
        if in_hundred(random, 25) {
            text.push_str(&format!(" default {}", column.kind.value(15, random).replace("default", "null")));
        }
        if in_hundred(random, 12) {
            text.push_str(" not null");
            declares.push(not_null_declared(table, name, None));
        }
    }
    (text, declares)
}

/// The declarations that come with a column's type.
pub fn kind_declared(table: &str, column: &Column) -> Vec<Declared> {
    let name = &column.name;
    let of_kind = column.kind.violations.iter().map(|(constraint, violated)| Declared {
        name: format!("{table}.{name} {constraint}"),
        of: vec![table.to_owned(), format!("{table}.{name}"), format!("{table}.{name} {constraint}")],
        violations: format!("select * from {table} where {}", violated.replace("{}", &format!("{table}.{name}"))),
        is_by_trigger: false,
    });
    of_kind.collect()
}

/// A column without NULL, of itself or of a key.
pub fn not_null_declared(table: &str, column: &str, key: Option<&str>) -> Declared {
    let mut of = vec![table.to_owned(), format!("{table}.{column}"), format!("{table}.{column} not null")];
    of.extend(key.map(|key| format!("{table} {key}")));
    Declared {
        name: format!("{table}.{column} not null{}", key.unwrap_or_default()),
        of,
        violations: format!("select * from {table} where num_nulls({column}) = 1"),
        is_by_trigger: false,
    }
}

/// A key.
pub fn unique_declared(table: &str, name: &str, columns: &[&str]) -> Declared {
    let texts: Vec<String> = columns.iter().map(|column| format!("{column} || ''")).collect();
    let present: Vec<String> = columns.iter().map(|column| format!("{column} is not null")).collect();
    declared(
        table,
        name,
        columns,
        format!(
            "select {0} from {table} where {1} group by {0} having count(*) > 1",
            texts.join(", "),
            present.join(" and ")
        ),
    )
}

fn declared(table: &str, name: &str, columns: &[&str], violations: String) -> Declared {
    let mut of = vec![table.to_owned(), format!("{table} {name}")];
    of.extend(columns.iter().map(|column| format!("{table}.{column}")));
    Declared { name: format!("{table} {name}"), of, violations, is_by_trigger: false }
}

fn reference_declared(table: &str, name: &str, columns: &[&str], to: &str, keys: &[&str], is_full: bool) -> Declared {
    let present: Vec<String> = columns.iter().map(|column| format!("f.{column} is not null")).collect();
    let equal: Vec<String> =
        columns.iter().zip(keys).map(|(column, key)| format!("p.{key} || '' = f.{column} || ''")).collect();
    let mut violations = format!(
        "select * from {table} f where {} and not exists (select from {to} p where {})",
        present.join(" and "),
        equal.join(" and ")
    );
    if is_full {
        let some = columns.join(", ");
        violations.push_str(&format!(" or num_nulls({some}) between 1 and {}", columns.len() - 1));
    }
    let mut found = declared(table, name, columns, violations);
    found.of.push(to.to_owned());
    found.of.extend(keys.iter().map(|key| format!("{to}.{key}")));
    found.is_by_trigger = true;
    found
}

/// A constraint that is added to a table.
pub fn constraint(script: &mut Script, random: &mut StdRng) -> Step {
    let name = format!("c{}", script.number());
    let table = script.any_table(random).name.clone();
    let (definition, mut declared) = match random.random_range(0..10) {
        0..3 => key(&table, &name, random),
        3 | 4 => check(&table, &name, random),
        5 => {
            let column = script.tables.iter().find(|known| known.name == table).map(|table| table.any(random));
            let column = column.expect("it is one of them").name.clone();
            let declared = vec![not_null_declared(&table, &column, None)];
            return Step::declaring(format!("alter table {table} alter {column} set not null"), declared);
        }
        _ => reference(script, &table, &name, random),
    };
    script.constraints.push((table.clone(), name.clone()));
    let is_late = definition.contains("not valid");
    if is_late {
        declared.clear();
    }
    Step::declaring(format!("alter table {table} add constraint {name} {definition}"), declared)
}

fn key(table: &str, name: &str, random: &mut StdRng) -> (String, Vec<Declared>) {
    let columns = any(random, &["id", "id", "a", "a, b", "b, a"]);
    let list: Vec<&str> = columns.split(", ").collect();
    let deferral = any(random, DEFERRALS);
    let mut declares = vec![unique_declared(table, name, &list)];
    declares[0].is_by_trigger = !deferral.is_empty();
    let word = if columns == "id" && in_hundred(random, 70) {
        declares.push(not_null_declared(table, "id", Some(name)));
        "primary key"
    } else {
        "unique"
    };
    (format!("{word} ({columns}){deferral}"), declares)
}

fn check(table: &str, name: &str, random: &mut StdRng) -> (String, Vec<Declared>) {
    let condition =
        any(random, &["a < 6", "a is distinct from b", "b >= 0", "id <> 9", "a + b < 9", "id >= 0 and a <> 5"]);
    let columns: Vec<&str> = ["id", "a", "b"].into_iter().filter(|column| condition.contains(column)).collect();
    let violations = format!("select * from {table} where not ({condition})");
    let late = if in_hundred(random, 15) { " not valid" } else { "" };
    (format!("check ({condition}){late}"), vec![declared(table, name, &columns, violations)])
}

fn reference(script: &Script, table: &str, name: &str, random: &mut StdRng) -> (String, Vec<Declared>) {
    let to = script.any_table(random).name.clone();
    let (columns, keys) = any_pair(
        random,
        &[("a", "id"), ("a", "id"), ("b", "id"), ("b", "a"), ("id", "id"), ("a, b", "a, b"), ("b, a", "a, b")],
    );
    let is_full = in_hundred(random, 15);
    let mut text = format!("foreign key ({columns}) references {to} ({keys})");
    if is_full {
        text.push_str(" match full");
    }
    for event in ["update", "delete"] {
        let action = any(random, REFERENTIAL_ACTIONS);
        if !action.is_empty() {
            text.push_str(&format!(" on {event}{action}"));
            if event == "delete" && action.starts_with(" set") && columns.len() > 1 && in_hundred(random, 40) {
                text.push_str(" (b)");
            }
        }
    }
    text.push_str(any(random, DEFERRALS));
    if in_hundred(random, 10) {
        text.push_str(" not valid");
    }
    let (list, keys): (Vec<&str>, Vec<&str>) = (columns.split(", ").collect(), keys.split(", ").collect());
    (text, vec![reference_declared(table, name, &list, &to, &keys, is_full)])
}

fn any_pair(random: &mut StdRng, of: &[(&'static str, &'static str)]) -> (&'static str, &'static str) {
    of[random.random_range(0..of.len())]
}

/// A trigger. One that leaves rows out, or changes them, may do so to what a foreign key's action changes, as in PostgreSQL.
pub fn trigger(script: &mut Script, random: &mut StdRng) -> Step {
    let name = format!("g{}", script.number());
    let table = script.any_table(random).name.clone();
    let events =
        any(random, &["insert", "update", "delete", "insert or update", "insert or update or delete", "update of a"]);
    let is_constraint = in_hundred(random, 30);
    let (timing, level) = match () {
        () if is_constraint => ("after", "row"),
        () => (any(random, &["before", "before", "after"]), any(random, &["row", "row", "row", "statement"])),
    };
    let function = match (timing, level) {
        (_, "statement") => any(random, &["note", "note", "tighten"]),
        ("before", _) if !events.contains("delete") => any(random, &["note", "bump", "skip", "fail", "spread"]),
        ("before", _) => any(random, &["note", "skip", "fail", "spread"]),
        _ => any(random, &["note", "note", "fail", "spread", "remove", "tighten"]),
    };
    let both = events.starts_with("update");
    let when = match level {
        "row" if both && in_hundred(random, 40) => " when (old.* is distinct from new.*)",
        "row" if both && in_hundred(random, 20) => " when (old.a is distinct from new.a)",
        "row" if events == "insert" && in_hundred(random, 20) => " when (new.a > 1)",
        _ => "",
    };
    let deferral = if is_constraint { any(random, DEFERRALS) } else { "" };
    let word = if is_constraint { "constraint " } else { "" };
    let text = format!(
        "create {word}trigger {name} {timing} {events} on {table}{deferral} for each {level}{when} execute function {function}()"
    );
    script.triggers.push((table, name));
    let suspends = timing == "before";
    Step { effect: Effect { suspends, ..Effect::default() }, ..Step::new(text) }
}

/// Something that reads tables.
pub fn view(script: &mut Script, random: &mut StdRng) -> Step {
    let number = script.number();
    let table = script.any_table(random).name.clone();
    let name = format!("v{number}");
    let text = match random.random_range(0..4) {
        0 | 1 => format!("create view {name} as select id, a, b, count(*) as n from {table} group by id"),
        2 => format!(
            "create function rows{number}() returns setof {table} language sql as 'select * from {table}'; \
             create view {name} as select a from rows{number}()"
        ),
        _ => format!("create view {name} as select id, a from {table} where a > 0 with check option"),
    };
    script.views.push(name);
    Step::new(text)
}

/// `SET CONSTRAINTS`.
pub fn set_constraints(script: &Script, random: &mut StdRng) -> Step {
    let when = any(random, &["immediate", "deferred", "deferred"]);
    let name = match script.constraints.len() {
        0 => "all".to_owned(),
        _ if in_hundred(random, 60) => "all".to_owned(),
        count => script.constraints[random.random_range(0..count)].1.clone(),
    };
    Step::new(format!("set constraints {name} {when}"))
}

fn drop_constraint(script: &mut Script, random: &mut StdRng) -> Step {
    if script.constraints.is_empty() {
        return constraint(script, random);
    }
    let (table, name) = script.constraints[random.random_range(0..script.constraints.len())].clone();
    match random.random_range(0..10) {
        0..4 => {
            let cascade = if in_hundred(random, 25) { " cascade" } else { "" };
            // References to it go, too: those of other tables to this one are no longer known.
            let mut drops = vec![format!("{table} {name}")];
            if !cascade.is_empty() {
                drops.push(format!("references of {table}"));
            }
            Step::dropping(format!("alter table {table} drop constraint {name}{cascade}"), drops)
        }
        4..7 => Step::new(format!("alter table {table} validate constraint {name}")),
        _ => Step::new(format!("alter table {table} alter constraint {name}{}", any(random, DEFERRALS))),
    }
}

fn add_or_drop_column(script: &mut Script, random: &mut StdRng) -> Step {
    let place = random.random_range(0..script.tables.len());
    let table = script.tables[place].name.clone();
    let count = script.tables[place].columns.len();
    if count > 3 && in_hundred(random, 30) {
        // Statements name the others.
        let column = script.tables[place].columns[random.random_range(3..count)].name.clone();
        let drops = vec![format!("{table}.{column}"), format!("references of {table}")];
        let cascade = if in_hundred(random, 30) { " cascade" } else { "" };
        return Step::dropping(format!("alter table {table} drop column {column}{cascade}"), drops);
    }
    let name = format!("k{}", script.number() + 10);
    let kind = if in_hundred(random, 15) { &INTEGER } else { &KINDS[random.random_range(0..KINDS.len())] };
    let new = Column { name, kind };
    let (text, declares) = column(&table, &new, random);
    script.tables[place].columns.push(new);
    Step::declaring(format!("alter table {table} add {text}"), declares)
}

fn alter_column(script: &Script, random: &mut StdRng) -> Step {
    let table = script.any_table(random);
    let column = table.any(random);
    let (name, of) = (&column.name, &table.name);
    match random.random_range(0..5) {
        0 => Step::declaring(
            format!("alter table {of} alter {name} set not null"),
            vec![not_null_declared(of, name, None)],
        ),
        1 => Step::dropping(
            format!("alter table {of} alter {name} drop not null"),
            vec![format!("{of}.{name} not null")],
        ),
        2 => Step::new(format!("alter table {of} alter {name} set default {}", column.kind.value(30, random))),
        3 => Step::new(format!("alter table {of} alter {name} drop default")),
        _ => {
            let wanted = any(random, &["int", "d_pos", "bigint", "numeric", "d_req", "text", "d_small"]);
            let drops = vec![format!("{of}.{name}"), format!("references of {of}")];
            Step::dropping(format!("alter table {of} alter {name} type {wanted}"), drops)
        }
    }
}

/// Of domains the constraints that are added are looked at by nobody but PostgreSQL: their names say no more than that.
fn alter_domain(random: &mut StdRng) -> Step {
    let domain = any(random, &["d_pos", "d_small", "d_req", "d_few", "d_all", "d_pair", "d_word"]);
    let condition = match domain {
        "d_pos" | "d_small" | "d_req" => any(random, &["value < 5", "value <> 2", "value > 0"]),
        "d_few" | "d_all" => any(random, &["value[1] <> 2", "cardinality(value) < 3"]),
        "d_pair" => any(random, &["(value).x <> 1", "(value).y is not null"]),
        _ => any(random, &["value <> 'a'", "length(value) < 2"]),
    };
    let late = if in_hundred(random, 20) { " not valid" } else { "" };
    Step::new(match random.random_range(0..7) {
        0..3 => format!("alter domain {domain} add constraint extra check ({condition}){late}"),
        3 => format!("alter domain {domain} drop constraint extra"),
        4 => format!("alter domain {domain} validate constraint extra"),
        5 => format!("alter domain {domain} set not null"),
        _ => format!("alter domain {domain} set default {}", any(random, &["null", "1", "'{1}'", "0"])),
    })
}

/// Switches triggers off or on, or has the session do so.
fn switch(script: &Script, random: &mut StdRng) -> Step {
    let role = any(random, &["replica", "replica", "origin", "origin", "local"]);
    let how = any(random, &["disable", "disable", "enable", "enable", "enable replica", "enable always"]);
    let text = match script.triggers.len() {
        _ if in_hundred(random, 40) => {
            format!("set{} session_replication_role = {role}", any(random, &["", "", " local"]))
        }
        count if count > 0 && in_hundred(random, 50) => {
            let (table, name) = &script.triggers[random.random_range(0..count)];
            format!("alter table {table} {how} trigger {name}")
        }
        _ => {
            let how = if in_hundred(random, 50) { "disable" } else { "enable" };
            format!("alter table {} {how} trigger {}", script.any_table(random).name, any(random, &["all", "user"]))
        }
    };
    Step { effect: Effect { suspends: true, ..Effect::default() }, ..Step::new(text) }
}

fn about_view(script: &mut Script, random: &mut StdRng) -> Step {
    if script.views.is_empty() {
        return view(script, random);
    }
    let name = &script.views[random.random_range(0..script.views.len())];
    // Cohort takes no weaker lock on a table that it holds in ACCESS EXCLUSIVE mode. PostgreSQL does in CREATE INDEX, so these locks are
    // not compared.
    let held = "select relation::regclass::text, mode from pg_locks \
                where relation in (select oid from pg_class where relnamespace = current_schema::regnamespace) \
                and mode in ('ShareLock', 'ExclusiveLock') \
                and relation not in (select relation from pg_locks where mode = 'AccessExclusiveLock' and relation is not null) order by 1, 2";
    Step::new(match random.random_range(0..4) {
        0 => format!("select * from {name} order by {name}::text"),
        1 => format!("begin; lock table {name} in {} mode; {held}; commit", any(random, &["share", "exclusive"])),
        2 => format!("insert into {name} (a) values ({})", any(random, &["0", "1", "null"])),
        _ => format!("update {name} set a = {}", any(random, &["a - 1", "a + 1"])),
    })
}

/// A statement about definitions.
pub fn any_definition(script: &mut Script, random: &mut StdRng) -> Step {
    match random.random_range(0..100) {
        0..22 => constraint(script, random),
        22..37 => drop_constraint(script, random),
        37..50 => add_or_drop_column(script, random),
        50..60 => alter_column(script, random),
        60..70 => alter_domain(random),
        70..78 => trigger(script, random),
        78..92 => switch(script, random),
        _ => about_view(script, random),
    }
}
