//! Statements that change rows, and that make values of types with constraints.

use rand::Rng;
use rand::rngs::StdRng;

use super::kinds::KINDS;
use super::script::{Column, Script, Step, Table};
use super::{any, in_hundred};

/// One in so many of a hundred values may not be one that its column takes.
const BAD_SHARE: u32 = 8;

fn value(column: &Column, random: &mut StdRng) -> String {
    let random_value = column.kind.value(BAD_SHARE, random);
    if in_hundred(random, 3) { "default".to_owned() } else { random_value.to_owned() }
}

/// Some of a table's columns: mostly all of them.
fn some_columns<'t>(table: &'t Table, random: &mut StdRng) -> Vec<&'t Column> {
    let leaves_out = in_hundred(random, 25);
    let keep = |column: &&Column, random: &mut StdRng| column.name == "id" || !leaves_out || in_hundred(random, 60);
    table.columns.iter().filter(|column| keep(column, random)).collect()
}

fn names(columns: &[&Column]) -> String {
    columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn row(columns: &[&Column], random: &mut StdRng) -> String {
    let values: Vec<String> = columns
        .iter()
        .map(|column| match column.name.as_str() {
            "id" if in_hundred(random, 85) => random.random_range(0..6).to_string(),
            _ => value(column, random),
        })
        .collect();
    format!("({})", values.join(", "))
}

/// `INSERT INTO ... VALUES`, without anything behind it.
fn plain_insert(table: &Table, random: &mut StdRng) -> String {
    let columns = some_columns(table, random);
    let rows: Vec<String> = (0..random.random_range(1..=3)).map(|_| row(&columns, random)).collect();
    format!("insert into {} ({}) values {}", table.name, names(&columns), rows.join(", "))
}

/// Puts rows into a table.
pub fn insert(script: &Script, random: &mut StdRng) -> Step {
    Step::new(plain_insert(script.any_table(random), random))
}

fn condition(table: &Table, random: &mut StdRng) -> String {
    let column = Table::any_integer(random);
    let number = random.random_range(0..6);
    let name = &table.name;
    match random.random_range(0..8) {
        0..4 => format!("{name}.{column} = {number}"),
        4 => format!("{name}.{column} > {number}"),
        5 => format!("{name}.{column} is null"),
        6 => format!("{name}.{column} in (1, 2, {number})"),
        _ => "true".to_owned(),
    }
}

fn assignment(table: &Table, random: &mut StdRng) -> String {
    let column = table.any(random);
    let name = &column.name;
    if column.kind.is_number && in_hundred(random, 35) {
        let other = Table::any_integer(random);
        return match random.random_range(0..4) {
            0 => format!("{name} = {}.{name} + 1", table.name),
            1 => format!("{name} = 5 - {}.{name}", table.name),
            2 => format!("{name} = {}.{other}", table.name),
            _ => format!("{name} = {}.{name}", table.name),
        };
    }
    let part = match column.kind.sql_type {
        "pair" | "d_pair" => &["", ".x", ".y"][..],
        "d_few" | "d_all" | "d_pos[]" | "d_req[]" => &["", "[1]", "[2]", "[1:2]"],
        _ => &[""],
    };
    match any(random, part) {
        "" => format!("{name} = {}", value(column, random)),
        "[1:2]" => format!("{name}[1:2] = '{{{},3}}'", random.random_range(0..3)),
        part => format!("{name}{part} = {}", any(random, &["0", "1", "2", "7", "9", "null"])),
    }
}

fn assignments(table: &Table, random: &mut StdRng) -> String {
    let mut list = vec![assignment(table, random)];
    if in_hundred(random, 25) {
        let other = assignment(table, random);
        if !other.starts_with(list[0].split([' ', '.', '[']).next().unwrap_or_default()) {
            list.push(other);
        }
    }
    list.join(", ")
}

fn returning(random: &mut StdRng) -> &'static str {
    if in_hundred(random, 8) { " returning *" } else { "" }
}

fn insert_more(script: &Script, random: &mut StdRng) -> String {
    let table = script.any_table(random);
    let name = &table.name;
    match random.random_range(0..10) {
        0 => format!("insert into {name} default values"),
        1 | 2 => {
            let other = &script.any_table(random).name;
            format!(
                "insert into {name} (id, a, b) select {other}.id + {}, {other}.a, {other}.b from {other}",
                random.random_range(0..4)
            )
        }
        3 => format!("{} on conflict do nothing", plain_insert(table, random)),
        4..6 => {
            let target = any(random, &["(id)", "(id)", "(a)", "(a, b)"]);
            let set =
                any(random, &["a = excluded.a", "b = excluded.b", "id = excluded.id + 1", "a = excluded.b, b = 1"]);
            let wanted = any(random, &["", "", " where excluded.a is distinct from 2"]);
            format!("{} on conflict {target} do update set {set}{wanted}", plain_insert(table, random))
        }
        6 => {
            let whole = table.columns.iter().map(|column| format!("\"{}\": {}", column.name, column.kind.json(random)));
            let whole: Vec<String> = whole.collect();
            let populate = any(random, &["jsonb_populate_record", "json_populate_record"]);
            format!("insert into {name} select * from {populate}(null::{name}, '{{{}}}')", whole.join(", "))
        }
        _ => format!("{}{}", plain_insert(table, random), returning(random)),
    }
}

fn update(script: &Script, random: &mut StdRng) -> String {
    let table = script.any_table(random);
    let (set, wanted) = (assignments(table, random), condition(table, random));
    if in_hundred(random, 10) {
        let other = &script.any_table(random).name;
        let column = Table::any_integer(random);
        let pairs = any(random, &["id = o.id", "a = o.id", "b = o.a"]);
        return format!("update {} set {column} = o.id from {other} o where {}.{pairs}", table.name, table.name);
    }
    format!("update {} set {set} where {wanted}{}", table.name, returning(random))
}

fn delete(script: &Script, random: &mut StdRng) -> String {
    let table = script.any_table(random);
    if in_hundred(random, 10) {
        let other = &script.any_table(random).name;
        return format!("delete from {} using {other} o where {}.a = o.id", table.name, table.name);
    }
    format!("delete from {} where {}{}", table.name, condition(table, random), returning(random))
}

/// The key may come from two rows of the source, so that a row is changed a second time.
fn merge(script: &Script, random: &mut StdRng) -> String {
    let table = script.any_table(random);
    let name = &table.name;
    let source = match random.random_range(0..3) {
        0 => {
            let (first, other) = (random.random_range(0..6), random.random_range(0..6));
            format!("(values ({first}, 1, 2), ({other}, 3, 4)) o (id, a, b)")
        }
        1 => "generate_series(1, 3) o (id)".to_owned(),
        _ => format!("{} o", script.any_table(random).name),
    };
    let on = match random.random_range(0..4) {
        0 => format!("{name}.a = o.id"),
        _ => format!("{name}.id = o.id"),
    };
    let mut clauses = String::new();
    for _ in 0..random.random_range(0..3) {
        let action = if in_hundred(random, 40) {
            "delete".to_owned()
        } else {
            format!("update set {}", assignments(table, random))
        };
        clauses.push_str(&format!(" when matched and {} then {action}", condition(table, random)));
    }
    // With INSERT the join is an outer one, in which both servers come to the source's rows in the order in which they lie.
    let columns = some_columns(table, random);
    let (names, row) = (names(&columns), row(&columns, random));
    format!("merge into {name} using {source} on {on}{clauses} when not matched then insert ({names}) values {row}")
}

fn with(script: &Script, random: &mut StdRng) -> String {
    let first = match random.random_range(0..3) {
        0 => delete(script, random),
        1 => update(script, random),
        _ => plain_insert(script.any_table(random), random),
    };
    let first = first.trim_end_matches(" returning *");
    match random.random_range(0..3) {
        0 => {
            let target = &script.any_table(random).name;
            format!("with w as ({first} returning 1) insert into {target} (id, a) select 4, count(*)::int from w")
        }
        1 => format!("with w as ({first}) {}", update(script, random)),
        _ => format!("with w as ({first}) {}", delete(script, random)),
    }
}

fn copy(script: &Script, random: &mut StdRng) -> Step {
    let table = script.any_table(random);
    let columns = some_columns(table, random);
    let mut input = String::new();
    for _ in 0..random.random_range(1..=3) {
        let cells: Vec<String> = columns
            .iter()
            .map(|column| match column.name.as_str() {
                "id" => random.random_range(0..6).to_string(),
                _ => column.kind.text(random).to_owned(),
            })
            .collect();
        input.push_str(&cells.join("\t"));
        input.push('\n');
    }
    // PostgreSQL does not ask a domain about the NULL of a column that is left out, though its constraint is NOT NULL.
    let is_unasked =
        |column: &&Column| column.kind.sql_type == "d_req" && !columns.iter().any(|own| own.name == column.name);
    let unasked = table.columns.iter().filter(is_unasked);
    let drops = unasked.map(|column| format!("{}.{} required", table.name, column.name)).collect();
    let step = Step::dropping(format!("copy {} ({}) from stdin", table.name, names(&columns)), drops);
    Step { input, ..step }
}

/// A value of a type with constraints where no table is.
fn value_alone(script: &Script, random: &mut StdRng) -> String {
    let kind = &KINDS[random.random_range(0..KINDS.len())];
    let (sql_type, given) = (kind.sql_type, kind.value(50, random));
    let given = if given == "default" { "null" } else { given };
    // Variables of composite types take texts in some places only.
    let form =
        if matches!(sql_type, "pair" | "d_pair") { random.random_range(4..8) } else { random.random_range(0..8) };
    match form {
        0 => format!("select ({given})::{sql_type}"),
        1 => format!("do $$ declare v {sql_type}; begin raise notice '%', v; end $$"),
        2 => format!("do $$ declare v {sql_type} := {given}; begin raise notice '%', v; end $$"),
        3 => format!(
            "do $$ declare v {sql_type} := {}; begin v := {given}; raise notice '%', v; end $$",
            kind.value(0, random)
        ),
        4 => format!("select array[{given}]::{}", sql_type.trim_end_matches("[]").to_owned() + "[]"),
        5 => format!("select * from jsonb_to_record('{{\"v\": {}}}') as r (v {sql_type})", kind.json(random)),
        6 => {
            let table = script.any_table(random);
            let row: Vec<&str> = table.columns.iter().map(|column| column.kind.value(30, random)).collect();
            let row: Vec<&str> = row.into_iter().map(|value| if value == "default" { "null" } else { value }).collect();
            format!("select row({})::{}", row.join(", "), table.name)
        }
        _ => {
            let table = script.any_table(random);
            let column = table.any(random);
            let given = column.kind.value(50, random);
            let given = if given == "default" { "null" } else { given };
            format!("do $$ declare r {}; begin r.{} := {given}; raise notice '%', r; end $$", table.name, column.name)
        }
    }
}

/// One that catches what its statements raise.
fn caught(script: &mut Script, random: &mut StdRng) -> String {
    let (first, second) = (change(script, random).text, change(script, random).text);
    let plain = |text: String| text.trim_end_matches(" returning *").to_owned();
    let (first, second) = (plain(first), plain(second));
    format!(
        "do $$ begin {first}; begin {second}; exception when others then raise notice '% %', sqlstate, sqlerrm; end; end $$"
    )
}

/// A statement that changes rows.
pub fn change(script: &mut Script, random: &mut StdRng) -> Step {
    let text = match random.random_range(0..100) {
        0..3 => merge(script, random),
        3..40 => insert_more(script, random),
        40..75 => update(script, random),
        75..92 => delete(script, random),
        92..98 => with(script, random),
        _ => {
            let options = any(random, &["", "", " cascade", " restart identity cascade"]);
            format!("truncate {}{options}", script.any_table(random).name)
        }
    };
    Step::new(text)
}

/// The same, and COPY, and blocks of PL/pgSQL, and values alone.
pub fn any_change(script: &mut Script, random: &mut StdRng) -> Step {
    match random.random_range(0..100) {
        0..8 => copy(script, random),
        8..16 => Step::new(value_alone(script, random)),
        16..21 => Step::new(caught(script, random)),
        _ => change(script, random),
    }
}
