//! A normalised statement means what the original means.

use base::Result;
use plan::bound::for_each_inner_mut;
use plan::{Expr, ExprKind, Statement};
use syntax::parser::{ParseOptions, normalize, parse};
use types::{PlainContext, SqlType, Value, input, oids};

use super::{World, query_plan};
use crate::binder::{self, Parameters};

/// The plan of the normalised text, its parameters replaced, once it is bound, by the constants as a session reads
/// them.
fn rebound(world: &World, text: &str) -> Option<Result<String>> {
    let (key, constants) = normalize(text)?;
    let types = constants.iter().map(|constant| constant.sql_type.oid).collect::<Vec<_>>();
    let mut parameters = Parameters::declared(&types);
    let parsed = parse(&key, ParseOptions::default()).expect("the key is SQL").remove(0);
    let plan = world.with_context(&key, |context| {
        let mut bound = binder::bind(&parsed.statement, context, &mut parameters)?.expect("it has a plan");
        let mut values = Vec::with_capacity(constants.len());
        for (constant, wanted) in constants.into_iter().zip(parameters.types()) {
            values.push(match (&constant.value, constant.sql_type.oid) {
                (Value::Text(text), oids::UNKNOWN) => {
                    input(&mut PlainContext::default(), text, SqlType::new(wanted.oid))?
                }
                _ => constant.value,
            });
        }
        bound.query.for_each_expr_mut(0, &mut |expr, depth| {
            for_each_inner_mut(expr, depth, &mut |inner, _| replace(inner, &values));
        });
        super::super::plan_bound(bound, context, &Parameters::default())
    });
    Some(plan.map(|statement| without_places(&statement)))
}

/// All of a plan but the places in the text, which the two texts of a statement do not share.
fn without_places(statement: &Statement) -> String {
    let plan = format!("{:#?}", query_plan(statement));
    plan.lines().filter(|line| !line.trim_start().starts_with("location: ")).collect::<Vec<_>>().join("\n")
}

fn replace(expr: &mut Expr, values: &[Value]) {
    if let ExprKind::Parameter(index) = expr.kind {
        expr.kind = ExprKind::Constant(values[index as usize].clone());
    }
}

/// The kind of an expression's value.
#[derive(Clone, Copy)]
enum Kind {
    Number,
    Text,
}

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn pick<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn constant(&mut self, kind: Kind) -> String {
        match kind {
            Kind::Number => match self.below(7) {
                0 | 1 => format!("{}", self.below(100)),
                2 => format!("-{}", self.below(100)),
                3 => format!("{}", 3_000_000_000 + self.below(1000)),
                4 => format!("{}.{}", self.below(100), self.below(100)),
                5 => format!("'{}'", self.below(1000)),
                _ => format!("{}e{}", self.below(10), self.below(3)),
            },
            Kind::Text => self.pick(&["'it''s'", "'a'", "'17'", "'2024-05-17'"]).to_owned(),
        }
    }

    /// Seldom the other kind, so that errors are met too.
    fn kind(&mut self, kind: Kind) -> Kind {
        match (self.below(40), kind) {
            (0, Kind::Number) => Kind::Text,
            (0, Kind::Text) => Kind::Number,
            _ => kind,
        }
    }

    fn scalar(&mut self, depth: u32, kind: Kind) -> String {
        let kind = self.kind(kind);
        if depth == 0 || self.below(3) == 0 {
            return match (self.below(2), kind) {
                (0, Kind::Number) => self.pick(&["id", "account", "amount"]).to_owned(),
                (0, Kind::Text) => "kind".to_owned(),
                _ => self.constant(kind),
            };
        }
        let (left, right) = (self.scalar(depth - 1, kind), self.scalar(depth - 1, kind));
        match (self.below(4), kind) {
            (0, _) => format!("coalesce({left}, {right})"),
            (1, _) => format!("case when {} then {left} else {right} end", self.condition(depth - 1)),
            (2, Kind::Number) => format!("({left} {} {right})", self.pick(&["+", "-", "*"])),
            (_, Kind::Number) => format!("{left} {} {right}", self.pick(&["+", " -", "- "])),
            (2, Kind::Text) => format!("({left} || {right})"),
            (_, Kind::Text) => format!("lower({left})"),
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        let kind = if self.below(4) == 0 { Kind::Text } else { Kind::Number };
        let (left, right) = (self.scalar(depth, kind), self.scalar(depth, kind));
        match self.below(6) {
            0 => format!("{left} in ({right}, {})", self.constant(kind)),
            1 => format!("{left} between {right} and {}", self.constant(kind)),
            2 if depth > 0 => format!("({} or {})", self.condition(depth - 1), self.condition(depth - 1)),
            3 => format!("{left} is not null"),
            _ => format!("{left} {} {right}", self.pick(&["=", "<", ">=", "<>", " =", "<= "])),
        }
    }

    fn statement(&mut self) -> String {
        match self.below(5) {
            0 => format!(
                "insert into events (id, kind, account, amount) values ({}, {}, {}, {})",
                self.constant(Kind::Number),
                self.constant(Kind::Text),
                self.constant(Kind::Number),
                self.scalar(1, Kind::Number)
            ),
            1 => format!(
                "update events set amount = {}, kind = {} where {}",
                self.scalar(2, Kind::Number),
                self.constant(Kind::Text),
                self.condition(1)
            ),
            2 => format!("delete from events where {} and {}", self.condition(1), self.condition(1)),
            3 => format!(
                "select {}, {} as x from events where {} order by 1 limit {}",
                self.scalar(2, Kind::Number),
                self.constant(Kind::Number),
                self.condition(2),
                self.below(50)
            ),
            _ => format!("select {} from events where {}", self.scalar(2, Kind::Text), self.condition(2)),
        }
    }
}

#[test]
fn key_and_constants_mean_what_the_text_means() {
    let world = World::new();
    let rounds = std::env::var("COHORT_TEST_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(3000);
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut planned, mut lifted) = (0, 0);
    for round in 0..rounds {
        let text = random.statement();
        let original = world.try_plan(&text, &[]).map(|statement| without_places(&statement));
        let Some(found) = rebound(&world, &text) else { continue };
        match (original, found) {
            (Ok(original), Ok(found)) => {
                lifted += 1;
                assert!(found == original, "round {round}\n{text}\n--- lifted\n{found}\n--- original\n{original}");
            }
            // A statement that fails without its constants is planned as it was written.
            (Ok(_), Err(_)) => planned += 1,
            (Err(error), Ok(found)) => panic!("round {round}\n{text}\n{error}\nbut lifted\n{found}"),
            (Err(_), Err(_)) => {}
        }
    }
    assert!(lifted * 5 > rounds, "only {lifted} of {rounds} statements were lifted");
    assert!(lifted > planned * 2, "{planned} statements could not be planned without their constants");
}
