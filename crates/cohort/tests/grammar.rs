//! Texts that a real PostgreSQL 15 refuses with a syntax error are refused here, and texts that it reads are read here.
//!
//! The grammar's library is that of a later version. A case is a statement of `tests/statements` in which some tokens were replaced, left
//! out or put in: words of other statements, and of later versions' syntax. PostgreSQL is asked by Parse messages, so no statement runs. A
//! difference is printed in its smallest form: tokens are taken out for as long as it lasts. Words and places of errors are not compared.
//!
//! `COHORT_GRAMMAR` says how many cases are tried, `COHORT_GRAMMAR_FROM` the seed of the first.

mod common;

use std::fmt::Write as _;
use std::path::Path;

use common::reference::{Reference, server_binaries};
use common::wire::Session;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use syntax::parser::{ParseOptions, parse};
use syntax::tree::Statement;

const CASES: u64 = 6_000;
const FIRST: u64 = 1;
/// More differences are not printed.
const REPORTED_MAX: usize = 20;

/// Pieces of syntax that PostgreSQL 16 to 18 have got, and words that are keywords there.
const LATER: [&str; 52] = [
    "absent on null",
    "admin false",
    "admin true",
    "at local",
    "by source",
    "conditional",
    "default",
    "empty",
    "enforced",
    "error on error",
    "format json",
    "force_null *",
    "inherit false",
    "is json",
    "json",
    "json_array(1)",
    "json_arrayagg(1)",
    "json_exists(a, '$')",
    "json_object('a': 1)",
    "json_query(a, '$')",
    "json_scalar(1)",
    "json_serialize(a)",
    "json_table(a, '$' columns (b int path '$'))",
    "json_value(a, '$')",
    "keep",
    "keys",
    "local",
    "merge_action()",
    "nested",
    "no inherit",
    "not enforced",
    "not null a",
    "not valid",
    "objects",
    "omit quotes",
    "only",
    "path",
    "period",
    "period for p",
    "plan",
    "scalar",
    "set false",
    "set option for",
    "source",
    "storage external",
    "string",
    "system_user",
    "target",
    "virtual",
    "with (old as o, new as n)",
    "without overlaps",
    "inherit option for",
];

/// Beginnings of texts that are known to differ, and why.
const ALLOWED: [(&str, &str); 1] =
    [("alter domain", "PostgreSQL's grammar reads constraints that domains can't have, and refuses them afterwards")];

#[test]
fn the_grammar_is_that_of_postgresql_15() {
    let Some(binaries) = server_binaries() else { return };
    let number = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().expect("a number"));
    let (cases, first) = (number("COHORT_GRAMMAR", CASES), number("COHORT_GRAMMAR_FROM", FIRST));
    let reference = Reference::start(&binaries);
    let mut judge = Session::connect(&reference.socket(), "postgres");
    let corpus = statements();
    assert!(corpus.len() > 5_000, "{} statements", corpus.len());
    let (mut report, mut found) = (String::new(), 0);
    for seed in first..first + cases {
        let tokens = mutated(&corpus, &mut StdRng::seed_from_u64(seed));
        if differs(&tokens, &mut judge).is_none() {
            continue;
        }
        let smallest = smallest(tokens, &mut judge);
        let difference = differs(&smallest, &mut judge).expect("it did before");
        found += 1;
        if found <= REPORTED_MAX {
            writeln!(report, "seed {seed}: {}\n    {difference}", smallest.join(" ")).unwrap();
        }
    }
    assert!(found == 0, "{found} differences of {cases} cases\n{report}");
}

/// The statements of the differential tests, in tokens.
fn statements() -> Vec<Vec<String>> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/statements")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "sql") {
                let text = std::fs::read_to_string(path).unwrap();
                // A change of one word leaves most of a long statement as it was.
                found.extend(text.split(";\n").map(tokens).filter(|tokens| (2..40).contains(&tokens.len())));
            }
        }
    }
    found
}

/// The words, quoted texts and signs of a text. Signs that belong together as an operator stay together.
fn tokens(text: &str) -> Vec<String> {
    let text: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
    let text = text.join(" ");
    let is_sign = |sign: char| "+-*/<>=~!@#%^&|`?:".contains(sign);
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$' || letter == '.';
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length_while = |test: &dyn Fn(char) -> bool| rest.find(|letter| !test(letter)).unwrap_or(rest.len());
        let dollar = rest.strip_prefix('$').and_then(|behind| behind.find('$')).map(|length| &rest[..length + 2]);
        let length = match first {
            '\'' | '"' => quoted_length(rest, first),
            '$' if dollar.is_some_and(|tag| !tag.contains(' ') && rest[tag.len()..].contains(tag)) => {
                let tag = dollar.expect("it was looked at");
                tag.len() * 2 + rest[tag.len()..].find(tag).expect("it was looked at")
            }
            _ if is_word(first) => length_while(&is_word),
            _ if is_sign(first) => length_while(&is_sign),
            _ => first.len_utf8(),
        };
        found.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    found
}

/// A doubled quote stands for itself.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut length = 0;
    loop {
        length += 1;
        let Some(found) = text[length..].find(quote) else { return text.len() };
        length += found + 1;
        if !text[length..].starts_with(quote) {
            return length;
        }
    }
}

fn mutated(corpus: &[Vec<String>], random: &mut StdRng) -> Vec<String> {
    let mut tokens = corpus.choose(random).expect("there are some").clone();
    for _ in 0..random.random_range(1..=2) {
        let at = random.random_range(0..=tokens.len());
        let word = if random.random_bool(0.7) {
            (*LATER.choose(random).expect("there are some")).to_owned()
        } else {
            let other = corpus.choose(random).expect("there are some");
            other.choose(random).expect("it is not empty").clone()
        };
        match random.random_range(0..10) {
            0 if at < tokens.len() => {
                tokens.remove(at);
            }
            1..=3 if at < tokens.len() => tokens[at] = word,
            _ => tokens.insert(at, word),
        }
    }
    tokens
}

/// The difference in words, if there is one.
fn differs(tokens: &[String], judge: &mut Session) -> Option<String> {
    let text = tokens.join(" ");
    if text.trim().is_empty() || ALLOWED.iter().any(|(start, _)| text.starts_with(start)) {
        return None;
    }
    let answer = judge.prepare("", &text);
    assert!(!answer.contains("the connection is closed"), "{text}");
    // Some of what PostgreSQL reads is refused by what comes behind the grammar, with the same code.
    let (is_refused, is_read) = (answer.contains("ERROR 42601: syntax error at"), !answer.contains("ERROR 42601"));
    match parse(&text, ParseOptions::default()) {
        Ok(_) if !is_refused => None,
        Ok(parsed) => {
            let is_unsupported = |statement: &Statement| matches!(statement, Statement::Unsupported(_));
            let is_harmless = parsed.iter().any(|parsed| is_unsupported(&parsed.statement));
            (!is_harmless).then(|| format!("taken; PostgreSQL: {}", answer.lines().next().unwrap_or_default()))
        }
        Err(error) if error.sqlstate() == base::sqlstate::FEATURE_NOT_SUPPORTED => None,
        Err(error) if is_read && !answer.contains(&format!("ERROR {}:", error.sqlstate().as_str())) => {
            Some(format!("refused: {}; PostgreSQL: {}", error.message(), answer.lines().next().unwrap_or_default()))
        }
        Err(_) => None,
    }
}

fn smallest(mut tokens: Vec<String>, judge: &mut Session) -> Vec<String> {
    let mut at = 0;
    while at < tokens.len() {
        let mut shorter = tokens.clone();
        shorter.remove(at);
        if differs(&shorter, judge).is_some() {
            tokens = shorter;
            at = 0;
        } else {
            at += 1;
        }
    }
    tokens
}
