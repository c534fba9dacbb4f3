//! Random programs: most of their statements work, some raise errors.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::pieces::{Piece, Program};

/// The statements at the start of all programs. Each routine in the list stands for a volatility, or a way of returning.
const SETUP: &[&str] = &[
    "create table t (id int primary key, n int, s text)",
    "insert into t values (1, 10, 'one'), (2, 20, 'two'), (3, 30, null)",
    "create table log (place serial, what text)",
    "create type pair as (x int, y text)",
    "create domain pos as int check (value > 0)",
    "create domain ints as int[] check (array_length(value, 1) < 4)",
    "create function seen_volatile() returns bigint language plpgsql as $$ begin return (select sum(n) from t); end $$",
    "create function seen_stable() returns bigint language plpgsql stable as $$ begin return (select sum(n) from t); end $$",
    "create function seen_sql() returns bigint language sql stable as 'select sum(n) from t'",
    "create function grow(a int) returns int language sql as 'update t set n = n + a returning n'",
    "create function noisy(a int) returns int language plpgsql as $$ begin raise notice 'noisy %', a; return a; end $$",
    "create function either(a anyelement, b anyelement) returns anyelement language sql as 'select coalesce(a, b)'",
    "create function twice(a anyelement, out b anyelement, out c anyarray) language plpgsql as $$ begin b := a; c := array[a, b]; end $$",
    "create function upto(n int) returns setof int language plpgsql as $$ begin for i in 1..n loop return next i; end loop; end $$",
    "create procedure outs(a int, inout b int, out c text) language plpgsql as $$ begin b := b + a; c := 'c' || a; end $$",
    "create procedure many(out n int, variadic v int[]) language plpgsql as $$ begin n := array_length(v, 1); end $$",
    "create function scaled(a int, factor int default 2, plus int default 1) returns int language sql immutable as 'select a * factor + plus'",
];

/// The state while a body is made.
struct Body<'r> {
    random: &'r mut StdRng,
    /// Labels of the blocks and loops around, and whether each is a loop's.
    labels: Vec<(String, bool)>,
    /// Integer variables.
    integers: Vec<String>,
    /// How deep blocks are nested.
    depth: usize,
    /// How many names have been given.
    names: usize,
    returns: Returns,
}

/// The result of a body.
#[derive(Clone, Copy, PartialEq)]
enum Returns {
    Nothing,
    Integer,
    Set,
    Pair,
    Outputs,
    Trigger,
}

impl Body<'_> {
    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts.choose(self.random).copied().unwrap_or("")
    }

    fn one_in(&mut self, number: u32) -> bool {
        self.random.random_ratio(1, number)
    }

    fn name(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}{}", self.names)
    }

    /// An integer variable that can be assigned.
    fn integer(&mut self) -> String {
        self.integers.choose(self.random).cloned().unwrap_or_else(|| "i".into())
    }

    fn number(&mut self) -> String {
        let (first, second) = (self.integer(), self.integer());
        let literal = self.random.random_range(-2..6);
        match self.random.random_range(0..24) {
            0..=4 => literal.to_string(),
            5..=7 => first,
            8 => format!("{first} + {literal}"),
            9 => format!("{first} * {second}"),
            10 => format!("{first} / {second}"),
            11 => "p.x".into(),
            12 => format!("a[{literal}]"),
            13 => "seen_volatile()::int".into(),
            14 => "seen_stable()::int".into(),
            15 => format!("(select n from t where id = {literal})"),
            16 => format!("scaled({first}, plus => {literal})"),
            17 => format!("noisy({literal})"),
            18 => format!("either({first}, {literal})"),
            19 => "array_length(a, 1)".into(),
            20 => "seen_sql()::int".into(),
            21 => format!("d[{literal}]"),
            22 => format!("coalesce({first}, {literal})"),
            _ => "r.n".into(),
        }
    }

    fn condition(&mut self) -> String {
        let (first, second) = (self.number(), self.number());
        match self.random.random_range(0..6) {
            0 => "found".into(),
            1 => format!("{first} is null"),
            2 => format!("exists (select from t where n > {first})"),
            3 => format!("{first} = {second}"),
            _ => format!("coalesce({first} < {second}, true)"),
        }
    }

    fn text(&mut self) -> String {
        let number = self.number();
        match self.random.random_range(0..7) {
            0 => "s".into(),
            1 => format!("s || {number}"),
            2 => "p.y".into(),
            3 => "'it''s'".into(),
            4 => format!("format('%s-%L', {number}, s)"),
            5 => "(select max(t.s) from t)".into(),
            _ => "'x'".into(),
        }
    }

    fn statements(&mut self, count: usize) -> Vec<Piece> {
        (0..count).map(|_| self.statement()).collect()
    }

    fn some_statements(&mut self) -> Vec<Piece> {
        let count = self.random.random_range(1..4);
        self.depth += 1;
        let made = self.statements(count);
        self.depth -= 1;
        made
    }

    fn statement(&mut self) -> Piece {
        if self.depth < 3 && self.one_in(3) {
            return self.compound();
        }
        let (number, text, condition) = (self.number(), self.text(), self.condition());
        let target = self.integer();
        let place = self.random.random_range(-1..5);
        Piece::Line(match self.random.random_range(0..40) {
            0..=3 => format!("{target} := {number};"),
            4 => format!("s := {text};"),
            5 => format!("a[{place}] := {number};"),
            6 => format!("a[{place}:{}] := array[{number}, 7];", place + self.random.random_range(-1..3)),
            7 => format!("p.x := {number};"),
            8 => format!("p := row({number}, {text});"),
            9 => format!("d[{place}] := {number};"),
            10 => format!("q := {number};"),
            11 => format!("select t.n, t.s into {target}, s from t where id = {place};"),
            12 => format!("select * into {}r from t where id > {place} order by id;", self.pick(&["", "strict "])),
            13 => format!("insert into t values ({place} + 10, {number}, {text});"),
            14 => format!("update t set n = n + {number} where id = {place};"),
            15 => format!("delete from t where id = {place} + 10 returning t.n into {target};"),
            16 => format!("insert into log (what) values ({text});"),
            17 => format!(
                "execute 'select n from t where id = $1' into {}{target} using {number};",
                self.pick(&["", "strict "])
            ),
            18 => format!("execute format('update t set n = n + %s', {number});"),
            19 => format!("perform grow({number});"),
            20..=21 => format!("raise notice '{target} is % and can''t be %', {number}, {text};"),
            22 => format!("raise warning '% % %', a, p, d using hint = {text}, detail = 'd';"),
            23 => self.raised(&text),
            24 => format!("assert {condition}, {text};"),
            25 => format!("get diagnostics {target} = row_count;"),
            26 => self.left(&condition),
            27 => self.returned(&number),
            28 => format!("call outs({number}, {target}, s);"),
            29 => format!("call outs(c => s, b => {target}, a => {number});"),
            30 => format!("call many({target}, {number}, {place});"),
            31 => format!(
                "open c1({place}); fetch {} c1 into r; close c1;",
                self.pick(&["", "next from", "last from", "absolute 2 from"])
            ),
            32 => format!(
                "open rc {}for select * from t order by id; move {} from rc; fetch rc into r; raise notice '% %', rc, r; close rc;",
                self.pick(&["", "scroll ", "no scroll "]),
                self.pick(&["next", "forward 2", "prior", "last"])
            ),
            33 => "select * into p from twice(1);".into(),
            34 => format!("select b, c into {target}, a from twice({number});"),
            35 => "r := row(1, 'x');".into(),
            36 => format!("raise notice '%', {target};"),
            37 => "with w as (select row(n, t.s)::pair as q, n as n from t) select w.q, w.n into r from w;".into(),
            38 => format!("raise notice '% % %', seen_volatile(), seen_stable(), {number};"),
            _ => format!("set local work_mem = '{}MB';", place + 2),
        })
    }

    fn raised(&mut self, text: &str) -> String {
        match self.random.random_range(0..6) {
            0 => format!("raise exception 'failed: %', {text};"),
            1 => "raise division_by_zero;".into(),
            2 => {
                format!("raise exception using errcode = 'P0{}', message = {text};", self.random.random_range(100..105))
            }
            3 => "raise sqlstate '22012' using message = 'made', hint = 'can''t';".into(),
            4 => "raise;".into(),
            _ => {
                "raise exception 'x' using column = 'c', table = 't', schema = 'sc', datatype = 'd', constraint = 'k';"
                    .into()
            }
        }
    }

    fn left(&mut self, condition: &str) -> String {
        let word = self.pick(&["exit", "continue"]);
        let fitting: Vec<&(String, bool)> =
            self.labels.iter().filter(|(_, is_loop)| *is_loop || word == "exit").collect();
        let label = fitting.choose(self.random).map(|(label, _)| label.clone());
        match label {
            Some(label) => format!("{word} {label} when {condition};"),
            None => "null;".into(),
        }
    }

    fn returned(&mut self, number: &str) -> String {
        match self.returns {
            Returns::Nothing => "return;".into(),
            Returns::Outputs => format!("z := {number};"),
            Returns::Integer => format!("return {number};"),
            Returns::Pair => match self.random.random_range(0..5) {
                0 => "return p;".into(),
                1 => format!("return row({number}, 'y'::text);"),
                2 => "return null;".into(),
                3 => format!("return {number};"),
                _ => format!("return row({number});"),
            },
            Returns::Set => match self.random.random_range(0..4) {
                0 => "return query select n from t order by id;".into(),
                1 => format!("return query execute 'select $1' using {number};"),
                2 => "return;".into(),
                _ => format!("return next {number};"),
            },
            Returns::Trigger => self.pick(&["return new;", "return null;", "return old;"]).into(),
        }
    }

    fn compound(&mut self) -> Piece {
        let condition = self.condition();
        match self.random.random_range(0..11) {
            0 => {
                let mut parts = vec![(format!("if {condition} then"), self.some_statements())];
                if self.one_in(2) {
                    let other = self.condition();
                    parts.push((format!("elsif {other} then"), self.some_statements()));
                }
                if self.one_in(2) {
                    parts.push(("else".into(), self.some_statements()));
                }
                Piece::Parts(parts, "end if;".into())
            }
            1 => {
                let number = self.number();
                let mut parts = vec![(format!("case {number}"), Vec::new())];
                parts.push(("when 1, 2 then".into(), self.some_statements()));
                if self.one_in(2) {
                    parts.push(("else".into(), self.some_statements()));
                }
                Piece::Parts(parts, "end case;".into())
            }
            2..=3 => self.block(false),
            4 => self.block(true),
            number => self.looping(number),
        }
    }

    /// A loop, with a label.
    fn looping(&mut self, kind: u32) -> Piece {
        let label = self.name("l");
        let (variable, number) = (self.name("k"), self.number());
        let low = self.random.random_range(-1..3);
        self.labels.push((label.clone(), true));
        let head = match kind {
            5 => format!("for {variable} in {low}..3 {}loop", self.pick(&["", "by 2 "])),
            6 => format!("for {variable} in reverse 3..{low} loop"),
            7 => self
                .pick(&[
                    "for r in select * from t order by id loop",
                    "for r in execute 'select * from t where id > $1 order by id' using 1 loop",
                    "for i, s in select n, t.s from t order by id loop",
                    "for r in with w as (select row(1, 'w')::pair as q, 2 as n) select w.q, w.n from w loop",
                ])
                .into(),
            8 => format!("foreach i in array array[{number}, 2, null] loop"),
            9 => format!("for {variable} in c1({low}) loop"),
            _ => "loop".into(),
        };
        let own = matches!(kind, 5 | 6);
        if own {
            self.integers.push(variable);
        }
        let mut body = self.some_statements();
        if own {
            self.integers.pop();
        }
        self.labels.pop();
        if head == "loop" {
            body.insert(0, Piece::Line("i := coalesce(i, 0) + 1;".into()));
            body.push(Piece::Line("exit when i > 3 or i is null;".into()));
            body.insert(0, Piece::Line(format!("exit {label} when i > 3;")));
        }
        Piece::Parts(vec![(format!("<<{label}>>\n{head}"), body)], format!("end loop {label};"))
    }

    /// A block with declarations that read those around it, and handlers.
    fn block(&mut self, has_handlers: bool) -> Piece {
        let label = self.name("b");
        let mut declarations = String::new();
        let before = self.integers.len();
        for _ in 0..self.random.random_range(0..3) {
            let number = self.number();
            // It may hide a variable of the same name, which its own default reads.
            let hidden = self.integer();
            let is_new = !self.integers[before..].contains(&hidden);
            let name = if is_new && self.one_in(2) { hidden } else { self.name("v") };
            let constraint = self.pick(&["int", "int", "int not null", "numeric(4, 1)", "pos", "smallint"]);
            declarations.push_str(&format!("{name} {constraint} := {number};\n"));
            self.integers.push(name);
        }
        let declared = if declarations.is_empty() { String::new() } else { format!("declare {declarations}") };
        self.labels.push((label.clone(), false));
        let mut parts = vec![(format!("<<{label}>>\n{declared}begin"), self.some_statements())];
        if has_handlers {
            let conditions = ["others", "division_by_zero", "raise_exception or assert_failure", "sqlstate '23505'"];
            let condition = self.pick(&conditions);
            let mut handler = self.some_statements();
            handler.insert(
                0,
                Piece::Line(
                    self.pick(&[
                        "raise notice '% %', sqlstate, sqlerrm;",
                        "get stacked diagnostics s = message_text; raise notice '%', s;",
                        "get stacked diagnostics s = pg_exception_context; raise notice '%', s;",
                        "get stacked diagnostics s = pg_exception_detail; raise notice '%', s;",
                        "get stacked diagnostics s = returned_sqlstate; raise notice '%', s;",
                    ])
                    .into(),
                ),
            );
            parts.push((format!("exception when {condition} then"), handler));
        }
        self.labels.pop();
        self.integers.truncate(before);
        Piece::Parts(parts, format!("end {label};"))
    }
}

/// The declarations that bodies count on.
const DECLARATIONS: &str = "declare i int := 1; j int := i + 1; s text := 's' || j; a int[] := array[i, j]; p pair; q pos := j; d ints := '{1,2}';
r record; rc refcursor; c1 cursor (low int) for select * from t where id > low order by id;";

fn body(random: &mut StdRng, returns: Returns) -> Piece {
    let integers = vec!["i".to_owned(), "j".to_owned()];
    let mut body = Body { random, labels: Vec::new(), integers, depth: 0, names: 0, returns };
    let count = body.random.random_range(3..9);
    let mut statements = body.statements(count);
    match returns {
        Returns::Integer => statements.push(Piece::Line("return i;".into())),
        Returns::Pair => statements.push(Piece::Line("return p;".into())),
        Returns::Trigger => statements.push(Piece::Line("return new;".into())),
        Returns::Nothing | Returns::Set | Returns::Outputs => {}
    }
    Piece::Parts(vec![(format!("{DECLARATIONS}\nbegin"), statements)], "end".into())
}

/// A statement around a body.
fn around(head: String, body: Piece) -> Piece {
    Piece::Parts(vec![(format!("{head} $$"), vec![body])], "$$".into())
}

fn routine(random: &mut StdRng, number: usize) -> Vec<Piece> {
    let line = |text: String| Piece::Line(text);
    let clauses = ["", "", "", "stable", "set work_mem = '1MB'", "security definer", "strict"];
    let clause = clauses.choose(random).copied().unwrap_or_default();
    let (name, kind) = (format!("f{number}"), random.random_range(0..8));
    match kind {
        0..=1 => vec![around("do".into(), body(random, Returns::Nothing))],
        2 => {
            let head = format!("create function {name}(x int default 3) returns int language plpgsql {clause} as");
            let calls = [format!("select {name}(), {name}(2)"), format!("select {name}(n) from t order by id limit 2")];
            let call = calls.choose(random).cloned().unwrap_or_default();
            vec![around(head, body(random, Returns::Integer)), line(call), line("show work_mem".into())]
        }
        3 => {
            let head = format!("create function {name}() returns setof int language plpgsql as");
            vec![around(head, body(random, Returns::Set)), line(format!("select * from {name}()"))]
        }
        4 => {
            let head = format!("create function {name}() returns pair language plpgsql {clause} as");
            vec![around(head, body(random, Returns::Pair)), line(format!("select {name}(), ({name}()).x"))]
        }
        5 => {
            let head = format!("create function {name}(out z int, out y text) language plpgsql as");
            vec![around(head, body(random, Returns::Outputs)), line(format!("select * from {name}()"))]
        }
        6 => {
            let head = format!("create procedure {name}() language plpgsql as");
            let mut made = body(random, Returns::Nothing);
            if let Piece::Parts(parts, _) = &mut made {
                let end = if random.random_ratio(1, 2) { "commit;" } else { "rollback;" };
                let place = random.random_range(0..=parts[0].1.len());
                parts[0].1.insert(place, Piece::Line(end.into()));
            }
            vec![around(head, made), line(format!("call {name}()"))]
        }
        _ => {
            let head = format!("create function {name}() returns trigger language plpgsql as");
            let when = ["before insert or update", "after update", "after insert", "before delete"];
            let when = when.choose(random).copied().unwrap_or_default();
            vec![
                around(head, body(random, Returns::Trigger)),
                line(format!(
                    "create trigger {name} {when} on t for each row when (pg_trigger_depth() < 1) execute function {name}()"
                )),
                line("insert into t values (7, 70, 'seven')".into()),
                line("update t set n = n + 1 where id in (1, 7)".into()),
                line("delete from t where id = 7".into()),
                line(format!("drop trigger {name} on t")),
            ]
        }
    }
}

/// A random program.
pub fn program(random: &mut StdRng) -> Program {
    let mut steps: Vec<Piece> = SETUP.iter().map(|text| Piece::Line((*text).to_owned())).collect();
    for number in 0..random.random_range(1..4) {
        steps.extend(routine(random, number));
        steps.push(Piece::Line("select * from t order by id".into()));
        steps.push(Piece::Line("select what from log order by place".into()));
    }
    Program(steps)
}
