//! Random views.

use crate::script::{Relation, Script, pick};
use rand::Rng;

/// CREATE VIEW or CREATE MATERIALIZED VIEW over what there is.
pub fn view(script: &mut Script) -> String {
    let schema = if script.chance(75) { "one" } else { "two" };
    let name = format!("{schema}.{}", script.name("v"));
    let (query, columns) = query(script);
    let kind = if script.chance(20) { "materialized view" } else { "view" };
    let options =
        if kind == "view" { *pick(&mut script.random, &["", "", "", " with (security_barrier)"]) } else { "" };
    script.views.push(Relation { name: name.clone(), columns });
    let tail = if kind == "view" || script.chance(50) { "" } else { " with no data" };
    format!("create {kind} {name}{options} as {query}{tail}")
}

/// A relation to read: a table, or a view.
fn source(script: &mut Script) -> Relation {
    if !script.views.is_empty() && script.chance(30) {
        return pick(&mut script.random, &script.views).clone();
    }
    script.any_table()
}

/// An expression over a column, and its type as far as it matters.
fn expression(script: &mut Script, column: &str, kind: &'static str) -> String {
    let forms: &[&str] = match kind {
        "int" | "bigint" | "smallint" => &[
            "C",
            "C + 1",
            "C * 1.5",
            "C::text",
            "-C",
            "C || 'x'",
            "case when C > 1 then 'a' else 'b' end",
            "case C when 1 then 2.5 end",
            "coalesce(C, 0)",
            "greatest(C, 3)",
            "C in (1, 2)",
            "C between 1 and 5",
            "nullif(C, 2)",
            "C = any (array[1, 2])",
            "abs(C)",
            "C::numeric(10,2)",
            "C > 1 and C < 5 or C is null",
        ],
        "text" | "varchar(20)" | "varchar" => &[
            "C",
            "upper(C)",
            "C || 'x'",
            "C like 'a%'",
            "length(C)",
            "substring(C from 1 for 2)",
            "coalesce(C, 'none')",
            "C = 'x'",
            "C in ('a', 'b')",
            "C collate \"C\"",
            "C::varchar(3)",
            "position('a' in C)",
            "trim(C)",
            "C ~* 'b'",
            "C is distinct from 'q'",
            "left(C, 3)",
        ],
        "numeric(8,2)" | "numeric" | "float8" | "real" => {
            &["C", "C * 2", "round(C::numeric, 1)", "C > 1", "C / 3", "C::int"]
        }
        "date" => &[
            "C",
            "extract(year from C)",
            "C + 1",
            "C > '2020-01-01'",
            "date_trunc('month', C)",
            "C - interval '1 day'",
        ],
        "timestamptz" | "timestamp(3)" => &["C", "C::date", "C + interval '1 hour'", "C at time zone 'UTC'"],
        "jsonb" => &["C", "C -> 'a'", "C ->> 'b'", "C @> '{\"a\": 1}'"],
        "text[]" | "int[]" => &["C", "C[1]", "array_length(C, 1)", "cardinality(C)"],
        "boolean" => &["C", "not C", "C is true", "C and true"],
        _ => &["C", "C is null"],
    };
    pick(&mut script.random, forms).replace('C', column)
}

fn filter(script: &mut Script, column: &str, kind: &'static str) -> String {
    let forms: &[&str] = match kind {
        "int" | "bigint" | "smallint" | "numeric" | "numeric(8,2)" => {
            &["C > 5", "C in (1, 2)", "C is not null", "C between 1 and 3", "not (C = 1 or C = 2)"]
        }
        "text" | "varchar(20)" | "varchar" => {
            &["C = 'a'", "C like 'b%'", "C <> 'x' and C > 'b'", "C not in ('a', 'b')"]
        }
        "date" => &["C < current_date", "C >= '2001-01-01'"],
        _ => &["C is not null"],
    };
    pick(&mut script.random, forms).replace('C', column)
}

fn query(script: &mut Script) -> (String, Vec<(String, &'static str)>) {
    let from = source(script);
    let (column, kind) = pick(&mut script.random, &from.columns).clone();
    let other = source(script);
    let (second, second_kind) = pick(&mut script.random, &other.columns).clone();
    let one = |name: &str, kind: &'static str| vec![(name.to_owned(), kind)];
    match script.random.random_range(0..14) {
        0 => (format!("select * from {}", from.name), from.columns.clone()),
        1 | 2 => {
            let (text, condition) = (expression(script, &column, kind), filter(script, &column, kind));
            (
                format!("select {text} as x, {column} as y from {} where {condition}", from.name),
                vec![("y".to_owned(), kind)],
            )
        }
        3 => {
            let join = *pick(&mut script.random, &["join", "left join", "full join", "right join"]);
            let (text, condition) = (
                expression(script, &format!("a.{column}"), kind),
                expression(script, &format!("b.{second}"), second_kind),
            );
            let query = format!(
                "select {text} as x, {condition} as y, b.{second} as z from {} a {join} {} b on a.{column} is not null",
                from.name, other.name
            );
            (query, one("z", second_kind))
        }
        4 => (
            format!(
                "select count(*) as n, count(distinct {column}) filter (where {column} is not null) as m, {column} as k from {} group by {column} having count(*) > 1 order by 1 desc",
                from.name
            ),
            one("k", kind),
        ),
        5 => (
            format!(
                "select row_number() over (partition by {column} order by {column} desc) as n, count(*) over w as c, {column} as k from {} window w as (order by {column} rows between 1 preceding and current row)",
                from.name
            ),
            one("n", "bigint"),
        ),
        6 => {
            let condition = filter(script, "q.k", kind);
            (
                format!("with q as (select {column} as k from {}) select q.k from q where {condition}", from.name),
                one("k", kind),
            )
        }
        7 => (
            format!(
                "select a.{column} as k from {} a where exists (select 1 from {} b where b.{second} is null and a.{column} is not null)",
                from.name, other.name
            ),
            one("k", kind),
        ),
        8 => (
            format!(
                "select {column} as k from {} union all select {column} from {} where false order by 1 limit 3",
                from.name, from.name
            ),
            one("k", kind),
        ),
        9 => (
            format!(
                "select s.k, (select max(length({second}::text)) from {}) as m from (select {column} as k from {} limit 5 offset 1) s",
                other.name, from.name
            ),
            one("k", kind),
        ),
        10 => (
            "select g, g * 2 as d from generate_series(1, 3) g, (values (1, 'a'), (2, 'b')) v(n, t) where v.n = g"
                .to_owned(),
            one("g", "int"),
        ),
        11 => (
            format!(
                "select x.{column} as k from {} x, lateral (select x.{column} as l) y where y.l is not null",
                from.name
            ),
            one("k", kind),
        ),
        12 => (
            "with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select n from r".to_owned(),
            one("n", "int"),
        ),
        _ => {
            let text = expression(script, &column, kind);
            (
                format!(
                    "select distinct {text} as x, string_agg({column}::text, ',' order by {column}::text) as s from {} group by 1, {column}::text",
                    from.name
                ),
                one("s", "text"),
            )
        }
    }
}
